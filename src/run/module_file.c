/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module_file.c - saves, loads and describes modules. A file has the plan and,
 * as asked, the weights in up to three forms: sources, prepared slots, a link
 * to a checkpoint. Loading prefers slots, then sources, then the link; no file
 * names another file to open.
 */
#include "run/module_file.h"

#include <inttypes.h>
#include <string.h>

#define LINK_WHAT "section 'link'"
#define SAVE_FLAGS \
    ((unsigned)HULL_SAVE_SOURCES | HULL_SAVE_PREPARED | HULL_SAVE_LINK)

/* ---- saving -------------------------------------------------------------- */

/* Folder-free name of the checkpoint's file, as a hint for people. */
static const char *hint_of(const weights *w)
{
    return weights_n_files(w) > 0 ? path_base(weights_file(w, 0)->path) : "";
}

static hull_status link_write(container_writer *cw, const binding *b)
{
    hull_status st = HULL_OK;
    char hex[DIGEST_HEX_SIZE];
    json_t *top = NULL;
    digest d;

    if (b->n_w != 1)
        return fail(HULL_EINVAL, "the weights come from %u checkpoints, a "
                    "link names one: refit with a full one before saving",
                    b->n_w);
    if (weights_kind(b->w[0]) == WEIGHTS_HULL)
        return fail(HULL_EINVAL, "the weights come from a module file, a "
                    "link names a checkpoint: refit with it before saving");
    for (size_t i = 0; i < weights_count(b->w[0]); i++)
        TRY(tensor_is_there(b->w[0], weights_at(b->w[0], i)));
    TRY(weights_digest(b->w[0], &d));
    digest_hex(&d, hex);
    TRY_OUT(json_new(&top));
    TRY_OUT(json_put(top, "digest", json_string(hex)));
    TRY_OUT(json_put(top, "name", json_text(str_of(hint_of(b->w[0])))));
    TRY_OUT(section_add_json(cw, "link", top));
out:
    json_free(top);
    return st;
}

/* Adds what the flags ask for and writes the file. */
static hull_status save_set(container_writer *cw, module *m,
                            const weight_set *s, const char *path,
                            unsigned flags)
{
    const unsigned by_name = HULL_SAVE_SOURCES | HULL_SAVE_LINK;
    sources_writer *sources = NULL;
    slots_writer *slots = NULL;
    weight_set *filled = NULL;
    hull_status st = HULL_OK;

    if ((flags & by_name) != 0) {
        if (s->bound == NULL)
            return fail(HULL_EINVAL, "the module no longer has its "
                        "checkpoint: keep_sources=on is needed to save "
                        "sources or a link");
        TRY(binding_write(cw, m->plan, s->bound));
    }
    if ((flags & HULL_SAVE_LINK) != 0)
        TRY_OUT(link_write(cw, s->bound));
    if ((flags & HULL_SAVE_SOURCES) != 0)
        TRY_OUT(sources_write(&sources, cw, m->plan, s->bound));
    if ((flags & HULL_SAVE_PREPARED) != 0 && s->stream != NULL)
        TRY_OUT(module_filled(&filled, m, s));
    if ((flags & HULL_SAVE_PREPARED) != 0)
        TRY_OUT(slots_write(&slots, cw, m, filled != NULL ? filled : s));
    TRY_OUT(container_write(cw, path));
out:
    sources_writer_free(sources);
    slots_writer_free(slots);
    set_free(filled);
    return st;
}

hull_status module_save(module *m, const char *path, unsigned flags)
{
    hull_status st = HULL_OK;
    container_writer *cw = NULL;
    weight_set *s = NULL;

    if ((flags & ~SAVE_FLAGS) != 0)
        return fail(HULL_EINVAL, "save flags are 0x%x, known ones are 0x%x",
                    flags, SAVE_FLAGS);
    if (flags != 0)
        TRY(module_pin(&s, m));
    TRY_OUT(container_writer_new(&cw, CONTAINER_MODULE));
    TRY_OUT(plan_write(cw, m->plan));
    if (s != NULL)
        st = save_set(cw, m, s, path, flags);
    else
        st = container_write(cw, path);
out:
    container_writer_free(cw);
    module_unpin(m, s);
    return st;
}

/* ---- loading ------------------------------------------------------------- */

/* The caller's checkpoint must be the one that was linked. */
static hull_status link_check(container *c, const weights *linked)
{
    char want_hex[DIGEST_HEX_SIZE], hex[DIGEST_HEX_SIZE];
    hull_status st = HULL_OK;
    digest want, found;
    json_t *top;
    str name;

    TRY(section_get_json(&top, c, "link"));
    TRY_OUT(json_want_digest(&want, top, "digest", LINK_WHAT));
    TRY_OUT(json_want_string(&name, top, "name", LINK_WHAT));
    digest_hex(&want, want_hex);
    if (linked == NULL) {
        log_warn("module", "the module is linked to checkpoint '%.*s' of "
                 "digest %s, which was not given: it has no weights",
                 STR_ARG(name), want_hex);
        goto out;
    }
    TRY_OUT(weights_digest(linked, &found));
    digest_hex(&found, hex);
    if (!digest_eq(&want, &found))
        st = fail(HULL_EBIND, "%s has digest %s, the module is linked to "
                  "'%.*s' of digest %s", weights_label(linked), hex,
                  STR_ARG(name), want_hex);
out:
    json_free(top);
    return st;
}

/* What binds the file's own tensors or the linked checkpoint's; NULL when
 * there is neither. */
static hull_status bind_loaded(binding **out, container *c, const plan *p,
                               weights *own, weights *linked)
{
    bool has_link = container_has(c, "link");

    *out = NULL;
    if (has_link && linked != NULL)
        TRY(link_check(c, linked));
    if (container_has(c, "sources.index"))
        return binding_read(out, c, p, own, HULL_EFORMAT);
    if (has_link && linked != NULL)
        return binding_read(out, c, p, linked, HULL_EBIND);
    return HULL_OK;
}

static hull_status fill_loaded(module *m, container *c, file *f,
                               weights *linked, const options *o)
{
    hull_status st = HULL_OK;
    weights *own = NULL;
    weight_set *s;
    binding *b = NULL;
    bool fits;

    if (option_on(o, OPT_strip_weights))
        return HULL_OK;
    if (linked != NULL && !container_has(c, "link"))
        return module_refit(m, linked, o, NULL);
    TRY_OUT(slots_fit(&fits, c, m->plan));
    if (fits || container_has(c, "sources.index"))
        TRY_OUT(sources_open(&own, c, f));
    TRY_OUT(bind_loaded(&b, c, m->plan, own, linked));
    if (fits) {
        TRY_OUT(slots_read(&s, c, m, own, b));
        (void)module_publish(m, s, false);
    } else if (b != NULL) {
        st = module_fill_bound(m, b, o);
    } else if (container_has(c, "link")) {
        st = link_check(c, NULL);
    } else if (container_has(c, "slots.index")) {
        log_warn("module", "the file has slots for another target only: the "
                 "module has no weights, refit it");
    }
out:
    weights_unref(own);
    return st;
}

/* The backends that o names, and those that the file's engines are for. */
static hull_status open_devices(devices *out, container *c, const options *o)
{
    hull_status st = HULL_OK;
    options *mine = NULL;
    buf names;

    *out = (devices){0};
    buf_init(&names, 64 * 1024);
    TRY_OUT(plan_file_backends(&names, c, o));
    TRY_OUT(options_copy(&mine, o));
    TRY_OUT(hull_options_set(mine, "backends", names.p));
    st = devices_open(out, mine);
    if (st == HULL_EDEVICE) { /* a device that this machine lacks */
        log_warn("module", "%s", error_text());
        st = devices_open(out, o);
    }
out:
    buf_fini(&names);
    options_free(mine);
    return st;
}

static hull_status load(module **out, container *c, file *f, weights *linked,
                        cache *ch, const options *o)
{
    hull_status st = HULL_OK;
    devices ds = {0};
    module *m = NULL;
    plan *p;

    if (container_kind_of(c) != CONTAINER_MODULE)
        return fail(HULL_EFORMAT, "file is an engine, wanted a module");
    TRY_OUT(open_devices(&ds, c, o));
    TRY_OUT(plan_read(&p, c, &ds, ch));
    TRY_OUT(module_new(&m, p, &ds));
    TRY_OUT(fill_loaded(m, c, f, linked, o));
    *out = m;
    m = NULL;
out:
    module_unref(m);
    devices_close(&ds);
    return st;
}

hull_status module_load(module **out, const char *path, weights *linked,
                        cache *c, const options *o)
{
    hull_status st = HULL_OK;
    container *sections = NULL;
    file f = {.fd = -1};

    *out = NULL;
    TRY(file_map(&f, path));
    TRY_OUT(container_open(&sections, (bytes){f.p, f.size}, UINT64_MAX));
    st = load(out, sections, &f, linked, c, o);
out:
    container_free(sections);
    file_close(&f);
    return st;
}

/* ---- describing ---------------------------------------------------------- */

static hull_status put_interface(json_t *top, const char *key,
                                 const hull_tensor_info *info, uint32_t n)
{
    json_t *list, *row;

    TRY(json_put_array(&list, top, key));
    for (uint32_t i = 0; i < n; i++) {
        TRY(json_push(list, row = json_object()));
        TRY(json_put(row, "name", json_text(str_of(info[i].name))));
        TRY(json_put(row, "type", json_text(str_of(info[i].type_text))));
    }
    return HULL_OK;
}

static hull_status put_block(json_t *list, const plan_block *b)
{
    char hex[DIGEST_HEX_SIZE];
    json_t *row;

    digest_hex(&b->e->key, hex);
    TRY(json_push(list, row = json_object()));
    TRY(json_put(row, "backend", json_text(b->backend)));
    TRY(json_put(row, "target", json_text(b->e->target)));
    TRY(json_put(row, "key", json_string(hex)));
    TRY(json_put(row, "nodes", json_integer(b->n_nodes)));
    TRY(json_put(row, "hit", json_boolean(b->hit)));
    TRY(json_put(row, "rebuilt", json_boolean(b->rebuilt)));
    TRY(json_put(row, "engine_bytes",
                 json_integer((json_int_t)b->e->n_bytes)));
    return json_put(row, "build_seconds", json_real(b->e->build_seconds));
}

/* Sums over the blocks; an engine that several share counts once. */
typedef struct totals {
    uint64_t engine_bytes, slots, slot_bytes, kept;
    bool all_hit;
} totals;

static totals add_up(const plan *p)
{
    totals t = {.all_hit = true};

    for (uint32_t i = 0; i < p->n_blocks; i++) {
        const engine *e = p->blocks[i].e;
        uint32_t first = 0;

        while (p->blocks[first].e != e)
            first++;
        if (first == i)
            t.engine_bytes += e->n_bytes;
        t.all_hit = t.all_hit && p->blocks[i].hit;
        t.slots += e->prepare->body->n_results;
        for (uint32_t k = 0; k < e->prepare->body->n_results; k++)
            t.slot_bytes += static_bytes(
                graph_type(e->prepare, e->prepare->body->results[k]));
    }
    for (uint32_t i = 0; i < p->n_holes; i++)
        t.kept += p->holes[i].kept_value != NULL;
    return t;
}

static hull_status put_totals(json_t *top, const plan *p)
{
    totals t = add_up(p);

    TRY(json_put(top, "cache", json_string(!p->asked_cache ? "none"
                                           : t.all_hit     ? "hit"
                                                           : "miss")));
    TRY(json_put(top, "direct", json_boolean(p->direct)));
    TRY(json_put(top, "engine_bytes",
                 json_integer((json_int_t)t.engine_bytes)));
    TRY(json_put(top, "import_seconds", json_real(p->import_seconds)));
    TRY(json_put(top, "compile_seconds", json_real(p->compile_seconds)));
    TRY(json_put(top, "holes", json_integer(p->n_holes)));
    TRY(json_put(top, "kept", json_integer((json_int_t)t.kept)));
    TRY(json_put(top, "slots", json_integer((json_int_t)t.slots)));
    return json_put(top, "slot_bytes", json_integer((json_int_t)t.slot_bytes));
}

/* What a run has to do before it can use the slots. */
static hull_status put_filling(json_t *top, const module *m,
                               const weight_set *s)
{
    uint64_t window = 0;

    TRY(json_put(top, "filled", json_boolean(s != NULL && s->stream == NULL)));
    for (uint32_t i = 0; s != NULL && s->stream != NULL && i < m->devices.n;
         i++)
        window += stream_window(s->stream, i);
    return json_put(top, "window_bytes", json_integer((json_int_t)window));
}

static hull_status put_fallbacks(json_t *top, const plan *p)
{
    json_t *list, *row;

    TRY(json_put_array(&list, top, "fallbacks"));
    for (uint32_t i = 0; i < p->n_fallbacks; i++) {
        TRY(json_push(list, row = json_object()));
        TRY(json_put(row, "node", json_text(p->fallbacks[i].node)));
        TRY(json_put(row, "op", json_text(p->fallbacks[i].op)));
        TRY(json_put(row, "reason", json_text(p->fallbacks[i].reason)));
    }
    return HULL_OK;
}

/* The current set, also one that went stale; NULL without one. */
static weight_set *current_set(module *m)
{
    weight_set *s;

    pthread_mutex_lock(&m->lock);
    s = m->current != NULL ? set_ref(m->current) : NULL;
    pthread_mutex_unlock(&m->lock);
    return s;
}

hull_status module_describe(buf *out, module *m)
{
    weight_set *s = current_set(m);
    const plan *p = m->plan;
    hull_status st = HULL_OK;
    json_t *top = NULL, *blocks;

    TRY_OUT(json_new(&top));
    TRY_OUT(put_interface(top, "inputs", p->input_info,
                          plan_n_inputs(p)));
    TRY_OUT(put_interface(top, "outputs", p->output_info,
                          plan_n_outputs(p)));
    TRY_OUT(json_put(top, "format", json_text(p->format)));
    TRY_OUT(json_put(top, "producer", json_text(p->producer)));
    TRY_OUT(json_put(top, "version",
                     json_integer(s != NULL ? (json_int_t)s->version : 0)));
    TRY_OUT(json_put(top, "label",
                     json_text(str_of(s != NULL ? s->label : ""))));
    TRY_OUT(json_put_array(&blocks, top, "blocks"));
    for (uint32_t i = 0; i < p->n_blocks; i++)
        TRY_OUT(put_block(blocks, &p->blocks[i]));
    TRY_OUT(put_totals(top, p));
    TRY_OUT(put_filling(top, m, s));
    TRY_OUT(put_fallbacks(top, p));
    st = json_print(out, top);
out:
    json_free(top);
    module_unpin(m, s);
    return st;
}
