/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * chain_vec.h - chains of pointwise ops (ops/chain.c), with the functions of
 * pointwise_vec.h. A chain becomes code for one register that is as long as a
 * tile; the code runs tile by tile, so values never leave the core and most of
 * them not even the registers. Operands and results of 16 bits are widened and
 * rounded on the way. Each element is what the ops' own kernels give, to the
 * bit.
 */
#include "backend/cpu/pointwise_vec.h"

#include <string.h>

#define CHAIN_VECS (VEC_LANES == 16 ? 16 : 8) /* half of the registers */
#define CHAIN_TILE (CHAIN_VECS * VEC_LANES)
#define CHAIN_ROW 1024 /* longest row that is kept for operands repeating it */
/* Rooms on the stack, in floats: what any chain needs, and what most do. */
#define CHAIN_ROOM_MOST                                                      \
    (CHAIN_OPERANDS * (CHAIN_ROW + CHAIN_TILE + VEC_LANES) +                 \
     CHAIN_STEPS * CHAIN_TILE)
#define CHAIN_ROOM_FEW 2048

typedef enum link_code {
    LINK_LOAD, LINK_ADD, LINK_SUB, LINK_SUB_FROM, LINK_MUL, LINK_RELU,
    LINK_CLAMP, LINK_HARD_SIGMOID, LINK_F16, LINK_BF16, LINK_MAP, LINK_ZIP,
    LINK_ZIP_SWAPPED
} link_code;

typedef struct link {
    link_code code;
    uint32_t with;  /* the value that is read besides */
    bool save;      /* the register goes to `room` as well */
    uint32_t room;
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
    uint32_t n_in, n_links, now; /* now: the value in the register */
    uint32_t n_room;             /* floats of all rooms */
    int64_t numel;
    void *y;
    hull_dtype to;               /* of y */
    const void *x[CHAIN_OPERANDS];
    hull_dtype dt[CHAIN_OPERANDS];
    chain_kind kind[CHAIN_OPERANDS];
    uint32_t room[CHAIN_OPERANDS + CHAIN_STEPS]; /* where a value's is */
    walk w[CHAIN_OPERANDS];
    float ones[CHAIN_OPERANDS];  /* of kind CHAIN_ONE */
    uint32_t root[CHAIN_STEPS];  /* which value a step's is */
    uint32_t made[CHAIN_STEPS];  /* its link */
    link links[2 * CHAIN_STEPS + 1];
} chain_run;

/* ---- 16 bits ------------------------------------------------------------- */

#if VEC_LANES == 16
typedef __m256i vec_half; /* as many lanes */
VEC_INLINE vec_half half_load(const uint16_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
VEC_INLINE void half_store(uint16_t *p, vec_half x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}
VEC_INLINE vec from_f16(vec_half x) { return _mm512_cvtph_ps(x); }
VEC_INLINE vec_half to_f16(vec x)
{
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
VEC_INLINE vec from_bf16(vec_half x)
{
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
/* Cuts; x is rounded. */
VEC_INLINE vec_half to_bf16(vec x)
{
    return _mm512_cvtepi32_epi16(
        _mm512_srli_epi32(_mm512_castps_si512(x), 16));
}
VEC_INLINE vec round_bf16(vec x)
{
    __m512i u = _mm512_castps_si512(x), one = _mm512_set1_epi32(1);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), one);

    odd = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    odd = _mm512_add_epi32(u, odd);
    u = _mm512_or_si512(u, _mm512_set1_epi32(0x400000));
    u = _mm512_mask_blend_epi32(vec_is_nan(x), odd, u);
    return _mm512_castsi512_ps(
        _mm512_and_si512(u, _mm512_set1_epi32(-0x10000)));
}
#else
typedef __m128i vec_half;
VEC_INLINE vec_half half_load(const uint16_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
VEC_INLINE void half_store(uint16_t *p, vec_half x)
{
    _mm_storeu_si128((__m128i *)(void *)p, x);
}
VEC_INLINE vec from_f16(vec_half x) { return _mm256_cvtph_ps(x); }
VEC_INLINE vec_half to_f16(vec x)
{
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}
VEC_INLINE vec from_bf16(vec_half x)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
VEC_INLINE vec_half to_bf16(vec x)
{
    __m256i u = _mm256_srli_epi32(_mm256_castps_si256(x), 16);

    return _mm_packus_epi32(_mm256_castsi256_si128(u),
                            _mm256_extracti128_si256(u, 1));
}
VEC_INLINE vec round_bf16(vec x)
{
    __m256i u = _mm256_castps_si256(x), one = _mm256_set1_epi32(1);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), one);

    odd = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    odd = _mm256_add_epi32(u, odd);
    u = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
    x = vec_pick(vec_is_nan(x), _mm256_castsi256_ps(u),
                 _mm256_castsi256_ps(odd));
    return vec_and(x, _mm256_castsi256_ps(_mm256_set1_epi32(-0x10000)));
}
#endif

/* n elements as floats; up to VEC_LANES more are written. */
static void chain_widen(const uint16_t *x, hull_dtype dt, float *y, int64_t n)
{
    uint16_t end[VEC_LANES] = {0};

    for (; n >= VEC_LANES; n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES) {
        vec_half h = half_load(x);

        vec_store(y, dt == HULL_F16 ? from_f16(h) : from_bf16(h));
    }
    if (n > 0) {
        memcpy(end, x, (size_t)n * sizeof *x);
        vec_store(y, dt == HULL_F16 ? from_f16(half_load(end))
                                    : from_bf16(half_load(end)));
    }
}

/* ---- operands ------------------------------------------------------------ */

static bool is_one(const chain_run *r, uint32_t v)
{
    return v < r->n_in && r->kind[v] == CHAIN_ONE;
}

/* A place in an operand that is broadcast: an element of a row. */
typedef struct chain_place {
    int64_t from, row_at, index[HULL_MAX_RANK];
} chain_place;

static void chain_seek(chain_place *c, const walk *w, int64_t at)
{
    int64_t left = at / w->row;

    c->from = at % w->row;
    c->row_at = 0;
    VEC_ROLLED
    for (uint32_t i = w->rank - 1; i-- > 0; left /= w->shape[i]) {
        c->index[i] = left % w->shape[i];
        c->row_at += c->index[i] * w->strides[0][i];
    }
}

/* n elements on, at most to the row's end. */
VEC_INLINE void chain_go(chain_place *c, const walk *w, int64_t n)
{
    c->from += n;
    if (c->from < w->row)
        return;
    c->from = 0;
    VEC_ROLLED
    for (uint32_t i = w->rank - 1; i-- > 0; c->index[i] = 0) {
        c->row_at += w->strides[0][i];
        if (++c->index[i] < w->shape[i])
            return;
        c->row_at -= w->shape[i] * w->strides[0][i];
    }
}

/* n elements; up to VEC_LANES more are written. */
static void chain_copy(const void *from, hull_dtype dt, int64_t n, float *y)
{
    const float *x = from;

    if (dt != HULL_F32) {
        chain_widen(from, dt, y, n);
        return;
    }
    VEC_ROLLED
    for (; n >= VEC_LANES; n -= VEC_LANES, x += VEC_LANES, y += VEC_LANES)
        vec_store(y, vec_load(x));
    if (n > 0)
        vec_store(y, vec_load_some(x, n));
}

/* One element n times, with the same liberty. */
static void chain_spread(const void *x, hull_dtype dt, int64_t n, float *y)
{
    vec one = vec_set((float)load_f64(dt, x, 0));

    VEC_ROLLED
    for (int64_t i = 0; i < n; i += VEC_LANES)
        vec_store(y + i, one);
}

/* n elements of an operand, broadcast, row by row. */
static void chain_make(const chain_run *r, uint32_t k, chain_place *c,
                       int64_t n, float *y)
{
    const walk *w = &r->w[k];
    int64_t size = r->dt[k] == HULL_F32 ? 4 : 2, step = w->step[0];

    for (int64_t len; n > 0; n -= len, y += len) {
        const char *x = (const char *)r->x[k] +
                        (c->row_at + c->from * step) * size;

        len = w->row - c->from < n ? w->row - c->from : n;
        if (step == 0)
            chain_spread(x, r->dt[k], len, y);
        else
            chain_copy(x, r->dt[k], len, y);
        chain_go(c, w, len);
    }
}

/* Operand k of the tile at `at`, of n elements that count. */
static const float *chain_operand(const chain_run *r, uint32_t k, int64_t at,
                                  int64_t n, chain_place *c, float *room)
{
    const walk *w = &r->w[k];
    const float *x = r->x[k];

    if (r->kind[k] == CHAIN_REPEAT)
        return room + at % w->row;
    if (r->kind[k] == CHAIN_FLAT) {
        if (n == CHAIN_TILE && r->dt[k] == HULL_F32)
            return x + at;
        chain_copy(r->dt[k] == HULL_F32 ? (const void *)(x + at)
                                        : (const uint16_t *)r->x[k] + at,
                   r->dt[k], n, room);
        return room;
    }
    if (w->step[0] != 0 && c->from + CHAIN_TILE <= w->row &&
        r->dt[k] == HULL_F32) {
        x += c->row_at + c->from;
        chain_go(c, w, n);
        return x;
    }
    chain_make(r, k, c, n, room);
    return room;
}

/* ---- tiles --------------------------------------------------------------- */

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
#define CHAIN_STORE_HALF(to, value) \
    CHAIN_EACH half_store((uint16_t *)(to) + i * VEC_LANES, value(a[i]))

/* p: where each value is in this tile, as far as it is anywhere. What lies
 * behind the n elements of the last tile goes nowhere. */
static void chain_tile(const chain_run *r, float *room, const float *const *p,
                       int64_t at, int64_t n)
{
    vec a[CHAIN_VECS];
    float t[CHAIN_TILE];
    const link *end = r->links + r->n_links;
    size_t size = r->to == HULL_F32 ? 4 : 2;
    void *y = (char *)r->y + (size_t)at * size, *to = n == CHAIN_TILE ? y : t;

    CHAIN_EACH a[i] = vec_set(0.0f);
    VEC_ROLLED
    for (const link *l = r->links; l < end; l++) {
        const float *q = p[l->with], *from = t;
        bool one = l->one;

        if (l->code == LINK_LOAD && !one && l + 1 < end &&
            l[1].code == LINK_MAP) {
            from = q; /* no need to pass the registers */
            l++;
        } else if (l->code >= LINK_MAP) {
            CHAIN_STORE(t);
        }
        switch (l->code) {
            CHAIN_TWO(LINK_LOAD, b)
            CHAIN_TWO(LINK_ADD, vec_add(a[i], b))
            CHAIN_TWO(LINK_SUB, vec_sub(a[i], b))
            CHAIN_TWO(LINK_SUB_FROM, vec_sub(b, a[i]))
            CHAIN_TWO(LINK_MUL, vec_mul(a[i], b))
            CHAIN_UNARY(LINK_F16, from_f16(to_f16(x)))
            CHAIN_UNARY(LINK_BF16, round_bf16(x))
            CHAIN_UNARY(LINK_RELU, vec_max(ZERO, x))
            CHAIN_UNARY(LINK_CLAMP,
                        vec_clamp(x, vec_set(l->a), vec_set(l->b)))
            CHAIN_UNARY(LINK_HARD_SIGMOID,
                        vec_clamp(vec_fma(vec_set(l->a), x, vec_set(l->b)),
                                  ZERO, ONE))
        default:
            if (l->code == LINK_MAP)
                l->map(from, t, n, l->a, l->b);
            else if (l->code == LINK_ZIP)
                l->zip(t, q, t, n, 1, !one);
            else
                l->zip(q, t, t, n, !one, 1);
            CHAIN_EACH a[i] = vec_load(t + i * VEC_LANES);
        }
        if (l->save)
            CHAIN_STORE(room + l->room);
    }
    if (r->to == HULL_F32)
        CHAIN_STORE((float *)to);
    else if (r->to == HULL_F16)
        CHAIN_STORE_HALF(to, to_f16);
    else
        CHAIN_STORE_HALF(to, to_bf16);
    if (to != y)
        memcpy(y, t, (size_t)n * size);
}

static __attribute__((noinline)) void chain_tiles(const chain_run *r,
                                                  int64_t begin, int64_t end,
                                                  float *room)
{
    chain_place at[CHAIN_OPERANDS];
    const float *p[CHAIN_OPERANDS + CHAIN_STEPS];
    int64_t n = end - begin < CHAIN_TILE ? end - begin : CHAIN_TILE;

    VEC_ROLLED
    for (uint32_t k = 0; k < CHAIN_OPERANDS + CHAIN_STEPS; k++)
        p[k] = room + r->room[k];
    VEC_ROLLED
    for (uint32_t k = 0; k < r->n_in; k++) {
        if (r->kind[k] == CHAIN_ONE)
            p[k] = &r->ones[k];
        if (r->kind[k] >= CHAIN_REPEAT)
            chain_seek(&at[k], &r->w[k], r->kind[k] == CHAIN_MADE ? begin : 0);
        if (r->kind[k] == CHAIN_REPEAT)
            chain_make(r, k, &at[k], r->w[k].row + n, room + r->room[k]);
    }
    for (; begin < end; begin += n) {
        n = end - begin < CHAIN_TILE ? end - begin : CHAIN_TILE;
        VEC_ROLLED
        for (uint32_t k = 0; k < r->n_in; k++)
            if (r->kind[k] != CHAIN_ONE)
                p[k] = chain_operand(r, k, begin, n, &at[k],
                                     room + r->room[k]);
        chain_tile(r, room, p, begin, n);
    }
}

/* A large frame costs more than a small chain: its pages are touched. */
static void chain_part(void *user, int64_t begin, int64_t end)
{
    float room[CHAIN_ROOM_FEW];

    chain_tiles(user, begin, end, room);
}

static void chain_large_part(void *user, int64_t begin, int64_t end)
{
    float room[CHAIN_ROOM_MOST];

    chain_tiles(user, begin, end, room);
}

/* ---- a chain's code ------------------------------------------------------ */

static hull_status chain_operand_kind(chain_run *r, uint32_t k, const node *n,
                                      const tensor *in, const tensor *out)
{
    walk *w = &r->w[k];
    bool same = true; /* in each row */

    r->x[k] = in->data;
    r->dt[k] = in->dtype;
    r->room[k] = r->n_room;
    if (tensor_numel(in) == 1) {
        r->kind[k] = CHAIN_ONE;
        r->ones[k] = (float)load_f64(in->dtype, in->data, 0);
        return HULL_OK;
    }
    r->n_room += CHAIN_TILE + VEC_LANES;
    r->kind[k] = CHAIN_FLAT;
    if (tensor_numel(in) == r->numel)
        return HULL_OK;
    TRY(walk_begin(w, n, in, 1, out));
    VEC_ROLLED
    for (uint32_t i = 0; i + 1 < w->rank; i++)
        same = same && w->strides[0][i] == 0;
    r->kind[k] = CHAIN_MADE;
    if (same && w->step[0] != 0 && w->row <= CHAIN_ROW) {
        r->kind[k] = CHAIN_REPEAT;
        r->n_room += (uint32_t)w->row;
    }
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
static uint32_t chain_stored(chain_run *r, uint32_t v)
{
    link *l;

    if (v < r->n_in)
        return v;
    l = &r->links[r->made[v - r->n_in]];
    if (!l->save) {
        l->save = true;
        l->room = r->room[v] = r->n_room;
        r->n_room += CHAIN_TILE;
    }
    return v;
}

static void chain_load(chain_run *r, uint32_t v)
{
    r->links[r->n_links++] = (link){.code = LINK_LOAD,
                                    .with = chain_stored(r, v),
                                    .one = is_one(r, v)};
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

/* Adds step i. Returns what an element takes, in nanoseconds. */
static double chain_step_links(chain_run *r, const chain_step *s, uint32_t i,
                               const tensor *in)
{
    uint32_t a = s->in[0], b = s->in[s->n_in - 1];
    link l = {.code = LINK_MAP, .zip = zip_of(s->op)};
    double cost = s->op == OP_pow ? 30 : 0.03;
    bool swap;

    a = a < r->n_in ? a : r->root[a - r->n_in];
    b = b < r->n_in ? b : r->root[b - r->n_in];
    if (s->to == HULL_F32) { /* values are wide already */
        r->root[i] = a;
        return 0;
    }
    swap = l.zip != NULL && b == r->now && a != r->now;
    if (s->op == OP_pow && is_one(r, b) &&
        (a >= r->n_in || tensor_numel(&in[a]) == r->numel))
        l.map = power_map(r->ones[b]);
    if (!swap && a != r->now)
        chain_load(r, a);
    if (s->op == OP_cast) {
        l.code = s->to == HULL_F16 ? LINK_F16 : LINK_BF16;
    } else if (l.zip == NULL) {
        cost = chain_map(&l, s);
    } else if (l.map == NULL) {
        l.code = swap ? LINK_ZIP_SWAPPED : LINK_ZIP;
        l.with = chain_stored(r, swap ? a : b);
        l.one = is_one(r, l.with);
    }
    VEC_ROLLED
    for (size_t k = 0; k < COUNT_OF(link_codes); k++)
        if (link_codes[k].op == s->op)
            l.code = swap ? link_codes[k].swapped : link_codes[k].code;
    r->now = r->root[i] = r->n_in + i;
    r->made[i] = r->n_links;
    r->links[r->n_links++] = l;
    return cost;
}

hull_status VEC_NAME(cpu_chain)(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    double cost = 0.1;
    chain_run r;
    chain_code c;

    TRY(chain_read(&c, n));
    r.numel = tensor_numel(out);
    if (r.numel == 0)
        return HULL_OK;
    r.n_in = n->n_in;
    r.n_links = 0;
    r.now = UINT32_MAX;
    r.n_room = 0;
    memset(r.room, 0, sizeof r.room);
    r.y = out->data;
    r.to = out->dtype;
    VEC_ROLLED
    for (uint32_t k = 0; k < n->n_in; k++)
        TRY(chain_operand_kind(&r, k, n, &in[k], out));
    VEC_ROLLED
    for (uint32_t i = 0; i < c.n; i++)
        cost += chain_step_links(&r, &c.steps[i], i, in);
    if (r.root[c.n - 1] != r.now) /* a cast to f32 alone */
        chain_load(&r, r.root[c.n - 1]);
    cpu_parallel(cx, r.numel, 1024, cost,
                 r.n_room <= CHAIN_ROOM_FEW ? chain_part : chain_large_part,
                 &r);
    return HULL_OK;
}
