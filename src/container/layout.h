/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * layout.h - sizes of the container format, shared by its reader
 * (container.c) and its writer (writer.c).
 */
#ifndef HULL_CONTAINER_LAYOUT_H
#define HULL_CONTAINER_LAYOUT_H

#include "container/container.h"

/* A byte above 127, a name, both line ends, and the end of text of DOS: a file
 * that was changed as text is recognised. */
#define CONTAINER_MAGIC "\x89HULL\r\n\x1a"
#define MAGIC_SIZE 8
#define HEADER_SIZE 64
#define ENTRY_SIZE 72
#define TAG_SIZE 24
#define CHECKSUM_SIZE 16
#define SECTION_ALIGN 64

static inline bool is_code_tag(const char *tag)
{
    return str_is(str_of(tag), SECTION_CODE) ||
           str_starts(str_of(tag), SECTION_CODE ".");
}

_Static_assert(TAG_SIZE == SECTION_TAG_MAX + 1, "a tag ends with a NUL");

#endif
