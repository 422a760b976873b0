/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sdpa_avx2.c - sdpa_vec.h at this level.
 */
#include "backend/cpu/sdpa_vec.h"
