/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * conv_avx2.c - conv_vec.h at this level.
 */
#include "backend/cpu/conv_vec.h"
