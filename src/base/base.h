/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * base.h - everything below tensors: errors, memory, text buffers, files,
 * hashing, JSON, protobuf wire, stored zips, threads. Declarations are grouped
 * by the file that defines them. Nothing here knows what a tensor is.
 *
 * Conventions of the whole tree:
 *   - functions that can fail return hull_status and are warn_unused_result;
 *   - out-parameters come first, are named out or out_x, and are zeroed on
 *     entry, so a failure leaves nothing to free;
 *   - *_fini / *_free / *_unref / *_close accept NULL or a zeroed object.
 */
#ifndef HULL_BASE_H
#define HULL_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hull.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* ---- error.c ------------------------------------------------------------
 * fail() is the only creator of an error: it writes code and text into a
 * fixed thread-local record, so it cannot fail itself. note() puts context in
 * front and keeps the code. Text: one line, lower case, names the object, the
 * value found and the value wanted; no "failed to", no "error". */

#define TRY(e)                        \
    do {                              \
        hull_status try_st_ = (e);    \
        if (try_st_ != HULL_OK)       \
            return try_st_;           \
    } while (0)

#define TRY_OUT(e)                    \
    do {                              \
        st = (e);                     \
        if (st != HULL_OK)            \
            goto out;                 \
    } while (0)

/* Longest error text that is kept, bytes with the final NUL. */
#define ERROR_TEXT_MAX 4096

typedef struct error_record {
    hull_status status;
    char text[ERROR_TEXT_MAX];
} error_record;

/* Records `code` (never HULL_OK) with the formatted text; returns code. */
hull_status fail(hull_status code, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* When st is an error, puts "<text>: " in front of the recorded text.
 * Returns st in every case, so calls nest: TRY(note(f(), "reading %s", p)). */
hull_status note(hull_status st, const char *fmt, ...) PRINTF_LIKE(2, 3)
    MUST_CHECK;
/* note(st, "%s", path), unless the text names the path already. */
hull_status note_path(hull_status st, const char *path) MUST_CHECK;

/* Text of the thread's last error, "" when there was none. */
const char *error_text(void);

/* Copies the thread's record, so that a worker's error reaches the waiter. */
void error_take(error_record *out);
hull_status error_put(const error_record *r);
void error_clear(void);

/* Drops a status on purpose; the caller says why in a comment. */
static inline void ignore(hull_status st)
{
    (void)st;
}

/* "out of memory" with the number of bytes asked for; returns HULL_ENOMEM. */
hull_status fail_oom(size_t bytes);

/* ---- mem.c --------------------------------------------------------------
 * All heap memory passes here. mem_fail_at(n) makes the n-th allocation from
 * now on (1 = the next one) and all later ones until mem_fail_at(0) return
 * NULL: that is how torture tests walk every failure path. */

/* NULL on failure, without an error record. Size 0 gives a valid pointer. */
void *mem_alloc(size_t size) MUST_CHECK;
void *mem_calloc(size_t count, size_t size) MUST_CHECK;
void *mem_realloc(void *p, size_t size) MUST_CHECK;
/* Aligned to `align`, a power of two; free with mem_free. */
void *mem_alloc_aligned(size_t align, size_t size) MUST_CHECK;
void mem_free(void *p);
char *mem_strndup(const char *s, size_t n) MUST_CHECK;

/* n = 0 switches it off. once = true: only the n-th call fails. */
void mem_fail_at(uint64_t n, bool once);
/* Number of allocation calls of the process so far (frees not counted). */
uint64_t mem_count(void);
/* Allocations not yet freed: a leak check for tests. */
int64_t mem_live(void);

/* Installs the caller's allocator; only before the first allocation. */
hull_status mem_set_allocator(const hull_allocator *a) MUST_CHECK;
bool mem_has_allocator(void); /* whether the caller installed one */

/* Grows *p (elements of elem_size, *cap of them) so that `need` fit. Doubles.
 * New elements are zeroed. HULL_ENOMEM leaves *p and *cap as they were. */
hull_status mem_grow(void *p, size_t *cap, size_t need, size_t elem_size)
    MUST_CHECK;

/* Arena: many small objects, one lifetime. Memory is zeroed and aligned to
 * 16. A failed arena stays failed: later calls return NULL as well. */
typedef struct arena {
    struct arena_chunk *chunk;
    size_t used;       /* bytes handed out */
    size_t max;        /* limit in bytes; 0 = none */
    bool failed;
} arena;

void *arena_alloc(arena *a, size_t size) MUST_CHECK;
void *arena_array(arena *a, size_t count, size_t elem_size) MUST_CHECK;
/* The same, but the bytes are anything: for large scratch. */
void *arena_raw(arena *a, size_t count, size_t elem_size) MUST_CHECK;
char *arena_strndup(arena *a, const char *s, size_t n) MUST_CHECK;
void *arena_memdup(arena *a, const void *p, size_t n) MUST_CHECK;
/* Empties it for reuse. Several chunks become one as large as all of them, so
 * that the same work, repeated, soon allocates nothing. */
void arena_reset(arena *a);
void arena_fini(arena *a);

/* ---- checked arithmetic (here, inline) ----------------------------------- */

/* True when the result fits; *out is only then valid. */
static inline bool add_u64(uint64_t *out, uint64_t a, uint64_t b)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool mul_u64(uint64_t *out, uint64_t a, uint64_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool add_i64(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool sub_i64(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_sub_overflow(a, b, out);
}
static inline bool mul_i64(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline uint64_t round_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) / align * align;
}

/* ---- little-endian numbers of n <= 8 bytes (here, inline) ---------------- */

static inline void le_put(void *p, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)p)[i] = (uint8_t)(v >> (8 * i));
}
static inline uint64_t le_get(const uint8_t *p, size_t n)
{
    uint64_t v = 0;

    while (n > 0)
        v = v << 8 | p[--n];
    return v;
}

/* ---- str.c: views of text that somebody else owns ------------------------ */

typedef struct str {
    const char *p; /* not NUL-terminated unless the owner says so */
    size_t n;
} str;

typedef struct bytes {
    const uint8_t *p;
    size_t n;
} bytes;

/* For printf("%.*s"). */
#define STR_ARG(s) (int)((s).n > 1000 ? 1000 : (s).n), (s).p

str str_of(const char *z); /* z may be NULL: the empty view */
bool str_eq(str a, str b);
bool str_is(str a, const char *z);
int str_cmp(str a, str b); /* bytewise, as memcmp */
bool str_starts(str a, const char *prefix);
bool str_ends(str a, const char *suffix);
bool str_contains(str a, const char *needle);
/* Splits at the first `sep`: head before it, *rest after it ("" when none). */
str str_split(str a, char sep, str *rest);
str str_trim(str a);
/* Letters to add, drop or change to make b of a: to guess what a typo meant.
 * SIZE_MAX when one is longer than 63 bytes. */
size_t str_distance(str a, str b);
bool str_valid_utf8(str s);
/* Whole view must be a decimal number in range; false otherwise. */
bool str_to_i64(int64_t *out, str s);
bool str_to_u64(uint64_t *out, str s);
/* Decimal float, inf, -inf, nan; whole view. Locale-free. */
bool str_to_f64(double *out, str s);
/* "64", "64KiB", "2MiB", "1GiB". */
bool str_to_size(uint64_t *out, str s);
/* A file name inside a file must be one relative printable part or parts
 * joined by '/': no "..", no leading '/', no '\\', no NUL, not empty. */
bool str_is_safe_path(str s);

/* ---- buf.c: growable bytes with a maximum and a sticky failure ----------- */

typedef struct buf {
    char *p;    /* always NUL-terminated once something was put */
    size_t n;   /* bytes used, without the NUL */
    size_t cap;
    size_t max; /* limit in bytes, fixed at buf_init */
    bool failed;
} buf;

void buf_init(buf *b, size_t max);
void buf_fini(buf *b);
void buf_clear(buf *b); /* n = 0; a failure stays */
void buf_put(buf *b, const void *p, size_t n);
void buf_puts(buf *b, const char *z);
void buf_putc(buf *b, char c);
void buf_str(buf *b, str s);
void buf_int(buf *b, int64_t v); /* as %PRId64, a tenth of its time */
void buf_printf(buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* Zero bytes until n is a multiple of align. */
void buf_align(buf *b, size_t align);
/* HULL_OK, or the failure that made the buffer sticky. Check at the end. */
hull_status buf_status(const buf *b) MUST_CHECK;
str buf_view(const buf *b);
/* Hands the memory to the caller (mem_free); b is empty afterwards. */
char *buf_take(buf *b);
/* "text" with C escapes for quotes, backslash and control bytes. */
void buf_quoted(buf *b, str s);
/* Shortest decimal text that reads back to exactly v (as f32 or f64); nan and
 * inf as words; always recognisable as a float ("1.0", "1e-05"). */
void buf_f32(buf *b, float v);
void buf_f64(buf *b, double v);

/* ---- log.c ---------------------------------------------------------------
 * HULL_LOG=subsystem:level,... (levels: error warn info debug; "all:debug").
 * Default: all:warn to stderr, or the sink that the caller installed. */

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG } log_level;

bool log_on(const char *subsystem, log_level level);
void log_at(const char *subsystem, log_level level, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* "" resets to the environment's setting. Bad text names the wrong part. */
hull_status log_configure(const char *spec) MUST_CHECK;
void log_set_sink(hull_log_fn fn, void *user);

#define log_warn(sub, ...) log_at(sub, LOG_WARN, __VA_ARGS__)
#define log_info(sub, ...)                        \
    do {                                          \
        if (log_on(sub, LOG_INFO))                \
            log_at(sub, LOG_INFO, __VA_ARGS__);   \
    } while (0)
#define log_debug(sub, ...)                       \
    do {                                          \
        if (log_on(sub, LOG_DEBUG))               \
            log_at(sub, LOG_DEBUG, __VA_ARGS__);  \
    } while (0)

/* ---- file.c -------------------------------------------------------------- */

/* What tells one version of a file from another. Two stats that agree in all
 * five fields are taken for the same bytes; an in-place write within the
 * clock's granularity that keeps the size is not seen. */
typedef struct file_id {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
} file_id;

typedef struct file {
    const uint8_t *p; /* read-only mapping, MAP_PRIVATE; NULL when size is 0,
                       * and when it was only opened */
    uint64_t size;
    int fd;           /* kept open for file_identity and pread; -1 = closed */
    file_id id;       /* at open */
    char *path;       /* as given; owned */
} file;

/* Opens a regular file for file_read_at; without follow a link is refused.
 * Errors: HULL_ENOTFOUND, HULL_EIO (directory, ...). */
hull_status file_open(file *out, const char *path, bool follow) MUST_CHECK;
/* The same, links followed, and maps it. */
hull_status file_map(file *out, const char *path) MUST_CHECK;
/* The same for a path that the file `owner` named: with all links followed, it
 * must lie in the folder of owner, or in the one where owner really lies when
 * it is a link itself (the layout of download caches). */
hull_status file_map_below(file *out, const char *path, const char *owner)
    MUST_CHECK;
void file_close(file *f);
/* The mapping stays; what was read through it no longer counts as memory of
 * this process. */
void file_drop_pages(const file *f);
/* HULL_EIO naming the file when its identity is no longer f->id. */
hull_status file_unchanged(const file *f) MUST_CHECK;
bool file_id_eq(const file_id *a, const file_id *b);
/* Reads [off, off+n) with pread: no SIGBUS when the file was truncated, but
 * HULL_EIO that says so. */
hull_status file_read_at(const file *f, uint64_t off, void *dst, uint64_t n)
    MUST_CHECK;
/* Bytes read through file_read_at plus bytes of views announced with
 * file_count_read; a test's proof that compiling reads headers only. */
uint64_t file_bytes_read(void);
void file_count_read(uint64_t n);

/* Reads a whole file, at most max bytes. Free with mem_free. NUL-terminated. */
hull_status file_read_all(char **out, size_t *out_n, const char *path,
                          size_t max) MUST_CHECK;

typedef struct file_part {
    const void *p;
    size_t n;
} file_part;
/* Temp file in the same folder, write parts, fsync, rename, fsync folder. On
 * failure the old file, if any, is untouched and the temp file is gone. */
hull_status file_write_atomic(const char *path, const file_part *parts,
                              size_t n_parts) MUST_CHECK;

/* Streaming form of the same, for files larger than memory. */
typedef struct file_writer {
    int fd;
    char *path, *tmp;
    uint64_t written;
} file_writer;
hull_status file_writer_open(file_writer *out, const char *path) MUST_CHECK;
hull_status file_writer_put(file_writer *w, const void *p, size_t n) MUST_CHECK;
hull_status file_writer_commit(file_writer *w) MUST_CHECK;
void file_writer_abort(file_writer *w); /* after commit: a no-op */

/* Turns errno into an error: "DOING 'PATH': what the system says". ENOENT and
 * ENOTDIR are HULL_ENOTFOUND, ENOMEM is HULL_ENOMEM, all else HULL_EIO. */
hull_status file_fail(const char *doing, const char *path) MUST_CHECK;
hull_status dir_make(const char *path) MUST_CHECK; /* with parents */
/* Calls fn for every regular file below path, depth first. fn's error stops. */
typedef hull_status dir_fn(void *user, const char *path, const file_id *id);
hull_status dir_walk(const char *path, dir_fn *fn, void *user) MUST_CHECK;
/* "a" + "b" -> "a/b"; b absolute -> b. Free with mem_free; NULL on OOM. */
char *path_join(const char *a, const char *b) MUST_CHECK;
/* Folder part of path, "." when there is none. Free with mem_free. */
char *path_dir(const char *path) MUST_CHECK;
const char *path_base(const char *path); /* points into path */

/* ---- hash.c -------------------------------------------------------------- */

/* BLAKE2b-256 (libsodium): identities that are published. */
typedef struct digest {
    uint8_t b[32];
} digest;
#define DIGEST_HEX_SIZE 65
typedef struct digester {
    _Alignas(64) unsigned char state[384];
} digester;
void digest_begin(digester *d);
void digest_update(digester *d, const void *p, size_t n);
void digest_end(digester *d, digest *out);
digest digest_of(const void *p, size_t n);
void digest_hex(const digest *d, char out[DIGEST_HEX_SIZE]);
bool digest_from_hex(digest *out, str hex);
bool digest_eq(const digest *a, const digest *b);

/* XXH3-128 (libxxhash): checksums that find damage, never malice. */
typedef struct checksum {
    uint64_t lo, hi;
} checksum;
checksum checksum_of(const void *p, size_t n);
uint64_t hash64(const void *p, size_t n); /* XXH3-64 */
/* The same with a key of the process, for tables in memory over what files
 * decide: nobody can prepare contents that all fall into one slot. */
uint64_t hash64_keyed(const void *p, size_t n);

/* Map from text to u32. Keys are copied into the map. */
typedef struct strmap {
    struct strmap_slot *slots;
    size_t cap, n;
    arena keys;
} strmap;
/* Adds or overwrites. */
hull_status strmap_set(strmap *m, str key, uint32_t value) MUST_CHECK;
bool strmap_get(const strmap *m, str key, uint32_t *out);
void strmap_fini(strmap *m);

/* ---- json.c: jansson with our error record ------------------------------- */

struct json_t; /* jansson's; include <jansson.h> where it is looked into */
/* Rejects duplicate keys, NUL in keys, text after the document, nesting and
 * counts that no model has (a value costs some 100 bytes of memory). `what`
 * names the document in the error, which gives line and column. */
hull_status json_parse(struct json_t **out, const char *p, size_t n,
                       const char *what) MUST_CHECK;
void json_free(struct json_t *j);
/* Typed look-ups; the error names what, the key and the kind found. */
hull_status json_want_object(struct json_t **out, struct json_t *obj,
                             const char *key, const char *what) MUST_CHECK;
hull_status json_want_array(struct json_t **out, struct json_t *obj,
                            const char *key, const char *what) MUST_CHECK;
hull_status json_want_string(str *out, struct json_t *obj, const char *key,
                             const char *what) MUST_CHECK;
hull_status json_want_int(int64_t *out, struct json_t *obj, const char *key,
                          const char *what) MUST_CHECK;
const char *json_kind(const struct json_t *j); /* "object", "array", ... */

/* ---- pb.c: protobuf wire reader over a view; copies nothing -------------- */

typedef struct pb {
    const uint8_t *p, *end, *base; /* base: start of the file, for offsets */
    const char *what;              /* names the message in errors */
} pb;

typedef struct pb_field {
    uint32_t number;
    uint8_t wire;     /* 0 varint, 1 fixed64, 2 bytes, 5 fixed32 */
    uint64_t u;       /* value of wire 0, 1, 5 */
    bytes b;          /* value of wire 2, a view */
} pb_field;

pb pb_of(bytes b, const uint8_t *base, const char *what);
/* Reads the next field; *out_more = false at the end of the message. Groups,
 * field 0, varints of more than 10 bytes and lengths beyond the view are
 * HULL_EFORMAT with the byte offset. */
hull_status pb_next(pb *r, pb_field *out, bool *out_more) MUST_CHECK;
/* Appends the field's values to a growing array: packed and unpacked forms.
 * Only wire types that fit the element are accepted. */
hull_status pb_i64s(pb *r, const pb_field *f, int64_t **p, size_t *n,
                    size_t *cap) MUST_CHECK;
hull_status pb_f32s(pb *r, const pb_field *f, float **p, size_t *n,
                    size_t *cap) MUST_CHECK;
float pb_f32(const pb_field *f);
str pb_str(const pb_field *f);
hull_status pb_want(const pb *r, const pb_field *f, uint8_t wire) MUST_CHECK;

/* ---- zip.c: directory of a stored zip (PyTorch's containers) ------------- */

typedef struct zip_entry {
    str name;        /* view into the file */
    uint64_t off;    /* of the payload, from the start of the zip's view */
    uint64_t size;
    uint32_t crc;    /* from the central directory */
} zip_entry;

typedef struct zip {
    bytes data;      /* the zip's own bytes, borrowed */
    zip_entry *entries;
    size_t n;
    strmap by_name;
} zip;

/* Accepts method 0 only, ZIP64, any local extra field; checks that names are
 * safe and unique, that local and central names agree, and that no two
 * payloads overlap. HULL_EUNSUPPORTED for compression or encryption. */
hull_status zip_open(zip *out, bytes data) MUST_CHECK;
void zip_close(zip *z);
const zip_entry *zip_find(const zip *z, str name); /* NULL when absent */
bytes zip_bytes(const zip *z, const zip_entry *e);
hull_status zip_check_crc(const zip *z, const zip_entry *e) MUST_CHECK;

/* Writer of stored zips, for .npz output and for tests. */
typedef struct zip_writer {
    buf out, directory;
    uint32_t n;
} zip_writer;
void zip_writer_init(zip_writer *w, size_t max);
/* align: payload offset becomes a multiple of it (1 = do not care). */
void zip_writer_add(zip_writer *w, str name, const void *p, size_t n,
                    size_t align);
hull_status zip_writer_end(zip_writer *w) MUST_CHECK; /* then out holds it */
void zip_writer_fini(zip_writer *w);

/* ---- pool.c: threads -----------------------------------------------------
 * The process has one set of workers (crew.c), made by the first pool and ended
 * with the last; a pool is how many threads one module's loops may use of it,
 * their callers counted. Work is divided the same way however many workers are
 * free: n items are n calls, and no result may depend on which thread makes
 * them. Items may be a few times as many as threads: taking one costs some ten
 * nanoseconds, and a slow thread then has fewer of them. */

typedef struct pool pool;
/* n_threads 0 = all CPUs that the affinity mask and the cgroup's quota grant;
 * never more than are in the mask. 1 = everything on the caller. */
hull_status pool_new(pool **out, uint32_t n_threads) MUST_CHECK;
void pool_free(pool *p);
/* Calls fn(user, i) for i in 0..n-1, the caller works too. The first failing
 * item's error (lowest index) is the result; later items may be skipped.
 * p NULL runs everything on the caller. Nested calls run on the caller. */
typedef hull_status pool_fn(void *user, size_t i);
hull_status pool_for(pool *p, size_t n, pool_fn *fn, void *user) MUST_CHECK;

/* Threads that may work on a loop, the caller's with them; 1 for NULL. */
uint32_t pool_threads(const pool *p);
/* Inside an item: the number of the thread among those of the loop, below
 * pool_threads and 0 for the caller. Items that run at once have different
 * ones, so scratch may be kept per seat. */
uint32_t pool_seat(void);
/* Is this thread inside an item? There nothing may wait for other processes. */
bool pool_inside(void);

/* Around what opens many loops, as a run: between them, too, the caller counts
 * as a thread, so other callers' loops leave its CPU alone. p may be NULL. */
void pool_enter(pool *p);
void pool_leave(pool *p);

/* Monotonic time in nanoseconds. */
uint64_t time_ns(void);

#ifdef __cplusplus
}
#endif
#endif
