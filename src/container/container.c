/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * container.c - reads container files. Nothing in a file is trusted: sections
 * must follow each other without a gap from byte 64 on and end where the table
 * begins, which rules out overlap, misalignment and sizes beyond the file.
 *
 *   file    := header section* table
 *   header  := magic[8] major:u16 minor:u16 kind:u32 n_sections:u32 zero:u32
 *              table_off:u64 file_size:u64 zero[8] checksum[16]     64 bytes
 *   section := payload, zero bytes up to a multiple of 64
 *   table   := entry{n_sections} checksum[16]
 *   entry   := tag[24] off:u64 stored:u64 size:u64 codec:u32 zero:u32
 *              checksum[16]                                          72 bytes
 */
#include "container/layout.h"

#include <inttypes.h>
#include <string.h>
#include <zstd.h>

/* A frame is blocks of a header and at most so much. */
#define BLOCK_HEADER 3
#define BLOCK_MAX ((uint64_t)128 << 10)

typedef struct section {
    char tag[TAG_SIZE];
    uint64_t off, stored, size;
    section_codec codec;
    checksum sum;
    bool checked;       /* payload agrees with sum */
    void *unpacked;     /* CODEC_ZSTD: once it was asked for */
} section;

struct container {
    bytes data;
    container_kind kind;
    section *sections;
    uint32_t n;
    strmap by_tag;
};

/* Sequential reader over bytes that are known to be there. */
typedef struct cursor {
    const uint8_t *p;
} cursor;

static uint64_t take(cursor *c, unsigned n_bytes)
{
    uint64_t v = le_get(c->p, n_bytes);

    c->p += n_bytes;
    return v;
}

static checksum take_checksum(cursor *c)
{
    checksum s;

    s.lo = take(c, 8);
    s.hi = take(c, 8);
    return s;
}

static bool checksum_fits(checksum want, const uint8_t *p, uint64_t n)
{
    checksum found = checksum_of(p, n);

    return found.lo == want.lo && found.hi == want.hi;
}

static bool all_zero(const uint8_t *p, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

typedef struct header {
    uint32_t major, minor, kind, n_sections, zero;
    uint64_t table_off, file_size, zero8;
    checksum sum;
} header;

static header take_header(const uint8_t *p)
{
    cursor c = {p + MAGIC_SIZE};
    header h = {0};

    h.major = (uint32_t)take(&c, 2);
    h.minor = (uint32_t)take(&c, 2);
    h.kind = (uint32_t)take(&c, 4);
    h.n_sections = (uint32_t)take(&c, 4);
    h.zero = (uint32_t)take(&c, 4);
    h.table_off = take(&c, 8);
    h.file_size = take(&c, 8);
    h.zero8 = take(&c, 8);
    h.sum = take_checksum(&c);
    return h;
}

/* Magic, version, then the rest: another major may have another header. */
static hull_status read_header(header *out, bytes data)
{
    uint64_t table;

    if (data.n < HEADER_SIZE)
        return fail(HULL_EFORMAT,
                    "file has %zu bytes, a header has %d", data.n,
                    HEADER_SIZE);
    if (memcmp(data.p, CONTAINER_MAGIC, MAGIC_SIZE) != 0)
        return fail(HULL_EFORMAT, "byte 0: no magic number of a hull file");
    *out = take_header(data.p);
    if (out->major != CONTAINER_MAJOR || out->minor > CONTAINER_MINOR)
        return fail(HULL_EVERSION,
                    "file has format version %u.%u, this build reads %d.0 "
                    "to %d.%d", out->major, out->minor, CONTAINER_MAJOR,
                    CONTAINER_MAJOR, CONTAINER_MINOR);
    if (!checksum_fits(out->sum, data.p, HEADER_SIZE - CHECKSUM_SIZE))
        return fail(HULL_EFORMAT, "byte %d: checksum of the header is wrong",
                    HEADER_SIZE - CHECKSUM_SIZE);
    if (out->kind < CONTAINER_ENGINE || out->kind > CONTAINER_PLAN)
        return fail(HULL_EFORMAT, "byte 12: kind of file is %u, wanted 1 to 4",
                    out->kind);
    if (out->zero != 0 || out->zero8 != 0)
        return fail(HULL_EFORMAT, "header has bytes that should be zero");
    if (out->file_size != data.n)
        return fail(HULL_EFORMAT,
                    "file has %zu bytes, its header says %" PRIu64, data.n,
                    out->file_size);
    table = (uint64_t)out->n_sections * ENTRY_SIZE + CHECKSUM_SIZE;
    if (table > data.n - HEADER_SIZE || out->table_off != data.n - table)
        return fail(HULL_EFORMAT,
                    "table of %u sections at byte %" PRIu64
                    " does not end a file of %zu bytes", out->n_sections,
                    out->table_off, data.n);
    return HULL_OK;
}

static hull_status read_tag(section *s, const uint8_t *p, uint64_t at)
{
    size_t n = 0;

    memcpy(s->tag, p, TAG_SIZE);
    while (n < TAG_SIZE && p[n] > ' ' && p[n] < 0x7f)
        n++;
    if (n == 0 || !all_zero(p + n, TAG_SIZE - n) || n > SECTION_TAG_MAX) {
        s->tag[0] = '\0';
        return fail(HULL_EFORMAT, "byte %" PRIu64 ": malformed section tag",
                    at);
    }
    return HULL_OK;
}

static hull_status check_codec(const section *s, uint32_t codec, uint32_t zero)
{
    if (codec != CODEC_RAW && codec != CODEC_ZSTD)
        return fail(HULL_EFORMAT, "section '%s' has codec %u, wanted 0 or 1",
                    s->tag, codec);
    if (zero != 0)
        return fail(HULL_EFORMAT, "section '%s' has a reserved field %u",
                    s->tag, zero);
    if (codec == CODEC_RAW && s->stored != s->size)
        return fail(HULL_EFORMAT,
                    "raw section '%s' stores %" PRIu64 " bytes of %" PRIu64,
                    s->tag, s->stored, s->size);
    return HULL_OK;
}

/* Entry i. *at is where its payload must begin, then where the next must. */
static hull_status read_entry(container *c, uint32_t i, const header *h,
                              uint64_t *at)
{
    uint64_t entry_off = h->table_off + (uint64_t)i * ENTRY_SIZE, end;
    cursor in = {c->data.p + entry_off};
    section *s = &c->sections[i];
    uint32_t codec, zero, other;

    TRY(read_tag(s, in.p, entry_off));
    in.p += TAG_SIZE;
    s->off = take(&in, 8);
    s->stored = take(&in, 8);
    s->size = take(&in, 8);
    codec = (uint32_t)take(&in, 4);
    zero = (uint32_t)take(&in, 4);
    s->sum = take_checksum(&in);
    TRY(check_codec(s, codec, zero));
    s->codec = (section_codec)codec;
    if (s->off != *at)
        return fail(HULL_EFORMAT,
                    "section '%s' begins at byte %" PRIu64
                    ", wanted %" PRIu64, s->tag, s->off, *at);
    if (s->stored > h->table_off - *at)
        return fail(HULL_EFORMAT,
                    "section '%s' has %" PRIu64 " bytes at byte %" PRIu64
                    ", the table begins at %" PRIu64, s->tag, s->stored,
                    s->off, h->table_off);
    end = round_up(s->off + s->stored, SECTION_ALIGN);
    if (end > h->table_off)
        return fail(HULL_EFORMAT, "section '%s' is not padded", s->tag);
    if (!all_zero(c->data.p + s->off + s->stored, end - s->off - s->stored))
        return fail(HULL_EFORMAT,
                    "byte %" PRIu64 ": padding of section '%s' is not zero",
                    s->off + s->stored, s->tag);
    *at = end;
    if (strmap_get(&c->by_tag, str_of(s->tag), &other))
        return fail(HULL_EFORMAT, "section '%s' is there twice", s->tag);
    return strmap_set(&c->by_tag, str_of(s->tag), i);
}

static hull_status check_section(const container *c, const section *s)
{
    if (!checksum_fits(s->sum, c->data.p + s->off, s->stored))
        return fail(HULL_EFORMAT,
                    "section '%s' at byte %" PRIu64
                    " does not have its checksum", s->tag, s->off);
    return HULL_OK;
}

static hull_status read_table(container *c, const header *h)
{
    uint64_t n = (uint64_t)h->n_sections * ENTRY_SIZE, at = HEADER_SIZE;
    const uint8_t *table = c->data.p + h->table_off;
    cursor sum = {table + n};

    if (!checksum_fits(take_checksum(&sum), table, n))
        return fail(HULL_EFORMAT,
                    "table at byte %" PRIu64 " does not have its checksum",
                    h->table_off);
    c->sections = mem_calloc(h->n_sections, sizeof *c->sections);
    if (c->sections == NULL)
        return fail_oom(h->n_sections * sizeof *c->sections);
    c->n = h->n_sections;
    for (uint32_t i = 0; i < c->n; i++)
        TRY(read_entry(c, i, h, &at));
    if (at != h->table_off)
        return fail(HULL_EFORMAT,
                    "sections end at byte %" PRIu64 ", the table begins at "
                    "%" PRIu64, at, h->table_off);
    return HULL_OK;
}

hull_status container_open(container **out, bytes data, uint64_t lazy_above)
{
    hull_status st = HULL_OK;
    container *c = NULL;
    header h = {0};

    *out = NULL;
    TRY(read_header(&h, data));
    c = mem_calloc(1, sizeof *c);
    if (c == NULL)
        return fail_oom(sizeof *c);
    c->data = data;
    c->kind = (container_kind)h.kind;
    TRY_OUT(read_table(c, &h));
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->sections[i].stored > lazy_above)
            continue;
        TRY_OUT(check_section(c, &c->sections[i]));
        c->sections[i].checked = true;
    }
    *out = c;
    c = NULL;
out:
    container_free(c);
    return st;
}

void container_free(container *c)
{
    if (c == NULL)
        return;
    for (uint32_t i = 0; i < c->n; i++)
        mem_free(c->sections[i].unpacked);
    mem_free(c->sections);
    strmap_fini(&c->by_tag);
    mem_free(c);
}

container_kind container_kind_of(const container *c)
{
    return c->kind;
}

uint64_t container_file_size(const container *c)
{
    return c->data.n;
}

size_t container_n_sections(const container *c)
{
    return c->n;
}

hull_status container_at(const container *c, size_t i, const char **out_tag,
                         uint64_t *out_off, uint64_t *out_stored,
                         uint64_t *out_size)
{
    *out_tag = NULL;
    *out_off = *out_stored = *out_size = 0;
    if (i >= c->n)
        return fail(HULL_ENOTFOUND, "file has %u sections, not %zu", c->n,
                    i + 1);
    *out_tag = c->sections[i].tag;
    *out_off = c->sections[i].off;
    *out_stored = c->sections[i].stored;
    *out_size = c->sections[i].size;
    return HULL_OK;
}

bool container_section(const container *c, size_t i, section_view *out)
{
    const section *s = i < c->n ? &c->sections[i] : NULL;

    *out = (section_view){0};
    if (s == NULL)
        return false;
    *out = (section_view){s->tag, {c->data.p + s->off, s->stored}, s->size,
                          s->codec};
    return true;
}

bool container_has(const container *c, const char *tag)
{
    uint32_t i;

    return strmap_get(&c->by_tag, str_of(tag), &i);
}

bool container_has_code(const container *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (is_code_tag(c->sections[i].tag))
            return true;
    return false;
}

static hull_status find(section **out, const container *c, const char *tag)
{
    uint32_t i;

    *out = NULL;
    if (!strmap_get(&c->by_tag, str_of(tag), &i))
        return fail(HULL_EFORMAT, "file has no section '%s'", tag);
    *out = &c->sections[i];
    return HULL_OK;
}

/* The frame must say the size that the table says, and keep its word. */
static hull_status unpack(const container *c, section *s)
{
    const uint8_t *src = c->data.p + s->off;
    unsigned long long frame = ZSTD_getFrameContentSize(src, s->stored);
    void *p;
    size_t n;

    if (frame != s->size)
        return fail(HULL_EFORMAT,
                    "compressed section '%s' does not hold the %" PRIu64
                    " bytes of the table", s->tag, s->size);
    if (s->size / BLOCK_MAX > s->stored / BLOCK_HEADER)
        return fail(HULL_EFORMAT,
                    "compressed section '%s' claims %" PRIu64 " bytes of %"
                    PRIu64, s->tag, s->size, s->stored);
    p = mem_alloc(s->size);
    if (p == NULL)
        return fail_oom(s->size);
    n = ZSTD_decompress(p, s->size, src, s->stored);
    if (ZSTD_isError(n) || n != s->size) {
        mem_free(p);
        return fail(HULL_EFORMAT, "compressed section '%s' is malformed: %s",
                    s->tag,
                    ZSTD_isError(n) ? ZSTD_getErrorName(n) : "it is short");
    }
    s->unpacked = p;
    return HULL_OK;
}

hull_status container_get(container *c, const char *tag, uint64_t max,
                          bytes *out)
{
    section *s;

    *out = (bytes){0};
    TRY(find(&s, c, tag));
    if (s->size > max)
        return fail(HULL_EFORMAT,
                    "section '%s' has %" PRIu64 " bytes, at most %" PRIu64
                    " are allowed", tag, s->size, max);
    if (!s->checked)
        TRY(check_section(c, s));
    s->checked = true;
    if (s->codec == CODEC_ZSTD && s->unpacked == NULL)
        TRY(unpack(c, s));
    out->p = s->codec == CODEC_ZSTD ? s->unpacked : c->data.p + s->off;
    out->n = s->size;
    return HULL_OK;
}

static hull_status find_raw(section **out, const container *c, const char *tag)
{
    TRY(find(out, c, tag));
    if ((*out)->codec != CODEC_RAW)
        return fail(HULL_EFORMAT, "section '%s' is compressed, wanted raw",
                    tag);
    return HULL_OK;
}

hull_status container_place(const container *c, const char *tag,
                            uint64_t *out_off, uint64_t *out_size)
{
    section *s;

    *out_off = *out_size = 0;
    TRY(find_raw(&s, c, tag));
    *out_off = s->off;
    *out_size = s->size;
    return HULL_OK;
}
