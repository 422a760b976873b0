/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pool.c - loops over the process's workers. A pool is what one module may use
 * of them. Several loops may be open at once, each with the workers that were
 * idle when it was opened; a loop that gets none, a nested one, and one in a
 * child process after fork run on their caller, which gives the same results.
 *
 * The items of a loop are cut into ranges, one for each thread in the order of
 * their NUMA nodes, and each thread takes the items of its own range in rising
 * order; when that is empty it helps with the next ones. So a thread meets the
 * same part of the data in loop after loop, and a slow thread, or one that has
 * not woken yet, keeps nobody waiting.
 *
 * When item i fails no item above it is begun any more, but all below it are
 * run: the lowest failing item is therefore the same in every run.
 *
 * A loop of a kernel takes some ten microseconds, a wake-up through the system
 * as long. So a worker that has no loop looks for the next one for a while
 * before it sleeps, and the caller looks for the last worker likewise.
 */
#include "base/pool_private.h"

#include <time.h>

/* Longer than the parts of a run that one thread does alone. Switches to sleep
 * in a run of MobileNetV3 on two threads: 15 with 20 microseconds, 3 with 50,
 * none with 200, which is 9 % faster than the first. */
#define SPIN_NS 200000
#define RANGES 32 /* more threads than that share them */

struct pool {
    crew *c;
    uint32_t n_threads;
};

typedef struct range {
    _Alignas(CACHE_LINE) _Atomic size_t next;
    size_t end;
} range;

struct loop {
    pool_fn *fn;
    void *user;
    crew *c;
    uint32_t n_ranges, n_seats;
    _Atomic size_t limit;    /* the lowest failing item, SIZE_MAX when none */
    _Atomic uint32_t inside; /* workers that may come or are here | WAITING */
    error_record failure;
    range ranges[RANGES];
};
#define WAITING ((uint32_t)1 << 31) /* the caller sleeps till the last leaves */

static _Thread_local struct {
    uint32_t runs;  /* pool_enter without pool_leave */
    uint32_t seat;  /* in the loop whose item it runs */
    bool inside;    /* it runs an item */
} self;

bool spin_again(spin *s)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++s->looks % 32 != 0)
        return true;
    if (s->end == 0)
        s->end = time_ns() + SPIN_NS;
    return time_ns() < s->end;
}

/* ---- items --------------------------------------------------------------- */

static void remember_failure(loop *l, size_t i, hull_status st)
{
    pthread_mutex_lock(&l->c->lock);
    if (i < atomic_load(&l->limit)) {
        error_take(&l->failure);
        l->failure.status = st;
        atomic_store(&l->limit, i);
    }
    pthread_mutex_unlock(&l->c->lock);
}

static void run_range(loop *l, range *r)
{
    while (atomic_load_explicit(&r->next, memory_order_relaxed) < r->end) {
        size_t i = atomic_fetch_add(&r->next, 1);
        hull_status st;

        if (i >= r->end || i >= atomic_load(&l->limit))
            return;
        st = l->fn(l->user, i);
        if (st != HULL_OK)
            remember_failure(l, i, st);
    }
}

static void work(loop *l, uint32_t seat)
{
    uint32_t first = seat * l->n_ranges / l->n_seats;

    self.inside = true;
    self.seat = seat;
    for (uint32_t k = 0; k < l->n_ranges; k++)
        run_range(l, &l->ranges[(first + k) % l->n_ranges]);
    self.inside = false;
    self.seat = 0;
}

void worker_begins(void)
{
    self.runs = 1; /* counted as a worker, never as a caller */
}

/* The loop may be gone as soon as the last worker is counted out. */
void worker_runs(worker *w, loop *l)
{
    crew *c = w->c;

    work(l, w->seat);
    if (atomic_fetch_sub(&l->inside, 1) != (WAITING | 1))
        return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->left);
    pthread_mutex_unlock(&c->lock);
}

/* In order on this thread: the first failure is the lowest one. */
static hull_status run_here(size_t n, pool_fn *fn, void *user)
{
    hull_status st = HULL_OK;
    bool inside = self.inside;
    uint32_t seat = self.seat;

    self.inside = true;
    self.seat = 0;
    for (size_t i = 0; i < n && st == HULL_OK; i++)
        st = fn(user, i);
    self.inside = inside;
    self.seat = seat;
    return st;
}

/* ---- loops --------------------------------------------------------------- */

static void cut(loop *l, size_t n)
{
    size_t each, more;

    l->n_ranges = l->n_seats < RANGES ? l->n_seats : RANGES;
    each = n / l->n_ranges;
    more = n % l->n_ranges; /* the first ones have one item more */
    for (size_t r = 0; r < l->n_ranges; r++) {
        size_t begin = r * each + (r < more ? r : more);

        atomic_init(&l->ranges[r].next, begin);
        l->ranges[r].end = begin + each + (r < more ? 1 : 0);
    }
}

/* Workers that have not come stay away; the others are waited for. */
static void wait_for_workers(loop *l, const worker_set *s)
{
    crew *c = l->c;
    spin looks = {0};

    if (atomic_load(&l->inside) == 0)
        return;
    atomic_fetch_sub(&l->inside, crew_recall(c, s, l));
    while (atomic_load(&l->inside) != 0)
        if (!spin_again(&looks))
            break;
    if (atomic_load(&l->inside) == 0 ||
        atomic_fetch_or(&l->inside, WAITING) == 0)
        return;
    pthread_mutex_lock(&c->lock);
    while (atomic_load(&l->inside) != WAITING)
        pthread_cond_wait(&c->left, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static hull_status run_shared(pool *p, size_t n, pool_fn *fn, void *user)
{
    size_t want = p->n_threads - 1 < n - 1 ? p->n_threads - 1 : n - 1;
    worker_set s;
    loop l;

    if (crew_claim(p->c, &s, (uint32_t)want) == 0)
        return run_here(n, fn, user);
    l.fn = fn;
    l.user = user;
    l.c = p->c;
    l.n_seats = s.n + 1;
    cut(&l, n);
    atomic_init(&l.limit, SIZE_MAX);
    atomic_init(&l.inside, s.n);
    crew_send(p->c, &s, &l);
    work(&l, 0);
    wait_for_workers(&l, &s);
    crew_release(p->c, &s);
    return atomic_load(&l.limit) == SIZE_MAX ? HULL_OK : error_put(&l.failure);
}

hull_status pool_for(pool *p, size_t n, pool_fn *fn, void *user)
{
    hull_status st;

    if (p == NULL || p->n_threads < 2 || n < 2 || self.inside ||
        !crew_alive(p->c))
        return run_here(n, fn, user);
    pool_enter(p);
    st = run_shared(p, n, fn, user);
    pool_leave(p);
    return st;
}

/* ---- pools --------------------------------------------------------------- */

hull_status pool_new(pool **out, uint32_t n_threads)
{
    hull_status st = HULL_OK;
    pool *p = NULL;

    *out = NULL;
    if (n_threads > POOL_MAX_THREADS)
        return fail(HULL_EINVAL, "pool of %u threads, wanted at most %d",
                    n_threads, POOL_MAX_THREADS);
    p = mem_calloc(1, sizeof *p);
    if (p == NULL)
        return fail_oom(sizeof *p);
    TRY_OUT(crew_join(&p->c, &p->n_threads, n_threads));
    *out = p;
    p = NULL;
out:
    pool_free(p);
    return st;
}

void pool_free(pool *p)
{
    if (p == NULL)
        return;
    crew_leave(p->c);
    mem_free(p);
}

void pool_enter(pool *p)
{
    if (p != NULL && self.runs++ == 0)
        crew_caller_begins(p->c, p->n_threads);
}

void pool_leave(pool *p)
{
    if (p != NULL && --self.runs == 0)
        crew_caller_ends(p->c);
}

uint32_t pool_threads(const pool *p)
{
    return p != NULL ? p->n_threads : 1;
}

bool pool_inside(void)
{
    return self.inside;
}

uint32_t pool_seat(void)
{
    return self.seat;
}

uint64_t time_ns(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
