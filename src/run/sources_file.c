/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sources_file.c - the tensors that a weight set was made from, and what each
 * of them is for, inside a module file. The binding is stored as it was found,
 * so a loaded module binds exactly as the saved one did, whatever rule found
 * it (name, recipe, position in a model file). Tensors are copied piece by
 * piece while the file is written; no buffer is as large as the model.
 */
#include "run/module_file.h"

#include <inttypes.h>
#include <string.h>

#define SOURCE_ALIGN 64
#define BINDING_WHAT "section 'binding'"
#define SOURCES_WHAT "section 'sources.index'"

/* ---- writing the binding ------------------------------------------------- */

static hull_status graph_number(uint32_t *out, const binding *b,
                                const graph *g)
{
    for (*out = 0; *out < b->recipes->n_graphs; (*out)++)
        if (b->recipes->graphs[*out] == g)
            return HULL_OK;
    return fail(HULL_EINTERNAL, "a recipe is not in the binding");
}

static hull_status put_bound(json_t *row, const binding *b,
                             const bound_hole *h)
{
    uint32_t number;

    switch (h->kind) {
    case BOUND_ENTRY:
        return json_put(row, "tensor", json_text(h->entry->name));
    case BOUND_RECIPE:
        TRY(graph_number(&number, b, h->recipe));
        return json_put(row, "graph", json_integer(number));
    case BOUND_KEPT:
        return json_put(row, "kept", json_true());
    case BOUND_NONE:
        break;
    }
    return fail(HULL_EINTERNAL, "a hole is not bound");
}

static hull_status add_graphs(container_writer *cw, const binding *b)
{
    hull_status st;
    buf text;

    buf_init(&text, MODULE_TEXT_MAX);
    if (b->recipes != NULL && b->recipes->n_graphs > 0)
        ir_print(&text, b->recipes);
    st = buf_status(&text);
    if (st == HULL_OK)
        st = container_add(cw, "binding.graphs", text.p, text.n);
    buf_fini(&text);
    TRY(st);
    return section_add_pins(cw, "binding.pins", b->recipes, NULL);
}

hull_status binding_write(container_writer *cw, const plan *p,
                          const binding *b)
{
    hull_status st = HULL_OK;
    json_t *top, *holes, *row;

    TRY(json_new(&top));
    TRY_OUT(json_put(top, "label",
                     json_text(str_of(weights_label(b->w[0])))));
    TRY_OUT(json_put_array(&holes, top, "holes"));
    for (uint32_t i = 0; i < p->n_holes; i++) {
        TRY_OUT(json_push(holes, row = json_object()));
        TRY_OUT(note(put_bound(row, b, &b->holes[i]), "hole '%.*s'",
                     STR_ARG(p->holes[i].name)));
    }
    TRY_OUT(section_add_json(cw, "binding", top));
    st = add_graphs(cw, b);
out:
    json_free(top);
    return st;
}

/* ---- reading the binding ------------------------------------------------- */

static bool entry_is(const weight_entry *e, hull_dtype dt, uint32_t rank,
                     const int64_t *dims)
{
    return e != NULL && e->dtype == dt && e->rank == rank &&
           (rank == 0 || memcmp(e->shape, dims, rank * sizeof *dims) == 0);
}

/* Every leaf is a tensor of w of the leaf's type. */
static hull_status check_leaves(const graph *g, const weights *w,
                                hull_status code)
{
    for (const node *n = g->body->first; n != NULL; n = n->next) {
        const type *t;

        if (n->op != OP_weight)
            continue;
        t = graph_type(g, n->out[0]);
        if (!entry_is(weights_find(w, attr_str(n, "name")), t->dtype, t->rank,
                      t->dims))
            return fail(code, "tensor '%.*s' is absent from %s, or of another "
                        "type", STR_ARG(attr_str(n, "name")),
                        weights_label(w));
    }
    return HULL_OK;
}

static hull_status read_bound(binding *b, uint32_t i, const plan *p,
                              json_t *row, bool *taken, hull_status code)
{
    bound_hole *bh = &b->holes[i];
    const plan_hole *h = &p->holes[i];
    uint32_t number;
    str name;

    if (json_object_get(row, "kept") != NULL) {
        if (h->kept_value == NULL)
            return fail(HULL_EFORMAT, "it has no kept value");
        bh->kind = BOUND_KEPT;
        b->n_kept++;
        return HULL_OK;
    }
    if (json_object_get(row, "graph") != NULL) {
        TRY(json_want_u32(&number, row, "graph", UINT32_MAX, BINDING_WHAT));
        TRY(recipe_take(&bh->recipe, b->recipes, taken, number));
        bh->kind = BOUND_RECIPE;
        TRY(recipe_check(bh->recipe, h));
        return check_leaves(bh->recipe, b->w[0], code);
    }
    TRY(json_want_string(&name, row, "tensor", BINDING_WHAT));
    bh->kind = BOUND_ENTRY;
    bh->entry = weights_find(b->w[0], name);
    if (!entry_is(bh->entry, h->dtype, h->rank, h->shape))
        return fail(code, "tensor '%.*s' is absent from %s, or of another "
                    "type", STR_ARG(name), weights_label(b->w[0]));
    return HULL_OK;
}

static hull_status binding_new(binding **out, const plan *p, weights *w)
{
    binding *b = mem_calloc(1, sizeof *b);

    *out = b;
    if (b == NULL)
        return fail_oom(sizeof *b);
    atomic_init(&b->refs, 1);
    b->n = p->n_holes;
    b->holes = mem_calloc(p->n_holes + 1, sizeof *b->holes);
    b->w = mem_calloc(1, sizeof(*b->w));
    if (b->holes == NULL || b->w == NULL)
        return fail_oom(p->n_holes * sizeof *b->holes);
    b->w[0] = weights_ref(w);
    b->n_w = 1;
    return HULL_OK;
}

hull_status binding_read(binding **out, container *c, const plan *p,
                         weights *w, hull_status code)
{
    hull_status st = HULL_OK;
    json_t *top = NULL, *holes;
    binding *b = NULL;
    ir *pins = NULL;
    bool *taken = NULL;
    bytes data;

    *out = NULL;
    TRY_OUT(binding_new(&b, p, w));
    TRY_OUT(ir_new(&pins));
    TRY_OUT(container_get(c, "binding.pins", MODULE_PINS_MAX, &data));
    TRY_OUT(note(pins_read(pins, data), "section 'binding.pins'"));
    TRY_OUT(section_get_ir(&b->recipes, c, "binding.graphs", pins));
    taken = mem_calloc(b->recipes->n_graphs + 1u, sizeof *taken);
    if (taken == NULL)
        TRY_OUT(fail_oom(b->recipes->n_graphs));
    TRY_OUT(section_get_json(&top, c, "binding"));
    TRY_OUT(json_want_array(&holes, top, "holes", BINDING_WHAT));
    if (json_array_size(holes) != p->n_holes)
        TRY_OUT(fail(HULL_EFORMAT, BINDING_WHAT " has %zu holes, the module "
                     "%u", json_array_size(holes), p->n_holes));
    for (uint32_t i = 0; i < p->n_holes; i++)
        TRY_OUT(note(read_bound(b, i, p, json_array_get(holes, i), taken,
                                code),
                     "hole '%.*s'", STR_ARG(p->holes[i].name)));
    *out = b;
    b = NULL;
out:
    json_free(top);
    ir_free(pins);
    mem_free(taken);
    binding_unref(b);
    return st;
}

/* ---- which tensors a binding reads --------------------------------------- */

typedef struct saved {
    const weights *w;
    const weight_entry *e;
    uint64_t off;        /* in section "sources" */
} saved;

struct sources_writer {
    saved *t;            /* in order of off */
    size_t n, cap;
    strmap by_name;
    uint64_t end;
    size_t at;           /* the tensor that the last piece came from */
    uint8_t *whole;      /* a strided tensor, while it is written */
    size_t whole_of;     /* its number */
};

static bool same_bytes(const saved *a, const weights *w, const weight_entry *e)
{
    return a->w == w && a->e->storage == e->storage && a->e->off == e->off &&
           a->e->len == e->len && a->e->dense && e->dense;
}

/* Two checkpoints of one set may share a name only when the bytes agree. */
static hull_status check_same(const saved *a, const weights *w,
                              const weight_entry *e)
{
    bool equal;

    if (a->e == e)
        return HULL_OK;
    equal = entry_is(a->e, e->dtype, e->rank, e->shape);
    if (equal)
        TRY(weights_equal(&equal, a->w, a->e, w, e));
    if (!equal)
        return fail(HULL_EINVAL, "the weights come from several checkpoints "
                    "whose '%.*s' differ: refit with a full one before saving "
                    "the sources", STR_ARG(e->name));
    return HULL_OK;
}

hull_status tensor_is_there(const weights *w, const weight_entry *e)
{
    const weight_storage *s = weights_storage(w, e);

    if (s->memory != NULL && s->release == NULL && e->len > 0)
        return fail(HULL_EINVAL, "tensor '%.*s' is in the caller's memory, "
                    "which was lent for one call only: give it with a release "
                    "function, or save prepared slots", STR_ARG(e->name));
    return HULL_OK;
}

static hull_status add_tensor(sources_writer *sw, const weights *w,
                              const weight_entry *e)
{
    saved *t;
    uint32_t found;

    TRY(tensor_is_there(w, e));
    if (strmap_get(&sw->by_name, e->name, &found))
        return check_same(&sw->t[found], w, e);
    TRY(mem_grow(&sw->t, &sw->cap, sw->n + 1, sizeof *sw->t));
    TRY(strmap_set(&sw->by_name, e->name, (uint32_t)sw->n));
    t = &sw->t[sw->n++];
    *t = (saved){w, e, sw->end};
    sw->end = round_up(sw->end + e->len, SOURCE_ALIGN);
    return HULL_OK;
}

/* Another name of the same storage takes no bytes of its own. */
static hull_status add_tied(sources_writer *sw, const weights *w,
                            const weight_entry *e)
{
    for (size_t i = 0; i < sw->n; i++) {
        uint32_t found;

        if (!same_bytes(&sw->t[i], w, e) ||
            strmap_get(&sw->by_name, e->name, &found))
            continue;
        TRY(mem_grow(&sw->t, &sw->cap, sw->n + 1, sizeof *sw->t));
        TRY(strmap_set(&sw->by_name, e->name, (uint32_t)sw->n));
        sw->t[sw->n++] = (saved){w, e, sw->t[i].off};
        return HULL_OK;
    }
    return add_tensor(sw, w, e);
}

/* name as the checkpoint spells it, given that it spells `like` as `as`. */
static const weight_entry *find_spelled(const weights *w, str name, str like,
                                        str as)
{
    char full[4096];

    if (as.n >= like.n &&
        memcmp(as.p + as.n - like.n, like.p, like.n) == 0) {
        size_t add = as.n - like.n;

        if (add + name.n > sizeof full)
            return NULL;
        memcpy(full, as.p, add);
        memcpy(full + add, name.p, name.n);
        return weights_find(w, (str){full, add + name.n});
    }
    if (as.n < like.n && memcmp(like.p + like.n - as.n, as.p, as.n) == 0) {
        size_t cut = like.n - as.n;

        if (name.n > cut && memcmp(name.p, like.p, cut) == 0)
            return weights_find(w, (str){name.p + cut, name.n - cut});
    }
    return NULL;
}

/* The name of a tie that the tensor was found under. */
static str tie_name(const plan_hole *h, const weights *w,
                    const weight_entry *e)
{
    for (uint32_t i = 0; i < h->n_names; i++)
        if (str_eq(h->names[i], e->name))
            return e->name;
    for (uint32_t i = 0; i < h->n_names; i++)
        if (find_spelled(w, h->names[i], h->names[i], e->name) == e)
            return h->names[i];
    return (str){0};
}

/* The other names of a tie that the checkpoint has. */
static hull_status add_tie(sources_writer *sw, const plan_hole *h,
                           const weights *w, const weight_entry *e)
{
    str found = tie_name(h, w, e);

    for (uint32_t i = 0; found.n > 0 && i < h->n_names; i++) {
        const weight_entry *other =
            find_spelled(w, h->names[i], found, e->name);

        if (other != NULL && other != e &&
            entry_is(other, e->dtype, e->rank, e->shape))
            TRY(add_tied(sw, w, other));
    }
    return HULL_OK;
}

static hull_status collect(sources_writer *sw, const plan *p, const binding *b)
{
    for (uint32_t i = 0; i < p->n_holes; i++) {
        const bound_hole *h = &b->holes[i];
        const weights *w = b->w[h->source];

        if (h->kind == BOUND_ENTRY)
            TRY(add_tensor(sw, w, h->entry));
        if (h->kind != BOUND_RECIPE)
            continue;
        for (const node *n = h->recipe->body->first; n != NULL; n = n->next) {
            const weight_entry *e;

            if (n->op != OP_weight)
                continue;
            e = weights_find(w, attr_str(n, "name"));
            if (e == NULL)
                return fail(HULL_EINTERNAL, "recipe leaf '%.*s' is absent",
                            STR_ARG(attr_str(n, "name")));
            TRY(add_tensor(sw, w, e));
        }
    }
    for (uint32_t i = 0; i < p->n_holes; i++)
        if (b->holes[i].kind == BOUND_ENTRY)
            TRY(add_tie(sw, &p->holes[i], b->w[b->holes[i].source],
                        b->holes[i].entry));
    return HULL_OK;
}

/* ---- writing them -------------------------------------------------------- */

/* Bytes [off, off+n) of a tensor. Files are read with pread. */
static hull_status read_part(sources_writer *sw, size_t i, uint64_t off,
                             void *dst, size_t n)
{
    const saved *t = &sw->t[i];
    const weight_storage *s = weights_storage(t->w, t->e);

    if (t->e->dense && s->file >= 0 && !s->absent)
        return file_read_at(weights_file(t->w, (size_t)s->file),
                            s->off + t->e->off + off, dst, n);
    if (t->e->dense && !s->absent) {
        memcpy(dst, (const uint8_t *)weights_view(t->w, t->e) + off, n);
        return HULL_OK;
    }
    if (sw->whole == NULL || sw->whole_of != i) {
        mem_free(sw->whole);
        sw->whole = mem_alloc(t->e->len);
        if (sw->whole == NULL)
            return fail_oom(t->e->len);
        TRY(weights_read(t->w, t->e, sw->whole));
        sw->whole_of = i;
    }
    memcpy(dst, sw->whole + off, n);
    return HULL_OK;
}

/* section_source: pieces come in order. */
static hull_status sources_piece(void *user, uint64_t off, void *dst, size_t n)
{
    sources_writer *sw = user;
    uint8_t *to = dst;

    memset(to, 0, n);
    for (; sw->at < sw->n; sw->at++) {
        const saved *t = &sw->t[sw->at];
        uint64_t first, last, end = t->off + t->e->len;

        if (t->off >= off + n)
            break;
        if (end > off) {
            first = t->off > off ? t->off : off;
            last = end < off + n ? end : off + n;
            TRY(read_part(sw, sw->at, first - t->off, to + (first - off),
                          (size_t)(last - first)));
        }
        if (end > off + n)
            break;
    }
    if (off + n < sw->end)
        return HULL_OK;
    sw->at = 0;
    for (size_t i = 0; i < sw->n; i++)
        if (i == 0 || sw->t[i].w != sw->t[i - 1].w)
            TRY(weights_unchanged(sw->t[i].w));
    return HULL_OK;
}

static hull_status add_index(sources_writer *sw, container_writer *cw)
{
    hull_status st = HULL_OK;
    json_t *top, *list, *row;

    TRY(json_new(&top));
    TRY_OUT(json_put_array(&list, top, "tensors"));
    for (size_t i = 0; i < sw->n; i++) {
        const weight_entry *e = sw->t[i].e;

        TRY_OUT(json_push(list, row = json_object()));
        TRY_OUT(json_put(row, "name", json_text(e->name)));
        TRY_OUT(json_put(row, "dtype",
                         json_string(hull_dtype_name(e->dtype))));
        TRY_OUT(json_put(row, "shape", json_shape(e->shape, e->rank)));
        TRY_OUT(json_put(row, "offset",
                         json_integer((json_int_t)sw->t[i].off)));
    }
    TRY_OUT(section_add_json(cw, "sources.index", top));
out:
    json_free(top);
    return st;
}

hull_status sources_write(sources_writer **out, container_writer *cw,
                          const plan *p, const binding *b)
{
    sources_writer *sw = mem_calloc(1, sizeof *sw);
    hull_status st = HULL_OK;

    *out = NULL;
    if (sw == NULL)
        return fail_oom(sizeof *sw);
    TRY_OUT(collect(sw, p, b));
    TRY_OUT(add_index(sw, cw));
    TRY_OUT(container_add_stream(cw, "sources", sw->end, sources_piece, sw));
    *out = sw;
    sw = NULL;
out:
    sources_writer_free(sw);
    return st;
}

void sources_writer_free(sources_writer *sw)
{
    if (sw == NULL)
        return;
    strmap_fini(&sw->by_name);
    mem_free(sw->whole);
    mem_free(sw->t);
    mem_free(sw);
}

/* ---- reading them -------------------------------------------------------- */

static hull_status read_tensor(weights *w, json_t *row, uint32_t storage,
                               uint64_t size)
{
    weight_entry e = {.storage = storage};

    TRY(json_want_string(&e.name, row, "name", SOURCES_WHAT));
    TRY(json_want_dtype(&e.dtype, row, "dtype", SOURCES_WHAT));
    TRY(json_want_shape(e.shape, &e.rank, row, "shape", SOURCES_WHAT));
    TRY(json_want_u64(&e.off, row, "offset", size, SOURCES_WHAT));
    if (e.off % SOURCE_ALIGN != 0)
        return fail(HULL_EFORMAT, "tensor '%.*s' begins at byte %" PRIu64
                    ", wanted a multiple of %d", STR_ARG(e.name), e.off,
                    SOURCE_ALIGN);
    return weights_add(w, &e, false);
}

/* All tensors lie in one storage: equal offsets are one tensor. */
static hull_status read_tensors(weights *w, container *c, int32_t number)
{
    weight_storage s = {.file = number};
    hull_status st = HULL_OK;
    uint32_t storage;
    json_t *top, *list;

    TRY(container_place(c, "sources", &s.off, &s.len));
    TRY(weights_add_storage(w, &s, &storage));
    TRY(section_get_json(&top, c, "sources.index"));
    TRY_OUT(json_want_array(&list, top, "tensors", SOURCES_WHAT));
    for (size_t i = 0; i < json_array_size(list); i++)
        TRY_OUT(note(read_tensor(w, json_array_get(list, i), storage, s.len),
                     "tensor %zu", i));
out:
    json_free(top);
    return st;
}

hull_status sources_open(weights **out, container *c, file *f)
{
    hull_status st = HULL_OK;
    weights *w = NULL;
    int32_t number;

    *out = NULL;
    TRY_OUT(weights_new(&w, WEIGHTS_HULL));
    TRY_OUT(weights_take_file(w, f, &number));
    if (container_has(c, "sources.index"))
        TRY_OUT(read_tensors(w, c, number));
    *out = w;
    w = NULL;
out:
    weights_unref(w);
    return st;
}
