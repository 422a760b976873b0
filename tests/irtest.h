/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * irtest.h - what the files of irtest share: one test file in the making of
 * its verdict.
 */
#ifndef HULL_IRTEST_H
#define HULL_IRTEST_H

#include "ir/ir.h"

typedef struct run {
    const char *path;
    str args;      /* after the mode's name */
    uint32_t line; /* of the first line of the text in hand */
    buf blessed;   /* the file as it should be */
    uint32_t passed, failed, skipped;
    bool bless;
} run;

/* ---- irtest.c ------------------------------------------------------------ */

void failed(run *r, uint32_t line, const char *what, const char *detail);
str next_line(str *rest);
/* The value of `key=value` among the words of args; empty when absent. */
str find_arg(str args, const char *key);
/* Did st end as the text's "// error:" wants? Counts and tells otherwise. */
void expect_error(run *r, str text, hull_status st);
bool wants_error(str text);
/* The passes of a comma-separated list, on every graph. */
hull_status run_passes(ir *m, str names);

/* ---- irtest_run.c -------------------------------------------------------- */

void test_run(run *r, str text);

#endif
