/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * remote.c - the stores behind the folder: which schemes there are, and what a
 * failure costs. A store that fails LIMIT calls in a row, or one for time, is
 * left alone for a pause that doubles each time, whichever cache opened it: the
 * state of a URL is the process's. Nothing that a store says is trusted: its
 * entries pass all that entries of the folder pass.
 */
#include "cache/tier.h"

#include "cache/disk.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 3       /* failures in a row */
#define PAUSE_MAX_MS ((uint64_t)3600 * 1000)
#define STORES_MAX 16
#define URLS_MAX 64   /* whose state the process remembers */

typedef struct scheme {
    const char *name;
    tier_open_fn *open;  /* NULL: this build lacks it */
    const char *package; /* that it needs */
} scheme;

#ifndef HULL_CURL
#define http_open NULL
#endif
#ifndef HULL_HIREDIS
#define redis_open NULL
#endif
#define CURL_PACKAGE "libcurl (Debian: libcurl4-openssl-dev)"
#define REDIS_PACKAGE "hiredis (Debian: libhiredis-dev)"

static const scheme schemes[] = {
    {"http", http_open, CURL_PACKAGE},
    {"https", http_open, CURL_PACKAGE},
    {"redis", redis_open, REDIS_PACKAGE},
    {"redis+unix", redis_open, REDIS_PACKAGE},
    {"rediss", redis_open, REDIS_PACKAGE},
};

/* From LIMIT failures in a row on the store is off until a time (time_ns); what
 * is asked then ends the row or begins the next pause. */
typedef struct health {
    _Atomic(uint32_t) failures, pauses;
    _Atomic(uint64_t) until;
} health;

typedef struct store {
    tier_config config;
    const tier_ops *ops;
    void *self;
    health own, *health; /* its own, or that of the URL */
    _Atomic(bool) has_bad;  /* an entry that has to be replaced */
} store;

struct remotes {
    pthread_mutex_t adding;
    _Atomic(size_t) n;
    store stores[STORES_MAX];
};

/* ---- the state of URLs --------------------------------------------------- */

static struct {
    _Atomic(uint64_t) url; /* hash, 0 = free */
    health health;
} urls[URLS_MAX];

/* NULL when the process has used too many. */
static health *health_of(str url)
{
    uint64_t id = hash64(url.p, url.n) | 1;

    for (size_t i = 0; i < URLS_MAX; i++) {
        uint64_t there = 0;

        if (atomic_compare_exchange_strong(&urls[i].url, &there, id) ||
            there == id)
            return &urls[i].health;
    }
    return NULL;
}

/* ---- open and close ------------------------------------------------------ */

static hull_status open_scheme(store *s)
{
    const tier_config *t = &s->config;

    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        if (strcmp(t->scheme, schemes[i].name) != 0)
            continue;
        if (schemes[i].open == NULL)
            return fail(HULL_EUNSUPPORTED, "store '%s': this build has no %s",
                        t->shown, schemes[i].package);
        return note(schemes[i].open(&s->ops, &s->self, t), "store '%s'",
                    t->shown);
    }
    return fail(HULL_EUNSUPPORTED, "store number %zu: there is no scheme "
                "'%s', wanted http, https, redis, redis+unix or rediss",
                t->number, t->scheme);
}

static hull_status open_store(remotes *r, str text)
{
    size_t n = atomic_load(&r->n);
    store *s = &r->stores[n];
    health *h;

    if (n == STORES_MAX)
        return fail(HULL_EINVAL, "more than %d stores", STORES_MAX);
    TRY(tier_config_read(&s->config, text, n + 1));
    h = health_of(str_split(text, '|', &(str){0}));
    s->health = h != NULL ? h : &s->own;
    TRY(open_scheme(s));
    atomic_store(&r->n, n + 1);
    return HULL_OK;
}

hull_status remotes_open(remotes **out, str stores)
{
    hull_status st = HULL_OK;
    remotes *r = mem_calloc(1, sizeof *r);

    *out = NULL;
    if (r == NULL)
        return fail_oom(sizeof *r);
    pthread_mutex_init(&r->adding, NULL);
    while (stores.n > 0) {
        str text = str_split(stores, ' ', &stores);

        if (text.n > 0)
            TRY_OUT(open_store(r, text));
    }
    *out = r;
    r = NULL;
out:
    remotes_close(r);
    return st;
}

void remotes_close(remotes *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < STORES_MAX; i++) {
        if (r->stores[i].self != NULL)
            r->stores[i].ops->close(r->stores[i].self);
        tier_config_fini(&r->stores[i].config);
    }
    pthread_mutex_destroy(&r->adding);
    mem_free(r);
}

hull_status remotes_add(remotes *r, const tier_ops *ops, void *self,
                        bool read_only)
{
    hull_status st = HULL_OK;
    size_t n;

    pthread_mutex_lock(&r->adding);
    n = atomic_load(&r->n);
    if (n == STORES_MAX) {
        st = fail(HULL_EINVAL, "more than %d stores", STORES_MAX);
    } else {
        store *s = &r->stores[n];

        s->config = (tier_config){.number = n + 1, .shown = "the caller's",
                                  .read_only = read_only,
                                  .max_size = UINT64_MAX / 4,
                                  .pause_ms = TIER_PAUSE_MS};
        s->ops = ops;
        s->self = self;
        s->health = &s->own;
        atomic_store(&r->n, n + 1);
    }
    pthread_mutex_unlock(&r->adding);
    return st;
}

/* ---- calls --------------------------------------------------------------- */

_Static_assert(CONTAINER_MAJOR == 1 && ENVELOPE_VERSION == 1,
               "another format, another label of names");

void remote_name(char out[DIGEST_HEX_SIZE], cache_kind kind,
                 const digest *key)
{
    const char *name = cache_kind_name(kind);
    digester d;
    digest sum;

    digest_begin(&d);
    digest_update(&d, "hull-remote 1\n", 14);
    digest_update(&d, name, strlen(name));
    digest_update(&d, "\n", 1);
    digest_update(&d, key->b, sizeof key->b);
    digest_end(&d, &sum);
    digest_hex(&sum, out);
}

static bool is_off(const store *s)
{
    return atomic_load(&s->health->failures) >= LIMIT &&
           time_ns() < atomic_load(&s->health->until);
}

/* Of those who see it fail at once, one begins the pause. */
static void begin_pause(cache *c, store *s)
{
    health *h = s->health;
    uint64_t now = time_ns(), until = atomic_load(&h->until);
    uint32_t n = atomic_load(&h->pauses);
    uint64_t ms = s->config.pause_ms << (n < 16 ? n : 16);

    ms = ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
    if (now < until || !atomic_compare_exchange_strong(&h->until, &until,
                                                       now + ms * 1000000))
        return;
    atomic_store(&h->pauses, n + 1);
    counters_add(c, STAT_tier_disabled, 1);
    log_warn("cache", "store '%s' is not asked for %" PRIu64 ".%03u seconds",
             s->config.shown, ms / 1000, (unsigned)(ms % 1000));
}

/* A lack of our own memory is no failure of the store. */
static bool is_own_failure(cache *c, const store *s, hull_status st)
{
    if (st != HULL_ENOMEM)
        return false;
    log_warn("cache", "store '%s': %s", s->config.shown, error_text());
    counters_add(c, STAT_errors, 1);
    return true;
}

/* Counts what a call did and what its failure costs. */
static void note_call(cache *c, store *s, const tier_call *call,
                      hull_status st, const char *doing)
{
    uint32_t more = call->timed_out ? LIMIT : 1;

    counters_add(c, STAT_bytes_sent, call->sent);
    counters_add(c, STAT_bytes_received, call->received);
    if (st == HULL_OK || st == HULL_ENOTFOUND) {
        if (!is_off(s)) {
            atomic_store(&s->health->failures, 0);
            atomic_store(&s->health->pauses, 0);
        }
        return;
    }
    if (is_own_failure(c, s, st))
        return;
    log_warn("cache", "store '%s', %s: %s", s->config.shown, doing,
             error_text());
    counters_add(c, STAT_remote_errors, 1);
    if (call->timed_out)
        counters_add(c, STAT_remote_timeouts, 1);
    if (atomic_fetch_add(&s->health->failures, more) + more >= LIMIT)
        begin_pause(c, s);
}

static hull_status fetch(buf *out, cache *c, store *s, const char *name)
{
    tier_call call = {0};
    hull_status st = s->ops->get(s->self, &call, name, out);

    note_call(c, s, &call, st, "get");
    if (st == HULL_ENOTFOUND)
        counters_add(c, STAT_misses_remote, 1);
    return st;
}

/* ---- get ----------------------------------------------------------------- */

/* Key and kind are those that were asked for, the MAC is right, and all that a
 * folder's entry must be. */
static hull_status take_entry(cache_entry *out, const cache *c,
                              cache_kind kind, const cache_key *k,
                              bytes data, uint64_t max)
{
    bytes key;
    envelope e;

    TRY(envelope_open(&e, data));
    if (e.kind != kind || !digest_eq(&e.key, &k->d))
        return fail(HULL_EFORMAT, "entry of another key or kind");
    if (e.n != data.n)
        return fail(HULL_EFORMAT, "%zu bytes behind the entry",
                    data.n - e.n);
    TRY(entry_arrived(out, &key, c, &e, max));
    if (key.n != k->preimage.n || memcmp(key.p, k->preimage.p, key.n) != 0)
        return fail(HULL_EFORMAT, "entry has another preimage");
    return HULL_OK;
}

/* A bad entry is a miss of that store, never a failure of the compile. */
static void note_bad_entry(cache *c, store *s, hull_status st)
{
    if (is_own_failure(c, s, st))
        return;
    atomic_store(&s->has_bad, true);
    log_warn("cache", "store '%s' has a bad entry: %s", s->config.shown,
             error_text());
    counters_add(c, st == HULL_EMISMATCH     ? STAT_mac_failures
                    : st == HULL_EUNSUPPORTED ? STAT_unsigned_code
                                              : STAT_remote_corrupt, 1);
}

static bool get_from(cache_entry *out, cache *c, store *s, cache_kind kind,
                     const cache_key *k, const char *name)
{
    hull_status st;
    buf data;

    buf_init(&data, (size_t)s->config.max_size);
    st = fetch(&data, c, s, name);
    if (st == HULL_OK) {
        bytes view = {(const uint8_t *)data.p, data.n};

        st = take_entry(out, c, kind, k, view, s->config.max_size);
        if (st != HULL_OK) {
            note_bad_entry(c, s, st);
            cache_entry_close(out);
        }
    }
    buf_fini(&data);
    return st == HULL_OK;
}

bool remotes_get(cache_entry *out, cache *c, cache_kind kind,
                 const cache_key *k)
{
    remotes *r = c->remotes;
    size_t n = atomic_load(&r->n);
    char name[DIGEST_HEX_SIZE];

    if (n == 0 || cache_kinds[kind].local)
        return false;
    remote_name(name, kind, &k->d);
    for (size_t i = 0; i < n; i++) {
        store *s = &r->stores[i];

        if (is_off(s) || !get_from(out, c, s, kind, k, name))
            continue;
        out->store = i + 1;
        return true;
    }
    return false;
}

/* ---- put, remove --------------------------------------------------------- */

static hull_status pack(buf *out, cache *c, cache_kind kind, const digest *key,
                        bytes content)
{
    hull_status st;

    buf_init(out, SIZE_MAX / 2);
    st = envelope_pack(out, kind, key, content, c->seal);
    if (st != HULL_OK) {
        log_warn("cache", "%s", error_text());
        counters_add(c, STAT_errors, 1);
    }
    return st;
}

/* Several machines may have built the same: the first one's stays, as in the
 * folder; the others save the way. A store that had a bad entry gets all. */
static bool has_it(cache *c, store *s, const char *name)
{
    tier_call call = {0};
    hull_status st;

    if (s->ops->has == NULL || atomic_load(&s->has_bad))
        return false;
    st = s->ops->has(s->self, &call, name);
    note_call(c, s, &call, st, "has");
    return st != HULL_ENOTFOUND; /* a failure is counted once */
}

static void put_to(cache *c, store *s, const char *name, const buf *value)
{
    bytes view = {(const uint8_t *)value->p, value->n};
    tier_call call = {0};
    hull_status st;

    if (view.n > s->config.max_size) {
        log_info("cache", "entry of %zu bytes is too large for store '%s'",
                 view.n, s->config.shown);
        return;
    }
    if (has_it(c, s, name))
        return;
    st = s->ops->put(s->self, &call, name, view);
    note_call(c, s, &call, st, "put");
    if (st == HULL_OK)
        counters_add(c, STAT_remote_stores, 1);
}

/* Somebody is there to take it. */
static bool is_taker(const store *s)
{
    return !s->config.read_only && !is_off(s);
}

bool remotes_any(const remotes *r)
{
    size_t n = atomic_load(&r->n), i = 0;

    while (i < n && !is_taker(&r->stores[i]))
        i++;
    return i < n;
}

void remotes_put(cache *c, cache_kind kind, const digest *key, bytes content)
{
    remotes *r = c->remotes;
    char name[DIGEST_HEX_SIZE];
    buf value;

    if (cache_kinds[kind].local || !remotes_any(r))
        return;
    remote_name(name, kind, key);
    if (pack(&value, c, kind, key, content) == HULL_OK)
        for (size_t i = 0; i < atomic_load(&r->n); i++)
            if (is_taker(&r->stores[i]))
                put_to(c, &r->stores[i], name, &value);
    buf_fini(&value);
}

void remotes_remove(cache *c, size_t number, cache_kind kind,
                    const digest *key)
{
    char name[DIGEST_HEX_SIZE];
    tier_call call = {0};
    store *s;

    if (number == 0)
        return;
    s = &c->remotes->stores[number - 1];
    if (!is_taker(s))
        return;
    remote_name(name, kind, key);
    note_call(c, s, &call, s->ops->remove(s->self, &call, name), "remove");
}

/* ---- leases -------------------------------------------------------------- */

#define LEASE_FROM_SECONDS 5.0 /* shorter builds are not worth a wait */
#define LEASE_SECONDS 30.0     /* that it lasts when nobody renews it */
#define WAIT_MAX_SECONDS 3600.0
#define LEASE_PAUSE_MS 200
#define TOKEN_SIZE 33

typedef struct lease {
    cache *c;
    store *s;
    char name[DIGEST_HEX_SIZE], token[TOKEN_SIZE];
    uint32_t ms;
    pthread_t thread; /* renews it until it is over */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over;
} lease;

static store *lease_store(const remotes *r)
{
    for (size_t i = 0; i < atomic_load(&r->n); i++) {
        const store *s = &r->stores[i];

        if (s->ops->lease != NULL && is_taker(s))
            return (store *)s;
    }
    return NULL;
}

static bool make_token(char out[TOKEN_SIZE])
{
    uint8_t random[(TOKEN_SIZE - 1) / 2];

    if (getentropy(random, sizeof random) != 0)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    return true;
}

/* HULL_ENOTFOUND: another machine has it. */
static hull_status try_lease(const lease *l)
{
    tier_call call = {0};
    hull_status st = l->s->ops->lease(l->s->self, &call, l->name, l->token,
                                      l->ms);

    note_call(l->c, l->s, &call, st, "lease");
    return st;
}

/* The entry came, or nothing is to be learnt any more. */
static bool is_over(const lease *l)
{
    tier_call call = {0};
    hull_status st = l->s->ops->has(l->s->self, &call, l->name);

    note_call(l->c, l->s, &call, st, "has");
    return st != HULL_ENOTFOUND;
}

/* False when it is another one's to the end of the wait. */
static bool wait_for_lease(const lease *l, double seconds)
{
    uint64_t end = time_ns() + (uint64_t)(seconds * 1e9);
    bool waited = false;
    hull_status st;

    while ((st = try_lease(l)) == HULL_ENOTFOUND) {
        if (!waited)
            counters_add(l->c, STAT_remote_waits, 1);
        waited = true;
        if (is_over(l) || ms_left(end) == 0)
            break;
        pause_about(LEASE_PAUSE_MS, end);
    }
    return st == HULL_OK;
}

/* False when it is lost. */
static bool renew(const lease *l)
{
    tier_call call = {0};
    hull_status st;

    if (is_off(l->s))
        return true; /* it may come back in time */
    st = l->s->ops->renew(l->s->self, &call, l->name, l->token, l->ms);
    note_call(l->c, l->s, &call, st, "renew");
    if (st == HULL_ENOTFOUND)
        log_info("cache", "store '%s': a lease was lost before its build "
                 "ended", l->s->config.shown);
    return st != HULL_ENOTFOUND;
}

static void *keep_lease(void *user)
{
    lease *l = user;
    bool ours = true;

    pthread_mutex_lock(&l->lock);
    while (ours && !l->over) {
        uint64_t next;
        struct timespec at;

        clock_gettime(CLOCK_MONOTONIC, &at);
        next = (uint64_t)at.tv_nsec + (uint64_t)l->ms * 1000000 / 3;
        at.tv_sec += (time_t)(next / 1000000000);
        at.tv_nsec = (long)(next % 1000000000);
        if (pthread_cond_timedwait(&l->ended, &l->lock, &at) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&l->lock);
        ours = renew(l);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are the host program's, so the thread takes none. */
static bool start_keeping(lease *l)
{
    pthread_condattr_t monotonic;
    sigset_t full, before;
    int err;

    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&full);
    pthread_sigmask(SIG_SETMASK, &full, &before);
    err = pthread_create(&l->thread, NULL, keep_lease, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err == 0;
}

static void end_lease(lease *l)
{
    tier_call call = {0};
    hull_status st;

    if (!is_off(l->s)) {
        st = l->s->ops->unlease(l->s->self, &call, l->name, l->token);
        if (st != HULL_OK && st != HULL_ENOTFOUND) /* it runs out by itself */
            log_info("cache", "store '%s', end of a lease: %s",
                     l->s->config.shown, error_text());
    }
    pthread_cond_destroy(&l->ended);
    pthread_mutex_destroy(&l->lock);
    mem_free(l);
}

void remotes_lease(cache_build *b, cache *c, cache_kind kind,
                   const digest *key, double seconds)
{
    store *s = lease_store(c->remotes);
    lease *l;

    if (seconds < LEASE_FROM_SECONDS || s == NULL || cache_kinds[kind].local)
        return;
    l = mem_calloc(1, sizeof *l);
    if (l == NULL)
        return;
    l->c = c;
    l->s = s;
    l->ms = (uint32_t)((seconds < LEASE_SECONDS ? seconds : LEASE_SECONDS) *
                       1000);
    remote_name(l->name, kind, key);
    if (!make_token(l->token) ||
        !wait_for_lease(l, seconds < WAIT_MAX_SECONDS ? seconds
                                                      : WAIT_MAX_SECONDS)) {
        mem_free(l);
        return;
    }
    if (start_keeping(l))
        b->lease = l;
    else
        end_lease(l);
}

void remotes_unlease(cache_build *b)
{
    lease *l = b->lease;

    b->lease = NULL;
    if (l == NULL)
        return;
    pthread_mutex_lock(&l->lock);
    l->over = true;
    pthread_cond_signal(&l->ended);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    end_lease(l);
}
