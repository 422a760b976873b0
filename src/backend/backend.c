/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * backend.c - the table of backends in order of preference.
 */
#include "backend/backend.h"

#define BACKEND(name, help) &backend_##name,
static const backend *const backends[] = {
#include "backend/backends.def"
};
#undef BACKEND

const backend *backend_at(size_t i)
{
    return i < COUNT_OF(backends) ? backends[i] : NULL;
}

const backend *backend_find(str name)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++)
        if (str_is(name, backends[i]->name))
            return backends[i];
    return NULL;
}
