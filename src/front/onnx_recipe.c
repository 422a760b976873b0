/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_recipe.c - recipe graphs. Arithmetic is in the tensor's own dtype and in
 * the exporter's order, so that a recipe gives the exporter's bits:
 *     s = gamma / sqrt(var + eps)     w s     (b - mean) s + beta
 */
#include "front/onnx_recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The stored tensor that a recipe must give; NULL when there is none. */
static const weight_entry *goal(front *f, str name)
{
    return weights_find(f->fm->native, name);
}

static str keep(front *f, str s)
{
    char *p = arena_strndup(&f->fm->recipes->a, s.n ? s.p : "", s.n);

    if (!p) {
        (void)ir_fail(f->fm->recipes, fail_oom(s.n));
        return str_of("");
    }
    return (str){p, s.n};
}

/* What was written, in the recipes' arena; frees b. */
static str keep_buf(front *f, buf *b)
{
    hull_status st = buf_status(b);
    str out = {"", 0};

    if (st == HULL_OK)
        out = keep(f, buf_view(b));
    else
        (void)ir_fail(f->fm->recipes, st);
    buf_fini(b);
    return out;
}

static val leaf(front *f, graph *g, str name, hull_dtype dt, const dim *d,
                uint32_t rank)
{
    type t = type_tensor(f->fm->recipes, dt, d, rank);

    return op_weight(g, keep(f, name), &t);
}

/* "<a><b>" as a leaf; one weight node per name. */
static hull_status finish(front *f, str name, graph *g, val v, uint8_t tier)
{
    graph_result(g, v);
    TRY(ir_status(f->fm->recipes));
    front_add_recipe(f, name, g, tier);
    return ir_status(f->m);
}

static void entry_dims(const weight_entry *e, dim *d)
{
    for (uint32_t i = 0; i < e->rank; i++)
        d[i] = e->shape[i];
}

/* ---- moves --------------------------------------------------------------- */

hull_status recipe_transpose(front *f, str name, str from, uint8_t tier)
{
    static const int64_t perm[2] = {1, 0};
    const weight_entry *e = goal(f, name);

    if (!e || e->rank != 2)
        return HULL_OK;
    graph *g = front_recipe(f);
    dim d[2] = {e->shape[1], e->shape[0]};
    val v = leaf(f, g, from, e->dtype, d, 2);
    return finish(f, name, g, op_transpose(g, v, perm, 2), tier);
}

static const weight_entry *in_checkpoint(const front *f, str name)
{
    size_t n = f->checkpoint ? weights_count(f->checkpoint) : 0;
    const weight_entry *found = NULL;

    if (n == 0)
        return NULL;
    found = weights_find(f->checkpoint, name);
    for (size_t i = 0; !found && i < n; i++) {
        const weight_entry *e = weights_at(f->checkpoint, i);

        if (e->name.n > name.n && e->name.p[e->name.n - name.n - 1] == '.' &&
            memcmp(e->name.p + e->name.n - name.n, name.p, name.n) == 0)
            found = e;
    }
    return found;
}

hull_status recipe_reshape(front *f, str name, str from, uint8_t tier)
{
    const weight_entry *e = goal(f, name), *c = in_checkpoint(f, from);
    dim to[HULL_MAX_RANK], source[HULL_MAX_RANK];
    uint32_t rank = 0;

    if (!e)
        return HULL_OK;
    entry_dims(e, to);
    if (c && c->len == e->len && c->dtype == e->dtype) {
        entry_dims(c, source);
        rank = c->rank;
    } else {
        for (uint32_t i = 0; i < e->rank; i++)
            if (e->shape[i] != 1)
                source[rank++] = e->shape[i];
        if (rank > 1) { /* no size-1 axes to guess about: the same shape */
            memcpy(source, to, sizeof source);
            rank = e->rank;
        }
    }
    graph *g = front_recipe(f);
    val v = leaf(f, g, from, e->dtype, source, rank);
    bool same = rank == e->rank &&
                memcmp(source, to, rank * sizeof *source) == 0;
    return finish(f, name, g, same ? v : op_reshape(g, v, to, e->rank), tier);
}

/* ---- batch norm ---------------------------------------------------------- */

/* gamma / sqrt(var + eps), n channels. */
static val bn_scale(front *f, graph *g, const bn_names *bn, hull_dtype dt,
                    dim n)
{
    val v = leaf(f, g, bn->var, dt, &n, 1);

    v = op_binary(g, OP_add, v, op_scalar(g, dt, bn->eps));
    v = op_unary(g, OP_sqrt, v);
    val gamma = bn->gamma.n ? leaf(f, g, bn->gamma, dt, &n, 1)
                            : op_scalar(g, dt, 1.0);
    return op_binary(g, OP_div, gamma, v);
}

hull_status recipe_bn_weight(front *f, str name, const conv_names *c,
                             const bn_names *bn, uint8_t tier)
{
    const weight_entry *e = goal(f, name);
    dim d[HULL_MAX_RANK], s[HULL_MAX_RANK];

    if (!e || e->rank < 2 || !dtype_is_float(e->dtype))
        return HULL_OK;
    /* A transposed convolution's weight is [in, out / groups, *]. */
    int64_t n = c->transposed ? e->shape[1] : e->shape[0];
    if (c->transposed && c->groups != 1)
        return HULL_OK;
    entry_dims(e, d);
    for (uint32_t i = 0; i < e->rank; i++)
        s[i] = 1;
    s[c->transposed ? 1 : 0] = n;
    graph *g = front_recipe(f);
    val w = leaf(f, g, c->weight, e->dtype, d, e->rank);
    val by = op_reshape(g, bn_scale(f, g, bn, e->dtype, n), s, e->rank);
    return finish(f, name, g, op_binary(g, OP_mul, w, by), tier);
}

hull_status recipe_bn_bias(front *f, str name, const conv_names *c,
                           const bn_names *bn, uint8_t tier)
{
    const weight_entry *e = goal(f, name);

    if (!e || e->rank != 1 || !dtype_is_float(e->dtype))
        return HULL_OK;
    dim n = e->shape[0];
    graph *g = front_recipe(f);
    val s = bn_scale(f, g, bn, e->dtype, n);
    val mean = leaf(f, g, bn->mean, e->dtype, &n, 1);
    val b = c->bias.n ? leaf(f, g, c->bias, e->dtype, &n, 1)
                      : op_scalar(g, e->dtype, 0.0);
    val y = op_binary(g, OP_mul, op_binary(g, OP_sub, b, mean), s);
    if (bn->beta.n)
        y = op_binary(g, OP_add, y, leaf(f, g, bn->beta, e->dtype, &n, 1));
    return finish(f, name, g, y, tier);
}

/* "<parent>.<child><role>" */
static str join(front *f, str parent, str child, const char *role)
{
    buf b;

    buf_init(&b, 1 << 16);
    buf_str(&b, parent);
    if (parent.n && child.n)
        buf_putc(&b, '.');
    buf_str(&b, child);
    buf_puts(&b, role);
    return keep_buf(f, &b);
}

/* Both tensors of one convolution with the batch norm <parent>.<child>; the
 * bias with and without a bias of the convolution's own. */
static hull_status guess(front *f, str weight, str bias, conv_names c,
                         str parent, str child, uint8_t tier)
{
    bn_names bn = {
        .gamma = join(f, parent, child, ".weight"),
        .beta = join(f, parent, child, ".bias"),
        .mean = join(f, parent, child, ".running_mean"),
        .var = join(f, parent, child, ".running_var"),
        .eps = 1e-5,
    };

    c.weight = join(f, c.path, str_of(""), ".weight");
    TRY(recipe_bn_weight(f, weight, &c, &bn, tier));
    if (bias.n == 0)
        return HULL_OK;
    c.bias = join(f, c.path, str_of(""), ".bias");
    TRY(recipe_bn_bias(f, bias, &c, &bn, tier));
    c.bias = str_of("");
    return recipe_bn_bias(f, bias, &c, &bn, (uint8_t)(tier + 1));
}

/* Names that modules give to the norm of a convolution. */
typedef struct candidates {
    str names[8];
    uint32_t n;
} candidates;

static void add_candidate(front *f, candidates *c, str stem, str number,
                          str last)
{
    buf b;

    buf_init(&b, 1 << 16);
    buf_str(&b, stem);
    buf_str(&b, number);
    str name = keep_buf(f, &b);
    bool known = name.n == 0 || str_eq(name, last) ||
                 c->n == COUNT_OF(c->names);
    for (uint32_t i = 0; i < c->n && !known; i++)
        known = str_eq(c->names[i], name);
    if (!known)
        c->names[c->n++] = name;
}

/* "conv1" -> bn1, norm1, b1; "conv_dw" -> bn_dw; "3" -> "4". */
static void conventional(front *f, str last, candidates *c)
{
    int64_t k = 0;
    size_t digits = last.n;

    while (digits > 0 && last.p[digits - 1] >= '0' && last.p[digits - 1] <= '9')
        digits--;
    str number = {last.p + digits, last.n - digits}, none = {"", 0};
    if (digits == 0) {
        char text[24];
        int n = 0;

        if (str_to_i64(&k, last) && k < INT32_MAX)
            n = snprintf(text, sizeof text, "%" PRId64, k + 1);
        add_candidate(f, c, (str){text, (size_t)n}, none, last);
        return;
    }
    for (size_t i = 0; i + 4 <= last.n; i++) {
        if (memcmp(last.p + i, "conv", 4) != 0)
            continue;
        buf b;
        buf_init(&b, 1 << 16);
        buf_put(&b, last.p, i);
        buf_puts(&b, "bn");
        buf_put(&b, last.p + i + 4, last.n - i - 4);
        add_candidate(f, c, keep_buf(f, &b), none, last);
        break;
    }
    add_candidate(f, c, str_of("bn"), number, last);
    add_candidate(f, c, str_of("norm"), number, last);
    if (number.n)
        add_candidate(f, c, str_of("b"), number, last);
}

hull_status recipe_guess_bn(front *f, str weight, str bias, const conv_names *c,
                            str parent, str next)
{
    size_t skip = parent.n ? parent.n + 1 : 0;
    str last = {c->path.p + skip, c->path.n - skip};
    candidates names = {.n = 0};
    size_t dot = parent.n;

    conventional(f, last, &names);
    add_candidate(f, &names, next, str_of(""), last);
    for (uint32_t i = 0; i < names.n; i++)
        TRY(guess(f, weight, bias, *c, parent, names.names[i], TIER_NAMED));
    TRY(guess(f, weight, bias, *c, parent, str_of("*"), TIER_ANY));
    if (parent.n == 0)
        return HULL_OK;
    /* A stem's norm stands beside the stem. */
    while (dot > 0 && parent.p[dot - 1] != '.')
        dot--;
    parent.n = dot ? dot - 1 : 0;
    return guess(f, weight, bias, *c, parent, str_of("*"), TIER_ANY);
}

/* ---- recurrent ----------------------------------------------------------- */

bool rnn_names_of(str parameter, rnn_names *out)
{
    static const char *const roles[] = {".weight_ih_l", ".weight_hh_l",
                                        ".bias_ih_l", ".bias_hh_l"};

    for (size_t r = 0; r < COUNT_OF(roles); r++) {
        size_t n = strlen(roles[r]);

        for (size_t i = 0; i + n < parameter.n; i++) {
            if (memcmp(parameter.p + i, roles[r], n) != 0)
                continue;
            str layer = {parameter.p + i + n, parameter.n - i - n}, rest;
            out->path = (str){parameter.p, i};
            return str_to_u64(&out->layer, str_split(layer, '_', &rest));
        }
    }
    return false;
}

static str rnn_leaf(front *f, const rnn_names *r, const char *role,
                    uint32_t direction)
{
    buf b;

    buf_init(&b, 1 << 16);
    buf_str(&b, r->path);
    buf_printf(&b, "%s%s_l%" PRIu64 "%s", r->path.n ? "." : "", role, r->layer,
               direction ? "_reverse" : "");
    return keep_buf(f, &b);
}

/* Blocks of rows of x in ONNX's order: torch has ifgo and rzn, ONNX iofc and
 * zrh. */
static val reorder(graph *g, val x, uint32_t gates, int64_t hidden)
{
    static const uint8_t lstm[4] = {0, 3, 1, 2}, gru[3] = {1, 0, 2};
    val parts[4];

    if (gates == 1)
        return x;
    for (uint32_t i = 0; i < gates; i++) {
        int64_t at = (gates == 4 ? lstm[i] : gru[i]) * hidden;
        parts[i] = op_slice(g, x, 0, at, at + hidden, 1);
    }
    return op_concat(g, parts, gates, 0);
}

static val rnn_direction(front *f, graph *g, const weight_entry *e,
                         const rnn_names *r, uint32_t i, uint32_t gates,
                         uint32_t direction)
{
    int64_t rows = i == 3 ? e->shape[1] / 2 : e->shape[1];
    dim d[2] = {rows, e->rank == 3 ? e->shape[2] : 0};
    val v = 0;

    if (i < 3) {
        v = leaf(f, g, rnn_leaf(f, r, i == 1 ? "weight_ih" : "weight_hh",
                                direction), e->dtype, d, 2);
        v = reorder(g, v, gates, rows / gates);
    } else {
        val two[2];

        two[0] = leaf(f, g, rnn_leaf(f, r, "bias_ih", direction), e->dtype, d,
                      1);
        two[1] = leaf(f, g, rnn_leaf(f, r, "bias_hh", direction), e->dtype, d,
                      1);
        two[0] = reorder(g, two[0], gates, rows / gates);
        two[1] = reorder(g, two[1], gates, rows / gates);
        v = op_concat(g, two, 2, 0);
    }
    dim stacked[3] = {1, e->shape[1], d[1]};
    return op_reshape(g, v, stacked, e->rank);
}

hull_status recipe_rnn(front *f, str name, const onnx_node *n, uint32_t i,
                       const rnn_names *r)
{
    const weight_entry *e = goal(f, name);
    uint32_t gates = str_is(n->op, "LSTM") ? 4 : str_is(n->op, "GRU") ? 3 : 1;
    val v[2];

    if (!e || e->rank != (i == 3 ? 2u : 3u) || e->shape[0] < 1 ||
        e->shape[0] > 2 || e->shape[1] % (gates * (i == 3 ? 2 : 1)) != 0)
        return HULL_OK;
    uint32_t directions = (uint32_t)e->shape[0];
    graph *g = front_recipe(f);
    for (uint32_t d = 0; d < directions; d++)
        v[d] = rnn_direction(f, g, e, r, i, gates, d);
    return finish(f, name, g, directions == 2 ? op_concat(g, v, 2, 0) : v[0],
                  TIER_NAMED);
}
