/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * op.c - the op table: rows of ir/ops.def with their functions, and the
 * attribute schemas, read once from the rows' text. Grammar of that text:
 *   attrs = [attr {" " attr}]    attr = name ":" kind ["=" default]
 *   default = "?" | integer | float | true | false | "text" | dtype
 */
#include "ops/op.h"

#include <pthread.h>
#include <string.h>

#define SCHEMA_MAX 512  /* attribute rows of all ops together */
#define NAMES_MAX 8192  /* bytes of their names */

#define OP(name_, family_, min_, max_, out_, attrs_, traits_)               \
    [OP_##name_] = {.name = #name_,                                         \
                    .family = #family_,                                     \
                    .attr_text = attrs_,                                    \
                    .in_min = min_,                                         \
                    .in_max = max_,                                         \
                    .n_out = out_,                                          \
                    .traits = (uint32_t)(traits_) |                         \
                              ((out_) < 0 ? (uint32_t)OP_VARIADIC_OUT : 0u), \
                    .infer = family_##_infer,                               \
                    .eval = family_##_eval},
static op_info table[OP_COUNT] = {
#include "ir/ops.def"
};
#undef OP

static attr_schema schema[SCHEMA_MAX];
static char names[NAMES_MAX];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool kind_from_name(attr_kind *out, str name)
{
    static const char *const kinds[] = {
        [ATTR_INT] = "int",       [ATTR_FLOAT] = "float",
        [ATTR_BOOL] = "bool",     [ATTR_STR] = "str",
        [ATTR_DTYPE] = "dtype",   [ATTR_DIM] = "dim",
        [ATTR_INTS] = "ints",     [ATTR_FLOATS] = "floats",
        [ATTR_STRS] = "strs",     [ATTR_DIMS] = "dims",
        [ATTR_TENSOR] = "tensor", [ATTR_GRAPH] = "graph",
    };

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (str_is(name, kinds[i])) {
            *out = (attr_kind)i;
            return true;
        }
    }
    return false;
}

static bool parse_default(attr_schema *row, str text)
{
    attr *a = &row->def;

    if (str_is(text, "?"))
        return true;
    a->set = true;
    switch (row->kind) {
    case ATTR_INT:
        return str_to_i64(&a->u.i, text);
    case ATTR_FLOAT:
        return str_to_f64(&a->u.f, text);
    case ATTR_BOOL:
        a->u.b = str_is(text, "true");
        return a->u.b || str_is(text, "false");
    case ATTR_DTYPE:
        a->u.dt = dtype_from_name(text);
        return a->u.dt != HULL_NONE;
    case ATTR_STR:
        if (text.n < 2 || text.p[0] != '"' || text.p[text.n - 1] != '"')
            return false;
        a->u.s = (str){text.p + 1, text.n - 2};
        return true;
    default:
        return false;
    }
}

/* One "name:kind=default"; false when the row cannot be read. */
static bool parse_attr(attr_schema *row, size_t *used, str text)
{
    str preset = {0}, kind = {0};
    str head = str_split(text, '=', &preset);
    str name = str_split(head, ':', &kind);

    if (name.n == 0 || *used + name.n + 1 > NAMES_MAX)
        return false;
    memcpy(names + *used, name.p, name.n);
    names[*used + name.n] = '\0';
    row->name = names + *used;
    *used += name.n + 1;
    if (!kind_from_name(&row->kind, kind))
        return false;
    row->required = head.n == text.n;
    return row->required || parse_default(row, preset);
}

/* A row that cannot be read ends its schema early: test_op counts them. */
static void parse_schemas(void)
{
    size_t used = 0;
    uint32_t rows = 0;

    for (int op = OP_none + 1; op < OP_COUNT; op++) {
        op_info *info = &table[op];
        str rest = str_of(info->attr_text);

        info->attrs = &schema[rows];
        while (rest.n > 0 && rows < SCHEMA_MAX) {
            str text = str_split(rest, ' ', &rest);

            if (!parse_attr(&schema[rows], &used, text))
                break;
            rows++;
            info->n_attrs++;
        }
    }
}

const op_info *op_get(op_code op)
{
    static const op_info nothing = {.name = "none", .family = "none",
                                    .attr_text = ""};

    pthread_once(&once, parse_schemas);
    if (op <= OP_none || op >= OP_COUNT)
        return &nothing;
    return &table[op];
}

op_code op_find(str name)
{
    for (int op = OP_none + 1; op < OP_COUNT; op++) {
        if (str_is(name, table[op].name))
            return (op_code)op;
    }
    return OP_none;
}

int attr_index(op_code op, str name)
{
    const op_info *info = op_get(op);

    for (uint32_t i = 0; i < info->n_attrs; i++) {
        if (str_is(name, info->attrs[i].name))
            return (int)i;
    }
    return -1;
}

/* A kernel that is not made for strings would compute with pointers. */
static hull_status refuse_texts(const graph *g, const node *n,
                                const op_info *info)
{
    char what[128];

    if ((info->traits & OP_TEXT) != 0)
        return HULL_OK;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const type *t = n->in[i] != 0 ? graph_type(g, n->in[i]) : NULL;

        if (t != NULL && t->dtype == HULL_STRING)
            return fail(HULL_EUNSUPPORTED, "%s: operand %u holds strings",
                        node_what(n, what), i);
    }
    for (uint32_t i = 0; i < info->n_attrs; i++) {
        const attr *a = &n->attrs[i];
        attr_kind kind = info->attrs[i].kind;

        if (a->set && ((kind == ATTR_DTYPE && a->u.dt == HULL_STRING) ||
                       (kind == ATTR_TENSOR && a->u.t != NULL &&
                        a->u.t->dtype == HULL_STRING)))
            return fail(HULL_EUNSUPPORTED, "%s: attribute '%s' is string",
                        node_what(n, what), info->attrs[i].name);
    }
    return HULL_OK;
}

hull_status op_infer(graph *g, node *n)
{
    const op_info *info = op_get(n->op);

    if (!info->infer)
        return fail(HULL_EINTERNAL, "op code %d has no shape rule", (int)n->op);
    TRY(refuse_texts(g, n, info));
    TRY(info->infer(g, n));
    infer_known(g, n);
    return HULL_OK;
}
