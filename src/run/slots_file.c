/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * slots_file.c - prepared slots inside a module file: a set that is saved and
 * mapped again without running a prepare program. Slots are what one engine
 * made for one target, so each block's slots carry its engine's key, and a
 * block with another key here makes all of them useless.
 */
#include "run/module_file.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#define SLOT_ALIGN PLACE_ALIGN
#define SLOTS_WHAT "section 'slots.index'"

/* ---- writing ------------------------------------------------------------- */

typedef struct piece {
    uint32_t block;
    place at;
    uint64_t off;        /* in section "slots" */
} piece;

struct slots_writer {
    module *m;
    piece *p;
    size_t n, at;
    uint64_t end;
    stream **streams;    /* per device of the module */
};

static uint32_t n_slots_of(const plan *p, uint32_t block)
{
    return p->blocks[block].e->prepare->body->n_results;
}

static stream *stream_of(slots_writer *sw, uint32_t block)
{
    const devices *ds = &sw->m->devices;
    const device *d = module_device(sw->m, block);

    for (uint32_t i = 0; i < ds->n; i++)
        if (ds->d[i] == d)
            return sw->streams[i];
    return NULL;
}

static hull_status download(slots_writer *sw, const piece *p, uint64_t off,
                            void *dst, uint64_t n)
{
    const backend *be = module_device(sw->m, p->block)->be;
    place part = {p->at.buffer, p->at.off + off, n};
    stream *s = stream_of(sw, p->block);

    TRY(be->download(s, dst, part));
    return be->stream_sync(s);
}

/* section_source: pieces come in order. */
static hull_status slots_piece(void *user, uint64_t off, void *dst, size_t n)
{
    slots_writer *sw = user;
    uint8_t *to = dst;

    memset(to, 0, n);
    for (; sw->at < sw->n; sw->at++) {
        const piece *p = &sw->p[sw->at];
        uint64_t first, last, end = p->off + p->at.size;

        if (p->off >= off + n)
            break;
        if (end > off) {
            first = p->off > off ? p->off : off;
            last = end < off + n ? end : off + n;
            TRY(download(sw, p, first - p->off, to + (first - off),
                         last - first));
        }
        if (end > off + n)
            break;
    }
    if (off + n >= sw->end)
        sw->at = 0;
    return HULL_OK;
}

static hull_status writer_new(slots_writer **out, module *m,
                              const weight_set *set)
{
    slots_writer *sw = mem_calloc(1, sizeof *sw);
    size_t n = 0;

    *out = sw;
    if (sw == NULL)
        return fail_oom(sizeof *sw);
    sw->m = m;
    sw->streams = mem_calloc(m->devices.n, sizeof(*sw->streams));
    for (uint32_t i = 0; i < m->plan->n_blocks; i++)
        n += n_slots_of(m->plan, i);
    sw->p = mem_calloc(n + 1, sizeof *sw->p);
    if (sw->streams == NULL || sw->p == NULL)
        return fail_oom(n * sizeof *sw->p);
    for (uint32_t i = 0; i < m->devices.n; i++)
        TRY(m->devices.d[i]->be->stream_new(&sw->streams[i],
                                            m->devices.d[i]));
    for (uint32_t b = 0; b < m->plan->n_blocks; b++)
        for (uint32_t i = 0; i < n_slots_of(m->plan, b); i++) {
            place at = set->block_slots[b][i];

            sw->p[sw->n++] = (piece){b, at, sw->end};
            sw->end = round_up(sw->end + at.size, SLOT_ALIGN);
        }
    return HULL_OK;
}

static hull_status put_block(json_t *list, slots_writer *sw, uint32_t block,
                             const engine *e)
{
    char hex[DIGEST_HEX_SIZE];
    json_t *row, *offsets;

    digest_hex(&e->key, hex);
    TRY(json_push(list, row = json_object()));
    TRY(json_put(row, "key", json_string(hex)));
    TRY(json_put_array(&offsets, row, "offsets"));
    for (size_t i = 0; i < sw->n; i++)
        if (sw->p[i].block == block)
            TRY(json_push(offsets,
                          json_integer((json_int_t)sw->p[i].off)));
    return HULL_OK;
}

hull_status slots_write(slots_writer **out, container_writer *cw, module *m,
                        const weight_set *set)
{
    hull_status st = HULL_OK;
    slots_writer *sw = NULL;
    json_t *top = NULL, *list;

    *out = NULL;
    TRY_OUT(writer_new(&sw, m, set));
    TRY_OUT(json_new(&top));
    TRY_OUT(json_put(top, "label", json_text(str_of(set->label))));
    TRY_OUT(json_put_array(&list, top, "blocks"));
    for (uint32_t i = 0; i < m->plan->n_blocks; i++)
        TRY_OUT(put_block(list, sw, i, m->plan->blocks[i].e));
    TRY_OUT(section_add_json(cw, "slots.index", top));
    TRY_OUT(container_add_stream(cw, "slots", sw->end, slots_piece, sw));
    *out = sw;
    sw = NULL;
out:
    json_free(top);
    slots_writer_free(sw);
    return st;
}

void slots_writer_free(slots_writer *sw)
{
    if (sw == NULL)
        return;
    for (uint32_t i = 0; sw->streams != NULL && i < sw->m->devices.n; i++)
        sw->m->devices.d[i]->be->stream_free(sw->streams[i]);
    mem_free(sw->streams);
    mem_free(sw->p);
    mem_free(sw);
}

/* ---- reading ------------------------------------------------------------- */

static hull_status want_blocks(json_t **out, json_t *top, const plan *p)
{
    TRY(json_want_array(out, top, "blocks", SLOTS_WHAT));
    if (json_array_size(*out) != p->n_blocks)
        return fail(HULL_EFORMAT, SLOTS_WHAT " has %zu blocks, the module %u",
                    json_array_size(*out), p->n_blocks);
    return HULL_OK;
}

hull_status slots_fit(bool *out, container *c, const plan *p)
{
    hull_status st = HULL_OK;
    json_t *top, *list;

    *out = false;
    if (!container_has(c, "slots.index"))
        return HULL_OK;
    TRY(section_get_json(&top, c, "slots.index"));
    TRY_OUT(want_blocks(&list, top, p));
    *out = true;
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        digest key;

        TRY_OUT(json_want_digest(&key, json_array_get(list, i), "key",
                                 SLOTS_WHAT));
        *out = *out && !p->blocks[i].rebuilt &&
               digest_eq(&key, &p->blocks[i].e->key);
    }
out:
    json_free(top);
    return st;
}

/* A set in the making. */
typedef struct slots_reader {
    module *m;
    weights *w;          /* holds the mapped file */
    const uint8_t *base; /* of section "slots" */
    uint64_t size;
    json_t *blocks;
    weight_set *set;
    uint32_t next_group;
} slots_reader;

/* Size of a slot; engine_read has seen that its type is static. */
static hull_status slot_bytes(uint64_t *out, const plan *p, uint32_t block,
                              uint32_t slot)
{
    const graph *prep = p->blocks[block].e->prepare;
    const type *t = graph_type(prep, prep->body->results[slot]);
    uint64_t numel = 1;
    bool fits = true;

    for (uint32_t i = 0; i < t->rank; i++)
        fits = fits && t->dims[i] >= 0 &&
               mul_u64(&numel, numel, (uint64_t)t->dims[i]);
    if (!fits || !dtype_bytes(out, t->dtype, numel))
        return fail(HULL_EFORMAT, "slot %u of block %u is too large", slot,
                    block);
    return HULL_OK;
}

static hull_status slot_source(const void **out, uint64_t *out_size,
                               slots_reader *r, uint32_t block, uint32_t slot)
{
    json_t *row = json_array_get(r->blocks, block), *offsets, *v;
    json_int_t off;

    *out = NULL;
    TRY(slot_bytes(out_size, r->m->plan, block, slot));
    TRY(json_want_array(&offsets, row, "offsets", SLOTS_WHAT));
    v = json_array_get(offsets, slot);
    off = json_integer_value(v);
    if (json_array_size(offsets) != n_slots_of(r->m->plan, block) ||
        !json_is_integer(v) || off < 0 || (uint64_t)off > r->size ||
        off % SLOT_ALIGN != 0 || *out_size > r->size - (uint64_t)off)
        return fail(HULL_EFORMAT, "slot %u of block %u has %" PRIu64
                    " bytes and lies at no place of section 'slots'", slot,
                    block, *out_size);
    *out = r->base + off;
    return HULL_OK;
}

/* In place where the backend can, else a copy. */
static hull_status make_slot(slots_reader *r, slot_group *g, uint32_t at,
                             device *d, const void *src, uint64_t size)
{
    const backend *be = d->be;
    hull_status st;
    stream *s;

    g->slots[at].size = size;
    if (be->reads_host) {
        if (g->borrowed == NULL)
            g->borrowed = weights_ref(r->w);
        r->set->borrows = true;
        return be->buffer_wrap(&g->slots[at].buffer, d, src, size);
    }
    TRY(be->buffer_new(&g->slots[at].buffer, d, size));
    TRY(be->stream_new(&s, d));
    st = be->upload(s, g->slots[at], src);
    if (st == HULL_OK)
        st = be->stream_sync(s);
    be->stream_free(s);
    return st;
}

/* The next group: slots of one block, by their numbers. */
static hull_status read_group(slots_reader *r, uint32_t block,
                              const uint32_t *slots, uint32_t n)
{
    device *d = module_device(r->m, block);
    slot_group *g = mem_calloc(1, sizeof *g);

    if (g == NULL)
        return fail_oom(sizeof *g);
    atomic_init(&g->refs, 1);
    g->be = d->be;
    r->set->groups[r->next_group++] = g;
    r->set->n_groups = r->next_group;
    g->slots = mem_calloc(n + 1, sizeof *g->slots);
    if (g->slots == NULL)
        return fail_oom(n * sizeof *g->slots);
    g->n_slots = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = slots != NULL ? slots[i] : i;
        const void *src;
        uint64_t size;

        TRY(slot_source(&src, &size, r, block, slot));
        TRY(make_slot(r, g, i, d, src, size));
        r->set->block_slots[block][slot] = g->slots[i];
    }
    return HULL_OK;
}

/* Group by unit, as a refit would have made them, and stamped: a later refit
 * from the same file shares the units. */
static hull_status read_units(slots_reader *r, fill_plan *fp,
                              const binding *b)
{
    for (uint32_t i = 0; i < fp->n_units; i++) {
        const fill_unit *u = &fp->units[i];

        TRY(read_group(r, u->block, u->slots, u->n_slots));
        stamp_sources(r->set->stamps, u, b);
    }
    r->set->fill = fill_plan_ref(fp);
    return HULL_OK;
}

static hull_status set_new(slots_reader *r, const fill_plan *fp)
{
    const plan *p = r->m->plan;
    uint32_t n = fp != NULL ? fp->n_units : p->n_blocks;
    size_t stamps = fp != NULL ? fp->n_sources : 0;
    weight_set *s = mem_calloc(1, sizeof *s);

    r->set = s;
    if (s == NULL)
        return fail_oom(sizeof *s);
    atomic_init(&s->refs, 1);
    s->groups = mem_calloc(n + 1, sizeof(*s->groups));
    s->stamps = mem_calloc(stamps + 1, sizeof *s->stamps);
    s->block_slots = mem_calloc(p->n_blocks + 1, sizeof(*s->block_slots));
    if (s->groups == NULL || s->stamps == NULL || s->block_slots == NULL)
        return fail_oom(n * sizeof(*s->groups));
    s->n_blocks = p->n_blocks;
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        s->block_slots[i] = mem_calloc(n_slots_of(p, i) + 1, sizeof(place));
        if (s->block_slots[i] == NULL)
            return fail_oom(n_slots_of(p, i) * sizeof(place));
    }
    return HULL_OK;
}

static hull_status read_set(slots_reader *r, json_t *top, fill_plan *fp,
                            const binding *b)
{
    str label;

    TRY(set_new(r, fp));
    TRY(json_want_string(&label, top, "label", SLOTS_WHAT));
    r->set->label = mem_strndup(label.p, label.n);
    if (r->set->label == NULL)
        return fail_oom(label.n);
    TRY(want_blocks(&r->blocks, top, r->m->plan));
    if (fp != NULL)
        return read_units(r, fp, b);
    for (uint32_t i = 0; i < r->m->plan->n_blocks; i++)
        TRY(read_group(r, i, NULL, n_slots_of(r->m->plan, i)));
    return HULL_OK;
}

hull_status slots_read(weight_set **out, container *c, module *m, weights *w,
                       binding *b)
{
    slots_reader r = {.m = m, .w = w};
    fill_plan *fp = NULL;
    hull_status st = HULL_OK;
    json_t *top = NULL;
    uint64_t off;

    *out = NULL;
    TRY_OUT(container_place(c, "slots", &off, &r.size));
    r.base = weights_file(w, 0)->p + off;
    TRY_OUT(section_get_json(&top, c, "slots.index"));
    if (b != NULL)
        TRY_OUT(fill_plan_make(&fp, m->plan, b, &m->devices));
    TRY_OUT(read_set(&r, top, fp, b));
    if (fp != NULL) {
        m->fill = fp;
        fp = NULL;
    }
    r.set->bound = b;
    b = NULL;
    *out = r.set;
    r.set = NULL;
out:
    fill_plan_unref(fp);
    json_free(top);
    set_free(r.set);
    binding_unref(b);
    return st;
}
