/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * quant_vec.h - quantize from f32 to bytes and dequantize back. Scales and
 * zeros stay the same over runs of a tensor, or follow the last axis.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/quantiser.h"
#include "ops/family.h"

typedef struct quant {
    const float *scale;
    const uint8_t *zero;         /* NULL: 0 */
    int64_t scale_step, zero_step, size, inner; /* size of the axis */
    bool to_bytes, is_signed;
    const void *x;
    void *y;
} quant;

static int32_t quant_zero(const quant *q, int64_t k)
{
    uint8_t b;

    if (q->zero == NULL)
        return 0;
    b = q->zero[k * q->zero_step];
    return q->is_signed ? (int8_t)b : b;
}

/* n elements from `at` on, all of index k of the axis. */
static void quant_run(const quant *q, int64_t k, int64_t at, int64_t n)
{
    quantiser z = quantiser_of(q->scale[k * q->scale_step], quant_zero(q, k),
                               q->is_signed);
    const float *x = (const float *)q->x + at;
    float *y = (float *)q->y + at;

    if (q->to_bytes) {
        uint8_t *to = (uint8_t *)q->y + at;

        for (; n >= VEC_LANES; n -= VEC_LANES, to += VEC_LANES) {
            vec_store_bytes(to, vec_quantise(&z, vec_load(x)), z.is_signed);
            x += VEC_LANES;
        }
        if (n > 0)
            vec_put_bytes(to, vec_quantise(&z, vec_load_some(x, n)),
                          z.is_signed, n);
    } else {
        const uint8_t *from = (const uint8_t *)q->x + at;

        for (; n >= VEC_LANES; n -= VEC_LANES, from += VEC_LANES) {
            vec_store(y, vec_dequantise(&z, vec_load_bytes(from,
                                                           z.is_signed)));
            y += VEC_LANES;
        }
        if (n > 0)
            vec_store_some(y, vec_dequantise(&z, vec_take_bytes(from,
                                                                z.is_signed,
                                                                n)), n);
    }
}

/* Elements, where one scale is for all. */
static void quant_elements(void *user, int64_t begin, int64_t end)
{
    quant_run(user, 0, begin, end - begin);
}

/* Runs along the axes behind the quantised one. */
static void quant_lines(void *user, int64_t begin, int64_t end)
{
    const quant *q = user;

    for (; begin < end; begin++)
        quant_run(q, begin % q->size, begin * q->inner, q->inner);
}

/* Rows of the quantised axis, the last one. */
static void quant_rows(void *user, int64_t begin, int64_t end)
{
    const quant *q = user;

    for (; begin < end; begin++)
        for (int64_t k = 0; k < q->size; k += VEC_LANES) {
            int64_t n = q->size - k < VEC_LANES ? q->size - k : VEC_LANES;
            int64_t at = begin * q->size + k;
            quantiser z = quantiser_of(*q->scale, quant_zero(q, 0),
                                       q->is_signed);
            float zeros[VEC_LANES] = {0};

            if (q->scale_step != 0)
                z.scale = vec_take(q->scale + k, n);
            for (int64_t i = 0; q->zero != NULL && i < n; i++)
                zeros[i] = (float)quant_zero(q, k + i);
            z.zero = vec_load(zeros);
            if (q->to_bytes) {
                z.inverse = vec_div(vec_set(1.0f), z.scale);
                vec_put_bytes((uint8_t *)q->y + at,
                              vec_quantise(&z, vec_take((const float *)q->x +
                                                            at, n)),
                              z.is_signed, n);
            } else {
                vec_put((float *)q->y + at,
                        vec_dequantise(&z, vec_take_bytes(
                                               (const uint8_t *)q->x + at,
                                               z.is_signed, n)), n);
            }
        }
}

hull_status VEC_NAME(cpu_quantize)(eval_ctx *cx, const node *n,
                                   const tensor *in, tensor *out)
{
    bool zeros = tensor_given(in, n, 2);
    hull_dtype packed = n->op == OP_quantize ? out->dtype : in[0].dtype;
    quant q = {.scale = in[1].data, .zero = zeros ? in[2].data : NULL,
               .scale_step = tensor_numel(&in[1]) != 1, .size = 1,
               .to_bytes = n->op == OP_quantize,
               .is_signed = packed == HULL_I8, .x = in[0].data, .y = out->data};
    int64_t count = tensor_numel(out), axis = attr_int(n, "axis");
    split s;

    if (count == 0)
        return op_get(n->op)->eval(cx, n, in, out);
    q.zero_step = zeros && tensor_numel(&in[2]) != 1;
    if (q.scale_step == 0 && q.zero_step == 0) {
        cpu_parallel(cx, count, 4096, 0.15, quant_elements, &q);
        return HULL_OK;
    }
    s = split_at(&in[0], (uint32_t)(axis < 0 ? axis + in[0].rank : axis));
    if ((q.scale_step != 0 && tensor_numel(&in[1]) != s.len) ||
        (q.zero_step != 0 && tensor_numel(&in[2]) != s.len))
        return op_get(n->op)->eval(cx, n, in, out); /* refuses it */
    q.size = s.len;
    q.inner = s.inner;
    if (s.inner == 1)
        cpu_parallel(cx, s.outer, 1, 0.2 * (double)s.len, quant_rows, &q);
    else
        cpu_parallel(cx, s.outer * s.len, 1, 0.15 * (double)s.inner + 10,
                     quant_lines, &q);
    return HULL_OK;
}
