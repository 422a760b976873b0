/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_sparse.c - sparse tensors of ONNX, made dense: what a graph computes
 * with, and what a checkpoint may have in their place.
 *
 *   SparseTensorProto  1 values  2 indices  3 dims*
 *
 * values is [n] and has the name, indices are i64 [n] into the flat tensor or
 * [n, rank]; they ascend. All other elements are 0.
 */
#include <inttypes.h>
#include <string.h>

#include "ir/ir.h"
#include "weights/index.h"

typedef struct sparse {
    str name;
    bytes values, indices;   /* TensorProto each */
    int64_t *dims;
    size_t rank, cap_dims;
    uint64_t numel, n;       /* of the dense one, stored */
    uint32_t per_index;      /* numbers: 1 or rank */
    hull_dtype dtype;
    uint8_t *elements;
    int64_t *at;
} sparse;

static hull_status read_name(str *out, bytes values)
{
    pb r = pb_of(values, values.p, "TensorProto");
    pb_field f;
    bool more;

    *out = (str){"", 0};
    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number != 8)
            continue;
        TRY(pb_want(&r, &f, 2));
        *out = pb_str(&f);
    }
}

static hull_status parse(sparse *s, bytes b)
{
    pb r = pb_of(b, b.p, "SparseTensorProto");
    pb_field f;
    bool more;

    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            break;
        if (f.number == 3) {
            TRY(pb_i64s(&r, &f, &s->dims, &s->rank, &s->cap_dims));
            continue;
        }
        if (f.number > 3)
            continue;
        TRY(pb_want(&r, &f, 2));
        *(f.number == 1 ? &s->values : &s->indices) = f.b;
    }
    if (s->values.p == NULL || s->indices.p == NULL)
        return fail(HULL_EFORMAT, "a sparse tensor has no values or indices");
    if (s->rank > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "a sparse tensor has rank %zu, at most "
                    "%d", s->rank, HULL_MAX_RANK);
    return read_name(&s->name, s->values);
}

hull_status onnx_sparse_name(str *out, bytes b)
{
    sparse s = {.rank = 0};
    hull_status st = parse(&s, b);

    *out = s.name;
    mem_free(s.dims);
    return st;
}

/* Values and indices as the index has them, checked against each other. */
static hull_status check_parts(sparse *s, const weight_entry *v,
                               const weight_entry *i)
{
    bool flat = i->rank == 1;

    s->dtype = v->dtype;
    s->n = v->rank == 1 ? (uint64_t)v->shape[0] : 0;
    s->per_index = flat ? 1 : (uint32_t)s->rank;
    if (v->rank != 1 || i->dtype != HULL_I64 || i->rank < 1 || i->rank > 2 ||
        i->shape[0] != v->shape[0] ||
        (!flat && i->shape[1] != (int64_t)s->rank))
        return fail(HULL_EFORMAT, "sparse tensor '%.*s': values of rank %u, "
                    "indices %s of rank %u, want [n] and i64 [n] or [n,%zu]",
                    STR_ARG(s->name), v->rank, hull_dtype_name(i->dtype),
                    i->rank, s->rank);
    return HULL_OK;
}

static hull_status read_parts(weights *into, sparse *s, const char *model)
{
    const weight_entry *v, *i;
    weights *w = NULL;
    hull_status st = HULL_OK;

    TRY(weights_new(&w, WEIGHTS_ONNX));
    TRY_OUT(onnx_tensor_add(w, str_of("values"), s->values, -1, model, true));
    TRY_OUT(onnx_tensor_add(w, str_of("indices"), s->indices, -1, model, true));
    v = weights_at(w, 0);
    i = weights_at(w, 1);
    TRY_OUT(check_parts(s, v, i));
    s->elements = mem_alloc(v->len + 1);
    s->at = mem_alloc(i->len + 1);
    if (s->elements == NULL || s->at == NULL)
        TRY_OUT(fail_oom(v->len));
    TRY_OUT(weights_read(w, v, s->elements));
    TRY_OUT(weights_read(w, i, s->at));
    into->decoded_elsewhere |= w->n_files > 0;
out:
    weights_unref(w);
    return note(st, "sparse tensor '%.*s'", STR_ARG(s->name));
}

/* The place of stored element k in the flat tensor. */
static hull_status place_of(uint64_t *out, const sparse *s, uint64_t k)
{
    const int64_t *p = s->at + k * s->per_index;
    uint64_t at = 0;
    bool inside = true;

    for (uint32_t i = 0; i < s->per_index; i++) {
        uint64_t size = s->per_index == 1 && s->rank != 1
                            ? s->numel : (uint64_t)s->dims[i];

        inside = inside && p[i] >= 0 && (uint64_t)p[i] < size;
        at = at * size + (uint64_t)p[i];
    }
    *out = at;
    if (inside && at < s->numel)
        return HULL_OK;
    return fail(HULL_EFORMAT, "sparse tensor '%.*s': index %" PRIu64
                " lies outside", STR_ARG(s->name), k);
}

static void put_element(hull_dtype dt, uint8_t *to, uint64_t at,
                        const uint8_t *from, uint64_t k)
{
    uint32_t bits = hull_dtype_bits(dt);
    size_t size = bits / 8;

    if (size > 0)
        memcpy(to + at * size, from + k * size, size);
    else if (dtype_is_float(dt))
        store_f64(dt, to, at, load_f64(dt, from, k));
    else
        store_i64(dt, to, at, load_i64(dt, from, k));
}

static hull_status spread(const sparse *s, uint8_t *to)
{
    uint64_t last = 0, at;

    for (uint64_t k = 0; k < s->n; k++) {
        TRY(place_of(&at, s, k));
        if (k > 0 && at <= last)
            return fail(HULL_EFORMAT, "sparse tensor '%.*s': index %" PRIu64
                        " does not ascend", STR_ARG(s->name), k);
        last = at;
        put_element(s->dtype, to, at, s->elements, k);
    }
    return HULL_OK;
}

static hull_status add_dense(weights *w, sparse *s, bool inline_value)
{
    weight_entry e = {.name = s->name, .dtype = s->dtype,
                      .rank = (uint32_t)s->rank, .inline_value = inline_value};
    weight_storage g = {.file = -1};
    hull_status st = HULL_OK;

    if (s->rank > 0)
        memcpy(e.shape, s->dims, s->rank * sizeof *s->dims);
    TRY(weights_numel(&s->numel, e.name, e.rank, e.shape));
    TRY(weights_dense_len(&g.len, e.name, e.dtype, s->numel));
    if (g.len > WEIGHTS_EXPANDED_MAX)
        return fail(HULL_EUNSUPPORTED, "sparse tensor '%.*s' has %" PRIu64
                    " bytes when it is dense", STR_ARG(e.name), g.len);
    g.owned = mem_calloc(g.len + 1, 1);
    if (g.owned == NULL)
        return fail_oom(g.len);
    TRY_OUT(spread(s, g.owned));
    TRY_OUT(weights_add_storage(w, &g, &e.storage));
    return weights_add(w, &e, false);
out:
    mem_free(g.owned);
    return st;
}

hull_status onnx_sparse_add(weights *w, str name, bytes b, const char *model,
                            bool inline_value)
{
    sparse s = {.rank = 0};
    hull_status st = HULL_OK;

    TRY_OUT(parse(&s, b));
    if (name.p != NULL)
        s.name = name;
    if (s.name.n == 0)
        TRY_OUT(fail(HULL_EFORMAT, "a sparse initializer has no name"));
    TRY_OUT(read_parts(w, &s, model));
    TRY_OUT(add_dense(w, &s, inline_value));
    weights_note_late(w, b, true);
out:
    mem_free(s.dims);
    mem_free(s.elements);
    mem_free(s.at);
    return st;
}
