/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * weights_open.c - tells by content what a file is and hands it to the reader.
 *
 *   u64 N <= 10^8, then blanks and '{'     safetensors
 *   blanks and '{'                         index.json of shards
 *   "PK\3\4"                               zip: torch.save, PT2, TorchScript
 *   torch's magic number, pickled          torch.save, legacy form
 *   otherwise, a ModelProto with a graph   ONNX (it has no magic)
 * Formats that are known but not read are named in the error.
 */
#include <string.h>

#include "weights/index.h"

#define HEAD_MAX 512
#define TAIL_MAX ((size_t)1 << 20)
#define SAFETENSORS_HEADER_MAX 100000000u

typedef enum kind {
    KIND_UNKNOWN,
    KIND_SAFETENSORS,
    KIND_SHARDS,
    KIND_ZIP,
    KIND_TORCH_LEGACY,
    KIND_ONNX
} kind;

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* First byte at or after `at` that is not blank; 0 at the end of the head. */
static uint8_t first_sign(const uint8_t *p, size_t n, size_t at)
{
    while (at < n && is_blank(p[at]))
        at++;
    return at < n ? p[at] : 0;
}

/* Names of formats that we know and do not read. */
static const char *foreign(const uint8_t *p, size_t n)
{
    static const struct {
        size_t at;
        const char *magic, *what;
    } table[] = {
        { 257, "ustar", "a tar file (torch.save of version 0.1)" },
        { 0, "PYTORCH1", "a preview form of torch.save" },
        { 0, "GGUF", "a GGUF file" },
        { 4, "TFL3", "a TensorFlow Lite model" },
        { 4, "ET12", "an ExecuTorch program" },
        { 0, "\x93NUMPY", "a NumPy array" },
        { 0, "\x89HDF\r\n", "an HDF5 file (Keras)" },
        { 0, "\x1f\x8b", "gzip-compressed" },
        { 0, "\x28\xb5\x2f\xfd", "zstd-compressed" },
        { 0, "version https://git-lfs", "a Git LFS pointer, not the file" },
    };

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        size_t len = strlen(table[i].magic);

        if (table[i].at + len <= n &&
            memcmp(p + table[i].at, table[i].magic, len) == 0)
            return table[i].what;
    }
    return NULL;
}

static kind detect(const uint8_t *p, size_t n, uint64_t size)
{
    uint64_t header;

    if (n >= 4 && memcmp(p, "PK\3\4", 4) == 0)
        return KIND_ZIP;
    if (torch_legacy_magic(p, n))
        return KIND_TORCH_LEGACY;
    if (n >= 8) {
        header = le_get(p, 8);
        if (header <= SAFETENSORS_HEADER_MAX && header <= size - 8 &&
            first_sign(p, n, 8) == '{')
            return KIND_SAFETENSORS;
    }
    if (first_sign(p, n, 0) == '{')
        return KIND_SHARDS;
    return KIND_UNKNOWN;
}

/* A file that no magic claims: the name decides what an error is about. */
static kind guess(const char *path, const uint8_t *p, size_t n)
{
    if (str_ends(str_of(path), ".safetensors"))
        return KIND_SAFETENSORS;
    if (str_ends(str_of(path), ".onnx"))
        return KIND_ONNX;
    /* ir_version is field 1; a producer may write the graph first. */
    if (n >= 2 && (p[0] == 0x08 || p[0] == 0x3a || p[0] == 0x12))
        return KIND_ONNX;
    return KIND_UNKNOWN;
}

static bool has_entry(const zip *z, const char *below_root)
{
    for (size_t i = 0; i < z->n; i++) {
        str rest, name = z->entries[i].name;

        if (str_starts(name, below_root))
            return true;
        str_split(name, '/', &rest);
        if (str_starts(rest, below_root))
            return true;
    }
    return false;
}

static hull_status fail_script(void)
{
    return fail(HULL_EUNSUPPORTED,
                "a TorchScript archive; save the state_dict() or export "
                "with torch.export");
}

/* TorchScript compresses its code, so its zip does not open: its directory,
 * at the end of the file, tells what it is. */
static hull_status open_zip(zip *z, const file *f)
{
    size_t n = (size_t)f->size, tail = n < TAIL_MAX ? n : TAIL_MAX;
    hull_status st = zip_open(z, (bytes){ f->p, n });

    if (st == HULL_EUNSUPPORTED &&
        memmem(f->p + n - tail, tail, "/constants.pkl", 14))
        return fail_script();
    return st;
}

static hull_status read_zip(weights *w, file *f, str key)
{
    zip z;
    bool pt2, script, torch;

    TRY(open_zip(&z, f));
    pt2 = has_entry(&z, "archive_format") || has_entry(&z, "models/") ||
          has_entry(&z, "serialized_exported_program.json");
    script = has_entry(&z, "constants.pkl") || has_entry(&z, "code/");
    torch = has_entry(&z, "data.pkl");
    zip_close(&z);
    if (pt2) {
        w->format = WEIGHTS_PT2;
        return pt2_data_read(w, f);
    }
    if (script)
        return fail_script();
    if (torch) {
        w->format = WEIGHTS_TORCH;
        return torch_read(w, f, key);
    }
    return fail(HULL_EUNSUPPORTED,
                "a zip without data.pkl or an exported program");
}

static hull_status read_kind(weights *w, kind k, file *f, str key)
{
    switch (k) {
    case KIND_SAFETENSORS:
        w->format = WEIGHTS_SAFETENSORS;
        return safetensors_read(w, f);
    case KIND_SHARDS:
        return shards_read(w, f->path);
    case KIND_ZIP:
        return read_zip(w, f, key);
    case KIND_TORCH_LEGACY:
        w->format = WEIGHTS_TORCH;
        return torch_read_legacy(w, f, key);
    case KIND_ONNX:
        w->format = WEIGHTS_ONNX;
        return onnx_data_read(w, f);
    case KIND_UNKNOWN:
        break;
    }
    return fail(HULL_EFORMAT,
                "neither safetensors, torch.save, ONNX nor torch.export");
}

static hull_status open_file(weights *w, file *f, str key)
{
    const uint8_t *head = f->p;
    size_t n = f->size < HEAD_MAX ? (size_t)f->size : HEAD_MAX;
    const char *other;
    kind k;

    other = foreign(head, n);
    if (other)
        return fail(HULL_EUNSUPPORTED, "this is %s, which is not read", other);
    k = detect(head, n, f->size);
    if (k == KIND_UNKNOWN)
        k = guess(f->path, head, n);
    if (key.n && k != KIND_ZIP && k != KIND_TORCH_LEGACY)
        return fail(HULL_EINVAL,
                    "key '%.*s' is for nested torch checkpoints only",
                    STR_ARG(key));
    return read_kind(w, k, f, key);
}

static hull_status set_text(char **to, str s)
{
    *to = mem_strndup(s.p, s.n);
    return *to ? HULL_OK : fail_oom(s.n + 1);
}

hull_status weights_leave_open(weights *w, const char *list)
{
    mem_free(w->open_choice);
    return set_text(&w->open_choice, str_of(list));
}

static hull_status fail_open(const weights *w)
{
    return fail(HULL_ENOTFOUND,
                "%s nests several dictionaries of tensors, checkpoint_key "
                "must name one of them: %s",
                w->title, w->open_choice);
}

hull_status weights_open(weights **out, const char *path,
                         const weights_options *options)
{
    static const weights_options defaults = { 0 };
    const weights_options *o = options ? options : &defaults;
    hull_status st = HULL_OK;
    file f = { .fd = -1 };
    weights *w = NULL;

    *out = NULL;
    TRY_OUT(file_map(&f, path));
    TRY_OUT(weights_new(&w, WEIGHTS_MEMORY));
    TRY_OUT(set_text(&w->title, str_of(path_base(path))));
    if (o->key.n)
        TRY_OUT(set_text(&w->key, o->key));
    TRY_OUT(note_path(open_file(w, &f, o->key), path));
    if (w->open_choice && !o->open)
        TRY_OUT(fail_open(w));
    weights_relabel(w);
    *out = w;
    w = NULL;
out:
    weights_unref(w);
    file_close(&f);
    return st;
}

hull_status weights_choose(weights **out, weights *w, str key)
{
    weights_options o = { .key = key };
    hull_status st;

    *out = NULL;
    if (!w || (!key.n && !w->open_choice) ||
        (key.n && w->key && str_eq(key, str_of(w->key)))) {
        *out = weights_ref(w);
        return HULL_OK;
    }
    if (!key.n)
        return fail_open(w);
    if (w->format != WEIGHTS_TORCH || w->n_files != 1)
        return fail(HULL_EINVAL,
                    "checkpoint_key '%.*s' is for a nested torch checkpoint, "
                    "this is %s", STR_ARG(key), w->label);
    TRY(weights_unchanged(w));
    TRY(weights_open(out, w->files[0].path, &o));
    st = weights_unchanged(w);
    if (st != HULL_OK) {
        weights_unref(*out);
        *out = NULL;
    }
    return st;
}
