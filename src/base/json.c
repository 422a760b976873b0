/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * json.c - jansson behind our error record. jansson recurses into values, so
 * the nesting is bounded before it sees the text. Its allocations stay on
 * malloc, apart from mem_*: an allocation that fails while its lexer saves or
 * gives back a character leaves the lexer's counters wrong, and the next step
 * writes outside its buffer. So no hook and no caller's allocator may make one
 * fail on purpose; where malloc itself gives NULL the parse fails.
 */
#include "base/base.h"

#include <jansson.h>
#include <string.h>

#define JSON_DEPTH_MAX 128
#define JSON_VALUES_MAX ((size_t)1 << 23)

/* Deepest nesting of brackets outside strings, and how many values there may
 * be; broken text gives any numbers, but never ones below what a parser could
 * reach. */
static size_t nesting(size_t *out_values, const char *p, size_t n)
{
    size_t i, depth = 0, most = 0, values = 1;
    bool quoted = false;

    for (i = 0; i < n; i++) {
        if (quoted) {
            if (p[i] == '\\')
                i++;
            else if (p[i] == '"')
                quoted = false;
        } else if (p[i] == '"') {
            quoted = true;
        } else if (p[i] == ',') {
            values++;
        } else if (p[i] == '[' || p[i] == '{') {
            depth++;
            values++;
            most = depth > most ? depth : most;
        } else if ((p[i] == ']' || p[i] == '}') && depth > 0) {
            depth--;
        }
    }
    *out_values = values;
    return most;
}

hull_status json_parse(json_t **out, const char *p, size_t n, const char *what)
{
    size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, depth, values;
    json_error_t err;
    json_t *j;

    *out = NULL;
    depth = nesting(&values, p, n);
    if (depth > JSON_DEPTH_MAX)
        return fail(HULL_EFORMAT, "%s nests %zu deep, wanted at most %d", what,
                    depth, JSON_DEPTH_MAX);
    if (values > JSON_VALUES_MAX)
        return fail(HULL_EFORMAT, "%s has %zu values, wanted at most %zu", what,
                    values, JSON_VALUES_MAX);
    memset(&err, 0, sizeof(err));
    j = json_loadb(n == 0 ? "" : p, n, flags, &err);
    if (j == NULL && (err.text[0] == '\0' ||
                      json_error_code(&err) == json_error_out_of_memory))
        return fail(HULL_ENOMEM, "%s: out of memory in a document of %zu bytes",
                    what, n);
    if (j == NULL)
        return fail(HULL_EFORMAT, "%s: line %d, column %d: %s", what, err.line,
                    err.column, err.text);
    *out = j;
    return HULL_OK;
}

void json_free(json_t *j)
{
    json_decref(j);
}

const char *json_kind(const json_t *j)
{
    if (j == NULL)
        return "nothing";
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "real";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        return "null";
    }
    return "unknown";
}

/* The value of obj[key], which has to be of the given type. */
static hull_status want(json_t **out, json_t *obj, const char *key,
                        json_type type, const char *kind, const char *what)
{
    json_t *v;

    *out = NULL;
    if (!json_is_object(obj))
        return fail(HULL_EFORMAT,
                    "%s is of kind %s, wanted an object with "
                    "key '%s'",
                    what, json_kind(obj), key);
    v = json_object_get(obj, key);
    if (v == NULL)
        return fail(HULL_EFORMAT, "%s lacks key '%s', wanted kind %s", what,
                    key, kind);
    if (json_typeof(v) != type)
        return fail(HULL_EFORMAT, "%s: key '%s' is of kind %s, wanted %s", what,
                    key, json_kind(v), kind);
    *out = v;
    return HULL_OK;
}

hull_status json_want_object(json_t **out, json_t *obj, const char *key,
                             const char *what)
{
    return want(out, obj, key, JSON_OBJECT, "object", what);
}

hull_status json_want_array(json_t **out, json_t *obj, const char *key,
                            const char *what)
{
    return want(out, obj, key, JSON_ARRAY, "array", what);
}

hull_status json_want_string(str *out, json_t *obj, const char *key,
                             const char *what)
{
    json_t *v;

    *out = (str){ "", 0 };
    TRY(want(&v, obj, key, JSON_STRING, "string", what));
    *out = (str){ json_string_value(v), json_string_length(v) };
    return HULL_OK;
}

hull_status json_want_int(int64_t *out, json_t *obj, const char *key,
                          const char *what)
{
    json_t *v;

    *out = 0;
    TRY(want(&v, obj, key, JSON_INTEGER, "integer", what));
    *out = json_integer_value(v);
    return HULL_OK;
}
