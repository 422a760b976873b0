/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten.h - inside the PT2 frontend: one call of an ATen operator and how its
 * lowering reads arguments and gives results. A lowering is one function; it
 * reads arguments by their position in the schema (src/front/aten.def), where
 * absent ones already hold the schema's default.
 *
 * Failure is sticky, as in ir.h: the first one stays in call->st, accessors
 * then give zeros. A lowering checks call->st before it indexes with what it
 * read; the caller checks once afterwards.
 */
#ifndef HULL_ATEN_H
#define HULL_ATEN_H

#include "front/front.h"

#define ATEN_ARGS_MAX 16
#define ATEN_OUTS_MAX 8

typedef enum aten_kind {
    ATEN_NONE, ATEN_TENSOR, ATEN_INT, ATEN_FLOAT, ATEN_BOOL, ATEN_STR,
    ATEN_DTYPE, ATEN_TENSORS, ATEN_INTS, ATEN_FLOATS,
    ATEN_OTHER /* device, layout, memory format: never looked at */
} aten_kind;

/* An argument, or a result. */
typedef struct aten_value {
    aten_kind kind;
    val v;                /* TENSOR */
    dim i;                /* INT: may be symbolic */
    double f;             /* FLOAT */
    bool b;               /* BOOL */
    str s;                /* STR */
    hull_dtype dt;        /* DTYPE */
    uint32_t n;           /* lists */
    const val *vals;      /* TENSORS: 0 = none */
    const dim *dims;      /* INTS */
    const double *floats; /* FLOATS */
} aten_value;

typedef struct aten_row aten_row;

typedef struct aten_call {
    front *f;
    graph *g;
    ir *m;
    const aten_row *row;
    str label;                      /* for messages */
    hull_status st;                 /* sticky */
    aten_value args[ATEN_ARGS_MAX]; /* in schema order */
    str arg_names[ATEN_ARGS_MAX];
    bool given[ATEN_ARGS_MAX];
    uint32_t n_args;
    bool aliases;                   /* results may be views of argument 0 */
    aten_value out[ATEN_OUTS_MAX];
    const char *unread[ATEN_OUTS_MAX]; /* why a NONE result has no value */
    uint32_t n_out;
    bool may_copy;  /* an identity that may be a copy: contiguous */
    bool missing;                   /* this form of the call has no lowering */
    const char *missing_form;
    /* The producer's strides of tensor argument 0, when the file tells. */
    const dim *strides;
    uint32_t n_strides;
    dim storage_offset;
} aten_call;

typedef void aten_lower(aten_call *c);

struct aten_row {
    const char *name;   /* "add.Tensor"; ".default" is left out */
    const char *schema; /* arguments, without the layout/device/pin_memory */
    aten_lower *lower;
    int32_t param;      /* what tells rows of one lowering apart */
};

/* ---- aten_ops.c: the table and the binding of arguments ------------------ */

/* NULL when absent. name without ".default". */
const aten_row *aten_find(str name);
/* Fills names and defaults from the row's schema. */
hull_status aten_begin(aten_call *c, front *f, const aten_row *row, str label)
    MUST_CHECK;
/* Gives argument `name` its value; names that no result depends on (layout,
 * device ...) are dropped, other unknown ones are HULL_EUNSUPPORTED. */
hull_status aten_bind(aten_call *c, str name, const aten_value *v) MUST_CHECK;
/* The first argument, which in-place twins call self where the schema of the
 * other says input: dropout_. */
bool aten_is_first(const aten_call *c, str name);
/* Runs the lowering after a check that required arguments are there. */
hull_status aten_run(aten_call *c) MUST_CHECK;

/* ---- aten_args.c: what lowerings use ------------------------------------- */

/* Records the failure unless there is one already. */
void call_fail(aten_call *c, hull_status st, const char *what);
/* This form has no lowering: counted as a missing operator. */
void call_missing(aten_call *c, const char *form);

bool arg_none(const aten_call *c, uint32_t i);
/* An empty list; it may come with any list's tag. */
bool arg_empty(const aten_call *c, uint32_t i);
val arg_tensor(aten_call *c, uint32_t i);     /* a scalar becomes rank 0 */
val arg_optional(aten_call *c, uint32_t i);   /* 0 when none */
int64_t arg_int(aten_call *c, uint32_t i);    /* plain */
dim arg_dim(aten_call *c, uint32_t i);
bool arg_bool(aten_call *c, uint32_t i);
double arg_num(aten_call *c, uint32_t i);
str arg_str(aten_call *c, uint32_t i);
hull_dtype arg_dtype(aten_call *c, uint32_t i, hull_dtype otherwise);
uint32_t arg_axis(aten_call *c, uint32_t i, uint32_t rank);
/* A list, or a single value as a list of one. */
uint32_t arg_ints(aten_call *c, uint32_t i, int64_t *out, uint32_t max);
uint32_t arg_dims(aten_call *c, uint32_t i, dim *out, uint32_t max);
/* As arg_ints, and one value stands for `want`; none or empty gives `fill`. */
void arg_spatial(aten_call *c, uint32_t i, uint32_t want, int64_t fill,
                 int64_t *out);
/* Axes, normalised, ascending, unique; none = every axis. */
uint32_t arg_axes(aten_call *c, uint32_t i, uint32_t rank, int64_t *out);

const type *call_type(aten_call *c, val v);   /* never NULL */
uint32_t call_rank(aten_call *c, val v);
const dim *call_dims(aten_call *c, val v);
hull_dtype call_dtype(aten_call *c, val v);

void ret(aten_call *c, val v);
void ret_list(aten_call *c, const val *v, uint32_t n);
void ret_unread(aten_call *c, const char *why); /* must not be read later */

/* Type promotion as torch.result_type. */
hull_dtype aten_promote(aten_call *c, const aten_value *const *x, uint32_t n);
/* The value as a tensor of dtype dt; a scalar becomes a rank-0 literal. */
val aten_as(aten_call *c, const aten_value *x, hull_dtype dt);
val aten_number(aten_call *c, hull_dtype dt, double v);
val aten_float(aten_call *c, val v);  /* integers and bool as f32 */
val aten_dim_value(aten_call *c, dim d, hull_dtype dt); /* rank 0 */
val aten_full(aten_call *c, val scalar, const dim *d, uint32_t rank);
/* One-operand shorthands that keep the ops' attribute names in one place. */
val aten_slice1(aten_call *c, val x, uint32_t axis, dim start, dim end);
val aten_drop_axis(aten_call *c, val x, uint32_t axis);
val aten_insert_axis(aten_call *c, val x, uint32_t axis);
val aten_swap(aten_call *c, val x, uint32_t a, uint32_t b);
val aten_reduce(aten_call *c, op_code op, val x, const int64_t *axes,
                uint32_t n, bool keep);
val aten_iota(aten_call *c, dim n, hull_dtype dt);
val aten_where(aten_call *c, val cond, val a, val b);
val aten_clamp(aten_call *c, val x, double lo, double hi);
val aten_matmul(aten_call *c, val a, val b, val bias);
val aten_broadcast(aten_call *c, val x, const dim *d, uint32_t rank);
/* numpy take; gather_elements; scatter_elements with a reduction's name. */
val aten_take(aten_call *c, val x, val index, uint32_t axis);
val aten_take_elements(aten_call *c, val x, val index, uint32_t axis);
val aten_put_elements(aten_call *c, val x, val index, val src, uint32_t axis,
                      const char *reduce);
/* Conversion as PyTorch's: a float becomes a byte by way of i64. */
val aten_cast(aten_call *c, val x, hull_dtype dt);
val aten_flat(aten_call *c, val x);                   /* as a vector */
val aten_int(aten_call *c, int64_t v);                /* i64 of rank 0 */
val aten_ints(aten_call *c, const int64_t *v, uint32_t n); /* i64[n] */
/* sum over i of start + i step, as one index tensor of shape d. */
val aten_lattice(aten_call *c, const dim *d, const dim *step, uint32_t rank,
                 dim start);
/* The op `topk`; *index may be NULL. */
val aten_sorted(aten_call *c, val x, dim k, uint32_t axis, bool largest,
                val *index);
val aten_div_to(aten_call *c, val a, val b, const char *round);
val aten_mod_to(aten_call *c, val a, val b);          /* sign of b */
/* aten_complex.c: parts are [.., 2] of f32 or f64. */
bool aten_is_complex(aten_call *c, val x);
val aten_parts(aten_call *c, val x);
val aten_from_parts(aten_call *c, val x);
val aten_complex_of(aten_call *c, val re, val im);
val aten_to_complex(aten_call *c, val x, hull_dtype dt);
val aten_conjugate(aten_call *c, val x);
val aten_complex_binary(aten_call *c, op_code op, val a, val b);
val aten_complex_unary(aten_call *c, op_code op, val x);
/* aten_scatter.c: x[:, .., mask] = src from axis `first` on, or += ; false when
 * the shapes do not fit. Gives the result. */
bool aten_put_mask(aten_call *c, val x, val mask, uint32_t first, val src,
                   bool adds);
val aten_pads(aten_call *c, val x, const dim *pads, const char *mode,
              double fill);                           /* begins, then ends */

/* A mask as index: one vector of places per axis; how many (aten_dynamic.c). */
uint32_t aten_mask_rows(aten_call *c, val mask, val *out);

/* Every lowering, from the table. */
#define ATEN(name, schema, lower, param) aten_lower lower;
#include "front/aten.def"
#undef ATEN

#endif
