/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pb_oracle.c - the readers of ONNX files against protobuf-c, whose messages
 * come from the official onnx.proto: nodes and attributes as the frontend
 * parses them, initializers and constants as the weights' index has them.
 *
 *     pb_oracle FILE-OR-FOLDER...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/onnx.h"
#include "onnx.pb-c.h"
#include "weights/weights.h"

#define FILE_MAX ((size_t)1 << 30)
#define DEPTH_MAX 16

typedef Onnx__TensorProto pb_tensor;
typedef Onnx__AttributeProto pb_attr;
typedef Onnx__NodeProto pb_node;
typedef Onnx__GraphProto pb_graph;
typedef Onnx__TensorShapeProto pb_shape;
typedef Onnx__TensorShapeProto__Dimension pb_dim;

#define DIM_VALUE ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
#define DIM_PARAM ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM

static unsigned passed, failed;
static uint64_t n_nodes, n_attrs, n_tensors;

static hull_status differ(const char *what, const char *name)
{
    return fail(HULL_EMISMATCH, "%s of '%s' differs", what, name ? name : "");
}

static bool same_text(const char *want, str got)
{
    return str_is(got, want ? want : "");
}

/* A domain's long name and none are one. */
static bool same_domain(const char *want, str got)
{
    return same_text(want && strcmp(want, "ai.onnx") == 0 ? "" : want, got);
}

static bool same_bytes(const ProtobufCBinaryData *want, str got)
{
    return want->len == got.n &&
           (got.n == 0 || memcmp(want->data, got.p, got.n) == 0);
}

/* ---- the frontend's messages --------------------------------------------- */

static hull_status same_graph(const pb_graph *want, const onnx_graph *got,
                              arena *a, int depth);

static hull_status same_lists(const pb_attr *want, const onnx_attr *got)
{
    if (want->n_floats != got->n_floats || want->n_ints != got->n_ints ||
        want->n_strings != got->n_strings)
        return differ("list length", want->name);
    if (got->n_floats && memcmp(want->floats, got->floats,
                                got->n_floats * sizeof(float)) != 0)
        return differ("floats", want->name);
    if (got->n_ints &&
        memcmp(want->ints, got->ints, got->n_ints * sizeof(int64_t)) != 0)
        return differ("ints", want->name);
    for (uint32_t i = 0; i < got->n_strings; i++)
        if (!same_bytes(&want->strings[i], got->strings[i]))
            return differ("string", want->name);
    return HULL_OK;
}

static hull_status same_attr(const pb_attr *want, const onnx_attr *got,
                             arena *a, int depth)
{
    onnx_graph g;

    n_attrs++;
    if (!same_text(want->name, got->name))
        return differ("attribute name", want->name);
    if (want->has_type && (int)want->type <= ONNX_STRINGS &&
        (int)want->type != (int)got->type)
        return differ("attribute type", want->name);
    if (!same_text(want->ref_attr_name, got->ref))
        return differ("reference", want->name);
    if (want->has_f && memcmp(&want->f, &got->f, sizeof(float)) != 0)
        return differ("float", want->name);
    if (want->has_i && want->i != got->i)
        return differ("int", want->name);
    if (want->has_s && !same_bytes(&want->s, got->s))
        return differ("string", want->name);
    if ((want->t != NULL) != (got->t.p != NULL))
        return differ("tensor", want->name);
    TRY(same_lists(want, got));
    if (want->g == NULL)
        return HULL_OK;
    if (depth == 0)
        return fail(HULL_EUNSUPPORTED, "graphs nested too deep");
    TRY(onnx_parse_graph(&g, a, got->g, got->g.p));
    return note(same_graph(want->g, &g, a, depth - 1), "%s", want->name);
}

static hull_status same_node(const pb_node *want, const onnx_node *got,
                             arena *a, int depth)
{
    const char *name = want->n_output ? want->output[0] : want->name;

    n_nodes++;
    if (!same_text(want->op_type, got->op) ||
        !same_text(want->name, got->name) ||
        !same_domain(want->domain, got->domain))
        return differ("operator", name);
    if (want->n_input != got->n_in || want->n_output != got->n_out ||
        want->n_attribute != got->n_attrs)
        return differ("arity", name);
    for (uint32_t i = 0; i < got->n_in; i++)
        if (!same_text(want->input[i], got->in[i]))
            return differ("input", name);
    for (uint32_t i = 0; i < got->n_out; i++)
        if (!same_text(want->output[i], got->out[i]))
            return differ("output", name);
    for (uint32_t i = 0; i < got->n_attrs; i++)
        TRY(note(same_attr(want->attribute[i], &got->attrs[i], a, depth),
                 "node '%s'", name ? name : ""));
    return HULL_OK;
}

static hull_status same_shape(const pb_shape *want,
                              const onnx_value *got)
{
    if ((want != NULL) != got->has_shape)
        return differ("presence of a shape", NULL);
    if (want == NULL)
        return HULL_OK;
    if (want->n_dim != got->rank)
        return differ("rank", NULL);
    for (uint32_t i = 0; i < got->rank; i++) {
        const pb_dim *d = want->dim[i];
        const onnx_dim *e = &got->dims[i];

        if ((d->value_case == DIM_VALUE) != e->has_value ||
            (e->has_value && d->dim_value != e->value) ||
            (d->value_case == DIM_PARAM && !same_text(d->dim_param, e->param)))
            return differ("dim", NULL);
    }
    return HULL_OK;
}

static hull_status same_values(Onnx__ValueInfoProto **want, size_t n,
                               const onnx_value *got, uint32_t n_got)
{
    if (n != n_got)
        return differ("number of values", NULL);
    for (uint32_t i = 0; i < n_got; i++) {
        const Onnx__TypeProto *t = want[i]->type;
        bool is_tensor = t && t->value_case ==
                                  ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;

        if (!same_text(want[i]->name, got[i].name))
            return differ("name of a value", want[i]->name);
        if (is_tensor != got[i].tensor)
            return differ("kind", want[i]->name);
        if (!is_tensor)
            continue;
        if (t->tensor_type->elem_type != got[i].elem)
            return differ("element type", want[i]->name);
        TRY(note(same_shape(t->tensor_type->shape, &got[i]), "value '%s'",
                 want[i]->name));
    }
    return HULL_OK;
}

static hull_status same_graph(const pb_graph *want, const onnx_graph *got,
                              arena *a, int depth)
{
    size_t dense = 0, sparse = 0;

    if (want->n_node != got->n_nodes ||
        want->n_initializer + want->n_sparse_initializer !=
            got->n_initializers)
        return differ("number of nodes or initializers", want->name);
    for (uint32_t i = 0; i < got->n_nodes; i++)
        TRY(same_node(want->node[i], &got->nodes[i], a, depth));
    for (uint32_t i = 0; i < got->n_initializers; i++) {
        size_t k = got->sparse[i] ? sparse++ : dense++;

        if (k >= (got->sparse[i] ? want->n_sparse_initializer
                                 : want->n_initializer))
            return differ("kind of an initializer", want->name);
        const char *name = got->sparse[i]
                               ? want->sparse_initializer[k]->values->name
                               : want->initializer[k]->name;
        if (!same_text(name, got->initializer_names[i]))
            return differ("name", name);
    }
    TRY(same_values(want->input, want->n_input, got->inputs, got->n_inputs));
    TRY(same_values(want->output, want->n_output, got->outputs,
                    got->n_outputs));
    return same_values(want->value_info, want->n_value_info, got->infos,
                       got->n_infos);
}

static hull_status same_functions(const Onnx__ModelProto *want,
                                  const onnx_model *got, arena *a)
{
    if (want->n_functions != got->n_functions)
        return differ("number of functions", NULL);
    for (uint32_t i = 0; i < got->n_functions; i++) {
        const Onnx__FunctionProto *f = want->functions[i];
        const onnx_function *g = &got->functions[i];

        if (!same_text(f->name, g->name) || f->n_node != g->n_nodes ||
            f->n_input != g->n_in || f->n_output != g->n_out ||
            f->n_attribute != g->n_attr_names)
            return differ("signature", f->name);
        for (uint32_t k = 0; k < g->n_nodes; k++)
            TRY(note(same_node(f->node[k], &g->nodes[k], a, DEPTH_MAX),
                     "function '%s'", f->name));
    }
    return HULL_OK;
}

static hull_status same_model(const Onnx__ModelProto *want, bytes data)
{
    arena a = { 0 };
    onnx_model m;
    onnx_graph g;
    hull_status st = HULL_OK;

    TRY_OUT(onnx_parse_model(&m, &a, data));
    if (want->ir_version != m.ir_version ||
        !same_text(want->producer_name, m.producer) ||
        !same_text(want->producer_version, m.producer_version) ||
        want->n_opset_import != m.n_imports)
        TRY_OUT(differ("header", want->producer_name));
    for (uint32_t i = 0; i < m.n_imports; i++)
        if (want->opset_import[i]->version != m.imports[i].version ||
            !same_domain(want->opset_import[i]->domain, m.imports[i].domain))
            TRY_OUT(differ("opset", want->opset_import[i]->domain));
    TRY_OUT(onnx_parse_graph(&g, &a, m.graph, data.p));
    TRY_OUT(same_graph(want->graph, &g, &a, DEPTH_MAX));
    TRY_OUT(same_functions(want, &m, &a));
out:
    arena_fini(&a);
    return st;
}

/* ---- the index ----------------------------------------------------------- */

#define TYPE(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name
static const hull_dtype dtype_of[] = {
    [TYPE(FLOAT)] = HULL_F32,       [TYPE(UINT8)] = HULL_U8,
    [TYPE(INT8)] = HULL_I8,         [TYPE(UINT16)] = HULL_U16,
    [TYPE(INT16)] = HULL_I16,       [TYPE(INT32)] = HULL_I32,
    [TYPE(INT64)] = HULL_I64,       [TYPE(BOOL)] = HULL_BOOL,
    [TYPE(FLOAT16)] = HULL_F16,     [TYPE(DOUBLE)] = HULL_F64,
    [TYPE(UINT32)] = HULL_U32,      [TYPE(UINT64)] = HULL_U64,
    [TYPE(COMPLEX64)] = HULL_C64,   [TYPE(COMPLEX128)] = HULL_C128,
    [TYPE(BFLOAT16)] = HULL_BF16,
};

/* The tensor's bytes, dense and little-endian as this machine is. */
static void put_values(buf *out, const pb_tensor *t, size_t size)
{
    if (t->has_raw_data)
        buf_put(out, t->raw_data.data, t->raw_data.len);
    buf_put(out, t->float_data, t->n_float_data * sizeof(float));
    buf_put(out, t->double_data, t->n_double_data * sizeof(double));
    buf_put(out, t->int64_data, t->n_int64_data * sizeof(int64_t));
    for (size_t i = 0; i < t->n_uint64_data; i++)
        buf_put(out, &t->uint64_data[i], size);
    for (size_t i = 0; i < t->n_int32_data; i++)
        buf_put(out, &t->int32_data[i], size);
}

static hull_status same_payload(const weights *w, const weight_entry *e,
                                const pb_tensor *t, const char *name)
{
    uint8_t *got = mem_alloc(e->len);
    hull_status st = HULL_OK;
    buf want;

    buf_init(&want, FILE_MAX);
    if (!got)
        TRY_OUT(fail_oom(e->len));
    put_values(&want, t, hull_dtype_bits(e->dtype) / 8);
    TRY_OUT(buf_status(&want));
    TRY_OUT(weights_read(w, e, got));
    if (want.n != e->len || (want.n && memcmp(want.p, got, want.n) != 0))
        TRY_OUT(differ("payload", name));
out:
    buf_fini(&want);
    mem_free(got);
    return st;
}

static hull_status same_tensor(const weights *w, const char *name,
                               const pb_tensor *t, bool inline_value)
{
    const weight_entry *e = weights_find(w, str_of(name));
    size_t data_type = (size_t)t->data_type;

    n_tensors++;
    if (data_type >= COUNT_OF(dtype_of))
        return fail(HULL_EUNSUPPORTED, "'%s' has data_type %d, which this "
                    "onnx.proto lacks", name, t->data_type);
    if (data_type == TYPE(STRING))
        return e ? differ("absence", name) : HULL_OK;
    if (!e || e->dtype != dtype_of[data_type])
        return differ("dtype", name);
    if (e->inline_value != inline_value || e->constant)
        return differ("kind", name);
    if (e->rank != t->n_dims ||
        (e->rank && memcmp(e->shape, t->dims, e->rank * sizeof(int64_t)) != 0))
        return differ("shape", name);
    if (t->n_external_data)
        return HULL_OK;
    return same_payload(w, e, t, name);
}

static hull_status same_index(const pb_graph *g, const char *path)
{
    weights *w = NULL;
    hull_status st = HULL_OK;
    size_t inlined = 0, found = 0;

    TRY(weights_open(&w, path, NULL));
    for (size_t i = 0; i < g->n_initializer; i++)
        TRY_OUT(same_tensor(w, g->initializer[i]->name, g->initializer[i],
                            false));
    for (size_t i = 0; i < g->n_node; i++) {
        const pb_node *n = g->node[i];

        if (strcmp(n->op_type, "Constant") != 0 || n->n_attribute != 1 ||
            !n->attribute[0]->t)
            continue;
        TRY_OUT(same_tensor(w, n->output[0], n->attribute[0]->t, true));
        inlined += n->attribute[0]->t->data_type != TYPE(STRING);
    }
    for (size_t i = 0; i < weights_count(w); i++)
        found += weights_at(w, i)->inline_value;
    if (found < inlined || weights_count(w) - found > g->n_initializer)
        TRY_OUT(differ("number of tensors", path));
out:
    weights_unref(w);
    return st;
}

static hull_status check_file(const char *path)
{
    Onnx__ModelProto *m;
    char *data = NULL;
    size_t n = 0;
    hull_status st = HULL_OK;

    TRY(file_read_all(&data, &n, path, FILE_MAX));
    m = onnx__model_proto__unpack(NULL, n, (const uint8_t *)data);
    if (!m)
        TRY_OUT(fail(HULL_EFORMAT, "protobuf-c cannot read it"));
    if (!m->graph)
        TRY_OUT(fail(HULL_EFORMAT, "it has no graph"));
    TRY_OUT(same_model(m, (bytes){ (const uint8_t *)data, n }));
    TRY_OUT(same_index(m->graph, path));
out:
    if (m)
        onnx__model_proto__free_unpacked(m, NULL);
    mem_free(data);
    return st;
}

static hull_status visit(void *user, const char *path, const file_id *id)
{
    (void)user;
    (void)id;
    if (!str_ends(str_of(path), ".onnx"))
        return HULL_OK;
    if (check_file(path) == HULL_OK) {
        passed++;
        return HULL_OK;
    }
    failed++;
    printf("FAIL  %s: %s\n", path, error_text());
    return HULL_OK;
}

int main(int argc, char **argv)
{
    unsigned skipped = 0;

    for (int i = 1; i < argc; i++) {
        hull_status st = dir_walk(argv[i], visit, NULL);

        if (st == HULL_ENOTFOUND) {
            printf("skip  no %s here\n", argv[i]);
            skipped++;
        } else if (st != HULL_OK) {
            printf("FAIL  %s: %s\n", argv[i], error_text());
            failed++;
        }
    }
    printf("%llu nodes, %llu attributes, %llu tensors\n",
           (unsigned long long)n_nodes, (unsigned long long)n_attrs,
           (unsigned long long)n_tensors);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed != 0;
}
