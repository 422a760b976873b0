/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_foreign.c - other devices and other machines: the simulated device
 * agrees with the reference, whatever it is tuned to under one key; modules
 * built for a target that is not here are rebuilt from their text.
 */
#include "guard.h"

#include <jansson.h>
#include <math.h>

static const char *const models[] = {
    DIGITS, "demo/digits.pt2", "mlp/dynamo.onnx", "cnn/train.pt2",
    "lstm/dynamo.onnx", "bert/train.pt2", "resnet/dynamo.onnx",
};

/* The i-th model that is here, else NULL. */
static const char *model_at(size_t i)
{
    return i < 2 ? models[i] : fixture(models[i]);
}

/* ---- facts --------------------------------------------------------------- */

/* Facts of a module as text: one field of its first block. */
static void block_fact(char out[128], hull_module *m, const char *field)
{
    char *text;
    json_t *j, *v;

    OK(hull_module_describe(&text, m));
    j = json_loads(text, 0, NULL);
    assert_non_null(j);
    v = json_object_get(json_array_get(json_object_get(j, "blocks"), 0),
                        field);
    if (json_is_boolean(v))
        snprintf(out, 128, "%s", json_is_true(v) ? "yes" : "no");
    else
        snprintf(out, 128, "%s", json_string_value(v));
    json_decref(j);
    hull_free(text);
}

/* Largest difference of the first output of two modules, by scale. */
static double difference(hull_module *a, hull_module *b)
{
    hull_tensor ya = {0}, yb = {0};
    hull_session *sa, *sb;
    double most = 0, scale = 1;
    guard_input in;

    guard_input_init(&in, a, 2);
    OK(hull_session_new(&sa, a, NULL));
    OK(hull_session_new(&sb, b, NULL));
    OK(hull_session_run(sa, in.t, in.n, &ya, 1));
    OK(hull_session_run(sb, in.t, in.n, &yb, 1));
    assert_int_equal(ya.dtype, HULL_F32);
    assert_true(tensor_bytes(&ya) == tensor_bytes(&yb));
    assert_true(tensor_bytes(&ya) > 0);
    for (size_t i = 0; i < tensor_bytes(&ya) / 4; i++) {
        double x = ((float *)ya.data)[i], y = ((float *)yb.data)[i];

        assert_true(isfinite(x));
        most = fmax(most, fabs(x - y));
        scale = fmax(scale, fabs(x));
    }
    hull_session_free(sa);
    hull_session_free(sb);
    guard_input_fini(&in);
    return most / scale;
}

/* ---- the simulated device ------------------------------------------------ */

static void sim_agrees_with_ref(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        const char *path = model_at(i);
        hull_module *ref, *sim;
        char *facts;
        double d;

        if (path == NULL)
            continue;
        ref = compile_of(path, NULL, "");
        sim = compile_of(path, NULL, "backends=sim,ref");
        OK(hull_module_describe(&facts, sim));
        assert_non_null(strstr(facts, "\"backend\":\"sim\""));
        hull_free(facts);
        d = difference(ref, sim);
        if (!(d < 1e-5))
            stop("%s: sim is %g from ref", path, d);
        hull_module_unref(ref);
        hull_module_unref(sim);
    }
}

static void sim_refits(void **state)
{
    hull_module *ref = compile_of(DIGITS, guard_epochs[0], "");
    hull_module *sim = compile_of(DIGITS, guard_epochs[0],
                                  "backends=sim,ref tile=4");
    uint64_t first;
    guard_input in;

    (void)state;
    guard_input_init(&in, sim, 2);
    first = module_sum(sim, &in);
    for (int i = 1; i < N_EPOCHS; i++) {
        OK(refit_of(ref, guard_epochs[i], "", NULL));
        OK(refit_of(sim, guard_epochs[i], "borrow=on", NULL));
        assert_true(difference(ref, sim) < 1e-5);
    }
    OK(refit_of(sim, guard_epochs[0], "", NULL));
    assert_true(module_sum(sim, &in) == first);
    guard_input_fini(&in);
    hull_module_unref(ref);
    hull_module_unref(sim);
}

/* With fallbacks the model is cut into blocks of two devices. */
static void blocks_of_two_devices_agree(void **state)
{
    hull_module *ref = compile_of(DIGITS, guard_epochs[0], "");
    hull_module *cut = compile_of(DIGITS, guard_epochs[0],
                                  "backends=sim,ref fallback=relu "
                                  "min_block=1");
    hull_session *s;
    guard_input in;
    uint64_t sum, first = 0;

    (void)state;
    assert_true(difference(ref, cut) < 1e-5);
    OK(refit_of(ref, guard_epochs[3], "", NULL));
    OK(refit_of(cut, guard_epochs[3], "", NULL));
    assert_true(difference(ref, cut) < 1e-5);
    guard_input_init(&in, cut, 3);
    OK(hull_session_new(&s, cut, NULL));
    for (int i = 0; i < 5; i++) { /* and the same each time */
        OK(run_sum(&sum, s, &in));
        assert_true(i == 0 || sum == first);
        first = sum;
    }
    hull_session_free(s);
    guard_input_fini(&in);
    hull_module_unref(ref);
    hull_module_unref(cut);
}

/* Nothing of a run is left in a queue when its set may go. */
static void runs_without_outputs_end_before_they_return(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "backends=sim,ref");
    hull_session *s;
    guard_input in;

    (void)state;
    guard_input_init(&in, m, 4);
    OK(hull_session_new(&s, m, NULL));
    for (int i = 0; i < 20; i++) {
        OK(hull_session_run(s, in.t, in.n, NULL, 0));
        OK(refit_of(m, guard_epochs[i % N_EPOCHS], "", NULL));
    }
    hull_session_free(s);
    guard_input_fini(&in);
    hull_module_unref(m);
}

/* ---- tuning -------------------------------------------------------------- */

static void tuning_is_not_in_the_key(void **state)
{
    char dir[256], keys[2][128], hit[2][128];
    hull_module *m[2];
    hull_options *o = options_of("backends=sim,ref");
    hull_cache *c;

    (void)state;
    snprintf(dir, sizeof dir, "%s", temp_path(".cache"));
    OK(hull_cache_open(&c, dir, NULL));
    for (int i = 0; i < 2; i++) {
        setenv("HULL_SIM_TUNE", i == 0 ? "0" : "1", 1);
        OK(hull_compile(&m[i], DIGITS, NULL, c, o));
        block_fact(keys[i], m[i], "key");
        block_fact(hit[i], m[i], "hit");
    }
    assert_string_equal(keys[0], keys[1]);
    assert_string_equal(hit[0], "no");
    assert_string_equal(hit[1], "yes");
    assert_true(difference(m[0], m[1]) == 0);
    hull_module_unref(m[1]);
    m[1] = compile_of(DIGITS, NULL, "backends=sim,ref"); /* really tuned */
    block_fact(keys[1], m[1], "key");
    assert_string_equal(keys[0], keys[1]);
    assert_true(difference(m[0], m[1]) < 1e-5);
    unsetenv("HULL_SIM_TUNE");
    hull_module_unref(m[0]);
    hull_module_unref(m[1]);
    hull_options_free(o);
    hull_cache_unref(c);
    remove_tree(dir);
}

/* ---- another machine's modules ------------------------------------------- */

/* What the target of this machine's cpu is not. */
static const char *other_level(void)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[1], "");
    char target[128];

    block_fact(target, m, "target");
    hull_module_unref(m);
    return strncmp(target, "cpu none", 8) == 0 ? "avx2" : "none";
}

static void loads_elsewhere(const char *backends, unsigned flags)
{
    bool sim = strstr(backends, "sim") != NULL;
    const char *other = sim ? "elsewhere" : other_level();
    char words[128];
    hull_module *m, *back;
    hull_options *o = options_of(backends);
    const char *path = temp_path(".hull");
    char target[128], here[128], rebuilt[128];
    guard_input in;
    uint64_t sum;

    snprintf(words, sizeof words, "%s%starget=%s", backends,
             sim ? " " : "", other);
    m = compile_of(DIGITS, guard_epochs[1], words);
    block_fact(target, m, "target");
    assert_non_null(strstr(target, other));
    guard_input_init(&in, m, 2);
    sum = module_sum(m, &in);
    OK(hull_module_save(m, path, flags));
    OK(hull_module_load(&back, path, NULL, NULL, o));
    block_fact(here, back, "target");
    block_fact(rebuilt, back, "rebuilt");
    assert_string_equal(rebuilt, "yes");
    assert_string_not_equal(here, target);
    assert_true(difference(back, m) < 1e-5);
    assert_true(!sim || module_sum(back, &in) == sum);
    OK(refit_of(back, guard_epochs[2], "", NULL));
    OK(refit_of(m, guard_epochs[2], "", NULL));
    assert_true(difference(back, m) < 1e-5);
    hull_module_unref(back);
    hull_module_unref(m);
    m = compile_of(DIGITS, guard_epochs[1], backends);
    sum = module_sum(m, &in);
    OK(hull_module_save(m, path, flags)); /* one from here is not rebuilt */
    OK(hull_module_load(&back, path, NULL, NULL, o));
    block_fact(rebuilt, back, "rebuilt");
    assert_string_equal(rebuilt, "no");
    assert_true(module_sum(back, &in) == sum);
    guard_input_fini(&in);
    hull_module_unref(back);
    hull_module_unref(m);
    hull_options_free(o);
    unlink(path);
}

static void foreign_modules_are_rebuilt(void **state)
{
    (void)state;
    loads_elsewhere("", HULL_SAVE_SOURCES);
    loads_elsewhere("backends=sim,ref",
                    HULL_SAVE_SOURCES);
}

/* The slots of another target are of no use; the sources are. */
static void foreign_slots_are_filled_again(void **state)
{
    (void)state;
    loads_elsewhere("", HULL_SAVE_SOURCES | HULL_SAVE_PREPARED);
    loads_elsewhere("backends=sim,ref",
                    HULL_SAVE_SOURCES | HULL_SAVE_PREPARED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sim_agrees_with_ref),
        cmocka_unit_test(sim_refits),
        cmocka_unit_test(blocks_of_two_devices_agree),
        cmocka_unit_test(runs_without_outputs_end_before_they_return),
        cmocka_unit_test(tuning_is_not_in_the_key),
        cmocka_unit_test(foreign_modules_are_rebuilt),
        cmocka_unit_test(foreign_slots_are_filled_again),
    };

    setenv("HULL_LOG", "all:error", 1); /* rebuilding is told as a warning */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
