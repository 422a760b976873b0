/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * quant_avx512.c - quant_vec.h at this level.
 */
#include "backend/cpu/quant_vec.h"
