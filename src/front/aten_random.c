/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_random.c - lowerings of operators that draw random numbers. They are
 * not PyTorch's numbers: the generator is the session's.
 */
#include "front/aten.h"

static val draw(aten_call *c, bool normal, hull_dtype dt, const dim *d,
                uint32_t rank)
{
    if (c->st != HULL_OK)
        return 0;
    if (!dtype_is_float(dt)) {
        call_missing(c, "random numbers of another dtype than float");
        return 0;
    }
    return front_random(c->f, normal, dt, d, rank, NULL);
}

/* rand, randn (size, dtype): param 1 = normal */
void aten_rand(aten_call *c)
{
    dim d[HULL_MAX_RANK];
    uint32_t n = arg_dims(c, 0, d, HULL_MAX_RANK);

    ret(c, draw(c, c->row->param == 1, arg_dtype(c, 1, HULL_F32), d, n));
}

/* rand_like, randn_like (self, dtype) */
void aten_rand_like(aten_call *c)
{
    val x = arg_tensor(c, 0);

    ret(c, draw(c, c->row->param == 1, arg_dtype(c, 1, call_dtype(c, x)),
                call_dims(c, x), call_rank(c, x)));
}

/* floor(u * (high - low)) + low; u has 53 bits. */
static void integers(aten_call *c, double low, double high, const dim *d,
                     uint32_t n, hull_dtype dt)
{
    val u;

    if (c->st != HULL_OK)
        return;
    if (!(high > low)) {
        call_fail(c, fail(HULL_EFORMAT, "high is %g, want more than low, %g",
                          high, low), "randint");
        return;
    }
    u = front_random(c->f, false, HULL_F64, d, n, NULL);
    u = op_unary(c->g, OP_floor, front_scaled(c->f, u, high - low, 0));
    ret(c, op_cast(c->g, front_scaled(c->f, u, 1, low), dt));
}

/* randint(high, size, dtype), param 1: (low, high, size, dtype) */
void aten_randint(aten_call *c)
{
    uint32_t k = (uint32_t)c->row->param;
    dim d[HULL_MAX_RANK];
    double low = k == 1 ? arg_num(c, 0) : 0, high = arg_num(c, k);
    uint32_t n = arg_dims(c, k + 1, d, HULL_MAX_RANK);

    integers(c, low, high, d, n, arg_dtype(c, k + 2, HULL_I64));
}

/* randint_like(self, high, dtype), param 1: (self, low, high, dtype) */
void aten_randint_like(aten_call *c)
{
    uint32_t k = (uint32_t)c->row->param;
    val x = arg_tensor(c, 0);
    double low = k == 1 ? arg_num(c, 1) : 0, high = arg_num(c, k + 1);

    integers(c, low, high, call_dims(c, x), call_rank(c, x),
             arg_dtype(c, k + 2, call_dtype(c, x)));
}

/* randperm(n, dtype): the order of n uniform numbers. */
void aten_randperm(aten_call *c)
{
    dim n = arg_dim(c, 0);
    val order = 0;

    if (c->st != HULL_OK)
        return;
    aten_sorted(c, front_random(c->f, false, HULL_F64, &n, 1, NULL), n, 0,
                false, &order);
    ret(c, op_cast(c->g, order, arg_dtype(c, 1, HULL_I64)));
}

/* bernoulli(self) draws by self; bernoulli.p(self, p): param 1 */
void aten_bernoulli(aten_call *c)
{
    val x = arg_tensor(c, 0), p = x;

    if (c->st != HULL_OK)
        return;
    if (c->row->param == 1)
        p = aten_full(c, aten_number(c, HULL_F32, arg_num(c, 1)),
                      call_dims(c, x), call_rank(c, x));
    ret(c, op_cast(c->g, front_bernoulli(c->f, p, NULL), call_dtype(c, x)));
}

/* uniform(self, from, to), normal_functional(self, mean, std): param 1 */
void aten_draw_like(aten_call *c)
{
    val x = arg_tensor(c, 0);
    double a = arg_num(c, 1), b = arg_num(c, 2);
    bool normal = c->row->param == 1;
    val u = draw(c, normal, call_dtype(c, x), call_dims(c, x),
                 call_rank(c, x));

    ret(c, front_scaled(c->f, u, normal ? b : b - a, a));
}

/* multinomial(self, num_samples, replacement): probabilities in the last axis.
 * Without replacement: the places of the largest of u^(1/p) (Efraimidis and
 * Spirakis, 2006), that is of log(u) / p. */
void aten_multinomial(aten_call *c)
{
    val p = arg_tensor(c, 0), u, at = 0;
    dim n = arg_dim(c, 1);
    uint32_t rank = call_rank(c, p);

    if (c->st != HULL_OK)
        return;
    if (arg_bool(c, 2)) {
        ret(c, front_multinomial(c->f, op_unary(c->g, OP_log, p), n, NULL));
        return;
    }
    u = front_random(c->f, false, HULL_F64, call_dims(c, p), rank, NULL);
    u = op_unary(c->g, OP_log, u);
    u = op_binary(c->g, OP_div, u, op_cast(c->g, p, HULL_F64));
    aten_sorted(c, u, n, rank - 1, true, &at);
    ret(c, at);
}
