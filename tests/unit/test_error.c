/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_error.c - the thread's error record: text, context, transfer.
 */
#include "unit.h"

#include <pthread.h>
#include <string.h>

static void names_are_those_of_the_header(void **state)
{
    (void)state;
    assert_string_equal(hull_status_name(HULL_OK), "HULL_OK");
    assert_string_equal(hull_status_name(HULL_EINVAL), "HULL_EINVAL");
    assert_string_equal(hull_status_name(HULL_EBIND), "HULL_EBIND");
    assert_string_equal(hull_status_name(HULL_EINTERNAL), "HULL_EINTERNAL");
    assert_string_equal(hull_status_name((hull_status)99), "HULL_UNKNOWN");
    assert_string_equal(hull_status_name((hull_status)-1), "HULL_UNKNOWN");
}

static void fail_records_and_returns(void **state)
{
    (void)state;
    assert_int_equal(fail(HULL_EFORMAT, "tensor '%s' has %d", "w", 3),
                     HULL_EFORMAT);
    assert_string_equal(error_text(), "tensor 'w' has 3");
    assert_string_equal(hull_last_error(), "tensor 'w' has 3");
    error_clear();
    assert_string_equal(hull_last_error(), "");
}

static void a_path_is_named_once(void **state)
{
    (void)state;
    assert_int_equal(note_path(HULL_OK, "a.onnx"), HULL_OK);
    ignore(fail(HULL_EIO, "opening 'a.onnx': no such file"));
    assert_int_equal(note_path(HULL_EIO, "a.onnx"), HULL_EIO);
    assert_string_equal(error_text(), "opening 'a.onnx': no such file");
    ignore(note_path(HULL_EIO, "onnx")); /* only a part of a name */
    assert_string_equal(error_text(),
                        "onnx: opening 'a.onnx': no such file");
    ignore(fail(HULL_EIO, "no"));
    ignore(note_path(HULL_EIO, ""));
    assert_string_equal(error_text(), ": no");
}

static void fail_never_returns_ok(void **state)
{
    (void)state;
    assert_int_equal(fail(HULL_OK, "nothing"), HULL_EINTERNAL);
}

static void note_puts_context_in_front(void **state)
{
    hull_status st = fail(HULL_EIO, "disk is full");

    (void)state;
    assert_int_equal(note(st, "writing %s", "a.bin"), HULL_EIO);
    assert_int_equal(note(HULL_EIO, "saving"), HULL_EIO);
    assert_string_equal(error_text(), "saving: writing a.bin: disk is full");
    assert_int_equal(note(HULL_OK, "not shown"), HULL_OK);
    assert_string_equal(error_text(), "saving: writing a.bin: disk is full");
}

static void text_may_come_from_the_record(void **state)
{
    (void)state;
    ignore(fail(HULL_EIO, "inner"));
    ignore(fail(HULL_EINVAL, "outer (%s)", error_text()));
    assert_string_equal(error_text(), "outer (inner)");
    ignore(note(HULL_EINVAL, "%s", error_text()));
    assert_string_equal(error_text(), "outer (inner): outer (inner)");
}

static void text_is_one_line(void **state)
{
    (void)state;
    ignore(fail(HULL_EFORMAT, "name '%s'", "a\nb\033[31m\x7f"));
    assert_string_equal(error_text(), "name 'a?b?[31m?'");
}

static void long_text_is_cut_at_a_character(void **state)
{
    static char big[ERROR_TEXT_MAX * 2];
    size_t i, n;

    (void)state;
    for (i = 0; i + 3 < sizeof(big); i += 3)
        memcpy(big + i, "\xe2\x82\xac", 3);
    for (i = 0; i < 3; i++) {
        ignore(fail(HULL_EFORMAT, "%.*s%s", (int)i, "xx", big));
        n = strlen(error_text());
        assert_true(n < ERROR_TEXT_MAX && n >= ERROR_TEXT_MAX - 4);
        assert_true(str_valid_utf8(str_of(error_text())));
    }
    memset(big, 'a', sizeof(big) - 1);
    ignore(fail(HULL_EFORMAT, "%s", big));
    assert_int_equal(strlen(error_text()), ERROR_TEXT_MAX - 1);
    ignore(note(HULL_EFORMAT, "%s", big));
    assert_int_equal(strlen(error_text()), ERROR_TEXT_MAX - 1);
}

static void *fail_elsewhere(void *arg)
{
    assert_string_equal(error_text(), "");
    ignore(fail(HULL_EDEVICE, "from the worker"));
    error_take(arg);
    return NULL;
}

static void records_belong_to_threads_and_travel(void **state)
{
    error_record r;
    pthread_t t;

    (void)state;
    ignore(fail(HULL_EIO, "mine"));
    assert_int_equal(pthread_create(&t, NULL, fail_elsewhere, &r), 0);
    pthread_join(t, NULL);
    assert_string_equal(error_text(), "mine");
    assert_int_equal(error_put(&r), HULL_EDEVICE);
    assert_string_equal(error_text(), "from the worker");
}

static void oom_tells_the_size(void **state)
{
    (void)state;
    assert_int_equal(fail_oom(123), HULL_ENOMEM);
    assert_string_equal(error_text(), "out of memory, wanted 123 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_header),
        cmocka_unit_test(fail_records_and_returns),
        cmocka_unit_test(fail_never_returns_ok),
        cmocka_unit_test(note_puts_context_in_front),
        cmocka_unit_test(a_path_is_named_once),
        cmocka_unit_test(text_may_come_from_the_record),
        cmocka_unit_test(text_is_one_line),
        cmocka_unit_test(long_text_is_cut_at_a_character),
        cmocka_unit_test(records_belong_to_threads_and_travel),
        cmocka_unit_test(oom_tells_the_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
