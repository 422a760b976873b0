/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * kind.c - what an entry may be, a row per kind, and the check of an entry's
 * container.
 */
#include "cache/disk.h"

const kind_row cache_kinds[CACHE_KINDS] = {
    /* name, suffix, container, section, replaced, local */
    [CACHE_ENGINE] = {"engine", ".engine", CONTAINER_ENGINE, NULL, 0, 0},
    [CACHE_NOTES] = {"notes", ".notes", CONTAINER_NOTES, "notes", 1, 1},
    [CACHE_PLAN] = {"plan", ".plan", CONTAINER_PLAN, NULL, 0, 0},
    [CACHE_MANIFEST] = {"manifest", ".manifest", CONTAINER_NOTES, "notes", 0,
                        0},
};

const char *cache_kind_name(cache_kind kind)
{
    return cache_kinds[kind].name;
}

hull_status entry_check(container *c, cache_kind kind, bytes *out_key)
{
    const kind_row *row = &cache_kinds[kind];

    if (container_kind_of(c) != row->container)
        return fail(HULL_EFORMAT, "entry is no %s", row->name);
    if (row->section != NULL && !container_has(c, row->section))
        return fail(HULL_EFORMAT, "entry has no section '%s'", row->section);
    if (container_has(c, "slots") || container_has(c, "sources"))
        return fail(HULL_EFORMAT, "entry holds weights");
    return container_get(c, "key", KEY_PREIMAGE_MAX, out_key);
}

hull_status entry_check_writer(const container_writer *w)
{
    if (!container_writer_has(w, "key"))
        return fail(HULL_EINVAL, "an entry needs a section 'key'");
    if (container_writer_has(w, "slots") || container_writer_has(w, "sources"))
        return fail(HULL_EINVAL, "an entry with weights is not stored");
    if (container_writer_has(w, SEAL_SECTION))
        return fail(HULL_EINVAL, "an entry is signed when it is stored");
    return HULL_OK;
}
