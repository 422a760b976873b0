/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * image.h - pictures out of files in memory, which may be hostile. image.c
 * knows the formats by their first bytes and has the op; image_plain.c reads
 * BMP and PNM; image_codecs.c leaves the others to libraries, where the build
 * has them (HULL_IMAGES).
 */
#ifndef HULL_OPS_IMAGE_H
#define HULL_OPS_IMAGE_H

#include "base/base.h"

/* Pixels of one picture; more are refused. */
#define IMAGE_PIXELS_MAX ((int64_t)1 << 27)

/* Three bytes a pixel: red, green, blue. */
typedef struct image {
    uint8_t *p; /* mem_alloc */
    int64_t w, h;
} image;

/* Room for w x h pixels; false: too many, none, or no memory. */
bool image_new(image *out, int64_t w, int64_t h);
void image_fini(image *m);

/* A decoder gives false for what it cannot read; then it left no memory. */
typedef bool image_decoder(image *out, bytes b);
image_decoder image_bmp, image_pnm;
#ifdef HULL_IMAGES
image_decoder image_jpeg, image_png, image_webp, image_tiff, image_jpeg2000;
#endif

typedef struct image_format {
    const char *name, *package;
    image_decoder *decode; /* NULL: not in this build */
    size_t at, n;          /* of the magic */
    const char *magic;
} image_format;
/* What the first bytes of b say that it is; NULL: nothing that is known. */
const image_format *image_format_of(bytes b);

#endif
