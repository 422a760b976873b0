/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * folder_unit.h - a folder for each test, removed after it.
 */
#ifndef HULL_FOLDER_UNIT_H
#define HULL_FOLDER_UNIT_H

#include "unit.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

/* Where it lies; tests that sync much want memory. */
#ifndef FOLDER_TOP
#define FOLDER_TOP "/tmp"
#endif

static char folder[64];

UNUSED static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/hull-test-XXXXXX", FOLDER_TOP);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *s, int kind,
                      struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    return remove(path);
}

UNUSED static int remove_folder(void **state)
{
    (void)state;
    chmod(folder, 0700);
    return nftw(folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* folder/name; the last eight results stay valid. */
UNUSED static const char *path_in(const char *name)
{
    static _Thread_local char paths[8][320];
    static _Thread_local unsigned turn;
    char *path = paths[turn++ % 8];

    snprintf(path, 320, "%s/%s", folder, name);
    return path;
}

UNUSED static void spill(const char *path, const void *p, size_t n)
{
    file_part part = {p, n};

    OK(file_write_atomic(path, &part, 1));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

#endif
