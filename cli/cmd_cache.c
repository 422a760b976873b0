/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_cache.c - `hull cache`: counters, entries, verification, clearing.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"
#include "cli/cli.h"

static hull_status show_stats(cli *c, cache *k)
{
    uint64_t stats[STAT_COUNT];

    TRY(cache_stats(k, stats));
    for (int i = 0; i < STAT_COUNT; i++) {
        const char *name = cache_stat_name((cache_stat)i);

        TRY(answer(c->result, name, json_integer((json_int_t)stats[i])));
        if (!c->json)
            printf("%-12s%12" PRIu64 "  %s\n", name, stats[i],
                   cache_stat_help((cache_stat)i));
    }
    return HULL_OK;
}

static hull_status show_item(void *user, const cache_item *item)
{
    cli *c = user;
    char hex[DIGEST_HEX_SIZE], when[32] = "";
    time_t seconds = (time_t)(item->used_ns / 1000000000);
    struct tm tm;

    digest_hex(&item->key, hex);
    if (gmtime_r(&seconds, &tm))
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (!c->json)
        printf("%s %10" PRIu64 " %s%s\n", hex, item->size, when,
               item->kind == CACHE_NOTES ? " notes" : "");
    return answer_item(json_object_get(c->result, "entries"),
                       json_pack("{s:s, s:s, s:I, s:s, s:o}", "key", hex,
                                 "kind", cache_kind_name(item->kind),
                                 "bytes", (json_int_t)item->size, "used", when,
                                 "path",
                                 json_str(str_of(item->path))));
}

static hull_status show_items(cli *c, cache *k)
{
    TRY(answer(c->result, "entries", json_array()));
    return cache_list(k, show_item, c);
}

static hull_status verify(cli *c, cache *k)
{
    uint64_t good, bad;

    progress_begin(c, "reading", cache_path(k));
    TRY(cache_verify(k, &good, &bad));
    progress_end();
    TRY(answer(c->result, "good", json_integer((json_int_t)good)));
    TRY(answer(c->result, "bad", json_integer((json_int_t)bad)));
    if (!c->json)
        printf("%" PRIu64 " good, %" PRIu64 " bad\n", good, bad);
    if (bad > 0)
        return fail(HULL_EFORMAT, "%" PRIu64 " damaged entries were set aside "
                    "in %s", bad, cache_path(k));
    return HULL_OK;
}

static hull_status clear(cli *c, cache *k)
{
    uint64_t before[STAT_COUNT];

    TRY(cache_stats(k, before));
    TRY(cache_clear(k));
    TRY(answer(c->result, "removed",
               json_integer((json_int_t)before[STAT_entries])));
    if (!c->json)
        printf("%" PRIu64 " entries removed\n", before[STAT_entries]);
    return HULL_OK;
}

static const struct {
    const char *name;
    hull_status (*run)(cli *c, cache *k);
} verbs[] = {
    { "stats", show_stats },
    { "ls", show_items },
    { "verify", verify },
    { "clear", clear },
};

static hull_status run_cache(cli *c)
{
    cache *k = NULL;
    hull_status st;
    size_t i = 0;

    while (i < COUNT_OF(verbs) && strcmp(verbs[i].name, c->args[0]) != 0)
        i++;
    c->usage = i == COUNT_OF(verbs) || c->no_cache;
    if (i == COUNT_OF(verbs))
        return fail(HULL_EINVAL, "cache: there is no '%s', want stats, ls, "
                    "verify or clear", c->args[0]);
    if (c->no_cache)
        return fail(HULL_EINVAL, "cache: --no-cache makes no sense here");
    TRY(cache_open(&k, c->cache_dir, c->options));
    st = answer(c->result, "folder", json_str(str_of(cache_path(k))));
    if (st == HULL_OK)
        st = verbs[i].run(c, k);
    progress_end();
    cache_unref(k);
    return st;
}

const command command_cache = {
    .name = "cache", .arguments = "stats|ls|verify|clear",
    .summary = "show, check or clear the engine cache",
    .doc = "stats prints the counters of all processes that used the folder; "
           "ls lists the entries with bytes and last use; verify reads every "
           "entry, sets damaged ones aside and then exits with 2; clear "
           "removes the entries.\v" EXIT_DOC,
    .options = NULL, .shared = SHARED_CACHE,
    .min_args = 1, .max_args = 1, .run = run_cache,
};
