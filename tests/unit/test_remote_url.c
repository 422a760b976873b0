/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_remote_url.c - what option cache_remote may say of a store, what it may
 * not, and that no text that is shown holds a secret.
 */
#include "unit.h"

#include "cache/tier.h"

#include <string.h>

static tier_config read_of(const char *text)
{
    tier_config t;
    hull_status st = tier_config_read(&t, str_of(text), 1);

    if (st != HULL_OK)
        print_error("%s: %s\n", text, error_text());
    assert_int_equal(st, HULL_OK);
    return t;
}

/* user, password, host, port, path, query, shown */
static const struct {
    const char *text, *scheme, *user, *password, *host;
    uint32_t port;
    const char *path, *query, *shown;
} good[] = {
    {"http://h", "http", "", "", "h", 0, "", "", "http://h"},
    {"http://h/", "http", "", "", "h", 0, "", "", "http://h/"},
    {"https://h.example:8443/a/b//", "https", "", "", "h.example", 8443,
     "/a/b", "", "https://h.example:8443/a/b//"},
    {"http://u:p@h/x", "http", "u", "p", "h", 0, "/x", "",
     "http://***@h/x"},
    {"http://u@h/x?sig=s/s", "http", "u", "", "h", 0, "/x", "sig=s/s",
     "http://***@h/x?***"},
    {"http://u%40x:a%2Fb%3a%20@h", "http", "u@x", "a/b: ", "h", 0, "", "",
     "http://***@h"},
    {"http://u:p@q@h", "http", "u", "p@q", "h", 0, "", "", "http://***@h"},
    {"http://u:p:q@h:1", "http", "u", "p:q", "h", 1, "", "",
     "http://***@h:1"},
    {"http://[::1]:80/x", "http", "", "", "[::1]", 80, "/x", "",
     "http://[::1]:80/x"},
    {"redis://:p@h:6380/3", "redis", "", "p", "h", 6380, "/3", "",
     "redis://***@h:6380/3"},
    {"redis+unix:/run/r.sock?db=2", "redis+unix", "", "", "", 0,
     "/run/r.sock", "db=2", "redis+unix:/run/r.sock?***"},
    {"redis+unix:///run/r.sock", "redis+unix", "", "", "", 0, "/run/r.sock",
     "", "redis+unix:///run/r.sock"},
    {"redis+unix://u:p@localhost/run/r.sock", "redis+unix", "u", "p",
     "localhost", 0, "/run/r.sock", "",
     "redis+unix://***@localhost/run/r.sock"},
};

static void urls_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        tier_config t = read_of(good[i].text);

        assert_string_equal(t.scheme, good[i].scheme);
        assert_string_equal(t.user, good[i].user);
        assert_string_equal(t.password, good[i].password);
        assert_string_equal(t.host, good[i].host);
        assert_int_equal(t.port, good[i].port);
        assert_string_equal(t.path, good[i].path);
        assert_string_equal(t.query, good[i].query);
        assert_string_equal(t.shown, good[i].shown);
        tier_config_fini(&t);
    }
}

static void attributes_are_read(void **state)
{
    tier_config t = read_of("http://h");

    (void)state;
    assert_false(t.read_only);
    assert_int_equal(t.ttl_s, 0);
    assert_int_equal(t.timeout_ms, 10000);
    assert_int_equal(t.connect_ms, 1000);
    assert_int_equal(t.retries, 2);
    assert_int_equal(t.pause_ms, 30000);
    assert_int_equal(t.layout, LAYOUT_SUBDIRS);
    tier_config_fini(&t);
    t = read_of("http://h|read-only|ttl=60|timeout=5|connect-timeout=6|"
                "layout=bazel|retries=0|max-size=3KiB|header=X-A:%20b%7cc|"
                "header=Y:z|token-file=/t|cacert=/c|proxy=http://p:1");
    assert_true(t.read_only);
    assert_int_equal(t.ttl_s, 60);
    assert_int_equal(t.timeout_ms, 5);
    assert_int_equal(t.connect_ms, 6);
    assert_int_equal(t.layout, LAYOUT_BAZEL);
    assert_int_equal(t.retries, 0);
    assert_int_equal(t.max_size, 3072);
    assert_int_equal(t.n_headers, 2);
    assert_string_equal(t.headers[0], "X-A: b|c");
    assert_string_equal(t.headers[1], "Y:z");
    assert_string_equal(t.token_file, "/t");
    assert_string_equal(t.cacert, "/c");
    assert_string_equal(t.proxy, "http://p:1");
    tier_config_fini(&t);
}

static const char *const bad[] = {
    "", ":", "h", "//h", "http", "HTTP://h", "ht tp://h", "1:", "http://u:SECRET@", "http://u:SECRET@/x",
    "http://SECRET:x", "http://SECRET:0", "http://h:65536",
    "http://h:99999999999999999999", "http://h:-1", "http://u:SECRET/x@h",
    "http://u:SECRET?x@h#", "http://h/x#SECRET", "http://u:SECRET%@h",
    "http://u:SECRET%4@h", "http://u:SECRET%zz@h", "http://u:SECRET%00@h",
    "http://u:SECRET%0a@h", "http://u:SECRET\n@h", "http://u:SECRET\x7f@h",
    "http://u:SECRET\xc3\xa9@h", "http://u:SECRET\\@h", "http://[::1",
    "http://[]", "http://[::1]x", "http://[SECRET]", "http://h h",
    "http://u:SECRET@h||", "http://h|SECRET", "http://h|SECRET=1",
    "http://h|ttl=SECRET", "http://h|ttl=0", "http://h|ttl=-1",
    "http://h|timeout=0", "http://h|timeout=3600001", "http://h|retries=101",
    "http://h|pause=0", "http://h|pause=3600001",
    "http://h|max-size=0", "http://h|max-size=9999999999999TiB",
    "http://h|layout=SECRET", "http://h|header=SECRET", "http://h|header=:SECRET",
    "http://h|header=A B:SECRET", "http://h|header=A:SECRET\r\nB:c",
    "http://h|header=A:SECRET%0d%0aB:c", "http://h|header=A:SECRET%",
    "http://h|read-only=SECRET", "http://h|token-file=", "http://h|cacert=",
    ("http://h|header=a:1|header=a:1|header=a:1|header=a:1|header=a:1|"
     "header=a:1|header=a:1|header=a:1|header=SECRET:1"),
    "http://u:pa|SECRET@h", "redis://h/../x@SECRET",
};

static void malformed_is_refused_and_secret(void **state)
{
    tier_config t;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hull_status st = tier_config_read(&t, str_of(bad[i]), 1);

        if (st != HULL_EINVAL)
            print_error("'%s' gives %d\n", bad[i], st);
        assert_int_equal(st, HULL_EINVAL);
        if (strstr(error_text(), "SECRET") != NULL)
            print_error("'%s' shows %s\n", bad[i], error_text());
        assert_null(strstr(error_text(), "SECRET"));
        assert_null(t.memory.chunk);
    }
}

static void any_text_is_redacted(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"http://u:SECRET@h/p", "http://***@h/p"},
        {"http://u:SEC/RET@h/p", "http://***@h/p"},
        {"http://u:SEC?RET@h", "http://***@h"},
        {"u:SECRET@h", "u:***@h"},
        {"SECRET@h", "***@h"},
        {"http://a@b@h", "http://***@h"},
        {"https://h/p?SECRET", "https://h/p?***"},
        {"https://h/p#SECRET", "https://h/p#***"},
        {"https://h|header=SECRET", "https://h|***"},
        {"http://h/\x01\xff\n", "http://h/???"},
        {"http:/", "http:/"},
        {"http:////h", "http:////h"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf b;

        buf_init(&b, 1000);
        url_redacted(&b, str_of(cases[i].text));
        assert_int_equal(buf_status(&b), HULL_OK);
        assert_string_equal(b.p != NULL ? b.p : "", cases[i].shown);
        buf_fini(&b);
    }
}

/* Random bytes: no crash, no overread, and nothing before an '@' is shown. */
static void noise_is_read(void **state)
{
    static const char alphabet[] = "http:redis/@?|#%=[].:8 \x01\x7f\xff-+a";
    uint32_t seed = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)round % 40;
        char *text = mem_alloc(n); /* exact, for sanitizers */
        tier_config t;
        buf b;

        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        if (tier_config_read(&t, (str){text, n}, 1) == HULL_OK) {
            assert_int_equal(strlen(t.shown) > 0, 1);
            tier_config_fini(&t);
        }
        buf_init(&b, 1000);
        url_redacted(&b, (str){text, n});
        assert_true(b.n <= n + 10);
        buf_fini(&b);
        mem_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_read),
        cmocka_unit_test(attributes_are_read),
        cmocka_unit_test(malformed_is_refused_and_secret),
        cmocka_unit_test(any_text_is_redacted),
        cmocka_unit_test(noise_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
