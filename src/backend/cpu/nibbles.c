/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * nibbles.c - the op pack_q4 at every level: a matrix of 4 bits turned so that
 * a row holds the depth of one column. Squares of it lie in the cache.
 */
#include "backend/cpu/cpu.h"

#include <string.h>

#define SQUARE 64 /* bytes of a row of w at a time */
#define NIBBLE_NS 0.5

typedef struct turning {
    const uint8_t *w;
    uint8_t *y;
    int64_t axis, depth, columns, line;
    uint64_t flip; /* what makes i4 count from 8 */
} turning;

static unsigned nibble_at(const turning *t, int64_t i)
{
    return (unsigned)(t->w[i / 2] >> i % 2 * 4) & 15;
}

/* One column, value by value: rows begin in the middle of a byte. */
static void turn_column(const turning *t, int64_t j)
{
    int64_t first = t->axis == 0 ? j : j * t->depth;
    int64_t step = t->axis == 0 ? t->columns : 1;
    uint8_t *y = t->y + j * t->line;

    for (int64_t k = 0; k < t->depth; k++) {
        unsigned v = nibble_at(t, first + k * step) ^ (unsigned)(t->flip & 15);

        y[k / 2] = (uint8_t)(k % 2 == 0 ? v : y[k / 2] | v << 4);
    }
}

#define LOW UINT64_C(0x0f0f0f0f0f0f0f0f)

/* Up to 8 bytes from p on; 0 when there is no p. */
static uint64_t load_bytes(const uint8_t *p, int64_t n, uint64_t flip)
{
    uint64_t v = 0;

    if (p == NULL)
        return 0;
    if (n >= 8)
        memcpy(&v, p, 8);
    else
        memcpy(&v, p, (size_t)n);
    return v ^ flip;
}

static void store_bytes(uint8_t *p, int64_t n, uint64_t v)
{
    if (n >= 8)
        memcpy(p, &v, 8);
    else
        memcpy(p, &v, (size_t)n);
}

/* Byte c of v[r] becomes byte r of v[c]. */
static void turn_bytes(uint64_t v[8])
{
    static const uint64_t masks[] = {UINT64_C(0x00ff00ff00ff00ff),
                                     UINT64_C(0x0000ffff0000ffff),
                                     UINT64_C(0x00000000ffffffff)};

    for (unsigned s = 0; s < 3; s++) {
        unsigned apart = 1u << s, bits = 8 * apart;

        for (unsigned i = 0; i < 8; i++) {
            uint64_t t;

            if ((i & apart) != 0)
                continue;
            t = (v[i] >> bits ^ v[i + apart]) & masks[s];
            v[i] ^= t << bits;
            v[i + apart] ^= t;
        }
    }
}

/* Bytes [c, c + n) of rows [2 p, 2 p + 16) of w, n at most 8: columns 2 c and
 * so on. */
static void turn_square(const turning *t, int64_t c, int64_t n, int64_t p)
{
    const int64_t row = t->columns / 2, left = (t->depth + 1) / 2 - p;
    uint64_t even[8], odd[8];

    for (int64_t i = 0; i < 8; i++) {
        int64_t k = 2 * (p + i);
        const uint8_t *a = k < t->depth ? t->w + k * row + c : NULL;
        const uint8_t *b = k + 1 < t->depth ? t->w + (k + 1) * row + c : NULL;
        uint64_t u = load_bytes(a, n, t->flip), v = load_bytes(b, n, t->flip);

        even[i] = (u & LOW) | (v & LOW) << 4;
        odd[i] = (u >> 4 & LOW) | (v & ~LOW);
    }
    turn_bytes(even);
    turn_bytes(odd);
    for (int64_t i = 0; i < n; i++) {
        uint8_t *y = t->y + 2 * (c + i) * t->line + p;

        store_bytes(y, left, even[i]);
        store_bytes(y + t->line, left, odd[i]);
    }
}

/* Bytes [c, c + n) of all rows, a few lines of the result at a time. */
static void turn_bytes_of(const turning *t, int64_t c, int64_t n)
{
    for (int64_t p = 0; 2 * p < t->depth; p += 8)
        for (int64_t i = 0; i < n; i += 8)
            turn_square(t, c + i, n - i < 8 ? n - i : 8, p);
}

static void copy_flipped(uint8_t *y, const uint8_t *w, int64_t n, uint64_t flip)
{
    for (int64_t i = 0; i < n; i += 8)
        store_bytes(y + i, n - i, load_bytes(w + i, n - i, flip));
}

/* Columns [begin, end); begin is even. */
static void turn_range(void *user, int64_t begin, int64_t end)
{
    const turning *t = user;
    bool whole = (t->axis == 0 ? t->columns : t->depth) % 2 == 0;

    for (int64_t j = begin; j < end; j++)
        memset(t->y + j * t->line + (t->depth + 1) / 2, 0,
               (size_t)(t->line - (t->depth + 1) / 2));
    if (whole && t->axis == 0) {
        for (int64_t c = begin / 2; c < end / 2; c += SQUARE)
            turn_bytes_of(t, c, end / 2 - c < SQUARE ? end / 2 - c : SQUARE);
        return;
    }
    for (int64_t j = begin; j < end; j++) {
        if (!whole) {
            turn_column(t, j);
            continue;
        }
        copy_flipped(t->y + j * t->line, t->w + j * t->depth / 2,
                     t->depth / 2, t->flip);
    }
}

hull_status cpu_pack_q4(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    turning t = {.w = in->data, .y = out->data, .axis = attr_int(n, "axis"),
                 .line = out->shape[1] * out->shape[2],
                 .flip = in->dtype == HULL_I4 ? 8 * (UINT64_MAX / 15) : 0};

    t.depth = in->shape[t.axis];
    t.columns = in->shape[1 - t.axis];
    cpu_parallel(cx, t.columns, 2 * SQUARE, (double)t.depth * NIBBLE_NS,
                 turn_range, &t);
    return HULL_OK;
}
