/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_spare.c - refits into kept memory (spare=on): the same outputs as a
 * fresh module, two buffers of slots however often it happens, and never a
 * byte of a set that is still pinned.
 */
#include "guard.h"

#include <string.h>
#include <unistd.h>

#include "run/module.h"

/* The buffer that the current set's slots lie in; they are all in one. */
static const device_buffer *slots_of(const hull_module *m)
{
    const device_buffer *b = NULL;

    for (uint32_t i = 0; i < m->current->n_groups; i++) {
        const slot_group *g = m->current->groups[i];

        if (g->memory == NULL)
            continue;
        assert_true(b == NULL || b == g->memory->buffer);
        b = g->memory->buffer;
    }
    assert_non_null(b);
    return b;
}

/* What each epoch's weights answer, in a module of its own. */
static void fresh_sums(uint64_t *sums, guard_input *in)
{
    for (int i = 0; i < N_EPOCHS; i++) {
        hull_module *m = compile_of(DIGITS, guard_epochs[i], "");

        sums[i] = module_sum(m, in);
        hull_module_unref(m);
    }
}

/* One thread: a worker makes its scratch when it first joins a fill, which may
 * be late. */
static void thousand_refits_take_two_buffers(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=1 spare=on");
    const device_buffer *seen[2] = {slots_of(m), NULL};
    uint64_t sums[N_EPOCHS];
    int64_t live = 0;
    guard_input in;

    (void)state;
    guard_input_init(&in, m, 2);
    fresh_sums(sums, &in);
    for (int i = 1; i <= 1000; i++) {
        OK(refit_of(m, guard_epochs[i % N_EPOCHS], "spare=on", NULL));
        if (i == 1)
            seen[1] = slots_of(m);
        assert_ptr_equal(slots_of(m), seen[i % 2]);
        assert_true(module_sum(m, &in) == sums[i % N_EPOCHS]);
        if (i == 10)
            live = mem_live();
    }
    assert_true(mem_live() == live);
    hull_module_unref(m);
    guard_input_fini(&in);
}

/* Two sets alive, both pinned: the third one gets memory of its own. */
static void pinned_sets_are_never_written(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "spare=on");
    const device_buffer *first = slots_of(m), *second, *third;
    weight_set *pins[2];
    uint64_t sums[N_EPOCHS];
    guard_input in;

    (void)state;
    guard_input_init(&in, m, 2);
    fresh_sums(sums, &in);
    OK(module_pin(&pins[0], m));
    OK(refit_of(m, guard_epochs[1], "spare=on", NULL));
    second = slots_of(m);
    OK(module_pin(&pins[1], m));
    OK(refit_of(m, guard_epochs[2], "spare=on", NULL));
    third = slots_of(m);
    assert_true(second != first && third != first && third != second);
    assert_true(module_sum(m, &in) == sums[2]);
    module_unpin(m, pins[0]); /* now it may be written */
    OK(refit_of(m, guard_epochs[0], "spare=on", NULL));
    assert_ptr_equal(slots_of(m), first);
    assert_true(module_sum(m, &in) == sums[0]);
    assert_true(pins[1]->groups[0]->slots[0].buffer == second);
    module_unpin(m, pins[1]);
    hull_module_unref(m);
    guard_input_fini(&in);
}

static void off_gives_it_back(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "spare=on");

    (void)state;
    OK(refit_of(m, guard_epochs[1], "spare=on", NULL));
    assert_non_null(m->memory.slots);
    assert_non_null(m->memory.rooms);
    OK(refit_of(m, guard_epochs[0], "", NULL));
    assert_null(m->memory.slots);
    assert_null(m->memory.rooms);
    hull_module_unref(m);
}

/* A refit that fails gives its memory back as well. */
static void a_failure_keeps_the_memory(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "spare=on");
    const char *path = temp_path(".safetensors");
    const device_buffer *spare;
    uint64_t want;
    guard_input in;

    (void)state;
    guard_input_init(&in, m, 2);
    OK(refit_of(m, guard_epochs[1], "spare=on", NULL));
    want = module_sum(m, &in);
    spare = m->memory.slots->buffer;
    copy_file(path, guard_epochs[2]);
    {
        hull_options *o = options_of("spare=on");
        hull_weights *w;

        OK(hull_weights_open(&w, path));
        assert_int_equal(truncate(path, 64), 0);
        assert_true(hull_refit(m, w, o, NULL) != HULL_OK);
        hull_weights_unref(w);
        hull_options_free(o);
    }
    assert_true(module_sum(m, &in) == want);
    assert_ptr_equal(m->memory.slots->buffer, spare);
    OK(refit_of(m, guard_epochs[0], "spare=on", NULL));
    assert_ptr_equal(slots_of(m), spare);
    unlink(path);
    hull_module_unref(m);
    guard_input_fini(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousand_refits_take_two_buffers),
        cmocka_unit_test(pinned_sets_are_never_written),
        cmocka_unit_test(off_gives_it_back),
        cmocka_unit_test(a_failure_keeps_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
