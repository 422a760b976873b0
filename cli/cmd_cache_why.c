/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_cache_why.c - `hull cache why-miss MODEL`: for each block of a model
 * whether the cache has its engine, and if not, how the nearest entry differs:
 * in words, and line by line.
 */
#include <inttypes.h>
#include <string.h>

#include "cache/disk.h"
#include "cache/nearest.h"
#include "cli/cli.h"
#include "cli/cmd_cache.h"
#include "compile/compile.h"

/* Without --json. */
#define SHOWN_LINES 40
#define SHOWN_WORDS 8

typedef struct block {
    char *name;
    cache_key key;
    str backend;           /* in the preimage */
    bool hit;
    char *state;           /* of what lies under the key: NULL = nothing */
    size_t near;           /* its question; SIZE_MAX = a hit */
} block;

typedef struct why {
    cli *c;
    cache *k;
    block *blocks;
    size_t n, cap;
    cache_near *near;
    size_t n_near;
    uint64_t n_read, n_unread, evicted;
} why;

static void why_fini(why *w)
{
    for (size_t i = 0; i < w->n; i++) {
        mem_free(w->blocks[i].name);
        mem_free(w->blocks[i].state);
        cache_key_fini(&w->blocks[i].key);
    }
    for (size_t i = 0; i < w->n_near; i++)
        cache_near_fini(&w->near[i]);
    mem_free(w->near);
    mem_free(w->blocks);
}

/* ---- the blocks ---------------------------------------------------------- */

static hull_status add_block(void *user, const graph *g, const cache_key *k)
{
    why *w = user;
    block *b;

    TRY(mem_grow(&w->blocks, &w->cap, w->n + 1, sizeof *w->blocks));
    b = &w->blocks[w->n++];
    b->near = SIZE_MAX;
    b->name = mem_strndup(g->name.p, g->name.n);
    if (b->name == NULL)
        return fail_oom(g->name.n);
    return cache_key_text(&b->key, buf_view(&k->preimage));
}

static hull_status find_blocks(why *w)
{
    hull_weights *names = NULL;
    front_model *fm = NULL;
    hull_status st = HULL_OK;
    devices ds = {0};

    if (w->c->weights)
        TRY_OUT(hull_weights_open(&names, w->c->weights));
    TRY_OUT(devices_open(&ds, w->c->options));
    TRY_OUT(front_import(&fm, w->c->args[1], names));
    st = plan_keys(fm, &ds, add_block, w);
out:
    devices_close(&ds);
    front_free(fm);
    hull_weights_unref(names);
    return st;
}

/* Equal keys are one question. */
static hull_status ask(why *w)
{
    w->near = mem_calloc(w->n + 1, sizeof *w->near);
    if (w->near == NULL)
        return fail_oom(w->n * sizeof *w->near);
    for (size_t i = 0; i < w->n; i++) {
        block *b = &w->blocks[i];
        size_t k = 0;

        TRY(cache_state(&b->hit, &b->state, w->k, CACHE_ENGINE, &b->key));
        if (b->hit)
            continue;
        while (k < w->n_near && !digest_eq(&w->near[k].key->d, &b->key.d))
            k++;
        b->near = k;
        if (k == w->n_near)
            w->near[w->n_near++].key = &b->key;
    }
    if (w->n_near == 0)
        return HULL_OK;
    progress_begin(w->c, "comparing with the entries of", cache_path(w->k));
    TRY(cache_nearest(w->near, w->n_near, w->k, &w->n_read, &w->n_unread));
    progress_end();
    return HULL_OK;
}

/* ---- words: header ------------------------------------------------------- */

/* The reasons of one miss, most telling first. */
typedef struct words {
    json_t *list;
    const cache_near *q;
} words;

static hull_status say(words *w, const char *part, const buf *text)
{
    TRY(buf_status(text));
    return answer_item(w->list, json_pack("{s:s, s:o}", "part", part, "text",
                                          json_str(buf_view(text))));
}

static str up_to(str s, const char *sep)
{
    size_t n = strlen(sep);

    for (size_t i = 0; i + n <= s.n; i++)
        if (memcmp(s.p + i, sep, n) == 0)
            return (str){s.p, i};
    return s;
}

static str behind(str s, size_t n)
{
    return (str){s.p + n, s.n - n};
}

static hull_status say_header(words *w, str here, str there)
{
    hull_status st = HULL_OK;
    const char *part = str_starts(here, "target ")    ? "target"
                       : str_starts(here, "backend ") ? "backend"
                       : str_starts(here, "hull-key") ? "format"
                                                      : "option";
    str cpu_here = up_to(here, " kernels "), cpu_there = up_to(there,
                                                               " kernels ");
    str name;
    buf b;

    buf_init(&b, 65536);
    if (strcmp(part, "option") == 0) {
        name = up_to(here, "=");
        buf_printf(&b, "option %.*s is %.*s here, %.*s there", STR_ARG(name),
                   STR_ARG(behind(here, name.n + (name.n < here.n))),
                   STR_ARG(behind(there, name.n < there.n ? name.n + 1
                                                          : there.n)));
    } else if (strcmp(part, "target") == 0 && str_eq(cpu_here, cpu_there)) {
        buf_printf(&b, "the target's kernels are of another build: %.*s here, "
                   "%.*s there",
                   STR_ARG(str_trim(behind(here, cpu_here.n))),
                   STR_ARG(str_trim(behind(there, cpu_there.n))));
    } else {
        buf_printf(&b, "%s is '%.*s' here, '%.*s' there", part,
                   STR_ARG(here.n > strlen(part) ? behind(here, strlen(part)
                                                          + 1) : here),
                   STR_ARG(there.n > strlen(part) ? behind(there, strlen(part)
                                                           + 1) : there));
    }
    st = say(w, part, &b);
    buf_fini(&b);
    return st;
}

/* A header's line that has the same name; "" when there is none. */
static str same_field(const text_lines *t, str line)
{
    str name = up_to(up_to(line, "="), " ");

    for (uint32_t i = 0; i < t->n && t->p[i].n > 0; i++)
        if (str_eq(up_to(up_to(t->p[i], "="), " "), name))
            return t->p[i];
    return (str){"", 0};
}

static hull_status say_fields(words *w)
{
    const text_lines *here = &w->q->here, *there = &w->q->there;

    for (uint32_t i = 0; i < here->n && here->p[i].n > 0; i++) {
        str other = same_field(there, here->p[i]);

        if (!str_eq(other, here->p[i]))
            TRY(say_header(w, here->p[i], other));
    }
    for (uint32_t i = 0; i < there->n && there->p[i].n > 0; i++) {
        str name = up_to(there->p[i], "=");
        buf b;

        if (same_field(here, there->p[i]).n > 0)
            continue;
        buf_init(&b, 4096);
        buf_printf(&b, "%.*s is unknown here", STR_ARG(name));
        TRY(say(w, "option", &b));
        buf_fini(&b);
    }
    return HULL_OK;
}

/* ---- words: the graph ---------------------------------------------------- */

/* "  %3 = conv %0, %1 {...} : f32[...]" in parts; a line of another form has
 * no op. */
typedef struct parts {
    str op, operands, attrs, types;
    uint32_t number;
} parts;

static parts take_apart(const diff_line *l)
{
    str s = str_trim(l->text), left = up_to(s, " = "), rest, brace;
    parts p = {.number = l->number};

    if (left.n == s.n)
        return p;
    rest = behind(s, left.n + 3);
    p.op = up_to(rest, " ");
    rest = behind(rest, p.op.n);
    p.types = up_to(rest, " : ");
    p.types = behind(rest, p.types.n < rest.n ? p.types.n + 3 : rest.n);
    brace = up_to(rest, " {");
    p.operands = str_trim(up_to(brace, " : "));
    if (brace.n < rest.n)
        p.attrs = up_to(behind(rest, brace.n + 2), "}");
    return p;
}

/* The attribute at the front; commas within brackets are its own. */
static str next_attr(str *rest)
{
    str s = str_trim(*rest);
    size_t n = 0;
    int depth = 0;

    while (n < s.n && (depth > 0 || s.p[n] != ',')) {
        depth += s.p[n] == '[';
        depth -= s.p[n] == ']';
        n++;
    }
    *rest = behind(s, n < s.n ? n + 1 : n);
    return str_trim((str){s.p, n});
}

/* An attribute of that name, or "". */
static str find_attr(str attrs, str name)
{
    while (attrs.n > 0) {
        str a = next_attr(&attrs);

        if (str_eq(up_to(a, "="), name))
            return a;
    }
    return (str){"", 0};
}

static void say_attrs(buf *b, str here, str there)
{
    str rest = here;
    bool any = false;

    while (rest.n > 0) {
        str a = next_attr(&rest), o = find_attr(there, up_to(a, "="));

        if (str_eq(a, o))
            continue;
        buf_printf(b, "%s%.*s here, %.*s there", any ? "; " : "", STR_ARG(a),
                   o.n > 0 ? (int)o.n : 4, o.n > 0 ? o.p : "none");
        any = true;
    }
    for (rest = there; rest.n > 0;) {
        str a = next_attr(&rest);

        if (find_attr(here, up_to(a, "=")).n > 0)
            continue;
        buf_printf(b, "%snone here, %.*s there", any ? "; " : "", STR_ARG(a));
        any = true;
    }
}

/* Two nodes of one op. */
static hull_status say_node(words *w, const parts *here, const parts *there)
{
    hull_status st = HULL_OK;
    const char *part = "attribute";
    buf b;

    buf_init(&b, 65536);
    if (str_is(here->op, "weight")) {
        part = "hole";
        buf_printf(&b, "a weight is %.*s here, %.*s there",
                   STR_ARG(here->types), STR_ARG(there->types));
    } else if (!str_eq(here->attrs, there->attrs)) {
        buf_printf(&b, "attributes of %.*s: ", STR_ARG(here->op));
        say_attrs(&b, here->attrs, there->attrs);
    } else if (!str_eq(here->types, there->types)) {
        part = "type";
        buf_printf(&b, "%.*s gives %.*s here, %.*s there", STR_ARG(here->op),
                   STR_ARG(here->types), STR_ARG(there->types));
    } else {
        part = "operands";
        buf_printf(&b, "%.*s reads %.*s here, %.*s there", STR_ARG(here->op),
                   STR_ARG(here->operands), STR_ARG(there->operands));
    }
    buf_printf(&b, " (line %u)", here->number);
    st = say(w, part, &b);
    buf_fini(&b);
    return st;
}

static hull_status say_alone(words *w, const diff_line *l, const parts *p)
{
    hull_status st = HULL_OK;
    const char *where = l->sign == '+' ? "here" : "there";
    buf b;

    buf_init(&b, 65536);
    if (p->op.n > 0)
        buf_printf(&b, "%.*s %.*s only %s (line %u)", STR_ARG(p->op),
                   STR_ARG(p->types), where, l->number);
    else
        buf_printf(&b, "line %u only %s: %.*s", l->number, where,
                   STR_ARG(str_trim(l->text)));
    st = say(w, p->op.n == 0                  ? "graph"
                : str_is(p->op, "weight")     ? "hole"
                                              : "operation", &b);
    buf_fini(&b);
    return st;
}

static str parameters(str line)
{
    line = behind(line, up_to(line, "(").n);
    return up_to(up_to(behind(line, line.n > 0), ") {"), ") where ");
}

static str behind_parameters(str line)
{
    str p = parameters(line);

    return str_trim(behind(line, (size_t)(p.p + p.n - line.p) +
                                     (p.p + p.n < line.p + line.n)));
}

/* "graph @b(%0: TYPE, %1: TYPE) {": the first parameter that differs. */
static hull_status say_inputs(words *w, str here, str there)
{
    hull_status st = HULL_OK;
    str a = parameters(here), b = parameters(there);
    buf text;

    buf_init(&text, 65536);
    while (a.n > 0 && b.n > 0) {
        str x = up_to(a, ", %"), y = up_to(b, ", %");

        if (!str_eq(x, y)) {
            buf_printf(&text, "inputs: %.*s here, %.*s there",
                       STR_ARG(str_trim(x)), STR_ARG(str_trim(y)));
            break;
        }
        a = behind(a, x.n < a.n ? x.n + 2 : x.n);
        b = behind(b, y.n < b.n ? y.n + 2 : y.n);
    }
    if (text.n == 0 && str_eq(parameters(here), parameters(there)))
        buf_printf(&text, "sizes: '%.*s' here, '%.*s' there",
                   STR_ARG(behind_parameters(here)),
                   STR_ARG(behind_parameters(there)));
    else if (text.n == 0)
        buf_puts(&text, "the number of inputs");
    st = say(w, "input", &text);
    buf_fini(&text);
    return st;
}

/* Lines of one gap between equal ones: '-' lines, then '+' lines. Those of one
 * op are a pair, in order. */
static hull_status say_gap(words *w, const diff_line *l, size_t n_minus,
                           size_t n)
{
    size_t next = 0; /* of the '-' lines, not told yet */

    for (size_t i = n_minus; i < n; i++) {
        parts here = take_apart(&l[i]), there = {0};
        size_t k = next;

        for (; k < n_minus; k++) {
            there = take_apart(&l[k]);
            if (str_eq(here.op, there.op))
                break;
        }
        for (size_t m = next; k < n_minus && m < k; m++) {
            parts p = take_apart(&l[m]);

            TRY(say_alone(w, &l[m], &p));
        }
        if (k == n_minus) {
            TRY(say_alone(w, &l[i], &here));
            continue;
        }
        next = k + 1;
        if (here.op.n > 0)
            TRY(say_node(w, &here, &there));
        else if (str_starts(l[i].text, "graph @"))
            TRY(say_inputs(w, l[i].text, l[k].text));
        else
            TRY(say_alone(w, &l[i], &here));
    }
    for (; next < n_minus; next++) {
        parts p = take_apart(&l[next]);

        TRY(say_alone(w, &l[next], &p));
    }
    return HULL_OK;
}

static uint32_t header_lines(const text_lines *t)
{
    uint32_t n = 0;

    while (n < t->n && t->p[n].n > 0)
        n++;
    return n;
}

static hull_status say_graph(words *w)
{
    const line_diff *d = &w->q->diff;
    uint32_t here = header_lines(&w->q->here), there = header_lines(
        &w->q->there);
    size_t i = 0, n = d->far ? 0 : d->n;

    while (i < n && d->lines[i].number <= (d->lines[i].sign == '+' ? here
                                                                   : there))
        i++;
    while (i < n) {
        size_t minus = i, end;

        while (minus < n && d->lines[minus].sign == '-')
            minus++;
        for (end = minus; end < n && d->lines[end].sign == '+'; end++)
            ;
        TRY(say_gap(w, d->lines + i, minus - i, end - i));
        i = end;
    }
    return HULL_OK;
}

/* More than half of both graphs: another one, not a change of this one. */
static bool is_other_graph(const cache_near *q)
{
    return !q->found || q->diff.far ||
           2 * q->diff.n > (uint64_t)q->here.n - header_lines(&q->here) +
                               q->there.n - header_lines(&q->there);
}

static hull_status say_why(json_t *list, const cache_near *q)
{
    words w = {list, q};
    hull_status st = HULL_OK;
    buf b;

    if (q->found)
        TRY(say_fields(&w));
    if (!is_other_graph(q))
        return say_graph(&w);
    buf_init(&b, 4096);
    buf_puts(&b, "no entry of this graph");
    if (q->found)
        buf_printf(&b, ": %s%" PRIu64 " lines differ from the nearest one's",
                   q->diff.far ? "at least " : "", q->diff.n);
    st = say(&w, "graph", &b);
    buf_fini(&b);
    return st;
}

/* ---- the answer ---------------------------------------------------------- */

static json_t *near_json(const cache_near *q)
{
    json_t *lines = json_array(), *row;
    char hex[DIGEST_HEX_SIZE], when[32];

    digest_hex(&q->d, hex);
    time_text(when, q->used_ns);
    row = json_pack("{s:s, s:s, s:I, s:b, s:I, s:o}", "key", hex, "used", when,
                    "differ", (json_int_t)q->diff.n, "at_least",
                    (int)q->diff.far, "lines", (json_int_t)q->there.n, "diff",
                    lines);
    for (size_t i = 0; row && !q->diff.far && i < q->diff.n; i++) {
        const diff_line *l = &q->diff.lines[i];
        char sign[2] = { l->sign, '\0' };

        if (json_array_append_new(lines, json_pack(
                "{s:s, s:I, s:o}", "sign", sign, "line",
                (json_int_t)l->number, "text", json_str(l->text))) != 0)
            return NULL;
    }
    return row;
}

static void print_near(const cache_near *q)
{
    char hex[DIGEST_HEX_SIZE], when[32];
    size_t n = q->diff.far ? 0 : (size_t)q->diff.n;

    digest_hex(&q->d, hex);
    time_text(when, q->used_ns);
    printf("  nearest %.16s, used %s: %s%" PRIu64 " of %u + %u lines\n", hex,
           when, q->diff.far ? "at least " : "", q->diff.n, q->there.n,
           q->here.n);
    for (size_t i = 0; i < n && i < SHOWN_LINES; i++)
        printf("  %c%5u %.*s\n", q->diff.lines[i].sign,
               q->diff.lines[i].number, (int)q->diff.lines[i].text.n,
               q->diff.lines[i].text.p);
    if (n > SHOWN_LINES)
        printf("  %zu more lines: --json has them\n", n - SHOWN_LINES);
}

static void print_words(const json_t *list)
{
    const json_t *row;
    size_t i;

    json_array_foreach(list, i, row) {
        if (i == SHOWN_WORDS && json_array_size(list) > SHOWN_WORDS + 1) {
            printf("  %zu more: --json has them\n",
                   json_array_size(list) - i);
            return;
        }
        printf("  %s\n", json_string_value(json_object_get(row, "text")));
    }
}

static hull_status show_block(why *w, json_t *list, const block *b)
{
    const cache_near *q = b->near < w->n_near ? &w->near[b->near] : NULL;
    char hex[DIGEST_HEX_SIZE];
    json_t *row, *reasons;

    digest_hex(&b->key.d, hex);
    row = json_pack("{s:o, s:s, s:s}", "name", json_str(str_of(b->name)),
                    "key", hex, "cache", b->hit ? "hit" : "miss");
    TRY(answer_item(list, row));
    if (!w->c->json)
        printf("%s: %s, key %s\n", b->name, b->hit ? "hit" : "miss", hex);
    if (b->hit)
        return HULL_OK;
    TRY(answer(row, "reasons", reasons = json_array()));
    if (b->state)
        TRY(answer_item(reasons, json_pack("{s:s, s:o}", "part", "entry",
                                           "text",
                                           json_str(str_of(b->state)))));
    if (!b->state || q->found)
        TRY(say_why(reasons, q));
    if (q->found)
        TRY(answer(row, "nearest", near_json(q)));
    if (!w->c->json)
        print_words(reasons);
    if (!w->c->json && q->found)
        print_near(q);
    return HULL_OK;
}

static hull_status show(why *w)
{
    json_t *list = json_array();
    size_t hits = 0;

    TRY(answer(w->c->result, "blocks", list));
    for (size_t i = 0; i < w->n; i++) {
        TRY(show_block(w, list, &w->blocks[i]));
        hits += w->blocks[i].hit;
    }
    TRY(answer(w->c->result, "hits", json_integer((json_int_t)hits)));
    TRY(answer(w->c->result, "compared",
               json_integer((json_int_t)w->n_read)));
    TRY(answer(w->c->result, "unreadable",
               json_integer((json_int_t)w->n_unread)));
    TRY(answer(w->c->result, "evicted",
               json_integer((json_int_t)w->evicted)));
    if (w->c->json)
        return HULL_OK;
    printf("%zu block%s, %zu hit%s", w->n, w->n == 1 ? "" : "s", hits,
           hits == 1 ? "" : "s");
    if (w->n_near > 0)
        printf("; compared with %" PRIu64 " engine%s", w->n_read,
               w->n_read == 1 ? "" : "s");
    if (w->n_unread > 0)
        printf(", %" PRIu64 " cannot be read", w->n_unread);
    putchar('\n');
    if (w->n_near > 0 && w->evicted > 0)
        printf("the size limit has removed %" PRIu64 " entries of this folder "
               "so far; which ones is not kept\n", w->evicted);
    return HULL_OK;
}

hull_status cache_why_miss(cli *c, cache *k)
{
    why w = {.c = c, .k = k};
    hull_status st = HULL_OK;
    uint64_t counts[STAT_COUNT];

    TRY_OUT(find_blocks(&w));
    TRY_OUT(counters_read(k, counts));
    w.evicted = counts[STAT_evicted];
    TRY_OUT(ask(&w));
    st = show(&w);
out:
    progress_end();
    why_fini(&w);
    return st;
}
