/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * key.c - the recipe of a cache key, field by field, in one function:
 *
 *   preimage := KEY_FORMAT "\n"
 *               "backend " NAME "\n"
 *               "target " TEXT "\n"
 *               (KEY "=" VALUE "\n")*      every CODE option, table order
 *               "\n"
 *               canonical text of the block
 *   key      := BLAKE2b-256(preimage)
 *
 * Backend and target are one line each, so no text can pass for another field.
 */
#include "cache/cache.h"

static hull_status check_line(const char *what, str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ')
            return fail(HULL_EINVAL,
                        "%s has a control byte 0x%02x, wanted one line", what,
                        (unsigned)(unsigned char)s.p[i]);
    return HULL_OK;
}

static hull_status finish(cache_key *out, const char *what)
{
    hull_status st = note(buf_status(&out->preimage), "key of %s", what);

    if (st == HULL_OK)
        out->d = digest_of(out->preimage.p, out->preimage.n);
    else
        cache_key_fini(out);
    return st;
}

hull_status cache_key_make(cache_key *out, str backend, str target,
                           const options *o, str canonical_text)
{
    buf *b = &out->preimage;

    *out = (cache_key){0};
    TRY(check_line("backend", backend));
    TRY(check_line("target", target));
    buf_init(b, KEY_PREIMAGE_MAX);
    buf_puts(b, KEY_FORMAT "\nbackend ");
    buf_str(b, backend);
    buf_puts(b, "\ntarget ");
    buf_str(b, target);
    buf_putc(b, '\n');
    options_code_text(b, o);
    buf_putc(b, '\n');
    buf_str(b, canonical_text);
    return finish(out, "a block");
}

hull_status cache_key_text(cache_key *out, str text)
{
    *out = (cache_key){0};
    buf_init(&out->preimage, KEY_PREIMAGE_MAX);
    buf_str(&out->preimage, text);
    return finish(out, "a text");
}

void cache_key_fini(cache_key *k)
{
    if (k == NULL)
        return;
    buf_fini(&k->preimage);
    *k = (cache_key){0};
}
