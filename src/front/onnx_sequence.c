/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_sequence.c - lowerings of ONNX's sequences and optionals. A sequence
 * whose items are known values is a list at import: inserting, erasing, taking
 * and joining of it need no sequence in the run.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>
#include <string.h>

#define LIST_MAX 256 /* longer ones are sequences of the run */

/* ---- lists at import ----------------------------------------------------- */

/* The node that lists the items of v, NULL when only a run knows them. */
static const node *list_of(onnx_call *c, val v)
{
    const node *def = v ? graph_def(c->g, v) : NULL;

    return def && def->op == OP_seq_new && def->n_in <= LIST_MAX ? def : NULL;
}

static hull_status want_sequence(onnx_call *c, uint32_t i)
{
    const type *t = onnx_type(c, c->in[i]);

    if (!t)
        return ir_status(c->m);
    return t->kind == TYPE_SEQUENCE
               ? HULL_OK
               : fail(HULL_ESHAPE, "input %" PRIu32 " is no sequence", i);
}

static val new_list(onnx_call *c, const val *items, uint32_t n)
{
    node *s = node_new(c->g, OP_seq_new);

    for (uint32_t i = 0; i < n; i++)
        node_input(c->g, s, items[i]);
    return node_add(c->g, s);
}

/* A position in a list of n, from operand i (def when it is missing). *out is
 * -1 when only a run knows it, or refuses it. */
static hull_status list_position(onnx_call *c, uint32_t i, uint32_t n,
                                 bool end, int64_t def, int64_t *out)
{
    dim d = 0;
    uint32_t count = 0;
    bool known = false;
    int64_t v = 0;

    *out = def;
    if (!onnx_in(c, i))
        return HULL_OK;
    *out = -1;
    TRY(front_structure(c->f, c->in[i], &d, 1, &count, &known));
    if (!known || count != 1 || !dim_is_int(c->m, d, &v))
        return HULL_OK;
    if (v < 0)
        v = v < -(int64_t)n ? -1 : v + n;
    *out = v < n || (v == n && end) ? v : -1;
    return HULL_OK;
}

/* The node's result; for operators that are one op. */
static hull_status give(onnx_call *c, node *n)
{
    c->out[0] = node_add(c->g, n);
    return ir_status(c->m);
}

static hull_status as_op(onnx_call *c, op_code op)
{
    node *n = node_new(c->g, op);

    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i])
            node_input(c->g, n, c->in[i]);
    return give(c, n);
}

/* ---- making and changing ------------------------------------------------- */

hull_status onnx_sequence_construct(onnx_call *c)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!c->in[i])
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
    return as_op(c, OP_seq_new);
}

hull_status onnx_sequence_empty(onnx_call *c)
{
    int64_t code = onnx_int(c, "dtype", 1);
    hull_dtype dt = onnx_dtype(code);
    type t = type_unranked(dt);

    if (dt == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "dtype %" PRId64 " is not known", code);
    t = type_sequence(c->m, &t);
    c->out[0] = lower_empty_sequence(c->f, &t);
    return ir_status(c->m);
}

/* The declared element type of an empty list must hold, too. */
static hull_status check_item(onnx_call *c, const node *list, val x)
{
    const type *want = graph_type(c->g, list->out[0])->elem;
    const type *t = onnx_type(c, x);

    if (!t || t->dtype == want->dtype)
        return HULL_OK;
    return fail(HULL_ESHAPE, "an item is %s, those of the sequence are %s",
                hull_dtype_name(t->dtype), hull_dtype_name(want->dtype));
}

hull_status onnx_sequence_insert(onnx_call *c)
{
    const node *list = list_of(c, c->in[0]);
    val items[LIST_MAX + 1];
    int64_t at = -1;

    TRY(want_sequence(c, 0));
    if (list)
        TRY(list_position(c, 2, list->n_in, true, list->n_in, &at));
    if (at < 0 || list->n_in == LIST_MAX)
        return as_op(c, OP_seq_insert);
    TRY(check_item(c, list, c->in[1]));
    for (uint32_t i = 0; i <= list->n_in; i++)
        items[i] = i < at ? list->in[i] : i == at ? c->in[1] : list->in[i - 1];
    c->out[0] = new_list(c, items, list->n_in + 1);
    return ir_status(c->m);
}

hull_status onnx_sequence_erase(onnx_call *c)
{
    const node *list = list_of(c, c->in[0]);
    val items[LIST_MAX + 1];
    int64_t at = -1;
    uint32_t n = 0;

    TRY(want_sequence(c, 0));
    if (list)
        TRY(list_position(c, 1, list->n_in, false, (int64_t)list->n_in - 1,
                          &at));
    if (at < 0)
        return as_op(c, OP_seq_erase);
    for (uint32_t i = 0; i < list->n_in; i++)
        if (i != at)
            items[n++] = list->in[i];
    c->out[0] = n > 0 ? new_list(c, items, n)
                      : lower_empty_sequence(c->f, onnx_type(c, c->in[0]));
    return ir_status(c->m);
}

/* ---- reading ------------------------------------------------------------- */

hull_status onnx_sequence_at(onnx_call *c)
{
    const node *list = list_of(c, c->in[0]);
    int64_t at = -1;

    TRY(want_sequence(c, 0));
    if (list)
        TRY(list_position(c, 1, list->n_in, false, -1, &at));
    if (at < 0)
        return as_op(c, OP_seq_at);
    c->out[0] = list->in[at];
    return HULL_OK;
}

hull_status onnx_sequence_length(onnx_call *c)
{
    const node *list = list_of(c, c->in[0]);

    TRY(want_sequence(c, 0));
    if (!list)
        return as_op(c, OP_seq_length);
    c->out[0] = op_scalar_i64(c->g, HULL_I64, list->n_in);
    return ir_status(c->m);
}

/* All items have one rank, so that they are a plain concat. */
static bool same_rank(onnx_call *c, const node *list)
{
    const type *first = onnx_type(c, list->in[0]);

    for (uint32_t i = 0; i < list->n_in; i++) {
        const type *t = onnx_type(c, list->in[i]);

        if (!t || t->kind != TYPE_TENSOR || t->rank != first->rank)
            return false;
    }
    return true;
}

hull_status onnx_concat_from_sequence(onnx_call *c)
{
    const node *list = list_of(c, c->in[0]);
    int64_t axis = onnx_int(c, "axis", 0);
    bool extra = onnx_int(c, "new_axis", 0) != 0;
    val items[LIST_MAX];
    uint32_t at = 0;

    TRY(want_sequence(c, 0));
    if (!onnx_has(c, "axis"))
        return fail(HULL_EFORMAT, "attribute 'axis' is missing");
    if (!list || list->n_in == 0 || !same_rank(c, list)) {
        node *n = node_new(c->g, OP_seq_concat);

        node_input(c->g, n, c->in[0]);
        node_int(c->g, n, "axis", axis);
        node_bool(c->g, n, "new_axis", extra);
        return give(c, n);
    }
    TRY(onnx_axis(c, axis, onnx_type(c, list->in[0])->rank + extra, &at));
    axis = at;
    for (uint32_t i = 0; i < list->n_in; i++)
        items[i] = extra ? lower_axes_to_reshape(c->f, list->in[i], &axis, 1,
                                                 true)
                         : list->in[i];
    c->out[0] = op_concat(c->g, items, list->n_in, axis);
    return ir_status(c->m);
}

/* Sizes of the parts of an axis that has `size`; false when only a run knows
 * them, or refuses them. */
static hull_status known_parts(onnx_call *c, int64_t size, int64_t *parts,
                               uint32_t *n, bool *out)
{
    const type *t = onnx_type(c, onnx_in(c, 1));
    dim d[KNOWN_MAX];
    int64_t each = 1, sum = 0;
    uint32_t count = 0;

    *out = true;
    if (t)
        TRY(front_structure(c->f, c->in[1], d, KNOWN_MAX, &count, out));
    if (!*out || (t && t->rank > 1))
        return HULL_OK;
    if (t && t->rank == 0)
        *out = count == 1 && dim_is_int(c->m, d[0], &each) && each > 0;
    if (!t || t->rank == 0) {
        *out = *out && size <= LIST_MAX * each;
        for (int64_t at = 0; *out && at < size; at += each)
            parts[(*n)++] = each < size - at ? each : size - at;
        return HULL_OK;
    }
    for (*n = 0; *out && *n < count; ++*n) {
        *out = dim_is_int(c->m, d[*n], &parts[*n]) && parts[*n] >= 0 &&
               parts[*n] <= size - sum;
        sum += *out ? parts[*n] : 0;
    }
    *out = *out && sum == size;
    return HULL_OK;
}

/* The axis's size and all parts are numbers: slices. */
static hull_status split_to_list(onnx_call *c, uint32_t axis, bool keep,
                                 bool *out_done)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t size = 0, parts[LIST_MAX], at = 0, squeezed = axis;
    val items[LIST_MAX];
    uint32_t n = 0;

    *out_done = false;
    if (!dim_is_int(c->m, t->dims[axis], &size) || size > INT32_MAX)
        return HULL_OK;
    TRY(known_parts(c, size, parts, &n, out_done));
    *out_done = *out_done && n > 0;
    for (uint32_t i = 0; *out_done && i < n; i++) {
        items[i] = lower_split(c->f, c->in[0], axis, at, parts[i]);
        if (!keep)
            items[i] = lower_axes_to_reshape(c->f, items[i], &squeezed, 1,
                                             false);
        at += parts[i];
    }
    if (*out_done)
        c->out[0] = new_list(c, items, n);
    return ir_status(c->m);
}

hull_status onnx_split_to_sequence(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    bool keep = onnx_in(c, 1) || onnx_int(c, "keepdims", 1) != 0;
    uint32_t axis = 0;
    bool done = false;

    if (!t || t->kind != TYPE_TENSOR)
        return fail(HULL_ESHAPE, "input 0 is no tensor of known rank");
    TRY(onnx_axis(c, onnx_int(c, "axis", 0), t->rank, &axis));
    TRY(split_to_list(c, axis, keep, &done));
    if (done)
        return HULL_OK;
    node *n = node_new(c->g, OP_seq_split);
    node_input(c->g, n, c->in[0]);
    if (onnx_in(c, 1))
        node_input(c->g, n, c->in[1]);
    node_int(c->g, n, "axis", axis);
    node_bool(c->g, n, "keep", keep);
    return give(c, n);
}

/* ---- SequenceMap --------------------------------------------------------- */

/* The body's parameters and results, and where they come from. */
typedef struct mapping {
    onnx_call *c;
    val *in, *results;
} mapping;

/* in: iteration, condition, the sequences so far. */
static hull_status map_body(front *f, void *user, const val *in, val *out)
{
    const mapping *q = user;
    onnx_call *c = q->c;

    for (uint32_t i = 0; i < c->n_in; i++) {
        q->in[i] = c->in[i];
        if (onnx_type(c, c->in[i])->kind != TYPE_SEQUENCE)
            continue;
        node *n = node_new(c->g, OP_seq_at);
        node_input(c->g, n, c->in[i]);
        node_input(c->g, n, in[0]);
        q->in[i] = front_settle(f, node_add(c->g, n));
    }
    TRY(ir_status(c->m));
    TRY(onnx_subgraph(c, "body", q->in, c->n_in, q->results, c->n_out));
    out[0] = in[1];
    for (uint32_t i = 0; i < c->n_out; i++) {
        node *n = node_new(c->g, in[2 + i] ? OP_seq_insert : OP_seq_new);

        if (in[2 + i])
            node_input(c->g, n, in[2 + i]);
        node_input(c->g, n, q->results[i]);
        out[1 + i] = node_add(c->g, n);
    }
    return ir_status(c->m);
}

hull_status onnx_sequence_map(onnx_call *c)
{
    mapping q = {.c = c};
    val *none = arena_array(&c->f->a, c->n_out, sizeof *none);
    node *n;

    q.in = arena_array(&c->f->a, c->n_in, sizeof *q.in);
    q.results = arena_array(&c->f->a, c->n_out, sizeof *q.results);
    if (!none || !q.in || !q.results)
        return fail_oom(c->n_in * sizeof *q.in);
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!onnx_type(c, c->in[i]))
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
    TRY(want_sequence(c, 0));
    n = node_new(c->g, OP_seq_length);
    node_input(c->g, n, c->in[0]);
    return lower_loop(c->f, node_add(c->g, n),
                      op_scalar_i64(c->g, HULL_BOOL, 1), none, c->n_out,
                      map_body, &q, c->out);
}

/* ---- optionals ----------------------------------------------------------- */

hull_status onnx_optional(onnx_call *c)
{
    const onnx_attr *a = onnx_attr_of(c, "type");
    onnx_value v = {.name = {"type", 4}};
    type t;
    node *n;

    if (onnx_in(c, 0))
        return as_op(c, OP_opt_new);
    if (!a || a->type != ONNX_TYPE)
        return fail(HULL_EFORMAT, "it has neither a value nor a type");
    TRY(onnx_parse_type(&v, &c->f->a, a->tp, c->o->file->p));
    /* Sizes of what is not there bind nothing. */
    if (v.n_wraps == ONNX_WRAPS_MAX)
        return fail(HULL_EUNSUPPORTED, "a type nested deeper than %d",
                    ONNX_WRAPS_MAX);
    memmove(v.wraps + 1, v.wraps, v.n_wraps);
    v.wraps[0] = ONNX_OPTIONAL_OF;
    v.n_wraps++;
    TRY(onnx_value_type(c->o, &v, &t));
    n = node_new(c->g, OP_opt_new);
    node_type(c->g, n, 0, &t);
    return give(c, n);
}

hull_status onnx_optional_has(onnx_call *c)
{
    const type *t = onnx_type(c, onnx_in(c, 0));

    if (t && t->kind == TYPE_OPTIONAL)
        return as_op(c, OP_opt_has);
    c->out[0] = op_scalar_i64(c->g, HULL_BOOL, t != NULL);
    return ir_status(c->m);
}

hull_status onnx_optional_get(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);

    if (t && t->kind == TYPE_OPTIONAL)
        return as_op(c, OP_opt_get);
    c->out[0] = c->in[0];
    return HULL_OK;
}
