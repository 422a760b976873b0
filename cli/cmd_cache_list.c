/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cmd_cache_list.c - `hull cache ls` and `show`: the entries of the folder,
 * and what is in one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cache/disk.h"
#include "cli/cmd_cache.h"

/* ---- all entries --------------------------------------------------------- */

typedef struct row {
    cache_item item;
    char *path;
} row;

typedef struct rows {
    row *p;
    size_t n, cap;
    int kind;        /* -1: all */
    const char *prefix; /* of the key in hex; NULL: all */
} rows;

static hull_status add_row(void *user, const cache_item *item)
{
    char hex[DIGEST_HEX_SIZE];
    rows *r = user;
    char *path;

    digest_hex(&item->key, hex);
    if ((r->kind >= 0 && (int)item->kind != r->kind) ||
        (r->prefix && strncmp(hex, r->prefix, strlen(r->prefix)) != 0))
        return HULL_OK;
    TRY(mem_grow(&r->p, &r->cap, r->n + 1, sizeof *r->p));
    path = mem_strndup(item->path, strlen(item->path));
    if (!path)
        return fail_oom(strlen(item->path));
    r->p[r->n] = (row){ *item, path };
    r->p[r->n++].item.path = path;
    return HULL_OK;
}

static void rows_fini(rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        mem_free(r->p[i].path);
    mem_free(r->p);
}

/* The last used first; equal times by key. */
static int later_first(const void *x, const void *y)
{
    const cache_item *a = &((const row *)x)->item;
    const cache_item *b = &((const row *)y)->item;

    if (a->used_ns != b->used_ns)
        return a->used_ns > b->used_ns ? -1 : 1;
    return memcmp(a->key.b, b->key.b, sizeof a->key.b);
}

static hull_status find_rows(rows *r, cache *k)
{
    TRY(cache_list(k, add_row, r));
    if (r->n > 0)
        qsort(r->p, r->n, sizeof *r->p, later_first);
    return HULL_OK;
}

static hull_status kind_of(int *out, const char *name)
{
    buf known;
    hull_status st;

    for (*out = 0; *out < CACHE_KINDS; ++*out)
        if (strcmp(cache_kind_name((cache_kind)*out), name) == 0)
            return HULL_OK;
    buf_init(&known, 4096);
    for (int i = 0; i < CACHE_KINDS; i++)
        buf_printf(&known, "%s%s", i ? ", " : "",
                   cache_kind_name((cache_kind)i));
    st = fail(HULL_EINVAL, "cache ls: there is no kind '%s', want one of %s",
              name, known.p ? known.p : "");
    buf_fini(&known);
    return st;
}

/* ---- what an entry is of ------------------------------------------------- */

/* Every section is checked when it is read. */
static hull_status open_file(cache_entry *out, str *out_key, const char *path)
{
    bytes b;
    hull_status st = disk_read_key(out, &b, path, true);

    *out_key = (str){ (const char *)b.p, b.n };
    return note_path(st, path);
}

static str line_at(str text, size_t i)
{
    str line = { "", 0 };

    for (; text.n > 0; i--) {
        line = str_split(text, '\n', &text);
        if (i == 0)
            return line;
    }
    return (str){ "", 0 };
}

/* The line that begins so, without its beginning. */
static str field(str text, const char *name)
{
    while (text.n > 0) {
        str line = str_split(text, '\n', &text);
        size_t n = strlen(name);

        if (str_starts(line, name))
            return (str){ line.p + n, line.n - n };
    }
    return (str){ "", 0 };
}

static size_t count_lines(str text)
{
    size_t n = 0;

    while (text.n > 0)
        n += str_split(text, '\n', &text).n > 0;
    return n;
}

/* The node of the graph of one node that a time is of. */
static str measured_node(str key)
{
    str found = { "", 0 }, rest = key;

    while (rest.n > 0) {
        str line = str_trim(str_split(rest, '\n', &rest));

        if (str_contains(line, " = ") && !str_contains(line, " = weight "))
            found = line;
    }
    return found;
}

/* In one line. */
static void print_subject(buf *b, cache_kind kind, str key)
{
    str first = line_at(key, 0), node = measured_node(key);

    if (kind == CACHE_ENGINE)
        buf_printf(b, "%.*s, %zu lines",
                   STR_ARG(field(key, "target ")), count_lines(key));
    else if (str_starts(first, "hull-tune"))
        buf_printf(b, "%.*s, %.*s threads: %.*s", STR_ARG(first),
                   STR_ARG(field(key, "threads ")), STR_ARG(node));
    else
        buf_printf(b, "%.*s %.*s", STR_ARG(first), STR_ARG(line_at(key, 1)));
}

/* ---- ls ------------------------------------------------------------------ */

static hull_status show_row(cli *c, json_t *list, const row *r, bool subject)
{
    char hex[DIGEST_HEX_SIZE], when[32], size[16];
    hull_status st = HULL_OK;
    cache_entry e = CACHE_ENTRY_NONE;
    json_t *j;
    str key;
    buf b;

    buf_init(&b, 65536);
    digest_hex(&r->item.key, hex);
    time_text(when, r->item.used_ns);
    size_text(size, r->item.size);
    if (subject && open_file(&e, &key, r->path) == HULL_OK)
        print_subject(&b, r->item.kind, key);
    else if (subject)
        buf_puts(&b, error_text());
    j = json_pack("{s:s, s:s, s:I, s:s, s:o}", "key", hex, "kind",
                  cache_kind_name(r->item.kind), "bytes",
                  (json_int_t)r->item.size, "used", when, "path",
                  json_str(str_of(r->path)));
    TRY_OUT(answer_item(list, j));
    if (subject)
        TRY_OUT(answer(j, "of", json_str(buf_view(&b))));
    if (!c->json)
        printf("%s %10s %s %s%s%.*s\n", hex, size, when,
               cache_kind_name(r->item.kind), subject ? " " : "", (int)b.n,
               b.n > 0 ? b.p : "");
out:
    cache_entry_close(&e);
    buf_fini(&b);
    return st;
}

hull_status cache_show_items(cli *c, cache *k)
{
    json_t *list = json_array();
    hull_status st = HULL_OK;
    rows r = { .kind = -1 };

    TRY(answer(c->result, "entries", list));
    c->usage = c->kind && kind_of(&r.kind, c->kind) != HULL_OK;
    if (c->usage)
        return HULL_EINVAL;
    TRY_OUT(find_rows(&r, k));
    for (size_t i = 0; i < r.n; i++)
        TRY_OUT(show_row(c, list, &r.p[i], c->kind != NULL));
out:
    rows_fini(&r);
    return st;
}

/* ---- show ---------------------------------------------------------------- */

static hull_status show_text(cli *c, const char *key, str s)
{
    if (!c->json)
        printf("%s: %.*s\n", key, (int)s.n, s.p);
    return answer(c->result, key, json_str(s));
}

static hull_status show_number(cli *c, const char *key, uint64_t n,
                               const char *unit)
{
    if (!c->json)
        printf("%s: %" PRIu64 "%s\n", key, n, unit);
    return answer(c->result, key, json_integer((json_int_t)n));
}

/* target, options, and the size of the graph. */
static hull_status show_engine_key(cli *c, str key)
{
    json_t *list = json_object();
    str rest = key, line;

    TRY(show_text(c, "backend", field(key, "backend ")));
    TRY(show_text(c, "target", field(key, "target ")));
    TRY(answer(c->result, "options", list));
    if (!c->json)
        printf("options:");
    while (rest.n > 0) {
        str v, name;

        line = str_split(rest, '\n', &rest);
        if (line.n == 0)
            break;
        name = str_split(line, '=', &v);
        if (name.n == line.n)
            continue;
        if (!c->json)
            printf(" %.*s", STR_ARG(line));
        if (json_object_setn_new(list, name.p, name.n, json_str(v)) != 0)
            return fail_oom(name.n);
    }
    if (!c->json)
        putchar('\n');
    TRY(show_text(c, "graph", line_at(rest, 0)));
    return show_number(c, "nodes", count_lines(rest) >= 3
                                       ? count_lines(rest) - 3 : 0, "");
}

/* Lines NAME NANOSECONDS, as tuning and profiles write them. */
static hull_status show_times(cli *c, json_t *list, str lines)
{
    while (lines.n > 0) {
        str line = str_split(lines, '\n', &lines), rest;
        str name = str_split(line, ' ', &rest);
        uint64_t ns;

        if (line.n == 0)
            continue;
        if (!str_to_u64(&ns, rest)) {
            if (!c->json)
                printf("  %.*s\n", (int)line.n, line.p);
            TRY(answer_item(list, json_pack("{s:o}", "line",
                                            json_str(line))));
            continue;
        }
        if (!c->json)
            printf("  %-16.*s %12.4f ms\n", STR_ARG(name), (double)ns * 1e-6);
        TRY(answer_item(list, json_pack("{s:o, s:I}", "name", json_str(name),
                                        "ns", (json_int_t)ns)));
    }
    return HULL_OK;
}

static hull_status show_notes(cli *c, container *k, str key)
{
    json_t *list = json_array();
    str first = line_at(key, 0), lines;
    bytes b;

    TRY(answer(c->result, "notes", list));
    TRY(container_get(k, "notes", NOTES_MAX, &b));
    lines = (str){ (const char *)b.p, b.n };
    if (!c->json)
        printf("notes:\n");
    if (str_starts(first, "hull-tune ") || str_starts(first, "hull-profile "))
        return show_times(c, list, lines);
    while (lines.n > 0) {
        str line = str_split(lines, '\n', &lines);

        if (!c->json)
            printf("  %.*s\n", (int)line.n, line.p);
        TRY(answer_item(list, json_pack("{s:o}", "line", json_str(line))));
    }
    return HULL_OK;
}

static hull_status show_sections(cli *c, const container *k)
{
    json_t *list = json_array();

    TRY(answer(c->result, "sections", list));
    for (size_t i = 0; i < container_n_sections(k); i++) {
        const char *tag;
        uint64_t off, stored, size;

        TRY(container_at(k, i, &tag, &off, &stored, &size));
        if (!c->json)
            printf("section %s: %" PRIu64 " bytes, %" PRIu64 " stored\n", tag,
                   size, stored);
        TRY(answer_item(list, json_pack("{s:s, s:I, s:I}", "tag", tag, "bytes",
                                        (json_int_t)size, "stored",
                                        (json_int_t)stored)));
    }
    return HULL_OK;
}

static hull_status kind_of_container(cache_kind *out, const container *k)
{
    for (int i = 0; i < CACHE_KINDS; i++) {
        *out = (cache_kind)i;
        if (cache_kinds[i].container == container_kind_of(k))
            return HULL_OK;
    }
    return fail(HULL_EFORMAT, "file is a module, wanted an entry of the cache");
}

static hull_status show_file(cli *c, const char *path)
{
    char hex[DIGEST_HEX_SIZE], when[32];
    hull_status st = HULL_OK;
    cache_kind kind;
    cache_entry e;
    digest d;
    str key;

    TRY_OUT(open_file(&e, &key, path));
    TRY_OUT(kind_of_container(&kind, e.c));
    d = digest_of(key.p, key.n);
    digest_hex(&d, hex);
    time_text(when, e.f.id.mtime_ns);
    TRY_OUT(show_text(c, "key", str_of(hex)));
    TRY_OUT(show_text(c, "kind", str_of(cache_kind_name(kind))));
    TRY_OUT(show_number(c, "bytes", e.f.size, ""));
    TRY_OUT(show_text(c, "used", str_of(when)));
    TRY_OUT(show_text(c, "path", str_of(path)));
    if (kind == CACHE_ENGINE)
        TRY_OUT(show_engine_key(c, key));
    else if (!c->text)
        TRY_OUT(show_text(c, "of", line_at(key, 0)));
    if (!c->json && c->text)
        printf("preimage:\n%.*s", (int)key.n, key.p);
    if (c->json || c->text)
        TRY_OUT(answer(c->result, "preimage", json_str(key)));
    TRY_OUT(show_sections(c, e.c));
    if (kind == CACHE_NOTES)
        st = show_notes(c, e.c, key);
out:
    cache_entry_close(&e);
    return st;
}

static bool is_hex(const char *s)
{
    return strlen(s) < DIGEST_HEX_SIZE &&
           s[strspn(s, "0123456789abcdef")] == '\0';
}

/* Lists what the beginning of a key may mean. */
static hull_status ambiguous(const rows *r)
{
    char hex[DIGEST_HEX_SIZE];
    hull_status st;
    buf b;

    buf_init(&b, 65536);
    for (size_t i = 0; i < r->n && i < 8; i++) {
        digest_hex(&r->p[i].item.key, hex);
        buf_printf(&b, "%s%.16s (%s)", i ? ", " : "", hex,
                   cache_kind_name(r->p[i].item.kind));
    }
    st = fail(HULL_EINVAL, "%zu entries have keys that begin with '%s': %s%s",
              r->n, r->prefix, b.p ? b.p : "", r->n > 8 ? ", ..." : "");
    buf_fini(&b);
    return st;
}

hull_status cache_find_key(cache_item *out, char **out_path, cache *k,
                           const char *prefix)
{
    rows r = { .kind = -1, .prefix = prefix };
    hull_status st = HULL_OK;

    *out_path = NULL;
    TRY_OUT(find_rows(&r, k));
    if (r.n > 1)
        TRY_OUT(ambiguous(&r));
    if (r.n == 0)
        TRY_OUT(fail(HULL_ENOTFOUND, "%s has no entry whose key begins with "
                     "'%s'", cache_path(k), prefix));
    *out = r.p[0].item;
    *out_path = r.p[0].path;
    r.p[0].path = NULL;
    out->path = *out_path;
out:
    rows_fini(&r);
    return st;
}

hull_status cache_show_entry(cli *c, cache *k)
{
    const char *what = c->args[1];
    hull_status st;
    cache_item item;
    struct stat s;
    char *path;

    if (!is_hex(what) || (stat(what, &s) == 0 && S_ISREG(s.st_mode)))
        return show_file(c, what);
    TRY(cache_find_key(&item, &path, k, what));
    st = show_file(c, path);
    mem_free(path);
    return st;
}
