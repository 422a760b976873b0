/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * weights.c - the index of named tensors: entries, storages, files, and the
 * checks that every reader's entries pass on their way in. An entry in the
 * index lies inside its storage, has a new and printable name, no negative
 * stride, and a dense length that fits 64 bits.
 */
#include <string.h>

#include "weights/index.h"

static const char *const format_names[] = {
    "memory", "safetensors", "torch", "onnx", "pt2", "hull",
};

hull_status weights_new(weights **out, weights_format format)
{
    weights *w;

    *out = NULL;
    w = mem_calloc(1, sizeof *w);
    if (!w)
        return fail_oom(sizeof *w);
    atomic_init(&w->refs, 1);
    w->format = format;
    weights_relabel(w);
    *out = w;
    return HULL_OK;
}

weights *weights_ref(weights *w)
{
    if (w)
        atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
    return w;
}

void weights_unref(weights *w)
{
    if (!w)
        return;
    if (atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < w->n_storages; i++) {
        weight_storage *s = &w->storages[i];

        if (s->release)
            s->release(s->release_user);
        mem_free(s->owned);
    }
    for (size_t i = 0; i < w->n_files; i++)
        file_close(&w->files[i]);
    mem_free(w->files);
    mem_free(w->storages);
    mem_free(w->entries);
    mem_free(w->title);
    mem_free(w->open_choice);
    mem_free(w->key);
    strmap_fini(&w->by_name);
    strmap_fini(&w->by_memory);
    arena_fini(&w->names);
    mem_free(w);
}

size_t weights_n_storages(const weights *w)
{
    return w->n_storages;
}

bool weights_outlives_call(const weights *w)
{
    for (size_t i = 0; i < w->n_storages; i++)
        if (w->storages[i].memory && w->storages[i].len > 0 &&
            !w->storages[i].release)
            return false;
    return true;
}

void weights_release(weights *w, uint32_t i)
{
    weight_storage *s = &w->storages[i];
    void (*release)(void *user) = s->release;

    if (release == NULL)
        return;
    s->release = NULL;
    s->memory = NULL;
    s->absent = true;
    release(s->release_user);
}

void weights_relabel(weights *w)
{
    snprintf(w->label, sizeof w->label, "%s %.180s%s(%zu tensor%s)",
             format_names[w->format], w->title ? w->title : "",
             w->title ? " " : "", w->n, w->n == 1 ? "" : "s");
}

weights_format weights_kind(const weights *w)
{
    return w->format;
}

const char *weights_label(const weights *w)
{
    return w->label;
}

size_t weights_count(const weights *w)
{
    return w->n;
}

const weight_entry *weights_at(const weights *w, size_t i)
{
    return i < w->n ? &w->entries[i] : NULL;
}

const weight_entry *weights_find(const weights *w, str name)
{
    uint32_t i;

    return strmap_get(&w->by_name, name, &i) ? &w->entries[i] : NULL;
}

const weight_storage *weights_storage(const weights *w, const weight_entry *e)
{
    return &w->storages[e->storage];
}

size_t weights_n_files(const weights *w)
{
    return w->n_files;
}

void weights_drop_pages(const weights *w)
{
    for (size_t i = 0; i < w->n_files; i++)
        file_drop_pages(&w->files[i]);
}

const file *weights_file(const weights *w, size_t i)
{
    return i < w->n_files ? &w->files[i] : NULL;
}

hull_status weights_unchanged(const weights *w)
{
    for (size_t i = 0; i < w->n_files; i++) {
        if (file_unchanged(&w->files[i]) != HULL_OK)
            return fail(HULL_ESTALE, "%s changed since it was opened",
                        w->files[i].path);
    }
    return HULL_OK;
}

hull_status weights_take_file(weights *w, file *f, int32_t *out_index)
{
    *out_index = -1;
    TRY(mem_grow(&w->files, &w->cap_files, w->n_files + 1, sizeof *w->files));
    w->files[w->n_files] = *f;
    *f = (file){ .fd = -1 };
    *out_index = (int32_t)w->n_files++;
    return HULL_OK;
}

hull_status weights_add_storage(weights *w, const weight_storage *s,
                                uint32_t *out_index)
{
    uint64_t end;

    *out_index = 0;
    if (s->file >= 0 && !s->absent) {
        if ((size_t)s->file >= w->n_files)
            return fail(HULL_EINTERNAL, "storage of file %d, index has %zu",
                        s->file, w->n_files);
        if (!add_u64(&end, s->off, s->len) || end > w->files[s->file].size)
            return fail(HULL_EFORMAT,
                        "storage of %llu bytes at byte %llu, file has %llu",
                        (unsigned long long)s->len, (unsigned long long)s->off,
                        (unsigned long long)w->files[s->file].size);
    }
    TRY(mem_grow(&w->storages, &w->cap_storages, w->n_storages + 1,
                 sizeof *w->storages));
    w->storages[w->n_storages] = *s;
    *out_index = (uint32_t)w->n_storages++;
    return HULL_OK;
}

hull_status weights_numel(uint64_t *out, str name, uint32_t rank,
                          const int64_t *shape)
{
    uint64_t numel = 1;
    bool empty = false, fits = true;

    *out = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return fail(HULL_EFORMAT, "tensor '%.*s' has dim %u = %lld",
                        STR_ARG(name), i, (long long)shape[i]);
        if (shape[i] == 0)
            empty = true;
        else
            fits = fits && mul_u64(&numel, numel, (uint64_t)shape[i]);
    }
    if (!fits || numel > INT64_MAX)
        return fail(HULL_EFORMAT, "tensor '%.*s' has more than 2^63-1 elements",
                    STR_ARG(name));
    *out = empty ? 0 : numel;
    return HULL_OK;
}

hull_status weights_dense_len(uint64_t *out, str name, hull_dtype dtype,
                              uint64_t numel)
{
    uint64_t bits;

    *out = 0;
    if (!mul_u64(&bits, numel, hull_dtype_bits(dtype)) || bits > UINT64_MAX - 7)
        return fail(HULL_EFORMAT, "tensor '%.*s' has more than 2^64 bits",
                    STR_ARG(name));
    *out = (bits + 7) / 8;
    return HULL_OK;
}

static hull_status check_name(const weights *w, str name)
{
    uint32_t other;

    if (name.n > WEIGHTS_NAME_MAX)
        return fail(HULL_EFORMAT, "tensor name of %zu bytes, at most %d",
                    name.n, WEIGHTS_NAME_MAX);
    if (name.n && memchr(name.p, 0, name.n))
        return fail(HULL_EFORMAT, "tensor name '%.*s' holds a zero byte",
                    STR_ARG(name));
    if (!str_valid_utf8(name))
        return fail(HULL_EFORMAT, "tensor %zu has a name that is not utf-8",
                    w->n);
    if (strmap_get(&w->by_name, name, &other))
        return fail(HULL_EFORMAT, "two tensors are named '%.*s'",
                    STR_ARG(name));
    return HULL_OK;
}

static void fill_row_major(weight_entry *e)
{
    int64_t stride = 1;

    for (uint32_t i = e->rank; i-- > 0;) {
        e->strides[i] = stride;
        if (e->shape[i] > 1)
            stride *= e->shape[i];
    }
}

/* Strides of dims of size 1 mean nothing; an empty tensor is dense. */
static bool is_dense(const weight_entry *e, uint64_t numel)
{
    int64_t stride = 1;

    if (numel == 0)
        return true;
    for (uint32_t i = e->rank; i-- > 0;) {
        if (e->shape[i] == 1)
            continue;
        if (e->strides[i] != stride)
            return false;
        stride *= e->shape[i];
    }
    return true;
}

/* Bytes from the first element to the end of the last one; numel > 0. */
static hull_status span_bytes(uint64_t *out, const weight_entry *e)
{
    uint64_t last = 0, step;
    uint32_t bits = hull_dtype_bits(e->dtype);

    *out = 0;
    for (uint32_t i = 0; i < e->rank; i++) {
        if (!mul_u64(&step, (uint64_t)(e->shape[i] - 1),
                     (uint64_t)e->strides[i]) ||
            !add_u64(&last, last, step))
            return fail(HULL_EFORMAT, "strides of tensor '%.*s' overflow",
                        STR_ARG(e->name));
    }
    if (!add_u64(&last, last, 1) || !mul_u64(&last, last, bits / 8))
        return fail(HULL_EFORMAT, "strides of tensor '%.*s' overflow",
                    STR_ARG(e->name));
    *out = last;
    return HULL_OK;
}

static hull_status check_place(const weights *w, weight_entry *e,
                               uint64_t numel)
{
    const weight_storage *s = &w->storages[e->storage];
    uint64_t span = e->len, end;

    if (!e->dense) {
        TRY(span_bytes(&span, e));
        if (e->len > s->len && e->len > WEIGHTS_EXPANDED_MAX)
            return fail(HULL_EUNSUPPORTED,
                        "tensor '%.*s' expands %llu bytes to %llu",
                        STR_ARG(e->name), (unsigned long long)s->len,
                        (unsigned long long)e->len);
    }
    if (s->absent)
        return HULL_OK;
    if (numel == 0 && e->dtype != HULL_NONE) {
        e->off = e->off > s->len ? 0 : e->off;
        return HULL_OK;
    }
    if (!add_u64(&end, e->off, span) || end > s->len)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' takes %llu bytes at byte %llu of a storage "
                    "of %llu",
                    STR_ARG(e->name), (unsigned long long)span,
                    (unsigned long long)e->off, (unsigned long long)s->len);
    return HULL_OK;
}

/* Fills dense, strides and len of the copy that goes into the index. */
static hull_status fill_layout(weight_entry *e, bool strides_given,
                               uint64_t numel)
{
    uint32_t bits = hull_dtype_bits(e->dtype);

    if (e->dtype == HULL_NONE) { /* a dtype we lack: len is the reader's */
        fill_row_major(e);
        e->dense = true;
        return HULL_OK;
    }
    TRY(weights_dense_len(&e->len, e->name, e->dtype, numel));
    for (uint32_t i = 0; strides_given && i < e->rank; i++) {
        if (e->strides[i] < 0)
            return fail(HULL_EFORMAT,
                        "tensor '%.*s' has stride %lld, negative strides are "
                        "not read",
                        STR_ARG(e->name), (long long)e->strides[i]);
    }
    e->dense = !strides_given || is_dense(e, numel);
    if (!e->dense && bits < 8)
        return fail(HULL_EUNSUPPORTED,
                    "tensor '%.*s' of %s has strides, sub-byte types are "
                    "dense",
                    STR_ARG(e->name), hull_dtype_name(e->dtype));
    if (e->dense)
        fill_row_major(e);
    return HULL_OK;
}

hull_status weights_add(weights *w, const weight_entry *e, bool strides_given)
{
    weight_entry c = *e;
    uint64_t numel;
    char *name;

    TRY(check_name(w, e->name));
    if (w->n >= WEIGHTS_TENSORS_MAX)
        return fail(HULL_ENOMEM, "more than %u tensors", WEIGHTS_TENSORS_MAX);
    if (e->rank > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "tensor '%.*s' has rank %u, at most %d",
                    STR_ARG(e->name), e->rank, HULL_MAX_RANK);
    if (e->storage >= w->n_storages)
        return fail(HULL_EINTERNAL, "tensor '%.*s' in storage %u of %zu",
                    STR_ARG(e->name), e->storage, w->n_storages);
    if (e->dtype == HULL_STRING)
        return fail(HULL_EUNSUPPORTED, "tensor '%.*s' holds strings, a weight "
                    "holds numbers", STR_ARG(e->name));
    if (e->dtype != HULL_NONE && hull_dtype_bits(e->dtype) == 0)
        return fail(HULL_EUNSUPPORTED, "tensor '%.*s' has dtype number %d",
                    STR_ARG(e->name), (int)e->dtype);
    TRY(weights_numel(&numel, e->name, e->rank, e->shape));
    TRY(fill_layout(&c, strides_given, numel));
    TRY(check_place(w, &c, numel));

    TRY(mem_grow(&w->entries, &w->cap, w->n + 1, sizeof *w->entries));
    name = arena_strndup(&w->names, e->name.n ? e->name.p : "", e->name.n);
    if (!name)
        return fail_oom(e->name.n + 1);
    c.name = (str){ name, e->name.n };
    TRY(strmap_set(&w->by_name, c.name, (uint32_t)w->n));
    w->entries[w->n++] = c;
    if (w->format == WEIGHTS_MEMORY || w->format == WEIGHTS_HULL)
        weights_relabel(w);
    return HULL_OK;
}

static hull_status check_tensor(str name, const hull_tensor *t)
{
    if (t->rank < 0 || t->rank > HULL_MAX_RANK)
        return fail(HULL_EINVAL, "tensor '%.*s' has rank %d, 0 to %d",
                    STR_ARG(name), t->rank, HULL_MAX_RANK);
    if (t->rank > 0 && !t->shape)
        return fail(HULL_EINVAL, "tensor '%.*s' has rank %d and no shape",
                    STR_ARG(name), t->rank);
    if (hull_dtype_bits((hull_dtype)t->dtype) == 0)
        return fail(HULL_EINVAL, "tensor '%.*s' has dtype number %d",
                    STR_ARG(name), t->dtype);
    if (t->device != 0 || t->reserved != 0)
        return fail(HULL_EINVAL,
                    "tensor '%.*s' has device %d and reserved %d, both are 0",
                    STR_ARG(name), t->device, t->reserved);
    return HULL_OK;
}

/* The same memory without a release callback is the same storage: that keeps
 * the identity of tied tensors. */
typedef struct memory_key {
    const void *memory;
    uint64_t len;
} memory_key;

static str key_of(const memory_key *k)
{
    return (str){ (const char *)k, sizeof *k };
}

/* Finds the storage of such memory, or adds s as one; *added tells which. */
static hull_status memory_storage(weights *w, const weight_storage *s,
                                  uint32_t *out, bool *added)
{
    memory_key k = { s->memory, s->len };
    bool shared = s->memory && !s->release;

    *added = false;
    /* The map may name a storage that a failed call took back. */
    if (shared && strmap_get(&w->by_memory, key_of(&k), out) &&
        *out < w->n_storages && w->storages[*out].memory == k.memory &&
        w->storages[*out].len == k.len && !w->storages[*out].release)
        return HULL_OK;
    if (shared)
        TRY(strmap_set(&w->by_memory, key_of(&k), (uint32_t)w->n_storages));
    TRY(weights_add_storage(w, s, out));
    *added = true;
    return HULL_OK;
}

hull_status weights_add_tensor(weights *w, str name, const hull_tensor *t,
                               void (*release)(void *user), void *user)
{
    weight_entry e = { .name = name };
    weight_storage s = { .file = -1, .release = release, .release_user = user };
    uint64_t numel;
    hull_status st;
    bool added;

    TRY(check_tensor(name, t));
    e.dtype = (hull_dtype)t->dtype;
    e.rank = (uint32_t)t->rank;
    for (uint32_t i = 0; i < e.rank; i++) {
        e.shape[i] = t->shape[i];
        e.strides[i] = t->strides ? t->strides[i] : 0;
    }
    TRY(weights_numel(&numel, name, e.rank, e.shape));
    if (numel > 0 && !t->data)
        return fail(HULL_EINVAL, "tensor '%.*s' has no data", STR_ARG(name));
    TRY(fill_layout(&e, t->strides != NULL, numel));
    s.memory = t->data;
    s.len = e.len;
    if (!e.dense)
        TRY(span_bytes(&s.len, &e));
    TRY(memory_storage(w, &s, &e.storage, &added));
    st = weights_add(w, &e, true);
    if (st != HULL_OK && added)
        w->n_storages--; /* a failed call changes nothing, releases nothing */
    return st;
}
