/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * boxes.h - values at the border of a session that are no plain tensors:
 * sequences, optionals, strings, results whose size the run decided.
 */
#ifndef HULL_RUN_BOXES_H
#define HULL_RUN_BOXES_H

#include "ops/box.h"

/* The value enters and leaves a session as a box. */
bool type_is_boxed(const type *t);
/* The caller's value as a box that borrows its memory. HULL_ESHAPE when it is
 * not of type want (sizes that are symbols are left to the run); `what` names
 * it: "input 'x'". */
hull_status box_of_input(box **out, const ir *m, const type *want,
                         const hull_tensor *t, const char *what) MUST_CHECK;
/* Fills *out with what b holds; arrays of elements and shapes go to a. Valid as
 * long as b and a. */
hull_status box_view(hull_tensor *out, const box *b, arena *a) MUST_CHECK;
/* Copies b to the caller's memory. HULL_ESHAPE when dtype or shape differ. */
hull_status box_copy(const hull_tensor *out, const box *b, const char *what)
    MUST_CHECK;

#endif
