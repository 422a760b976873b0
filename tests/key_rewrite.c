/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * key_rewrite.c - an ONNX file as another exporter might have written it: the
 * same model, but for names, the order of nodes and tables, comments and
 * versions of tools, where and how tensors are stored, and what weights hold.
 */
#include "key_files.h"

#include <stdio.h>
#include <string.h>

#define TYPE(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name
#define DIM_PARAM ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM

static bool coin(key_file *f)
{
    return rng_below(f->r, 2) == 0;
}

static void did(key_file *f, const char *what)
{
    size_t n = strlen(f->what);

    snprintf(f->what + n, sizeof f->what - n, "%s%s", n > 0 ? ", " : "", what);
}

static void shuffle(key_file *f, void *p, size_t n)
{
    void **x = p;

    for (size_t i = n; i > 1; i--) {
        size_t k = rng_below(f->r, i);
        void *spare = x[i - 1];

        x[i - 1] = x[k];
        x[k] = spare;
    }
}

/* ---- names --------------------------------------------------------------- */

typedef struct renames {
    key_file *f;
    strmap map;      /* old name -> number of the new one */
    char **names;
    size_t n, cap;
    hull_status st;
} renames;

static void rename_to(renames *x, char **name)
{
    static const char *const forms[] = {
        "%08x.%zu", "/a/%08x/b_%zu", "x%08x%zu", "model.%08x:%zu", "%u_%zu",
    };
    uint32_t at = 0;
    char text[64];

    if (x->st != HULL_OK || *name == NULL || (*name)[0] == '\0')
        return;
    if (!strmap_get(&x->map, str_of(*name), &at)) {
        at = (uint32_t)x->n;
        snprintf(text, sizeof text, forms[rng_below(x->f->r, COUNT_OF(forms))],
                 (unsigned)rng_next(x->f->r), x->n);
        x->st = mem_grow(&x->names, &x->cap, x->n + 1, sizeof *x->names);
        if (x->st == HULL_OK)
            x->st = strmap_set(&x->map, str_of(*name), at);
        if (x->st != HULL_OK)
            return;
        x->names[x->n++] = key_text(x->f, text);
    }
    *name = x->names[at];
}

static void rename_values(renames *x, pb_value **p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rename_to(x, &p[i]->name);
}

static void rename_graph(renames *x, pb_graph *g)
{
    rename_to(x, &g->name);
    rename_values(x, g->input, g->n_input);
    rename_values(x, g->output, g->n_output);
    rename_values(x, g->value_info, g->n_value_info);
    for (size_t i = 0; i < g->n_initializer; i++)
        rename_to(x, &g->initializer[i]->name);
    for (size_t i = 0; i < g->n_sparse_initializer; i++)
        rename_to(x, &g->sparse_initializer[i]->values->name);
    g->n_quantization_annotation = 0;
}

static hull_status rename_all(key_file *f)
{
    renames x = { .f = f };

    did(f, "values renamed");
    for (uint32_t i = 0; i < f->n_graphs; i++)
        rename_graph(&x, f->graphs[i]);
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        pb_node *n = f->nodes[i];

        rename_to(&x, &n->name);
        for (size_t k = 0; k < n->n_input; k++)
            rename_to(&x, &n->input[k]);
        for (size_t k = 0; k < n->n_output; k++)
            rename_to(&x, &n->output[k]);
    }
    for (size_t i = 0; i < f->m->n_functions; i++) {
        pb_function *fn = f->m->functions[i];

        for (size_t k = 0; k < fn->n_input; k++)
            rename_to(&x, &fn->input[k]);
        for (size_t k = 0; k < fn->n_output; k++)
            rename_to(&x, &fn->output[k]);
    }
    strmap_fini(&x.map);
    mem_free(x.names);
    return x.st;
}

static void rename_dims(renames *x, pb_value **p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const Onnx__TypeProto *t = p[i]->type;

        if (t == NULL || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
            t->tensor_type->shape == NULL)
            continue;
        for (size_t k = 0; k < t->tensor_type->shape->n_dim; k++) {
            pb_dim *d = t->tensor_type->shape->dim[k];

            if (d->value_case == DIM_PARAM && !key_same_text(d->dim_param, "?"))
                rename_to(x, &d->dim_param);
        }
    }
}

static hull_status rename_symbols(key_file *f)
{
    renames x = { .f = f };

    did(f, "sizes renamed");
    for (uint32_t i = 0; i < f->n_graphs; i++) {
        rename_dims(&x, f->graphs[i]->input, f->graphs[i]->n_input);
        rename_dims(&x, f->graphs[i]->output, f->graphs[i]->n_output);
        rename_dims(&x, f->graphs[i]->value_info, f->graphs[i]->n_value_info);
    }
    strmap_fini(&x.map);
    mem_free(x.names);
    return x.st;
}

static void rename_functions(key_file *f)
{
    char text[64];

    did(f, "functions renamed");
    for (size_t i = 0; i < f->m->n_functions; i++) {
        pb_function *fn = f->m->functions[i];
        char *was = fn->name;

        snprintf(text, sizeof text, "F%08x_%zu", (unsigned)rng_next(f->r), i);
        fn->name = key_text(f, text);
        for (uint32_t k = 0; k < f->n_nodes; k++)
            if (key_same_text(f->nodes[k]->op_type, was) &&
                key_same_text(f->nodes[k]->domain, fn->domain))
                f->nodes[k]->op_type = fn->name;
    }
}

/* ---- order --------------------------------------------------------------- */

typedef struct sorter {
    strmap makers;   /* name -> node + 1 of this list */
    pb_node **from, **to;
    bool *seen;
    size_t n;
} sorter;

static void visit(sorter *s, uint32_t i);

static void visit_name(sorter *s, const char *name)
{
    uint32_t at = 0;

    if (strmap_get(&s->makers, str_of(name), &at))
        visit(s, at);
}

static void visit_reads(sorter *s, const pb_node *n)
{
    for (size_t k = 0; k < n->n_input; k++)
        visit_name(s, n->input[k]);
    for (size_t k = 0; k < n->n_attribute; k++) {
        const pb_graph *g = n->attribute[k]->g;

        for (size_t j = 0; g != NULL && j < g->n_node; j++)
            visit_reads(s, g->node[j]);
        for (size_t j = 0; g != NULL && j < g->n_output; j++)
            visit_name(s, g->output[j]->name);
    }
}

static void visit(sorter *s, uint32_t i)
{
    if (s->seen[i])
        return;
    s->seen[i] = true;
    visit_reads(s, s->from[i]);
    s->to[s->n++] = s->from[i];
}

/* Another order in which everything is made before it is read. */
static hull_status reorder(key_file *f, pb_node **p, size_t n)
{
    sorter s = { .from = p };
    hull_status st = HULL_OK;

    shuffle(f, p, n);
    s.to = arena_array(&f->a, n + 1, sizeof *s.to);
    s.seen = arena_array(&f->a, n + 1, sizeof *s.seen);
    if (s.to == NULL || s.seen == NULL)
        return fail_oom(n);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < p[i]->n_output; k++)
            if (p[i]->output[k][0] != '\0')
                TRY_OUT(strmap_set(&s.makers, str_of(p[i]->output[k]), i));
    for (uint32_t i = 0; i < n; i++)
        visit(&s, i);
    for (size_t i = 0; i < n; i++)
        p[i] = s.to[i];
out:
    strmap_fini(&s.makers);
    return st;
}

static hull_status reorder_all(key_file *f)
{
    did(f, "nodes reordered");
    for (uint32_t i = 0; i < f->n_graphs; i++)
        TRY(reorder(f, f->graphs[i]->node, f->graphs[i]->n_node));
    for (size_t i = 0; i < f->m->n_functions; i++)
        TRY(reorder(f, f->m->functions[i]->node, f->m->functions[i]->n_node));
    return HULL_OK;
}

static void shuffle_tables(key_file *f)
{
    did(f, "tables shuffled");
    shuffle(f, f->m->opset_import, f->m->n_opset_import);
    shuffle(f, f->m->metadata_props, f->m->n_metadata_props);
    shuffle(f, f->m->functions, f->m->n_functions);
    for (uint32_t i = 0; i < f->n_graphs; i++) {
        pb_graph *g = f->graphs[i];

        shuffle(f, g->initializer, g->n_initializer);
        shuffle(f, g->value_info, g->n_value_info);
    }
    for (uint32_t i = 0; i < f->n_nodes; i++)
        shuffle(f, f->nodes[i]->attribute, f->nodes[i]->n_attribute);
}

/* ---- comments ------------------------------------------------------------ */

static void rewrite_comments(key_file *f)
{
    static char random[] = "another comment";

    did(f, "comments");
    f->m->doc_string = random;
    f->m->producer_name = coin(f) ? random : f->m->producer_name;
    f->m->producer_version = random;
    f->m->domain = random;
    f->m->has_model_version = true;
    f->m->model_version = rng_below(f->r, 99);
    for (size_t i = 0; i < f->m->n_metadata_props; i++)
        f->m->metadata_props[i]->value = random;
    for (uint32_t i = 0; i < f->n_graphs; i++) {
        pb_graph *g = f->graphs[i];

        g->doc_string = random;
        if (coin(f))
            g->n_value_info = 0;
        for (size_t k = 0; k < g->n_initializer; k++)
            g->initializer[k]->doc_string = random;
        for (size_t k = 0; k < g->n_input; k++)
            g->input[k]->doc_string = random;
    }
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        f->nodes[i]->doc_string = random;
        f->nodes[i]->base.n_unknown_fields = 0; /* metadata_props */
        for (size_t k = 0; k < f->nodes[i]->n_attribute; k++)
            f->nodes[i]->attribute[k]->doc_string = random;
    }
}

/* ---- tensors ------------------------------------------------------------- */

static void *room(key_file *f, size_t n, size_t size)
{
    return arena_array(&f->a, n + 1, size);
}

/* Typed fields instead of raw bytes. */
static void make_typed(key_file *f, pb_tensor *t)
{
    const uint8_t *p = t->raw_data.data;
    size_t len = t->raw_data.len;

    switch (t->data_type) {
    case TYPE(FLOAT):
        t->n_float_data = len / 4;
        t->float_data = room(f, t->n_float_data, 4);
        memcpy(t->float_data, p, len);
        break;
    case TYPE(DOUBLE):
        t->n_double_data = len / 8;
        t->double_data = room(f, t->n_double_data, 8);
        memcpy(t->double_data, p, len);
        break;
    case TYPE(INT64):
        t->n_int64_data = len / 8;
        t->int64_data = room(f, t->n_int64_data, 8);
        memcpy(t->int64_data, p, len);
        break;
    case TYPE(INT32):
        t->n_int32_data = len / 4;
        t->int32_data = room(f, t->n_int32_data, 4);
        memcpy(t->int32_data, p, len);
        break;
    case TYPE(BOOL):
    case TYPE(UINT8):
    case TYPE(INT8):
        t->n_int32_data = len;
        t->int32_data = room(f, len, 4);
        for (size_t i = 0; i < len; i++)
            t->int32_data[i] = t->data_type == TYPE(INT8) ? (int8_t)p[i] : p[i];
        break;
    default:
        return;
    }
    t->has_raw_data = false;
}

static pb_entry *entry(key_file *f, const char *key, const char *v)
{
    pb_entry *e = room(f, 1, sizeof *e);

    onnx__string_string_entry_proto__init(e);
    e->key = key_text(f, key);
    e->value = key_text(f, v);
    return e;
}

static void make_external(key_file *f, pb_tensor *t)
{
    char at[24], len[24];

    buf_align(&f->external, coin(f) ? 4096 : 8);
    snprintf(at, sizeof at, "%zu", f->external.n);
    snprintf(len, sizeof len, "%zu", t->raw_data.len);
    buf_put(&f->external, t->raw_data.data, t->raw_data.len);
    t->external_data = room(f, 3, sizeof *t->external_data);
    t->external_data[0] = entry(f, "location", KEY_DATA_FILE);
    t->external_data[1] = entry(f, "offset", at);
    t->external_data[2] = entry(f, "length", len);
    t->n_external_data = 3;
    t->has_raw_data = false;
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static void store_otherwise(key_file *f)
{
    did(f, "tensors moved");
    for (uint32_t i = 0; i < f->n_graphs; i++)
        for (size_t k = 0; k < f->graphs[i]->n_initializer; k++) {
            pb_tensor *t = f->graphs[i]->initializer[k];

            if (!key_tensor_raw(f, t))
                continue;
            if (t->raw_data.len > 0 && rng_below(f->r, 3) == 0)
                make_external(f, t);
            else if (coin(f))
                make_typed(f, t);
        }
}

/* Other weights: what is no hole is architecture and stays. */
static void change_weights(key_file *f, const front_hole *holes, uint32_t n)
{
    const pb_graph *g = f->m->graph;

    did(f, "other weights");
    for (size_t i = 0; i < g->n_initializer; i++) {
        pb_tensor *t = g->initializer[i];
        bool hole = false;

        for (uint32_t k = 0; k < n && !hole; k++)
            hole = str_is(holes[k].name, t->name);
        if (!hole || !key_tensor_raw(f, t))
            continue;
        for (size_t k = 0; k < t->raw_data.len; k++)
            t->raw_data.data[k] =
                t->data_type == TYPE(BOOL) ? (uint8_t)rng_below(f->r, 2)
                                           : (uint8_t)rng_next(f->r);
    }
}

hull_status key_file_rewrite(key_file *f, const front_hole *holes, uint32_t n)
{
    uint32_t what = 1 + rng_below(f->r, 255);

    if (what & 1)
        change_weights(f, holes, n);
    if (what & 2)
        store_otherwise(f);
    if (what & 4)
        shuffle_tables(f);
    if (what & 8)
        TRY(reorder_all(f));
    if (what & 16)
        rewrite_comments(f);
    if (what & 32)
        TRY(rename_all(f));
    if (what & 64)
        TRY(rename_symbols(f));
    if (what & 128)
        rename_functions(f);
    return HULL_OK;
}
