/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_autocast.c - operators inside an enabled torch.autocast region. The file
 * holds no casts there: PyTorch puts them in front of the operators of three
 * lists, which differ between CPU and CUDA. The types that the file states for
 * the results check that these lists are still those of the exporter.
 */
#include "front/pt2.h"

#include <string.h>

typedef enum policy {
    AS_IS,
    LOWER,    /* arguments as the region's type */
    SINGLE,   /* arguments as f32 */
    PROMOTE   /* arguments as the widest of theirs */
} policy;

/* By the name without overload, in strcmp order. */
static const struct {
    const char *name;
    policy cpu, cuda;
} policies[] = {
    {"_upsample_bicubic2d_aa", AS_IS, SINGLE},
    {"_upsample_bilinear2d_aa", AS_IS, SINGLE},
    {"_upsample_nearest_exact2d", AS_IS, SINGLE},
    {"acos", AS_IS, SINGLE},
    {"adaptive_avg_pool3d", SINGLE, AS_IS},
    {"adaptive_max_pool3d", SINGLE, AS_IS},
    {"addcdiv", AS_IS, PROMOTE},
    {"addcmul", AS_IS, PROMOTE},
    {"addmm", LOWER, LOWER},
    {"asin", AS_IS, SINGLE},
    {"atan2", AS_IS, PROMOTE},
    {"avg_pool3d", SINGLE, AS_IS},
    {"baddbmm", LOWER, LOWER},
    {"bmm", LOWER, LOWER},
    {"cat", PROMOTE, PROMOTE},
    {"cdist", SINGLE, SINGLE},
    {"conv1d", LOWER, LOWER},
    {"conv2d", LOWER, LOWER},
    {"conv3d", LOWER, LOWER},
    {"conv_transpose1d", LOWER, LOWER},
    {"conv_transpose2d", LOWER, LOWER},
    {"conv_transpose3d", LOWER, LOWER},
    {"convolution", AS_IS, LOWER},
    {"cosh", AS_IS, SINGLE},
    {"cosine_similarity", AS_IS, SINGLE},
    {"cumprod", AS_IS, SINGLE},
    {"cumsum", AS_IS, SINGLE},
    {"dot", AS_IS, PROMOTE},
    {"einsum", LOWER, LOWER},
    {"exp", AS_IS, SINGLE},
    {"expm1", AS_IS, SINGLE},
    {"grid_sampler", SINGLE, PROMOTE},
    {"group_norm", AS_IS, SINGLE},
    {"index_copy", PROMOTE, AS_IS},
    {"index_put", AS_IS, PROMOTE},
    {"layer_norm", AS_IS, SINGLE},
    {"linalg_vector_norm", AS_IS, SINGLE},
    {"linear", LOWER, LOWER},
    {"log", AS_IS, SINGLE},
    {"log10", AS_IS, SINGLE},
    {"log1p", AS_IS, SINGLE},
    {"log2", AS_IS, SINGLE},
    {"log_softmax", AS_IS, SINGLE},
    {"logsumexp", AS_IS, SINGLE},
    {"matmul", LOWER, LOWER},
    {"max_pool3d", SINGLE, AS_IS},
    {"mm", LOWER, LOWER},
    {"mse_loss", SINGLE, SINGLE},
    {"mv", AS_IS, LOWER},
    {"native_layer_norm", AS_IS, SINGLE},
    {"norm", AS_IS, SINGLE},
    {"pow", AS_IS, SINGLE},
    {"prelu", LOWER, LOWER},
    {"prod", SINGLE, SINGLE},
    {"reciprocal", AS_IS, SINGLE},
    {"reflection_pad1d", SINGLE, AS_IS},
    {"reflection_pad2d", SINGLE, AS_IS},
    {"replication_pad1d", SINGLE, AS_IS},
    {"replication_pad2d", SINGLE, AS_IS},
    {"replication_pad3d", SINGLE, AS_IS},
    {"rms_norm", AS_IS, SINGLE},
    {"rsqrt", AS_IS, SINGLE},
    {"scaled_dot_product_attention", LOWER, LOWER},
    {"scatter_add", AS_IS, PROMOTE},
    {"sinh", AS_IS, SINGLE},
    {"smooth_l1_loss", SINGLE, SINGLE},
    {"softmax", AS_IS, SINGLE},
    {"softplus", AS_IS, SINGLE},
    {"stack", PROMOTE, PROMOTE},
    {"sum", AS_IS, SINGLE},
    {"tan", AS_IS, SINGLE},
    {"upsample_bicubic2d", AS_IS, SINGLE},
    {"upsample_bilinear2d", AS_IS, SINGLE},
    {"upsample_nearest2d", AS_IS, SINGLE},
};

static policy policy_of(str name, bool cuda)
{
    size_t lo = 0, hi = COUNT_OF(policies);
    str rest;

    name = str_split(name, '.', &rest);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(name, str_of(policies[mid].name));

        if (c == 0)
            return cuda ? policies[mid].cuda : policies[mid].cpu;
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return AS_IS;
}

/* Doubles, integers and bool stay. */
static bool is_eligible(const graph *g, val v)
{
    const type *t = v ? graph_type(g, v) : NULL;

    return t && t->kind == TYPE_TENSOR && dtype_is_float(t->dtype) &&
           t->dtype != HULL_F64;
}

static void widen(const graph *g, val v, hull_dtype *to)
{
    const type *t = v ? graph_type(g, v) : NULL;

    if (is_eligible(g, v) && t->dtype == HULL_F32)
        *to = HULL_F32;
}

hull_status pt2_autocast(pt2 *p, aten_call *c)
{
    graph *g = p->g;
    policy how = policy_of(str_of(c->row->name), p->autocast_cuda);
    hull_dtype to = how == SINGLE ? HULL_F32 : p->autocast;

    if (how == AS_IS)
        return HULL_OK;
    for (uint32_t i = 0; how == PROMOTE && i < c->n_args; i++) {
        const aten_value *v = &c->args[i];

        if (v->kind == ATEN_TENSOR)
            widen(g, v->v, &to);
        for (uint32_t k = 0; v->kind == ATEN_TENSORS && k < v->n; k++)
            widen(g, v->vals[k], &to);
    }
    for (uint32_t i = 0; i < c->n_args; i++) {
        aten_value *v = &c->args[i];

        if (v->kind == ATEN_TENSOR && is_eligible(g, v->v))
            v->v = op_cast(g, v->v, to);
        if (v->kind != ATEN_TENSORS || v->n == 0)
            continue;
        val *list = arena_memdup(&p->f->a, v->vals, v->n * sizeof *list);
        if (!list)
            return fail_oom(v->n * sizeof *list);
        for (uint32_t k = 0; k < v->n; k++)
            if (is_eligible(g, list[k]))
                list[k] = op_cast(g, list[k], to);
        v->vals = list;
    }
    return ir_status(p->m);
}
