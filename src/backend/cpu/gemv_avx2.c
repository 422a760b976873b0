/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * gemv_avx2.c - gemv_vec.h at this level.
 */
#include "backend/cpu/gemv_vec.h"
