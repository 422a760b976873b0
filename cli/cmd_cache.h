/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_cache.h - the verbs of `hull cache` that have files of their own.
 */
#ifndef HULL_CLI_CMD_CACHE_H
#define HULL_CLI_CMD_CACHE_H

#include "cache/cache.h"
#include "cli/cli.h"

/* "2026-01-31T12:00:00Z" */
void time_text(char out[32], int64_t ns);
/* "17 B", "3.0 KiB", "1.2 GiB" */
void size_text(char out[16], uint64_t n);

hull_status cache_show_items(cli *c, cache *k) MUST_CHECK;
/* The one entry whose key begins so; out->path is *out_path, mem_free it.
 * HULL_EINVAL lists them when there are several. */
hull_status cache_find_key(cache_item *out, char **out_path, cache *k,
                           const char *prefix) MUST_CHECK;
hull_status cache_show_entry(cli *c, cache *k) MUST_CHECK;
hull_status cache_run_gc(cli *c, cache *k) MUST_CHECK;
hull_status cache_why_miss(cli *c, cache *k) MUST_CHECK;
hull_status cache_export_file(cli *c, cache *k) MUST_CHECK;
hull_status cache_import_file(cli *c, cache *k) MUST_CHECK;

#endif
