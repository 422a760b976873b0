/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sparse_unit.h - files larger than the disk: a head, then a hole.
 */
#ifndef HULL_SPARSE_UNIT_H
#define HULL_SPARSE_UNIT_H

#include <fcntl.h>
#include <unistd.h>

#include "onnx_maker.h"

/* A file of size bytes whose first n are head's. */
static inline bool sparse_file(const char *path, const void *head, size_t n,
                               int64_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    bool ok = fd >= 0 && write(fd, head, n) == (ssize_t)n &&
              ftruncate(fd, size) == 0;

    if (fd >= 0)
        close(fd);
    return ok;
}

/* One key and value of a TensorProto's external_data. */
static inline void put_entry(buf *t, const char *key, const char *value)
{
    buf e = new_buf();

    put_text(&e, 1, key);
    put_text(&e, 2, value);
    put_message(t, 13, &e);
}

#endif
