/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2.c - reader of torch.export archives: finds the one exported program in
 * the zip, checks its schema version, turns the signature into parameters,
 * holes and results. Names of holes come from the signature, never from the
 * placeholders. Nodes are pt2_graph.c's, payloads are pt2_data.c's.
 */
#include "front/pt2.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define MODEL_JSON_MAX ((uint64_t)512 << 20)
#define SCHEMA_MAJOR 8

/* One read of a program. */
typedef struct program {
    pt2 p;
    pt2_scope s;
    json_t *root, *module;
    strmap ties;       /* place of a stored tensor -> cell */
    strmap by_fqn;     /* buffer or parameter -> cell */
    uint32_t n_user;   /* of inputs that the user gives, so far */
    uint32_t n_tensors; /* of them, those that are tensors */
    str *user_names;
    type *plain, *guarded; /* of the tensors, without and with guards */
} program;

static str text_of(const json_t *j)
{
    return json_is_string(j) ? (str){json_string_value(j),
                                     json_string_length(j)}
                             : str_of("");
}

/* ---- the archive --------------------------------------------------------- */

/* The member's path below the archive's root folder. */
static str below_root(str name)
{
    str rest;

    (void)str_split(name, '/', &rest);
    return rest;
}

static bool is_model(str name)
{
    return str_ends(name, ".json") && (str_starts(name, "models/") ||
                                       str_starts(below_root(name), "models/"));
}

static hull_status check_member(const zip *z, str name, const char *want)
{
    for (size_t i = 0; i < z->n; i++) {
        if (!str_eq(below_root(z->entries[i].name), name) &&
            !str_eq(z->entries[i].name, name))
            continue;
        bytes b = zip_bytes(z, &z->entries[i]);
        str text = str_trim((str){(const char *)b.p, b.n});
        if (!str_is(text, want))
            return fail(HULL_EUNSUPPORTED, "%.*s is '%.*s', wanted '%s'",
                        STR_ARG(name), STR_ARG(text), want);
    }
    return HULL_OK;
}

static hull_status find_model(const zip_entry **out, const zip *z)
{
    const zip_entry *flat = NULL;
    bool inductor = false;

    *out = NULL;
    for (size_t i = 0; i < z->n; i++) {
        str name = z->entries[i].name;

        inductor |= str_starts(below_root(name), "data/aotinductor/");
        if (str_is(name, "serialized_exported_program.json"))
            flat = &z->entries[i];
        if (!is_model(name))
            continue;
        if (*out)
            return fail(HULL_EUNSUPPORTED,
                        "archive holds several models ('%.*s', '%.*s'), "
                        "wanted one",
                        STR_ARG((*out)->name), STR_ARG(name));
        *out = &z->entries[i];
    }
    if (!*out)
        *out = flat;
    if (*out)
        return HULL_OK;
    return fail(HULL_EUNSUPPORTED, "archive holds %s, wanted an exported graph",
                inductor ? "an AOTInductor package" : "no models/*.json");
}

static hull_status read_json(json_t **out, const file *archive)
{
    const zip_entry *e = NULL;
    zip z = {0};
    hull_status st;

    *out = NULL;
    TRY(zip_open(&z, (bytes){archive->p, (size_t)archive->size}));
    TRY_OUT(check_member(&z, str_of("archive_version"), "0"));
    TRY_OUT(check_member(&z, str_of("byteorder"), "little"));
    TRY_OUT(find_model(&e, &z));
    if (e->size > MODEL_JSON_MAX)
        TRY_OUT(fail(HULL_EUNSUPPORTED,
                     "'%.*s' has %" PRIu64 " bytes, at most %" PRIu64,
                     STR_ARG(e->name), e->size, MODEL_JSON_MAX));
    TRY_OUT(zip_check_crc(&z, e));
    bytes b = zip_bytes(&z, e);
    file_count_read(b.n);
    st = json_parse(out, (const char *)b.p, b.n, "model json");
out:
    zip_close(&z);
    return st;
}

static hull_status check_version(program *q)
{
    json_t *version;
    int64_t major = 0, minor = 0;

    TRY(json_want_object(&version, q->root, "schema_version", "program"));
    TRY(json_want_int(&major, version, "major", "schema_version"));
    TRY(json_want_int(&minor, version, "minor", "schema_version"));
    if (major != SCHEMA_MAJOR)
        return fail(HULL_EVERSION,
                    "export schema %" PRId64 ".%" PRId64 ", wanted %d.x; save "
                    "the program again with a newer torch",
                    major, minor, SCHEMA_MAJOR);
    json_t *opset = json_object_get(q->root, "opset_version");
    q->p.opset = json_integer_value(json_object_get(opset, "aten"));
    str torch = text_of(json_object_get(q->root, "torch_version")), rest;
    torch = str_split(torch, '+', &rest);
    buf b;
    buf_init(&b, 256);
    buf_puts(&b, "pytorch ");
    buf_str(&b, (str){torch.p, torch.n < 200 ? torch.n : 200});
    q->p.f->fm->producer.p = arena_strndup(&q->p.m->a, b.n ? b.p : "", b.n);
    q->p.f->fm->producer.n = q->p.f->fm->producer.p ? b.n : 0;
    buf_fini(&b);
    return q->p.f->fm->producer.p ? HULL_OK : fail_oom(1);
}

/* ---- stored tensors ------------------------------------------------------ */

/* Place of a stored tensor as text: equal places are tied. False when there is
 * no place: fake tensors and empty ones share records without meaning it. */
static bool place_of(const front *f, str fqn, buf *out)
{
    const weights *w = f->fm->native;
    const weight_entry *e = weights_find(w, fqn);

    if (!e || e->len == 0 || weights_storage(w, e)->absent)
        return false;
    buf_printf(out, "%" PRIu32 " %" PRIu64 " %d", e->storage, e->off,
               (int)e->dtype);
    for (uint32_t i = 0; i < e->rank; i++)
        buf_printf(out, " %" PRId64 ":%" PRId64, e->shape[i], e->strides[i]);
    return true;
}

/* "layer1.0.conv1.weight" -> "layer1.0.conv1". */
static str module_of(str fqn)
{
    for (size_t i = fqn.n; i > 0; i--)
        if (fqn.p[i - 1] == '.')
            return (str){fqn.p, i - 1};
    return str_of("");
}

/* The cell of fqn, shared with the tensors that it is tied to. */
static hull_status stored_cell(program *q, str fqn, bool tie, uint32_t *out)
{
    aten_value none = {0};
    bool placed = false;
    hull_status st = HULL_OK;
    buf key;

    if (strmap_get(&q->by_fqn, fqn, out))
        return HULL_OK;
    buf_init(&key, 4096);
    if (tie)
        placed = place_of(q->p.f, fqn, &key);
    if (!placed || !strmap_get(&q->ties, buf_view(&key), out)) {
        TRY_OUT(pt2_cell_new(&q->p, &none, out));
        q->p.cells[*out].hole = fqn;
        front_set_path(q->p.f, fqn, module_of(fqn));
        if (placed)
            TRY_OUT(strmap_set(&q->ties, buf_view(&key), *out));
    }
    st = strmap_set(&q->by_fqn, fqn, *out);
out:
    buf_fini(&key);
    return st;
}

static hull_status bind_stored(program *q, json_t *spec, const char *fqn_key,
                               bool parameter, bool kept, const char *reason)
{
    str name = text_of(json_object_get(json_object_get(spec, "arg"), "name"));
    front *f = q->p.f;
    uint32_t cell;
    str fqn;

    TRY(json_want_string(&fqn, spec, fqn_key, "input spec"));
    if (name.n == 0)
        return fail(HULL_EFORMAT, "the input of '%.*s' has no name",
                    STR_ARG(fqn));
    TRY(stored_cell(q, fqn, !kept, &cell));
    str hole = q->p.cells[cell].hole;
    front_declare(f, hole, parameter, kept, reason);
    if (!kept) {
        front_add_name(f, hole, fqn);
        front_signature_name(f, fqn);
    }
    TRY(pt2_name(&q->s, name, cell));
    return ir_status(q->p.m);
}

/* An int argument that may change: one i64, whose value is the symbol from
 * the start. */
static hull_status bind_number(program *q, str name)
{
    dim d = pt2_sym_int(&q->p, json_object_getn(json_object_get(
                                   q->s.graph, "sym_int_values"),
                                   name.p, name.n));
    type t = type_tensor(q->p.m, HULL_I64, NULL, 0);
    aten_value x = {.kind = ATEN_INT, .i = d};
    graph *g = q->p.g;
    uint32_t cell;

    if (!dim_is_symbol(q->p.m, d))
        return fail(HULL_EUNSUPPORTED, "user input %" PRIu32 " is a number "
                    "that is no plain symbol", q->n_user);
    TRY(pt2_free_range(&q->p, d));
    val v = graph_param(g, q->user_names[q->n_user], &t);
    node *n = node_new(g, OP_bind);
    node_input(g, n, v);
    node_dims(g, n, "symbols", &d, 1);
    TRY(ir_status(q->p.m));
    str label = q->user_names[q->n_user];
    n->label.p = arena_strndup(&q->p.m->a, label.p, label.n);
    n->label.n = n->label.p ? label.n : 0;
    node_add(g, n);
    TRY(ir_status(q->p.m));
    TRY(pt2_cell_new(&q->p, &x, &cell));
    q->n_user++;
    return pt2_name(&q->s, name, cell);
}

static hull_status bind_user(program *q, json_t *spec)
{
    const char *tag;
    json_t *v;

    TRY(pt2_union(json_object_get(spec, "arg"), &tag, &v, "a user input"));
    if (strcmp(tag, "as_tensor") != 0) {
        if (strcmp(tag, "as_custom_obj") == 0)
            return fail(HULL_EUNSUPPORTED, "a user input is an object");
        str name = pt2_result_name(json_object_get(spec, "arg"));
        if (strcmp(tag, "as_sym_int") == 0 && name.n)
            return bind_number(q, name);
        if (name.n)
            return fail(HULL_EUNSUPPORTED,
                        "user input %" PRIu32 " is a symbolic number (%s)",
                        q->n_user, tag);
        q->n_user++; /* burnt in by the exporter */
        return HULL_OK;
    }
    const type *t = &q->plain[q->n_tensors];
    aten_value x = {.kind = ATEN_TENSOR};
    x.v = graph_param(q->p.g, q->user_names[q->n_user],
                      &q->guarded[q->n_tensors]);
    if (!type_eq(q->p.m, t, &q->guarded[q->n_tensors]))
        x.v = op_reshape(q->p.g, x.v, t->dims, t->rank);
    uint32_t cell;
    TRY(pt2_cell_new(&q->p, &x, &cell));
    q->n_user++;
    q->n_tensors++;
    return pt2_name(&q->s, text_of(json_object_get(v, "name")), cell);
}

/* Types of the user's tensors, before any of them becomes a parameter: a guard
 * relates sizes of several. */
static hull_status user_types(program *q, json_t *specs, uint32_t n_user)
{
    json_t *spec;
    uint32_t n = 0;
    size_t i;

    q->plain = arena_array(&q->p.f->a, n_user + 1, sizeof(type));
    q->guarded = arena_array(&q->p.f->a, n_user + 1, sizeof(type));
    if (!q->plain || !q->guarded)
        return fail_oom(n_user * sizeof(type));
    json_array_foreach(specs, i, spec) {
        json_t *arg = json_object_get(json_object_get(spec, "user_input"),
                                      "arg");
        json_t *v = json_object_get(arg, "as_tensor");

        if (v)
            TRY(note(pt2_meta_type(&q->p, &q->s,
                                   text_of(json_object_get(v, "name")),
                                   &q->plain[n++]), "input spec %zu", i));
    }
    return pt2_guard_inputs(&q->p, q->plain, q->guarded, n);
}

static hull_status bind_input(program *q, const char *tag, json_t *spec)
{
    if (strcmp(tag, "user_input") == 0)
        return bind_user(q, spec);
    if (strcmp(tag, "parameter") == 0)
        return bind_stored(q, spec, "parameter_name", true, false, "parameter");
    if (strcmp(tag, "buffer") == 0) {
        bool kept = json_is_false(json_object_get(spec, "persistent"));

        return bind_stored(q, spec, "buffer_name", false, kept,
                           kept ? "buffer that no state dict holds" : "buffer");
    }
    if (strcmp(tag, "tensor_constant") == 0)
        return bind_stored(q, spec, "tensor_constant_name", false, true,
                           "constant of the exported program");
    if (strcmp(tag, "constant_input") == 0) {
        q->n_user++;
        return HULL_OK;
    }
    return fail(HULL_EUNSUPPORTED, "inputs of kind '%s' are not supported",
                tag);
}

static hull_status bind_inputs(program *q, json_t *specs)
{
    const char *tag;
    json_t *spec, *v;
    uint32_t n_user = 0;
    size_t i;

    json_array_foreach(specs, i, spec) {
        TRY(pt2_union(spec, &tag, &v, "an input spec"));
        n_user += strcmp(tag, "user_input") == 0 ||
                  strcmp(tag, "constant_input") == 0;
    }
    q->user_names = arena_array(&q->p.f->a, n_user ? n_user : 1, sizeof(str));
    if (!q->user_names)
        return fail_oom(n_user);
    TRY(pt2_input_names(q->p.f, q->module, n_user, q->user_names));
    TRY(user_types(q, specs, n_user));
    json_array_foreach(specs, i, spec) {
        TRY(pt2_union(spec, &tag, &v, "an input spec"));
        TRY(note(bind_input(q, tag, v), "input spec %zu", i));
    }
    return ir_status(q->p.m);
}

/* ---- results ------------------------------------------------------------- */

static bool is_result(const region *r, val v)
{
    for (uint32_t i = 0; i < r->n_results; i++)
        if (r->results[i] == v)
            return true;
    return false;
}

/* A result must have a name of its own: a value that has one already, because
 * it is an input, a weight or another result, is passed through a view. */
static void add_result(program *q, val v, uint32_t number)
{
    graph *g = q->p.g;
    const node *def = graph_def(g, v);
    const type *t = graph_type(g, v);
    char name[32];
    int n = snprintf(name, sizeof name, "output_%" PRIu32, number);

    v = graph_resolve(g, v);
    if (!def || def->op == OP_weight || is_result(g->body, v))
        v = op_reshape(g, v, t->dims, t->rank);
    value_set_name(g, v, (str){name, (size_t)n});
    graph_result(g, v);
}

static hull_status user_output(program *q, json_t *spec, uint32_t number)
{
    bool missing = false;
    aten_value v;
    uint32_t cell;
    graph *g = q->p.g;

    TRY(pt2_argument(&q->p, &q->s, json_object_get(spec, "arg"), &v, &cell,
                     &missing));
    if (missing)
        return HULL_OK; /* front_check_missing tells */
    if (v.kind == ATEN_INT && v.i == DIM_UNKNOWN)
        return fail(HULL_EUNSUPPORTED,
                    "output %" PRIu32 " is a size that depends on data",
                    number);
    if (v.kind == ATEN_INT)
        v.v = op_reshape(g, op_dims(g, &v.i, 1), NULL, 0);
    else if (v.kind == ATEN_FLOAT)
        v.v = op_scalar(g, HULL_F64, v.f);
    else if (v.kind == ATEN_BOOL)
        v.v = op_scalar_i64(g, HULL_BOOL, v.b);
    else if (v.kind == ATEN_OTHER && v.v)
        v.kind = ATEN_TENSOR; /* a comparison of sizes */
    else if (v.kind == ATEN_NONE || v.kind == ATEN_STR)
        return HULL_OK; /* says nothing that a run could change */
    else if (v.kind != ATEN_TENSOR)
        return fail(HULL_EUNSUPPORTED, "output %" PRIu32 " is no tensor",
                    number);
    add_result(q, v.v, number);
    return ir_status(q->p.m);
}

/* The tensor of `cell` starts each run as its stored value and becomes v. */
static hull_status add_state(program *q, uint32_t cell, val v)
{
    pt2_cell *c = &q->p.cells[cell];
    graph *g = q->p.g;

    if (!c->origin)
        c->origin = front_weight(q->p.f, c->hole);
    TRY(ir_status(q->p.m));
    front_is_parameter(q->p.f, c->origin); /* a state is never a literal */
    type t = *graph_type(g, c->origin);
    val param = graph_param(g, c->hole, &t);
    graph_replace(g, c->origin, param);
    graph_result(g, v);
    graph_set_state(g, g->body->n_params - 1, g->body->n_results - 1, c->hole);
    c->state = true;
    return ir_status(q->p.m);
}

static hull_status mutation(program *q, json_t *spec, const char *key)
{
    str name = text_of(json_object_get(json_object_get(spec, "arg"), "name"));
    uint32_t cell, from;
    str fqn;

    TRY(json_want_string(&fqn, spec, key, "output spec"));
    if (!strmap_get(&q->by_fqn, fqn, &cell) || q->p.cells[cell].state)
        return fail(HULL_EFORMAT, "'%.*s' is changed twice or is no input",
                    STR_ARG(fqn));
    TRY(pt2_lookup(&q->p, &q->s, name, &from));
    if (q->p.cells[from].missing)
        return HULL_OK;
    if (q->p.cells[from].value.kind != ATEN_TENSOR)
        return fail(HULL_EFORMAT, "new value of '%.*s' is no tensor",
                    STR_ARG(fqn));
    return add_state(q, cell, q->p.cells[from].value.v);
}

/* The caller's memory is not written: what a user input becomes in place is a
 * result of its own, behind those of the user. */
static void add_changed_input(program *q, str name, val v)
{
    graph *g = q->p.g;
    const type *t = graph_type(g, v);
    buf b;

    buf_init(&b, 4096);
    buf_puts(&b, "changed_");
    buf_str(&b, name);
    v = op_reshape(g, v, t->dims, t->rank);
    if (graph_resolve(g, v) == v && !is_result(g->body, v) && b.n)
        value_set_name(g, v, buf_view(&b));
    buf_fini(&b);
    graph_result(g, v);
}

static hull_status input_mutation(program *q, json_t *spec)
{
    str name = text_of(json_object_get(json_object_get(spec, "arg"), "name"));
    uint32_t input, from;
    str of;

    TRY(json_want_string(&of, spec, "user_input_name", "output spec"));
    TRY(pt2_lookup(&q->p, &q->s, of, &input));
    TRY(pt2_lookup(&q->p, &q->s, name, &from));
    if (q->p.cells[from].missing)
        return HULL_OK;
    if (q->p.cells[from].value.kind != ATEN_TENSOR)
        return fail(HULL_EFORMAT, "new value of '%.*s' is no tensor",
                    STR_ARG(of));
    add_changed_input(q, of, q->p.cells[from].value.v);
    return ir_status(q->p.m);
}

/* Order of results: the user's, changed inputs, states. */
typedef enum pass { PASS_USER, PASS_INPUTS, PASS_STATES, PASS_COUNT } pass;

static hull_status bind_output(program *q, const char *tag, json_t *spec,
                               pass at, uint32_t *number)
{
    if (strcmp(tag, "user_output") == 0)
        return at == PASS_USER ? user_output(q, spec, (*number)++) : HULL_OK;
    if (strcmp(tag, "buffer_mutation") == 0)
        return at == PASS_STATES ? mutation(q, spec, "buffer_name") : HULL_OK;
    if (strcmp(tag, "parameter_mutation") == 0)
        return at == PASS_STATES ? mutation(q, spec, "parameter_name")
                                 : HULL_OK;
    if (strcmp(tag, "user_input_mutation") == 0)
        return at == PASS_INPUTS ? input_mutation(q, spec) : HULL_OK;
    return fail(HULL_EUNSUPPORTED, "outputs of kind '%s' are not supported",
                tag);
}

/* In-place operators on placeholders: training IR has no output spec for
 * them. */
static hull_status implicit_mutations(program *q, json_t *inputs, pass at)
{
    json_t *in;
    size_t i;

    json_array_foreach(inputs, i, in) {
        str name = pt2_result_name(in);
        uint32_t cell = 0;

        if (name.n == 0 || !strmap_get(&q->s.names, name, &cell))
            continue;
        const pt2_cell *c = &q->p.cells[cell];
        if (q->p.groups[c->group].version == 0 || c->state ||
            (c->hole.n != 0) != (at == PASS_STATES))
            continue;
        TRY(pt2_lookup(&q->p, &q->s, name, &cell));
        val v = q->p.cells[cell].value.v;
        if (at == PASS_STATES)
            TRY(add_state(q, cell, v));
        else
            add_changed_input(q, name, v);
    }
    return ir_status(q->p.m);
}

static hull_status bind_outputs(program *q, json_t *specs, json_t *inputs,
                                json_t *outputs)
{
    const char *tag;
    json_t *spec, *v;
    uint32_t number = 0;
    size_t i;

    if (json_array_size(specs) != json_array_size(outputs))
        return fail(HULL_EFORMAT, "%zu outputs with %zu output specs",
                    json_array_size(outputs), json_array_size(specs));
    for (pass at = PASS_USER; at < PASS_COUNT; at++) {
        json_array_foreach(specs, i, spec) {
            TRY(pt2_union(spec, &tag, &v, "an output spec"));
            TRY(note(bind_output(q, tag, v, at, &number), "output spec %zu",
                     i));
        }
        if (at != PASS_USER)
            TRY(implicit_mutations(q, inputs, at));
    }
    return HULL_OK;
}

/* ---- the program --------------------------------------------------------- */

static hull_status read_program(program *q)
{
    json_t *sig, *in_specs, *out_specs, *inputs, *outputs;

    if (!json_is_object(q->root))
        return fail(HULL_EFORMAT, "model json is %s, wanted an object",
                    json_kind(q->root));
    TRY(check_version(q));
    TRY(json_want_object(&q->module, q->root, "graph_module", "program"));
    TRY(json_want_object(&q->s.graph, q->module, "graph", "graph_module"));
    TRY(json_want_object(&sig, q->module, "signature", "graph_module"));
    TRY(json_want_array(&in_specs, sig, "input_specs", "signature"));
    TRY(json_want_array(&out_specs, sig, "output_specs", "signature"));
    TRY(json_want_array(&inputs, q->s.graph, "inputs", "graph"));
    TRY(json_want_array(&outputs, q->s.graph, "outputs", "graph"));
    if (json_array_size(inputs) != json_array_size(in_specs))
        return fail(HULL_EFORMAT, "%zu inputs with %zu input specs",
                    json_array_size(inputs), json_array_size(in_specs));
    TRY(pt2_read_guards(&q->p, q->root, q->s.graph));
    TRY(bind_inputs(q, in_specs));
    TRY(pt2_nodes(&q->p, &q->s));
    TRY(bind_outputs(q, out_specs, inputs, outputs));
    graph_settle(q->p.g);
    TRY(ir_status(q->p.m));
    return front_check_missing(q->p.f);
}

hull_status pt2_import(front *f, const file *archive)
{
    program q = {.p = {.f = f, .g = f->g, .m = f->m}};
    hull_status st = read_json(&q.root, archive);

    if (st == HULL_OK)
        st = read_program(&q);
    json_free(q.root);
    strmap_fini(&q.s.names);
    strmap_fini(&q.ties);
    strmap_fini(&q.by_fqn);
    mem_free(q.p.cells);
    mem_free(q.p.groups);
    strmap_fini(&q.p.defs.names);
    mem_free(q.p.defs.dims);
    mem_free(q.p.guards);
    mem_free(q.p.pending);
    return st;
}
