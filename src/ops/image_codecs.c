/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * image_codecs.c - JPEG, PNG, WebP, TIFF and JPEG 2000 by their libraries.
 * Sizes are checked before memory is taken, warnings count as damage, nothing
 * is printed, and no state is shared between calls.
 */
#include "ops/image.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>

/* What a library has read of the file. */
typedef struct reader {
    bytes b;
    size_t at;
} reader;

static size_t take(reader *r, void *to, size_t n)
{
    size_t left = r->at < r->b.n ? r->b.n - r->at : 0;

    n = n < left ? n : left;
    if (n > 0)
        memcpy(to, r->b.p + r->at, n);
    r->at += n;
    return n;
}

static bool finish(bool ok, image *m)
{
    if (!ok)
        image_fini(m);
    return ok;
}

/* ---- JPEG ---------------------------------------------------------------- */

#define JPEG_SCANS_MAX 256 /* of a progressive one: each costs a whole pass */

typedef struct jpeg {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
} jpeg;

static void jpeg_stop(j_common_ptr c)
{
    longjmp(((jpeg *)c->client_data)->back, 1);
}

static void jpeg_quiet(j_common_ptr c)
{
    (void)c;
}

static void jpeg_step(j_common_ptr c)
{
    if (((j_decompress_ptr)c)->input_scan_number > JPEG_SCANS_MAX)
        jpeg_stop(c);
}

/* May be left by longjmp: everything is behind j and out. */
static bool jpeg_read(jpeg *j, image *out, bytes b)
{
    if (setjmp(j->back) != 0)
        return false;
    jpeg_mem_src(&j->d, b.p, b.n);
    if (jpeg_read_header(&j->d, TRUE) != JPEG_HEADER_OK ||
        !image_new(out, j->d.image_width, j->d.image_height))
        return false;
    j->d.out_color_space = JCS_RGB;
    if (!jpeg_start_decompress(&j->d) || j->d.output_components != 3)
        return false;
    while (j->d.output_scanline < j->d.output_height) {
        JSAMPROW row = out->p + (size_t)3 * (size_t)out->w *
                                    j->d.output_scanline;

        if (jpeg_read_scanlines(&j->d, &row, 1) != 1)
            return false;
    }
    return jpeg_finish_decompress(&j->d) && j->errors.num_warnings == 0;
}

bool image_jpeg(image *out, bytes b)
{
    jpeg *j = mem_calloc(1, sizeof *j);
    bool ok = false;

    *out = (image){0};
    if (j == NULL)
        return false;
    j->d.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = jpeg_stop;
    j->errors.output_message = jpeg_quiet;
    j->d.client_data = j;
    if (setjmp(j->back) == 0) {
        jpeg_create_decompress(&j->d);
        j->d.client_data = j;
        j->progress.progress_monitor = jpeg_step;
        j->d.progress = &j->progress;
        ok = true;
    }
    ok = ok && jpeg_read(j, out, b);
    jpeg_destroy_decompress(&j->d);
    mem_free(j);
    return finish(ok, out);
}

/* ---- PNG ----------------------------------------------------------------- */

static void png_take(png_structp p, png_bytep to, size_t n)
{
    if (take(png_get_io_ptr(p), to, n) != n)
        png_error(p, "short");
}

static void png_stop(png_structp p, png_const_charp text)
{
    (void)text;
    png_longjmp(p, 1);
}

static void png_quiet(png_structp p, png_const_charp text)
{
    (void)p;
    (void)text;
}

static bool png_read(png_structp p, png_infop info, reader *r, image *out)
{
    if (setjmp(png_jmpbuf(p)) != 0)
        return false;
    png_set_read_fn(p, r, png_take);
    png_read_info(p, info);
    png_set_expand(p);
    png_set_scale_16(p);
    png_set_gray_to_rgb(p);
    png_set_strip_alpha(p);
    int passes = png_set_interlace_handling(p);
    png_read_update_info(p, info);
    if (!image_new(out, png_get_image_width(p, info),
                   png_get_image_height(p, info)) ||
        png_get_rowbytes(p, info) != 3 * (size_t)out->w)
        return false;
    for (; passes > 0; passes--)
        for (int64_t y = 0; y < out->h; y++)
            png_read_row(p, out->p + 3 * y * out->w, NULL);
    png_read_end(p, NULL);
    return true;
}

bool image_png(image *out, bytes b)
{
    png_structp p = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL,
                                           png_stop, png_quiet);
    png_infop info = p != NULL ? png_create_info_struct(p) : NULL;
    reader r = {b, 0};

    *out = (image){0};
    bool ok = info != NULL && png_read(p, info, &r, out);
    png_destroy_read_struct(&p, &info, NULL);
    return finish(ok, out);
}

/* ---- WebP ---------------------------------------------------------------- */

bool image_webp(image *out, bytes b)
{
    int w = 0, h = 0;

    *out = (image){0};
    if (!WebPGetInfo(b.p, b.n, &w, &h) || !image_new(out, w, h))
        return finish(false, out);
    return finish(WebPDecodeRGBInto(b.p, b.n, out->p,
                                    (size_t)(3 * out->w * out->h),
                                    3 * w) != NULL, out);
}

/* ---- TIFF ---------------------------------------------------------------- */

static tmsize_t tiff_take(thandle_t h, void *to, tmsize_t n)
{
    return n < 0 ? 0 : (tmsize_t)take(h, to, (size_t)n);
}

static tmsize_t tiff_put(thandle_t h, void *from, tmsize_t n)
{
    (void)h;
    (void)from;
    (void)n;
    return 0;
}

static toff_t tiff_seek(thandle_t h, toff_t to, int from)
{
    reader *r = h;
    uint64_t base = from == SEEK_CUR ? r->at : from == SEEK_END ? r->b.n : 0;

    r->at = (size_t)(base + to);
    return r->at;
}

static int tiff_close(thandle_t h)
{
    (void)h;
    return 0;
}

static toff_t tiff_size(thandle_t h)
{
    return ((reader *)h)->b.n;
}

static int tiff_quiet(TIFF *t, void *user, const char *module,
                      const char *format, va_list args)
{
    (void)t;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

/* Rows of 0xAABBGGRR from the top. */
static bool tiff_read(TIFF *t, image *out)
{
    uint32_t w = 0, h = 0;

    if (!TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &w) ||
        !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &h) || !image_new(out, w, h))
        return false;
    uint32_t *raster = mem_calloc((size_t)(out->w * out->h), sizeof *raster);
    bool ok = raster != NULL &&
              TIFFReadRGBAImageOriented(t, w, h, raster, ORIENTATION_TOPLEFT,
                                        1) == 1;
    for (int64_t i = 0; ok && i < out->w * out->h; i++) {
        out->p[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        out->p[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        out->p[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    mem_free(raster);
    return ok;
}

bool image_tiff(image *out, bytes b)
{
    TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
    reader r = {b, 0};
    bool ok = false;

    *out = (image){0};
    if (o == NULL)
        return false;
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, (tmsize_t)4 * IMAGE_PIXELS_MAX);
    TIFFOpenOptionsSetErrorHandlerExtR(o, tiff_quiet, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(o, tiff_quiet, NULL);
    TIFF *t = TIFFClientOpenExt("image", "rm", &r, tiff_take, tiff_put,
                                tiff_seek, tiff_close, tiff_size, NULL, NULL,
                                o);
    TIFFOpenOptionsFree(o);
    if (t != NULL) {
        ok = tiff_read(t, out);
        TIFFClose(t);
    }
    return finish(ok, out);
}

/* ---- JPEG 2000 ----------------------------------------------------------- */

static OPJ_SIZE_T opj_take(void *to, OPJ_SIZE_T n, void *user)
{
    size_t got = take(user, to, n);

    return got > 0 ? got : (OPJ_SIZE_T)-1;
}

static OPJ_OFF_T opj_skip(OPJ_OFF_T n, void *user)
{
    reader *r = user;
    size_t left = r->at < r->b.n ? r->b.n - r->at : 0;

    if (n < 0 || (uint64_t)n > left)
        return -1;
    r->at += (size_t)n;
    return n;
}

static OPJ_BOOL opj_seek(OPJ_OFF_T to, void *user)
{
    reader *r = user;

    if (to < 0 || (uint64_t)to > r->b.n)
        return OPJ_FALSE;
    r->at = (size_t)to;
    return OPJ_TRUE;
}

/* One sample as 8 bits. */
static uint8_t opj_sample(const opj_image_comp_t *c, int64_t i)
{
    int64_t v = c->data[i], top = ((int64_t)1 << c->prec) - 1;

    v += c->sgnd ? (int64_t)1 << (c->prec - 1) : 0;
    v = v < 0 ? 0 : v > top ? top : v;
    return (uint8_t)(c->prec == 8 ? v : (v * 255 + top / 2) / top);
}

/* Gray or RGB components of one size; an alpha behind them is left. */
static bool opj_pixels(const opj_image_t *m, image *out)
{
    uint32_t colors = m->numcomps < 3 ? 1 : 3;

    if (m->numcomps == 0 || m->color_space == OPJ_CLRSPC_SYCC ||
        m->color_space == OPJ_CLRSPC_EYCC || m->color_space == OPJ_CLRSPC_CMYK)
        return false;
    for (uint32_t k = 0; k < colors; k++) {
        const opj_image_comp_t *c = &m->comps[k];

        if (c->data == NULL || (int64_t)c->w != out->w ||
            (int64_t)c->h != out->h || c->prec < 1 || c->prec > 31)
            return false;
    }
    for (int64_t i = 0; i < out->w * out->h; i++)
        for (uint32_t k = 0; k < 3; k++)
            out->p[3 * i + k] = opj_sample(&m->comps[colors == 1 ? 0 : k], i);
    return true;
}

static bool opj_read(opj_codec_t *codec, opj_stream_t *s, image *out)
{
    opj_dparameters_t options;
    opj_image_t *m = NULL;

    opj_set_default_decoder_parameters(&options);
    bool ok = opj_setup_decoder(codec, &options) &&
              opj_read_header(s, codec, &m) && m != NULL &&
              m->numcomps <= 8 && m->x1 > m->x0 &&
              m->y1 > m->y0 &&
              image_new(out, m->x1 - m->x0, m->y1 - m->y0) &&
              opj_decode(codec, s, m) && opj_end_decompress(codec, s) &&
              opj_pixels(m, out);
    if (m != NULL)
        opj_image_destroy(m);
    return ok;
}

bool image_jpeg2000(image *out, bytes b)
{
    bool raw = b.n > 0 && b.p[0] == 0xff; /* no boxes around it */
    opj_codec_t *codec = opj_create_decompress(raw ? OPJ_CODEC_J2K
                                                   : OPJ_CODEC_JP2);
    opj_stream_t *s = opj_stream_default_create(OPJ_TRUE);
    reader r = {b, 0};
    bool ok = false;

    *out = (image){0};
    if (codec != NULL && s != NULL) {
        opj_stream_set_user_data(s, &r, NULL);
        opj_stream_set_user_data_length(s, b.n);
        opj_stream_set_read_function(s, opj_take);
        opj_stream_set_skip_function(s, opj_skip);
        opj_stream_set_seek_function(s, opj_seek);
        ok = opj_read(codec, s, out);
    }
    if (s != NULL)
        opj_stream_destroy(s);
    if (codec != NULL)
        opj_destroy_codec(codec);
    return finish(ok, out);
}
