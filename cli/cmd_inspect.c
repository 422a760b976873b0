/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_inspect.c - `hull inspect`: what is in a file, told by its content. Here
 * models, checkpoints and tensor files; inspect_hull.c has Hull's own files.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "front/front.h"
#include "options/options.h"

static const struct argp_option inspect_options[] = {
    { "text", KEY_TEXT, NULL, 0,
      "Print the IR too: a model's graph, a module's engines", 0 },
    { 0 },
};

/* ---- checkpoints and tensor files ---------------------------------------- */

/* One tensor: a line and a member of list. */
static hull_status show_tensor(cli *c, json_t *list, str name, hull_dtype dt,
                               uint32_t rank, const int64_t *shape,
                               uint64_t n_bytes, const char *remark)
{
    hull_status st = HULL_OK;
    buf text;

    buf_init(&text, 4096);
    print_type(&text, dt, rank, shape);
    TRY_OUT(buf_status(&text));
    if (!c->json)
        printf("  %.*s: %s, %" PRIu64 " bytes%s%s\n", STR_ARG(name), text.p,
               n_bytes, remark[0] ? ", " : "", remark);
    st = answer_item(list,
                     json_pack("{s:o, s:o, s:I, s:s}", "name", json_str(name),
                               "type", json_str(buf_view(&text)), "bytes",
                               (json_int_t)n_bytes, "remark", remark));
out:
    buf_fini(&text);
    return st;
}

static const char *remark_on(const weights *w, const weight_entry *e)
{
    if (weights_storage(w, e)->absent)
        return "without bytes";
    if (!e->dense)
        return "strided";
    return e->constant ? "constant" : "";
}

static hull_status inspect_checkpoint(cli *c, const weights *w)
{
    json_t *list = json_array();

    TRY(answer(c->result, "kind", json_string("checkpoint")));
    TRY(answer(c->result, "label", json_str(str_of(weights_label(w)))));
    TRY(answer(c->result, "tensors", list));
    if (!c->json)
        printf("%s\n", weights_label(w));
    for (size_t i = 0; i < weights_count(w); i++) {
        const weight_entry *e = weights_at(w, i);

        TRY(show_tensor(c, list, e->name, e->dtype, e->rank, e->shape, e->len,
                        remark_on(w, e)));
    }
    return HULL_OK;
}

static hull_status inspect_tensors(cli *c, const char *path)
{
    tensor_file f;
    json_t *list = json_array();
    hull_status st = HULL_OK;

    TRY(answer(c->result, "kind", json_string("tensors")));
    TRY(answer(c->result, "tensors", list));
    TRY(tensor_file_read(&f, path));
    if (!c->json)
        printf("tensor file %s (%zu tensors)\n", path, f.n);
    for (size_t i = 0; i < f.n; i++) {
        const named_tensor *t = &f.items[i];

        TRY_OUT(show_tensor(c, list, str_of(t->name), t->dtype, t->rank,
                            t->shape, t->n_bytes, ""));
    }
out:
    tensor_file_fini(&f);
    return st;
}

/* ---- models -------------------------------------------------------------- */

static hull_status show_values(cli *c, const graph *g, const char *key,
                               const val *v, uint32_t n)
{
    json_t *list = json_array();
    hull_status st = HULL_OK;
    buf text;

    TRY(answer(c->result, key, list));
    buf_init(&text, 65536);
    if (!c->json)
        printf("%s\n", key);
    for (uint32_t i = 0; i < n; i++) {
        const value *x = graph_value(g, v[i]);

        buf_clear(&text);
        type_print(&text, g->m, &x->type);
        TRY_OUT(buf_status(&text));
        if (!c->json)
            printf("  %.*s: %s\n", STR_ARG(x->name), text.p);
        TRY_OUT(answer_item(list, json_pack("{s:o, s:o}", "name",
                                            json_str(x->name), "type",
                                            json_str(buf_view(&text)))));
    }
out:
    buf_fini(&text);
    return st;
}

static hull_status show_operations(cli *c, const graph *g)
{
    uint32_t count[OP_COUNT] = { 0 }, n = 0;
    json_t *list = json_object();

    TRY(answer(c->result, "operations", list));
    for (const node *k = graph_first(g); k; k = graph_next(g, k)) {
        count[k->op]++;
        n++;
    }
    if (!c->json)
        printf("operations: %u\n", n);
    for (int op = 1; op < OP_COUNT; op++) {
        const char *name = op_get((op_code)op)->name;

        if (count[op] == 0)
            continue;
        if (!c->json)
            printf("  %s %u\n", name, count[op]);
        TRY(answer(list, name, json_integer(count[op])));
    }
    return HULL_OK;
}

static hull_status show_holes(cli *c, const front_model *fm)
{
    json_t *list = json_array();

    TRY(answer(c->result, "holes", list));
    if (!c->json)
        printf("holes: %u\n", fm->n_holes);
    for (uint32_t i = 0; i < fm->n_holes; i++) {
        const front_hole *h = &fm->holes[i];
        uint64_t n = 0;

        TRY(tensor_n_bytes(&n, h->type.dtype, h->type.rank, h->type.dims));
        TRY(show_tensor(c, list, h->name, h->type.dtype, h->type.rank,
                        h->type.dims, n, h->kept ? "may be kept" : ""));
    }
    return HULL_OK;
}

static hull_status show_text(cli *c, const graph *g)
{
    hull_status st = HULL_OK;
    buf b;

    if (!c->text)
        return HULL_OK;
    buf_init(&b, SIZE_MAX / 2);
    graph_print(&b, g);
    TRY_OUT(buf_status(&b));
    if (!c->json)
        printf("%s", b.p);
    TRY_OUT(answer(c->result, "text", json_str(buf_view(&b))));
out:
    buf_fini(&b);
    return st;
}

static hull_status inspect_model(cli *c, const char *path)
{
    front_model *fm = NULL;
    hull_status st = HULL_OK;

    TRY(answer(c->result, "kind", json_string("model")));
    TRY(front_import(&fm, path, NULL));
    TRY_OUT(answer(c->result, "format", json_string(fm->format)));
    TRY_OUT(answer(c->result, "producer", json_str(fm->producer)));
    if (!c->json)
        printf("%s model %s%s%.*s\n", fm->format, path,
               fm->producer.n > 0 ? ", made by " : "", STR_ARG(fm->producer));
    TRY_OUT(show_values(c, fm->g, "inputs", fm->g->body->params,
                        fm->g->body->n_params));
    TRY_OUT(show_values(c, fm->g, "outputs", fm->g->body->results,
                        fm->g->body->n_results));
    TRY_OUT(show_operations(c, fm->g));
    TRY_OUT(show_holes(c, fm));
    TRY_OUT(show_text(c, fm->g));
out:
    front_free(fm);
    return st;
}

/* ---- by content ---------------------------------------------------------- */

static hull_status inspect_other(cli *c, const char *path)
{
    weights *w;
    weights_format format;
    weights_options how = { .key = option_str(c->options, OPT_checkpoint_key),
                            .open = true };
    hull_status st = HULL_OK;

    TRY(weights_open(&w, path, &how));
    format = weights_kind(w);
    if (format != WEIGHTS_ONNX && format != WEIGHTS_PT2)
        st = inspect_checkpoint(c, w);
    weights_unref(w);
    TRY(st);
    if (format == WEIGHTS_ONNX || format == WEIGHTS_PT2)
        return inspect_model(c, path);
    return HULL_OK;
}

static hull_status run_inspect(cli *c)
{
    const char *path = c->args[0];
    file_kind kind;

    TRY(file_kind_of(&kind, path));
    switch (kind) {
    case KIND_MODULE: return inspect_module(c, path);
    case KIND_ENGINE: return inspect_engine(c, path);
    case KIND_NOTES: return inspect_text(c, path, "notes", "notes");
    case KIND_PLAN: return inspect_text(c, path, "plan", "module");
    case KIND_TENSORS: return inspect_tensors(c, path);
    case KIND_OTHER: break;
    }
    return inspect_other(c, path);
}

const command command_inspect = {
    .name = "inspect", .arguments = "FILE",
    .summary = "show what a file holds",
    .doc = "Shows what a file holds, told by its content: the inputs, outputs, "
           "operations and holes of a model, the tensors of a checkpoint or "
           "tensor file, the sections, blocks and binding table of a module, "
           "or an entry of the cache.\v" EXIT_DOC,
    .options = inspect_options, .shared = SHARED_SET | SHARED_NAMES,
    .min_args = 1, .max_args = 1, .run = run_inspect,
};
