/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * torch_pickle.c - tensors out of .pt and .pth files.
 *
 *   zip     <root>/data.pkl, <root>/data/<key>, <root>/byteorder; members are
 *           stored, so a storage is a range of the file
 *   legacy  pickles of magic, 1001, system info, object, list of keys; then
 *           per key an i64 count of elements and the elements
 *
 * torch_dict.c finds the dictionary of tensors in the object; what is not a
 * tensor in it is left out. Tensors of one storage share it.
 */
#include <string.h>

#include "weights/torch_values.h"

static hull_status add_tensor(weights *w, torch_values *v, int32_t index,
                              str name, const torch_tensor *t, bool constant)
{
    torch_storage *s = &v->storages[t->storage];
    weight_entry e = { .name = name,
                       .dtype = t->dtype,
                       .rank = t->rank,
                       .off = t->off,
                       .constant = constant };

    if (!s->placed)
        return fail(HULL_EFORMAT,
                    "storage %.*s of tensor '%.*s' is not in "
                    "the file",
                    STR_ARG(s->key), STR_ARG(name));
    if (s->index == 0) {
        weight_storage g = { .file = index, .off = s->off, .len = s->len,
                             .payload = true };

        TRY(weights_add_storage(w, &g, &s->index));
        s->index++;
    }
    e.storage = s->index - 1;
    memcpy(e.shape, t->shape, sizeof e.shape);
    memcpy(e.strides, t->strides, sizeof e.strides);
    return weights_add(w, &e, !t->dense);
}

static hull_status add_dict(weights *w, const pickle *m, int32_t index,
                            const torch_dict *from, bool constant)
{
    const pk_node *d = pickle_at(m, from->dict);
    hull_status st = HULL_OK;
    buf name;

    buf_init(&name, 2 * WEIGHTS_NAME_MAX);
    for (uint32_t i = 0; st == HULL_OK && i < d->n; i += 2) {
        const pk_node *value = pickle_at(m, d->v.items[i + 1]);

        if (pickle_kind(m, d->v.items[i]) != PK_STR || value->kind != PK_TENSOR)
            continue;
        buf_clear(&name);
        buf_str(&name, from->path);
        if (from->path.n && !str_is(from->path, "."))
            buf_putc(&name, '.');
        buf_str(&name, pickle_str(m, d->v.items[i]));
        st = buf_status(&name);
        if (st == HULL_OK)
            st = add_tensor(w, m->user, index, buf_view(&name), value->v.data,
                            constant);
    }
    buf_fini(&name);
    return st;
}

/* The tensors of the dictionary that the key or the file itself chooses. Where
 * that is none, all are added under their paths and the index says so. */
static hull_status add_chosen(weights *w, pickle *m, int32_t index, pk_id root,
                              str key, bool constant)
{
    torch_choice *c;

    TRY(torch_choose(m, root, key, &c));
    if (c->list)
        TRY(weights_leave_open(w, c->list));
    for (uint32_t i = 0; i < c->n; i++)
        TRY(add_dict(w, m, index, &c->dicts[i], constant));
    return HULL_OK;
}

/* ---- zip ----------------------------------------------------------------- */

typedef struct archive {
    zip z;
    buf name;    /* of a member; starts with the root */
    size_t root; /* length of "<root>/", or 0 */
} archive;

static const zip_entry *member(archive *a, str below)
{
    a->name.n = a->root;
    buf_str(&a->name, below);
    if (a->name.failed)
        return NULL;
    return zip_find(&a->z, buf_view(&a->name));
}

static hull_status find_root(archive *a)
{
    for (size_t i = 0; i < a->z.n; i++) {
        str name = a->z.entries[i].name;

        if (!str_ends(name, "data.pkl"))
            continue;
        if (name.n > 8 && name.p[name.n - 9] != '/')
            continue;
        if (name.n > 8 && memchr(name.p, '/', name.n - 9))
            continue; /* deeper than one folder */
        a->root = name.n - 8;
        buf_put(&a->name, name.p, a->root);
        return buf_status(&a->name);
    }
    return fail(HULL_EFORMAT, "zip without data.pkl");
}

static hull_status check_byteorder(archive *a, bool *out_found)
{
    const zip_entry *e = member(a, str_of("byteorder"));
    bytes b;

    *out_found = e != NULL;
    if (!e)
        return HULL_OK;
    b = zip_bytes(&a->z, e);
    if (!str_is((str){ (const char *)b.p, b.n }, "little"))
        return fail(HULL_EUNSUPPORTED,
                    "the checkpoint's byteorder is '%.*s', only 'little' is "
                    "read: save it again on a little-endian machine",
                    STR_ARG(((str){ (const char *)b.p, b.n })));
    return HULL_OK;
}

static hull_status place_members(archive *a, torch_values *v, uint64_t base,
                                 bool exact)
{
    for (size_t i = 0; i < v->n; i++) {
        torch_storage *s = &v->storages[i];
        char name[5 + 32];
        const zip_entry *e;

        memcpy(name, "data/", 5);
        memcpy(name + 5, s->key.p, s->key.n); /* at most 32 digits */
        e = member(a, (str){ name, 5 + s->key.n });
        if (!e)
            return fail(HULL_EFORMAT, "storage %.*s has no record",
                        STR_ARG(s->key));
        if (exact ? e->size != s->len : e->size < s->len)
            return fail(HULL_EFORMAT,
                        "storage %.*s has a record of %llu bytes, %llu are "
                        "wanted",
                        STR_ARG(s->key), (unsigned long long)e->size,
                        (unsigned long long)s->len);
        s->off = base + e->off;
        s->placed = true;
    }
    return HULL_OK;
}

static hull_status read_archive(weights *w, archive *a, pickle *m,
                                int32_t index, uint64_t base, str key,
                                bool constant)
{
    const zip_entry *e;
    bool modern;
    pk_id root;
    size_t used;
    bytes in;

    TRY(find_root(a));
    TRY(check_byteorder(a, &modern));
    e = member(a, str_of("data.pkl"));
    if (!e)
        return fail(HULL_EFORMAT, "zip without data.pkl");
    if (e->size > PICKLE_BYTES_MAX)
        return fail(HULL_ENOMEM, "data.pkl of %llu bytes, at most %zu",
                    (unsigned long long)e->size, PICKLE_BYTES_MAX);
    TRY(zip_check_crc(&a->z, e));
    in = zip_bytes(&a->z, e);
    file_count_read(in.n);
    TRY(pickle_run(m, in, "data.pkl", &root, &used));
    if (used != in.n)
        return fail(HULL_EFORMAT, "data.pkl: %zu bytes after its end",
                    in.n - used);
    TRY(place_members(a, m->user, base, modern));
    return add_chosen(w, m, index, root, key, constant);
}

hull_status torch_zip_add(weights *w, bytes data, int32_t index, uint64_t base,
                          str key, bool constant)
{
    torch_values v = { 0 };
    archive a = { 0 };
    pickle m;
    hull_status st;

    pickle_init(&m, &torch_hooks, &v);
    buf_init(&a.name, 8192);
    st = zip_open(&a.z, data);
    if (st == HULL_OK)
        st = read_archive(w, &a, &m, index, base, key, constant);
    pickle_fini(&m);
    torch_values_fini(&v);
    zip_close(&a.z);
    buf_fini(&a.name);
    return st;
}

hull_status torch_read(weights *w, file *f, str key)
{
    bytes data = { f->p, (size_t)f->size };
    int32_t index;

    TRY(weights_take_file(w, f, &index));
    return torch_zip_add(w, data, index, 0, key, false);
}

/* ---- legacy -------------------------------------------------------------- */

/* The magic number is pickled with the file's protocol: from 4 on a frame
 * comes between the protocol and the number. */
size_t torch_legacy_magic(const uint8_t *p, size_t n)
{
    static const uint8_t number[] = { 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                      0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e };
    size_t at = 2;

    if (n < 3 || p[0] != 0x80)
        return 0;
    if (p[2] == 0x95)
        at += 9;
    if (n < at + sizeof number || memcmp(p + at, number, sizeof number) != 0)
        return 0;
    return at + sizeof number;
}

static hull_status next_pickle(pickle *m, bytes *rest, const char *what,
                               pk_id *out)
{
    size_t used;

    TRY(pickle_run(m, *rest, what, out, &used));
    file_count_read(used);
    rest->p += used;
    rest->n -= used;
    return HULL_OK;
}

static hull_status check_system(pickle *m, pk_id version, pk_id info)
{
    const pk_node *v = pickle_at(m, version);
    pk_id little = pickle_dict_get(m, info, str_of("little_endian"));

    if (v->kind != PK_INT || v->v.i != 1001)
        return fail(HULL_EVERSION, "legacy protocol is %s%lld, 1001 is read",
                    v->kind == PK_INT ? "" : "no int ",
                    v->kind == PK_INT ? (long long)v->v.i : 0LL);
    if (pickle_kind(m, info) != PK_DICT)
        return fail(HULL_EFORMAT, "system info is %s, not a dict",
                    pickle_kind_name(pickle_kind(m, info)));
    if (little &&
        (pickle_kind(m, little) != PK_BOOL || !pickle_at(m, little)->v.i))
        return fail(HULL_EUNSUPPORTED,
                    "the checkpoint is big-endian, only little-endian is "
                    "read: save it again on a little-endian machine");
    return HULL_OK;
}

static hull_status place_key(torch_values *v, str key, const uint8_t *base,
                             bytes *rest)
{
    uint64_t n, len;
    torch_storage *s;
    uint32_t i;

    if (!strmap_get(&v->by_key, key, &i))
        return fail(HULL_EFORMAT, "storage '%.*s' belongs to no tensor",
                    STR_ARG(key));
    s = &v->storages[i];
    if (s->placed)
        return fail(HULL_EFORMAT, "storage %.*s is listed twice", STR_ARG(key));
    if (rest->n < 8)
        return fail(HULL_EFORMAT, "storage %.*s begins at the end of the file",
                    STR_ARG(key));
    n = le_get(rest->p, 8);
    rest->p += 8;
    rest->n -= 8;
    if (!mul_u64(&len, n, s->elem) || len != s->len || len > rest->n)
        return fail(HULL_EFORMAT,
                    "storage %.*s has %llu elements and %zu bytes remain, "
                    "%llu bytes are wanted",
                    STR_ARG(key), (unsigned long long)n, rest->n,
                    (unsigned long long)s->len);
    s->off = (uint64_t)(rest->p - base);
    s->placed = true;
    rest->p += len;
    rest->n -= len;
    return HULL_OK;
}

static hull_status place_keys(pickle *m, pk_id keys, const uint8_t *base,
                              bytes *rest)
{
    const pk_node *k = pickle_at(m, keys);

    if (k->kind != PK_LIST)
        return fail(HULL_EFORMAT, "storage keys are %s, not a list",
                    pickle_kind_name((pk_kind)k->kind));
    for (uint32_t i = 0; i < k->n; i++)
        TRY(place_key(m->user, pickle_str(m, k->v.items[i]), base, rest));
    if (rest->n)
        return fail(HULL_EFORMAT, "%zu bytes after the last storage", rest->n);
    return HULL_OK;
}

static hull_status read_legacy(weights *w, pickle *m, bytes all, int32_t index,
                               str key)
{
    size_t magic = torch_legacy_magic(all.p, all.n);
    bytes rest = { all.p + magic, all.n - magic };
    pk_id version, info, root, keys;

    TRY(next_pickle(m, &rest, "protocol", &version));
    TRY(next_pickle(m, &rest, "system info", &info));
    TRY(check_system(m, version, info));
    TRY(next_pickle(m, &rest, "object", &root));
    TRY(next_pickle(m, &rest, "storage keys", &keys));
    TRY(place_keys(m, keys, all.p, &rest));
    return add_chosen(w, m, index, root, key, false);
}

hull_status torch_read_legacy(weights *w, file *f, str key)
{
    bytes all = { f->p, (size_t)f->size };
    torch_values v = { .legacy = true };
    pickle m;
    int32_t index;
    hull_status st;

    if (torch_legacy_magic(all.p, all.n) == 0)
        return fail(HULL_EFORMAT, "not a legacy torch.save file");
    TRY(weights_take_file(w, f, &index));
    pickle_init(&m, &torch_hooks, &v);
    st = read_legacy(w, &m, all, index, key);
    pickle_fini(&m);
    torch_values_fini(&v);
    return st;
}

hull_status torch_read_any(weights *w, file *f, str key)
{
    if (torch_legacy_magic(f->p, (size_t)f->size))
        return torch_read_legacy(w, f, key);
    return torch_read(w, f, key);
}
