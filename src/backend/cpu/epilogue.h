/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * epilogue.h - what a product's kernel does to a row before it leaves the
 * cache: the activation. Bias and residual start the sums.
 */
#ifndef HULL_CPU_EPILOGUE_H
#define HULL_CPU_EPILOGUE_H

#include "backend/cpu/vec.h"
#include "ops/family.h"

typedef struct epilogue {
    const float *bias;     /* [n], or NULL */
    const float *residual; /* as the result, or NULL */
    packed_act act;
    float low, high;       /* of clamp */
} epilogue;

VEC_INLINE epilogue epilogue_of(const node *n, const tensor *in)
{
    epilogue e = {.act = packed_act_of(n)};

    e.bias = tensor_given(in, n, 2) ? in[2].data : NULL;
    e.residual = tensor_given(in, n, 3) ? in[3].data : NULL;
    e.low = (float)attr_float(n, "low");
    e.high = (float)attr_float(n, "high");
    return e;
}

VEC_INLINE vec epilogue_apply(const epilogue *e, vec x)
{
    switch (e->act) {
    case PACKED_RELU: return vec_relu(x);
    case PACKED_GELU: return vec_gelu(x);
    case PACKED_GELU_TANH: return vec_gelu_tanh(x);
    case PACKED_SILU: return vec_mul(x, vec_sigmoid(x));
    case PACKED_SIGMOID: return vec_sigmoid(x);
    case PACKED_TANH: return vec_tanh(x);
    case PACKED_HARD_SWISH:
        return vec_mul(x, vec_clamp(vec_fma(x, vec_set(1.0f / 6),
                                            vec_set(0.5f)),
                                    vec_set(0.0f), vec_set(1.0f)));
    case PACKED_CLAMP:
        return vec_clamp(x, vec_set(e->low), vec_set(e->high));
    default: return x;
    }
}

/* An activation of a few instructions is applied in registers: n of them in x,
 * n constant after inlining. False when it is none of those. */
VEC_INLINE bool epilogue_in_registers(int n, const epilogue *e, vec *x)
{
    switch (e->act) {
    case PACKED_NONE:
        return true;
    case PACKED_RELU:
        VEC_UNROLL
        for (int i = 0; i < n; i++)
            x[i] = vec_relu(x[i]);
        return true;
    case PACKED_CLAMP: {
        vec low = vec_set(e->low), high = vec_set(e->high);

        VEC_UNROLL
        for (int i = 0; i < n; i++)
            x[i] = vec_clamp(x[i], low, high);
        return true;
    }
    case PACKED_HARD_SWISH: {
        epilogue hard = {.act = PACKED_HARD_SWISH};

        VEC_UNROLL
        for (int i = 0; i < n; i++)
            x[i] = epilogue_apply(&hard, x[i]);
        return true;
    }
    default:
        return false;
    }
}

#endif
