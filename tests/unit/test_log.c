/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_log.c - levels per subsystem, the sink, bad settings.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

typedef struct heard {
    int n, level;
    char subsystem[32], text[64];
} heard;

static void listen(void *user, const char *subsystem, int level,
                   const char *text)
{
    heard *h = user;

    h->n++;
    h->level = level;
    snprintf(h->subsystem, sizeof(h->subsystem), "%s", subsystem);
    snprintf(h->text, sizeof(h->text), "%s", text);
}

static void environment_is_read_once(void **state)
{
    (void)state;
    setenv("HULL_LOG", "cache:debug", 1);
    assert_true(log_on("cache", LOG_DEBUG));
    setenv("HULL_LOG", "refit:info", 1);
    assert_true(log_on("cache", LOG_DEBUG));
    assert_int_equal(log_configure(""), HULL_OK);
    assert_false(log_on("cache", LOG_DEBUG));
    assert_true(log_on("refit", LOG_INFO));
    unsetenv("HULL_LOG");
    assert_int_equal(log_configure(NULL), HULL_OK);
    assert_false(log_on("refit", LOG_INFO));
    assert_true(log_on("refit", LOG_WARN));
}

static void rules_select(void **state)
{
    (void)state;
    assert_int_equal(log_configure("all:error, cache:info,run:debug"), HULL_OK);
    assert_true(log_on("other", LOG_ERROR));
    assert_false(log_on("other", LOG_WARN));
    assert_true(log_on("cache", LOG_INFO));
    assert_false(log_on("cache", LOG_DEBUG));
    assert_true(log_on("run", LOG_DEBUG));
    assert_int_equal(log_configure("debug"), HULL_OK);
    assert_true(log_on("other", LOG_DEBUG));
}

static void sink_hears_what_passes(void **state)
{
    heard h = { 0 };

    (void)state;
    assert_int_equal(log_configure("cache:info"), HULL_OK);
    hull_set_log(listen, &h);
    log_info("cache", "hit %d\n", 3);
    assert_int_equal(h.n, 1);
    assert_int_equal(h.level, LOG_INFO);
    assert_string_equal(h.subsystem, "cache");
    assert_string_equal(h.text, "hit 3?");
    log_debug("cache", "not heard");
    log_info("other", "not heard");
    assert_int_equal(h.n, 1);
    log_warn("other", "heard");
    assert_int_equal(h.n, 2);
    hull_set_log(NULL, NULL);
}

static void bad_settings_change_nothing(void **state)
{
    static const char *const bad[] = {
        "cache:loud", ":debug",   "cache:",
        "nonsense",   "a:info,b", "a_name_of_more_than_thirty_one_bytes:info",
    };
    char many[400] = "";
    size_t i;

    (void)state;
    assert_int_equal(log_configure("cache:debug"), HULL_OK);
    for (i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(log_configure(bad[i]), HULL_EINVAL);
    assert_int_equal(log_configure("x:info,cache:loud"), HULL_EINVAL);
    assert_non_null(strstr(error_text(), "'cache:loud'"));
    for (i = 0; i < 33; i++)
        memcpy(many + 7 * i, "s:info,", 7);
    assert_int_equal(log_configure(many), HULL_EINVAL);
    many[7 * 32] = '\0';
    assert_true(log_on("cache", LOG_DEBUG));
    assert_int_equal(log_configure(many), HULL_OK);
    assert_int_equal(log_configure("cache:debug"), HULL_OK);
    assert_true(log_on("cache", LOG_DEBUG));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_is_read_once),
        cmocka_unit_test(rules_select),
        cmocka_unit_test(sink_hears_what_passes),
        cmocka_unit_test(bad_settings_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
