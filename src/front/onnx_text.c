/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_text.c - strings: stored ones, which are constants of the graph and no
 * weights, and the operators on them.
 */
#include "front/onnx_lower.h"

#include <inttypes.h>

#define TYPE_TEXT 8 /* TensorProto.STRING */

hull_dtype onnx_value_dtype(int64_t code)
{
    return code == TYPE_TEXT ? HULL_STRING : onnx_dtype(code);
}

/* ---- stored strings ------------------------------------------------------ */

static val add_strings(front *f, const str *s, uint32_t n,
                       const int64_t *shape, uint32_t rank)
{
    node *x = node_new(f->g, OP_strings);

    node_strs(f->g, x, "value", s, n);
    node_ints(f->g, x, "shape", shape, rank);
    return node_add(f->g, x);
}

hull_status onnx_stored_text(front *f, bytes proto, val *out)
{
    onnx_text t;

    *out = 0;
    TRY(onnx_text_read(&t, &f->a, proto));
    *out = add_strings(f, t.strs, t.n, t.shape, t.rank);
    return ir_status(f->m);
}

hull_status onnx_constant_text(onnx_call *c, const onnx_attr *a)
{
    int64_t n = a->n_strings;

    if (a->type == ONNX_TENSOR)
        return onnx_stored_text(c->f, a->t, &c->out[0]);
    c->out[0] = a->type == ONNX_STRING
                    ? add_strings(c->f, &a->s, 1, NULL, 0)
                    : add_strings(c->f, a->strings, a->n_strings, &n, 1);
    return ir_status(c->m);
}

/* ---- operators ----------------------------------------------------------- */

hull_status onnx_string_split(onnx_call *c)
{
    node *n = node_new(c->g, OP_text_split);
    val y;

    node_input(c->g, n, c->in[0]);
    node_str(c->g, n, "delimiter", onnx_str(c, "delimiter", ""));
    node_int(c->g, n, "limit", onnx_int(c, "maxsplit", -1));
    y = node_add(c->g, n);
    if (y == 0)
        return ir_status(c->m);
    c->out[0] = n->out[0];
    if (c->n_out > 1)
        c->out[1] = n->out[1];
    return HULL_OK;
}

hull_status onnx_regex(onnx_call *c)
{
    node *n;

    if (!onnx_has(c, "pattern"))
        return fail(HULL_EFORMAT, "attribute 'pattern' is missing");
    n = node_new(c->g, OP_text_match);
    node_input(c->g, n, c->in[0]);
    node_str(c->g, n, "pattern", onnx_str(c, "pattern", ""));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* Upper and lower case are those of Unicode; a few languages have their own. */
static hull_status check_locale(onnx_call *c)
{
    static const char *const own[] = {"tr", "az", "lt"};
    str locale = onnx_str(c, "locale", "");

    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (str_starts(locale, own[i]))
            return fail(HULL_EUNSUPPORTED, "locale '%.*s' has letters of its "
                        "own, want one like en_US or C", STR_ARG(locale));
    return HULL_OK;
}

hull_status onnx_string_normalizer(onnx_call *c)
{
    const onnx_attr *stop = onnx_attr_of(c, "stopwords");
    str action = onnx_str(c, "case_change_action", "NONE");
    const char *letters = str_is(action, "LOWER")   ? "lower"
                          : str_is(action, "UPPER") ? "upper"
                          : str_is(action, "NONE")  ? ""
                                                    : NULL;
    node *n;

    if (letters == NULL)
        return fail(HULL_EFORMAT, "attribute 'case_change_action' is '%.*s', "
                    "want LOWER, UPPER or NONE", STR_ARG(action));
    if (stop && stop->type != ONNX_STRINGS && stop->n_strings != 0)
        return fail(HULL_EFORMAT, "attribute 'stopwords' is no list of "
                    "strings");
    TRY(check_locale(c));
    n = node_new(c->g, OP_text_normalize);
    node_input(c->g, n, c->in[0]);
    node_str(c->g, n, "letters", str_of(letters));
    node_bool(c->g, n, "exact", onnx_int(c, "is_case_sensitive", 0) != 0);
    if (stop && stop->n_strings)
        node_strs(c->g, n, "drop", stop->strings, stop->n_strings);
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}

/* ---- TfIdfVectorizer ----------------------------------------------------- */

static hull_status want_ints(onnx_call *c, const char *name,
                             const onnx_attr **out)
{
    *out = onnx_attr_of(c, name);
    if (*out && (*out)->type == ONNX_INTS)
        return HULL_OK;
    return fail(HULL_EFORMAT, "attribute '%s' is no list of integers", name);
}

static hull_status put_weights(onnx_call *c, node *n)
{
    const onnx_attr *a = onnx_attr_of(c, "weights");
    double *w;

    if (!a)
        return HULL_OK;
    if (a->type != ONNX_FLOATS)
        return fail(HULL_EFORMAT, "attribute 'weights' is no list of floats");
    w = arena_array(&c->f->a, a->n_floats + 1u, sizeof *w);
    if (w == NULL)
        return fail_oom(a->n_floats * sizeof *w);
    for (uint32_t i = 0; i < a->n_floats; i++)
        w[i] = (double)a->floats[i];
    node_floats(c->g, n, "weights", w, a->n_floats);
    return HULL_OK;
}

static hull_status put_pool(onnx_call *c, node *n)
{
    const onnx_attr *s = onnx_attr_of(c, "pool_strings");
    const onnx_attr *i = onnx_attr_of(c, "pool_int64s");
    bool text = s && s->type == ONNX_STRINGS && s->n_strings > 0;
    bool ints = i && i->type == ONNX_INTS && i->n_ints > 0;

    if (text == ints)
        return fail(HULL_EFORMAT, "want one of pool_strings and pool_int64s");
    if (text)
        node_strs(c->g, n, "pool", s->strings, s->n_strings);
    else
        node_ints(c->g, n, "numbers", i->ints, i->n_ints);
    return HULL_OK;
}

hull_status onnx_tfidf(onnx_call *c)
{
    static const char *const modes[][2] = {
        {"TF", "tf"}, {"IDF", "idf"}, {"TFIDF", "tfidf"}};
    str mode = onnx_str(c, "mode", "");
    const onnx_attr *counts, *indexes;
    const char *name = NULL;
    node *n;

    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (str_is(mode, modes[i][0]))
            name = modes[i][1];
    if (name == NULL)
        return fail(HULL_EFORMAT, "attribute 'mode' is '%.*s', want TF, IDF or "
                    "TFIDF", STR_ARG(mode));
    TRY(want_ints(c, "ngram_counts", &counts));
    TRY(want_ints(c, "ngram_indexes", &indexes));
    n = node_new(c->g, OP_text_ngrams);
    node_input(c->g, n, c->in[0]);
    node_int(c->g, n, "min", onnx_int(c, "min_gram_length", 0));
    node_int(c->g, n, "max", onnx_int(c, "max_gram_length", 0));
    node_int(c->g, n, "skip", onnx_int(c, "max_skip_count", 0));
    node_str(c->g, n, "mode", str_of(name));
    node_ints(c->g, n, "starts", counts->ints, counts->n_ints);
    node_ints(c->g, n, "columns", indexes->ints, indexes->n_ints);
    TRY(put_weights(c, n));
    TRY(put_pool(c, n));
    c->out[0] = node_add(c->g, n);
    return HULL_OK;
}
