/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_torture.c - each n-th allocation fails, over compile, refit, sessions:
 * out of memory is told, nothing leaks, and a refit that failed leaves outputs
 * and version as they were. Then each kind of bad checkpoint, to the same end.
 */
#include "guard.h"

#include "weights/weights.h"

/* A walk ends when the n-th allocation is one that the work does not make.
 * Sanitizers are slow: there the walk takes longer steps after the first. */
static uint64_t next_n(uint64_t n)
{
    uint64_t fine = GUARD_SANITIZED ? 150 : 1500;

    return n < fine ? n + 1 : n + 1 + n / (GUARD_SANITIZED ? 40 : 100);
}

static void started(uint64_t *count, uint64_t n, bool once)
{
    *count = mem_count();
    mem_fail_at(n, once);
}

/* True when the failure was met; switches it off. */
static bool met(uint64_t count, uint64_t n)
{
    mem_fail_at(0, false);
    return mem_count() - count >= n;
}

static void check_oom(hull_status st, const char *what, uint64_t n)
{
    if (st == HULL_OK || st == HULL_ENOMEM)
        return;
    stop("%s, allocation %llu: %s: %s", what, (unsigned long long)n,
             hull_status_name(st), hull_last_error());
}

static uint64_t sum_of_epoch(const char *epoch)
{
    hull_module *m = compile_of(DIGITS, epoch, "threads=1");
    guard_input in;
    uint64_t sum;

    guard_input_init(&in, m, 2);
    sum = module_sum(m, &in);
    guard_input_fini(&in);
    hull_module_unref(m);
    return sum;
}

/* ---- compile ------------------------------------------------------------- */

typedef struct compile_case {
    const char *model, *weights, *words;
    bool with_cache;
} compile_case;

static hull_status try_compile(hull_module **out, const compile_case *c)
{
    hull_options *o = NULL;
    hull_weights *w = NULL;
    hull_cache *cache = NULL;
    hull_status st;

    *out = NULL;
    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_options_set(o, "threads", "1"));
    TRY_OUT(hull_options_set(o, "strip_weights",
                             c->words != NULL ? c->words : "off"));
    if (c->weights != NULL)
        TRY_OUT(hull_weights_open(&w, c->weights));
    if (c->with_cache)
        TRY_OUT(hull_cache_open(&cache, getenv("HULL_CACHE_DIR"), o));
    st = hull_compile(out, c->model, w, cache, o);
out:
    hull_cache_unref(cache);
    hull_weights_unref(w);
    hull_options_free(o);
    return st;
}

static void walk_compile(const compile_case *c, bool once)
{
    hull_module *m;
    guard_input in;
    uint64_t want, n;

    OK(try_compile(&m, c)); /* what stays for the process is there now */
    guard_input_init(&in, m, 2);
    want = c->words == NULL ? module_sum(m, &in) : 0;
    hull_module_unref(m);
    for (n = 1;; n = next_n(n)) {
        int64_t live = mem_live();
        uint64_t count;
        hull_status st;
        bool failed;

        started(&count, n, once);
        st = try_compile(&m, c);
        failed = met(count, n);
        check_oom(st, c->model, n);
        if (st == HULL_OK && c->words == NULL)
            assert_true(module_sum(m, &in) == want);
        if (st != HULL_OK)
            assert_null(m);
        hull_module_unref(m);
        if (mem_live() != live)
            stop("%s: allocation %llu: %lld allocations leak", c->model,
                     (unsigned long long)n, (long long)(mem_live() - live));
        if (!failed) {
            assert_int_equal(st, HULL_OK);
            break;
        }
    }
    assert_true(n > 100);
    guard_input_fini(&in);
}

static void compile_survives_failed_allocations(void **state)
{
    (void)state;
    walk_compile(&(compile_case){DIGITS, guard_epochs[0], NULL, false}, true);
}

static void compile_survives_memory_that_stays_away(void **state)
{
    (void)state;
    walk_compile(&(compile_case){DIGITS, NULL, NULL, false}, false);
}

static void pt2_compile_survives_failed_allocations(void **state)
{
    (void)state;
    walk_compile(&(compile_case){"demo/digits.pt2", NULL, NULL, false}, true);
}

static void compile_with_a_cache_survives(void **state)
{
    char dir[256];

    (void)state;
    snprintf(dir, sizeof dir, "%s", temp_path(".cache"));
    setenv("HULL_CACHE_DIR", dir, 1);
    walk_compile(&(compile_case){DIGITS, guard_epochs[0], NULL, true}, true);
    walk_compile(&(compile_case){DIGITS, NULL, "on", true}, false);
    remove_tree(dir);
}

/* ---- refit --------------------------------------------------------------- */

static hull_status try_refit(hull_module *m, const char *path)
{
    hull_weights *w = NULL;
    hull_options *o = NULL;
    hull_status st;

    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_weights_open(&w, path));
    st = hull_refit(m, w, o, NULL);
out:
    hull_weights_unref(w);
    hull_options_free(o);
    return st;
}

/* fresh: a new module for each n, so that its fill plan is made each time. */
static void walk_refit(bool fresh, bool once)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    uint64_t sums[2] = {sum_of_epoch(guard_epochs[0]),
                        sum_of_epoch(guard_epochs[1])};
    int64_t live = mem_live();
    guard_input in;
    bool failed = true;

    assert_true(sums[0] != sums[1]);
    guard_input_init(&in, m, 2);
    for (uint64_t n = 1; failed; n = next_n(n)) {
        uint64_t count, version;
        hull_status st;

        if (fresh) {
            hull_module_unref(m);
            m = compile_of(DIGITS, guard_epochs[0], "threads=1");
        } else {
            OK(try_refit(m, guard_epochs[0]));
        }
        version = hull_module_version(m);
        started(&count, n, once);
        st = try_refit(m, guard_epochs[1]);
        failed = met(count, n);
        check_oom(st, "refit", n);
        assert_true(module_sum(m, &in) == sums[st == HULL_OK]);
        assert_true(hull_module_version(m) == version + (st == HULL_OK));
        if (!failed)
            assert_int_equal(st, HULL_OK);
    }
    guard_input_fini(&in);
    hull_module_unref(m);
    m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    assert_true(mem_live() == live);
    hull_module_unref(m);
}

static void first_refit_survives_failed_allocations(void **state)
{
    (void)state;
    walk_refit(true, true);
}

static void refit_survives_failed_allocations(void **state)
{
    (void)state;
    walk_refit(false, true);
    walk_refit(false, false);
}

/* From a model file: imported again, so there is more that can fail. */
static void model_refit_survives_failed_allocations(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[1], "threads=1");
    uint64_t sums[2];
    guard_input in;
    bool failed = true;

    (void)state;
    guard_input_init(&in, m, 2);
    sums[0] = module_sum(m, &in);
    OK(hull_refit_model(m, DIGITS, NULL, NULL));
    sums[1] = module_sum(m, &in);
    assert_true(sums[0] != sums[1]);
    for (uint64_t n = 1; failed; n = next_n(n)) {
        uint64_t count, version;
        hull_status st;

        OK(try_refit(m, guard_epochs[1]));
        version = hull_module_version(m);
        started(&count, n, true);
        st = hull_refit_model(m, DIGITS, NULL, NULL);
        failed = met(count, n);
        check_oom(st, "refit from a model", n);
        assert_true(module_sum(m, &in) == sums[st == HULL_OK]);
        assert_true(hull_module_version(m) == version + (st == HULL_OK));
    }
    guard_input_fini(&in);
    hull_module_unref(m);
}

static void explain_survives_failed_allocations(void **state)
{
    bool failed = true;
    char *text, *want;

    (void)state;
    OK(hull_explain(&want, DIGITS, NULL, NULL, NULL, 0));
    for (uint64_t n = 1; failed; n = next_n(n)) {
        int64_t live = mem_live();
        uint64_t count;
        hull_status st;

        started(&count, n, true);
        st = hull_explain(&text, DIGITS, NULL, NULL, NULL, 0);
        failed = met(count, n);
        check_oom(st, "explain", n);
        if (st == HULL_OK)
            assert_string_equal(text, want);
        hull_free(text);
        assert_true(mem_live() == live);
    }
    hull_free(want);
}

/* ---- sessions ------------------------------------------------------------ */

static void sessions_survive_failed_allocations(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    guard_input in;
    uint64_t want;
    bool failed = true;

    (void)state;
    guard_input_init(&in, m, 3);
    want = module_sum(m, &in);
    for (uint64_t n = 1; failed; n = next_n(n)) {
        int64_t live = mem_live();
        hull_session *s = NULL;
        uint64_t count, sum = 0;
        hull_status st;

        started(&count, n, n % 2 == 0);
        st = hull_session_new(&s, m, NULL);
        if (st == HULL_OK)
            st = run_sum(&sum, s, &in);
        failed = met(count, n);
        check_oom(st, "session", n);
        if (st == HULL_OK)
            assert_true(sum == want);
        if (s != NULL) { /* one that failed once works the next time */
            OK(run_sum(&sum, s, &in));
            assert_true(sum == want);
        }
        hull_session_free(s);
        assert_true(mem_live() == live);
    }
    guard_input_fini(&in);
    hull_module_unref(m);
}

/* ---- bad checkpoints ----------------------------------------------------- */

/* The tensors of epoch 2, to be spoiled and written. */
typedef struct spoiled {
    hull_weights *w;
    safetensors_item items[64];
    size_t n;
} spoiled;

static void spoiled_init(spoiled *s)
{
    OK(hull_weights_open(&s->w, guard_epochs[1]));
    s->n = weights_count(s->w);
    assert_in_range(s->n, 10, 60);
    for (size_t i = 0; i < s->n; i++) {
        const weight_entry *e = weights_at(s->w, i);

        s->items[i] = (safetensors_item){
            .name = e->name, .dtype = e->dtype, .rank = e->rank,
            .shape = e->shape, .data = weights_view(s->w, e), .len = e->len};
    }
}

static safetensors_item *spoiled_item(spoiled *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_is(s->items[i].name, name))
            return &s->items[i];
    stop("no tensor '%s'", name);
    return NULL;
}

static void spoiled_drop(spoiled *s, const char *name)
{
    safetensors_item *item = spoiled_item(s, name);

    *item = s->items[--s->n];
}

/* Refits with what was written; the module must stay as it was. */
static void refuse(spoiled *s, hull_status want, const char *const *texts)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    const char *path = temp_path(".safetensors");
    uint64_t before;
    guard_input in;

    guard_input_init(&in, m, 2);
    before = module_sum(m, &in);
    OK(safetensors_write(path, s->items, s->n));
    WANT(refit_of(m, path, "", NULL), want);
    for (; *texts != NULL; texts++)
        if (strstr(hull_last_error(), *texts) == NULL)
            stop("'%s' is not in: %s", *texts, hull_last_error());
    assert_true(module_sum(m, &in) == before);
    assert_int_equal(hull_module_version(m), 1);
    OK(try_refit(m, guard_epochs[1])); /* and takes the next good one */
    assert_true(module_sum(m, &in) != before);
    unlink(path);
    guard_input_fini(&in);
    hull_module_unref(m);
    hull_weights_unref(s->w);
}

static void a_missing_tensor_is_named(void **state)
{
    spoiled s;

    (void)state;
    spoiled_init(&s);
    spoiled_drop(&s, "fc2.weight");
    spoiled_drop(&s, "bn1.running_var");
    refuse(&s, HULL_EBIND,
           (const char *const[]){"fc2.weight", "bn1.running_var", NULL});
}

static void an_unexpected_tensor_is_named(void **state)
{
    spoiled s;

    (void)state;
    spoiled_init(&s);
    s.items[s.n] = *spoiled_item(&s, "fc2.bias");
    s.items[s.n++].name = str_of("fc3.bias");
    refuse(&s, HULL_EBIND, (const char *const[]){"fc3.bias", NULL});
}

static void a_wrong_shape_is_named(void **state)
{
    static const int64_t turned[] = {32, 10};
    spoiled s;

    (void)state;
    spoiled_init(&s);
    spoiled_item(&s, "fc2.weight")->shape = turned;
    refuse(&s, HULL_EBIND,
           (const char *const[]){"fc2.weight", "32", "10", NULL});
}

static void a_wrong_dtype_is_named(void **state)
{
    spoiled s;

    (void)state;
    spoiled_init(&s);
    spoiled_item(&s, "fc2.bias")->dtype = HULL_I32;
    refuse(&s, HULL_EBIND,
           (const char *const[]){"fc2.bias", "i32", "f32", NULL});
}

static void all_problems_are_named_together(void **state)
{
    static const int64_t turned[] = {32, 10};
    spoiled s;

    (void)state;
    spoiled_init(&s);
    spoiled_item(&s, "fc2.weight")->shape = turned;
    spoiled_item(&s, "fc2.bias")->dtype = HULL_I32;
    spoiled_drop(&s, "conv1.weight");
    s.items[s.n] = *spoiled_item(&s, "fc1.bias");
    s.items[s.n++].name = str_of("extra.bias");
    refuse(&s, HULL_EBIND,
           (const char *const[]){"fc2.weight", "fc2.bias", "conv1.weight",
                                 "extra.bias", NULL});
}

static void a_truncated_file_is_refused(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    const char *path = temp_path(".safetensors");
    hull_weights *w;
    uint64_t before;
    guard_input in;

    (void)state;
    guard_input_init(&in, m, 2);
    before = module_sum(m, &in);
    copy_file(path, guard_epochs[1]);
    OK(hull_weights_open(&w, path)); /* truncated after it was opened */
    assert_int_equal(truncate(path, 20000), 0);
    assert_int_not_equal(hull_refit(m, w, NULL, NULL), HULL_OK);
    hull_weights_unref(w);
    WANT(refit_of(m, path, "", NULL), HULL_EFORMAT); /* and before */
    assert_true(module_sum(m, &in) == before);
    assert_int_equal(hull_module_version(m), 1);
    unlink(path);
    guard_input_fini(&in);
    hull_module_unref(m);
}

static void another_architecture_is_refused(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    uint64_t before;
    guard_input in;

    (void)state;
    guard_input_init(&in, m, 2);
    before = module_sum(m, &in);
    WANT(hull_refit_model(m, "demo/digits.pt2", NULL, NULL), HULL_EBIND);
    assert_non_null(strstr(hull_last_error(), "another architecture"));
    WANT(hull_refit_model(m, guard_epochs[1], NULL, NULL),
         HULL_EUNSUPPORTED);
    WANT(hull_refit_model(m, "demo/absent.onnx", NULL, NULL),
         HULL_ENOTFOUND);
    assert_true(module_sum(m, &in) == before);
    assert_int_equal(hull_module_version(m), 1);
    guard_input_fini(&in);
    hull_module_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compile_survives_failed_allocations),
        cmocka_unit_test(compile_survives_memory_that_stays_away),
        cmocka_unit_test(pt2_compile_survives_failed_allocations),
        cmocka_unit_test(compile_with_a_cache_survives),
        cmocka_unit_test(first_refit_survives_failed_allocations),
        cmocka_unit_test(refit_survives_failed_allocations),
        cmocka_unit_test(model_refit_survives_failed_allocations),
        cmocka_unit_test(explain_survives_failed_allocations),
        cmocka_unit_test(sessions_survive_failed_allocations),
        cmocka_unit_test(a_missing_tensor_is_named),
        cmocka_unit_test(an_unexpected_tensor_is_named),
        cmocka_unit_test(a_wrong_shape_is_named),
        cmocka_unit_test(a_wrong_dtype_is_named),
        cmocka_unit_test(all_problems_are_named_together),
        cmocka_unit_test(a_truncated_file_is_refused),
        cmocka_unit_test(another_architecture_is_refused),
    };

    /* Thousands of failures are on purpose here: no lines about them. */
    setenv("HULL_LOG", "all:error", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
