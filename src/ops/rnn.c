/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rnn.c - lstm, gru and the plain rnn by ONNX's formulas, states in double.
 *
 *   x [t,b,i]  w [d,g*h,i]  r [d,g*h,h]  bias [d,2*g*h] = for w, then for r
 *   h0, c0 [d,b,h]  lengths [b]  ->  y [t,d,b,h]  hn, cn [d,b,h]
 *
 * The ops *_steps are what is left of them when a product has done the inputs:
 *
 *   x w + bias [t,b,d*g*h]  r in panels [d*ceil(h/tile),h,g*tile]  bias [d,g*h]
 *
 * where a panel has, for each element of the state, a tile of every gate.
 *
 * Beyond a sequence's length y is 0 and the states stand still; the reverse
 * direction starts at its last element. The functions of the gates are a table.
 */
#include "ops/data.h"
#include "ops/rnn.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const act_names[RNN_ACT_KINDS] = {
    "sigmoid", "tanh", "relu", "affine", "leaky_relu", "thresholded_relu",
    "scaled_tanh", "hard_sigmoid", "elu", "softsign", "softplus"};

rnn_kind rnn_kind_of(const node *n)
{
    rnn_kind lstm = { OP_lstm, false, 4, 2, 3, 4, 5, 6, 7, 3 };
    rnn_kind gru = { OP_gru, false, 3, 2, 3, 4, 0, 5, 0, 2 };
    rnn_kind rnn = { OP_rnn, false, 1, 2, 3, 4, 0, 5, 0, 1 };
    bool steps = n->op == OP_lstm_steps || n->op == OP_gru_steps ||
                 n->op == OP_rnn_steps;
    rnn_kind k = n->op == OP_lstm || n->op == OP_lstm_steps  ? lstm
                  : n->op == OP_gru || n->op == OP_gru_steps ? gru
                                                             : rnn;

    if (!steps)
        return k;
    k.steps = true; /* has no w */
    k.r--;
    k.bias--;
    k.h0--;
    k.c0 -= k.c0 != 0;
    k.lengths--;
    k.peep -= k.peep != 0;
    return k;
}

int64_t rnn_directions(const node *n)
{
    str d = attr_str(n, "direction");

    if (str_is(d, "both"))
        return 2;
    return str_is(d, "forward") || str_is(d, "reverse");
}

/* The functions of all directions. */
static hull_status acts_read(rnn_act out[RNN_ACTS_MAX], const node *n)
{
    const attr *alpha = node_attr(n, "alpha"), *beta = node_attr(n, "beta");
    rnn_kind kind = rnn_kind_of(n);
    uint32_t count = (uint32_t)rnn_directions(n) * kind.acts;
    str rest = attr_str(n, "acts");
    bool given = rest.n > 0;
    char what[128];

    for (uint32_t i = 0; i < count; i++)
        out[i].kind = kind.op != OP_rnn && i % kind.acts == 0 ? ACT_SIGMOID
                                                              : ACT_TANH;
    if ((alpha->set && alpha->u.floats.n != count) ||
        (beta->set && beta->u.floats.n != count))
        return fail(HULL_EINVAL, "%s: want %u of alpha and of beta",
                    node_what(n, what), count);
    for (uint32_t i = 0; i < count; i++) {
        str name = given ? str_split(rest, ' ', &rest) : rest;
        bool known = !given;

        out[i].alpha = alpha->set ? alpha->u.floats.p[i] : 1.0;
        out[i].beta = beta->set ? beta->u.floats.p[i] : 0.0;
        for (uint32_t k = 0; !known && k < COUNT_OF(act_names); k++)
            if (str_is(name, act_names[k])) {
                out[i].kind = (rnn_act_kind)k;
                known = true;
            }
        if (!known)
            return fail(HULL_EUNSUPPORTED, "%s: act '%.*s' is not known",
                        node_what(n, what), STR_ARG(name));
    }
    if (rest.n > 0)
        return fail(HULL_EINVAL, "%s: more than %u acts", node_what(n, what),
                    count);
    return HULL_OK;
}

static hull_status attrs_infer(const node *n)
{
    char what[128];
    int64_t hidden = attr_int(n, "hidden");
    rnn_act acts[RNN_ACTS_MAX];

    if (hidden < 1 || hidden > INT32_MAX)
        return fail(HULL_ESHAPE, "%s: hidden is %" PRId64 ", want 1 or more",
                    node_what(n, what), hidden);
    if (rnn_directions(n) == 0)
        return fail(HULL_EINVAL,
                    "%s: direction '%.*s', want forward, reverse or both",
                    node_what(n, what), STR_ARG(attr_str(n, "direction")));
    if (rnn_kind_of(n).steps &&
        (attr_int(n, "tile") < 1 || attr_int(n, "tile") > 4096))
        return fail(HULL_EINVAL, "%s: tile is %" PRId64, node_what(n, what),
                    attr_int(n, "tile"));
    if (!(attr_float(n, "clip") >= 0))
        return fail(HULL_EINVAL, "%s: clip is %g, want 0 or more",
                    node_what(n, what), attr_float(n, "clip"));
    return acts_read(acts, n);
}

/* Operand i, when present, has these dims and the dtype of x. */
static hull_status operand_infer(graph *g, node *n, uint32_t i,
                                 hull_dtype dt, const dim *want, uint32_t rank)
{
    const type *t;
    char what[128], name[32];
    dim same;

    if (!node_has(n, i))
        return HULL_OK;
    TRY(infer_tensor(&t, g, n, i));
    if (t->rank != rank || (dt != HULL_NONE && t->dtype != dt))
        return fail(HULL_ESHAPE,
                    "%s: operand %u is %s of rank %u, want %s of rank %u",
                    node_what(n, what), i, hull_dtype_name(t->dtype), t->rank,
                    hull_dtype_name(dt == HULL_NONE ? HULL_I32 : dt), rank);
    if (dt == HULL_NONE && !dtype_is_int(t->dtype))
        return fail(HULL_ESHAPE, "%s: lengths are %s, want an integer type",
                    node_what(n, what), hull_dtype_name(t->dtype));
    for (uint32_t a = 0; a < rank; a++) {
        snprintf(name, sizeof(name), "dim %u of operand %u", a, i);
        TRY(data_agree(&same, g, n, name, t->dims[a], want[a]));
    }
    return HULL_OK;
}

/* The batch as x has it, or a plain size that a state or the lengths have. */
static hull_status batch_infer(dim *out, graph *g, node *n, dim of_x,
                               rnn_kind kind)
{
    const uint32_t at[3] = {kind.h0, kind.c0, kind.lengths};

    *out = of_x;
    for (uint32_t i = 0; i < 3; i++) {
        const type *t;

        if (at[i] == 0 || !node_has(n, at[i]))
            continue;
        TRY(infer_tensor(&t, g, n, at[i]));
        TRY(data_agree(out, g, n, "the batch", *out,
                       t->dims[at[i] == kind.lengths ? 0 : 1]));
    }
    return HULL_OK;
}

/* w, r and the bias, each for all gates of a direction. */
static hull_status weights_infer(graph *g, node *n, const type *x, dim gh)
{
    dim h = attr_int(n, "hidden"), d = rnn_directions(n);

    TRY(operand_infer(g, n, 1, x->dtype, (dim[]){ d, gh, x->dims[2] }, 3));
    TRY(operand_infer(g, n, 2, x->dtype, (dim[]){ d, gh, h }, 3));
    return operand_infer(g, n, 3, x->dtype, (dim[]){ d, 2 * gh }, 2);
}

/* What stands for them in the ops *_steps. */
static hull_status steps_weights_infer(graph *g, node *n, const type *x,
                                       rnn_kind kind)
{
    int64_t h = attr_int(n, "hidden"), d = rnn_directions(n);
    int64_t tile = attr_int(n, "tile"), gh = kind.gates * h;
    char what[128];
    dim same;

    TRY(data_agree(&same, g, n, "dim 2 of operand 0", x->dims[2], d * gh));
    if (!node_has(n, 1))
        return fail(HULL_ESHAPE, "%s: no panels", node_what(n, what));
    TRY(operand_infer(g, n, kind.r, x->dtype,
                      (dim[]){ d * ((h + tile - 1) / tile), h,
                               kind.gates * tile }, 3));
    return operand_infer(g, n, kind.bias, x->dtype, (dim[]){ d, gh }, 2);
}

hull_status rnn_infer(graph *g, node *n)
{
    const type *x;
    char what[128];
    rnn_kind kind = rnn_kind_of(n);
    dim h = attr_int(n, "hidden"), d = rnn_directions(n), gh, b;

    TRY(attrs_infer(n));
    TRY(infer_tensor(&x, g, n, 0));
    if (x->rank != 3 || !dtype_is_float(x->dtype))
        return fail(HULL_ESHAPE,
                    "%s: operand 0 is %s of rank %u, want a float type of rank "
                    "3",
                    node_what(n, what), hull_dtype_name(x->dtype), x->rank);
    gh = kind.gates * h;
    if (kind.steps)
        TRY(steps_weights_infer(g, n, x, kind));
    else
        TRY(weights_infer(g, n, x, gh));
    TRY(operand_infer(g, n, kind.h0, x->dtype,
                      (dim[]){ d, x->dims[1], h }, 3));
    if (kind.c0 != 0)
        TRY(operand_infer(g, n, kind.c0, x->dtype,
                          (dim[]){ d, x->dims[1], h }, 3));
    TRY(operand_infer(g, n, kind.lengths, HULL_NONE, &x->dims[1], 1));
    TRY(batch_infer(&b, g, n, x->dims[1], kind));
    if (kind.peep != 0)
        TRY(operand_infer(g, n, kind.peep, x->dtype, (dim[]){ d, 3 * h }, 2));
    TRY(infer_out(g, n, 0, x->dtype, (dim[]){ x->dims[0], d, b, h }, 4));
    for (uint32_t i = 1; i < n->n_out; i++)
        TRY(infer_out(g, n, i, x->dtype, (dim[]){ d, b, h }, 3));
    return HULL_OK;
}

typedef struct cell {
    rnn_run q;
    double *state, *cell;     /* h each */
    double *next;             /* h: the new state */
    double *ax, *ar;          /* gates * h: parts from input and from state */
} cell;

static double at(const tensor *t, int64_t i)
{
    return load_f64(t->dtype, t->data, (uint64_t)i);
}

/* Function `which` of direction d. */
static double apply(const cell *c, int64_t d, uint32_t which, double v)
{
    const rnn_act *f = &c->q.acts[(uint32_t)d * c->q.kind.acts + which];

    switch (f->kind) {
    case ACT_SIGMOID:
        return 1.0 / (1.0 + exp(-v));
    case ACT_TANH:
        return tanh(v);
    case ACT_RELU:
        return v < 0.0 ? 0.0 : v;
    case ACT_AFFINE:
        return f->alpha * v + f->beta;
    case ACT_LEAKY:
        return v < 0.0 ? f->alpha * v : v;
    case ACT_THRESHOLD:
        return v > f->alpha || isnan(v) ? v : 0.0;
    case ACT_SCALED_TANH:
        return f->alpha * tanh(f->beta * v);
    case ACT_HARD_SIGMOID:
        v = f->alpha * v + f->beta;
        return v < 0.0 ? 0.0 : v > 1.0 ? 1.0 : v;
    case ACT_ELU:
        return v < 0.0 ? f->alpha * expm1(v) : v;
    case ACT_SOFTSIGN:
        return v / (1.0 + fabs(v));
    default: /* softplus */
        return v > 0.0 ? v + log1p(exp(-v)) : log1p(exp(v));
    }
}

/* Element j of row `row` of r, of direction d. */
static double r_at(const cell *c, int64_t d, int64_t row, int64_t j)
{
    int64_t h = c->q.h, gates = c->q.kind.gates, tile = c->q.tile;
    int64_t gate = row / h, i = row % h;
    int64_t panel = d * ((h + tile - 1) / tile) + i / tile;

    if (!c->q.kind.steps)
        return at(c->q.r, (d * gates * h + row) * h + j);
    return at(c->q.r, ((panel * h + j) * gates + gate) * tile + i % tile);
}

/* Row `row` of r (of direction d) times vector v of h, plus its bias. */
static double recur(const cell *c, int64_t d, int64_t row, const double *v)
{
    int64_t rows = c->q.kind.gates * c->q.h;
    double sum = 0.0;

    if (c->q.bias != NULL)
        sum = at(c->q.bias, (c->q.kind.steps ? d : 2 * d + 1) * rows + row);
    for (int64_t j = 0; j < c->q.h; j++)
        sum += v[j] * r_at(c, d, row, j);
    return sum;
}

/* Row `row` of w (of direction d) times the input of step t, plus its bias. */
static double from_input(const cell *c, int64_t d, int64_t row, int64_t t,
                         int64_t b)
{
    int64_t rows = c->q.kind.gates * c->q.h, place = t * c->q.b + b;
    double sum = 0.0;

    if (c->q.kind.steps)
        return at(c->q.x, (place * c->q.n_dir + d) * rows + row);
    if (c->q.bias != NULL)
        sum = at(c->q.bias, 2 * d * rows + row);
    for (int64_t j = 0; j < c->q.in; j++)
        sum += at(c->q.x, place * c->q.in + j) *
               at(c->q.w, (d * rows + row) * c->q.in + j);
    return sum;
}

static double clipped(const cell *c, int64_t d, uint32_t which, double v)
{
    v = v > c->q.clip ? c->q.clip : v < -c->q.clip ? -c->q.clip : v;
    return apply(c, d, which, v);
}

/* What cell state v adds to gate k (i, o, f) through its peephole. */
static double peep(const cell *c, int64_t d, int64_t k, int64_t j, double v)
{
    if (c->q.peep == NULL)
        return 0.0;
    return v * at(c->q.peep, (3 * d + k) * c->q.h + j);
}

static void lstm_step(cell *c, int64_t d)
{
    int64_t h = c->q.h;

    for (int64_t j = 0; j < h; j++) {
        double was = c->cell[j];
        double i = clipped(c, d, 0, c->ax[j] + c->ar[j] +
                                        peep(c, d, 0, j, was));
        double g = clipped(c, d, 1, c->ax[3 * h + j] + c->ar[3 * h + j]);
        double f = 1.0 - i;

        if (!c->q.coupled)
            f = clipped(c, d, 0, c->ax[2 * h + j] + c->ar[2 * h + j] +
                                   peep(c, d, 2, j, was));
        c->cell[j] = f * was + i * g;
        double o = clipped(c, d, 0, c->ax[h + j] + c->ar[h + j] +
                                      peep(c, d, 1, j, c->cell[j]));
        c->next[j] = o * apply(c, d, 2, c->cell[j]);
    }
}

static void gru_step(cell *c, int64_t d)
{
    int64_t h = c->q.h;

    /* ar[h..2h) becomes r * state, the input of the third gate. */
    for (int64_t j = 0; j < h; j++) {
        double r = clipped(c, d, 0, c->ax[h + j] + c->ar[h + j]);

        c->ar[h + j] = r * (c->q.reset_after ? c->ar[2 * h + j] : c->state[j]);
    }
    for (int64_t j = 0; j < h; j++) {
        double z = clipped(c, d, 0, c->ax[j] + c->ar[j]);
        double part = c->q.reset_after ? c->ar[h + j]
                                     : recur(c, d, 2 * h + j, c->ar + h);

        c->next[j] = (1.0 - z) * clipped(c, d, 1, c->ax[2 * h + j] + part) +
                     z * c->state[j];
    }
}

static void step(cell *c, int64_t d, int64_t t, int64_t b)
{
    int64_t rows = c->q.kind.gates * c->q.h;

    for (int64_t k = 0; k < rows; k++) {
        c->ax[k] = from_input(c, d, k, t, b);
        c->ar[k] = recur(c, d, k, c->state);
    }
    if (c->q.kind.op == OP_lstm) {
        lstm_step(c, d);
    } else if (c->q.kind.op == OP_gru) {
        gru_step(c, d);
    } else {
        for (int64_t j = 0; j < c->q.h; j++)
            c->next[j] = clipped(c, d, 0, c->ax[j] + c->ar[j]);
    }
    for (int64_t j = 0; j < c->q.h; j++) {
        c->state[j] = c->next[j];
        store_f64(c->q.x->dtype, c->q.out[0].data,
                  (uint64_t)(((t * c->q.n_dir + d) * c->q.b + b) * c->q.h + j),
                  c->state[j]);
    }
}

bool rnn_is_reverse(const node *n, int64_t d)
{
    return d == 1 || str_is(attr_str(n, "direction"), "reverse");
}

hull_status rnn_length(int64_t *out, const rnn_run *c, const node *n,
                       int64_t b)
{
    char what[128];

    *out = c->t;
    if (c->lengths != NULL)
        *out = load_i64(c->lengths->dtype, c->lengths->data, (uint64_t)b);
    if (*out < 0 || *out > c->t)
        return fail(HULL_EINVAL,
                    "%s: length %" PRId64 " of sequence %" PRId64
                    ", want 0 to %" PRId64,
                    node_what(n, what), *out, b, c->t);
    return HULL_OK;
}

/* One sequence in one direction. */
static hull_status sequence(cell *c, const node *n, int64_t d, int64_t b)
{
    bool reverse = rnn_is_reverse(n, d);
    int64_t len, h = c->q.h, base = (d * c->q.b + b) * h;

    TRY(rnn_length(&len, &c->q, n, b));
    for (int64_t j = 0; j < h; j++) {
        c->state[j] = c->q.h0 != NULL ? at(c->q.h0, base + j) : 0.0;
        c->cell[j] = c->q.c0 != NULL ? at(c->q.c0, base + j) : 0.0;
    }
    for (int64_t i = 0; i < len; i++)
        step(c, d, reverse ? len - 1 - i : i, b);
    for (int64_t j = 0; j < h; j++) {
        store_f64(c->q.x->dtype, c->q.out[1].data, (uint64_t)(base + j),
                  c->state[j]);
        if (c->q.kind.op == OP_lstm)
            store_f64(c->q.x->dtype, c->q.out[2].data, (uint64_t)(base + j),
                      c->cell[j]);
    }
    return HULL_OK;
}

static hull_status check_shapes(const node *n, const rnn_run *c)
{
    int64_t rows = c->kind.gates * c->h, d = c->n_dir, b = c->b, h = c->h;
    int64_t panels = d * ((h + c->tile - 1) / c->tile);

    if (c->kind.steps) {
        TRY(data_want_shape(n, c->x, (int64_t[]){ c->t, b, d * rows }, 3));
        TRY(data_want_shape(n, c->r, (int64_t[]){ panels, h,
                                                  c->kind.gates * c->tile },
                            3));
    } else {
        TRY(data_want_shape(n, c->w, (int64_t[]){ d, rows, c->in }, 3));
        TRY(data_want_shape(n, c->r, (int64_t[]){ d, rows, h }, 3));
    }
    if (c->bias != NULL)
        TRY(data_want_shape(n, c->bias,
                            (int64_t[]){ d, c->kind.steps ? rows : 2 * rows },
                            2));
    if (c->h0 != NULL)
        TRY(data_want_shape(n, c->h0, (int64_t[]){ d, b, h }, 3));
    if (c->c0 != NULL)
        TRY(data_want_shape(n, c->c0, (int64_t[]){ d, b, h }, 3));
    if (c->lengths != NULL)
        TRY(data_want_shape(n, c->lengths, &b, 1));
    if (c->peep != NULL)
        TRY(data_want_shape(n, c->peep, (int64_t[]){ d, 3 * h }, 2));
    TRY(data_want_shape(n, &c->out[0], (int64_t[]){ c->t, d, b, h }, 4));
    for (uint32_t i = 1; i < n->n_out; i++)
        TRY(data_want_shape(n, &c->out[i], (int64_t[]){ d, b, h }, 3));
    return HULL_OK;
}

/* Operand i; NULL when there is none, or the kind has no such operand. */
static const tensor *given(const tensor *in, const node *n, uint32_t i)
{
    return i != 0 && node_has(n, i) ? &in[i] : NULL;
}

hull_status rnn_open(rnn_run *out, const node *n, const tensor *in,
                     tensor *result)
{
    rnn_kind kind = rnn_kind_of(n);

    *out = (rnn_run){ .kind = kind, .x = &in[0], .w = &in[1],
                      .r = &in[kind.r], .out = result,
                      .clip = attr_float(n, "clip"), .t = in[0].shape[0],
                      .b = in[0].shape[1], .in = in[0].shape[2],
                      .h = attr_int(n, "hidden"), .n_dir = rnn_directions(n),
                      .tile = kind.steps ? attr_int(n, "tile") : 1 };
    out->bias = given(in, n, kind.bias);
    out->h0 = given(in, n, kind.h0);
    out->c0 = given(in, n, kind.c0);
    out->lengths = given(in, n, kind.lengths);
    out->peep = given(in, n, kind.peep);
    if (kind.op == OP_gru)
        out->reset_after = attr_bool(n, "reset_after");
    if (kind.op == OP_lstm)
        out->coupled = attr_bool(n, "coupled");
    TRY(acts_read(out->acts, n));
    return check_shapes(n, out);
}

hull_status rnn_eval(eval_ctx *cx, const node *n, const tensor *in,
                     tensor *out)
{
    cell c = {0};
    int64_t h, gates;
    size_t room;
    double *p;

    TRY(rnn_open(&c.q, n, in, out));
    h = c.q.h;
    gates = c.q.kind.gates;
    room = (size_t)h * (size_t)(3 + 2 * gates);
    p = arena_array(cx->scratch, room, sizeof(double));
    if (p == NULL)
        return fail_oom(room * sizeof(double));
    c.state = p;
    c.cell = p + h;
    c.next = p + 2 * h;
    c.ax = p + 3 * h;
    c.ar = c.ax + gates * h;
    if (tensor_numel(&out[0]) > 0)
        memset(out[0].data, 0, (size_t)tensor_bytes(&out[0]));
    for (int64_t d = 0; d < c.q.n_dir; d++) {
        for (int64_t b = 0; b < c.q.b; b++)
            TRY(sequence(&c, n, d, b));
    }
    return HULL_OK;
}
