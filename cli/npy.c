/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * npy.c - NumPy's array file:
 *
 *   file   := "\x93NUMPY" major:u8 minor:u8 len header elements
 *   len    := u16le (major 1) | u32le (major 2, 3)
 *   header := "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
 *             spaces "\n", the elements begin at a multiple of 64
 *
 * and the list of named tensors that every tensor file is read into.
 */
#include "cli/npy.h"

#include <inttypes.h>
#include <string.h>

#include "weights/weights.h"

#define NPY_MAGIC "\x93NUMPY"
#define NPY_MAGIC_SIZE 6
#define NPY_HEADER_MAX 65536
#define NPY_ALIGN 64
#define FILE_MAX_BYTES ((size_t)1 << 40)

/* NumPy's type code without its byte order. */
static const struct {
    const char *code;
    hull_dtype dtype;
} npy_types[] = {
    { "f8", HULL_F64 }, { "f4", HULL_F32 }, { "f2", HULL_F16 },
    { "i8", HULL_I64 }, { "i4", HULL_I32 }, { "i2", HULL_I16 },
    { "i1", HULL_I8 },  { "u8", HULL_U64 }, { "u4", HULL_U32 },
    { "u2", HULL_U16 }, { "u1", HULL_U8 },  { "b1", HULL_BOOL },
    { "c8", HULL_C64 }, { "c16", HULL_C128 },
};

/* ---- the list ------------------------------------------------------------ */

hull_status tensor_n_bytes(uint64_t *out, hull_dtype dtype, uint32_t rank,
                           const int64_t *shape)
{
    uint32_t bits = hull_dtype_bits(dtype);
    uint64_t n = 1;
    bool fits = true;

    *out = 0;
    if (bits == 0 || rank > HULL_MAX_RANK)
        return fail(HULL_EFORMAT, "tensor of dtype %d and rank %u, want a "
                    "known dtype and rank <= %d", (int)dtype, rank,
                    HULL_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return fail(HULL_EFORMAT, "dim %u is %" PRId64 ", want >= 0", i,
                        shape[i]);
        /* A later 0 must not hide an overflow: the strides overflow too. */
        if (shape[i] > 0)
            fits = fits && mul_u64(&n, n, (uint64_t)shape[i]);
    }
    fits = fits && mul_u64(&n, n, bits) && n <= INT64_MAX - 7;
    if (!fits)
        return fail(HULL_EFORMAT, "shape has more elements than fit 64 bits");
    for (uint32_t i = 0; i < rank; i++)
        if (shape[i] == 0)
            n = 0;
    *out = (n + 7) / 8;
    return HULL_OK;
}

hull_status tensor_file_add(tensor_file *f, named_tensor **out_item, str name,
                            hull_dtype dtype, uint32_t rank,
                            const int64_t *shape)
{
    named_tensor t = { .dtype = dtype, .rank = rank };

    *out_item = NULL;
    if (dtype == HULL_STRING)
        return fail(HULL_EUNSUPPORTED, "'%.*s' holds strings, files of tensors "
                    "hold numbers", STR_ARG(name));
    TRY(tensor_n_bytes(&t.n_bytes, dtype, rank, shape));
    if (t.n_bytes > SIZE_MAX - NPY_ALIGN)
        return fail_oom(SIZE_MAX);
    if (rank > 0)
        memcpy(t.shape, shape, rank * sizeof(*shape));
    TRY(mem_grow(&f->items, &f->cap, f->n + 1, sizeof(*f->items)));
    t.name = mem_strndup(name.n ? name.p : "", name.n);
    t.data = mem_alloc_aligned(NPY_ALIGN, (size_t)t.n_bytes + 1);
    if (!t.name || !t.data) {
        mem_free(t.name);
        mem_free(t.data);
        return fail_oom((size_t)t.n_bytes);
    }
    memset(t.data, 0, (size_t)t.n_bytes + 1);
    f->items[f->n] = t;
    *out_item = &f->items[f->n++];
    return HULL_OK;
}

void tensor_file_fini(tensor_file *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++) {
        mem_free(f->items[i].name);
        mem_free(f->items[i].data);
    }
    mem_free(f->items);
    memset(f, 0, sizeof(*f));
}

const named_tensor *tensor_file_find(const tensor_file *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->items[i].name, name) == 0)
            return &f->items[i];
    return NULL;
}

hull_tensor tensor_view(const named_tensor *t)
{
    return (hull_tensor){ .data = t->data, .shape = t->shape,
                          .rank = (int32_t)t->rank, .dtype = t->dtype };
}

/* ---- the header: a Python dictionary of three known keys ----------------- */

typedef struct npy_header {
    str descr;
    bool fortran;
    uint32_t rank;
    int64_t shape[HULL_MAX_RANK];
} npy_header;

static void skip_space(str *s)
{
    while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\n')) {
        s->p++;
        s->n--;
    }
}

/* Skips space, then takes the literal text z when it is next. */
static bool take(str *s, const char *z)
{
    skip_space(s);
    if (!str_starts(*s, z))
        return false;
    s->p += strlen(z);
    s->n -= strlen(z);
    return true;
}

static hull_status bad_header(const str *s, const char *want)
{
    str near = { s->p, s->n < 20 ? s->n : 20 };
    char text[24];

    for (size_t i = 0; i < near.n; i++)
        text[i] = near.p[i] >= ' ' && near.p[i] < 127 ? near.p[i] : '?';
    text[near.n] = '\0';
    return fail(HULL_EFORMAT, "npy header has '%s', want %s", text, want);
}

static hull_status take_string(str *out, str *s)
{
    char quote;
    size_t i = 1;

    skip_space(s);
    quote = s->n > 0 ? s->p[0] : '\0';
    if (quote != '\'' && quote != '"')
        return bad_header(s, "a quoted string");
    while (i < s->n && s->p[i] != quote && s->p[i] != '\\')
        i++;
    if (i == s->n || s->p[i] != quote)
        return bad_header(s, "a string without escapes that ends");
    *out = (str){ s->p + 1, i - 1 };
    s->p += i + 1;
    s->n -= i + 1;
    return HULL_OK;
}

static hull_status take_shape(npy_header *h, str *s)
{
    if (!take(s, "("))
        return bad_header(s, "a tuple");
    while (!take(s, ")")) {
        size_t i = 0;

        while (i < s->n && s->p[i] >= '0' && s->p[i] <= '9')
            i++;
        if (h->rank == HULL_MAX_RANK)
            return fail(HULL_EUNSUPPORTED, "npy array of rank above %d",
                        HULL_MAX_RANK);
        if (!str_to_i64(&h->shape[h->rank], (str){ s->p, i }))
            return bad_header(s, "a dim that fits 64 bits");
        h->rank++;
        s->p += i;
        s->n -= i;
        if (!take(s, ",")) {
            if (take(s, ")"))
                break;
            return bad_header(s, "',' or ')'");
        }
    }
    return HULL_OK;
}

static hull_status take_value(npy_header *h, str key, str *s, unsigned *seen)
{
    unsigned bit = str_is(key, "descr") ? 1
                   : str_is(key, "fortran_order") ? 2
                   : str_is(key, "shape") ? 4 : 0;

    if (bit == 0 || (*seen & bit))
        return fail(HULL_EFORMAT, "npy header has key '%.*s' unknown or twice",
                    STR_ARG(key));
    *seen |= bit;
    if (bit == 4)
        return take_shape(h, s);
    if (bit == 2) {
        h->fortran = take(s, "True");
        if (!h->fortran && !take(s, "False"))
            return bad_header(s, "True or False");
        return HULL_OK;
    }
    skip_space(s);
    if (s->n > 0 && s->p[0] == '[')
        return fail(HULL_EUNSUPPORTED, "npy array of records, want a plain "
                    "element type");
    return take_string(&h->descr, s);
}

static hull_status parse_header(npy_header *h, str s)
{
    unsigned seen = 0;

    memset(h, 0, sizeof(*h));
    if (!take(&s, "{"))
        return bad_header(&s, "'{'");
    while (!take(&s, "}")) {
        str key;

        TRY(take_string(&key, &s));
        if (!take(&s, ":"))
            return bad_header(&s, "':'");
        TRY(take_value(h, key, &s, &seen));
        if (!take(&s, ",")) {
            if (take(&s, "}"))
                break;
            return bad_header(&s, "',' or '}'");
        }
    }
    skip_space(&s);
    if (s.n > 0 || seen != 7)
        return bad_header(&s, "descr, fortran_order, shape and nothing else");
    return HULL_OK;
}

static hull_status parse_descr(hull_dtype *out, str descr)
{
    str code = descr;
    char order = descr.n > 0 ? descr.p[0] : '\0';

    *out = HULL_NONE;
    if (descr.n > 0) {
        code.p++;
        code.n--;
    }
    if (order == '>')
        return fail(HULL_EUNSUPPORTED, "npy array is big-endian ('%.*s')",
                    STR_ARG(descr));
    for (size_t i = 0; i < COUNT_OF(npy_types); i++)
        if (str_is(code, npy_types[i].code))
            *out = npy_types[i].dtype;
    if (*out == HULL_NONE || (order != '<' && order != '|' && order != '=') ||
        (order == '|' && hull_dtype_bits(*out) > 8))
        return fail(HULL_EUNSUPPORTED, "npy element type '%.*s', want a "
                    "little-endian number or bool", STR_ARG(descr));
    return HULL_OK;
}

/* Column-major src to row-major dst; the shape has no 0. */
static void from_fortran(named_tensor *t, const uint8_t *src)
{
    size_t size = hull_dtype_bits(t->dtype) / 8;
    uint64_t n = t->n_bytes / size;
    int64_t index[HULL_MAX_RANK] = { 0 };
    uint8_t *dst = t->data;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t off = 0;

        for (uint32_t d = t->rank; d-- > 0;)
            off = off * (uint64_t)t->shape[d] + (uint64_t)index[d];
        memcpy(dst + i * size, src + off * size, size);
        for (uint32_t d = t->rank; d-- > 0;) {
            if (++index[d] < t->shape[d])
                break;
            index[d] = 0;
        }
    }
}

hull_status npy_parse(tensor_file *f, str name, bytes data)
{
    npy_header h;
    hull_dtype dtype;
    named_tensor *t;
    uint64_t n_bytes;
    size_t at = NPY_MAGIC_SIZE + 2, len, len_size;
    const uint8_t *p = data.p;

    if (data.n < at + 4 || memcmp(p, NPY_MAGIC, NPY_MAGIC_SIZE) != 0)
        return fail(HULL_EFORMAT, "not an npy array: its magic is missing");
    if (p[6] < 1 || p[6] > 3)
        return fail(HULL_EVERSION, "npy version %u.%u, want 1 to 3", p[6],
                    p[7]);
    len_size = p[6] == 1 ? 2 : 4;
    len = le_get(p + at, len_size);
    at += len_size;
    if (len > NPY_HEADER_MAX || len > data.n - at)
        return fail(HULL_EFORMAT, "npy header of %zu bytes, have %zu, limit "
                    "%d", len, data.n - at, NPY_HEADER_MAX);
    TRY(parse_header(&h, (str){ (const char *)p + at, len }));
    at += len;
    TRY(parse_descr(&dtype, h.descr));
    TRY(tensor_n_bytes(&n_bytes, dtype, h.rank, h.shape));
    if (n_bytes != data.n - at)
        return fail(HULL_EFORMAT, "npy array of %" PRIu64 " bytes, file has "
                    "%zu after the header", n_bytes, data.n - at);
    TRY(tensor_file_add(f, &t, name, dtype, h.rank, h.shape));
    if (h.fortran && t->rank > 1 && n_bytes > 0)
        from_fortran(t, p + at);
    else if (n_bytes > 0)
        memcpy(t->data, p + at, (size_t)n_bytes);
    return HULL_OK;
}

hull_status npy_format(buf *out, const named_tensor *t)
{
    const char *code = NULL;
    char text[512];
    buf h;
    size_t total;
    hull_status st;

    for (size_t i = 0; i < COUNT_OF(npy_types); i++)
        if (npy_types[i].dtype == t->dtype)
            code = npy_types[i].code;
    if (!code)
        return fail(HULL_EUNSUPPORTED, "tensor '%s' is %s, which npy cannot "
                    "hold; write a .safetensors", t->name,
                    hull_dtype_name(t->dtype));
    buf_init(&h, sizeof(text));
    buf_printf(&h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
               hull_dtype_bits(t->dtype) == 8 ? '|' : '<', code);
    for (uint32_t i = 0; i < t->rank; i++)
        buf_printf(&h, i ? " %" PRId64 "," : "%" PRId64 ",", t->shape[i]);
    buf_puts(&h, "), }");
    total = (size_t)round_up(NPY_MAGIC_SIZE + 4 + h.n + 1, NPY_ALIGN);
    st = buf_status(&h);
    if (st == HULL_OK) {
        size_t len = total - NPY_MAGIC_SIZE - 4;
        char start[4] = { 1, 0, (char)(len & 0xff), (char)(len >> 8) };

        buf_put(out, NPY_MAGIC, NPY_MAGIC_SIZE);
        buf_put(out, start, sizeof(start));
        buf_put(out, h.p, h.n);
        for (size_t i = h.n; i + 1 < len; i++)
            buf_putc(out, ' ');
        buf_putc(out, '\n');
        if (t->n_bytes > 0)
            buf_put(out, t->data, (size_t)t->n_bytes);
        st = buf_status(out);
    }
    buf_fini(&h);
    return st;
}

/* ---- files --------------------------------------------------------------- */

static hull_status read_checkpoint(tensor_file *f, const char *path)
{
    weights *w = NULL;
    hull_status st = HULL_OK;

    TRY_OUT(weights_open(&w, path, NULL));
    for (size_t i = 0; i < weights_count(w); i++) {
        const weight_entry *e = weights_at(w, i);
        named_tensor *t;

        if (weights_storage(w, e)->absent) {
            st = fail(HULL_EFORMAT, "tensor '%.*s' has no bytes in %s",
                      STR_ARG(e->name), path);
            goto out;
        }
        TRY_OUT(tensor_file_add(f, &t, e->name, e->dtype, e->rank, e->shape));
        if (t->n_bytes > 0)
            TRY_OUT(weights_read(w, e, t->data));
    }
out:
    weights_unref(w);
    return st;
}

static hull_status read_any(tensor_file *f, const char *path)
{
    char start[8] = { 0 };
    char *p = NULL;
    size_t n = 0;
    file map = { 0 };
    hull_status st = HULL_OK;

    TRY(file_map(&map, path));
    if (map.size >= sizeof(start))
        st = file_read_at(&map, 0, start, sizeof(start));
    file_close(&map);
    TRY(st);
    if (memcmp(start, NPY_MAGIC, NPY_MAGIC_SIZE) != 0 &&
        !(str_ends(str_of(path), ".npz") && memcmp(start, "PK", 2) == 0))
        return read_checkpoint(f, path);
    TRY(file_read_all(&p, &n, path, FILE_MAX_BYTES));
    if (start[0] == 'P')
        st = npz_parse(f, (bytes){ (const uint8_t *)p, n });
    else
        st = npy_parse(f, str_of(""), (bytes){ (const uint8_t *)p, n });
    mem_free(p);
    return note(st, "reading %s", path);
}

hull_status tensor_file_read(tensor_file *out, const char *path)
{
    hull_status st;

    memset(out, 0, sizeof(*out));
    st = read_any(out, path);
    if (st != HULL_OK)
        tensor_file_fini(out);
    return st;
}

static hull_status write_npy(const char *path, const named_tensor *t)
{
    buf b;
    hull_status st;

    buf_init(&b, FILE_MAX_BYTES);
    st = npy_format(&b, t);
    if (st == HULL_OK)
        st = file_write_atomic(path, &(file_part){ b.p, b.n }, 1);
    buf_fini(&b);
    return st;
}

static hull_status write_npz(const char *path, const named_tensor *items,
                             size_t n)
{
    zip_writer z;
    buf b, name;
    hull_status st = HULL_OK;

    zip_writer_init(&z, FILE_MAX_BYTES);
    buf_init(&b, FILE_MAX_BYTES);
    buf_init(&name, 1 << 16);
    for (size_t i = 0; i < n; i++) {
        buf_clear(&b);
        buf_clear(&name);
        TRY_OUT(npy_format(&b, &items[i]));
        buf_puts(&name, items[i].name);
        buf_puts(&name, ".npy");
        TRY_OUT(buf_status(&name));
        zip_writer_add(&z, buf_view(&name), b.p, b.n, 1);
    }
    TRY_OUT(zip_writer_end(&z));
    TRY_OUT(file_write_atomic(path, &(file_part){ z.out.p, z.out.n }, 1));
out:
    buf_fini(&name);
    buf_fini(&b);
    zip_writer_fini(&z);
    return st;
}

static hull_status write_safetensors(const char *path,
                                     const named_tensor *items, size_t n)
{
    safetensors_item *list = mem_calloc(n + 1, sizeof(*list));
    hull_status st;

    if (!list)
        return fail_oom(n * sizeof(*list));
    for (size_t i = 0; i < n; i++)
        list[i] = (safetensors_item){ str_of(items[i].name), items[i].dtype,
                                      items[i].rank, items[i].shape,
                                      items[i].data, items[i].n_bytes };
    st = safetensors_write(path, list, n);
    mem_free(list);
    return st;
}

hull_status tensor_file_write(const char *path, const named_tensor *items,
                              size_t n)
{
    str p = str_of(path);
    hull_status st;

    if (str_ends(p, ".safetensors"))
        st = write_safetensors(path, items, n);
    else if (str_ends(p, ".npz"))
        st = write_npz(path, items, n);
    else if (!str_ends(p, ".npy"))
        st = fail(HULL_EINVAL, "unknown extension, want .npy, .npz or "
                  ".safetensors");
    else if (n != 1)
        st = fail(HULL_EINVAL, "a .npy holds one tensor, have %zu; write a "
                  ".npz", n);
    else
        st = write_npy(path, &items[0]);
    return note(st, "writing %s", path);
}
