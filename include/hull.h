/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * hull.h - compile a model's architecture once, pour any checkpoint into it.
 *
 *     hull_module *m;
 *     hull_session *s;
 *     hull_weights *w;
 *     hull_compile(&m, "model.onnx", NULL, NULL, NULL);
 *     hull_session_new(&s, m, NULL);
 *     hull_session_run(s, inputs, n_inputs, outputs, n_outputs);
 *     hull_weights_open(&w, "epoch2.safetensors");
 *     hull_refit(m, w, NULL, NULL);              // the next run uses epoch 2
 *
 * Conventions
 *   Status     Functions return hull_status; HULL_OK is 0. On failure *out is
 *              NULL and hull_last_error() describes it until the next call on
 *              this thread. A failed call changes nothing.
 *   Ownership  What a function hands out through `out` belongs to the caller,
 *              who releases it with the function named in its comment; that
 *              function accepts NULL. Pointers returned directly (names,
 *              shapes) belong to the object and live as long as it does.
 *   Threads    Options belong to one thread while they are being set. A session
 *              belongs to one thread at a time. Everything else may be shared.
 *   Units      Strings are UTF-8, sizes are bytes, shapes and strides are
 *              elements. Tensors are dense row-major unless strides say
 *              otherwise.
 */
#ifndef HULL_H
#define HULL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HULL_API __attribute__((visibility("default")))
#define HULL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define HULL_API
#define HULL_MUST_CHECK
#endif

#define HULL_VERSION_MAJOR 0
#define HULL_VERSION_MINOR 1
#define HULL_VERSION_PATCH 0
#define HULL_VERSION_TEXT "0.1.0"

/* Highest tensor rank anywhere in Hull. */
#define HULL_MAX_RANK 16

/* ---- Status -------------------------------------------------------------- */

/* Numbers are ABI: appended, never renumbered. Codes exist only where callers
 * act differently; hull_last_error() holds the details. */
typedef enum hull_status {
    HULL_OK = 0,
    HULL_EINVAL = 1,       /* an argument is wrong: fix the call */
    HULL_ENOMEM = 2,       /* memory ran out or a limit was reached */
    HULL_EIO = 3,          /* the system refused a read or write */
    HULL_EFORMAT = 4,      /* a file is malformed */
    HULL_EVERSION = 5,     /* a file is of a version that we do not read */
    HULL_ENOTFOUND = 6,    /* a named file, tensor or key does not exist */
    HULL_EUNSUPPORTED = 7, /* well-formed, but beyond what Hull does */
    HULL_ESHAPE = 8,       /* shapes or dtypes disagree */
    HULL_EBIND = 9,        /* a checkpoint does not fit the module */
    HULL_EUNBOUND = 10,    /* the module has no weights yet: refit first */
    HULL_ESTALE = 11,      /* a file changed under a weight set that needs it */
    HULL_EMISMATCH = 12,   /* values differ from the expected ones */
    HULL_EDEVICE = 13,     /* a device failed */
    HULL_EINTERNAL = 14    /* a fault of Hull: please report it */
} hull_status;

/* Short name of a code ("HULL_EINVAL"), never NULL. */
HULL_API const char *hull_status_name(hull_status st);
/* One line for the last failure on this thread; "" when there was none. */
HULL_API const char *hull_last_error(void);
/* "0.1.0"; compare with HULL_VERSION_TEXT to find a mixed installation. */
HULL_API const char *hull_version(void);

typedef void (*hull_log_fn)(void *user, const char *subsystem, int level,
                            const char *text);
/* Sends log lines to fn instead of stderr; NULL restores stderr. */
HULL_API void hull_set_log(hull_log_fn fn, void *user);

/* Replaces malloc for the whole library; before any other call. `alloc` gets
 * alignment (a power of two) and size, `free` accepts NULL. */
typedef struct hull_allocator {
    void *(*alloc)(void *user, size_t align, size_t size);
    void (*free)(void *user, void *p);
    void *user;
} hull_allocator;
HULL_API hull_status hull_set_allocator(const hull_allocator *a)
    HULL_MUST_CHECK;

/* ---- Tensors ------------------------------------------------------------- */

/* Numbers are ABI. Sub-byte types are packed, first element in the low bits. */
typedef enum hull_dtype {
    HULL_NONE = 0,
    HULL_F64 = 1, HULL_F32 = 2, HULL_F16 = 3, HULL_BF16 = 4,
    HULL_F8E4M3FN = 5, HULL_F8E4M3FNUZ = 6, HULL_F8E5M2 = 7,
    HULL_F8E5M2FNUZ = 8, HULL_F8E8M0 = 9, HULL_F4E2M1 = 10,
    HULL_I64 = 11, HULL_I32 = 12, HULL_I16 = 13, HULL_I8 = 14, HULL_I4 = 15,
    HULL_U64 = 16, HULL_U32 = 17, HULL_U16 = 18, HULL_U8 = 19, HULL_U4 = 20,
    HULL_BOOL = 21, HULL_C64 = 22, HULL_C128 = 23,
    HULL_I2 = 24, HULL_U2 = 25,
    HULL_STRING = 26,   /* elements are hull_string */
    HULL_SEQUENCE = 27  /* a sequence: rank 1, data is hull_tensor[shape[0]] */
} hull_dtype;

/* One element of a HULL_STRING tensor: n bytes of UTF-8, no end mark. */
typedef struct hull_string {
    const char *p;
    size_t n;
} hull_string;

HULL_API const char *hull_dtype_name(hull_dtype dt); /* "f32"; never NULL */
HULL_API uint32_t hull_dtype_bits(hull_dtype dt);    /* 32; 0 when unknown */

/* A tensor the caller owns. The layout is ABI. An optional that has no value
 * is all zero. */
typedef struct hull_tensor {
    void *data;             /* NULL allowed when a dim is 0 */
    const int64_t *shape;   /* rank dims */
    const int64_t *strides; /* elements; NULL = dense row-major */
    int32_t rank;
    int32_t dtype;          /* hull_dtype */
    int32_t device;         /* 0 = host memory; nothing else in this version */
    int32_t reserved;       /* 0 */
} hull_tensor;

/* One input or output of a module. */
typedef struct hull_tensor_info {
    const char *name;
    const int64_t *shape;      /* -1 where the dim is symbolic */
    const char *type_text;     /* "f32[N,3,224,224]", "sequence(f32[?])" */
    int32_t rank;              /* -1: known at run time only, or a sequence */
    int32_t dtype;
} hull_tensor_info;

/* ---- Options: key = value ------------------------------------------------ */

typedef struct hull_options hull_options;

HULL_API hull_status hull_options_new(hull_options **out) HULL_MUST_CHECK;
/* HULL_ENOTFOUND for an unknown key (the nearest one is named), HULL_EINVAL
 * for a value out of bounds (the bounds are named). */
HULL_API hull_status hull_options_set(hull_options *o, const char *key,
                                      const char *value) HULL_MUST_CHECK;
/* Current value as text, NULL for an unknown key. */
HULL_API const char *hull_options_get(const hull_options *o, const char *key);
HULL_API void hull_options_free(hull_options *o);

typedef struct hull_option_info {
    const char *key, *type, *default_value, *bounds, *effect, *help;
} hull_option_info;
/* i-th option; HULL_ENOTFOUND past the last one. effect: CODE, PLAN or RUN.
 * `bounds` is valid until the thread's next call. */
HULL_API hull_status hull_options_describe(size_t i, hull_option_info *out)
    HULL_MUST_CHECK;

/* ---- Weights: an index of named tensors; owns no bytes ------------------- */

typedef struct hull_weights hull_weights;

/* Opens a checkpoint, told by content: .safetensors, a sharded index.json (of
 * .safetensors or .bin files), a .pt/.pth/.bin checkpoint (zip or legacy), or
 * the weights inside a .onnx or .pt2 file. Reads headers only. A file of nested
 * dictionaries with more than one that holds tensors stays open with all of
 * them under their paths; the option checkpoint_key of the call that takes the
 * weights chooses. hull_weights_unref() it. */
HULL_API hull_status hull_weights_open(hull_weights **out, const char *path)
    HULL_MUST_CHECK;
/* Empty index for tensors in the caller's memory. */
HULL_API hull_status hull_weights_new(hull_weights **out) HULL_MUST_CHECK;
/* Adds one. Without `release` the memory is read only during the refit or
 * compile call that gets these weights. With it, the memory must stay valid
 * until release(user) is called, exactly once, on any thread but never two
 * calls of one refit at a time; see option release_weights. */
HULL_API hull_status hull_weights_add(hull_weights *w, const char *name,
                                      const hull_tensor *t,
                                      void (*release)(void *user), void *user)
    HULL_MUST_CHECK;
HULL_API size_t hull_weights_count(const hull_weights *w);
/* i-th tensor in file order. t->data is NULL: the index reads no payload. */
HULL_API hull_status hull_weights_at(const hull_weights *w, size_t i,
                                     const char **out_name, hull_tensor *out)
    HULL_MUST_CHECK;
HULL_API void hull_weights_unref(hull_weights *w);

/* ---- Cache of weightless engines ----------------------------------------- */

typedef struct hull_cache hull_cache;

/* Opens or creates the folder. path NULL: $HULL_CACHE_DIR, else
 * $XDG_CACHE_HOME/hull, else ~/.cache/hull. */
HULL_API hull_status hull_cache_open(hull_cache **out, const char *path,
                                     const hull_options *options)
    HULL_MUST_CHECK;
/* Value of a counter ("hits", "misses", ...); HULL_ENOTFOUND if unknown.
 * Totals over all processes that used the folder. */
HULL_API hull_status hull_cache_stat(hull_cache *c, const char *counter,
                                     uint64_t *out) HULL_MUST_CHECK;
/* The same counter for what this process did through c alone. */
HULL_API hull_status hull_cache_stat_process(hull_cache *c,
                                             const char *counter,
                                             uint64_t *out) HULL_MUST_CHECK;
/* Reads every entry; bad ones are set aside. *out_bad counts them. */
HULL_API hull_status hull_cache_verify(hull_cache *c, uint64_t *out_good,
                                       uint64_t *out_bad) HULL_MUST_CHECK;
/* Removes what the folder and this cache's memory hold; stores keep theirs. */
HULL_API hull_status hull_cache_clear(hull_cache *c) HULL_MUST_CHECK;

/* A store of the caller's own, as a last tier: asked for what memory, folder
 * and the stores of option cache_remote lack, and given what was built. Names
 * are 64 hex digits, values are bytes in the format of docs/engine-format.md;
 * they are checked as those of any store are, and never changed in place. The
 * functions are called on the threads that compile, several at once, and must
 * not use the cache. What is not HULL_OK or HULL_ENOTFOUND is a failure: it is
 * counted, costs a miss and no more, and after three in a row the store is
 * left alone for a time that grows; HULL_ENOMEM is no failure of the store. */
typedef struct hull_cache_store {
    void *user;
    /* Calls take(sink, p, n) for the value, whole or in pieces, and stops when
     * that is not HULL_OK. HULL_ENOTFOUND: there is none. */
    hull_status (*get)(void *user, const char *name,
                       hull_status (*take)(void *sink, const void *p,
                                           size_t n), void *sink);
    hull_status (*put)(void *user, const char *name, const void *p, size_t n);
    /* May be NULL, as release. */
    hull_status (*remove)(void *user, const char *name);
    /* The last call, when the cache's last reference goes. */
    void (*release)(void *user);
} hull_cache_store;

enum {
    HULL_STORE_READ_ONLY = 1 /* put and remove are never called */
};
/* Copies the struct. Any thread may add one at any time; there are at most 16
 * stores. After a failure release is not called. */
HULL_API hull_status hull_cache_add_store(hull_cache *c,
                                          const hull_cache_store *store,
                                          unsigned flags) HULL_MUST_CHECK;
/* Writes all entries of the folder into one file, atomically; bad ones are left
 * out. *out_n, which may be NULL, counts them. */
HULL_API hull_status hull_cache_export(hull_cache *c, const char *path,
                                       uint64_t *out_n) HULL_MUST_CHECK;
/* Adds what the folder lacks of a file that hull_cache_export wrote. Every
 * entry is checked, and refused by itself; HULL_EFORMAT or HULL_EVERSION: the
 * file is none, was cut or changed, and nothing was added. The counts may be
 * NULL. */
HULL_API hull_status hull_cache_import(hull_cache *c, const char *path,
                                       uint64_t *out_added,
                                       uint64_t *out_refused) HULL_MUST_CHECK;
HULL_API void hull_cache_unref(hull_cache *c);

/* ---- Compile ------------------------------------------------------------- */

typedef struct hull_module hull_module;

/* Compiles the model file (ONNX or PT2, told by content).
 *   weights  the checkpoint to fill the module with; NULL: the file's own.
 *            A reference is kept as long as sources are kept.
 *   cache    consulted and filled per block, and for the whole model unless
 *            cache_direct=off; may be NULL.
 *   options  NULL for defaults.
 * With strip_weights=on the module is returned unfilled; with fill=late or run
 * the checkpoint is bound, and runs make the slots.
 * Errors: HULL_EUNSUPPORTED every missing operator is listed;
 *         HULL_EBIND        every tensor that does not fit is listed.
 * hull_module_unref() it. */
HULL_API hull_status hull_compile(hull_module **out, const char *path,
                                  hull_weights *weights, hull_cache *cache,
                                  const hull_options *options) HULL_MUST_CHECK;
/* The plan as text or, with json != 0, as JSON: blocks, reason per fallback
 * node, constants and why each is a weight or a literal, keys, predicted
 * cache hits, the kernel of each node with predicted, timed and measured
 * times. Nothing is timed or stored. hull_free() it. */
HULL_API hull_status hull_explain(char **out, const char *path,
                                  hull_weights *weights, hull_cache *cache,
                                  const hull_options *options, int json)
    HULL_MUST_CHECK;
HULL_API void hull_free(void *p);

/* ---- Modules ------------------------------------------------------------- */

enum {
    HULL_SAVE_SOURCES = 1,  /* weights as the checkpoint gave them */
    HULL_SAVE_PREPARED = 2, /* slots: loading is a mmap, on this target only */
    HULL_SAVE_LINK = 4      /* the checkpoint's digest; its path at load */
};
/* Writes one portable file, atomically. flags 0: engines and binding only. */
HULL_API hull_status hull_module_save(hull_module *m, const char *path,
                                      unsigned flags) HULL_MUST_CHECK;
/* Loads a module file. Blocks whose target is absent here are rebuilt from
 * their text, through the cache if one is given, and the log says so.
 *   weights  for a linked module, the checkpoint whose digest it holds; for
 *            any other, a refit
 * With strip_weights=on the file's weights are left where they are. */
HULL_API hull_status hull_module_load(hull_module **out, const char *path,
                                      hull_weights *weights, hull_cache *cache,
                                      const hull_options *options)
    HULL_MUST_CHECK;
HULL_API size_t hull_module_n_inputs(const hull_module *m);
HULL_API size_t hull_module_n_outputs(const hull_module *m);
HULL_API hull_status hull_module_input(const hull_module *m, size_t i,
                                       hull_tensor_info *out) HULL_MUST_CHECK;
HULL_API hull_status hull_module_output(const hull_module *m, size_t i,
                                        hull_tensor_info *out) HULL_MUST_CHECK;
/* Version of the weight set that new runs use; 0 = none. */
HULL_API uint64_t hull_module_version(const hull_module *m);
/* Facts of the module as JSON: blocks, keys, cache hits, seconds, engine
 * bytes, slots, whether they are filled. hull_free() it. */
HULL_API hull_status hull_module_describe(char **out, const hull_module *m)
    HULL_MUST_CHECK;
HULL_API hull_module *hull_module_ref(hull_module *m);
HULL_API void hull_module_unref(hull_module *m);

/* ---- Refit --------------------------------------------------------------- */

typedef struct hull_refit_report {
    uint64_t version;        /* of the published set */
    uint64_t bytes_read, bytes_written, bytes_shared;
    uint64_t slots_borrowed, slots_copied, slots_computed, slots_shared;
    uint64_t kept;           /* holes that kept their constant */
    double seconds;          /* bind to publish */
    double publish_seconds;  /* of these, when a session could have waited */
    uint64_t slots_streamed; /* left to the runs: option fill */
    uint64_t reserved[6];
} hull_refit_report;

/* Fills a new weight set from w and publishes it in one step. Strict: all
 * missing, unexpected, wrong-shape and wrong-dtype tensors are listed in one
 * HULL_EBIND. Sessions that are running keep the set they started with. Any
 * failure leaves the module bit-identical. Refits of one module are serial.
 *   options  allow_missing, narrow, borrow, fill, keep_sources ...; may be
 *            NULL
 *   report   may be NULL */
HULL_API hull_status hull_refit(hull_module *m, hull_weights *w,
                                const hull_options *options,
                                hull_refit_report *report) HULL_MUST_CHECK;
/* The same from a model file ("regular" refit): imported again, its canonical
 * text must equal the module's, weights bind by position. hull_refit takes the
 * weights inside a model file by their names instead. */
HULL_API hull_status hull_refit_model(hull_module *m, const char *path,
                                      const hull_options *options,
                                      hull_refit_report *report)
    HULL_MUST_CHECK;
/* Publishes the set that was current before the last refit again, when that
 * refit had keep_previous=on; HULL_EINVAL otherwise. */
HULL_API hull_status hull_rollback(hull_module *m) HULL_MUST_CHECK;

/* ---- Sessions ------------------------------------------------------------ */

typedef struct hull_session hull_session;

/* options: seed (of random operators); NULL: the module's. */
HULL_API hull_status hull_session_new(hull_session **out, hull_module *m,
                                      const hull_options *options)
    HULL_MUST_CHECK;
/* Runs once. Inputs are read during the call. outputs[i].data NULL: the
 * session fills in data, shape and dtype, valid until its next run or free.
 * Otherwise the caller's shape and dtype must be those of the result, and it
 * is copied there; sequences and strings are only lent. Errors:
 * HULL_EUNBOUND names the unbound weights,
 * HULL_ESHAPE the input and the dim, HULL_ESTALE a file that changed. */
HULL_API hull_status hull_session_run(hull_session *s,
                                      const hull_tensor *inputs,
                                      size_t n_inputs, hull_tensor *outputs,
                                      size_t n_outputs) HULL_MUST_CHECK;
/* Version of the weight set that the last run used; 0 before the first. */
HULL_API uint64_t hull_session_version(const hull_session *s);
/* Puts the state that runs mutate back to its initial value, and the random
 * numbers to their start. */
HULL_API hull_status hull_session_reset(hull_session *s) HULL_MUST_CHECK;
HULL_API void hull_session_free(hull_session *s);

#ifdef __cplusplus
}
#endif
#endif
