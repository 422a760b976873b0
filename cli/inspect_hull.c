/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * inspect_hull.c - what is in the files that Hull writes: modules and entries
 * of the cache.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "compile/compile.h"

/* Larger sections are not read to be listed. */
#define LAZY_ABOVE ((uint64_t)1 << 20)

static hull_status show_sections(cli *c, const container *k)
{
    json_t *list = json_array();

    TRY(answer(c->result, "sections", list));
    if (!c->json)
        printf("sections: %zu\n", container_n_sections(k));
    for (size_t i = 0; i < container_n_sections(k); i++) {
        const char *tag;
        uint64_t off, stored, size;

        TRY(container_at(k, i, &tag, &off, &stored, &size));
        if (!c->json)
            printf("  %s: %" PRIu64 " bytes, %" PRIu64 " stored at %" PRIu64
                   "\n", tag, size, stored, off);
        TRY(answer_item(list, json_pack("{s:s, s:I, s:I, s:I}", "tag", tag,
                                        "bytes", (json_int_t)size, "stored",
                                        (json_int_t)stored, "offset",
                                        (json_int_t)off)));
    }
    return HULL_OK;
}

static hull_status add_text(cli *c, json_t *row, const char *key, str title,
                            const buf *text)
{
    TRY(buf_status(text));
    if (!c->json)
        printf("// %.*s: %s\n%s", STR_ARG(title), key, text->p ? text->p : "");
    return answer(row, key, json_str(buf_view(text)));
}

static hull_status show_programs(cli *c, json_t *row, str title,
                                 const engine *e)
{
    hull_status st = HULL_OK;
    buf b;

    if (!c->text)
        return HULL_OK;
    buf_init(&b, SIZE_MAX / 2);
    graph_print(&b, e->prepare);
    TRY_OUT(add_text(c, row, "prepare", title, &b));
    buf_clear(&b);
    graph_print(&b, e->main);
    TRY_OUT(add_text(c, row, "main", title, &b));
out:
    buf_fini(&b);
    return st;
}

/* ---- modules ------------------------------------------------------------- */

static hull_status show_block(cli *c, json_t *list, const plan_block *b,
                              uint32_t i)
{
    char hex[DIGEST_HEX_SIZE], title[32];
    json_t *row;

    snprintf(title, sizeof(title), "block %u", i);
    digest_hex(&b->e->key, hex);
    row = json_pack("{s:o, s:o, s:s, s:I, s:I, s:I, s:b}", "backend",
                    json_str(b->backend), "target", json_str(b->e->target),
                    "key", hex, "nodes", (json_int_t)b->n_nodes, "holes",
                    (json_int_t)b->n_holes, "engine_bytes",
                    (json_int_t)b->e->n_bytes, "rebuilt", (int)b->rebuilt);
    TRY(answer_item(list, row));
    if (!c->json)
        printf("  %s: on %.*s, %u nodes, %u holes, engine %" PRIu64
               " bytes%s\n    key %s\n    target %.*s\n", title,
               STR_ARG(b->backend), b->n_nodes, b->n_holes, b->e->n_bytes,
               b->rebuilt ? ", rebuilt for this machine" : "", hex,
               STR_ARG(str_trim(b->e->target)));
    if (c->text && !c->json)
        printf("// %s: block\n%.*s", title, (int)b->text.n, b->text.p);
    if (c->text)
        TRY(answer(row, "block", json_str(b->text)));
    return show_programs(c, row, str_of(title), b->e);
}

/* Says how a checkpoint's tensors become the hole. */
static hull_status show_hole(cli *c, json_t *list, const plan_hole *h)
{
    hull_status st = HULL_OK;
    json_t *row, *names;
    buf text, from;

    buf_init(&text, 4096);
    buf_init(&from, SIZE_MAX / 2);
    print_type(&text, h->dtype, h->rank, h->shape);
    for (uint32_t i = 0; i < h->n_names; i++)
        buf_printf(&from, "%s%.*s", i ? " = " : "", STR_ARG(h->names[i]));
    if (h->n_recipes > 0)
        buf_printf(&from, "%s%u recipe%s", from.n ? ", " : "", h->n_recipes,
                   h->n_recipes == 1 ? "" : "s");
    if (h->kept)
        buf_printf(&from, "%sown value", from.n ? ", " : "");
    TRY_OUT(buf_status(&text));
    TRY_OUT(buf_status(&from));
    if (!c->json)
        printf("  %.*s: %s <- %s\n", STR_ARG(h->name), text.p,
               from.n ? from.p : "nothing");
    names = json_array();
    row = json_pack("{s:o, s:o, s:o, s:I, s:b, s:b, s:o}", "name",
                    json_str(h->name), "type", json_str(buf_view(&text)),
                    "names", names, "recipes", (json_int_t)h->n_recipes,
                    "derived", (int)h->derived, "kept", (int)h->kept,
                    "reason", json_str(h->reason));
    TRY_OUT(answer_item(list, row));
    for (uint32_t i = 0; i < h->n_names; i++)
        TRY_OUT(answer_item(names, json_str(h->names[i])));
out:
    buf_fini(&text);
    buf_fini(&from);
    return st;
}

static hull_status show_names(cli *c, const char *key, const str *names,
                              uint32_t n)
{
    json_t *list = json_array();

    TRY(answer(c->result, key, list));
    if (!c->json)
        printf("%s:", key);
    for (uint32_t i = 0; i < n; i++) {
        if (!c->json)
            printf(" %.*s", STR_ARG(names[i]));
        TRY(answer_item(list, json_str(names[i])));
    }
    if (!c->json)
        putchar('\n');
    return HULL_OK;
}

static hull_status show_plan(cli *c, const plan *p)
{
    json_t *blocks = json_array(), *holes = json_array();

    TRY(answer(c->result, "blocks", blocks));
    TRY(answer(c->result, "holes", holes));
    TRY(answer(c->result, "format", json_str(p->format)));
    TRY(answer(c->result, "producer", json_str(p->producer)));
    TRY(show_names(c, "inputs", p->inputs, plan_n_inputs(p)));
    TRY(show_names(c, "outputs", p->outputs, plan_n_outputs(p)));
    if (!c->json)
        printf("blocks: %u\n", p->n_blocks);
    for (uint32_t i = 0; i < p->n_blocks; i++)
        TRY(show_block(c, blocks, &p->blocks[i], i));
    if (!c->json)
        printf("holes: %u\n", p->n_holes);
    for (uint32_t i = 0; i < p->n_holes; i++)
        TRY(show_hole(c, holes, &p->holes[i]));
    return HULL_OK;
}

hull_status inspect_module(cli *c, const char *path)
{
    file f = { 0 };
    container *k = NULL;
    devices ds = { 0 };
    plan *p = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(file_map(&f, path));
    TRY_OUT(note(container_open(&k, (bytes){ f.p, (size_t)f.size },
                                LAZY_ABOVE), "reading %s", path));
    if (!c->json)
        printf("module %s, %" PRIu64 " bytes\n", path, f.size);
    TRY_OUT(answer(c->result, "kind", json_string("module")));
    TRY_OUT(answer(c->result, "bytes", json_integer((json_int_t)f.size)));
    TRY_OUT(show_sections(c, k));
    TRY_OUT(devices_open(&ds, c->options));
    TRY_OUT(note(plan_read(&p, k, &ds, NULL), "reading %s", path));
    TRY_OUT(show_plan(c, p));
out:
    plan_free(p);
    devices_close(&ds);
    container_free(k);
    file_close(&f);
    return st;
}

/* ---- entries of the cache ------------------------------------------------ */

static hull_status show_engine(cli *c, const engine *e)
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex(&e->key, hex);
    TRY(answer(c->result, "key", json_string(hex)));
    TRY(answer(c->result, "backend", json_str(e->backend)));
    TRY(answer(c->result, "target", json_str(e->target)));
    TRY(answer(c->result, "preimage", json_str(buf_view(&e->preimage))));
    TRY(answer(c->result, "holes", json_integer(e->prepare->body->n_params)));
    TRY(answer(c->result, "slots", json_integer(e->prepare->body->n_results)));
    if (c->json)
        return show_programs(c, c->result, str_of("engine"), e);
    printf("key %s\non %.*s, %u holes, %u slots\ntarget %.*s\n", hex,
           STR_ARG(e->backend), e->prepare->body->n_params,
           e->prepare->body->n_results, STR_ARG(str_trim(e->target)));
    if (c->text)
        printf("// preimage of the key\n%s", e->preimage.p);
    return show_programs(c, c->result, str_of("engine"), e);
}

hull_status inspect_engine(cli *c, const char *path)
{
    file f = { 0 };
    container *k = NULL;
    engine *e = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(file_map(&f, path));
    TRY_OUT(note(container_open(&k, (bytes){ f.p, (size_t)f.size },
                                LAZY_ABOVE), "reading %s", path));
    if (!c->json)
        printf("engine %s, %" PRIu64 " bytes\n", path, f.size);
    TRY_OUT(answer(c->result, "kind", json_string("engine")));
    TRY_OUT(answer(c->result, "bytes", json_integer((json_int_t)f.size)));
    TRY_OUT(show_sections(c, k));
    TRY_OUT(note(engine_read(&e, k), "reading %s", path));
    TRY_OUT(show_engine(c, e));
out:
    engine_unref(e);
    container_free(k);
    file_close(&f);
    return st;
}

hull_status inspect_text(cli *c, const char *path, const char *kind,
                         const char *section)
{
    const char *const tags[] = { "key", section };
    file f = { 0 };
    container *k = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(file_map(&f, path));
    TRY_OUT(note(container_open(&k, (bytes){ f.p, (size_t)f.size },
                                LAZY_ABOVE), "reading %s", path));
    if (!c->json)
        printf("%s %s, %" PRIu64 " bytes\n", kind, path, f.size);
    TRY_OUT(answer(c->result, "kind", json_string(kind)));
    TRY_OUT(answer(c->result, "bytes", json_integer((json_int_t)f.size)));
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        bytes text;
        str s;

        TRY_OUT(note(container_get(k, tags[i], NOTES_MAX, &text),
                     "reading %s", path));
        s = (str){ (const char *)text.p, text.n };
        if (!c->json)
            printf("%s:\n%.*s%s", tags[i], (int)s.n, s.p,
                   str_ends(s, "\n") ? "" : "\n");
        TRY_OUT(answer(c->result, tags[i], json_str(s)));
    }
out:
    container_free(k);
    file_close(&f);
    return st;
}
