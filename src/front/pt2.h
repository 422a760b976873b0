/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2.h - inside the PT2 frontend: what its files share.
 *
 * A name of the exported graph stands for a cell. Names of one and the same
 * value share a cell (detach, contiguous ...); cells that view one storage
 * share a group. An in-place operator gives the group's root a new value and a
 * new version, so a view that was made before and is read later shows up as a
 * cell of an old version; pt2_alias.c makes it anew.
 */
#ifndef HULL_PT2_H
#define HULL_PT2_H

#include "front/aten.h"

struct json_t;

/* Symbols whose values the run finds in data, and what they became. */
typedef struct pt2_defs {
    strmap names;          /* "u0" -> index into dims */
    dim *dims;
    uint32_t n;
    size_t cap;
} pt2_defs;

/* e >= 0, or e == 0. */
typedef struct pt2_relation {
    dim e;
    bool equal;
} pt2_relation;

/* ---- pt2_expr.c ---------------------------------------------------------- */

/* The dim of a srepr or infix text, DIM_UNKNOWN when the text is outside the
 * grammar or depends on data that is not in defs. defs may be NULL. */
dim pt2_expr(ir *m, const pt2_defs *defs, str text);
/* The relations that all hold when the text is true: at most max; 0 when it is
 * not understood. */
uint32_t pt2_relations(ir *m, const pt2_defs *defs, str text,
                       pt2_relation *out, uint32_t max);
bool pt2_is_unbacked(str name);
/* The name, when the text is one unbacked symbol and nothing else; or "". */
str pt2_unbacked_name(str text);

typedef struct pt2_cell {
    aten_value value;
    uint32_t group, version;
    val from, to;          /* a view: the root and it, when it was made */
    bool unsure;           /* a view or a copy: it depends on strides */
    str hole;              /* a stored tensor: its weight node is made on */
    val origin;            /*   the first read; that is `origin` */
    bool state;            /* the run mutates it: already a graph state */
    const char *unread;    /* why it must not be read, or NULL */
    bool missing;          /* comes from an operator without a lowering */
} pt2_cell;

/* A storage that cells view. */
typedef struct pt2_group {
    uint32_t version;
    uint32_t root;         /* the cell that is the whole storage */
    bool lost;             /* a write whose effect on the root is not known */
} pt2_group;

typedef struct pt2 {
    front *f;
    graph *g;
    ir *m;
    pt2_cell *cells;
    uint32_t n_cells;
    size_t cap_cells;
    pt2_group *groups;
    uint32_t n_groups;
    size_t cap_groups;
    uint32_t floor;        /* a body must not change groups below this */
    hull_dtype autocast;   /* of the region around, or HULL_NONE */
    bool autocast_cuda;
    pt2_defs defs;
    pt2_relation *guards;  /* of sizes, that ranges do not hold */
    uint32_t n_guards;
    size_t cap_guards;
    str *pending;          /* asserts of symbols that are not defined yet */
    uint32_t n_pending;
    size_t cap_pending;
    struct json_t *ranges; /* range_constraints */
    int64_t opset;         /* aten's, for messages */
} pt2;

typedef struct pt2_scope {
    strmap names;           /* name -> cell */
    struct json_t *graph;
    int depth;
} pt2_scope;

/* ---- pt2_values.c -------------------------------------------------------- */

hull_status pt2_cell_new(pt2 *p, const aten_value *v, uint32_t *out) MUST_CHECK;
hull_status pt2_name(pt2_scope *s, str name, uint32_t cell) MUST_CHECK;
/* The cell of `name`; refuses names that must not be read. */
hull_status pt2_lookup(pt2 *p, const pt2_scope *s, str name, uint32_t *out)
    MUST_CHECK;
/* The one key and value of a union object. */
hull_status pt2_union(struct json_t *u, const char **out_tag,
                      struct json_t **out, const char *what) MUST_CHECK;
/* An Argument as a value; *out_cell the cell of a single name (or UINT32_MAX),
 * *out_missing when it depends on an operator without a lowering. */
hull_status pt2_argument(pt2 *p, const pt2_scope *s, struct json_t *arg,
                         aten_value *out, uint32_t *out_cell,
                         bool *out_missing) MUST_CHECK;
/* Name inside as_tensor, as_sym_int ... of a result; "" when it has none. */
str pt2_result_name(struct json_t *arg);
/* SymInt of a TensorMeta; DIM_UNKNOWN when it is not understood. */
dim pt2_sym_int(const pt2 *p, struct json_t *j);
/* TensorMeta of `name` as a type; HULL_EFORMAT naming it when unfit. */
hull_status pt2_meta_type(pt2 *p, const pt2_scope *s, str name, type *out)
    MUST_CHECK;

/* ---- pt2_graph.c --------------------------------------------------------- */

/* Lowers all nodes of s->graph that its outputs need. */
hull_status pt2_nodes(pt2 *p, pt2_scope *s) MUST_CHECK;

/* The file states every result's type: a lowering that gives another one (or
 * a file that was altered) is noticed at its node. Learns sizes. */
hull_status pt2_check_type(pt2 *p, const pt2_scope *s, str name, val v)
    MUST_CHECK;

/* ---- pt2_guard.c --------------------------------------------------------- */

/* range_constraints, and the asserts of the graph on sizes of inputs. */
hull_status pt2_read_guards(pt2 *p, struct json_t *root, struct json_t *graph)
    MUST_CHECK;
/* The symbol d is an input number: it may be negative. */
hull_status pt2_free_range(pt2 *p, dim d) MUST_CHECK;
/* The types of n inputs with the guards in them. */
hull_status pt2_guard_inputs(pt2 *p, const type *plain, type *out, uint32_t n)
    MUST_CHECK;
/* Where the file gives sizes of tensor `name`, or number `name`, as symbols
 * that come from data: what they are from here on. */
hull_status pt2_learn_sizes(pt2 *p, const pt2_scope *s, str name,
                            const type *t) MUST_CHECK;
hull_status pt2_learn_number(pt2 *p, const pt2_scope *s, str name, dim d)
    MUST_CHECK;

/* ---- pt2_alias.c --------------------------------------------------------- */

/* `cell`, just made from `source`, views its storage. */
void pt2_join(pt2 *p, uint32_t cell, uint32_t source, bool unsure);
/* Gives a cell that an in-place operator outdated its present value. */
hull_status pt2_refresh(pt2 *p, uint32_t cell, str name) MUST_CHECK;
/* The cell, up to date, becomes v in place. */
hull_status pt2_write(pt2 *p, uint32_t cell, val v) MUST_CHECK;

/* ---- pt2_control.c ------------------------------------------------------- */

/* A node of torch.ops.higher_order: *out_known false when there is no such. */
hull_status pt2_higher_order(pt2 *p, pt2_scope *s, struct json_t *at, str op,
                             bool *out_known) MUST_CHECK;

/* ---- pt2_autocast.c ------------------------------------------------------ */

/* Casts arguments as the region p->autocast does for this operator. */
hull_status pt2_autocast(pt2 *p, aten_call *c) MUST_CHECK;

/* ---- pt2_sym.c ----------------------------------------------------------- */

/* _operator.*, math.*, torch.sym_*: *out_known false when there is no such. */
hull_status pt2_sym_call(pt2 *p, str target, const aten_value *args, uint32_t n,
                         aten_value *out, bool *out_known) MUST_CHECK;

/* ---- pt2_spec.c ---------------------------------------------------------- */

/* Names of the n user inputs from the module's signature: forward_arg_names
 * and in_spec; input_0 ... when they do not tell. */
hull_status pt2_input_names(front *f, struct json_t *graph_module, uint32_t n,
                            str *out) MUST_CHECK;

#endif
