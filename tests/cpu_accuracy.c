/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cpu_accuracy.c - the cpu backend's functions of one f32 against the C
 * library's in double, over all signs and exponents with MANTISSAS mantissas
 * each, at every level that the machine has. Prints the largest error in units
 * of the last place of the true result (denormal results count in units of the
 * smallest float) and the largest absolute error, and fails above the bounds;
 * docs/performance.md shows the numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"

#define MANTISSAS 4099 /* a prime: no pattern of bits */

typedef struct function {
    const char *what;
    double (*exact)(double x);
    double ulp;  /* bound where |result| >= floor */
    double floor;
    double absolute; /* bound everywhere */
} function;

static double f_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double f_silu(double x) { return x / (1 + exp(-x)); }
static double f_rsqrt(double x) { return 1 / sqrt(x); }
static double f_elu(double x) { return x > 0 ? x : expm1(x); }
static double f_gelu(double x)
{
    return 0.5 * x * erfc(-x * 0.70710678118654752440);
}
static double f_gelu_tanh(double x)
{
    double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);

    return x / (1 + exp(-2 * u));
}
static double f_softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* Where a bound in ulp cannot hold, results below `floor` are bound by their
 * absolute error alone. */
static const function functions[] = {
    {"exp %x", exp, 1.5, 0, INFINITY},
    {"expm1 %x", expm1, 2.5, 0, INFINITY},
    {"log %x", log, 2, 0, INFINITY},
    {"sqrt %x", sqrt, 0.51, 0, INFINITY},
    {"rsqrt %x", f_rsqrt, 1.5, 0, INFINITY},
    {"sin %x", sin, 2, 0, 1e-7},
    {"cos %x", cos, 2, 0, 1e-7},
    {"tanh %x", tanh, 2, 0, 1e-6},
    {"erf %x", erf, 2, 0, 1e-6},
    {"sigmoid %x", f_sigmoid, 3, 1e-37, 1e-6},
    {"silu %x", f_silu, 4, 1e-36, INFINITY},
    {"gelu %x", f_gelu, 8, 1e-3, INFINITY},
    {"gelu %x {tanh=true}", f_gelu_tanh, 12, 1e-2, INFINITY},
    {"softplus %x", f_softplus, 3, 0, INFINITY},
    {"elu %x", f_elu, 2.5, 0, INFINITY},
};

/* Distance of neighbouring floats at v. */
static double unit_at(double v)
{
    int e;

    if (fabs(v) < 0x1p-126)
        return 0x1p-149;
    frexp(v, &e);
    return ldexp(1, e - 24);
}

static float *all_values(size_t *n)
{
    float *x;
    size_t k = 0;

    *n = (size_t)2 * 256 * MANTISSAS;
    x = malloc(*n * sizeof *x);
    for (uint32_t e = 0; x != NULL && e < 512; e++)
        for (uint32_t i = 0; i < MANTISSAS; i++) {
            uint32_t bits = e << 23 | (i * 2046u + (i & 1u) * 977u) % 0x800000u;

            memcpy(&x[k++], &bits, sizeof bits);
        }
    return x;
}

static bool measure(const function *f, const cpu_kernel *k, const float *x,
                    const float *y, size_t n)
{
    double worst = 0, far = 0, at = 0;
    size_t wrong = 0;
    bool ok;

    for (size_t i = 0; i < n; i++) {
        double want = f->exact((double)x[i]), rounded = (double)(float)want;
        double off;

        if (isnan(rounded) || isinf(rounded) || isnan(y[i]) || isinf(y[i])) {
            /* the largest float and infinity are neighbours */
            if (isnan(rounded) != isnan(y[i]) ||
                (!isnan(rounded) && rounded != (double)y[i] &&
                 fabs(want) < 0x1.fffffcp127))
                wrong++;
            continue;
        }
        off = fabs((double)y[i] - want);
        if (fabs(want) >= f->floor && off / unit_at(want) > worst) {
            worst = off / unit_at(want);
            at = (double)x[i];
        }
        if (off > far && fabs(want) < 16)
            far = off;
    }
    ok = wrong == 0 && worst <= f->ulp && far <= f->absolute;
    printf("%-20s %-20s %6.2f ulp (at %.9g)  %.1e absolute below 16%s\n",
           k->k.name, f->what, worst, at, far, ok ? "" : "  FAILED");
    if (wrong > 0)
        printf("  %zu NaN or infinities where there should be none, or the "
               "other way round\n", wrong);
    return ok;
}

static hull_status check(const function *f, cpu_level level, float *x,
                         float *y, size_t n, unsigned *passed,
                         unsigned *failed)
{
    char text[256];
    tensor in = {.dtype = HULL_F32, .rank = 1, .shape = {(int64_t)n}}, out;
    arena scratch = {0};
    eval_ctx cx = {.scratch = &scratch};
    ir *m = NULL;

    snprintf(text, sizeof text,
             "graph @t(%%x: f32[%zu]) {\n  %%r = %s\n  return %%r\n}\n", n,
             f->what);
    TRY(ir_parse(&m, str_of(text), NULL));
    out = in;
    in.data = x;
    out.data = y;
    for (size_t i = 0; i < cpu_n_kernels; i++) {
        const cpu_kernel *k = &cpu_kernels[i];
        const node *one = m->graphs[0]->body->first;

        if (k->op != one->op || k->level > level ||
            !k->takes(m->graphs[0], one))
            continue;
        if (k->k.run(&cx, one, &in, &out) == HULL_OK &&
            measure(f, k, x, y, n))
            ++*passed;
        else
            ++*failed;
    }
    arena_fini(&scratch);
    ir_free(m);
    return HULL_OK;
}

int main(void)
{
    unsigned passed = 0, failed = 0;
    cpu_features has;
    size_t n;
    float *x = all_values(&n), *y = malloc(n * sizeof *y);

    if (x == NULL || y == NULL || cpu_features_get(&has) != HULL_OK) {
        printf("cpu_accuracy: %s\n", error_text());
        failed = 1;
    } else {
        for (size_t i = 0; i < COUNT_OF(functions); i++)
            if (check(&functions[i], has.level, x, y, n, &passed, &failed) !=
                HULL_OK) {
                printf("%s: %s\n", functions[i].what, error_text());
                failed++;
            }
    }
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    free(x);
    free(y);
    return failed == 0 ? 0 : 1;
}
