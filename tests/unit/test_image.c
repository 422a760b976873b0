/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * Decoders of pictures: what they read, and every truncation and many damages
 * of each file, which must neither crash nor read outside.
 */
#include "unit.h"

#include <string.h>

#include "ops/image.h"
#ifdef HULL_IMAGES
#include "image_files.h"
#endif

/* A picture from memory of exactly its size. */
static bool decode(image_decoder *f, image *m, const uint8_t *p, size_t n)
{
    uint8_t *copy = mem_alloc(n ? n : 1);

    assert_non_null(copy);
    if (n)
        memcpy(copy, p, n);
    bool ok = f(m, (bytes){copy, n});
    mem_free(copy);
    if (!ok)
        assert_null(m->p);
    return ok;
}

static void want(image_decoder *f, const uint8_t *p, size_t n, int64_t w,
                 int64_t h, const uint8_t *rgb)
{
    image m;

    assert_true(decode(f, &m, p, n));
    assert_int_equal(m.w, w);
    assert_int_equal(m.h, h);
    assert_memory_equal(m.p, rgb, (size_t)(3 * w * h));
    image_fini(&m);
}

static void refuse(image_decoder *f, const uint8_t *p, size_t n)
{
    image m;

    assert_false(decode(f, &m, p, n));
}

/* From the magic on: decoders are called for files that have theirs. */
static void torture(image_decoder *f, const uint8_t *p, size_t n, size_t magic)
{
    static const uint8_t flips[] = {0x01, 0x80, 0xff, 0x10};
    uint8_t copy[512];
    image m;

    assert_true(n <= sizeof copy);
    for (size_t k = magic; k < n; k++)
        if (decode(f, &m, p, k))
            image_fini(&m);
    for (size_t i = magic; i < n; i++) {
        for (size_t k = 0; k < sizeof flips; k++) {
            memcpy(copy, p, n);
            copy[i] ^= flips[k];
            if (decode(f, &m, copy, n))
                image_fini(&m);
        }
    }
}

/* ---- PNM ----------------------------------------------------------------- */

static void pnm(const char *text, int64_t w, int64_t h, const uint8_t *rgb)
{
    want(image_pnm, (const uint8_t *)text, strlen(text), w, h, rgb);
    torture(image_pnm, (const uint8_t *)text, strlen(text), 2);
}

static void test_pnm(void **state)
{
    static const uint8_t bits[6] = {255, 255, 255, 0, 0, 0};
    static const uint8_t gray[6] = {0, 0, 0, 255, 255, 255};
    static const uint8_t half[6] = {128, 128, 128, 85, 85, 85};
    static const char *const bad[] = {
        "P1", "P1 2", "P1 0 1 ", "P1 2 1 2", "P2 2 1 0 1 1", "P2 2 1 65536 1 1",
        "P2 99999999999 1 1 1", "P3 65536 65536 255 1", "P5 2 1 255 a",
        "P6 2 1 255 abcde", "P4 9 1 a", "P2 -1 1 1 1", "P2 2 1 3 1 x"};

    (void)state;
    pnm("P1\n# a note\n2 1\n01", 2, 1, bits);
    pnm("P2 2 1 7\n0 9\n", 2, 1, gray); /* above the maximum */
    pnm("P2 2 1 6 3 2", 2, 1, half);
    pnm("P3 1 2 255 255 255 255 0 0 0", 1, 2, bits);
    pnm("P4 2 1 \x7f", 2, 1, bits);
    pnm("P5 2 1 255 \xff\x01", 2, 1,
        (const uint8_t[]){255, 255, 255, 1, 1, 1});
    pnm("P5 1 1 65535 \xff\xfe", 1, 1, bits);
    pnm("P6 1 1 255 abc", 1, 1, (const uint8_t *)"abc");
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        refuse(image_pnm, (const uint8_t *)bad[i], strlen(bad[i]));
}

/* ---- BMP ----------------------------------------------------------------- */

/* Header of 54 bytes, then 12 of masks or palette, then rows of 4 bytes. */
static size_t bmp(uint8_t *p, int32_t w, int32_t h, uint8_t depth,
                  uint8_t compression, uint8_t colors, const uint8_t *rows)
{
    static const uint32_t at = 54 + 12;
    size_t n = (size_t)(h < 0 ? -h : h) * 4;

    memset(p, 0, at);
    memcpy(p, "BM", 2);
    memcpy(p + 10, &at, 4);
    p[14] = 40;
    memcpy(p + 18, &w, 4);
    memcpy(p + 22, &h, 4);
    p[26] = 1;
    p[28] = depth;
    p[30] = compression;
    p[46] = colors;
    memcpy(p + at, rows, n);
    return at + n;
}

static void test_bmp(void **state)
{
    static const uint8_t rows[8] = {3, 2, 1, 0, 6, 5, 4, 0};
    static const uint8_t up[6] = {4, 5, 6, 1, 2, 3};
    static const uint8_t down[6] = {1, 2, 3, 4, 5, 6};
    static const uint8_t pixel16[4] = {0xe0, 0xff, 0x1f, 0};
    static const uint8_t wide16[6] = {255, 255, 0, 0, 0, 255};
    static const uint8_t pair[4] = {0x80, 0, 0, 0};
    uint8_t p[128];

    (void)state;
    size_t n = bmp(p, 1, 2, 24, 0, 0, rows);
    want(image_bmp, p, n, 1, 2, up);
    torture(image_bmp, p, n, 2);
    want(image_bmp, p, bmp(p, 1, -2, 24, 0, 0, rows), 1, 2, down);
    want(image_bmp, p, bmp(p, 1, 2, 32, 0, 0, rows), 1, 2, up);
    /* 5, 5, 5 bits: 0x7fe0 is yellow; the top one is not looked at */
    want(image_bmp, p, bmp(p, 2, 1, 16, 0, 0, pixel16), 2, 1, wide16);
    n = bmp(p, 1, 2, 32, 3, 0, rows);
    p[54] = 0xff; /* red is what blue was, there is no green */
    p[64] = 0xff;
    want(image_bmp, p, n, 1, 2, (const uint8_t[]){6, 0, 4, 3, 0, 1});
    torture(image_bmp, p, n, 2);
    n = bmp(p, 2, 1, 1, 0, 2, pair);
    memcpy(p + 54, "\x01\x02\x03\x00\x04\x05\x06", 7);
    want(image_bmp, p, n, 2, 1, (const uint8_t[]){6, 5, 4, 3, 2, 1});
    torture(image_bmp, p, n, 2);
    refuse(image_bmp, p, bmp(p, 2, 1, 8, 1, 2, pair)); /* run lengths */
    refuse(image_bmp, p, bmp(p, 2, 2, 24, 0, 0, rows) - 1);
    refuse(image_bmp, p, bmp(p, 0, 1, 24, 0, 0, rows));
    refuse(image_bmp, p, bmp(p, 2, 1, 2, 0, 0, rows));
    n = bmp(p, 1, 2, 24, 0, 0, rows);
    memset(p + 22, 0, 4);
    p[25] = 0x80; /* the height is INT32_MIN */
    refuse(image_bmp, p, n);
}

/* ---- libraries ----------------------------------------------------------- */

static void test_sizes(void **state)
{
    image m;

    (void)state;
    assert_false(image_new(&m, 0, 1));
    assert_false(image_new(&m, -1, -1));
    assert_false(image_new(&m, INT64_MAX, 2));
    assert_false(image_new(&m, IMAGE_PIXELS_MAX, 2));
    assert_true(image_new(&m, 2, 2));
    image_fini(&m);
    assert_null(m.p);
}

#ifdef HULL_IMAGES
static const uint8_t pixels[18] = {255, 0, 0, 0, 255, 0, 0, 0, 255,
                                   10, 20, 30, 200, 100, 50, 255, 255, 255};

static void test_libraries(void **state)
{
    static const uint8_t gray[18] = {0, 0, 0, 128, 128, 128, 255, 255, 255,
                                     1, 1, 1, 3, 3, 3, 5, 5, 5};
    static const struct {
        image_decoder *decode;
        const uint8_t *file;
        size_t n;
        const uint8_t *rgb;
    } cases[] = {
        {image_png, png_file, sizeof png_file, pixels},
        {image_png, png_gray_file, sizeof png_gray_file, gray},
        {image_webp, webp_file, sizeof webp_file, pixels},
        {image_tiff, tiff_file, sizeof tiff_file, pixels},
        {image_jpeg2000, jpeg2000_file, sizeof jpeg2000_file, pixels},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        want(cases[i].decode, cases[i].file, cases[i].n, 3, 2, cases[i].rgb);
        torture(cases[i].decode, cases[i].file, cases[i].n, 0);
    }
}

static void test_jpeg(void **state)
{
    static const int about[6] = {0, 50, 100, 150, 200, 250};
    image m;

    (void)state;
    assert_true(decode(image_jpeg, &m, jpeg_file, sizeof jpeg_file));
    assert_int_equal(m.w, 3);
    assert_int_equal(m.h, 2);
    for (int i = 0; i < 6; i++) {
        assert_true(m.p[3 * i] == m.p[3 * i + 1]);
        assert_true(m.p[3 * i] == m.p[3 * i + 2]);
        assert_in_range(m.p[3 * i] + 8, about[i], about[i] + 16);
    }
    image_fini(&m);
    torture(image_jpeg, jpeg_file, sizeof jpeg_file, 0);
    refuse(image_jpeg, jpeg_file, sizeof jpeg_file - 8); /* the data ends */
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pnm),
        cmocka_unit_test(test_bmp),
        cmocka_unit_test(test_sizes),
#ifdef HULL_IMAGES
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_jpeg),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
