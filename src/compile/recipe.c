/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * recipe.c - a recipe is a little graph: leaves are names of a checkpoint, the
 * result is the value of a hole. Here it is put in terms of one checkpoint and
 * run by the reference kernels.
 */
#include "compile/bind_private.h"

#include <string.h>

const weight_entry *spelling_find(const spelling *s, str name)
{
    const weight_entry *e = mapped_find(s->map, name);
    char full[4096];

    if (e != NULL)
        return e;
    if (s->cut.n > 0) {
        if (name.n <= s->cut.n || memcmp(name.p, s->cut.p, s->cut.n) != 0)
            return NULL;
        name.p += s->cut.n;
        name.n -= s->cut.n;
    }
    if (s->add.n == 0)
        return weights_find(s->w, name);
    if (s->add.n + name.n <= sizeof full) {
        memcpy(full, s->add.p, s->add.n);
        memcpy(full + s->add.n, name.p, name.n);
        e = weights_find(s->w, (str){full, s->add.n + name.n});
    }
    return e;
}

/* One node per tensor: names of holes are unique in a graph. */
static val leaf_of(graph *to, const weight_entry *e)
{
    dim dims[HULL_MAX_RANK];
    type t;

    for (node *n = to->body->first; n != NULL; n = n->next)
        if (n->op == OP_weight && str_eq(attr_str(n, "name"), e->name))
            return n->out[0];
    for (uint32_t i = 0; i < e->rank; i++)
        dims[i] = e->shape[i];
    t = type_tensor(to->m, e->dtype, dims, e->rank);
    return op_weight(to, e->name, &t);
}

val spelling_value(graph *to, const spelling *s, const weight_entry *e)
{
    const graph *recipe = mapped_recipe(s->map, e);
    val *map, v;

    if (recipe == NULL)
        return leaf_of(to, e);
    map = mem_calloc(recipe->n_values, sizeof *map);
    if (map == NULL) {
        ir_fail(to->m, fail_oom(recipe->n_values * sizeof *map));
        return 0;
    }
    for (const node *n = recipe->body->first; n != NULL; n = n->next) {
        if (n->op == OP_weight)
            map[n->out[0]] = leaf_of(to, weights_find(s->w,
                                                      attr_str(n, "name")));
        else
            graph_copy_node(to, recipe, n, map);
    }
    v = map[graph_resolve(recipe, recipe->body->results[0])];
    mem_free(map);
    return v;
}

hull_status spelling_read(void *dst, const spelling *s, const weight_entry *e)
{
    const graph *recipe = mapped_recipe(s->map, e);

    return recipe != NULL ? recipe_eval(dst, recipe, s->w)
                          : weights_read(s->w, e, dst);
}

/* The name with every '*' replaced; false when it gets too long. */
static bool put_segment(char *out, size_t max, size_t *out_n, str name,
                        str segment)
{
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        str part = name.p[i] == '*' ? segment : (str){name.p + i, 1};

        if (n + part.n > max)
            return false;
        memcpy(out + n, part.p, part.n);
        n += part.n;
    }
    *out_n = n;
    return true;
}

static const node *first_star(const graph *recipe)
{
    for (const node *n = recipe->body->first; n != NULL; n = n->next) {
        str name = n->op == OP_weight ? attr_str(n, "name") : (str){0};

        if (name.n > 0 && memchr(name.p, '*', name.n) != NULL)
            return n;
    }
    return NULL;
}

/* The part of a checkpoint's name that stands for the '*' of the pattern: not
 * empty and without a dot. */
static bool match_segment(str *out, str name, str pattern)
{
    const char *star = memchr(pattern.p, '*', pattern.n);
    size_t before = (size_t)(star - pattern.p);
    size_t after = pattern.n - before - 1;

    if (name.n <= before + after ||
        memcmp(name.p, pattern.p, before) != 0 ||
        memcmp(name.p + name.n - after, star + 1, after) != 0)
        return false;
    *out = (str){name.p + before, name.n - before - after};
    return memchr(out->p, '.', out->n) == NULL;
}

/* A checkpoint's name as the module would spell it. */
static bool module_name(str *out, const spelling *s, str name, char *space,
                        size_t max)
{
    if (s->add.n > 0) {
        if (name.n <= s->add.n || memcmp(name.p, s->add.p, s->add.n) != 0)
            return false;
        name.p += s->add.n;
        name.n -= s->add.n;
    }
    if (s->cut.n == 0) {
        *out = name;
        return true;
    }
    if (s->cut.n + name.n > max)
        return false;
    memcpy(space, s->cut.p, s->cut.n);
    memcpy(space + s->cut.n, name.p, name.n);
    *out = (str){space, s->cut.n + name.n};
    return true;
}

str ir_text(ir *m, str s)
{
    char *own = arena_strndup(&m->a, s.n > 0 ? s.p : "", s.n);

    if (own == NULL)
        ir_fail(m, fail_oom(s.n));
    return (str){own != NULL ? own : "", own != NULL ? s.n : 0};
}

str spelling_of(ir *m, const spelling *s, str name)
{
    char space[4096];
    str found;

    return ir_text(m, module_name(&found, s, name, space, sizeof space)
                          ? found : name);
}

bool recipe_segment(const graph *recipe, const spelling *s, size_t *io_at,
                    str *out)
{
    const node *star = first_star(recipe);
    size_t n_mapped = s->map != NULL ? s->map->n : 0;
    char space[4096];
    str name;

    if (star == NULL) {
        *out = str_of("");
        return (*io_at)++ == 0;
    }
    while (s->map != NULL && *io_at < s->map->n)
        if (match_segment(out, s->map->t[(*io_at)++]->name,
                          attr_str(star, "name")))
            return true;
    while (*io_at < n_mapped + weights_count(s->w)) {
        const weight_entry *e = weights_at(s->w, (*io_at)++ - n_mapped);

        if (!module_name(&name, s, e->name, space, sizeof space) ||
            !match_segment(out, name, attr_str(star, "name")))
            continue;
        if (name.p == space) { /* the view must not end with this call */
            size_t before = (size_t)(out->p - name.p);

            if (before < s->cut.n)
                continue; /* in the prefix, which the checkpoint lacks */
            out->p = e->name.p + s->add.n + (before - s->cut.n);
        }
        return true;
    }
    return false;
}

static bool same_shape(const weight_entry *e, const type *t)
{
    if (t->kind != TYPE_TENSOR || e->rank != t->rank)
        return false;
    for (uint32_t i = 0; i < e->rank; i++)
        if (e->shape[i] != t->dims[i])
            return false;
    return true;
}

const weight_entry *recipe_leaf(char name[RECIPE_NAME_MAX], const node *leaf,
                                str segment, const spelling *s)
{
    size_t n = 0;
    bool fits = put_segment(name, RECIPE_NAME_MAX - 1, &n,
                            attr_str(leaf, "name"), segment);

    name[fits ? n : 0] = '\0';
    return fits ? spelling_find(s, (str){name, n}) : NULL;
}

/* A leaf under the checkpoint's own name and dtype, widened where needed. */
static bool expand_leaf(graph *to, const graph *recipe, const node *leaf,
                        str segment, const spelling *s, bool narrow,
                        val *map)
{
    const type *want = graph_type(recipe, leaf->out[0]);
    const weight_entry *e;
    char name[RECIPE_NAME_MAX];

    e = recipe_leaf(name, leaf, segment, s);
    if (e == NULL || !same_shape(e, want))
        return false;
    if (e->dtype != want->dtype && !dtype_widens(e->dtype, want->dtype) &&
        !(narrow && dtype_is_float(e->dtype) && dtype_is_float(want->dtype)))
        return false;
    map[leaf->out[0]] = op_cast(to, spelling_value(to, s, e), want->dtype);
    return map[leaf->out[0]] != 0;
}

graph *recipe_expand(ir *to, const graph *recipe, str segment,
                     const spelling *s, bool narrow)
{
    char name[32];
    graph *g;
    val *map;
    bool ok = true;

    snprintf(name, sizeof name, "r%u", to->n_graphs);
    g = graph_new(to, str_of(name));
    map = mem_calloc(recipe->n_values, sizeof *map);
    if (g == NULL || map == NULL) {
        ir_fail(to, fail_oom(recipe->n_values * sizeof *map));
        mem_free(map);
        return NULL;
    }
    for (const node *n = recipe->body->first; ok && n != NULL; n = n->next) {
        if (n->op == OP_weight)
            ok = expand_leaf(g, recipe, n, segment, s, narrow, map);
        else
            graph_copy_node(g, recipe, n, map);
    }
    if (ok)
        graph_result(g, map[graph_resolve(recipe, recipe->body->results[0])]);
    mem_free(map);
    return ok && to->status == HULL_OK ? g : NULL;
}

/* ---- running one --------------------------------------------------------- */

typedef struct leaves {
    void **data;
    shape *shapes;
    uint32_t n;
} leaves;

static void leaves_fini(leaves *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        mem_free(l->data[i]);
    mem_free(l->data);
    mem_free(l->shapes);
}

/* Turns the weight nodes of g into parameters and reads their bytes. */
static hull_status read_leaves(leaves *l, graph *g, const weights *w)
{
    uint32_t count = graph_n_nodes(g);
    node *next;

    l->data = mem_calloc(count + 1, sizeof *l->data);
    l->shapes = mem_calloc(count + 1, sizeof *l->shapes);
    if (l->data == NULL || l->shapes == NULL)
        return fail_oom(count * sizeof *l->shapes);
    for (node *n = g->body->first; n != NULL; n = next) {
        const weight_entry *e;

        next = n->next;
        if (n->op != OP_weight)
            continue;
        e = weights_find(w, attr_str(n, "name"));
        if (e == NULL)
            return fail(HULL_EINTERNAL, "recipe leaf '%.*s' is absent",
                        STR_ARG(attr_str(n, "name")));
        l->data[l->n] = mem_alloc_aligned(64, e->len);
        if (l->data[l->n] == NULL)
            return fail_oom(e->len);
        l->shapes[l->n].rank = e->rank;
        memcpy(l->shapes[l->n].dims, e->shape, sizeof e->shape);
        TRY(weights_read(w, e, l->data[l->n++]));
        graph_replace(g, n->out[0],
                      graph_param(g, str_of(""), graph_type(g, n->out[0])));
    }
    graph_settle(g);
    graph_remove_dead(g);
    return ir_status(g->m);
}

hull_status recipe_eval(void *dst, const graph *recipe, const weights *w)
{
    hull_status st = HULL_OK;
    ir *m = NULL;
    graph *g;
    leaves l = {0};
    host_program *p = NULL;
    host_plan *pl = NULL;
    uint64_t scratch_size = 0;
    void *scratch = NULL;
    shape result;

    TRY_OUT(ir_new(&m));
    g = graph_copy(m, recipe, str_of("recipe"));
    TRY_OUT(ir_status(m));
    TRY_OUT(read_leaves(&l, g, w));
    TRY_OUT(host_program_load(&p, g, NULL));
    TRY_OUT(host_program_plan(&pl, p, l.shapes, l.n, &result, &scratch_size));
    scratch = mem_alloc_aligned(64, scratch_size);
    if (scratch == NULL)
        TRY_OUT(fail_oom(scratch_size));
    TRY_OUT(host_program_run(p, pl, l.data, &dst, scratch, ALL_NODES, NULL));
out:
    mem_free(scratch);
    host_plan_free(pl);
    host_program_free(p);
    leaves_fini(&l);
    ir_free(m);
    return st;
}
