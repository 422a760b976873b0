/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * space.h - how much room the entries of a folder take, over all processes.
 * "usage" is one line of text with the sum of the sizes of entries, temp files
 * and damaged entries; it is locked (flock, for microseconds) while it is read
 * and changed. Two rules keep it from ever being below the truth:
 *
 *   - it grows before a file does and shrinks after a file is gone, so whoever
 *     is killed in between leaves it too large;
 *   - files change their names only while it is locked, so that a count of the
 *     folder, made under the lock too, misses none. Files are removed outside;
 *     what such a removal gives back is dropped when the folder was counted
 *     meanwhile (the generation is another one).
 *
 * A line that is damaged, missing, or older than the machine's start makes the
 * next writer count the folder.
 */
#ifndef HULL_CACHE_SPACE_H
#define HULL_CACHE_SPACE_H

#include "cache/disk.h"

/* ---- usage.c ------------------------------------------------------------- */

typedef struct usage {
    uint64_t bytes;
    uint64_t bad;        /* files in bad/, perhaps fewer */
    uint64_t generation; /* of the count that this goes on from */
    uint64_t next, count; /* of the records in "victims" */
} usage;

/* The lock, while it is held. */
typedef struct space {
    cache *c;
    int fd;
    bool counted; /* u holds; else the folder must be counted first */
    usage u;
} space;

hull_status space_lock(space *out, cache *c) MUST_CHECK;
hull_status space_write(const space *s) MUST_CHECK;
/* Changes and writes it. When it is not counted, taking empties the line. */
hull_status space_take(space *s, uint64_t n) MUST_CHECK;
hull_status space_give_back(space *s, uint64_t n) MUST_CHECK;
void space_unlock(space *s);
/* Gives back what was removed, unless the folder was counted since. */
void space_credit(cache *c, uint64_t generation, uint64_t n);

/* ---- temps.c ------------------------------------------------------------- */

/* A file in tmp/ that is being written: it has its final size, which usage
 * contains, and is locked by its writer. */
typedef struct temp {
    int fd;
    char *path; /* NULL: it has become an entry */
    uint64_t size, generation;
} temp;
#define TEMP_NONE ((temp){.fd = -1})

/* A name in tmp/ that nobody has; mem_free. NULL when memory is out. */
char *temp_name(const cache *c, const char *what);
/* Under the lock: usage grows, then the file is made. */
hull_status temp_make(temp *out, space *s, uint64_t size) MUST_CHECK;
/* Removes what is left of it, and gives the room back. */
void temp_close(temp *t, cache *c);

/* ---- victims.c ----------------------------------------------------------- */

/* Files in tmp/ that are to be removed once the lock is free. */
typedef struct doomed {
    struct doomed_file {
        char *path;
        uint64_t size;
        int fd; /* of a dead process's temp file: its lock is ours */
    } *p;
    size_t n, cap;
    uint64_t bytes, generation, entries;
} doomed;

/* Under the lock: takes temp files of dead processes. */
hull_status doom_temps(doomed *d, const space *s) MUST_CHECK;
/* Under the lock: takes what `room` more bytes need: temp files of dead
 * processes, damaged entries, then the least recently used ones. May count the
 * folder instead. HULL_EIO when there is nothing more to take. */
hull_status doom_entries(doomed *d, space *s, uint64_t room) MUST_CHECK;
/* Not under the lock. */
void doomed_remove(doomed *d, cache *c);

/* Under the lock: counts the folder, and lists what to remove next. */
hull_status space_count(space *s) MUST_CHECK;

#endif
