/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * import.c - the frame of an import: finds the frontend by content, and ends
 * the import: pinned tensors and rank-0 values become literals, the values of
 * holes are forgotten (no pass may see one), dead nodes go, nodes come in
 * canonical order, the graph is verified and its holes are listed with what is
 * known about their names.
 */
#include "front/front_private.h"

#include <inttypes.h>
#include <string.h>

static const front_format formats[] = {
    {"onnx", WEIGHTS_ONNX, onnx_import},
    {"pt2", WEIGHTS_PT2, pt2_import},
};

/* ---- literals ------------------------------------------------------------ */

static void *arena_want(front *f, size_t n, size_t size)
{
    void *p = arena_array(&f->m->a, n ? n : 1, size);

    if (!p)
        (void)ir_fail(f->m, fail_oom(n * size));
    return p;
}

void front_print_value(buf *b, hull_dtype dt, uint32_t rank, const void *data,
                       uint64_t n)
{
    if (rank)
        buf_putc(b, '[');
    for (uint64_t i = 0; i < n && i < 8; i++) {
        if (i)
            buf_puts(b, ", ");
        if (dtype_is_int(dt) || dt == HULL_BOOL)
            buf_printf(b, "%" PRId64, load_i64(dt, data, i));
        else if (dt == HULL_F64)
            buf_f64(b, load_f64(dt, data, i));
        else if (dtype_is_float(dt))
            buf_f32(b, (float)load_f64(dt, data, i));
        else
            buf_putc(b, '?');
    }
    if (n > 8)
        buf_puts(b, ", ...");
    if (rank)
        buf_putc(b, ']');
}

static str value_text(front *f, const weight_entry *w, const void *data,
                      uint64_t n)
{
    buf b;
    str out = {"", 0};

    buf_init(&b, 1024);
    front_print_value(&b, w->dtype, w->rank, data, n);
    hull_status st = buf_status(&b);
    char *p = arena_strndup(&f->m->a, b.p ? b.p : "", b.n);
    if (st == HULL_OK && p)
        out = (str){p, b.n};
    else
        (void)ir_fail(f->m, st != HULL_OK ? st : fail_oom(b.n));
    buf_fini(&b);
    return out;
}

/* Replaces entry e's weight node by a const node with the stored bytes. */
static hull_status make_literal(front *f, front_entry *e, const char *reason)
{
    const weight_entry *w = front_stored(f, e);
    front_model *fm = f->fm;
    node *n = graph_def(f->g, e->v);
    void *data = mem_alloc(w->len ? w->len : 1);
    uint64_t numel = 1;
    hull_status st = HULL_OK;

    if (!data)
        return fail_oom(w->len);
    for (uint32_t i = 0; i < w->rank; i++)
        numel *= (uint64_t)w->shape[i]; /* checked by weights_add */
    TRY_OUT(weights_read(fm->native, w, data));
    f->g->insert_in = NULL;
    f->g->insert_before = n;
    val c = op_const(f->g, w->dtype, w->shape, w->rank, data);
    f->g->insert_before = NULL;
    TRY_OUT(ir_status(f->m));
    value_set_name(f->g, c, e->name);
    graph_replace(f->g, e->v, c);
    node_remove(f->g, n);
    fm->literals[fm->n_literals++] =
        (front_literal){e->name, reason, value_text(f, w, data, numel)};
    e->v = 0;
out:
    mem_free(data);
    return st;
}

/* The names that rank-0 values go by, and how the checkpoint has them. */
#define HAS_WHOLE 1
#define HAS_BELOW 2 /* a prefix and a dot */

typedef struct wanted {
    strmap names; /* to the bits above */
    size_t longest;
} wanted;

static hull_status want_name(wanted *w, str name)
{
    if (name.n > w->longest)
        w->longest = name.n;
    return strmap_set(&w->names, name, 0);
}

static uint32_t has_name(const wanted *w, str name)
{
    uint32_t bits = 0;

    return strmap_get(&w->names, name, &bits) ? bits : 0;
}

static hull_status mark_name(wanted *w, str name, uint32_t bit)
{
    uint32_t bits = 0;

    if (name.n > w->longest || !strmap_get(&w->names, name, &bits))
        return HULL_OK;
    return strmap_set(&w->names, name, bits | bit);
}

/* Asks the checkpoint for all such names at once. */
static hull_status ask_checkpoint(wanted *w, const front *f)
{
    const front_private *p = f->priv;
    size_t n = f->checkpoint ? weights_count(f->checkpoint) : 0;

    for (uint32_t i = 0; n > 0 && i < p->n_entries; i++) {
        const front_entry *e = p->entries[i];

        if (!e->v || e->pinned || front_stored(f, e)->rank != 0)
            continue;
        TRY(want_name(w, e->name));
        for (uint32_t k = 0; k < e->n_names; k++)
            TRY(want_name(w, e->names[k]));
    }
    for (size_t i = 0; w->longest > 0 && i < n; i++) {
        str name = weights_at(f->checkpoint, i)->name, rest = name;

        TRY(mark_name(w, name, HAS_WHOLE));
        for (str_split(name, '.', &rest); rest.n > 0;
             str_split(rest, '.', &rest))
            TRY(mark_name(w, rest, HAS_BELOW));
    }
    return HULL_OK;
}

/* True when the checkpoint given to compile names one of e's names, perhaps
 * below a prefix. */
static bool checkpoint_names(const wanted *w, const front_entry *e)
{
    bool has = (has_name(w, e->name) & HAS_WHOLE) != 0;

    for (uint32_t k = 0; k < e->n_names && !has; k++)
        has = has_name(w, e->names[k]) != 0;
    return has;
}

/* The first line of "weight or literal" that makes e a literal; NULL: none. */
static const char *literal_reason(const front *f, const wanted *w,
                                  const front_entry *e)
{
    if (e->pinned)
        return e->pinned;
    if (front_stored(f, e)->rank != 0 || e->parameter ||
        e->declared_parameter || front_in_signature(f, e->name))
        return NULL;
    for (uint32_t i = 0; i < e->n_names; i++)
        if (front_in_signature(f, e->names[i]))
            return NULL;
    if (checkpoint_names(w, e))
        return NULL;
    return "rank-0 value outside parameter roles";
}

static hull_status make_literals(front *f, const wanted *w)
{
    front_private *p = f->priv;

    f->fm->literals =
        arena_want(f, p->n_entries, sizeof *f->fm->literals);
    TRY(ir_status(f->m));
    for (uint32_t i = 0; i < p->n_entries; i++) {
        front_entry *e = p->entries[i];
        const char *reason = e->v ? literal_reason(f, w, e) : NULL;

        if (!reason)
            continue;
        if (weights_storage(f->fm->native, front_stored(f, e))->absent)
            return fail(HULL_EFORMAT,
                        "'%.*s' %s, but the file does not hold its bytes",
                        STR_ARG(e->name), reason);
        TRY(make_literal(f, e, reason));
    }
    graph_settle(f->g);
    return ir_status(f->m);
}

static hull_status apply_literals(front *f)
{
    wanted w = {0};
    hull_status st = ask_checkpoint(&w, f);

    if (st == HULL_OK)
        st = make_literals(f, &w);
    strmap_fini(&w.names);
    return st;
}

/* No pass may see a hole's value: what was known from holes is dropped, what
 * follows from literals and sizes is found again. */
static hull_status forget_values(front *f)
{
    graph *g = f->g;

    for (uint32_t i = 0; i < g->n_values; i++) {
        g->values[i]->known = NULL;
        g->values[i]->n_known = 0;
    }
    for (node *n = graph_first(g); n; n = graph_next(g, n))
        TRY(node_infer(g, n));
    return ir_status(f->m);
}

/* ---- holes --------------------------------------------------------------- */

static bool is_kept_dtype(hull_dtype dt)
{
    return dt == HULL_I64 || dt == HULL_BOOL;
}

static void fill_hole(front *f, front_hole *h, const front_entry *e)
{
    const weight_entry *w = front_stored(f, e);
    bool inline_value = w && w->inline_value;

    h->name = e->name;
    h->type = *graph_type(f->g, e->v);
    h->names = e->names;
    h->n_names = e->n_names;
    h->recipes = e->recipes;
    h->tiers = e->tiers;
    h->n_recipes = e->n_recipes;
    h->derived = e->derived;
    h->parameter = e->parameter || e->declared_parameter;
    h->native = w && !weights_storage(f->fm->native, w)->absent;
    h->module_path = e->module_path;
    if (e->kept && !e->declared_parameter) {
        h->kept = true;
        h->reason = e->reason ? e->reason : "the file says constant";
    } else if (is_kept_dtype(h->type.dtype)) {
        h->kept = true;
        h->reason = "integer or bool table";
    } else if (inline_value && !h->parameter) {
        h->kept = true;
        h->reason = "inline constant outside parameter roles";
    } else {
        h->reason = e->reason ? e->reason : "stored tensor";
    }
}

static hull_status list_holes(front *f)
{
    front_model *fm = f->fm;
    uint32_t n = 0;
    const str *names = graph_holes(f->g, &n);

    TRY(ir_status(f->m));
    fm->holes = arena_want(f, n, sizeof *fm->holes);
    TRY(ir_status(f->m));
    for (uint32_t i = 0; i < n; i++) {
        const front_entry *e = front_find(f, names[i]);

        if (!e || !e->v)
            return fail(HULL_EINTERNAL, "hole '%.*s' has no entry",
                        STR_ARG(names[i]));
        fill_hole(f, &fm->holes[fm->n_holes++], e);
    }
    return HULL_OK;
}

/* Adds the leaf names of a recipe to `used`. */
static hull_status use_recipe(strmap *used, const graph *recipe)
{
    for (const node *n = graph_first(recipe); n; n = graph_next(recipe, n))
        if (n->op == OP_weight)
            TRY(strmap_set(used, attr_str(n, "name"), 1));
    return HULL_OK;
}

static hull_status list_unread(front *f)
{
    front_private *p = f->priv;
    front_model *fm = f->fm;
    strmap used = {0};
    str *unread = arena_want(f, p->n_signature, sizeof *unread);
    hull_status st = HULL_OK;
    uint32_t at = 0;

    TRY_OUT(ir_status(f->m));
    for (uint32_t i = 0; i < fm->n_holes; i++) {
        const front_hole *h = &fm->holes[i];

        for (uint32_t k = 0; k < h->n_names; k++)
            TRY_OUT(strmap_set(&used, h->names[k], 1));
        for (uint32_t k = 0; k < h->n_recipes; k++)
            TRY_OUT(use_recipe(&used, h->recipes[k]));
    }
    for (uint32_t i = 0; i < p->n_signature; i++)
        if (!strmap_get(&used, p->signature[i], &at))
            unread[fm->n_unread++] = p->signature[i];
    fm->unread = unread;
out:
    strmap_fini(&used);
    return st;
}

/* Pins, the rank-0 rule, forgotten values, canonical order, holes. */
static hull_status finish(front *f)
{
    TRY(front_check_missing(f));
    graph_settle(f->g);
    TRY(apply_literals(f));
    TRY(forget_values(f));
    graph_remove_dead(f->g);
    graph_canonical_order(f->g);
    TRY(ir_status(f->m));
    TRY(graph_verify(f->g));
    TRY(ir_status(f->fm->recipes));
    TRY(ir_verify(f->fm->recipes));
    TRY(list_holes(f));
    return list_unread(f);
}

/* ---- frame --------------------------------------------------------------- */

static void front_fini(front *f, front_private *p)
{
    mem_free(p->entries);
    strmap_fini(&p->by_name);
    mem_free(p->signature);
    strmap_fini(&p->signature_map);
    mem_free(p->missing);
    mem_free(p->marks);
    mem_free(p->stack);
    mem_free(p->bound);
    arena_fini(&f->a);
}

static hull_status import_into(front *f)
{
    front_model *fm = f->fm;
    weights_format kind = weights_kind(fm->native);

    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (formats[i].kind != kind)
            continue;
        fm->format = formats[i].name;
        TRY(formats[i].read(f, weights_file(fm->native, 0)));
        TRY(ir_status(f->m));
        return finish(f);
    }
    return fail(HULL_EUNSUPPORTED,
                "%s holds tensors but no graph, want an ONNX or PT2 model",
                weights_label(fm->native));
}

/* What an op refuses as an argument is, in a model, a fault of the file. */
static hull_status as_file_error(hull_status st)
{
    error_record r;

    if (st != HULL_EINVAL)
        return st;
    error_take(&r);
    r.status = HULL_EFORMAT;
    return error_put(&r);
}

hull_status front_import(front_model **out, const char *path,
                         const weights *checkpoint)
{
    weights *native;
    hull_status st;

    *out = NULL;
    TRY(weights_open(&native, path, NULL));
    st = front_import_index(out, native, path, checkpoint);
    weights_unref(native);
    return st;
}

hull_status front_import_index(front_model **out, weights *native,
                               const char *path, const weights *checkpoint)
{
    front_private priv = {0};
    front f = {.priv = &priv, .checkpoint = checkpoint};
    front_model *fm = mem_calloc(1, sizeof *fm);
    hull_status st = HULL_OK;

    *out = NULL;
    if (!fm)
        return fail_oom(sizeof *fm);
    f.fm = fm;
    fm->native = weights_ref(native);
    TRY_OUT(ir_new(&fm->m));
    TRY_OUT(ir_new(&fm->recipes));
    f.m = fm->m;
    f.g = fm->g = graph_new(fm->m, str_of("main"));
    TRY_OUT(ir_status(fm->m));
    TRY_OUT(note_path(as_file_error(import_into(&f)), path));
    *out = fm;
    fm = NULL;
out:
    front_fini(&f, &priv);
    front_free(fm);
    return st;
}

void front_free(front_model *fm)
{
    if (!fm)
        return;
    ir_free(fm->m);
    ir_free(fm->recipes);
    weights_unref(fm->native);
    mem_free(fm);
}
