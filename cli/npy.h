/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * npy.h - tensor files of the command line: .npy, .npz (stored or deflated)
 * and .safetensors, as a list of named dense tensors in little-endian host
 * memory. Reading is told by content, writing by the name's extension.
 */
#ifndef HULL_CLI_NPY_H
#define HULL_CLI_NPY_H

#include "base/base.h"

typedef struct named_tensor {
    char *name; /* "" for the one tensor of a .npy file */
    hull_dtype dtype;
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
    void *data; /* dense row-major, aligned to 64; never NULL when read */
    uint64_t n_bytes;
} named_tensor;

/* Owns names and data. Zeroed = empty. */
typedef struct tensor_file {
    named_tensor *items;
    size_t n, cap;
} tensor_file;

/* Reads a whole tensor file; anything that is neither .npy nor .npz is opened
 * as a checkpoint. Fortran order is turned into row-major, big-endian data is
 * refused. tensor_file_fini() it. */
hull_status tensor_file_read(tensor_file *out, const char *path) MUST_CHECK;
void tensor_file_fini(tensor_file *f);

/* Writes `n` tensors atomically. HULL_EINVAL for another extension, for more
 * or less than one tensor in a .npy; HULL_EUNSUPPORTED for a dtype that the
 * format cannot hold (bf16, f8 and sub-byte types fit only .safetensors). */
hull_status tensor_file_write(const char *path, const named_tensor *items,
                              size_t n) MUST_CHECK;

/* Adds a zeroed tensor, to be filled through *out_item (valid until the next
 * add). Copies name and shape. */
hull_status tensor_file_add(tensor_file *f, named_tensor **out_item, str name,
                            hull_dtype dtype, uint32_t rank,
                            const int64_t *shape) MUST_CHECK;
/* NULL when absent. */
const named_tensor *tensor_file_find(const tensor_file *f, const char *name);

/* Dense bytes of a shape; HULL_EFORMAT for a negative dim, an unknown dtype or
 * an overflow. */
hull_status tensor_n_bytes(uint64_t *out, hull_dtype dtype, uint32_t rank,
                           const int64_t *shape) MUST_CHECK;
/* The caller's view for hull_session_run; points into t. */
hull_tensor tensor_view(const named_tensor *t);

/* ---- npy.c: one array ---------------------------------------------------- */

/* Adds the array in `data` (header and elements) under `name`. */
hull_status npy_parse(tensor_file *f, str name, bytes data) MUST_CHECK;
/* Appends header and elements. */
hull_status npy_format(buf *out, const named_tensor *t) MUST_CHECK;

/* ---- npz.c: a zip of arrays ---------------------------------------------- */

/* Adds every NAME.npy of the archive in `data`, in directory order. */
hull_status npz_parse(tensor_file *f, bytes data) MUST_CHECK;

#endif
