/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * choice.c - sites, the table of ways, and what each is predicted to cost: its
 * multiply-adds at the level's rate, the weights from memory, and what is
 * particular to the way. The figures are those of one machine of each level
 * (docs/performance.md); they are constants, because a choice is a part of the
 * engine and must not depend on where or when it is made.
 */
#include "backend/cpu/choice.h"

/* ---- the model ----------------------------------------------------------- */

typedef struct rates {
    double flops;     /* of products, per ns */
    double memory;    /* bytes per ns: weights that no cache holds */
    double near;      /* bytes per ns: values that the last node left in L2 */
    double moves;     /* floats of 4x4 tiles transformed per ns */
    double widens;    /* values of 16 bits widened into a panel per ns */
    double line;      /* ns per vector of neighbours */
    double phases;    /* ns per element copied into the phases of a stride */
} rates;

static const rates level_rates[CPU_LEVELS] = {
    [CPU_ANY] = {1, 10, 10, 1, 1, 10, 10},
    [CPU_AVX2] = {95, 26, 40, 4, 6, 0.8, 6},
    [CPU_AVX512] = {110, 30, 40, 4, 8, 1.2, 6},
};

static const rates *rates_of(const cpu_site *s)
{
    return &level_rates[s->level];
}

static double to_tiles(int64_t n, int64_t tile)
{
    return (double)((n + tile - 1) / tile * tile);
}

static double places_of(const cpu_site *s)
{
    double n = (double)s->batch;

    for (uint32_t i = 0; i < s->axes; i++)
        n *= (double)s->out[i];
    return n;
}

static double taps_of(const cpu_site *s)
{
    double n = 1;

    for (uint32_t i = 0; i < s->axes; i++)
        n *= (double)s->kernel[i];
    return n;
}

/* Weights come while products are made: most of the shorter time is hidden. */
static double overlapped(double a, double b)
{
    return a > b ? a + 0.4 * b : b + 0.4 * a;
}

static bool always(const cpu_site *s)
{
    (void)s;
    return true;
}

static double no_favour(const cpu_site *s)
{
    (void)s;
    return 1;
}

/* ---- convolutions -------------------------------------------------------- */

#define DEPTHWISE_SLOWER 6 /* a load for each product, few sums at once */
#define HALF_PANEL 0.6     /* the time of a whole one */
#define FEW_CHANNELS 8     /* below, ns for each place, row of the kernel and */
#define FEW_NS 3           /* panel */
#define PLANES_MOST 16     /* columns */
#define PLANES_COLUMNS 8   /* at once, per load of a vector */
#define PLANES_NS 0.27     /* per vector and column */
#define WINOGRAD_RATE 0.9  /* of the rate of a direct product */
#define WINOGRAD_POINT 600 /* ns to begin one of the points */

static double cost_direct(const cpu_site *s)
{
    const rates *r = rates_of(s);
    double depth = (double)(s->channels / s->groups) * taps_of(s);
    int64_t columns = s->columns / s->groups;
    double places = places_of(s), wide, few = 0;
    int64_t tile = cpu_tile(s->level);

    if (s->groups > 1 && columns == 1 && s->channels == s->groups)
        return 2 * places * depth * (double)s->columns / r->flops *
               DEPTHWISE_SLOWER;
    wide = to_tiles(columns, tile) * (double)s->groups;
    if (s->channels < FEW_CHANNELS && taps_of(s) > 1)
        few = places * taps_of(s) / (double)s->kernel[s->axes - 1] * wide /
              (double)tile * FEW_NS;
    return overlapped(2 * places * depth * wide / r->flops *
                          (columns <= tile / 2 ? HALF_PANEL : 1),
                      4 * depth * wide / r->memory) + few;
}

/* F(m x m, 3 x 3): tiles of m + 2 squared points go through both transforms,
 * which are half as long for m = 2; each point is a product of its own. */
static double cost_winograd(const cpu_site *s, int64_t m)
{
    const rates *r = rates_of(s);
    double points = (double)((m + 2) * (m + 2)), tiles = (double)s->batch;
    double wide = to_tiles(s->columns, cpu_tile(s->level));
    double channels = (double)s->channels;

    for (uint32_t i = 0; i < 2; i++)
        tiles *= (double)((s->out[i] + m - 1) / m);
    return overlapped(2 * points * tiles * channels * wide / r->flops /
                          WINOGRAD_RATE,
                      4 * points * channels * wide / r->memory) +
           points * tiles * (channels + (double)s->columns) / r->moves /
               (m == 2 ? 2 : 1) +
           points * WINOGRAD_POINT;
}

static double cost_winograd2(const cpu_site *s)
{
    return cost_winograd(s, 2);
}

static double cost_winograd4(const cpu_site *s)
{
    return cost_winograd(s, 4);
}

static bool fits_winograd2(const cpu_site *s)
{
    if (!s->winograd || s->axes != 2 || s->groups != 1 ||
        s->columns % 16 != 0 || s->channels % 16 != 0)
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (s->kernel[i] != 3 || s->w.stride[i] != 1 ||
            s->w.dilation[i] != 1 || s->w.before[i] > 1 ||
            s->w.after[i] > 1 || s->in[i] < 4)
            return false;
    return true;
}

/* Up to the number of channels whose error docs/performance.md tells; above it
 * weights of four times the size cost refits and memory more than runs win. */
static bool fits_winograd4(const cpu_site *s)
{
    return fits_winograd2(s) && s->columns <= 128 && s->channels <= 128;
}

/* Few columns leave most of a panel empty; there vectors of places do better,
 * each row of the image a few of them. */
static bool fits_planes(const cpu_site *s)
{
    return s->groups == 1 && s->columns <= PLANES_MOST &&
           s->out[s->axes - 1] >= cpu_tile(s->level) && taps_of(s) >= 3;
}

static double cost_planes(const cpu_site *s)
{
    const rates *r = rates_of(s);
    int64_t lanes = cpu_tile(s->level) / 2, row = s->out[s->axes - 1];
    double vectors = places_of(s) / (double)row * to_tiles(row, lanes) /
                     (double)lanes * (double)s->channels * taps_of(s);
    double copied = (double)s->batch * (double)s->channels;

    for (uint32_t i = 0; i < s->axes; i++)
        copied *= (double)s->in[i];
    if (s->w.stride[s->axes - 1] == 1)
        copied = 0; /* line by line: next to nothing */
    return copied * r->phases +
           vectors * (to_tiles(s->columns, PLANES_COLUMNS) / PLANES_COLUMNS *
                          r->line +
                      PLANES_NS * (double)s->columns);
}

/* ---- products ------------------------------------------------------------ */

#define PLAIN_ROWS 4     /* up to here a weight is best left where it lies */
#define PLAIN_MOST 16
#define PLAIN_SLOWER 3   /* two rows at a time, sums end across lanes */
#define PLAIN_FAVOUR 0.5 /* it need not be packed at a refit */

static bool is_narrow(hull_dtype dt)
{
    return hull_dtype_bits(dt) < 32;
}

static double product_ns(const cpu_site *s, double columns, double slower)
{
    const rates *r = rates_of(s);
    double weights = (double)s->depth * columns;

    return overlapped(2 * (double)s->rows * weights / r->flops * slower,
                      weights * hull_dtype_bits(s->dtype) / 8 / r->memory);
}

static double cost_panels(const cpu_site *s)
{
    double wide = to_tiles(s->columns, cpu_tile(s->level));
    double widen = is_narrow(s->dtype)
                       ? (double)s->depth * wide / rates_of(s)->widens : 0;

    return product_ns(s, wide, 1) + widen;
}

static bool fits_plain(const cpu_site *s)
{
    return s->fixed_rows && s->rows <= PLAIN_MOST &&
           (s->as_stored || is_narrow(s->dtype));
}

static double cost_plain(const cpu_site *s)
{
    return product_ns(s, (double)s->columns, PLAIN_SLOWER);
}

static double favour_plain(const cpu_site *s)
{
    return s->rows <= PLAIN_ROWS ? PLAIN_FAVOUR : 1;
}

/* ---- the table ----------------------------------------------------------- */

#define CHOICE(ask, name, value, fits, cost, favour) \
    {ASK_##ask, name, value, fits, cost, favour},
const cpu_choice cpu_choices[] = {
#include "backend/cpu/choices.def"
};
#undef CHOICE
const size_t cpu_n_choices = COUNT_OF(cpu_choices);

const cpu_choice *cpu_choose(const cpu_site *s)
{
    const cpu_choice *best = NULL;
    double least = 0;

    for (size_t i = 0; i < cpu_n_choices; i++) {
        const cpu_choice *c = &cpu_choices[i];
        double ns;

        if (c->ask != s->ask || !c->fits(s))
            continue;
        ns = c->cost(s) * c->favour(s);
        if (best == NULL || ns < least) {
            best = c;
            least = ns;
        }
    }
    return best;
}

/* ---- sites --------------------------------------------------------------- */

#define UNKNOWN_SIZE 64

/* A size that no hint tells: of a batch 1, else a middling one. */
static hull_status set_typical(dim_env *e, dim d, int64_t otherwise)
{
    const dim_node *k = dim_get(e->m, d);
    int64_t size = k->opt > 0 ? k->opt : k->min > 1 ? k->min : otherwise;

    return dim_assign(e, d, size <= k->max ? size : k->max);
}

static hull_status set_symbols(dim_env *e, dim d)
{
    const dim_node *k = d < 0 && d != DIM_UNKNOWN ? dim_get(e->m, d) : NULL;
    int64_t now;

    if (k == NULL || k->op == DIM_INT)
        return HULL_OK;
    if (k->op != DIM_SYM) {
        TRY(set_symbols(e, k->a));
        return set_symbols(e, k->b);
    }
    if (dim_eval_value(&now, e, d) == HULL_OK)
        return HULL_OK;
    return set_typical(e, d, UNKNOWN_SIZE);
}

hull_status cpu_typical_sizes(dim_env *out, const graph *g)
{
    const region *b = g->body;

    TRY(dim_env_init(out, g->m));
    for (uint32_t i = 0; i < b->n_params; i++) {
        const type *t = graph_type(g, b->params[i]);

        if (t->kind == TYPE_TENSOR && t->rank > 0 && t->dims[0] < 0 &&
            dim_is_symbol(g->m, t->dims[0]))
            TRY(set_typical(out, t->dims[0], 1));
    }
    for (uint32_t v = 1; v < g->n_values; v++) {
        const type *t = graph_type(g, v);

        for (uint32_t k = 0; t->kind == TYPE_TENSOR && k < t->rank; k++)
            TRY(set_symbols(out, t->dims[k]));
    }
    return HULL_OK;
}

static int64_t size_of(const dim_env *typical, dim d)
{
    int64_t n;

    return dim_eval(&n, typical, d) == HULL_OK ? n : UNKNOWN_SIZE;
}

/* What conv and conv_nhwc have in common; in[], kernel[] and axes are set. */
static void finish_conv(cpu_site *s, const node *n)
{
    if (n->op == OP_conv_winograd) {
        const attr *pad = node_attr(n, "pad");

        s->w = (window){.n = 2, .stride = {1, 1}, .dilation = {1, 1}};
        for (uint32_t i = 0; i < 2; i++) {
            s->w.before[i] = pad->u.ints.p[i];
            s->w.after[i] = pad->u.ints.p[2 + i];
        }
    } else if (window_read(&s->w, n, s->axes) != HULL_OK) {
        s->w = (window){.n = s->axes}; /* the shape rule has refused it */
    }
    for (uint32_t i = 0; i < s->axes; i++) {
        int64_t reach = (s->kernel[i] - 1) * s->w.dilation[i] + 1;
        int64_t all = s->in[i] + s->w.before[i] + s->w.after[i];
        int64_t stride = s->w.stride[i] > 0 ? s->w.stride[i] : 1;

        s->out[i] = all < reach ? 0 : (all - reach) / stride + 1;
    }
}

void cpu_site_conv(cpu_site *s, const dim_env *typical, const graph *g,
                   const node *n, cpu_level level, bool winograd)
{
    const type *x = graph_type(g, n->in[0]), *w = graph_type(g, n->in[1]);

    *s = (cpu_site){.ask = ASK_CONV, .level = level, .dtype = w->dtype,
                    .axes = x->rank - 2, .winograd = winograd,
                    .batch = size_of(typical, x->dims[0]),
                    .channels = size_of(typical, x->dims[1]),
                    .columns = w->dims[0], .groups = attr_int(n, "groups")};
    for (uint32_t i = 0; i < s->axes; i++) {
        s->in[i] = size_of(typical, x->dims[2 + i]);
        s->kernel[i] = w->dims[2 + i];
    }
    finish_conv(s, n);
}

static int64_t rows_of(const dim_env *typical, const type *x, bool *fixed)
{
    int64_t rows = 1, most = INT64_C(1) << 40;

    *fixed = true;
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        int64_t n = size_of(typical, x->dims[i]);

        *fixed = *fixed && x->dims[i] >= 0;
        rows = n == 0 ? 0 : rows > most / n ? most : rows * n;
    }
    return rows;
}

void cpu_site_weight(cpu_site *s, const dim_env *typical, const type *x,
                     const type *w, bool trans, cpu_level level)
{
    *s = (cpu_site){.ask = ASK_WEIGHT, .level = level, .dtype = w->dtype,
                    .columns = w->dims[trans ? 0 : 1],
                    .depth = w->dims[trans ? 1 : 0], .as_stored = trans};
    s->rows = rows_of(typical, x, &s->fixed_rows);
}

static void site_of_conv_nhwc(cpu_site *s, const dim_env *typical,
                              const graph *g, const node *n)
{
    const type *x = graph_type(g, n->in[0]);
    const attr *kernel = n->op == OP_conv_nhwc ? node_attr(n, "kernel") : NULL;

    s->ask = ASK_CONV;
    s->axes = x->rank - 2;
    s->batch = size_of(typical, x->dims[0]);
    s->channels = size_of(typical, x->dims[x->rank - 1]);
    s->columns = attr_int(n, "n");
    s->groups = kernel != NULL ? attr_int(n, "groups") : 1;
    for (uint32_t i = 0; i < s->axes; i++) {
        s->in[i] = size_of(typical, x->dims[1 + i]);
        s->kernel[i] = kernel != NULL ? kernel->u.ints.p[i] : 3;
    }
    finish_conv(s, n);
}

static bool planes_run(const graph *g, const node *n)
{
    const type *w = graph_type(g, n->in[1]);

    return takes_planes(g, n) && type_is_static(g->m, w);
}

bool cpu_site_lowered(cpu_site *s, int64_t *answer, const dim_env *typical,
                      const graph *g, const node *n, cpu_level level,
                      bool winograd)
{
    *s = (cpu_site){.level = level, .winograd = winograd, .dtype = HULL_F32};
    if (n->op == OP_gemm) {
        const type *x = graph_type(g, n->in[0]);

        if (x->dtype != HULL_F32)
            return false;
        s->ask = ASK_WEIGHT;
        s->dtype = graph_type(g, n->in[1])->dtype;
        s->columns = attr_int(n, "n");
        s->depth = size_of(typical, x->dims[x->rank - 1]);
        s->rows = rows_of(typical, x, &s->fixed_rows);
        s->as_stored = attr_int(n, "tile") == 1;
        *answer = s->as_stored;
        return true;
    }
    if (n->op == OP_conv) { /* one that stays, of f32 and a constant weight */
        if (graph_def(g, n->in[1]) != NULL || !planes_run(g, n))
            return false;
        cpu_site_conv(s, typical, g, n, level, winograd);
        *answer = -1;
        return true;
    }
    if (n->op != OP_conv_nhwc && n->op != OP_conv_winograd)
        return false;
    site_of_conv_nhwc(s, typical, g, n);
    *answer = n->op == OP_conv_winograd ? attr_int(n, "m") : 0;
    return true;
}

/* ---- all nodes ----------------------------------------------------------- */

#define BF16_FASTER 2  /* than f32, where the CPU has the instructions */
#define BYTES_FASTER 4

static double bytes_of(const dim_env *typical, const graph *g, const val *v,
                       uint32_t n)
{
    double all = 0;

    for (uint32_t i = 0; i < n; i++) {
        const type *t = v[i] != 0 ? graph_type(g, v[i]) : NULL;
        double size;

        if (t == NULL || t->kind != TYPE_TENSOR)
            continue;
        size = hull_dtype_bits(t->dtype) / 8.0;
        for (uint32_t k = 0; k < t->rank; k++)
            size *= (double)size_of(typical, t->dims[k]);
        all += size;
    }
    return all;
}

/* Multiply-adds of a row of the result per column: the depth of the product,
 * and of both for attention. 0: it is no product. */
static double depth_of(const dim_env *typical, const graph *g, const node *n)
{
    const type *x = graph_type(g, n->in[0]);
    const type *w = n->n_in > 1 ? graph_type(g, n->in[1]) : NULL;

    switch (n->op) {
    case OP_matmul:
        if (x->rank > 1 && attr_bool(n, "trans_a"))
            return (double)size_of(typical, x->dims[x->rank - 2]);
        return (double)size_of(typical, x->dims[x->rank - 1]);
    case OP_matmul_int:
        return (double)size_of(typical, x->dims[x->rank - 1]) / BYTES_FASTER;
    case OP_gemm_q4:
        return (double)size_of(typical, x->dims[x->rank - 1]);
    case OP_gemm: /* panels in groups along the depth */
    case OP_gemm_int:
        return w->rank != 4 ? 0
               : (double)(w->dims[1] * w->dims[3]) /
                     (n->op == OP_gemm ? BF16_FASTER : BYTES_FASTER);
    case OP_sdpa:
        return 2 * (double)size_of(typical, w->dims[w->rank - 2]) /
               (attr_bool(n, "causal") ? 2 : 1);
    case OP_sdpa_joined:
        return 2 * (double)size_of(typical, x->dims[x->rank - 4]) /
               (attr_bool(n, "causal") ? 2 : 1);
    default:
        return 0;
    }
}

double cpu_predict(const dim_env *typical, const graph *g, const node *n,
                   cpu_level level)
{
    const rates *r = &level_rates[level];
    double moved = bytes_of(typical, g, n->in, n->n_in) +
                   bytes_of(typical, g, n->out, n->n_out);
    const type *y = graph_type(g, n->out[0]);
    double products = 0;

    if (y->kind == TYPE_TENSOR && n->n_in > 0 &&
        graph_type(g, n->in[0])->rank > 0)
        products = depth_of(typical, g, n);
    for (uint32_t i = 0; products > 0 && i < y->rank; i++)
        products *= (double)size_of(typical, y->dims[i]);
    return overlapped(2 * products / r->flops, moved / r->near);
}
