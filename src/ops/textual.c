/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * textual.c - ops on strings: constants, joining, splitting, cleaning,
 * matching. Where a result's size depends on the strings, the kernel makes it
 * as a box.
 */
#include "ops/text.h"

#include <inttypes.h>
#include <string.h>

#include "ops/box.h"
#include "ops/family.h"

/* ---- shape rules --------------------------------------------------------- */

static hull_status want_text(const type **out, graph *g, const node *n,
                             uint32_t i)
{
    char what[128];

    TRY(infer_tensor(out, g, n, i));
    if ((*out)->dtype != HULL_STRING)
        return fail(HULL_ESHAPE, "%s: operand %" PRIu32 " is %s, want strings",
                    node_what(n, what), i, hull_dtype_name((*out)->dtype));
    return HULL_OK;
}

static hull_status strings_infer(graph *g, node *n)
{
    const attr *shape = node_attr(n, "shape");
    uint32_t n_strs = node_attr(n, "value")->u.strs.n;
    uint64_t numel = 1;
    dim d[HULL_MAX_RANK];
    bool fits = shape->u.ints.n <= HULL_MAX_RANK;
    char what[128];

    for (uint32_t i = 0; fits && i < shape->u.ints.n; i++) {
        d[i] = shape->u.ints.p[i];
        fits = d[i] >= 0 && mul_u64(&numel, numel, (uint64_t)d[i]);
    }
    if (!fits || numel != n_strs)
        return fail(HULL_ESHAPE, "%s: %" PRIu32 " strings do not fill its "
                    "shape", node_what(n, what), n_strs);
    return infer_out(g, n, 0, HULL_STRING, d, shape->u.ints.n);
}

static hull_status join_infer(graph *g, node *n)
{
    const type *a, *b;
    dim d[HULL_MAX_RANK];
    uint32_t rank;

    TRY(want_text(&a, g, n, 0));
    TRY(want_text(&b, g, n, 1));
    TRY(infer_broadcast(g, n, a, b, d, &rank));
    return infer_out(g, n, 0, HULL_STRING, d, rank);
}

static hull_status normalize_infer(graph *g, node *n)
{
    str letters = attr_str(n, "letters");
    const type *x;
    dim d[2] = {1, DIM_UNKNOWN};
    int64_t rows = 1;
    char what[128];

    TRY(want_text(&x, g, n, 0));
    if (!str_is(letters, "") && !str_is(letters, "lower") &&
        !str_is(letters, "upper"))
        return fail(HULL_EINVAL, "%s: attribute 'letters' is '%.*s', want "
                    "lower, upper or nothing", node_what(n, what),
                    STR_ARG(letters));
    if (x->rank < 1 || x->rank > 2 ||
        (x->rank == 2 && dim_is_int(g->m, x->dims[0], &rows) && rows != 1))
        return fail(HULL_ESHAPE, "%s: operand has rank %" PRIu32 " and %" PRId64
                    " rows, want [n] or [1,n]", node_what(n, what), x->rank,
                    rows);
    return infer_out(g, n, 0, HULL_STRING, d + (2 - x->rank), x->rank);
}

static hull_status split_infer(graph *g, node *n)
{
    const type *x;
    dim d[HULL_MAX_RANK + 1];

    TRY(want_text(&x, g, n, 0));
    for (uint32_t i = 0; i < x->rank; i++)
        d[i] = x->dims[i];
    d[x->rank] = DIM_UNKNOWN;
    TRY(infer_out(g, n, 0, HULL_STRING, d, x->rank + 1));
    return infer_out(g, n, 1, HULL_I64, d, graph_type(g, n->in[0])->rank);
}

static hull_status match_infer(graph *g, node *n)
{
    const type *x;
    regex *r = NULL;
    char what[128];

    TRY(want_text(&x, g, n, 0));
    TRY(note(regex_new(&r, attr_str(n, "pattern")), "%s", node_what(n, what)));
    regex_free(r);
    return infer_out(g, n, 0, HULL_BOOL, x->dims, x->rank);
}

hull_status textual_infer(graph *g, node *n)
{
    switch (n->op) {
    case OP_strings:
        return strings_infer(g, n);
    case OP_text_concat:
        return join_infer(g, n);
    case OP_text_normalize:
        return normalize_infer(g, n);
    case OP_text_split:
        return split_infer(g, n);
    case OP_text_match:
        return match_infer(g, n);
    default:
        return ngrams_infer(g, n);
    }
}

/* ---- strings, text_concat ------------------------------------------------ */

static hull_status strings_eval(const node *n, tensor *out)
{
    const attr *list = node_attr(n, "value");
    hull_string *s = out->data;

    for (uint32_t i = 0; i < list->u.strs.n; i++)
        s[i] = (hull_string){list->u.strs.p[i].p, list->u.strs.p[i].n};
    return HULL_OK;
}

static hull_status join(hull_string *out, arena *texts, hull_string a,
                        hull_string b)
{
    uint64_t size = 0;
    char *p;

    if (a.n == 0 || b.n == 0) {
        *out = a.n == 0 ? b : a;
        return HULL_OK;
    }
    p = add_u64(&size, a.n, b.n) ? arena_alloc(texts, size) : NULL;
    if (p == NULL)
        return fail_oom(size);
    memcpy(p, a.p, a.n);
    memcpy(p + a.n, b.p, b.n);
    *out = (hull_string){p, size};
    return HULL_OK;
}

static hull_status join_eval(eval_ctx *cx, const node *n, const tensor *in,
                             tensor *out)
{
    const hull_string *a = in[0].data, *b = in[1].data;
    hull_string *y = out->data;
    walk w;

    TRY(walk_begin(&w, n, in, 2, out));
    for (; w.more; walk_next(&w))
        for (int64_t i = 0; i < w.row; i++)
            TRY(join(&y[w.at_out + i], cx->texts, a[w.at[0] + i * w.step[0]],
                     b[w.at[1] + i * w.step[1]]));
    return HULL_OK;
}

/* ---- text_normalize ------------------------------------------------------ */

/* s as it is compared, and the set of what is dropped in the same form. */
static hull_status fold(str *out, eval_ctx *cx, hull_string s, bool exact)
{
    if (!exact)
        TRY(text_lower(&s, cx->scratch, s));
    *out = (str){s.n > 0 ? s.p : "", s.n};
    return HULL_OK;
}

static hull_status drop_set(strmap *out, eval_ctx *cx, const node *n,
                            bool exact)
{
    const attr *drop = node_attr(n, "drop");
    str key;

    for (uint32_t i = 0; drop->set && i < drop->u.strs.n; i++) {
        str s = drop->u.strs.p[i];

        TRY(fold(&key, cx, (hull_string){s.p, s.n}, exact));
        TRY(strmap_set(out, key, 1));
    }
    return HULL_OK;
}

/* The strings that stay, one empty string when none does; *out_n of them. */
static hull_status keep_strings(hull_string *y, int64_t *out_n, eval_ctx *cx,
                                const node *n, const tensor *x,
                                const strmap *drop)
{
    const hull_string *s = x->data;
    bool exact = attr_bool(n, "exact");
    str letters = attr_str(n, "letters");
    int64_t count = 0;
    uint32_t found;
    str key;

    for (int64_t i = 0; i < tensor_numel(x); i++) {
        if (drop->n > 0) {
            TRY(fold(&key, cx, s[i], exact));
            if (strmap_get(drop, key, &found))
                continue;
        }
        if (letters.n == 0)
            y[count] = s[i];
        else if (str_is(letters, "lower"))
            TRY(text_lower(&y[count], cx->texts, s[i]));
        else
            TRY(text_upper(&y[count], cx->texts, s[i]));
        count++;
    }
    if (count == 0)
        y[count++] = (hull_string){"", 0};
    *out_n = count;
    return HULL_OK;
}

static hull_status normalize_eval(eval_ctx *cx, const node *n)
{
    const tensor *x = &cx->boxes[0]->t;
    int64_t shape[2] = {1, 0};
    hull_string *y;
    strmap drop = {0};
    hull_status st = HULL_OK;
    char what[128];

    if (x->rank == 2 && x->shape[0] != 1)
        return fail(HULL_ESHAPE, "%s: operand has %" PRId64 " rows, want 1",
                    node_what(n, what), x->shape[0]);
    y = arena_array(cx->scratch, (size_t)tensor_numel(x) + 1, sizeof *y);
    if (y == NULL)
        return fail_oom((size_t)tensor_numel(x) * sizeof *y);
    TRY_OUT(drop_set(&drop, cx, n, attr_bool(n, "exact")));
    TRY_OUT(keep_strings(y, &shape[1], cx, n, x, &drop));
    cx->made[0] = box_new(HULL_STRING, shape + (2 - x->rank), x->rank);
    if (cx->made[0] == NULL)
        TRY_OUT(HULL_ENOMEM);
    memcpy(cx->made[0]->t.data, y, (size_t)shape[1] * sizeof *y);
out:
    strmap_fini(&drop);
    return st;
}

/* ---- text_split ---------------------------------------------------------- */

/* What is left of a string that is being split. */
typedef struct pieces {
    str rest, by;     /* by empty: at white space, which pieces never hold */
    int64_t splits;   /* that may still be done; negative = any number */
    bool more;
} pieces;

static void skip_space(str *s)
{
    while (s->n > 0) {
        uint32_t c;
        size_t n = text_char(&c, s->p, s->n);

        if (!text_is_space(c))
            return;
        s->p += n;
        s->n -= n;
    }
}

static size_t find_space(str s)
{
    size_t at = 0;

    while (at < s.n) {
        uint32_t c;
        size_t n = text_char(&c, s.p + at, s.n - at);

        if (text_is_space(c))
            break;
        at += n;
    }
    return at;
}

static pieces pieces_of(hull_string s, str by, int64_t limit)
{
    pieces it = {.rest = {s.n > 0 ? s.p : "", s.n}, .by = by,
                 .splits = limit, .more = true};

    if (by.n == 0) {
        skip_space(&it.rest);
        it.more = it.rest.n > 0;
    }
    return it;
}

/* The next piece; it.more must be true. */
static hull_string next_piece(pieces *it)
{
    str s = it->rest;
    const char *p;
    size_t n = s.n;

    it->more = false;
    if (it->splits == 0)
        return (hull_string){s.p, s.n};
    if (it->by.n == 0) {
        n = find_space(s);
        it->rest = (str){s.p + n, s.n - n};
        skip_space(&it->rest);
        it->more = it->rest.n > 0;
    } else {
        p = s.n > 0 ? memmem(s.p, s.n, it->by.p, it->by.n) : NULL;
        if (p != NULL) {
            n = (size_t)(p - s.p);
            it->rest = (str){p + it->by.n, s.n - n - it->by.n};
            it->more = true;
        }
    }
    it->splits -= it->splits > 0;
    return (hull_string){s.p, n};
}

static hull_status split_eval(eval_ctx *cx, const node *n)
{
    const tensor *x = &cx->boxes[0]->t;
    const hull_string *s = x->data;
    str by = attr_str(n, "delimiter");
    int64_t limit = attr_int(n, "limit"), numel = tensor_numel(x), most = 0;
    int64_t shape[HULL_MAX_RANK + 1] = {0};
    int64_t *counts;
    hull_string *y;

    cx->made[1] = box_new(HULL_I64, x->shape, x->rank);
    if (cx->made[1] == NULL)
        return HULL_ENOMEM;
    counts = cx->made[1]->t.data;
    for (int64_t i = 0; i < numel; i++) {
        counts[i] = 0;
        for (pieces it = pieces_of(s[i], by, limit); it.more; counts[i]++)
            next_piece(&it);
        most = counts[i] > most ? counts[i] : most;
    }
    memcpy(shape, x->shape, x->rank * sizeof *shape);
    shape[x->rank] = most;
    cx->made[0] = box_new(HULL_STRING, shape, x->rank + 1);
    if (cx->made[0] == NULL)
        return HULL_ENOMEM;
    y = cx->made[0]->t.data;
    for (int64_t i = 0; i < numel; i++, y += most) {
        pieces it = pieces_of(s[i], by, limit);

        for (int64_t k = 0; k < most; k++)
            y[k] = it.more ? next_piece(&it) : (hull_string){"", 0};
    }
    return HULL_OK;
}

/* ---- text_match ---------------------------------------------------------- */

static hull_status match_eval(const node *n, const tensor *in, tensor *out)
{
    const hull_string *s = in[0].data;
    int64_t numel = tensor_numel(&in[0]);
    regex *r = NULL;
    hull_status st = HULL_OK;
    char what[128];

    if (tensor_numel(out) != numel)
        return fail(HULL_ESHAPE, "%s: %" PRId64 " strings, %" PRId64
                    " results", node_what(n, what), numel, tensor_numel(out));
    TRY_OUT(regex_new(&r, attr_str(n, "pattern")));
    for (int64_t i = 0; i < numel; i++) {
        bool yes;

        TRY_OUT(note(regex_match(&yes, r, s[i]), "%s: string %" PRId64,
                     node_what(n, what), i));
        store_i64(HULL_BOOL, out->data, (uint64_t)i, yes);
    }
out:
    regex_free(r);
    return st;
}

hull_status textual_eval(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out)
{
    if (n->op != OP_text_ngrams && cx->texts == NULL)
        return fail(HULL_EINTERNAL, "strings outside of a dynamic program");
    switch (n->op) {
    case OP_strings:
        return strings_eval(n, out);
    case OP_text_concat:
        return join_eval(cx, n, in, out);
    case OP_text_normalize:
        return normalize_eval(cx, n);
    case OP_text_split:
        return split_eval(cx, n);
    case OP_text_match:
        return match_eval(n, in, out);
    default:
        return ngrams_eval(cx, n, in, out);
    }
}
