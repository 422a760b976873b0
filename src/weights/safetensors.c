/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * safetensors.c - reader and writer of .safetensors; shards.c has sharded sets.
 *
 *   u64 N                 little-endian, 1 .. 100 000 000
 *   N bytes               {"name": {"dtype": "F32", "shape": [2, 3],
 *                         "data_offsets": [begin, end]}, ...,
 *                         "__metadata__": {"text": "text"}}
 *   payload               covered by the tensors without hole or overlap
 *
 * The header has its own parser: it names byte offsets, refuses what readers
 * would see differently (duplicate keys, numbers that are not plain
 * integers), and its memory is bounded by the header's size.
 */
#include <string.h>

#include "weights/index.h"

#define HEADER_MAX 100000000u
#define DEPTH_MAX 64

/* ---- dtypes -------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t bits;
    hull_dtype dtype; /* HULL_NONE: of the format, but not ours */
} dtypes[] = {
    { "BOOL", 8, HULL_BOOL },
    { "U8", 8, HULL_U8 },
    { "I8", 8, HULL_I8 },
    { "F8_E5M2", 8, HULL_F8E5M2 },
    { "F8_E4M3", 8, HULL_F8E4M3FN },
    { "F8_E8M0", 8, HULL_F8E8M0 },
    { "F8_E4M3FNUZ", 8, HULL_F8E4M3FNUZ },
    { "F8_E5M2FNUZ", 8, HULL_F8E5M2FNUZ },
    { "I16", 16, HULL_I16 },
    { "U16", 16, HULL_U16 },
    { "F16", 16, HULL_F16 },
    { "BF16", 16, HULL_BF16 },
    { "I32", 32, HULL_I32 },
    { "U32", 32, HULL_U32 },
    { "F32", 32, HULL_F32 },
    { "I64", 64, HULL_I64 },
    { "U64", 64, HULL_U64 },
    { "F64", 64, HULL_F64 },
    { "C64", 64, HULL_C64 },
    { "F4", 4, HULL_F4E2M1 },
    { "F6_E2M3", 6, HULL_NONE },
    { "F6_E3M2", 6, HULL_NONE },
};

hull_dtype safetensors_dtype(str name)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        if (str_is(name, dtypes[i].name))
            return dtypes[i].dtype;
    return HULL_NONE;
}

const char *safetensors_dtype_name(hull_dtype dt)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        if (dt != HULL_NONE && dtypes[i].dtype == dt)
            return dtypes[i].name;
    return NULL;
}

/* 0 for a name that the format does not have. */
static uint32_t dtype_bits(str name)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        if (str_is(name, dtypes[i].name))
            return dtypes[i].bits;
    return 0;
}

/* ---- the header's JSON --------------------------------------------------- */

typedef struct reader {
    const char *base, *p, *end;
    arena *text; /* strings with escapes */
} reader;

/* Offset in the file, for errors. */
static size_t offset(const reader *r)
{
    return (size_t)(r->p - r->base) + 8;
}

static hull_status bad(const reader *r, const char *what)
{
    return fail(HULL_EFORMAT, "safetensors header, byte %zu: %s", offset(r),
                what);
}

static void skip_blanks(reader *r)
{
    while (r->p < r->end &&
           (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

/* The next sign after blanks; 0 at the end. */
static char peek(reader *r)
{
    skip_blanks(r);
    return r->p < r->end ? *r->p : 0;
}

static bool eat(reader *r, char c)
{
    if (r->p >= r->end || peek(r) != c || r->p >= r->end)
        return false;
    r->p++;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool hex4(reader *r, uint32_t *out)
{
    uint32_t v = 0;

    if (r->end - r->p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(r->p[i]);

        if (d < 0)
            return false;
        v = v << 4 | (uint32_t)d;
    }
    r->p += 4;
    *out = v;
    return true;
}

static char *put_utf8(char *d, uint32_t c)
{
    if (c < 0x80) {
        *d++ = (char)c;
    } else if (c < 0x800) {
        *d++ = (char)(0xc0 | c >> 6);
        *d++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *d++ = (char)(0xe0 | c >> 12);
        *d++ = (char)(0x80 | (c >> 6 & 63));
        *d++ = (char)(0x80 | (c & 63));
    } else {
        *d++ = (char)(0xf0 | c >> 18);
        *d++ = (char)(0x80 | (c >> 12 & 63));
        *d++ = (char)(0x80 | (c >> 6 & 63));
        *d++ = (char)(0x80 | (c & 63));
    }
    return d;
}

/* After a backslash; the text never grows. */
static hull_status read_escape(reader *r, char **d)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at;
    uint32_t c, low;

    if (r->p >= r->end)
        return bad(r, "text ends in an escape");
    if (*r->p != 'u') {
        at = *r->p ? strchr(from, *r->p) : NULL;
        if (!at)
            return bad(r, "unknown escape in text");
        *(*d)++ = to[at - from];
        r->p++;
        return HULL_OK;
    }
    r->p++;
    if (!hex4(r, &c))
        return bad(r, "\\u wants four hex digits");
    if (c == 0)
        return bad(r, "text holds a zero byte");
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
            return bad(r, "high surrogate without its low one");
        r->p += 2;
        if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
            return bad(r, "high surrogate without its low one");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c <= 0xdfff) {
        return bad(r, "low surrogate without its high one");
    }
    *d = put_utf8(*d, c);
    return HULL_OK;
}

static hull_status unescape(str *out, reader *r, const char *start, size_t n)
{
    char *p = arena_alloc(r->text, n + 1), *d = p;

    if (!p)
        return fail_oom(n + 1);
    r->p = start;
    while (*r->p != '"') {
        if (*r->p == '\\') {
            r->p++;
            TRY(read_escape(r, &d));
        } else {
            *d++ = *r->p++;
        }
    }
    r->p++;
    *out = (str){ p, (size_t)(d - p) };
    return HULL_OK;
}

static hull_status read_text(str *out, reader *r)
{
    const char *start;
    bool escapes = false;

    *out = (str){ 0 };
    if (!eat(r, '"'))
        return bad(r, "a text is wanted");
    start = r->p;
    while (r->p < r->end && *r->p != '"') {
        if ((unsigned char)*r->p < 0x20)
            return bad(r, "control byte in text");
        if (*r->p == '\\') {
            escapes = true;
            r->p++;
        }
        r->p++;
    }
    if (r->p >= r->end)
        return bad(r, "text does not end");
    if (escapes)
        return unescape(out, r, start, (size_t)(r->p - start));
    *out = (str){ start, (size_t)(r->p - start) };
    r->p++;
    return HULL_OK;
}

static hull_status read_u64(uint64_t *out, reader *r)
{
    const char *start;
    uint64_t v = 0;

    *out = 0;
    skip_blanks(r);
    start = r->p;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
        if (!mul_u64(&v, v, 10) || !add_u64(&v, v, (uint64_t)(*r->p - '0')))
            return bad(r, "number beyond 2^64-1");
    if (r->p == start)
        return bad(r, "a number from 0 is wanted");
    if (r->p - start > 1 && *start == '0')
        return bad(r, "number with a leading zero");
    if (r->p < r->end && (*r->p == '.' || *r->p == 'e' || *r->p == 'E'))
        return bad(r, "a whole number is wanted");
    *out = v;
    return HULL_OK;
}

static bool eat_digits(reader *r)
{
    const char *start = r->p;

    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return r->p > start;
}

static hull_status skip_number(reader *r)
{
    const char *start;

    if (*r->p == '-')
        r->p++;
    start = r->p;
    if (!eat_digits(r) || (r->p - start > 1 && *start == '0'))
        return bad(r, "malformed number");
    if (r->p < r->end && *r->p == '.') {
        r->p++;
        if (!eat_digits(r))
            return bad(r, "malformed number");
    }
    if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
            r->p++;
        if (!eat_digits(r))
            return bad(r, "malformed number");
    }
    return HULL_OK;
}

static bool eat_word(reader *r, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    return true;
}

static hull_status skip_scalar(reader *r)
{
    str text;
    char c = peek(r);

    if (c == '"')
        return read_text(&text, r);
    if (c == '-' || (c >= '0' && c <= '9'))
        return skip_number(r);
    if (eat_word(r, "true") || eat_word(r, "false") || eat_word(r, "null"))
        return HULL_OK;
    return bad(r, "a value is wanted");
}

/* Any JSON value, of an unknown member; a stack of brackets, no recursion. */
static hull_status skip_value(reader *r)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    str key;

    for (;;) {
        char c = peek(r);
        bool first = false;

        if (c == '[' || c == '{') {
            if (depth == DEPTH_MAX)
                return bad(r, "nested deeper than 64");
            open[depth++] = c;
            r->p++;
            first = true;
        } else {
            TRY(skip_scalar(r));
        }
        for (;; first = false) { /* close what ends here */
            char close;

            if (depth == 0)
                return HULL_OK;
            close = open[depth - 1] == '[' ? ']' : '}';
            if (!eat(r, close))
                break;
            depth--;
        }
        if (!first && !eat(r, ','))
            return bad(r, "a comma or a closing bracket is wanted");
        if (open[depth - 1] == '{') {
            TRY(read_text(&key, r));
            if (!eat(r, ':'))
                return bad(r, "a colon is wanted");
        }
    }
}

/* ---- tensors of the header ----------------------------------------------- */

typedef struct item {
    str name;
    hull_dtype dtype;
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
    uint64_t begin, end;
} item;

typedef struct header {
    item *items;
    size_t n, cap;
    uint64_t payload; /* bytes after the header */
} header;

static hull_status read_shape(item *t, reader *r)
{
    uint64_t dim;

    if (!eat(r, '['))
        return bad(r, "shape wants a list");
    if (eat(r, ']'))
        return HULL_OK;
    do {
        if (t->rank == HULL_MAX_RANK)
            return fail(HULL_EUNSUPPORTED,
                        "tensor '%.*s' has more than %d dims", STR_ARG(t->name),
                        HULL_MAX_RANK);
        TRY(read_u64(&dim, r));
        if (dim > INT64_MAX)
            return bad(r, "dim beyond 2^63-1 overflows");
        t->shape[t->rank++] = (int64_t)dim;
    } while (eat(r, ','));
    if (!eat(r, ']'))
        return bad(r, "shape wants a closing bracket");
    return HULL_OK;
}

static hull_status read_range(item *t, reader *r)
{
    if (!eat(r, '['))
        return bad(r, "data_offsets wants a list");
    TRY(read_u64(&t->begin, r));
    if (!eat(r, ','))
        return bad(r, "data_offsets wants two numbers");
    TRY(read_u64(&t->end, r));
    if (!eat(r, ']'))
        return bad(r, "data_offsets wants two numbers");
    return HULL_OK;
}

static hull_status check_item(const item *t, str dtype)
{
    uint64_t numel, bits = dtype_bits(dtype);

    if (t->end < t->begin)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' begins at %llu and ends at %llu",
                    STR_ARG(t->name), (unsigned long long)t->begin,
                    (unsigned long long)t->end);
    TRY(weights_numel(&numel, t->name, t->rank, t->shape));
    if (bits == 0) /* only fatal when the tensor is bound; add_items warns */
        return HULL_OK;
    if (!mul_u64(&bits, bits, numel))
        return fail(HULL_EFORMAT, "tensor '%.*s' has more than 2^64 bits",
                    STR_ARG(t->name));
    if (bits % 8)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' of %.*s ends inside a byte (%llu bits)",
                    STR_ARG(t->name), STR_ARG(dtype), (unsigned long long)bits);
    if (bits / 8 != t->end - t->begin)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' has %llu bytes, its shape wants %llu",
                    STR_ARG(t->name), (unsigned long long)(t->end - t->begin),
                    (unsigned long long)(bits / 8));
    return HULL_OK;
}

static hull_status read_member(item *t, str *dtype, unsigned *seen, reader *r)
{
    static const char *const names[] = { "dtype", "shape", "data_offsets" };
    str key;
    size_t i;

    TRY(read_text(&key, r));
    if (!eat(r, ':'))
        return bad(r, "a colon is wanted");
    for (i = 0; i < COUNT_OF(names); i++)
        if (str_is(key, names[i]))
            break;
    if (i == COUNT_OF(names))
        return skip_value(r);
    if (*seen & 1u << i)
        return fail(HULL_EFORMAT, "tensor '%.*s' has '%s' twice, byte %zu",
                    STR_ARG(t->name), names[i], offset(r));
    *seen |= 1u << i;
    if (i == 0)
        return read_text(dtype, r);
    return i == 1 ? read_shape(t, r) : read_range(t, r);
}

static hull_status read_item(item *t, reader *r)
{
    unsigned seen = 0;
    str dtype = { 0 };

    if (!eat(r, '{'))
        return bad(r, "a tensor wants an object");
    if (!eat(r, '}')) {
        do {
            TRY(read_member(t, &dtype, &seen, r));
        } while (eat(r, ','));
        if (!eat(r, '}'))
            return bad(r, "a comma or a closing brace is wanted");
    }
    if (seen != 7)
        return fail(HULL_EFORMAT, "tensor '%.*s' lacks '%s'", STR_ARG(t->name),
                    !(seen & 1)   ? "dtype"
                    : !(seen & 2) ? "shape"
                                  : "data_offsets");
    t->dtype = safetensors_dtype(dtype);
    return check_item(t, dtype);
}

static hull_status read_metadata(reader *r)
{
    strmap keys = { 0 };
    hull_status st = HULL_OK;
    str key, value;
    uint32_t other;

    if (!eat(r, '{'))
        return bad(r, "__metadata__ wants an object");
    if (eat(r, '}'))
        return HULL_OK;
    do {
        TRY_OUT(read_text(&key, r));
        if (strmap_get(&keys, key, &other))
            TRY_OUT(bad(r, "__metadata__ has a key twice"));
        TRY_OUT(strmap_set(&keys, key, 0));
        if (!eat(r, ':'))
            TRY_OUT(bad(r, "a colon is wanted"));
        if (peek(r) != '"')
            TRY_OUT(bad(r, "__metadata__ maps text to text only"));
        TRY_OUT(read_text(&value, r));
    } while (eat(r, ','));
    if (!eat(r, '}'))
        TRY_OUT(bad(r, "__metadata__ wants a closing brace"));
out:
    strmap_fini(&keys);
    return st;
}

static hull_status read_entry(header *h, bool *metadata, reader *r)
{
    str key;

    TRY(read_text(&key, r));
    if (!eat(r, ':'))
        return bad(r, "a colon is wanted");
    if (str_is(key, "__metadata__")) {
        if (*metadata)
            return bad(r, "__metadata__ twice");
        *metadata = true;
        return read_metadata(r);
    }
    if (h->n >= WEIGHTS_TENSORS_MAX)
        return fail(HULL_ENOMEM, "more than %u tensors", WEIGHTS_TENSORS_MAX);
    TRY(mem_grow(&h->items, &h->cap, h->n + 1, sizeof *h->items));
    h->items[h->n] = (item){ .name = key };
    TRY(read_item(&h->items[h->n], r));
    h->n++;
    return HULL_OK;
}

static hull_status read_header(header *h, reader *r)
{
    bool metadata = false;

    if (!str_valid_utf8((str){ r->base, (size_t)(r->end - r->base) }))
        return fail(HULL_EFORMAT, "safetensors header is not utf-8");
    if (!eat(r, '{'))
        return bad(r, "the header wants an object");
    if (!eat(r, '}')) {
        do {
            TRY(read_entry(h, &metadata, r));
        } while (eat(r, ','));
        if (!eat(r, '}'))
            return bad(r, "a comma or a closing brace is wanted");
    }
    skip_blanks(r);
    return r->p == r->end ? HULL_OK : bad(r, "text after the header's object");
}

static bool before(const item *a, const item *b)
{
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
}

static void sift(const item *items, uint32_t *order, size_t root, size_t n)
{
    for (;;) {
        size_t child = 2 * root + 1;
        uint32_t t;

        if (child >= n)
            return;
        if (child + 1 < n &&
            before(&items[order[child]], &items[order[child + 1]]))
            child++;
        if (!before(&items[order[root]], &items[order[child]]))
            return;
        t = order[root];
        order[root] = order[child];
        order[child] = t;
        root = child;
    }
}

/* Sorted by place, the tensors follow each other from the first payload byte
 * to the last: no hole, no overlap, no sharing. */
static hull_status check_cover(const header *h)
{
    uint64_t at = 0;
    uint32_t *order = mem_calloc(h->n + 1, sizeof *order);
    hull_status st = HULL_OK;

    if (!order)
        return fail_oom(h->n * sizeof *order);
    for (size_t i = 0; i < h->n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = h->n / 2; i-- > 0;)
        sift(h->items, order, i, h->n);
    for (size_t n = h->n; n > 1; n--) {
        uint32_t t = order[0];

        order[0] = order[n - 1];
        order[n - 1] = t;
        sift(h->items, order, 0, n - 1);
    }
    for (size_t i = 0; i < h->n; i++) {
        const item *t = &h->items[order[i]];

        if (t->begin != at)
            TRY_OUT(fail(HULL_EFORMAT,
                         "tensor '%.*s' begins at payload byte %llu, the one "
                         "before ends at %llu",
                         STR_ARG(t->name), (unsigned long long)t->begin,
                         (unsigned long long)at));
        at = t->end;
    }
    if (at != h->payload)
        st = fail(HULL_EFORMAT,
                  "tensors cover %llu payload bytes, the file has %llu",
                  (unsigned long long)at, (unsigned long long)h->payload);
out:
    mem_free(order);
    return st;
}

static hull_status add_items(weights *w, const header *h, file *f,
                             uint64_t base)
{
    size_t strange = 0;
    int32_t index;

    TRY(weights_take_file(w, f, &index));
    for (size_t i = 0; i < h->n; i++) {
        const item *t = &h->items[i];
        weight_storage s = { .file = index,
                             .off = base + t->begin,
                             .len = t->end - t->begin };
        weight_entry e = {
            .name = t->name, .dtype = t->dtype, .rank = t->rank, .len = s.len
        };

        memcpy(e.shape, t->shape, sizeof e.shape);
        TRY(weights_add_storage(w, &s, &e.storage));
        TRY(weights_add(w, &e, false));
        strange += t->dtype == HULL_NONE;
    }
    if (strange)
        log_warn("weights", "%zu tensors are of dtypes that are not read",
                 strange);
    return HULL_OK;
}

static hull_status check_length(uint64_t *out, const file *f)
{
    uint8_t b[8];
    uint64_t n;

    *out = 0;
    if (f->size < 8)
        return fail(HULL_EFORMAT,
                    "safetensors header too small: file has %llu bytes, "
                    "at least 8",
                    (unsigned long long)f->size);
    TRY(file_read_at(f, 0, b, 8));
    n = le_get(b, 8);
    if (n > HEADER_MAX)
        return fail(HULL_EFORMAT,
                    "safetensors header too large: %llu bytes, at most %u",
                    (unsigned long long)n, HEADER_MAX);
    if (n == 0)
        return fail(HULL_EFORMAT, "safetensors header of 0 bytes");
    if (n > f->size - 8)
        return fail(HULL_EFORMAT,
                    "safetensors header of %llu bytes, file has %llu",
                    (unsigned long long)n, (unsigned long long)f->size);
    *out = n;
    return HULL_OK;
}

hull_status safetensors_read(weights *w, file *f)
{
    hull_status st = HULL_OK;
    header h = { 0 };
    arena text = { 0 };
    uint64_t n;
    char *p;
    reader r;

    TRY(check_length(&n, f));
    p = mem_alloc(n);
    if (!p)
        return fail_oom(n);
    TRY_OUT(file_read_at(f, 8, p, n));
    r = (reader){ .base = p, .p = p, .end = p + n, .text = &text };
    h.payload = f->size - 8 - n;
    TRY_OUT(read_header(&h, &r));
    TRY_OUT(check_cover(&h));
    TRY_OUT(add_items(w, &h, f, 8 + n));
out:
    mem_free(h.items);
    mem_free(p);
    arena_fini(&text);
    return st;
}

/* ---- writer -------------------------------------------------------------- */

static void put_json_text(buf *b, str s)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c < 0x20)
            buf_printf(b, "\\u%04x", c);
        else
            buf_putc(b, (char)c);
    }
    buf_putc(b, '"');
}

static hull_status put_item(buf *b, const safetensors_item *t, uint64_t *at)
{
    const char *dtype = safetensors_dtype_name(t->dtype);
    uint64_t numel, len;

    if (!dtype)
        return fail(HULL_EUNSUPPORTED,
                    "tensor '%.*s': safetensors has no dtype %s",
                    STR_ARG(t->name), hull_dtype_name(t->dtype));
    TRY(weights_numel(&numel, t->name, t->rank, t->shape));
    TRY(weights_dense_len(&len, t->name, t->dtype, numel));
    if (len != t->len || (numel * hull_dtype_bits(t->dtype)) % 8)
        return fail(HULL_EINVAL,
                    "tensor '%.*s' has %llu bytes, its shape wants %llu",
                    STR_ARG(t->name), (unsigned long long)t->len,
                    (unsigned long long)len);
    if (str_is(t->name, "__metadata__") || !str_valid_utf8(t->name) ||
        (t->name.n && memchr(t->name.p, 0, t->name.n)))
        return fail(HULL_EINVAL, "'%.*s' cannot name a tensor",
                    STR_ARG(t->name));
    put_json_text(b, t->name);
    buf_printf(b, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (uint32_t i = 0; i < t->rank; i++)
        buf_printf(b, "%s%lld", i ? "," : "", (long long)t->shape[i]);
    buf_printf(b, "],\"data_offsets\":[%llu,", (unsigned long long)*at);
    if (!add_u64(at, *at, len))
        return fail(HULL_EINVAL, "tensors take more than 2^64 bytes");
    buf_printf(b, "%llu]}", (unsigned long long)*at);
    return HULL_OK;
}

static hull_status put_header(buf *b, const safetensors_item *items, size_t n)
{
    hull_status st = HULL_OK;
    strmap names = { 0 };
    uint64_t at = 0;
    uint32_t other;

    for (int i = 0; i < 8; i++)
        buf_putc(b, 0);
    buf_putc(b, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_putc(b, ',');
        TRY_OUT(put_item(b, &items[i], &at));
        if (strmap_get(&names, items[i].name, &other))
            TRY_OUT(fail(HULL_EINVAL, "two tensors are named '%.*s'",
                         STR_ARG(items[i].name)));
        TRY_OUT(strmap_set(&names, items[i].name, 0));
    }
    buf_putc(b, '}');
    while (b->n % 8 && !b->failed)
        buf_putc(b, ' ');
    TRY_OUT(buf_status(b));
    le_put(b->p, b->n - 8, 8);
out:
    strmap_fini(&names);
    return st;
}

hull_status safetensors_write(const char *path, const safetensors_item *items,
                              size_t n)
{
    hull_status st = HULL_OK;
    file_part *parts = NULL;
    buf b;

    buf_init(&b, HEADER_MAX + 8);
    TRY_OUT(put_header(&b, items, n));
    parts = mem_calloc(n + 1, sizeof *parts);
    if (!parts)
        TRY_OUT(fail_oom((n + 1) * sizeof *parts));
    parts[0] = (file_part){ b.p, b.n };
    for (size_t i = 0; i < n; i++)
        parts[i + 1] = (file_part){ items[i].data, (size_t)items[i].len };
    TRY_OUT(file_write_atomic(path, parts, n + 1));
out:
    mem_free(parts);
    buf_fini(&b);
    return note_path(st, path);
}
