/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bench_inputs.c - tensors for `hull bench`: those of --input by the names of
 * `hull run`, or made up from the types. A symbolic size is what --size says,
 * else what the model is tuned for, else the least that it takes, at least 1.
 */
#include <string.h>

#include "cli/bench.h"

/* ---- sizes --------------------------------------------------------------- */

/* Sizes of one run, and which --size was of use. */
typedef struct sizes {
    const cli *c;
    dim_env env;
    uint32_t used;     /* bit i: c->sizes[i] */
} sizes;

/* --size NAME=N for this symbol, or 0. */
static hull_status size_asked(sizes *s, str name, int64_t *out)
{
    *out = 0;
    for (uint32_t i = 0; i < s->c->n_sizes; i++) {
        const char *text = s->c->sizes[i];
        str number, key = str_split(str_of(text), '=', &number);
        uint64_t n = 0;

        if (!str_to_u64(&n, number) || n == 0 || n > INT32_MAX)
            return fail(HULL_EINVAL, "--size %s, want NAME=COUNT", text);
        if (!str_eq(key, name))
            continue;
        s->used |= 1U << i;
        *out = (int64_t)n;
    }
    return HULL_OK;
}

static hull_status set_symbols(sizes *s, dim d)
{
    const dim_node *k = dim_get(s->env.m, d);
    int64_t size;

    if (k == NULL || k->op == DIM_INT)
        return HULL_OK;
    if (k->op != DIM_SYM) {
        TRY(set_symbols(s, k->a));
        return set_symbols(s, k->b);
    }
    TRY(size_asked(s, k->name, &size));
    if (size == 0)
        size = k->opt > 0 ? k->opt : k->min > 1 ? k->min : 1;
    return dim_assign(&s->env, d, size);
}

/* A --size that no input has is a slip. */
static hull_status check_used(const sizes *s)
{
    for (uint32_t i = 0; i < s->c->n_sizes; i++)
        if ((s->used >> i & 1) == 0)
            return fail(HULL_EINVAL, "--size %s: no input has such a size",
                        s->c->sizes[i]);
    return HULL_OK;
}

/* ---- random tensors ------------------------------------------------------ */

/* The same numbers on every machine: Knuth's 64-bit generator. */
static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) * 0x1p-53;
}

static void fill_random(named_tensor *t, uint64_t *state)
{
    hull_dtype dt = t->dtype;
    uint64_t n = 1;

    for (uint32_t k = 0; k < t->rank; k++)
        n *= (uint64_t)t->shape[k];
    if (dtype_is_complex(dt)) {
        dt = dt == HULL_C64 ? HULL_F32 : HULL_F64;
        n *= 2;
    }
    for (uint64_t i = 0; i < n; i++) {
        double r = next_random(state);

        if (dtype_is_float(dt))
            store_f64(dt, t->data, i, 2 * r - 1);
        else
            store_i64(dt, t->data, i, r < 0.5);
    }
}

static hull_status make_random(bench_inputs *in, const plan *p,
                               const dim_env *e, uint32_t i, uint64_t *state)
{
    const type *t = graph_type(p->main, p->main->body->params[i]);
    int64_t dims[HULL_MAX_RANK];
    named_tensor *x;

    if (t->kind == TYPE_OPTIONAL)
        return tensor_file_add(&in->file, &x, p->inputs[i], HULL_U8, 0, NULL);
    if (t->kind != TYPE_TENSOR || t->dtype == HULL_STRING)
        return fail(HULL_EUNSUPPORTED, "bench: input '%.*s' cannot be made "
                    "up, want --input FILE", STR_ARG(p->inputs[i]));
    for (uint32_t k = 0; k < t->rank; k++)
        TRY(dim_eval(&dims[k], e, t->dims[k]));
    TRY(tensor_file_add(&in->file, &x, p->inputs[i], t->dtype, t->rank,
                        dims));
    fill_random(x, state);
    return HULL_OK;
}

static hull_status random_inputs(bench_inputs *in, const cli *c,
                                 const plan *p)
{
    const region *body = p->main->body;
    uint64_t state = 1;
    sizes s = {.c = c};
    hull_status st = HULL_OK;

    TRY_OUT(dim_env_init(&s.env, p->m));
    for (uint32_t i = 0; i < in->n; i++) {
        const type *t = graph_type(p->main, body->params[i]);

        for (uint32_t k = 0; t->kind == TYPE_TENSOR && k < t->rank; k++)
            TRY_OUT(set_symbols(&s, t->dims[k]));
    }
    TRY_OUT(check_used(&s));
    for (uint32_t i = 0; i < in->n; i++)
        TRY_OUT(make_random(in, p, &s.env, i, &state));
    for (uint32_t i = 0; i < in->n; i++)
        if (graph_type(p->main, body->params[i])->kind == TYPE_TENSOR)
            in->views[i] = tensor_view(&in->file.items[i]);
out:
    dim_env_fini(&s.env);
    return st;
}

/* ---- tensors of a file --------------------------------------------------- */

static hull_status from_file(bench_inputs *in, cli *c, hull_module *m)
{
    TRY(tensor_file_read(&in->file, c->input));
    for (size_t i = 0; i < in->n; i++) {
        const named_tensor *t;
        hull_tensor_info info;
        char by_position[32];

        TRY(hull_module_input(m, i, &info));
        snprintf(by_position, sizeof by_position, "input_%zu", i);
        t = tensor_file_find(&in->file, info.name);
        if (t == NULL)
            t = tensor_file_find(&in->file, by_position);
        if (t == NULL && in->n == 1 && in->file.n == 1)
            t = &in->file.items[0];
        if (t == NULL && str_starts(str_of(info.type_text), "optional("))
            continue;
        if (t == NULL)
            return fail(HULL_ENOTFOUND, "%s has no tensor '%s' or '%s'",
                        c->input, info.name, by_position);
        in->views[i] = tensor_view(t);
    }
    return HULL_OK;
}

hull_status bench_inputs_make(bench_inputs *out, cli *c, hull_module *m)
{
    hull_status st;

    memset(out, 0, sizeof *out);
    out->n = hull_module_n_inputs(m);
    out->views = mem_calloc(out->n + 1, sizeof *out->views);
    if (out->views == NULL)
        return fail_oom(out->n * sizeof *out->views);
    st = c->input != NULL ? from_file(out, c, m)
                          : random_inputs(out, c, module_plan(m));
    if (st != HULL_OK)
        bench_inputs_fini(out);
    return st;
}

void bench_inputs_fini(bench_inputs *in)
{
    tensor_file_fini(&in->file);
    mem_free(in->views);
    memset(in, 0, sizeof *in);
}
