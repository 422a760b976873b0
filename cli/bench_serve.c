/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bench_serve.c - `hull bench --serve`: a process that measures when it is
 * told, so that a script can take turns between programs that must not run at
 * the same time. Every line of standard input is a command, every answer one
 * line of JSON; the first line, unasked, tells the facts of the start.
 *
 *   run SECONDS     {"ms": [...]}: runs for that long, at least three
 *   refit SECONDS   the facts of refits
 *   save FILE       writes the outputs of the last run; {"saved": FILE}
 */
#include <string.h>

#include "cli/bench.h"

static hull_status put(json_t *o)
{
    int bad = 0;

    if (!o)
        return fail_oom(0);
    bad |= json_dumpf(o, stdout, JSON_COMPACT);
    bad |= putchar('\n') == EOF;
    bad |= fflush(stdout) != 0;
    json_decref(o);
    if (bad)
        return fail(HULL_EIO, "standard output cannot be written");
    return HULL_OK;
}

static hull_status put_runs(bench *b, hull_session *s, double seconds)
{
    samples runs = { 0 };
    json_t *o = json_object(), *list = json_array();
    hull_status st = HULL_OK;

    TRY_OUT(answer(o, "ms", list));
    TRY_OUT(bench_run_for(b, s, seconds, 3, &runs));
    for (size_t i = 0; i < runs.n; i++)
        TRY_OUT(answer_item(list, json_real(runs.ms[i])));
    st = put(o);
    o = NULL;
out:
    json_decref(o);
    samples_fini(&runs);
    return st;
}

static hull_status save_outputs(const bench *b, const char *path)
{
    tensor_file f = { 0 };
    hull_status st = HULL_OK;

    for (size_t i = 0; i < b->n_out; i++) {
        const hull_tensor *o = &b->outputs[i];
        hull_tensor_info info;
        named_tensor *t;

        TRY_OUT(hull_module_output(b->m, i, &info));
        if (o->dtype == HULL_NONE)
            continue;
        TRY_OUT(tensor_file_add(&f, &t, str_of(info.name),
                                (hull_dtype)o->dtype, (uint32_t)o->rank,
                                o->shape));
        if (t->n_bytes > 0)
            memcpy(t->data, o->data, (size_t)t->n_bytes);
    }
    TRY_OUT(tensor_file_write(path, f.items, f.n));
    st = put(json_pack("{s:o}", "saved", json_str(str_of(path))));
out:
    tensor_file_fini(&f);
    return st;
}

static hull_status obey(bench *b, hull_session *s, str line)
{
    str argument, word = str_split(str_trim(line), ' ', &argument);
    double seconds = 0;
    json_t *facts;

    if (str_is(word, "save"))
        return save_outputs(b, argument.p);
    if (!str_to_f64(&seconds, argument) || !(seconds >= 0))
        return fail(HULL_EINVAL, "'%.*s' is no command, want run SECONDS, "
                    "refit SECONDS or save FILE", STR_ARG(line));
    if (str_is(word, "run"))
        return put_runs(b, s, seconds);
    if (!str_is(word, "refit") || !b->c->refit)
        return fail(HULL_EINVAL, "'%.*s' is no command%s", STR_ARG(line),
                    b->c->refit ? "" : ", there is no --refit");
    TRY(bench_refits(b, seconds, &facts));
    return put(facts);
}

hull_status bench_serve(bench *b, hull_session *s)
{
    json_t *facts = json_object();
    char line[4096];
    hull_status st = HULL_OK;

    st = facts ? bench_start_facts(b, facts) : fail_oom(0);
    if (st != HULL_OK) {
        json_decref(facts);
        return st;
    }
    TRY(put(facts));
    while (st == HULL_OK && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            st = obey(b, s, str_of(line));
    }
    return st;
}
