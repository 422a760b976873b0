/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * nets.c - no node of whole models runs on a reference kernel: at both levels
 * of the cpu backend, whatever this machine has. Others fail, and are named with
 * their nodes and what the kernels want of them.
 *
 *     nets [--tally FILE [--bless]] [SUITE=]PATH...
 *
 *   PATH     a model, or a folder: all models below it. One that is not there
 *            is skipped
 *   --tally  FILE says how many models each suite has (tally.h); --bless
 *            rewrites it
 */
#include "tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const targets[] = {"avx2", "avx512+vnni+bf16"};

typedef struct nets {
    tally t;
    const char *target;
    unsigned passed, failed, skipped;
} nets;

static hull_status count(nets *s, const char *path, uint32_t *out_ref)
{
    options *o = NULL;
    module *m = NULL;
    hull_status st = HULL_OK;

    *out_ref = 0;
    TRY_OUT(options_new(&o));
    TRY_OUT(hull_options_set(o, "target", s->target));
    TRY_OUT(hull_compile(&m, path, NULL, NULL, o));
    st = tally_add(&s->t, m, out_ref);
out:
    hull_module_unref(m);
    options_free(o);
    return st;
}

static hull_status add_model(void *user, const char *path, const file_id *id)
{
    nets *s = user;
    hull_status st;
    uint32_t ref;

    (void)id;
    if (!str_ends(str_of(path), ".onnx") && !str_ends(str_of(path), ".pt2"))
        return HULL_OK;
    st = count(s, path, &ref);
    if (st == HULL_OK && ref > 0)
        st = fail(HULL_EMISMATCH, "%" PRIu32 " nodes on reference kernels: %s",
                  ref, s->t.why);
    if (st != HULL_OK)
        printf("FAIL %s for %s: %s\n", path, s->target, hull_last_error());
    s->passed += st == HULL_OK;
    s->failed += st != HULL_OK;
    return HULL_OK;
}

/* "SUITE=PATH" or "PATH": at each level, and the suite's lines. */
static hull_status add_suite(nets *s, const char *argument, buf *lines)
{
    str path, suite = str_split(str_of(argument), '=', &path);
    char name[96];
    FILE *f;

    path = path.n > 0 ? path : str_of(argument);
    f = fopen(path.p, "rb");
    if (f == NULL) {
        s->skipped++;
        printf("no '%s'\n", path.p);
        return HULL_OK;
    }
    fclose(f);
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        s->t = (tally){.off = false};
        s->target = targets[i];
        if (str_ends(path, ".onnx") || str_ends(path, ".pt2"))
            TRY(add_model(s, path.p, NULL));
        else
            TRY(dir_walk(path.p, add_model, s));
        snprintf(name, sizeof name, "%.*s@%s", STR_ARG(suite), targets[i]);
        if (path.p != argument)
            tally_print(lines, &s->t, name);
    }
    return HULL_OK;
}

static hull_status run(nets *s, int argc, char **argv)
{
    const char *path = NULL;
    hull_status st = HULL_OK;
    bool bless = false;
    buf lines;

    buf_init(&lines, 1 << 20);
    buf_puts(&lines, TALLY_HEAD);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tally") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strcmp(argv[i], "--bless") == 0)
            bless = true;
        else
            TRY_OUT(add_suite(s, argv[i], &lines));
    }
    if (path != NULL)
        st = lines_settle(&lines, path, bless, &s->failed);
out:
    buf_fini(&lines);
    return st;
}

int main(int argc, char **argv)
{
    nets s = {.skipped = 0};
    hull_status st = run(&s, argc, argv);

    if (st != HULL_OK)
        printf("%s\n", hull_last_error());
    printf("%u passed, %u failed, %u skipped\n", s.passed, s.failed,
           s.skipped);
    return st == HULL_OK && s.failed == 0 ? 0 : 1;
}
