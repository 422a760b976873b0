/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bind.c - finds, for every hole of a plan, the tensor or recipe of one
 * checkpoint that is its value. Names and the model's structure propose;
 * nothing is bound by shape or order alone; what fits twice is ambiguous. The
 * rules and their reasons are in docs/refit.md.
 */
#include "compile/bind_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct binder {
    const plan *p;
    weights *w;
    const bind_options *bo;
    binding *b;
    spelling spell;
    mapped *map;         /* option map; NULL = no rules */
    problems problems;
    merges merges;
    bool *used;          /* per tensor of w */
    bool narrow;
} binder;

static void mark_recipe_used(binder *bd, const graph *recipe)
{
    for (const node *n = recipe->body->first; n != NULL; n = n->next)
        if (n->op == OP_weight) {
            const weight_entry *e = weights_find(bd->w, attr_str(n, "name"));

            if (e != NULL)
                bd->used[e - weights_at(bd->w, 0)] = true;
        }
}

static void mark_used(binder *bd, const weight_entry *e)
{
    const graph *recipe = mapped_recipe(bd->map, e);

    if (recipe != NULL)
        mark_recipe_used(bd, recipe);
    else
        bd->used[e - weights_at(bd->w, 0)] = true;
}

static void print_shape(buf *b, hull_dtype dt, uint32_t rank,
                        const int64_t *dims)
{
    buf_printf(b, "%s[", hull_dtype_name(dt));
    for (uint32_t i = 0; i < rank; i++)
        buf_printf(b, "%s%" PRId64, i > 0 ? "," : "", dims[i]);
    buf_putc(b, ']');
}

/* "name is f32[3], wanted f32[4]" */
static void wrong(binder *bd, problem_kind kind, const weight_entry *e,
                  hull_dtype dt, uint32_t rank, const int64_t *dims)
{
    buf found, wanted;

    buf_init(&found, 512);
    buf_init(&wanted, 512);
    print_shape(&found, e->dtype, e->rank, e->shape);
    print_shape(&wanted, dt, rank, dims);
    problem_add(&bd->problems, kind, "'%.*s' is %s, wanted %s",
                STR_ARG(e->name), found.p != NULL ? found.p : "another",
                wanted.p != NULL ? wanted.p : "the module's");
    buf_fini(&found);
    buf_fini(&wanted);
}

/* ---- one hole ------------------------------------------------------------ */

static bool may_become(const binder *bd, hull_dtype from, hull_dtype to)
{
    return from == to || dtype_widens(from, to) ||
           (bd->narrow && dtype_is_float(from) && dtype_is_float(to));
}

/* The tensor has the hole's shape and a dtype that may become the hole's. */
static bool entry_fits(binder *bd, const plan_hole *h, const weight_entry *e)
{
    if (e->rank != h->rank ||
        memcmp(e->shape, h->shape, h->rank * sizeof *h->shape) != 0) {
        wrong(bd, PROBLEM_SHAPE, e, h->dtype, h->rank, h->shape);
        return false;
    }
    if (may_become(bd, e->dtype, h->dtype))
        return true;
    wrong(bd, PROBLEM_DTYPE, e, h->dtype, h->rank, h->shape);
    return false;
}

/* A tensor of another dtype, or one that a rule makes, is a recipe. */
static hull_status bind_made(binder *bd, bound_hole *bh, const plan_hole *h,
                             const weight_entry *e)
{
    ir *m = bd->b->recipes;
    char name[32];
    graph *g;

    snprintf(name, sizeof name, "r%u", m->n_graphs);
    g = graph_new(m, str_of(name));
    if (g == NULL)
        return ir_status(m);
    graph_result(g, op_cast(g, spelling_value(g, &bd->spell, e), h->dtype));
    bh->kind = BOUND_RECIPE;
    bh->recipe = g;
    return ir_status(m);
}

static hull_status bind_entry(binder *bd, bound_hole *bh, const plan_hole *h,
                              const weight_entry *e)
{
    mark_used(bd, e);
    if (!entry_fits(bd, h, e))
        return HULL_OK;
    if (e->dtype != h->dtype || mapped_recipe(bd->map, e) != NULL)
        return bind_made(bd, bh, h, e);
    bh->kind = BOUND_ENTRY;
    bh->entry = e;
    return HULL_OK;
}

/* Equal bytes of two entries, one of which may be made by a rule? */
static hull_status same_value(binder *bd, const weight_entry *a,
                              const weight_entry *b, bool *out)
{
    hull_status st = HULL_OK;
    char *space;

    *out = false;
    if (mapped_recipe(bd->map, a) == NULL && mapped_recipe(bd->map, b) == NULL)
        return weights_equal(out, bd->w, a, bd->w, b);
    if (a->len != b->len)
        return HULL_OK;
    space = mem_alloc(2 * a->len);
    if (space == NULL)
        return fail_oom(2 * a->len);
    TRY_OUT(spelling_read(space, &bd->spell, a));
    TRY_OUT(spelling_read(space + a->len, &bd->spell, b));
    *out = memcmp(space, space + a->len, a->len) == 0;
out:
    mem_free(space);
    return st;
}

/* All names of a tie that the checkpoint has must hold equal bytes. */
static hull_status check_tie(binder *bd, const plan_hole *h,
                             const weight_entry *first)
{
    bool onnx = str_is(bd->p->format, "onnx");

    for (uint32_t i = 0; i < h->n_names; i++) {
        const weight_entry *e = spelling_find(&bd->spell, h->names[i]);
        bool equal = false;

        if (e == NULL || e == first)
            continue;
        mark_used(bd, e);
        TRY(same_value(bd, first, e, &equal));
        if (equal)
            continue;
        if (onnx)
            problem_add(&bd->problems, PROBLEM_TIED, "'%.*s' and '%.*s' (the "
                        "exporter merged them into '%.*s')",
                        STR_ARG(first->name), STR_ARG(e->name),
                        STR_ARG(h->name));
        else
            problem_add(&bd->problems, PROBLEM_TIED, "'%.*s' and '%.*s'",
                        STR_ARG(first->name), STR_ARG(e->name));
    }
    return HULL_OK;
}

static hull_status bind_by_name(binder *bd, bound_hole *bh,
                                const plan_hole *h, bool *out_found)
{
    *out_found = false;
    for (uint32_t i = 0; i < h->n_names && !h->derived; i++) {
        const weight_entry *e = spelling_find(&bd->spell, h->names[i]);

        if (e == NULL)
            continue;
        *out_found = true;
        TRY(bind_entry(bd, bh, h, e));
        return check_tie(bd, h, e);
    }
    return HULL_OK;
}

/* ---- recipes ------------------------------------------------------------- */

#define MAX_CANDIDATES 64

typedef struct candidates {
    graph *g[MAX_CANDIDATES];
    uint32_t n;
} candidates;

/* Every expansion of the hole's recipes of one tier that the checkpoint has. */
static hull_status find_candidates(binder *bd, candidates *out,
                                   const plan_hole *h, uint8_t tier)
{
    out->n = 0;
    for (uint32_t i = 0; i < h->n_recipes; i++) {
        size_t at = 0;
        str segment;

        if (h->tiers[i] != tier)
            continue;
        while (out->n < MAX_CANDIDATES &&
               recipe_segment(h->recipes[i], &bd->spell, &at, &segment)) {
            graph *g = recipe_expand(bd->b->recipes, h->recipes[i], segment,
                                     &bd->spell, bd->narrow);

            TRY(ir_status(bd->b->recipes));
            if (g != NULL)
                out->g[out->n++] = g;
        }
    }
    return HULL_OK;
}

/* "conv1.weight, bn1.weight, ..." */
static void print_leaves(buf *b, const graph *recipe)
{
    bool first = true;

    for (const node *n = recipe->body->first; n != NULL; n = n->next) {
        if (n->op != OP_weight)
            continue;
        buf_puts(b, first ? "" : " + ");
        buf_str(b, attr_str(n, "name"));
        first = false;
    }
}

static void report_ambiguous(binder *bd, const plan_hole *h,
                             const candidates *c)
{
    buf list;

    buf_init(&list, 2048);
    for (uint32_t i = 0; i < c->n && i < 4; i++) {
        buf_puts(&list, i > 0 ? " or " : "");
        print_leaves(&list, c->g[i]);
    }
    problem_add(&bd->problems, PROBLEM_AMBIGUOUS,
                "'%.*s' could be %s (learn=on with the model's own values "
                "decides)", STR_ARG(h->name),
                list.p != NULL ? list.p : "several recipes");
    buf_fini(&list);
}

/* How far two tensors differ: 0 equal bytes, 1 equal up to rounding, 2 not. */
static int compare_values(const plan_hole *h, const void *a, const void *b)
{
    uint64_t n = 1;
    double scale = 0;

    if (memcmp(a, b, h->n_bytes) == 0)
        return 0;
    if (!dtype_is_float(h->dtype))
        return 2;
    for (uint32_t i = 0; i < h->rank; i++)
        n *= (uint64_t)h->shape[i];
    for (uint64_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(load_f64(h->dtype, b, i)));
    for (uint64_t i = 0; i < n; i++)
        if (!(fabs(load_f64(h->dtype, a, i) - load_f64(h->dtype, b, i)) <=
              scale * 2e-6))
            return 2;
    return 1;
}

/* Keeps the candidates whose value is the model's own: those with equal bytes
 * when there are some, else those that agree up to rounding. */
static hull_status confirm_by_bytes(binder *bd, candidates *c,
                                    const plan_hole *h)
{
    const weight_entry *own = weights_find(bd->bo->model, h->name);
    hull_status st = HULL_OK;
    char *space = NULL;
    int grade[MAX_CANDIDATES], best = 2;
    uint32_t n = 0;

    if (own == NULL || own->len != h->n_bytes)
        return HULL_OK;
    space = mem_alloc(2 * h->n_bytes);
    if (space == NULL)
        return fail_oom(2 * h->n_bytes);
    TRY_OUT(weights_read(bd->bo->model, own, space));
    for (uint32_t i = 0; i < c->n; i++) {
        TRY_OUT(recipe_eval(space + h->n_bytes, c->g[i], bd->w));
        grade[i] = compare_values(h, space + h->n_bytes, space);
        if (grade[i] < best)
            best = grade[i];
    }
    for (uint32_t i = 0; i < c->n && best < 2; i++)
        if (grade[i] == best)
            c->g[n++] = c->g[i];
    c->n = n;
out:
    mem_free(space);
    return st;
}

static uint8_t last_tier(const binder *bd, const plan_hole *h)
{
    uint8_t last = 0;

    for (uint32_t i = 0; i < h->n_recipes; i++)
        if (h->tiers[i] > last &&
            (h->tiers[i] < RECIPE_TIER_LEARN || bd->bo->model != NULL))
            last = h->tiers[i];
    return last;
}

/* A recipe is proposed that only equal bytes may settle. */
static bool wants_learn(const binder *bd, const plan_hole *h)
{
    for (uint32_t i = 0; i < h->n_recipes; i++)
        if (h->tiers[i] >= RECIPE_TIER_LEARN && bd->bo->model == NULL)
            return true;
    return false;
}

static hull_status bind_by_recipe(binder *bd, bound_hole *bh,
                                  const plan_hole *h, bool *out_found)
{
    candidates *c = mem_alloc(sizeof *c);
    hull_status st = HULL_OK;

    *out_found = false;
    if (c == NULL)
        return fail_oom(sizeof *c);
    for (uint8_t tier = 0; tier <= last_tier(bd, h) && !*out_found; tier++) {
        TRY_OUT(find_candidates(bd, c, h, tier));
        if (c->n > 0 && bd->bo->model != NULL)
            TRY_OUT(confirm_by_bytes(bd, c, h));
        if (c->n == 0)
            continue;
        *out_found = true;
        for (uint32_t i = 0; i < c->n; i++)
            mark_recipe_used(bd, c->g[i]);
        if (c->n > 1) {
            report_ambiguous(bd, h, c);
            continue;
        }
        bh->kind = BOUND_RECIPE;
        bh->recipe = c->g[0];
    }
out:
    mem_free(c);
    return st;
}

/* The expansion of h's recipes with the most leaves in the checkpoint. */
static const graph *nearest_recipe(const binder *bd, const plan_hole *h,
                                   str *out_segment)
{
    const graph *best = NULL;
    int64_t most = -1;
    char name[RECIPE_NAME_MAX];

    for (uint32_t i = 0; i < h->n_recipes; i++) {
        size_t at = 0;
        str segment;

        if (h->tiers[i] >= RECIPE_TIER_LEARN && bd->bo->model == NULL)
            continue;
        while (recipe_segment(h->recipes[i], &bd->spell, &at, &segment)) {
            const node *n = h->recipes[i]->body->first;
            int64_t have = 0;

            for (; n != NULL; n = n->next)
                have += n->op == OP_weight &&
                        recipe_leaf(name, n, segment, &bd->spell) != NULL;
            if (have <= most)
                continue;
            most = have;
            best = h->recipes[i];
            *out_segment = segment;
        }
    }
    return best;
}

/* True when a problem says what is wrong with the leaf, now or already. */
static bool report_leaf(binder *bd, const graph *recipe, const node *leaf,
                        str segment)
{
    const type *t = graph_type(recipe, leaf->out[0]);
    char name[RECIPE_NAME_MAX];
    const weight_entry *e = recipe_leaf(name, leaf, segment, &bd->spell);
    problem_kind kind = PROBLEM_DTYPE;

    if (e == NULL) {
        if (!problem_has(&bd->problems, PROBLEM_MISSING, name))
            problem_add(&bd->problems, PROBLEM_MISSING, "'%s'", name);
        return true;
    }
    mark_used(bd, e);
    if (e->rank != t->rank ||
        memcmp(e->shape, t->dims, t->rank * sizeof *t->dims) != 0)
        kind = PROBLEM_SHAPE;
    else if (may_become(bd, e->dtype, t->dtype))
        return false;
    if (!problem_has(&bd->problems, kind, name))
        wrong(bd, kind, e, t->dtype, t->rank, t->dims);
    return true;
}

/* A recipe lacks some leaf: those are named, not the value it would make. */
static bool report_nearest_recipe(binder *bd, const plan_hole *h)
{
    str segment = {0};
    const graph *g = nearest_recipe(bd, h, &segment);
    bool told = false;

    for (const node *n = g != NULL ? g->body->first : NULL; n != NULL;
         n = n->next)
        if (n->op == OP_weight)
            told = report_leaf(bd, g, n, segment) || told;
    return told;
}

static hull_status add_checkpoint(binding *b, weights *w, uint32_t *out_index)
{
    size_t cap = b->n_w;

    for (uint32_t i = 0; i < b->n_w; i++)
        if (b->w[i] == w) {
            *out_index = i;
            return HULL_OK;
        }
    *out_index = b->n_w;
    TRY(mem_grow(&b->w, &cap, b->n_w + 1u, sizeof *b->w));
    b->w[b->n_w++] = weights_ref(w);
    return HULL_OK;
}

static bool has_bytes(const weights *w, const weight_entry *e)
{
    const weight_storage *s = e != NULL ? weights_storage(w, e) : NULL;

    return s != NULL && !s->absent;
}

/* The caller's memory may have been released since. */
static bool can_read_again(const weights *w, const bound_hole *bh)
{
    if (bh->kind == BOUND_ENTRY)
        return has_bytes(w, bh->entry);
    for (const node *n = bh->recipe->body->first; n != NULL; n = n->next)
        if (n->op == OP_weight &&
            !has_bytes(w, weights_find(w, attr_str(n, "name"))))
            return false;
    return true;
}

/* What the current weight set binds the hole to, in its own checkpoint. */
static hull_status bind_previous(binder *bd, bound_hole *bh, uint32_t hole)
{
    const binding *from = bd->bo->previous;
    const bound_hole *old = &from->holes[hole];
    char name[32];

    *bh = *old;
    if (old->kind == BOUND_KEPT || old->kind == BOUND_NONE)
        return HULL_OK;
    if (!can_read_again(from->w[old->source], old)) {
        problem_add(&bd->problems, PROBLEM_MISSING,
                    "'%.*s' (the memory that its value came from has been "
                    "released)", STR_ARG(bd->p->holes[hole].name));
        return HULL_OK;
    }
    TRY(add_checkpoint(bd->b, from->w[old->source], &bh->source));
    if (old->kind != BOUND_RECIPE)
        return HULL_OK;
    snprintf(name, sizeof name, "r%u", bd->b->recipes->n_graphs);
    bh->recipe = graph_copy(bd->b->recipes, old->recipe, str_of(name));
    return ir_status(bd->b->recipes);
}

static hull_status bind_missing(binder *bd, bound_hole *bh,
                                const plan_hole *h)
{
    if (h->kept && h->kept_value != NULL) {
        bh->kind = BOUND_KEPT;
        bd->b->n_kept++;
        return HULL_OK;
    }
    if (bd->bo->previous != NULL &&
        (option_on(bd->bo->o, OPT_allow_missing) ||
         option_lists(bd->bo->o, OPT_keep, h->name)))
        return bind_previous(bd, bh, (uint32_t)(h - bd->p->holes));
    if (!bd->bo->native && report_nearest_recipe(bd, h))
        return HULL_OK;
    problem_add(&bd->problems, PROBLEM_MISSING, "'%.*s'%s",
                STR_ARG(h->n_names > 0 ? h->names[0] : h->name),
                wants_learn(bd, h) ? " (learn=on with the model's own values "
                                     "may settle it)"
                                   : "");
    return HULL_OK;
}

static hull_status bind_hole(binder *bd, uint32_t i)
{
    const plan_hole *h = &bd->p->holes[i];
    bound_hole *bh = &bd->b->holes[i];
    const weight_entry *e;
    bool found;

    if (bd->bo->native) {
        str name = bd->bo->by_position != NULL ? bd->bo->by_position[i]
                                               : h->name;

        e = weights_find(bd->w, name);
        if (e != NULL && !weights_storage(bd->w, e)->absent)
            return bind_entry(bd, bh, h, e);
        return bind_missing(bd, bh, h);
    }
    TRY(bind_by_name(bd, bh, h, &found));
    if (!found)
        TRY(bind_by_recipe(bd, bh, h, &found));
    return found ? HULL_OK : bind_missing(bd, bh, h);
}

/* ---- what nobody asked for ----------------------------------------------- */

/* An exporter may have stored two equal tensors once, under one name. */
static hull_status report_unexpected(binder *bd, const weight_entry *e)
{
    const char *text = NULL;

    if (!bd->map || !mapped_find(bd->map, e->name))
        TRY(merged_explain(&text, &bd->merges, bd->p, bd->b, e));
    problem_add(&bd->problems, PROBLEM_UNEXPECTED, "'%.*s'%s",
                STR_ARG(e->name), text != NULL ? text : "");
    return HULL_OK;
}

static hull_status note_unread(binder *bd, const weight_entry *e)
{
    size_t cap = bd->b->n_unread;
    uint32_t n;

    TRY(merged_note(&n, &bd->merges, bd->p, bd->b, e));
    if (n == 1) {
        str *tied = &bd->b->tied[bd->b->n_tied - 1].name;

        *tied = spelling_of(bd->b->recipes, &bd->spell, *tied);
    }
    if (n > 0)
        return ir_status(bd->b->recipes); /* read in another's place */
    TRY(mem_grow(&bd->b->unread, &cap, bd->b->n_unread + 1u,
                 sizeof *bd->b->unread));
    bd->b->unread[bd->b->n_unread++] = spelling_of(bd->b->recipes, &bd->spell,
                                                   e->name);
    return ir_status(bd->b->recipes);
}

/* "'scale' is 0.25, the engine has 0.5" */
static void report_literal(binder *bd, const plan_literal *l,
                           const weight_entry *e, const void *data)
{
    uint64_t n = 1;
    buf b;

    for (uint32_t i = 0; i < e->rank; i++)
        n *= (uint64_t)e->shape[i];
    buf_init(&b, 1024);
    if (data != NULL)
        front_print_value(&b, e->dtype, e->rank, data, n);
    else
        print_shape(&b, e->dtype, e->rank, e->shape);
    problem_add(&bd->problems, PROBLEM_LITERAL,
                "'%.*s' is %s, the engine has %.*s (%.*s)", STR_ARG(e->name),
                b.p != NULL ? b.p : "", STR_ARG(l->value),
                STR_ARG(l->reason));
    buf_fini(&b);
}

/* A checkpoint may hold what became a literal, if it is the same. */
static hull_status check_literal(binder *bd, const plan_literal *l)
{
    const weight_entry *e = spelling_find(&bd->spell, l->name);
    hull_status st;
    void *data;
    digest d;

    if (e == NULL || (mapped_recipe(bd->map, e) == NULL &&
                      bd->used[e - weights_at(bd->w, 0)]))
        return HULL_OK;
    mark_used(bd, e);
    if (e->dtype != l->dtype || e->rank != l->rank ||
        memcmp(e->shape, l->shape, l->rank * sizeof *l->shape) != 0) {
        report_literal(bd, l, e, NULL);
        return HULL_OK;
    }
    data = mem_alloc(e->len);
    if (data == NULL)
        return fail_oom(e->len);
    st = spelling_read(data, &bd->spell, e);
    d = digest_of(data, st == HULL_OK ? e->len : 0);
    if (st == HULL_OK && !digest_eq(&d, &l->bytes))
        report_literal(bd, l, e, data);
    mem_free(data);
    return st;
}

/* The user's word that a tensor is not read: a name, or a prefix and '*'. */
static bool is_ignored(const binder *bd, str name)
{
    str rest = option_str(bd->bo->o, OPT_ignore);

    while (rest.n > 0) {
        str word = str_trim(str_split(rest, ',', &rest));
        bool prefix = str_ends(word, "*");

        word.n -= prefix ? 1 : 0;
        if (prefix ? name.n >= word.n && memcmp(name.p, word.p, word.n) == 0
                   : str_eq(name, word))
            return true;
    }
    return false;
}

static hull_status find_unexpected(binder *bd)
{
    /* With holes left open, unread names are a hint at what went wrong. */
    bool allowed = bd->bo->allow_unread &&
                   bd->problems.n[PROBLEM_MISSING] == 0 &&
                   bd->problems.n[PROBLEM_AMBIGUOUS] == 0;

    for (uint32_t i = 0; i < bd->p->n_literals; i++)
        TRY(check_literal(bd, &bd->p->literals[i]));
    for (uint32_t i = 0; i < bd->p->n_unread; i++) {
        const weight_entry *e = spelling_find(&bd->spell, bd->p->unread[i]);

        if (e == NULL)
            e = weights_find(bd->w, bd->p->unread[i]);
        if (e != NULL)
            mark_used(bd, e);
    }
    for (size_t i = 0; i < weights_count(bd->w); i++) {
        const weight_entry *e = weights_at(bd->w, i);

        if (bd->used[i] || e->constant ||
            (bd->map != NULL && bd->map->dropped[i]) ||
            str_ends(e->name, "num_batches_tracked") ||
            is_ignored(bd, e->name))
            continue;
        if (allowed)
            TRY(note_unread(bd, e));
        else
            TRY(report_unexpected(bd, e));
    }
    if (bd->b->n_unread > 0)
        log_info("bind", "%s: %u tensors, '%.*s' the first, are not used",
                 weights_label(bd->w), bd->b->n_unread,
                 STR_ARG(bd->b->unread[0]));
    return HULL_OK;
}

static hull_status choose_spelling(binder *bd)
{
    TRY(spelling_choose(&bd->spell, bd->p, bd->w, bd->map));
    bd->b->add = ir_text(bd->b->recipes, bd->spell.add);
    bd->b->cut = ir_text(bd->b->recipes, bd->spell.cut);
    return ir_status(bd->b->recipes);
}

/* Rules stand between a checkpoint's names and the model's. */
static hull_status read_map(binder *bd)
{
    str path = option_str(bd->bo->o, OPT_map);

    if (path.n == 0)
        return HULL_OK;
    if (bd->bo->native)
        return fail(HULL_EINVAL, "map=%.*s is for a checkpoint; the tensors "
                    "of a model file bind by position", STR_ARG(path));
    if (bd->bo->model != NULL)
        return fail(HULL_EINVAL, "learn and map exclude each other: learn "
                    "from a checkpoint with the model's own names");
    TRY(mapped_new(&bd->map, path.p, bd->w));
    bd->spell.map = bd->map;
    bd->b->map = bd->map->digest;
    return HULL_OK;
}

hull_status bind_weights(binding **out, const plan *p, weights *w,
                         const bind_options *bo)
{
    binder bd = {.p = p, .w = w, .bo = bo, .spell = {.w = w},
                 .narrow = option_on(bo->o, OPT_narrow)};
    hull_status st = HULL_OK;
    uint32_t first;

    *out = NULL;
    TRY(plan_check_keep(p, bo->o));
    problems_init(&bd.problems);
    bd.b = mem_calloc(1, sizeof *bd.b);
    bd.used = mem_calloc(weights_count(w) + 1, sizeof *bd.used);
    if (bd.b != NULL)
        atomic_init(&bd.b->refs, 1);
    if (bd.b == NULL || bd.used == NULL)
        TRY_OUT(fail_oom(weights_count(w)));
    TRY_OUT(add_checkpoint(bd.b, w, &first));
    bd.b->n = p->n_holes;
    bd.b->holes = mem_calloc(p->n_holes + 1, sizeof *bd.b->holes);
    if (bd.b->holes == NULL)
        TRY_OUT(fail_oom(p->n_holes * sizeof *bd.b->holes));
    TRY_OUT(ir_new(&bd.b->recipes));
    TRY_OUT(read_map(&bd));
    if (!bo->native)
        TRY_OUT(choose_spelling(&bd));
    for (uint32_t i = 0; i < p->n_holes; i++)
        TRY_OUT(bind_hole(&bd, i));
    if (!bo->native)
        TRY_OUT(find_unexpected(&bd));
    TRY_OUT(problems_status(&bd.problems, weights_label(w)));
    *out = bd.b;
    bd.b = NULL;
out:
    merges_fini(&bd.merges);
    mapped_free(bd.map);
    binding_unref(bd.b);
    mem_free(bd.used);
    problems_fini(&bd.problems);
    return st;
}

binding *binding_ref(binding *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void binding_unref(binding *b)
{
    if (b == NULL || atomic_fetch_sub(&b->refs, 1) != 1)
        return;
    ir_free(b->recipes);
    mem_free(b->holes);
    mem_free(b->unread);
    mem_free(b->tied);
    for (uint32_t i = 0; i < b->n_w; i++)
        weights_unref(b->w[i]);
    mem_free(b->w);
    mem_free(b);
}

/* The leaves as the module spells them: the next checkpoint may have another
 * prefix. */
static void name_as_module(graph *g, const binding *b)
{
    spelling s = {.w = b->w[0], .add = b->add, .cut = b->cut};

    for (node *n = g->body->first; n != NULL; n = n->next)
        if (n->op == OP_weight)
            node_str(g, n, "name",
                     spelling_of(g->m, &s, attr_str(n, "name")));
}

hull_status plan_learn(plan *p, const binding *b)
{
    for (uint32_t i = 0; i < p->n_holes; i++) {
        plan_hole *h = &p->holes[i];
        char name[32];
        graph *g;

        if (b->holes[i].kind != BOUND_RECIPE || h->n_recipes == 0)
            continue;
        snprintf(name, sizeof name, "r%u", p->recipes->n_graphs);
        g = graph_copy(p->recipes, b->holes[i].recipe, str_of(name));
        if (g == NULL)
            return ir_status(p->recipes);
        name_as_module(g, b);
        h->recipes[0] = g;
        h->tiers[0] = 0;
        h->n_recipes = 1;
    }
    return HULL_OK;
}

hull_status plan_add_unread(plan *p, const binding *b)
{
    str *all = arena_array(&p->m->a, p->n_unread + b->n_unread, sizeof *all);

    if (all == NULL)
        return fail_oom(b->n_unread * sizeof *all);
    for (uint32_t i = 0; i < p->n_unread; i++)
        all[i] = p->unread[i];
    for (uint32_t i = 0; i < b->n_unread; i++)
        all[p->n_unread + i] = plan_str(p, b->unread[i]);
    p->unread = all;
    p->n_unread += b->n_unread;
    for (uint32_t i = 0; i < b->n_tied; i++)
        TRY(plan_add_name(p, b->tied[i].hole, b->tied[i].name));
    return ir_status(p->m);
}

hull_status binding_value(void *dst, const plan *p, const binding *b,
                          const plan_hole *h)
{
    const bound_hole *bh = &b->holes[h - p->holes];

    switch (bh->kind) {
    case BOUND_ENTRY:
        return weights_read(b->w[bh->source], bh->entry, dst);
    case BOUND_RECIPE:
        return recipe_eval(dst, bh->recipe, b->w[bh->source]);
    case BOUND_KEPT:
        memcpy(dst, h->kept_value, h->n_bytes);
        return HULL_OK;
    case BOUND_NONE:
        break;
    }
    return fail(HULL_EINTERNAL, "hole '%.*s' is not bound",
                STR_ARG(h->name));
}
