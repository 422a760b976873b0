/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pb.c - the protobuf wire format, as far as reading needs it:
 *
 *     message = { tag value }
 *     tag     = varint, field number << 3 | wire
 *     value   = varint (wire 0) | 8 bytes (1) | varint length, bytes (2)
 *             | 4 bytes (5)
 *     varint  = 1 to 10 bytes of 7 bits, low bits first, high bit = more
 *
 * Numbers are little-endian. Nothing is copied but repeated numbers.
 */
#include "base/base.h"

#include <inttypes.h>
#include <string.h>

#define WIRE_VARINT 0
#define WIRE_FIXED64 1
#define WIRE_BYTES 2
#define WIRE_FIXED32 5
#define MAX_FIELD (((uint32_t)1 << 29) - 1)

pb pb_of(bytes b, const uint8_t *base, const char *what)
{
    static const uint8_t none[1];
    const uint8_t *p = b.p == NULL ? none : b.p;

    return (pb){ p, p + (b.p == NULL ? 0 : b.n), base == NULL ? p : base,
                 what };
}

static size_t offset(const pb *r, const uint8_t *p)
{
    return (size_t)((uintptr_t)p - (uintptr_t)r->base);
}

/* Reads a varint at *p, before end; *p moves behind it. */
static hull_status varint(uint64_t *out, const pb *r, const uint8_t **p,
                          const uint8_t *end)
{
    const uint8_t *start = *p;
    uint64_t v = 0;
    unsigned shift;

    *out = 0;
    for (shift = 0; shift < 70; shift += 7) {
        uint8_t b;

        if (*p == end)
            return fail(HULL_EFORMAT, "%s: varint at byte %zu has no end",
                        r->what, offset(r, start));
        b = *(*p)++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *out = v;
            return HULL_OK;
        }
    }
    return fail(HULL_EFORMAT, "%s: varint at byte %zu is over 64 bits", r->what,
                offset(r, start));
}

/* Takes n bytes; the message must have them. */
static hull_status take(const uint8_t **out, pb *r, uint64_t n)
{
    uint64_t left = (uint64_t)(r->end - r->p);

    *out = r->p;
    if (n > left)
        return fail(HULL_EFORMAT,
                    "%s: value at byte %zu has %" PRIu64 " bytes, %" PRIu64
                    " are left",
                    r->what, offset(r, r->p), n, left);
    r->p += n;
    return HULL_OK;
}

hull_status pb_next(pb *r, pb_field *out, bool *out_more)
{
    const uint8_t *start = r->p, *p;
    uint64_t tag, n;

    memset(out, 0, sizeof(*out));
    *out_more = false;
    if (r->p == r->end)
        return HULL_OK;
    TRY(varint(&tag, r, &r->p, r->end));
    if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD)
        return fail(HULL_EFORMAT,
                    "%s: tag at byte %zu has field number %" PRIu64
                    ", wanted 1 to %" PRIu32,
                    r->what, offset(r, start), tag >> 3, MAX_FIELD);
    out->number = (uint32_t)(tag >> 3);
    out->wire = (uint8_t)(tag & 7);
    switch (out->wire) {
    case WIRE_VARINT:
        TRY(varint(&out->u, r, &r->p, r->end));
        break;
    case WIRE_FIXED64:
        TRY(take(&p, r, 8));
        out->u = le_get(p, 8);
        break;
    case WIRE_BYTES:
        TRY(varint(&n, r, &r->p, r->end));
        TRY(take(&p, r, n));
        out->b = (bytes){ p, (size_t)n };
        break;
    case WIRE_FIXED32:
        TRY(take(&p, r, 4));
        out->u = le_get(p, 4);
        break;
    default:
        return fail(HULL_EFORMAT,
                    "%s: tag at byte %zu has wire type %d, wanted 0, 1, 2 "
                    "or 5",
                    r->what, offset(r, start), out->wire);
    }
    *out_more = true;
    return HULL_OK;
}

hull_status pb_want(const pb *r, const pb_field *f, uint8_t wire)
{
    if (f->wire == wire)
        return HULL_OK;
    return fail(HULL_EFORMAT,
                "%s: field %" PRIu32 " before byte %zu has wire type %d, "
                "wanted %d",
                r->what, f->number, offset(r, r->p), f->wire, wire);
}

/* Makes room for more elements; refuses sums that do not fit. */
static hull_status grow(void *p, size_t *cap, size_t n, size_t more,
                        size_t elem_size)
{
    size_t need;

    if (__builtin_add_overflow(n, more, &need))
        return fail_oom(SIZE_MAX);
    return mem_grow(p, cap, need, elem_size);
}

hull_status pb_i64s(pb *r, const pb_field *f, int64_t **p, size_t *n,
                    size_t *cap)
{
    const uint8_t *at = f->b.p, *end;
    size_t count = 0, i;
    uint64_t v;

    if (f->wire == WIRE_VARINT) {
        TRY(grow(p, cap, *n, 1, sizeof(**p)));
        (*p)[(*n)++] = (int64_t)f->u;
        return HULL_OK;
    }
    TRY(pb_want(r, f, WIRE_BYTES));
    if (f->b.n == 0)
        return HULL_OK;
    for (i = 0; i < f->b.n; i++)
        count += f->b.p[i] < 0x80;
    TRY(grow(p, cap, *n, count, sizeof(**p)));
    end = at + f->b.n;
    for (i = *n; at < end; i++) {
        TRY(varint(&v, r, &at, end));
        (*p)[i] = (int64_t)v;
    }
    *n = i;
    return HULL_OK;
}

static float float_of(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

hull_status pb_f32s(pb *r, const pb_field *f, float **p, size_t *n, size_t *cap)
{
    size_t count = f->b.n / 4, i;

    if (f->wire == WIRE_FIXED32) {
        TRY(grow(p, cap, *n, 1, sizeof(**p)));
        (*p)[(*n)++] = pb_f32(f);
        return HULL_OK;
    }
    TRY(pb_want(r, f, WIRE_BYTES));
    if (f->b.n % 4 != 0)
        return fail(HULL_EFORMAT,
                    "%s: field %" PRIu32 " before byte %zu has %zu bytes of "
                    "f32, wanted a multiple of 4",
                    r->what, f->number, offset(r, r->p), f->b.n);
    TRY(grow(p, cap, *n, count, sizeof(**p)));
    for (i = 0; i < count; i++)
        (*p)[*n + i] = float_of((uint32_t)le_get(f->b.p + 4 * i, 4));
    *n += count;
    return HULL_OK;
}

float pb_f32(const pb_field *f)
{
    return float_of((uint32_t)f->u);
}

str pb_str(const pb_field *f)
{
    return (str){ f->b.p == NULL ? "" : (const char *)f->b.p, f->b.n };
}
