/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * irtest.c - golden tests of graphs: irtest [--bless] FILE...
 *
 * The first line of a file names the mode, the rest belongs to it:
 *   // test: print        graphs that must print as they are written
 *   // test: verify       cases between lines "// ----"; a case that is refused
 *                         has "// error: TEXT" on the line that the error
 *                         names; a case without is accepted
 *   // test: pass A,B     graphs, a line "// ----", what the passes make of
 *                         them
 *   // test: split [pass=A,B]  the same for the two programs of each graph
 *   // test: partition [OPTION=VALUE ...]  the same for its blocks, with the
 *                         reasons of the fallbacks in front
 *   // test: run [tol=f32:1e-6,...] [pass=A,B]  see irtest_run.c
 * --bless rewrites what follows "// ----" and what `print` expects. The last
 * line counts the cases; the exit status is 1 when one failed.
 */
#include "irtest.h"

#include <stdio.h>
#include <string.h>

#include "compile/compile.h"

#define TEXT_MAX ((size_t)64 << 20)
#define SEPARATOR "// ----"

/* ---- telling ------------------------------------------------------------- */

static void passed(run *r)
{
    r->passed++;
}

void failed(run *r, uint32_t line, const char *what, const char *detail)
{
    r->failed++;
    printf("%s:%u: %s\n%s%s", r->path, line, what, detail,
           detail[0] != '\0' ? "\n" : "");
}

str next_line(str *rest)
{
    return str_split(*rest, '\n', rest);
}

str find_arg(str args, const char *key)
{
    while (args.n > 0) {
        str set, word = str_split(args, ' ', &args);

        if (str_is(str_split(word, '=', &set), key))
            return set;
    }
    return (str){ 0 };
}

/* The first line that differs, with both texts of it. */
static void failed_diff(run *r, str want, str found)
{
    uint32_t line = r->line;
    str a, b;
    buf text;

    do {
        a = next_line(&want);
        b = next_line(&found);
    } while (str_eq(a, b) && (want.n > 0 || found.n > 0) && line++ > 0);
    buf_init(&text, TEXT_MAX);
    buf_puts(&text, "  wanted: ");
    buf_str(&text, a);
    buf_puts(&text, "\n  found:  ");
    buf_str(&text, b);
    failed(r, line, "the text differs", text.failed ? "" : text.p);
    buf_fini(&text);
}

/* Compares, or takes the found text when blessing. */
static void expect_text(run *r, str want, const buf *found)
{
    if (buf_status(found) != HULL_OK)
        failed(r, r->line, error_text(), "");
    else if (str_eq(want, buf_view(found)))
        passed(r);
    else if (!r->bless)
        failed_diff(r, want, buf_view(found));
    buf_str(&r->blessed, r->bless ? buf_view(found) : want);
}

/* ---- modes --------------------------------------------------------------- */

static void test_print(run *r, str text)
{
    ir *m;
    buf b;

    buf_init(&b, TEXT_MAX);
    if (ir_parse(&m, text, NULL) != HULL_OK) {
        failed(r, r->line, error_text(), "");
        buf_str(&r->blessed, text);
    } else {
        ir_print(&b, m);
        expect_text(r, text, &b);
    }
    ir_free(m);
    buf_fini(&b);
}

/* The line and text of the case's "// error:", false when it has none. */
static bool find_error(str text, uint32_t *out_line, str *out_text)
{
    static const char mark[] = "// error: ";

    for (*out_line = 1; text.n > 0; ++*out_line) {
        str line = next_line(&text);

        for (; line.n >= sizeof(mark) - 1; line.p++, line.n--) {
            if (!str_starts(line, mark))
                continue;
            line.p += sizeof(mark) - 1;
            line.n -= sizeof(mark) - 1;
            *out_text = line;
            return true;
        }
    }
    return false;
}

bool wants_error(str text)
{
    uint32_t line;
    str want;

    return find_error(text, &line, &want);
}

void expect_error(run *r, str text, hull_status st)
{
    uint32_t line;
    str want;
    char at[40], wanted[500];

    if (!find_error(text, &line, &want)) {
        if (st == HULL_OK)
            passed(r);
        else
            failed(r, r->line, "refused", error_text());
        return;
    }
    snprintf(at, sizeof(at), "line %u ", line);
    snprintf(wanted, sizeof(wanted), "%.*s", STR_ARG(want));
    if (st == HULL_OK)
        failed(r, r->line + line - 1, "accepted, wanted", wanted);
    else if (strstr(error_text(), wanted) == NULL)
        failed(r, r->line + line - 1, "another error", error_text());
    else if (strncmp(error_text(), "line ", 5) == 0 &&
             strncmp(error_text(), at, strlen(at)) != 0)
        failed(r, r->line + line - 1, "error of another line", error_text());
    else
        passed(r);
}

static void verify_case(run *r, str text)
{
    ir *m = NULL;
    hull_status st = ir_parse(&m, text, NULL);

    ir_free(m);
    expect_error(r, text, st);
}

/* Cuts text behind its first separator line; *rest is what follows it. */
static str cut_case(str text, str *rest, uint32_t *out_lines)
{
    str all = text, line;

    for (*out_lines = 0; text.n > 0;) {
        const char *start = text.p;

        line = next_line(&text);
        ++*out_lines;
        if (str_is(line, SEPARATOR)) {
            *rest = text;
            return (str){ all.p, (size_t)(start - all.p) };
        }
    }
    *rest = (str){ text.p, 0 };
    return all;
}

static void test_verify(run *r, str text)
{
    uint32_t lines;

    buf_str(&r->blessed, text);
    do {
        str one = cut_case(text, &text, &lines);

        verify_case(r, one);
        r->line += lines;
    } while (text.n > 0);
}

hull_status run_passes(ir *m, str names)
{
    const pass_row *row;

    while (names.n > 0) {
        str name = str_trim(str_split(names, ',', &names));

        row = pass_find(name);
        if (row == NULL)
            return fail(HULL_ENOTFOUND, "there is no pass '%.*s'",
                        STR_ARG(name));
        for (uint32_t i = 0; i < m->n_graphs; i++)
            TRY(pass_run(row, m->graphs[i]));
    }
    return HULL_OK;
}

/* What is made of the graphs in m, appended to out. */
typedef hull_status rewrite_fn(buf *out, ir *m, str args);

/* Graphs, a separator, the text that `rewrite` makes of them. */
static void test_golden(run *r, str text, rewrite_fn *rewrite)
{
    ir *m = NULL;
    uint32_t lines;
    str want, input = cut_case(text, &want, &lines);
    hull_status st = ir_parse(&m, input, NULL);
    buf b;

    buf_init(&b, TEXT_MAX);
    buf_str(&r->blessed, input);
    buf_puts(&r->blessed, SEPARATOR "\n");
    if (st == HULL_OK)
        st = rewrite(&b, m, r->args);
    if (st != HULL_OK) {
        failed(r, r->line, error_text(), "");
        buf_str(&r->blessed, want);
    } else {
        r->line += lines;
        expect_text(r, want, &b);
    }
    ir_free(m);
    buf_fini(&b);
}

static hull_status rewrite_passes(buf *out, ir *m, str args)
{
    TRY(run_passes(m, args));
    ir_print(out, m);
    return HULL_OK;
}

static void test_pass(run *r, str text)
{
    test_golden(r, text, rewrite_passes);
}

/* The block before it was lowered, as split wants it. */
static hull_status split_graph(buf *out, graph *g, const graph *before)
{
    ir *keys = NULL, *two = NULL;
    hull_status st = HULL_OK;
    graph *key;

    TRY_OUT(ir_new(&keys));
    key = graph_copy(keys, before, before->name);
    TRY_OUT(ir_status(keys));
    TRY_OUT(split_programs(&two, g, key));
    buf_printf(out, "// %.*s\n", STR_ARG(before->name));
    ir_print(out, two);
out:
    ir_free(keys);
    ir_free(two);
    return st;
}

static hull_status rewrite_split(buf *out, ir *m, str args)
{
    ir *before = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(ir_new(&before));
    for (uint32_t i = 0; i < m->n_graphs; i++)
        graph_copy(before, m->graphs[i], m->graphs[i]->name);
    TRY_OUT(ir_status(before));
    TRY_OUT(run_passes(m, find_arg(args, "pass")));
    for (uint32_t i = 0; i < before->n_graphs; i++) /* split adds to m */
        TRY_OUT(split_graph(out, m->graphs[i], before->graphs[i]));
out:
    ir_free(before);
    return st;
}

static void test_split(run *r, str text)
{
    test_golden(r, text, rewrite_split);
}

static hull_status partition_graph(buf *out, graph *g, const devices *ds)
{
    hull_status st = HULL_OK;
    ir *blocks = NULL;
    plan *p = NULL;

    TRY_OUT(plan_new(&p));
    buf_printf(out, "// %.*s\n", STR_ARG(g->name));
    st = partition(p, &blocks, g, ds);
    if (st == HULL_EUNSUPPORTED) { /* require_full */
        buf_printf(out, "// refused: %s\n", error_text());
        st = HULL_OK;
        goto out;
    }
    TRY_OUT(st);
    for (uint32_t i = 0; i < p->n_fallbacks; i++)
        buf_printf(out, "// fallback: %.*s: %.*s\n",
                   STR_ARG(p->fallbacks[i].op),
                   STR_ARG(p->fallbacks[i].reason));
    ir_print(out, blocks);
out:
    ir_free(blocks);
    plan_free(p);
    return st;
}

/* OPTION=VALUE words. */
static hull_status set_options(options *o, str args)
{
    while (args.n > 0) {
        str set, word = str_split(args, ' ', &args);
        str key = str_split(word, '=', &set);
        char k[64], v[256];

        if (key.n == 0)
            continue;
        snprintf(k, sizeof(k), "%.*s", STR_ARG(key));
        snprintf(v, sizeof(v), "%.*s", STR_ARG(set));
        TRY(hull_options_set(o, k, v));
    }
    return HULL_OK;
}

static hull_status rewrite_partition(buf *out, ir *m, str args)
{
    options *o = NULL;
    devices ds = { 0 };
    hull_status st = HULL_OK;

    TRY_OUT(options_new(&o));
    TRY_OUT(set_options(o, args));
    TRY_OUT(devices_open(&ds, o));
    for (uint32_t i = 0; i < m->n_graphs; i++)
        TRY_OUT(partition_graph(out, m->graphs[i], &ds));
out:
    devices_close(&ds);
    options_free(o);
    return st;
}

static void test_partition(run *r, str text)
{
    test_golden(r, text, rewrite_partition);
}

static const struct mode {
    const char *name;
    void (*test)(run *r, str text);
} modes[] = {
    { "print", test_print },
    { "verify", test_verify },
    { "pass", test_pass },
    { "split", test_split },
    { "partition", test_partition },
    { "run", test_run },
};

/* ---- files --------------------------------------------------------------- */

static void test_text(run *r, str text)
{
    str rest, head = str_split(text, '\n', &rest);
    str mode;

    buf_str(&r->blessed, head);
    buf_putc(&r->blessed, '\n');
    if (!str_starts(head, "// test: ")) {
        failed(r, 1, "the first line is not '// test: MODE'", "");
        return;
    }
    head = (str){ head.p + 9, head.n - 9 };
    mode = str_split(str_trim(head), ' ', &r->args);
    r->line = 2;
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        if (str_is(mode, modes[i].name)) {
            modes[i].test(r, rest);
            return;
        }
    }
    failed(r, 1, "unknown mode", "");
}

static void bless(run *r, str old)
{
    file_part part = { r->blessed.p, r->blessed.n };

    if (buf_status(&r->blessed) != HULL_OK ||
        str_eq(old, buf_view(&r->blessed)))
        return;
    if (file_write_atomic(r->path, &part, 1) != HULL_OK)
        failed(r, 1, error_text(), "");
    else
        printf("%s: blessed\n", r->path);
}

static void test_file(run *r, const char *path)
{
    char *text;
    size_t n;

    r->path = path;
    if (file_read_all(&text, &n, path, TEXT_MAX) != HULL_OK) {
        failed(r, 1, error_text(), "");
        return;
    }
    buf_init(&r->blessed, TEXT_MAX);
    test_text(r, (str){ text, n });
    if (r->bless)
        bless(r, (str){ text, n });
    buf_fini(&r->blessed);
    mem_free(text);
}

int main(int argc, char **argv)
{
    run r = { 0 };
    int first = 1;

    if (argc > 1 && strcmp(argv[1], "--bless") == 0) {
        r.bless = true;
        first = 2;
    }
    if (first >= argc) {
        printf("usage: irtest [--bless] FILE...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        test_file(&r, argv[i]);
    printf("%u passed, %u failed, %u skipped\n", r.passed, r.failed, r.skipped);
    return r.failed > 0;
}
