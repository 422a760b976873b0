/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * nibbles.c - the op pack_q4 at every level: a matrix of 4 bits turned so that
 * a row holds the depth of one column. Squares of it lie in the cache.
 */
#include "backend/cpu/cpu.h"

#include <string.h>

#define SQUARE 64 /* bytes of a row of w, and pairs of rows, at a time */
#define NIBBLE_NS 0.5

typedef struct turning {
    const uint8_t *w;
    uint8_t *y;
    int64_t axis, depth, columns, line;
    uint8_t flip; /* 0x88 for i4 */
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
        unsigned v = nibble_at(t, first + k * step) ^ (t->flip & 15u);

        y[k / 2] = (uint8_t)(k % 2 == 0 ? v : y[k / 2] | v << 4);
    }
}

/* Bytes [c, c + n) of each row of w, which are columns 2 c and so on. */
static void turn_square(const turning *t, int64_t c, int64_t n)
{
    const int64_t row = t->columns / 2;
    uint8_t low[SQUARE][SQUARE], high[SQUARE][SQUARE];

    for (int64_t k0 = 0; k0 < t->depth; k0 += 2 * SQUARE) {
        int64_t pairs = (t->depth - k0 + 1) / 2;

        pairs = pairs < SQUARE ? pairs : SQUARE;
        for (int64_t p = 0; p < pairs; p++) {
            const uint8_t *a = t->w + (k0 + 2 * p) * row + c;
            bool both = k0 + 2 * p + 1 < t->depth;

            for (int64_t i = 0; i < n; i++) {
                unsigned u = a[i] ^ t->flip;
                unsigned v = both ? a[row + i] ^ t->flip : 0u;

                low[i][p] = (uint8_t)((u & 15) | v << 4);
                high[i][p] = (uint8_t)(u >> 4 | (v & 0xf0));
            }
        }
        for (int64_t i = 0; i < n; i++) {
            uint8_t *y = t->y + 2 * (c + i) * t->line + k0 / 2;

            memcpy(y, low[i], (size_t)pairs);
            memcpy(y + t->line, high[i], (size_t)pairs);
        }
    }
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
            turn_square(t, c, end / 2 - c < SQUARE ? end / 2 - c : SQUARE);
        return;
    }
    for (int64_t j = begin; j < end; j++) {
        if (!whole) {
            turn_column(t, j);
            continue;
        }
        for (int64_t k = 0; k < t->depth / 2; k++)
            t->y[j * t->line + k] = t->w[j * t->depth / 2 + k] ^ t->flip;
    }
}

hull_status cpu_pack_q4(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    turning t = {.w = in->data, .y = out->data, .axis = attr_int(n, "axis"),
                 .line = out->shape[1] * out->shape[2],
                 .flip = in->dtype == HULL_I4 ? 0x88 : 0};

    t.depth = in->shape[t.axis];
    t.columns = in->shape[1 - t.axis];
    cpu_parallel(cx, t.columns, 2 * SQUARE, (double)t.depth * NIBBLE_NS,
                 turn_range, &t);
    return HULL_OK;
}
