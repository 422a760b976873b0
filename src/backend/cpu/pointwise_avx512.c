/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pointwise_avx512.c - pointwise_vec.h and chain_vec.h at this level.
 */
#include "backend/cpu/chain_vec.h"
