/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lower.c - a block for this CPU. Products with constant weights get them in
 * panels; for few rows of x they stay [n, k] as they are, so that a refit is
 * another pointer, and f16 and bf16 stay narrow. Convolutions work on channels
 * last; the transposes that this needs sink and cancel, and what follows a
 * product goes into its epilogue. Packing reads weights alone, so it lands in
 * the prepare program and runs again at every refit.
 */
#include "backend/cpu/lower.h"
#include "ops/family.h"

static int64_t decide(const lowering *l, const cpu_site *s)
{
    if (l->way != NULL && l->way->ask == s->ask)
        return l->way->value;
    return cpu_tuned(l->d, l->o, l->notes, s)->value;
}

/* Axis `axis` of w in panels. */
static val pack(lowering *l, val w, int64_t axis, int64_t groups)
{
    node *p = node_new(l->g, OP_pack);

    node_input(l->g, p, w);
    node_int(l->g, p, "axis", axis);
    node_int(l->g, p, "tile", l->tile);
    node_int(l->g, p, "groups", groups);
    return node_add(l->g, p);
}

bool lower_is_weight(const lowering *l, val w)
{
    const type *t = graph_type(l->g, w);

    return !value_is_runtime(&l->f, w) && t->dtype == HULL_F32 &&
           has_plain_sizes(t);
}

/* ---- matmul -------------------------------------------------------------- */

static val pack_matrix(lowering *l, val w, bool trans);

/* Weights side by side, each of whole panels: the panels of each one, which are
 * made where they belong. 0: w is no such thing. */
static val pack_each(lowering *l, val w, bool trans)
{
    const node *c = graph_def(l->g, w);
    int64_t axis = trans ? 0 : 1;
    val panels[8];

    if (c == NULL || c->op != OP_concat || attr_int(c, "axis") != axis ||
        c->n_in > COUNT_OF(panels))
        return 0;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (graph_type(l->g, c->in[i])->dims[axis] % l->tile != 0)
            return 0;
    for (uint32_t i = 0; i < c->n_in; i++)
        panels[i] = pack_matrix(l, c->in[i], trans);
    return op_concat(l->g, panels, c->n_in, 0);
}

/* w [k, n], or [n, k] when transposed, as panels [p, k, tile]. */
static val pack_matrix(lowering *l, val w, bool trans)
{
    val each = pack_each(l, w, trans);

    return each != 0 ? each : pack(l, w, trans ? 0 : 1, 1);
}

/* The f16 or bf16 weight that a cast makes w of, else w: it stays narrow, and
 * kernels widen it. */
static val narrow_source(const lowering *l, val w, bool *trans)
{
    const node *cast = graph_def(l->g, w), *turn;
    val v;

    if (cast == NULL || cast->op != OP_cast ||
        graph_type(l->g, w)->dtype != HULL_F32)
        return w;
    v = graph_resolve(l->g, cast->in[0]);
    if (!dtype_is_half(graph_type(l->g, v)->dtype))
        return w;
    turn = graph_def(l->g, v);
    if (turn != NULL && turn->op == OP_transpose &&
        graph_type(l->g, v)->rank == 2 &&
        node_attr(turn, "perm")->u.ints.p[0] == 1) {
        *trans = !*trans;
        v = graph_resolve(l->g, turn->in[0]);
    }
    return v;
}

/* Is w to be read where it lies, not in panels? */
static bool stays_plain(const lowering *l, const type *x, const type *w,
                        bool trans)
{
    cpu_site s;

    cpu_site_weight(&s, &l->typical, x, w, trans, l->level);
    return decide(l, &s) != 0;
}

/* plain: w is read as [n, k], where it lies. */
static val product(lowering *l, val x, val w, bool trans, bool plain, val bias,
                   str label)
{
    static const int64_t swap[] = {1, 0};
    int64_t columns = graph_type(l->g, w)->dims[trans ? 0 : 1];
    node *m = node_new(l->g, OP_gemm);

    node_input(l->g, m, x);
    node_input(l->g, m, !plain  ? pack_matrix(l, w, trans)
                        : trans ? w
                                : op_transpose(l->g, w, swap, 2));
    if (bias != 0)
        node_input(l->g, m, bias);
    node_int(l->g, m, "n", columns);
    node_int(l->g, m, "tile", plain ? 1 : l->tile);
    if (m != NULL)
        m->label = label;
    return node_add(l->g, m);
}

val lower_product(lowering *l, val x, val w, bool trans, val bias, str label)
{
    bool plain = stays_plain(l, graph_type(l->g, x), graph_type(l->g, w),
                             trans);

    return product(l, x, w, trans, plain, bias, label);
}

static val as_vector(lowering *l, val v, int64_t columns)
{
    const type *t = graph_type(l->g, v);
    dim size = columns;

    return t->rank == 0 || t->rank == 1 ? v : op_reshape(l->g, v, &size, 1);
}

/* x times dequantize(q): the weight stays bytes, which kernels widen, and what
 * its columns have in common is multiplied into the sums:
 *
 *   (x q - sum(x) zero) scale + bias */
static bool lower_bytes(lowering *l, node *n)
{
    const node *q = graph_def(l->g, n->in[1]);
    const type *x = graph_type(l->g, n->in[0]), *w, *s;
    bool trans = attr_bool(n, "trans_b"), plain;
    int64_t last = x->rank - 1, columns;
    val y, zero;

    if (q == NULL || q->op != OP_dequantize || attr_bool(n, "trans_a") ||
        x->rank < 1 || x->dtype != HULL_F32 ||
        !value_is_runtime(&l->f, n->in[0]) ||
        value_is_runtime(&l->f, n->in[1]))
        return false;
    w = graph_type(l->g, q->in[0]);
    s = graph_type(l->g, q->in[1]);
    zero = q->n_in > 2 ? graph_resolve(l->g, q->in[2]) : 0;
    if (!dtype_is_byte(w->dtype) || w->rank != 2 || !has_plain_sizes(w) ||
        s->dtype != HULL_F32 ||
        ((s->rank > 0 || (zero != 0 && graph_type(l->g, zero)->rank > 0)) &&
         node_axis(l->g, q) != (trans ? 0u : 1u)))
        return false;
    columns = w->dims[trans ? 0 : 1];
    plain = stays_plain(l, x, w, trans);
    y = product(l, n->in[0], graph_resolve(l->g, q->in[0]), trans, plain, 0,
                n->label);
    if (zero != 0) {
        node *sum = node_new(l->g, OP_reduce_sum);

        node_input(l->g, sum, n->in[0]);
        node_ints(l->g, sum, "axes", &last, 1);
        node_bool(l->g, sum, "keep", x->rank > 1);
        zero = op_cast(l->g, as_vector(l, zero, columns), HULL_F32);
        y = op_binary(l->g, OP_sub, y,
                      op_binary(l->g, OP_mul, node_add(l->g, sum), zero));
    }
    y = op_binary(l->g, OP_mul, y, as_vector(l, q->in[1], columns));
    if (n->n_in > 2 && n->in[2] != 0)
        y = op_binary(l->g, OP_add, y, n->in[2]);
    graph_replace(l->g, n->out[0], y);
    return true;
}

static void lower_matmul(lowering *l, node *n)
{
    const type *x = graph_type(l->g, n->in[0]), *w, *b;
    bool trans = attr_bool(n, "trans_b"), plain;
    val weight = narrow_source(l, n->in[1], &trans);

    if (lower_bytes(l, n))
        return;
    w = graph_type(l->g, weight);
    if (attr_bool(n, "trans_a") || w->rank != 2 || x->rank < 1 ||
        x->dtype != HULL_F32 || !value_is_runtime(&l->f, n->in[0]) ||
        !(lower_is_weight(l, weight) ||
          (dtype_is_half(w->dtype) && !value_is_runtime(&l->f, weight) &&
           has_plain_sizes(w))))
        return;
    plain = stays_plain(l, x, w, trans);
    if (n->n_in > 2 && n->in[2] != 0) {
        b = graph_type(l->g, n->in[2]);
        if (b->rank != 1 || b->dims[0] != w->dims[trans ? 0 : 1])
            return;
    }
    graph_replace(l->g, n->out[0],
                  product(l, n->in[0], weight, trans, plain,
                          n->n_in > 2 ? n->in[2] : 0, n->label));
}

/* ---- conv ---------------------------------------------------------------- */

/* w [c, 1, *] as [taps, c]. */
static val pack_depthwise(lowering *l, val w, int64_t taps)
{
    static const int64_t perm[] = {1, 0};
    dim flat[2] = {graph_type(l->g, w)->dims[0], taps};

    return op_transpose(l->g, op_reshape(l->g, w, flat, 2), perm, 2);
}

static bool is_lowered_conv(const lowering *l, const node *n, bool *single)
{
    const type *w = graph_type(l->g, n->in[1]);
    const type *x = graph_type(l->g, n->in[0]);
    int64_t groups = attr_int(n, "groups");

    *single = groups > 1 && groups == w->dims[0] && w->dims[1] == 1;
    return groups >= 1 && w->dims[0] % groups == 0 && x->rank >= 3 &&
           x->rank <= 5 &&
           x->dtype == HULL_F32 && lower_is_weight(l, n->in[1]) &&
           value_is_runtime(&l->f, n->in[0]) &&
           (x->dims[1] == w->dims[1] * groups);
}

/* How this convolution is done: tiles of m x m places by Winograd, 0: a direct
 * one, below: the node stays, for the kernel of planes. */
static int64_t conv_way(const lowering *l, const node *n)
{
    cpu_site s;

    cpu_site_conv(&s, &l->typical, l->g, n, l->level,
                  option_on(l->o, OPT_winograd));
    return decide(l, &s);
}

/* The convolution of x, channels last; the caller adds what both kinds
 * share. */
static node *winograd_conv(lowering *l, const node *n, val x, int64_t m)
{
    const attr *pad = node_attr(n, "pad");
    node *u = node_new(l->g, OP_winograd_weight), *c;

    node_input(l->g, u, n->in[1]);
    node_int(l->g, u, "m", m);
    node_int(l->g, u, "tile", l->tile);
    c = node_new(l->g, OP_conv_winograd);
    node_input(l->g, c, x);
    node_input(l->g, c, node_add(l->g, u));
    node_int(l->g, c, "m", m);
    node_ints(l->g, c, "pad", pad->u.ints.p, pad->u.ints.n);
    return c;
}

static node *direct_conv(lowering *l, const node *n, val x, bool single)
{
    static const char *const lists[] = {"stride", "pad", "dilation"};
    const type *w = graph_type(l->g, n->in[1]);
    int64_t kernel[HULL_MAX_RANK], taps = 1, groups = attr_int(n, "groups");
    node *c = node_new(l->g, OP_conv_nhwc);

    for (uint32_t i = 0; i + 2 < w->rank; i++) {
        kernel[i] = w->dims[2 + i];
        taps *= kernel[i];
    }
    node_input(l->g, c, x);
    node_input(l->g, c, single ? pack_depthwise(l, n->in[1], taps)
                               : pack(l, n->in[1], 0, groups));
    node_int(l->g, c, "groups", groups);
    node_ints(l->g, c, "kernel", kernel, w->rank - 2);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const attr *a = node_attr(n, lists[i]);

        node_ints(l->g, c, lists[i], a->u.ints.p, a->u.ints.n);
    }
    return c;
}

/* Channels last and back. */
static void last_perms(uint32_t rank, int64_t *perm, int64_t *back)
{
    perm[0] = back[0] = 0;
    back[1] = rank - 1;
    perm[rank - 1] = 1;
    for (uint32_t i = 0; i + 2 < rank; i++) {
        perm[1 + i] = 2 + i;
        back[2 + i] = 1 + i;
    }
}

static void lower_conv(lowering *l, node *n)
{
    const type *w = graph_type(l->g, n->in[1]);
    int64_t perm[HULL_MAX_RANK], back[HULL_MAX_RANK], m, columns = w->dims[0];
    uint32_t rank = w->rank;
    bool single;
    node *c;
    val x;

    if (!is_lowered_conv(l, n, &single))
        return;
    m = conv_way(l, n);
    if (m < 0)
        return;
    last_perms(rank, perm, back);
    x = op_transpose(l->g, n->in[0], perm, rank);
    c = m != 0 ? winograd_conv(l, n, x, m) : direct_conv(l, n, x, single);
    if (n->n_in > 2)
        node_input(l->g, c, n->in[2]);
    node_int(l->g, c, "n", columns);
    node_int(l->g, c, "tile", l->tile);
    if (c != NULL)
        c->label = n->label;
    graph_replace(l->g, n->out[0],
                  op_transpose(l->g, node_add(l->g, c), back, rank));
}

/* Are all elements of a list `v`? An empty one stands for that. */
static bool all_are(const node *n, const char *list, int64_t v)
{
    const attr *a = node_attr(n, list);

    for (uint32_t i = 0; i < a->u.ints.n; i++)
        if (a->u.ints.p[i] != v)
            return false;
    return true;
}

/* w [c, m, *] as panels of a matrix [c, taps * m]; the bias as often. */
static void pack_spread(lowering *l, val *w, val *bias, int64_t taps)
{
    static const int64_t perm[] = {0, 2, 1};
    const type *t = graph_type(l->g, *w);
    int64_t c = t->dims[0], m = t->dims[1];
    dim apart[3] = {c, m, taps}, matrix[2] = {c, taps * m};
    dim each[2] = {taps, m}, all[1] = {taps * m};

    *w = op_transpose(l->g, op_reshape(l->g, *w, apart, 3), perm, 3);
    *w = pack_matrix(l, op_reshape(l->g, *w, matrix, 2), false);
    if (*bias != 0)
        *bias = op_reshape(l->g, op_expand(l->g, *bias, each, 2), all, 1);
}

/* A conv_transpose whose stride is its kernel writes every place once: a gemm
 * for each pixel, [b, h, w, kh * kw * m], and the pixels' pieces put together.
 * Other ones stay with the reference kernel. */
static void lower_conv_transpose(lowering *l, node *n)
{
    static const int64_t mix[] = {0, 1, 3, 2, 4, 5};
    const type *w = graph_type(l->g, n->in[1]), *x = graph_type(l->g, n->in[0]);
    const attr *stride = node_attr(n, "stride");
    int64_t perm[4], back[4], kh, kw, m;
    val panels = n->in[1], bias = n->n_in > 2 ? n->in[2] : 0, y;
    dim apart[6], image[4];
    node *p;

    if (w->rank != 4 || attr_int(n, "groups") != 1 || !all_are(n, "pad", 0) ||
        !all_are(n, "out_pad", 0) || !all_are(n, "dilation", 1) ||
        !lower_is_weight(l, n->in[1]) || !value_is_runtime(&l->f, n->in[0]) ||
        stride->u.ints.n != 2 || stride->u.ints.p[0] != w->dims[2] ||
        stride->u.ints.p[1] != w->dims[3] || w->dims[0] != x->dims[1])
        return;
    m = w->dims[1];
    kh = w->dims[2];
    kw = w->dims[3];
    apart[0] = image[0] = x->dims[0];
    apart[1] = x->dims[2];
    apart[2] = x->dims[3];
    apart[3] = kh;
    apart[4] = kw;
    apart[5] = image[3] = m;
    image[1] = dim_mul(l->g->m, apart[1], kh);
    image[2] = dim_mul(l->g->m, apart[2], kw);
    last_perms(4, perm, back);
    pack_spread(l, &panels, &bias, kh * kw);
    y = op_transpose(l->g, n->in[0], perm, 4);
    p = node_new(l->g, OP_gemm);
    node_input(l->g, p, y);
    node_input(l->g, p, panels);
    node_input(l->g, p, bias);
    node_int(l->g, p, "n", kh * kw * m);
    node_int(l->g, p, "tile", l->tile);
    if (p != NULL)
        p->label = n->label;
    y = op_reshape(l->g, node_add(l->g, p), apart, 6);
    y = op_reshape(l->g, op_transpose(l->g, y, mix, 6), image, 4);
    graph_replace(l->g, n->out[0], op_transpose(l->g, y, back, 4));
}

/* adaptive_avg_pool to 1 x 1 is a mean. */
static void lower_global_pool(lowering *l, node *n)
{
    const attr *out = node_attr(n, "out");
    uint32_t rank = graph_type(l->g, n->in[0])->rank;
    int64_t axes[HULL_MAX_RANK];
    node *r;

    for (uint32_t i = 0; i < out->u.ints.n; i++) {
        if (out->u.ints.p[i] != 1)
            return;
        axes[i] = rank - out->u.ints.n + i;
    }
    r = node_new(l->g, OP_reduce_mean);
    node_input(l->g, r, n->in[0]);
    node_ints(l->g, r, "axes", axes, out->u.ints.n);
    node_bool(l->g, r, "keep", true);
    if (r != NULL)
        r->label = n->label;
    graph_replace(l->g, n->out[0], node_add(l->g, r));
}

static hull_status lower_all(lowering *l)
{
    graph *g = l->g;
    node *next;

    for (node *n = graph_first(g); n != NULL; n = next) {
        next = graph_next(g, n);
        graph_rewrite_at(g, n);
        if (n->op == OP_matmul)
            lower_matmul(l, n);
        else if (n->op == OP_lstm || n->op == OP_gru || n->op == OP_rnn)
            lower_rnn(l, n);
        else if (n->op == OP_conv)
            lower_conv(l, n);
        else if (n->op == OP_conv_transpose)
            lower_conv_transpose(l, n);
        else if (n->op == OP_adaptive_avg_pool)
            lower_global_pool(l, n);
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    TRY(layout_sink(g));
    TRY(int_epilogues(g));
    TRY(fuse_epilogue(g));
    if (l->level != CPU_ANY)
        TRY(fuse_chains(g));
    return pass_hoist(g); /* packing for the bodies */
}

static hull_status lower(device *d, graph *g, const options *o,
                         const notebook *notes, const cpu_choice *way)
{
    const cpu_device *c = (const cpu_device *)(const void *)d;
    lowering l = {.g = g, .tile = cpu_tile(c->has.level),
                  .level = c->has.level, .way = way, .d = d, .o = o,
                  .notes = notes};
    hull_status st = HULL_OK;

    TRY(int_products(g, c->has.vnni ? 32 : 16, c->has.vnni ? 4 : 2));
    TRY(group_products(g));
    TRY(lower_half(g, c));
    TRY(lower_transposed(g));
    TRY(lower_attention(g));
    TRY_OUT(cpu_typical_sizes(&l.typical, g));
    TRY_OUT(graph_facts_get(&l.f, g));
    st = lower_all(&l);
out:
    dim_env_fini(&l.typical);
    return st;
}

hull_status cpu_lower(device *d, graph *g, const options *o,
                      const notebook *notes)
{
    return lower(d, g, o, notes, NULL);
}

hull_status cpu_lower_as(device *d, graph *g, const options *o,
                         const cpu_choice *way)
{
    return lower(d, g, o, NULL, way);
}
