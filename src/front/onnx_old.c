/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_old.c - operators whose first opset had another form: attributes where
 * there are operands now, other names and defaults. Each builds what the newer
 * lowering reads and calls it.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

#define LIST_MAX 64

/* The lowering of the newer form, on operands x and list. */
static hull_status with_list(onnx_call *c, onnx_lower_fn *newer, val list)
{
    const val in[2] = {c->in[0], list};
    onnx_call now = *c;

    now.in = in;
    now.n_in = 2;
    return newer(&now);
}

static hull_status with_ints(onnx_call *c, onnx_lower_fn *newer,
                             const char *name)
{
    int64_t v[LIST_MAX], n = 0;
    uint32_t k = 0;

    TRY(onnx_ints(c, name, v, LIST_MAX, &k));
    n = k;
    return with_list(c, newer, op_const(c->g, HULL_I64, &n, 1, v));
}

hull_status onnx_reshape_old(onnx_call *c)
{
    return with_ints(c, onnx_reshape, "shape");
}

hull_status onnx_pad_old(onnx_call *c)
{
    return with_ints(c, onnx_pad, "paddings");
}

/* Numbers of operand i, which has the data's type in these opsets. */
static hull_status numbers_at(onnx_call *c, uint32_t i, dim *out, uint32_t max,
                              uint32_t *out_n)
{
    const type *t = onnx_type(c, onnx_in(c, i));
    double v[LIST_MAX];
    bool known = false;

    if (!t || !dtype_is_float(t->dtype))
        return onnx_dims_at(c, i, out, max, out_n);
    TRY(front_floats(c->f, c->in[i], v, max, out_n, &known));
    if (!known)
        return fail(HULL_EUNSUPPORTED, "operand %" PRIu32 " decides structure "
                    "but depends on data", i);
    for (uint32_t k = 0; k < *out_n; k++) {
        if (!(v[k] > -1e15 && v[k] < 1e15))
            return fail(HULL_EFORMAT, "operand %" PRIu32 " holds %g", i, v[k]);
        out[k] = dim_int(c->m, (int64_t)v[k]);
    }
    return HULL_OK;
}

hull_status onnx_split_old(onnx_call *c)
{
    dim parts[LIST_MAX];
    uint32_t n = 0;

    if (!onnx_in(c, 1))
        return onnx_split(c);
    TRY(numbers_at(c, 1, parts, LIST_MAX, &n));
    return with_list(c, onnx_split, op_dims(c->g, parts, n));
}

/* One axis is repeated. */
hull_status onnx_tile_old(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    int64_t at = 0;
    dim repeats[HULL_MAX_RANK], times = 0, where = 0;
    uint32_t n = 0, axis = 0;

    if (!t)
        return ir_status(c->m);
    TRY(numbers_at(c, 1, &times, 1, &n));
    if (n == 1)
        TRY(numbers_at(c, 2, &where, 1, &n));
    if (n != 1 || !dim_is_int(c->m, where, &at))
        return fail(HULL_EFORMAT, "tiles or axis is not one number");
    TRY(onnx_axis(c, at, t->rank, &axis));
    for (uint32_t i = 0; i < t->rank; i++)
        repeats[i] = i == axis ? times : 1;
    return with_list(c, onnx_tile, op_dims(c->g, repeats, t->rank));
}

hull_status onnx_concat_old(onnx_call *c)
{
    const type *t = onnx_type(c, c->in[0]);
    uint32_t axis = 0;

    for (uint32_t i = 0; i < c->n_in; i++)
        if (!c->in[i])
            return fail(HULL_EFORMAT, "input %" PRIu32 " is missing", i);
    if (!t)
        return ir_status(c->m);
    TRY(onnx_axis(c, onnx_int(c, "axis", 1), t->rank, &axis));
    c->out[0] = c->n_in == 1 ? c->in[0]
                             : op_concat(c->g, c->in, c->n_in, axis);
    return HULL_OK;
}

/* Types had names. */
hull_status onnx_cast_old(onnx_call *c)
{
    static const struct {
        const char *name;
        hull_dtype dtype;
    } types[] = {
        {"FLOAT", HULL_F32},   {"UINT8", HULL_U8},   {"INT8", HULL_I8},
        {"UINT16", HULL_U16},  {"INT16", HULL_I16},  {"INT32", HULL_I32},
        {"INT64", HULL_I64},   {"BOOL", HULL_BOOL},  {"FLOAT16", HULL_F16},
        {"DOUBLE", HULL_F64},  {"UINT32", HULL_U32}, {"UINT64", HULL_U64},
    };
    str to = onnx_str(c, "to", "");

    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (str_is(to, types[i].name)) {
            c->out[0] = op_cast(c->g, c->in[0], types[i].dtype);
            return HULL_OK;
        }
    return fail(HULL_EUNSUPPORTED, "attribute 'to' is '%.*s', not a numeric "
                "type", STR_ARG(to));
}
