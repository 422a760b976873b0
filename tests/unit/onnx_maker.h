/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_maker.h - writes small ONNX models for tests: protobuf by hand.
 */
#ifndef TEST_ONNX_MAKER_H
#define TEST_ONNX_MAKER_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

typedef struct maker {
    buf graph, model;
} maker;

static inline void put_varint(buf *b, uint64_t v)
{
    while (v >= 128) {
        buf_putc(b, (char)(v | 128));
        v >>= 7;
    }
    buf_putc(b, (char)v);
}

static inline void put_int(buf *b, uint32_t field, int64_t v)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)v);
}

static inline void put_bytes(buf *b, uint32_t field, const void *p, size_t n)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, n);
    buf_put(b, p, n);
}

static inline void put_text(buf *b, uint32_t field, const char *z)
{
    put_bytes(b, field, z, strlen(z));
}

/* Appends `inner` as a message and empties it. */
static inline void put_message(buf *b, uint32_t field, buf *inner)
{
    put_bytes(b, field, inner->p ? inner->p : "", inner->n);
    buf_fini(inner);
}

static inline buf new_buf(void)
{
    buf b;

    buf_init(&b, 1 << 24);
    return b;
}

static inline void attr_int_put(buf *attrs, const char *name, int64_t v)
{
    buf a = new_buf();

    put_text(&a, 1, name);
    put_int(&a, 3, v);
    put_int(&a, 20, 2);
    put_message(attrs, 5, &a);
}

static inline void attr_float_put(buf *attrs, const char *name, float v)
{
    buf a = new_buf();

    put_text(&a, 1, name);
    put_varint(&a, 2 << 3 | 5);
    buf_put(&a, &v, 4);
    put_int(&a, 20, 1);
    put_message(attrs, 5, &a);
}

static inline void attr_ints_put(buf *attrs, const char *name, const int64_t *v,
                          size_t n)
{
    buf a = new_buf();

    put_text(&a, 1, name);
    for (size_t i = 0; i < n; i++)
        put_int(&a, 8, v[i]);
    put_int(&a, 20, 7);
    put_message(attrs, 5, &a);
}

static inline void attr_text_put(buf *attrs, const char *name, const char *v)
{
    buf a = new_buf();

    put_text(&a, 1, name);
    put_text(&a, 4, v);
    put_int(&a, 20, 3);
    put_message(attrs, 5, &a);
}

/* Texts separated by blanks. */
static inline void attr_texts_put(buf *attrs, const char *name, const char *v)
{
    buf a = new_buf();
    str rest = str_of(v);

    put_text(&a, 1, name);
    while (rest.n > 0) {
        str s = str_split(rest, ' ', &rest);

        put_bytes(&a, 9, s.p, s.n);
    }
    put_int(&a, 20, 8);
    put_message(attrs, 5, &a);
}

static inline void attr_floats_put(buf *attrs, const char *name,
                                   const float *v, size_t n)
{
    buf a = new_buf();

    put_text(&a, 1, name);
    put_bytes(&a, 7, v, n * 4);
    put_int(&a, 20, 6);
    put_message(attrs, 5, &a);
}

static inline void attr_graph_put(buf *attrs, const char *name, buf *g)
{
    buf a = new_buf();

    put_text(&a, 1, name);
    put_message(&a, 6, g);
    put_int(&a, 20, 5);
    put_message(attrs, 5, &a);
}

static inline void attr_ref_put(buf *attrs, const char *name, const char *ref,
                         int64_t kind)
{
    buf a = new_buf();

    put_text(&a, 1, name);
    put_text(&a, 21, ref);
    put_int(&a, 20, kind);
    put_message(attrs, 5, &a);
}

/* Names separated by blanks, "-" for an empty one. */
static inline void put_names(buf *b, uint32_t field, const char *names)
{
    str rest = str_of(names);

    while (rest.n > 0) {
        str s = str_split(rest, ' ', &rest);

        put_bytes(b, field, s.p, str_is(s, "-") ? 0 : s.n);
    }
}

static inline buf node_buf(const char *op, const char *domain, const char *in,
                    const char *out, buf *attrs)
{
    buf n = new_buf();

    put_names(&n, 1, in);
    put_names(&n, 2, out);
    put_text(&n, 3, out);
    put_text(&n, 4, op);
    if (*domain)
        put_text(&n, 7, domain);
    if (attrs) {
        buf_put(&n, attrs->p ? attrs->p : "", attrs->n);
        buf_fini(attrs);
    }
    return n;
}

static inline void put_node(buf *g, const char *op, const char *in,
                     const char *out, buf *attrs)
{
    buf n = node_buf(op, "", in, out, attrs);

    put_message(g, 1, &n);
}

/* field 11 input, 12 output; sizes below 0 become the parameter "N". */
static inline void put_value(buf *g, uint32_t field, const char *name,
                      int64_t elem, const int64_t *dims, size_t rank)
{
    buf v = new_buf(), t = new_buf(), tt = new_buf(), s = new_buf();

    for (size_t i = 0; i < rank; i++) {
        buf d = new_buf();

        if (dims[i] < 0)
            put_text(&d, 2, "N");
        else
            put_int(&d, 1, dims[i]);
        put_message(&s, 1, &d);
    }
    put_int(&tt, 1, elem);
    put_message(&tt, 2, &s);
    put_message(&t, 1, &tt);
    put_text(&v, 1, name);
    put_message(&v, 2, &t);
    put_message(g, field, &v);
}

static inline buf tensor_buf(const char *name, int64_t elem,
                             const int64_t *dims, size_t rank, const void *p,
                             size_t n_bytes)
{
    buf t = new_buf();

    for (size_t i = 0; i < rank; i++)
        put_int(&t, 1, dims[i]);
    put_int(&t, 2, elem);
    put_text(&t, 8, name);
    put_bytes(&t, 9, p, n_bytes);
    return t;
}

static inline void put_stored(buf *g, const char *name, int64_t elem,
                       const int64_t *dims, size_t rank, const void *p,
                       size_t n_bytes)
{
    buf t = tensor_buf(name, elem, dims, rank, p, n_bytes);

    put_message(g, 5, &t);
}

static inline void put_i64s(buf *g, const char *name, const int64_t *v,
                            size_t n)
{
    int64_t dims[1] = {(int64_t)n};

    put_stored(g, name, 7, dims, 1, v, n * 8);
}

static inline void put_scalar_f32(buf *g, const char *name, float v)
{
    put_stored(g, name, 1, NULL, 0, &v, 4);
}

static inline maker maker_new(int64_t opset)
{
    maker m = {new_buf(), new_buf()};
    buf o = new_buf();

    put_int(&m.model, 1, 8);
    put_text(&o, 1, "");
    put_int(&o, 2, opset);
    put_message(&m.model, 8, &o);
    return m;
}

/* Writes bytes to a new file; the path is in `path`. */
static inline void write_bytes(char path[64], const void *p, size_t n)
{
    memcpy(path, "/tmp/hull_onnx_XXXXXX", 22);
    int fd = mkstemp(path);

    if (fd < 0 || write(fd, p, n) != (ssize_t)n)
        path[0] = 0;
    if (fd >= 0)
        close(fd);
}

static inline void maker_write(maker *m, char path[64])
{
    put_message(&m->model, 7, &m->graph);
    write_bytes(path, m->model.p, m->model.n);
    buf_fini(&m->model);
}

#endif
