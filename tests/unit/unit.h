/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * unit.h - cmocka with what it needs, and without its macro fail(), whose name
 * is that of our own function; checks that tell what the error says. Include it
 * before anything of the product.
 */
#ifndef HULL_UNIT_H
#define HULL_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail

#include "base/base.h"

/* Fails the test with a text (cmocka's fail_msg needs its macro fail). */
#define stop(...)                  \
    do {                           \
        print_error(__VA_ARGS__);  \
        print_error("\n");         \
        _fail(__FILE__, __LINE__); \
    } while (0)

/* Says what was returned and why. */
#define OK(e)                                                     \
    do {                                                          \
        hull_status ok_st_ = (e);                                 \
        if (ok_st_ != HULL_OK)                                    \
            stop("%s: %s: %s", #e, hull_status_name(ok_st_),      \
                 error_text());                                   \
    } while (0)

#endif
