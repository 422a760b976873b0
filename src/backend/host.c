/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * host.c - what the backends on host memory share: buffers, streams on which
 * everything is done at once, programs run by the interpreter with the kernels
 * that the device picks.
 */
#include "backend/host.h"
#include "ops/box.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define HUGE_PAGE ((uint64_t)2 << 20)
#define STAGE_SIZE ((uint64_t)512 << 10) /* stays in a cache of its core */

struct device_buffer {
    device *d;
    char *p;
    uint64_t size;
    bool owned;
};

struct stream {
    device *d;
    void **params, **results; /* grown on demand, kept */
    size_t cap_params, cap_results;
    char *stage;              /* see host_upload_from; or NULL */
    run_context rc;
};

struct program {
    device *d;
    uint32_t n_params, n_results;
    const graph *g;
    host_program *host;
    dynamic_program *dynamic; /* in its place, where a run decides sizes */
};

struct program_plan {
    host_plan *host;
};

/* ---- memory -------------------------------------------------------------- */

/* Weights and slabs of some size lie on pages of 2 MiB where the system has
 * them: fewer misses in the TLB, 9 to 14 % of the read bandwidth. */
static void *big_memory(uint64_t size)
{
    void *p;

    if (size < 2 * HUGE_PAGE)
        return mem_alloc_aligned(PLACE_ALIGN, size);
    p = mem_alloc_aligned(HUGE_PAGE, size);
    if (p != NULL)
        (void)madvise(p, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return p;
}

hull_status host_buffer_new(device_buffer **out, device *d, uint64_t size)
{
    device_buffer *b = mem_calloc(1, sizeof *b);

    *out = NULL;
    if (b == NULL)
        return fail_oom(sizeof *b);
    b->p = big_memory(size);
    if (b->p == NULL) {
        mem_free(b);
        return fail_oom(size);
    }
    b->d = d;
    b->size = size;
    b->owned = true;
    *out = b;
    return HULL_OK;
}

hull_status host_buffer_wrap(device_buffer **out, device *d,
                                   const void *host, uint64_t size)
{
    union { const void *in; void *out; } drop_const = {.in = host};

    *out = mem_calloc(1, sizeof **out);
    if (*out == NULL)
        return fail_oom(sizeof **out);
    (*out)->d = d;
    (*out)->p = drop_const.out; /* only ever read */
    (*out)->size = size;
    return HULL_OK;
}

void host_buffer_free(device_buffer *b)
{
    if (b == NULL)
        return;
    if (b->owned)
        mem_free(b->p);
    mem_free(b);
}

static void *place_memory(place at)
{
    return at.buffer != NULL ? at.buffer->p + at.off : NULL;
}

const void *host_buffer_view(place p)
{
    return place_memory(p);
}

/* ---- streams ------------------------------------------------------------- */

hull_status host_stream_new(stream **out, device *d)
{
    *out = mem_calloc(1, sizeof **out);
    if (*out == NULL)
        return fail_oom(sizeof **out);
    (*out)->d = d;
    return HULL_OK;
}

void host_stream_free(stream *s)
{
    if (s == NULL)
        return;
    mem_free(s->params);
    mem_free(s->results);
    mem_free(s->stage);
    mem_free(s);
}

void host_stream_random(stream *s, random_state *random)
{
    s->rc.random = random;
}

void host_stream_profile(stream *s, const profiler *p)
{
    s->rc.profile = p;
}

hull_status host_upload(stream *s, place dst, const void *src)
{
    (void)s;
    if (dst.size > 0)
        memcpy(place_memory(dst), src, dst.size);
    return HULL_OK;
}

/* Past the caches: no line of dst is read before it is written, and what is in
 * the caches stays there. */
static void stream_copy(char *dst, const char *src, size_t n)
{
#if defined(__SSE2__)
    size_t head = (16 - (uintptr_t)dst % 16) % 16, i = head < n ? head : n;

    memcpy(dst, src, i);
    for (; i + 64 <= n; i += 64)
        for (size_t k = i; k < i + 64; k += 16)
            _mm_stream_si128((__m128i *)(void *)(dst + k),
                             _mm_loadu_si128((const void *)(src + k)));
    memcpy(dst + i, src + i, n - i);
    _mm_sfence();
#else
    memcpy(dst, src, n);
#endif
}

/* What is cold and large passes through a small piece of memory. */
hull_status host_upload_from(stream *s, place dst, upload_reader *read,
                             void *user, bool cold)
{
    char *to = place_memory(dst);
    uint64_t n;

    if (!cold || dst.size < STAGE_SIZE / 2)
        return dst.size > 0 ? read(user, 0, to, dst.size) : HULL_OK;
    if (s->stage == NULL)
        s->stage = mem_alloc_aligned(PLACE_ALIGN, STAGE_SIZE);
    if (s->stage == NULL)
        return fail_oom(STAGE_SIZE);
    for (uint64_t off = 0; off < dst.size; off += n) {
        n = dst.size - off < STAGE_SIZE ? dst.size - off : STAGE_SIZE;
        TRY(read(user, off, s->stage, n));
        stream_copy(to + off, s->stage, n);
    }
    return HULL_OK;
}

hull_status host_download(stream *s, void *dst, place src)
{
    (void)s;
    if (src.size > 0)
        memcpy(dst, place_memory(src), src.size);
    return HULL_OK;
}

hull_status host_stream_sync(stream *s)
{
    (void)s;
    return HULL_OK;
}

/* ---- programs ------------------------------------------------------------ */

void host_unload(program *p)
{
    if (p == NULL)
        return;
    host_program_free(p->host);
    dynamic_program_free(p->dynamic);
    mem_free(p);
}

hull_status host_load(program **out, device *d, const graph *g)
{
    program *p = mem_calloc(1, sizeof *p);
    hull_status st = HULL_OK;

    *out = NULL;
    if (p == NULL)
        return fail_oom(sizeof *p);
    p->d = d;
    p->n_params = g->body->n_params;
    p->n_results = g->body->n_results;
    p->g = g;
    if (graph_is_dynamic(g))
        TRY_OUT(dynamic_program_load(&p->dynamic, g, d));
    else
        TRY_OUT(host_program_load(&p->host, g, d));
    *out = p;
    p = NULL;
out:
    host_unload(p);
    return st;
}

void host_forget_plan(program_plan *pl)
{
    if (pl == NULL)
        return;
    host_plan_free(pl->host);
    mem_free(pl);
}

hull_status host_plan_shapes(program_plan **out, const program *p,
                                    const shape *params, uint32_t n_params,
                                    shape *results, uint64_t *scratch)
{
    program_plan *pl = mem_calloc(1, sizeof *pl);
    hull_status st = HULL_OK;

    *out = NULL;
    if (pl == NULL)
        return fail_oom(sizeof *pl);
    if (p->host == NULL)
        TRY_OUT(fail(HULL_EINTERNAL, "a program without a plan is planned"));
    TRY_OUT(host_program_plan(&pl->host, p->host, params, n_params, results,
                              scratch));
    *out = pl;
    pl = NULL;
out:
    host_forget_plan(pl);
    return st;
}

hull_status host_run_part(stream *s, const program *p, const program_plan *pl,
                          const place *params, const place *results,
                          place scratch, node_range part)
{
    TRY(mem_grow(&s->params, &s->cap_params, p->n_params, sizeof *s->params));
    TRY(mem_grow(&s->results, &s->cap_results, p->n_results,
                 sizeof *s->results));
    for (uint32_t i = 0; i < p->n_params; i++)
        s->params[i] = place_memory(params[i]);
    for (uint32_t i = 0; i < p->n_results; i++)
        s->results[i] = place_memory(results[i]);
    return host_program_run(p->host, pl->host, s->params, s->results,
                            place_memory(scratch), part, &s->rc);
}

hull_status host_run(stream *s, const program *p, const program_plan *pl,
                     const place *params, const place *results, place scratch)
{
    return host_run_part(s, p, pl, params, results, scratch, ALL_NODES);
}

node_range host_reads(const program *p, uint32_t param)
{
    return host_program_reads(p->host, param);
}

bool host_copies(const program *p, uint32_t param)
{
    return p->host != NULL && host_program_copies(p->host, param);
}

static hull_status wrap_place(box **out, const program *p, uint32_t i,
                              const shape *sh, place at)
{
    const type *ty = graph_type(p->g, p->g->body->params[i]);
    tensor t = {.dtype = ty->dtype, .rank = sh->rank,
                .data = place_memory(at)};

    memcpy(t.shape, sh->dims, sizeof t.shape);
    *out = box_borrow(&t);
    return *out != NULL ? HULL_OK : HULL_ENOMEM;
}

hull_status host_run_boxes(stream *s, const program *p,
                                         const shape *shapes,
                                         const place *params,
                                         box *const *boxes, box **results,
                                         arena *texts)
{
    box **all = mem_calloc(p->n_params + 1u, sizeof(*all));
    hull_status st = HULL_OK;

    if (all == NULL)
        return fail_oom(p->n_params * sizeof(*all));
    if (p->dynamic == NULL)
        TRY_OUT(fail(HULL_EINTERNAL, "a planned program is run without one"));
    for (uint32_t i = 0; i < p->n_params; i++) {
        if (boxes[i] != NULL)
            all[i] = box_ref(boxes[i]);
        else
            TRY_OUT(wrap_place(&all[i], p, i, &shapes[i], params[i]));
    }
    st = dynamic_program_run(p->dynamic, all, results, texts, &s->rc);
out:
    for (uint32_t i = 0; i < p->n_params; i++)
        box_unref(all[i]);
    mem_free(all);
    return st;
}

