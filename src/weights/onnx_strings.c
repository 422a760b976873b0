/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_strings.c - TensorProtos of text (data_type 8, string_data 6). They are
 * no weights: a graph holds them as constants.
 */
#include <string.h>

#include "weights/index.h"

#define TYPE_TEXT 8

hull_status onnx_is_text(bool *out, bytes tensor)
{
    pb r = pb_of(tensor, tensor.p, "TensorProto");
    pb_field f;
    bool more;

    *out = false;
    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number == 2)
            *out = f.wire == 0 && f.u == TYPE_TEXT;
    }
}

/* Dims into *t, the number of strings into *out_n. */
static hull_status count_strings(onnx_text *t, bytes tensor, size_t *out_n)
{
    pb r = pb_of(tensor, tensor.p, "TensorProto");
    pb_field f;
    bool more = true;
    int64_t *dims = NULL;
    size_t n = 0, cap = 0;
    hull_status st = HULL_OK;

    *out_n = 0;
    for (;;) {
        TRY_OUT(pb_next(&r, &f, &more));
        if (!more)
            break;
        if (f.number == 1)
            TRY_OUT(pb_i64s(&r, &f, &dims, &n, &cap));
        else if (f.number == 6)
            ++*out_n;
        else if (f.number == 3 || f.number == 9 ||
                 (f.number == 14 && f.u == 1))
            TRY_OUT(fail(HULL_EFORMAT, "a tensor of text has raw or external "
                         "data"));
    }
    if (n > HULL_MAX_RANK)
        TRY_OUT(fail(HULL_EUNSUPPORTED, "a tensor of text has rank %zu, at "
                     "most %d", n, HULL_MAX_RANK));
    t->rank = (uint32_t)n;
    if (n > 0)
        memcpy(t->shape, dims, n * sizeof *dims);
out:
    mem_free(dims);
    return st;
}

static hull_status take_strings(onnx_text *t, str *strs, bytes tensor)
{
    pb r = pb_of(tensor, tensor.p, "TensorProto");
    pb_field f;
    bool more;

    for (t->n = 0;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number != 6)
            continue;
        TRY(pb_want(&r, &f, 2));
        strs[t->n++] = pb_str(&f);
    }
}

hull_status onnx_text_read(onnx_text *out, arena *a, bytes tensor)
{
    uint64_t numel;
    size_t n;
    str *strs;
    bool text;

    *out = (onnx_text){.n = 0};
    TRY(onnx_is_text(&text, tensor));
    if (!text)
        return fail(HULL_EFORMAT, "a tensor is not of text");
    TRY(count_strings(out, tensor, &n));
    TRY(weights_numel(&numel, str_of("text"), out->rank, out->shape));
    if (numel != n || n > UINT32_MAX)
        return fail(HULL_EFORMAT, "a tensor of text has %zu strings, its shape "
                    "wants %llu", n, (unsigned long long)numel);
    strs = arena_array(a, n + 1, sizeof *strs);
    if (strs == NULL)
        return fail_oom(n * sizeof *strs);
    out->strs = strs;
    return take_strings(out, strs, tensor);
}
