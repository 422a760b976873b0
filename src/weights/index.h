/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * index.h - inside src/weights only: the index itself and what its readers
 * share. Everybody else uses weights.h.
 */
#ifndef HULL_WEIGHTS_INDEX_H
#define HULL_WEIGHTS_INDEX_H

#include <stdatomic.h>

#include "weights/weights.h"

/* Budgets for what a file may ask of us. */
#define WEIGHTS_TENSORS_MAX (4u << 20)
#define WEIGHTS_NAME_MAX 4096
/* A view with stride 0 is larger than its storage; at most this many bytes. */
#define WEIGHTS_EXPANDED_MAX (1ull << 34)

struct hull_weights {
    _Atomic uint32_t refs;
    weights_format format;
    char *title; /* base name of what was opened; NULL for memory */
    char *open_choice; /* the dictionaries of which none was chosen; or NULL */
    char *key; /* the one that was chosen by the caller; or NULL */
    char label[256];
    weight_entry *entries;
    size_t n, cap;
    weight_storage *storages;
    size_t n_storages, cap_storages;
    file *files;
    size_t n_files, cap_files;
    strmap by_name;
    strmap by_memory; /* the caller's, without a release callback */
    arena names;
    weight_reads *reads; /* who watches; or NULL */
    bool decoded_elsewhere; /* an owned value came out of another file */
};

/* reads.c: for whoever reads bytes or adds a tensor; nothing unless watched. */
void weights_note_place(const weights *w, int32_t number, uint64_t off,
                        const void *p, uint64_t n);
void weights_note_memory(const weights *w, const void *p, uint64_t n);
void weights_note_late(const weights *w, bytes message, bool sparse);

/* Product of the dims; HULL_EFORMAT on a negative dim or overflow. */
hull_status weights_numel(uint64_t *out, str name, uint32_t rank,
                          const int64_t *shape) MUST_CHECK;
/* Bytes of numel elements, sub-byte types rounded up. */
hull_status weights_dense_len(uint64_t *out, str name, hull_dtype dtype,
                              uint64_t numel) MUST_CHECK;
void weights_relabel(weights *w);

/* The torch.save zip inside `data`, which lies at byte `base` of file number
 * `file`: for torch_read and for the nested zips of older PT2 archives. */
hull_status torch_zip_add(weights *w, bytes data, int32_t file, uint64_t base,
                          str key, bool constant) MUST_CHECK;
/* Nobody said which of the listed dictionaries is meant. */
hull_status weights_leave_open(weights *w, const char *list) MUST_CHECK;
/* Bytes of the legacy form's pickled magic number at p, 0 when it is not
 * there. */
size_t torch_legacy_magic(const uint8_t *p, size_t n);

#endif
