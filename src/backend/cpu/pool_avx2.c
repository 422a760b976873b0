/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pool_avx2.c - pool_vec.h at this level.
 */
#include "backend/cpu/pool_vec.h"
