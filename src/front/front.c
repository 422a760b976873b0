/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * front.c - what all frontends share while they build a graph: the table of
 * native tensors with the facts known about each, the step from stored value
 * to structural attribute (which pins the value), operators without a
 * lowering, decompositions. import.c starts and ends an import.
 */
#include "front/front_private.h"

#include <inttypes.h>
#include <string.h>

#define FOLD_NUMEL_MAX 4096   /* elements of a value folded for an attribute */
#define FOLD_STEPS_MAX 256
#define NAMES_MAX 1024        /* of one tensor: more are no ties of a model */
#define MISSING_MAX 256       /* operators that an error tells apart */

static const char *const reason_structure = "decides structure";

/* ---- table of tensors ---------------------------------------------------- */

static str keep_str(front *f, str s)
{
    char *p = arena_strndup(&f->m->a, s.p ? s.p : "", s.n);

    if (!p) {
        (void)ir_fail(f->m, fail_oom(s.n));
        return str_of("");
    }
    return (str){p, s.n};
}

front_entry *front_find(front *f, str name)
{
    uint32_t i = 0;

    return strmap_get(&f->priv->by_name, name, &i) ? f->priv->entries[i]
                                                   : NULL;
}

const weight_entry *front_stored(const front *f, const front_entry *e)
{
    return weights_find(f->fm->native, e->name);
}

/* The entry of `name`, made when there is none; NULL when out of memory. */
static front_entry *entry_of(front *f, str name)
{
    front_private *p = f->priv;
    front_entry *e = front_find(f, name);

    if (e)
        return e;
    e = arena_alloc(&f->m->a, sizeof *e);
    if (!e) {
        (void)ir_fail(f->m, fail_oom(sizeof *e));
        return NULL;
    }
    e->name = keep_str(f, name);
    hull_status st = mem_grow(&p->entries, &p->cap_entries, p->n_entries + 1,
                              sizeof *p->entries);
    if (st == HULL_OK)
        st = strmap_set(&p->by_name, name, p->n_entries);
    if (st != HULL_OK) {
        (void)ir_fail(f->m, st);
        return NULL;
    }
    p->entries[p->n_entries++] = e;
    return e;
}

static bool has_bytes(const front *f, const weight_entry *w)
{
    return !weights_storage(f->fm->native, w)->absent;
}

/* Elements of a stored small integer tensor become visible as known. */
static hull_status set_known(front *f, val v, const weight_entry *w)
{
    uint8_t raw[KNOWN_MAX * 8];
    dim d[KNOWN_MAX];
    uint64_t n = w->rank == 0 ? 1 : (uint64_t)w->shape[0];

    if (w->rank > 1 || n > KNOWN_MAX || w->len > sizeof raw ||
        !(dtype_is_int(w->dtype) || w->dtype == HULL_BOOL) ||
        !has_bytes(f, w))
        return HULL_OK;
    TRY(weights_read(f->fm->native, w, raw));
    for (uint64_t i = 0; i < n; i++)
        d[i] = dim_int(f->m, load_i64(w->dtype, raw, i));
    value_set_known(f->g, v, d, (uint32_t)n);
    return HULL_OK;
}

val front_weight(front *f, str name)
{
    graph *g = f->g;
    front_entry *e = entry_of(f, name);
    node *before = g->insert_before;
    region *in = g->insert_in;
    dim dims[HULL_MAX_RANK];

    if (!e)
        return 0;
    if (e->v)
        return e->v;
    const weight_entry *w = front_stored(f, e);
    if (!w) {
        (void)ir_fail(f->m, fail(HULL_EFORMAT,
                                 "tensor '%.*s' is used but not stored in the "
                                 "model file",
                                 STR_ARG(name)));
        return 0;
    }
    for (uint32_t i = 0; i < w->rank; i++)
        dims[i] = w->shape[i];
    type t = type_tensor(f->m, w->dtype, dims, w->rank);
    /* Holes stand in front of everything, so that bodies see them too. */
    g->insert_in = NULL;
    g->insert_before = g->body->first;
    e->v = op_weight(g, e->name, &t);
    g->insert_in = in;
    g->insert_before = before;
    if (e->v) {
        value_set_name(g, e->v, e->name);
        hull_status st = set_known(f, e->v, w);
        if (st != HULL_OK)
            (void)ir_fail(f->m, st);
    }
    return e->v;
}

/* The entry whose weight node defines v, NULL when v is something else. */
static front_entry *entry_behind(front *f, val v)
{
    const node *n = graph_def(f->g, v);

    return n && n->op == OP_weight ? front_find(f, attr_str(n, "name")) : NULL;
}

void front_is_parameter(front *f, val v)
{
    /* Through what exporters put between a parameter and its use. */
    for (int depth = 0; depth < 8; depth++) {
        const node *n = graph_def(f->g, v);

        if (!n)
            return;
        if (n->op == OP_weight) {
            front_entry *e = entry_behind(f, v);
            if (e)
                e->parameter = true;
            return;
        }
        if (n->op != OP_transpose && n->op != OP_reshape && n->op != OP_cast &&
            n->op != OP_dequantize && n->op != OP_quantize)
            return;
        v = n->in[0];
    }
}

void front_declare(front *f, str name, bool parameter, bool kept,
                   const char *reason)
{
    front_entry *e = entry_of(f, name);

    if (!e)
        return;
    e->declared = true;
    e->declared_parameter |= parameter;
    e->kept |= kept;
    if (reason)
        e->reason = reason;
}

void front_add_name(front *f, str name, str checkpoint_name)
{
    front_entry *e = entry_of(f, name);

    if (!e)
        return;
    for (uint32_t i = 0; i < e->n_names; i++)
        if (str_eq(e->names[i], checkpoint_name))
            return;
    if (e->n_names == NAMES_MAX) {
        (void)ir_fail(f->m, fail(HULL_EUNSUPPORTED,
                                 "tensor '%.*s' goes by more than %d names",
                                 STR_ARG(name), NAMES_MAX));
        return;
    }
    if ((e->n_names & (e->n_names - 1)) == 0) { /* 0, 1, 2, 4, 8 .. are full */
        uint32_t room = e->n_names ? 2 * e->n_names : 1;
        str *names = arena_array(&f->m->a, room, sizeof *names);

        if (!names) {
            (void)ir_fail(f->m, fail_oom(room * sizeof *names));
            return;
        }
        if (e->n_names)
            memcpy(names, e->names, e->n_names * sizeof *names);
        e->names = names;
    }
    e->names[e->n_names++] = keep_str(f, checkpoint_name);
}

void front_set_path(front *f, str name, str module_path)
{
    front_entry *e = entry_of(f, name);

    if (e && e->module_path.n == 0)
        e->module_path = keep_str(f, module_path);
}

void front_add_recipe(front *f, str name, graph *recipe, uint8_t tier)
{
    front_entry *e = entry_of(f, name);

    if (!e || !recipe || ir_status(f->fm->recipes) != HULL_OK)
        return;
    graph **r = arena_array(&f->m->a, e->n_recipes + 1, sizeof(graph *));
    uint8_t *t = arena_array(&f->m->a, e->n_recipes + 1, 1);
    if (!r || !t) {
        (void)ir_fail(f->m, fail_oom(sizeof *r));
        return;
    }
    if (e->n_recipes) {
        memcpy(r, e->recipes, e->n_recipes * sizeof *r);
        memcpy(t, e->tiers, e->n_recipes);
    }
    r[e->n_recipes] = recipe;
    t[e->n_recipes++] = tier;
    e->recipes = r;
    e->tiers = t;
}

void front_set_derived(front *f, str name)
{
    front_entry *e = entry_of(f, name);

    if (e)
        e->derived = true;
}

void front_signature_name(front *f, str name)
{
    front_private *p = f->priv;
    uint32_t at = 0;

    if (strmap_get(&p->signature_map, name, &at))
        return;
    hull_status st = mem_grow(&p->signature, &p->cap_signature,
                              p->n_signature + 1, sizeof *p->signature);
    if (st == HULL_OK)
        st = strmap_set(&p->signature_map, name, p->n_signature);
    if (st != HULL_OK) {
        (void)ir_fail(f->m, st);
        return;
    }
    p->signature[p->n_signature++] = keep_str(f, name);
}

bool front_in_signature(const front *f, str name)
{
    uint32_t at = 0;

    return strmap_get(&f->priv->signature_map, name, &at);
}

graph *front_recipe(front *f)
{
    char name[32];
    int n = snprintf(name, sizeof name, "recipe%" PRIu32,
                     f->fm->recipes->n_graphs);

    return graph_new(f->fm->recipes, (str){name, (size_t)n});
}

/* ---- stored values as structure ------------------------------------------ */

/* What pin_cone did at a value: a second visit finds nothing new, so a model
 * whose shapes hang on one long chain costs its length. */
#define PINNED_KNOWN 1
#define PINNED_ALL 2

/* Marks the stored tensors that v's value is made of: they become literals.
 * known_only: follow only operands whose integer value is known. */
static void pin_cone(front *f, val v, bool known_only, const char *reason)
{
    front_private *p = f->priv;
    unsigned done = known_only ? PINNED_KNOWN | PINNED_ALL : PINNED_ALL;
    size_t n = 0;
    hull_status st = mem_grow(&p->marks, &p->cap_marks, f->g->n_values,
                              sizeof *p->marks);

    if (st == HULL_OK)
        st = mem_grow(&p->stack, &p->cap_stack, 1, sizeof *p->stack);
    if (st == HULL_OK)
        p->stack[n++] = graph_resolve(f->g, v);
    while (st == HULL_OK && n > 0) {
        val at = p->stack[--n];
        const node *d = graph_def(f->g, at);

        if ((p->marks[at] & done) || !d)
            continue;
        p->marks[at] |= known_only ? PINNED_KNOWN : PINNED_ALL;
        if (d->op == OP_weight) {
            front_entry *e = entry_behind(f, at);
            if (e && !e->pinned)
                e->pinned = reason;
            continue;
        }
        st = mem_grow(&p->stack, &p->cap_stack, n + d->n_in, sizeof *p->stack);
        for (uint32_t i = 0; st == HULL_OK && i < d->n_in; i++)
            if (d->in[i] && (!known_only || graph_value(f->g, d->in[i])->known))
                p->stack[n++] = graph_resolve(f->g, d->in[i]);
    }
    if (st != HULL_OK)
        (void)ir_fail(f->m, st);
}

typedef struct folder {
    front *f;
    arena a;
    eval_ctx cx;
    uint32_t steps;
    bool parameter;   /* a tensor in a parameter role was read */
} folder;

static bool fold_value(folder *o, val v, int depth, tensor *out);

/* Room for a value of static type t, at most FOLD_NUMEL_MAX elements. */
static bool fold_room(folder *o, const type *t, tensor *out)
{
    uint64_t n = 1, size = 0;

    memset(out, 0, sizeof *out);
    if (!t || t->kind != TYPE_TENSOR || !type_is_static(o->f->m, t))
        return false;
    out->dtype = t->dtype;
    out->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        out->shape[i] = t->dims[i];
        if (!mul_u64(&n, n, (uint64_t)t->dims[i]))
            return false;
    }
    if (n > FOLD_NUMEL_MAX || !dtype_bytes(&size, t->dtype, n))
        return false;
    out->data = arena_alloc(&o->a, size ? size : 1);
    if (!out->data)
        (void)ir_fail(o->f->m, fail_oom(size));
    return out->data != NULL;
}

/* Evaluates node n, whose operands must be foldable; result `index`. */
static bool fold_node(folder *o, const node *n, uint32_t index, int depth,
                      tensor *out)
{
    const op_info *op = op_get(n->op);
    tensor in[8] = {0}, results[4] = {0};

    if (!(op->traits & OP_PURE) || !op->eval || n->n_in > 8 || n->n_out > 4)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] && !fold_value(o, n->in[i], depth + 1, &in[i]))
            return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!fold_room(o, graph_type(o->f->g, n->out[i]), &results[i]))
            return false;
    hull_status st = op->eval(&o->cx, n, in, results);
    if (st == HULL_ENOMEM)
        (void)ir_fail(o->f->m, st);
    if (st != HULL_OK) {
        error_clear(); /* not a constant: the run will say why */
        return false;
    }
    *out = results[index];
    return true;
}

static bool fold_value(folder *o, val v, int depth, tensor *out)
{
    front *f = o->f;
    node *n = graph_def(f->g, v);

    if (!n || depth > 32 || ++o->steps > FOLD_STEPS_MAX)
        return false;
    if (n->op == OP_weight) {
        front_entry *e = entry_behind(f, v);
        const weight_entry *w = e ? front_stored(f, e) : NULL;

        if (!w || !has_bytes(f, w) ||
            !fold_room(o, graph_type(f->g, v), out))
            return false;
        hull_status st = weights_read(f->fm->native, w, out->data);
        if (st != HULL_OK)
            (void)ir_fail(f->m, st);
        o->parameter |= e->parameter || e->declared_parameter;
        return st == HULL_OK;
    }
    return fold_node(o, n, graph_value(f->g, v)->index, depth, out);
}

/* Value of a small constant expression. The caller ends with fold_end. */
static bool fold_begin(folder *o, front *f, dim_env *env, val v, tensor *out)
{
    *o = (folder){.f = f};
    memset(env, 0, sizeof *env);
    if (!v || ir_status(f->m) != HULL_OK)
        return false;
    hull_status st = dim_env_init(env, f->m);
    if (st != HULL_OK) {
        (void)ir_fail(f->m, st);
        return false;
    }
    o->cx.env = env;
    o->cx.scratch = &o->a;
    return fold_value(o, v, 0, out);
}

static void fold_end(folder *o, dim_env *env)
{
    arena_fini(&o->a);
    dim_env_fini(env);
}

static uint64_t tensor_count(const tensor *t)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < t->rank; i++)
        n *= (uint64_t)t->shape[i]; /* bounded by fold_room */
    return n;
}

/* Integers of a constant expression that infer_known does not follow. */
static hull_status fold_ints(front *f, val v, dim *out, uint32_t max,
                             uint32_t *out_n, bool *out_known)
{
    folder o;
    dim_env env;
    tensor t;

    if (fold_begin(&o, f, &env, v, &t) && t.rank <= 1 &&
        (dtype_is_int(t.dtype) || t.dtype == HULL_BOOL) &&
        tensor_count(&t) <= max) {
        *out_n = (uint32_t)tensor_count(&t);
        for (uint32_t i = 0; i < *out_n; i++)
            out[i] = dim_int(f->m, load_i64(t.dtype, t.data, i));
        *out_known = true;
        pin_cone(f, v, false, reason_structure);
    }
    fold_end(&o, &env);
    return ir_status(f->m);
}

/* A vector without elements is known whoever gives it. */
static bool is_empty_vector(const front *f, val v)
{
    const type *t = v != 0 ? graph_type(f->g, v) : NULL;

    return t && t->kind == TYPE_TENSOR && t->rank == 1 && t->dims[0] == 0;
}

hull_status front_structure(front *f, val v, dim *out, uint32_t max,
                            uint32_t *out_n, bool *out_known)
{
    *out_n = 0;
    *out_known = false;
    TRY(ir_status(f->m));
    const value *x = graph_value(f->g, v);
    if (!x || v == 0)
        return HULL_OK;
    if (is_empty_vector(f, v)) {
        const node *d = graph_def(f->g, v);

        *out_known = true;
        if (d && d->op == OP_weight)
            pin_cone(f, v, false, reason_structure);
        return ir_status(f->m);
    }
    if (!x->known)
        return fold_ints(f, v, out, max, out_n, out_known);
    if (x->n_known > max)
        return fail(HULL_EUNSUPPORTED,
                    "'%.*s' has %" PRIu32 " elements, at most %" PRIu32
                    " fit",
                    STR_ARG(x->name), x->n_known, max);
    for (uint32_t i = 0; i < x->n_known; i++)
        if (x->known[i] == DIM_UNKNOWN)
            return HULL_OK;
    for (uint32_t i = 0; i < x->n_known; i++)
        out[i] = x->known[i];
    *out_n = x->n_known;
    *out_known = true;
    pin_cone(f, v, true, reason_structure);
    return ir_status(f->m);
}

hull_status front_ints(front *f, val v, int64_t *out, uint32_t max,
                       uint32_t *out_n, const char *what)
{
    dim d[KNOWN_MAX];
    bool known = false;

    TRY(note(front_structure(f, v, d, max < KNOWN_MAX ? max : KNOWN_MAX, out_n,
                             &known),
             "%s", what));
    for (uint32_t i = 0; known && i < *out_n; i++)
        known = dim_is_int(f->m, d[i], &out[i]);
    if (!known)
        return fail(HULL_EUNSUPPORTED,
                    "%s depends on data or on an input size, want a constant",
                    what);
    return HULL_OK;
}

hull_status front_floats(front *f, val v, double *out, uint32_t max,
                         uint32_t *out_n, bool *out_known)
{
    folder o;
    dim_env env;
    tensor t;

    *out_n = 0;
    *out_known = false;
    TRY(ir_status(f->m));
    if (fold_begin(&o, f, &env, v, &t) && t.rank <= 1 &&
        tensor_count(&t) <= max && !dtype_is_complex(t.dtype)) {
        *out_n = (uint32_t)tensor_count(&t);
        for (uint32_t i = 0; i < *out_n; i++)
            out[i] = load_f64(t.dtype, t.data, i);
        *out_known = true;
        pin_cone(f, v, false, reason_structure);
    }
    fold_end(&o, &env);
    return ir_status(f->m);
}

bool front_scalar(front *f, val v, double *out_value)
{
    folder o;
    dim_env env;
    tensor t;
    bool ok = false;

    *out_value = 0;
    if (fold_begin(&o, f, &env, v, &t) && tensor_count(&t) == 1 &&
        !o.parameter && !dtype_is_complex(t.dtype)) {
        *out_value = load_f64(t.dtype, t.data, 0);
        pin_cone(f, v, false, reason_structure);
        ok = true;
    }
    fold_end(&o, &env);
    return ok && ir_status(f->m) == HULL_OK;
}

/* ---- operators without a lowering ---------------------------------------- */

void front_missing(front *f, str op, str domain, int64_t version,
                   str node_name)
{
    front_private *p = f->priv;

    for (uint32_t i = 0; i < p->n_missing; i++) {
        front_absent *a = &p->missing[i];
        if (str_eq(a->op, op) && str_eq(a->domain, domain) &&
            a->version == version) {
            a->count++;
            return;
        }
    }
    if (p->n_missing == MISSING_MAX) {
        p->n_more_missing++;
        return;
    }
    hull_status st = mem_grow(&p->missing, &p->cap_missing, p->n_missing + 1,
                              sizeof *p->missing);
    if (st != HULL_OK) {
        (void)ir_fail(f->m, st);
        return;
    }
    p->missing[p->n_missing++] = (front_absent){
        keep_str(f, op), keep_str(f, domain), keep_str(f, node_name), version,
        1};
}

hull_status front_check_missing(front *f)
{
    front_private *p = f->priv;
    buf b;

    TRY(ir_status(f->m));
    if (p->n_missing == 0)
        return HULL_OK;
    buf_init(&b, ERROR_TEXT_MAX);
    for (uint32_t i = 0; i < p->n_missing; i++) {
        const front_absent *a = &p->missing[i];
        buf_printf(&b, "%s%.*s (domain %.*s", i ? "; " : "", STR_ARG(a->op),
                   STR_ARG(a->domain));
        if (a->version > 0)
            buf_printf(&b, " version %" PRId64, a->version);
        buf_printf(&b, ", %" PRIu32 " node%s, first '%.*s')", a->count,
                   a->count == 1 ? "" : "s", STR_ARG(a->node_name));
    }
    hull_status st = fail(HULL_EUNSUPPORTED,
                          "%" PRIu32 "%s operator%s without a lowering: %s",
                          p->n_missing, p->n_more_missing ? " or more" : "",
                          p->n_missing == 1 ? "" : "s", b.p ? b.p : "");
    buf_fini(&b);
    return st;
}

/* ---- decompositions ------------------------------------------------------ */

val lower_linear(front *f, val x, val w, val b)
{
    node *n = node_new(f->g, OP_matmul);

    node_input(f->g, n, x);
    node_input(f->g, n, w);
    if (b)
        node_input(f->g, n, b);
    node_bool(f->g, n, "trans_b", true);
    front_is_parameter(f, w);
    if (b)
        front_is_parameter(f, b);
    return node_add(f->g, n);
}

static val fail_value(front *f, hull_status st)
{
    (void)ir_fail(f->m, st);
    return 0;
}

/* Marks axes of a shape of `rank`; duplicates and bad axes fail. */
static hull_status mark_axes(bool *marked, const int64_t *axes, uint32_t n,
                             uint32_t rank)
{
    memset(marked, 0, HULL_MAX_RANK * sizeof *marked);
    for (uint32_t i = 0; i < n; i++) {
        int64_t a = axes[i] < 0 ? axes[i] + rank : axes[i];

        if (a < 0 || a >= rank || axes[i] < -(int64_t)rank)
            return fail(HULL_ESHAPE,
                        "axis %" PRId64 " does not exist in rank %" PRIu32,
                        axes[i], rank);
        if (marked[a])
            return fail(HULL_ESHAPE, "axis %" PRId64 " is given twice",
                        axes[i]);
        marked[a] = true;
    }
    return HULL_OK;
}

val lower_axes_to_reshape(front *f, val x, const int64_t *axes, uint32_t n,
                          bool insert)
{
    const type *t = graph_type(f->g, x);
    dim d[HULL_MAX_RANK];
    bool marked[HULL_MAX_RANK];
    uint32_t k = 0;

    if (!x || !t)
        return 0;
    uint32_t rank = insert ? t->rank + n : t->rank;
    if (rank > HULL_MAX_RANK || n > HULL_MAX_RANK)
        return fail_value(f, fail(HULL_EUNSUPPORTED,
                                  "rank %" PRIu32 " is above %d", rank,
                                  HULL_MAX_RANK));
    hull_status st = mark_axes(marked, axes, n, rank);
    if (st != HULL_OK)
        return fail_value(f, st);
    for (uint32_t i = 0; i < rank; i++) {
        int64_t size = 0;

        if (insert)
            d[i] = marked[i] ? 1 : t->dims[k++];
        else if (!marked[i])
            d[k++] = t->dims[i];
        else if (dim_is_int(f->m, t->dims[i], &size) && size != 1)
            return fail_value(f, fail(HULL_ESHAPE,
                                      "axis %" PRIu32 " to squeeze has size "
                                      "%" PRId64 ", want 1",
                                      i, size));
    }
    return op_reshape(f->g, x, d, insert ? rank : k);
}

val lower_split(front *f, val x, uint32_t axis, dim start, dim size)
{
    return op_slice(f->g, x, axis, start, dim_add(f->m, start, size), 1);
}

/* ---- writes into a part, as values --------------------------------------- */

/* Bound of a slice as an offset in [0, size]; false when its sign is open. */
static bool slice_start(ir *m, dim d, dim size, dim *out)
{
    int64_t v = 0, lo, hi;

    if (dim_is_int(m, d, &v) && v < 0) {
        *out = v == INT64_MIN ? 0 : dim_max(m, dim_add(m, size, d), 0);
        return true;
    }
    dim_range(m, d, &lo, &hi);
    *out = d == 0 ? 0 : dim_min(m, d, size);
    return d != DIM_UNKNOWN && lo >= 0;
}

/* For each place of the axis what is taken of w, where there is anything. */
static val put_strided(front *f, val x, val w, uint32_t axis, dim start,
                       int64_t step)
{
    const type *t = graph_type(f->g, x), *part = graph_type(f->g, w);
    dim ones[HULL_MAX_RANK], size = t->dims[axis], count = part->dims[axis];
    uint32_t rank = t->rank;
    graph *g = f->g;
    node *n = node_new(g, OP_iota);

    for (uint32_t i = 0; i < rank; i++)
        ones[i] = 1;
    ones[axis] = size;
    node_dims(g, n, "shape", &size, 1);
    val zero = op_scalar_i64(g, HULL_I64, 0);
    val by = op_scalar_i64(g, HULL_I64, step);
    val rel = op_binary(g, OP_sub, node_add(g, n), op_dims(g, &start, 1));
    val at = op_binary(g, OP_div, rel, by);
    val in = op_binary(g, OP_and, op_binary(g, OP_ge, rel, zero),
                       op_binary(g, OP_lt, at, op_dims(g, &count, 1)));
    in = op_binary(g, OP_and, in,
                   op_binary(g, OP_eq, op_binary(g, OP_mod, rel, by), zero));
    n = node_new(g, OP_gather);
    node_input(g, n, w);
    node_input(g, n, op_where(g, in, at, zero));
    node_int(g, n, "axis", axis);
    val spread = node_add(g, n);
    return op_where(g, op_reshape(g, in, ones, rank), spread, x);
}

val lower_put_slice(front *f, val x, val w, uint32_t axis, dim start,
                    int64_t step)
{
    const type *t = graph_type(f->g, x), *part = graph_type(f->g, w);
    val parts[3];
    uint32_t n = 0;
    dim size, end, none = 0;

    if (!t || !part || axis >= t->rank || part->rank != t->rank || step < 1 ||
        !slice_start(f->m, start, t->dims[axis], &start))
        return 0;
    size = t->dims[axis];
    end = dim_add(f->m, start, part->dims[axis]);
    if (dim_eq(f->m, part->dims[axis], none))
        return x;
    if (step > 1)
        return put_strided(f, x, w, axis, start, step);
    if (start != 0)
        parts[n++] = op_slice(f->g, x, axis, 0, start, 1);
    parts[n++] = w;
    if (!dim_eq(f->m, end, size))
        parts[n++] = op_slice(f->g, x, axis, end, size, 1);
    return n == 1 ? w : op_concat(f->g, parts, n, axis);
}
