/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * boxes.c - hull_tensor to box and back. A sequence is a hull_tensor whose data
 * are hull_tensors; an optional without a value is all zero.
 */
#include "run/boxes.h"

#include <inttypes.h>
#include <string.h>

bool type_is_boxed(const type *t)
{
    return t->kind != TYPE_TENSOR || t->dtype == HULL_STRING;
}

/* ---- in ------------------------------------------------------------------ */

static hull_status wrong_kind(const ir *m, const type *want,
                              const hull_tensor *t, const char *what)
{
    buf text;
    hull_status st;

    buf_init(&text, 1024);
    type_print(&text, m, want);
    st = fail(HULL_ESHAPE, "%s is %s of rank %d, wanted %s", what,
              t->dtype == HULL_SEQUENCE
                  ? "a sequence" : hull_dtype_name((hull_dtype)t->dtype),
              t->rank, text.p != NULL ? text.p : "?");
    buf_fini(&text);
    return st;
}

/* Numbers that a caller may give wrongly: rank and sizes. */
static hull_status check_sizes(const hull_tensor *t, const char *what)
{
    uint64_t numel = 1, size;

    if (t->rank < 0 || t->rank > HULL_MAX_RANK ||
        (t->rank > 0 && t->shape == NULL))
        return fail(HULL_ESHAPE, "%s has rank %d", what, t->rank);
    for (int32_t i = 0; i < t->rank; i++)
        if (t->shape[i] < 0 || !mul_u64(&numel, numel, (uint64_t)t->shape[i]))
            return fail(HULL_ESHAPE, "%s dim %d is %" PRId64, what, i,
                        t->shape[i]);
    if (t->dtype != HULL_SEQUENCE &&
        !dtype_bytes(&size, (hull_dtype)t->dtype, numel))
        return fail(HULL_ESHAPE, "%s has no known dtype", what);
    if (numel > 0 && t->data == NULL)
        return fail(HULL_EINVAL, "%s has no data", what);
    if (t->strides != NULL || t->device != 0)
        return fail(HULL_EUNSUPPORTED, "%s is strided or not in host memory",
                    what);
    return HULL_OK;
}

static hull_status tensor_box(box **out, const ir *m, const type *want,
                              const hull_tensor *t, const char *what)
{
    tensor x = {.dtype = (hull_dtype)t->dtype, .rank = (uint32_t)t->rank,
                .data = t->data};
    const hull_string *s = t->data;
    bool ok = (hull_dtype)t->dtype == want->dtype &&
              (want->kind == TYPE_UNRANKED || want->rank == x.rank);

    for (uint32_t i = 0; ok && i < x.rank; i++) {
        int64_t size;

        x.shape[i] = t->shape[i];
        ok = want->kind == TYPE_UNRANKED ||
             !dim_is_int(m, want->dims[i], &size) || size == t->shape[i];
    }
    if (!ok)
        return wrong_kind(m, want, t, what);
    *out = box_borrow(&x);
    if (*out == NULL)
        return HULL_ENOMEM;
    for (uint64_t i = 0, n = box_bytes(*out) / sizeof *s;
         x.dtype == HULL_STRING && i < n; i++)
        if (s[i].p == NULL && s[i].n > 0)
            return fail(HULL_EINVAL, "%s: string %" PRIu64 " has no data",
                        what, i);
    return HULL_OK;
}

static hull_status sequence_box(box **out, const ir *m, const type *want,
                                const hull_tensor *t, const char *what)
{
    const hull_tensor *item = t->data;

    if (t->dtype != HULL_SEQUENCE || t->rank != 1)
        return wrong_kind(m, want, t, what);
    *out = box_sequence((size_t)t->shape[0]);
    if (*out == NULL)
        return HULL_ENOMEM;
    for (int64_t i = 0; i < t->shape[0]; i++) {
        char name[320];

        snprintf(name, sizeof name, "%s[%" PRId64 "]", what, i);
        TRY(box_of_input(&(*out)->items[i], m, want->elem, &item[i], name));
    }
    return HULL_OK;
}

hull_status box_of_input(box **out, const ir *m, const type *want,
                         const hull_tensor *t, const char *what)
{
    hull_status st = HULL_OK;

    *out = NULL;
    if (want->kind == TYPE_OPTIONAL && t->dtype == HULL_NONE) {
        *out = box_none();
        return *out != NULL ? HULL_OK : HULL_ENOMEM;
    }
    if (want->kind == TYPE_OPTIONAL)
        return box_of_input(out, m, want->elem, t, what);
    TRY(check_sizes(t, what));
    st = want->kind == TYPE_SEQUENCE ? sequence_box(out, m, want, t, what)
                                     : tensor_box(out, m, want, t, what);
    if (st != HULL_OK) {
        box_unref(*out);
        *out = NULL;
    }
    return st;
}

/* ---- out ----------------------------------------------------------------- */

hull_status box_view(hull_tensor *out, const box *b, arena *a)
{
    size_t n = box_n_items(b);
    hull_tensor *items;

    *out = (hull_tensor){.rank = (int32_t)b->t.rank,
                         .dtype = (int32_t)b->t.dtype,
                         .shape = b->t.shape,
                         .data = b->t.data};
    if (b->t.dtype != HULL_SEQUENCE)
        return HULL_OK;
    items = arena_array(a, n + 1, sizeof *items);
    if (items == NULL)
        return fail_oom(n * sizeof *items);
    for (size_t i = 0; i < n; i++)
        TRY(box_view(&items[i], b->items[i], a));
    out->data = items;
    return HULL_OK;
}

hull_status box_copy(const hull_tensor *out, const box *b, const char *what)
{
    uint64_t size = box_bytes(b);

    if (b->t.dtype == HULL_SEQUENCE || b->t.dtype == HULL_STRING ||
        b->t.dtype == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "%s is no tensor of numbers: the "
                    "session lends its memory (data NULL)", what);
    if (out->device != 0)
        return fail(HULL_EUNSUPPORTED, "%s is on device %d; only host memory "
                    "is taken", what, out->device);
    if (out->dtype != (int32_t)b->t.dtype || out->rank != (int32_t)b->t.rank ||
        out->strides != NULL || (out->rank > 0 && out->shape == NULL) ||
        (out->rank > 0 &&
         memcmp(out->shape, b->t.shape,
                b->t.rank * sizeof *b->t.shape) != 0))
        return fail(HULL_ESHAPE, "%s was given memory of another dtype or "
                    "shape", what);
    if (size > 0)
        memcpy(out->data, b->t.data, size);
    return HULL_OK;
}
