/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * type.c - types of values: tensors with symbolic dims, sequences, optionals.
 * Sequences and optionals nest at most IR_MAX_DEPTH deep, so the recursive
 * functions here end.
 */
#include "ir/ir_private.h"

#include <string.h>

bool is_ident(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && (i == 0 || ((c < '0' || c > '9') && c != '.')))
            return false;
    }
    return s.n > 0;
}

static bool dims_match(const ir *m, const type *a, const type *b, bool loose)
{
    for (uint32_t i = 0; i < a->rank; i++) {
        dim x = a->dims[i], y = b->dims[i];
        bool unknown = x == DIM_UNKNOWN || y == DIM_UNKNOWN;

        if (unknown ? !loose && x != y : !dim_eq(m, x, y))
            return false;
    }
    return true;
}

static bool match(const ir *m, const type *a, const type *b, bool loose)
{
    while (a->kind == b->kind &&
           (a->kind == TYPE_SEQUENCE || a->kind == TYPE_OPTIONAL)) {
        a = a->elem;
        b = b->elem;
    }
    if (a->kind == TYPE_UNRANKED || b->kind == TYPE_UNRANKED)
        return (a->kind == b->kind ||
                (loose && (a->kind == TYPE_TENSOR ||
                           b->kind == TYPE_TENSOR))) &&
               a->dtype == b->dtype;
    if (a->kind != b->kind)
        return false;
    if (a->kind != TYPE_TENSOR)
        return true;
    return a->dtype == b->dtype && a->rank == b->rank &&
           dims_match(m, a, b, loose);
}

bool type_eq(const ir *m, const type *a, const type *b)
{
    return match(m, a, b, false);
}

bool type_agrees(const ir *m, const type *a, const type *b)
{
    return match(m, a, b, true);
}

bool type_is_static(const ir *m, const type *t)
{
    (void)m;
    if (t->kind != TYPE_TENSOR)
        return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0)
            return false;
    return true;
}

dim type_numel(ir *m, const type *t)
{
    if (t->kind != TYPE_TENSOR)
        return DIM_UNKNOWN;
    return dim_product(m, t->dims, t->rank);
}

type type_tensor(ir *m, hull_dtype dt, const dim *dims, uint32_t rank)
{
    type t = { .kind = TYPE_TENSOR, .dtype = dt, .rank = rank };

    if (m->status != HULL_OK)
        return (type){ .kind = TYPE_NONE };
    if (rank > HULL_MAX_RANK) {
        ir_fail(m, fail(HULL_EUNSUPPORTED, "rank %u, at most %d is supported",
                        rank, HULL_MAX_RANK));
        return (type){ .kind = TYPE_NONE };
    }
    if (rank == 0)
        return t;
    t.dims = arena_memdup(&m->a, dims, rank * sizeof(*dims));
    if (t.dims == NULL) {
        ignore(ir_oom(m, rank * sizeof(*dims))); /* sticky in the ir */
        return (type){ .kind = TYPE_NONE };
    }
    return t;
}

static type wrap(ir *m, type_kind kind, const type *elem)
{
    type t = { .kind = kind };
    uint32_t depth = 0;

    for (const type *e = elem; e != NULL && e->elem != NULL; e = e->elem)
        depth++;
    if (m->status != HULL_OK)
        return (type){ .kind = TYPE_NONE };
    if (depth + 1 >= IR_MAX_DEPTH) {
        ir_fail(m, fail(HULL_EUNSUPPORTED,
                        "type nests %u deep, at most %d is "
                        "supported",
                        depth + 1, IR_MAX_DEPTH));
        return (type){ .kind = TYPE_NONE };
    }
    t.elem = arena_memdup(&m->a, elem, sizeof(*elem));
    if (t.elem == NULL) {
        ignore(ir_oom(m, sizeof(*elem))); /* sticky in the ir */
        return (type){ .kind = TYPE_NONE };
    }
    return t;
}

type type_unranked(hull_dtype dt)
{
    return (type){ .kind = TYPE_UNRANKED, .dtype = dt };
}

type type_sequence(ir *m, const type *elem)
{
    return wrap(m, TYPE_SEQUENCE, elem);
}

type type_optional(ir *m, const type *elem)
{
    return wrap(m, TYPE_OPTIONAL, elem);
}

static type join_tensors(ir *m, const type *a, const type *b)
{
    dim dims[HULL_MAX_RANK];

    for (uint32_t i = 0; i < a->rank; i++)
        dims[i] = a->dims[i] != DIM_UNKNOWN && b->dims[i] != DIM_UNKNOWN &&
                          dim_eq(m, a->dims[i], b->dims[i])
                      ? a->dims[i] : DIM_UNKNOWN;
    return type_tensor(m, a->dtype, dims, a->rank);
}

bool type_join(ir *m, const type *a, const type *b, type *out)
{
    type elem;

    *out = (type){ .kind = TYPE_NONE };
    if (a->kind == TYPE_OPTIONAL || b->kind == TYPE_OPTIONAL) {
        if (!type_join(m, a->kind == TYPE_OPTIONAL ? a->elem : a,
                       b->kind == TYPE_OPTIONAL ? b->elem : b, &elem))
            return false;
        *out = type_optional(m, &elem);
    } else if (a->kind == TYPE_SEQUENCE && b->kind == TYPE_SEQUENCE) {
        if (!type_join(m, a->elem, b->elem, &elem))
            return false;
        *out = type_sequence(m, &elem);
    } else if (a->dtype != b->dtype || a->kind == TYPE_NONE ||
               b->kind == TYPE_NONE || a->kind == TYPE_SEQUENCE ||
               b->kind == TYPE_SEQUENCE) {
        return false;
    } else if (a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR &&
               a->rank == b->rank) {
        *out = join_tensors(m, a, b);
    } else {
        *out = type_unranked(a->dtype);
    }
    return m->status == HULL_OK;
}

type type_copy(ir *to, const ir *from, const type *t)
{
    dim dims[HULL_MAX_RANK];
    type elem;

    if (t->kind == TYPE_NONE || t->kind == TYPE_UNRANKED)
        return *t;
    if (t->kind != TYPE_TENSOR) {
        elem = type_copy(to, from, t->elem);
        return wrap(to, t->kind, &elem);
    }
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = dim_copy(to, from, t->dims[i]);
    return type_tensor(to, t->dtype, dims, t->rank);
}

void type_print_with(buf *b, const ir *m, const type *t, dim_sym_fn *fn,
                     void *user)
{
    uint32_t depth = 0;

    for (; t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL; t = t->elem) {
        buf_puts(b, t->kind == TYPE_SEQUENCE ? "sequence(" : "optional(");
        depth++;
    }
    if (t->kind == TYPE_NONE) {
        buf_puts(b, "none");
    } else if (t->kind == TYPE_UNRANKED) {
        buf_puts(b, hull_dtype_name(t->dtype));
        buf_puts(b, "[*]");
    } else {
        buf_puts(b, hull_dtype_name(t->dtype));
        buf_putc(b, '[');
        for (uint32_t i = 0; i < t->rank; i++) {
            if (i > 0)
                buf_putc(b, ',');
            dim_print_with(b, m, t->dims[i], fn, user);
        }
        buf_putc(b, ']');
    }
    while (depth-- > 0)
        buf_putc(b, ')');
}

void type_print(buf *b, const ir *m, const type *t)
{
    type_print_with(b, m, t, NULL, NULL);
}
