/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * session.h - the inside of a session, for the files session*.c only.
 */
#ifndef HULL_RUN_SESSION_H
#define HULL_RUN_SESSION_H

#include "run/module.h"

#define LAYOUTS_KEPT 8

/* One value of the call graph. */
typedef struct cell {
    shape shape;
    uint64_t size;       /* bytes */
    uint64_t *off;       /* per device: offset in its slab; UINT64_MAX = none */
    bool *valid;         /* per device: holds the value now */
} cell;

typedef struct call_layout {
    program_plan *plan;      /* NULL: a dynamic block */
    bool dynamic;
    shape *shapes;           /* of a dynamic block's parameters */
    box **boxes, **made;     /* likewise: parameters that are boxed, results */
    place *params, *results; /* filled in anew for each run */
    uint64_t scratch_off, scratch;
} call_layout;

typedef struct layout {
    shape *inputs;       /* the key */
    cell *cells;         /* per value id of the call graph */
    call_layout *calls;  /* per block */
    uint64_t *slab_bytes; /* per device */
    arena a;
    uint64_t used;       /* the session's clock at the last use */
} layout;

struct hull_session {
    module *m;
    layout *layouts[LAYOUTS_KEPT];
    uint32_t n_layouts;
    device_buffer **slabs; /* per device, as large as the largest layout */
    uint64_t *slab_bytes;
    stream **streams;    /* per device */
    place *windows;      /* per device: slots of sets that stream */
    char *staging;       /* for values that change devices, strided inputs */
    uint64_t staging_bytes;
    char **outputs;      /* per output: memory that the session lends */
    uint64_t *output_bytes;
    shape *output_shapes;
    dim_env env;
    uint64_t clock, version;
    random_state random;
    bool *boxed;         /* per value of main: no plain tensor */
    box **boxes;         /* per value of main: inputs and results that are no
                          * plain tensors, of the last run */
    arena texts, views;  /* what they point to; what outputs point to */
    hull_tensor *inputs; /* the user's, then the states */
    shape *state_shapes; /* per state; their data is inputs[..].data */
    weight_set *held;    /* with states: the set they started from */
};

/* ---- session_layout.c ---------------------------------------------------- */

/* The block that a call node runs. */
uint32_t block_of(const node *call);
/* The index of the block's device. */
uint32_t device_of(const module *m, uint32_t block);
bool same_shape(const shape *a, const hull_tensor *t);
/* The layout for these inputs, known or made, and slabs that are large enough.
 * NULL on failure. */
hull_status want_layout(layout **out, session *s, const hull_tensor *inputs,
                        size_t n) MUST_CHECK;
void layout_free(const session *s, layout *l);

#endif
