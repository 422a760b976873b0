/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * writer.c - writes container files (grammar in container.c). Every size is
 * known before the first byte, so the header is final when it is written;
 * checksums are taken on the way and stand in the table at the end.
 */
#include "container/layout.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define ZSTD_LEVEL 3
#define COMPRESS_FROM 1024
#define CHUNK_SIZE ((size_t)1 << 20)

typedef struct section {
    char tag[TAG_SIZE];
    uint64_t off, stored, size;
    section_codec codec;
    void *data;             /* stored bytes; NULL when streamed */
    section_source *source;
    void *user;
} section;

struct container_writer {
    container_kind kind;
    section *sections;
    size_t n, cap;
    uint64_t end;           /* where the next section begins */
};

hull_status container_writer_new(container_writer **out, container_kind kind)
{
    *out = mem_calloc(1, sizeof **out);
    if (*out == NULL)
        return fail_oom(sizeof **out);
    (*out)->kind = kind;
    (*out)->end = HEADER_SIZE;
    return HULL_OK;
}

void container_writer_free(container_writer *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->n; i++)
        mem_free(w->sections[i].data);
    mem_free(w->sections);
    mem_free(w);
}

static const section *find(const container_writer *w, const char *tag)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->sections[i].tag, tag) == 0)
            return &w->sections[i];
    return NULL;
}

bool container_writer_has(const container_writer *w, const char *tag)
{
    return find(w, tag) != NULL;
}

bool container_writer_has_code(const container_writer *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (is_code_tag(w->sections[i].tag))
            return true;
    return false;
}

bool container_writer_section(const container_writer *w, size_t i,
                              section_view *out)
{
    const section *s = i < w->n ? &w->sections[i] : NULL;

    *out = (section_view){0};
    if (s == NULL || s->source != NULL)
        return false;
    *out = (section_view){s->tag, {s->data, s->stored}, s->size, s->codec};
    return true;
}

uint64_t container_writer_size(const container_writer *w)
{
    return w->end + w->n * ENTRY_SIZE + CHECKSUM_SIZE;
}

static hull_status check_tag(const container_writer *w, const char *tag)
{
    size_t n = strlen(tag);

    for (size_t i = 0; i < n; i++)
        if (tag[i] <= ' ' || tag[i] >= 0x7f)
            return fail(HULL_EINVAL, "section tag has a byte 0x%02x",
                        (unsigned char)tag[i]);
    if (n == 0 || n > SECTION_TAG_MAX)
        return fail(HULL_EINVAL, "section tag '%s' has %zu bytes, wanted 1 to "
                    "%d", tag, n, SECTION_TAG_MAX);
    if (find(w, tag) != NULL)
        return fail(HULL_EINVAL, "section '%s' was added before", tag);
    return HULL_OK;
}

/* Appends a section whose stored size is known; *out is NULL on failure. */
static hull_status add(section **out, container_writer *w, const char *tag,
                       uint64_t stored)
{
    uint64_t end;
    section *s;

    *out = NULL;
    TRY(check_tag(w, tag));
    if (!add_u64(&end, w->end, stored) || end > INT64_MAX)
        return fail(HULL_EINVAL, "section '%s' of %" PRIu64
                    " bytes is too large", tag, stored);
    if (w->n >= UINT32_MAX)
        return fail(HULL_EINVAL, "a file has at most 2^32-1 sections");
    TRY(mem_grow(&w->sections, &w->cap, w->n + 1, sizeof *w->sections));
    s = &w->sections[w->n++];
    *s = (section){.off = w->end, .stored = stored, .size = stored};
    memcpy(s->tag, tag, strlen(tag));
    w->end = round_up(end, SECTION_ALIGN);
    *out = s;
    return HULL_OK;
}

/* *out stays NULL when compression does not pay. */
static hull_status compress(void **out, size_t *out_n, const void *p, size_t n)
{
    size_t room = ZSTD_compressBound(n), made;
    void *packed, *fitted;

    *out = NULL;
    *out_n = 0;
    if (n < COMPRESS_FROM)
        return HULL_OK;
    packed = mem_alloc(room);
    if (packed == NULL)
        return fail_oom(room);
    made = ZSTD_compress(packed, room, p, n, ZSTD_LEVEL);
    if (ZSTD_isError(made)) {
        mem_free(packed);
        return fail(HULL_ENOMEM, "compressing %zu bytes: %s", n,
                    ZSTD_getErrorName(made));
    }
    if (made >= n) {
        mem_free(packed);
        return HULL_OK;
    }
    fitted = mem_realloc(packed, made);
    *out = fitted != NULL ? fitted : packed;
    *out_n = made;
    return HULL_OK;
}

hull_status container_add(container_writer *w, const char *tag, const void *p,
                          size_t n)
{
    hull_status st = HULL_OK;
    void *data = NULL;
    section *s;
    size_t stored;

    TRY(compress(&data, &stored, p, n));
    if (data == NULL) {
        data = mem_alloc(n);
        stored = n;
        if (data == NULL)
            return fail_oom(n);
        if (n > 0)
            memcpy(data, p, n);
    }
    TRY_OUT(add(&s, w, tag, stored));
    s->codec = stored < n ? CODEC_ZSTD : CODEC_RAW;
    s->size = n;
    s->data = data;
    data = NULL;
out:
    mem_free(data);
    return st;
}

hull_status container_add_stream(container_writer *w, const char *tag,
                                 uint64_t size, section_source *source,
                                 void *user)
{
    section *s;

    TRY(add(&s, w, tag, size));
    s->source = source;
    s->user = user;
    return HULL_OK;
}

/* ---- bytes go to a file or to a buffer ----------------------------------- */

typedef struct sink {
    file_writer *file; /* or */
    buf *memory;
} sink;

static hull_status sink_put(sink *k, const void *p, size_t n)
{
    if (k->file != NULL)
        return file_writer_put(k->file, p, n);
    buf_put(k->memory, p, n);
    return buf_status(k->memory);
}

typedef struct pen {
    uint8_t *p;
} pen;

static void put(pen *q, uint64_t v, unsigned n_bytes)
{
    le_put(q->p, v, n_bytes);
    q->p += n_bytes;
}

static void put_checksum(pen *q, checksum s)
{
    put(q, s.lo, 8);
    put(q, s.hi, 8);
}

static hull_status write_header(sink *k, const container_writer *w)
{
    uint8_t h[HEADER_SIZE] = {0};
    pen q = {h};

    memcpy(h, CONTAINER_MAGIC, MAGIC_SIZE);
    q.p += MAGIC_SIZE;
    put(&q, CONTAINER_MAJOR, 2);
    put(&q, CONTAINER_MINOR, 2);
    put(&q, w->kind, 4);
    put(&q, w->n, 4);
    put(&q, 0, 4);
    put(&q, w->end, 8);
    put(&q, container_writer_size(w), 8);
    put(&q, 0, 8);
    put_checksum(&q, checksum_of(h, HEADER_SIZE - CHECKSUM_SIZE));
    return sink_put(k, h, sizeof h);
}

/* A streamed payload, chunk by chunk. */
static hull_status write_stream(sink *k, const section *s, checksum *out)
{
    XXH3_state_t *state = XXH3_createState(); /* its size is not in the ABI */
    void *chunk = mem_alloc(CHUNK_SIZE);
    hull_status st = HULL_OK;
    XXH128_hash_t h;

    if (state == NULL || chunk == NULL)
        TRY_OUT(fail_oom(CHUNK_SIZE));
    XXH3_128bits_reset(state);
    for (uint64_t off = 0; off < s->size;) {
        uint64_t left = s->size - off;
        size_t n = left < CHUNK_SIZE ? (size_t)left : CHUNK_SIZE;

        TRY_OUT(s->source(s->user, off, chunk, n));
        XXH3_128bits_update(state, chunk, n);
        TRY_OUT(sink_put(k, chunk, n));
        off += n;
    }
    h = XXH3_128bits_digest(state);
    *out = (checksum){.lo = h.low64, .hi = h.high64};
out:
    XXH3_freeState(state);
    mem_free(chunk);
    return st;
}

/* Payload and padding; *q gets the section's entry. */
static hull_status write_section(sink *k, const section *s, pen *q)
{
    static const uint8_t zeros[SECTION_ALIGN];
    checksum sum = {0};

    if (s->source != NULL) {
        TRY(note(write_stream(k, s, &sum), "section '%s'", s->tag));
    } else {
        sum = checksum_of(s->data, s->stored);
        TRY(sink_put(k, s->data, s->stored));
    }
    TRY(sink_put(k, zeros,
                 round_up(s->stored, SECTION_ALIGN) - s->stored));
    memcpy(q->p, s->tag, TAG_SIZE);
    q->p += TAG_SIZE;
    put(q, s->off, 8);
    put(q, s->stored, 8);
    put(q, s->size, 8);
    put(q, s->codec, 4);
    put(q, 0, 4);
    put_checksum(q, sum);
    return HULL_OK;
}

static hull_status write_all(sink *k, const container_writer *w)
{
    size_t n = w->n * ENTRY_SIZE + CHECKSUM_SIZE;
    uint8_t *table = mem_alloc(n);
    hull_status st = HULL_OK;
    pen q = {table};

    if (table == NULL)
        return fail_oom(n);
    TRY_OUT(write_header(k, w));
    for (size_t i = 0; i < w->n; i++)
        TRY_OUT(write_section(k, &w->sections[i], &q));
    put_checksum(&q, checksum_of(table, n - CHECKSUM_SIZE));
    TRY_OUT(sink_put(k, table, n));
out:
    mem_free(table);
    return st;
}

hull_status container_write(container_writer *w, const char *path)
{
    hull_status st = HULL_OK;
    file_writer f;
    sink k = {.file = &f};

    TRY(file_writer_open(&f, path));
    TRY_OUT(write_all(&k, w));
    TRY_OUT(file_writer_commit(&f));
out:
    file_writer_abort(&f);
    return st;
}

hull_status container_write_buf(container_writer *w, buf *out)
{
    sink k = {.memory = out};

    buf_init(out, SIZE_MAX / 2);
    for (size_t i = 0; i < w->n; i++)
        if (w->sections[i].source != NULL)
            return fail(HULL_EINVAL, "section '%s' is streamed, a file in "
                        "memory has none", w->sections[i].tag);
    TRY(write_all(&k, w));
    return buf_status(out);
}
