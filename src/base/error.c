/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * error.c - the thread's last error: one fixed record per thread, so that
 * recording an error needs no memory and cannot fail. The text is one line:
 * control bytes, which names from hostile files may hold, become '?'.
 */
#include "base/base.h"

#include <string.h>

/* The numbers are ABI and stand in hull.h; the assertions below tie both. */
#define STATUS_LIST(X)      \
    X(HULL_OK, 0)           \
    X(HULL_EINVAL, 1)       \
    X(HULL_ENOMEM, 2)       \
    X(HULL_EIO, 3)          \
    X(HULL_EFORMAT, 4)      \
    X(HULL_EVERSION, 5)     \
    X(HULL_ENOTFOUND, 6)    \
    X(HULL_EUNSUPPORTED, 7) \
    X(HULL_ESHAPE, 8)       \
    X(HULL_EBIND, 9)        \
    X(HULL_EUNBOUND, 10)    \
    X(HULL_ESTALE, 11)      \
    X(HULL_EMISMATCH, 12)   \
    X(HULL_EDEVICE, 13)     \
    X(HULL_EINTERNAL, 14)

#define STATUS_ASSERT(name, number) \
    _Static_assert(name == number, #name " was renumbered");
STATUS_LIST(STATUS_ASSERT)
#undef STATUS_ASSERT

static _Thread_local error_record last;

const char *hull_status_name(hull_status st)
{
    switch (st) {
#define STATUS_CASE(name, number) \
    case name:                    \
        return #name;
        STATUS_LIST(STATUS_CASE)
#undef STATUS_CASE
    }
    return "HULL_UNKNOWN";
}

const char *hull_last_error(void)
{
    return last.text;
}

const char *error_text(void)
{
    return last.text;
}

/* Replaces what would break the line or a terminal. */
static void make_one_line(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == 0x7f)
            *text = '?';
    }
}

/* Drops the torn UTF-8 sequence that cutting the text may have left. */
static void trim_torn_utf8(char *text)
{
    size_t n = strlen(text), tail = 0, want;
    unsigned char lead;

    if (n + 1 < ERROR_TEXT_MAX)
        return;
    while (tail < 3 && ((unsigned char)text[n - 1 - tail] & 0xc0) == 0x80)
        tail++;
    lead = (unsigned char)text[n - 1 - tail];
    want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (want > tail)
        text[n - 1 - tail] = '\0';
}

/* The arguments may point into the record: it is written last. */
static void record(hull_status code, const char *text)
{
    last.status = code;
    memcpy(last.text, text, strlen(text) + 1);
    make_one_line(last.text);
    trim_torn_utf8(last.text);
}

hull_status fail(hull_status code, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;

    if (code == HULL_OK)
        code = HULL_EINTERNAL;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    record(code, text);
    return code;
}

hull_status note(hull_status st, const char *fmt, ...)
{
    char text[ERROR_TEXT_MAX];
    va_list ap;
    size_t n;

    if (st == HULL_OK)
        return st;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    n = strlen(text);
    if (snprintf(text + n, sizeof(text) - n, ": %s", last.text) < 0)
        text[n] = '\0';
    record(st, text);
    return st;
}

/* Is the name in the text as a word of its own? */
static bool names(const char *text, const char *name)
{
    static const char around[] = " '\":,;()";
    size_t n = strlen(name);

    for (const char *p = text; n > 0 && (p = strstr(p, name)) != NULL; p++)
        if ((p == text || strchr(around, p[-1]) != NULL) &&
            strchr(around, p[n]) != NULL) /* or the end */
            return true;
    return false;
}

hull_status note_path(hull_status st, const char *path)
{
    return names(last.text, path) ? st : note(st, "%s", path);
}

void error_take(error_record *out)
{
    memcpy(out, &last, sizeof(*out));
}

hull_status error_put(const error_record *r)
{
    if (r != &last)
        memcpy(&last, r, sizeof(last));
    return r->status;
}

void error_clear(void)
{
    last.status = HULL_OK;
    last.text[0] = '\0';
}

hull_status fail_oom(size_t size)
{
    return fail(HULL_ENOMEM, "out of memory, wanted %zu bytes", size);
}
