/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * unit.h - cmocka with what it needs, and without its macro fail(), whose name
 * is that of our own function. Include it before anything of the product.
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

#endif
