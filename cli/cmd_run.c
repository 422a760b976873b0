/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_run.c - `hull run`: tensors from a file through a module, to a file and
 * against an expectation.
 *
 * Names: with --suffix S only names that end in S count, without it. An input
 * is the tensor of its own name, else input_<i>, else the only tensor of a
 * .npy file. An expectation is PREFIX + name (out: + name), else the name, else
 * output_<i>. The items of a sequence are tensors of their own, NAME.0, NAME.1
 * and so on; of none the sequence is empty. An optional that the file lacks has
 * no value.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "options/options.h"

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
    size_t *first; /* per output: its first tensor in `out`; one more */
    size_t n_in, n_out;
    arena a;       /* items of sequences */
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

/* "base.item" in `room`, or base where item is below 0. */
static const char *item_name(char room[1024], const char *base, int64_t item)
{
    if (item < 0)
        return base;
    snprintf(room, 1024, "%s.%" PRId64, base, item);
    return room;
}

/* NULL when the file has none. */
static hull_status find_input(const named_tensor **out, const runner *r,
                              size_t i, const char *name, int64_t item)
{
    char room[1024], by_position[32];
    const char *text = item_name(room, name, item);

    TRY(find(out, &r->in, "", text, r->c->suffix));
    snprintf(by_position, sizeof(by_position), "input_%zu", i);
    text = item_name(room, by_position, item);
    if (!*out)
        TRY(find(out, &r->in, "", text, r->c->suffix));
    if (!*out && item < 0 && r->n_in == 1 && r->in.n == 1 &&
        r->in.items[0].name[0] == '\0')
        *out = &r->in.items[0];
    return HULL_OK;
}

/* The expectation of a tensor of output i, called `name`; NULL: none. */
static hull_status find_expected(const named_tensor **out, const runner *r,
                                 size_t i, const char *name, int64_t item)
{
    const tensor_file *f = &r->expected;
    const char *suffix = r->c->suffix;
    char room[1024], by_position[32];
    const char *text = item_name(room, name, item);

    TRY(find(out, f, r->c->expect_prefix, text, suffix));
    if (!*out)
        TRY(find(out, f, "out:", text, suffix));
    if (!*out)
        TRY(find(out, f, "", text, suffix));
    snprintf(by_position, sizeof(by_position), "output_%zu", i);
    text = item_name(room, by_position, item);
    if (!*out)
        TRY(find(out, f, "", text, suffix));
    if (!*out && item < 0 && r->n_out == 1 && f->n == 1 &&
        f->items[0].name[0] == '\0')
        *out = &f->items[0];
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
    if (info->dtype == HULL_STRING)
        return fail(HULL_EUNSUPPORTED, "input '%s' is %s, files of tensors "
                    "hold numbers", info->name, info->type_text);
    buf_init(&b, 4096);
    print_type(&b, t->dtype, t->rank, t->shape);
    st = fail(HULL_ESHAPE, "input '%s' is %s, tensor '%s' of the file is %s",
              info->name, info->type_text, t->name, b.p ? b.p : "");
    buf_fini(&b);
    return st;
}

/* A sequence of the tensors NAME.0, NAME.1 ... of the file. */
static hull_status take_items(runner *r, size_t i, const hull_tensor_info *info)
{
    hull_tensor *items;
    const named_tensor *t;
    int64_t n = 0, *size = arena_alloc(&r->a, sizeof *size);

    for (bool more = true; more; n += more) {
        TRY(find_input(&t, r, i, info->name, n));
        more = t != NULL;
    }
    items = arena_array(&r->a, (size_t)n + 1, sizeof *items);
    if (!items || !size)
        return fail_oom((size_t)n * sizeof *items);
    for (int64_t k = 0; k < n; k++) {
        TRY(find_input(&t, r, i, info->name, k));
        items[k] = tensor_view(t);
    }
    *size = n;
    r->inputs[i] = (hull_tensor){.data = items, .shape = size, .rank = 1,
                                 .dtype = HULL_SEQUENCE};
    return HULL_OK;
}

static hull_status take_input(runner *r, size_t i)
{
    hull_tensor_info info;
    const named_tensor *t;
    str type;
    bool optional;

    TRY(hull_module_input(r->m, i, &info));
    type = str_of(info.type_text);
    optional = str_starts(type, "optional(");
    if (str_contains(type, "sequence(sequence("))
        return fail(HULL_EUNSUPPORTED, "run: input '%s' is %s, a tensor file "
                    "holds sequences of tensors only", info.name,
                    info.type_text);
    if (str_contains(type, "sequence(")) {
        TRY(take_items(r, i, &info));
        if (optional && r->inputs[i].shape[0] == 0)
            r->inputs[i] = (hull_tensor){0};
        return HULL_OK;
    }
    TRY(find_input(&t, r, i, info.name, -1));
    if (!t && optional)
        return HULL_OK;
    if (!t)
        return not_in(&r->in, r->c->input, "input", i, info.name,
                      r->c->suffix);
    if (!optional)
        TRY(check_input(t, &info));
    r->inputs[i] = tensor_view(t);
    return HULL_OK;
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
    for (size_t i = 0; i < r->n_in; i++)
        TRY(take_input(r, i));
    return HULL_OK;
}

/* ---- outputs ------------------------------------------------------------- */

static hull_status keep_tensor(runner *r, const char *name, int64_t item,
                               const hull_tensor *o)
{
    named_tensor *t;
    char room[1024];

    if (o->dtype == HULL_SEQUENCE)
        return fail(HULL_EUNSUPPORTED, "run: output '%s' holds sequences of "
                    "sequences, a tensor file sequences of tensors only", name);
    TRY(tensor_file_add(&r->out, &t, str_of(item_name(room, name, item)),
                        (hull_dtype)o->dtype, (uint32_t)o->rank, o->shape));
    if (t->n_bytes > 0)
        memcpy(t->data, o->data, (size_t)t->n_bytes);
    return HULL_OK;
}

/* The session owns the results until its next run: copies them. */
static hull_status keep_outputs(runner *r)
{
    for (size_t i = 0; i < r->n_out; i++) {
        const hull_tensor *o = &r->outputs[i], *items = o->data;
        hull_tensor_info info;

        TRY(hull_module_output(r->m, i, &info));
        r->first[i] = r->out.n;
        if (o->dtype != HULL_SEQUENCE && o->dtype != HULL_NONE)
            TRY(keep_tensor(r, info.name, -1, o));
        for (int64_t k = 0; o->dtype == HULL_SEQUENCE && k < o->shape[0]; k++)
            TRY(keep_tensor(r, info.name, k, &items[k]));
    }
    r->first[r->n_out] = r->out.n;
    return HULL_OK;
}

static hull_status run_session(runner *r)
{
    r->n_out = hull_module_n_outputs(r->m);
    r->outputs = mem_calloc(r->n_out + 1, sizeof(*r->outputs));
    r->first = arena_array(&r->a, r->n_out + 1, sizeof(*r->first));
    if (!r->outputs || !r->first)
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

static hull_status list_row(runner *r, const char *name, str type,
                            json_t **out_row)
{
    json_t *list = json_object_get(r->c->result, "outputs");
    json_t *row = json_object();
    hull_status st = HULL_OK;

    *out_row = row;
    if (!r->c->json && !r->c->expect)
        printf("%s: %.*s\n", name, STR_ARG(type));
    if (!row || json_array_append(list, row) != 0)
        st = fail_oom(0);
    TRY_OUT(st);
    TRY_OUT(answer(row, "name", json_str(str_of(name))));
    TRY_OUT(answer(row, "type", json_str(type)));
out:
    json_decref(row); /* the list has it */
    return st;
}

/* Tensor `at` of r->out, which is output i or an item of it. */
static hull_status report_tensor(runner *r, size_t i, const char *name,
                                 int64_t item, size_t at, bool *out_fits)
{
    const named_tensor *t = &r->out.items[at], *want;
    hull_status st;
    json_t *row;
    buf type;

    *out_fits = true;
    buf_init(&type, 4096);
    print_type(&type, t->dtype, t->rank, t->shape);
    st = buf_status(&type);
    if (st == HULL_OK)
        st = list_row(r, t->name, buf_view(&type), &row);
    buf_fini(&type);
    TRY(st);
    if (!r->c->expect)
        return HULL_OK;
    TRY(find_expected(&want, r, i, name, item));
    if (!want)
        return not_in(&r->expected, r->c->expect, "output", i, t->name,
                      r->c->suffix);
    return report_output(r, row, t, want, out_fits);
}

/* What is no tensor: how many there are, and whether more are expected. */
static hull_status report_kind(runner *r, size_t i, const char *name,
                               bool *out_fits)
{
    bool is_sequence = r->outputs[i].dtype == HULL_SEQUENCE;
    int64_t n = (int64_t)(r->first[i + 1] - r->first[i]);
    const char *wrong = is_sequence ? "expected more" : "expected a value";
    const named_tensor *more = NULL;
    char text[64] = "no value";
    json_t *row;

    if (is_sequence)
        snprintf(text, sizeof text, "sequence of %" PRId64, n);
    TRY(list_row(r, name, str_of(text), &row));
    if (r->c->expect)
        TRY(find_expected(&more, r, i, name, is_sequence ? n : -1));
    *out_fits = more == NULL;
    if (!r->c->expect)
        return HULL_OK;
    if (!r->c->json)
        printf("%s: %s, %s\n", name, text, more ? wrong : "ok");
    TRY(answer(row, "ok", json_boolean(!more)));
    return more ? answer(row, "difference", json_string(wrong)) : HULL_OK;
}

static hull_status report_value(runner *r, size_t i, bool *out_fits)
{
    hull_dtype dt = (hull_dtype)r->outputs[i].dtype;
    size_t first = r->first[i], n = r->first[i + 1] - first;
    hull_tensor_info info;

    *out_fits = true;
    TRY(hull_module_output(r->m, i, &info));
    if (dt == HULL_SEQUENCE || dt == HULL_NONE)
        TRY(report_kind(r, i, info.name, out_fits));
    for (size_t k = 0; k < n; k++) {
        bool fits;

        TRY(report_tensor(r, i, info.name,
                          dt == HULL_SEQUENCE ? (int64_t)k : -1, first + k,
                          &fits));
        *out_fits = *out_fits && fits;
    }
    return HULL_OK;
}

static hull_status report(runner *r)
{
    size_t n_wrong = 0;

    TRY(answer(r->c->result, "outputs", json_array()));
    for (size_t i = 0; i < r->n_out; i++) {
        bool fits;

        TRY(report_value(r, i, &fits));
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

/* Slots that one run reads are best made by it. */
static hull_status run_once(cli *c)
{
    if (c->repeat != 1 || c->fill_set ||
        option_on(c->options, OPT_release_weights))
        return HULL_OK;
    return hull_options_set(c->options, "fill", "run");
}

static hull_status run_run(cli *c)
{
    runner r = { .c = c };
    hull_status st = HULL_OK;

    TRY_OUT(run_once(c));
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
    arena_fini(&r.a);
    mem_free(r.inputs);
    mem_free(r.outputs);
    return st;
}

const command command_run = {
    .name = "run", .arguments = "MODULE|MODEL",
    .summary = "run a module or a model on tensors from a file",
    .doc = "Runs a module file, or compiles a model and runs it, on the "
           "tensors of FILE. Inputs are found by name, else as input_0, "
           "input_1 and so on; other tensors of the file are ignored. The "
           "items of a sequence are NAME.0, NAME.1 and so on, none for an "
           "empty one; an optional input that is not there has no value.\v"
           "With --expect each output is compared with the tensor out:NAME, "
           "else NAME, else output_0, output_1 and so on: floats agree when "
           "|a - b| <= atol + rtol * |b|, NaN equals NaN, integers when "
           "|a - b| <= atol. The largest absolute and relative difference of "
           "each output is printed. A single run makes what its nodes read of "
           "the weights as it goes, --repeat all of it before the first: --set "
           "fill=run and fill=now. " EXIT_DOC,
    .options = run_options, .shared = SHARED_SET | SHARED_CACHE | SHARED_NAMES,
    .min_args = 1, .max_args = 1, .run = run_run,
};
