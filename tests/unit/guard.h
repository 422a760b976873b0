/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * guard.h - what the tests of guarantees share: the demo's model and its
 * checkpoints (the project's own data, so they run everywhere), the shared
 * fixtures where they exist, temporary files, one run with a made-up input.
 */
#ifndef HULL_GUARD_H
#define HULL_GUARD_H

#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hull.h"

#define DIGITS "demo/digits.onnx"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define GUARD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define GUARD_SANITIZED 1
#endif
#endif
#ifndef GUARD_SANITIZED
#define GUARD_SANITIZED 0
#endif

static const char *const guard_epochs[] = {
    "demo/epoch1.safetensors",
    "demo/epoch2.safetensors",
    "demo/epoch5.safetensors",
    "demo/epoch20.safetensors",
};
#define N_EPOCHS 4

#define WANT(e, code)                                                      \
    do {                                                                   \
        hull_status want_st_ = (e);                                        \
        if (want_st_ != (code))                                            \
            stop("%s: %s, wanted %s: %s", #e,                              \
                     hull_status_name(want_st_), hull_status_name(code),   \
                     want_st_ == HULL_OK ? "" : hull_last_error());        \
    } while (0)

/* Path of a shared fixture's file, NULL when it is not there. Four paths are
 * alive at a time. */
static inline const char *fixture(const char *name)
{
    static char paths[4][512];
    static unsigned at;
    const char *root = getenv("HULL_SHARED");
    char *path = paths[at++ % 4];

    snprintf(path, sizeof paths[0], "%s/fixtures/%s",
             root != NULL ? root : "../shared", name);
    return access(path, R_OK) == 0 ? path : NULL;
}

/* Options from "key=value" words; the caller frees them. */
static inline hull_options *options_of(const char *words)
{
    hull_options *o;
    char copy[256], *save = NULL;

    OK(hull_options_new(&o));
    snprintf(copy, sizeof copy, "%s", words);
    for (char *w = strtok_r(copy, " ", &save); w != NULL;
         w = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(w, '=');

        *eq = '\0';
        OK(hull_options_set(o, w, eq + 1));
    }
    return o;
}

/* A name for a temporary file of this process; `paths` are alive as above. */
static inline const char *temp_path(const char *suffix)
{
    static char paths[4][256];
    static unsigned at;
    char *path = paths[at++ % 4];
    const char *dir = getenv("TMPDIR");

    snprintf(path, sizeof paths[0], "%s/hull-guard-%ld-%u%s",
             dir != NULL ? dir : "/tmp", (long)getpid(), at, suffix);
    return path;
}

static inline void copy_file(const char *to, const char *from)
{
    char *p;
    size_t n;

    OK(file_read_all(&p, &n, from, SIZE_MAX / 4));
    OK(file_write_atomic(to, &(file_part){p, n}, 1));
    mem_free(p);
}

static inline int remove_one(const char *path, const struct stat *st,
                             int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- one run ------------------------------------------------------------- */

#define GUARD_INPUT_MAX 65536

/* The module's inputs, made up from their types: every dim that is symbolic
 * is `n`, values are a fixed sequence. */
typedef struct guard_input {
    hull_tensor t[4];
    int64_t shape[4][HULL_MAX_RANK];
    size_t n;
    void *data[4];
} guard_input;

static inline void guard_input_init(guard_input *in, const hull_module *m,
                                    int64_t n)
{
    in->n = hull_module_n_inputs(m);
    assert_in_range(in->n, 1, 4);
    for (size_t i = 0; i < in->n; i++) {
        hull_tensor_info info;
        size_t numel = 1;

        OK(hull_module_input(m, i, &info));
        for (int32_t k = 0; k < info.rank; k++) {
            in->shape[i][k] = info.shape[k] < 0 ? n : info.shape[k];
            numel *= (size_t)in->shape[i][k];
        }
        in->data[i] = calloc(numel + 1, 8);
        for (size_t k = 0; k < numel; k++) {
            uint32_t v = (uint32_t)(k * 2654435761u) >> 16;

            if (info.dtype == HULL_F32)
                ((float *)in->data[i])[k] = (float)(v % 997) / 500.0f - 1.0f;
            else if (info.dtype == HULL_I64)
                ((int64_t *)in->data[i])[k] = info.shape[0] == 0 ? 0 : v % 2;
            else
                ((uint8_t *)in->data[i])[k] = 1;
        }
        in->t[i] = (hull_tensor){.data = in->data[i],
                                 .shape = in->shape[i],
                                 .rank = info.rank,
                                 .dtype = info.dtype};
    }
}

static inline void guard_input_fini(guard_input *in)
{
    for (size_t i = 0; i < in->n; i++)
        free(in->data[i]);
}

static inline size_t tensor_bytes(const hull_tensor *t)
{
    size_t n = hull_dtype_bits((hull_dtype)t->dtype) / 8;

    for (int32_t k = 0; k < t->rank; k++)
        n *= (size_t)t->shape[k];
    return n;
}

/* Checksum over the first output's bytes: equal means bit-identical. */
static inline hull_status run_sum(uint64_t *out, hull_session *s,
                                  guard_input *in)
{
    hull_tensor y = {0};

    *out = 0;
    TRY(hull_session_run(s, in->t, in->n, &y, 1));
    *out = hash64(y.data, tensor_bytes(&y));
    return HULL_OK;
}

/* The same in a session of its own. */
static inline uint64_t module_sum(hull_module *m, guard_input *in)
{
    hull_session *s;
    uint64_t sum;

    OK(hull_session_new(&s, m, NULL));
    OK(run_sum(&sum, s, in));
    hull_session_free(s);
    return sum;
}

static inline hull_module *compile_of(const char *path, const char *weights,
                                      const char *words)
{
    hull_options *o = options_of(words);
    hull_weights *w = NULL;
    hull_module *m;

    if (weights != NULL)
        OK(hull_weights_open(&w, weights));
    OK(hull_compile(&m, path, w, NULL, o));
    hull_weights_unref(w);
    hull_options_free(o);
    return m;
}

static inline hull_status refit_of(hull_module *m, const char *path,
                                   const char *words, hull_refit_report *r)
{
    hull_options *o = options_of(words);
    hull_weights *w;
    hull_status st = hull_weights_open(&w, path);

    if (st == HULL_OK)
        st = hull_refit(m, w, o, r);
    hull_weights_unref(w);
    hull_options_free(o);
    return st;
}

#endif
