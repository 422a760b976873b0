/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * remote_lib.h - libraries that only stores need. They pull in tens of others,
 * so no process pays for them before it opens a store: they are loaded then,
 * by the soname that goes with the headers of the build.
 */
#ifndef HULL_CACHE_REMOTE_LIB_H
#define HULL_CACHE_REMOTE_LIB_H

#include "base/base.h"

typedef struct lib_row {
    const char *name;
    size_t off; /* of the pointer in the table */
} lib_row;

/* Fills a table of functions; HULL_EUNSUPPORTED when the library or one of
 * them is not there. A library stays loaded. */
hull_status lib_load(void *table, const char *soname, const lib_row *rows,
                     size_t n) MUST_CHECK;

#endif
