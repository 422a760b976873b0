/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * weights_unit.h - what the tests of src/weights share: a folder of their own,
 * files in it, the shared fixtures, and checks of whole indexes.
 */
#ifndef HULL_WEIGHTS_UNIT_H
#define HULL_WEIGHTS_UNIT_H

#include "folder_unit.h"

#include "weights/weights.h"

#define at(name) path_in(name)

static inline const char *put(const char *name, const void *p, size_t n)
{
    const char *path = at(name);

    spill(path, p, n);
    return path;
}

/* Path below the shared folder; skips the test when it is absent. */
static inline const char *shared(const char *name)
{
    static char path_text[4096];
    const char *root = getenv("HULL_SHARED");

    snprintf(path_text, sizeof path_text, "%s/%s", root ? root : "../shared",
             name);
    if (access(path_text, R_OK) != 0) {
        print_message("skipped: %s is absent\n", path_text);
        skip();
    }
    return path_text;
}

static inline weights *open_ok(const char *path)
{
    weights *w;

    if (weights_open(&w, path, NULL) != HULL_OK)
        stop("%s", error_text());
    return w;
}

/* Opening must fail with this status and name this in its text. */
static inline void open_bad(const char *path, hull_status want,
                            const char *text)
{
    weights *w;
    hull_status st = weights_open(&w, path, NULL);

    if (st == HULL_OK) {
        weights_unref(w);
        stop("%s opens, wanted %s", path, text);
    }
    assert_null(w);
    if (!strstr(error_text(), text) || st != want)
        stop("status %d, text '%s'; wanted %d, '%s'", (int)st, error_text(),
             (int)want, text);
}

static inline const weight_entry *find(const weights *w, const char *name)
{
    const weight_entry *e = weights_find(w, str_of(name));

    if (!e)
        stop("tensor '%s' is missing", name);
    return e;
}

/* Every tensor of b is in a, with the same dtype, shape and bytes. */
static inline void assert_holds(const weights *a, const weights *b)
{
    for (size_t i = 0; i < weights_count(b); i++) {
        const weight_entry *eb = weights_at(b, i);
        const weight_entry *ea = weights_find(a, eb->name);
        bool equal = false;

        if (!ea)
            stop("tensor '%.*s' is missing", STR_ARG(eb->name));
        assert_int_equal(ea->dtype, eb->dtype);
        assert_int_equal(ea->rank, eb->rank);
        assert_memory_equal(ea->shape, eb->shape,
                            ea->rank * sizeof ea->shape[0]);
        assert_int_equal(weights_equal(&equal, a, ea, b, eb), HULL_OK);
        if (!equal)
            stop("tensor '%.*s' differs", STR_ARG(eb->name));
    }
}

/* Opens damaged copies of the file: whatever comes out, it must come back.
 * A copy that opens is also read. */
static inline void survive_damage(const char *source, unsigned rounds)
{
    char *good, *p;
    size_t n;
    uint64_t seed = 88172645463325252u;

    assert_int_equal(file_read_all(&good, &n, source, (size_t)1 << 24),
                     HULL_OK);
    p = mem_alloc(n);
    assert_non_null(p);
    assert_int_equal(log_configure("all:error"), HULL_OK);
    for (unsigned i = 0; i < rounds; i++) {
        weights *w;
        digest d;
        size_t len = n;

        memcpy(p, good, n);
        for (unsigned k = 0; k <= i % 4; k++) {
            size_t where;

            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            where = (seed >> 16) % (i % 2 && n > 2048 ? 2048 : n);
            p[where] = (char)(seed >> 8);
        }
        if (i % 5 == 4)
            len = (seed >> 20) % n;
        if (weights_open(&w, put("damaged", p, len), NULL) == HULL_OK)
            ignore(weights_digest(w, &d)); /* reads all; may fail */
        weights_unref(w);
    }
    assert_int_equal(log_configure(""), HULL_OK);
    mem_free(p);
    mem_free(good);
}

/* Every failing allocation of an open is an error, and none leaks. */
static inline void survive_no_memory(const char *path)
{
    int64_t live = mem_live();
    hull_status st = HULL_ENOMEM;
    weights *w;

    for (uint64_t n = 1; n < 4000 && st != HULL_OK; n++) {
        mem_fail_at(n, true);
        st = weights_open(&w, path, NULL);
        mem_fail_at(0, false);
        if (st != HULL_OK) {
            assert_int_equal(st, HULL_ENOMEM);
            assert_null(w);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_int_equal(st, HULL_OK);
    weights_unref(w);
    assert_int_equal(mem_live(), live);
}

#endif
