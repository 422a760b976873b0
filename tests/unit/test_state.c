/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_state.c - buffers that a model mutates: carried by the session from run
 * to run, started from the checkpoint, back at its start after reset, untouched
 * by a refit until then. Expected values are PyTorch's (make_state.py).
 */
#include "unit.h"

#include <math.h>
#include <string.h>

#define MODEL "tests/data/state.pt2"

static const float expected[3][4] = {
    {1.06668353f, 0.446028113f, 1.9477098f, 1.31740451f},
    {1.13336706f, -0.107943773f, 2.89541960f, 1.63480902f},
    {1.20005059f, -0.661915660f, 3.84312940f, 1.95221353f},
};

static void check_run(hull_session *s, int step)
{
    float x[6];
    int64_t dims[2] = {2, 3};
    hull_tensor in = {.data = x, .shape = dims, .rank = 2, .dtype = HULL_F32};
    hull_tensor out = {0};
    const float *y;

    for (int i = 0; i < 6; i++)
        x[i] = (float)i / 3;
    assert_int_equal(hull_session_run(s, &in, 1, &out, 1), HULL_OK);
    assert_int_equal(out.rank, 1);
    assert_int_equal(out.shape[0], 4);
    y = out.data;
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(y[i] - expected[step][i]) < 1e-4f);
}

static void a_session_carries_state(void **state)
{
    const char *backends[] = {"ref", "sim"};
    hull_options *o;
    hull_module *m;
    hull_session *s, *other;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        assert_int_equal(hull_options_new(&o), HULL_OK);
        assert_int_equal(hull_options_set(o, "backends", backends[i]),
                         HULL_OK);
        assert_int_equal(hull_compile(&m, MODEL, NULL, NULL, o), HULL_OK);
        assert_int_equal(hull_module_n_inputs(m), 1);
        assert_int_equal(hull_module_n_outputs(m), 1);
        assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
        assert_int_equal(hull_session_new(&other, m, NULL), HULL_OK);
        check_run(s, 0);
        check_run(s, 1);
        check_run(other, 0); /* state is the session's, not the module's */
        check_run(s, 2);
        assert_int_equal(hull_session_reset(s), HULL_OK);
        check_run(s, 0);
        hull_session_free(s);
        hull_session_free(other);
        hull_module_unref(m);
        hull_options_free(o);
    }
}

static void add(hull_weights *w, const char *name, float *data, int64_t *dims,
                int32_t rank)
{
    hull_tensor t = {.data = data, .shape = dims, .rank = rank,
                     .dtype = HULL_F32};

    assert_int_equal(hull_weights_add(w, name, &t, NULL, NULL), HULL_OK);
}

/* A sequence is never a mix of two checkpoints. */
static void a_refit_waits_for_reset(void **state)
{
    float weight[12] = {0}, bias[4] = {1, 2, 3, 4}, acc[4] = {10, 10, 10, 10};
    int64_t w_dims[2] = {4, 3}, n[1] = {4}, dims[2] = {2, 3};
    float x[6] = {0};
    hull_tensor in = {.data = x, .shape = dims, .rank = 2, .dtype = HULL_F32};
    hull_tensor out = {0};
    hull_weights *w;
    hull_module *m;
    hull_session *s;

    (void)state;
    assert_int_equal(hull_compile(&m, MODEL, NULL, NULL, NULL), HULL_OK);
    assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
    check_run(s, 0);
    assert_int_equal(hull_weights_new(&w), HULL_OK);
    add(w, "fc.weight", weight, w_dims, 2);
    add(w, "fc.bias", bias, n, 1);
    add(w, "acc", acc, n, 1);
    assert_int_equal(hull_refit(m, w, NULL, NULL), HULL_OK);
    check_run(s, 1);
    assert_int_equal(hull_session_version(s), 1);
    assert_int_equal(hull_session_reset(s), HULL_OK);
    /* The caller's memory is not kept, so its first state is gone. */
    assert_int_equal(hull_session_run(s, &in, 1, &out, 1), HULL_EUNBOUND);
    hull_session_free(s);
    hull_module_unref(m);
    hull_weights_unref(w);
}

static void a_saved_module_starts_anew(void **state)
{
    const char *path = "build/test_state.hull";
    hull_module *m, *loaded;
    hull_session *s;

    (void)state;
    assert_int_equal(dir_make("build"), HULL_OK);
    assert_int_equal(hull_compile(&m, MODEL, NULL, NULL, NULL), HULL_OK);
    assert_int_equal(hull_module_save(m, path, HULL_SAVE_SOURCES), HULL_OK);
    assert_int_equal(hull_module_load(&loaded, path, NULL, NULL, NULL),
                     HULL_OK);
    assert_int_equal(hull_session_new(&s, loaded, NULL), HULL_OK);
    check_run(s, 0);
    check_run(s, 1);
    hull_session_free(s);
    hull_module_unref(loaded);
    hull_module_unref(m);
    remove(path);
}

/* Memory for an output that does not fit is refused before anything runs. */
static void the_callers_output_memory(void **state)
{
    float x[6] = {0}, y[4] = {7, 7, 7, 7};
    int64_t in_dims[2] = {2, 3}, dims[1] = {4}, other[1] = {3};
    hull_tensor in = {.data = x, .shape = in_dims, .rank = 2,
                      .dtype = HULL_F32};
    const hull_tensor good = {.data = y, .shape = dims, .rank = 1,
                              .dtype = HULL_F32};
    hull_tensor bad[5] = {good, good, good, good, good};
    hull_tensor out = good;
    hull_module *m;
    hull_session *s;

    (void)state;
    bad[0].shape = NULL;
    bad[1].shape = other;
    bad[2].rank = 0;
    bad[3].dtype = HULL_F64;
    bad[4].device = 1;
    assert_int_equal(hull_compile(&m, MODEL, NULL, NULL, NULL), HULL_OK);
    assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(hull_session_run(s, &in, 1, &bad[i], 1),
                         i < 4 ? HULL_ESHAPE : HULL_EUNSUPPORTED);
        assert_int_equal(hull_session_version(s), 0);
        assert_true(y[0] == 7);
    }
    assert_int_equal(hull_session_run(s, &in, 1, &out, 1), HULL_OK);
    assert_true(y[0] != 7 && out.data == y);
    hull_session_free(s);
    hull_module_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_carries_state),
        cmocka_unit_test(a_refit_waits_for_reset),
        cmocka_unit_test(a_saved_module_starts_anew),
        cmocka_unit_test(the_callers_output_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
