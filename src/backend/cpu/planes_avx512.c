/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * planes_avx512.c - planes_vec.h at this level.
 */
#include "backend/cpu/planes_vec.h"
