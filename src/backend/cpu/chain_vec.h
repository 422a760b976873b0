/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * chain_vec.h - chains of pointwise ops (ops/chain.c), with the functions of
 * pointwise_vec.h. A chain becomes code for one register that is as long as a
 * tile; the code runs tile by tile, so values never leave the core and most of
 * them not even the registers. Each element is what the ops' own kernels give,
 * to the bit.
 */
#include "backend/cpu/pointwise_vec.h"

#include <string.h>

#define CHAIN_VECS (VEC_LANES == 16 ? 16 : 8) /* half of the registers */
#define CHAIN_TILE (CHAIN_VECS * VEC_LANES)
#define CHAIN_ROW 1024 /* longest row that is kept for operands repeating it */

typedef enum link_code {
    LINK_LOAD, LINK_ADD, LINK_SUB, LINK_SUB_FROM, LINK_MUL, LINK_RELU,
    LINK_CLAMP, LINK_HARD_SIGMOID, LINK_MAP, LINK_ZIP, LINK_ZIP_SWAPPED
} link_code;

typedef struct link {
    link_code code;
    uint32_t with;  /* the value that is read besides */
    uint32_t save;  /* where the register goes as well; 0: nowhere */
    bool one;       /* `with` is one element */
    map_fn *map;
    zip_fn *zip;
    float a, b;
} link;

/* How a tile gets an operand. */
typedef enum chain_kind {
    CHAIN_FLAT,   /* it lies there */
    CHAIN_ONE,    /* one element for all */
    CHAIN_REPEAT, /* from a row, made once with the begin of the next one */
    CHAIN_MADE    /* made for each tile that is not within one row */
} chain_kind;

typedef struct chain_run {
    uint32_t n_in, n_links;
    int64_t numel;
    float *y;
    const float *x[CHAIN_OPERANDS];
    chain_kind kind[CHAIN_OPERANDS];
    walk w[CHAIN_OPERANDS];
    link links[2 * CHAIN_STEPS];
} chain_run;

static bool is_one(const chain_run *r, uint32_t v)
{
    return v < r->n_in && r->kind[v] == CHAIN_ONE;
}

typedef float chain_rows[CHAIN_OPERANDS][CHAIN_ROW + CHAIN_TILE];

/* Where the operand's element for result element `at` is. */
static const float *chain_at(const walk *w, const float *x, int64_t at)
{
    int64_t left = at / w->row;

    x += at % w->row * w->step[0];
    VEC_ROLLED
    for (uint32_t i = w->rank - 1; i-- > 0;) {
        x += left % w->shape[i] * w->strides[0][i];
        left /= w->shape[i];
    }
    return x;
}

/* Elements [at, at + n) of an operand, broadcast, row by row. */
static void chain_make(const walk *w, const float *x, int64_t at, int64_t n,
                       float *y)
{
    int64_t from = at % w->row, left = at / w->row, index[HULL_MAX_RANK];
    const float *p = chain_at(w, x, at);

    VEC_ROLLED
    for (uint32_t i = w->rank - 1; i-- > 0; left /= w->shape[i])
        index[i] = left % w->shape[i];
    while (n > 0) {
        int64_t len = w->row - from < n ? w->row - from : n;

        VEC_ROLLED
        for (int64_t i = 0; i < len; i += VEC_LANES) {
            int64_t some = len - i < VEC_LANES ? len - i : VEC_LANES;

            vec_put(y + i, w->step[0] == 0 ? vec_set(*p)
                                           : vec_take(p + i, some), some);
        }
        p -= from * w->step[0];
        VEC_ROLLED
        for (uint32_t i = w->rank - 1; i-- > 0; index[i] = 0) {
            p += w->strides[0][i];
            if (++index[i] < w->shape[i])
                break;
            p -= w->shape[i] * w->strides[0][i];
        }
        y += len;
        n -= len;
        from = 0;
    }
}

/* Operand k of the tile at `at`, of n elements that count. */
static const float *chain_operand(const chain_run *r, uint32_t k, int64_t at,
                                  int64_t n, float *room)
{
    const walk *w = &r->w[k];

    switch (r->kind[k]) {
    case CHAIN_REPEAT:
        return room + at % w->row;
    case CHAIN_FLAT:
        if (n == CHAIN_TILE)
            return r->x[k] + at;
        break;
    default:
        if (w->step[0] != 0 && at % w->row + CHAIN_TILE <= w->row)
            return chain_at(w, r->x[k], at);
    }
    chain_make(w, r->x[k], at, n, room);
    return room;
}

#define CHAIN_EACH                            \
    VEC_UNROLL                                \
    for (int i = 0; i < CHAIN_VECS; i++)
#define CHAIN_TWO(name, value)                \
    case name:                                \
        if (one) {                            \
            vec b = vec_set(*q);              \
                                              \
            CHAIN_EACH a[i] = value;          \
        } else {                              \
            CHAIN_EACH {                      \
                vec b = vec_load(q + i * VEC_LANES); \
                                              \
                a[i] = value;                 \
            }                                 \
        }                                     \
        break;
#define CHAIN_UNARY(name, value)              \
    case name:                                \
        CHAIN_EACH {                          \
            vec x = a[i];                     \
                                              \
            a[i] = value;                     \
        }                                     \
        break;
#define CHAIN_STORE(to) CHAIN_EACH vec_store((to) + i * VEC_LANES, a[i])

/* p: where each value is in this tile, as far as it is anywhere. What lies
 * behind the n elements of the last tile goes nowhere. */
static void chain_tile(const chain_run *r, float *const saved,
                       const float *const *p, float *y, int64_t n)
{
    vec a[CHAIN_VECS];
    float t[CHAIN_TILE];

    CHAIN_EACH a[i] = vec_set(0.0f);
    VEC_ROLLED
    for (const link *l = r->links; l < r->links + r->n_links; l++) {
        const float *q = p[l->with];
        bool one = l->one;

        switch (l->code) {
            CHAIN_TWO(LINK_LOAD, b)
            CHAIN_TWO(LINK_ADD, vec_add(a[i], b))
            CHAIN_TWO(LINK_SUB, vec_sub(a[i], b))
            CHAIN_TWO(LINK_SUB_FROM, vec_sub(b, a[i]))
            CHAIN_TWO(LINK_MUL, vec_mul(a[i], b))
            CHAIN_UNARY(LINK_RELU, vec_max(ZERO, x))
            CHAIN_UNARY(LINK_CLAMP,
                        vec_clamp(x, vec_set(l->a), vec_set(l->b)))
            CHAIN_UNARY(LINK_HARD_SIGMOID,
                        vec_clamp(vec_fma(vec_set(l->a), x, vec_set(l->b)),
                                  ZERO, ONE))
        default:
            CHAIN_STORE(t);
            if (l->code == LINK_MAP)
                l->map(t, t, n, l->a, l->b);
            else if (l->code == LINK_ZIP)
                l->zip(t, q, t, n, 1, !one);
            else
                l->zip(q, t, t, n, !one, 1);
            CHAIN_EACH a[i] = vec_load(t + i * VEC_LANES);
        }
        if (l->save != 0)
            CHAIN_STORE(saved + (l->save - 1) * CHAIN_TILE);
    }
    if (n == CHAIN_TILE) {
        CHAIN_STORE(y);
        return;
    }
    CHAIN_STORE(t);
    memcpy(y, t, (size_t)n * sizeof *y);
}

static void chain_part(void *user, int64_t begin, int64_t end)
{
    const chain_run *r = user;
    chain_rows made;
    float saved[CHAIN_STEPS * CHAIN_TILE];
    const float *p[CHAIN_OPERANDS + CHAIN_STEPS];

    VEC_ROLLED
    for (uint32_t k = 0; k < r->n_in; k++) {
        p[k] = r->x[k];
        if (r->kind[k] == CHAIN_REPEAT)
            chain_make(&r->w[k], r->x[k], 0, r->w[k].row + CHAIN_TILE,
                       made[k]);
    }
    VEC_ROLLED
    for (uint32_t i = 0; i < CHAIN_STEPS; i++)
        p[r->n_in + i] = saved + i * CHAIN_TILE;
    for (int64_t n; begin < end; begin += n) {
        n = end - begin < CHAIN_TILE ? end - begin : CHAIN_TILE;
        VEC_ROLLED
        for (uint32_t k = 0; k < r->n_in; k++)
            if (r->kind[k] != CHAIN_ONE)
                p[k] = chain_operand(r, k, begin, n, made[k]);
        chain_tile(r, saved, p, r->y + begin, n);
    }
}

/* ---- a chain's code ------------------------------------------------------ */

static hull_status chain_operand_kind(chain_run *r, uint32_t k, const node *n,
                                      const tensor *in, const tensor *out)
{
    walk *w = &r->w[k];
    bool same = true; /* in each row */

    r->x[k] = in->data;
    if (tensor_numel(in) == 1 || tensor_numel(in) == r->numel) {
        r->kind[k] = tensor_numel(in) == 1 ? CHAIN_ONE : CHAIN_FLAT;
        w->rank = 1;
        w->row = r->numel;
        w->step[0] = 1;
        return HULL_OK;
    }
    TRY(walk_begin(w, n, in, 1, out));
    VEC_ROLLED
    for (uint32_t i = 0; i + 1 < w->rank; i++)
        same = same && w->strides[0][i] == 0;
    r->kind[k] = same && w->step[0] != 0 && w->row <= CHAIN_ROW
                     ? CHAIN_REPEAT : CHAIN_MADE;
    return HULL_OK;
}

/* Codes that the register has besides maps and zips. */
static const struct {
    op_code op;
    link_code code, swapped;
} link_codes[] = {
    {OP_add, LINK_ADD, LINK_ADD},
    {OP_sub, LINK_SUB, LINK_SUB_FROM},
    {OP_mul, LINK_MUL, LINK_MUL},
    {OP_relu, LINK_RELU, LINK_RELU},
    {OP_clamp, LINK_CLAMP, LINK_CLAMP},
    {OP_hard_sigmoid, LINK_HARD_SIGMOID, LINK_HARD_SIGMOID},
};

/* Value v is read from memory: what makes it stores it. */
static uint32_t chain_stored(chain_run *r, const uint32_t *made, uint32_t v)
{
    if (v >= r->n_in)
        r->links[made[v - r->n_in]].save = v - r->n_in + 1;
    return v;
}

/* The link of a step that does not read two values: its function. */
static double chain_map(link *l, const chain_step *s)
{
    node one = chain_node(s);
    map m = {0};
    double cost = 0;

    map_attributes(&m, &one);
    l->a = m.a;
    l->b = m.b;
    VEC_ROLLED
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        if (maps[i].op == s->op) {
            l->map = m.fn != NULL ? m.fn : maps[i].fn;
            cost = maps[i].cost;
        }
    return cost;
}

/* Adds step i; made[]: each step's link. Returns what an element takes, in
 * nanoseconds. */
static double chain_step_links(chain_run *r, const chain_step *s, uint32_t i,
                               uint32_t *made, const tensor *in)
{
    uint32_t now = i > 0 ? r->n_in + i - 1 : UINT32_MAX; /* in the register */
    uint32_t a = s->in[0], b = s->in[s->n_in - 1];
    link l = {.code = LINK_MAP, .zip = zip_of(s->op)};
    bool swap = l.zip != NULL && b == now && a != now;
    double cost = s->op == OP_pow ? 30 : 0.03;

    if (s->op == OP_pow && b < r->n_in &&
        (a >= r->n_in || tensor_numel(&in[a]) == r->numel))
        l.map = power_map(&in[b]);
    if (!swap && a != now)
        r->links[r->n_links++] = (link){
            .code = LINK_LOAD, .with = chain_stored(r, made, a),
            .one = is_one(r, a)};
    if (l.zip == NULL) {
        cost = chain_map(&l, s);
    } else if (l.map == NULL) {
        l.code = swap ? LINK_ZIP_SWAPPED : LINK_ZIP;
        l.with = chain_stored(r, made, swap ? a : b);
        l.one = is_one(r, l.with);
    }
    VEC_ROLLED
    for (size_t k = 0; k < COUNT_OF(link_codes); k++)
        if (link_codes[k].op == s->op)
            l.code = swap ? link_codes[k].swapped : link_codes[k].code;
    made[i] = r->n_links;
    r->links[r->n_links++] = l;
    return cost;
}

hull_status VEC_NAME(cpu_chain)(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    uint32_t made[CHAIN_STEPS];
    double cost = 0.1;
    chain_run r;
    chain_code c;

    TRY(chain_read(&c, n));
    r.numel = tensor_numel(out);
    if (r.numel == 0)
        return HULL_OK;
    r.n_in = n->n_in;
    r.n_links = 0;
    r.y = out->data;
    VEC_ROLLED
    for (uint32_t k = 0; k < n->n_in; k++)
        TRY(chain_operand_kind(&r, k, n, &in[k], out));
    VEC_ROLLED
    for (uint32_t i = 0; i < c.n; i++)
        cost += chain_step_links(&r, &c.steps[i], i, made, in);
    cpu_parallel(cx, r.numel, 1024, cost, chain_part, &r);
    return HULL_OK;
}
