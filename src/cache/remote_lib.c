/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * remote_lib.c - loads a library and takes the functions of a table out of it.
 */
#include "cache/remote_lib.h"

#include <dlfcn.h>
#include <string.h>

hull_status lib_load(void *table, const char *soname, const lib_row *rows,
                     size_t n)
{
    void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

    if (lib == NULL)
        return fail(HULL_EUNSUPPORTED, "library %s does not load: %s", soname,
                    dlerror());
    for (size_t i = 0; i < n; i++) {
        void *at = dlsym(lib, rows[i].name);

        if (at == NULL)
            return fail(HULL_EUNSUPPORTED, "library %s has no %s", soname,
                        rows[i].name);
        /* POSIX has function pointers fit into void *; ISO C does not. */
        memcpy((char *)table + rows[i].off, &at, sizeof at);
    }
    return HULL_OK;
}
