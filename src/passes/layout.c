/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * layout.c - transposes sink: f(transpose(x)) becomes transpose(f(x)) for every
 * f that can work on the other order of axes, and two that meet are one, or
 * none. So a network whose convolutions were lowered to channels last, with a
 * transpose on either side of each, keeps those at its inputs and outputs.
 * Nothing is computed in another order of sums but for reductions over axes
 * that changed places.
 */
#include "passes/pass.h"

#include <string.h>

typedef struct sinker {
    graph *g;
    graph_facts f;
    const region *in; /* of the node at hand: no transpose sinks into a body */
} sinker;

/* v = transpose(src, perm). */
typedef struct moved {
    val src;
    int64_t perm[HULL_MAX_RANK];
    uint32_t rank;
} moved;

static bool moved_from(const sinker *s, val v, moved *out)
{
    const graph *g = s->g;
    const node *def = v != 0 ? graph_def(g, v) : NULL;
    const attr *a;

    if (def == NULL || def->op != OP_transpose || def->parent != s->in)
        return false;
    a = node_attr(def, "perm");
    *out = (moved){.src = graph_resolve(g, def->in[0]), .rank = a->u.ints.n};
    for (uint32_t i = 0; i < out->rank; i++)
        out->perm[i] = a->u.ints.p[i] < 0 ? a->u.ints.p[i] + out->rank
                                          : a->u.ints.p[i];
    return true;
}

static bool same_perm(const moved *a, const moved *b)
{
    return a->rank == b->rank &&
           memcmp(a->perm, b->perm, a->rank * sizeof *a->perm) == 0;
}

static bool is_identity(const int64_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

/* n again with the given operands; attributes are taken over. */
static node *again(sinker *s, const node *n, const val *in)
{
    node *c = node_new(s->g, n->op);
    const op_info *info = op_get(n->op);

    if (c == NULL)
        return NULL;
    c->label = n->label;
    for (uint32_t i = 0; i < n->n_in; i++)
        node_input(s->g, c, in[i]);
    for (uint32_t i = 0; i < info->n_attrs; i++)
        c->attrs[i] = n->attrs[i];
    return c;
}

static bool replace_moved(sinker *s, const node *n, val y, const moved *m)
{
    if (y != 0)
        graph_replace(s->g, n->out[0],
                      op_transpose(s->g, y, m->perm, m->rank));
    return ir_status(s->g->m) == HULL_OK;
}

/* ---- rules: true when the node was rewritten ----------------------------- */

static bool sink_transpose(sinker *s, const node *n)
{
    moved inner, outer;
    int64_t both[HULL_MAX_RANK];

    if (!moved_from(s, n->out[0], &outer))
        return false;
    if (is_identity(outer.perm, outer.rank)) {
        graph_replace(s->g, n->out[0], n->in[0]);
        return true;
    }
    if (!moved_from(s, n->in[0], &inner))
        return false;
    for (uint32_t i = 0; i < outer.rank; i++)
        both[i] = inner.perm[outer.perm[i]];
    graph_replace(s->g, n->out[0],
                  is_identity(both, outer.rank)
                      ? inner.src
                      : op_transpose(s->g, inner.src, both, outer.rank));
    return true;
}

/* v, which broadcasts to m's rank, as seen before the transpose m; 0 when that
 * would move a large value of the run. */
static val before(sinker *s, val v, const moved *m)
{
    const type *t = graph_type(s->g, v);
    int64_t inverse[HULL_MAX_RANK], one;
    dim dims[HULL_MAX_RANK];
    moved own;
    bool small = true;

    if (moved_from(s, v, &own) && same_perm(&own, m))
        return own.src;
    for (uint32_t i = 0; i < t->rank; i++)
        small = small && dim_is_int(s->g->m, t->dims[i], &one) && one == 1;
    if (small)
        return t->rank <= m->rank ? op_reshape(s->g, v, NULL, 0) : 0;
    if (value_is_runtime(&s->f, v) || t->rank > m->rank)
        return 0;
    for (uint32_t i = 0; i < m->rank; i++) {
        uint32_t lead = m->rank - t->rank;

        dims[i] = i < lead ? 1 : t->dims[i - lead];
        inverse[m->perm[i]] = i;
    }
    if (t->rank < m->rank)
        v = op_reshape(s->g, v, dims, m->rank);
    return op_transpose(s->g, v, inverse, m->rank);
}

/* The first operand that is a transpose of the result's rank. */
static bool any_moved(sinker *s, const node *n, moved *out)
{
    uint32_t rank = graph_type(s->g, n->out[0])->rank;

    for (uint32_t i = 0; i < n->n_in; i++)
        if (moved_from(s, n->in[i], out) && out->rank == rank)
            return true;
    return false;
}

static bool sink_pointwise(sinker *s, const node *n)
{
    moved m;
    val in[3];

    if (n->n_in > 3 || n->n_out != 1 || !any_moved(s, n, &m))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        in[i] = before(s, n->in[i], &m);
        if (in[i] == 0)
            return false;
    }
    return replace_moved(s, n, node_add(s->g, again(s, n, in)), &m);
}

static bool sink_pool(sinker *s, const node *n)
{
    moved m;
    node *p;
    uint32_t last;

    if (!moved_from(s, n->in[0], &m) || m.perm[0] != 0)
        return false;
    last = m.rank - 1;
    for (uint32_t i = 1; i < m.rank; i++) /* channels last to channels first */
        if (m.perm[i] != (i == 1 ? last : i - 1))
            return false;
    p = node_new(s->g, n->op == OP_max_pool ? OP_max_pool_nhwc
                                            : OP_avg_pool_nhwc);
    if (p == NULL)
        return false;
    p->label = n->label;
    node_input(s->g, p, m.src);
    for (uint32_t i = 0; i < op_get(n->op)->n_attrs; i++)
        p->attrs[i] = n->attrs[i]; /* the schemas are the same */
    return replace_moved(s, n, node_add(s->g, p), &m);
}

static bool sink_concat(sinker *s, const node *n)
{
    moved first, m;
    val *in = arena_array(&s->g->m->a, n->n_in, sizeof *in);
    int64_t axis = attr_int(n, "axis");
    node *c;

    if (in == NULL || !moved_from(s, n->in[0], &first))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (!moved_from(s, n->in[i], &m) || !same_perm(&m, &first))
            return false;
        in[i] = m.src;
    }
    axis = first.perm[axis < 0 ? axis + first.rank : axis];
    c = again(s, n, in);
    node_int(s->g, c, "axis", axis);
    return replace_moved(s, n, node_add(s->g, c), &first);
}

static bool sink_softmax(sinker *s, const node *n)
{
    int64_t axis = attr_int(n, "axis");
    moved m;
    node *c;

    if (!moved_from(s, n->in[0], &m))
        return false;
    c = again(s, n, &m.src);
    node_int(s->g, c, "axis", m.perm[axis < 0 ? axis + m.rank : axis]);
    return replace_moved(s, n, node_add(s->g, c), &m);
}

/* What is left of m when the marked axes of its result are dropped. */
static moved without(const moved *m, const bool *gone)
{
    moved out = {.src = m->src};

    for (uint32_t i = 0; i < m->rank; i++) {
        int64_t below = 0;

        if (gone[i])
            continue;
        for (uint32_t k = 0; k < m->rank; k++)
            below += !gone[k] && m->perm[k] < m->perm[i];
        out.perm[out.rank++] = below;
    }
    return out;
}

static bool sink_reduce(sinker *s, const node *n)
{
    const attr *a = node_attr(n, "axes");
    bool gone[HULL_MAX_RANK] = {false};
    int64_t axes[HULL_MAX_RANK];
    moved m;
    node *c;

    if (!moved_from(s, n->in[0], &m) || a->u.ints.n == 0)
        return false;
    for (uint32_t i = 0; i < a->u.ints.n; i++) {
        int64_t axis = a->u.ints.p[i];

        axis += axis < 0 ? m.rank : 0;
        gone[axis] = !attr_bool(n, "keep");
        axes[i] = m.perm[axis];
    }
    c = again(s, n, &m.src);
    node_ints(s->g, c, "axes", axes, a->u.ints.n);
    m = without(&m, gone);
    return replace_moved(s, n, node_add(s->g, c), &m);
}

/* A slice of the first axis is a view, and would be none of another axis. */
static bool sink_slice(sinker *s, const node *n)
{
    const attr *a = node_attr(n, "axes");
    int64_t axes[HULL_MAX_RANK];
    moved m;
    node *c;

    if (!moved_from(s, n->in[0], &m))
        return false;
    for (uint32_t i = 0; i < a->u.ints.n; i++) {
        int64_t axis = a->u.ints.p[i];

        axes[i] = m.perm[axis < 0 ? axis + m.rank : axis];
        if (axis == 0 && axes[i] != 0)
            return false;
    }
    c = again(s, n, &m.src);
    node_ints(s->g, c, "axes", axes, a->u.ints.n);
    return replace_moved(s, n, node_add(s->g, c), &m);
}

static bool sink_pad(sinker *s, const node *n)
{
    const attr *a = node_attr(n, "pads");
    dim pads[2 * HULL_MAX_RANK];
    moved m;
    node *c;
    val in[2] = {0, n->n_in > 1 ? n->in[1] : 0};

    if (!moved_from(s, n->in[0], &m))
        return false;
    for (uint32_t i = 0; i < m.rank; i++) {
        pads[m.perm[i]] = a->u.dims.p[i];
        pads[m.rank + m.perm[i]] = a->u.dims.p[m.rank + i];
    }
    in[0] = m.src;
    c = again(s, n, in);
    node_dims(s->g, c, "pads", pads, 2 * m.rank);
    return replace_moved(s, n, node_add(s->g, c), &m);
}

/* Sizes are those of the last axes, so all of them are written: an axis that
 * keeps its size stays as it is. */
static bool sink_resize(sinker *s, const node *n)
{
    const attr *size = node_attr(n, "size"), *scales = node_attr(n, "scales");
    double factors[HULL_MAX_RANK];
    dim sizes[HULL_MAX_RANK];
    const type *y = graph_type(s->g, n->out[0]);
    uint32_t first = y->rank - size->u.dims.n;
    moved m;
    node *c;

    if (!moved_from(s, n->in[0], &m) || (n->n_in > 1 && n->in[1] != 0) ||
        (n->n_in > 2 && n->in[2] != 0))
        return false;
    for (uint32_t i = 0; i < m.rank; i++) {
        sizes[m.perm[i]] = y->dims[i];
        factors[m.perm[i]] = i < first || !scales->set
                                 ? 1 : scales->u.floats.p[i - first];
    }
    c = node_new(s->g, OP_resize);
    if (c == NULL)
        return false;
    c->label = n->label;
    node_input(s->g, c, m.src);
    for (uint32_t i = 0; i < op_get(n->op)->n_attrs; i++)
        c->attrs[i] = n->attrs[i];
    node_dims(s->g, c, "size", sizes, m.rank);
    if (scales->set)
        node_floats(s->g, c, "scales", factors, m.rank);
    return replace_moved(s, n, node_add(s->g, c), &m);
}

/* Where a transpose only moves axes of size 1, it changes no byte. */
static bool sink_reshape(sinker *s, const node *n)
{
    const attr *a = node_attr(n, "shape");
    const type *t;
    int64_t last = -1, size;
    moved m;

    if (!moved_from(s, n->in[0], &m))
        return false;
    t = graph_type(s->g, m.src);
    for (uint32_t i = 0; i < m.rank; i++) {
        if (dim_is_int(s->g->m, t->dims[m.perm[i]], &size) && size == 1)
            continue;
        if (m.perm[i] < last)
            return false;
        last = m.perm[i];
    }
    graph_replace(s->g, n->out[0],
                  op_reshape(s->g, m.src, a->u.dims.p, a->u.dims.n));
    return true;
}

/* A tensor that is quantised as a whole has no axes. */
static bool sink_quant(sinker *s, const node *n)
{
    moved m;
    val in[3] = {0};

    if (!moved_from(s, n->in[0], &m))
        return false;
    for (uint32_t i = 1; i < n->n_in; i++) {
        const type *t = graph_type(s->g, n->in[i]);

        if (n->in[i] != 0 && (t->rank > 1 || (t->rank == 1 && t->dims[0] != 1)))
            return false;
        in[i] = n->in[i];
    }
    in[0] = m.src;
    return replace_moved(s, n, node_add(s->g, again(s, n, in)), &m);
}

static bool sink(sinker *s, const node *n)
{
    switch (n->op) {
    case OP_transpose: return sink_transpose(s, n);
    case OP_max_pool:
    case OP_avg_pool: return sink_pool(s, n);
    case OP_concat: return sink_concat(s, n);
    case OP_softmax:
    case OP_log_softmax: return sink_softmax(s, n);
    case OP_reduce_mean:
    case OP_reduce_sum:
    case OP_reduce_max:
    case OP_reduce_min: return sink_reduce(s, n);
    case OP_slice: return sink_slice(s, n);
    case OP_pad: return sink_pad(s, n);
    case OP_resize: return sink_resize(s, n);
    case OP_reshape: return sink_reshape(s, n);
    case OP_quantize:
    case OP_dequantize: return sink_quant(s, n);
    default:
        return (op_get(n->op)->traits & OP_POINTWISE) != 0 &&
               sink_pointwise(s, n);
    }
}

hull_status layout_sink(graph *g)
{
    sinker s = {.g = g};
    node *next;

    TRY(graph_facts_get(&s.f, g));
    for (node *n = graph_first(g); n != NULL; n = next) {
        next = graph_next(g, n);
        s.in = n->parent;
        graph_rewrite_at(g, n);
        if (n->n_out > 0)
            (void)sink(&s, n); /* either way, go on */
        TRY(ir_status(g->m));
    }
    graph_rewrite_end(g);
    return ir_status(g->m);
}
