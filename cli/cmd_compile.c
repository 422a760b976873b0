/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_compile.c - `hull compile` and `hull refit`: a model becomes a module
 * file, and a module file takes another checkpoint.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

static const struct argp_option compile_options[] = {
    { "weights", KEY_WEIGHTS, "CHECKPOINT", 0,
      "Fill the module from this file, not from the model's own weights", 0 },
    { "strip-weights", KEY_STRIP, NULL, 0,
      "Write engines and binding only; a refit fills them", 0 },
    { "learn", KEY_LEARN, NULL, 0,
      "The checkpoint holds the model's own values: equal bytes may confirm "
      "how its tensors map", 0 },
    { "print-key", KEY_PRINT_KEY, NULL, 0,
      "Print the cache key of each block, build and write nothing", 0 },
    { "prebuild", KEY_PREBUILD, "LIST", 0,
      "Build the models that the lines of LIST name into the cache, read no "
      "weights and write no module", 0 },
    { 0 },
};

/* ---- keys ---------------------------------------------------------------- */

static hull_status print_keys(cli *c)
{
    hull_weights *w = NULL;
    hull_status st = HULL_OK;
    json_t *plan = NULL, *keys = json_array(), *block;
    char *text = NULL;
    size_t i;

    TRY_OUT(answer(c->result, "keys", keys));
    if (c->weights)
        TRY_OUT(hull_weights_open(&w, c->weights));
    TRY_OUT(hull_explain(&text, c->args[0], w, NULL, c->options, 1));
    TRY_OUT(json_parse(&plan, text, strlen(text), "the plan"));
    json_array_foreach(json_object_get(plan, "blocks"), i, block) {
        const char *key = json_string_value(json_object_get(block, "key"));

        if (!key)
            TRY_OUT(fail(HULL_EINTERNAL, "block %zu has no key", i));
        TRY_OUT(answer_item(keys, json_string(key)));
        if (!c->json)
            printf("%s\n", key);
    }
out:
    json_free(plan);
    hull_free(text);
    hull_weights_unref(w);
    return st;
}

/* ---- compile ------------------------------------------------------------- */

/* The model's name with .hull for its extension, in the working folder. */
static char *default_output(const char *model)
{
    const char *base = path_base(model), *dot = strrchr(base, '.');
    buf b;

    buf_init(&b, 4096);
    buf_put(&b, base, dot && dot != base ? (size_t)(dot - base)
                                         : strlen(base));
    buf_puts(&b, ".hull");
    if (buf_status(&b) != HULL_OK)
        buf_fini(&b);
    return buf_take(&b);
}

static void print_cache(const json_t *facts)
{
    const json_t *blocks = json_object_get(facts, "blocks"), *block;
    size_t i, hits = 0, n = json_array_size(blocks);

    json_array_foreach(blocks, i, block)
        hits += json_is_true(json_object_get(block, "hit"));
    if (hits > 0 && hits < n)
        printf("cache hit for %zu of %zu", hits, n);
    else
        printf("cache %s",
               json_string_value(json_object_get(facts, "cache")));
    if (json_is_true(json_object_get(facts, "direct")))
        printf(", direct");
}

static void print_facts(const cli *c, const char *output, const json_t *facts,
                        double seconds)
{
    size_t n = json_array_size(json_object_get(facts, "blocks"));

    printf("%s: %zu block%s, %lld holes, ", path_base(c->args[0]), n,
           n == 1 ? "" : "s",
           json_integer_value(json_object_get(facts, "holes")));
    print_cache(facts);
    printf(", engines %lld bytes, %.3f s\n",
           json_integer_value(json_object_get(facts, "engine_bytes")),
           seconds);
    printf("wrote %s%s\n", output, c->strip ? ", without weights" : "");
}

static hull_status write_module(cli *c, hull_module *m, const char *output,
                                double seconds)
{
    json_t *facts;
    hull_status st = HULL_OK;

    TRY(module_facts(&facts, m));
    progress_begin(c, "writing", output);
    st = hull_module_save(m, output, save_flags(c));
    progress_end();
    TRY_OUT(st);
    if (!c->json)
        print_facts(c, output, facts, seconds);
    TRY_OUT(answer(c->result, "output", json_str(str_of(output))));
    TRY_OUT(answer(c->result, "seconds", json_real(seconds)));
    TRY_OUT(answer(c->result, "module", json_incref(facts)));
out:
    json_free(facts);
    return st;
}

static hull_status run_compile(cli *c)
{
    uint64_t start = time_ns();
    hull_weights *w = NULL;
    hull_cache *cache = NULL;
    hull_module *m = NULL;
    hull_status st = HULL_OK;
    char *made = NULL;

    if (c->prebuild)
        return prebuild(c);
    c->usage = c->n_args == 0;
    if (c->usage)
        return fail(HULL_EINVAL, "compile: want MODEL");
    if (c->print_key)
        return print_keys(c);
    if (!c->output) {
        made = default_output(c->args[0]);
        if (!made)
            return fail_oom(0);
        c->output = made;
    }
    if (c->weights)
        TRY_OUT(hull_weights_open(&w, c->weights));
    TRY_OUT(open_cache(c, &cache));
    progress_begin(c, "compiling", c->args[0]);
    st = hull_compile(&m, c->args[0], w, cache, c->options);
    progress_end();
    TRY_OUT(st);
    TRY_OUT(write_module(c, m, c->output,
                         (double)(time_ns() - start) * 1e-9));
out:
    hull_module_unref(m);
    hull_cache_unref(cache);
    hull_weights_unref(w);
    mem_free(made);
    return st;
}

const command command_compile = {
    .name = "compile", .arguments = "MODEL\n--prebuild LIST",
    .summary = "compile a model into a module file",
    .doc = "Compiles an ONNX or PT2 model into a module file (default: the "
           "model's name with .hull, in the working folder) that holds "
           "engines, the binding of weights and, unless told otherwise, the "
           "weights as the checkpoint gave them, so that it is portable and "
           "can be refitted.\v"
           "Engines hold no weights and are taken from the cache where their "
           "key is known.\n\n"
           "A LIST has a line MODEL [KEY=VALUE ...] per model, '#' begins a "
           "comment, and a MODEL is relative to the list's folder. Options "
           "are those of --set, which they override; target=LEVEL builds for "
           "another CPU. The list is checked before anything is built, a "
           "model that fails stops no other one, and the exit status is that "
           "of the first failure. " EXIT_DOC,
    .options = compile_options,
    .shared = SHARED_SET | SHARED_CACHE | SHARED_SAVE | SHARED_NAMES,
    .min_args = 0, .max_args = 1, .run = run_compile,
};

/* ---- refit --------------------------------------------------------------- */

static hull_status refit(cli *c, hull_module *m, hull_refit_report *r)
{
    hull_weights *w = NULL;
    hull_status st;

    TRY(hull_weights_open(&w, c->args[1]));
    progress_begin(c, "refitting from", c->args[1]);
    st = hull_refit(m, w, c->options, r);
    progress_end();
    hull_weights_unref(w);
    return st;
}

static json_t *report_json(const hull_refit_report *r, double rate)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, "
                     "s:f}",
                     "version", (json_int_t)r->version,
                     "bytes_read", (json_int_t)r->bytes_read,
                     "bytes_written", (json_int_t)r->bytes_written,
                     "bytes_shared", (json_int_t)r->bytes_shared,
                     "slots_borrowed", (json_int_t)r->slots_borrowed,
                     "slots_copied", (json_int_t)r->slots_copied,
                     "slots_computed", (json_int_t)r->slots_computed,
                     "slots_shared", (json_int_t)r->slots_shared,
                     "slots_streamed", (json_int_t)r->slots_streamed,
                     "kept", (json_int_t)r->kept,
                     "seconds", r->seconds, "gigabytes_per_second", rate);
}

static void print_report(const cli *c, const hull_refit_report *r, double rate)
{
    printf("%s <- %s\n", path_base(c->args[0]), path_base(c->args[1]));
    printf("bytes: %" PRIu64 " read, %" PRIu64 " written, %" PRIu64
           " shared\n", r->bytes_read, r->bytes_written, r->bytes_shared);
    printf("slots: %" PRIu64 " copied, %" PRIu64 " computed, %" PRIu64
           " borrowed, %" PRIu64 " shared", r->slots_copied,
           r->slots_computed, r->slots_borrowed, r->slots_shared);
    if (r->slots_streamed > 0)
        printf(", %" PRIu64 " left to runs", r->slots_streamed);
    printf("; constants kept: %" PRIu64 "\n", r->kept);
    printf("time: %.6f s, %.2f GB/s\n", r->seconds, rate);
    printf("wrote %s\n", c->output);
}

static hull_status run_refit(cli *c)
{
    hull_cache *cache = NULL;
    hull_module *m = NULL;
    hull_status st = HULL_OK;
    hull_refit_report r = { 0 };
    double rate = 0;

    if (!c->output) {
        c->usage = true;
        return fail(HULL_EINVAL, "refit: want -o FILE");
    }
    TRY_OUT(open_cache(c, &cache));
    progress_begin(c, "loading", c->args[0]);
    st = hull_module_load(&m, c->args[0], NULL, cache, c->options);
    progress_end();
    TRY_OUT(st);
    TRY_OUT(refit(c, m, &r));
    progress_begin(c, "writing", c->output);
    st = hull_module_save(m, c->output, save_flags(c));
    progress_end();
    TRY_OUT(st);
    if (r.seconds > 0)
        rate = (double)r.bytes_written / r.seconds * 1e-9;
    TRY_OUT(answer(c->result, "output", json_str(str_of(c->output))));
    TRY_OUT(answer(c->result, "refit", report_json(&r, rate)));
    if (!c->json)
        print_report(c, &r, rate);
out:
    hull_module_unref(m);
    hull_cache_unref(cache);
    return st;
}

const command command_refit = {
    .name = "refit", .arguments = "MODULE CHECKPOINT",
    .summary = "pour another checkpoint into a module file",
    .doc = "Fills a module file from another checkpoint and writes the result "
           "to FILE. Nothing is compiled.\v"
           "The checkpoint may be a safetensors file, an index.json of shards, "
           "a PyTorch .pt or .pth, or a model file of the same architecture. "
           "Every tensor that is missing, unexpected or of another shape or "
           "dtype is listed, and then nothing is written. " EXIT_DOC,
    .shared = SHARED_SET | SHARED_CACHE | SHARED_SAVE | SHARED_NAMES,
    .min_args = 2, .max_args = 2, .run = run_refit,
};
