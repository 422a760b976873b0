/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * norm_avx512.c - norm_vec.h at this level.
 */
#include "backend/cpu/norm_vec.h"
