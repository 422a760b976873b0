/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * reduce_avx512.c - reduce_vec.h at this level.
 */
#include "backend/cpu/reduce_vec.h"
