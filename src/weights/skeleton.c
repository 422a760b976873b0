/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * skeleton.c - a model file without its payloads, as a digest: what decides an
 * import beside the values that it reads.
 *
 *   piece    := 'b' N:u64 0:u64 byte{N}      bytes as they stand
 *             | 'p' OFF:u64 N:u64            a payload, left out
 *   member   := 'm' N:u64 CRC:u64 name{N} 'o' OFF:u64 SIZE:u64 piece*
 *   onnx     := piece*                       of the whole file
 *   pt2      := member*                      in the order of the directory
 *
 * Payloads are the storages that a reader marked so. A member with payload has
 * CRC 0, one that is a zip itself has members in place of pieces, and those
 * that nothing reads have no pieces. What lies between the members is framing.
 */
#include <stdlib.h>
#include <string.h>

#include "weights/index.h"

typedef struct range {
    uint64_t off, end;
} range;

typedef struct skeleton {
    digester d;
    const file *f;
    range *payloads; /* ascending, apart */
    size_t n;
    uint64_t hashed;
} skeleton;

static void put(skeleton *s, char tag, uint64_t a, uint64_t b)
{
    uint8_t p[17] = { (uint8_t)tag };

    le_put(p + 1, a, 8);
    le_put(p + 9, b, 8);
    digest_update(&s->d, p, sizeof p);
}

static void put_bytes(skeleton *s, uint64_t from, uint64_t to)
{
    if (from >= to)
        return;
    put(s, 'b', to - from, 0);
    digest_update(&s->d, s->f->p + from, to - from);
    s->hashed += to - from;
}

/* The first payload that ends behind `at`. */
static size_t payload_after(const skeleton *s, uint64_t at)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->payloads[mid].end > at)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static void put_pieces(skeleton *s, uint64_t from, uint64_t to)
{
    for (size_t i = payload_after(s, from); i < s->n; i++) {
        const range *r = &s->payloads[i];
        uint64_t end = r->end < to ? r->end : to;

        if (r->off >= to)
            break;
        put_bytes(s, from, r->off);
        put(s, 'p', r->off, end - r->off);
        from = end;
    }
    put_bytes(s, from, to);
}

static int by_place(const void *a, const void *b)
{
    const range *x = a, *y = b;

    return (x->off > y->off) - (x->off < y->off);
}

/* The payloads of file 0 among the first n storages, merged. */
static hull_status list_payloads(skeleton *s, const weights *w, size_t n)
{
    size_t k = 0;

    s->payloads = mem_calloc(n + 1, sizeof *s->payloads);
    if (!s->payloads)
        return fail_oom(n * sizeof *s->payloads);
    for (size_t i = 0; i < n; i++) {
        const weight_storage *g = &w->storages[i];

        if (g->payload && g->file == 0 && g->len)
            s->payloads[s->n++] = (range){ g->off, g->off + g->len };
    }
    if (s->n)
        qsort(s->payloads, s->n, sizeof *s->payloads, by_place);
    for (size_t i = 1; i < s->n; i++) {
        range *last = &s->payloads[k], *r = &s->payloads[i];

        if (r->off > last->end)
            s->payloads[++k] = *r;
        else if (r->end > last->end)
            last->end = r->end;
    }
    s->n = s->n ? k + 1 : 0;
    return HULL_OK;
}

/* ---- members of an archive ----------------------------------------------- */

/* What differs in every export and nothing reads. */
static bool is_id(str name)
{
    return str_ends(name, "/.data/serialization_id");
}

static bool is_sample(str name)
{
    str rest;

    str_split(name, '/', &rest);
    return str_starts(rest, "data/sample_inputs/") && !str_ends(name, ".json");
}

/* Has it payload? */
static bool put_member(skeleton *s, const zip_entry *e, uint64_t base,
                       bool unread)
{
    uint64_t from = base + e->off, to = from + e->size;
    size_t i = payload_after(s, from);
    bool has_payload = i < s->n && s->payloads[i].off < to;

    put(s, 'm', e->name.n, has_payload || unread ? 0 : e->crc);
    digest_update(&s->d, e->name.p, e->name.n);
    put(s, 'o', from, e->size);
    return has_payload;
}

/* True: the member is a zip, and its members are put. */
static bool put_nested(skeleton *s, const zip_entry *e)
{
    bytes b = { s->f->p + e->off, (size_t)e->size };
    zip z = { 0 };

    if (zip_open(&z, b) != HULL_OK) {
        error_clear(); /* pieces then */
        return false;
    }
    for (size_t i = 0; i < z.n; i++) {
        const zip_entry *in = &z.entries[i];
        uint64_t from = e->off + in->off;

        (void)put_member(s, in, e->off, is_id(in->name));
        if (!is_id(in->name))
            put_pieces(s, from, from + in->size);
    }
    zip_close(&z);
    return true;
}

static hull_status put_archive(skeleton *s)
{
    zip z = { 0 };

    TRY(zip_open(&z, (bytes){ s->f->p, (size_t)s->f->size }));
    for (size_t i = 0; i < z.n; i++) {
        const zip_entry *e = &z.entries[i];
        bool unread = is_id(e->name) || is_sample(e->name);
        bool has_payload = put_member(s, e, 0, unread);

        if (!unread && !(has_payload && str_ends(e->name, ".pt") &&
                         put_nested(s, e)))
            put_pieces(s, e->off, e->off + e->size);
    }
    zip_close(&z);
    return HULL_OK;
}

hull_status weights_skeleton(bool *out_whole, digest *out, const weights *w,
                             size_t n_storages)
{
    skeleton s = { .n = 0 };
    hull_status st = HULL_OK;

    memset(out, 0, sizeof *out);
    *out_whole = !w->decoded_elsewhere &&
                 (w->format == WEIGHTS_ONNX || w->format == WEIGHTS_PT2) &&
                 w->n_files > 0 && n_storages <= w->n_storages;
    if (!*out_whole)
        return HULL_OK;
    s.f = &w->files[0];
    digest_begin(&s.d);
    TRY_OUT(list_payloads(&s, w, n_storages));
    if (w->format == WEIGHTS_ONNX)
        put_pieces(&s, 0, s.f->size);
    else
        TRY_OUT(put_archive(&s));
    file_count_read(s.hashed);
    digest_end(&s.d, out);
out:
    mem_free(s.payloads);
    return st;
}
