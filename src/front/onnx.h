/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx.h - inside the ONNX frontend: parsed messages (views of the file, lists
 * in the import's arena), the state of a walk, and what a lowering sees.
 *   onnx_proto.c  messages              onnx.c        the walk, table look-up
 *   onnx.def      operator -> lowering  onnx_math.c onnx_shape.c onnx_nn.c
 *   onnx_names.c  names and recipes     onnx_rnn.c onnx_control.c ...
 */
#ifndef HULL_ONNX_H
#define HULL_ONNX_H

#include "front/front_private.h"

/* Nested graphs and functions; deeper models are refused. */
#define ONNX_DEPTH_MAX 16
/* Nodes lowered in one import, bodies of functions counted at each call. */
#define ONNX_NODES_MAX 1000000

/* ---- messages ------------------------------------------------------------ */

typedef enum onnx_attr_type {
    ONNX_NONE, ONNX_FLOAT, ONNX_INT, ONNX_STRING, ONNX_TENSOR, ONNX_GRAPH,
    ONNX_FLOATS, ONNX_INTS, ONNX_STRINGS, ONNX_SPARSE = 11, ONNX_TYPE = 13,
    ONNX_OTHER
} onnx_attr_type;

typedef struct onnx_attr {
    str name, ref;            /* ref: of the function's attribute */
    onnx_attr_type type;
    float f;
    int64_t i;
    str s;
    bytes t, g, tp, sparse;   /* messages */
    const float *floats;
    const int64_t *ints;
    const str *strings;
    uint32_t n_floats, n_ints, n_strings;
} onnx_attr;

typedef struct onnx_meta {
    str key, value;
} onnx_meta;

typedef struct onnx_node {
    str op, domain, name, overload;
    str *in, *out;
    uint32_t n_in, n_out;
    onnx_attr *attrs;
    uint32_t n_attrs;
    onnx_meta *meta;
    uint32_t n_meta;
} onnx_node;

typedef struct onnx_dim {
    bool has_value;
    int64_t value;
    str param;
} onnx_dim;

#define ONNX_WRAPS_MAX 8
enum { ONNX_SEQUENCE_OF = 1, ONNX_OPTIONAL_OF };

typedef struct onnx_value {
    str name;
    uint8_t wraps[ONNX_WRAPS_MAX]; /* what the tensor is inside of, from the */
    uint32_t n_wraps;              /*   outermost on */
    bool tensor, has_shape;
    int64_t elem;
    uint32_t rank;
    const onnx_dim *dims;
    onnx_meta *meta;
    uint32_t n_meta;
} onnx_value;

typedef struct onnx_graph {
    str name;
    onnx_node *nodes;
    uint32_t n_nodes;
    bytes *initializers;      /* TensorProto each, or SparseTensorProto */
    str *initializer_names;
    bool *sparse;             /* per initializer */
    uint32_t n_initializers;
    onnx_value *inputs, *outputs, *infos;
    uint32_t n_inputs, n_outputs, n_infos;
    onnx_meta *meta;
    uint32_t n_meta;
} onnx_graph;

typedef struct onnx_import_row {
    str domain;
    int64_t version;
} onnx_import_row;

typedef struct onnx_function {
    str name, domain, overload;
    str *in, *out, *attr_names;
    uint32_t n_in, n_out, n_attr_names;
    onnx_attr *defaults;
    uint32_t n_defaults;
    onnx_node *nodes;
    uint32_t n_nodes;
    onnx_import_row *imports;
    uint32_t n_imports;
    bool scanned;
} onnx_function;

typedef struct onnx_model {
    int64_t ir_version;
    str producer, producer_version;
    bytes graph;
    onnx_import_row *imports;
    uint32_t n_imports;
    onnx_function *functions;
    uint32_t n_functions;
} onnx_model;

hull_status onnx_parse_model(onnx_model *out, arena *a, bytes b) MUST_CHECK;
hull_status onnx_parse_graph(onnx_graph *out, arena *a, bytes b,
                             const uint8_t *base) MUST_CHECK;
/* TypeProto into a value. */
hull_status onnx_parse_type(onnx_value *out, arena *a, bytes b,
                            const uint8_t *base) MUST_CHECK;
str onnx_meta_get(const onnx_meta *m, uint32_t n, const char *key);

/* ---- the walk (onnx.c) --------------------------------------------------- */

typedef struct onnx onnx;
typedef struct onnx_call onnx_call;

/* What one graph or function sees. */
typedef struct onnx_scope {
    struct onnx_scope *parent;  /* outer graph; NULL for main and functions */
    strmap names;               /* name -> val; 0 = stored, not read yet */
    str prefix;                 /* of stored names in the native index */
    const onnx_import_row *imports;
    uint32_t n_imports;
    const onnx_attr *actual;    /* attributes of the function's call */
    uint32_t n_actual;
} onnx_scope;

struct onnx {
    front *f;
    const file *file;
    onnx_model model;
    onnx_graph main;
    onnx_scope *scope;
    uint32_t depth, n_lowered;
    strmap function_of;         /* identity -> index of the model's functions */
    strmap dim_names;           /* sanitised name -> index of dim_raw */
    str *dim_raw;
    uint32_t n_dim_raw;
    size_t cap_dim_raw;
    strmap rnn_counts;          /* module path -> layers seen (onnx_names.c) */
    strmap values_of;           /* main graph: value name -> info index */
    strmap signature_of;        /* placeholder -> index of targets */
    strmap target_of;           /* state-dict name -> index of targets */
    struct onnx_target *targets;
    uint32_t n_targets;
    size_t cap_targets;
    bool dynamo;                /* metadata of the dynamo exporter */
};

typedef hull_status onnx_lower_fn(onnx_call *c);

typedef struct onnx_row {
    const char *op;
    int32_t since, until;      /* opsets, until 0 = newest */
    onnx_lower_fn *lower;
    uint32_t arg;              /* an op_code, mostly */
    int32_t in_min, in_max;    /* in_max -1 = variadic */
    const char *attrs;         /* names it may have, one blank between */
} onnx_row;

/* The row of `op` in a domain ("" = the default one); NULL = none for that
 * version. */
const onnx_row *onnx_row_find(str domain, str op, int64_t version);

struct onnx_call {
    onnx *o;
    front *f;
    ir *m;
    graph *g;
    const onnx_node *n;
    const onnx_row *row;
    int64_t version;
    const val *in;
    uint32_t n_in;
    val *out;                  /* n_out results, set by the lowering */
    uint32_t n_out;
};

/* in[i], 0 when it is missing. */
val onnx_in(const onnx_call *c, uint32_t i);
/* Result i has a name. */
bool onnx_wants(const onnx_call *c, uint32_t i);
const type *onnx_type(const onnx_call *c, val v); /* NULL: failed or none */

/* Attributes: the default when absent; a wrong kind makes the ir failed. */
const onnx_attr *onnx_attr_of(const onnx_call *c, const char *name);
int64_t onnx_int(onnx_call *c, const char *name, int64_t def);
/* The shortest decimal of the f32 as a double: 1e-05f is 1e-05. */
double onnx_float(onnx_call *c, const char *name, double def);
str onnx_str(onnx_call *c, const char *name, const char *def);
/* *out_n = 0 when absent. */
hull_status onnx_ints(onnx_call *c, const char *name, int64_t *out,
                      uint32_t max, uint32_t *out_n) MUST_CHECK;
/* want integers of at least `least`, one per axis; fill when absent. */
hull_status onnx_ints_or(onnx_call *c, const char *name, int64_t *out,
                         uint32_t want, int64_t fill, int64_t least)
    MUST_CHECK;
bool onnx_has(const onnx_call *c, const char *name);
double onnx_f32(onnx_call *c, float v);
/* Integers from an attribute or, where the attribute is absent, operand i. */
hull_status onnx_ints_at(onnx_call *c, const char *name, uint32_t i,
                         int64_t *out, uint32_t max, uint32_t *out_n)
    MUST_CHECK;
/* Sizes, or numbers of any sign, from operand i; where they depend on data
 * they are symbols that a run gives their values. */
hull_status onnx_dims_at(onnx_call *c, uint32_t i, dim *out, uint32_t max,
                         uint32_t *out_n) MUST_CHECK;
hull_status onnx_numbers_at(onnx_call *c, uint32_t i, dim *out, uint32_t max,
                            uint32_t *out_n) MUST_CHECK;
/* Operand i is there and all its elements are plain integers. */
bool onnx_is_fixed(onnx_call *c, uint32_t i);
hull_status onnx_axis(onnx_call *c, int64_t axis, uint32_t rank,
                      uint32_t *out) MUST_CHECK;
/* The one element of a tensor attribute as a rank-0 const; 0 = failed. */
val onnx_one_element(onnx_call *c, const char *name);

/* Lowers graph bytes of attribute `name` in a new scope. params: values for
 * its inputs. The values of its outputs go to results (n_results of them). */
hull_status onnx_subgraph(onnx_call *c, const char *name, const val *params,
                          uint32_t n_params, val *results,
                          uint32_t n_results) MUST_CHECK;
/* Number of outputs and the inputs' declared types of a graph attribute. */
hull_status onnx_graph_attr(onnx_call *c, const char *name, onnx_graph *out)
    MUST_CHECK;

/* The declared type. Sizes that it leaves open are symbols, inside of sequences
 * and optionals unknown; the rank may be open there too. */
hull_status onnx_value_type(onnx *o, const onnx_value *v, type *out)
    MUST_CHECK;

/* onnx_text.c. A data_type, text too; HULL_NONE when unknown. */
hull_dtype onnx_value_dtype(int64_t data_type);
/* A TensorProto of text, and the text of a Constant, as nodes `strings`. */
hull_status onnx_stored_text(front *f, bytes proto, val *out) MUST_CHECK;
hull_status onnx_constant_text(onnx_call *c, const onnx_attr *a) MUST_CHECK;

/* Short forms that lowerings use. */
val onnx_scalar_like(onnx_call *c, val x, double v);
val onnx_reduce(onnx_call *c, op_code op, val x, const int64_t *axes,
                uint32_t n, bool keep);
val onnx_along(onnx_call *c, val x, op_code op, int64_t axis);

/* ---- names (onnx_names.c) ------------------------------------------------ */

/* Before the walk: signature, names of initializers, what is constant. */
hull_status onnx_names_begin(onnx *o) MUST_CHECK;
/* At each node of the main graph, after its lowering. */
hull_status onnx_names_node(onnx *o, const onnx_node *n) MUST_CHECK;
/* After the walk. */
hull_status onnx_names_end(onnx *o) MUST_CHECK;

#endif
