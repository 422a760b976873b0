/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_cache_gc.c - `hull cache gc`: what may go, goes now.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/cmd_cache.h"

/* "90s", "45m", "12h", "30d" */
static bool age_of(uint64_t *out_s, const char *text)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    size_t n = strlen(text);

    for (size_t i = 0; n > 1 && i < COUNT_OF(units); i++)
        if (text[n - 1] == units[i].unit)
            return str_to_u64(out_s, (str){ text, n - 1 }) &&
                   *out_s <= UINT32_MAX &&
                   mul_u64(out_s, *out_s, units[i].seconds);
    return false;
}

static hull_status read_age(int64_t *out_ns, const cli *c)
{
    uint64_t seconds;
    struct timespec now;

    *out_ns = 0;
    if (c->other_versions && !c->older_than)
        return fail(HULL_EINVAL, "cache gc: --other-versions wants "
                    "--older-than AGE");
    if (!c->older_than)
        return HULL_OK;
    if (!age_of(&seconds, c->older_than))
        return fail(HULL_EINVAL, "cache gc: --older-than %s, want a number "
                    "and s, m, h or d", c->older_than);
    clock_gettime(CLOCK_REALTIME, &now);
    *out_ns = ((int64_t)now.tv_sec - (int64_t)seconds) * 1000000000 +
              now.tv_nsec;
    *out_ns = *out_ns < 1 ? 1 : *out_ns;
    return HULL_OK;
}

static hull_status show_gc(cli *c, const cache_gc *r)
{
    const struct {
        const char *key, *text;
        uint64_t n;
    } rows[] = {
        { "bad", "damaged", r->bad },
        { "old", "unused for long", r->old },
        { "evicted", "beyond the limit", r->evicted },
        { "others", "files of other formats", r->others },
    };
    char freed[16], left[16];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        TRY(answer(c->result, rows[i].key,
                   json_integer((json_int_t)rows[i].n)));
        if (!c->json && rows[i].n > 0)
            printf("%s: %" PRIu64 "\n", rows[i].text, rows[i].n);
    }
    TRY(answer(c->result, "bytes", json_integer((json_int_t)r->bytes)));
    TRY(answer(c->result, "entries_left", json_integer((json_int_t)r->left)));
    TRY(answer(c->result, "bytes_left",
               json_integer((json_int_t)r->bytes_left)));
    size_text(freed, r->bytes);
    size_text(left, r->bytes_left);
    if (!c->json)
        printf("%s freed, %" PRIu64 " entries of %s left\n", freed, r->left,
               left);
    return HULL_OK;
}

hull_status cache_run_gc(cli *c, cache *k)
{
    int64_t before_ns;
    cache_gc r;

    c->usage = read_age(&before_ns, c) != HULL_OK;
    if (c->usage)
        return HULL_EINVAL;
    progress_begin(c, "collecting", cache_path(k));
    TRY(cache_collect(&r, k, before_ns, c->other_versions));
    progress_end();
    return show_gc(c, &r);
}
