/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pt2_data.c - weights and constants of a torch.export archive.
 *
 *   >= 2.9   <root>/data/weights/<m>_weights_config.json maps each FQN to a
 *            record beside it, one whole storage, and the view's dtype, sizes,
 *            strides and offset; <root>/data/constants/ the same for constants
 *   2.8      <root>/data/weights/<m>.pt, a torch.save zip; constants alike
 *   <= 2.7   serialized_state_dict.pt and serialized_constants.pt, no root
 *
 * FQNs of one record share a storage, so ties survive. A record of zero bytes
 * under a tensor that has elements says "exported with fake tensors": all FQNs
 * name the same record then, and no tie follows from it.
 */
#include <jansson.h>
#include <string.h>

#include "weights/index.h"

#define RECORD_NAME_MAX 512
#define CONFIG_MAX ((uint64_t)512 << 20)

/* The serializer's own numbering of dtypes, not that of c10. */
static const hull_dtype scalar_types[] = {
    [1] = HULL_U8,          [2] = HULL_I8,          [3] = HULL_I16,
    [4] = HULL_I32,         [5] = HULL_I64,         [6] = HULL_F16,
    [7] = HULL_F32,         [8] = HULL_F64,         [10] = HULL_C64,
    [11] = HULL_C128,       [12] = HULL_BOOL,       [13] = HULL_BF16,
    [28] = HULL_U16,        [29] = HULL_F8E4M3FN,   [30] = HULL_F8E5M2,
    [31] = HULL_F8E4M3FNUZ, [32] = HULL_F8E5M2FNUZ, [33] = HULL_F8E8M0,
    [34] = HULL_U32,        [35] = HULL_U64,
};

typedef struct archive {
    weights *w;
    zip z;
    int32_t index;
    char root[512]; /* "<root>/" or "" */
    char model[256];
} archive;

static str rooted(const archive *a, str name, bool *out_inside)
{
    size_t n = strlen(a->root);

    *out_inside = name.n >= n && memcmp(name.p, a->root, n) == 0;
    return *out_inside ? (str){ name.p + n, name.n - n } : name;
}

/* The entry <root>/<text>, NULL when absent; text longer than any is absent. */
static const zip_entry *entry(const archive *a, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

static const zip_entry *entry(const archive *a, const char *fmt, ...)
{
    char name[2048];
    size_t n = strlen(a->root);
    va_list ap;
    int more;

    memcpy(name, a->root, n);
    va_start(ap, fmt);
    more = vsnprintf(name + n, sizeof name - n, fmt, ap);
    va_end(ap);
    if (more < 0 || (size_t)more >= sizeof name - n)
        return NULL;
    return zip_find(&a->z, (str){ name, n + (size_t)more });
}

static bool is_flat(const archive *a)
{
    return zip_find(&a->z, str_of("serialized_exported_program.json")) != NULL;
}

/* Root: the folder of the first entry, which all entries must share; an
 * archive whose first entry has no folder is rootless. */
static hull_status find_root(archive *a)
{
    str first, rest;
    bool inside;

    if (a->z.n == 0)
        return fail(HULL_EFORMAT, "the archive is empty");
    if (zip_find(&a->z, str_of("archive_format")) || is_flat(a))
        return HULL_OK;
    first = str_split(a->z.entries[0].name, '/', &rest);
    if (rest.n == 0)
        return HULL_OK;
    if (first.n + 2 > sizeof a->root)
        return fail(HULL_EFORMAT, "root folder of %zu bytes", first.n);
    memcpy(a->root, first.p, first.n);
    a->root[first.n] = '/';
    a->root[first.n + 1] = 0;
    for (size_t i = 0; i < a->z.n; i++) {
        rooted(a, a->z.entries[i].name, &inside);
        if (!inside)
            return fail(HULL_EFORMAT, "member '%.*s' is outside of '%s'",
                        STR_ARG(a->z.entries[i].name), a->root);
    }
    return HULL_OK;
}

/* Exactly one models/<m>.json. */
static hull_status find_model(archive *a)
{
    size_t n = 0;
    bool inside, aoti = false;

    for (size_t i = 0; i < a->z.n; i++) {
        str name = rooted(a, a->z.entries[i].name, &inside);

        aoti = aoti || str_starts(name, "data/aotinductor/");
        if (!str_starts(name, "models/") || !str_ends(name, ".json"))
            continue;
        name = (str){ name.p + 7, name.n - 12 };
        if (++n > 1)
            break;
        if (name.n >= sizeof a->model)
            return fail(HULL_EFORMAT, "model name of %zu bytes", name.n);
        memcpy(a->model, name.p, name.n);
        a->model[name.n] = 0;
    }
    if (n > 1)
        return fail(HULL_EUNSUPPORTED, "the archive holds several models");
    if (n == 0)
        return fail(HULL_EUNSUPPORTED,
                    aoti ? "an AOTInductor package, not an exported graph"
                         : "the archive holds no models/<name>.json");
    return HULL_OK;
}

static hull_status check_text(const archive *a, const char *name,
                              const char *want)
{
    const zip_entry *e = entry(a, "%s", name);
    bytes b;

    if (!e)
        return HULL_OK;
    b = zip_bytes(&a->z, e);
    if (str_is(str_trim((str){ (const char *)b.p, b.n }), want))
        return HULL_OK;
    return fail(HULL_EVERSION, "%s is '%.*s', '%s' is read", name,
                (int)(b.n < 40 ? b.n : 40), (const char *)b.p, want);
}

/* ---- one entry of a config ----------------------------------------------- */

static hull_status want_number(int64_t *out, json_t *v, const char *fqn,
                               const char *what)
{
    json_t *n = json_object_get(v, "as_int");

    *out = 0;
    if (json_is_integer(v))
        n = v;
    if (!json_is_integer(n))
        return fail(HULL_EUNSUPPORTED, "%s of '%.200s' is not a plain number",
                    what, fqn);
    *out = json_integer_value(n);
    if (*out < 0)
        return fail(HULL_EFORMAT, "%s of '%.200s' is %lld", what, fqn,
                    (long long)*out);
    return HULL_OK;
}

static hull_status want_numbers(int64_t *out, uint32_t *out_n, json_t *meta,
                                const char *key, const char *fqn)
{
    json_t *list;
    size_t n;

    *out_n = 0;
    TRY(json_want_array(&list, meta, key, fqn));
    n = json_array_size(list);
    if (n > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "'%.200s' has rank %zu, at most %d", fqn,
                    n, HULL_MAX_RANK);
    for (size_t i = 0; i < n; i++)
        TRY(want_number(&out[i], json_array_get(list, i), fqn, key));
    *out_n = (uint32_t)n;
    return HULL_OK;
}

static hull_status read_meta(weight_entry *e, json_t *meta, const char *fqn)
{
    int64_t dtype, layout, off;
    uint32_t n_strides;

    TRY(json_want_int(&dtype, meta, "dtype", fqn));
    if (dtype > 0 && (uint64_t)dtype < COUNT_OF(scalar_types))
        e->dtype = scalar_types[dtype];
    if (e->dtype == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "'%.200s' has dtype number %lld", fqn,
                    (long long)dtype);
    TRY(json_want_int(&layout, meta, "layout", fqn));
    if (layout != 7)
        return fail(HULL_EUNSUPPORTED,
                    "'%.200s' has layout %lld, 7 (strided) "
                    "is read",
                    fqn, (long long)layout);
    TRY(want_numbers(e->shape, &e->rank, meta, "sizes", fqn));
    TRY(want_numbers(e->strides, &n_strides, meta, "strides", fqn));
    if (n_strides != e->rank)
        return fail(HULL_EFORMAT, "'%.200s' has %u sizes and %u strides", fqn,
                    e->rank, n_strides);
    TRY(want_number(&off, json_object_get(meta, "storage_offset"), fqn,
                    "storage_offset"));
    if (!mul_u64(&e->off, (uint64_t)off, hull_dtype_bits(e->dtype) / 8))
        return fail(HULL_EFORMAT, "storage_offset of '%.200s' overflows", fqn);
    return HULL_OK;
}

typedef struct config {
    archive *a;
    const char *folder; /* "weights" or "constants" */
    bool constant;
    strmap by_record; /* record name -> the first entry there */
} config;

/* Is this an archive of torch 2.9 (schema 8.14 and before)? Its writer put
 * storage_offset 0 for every view. The version is near the model's end. */
static bool old_schema(const archive *a)
{
    static const char key[] = "\"schema_version\"";
    const zip_entry *e = entry(a, "models/%s.json", a->model);
    const uint8_t *at;
    size_t room;
    char text[128];
    json_error_t error;
    json_t *v = NULL;
    int64_t minor = INT64_MAX;
    bytes b;

    if (!e)
        return false;
    b = zip_bytes(&a->z, e);
    file_count_read(b.n);
    at = memmem(b.p, b.n, key, sizeof key - 1);
    if (!at)
        return false;
    at += sizeof key - 1;
    room = (size_t)(b.p + b.n - at);
    while (room && (*at == ' ' || *at == ':')) {
        at++;
        room--;
    }
    room = room < sizeof text - 1 ? room : sizeof text - 1;
    memcpy(text, at, room);
    text[room] = 0;
    v = json_loads(text, JSON_DISABLE_EOF_CHECK, &error);
    if (json_is_object(v) && json_is_integer(json_object_get(v, "minor")))
        minor = json_integer_value(json_object_get(v, "minor"));
    json_decref(v);
    return minor < 15;
}

static bool same_sizes(const weight_entry *a, const weight_entry *b)
{
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

static hull_status absent_storage(weights *w, uint32_t *out)
{
    weight_storage s = { .file = -1, .absent = true };

    return weights_add_storage(w, &s, out);
}

/* The record's storage: the first FQN makes it, later ones share it. */
static hull_status record_storage(config *c, weight_entry *e, str path,
                                  const zip_entry *z)
{
    weights *w = c->a->w;
    weight_storage s = { .file = c->a->index, .off = z->off, .len = z->size,
                         .payload = !str_ends(z->name, ".json") };
    uint32_t first;
    uint64_t numel;

    TRY(weights_numel(&numel, e->name, e->rank, e->shape));
    if (z->size == 0 && numel > 0)
        return absent_storage(w, &e->storage);
    if (!strmap_get(&c->by_record, path, &first)) {
        TRY(strmap_set(&c->by_record, path, (uint32_t)w->n));
        return weights_add_storage(w, &s, &e->storage);
    }
    if (first >= w->n)
        return fail(HULL_EINTERNAL, "record '%.*s' without its first tensor",
                    STR_ARG(path));
    e->storage = w->entries[first].storage;
    if (numel > 0 && e->off == 0 && w->entries[first].off == 0 &&
        !same_sizes(e, &w->entries[first]) && old_schema(c->a)) {
        log_warn("weights",
                 "'%.*s' shares a record with '%.*s' and this "
                 "version of torch lost the offset: it has no bytes",
                 STR_ARG(e->name), STR_ARG(w->entries[first].name));
        return absent_storage(w, &e->storage);
    }
    return HULL_OK;
}

static hull_status add_payload(config *c, const char *fqn, json_t *payload)
{
    weight_entry e = { .name = str_of(fqn), .constant = c->constant };
    json_t *meta = json_object_get(payload, "tensor_meta");
    const zip_entry *z;
    str path;

    if (!json_is_object(payload))
        return fail(HULL_EFORMAT, "payload of '%.200s' is %s, not an object",
                    fqn, json_kind(payload));
    TRY(json_want_string(&path, payload, "path_name", fqn));
    if (json_is_true(json_object_get(payload, "use_pickle")) ||
        !json_is_object(meta))
        return fail(HULL_EUNSUPPORTED,
                    "'%.200s' is a pickled object (%.*s), "
                    "tensors are read",
                    fqn, STR_ARG(path));
    if (!str_is_safe_path(path) || memchr(path.p, '/', path.n) ||
        path.n > RECORD_NAME_MAX)
        return fail(HULL_EFORMAT, "'%.200s' has the path_name '%.*s'", fqn,
                    STR_ARG(path));
    TRY(read_meta(&e, meta, fqn));
    z = entry(c->a, "data/%s/%.*s", c->folder, STR_ARG(path));
    if (!z)
        return fail(HULL_EFORMAT, "record '%.*s' of '%.200s' is missing",
                    STR_ARG(path), fqn);
    if (z->size % (hull_dtype_bits(e.dtype) / 8))
        return fail(HULL_EFORMAT,
                    "record '%.*s' has %llu bytes, elements "
                    "have %u",
                    STR_ARG(path), (unsigned long long)z->size,
                    hull_dtype_bits(e.dtype) / 8);
    TRY(record_storage(c, &e, path, z));
    return weights_add(c->a->w, &e, true);
}

static hull_status add_config(archive *a, const zip_entry *z,
                              const char *folder, bool constant)
{
    config c = { .a = a, .folder = folder, .constant = constant };
    json_t *root = NULL, *map, *payload;
    const char *fqn;
    hull_status st = HULL_OK;
    bytes b = zip_bytes(&a->z, z);

    if (z->size > CONFIG_MAX)
        return fail(HULL_ENOMEM, "config of %llu bytes",
                    (unsigned long long)z->size);
    TRY(zip_check_crc(&a->z, z));
    file_count_read(b.n);
    TRY_OUT(json_parse(&root, (const char *)b.p, b.n, "config"));
    if (!json_is_object(root))
        TRY_OUT(
            fail(HULL_EFORMAT, "config is %s, not an object", json_kind(root)));
    TRY_OUT(json_want_object(&map, root, "config", "config"));
    json_object_foreach(map, fqn, payload)
        TRY_OUT(add_payload(&c, fqn, payload));
out:
    strmap_fini(&c.by_record);
    json_free(root);
    return st;
}

/* ---- nested torch.save zips ---------------------------------------------- */

static hull_status add_nested(archive *a, const zip_entry *e, bool constant)
{
    bytes b = zip_bytes(&a->z, e);

    if (b.n == 0)
        return HULL_OK;
    return note(torch_zip_add(a->w, b, a->index, e->off, (str){ 0 }, constant),
                "member %.*s", STR_ARG(e->name));
}

static hull_status add_flat(archive *a)
{
    const zip_entry *e = entry(a, "serialized_state_dict.pt");

    if (!e)
        return fail(HULL_EUNSUPPORTED,
                    "an archive of torch 2.1 or without a "
                    "state_dict; save it with torch 2.6 or later");
    TRY(add_nested(a, e, false));
    e = entry(a, "serialized_constants.pt");
    return e ? add_nested(a, e, true) : HULL_OK;
}

static hull_status add_folder(archive *a, const char *folder, bool constant,
                              const char *old_name)
{
    const zip_entry *e;

    e = entry(a, "data/%s/%s_%s_config.json", folder, a->model, folder);
    if (!e)
        e = entry(a, "data/%s/%s_model_%s_config.json", folder, a->model,
                  old_name);
    if (e)
        return note(add_config(a, e, folder, constant), "%.*s",
                    STR_ARG(e->name));
    e = entry(a, "data/%s/%s.pt", folder, a->model);
    if (e)
        return add_nested(a, e, constant);
    if (constant)
        return HULL_OK;
    return fail(HULL_EFORMAT, "model '%s' has no weights config", a->model);
}

static hull_status read_archive(archive *a)
{
    TRY(find_root(a));
    if (is_flat(a))
        return add_flat(a);
    TRY(check_text(a, "archive_format", "pt2"));
    TRY(check_text(a, "archive_version", "0"));
    TRY(check_text(a, "byteorder", "little"));
    TRY(find_model(a));
    TRY(add_folder(a, "weights", false, "param"));
    return add_folder(a, "constants", true, "constants");
}

hull_status pt2_data_read(weights *w, file *f)
{
    archive a = { .w = w };
    hull_status st;

    TRY(zip_open(&a.z, (bytes){ f->p, (size_t)f->size }));
    st = weights_take_file(w, f, &a.index);
    if (st == HULL_OK)
        st = read_archive(&a);
    zip_close(&a.z);
    return st;
}
