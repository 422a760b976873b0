/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * container.h - the one file format of engines, modules and cache entries:
 * named sections with checksums, mappable. docs/engine-format.md is the
 * grammar; container.c repeats it beside the code. All numbers little-endian.
 *
 *   file    := header section* table
 *   header  := magic[8] major:u16 minor:u16 kind:u32 n_sections:u32 zero:u32
 *              table_off:u64 file_size:u64 zero[8] checksum[16]     64 bytes
 *   section := payload, zero bytes up to a multiple of 64
 *   table   := entry{n_sections} checksum[16]
 *   entry   := tag[24] off:u64 stored:u64 size:u64 codec:u32 zero:u32
 *              checksum[16]                                          72 bytes
 *
 * A reader accepts its own major and any minor up to its own. Sections with
 * unknown tags are ignored.
 */
#ifndef HULL_CONTAINER_H
#define HULL_CONTAINER_H

#include "base/base.h"

#define CONTAINER_MAJOR 1
#define CONTAINER_MINOR 0
#define SECTION_TAG_MAX 23
/* Sections that a machine would execute: "code", or "code." and a name. */
#define SECTION_CODE "code"

typedef enum container_kind {
    CONTAINER_ENGINE = 1,
    CONTAINER_MODULE = 2,
    CONTAINER_NOTES = 3,
    CONTAINER_PLAN = 4
} container_kind;

typedef enum section_codec { CODEC_RAW = 0, CODEC_ZSTD = 1 } section_codec;

/* One section as it is stored. */
typedef struct section_view {
    const char *tag;
    bytes stored;
    uint64_t size; /* unpacked, bytes */
    section_codec codec;
} section_view;

/* ---- writing ------------------------------------------------------------- */

/* Gives the next bytes of a streamed section: n bytes at `off`. */
typedef hull_status section_source(void *user, uint64_t off, void *dst,
                                   size_t n);

typedef struct container_writer container_writer;

hull_status container_writer_new(container_writer **out, container_kind kind)
    MUST_CHECK;
/* Copies n bytes; compresses when that makes it smaller and n >= 1024. */
hull_status container_add(container_writer *w, const char *tag, const void *p,
                          size_t n) MUST_CHECK;
/* A section of `size` bytes that is read from `source` while writing. Stored
 * raw, so that it can be mapped. */
hull_status container_add_stream(container_writer *w, const char *tag,
                                 uint64_t size, section_source *source,
                                 void *user) MUST_CHECK;
/* Atomic (temp + fsync + rename). */
hull_status container_write(container_writer *w, const char *path) MUST_CHECK;
/* The whole file in memory; out is initialised here. No streamed sections. */
hull_status container_write_buf(container_writer *w, buf *out) MUST_CHECK;
/* Size of the file that these two would write, bytes. */
uint64_t container_writer_size(const container_writer *w);
bool container_writer_has(const container_writer *w, const char *tag);
/* Will the file hold something that a machine would execute? */
bool container_writer_has_code(const container_writer *w);
/* i-th section; false past the last one and where one is streamed. */
bool container_writer_section(const container_writer *w, size_t i,
                              section_view *out);
void container_writer_free(container_writer *w);

/* ---- reading ------------------------------------------------------------- */

typedef struct container container;

/* Checks magic, version, sizes, alignment, overlap and every checksum of
 * sections below lazy_above bytes; larger ones are checked when they are asked
 * for. `data` must outlive the container. HULL_EFORMAT names section and byte
 * offset, HULL_EVERSION both versions. */
hull_status container_open(container **out, bytes data, uint64_t lazy_above)
    MUST_CHECK;
container_kind container_kind_of(const container *c);
uint64_t container_file_size(const container *c);
size_t container_n_sections(const container *c);
/* i-th section's tag, stored bytes and size; for inspection. */
hull_status container_at(const container *c, size_t i, const char **out_tag,
                         uint64_t *out_off, uint64_t *out_stored,
                         uint64_t *out_size) MUST_CHECK;
/* The same with the bytes, unchecked when they are lazy; false past the last
 * one. */
bool container_section(const container *c, size_t i, section_view *out);
bool container_has(const container *c, const char *tag);
/* Does it hold something that a machine would execute? */
bool container_has_code(const container *c);
/* The section's bytes: a view into the file, or decompressed memory that the
 * container owns. HULL_EFORMAT when it is missing, damaged, or when a
 * compressed one claims more than max bytes. */
hull_status container_get(container *c, const char *tag, uint64_t max,
                          bytes *out) MUST_CHECK;
/* Place of a raw section in the file, without reading it. */
hull_status container_place(const container *c, const char *tag,
                            uint64_t *out_off, uint64_t *out_size) MUST_CHECK;
void container_free(container *c);

#endif
