/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * build.c - what several commands do: open the cache or say that there is
 * none, tell a file by its content, and make a module from what was named.
 */
#include <string.h>

#include "cli/cli.h"
#include "container/layout.h"
#include "options/options.h"

hull_status open_cache(cli *c, hull_cache **out)
{
    char text[ERROR_TEXT_MAX + 64];

    *out = NULL;
    if (c->no_cache)
        return HULL_OK;
    if (hull_cache_open(out, c->cache_dir, c->options) == HULL_OK)
        return HULL_OK;
    *out = NULL;
    snprintf(text, sizeof(text), "no cache, every engine is built: %s",
             error_text());
    return answer_warning(c, text);
}

hull_status file_kind_of(file_kind *out, const char *path)
{
    uint8_t start[16] = { 0 };
    file f = { 0 };
    hull_status st = HULL_OK;

    *out = KIND_OTHER;
    TRY(file_map(&f, path));
    if (f.size >= sizeof(start))
        st = file_read_at(&f, 0, start, sizeof(start));
    file_close(&f);
    TRY(st);
    /* The name alone, so that a damaged file is reported as what it was. The
     * kind stands behind the magic and two 16-bit versions. */
    if (memcmp(start, CONTAINER_MAGIC, 5) == 0)
        *out = start[12] == CONTAINER_ENGINE  ? KIND_ENGINE
               : start[12] == CONTAINER_NOTES ? KIND_NOTES
               : start[12] == CONTAINER_PLAN  ? KIND_PLAN
                                              : KIND_MODULE;
    else if (memcmp(start, "\x93NUMPY", 6) == 0 ||
             (memcmp(start, "PK", 2) == 0 && str_ends(str_of(path), ".npz")))
        *out = KIND_TENSORS;
    return HULL_OK;
}

hull_status module_facts(json_t **out, const hull_module *m)
{
    char *text;
    hull_status st;

    *out = NULL;
    TRY(hull_module_describe(&text, m));
    st = json_parse(out, text, strlen(text), "the facts of the module");
    hull_free(text);
    return st;
}

unsigned save_flags(const cli *c)
{
    unsigned flags = c->link ? HULL_SAVE_LINK : HULL_SAVE_SOURCES;

    if (c->strip)
        return 0;
    return flags | (c->prepared ? HULL_SAVE_PREPARED : 0u);
}

hull_status open_module(cli *c, hull_module **out, const char *path)
{
    hull_weights *w = NULL;
    hull_cache *cache = NULL;
    hull_status st = HULL_OK;
    file_kind kind;

    *out = NULL;
    TRY(file_kind_of(&kind, path));
    if (kind == KIND_ENGINE || kind == KIND_NOTES || kind == KIND_PLAN ||
        kind == KIND_TENSORS)
        return fail(HULL_EINVAL, "%s is %s, want a model or a module", path,
                    kind == KIND_TENSORS ? "a tensor file" : "a cache entry");
    if (c->weights)
        TRY_OUT(hull_weights_open(&w, c->weights));
    TRY_OUT(open_cache(c, &cache));
    progress_begin(c, kind == KIND_MODULE ? "loading"
                      : option_on(c->options, OPT_tune)
                          ? "compiling (timing choices)" : "compiling", path);
    st = kind == KIND_MODULE
             ? hull_module_load(out, path, w, cache, c->options)
             : hull_compile(out, path, w, cache, c->options);
    progress_end();
out:
    hull_cache_unref(cache);
    hull_weights_unref(w);
    return st;
}
