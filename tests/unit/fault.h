/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * fault.h - the system calls with which the cache changes its folder, counted,
 * and one of them made to fail. fault.c stands in front of the C library's
 * functions of the same names, in the program that it is linked into.
 */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum fault_call {
    CALL_OPEN, CALL_PREAD, CALL_WRITE, CALL_PWRITE, CALL_FSYNC, CALL_RENAME,
    CALL_RENAMEAT2, CALL_FTRUNCATE, CALL_FALLOCATE, CALL_UNLINK, CALL_MKDIR,
    CALL_FUTIMENS,
    CALL_OPENDIR, CALL_FSTATAT, /* counted only, they never fail */
    CALL_MMAP, /* of files, likewise */
    CALLS
} fault_call;

typedef enum fault_how {
    FAULT_NONE,
    FAULT_EIO,     /* it fails and changes nothing */
    FAULT_ENOSPC,
    FAULT_FULL,    /* ENOSPC, from then on for all that needs room */
    FAULT_SHORT,   /* a write writes the half, and says so */
    FAULT_DIES,    /* SIGKILL before it */
    FAULT_TORN,    /* SIGKILL after it; a write has written the half */
    FAULT_DONE,    /* SIGKILL after it */
    FAULT_OLD,     /* renameat2 is not there, ever; and EIO at the call */
    FAULT_CUT,     /* a pread finds that its file has become empty */
    FAULTS
} fault_how;

/* The n-th call from now on (1 = the next) goes that way. */
void fault_arm(uint64_t n, fault_how how);
/* Calls since fault_arm that may fail; and all of one sort. */
uint64_t fault_calls(void);
uint64_t fault_count(fault_call call);

#endif
