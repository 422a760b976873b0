/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rules_apply.c - mapping rules in terms of one checkpoint. Each rule is tried
 * on the checkpoint's names; what the stars stand for gives the model's name.
 * A recipe is parsed with the types of the tensors at hand, so its result has
 * a type before anybody asks for it. The first rule that gives a name wins.
 */
#include "compile/rules.h"

#include <inttypes.h>
#include <string.h>

#define SHOWN_MAX 12
#define MADE_MAX 1000000
#define TRIES_MAX ((uint64_t)1 << 30) /* rules times names of the checkpoint */

typedef struct applier {
    mapped *mp;
    const rules *rs;
    buf errors;
    uint32_t n_errors;
    buf text;              /* of one recipe */
    buf name;
} applier;

static void wrong(applier *a, uint32_t line, uint32_t column, const char *fmt,
                  ...) PRINTF_LIKE(4, 5);
static void wrong(applier *a, uint32_t line, uint32_t column, const char *fmt,
                  ...)
{
    va_list ap;

    if (a->n_errors++ >= SHOWN_MAX)
        return;
    va_start(ap, fmt);
    buf_printf(&a->errors, "%sline %u column %u: ", a->errors.n ? "; " : "",
               line, column);
    buf_vprintf(&a->errors, fmt, ap);
    va_end(ap);
}

/* ---- one recipe ---------------------------------------------------------- */

static void put_type(buf *b, const weight_entry *e)
{
    buf_printf(b, "%s[", hull_dtype_name(e->dtype));
    for (uint32_t i = 0; i < e->rank; i++)
        buf_printf(b, "%s%" PRId64, i > 0 ? "," : "", e->shape[i]);
    buf_putc(b, ']');
}

static char letter(uint32_t i)
{
    return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567"[i];
}

/* The leaves on a line of their own, then the body as it stands in the file,
 * under the columns that it has there. False: a name is absent. */
static bool put_recipe(applier *a, const rule *u,
                       const str stars[RULE_STARS_MAX], str left)
{
    buf *b = &a->text;

    buf_clear(b);
    buf_puts(b, "graph @r() {");
    for (uint32_t i = 0; i < u->n_names; i++) {
        const weight_entry *e;

        buf_clear(&a->name);
        rule_fill(&a->name, u->names[i], stars);
        e = weights_find(a->mp->w, buf_view(&a->name));
        if (e == NULL || e->dtype == HULL_NONE) {
            wrong(a, u->line, u->column, "'%.*s', for '%.*s', is %s",
                  STR_ARG(buf_view(&a->name)), STR_ARG(left),
                  e == NULL ? "not in the checkpoint"
                            : "of a dtype that is not read");
            return false;
        }
        buf_printf(b, " %%_%c = weight ", letter(i));
        buf_quoted(b, e->name);
        buf_puts(b, " : ");
        put_type(b, e);
    }
    buf_puts(b, u->block ? "\n" : " %_r =\n");
    for (uint32_t i = 1; i < u->body_column; i++)
        buf_putc(b, ' ');
    buf_str(b, u->body);
    buf_puts(b, u->block ? "}" : "\nreturn %_r }");
    return true;
}

/* The parser's "line L column C: text" with the file's line. */
static void wrong_recipe(applier *a, const rule *u, str left)
{
    char what[ERROR_TEXT_MAX];
    str rest = str_of(error_text());
    uint64_t line, column;

    snprintf(what, sizeof what, "%s", error_text());
    if (str_starts(rest, "line ")) {
        rest.p += 5;
        rest.n -= 5;
        if (str_to_u64(&line, str_split(rest, ' ', &rest)) && line > 1 &&
            str_is(str_split(rest, ' ', &rest), "column") &&
            str_to_u64(&column, str_split(rest, ':', &rest))) {
            wrong(a, u->body_line + (uint32_t)line - 2, (uint32_t)column,
                  "%.*s (for '%.*s')", STR_ARG(str_trim(rest)),
                  STR_ARG(left));
            return;
        }
    }
    wrong(a, u->line, u->column, "%s (for '%.*s')", what, STR_ARG(left));
}

/* One result of plain sizes, by ops that compute from tensors alone. */
static const char *check_recipe(const graph *g, weight_entry *out)
{
    const type *t;

    for (const node *n = g->body->first; n != NULL; n = n->next)
        if ((op_get(n->op)->traits & OP_CONTROL) != 0 || n->op == OP_call)
            return "a recipe has no bodies and no calls";
    if (g->body->n_results != 1)
        return "a recipe has one result";
    t = graph_type(g, g->body->results[0]);
    if (t->kind != TYPE_TENSOR || !type_is_static(g->m, t) ||
        t->rank > HULL_MAX_RANK)
        return "the size of a recipe's result must be known";
    out->dtype = t->dtype;
    out->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++)
        out->shape[i] = t->dims[i];
    return NULL;
}

static hull_status finish_entry(weight_entry *e)
{
    int64_t stride = 1;
    uint64_t n = 1, bits;

    for (uint32_t i = e->rank; i-- > 0;) {
        e->strides[i] = stride;
        if (!mul_u64(&n, n, (uint64_t)e->shape[i]) ||
            (e->shape[i] > 1 && !mul_i64(&stride, stride, e->shape[i])))
            return fail(HULL_ENOMEM, "the result of a recipe is too large");
    }
    if (!mul_u64(&bits, n, hull_dtype_bits(e->dtype)) || bits > INT64_MAX)
        return fail(HULL_ENOMEM, "the result of a recipe is too large");
    e->len = (bits + 7) / 8;
    e->dense = true;
    return HULL_OK;
}

/* Parses the recipe of t->name; t stays without an entry when it is wrong. */
static hull_status make_recipe(applier *a, const rule *u,
                               const str stars[RULE_STARS_MAX],
                               mapped_tensor *t)
{
    hull_status st;
    const char *bad;
    char name[32];
    ir *m;

    if (!put_recipe(a, u, stars, t->name))
        return HULL_OK;
    TRY(buf_status(&a->text));
    st = ir_parse(&m, buf_view(&a->text), NULL);
    if (st == HULL_ENOMEM || st == HULL_EINTERNAL)
        return st;
    if (st != HULL_OK) {
        wrong_recipe(a, u, t->name);
        return HULL_OK;
    }
    bad = m->n_graphs == 1 ? check_recipe(m->graphs[0], &t->made)
                           : "a recipe is one graph";
    if (bad == NULL) {
        snprintf(name, sizeof name, "m%u", a->mp->m->n_graphs);
        t->recipe = graph_copy(a->mp->m, m->graphs[0], str_of(name));
        st = ir_status(a->mp->m);
        t->made.name = t->name;
        t->e = &t->made;
        if (st == HULL_OK && finish_entry(&t->made) != HULL_OK)
            bad = "the result of the recipe is too large";
    }
    if (bad != NULL) {
        t->e = NULL;
        wrong(a, u->body_line, u->body_column, "%s (for '%.*s')", bad,
              STR_ARG(t->name));
    }
    ir_free(m);
    return st;
}

/* ---- one rule ------------------------------------------------------------ */

static hull_status add_tensor(applier *a, const rule *u, const weight_entry *e,
                              const str stars[RULE_STARS_MAX])
{
    mapped *mp = a->mp;
    mapped_tensor *t;
    uint32_t other;
    char *name;

    buf_clear(&a->name);
    rule_fill(&a->name, u->left, stars);
    TRY(buf_status(&a->name));
    if (strmap_get(&mp->by_name, buf_view(&a->name), &other))
        return HULL_OK; /* an earlier rule gives it */
    if (mp->n == MADE_MAX)
        return fail(HULL_EUNSUPPORTED, "rules give more than %d tensors",
                    MADE_MAX);
    t = arena_alloc(&mp->a, sizeof *t);
    name = arena_strndup(&mp->a, a->name.p, a->name.n);
    if (t == NULL || name == NULL)
        return fail_oom(sizeof *t);
    t->name = (str){name, a->name.n};
    if (u->rename)
        t->e = e;
    else
        TRY(make_recipe(a, u, stars, t));
    if (t->e == NULL)
        return HULL_OK; /* noted */
    TRY(mem_grow(&mp->t, &mp->cap, mp->n + 1u, sizeof *mp->t));
    TRY(strmap_set(&mp->by_name, t->name, mp->n));
    mp->t[mp->n++] = t;
    return HULL_OK;
}

/* The leading name's tensors, with what its stars stand for. */
static hull_status apply_rule(applier *a, const rule *u)
{
    mapped *mp = a->mp;
    uint32_t before = mp->n, errors = a->n_errors;
    uint64_t dropped = 0;
    bool shadowed = false;
    str stars[RULE_STARS_MAX];

    for (size_t i = 0; i < weights_count(mp->w); i++) {
        const weight_entry *e = weights_at(mp->w, i);

        if (!rule_match(u->names[u->lead], e->name, stars))
            continue;
        if (str_is(u->left, "_")) {
            mp->dropped[i] = true;
            dropped++;
            continue;
        }
        TRY(add_tensor(a, u, e, stars));
        shadowed = true;
        if (a->n_errors > errors)
            return HULL_OK; /* the others have the same fault */
    }
    if (mp->n == before && dropped == 0)
        wrong(a, u->line, u->column, shadowed
              ? "earlier rules give every '%.*s'"
              : "no tensor of the checkpoint is called '%.*s'",
              STR_ARG(shadowed ? u->left : u->names[u->lead]));
    return HULL_OK;
}

static hull_status apply_all(applier *a, const char *path)
{
    hull_status st = HULL_OK;

    if ((uint64_t)a->rs->n * weights_count(a->mp->w) > TRIES_MAX)
        return fail(HULL_EUNSUPPORTED, "mapping %s has %u rules, too many to "
                    "try on the %zu tensors of %s", path, a->rs->n,
                    weights_count(a->mp->w), weights_label(a->mp->w));
    buf_init(&a->errors, ERROR_TEXT_MAX);
    buf_init(&a->text, (size_t)64 << 20);
    buf_init(&a->name, 64 * 1024);
    for (uint32_t i = 0; i < a->rs->n; i++)
        TRY_OUT(apply_rule(a, &a->rs->r[i]));
    if (a->n_errors > SHOWN_MAX)
        buf_printf(&a->errors, "; and %u more", a->n_errors - SHOWN_MAX);
    if (a->n_errors > 0)
        st = fail(HULL_EBIND, "mapping %s does not fit %s: %s", path,
                  weights_label(a->mp->w),
                  a->errors.n ? a->errors.p : "many errors");
out:
    buf_fini(&a->errors);
    buf_fini(&a->text);
    buf_fini(&a->name);
    return st;
}

hull_status mapped_new(mapped **out, const char *path, const weights *w)
{
    applier a = {0};
    hull_status st = HULL_OK;
    rules *rs = NULL;

    *out = NULL;
    TRY(rules_read(&rs, path));
    a.rs = rs;
    a.mp = mem_calloc(1, sizeof *a.mp);
    if (a.mp == NULL)
        TRY_OUT(fail_oom(sizeof *a.mp));
    a.mp->w = w;
    a.mp->digest = rs->digest;
    a.mp->dropped = mem_calloc(weights_count(w) + 1, sizeof *a.mp->dropped);
    if (a.mp->dropped == NULL)
        TRY_OUT(fail_oom(weights_count(w)));
    TRY_OUT(ir_new(&a.mp->m));
    TRY_OUT(apply_all(&a, path));
    *out = a.mp;
    a.mp = NULL;
out:
    mapped_free(a.mp);
    rules_free(rs);
    return st;
}

void mapped_free(mapped *mp)
{
    if (mp == NULL)
        return;
    ir_free(mp->m);
    mem_free(mp->t);
    mem_free(mp->dropped);
    strmap_fini(&mp->by_name);
    arena_fini(&mp->a);
    mem_free(mp);
}

const weight_entry *mapped_find(const mapped *mp, str name)
{
    uint32_t i;

    return mp != NULL && strmap_get(&mp->by_name, name, &i) ? mp->t[i]->e
                                                            : NULL;
}

const graph *mapped_recipe(const mapped *mp, const weight_entry *e)
{
    uint32_t i;

    if (mp == NULL || !strmap_get(&mp->by_name, e->name, &i) ||
        mp->t[i]->e != e)
        return NULL;
    return mp->t[i]->recipe;
}
