/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * weights.h - the index of named tensors: name -> dtype, shape, place. It owns
 * no payload: a place is a range of a mapped file or of the caller's memory
 * (small values that a file encodes as varints are decoded and owned). Readers
 * fill the index from headers alone.
 *
 * One tensor names one storage; tied tensors and views of one tensor name the
 * same storage, so their identity is kept.
 */
#ifndef HULL_WEIGHTS_H
#define HULL_WEIGHTS_H

#include "base/base.h"

typedef struct hull_weights weights;

typedef enum weights_format {
    WEIGHTS_MEMORY,      /* the caller's tensors */
    WEIGHTS_SAFETENSORS, /* one file, or shards with an index.json */
    WEIGHTS_TORCH,       /* .pt / .pth zip or legacy */
    WEIGHTS_ONNX,        /* initializers and Constant nodes of a model */
    WEIGHTS_PT2,         /* weights and constants of a torch.export archive */
    WEIGHTS_HULL         /* the sources inside a module file */
} weights_format;

/* Where the bytes of one storage are. Exactly one of file, memory, owned. */
typedef struct weight_storage {
    int32_t file;         /* index into the files, -1 = none */
    uint64_t off, len;    /* bytes of the file, or len bytes of memory */
    const void *memory;   /* the caller's; see release */
    void *owned;          /* decoded by the reader; freed with the index */
    void (*release)(void *user);
    void *release_user;
    bool absent;          /* exported with fake tensors: there are no bytes */
    bool payload;         /* bytes of a model file that its reader takes for
                           * values alone: no part of its skeleton */
} weight_storage;

typedef struct weight_entry {
    str name;             /* owned by the index */
    hull_dtype dtype;     /* HULL_NONE: one that Hull lacks; cannot be bound */
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
    int64_t strides[HULL_MAX_RANK]; /* elements */
    bool dense;           /* row-major without gaps (sub-byte: always) */
    uint32_t storage;     /* index into the storages */
    uint64_t off;         /* bytes from the start of the storage */
    uint64_t len;         /* bytes of the dense tensor */
    bool constant;        /* the file says: not part of the state_dict (PT2
                           * constants and non-persistent buffers) */
    bool inline_value;    /* ONNX Constant node rather than initializer */
} weight_entry;

/* ---- weights.c ----------------------------------------------------------- */

typedef struct weights_options {
    str key;   /* which dictionary of a nested .pt holds the tensors: a path of
                * keys joined by dots, "." = the top; "" = the only one */
    bool open; /* where several do and there is no key, the index has all
                * tensors under their paths, for weights_choose */
} weights_options;

/* Opens by content. options may be NULL. Names the format and the byte offset
 * or key in every error; HULL_EUNSUPPORTED names what the file is instead
 * (TorchScript, GGUF, tar ...). */
hull_status weights_open(weights **out, const char *path,
                         const weights_options *options) MUST_CHECK;
hull_status weights_new(weights **out, weights_format format) MUST_CHECK;
weights *weights_ref(weights *w);
void weights_unref(weights *w);

/* The index with the dictionary `key`: w itself when it is chosen already or
 * key is "", else the file opened again. HULL_ENOTFOUND lists the keys when
 * none is chosen. w may be NULL. A reference either way. */
hull_status weights_choose(weights **out, weights *w, str key) MUST_CHECK;

weights_format weights_kind(const weights *w);
/* One line for reports: "safetensors a.safetensors (12 tensors)". */
const char *weights_label(const weights *w);
size_t weights_count(const weights *w);
const weight_entry *weights_at(const weights *w, size_t i);
/* NULL when absent. */
const weight_entry *weights_find(const weights *w, str name);
const weight_storage *weights_storage(const weights *w, const weight_entry *e);
size_t weights_n_storages(const weights *w);
/* May the index be read after the call that was given it? Not when it holds the
 * caller's memory without a release callback. */
bool weights_outlives_call(const weights *w);
/* Calls the release callback of the caller's memory behind storage i now; the
 * storage has no bytes afterwards. Nothing for any other storage. */
void weights_release(weights *w, uint32_t i);
size_t weights_n_files(const weights *w);
const file *weights_file(const weights *w, size_t i);
/* The files stay mapped, their pages go: headers that were read drag whole
 * pieces of the file along, up to 2 MiB each. */
void weights_drop_pages(const weights *w);

/* Pointer to the tensor's bytes without copying, NULL when it is not dense or
 * has no bytes. A pointer into a mapping: whoever reads through it must accept
 * that a file rewritten in place shows here. */
const void *weights_view(const weights *w, const weight_entry *e);
/* Copies the tensor dense into dst (e->len bytes). Files are read with pread,
 * so truncation is HULL_EIO and never SIGBUS. HULL_EUNBOUND when the storage is
 * absent. */
hull_status weights_read(const weights *w, const weight_entry *e, void *dst)
    MUST_CHECK;
/* The same for n bytes at off of a dense tensor. */
hull_status weights_read_part(const weights *w, const weight_entry *e,
                              uint64_t off, void *dst, uint64_t n) MUST_CHECK;
/* Equal bytes? Reads both (same storage and place: reads nothing). */
hull_status weights_equal(bool *out, const weights *a, const weight_entry *ea,
                          const weights *b, const weight_entry *eb) MUST_CHECK;
/* HULL_ESTALE naming the first file whose identity changed since open. */
hull_status weights_unchanged(const weights *w) MUST_CHECK;
/* Identity of the place of e's bytes: equal identities are equal bytes as long
 * as weights_unchanged holds. Caller's memory has none (false). */
typedef struct weight_identity {
    file_id file;
    uint64_t off, len;
} weight_identity;
bool weights_identity(const weights *w, const weight_entry *e,
                      weight_identity *out);
/* BLAKE2b-256 over names, dtypes, shapes and bytes in name order. Reads all. */
hull_status weights_digest(const weights *w, digest *out) MUST_CHECK;

/* ---- skeleton.c, reads.c: was this model file imported before? ----------- */

/* Digest of a model file without the payloads of its first n storages.
 * *out_whole false: no model, or the index has values out of other files. */
hull_status weights_skeleton(bool *out_whole, digest *out, const weights *w,
                             size_t n_storages) MUST_CHECK;

/* Bytes of one of an index's files. */
typedef struct weight_place {
    uint32_t file;
    uint64_t off, len;
    digest bytes;
} weight_place;
/* A tensor of an inner graph, which an import adds to the index. */
typedef struct weight_late {
    size_t entry;        /* number in the index */
    uint64_t off, len;   /* its message in file 0 */
    bool sparse;         /* a SparseTensorProto, else a TensorProto */
} weight_late;
/* What went through an index while it was watched: with the skeleton, all that
 * an import knows of a model file. */
typedef struct weight_reads {
    const weights *w;
    size_t n_entries, n_storages; /* of w, when it began */
    weight_place *places;         /* no two are one */
    size_t n, cap;
    weight_late *late;
    size_t n_late, cap_late;
    strmap seen;
    bool failed;                  /* the list is not complete */
} weight_reads;
/* From now on, until unwatch; r must outlive that. One thread. */
void weights_watch(weights *w, weight_reads *r);
/* A passing index over parts of other's file: its reads count there. */
void weights_watch_with(weights *w, const weights *other);
void weights_unwatch(weights *w);
void weight_reads_fini(weight_reads *r);
/* Reads the place again: its digest. HULL_EFORMAT when w has no such place. */
hull_status weight_place_read(weight_place *p, const weights *w) MUST_CHECK;
/* Adds the tensor again, as an import would. */
hull_status weights_add_late(weights *w, str name, const weight_late *late,
                             bool inline_value) MUST_CHECK;

/* For readers: takes the mapping (leaves *f zeroed), returns its index. */
hull_status weights_take_file(weights *w, file *f, int32_t *out_index)
    MUST_CHECK;
hull_status weights_add_storage(weights *w, const weight_storage *s,
                                uint32_t *out_index) MUST_CHECK;
/* Copies name; fills len and dense from dtype, shape, strides; checks that the
 * tensor lies inside its storage with the rule of PyTorch's strided views
 * (offset + sum (size-1)*stride < elements), that no stride is negative, and
 * that the name is new. strides_given = false: row-major. */
hull_status weights_add(weights *w, const weight_entry *e, bool strides_given)
    MUST_CHECK;
/* Caller's memory: a hull_tensor with optional strides. */
hull_status weights_add_tensor(weights *w, str name, const hull_tensor *t,
                               void (*release)(void *user), void *user)
    MUST_CHECK;

/* ---- one reader per file: fills an empty index --------------------------- */

/* safetensors.c. A header of at most 100 000 000 bytes; rules of the format's
 * reference reader plus: duplicate keys are refused. */
hull_status safetensors_read(weights *w, file *f) MUST_CHECK;
/* shards.c. index.json of safetensors or torch.save shards. */
hull_status shards_read(weights *w, const char *index_path) MUST_CHECK;
/* torch_pickle.c. Zip and legacy form; executes nothing. */
hull_status torch_read(weights *w, file *f, str key) MUST_CHECK;
hull_status torch_read_legacy(weights *w, file *f, str key) MUST_CHECK;
/* Whichever of the two it is. */
hull_status torch_read_any(weights *w, file *f, str key) MUST_CHECK;
/* onnx_data.c. Initializers and the Constant nodes of the main graph, under
 * the initializer's or the node output's name; external data beside `path`. */
hull_status onnx_data_read(weights *w, file *f) MUST_CHECK;
/* pt2_data.c. FQNs of the weights and constants configs of the one model. */
hull_status pt2_data_read(weights *w, file *f) MUST_CHECK;

/* onnx_data.c, for the ONNX frontend: the TensorProto `tensor` as an entry.
 * model: the file beside which external data lies, "" = it is refused. */
hull_status onnx_tensor_add(weights *w, str name, bytes tensor, int32_t file,
                            const char *model, bool inline_value) MUST_CHECK;
hull_dtype onnx_dtype(int64_t data_type); /* HULL_NONE when unknown, text */
/* onnx_sparse.c: a SparseTensorProto as a dense entry; name.p NULL: its own. */
hull_status onnx_sparse_add(weights *w, str name, bytes sparse,
                            const char *model, bool inline_value) MUST_CHECK;
hull_status onnx_sparse_name(str *out, bytes sparse) MUST_CHECK;

/* onnx_strings.c: a TensorProto of text; strings are views of it. */
typedef struct onnx_text {
    uint32_t rank, n;
    int64_t shape[HULL_MAX_RANK];
    const str *strs; /* n */
} onnx_text;
hull_status onnx_is_text(bool *out, bytes tensor) MUST_CHECK;
hull_status onnx_text_read(onnx_text *out, arena *a, bytes tensor) MUST_CHECK;

/* safetensors.c, writer: for outputs, tests and module sources. Tensors in the
 * given order; data dense. */
typedef struct safetensors_item {
    str name;
    hull_dtype dtype;
    uint32_t rank;
    const int64_t *shape;
    const void *data;
    uint64_t len;
} safetensors_item;
hull_status safetensors_write(const char *path, const safetensors_item *items,
                              size_t n) MUST_CHECK;
/* HULL_NONE when the format has no such dtype. */
hull_dtype safetensors_dtype(str name);
const char *safetensors_dtype_name(hull_dtype dt); /* NULL when it has none */

#endif
