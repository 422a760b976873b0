/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * resize_avx2.c - resize_vec.h at this level.
 */
#include "backend/cpu/resize_vec.h"
