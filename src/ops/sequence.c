/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sequence.c - sequences and optionals. A sequence is never changed: one that
 * differs is a new list of references to the same items. An optional that has
 * a value is that value. Every position and size is checked.
 */
#include "ops/box.h"
#include "ops/data.h"

#include <inttypes.h>
#include <string.h>

/* ---- types --------------------------------------------------------------- */

/* Type of operand i, which is there. */
static hull_status operand(const type **out, graph *g, const node *n,
                           uint32_t i)
{
    char what[128];

    *out = NULL;
    if (!node_has(n, i))
        return fail(HULL_ESHAPE, "%s: operand %u is missing",
                    node_what(n, what), i);
    *out = graph_type(g, n->in[i]);
    return HULL_OK;
}

static hull_status misfit(graph *g, const node *n, const char *text,
                          const type *a, const type *b)
{
    char what[128];
    buf ta, tb;
    hull_status st;

    buf_init(&ta, 1024);
    buf_init(&tb, 1024);
    type_print(&ta, g->m, a);
    if (b != NULL)
        type_print(&tb, g->m, b);
    st = fail(HULL_ESHAPE, "%s: %s %s%s%s", node_what(n, what),
              ta.p != NULL ? ta.p : "?", text, b != NULL ? " " : "",
              tb.p != NULL ? tb.p : "");
    buf_fini(&ta);
    buf_fini(&tb);
    return st;
}

/* Operand 0 is a sequence; *out: the type of its items. */
static hull_status items_type(const type **out, graph *g, const node *n)
{
    const type *t;

    TRY(operand(&t, g, n, 0));
    *out = t->elem;
    return t->kind == TYPE_SEQUENCE ? HULL_OK
                                    : misfit(g, n, "is no sequence", t, NULL);
}

/* Operand i, which may be missing, is one integer, or with vector a list. */
static hull_status position_type(graph *g, const node *n, uint32_t i,
                                 bool vector)
{
    const type *t;
    char what[128];

    if (!node_has(n, i))
        return HULL_OK;
    TRY(data_index_type(&t, g, n, i));
    if (t->rank > 1)
        return fail(HULL_ESHAPE, "%s: operand %u has rank %u, want %s",
                    node_what(n, what), i, t->rank,
                    vector ? "0 or 1" : "one integer");
    return HULL_OK;
}

static hull_status put_type(graph *g, node *n, const type *t)
{
    TRY(ir_status(g->m));
    value_set_type(g, n->out[0], t);
    return ir_status(g->m);
}

static hull_status declared(graph *g, node *n, type_kind kind)
{
    char what[128];

    if (graph_type(g, n->out[0])->kind != kind)
        return fail(HULL_ESHAPE, "%s: it is empty and declares no type",
                    node_what(n, what));
    return HULL_OK;
}

static hull_status new_infer(graph *g, node *n)
{
    const type *t;
    type elem, joined;

    if (n->n_in == 0)
        return declared(g, n, TYPE_SEQUENCE);
    TRY(operand(&t, g, n, 0));
    elem = *t;
    for (uint32_t i = 1; i < n->n_in; i++) {
        TRY(operand(&t, g, n, i));
        if (!type_join(g->m, &elem, t, &joined))
            return misfit(g, n, "cannot be in one sequence with", t, &elem);
        elem = joined;
    }
    joined = type_sequence(g->m, &elem);
    return put_type(g, n, &joined);
}

static hull_status insert_infer(graph *g, node *n)
{
    const type *elem, *x;
    type joined;

    TRY(items_type(&elem, g, n));
    TRY(operand(&x, g, n, 1));
    TRY(position_type(g, n, 2, false));
    if (!type_join(g->m, elem, x, &joined))
        return misfit(g, n, "cannot be in one sequence with", x, elem);
    joined = type_sequence(g->m, &joined);
    return put_type(g, n, &joined);
}

static hull_status erase_infer(graph *g, node *n)
{
    const type *elem;

    TRY(items_type(&elem, g, n));
    TRY(position_type(g, n, 1, false));
    return put_type(g, n, graph_type(g, n->in[0]));
}

static hull_status at_infer(graph *g, node *n)
{
    const type *elem, *index, *was = graph_type(g, n->out[0]);

    TRY(items_type(&elem, g, n));
    TRY(operand(&index, g, n, 1));
    TRY(position_type(g, n, 1, false));
    if (elem->kind == TYPE_UNRANKED && was->kind == TYPE_TENSOR &&
        was->dtype == elem->dtype)
        return HULL_OK; /* what was declared; checked where it is read */
    return put_type(g, n, elem);
}

static hull_status length_infer(graph *g, node *n)
{
    const type *elem;

    TRY(items_type(&elem, g, n));
    return infer_out(g, n, 0, HULL_I64, NULL, 0);
}

static hull_status concat_type(graph *g, node *n)
{
    bool extra = attr_bool(n, "new_axis");
    const type *elem;
    type t;
    dim dims[HULL_MAX_RANK + 1];
    uint32_t axis, rank;

    TRY(items_type(&elem, g, n));
    if (elem->kind == TYPE_UNRANKED) {
        t = type_unranked(elem->dtype);
        return put_type(g, n, &t);
    }
    if (elem->kind != TYPE_TENSOR)
        return misfit(g, n, "is no tensor to join", elem, NULL);
    rank = elem->rank + extra;
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), rank));
    for (uint32_t i = 0, k = 0; i < rank && i <= HULL_MAX_RANK; i++) {
        dims[i] = i == axis ? DIM_UNKNOWN : elem->dims[k];
        k += i != axis || !extra;
    }
    return infer_out(g, n, 0, elem->dtype, dims, rank);
}

static hull_status split_infer(graph *g, node *n)
{
    bool sizes = node_has(n, 1);
    bool keep = sizes || attr_bool(n, "keep");
    const type *x;
    type t;
    dim dims[HULL_MAX_RANK];
    uint32_t axis, rank = 0;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    TRY(position_type(g, n, 1, true));
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis)
            dims[rank++] = x->dims[i];
        else if (keep)
            dims[rank++] = sizes ? DIM_UNKNOWN : 1;
    t = type_tensor(g->m, x->dtype, dims, rank);
    t = type_sequence(g->m, &t);
    return put_type(g, n, &t);
}

static hull_status optional_infer(graph *g, node *n)
{
    const type *x;
    type t;

    if (n->op == OP_opt_new && n->n_in == 0)
        return declared(g, n, TYPE_OPTIONAL);
    TRY(operand(&x, g, n, 0));
    if (n->op == OP_opt_has)
        return infer_out(g, n, 0, HULL_BOOL, NULL, 0);
    if (n->op == OP_opt_get)
        return put_type(g, n, x->kind == TYPE_OPTIONAL ? x->elem : x);
    if (x->kind == TYPE_OPTIONAL)
        return put_type(g, n, x);
    t = type_optional(g->m, x);
    return put_type(g, n, &t);
}

hull_status sequence_infer(graph *g, node *n)
{
    switch (n->op) {
    case OP_seq_new: return new_infer(g, n);
    case OP_seq_insert: return insert_infer(g, n);
    case OP_seq_erase: return erase_infer(g, n);
    case OP_seq_at: return at_infer(g, n);
    case OP_seq_length: return length_infer(g, n);
    case OP_seq_concat: return concat_type(g, n);
    case OP_seq_split: return split_infer(g, n);
    default: return optional_infer(g, n);
    }
}

/* ---- positions and lists ------------------------------------------------- */

/* Operand i as a position in [0, n_items], or without the end, below it;
 * missing: `def`. */
static hull_status position(size_t *out, const eval_ctx *cx, const node *n,
                            uint32_t i, size_t n_items, bool end, size_t def)
{
    char what[128];
    int64_t size = (int64_t)n_items, v, at;

    *out = def;
    if (!node_has(n, i)) {
        if (end || n_items > 0)
            return HULL_OK;
        return fail(HULL_EINVAL, "%s: the sequence is empty",
                    node_what(n, what));
    }
    TRY(data_want_numel(n, &cx->boxes[i]->t, 1));
    v = load_i64(cx->boxes[i]->t.dtype, cx->boxes[i]->t.data, 0);
    at = v < 0 && v >= -size && !dtype_is_unsigned(cx->boxes[i]->t.dtype)
             ? v + size : v;
    if (at < 0 || at > size || (at == size && !end))
        return fail(HULL_EINVAL, "%s: position %" PRId64 " does not exist in a "
                    "sequence of %zu", node_what(n, what), v, n_items);
    *out = (size_t)at;
    return HULL_OK;
}

static hull_status new_sequence(box **out, size_t n)
{
    *out = box_sequence(n);
    return *out != NULL ? HULL_OK : fail_oom(n * sizeof(box *));
}

static hull_status new_eval(eval_ctx *cx, const node *n)
{
    TRY(new_sequence(&cx->made[0], n->n_in));
    for (uint32_t i = 0; i < n->n_in; i++)
        cx->made[0]->items[i] = box_ref(cx->boxes[i]);
    return HULL_OK;
}

/* The items of operand 0, x between them before `at` (skip 0) or in place of
 * what is there (skip 1; x NULL: nothing). */
static hull_status spliced(eval_ctx *cx, size_t at, box *x, size_t skip)
{
    const box *from = cx->boxes[0];
    size_t n = box_n_items(from), k = 0;

    TRY(new_sequence(&cx->made[0], n - skip + (x != NULL)));
    for (size_t i = 0; i < at; i++)
        cx->made[0]->items[k++] = box_ref(from->items[i]);
    if (x != NULL)
        cx->made[0]->items[k++] = box_ref(x);
    for (size_t i = at + skip; i < n; i++)
        cx->made[0]->items[k++] = box_ref(from->items[i]);
    return HULL_OK;
}

static hull_status list_eval(eval_ctx *cx, const node *n)
{
    size_t size = box_n_items(cx->boxes[0]), at;

    switch (n->op) {
    case OP_seq_insert:
        TRY(position(&at, cx, n, 2, size, true, size));
        return spliced(cx, at, cx->boxes[1], 0);
    case OP_seq_erase:
        TRY(position(&at, cx, n, 1, size, false, size - 1));
        return spliced(cx, at, NULL, 1);
    default:
        TRY(position(&at, cx, n, 1, size, false, 0));
        cx->made[0] = box_ref(cx->boxes[0]->items[at]);
        return HULL_OK;
    }
}

static hull_status scalar_eval(eval_ctx *cx, hull_dtype dt, int64_t v)
{
    cx->made[0] = box_new(dt, NULL, 0);
    if (cx->made[0] == NULL)
        return HULL_ENOMEM;
    store_i64(dt, cx->made[0]->t.data, 0, v);
    return HULL_OK;
}

/* ---- join ---------------------------------------------------------------- */

/* Sizes of an empty result: those that the type knows, and 0. */
static hull_status empty_shape(eval_ctx *cx, const type *t, tensor *out)
{
    *out = (tensor){.dtype = t->dtype, .rank = t->rank};
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != DIM_UNKNOWN)
            TRY(dim_eval(&out->shape[i], cx->env, t->dims[i]));
    return HULL_OK;
}

/* Item i as it goes into the result: with the new axis, if there is one. */
static tensor part(const box *b, uint32_t axis, bool extra)
{
    tensor t = b->t;

    if (!extra)
        return t;
    for (uint32_t i = t.rank; i > axis; i--)
        t.shape[i] = t.shape[i - 1];
    t.shape[axis] = 1;
    t.rank++;
    return t;
}

/* Shape of all items together; they agree but for the axis. */
static hull_status joined_shape(const node *n, const box *s, bool extra,
                                uint32_t *axis, tensor *out)
{
    char what[128];

    if (s->items[0]->t.rank + extra > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "%s: rank %u is above %d",
                    node_what(n, what), s->items[0]->t.rank + extra,
                    HULL_MAX_RANK);
    TRY(infer_axis(axis, n, attr_int(n, "axis"),
                   s->items[0]->t.rank + extra));
    *out = part(s->items[0], *axis, extra);
    for (size_t k = 1; k < box_n_items(s); k++) {
        tensor t = part(s->items[k], *axis, extra);
        bool same = t.dtype == out->dtype && t.rank == out->rank;

        for (uint32_t i = 0; same && i < t.rank; i++)
            same = i == *axis || t.shape[i] == out->shape[i];
        if (!same)
            return fail(HULL_ESHAPE, "%s: item %zu has another dtype or shape "
                        "than item 0", node_what(n, what), k);
        if (!add_i64(&out->shape[*axis], out->shape[*axis], t.shape[*axis]))
            return fail(HULL_ESHAPE, "%s: the sizes of %zu items are too large "
                        "together", node_what(n, what), k + 1);
    }
    return HULL_OK;
}

static hull_status concat_items(eval_ctx *cx, const node *n)
{
    const box *s = cx->boxes[0];
    const type *t = graph_type(n->parent->graph, n->out[0]);
    bool extra = attr_bool(n, "new_axis");
    char what[128];
    tensor shape;
    uint32_t axis = 0;
    int64_t at = 0;

    if (box_n_items(s) > 0)
        TRY(joined_shape(n, s, extra, &axis, &shape));
    else if (t->kind == TYPE_TENSOR)
        TRY(empty_shape(cx, t, &shape));
    else
        return fail(HULL_EINVAL, "%s: the sequence is empty and has items of "
                    "no known rank", node_what(n, what));
    cx->made[0] = box_new(shape.dtype, shape.shape, shape.rank);
    if (cx->made[0] == NULL)
        return HULL_ENOMEM;
    side dst = data_side(&cx->made[0]->t);
    for (size_t k = 0; k < box_n_items(s); k++) {
        tensor x = part(s->items[k], axis, extra);
        side src = data_side(&x);

        dst.off = tensor_numel(&x) > 0 ? at * dst.strides[axis] : 0;
        data_strided(x.dtype, x.shape, x.rank, &dst, &src);
        at += x.shape[axis];
    }
    return HULL_OK;
}

/* ---- split --------------------------------------------------------------- */

/* How a split goes. */
typedef struct parts {
    const tensor *sizes;   /* NULL: parts of 1 */
    int64_t size, each;    /* of the axis; of a part when all are equal */
    size_t n;
} parts;

static hull_status count_parts(parts *p, const node *n)
{
    char what[128];
    int64_t sum = 0;

    p->each = p->sizes == NULL ? 1 : 0;
    if (p->sizes != NULL && p->sizes->rank == 0)
        p->each = load_i64(p->sizes->dtype, p->sizes->data, 0);
    if (p->sizes == NULL || p->sizes->rank == 0) {
        if (p->each <= 0)
            return fail(HULL_EINVAL, "%s: parts of size %" PRId64,
                        node_what(n, what), p->each);
        p->n = (size_t)(p->size / p->each + (p->size % p->each != 0));
        return HULL_OK;
    }
    p->n = (size_t)p->sizes->shape[0];
    for (size_t k = 0; k < p->n; k++) {
        int64_t v = load_i64(p->sizes->dtype, p->sizes->data, k);

        if (v < 0 || !add_i64(&sum, sum, v))
            return fail(HULL_EINVAL, "%s: part %zu has size %" PRId64,
                        node_what(n, what), k, v);
    }
    if (sum != p->size)
        return fail(HULL_EINVAL, "%s: the parts have size %" PRId64
                    " together, the axis %" PRId64, node_what(n, what), sum,
                    p->size);
    return HULL_OK;
}

/* x[at : at + size] along axis; without the axis when it is not kept. */
static hull_status cut(box **out, const tensor *x, uint32_t axis, int64_t at,
                       int64_t size, bool keep)
{
    int64_t shape[HULL_MAX_RANK], kept[HULL_MAX_RANK];
    uint32_t rank = 0;
    side dst, src = data_side(x);

    for (uint32_t i = 0; i < x->rank; i++) {
        shape[i] = i == axis ? size : x->shape[i];
        if (i != axis || keep)
            kept[rank++] = shape[i];
    }
    *out = box_new(x->dtype, kept, rank);
    if (*out == NULL)
        return HULL_ENOMEM;
    tensor whole = {.dtype = x->dtype, .rank = x->rank,
                    .data = (*out)->t.data};
    memcpy(whole.shape, shape, sizeof whole.shape);
    dst = data_side(&whole);
    if (tensor_numel(&whole) == 0)
        return HULL_OK;
    src.off = at * src.strides[axis];
    data_strided(x->dtype, shape, x->rank, &dst, &src);
    return HULL_OK;
}

static hull_status split_eval(eval_ctx *cx, const node *n)
{
    const tensor *x = &cx->boxes[0]->t;
    parts p = {.sizes = node_has(n, 1) ? &cx->boxes[1]->t : NULL};
    bool keep = p.sizes != NULL || attr_bool(n, "keep");
    uint32_t axis;
    int64_t at = 0;

    TRY(infer_axis(&axis, n, attr_int(n, "axis"), x->rank));
    p.size = x->shape[axis];
    TRY(count_parts(&p, n));
    TRY(new_sequence(&cx->made[0], p.n));
    for (size_t k = 0; k < p.n; k++) {
        int64_t size = p.each;

        if (p.each == 0)
            size = load_i64(p.sizes->dtype, p.sizes->data, k);
        if (size > p.size - at)
            size = p.size - at;
        TRY(cut(&cx->made[0]->items[k], x, axis, at, size, keep));
        at += size;
    }
    return HULL_OK;
}

hull_status sequence_eval(eval_ctx *cx, const node *n, const tensor *in,
                          tensor *out)
{
    box *x = n->n_in > 0 ? cx->boxes[0] : NULL;
    char what[128];

    (void)in;
    (void)out;
    switch (n->op) {
    case OP_seq_new: return new_eval(cx, n);
    case OP_seq_length:
        return scalar_eval(cx, HULL_I64, (int64_t)box_n_items(x));
    case OP_seq_concat: return concat_items(cx, n);
    case OP_seq_split: return split_eval(cx, n);
    case OP_opt_has:
        return scalar_eval(cx, HULL_BOOL, x->t.dtype != HULL_NONE);
    case OP_opt_new:
        cx->made[0] = x != NULL ? box_ref(x) : box_none();
        return cx->made[0] != NULL ? HULL_OK : HULL_ENOMEM;
    case OP_opt_get:
        if (x->t.dtype == HULL_NONE)
            return fail(HULL_EINVAL, "%s: the optional has no value",
                        node_what(n, what));
        cx->made[0] = box_ref(x);
        return HULL_OK;
    default: return list_eval(cx, n);
    }
}
