/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_data.h - inside src/weights only: a parsed TensorProto.
 */
#ifndef HULL_ONNX_DATA_H
#define HULL_ONNX_DATA_H

#include "weights/index.h"

/* Maps location beside the model into w, or finds it there; *out is the file's
 * index. */
hull_status onnx_external_file(int32_t *out, weights *w, const char *model,
                               str location) MUST_CHECK;

#endif
