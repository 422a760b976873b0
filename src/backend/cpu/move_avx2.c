/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * move_avx2.c - move_vec.h at this level.
 */
#include "backend/cpu/move_vec.h"
