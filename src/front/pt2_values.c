/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_values.c - names of an exported graph and what they stand for: cells,
 * the Argument union, sizes and types of the metadata.
 */
#include "front/pt2.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define LIST_MAX (1u << 20)

hull_status pt2_cell_new(pt2 *p, const aten_value *v, uint32_t *out)
{
    *out = 0;
    TRY(mem_grow(&p->cells, &p->cap_cells, (size_t)p->n_cells + 1,
                 sizeof *p->cells));
    TRY(mem_grow(&p->groups, &p->cap_groups, (size_t)p->n_groups + 1,
                 sizeof *p->groups));
    *out = p->n_cells++;
    p->groups[p->n_groups] = (pt2_group){.root = *out};
    p->cells[*out] = (pt2_cell){.value = *v, .group = p->n_groups++};
    return HULL_OK;
}

hull_status pt2_name(pt2_scope *s, str name, uint32_t cell)
{
    uint32_t old = 0;

    if (strmap_get(&s->names, name, &old))
        return fail(HULL_EFORMAT, "name '%.*s' is defined twice",
                    STR_ARG(name));
    return strmap_set(&s->names, name, cell);
}

hull_status pt2_lookup(pt2 *p, const pt2_scope *s, str name, uint32_t *out)
{
    *out = 0;
    if (!strmap_get(&s->names, name, out))
        return fail(HULL_EFORMAT, "name '%.*s' is used but not defined",
                    STR_ARG(name));
    pt2_cell *c = &p->cells[*out];
    if (c->hole.n && !c->value.v) {
        c->value = (aten_value){.kind = ATEN_TENSOR};
        c->value.v = c->origin = front_weight(p->f, c->hole);
        TRY(ir_status(p->m));
    }
    if (c->unread)
        return fail(HULL_EUNSUPPORTED, "value '%.*s' is used: %s",
                    STR_ARG(name), c->unread);
    return pt2_refresh(p, *out, name);
}

hull_status pt2_union(json_t *u, const char **out_tag, json_t **out,
                      const char *what)
{
    *out_tag = "";
    *out = NULL;
    if (!json_is_object(u) || json_object_size(u) != 1)
        return fail(HULL_EFORMAT,
                    "%s is %s with %zu keys, wanted an object with one key",
                    what, json_kind(u),
                    json_is_object(u) ? json_object_size(u) : 0);
    void *it = json_object_iter(u);
    *out_tag = json_object_iter_key(it);
    *out = json_object_iter_value(it);
    return HULL_OK;
}

static str json_text(const json_t *j)
{
    return json_is_string(j) ? (str){json_string_value(j),
                                     json_string_length(j)}
                             : str_of("");
}

str pt2_result_name(json_t *arg)
{
    const char *tag;
    json_t *v;

    if (pt2_union(arg, &tag, &v, "a result") != HULL_OK) {
        error_clear(); /* only its name was asked for */
        return str_of("");
    }
    if (json_is_object(v) && json_object_get(v, "name"))
        return json_text(json_object_get(v, "name"));
    return json_is_object(v) ? json_text(json_object_get(v, "as_name"))
                             : str_of("");
}

/* HULL_NONE when unknown. */
static hull_dtype dtype_of(int64_t scalar_type)
{
    static const hull_dtype table[] = {
        HULL_NONE, HULL_U8, HULL_I8, HULL_I16, HULL_I32, HULL_I64, HULL_F16,
        HULL_F32, HULL_F64, HULL_NONE, HULL_C64, HULL_C128, HULL_BOOL,
        HULL_BF16};
    static const hull_dtype more[] = {
        HULL_U16, HULL_F8E4M3FN, HULL_F8E5M2, HULL_F8E4M3FNUZ, HULL_F8E5M2FNUZ,
        HULL_F8E8M0, HULL_U32, HULL_U64};

    if (scalar_type >= 0 && scalar_type < (int64_t)COUNT_OF(table))
        return table[scalar_type];
    if (scalar_type >= 28 && scalar_type - 28 < (int64_t)COUNT_OF(more))
        return more[scalar_type - 28];
    return HULL_NONE;
}

dim pt2_sym_int(const pt2 *p, json_t *j)
{
    json_t *v = json_object_get(j, "as_int");

    if (json_is_integer(v))
        return dim_int(p->m, json_integer_value(v));
    v = json_object_get(json_object_get(j, "as_expr"), "expr_str");
    return json_is_string(v) ? pt2_expr(p->m, &p->defs, json_text(v))
                             : DIM_UNKNOWN;
}

hull_status pt2_meta_type(pt2 *p, const pt2_scope *s, str name, type *out)
{
    json_t *meta = json_object_getn(json_object_get(s->graph, "tensor_values"),
                                    name.p, name.n);
    json_t *sizes = json_object_get(meta, "sizes");
    json_t *dtype = json_object_get(meta, "dtype");
    dim dims[HULL_MAX_RANK];

    memset(out, 0, sizeof *out);
    if (!json_is_array(sizes) || !json_is_integer(dtype))
        return fail(HULL_EFORMAT, "tensor_values of '%.*s' is %s",
                    STR_ARG(name), meta ? "incomplete" : "missing");
    size_t rank = json_array_size(sizes);
    if (rank > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "tensor '%.*s' has rank %zu, at most %d",
                    STR_ARG(name), rank, HULL_MAX_RANK);
    hull_dtype dt = dtype_of(json_integer_value(dtype));
    if (dt == HULL_NONE)
        return fail(HULL_EUNSUPPORTED,
                    "tensor '%.*s' has ScalarType %" PRId64, STR_ARG(name),
                    (int64_t)json_integer_value(dtype));
    for (size_t i = 0; i < rank; i++) {
        int64_t v = 0;

        dims[i] = pt2_sym_int(p, json_array_get(sizes, i));
        if (dim_is_int(p->m, dims[i], &v) && v < 0)
            return fail(HULL_EFORMAT,
                        "tensor '%.*s' has size %" PRId64 " in dim %zu",
                        STR_ARG(name), v, i);
    }
    *out = type_tensor(p->m, dt, dims, (uint32_t)rank);
    return ir_status(p->m);
}

/* ---- arguments ----------------------------------------------------------- */

/* Shared by the cases of an Argument. */
typedef struct reading {
    pt2 *p;
    const pt2_scope *s;
    aten_value *out;
    uint32_t *cell;
    bool *missing;
} reading;

static hull_status read_name(reading *r, str name, aten_value *out,
                             uint32_t *cell)
{
    TRY(pt2_lookup(r->p, r->s, name, cell));
    *r->missing |= r->p->cells[*cell].missing;
    *out = r->p->cells[*cell].value;
    return HULL_OK;
}

static hull_status read_tensor(reading *r, json_t *j, aten_value *out,
                               uint32_t *cell)
{
    str name = json_text(json_object_get(j, "name"));

    TRY(read_name(r, name, out, cell));
    if (out->kind != ATEN_TENSOR && !*r->missing)
        return fail(HULL_EFORMAT, "name '%.*s' is used as a tensor but is none",
                    STR_ARG(name));
    return HULL_OK;
}

static hull_status read_float(double *out, const json_t *j)
{
    str s = json_text(j);

    *out = 0;
    if (json_is_number(j))
        *out = json_number_value(j);
    else if (str_is(s, "Infinity"))
        *out = (double)__builtin_inff();
    else if (str_is(s, "-Infinity"))
        *out = -(double)__builtin_inff();
    else if (str_is(s, "NaN"))
        *out = (double)__builtin_nanf("");
    else
        return fail(HULL_EFORMAT, "a float argument is %s", json_kind(j));
    return HULL_OK;
}

static hull_status want_int(int64_t *out, const json_t *j)
{
    *out = json_integer_value(j);
    return json_is_integer(j)
               ? HULL_OK
               : fail(HULL_EFORMAT, "an integer argument is %s", json_kind(j));
}

static hull_status read_bool(aten_value *out, const json_t *j)
{
    if (!json_is_boolean(j))
        return fail(HULL_EFORMAT, "a bool argument is %s", json_kind(j));
    *out = (aten_value){.kind = ATEN_BOOL, .b = json_is_true(j)};
    return HULL_OK;
}

/* as_sym_int, as_sym_float, as_sym_bool: a name or a plain value. */
static hull_status read_sym(reading *r, json_t *j, aten_value *out,
                            uint32_t *cell)
{
    const char *tag;
    json_t *v;

    TRY(pt2_union(j, &tag, &v, "a symbolic argument"));
    if (strcmp(tag, "as_name") == 0)
        return read_name(r, json_text(v), out, cell);
    if (strcmp(tag, "as_int") == 0) {
        int64_t i = 0;

        TRY(want_int(&i, v));
        *out = (aten_value){.kind = ATEN_INT, .i = dim_int(r->p->m, i)};
        return HULL_OK;
    }
    if (strcmp(tag, "as_bool") == 0)
        return read_bool(out, v);
    if (strcmp(tag, "as_float") == 0) {
        out->kind = ATEN_FLOAT;
        return read_float(&out->f, v);
    }
    return fail(HULL_EUNSUPPORTED, "argument kind '%s' is unknown", tag);
}

static hull_status list_room(reading *r, json_t *j, size_t elem, void **out)
{
    size_t n = json_array_size(j);

    *out = NULL;
    if (!json_is_array(j))
        return fail(HULL_EFORMAT, "a list argument is %s", json_kind(j));
    if (n > LIST_MAX)
        return fail(HULL_EUNSUPPORTED, "a list argument has %zu elements", n);
    *out = arena_array(&r->p->f->a, n ? n : 1, elem);
    r->out->n = (uint32_t)n;
    return *out ? HULL_OK : fail_oom(n * elem);
}

static hull_status read_tensors(reading *r, json_t *j, bool optional)
{
    void *room;
    uint32_t cell;

    TRY(list_room(r, j, sizeof(val), &room));
    val *v = room;
    for (uint32_t i = 0; i < r->out->n; i++) {
        json_t *e = json_array_get(j, i);
        aten_value one = {0};

        if (optional) {
            const char *tag;

            TRY(pt2_union(e, &tag, &e, "an optional tensor"));
            if (strcmp(tag, "as_none") == 0)
                continue;
        }
        TRY(read_tensor(r, e, &one, &cell));
        v[i] = one.v;
    }
    r->out->kind = ATEN_TENSORS;
    r->out->vals = v;
    return HULL_OK;
}

static hull_status read_ints(reading *r, json_t *j, bool symbolic)
{
    void *room;
    uint32_t cell;

    TRY(list_room(r, j, sizeof(dim), &room));
    dim *d = room;
    for (uint32_t i = 0; i < r->out->n; i++) {
        json_t *e = json_array_get(j, i);
        aten_value one = {0};

        if (symbolic) {
            TRY(read_sym(r, e, &one, &cell));
            if (one.kind != ATEN_INT && !*r->missing)
                return fail(HULL_EFORMAT,
                            "element %u of a size list is no integer", i);
            d[i] = one.i;
        } else {
            int64_t v = 0;

            TRY(want_int(&v, e));
            d[i] = dim_int(r->p->m, v);
        }
    }
    r->out->kind = ATEN_INTS;
    r->out->dims = d;
    return HULL_OK;
}

static hull_status read_floats(reading *r, json_t *j)
{
    void *room;

    TRY(list_room(r, j, sizeof(double), &room));
    double *f = room;
    for (uint32_t i = 0; i < r->out->n; i++)
        TRY(read_float(&f[i], json_array_get(j, i)));
    r->out->kind = ATEN_FLOATS;
    r->out->floats = f;
    return HULL_OK;
}

static hull_status read_dtype(reading *r, json_t *j)
{
    int64_t v = 0;

    TRY(want_int(&v, j));
    r->out->kind = ATEN_DTYPE;
    r->out->dt = dtype_of(v);
    return r->out->dt != HULL_NONE
               ? HULL_OK
               : fail(HULL_EUNSUPPORTED, "ScalarType %" PRId64 " is unknown",
                      v);
}

static hull_status read_int(reading *r, json_t *j)
{
    int64_t v = 0;

    TRY(want_int(&v, j));
    r->out->kind = ATEN_INT;
    r->out->i = dim_int(r->p->m, v);
    return HULL_OK;
}

static hull_status read_string(reading *r, const json_t *j)
{
    if (!json_is_string(j))
        return fail(HULL_EFORMAT, "a text argument is %s", json_kind(j));
    *r->out = (aten_value){.kind = ATEN_STR, .s = json_text(j)};
    return HULL_OK;
}

static hull_status read_optional(reading *r, json_t *j)
{
    const char *tag;

    TRY(pt2_union(j, &tag, &j, "an optional tensor"));
    if (strcmp(tag, "as_none") == 0)
        return HULL_OK;
    return read_tensor(r, j, r->out, r->cell);
}

hull_status pt2_argument(pt2 *p, const pt2_scope *s, json_t *arg,
                         aten_value *out, uint32_t *out_cell,
                         bool *out_missing)
{
    static const char *const other[] = {
        "as_memory_format", "as_layout", "as_device", "as_operator"};
    reading r = {p, s, out, out_cell, out_missing};
    const char *tag;
    json_t *v;

    *out = (aten_value){0};
    *out_cell = UINT32_MAX;
    TRY(pt2_union(arg, &tag, &v, "an argument"));
#define IS(name) (strcmp(tag, name) == 0)
    if (IS("as_none"))
        return HULL_OK;
    if (IS("as_tensor"))
        return read_tensor(&r, v, out, out_cell);
    if (IS("as_optional_tensor"))
        return read_optional(&r, v);
    if (IS("as_tensors") || IS("as_optional_tensors"))
        return read_tensors(&r, v, IS("as_optional_tensors"));
    if (IS("as_int"))
        return read_int(&r, v);
    if (IS("as_ints") || IS("as_sym_ints"))
        return read_ints(&r, v, IS("as_sym_ints"));
    if (IS("as_sym_int") || IS("as_sym_float") || IS("as_sym_bool"))
        return read_sym(&r, v, out, out_cell);
    if (IS("as_floats"))
        return read_floats(&r, v);
    if (IS("as_scalar_type"))
        return read_dtype(&r, v);
    if (IS("as_float")) {
        out->kind = ATEN_FLOAT;
        return read_float(&out->f, v);
    }
    if (IS("as_bool"))
        return read_bool(out, v);
    if (IS("as_string"))
        return read_string(&r, v);
#undef IS
    for (size_t i = 0; i < COUNT_OF(other); i++)
        if (strcmp(tag, other[i]) == 0) {
            out->kind = ATEN_OTHER;
            return HULL_OK;
        }
    return fail(HULL_EUNSUPPORTED, "argument kind '%s' is unknown", tag);
}
