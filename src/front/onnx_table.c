/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_table.c - look-up in the tables of operators: onnx.def, and
 * onnx_contrib.def for those of ONNX Runtime.
 */
#include "front/onnx_lower.h"

#define WINDOW "auto_pad kernel_shape pads strides dilations "
#define RECURRENT                                                      \
    "activations activation_alpha activation_beta clip direction "     \
    "hidden_size "

#define ONNX(op, since, until, lower, arg, in_min, in_max, attrs) \
    {op, since, until, lower, arg, in_min, in_max, attrs},
static const onnx_row rows[] = {
#include "front/onnx.def"
#include "front/onnx_contrib.def"
};
#undef ONNX

/* "DOMAIN.OP", or the operator alone in the default domain. */
static bool is_named(const char *row, str domain, str op)
{
    str s = str_of(row);

    if (domain.n == 0)
        return str_eq(s, op);
    return s.n == domain.n + 1 + op.n && s.p[domain.n] == '.' &&
           str_eq((str){s.p, domain.n}, domain) &&
           str_eq((str){s.p + domain.n + 1, op.n}, op);
}

const onnx_row *onnx_row_find(str domain, str op, int64_t version)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (is_named(rows[i].op, domain, op) && version >= rows[i].since &&
            (rows[i].until == 0 || version <= rows[i].until))
            return &rows[i];
    return NULL;
}
