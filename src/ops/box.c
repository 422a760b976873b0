/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * box.c - reference-counted values of a run. Sequences nest as deep as their
 * types, which ir.h bounds.
 */
#include "ops/box.h"
#include "ops/op.h"

#include <string.h>

#define BOX_ALIGN 64

static box *new_box(uint64_t payload)
{
    size_t head = round_up(sizeof(box), BOX_ALIGN);
    box *b = payload < SIZE_MAX / 2
                 ? mem_alloc_aligned(BOX_ALIGN, head + (size_t)payload + 1)
                 : NULL;

    if (b == NULL) {
        ignore(fail_oom(payload));
        return NULL;
    }
    *b = (box){.refs = 1};
    b->t.data = (char *)b + head;
    return b;
}

box *box_new(hull_dtype dt, const int64_t *shape, uint32_t rank)
{
    tensor t = {.dtype = dt, .rank = rank};
    uint64_t numel = 1, size = 0;
    box *b;

    for (uint32_t i = 0; i < rank; i++) {
        t.shape[i] = shape[i];
        if (shape[i] < 0 || !mul_u64(&numel, numel, (uint64_t)shape[i])) {
            ignore(fail(HULL_ENOMEM, "a %s tensor of rank %u is too large",
                        hull_dtype_name(dt), rank));
            return NULL;
        }
    }
    if (!dtype_bytes(&size, dt, numel)) {
        ignore(fail_oom(numel));
        return NULL;
    }
    b = new_box(size);
    if (b == NULL)
        return NULL;
    t.data = b->t.data;
    b->t = t;
    return b;
}

box *box_borrow(const tensor *t)
{
    box *b = new_box(0);

    if (b == NULL)
        return NULL;
    b->t = *t;
    b->borrows = true;
    return b;
}

box *box_sequence(size_t n)
{
    box *b = n < SIZE_MAX / 64 ? new_box(n * sizeof(box *)) : NULL;

    if (b == NULL)
        return NULL;
    b->items = b->t.data;
    for (size_t i = 0; i < n; i++)
        b->items[i] = NULL;
    b->t = (tensor){.dtype = HULL_SEQUENCE, .rank = 1, .shape = {(int64_t)n}};
    return b;
}

box *box_none(void)
{
    box *b = new_box(0);

    if (b != NULL)
        b->t = (tensor){0};
    return b;
}

box *box_ref(box *b)
{
    if (b != NULL)
        b->refs++;
    return b;
}

void box_unref(box *b)
{
    if (b == NULL || --b->refs > 0)
        return;
    for (size_t i = 0; i < box_n_items(b); i++)
        box_unref(b->items[i]);
    mem_free(b);
}

size_t box_n_items(const box *b)
{
    return b->items != NULL ? (size_t)b->t.shape[0] : 0;
}

uint64_t box_bytes(const box *b)
{
    return b->t.dtype == HULL_SEQUENCE || b->t.dtype == HULL_NONE
               ? 0 : tensor_bytes(&b->t);
}

/* The texts of a box that owns its elements move to `texts`. */
static bool own_texts(box *b, arena *texts)
{
    hull_string *s = b->t.data;
    int64_t n = tensor_numel(&b->t);

    for (int64_t i = 0; i < n; i++) {
        char *copy = arena_strndup(texts, s[i].p, s[i].n);

        if (copy == NULL) {
            ignore(fail_oom(s[i].n));
            return false;
        }
        s[i].p = copy;
    }
    return true;
}

static box *own_items(box *b, arena *texts)
{
    box *copy = box_sequence(box_n_items(b));

    for (size_t i = 0; copy != NULL && i < box_n_items(b); i++) {
        copy->items[i] = box_own(b->items[i], texts);
        if (copy->items[i] == NULL) {
            box_unref(copy);
            return NULL;
        }
    }
    return copy;
}

box *box_own(box *b, arena *texts)
{
    box *copy;

    if (b->items != NULL)
        return own_items(b, texts);
    if (b->t.dtype == HULL_NONE ||
        (!b->borrows && b->t.dtype != HULL_STRING))
        return box_ref(b);
    copy = box_new(b->t.dtype, b->t.shape, b->t.rank);
    if (copy == NULL)
        return NULL;
    if (box_bytes(b) > 0)
        memcpy(copy->t.data, b->t.data, box_bytes(b));
    if (b->t.dtype == HULL_STRING && !own_texts(copy, texts)) {
        box_unref(copy);
        return NULL;
    }
    return copy;
}
