/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * bmm_avx512.c - bmm_vec.h at this level.
 */
#include "backend/cpu/bmm_vec.h"
