/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pins.c - the large literals of an ir as bytes. The text names them by digest;
 * here they are by value. Little-endian.
 *
 *   pins := count:u32 zero:u32 pin{count}
 *   pin  := digest[32] dtype:u32 rank:u32 shape:u64[rank] data,
 *           zero bytes up to a multiple of 8
 */
#include "engine/engine.h"

#include <string.h>

#define PIN_ALIGN 8
/* digest, dtype, rank */
#define PIN_HEAD (sizeof(digest) + 8)

static void put(buf *b, uint64_t v, unsigned n_bytes)
{
    uint8_t p[8];

    le_put(p, v, n_bytes);
    buf_put(b, p, n_bytes);
}

hull_status pins_write(buf *out, const ir *m)
{
    put(out, m->n_pinned, 4);
    put(out, 0, 4);
    for (uint32_t i = 0; i < m->n_pinned; i++) {
        const literal *l = m->pinned[i];

        buf_put(out, l->digest.b, sizeof l->digest.b);
        put(out, (uint64_t)l->dtype, 4);
        put(out, l->rank, 4);
        for (uint32_t k = 0; k < l->rank; k++)
            put(out, (uint64_t)l->shape[k], 8);
        buf_put(out, l->data, (size_t)l->n_bytes);
        buf_align(out, PIN_ALIGN);
    }
    return buf_status(out);
}

/* What is left of the section. */
typedef struct cursor {
    const uint8_t *p;
    size_t n;
} cursor;

/* n bytes that the caller knows to be there. */
static uint64_t take(cursor *c, unsigned n_bytes)
{
    uint64_t v = le_get(c->p, n_bytes);

    c->p += n_bytes;
    c->n -= n_bytes;
    return v;
}

static hull_status read_shape(cursor *c, literal *l, uint32_t i)
{
    uint64_t d;

    if (l->rank > HULL_MAX_RANK || c->n < (size_t)l->rank * 8)
        return fail(HULL_EFORMAT, "pin %u has rank %u, %zu bytes are left", i,
                    l->rank, c->n);
    for (uint32_t k = 0; k < l->rank; k++) {
        d = take(c, 8);
        if (d > INT64_MAX)
            return fail(HULL_EFORMAT, "pin %u dim %u is negative", i, k);
        l->shape[k] = (int64_t)d;
    }
    return HULL_OK;
}

static hull_status read_data(cursor *c, literal *l, uint32_t i)
{
    uint64_t numel = 1, padded;

    for (uint32_t k = 0; k < l->rank; k++)
        if (!mul_u64(&numel, numel, (uint64_t)l->shape[k]))
            return fail(HULL_EFORMAT, "pin %u has more than 2^64 elements", i);
    if (!dtype_bytes(&l->n_bytes, l->dtype, numel) || l->n_bytes > c->n)
        return fail(HULL_EFORMAT,
                    "pin %u has %llu elements, %zu bytes are left", i,
                    (unsigned long long)numel, c->n);
    padded = round_up(l->n_bytes, PIN_ALIGN);
    if (numel <= LITERAL_TEXT_MAX || padded > c->n)
        return fail(HULL_EFORMAT, "pin %u of %llu elements is malformed", i,
                    (unsigned long long)numel);
    l->data = c->p;
    c->p += padded;
    c->n -= padded;
    return HULL_OK;
}

/* A pin that fits its digest. */
static hull_status read_pin(cursor *c, ir *m, uint32_t i)
{
    literal l = {0};
    digest named;
    uint64_t dt;

    if (c->n < PIN_HEAD)
        return fail(HULL_EFORMAT, "pin %u begins %zu bytes before the end", i,
                    c->n);
    memcpy(named.b, c->p, sizeof named.b);
    c->p += sizeof named.b;
    c->n -= sizeof named.b;
    dt = take(c, 4);
    l.dtype = dt <= HULL_U2 ? (hull_dtype)dt : HULL_NONE;
    if (hull_dtype_bits(l.dtype) == 0)
        return fail(HULL_EFORMAT, "pin %u has dtype number %llu", i,
                    (unsigned long long)dt);
    l.rank = (uint32_t)take(c, 4);
    TRY(read_shape(c, &l, i));
    TRY(read_data(c, &l, i));
    if (!literal_finish(&l) || !digest_eq(&l.digest, &named))
        return fail(HULL_EFORMAT, "pin %u does not have its digest", i);
    ir_pin(m, &l);
    return ir_status(m);
}

hull_status pins_read(ir *m, bytes data)
{
    cursor c = {data.p, data.n};
    uint32_t n;

    if (c.n < 8)
        return fail(HULL_EFORMAT, "pins have %zu bytes, wanted at least 8",
                    c.n);
    n = (uint32_t)take(&c, 4);
    if (take(&c, 4) != 0)
        return fail(HULL_EFORMAT, "pins have a reserved field that is not 0");
    for (uint32_t i = 0; i < n; i++)
        TRY(read_pin(&c, m, i));
    if (c.n != 0)
        return fail(HULL_EFORMAT, "pins end %zu bytes before their section",
                    c.n);
    return HULL_OK;
}
