/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pool.c - threads that are made once and share loops. One loop at a time: a
 * second caller, a nested call, and a child process after fork (whose workers
 * do not exist) run their loop themselves, which gives the same results.
 *
 * Items are taken in rising order from a counter. When item i fails no new
 * item is taken, but all items below i have been taken before and run to
 * their end: the lowest failing item is therefore the same in every run.
 *
 * A loop of a kernel takes some ten microseconds, a wake-up through the system
 * as long. So a worker that has no loop looks for the next one for a while
 * before it sleeps, and the caller looks for the last worker likewise. One word
 * says it all: the number of the loop, whether it is open, who is inside.
 */
#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 1024
#define LOOKS 4000 /* before a thread sleeps: about 20 to 60 microseconds */

/* state: loop number << 32 | OPEN | workers inside */
#define OPEN ((uint64_t)1 << 31)
#define INSIDE (OPEN - 1)

struct pool {
    uint32_t n_threads; /* with the caller */
    pid_t pid;
    pthread_t *workers;
    uint32_t n_workers;

    _Atomic uint64_t state;
    atomic_bool busy, quit;
    pthread_mutex_t lock;  /* for sleeping, and the failure */
    pthread_cond_t wake, idle;
    _Atomic uint32_t asleep; /* workers that wait for `wake` */
    atomic_bool waiting;     /* the caller waits for `idle` */
    size_t failed_at;      /* lowest failing item, SIZE_MAX when none */
    error_record failure;
    /* Fixed while the loop is open: */
    pool_fn *fn;
    void *user;
    size_t n;
    _Atomic size_t next;
    atomic_bool stop;
};

static _Thread_local bool inside; /* this thread runs an item of some loop */

static void look_again(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void remember_failure(pool *p, size_t i, hull_status st)
{
    pthread_mutex_lock(&p->lock);
    if (i < p->failed_at) {
        p->failed_at = i;
        error_take(&p->failure);
        p->failure.status = st;
    }
    pthread_mutex_unlock(&p->lock);
    atomic_store(&p->stop, true);
}

static void work(pool *p)
{
    inside = true;
    while (!atomic_load(&p->stop)) {
        size_t i = atomic_fetch_add(&p->next, 1);
        hull_status st;

        if (i >= p->n)
            break;
        st = p->fn(p->user, i);
        if (st != HULL_OK)
            remember_failure(p, i, st);
    }
    inside = false;
}

/* Enters the open loop after number `seen`; false when there is none. */
static bool join_loop(pool *p, uint64_t *seen)
{
    uint64_t now = atomic_load(&p->state);

    while ((now & OPEN) != 0 && now >> 32 != *seen)
        if (atomic_compare_exchange_weak(&p->state, &now, now + 1)) {
            *seen = now >> 32;
            return true;
        }
    return false;
}

static void leave_loop(pool *p)
{
    uint64_t before = atomic_fetch_sub(&p->state, 1);

    if ((before & INSIDE) != 1 || !atomic_load(&p->waiting))
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->idle);
    pthread_mutex_unlock(&p->lock);
}

/* Until there is a loop, or the pool ends: false. */
static bool wait_for_loop(pool *p, uint64_t *seen)
{
    for (int i = 0; i < LOOKS; i++) {
        if (join_loop(p, seen))
            return true;
        if (atomic_load(&p->quit))
            return false;
        look_again();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->asleep, 1);
    for (;;) {
        bool joined = join_loop(p, seen);

        if (joined || atomic_load(&p->quit)) {
            atomic_fetch_sub(&p->asleep, 1);
            pthread_mutex_unlock(&p->lock);
            return joined;
        }
        pthread_cond_wait(&p->wake, &p->lock);
    }
}

static void *worker_main(void *arg)
{
    pool *p = arg;
    uint64_t seen = 0;

    while (wait_for_loop(p, &seen)) {
        work(p);
        leave_loop(p);
    }
    return NULL;
}

/* Signals are the host program's: workers take none. */
static hull_status start_workers(pool *p)
{
    sigset_t all, before;
    int err = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (err == 0 && p->n_workers + 1 < p->n_threads) {
        err = pthread_create(&p->workers[p->n_workers], NULL, worker_main, p);
        if (err == 0)
            p->n_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err != 0)
        return fail(HULL_ENOMEM, "thread %u of %u cannot be made: code %d",
                    p->n_workers + 2, p->n_threads, err);
    return HULL_OK;
}

hull_status pool_new(pool **out, uint32_t n_threads)
{
    hull_status st = HULL_OK;
    pool *p = NULL;

    *out = NULL;
    if (n_threads > MAX_THREADS)
        return fail(HULL_EINVAL, "pool of %u threads, wanted at most %d",
                    n_threads, MAX_THREADS);
    if (n_threads == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);

        n_threads = online < 1             ? 1
                    : online > MAX_THREADS ? MAX_THREADS
                                           : (uint32_t)online;
    }
    p = mem_calloc(1, sizeof(*p));
    if (p == NULL)
        return fail_oom(sizeof(*p));
    p->n_threads = n_threads;
    p->pid = getpid();
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->idle, NULL);
    p->workers = mem_calloc(n_threads, sizeof(*p->workers));
    if (p->workers == NULL) {
        st = fail_oom(n_threads * sizeof(*p->workers));
        goto out;
    }
    TRY_OUT(start_workers(p));
    *out = p;
    p = NULL;
out:
    pool_free(p);
    return st;
}

void pool_free(pool *p)
{
    uint32_t i;

    if (p == NULL)
        return;
    if (p->pid == getpid()) {
        atomic_store(&p->quit, true);
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
        for (i = 0; i < p->n_workers; i++)
            pthread_join(p->workers[i], NULL);
        pthread_cond_destroy(&p->idle);
        pthread_cond_destroy(&p->wake);
        pthread_mutex_destroy(&p->lock);
    } /* else: after fork nobody else uses the locks, whatever their state */
    mem_free(p->workers);
    mem_free(p);
}

/* In order on this thread: the first failure is the lowest one. */
static hull_status run_here(size_t n, pool_fn *fn, void *user)
{
    hull_status st = HULL_OK;
    bool before = inside;
    size_t i;

    inside = true;
    for (i = 0; i < n && st == HULL_OK; i++)
        st = fn(user, i);
    inside = before;
    return st;
}

/* Takes the pool for a loop; false when another thread's loop has it. */
static bool open_loop(pool *p, size_t n, pool_fn *fn, void *user)
{
    uint64_t number;

    if (atomic_exchange(&p->busy, true))
        return false;
    number = (atomic_load(&p->state) >> 32) + 1;
    if (number > UINT32_MAX)
        number = 1; /* 0 is what a new worker has seen */
    p->failed_at = SIZE_MAX;
    p->fn = fn;
    p->user = user;
    p->n = n;
    atomic_store(&p->next, 0);
    atomic_store(&p->stop, false);
    atomic_store(&p->state, number << 32 | OPEN);
    if (atomic_load(&p->asleep) > 0) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
    }
    return true;
}

/* Waits for the workers that joined; those that woke late do not any more. */
static hull_status close_loop(pool *p)
{
    hull_status st = HULL_OK;

    atomic_fetch_and(&p->state, ~OPEN);
    for (int i = 0; i < LOOKS && (atomic_load(&p->state) & INSIDE) != 0; i++)
        look_again();
    if ((atomic_load(&p->state) & INSIDE) != 0) {
        pthread_mutex_lock(&p->lock);
        atomic_store(&p->waiting, true);
        while ((atomic_load(&p->state) & INSIDE) != 0)
            pthread_cond_wait(&p->idle, &p->lock);
        atomic_store(&p->waiting, false);
        pthread_mutex_unlock(&p->lock);
    }
    if (p->failed_at != SIZE_MAX)
        st = error_put(&p->failure);
    atomic_store(&p->busy, false);
    return st;
}

uint32_t pool_threads(const pool *p)
{
    return p != NULL ? p->n_workers + 1 : 1;
}

hull_status pool_for(pool *p, size_t n, pool_fn *fn, void *user)
{
    if (p == NULL || p->n_workers == 0 || n < 2 || inside ||
        p->pid != getpid() || !open_loop(p, n, fn, user))
        return run_here(n, fn, user);
    work(p);
    return close_loop(p);
}

uint64_t time_ns(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
