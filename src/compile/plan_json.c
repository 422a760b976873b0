/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * plan_json.c - JSON documents inside a module file: building them with one
 * check per step, and typed look-ups with bounds for the reader.
 */
#include "compile/plan_file.h"

#include <inttypes.h>
#include <string.h>

/* ---- building ------------------------------------------------------------ */

hull_status json_new(json_t **out)
{
    return json_parse(out, "{}", 2, "an empty object");
}

hull_status json_put(json_t *object, const char *key, json_t *v)
{
    if (v == NULL || json_object_set_new(object, key, v) != 0)
        return fail_oom(strlen(key));
    return HULL_OK;
}

hull_status json_push(json_t *array, json_t *v)
{
    if (v == NULL || json_array_append_new(array, v) != 0)
        return fail_oom(sizeof v);
    return HULL_OK;
}

hull_status json_put_array(json_t **out, json_t *object, const char *key)
{
    *out = json_array();
    return json_put(object, key, *out);
}

json_t *json_text(str s)
{
    json_t *j;
    char *copy;

    if (str_valid_utf8(s))
        return json_stringn(s.n > 0 ? s.p : "", s.n);
    copy = mem_strndup(s.p, s.n);
    if (copy == NULL)
        return NULL;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)copy[i] > 0x7f)
            copy[i] = '?';
    j = json_stringn(copy, s.n);
    mem_free(copy);
    return j;
}

/* The array, or NULL when one of its members was. */
static json_t *pushed(json_t *array, json_t *v)
{
    if (array != NULL && json_push(array, v) == HULL_OK)
        return array;
    json_decref(array);
    return NULL;
}

json_t *json_shape(const int64_t *dims, uint32_t rank)
{
    json_t *a = json_array();

    for (uint32_t i = 0; a != NULL && i < rank; i++)
        a = pushed(a, json_integer(dims[i]));
    return a;
}

json_t *json_texts(const str *s, uint32_t n)
{
    json_t *a = json_array();

    for (uint32_t i = 0; a != NULL && i < n; i++)
        a = pushed(a, json_text(s[i]));
    return a;
}

static int put_piece(const char *p, size_t n, void *user)
{
    buf_put(user, p, n);
    return ((buf *)user)->failed ? -1 : 0;
}

hull_status json_print(buf *out, const json_t *j)
{
    if (json_dump_callback(j, put_piece, out, JSON_COMPACT) != 0) {
        TRY(buf_status(out));
        return fail_oom(out->n);
    }
    return buf_status(out);
}

hull_status section_add_json(container_writer *w, const char *tag,
                             const json_t *j)
{
    hull_status st;
    buf b;

    buf_init(&b, MODULE_TEXT_MAX);
    st = json_print(&b, j);
    if (st == HULL_OK)
        st = container_add(w, tag, b.p, b.n);
    buf_fini(&b);
    return st;
}

/* ---- reading ------------------------------------------------------------- */

hull_status section_get_json(json_t **out, container *c, const char *tag)
{
    bytes data;

    *out = NULL;
    TRY(container_get(c, tag, MODULE_TEXT_MAX, &data));
    return json_parse(out, (const char *)data.p, data.n, tag);
}

hull_status json_want_u64(uint64_t *out, json_t *obj, const char *key,
                          uint64_t max, const char *what)
{
    int64_t v;

    *out = 0;
    TRY(json_want_int(&v, obj, key, what));
    if (v < 0 || (uint64_t)v > max)
        return fail(HULL_EFORMAT,
                    "%s: key '%s' is %" PRId64 ", wanted 0 to %" PRIu64, what,
                    key, v, max);
    *out = (uint64_t)v;
    return HULL_OK;
}

hull_status json_want_u32(uint32_t *out, json_t *obj, const char *key,
                          uint32_t max, const char *what)
{
    uint64_t v;

    *out = 0;
    TRY(json_want_u64(&v, obj, key, max, what));
    *out = (uint32_t)v;
    return HULL_OK;
}

hull_status json_want_shape(int64_t *dims, uint32_t *rank, json_t *obj,
                            const char *key, const char *what)
{
    json_t *list;

    *rank = 0;
    TRY(json_want_array(&list, obj, key, what));
    if (json_array_size(list) > HULL_MAX_RANK)
        return fail(HULL_EFORMAT, "%s: key '%s' has %zu dims, at most %d",
                    what, key, json_array_size(list), HULL_MAX_RANK);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *v = json_array_get(list, i);

        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return fail(HULL_EFORMAT, "%s: dim %zu of '%s' is no size", what,
                        i, key);
        dims[i] = json_integer_value(v);
    }
    *rank = (uint32_t)json_array_size(list);
    return HULL_OK;
}

hull_status json_want_dtype(hull_dtype *out, json_t *obj, const char *key,
                            const char *what)
{
    str name;

    *out = HULL_NONE;
    TRY(json_want_string(&name, obj, key, what));
    *out = dtype_from_name(name);
    if (*out == HULL_NONE)
        return fail(HULL_EFORMAT, "%s: there is no dtype '%.*s'", what,
                    STR_ARG(name));
    return HULL_OK;
}

hull_status json_want_digest(digest *out, json_t *obj, const char *key,
                             const char *what)
{
    str hex;

    TRY(json_want_string(&hex, obj, key, what));
    if (!digest_from_hex(out, hex))
        return fail(HULL_EFORMAT, "%s: key '%s' is no digest", what, key);
    return HULL_OK;
}
