/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * shards.c - a checkpoint in several files, by its index.json:
 *   {"metadata": {...}, "weight_map": {"tensor": "model-00001-of-00003.bin"}}
 * Shards lie beside the index and are safetensors or torch.save files. Every
 * tensor is in the shard that the map names, and no other is in a shard.
 */
#include <jansson.h>
#include <string.h>

#include "weights/index.h"

#define SAFETENSORS ".safetensors"
#define INDEX_JSON_MAX ((size_t)64 << 20)


static hull_status read_shard(weights *w, const char *index,
                              const char *name)
{
    char *dir = path_dir(index), *path = dir ? path_join(dir, name) : NULL;
    file f = { .fd = -1 };
    hull_status st;

    mem_free(dir);
    if (!path)
        return fail_oom(strlen(index) + strlen(name) + 2);
    st = file_map_below(&f, path, index);
    if (st == HULL_OK)
        st = str_ends(str_of(name), SAFETENSORS)
                 ? safetensors_read(w, &f)
                 : torch_read_any(w, &f, (str){ 0 });
    if (st == HULL_OK && w->open_choice)
        st = fail(HULL_EUNSUPPORTED,
                  "nests several dictionaries of tensors: %s",
                  w->open_choice);
    file_close(&f);
    mem_free(path);
    return note(st, "shard %s", name);
}

/* Every tensor of a shard is in the map, under that shard. */
static hull_status check_shard(const weights *w, size_t first, json_t *map,
                               const char *shard)
{
    for (size_t i = first; i < w->n; i++) {
        str name = w->entries[i].name;
        const char *at =
            json_string_value(json_object_getn(map, name.p, name.n));

        if (!at)
            return fail(HULL_EFORMAT,
                        "tensor '%.*s' of shard %s is not in the weight_map",
                        STR_ARG(name), shard);
        if (strcmp(at, shard) != 0)
            return fail(HULL_EFORMAT,
                        "tensor '%.*s' is in shard %s, the weight_map says "
                        "%.200s",
                        STR_ARG(name), shard, at);
    }
    return HULL_OK;
}

/* All shards are of the kind of the first one; their names tell. */
static hull_status check_kind(weights *w, const char *shard)
{
    static const char *const torch[] = { ".bin", ".pt", ".pth" };
    weights_format format = WEIGHTS_MEMORY;

    if (str_ends(str_of(shard), SAFETENSORS))
        format = WEIGHTS_SAFETENSORS;
    for (size_t i = 0; i < COUNT_OF(torch); i++)
        if (str_ends(str_of(shard), torch[i]))
            format = WEIGHTS_TORCH;
    if (format == WEIGHTS_MEMORY)
        return fail(HULL_EUNSUPPORTED,
                    "shard '%.200s': .safetensors, .bin, .pt and .pth are "
                    "read",
                    shard);
    if (w->format != WEIGHTS_MEMORY && w->format != format)
        return fail(HULL_EFORMAT,
                    "shard '%.200s' is of another kind than the first",
                    shard);
    w->format = format;
    return HULL_OK;
}

static hull_status read_map(weights *w, json_t *map, const char *index)
{
    hull_status st = HULL_OK;
    strmap seen = { 0 };
    const char *name;
    json_t *value;

    json_object_foreach(map, name, value)
    {
        const char *shard = json_string_value(value);
        str s = str_of(shard);
        size_t first = w->n;
        uint32_t other;

        if (!shard)
            TRY_OUT(fail(HULL_EFORMAT,
                         "weight_map of '%.200s' is %s, a file "
                         "name is wanted",
                         name, json_kind(value)));
        if (strmap_get(&seen, s, &other))
            continue;
        if (!str_is_safe_path(s) || memchr(s.p, '/', s.n) || str_is(s, "."))
            TRY_OUT(fail(HULL_EFORMAT,
                         "shard '%.200s' of '%.200s' is not a "
                         "plain file name",
                         shard, name));
        TRY_OUT(check_kind(w, shard));
        TRY_OUT(strmap_set(&seen, s, 1));
        TRY_OUT(read_shard(w, index, shard));
        TRY_OUT(check_shard(w, first, map, shard));
    }
    if (w->n != json_object_size(map)) {
        json_object_foreach(map, name,
                            value) if (!weights_find(w, str_of(name)))
            TRY_OUT(fail(HULL_EFORMAT,
                         "tensor '%.200s' of the weight_map "
                         "is not in shard %.200s",
                         name, json_string_value(value)));
    }
out:
    strmap_fini(&seen);
    return st;
}

hull_status shards_read(weights *w, const char *index_path)
{
    hull_status st = HULL_OK;
    char *text = NULL;
    size_t n;
    json_t *root = NULL, *map;

    TRY_OUT(file_read_all(&text, &n, index_path, INDEX_JSON_MAX));
    TRY_OUT(json_parse(&root, text, n, "index of shards"));
    if (!json_is_object(root))
        TRY_OUT(fail(HULL_EFORMAT, "index of shards is %s, not an object",
                     json_kind(root)));
    TRY_OUT(json_want_object(&map, root, "weight_map", "index of shards"));
    TRY_OUT(read_map(w, map, index_path));
    if (w->format == WEIGHTS_MEMORY) /* an empty map */
        w->format = WEIGHTS_SAFETENSORS;
out:
    json_free(root);
    mem_free(text);
    return st;
}
