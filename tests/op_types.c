/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * op_types.c - which element types every op takes, found out by asking: each
 * graph of tests/ops that holds one node of the op is given every type in turn,
 * for one operand alone or for all that share its type, and the shape rule
 * decides. The list is compared with a file that docs/support.md and
 * scripts/check.py read.
 *
 *     op_types [--bless] LIST FILE.ir...
 *
 * A line is `op: types; types ...`, one set per operand: names, or a whole
 * class: float int bool complex string.
 */
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"
#include "ops/op.h"

#define MAX_OPERANDS 8
#define MAX_DTYPES 32

/* What one op takes: bit d of set[i] is dtype d for operand i. */
typedef struct taken {
    uint32_t set[MAX_OPERANDS];
    uint32_t n;
} taken;

static const char *const class_names[] = { "float", "int", "bool", "complex",
                                           "string" };

static int class_of(hull_dtype dt)
{
    if (dtype_is_float(dt))
        return 0;
    if (dtype_is_int(dt))
        return 1;
    if (dtype_is_complex(dt))
        return 3;
    return dt == HULL_BOOL ? 2 : dt == HULL_STRING ? 4 : -1;
}

static hull_dtype dtype_at(const graph *g, const node *n, uint32_t i)
{
    const type *t = n->in[i] != 0 ? graph_type(g, n->in[i]) : NULL;

    return t != NULL && t->kind == TYPE_TENSOR ? t->dtype : HULL_NONE;
}

/* Does the rule take dt in place of the type of operand i (of all operands of
 * that type)? Works on a copy. */
static bool takes(const graph *from, uint32_t i, hull_dtype dt, bool all)
{
    ir *m = NULL;
    bool ok = false;

    if (ir_new(&m) == HULL_OK) {
        graph *g = graph_copy(m, from, str_of("g"));
        node *n = g != NULL && ir_status(m) == HULL_OK ? g->body->last : NULL;
        hull_dtype was = n != NULL ? dtype_at(g, n, i) : HULL_NONE;

        for (uint32_t k = 0; n != NULL && k < n->n_in; k++) {
            if (k != i && !(all && dtype_at(g, n, k) == was))
                continue;
            type t = *graph_type(g, n->in[k]);

            t.dtype = dt;
            value_set_type(g, n->in[k], &t);
        }
        ok = n != NULL && op_infer(g, n) == HULL_OK &&
             ir_status(m) == HULL_OK;
    }
    ir_free(m);
    return ok;
}

/* The graph is one node of op, after its weights and strings. */
static bool is_one(const graph *g, op_code op)
{
    const node *last = g->body->last;

    for (const node *n = g->body->first; n != NULL; n = n->next)
        if (n != last && n->op != OP_weight && n->op != OP_strings)
            return false;
    return last != NULL && last->op == op && last->n_in > 0;
}

static void ask(taken *t, const graph *g)
{
    const node *n = g->body->last;
    const op_info *info = op_get(n->op);
    uint32_t most = n->n_in;

    if ((info->traits & OP_CONTROL) != 0) /* the bodies decide of the rest */
        most = (uint32_t)info->in_min;
    for (uint32_t i = 0; i < most && i < MAX_OPERANDS; i++) {
        if (dtype_at(g, n, i) == HULL_NONE)
            continue;
        t->n = i + 1 > t->n ? i + 1 : t->n;
        for (uint32_t d = 1; d < MAX_DTYPES; d++) {
            hull_dtype dt = (hull_dtype)d;

            if ((t->set[i] >> d & 1) == 0 && class_of(dt) >= 0 &&
                (takes(g, i, dt, false) || takes(g, i, dt, true)))
                t->set[i] |= 1u << d;
        }
    }
}

/* The next graph of the text: up to a line that begins with "graph ". */
static str cut_graph(str *rest)
{
    str all = *rest, one = *rest;

    for (size_t i = 1; i + 6 < all.n; i++) {
        if (all.p[i - 1] == '\n' && memcmp(all.p + i, "graph ", 6) == 0) {
            one.n = i;
            break;
        }
    }
    rest->p += one.n;
    rest->n -= one.n;
    return one;
}

static void put_set(buf *b, uint32_t set)
{
    for (int c = 0; c < (int)COUNT_OF(class_names); c++) {
        uint32_t all = 0;

        for (uint32_t d = 1; d < MAX_DTYPES; d++)
            all |= class_of((hull_dtype)d) == c ? 1u << d : 0;
        if ((set & all) == all) {
            buf_printf(b, " %s", class_names[c]);
            continue;
        }
        for (uint32_t d = 1; d < MAX_DTYPES; d++)
            if ((set & all) >> d & 1)
                buf_printf(b, " %s", hull_dtype_name((hull_dtype)d));
    }
}

static hull_status add_file(buf *b, const char *path, str op_name)
{
    char *p = NULL;
    size_t n = 0;
    taken t = { .n = 0 };
    op_code op = op_find(op_name);
    str text;

    if (op == OP_none) /* cases of several ops */
        return HULL_OK;
    TRY(file_read_all(&p, &n, path, SIZE_MAX / 4));
    text = (str){ p, n };
    while (text.n > 0) {
        ir *m = NULL;

        /* Those that are there to be refused do not parse. */
        if (ir_parse(&m, cut_graph(&text), NULL) == HULL_OK &&
            m->n_graphs == 1 && is_one(m->graphs[0], op))
            ask(&t, m->graphs[0]);
        ir_free(m);
    }
    mem_free(p);
    buf_printf(b, "%.*s:", STR_ARG(op_name));
    for (uint32_t i = 0; i < t.n; i++) {
        buf_puts(b, i > 0 ? ";" : "");
        put_set(b, t.set[i]);
    }
    buf_puts(b, t.n == 0 ? " -\n" : "\n");
    return buf_status(b);
}

static hull_status compare(const char *path, const buf *b)
{
    char *p = NULL;
    size_t n = 0;
    str was, is = { b->p, b->n };
    hull_status st = HULL_OK;

    TRY(file_read_all(&p, &n, path, SIZE_MAX / 4));
    was = (str){ p, n };
    while (st == HULL_OK && (was.n > 0 || is.n > 0)) {
        str x = str_split(was, '\n', &was), y = str_split(is, '\n', &is);

        if (!str_eq(x, y))
            st = fail(HULL_EMISMATCH, "%s has '%.*s', the shape rules say "
                      "'%.*s'; op_types --bless rewrites it", path, STR_ARG(x),
                      STR_ARG(y));
    }
    mem_free(p);
    return st;
}

static hull_status run(int argc, char **argv)
{
    bool bless = argc > 1 && strcmp(argv[1], "--bless") == 0;
    int at = bless ? 2 : 1;
    buf b;
    hull_status st = HULL_OK;

    if (argc - at < 2)
        return fail(HULL_EINVAL, "want LIST FILE.ir...");
    buf_init(&b, 1 << 20);
    buf_puts(&b, "# Element types that every op takes, by operand: written by "
                 "tests/op_types.c.\n");
    for (int i = at + 1; i < argc; i++) {
        str name = str_of(path_base(argv[i]));

        name.n -= name.n > 3 ? 3 : 0;
        TRY_OUT(add_file(&b, argv[i], name));
    }
    if (bless)
        st = file_write_atomic(argv[at], &(file_part){ b.p, b.n }, 1);
    else
        st = compare(argv[at], &b);
out:
    buf_fini(&b);
    return st;
}

int main(int argc, char **argv)
{
    hull_status st = run(argc, argv);

    if (st != HULL_OK)
        printf("%s\n", hull_last_error());
    printf("%d passed, %d failed, 0 skipped\n", st == HULL_OK, st != HULL_OK);
    return st == HULL_OK ? 0 : 1;
}
