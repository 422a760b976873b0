/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * reads.c - what an import takes out of a model file beside its skeleton: each
 * place whose bytes went through weights_read, weights_view or weights_equal,
 * with their digest, and the tensors of inner graphs that it added.
 */
#include <inttypes.h>
#include <string.h>

#include "weights/index.h"

void weights_watch(weights *w, weight_reads *r)
{
    *r = (weight_reads){ .w = w,
                         .n_entries = w->n,
                         .n_storages = w->n_storages };
    w->reads = r;
}

void weights_watch_with(weights *w, const weights *other)
{
    w->reads = other->reads;
}

void weights_unwatch(weights *w)
{
    w->reads = NULL;
}

void weight_reads_fini(weight_reads *r)
{
    mem_free(r->places);
    mem_free(r->late);
    strmap_fini(&r->seen);
    *r = (weight_reads){ 0 };
}

static hull_status add_place(weight_reads *r, const weight_place *p)
{
    uint64_t key[3] = { p->file, p->off, p->len };
    str k = { (const char *)key, sizeof key };
    uint32_t known;

    if (strmap_get(&r->seen, k, &known))
        return digest_eq(&r->places[known].bytes, &p->bytes)
                   ? HULL_OK
                   : fail(HULL_ESTALE, "a model file changes while it is read");
    TRY(mem_grow(&r->places, &r->cap, r->n + 1, sizeof *r->places));
    TRY(strmap_set(&r->seen, k, (uint32_t)r->n));
    r->places[r->n++] = *p;
    return HULL_OK;
}

void weights_note_place(const weights *w, int32_t number, uint64_t off,
                        const void *p, uint64_t n)
{
    weight_reads *r = w->reads;
    weight_place at = { .off = off, .len = n };

    if (r == NULL || r->failed || n == 0)
        return;
    at.file = (uint32_t)number;
    at.bytes = digest_of(p, n);
    r->failed = r->w != w || add_place(r, &at) != HULL_OK;
}

/* Memory is a decoded value, which the skeleton has, or a view of a file. */
void weights_note_memory(const weights *w, const void *p, uint64_t n)
{
    const weights *of = w->reads ? w->reads->w : NULL;

    for (size_t i = 0; of != NULL && i < of->n_files; i++) {
        const file *f = &of->files[i];
        uintptr_t at = (uintptr_t)p - (uintptr_t)f->p;

        if (f->p != NULL && (uintptr_t)p >= (uintptr_t)f->p && at < f->size &&
            n <= f->size - at)
            weights_note_place(of, (int32_t)i, at, p, n);
    }
}

void weights_note_late(const weights *w, bytes message, bool sparse)
{
    weight_reads *r = w->reads;
    weight_late late = { .len = message.n, .sparse = sparse };
    const file *f = w->n_files ? &w->files[0] : NULL;

    if (r == NULL || r->failed || r->w != w)
        return;
    late.entry = w->n - 1;
    if (f == NULL || (uintptr_t)message.p < (uintptr_t)f->p)
        return;
    late.off = (uintptr_t)message.p - (uintptr_t)f->p;
    if (late.off > f->size || late.len > f->size - late.off)
        return;
    r->failed = mem_grow(&r->late, &r->cap_late, r->n_late + 1,
                         sizeof *r->late) != HULL_OK;
    if (!r->failed)
        r->late[r->n_late++] = late;
}

hull_status weights_add_late(weights *w, str name, const weight_late *late,
                             bool inline_value)
{
    const char *model = w->n_files ? w->files[0].path : "";
    bytes message;

    if (w->format != WEIGHTS_ONNX || w->n_files == 0 ||
        late->off > w->files[0].size ||
        late->len > w->files[0].size - late->off)
        return fail(HULL_EFORMAT, "tensor '%.*s' of an inner graph lies "
                    "outside of the model file", STR_ARG(name));
    message = (bytes){ w->files[0].p + late->off, (size_t)late->len };
    return late->sparse
               ? onnx_sparse_add(w, name, message, model, inline_value)
               : onnx_tensor_add(w, name, message, 0, model, inline_value);
}

hull_status weight_place_read(weight_place *p, const weights *w)
{
    hull_status st;
    uint64_t end;
    void *data;

    if (p->file >= w->n_files || !add_u64(&end, p->off, p->len) ||
        end > w->files[p->file].size)
        return fail(HULL_EFORMAT, "%" PRIu64 " bytes at byte %" PRIu64
                    " lie outside of file %u", p->len, p->off, p->file);
    data = mem_alloc(p->len);
    if (data == NULL)
        return fail_oom(p->len);
    st = file_read_at(&w->files[p->file], p->off, data, p->len);
    if (st == HULL_OK)
        p->bytes = digest_of(data, p->len);
    mem_free(data);
    return st;
}
