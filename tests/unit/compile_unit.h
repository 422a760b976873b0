/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * compile_unit.h - compiles a model for named backends through the public API.
 */
#ifndef HULL_COMPILE_UNIT_H
#define HULL_COMPILE_UNIT_H

#include "unit.h"

/* The module is the caller's: hull_module_unref. */
static inline hull_module *compiled(const char *path, const char *backends)
{
    hull_module *m;
    hull_options *o;

    assert_int_equal(hull_options_new(&o), HULL_OK);
    assert_int_equal(hull_options_set(o, "backends", backends), HULL_OK);
    if (hull_compile(&m, path, NULL, NULL, o) != HULL_OK) {
        print_error("%s\n", hull_last_error());
        assert_true(0);
    }
    hull_options_free(o);
    return m;
}

#endif
