/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * hash.c - digests that are published (BLAKE2b-256), checksums that find
 * damage (XXH3), and a map from text to numbers. The map's keys come from
 * files, so its hash is keyed with a random key of the process: nobody can
 * prepare names that all fall into one slot. Nothing iterates over a map, so
 * the key does not show.
 */
#include "base/base.h"

#include <pthread.h>
#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

_Static_assert(sizeof(digester) >= sizeof(crypto_generichash_state) &&
                   _Alignof(digester) >= _Alignof(crypto_generichash_state),
               "digester cannot hold libsodium's state");
_Static_assert(sizeof(digest) >= crypto_generichash_BYTES_MIN &&
                   sizeof(digest) <= crypto_generichash_BYTES_MAX,
               "libsodium cannot make digests of this size");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned char map_key[crypto_shorthash_KEYBYTES];

/* Picks libsodium's fastest code; when that is refused the portable code runs
 * and gives the same digests. Without random bytes in the system the time and
 * an address have to do for the key. */
static void init(void)
{
    uint64_t key[2] = { time_ns(), (uint64_t)(uintptr_t)&key };
    unsigned char strong[sizeof(map_key)];

    memcpy(map_key, key, sizeof(map_key));
    if (getrandom(strong, sizeof(strong), GRND_NONBLOCK) == sizeof(strong))
        memcpy(map_key, strong, sizeof(map_key));
    if (sodium_init() < 0)
        return;
}

static crypto_generichash_state *state_of(digester *d)
{
    return (crypto_generichash_state *)(void *)d->state;
}

void digest_begin(digester *d)
{
    pthread_once(&once, init);
    crypto_generichash_init(state_of(d), NULL, 0, sizeof(digest));
}

void digest_update(digester *d, const void *p, size_t n)
{
    if (n > 0)
        crypto_generichash_update(state_of(d), p, n);
}

void digest_end(digester *d, digest *out)
{
    crypto_generichash_final(state_of(d), out->b, sizeof(out->b));
}

digest digest_of(const void *p, size_t n)
{
    digester d;
    digest out;

    digest_begin(&d);
    digest_update(&d, p, n);
    digest_end(&d, &out);
    return out;
}

void digest_hex(const digest *d, char out[DIGEST_HEX_SIZE])
{
    sodium_bin2hex(out, DIGEST_HEX_SIZE, d->b, sizeof(d->b));
}

/* Value of a lower-case hexadecimal digit, -1 for anything else. */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool digest_from_hex(digest *out, str hex)
{
    size_t i;

    memset(out, 0, sizeof(*out));
    if (hex.n != DIGEST_HEX_SIZE - 1)
        return false;
    for (i = 0; i < sizeof(out->b); i++) {
        int high = hex_value(hex.p[2 * i]), low = hex_value(hex.p[2 * i + 1]);

        if (high < 0 || low < 0) {
            memset(out, 0, sizeof(*out));
            return false;
        }
        out->b[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool digest_eq(const digest *a, const digest *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

checksum checksum_of(const void *p, size_t n)
{
    XXH128_hash_t h = XXH3_128bits(n == 0 ? "" : p, n);

    return (checksum){ h.low64, h.high64 };
}

uint64_t hash64_keyed(const void *p, size_t n)
{
    uint64_t seed;

    pthread_once(&once, init);
    memcpy(&seed, map_key, sizeof(seed));
    return XXH3_64bits_withSeed(n == 0 ? "" : p, n, seed);
}

uint64_t hash64(const void *p, size_t n)
{
    return XXH3_64bits(n == 0 ? "" : p, n);
}

/* ---- strmap: open addressing, linear probing, at most 3/4 full ----------- */

struct strmap_slot {
    str key; /* p NULL: a free slot */
    uint64_t hash;
    uint32_t value;
};

static uint64_t key_hash(str key)
{
    unsigned char h[crypto_shorthash_BYTES];
    uint64_t v;

    pthread_once(&once, init);
    crypto_shorthash(h, (const unsigned char *)(key.n == 0 ? "" : key.p), key.n,
                     map_key);
    memcpy(&v, h, sizeof(v));
    return v;
}

/* The key's slot, or the free one where it belongs. */
static struct strmap_slot *find_slot(struct strmap_slot *slots, size_t cap,
                                     str key, uint64_t hash)
{
    size_t i = hash & (cap - 1);

    while (slots[i].key.p != NULL &&
           (slots[i].hash != hash || !str_eq(slots[i].key, key)))
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static hull_status double_slots(strmap *m)
{
    size_t cap = m->cap == 0 ? 16 : m->cap * 2, i;
    struct strmap_slot *slots = mem_calloc(cap, sizeof(*slots));

    if (slots == NULL)
        return fail_oom(cap * sizeof(*slots));
    for (i = 0; i < m->cap; i++) {
        struct strmap_slot *s = &m->slots[i];

        if (s->key.p != NULL)
            *find_slot(slots, cap, s->key, s->hash) = *s;
    }
    mem_free(m->slots);
    m->slots = slots;
    m->cap = cap;
    return HULL_OK;
}

hull_status strmap_set(strmap *m, str key, uint32_t value)
{
    uint64_t hash = key_hash(key);
    struct strmap_slot *s;
    char *copy;

    if (m->n >= m->cap / 4 * 3)
        TRY(double_slots(m));
    s = find_slot(m->slots, m->cap, key, hash);
    if (s->key.p == NULL) {
        copy = arena_strndup(&m->keys, key.p, key.n);
        if (copy == NULL)
            return fail_oom(key.n);
        *s = (struct strmap_slot){ { copy, key.n }, hash, value };
        m->n++;
    }
    s->value = value;
    return HULL_OK;
}

bool strmap_get(const strmap *m, str key, uint32_t *out)
{
    struct strmap_slot *s;

    *out = 0;
    if (m->cap == 0)
        return false;
    s = find_slot(m->slots, m->cap, key, key_hash(key));
    if (s->key.p == NULL)
        return false;
    *out = s->value;
    return true;
}

void strmap_fini(strmap *m)
{
    if (m == NULL)
        return;
    mem_free(m->slots);
    arena_fini(&m->keys);
    memset(m, 0, sizeof(*m));
}
