/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * remote_url.c - reads what the option cache_remote says of one store (grammar
 * in tier.h), and shows URLs without their secrets. User, password and headers
 * may have percent escapes; a store has no space and no '|' of its own.
 */
#include "cache/tier.h"

#include <inttypes.h>
#include <string.h>

/* ---- showing ------------------------------------------------------------- */

static bool is_scheme_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
}

static size_t scheme_size(str url)
{
    size_t n = 0;

    while (n < url.n && is_scheme_char(url.p[n]))
        n++;
    return n > 0 && n < 32 && n < url.n && url.p[n] == ':' &&
                   url.p[0] >= 'a'
               ? n : 0;
}

/* A password may hold what ends an authority, so all up to the last '@' goes,
 * wherever that is; then what follows '?', '#' and '|'. */
void url_redacted(buf *out, str url)
{
    size_t n = scheme_size(url), from = n > 0 ? n + 1 : 0, end = from;

    while (from + 1 < url.n && n > 0 && end < from + 2 && url.p[end] == '/')
        end++;
    buf_put(out, url.p, end);
    from = end;
    for (size_t i = from; i < url.n; i++)
        if (url.p[i] == '@')
            end = i + 1;
    if (end > from)
        buf_puts(out, "***@");
    for (; end < url.n; end++) {
        char c = url.p[end];

        if (c == '?' || c == '#' || c == '|') {
            buf_printf(out, "%c***", c);
            return;
        }
        buf_putc(out, c > ' ' && c < 0x7f ? c : '?');
    }
}

/* ---- pieces of a URL ----------------------------------------------------- */

typedef struct reader {
    tier_config *t;
    hull_status st;
} reader;

/* Shows no byte of what was given but the scheme: what does not parse may be a
 * password in the wrong place. */
static hull_status bad(const tier_config *t, const char *what)
{
    return fail(HULL_EINVAL, "store number %zu (%s): %s", t->number, t->scheme,
                what);
}

static const char *keep(reader *r, str s)
{
    const char *z = arena_strndup(&r->t->memory, s.p, s.n);

    if (z == NULL)
        r->st = fail_oom(s.n);
    return z != NULL ? z : "";
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Escapes become their bytes, none of them a control. */
static const char *unescaped(reader *r, str s)
{
    char *z = arena_alloc(&r->t->memory, s.n + 1);
    size_t n = 0;

    if (z == NULL) {
        r->st = fail_oom(s.n + 1);
        return "";
    }
    for (size_t i = 0; i < s.n; i++) {
        int c = (unsigned char)s.p[i];

        if (c == '%' && i + 2 < s.n && hex_digit(s.p[i + 1]) >= 0 &&
            hex_digit(s.p[i + 2]) >= 0) {
            c = hex_digit(s.p[i + 1]) << 4 | hex_digit(s.p[i + 2]);
            i += 2;
        } else if (c == '%') {
            r->st = bad(r->t, "a malformed escape");
        }
        if (c < ' ' || c == 0x7f)
            r->st = bad(r->t, "a control byte");
        z[n++] = (char)c;
    }
    z[n] = '\0';
    return z;
}

static bool is_host(str s)
{
    bool six = s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']';

    for (size_t i = six ? 1 : 0; i < s.n - (six ? 1 : 0); i++) {
        char c = s.p[i];

        if (six ? hex_digit(c) < 0 && c != ':' && c != '.'
                : !is_scheme_char(c) && !(c >= 'A' && c <= 'Z') && c != '_')
            return false;
    }
    return s.n > 0 && s.n < 256;
}

static void read_host(reader *r, str host)
{
    size_t colon = host.n;
    uint64_t port;

    while (colon > 0 && host.p[colon - 1] >= '0' && host.p[colon - 1] <= '9')
        colon--;
    if (colon > 0 && host.p[colon - 1] == ':' && colon < host.n) {
        if (!str_to_u64(&port, (str){host.p + colon, host.n - colon}) ||
            port == 0 || port > 65535) {
            r->st = bad(r->t, "port is not 1 to 65535");
            return;
        }
        r->t->port = (uint32_t)port;
        host.n = colon - 1;
    }
    if (!is_host(host))
        r->st = bad(r->t, "malformed host");
    r->t->host = keep(r, host);
}

static size_t find(str s, const char *any)
{
    size_t n = 0;

    while (n < s.n && strchr(any, s.p[n]) == NULL)
        n++;
    return n;
}

static void read_authority(reader *r, str s)
{
    size_t at = s.n;

    while (at > 0 && s.p[at - 1] != '@')
        at--;
    if (at > 0) {
        str password, user = str_split((str){s.p, at - 1}, ':', &password);

        r->t->user = unescaped(r, user);
        r->t->password = unescaped(r, password);
    }
    read_host(r, (str){s.p + at, s.n - at});
}

static hull_status read_url(reader *r, str url)
{
    size_t n = scheme_size(url);
    str rest;

    if (n == 0)
        return bad(r->t, "wanted SCHEME://HOST...");
    r->t->scheme = keep(r, (str){url.p, n});
    rest = (str){url.p + n + 1, url.n - n - 1};
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= ' ' || rest.p[i] >= 0x7f || rest.p[i] == '\\' ||
            rest.p[i] == '"' || rest.p[i] == '#')
            return bad(r->t, "a byte that no URL has");
    if (str_starts(rest, "//")) {
        rest = (str){rest.p + 2, rest.n - 2};
        n = find(rest, "/?");
        if (n > 0)
            read_authority(r, (str){rest.p, n});
        rest = (str){rest.p + n, rest.n - n};
    }
    n = find(rest, "?");
    if (n < rest.n)
        r->t->query = keep(r, (str){rest.p + n + 1, rest.n - n - 1});
    while (n > 0 && rest.p[n - 1] == '/')
        n--;
    r->t->path = keep(r, (str){rest.p, n});
    if (strchr(r->t->path, '@') != NULL)
        return bad(r->t, "an '@' in the path; in a password it is %40, '/' is "
                   "%2F");
    return r->st;
}

/* ---- attributes ---------------------------------------------------------- */

typedef enum attribute_type { A_FLAG, A_NUMBER, A_SIZE, A_TEXT } attribute_type;

typedef struct attribute {
    const char *name;
    attribute_type type;
    size_t off; /* of the field */
    uint64_t min, max;
} attribute;

#define FIELD(f) offsetof(tier_config, f)
static const attribute attributes[] = {
    {"read-only", A_FLAG, FIELD(read_only), 0, 0},
    {"ttl", A_NUMBER, FIELD(ttl_s), 1, UINT32_MAX},
    {"timeout", A_NUMBER, FIELD(timeout_ms), 1, 3600000},
    {"connect-timeout", A_NUMBER, FIELD(connect_ms), 1, 3600000},
    {"pause", A_NUMBER, FIELD(pause_ms), 1, 3600000},
    {"retries", A_NUMBER, FIELD(retries), 0, 100},
    {"max-size", A_SIZE, FIELD(max_size), 1, INT64_MAX},
    {"token-file", A_TEXT, FIELD(token_file), 0, 0},
    {"cacert", A_TEXT, FIELD(cacert), 0, 0},
    {"proxy", A_TEXT, FIELD(proxy), 0, 0},
};

static hull_status read_layout(tier_config *t, str value)
{
    static const char *const names[] = {"subdirs", "flat", "bazel"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!str_is(value, names[i]))
            continue;
        t->layout = (tier_layout)i;
        return HULL_OK;
    }
    return bad(t, "layout is not subdirs, flat or bazel");
}

/* NAME:VALUE, with escapes where a store ends. */
static hull_status read_header(reader *r, str value)
{
    tier_config *t = r->t;
    str text, name = str_split(value, ':', &text);

    for (size_t i = 0; i < name.n; i++)
        if (strchr("-_", name.p[i]) == NULL && hex_digit(name.p[i]) < 0 &&
            !((name.p[i] | 32) >= 'g' && (name.p[i] | 32) <= 'z'))
            return bad(t, "malformed name of a header");
    if (name.n == 0 || text.n == 0)
        return bad(t, "wanted header=NAME:VALUE");
    if (t->n_headers == COUNT_OF(t->headers))
        return bad(t, "more than 8 headers");
    t->headers[t->n_headers++] = unescaped(r, value);
    return r->st;
}

static hull_status set_attribute(reader *r, const attribute *a, str value)
{
    void *field = (char *)r->t + a->off;
    uint64_t v = 0;
    bool good;

    if (a->type == A_FLAG) {
        *(bool *)field = true;
        return value.n == 0 ? HULL_OK : bad(r->t, "read-only has no value");
    }
    if (a->type == A_TEXT) {
        *(const char **)field = keep(r, value);
        return value.n > 0 ? r->st : bad(r->t, "an attribute without value");
    }
    good = a->type == A_SIZE ? str_to_size(&v, value) : str_to_u64(&v, value);
    if (!good || v < a->min || v > a->max)
        return fail(HULL_EINVAL, "store number %zu (%s): %s is not %" PRIu64
                    " to %" PRIu64, r->t->number, r->t->scheme, a->name, a->min,
                    a->max);
    *(uint64_t *)field = v;
    return HULL_OK;
}

static hull_status read_attribute(reader *r, str text)
{
    str value, name = str_split(text, '=', &value);

    if (str_is(name, "layout"))
        return read_layout(r->t, value);
    if (str_is(name, "header"))
        return read_header(r, value);
    for (size_t i = 0; i < COUNT_OF(attributes); i++)
        if (str_is(name, attributes[i].name))
            return set_attribute(r, &attributes[i], value);
    return bad(r->t, "unknown attribute; there are read-only, ttl, timeout, "
               "connect-timeout, pause, retries, max-size, layout, header, "
               "token-file, cacert and proxy");
}

static hull_status show(reader *r, str url)
{
    buf b;

    buf_init(&b, 4096);
    url_redacted(&b, url);
    r->t->shown = keep(r, buf_view(&b));
    buf_fini(&b);
    return r->st;
}

static hull_status read_store(reader *r, str store)
{
    str rest, url = str_split(store, '|', &rest);

    TRY(read_url(r, url));
    TRY(show(r, url));
    while (rest.n > 0)
        TRY(read_attribute(r, str_split(rest, '|', &rest)));
    return HULL_OK;
}

hull_status tier_config_read(tier_config *out, str store, size_t number)
{
    reader r = {out, HULL_OK};
    hull_status st;

    *out = (tier_config){
        .number = number, .scheme = "", .user = "", .password = "",
        .host = "", .path = "", .query = "", .shown = "", .token_file = "",
        .cacert = "", .proxy = "",
        .timeout_ms = 10000, .connect_ms = 1000, .pause_ms = TIER_PAUSE_MS,
        .retries = 2,
        .max_size = (uint64_t)512 << 20};
    st = read_store(&r, store);
    if (st != HULL_OK)
        tier_config_fini(out);
    return st;
}

void tier_config_fini(tier_config *t)
{
    arena_fini(&t->memory);
    *t = (tier_config){0};
}
