/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * weights_bytes.c - the payload side of the index: views, dense copies,
 * comparison, digest, place identity. Files are read with pread, so a file
 * that shrank is an I/O error. A strided tensor is gathered element by element
 * from its storage; work on large tensors goes in pieces of PIECE bytes.
 */
#include <inttypes.h>
#include <string.h>

#include "weights/index.h"

#define PIECE ((uint64_t)1 << 20)

static hull_status fail_absent(const weight_entry *e)
{
    return fail(HULL_EUNBOUND,
                "tensor '%.*s' has no bytes: it was exported with fake "
                "tensors",
                STR_ARG(e->name));
}

/* Memory of a storage that is no file. */
static const uint8_t *memory_of(const weight_storage *s)
{
    return s->owned ? s->owned : s->memory;
}

const void *weights_view(const weights *w, const weight_entry *e)
{
    static const uint64_t empty[1];
    const weight_storage *s = &w->storages[e->storage];
    const uint8_t *p;

    if (!e->dense || s->absent)
        return NULL;
    if (e->len == 0)
        return empty;
    p = s->file >= 0 ? w->files[s->file].p + s->off : memory_of(s);
    if (s->file >= 0)
        weights_note_place(w, s->file, s->off + e->off, p + e->off, e->len);
    else
        weights_note_memory(w, p + e->off, e->len);
    return p + e->off;
}

/* [off, off + n) of a storage. */
static hull_status read_storage(const weights *w, const weight_storage *s,
                                uint64_t off, void *dst, uint64_t n)
{
    if (n == 0)
        return HULL_OK;
    if (s->file >= 0) {
        TRY(file_read_at(&w->files[s->file], s->off + off, dst, n));
        weights_note_place(w, s->file, s->off + off, dst, n);
        return HULL_OK;
    }
    memcpy(dst, memory_of(s) + off, n);
    weights_note_memory(w, memory_of(s) + off, n);
    return HULL_OK;
}

/* Reads a tensor in pieces: dense ones straight from the storage, strided
 * ones from a copy of the part of the storage that they touch. */
typedef struct walker {
    const weights *w;
    const weight_entry *e;
    uint8_t *copy;       /* strided file tensors: bytes from e->off on */
    const uint8_t *base; /* strided: the element at index 0 */
    uint64_t done;       /* dense bytes delivered */
    uint64_t elem;       /* bytes of an element */
    int64_t index[HULL_MAX_RANK];
    uint64_t at; /* byte offset of the element at index */
} walker;

static void walker_fini(walker *k)
{
    mem_free(k->copy);
    k->copy = NULL;
}

static hull_status walker_init(walker *k, const weights *w,
                               const weight_entry *e)
{
    const weight_storage *s = &w->storages[e->storage];
    uint64_t span = 1;

    *k = (walker){ .w = w, .e = e };
    if (s->absent)
        return fail_absent(e);
    if (e->dense)
        return HULL_OK;
    k->elem = hull_dtype_bits(e->dtype) / 8;
    for (uint32_t i = 0; i < e->rank; i++)
        span += (uint64_t)((e->shape[i] - 1) * e->strides[i]);
    span *= k->elem;
    if (s->file < 0) {
        k->base = memory_of(s) + e->off;
        weights_note_memory(w, k->base, span);
        return HULL_OK;
    }
    k->copy = mem_alloc(span);
    if (!k->copy)
        return fail_oom(span);
    k->base = k->copy;
    return read_storage(w, s, e->off, k->copy, span);
}

static void step(walker *k)
{
    const weight_entry *e = k->e;

    for (uint32_t d = e->rank; d-- > 0;) {
        uint64_t stride = (uint64_t)e->strides[d] * k->elem;

        k->at += stride;
        if (++k->index[d] < e->shape[d])
            return;
        k->at -= stride * (uint64_t)e->shape[d];
        k->index[d] = 0;
    }
}

/* The next n dense bytes; n is a multiple of the element when strided. */
static hull_status walker_next(walker *k, void *dst, uint64_t n)
{
    const weight_entry *e = k->e;
    uint8_t *out = dst;

    if (e->dense) {
        TRY(read_storage(k->w, &k->w->storages[e->storage], e->off + k->done,
                         dst, n));
        k->done += n;
        return HULL_OK;
    }
    for (uint64_t i = 0; i < n; i += k->elem) {
        memcpy(out + i, k->base + k->at, k->elem);
        step(k);
    }
    k->done += n;
    return HULL_OK;
}

hull_status weights_read(const weights *w, const weight_entry *e, void *dst)
{
    walker k;
    hull_status st;

    st = walker_init(&k, w, e);
    if (st == HULL_OK)
        st = walker_next(&k, dst, e->len);
    walker_fini(&k);
    return note(st, "reading tensor '%.*s'", STR_ARG(e->name));
}

hull_status weights_read_part(const weights *w, const weight_entry *e,
                              uint64_t off, void *dst, uint64_t n)
{
    walker k;
    hull_status st;

    if (!e->dense || off > e->len || n > e->len - off)
        return fail(HULL_EINTERNAL, "tensor '%.*s' has no part of %" PRIu64
                    " bytes at %" PRIu64, STR_ARG(e->name), n, off);
    st = walker_init(&k, w, e);
    k.done = off;
    if (st == HULL_OK)
        st = walker_next(&k, dst, n);
    walker_fini(&k);
    return note(st, "reading tensor '%.*s'", STR_ARG(e->name));
}

static bool same_place(const weights *a, const weight_entry *ea,
                       const weights *b, const weight_entry *eb)
{
    weight_identity ia, ib;

    if (a == b && ea->storage == eb->storage && ea->off == eb->off &&
        ea->dtype == eb->dtype && ea->rank == eb->rank) {
        if (ea->dense && eb->dense)
            return true;
        if (memcmp(ea->shape, eb->shape, ea->rank * sizeof ea->shape[0]) == 0 &&
            memcmp(ea->strides, eb->strides,
                   ea->rank * sizeof ea->strides[0]) == 0)
            return true;
    }
    if (!weights_identity(a, ea, &ia) || !weights_identity(b, eb, &ib))
        return false;
    return file_id_eq(&ia.file, &ib.file) && ia.off == ib.off &&
           ia.len == ib.len;
}

hull_status weights_equal(bool *out, const weights *a, const weight_entry *ea,
                          const weights *b, const weight_entry *eb)
{
    hull_status st = HULL_OK;
    walker ka = { 0 }, kb = { 0 };
    uint8_t *pa = NULL, *p2;
    bool equal = true;

    *out = false;
    if (ea->len != eb->len)
        return HULL_OK;
    if (a->storages[ea->storage].absent)
        return fail_absent(ea);
    if (b->storages[eb->storage].absent)
        return fail_absent(eb);
    if (same_place(a, ea, b, eb)) {
        *out = true;
        return HULL_OK;
    }
    TRY_OUT(walker_init(&ka, a, ea));
    TRY_OUT(walker_init(&kb, b, eb));
    pa = mem_alloc(2 * PIECE);
    if (!pa)
        TRY_OUT(fail_oom(2 * PIECE));
    p2 = pa + PIECE;
    for (uint64_t i = 0; i < ea->len && equal; i += PIECE) {
        uint64_t n = ea->len - i < PIECE ? ea->len - i : PIECE;

        TRY_OUT(walker_next(&ka, pa, n));
        TRY_OUT(walker_next(&kb, p2, n));
        equal = memcmp(pa, p2, n) == 0;
    }
    *out = equal;
out:
    mem_free(pa);
    walker_fini(&ka);
    walker_fini(&kb);
    return note(st, "comparing tensors '%.*s' and '%.*s'", STR_ARG(ea->name),
                STR_ARG(eb->name));
}

bool weights_identity(const weights *w, const weight_entry *e,
                      weight_identity *out)
{
    const weight_storage *s = &w->storages[e->storage];

    memset(out, 0, sizeof *out);
    if (s->file < 0 || s->absent || !e->dense)
        return false;
    out->file = w->files[s->file].id;
    out->off = s->off + e->off;
    out->len = e->len;
    return true;
}

/* Heap sort of entry numbers by name: no recursion, no bad case. */
static void sift(const weights *w, uint32_t *order, size_t root, size_t n)
{
    for (;;) {
        size_t child = 2 * root + 1;
        uint32_t t;

        if (child >= n)
            return;
        if (child + 1 < n && str_cmp(w->entries[order[child]].name,
                                     w->entries[order[child + 1]].name) < 0)
            child++;
        if (str_cmp(w->entries[order[root]].name,
                    w->entries[order[child]].name) >= 0)
            return;
        t = order[root];
        order[root] = order[child];
        order[child] = t;
        root = child;
    }
}

static void sort_names(const weights *w, uint32_t *order)
{
    for (size_t i = 0; i < w->n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = w->n / 2; i-- > 0;)
        sift(w, order, i, w->n);
    for (size_t n = w->n; n > 1; n--) {
        uint32_t t = order[0];

        order[0] = order[n - 1];
        order[n - 1] = t;
        sift(w, order, 0, n - 1);
    }
}

/* Numbers enter a digest as 8 little-endian bytes. */
static void update_u64(digester *d, uint64_t v)
{
    uint8_t b[8];

    le_put(b, v, sizeof b);
    digest_update(d, b, sizeof b);
}

static hull_status update_entry(digester *d, const weights *w,
                                const weight_entry *e, uint8_t *piece)
{
    walker k;
    hull_status st;

    update_u64(d, e->name.n);
    digest_update(d, e->name.p, e->name.n);
    update_u64(d, (uint64_t)e->dtype);
    update_u64(d, e->rank);
    for (uint32_t i = 0; i < e->rank; i++)
        update_u64(d, (uint64_t)e->shape[i]);
    update_u64(d, e->len);
    st = walker_init(&k, w, e);
    for (uint64_t i = 0; st == HULL_OK && i < e->len; i += PIECE) {
        uint64_t n = e->len - i < PIECE ? e->len - i : PIECE;

        st = walker_next(&k, piece, n);
        if (st == HULL_OK)
            digest_update(d, piece, n);
    }
    walker_fini(&k);
    return note(st, "digest of tensor '%.*s'", STR_ARG(e->name));
}

hull_status weights_digest(const weights *w, digest *out)
{
    hull_status st = HULL_OK;
    uint32_t *order;
    uint8_t *piece;
    digester d;

    memset(out, 0, sizeof *out);
    order = mem_calloc(w->n + 1, sizeof *order);
    piece = mem_alloc(PIECE);
    if (!order || !piece)
        TRY_OUT(fail_oom(PIECE));
    sort_names(w, order);
    digest_begin(&d);
    update_u64(&d, w->n);
    for (size_t i = 0; i < w->n; i++)
        TRY_OUT(update_entry(&d, w, &w->entries[order[i]], piece));
    digest_end(&d, out);
out:
    mem_free(order);
    mem_free(piece);
    return st;
}
