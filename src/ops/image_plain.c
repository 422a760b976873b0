/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * image_plain.c - BMP (1 to 32 bits a pixel, palettes, bit fields, not the
 * run-length ones) and PNM (P1 to P6). Every read is inside the file.
 */
#include "ops/image.h"

#include <string.h>

static uint32_t le16(bytes b, size_t at)
{
    return at + 2 <= b.n ? (uint32_t)(b.p[at] | b.p[at + 1] << 8) : 0;
}

static uint32_t le32(bytes b, size_t at)
{
    return le16(b, at) | le16(b, at + 2) << 16;
}

/* ---- BMP ----------------------------------------------------------------- */

typedef struct bmp {
    bytes b;
    int64_t w, h;
    bool top_down;
    uint32_t bits, n_colors, mask[3];
    size_t palette, color_size, pixels, row;
} bmp;

/* The field of a pixel as 8 bits. */
static uint8_t field(uint32_t pixel, uint32_t mask)
{
    uint32_t shift = 0;

    if (mask == 0)
        return 0;
    while ((mask >> shift & 1) == 0)
        shift++;
    uint64_t top = mask >> shift, v = (pixel & mask) >> shift;
    return (uint8_t)((v * 255 + top / 2) / top);
}

static bool bmp_masks(bmp *m, size_t header, uint32_t compression)
{
    static const uint32_t m16[3] = {0x7c00, 0x3e0, 0x1f};
    static const uint32_t m32[3] = {0xff0000, 0xff00, 0xff};

    memcpy(m->mask, m->bits == 16 ? m16 : m32, sizeof m->mask);
    if (compression == 0)
        return true;
    if (compression != 3 || (m->bits != 16 && m->bits != 32))
        return false;
    for (size_t i = 0; i < 3; i++)
        m->mask[i] = le32(m->b, 14 + 40 + 4 * i);
    if (header == 40)
        m->palette += 12;
    return true;
}

static bool bmp_header(bmp *m)
{
    size_t header = le32(m->b, 14);
    bool old = header == 12;
    uint32_t compression = old ? 0 : le32(m->b, 30);

    if (m->b.n < 26 || (!old && (header < 40 || m->b.n < 54)) || header > 4096)
        return false;
    m->w = old ? (int32_t)le16(m->b, 18) : (int32_t)le32(m->b, 18);
    m->h = old ? (int32_t)le16(m->b, 20) : (int32_t)le32(m->b, 22);
    m->bits = le16(m->b, old ? 24 : 28);
    m->top_down = m->h < 0;
    m->h = m->h < 0 ? -m->h : m->h;
    m->pixels = le32(m->b, 10);
    m->palette = 14 + header;
    m->color_size = old ? 3 : 4;
    if (m->bits != 1 && m->bits != 4 && m->bits != 8 && m->bits != 16 &&
        m->bits != 24 && m->bits != 32)
        return false;
    if (!bmp_masks(m, header, compression))
        return false;
    m->n_colors = old ? 0 : le32(m->b, 46);
    if (m->bits <= 8 && (m->n_colors == 0 || m->n_colors > 1u << m->bits))
        m->n_colors = 1u << m->bits;
    if (m->w < 1 || m->h < 1 || m->w > IMAGE_PIXELS_MAX)
        return false;
    m->row = ((size_t)m->w * m->bits + 31) / 32 * 4;
    return m->pixels <= m->b.n &&
           (uint64_t)m->h <= (m->b.n - m->pixels) / m->row &&
           (m->bits > 8 || m->palette + m->n_colors * m->color_size <= m->b.n);
}

static void bmp_pixel(const bmp *m, size_t row, int64_t x, uint8_t *out)
{
    size_t bit = (size_t)x * m->bits, at = row + bit / 8;
    const uint8_t *p = m->b.p + at;

    if (m->bits == 24) {
        out[0] = p[2];
        out[1] = p[1];
        out[2] = p[0];
    } else if (m->bits > 8) {
        uint32_t v = m->bits == 16 ? le16(m->b, at) : le32(m->b, at);

        for (int i = 0; i < 3; i++)
            out[i] = field(v, m->mask[i]);
    } else {
        uint32_t k = *p >> (8 - m->bits - bit % 8) & ((1u << m->bits) - 1);
        const uint8_t *c = m->b.p + m->palette + k * m->color_size;

        for (int i = 0; k < m->n_colors && i < 3; i++)
            out[i] = c[2 - i];
    }
}

bool image_bmp(image *out, bytes b)
{
    bmp m = {.b = b};

    *out = (image){0};
    if (!bmp_header(&m) || !image_new(out, m.w, m.h))
        return false;
    for (int64_t y = 0; y < m.h; y++) {
        int64_t from = m.top_down ? y : m.h - 1 - y;
        size_t row = m.pixels + (size_t)from * m.row;

        for (int64_t x = 0; x < m.w; x++)
            bmp_pixel(&m, row, x, out->p + 3 * (y * m.w + x));
    }
    return true;
}

/* ---- PNM ----------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A decimal number after blanks and comments; -1: none, or too large. */
static int64_t pnm_number(bytes b, size_t *at)
{
    int64_t v = -1;

    for (; *at < b.n && (is_blank(b.p[*at]) || b.p[*at] == '#'); (*at)++)
        if (b.p[*at] == '#')
            while (*at + 1 < b.n && b.p[*at + 1] != '\n')
                (*at)++;
    for (; *at < b.n && b.p[*at] >= '0' && b.p[*at] <= '9'; (*at)++) {
        v = (v < 0 ? 0 : v) * 10 + (b.p[*at] - '0');
        if (v > INT32_MAX)
            return -1;
    }
    return v;
}

/* One digit of P1, where no blank is needed between two. */
static int64_t pnm_bit(bytes b, size_t *at)
{
    while (*at < b.n && is_blank(b.p[*at]))
        (*at)++;
    if (*at == b.n || (b.p[*at] != '0' && b.p[*at] != '1'))
        return -1;
    return b.p[(*at)++] == '0';
}

typedef struct pnm {
    bytes b;
    int kind; /* 1 to 6 */
    size_t at;
    int64_t w, h, top;
} pnm;

static bool pnm_header(pnm *m)
{
    m->kind = m->b.p[1] - '0';
    m->at = 2;
    m->top = 1;
    m->w = pnm_number(m->b, &m->at);
    m->h = pnm_number(m->b, &m->at);
    if (m->kind != 1 && m->kind != 4)
        m->top = pnm_number(m->b, &m->at);
    if (m->w < 1 || m->h < 1 || m->top < 1 || m->top > 65535 ||
        m->h > IMAGE_PIXELS_MAX / m->w)
        return false;
    if (m->kind < 4) /* at least one byte a sample */
        return (uint64_t)(m->w * m->h) <= m->b.n;
    m->at++; /* one blank ends the header */
    size_t row = (size_t)m->w;
    row = m->kind == 4 ? (row + 7) / 8
                       : row * (m->kind == 6 ? 3 : 1) * (m->top > 255 ? 2 : 1);
    return m->at <= m->b.n && (uint64_t)m->h <= (m->b.n - m->at) / row;
}

/* The next sample; x is the column. -1: the file ends or holds no number. */
static int64_t pnm_sample(pnm *m, int64_t x)
{
    int64_t v;

    switch (m->kind) {
    case 1:
        return pnm_bit(m->b, &m->at);
    case 4:
        v = (m->b.p[m->at] >> (7 - x % 8) & 1) == 0;
        m->at += x % 8 == 7 || x + 1 == m->w;
        return v;
    case 5:
    case 6:
        v = m->b.p[m->at++];
        if (m->top > 255)
            v = v << 8 | m->b.p[m->at++];
        break;
    default:
        v = pnm_number(m->b, &m->at);
    }
    return v > m->top ? m->top : v;
}

bool image_pnm(image *out, bytes b)
{
    pnm m = {.b = b};

    *out = (image){0};
    if (b.n < 2 || !pnm_header(&m) || !image_new(out, m.w, m.h))
        return false;
    for (int64_t i = 0; i < m.w * m.h; i++) {
        for (int k = 0; k < 3; k++) {
            bool again = k > 0 && m.kind % 3 != 0; /* gray */
            int64_t v = again ? 0 : pnm_sample(&m, i % m.w);

            if (v < 0) {
                image_fini(out);
                return false;
            }
            v = again ? out->p[3 * i] : (v * 255 + m.top / 2) / m.top;
            out->p[3 * i + k] = (uint8_t)v;
        }
    }
    return true;
}
