/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * box.h - values of a run whose size, or whose being a tensor at all, only the
 * run decides: tensors that own their memory, sequences, empty optionals. A box
 * belongs to one thread and is never changed once it has a second reference.
 */
#ifndef HULL_OPS_BOX_H
#define HULL_OPS_BOX_H

#include "ir/ir.h"

struct box {
    uint32_t refs;
    tensor t;        /* a sequence: HULL_SEQUENCE, shape [n_items], no data; an
                      * optional without a value: HULL_NONE */
    box **items;     /* of a sequence: a reference each */
    bool borrows;    /* t.data belongs to somebody else */
};

/* All makers give one reference, NULL when memory ran out (fail_oom is set).
 * box_new leaves the elements undefined. */
box *box_new(hull_dtype dt, const int64_t *shape, uint32_t rank);
/* Memory that outlives the run stays where it is. */
box *box_borrow(const tensor *t);
/* Room for n items, all NULL: the caller sets each before the box is used. */
box *box_sequence(size_t n);
box *box_none(void);
box *box_ref(box *b);
void box_unref(box *b);
size_t box_n_items(const box *b);
/* A box that owns all of its memory, and its texts in `texts`: b itself with
 * one more reference where that is so already. */
box *box_own(box *b, arena *texts);
/* Bytes of the elements. */
uint64_t box_bytes(const box *b);

#endif
