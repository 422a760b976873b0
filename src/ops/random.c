/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * random.c - random numbers of a session. Counter-based, so that a number
 * depends on seed, draw and place alone: Philox4x32-10 of Salmon, Moraes, Dror
 * and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). Every run of
 * a node is one draw.
 */
#include "ops/family.h"

#include <math.h>

hull_status random_infer(graph *g, node *n)
{
    const attr *shape = node_attr(n, "shape");
    hull_dtype dt = attr_dtype(n, "dtype");
    char what[128];

    if (!dtype_is_float(dt) || hull_dtype_bits(dt) < 16)
        return fail(HULL_ESHAPE, "%s: dtype %s, want a float of 16 bits or "
                    "more", node_what(n, what), hull_dtype_name(dt));
    return infer_out(g, n, 0, dt, shape->u.dims.p, shape->u.dims.n);
}

static void philox_round(uint32_t c[4], const uint32_t k[2])
{
    uint64_t a = (uint64_t)0xD2511F53u * c[0];
    uint64_t b = (uint64_t)0xCD9E8D57u * c[2];

    c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k[0];
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
    c[3] = (uint32_t)a;
}

void random_words(uint32_t out[4], uint64_t seed, uint64_t draw, uint64_t at)
{
    uint32_t k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    out[0] = (uint32_t)at;
    out[1] = (uint32_t)(at >> 32);
    out[2] = (uint32_t)draw;
    out[3] = (uint32_t)(draw >> 32);
    for (int i = 0; i < 10; i++) {
        philox_round(out, k);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
}

/* The top `bits` of 64 as a number in [0, 1): it stays below 1 in a type with
 * so many significant bits. */
static double unit(uint32_t high, uint32_t low, int bits)
{
    uint64_t v = (uint64_t)high << 32 | low;

    return ldexp((double)(v >> (64 - bits)), -bits);
}

static int significant_bits(hull_dtype dt)
{
    switch (dt) {
    case HULL_F64: return 53;
    case HULL_F32: return 24;
    case HULL_F16: return 11;
    default: return 8;
    }
}

hull_status random_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out)
{
    bool normal = attr_bool(n, "normal");
    int bits = significant_bits(out->dtype);
    uint64_t numel = (uint64_t)tensor_numel(out), seed, draw;
    char what[128];

    (void)in;
    if (cx->random == NULL)
        return fail(HULL_EUNSUPPORTED, "%s: no random numbers here",
                    node_what(n, what));
    seed = attr_is_set(n, "seed") ? (uint64_t)attr_int(n, "seed")
                                  : cx->random->seed;
    draw = cx->random->draws++;
    for (uint64_t i = 0; i < numel; i++) {
        uint32_t w[4];
        double v;

        random_words(w, seed, draw, i);
        v = unit(w[0], w[1], normal ? 53 : bits);
        if (normal) /* Box and Muller, of one pair the first */
            v = sqrt(-2 * log(1 - v)) *
                cos(6.283185307179586 * unit(w[2], w[3], 53));
        store_f64(out->dtype, out->data, i, v);
    }
    return HULL_OK;
}
