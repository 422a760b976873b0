/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_run.c - `hull run`: tensors from a file through a module, to a file and
 * against an expectation.
 *
 * Names: with --suffix S only names that end in S count, without it. An input
 * is the tensor of its own name, else input_<i>, else the only tensor of a
 * .npy file. An expectation is PREFIX + name (out: + name), else the name, else
 * output_<i>.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"

static const struct argp_option run_options[] = {
    { "weights", KEY_WEIGHTS, "CHECKPOINT", 0,
      "Run with these weights; for a module saved with --link, the checkpoint "
      "it is linked to", 0 },
    { "input", KEY_INPUT, "FILE", 0, ".npy, .npz or .safetensors", 0 },
    { "output", KEY_OUTPUT, "FILE", 0,
      "Write the outputs here, by extension as .npy, .npz or .safetensors",
      0 },
    { "expect", KEY_EXPECT, "FILE", 0, "Compare the outputs with these", 0 },
    { "expect-prefix", KEY_EXPECT_PREFIX, "TEXT", 0,
      "Expected tensors are named TEXT + output (default: out:)", 0 },
    { "atol", KEY_ATOL, "NUMBER", 0,
      "Largest absolute difference (default: 1e-4)", 0 },
    { "rtol", KEY_RTOL, "NUMBER", 0,
      "Largest difference relative to the expected value, added to atol "
      "(default: 1e-3); not for integers", 0 },
    { "suffix", KEY_SUFFIX, "TEXT", 0,
      "Use the tensors whose names end in TEXT: input_0.2 for --suffix .2",
      0 },
    { "repeat", KEY_REPEAT, "N", 0, "Run N times and report the times", 0 },
    { 0 },
};

typedef struct runner {
    cli *c;
    hull_module *m;
    hull_session *s;
    tensor_file in, expected, out;
    hull_tensor *inputs, *outputs;
    size_t n_in, n_out;
    double fastest, total;
} runner;

/* ---- names --------------------------------------------------------------- */

/* The tensor called prefix + name + suffix. */
static hull_status find(const named_tensor **out, const tensor_file *f,
                        const char *prefix, const char *name,
                        const char *suffix)
{
    hull_status st;
    buf b;

    *out = NULL;
    buf_init(&b, 1 << 20);
    buf_printf(&b, "%s%s%s", prefix, name, suffix);
    st = buf_status(&b);
    if (st == HULL_OK)
        *out = tensor_file_find(f, b.p);
    buf_fini(&b);
    return st;
}

static hull_status names_of(buf *b, const tensor_file *f)
{
    for (size_t i = 0; i < f->n && i < 20; i++)
        buf_printf(b, "%s'%s'", i ? ", " : "", f->items[i].name);
    if (f->n > 20)
        buf_printf(b, " and %zu more", f->n - 20);
    return buf_status(b);
}

static hull_status not_in(const tensor_file *f, const char *path,
                          const char *kind, size_t i, const char *name,
                          const char *suffix)
{
    hull_status st;
    buf b;

    buf_init(&b, 65536);
    st = names_of(&b, f);
    if (st == HULL_OK)
        st = fail(HULL_ENOTFOUND, "%s has no tensor for %s '%s' (want '%s%s' "
                  "or '%s_%zu%s'), it has %s", path, kind, name, name, suffix,
                  kind, i, suffix, b.p ? b.p : "none");
    buf_fini(&b);
    return st;
}

static hull_status find_input(const named_tensor **out, const runner *r,
                              size_t i, const char *name)
{
    char by_position[32];

    TRY(find(out, &r->in, "", name, r->c->suffix));
    snprintf(by_position, sizeof(by_position), "input_%zu", i);
    if (!*out)
        TRY(find(out, &r->in, "", by_position, r->c->suffix));
    if (!*out && r->n_in == 1 && r->in.n == 1 && r->in.items[0].name[0] == '\0')
        *out = &r->in.items[0];
    if (!*out)
        return not_in(&r->in, r->c->input, "input", i, name, r->c->suffix);
    return HULL_OK;
}

static hull_status find_expected(const named_tensor **out, const runner *r,
                                 size_t i, const char *name)
{
    const tensor_file *f = &r->expected;
    const char *suffix = r->c->suffix;
    char by_position[32];

    snprintf(by_position, sizeof(by_position), "output_%zu", i);
    TRY(find(out, f, r->c->expect_prefix, name, suffix));
    if (!*out)
        TRY(find(out, f, "out:", name, suffix));
    if (!*out)
        TRY(find(out, f, "", name, suffix));
    if (!*out)
        TRY(find(out, f, "", by_position, suffix));
    if (!*out && r->n_out == 1 && f->n == 1 && f->items[0].name[0] == '\0')
        *out = &f->items[0];
    if (!*out)
        return not_in(f, r->c->expect, "output", i, name, suffix);
    return HULL_OK;
}

/* ---- inputs -------------------------------------------------------------- */

static hull_status check_input(const named_tensor *t,
                               const hull_tensor_info *info)
{
    hull_status st = HULL_OK;
    bool fits = t->dtype == (hull_dtype)info->dtype &&
                t->rank == (uint32_t)info->rank;
    buf b;

    for (int32_t k = 0; fits && k < info->rank; k++)
        fits = info->shape[k] < 0 || info->shape[k] == t->shape[k];
    if (fits)
        return HULL_OK;
    buf_init(&b, 4096);
    print_type(&b, t->dtype, t->rank, t->shape);
    st = fail(HULL_ESHAPE, "input '%s' is %s, tensor '%s' of the file is %s",
              info->name, info->type_text, t->name, b.p ? b.p : "");
    buf_fini(&b);
    return st;
}

static hull_status take_inputs(runner *r)
{
    r->n_in = hull_module_n_inputs(r->m);
    r->inputs = mem_calloc(r->n_in + 1, sizeof(*r->inputs));
    if (!r->inputs)
        return fail_oom(r->n_in * sizeof(*r->inputs));
    if (r->c->input)
        TRY(tensor_file_read(&r->in, r->c->input));
    else if (r->n_in > 0) {
        r->c->usage = true;
        return fail(HULL_EINVAL, "run: the model has %zu inputs, want "
                    "--input FILE", r->n_in);
    }
    for (size_t i = 0; i < r->n_in; i++) {
        hull_tensor_info info;
        const named_tensor *t;

        TRY(hull_module_input(r->m, i, &info));
        TRY(find_input(&t, r, i, info.name));
        TRY(check_input(t, &info));
        r->inputs[i] = tensor_view(t);
    }
    return HULL_OK;
}

/* ---- outputs ------------------------------------------------------------- */

/* The session owns the results until its next run: copies them. */
static hull_status keep_outputs(runner *r)
{
    for (size_t i = 0; i < r->n_out; i++) {
        const hull_tensor *o = &r->outputs[i];
        hull_tensor_info info;
        named_tensor *t;

        TRY(hull_module_output(r->m, i, &info));
        TRY(tensor_file_add(&r->out, &t, str_of(info.name),
                            (hull_dtype)o->dtype, (uint32_t)o->rank,
                            o->shape));
        if (t->n_bytes > 0)
            memcpy(t->data, o->data, (size_t)t->n_bytes);
    }
    return HULL_OK;
}

static hull_status run_session(runner *r)
{
    r->n_out = hull_module_n_outputs(r->m);
    r->outputs = mem_calloc(r->n_out + 1, sizeof(*r->outputs));
    if (!r->outputs)
        return fail_oom(r->n_out * sizeof(*r->outputs));
    TRY(hull_session_new(&r->s, r->m, r->c->options));
    for (uint64_t i = 0; i < r->c->repeat; i++) {
        uint64_t start = time_ns();
        double seconds;

        memset(r->outputs, 0, r->n_out * sizeof(*r->outputs));
        TRY(hull_session_run(r->s, r->inputs, r->n_in, r->outputs, r->n_out));
        seconds = (double)(time_ns() - start) * 1e-9;
        r->total += seconds;
        if (i == 0 || seconds < r->fastest)
            r->fastest = seconds;
    }
    return keep_outputs(r);
}

/* ---- expectation --------------------------------------------------------- */

static bool same_type(const named_tensor *a, const named_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0])) == 0;
}

static void print_index(buf *b, const named_tensor *t, uint64_t i)
{
    int64_t at[HULL_MAX_RANK] = { 0 };

    for (uint32_t k = t->rank; k-- > 0;) {
        at[k] = (int64_t)(i % (uint64_t)t->shape[k]);
        i /= (uint64_t)t->shape[k];
    }
    buf_putc(b, '[');
    for (uint32_t k = 0; k < t->rank; k++)
        buf_printf(b, k ? ",%" PRId64 : "%" PRId64, at[k]);
    buf_putc(b, ']');
}

/* What is wrong with the output, "" when nothing is. */
static void describe_difference(buf *b, const named_tensor *got,
                                const named_tensor *want, const difference *d)
{
    if (!same_type(got, want)) {
        buf_puts(b, "is ");
        print_type(b, got->dtype, got->rank, got->shape);
        buf_puts(b, ", expected ");
        print_type(b, want->dtype, want->rank, want->shape);
    } else if (d->n_beyond > 0) {
        buf_printf(b, "%" PRIu64 " of %" PRIu64
                   " elements out of tolerance, first ", d->n_beyond, d->n);
        print_index(b, got, d->first);
        buf_puts(b, ": ");
        print_element(b, got, d->first);
        buf_puts(b, ", expected ");
        print_element(b, want, d->first);
    }
}

/* JSON has no infinity. */
static json_t *number_json(double v)
{
    return isfinite(v) ? json_real(v) : json_string("inf");
}

static hull_status report_output(runner *r, json_t *row,
                                 const named_tensor *got,
                                 const named_tensor *want, bool *out_fits)
{
    bool same = same_type(got, want);
    difference d = { 0 };
    hull_status st = HULL_OK;
    buf wrong;

    buf_init(&wrong, 4096);
    if (same)
        compare_tensors(&d, got, want, r->c->atol, r->c->rtol);
    describe_difference(&wrong, got, want, &d);
    TRY_OUT(buf_status(&wrong));
    *out_fits = wrong.n == 0;
    if (!r->c->json && same)
        printf("%s: max abs %.3g, max rel %.3g, %s\n", got->name, d.max_abs,
               d.max_rel, *out_fits ? "ok" : wrong.p);
    else if (!r->c->json)
        printf("%s: %s\n", got->name, wrong.p);
    TRY_OUT(answer(row, "ok", json_boolean(*out_fits)));
    if (wrong.n > 0)
        TRY_OUT(answer(row, "difference", json_str(buf_view(&wrong))));
    if (!same)
        goto out;
    TRY_OUT(answer(row, "max_abs", number_json(d.max_abs)));
    TRY_OUT(answer(row, "max_rel", number_json(d.max_rel)));
out:
    buf_fini(&wrong);
    return st;
}

static hull_status check_output(runner *r, size_t i, json_t *row,
                                bool *out_fits)
{
    const named_tensor *got = &r->out.items[i], *want;

    *out_fits = true;
    TRY(find_expected(&want, r, i, got->name));
    return report_output(r, row, got, want, out_fits);
}

static hull_status list_output(runner *r, size_t i, json_t **out_row)
{
    const named_tensor *t = &r->out.items[i];
    json_t *list = json_object_get(r->c->result, "outputs");
    json_t *row = json_object();
    hull_status st = HULL_OK;
    buf type;

    buf_init(&type, 4096);
    print_type(&type, t->dtype, t->rank, t->shape);
    TRY_OUT(buf_status(&type));
    if (!r->c->json && !r->c->expect)
        printf("%s: %s\n", t->name, type.p);
    if (!row || json_array_append(list, row) != 0)
        st = fail_oom(0);
    TRY_OUT(st);
    TRY_OUT(answer(row, "name", json_str(str_of(t->name))));
    TRY_OUT(answer(row, "type", json_str(buf_view(&type))));
out:
    json_decref(row); /* the list has it */
    *out_row = row;
    buf_fini(&type);
    return st;
}

static hull_status report(runner *r)
{
    size_t n_wrong = 0;

    TRY(answer(r->c->result, "outputs", json_array()));
    for (size_t i = 0; i < r->n_out; i++) {
        bool fits = true;
        json_t *row;

        TRY(list_output(r, i, &row));
        if (r->c->expect)
            TRY(check_output(r, i, row, &fits));
        n_wrong += !fits;
    }
    TRY(answer(r->c->result, "runs", json_integer((json_int_t)r->c->repeat)));
    TRY(answer(r->c->result, "seconds_fastest", json_real(r->fastest)));
    TRY(answer(r->c->result, "seconds_mean",
               json_real(r->total / (double)r->c->repeat)));
    if (!r->c->json && r->c->repeat > 1)
        printf("%" PRIu64 " runs: fastest %.6f s, mean %.6f s\n", r->c->repeat,
               r->fastest, r->total / (double)r->c->repeat);
    if (n_wrong > 0)
        return fail(HULL_EMISMATCH, "%zu of %zu outputs differ from %s",
                    n_wrong, r->n_out, r->c->expect);
    return HULL_OK;
}

static hull_status run_run(cli *c)
{
    runner r = { .c = c };
    hull_status st = HULL_OK;

    TRY_OUT(open_module(c, &r.m, c->args[0]));
    TRY_OUT(take_inputs(&r));
    if (c->expect)
        TRY_OUT(tensor_file_read(&r.expected, c->expect));
    progress_begin(c, "running", c->args[0]);
    st = run_session(&r);
    progress_end();
    TRY_OUT(st);
    if (c->output)
        TRY_OUT(tensor_file_write(c->output, r.out.items, r.out.n));
    TRY_OUT(report(&r));
out:
    hull_session_free(r.s);
    hull_module_unref(r.m);
    tensor_file_fini(&r.in);
    tensor_file_fini(&r.expected);
    tensor_file_fini(&r.out);
    mem_free(r.inputs);
    mem_free(r.outputs);
    return st;
}

const command command_run = {
    .name = "run", .arguments = "MODULE|MODEL",
    .summary = "run a module or a model on tensors from a file",
    .doc = "Runs a module file, or compiles a model and runs it, on the "
           "tensors of FILE. Inputs are found by name, else as input_0, "
           "input_1 and so on; other tensors of the file are ignored.\v"
           "With --expect each output is compared with the tensor out:NAME, "
           "else NAME, else output_0, output_1 and so on: floats agree when "
           "|a - b| <= atol + rtol * |b|, NaN equals NaN, integers when "
           "|a - b| <= atol. The largest absolute and relative difference of "
           "each output is printed. " EXIT_DOC,
    .options = run_options, .shared = SHARED_SET | SHARED_CACHE | SHARED_NAMES,
    .min_args = 1, .max_args = 1, .run = run_run,
};
