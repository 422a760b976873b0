/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * tally.h - what the cpu backend leaves to reference kernels: nodes of main and
 * prepare programs, by op. Views, leaves and control flow are nobody's kernel
 * and not counted; nodes of the blocks that only a run can size are counted
 * apart, because the interpreter alone has such blocks. And files of lines that
 * tests compare with what they found, or rewrite.
 */
#ifndef HULL_TALLY_H
#define HULL_TALLY_H

#include "run/module.h"

#define TALLY_HEAD                                                          \
    "# What suites of tests leave to reference kernels on cpu: tests/tally.h.\n" \
    "# SUITE models MODELS CLEAN; SUITE OP WITHOUT-KERNEL IN-REF-BLOCKS\n"

typedef struct tally {
    bool off;                /* this CPU has no kernels: nothing to compare */
    uint32_t models, clean;  /* clean: no node on a reference kernel */
    uint32_t bare[OP_COUNT], sized[OP_COUNT];
    char why[512];           /* the last model's nodes that are on one */
} tally;

hull_status tally_begin(tally *t) MUST_CHECK;
/* out_ref: how many nodes of m run on reference kernels. */
hull_status tally_add(tally *t, const module *m, uint32_t *out_ref) MUST_CHECK;
/* Lines "SUITE OP WITHOUT-KERNEL IN-REF-BLOCKS" for ops that have some, and
 * "SUITE models MODELS CLEAN". */
void tally_print(buf *b, const tally *t, const char *suite);

/* The file has b's lines, and no others that begin with a word that lines of b
 * begin with; *failed counts the differences. bless: those become b's. */
hull_status lines_settle(buf *b, const char *path, bool bless, unsigned *failed)
    MUST_CHECK;

#endif
