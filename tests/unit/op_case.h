/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * op_case.h - one op in a tiny graph: parameters with types and values, shape
 * rule, kernel, comparison. Values are written as doubles whatever the dtype;
 * types as text ("N,3"; "" is rank 0).
 */
#ifndef HULL_OP_CASE_H
#define HULL_OP_CASE_H

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

typedef struct op_case {
    ir *m;
    graph *g;
    node *n;
    tensor in[8], out[4];
    uint32_t n_in;
    dim_env env;
    arena scratch;
    eval_ctx cx;
    hull_status st;
} op_case;

static inline op_case *case_new(op_code op)
{
    op_case *c = mem_calloc(1, sizeof(*c));

    assert_non_null(c);
    assert_int_equal(ir_new(&c->m), HULL_OK);
    c->g = graph_new(c->m, str_of("main"));
    assert_non_null(c->g);
    c->n = node_new(c->g, op);
    assert_non_null(c->n);
    c->cx.scratch = &c->scratch;
    c->cx.env = &c->env;
    return c;
}

static inline void case_free(op_case *c)
{
    dim_env_fini(&c->env);
    arena_fini(&c->scratch);
    ir_free(c->m);
    mem_free(c);
}

/* "N,3,-1" to dims; a name is a symbol, "?" unknown. */
static inline uint32_t case_dims(op_case *c, const char *text, dim *out)
{
    str rest = str_of(text);
    uint32_t n = 0;

    while (rest.n > 0) {
        str part = str_split(rest, ',', &rest);
        int64_t v;

        if (str_is(part, "?"))
            out[n++] = DIM_UNKNOWN;
        else if (str_to_i64(&v, part))
            out[n++] = dim_int(c->m, v);
        else
            out[n++] = dim_sym(c->m, part);
    }
    return n;
}

/* Adds a parameter as the next operand, without a value. */
static inline val case_type(op_case *c, hull_dtype dt, const char *dims)
{
    dim d[HULL_MAX_RANK];
    uint32_t rank = case_dims(c, dims, d);
    type t = type_tensor(c->m, dt, d, rank);
    val v = graph_param(c->g, str_of("x"), &t);

    node_input(c->g, c->n, v);
    return v;
}

static inline void case_put(tensor *t, const double *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (dtype_is_float(t->dtype))
            store_f64(t->dtype, t->data, (uint64_t)i, v[i]);
        else
            store_i64(t->dtype, t->data, (uint64_t)i, (int64_t)v[i]);
    }
}

/* The same with values; sizes are plain. */
static inline val case_in(op_case *c, hull_dtype dt, const char *dims,
                          const double *values)
{
    val v = case_type(c, dt, dims);
    tensor *t = &c->in[c->n_in++];
    dim d[HULL_MAX_RANK];
    uint32_t rank = case_dims(c, dims, d);

    assert_int_equal(eval_temp(&c->cx, t, dt, d, rank), HULL_OK);
    case_put(t, values, tensor_numel(t));
    return v;
}

/* A missing optional operand. */
static inline void case_none(op_case *c)
{
    node_input(c->g, c->n, 0);
    c->n_in++;
}

/* A dims attribute from numbers. */
static inline void case_attr(op_case *c, const char *name, const int64_t *v,
                             uint32_t n)
{
    dim d[2 * HULL_MAX_RANK];

    for (uint32_t i = 0; i < n; i++)
        d[i] = dim_int(c->m, v[i]);
    node_dims(c->g, c->n, name, d, n);
}

/* The shape rule; the status stays in c->st. */
static inline hull_status case_infer(op_case *c)
{
    node_add(c->g, c->n);
    c->st = ir_status(c->m);
    return c->st;
}

/* Shape rule, room for the results, kernel. */
static inline hull_status case_run(op_case *c)
{
    if (case_infer(c) != HULL_OK)
        return c->st;
    c->st = dim_env_init(&c->env, c->m);
    for (uint32_t i = 0; i < c->n->n_out && c->st == HULL_OK; i++) {
        const type *t = graph_type(c->g, c->n->out[i]);

        c->st = tensor_of_type(&c->out[i], &c->env, t);
        if (c->st == HULL_OK) {
            tensor s = c->out[i];

            c->st = eval_temp(&c->cx, &c->out[i], s.dtype, s.shape, s.rank);
        }
    }
    if (c->st == HULL_OK)
        c->st = op_get(c->n->op)->eval(&c->cx, c->n, c->in, c->out);
    return c->st;
}

static inline void case_want_type(op_case *c, uint32_t i, const char *text)
{
    buf b;

    buf_init(&b, 4096);
    type_print(&b, c->m, graph_type(c->g, c->n->out[i]));
    assert_string_equal(b.p, text);
    buf_fini(&b);
}

static inline void want_values(const tensor *t, const double *want,
                               double tolerance)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        double v = dtype_is_float(t->dtype)
                       ? load_f64(t->dtype, t->data, (uint64_t)i)
                       : (double)load_i64(t->dtype, t->data, (uint64_t)i);
        bool same = isnan(want[i]) ? isnan(v)
                                   : v == want[i] ||
                                         fabs(v - want[i]) <= tolerance;

        if (!same)
            print_error("element %d is %g, want %g\n", (int)i, v, want[i]);
        assert_true(same);
    }
}

/* Runs, wants success, the type's text and the values of result 0; frees. */
static inline void case_want(op_case *c, const char *type_text,
                             const double *want)
{
    if (case_run(c) != HULL_OK)
        print_error("%s\n", error_text());
    assert_int_equal(c->st, HULL_OK);
    case_want_type(c, 0, type_text);
    want_values(&c->out[0], want, 1e-6);
    case_free(c);
}

/* Runs, wants this code and a text that holds `part`; frees. */
static inline void case_refuse(op_case *c, hull_status code, const char *part)
{
    case_run(c);
    if (c->st != code || strstr(error_text(), part) == NULL)
        print_error("got '%s', want '%s'\n", error_text(), part);
    assert_int_equal(c->st, code);
    assert_non_null(strstr(error_text(), part));
    case_free(c);
}

/* Shape rule alone: success, then the type of result 0; frees. */
static inline void case_infers(op_case *c, const char *type_text)
{
    if (case_infer(c) != HULL_OK)
        print_error("%s\n", error_text());
    assert_int_equal(c->st, HULL_OK);
    case_want_type(c, 0, type_text);
    case_free(c);
}

#define V(...) ((const double[]){__VA_ARGS__})
#define I(...) ((const int64_t[]){__VA_ARGS__})
#define N_I(...) (sizeof(I(__VA_ARGS__)) / sizeof(int64_t))
#define ATTR(c, name, ...) \
    case_attr(c, name, I(__VA_ARGS__), (uint32_t)N_I(__VA_ARGS__))
#define INTS(c, name, ...)                           \
    node_ints((c)->g, (c)->n, name, I(__VA_ARGS__),  \
              (uint32_t)N_I(__VA_ARGS__))

#endif
