/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * sim.c - a simulated device that keeps the interface honest for a GPU: memory
 * that the host cannot touch (pages without access, but for the time of an
 * operation), a thread per stream that works through a queue, errors that come
 * out at stream_sync, packed weights (pack.c). Computes with the reference
 * kernels. It is for tests: it is never chosen by itself.
 */
#include "backend/sim/sim.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define QUEUE_LENGTH 64
#define STAGE_SIZE ((uint64_t)1 << 20)

struct device_buffer {
    device *d;
    char *p;            /* whole pages, without access while users is 0 */
    uint64_t size, mapped;
    pthread_mutex_t mutex;
    uint32_t users;     /* operations that use it now */
};

typedef enum job_kind { JOB_UPLOAD, JOB_DOWNLOAD, JOB_RUN } job_kind;

typedef struct job {
    job_kind kind;
    place at;                 /* upload, download; run: scratch */
    const void *src;          /* upload */
    void *dst;                /* download */
    const program *p;
    const program_plan *pl;
    place *places;            /* run: params, then results; kept for reuse */
    size_t cap_places;
} job;

struct stream {
    device *d;
    pthread_t worker;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    job jobs[QUEUE_LENGTH];   /* a ring, or from 0 on when it was empty */
    uint32_t first, n;
    bool stop;
    hull_status status;       /* first failure since the last sync */
    error_record error;
    void **pointers;          /* the worker's */
    size_t cap_pointers;
    void *stage;              /* upload_from; made at the first one */
};

struct program {
    device *d;
    const graph *g;
    uint32_t n_params, n_results;
    host_program *host;
};

struct program_plan {
    host_plan *host;
    uint64_t *bytes;          /* of params, then results */
    uint64_t scratch;
};

/* ---- device -------------------------------------------------------------- */

/* It may pretend to be of any model (option target); the code is the same. */
typedef struct sim_device {
    device d;
    char model[64];
} sim_device;

static hull_status sim_open(device **out, const options *o, pool *p)
{
    str model = o != NULL ? option_str(o, OPT_target) : (str){0};
    sim_device *s;

    *out = NULL;
    if (model.n >= sizeof s->model)
        return fail(HULL_EINVAL, "target has %zu bytes, sim's are shorter than "
                    "%zu", model.n, sizeof s->model);
    s = mem_calloc(1, sizeof *s);
    if (s == NULL)
        return fail_oom(sizeof *s);
    s->d = (device){.be = &backend_sim, .pool = p};
    if (model.n > 0)
        memcpy(s->model, model.p, model.n);
    *out = &s->d;
    return HULL_OK;
}

static void sim_close(device *d)
{
    mem_free(d);
}

static void sim_target(buf *out, const device *d)
{
    const sim_device *s = (const sim_device *)(const void *)d;

    buf_printf(out, "sim panels%s%s kernels " HULL_SIM_SOURCES,
               s->model[0] != '\0' ? " " : "", s->model);
}

static bool has_wide_floats(const type *t)
{
    return t->kind == TYPE_TENSOR &&
           (t->dtype == HULL_F64 || dtype_is_complex(t->dtype));
}

static const char *why_not_type(const graph *g, val v)
{
    const type *t = graph_type(g, v);

    if (t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL)
        return "sim has tensors only, no sequences or optionals";
    return has_wide_floats(t) ? "sim has no 64-bit or complex floats" : NULL;
}

static const char *sim_why_not(const device *d, const graph *g, const node *n)
{
    const char *why = NULL;

    (void)d;
    if ((op_get(n->op)->traits & OP_CONTROL) != 0)
        return "sim has no control flow";
    if (strcmp(op_get(n->op)->family, "rnn") == 0)
        return "sim has no recurrent kernels";
    if (n->op == OP_topk)
        return "sim has no kernel that sorts";
    if (n->op == OP_random)
        return "sim has no random numbers";
    for (uint32_t i = 0; why == NULL && i < n->n_in; i++)
        if (n->in[i] != 0)
            why = why_not_type(g, n->in[i]);
    for (uint32_t i = 0; why == NULL && i < n->n_out; i++)
        why = why_not_type(g, n->out[i]);
    return why;
}

/* ---- memory -------------------------------------------------------------- */

static hull_status protect(device_buffer *b, int access)
{
    if (mprotect(b->p, b->mapped, access) != 0)
        return fail(HULL_EDEVICE, "sim cannot protect %" PRIu64 " bytes",
                    b->mapped);
    return HULL_OK;
}

/* Between the two, the worker may look inside. */
static hull_status buffer_enter(device_buffer *b)
{
    hull_status st = HULL_OK;

    pthread_mutex_lock(&b->mutex);
    if (b->users == 0)
        st = protect(b, PROT_READ | PROT_WRITE);
    if (st == HULL_OK)
        b->users++;
    pthread_mutex_unlock(&b->mutex);
    return st;
}

static void buffer_leave(device_buffer *b)
{
    pthread_mutex_lock(&b->mutex);
    if (--b->users == 0)
        ignore(protect(b, PROT_NONE)); /* it only stays readable */
    pthread_mutex_unlock(&b->mutex);
}

static hull_status sim_buffer_new(device_buffer **out, device *d,
                                  uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    device_buffer *b = mem_calloc(1, sizeof *b);
    void *p;

    *out = NULL;
    if (b == NULL)
        return fail_oom(sizeof *b);
    if (size > UINT64_MAX / 2) {
        mem_free(b);
        return fail_oom((size_t)size);
    }
    b->mapped = round_up(size == 0 ? 1 : size, page);
    p = mmap(NULL, b->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        mem_free(b);
        return fail_oom((size_t)size);
    }
    b->d = d;
    b->p = p;
    b->size = size;
    pthread_mutex_init(&b->mutex, NULL);
    *out = b;
    return HULL_OK;
}

static void sim_buffer_free(device_buffer *b)
{
    if (b == NULL)
        return;
    munmap(b->p, b->mapped);
    pthread_mutex_destroy(&b->mutex);
    mem_free(b);
}

static hull_status sim_buffer_wrap(device_buffer **out, device *d,
                                   const void *host, uint64_t size)
{
    hull_status st = HULL_OK;
    device_buffer *b;

    *out = NULL;
    TRY(sim_buffer_new(&b, d, size));
    TRY_OUT(buffer_enter(b));
    if (size > 0)
        memcpy(b->p, host, size);
    buffer_leave(b);
    *out = b;
    b = NULL;
out:
    sim_buffer_free(b);
    return st;
}

/* ---- the worker ---------------------------------------------------------- */

static hull_status check_place(place at, uint64_t need, const char *what)
{
    uint64_t end;

    if (at.buffer == NULL && need == 0)
        return HULL_OK;
    if (at.buffer == NULL || at.size < need ||
        !add_u64(&end, at.off, at.size) || end > at.buffer->size)
        return fail(HULL_EDEVICE,
                    "%s: place of %" PRIu64 " bytes at %" PRIu64
                    " in a buffer of %" PRIu64 ", %" PRIu64 " are needed",
                    what, at.size, at.off,
                    at.buffer != NULL ? at.buffer->size : 0, need);
    return HULL_OK;
}

static hull_status copy(const job *j)
{
    const place at = j->at;

    TRY(check_place(at, at.size,
                    j->kind == JOB_UPLOAD ? "upload" : "download"));
    if (at.size == 0)
        return HULL_OK;
    TRY(buffer_enter(at.buffer));
    if (j->kind == JOB_UPLOAD)
        memcpy(at.buffer->p + at.off, j->src, at.size);
    else
        memcpy(j->dst, at.buffer->p + at.off, at.size);
    buffer_leave(at.buffer);
    return HULL_OK;
}

static bool overlap(place a, place b)
{
    return a.buffer == b.buffer && a.buffer != NULL && a.size > 0 &&
           b.size > 0 && a.off < b.off + b.size && b.off < a.off + a.size;
}

static hull_status check_run(const job *j)
{
    uint32_t n_params = j->p->n_params, n = n_params + j->p->n_results;

    TRY(check_place(j->at, j->pl->scratch, "scratch"));
    for (uint32_t i = 0; i < n; i++) {
        TRY(check_place(j->places[i], j->pl->bytes[i],
                        i < n_params ? "parameter" : "result"));
        if (j->places[i].off % PLACE_ALIGN != 0)
            return fail(HULL_EDEVICE, "place %u is not aligned to %d bytes", i,
                        PLACE_ALIGN);
        for (uint32_t k = 0; i >= n_params && k < i; k++)
            if (overlap(j->places[i], j->places[k]))
                return fail(HULL_EDEVICE, "places %u and %u overlap", k, i);
        if (overlap(j->places[i], j->at))
            return fail(HULL_EDEVICE, "place %u overlaps the scratch memory",
                        i);
    }
    return HULL_OK;
}

static void *inside(place at)
{
    return at.buffer != NULL ? at.buffer->p + at.off : NULL;
}

static hull_status run_entered(stream *s, const job *j)
{
    uint32_t n_params = j->p->n_params, n = n_params + j->p->n_results;

    TRY(mem_grow(&s->pointers, &s->cap_pointers, (size_t)n + 1,
                 sizeof *s->pointers));
    for (uint32_t i = 0; i < n; i++)
        s->pointers[i] = inside(j->places[i]);
    return host_program_run(j->p->host, j->pl->host, s->pointers,
                            s->pointers + n_params, inside(j->at), ALL_NODES,
                            NULL);
}

/* The last of the places is the scratch memory. */
static place place_at(const job *j, uint32_t i)
{
    return i < j->p->n_params + j->p->n_results ? j->places[i] : j->at;
}

static hull_status run(stream *s, const job *j)
{
    uint32_t n = j->p->n_params + j->p->n_results + 1, entered = 0;
    hull_status st = check_run(j);

    for (; st == HULL_OK && entered < n; entered++) {
        if (place_at(j, entered).buffer != NULL)
            st = buffer_enter(place_at(j, entered).buffer);
        if (st != HULL_OK)
            break;
    }
    if (st == HULL_OK)
        st = run_entered(s, j);
    while (entered-- > 0)
        if (place_at(j, entered).buffer != NULL)
            buffer_leave(place_at(j, entered).buffer);
    return st;
}

static void keep_error(stream *s, hull_status st)
{
    s->status = st;
    error_take(&s->error);
}

/* The job stays in the ring while it runs; after a failure the others are
 * dropped until the next sync. */
static void *work(void *user)
{
    stream *s = user;

    pthread_mutex_lock(&s->mutex);
    for (;;) {
        job *j = &s->jobs[s->first];
        hull_status st = HULL_OK;

        while (s->n == 0 && !s->stop) {
            pthread_cond_wait(&s->changed, &s->mutex);
            j = &s->jobs[s->first];
        }
        if (s->n == 0)
            break;
        if (s->status == HULL_OK) {
            pthread_mutex_unlock(&s->mutex);
            st = j->kind == JOB_RUN ? run(s, j) : copy(j);
            pthread_mutex_lock(&s->mutex);
        }
        if (st != HULL_OK)
            keep_error(s, st);
        s->first = (s->first + 1) % QUEUE_LENGTH;
        s->n--;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- streams ------------------------------------------------------------- */

/* Signals are the business of the program's own threads. */
static int start_worker(stream *s)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&s->worker, NULL, work, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err;
}

static hull_status sim_stream_new(stream **out, device *d)
{
    stream *s = mem_calloc(1, sizeof *s);
    int err;

    *out = NULL;
    if (s == NULL)
        return fail_oom(sizeof *s);
    s->d = d;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    err = start_worker(s);
    if (err != 0) {
        pthread_mutex_destroy(&s->mutex);
        pthread_cond_destroy(&s->changed);
        mem_free(s);
        return fail(HULL_EDEVICE, "sim cannot start a thread: %s",
                    strerror(err));
    }
    *out = s;
    return HULL_OK;
}

static void sim_stream_free(stream *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->mutex);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->worker, NULL); /* what is queued is done first */
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->changed);
    for (uint32_t i = 0; i < QUEUE_LENGTH; i++)
        mem_free(s->jobs[i].places);
    mem_free(s->pointers);
    mem_free(s->stage);
    mem_free(s);
}

/* A free place of the ring; the mutex is held on return. An empty queue starts
 * at 0 again, so that equal work finds the memory of last time. */
static job *begin_job(stream *s)
{
    pthread_mutex_lock(&s->mutex);
    while (s->n == QUEUE_LENGTH)
        pthread_cond_wait(&s->changed, &s->mutex);
    if (s->n == 0)
        s->first = 0;
    return &s->jobs[(s->first + s->n) % QUEUE_LENGTH];
}

static void end_job(stream *s)
{
    s->n++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static hull_status sim_upload(stream *s, place dst, const void *src)
{
    job *j = begin_job(s);

    j->kind = JOB_UPLOAD;
    j->at = dst;
    j->src = src;
    end_job(s);
    return HULL_OK;
}

static void wait_empty(stream *s)
{
    while (s->n > 0)
        pthread_cond_wait(&s->changed, &s->mutex);
}

/* After what is queued, through memory that stands for pinned pages. */
static hull_status sim_upload_from(stream *s, place dst, upload_reader *fn,
                                   void *user, bool cold)
{
    (void)cold;
    pthread_mutex_lock(&s->mutex);
    wait_empty(s);
    pthread_mutex_unlock(&s->mutex);
    TRY(check_place(dst, dst.size, "upload"));
    if (s->stage == NULL)
        s->stage = mem_alloc(STAGE_SIZE);
    if (s->stage == NULL)
        return fail_oom(STAGE_SIZE);
    for (uint64_t off = 0; off < dst.size;) {
        uint64_t left = dst.size - off;
        uint64_t n = left < STAGE_SIZE ? left : STAGE_SIZE;

        TRY(fn(user, off, s->stage, n));
        TRY(buffer_enter(dst.buffer));
        memcpy(dst.buffer->p + dst.off + off, s->stage, n);
        buffer_leave(dst.buffer);
        off += n;
    }
    return HULL_OK;
}

static hull_status sim_download(stream *s, void *dst, place src)
{
    job *j = begin_job(s);

    j->kind = JOB_DOWNLOAD;
    j->at = src;
    j->dst = dst;
    end_job(s);
    return HULL_OK;
}

static hull_status sim_stream_sync(stream *s)
{
    hull_status st;

    pthread_mutex_lock(&s->mutex);
    wait_empty(s);
    st = s->status;
    if (st != HULL_OK)
        st = error_put(&s->error);
    s->status = HULL_OK;
    pthread_mutex_unlock(&s->mutex);
    return st;
}

/* ---- programs ------------------------------------------------------------ */

static void sim_program_free(program *p)
{
    if (p == NULL)
        return;
    host_program_free(p->host);
    mem_free(p);
}

static hull_status sim_program_load(program **out, device *d, const graph *g)
{
    program *p = mem_calloc(1, sizeof *p);
    hull_status st = HULL_OK;

    *out = NULL;
    if (p == NULL)
        return fail_oom(sizeof *p);
    p->d = d;
    p->g = g;
    p->n_params = g->body->n_params;
    p->n_results = g->body->n_results;
    TRY_OUT(host_program_load(&p->host, g, NULL));
    *out = p;
    p = NULL;
out:
    sim_program_free(p);
    return st;
}

static void sim_plan_free(program_plan *pl)
{
    if (pl == NULL)
        return;
    host_plan_free(pl->host);
    mem_free(pl->bytes);
    mem_free(pl);
}

static hull_status shape_bytes(uint64_t *out, const graph *g, val v,
                               const shape *s)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < s->rank; i++)
        if (s->dims[i] < 0 || !mul_u64(&n, n, (uint64_t)s->dims[i]))
            return fail(HULL_ESHAPE, "a value has a size beyond 2^64");
    if (!dtype_bytes(out, graph_type(g, v)->dtype, n))
        return fail(HULL_ESHAPE, "a value has a size beyond 2^64 bytes");
    return HULL_OK;
}

static hull_status sim_program_plan(program_plan **out, const program *p,
                                    const shape *params, uint32_t n_params,
                                    shape *results, uint64_t *scratch)
{
    program_plan *pl = mem_calloc(1, sizeof *pl);
    const region *body = p->g->body;
    hull_status st = HULL_OK;

    *out = NULL;
    if (pl == NULL)
        return fail_oom(sizeof *pl);
    TRY_OUT(host_program_plan(&pl->host, p->host, params, n_params, results,
                              scratch));
    pl->scratch = *scratch;
    pl->bytes = mem_calloc((size_t)p->n_params + p->n_results + 1,
                           sizeof *pl->bytes);
    if (pl->bytes == NULL)
        TRY_OUT(fail_oom((p->n_params + p->n_results) * sizeof *pl->bytes));
    for (uint32_t i = 0; i < p->n_params; i++)
        TRY_OUT(shape_bytes(&pl->bytes[i], p->g, body->params[i], &params[i]));
    for (uint32_t i = 0; i < p->n_results; i++)
        TRY_OUT(shape_bytes(&pl->bytes[p->n_params + i], p->g,
                            body->results[i], &results[i]));
    *out = pl;
    pl = NULL;
out:
    sim_plan_free(pl);
    return st;
}

static hull_status sim_program_run(stream *s, const program *p,
                                   const program_plan *pl,
                                   const place *params, const place *results,
                                   place scratch)
{
    size_t n = (size_t)p->n_params + p->n_results;
    job *j = begin_job(s);
    hull_status st = mem_grow(&j->places, &j->cap_places, n + 1,
                              sizeof *j->places);

    if (st != HULL_OK) {
        pthread_mutex_unlock(&s->mutex);
        return st;
    }
    j->kind = JOB_RUN;
    j->at = scratch;
    j->p = p;
    j->pl = pl;
    if (p->n_params > 0)
        memcpy(j->places, params, p->n_params * sizeof *params);
    if (p->n_results > 0)
        memcpy(j->places + p->n_params, results,
               p->n_results * sizeof *results);
    end_job(s);
    return HULL_OK;
}

const backend backend_sim = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .has_targets = true,
    .target = sim_target,
    .why_not = sim_why_not,
    .lower = sim_lower,
    .buffer_new = sim_buffer_new,
    .buffer_wrap = sim_buffer_wrap,
    .buffer_free = sim_buffer_free,
    .stream_new = sim_stream_new,
    .stream_free = sim_stream_free,
    .upload = sim_upload,
    .upload_from = sim_upload_from,
    .download = sim_download,
    .stream_sync = sim_stream_sync,
    .program_load = sim_program_load,
    .program_free = sim_program_free,
    .program_plan = sim_program_plan,
    .plan_free = sim_plan_free,
    .program_run = sim_program_run,
};
