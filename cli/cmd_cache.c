/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_cache.c - `hull cache`: the table of its verbs, and those that look at
 * the folder as a whole: stats, verify, clear.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/cmd_cache.h"

void time_text(char out[32], int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm tm;

    out[0] = '\0';
    if (gmtime_r(&seconds, &tm))
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void size_text(char out[16], uint64_t n)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double v = (double)n / 1024;
    size_t i = 0;

    if (n < 1024) {
        snprintf(out, 16, "%" PRIu64 " B", n);
        return;
    }
    for (; v >= 1023.95 && i + 1 < COUNT_OF(units); i++)
        v /= 1024;
    snprintf(out, 16, "%.1f %s", v, units[i]);
}

/* ---- stats --------------------------------------------------------------- */

/* Of the column of names: the longest one and a space. */
static int name_width(void)
{
    size_t most = 0;

    for (int i = 0; i < STAT_COUNT; i++) {
        size_t n = strlen(cache_stat_name((cache_stat)i));

        most = n > most ? n : most;
    }
    return (int)most + 1;
}

static hull_status show_stats(cli *c, cache *k)
{
    uint64_t stats[STAT_COUNT], asked;
    const int width = name_width();
    double rate;
    char size[16];

    TRY(cache_stats(k, stats));
    for (int i = 0; i < STAT_COUNT; i++) {
        const char *name = cache_stat_name((cache_stat)i);

        TRY(answer(c->result, name, json_integer((json_int_t)stats[i])));
        if (!c->json)
            printf("%-*s%12" PRIu64 "  %s\n", width, name, stats[i],
                   cache_stat_help((cache_stat)i));
    }
    asked = stats[STAT_hits] + stats[STAT_misses];
    rate = asked > 0 ? (double)stats[STAT_hits] / (double)asked : 0;
    TRY(answer(c->result, "hit_rate",
               asked > 0 ? json_real(rate) : json_null()));
    if (c->json)
        return HULL_OK;
    size_text(size, stats[STAT_bytes]);
    if (asked > 0)
        printf("%.1f %% of %" PRIu64 " look-ups hit\n", 100 * rate, asked);
    printf("entries: %" PRIu64 ", %s\n", stats[STAT_entries], size);
    return HULL_OK;
}

/* ---- verify, clear ------------------------------------------------------- */

static void show_bad(void *user, const cache_item *item, const char *reason)
{
    char hex[DIGEST_HEX_SIZE];
    cli *c = user;

    digest_hex(&item->key, hex);
    if (!c->json)
        printf("%s %s: %s\n", hex, cache_kind_name(item->kind), reason);
    /* Out of memory shows in the count that follows. */
    ignore(answer_item(json_object_get(c->result, "entries"),
                       json_pack("{s:s, s:s, s:o, s:o}", "key", hex, "kind",
                                 cache_kind_name(item->kind), "path",
                                 json_str(str_of(item->path)), "reason",
                                 json_str(str_of(reason)))));
}

static hull_status verify(cli *c, cache *k)
{
    uint64_t good, bad;

    TRY(answer(c->result, "entries", json_array()));
    progress_begin(c, "reading", cache_path(k));
    TRY(cache_verify(k, show_bad, c, &good, &bad));
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
    char size[16];

    TRY(cache_stats(k, before));
    TRY(cache_clear(k));
    TRY(answer(c->result, "removed",
               json_integer((json_int_t)before[STAT_entries])));
    TRY(answer(c->result, "bytes",
               json_integer((json_int_t)before[STAT_bytes])));
    size_text(size, before[STAT_bytes]);
    if (!c->json)
        printf("entries removed: %" PRIu64 ", %s\n", before[STAT_entries],
               size);
    return HULL_OK;
}

/* ---- verbs --------------------------------------------------------------- */

typedef struct verb {
    const char *name, *arguments;
    uint32_t min, max;   /* arguments behind the verb */
    uint32_t takes;      /* options that mean something to it */
    hull_status (*run)(cli *c, cache *k);
} verb;

enum takes {
    TAKES_KIND = 1,
    TAKES_LIMITS = 2,    /* --limit, --older-than, --other-versions */
    TAKES_MODELS = 4,    /* --model, --all */
    TAKES_WEIGHTS = 8,
    TAKES_TEXT = 16
};

static const verb verbs[] = {
    { "stats", "", 0, 0, 0, show_stats },
    { "ls", "", 0, 0, TAKES_KIND, cache_show_items },
    { "show", "KEY|FILE", 1, 1, TAKES_TEXT, cache_show_entry },
    { "why-miss", "MODEL", 1, 1, TAKES_WEIGHTS, cache_why_miss },
    { "verify", "", 0, 0, 0, verify },
    { "gc", "", 0, 0, TAKES_LIMITS, cache_run_gc },
    { "clear", "", 0, 0, 0, clear },
    { "export", "FILE [KEY...]", 1, ARGS_MAX - 1, TAKES_MODELS,
      cache_export_file },
    { "import", "FILE", 1, 1, 0, cache_import_file },
};

static const verb *find_verb(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

static hull_status no_verb(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (str_distance(str_of(name), str_of(verbs[i].name)) <= TYPO_MAX)
            return fail(HULL_EINVAL, "cache: there is no '%s', did you mean "
                        "'%s'?", name, verbs[i].name);
    return fail(HULL_EINVAL, "cache: there is no '%s', want stats, ls, show, "
                "why-miss, verify, gc, clear, export or import", name);
}

/* An option of another verb is a mistake, not a wish to ignore. */
static hull_status check_options(const cli *c, const verb *v)
{
    const struct {
        uint32_t takes;
        bool given;
        const char *names;
    } rows[] = {
        { TAKES_KIND, c->kind != NULL, "--kind" },
        { TAKES_LIMITS, c->limit || c->older_than || c->other_versions,
          "--limit, --older-than and --other-versions" },
        { TAKES_MODELS, c->n_models > 0 || c->all, "--model and --all" },
        { TAKES_WEIGHTS, c->weights != NULL, "--weights" },
        { TAKES_TEXT, c->text, "--text" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].given && !(v->takes & rows[i].takes))
            return fail(HULL_EINVAL, "cache %s: takes no %s", v->name,
                        rows[i].names);
    if (c->n_args - 1 < v->min || c->n_args - 1 > v->max)
        return fail(HULL_EINVAL, "cache %s: want %s, got %u arguments",
                    v->name, v->max == 0 ? "none" : v->arguments,
                    c->n_args - 1);
    if (c->no_cache)
        return fail(HULL_EINVAL, "cache: --no-cache makes no sense here");
    return HULL_OK;
}

static hull_status run_cache(cli *c)
{
    const verb *v = c->n_args > 0 ? find_verb(c->args[0]) : NULL;
    cache *k = NULL;
    hull_status st;

    c->usage = true;
    if (!v)
        return no_verb(c->n_args > 0 ? c->args[0] : "");
    TRY(check_options(c, v));
    if (c->limit)
        TRY(note(hull_options_set(c->options, "cache_limit", c->limit),
                 "cache %s", v->name));
    c->usage = false;
    TRY(cache_open(&k, c->cache_dir, c->options));
    st = answer(c->result, "folder", json_str(str_of(cache_path(k))));
    if (st == HULL_OK)
        st = v->run(c, k);
    progress_end();
    cache_unref(k);
    return st;
}

static const struct argp_option cache_verb_options[] = {
    { "weights", KEY_WEIGHTS, "CHECKPOINT", 0,
      "why-miss: the checkpoint whose names decide what is a weight", 0 },
    { "kind", KEY_KIND, "KIND", 0,
      "ls: only entries of this kind, with what each is of", 0 },
    { "text", KEY_TEXT, NULL, 0,
      "show: the whole preimage of the key too", 0 },
    { "limit", KEY_LIMIT, "SIZE", 0,
      "gc: remove least recently used entries until the rest fits (64KiB, "
      "10GiB)", 0 },
    { "older-than", KEY_OLDER_THAN, "AGE", 0,
      "gc: remove entries that nobody used for so long (90s, 45m, 12h, 30d)",
      0 },
    { "other-versions", KEY_OTHER_VERSIONS, NULL, 0,
      "gc: with --older-than, also the folders of other formats of the cache",
      0 },
    { "model", KEY_MODEL, "MODEL", 0,
      "export: the engines of this model's blocks; may be repeated", 0 },
    { "all", KEY_ALL, NULL, 0, "export: every entry", 0 },
    { 0 },
};

const command command_cache = {
    .name = "cache",
    .arguments = "stats\nls\nshow KEY|FILE\nwhy-miss MODEL\nverify\ngc\n"
                 "clear\nexport FILE [KEY...]\nimport FILE",
    .summary = "show, explain, check, trim, move or clear the engine cache",
    .doc = "Operates the engine cache.\n\n"
           "stats prints the counters of all processes that used the folder. "
           "ls lists the entries, the last used ones first. show prints an "
           "entry, named by the beginning of its key or by its file: target, "
           "options, sections, and what was measured. why-miss computes the "
           "keys of a model's blocks, as a compile with the same options "
           "would, and shows for each one that the cache lacks how the "
           "nearest entry differs, in words and line by line ('-' only the "
           "entry has it, '+' only the model). verify reads every entry, sets "
           "damaged ones aside and then exits with 2. gc removes damaged "
           "entries, what was left half written, and what its options say; "
           "clear removes all entries. export packs entries into one file, "
           "import checks and adds what is in one, and exits with 2 when it "
           "refused some of it.\v"
           "Keys may be shortened to any beginning that only one entry has. "
           "docs/cache.md describes the folder, the counters and the file "
           "that export writes.\n\n" EXIT_DOC,
    .options = cache_verb_options, .shared = SHARED_CACHE | SHARED_SET,
    .min_args = 0, .max_args = ARGS_MAX, .run = run_cache,
};
