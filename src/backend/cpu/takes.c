/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * takes.c - which nodes the kernels of kernels.def run: types and attributes.
 */
#include "backend/cpu/cpu.h"
#include "ops/family.h"

#include <math.h>

/* gemm with panels of groups: of bf16 alone. */
static bool is_grouped(const graph *g, const node *n)
{
    return n->op == OP_gemm && graph_type(g, n->in[1])->rank == 4;
}

bool takes_gemm_bf16(const graph *g, const node *n)
{
    const type *w = graph_type(g, n->in[1]);

    return cpu_all_dtype(g, n, HULL_BF16) && attr_int(n, "tile") == 32 &&
           is_grouped(g, n) && w->dims[3] == 2;
}

bool takes_gemm_32(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_F32) && attr_int(n, "tile") == 32 &&
           !is_grouped(g, n);
}

bool takes_gemm_16(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_F32) && attr_int(n, "tile") == 16 &&
           !is_grouped(g, n);
}

bool takes_product(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_F32);
}

static bool takes_mask(const graph *g, const node *n, uint32_t i)
{
    return i >= n->n_in || n->in[i] == 0 ||
           graph_type(g, n->in[i])->dtype == HULL_F32 ||
           graph_type(g, n->in[i])->dtype == HULL_BOOL;
}

bool takes_sdpa(const graph *g, const node *n)
{
    for (uint32_t i = 0; i < 3; i++)
        if (graph_type(g, n->in[i])->dtype != HULL_F32)
            return false;
    return takes_mask(g, n, 3);
}

bool takes_sdpa_joined(const graph *g, const node *n)
{
    return graph_type(g, n->in[JOINED_X])->dtype == HULL_F32 &&
           takes_mask(g, n, JOINED_MASK);
}

/* The lengths alone are no floats. */
static bool takes_steps(const graph *g, const node *n, int64_t tile)
{
    return graph_type(g, n->in[0])->dtype == HULL_F32 &&
           attr_int(n, "tile") == tile;
}

bool takes_steps_16(const graph *g, const node *n)
{
    return takes_steps(g, n, 16);
}

bool takes_steps_8(const graph *g, const node *n)
{
    return takes_steps(g, n, 8);
}

bool takes_f32(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_F32);
}

/* Steps of f32, or casts from and to it. The vectors' bounds do not pass NaN
 * on. */
bool takes_chain(const graph *g, const node *n)
{
    const attr *params = node_attr(n, "params");
    hull_dtype dt[CHAIN_OPERANDS + CHAIN_STEPS];
    chain_code c;

    for (uint32_t i = 0; i < params->u.floats.n; i++)
        if (isnan(params->u.floats.p[i]))
            return false;
    for (uint32_t i = 0; i < n->n_in && i < CHAIN_OPERANDS; i++)
        dt[i] = graph_type(g, n->in[i])->dtype;
    if (chain_read(&c, n) != HULL_OK || chain_dtypes(dt, &c, n) != HULL_OK)
        return false; /* the shape rule saw to that */
    for (uint32_t i = 0; i < c.n; i++) {
        hull_dtype from = dt[c.steps[i].in[0]], to = dt[n->n_in + i];

        if (from != HULL_F32 && (to != HULL_F32 || !dtype_is_half(from)))
            return false;
    }
    return true;
}

bool takes_division(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_F32) &&
           str_is(attr_str(n, "round"), "none");
}

bool takes_f32_to_any(const graph *g, const node *n)
{
    return graph_type(g, n->in[0])->dtype == HULL_F32;
}

bool takes_f32_image(const graph *g, const node *n)
{
    uint32_t rank = graph_type(g, n->in[0])->rank;

    return cpu_all_dtype(g, n, HULL_F32) && (rank == 3 || rank == 4);
}

bool takes_planes(const graph *g, const node *n)
{
    uint32_t rank = graph_type(g, n->in[0])->rank;

    return cpu_all_dtype(g, n, HULL_F32) && rank >= 3 && rank <= 5;
}

bool takes_i64_i32(const graph *g, const node *n)
{
    hull_dtype dt = graph_type(g, n->in[0])->dtype;

    return dt == HULL_I64 || dt == HULL_I32;
}

bool takes_compared(const graph *g, const node *n)
{
    return takes_i64_i32(g, n) || takes_f32_to_any(g, n);
}

bool takes_bool(const graph *g, const node *n)
{
    return cpu_all_dtype(g, n, HULL_BOOL);
}

/* Elements of whole bytes that are what they are. */
static bool is_plain(const graph *g, val v, uint32_t most)
{
    hull_dtype dt = graph_type(g, v)->dtype;
    uint32_t bits = hull_dtype_bits(dt);

    return dt != HULL_STRING && bits >= 8 && bits <= most;
}

bool takes_plain(const graph *g, const node *n)
{
    return is_plain(g, n->in[0], 128);
}

bool takes_where(const graph *g, const node *n)
{
    return graph_type(g, n->in[0])->dtype == HULL_BOOL &&
           is_plain(g, n->in[1], 64);
}

bool takes_pad(const graph *g, const node *n)
{
    return is_plain(g, n->in[0], 128) &&
           str_is(attr_str(n, "mode"), "constant");
}

bool takes_pad_shown(const graph *g, const node *n)
{
    return is_plain(g, n->in[0], 128) &&
           !str_is(attr_str(n, "mode"), "constant");
}

/* Without a region. */
bool takes_resize(const graph *g, const node *n)
{
    if (n->n_in > 1 && n->in[1] != 0)
        return false;
    return str_is(attr_str(n, "mode"), "nearest")
               ? is_plain(g, n->in[0], 64)
               : graph_type(g, n->in[0])->dtype == HULL_F32;
}

static bool is_cast(hull_dtype dt)
{
    return dt == HULL_I64 || dt == HULL_I32 || dt == HULL_U8 ||
           dt == HULL_I8 || dt == HULL_BOOL || dt == HULL_F32 ||
           dtype_is_half(dt);
}

bool takes_pack(const graph *g, const node *n)
{
    return is_plain(g, n->in[0], 64) &&
           (n->n_in < 2 || graph_type(g, n->in[0])->dtype == HULL_F32);
}

bool takes_cast(const graph *g, const node *n)
{
    hull_dtype from = graph_type(g, n->in[0])->dtype;
    hull_dtype to = graph_type(g, n->out[0])->dtype;

    return from != to && is_cast(from) && is_cast(to);
}

/* Rows of w as they are, or narrow ones in panels; the rest is f32. */
static bool takes_rows(const graph *g, const node *n, int64_t tile)
{
    hull_dtype w = graph_type(g, n->in[1])->dtype;
    bool narrow = w == HULL_F16 || w == HULL_BF16 || w == HULL_I8 ||
                  w == HULL_U8;

    for (uint32_t i = 0; i < n->n_in; i++)
        if (i != 1 && n->in[i] != 0 &&
            graph_type(g, n->in[i])->dtype != HULL_F32)
            return false;
    return attr_int(n, "tile") == 1 ? narrow || w == HULL_F32
                                    : narrow && attr_int(n, "tile") == tile &&
                                          !is_grouped(g, n);
}

bool takes_raw_32(const graph *g, const node *n)
{
    return takes_rows(g, n, 32);
}

bool takes_raw_16(const graph *g, const node *n)
{
    return takes_rows(g, n, 16);
}

/* The shape rule leaves no other weights and zero points. */
bool takes_q4(const graph *g, const node *n)
{
    hull_dtype s = graph_type(g, n->in[Q4_SCALE])->dtype;

    return graph_type(g, n->in[0])->dtype == HULL_F32 &&
           (s == HULL_F32 || dtype_is_half(s));
}

bool takes_pack_q4(const graph *g, const node *n)
{
    (void)g;
    (void)n;
    return true;
}

static bool is_byte(const graph *g, val v)
{
    return dtype_is_byte(graph_type(g, v)->dtype);
}

static bool is_f32(const graph *g, val v)
{
    return graph_type(g, v)->dtype == HULL_F32;
}

/* The shape rule leaves no other types. */
bool takes_int(const graph *g, const node *n)
{
    (void)g;
    (void)n;
    return true;
}

bool takes_int_vnni(const graph *g, const node *n)
{
    (void)g;
    return attr_int(n, "tile") == 32 && attr_int(n, "group") == 4;
}

bool takes_int_avx2(const graph *g, const node *n)
{
    (void)g;
    return attr_int(n, "tile") == 16 && attr_int(n, "group") == 2;
}

/* Weights in panels, and all sequences of one length. */
static bool takes_lstm(const graph *g, const node *n, int64_t tile,
                       int64_t group)
{
    const type *r = graph_type(g, n->in[1]);

    return r->rank == 4 && r->dims[2] == tile && r->dims[3] == group &&
           (n->n_in <= LSTM_INT_LENGTHS || n->in[LSTM_INT_LENGTHS] == 0);
}

bool takes_lstm_vnni(const graph *g, const node *n)
{
    return takes_lstm(g, n, 32, 4);
}

bool takes_lstm_avx2(const graph *g, const node *n)
{
    return takes_lstm(g, n, 16, 2);
}

bool takes_quantize(const graph *g, const node *n)
{
    return is_f32(g, n->in[0]) && is_f32(g, n->in[1]) && is_byte(g, n->out[0]);
}

bool takes_dequantize(const graph *g, const node *n)
{
    return is_byte(g, n->in[0]) && is_f32(g, n->in[1]);
}
