/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * typed_avx512.c - typed_vec.h at this level.
 */
#include "backend/cpu/typed_vec.h"
