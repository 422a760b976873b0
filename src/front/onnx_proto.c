/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_proto.c - messages of an ONNX file as structures: views of the file,
 * lists in an arena. Graphs inside attributes stay bytes until they are
 * walked, so that no message can make the parser recurse.
 *
 *   ModelProto    1 ir_version 2 producer_name 3 producer_version 7 graph
 *                 8 opset_import* 25 functions*
 *   GraphProto    1 node* 2 name 5 initializer* 11 input* 12 output*
 *                 13 value_info* 15 sparse_initializer* 16 metadata_props*
 *   NodeProto     1 input* 2 output* 3 name 4 op_type 5 attribute* 7 domain
 *                 8 overload 9 metadata_props*
 *   AttributeProto 1 name 2 f 3 i 4 s 5 t 6 g 7 floats* 8 ints* 9 strings*
 *                 14 tp 20 type 21 ref_attr_name 22 sparse_tensor
 *   FunctionProto 1 name 4 input* 5 output* 6 attribute* 7 node*
 *                 9 opset_import* 10 domain 11 attribute_proto* 13 overload
 */
#include "front/onnx.h"

#include <inttypes.h>
#include <string.h>

#define ATTRS_MAX 256        /* of a node */
#define FUNCTIONS_MAX 10000
#define IMPORTS_MAX 1000

/* A message being read: counts per field number first, then the fields. */
typedef struct reader {
    arena *a;
    pb r;
    bytes b;
    const uint8_t *base;
    uint32_t n[32];
} reader;

/* Counts the fields of b by number. */
static hull_status open_message(reader *m, arena *a, bytes b,
                                const uint8_t *base, const char *what)
{
    pb_field f;
    bool more = true;

    *m = (reader){.a = a, .b = b, .base = base};
    m->r = pb_of(b, base, what);
    for (;;) {
        TRY(pb_next(&m->r, &f, &more));
        if (!more)
            break;
        if (f.number < COUNT_OF(m->n))
            m->n[f.number]++;
    }
    m->r = pb_of(b, base, what);
    return HULL_OK;
}

static hull_status next(reader *m, pb_field *f, bool *more)
{
    return pb_next(&m->r, f, more);
}

static hull_status list(reader *m, void *out, uint32_t count, size_t size)
{
    void *p = NULL;

    if (count > 0) {
        p = arena_array(m->a, count, size);
        if (!p)
            return fail_oom(count * size);
    }
    memcpy(out, &p, sizeof p);
    return HULL_OK;
}

static hull_status take_str(const reader *m, const pb_field *f, str *out)
{
    TRY(pb_want(&m->r, f, 2));
    *out = pb_str(f);
    return HULL_OK;
}

static hull_status take_bytes(const reader *m, const pb_field *f, bytes *out)
{
    TRY(pb_want(&m->r, f, 2));
    *out = f->b;
    return HULL_OK;
}

static hull_status take_i64(const reader *m, const pb_field *f, int64_t *out)
{
    TRY(pb_want(&m->r, f, 0));
    *out = (int64_t)f->u;
    return HULL_OK;
}

static hull_status parse_meta(onnx_meta *out, const reader *parent, bytes b)
{
    reader m;
    pb_field f;
    bool more;

    TRY(open_message(&m, parent->a, b, parent->base, "StringStringEntry"));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number == 1)
            TRY(take_str(&m, &f, &out->key));
        else if (f.number == 2)
            TRY(take_str(&m, &f, &out->value));
    }
}

str onnx_meta_get(const onnx_meta *m, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_is(m[i].key, key))
            return m[i].value;
    return (str){NULL, 0};
}

/* ---- attributes ---------------------------------------------------------- */

/* Copies a decoded list into the arena. */
static hull_status keep_list(const reader *m, const void *p, size_t n,
                             size_t size, const void *out, uint32_t *out_n)
{
    void *q = NULL;

    if (n > UINT32_MAX)
        return fail(HULL_EFORMAT, "a list of %zu elements", n);
    if (n > 0) {
        q = arena_memdup(m->a, p, n * size);
        if (!q)
            return fail_oom(n * size);
    }
    memcpy((void *)(uintptr_t)out, &q, sizeof q);
    *out_n = (uint32_t)n;
    return HULL_OK;
}

typedef struct lists {
    float *floats;
    int64_t *ints;
    size_t n_floats, cap_floats, n_ints, cap_ints;
    str *strings;
    uint32_t n_strings;
} lists;

static hull_status attr_field(onnx_attr *a, reader *m, const pb_field *f,
                              lists *l, int64_t *given)
{
    switch (f->number) {
    case 1:
        return take_str(m, f, &a->name);
    case 2:
        TRY(pb_want(&m->r, f, 5));
        a->f = pb_f32(f);
        return HULL_OK;
    case 3:
        return take_i64(m, f, &a->i);
    case 4:
        return take_str(m, f, &a->s);
    case 5:
        return take_bytes(m, f, &a->t);
    case 6:
        return take_bytes(m, f, &a->g);
    case 7:
        return pb_f32s(&m->r, f, &l->floats, &l->n_floats, &l->cap_floats);
    case 8:
        return pb_i64s(&m->r, f, &l->ints, &l->n_ints, &l->cap_ints);
    case 9:
        return take_str(m, f, &l->strings[l->n_strings++]);
    case 14:
        return take_bytes(m, f, &a->tp);
    case 20:
        return take_i64(m, f, given);
    case 21:
        return take_str(m, f, &a->ref);
    case 22:
        return take_bytes(m, f, &a->sparse);
    default:
        return HULL_OK;
    }
}

/* The type from the fields that are there, for files without `type`, and its
 * agreement with `type`. */
static hull_status settle_type(onnx_attr *a, const reader *m, int64_t given)
{
    static const uint8_t field_of[] = {
        [ONNX_FLOAT] = 2,  [ONNX_INT] = 3,    [ONNX_STRING] = 4,
        [ONNX_TENSOR] = 5, [ONNX_GRAPH] = 6,  [ONNX_FLOATS] = 7,
        [ONNX_INTS] = 8,   [ONNX_STRINGS] = 9, [ONNX_TYPE] = 14,
        [ONNX_SPARSE] = 22,
    };
    int64_t found = 0;

    for (int t = ONNX_FLOAT; t < (int)COUNT_OF(field_of); t++) {
        if (field_of[t] == 0 || m->n[field_of[t]] == 0)
            continue;
        if (found && !(given == found || given == t))
            return fail(HULL_EFORMAT,
                        "attribute '%.*s' holds values of two kinds",
                        STR_ARG(a->name));
        if (!found || given == t)
            found = t;
    }
    if (m->n[5] > 1 || m->n[6] > 1)
        return fail(HULL_EFORMAT, "attribute '%.*s' holds two values",
                    STR_ARG(a->name));
    if (given == 0)
        given = found;
    if (given < 0 || given >= (int64_t)COUNT_OF(field_of) ||
        (given > 0 && field_of[given] == 0))
        given = ONNX_OTHER;
    else if (found && found != given && a->ref.n == 0)
        return fail(HULL_EFORMAT,
                    "attribute '%.*s' has type %" PRId64
                    " and a value of type %" PRId64,
                    STR_ARG(a->name), given, found);
    a->type = (onnx_attr_type)given;
    return HULL_OK;
}

static hull_status parse_attr_fields(onnx_attr *out, reader *m, lists *l)
{
    pb_field f;
    bool more;
    int64_t given = 0;

    for (;;) {
        TRY(next(m, &f, &more));
        if (!more)
            break;
        TRY(attr_field(out, m, &f, l, &given));
    }
    TRY(settle_type(out, m, given));
    TRY(keep_list(m, l->floats, l->n_floats, sizeof *l->floats, &out->floats,
                  &out->n_floats));
    TRY(keep_list(m, l->ints, l->n_ints, sizeof *l->ints, &out->ints,
                  &out->n_ints));
    out->strings = l->strings;
    out->n_strings = l->n_strings;
    return HULL_OK;
}

static hull_status parse_attr(onnx_attr *out, const reader *parent, bytes b)
{
    reader m;
    lists l = {0};

    TRY(open_message(&m, parent->a, b, parent->base, "AttributeProto"));
    TRY(list(&m, &l.strings, m.n[9], sizeof *l.strings));
    hull_status st = parse_attr_fields(out, &m, &l);
    mem_free(l.floats);
    mem_free(l.ints);
    return st;
}

/* ---- nodes --------------------------------------------------------------- */

static hull_status node_field(onnx_node *n, reader *m, const pb_field *f)
{
    switch (f->number) {
    case 1:
        return take_str(m, f, &n->in[n->n_in++]);
    case 2:
        return take_str(m, f, &n->out[n->n_out++]);
    case 3:
        return take_str(m, f, &n->name);
    case 4:
        return take_str(m, f, &n->op);
    case 5:
        TRY(pb_want(&m->r, f, 2));
        return parse_attr(&n->attrs[n->n_attrs++], m, f->b);
    case 7:
        return take_str(m, f, &n->domain);
    case 8:
        return take_str(m, f, &n->overload);
    case 9:
        TRY(pb_want(&m->r, f, 2));
        return parse_meta(&n->meta[n->n_meta++], m, f->b);
    default:
        return HULL_OK;
    }
}

static hull_status parse_node_fields(onnx_node *out, reader *m)
{
    pb_field f;
    bool more;

    TRY(list(m, &out->in, m->n[1], sizeof *out->in));
    TRY(list(m, &out->out, m->n[2], sizeof *out->out));
    TRY(list(m, &out->attrs, m->n[5], sizeof *out->attrs));
    TRY(list(m, &out->meta, m->n[9], sizeof *out->meta));
    if (m->n[5] > ATTRS_MAX)
        return fail(HULL_EFORMAT, "%" PRIu32 " attributes, at most %d fit",
                    m->n[5], ATTRS_MAX);
    for (;;) {
        TRY(next(m, &f, &more));
        if (!more)
            break;
        TRY(node_field(out, m, &f));
    }
    for (uint32_t i = 0; i < out->n_attrs; i++)
        for (uint32_t k = 0; k < i; k++)
            if (str_eq(out->attrs[i].name, out->attrs[k].name))
                return fail(HULL_EFORMAT, "attribute '%.*s' is given twice",
                            STR_ARG(out->attrs[i].name));
    return HULL_OK;
}

static hull_status parse_node(onnx_node *out, const reader *parent, bytes b)
{
    reader m;

    TRY(open_message(&m, parent->a, b, parent->base, "NodeProto"));
    TRY(note(parse_node_fields(out, &m), "node '%.*s'", STR_ARG(out->name)));
    if (str_is(out->domain, "ai.onnx"))
        out->domain = (str){"", 0};
    if (out->op.n == 0)
        return fail(HULL_EFORMAT, "node '%.*s' has no op_type",
                    STR_ARG(out->name));
    return HULL_OK;
}

/* ---- values -------------------------------------------------------------- */

static hull_status parse_dim(onnx_dim *out, const reader *parent, bytes b)
{
    reader m;
    pb_field f;
    bool more;

    TRY(open_message(&m, parent->a, b, parent->base, "Dimension"));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number == 1) {
            TRY(take_i64(&m, &f, &out->value));
            out->has_value = true;
        } else if (f.number == 2) {
            TRY(take_str(&m, &f, &out->param));
        }
    }
}

static hull_status parse_shape(onnx_value *out, const reader *parent, bytes b)
{
    reader m;
    pb_field f;
    bool more;
    onnx_dim *dims = NULL;

    TRY(open_message(&m, parent->a, b, parent->base, "TensorShapeProto"));
    TRY(list(&m, &dims, m.n[1], sizeof *dims));
    out->dims = dims;
    out->rank = 0;
    out->has_shape = true;
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number != 1)
            continue;
        TRY(pb_want(&m.r, &f, 2));
        TRY(parse_dim(&dims[out->rank++], &m, f.b));
    }
}

static hull_status parse_tensor_type(onnx_value *out, const reader *parent,
                                     bytes b)
{
    reader m;
    pb_field f;
    bool more;

    out->tensor = true;
    TRY(open_message(&m, parent->a, b, parent->base, "TypeProto.Tensor"));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number == 1) {
            TRY(take_i64(&m, &f, &out->elem));
        } else if (f.number == 2) {
            TRY(pb_want(&m.r, &f, 2));
            TRY(parse_shape(out, &m, f.b));
        }
    }
}

/* One level: a tensor, or what a sequence or an optional holds. */
static hull_status type_level(onnx_value *out, reader *m, bytes *inner)
{
    pb_field f;
    bool more;

    for (;;) {
        TRY(next(m, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number == 1) {
            TRY(pb_want(&m->r, &f, 2));
            TRY(parse_tensor_type(out, m, f.b));
        } else if (f.number == 4 || f.number == 9) {
            TRY(pb_want(&m->r, &f, 2));
            if (inner->p || out->n_wraps == ONNX_WRAPS_MAX)
                return fail(HULL_EFORMAT, "a type of two kinds, or nested "
                            "deeper than %d", ONNX_WRAPS_MAX);
            out->wraps[out->n_wraps++] = f.number == 4 ? ONNX_SEQUENCE_OF
                                                       : ONNX_OPTIONAL_OF;
            *inner = f.b;
        }
    }
}

hull_status onnx_parse_type(onnx_value *out, arena *a, bytes b,
                            const uint8_t *base)
{
    reader m;
    pb_field f;
    bool more, deeper = true;

    while (deeper) {
        bytes inner = {NULL, 0}, elem = {NULL, 0};

        TRY(open_message(&m, a, b, base, "TypeProto"));
        TRY(type_level(out, &m, &inner));
        deeper = inner.p != NULL;
        if (!deeper)
            break;
        TRY(open_message(&m, a, inner, base, "TypeProto.Sequence"));
        for (more = true; more;) {
            TRY(next(&m, &f, &more));
            if (!more || f.number != 1)
                continue;
            TRY(pb_want(&m.r, &f, 2));
            elem = f.b;
        }
        b = elem;
    }
    return HULL_OK;
}

static hull_status parse_value(onnx_value *out, const reader *parent, bytes b)
{
    reader m;
    pb_field f;
    bool more;

    TRY(open_message(&m, parent->a, b, parent->base, "ValueInfoProto"));
    TRY(list(&m, &out->meta, m.n[4], sizeof *out->meta));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number == 1) {
            TRY(take_str(&m, &f, &out->name));
        } else if (f.number == 2) {
            TRY(pb_want(&m.r, &f, 2));
            TRY(onnx_parse_type(out, m.a, f.b, m.base));
        } else if (f.number == 4) {
            TRY(pb_want(&m.r, &f, 2));
            TRY(parse_meta(&out->meta[out->n_meta++], &m, f.b));
        }
    }
}

/* ---- graphs -------------------------------------------------------------- */

/* The name inside a TensorProto (field 8). */
static hull_status tensor_name(str *out, const reader *parent, bytes b)
{
    pb r = pb_of(b, parent->base, "TensorProto");
    pb_field f;
    bool more;

    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number == 8) {
            TRY(pb_want(&r, &f, 2));
            *out = pb_str(&f);
        }
    }
}

static hull_status take_initializer(onnx_graph *g, reader *m,
                                    const pb_field *f)
{
    uint32_t i = g->n_initializers++;

    g->initializers[i] = f->b;
    g->sparse[i] = f->number == 15;
    return g->sparse[i] ? onnx_sparse_name(&g->initializer_names[i], f->b)
                        : tensor_name(&g->initializer_names[i], m, f->b);
}

static hull_status graph_field(onnx_graph *g, reader *m, const pb_field *f)
{
    bool message = f->number == 1 || f->number == 5 ||
                   (f->number >= 11 && f->number <= 13) || f->number == 15 ||
                   f->number == 16;

    if (message)
        TRY(pb_want(&m->r, f, 2));
    switch (f->number) {
    case 1:
        return parse_node(&g->nodes[g->n_nodes++], m, f->b);
    case 2:
        return take_str(m, f, &g->name);
    case 5:
    case 15:
        return take_initializer(g, m, f);
    case 11:
        return parse_value(&g->inputs[g->n_inputs++], m, f->b);
    case 12:
        return parse_value(&g->outputs[g->n_outputs++], m, f->b);
    case 13:
        return parse_value(&g->infos[g->n_infos++], m, f->b);
    case 16:
        return parse_meta(&g->meta[g->n_meta++], m, f->b);
    default:
        return HULL_OK;
    }
}

hull_status onnx_parse_graph(onnx_graph *out, arena *a, bytes b,
                             const uint8_t *base)
{
    reader m;
    pb_field f;
    bool more;

    *out = (onnx_graph){0};
    TRY(open_message(&m, a, b, base, "GraphProto"));
    TRY(list(&m, &out->nodes, m.n[1], sizeof *out->nodes));
    TRY(list(&m, &out->initializers, m.n[5] + m.n[15],
             sizeof *out->initializers));
    TRY(list(&m, &out->initializer_names, m.n[5] + m.n[15],
             sizeof *out->initializer_names));
    TRY(list(&m, &out->sparse, m.n[5] + m.n[15], sizeof *out->sparse));
    TRY(list(&m, &out->inputs, m.n[11], sizeof *out->inputs));
    TRY(list(&m, &out->outputs, m.n[12], sizeof *out->outputs));
    TRY(list(&m, &out->infos, m.n[13], sizeof *out->infos));
    TRY(list(&m, &out->meta, m.n[16], sizeof *out->meta));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            return HULL_OK;
        TRY(graph_field(out, &m, &f));
    }
}

/* ---- models -------------------------------------------------------------- */

static hull_status parse_import(onnx_import_row *out, const reader *parent,
                                bytes b)
{
    reader m;
    pb_field f;
    bool more;

    out->domain = (str){"", 0};
    TRY(open_message(&m, parent->a, b, parent->base, "OperatorSetId"));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            break;
        if (f.number == 1)
            TRY(take_str(&m, &f, &out->domain));
        else if (f.number == 2)
            TRY(take_i64(&m, &f, &out->version));
    }
    if (str_is(out->domain, "ai.onnx"))
        out->domain = (str){"", 0};
    return HULL_OK;
}

static hull_status check_imports(const onnx_import_row *rows, uint32_t n)
{
    if (n > IMPORTS_MAX)
        return fail(HULL_EFORMAT, "%" PRIu32 " imports, at most %d fit", n,
                    IMPORTS_MAX);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (str_eq(rows[i].domain, rows[k].domain) &&
                rows[i].version != rows[k].version)
                return fail(HULL_EFORMAT,
                            "domain '%.*s' is imported in the versions "
                            "%" PRId64 " and %" PRId64,
                            STR_ARG(rows[i].domain), rows[k].version,
                            rows[i].version);
    return HULL_OK;
}

static hull_status function_field(onnx_function *fn, reader *m,
                                  const pb_field *f)
{
    bool message = f->number == 7 || f->number == 9 || f->number == 11;

    if (message)
        TRY(pb_want(&m->r, f, 2));
    switch (f->number) {
    case 1:
        return take_str(m, f, &fn->name);
    case 4:
        return take_str(m, f, &fn->in[fn->n_in++]);
    case 5:
        return take_str(m, f, &fn->out[fn->n_out++]);
    case 6:
        return take_str(m, f, &fn->attr_names[fn->n_attr_names++]);
    case 7:
        return parse_node(&fn->nodes[fn->n_nodes++], m, f->b);
    case 9:
        return parse_import(&fn->imports[fn->n_imports++], m, f->b);
    case 10:
        return take_str(m, f, &fn->domain);
    case 11:
        return parse_attr(&fn->defaults[fn->n_defaults++], m, f->b);
    case 13:
        return take_str(m, f, &fn->overload);
    default:
        return HULL_OK;
    }
}

static hull_status parse_function(onnx_function *out, const reader *parent,
                                  bytes b)
{
    reader m;
    pb_field f;
    bool more;

    TRY(open_message(&m, parent->a, b, parent->base, "FunctionProto"));
    TRY(list(&m, &out->in, m.n[4], sizeof *out->in));
    TRY(list(&m, &out->out, m.n[5], sizeof *out->out));
    TRY(list(&m, &out->attr_names, m.n[6], sizeof *out->attr_names));
    TRY(list(&m, &out->nodes, m.n[7], sizeof *out->nodes));
    TRY(list(&m, &out->imports, m.n[9], sizeof *out->imports));
    TRY(list(&m, &out->defaults, m.n[11], sizeof *out->defaults));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            break;
        TRY(note(function_field(out, &m, &f), "function '%.*s'",
                 STR_ARG(out->name)));
    }
    if (str_is(out->domain, "ai.onnx"))
        out->domain = (str){"", 0};
    return note(check_imports(out->imports, out->n_imports), "function '%.*s'",
                STR_ARG(out->name));
}

static hull_status model_field(onnx_model *o, reader *m, const pb_field *f)
{
    if (f->number == 8 || f->number == 25)
        TRY(pb_want(&m->r, f, 2));
    switch (f->number) {
    case 1:
        return take_i64(m, f, &o->ir_version);
    case 2:
        return take_str(m, f, &o->producer);
    case 3:
        return take_str(m, f, &o->producer_version);
    case 7:
        return take_bytes(m, f, &o->graph);
    case 8:
        return parse_import(&o->imports[o->n_imports++], m, f->b);
    case 25:
        return parse_function(&o->functions[o->n_functions++], m, f->b);
    default:
        return HULL_OK;
    }
}

static hull_status check_functions(const onnx_model *o)
{
    if (o->n_functions > FUNCTIONS_MAX)
        return fail(HULL_EFORMAT, "%" PRIu32 " functions, at most %d fit",
                    o->n_functions, FUNCTIONS_MAX);
    for (uint32_t i = 0; i < o->n_functions; i++)
        for (uint32_t k = 0; k < i; k++) {
            const onnx_function *a = &o->functions[i], *b = &o->functions[k];

            if (str_eq(a->name, b->name) && str_eq(a->domain, b->domain) &&
                str_eq(a->overload, b->overload))
                return fail(HULL_EFORMAT,
                            "function '%.*s' of domain '%.*s' is defined "
                            "twice",
                            STR_ARG(a->name), STR_ARG(a->domain));
        }
    return HULL_OK;
}

hull_status onnx_parse_model(onnx_model *out, arena *a, bytes b)
{
    reader m;
    pb_field f;
    bool more;

    *out = (onnx_model){0};
    TRY(open_message(&m, a, b, b.p, "ModelProto"));
    TRY(list(&m, &out->imports, m.n[8], sizeof *out->imports));
    TRY(list(&m, &out->functions, m.n[25], sizeof *out->functions));
    for (;;) {
        TRY(next(&m, &f, &more));
        if (!more)
            break;
        TRY(model_field(out, &m, &f));
    }
    if (m.n[7] != 1)
        return fail(HULL_EFORMAT, "model has %" PRIu32 " graphs, want 1",
                    m.n[7]);
    TRY(check_imports(out->imports, out->n_imports));
    return check_functions(out);
}
