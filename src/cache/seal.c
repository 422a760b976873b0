/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * seal.c - reads the secret, makes and checks MACs (grammar in seal.h). The
 * secret itself is not kept: only the key that was derived of it is.
 */
#include "cache/seal.h"
#include "cache/disk.h"
#include "cache/envelope.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#define MAC_SIZE sizeof(digest)

struct seal {
    digest key;
};

/* ---- the secret ---------------------------------------------------------- */

static hull_status check_mode(const char *path)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return fail(errno == ENOENT ? HULL_ENOTFOUND : HULL_EIO,
                    "secret '%s': %s", path, strerror(errno));
    if ((s.st_mode & S_IWOTH) != 0)
        return fail(HULL_EINVAL, "secret '%s' may be written by everybody "
                    "(mode %03o)", path, (unsigned)(s.st_mode & 0777));
    if ((s.st_mode & S_IROTH) != 0)
        log_warn("cache", "secret '%s' may be read by everybody (mode %03o)",
                 path, (unsigned)(s.st_mode & 0777));
    return HULL_OK;
}

/* One line's end at the end is an editor's, not the secret's. */
static size_t without_end(const char *p, size_t n)
{
    if (n > 0 && p[n - 1] == '\n')
        n--;
    return n > 0 && p[n - 1] == '\r' ? n - 1 : n;
}

static void derive(seal *s, const char *p, size_t n)
{
    static const char label[] = "hull-secret 1\n";
    digester d;

    digest_begin(&d);
    digest_update(&d, label, sizeof label - 1);
    digest_update(&d, p, n);
    digest_end(&d, &s->key);
    sodium_memzero(&d, sizeof d);
}

hull_status seal_open(seal **out, const char *path)
{
    hull_status st = HULL_OK;
    size_t n = 0, used;
    char *text = NULL;
    seal *s = NULL;

    *out = NULL;
    TRY(check_mode(path));
    TRY(note(file_read_all(&text, &n, path, SEAL_SECRET_MAX), "secret"));
    used = without_end(text, n);
    if (used < SEAL_SECRET_MIN)
        TRY_OUT(fail(HULL_EINVAL, "secret '%s' has %zu bytes, wanted %d or "
                     "more", path, used, SEAL_SECRET_MIN));
    s = mem_calloc(1, sizeof *s);
    if (s == NULL)
        TRY_OUT(fail_oom(sizeof *s));
    derive(s, text, used);
    *out = s;
out:
    sodium_memzero(text, n);
    mem_free(text);
    return st;
}

void seal_close(seal *s)
{
    if (s == NULL)
        return;
    sodium_memzero(s, sizeof *s);
    mem_free(s);
}

/* ---- MACs ---------------------------------------------------------------- */

static void begin(digester *d, const seal *s, const char *label)
{
    crypto_generichash_state *state = (void *)d->state;

    digest_begin(d); /* picks libsodium's code once */
    crypto_generichash_init(state, s->key.b, sizeof s->key.b, MAC_SIZE);
    digest_update(d, label, strlen(label));
}

digest seal_wire(const seal *s, bytes header, bytes frame)
{
    digester d;
    digest mac;

    begin(&d, s, "hull-wire 1\n");
    digest_update(&d, header.p, header.n);
    digest_update(&d, frame.p, frame.n);
    digest_end(&d, &mac);
    return mac;
}

bool seal_same(const digest *a, const uint8_t mac[32])
{
    return sodium_memcmp(a->b, mac, MAC_SIZE) == 0;
}

static void add_number(digester *d, uint64_t v, size_t n_bytes)
{
    uint8_t b[8];

    le_put(b, v, n_bytes);
    digest_update(d, b, n_bytes);
}

static void add_section(digester *d, const section_view *v)
{
    char tag[SECTION_TAG_MAX + 1] = {0};

    memcpy(tag, v->tag, strlen(v->tag));
    digest_update(d, tag, sizeof tag);
    add_number(d, v->stored.n, 8);
    add_number(d, v->size, 8);
    add_number(d, v->codec, 4);
    digest_update(d, v->stored.p, v->stored.n);
}

static void begin_entry(digester *d, const seal *s, cache_kind kind,
                        const digest *key)
{
    char name[ENVELOPE_KIND_SIZE] = {0};
    const char *text = cache_kind_name(kind);

    begin(d, s, "hull-entry 1\n");
    memcpy(name, text, strlen(text));
    digest_update(d, name, sizeof name);
    digest_update(d, key->b, sizeof key->b);
}

hull_status seal_add(const seal *s, container_writer *w, cache_kind kind,
                     const digest *key)
{
    section_view v;
    digester d;
    digest mac;

    begin_entry(&d, s, kind, key);
    for (size_t i = 0; container_writer_section(w, i, &v); i++)
        add_section(&d, &v);
    digest_end(&d, &mac);
    return container_add(w, SEAL_SECTION, mac.b, sizeof mac.b);
}

hull_status seal_check(const seal *s, const container *c, cache_kind kind,
                       const digest *key)
{
    bytes found = {0};
    section_view v;
    digester d;
    digest mac;

    begin_entry(&d, s, kind, key);
    for (size_t i = 0; container_section(c, i, &v); i++) {
        if (strcmp(v.tag, SEAL_SECTION) == 0)
            found = v.stored;
        else
            add_section(&d, &v);
    }
    digest_end(&d, &mac);
    if (found.n != MAC_SIZE)
        return fail(HULL_EMISMATCH, "entry has no MAC");
    return seal_same(&mac, found.p)
               ? HULL_OK
               : fail(HULL_EMISMATCH, "entry does not have the MAC of this "
                      "secret");
}
