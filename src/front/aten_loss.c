/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten_loss.c - lowerings of losses. Halves are computed in f32. reduction:
 * 0 none, 1 mean, 2 sum.
 */
#include "front/aten.h"

#include <math.h>

static val binary(aten_call *c, op_code op, val a, val b)
{
    return op_binary(c->g, op, a, b);
}

static val unary(aten_call *c, op_code op, val x)
{
    return op_unary(c->g, op, x);
}

static val like(aten_call *c, val x, double v)
{
    return aten_number(c, call_dtype(c, x), v);
}

static val reduced_all(aten_call *c, op_code op, val x)
{
    int64_t axes[HULL_MAX_RANK];

    for (uint32_t i = 0; i < call_rank(c, x); i++)
        axes[i] = i;
    return aten_reduce(c, op, x, axes, call_rank(c, x), false);
}

/* The reduction of argument i. */
static val reduced(aten_call *c, val x, uint32_t i)
{
    int64_t how = arg_int(c, i);

    if (how < 0 || how > 2)
        call_fail(c, HULL_EFORMAT, "reduction is not 0, 1 or 2");
    if (how == 0 || c->st != HULL_OK)
        return x;
    return reduced_all(c, how == 1 ? OP_reduce_mean : OP_reduce_sum, x);
}

static hull_dtype computed_in(hull_dtype dt)
{
    return dt == HULL_F16 || dt == HULL_BF16 ? HULL_F32 : dt;
}

/* ---- of two tensors of one shape ----------------------------------------- */

/* Arguments 0 and 1 in what they are computed in; returns the result's type. */
static hull_dtype pair(aten_call *c, val *a, val *b)
{
    const aten_value *x[] = {&c->args[0], &c->args[1]};
    hull_dtype dt = aten_promote(c, x, 2);

    *a = aten_as(c, x[0], computed_in(dt));
    *b = aten_as(c, x[1], computed_in(dt));
    return dt;
}

static void ret_reduced(aten_call *c, val x, uint32_t i, hull_dtype dt)
{
    x = reduced(c, x, i);
    if (c->st == HULL_OK)
        ret(c, op_cast(c->g, x, dt));
}

/* mse_loss, l1_loss (self, target, reduction): param 1 = l1 */
void aten_mse_loss(aten_call *c)
{
    val a, b;
    hull_dtype dt = pair(c, &a, &b);
    val d = binary(c, OP_sub, a, b);

    ret_reduced(c, c->row->param ? unary(c, OP_abs, d)
                                 : binary(c, OP_mul, d, d), 2, dt);
}

/* smooth_l1_loss(self, target, reduction, beta), huber_loss(.., delta): param
 * 1 = huber, which is delta times the other. */
void aten_smooth_l1(aten_call *c)
{
    double beta = arg_num(c, 3);
    val a, b;
    hull_dtype dt = pair(c, &a, &b);
    val d = unary(c, OP_abs, binary(c, OP_sub, a, b));
    val square = binary(c, OP_mul, binary(c, OP_mul, d, d), like(c, d, 0.5));

    if (!(beta > 0)) {
        ret_reduced(c, d, 2, dt);
        return;
    }
    if (!c->row->param)
        square = binary(c, OP_mul, square, like(c, d, 1 / beta));
    val line = binary(c, OP_sub, d, like(c, d, beta / 2));
    if (c->row->param)
        line = binary(c, OP_mul, line, like(c, d, beta));
    val near = binary(c, OP_lt, d, like(c, d, beta));
    ret_reduced(c, aten_where(c, near, square, line), 2, dt);
}

/* kl_div(self, target, reduction, log_target) */
void aten_kl_div(aten_call *c)
{
    bool logs = arg_bool(c, 3);
    val a, b;
    hull_dtype dt = pair(c, &a, &b);
    val l = logs ? b : unary(c, OP_log, b);
    val p = logs ? unary(c, OP_exp, b) : b;
    val y = binary(c, OP_mul, p, binary(c, OP_sub, l, a));

    if (!logs) { /* 0 log 0 is 0 */
        val entropy = binary(c, OP_mul, p, l), zero = like(c, p, 0);

        entropy = aten_where(c, binary(c, OP_eq, p, zero), zero, entropy);
        y = binary(c, OP_sub, entropy, binary(c, OP_mul, p, a));
    }
    ret_reduced(c, y, 2, dt);
}

/* binary_cross_entropy(self, target, weight, reduction) */
void aten_bce(aten_call *c)
{
    val x, t, w = arg_optional(c, 2);
    hull_dtype dt = pair(c, &x, &t);
    val one = like(c, x, 1);
    val on = aten_clamp(c, unary(c, OP_log, x), -100, HUGE_VAL);
    val off = aten_clamp(c, unary(c, OP_log, binary(c, OP_sub, one, x)), -100,
                         HUGE_VAL);
    val y = binary(c, OP_add, binary(c, OP_mul, t, on),
                   binary(c, OP_mul, binary(c, OP_sub, one, t), off));

    y = unary(c, OP_neg, y);
    if (w)
        y = binary(c, OP_mul, y, op_cast(c->g, w, call_dtype(c, y)));
    ret_reduced(c, y, 3, dt);
}

/* (self, target, weight, pos_weight, reduction):
 * (1 - t) x + (1 + (p - 1) t) log(1 + exp(-x)) */
void aten_bce_logits(aten_call *c)
{
    val x, t, w = arg_optional(c, 2), pos = arg_optional(c, 3);
    hull_dtype dt = pair(c, &x, &t);
    val one = like(c, x, 1);
    node *n = node_new(c->g, OP_softplus);

    node_input(c->g, n, unary(c, OP_neg, x));
    val l = node_add(c->g, n);
    if (pos) {
        pos = op_cast(c->g, pos, call_dtype(c, x));
        val more = binary(c, OP_mul, binary(c, OP_sub, pos, one), t);

        l = binary(c, OP_mul, l, binary(c, OP_add, more, one));
    }
    val y = binary(c, OP_add,
                   binary(c, OP_mul, binary(c, OP_sub, one, t), x), l);
    if (w)
        y = binary(c, OP_mul, y, op_cast(c->g, w, call_dtype(c, y)));
    ret_reduced(c, y, 4, dt);
}

/* ---- of classes ---------------------------------------------------------- */

typedef struct classes {
    val x, target, weight; /* [n, c, *], [n, *], [c] or 0 */
    int64_t ignored;
    uint32_t axis;
} classes;

/* -x[target] weight[target] per place, 0 where ignored; *total: the weights'
 * sum. */
static val picked(aten_call *c, const classes *k, val *total)
{
    val none = aten_int(c, k->ignored), zero = like(c, k->x, 0);
    val target = op_cast(c->g, k->target, HULL_I64);
    val live = binary(c, OP_ne, target, none);
    val at = aten_where(c, live, target, aten_int(c, 0));
    val y = aten_take_elements(c, k->x, aten_insert_axis(c, at, k->axis),
                               k->axis);
    val w = op_cast(c->g, live, call_dtype(c, k->x));

    y = unary(c, OP_neg, aten_drop_axis(c, y, k->axis));
    if (k->weight) {
        w = aten_where(c, live, aten_take(c, k->weight, at, 0), zero);
        y = binary(c, OP_mul, y, w);
    }
    *total = reduced_all(c, OP_reduce_sum, w);
    return aten_where(c, live, y, zero);
}

/* A mean is weighted. */
static val class_reduced(aten_call *c, val y, val total, uint32_t i)
{
    int64_t how = arg_int(c, i);

    if (how == 1)
        return binary(c, OP_div, reduced_all(c, OP_reduce_sum, y), total);
    return reduced(c, y, i);
}

static classes read_classes(aten_call *c, uint32_t ignore_at)
{
    val x = arg_tensor(c, 0), w = arg_optional(c, 2);
    hull_dtype dt = computed_in(call_dtype(c, x));
    classes k = {.x = op_cast(c->g, x, dt), .target = arg_tensor(c, 1),
                 .weight = w ? op_cast(c->g, w, dt) : 0,
                 .ignored = arg_int(c, ignore_at)};

    k.axis = call_rank(c, x) < 2 ? 0 : 1;
    if (call_rank(c, x) == 0)
        call_fail(c, HULL_EFORMAT, "operand of rank 0");
    return k;
}

/* nll_loss and its forms (self, target, weight, reduction, ignore_index);
 * param 1 = the weights' sum is a second result. */
void aten_nll_loss(aten_call *c)
{
    classes k = read_classes(c, 4);
    hull_dtype dt = call_dtype(c, arg_tensor(c, 0));
    val total = 0;

    if (c->st != HULL_OK)
        return;
    if (call_rank(c, k.target) + 1 != call_rank(c, k.x)) {
        call_fail(c, HULL_EFORMAT, "targets of unfit rank");
        return;
    }
    val y = picked(c, &k, &total);
    y = class_reduced(c, y, total, 3);
    if (c->st != HULL_OK)
        return;
    ret(c, op_cast(c->g, y, dt));
    if (c->row->param) /* without a reduction nothing is summed */
        ret(c, arg_int(c, 3) == 0 ? aten_number(c, dt, 0)
                                  : op_cast(c->g, total, dt));
}

/* Targets that are probabilities: -sum(p w log_softmax(x)). */
static val soft_targets(aten_call *c, const classes *k, val logs,
                        double smoothing)
{
    int64_t axis = k->axis, n = 0;
    hull_dtype dt = call_dtype(c, logs);
    val p = op_cast(c->g, k->target, dt);

    if (smoothing > 0) {
        dim size = call_dims(c, logs)[k->axis];
        val each = dim_is_int(c->m, size, &n)
                       ? aten_number(c, dt, smoothing / (double)n)
                       : binary(c, OP_div, aten_number(c, dt, smoothing),
                                aten_dim_value(c, size, dt));

        p = binary(c, OP_add, binary(c, OP_mul, p, like(c, p, 1 - smoothing)),
                   each);
    }
    val y = binary(c, OP_mul, p, logs);
    if (k->weight) {
        dim d[HULL_MAX_RANK];

        for (uint32_t i = 0; i < call_rank(c, logs); i++)
            d[i] = i == k->axis ? call_dims(c, logs)[i] : 1;
        y = binary(c, OP_mul, y, op_reshape(c->g, k->weight, d,
                                            call_rank(c, logs)));
    }
    return unary(c, OP_neg, aten_reduce(c, OP_reduce_sum, y, &axis, 1, false));
}

/* Hard targets with a share for all classes. */
static val smoothed(aten_call *c, const classes *k, val logs, val y,
                    double smoothing, val total)
{
    int64_t axis = k->axis;
    hull_dtype dt = call_dtype(c, logs);
    dim d[HULL_MAX_RANK], size = call_dims(c, logs)[k->axis];
    val all = logs;

    for (uint32_t i = 0; i < call_rank(c, logs); i++)
        d[i] = i == k->axis ? size : 1;
    if (k->weight)
        all = binary(c, OP_mul, all, op_reshape(c->g, k->weight, d,
                                                call_rank(c, logs)));
    all = unary(c, OP_neg, aten_reduce(c, OP_reduce_sum, all, &axis, 1, false));
    val live = binary(c, OP_ne, op_cast(c->g, k->target, HULL_I64),
                      aten_int(c, k->ignored));
    all = aten_where(c, live, all, like(c, all, 0));
    y = class_reduced(c, y, total, 3);
    all = class_reduced(c, all, total, 3);
    all = binary(c, OP_div, all, aten_dim_value(c, size, dt));
    return binary(c, OP_add, binary(c, OP_mul, y, like(c, y, 1 - smoothing)),
                  binary(c, OP_mul, all, like(c, all, smoothing)));
}

/* (self, target, weight, reduction, ignore_index, label_smoothing) */
void aten_cross_entropy(aten_call *c)
{
    classes k = read_classes(c, 4);
    hull_dtype dt = call_dtype(c, arg_tensor(c, 0));
    double smoothing = arg_num(c, 5);
    val total = 0, y;

    if (c->st != HULL_OK)
        return;
    node *n = node_new(c->g, OP_log_softmax);
    node_input(c->g, n, k.x);
    node_int(c->g, n, "axis", k.axis);
    val logs = node_add(c->g, n);
    if (dtype_is_float(call_dtype(c, k.target))) {
        y = soft_targets(c, &k, logs, smoothing);
        if (arg_int(c, 3) == 1) { /* per place, weighted or not */
            val count = aten_dim_value(
                c, type_numel(c->m, call_type(c, y)), call_dtype(c, y));

            y = binary(c, OP_div, reduced_all(c, OP_reduce_sum, y), count);
        } else {
            y = reduced(c, y, 3);
        }
    } else {
        k.x = logs;
        y = picked(c, &k, &total);
        y = smoothing > 0 ? smoothed(c, &k, logs, y, smoothing, total)
                          : class_reduced(c, y, total, 3);
    }
    if (c->st == HULL_OK)
        ret(c, op_cast(c->g, y, dt));
}
