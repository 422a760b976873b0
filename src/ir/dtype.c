/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * dtype.c - element types: names, sizes, and the one place that knows how an
 * element is coded. Floats below 32 bits are decoded and encoded from one table
 * of formats, so a new one is a row. Rounding is to nearest even, done on the
 * bits; NaN payloads survive a load and a store of the same type. What a type
 * cannot hold: beyond its range a float becomes its infinity or NaN, and the
 * largest value where it has neither (f4e2m1; its NaN becomes -0).
 */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

enum kind { KIND_NONE, KIND_F, KIND_I, KIND_U, KIND_B, KIND_C, KIND_S };

static const struct dtype_row {
    const char *name;
    uint32_t bits;
    enum kind kind;
} rows[] = {
    [HULL_NONE] = { "none", 0, KIND_NONE },
#define DTYPE(e, name, bits, kind) [e] = { name, bits, KIND_##kind },
#include "ir/dtypes.def"
#undef DTYPE
};

/* What the all-ones exponent and the negative zero mean. */
enum special {
    SPECIAL_IEEE, /* infinities and NaNs */
    SPECIAL_FN,   /* all ones is NaN, no infinity */
    SPECIAL_FNUZ, /* the code of -0 is NaN, no infinity */
    SPECIAL_NONE  /* finite values only */
};

typedef struct float_format {
    int ebits, mbits, bias;
    enum special special;
} float_format;

static const float_format formats[] = {
    [HULL_F64] = { 11, 52, 1023, SPECIAL_IEEE },
    [HULL_F32] = { 8, 23, 127, SPECIAL_IEEE },
    [HULL_F16] = { 5, 10, 15, SPECIAL_IEEE },
    [HULL_BF16] = { 8, 7, 127, SPECIAL_IEEE },
    [HULL_F8E4M3FN] = { 4, 3, 7, SPECIAL_FN },
    [HULL_F8E4M3FNUZ] = { 4, 3, 8, SPECIAL_FNUZ },
    [HULL_F8E5M2] = { 5, 2, 15, SPECIAL_IEEE },
    [HULL_F8E5M2FNUZ] = { 5, 2, 16, SPECIAL_FNUZ },
    [HULL_F4E2M1] = { 2, 1, 1, SPECIAL_NONE },
};

static const struct dtype_row *row_of(hull_dtype dt)
{
    uint32_t i = (uint32_t)dt;

    return &rows[i < COUNT_OF(rows) ? i : 0];
}

const char *hull_dtype_name(hull_dtype dt)
{
    return row_of(dt)->name;
}

uint32_t hull_dtype_bits(hull_dtype dt)
{
    return row_of(dt)->bits;
}

bool dtype_is_float(hull_dtype dt)
{
    return row_of(dt)->kind == KIND_F;
}

bool dtype_is_int(hull_dtype dt)
{
    return row_of(dt)->kind == KIND_I || row_of(dt)->kind == KIND_U;
}

bool dtype_is_unsigned(hull_dtype dt)
{
    return row_of(dt)->kind == KIND_U;
}

bool dtype_is_half(hull_dtype dt)
{
    return dt == HULL_F16 || dt == HULL_BF16;
}

bool dtype_is_byte(hull_dtype dt)
{
    return dt == HULL_U8 || dt == HULL_I8;
}

bool dtype_is_complex(hull_dtype dt)
{
    return row_of(dt)->kind == KIND_C;
}

hull_dtype dtype_from_name(str name)
{
    for (uint32_t i = 1; i < COUNT_OF(rows); i++)
        if (str_is(name, rows[i].name))
            return (hull_dtype)i;
    return HULL_NONE;
}

bool dtype_bytes(uint64_t *out, hull_dtype dt, uint64_t n)
{
    uint32_t bits = hull_dtype_bits(dt);

    *out = 0;
    if (bits >= 8)
        return mul_u64(out, n, bits / 8);
    if (bits > 0) /* 2 or 4: a part of a byte takes a whole one */
        *out = n / (8 / bits) + (n % (8 / bits) != 0);
    return bits > 0;
}

/* ---- which type holds which ---------------------------------------------- */

/* The set of values of a float type, as far as inclusion needs it. */
typedef struct value_set {
    int precision; /* significant bits */
    int min_exp;   /* the smallest positive value is 2^min_exp */
    double max;
    bool inf, nan, negative, zero, negative_zero;
} value_set;

static value_set set_of(hull_dtype dt)
{
    value_set s = { 1, -127, 0x1p127, false, true, false, false, false };
    const float_format *f;
    int top;

    if (dt == HULL_F8E8M0)
        return s;
    f = &formats[dt];
    s.precision = f->mbits + 1;
    s.min_exp = 1 - f->bias - f->mbits;
    top = (1 << f->ebits) - 1 - f->bias - (f->special == SPECIAL_IEEE);
    s.max = ldexp(2.0 - ldexp(1.0, -f->mbits), top);
    if (f->special == SPECIAL_FN) /* the last code is NaN */
        s.max = ldexp(2.0 - ldexp(1.0, 1 - f->mbits), top);
    s.inf = f->special == SPECIAL_IEEE;
    s.nan = f->special != SPECIAL_NONE;
    s.negative = s.zero = true;
    s.negative_zero = f->special != SPECIAL_FNUZ;
    return s;
}

static bool int_fits_float(hull_dtype from, hull_dtype to)
{
    value_set s = set_of(to);
    int bits = (int)hull_dtype_bits(from);
    bool is_signed = !dtype_is_unsigned(from);
    int magnitude = bits - is_signed;

    if (!s.zero || s.precision < magnitude)
        return false;
    return s.max >= ldexp(1.0, magnitude) - (is_signed ? 0.0 : 1.0);
}

static bool float_fits_float(hull_dtype from, hull_dtype to)
{
    value_set a = set_of(from), b = set_of(to);

    return a.precision <= b.precision && a.min_exp >= b.min_exp &&
           a.max <= b.max && a.inf <= b.inf && a.nan <= b.nan &&
           a.negative <= b.negative && a.zero <= b.zero &&
           a.negative_zero <= b.negative_zero;
}

bool dtype_widens(hull_dtype from, hull_dtype to)
{
    enum kind a = row_of(from)->kind, b = row_of(to)->kind;
    uint32_t from_bits = hull_dtype_bits(from), to_bits = hull_dtype_bits(to);

    if (a == KIND_NONE || b == KIND_NONE)
        return false;
    if (from == to)
        return true;
    if (b == KIND_C) {
        if (a == KIND_C)
            return from_bits <= to_bits;
        return dtype_widens(from, to == HULL_C64 ? HULL_F32 : HULL_F64);
    }
    if (a == KIND_C || b == KIND_B)
        return false;
    if (a == KIND_B)
        return to != HULL_F8E8M0;
    if (b == KIND_F)
        return a == KIND_F ? float_fits_float(from, to)
                           : int_fits_float(from, to);
    if (a == KIND_F)
        return false;
    if (a == b)
        return from_bits <= to_bits;
    return a == KIND_U && from_bits < to_bits;
}

/* ---- float codes --------------------------------------------------------- */

static double f64_of_bits(uint64_t u)
{
    double d;

    memcpy(&d, &u, sizeof(d));
    return d;
}

static uint64_t bits_of_f64(double d)
{
    uint64_t u;

    memcpy(&u, &d, sizeof(u));
    return u;
}

#define F64_NAN UINT64_C(0x7ff8000000000000)

static double decode(const float_format *f, uint64_t code)
{
    int width = 1 + f->ebits + f->mbits;
    uint64_t sign = code >> (width - 1) << 63;
    uint64_t m = code & ((UINT64_C(1) << f->mbits) - 1);
    int ones = (1 << f->ebits) - 1;
    int e = (int)(code >> f->mbits) & ones;
    double v;

    if (f->special == SPECIAL_IEEE && e == ones)
        return f64_of_bits(sign | UINT64_C(0x7ff) << 52 | m << (52 - f->mbits));
    if (f->special == SPECIAL_FN && e == ones &&
        m == (UINT64_C(1) << f->mbits) - 1)
        return f64_of_bits(sign | F64_NAN);
    if (f->special == SPECIAL_FNUZ && sign != 0 && e == 0 && m == 0)
        return f64_of_bits(F64_NAN);
    v = e == 0 ? ldexp((double)m, 1 - f->bias - f->mbits)
               : ldexp((double)(m | UINT64_C(1) << f->mbits),
                       e - f->bias - f->mbits);
    return f64_of_bits(sign | bits_of_f64(v));
}

static uint64_t encode_nan(const float_format *f, uint64_t u)
{
    int width = 1 + f->ebits + f->mbits;
    uint64_t sign = u >> 63 << (width - 1);
    uint64_t ones = ((UINT64_C(1) << f->ebits) - 1) << f->mbits;
    uint64_t all = (UINT64_C(1) << f->mbits) - 1;
    uint64_t m = (u >> (52 - f->mbits)) & all;

    switch (f->special) {
    case SPECIAL_IEEE:
        return sign | ones | (m ? m : UINT64_C(1) << (f->mbits - 1));
    case SPECIAL_FN:
        return sign | ones | all;
    case SPECIAL_FNUZ:
    case SPECIAL_NONE:
        break;
    }
    return UINT64_C(1) << (width - 1);
}

/* Beyond the largest finite value, whose code is `max`. */
static uint64_t encode_overflow(const float_format *f, uint64_t sign,
                                uint64_t max)
{
    int width = 1 + f->ebits + f->mbits;

    switch (f->special) {
    case SPECIAL_IEEE:
    case SPECIAL_FN:
        return sign | (max + 1); /* infinity, or the NaN */
    case SPECIAL_FNUZ:
        return UINT64_C(1) << (width - 1);
    case SPECIAL_NONE:
        break;
    }
    return sign | max;
}

static uint64_t max_code(const float_format *f)
{
    uint64_t all = (UINT64_C(1) << (f->ebits + f->mbits)) - 1;

    if (f->special == SPECIAL_IEEE)
        return all - (UINT64_C(1) << f->mbits);
    return f->special == SPECIAL_FN ? all - 1 : all;
}

/* significand >> shift, to nearest, ties to even; shift >= 1. */
static uint64_t round_shift(uint64_t m, int shift)
{
    uint64_t q, rest, half;

    if (shift > 63)
        return 0;
    q = m >> shift;
    rest = m & ((UINT64_C(1) << shift) - 1);
    half = UINT64_C(1) << (shift - 1);
    return q + (rest > half || (rest == half && (q & 1)));
}

static uint64_t encode(const float_format *f, double v)
{
    uint64_t u = bits_of_f64(v), m = u & ((UINT64_C(1) << 52) - 1), code;
    int width = 1 + f->ebits + f->mbits;
    uint64_t sign = u >> 63 << (width - 1);
    int e = (int)(u >> 52 & 0x7ff), biased, shift = 52 - f->mbits;

    if (e == 0x7ff && m != 0)
        return encode_nan(f, u);
    if (e == 0x7ff)
        return encode_overflow(f, sign, max_code(f));
    m |= e == 0 ? 0 : UINT64_C(1) << 52;
    biased = (e == 0 ? 1 : e) - 1023 + f->bias;
    if (biased < 1) /* subnormal: no hidden bit, one exponent */
        code = round_shift(m, shift + 1 - biased);
    else if (biased > 1 << f->ebits)
        return encode_overflow(f, sign, max_code(f));
    else /* a carry out of the rounding moves into the exponent */
        code = ((uint64_t)(biased - 1) << f->mbits) + round_shift(m, shift);
    if (code > max_code(f))
        return encode_overflow(f, sign, max_code(f));
    if (code == 0 && f->special == SPECIAL_FNUZ)
        return 0;
    return sign | code;
}

/* f8e8m0 holds powers of two only: zero becomes the smallest one. */
static uint64_t encode_e8m0(double v)
{
    int e;
    double m = frexp(v, &e); /* v = m * 2^e, m in [0.5, 1) */
    int64_t code = (int64_t)e - 1 + 127;

    if (isnan(v) || isinf(v) || v < 0.0)
        return 0xff;
    if (v < 0x1p-127)
        return 0;
    if (m > 0.75 || (m >= 0.75 && (code & 1)))
        code++;
    return code > 0xfe ? 0xff : (uint64_t)code;
}

static double load_f32(const void *p, uint64_t i)
{
    uint32_t u;
    float v;

    memcpy(&u, (const char *)p + 4 * i, 4);
    memcpy(&v, &u, 4);
    if (isnan(v)) /* the hardware would make it quiet */
        return decode(&formats[HULL_F32], u);
    return (double)v;
}

static void store_f32(void *p, uint64_t i, double v)
{
    uint32_t u;
    float x = (float)v;

    if (isnan(v))
        u = (uint32_t)encode_nan(&formats[HULL_F32], bits_of_f64(v));
    else
        memcpy(&u, &x, 4);
    memcpy((char *)p + 4 * i, &u, 4);
}

/* ---- raw elements -------------------------------------------------------- */

/* At most 64 bits: complex elements and strings are turned away before. */

static uint64_t load_bits(uint32_t bits, const void *p, uint64_t i)
{
    const uint8_t *b = p;
    uint64_t u = 0;

    if (bits < 8)
        return (b[i / (8 / bits)] >> (i % (8 / bits) * bits)) &
               ((1u << bits) - 1);
    memcpy(&u, b + i * (bits / 8), bits / 8);
    return u;
}

static void store_bits(uint32_t bits, void *p, uint64_t i, uint64_t u)
{
    uint8_t *b = p;

    if (bits < 8) {
        unsigned shift = (unsigned)(i % (8 / bits)) * bits;
        unsigned mask = (1u << bits) - 1;

        b += i / (8 / bits);
        *b = (uint8_t)((*b & ~(mask << shift)) | ((unsigned)u & mask) << shift);
        return;
    }
    memcpy(b + i * (bits / 8), &u, bits / 8);
}

static int64_t sign_extend(uint64_t u, uint32_t bits)
{
    unsigned shift = 64 - bits;

    return (int64_t)(u << shift) >> shift;
}

static int64_t i64_of_f64(double v)
{
    if (isnan(v))
        return 0;
    if (v >= 0x1p63)
        return INT64_MAX;
    return v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

double load_f64(hull_dtype dt, const void *p, uint64_t i)
{
    uint32_t bits = hull_dtype_bits(dt);
    uint64_t u;

    if (dt == HULL_F32)
        return load_f32(p, i);
    if (bits == 0 || bits > 64 || dtype_is_complex(dt))
        return 0.0;
    u = load_bits(bits, p, i);
    if (dt == HULL_F64)
        return f64_of_bits(u);
    if (dt == HULL_F8E8M0)
        return u == 0xff ? f64_of_bits(F64_NAN) : ldexp(1.0, (int)u - 127);
    if (dtype_is_float(dt))
        return decode(&formats[dt], u);
    if (dt == HULL_BOOL)
        return u != 0 ? 1.0 : 0.0;
    return dtype_is_unsigned(dt) ? (double)u : (double)sign_extend(u, bits);
}

int64_t load_i64(hull_dtype dt, const void *p, uint64_t i)
{
    uint32_t bits = hull_dtype_bits(dt);
    uint64_t u;

    if (dtype_is_float(dt))
        return i64_of_f64(load_f64(dt, p, i));
    if (bits == 0 || bits > 64 || dtype_is_complex(dt))
        return 0;
    u = load_bits(bits, p, i);
    if (dt == HULL_BOOL)
        return u != 0;
    return dtype_is_unsigned(dt) ? (int64_t)u : sign_extend(u, bits);
}

/* Truncates toward zero and saturates; NaN becomes 0. */
static uint64_t int_code(hull_dtype dt, double v)
{
    uint32_t bits = hull_dtype_bits(dt);
    double limit;
    int64_t x;

    if (isnan(v))
        return 0;
    if (dtype_is_unsigned(dt)) {
        limit = ldexp(1.0, (int)bits);
        if (v >= limit)
            return UINT64_MAX >> (64 - bits);
        return v <= 0.0 ? 0 : (uint64_t)v;
    }
    x = i64_of_f64(v);
    if (bits < 64) {
        int64_t max = (INT64_C(1) << (bits - 1)) - 1;

        x = x > max ? max : x < -max - 1 ? -max - 1 : x;
    }
    return (uint64_t)x;
}

void store_f64(hull_dtype dt, void *p, uint64_t i, double v)
{
    uint32_t bits = hull_dtype_bits(dt);

    if (dt == HULL_F32) {
        store_f32(p, i, v);
        return;
    }
    if (bits == 0 || bits > 64 || dtype_is_complex(dt))
        return;
    if (dt == HULL_F64)
        store_bits(64, p, i, bits_of_f64(v));
    else if (dt == HULL_F8E8M0)
        store_bits(8, p, i, encode_e8m0(v));
    else if (dtype_is_float(dt))
        store_bits(bits, p, i, encode(&formats[dt], v));
    else if (dt == HULL_BOOL)
        store_bits(8, p, i, v != 0.0);
    else
        store_bits(bits, p, i, int_code(dt, v));
}

/* To double; what does not fit sets the lowest bit ("round to odd"), so that
 * a later rounding to fewer bits is the rounding of v itself. */
static double f64_sticky(int64_t v)
{
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    double d;

    if (u >> 53 == 0)
        return (double)v;
    d = ldexp((double)(u >> 11 | ((u & 0x7ff) != 0)), 11);
    return v < 0 ? -d : d;
}

void store_i64(hull_dtype dt, void *p, uint64_t i, int64_t v)
{
    uint32_t bits = hull_dtype_bits(dt);

    if (bits == 0 || bits > 64 || dtype_is_complex(dt))
        return;
    if (dt == HULL_F64)
        store_f64(dt, p, i, (double)v);
    else if (dtype_is_float(dt))
        store_f64(dt, p, i, f64_sticky(v));
    else if (dt == HULL_BOOL)
        store_bits(8, p, i, v != 0);
    else
        store_bits(bits, p, i, (uint64_t)v);
}
