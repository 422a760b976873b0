/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * npz.c - reader of NumPy's archive: a zip whose entries are NAME.npy, stored
 * or deflated. base/zip.c hands out views of stored entries with safe names;
 * here entries may be compressed and a name is only a key, so this reader
 * walks the central directory itself:
 *
 *   end     := "PK\5\6" disk:u16 disk:u16 n:u16 n:u16 size:u32 off:u32 comment
 *   end64   := "PK\6\6" ... n:u64@32 size:u64@40 off:u64@48, found through the
 *              locator "PK\6\7" off:u64@8 in the 20 bytes before `end`
 *   central := "PK\1\2" flags:u16@8 method:u16@10 crc:u32@16 packed:u32@20
 *              size:u32@24 name:u16@28 extra:u16@30 comment:u16@32 local:u32@42
 */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "cli/npy.h"

#define END_SIZE 22
#define LOCATOR_SIZE 20
#define END64_SIZE 56
#define CENTRAL_SIZE 46
#define LOCAL_SIZE 30
/* Deflate cannot do better, so a larger claim is a lie. */
#define DEFLATE_RATIO_MAX 1032

typedef struct npz_entry {
    str name;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, local;
} npz_entry;

static bool is_at(bytes d, uint64_t off, uint64_t n, const char *magic)
{
    return off <= d.n && n <= d.n - off && memcmp(d.p + off, magic, 4) == 0;
}

/* The place of the directory and its number of entries. */
static hull_status find_directory(bytes d, uint64_t *out_off, uint64_t *out_n)
{
    uint64_t end, low;

    *out_off = *out_n = 0;
    if (d.n < END_SIZE)
        return fail(HULL_EFORMAT, "npz of %zu bytes, want at least %d", d.n,
                    END_SIZE);
    end = d.n - END_SIZE;
    low = end > UINT16_MAX ? end - UINT16_MAX : 0;
    while (!is_at(d, end, END_SIZE, "PK\5\6")) {
        if (end == low)
            return fail(HULL_EFORMAT, "npz has no end record");
        end--;
    }
    *out_n = le_get(d.p + end + 10, 2);
    *out_off = le_get(d.p + end + 16, 4);
    if (end >= LOCATOR_SIZE &&
        is_at(d, end - LOCATOR_SIZE, LOCATOR_SIZE, "PK\6\7")) {
        uint64_t at = le_get(d.p + end - LOCATOR_SIZE + 8, 8);

        if (!is_at(d, at, END64_SIZE, "PK\6\6"))
            return fail(HULL_EFORMAT, "npz has no zip64 end record at byte %"
                        PRIu64, at);
        *out_n = le_get(d.p + at + 32, 8);
        *out_off = le_get(d.p + at + 48, 8);
    }
    return HULL_OK;
}

/* Sizes of 2^32-1 stand in the zip64 extra field, in this order. */
static hull_status read_zip64(npz_entry *e, bytes extra)
{
    uint64_t *field[3] = { &e->size, &e->packed, &e->local };

    while (extra.n >= 4) {
        uint64_t id = le_get(extra.p, 2), n = le_get(extra.p + 2, 2), at = 4;

        if (n > extra.n - 4)
            return fail(HULL_EFORMAT, "npz entry '%.*s' has a cut extra field",
                        STR_ARG(e->name));
        for (unsigned i = 0; id == 1 && i < 3; i++) {
            if (*field[i] != UINT32_MAX)
                continue;
            if (at + 8 > n + 4)
                return fail(HULL_EFORMAT, "npz entry '%.*s' lacks a zip64 "
                            "size", STR_ARG(e->name));
            *field[i] = le_get(extra.p + at, 8);
            at += 8;
        }
        extra.p += n + 4;
        extra.n -= n + 4;
    }
    return HULL_OK;
}

static hull_status read_central(npz_entry *e, bytes d, uint64_t *off)
{
    const uint8_t *p;
    uint64_t name_len, extra_len, total;

    if (!is_at(d, *off, CENTRAL_SIZE, "PK\1\2"))
        return fail(HULL_EFORMAT, "npz has no directory entry at byte %" PRIu64,
                    *off);
    p = d.p + *off;
    name_len = le_get(p + 28, 2);
    extra_len = le_get(p + 30, 2);
    total = CENTRAL_SIZE + name_len + extra_len + le_get(p + 32, 2);
    if (total > d.n - *off)
        return fail(HULL_EFORMAT, "npz directory entry at byte %" PRIu64
                    " is cut", *off);
    *e = (npz_entry){ .name = { (const char *)p + CENTRAL_SIZE, name_len },
                      .flags = (unsigned)le_get(p + 8, 2),
                      .method = (unsigned)le_get(p + 10, 2),
                      .crc = (uint32_t)le_get(p + 16, 4),
                      .packed = le_get(p + 20, 4),
                      .size = le_get(p + 24, 4),
                      .local = le_get(p + 42, 4) };
    *off += total;
    return read_zip64(e, (bytes){ p + CENTRAL_SIZE + name_len, extra_len });
}

static hull_status find_payload(bytes *out, const npz_entry *e, bytes d)
{
    uint64_t at;

    if (e->flags & 1)
        return fail(HULL_EUNSUPPORTED, "entry is encrypted");
    if (!is_at(d, e->local, LOCAL_SIZE, "PK\3\4"))
        return fail(HULL_EFORMAT, "no local header at byte %" PRIu64, e->local);
    at = e->local + LOCAL_SIZE + le_get(d.p + e->local + 26, 2) +
         le_get(d.p + e->local + 28, 2);
    if (at > d.n || e->packed > d.n - at)
        return fail(HULL_EFORMAT, "%" PRIu64 " bytes at byte %" PRIu64
                    " of an archive of %zu", e->packed, at, d.n);
    *out = (bytes){ d.p + at, (size_t)e->packed };
    return HULL_OK;
}

/* zlib counts in 32 bits, so both sides are fed in pieces. */
static hull_status inflate_all(uint8_t *dst, uint64_t size, bytes src)
{
    z_stream z = { 0 };
    uint64_t in_left = src.n, out_left = size;
    int rc = Z_OK;

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return fail_oom(sizeof(z));
    z.next_in = (Bytef *)(uintptr_t)src.p;
    z.next_out = dst;
    while (rc == Z_OK) {
        if (z.avail_in == 0 && in_left > 0) {
            z.avail_in = in_left > 1 << 30 ? 1 << 30 : (uInt)in_left;
            in_left -= z.avail_in;
        }
        if (z.avail_out == 0 && out_left > 0) {
            z.avail_out = out_left > 1 << 30 ? 1 << 30 : (uInt)out_left;
            out_left -= z.avail_out;
        }
        rc = inflate(&z, Z_NO_FLUSH);
    }
    out_left += z.avail_out;
    in_left += z.avail_in;
    inflateEnd(&z);
    if (rc != Z_STREAM_END || out_left > 0 || in_left > 0)
        return fail(HULL_EFORMAT, "deflated data is damaged: %" PRIu64 " of %"
                    PRIu64 " bytes came out", size - out_left, size);
    return HULL_OK;
}

static bool crc_is(uint32_t want, bytes d)
{
    uLong crc = crc32_z(0, d.p, d.n);

    return (uint32_t)crc == want;
}

static hull_status parse_entry(tensor_file *f, const npz_entry *e, str name,
                               bytes d)
{
    bytes src;
    uint8_t *copy = NULL;
    hull_status st = HULL_OK;

    TRY(find_payload(&src, e, d));
    if (e->method == 8) {
        if (e->size / DEFLATE_RATIO_MAX > e->packed)
            return fail(HULL_EFORMAT, "%" PRIu64 " bytes cannot inflate to %"
                        PRIu64, e->packed, e->size);
        copy = mem_alloc((size_t)e->size + 1);
        if (!copy)
            return fail_oom((size_t)e->size);
        TRY_OUT(inflate_all(copy, e->size, src));
        src = (bytes){ copy, (size_t)e->size };
    } else if (e->method != 0) {
        return fail(HULL_EUNSUPPORTED, "zip method %u, want stored or deflated",
                    e->method);
    }
    if (e->size != src.n || !crc_is(e->crc, src)) {
        st = fail(HULL_EFORMAT, "size or checksum differs from the directory");
        goto out;
    }
    st = npy_parse(f, name, src);
out:
    mem_free(copy);
    return st;
}

hull_status npz_parse(tensor_file *f, bytes d)
{
    uint64_t off, n, total = 0;
    strmap seen = { 0 };
    hull_status st = HULL_OK;

    TRY(find_directory(d, &off, &n));
    for (uint64_t i = 0; i < n; i++) {
        npz_entry e;
        str name;
        uint32_t at;

        TRY_OUT(read_central(&e, d, &off));
        name = e.name;
        if (!str_ends(name, ".npy")) {
            st = fail(HULL_EFORMAT, "npz entry '%.*s' is no .npy",
                      STR_ARG(name));
            goto out;
        }
        name.n -= strlen(".npy");
        /* Names meet C strings outside; entries may overlap, which lets a
         * small file ask for much, so what is stored is counted once. */
        if (memchr(name.p, '\0', name.n) || strmap_get(&seen, name, &at) ||
            !add_u64(&total, total, e.packed) || total > d.n) {
            st = fail(HULL_EFORMAT, "npz entry '%.*s' comes twice, has a bad "
                      "name or overlaps another", STR_ARG(name));
            goto out;
        }
        TRY_OUT(strmap_set(&seen, name, 0));
        TRY_OUT(note(parse_entry(f, &e, name, d), "entry '%.*s'",
                     STR_ARG(name)));
    }
out:
    strmap_fini(&seen);
    return st;
}
