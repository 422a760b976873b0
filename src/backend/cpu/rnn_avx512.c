/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * rnn_avx512.c - rnn_vec.h at this level.
 */
#include "backend/cpu/rnn_vec.h"
