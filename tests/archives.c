/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * archives.c - small archives of several versions of PyTorch (made by
 * tests/data/pt2/make_archives.py): each is compiled with its own weights and
 * runs on every set of inputs in one session, so that mutated buffers count;
 * inputs that break a guard must be refused.
 *
 *     archives [FOLDER [MODEL]]
 */
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>
#include <zlib.h>

#define ATOL 1e-5
#define RTOL 1e-4
#define RTOL_HALF 2e-2 /* bf16: eight bits of mantissa, sums in another order */
#define MAX_TENSORS 8
#define MAX_FILES 256
#define MAX_BYTES (1u << 20)

static unsigned passed, failed, refused;

/* Tensors "input_<i>.<run>" of a model's io file, dense in memory. */
typedef struct io {
    hull_tensor t[MAX_TENSORS];
    size_t n;
} io;

static void io_free(io *x)
{
    for (size_t i = 0; i < x->n; i++)
        mem_free(x->t[i].data);
    x->n = 0;
}

static hull_status io_read(io *out, const weights *w, const char *what,
                           const char *run)
{
    out->n = 0;
    for (size_t i = 0; i < MAX_TENSORS; i++) {
        char name[64];
        const weight_entry *e;
        hull_tensor *t = &out->t[i];

        snprintf(name, sizeof name, "%s_%zu.%s", what, i, run);
        e = weights_find(w, str_of(name));
        if (e == NULL)
            break;
        *t = (hull_tensor){.shape = e->shape, .rank = (int32_t)e->rank,
                           .dtype = (int32_t)e->dtype};
        t->data = mem_alloc(e->len + 1);
        if (t->data == NULL)
            return fail_oom(e->len);
        out->n = i + 1;
        TRY(weights_read(w, e, t->data));
    }
    return HULL_OK;
}

static hull_status same_type(const hull_tensor *got, const hull_tensor *want,
                             size_t i)
{
    if (got->dtype != want->dtype || got->rank != want->rank)
        return fail(HULL_EMISMATCH, "output %zu is %s of rank %d, wanted %s of "
                    "rank %d", i, hull_dtype_name((hull_dtype)got->dtype),
                    got->rank, hull_dtype_name((hull_dtype)want->dtype),
                    want->rank);
    for (int32_t k = 0; k < want->rank; k++)
        if (got->shape[k] != want->shape[k])
            return fail(HULL_EMISMATCH, "output %zu dim %d is %" PRId64
                        ", wanted %" PRId64, i, k, got->shape[k],
                        want->shape[k]);
    return HULL_OK;
}

static hull_status close_enough(const hull_tensor *got, const hull_tensor *want,
                                size_t i)
{
    double rtol = want->dtype == HULL_BF16 ? RTOL_HALF : RTOL;
    uint64_t n = 1;

    TRY(same_type(got, want, i));
    for (int32_t k = 0; k < want->rank; k++)
        n *= (uint64_t)want->shape[k];
    for (uint64_t k = 0; k < n; k++) {
        double a = load_f64((hull_dtype)got->dtype, got->data, k);
        double b = load_f64((hull_dtype)want->dtype, want->data, k);

        if (!(fabs(a - b) <= ATOL + rtol * fabs(b)) && !(isnan(a) && isnan(b)))
            return fail(HULL_EMISMATCH, "output %zu element %" PRIu64
                        " is %g, wanted %g", i, k, a, b);
    }
    return HULL_OK;
}

static hull_status check_run(hull_session *s, const io *in, const io *want)
{
    hull_tensor out[MAX_TENSORS] = {0};

    TRY(hull_session_run(s, in->t, in->n, out, want->n));
    for (size_t i = 0; i < want->n; i++)
        TRY(close_enough(&out[i], &want->t[i], i));
    return HULL_OK;
}

static hull_status must_refuse(hull_session *s, const io *in, const char *run)
{
    hull_tensor out[MAX_TENSORS] = {0};
    hull_status st = hull_session_run(s, in->t, in->n, out, 1);

    if (st == HULL_OK)
        return fail(HULL_EMISMATCH, "inputs %s break a guard, but run", run);
    refused++;
    printf("      refused: %s\n", hull_last_error());
    error_clear();
    return HULL_OK;
}

static hull_status check(const char *model, const weights *w)
{
    hull_module *m = NULL;
    hull_session *s = NULL;
    io in = {0}, want = {0};
    hull_status st = HULL_OK;
    size_t runs = 0;

    TRY_OUT(note(hull_compile(&m, model, NULL, NULL, NULL), "compile"));
    TRY_OUT(hull_session_new(&s, m, NULL));
    for (size_t k = 0; k < 2 * MAX_TENSORS; k++) {
        bool bad = k >= MAX_TENSORS;
        char run[32];

        io_free(&in);
        io_free(&want);
        snprintf(run, sizeof run, "%s%zu", bad ? "bad" : "",
                 k % MAX_TENSORS);
        TRY_OUT(io_read(&in, w, "input", run));
        TRY_OUT(io_read(&want, w, "output", run));
        if (in.n == 0)
            continue;
        if (bad)
            TRY_OUT(must_refuse(s, &in, run));
        else
            TRY_OUT(note(check_run(s, &in, &want), "inputs %s", run));
        runs++;
    }
    if (runs == 0)
        TRY_OUT(fail(HULL_EMISMATCH, "there are no inputs to run"));
out:
    io_free(&in);
    io_free(&want);
    hull_session_free(s);
    hull_module_unref(m);
    return st;
}

static hull_status unpack(const char *from, const char *to)
{
    static unsigned char data[MAX_BYTES];
    gzFile in = gzopen(from, "rb");
    int n = in != NULL ? gzread(in, data, sizeof data) : -1;
    FILE *f = fopen(to, "wb");
    bool ok = f != NULL && n > 0 && n < (int)sizeof data &&
              fwrite(data, 1, (size_t)n, f) == (size_t)n;

    if (in != NULL)
        gzclose(in);
    if (f != NULL)
        ok = fclose(f) == 0 && ok;
    return ok ? HULL_OK : fail(HULL_EIO, "'%s' was not unpacked", from);
}

/* "<model>.<form and version>.pt2.gz"; its inputs are those of the model. */
static void run_one(const char *folder, const char *name)
{
    char path[1200], io_path[1200], unpacked[64];
    weights *w = NULL;
    hull_status st;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(unpacked, sizeof unpacked, "build/archive-%u.pt2",
             (unsigned)getpid());
    snprintf(io_path, sizeof io_path, "%s/%.*s.safetensors", folder,
             (int)strcspn(name, "."), name);
    st = dir_make("build");
    if (st == HULL_OK)
        st = unpack(path, unpacked);
    if (st == HULL_OK)
        st = weights_open(&w, io_path, NULL);
    if (st == HULL_OK)
        st = check(unpacked, w);
    remove(unpacked);
    if (st == HULL_OK)
        passed++;
    else
        failed++;
    printf("%-5s %-24s %s\n", st == HULL_OK ? "ok" : "FAIL", name,
           st == HULL_OK ? "" : hull_last_error());
    fflush(stdout);
    weights_unref(w);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "tests/data/pt2";
    char *names[MAX_FILES];
    size_t n = 0;
    DIR *d = opendir(folder);
    struct dirent *e;

    if (d == NULL) {
        printf("no folder %s\n", folder);
        return 1;
    }
    while ((e = readdir(d)) != NULL && n < MAX_FILES)
        if (str_ends(str_of(e->d_name), ".pt2.gz") &&
            (argc < 3 || strncmp(e->d_name, argv[2], strlen(argv[2])) == 0))
            names[n++] = strdup(e->d_name);
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        run_one(folder, names[i]);
        free(names[i]);
    }
    printf("%u inputs refused\n", refused);
    printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
