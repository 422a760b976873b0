/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * key_files.h - an ONNX file in memory (protobuf-c's messages of the official
 * onnx.proto, all in one arena), changed at random and written back.
 */
#ifndef HULL_TESTS_KEY_FILES_H
#define HULL_TESTS_KEY_FILES_H

#include "keys.h"
#include "onnx.pb-c.h"

#define KEY_DATA_FILE "model.data"

typedef Onnx__AttributeProto pb_attr;
typedef Onnx__FunctionProto pb_function;
typedef Onnx__GraphProto pb_graph;
typedef Onnx__ModelProto pb_model;
typedef Onnx__NodeProto pb_node;
typedef Onnx__StringStringEntryProto pb_entry;
typedef Onnx__TensorProto pb_tensor;
typedef Onnx__TensorShapeProto__Dimension pb_dim;
typedef Onnx__ValueInfoProto pb_value;

typedef struct key_file {
    arena a;
    pb_model *m;
    rng *r;
    pb_graph **graphs;   /* the main graph first, then all bodies */
    pb_node **nodes;     /* of graphs and functions */
    uint32_t n_graphs, n_nodes;
    size_t cap_graphs, cap_nodes;
    buf external;        /* bytes that the file keeps elsewhere */
    char what[160];      /* what was done, for messages */
} key_file;

hull_status key_file_open(key_file *out, const char *path, rng *r) MUST_CHECK;
void key_file_close(key_file *f);
/* Writes `folder`/model.onnx and, when there is one, its external data. */
hull_status key_file_write(key_file *f, const char *folder) MUST_CHECK;

/* key_rewrite.c: the same model otherwise: names, order, storage, comments,
 * and other values of the tensors that `holes` lists. */
hull_status key_file_rewrite(key_file *f, const front_hole *holes, uint32_t n)
    MUST_CHECK;
/* key_files.c: one change of an attribute, operator, edge, stored value or
 * type. false: nothing was changed. */
bool key_file_edit(key_file *f);

/* Raw bytes instead of typed fields; false: external, text, or of a type that
 * typed fields do not hold. */
bool key_tensor_raw(key_file *f, pb_tensor *t);
char *key_text(key_file *f, const char *s);
/* An optional field that is absent is empty. */
bool key_same_text(const char *a, const char *b);

#endif
