/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_call.c - what lowerings share: operands, attributes with their kinds
 * checked, structure from attributes or operands, short forms of nodes.
 */
#include "front/onnx.h"

#include <inttypes.h>
#include <string.h>

val onnx_in(const onnx_call *c, uint32_t i)
{
    return i < c->n_in ? c->in[i] : 0;
}

bool onnx_wants(const onnx_call *c, uint32_t i)
{
    return i < c->n_out && c->n->out[i].n > 0;
}

const type *onnx_type(const onnx_call *c, val v)
{
    return v ? graph_type(c->g, v) : NULL;
}

/* ---- attributes ---------------------------------------------------------- */

const onnx_attr *onnx_attr_of(const onnx_call *c, const char *name)
{
    for (uint32_t i = 0; i < c->n->n_attrs; i++)
        if (str_is(c->n->attrs[i].name, name))
            return &c->n->attrs[i];
    return NULL;
}

bool onnx_has(const onnx_call *c, const char *name)
{
    return onnx_attr_of(c, name) != NULL;
}

static hull_status want_type(const onnx_attr *a, onnx_attr_type t,
                             const char *kind)
{
    if (a->type == t)
        return HULL_OK;
    return fail(HULL_EFORMAT, "attribute '%.*s' has type %d, want %s",
                STR_ARG(a->name), (int)a->type, kind);
}

int64_t onnx_int(onnx_call *c, const char *name, int64_t def)
{
    const onnx_attr *a = onnx_attr_of(c, name);

    if (!a)
        return def;
    hull_status st = want_type(a, ONNX_INT, "an integer");
    if (st != HULL_OK)
        (void)ir_fail(c->m, st);
    return a->i;
}

double onnx_f32(onnx_call *c, float v)
{
    buf b;
    double out = 0;

    buf_init(&b, 64);
    buf_f32(&b, v);
    hull_status st = buf_status(&b);
    if (st == HULL_OK && !str_to_f64(&out, buf_view(&b)))
        st = fail(HULL_EINTERNAL, "float text '%s' does not read back", b.p);
    if (st != HULL_OK)
        (void)ir_fail(c->m, st);
    buf_fini(&b);
    return out;
}

double onnx_float(onnx_call *c, const char *name, double def)
{
    const onnx_attr *a = onnx_attr_of(c, name);

    if (!a)
        return def;
    hull_status st = want_type(a, ONNX_FLOAT, "a float");
    if (st != HULL_OK)
        (void)ir_fail(c->m, st);
    return onnx_f32(c, a->f);
}

str onnx_str(onnx_call *c, const char *name, const char *def)
{
    const onnx_attr *a = onnx_attr_of(c, name);

    if (!a)
        return str_of(def);
    hull_status st = want_type(a, ONNX_STRING, "a string");
    if (st != HULL_OK)
        (void)ir_fail(c->m, st);
    return a->s;
}

hull_status onnx_ints(onnx_call *c, const char *name, int64_t *out,
                      uint32_t max, uint32_t *out_n)
{
    const onnx_attr *a = onnx_attr_of(c, name);

    *out_n = 0;
    if (!a)
        return HULL_OK;
    TRY(want_type(a, ONNX_INTS, "integers"));
    if (a->n_ints > max)
        return fail(HULL_EFORMAT, "attribute '%s' has %" PRIu32
                    " values, at most %" PRIu32 " fit", name, a->n_ints, max);
    if (a->n_ints)
        memcpy(out, a->ints, a->n_ints * sizeof *out);
    *out_n = a->n_ints;
    return HULL_OK;
}

hull_status onnx_ints_or(onnx_call *c, const char *name, int64_t *out,
                         uint32_t want, int64_t fill, int64_t least)
{
    uint32_t n = 0;

    TRY(onnx_ints(c, name, out, want, &n));
    if (n == 0)
        for (; n < want; n++)
            out[n] = fill;
    if (n != want)
        return fail(HULL_ESHAPE, "attribute '%s' has %" PRIu32
                    " values, want %" PRIu32, name, n, want);
    for (uint32_t i = 0; i < n; i++)
        if (out[i] < least || out[i] > INT32_MAX)
            return fail(HULL_EFORMAT, "attribute '%s' holds %" PRId64
                        ", want at least %" PRId64, name, out[i], least);
    return HULL_OK;
}

hull_status onnx_ints_at(onnx_call *c, const char *name, uint32_t i,
                         int64_t *out, uint32_t max, uint32_t *out_n)
{
    *out_n = 0;
    if (onnx_has(c, name))
        return onnx_ints(c, name, out, max, out_n);
    if (onnx_in(c, i))
        return front_ints(c->f, c->in[i], out, max, out_n, name);
    return HULL_OK;
}

hull_status onnx_dims_at(onnx_call *c, uint32_t i, dim *out, uint32_t max,
                         uint32_t *out_n)
{
    return note(front_sizes(c->f, c->in[i], out, max, out_n),
                "operand %" PRIu32, i);
}

hull_status onnx_numbers_at(onnx_call *c, uint32_t i, dim *out, uint32_t max,
                            uint32_t *out_n)
{
    return note(front_numbers(c->f, c->in[i], out, max, out_n),
                "operand %" PRIu32, i);
}

bool onnx_is_fixed(onnx_call *c, uint32_t i)
{
    dim d[KNOWN_MAX];
    uint32_t n = 0;
    bool known = false;
    int64_t v;

    if (front_structure(c->f, onnx_in(c, i), d, KNOWN_MAX, &n, &known) !=
        HULL_OK)
        error_clear();
    for (uint32_t k = 0; known && k < n; k++)
        known = dim_is_int(c->m, d[k], &v);
    return known;
}

hull_status onnx_axis(onnx_call *c, int64_t axis, uint32_t rank, uint32_t *out)
{
    (void)c;
    *out = 0;
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return fail(HULL_ESHAPE,
                    "axis %" PRId64 " does not exist in rank %" PRIu32, axis,
                    rank);
    *out = (uint32_t)(axis < 0 ? axis + rank : axis);
    return HULL_OK;
}

/* Reads one element of the only tensor of w into a const. */
static hull_status read_one(onnx_call *c, const weights *w, val *out)
{
    const weight_entry *e = weights_at(w, 0);
    uint8_t raw[16];

    for (uint32_t i = 0; i < e->rank; i++)
        if (e->shape[i] != 1)
            return fail(HULL_EFORMAT, "'value' has more than one element");
    if (e->len > sizeof raw)
        return fail(HULL_EFORMAT, "'value' is too large");
    TRY(weights_read(w, e, raw));
    *out = op_const(c->g, e->dtype, NULL, 0, raw);
    return ir_status(c->m);
}

val onnx_one_element(onnx_call *c, const char *name)
{
    const onnx_attr *a = onnx_attr_of(c, name);
    weights *w = NULL;
    val v = 0;
    hull_status st = want_type(a, ONNX_TENSOR, "a tensor");

    TRY_OUT(st);
    TRY_OUT(weights_new(&w, WEIGHTS_MEMORY));
    weights_watch_with(w, c->f->fm->native);
    TRY_OUT(onnx_tensor_add(w, str_of(name), a->t, -1, "", true));
    TRY_OUT(read_one(c, w, &v));
out:
    weights_unref(w);
    if (st != HULL_OK)
        (void)ir_fail(c->m, st);
    return v;
}

/* ---- short forms --------------------------------------------------------- */

val onnx_scalar_like(onnx_call *c, val x, double v)
{
    const type *t = onnx_type(c, x);

    return t ? op_scalar(c->g, t->dtype, v) : 0;
}

val onnx_reduce(onnx_call *c, op_code op, val x, const int64_t *axes,
                uint32_t n, bool keep)
{
    node *r = node_new(c->g, op);

    node_input(c->g, r, x);
    node_ints(c->g, r, "axes", axes, n);
    node_bool(c->g, r, "keep", keep);
    return node_add(c->g, r);
}

val onnx_along(onnx_call *c, val x, op_code op, int64_t axis)
{
    node *n = node_new(c->g, op);

    node_input(c->g, n, x);
    node_int(c->g, n, "axis", axis);
    return node_add(c->g, n);
}
