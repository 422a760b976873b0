/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * log.c - what is said while working, and to whom.
 *
 *     spec  = [ item { "," item } ]
 *     item  = [ subsystem ":" ] level       subsystem "all": every other one
 *     level = "error" | "warn" | "info" | "debug"
 *
 * HULL_LOG gives the spec at the first use. A sink is called without a lock
 * held, so it may call Hull; it may be called from several threads at once.
 */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 32
#define MAX_NAME 31
#define MAX_LINE 4096

static const char *const level_names[] = { "error", "warn", "info", "debug" };

typedef struct rule {
    char name[MAX_NAME + 1];
    log_level level;
} rule;

typedef struct rules {
    rule items[MAX_RULES];
    size_t n;
    log_level all;
} rules;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static rules active = { .all = LOG_WARN };
static atomic_int loudest = LOG_WARN; /* no rule lets more through */
static hull_log_fn sink_fn;
static void *sink_user;

static bool parse_level(log_level *out, str s)
{
    size_t i;

    for (i = 0; i < COUNT_OF(level_names); i++) {
        if (str_is(s, level_names[i])) {
            *out = (log_level)i;
            return true;
        }
    }
    return false;
}

static hull_status parse_item(rules *out, str item)
{
    str level_text, name = str_split(item, ':', &level_text);
    log_level level;
    rule *r;

    if (memchr(item.p, ':', item.n) == NULL) {
        level_text = item;
        name = str_of("all");
    }
    name = str_trim(name);
    level_text = str_trim(level_text);
    if (name.n == 0 || name.n > MAX_NAME)
        return fail(HULL_EINVAL,
                    "log item '%.*s' has a subsystem of %zu bytes, wanted 1 "
                    "to %d",
                    STR_ARG(item), name.n, MAX_NAME);
    if (!parse_level(&level, level_text))
        return fail(HULL_EINVAL,
                    "log item '%.*s' has level '%.*s', wanted error, warn, "
                    "info or debug",
                    STR_ARG(item), STR_ARG(level_text));
    if (str_is(name, "all")) {
        out->all = level;
        return HULL_OK;
    }
    if (out->n == MAX_RULES)
        return fail(HULL_EINVAL,
                    "log item '%.*s' is one too many, wanted at "
                    "most %d",
                    STR_ARG(item), MAX_RULES);
    r = &out->items[out->n++];
    memcpy(r->name, name.p, name.n);
    r->name[name.n] = '\0';
    r->level = level;
    return HULL_OK;
}

static hull_status parse_rules(rules *out, str spec)
{
    memset(out, 0, sizeof(*out));
    out->all = LOG_WARN;
    while (spec.n > 0) {
        str item = str_trim(str_split(spec, ',', &spec));

        if (item.n > 0)
            TRY(parse_item(out, item));
    }
    return HULL_OK;
}

static void install(const rules *r)
{
    int most = (int)r->all;
    size_t i;

    for (i = 0; i < r->n; i++) {
        if ((int)r->items[i].level > most)
            most = (int)r->items[i].level;
    }
    pthread_mutex_lock(&lock);
    active = *r;
    atomic_store(&loudest, most);
    pthread_mutex_unlock(&lock);
}

static void emit(const char *subsystem, log_level level, const char *text)
{
    hull_log_fn fn;
    void *user;

    pthread_mutex_lock(&lock);
    fn = sink_fn;
    user = sink_user;
    pthread_mutex_unlock(&lock);
    if (fn != NULL)
        fn(user, subsystem, (int)level, text);
    else
        fprintf(stderr, "hull %s: %s: %s\n", level_names[level], subsystem,
                text);
}

/* A bad HULL_LOG must not stop the program: it is reported as a warning, and
 * the caller's error record stays as it was. */
static void read_environment(void)
{
    const char *spec = getenv("HULL_LOG");
    error_record before;
    rules r;

    error_take(&before);
    if (parse_rules(&r, str_of(spec)) == HULL_OK)
        install(&r);
    else
        emit("log", LOG_WARN, error_text());
    ignore(error_put(&before)); /* puts back, reports nothing new */
}

bool log_on(const char *subsystem, log_level level)
{
    log_level allowed;
    size_t i;

    pthread_once(&once, read_environment);
    if ((int)level > atomic_load_explicit(&loudest, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&lock);
    allowed = active.all;
    for (i = 0; i < active.n; i++) {
        if (strcmp(active.items[i].name, subsystem) == 0)
            allowed = active.items[i].level; /* the last rule wins */
    }
    pthread_mutex_unlock(&lock);
    return level <= allowed;
}

void log_at(const char *subsystem, log_level level, const char *fmt, ...)
{
    char text[MAX_LINE];
    va_list ap;
    char *p;

    if (!log_on(subsystem, level))
        return;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    for (p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    }
    emit(subsystem, level, text);
}

hull_status log_configure(const char *spec)
{
    rules r;

    pthread_once(&once, read_environment);
    if (spec == NULL || spec[0] == '\0') {
        TRY(parse_rules(&r, str_of(getenv("HULL_LOG"))));
    } else {
        TRY(parse_rules(&r, str_of(spec)));
    }
    install(&r);
    return HULL_OK;
}

void log_set_sink(hull_log_fn fn, void *user)
{
    pthread_mutex_lock(&lock);
    sink_fn = fn;
    sink_user = user;
    pthread_mutex_unlock(&lock);
}

void hull_set_log(hull_log_fn fn, void *user)
{
    log_set_sink(fn, user);
}
