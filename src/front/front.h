/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * front.h - model files to IR. A frontend is a reader of its format plus a
 * table {operator, lowering}; opset and overload logic ends there. Both lower
 * to the small op set of ir/ops.def.
 *
 * Weight or literal (docs/refit.md has the reasons):
 *   - what an operator reads to decide structure (shapes, axes, pads, repeats,
 *     k, scales) becomes a literal by value, wherever the file stores it;
 *   - every other stored tensor is a hole: a `weight` node named by the
 *     initializer, the Constant node's output or the state-dict name;
 *   - except a rank-0 value outside a parameter role that neither the
 *     signature nor the checkpoint given to compile names: a literal.
 */
#ifndef HULL_FRONT_H
#define HULL_FRONT_H

#include "ir/ir.h"
#include "weights/weights.h"

/* ---- what an import gives ------------------------------------------------ */

/* One hole of the model and what is known about how a checkpoint names it. */
#define RECIPE_TIER_LEARN 8 /* and above: only where bytes confirm (learn=on) */
typedef struct front_hole {
    str name;            /* of the weight node, and in the native index */
    type type;           /* dims are plain sizes; dims array in the arena */
    const str *names;    /* state-dict names that are this value: a tie. The */
    uint32_t n_names;    /*   hole's own name counts only if it stands here */
    /* How a checkpoint gives the value when no name fits as it is: graphs of
     * `recipes`, one result each, leaves are `weight "checkpoint name"`. A '*'
     * in leaf names stands for one path segment, the same one in the whole
     * recipe. Lower tiers are tried first; two that fit in one tier are
     * ambiguous. derived: never bind by name alone, the bytes were changed by
     * the exporter (BN folded under an unchanged name). */
    graph *const *recipes;
    const uint8_t *tiers;
    uint32_t n_recipes;
    bool derived;
    bool parameter;      /* used in a parameter role or declared as one */
    bool kept;           /* may keep the file's value: the file says constant,
                          * or int64/bool, or inline outside parameter roles */
    bool native;         /* the model file itself holds the bytes */
    const char *reason;  /* why it is a hole / kept; constant text */
    str module_path;     /* "layer1.0.conv1" when the exporter tells; or "" */
} front_hole;

/* A stored constant that became a literal, for `explain`. */
typedef struct front_literal {
    str name;
    const char *reason;
    str value;           /* short text */
} front_literal;

typedef struct front_model {
    ir *m;               /* holds graph @main, in canonical order, verified */
    graph *g;
    ir *recipes;         /* recipe graphs live here */
    weights *native;     /* the model file's own tensors */
    front_hole *holes;   /* in canonical order of first use */
    uint32_t n_holes;
    const str *unread;   /* names the signature has and no hole uses */
    uint32_t n_unread;
    front_literal *literals;
    uint32_t n_literals;
    const char *format;  /* "onnx" or "pt2" */
    str producer;        /* "pytorch 2.13.0" */
} front_model;

/* "[1, 2, 3, ...]": at most eight of n elements; a bare number at rank 0. */
void front_print_value(buf *b, hull_dtype dt, uint32_t rank, const void *data,
                       uint64_t n);

/* Imports by content. checkpoint: only its names are looked at; may be NULL.
 * HULL_EUNSUPPORTED lists every operator without a lowering: name, domain,
 * version, how many, first node. The caller frees with front_free. */
hull_status front_import(front_model **out, const char *path,
                         const weights *checkpoint) MUST_CHECK;
/* The same of a model file whose index is open: its inner graphs' tensors are
 * added to that. */
hull_status front_import_index(front_model **out, weights *native,
                               const char *path, const weights *checkpoint)
    MUST_CHECK;
void front_free(front_model *fm);

/* ---- shared by the frontends (front.c) ----------------------------------- */

/* State of one import. Strings given to it are copied. */
typedef struct front front;

struct front {
    front_model *fm;
    ir *m;
    graph *g;
    const weights *checkpoint;
    arena a;             /* lives until the import ends */
    struct front_private *priv;
};

typedef hull_status front_read_fn(front *f, const file *file);

/* The two-row table of formats. */
typedef struct front_format {
    const char *name;
    weights_format kind;
    front_read_fn *read; /* builds f->g from f->fm->native's file 0 */
} front_format;
hull_status onnx_import(front *f, const file *file) MUST_CHECK;
hull_status pt2_import(front *f, const file *file) MUST_CHECK;

/* The value of native tensor `name`: a weight node, made on first use. A small
 * integer tensor's elements are visible to front_structure. 0 when failed. */
val front_weight(front *f, str name);
/* Facts about a hole, at any time before the import ends. */
void front_is_parameter(front *f, val v); /* used as weight, bias, scale ... */
void front_declare(front *f, str name, bool parameter, bool kept,
                   const char *reason);
void front_add_name(front *f, str name, str checkpoint_name);
void front_set_path(front *f, str name, str module_path);
void front_add_recipe(front *f, str name, graph *recipe, uint8_t tier);
void front_set_derived(front *f, str name);
/* A signature name that may turn out to be unread (decided at the end: names
 * that no hole has and no recipe leaf uses). */
void front_signature_name(front *f, str name);
/* New graph in fm->recipes for a recipe; add its result, then add_recipe. */
graph *front_recipe(front *f);

/* Integer elements of v (rank 0 or 1): symbolic where they come from input
 * shapes. Pins the holes it depends on: they become literals. *out_known is
 * false when they depend on data; then nothing is pinned. */
hull_status front_structure(front *f, val v, dim *out, uint32_t max,
                            uint32_t *out_n, bool *out_known) MUST_CHECK;
/* Same, but plain integers are required; the error names node and operand. */
hull_status front_ints(front *f, val v, int64_t *out, uint32_t max,
                       uint32_t *out_n, const char *what) MUST_CHECK;
/* Float elements of a stored constant; pins it. */
hull_status front_floats(front *f, val v, double *out, uint32_t max,
                         uint32_t *out_n, bool *out_known) MUST_CHECK;
/* v is a stored rank-0 or one-element constant outside a parameter role:
 * *out_value and true, pinning it (clip bounds, pad values). */
bool front_scalar(front *f, val v, double *out_value);

/* ---- structure that a run decides (front_dynamic.c) ---------------------- */

/* Integer elements of v, rank 0 or 1 and of fixed length, as dims: those of
 * front_structure, and where they depend on data, new symbols that the run
 * gives their values. Sizes are refused below 0; numbers may be negative. */
hull_status front_sizes(front *f, val v, dim *out, uint32_t max,
                        uint32_t *out_n) MUST_CHECK;
hull_status front_numbers(front *f, val v, dim *out, uint32_t max,
                          uint32_t *out_n) MUST_CHECK;
/* Always binds. */
hull_status front_bind(front *f, val v, bool sizes, dim *out, uint32_t max,
                       uint32_t *out_n) MUST_CHECK;
/* v with sizes that are symbols where its type says "depends on data"; v
 * itself where there are none. Both frontends call it for every result. */
val front_settle(front *f, val v);

/* Vectors of i64. axes: any integer type, rank 0 or 1. */
val front_as_vector(front *f, val v);
val front_ints_const(front *f, const int64_t *p, uint32_t n);
val front_wrap_axes(front *f, val axes, uint32_t rank); /* negative ones */
val front_axes_mask(front *f, val axes, uint32_t rank); /* [rank], 1 = listed */
val front_put_at(front *f, val into, val index, val values);

/* Operators whose axes, bounds or sizes are data. */
hull_status front_squeeze_at(front *f, val x, val axes, val *out) MUST_CHECK;
hull_status front_unsqueeze_at(front *f, val x, val axes, val *out) MUST_CHECK;
/* A reduce op that can go axis by axis (sum, prod, max, min, any). No axes:
 * all, or none. */
hull_status front_reduce_at(front *f, op_code op, val x, val axes, bool keep,
                            bool none_if_empty, val *out) MUST_CHECK;
/* axes and steps may be 0. */
hull_status front_slice_at(front *f, val x, val starts, val ends, val axes,
                           val steps, val *out) MUST_CHECK;
/* zeros: a size 0 is 0, not the operand's. */
hull_status front_reshape_to(front *f, val x, val sizes, bool zeros, val *out)
    MUST_CHECK;

/* ---- random numbers (front_random.c) ------------------------------------- */

/* seed NULL: the session's. */
val front_random(front *f, bool normal, hull_dtype dt, const dim *d,
                 uint32_t rank, const int64_t *seed);
val front_scaled(front *f, val x, double scale, double offset);
val front_bernoulli(front *f, val p, const int64_t *seed); /* bool */
/* ratio of rank 0, any float; *out_mask: bool, what is kept. */
val front_dropout(front *f, val x, val ratio, const int64_t *seed,
                  val *out_mask);
/* Indices i64 into the last axis of logits, in its place `samples` of them. */
val front_multinomial(front *f, val logits, dim samples, const int64_t *seed);

/* An operator without a lowering: counted, reported at the end together. */
void front_missing(front *f, str op, str domain, int64_t version,
                   str node_name);
/* HULL_EUNSUPPORTED with the whole list, HULL_OK when none is missing. */
hull_status front_check_missing(front *f) MUST_CHECK;

/* ---- control flow (front_control.c) -------------------------------------- */

/* Lowers one body where nodes go now: `in` are its parameters, `out` takes its
 * results. */
typedef hull_status lower_body(front *f, void *user, const val *in, val *out);

/* Branches see outer values and have no parameters. */
hull_status lower_if(front *f, val cond, lower_body *yes, lower_body *no,
                     void *user, uint32_t n_out, val *out) MUST_CHECK;
/* The body's parameters: iteration (i64), condition, n carried values; its
 * results: condition, carried. A value whose type the body changes has the
 * type of all iterations, and the body is lowered once more. An empty sequence
 * takes the type of what the body makes of it; 0 stands for one, in `carried`
 * and then in `in`. */
hull_status lower_loop(front *f, val trips, val cond, const val *carried,
                       uint32_t n, lower_body *body, void *user, val *out)
    MUST_CHECK;
val lower_empty_sequence(front *f, const type *t);

/* A step takes states and slices, and gives new states and results; it is
 * lowered twice. NULL for axes: the first; for back: forward. */
typedef struct lower_scan {
    uint32_t n_states, n_slices, n_results;
    const val *states, *whole;        /* initial states; what is sliced */
    const int64_t *axes, *out_axes;   /* of `whole` (>= 0), of the results */
    const int64_t *back, *out_back;   /* not 0 = from the end */
    lower_body *step;
    void *user;
} lower_scan;
/* Final states, then collected results. */
hull_status lower_scan_add(front *f, const lower_scan *s, val *results)
    MUST_CHECK;

/* Decompositions that both frontends use. */
val lower_linear(front *f, val x, val w, val b); /* x w^T + b, b may be 0 */
val lower_axes_to_reshape(front *f, val x, const int64_t *axes, uint32_t n,
                          bool insert); /* unsqueeze / squeeze */
val lower_split(front *f, val x, uint32_t axis, dim start, dim size);
/* x with w in the place of its slice from `start` (negative: from the end) on
 * with step > 0; w has the slice's shape. 0 when the sign of start is open. */
val lower_put_slice(front *f, val x, val w, uint32_t axis, dim start,
                    int64_t step);
/* einsum.c: any equation of numpy's, up to 64 operands. */
hull_status lower_einsum(front *f, str equation, const val *in, uint32_t n,
                         val *out) MUST_CHECK;

#endif
