/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * gemm_avx512.c - gemm_vec.h at this level.
 */
#include "backend/cpu/gemm_vec.h"
