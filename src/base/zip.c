/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * zip.c - stored (uncompressed) zip files, read in place and written to
 * memory. All numbers are little-endian:
 *
 *     zip     = { local payload [descriptor] } directory [end64 locator] end
 *     local   = "PK\3\4" version flags method time date crc csize usize
 *               name_len extra_len name extra              30 bytes + texts
 *     central = "PK\1\2" made version flags method time date crc csize usize
 *               name_len extra_len comment_len disk attr attr32 offset
 *               name extra comment                         46 bytes + texts
 *     end     = "PK\5\6" disk disk count count size offset comment_len
 *     end64   = "PK\6\6" ..., locator = "PK\6\7" disk offset disks
 *
 * Only the central directory is believed; local sizes may be 0.
 */
#include "base/base.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LOCAL_SIZE 30
#define CENTRAL_SIZE 46
#define END_SIZE 22
#define END64_SIZE 56
#define LOCATOR_SIZE 20
#define LOCAL_SIG 0x04034b50u
#define CENTRAL_SIG 0x02014b50u
#define END_SIG 0x06054b50u
#define END64_SIG 0x06064b50u
#define LOCATOR_SIG 0x07064b50u
#define FLAGS_ENCRYPTED 0x2041u
#define FLAG_DESCRIPTOR 0x0008u
#define FLAG_UTF8 0x0800u
#define EXTRA_ZIP64 0x0001u
#define EXTRA_FILL 0x4246u
#define MAX_ENTRIES ((uint64_t)1 << 20)
#define FULL16 0xffffu
#define FULL32 0xffffffffu

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)le_get(p, 2);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)le_get(p, 4);
}

static uint64_t get64(const uint8_t *p)
{
    return le_get(p, 8);
}

/* ---- the end records ----------------------------------------------------- */

/* Where the central directory is. */
typedef struct directory {
    uint64_t off, size, count;
} directory;

/* The end record is the last one whose comment reaches the end exactly. */
static bool find_end(uint64_t *out, bytes data)
{
    uint64_t at, lowest;

    *out = 0;
    if (data.n < END_SIZE)
        return false;
    at = data.n - END_SIZE;
    lowest = at > FULL16 ? at - FULL16 : 0;
    for (;; at--) {
        const uint8_t *p = data.p + at;

        if (get32(p) == END_SIG && at + END_SIZE + get16(p + 20) == data.n) {
            *out = at;
            return true;
        }
        if (at == lowest)
            return false;
    }
}

/* True when the classic value v is the same as `wide`, or says "see there". */
static bool agrees(uint64_t v, uint64_t full, uint64_t wide)
{
    return v == full || v == wide;
}

/* Reads the 64-bit end record in front of the locator at byte `at`. */
static hull_status read_end64(directory *d, uint64_t *out_limit, bytes data,
                              uint64_t at)
{
    uint64_t off = get64(data.p + at + 8);
    const uint8_t *p;
    directory wide;

    if (get32(data.p + at + 4) != 0 || get32(data.p + at + 16) > 1)
        return fail(HULL_EUNSUPPORTED, "zip spans several disks, wanted one");
    if (at < END64_SIZE || off > at - END64_SIZE ||
        get32(data.p + off) != END64_SIG)
        return fail(HULL_EFORMAT,
                    "zip locator at byte %" PRIu64 " points to byte %" PRIu64
                    ", where no end record is",
                    at, off);
    p = data.p + off;
    if (get32(p + 16) != 0 || get32(p + 20) != 0 ||
        get64(p + 24) != get64(p + 32))
        return fail(HULL_EUNSUPPORTED, "zip spans several disks, wanted one");
    wide = (directory){ get64(p + 48), get64(p + 40), get64(p + 32) };
    if (!agrees(d->off, FULL32, wide.off) ||
        !agrees(d->size, FULL32, wide.size) ||
        !agrees(d->count, FULL16, wide.count))
        return fail(HULL_EFORMAT,
                    "zip end records at bytes %" PRIu64 " and %" PRIu64
                    " disagree",
                    off, at + LOCATOR_SIZE);
    *d = wide;
    *out_limit = off;
    return HULL_OK;
}

static hull_status find_directory(directory *out, bytes data)
{
    uint64_t at, limit, end;
    const uint8_t *p;

    memset(out, 0, sizeof(*out));
    if (!find_end(&at, data))
        return fail(HULL_EFORMAT, "zip of %zu bytes has no end record", data.n);
    p = data.p + at;
    *out = (directory){ get32(p + 16), get32(p + 12), get16(p + 10) };
    limit = at;
    if (at >= LOCATOR_SIZE && get32(p - LOCATOR_SIZE) == LOCATOR_SIG)
        TRY(read_end64(out, &limit, data, at - LOCATOR_SIZE));
    else if (get16(p + 4) != 0 || get16(p + 6) != 0 ||
             get16(p + 8) != get16(p + 10))
        return fail(HULL_EUNSUPPORTED, "zip spans several disks, wanted one");
    if (!add_u64(&end, out->off, out->size) || end > limit)
        return fail(HULL_EFORMAT,
                    "zip directory of %" PRIu64 " bytes at byte %" PRIu64
                    " reaches into the end record at byte %" PRIu64,
                    out->size, out->off, limit);
    if (out->count > MAX_ENTRIES || out->count > out->size / CENTRAL_SIZE)
        return fail(HULL_EFORMAT,
                    "zip has %" PRIu64 " entries in a directory of %" PRIu64
                    " bytes, wanted at most %" PRIu64,
                    out->count, out->size, MAX_ENTRIES);
    return HULL_OK;
}

/* ---- one entry ----------------------------------------------------------- */

/* A central record, while it is looked at. */
typedef struct record {
    str name;
    bytes extra;
    uint64_t csize, usize, local; /* local: of the local header */
    uint32_t flags, method, crc;
} record;

/* The next value of a ZIP64 extra field, if *v asks for one. */
static bool widen(uint64_t *v, bytes *field)
{
    if (*v != FULL32)
        return true;
    if (field->n < 8)
        return false;
    *v = get64(field->p);
    field->p += 8;
    field->n -= 8;
    return true;
}

/* Replaces the sizes and the offset that did not fit 32 bits. */
static hull_status read_extra(record *r)
{
    bytes left = r->extra;

    while (left.n >= 4) {
        uint32_t id = get16(left.p);
        bytes field = { left.p + 4, get16(left.p + 2) };

        if (field.n > left.n - 4)
            break;
        left.p += 4 + field.n;
        left.n -= 4 + field.n;
        if (id != EXTRA_ZIP64)
            continue;
        if (!widen(&r->usize, &field) || !widen(&r->csize, &field) ||
            !widen(&r->local, &field))
            return fail(HULL_EFORMAT,
                        "zip entry '%.*s' has a short field of "
                        "64-bit sizes",
                        STR_ARG(r->name));
        return HULL_OK;
    }
    if (r->usize == FULL32 || r->csize == FULL32 || r->local == FULL32)
        return fail(HULL_EFORMAT, "zip entry '%.*s' has no 64-bit sizes",
                    STR_ARG(r->name));
    return HULL_OK;
}

/* Reads the central record at *at, before end; *at moves behind it. */
static hull_status read_central(record *out, bytes data, uint64_t *at,
                                uint64_t end)
{
    const uint8_t *p = data.p + *at;
    uint64_t left = end - *at, total;

    memset(out, 0, sizeof(*out));
    if (left < CENTRAL_SIZE || get32(p) != CENTRAL_SIG)
        return fail(HULL_EFORMAT, "zip directory has no entry at byte %" PRIu64,
                    *at);
    total =
        CENTRAL_SIZE + (uint64_t)get16(p + 28) + get16(p + 30) + get16(p + 32);
    if (total > left)
        return fail(HULL_EFORMAT,
                    "zip entry at byte %" PRIu64 " has %" PRIu64
                    " bytes, the directory has %" PRIu64 " left",
                    *at, total, left);
    *out = (record){
        .name = { (const char *)p + CENTRAL_SIZE, get16(p + 28) },
        .extra = { p + CENTRAL_SIZE + get16(p + 28), get16(p + 30) },
        .csize = get32(p + 20),
        .usize = get32(p + 24),
        .local = get32(p + 42),
        .flags = get16(p + 8),
        .method = get16(p + 10),
        .crc = get32(p + 16),
    };
    *at += total;
    if (get16(p + 34) != 0 && get16(p + 34) != FULL16)
        return fail(HULL_EUNSUPPORTED, "zip spans several disks, wanted one");
    return read_extra(out);
}

/* "folder/" with nothing in it: other tools than PyTorch write such. */
static bool is_folder(const record *r)
{
    return r->usize == 0 && r->csize == 0 && str_ends(r->name, "/");
}

static hull_status check_central(const record *r)
{
    str name = r->name;

    if (is_folder(r))
        name.n--;
    if (!str_is_safe_path(name))
        return fail(HULL_EFORMAT,
                    "zip entry '%.*s' has an unsafe name, "
                    "wanted a relative path",
                    STR_ARG(r->name));
    if ((r->flags & FLAGS_ENCRYPTED) != 0)
        return fail(HULL_EUNSUPPORTED, "zip entry '%.*s' is encrypted",
                    STR_ARG(r->name));
    if (r->method != 0)
        return fail(HULL_EUNSUPPORTED,
                    "zip entry '%.*s' is compressed with method %" PRIu32
                    ", wanted 0 (stored)",
                    STR_ARG(r->name), r->method);
    if (r->csize != r->usize)
        return fail(HULL_EFORMAT,
                    "zip entry '%.*s' is stored with sizes %" PRIu64
                    " and %" PRIu64 ", wanted equal ones",
                    STR_ARG(r->name), r->csize, r->usize);
    return HULL_OK;
}

/* The local header must tell the same story: two readers that believe
 * different headers must not see different files. */
static hull_status check_local(const record *r, const uint8_t *p)
{
    str name = { (const char *)p + LOCAL_SIZE, get16(p + 26) };
    uint32_t csize = get32(p + 18), usize = get32(p + 22);

    if (!str_eq(name, r->name))
        return fail(HULL_EFORMAT,
                    "zip entry '%.*s' is named '%.*s' in its "
                    "local header",
                    STR_ARG(r->name), STR_ARG(name));
    if (get16(p + 8) != r->method || (get16(p + 6) & FLAGS_ENCRYPTED) != 0)
        return fail(HULL_EFORMAT,
                    "zip entry '%.*s' differs in method or "
                    "flags from its local header",
                    STR_ARG(r->name));
    if ((get16(p + 6) & FLAG_DESCRIPTOR) == 0 &&
        (!agrees(csize, FULL32, r->csize) || !agrees(usize, FULL32, r->usize)))
        return fail(HULL_EFORMAT,
                    "zip entry '%.*s' has %" PRIu32 " bytes in its local "
                    "header, wanted %" PRIu64,
                    STR_ARG(r->name), usize, r->usize);
    return HULL_OK;
}

/* Finds the payload; all of it must lie before the directory. */
static hull_status locate(zip_entry *out, const record *r, bytes data,
                          uint64_t limit)
{
    const uint8_t *p;
    uint64_t off, end;

    memset(out, 0, sizeof(*out));
    if (limit < LOCAL_SIZE || r->local > limit - LOCAL_SIZE)
        goto outside;
    p = data.p + r->local;
    if (get32(p) != LOCAL_SIG)
        return fail(HULL_EFORMAT,
                    "zip entry '%.*s' has no local header at byte %" PRIu64,
                    STR_ARG(r->name), r->local);
    off = r->local + LOCAL_SIZE + get16(p + 26) + get16(p + 28);
    if (off > limit || !add_u64(&end, off, r->usize) || end > limit)
        goto outside;
    TRY(check_local(r, p));
    *out = (zip_entry){ r->name, off, r->usize, r->crc };
    return HULL_OK;
outside:
    return fail(HULL_EFORMAT,
                "zip entry '%.*s' of %" PRIu64 " bytes at byte %" PRIu64
                " reaches into the directory at byte %" PRIu64,
                STR_ARG(r->name), r->usize, r->local, limit);
}

/* ---- opening ------------------------------------------------------------- */

/* What an entry occupies, header and payload. */
typedef struct range {
    uint64_t from, to;
} range;

static int range_order(const void *a, const void *b)
{
    const range *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

static hull_status check_overlap(range *ranges, size_t n)
{
    size_t i;

    if (n > 1)
        qsort(ranges, n, sizeof(*ranges), range_order);
    for (i = 1; i < n; i++) {
        if (ranges[i].from < ranges[i - 1].to)
            return fail(HULL_EFORMAT,
                        "zip entry at byte %" PRIu64 " overlaps the one at "
                        "byte %" PRIu64 ", which ends at byte %" PRIu64,
                        ranges[i].from, ranges[i - 1].from, ranges[i - 1].to);
    }
    return HULL_OK;
}

static hull_status add_entry(zip *z, const zip_entry *e)
{
    uint32_t other;

    if (strmap_get(&z->by_name, e->name, &other))
        return fail(HULL_EFORMAT, "zip has two entries named '%.*s'",
                    STR_ARG(e->name));
    TRY(strmap_set(&z->by_name, e->name, (uint32_t)z->n));
    z->entries[z->n++] = *e;
    return HULL_OK;
}

static hull_status read_directory(zip *z, const directory *d, range *ranges)
{
    uint64_t at = d->off, end = d->off + d->size;
    zip_entry e;
    record r;
    size_t i;

    for (i = 0; i < d->count; i++) {
        TRY(read_central(&r, z->data, &at, end));
        TRY(check_central(&r));
        TRY(locate(&e, &r, z->data, d->off));
        ranges[i] = (range){ r.local, e.off + e.size };
        if (!is_folder(&r))
            TRY(add_entry(z, &e));
    }
    if (at != end)
        return fail(HULL_EFORMAT,
                    "zip directory has %" PRIu64 " bytes after its last entry",
                    end - at);
    return check_overlap(ranges, (size_t)d->count);
}

hull_status zip_open(zip *out, bytes data)
{
    hull_status st = HULL_OK;
    range *ranges = NULL;
    directory d;
    zip z = { .data = data };

    memset(out, 0, sizeof(*out));
    TRY(find_directory(&d, data));
    ranges = mem_calloc((size_t)d.count, sizeof(*ranges));
    z.entries = mem_calloc((size_t)d.count, sizeof(*z.entries));
    if (ranges == NULL || z.entries == NULL) {
        st = fail_oom((size_t)d.count * sizeof(*z.entries));
        goto out;
    }
    TRY_OUT(read_directory(&z, &d, ranges));
    *out = z;
    memset(&z, 0, sizeof(z));
out:
    mem_free(ranges);
    zip_close(&z);
    return st;
}

void zip_close(zip *z)
{
    if (z == NULL)
        return;
    mem_free(z->entries);
    strmap_fini(&z->by_name);
    memset(z, 0, sizeof(*z));
}

const zip_entry *zip_find(const zip *z, str name)
{
    uint32_t i;

    return strmap_get(&z->by_name, name, &i) ? &z->entries[i] : NULL;
}

bytes zip_bytes(const zip *z, const zip_entry *e)
{
    return (bytes){ z->data.p + e->off, (size_t)e->size };
}

hull_status zip_check_crc(const zip *z, const zip_entry *e)
{
    uint32_t crc = (uint32_t)crc32_z(0, z->data.p + e->off, (size_t)e->size);

    if (crc == e->crc)
        return HULL_OK;
    return fail(HULL_EFORMAT,
                "zip entry '%.*s' has CRC %08" PRIx32 ", wanted %08" PRIx32,
                STR_ARG(e->name), crc, e->crc);
}

/* ---- writing ------------------------------------------------------------- */

#define VERSION_STORED 10
#define VERSION_ZIP64 45
#define DATE_1980 0x0021 /* the first date a zip can tell: 1 January 1980 */

static void put16(buf *b, uint64_t v)
{
    buf_put(b, (uint8_t[]){ (uint8_t)v, (uint8_t)(v >> 8) }, 2);
}

static void put32(buf *b, uint64_t v)
{
    put16(b, v & FULL16);
    put16(b, v >> 16 & FULL16);
}

static void put64(buf *b, uint64_t v)
{
    put32(b, v & FULL32);
    put32(b, v >> 32);
}

static uint64_t narrow(uint64_t v, uint64_t full)
{
    return v < full ? v : full;
}

/* The part that local and central headers share: version to usize. */
static void put_common(buf *b, bool wide, uint32_t crc, uint64_t size)
{
    put16(b, wide ? VERSION_ZIP64 : VERSION_STORED);
    put16(b, FLAG_UTF8);
    put16(b, 0); /* stored */
    put16(b, 0);
    put16(b, DATE_1980);
    put32(b, crc);
    put32(b, narrow(size, FULL32));
    put32(b, narrow(size, FULL32));
}

static void put_central(buf *b, str name, uint64_t local, uint32_t crc,
                        uint64_t size)
{
    bool wide_size = size >= FULL32, wide_off = local >= FULL32;
    uint32_t field = (wide_size ? 16 : 0) + (wide_off ? 8 : 0);

    put32(b, CENTRAL_SIG);
    put16(b, wide_size || wide_off ? VERSION_ZIP64 : VERSION_STORED);
    put_common(b, wide_size || wide_off, crc, size);
    put16(b, name.n);
    put16(b, field == 0 ? 0 : field + 4);
    put16(b, 0); /* comment */
    put16(b, 0); /* disk */
    put16(b, 0);
    put32(b, 0); /* attributes */
    put32(b, narrow(local, FULL32));
    buf_str(b, name);
    if (field != 0) {
        put16(b, EXTRA_ZIP64);
        put16(b, field);
    }
    if (wide_size) {
        put64(b, size);
        put64(b, size);
    }
    if (wide_off)
        put64(b, local);
}

/* Bytes of a fill field (0 = none) that move the payload onto `align`. */
static size_t fill_size(uint64_t payload, size_t align)
{
    size_t fill = align < 2 ? 0 : (size_t)((align - payload % align) % align);

    while (fill > 0 && fill < 4)
        fill += align;
    return fill;
}

void zip_writer_init(zip_writer *w, size_t max)
{
    buf_init(&w->out, max);
    buf_init(&w->directory, max);
    w->n = 0;
}

void zip_writer_add(zip_writer *w, str name, const void *p, size_t n,
                    size_t align)
{
    uint32_t crc = n == 0 ? 0 : (uint32_t)crc32_z(0, p, n);
    uint64_t local = w->out.n;
    bool wide = n >= FULL32;
    size_t wide_field = wide ? 20 : 0, fill, i;

    fill = fill_size(local + LOCAL_SIZE + name.n + wide_field, align);
    if (name.n > FULL16 || fill + wide_field > FULL16 || w->n == UINT32_MAX) {
        w->out.failed = true;
        return;
    }
    put32(&w->out, LOCAL_SIG);
    put_common(&w->out, wide, crc, n);
    put16(&w->out, name.n);
    put16(&w->out, wide_field + fill);
    buf_str(&w->out, name);
    if (wide) {
        put16(&w->out, EXTRA_ZIP64);
        put16(&w->out, 16);
        put64(&w->out, n);
        put64(&w->out, n);
    }
    if (fill > 0) {
        put16(&w->out, EXTRA_FILL);
        put16(&w->out, fill - 4);
        for (i = 4; i < fill; i++)
            buf_putc(&w->out, 'Z');
    }
    buf_put(&w->out, p, n);
    put_central(&w->directory, name, local, crc, n);
    w->n++;
}

static void put_end64(buf *b, uint64_t off, uint64_t size, uint64_t n)
{
    uint64_t at = b->n;

    put32(b, END64_SIG);
    put64(b, END64_SIZE - 12);
    put16(b, VERSION_ZIP64);
    put16(b, VERSION_ZIP64);
    put32(b, 0);
    put32(b, 0);
    put64(b, n);
    put64(b, n);
    put64(b, size);
    put64(b, off);
    put32(b, LOCATOR_SIG);
    put32(b, 0);
    put64(b, at);
    put32(b, 1);
}

hull_status zip_writer_end(zip_writer *w)
{
    uint64_t off = w->out.n, size = w->directory.n;
    buf *b = &w->out;

    TRY(buf_status(&w->directory));
    buf_str(b, buf_view(&w->directory));
    if (off >= FULL32 || size >= FULL32 || w->n >= FULL16)
        put_end64(b, off, size, w->n);
    put32(b, END_SIG);
    put32(b, 0); /* disks */
    put16(b, narrow(w->n, FULL16));
    put16(b, narrow(w->n, FULL16));
    put32(b, narrow(size, FULL32));
    put32(b, narrow(off, FULL32));
    put16(b, 0);
    return buf_status(b);
}

void zip_writer_fini(zip_writer *w)
{
    if (w == NULL)
        return;
    buf_fini(&w->out);
    buf_fini(&w->directory);
    w->n = 0;
}
