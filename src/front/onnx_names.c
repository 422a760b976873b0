/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_names.c - how a checkpoint names what an ONNX file stores. Files of the
 * dynamo exporter say it in metadata: the signature (placeholder -> state-dict
 * name), the kind of each untouched initializer, what a folded one was folded
 * from, and the fx node behind a Conv with a folded batch norm. Files of the
 * TorchScript exporter have only node names, "/layer1/fc3/MatMul" for module
 * layer1.fc3. Any other file: a tensor's name is its name. The recipes
 * themselves are in onnx_recipe.c.
 */
#include "front/onnx_recipe.h"

#include <inttypes.h>
#include <string.h>

#define SIGNATURE "pkg.torch.export.ExportedProgram.graph_signature"
#define KIND "pkg.torch.export.graph_signature.InputSpec.kind"
#define PERSISTENT "pkg.torch.export.graph_signature.InputSpec.persistent"
#define ORIGINAL "pkg.torch.onnx.original_node_name"
#define FOLDED "pkg.onnxscript.optimizer.folded_from"
#define RULE "pkg.onnxscript.rewriter.rule_name"
#define FX_NODE "pkg.torch.onnx.fx_node"
#define SCOPES "pkg.torch.onnx.name_scopes"

#define READERS_MAX 64 /* nodes after a convolution that are looked at */

/* One line of the signature. */
typedef struct onnx_target {
    str placeholder, name;
    bool state; /* a parameter or a persistent buffer: in the state dict */
} target;

/* ---- the signature ------------------------------------------------------- */

/* What stands between the quotes after `key` in a line. */
static str quoted_after(str line, const char *key)
{
    size_t n = strlen(key);

    for (size_t i = 0; i + n < line.n; i++) {
        if (memcmp(line.p + i, key, n) != 0)
            continue;
        str rest = {line.p + i + n, line.n - i - n}, tail;
        if (rest.n == 0 || rest.p[0] != '\'')
            continue;
        rest.p++;
        rest.n--;
        return str_split(rest, '\'', &tail);
    }
    return (str){NULL, 0};
}

static hull_status add_target(onnx *o, str line)
{
    str rest, placeholder = str_split(line, ':', &rest);
    str name = quoted_after(rest, "target=");
    str kind = str_trim(rest), tail;

    if (!name.p)
        return HULL_OK;
    kind = str_split(kind, ' ', &tail);
    bool state = str_is(kind, "PARAMETER") ||
                 (str_is(kind, "BUFFER") &&
                  str_contains(tail, "persistent=True"));
    TRY(mem_grow(&o->targets, &o->cap_targets, o->n_targets + 1,
                 sizeof *o->targets));
    o->targets[o->n_targets] =
        (target){str_trim(placeholder), name, state};
    TRY(strmap_set(&o->signature_of, str_trim(placeholder), o->n_targets));
    TRY(strmap_set(&o->target_of, name, o->n_targets));
    o->n_targets++;
    if (state)
        front_signature_name(o->f, name);
    return HULL_OK;
}

static const target *target_named(const onnx *o, str name)
{
    uint32_t i = 0;

    return strmap_get(&o->target_of, name, &i) && o->targets[i].state
               ? &o->targets[i]
               : NULL;
}

static const target *target_placed(const onnx *o, str placeholder)
{
    uint32_t i = 0;

    return strmap_get(&o->signature_of, placeholder, &i) ? &o->targets[i]
                                                         : NULL;
}

static str info_meta(const onnx *o, str name, const char *key)
{
    uint32_t i = 0;

    if (!strmap_get(&o->values_of, name, &i))
        return (str){NULL, 0};
    return onnx_meta_get(o->main.infos[i].meta, o->main.infos[i].n_meta, key);
}

/* ---- initializers -------------------------------------------------------- */

/* The next quoted text of a Python list, false at its end. */
static bool next_item(str *list, str *out)
{
    str rest;

    if (!memchr(list->p ? list->p : "", '\'', list->n))
        return false;
    str_split(*list, '\'', &rest);
    *out = str_split(rest, '\'', list);
    return true;
}

/* What of `folded_from` is in the state dict, and how long the list is. */
static uint32_t folded_refs(const onnx *o, str list, str *refs, uint32_t max,
                            uint32_t *out_items)
{
    uint32_t n = 0;
    str item;

    *out_items = 0;
    while (next_item(&list, &item)) {
        ++*out_items;
        if (target_named(o, item) && n < max)
            refs[n++] = item;
    }
    return n;
}

/* "c1.weight_bias" was made by a fusion when "c1.weight" is a target. */
static bool is_rewritten(const onnx *o, str name)
{
    if (target_named(o, name))
        return true;
    if (!str_ends(name, "_bias"))
        return false;
    name.n -= 5;
    return target_named(o, name) != NULL;
}

static void declare_dynamo(onnx *o, str name)
{
    front *f = o->f;
    str kind = info_meta(o, name, KIND);
    str folded = info_meta(o, name, FOLDED);
    str refs[1];
    uint32_t items = 0;

    if (kind.p) {
        bool state = str_is(kind, "PARAMETER") ||
                     (str_is(kind, "BUFFER") &&
                      str_is(info_meta(o, name, PERSISTENT), "True"));
        const target *t = target_placed(o, info_meta(o, name, ORIGINAL));

        if (state)
            front_add_name(f, name, t ? t->name : name);
        front_declare(f, name, str_is(kind, "PARAMETER"), !state,
                      state ? "the file says parameter or buffer"
                            : "the file says constant");
    } else if (folded.p && folded_refs(o, folded, refs, 1, &items) > 0) {
        front_set_derived(f, name);
        front_declare(f, name, false, false, "folded from weights");
    } else if (!folded.p && is_rewritten(o, name)) {
        front_set_derived(f, name);
        front_declare(f, name, true, false, "rewritten by a fusion");
    } else {
        front_declare(f, name, false, true, "computed from no weight");
    }
}

/* Names that the TorchScript exporter makes up: "onnx::Conv_145". */
static bool is_made_up(str name)
{
    return str_starts(name, "onnx::");
}

static void declare_plain(onnx *o, str name)
{
    if (is_made_up(name))
        front_set_derived(o->f, name);
    else
        front_add_name(o->f, name, name);
}

hull_status onnx_names_begin(onnx *o)
{
    str text = onnx_meta_get(o->main.meta, o->main.n_meta, SIGNATURE);

    for (uint32_t i = 0; i < o->main.n_infos; i++)
        TRY(strmap_set(&o->values_of, o->main.infos[i].name, i));
    o->dynamo = text.p != NULL;
    while (text.n > 0)
        TRY(add_target(o, str_split(text, '\n', &text)));
    for (uint32_t i = 0; i < o->main.n_initializers; i++) {
        if (o->dynamo)
            declare_dynamo(o, o->main.initializer_names[i]);
        else
            declare_plain(o, o->main.initializer_names[i]);
    }
    return ir_status(o->f->m);
}

/* ---- nodes of the dynamo exporter ---------------------------------------- */

/* Module path: the last but one of "['', 'm', 'm.fc', 'linear']". */
static str module_of(const onnx_node *n)
{
    str list = onnx_meta_get(n->meta, n->n_meta, SCOPES);
    str item, last = {"", 0}, before = {"", 0};

    while (next_item(&list, &item)) {
        before = last;
        last = item;
    }
    return before;
}

/* Operand `want` of the call in an fx node's text, without its '%'. */
static str fx_argument(str fx, uint32_t want)
{
    static const char plain[] = "(args = (";
    size_t i = 0;
    str rest, arg;

    while (i + sizeof plain - 1 < fx.n &&
           memcmp(fx.p + i, plain, sizeof plain - 1) != 0)
        i++;
    if (i + sizeof plain - 1 >= fx.n)
        return (str){"", 0};
    rest = (str){fx.p + i + sizeof plain - 1, fx.n - i - sizeof plain + 1};
    for (uint32_t k = 0;; k++) {
        arg = str_trim(str_split(rest, ',', &rest));
        if (k == want)
            break;
        if (rest.n == 0)
            return (str){"", 0};
    }
    if (str_ends(arg, ")"))
        arg = str_split(arg, ')', &rest);
    if (str_starts(arg, "%")) {
        arg.p++;
        arg.n--;
    }
    return arg;
}

/* The names of a batch norm from its fx node; false when it is another. */
static bool read_bn(const onnx *o, str fx, bn_names *out)
{
    str *slots[] = {&out->gamma, &out->beta, &out->mean, &out->var};

    *out = (bn_names){0};
    if (!str_contains(fx, "batch_norm"))
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        str arg = fx_argument(fx, i + 1);
        const target *t = target_placed(o, arg);

        if (!t && !str_is(arg, "None"))
            return false;
        *slots[i] = t ? t->name : (str){"", 0};
    }
    /* ..., momentum, eps), the native forms; aten.batch_norm has training
     * before momentum. */
    uint32_t at = str_contains(fx, "aten.batch_norm.default") ? 7 : 6;
    return out->mean.n && out->var.n &&
           str_to_f64(&out->eps, fx_argument(fx, at));
}

/* A tensor of two nodes has its recipes from the first. */
static bool has_recipe(onnx *o, str name)
{
    const front_entry *e = front_find(o->f, name);

    return !e || e->n_recipes > 0;
}

static hull_status name_folded_conv(onnx *o, const onnx_node *n)
{
    bn_names bn;
    str fx = onnx_meta_get(n->meta, n->n_meta, FX_NODE);

    if (n->n_in < 2 || has_recipe(o, n->in[1]) || !read_bn(o, fx, &bn))
        return HULL_OK;
    const target *w = target_named(o, n->in[1]);
    if (!w)
        return HULL_OK;
    conv_names c = {.weight = w->name,
                    .transposed = str_is(n->op, "ConvTranspose"),
                    .groups = 1};
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (str_is(n->attrs[i].name, "group"))
            c.groups = n->attrs[i].i;
    TRY(recipe_bn_weight(o->f, n->in[1], &c, &bn, 0));
    if (n->n_in < 3 || n->in[2].n == 0 || has_recipe(o, n->in[2]))
        return HULL_OK;
    const target *b = target_named(o, n->in[2]);
    c.bias = b ? b->name : (str){"", 0};
    return recipe_bn_bias(o->f, n->in[2], &c, &bn, 0);
}

/* A folded value that is its source in another shape: the exporter named it
 * after a view, or a group norm gave its scale trailing axes. */
static bool is_view(const onnx_node *n, str name)
{
    str fx = onnx_meta_get(n->meta, n->n_meta, FX_NODE);

    return str_starts(name, "view") || str_starts(name, "unsqueeze") ||
           str_starts(name, "reshape") ||
           str_contains(fx, "aten.group_norm.default");
}

static hull_status name_folded(onnx *o, const onnx_node *n, uint32_t i)
{
    str name = n->in[i], refs[16];
    uint32_t items = 0;
    uint32_t n_refs =
        folded_refs(o, info_meta(o, name, FOLDED), refs, 16, &items);

    if (n_refs == 0)
        return HULL_OK;
    if (str_is(n->op, "LSTM") || str_is(n->op, "GRU") || str_is(n->op, "RNN")) {
        rnn_names r;

        if (!rnn_names_of(refs[0], &r))
            return HULL_OK;
        return i >= 1 && i <= 3 ? recipe_rnn(o->f, name, n, i, &r) : HULL_OK;
    }
    if (items == 1 && str_is(n->op, "MatMul"))
        return recipe_transpose(o->f, name, refs[0], 0);
    if (items == 1 || (n_refs == 1 && is_view(n, name)))
        return recipe_reshape(o->f, name, refs[0], 0);
    /* One weight and some arithmetic: a resize to the same size, or 1 + w. */
    return n_refs == 1
               ? recipe_reshape(o->f, name, refs[0], RECIPE_TIER_LEARN)
               : HULL_OK;
}

/* Two names of one tensor: the file has it under the name `have`, the module
 * that uses it here has another name for it. */
static void name_tie(onnx *o, const onnx_node *n, str have)
{
    str role, path = module_of(n);
    buf b;
    const char *dot = NULL;

    for (size_t i = 0; i < have.n; i++)
        if (have.p[i] == '.')
            dot = have.p + i;
    if (!dot || path.n == 0)
        return;
    role = (str){dot, (size_t)(have.p + have.n - dot)};
    buf_init(&b, 1 << 16);
    buf_str(&b, path);
    buf_str(&b, role);
    hull_status st = buf_status(&b);
    if (st != HULL_OK)
        (void)ir_fail(o->f->m, st);
    str other = buf_view(&b);
    const target *t = target_named(o, other);
    uint32_t at = 0;
    if (t && !str_eq(other, have) && !strmap_get(&o->values_of, other, &at))
        front_add_name(o->f, have, t->name);
    buf_fini(&b);
}

static hull_status names_dynamo(onnx *o, const onnx_node *n)
{
    str rule = onnx_meta_get(n->meta, n->n_meta, RULE);
    str path = module_of(n);

    if (str_contains(rule, "FuseBatchNorm"))
        TRY(name_folded_conv(o, n));
    for (uint32_t i = 0; i < n->n_in; i++) {
        front_entry *e = n->in[i].n ? front_find(o->f, n->in[i]) : NULL;

        if (!e)
            continue;
        front_set_path(o->f, n->in[i], path);
        if (e->declared_parameter && !e->derived)
            name_tie(o, n, n->in[i]);
        if (e->derived && e->n_recipes == 0)
            TRY(name_folded(o, n, i));
    }
    return HULL_OK;
}

/* ---- nodes of the TorchScript exporter ----------------------------------- */

/* "/layer1/layer1.0/conv/Conv" -> "layer1.0.conv": a segment that begins with
 * the one before it repeats that. */
static str path_of(front *f, str node_name)
{
    str before = {"", 0}, rest = node_name;
    buf b;

    buf_init(&b, 1 << 16);
    if (!str_starts(node_name, "/"))
        return (str){"", 0};
    str_split(rest, '/', &rest);
    while (memchr(rest.p ? rest.p : "", '/', rest.n)) {
        str part = str_split(rest, '/', &rest), add = part;

        if (before.n && part.n > before.n + 1 &&
            memcmp(part.p, before.p, before.n) == 0 &&
            part.p[before.n] == '.') {
            add.p += before.n + 1;
            add.n -= before.n + 1;
        }
        if (b.n)
            buf_putc(&b, '.');
        buf_str(&b, add);
        before = part;
    }
    hull_status st = buf_status(&b);
    char *p = arena_strndup(&f->m->a, b.p ? b.p : "", b.n);
    str out = {p ? p : "", p ? b.n : 0};
    if (st != HULL_OK || !p)
        (void)ir_fail(f->m, st != HULL_OK ? st : fail_oom(b.n));
    buf_fini(&b);
    return out;
}

/* The module of the node that reads v next, when it is beside `parent`:
 * timm's batch norms hold their activation ("/bn1/act/Relu"). */
static str next_sibling(onnx *o, const onnx_node *n, str parent)
{
    const onnx_node *end = o->main.nodes + o->main.n_nodes;

    end = end - n > READERS_MAX ? n + READERS_MAX : end;
    for (const onnx_node *c = n + 1; c < end; c++)
        for (uint32_t i = 0; i < c->n_in; i++) {
            if (!str_eq(c->in[i], n->out[0]))
                continue;
            str path = path_of(o->f, c->name), rest;

            if (path.n <= parent.n ||
                (parent.n && (memcmp(path.p, parent.p, parent.n) != 0 ||
                              path.p[parent.n] != '.')))
                return (str){"", 0};
            size_t skip = parent.n ? parent.n + 1 : 0;
            return str_split((str){path.p + skip, path.n - skip}, '.', &rest);
        }
    return (str){"", 0};
}

static hull_status names_conv(onnx *o, const onnx_node *n, str path)
{
    if (n->n_in < 2 || n->n_out == 0 || !is_made_up(n->in[1]) ||
        has_recipe(o, n->in[1]))
        return HULL_OK;
    conv_names c = {.transposed = str_is(n->op, "ConvTranspose"), .groups = 1,
                    .path = path};
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (str_is(n->attrs[i].name, "group"))
            c.groups = n->attrs[i].i;
    size_t dot = path.n;
    while (dot > 0 && path.p[dot - 1] != '.')
        dot--;
    str parent = {path.p, dot ? dot - 1 : 0};
    return recipe_guess_bn(o->f, n->in[1],
                           n->n_in > 2 ? n->in[2] : (str){"", 0}, &c, parent,
                           next_sibling(o, n, parent));
}

static hull_status names_rnn(onnx *o, const onnx_node *n, str path)
{
    rnn_names r = {.path = path};
    uint32_t k = 0;

    (void)strmap_get(&o->rnn_counts, path, &k);
    TRY(strmap_set(&o->rnn_counts, path, k + 1));
    r.layer = k;
    for (uint32_t i = 1; i <= 3 && i < n->n_in; i++)
        if (is_made_up(n->in[i]) && !has_recipe(o, n->in[i]))
            TRY(recipe_rnn(o->f, n->in[i], n, i, &r));
    return HULL_OK;
}

static hull_status names_matmul(onnx *o, const onnx_node *n, str path)
{
    buf b;
    hull_status st;

    if (n->n_in < 2 || !is_made_up(n->in[1]) || has_recipe(o, n->in[1]))
        return HULL_OK;
    buf_init(&b, 1 << 16);
    buf_str(&b, path);
    buf_puts(&b, ".weight");
    st = buf_status(&b);
    if (st == HULL_OK)
        st = recipe_transpose(o->f, n->in[1], buf_view(&b), TIER_NAMED);
    buf_fini(&b);
    return st;
}

/* A made-up tensor of a pointwise node: some parameter of the module itself,
 * with axes of size 1 around it. */
static hull_status names_pointwise(onnx *o, const onnx_node *n, str path)
{
    hull_status st = HULL_OK;

    for (uint32_t i = 0; st == HULL_OK && i < n->n_in; i++) {
        buf b;

        if (!is_made_up(n->in[i]) || has_recipe(o, n->in[i]))
            continue;
        buf_init(&b, 1 << 16);
        buf_str(&b, path);
        buf_puts(&b, ".*");
        st = buf_status(&b);
        if (st == HULL_OK)
            st = recipe_reshape(o->f, n->in[i], buf_view(&b), TIER_ANY);
        buf_fini(&b);
    }
    return st;
}

static hull_status names_script(onnx *o, const onnx_node *n)
{
    str path = path_of(o->f, n->name);

    if (str_is(n->op, "Constant") && n->n_out)
        declare_plain(o, n->out[0]);
    if (path.n == 0)
        return HULL_OK;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].n && front_find(o->f, n->in[i]))
            front_set_path(o->f, n->in[i], path);
    if (str_is(n->op, "MatMul"))
        return names_matmul(o, n, path);
    if (str_is(n->op, "Conv") || str_is(n->op, "ConvTranspose"))
        return names_conv(o, n, path);
    if (str_is(n->op, "LSTM") || str_is(n->op, "GRU") || str_is(n->op, "RNN"))
        return names_rnn(o, n, path);
    if (str_is(n->op, "Mul") || str_is(n->op, "Add"))
        return names_pointwise(o, n, path);
    return HULL_OK;
}

hull_status onnx_names_node(onnx *o, const onnx_node *n)
{
    if (o->dynamo)
        TRY(names_dynamo(o, n));
    else
        TRY(names_script(o, n));
    return ir_status(o->f->m);
}

hull_status onnx_names_end(onnx *o)
{
    return ir_status(o->f->fm->recipes);
}
