/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * select_data.c - results whose size depends on the elements: nonzero, unique,
 * and non-maximum suppression of boxes.
 */
#include "ops/box.h"
#include "ops/data.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shape rules --------------------------------------------------------- */

static hull_status unique_infer(graph *g, node *n, const type *x)
{
    dim dims[HULL_MAX_RANK] = {0}, some = DIM_UNKNOWN, all;
    const attr *a = node_attr(n, "axis");
    uint32_t axis = 0;

    if (!a->set) {
        all = type_numel(g->m, x);
        TRY(infer_out(g, n, 0, x->dtype, &some, 1));
    } else {
        TRY(infer_axis(&axis, n, a->u.i, x->rank));
        for (uint32_t i = 0; i < x->rank; i++)
            dims[i] = x->dims[i];
        all = dims[axis];
        dims[axis] = DIM_UNKNOWN;
        TRY(infer_out(g, n, 0, x->dtype, dims, x->rank));
    }
    TRY(infer_out(g, n, 1, HULL_I64, &some, 1));
    TRY(infer_out(g, n, 2, HULL_I64, &all, 1));
    return infer_out(g, n, 3, HULL_I64, &some, 1);
}

static hull_status scalar_infer(graph *g, const node *n, uint32_t i,
                                hull_dtype dt)
{
    const type *t;
    char what[128];

    if (!node_has(n, i))
        return HULL_OK;
    TRY(infer_tensor(&t, g, n, i));
    if (t->dtype != dt || t->rank != 0)
        return fail(HULL_ESHAPE, "%s: operand %u is %s of rank %u, want %s of "
                    "rank 0", node_what(n, what), i,
                    hull_dtype_name(t->dtype), t->rank, hull_dtype_name(dt));
    return HULL_OK;
}

static hull_status nms_infer(graph *g, node *n, const type *boxes)
{
    const type *scores;
    char what[128];
    dim out[2] = {DIM_UNKNOWN, 3}, agreed;

    TRY(infer_tensor(&scores, g, n, 1));
    if (boxes->rank != 3 || scores->rank != 3 ||
        !dtype_is_float(boxes->dtype) || boxes->dtype != scores->dtype)
        return fail(HULL_ESHAPE, "%s: boxes %s of rank %u and scores %s of "
                    "rank %u, want floats of rank 3", node_what(n, what),
                    hull_dtype_name(boxes->dtype), boxes->rank,
                    hull_dtype_name(scores->dtype), scores->rank);
    TRY(data_agree(&agreed, g, n, "the batch", boxes->dims[0],
                   scores->dims[0]));
    TRY(data_agree(&agreed, g, n, "the number of boxes", boxes->dims[1],
                   scores->dims[2]));
    TRY(data_agree(&agreed, g, n, "a box", boxes->dims[2], 4));
    TRY(scalar_infer(g, n, 2, HULL_I64));
    TRY(scalar_infer(g, n, 3, HULL_F32));
    TRY(scalar_infer(g, n, 4, HULL_F32));
    return infer_out(g, n, 0, HULL_I64, out, 2);
}

hull_status select_data_infer(graph *g, node *n)
{
    const type *x;
    char what[128];

    TRY(infer_tensor(&x, g, n, 0));
    if (dtype_is_complex(x->dtype))
        return fail(HULL_ESHAPE, "%s: operand is %s", node_what(n, what),
                    hull_dtype_name(x->dtype));
    if (n->op == OP_unique)
        return unique_infer(g, n, x);
    if (n->op == OP_nms)
        return nms_infer(g, n, x);
    dim out[2] = {x->rank, DIM_UNKNOWN};
    return infer_out(g, n, 0, HULL_I64, out, 2);
}

/* ---- nonzero ------------------------------------------------------------- */

static bool is_nonzero(const tensor *t, int64_t i)
{
    return dtype_is_float(t->dtype)
               ? load_f64(t->dtype, t->data, (uint64_t)i) != 0
               : load_i64(t->dtype, t->data, (uint64_t)i) != 0;
}

static hull_status nonzero_eval(eval_ctx *cx, const tensor *x)
{
    int64_t shape[2] = {x->rank, 0}, index[HULL_MAX_RANK] = {0};
    int64_t numel = tensor_numel(x), at = 0;
    int64_t *out;

    for (int64_t i = 0; i < numel; i++)
        shape[1] += is_nonzero(x, i);
    cx->made[0] = box_new(HULL_I64, shape, 2);
    if (cx->made[0] == NULL)
        return HULL_ENOMEM;
    out = cx->made[0]->t.data;
    for (int64_t i = 0; i < numel; i++) {
        if (is_nonzero(x, i)) {
            for (uint32_t k = 0; k < x->rank; k++)
                out[(int64_t)k * shape[1] + at] = index[k];
            at++;
        }
        if (!index_next(index, x->shape, x->rank))
            break;
    }
    return HULL_OK;
}

/* ---- unique -------------------------------------------------------------- */

/* Slices along an axis: slice s holds the elements
 * (o * len + s) * inner + i for all o < outer, i < inner. */
typedef struct slices {
    const tensor *x;
    int64_t outer, len, inner;
} slices;

static int compare_elements(const tensor *x, int64_t a, int64_t b)
{
    int64_t ia, ib;

    if (dtype_is_float(x->dtype)) {
        double fa = load_f64(x->dtype, x->data, (uint64_t)a);
        double fb = load_f64(x->dtype, x->data, (uint64_t)b);

        if (isnan(fa) || isnan(fb))
            return (int)isnan(fa) - (int)isnan(fb);
        return (fa > fb) - (fa < fb);
    }
    ia = load_i64(x->dtype, x->data, (uint64_t)a);
    ib = load_i64(x->dtype, x->data, (uint64_t)b);
    if (x->dtype == HULL_U64)
        return ((uint64_t)ia > (uint64_t)ib) - ((uint64_t)ia < (uint64_t)ib);
    return (ia > ib) - (ia < ib);
}

static int compare_slices(const slices *s, int64_t a, int64_t b)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            int64_t base = o * s->len * s->inner + i;
            int c = compare_elements(s->x, base + a * s->inner,
                                     base + b * s->inner);

            if (c != 0)
                return c;
        }
    return 0;
}

/* By value, equal ones by place. */
static int slice_order(const void *left, const void *right, void *user)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    int c = compare_slices(user, a, b);

    return c != 0 ? c : (a > b) - (a < b);
}

static int by_first(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static box *i64_box(int64_t n)
{
    return box_new(HULL_I64, &n, 1);
}

static int64_t *i64_of(box *b)
{
    return b->t.data;
}

/* The operand's slices first[0..n), in that order. */
static box *take_slices(const slices *s, const int64_t *first, int64_t n,
                        bool flat, uint32_t axis)
{
    int64_t shape[HULL_MAX_RANK] = {n};
    box *b;

    if (!flat) {
        memcpy(shape, s->x->shape, sizeof shape);
        shape[axis] = n;
    }
    b = box_new(s->x->dtype, shape, flat ? 1 : s->x->rank);
    for (int64_t o = 0; b != NULL && o < s->outer; o++)
        for (int64_t k = 0; k < n; k++)
            data_copy_run(s->x->dtype, b->t.data, (o * n + k) * s->inner,
                          s->x->data, (o * s->len + first[k]) * s->inner,
                          s->inner);
    return b;
}

/* first[k]: the first place of group k; group[i]: whose element i is. Returns
 * how many groups there are. */
static int64_t group_slices(const slices *s, const int64_t *order,
                            int64_t *first, int64_t *group)
{
    int64_t n = 0;

    for (int64_t i = 0; i < s->len; i++) {
        if (i == 0 || compare_slices(s, order[i - 1], order[i]) != 0)
            first[n++] = order[i];
        group[order[i]] = n - 1;
    }
    return n;
}

static hull_status unique_eval(eval_ctx *cx, const node *n, const tensor *x)
{
    const attr *a = node_attr(n, "axis");
    slices s = {x, 1, tensor_numel(x), 1};
    uint32_t axis = 0;
    int64_t *order, *first, *rank, *inverse, *counts, *places, groups;

    if (a->set) {
        TRY(infer_axis(&axis, n, a->u.i, x->rank));
        s = (slices){x, data_product(x->shape, 0, axis), x->shape[axis],
                     data_product(x->shape, axis + 1, x->rank)};
    }
    cx->made[2] = i64_box(s.len);
    order = arena_array(cx->scratch, (size_t)s.len + 1, sizeof *order);
    first = arena_array(cx->scratch, (size_t)s.len + 1, sizeof *first);
    rank = arena_array(cx->scratch, (size_t)s.len + 1, sizeof *rank);
    if (cx->made[2] == NULL || order == NULL || first == NULL || rank == NULL)
        return fail_oom((size_t)s.len * sizeof *order);
    inverse = i64_of(cx->made[2]);
    for (int64_t i = 0; i < s.len; i++)
        order[i] = i;
    qsort_r(order, (size_t)s.len, sizeof *order, slice_order, &s);
    groups = group_slices(&s, order, first, inverse);
    if (!attr_bool(n, "sorted")) { /* groups by first place */
        memcpy(order, first, (size_t)groups * sizeof *first);
        qsort(first, (size_t)groups, sizeof *first, by_first);
        for (int64_t k = 0; k < groups; k++)
            rank[inverse[first[k]]] = k;
        for (int64_t i = 0; i < s.len; i++)
            inverse[i] = rank[inverse[i]];
    }
    cx->made[0] = take_slices(&s, first, groups, !a->set, axis);
    cx->made[1] = i64_box(groups);
    cx->made[3] = i64_box(groups);
    if (cx->made[0] == NULL || cx->made[1] == NULL || cx->made[3] == NULL)
        return HULL_ENOMEM;
    places = i64_of(cx->made[1]);
    counts = i64_of(cx->made[3]);
    for (int64_t k = 0; k < groups; k++) {
        places[k] = first[k];
        counts[k] = 0;
    }
    for (int64_t i = 0; i < s.len; i++)
        counts[inverse[i]]++;
    return HULL_OK;
}

/* ---- non-maximum suppression --------------------------------------------- */

typedef struct rect {
    double y1, x1, y2, x2; /* y1 <= y2, x1 <= x2 */
} rect;

typedef struct candidate {
    double score;
    int64_t at;
} candidate;

static rect read_rect(const tensor *boxes, int64_t at, bool center)
{
    double v[4];

    for (int i = 0; i < 4; i++)
        v[i] = load_f64(boxes->dtype, boxes->data, (uint64_t)(4 * at + i));
    if (center) /* x, y, width, height */
        return (rect){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2,
                      v[0] + v[2] / 2};
    return (rect){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]),
                  fmax(v[1], v[3])};
}

static double overlap(const rect *a, const rect *b)
{
    double h = fmin(a->y2, b->y2) - fmax(a->y1, b->y1);
    double w = fmin(a->x2, b->x2) - fmax(a->x1, b->x1);
    double both, all;

    if (!(h > 0) || !(w > 0))
        return 0;
    both = h * w;
    all = (a->y2 - a->y1) * (a->x2 - a->x1) +
          (b->y2 - b->y1) * (b->x2 - b->x1) - both;
    return all > 0 ? both / all : 0;
}

/* Highest score first; equal ones by place. */
static int by_score(const void *left, const void *right)
{
    const candidate *a = left, *b = right;

    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->at > b->at) - (a->at < b->at);
}

typedef struct suppression {
    const tensor *boxes, *scores;
    bool center, has_least;
    int64_t most;       /* per batch and class */
    double iou, least;
    candidate *list;
    rect *kept;
} suppression;

/* Selected boxes of one batch and class into out; their number. */
static int64_t suppress(suppression *s, int64_t batch, int64_t class,
                        int64_t *out)
{
    int64_t n = s->boxes->shape[1], classes = s->scores->shape[1];
    int64_t n_list = 0, n_kept = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t at = (batch * classes + class) * n + i;
        double v = load_f64(s->scores->dtype, s->scores->data, (uint64_t)at);

        if (!isnan(v) && (!s->has_least || v > s->least))
            s->list[n_list++] = (candidate){v, i};
    }
    qsort(s->list, (size_t)n_list, sizeof *s->list, by_score);
    for (int64_t i = 0; i < n_list && n_kept < s->most; i++) {
        rect r = read_rect(s->boxes, batch * n + s->list[i].at, s->center);
        int64_t k = 0;

        while (k < n_kept && overlap(&s->kept[k], &r) <= s->iou)
            k++;
        if (k < n_kept)
            continue;
        s->kept[n_kept] = r;
        out[n_kept++] = s->list[i].at;
    }
    return n_kept;
}

static hull_status nms_open(suppression *s, eval_ctx *cx, const node *n)
{
    int64_t boxes;
    char what[128];

    *s = (suppression){.boxes = &cx->boxes[0]->t, .scores = &cx->boxes[1]->t,
                       .center = attr_bool(n, "center")};
    boxes = s->boxes->shape[1];
    if (s->boxes->shape[0] != s->scores->shape[0] ||
        boxes != s->scores->shape[2] || s->boxes->shape[2] != 4)
        return fail(HULL_ESHAPE, "%s: boxes [%" PRId64 ",%" PRId64 ",%" PRId64
                    "] and scores [%" PRId64 ",%" PRId64 ",%" PRId64
                    "] do not fit", node_what(n, what), s->boxes->shape[0],
                    boxes, s->boxes->shape[2], s->scores->shape[0],
                    s->scores->shape[1], s->scores->shape[2]);
    if (node_has(n, 2))
        s->most = load_i64(HULL_I64, cx->boxes[2]->t.data, 0);
    s->most = s->most < 0 ? 0 : s->most > boxes ? boxes : s->most;
    if (node_has(n, 3))
        s->iou = load_f64(HULL_F32, cx->boxes[3]->t.data, 0);
    s->has_least = node_has(n, 4);
    if (s->has_least)
        s->least = load_f64(HULL_F32, cx->boxes[4]->t.data, 0);
    s->list = arena_array(cx->scratch, (size_t)boxes + 1, sizeof *s->list);
    s->kept = arena_array(cx->scratch, (size_t)boxes + 1, sizeof *s->kept);
    return s->list != NULL && s->kept != NULL
               ? HULL_OK : fail_oom((size_t)boxes * sizeof *s->kept);
}

static hull_status nms_eval(eval_ctx *cx, const node *n)
{
    suppression s;
    int64_t classes, lists, room, *found, *counts, shape[2] = {0, 3}, *out;

    TRY(nms_open(&s, cx, n));
    classes = s.scores->shape[1];
    /* Sizes are not bounded by memory where another one is 0. */
    if (!mul_i64(&lists, s.scores->shape[0], classes) ||
        !mul_i64(&room, lists, s.most) || s.boxes->shape[1] == 0)
        lists = room = 0;
    found = arena_array(cx->scratch, (size_t)room + 1, sizeof *found);
    counts = arena_array(cx->scratch, (size_t)lists + 1, sizeof *counts);
    if (found == NULL || counts == NULL)
        return fail_oom((size_t)room * sizeof *found);
    for (int64_t i = 0; i < lists; i++) {
        counts[i] = suppress(&s, i / classes, i % classes, found + i * s.most);
        shape[0] += counts[i];
    }
    cx->made[0] = box_new(HULL_I64, shape, 2);
    if (cx->made[0] == NULL)
        return HULL_ENOMEM;
    out = i64_of(cx->made[0]);
    for (int64_t i = 0; i < lists; i++)
        for (int64_t k = 0; k < counts[i]; k++) {
            *out++ = i / classes;
            *out++ = i % classes;
            *out++ = found[i * s.most + k];
        }
    return HULL_OK;
}

hull_status select_data_eval(eval_ctx *cx, const node *n, const tensor *in,
                             tensor *out)
{
    (void)in;
    (void)out;
    switch (n->op) {
    case OP_nonzero: return nonzero_eval(cx, &cx->boxes[0]->t);
    case OP_unique: return unique_eval(cx, n, &cx->boxes[0]->t);
    default: return nms_eval(cx, n);
    }
}
