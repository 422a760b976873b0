/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_envelope.c - entries that travel and their MACs: the grammar byte by
 * byte, every flipped bit, every truncation, other keys, kinds and secrets.
 */
#include "folder_unit.h"

#include "cache/envelope.h"

#define MAX ((uint64_t)1 << 20)

static void secret_file(char path[128], const char *name, const char *text,
                        size_t n, mode_t mode)
{
    snprintf(path, 128, "%s/%s", folder, name);
    spill(path, text, n);
    assert_int_equal(chmod(path, mode), 0);
}

static seal *seal_of(const char *text)
{
    char path[128];
    seal *s;

    secret_file(path, "secret", text, strlen(text), 0600);
    assert_int_equal(seal_open(&s, path), HULL_OK);
    return s;
}

static digest key_of(const char *text)
{
    return digest_of(text, strlen(text));
}

static const char content[] =
    "any bytes, any bytes, any bytes, any bytes, any bytes, any bytes";
#define CONTENT ((bytes){(const uint8_t *)content, sizeof content})

static buf packed(const seal *s)
{
    digest key = key_of("k");
    buf b;

    buf_init(&b, MAX);
    assert_int_equal(envelope_pack(&b, CACHE_NOTES, &key, CONTENT, s),
                     HULL_OK);
    return b;
}

static bytes view(const buf *b)
{
    return (bytes){(const uint8_t *)b->p, b->n};
}

/* Everything a receiver does. */
static hull_status receive(bytes data, const seal *s)
{
    digest key = key_of("k");
    blob *got = NULL;
    envelope e;

    TRY(envelope_open(&e, data));
    if (e.kind != CACHE_NOTES || !digest_eq(&e.key, &key))
        return fail(HULL_EFORMAT, "another entry");
    if (e.n != data.n)
        return fail(HULL_EFORMAT, "more than an entry");
    TRY(envelope_check(&e, s));
    TRY(envelope_unpack(&got, &e, MAX));
    assert_int_equal(got->n, sizeof content);
    assert_memory_equal(got->p, content, sizeof content);
    assert_int_equal((uintptr_t)got->p % 64, 0);
    blob_unref(got);
    return HULL_OK;
}

/* ---- the format ---------------------------------------------------------- */

static void header_is_as_documented(void **state)
{
    static const uint8_t start[] = {
        0x89, 'H', 'U', 'L', 'E', '\r', '\n', 0x1a, 1, 0, 0, 0, 0, 0, 0, 0,
        'n', 'o', 't', 'e', 's', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        sizeof content, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t zeros[32];
    digest key = key_of("k");
    buf b = packed(NULL);
    envelope e;

    (void)state;
    assert_memory_equal(b.p, start, sizeof start);
    assert_int_equal((uint8_t)b.p[40] + 256 * (uint8_t)b.p[41],
                     b.n - ENVELOPE_HEADER_SIZE);
    assert_memory_equal(b.p + 48, key.b, 32);
    assert_memory_equal(b.p + 80, zeros, 32);
    assert_memory_equal(b.p + 112, "\x28\xb5\x2f\xfd", 4); /* zstd's */
    assert_true((b.p[116] & 4) != 0); /* with a checksum */
    buf_puts(&b, "and another one");
    assert_int_equal(envelope_open(&e, view(&b)), HULL_OK);
    assert_int_equal(e.n, b.n - 15);
    assert_int_equal(e.size, sizeof content);
    assert_false(e.is_signed);
    buf_fini(&b);
}

static void signed_or_not_it_arrives(void **state)
{
    seal *s = seal_of("0123456789abcdef");
    buf plain = packed(NULL), sealed = packed(s);

    (void)state;
    assert_int_equal(receive(view(&plain), NULL), HULL_OK);
    assert_int_equal(receive(view(&sealed), s), HULL_OK);
    assert_int_equal(receive(view(&sealed), NULL), HULL_OK);
    assert_int_equal(receive(view(&plain), s), HULL_EMISMATCH);
    buf_fini(&plain);
    buf_fini(&sealed);
    seal_close(s);
}

/* The same bytes under another secret, key, kind or size. */
static void mac_covers_all(void **state)
{
    seal *s = seal_of("0123456789abcdef"), *other = seal_of("0123456789abcdeF");
    buf sealed = packed(s);
    envelope e;

    (void)state;
    assert_int_equal(receive(view(&sealed), other), HULL_EMISMATCH);
    for (size_t i = 0; i < sealed.n; i++) {
        sealed.p[i] ^= 1;
        if (envelope_open(&e, view(&sealed)) == HULL_OK)
            assert_int_equal(envelope_check(&e, s), HULL_EMISMATCH);
        sealed.p[i] ^= 1;
    }
    memcpy(sealed.p + 16, "engine", 6);
    assert_int_equal(envelope_open(&e, view(&sealed)), HULL_OK);
    assert_int_equal(envelope_check(&e, s), HULL_EMISMATCH);
    buf_fini(&sealed);
    seal_close(s);
    seal_close(other);
}

/* With a secret no byte may change. Without one zstd has bits that it does not
 * use, and the MAC is not read: then the content arrives as it was. */
static void no_bit_goes_unnoticed(void **state)
{
    seal *s = seal_of("0123456789abcdef");
    buf sealed = packed(s);
    size_t unseen = 0;

    (void)state;
    for (size_t bit = 0; bit < 8 * sealed.n; bit++) {
        sealed.p[bit / 8] = (char)(sealed.p[bit / 8] ^ 1 << bit % 8);
        assert_int_not_equal(receive(view(&sealed), s), HULL_OK);
        unseen += receive(view(&sealed), NULL) == HULL_OK;
        sealed.p[bit / 8] = (char)(sealed.p[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t n = 0; n < sealed.n; n++) {
        bytes cut = {(const uint8_t *)sealed.p, n};

        assert_int_equal(receive(cut, s), HULL_EFORMAT);
        assert_int_equal(receive(cut, NULL), HULL_EFORMAT);
    }
    assert_in_range(unseen, 8 * 32, 8 * 32 + 8);
    assert_int_equal(receive(view(&sealed), s), HULL_OK);
    buf_fini(&sealed);
    seal_close(s);
}

static void others_are_told_apart(void **state)
{
    buf b = packed(NULL);
    envelope e;
    blob *got;

    (void)state;
    b.p[8] = 2;
    assert_int_equal(envelope_open(&e, view(&b)), HULL_EVERSION);
    b.p[8] = 1;
    b.p[16] = 'N';
    assert_int_equal(envelope_open(&e, view(&b)), HULL_EVERSION);
    assert_non_null(strstr(error_text(), "'Notes'"));
    memcpy(b.p + 16, "0123456789abcdef", 16);
    assert_int_equal(envelope_open(&e, view(&b)), HULL_EVERSION);
    memset(b.p + 16, 0, 16);
    assert_int_equal(envelope_open(&e, view(&b)), HULL_EFORMAT);
    buf_fini(&b);
    b = packed(NULL);
    assert_int_equal(envelope_open(&e, view(&b)), HULL_OK);
    assert_int_equal(envelope_unpack(&got, &e, sizeof content - 1),
                     HULL_EFORMAT);
    assert_null(got);
    buf_fini(&b);
}

/* A frame that unpacks to a thousand times its size, and one that lies. */
static void size_is_bounded(void **state)
{
    size_t n = (size_t)16 << 20;
    uint8_t *zeros = mem_calloc(1, n);
    digest key = key_of("k");
    envelope e;
    blob *got;
    buf b;

    (void)state;
    buf_init(&b, MAX);
    assert_int_equal(envelope_pack(&b, CACHE_NOTES, &key, (bytes){zeros, n},
                                   NULL), HULL_OK);
    assert_true(b.n < 10000);
    assert_int_equal(envelope_open(&e, view(&b)), HULL_OK);
    assert_int_equal(envelope_unpack(&got, &e, n - 1), HULL_EFORMAT);
    assert_int_equal(envelope_unpack(&got, &e, n), HULL_OK);
    blob_unref(got);
    e.size = 100;
    assert_int_equal(envelope_unpack(&got, &e, n), HULL_EFORMAT);
    e.size = UINT64_MAX;
    assert_int_equal(envelope_unpack(&got, &e, UINT64_MAX), HULL_EFORMAT);
    buf_fini(&b);
    mem_free(zeros);
}

/* ---- secrets ------------------------------------------------------------- */

static hull_status try_secret(const char *text, size_t n, mode_t mode)
{
    hull_status st;
    char path[128];
    seal *s;

    secret_file(path, "try", text, n, mode);
    st = seal_open(&s, path);
    assert_int_equal(st == HULL_OK, s != NULL);
    seal_close(s);
    return st;
}

static void secrets_are_checked(void **state)
{
    char large[SEAL_SECRET_MAX + 1];
    seal *s;

    (void)state;
    memset(large, 'x', sizeof large);
    assert_int_equal(try_secret("0123456789abcdef", 16, 0600), HULL_OK);
    assert_int_equal(try_secret("0123456789abcdef", 15, 0600), HULL_EINVAL);
    assert_int_equal(try_secret("0123456789abcde\n", 16, 0600), HULL_EINVAL);
    assert_int_equal(try_secret("", 0, 0600), HULL_EINVAL);
    assert_int_equal(try_secret("0123456789abcdef", 16, 0602), HULL_EINVAL);
    assert_int_equal(try_secret("0123456789abcdef", 16, 0640), HULL_OK);
    assert_int_equal(try_secret(large, SEAL_SECRET_MAX, 0600), HULL_OK);
    assert_int_not_equal(try_secret(large, sizeof large, 0600), HULL_OK);
    assert_int_equal(seal_open(&s, "/nowhere/secret"), HULL_ENOTFOUND);
    assert_null(s);
}

static digest sign(const seal *s)
{
    static const uint8_t some[] = {1, 2, 3};

    return seal_wire(s, (bytes){some, 2}, (bytes){some + 2, 1});
}

static void end_of_line_is_no_secret(void **state)
{
    seal *a = seal_of("0123456789abcdef"), *b = seal_of("0123456789abcdef\n"),
         *c = seal_of("0123456789abcdef\r\n"),
         *d = seal_of("0123456789abcdef\n\n");
    digest want = sign(a), got;

    (void)state;
    got = sign(b);
    assert_true(seal_same(&want, got.b));
    got = sign(c);
    assert_true(seal_same(&want, got.b));
    got = sign(d);
    assert_false(seal_same(&want, got.b));
    seal_close(a);
    seal_close(b);
    seal_close(c);
    seal_close(d);
}

/* ---- entries in a folder ------------------------------------------------- */

static buf signed_file(const seal *s, const char *tag, const char *text)
{
    digest key = key_of("k");
    container_writer *w;
    buf b;

    assert_int_equal(container_writer_new(&w, CONTAINER_NOTES), HULL_OK);
    assert_int_equal(container_add(w, "key", "k", 1), HULL_OK);
    assert_int_equal(container_add(w, tag, text, strlen(text)), HULL_OK);
    if (s != NULL)
        assert_int_equal(seal_add(s, w, CACHE_NOTES, &key), HULL_OK);
    assert_int_equal(container_write_buf(w, &b), HULL_OK);
    container_writer_free(w);
    return b;
}

static hull_status check_file(const buf *b, const seal *s, cache_kind kind,
                              const char *key_text)
{
    digest key = key_of(key_text);
    hull_status st;
    container *c;

    TRY(container_open(&c, view(b), UINT64_MAX));
    st = seal_check(s, c, kind, &key);
    container_free(c);
    return st;
}

static void entries_have_macs(void **state)
{
    seal *s = seal_of("0123456789abcdef"), *t = seal_of("0123456789abcdeF");
    buf good = signed_file(s, "notes", "a 1\n"),
        none = signed_file(NULL, "notes", "a 1\n"),
        forged = signed_file(NULL, SEAL_SECTION,
                             "0123456789abcdef0123456789abcdef"),
        empty = signed_file(NULL, SEAL_SECTION, "");

    (void)state;
    assert_int_equal(check_file(&good, s, CACHE_NOTES, "k"), HULL_OK);
    assert_int_equal(check_file(&good, t, CACHE_NOTES, "k"), HULL_EMISMATCH);
    assert_int_equal(check_file(&good, s, CACHE_ENGINE, "k"), HULL_EMISMATCH);
    assert_int_equal(check_file(&good, s, CACHE_NOTES, "K"), HULL_EMISMATCH);
    assert_int_equal(check_file(&none, s, CACHE_NOTES, "k"), HULL_EMISMATCH);
    assert_int_equal(check_file(&forged, s, CACHE_NOTES, "k"), HULL_EMISMATCH);
    assert_int_equal(check_file(&empty, s, CACHE_NOTES, "k"), HULL_EMISMATCH);
    buf_fini(&good);
    buf_fini(&none);
    buf_fini(&forged);
    buf_fini(&empty);
    seal_close(s);
    seal_close(t);
}

/* Bytes that move from one section to the next give another MAC. */
static void sections_do_not_run_together(void **state)
{
    static const char *const cases[][4] = {
        {"a", "12", "b", "3"}, {"a", "1", "b", "23"}, {"b", "3", "a", "12"},
        {"a", "12", "c", "3"}, {"a", "123", "b", ""}};
    seal *s = seal_of("0123456789abcdef");
    bytes macs[COUNT_OF(cases)];
    buf files[COUNT_OF(cases)];
    container *open[COUNT_OF(cases)];
    digest key = key_of("k");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        container_writer *w;

        assert_int_equal(container_writer_new(&w, CONTAINER_NOTES), HULL_OK);
        for (int k = 0; k < 4; k += 2)
            assert_int_equal(container_add(w, cases[i][k], cases[i][k + 1],
                                           strlen(cases[i][k + 1])), HULL_OK);
        assert_int_equal(seal_add(s, w, CACHE_NOTES, &key), HULL_OK);
        assert_int_equal(container_write_buf(w, &files[i]), HULL_OK);
        container_writer_free(w);
        assert_int_equal(container_open(&open[i], view(&files[i]), UINT64_MAX),
                         HULL_OK);
        assert_int_equal(container_get(open[i], SEAL_SECTION, 32, &macs[i]),
                         HULL_OK);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(macs[i].p, macs[k].p, 32);
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        container_free(open[i]);
        buf_fini(&files[i]);
    }
    seal_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_as_documented),
        cmocka_unit_test(signed_or_not_it_arrives),
        cmocka_unit_test(mac_covers_all),
        cmocka_unit_test(no_bit_goes_unnoticed),
        cmocka_unit_test(others_are_told_apart),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(secrets_are_checked),
        cmocka_unit_test(end_of_line_is_no_secret),
        cmocka_unit_test(entries_have_macs),
        cmocka_unit_test(sections_do_not_run_together),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
