/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * http.c - stores that speak HTTP: GET, PUT, HEAD and DELETE of URL/NAME, by
 * libcurl. A call ends within its time, retries and redirects included. What a
 * server sends is bounded by max-size; it is sent nowhere but to the origin of
 * the URL, and no proxy is used that the URL does not name.
 */
#include "cache/tier.h"

#include "cache/remote_lib.h"

#include <string.h>
#include <strings.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define REDIRECTS_MAX 3
#define PAUSE_MS 50          /* before the first retry; then twice as long */
#define ANSWER_MAX (1 << 20) /* bytes of an answer that nobody reads */
#define SLOW_BYTES 1024L     /* a second, for half of the call's time */
#define TOKEN_MAX 65536

#define LIB_CURL(f) __typeof__(f) *f;
typedef struct curl_lib {
#include "cache/remote_lib.def"
} curl_lib;
#undef LIB_CURL

typedef struct http {
    const curl_lib *lib;
    const tier_config *t;
    idle handles;
    struct curl_slist *headers;  /* to the origin */
    struct curl_slist *few;      /* to others */
} http;

typedef enum method { GET, HEAD, PUT, DELETE } method;

/* One request and its answer. */
typedef struct request {
    const http *h;
    method method;
    buf url;
    bool foreign;    /* it left the origin: no credentials, no headers */
    bytes body;      /* of PUT */
    size_t sent;
    buf *out;        /* of GET */
    bool too_large;  /* for out */
    uint64_t skipped, end;
    CURL *curl;
    long status;
    char *token;
    char error[CURL_ERROR_SIZE];
} request;

/* ---- the library --------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static curl_lib lib;
static error_record lib_error; /* written once */

static void load(void)
{
#define LIB_CURL(f) {#f, offsetof(curl_lib, f)},
    static const lib_row rows[] = {
#include "cache/remote_lib.def"
    };
#undef LIB_CURL
    hull_status st = lib_load(&lib, HULL_CURL, rows, COUNT_OF(rows));

    if (st == HULL_OK && lib.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        st = fail(HULL_EUNSUPPORTED, "libcurl does not start");
    if (st != HULL_OK)
        error_take(&lib_error);
}

static hull_status need_lib(void)
{
    pthread_once(&once, load);
    return lib_error.status == HULL_OK ? HULL_OK : error_put(&lib_error);
}

/* ---- the bytes of a request ---------------------------------------------- */

static long status_of(const request *r)
{
    long status = 0;

    r->h->lib->curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* Less than n ends the transfer. */
static size_t on_answer(char *p, size_t size, size_t n, void *user)
{
    request *r = user;

    if (r->method == GET && status_of(r) == 200) {
        r->too_large = size * n > r->out->max - r->out->n;
        buf_put(r->out, p, size * n);
        return buf_status(r->out) == HULL_OK ? n : 0;
    }
    r->skipped += size * n;
    return r->skipped <= ANSWER_MAX ? n : 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *user)
{
    request *r = user;
    size_t left = r->body.n - r->sent;
    size_t now = size * n < left ? size * n : left;

    memcpy(p, r->body.p + r->sent, now);
    r->sent += now;
    return now;
}

/* A connection that was dead is opened again, from the first byte. */
static int on_rewind(void *user, curl_off_t off, int origin)
{
    request *r = user;

    if (origin != SEEK_SET || off < 0 || (uint64_t)off > r->body.n)
        return CURL_SEEKFUNC_FAIL;
    r->sent = (size_t)off;
    return CURL_SEEKFUNC_OK;
}

/* ---- one request --------------------------------------------------------- */

#define SET(option, value) \
    (good = l->curl_easy_setopt(r->curl, option, value) == CURLE_OK && good)

static bool set_limits(request *r)
{
    const curl_lib *l = r->h->lib;
    const tier_config *t = r->h->t;
    uint64_t left = ms_left(r->end);
    uint64_t slow = t->timeout_ms / 2000;
    bool good = true;

    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1));
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)t->connect_ms);
    SET(CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
    SET(CURLOPT_LOW_SPEED_TIME, (long)(slow > 0 ? slow : 1));
    SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)(t->max_size < INT64_MAX
                                                    ? t->max_size
                                                    : INT64_MAX));
    SET(CURLOPT_ERRORBUFFER, r->error);
    return good;
}

static bool is_https(const request *r)
{
    return strncmp(r->url.p, "https:", 6) == 0;
}

static bool set_security(request *r)
{
    const curl_lib *l = r->h->lib;
    const tier_config *t = r->h->t;
    bool good = true;

#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(CURLOPT_FOLLOWLOCATION, 0L); /* redirect() does */
    SET(CURLOPT_PROXY, t->proxy);    /* "": not that of the environment */
    SET(CURLOPT_NOPROXY, "");
    if (is_https(r)) { /* a libcurl without TLS knows no such options */
        SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
        if (t->cacert[0] != '\0')
            SET(CURLOPT_CAINFO, t->cacert);
    }
    SET(CURLOPT_HTTPHEADER, r->foreign ? r->h->few : r->h->headers);
    if (r->foreign)
        return good;
    if (r->token != NULL) {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        SET(CURLOPT_XOAUTH2_BEARER, r->token);
    } else if (t->user[0] != '\0' || t->password[0] != '\0') {
        SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        SET(CURLOPT_USERNAME, t->user);
        SET(CURLOPT_PASSWORD, t->password);
    }
    return good;
}

static bool set_method(request *r)
{
    const curl_lib *l = r->h->lib;
    bool good = true;

    SET(CURLOPT_URL, r->url.p);
    SET(CURLOPT_USERAGENT, "hull/" HULL_VERSION_TEXT);
    SET(CURLOPT_WRITEFUNCTION, on_answer);
    SET(CURLOPT_WRITEDATA, r);
    if (r->method == HEAD)
        SET(CURLOPT_NOBODY, 1L);
    if (r->method == DELETE)
        SET(CURLOPT_CUSTOMREQUEST, "DELETE");
    if (r->method != PUT)
        return good;
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_READFUNCTION, on_body);
    SET(CURLOPT_READDATA, r);
    SET(CURLOPT_SEEKFUNCTION, on_rewind);
    SET(CURLOPT_SEEKDATA, r);
    SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body.n);
    return good;
}

static hull_status fail_curl(const request *r, CURLcode code, tier_call *call)
{
    const char *text = r->error[0] != '\0'
                           ? r->error
                           : r->h->lib->curl_easy_strerror(code);

    if (code == CURLE_OPERATION_TIMEDOUT)
        call->timed_out = true;
    if (code == CURLE_WRITE_ERROR && r->out != NULL && r->out->failed &&
        !r->too_large)
        return buf_status(r->out);
    if (code == CURLE_FILESIZE_EXCEEDED || code == CURLE_WRITE_ERROR)
        return fail(HULL_EIO, "answer is larger than %llu bytes",
                    (unsigned long long)r->h->t->max_size);
    return fail(HULL_EIO, "%s", text);
}

/* May a second try help? */
static bool is_passing(CURLcode code, long status)
{
    switch (code) {
    case CURLE_OK:
        return status == 429 || status == 500 || (status >= 502 &&
                                                  status <= 504);
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return true;
    default:
        return false;
    }
}

static hull_status perform(request *r, CURLcode *out_code)
{
    no_sigpipe hold;

    r->sent = r->skipped = 0;
    r->status = 0;
    r->error[0] = '\0';
    if (r->out != NULL)
        buf_clear(r->out);
    r->h->lib->curl_easy_reset(r->curl);
    if (!set_limits(r) || !set_security(r) || !set_method(r))
        return fail(HULL_EUNSUPPORTED, "libcurl refuses an option");
    no_sigpipe_begin(&hold);
    *out_code = r->h->lib->curl_easy_perform(r->curl);
    no_sigpipe_end(&hold);
    r->status = status_of(r);
    return HULL_OK;
}

/* ---- redirects ----------------------------------------------------------- */

static uint32_t port_of(const tier_config *t)
{
    return t->port != 0                       ? t->port
           : strcmp(t->scheme, "https") == 0 ? 443
                                              : 80;
}

static bool same_origin(const tier_config *a, const tier_config *b)
{
    return strcmp(a->scheme, b->scheme) == 0 && port_of(a) == port_of(b) &&
           strcasecmp(a->host, b->host) == 0;
}

static bool is_redirect(const request *r)
{
    return r->status == 301 || r->status == 302 || r->status == 303 ||
           r->status == 307 || r->status == 308;
}

/* Where the next request goes. Never from https to http, never with the user
 * of another URL, never with a body as something that is no PUT. */
static hull_status check_redirect(request *r, const tier_config *to)
{
    bool was_safe = is_https(r);
    bool is_safe = strcmp(to->scheme, "https") == 0;

    if ((!is_safe && strcmp(to->scheme, "http") != 0) || to->host[0] == '\0')
        return fail(HULL_EIO, "redirect to '%s'", to->shown);
    if (was_safe && !is_safe)
        return fail(HULL_EIO, "redirect from https to '%s'", to->shown);
    if (to->user[0] != '\0' || to->password[0] != '\0')
        return fail(HULL_EIO, "redirect with a user to '%s'", to->shown);
    if ((r->method == PUT || r->method == DELETE) && r->status < 307)
        return fail(HULL_EIO, "redirect %ld of a request that writes",
                    r->status);
    r->foreign = r->foreign || !same_origin(to, r->h->t);
    return HULL_OK;
}

static hull_status redirect(request *r)
{
    tier_config to = {0};
    char *url = NULL;
    hull_status st;

    r->h->lib->curl_easy_getinfo(r->curl, CURLINFO_REDIRECT_URL, &url);
    if (url == NULL)
        return fail(HULL_EIO, "redirect %ld to nowhere", r->status);
    if (strchr(url, '|') != NULL ||
        tier_config_read(&to, str_of(url), 0) != HULL_OK)
        return fail(HULL_EIO, "redirect %ld to a malformed URL", r->status);
    st = check_redirect(r, &to);
    tier_config_fini(&to);
    buf_clear(&r->url);
    buf_puts(&r->url, url);
    TRY(st);
    return buf_status(&r->url);
}

/* ---- one call ------------------------------------------------------------ */

static hull_status outcome_of(const request *r)
{
    if (r->status == 200 || (r->method != GET && r->method != HEAD &&
                             r->status > 200 && r->status < 205))
        return HULL_OK;
    if ((r->status == 404 || r->status == 410) && r->method != PUT)
        return HULL_ENOTFOUND;
    return fail(HULL_EIO, "server answers %ld", r->status);
}

/* A request and where it is redirected to. */
static hull_status follow(request *r, tier_call *call, bool *out_passing)
{
    *out_passing = false;
    for (int n = 0;; n++) {
        CURLcode code = CURLE_OK;

        TRY(perform(r, &code));
        *out_passing = is_passing(code, r->status);
        if (code != CURLE_OK)
            return fail_curl(r, code, call);
        if (!is_redirect(r))
            return outcome_of(r);
        if (n == REDIRECTS_MAX)
            return fail(HULL_EIO, "more than %d redirects", REDIRECTS_MAX);
        TRY(redirect(r));
    }
}

static void make_url(buf *out, const tier_config *t, const char *name)
{
    buf_clear(out);
    buf_printf(out, "%s://%s", t->scheme, t->host);
    if (t->port != 0)
        buf_printf(out, ":%u", (unsigned)t->port);
    buf_puts(out, t->path);
    if (t->layout == LAYOUT_SUBDIRS)
        buf_printf(out, "/%.2s/%s", name, name + 2);
    else
        buf_printf(out, "/%s%s", t->layout == LAYOUT_BAZEL ? "ac/" : "", name);
    if (t->query[0] != '\0')
        buf_printf(out, "?%s", t->query);
}

/* Read for each call: tokens are exchanged while a process runs. */
static hull_status read_token(request *r)
{
    const char *path = r->h->t->token_file;
    size_t n = 0;

    if (path[0] == '\0')
        return HULL_OK;
    TRY(note(file_read_all(&r->token, &n, path, TOKEN_MAX), "token-file"));
    while (n > 0 && (unsigned char)r->token[n - 1] <= ' ')
        r->token[--n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (r->token[i] <= ' ' || r->token[i] == 0x7f)
            return fail(HULL_EINVAL, "token-file '%s' is not one word", path);
    return n > 0 ? HULL_OK
                 : fail(HULL_EINVAL, "token-file '%s' is empty", path);
}

static hull_status attempts(request *r, tier_call *call, const char *name)
{
    const tier_config *t = r->h->t;
    uint64_t pause = PAUSE_MS;

    for (uint64_t n = 0;; n++) {
        bool passing;
        hull_status st;

        make_url(&r->url, t, name);
        TRY(buf_status(&r->url));
        r->foreign = false;
        st = follow(r, call, &passing);
        if (!passing || n == t->retries || ms_left(r->end) <= pause)
            return st;
        pause_about(pause, r->end);
        pause *= 2;
    }
}

static hull_status call_http(http *h, tier_call *call, method m,
                             const char *name, bytes body, buf *out)
{
    request r = {.h = h, .method = m, .body = body, .out = out,
                 .end = time_ns() + h->t->timeout_ms * 1000000};
    hull_status st;

    buf_init(&r.url, 65536);
    r.curl = idle_take(&h->handles);
    if (r.curl == NULL)
        r.curl = h->lib->curl_easy_init();
    st = r.curl != NULL ? read_token(&r) : fail_oom(0);
    if (st == HULL_OK)
        st = attempts(&r, call, name);
    if (r.curl != NULL)
        idle_give(&h->handles, r.curl);
    mem_free(r.token);
    buf_fini(&r.url);
    return st;
}

static hull_status http_get(void *self, tier_call *call, const char *name,
                            buf *out)
{
    hull_status st = call_http(self, call, GET, name, (bytes){0}, out);

    call->received = out->n;
    return st;
}

static hull_status http_put(void *self, tier_call *call, const char *name,
                            bytes value)
{
    hull_status st = call_http(self, call, PUT, name, value, NULL);

    call->sent = st == HULL_OK ? value.n : 0;
    return st;
}

static hull_status http_remove(void *self, tier_call *call, const char *name)
{
    return call_http(self, call, DELETE, name, (bytes){0}, NULL);
}

static hull_status http_has(void *self, tier_call *call, const char *name)
{
    return call_http(self, call, HEAD, name, (bytes){0}, NULL);
}

/* ---- open and close ------------------------------------------------------ */

static void close_handle(void *handle)
{
    lib.curl_easy_cleanup(handle);
}

static void http_close(void *self)
{
    http *h = self;

    idle_fini(&h->handles);
    h->lib->curl_slist_free_all(h->headers);
    h->lib->curl_slist_free_all(h->few);
    mem_free(h);
}

static const tier_ops http_ops = {
    .get = http_get,
    .put = http_put,
    .remove = http_remove,
    .has = http_has,
    .close = http_close,
};

static hull_status add_header(struct curl_slist **list, const char *text)
{
    struct curl_slist *more = lib.curl_slist_append(*list, text);

    if (more == NULL)
        return fail_oom(strlen(text));
    *list = more;
    return HULL_OK;
}

/* No "Expect: 100-continue": many stores never answer it. */
static hull_status make_headers(http *h)
{
    TRY(add_header(&h->few, "Expect:"));
    TRY(add_header(&h->headers, "Expect:"));
    for (size_t i = 0; i < h->t->n_headers; i++)
        TRY(add_header(&h->headers, h->t->headers[i]));
    return HULL_OK;
}

static hull_status check_config(const tier_config *t)
{
    if (t->host[0] == '\0')
        return fail(HULL_EINVAL, "no host");
    if (t->ttl_s != 0)
        return fail(HULL_EINVAL, "ttl is an attribute of redis");
    if (t->token_file[0] != '\0' && (t->user[0] != '\0' ||
                                     t->password[0] != '\0'))
        return fail(HULL_EINVAL, "both a user and a token-file");
    return HULL_OK;
}

hull_status http_open(const tier_ops **out_ops, void **out,
                      const tier_config *t)
{
    hull_status st;
    http *h;

    *out_ops = &http_ops;
    *out = NULL;
    TRY(check_config(t));
    TRY(need_lib());
    h = mem_calloc(1, sizeof *h);
    if (h == NULL)
        return fail_oom(sizeof *h);
    h->lib = &lib;
    h->t = t;
    idle_init(&h->handles, close_handle);
    st = make_headers(h);
    if (st == HULL_OK)
        *out = h;
    else
        http_close(h);
    return st;
}
