/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * int_vnni.c - int_vec.h.
 */
#include "backend/cpu/int_vec.h"
