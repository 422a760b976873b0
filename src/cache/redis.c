/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * redis.c - stores that speak Redis, by hiredis: GET, SET, DEL, EXISTS of
 * "hull:NAME", and leases under "hull:lease:NAME". A call ends within its
 * time, however slowly bytes come; what a server sends is bounded by max-size,
 * and lists of lists are not read at all.
 */
/* Before ours: a parameter in its headers has the name of a type of ours. */
#include <hiredis/hiredis.h>
#ifdef HULL_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#endif

#include "cache/tier.h"

#include "cache/remote_lib.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/time.h>

#define PORT 6379
#define PAUSE_MS 50     /* before the first retry; then twice as long */
#define ANSWER_MORE 4096 /* bytes of an answer beside its value */
#define ARGS_MAX 6

#define LIB_REDIS(f) __typeof__(f) *f;
#define LIB_REDIS_SSL(f) __typeof__(f) *f;
#ifndef HULL_HIREDIS_SSL
#undef LIB_REDIS_SSL
#endif
typedef struct redis_lib {
#include "cache/remote_lib.def"
} redis_lib;
#undef LIB_REDIS
#undef LIB_REDIS_SSL

typedef struct redis {
    const tier_config *t;
    uint32_t db;
    idle connections;
    void *tls; /* of rediss */
} redis;

typedef struct command {
    const char *argv[ARGS_MAX];
    size_t sizes[ARGS_MAX];
    int argc;
} command;

/* One call: its limits and what became of it. */
typedef struct session {
    redis *r;
    redisContext *c;
    uint64_t end;
    bool timed_out, broken; /* the connection is not to be used again */
} session;

/* ---- the library --------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static redis_lib lib;
static error_record lib_error; /* written once */

static hull_status load_all(void)
{
#define LIB_REDIS(f) {#f, offsetof(redis_lib, f)},
    static const lib_row rows[] = {
#include "cache/remote_lib.def"
    };
#undef LIB_REDIS
#ifdef HULL_HIREDIS_SSL
#define LIB_REDIS_SSL(f) {#f, offsetof(redis_lib, f)},
    static const lib_row ssl_rows[] = {
#include "cache/remote_lib.def"
    };
#undef LIB_REDIS_SSL
    TRY(lib_load(&lib, HULL_HIREDIS_SSL, ssl_rows, COUNT_OF(ssl_rows)));
    lib.redisInitOpenSSL();
#endif
    return lib_load(&lib, HULL_HIREDIS, rows, COUNT_OF(rows));
}

static void load(void)
{
    if (load_all() != HULL_OK)
        error_take(&lib_error);
}

static hull_status need_lib(void)
{
    pthread_once(&once, load);
    return lib_error.status == HULL_OK ? HULL_OK : error_put(&lib_error);
}

/* ---- failures ------------------------------------------------------------ */

/* errno is that of the call before. */
static hull_status fail_io(session *s)
{
    s->timed_out = errno == EAGAIN || errno == ETIMEDOUT ||
                   ms_left(s->end) == 0;
    s->broken = true;
    return fail(HULL_EIO, "%s", s->timed_out ? "no answer in time"
                                              : s->c->errstr);
}

static hull_status fail_size(const tier_config *t)
{
    return fail(HULL_EIO, "answer is larger than %" PRIu64 " bytes",
                t->max_size);
}

static hull_status fail_answer(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return fail(HULL_EIO, "server gives an answer of type %d",
                    reply->type);
    return fail(HULL_EIO, "server answers '%.*s'",
                (int)(reply->len < 120 ? reply->len : 120), reply->str);
}

/* ---- one command --------------------------------------------------------- */

/* What remains of the time is the most that the next read or write takes. */
static hull_status set_time(session *s)
{
    uint64_t left = ms_left(s->end);
    struct timeval tv = {(time_t)(left / 1000), (long)(left % 1000) * 1000};

    errno = 0;
    if (left > 0 && lib.redisSetTimeout(s->c, tv) == REDIS_OK)
        return HULL_OK;
    return fail_io(s);
}

static hull_status send_all(session *s, const command *k)
{
    int done = 0;

    if (lib.redisAppendCommandArgv(s->c, k->argc, (const char **)k->argv,
                                   k->sizes) != REDIS_OK)
        return fail_io(s);
    while (!done) {
        TRY(set_time(s));
        if (lib.redisBufferWrite(s->c, &done) != REDIS_OK)
            return fail_io(s);
    }
    return HULL_OK;
}

static hull_status receive(redisReply **out, session *s)
{
    uint64_t max = s->r->t->max_size + ANSWER_MORE;
    void *reply = NULL;

    for (;;) {
        errno = 0;
        if (lib.redisGetReplyFromReader(s->c, &reply) != REDIS_OK)
            return fail_io(s);
        *out = reply;
        if (reply != NULL)
            return HULL_OK;
        if (s->c->reader->len > max) {
            s->broken = true;
            return fail_size(s->r->t);
        }
        TRY(set_time(s));
        if (lib.redisBufferRead(s->c) != REDIS_OK)
            return fail_io(s);
    }
}

/* The answer, to be freed. */
static hull_status ask(redisReply **out, session *s, const command *k)
{
    no_sigpipe hold;
    hull_status st;

    *out = NULL;
    no_sigpipe_begin(&hold);
    st = send_all(s, k);
    if (st == HULL_OK)
        st = receive(out, s);
    no_sigpipe_end(&hold);
    return st;
}

static void add(command *k, const char *p, size_t n)
{
    k->argv[k->argc] = p;
    k->sizes[k->argc++] = n;
}

static command command_of(const char *a, const char *b, const char *c)
{
    const char *const words[] = {a, b, c};
    command k = {.argc = 0};

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (words[i] != NULL)
            add(&k, words[i], strlen(words[i]));
    return k;
}

/* ---- connections --------------------------------------------------------- */

#if HIREDIS_MAJOR >= 1
typedef size_t array_size;
#else
typedef int array_size;
#endif

/* No answer that we ask for is a list, and one of a hostile server could ask
 * for any memory. */
static void *no_array(const redisReadTask *task, array_size n)
{
    (void)task;
    (void)n;
    return NULL;
}

static void refuse_arrays(redisContext *c)
{
    static redisReplyObjectFunctions functions;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (functions.createArray == NULL) {
        functions = *c->reader->fn;
        functions.createArray = no_array;
    }
    pthread_mutex_unlock(&lock);
    c->reader->fn = &functions;
}

static hull_status expect_ok(session *s, const command *k)
{
    redisReply *reply;
    hull_status st;

    TRY(ask(&reply, s, k));
    st = reply->type == REDIS_REPLY_STATUS ? HULL_OK : fail_answer(reply);
    lib.freeReplyObject(reply);
    return st;
}

static hull_status log_in(session *s)
{
    const tier_config *t = s->r->t;
    const char *user = t->user[0] != '\0' ? t->user : NULL;
    command k = user != NULL ? command_of("AUTH", user, t->password)
                             : command_of("AUTH", t->password, NULL);
    char db[16];

    if (t->password[0] != '\0')
        TRY(expect_ok(s, &k));
    if (s->r->db == 0)
        return HULL_OK;
    snprintf(db, sizeof db, "%u", s->r->db);
    k = command_of("SELECT", db, NULL);
    return expect_ok(s, &k);
}

static hull_status start_tls(session *s)
{
#ifdef HULL_HIREDIS_SSL
    if (s->r->tls != NULL &&
        lib.redisInitiateSSLWithContext(s->c, s->r->tls) != REDIS_OK)
        return fail_io(s);
#else
    (void)s;
#endif
    return HULL_OK;
}

static bool is_unix(const tier_config *t)
{
    return strcmp(t->scheme, "redis+unix") == 0;
}

static hull_status connect_to(session *s)
{
    const tier_config *t = s->r->t;
    uint64_t left = ms_left(s->end),
             ms = left < t->connect_ms ? left : t->connect_ms;
    struct timeval tv = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000};
    char host[256];
    size_t n = strlen(t->host);
    bool six = t->host[0] == '[';

    snprintf(host, sizeof host, "%.*s", (int)(n - (six ? 2 : 0)),
             t->host + (six ? 1 : 0));
    errno = 0;
    s->c = is_unix(t)
               ? lib.redisConnectUnixWithTimeout(t->path, tv)
               : lib.redisConnectWithTimeout(host, t->port != 0
                                                       ? (int)t->port : PORT,
                                             tv);
    if (s->c == NULL)
        return fail_oom(sizeof *s->c);
    if (s->c->err != 0) {
        hull_status st = fail_io(s);

        return s->timed_out ? fail(HULL_EIO, "no connection in time") : st;
    }
    refuse_arrays(s->c);
    TRY(set_time(s));
    TRY(start_tls(s));
    return log_in(s);
}

static void drop(session *s)
{
    if (s->c != NULL)
        lib.redisFree(s->c);
    s->c = NULL;
}

/* A connection that waited may have died meanwhile: then a new one is made. */
static hull_status attempt(redisReply **out, session *s, const command *k)
{
    hull_status st;

    s->timed_out = s->broken = false;
    s->c = idle_take(&s->r->connections);
    if (s->c != NULL) {
        st = ask(out, s, k);
        if (st == HULL_OK || s->timed_out)
            return st;
        drop(s);
        s->broken = false;
    }
    st = connect_to(s);
    if (st != HULL_OK) {
        s->broken = true;
        return st;
    }
    return ask(out, s, k);
}

/* Broken connections are tried again; what a server answers is not. */
static hull_status call_redis(redisReply **out, redis *r, tier_call *call,
                              const command *k, uint64_t retries)
{
    session s = {.r = r, .end = time_ns() + r->t->timeout_ms * 1000000};
    uint64_t pause = PAUSE_MS;
    hull_status st;

    for (uint64_t n = 0;; n++) {
        st = attempt(out, &s, k);
        if (st == HULL_OK && !s.broken) {
            idle_give(&r->connections, s.c);
            return HULL_OK;
        }
        drop(&s);
        call->timed_out = s.timed_out;
        if (s.timed_out || n >= retries || ms_left(s.end) <= pause)
            return st;
        pause_about(pause, s.end);
        pause *= 2;
    }
}

/* ---- verbs --------------------------------------------------------------- */

#define KEY_SIZE (DIGEST_HEX_SIZE + 16)

static const char *key_of(char out[KEY_SIZE], const char *prefix,
                          const char *name)
{
    snprintf(out, KEY_SIZE, "%s%s", prefix, name);
    return out;
}

static hull_status redis_get(void *self, tier_call *call, const char *name,
                             buf *out)
{
    redis *r = self;
    char key[KEY_SIZE];
    command k = command_of("GET", key_of(key, "hull:", name), NULL);
    redisReply *reply;
    hull_status st = HULL_OK;

    TRY(call_redis(&reply, r, call, &k, r->t->retries));
    if (reply->type == REDIS_REPLY_STRING && reply->len > r->t->max_size) {
        st = fail_size(r->t);
    } else if (reply->type == REDIS_REPLY_STRING) {
        call->received = reply->len;
        buf_put(out, reply->str, reply->len);
        st = buf_status(out);
    } else {
        st = reply->type == REDIS_REPLY_NIL ? HULL_ENOTFOUND
                                            : fail_answer(reply);
    }
    lib.freeReplyObject(reply);
    return st;
}

/* HULL_OK for "OK", HULL_ENOTFOUND for nothing or 0. */
static hull_status simple(redis *r, tier_call *call, const command *k,
                          uint64_t retries)
{
    redisReply *reply;
    hull_status st;

    TRY(call_redis(&reply, r, call, k, retries));
    if (reply->type == REDIS_REPLY_STATUS ||
        (reply->type == REDIS_REPLY_INTEGER && reply->integer > 0))
        st = HULL_OK;
    else if (reply->type == REDIS_REPLY_NIL ||
             reply->type == REDIS_REPLY_INTEGER)
        st = HULL_ENOTFOUND;
    else
        st = fail_answer(reply);
    lib.freeReplyObject(reply);
    return st;
}

static hull_status redis_put(void *self, tier_call *call, const char *name,
                             bytes value)
{
    redis *r = self;
    char key[KEY_SIZE], ttl[24];
    command k = command_of("SET", key_of(key, "hull:", name), NULL);

    add(&k, (const char *)value.p, value.n);
    if (r->t->ttl_s != 0) {
        snprintf(ttl, sizeof ttl, "%" PRIu64, r->t->ttl_s);
        add(&k, "EX", 2);
        add(&k, ttl, strlen(ttl));
    }
    TRY(simple(r, call, &k, r->t->retries));
    call->sent = value.n;
    return HULL_OK;
}

static hull_status redis_remove(void *self, tier_call *call, const char *name)
{
    redis *r = self;
    char key[KEY_SIZE];
    command k = command_of("DEL", key_of(key, "hull:", name), NULL);

    return simple(r, call, &k, r->t->retries);
}

static hull_status redis_has(void *self, tier_call *call, const char *name)
{
    redis *r = self;
    char key[KEY_SIZE];
    command k = command_of("EXISTS", key_of(key, "hull:", name), NULL);

    return simple(r, call, &k, r->t->retries);
}

/* Never tried again: the first try may have taken it. */
static hull_status redis_lease(void *self, tier_call *call, const char *name,
                               const char *token, uint32_t ms)
{
    char key[KEY_SIZE], text[16];
    command k = command_of("SET", key_of(key, "hull:lease:", name), token);

    snprintf(text, sizeof text, "%u", ms);
    add(&k, "NX", 2);
    add(&k, "PX", 2);
    add(&k, text, strlen(text));
    return simple(self, call, &k, 0);
}

/* Only our own: one that ran out may be another one's by now. */
static hull_status own_lease(void *self, tier_call *call, const char *name,
                             const char *token, const char *script,
                             const char *argument)
{
    char key[KEY_SIZE];
    command k = command_of("EVAL", script, "1");

    key_of(key, "hull:lease:", name);
    add(&k, key, strlen(key));
    add(&k, token, strlen(token));
    add(&k, argument, strlen(argument));
    return simple(self, call, &k, 0);
}

#define IF_OURS(command)                           \
    "if redis.call('get',KEYS[1])==ARGV[1] then "  \
    "return redis.call(" command ") end return 0"

static hull_status redis_renew(void *self, tier_call *call, const char *name,
                               const char *token, uint32_t ms)
{
    char text[16];

    snprintf(text, sizeof text, "%u", ms);
    return own_lease(self, call, name, token,
                     IF_OURS("'pexpire',KEYS[1],ARGV[2]"), text);
}

static hull_status redis_unlease(void *self, tier_call *call, const char *name,
                                 const char *token)
{
    return own_lease(self, call, name, token, IF_OURS("'del',KEYS[1]"), "");
}

/* ---- open and close ------------------------------------------------------ */

static void close_connection(void *c)
{
    lib.redisFree(c);
}

static void redis_close(void *self)
{
    redis *r = self;

    idle_fini(&r->connections);
#ifdef HULL_HIREDIS_SSL
    if (r->tls != NULL)
        lib.redisFreeSSLContext(r->tls);
#endif
    mem_free(r);
}

static const tier_ops redis_ops = {
    .get = redis_get,
    .put = redis_put,
    .remove = redis_remove,
    .has = redis_has,
    .lease = redis_lease,
    .renew = redis_renew,
    .unlease = redis_unlease,
    .close = redis_close,
};

/* "/3", or "db=3" behind the path of a socket. */
static hull_status read_db(uint32_t *out, const tier_config *t)
{
    str text = is_unix(t) ? str_of(t->query) : str_of(t->path);
    const char *prefix = is_unix(t) ? "db=" : "/";
    uint64_t db = 0;

    *out = 0;
    if (text.n == 0)
        return HULL_OK;
    if (!str_starts(text, prefix) ||
        !str_to_u64(&db, (str){text.p + strlen(prefix),
                               text.n - strlen(prefix)}) || db > 1000000)
        return fail(HULL_EINVAL, "the number of a database is not 0 to "
                    "1000000");
    *out = (uint32_t)db;
    return HULL_OK;
}

static hull_status check_config(const tier_config *t)
{
    if (t->token_file[0] != '\0' || t->proxy[0] != '\0' || t->n_headers > 0 ||
        t->layout != LAYOUT_SUBDIRS)
        return fail(HULL_EINVAL, "token-file, proxy, header and layout are "
                    "attributes of http");
    if (t->cacert[0] != '\0' && strcmp(t->scheme, "rediss") != 0)
        return fail(HULL_EINVAL, "cacert is an attribute of rediss");
    if (is_unix(t) ? t->path[0] != '/' : t->host[0] == '\0')
        return fail(HULL_EINVAL, is_unix(t) ? "no path of a socket"
                                            : "no host");
    if (!is_unix(t) && t->query[0] != '\0')
        return fail(HULL_EINVAL, "a query, which redis has not");
    if (t->user[0] != '\0' && t->password[0] == '\0')
        return fail(HULL_EINVAL, "a user without a password");
    return HULL_OK;
}

static hull_status open_tls(redis *r)
{
#ifdef HULL_HIREDIS_SSL
    const tier_config *t = r->t;
    redisSSLContextError error;

    /* hiredis does not compare the certificate's name with the host's. */
    if (t->cacert[0] == '\0')
        return fail(HULL_EINVAL, "rediss needs cacert, the certificates that "
                    "vouch for stores alone");
    r->tls = lib.redisCreateSSLContext(t->cacert, NULL, NULL, NULL, t->host,
                                       &error);
    return r->tls != NULL ? HULL_OK
                          : fail(HULL_EINVAL, "%s",
                                 lib.redisSSLContextGetError(error));
#else
    (void)r;
    return fail(HULL_EUNSUPPORTED, "this build's hiredis has no TLS, which "
                "needs hiredis 1.0 with hiredis_ssl; a tunnel can stand in");
#endif
}

hull_status redis_open(const tier_ops **out_ops, void **out,
                       const tier_config *t)
{
    hull_status st;
    redis *r;

    *out_ops = &redis_ops;
    *out = NULL;
    TRY(check_config(t));
    TRY(need_lib());
    r = mem_calloc(1, sizeof *r);
    if (r == NULL)
        return fail_oom(sizeof *r);
    r->t = t;
    idle_init(&r->connections, close_connection);
    st = read_db(&r->db, t);
    if (st == HULL_OK && strcmp(t->scheme, "rediss") == 0)
        st = open_tls(r);
    if (st == HULL_OK)
        *out = r;
    else
        redis_close(r);
    return st;
}
