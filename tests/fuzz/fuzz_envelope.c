/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * What a store answers: an envelope read as it is, then as the answer to a
 * look-up of whatever key its entry claims to have, with and without a secret:
 * a miss, or an entry that is what it says. Names of stores are read, too.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/disk.h"
#include "fuzz_container.h"

#define UNPACKED_MAX ((uint64_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bytes answer; /* of the store */

static hull_status give(void *user, const char *name,
                        hull_status (*take)(void *, const void *, size_t),
                        void *sink)
{
    (void)user;
    (void)name;
    return take(sink, answer.p, answer.n);
}

static cache *opened(const char *folder, const char *secret)
{
    hull_cache_store store = {.get = give};
    options *o;
    cache *c;

    if (options_new(&o) != HULL_OK ||
        hull_options_set(o, "cache_read_only", "on") != HULL_OK ||
        hull_options_set(o, "cache_memory", "0") != HULL_OK ||
        hull_options_set(o, "cache_remote", "none") != HULL_OK ||
        hull_options_set(o, "cache_secret", secret) != HULL_OK ||
        cache_open(&c, folder, o) != HULL_OK ||
        hull_cache_add_store(c, &store, HULL_STORE_READ_ONLY) != HULL_OK)
        abort();
    options_free(o);
    return c;
}

/* An empty folder, with a secret and without one; there for the process. */
static cache *plain, *sealed;

static void remove_folder(void)
{
    cache_unref(plain);
    cache_unref(sealed);
}

static void set_up(void)
{
    char folder[] = "/tmp/hull-fuzz-envelope-XXXXXX", secret[64];
    file_part text = {"0123456789abcdef", 16};

    if (plain != NULL)
        return;
    log_set_sink(NULL, NULL);
    if (log_configure("all:error") != HULL_OK || mkdtemp(folder) == NULL)
        abort();
    snprintf(secret, sizeof secret, "%s/secret", folder);
    if (file_write_atomic(secret, &text, 1) != HULL_OK)
        abort();
    plain = opened(folder, "none");
    sealed = opened(folder, secret);
    unlink(secret);
    rmdir(folder);
    atexit(remove_folder);
}

/* The entry with its checksums mended, in an envelope of the key that it claims
 * to have. */
static bool mended(buf *out, cache_key *k, const envelope *e)
{
    container *c = NULL;
    blob *content = NULL;
    bytes text;
    bool good = false;

    if (envelope_unpack(&content, e, UNPACKED_MAX) != HULL_OK)
        return false;
    fuzz_mend_container(content->p, content->n);
    if (container_open(&c, (bytes){content->p, content->n}, UINT64_MAX) ==
            HULL_OK &&
        container_get(c, "key", 1 << 20, &text) == HULL_OK)
        good = cache_key_text(k, (str){(const char *)text.p, text.n}) ==
                   HULL_OK &&
               envelope_pack(out, e->kind, &k->d,
                             (bytes){content->p, content->n}, NULL) ==
                   HULL_OK;
    container_free(c);
    blob_unref(content);
    return good;
}

/* Unsigned, it may be a hit only where nobody asks for a MAC. */
static void look_up(const cache_key *k, cache_kind kind)
{
    cache_entry e;
    bool hit;

    cache_get(&e, &hit, plain, kind, k);
    if (hit && container_has_code(e.c))
        abort();
    cache_entry_close(&e);
    cache_get(&e, &hit, sealed, kind, k);
    if (hit)
        abort();
    cache_entry_close(&e);
}

static void read_as_store(const uint8_t *p, size_t n)
{
    tier_config t;
    buf b;

    if (tier_config_read(&t, (str){(const char *)p, n}, 1) == HULL_OK)
        tier_config_fini(&t);
    buf_init(&b, 1 << 20);
    url_redacted(&b, (str){(const char *)p, n});
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    cache_key k = {0};
    envelope e;
    buf again;

    set_up();
    read_as_store(p, n < 4096 ? n : 4096);
    buf_init(&again, UNPACKED_MAX);
    answer = (bytes){p, n};
    if (envelope_open(&e, answer) != HULL_OK)
        return 0;
    k.d = e.key;
    look_up(&k, e.kind);
    if (mended(&again, &k, &e)) {
        answer = (bytes){(const uint8_t *)again.p, again.n};
        look_up(&k, e.kind);
    }
    cache_key_fini(&k);
    buf_fini(&again);
    return 0;
}
