/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * chain.c - a program of pointwise ops as one node. Its operands are broadcast
 * to the result's shape; step k computes value n_in + k from operands and
 * earlier steps, and the last one is the result:
 *
 *   ops     names of the steps' ops; a cast is the dtype that it makes
 *   args    the values that the steps read, step by step
 *   params  their attributes that are floats or bools, step by step, in the
 *           order of the op's schema
 *
 * The reference runs the kernels of these ops one after the other, each result
 * rounded to the dtype of what it reads, so a chain is what its nodes were.
 */
#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

#define STEP(name) {OP_##name, HULL_NONE, sizeof #name - 1, #name}
#define STEP_TO(dt, name) {OP_cast, dt, sizeof name - 1, name}
/* Common ones first: a kernel looks them up in every run. */
static const struct {
    op_code op;
    hull_dtype to;
    size_t n;
    const char *name;
} chained[] = {
    STEP(mul),   STEP(add),   STEP(sub),        STEP(div),
    STEP(tanh),  STEP(silu),  STEP(gelu),       STEP(sigmoid),
    STEP(relu),  STEP(clamp), STEP(leaky_relu), STEP(hard_sigmoid),
    STEP(exp),   STEP(neg),   STEP(sqrt),       STEP(reciprocal),
    STEP(pow),   STEP(max),   STEP(min),        STEP(abs),
    STEP(log),   STEP(expm1), STEP(rsqrt),      STEP(erf),
    STEP(sin),   STEP(cos),   STEP(floor),      STEP(ceil),
    STEP(round), STEP(trunc), STEP(softplus),   STEP(elu),
    STEP_TO(HULL_F32, "f32"), STEP_TO(HULL_F16, "f16"),
    STEP_TO(HULL_BF16, "bf16"),
};
/* Attributes, in the order of the schema. */
enum { OPS, ARGS, PARAMS };

const char *chain_name(const node *n)
{
    hull_dtype to = n->op == OP_cast ? attr_dtype(n, "to") : HULL_NONE;

    for (size_t i = 0; i < COUNT_OF(chained); i++)
        if (chained[i].op == n->op && chained[i].to == to)
            return chained[i].name;
    return NULL;
}

static bool name_step(chain_step *s, str name)
{
    for (size_t i = 0; i < COUNT_OF(chained); i++)
        if (chained[i].n == name.n && chained[i].name[0] == name.p[0] &&
            memcmp(chained[i].name, name.p, name.n) == 0) {
            s->op = chained[i].op;
            s->to = chained[i].to;
            return true;
        }
    return false;
}

node chain_node(const chain_step *s)
{
    union { const attr *in; attr *out; } drop_const = {.in = s->attrs};

    return (node){.op = s->op, .n_in = s->n_in, .n_out = 1,
                  .attrs = drop_const.out}; /* kernels only read them */
}

static hull_status read_args(chain_step *s, const node *n, const attr *args,
                             uint32_t values, uint32_t *at)
{
    char what[128];

    for (uint32_t i = 0; i < s->n_in; i++, (*at)++) {
        int64_t v = *at < args->u.ints.n ? args->u.ints.p[*at] : -1;

        if (v < 0 || v >= values)
            return fail(HULL_EINVAL, "%s: '%s' reads value %" PRId64
                        " of %" PRIu32, node_what(n, what),
                        op_get(s->op)->name, v, values);
        s->in[i] = (uint32_t)v;
    }
    return HULL_OK;
}

static hull_status read_params(chain_step *s, const node *n,
                               const attr *params, uint32_t *at)
{
    const op_info *info = op_get(s->op);
    char what[128];

    for (uint32_t i = 0; i < info->n_attrs; i++) {
        attr_kind kind = info->attrs[i].kind;

        s->attrs[i] = info->attrs[i].def;
        if (kind == ATTR_DTYPE)
            s->attrs[i].u.dt = s->to;
        if (s->op == OP_cast)
            continue; /* nothing else to say */
        if (kind != ATTR_FLOAT && kind != ATTR_BOOL)
            continue;
        if (*at >= params->u.floats.n)
            return fail(HULL_EINVAL, "%s: %" PRIu32 " params, '%s' wants more",
                        node_what(n, what), params->u.floats.n, info->name);
        if (kind == ATTR_FLOAT)
            s->attrs[i].u.f = params->u.floats.p[*at];
        else
            s->attrs[i].u.b = params->u.floats.p[*at] != 0;
        (*at)++;
    }
    return HULL_OK;
}

hull_status chain_read(chain_code *out, const node *n)
{
    const attr *ops = &n->attrs[OPS], *args = &n->attrs[ARGS];
    const attr *params = &n->attrs[PARAMS];
    uint32_t n_args = 0, n_params = 0;
    char what[128];

    out->n = ops->u.strs.n;
    if (out->n < 1 || out->n > CHAIN_STEPS || n->n_in > CHAIN_OPERANDS)
        return fail(HULL_EINVAL, "%s: %" PRIu32 " steps of %" PRIu32
                    " operands, wanted 1 to %d of up to %d",
                    node_what(n, what), out->n, n->n_in, CHAIN_STEPS,
                    CHAIN_OPERANDS);
    for (uint32_t i = 0; i < out->n; i++) {
        chain_step *s = &out->steps[i];

        if (!name_step(s, ops->u.strs.p[i]))
            return fail(HULL_EINVAL, "%s: '%.*s' is no op of chains",
                        node_what(n, what), STR_ARG(ops->u.strs.p[i]));
        s->n_in = (uint32_t)op_get(s->op)->in_min;
        TRY(read_args(s, n, args, n->n_in + i, &n_args));
        TRY(read_params(s, n, params, &n_params));
    }
    if (n_args != args->u.ints.n || n_params != params->u.floats.n)
        return fail(HULL_EINVAL, "%s: args or params of more steps than %"
                    PRIu32, node_what(n, what), out->n);
    return HULL_OK;
}

hull_status chain_dtypes(hull_dtype *dt, const chain_code *c, const node *n)
{
    char what[128];

    for (uint32_t i = 0; i < c->n; i++) {
        const chain_step *s = &c->steps[i];

        dt[n->n_in + i] = s->to != HULL_NONE ? s->to : dt[s->in[0]];
        if (dt[s->in[0]] != dt[s->in[s->n_in - 1]])
            return fail(HULL_EINVAL, "%s: '%s' reads %s and %s, want one dtype",
                        node_what(n, what), op_get(s->op)->name,
                        hull_dtype_name(dt[s->in[0]]),
                        hull_dtype_name(dt[s->in[1]]));
    }
    return HULL_OK;
}

hull_status chain_infer(graph *g, node *n)
{
    const type *first = NULL, *t = NULL;
    type so_far;
    dim dims[HULL_MAX_RANK];
    hull_dtype dt[CHAIN_OPERANDS + CHAIN_STEPS];
    uint32_t rank = 0;
    chain_code c;

    TRY(chain_read(&c, n));
    TRY(infer_tensor(&first, g, n, 0));
    so_far = *first;
    for (uint32_t i = 0; i < n->n_in; i++) {
        TRY(infer_tensor(&t, g, n, i));
        TRY(infer_want(n, t, WANT_FLOAT));
        TRY(infer_broadcast(g, n, &so_far, t, dims, &rank));
        so_far = type_tensor(g->m, first->dtype, dims, rank);
        dt[i] = t->dtype;
    }
    TRY(chain_dtypes(dt, &c, n));
    return infer_out(g, n, 0, dt[n->n_in + c.n - 1], so_far.dims, so_far.rank);
}

/* x at the result's shape: itself, or a copy. */
static hull_status broadcast(tensor *to, eval_ctx *cx, const node *n,
                             const tensor *x, const tensor *out)
{
    walk w;

    *to = *x;
    if (x->rank == out->rank && tensor_numel(x) == tensor_numel(out))
        return HULL_OK;
    TRY(walk_begin(&w, n, x, 1, out));
    TRY(eval_temp(cx, to, x->dtype, out->shape, out->rank));
    for (; w.more; walk_next(&w))
        for (int64_t i = 0; i < w.row; i++)
            store_f64(to->dtype, to->data, (uint64_t)(w.at_out + i),
                      load_f64(x->dtype, x->data,
                               (uint64_t)(w.at[0] + i * w.step[0])));
    return HULL_OK;
}

hull_status chain_eval(eval_ctx *cx, const node *n, const tensor *in,
                       tensor *out)
{
    tensor v[CHAIN_OPERANDS + CHAIN_STEPS], from[2] = {{0}};
    hull_dtype dt[CHAIN_OPERANDS + CHAIN_STEPS];
    chain_code c;

    TRY(chain_read(&c, n));
    for (uint32_t k = 0; k < n->n_in; k++) {
        dt[k] = in[k].dtype;
        TRY(broadcast(&v[k], cx, n, &in[k], out));
    }
    TRY(chain_dtypes(dt, &c, n));
    for (uint32_t i = 0; i < c.n; i++) {
        const chain_step *s = &c.steps[i];
        tensor *to = &v[n->n_in + i];
        node one = chain_node(s);

        *to = *out;
        if (i + 1 < c.n)
            TRY(eval_temp(cx, to, dt[n->n_in + i], out->shape, out->rank));
        for (uint32_t k = 0; k < s->n_in; k++)
            from[k] = v[s->in[k]];
        TRY(op_get(s->op)->eval(cx, &one, from, to));
    }
    return HULL_OK;
}
