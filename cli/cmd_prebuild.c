/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_prebuild.c - `hull compile --prebuild LIST`: engines of many models and
 * targets into the cache, without weights and before anybody waits for them.
 *
 *   list := (line '\n')*
 *   line := [MODEL (' ' KEY=VALUE)*] ['#' comment]
 *
 * A MODEL with spaces stands in double quotes; it is relative to the list's
 * folder. The list is checked as a whole before the first model is built.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "compile/compile.h"

#define LIST_MAX ((size_t)16 << 20)

typedef struct job {
    uint32_t line;
    char *model;         /* path */
    str text;            /* of the line, as written */
    hull_options *o;
} job;

typedef struct list {
    cli *c;
    const char *path;
    char *text, *folder; /* of the file; its folder */
    size_t n_text;
    job *jobs;
    size_t n, cap, n_bad;
    hull_cache *cache;
    json_t *rows;        /* of the answer */
} list;

static void list_fini(list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        mem_free(l->jobs[i].model);
        hull_options_free(l->jobs[i].o);
    }
    hull_cache_unref(l->cache);
    mem_free(l->jobs);
    mem_free(l->text);
    mem_free(l->folder);
}

/* ---- reading ------------------------------------------------------------- */

/* The word at the front of *rest, which moves behind it; "" at the end. */
static hull_status next_word(str *out, str *rest)
{
    str s = str_trim(*rest);
    size_t n = 0;

    if (s.n > 0 && s.p[0] == '"') {
        *out = str_split((str){s.p + 1, s.n - 1}, '"', rest);
        if (out->n + 1 == s.n)
            return fail(HULL_EINVAL, "a quote is not closed");
        return out->n > 0 ? HULL_OK : fail(HULL_EINVAL, "a name is empty");
    }
    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\t')
        n++;
    *out = (str){s.p, n};
    *rest = (str){s.p + n, s.n - n};
    return HULL_OK;
}

static hull_status set_word(hull_options *o, str word)
{
    hull_status st = HULL_OK;
    str to, name = str_split(word, '=', &to);
    char *k = mem_strndup(name.p, name.n);
    char *v = mem_strndup(to.p, to.n);

    if (k == NULL || v == NULL)
        TRY_OUT(fail_oom(word.n));
    if (name.n == 0 || name.n == word.n)
        TRY_OUT(fail(HULL_EINVAL, "'%.*s', want KEY=VALUE", STR_ARG(word)));
    st = hull_options_set(o, k, v);
out:
    mem_free(k);
    mem_free(v);
    return st;
}

static hull_status check_model(const char *path)
{
    struct stat s;

    if (stat(path, &s) != 0)
        return fail(HULL_ENOTFOUND, "there is no model '%s'", path);
    if (!S_ISREG(s.st_mode))
        return fail(HULL_EINVAL, "'%s' is no file", path);
    return HULL_OK;
}

/* Backends, target and what they refuse together. */
static hull_status check_devices(const hull_options *o)
{
    devices ds = {0};
    hull_status st = devices_open(&ds, o);

    devices_close(&ds);
    return st;
}

static hull_status read_job(list *l, job *j, str line)
{
    str rest = line, word;
    char *name;

    TRY(next_word(&word, &rest));
    name = mem_strndup(word.p, word.n);
    j->model = name != NULL ? path_join(l->folder, name) : NULL;
    mem_free(name);
    if (j->model == NULL)
        return fail_oom(word.n);
    TRY(options_copy(&j->o, l->c->options));
    TRY(check_model(j->model));
    for (rest = str_trim(rest); rest.n > 0; rest = str_trim(rest)) {
        TRY(next_word(&word, &rest));
        TRY(set_word(j->o, word));
    }
    TRY(hull_options_set(j->o, "strip_weights", "on"));
    return check_devices(j->o);
}

/* What is wrong with a line is told, and the next line is read. */
static hull_status note_problem(list *l, uint32_t line)
{
    json_t *problems = json_object_get(l->c->result, "problems");

    l->n_bad++;
    if (!l->c->json)
        fprintf(stderr, "hull: %s:%u: %s\n", l->path, line, error_text());
    if (problems == NULL) {
        TRY(answer(l->c->result, "problems", json_array()));
        problems = json_object_get(l->c->result, "problems");
    }
    return answer_item(problems,
                       json_pack("{s:I, s:o}", "line", (json_int_t)line,
                                 "error", json_str(str_of(error_text()))));
}

static hull_status read_line(list *l, str line, uint32_t number)
{
    hull_status st;
    str comment;
    job *j;

    line = str_trim(str_split(line, '#', &comment));
    if (line.n == 0)
        return HULL_OK;
    TRY(mem_grow(&l->jobs, &l->cap, l->n + 1, sizeof *l->jobs));
    j = &l->jobs[l->n++];
    j->line = number;
    j->text = line;
    st = read_job(l, j, line);
    if (st == HULL_OK || st == HULL_ENOMEM)
        return st;
    return note_problem(l, number);
}

static hull_status read_list(list *l)
{
    uint32_t number = 0;
    str rest;

    l->folder = path_dir(l->path);
    if (l->folder == NULL)
        return fail_oom(0);
    TRY(file_read_all(&l->text, &l->n_text, l->path, LIST_MAX));
    rest = (str){l->text, l->n_text};
    while (rest.n > 0)
        TRY(read_line(l, str_split(rest, '\n', &rest), ++number));
    if (l->n_bad > 0)
        return fail(HULL_EINVAL, "%s: %zu of %zu models cannot be built as "
                    "told, nothing was built", l->path, l->n_bad, l->n);
    return l->n > 0 ? HULL_OK
                    : fail(HULL_EINVAL, "%s names no model", l->path);
}

/* ---- building ------------------------------------------------------------ */

typedef struct counts {
    size_t blocks, hits, built;
} counts;

/* Equal blocks share an engine: the first one of a key says whether it was
 * there, and all of its hits or builds count once. */
static bool is_first(const json_t *blocks, size_t i, const char *key)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(json_string_value(json_object_get(
                       json_array_get(blocks, k), "key")), key) == 0)
            return false;
    return true;
}

/* The log has the reason; a cache that keeps nothing is a failure here. */
static hull_status check_stored(list *l, const char *hex)
{
    cache_key k = {0};

    if (digest_from_hex(&k.d, str_of(hex)) &&
        cache_has(l->cache, CACHE_ENGINE, &k))
        return HULL_OK;
    return fail(HULL_EIO, "engine %.16s was built, but '%s' does not have it",
                hex, cache_path(l->cache));
}

static hull_status count_blocks(counts *out, list *l, const json_t *facts)
{
    const json_t *blocks = json_object_get(facts, "blocks"), *b;
    size_t i;

    json_array_foreach(blocks, i, b) {
        const char *key = json_string_value(json_object_get(b, "key"));

        out->blocks++;
        if (!is_first(blocks, i, key))
            continue;
        if (json_is_true(json_object_get(b, "hit")))
            out->hits++;
        else
            out->built++;
        TRY(check_stored(l, key));
    }
    return HULL_OK;
}

static hull_status build(counts *out, list *l, const job *j)
{
    hull_module *m = NULL;
    json_t *facts = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(hull_compile(&m, j->model, NULL, l->cache, j->o));
    TRY_OUT(module_facts(&facts, m));
    st = count_blocks(out, l, facts);
out:
    json_free(facts);
    hull_module_unref(m);
    return st;
}

static hull_status tell(list *l, const job *j, hull_status built,
                        const counts *n, double seconds, uint64_t n_bytes)
{
    json_t *row = json_pack(
        "{s:I, s:o, s:o, s:s, s:I, s:I, s:I, s:f, s:I}", "line",
        (json_int_t)j->line, "model", json_str(str_of(j->model)), "text",
        json_str(j->text), "status", hull_status_name(built), "blocks",
        (json_int_t)n->blocks, "hits", (json_int_t)n->hits, "built",
        (json_int_t)n->built, "seconds", seconds, "bytes_read",
        (json_int_t)n_bytes);

    TRY(answer_item(l->rows, row));
    if (built != HULL_OK)
        TRY(answer(row, "error", json_str(str_of(error_text()))));
    if (l->c->json)
        return HULL_OK;
    if (built != HULL_OK)
        fprintf(stderr, "hull: %s:%u: %s\n", l->path, j->line, error_text());
    else
        printf("%.*s: %zu block%s, %zu hit%s, %zu built, %.3f s\n",
               STR_ARG(j->text), n->blocks, n->blocks == 1 ? "" : "s",
               n->hits, n->hits == 1 ? "" : "s", n->built, seconds);
    fflush(stdout);
    return HULL_OK;
}

static hull_status build_one(list *l, size_t i, hull_status *first,
                             counts *sum)
{
    const job *j = &l->jobs[i];
    uint64_t start = time_ns(), before = file_bytes_read();
    char what[64];
    counts n = {0};
    hull_status st;

    snprintf(what, sizeof(what), "%zu of %zu: building", i + 1, l->n);
    progress_begin(l->c, what, j->model);
    st = build(&n, l, j);
    progress_end();
    if (st != HULL_OK) {
        l->n_bad++;
        *first = *first == HULL_OK ? st : *first;
    }
    sum->blocks += n.blocks;
    sum->hits += n.hits;
    sum->built += n.built;
    return tell(l, j, st, &n, (double)(time_ns() - start) * 1e-9,
                file_bytes_read() - before);
}

static hull_status build_all(list *l)
{
    hull_status first = HULL_OK;
    json_t *top = l->c->result;
    counts sum = {0};

    TRY(answer(top, "folder", json_str(str_of(cache_path(l->cache)))));
    l->rows = json_array();
    TRY(answer(top, "models", l->rows));
    for (size_t i = 0; i < l->n; i++)
        TRY(build_one(l, i, &first, &sum));
    TRY(answer(top, "blocks", json_integer((json_int_t)sum.blocks)));
    TRY(answer(top, "hits", json_integer((json_int_t)sum.hits)));
    TRY(answer(top, "built", json_integer((json_int_t)sum.built)));
    TRY(answer(top, "failed", json_integer((json_int_t)l->n_bad)));
    if (first != HULL_OK)
        return fail(first, "%s: %zu of %zu models failed", l->path, l->n_bad,
                    l->n);
    return HULL_OK;
}

hull_status prebuild(cli *c)
{
    list l = {.c = c, .path = c->prebuild};
    hull_status st = HULL_OK;

    c->usage = c->no_cache || c->n_args > 0 || c->weights || c->output ||
               c->print_key;
    if (c->usage)
        return fail(HULL_EINVAL, "compile: --prebuild fills the cache: it "
                    "takes no MODEL, --weights, --output, --print-key or "
                    "--no-cache");
    TRY_OUT(read_list(&l));
    TRY_OUT(hull_cache_open(&l.cache, c->cache_dir, c->options));
    st = build_all(&l);
out:
    list_fini(&l);
    return st;
}
