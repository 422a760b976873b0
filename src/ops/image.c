/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * image.c - decode_image: the bytes of a file to pixels [h,w,channels]. As
 * ONNX has it, what cannot be decoded gives an empty picture. Only a format
 * whose library the build lacks is an error.
 */
#include "ops/image.h"

#include "ops/box.h"
#include "ops/data.h"

#include <inttypes.h>
#include <string.h>

#ifdef HULL_IMAGES
#define CODEC(f) f
#else
#define CODEC(f) NULL
#endif

static const image_format formats[] = {
    {"BMP", "", image_bmp, 0, 2, "BM"},
    {"PNM", "", image_pnm, 0, 2, "P1"},
    {"PNM", "", image_pnm, 0, 2, "P2"},
    {"PNM", "", image_pnm, 0, 2, "P3"},
    {"PNM", "", image_pnm, 0, 2, "P4"},
    {"PNM", "", image_pnm, 0, 2, "P5"},
    {"PNM", "", image_pnm, 0, 2, "P6"},
    {"JPEG", "libjpeg62-turbo-dev", CODEC(image_jpeg), 0, 3, "\xff\xd8\xff"},
    {"PNG", "libpng-dev", CODEC(image_png), 0, 8, "\x89PNG\r\n\x1a\n"},
    {"WebP", "libwebp-dev", CODEC(image_webp), 8, 4, "WEBP"},
    {"TIFF", "libtiff-dev", CODEC(image_tiff), 0, 4, "II*\0"},
    {"TIFF", "libtiff-dev", CODEC(image_tiff), 0, 4, "MM\0*"},
    {"JPEG 2000", "libopenjp2-7-dev", CODEC(image_jpeg2000), 4, 4, "jP  "},
    {"JPEG 2000", "libopenjp2-7-dev", CODEC(image_jpeg2000), 0, 4,
     "\xff\x4f\xff\x51"},
};

bool image_new(image *out, int64_t w, int64_t h)
{
    *out = (image){.w = w, .h = h};
    if (w < 1 || h < 1 || w > IMAGE_PIXELS_MAX || h > IMAGE_PIXELS_MAX / w)
        return false;
    out->p = mem_calloc((size_t)(w * h), 3);
    return out->p != NULL;
}

void image_fini(image *m)
{
    mem_free(m->p);
    *m = (image){0};
}

static hull_status channels_of(const node *n, int64_t *out)
{
    str order = attr_str(n, "order");
    char what[128];

    *out = str_is(order, "gray") ? 1 : 3;
    if (*out == 3 && !str_is(order, "rgb") && !str_is(order, "bgr"))
        return fail(HULL_EINVAL, "%s: order '%.*s', want rgb, bgr or gray",
                    node_what(n, what), STR_ARG(order));
    return HULL_OK;
}

hull_status image_infer(graph *g, node *n)
{
    const type *x = NULL;
    char what[128];
    int64_t channels = 0;

    TRY(infer_tensor(&x, g, n, 0));
    TRY(channels_of(n, &channels));
    if (x->dtype != HULL_U8 || x->rank != 1)
        return fail(HULL_ESHAPE, "%s: a file of %s of rank %" PRIu32
                    ", want u8 of rank 1", node_what(n, what),
                    hull_dtype_name(x->dtype), x->rank);
    return infer_out(g, n, 0, HULL_U8,
                     (dim[]){ DIM_UNKNOWN, DIM_UNKNOWN, channels }, 3);
}

const image_format *image_format_of(bytes b)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const image_format *f = &formats[i];

        if (b.n >= f->at + f->n && memcmp(b.p + f->at, f->magic, f->n) == 0)
            return f;
    }
    return NULL;
}

/* m is empty when nothing can decode b. */
static hull_status decode(image *m, const node *n, bytes b)
{
    const image_format *f = image_format_of(b);
    char what[128];

    *m = (image){0};
    if (f != NULL && f->decode == NULL)
        return fail(HULL_EUNSUPPORTED, "%s: a %s picture, but this build "
                    "of Hull has no decoder for it (Debian: %s, CMake: "
                    "HULL_IMAGES)", node_what(n, what), f->name, f->package);
    if (f != NULL && !f->decode(m, b))
        *m = (image){0};
    return HULL_OK;
}

/* Luma in 16 bits of fraction: 0.299 r + 0.587 g + 0.114 b. */
static void put_pixel(uint8_t *out, const uint8_t *rgb, str order)
{
    if (str_is(order, "gray")) {
        out[0] = (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u +
                            rgb[2] * 7471u + 0x8000u) >> 16);
        return;
    }
    bool swap = str_is(order, "bgr");
    out[0] = rgb[swap ? 2 : 0];
    out[1] = rgb[1];
    out[2] = rgb[swap ? 0 : 2];
}

hull_status image_eval(eval_ctx *cx, const node *n, const tensor *in,
                       tensor *out)
{
    const tensor *x = &cx->boxes[0]->t;
    str order = attr_str(n, "order");
    int64_t channels = 0;
    image m;

    (void)in;
    (void)out;
    TRY(channels_of(n, &channels));
    TRY(decode(&m, n, (bytes){x->data, (size_t)tensor_numel(x)}));
    cx->made[0] = box_new(HULL_U8, (int64_t[]){ m.h, m.w, channels }, 3);
    if (cx->made[0] == NULL) {
        image_fini(&m);
        return HULL_ENOMEM;
    }
    uint8_t *to = cx->made[0]->t.data;
    for (int64_t i = 0; i < m.w * m.h; i++)
        put_pixel(to + i * channels, m.p + 3 * i, order);
    image_fini(&m);
    return HULL_OK;
}
