/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_tiers.c - memory, folder and stores in their order: what each hit and
 * each failure leaves behind. The stores are callbacks of hull.h, so the tests
 * say themselves what a store answers.
 */
#include "cache_unit.h"

#include "cache/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>

/* ---- a store in memory that can misbehave -------------------------------- */

#define SLOTS 32

typedef struct slot {
    char name[DIGEST_HEX_SIZE];
    char *p;
    size_t n;
} slot;

typedef struct shelf {
    pthread_mutex_t lock;
    slot slots[SLOTS];
    int gets, puts, removes, releases;
    hull_status refuses; /* what every call says; HULL_OK: none does */
} shelf;

static slot *slot_of(shelf *s, const char *name)
{
    int i = 0;

    assert_int_equal(strlen(name), 64);
    while (i < SLOTS && s->slots[i].p != NULL &&
           strcmp(s->slots[i].name, name) != 0)
        i++;
    assert_true(i < SLOTS);
    return &s->slots[i];
}

static hull_status shelf_get(void *user, const char *name,
                             hull_status (*take)(void *, const void *, size_t),
                             void *sink)
{
    shelf *s = user;
    hull_status st = s->refuses;
    slot *at;

    pthread_mutex_lock(&s->lock);
    s->gets++;
    at = slot_of(s, name);
    if (st == HULL_OK && at->n == 0)
        st = HULL_ENOTFOUND;
    for (size_t i = 0; st == HULL_OK && i < at->n; i += 1000)
        st = take(sink, at->p + i, at->n - i < 1000 ? at->n - i : 1000);
    pthread_mutex_unlock(&s->lock);
    return st;
}

static void shelve(shelf *s, const char *name, const void *p, size_t n)
{
    slot *at = slot_of(s, name);

    free(at->p);
    at->p = malloc(n + 1);
    assert_non_null(at->p);
    memcpy(at->p, p, n);
    at->n = n;
    memmove(at->name, name, sizeof at->name);
}

static hull_status shelf_put(void *user, const char *name, const void *p,
                             size_t n)
{
    shelf *s = user;

    pthread_mutex_lock(&s->lock);
    s->puts++;
    if (s->refuses == HULL_OK)
        shelve(s, name, p, n);
    pthread_mutex_unlock(&s->lock);
    return s->refuses;
}

static hull_status shelf_remove(void *user, const char *name)
{
    shelf *s = user;

    pthread_mutex_lock(&s->lock);
    s->removes++;
    slot_of(s, name)->n = 0;
    pthread_mutex_unlock(&s->lock);
    return HULL_OK;
}

static void shelf_release(void *user)
{
    ((shelf *)user)->releases++;
}

static shelf *new_shelf(void)
{
    shelf *s = calloc(1, sizeof *s);

    assert_non_null(s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void free_shelf(shelf *s)
{
    for (int i = 0; i < SLOTS; i++)
        free(s->slots[i].p);
    free(s);
}

static void add_shelf(cache *c, shelf *s, unsigned flags)
{
    hull_cache_store store = {s, shelf_get, shelf_put, shelf_remove,
                              shelf_release};

    OK(hull_cache_add_store(c, &store, flags));
}

static slot *slot_number(shelf *s, int i)
{
    cache_key k = key_number(i);
    char name[DIGEST_HEX_SIZE];

    remote_name(name, CACHE_ENGINE, &k.d);
    cache_key_fini(&k);
    return slot_of(s, name);
}

/* ---- memory -------------------------------------------------------------- */

static void file_of(char out[256], const char *name, int i)
{
    cache_key k = key_number(i);
    char hex[DIGEST_HEX_SIZE];

    digest_hex(&k.d, hex);
    snprintf(out, 256, "%s/" DISK_FORMAT "/%.2s/%s.engine", path_in(name), hex,
             hex + 2);
    cache_key_fini(&k);
}

static void memory_comes_first(void **state)
{
    cache *c = open_cache("a"), *other;
    char path[256];

    (void)state;
    put_number(c, 1, 3000);
    file_of(path, "a", 1);
    assert_int_equal(unlink(path), 0);
    assert_true(get_number(c, 1));
    expect_stats(c, "hits", 1, "hits_memory", 1, "stores", 1);
    other = open_cache("a"); /* has a memory of its own */
    assert_false(get_number(other, 1));
    cache_unref(other);
    cache_unref(c);
}

static void disk_hits_stay_in_memory(void **state)
{
    cache *c = open_cache("a");

    (void)state;
    put_number(c, 1, 3000);
    cache_unref(c);
    c = open_cache("a");
    assert_true(get_number(c, 1));
    assert_true(get_number(c, 1));
    expect_stats(c, "hits", 2, "hits_disk", 1, "hits_memory", 1, "stores", 1);
    cache_unref(c);
}

/* Else the folder would evict what is used most. */
static void memory_hits_touch_the_file(void **state)
{
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    cache *c = open_cache("a");
    char path[256];
    struct stat s;

    (void)state;
    put_number(c, 1, 3000);
    file_of(path, "a", 1);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_true(get_number(c, 1));
    assert_int_equal(stat(path, &s), 0);
    assert_true(s.st_mtim.tv_sec > 1000);
    expect_stats(c, "hits", 1, "hits_memory", 1, "stores", 1);
    cache_unref(c);
}

static void memory_is_bounded(void **state)
{
    cache *c = open_cache("a", "cache_memory", "8KiB");

    (void)state;
    for (int i = 0; i < 3; i++)
        put_number(c, i, 3000); /* two fit, with their keys and tables */
    assert_true(get_number(c, 2));
    assert_true(get_number(c, 1));
    assert_true(get_number(c, 0)); /* from the folder; 2 is used least */
    assert_int_equal(stat_of(c, "hits_memory"), 2);
    assert_int_equal(stat_of(c, "hits_disk"), 1);
    assert_true(get_number(c, 1));
    assert_true(get_number(c, 2));
    assert_int_equal(stat_of(c, "hits_memory"), 3);
    put_number(c, 7, 20000); /* too large to stay */
    assert_true(get_number(c, 7));
    assert_int_equal(stat_of(c, "hits_disk"), 3);
    cache_unref(c);
    c = open_cache("b", "cache_memory", "0");
    put_number(c, 1, 10);
    assert_true(get_number(c, 1));
    assert_int_equal(stat_of(c, "hits_memory"), 0);
    cache_unref(c);
}

static void clear_verify_reject_reach_memory(void **state)
{
    cache *c = open_cache("a");
    cache_key k = key_number(1);
    uint64_t good, bad;
    cache_entry e;
    bool hit;

    (void)state;
    put_number(c, 1, 100);
    OK(hull_cache_clear(c));
    assert_false(get_number(c, 1));
    put_number(c, 1, 100);
    OK(hull_cache_verify(c, &good, &bad));
    assert_true(get_number(c, 1));
    assert_int_equal(stat_of(c, "hits_memory"), 0);
    cache_get(&e, &hit, c, CACHE_ENGINE, &k);
    assert_true(hit);
    assert_int_equal(stat_of(c, "hits_memory"), 1);
    ignore(fail(HULL_EFORMAT, "not a program"));
    cache_reject(c, &e, CACHE_ENGINE, &k);
    assert_false(get_number(c, 1));
    assert_int_equal(stat_of(c, "corrupt"), 1);
    assert_int_equal(stat_of(c, "entries"), 0);
    cache_key_fini(&k);
    cache_unref(c);
}

/* Another process may have added lines. */
static void notes_are_read_anew(void **state)
{
    cache *a = open_cache("a"), *b = open_cache("a");
    buf lines;

    (void)state;
    buf_init(&lines, 1000);
    cache_notes_put(a, str_of("k"), str_of("x 1\n"));
    cache_notes_put(b, str_of("k"), str_of("y 2\n"));
    cache_notes_get(a, str_of("k"), &lines);
    assert_string_equal(lines.p, "x 1\ny 2\n");
    buf_fini(&lines);
    cache_unref(a);
    cache_unref(b);
}

/* ---- stores -------------------------------------------------------------- */

static void store_hit_is_kept(void **state)
{
    cache *a = open_cache("a"), *b = open_cache("b");
    shelf *s = new_shelf();

    (void)state;
    add_shelf(a, s, 0);
    add_shelf(b, s, 0);
    assert_false(get_number(a, 1));
    put_number(a, 1, 3000);
    expect_stats(a, "misses", 1, "misses_remote", 1, "stores", 1,
                 "remote_stores", 1);
    assert_int_equal(stat_of(a, "bytes_sent"), slot_number(s, 1)->n);
    assert_true(get_number(b, 1));
    assert_true(get_number(b, 1));
    assert_int_equal(stat_of(b, "bytes_received"), slot_number(s, 1)->n);
    expect_stats(b, "hits", 2, "hits_remote", 1, "hits_memory", 1);
    assert_int_equal(s->gets, 2);
    assert_int_equal(s->puts, 1);
    cache_unref(b);
    b = open_cache("b"); /* without the store */
    assert_true(get_number(b, 1));
    expect_stats(b, "hits", 3, "hits_remote", 1, "hits_memory", 1,
                 "hits_disk", 1);
    cache_unref(a);
    cache_unref(b);
    assert_int_equal(s->releases, 2);
    free_shelf(s);
}

static void read_only_tiers_take_nothing(void **state)
{
    cache *c = open_cache("a");
    shelf *s = new_shelf(), *t = new_shelf();
    DIR *d;
    int n = 0;

    (void)state;
    add_shelf(c, s, HULL_STORE_READ_ONLY);
    add_shelf(c, t, 0);
    put_number(c, 1, 100);
    assert_int_equal(s->puts, 0);
    assert_int_equal(t->puts, 1);
    cache_unref(c);

    assert_int_equal(mkdir(path_in("empty"), 0700), 0);
    c = open_cache("empty", "cache_read_only", "on");
    add_shelf(c, t, 0);
    assert_true(get_number(c, 1));
    put_number(c, 2, 100); /* to the store alone */
    assert_int_equal(t->puts, 2);
    assert_true(get_number(c, 2)); /* in memory */
    cache_notes_put(c, str_of("k"), str_of("x 1\n"));
    expect_stats(c, "hits", 2, "hits_remote", 1, "hits_memory", 1,
                 "remote_stores", 1);
    assert_int_equal(hull_cache_clear(c), HULL_EINVAL);
    cache_unref(c);
    d = opendir(path_in("empty"));
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    assert_int_equal(n, 2); /* . and .. */
    assert_int_not_equal(try_open(&c, "absent", "cache_read_only", "on",
                                  NULL), HULL_OK);
    free_shelf(s);
    free_shelf(t);
}

static void stores_are_asked_in_order(void **state)
{
    cache *c = open_cache("a", "cache_memory", "0");
    shelf *s = new_shelf(), *t = new_shelf();

    (void)state;
    add_shelf(c, s, 0);
    add_shelf(c, t, 0);
    put_number(c, 1, 100);
    assert_int_equal(s->puts + t->puts, 2);
    OK(hull_cache_clear(c));
    slot_number(s, 1)->n = 0;
    assert_true(get_number(c, 1));
    assert_int_equal(s->gets, 1);
    assert_int_equal(t->gets, 1);
    OK(hull_cache_clear(c));
    put_number(c, 1, 100);
    OK(hull_cache_clear(c));
    assert_true(get_number(c, 1));
    assert_int_equal(s->gets, 2);
    assert_int_equal(t->gets, 1);
    expect_stats(c, "hits", 2, "hits_remote", 2, "misses_remote", 1,
                 "stores", 2, "remote_stores", 4);
    cache_unref(c);
    free_shelf(s);
    free_shelf(t);
}

/* Three failures in a row end a store; a good call in between does not. */
static void failing_store_is_left_alone(void **state)
{
    cache *c = open_cache("a");
    shelf *s = new_shelf();

    (void)state;
    add_shelf(c, s, 0);
    s->refuses = HULL_EIO;
    assert_false(get_number(c, 1));
    assert_false(get_number(c, 1));
    s->refuses = HULL_OK;
    assert_false(get_number(c, 1));
    s->refuses = HULL_EDEVICE;
    assert_false(get_number(c, 1));
    put_number(c, 1, 100); /* counts as well */
    expect_stats(c, "misses", 4, "misses_remote", 1, "remote_errors", 4,
                 "stores", 1);
    assert_false(get_number(c, 2));
    assert_int_equal(s->gets, 5);
    s->refuses = HULL_OK;
    assert_false(get_number(c, 2));
    put_number(c, 2, 100);
    assert_int_equal(s->gets, 5);
    assert_int_equal(s->puts, 1);
    expect_stats(c, "misses", 6, "misses_remote", 1, "remote_errors", 5,
                 "tier_disabled", 1, "stores", 2);
    cache_unref(c);
    free_shelf(s);
}

/* ---- hostile stores ------------------------------------------------------ */

static void bad_entries_are_misses(void **state)
{
    cache *a = open_cache("a", "cache_memory", "0"), *b;
    shelf *s = new_shelf();
    slot *one, *two;
    char *kept;
    size_t n;

    (void)state;
    add_shelf(a, s, 0);
    put_number(a, 1, 300);
    put_number(a, 2, 300);
    b = open_cache("b", "cache_memory", "0");
    add_shelf(b, s, HULL_STORE_READ_ONLY);
    one = slot_number(s, 1);
    two = slot_number(s, 2);
    n = one->n;
    kept = malloc(n + 1);
    assert_non_null(kept);
    memcpy(kept, one->p, n);
    for (size_t cut = 0; cut < n; cut += cut < 120 ? 1 : 37) {
        one->n = cut;
        assert_false(get_number(b, 1));
    }
    for (size_t at = 0; at < n; at++) {
        one->n = n;
        if (at >= 80 && at < 112)
            continue; /* the MAC's place */
        one->p[at] = (char)(one->p[at] ^ 0x41);
        assert_false(get_number(b, 1));
        one->p[at] = kept[at];
    }
    one->p = realloc(one->p, n + 1);
    one->p[n] = 0;
    one->n = n + 1;
    assert_false(get_number(b, 1));
    shelve(s, one->name, two->p, two->n); /* another key's */
    assert_false(get_number(b, 1));
    assert_int_equal(stat_of(b, "hits"), 0);
    assert_int_equal(stat_of(b, "entries"), 0);
    assert_int_equal(stat_of(b, "remote_errors"), 0);
    expect_stats(b, "misses", (int)stat_of(b, "misses"), "remote_corrupt",
                 (int)stat_of(b, "misses") - 1, "misses_remote", 1);
    shelve(s, one->name, kept, n);
    assert_true(get_number(b, 1));
    cache_unref(a);
    cache_unref(b);
    free(kept);
    free_shelf(s);
}

/* Right outside, wrong inside: the envelope of another entry's file. */
static void forged_insides_are_misses(void **state)
{
    container_writer *w = entry_number(2, 100, "main");
    cache *c = open_cache("a");
    cache_key k = key_number(1);
    shelf *s = new_shelf();
    char name[DIGEST_HEX_SIZE];
    buf content, value;

    (void)state;
    add_shelf(c, s, 0);
    buf_init(&value, 100000);
    OK(container_write_buf(w, &content));
    OK(envelope_pack(&value, CACHE_ENGINE, &k.d,
                     (bytes){(const uint8_t *)content.p, content.n}, NULL));
    remote_name(name, CACHE_ENGINE, &k.d);
    shelve(s, name, value.p, value.n);
    assert_false(get_number(c, 1));
    expect_stats(c, "misses", 1, "remote_corrupt", 1);
    /* Weights in it. */
    container_writer_free(w);
    buf_fini(&content);
    buf_clear(&value);
    w = entry_number(1, 100, "slots");
    OK(container_write_buf(w, &content));
    OK(envelope_pack(&value, CACHE_ENGINE, &k.d,
                     (bytes){(const uint8_t *)content.p, content.n}, NULL));
    shelve(s, name, value.p, value.n);
    assert_false(get_number(c, 1));
    expect_stats(c, "misses", 2, "remote_corrupt", 2);
    assert_int_equal(stat_of(c, "entries"), 0);
    container_writer_free(w);
    buf_fini(&content);
    buf_fini(&value);
    cache_key_fini(&k);
    cache_unref(c);
    free_shelf(s);
}

static void rejected_entry_leaves_the_store(void **state)
{
    cache *a = open_cache("a"), *b = open_cache("b");
    cache_key k = key_number(1);
    shelf *s = new_shelf();
    cache_entry e;
    bool hit;

    (void)state;
    add_shelf(a, s, 0);
    add_shelf(b, s, 0);
    put_number(a, 1, 100);
    cache_get(&e, &hit, b, CACHE_ENGINE, &k);
    assert_true(hit);
    ignore(fail(HULL_EFORMAT, "not a program"));
    cache_reject(b, &e, CACHE_ENGINE, &k);
    assert_int_equal(s->removes, 1);
    assert_false(get_number(b, 1));
    expect_stats(b, "hits", 1, "hits_remote", 1, "misses", 2,
                 "misses_remote", 1, "corrupt", 1);
    cache_key_fini(&k);
    cache_unref(a);
    cache_unref(b);
    free_shelf(s);
}

static void notes_stay_here(void **state)
{
    cache *c = open_cache("a");
    shelf *s = new_shelf();

    (void)state;
    add_shelf(c, s, 0);
    cache_notes_put(c, str_of("k"), str_of("x 1\n"));
    assert_int_equal(s->puts + s->gets, 0);
    cache_unref(c);
    free_shelf(s);
}

/* ---- secrets ------------------------------------------------------------- */

/* Nothing is asked before the first look-up. */
#define STORES "http://u:p@h/x?y|header=A:b|cacert=/x redis://:p@h/3"

#define SECRET_A file_in("secret_a", "0123456789abcdef")
#define SECRET_B file_in("secret_b", "0123456789abcdeF")

static void stores_need_the_mac(void **state)
{
    cache *a = open_cache("a", "cache_secret", SECRET_A),
          *b = open_cache("b", "cache_secret", SECRET_B),
          *c = open_cache("c", "cache_secret", SECRET_A),
          *none = open_cache("none");
    shelf *s = new_shelf();

    (void)state;
    add_shelf(a, s, 0);
    add_shelf(b, s, 0);
    add_shelf(c, s, 0);
    add_shelf(none, s, 0);
    put_number(none, 1, 100);
    assert_false(get_number(a, 1)); /* missing */
    put_number(a, 1, 100);
    assert_false(get_number(b, 1)); /* of another secret */
    assert_true(get_number(c, 1));
    slot_number(s, 1)->p[100] ^= 1;
    cache_unref(c);
    c = open_cache("d", "cache_secret", SECRET_A);
    add_shelf(c, s, 0);
    assert_false(get_number(c, 1));
    expect_stats(a, "misses", 1, "mac_failures", 1, "stores", 1,
                 "remote_stores", 1);
    expect_stats(b, "misses", 1, "mac_failures", 1);
    expect_stats(c, "misses", 1, "mac_failures", 1);
    assert_int_equal(stat_of(c, "entries"), 0);
    cache_unref(a);
    cache_unref(b);
    cache_unref(c);
    cache_unref(none);
    free_shelf(s);
}

/* In the folder the same, and ours replaces the other one's, which is not set
 * aside. */
static void folders_need_the_mac(void **state)
{
    cache *none = open_cache("a", "cache_memory", "0"),
          *a = open_cache("a", "cache_secret", SECRET_A, "cache_memory", "0"),
          *b = open_cache("a", "cache_secret", SECRET_B, "cache_memory", "0");
    char path[256];
    uint64_t good, bad;

    (void)state;
    put_number(none, 1, 100);
    file_of(path, "a", 1);
    assert_false(get_number(a, 1));
    assert_int_equal(access(path, F_OK), 0);
    assert_true(get_number(none, 1));
    put_number(a, 1, 100);
    assert_true(get_number(a, 1));
    assert_true(get_number(none, 1)); /* who has no secret checks none */
    assert_false(get_number(b, 1));
    expect_stats(none, "hits", 3, "hits_disk", 3, "misses", 2, "stores", 2,
                 "mac_failures", 2);
    put_number(a, 1, 500); /* signed by us: the first one stays */
    assert_int_equal(stat_of(a, "stores"), 2);
    OK(hull_cache_verify(b, &good, &bad));
    assert_int_equal(good, 0);
    assert_int_equal(bad, 1);
    assert_int_equal(access(path, F_OK), 0);
    OK(hull_cache_verify(a, &good, &bad));
    assert_int_equal(good, 1);
    assert_int_equal(bad, 0);
    /* Under another key's name. */
    put_number(a, 2, 100);
    {
        char other[256];

        file_of(other, "a", 2);
        assert_int_equal(rename(path, other), 0);
    }
    assert_false(get_number(a, 2));
    assert_int_equal(stat_of(a, "mac_failures"), 4);
    assert_int_equal(stat_of(a, "corrupt"), 0);
    cache_unref(none);
    cache_unref(a);
    cache_unref(b);
}

/* Notes are signed as well, and one without MAC is read as none. */
static void notes_need_the_mac(void **state)
{
    cache *none = open_cache("a"), *a = open_cache("a", "cache_secret",
                                                   SECRET_A);
    buf lines;

    (void)state;
    buf_init(&lines, 1000);
    cache_notes_put(none, str_of("k"), str_of("x 1\n"));
    cache_notes_get(a, str_of("k"), &lines);
    assert_int_equal(lines.n, 0);
    cache_notes_put(a, str_of("k"), str_of("y 1\n"));
    cache_notes_get(a, str_of("k"), &lines);
    assert_string_equal(lines.p, "y 1\n");
    assert_int_equal(stat_of(a, "mac_failures"), 2);
    buf_fini(&lines);
    cache_unref(none);
    cache_unref(a);
}

/* Code from a store needs a MAC that can be checked, and goes to none without. */
static void code_never_travels_unsigned(void **state)
{
    cache *plain = open_cache("plain"),
          *a = open_cache("a", "cache_secret", SECRET_A),
          *b = open_cache("b"), *c = open_cache("c", "cache_secret", SECRET_A);
    shelf *s = new_shelf();

    (void)state;
    add_shelf(plain, s, 0);
    add_shelf(a, s, 0);
    add_shelf(b, s, 0);
    add_shelf(c, s, 0);
    put_tagged(plain, 1, 100, "code");
    put_tagged(plain, 2, 100, "code.sm90");
    put_tagged(plain, 3, 100, "codes");
    assert_int_equal(s->puts, 1);
    assert_true(get_number(plain, 1)); /* its own folder's */
    assert_int_equal(stat_of(plain, "unsigned_code"), 2);
    put_tagged(a, 1, 100, "code");
    assert_int_equal(s->puts, 2);
    assert_false(get_number(b, 1)); /* signed, but it cannot check that */
    expect_stats(b, "misses", 1, "unsigned_code", 1);
    assert_true(get_number(c, 1));
    expect_stats(c, "hits", 1, "hits_remote", 1);
    cache_unref(plain);
    cache_unref(a);
    cache_unref(b);
    cache_unref(c);
    free_shelf(s);
}

static void environment_and_refusals(void **state)
{
    cache *c;

    (void)state;
    setenv("HULL_CACHE_SECRET_FILE", path_in("absent"), 1);
    assert_int_equal(try_open(&c, "a", NULL), HULL_ENOTFOUND);
    assert_null(c);
    c = open_cache("a", "cache_secret", "none");
    cache_unref(c);
    c = open_cache("a", "cache_secret", SECRET_A);
    cache_unref(c);
    unsetenv("HULL_CACHE_SECRET_FILE");
    setenv("HULL_CACHE_REMOTE", "gopher://host", 1);
    assert_int_equal(try_open(&c, "a", NULL), HULL_EUNSUPPORTED);
    assert_non_null(strstr(error_text(), "'gopher'"));
    c = open_cache("a", "cache_remote", "none");
    cache_unref(c);
    unsetenv("HULL_CACHE_REMOTE");
}

static void api_refuses(void **state)
{
    cache *c = open_cache("a");
    shelf *s = new_shelf();
    hull_cache_store store = {.user = s, .get = shelf_get};

    (void)state;
    assert_int_equal(hull_cache_add_store(NULL, &store, 0), HULL_EINVAL);
    assert_int_equal(hull_cache_add_store(c, NULL, 0), HULL_EINVAL);
    assert_int_equal(hull_cache_add_store(c, &store, 0), HULL_EINVAL);
    assert_int_equal(hull_cache_add_store(c, &store, 2), HULL_EINVAL);
    for (int i = 0; i < 16; i++)
        OK(hull_cache_add_store(c, &store, HULL_STORE_READ_ONLY));
    assert_int_equal(hull_cache_add_store(c, &store, HULL_STORE_READ_ONLY),
                     HULL_EINVAL);
    assert_false(get_number(c, 1));
    assert_int_equal(s->gets, 16);
    cache_unref(c);
    free_shelf(s);
}

/* What hiredis does when a server has gone. */
static void writing_to_nobody_ends_nothing(void **state)
{
    sigset_t before, after, pending;
    no_sigpipe hold;
    int fds[2];

    (void)state;
    assert_int_equal(signal(SIGPIPE, SIG_DFL) == SIG_ERR, 0);
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    no_sigpipe_begin(&hold);
    assert_int_equal(write(fds[1], "x", 1), -1);
    no_sigpipe_end(&hold);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    sigpending(&pending);
    assert_int_equal(sigismember(&before, SIGPIPE),
                     sigismember(&after, SIGPIPE));
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    close(fds[1]);
}

/* ---- memory runs out ----------------------------------------------------- */

/* Each allocation of a put and two gets fails in turn: a miss at most, and
 * nothing leaks. */
static void each_allocation_may_fail(void **state)
{
    cache *c = open_cache("a", "cache_secret", SECRET_A);
    cache_key k = key_number(1);
    shelf *s = new_shelf();
    bool failed = true;

    (void)state;
    add_shelf(c, s, 0);
    put_number(c, 1, 3000); /* what stays for the process is there now */
    assert_true(get_number(c, 1));
    for (uint64_t n = 1; failed; n++) {
        container_writer *w = entry_number(1, 3000, "main");
        uint64_t count;
        cache_entry e;
        int64_t live;
        bool hit;

        OK(hull_cache_clear(c));
        slot_number(s, 1)->n = 0;
        live = mem_live();
        count = mem_count();
        mem_fail_at(n, true);
        cache_put(c, CACHE_ENGINE, &k, w);
        cache_get(&e, &hit, c, CACHE_ENGINE, &k);
        cache_entry_close(&e);
        memory_clear(c->memory);
        cache_get(&e, &hit, c, CACHE_ENGINE, &k);
        cache_entry_close(&e);
        memory_clear(c->memory);
        failed = mem_count() - count >= n;
        mem_fail_at(0, false);
        container_writer_free(w);
        assert_true(mem_live() <= live);
        assert_true(failed || hit);
    }
    cache_key_fini(&k);
    cache_unref(c);
    free_shelf(s);
}

/* An entry of a store that memory does not hold is not a bad one. */
static void own_memory_is_not_the_stores(void **state)
{
    cache *a = open_cache("a"), *b = open_cache("b", "cache_memory", "0");
    shelf *s = new_shelf();

    (void)state;
    add_shelf(a, s, 0);
    add_shelf(b, s, 0);
    put_number(a, 1, 3000);
    each_allocation_fails(b, 1);
    cache_unref(a);
    cache_unref(b);
    free_shelf(s);
}

static void opening_may_run_out_of_memory(void **state)
{
    bool failed = true;
    int64_t live;
    options *o;
    cache *c;

    (void)state;
    OK(options_new(&o));
    OK(hull_options_set(o, "cache_secret", SECRET_A));
    OK(hull_options_set(o, "cache_remote", STORES));
    OK(cache_open(&c, path_in("a"), o));
    cache_unref(c);
    live = mem_live();
    for (uint64_t n = 1; failed; n++) {
        uint64_t count = mem_count();
        hull_status st;

        mem_fail_at(n, true);
        st = cache_open(&c, path_in("a"), o);
        failed = mem_count() - count >= n;
        mem_fail_at(0, false);
        assert_true(st == HULL_OK || st == HULL_ENOMEM);
        cache_unref(c);
        assert_int_equal(mem_live(), live);
    }
    options_free(o);
}

/* ---- threads ------------------------------------------------------------- */

static void threads_share_the_tiers(void **state)
{
    cache *a = open_cache("a", "cache_memory", "4KiB"),
          *b = open_cache("b", "cache_memory", "4KiB");
    shelf *s = new_shelf();

    (void)state;
    add_shelf(a, s, 0);
    add_shelf(b, s, 0);
    share_by_threads(a, b, 100, 700);
    assert_int_equal(stat_of(a, "hits") + stat_of(a, "misses"), 200);
    assert_int_equal(stat_of(a, "hits"), stat_of(a, "hits_memory") +
                     stat_of(a, "hits_disk") + stat_of(a, "hits_remote"));
    assert_int_equal(stat_of(a, "entries") + stat_of(b, "entries"), 20);
    assert_int_equal(stat_of(a, "remote_errors"), 0);
    cache_unref(a);
    cache_unref(b);
    free_shelf(s);
}


int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_comes_first),
        TEST(disk_hits_stay_in_memory),
        TEST(memory_hits_touch_the_file),
        TEST(memory_is_bounded),
        TEST(clear_verify_reject_reach_memory),
        TEST(notes_are_read_anew),
        TEST(store_hit_is_kept),
        TEST(read_only_tiers_take_nothing),
        TEST(stores_are_asked_in_order),
        TEST(failing_store_is_left_alone),
        TEST(bad_entries_are_misses),
        TEST(forged_insides_are_misses),
        TEST(rejected_entry_leaves_the_store),
        TEST(notes_stay_here),
        TEST(stores_need_the_mac),
        TEST(folders_need_the_mac),
        TEST(notes_need_the_mac),
        TEST(code_never_travels_unsigned),
        TEST(environment_and_refusals),
        TEST(api_refuses),
        TEST(each_allocation_may_fail),
        TEST(own_memory_is_not_the_stores),
        TEST(opening_may_run_out_of_memory),
        TEST(writing_to_nobody_ends_nothing),
        TEST(threads_share_the_tiers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
