/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_cache_move.c - `hull cache export` and `import`: entries into one file,
 * and out of it.
 */
#include <inttypes.h>

#include "cache/bundle.h"
#include "cli/cmd_cache.h"
#include "compile/compile.h"

/* ---- export -------------------------------------------------------------- */

static void show_refused(void *user, const cache_item *item,
                         const char *reason)
{
    char hex[DIGEST_HEX_SIZE];
    cli *c = user;

    digest_hex(&item->key, hex);
    if (!c->json)
        fprintf(stderr, "hull: %s %s: %s\n", cache_kind_name(item->kind), hex,
                reason);
    /* Out of memory shows in the count that follows. */
    ignore(answer_item(json_object_get(c->result, "refused"),
                       json_pack("{s:s, s:s, s:o}", "key", hex, "kind",
                                 cache_kind_name(item->kind), "reason",
                                 json_str(str_of(reason)))));
}

/* The keys that are asked for; a whole cache has none. */
typedef struct wanted {
    cli *c;
    strmap keys;
    uint64_t n_bad;
} wanted;

static hull_status want_key(wanted *w, const digest *d)
{
    return strmap_set(&w->keys, (str){ (const char *)d->b, sizeof d->b }, 0);
}

static hull_status want_block(void *user, const graph *g, const cache_key *k)
{
    (void)g;
    return want_key(user, &k->d);
}

static hull_status want_model(wanted *w, const char *path)
{
    front_model *fm = NULL;
    hull_status st = HULL_OK;
    devices ds = { 0 };

    TRY_OUT(devices_open(&ds, w->c->options));
    TRY_OUT(front_import(&fm, path, NULL));
    st = plan_keys(fm, &ds, want_block, w);
out:
    devices_close(&ds);
    front_free(fm);
    return st;
}

static bool is_wanted(void *user, const cache_item *item)
{
    const wanted *w = user;
    uint32_t v;

    return w->c->all ||
           strmap_get(&w->keys, (str){ (const char *)item->key.b,
                                       sizeof item->key.b }, &v);
}

static void note_bad(void *user, const cache_item *item, const char *reason)
{
    wanted *w = user;

    w->n_bad++;
    show_refused(w->c, item, reason);
}

static hull_status find_wanted(wanted *w, cache *k)
{
    cli *c = w->c;
    cache_item item;
    char *path;

    for (uint32_t i = 0; i < c->n_models; i++)
        TRY(want_model(w, c->models[i]));
    for (uint32_t i = 2; i < c->n_args; i++) {
        TRY(cache_find_key(&item, &path, k, c->args[i]));
        mem_free(path);
        TRY(want_key(w, &item.key));
    }
    return HULL_OK;
}

static hull_status show_exported(const wanted *w, uint64_t n)
{
    cli *c = w->c;
    char size[16];
    file f;

    TRY(file_map(&f, c->args[1]));
    size_text(size, f.size);
    TRY(answer(c->result, "entries", json_integer((json_int_t)n)));
    TRY(answer(c->result, "bytes", json_integer((json_int_t)f.size)));
    file_close(&f);
    if (!c->json)
        printf("%" PRIu64 " entries, %s in %s\n", n, size, c->args[1]);
    if (w->n_bad > 0)
        return fail(HULL_EFORMAT, "%" PRIu64 " entries cannot be used and were "
                    "left out", w->n_bad);
    return HULL_OK;
}

hull_status cache_export_file(cli *c, cache *k)
{
    wanted w = { .c = c };
    hull_status st = HULL_OK;
    uint64_t n;

    c->usage = c->all ? c->n_models > 0 || c->n_args > 2
                      : c->n_models == 0 && c->n_args == 2;
    if (c->usage)
        return fail(HULL_EINVAL, "cache export: want --all, or --model MODEL "
                    "or keys");
    TRY(answer(c->result, "refused", json_array()));
    TRY_OUT(find_wanted(&w, k));
    progress_begin(c, "writing", c->args[1]);
    TRY_OUT(cache_export(k, c->args[1], is_wanted, note_bad, &w, &n));
    progress_end();
    st = show_exported(&w, n);
out:
    strmap_fini(&w.keys);
    return st;
}

/* ---- import -------------------------------------------------------------- */

hull_status cache_import_file(cli *c, cache *k)
{
    cache_imported n;
    hull_status st;

    TRY(answer(c->result, "refused", json_array()));
    progress_begin(c, "importing", c->args[1]);
    st = cache_import(&n, k, c->args[1], show_refused, c);
    progress_end();
    TRY(answer(c->result, "added", json_integer((json_int_t)n.added)));
    TRY(answer(c->result, "present", json_integer((json_int_t)n.present)));
    TRY(answer(c->result, "n_refused", json_integer((json_int_t)n.refused)));
    TRY(st);
    if (!c->json)
        printf("%" PRIu64 " added, %" PRIu64 " already there, %" PRIu64
               " refused\n", n.added, n.present, n.refused);
    if (n.refused > 0)
        return fail(HULL_EFORMAT, "%s: %" PRIu64 " entries were refused",
                    c->args[1], n.refused);
    return HULL_OK;
}
