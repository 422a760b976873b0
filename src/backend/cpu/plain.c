/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * plain.c - what is too rare for vectors and too slow as a reference kernel,
 * which calls a function for each element: dequantize of 16 and 32 bits (biases
 * of quantised models, mostly).
 */
#include "backend/cpu/cpu.h"
#include "ops/family.h"

bool takes_dequantize_wide(const graph *g, const node *n)
{
    hull_dtype dt = graph_type(g, n->in[0])->dtype;

    return (dt == HULL_I32 || dt == HULL_I16 || dt == HULL_U16) &&
           graph_type(g, n->in[1])->dtype == HULL_F32;
}

typedef struct wide {
    const tensor *x;
    const float *scale;
    const tensor *zero; /* NULL: 0 */
    float *y;
    int64_t scale_step, zero_step;
    split s;
} wide;

/* Runs of one index of the axis. */
static void wide_part(void *user, int64_t begin, int64_t end)
{
    const wide *w = user;

    for (; begin < end; begin++) {
        int64_t k = begin % w->s.len, at = begin * w->s.inner;
        double s = (double)w->scale[k * w->scale_step];
        double z = w->zero == NULL ? 0 : (double)load_i64(
            w->zero->dtype, w->zero->data, (uint64_t)(k * w->zero_step));
        const void *x = w->x->data;
        float *y = w->y;

        if (w->x->dtype == HULL_I32)
            for (int64_t i = at; i < at + w->s.inner; i++)
                y[i] = (float)((((const int32_t *)x)[i] - z) * s);
        else if (w->x->dtype == HULL_I16)
            for (int64_t i = at; i < at + w->s.inner; i++)
                y[i] = (float)((((const int16_t *)x)[i] - z) * s);
        else
            for (int64_t i = at; i < at + w->s.inner; i++)
                y[i] = (float)((((const uint16_t *)x)[i] - z) * s);
    }
}

hull_status cpu_dequantize_wide(eval_ctx *cx, const node *n, const tensor *in,
                                tensor *out)
{
    wide w = {.x = &in[0], .scale = in[1].data, .y = out->data,
              .scale_step = tensor_numel(&in[1]) != 1,
              .s = {1, 1, tensor_numel(out)}};
    int64_t axis = attr_int(n, "axis");

    if (tensor_given(in, n, 2)) {
        w.zero = &in[2];
        w.zero_step = tensor_numel(&in[2]) != 1;
    }
    if (w.s.inner == 0)
        return op_get(n->op)->eval(cx, n, in, out);
    if (w.scale_step != 0 || w.zero_step != 0) {
        w.s = split_at(&in[0], (uint32_t)(axis < 0 ? axis + in[0].rank : axis));
        if ((w.scale_step != 0 && tensor_numel(&in[1]) != w.s.len) ||
            (w.zero_step != 0 && tensor_numel(&in[2]) != w.s.len))
            return op_get(n->op)->eval(cx, n, in, out); /* refuses it */
    }
    cpu_parallel(cx, w.s.outer * w.s.len, 1, (double)w.s.inner + 5, wide_part,
                 &w);
    return HULL_OK;
}
