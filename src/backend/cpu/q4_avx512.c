/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * q4_avx512.c - q4_vec.h at this level.
 */
#include "backend/cpu/q4_vec.h"
