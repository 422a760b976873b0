/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * winograd_avx512.c - winograd_vec.h at this level.
 */
#include "backend/cpu/winograd_vec.h"
