/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_spec.c - names of the user inputs: the arguments of forward() give the
 * first part, keys and positions inside containers the rest ("batch_image",
 * "rest_0"). The flat order is the one of the graph in any case, so a tree
 * that is not understood only costs the names.
 */
#include "front/pt2.h"

#include <inttypes.h>
#include <jansson.h>

#define DEPTH_MAX 16

typedef struct walk {
    front *f;
    str *out;
    uint32_t n, max;
    bool bad;
} walk;

static str keep(front *f, const char *fmt, str a, uint32_t i, str key)
{
    buf b;

    buf_init(&b, 4096);
    buf_str(&b, a);
    if (fmt)
        buf_printf(&b, fmt, i);
    if (key.n) {
        buf_putc(&b, '_');
        buf_str(&b, key);
    }
    str s = {arena_strndup(&f->a, b.n ? b.p : "", b.n), b.n};
    buf_fini(&b);
    return s.p ? s : str_of("");
}

static str text_of(const json_t *j)
{
    return json_is_string(j) ? (str){json_string_value(j),
                                     json_string_length(j)}
                             : str_of("");
}

static void walk_tree(walk *w, json_t *spec, str name, int depth)
{
    json_t *children = json_object_get(spec, "children_spec");
    json_t *kind = json_object_get(spec, "type"), *child, *keys = NULL;
    str context = text_of(json_object_get(spec, "context"));
    size_t i;

    if (w->bad || depth > DEPTH_MAX || !json_is_array(children)) {
        w->bad = true;
        return;
    }
    if (json_is_null(kind)) {
        w->bad = w->n >= w->max || name.n == 0;
        if (!w->bad)
            w->out[w->n++] = name;
        return;
    }
    if (str_is(text_of(kind), "builtins.dict") &&
        json_parse(&keys, context.p, context.n, "keys") != HULL_OK) {
        error_clear(); /* the names are lost, nothing else */
        w->bad = true;
        return;
    }
    json_array_foreach(children, i, child) {
        str key = text_of(json_array_get(keys, i));

        if (keys && key.n == 0)
            w->bad = true;
        walk_tree(w, child,
                  keys ? keep(w->f, NULL, name, 0, key)
                       : keep(w->f, "_%" PRIu32, name, (uint32_t)i, key),
                  depth + 1);
    }
    json_free(keys);
}

/* The arguments: the tuple's children, then the values of the dict. */
static void walk_root(walk *w, json_t *root, json_t *names)
{
    json_t *pair = json_object_get(json_array_get(root, 1), "children_spec");
    size_t at = 0, i;

    if (json_array_size(pair) != 2)
        w->bad = true;
    for (size_t part = 0; part < 2 && !w->bad; part++) {
        json_t *list = json_object_get(json_array_get(pair, part),
                                       "children_spec"), *child;

        json_array_foreach(list, i, child)
            walk_tree(w, child, text_of(json_array_get(names, at++)), 0);
    }
    if (w->n != w->max || at != json_array_size(names))
        w->bad = true;
}

static bool unique(const walk *w)
{
    strmap seen = {0};
    bool ok = true;
    uint32_t one;

    for (uint32_t i = 0; i < w->n && ok; i++) {
        ok = !strmap_get(&seen, w->out[i], &one) &&
             strmap_set(&seen, w->out[i], 1) == HULL_OK;
    }
    strmap_fini(&seen);
    return ok;
}

hull_status pt2_input_names(front *f, json_t *graph_module, uint32_t n,
                            str *out)
{
    json_t *calls = json_object_get(graph_module, "module_call_graph");
    json_t *sig = json_object_get(json_array_get(calls, 0), "signature");
    str spec = text_of(json_object_get(sig, "in_spec"));
    walk w = {.f = f, .out = out, .max = n};
    json_t *root = NULL;

    if (spec.n == 0 || json_parse(&root, spec.p, spec.n, "in_spec") != HULL_OK)
        w.bad = true;
    else
        walk_root(&w, root, json_object_get(sig, "forward_arg_names"));
    json_free(root);
    if (!w.bad && unique(&w))
        return HULL_OK;
    error_clear(); /* positions name the inputs as well */
    for (uint32_t i = 0; i < n; i++)
        out[i] = keep(f, "input_%" PRIu32, str_of(""), i, str_of(""));
    return f->a.failed ? fail_oom(n) : HULL_OK;
}
