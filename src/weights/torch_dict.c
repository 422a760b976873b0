/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * torch_dict.c - which dictionary of a checkpoint holds its tensors. Training
 * scripts nest them: {"state_dict": {...}, "optimizer": {...}, "epoch": 3}.
 * Every dictionary that holds a tensor under a text key, reached by text keys,
 * is a candidate, named by the path of its keys, "." at the top. The caller's
 * key chooses; without one there must be only one. Dictionaries of nothing but
 * scalars (a step count, a metric) count only where there is nothing else.
 */
#include <string.h>

#include "weights/torch_values.h"

#define NEST_MAX 8            /* keys on a path */
#define LOOKED_MAX 4000000    /* values that the search may look at */
#define CANDIDATES_MAX 256
#define SHOWN_MAX 12

typedef struct search {
    pickle *m;
    torch_dict found[CANDIDATES_MAX];
    bool scalars[CANDIDATES_MAX]; /* rank 0 alone */
    uint32_t n;
    uint64_t looked;
    char path[1024];
} search;

/* Tensors that stand in the dictionary itself, under text keys. */
static uint32_t count_tensors(const pickle *m, pk_id dict, bool *out_scalars)
{
    const pk_node *d = pickle_at(m, dict);
    uint32_t n = 0;

    *out_scalars = true;
    for (uint32_t i = 0; d->kind == PK_DICT && i < d->n; i += 2) {
        const pk_node *value = pickle_at(m, d->v.items[i + 1]);
        const torch_tensor *t = value->v.data;

        if (pickle_kind(m, d->v.items[i]) != PK_STR ||
            value->kind != PK_TENSOR)
            continue;
        n++;
        *out_scalars = *out_scalars && t->rank == 0;
    }
    return n;
}

static hull_status add_candidate(search *s, pk_id dict, size_t path_n)
{
    torch_dict *c = &s->found[s->n];
    bool scalars;
    uint32_t n = count_tensors(s->m, dict, &scalars);

    if (n == 0)
        return HULL_OK;
    if (s->n == CANDIDATES_MAX)
        return fail(HULL_EUNSUPPORTED,
                    "the checkpoint has more than %d dictionaries of tensors",
                    CANDIDATES_MAX);
    c->path.p = path_n ? arena_strndup(&s->m->arena, s->path, path_n) : ".";
    c->path.n = path_n ? path_n : 1;
    if (!c->path.p)
        return fail_oom(path_n + 1);
    c->dict = dict;
    c->n_tensors = n;
    s->scalars[s->n++] = scalars;
    return HULL_OK;
}

/* Depth first, each dictionary once; at most NEST_MAX deep. */
static hull_status look(search *s, pk_id dict, size_t path_n, uint32_t depth)
{
    pk_node *d = &s->m->nodes[dict];

    if (d->kind != PK_DICT || d->seen == s->m->stamp)
        return HULL_OK;
    d->seen = s->m->stamp;
    s->looked += d->n + 1;
    if (s->looked > LOOKED_MAX)
        return fail(HULL_EUNSUPPORTED, "the checkpoint nests too many values");
    TRY(add_candidate(s, dict, path_n));
    for (uint32_t i = 0; depth < NEST_MAX && i < d->n; i += 2) {
        str key = pickle_str(s->m, d->v.items[i]);
        size_t n = path_n;

        if (pickle_kind(s->m, d->v.items[i + 1]) != PK_DICT || key.n == 0 ||
            n + key.n + 1 > sizeof s->path)
            continue;
        if (n)
            s->path[n++] = '.';
        memcpy(s->path + n, key.p, key.n);
        TRY(look(s, d->v.items[i + 1], n + key.n, depth + 1));
    }
    return HULL_OK;
}

static hull_status find_all(search *s, pk_id root)
{
    uint32_t n = 0;
    bool more = false;

    s->m->stamp++;
    TRY(look(s, root, 0, 0));
    for (uint32_t i = 0; i < s->n; i++)
        more = more || !s->scalars[i];
    for (uint32_t i = 0; i < s->n; i++)
        if (!more || !s->scalars[i])
            s->found[n++] = s->found[i];
    s->n = n;
    return HULL_OK;
}

/* "'ema' (10 tensors), 'model' (12 tensors)" */
static void list(const search *s, buf *b)
{
    for (uint32_t i = 0; i < s->n && i < SHOWN_MAX; i++)
        buf_printf(b, "%s'%.*s' (%u tensor%s)", i ? ", " : "",
                   STR_ARG(s->found[i].path), s->found[i].n_tensors,
                   s->found[i].n_tensors == 1 ? "" : "s");
    if (s->n > SHOWN_MAX)
        buf_printf(b, " and %u more", s->n - SHOWN_MAX);
}

static hull_status fail_key(const search *s, str key, const char *text)
{
    hull_status st;
    buf b;

    buf_init(&b, ERROR_TEXT_MAX);
    list(s, &b);
    st = fail(HULL_ENOTFOUND, "key '%.*s' names %s; tensors are under %s",
              STR_ARG(key), text, b.n ? b.p : "no key");
    buf_fini(&b);
    return st;
}

/* A key as it stands, or a path of keys joined by dots; "." is the top. */
static pk_id at_key(const pickle *m, pk_id root, str key)
{
    pk_id at = pickle_dict_get(m, root, key);
    str rest = key;

    if (at || !memchr(key.p, '.', key.n))
        return at;
    if (key.n == 1)
        return root;
    for (at = root; rest.n && at;)
        at = pickle_dict_get(m, at, str_split(rest, '.', &rest));
    return at;
}

static hull_status choose(search *s, pk_id root, str key, torch_choice *out)
{
    bool scalars;
    pk_id at = at_key(s->m, root, key);

    if (!at)
        return fail_key(s, key, "nothing");
    if (!count_tensors(s->m, at, &scalars))
        return fail_key(s, key, "no dictionary of tensors");
    out->n = 1;
    out->dicts[0] = (torch_dict){ .dict = at };
    return HULL_OK;
}

/* Several, and no word which: all of them, with the list for the error. */
static hull_status keep_all(search *s, torch_choice *out)
{
    buf b;

    buf_init(&b, ERROR_TEXT_MAX);
    list(s, &b);
    out->list = buf_status(&b) == HULL_OK
                    ? arena_strndup(&s->m->arena, b.p, b.n)
                    : NULL;
    buf_fini(&b);
    if (!out->list)
        return fail_oom(ERROR_TEXT_MAX);
    out->n = s->n;
    memcpy(out->dicts, s->found, s->n * sizeof *s->found);
    return HULL_OK;
}

static hull_status find(search *s, pk_id root, str key, torch_choice *out)
{
    const pk_node *d = pickle_at(s->m, root);

    if (d->kind != PK_DICT)
        return fail(HULL_EUNSUPPORTED,
                    "the checkpoint is %s, a dictionary of tensors is wanted",
                    pickle_kind_name((pk_kind)d->kind));
    TRY(find_all(s, root));
    if (key.n)
        return choose(s, root, key, out);
    if (s->n > 1)
        return keep_all(s, out);
    out->n = 1;
    out->dicts[0] = (torch_dict){ .dict = s->n ? s->found[0].dict : root };
    if (s->n && s->found[0].dict != root)
        log_info("weights", "tensors are under the key '%.*s'",
                 STR_ARG(s->found[0].path));
    if (!s->n && d->n)
        return fail(HULL_ENOTFOUND,
                    "the checkpoint holds no tensor under a text key");
    return HULL_OK;
}

hull_status torch_choose(pickle *m, pk_id root, str key, torch_choice **out)
{
    search *s = mem_calloc(1, sizeof *s);
    torch_choice *c = arena_alloc(&m->arena, sizeof *c);
    hull_status st;

    *out = NULL;
    if (!s || !c) {
        mem_free(s);
        return fail_oom(sizeof *s);
    }
    c->dicts = arena_array(&m->arena, CANDIDATES_MAX, sizeof *c->dicts);
    s->m = m;
    st = c->dicts ? find(s, root, key, c)
                  : fail_oom(CANDIDATES_MAX * sizeof *c->dicts);
    mem_free(s);
    if (st == HULL_OK)
        *out = c;
    return st;
}
