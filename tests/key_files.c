/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * key_files.c - reads and writes an ONNX file through protobuf-c, and makes one
 * random change of what it computes.
 */
#include "key_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 30)
#define DEPTH_MAX 16
#define TYPE(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name
#define DIM_VALUE ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE
#define DIM_PARAM ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM

/* ---- reading, writing ---------------------------------------------------- */

static void *take(void *user, size_t n)
{
    return arena_alloc(user, n > 0 ? n : 1);
}

static void leave(void *user, void *p)
{
    (void)user;
    (void)p;
}

char *key_text(key_file *f, const char *s)
{
    return arena_strndup(&f->a, s, strlen(s));
}

bool key_same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static hull_status collect_nodes(key_file *f, pb_node **p, size_t n,
                                 int depth);

static hull_status collect(key_file *f, pb_graph *g, int depth)
{
    if (depth > DEPTH_MAX)
        return fail(HULL_EUNSUPPORTED, "graphs nested too deep");
    TRY(mem_grow(&f->graphs, &f->cap_graphs, f->n_graphs + 1,
                 sizeof *f->graphs));
    f->graphs[f->n_graphs++] = g;
    return collect_nodes(f, g->node, g->n_node, depth);
}

static hull_status collect_nodes(key_file *f, pb_node **p, size_t n, int depth)
{
    for (size_t i = 0; i < n; i++) {
        TRY(mem_grow(&f->nodes, &f->cap_nodes, f->n_nodes + 1,
                     sizeof *f->nodes));
        f->nodes[f->n_nodes++] = p[i];
        for (size_t k = 0; k < p[i]->n_attribute; k++)
            if (p[i]->attribute[k]->g != NULL)
                TRY(collect(f, p[i]->attribute[k]->g, depth + 1));
    }
    return HULL_OK;
}

hull_status key_file_open(key_file *out, const char *path, rng *r)
{
    ProtobufCAllocator in_arena = { take, leave, NULL };
    hull_status st = HULL_OK;
    char *data = NULL;
    size_t n = 0;

    memset(out, 0, sizeof *out);
    out->r = r;
    buf_init(&out->external, FILE_MAX);
    in_arena.allocator_data = &out->a;
    TRY(file_read_all(&data, &n, path, FILE_MAX));
    out->m = onnx__model_proto__unpack(&in_arena, n, (const uint8_t *)data);
    if (out->m == NULL || out->m->graph == NULL)
        TRY_OUT(fail(HULL_EFORMAT, "protobuf-c finds no graph in %s", path));
    TRY_OUT(collect(out, out->m->graph, 0));
    for (size_t i = 0; i < out->m->n_functions; i++)
        TRY_OUT(collect_nodes(out, out->m->functions[i]->node,
                              out->m->functions[i]->n_node, 0));
out:
    mem_free(data);
    if (st != HULL_OK)
        key_file_close(out);
    return st;
}

void key_file_close(key_file *f)
{
    mem_free(f->graphs);
    mem_free(f->nodes);
    buf_fini(&f->external);
    arena_fini(&f->a);
    memset(f, 0, sizeof *f);
}

hull_status key_file_write(key_file *f, const char *folder)
{
    size_t n = onnx__model_proto__get_packed_size(f->m);
    uint8_t *p = mem_alloc(n + 1);
    hull_status st = HULL_OK;
    char path[512];

    if (p == NULL)
        return fail_oom(n);
    n = onnx__model_proto__pack(f->m, p);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    TRY_OUT(key_write_file(path, p, n));
    if (f->external.n == 0 && !f->external.failed)
        goto out;
    TRY_OUT(buf_status(&f->external));
    snprintf(path, sizeof path, "%s/" KEY_DATA_FILE, folder);
    TRY_OUT(key_write_file(path, f->external.p, f->external.n));
out:
    mem_free(p);
    return st;
}

/* ---- tensors ------------------------------------------------------------- */

static uint32_t width_of(int32_t data_type)
{
    switch (data_type) {
    case TYPE(BOOL):
    case TYPE(INT8):
    case TYPE(UINT8):
        return 1;
    case TYPE(INT16):
    case TYPE(UINT16):
    case TYPE(FLOAT16):
    case TYPE(BFLOAT16):
        return 2;
    case TYPE(FLOAT):
    case TYPE(INT32):
    case TYPE(UINT32):
        return 4;
    case TYPE(DOUBLE):
    case TYPE(INT64):
    case TYPE(UINT64):
        return 8;
    default:
        return 0;
    }
}

bool key_tensor_raw(key_file *f, pb_tensor *t)
{
    uint32_t size = width_of(t->data_type);
    buf b;

    if (size == 0 || t->n_external_data > 0)
        return false;
    if (t->has_raw_data)
        return true;
    buf_init(&b, FILE_MAX);
    buf_put(&b, t->float_data, t->n_float_data * sizeof(float));
    buf_put(&b, t->double_data, t->n_double_data * sizeof(double));
    buf_put(&b, t->int64_data, t->n_int64_data * sizeof(int64_t));
    for (size_t i = 0; i < t->n_uint64_data; i++)
        buf_put(&b, &t->uint64_data[i], size);
    for (size_t i = 0; i < t->n_int32_data; i++)
        buf_put(&b, &t->int32_data[i], size);
    t->raw_data.data = arena_memdup(&f->a, b.n > 0 ? b.p : "", b.n + (b.n == 0));
    t->raw_data.len = b.n;
    t->has_raw_data = true;
    t->n_float_data = t->n_double_data = t->n_int64_data = 0;
    t->n_uint64_data = t->n_int32_data = 0;
    buf_fini(&b);
    return t->raw_data.data != NULL;
}

/* ---- edits --------------------------------------------------------------- */

static int64_t other_int(key_file *f, int64_t v)
{
    switch (rng_below(f->r, 4)) {
    case 0:
        return v - 1;
    case 1:
        return -v;
    case 2:
        return (int64_t)rng_below(f->r, 6);
    default:
        return v + 1;
    }
}

static float other_float(key_file *f, float v)
{
    uint32_t bits;

    if (rng_below(f->r, 4) == 0)
        return -v;
    memcpy(&bits, &v, sizeof bits);
    bits ^= 1u << rng_below(f->r, 32);
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* One bit of the values, a dim, or the type. */
static bool edit_tensor(key_file *f, pb_tensor *t)
{
    int32_t other;

    if (!key_tensor_raw(f, t))
        return false;
    switch (rng_below(f->r, 8)) {
    case 0:
        if (t->n_dims == 0)
            return false;
        t->dims[0] = other_int(f, t->dims[0]);
        return true;
    case 1:
        other = (int32_t)(1 + rng_below(f->r, 16));
        if (width_of(other) != width_of(t->data_type) || other == t->data_type)
            return false;
        t->data_type = other;
        return true;
    default:
        if (t->raw_data.len == 0)
            return false;
        t->raw_data.data[rng_below(f->r, t->raw_data.len)] ^=
            (uint8_t)(t->data_type == TYPE(BOOL)
                          ? 1 : 1u << rng_below(f->r, 8));
        return true;
    }
}

static bool edit_attr(key_file *f, pb_node *n)
{
    uint32_t i = rng_below(f->r, n->n_attribute);
    pb_attr *a = n->n_attribute > 0 ? n->attribute[i] : NULL;

    if (a == NULL)
        return false;
    snprintf(f->what, sizeof f->what, "%s.%s", n->op_type, a->name);
    if (rng_below(f->r, 6) == 0) { /* it goes */
        n->attribute[i] = n->attribute[--n->n_attribute];
        return true;
    }
    if (a->t != NULL)
        return edit_tensor(f, a->t);
    if (a->has_i)
        a->i = other_int(f, a->i);
    else if (a->has_f)
        a->f = other_float(f, a->f);
    else if (a->n_ints > 0)
        a->ints[i % a->n_ints] = other_int(f, a->ints[i % a->n_ints]);
    else if (a->n_floats > 0)
        a->floats[i % a->n_floats] = other_float(f, a->floats[i % a->n_floats]);
    else
        return false;
    return true;
}

static pb_node *any_node(key_file *f)
{
    return f->n_nodes > 0 ? f->nodes[rng_below(f->r, f->n_nodes)] : NULL;
}

/* The operator of another node with as many operands and results. */
static bool edit_operator(key_file *f, pb_node *n)
{
    const pb_node *like = any_node(f);

    if (like->n_input != n->n_input || like->n_output != n->n_output ||
        key_same_text(like->op_type, n->op_type) ||
        !key_same_text(like->domain, n->domain))
        return false;
    snprintf(f->what, sizeof f->what, "%s to %s", n->op_type, like->op_type);
    n->op_type = like->op_type;
    return true;
}

static bool edit_inputs(key_file *f, pb_node *n)
{
    const pb_node *like = any_node(f);
    uint32_t i = rng_below(f->r, n->n_input), k = rng_below(f->r, n->n_input);
    char *s;

    if (n->n_input == 0)
        return false;
    snprintf(f->what, sizeof f->what, "operands of %s", n->op_type);
    s = n->input[i];
    if (rng_below(f->r, 2) == 0) {
        n->input[i] = n->input[k];
        n->input[k] = s;
        return strcmp(s, n->input[i]) != 0;
    }
    if (like->n_input > 0)
        n->input[i] = like->input[rng_below(f->r, like->n_input)];
    return strcmp(s, n->input[i]) != 0;
}

/* Whoever read its result reads its first operand instead. */
static bool edit_bypass(key_file *f, pb_node *n)
{
    if (n->n_input == 0 || n->n_output == 0)
        return false;
    snprintf(f->what, sizeof f->what, "no %s", n->op_type);
    for (uint32_t i = 0; i < f->n_nodes; i++)
        for (size_t k = 0; k < f->nodes[i]->n_input; k++)
            if (strcmp(f->nodes[i]->input[k], n->output[0]) == 0)
                f->nodes[i]->input[k] = n->input[0];
    return true;
}

static bool edit_outputs(key_file *f)
{
    pb_graph *g = f->graphs[rng_below(f->r, f->n_graphs)];
    uint32_t i = rng_below(f->r, g->n_output), k = rng_below(f->r, g->n_output);
    pb_value *v;

    if (g->n_output == 0)
        return false;
    snprintf(f->what, sizeof f->what, "outputs");
    v = g->output[i];
    if (rng_below(f->r, 2) == 0) {
        g->output[i] = g->output[--g->n_output];
        return g->n_output > 0;
    }
    g->output[i] = g->output[k];
    g->output[k] = v;
    return i != k;
}

static bool edit_input_type(key_file *f)
{
    pb_graph *g = f->m->graph;
    pb_value *v = g->n_input > 0 ? g->input[rng_below(f->r, g->n_input)] : NULL;
    Onnx__TypeProto__Tensor *t =
        v != NULL && v->type != NULL &&
                v->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? v->type->tensor_type : NULL;
    pb_dim *d;

    if (t == NULL || t->shape == NULL)
        return false;
    snprintf(f->what, sizeof f->what, "type of an input");
    if (t->shape->n_dim == 0 || rng_below(f->r, 4) == 0) {
        t->elem_type = (int32_t)(1 + rng_below(f->r, 12));
        return true;
    }
    d = t->shape->dim[rng_below(f->r, t->shape->n_dim)];
    if (d->value_case == DIM_VALUE) {
        d->dim_value = other_int(f, d->dim_value);
    } else {
        d->value_case = DIM_VALUE;
        d->dim_value = 1 + rng_below(f->r, 8);
    }
    return true;
}

static bool edit_initializer(key_file *f)
{
    pb_graph *g = f->graphs[rng_below(f->r, f->n_graphs)];
    pb_tensor *t = g->n_initializer > 0
                       ? g->initializer[rng_below(f->r, g->n_initializer)]
                       : NULL;

    snprintf(f->what, sizeof f->what, "initializer");
    return t != NULL && edit_tensor(f, t);
}

bool key_file_edit(key_file *f)
{
    pb_node *n = any_node(f);

    if (n == NULL)
        return false;
    switch (rng_below(f->r, 10)) {
    case 0:
        return edit_operator(f, n);
    case 1:
    case 2:
        return edit_inputs(f, n);
    case 3:
        return edit_bypass(f, n);
    case 4:
        return edit_outputs(f);
    case 5:
        return edit_input_type(f);
    case 6:
    case 7:
        return edit_initializer(f);
    default:
        return edit_attr(f, n);
    }
}
