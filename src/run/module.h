/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module.h - the inside of a module, shared by the files of src/run only.
 */
#ifndef HULL_RUN_MODULE_H
#define HULL_RUN_MODULE_H

#include "run/run.h"

struct hull_module {
    _Atomic(uint32_t) refs;
    plan *plan;
    devices devices;
    program **mains;       /* per block, on its device */

    pthread_mutex_t lock;  /* current, previous, version: held for an instant */
    weight_set *current, *previous;
    uint64_t version;

    pthread_mutex_t refit; /* refits are serial; held for a whole one */
    fill_plan *fill;
    fill_memory memory;

    /* The reclaimer frees sets that nobody pins, so that no request does. */
    pthread_t reclaimer;
    bool has_reclaimer, closing;
    pthread_mutex_t retired_lock;
    pthread_cond_t retired_some;
    weight_set **retired;
    size_t n_retired, cap_retired;
};

/* Publishes s (takes it) as the current set with the next version number. The
 * set before stays for a rollback, or none does. Seconds that readers could
 * have waited for. */
double module_publish(module *m, weight_set *s, bool keep_previous);
/* With m->refit held: frees what the reclaimer has not come to, so that a fill
 * finds its memory. */
void module_reclaim(module *m);
device *module_device(const module *m, uint32_t block);
/* Where the unit's sources are now, into its places in a set's stamps. */
void stamp_sources(source_stamp *stamps, const fill_unit *u,
                   const binding *b);
/* Bytes of a value of fixed shape, 0 when it has none. */
uint64_t static_bytes(const type *t);
/* Fills and publishes the first set of a loaded module. Takes b. */
hull_status module_fill_bound(module *m, binding *b, const options *o)
    MUST_CHECK;

#endif
