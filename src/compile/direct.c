/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * direct.c - direct mode of the cache: the plan of a model file whose structure
 * was compiled before, without import and passes.
 *
 *   base     := "hull-direct 1" "sources" "format" "skeleton" "names"
 *               ("backend" NAME TARGET)* (OPTION "=" VALUE)*   a line each
 *   manifest := entries under "hull-manifest 1" "set" N base, N = 0, 1 ...:
 *               a line of (FILE ":" OFF ":" LEN " ")*
 *   plan     := entry under "hull-plan 1" base ("read" FILE OFF LEN DIGEST)*
 *
 * An import is a function of the skeleton, the names of a checkpoint and the
 * bytes that it reads. A manifest says which places imports under one base
 * read, a set per entry, so that no entry is ever changed; what these places
 * hold now is in the plan's key. So a manifest cannot lead to a wrong plan,
 * only to none.
 */
#include <inttypes.h>
#include <string.h>

#include "compile/plan_file.h"

#define KEY_MAX ((size_t)1 << 22)
/* Imports read small tensors; a plan that depends on more is not kept. */
#define PLACES_MAX 16384
#define PLACES_BYTES_MAX ((uint64_t)64 << 20)
/* Sets of places under one base: values steer what is read next. */
#define SETS_MAX 8

/* ---- keys ---------------------------------------------------------------- */

static void put_names(buf *out, const weights *checkpoint)
{
    char hex[DIGEST_HEX_SIZE] = "none";
    digester d;
    digest all;

    if (checkpoint != NULL) {
        digest_begin(&d);
        for (size_t i = 0; i < weights_count(checkpoint); i++) {
            str name = weights_at(checkpoint, i)->name;
            uint64_t n = name.n;

            digest_update(&d, &n, sizeof n);
            digest_update(&d, name.p, name.n);
        }
        digest_end(&d, &all);
        digest_hex(&all, hex);
    }
    buf_printf(out, "names %s\n", hex);
}

static hull_status put_devices(buf *out, const devices *ds)
{
    for (uint32_t i = 0; i < ds->n; i++) {
        hull_status st;
        buf target;

        st = device_target(&target, ds->d[i]);
        if (st == HULL_OK)
            buf_printf(out, "backend %s ", ds->d[i]->be->name);
        buf_quoted(out, buf_view(&target));
        buf_putc(out, '\n');
        buf_fini(&target);
        TRY(st);
    }
    return buf_status(out);
}

static hull_status make_key(direct *d, const weights *native,
                            const weights *checkpoint)
{
    char hex[DIGEST_HEX_SIZE];

    digest_hex(&d->skeleton, hex);
    buf_printf(&d->key, "hull-direct 1\nsources " HULL_PLAN_SOURCES
               "\nformat %d\nskeleton %s\n", (int)weights_kind(native), hex);
    put_names(&d->key, checkpoint);
    TRY(put_devices(&d->key, d->ds));
    options_plan_text(&d->key, d->ds->options);
    return buf_status(&d->key);
}

static hull_status manifest_key(cache_key *out, const direct *d, uint32_t set)
{
    hull_status st;
    buf b;

    buf_init(&b, KEY_MAX);
    buf_printf(&b, "hull-manifest 1\nset %u\n", set);
    buf_str(&b, buf_view(&d->key));
    st = buf_status(&b);
    if (st == HULL_OK)
        st = cache_key_text(out, buf_view(&b));
    buf_fini(&b);
    return st;
}

/* The key of the plan of an import that read these places. */
static hull_status plan_key(cache_key *out, const direct *d,
                            const weight_place *places, size_t n)
{
    hull_status st;
    buf b;

    buf_init(&b, KEY_MAX);
    buf_puts(&b, "hull-plan 1\n");
    buf_str(&b, buf_view(&d->key));
    for (size_t i = 0; i < n; i++) {
        char hex[DIGEST_HEX_SIZE];

        digest_hex(&places[i].bytes, hex);
        buf_printf(&b, "read %u %" PRIu64 " %" PRIu64 " %s\n",
                   places[i].file, places[i].off, places[i].len, hex);
    }
    st = buf_status(&b);
    if (st == HULL_OK)
        st = cache_key_text(out, buf_view(&b));
    buf_fini(&b);
    return st;
}

/* ---- the manifest -------------------------------------------------------- */

static void put_places(buf *out, const weight_reads *r)
{
    for (size_t i = 0; i < r->n; i++)
        buf_printf(out, "%u:%" PRIu64 ":%" PRIu64 " ", r->places[i].file,
                   r->places[i].off, r->places[i].len);
    buf_putc(out, '\n');
}

static bool parse_place(weight_place *out, str text)
{
    str off, len;
    uint64_t number;
    str first = str_split(text, ':', &off);

    off = str_split(off, ':', &len);
    if (!str_to_u64(&number, first) || number > UINT32_MAX ||
        !str_to_u64(&out->off, off) || !str_to_u64(&out->len, len))
        return false;
    out->file = (uint32_t)number;
    return true;
}

/* One line's places as they are in the model file now; false: it does not have
 * them. */
static bool read_places(weight_place *places, size_t *out_n, str line,
                        const weights *native)
{
    uint64_t total = 0;

    *out_n = 0;
    while (line.n > 0) {
        weight_place *p = &places[*out_n];

        if (*out_n == PLACES_MAX ||
            !parse_place(p, str_split(line, ' ', &line)))
            return false;
        if (!add_u64(&total, total, p->len) || total > PLACES_BYTES_MAX ||
            weight_place_read(p, native) != HULL_OK)
            return false;
        ++*out_n;
    }
    return true;
}

/* ---- tensors of inner graphs --------------------------------------------- */

/* Lines "t" or "s", inline, OFF, LEN, NAME: those that are holes' values, which
 * an import adds to the model file's index. */
static hull_status put_late(buf *out, const direct *d, const weights *native,
                            str hole)
{
    const weight_entry *e = weights_find(native, hole);
    const weight_reads *r = &d->reads;
    size_t number, i = 0;

    if (e == NULL)
        return fail(HULL_EUNSUPPORTED, "'%.*s' is not in the model file",
                    STR_ARG(hole));
    number = (size_t)(e - weights_at(native, 0));
    if (number < r->n_entries)
        return HULL_OK;
    while (i < r->n_late && r->late[i].entry != number)
        i++;
    if (i == r->n_late)
        return fail(HULL_EUNSUPPORTED, "'%.*s' has no place in the model file",
                    STR_ARG(hole));
    buf_printf(out, "%c %d %" PRIu64 " %" PRIu64 " ",
               r->late[i].sparse ? 's' : 't', (int)e->inline_value,
               r->late[i].off, r->late[i].len);
    buf_str(out, hole);
    buf_putc(out, '\n');
    return buf_status(out);
}

static hull_status add_late(weights *native, str line)
{
    str rest, kind = str_split(line, ' ', &rest);
    str is_inline = str_split(rest, ' ', &rest);
    str off = str_split(rest, ' ', &rest);
    str len = str_split(rest, ' ', &rest);
    weight_late late = {.sparse = str_is(kind, "s")};

    if ((!late.sparse && !str_is(kind, "t")) ||
        (!str_is(is_inline, "0") && !str_is(is_inline, "1")) ||
        !str_to_u64(&late.off, off) || !str_to_u64(&late.len, len))
        return fail(HULL_EFORMAT, "section 'late' has a line '%.*s'",
                    STR_ARG(line));
    return weights_add_late(native, rest, &late, str_is(is_inline, "1"));
}

static hull_status add_all_late(weights *native, container *c)
{
    bytes b;
    str rest;

    TRY(container_get(c, "late", MODULE_TEXT_MAX, &b));
    rest = (str){(const char *)b.p, b.n};
    while (rest.n > 0)
        TRY(add_late(native, str_split(rest, '\n', &rest)));
    return HULL_OK;
}

/* ---- find ---------------------------------------------------------------- */

static hull_status read_entry(plan **out, const direct *d, cache_entry *e,
                              weights *native)
{
    hull_status st;
    plan *p;

    TRY(add_all_late(native, e->c));
    TRY(plan_read_frame(&p, e->c, d->ds, d->c, native));
    st = weights_unchanged(native);
    if (st == HULL_OK)
        *out = p;
    else
        plan_free(p);
    return st;
}

/* The plan of an import that read what one line of the manifest says. */
static hull_status find_plan(plan **out, const direct *d, weights *native,
                             const weight_place *places, size_t n)
{
    cache_entry e = CACHE_ENTRY_NONE;
    cache_key k = {0};
    hull_status st = HULL_OK;
    bool hit;

    TRY_OUT(plan_key(&k, d, places, n));
    cache_get(&e, &hit, d->c, CACHE_PLAN, &k);
    if (hit)
        st = note(read_entry(out, d, &e, native), "plan of the cache");
    if (st == HULL_EFORMAT || st == HULL_EVERSION)
        cache_reject(d->c, &e, CACHE_PLAN, &k);
    cache_entry_close(&e);
out:
    cache_key_fini(&k);
    return st;
}

hull_status direct_try(plan **out, const direct *d, weights *native, str line)
{
    weight_place *places = mem_calloc(PLACES_MAX, sizeof *places);
    hull_status st = HULL_OK;
    size_t n;

    *out = NULL;
    if (places == NULL)
        return fail_oom(PLACES_MAX * sizeof *places);
    if (read_places(places, &n, line, native))
        st = find_plan(out, d, native, places, n);
    mem_free(places);
    return st;
}

/* Appends one set of places to the manifest, if there is one. */
static hull_status get_set(direct *d, uint32_t set, bool *out_hit)
{
    cache_entry e = CACHE_ENTRY_NONE;
    cache_key k = {0};
    hull_status st = HULL_OK;
    bytes line;

    *out_hit = false;
    TRY_OUT(manifest_key(&k, d, set));
    cache_get(&e, out_hit, d->c, CACHE_MANIFEST, &k);
    if (!*out_hit)
        goto out;
    TRY_OUT(container_get(e.c, "notes", NOTES_MAX, &line));
    buf_put(&d->manifest, line.p, line.n);
    st = buf_status(&d->manifest);
out:
    cache_entry_close(&e);
    cache_key_fini(&k);
    return st;
}

static hull_status search(plan **out, direct *d, weights *native)
{
    for (bool hit; d->n_sets < SETS_MAX && *out == NULL; d->n_sets++) {
        size_t before = d->manifest.n;
        str line, rest;

        TRY(get_set(d, d->n_sets, &hit));
        if (!hit)
            break;
        line = (str){d->manifest.p + before, d->manifest.n - before};
        TRY(direct_try(out, d, native, str_split(line, '\n', &rest)));
    }
    return HULL_OK;
}

static hull_status begin(direct *d, bool *out_whole, const weights *native,
                         const weights *checkpoint)
{
    TRY(weights_skeleton(out_whole, &d->skeleton, native,
                         weights_n_storages(native)));
    return *out_whole ? make_key(d, native, checkpoint) : HULL_OK;
}

void direct_find(plan **out, direct *d, weights **native,
                 const weights *checkpoint, const devices *ds, cache *c)
{
    size_t n = weights_count(*native);
    bool whole = false;
    hull_status st;

    *out = NULL;
    *d = (direct){.c = c, .ds = ds};
    buf_init(&d->key, KEY_MAX);
    buf_init(&d->manifest, NOTES_MAX);
    if (c == NULL || !option_on(ds->options, OPT_cache_direct)) {
        d->c = NULL;
        return;
    }
    st = begin(d, &whole, *native, checkpoint);
    if (st == HULL_OK && whole)
        st = search(out, d, *native);
    if (st != HULL_OK) {
        log_info("cache", "no direct hit: %s", error_text());
        error_clear(); /* the import tells what is wrong with the file */
    }
    if (!whole || buf_status(&d->key) != HULL_OK)
        d->c = NULL;
    else
        cache_count_direct(c, *out != NULL);
    if (*out == NULL && weights_count(*native) != n) {
        weights_unref(*native);
        *native = NULL;
    }
}

void direct_watch(direct *d, weights *native)
{
    if (d->c != NULL)
        weights_watch(native, &d->reads);
}

void direct_unwatch(direct *d, weights *native)
{
    if (d->c != NULL)
        weights_unwatch(native);
}

void direct_end(direct *d)
{
    buf_fini(&d->key);
    buf_fini(&d->manifest);
    weight_reads_fini(&d->reads);
}

/* ---- put ----------------------------------------------------------------- */

/* Do texts survive as JSON? */
static bool are_texts(const str *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!str_valid_utf8(s[i]) ||
            (s[i].n > 0 && memchr(s[i].p, 0, s[i].n) != NULL))
            return false;
    return true;
}

static bool all_texts(const plan *p)
{
    bool good = are_texts(p->inputs, p->main->body->n_params) &&
                are_texts(p->outputs, p->main->body->n_results) &&
                are_texts(p->unread, p->n_unread) &&
                are_texts(&p->producer, 1);

    for (uint32_t i = 0; i < p->n_holes; i++)
        good = good && are_texts(&p->holes[i].name, 1) &&
               are_texts(p->holes[i].names, p->holes[i].n_names);
    for (uint32_t i = 0; i < p->n_literals; i++)
        good = good && are_texts(&p->literals[i].name, 1);
    for (uint32_t i = 0; i < p->n_fallbacks; i++)
        good = good && are_texts(&p->fallbacks[i].node, 1) &&
               are_texts(&p->fallbacks[i].op, 1) &&
               are_texts(&p->fallbacks[i].reason, 1);
    return good;
}

/* What was read is what the skeleton and the places say, now too. */
static hull_status check_reads(const direct *d, const weights *native)
{
    const weight_reads *r = &d->reads;
    uint64_t total = 0;
    bool whole;
    digest now;

    if (r->failed)
        return fail(HULL_EUNSUPPORTED, "not all reads are known");
    for (size_t i = 0; i < r->n; i++)
        if (!add_u64(&total, total, r->places[i].len))
            total = UINT64_MAX;
    if (r->n > PLACES_MAX || total > PLACES_BYTES_MAX)
        return fail(HULL_EUNSUPPORTED, "the import read %zu places of %" PRIu64
                    " bytes, at most %d of %" PRIu64 " are kept", r->n, total,
                    PLACES_MAX, PLACES_BYTES_MAX);
    TRY(weights_unchanged(native));
    TRY(weights_skeleton(&whole, &now, native, r->n_storages));
    if (!whole || !digest_eq(&now, &d->skeleton))
        return fail(HULL_EUNSUPPORTED, "the model file changed, or has values "
                    "out of other files");
    return HULL_OK;
}

static hull_status put_plan(const direct *d, const weights *native,
                            const plan *p)
{
    container_writer *w = NULL;
    hull_status st = HULL_OK;
    cache_key k = {0};
    buf late;

    buf_init(&late, MODULE_TEXT_MAX);
    for (uint32_t i = 0; i < p->n_holes; i++)
        TRY_OUT(put_late(&late, d, native, p->holes[i].name));
    TRY_OUT(plan_key(&k, d, d->reads.places, d->reads.n));
    TRY_OUT(container_writer_new(&w, CONTAINER_PLAN));
    TRY_OUT(container_add(w, "key", k.preimage.p, k.preimage.n));
    TRY_OUT(container_add(w, "late", late.p, late.n));
    TRY_OUT(plan_write_frame(w, p));
    cache_put(d->c, CACHE_PLAN, &k, w);
out:
    container_writer_free(w);
    cache_key_fini(&k);
    buf_fini(&late);
    return st;
}

/* Is the line one of the manifest's? */
static bool is_listed(const direct *d, str line)
{
    str rest = buf_view(&d->manifest);

    line.n--; /* its end */
    while (rest.n > 0)
        if (str_eq(str_split(rest, '\n', &rest), line))
            return true;
    return false;
}

static hull_status put_manifest(const direct *d)
{
    container_writer *w = NULL;
    hull_status st = HULL_OK;
    cache_key k = {0};
    buf line;

    buf_init(&line, NOTES_MAX);
    put_places(&line, &d->reads);
    TRY_OUT(buf_status(&line));
    if (is_listed(d, buf_view(&line)))
        goto out;
    TRY_OUT(manifest_key(&k, d, d->n_sets));
    TRY_OUT(container_writer_new(&w, CONTAINER_NOTES));
    TRY_OUT(container_add(w, "key", k.preimage.p, k.preimage.n));
    TRY_OUT(container_add(w, "notes", line.p, line.n));
    cache_put(d->c, CACHE_MANIFEST, &k, w);
out:
    container_writer_free(w);
    cache_key_fini(&k);
    buf_fini(&line);
    return st;
}

static hull_status store(const direct *d, const weights *native,
                         const plan *p)
{
    if (!all_texts(p))
        return fail(HULL_EUNSUPPORTED, "it has names that are no UTF-8");
    TRY(check_reads(d, native));
    if (d->n_sets == SETS_MAX)
        return fail(HULL_EUNSUPPORTED, "%u sets of places are kept", d->n_sets);
    TRY(put_plan(d, native, p));
    return put_manifest(d);
}

void direct_put(direct *d, const weights *native, const plan *p)
{
    if (d->c == NULL || store(d, native, p) == HULL_OK)
        return;
    log_info("cache", "%s has no plan in the cache: %s",
             weights_label(native), error_text());
    error_clear(); /* the module is as good without */
}
