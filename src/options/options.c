/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * options.c - parses, prints and describes the options of options.def. Values
 * are kept as text (what get returns) and as a number.
 */
#include "options/options.h"

#include <inttypes.h>
#include <string.h>

typedef enum option_type { OPT_INT, OPT_BYTES, OPT_BOOL, OPT_STR } option_type;
typedef enum option_effect {
    EFFECT_CODE, EFFECT_PLAN, EFFECT_RUN
} option_effect;

typedef struct option_row {
    const char *key;
    option_type type;
    const char *def;
    int64_t min, max;
    option_effect effect;
    const char *help;
} option_row;

#define OPT(key, type, def, min, max, effect, help) \
    {#key, OPT_##type, def, min, max, EFFECT_##effect, help},
static const option_row rows[OPT_COUNT] = {
#include "options/options.def"
};
#undef OPT

static const char *const type_names[] = {"int", "bytes", "bool", "string"};
static const char *const effect_names[] = {"CODE", "PLAN", "RUN"};

struct hull_options {
    char *text[OPT_COUNT]; /* NULL = the default */
    int64_t number[OPT_COUNT];
};

/* Number of a non-STR value; false when it is no such thing. */
static bool parse_number(int64_t *out, const option_row *row, str v)
{
    uint64_t size;

    switch (row->type) {
    case OPT_BOOL:
        *out = str_is(v, "on") || str_is(v, "true") || str_is(v, "1");
        return *out || str_is(v, "off") || str_is(v, "false") ||
               str_is(v, "0");
    case OPT_BYTES:
        if (!str_to_size(&size, v) || size > INT64_MAX)
            return false;
        *out = (int64_t)size;
        return true;
    case OPT_INT:
        return str_to_i64(out, v);
    case OPT_STR:
        break;
    }
    *out = 0;
    return true;
}

static int64_t default_number(const option_row *row)
{
    int64_t v = 0;

    if (row->type != OPT_STR)
        parse_number(&v, row, str_of(row->def));
    return v;
}

hull_status options_new(options **out)
{
    *out = mem_calloc(1, sizeof **out);
    if (*out == NULL)
        return fail_oom(sizeof **out);
    for (int i = 0; i < OPT_COUNT; i++)
        (*out)->number[i] = default_number(&rows[i]);
    return HULL_OK;
}

void options_free(options *o)
{
    if (o == NULL)
        return;
    for (int i = 0; i < OPT_COUNT; i++)
        mem_free(o->text[i]);
    mem_free(o);
}

hull_status options_copy(options **out, const options *o)
{
    options *copy;

    *out = NULL;
    TRY(options_new(&copy));
    for (int i = 0; o != NULL && i < OPT_COUNT; i++) {
        copy->number[i] = o->number[i];
        if (o->text[i] == NULL)
            continue;
        copy->text[i] = mem_strndup(o->text[i], strlen(o->text[i]));
        if (copy->text[i] == NULL) {
            options_free(copy);
            return fail_oom(strlen(o->text[i]));
        }
    }
    *out = copy;
    return HULL_OK;
}

static hull_status find_row(int *out, const char *key)
{
    size_t least = SIZE_MAX;
    int best = 0;

    *out = 0;
    for (int i = 0; i < OPT_COUNT; i++) {
        size_t d = str_distance(str_of(rows[i].key), str_of(key));

        if (d == 0) {
            *out = i;
            return HULL_OK;
        }
        if (d < least)
            best = i;
        least = d < least ? d : least;
    }
    return fail(HULL_ENOTFOUND, "there is no option '%s'; the nearest is '%s'",
                key, rows[best].key);
}

static hull_status check_value(int64_t *out, const option_row *row,
                               const char *value)
{
    if (!parse_number(out, row, str_of(value)))
        return fail(HULL_EINVAL, "option '%s' is '%s', wanted %s", row->key,
                    value,
                    row->type == OPT_BOOL ? "on or off"
                    : row->type == OPT_BYTES
                        ? "a size such as 64MiB"
                        : "an integer");
    if (row->type != OPT_STR && (*out < row->min || *out > row->max))
        return fail(HULL_EINVAL,
                    "option '%s' is %s, wanted %" PRId64 " to %" PRId64,
                    row->key, value, row->min, row->max);
    return HULL_OK;
}

hull_status hull_options_set(hull_options *o, const char *key,
                             const char *value)
{
    int id;
    int64_t number;
    char *copy;

    if (o == NULL || key == NULL || value == NULL)
        return fail(HULL_EINVAL, "options, key and value must not be NULL");
    TRY(find_row(&id, key));
    TRY(check_value(&number, &rows[id], value));
    copy = mem_strndup(value, strlen(value));
    if (copy == NULL)
        return fail_oom(strlen(value));
    mem_free(o->text[id]);
    o->text[id] = copy;
    o->number[id] = number;
    return HULL_OK;
}

const char *hull_options_get(const hull_options *o, const char *key)
{
    for (int i = 0; o != NULL && key != NULL && i < OPT_COUNT; i++)
        if (strcmp(rows[i].key, key) == 0)
            return o->text[i] != NULL ? o->text[i] : rows[i].def;
    return NULL;
}

hull_status hull_options_describe(size_t i, hull_option_info *out)
{
    static _Thread_local char bounds[64];

    if (out == NULL)
        return fail(HULL_EINVAL, "out must not be NULL");
    *out = (hull_option_info){0};
    if (i >= OPT_COUNT)
        return fail(HULL_ENOTFOUND, "there are %d options, not %zu", OPT_COUNT,
                    i + 1);
    bounds[0] = '\0';
    if (rows[i].type == OPT_INT)
        snprintf(bounds, sizeof bounds, "%" PRId64 "..%" PRId64, rows[i].min,
                 rows[i].max);
    *out = (hull_option_info){
        .key = rows[i].key,
        .type = type_names[rows[i].type],
        .default_value = rows[i].def,
        .bounds = bounds,
        .effect = effect_names[rows[i].effect],
        .help = rows[i].help,
    };
    return HULL_OK;
}

hull_status hull_options_new(hull_options **out)
{
    if (out == NULL)
        return fail(HULL_EINVAL, "out must not be NULL");
    return options_new(out);
}

void hull_options_free(hull_options *o)
{
    options_free(o);
}

int64_t option_int(const options *o, option_id id)
{
    return o != NULL ? o->number[id] : default_number(&rows[id]);
}

bool option_on(const options *o, option_id id)
{
    return option_int(o, id) != 0;
}

str option_str(const options *o, option_id id)
{
    return str_of(o != NULL && o->text[id] != NULL ? o->text[id]
                                                   : rows[id].def);
}

bool option_lists(const options *o, option_id id, str word)
{
    str rest = option_str(o, id);

    while (rest.n > 0)
        if (str_eq(str_trim(str_split(rest, ',', &rest)), word))
            return true;
    return false;
}

/* "key=value\n" */
static void put_row(buf *out, const options *o, option_id id, bool quoted)
{
    buf_printf(out, "%s=", rows[id].key);
    if (rows[id].type != OPT_STR)
        buf_printf(out, "%" PRId64, option_int(o, id));
    else if (quoted)
        buf_quoted(out, option_str(o, id));
    else
        buf_str(out, option_str(o, id));
    buf_putc(out, '\n');
}

void options_code_text(buf *out, const options *o)
{
    for (int i = 0; i < OPT_COUNT; i++)
        if (rows[i].effect == EFFECT_CODE)
            put_row(out, o, (option_id)i, false);
}

void options_plan_text(buf *out, const options *o)
{
    for (int i = 0; i < OPT_COUNT; i++)
        if (rows[i].effect != EFFECT_RUN || i == OPT_keep)
            put_row(out, o, (option_id)i, true);
}
