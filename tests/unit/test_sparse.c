/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_sparse.c - compiling reads headers only: a model of 10 GiB whose weights
 * are holes in sparse files (external data and a checkpoint) is compiled and
 * explained while few bytes are read and little memory is resident.
 */
#include "guard.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "sparse_unit.h"

#define LAYERS 20
#define NARROW 8192
#define WIDE 16384
#define LAYER_BYTES ((int64_t)NARROW * WIDE * 4)
#define BIG_BYTES (LAYERS * LAYER_BYTES)

#define READ_MAX ((uint64_t)1 << 20)
#define RSS_MAX_KIB (64 * 1024L)

/* Files of one test, next to each other. */
static char model_path[256], data_path[256], checkpoint_path[256];

/* x W0 relu W1 relu ...: [N, NARROW] -> [N, WIDE] -> [N, NARROW] ... */
static void write_model(void)
{
    static const int64_t x[] = {-1, NARROW};
    maker k = maker_new(17);
    char path[64], in[32], out[16] = "x", name[32], number[32];

    put_value(&k.graph, 11, "x", 1, x, 2);
    for (int i = 0; i < LAYERS; i++) {
        buf t = new_buf();

        put_int(&t, 1, i % 2 == 0 ? NARROW : WIDE);
        put_int(&t, 1, i % 2 == 0 ? WIDE : NARROW);
        put_int(&t, 2, 1);
        snprintf(name, sizeof name, "w%d", i);
        put_text(&t, 8, name);
        put_entry(&t, "location", path_base(data_path));
        snprintf(number, sizeof number, "%lld", (long long)i * LAYER_BYTES);
        put_entry(&t, "offset", number);
        snprintf(number, sizeof number, "%lld", (long long)LAYER_BYTES);
        put_entry(&t, "length", number);
        put_int(&t, 14, 1);
        put_message(&k.graph, 5, &t);
        snprintf(in, sizeof in, "%s w%d", out, i);
        snprintf(out, sizeof out, "m%d", i);
        put_node(&k.graph, "MatMul", in, out, NULL);
        snprintf(in, sizeof in, "m%d", i);
        snprintf(out, sizeof out, "r%d", i);
        put_node(&k.graph, "Relu", in, out, NULL);
    }
    put_value(&k.graph, 12, out, 1, x, 2);
    maker_write(&k, path);
    copy_file(model_path, path);
    unlink(path);
}

/* A checkpoint of the same names; only its header has bytes. */
static bool write_checkpoint(void)
{
    char *text = malloc(LAYERS * 128);
    size_t n = 8;
    uint64_t header;
    bool ok;

    assert_non_null(text);
    text[n++] = '{';
    for (int i = 0; i < LAYERS; i++)
        n += (size_t)snprintf(
            text + n, 128,
            "%s\"w%d\":{\"dtype\":\"F32\",\"shape\":[%d,%d],"
            "\"data_offsets\":[%lld,%lld]}", i > 0 ? "," : "", i,
            i % 2 == 0 ? NARROW : WIDE, i % 2 == 0 ? WIDE : NARROW,
            (long long)i * LAYER_BYTES, (long long)(i + 1) * LAYER_BYTES);
    text[n++] = '}';
    while (n % 64 != 0)
        text[n++] = ' '; /* so that the tensors are aligned */
    header = n - 8;
    memcpy(text, &header, 8); /* little endian, as all we run on */
    ok = sparse_file(checkpoint_path, text, n, (int64_t)n + BIG_BYTES);
    free(text);
    return ok;
}

static void remove_files(void)
{
    unlink(model_path);
    unlink(data_path);
    unlink(checkpoint_path);
}

static void make_files(void)
{
    snprintf(model_path, sizeof model_path, "%s", temp_path(".onnx"));
    snprintf(data_path, sizeof data_path, "%s", temp_path(".bin"));
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s",
             temp_path(".safetensors"));
    write_model();
    if (!sparse_file(data_path, "", 0, BIG_BYTES) || !write_checkpoint()) {
        remove_files();
        print_message("SKIP: the temporary folder takes no sparse file\n");
        skip();
    }
}

/* What one call cost, measured in a process of its own. */
typedef struct cost {
    hull_status st;
    uint64_t read;
    long rss_kib;
    char text[256];
} cost;

typedef hull_status work_fn(void);

static cost measure(work_fn *fn)
{
    cost c = {0};
    int ends[2], status;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        uint64_t before = file_bytes_read();
        struct rusage r;

        c.st = fn();
        c.read = file_bytes_read() - before;
        getrusage(RUSAGE_SELF, &r);
        c.rss_kib = r.ru_maxrss;
        snprintf(c.text, sizeof c.text, "%s", hull_last_error());
        _exit(write(ends[1], &c, sizeof c) != sizeof c);
    }
    assert_true(pid > 0);
    close(ends[1]);
    assert_true(read(ends[0], &c, sizeof c) == sizeof c);
    close(ends[0]);
    assert_true(waitpid(pid, &status, 0) == pid && status == 0);
    return c;
}

static void check_cost(const char *what, work_fn *fn)
{
    cost c = measure(fn);

    if (c.st != HULL_OK)
        stop("%s: %s: %s", what, hull_status_name(c.st), c.text);
    print_message("%s: %llu bytes read, %ld KiB resident\n", what,
                  (unsigned long long)c.read, c.rss_kib);
    assert_true(c.read < READ_MAX);
    if (!GUARD_SANITIZED)
        assert_true(c.rss_kib < RSS_MAX_KIB);
}

static hull_status compile_stripped(const char *weights)
{
    hull_options *o = NULL;
    hull_weights *w = NULL;
    hull_module *m = NULL;
    hull_status st;

    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_options_set(o, "strip_weights", "on"));
    if (weights != NULL)
        TRY_OUT(hull_weights_open(&w, weights));
    TRY_OUT(hull_compile(&m, model_path, w, NULL, o));
    if (hull_module_n_inputs(m) != 1 || hull_module_version(m) != 0)
        st = fail(HULL_EINTERNAL, "the module is another one");
out:
    hull_module_unref(m);
    hull_weights_unref(w);
    hull_options_free(o);
    return st;
}

static hull_status compile_model(void)
{
    return compile_stripped(NULL);
}

static hull_status compile_with_checkpoint(void)
{
    return compile_stripped(checkpoint_path);
}

static hull_status explain_model(void)
{
    char *text = NULL;

    TRY(hull_explain(&text, model_path, NULL, NULL, NULL, 0));
    if (strstr(text, "w19") == NULL) {
        hull_free(text);
        return fail(HULL_EINTERNAL, "explain does not tell the last weight");
    }
    hull_free(text);
    return HULL_OK;
}

static hull_status inspect_checkpoint(void)
{
    hull_weights *w;

    TRY(hull_weights_open(&w, checkpoint_path));
    if (hull_weights_count(w) != LAYERS)
        return fail(HULL_EINTERNAL, "%zu tensors", hull_weights_count(w));
    hull_weights_unref(w);
    return HULL_OK;
}

static void compiling_reads_headers_only(void **state)
{
    (void)state;
    make_files();
    check_cost("compile", compile_model);
    check_cost("compile with a checkpoint", compile_with_checkpoint);
    check_cost("explain", explain_model);
    check_cost("open a checkpoint", inspect_checkpoint);
    remove_files();
}

/* With borrow=on a refit of it reads nothing either. */
static hull_status refit_borrowed(void)
{
    hull_options *o = NULL;
    hull_weights *w = NULL;
    hull_module *m = NULL;
    hull_refit_report r;
    hull_status st;

    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_options_set(o, "backends", "ref")); /* nothing is packed */
    TRY_OUT(hull_options_set(o, "strip_weights", "on"));
    TRY_OUT(hull_options_set(o, "borrow", "on"));
    TRY_OUT(hull_weights_open(&w, checkpoint_path));
    TRY_OUT(hull_compile(&m, model_path, w, NULL, o));
    TRY_OUT(hull_refit(m, w, o, &r));
    if (r.slots_borrowed != LAYERS || r.bytes_written != 0)
        st = fail(HULL_EINTERNAL, "%llu slots borrowed, %llu bytes written",
                  (unsigned long long)r.slots_borrowed,
                  (unsigned long long)r.bytes_written);
out:
    hull_module_unref(m);
    hull_weights_unref(w);
    hull_options_free(o);
    return st;
}

static void a_borrowed_refit_copies_nothing(void **state)
{
    cost c;

    (void)state;
    make_files();
    c = measure(refit_borrowed);
    remove_files();
    if (c.st != HULL_OK)
        stop("refit: %s: %s", hull_status_name(c.st), c.text);
    assert_true(c.read < READ_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiling_reads_headers_only),
        cmocka_unit_test(a_borrowed_refit_copies_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
