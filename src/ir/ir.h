/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * ir.h - the intermediate representation: dims, types, values, nodes, regions,
 * graphs. docs/ir.md is the language; text.c prints and parses it.
 *
 *   ir      owns an arena, a table of dim expressions and some graphs; freeing
 *           it frees everything in it
 *   graph   one function: a body region and a table of values
 *   region  parameters, nodes in order, results. The body of an If or Loop is
 *           a region too; it shares its graph's value table, so a captured
 *           outer value is just a use of it
 *   node    one operation: op, operands, results, attributes in schema order
 *   value   one result or parameter, named by a 32-bit id; 0 is "none"
 *
 * Failure is sticky: after an allocation or a type error the ir is failed,
 * builders return id 0 and do nothing; ir_status() tells. Check once per unit
 * of work, not per call.
 */
#ifndef HULL_IR_H
#define HULL_IR_H

#include "base/base.h"

typedef struct ir ir;
typedef struct graph graph;
typedef struct region region;
typedef struct node node;
typedef uint32_t val;

/* ---- dtype.c ------------------------------------------------------------- */

bool dtype_is_float(hull_dtype dt);
bool dtype_is_int(hull_dtype dt);      /* signed or unsigned, not bool */
bool dtype_is_unsigned(hull_dtype dt);
bool dtype_is_half(hull_dtype dt);     /* f16 or bf16 */
bool dtype_is_byte(hull_dtype dt);     /* u8 or i8 */
bool dtype_is_complex(hull_dtype dt);
hull_dtype dtype_from_name(str name);  /* HULL_NONE when unknown */
/* Every value of `from` is exactly a value of `to`. */
bool dtype_widens(hull_dtype from, hull_dtype to);
/* Bytes of n dense elements, sub-byte types rounded up; false on overflow. */
bool dtype_bytes(uint64_t *out, hull_dtype dt, uint64_t n);

/* Element access, dtype-free: i is an element index from p. Integers and bool
 * load exactly as i64 (u64 wraps); floats load as double. Stores convert from
 * double round-to-nearest-even (floats), or truncate and saturate (integers).
 * Complex types are not handled here. */
double load_f64(hull_dtype dt, const void *p, uint64_t i);
int64_t load_i64(hull_dtype dt, const void *p, uint64_t i);
void store_f64(hull_dtype dt, void *p, uint64_t i, double v);
/* Keeps the low bits (two's complement); bool stores v != 0. */
void store_i64(hull_dtype dt, void *p, uint64_t i, int64_t v);

/* ---- dims.c: symbolic sizes ---------------------------------------------- */

/* >= 0: that size. DIM_UNKNOWN: depends on data, equals nothing. Below that: an
 * expression in the ir's table (hash-consed: equal text, equal dim). Negative
 * integers appear in attribute values; they are expressions of kind DIM_INT. */
typedef int64_t dim;
#define DIM_UNKNOWN ((dim)-1)

typedef enum dim_op {
    DIM_INT,   /* a negative constant: value */
    DIM_SYM,   /* name, range */
    DIM_ADD,   /* a + b */
    DIM_MUL,   /* a * b */
    DIM_DIV,   /* floor(a / b) */
    DIM_MOD,   /* a - b * floor(a / b) */
    DIM_MIN, DIM_MAX,
    DIM_BCAST  /* numpy broadcast: a == 1 ? b : a; checked when evaluated */
} dim_op;

typedef struct dim_node {
    dim_op op;
    dim a, b;
    int64_t value;      /* DIM_INT */
    str name;           /* DIM_SYM */
    int64_t min, max;   /* DIM_SYM: inclusive; INT64_MAX = unbounded */
    int64_t opt;        /* DIM_SYM: the size to tune for; 0 = none */
} dim_node;

/* Constructors fold integers, keep sums as (coefficient * atom ...) + constant
 * with terms in order of first appearance, and simplify exact divisions.
 * Anything with DIM_UNKNOWN is DIM_UNKNOWN. */
dim dim_int(ir *m, int64_t v);
dim dim_sym(ir *m, str name);          /* same name, same dim */
dim dim_fresh(ir *m, const char *hint); /* a new symbol with an unused name */
void dim_set_range(ir *m, dim sym, int64_t min, int64_t max);
void dim_set_opt(ir *m, dim sym, int64_t opt);
dim dim_add(ir *m, dim a, dim b);
dim dim_sub(ir *m, dim a, dim b);
dim dim_mul(ir *m, dim a, dim b);
dim dim_div(ir *m, dim a, dim b);      /* floor */
dim dim_ceil_div(ir *m, dim a, dim b);
dim dim_mod(ir *m, dim a, dim b);
dim dim_min(ir *m, dim a, dim b);
dim dim_max(ir *m, dim a, dim b);
dim dim_bcast(ir *m, dim a, dim b);
dim dim_product(ir *m, const dim *d, uint32_t n);
/* True and *out when d is an integer constant (negative ones included). */
bool dim_is_int(const ir *m, dim d, int64_t *out);
bool dim_is_symbol(const ir *m, dim d);
/* Provably equal: same linear form whatever the order of its terms. Two
 * DIM_UNKNOWN are not equal. */
bool dim_eq(const ir *m, dim a, dim b);
/* Provable bounds; [INT64_MIN, INT64_MAX] when nothing is known. */
void dim_range(const ir *m, dim d, int64_t *out_min, int64_t *out_max);
const dim_node *dim_get(const ir *m, dim d); /* NULL for plain sizes */
uint32_t dim_n_nodes(const ir *m);
void dim_print(buf *b, const ir *m, dim d);
/* The same expression in another ir, symbols by name (ranges are carried). */
dim dim_copy(ir *to, const ir *from, dim d);

/* Sizes of symbols for one run, indexed like the ir's table. */
typedef struct dim_env {
    const ir *m;
    int64_t *values;   /* INT64_MIN = not bound */
    uint32_t n;
} dim_env;
hull_status dim_env_init(dim_env *e, const ir *m) MUST_CHECK;
void dim_env_fini(dim_env *e);
void dim_env_clear(dim_env *e);
/* Concrete size. HULL_ESHAPE names an unbound symbol, a broadcast that does
 * not fit, a negative size or an overflow. */
hull_status dim_eval(int64_t *out, const dim_env *e, dim d) MUST_CHECK;
/* The same for attribute values (slice bounds, pads), which may be negative. */
hull_status dim_eval_value(int64_t *out, const dim_env *e, dim d) MUST_CHECK;
/* The symbol's value for what follows, whatever it was; checks its range. */
hull_status dim_assign(dim_env *e, dim sym, int64_t v) MUST_CHECK;
/* Requires dim d to be `size`: binds a free symbol (also inside a linear
 * expression of one free symbol, when the solution is an integer), checks
 * range and equality. A dim `s + guard`, where guard is 0 while the model's
 * assumption holds, is checked, too. `what` names it: "input 'x' dim 0". */
hull_status dim_bind(dim_env *e, dim d, int64_t size, const char *what)
    MUST_CHECK;

/* ---- types --------------------------------------------------------------- */

typedef enum type_kind {
    TYPE_NONE, TYPE_TENSOR, TYPE_SEQUENCE, TYPE_OPTIONAL,
    TYPE_UNRANKED            /* a tensor whose rank is known at run time only:
                              * elements of sequences, results; "f32[*]" */
} type_kind;

typedef struct type {
    type_kind kind;
    hull_dtype dtype;        /* tensor, unranked */
    uint32_t rank;           /* tensor */
    const dim *dims;         /* tensor: rank dims, in the ir's arena */
    const struct type *elem; /* sequence, optional */
} type;

bool type_eq(const ir *m, const type *a, const type *b);
/* Equal, where DIM_UNKNOWN on either side agrees with anything. */
bool type_agrees(const ir *m, const type *a, const type *b);
bool type_is_static(const ir *m, const type *t); /* all dims plain sizes */
dim type_numel(ir *m, const type *t);
type type_tensor(ir *m, hull_dtype dt, const dim *dims, uint32_t rank);
type type_unranked(hull_dtype dt);
type type_sequence(ir *m, const type *elem);
type type_optional(ir *m, const type *elem);
/* The narrowest type that has all values of both: sizes that differ are
 * DIM_UNKNOWN, ranks that differ make it unranked. false: they differ in kind
 * or element type. */
bool type_join(ir *m, const type *a, const type *b, type *out);
type type_copy(ir *to, const ir *from, const type *t);
void type_print(buf *b, const ir *m, const type *t);

/* ---- attributes ---------------------------------------------------------- */

typedef enum attr_kind {
    ATTR_INT, ATTR_FLOAT, ATTR_BOOL, ATTR_STR, ATTR_DTYPE, ATTR_DIM,
    ATTR_INTS, ATTR_FLOATS, ATTR_STRS, ATTR_DIMS, ATTR_TENSOR, ATTR_GRAPH
} attr_kind;

/* A tensor by value: part of the architecture. Up to LITERAL_TEXT_MAX elements
 * the text holds the value, above that its digest (ir_pin). */
#define LITERAL_TEXT_MAX 64
typedef struct literal {
    hull_dtype dtype;
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
    uint64_t numel, n_bytes;
    const void *data;  /* dense, in the arena */
    digest digest;     /* of dtype, shape and data; only when numel is large */
} literal;

typedef struct attr {
    bool set;          /* written, or filled from the default */
    union {
        int64_t i;
        double f;
        bool b;
        hull_dtype dt;
        dim d;
        str s;
        struct { const int64_t *p; uint32_t n; } ints;
        struct { const double *p; uint32_t n; } floats;
        struct { const str *p; uint32_t n; } strs;
        struct { const dim *p; uint32_t n; } dims;
        const literal *t;
        region *g;
    } u;
} attr;

typedef struct attr_schema {
    const char *name;
    attr_kind kind;
    bool required;     /* has no default */
    attr def;          /* the default, when there is one */
} attr_schema;

/* ---- operations ---------------------------------------------------------- */

#define OP(name, ...) OP_##name,
typedef enum op_code {
    OP_none,
#include "ir/ops.def"
    OP_COUNT
} op_code;
#undef OP

enum op_trait {
    OP_PURE = 1,       /* result depends on operands and attributes alone */
    OP_POINTWISE = 2,  /* one output element from the same element(s) */
    OP_COMMUTES = 4,
    OP_VIEW = 8,       /* same bytes in the same order */
    OP_CAN_FAIL = 16,  /* may refuse data: an index, a division by zero */
    OP_GROWS = 32,     /* makes more bytes than it reads: stays in main */
    OP_LEAF = 64,      /* weight, const: no operands */
    OP_CONTROL = 128,  /* has bodies */
    OP_VARIADIC_OUT = 256,
    OP_DYNAMIC = 512,    /* makes its own results, as boxes: their sizes, or
                          * that they are no tensors, is decided by a run */
    OP_TEXT = 1024       /* takes string tensors too */
};

/* One concrete tensor for an eval: dense row-major host memory. A missing
 * optional operand has dtype HULL_NONE and data NULL. */
typedef struct tensor {
    hull_dtype dtype;
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
    void *data;
} tensor;

/* A session's random numbers: every evaluation of a random node is a draw. */
typedef struct random_state {
    uint64_t seed, draws;
} random_state;

/* A value of a run that owns its memory: ops/box.h. */
typedef struct box box;

/* What a reference kernel may use. Scratch memory comes from `scratch`. */
typedef struct eval_ctx {
    dim_env *env;        /* bind writes it, the others read it */
    arena *scratch;
    /* Runs a body (OP_CONTROL): params and results are the body's. */
    hull_status (*run_body)(struct eval_ctx *cx, const region *body,
                            const tensor *params, tensor *results);
    void *user;
    /* For OP_DYNAMIC alone, in place of in and out: operands (NULL: missing)
     * and room for a reference to each result. */
    box *const *boxes;
    box **made;
    pool *pool;          /* may be NULL: the caller does it all */
    random_state *random; /* NULL: random nodes are refused */
    arena *texts;        /* what hull_string elements point to: to the end of
                          * the run */
} eval_ctx;

/* Shape rule: reads operand types, sets result types (value_set_type) and,
 * where small integer operands are known, value_set_known. */
typedef hull_status op_infer_fn(graph *g, node *n);
/* Reference kernel: out[] have their shapes and memory. dtype-free through
 * load/store, accumulates in double or int64. Checks every index it uses. */
typedef hull_status op_eval_fn(eval_ctx *cx, const node *n, const tensor *in,
                               tensor *out);

typedef struct op_info {
    const char *name, *family, *attr_text;
    int32_t in_min, in_max;   /* in_max -1 = variadic */
    int32_t n_out;            /* exactly; -1 = variadic */
    uint32_t traits;
    op_infer_fn *infer;
    op_eval_fn *eval;
    const attr_schema *attrs; /* n_attrs rows, from attr_text */
    uint32_t n_attrs;
} op_info;

/* Defined in ops/op.c. Valid for every op_code but OP_none. */
const op_info *op_get(op_code op);
op_code op_find(str name); /* OP_none when there is no such op */
/* Row of the attribute `name`, -1 when the op has none. */
int attr_index(op_code op, str name);
/* The op's shape rule, then known values; counts are node_add's business.
 * Defined in ops/op.c. */
hull_status op_infer(graph *g, node *n) MUST_CHECK;

/* ---- graph.c: structure -------------------------------------------------- */

struct node {
    op_code op;
    uint32_t n_in, n_out;
    val *in, *out;        /* operands may be 0: a missing optional one */
    attr *attrs;          /* op_get(op)->n_attrs, schema order */
    node *prev, *next;
    region *parent;
    str label;            /* the model's node name, for messages; no meaning */
    uint32_t number;      /* scratch for passes */
    const char *reason;   /* why no faster backend took it; constant text */
};

/* Elements of a small integer tensor whose values shape rules carry along. */
#define KNOWN_MAX 64

typedef struct value {
    type type;
    node *def;            /* NULL: a parameter */
    region *scope;        /* where it is defined */
    uint32_t index;       /* which result, or which parameter */
    str name;             /* the model's name; no meaning */
    const dim *known;     /* elements of a small integer tensor, or NULL; */
    uint32_t n_known;     /*   an element may be DIM_UNKNOWN */
    val alias;            /* replaced by that value; 0 = not replaced */
} value;

struct region {
    graph *graph;
    node *owner;          /* NULL: the graph's body */
    node *first, *last;
    val *params, *results;
    uint32_t n_params, n_results;
    size_t cap_params, cap_results;
};

/* A buffer that a run mutates: parameter `param` starts as the weight
 * `initial` and becomes result `result` after the run. */
typedef struct graph_state {
    uint32_t param, result; /* indices into the body's params and results */
    str initial;            /* weight name */
} graph_state;

struct graph {
    ir *m;
    str name;
    str backend;            /* "on cpu"; empty = none */
    region *body;
    value **values;         /* values[0] is the none value; none moves */
    uint32_t n_values;
    size_t cap_values;
    graph_state *states;
    uint32_t n_states;
    size_t cap_states;
    node *insert_before;    /* where node_add puts nodes; NULL = at the end */
    region *insert_in;      /* NULL = body */
    uint64_t verified;      /* m->edits when graph_verify last passed */
};

struct ir {
    arena a;
    hull_status status;     /* sticky; text in error */
    error_record *error;
    graph **graphs;
    uint32_t n_graphs;
    size_t cap_graphs;
    struct dim_table *dims;
    const literal **pinned; /* large literals, by digest */
    uint32_t n_pinned;
    size_t cap_pinned;
    uint64_t edits;         /* calls that changed a graph of it */
};

hull_status ir_new(ir **out) MUST_CHECK;
void ir_free(ir *m);
/* HULL_OK, or the first failure put back as this thread's record. */
hull_status ir_status(const ir *m) MUST_CHECK;
/* Makes the ir failed with this thread's record; returns st. */
hull_status ir_fail(ir *m, hull_status st);
graph *ir_find(const ir *m, str name); /* NULL when absent */

graph *graph_new(ir *m, str name);     /* NULL when failed */
/* Deep copy into `to` (may be another ir) under a new name. Values are
 * renumbered densely in order; names, labels and known values are kept. */
graph *graph_copy(ir *to, const graph *g, str name);
/* Copies one node (bodies included) to the insertion point of `to`. Operands
 * go through map, indexed by from's value ids (from->n_values long), which
 * receives the results. Types are carried over, no shape rule runs. */
void graph_copy_node(graph *to, const graph *from, const node *n, val *map);
/* Copies all nodes of from's body; args stand for its parameters, results[]
 * receives the values that stand for its results. */
void graph_inline(graph *to, const graph *from, const val *args, val *results);
val graph_param(graph *g, str name, const type *t); /* of insert_in or body */
void graph_result(graph *g, val v);                 /* likewise */
void graph_set_state(graph *g, uint32_t param, uint32_t result, str initial);

/* Building a node: node_new, inputs, attributes, node_add. node_add checks
 * counts and required attributes, infers types, appends at the insertion
 * point, and returns the first result (0 when failed). */
node *node_new(graph *g, op_code op);
void node_input(graph *g, node *n, val v);
void node_outputs(graph *g, node *n, uint32_t n_out); /* variadic ops only */
void node_int(graph *g, node *n, const char *attr, int64_t v);
void node_float(graph *g, node *n, const char *attr, double v);
void node_bool(graph *g, node *n, const char *attr, bool v);
void node_str(graph *g, node *n, const char *attr, str v);
void node_dtype(graph *g, node *n, const char *attr, hull_dtype v);
void node_dim(graph *g, node *n, const char *attr, dim v);
void node_ints(graph *g, node *n, const char *attr, const int64_t *p,
               uint32_t count);
void node_floats(graph *g, node *n, const char *attr, const double *p,
                 uint32_t count);
void node_strs(graph *g, node *n, const char *attr, const str *p,
               uint32_t count);
void node_dims(graph *g, node *n, const char *attr, const dim *p,
               uint32_t count);
void node_literal(graph *g, node *n, const char *attr, hull_dtype dt,
                  const int64_t *shape, uint32_t rank, const void *data);
region *node_body(graph *g, node *n, const char *attr); /* a new region */
/* Declares the type of result i before node_add: for weight and call, whose
 * types no shape rule can infer. */
void node_type(graph *g, node *n, uint32_t i, const type *t);
val node_add(graph *g, node *n);
/* Re-runs the shape rule of a node whose operands or attributes changed. */
hull_status node_infer(graph *g, node *n) MUST_CHECK;

/* Short forms of the same. */
val op_unary(graph *g, op_code op, val x);
val op_binary(graph *g, op_code op, val a, val b);
val op_where(graph *g, val cond, val yes, val no);
val op_weight(graph *g, str name, const type *t);
val op_const(graph *g, hull_dtype dt, const int64_t *shape, uint32_t rank,
             const void *data);
val op_scalar(graph *g, hull_dtype dt, double v);     /* rank 0 */
val op_scalar_i64(graph *g, hull_dtype dt, int64_t v);
val op_dims(graph *g, const dim *d, uint32_t n);      /* i64[n] */
val op_reshape(graph *g, val x, const dim *d, uint32_t rank);
val op_transpose(graph *g, val x, const int64_t *perm, uint32_t n);
val op_expand(graph *g, val x, const dim *d, uint32_t rank);
val op_cast(graph *g, val x, hull_dtype to);          /* x when it is that */
val op_slice(graph *g, val x, uint32_t axis, dim start, dim end, int64_t step);
val op_concat(graph *g, const val *x, uint32_t n, int64_t axis);

/* Attribute access; the name must be in the op's schema (a fault otherwise).
 * Unset attributes without a default give 0 / empty / NULL. */
const attr *node_attr(const node *n, const char *name);
bool attr_is_set(const node *n, const char *name);
int64_t attr_int(const node *n, const char *name);
double attr_float(const node *n, const char *name);
bool attr_bool(const node *n, const char *name);
str attr_str(const node *n, const char *name);
hull_dtype attr_dtype(const node *n, const char *name);

const value *graph_value(const graph *g, val v); /* follows aliases */
const type *graph_type(const graph *g, val v);
val graph_resolve(const graph *g, val v);        /* follows aliases */
node *graph_def(const graph *g, val v);          /* NULL: parameter */
void value_set_type(graph *g, val v, const type *t);
/* Elements of a small integer tensor (rank 0 or 1, at most KNOWN_MAX);
 * copies. */
void value_set_known(graph *g, val v, const dim *d, uint32_t n);
void value_set_name(graph *g, val v, str name);

/* All uses of `from` become uses of `to` (lazily, by alias). */
void graph_replace(graph *g, val from, val to);
/* Rewrites operands and results through the aliases. */
void graph_settle(graph *g);
void node_remove(graph *g, node *n);
/* Counts of uses per value id (results count as one use each); arena array of
 * n_values, bodies included. NULL when failed. */
uint32_t *graph_uses(graph *g);
/* Next node in walk order: bodies before the node that owns them. NULL at the
 * end. Start with graph_first. */
node *graph_first(const graph *g);
node *graph_next(const graph *g, const node *n);
/* Removes nodes whose results nobody needs; pure or not read. */
void graph_remove_dead(graph *g);
/* Around a rewrite that walks the nodes: new ones go in front of n, whose
 * operands are looked up; at the end what nobody uses goes. */
void graph_rewrite_at(graph *g, node *n);
void graph_rewrite_end(graph *g);
uint32_t graph_n_nodes(const graph *g);

/* Computes numel, n_bytes and, when large, the digest. false: overflow. */
bool literal_finish(literal *l);
/* ---- binders.c: symbols that a run gives a value ------------------------- */

/* The bind node of each symbol, by entry of the dim table; of NULL: the graph
 * has none. Valid while no node is added or removed. */
typedef struct binders {
    node **of;
    uint32_t n;
} binders;
hull_status binders_get(binders *out, const graph *g) MUST_CHECK;
void binders_fini(binders *b);
/* Calls fn with the result of each bind node whose symbols n's own attributes
 * mention: n reads that value as if it were an operand. */
typedef void binder_fn(void *user, val v);
void binders_each(const binders *b, const graph *g, const node *n,
                  binder_fn *fn, void *user);

/* A run decides sizes, or there are values that are no tensors of numbers: the
 * reference interpreter alone runs such nodes. Bodies count. */
bool node_is_dynamic(const graph *g, const node *n);
bool graph_is_dynamic(const graph *g); /* a node or a parameter is */
/* HULL_EUNSUPPORTED when a kernel would meet a size that no shape rule knows.
 * A frontend puts shape, bind and reshape behind what makes such values. */
hull_status node_check_sizes(const graph *g, const node *n) MUST_CHECK;

/* Finds or stores a large literal by its digest. */
const literal *ir_pin(ir *m, const literal *l);
const literal *ir_pinned(const ir *m, const digest *d); /* NULL when absent */

/* ---- canon.c: canonical order and text ----------------------------------- */

/* Reorders the nodes of every region depth first from the results, operands in
 * written order, bodies at their node; dead nodes go. Holes keep their names.
 * Linear time; needs no graph isomorphism because results and operands are
 * ordered. */
void graph_canonical_order(graph *g);
/* Names of the holes by number, as the canonical text counts them: initial
 * values of states in parameter order, then weight nodes in order of first
 * use. Arena. g is put in canonical order. */
const str *graph_holes(graph *g, uint32_t *out_n);
/* The canonical text: parameters and results with their types, values and
 * symbolic dims renumbered by first use, holes as numbers, no names. Equal
 * texts mean equal computations. g is put in canonical order. */
hull_status graph_canonical_text(buf *out, graph *g) MUST_CHECK;

/* ---- text.c / parse.c: the language -------------------------------------- */

void graph_print(buf *out, const graph *g);
void ir_print(buf *out, const ir *m);
/* Parses graphs into a new ir, checks it with ir_verify. Errors give line and
 * column. `pins` may hold large literals that the text names by digest. */
hull_status ir_parse(ir **out, str text, const ir *pins) MUST_CHECK;

/* ---- verify.c ------------------------------------------------------------ */

/* Structure (counts, scopes, definition before use, bodies, results, unique
 * hole names) and types: what the shape rules infer must agree with what the
 * values carry. HULL_EFORMAT naming graph, node and both types. Does nothing
 * where nothing was changed since it last passed. */
hull_status graph_verify(graph *g) MUST_CHECK;
hull_status ir_verify(ir *m) MUST_CHECK;

#endif
