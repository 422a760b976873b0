/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * aten.c - ATen operators through the public API against PyTorch: every line
 * of the file is one exported program with inputs, the outputs that PyTorch
 * gave, and which outputs make which case. scripts/aten_conformance writes
 * such files; tests/data/aten.jsonl.gz is the committed one.
 *
 *     aten [--each] [--only OPERATOR] [--tally FILE] [--bless] FILE
 *
 *   line    {"op": name, "model": exported program | "archive": path,
 *            "inputs": [tensor...], "outputs": [tensor...],
 *            "cases": [{"name": .., "first": output, "count": n,
 *                       "rtol": .., "atol": .., "type_only": bool}...]}
 *   tensor  {"dtype": "f32", "shape": [2, 3], "hex": little-endian bytes}
 *   --each  one line per case for the script: state, operator, case, reason,
 *           with tabs between them
 *   --tally what of the programs runs on reference kernels: tally.h; --bless
 *           rewrites it
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tally.h"

#define TEXT_MAX ((size_t)1 << 28)

typedef struct tensors {
    hull_tensor *t;
    int64_t (*shapes)[HULL_MAX_RANK];
    size_t n;
} tensors;

static unsigned passed, failed;
static bool each;
static tally counted;

/* ---- tensors ------------------------------------------------------------- */

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                                 : -1;
}

static hull_status from_hex(uint8_t *out, size_t n, const json_t *j)
{
    const char *s = json_string_value(j);

    if (s == NULL || json_string_length(j) != 2 * n)
        return fail(HULL_EFORMAT, "a tensor's bytes do not fit its shape");
    for (size_t i = 0; i < n; i++) {
        int hi = digit(s[2 * i]), lo = digit(s[2 * i + 1]);

        if (hi < 0 || lo < 0)
            return fail(HULL_EFORMAT, "a tensor's bytes are no hex digits");
        out[i] = (uint8_t)(16 * hi + lo);
    }
    return HULL_OK;
}

static hull_status read_tensor(hull_tensor *t, int64_t *dims, const json_t *j)
{
    json_t *sizes = json_object_get(j, "shape"), *size;
    const char *name = json_string_value(json_object_get(j, "dtype"));
    uint64_t n = 1, len = 0;
    size_t i;

    *t = (hull_tensor){.shape = dims, .rank = (int32_t)json_array_size(sizes)};
    t->dtype = (int32_t)dtype_from_name(str_of(name ? name : ""));
    if (t->rank > HULL_MAX_RANK || t->dtype == HULL_NONE)
        return fail(HULL_EFORMAT, "a tensor of unfit type");
    json_array_foreach(sizes, i, size) {
        dims[i] = json_integer_value(size);
        n *= (uint64_t)dims[i];
    }
    if (!dtype_bytes(&len, (hull_dtype)t->dtype, n) || len > TEXT_MAX)
        return fail(HULL_EFORMAT, "a tensor is too large");
    t->data = mem_alloc(len + 1);
    if (t->data == NULL)
        return fail_oom(len);
    return from_hex(t->data, len, json_object_get(j, "hex"));
}

static hull_status read_tensors(tensors *x, const json_t *list)
{
    size_t n = json_array_size(list);

    x->t = mem_alloc((n + 1) * sizeof *x->t);
    x->shapes = mem_alloc((n + 1) * sizeof *x->shapes);
    if (x->t == NULL || x->shapes == NULL)
        return fail_oom(n);
    for (size_t i = 0; i < n; i++) {
        x->n = i + 1;
        TRY(note(read_tensor(&x->t[i], x->shapes[i], json_array_get(list, i)),
                 "tensor %zu", i));
    }
    return HULL_OK;
}

static void tensors_free(tensors *x)
{
    for (size_t i = 0; i < x->n; i++)
        mem_free(x->t[i].data);
    mem_free(x->t);
    mem_free(x->shapes);
}

/* ---- comparison ---------------------------------------------------------- */

static bool is_close(double a, double b, double rtol, double atol)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return (a <= b && a >= b) || fabs(a - b) <= atol + rtol * fabs(b);
}

static hull_status same_type(const hull_tensor *got, const hull_tensor *want,
                             uint64_t *out_n)
{
    *out_n = 1;
    if (got->dtype != want->dtype || got->rank != want->rank)
        return fail(HULL_EMISMATCH, "%s of rank %d, want %s of rank %d",
                    hull_dtype_name((hull_dtype)got->dtype), got->rank,
                    hull_dtype_name((hull_dtype)want->dtype), want->rank);
    for (int32_t k = 0; k < want->rank; k++) {
        if (got->shape[k] != want->shape[k])
            return fail(HULL_EMISMATCH, "dim %d is %" PRId64 ", want %" PRId64,
                        k, got->shape[k], want->shape[k]);
        *out_n *= (uint64_t)want->shape[k];
    }
    return HULL_OK;
}

static hull_status same_values(const hull_tensor *got, const hull_tensor *want,
                               uint64_t n, double rtol, double atol)
{
    hull_dtype dt = (hull_dtype)want->dtype;

    if (dtype_is_complex(dt)) {
        dt = dt == HULL_C64 ? HULL_F32 : HULL_F64;
        n *= 2;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (dtype_is_float(dt)) {
            double a = load_f64(dt, got->data, k);
            double b = load_f64(dt, want->data, k);

            if (!is_close(a, b, rtol, atol))
                return fail(HULL_EMISMATCH, "element %" PRIu64
                            " is %.9g, want %.9g", k, a, b);
        } else if (load_i64(dt, got->data, k) != load_i64(dt, want->data, k)) {
            return fail(HULL_EMISMATCH, "element %" PRIu64 " is %" PRId64
                        ", want %" PRId64, k, load_i64(dt, got->data, k),
                        load_i64(dt, want->data, k));
        }
    }
    return HULL_OK;
}

static hull_status compare(const json_t *one, const hull_tensor *got,
                           const tensors *want)
{
    size_t first = (size_t)json_integer_value(json_object_get(one, "first"));
    size_t count = (size_t)json_integer_value(json_object_get(one, "count"));
    double rtol = json_number_value(json_object_get(one, "rtol"));
    double atol = json_number_value(json_object_get(one, "atol"));
    uint64_t n = 0;

    if (first > want->n || count > want->n - first)
        return fail(HULL_EFORMAT, "a case of outputs that are not there");
    for (size_t i = first; i < first + count; i++) {
        TRY(note(same_type(&got[i], &want->t[i], &n), "output %zu", i - first));
        if (!json_is_true(json_object_get(one, "type_only")))
            TRY(note(same_values(&got[i], &want->t[i], n, rtol, atol),
                     "output %zu", i - first));
    }
    return HULL_OK;
}

/* ---- one program --------------------------------------------------------- */

/* Writes an archive around the program. */
static hull_status make_archive(const char *path, const json_t *model)
{
    static const char config[] = "{\"config\":{}}";
    char *text = json_dumps(model, JSON_COMPACT);
    zip_writer w;
    hull_status st;

    if (text == NULL)
        return fail_oom(1);
    zip_writer_init(&w, TEXT_MAX);
    zip_writer_add(&w, str_of("m/data/weights/model_weights_config.json"),
                   config, sizeof config - 1, 64);
    zip_writer_add(&w, str_of("m/models/model.json"), text, strlen(text), 64);
    zip_writer_add(&w, str_of("m/archive_format"), "pt2", 3, 64);
    zip_writer_add(&w, str_of("m/archive_version"), "0", 1, 64);
    zip_writer_add(&w, str_of("m/byteorder"), "little", 6, 64);
    st = zip_writer_end(&w);
    if (st == HULL_OK) {
        file_part all = {w.out.p, w.out.n};

        st = file_write_atomic(path, &all, 1);
    }
    zip_writer_fini(&w);
    free(text);
    return st;
}

static void report(const char *op, const json_t *one, hull_status st)
{
    const char *name = json_string_value(json_object_get(one, "name"));
    const char *state = st == HULL_OK ? "pass"
                        : st == HULL_EUNSUPPORTED ? "unsupported" : "fail";

    *(st == HULL_OK ? &passed : &failed) += 1;
    if (each)
        printf("%s\t%s\t%s\t%s\n", state, op, name ? name : "",
               st == HULL_OK ? "" : hull_last_error());
    else if (st != HULL_OK)
        printf("%s: %s: %s\n", op, name ? name : "", hull_last_error());
}

static hull_status run_cases(hull_session *s, const char *op, json_t *line,
                             const tensors *in, const tensors *want)
{
    hull_tensor *out = mem_alloc((want->n + 1) * sizeof *out);
    json_t *cases = json_object_get(line, "cases"), *one;
    hull_status st = HULL_OK;
    size_t i;

    if (out == NULL)
        return fail_oom(want->n);
    memset(out, 0, (want->n + 1) * sizeof *out);
    st = hull_session_run(s, in->t, in->n, out, want->n);
    if (st == HULL_OK)
        json_array_foreach(cases, i, one)
            report(op, one, compare(one, out, want));
    mem_free(out);
    return st;
}

static hull_status run_program(const char *op, json_t *line, const char *made)
{
    const char *path = json_string_value(json_object_get(line, "archive"));
    tensors in = {0}, want = {0};
    uint32_t ref;
    hull_module *m = NULL;
    hull_session *s = NULL;
    hull_status st;

    TRY_OUT(read_tensors(&in, json_object_get(line, "inputs")));
    TRY_OUT(read_tensors(&want, json_object_get(line, "outputs")));
    if (path == NULL) {
        TRY_OUT(make_archive(made, json_object_get(line, "model")));
        path = made;
    }
    TRY_OUT(hull_compile(&m, path, NULL, NULL, NULL));
    TRY_OUT(tally_add(&counted, m, &ref));
    TRY_OUT(hull_session_new(&s, m, NULL));
    TRY_OUT(run_cases(s, op, line, &in, &want));
out:
    hull_session_free(s);
    hull_module_unref(m);
    tensors_free(&in);
    tensors_free(&want);
    return st;
}

static hull_status run_line(const char *text, size_t n, const char *only,
                            const char *made)
{
    json_t *line = NULL, *one;
    size_t i;

    TRY(json_parse(&line, text, n, "a line"));
    const char *op = json_string_value(json_object_get(line, "op"));
    if (op == NULL)
        op = "?";
    if (only == NULL || strcmp(op, only) == 0) {
        hull_status st = run_program(op, line, made);

        if (st != HULL_OK)
            json_array_foreach(json_object_get(line, "cases"), i, one)
                report(op, one, st);
    }
    json_decref(line);
    fflush(stdout);
    return HULL_OK;
}

/* ---- the file ------------------------------------------------------------ */

static hull_status read_text(buf *b, const char *path)
{
    char part[65536];
    gzFile f = gzopen(path, "rb");
    int n = 0;

    if (f == NULL)
        return fail(HULL_ENOTFOUND, "cannot open '%s'", path);
    while ((n = gzread(f, part, sizeof part)) > 0)
        buf_put(b, part, (size_t)n);
    if (gzclose(f) != Z_OK || n < 0)
        return fail(HULL_EFORMAT, "'%s' is damaged", path);
    return buf_status(b);
}

static hull_status run_file(const char *path, const char *only,
                            const char *made)
{
    str rest, line;
    buf b;
    hull_status st;

    buf_init(&b, TEXT_MAX);
    TRY_OUT(read_text(&b, path));
    rest = buf_view(&b);
    while (rest.n) {
        line = str_split(rest, '\n', &rest);
        if (line.n)
            TRY_OUT(run_line(line.p, line.n, only, made));
    }
out:
    buf_fini(&b);
    return st;
}

static hull_status check_tally(const char *path, bool bless)
{
    hull_status st;
    buf b;

    if (path == NULL || counted.off)
        return HULL_OK;
    buf_init(&b, 1 << 20);
    buf_puts(&b, TALLY_HEAD);
    tally_print(&b, &counted, "aten");
    st = lines_settle(&b, path, bless, &failed);
    buf_fini(&b);
    return st;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/hull-aten-XXXXXX", made[64];
    const char *path = NULL, *only = NULL, *tally_path = NULL;
    hull_status st = tally_begin(&counted);
    bool bless = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--each") == 0)
            each = true;
        else if (strcmp(argv[i], "--bless") == 0)
            bless = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--tally") == 0 && i + 1 < argc)
            tally_path = argv[++i];
        else
            path = argv[i];
    }
    if (path == NULL || mkdtemp(folder) == NULL) {
        fputs("aten [--each] [--only OPERATOR] [--tally FILE] [--bless] FILE\n",
              stderr);
        return 2;
    }
    snprintf(made, sizeof made, "%s/m.pt2", folder);
    if (st == HULL_OK)
        st = run_file(path, only, made);
    unlink(made);
    rmdir(folder);
    if (st == HULL_OK && only == NULL)
        st = check_tally(tally_path, bless);
    if (st != HULL_OK)
        printf("%s: %s\n", path, hull_last_error());
    if (!each)
        printf("%u passed, %u failed, 0 skipped\n", passed, failed);
    return st != HULL_OK || (failed && !each) || passed + failed == 0;
}
