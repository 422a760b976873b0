/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_module_file.c - modules that are saved run as before when they are
 * loaded, from sources, from slots or from a linked checkpoint; foreign ones
 * are rebuilt; without memory nothing is left behind.
 */
#include "module_unit.h"

/* ---- saved and loaded ---------------------------------------------------- */

static void check_round_trip(unsigned flags, const char *ckpt)
{
    module *m = filled(), *loaded, *again;
    answer before = answer_of(m), after;

    OK(module_save(m, at("m.hull"), flags));
    module_unref(m);
    OK(load_with(&loaded, at("m.hull"), ckpt, ""));
    assert_int_equal(module_version(loaded), 1);
    after = answer_of(loaded);
    same(&before, &after);
    if ((flags & HULL_SAVE_LINK) == 0) { /* over the file that it maps */
        OK(module_save(loaded, at("m.hull"), flags));
        OK(load_with(&again, at("m.hull"), NULL, ""));
        after = answer_of(again);
        same(&before, &after);
        module_unref(again);
    }
    after = answer_of(loaded);
    same(&before, &after);
    OK(refit_with(loaded, "b.safetensors", "", NULL));
    after = answer_of(loaded);
    assert_memory_not_equal(&before, &after, sizeof before);
    OK(refit_with(loaded, "a.safetensors", "", NULL));
    after = answer_of(loaded);
    same(&before, &after);
    module_unref(loaded);
}

static void test_round_trips(void **state)
{
    (void)state;
    check_round_trip(HULL_SAVE_SOURCES, NULL);
    check_round_trip(HULL_SAVE_PREPARED, NULL);
    check_round_trip(HULL_SAVE_SOURCES | HULL_SAVE_PREPARED, NULL);
    check_round_trip(HULL_SAVE_LINK, "a.safetensors");
    check_round_trip(HULL_SAVE_LINK | HULL_SAVE_PREPARED, "a.safetensors");
    check_round_trip(HULL_SAVE_LINK | HULL_SAVE_PREPARED | HULL_SAVE_SOURCES,
                     "a.safetensors");
}

static void test_plan_survives(void **state)
{
    module *m = filled(), *l;
    const plan *p, *q;

    (void)state;
    OK(module_save(m, at("m.hull"), 0));
    OK(load_with(&l, at("m.hull"), NULL, ""));
    p = module_plan(m);
    q = module_plan(l);
    assert_int_equal(p->n_blocks, q->n_blocks);
    assert_true(str_eq(p->imported, q->imported));
    assert_true(str_eq(p->producer, q->producer));
    assert_string_equal(p->input_info[0].type_text,
                        q->input_info[0].type_text);
    assert_string_equal(q->input_info[0].name, "x");
    assert_int_equal(p->n_fallbacks, q->n_fallbacks);
    assert_true(p->n_fallbacks > 0);
    assert_true(str_is(q->unread[0], "steps"));
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        assert_true(str_eq(p->blocks[i].text, q->blocks[i].text));
        assert_true(str_eq(p->blocks[i].backend, q->blocks[i].backend));
        assert_true(digest_eq(&p->blocks[i].e->key, &q->blocks[i].e->key));
        assert_false(q->blocks[i].rebuilt);
    }
    assert_int_equal(q->holes[0].n_recipes, 1);
    assert_int_equal(q->holes[2].n_names, 2);
    for (uint32_t i = 0; i < q->n_holes; i++)
        if (str_is(q->holes[i].name, "k"))
            assert_memory_equal(q->holes[i].kept_value,
                                ((const float[]){0.5f, 1, 1.5f}), 12);
    module_unref(m);
    module_unref(l);
}

static void test_stripped(void **state)
{
    module *m = filled(), *l;
    const plan *p = module_plan(m);
    uint64_t texts = p->imported.n + 12;
    answer before = answer_of(m), after;
    size_t n;

    (void)state;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        texts += p->blocks[i].text.n;
    OK(module_save(m, at("m.hull"), 0));
    mem_free(slurp(at("m.hull"), &n));
    assert_true(n <= texts + 64 * 1024);
    module_unref(m);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_int_equal(module_version(l), 0);
    assert_int_equal(run_module(&after, l), HULL_EUNBOUND);
    assert_non_null(strstr(error_text(), "fc1.bias"));
    assert_int_equal(module_save(l, at("n.hull"), HULL_SAVE_SOURCES),
                     HULL_EUNBOUND);
    assert_int_equal(module_save(l, at("n.hull"), 64), HULL_EINVAL);
    OK(refit_with(l, "a.safetensors", "", NULL));
    after = answer_of(l);
    same(&before, &after);
    module_unref(l);
    OK(load_with(&l, at("m.hull"), "a.safetensors", "")); /* nothing linked */
    after = answer_of(l);
    same(&before, &after);
    module_unref(l);
}

static void test_link(void **state)
{
    module *m = filled(), *l;
    answer a;

    (void)state;
    OK(module_save(m, at("m.hull"), HULL_SAVE_LINK));
    assert_int_equal(load_with(&l, at("m.hull"), "b.safetensors", ""),
                     HULL_EBIND);
    assert_null(l);
    assert_non_null(strstr(error_text(), "a.safetensors"));
    log_lines = 0;
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_int_equal(log_lines, 1);
    assert_int_equal(run_module(&a, l), HULL_EUNBOUND);
    module_unref(l);
    /* Sources that lie in a module file are no checkpoint. */
    OK(module_save(m, at("m.hull"), HULL_SAVE_SOURCES));
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_int_equal(module_save(l, at("n.hull"), HULL_SAVE_LINK),
                     HULL_EINVAL);
    module_unref(l);
    module_unref(m);
}

static void test_no_sources(void **state)
{
    module *m = compiled(""), *l;
    answer before, after;

    (void)state;
    OK(refit_with(m, "a.safetensors", "keep_sources=off", NULL));
    before = answer_of(m);
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_SOURCES),
                     HULL_EINVAL);
    assert_non_null(strstr(error_text(), "keep_sources=on"));
    assert_int_equal(access(at("n.hull"), F_OK), -1);
    OK(module_save(m, at("m.hull"), HULL_SAVE_PREPARED));
    OK(load_with(&l, at("m.hull"), NULL, ""));
    after = answer_of(l);
    same(&before, &after);
    /* Nothing to take the missing half from. */
    assert_int_equal(refit_with(l, "half.safetensors", "allow_missing=on",
                                NULL), HULL_EBIND);
    module_unref(l);
    module_unref(m);
}

/* A caller's tensors are gone once the refit is over. */
static void test_lent_memory(void **state)
{
    static const int64_t s1[] = {11, 5}, s2[] = {11}, s3[] = {3, 11};
    static float data[55];
    const struct { const char *name; const int64_t *shape; int32_t rank; }
        t[] = {{"fc1.weight", s1, 2}, {"fc1.bias", s2, 1},
               {"fc2.weight", s3, 2}};
    module *m = compiled("");
    weights *w;

    (void)state;
    OK(weights_new(&w, WEIGHTS_MEMORY));
    for (size_t i = 0; i < COUNT_OF(t); i++)
        OK(weights_add_tensor(w, str_of(t[i].name),
                              &(hull_tensor){.data = data,
                                             .shape = t[i].shape,
                                             .rank = t[i].rank,
                                             .dtype = HULL_F32}, NULL, NULL));
    OK(module_refit(m, w, NULL, NULL));
    weights_unref(w);
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_SOURCES),
                     HULL_EINVAL);
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_LINK),
                     HULL_EINVAL);
    OK(module_save(m, at("m.hull"), HULL_SAVE_PREPARED));
    module_unref(m);
}

/* Names with a prefix, a tie, and weights of two checkpoints come back. */
static void test_sources_index(void **state)
{
    module *m = compiled(""), *l;
    answer before, after;
    weights *w;
    const weight_entry *a, *b;

    (void)state;
    OK(refit_with(m, "prefixed.safetensors", "", NULL));
    OK(module_save(m, at("m.hull"), HULL_SAVE_SOURCES));
    before = answer_of(m);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    after = answer_of(l);
    same(&before, &after);
    w = l->current->bound->w[0];
    assert_int_equal(weights_kind(w), WEIGHTS_HULL);
    assert_int_equal(weights_count(w), 4);
    a = weights_find(w, str_of("module.fc2.weight"));
    b = weights_find(w, str_of("module.head.weight"));
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a->storage, b->storage);
    assert_int_equal(a->len, b->len);
    module_unref(l);
    OK(refit_with(m, "a.safetensors", "", NULL));
    OK(refit_with(m, "half.safetensors", "allow_missing=on", NULL));
    before = answer_of(m);
    OK(module_save(m, at("m.hull"), HULL_SAVE_SOURCES));
    assert_int_equal(module_save(m, at("n.hull"), HULL_SAVE_LINK),
                     HULL_EINVAL);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    after = answer_of(l);
    same(&before, &after);
    module_unref(l);
    module_unref(m);
}

/* A partial refit of a loaded module takes the rest from the file. */
static void test_partial_refit(void **state)
{
    static const unsigned flags[] = {HULL_SAVE_SOURCES, HULL_SAVE_SOURCES |
                                                        HULL_SAVE_PREPARED};
    module *m = filled(), *l;
    answer want, got;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        OK(module_save(m, at(i == 0 ? "s.hull" : "p.hull"), flags[i]));
    OK(refit_with(m, "half.safetensors", "allow_missing=on", NULL));
    want = answer_of(m);
    module_unref(m);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        hull_refit_report report;

        OK(load_with(&l, at(i == 0 ? "s.hull" : "p.hull"), NULL, ""));
        OK(refit_with(l, "half.safetensors", "allow_missing=on", &report));
        got = answer_of(l);
        same(&want, &got);
        module_unref(l);
    }
}

/* ---- other targets ------------------------------------------------------- */

static void test_foreign_target(void **state)
{
    module *m = compiled("backends=sim,ref target=elsewhere"), *l;
    answer before, after;
    cache *c;

    (void)state;
    OK(refit_with(m, "a.safetensors", "", NULL));
    before = answer_of(m);
    OK(module_save(m, at("s.hull"), HULL_SAVE_SOURCES | HULL_SAVE_PREPARED));
    OK(module_save(m, at("p.hull"), HULL_SAVE_PREPARED));
    module_unref(m);
    OK(cache_open(&c, at("cache"), NULL));
    for (int i = 0; i < 2; i++) {
        log_lines = 0;
        OK(module_load(&l, at("s.hull"), NULL, c, NULL));
        assert_int_equal(log_lines, 1); /* ref is everywhere the same */
        assert_true(module_plan(l)->blocks[0].rebuilt);
        assert_null(l->current->groups[0]->borrowed);
        assert_int_equal(module_plan(l)->blocks[0].hit, i == 1);
        after = answer_of(l);
        same(&before, &after);
        module_unref(l);
    }
    OK(module_load(&l, at("p.hull"), NULL, c, NULL));
    assert_int_equal(module_version(l), 0);
    module_unref(l);
    OK(load_with(&l, at("p.hull"), NULL, "target=elsewhere"));
    assert_false(module_plan(l)->blocks[0].rebuilt);
    assert_int_equal(module_version(l), 1);
    module_unref(l);
    cache_unref(c);
}

static void test_stale_slots(void **state)
{
    module *m = compiled(""), *l;
    answer a;
    FILE *f;

    (void)state;
    OK(refit_with(m, "a.safetensors", "", NULL));
    OK(module_save(m, at("m.hull"), HULL_SAVE_PREPARED));
    module_unref(m);
    OK(load_with(&l, at("m.hull"), NULL, ""));
    assert_non_null(l->current->groups[0]->borrowed);
    OK(run_module(&a, l));
    f = fopen(at("m.hull"), "ab");
    assert_non_null(f);
    fputc(0, f);
    fclose(f);
    assert_int_equal(run_module(&a, l), HULL_ESTALE);
    module_unref(l);
}

static void test_describe(void **state)
{
    module *m = filled();
    json_t *j = facts_of(m), *b;

    (void)state;
    assert_string_equal(fact(j, "format"), "onnx");
    assert_string_equal(fact(j, "producer"), "a test");
    assert_string_equal(fact(j, "cache"), "none");
    assert_non_null(strstr(fact(j, "label"), "a.safetensors"));
    assert_int_equal(json_integer_value(json_object_get(j, "version")), 1);
    assert_int_equal(json_integer_value(json_object_get(j, "holes")), 4);
    assert_int_equal(json_integer_value(json_object_get(j, "kept")), 1);
    assert_true(json_integer_value(json_object_get(j, "slots")) >= 4);
    assert_true(json_integer_value(json_object_get(j, "slot_bytes")) >=
                (55 + 11 + 33 + 3) * 4);
    assert_true(json_integer_value(json_object_get(j, "engine_bytes")) > 0);
    assert_true(json_array_size(json_object_get(j, "fallbacks")) > 0);
    assert_string_equal(
        fact(json_array_get(json_object_get(j, "inputs"), 0), "type"),
        "f32[N,5]");
    b = json_array_get(json_object_get(j, "blocks"), 0);
    assert_int_equal(strlen(fact(b, "key")), 64);
    assert_true(json_is_false(json_object_get(b, "rebuilt")));
    json_free(j);
    module_unref(m);
}

/* ---- no memory ----------------------------------------------------------- */

#define ALL_FLAGS (HULL_SAVE_SOURCES | HULL_SAVE_PREPARED)

static void test_out_of_memory(void **state)
{
    module *m = compiled("threads=1"), *l;
    options *o = options_of("threads=1");
    answer before, after;
    hull_status st = HULL_ENOMEM;
    int64_t live;

    (void)state;
    OK(refit_with(m, "a.safetensors", "", NULL));
    before = answer_of(m);
    live = mem_live();
    for (uint64_t i = 1; st != HULL_OK; i++) {
        mem_fail_at(i, true);
        st = module_save(m, at("m.hull"), ALL_FLAGS | HULL_SAVE_LINK);
        mem_fail_at(0, false);
        assert_true(st == HULL_OK || st == HULL_ENOMEM);
        assert_int_equal(mem_live(), live);
    }
    after = answer_of(m);
    same(&before, &after);
    module_unref(m);
    for (unsigned k = 0; k < 2; k++) {
        const char *path = at(k == 0 ? "m.hull" : "s.hull");

        if (k == 1) {
            OK(module_load(&l, at("m.hull"), NULL, NULL, o));
            OK(module_save(l, path, HULL_SAVE_SOURCES));
            module_unref(l);
        }
        live = mem_live();
        st = HULL_ENOMEM;
        for (uint64_t i = 1; st != HULL_OK; i++) {
            mem_fail_at(i, true);
            st = module_load(&l, path, NULL, NULL, o);
            mem_fail_at(0, false);
            assert_true(st == HULL_OK || st == HULL_ENOMEM);
            if (st != HULL_OK)
                assert_int_equal(mem_live(), live);
        }
        after = answer_of(l);
        same(&before, &after);
        module_unref(l);
        assert_int_equal(mem_live(), live);
    }
    options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_plan_survives),
        cmocka_unit_test(test_stripped),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_no_sources),
        cmocka_unit_test(test_lent_memory),
        cmocka_unit_test(test_sources_index),
        cmocka_unit_test(test_partial_refit),
        cmocka_unit_test(test_foreign_target),
        cmocka_unit_test(test_stale_slots),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
