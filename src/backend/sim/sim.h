/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sim.h - what the two files of the simulated device share.
 */
#ifndef HULL_SIM_H
#define HULL_SIM_H

#include "backend/backend.h"

/* pack.c: weights of matmuls become panels. */
hull_status sim_lower(device *d, graph *g, const options *o,
                      const notebook *notes) MUST_CHECK;

#endif
