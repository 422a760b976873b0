/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pack_avx2.c - pack_vec.h at this level.
 */
#include "backend/cpu/pack_vec.h"
