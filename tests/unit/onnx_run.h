/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_run.h - imports models of onnx_maker.h, runs them with the reference
 * kernels, compares. Includes cmocka.h, so it is the last include.
 */
#ifndef TEST_ONNX_RUN_H
#define TEST_ONNX_RUN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "front/front.h"
#include "graph_eval.h"
#include "onnx_maker.h"

/* Last: it has a macro named fail. */
#include <cmocka.h>

static inline hull_status import_maker(maker *m, front_model **out)
{
    char path[64];

    maker_write(m, path);
    assert_true(path[0] != 0);
    hull_status st = front_import(out, path, NULL);
    unlink(path);
    return st;
}

static inline front_model *must_import(maker *m)
{
    front_model *fm = NULL;
    hull_status st = import_maker(m, &fm);

    if (st != HULL_OK)
        print_message("%s\n", error_text());
    assert_int_equal(st, HULL_OK);
    return fm;
}

static inline void must_refuse(maker *m, hull_status want, const char *text)
{
    front_model *fm = NULL;
    hull_status st = import_maker(m, &fm);

    assert_null(fm);
    if (st != want || !strstr(error_text(), text))
        print_message("got %d: %s\n", (int)st, error_text());
    assert_int_equal(st, want);
    assert_non_null(strstr(error_text(), text));
}

static inline tensor f32_input(const float *p, uint32_t rank,
                               const int64_t *shape)
{
    tensor t = {.dtype = HULL_F32, .rank = rank, .data = (void *)(uintptr_t)p};

    memcpy(t.shape, shape, rank * sizeof *shape);
    return t;
}

/* Imports, runs on one input, compares the one f32 result. */
static inline void check_run(maker *m, tensor in, uint32_t rank,
                             const int64_t *shape, const float *want)
{
    front_model *fm = must_import(m);
    graph_run r = {0};
    tensor out = {0};

    hull_status st = graph_run_eval(&r, fm->g, fm->native, &in, &out);
    if (st != HULL_OK)
        print_message("%s\n", error_text());
    assert_int_equal(st, HULL_OK);
    assert_int_equal(out.rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        assert_int_equal(out.shape[i], shape[i]);
    for (int64_t i = 0; i < tensor_numel(&out); i++) {
        double got = load_f64(out.dtype, out.data, (uint64_t)i);
        if (!(fabs(got - (double)want[i]) <= 1e-6))
            print_message("element %d: got %g, want %g\n", (int)i, got,
                          (double)want[i]);
        assert_true(fabs(got - (double)want[i]) <= 1e-6);
    }
    graph_run_fini(&r);
    front_free(fm);
}

static inline maker model_of(int64_t opset, const int64_t *dims, size_t rank)
{
    maker m = maker_new(opset);

    put_value(&m.graph, 11, "x", 1, dims, rank);
    put_value(&m.graph, 12, "y", 1, dims, rank);
    return m;
}

static const int64_t shape_2x3[2] = {2, 3};
static const float data_6[6] = {1, 2, 3, 4, 5, 6};

#endif
