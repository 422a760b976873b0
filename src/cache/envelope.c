/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * envelope.c - packs and unpacks entries that travel (grammar in envelope.h).
 * Nothing in one is trusted: every length is checked against what is there, a
 * frame is unpacked into memory of the size that was stated and allowed.
 */
#include "cache/envelope.h"
#include "cache/disk.h"

#include <inttypes.h>
#include <string.h>
#include <zstd.h>

#define MAGIC "\x89HULE\r\n\x1a"
#define MAGIC_SIZE 8
#define VERSION_AT 8
#define ZERO_AT 12
#define KIND_AT 16
#define SIZE_AT (KIND_AT + ENVELOPE_KIND_SIZE)
#define STORED_AT (SIZE_AT + 8)
#define KEY_AT (STORED_AT + 8)
#define MAC_AT (ENVELOPE_HEADER_SIZE - sizeof(digest))
#define ZSTD_LEVEL 3

/* ---- pack ---------------------------------------------------------------- */

static hull_status compress(void **out, size_t *out_n, bytes content)
{
    size_t room = ZSTD_compressBound(content.n);
    ZSTD_CCtx *z = ZSTD_createCCtx();
    void *frame = mem_alloc(room);

    *out = frame;
    *out_n = 0;
    if (z == NULL || frame == NULL) {
        ZSTD_freeCCtx(z);
        return fail_oom(room);
    }
    ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    *out_n = ZSTD_compress2(z, frame, room, content.p, content.n);
    ZSTD_freeCCtx(z);
    return ZSTD_isError(*out_n)
               ? fail(HULL_ENOMEM, "compressing %zu bytes: %s", content.n,
                      ZSTD_getErrorName(*out_n))
               : HULL_OK;
}

static void make_header(uint8_t header[ENVELOPE_HEADER_SIZE], cache_kind kind,
                        const digest *key, size_t size, bytes frame,
                        const seal *s)
{
    const char *name = cache_kind_name(kind);
    digest mac;

    memset(header, 0, ENVELOPE_HEADER_SIZE);
    memcpy(header, MAGIC, MAGIC_SIZE);
    le_put(header + VERSION_AT, ENVELOPE_VERSION, 4);
    memcpy(header + KIND_AT, name, strlen(name));
    le_put(header + SIZE_AT, size, 8);
    le_put(header + STORED_AT, frame.n, 8);
    memcpy(header + KEY_AT, key->b, sizeof key->b);
    if (s == NULL)
        return;
    mac = seal_wire(s, (bytes){header, MAC_AT}, frame);
    memcpy(header + MAC_AT, mac.b, sizeof mac.b);
}

hull_status envelope_pack(buf *out, cache_kind kind, const digest *key,
                          bytes content, const seal *s)
{
    uint8_t header[ENVELOPE_HEADER_SIZE];
    hull_status st = HULL_OK;
    void *frame = NULL;
    size_t n;

    TRY_OUT(compress(&frame, &n, content));
    make_header(header, kind, key, content.n, (bytes){frame, n}, s);
    buf_put(out, header, sizeof header);
    buf_put(out, frame, n);
    st = buf_status(out);
out:
    mem_free(frame);
    return st;
}

/* ---- open ---------------------------------------------------------------- */

static hull_status read_kind(cache_kind *out, const uint8_t *p)
{
    static const char zeros[ENVELOPE_KIND_SIZE];
    size_t n = 0;

    while (n < ENVELOPE_KIND_SIZE && p[n] > ' ' && p[n] < 0x7f)
        n++;
    if (n == 0 || memcmp(p + n, zeros, ENVELOPE_KIND_SIZE - n) != 0)
        return fail(HULL_EFORMAT, "byte 16: malformed kind of entry");
    for (int k = 0; k < CACHE_KINDS; k++) {
        *out = (cache_kind)k;
        if (str_is((str){(const char *)p, n}, cache_kind_name(*out)))
            return HULL_OK;
    }
    return fail(HULL_EVERSION, "entry is of a kind '%.*s', which this build "
                "does not know", (int)n, (const char *)p);
}

hull_status envelope_open(envelope *out, bytes data)
{
    static const digest none;
    uint64_t version, stored;

    *out = (envelope){0};
    if (data.n < ENVELOPE_HEADER_SIZE)
        return fail(HULL_EFORMAT, "entry has %zu bytes, its header has %d",
                    data.n, ENVELOPE_HEADER_SIZE);
    if (memcmp(data.p, MAGIC, MAGIC_SIZE) != 0)
        return fail(HULL_EFORMAT, "byte 0: no magic number of an entry");
    version = le_get(data.p + VERSION_AT, 4);
    if (version != ENVELOPE_VERSION)
        return fail(HULL_EVERSION, "entry travels in format %" PRIu64 ", this "
                    "build reads %d", version, ENVELOPE_VERSION);
    if (le_get(data.p + ZERO_AT, 4) != 0)
        return fail(HULL_EFORMAT, "byte 12: reserved field is not zero");
    TRY(read_kind(&out->kind, data.p + KIND_AT));
    out->size = le_get(data.p + SIZE_AT, 8);
    stored = le_get(data.p + STORED_AT, 8);
    if (stored > data.n - ENVELOPE_HEADER_SIZE)
        return fail(HULL_EFORMAT, "entry has %zu bytes, its header says "
                    "%" PRIu64, data.n - ENVELOPE_HEADER_SIZE, stored);
    memcpy(out->key.b, data.p + KEY_AT, sizeof out->key.b);
    out->is_signed = memcmp(data.p + MAC_AT, none.b, sizeof none.b) != 0;
    out->header = (bytes){data.p, ENVELOPE_HEADER_SIZE};
    out->frame = (bytes){data.p + ENVELOPE_HEADER_SIZE, (size_t)stored};
    out->n = ENVELOPE_HEADER_SIZE + (size_t)stored;
    return HULL_OK;
}

hull_status envelope_check(const envelope *e, const seal *s)
{
    digest mac;

    if (s == NULL)
        return HULL_OK;
    if (!e->is_signed)
        return fail(HULL_EMISMATCH, "entry that travelled has no MAC");
    mac = seal_wire(s, (bytes){e->header.p, MAC_AT}, e->frame);
    return seal_same(&mac, e->header.p + MAC_AT)
               ? HULL_OK
               : fail(HULL_EMISMATCH, "entry that travelled does not have the "
                      "MAC of this secret");
}

/* One frame and nothing else, of the size that the header states. */
static hull_status check_frame(const envelope *e, uint64_t max)
{
    size_t whole = ZSTD_findFrameCompressedSize(e->frame.p, e->frame.n);

    if (ZSTD_isError(whole) || whole != e->frame.n ||
        ZSTD_getFrameContentSize(e->frame.p, e->frame.n) != e->size)
        return fail(HULL_EFORMAT, "entry is no frame of %" PRIu64 " bytes",
                    e->size);
    if (e->size > max || e->size > SIZE_MAX / 2)
        return fail(HULL_EFORMAT, "entry has %" PRIu64 " bytes unpacked, the "
                    "limit is %" PRIu64, e->size, max);
    return HULL_OK;
}

hull_status envelope_unpack(blob **out, const envelope *e, uint64_t max)
{
    size_t made;

    *out = NULL;
    TRY(check_frame(e, max));
    *out = blob_new((size_t)e->size);
    if (*out == NULL)
        return fail_oom((size_t)e->size);
    made = ZSTD_decompress((*out)->p, (*out)->n, e->frame.p, e->frame.n);
    if (made == (*out)->n)
        return HULL_OK;
    blob_unref(*out);
    *out = NULL;
    return fail(HULL_EFORMAT, "entry does not unpack: %s",
                ZSTD_isError(made) ? ZSTD_getErrorName(made) : "short");
}

/* ---- what is in it ------------------------------------------------------- */

hull_status entry_arrived(cache_entry *out, bytes *out_key, const cache *c,
                          const envelope *e, uint64_t max)
{
    digest d;

    *out = CACHE_ENTRY_NONE;
    TRY(envelope_check(e, c->seal));
    TRY(envelope_unpack(&out->memory, e, max));
    TRY(entry_open(out, c, e->kind, &e->key,
                   (bytes){out->memory->p, out->memory->n}, out_key));
    d = digest_of(out_key->p, out_key->n);
    if (!digest_eq(&d, &e->key))
        return fail(HULL_EFORMAT, "entry is of another key than it says");
    if (container_has_code(out->c) && (c->seal == NULL || !e->is_signed))
        return fail(HULL_EUNSUPPORTED, "entry holds code and has no MAC that "
                    "this cache can check");
    return HULL_OK;
}
