/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * crew.c - the workers of this process, one crew for all pools. The first pool
 * makes it, the last one ends it and joins its threads. A child process has
 * none of them: pools it inherits run their loops on the caller, pools it
 * makes get a crew of their own.
 *
 * Threads to spare. Callers count as threads, from the first loop of a run to
 * its last. What is left of the capacity (the CPUs that the process may use, or
 * more where a module asks for more) is divided among them, so with as many
 * callers as CPUs each works alone, and no worker is woken.
 *
 * Places. A worker that wakes on the CPU of the caller that woke it stays there
 * for milliseconds, the caller waiting for it. So whoever wakes a worker, or
 * saw it on its own CPU, keeps it off that one from then on: on two CPUs that
 * pins it. No worker is pinned to a CPU of its own: two processes that do so
 * would meet on one CPU while others idle, and no process knows of those in the
 * next container; where there is room the scheduler finds it. On machines with
 * several NUMA nodes a worker stays on the CPUs of its node.
 */
#include "base/pool_private.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

/* The process's crew, and who may change `users` and start workers. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    int once_failed;
    crew *now;
    const cpus *pretended;
    _Atomic uint32_t forks;
} all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_ONCE_INIT, 0, NULL, NULL, 0};

/* ---- fork ---------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&all.lock);
}

static void after_fork_in_child(void)
{
    all.now = NULL; /* its pools still hold it */
    atomic_fetch_add(&all.forks, 1);
    pthread_mutex_unlock(&all.lock);
}

static void watch_forks(void)
{
    all.once_failed = pthread_atfork(before_fork, after_fork,
                                     after_fork_in_child);
}

bool crew_alive(const crew *c)
{
    return c->forks == atomic_load_explicit(&all.forks, memory_order_relaxed);
}

void crew_pretend(const cpus *machine)
{
    all.pretended = machine;
}

/* ---- places -------------------------------------------------------------- */

/* Lets a worker run on the CPUs of its node but this one; -1: on all. It only
 * costs time when the system does not allow that. */
static void place(worker *w, int but)
{
#if defined(__linux__)
    const cpus *machine = &w->c->cpus;
    cpu_set_t set;

    CPU_ZERO(&set);
    for (uint32_t i = 0; i < machine->n; i++)
        if (machine->at[i].node == w->node && machine->at[i].cpu != but)
            CPU_SET(machine->at[i].cpu, &set);
    if (CPU_COUNT(&set) > 0)
        pthread_setaffinity_np(w->thread, sizeof set, &set);
#else
    (void)w;
    (void)but;
#endif
}

static int this_cpu(const crew *c)
{
#if defined(__linux__)
    return c->cpus.numbered && c->cpus.n > 1 ? sched_getcpu() : -1;
#else
    (void)c;
    return -1;
#endif
}

static bool several_nodes(const crew *c)
{
    return c->cpus.at[0].node != c->cpus.at[c->cpus.n - 1].node;
}

/* ---- a worker's life ----------------------------------------------------- */

static void see_cpu(worker *w)
{
    atomic_store_explicit(&w->cpu, this_cpu(w->c), memory_order_relaxed);
}

/* Its next loop, which it has joined then; NULL when the crew ends. */
static loop *next_loop(worker *w)
{
    spin s = {0};

    see_cpu(w);
    for (;;) {
        loop *l = NULL;

        if (atomic_load(&w->mail) != NULL)
            l = atomic_exchange(&w->mail, NULL);
        if (l != NULL || atomic_load(&w->c->quit))
            return l;
        if (spin_again(&s))
            continue;
        /* Whoever sends mail after this looks at `asleep` after that. */
        atomic_store(&w->asleep, true);
        if ((atomic_load(&w->mail) == NULL && !atomic_load(&w->c->quit)) ||
            !atomic_exchange(&w->asleep, false))
            while (sem_wait(&w->wake) != 0)
                continue; /* a signal */
        see_cpu(w);
        s = (spin){0};
    }
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    loop *l;

    worker_begins();
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "hull worker");
#endif
    while ((l = next_loop(w)) != NULL)
        worker_runs(w, l);
    return NULL;
}

static void wake(worker *w)
{
    if (atomic_load(&w->asleep) && atomic_exchange(&w->asleep, false))
        sem_post(&w->wake);
}

/* Up to n workers; signals are the host program's, so they take none. The
 * caller holds the lock of all crews. Returns a code of pthread_create. */
static int start_workers(crew *c, uint32_t n)
{
    uint32_t i = atomic_load(&c->n_workers);
    sigset_t full, before;
    int err = 0;

    if (i >= n)
        return 0;
    sigfillset(&full);
    pthread_sigmask(SIG_SETMASK, &full, &before);
    for (; i < n && err == 0; i++) {
        worker *w = c->workers[i];

        err = pthread_create(&w->thread, NULL, worker_main, w);
        if (err != 0)
            break;
        if (c->cpus.numbered && several_nodes(c))
            place(w, -1);
        atomic_store(&c->n_workers, i + 1);
        atomic_fetch_or(&c->idle[i / 64], (uint64_t)1 << (i % 64));
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

/* ---- made and ended ------------------------------------------------------ */

static void crew_free(crew *c)
{
    bool alive = crew_alive(c);
    uint32_t i, n = atomic_load(&c->n_workers);

    atomic_store(&c->quit, true);
    for (i = 0; alive && i < n; i++)
        wake(c->workers[i]);
    for (i = 0; alive && i < n; i++)
        pthread_join(c->workers[i]->thread, NULL);
    for (i = 0; i < POOL_MAX_THREADS && c->workers[i] != NULL; i++) {
        if (alive)
            sem_destroy(&c->workers[i]->wake);
        mem_free(c->workers[i]);
    }
    if (alive) { /* else nobody else uses the locks, whatever their state */
        pthread_mutex_destroy(&c->lock);
        pthread_cond_destroy(&c->left);
    }
    mem_free(c);
}

static hull_status crew_new(crew **out)
{
    crew *c = mem_calloc(1, sizeof *c);

    *out = NULL;
    if (c == NULL)
        return fail_oom(sizeof *c);
    if (all.pretended != NULL)
        c->cpus = *all.pretended;
    else
        cpus_read(&c->cpus);
    c->forks = atomic_load(&all.forks);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->left, NULL);
    atomic_store(&c->capacity, 1);
    log_info("pool", "%u CPUs in the affinity mask, nodes %u to %u; quota and "
             "mask grant %u threads", c->cpus.n, c->cpus.at[0].node,
             c->cpus.at[c->cpus.n - 1].node, c->cpus.n_threads);
    *out = c;
    return HULL_OK;
}

/* Room for workers until n threads may work at once. */
static hull_status make_room(crew *c, uint32_t n)
{
    uint32_t capacity = atomic_load(&c->capacity);

    for (; capacity < n; capacity++) {
        worker *w = mem_alloc_aligned(CACHE_LINE, sizeof *w);

        if (w == NULL)
            return fail_oom(sizeof *w);
        memset(w, 0, sizeof *w);
        sem_init(&w->wake, 0, 0);
        w->c = c;
        atomic_init(&w->cpu, -1);
        w->off = -1;
        w->node = c->cpus.at[capacity % c->cpus.n].node;
        c->workers[capacity - 1] = w;
        atomic_store(&c->capacity, capacity + 1);
    }
    return HULL_OK;
}

static hull_status join_locked(crew **out, uint32_t *out_threads, uint32_t n)
{
    crew *c = all.now;
    int err;

    if (c == NULL)
        TRY(crew_new(&c));
    all.now = c;
    c->users++;
    *out = c;
    if (n == 0)
        n = c->cpus.n_threads;
    n = n < c->cpus.n ? n : c->cpus.n;
    TRY(make_room(c, n > c->cpus.n_threads ? n : c->cpus.n_threads));
    err = start_workers(c, n - 1);
    if (err != 0)
        return fail(HULL_ENOMEM, "thread %u of %u cannot be made: code %d",
                    atomic_load(&c->n_workers) + 2, n, err);
    *out_threads = n;
    return HULL_OK;
}

hull_status crew_join(crew **out, uint32_t *out_threads, uint32_t n)
{
    hull_status st = HULL_OK;
    crew *c = NULL;

    *out = NULL;
    *out_threads = 0;
    pthread_once(&all.once, watch_forks);
    if (all.once_failed != 0)
        return fail(HULL_ENOMEM, "pthread_atfork: code %d", all.once_failed);
    pthread_mutex_lock(&all.lock);
    st = join_locked(&c, out_threads, n);
    pthread_mutex_unlock(&all.lock);
    if (st == HULL_OK)
        *out = c;
    else
        crew_leave(c);
    return st;
}

void crew_leave(crew *c)
{
    bool last;

    if (c == NULL)
        return;
    pthread_mutex_lock(&all.lock);
    last = --c->users == 0;
    if (last && all.now == c)
        all.now = NULL;
    pthread_mutex_unlock(&all.lock);
    if (last)
        crew_free(c);
}

/* ---- callers ------------------------------------------------------------- */

/* More callers of modules with few threads each: more workers. Fewer than
 * wanted is no failure, the loops run all the same. */
void crew_caller_begins(crew *c, uint32_t n)
{
    uint32_t callers = atomic_fetch_add(&c->callers, 1) + 1;
    uint32_t capacity = atomic_load(&c->capacity);
    uint64_t want = (uint64_t)callers * (n - 1);

    if (callers >= capacity)
        return;
    want = want < capacity - callers ? want : capacity - callers;
    if (want <= atomic_load(&c->n_workers) || !crew_alive(c))
        return;
    pthread_mutex_lock(&all.lock);
    start_workers(c, (uint32_t)want);
    pthread_mutex_unlock(&all.lock);
}

void crew_caller_ends(crew *c)
{
    atomic_fetch_sub(&c->callers, 1);
}

/* ---- claims -------------------------------------------------------------- */

static uint32_t bits_in(uint64_t v)
{
    return (uint32_t)__builtin_popcountll(v);
}

static uint32_t count_idle(crew *c, uint32_t n_words)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_words; i++)
        n += bits_in(atomic_load_explicit(&c->idle[i], memory_order_relaxed));
    return n;
}

/* Up to n idle ones among `of` in one word. */
static void claim_word(crew *c, worker_set *s, uint32_t word, uint64_t of,
                       uint32_t n)
{
    uint64_t idle = atomic_load(&c->idle[word]), some;

    do {
        some = idle & of;
        while (bits_in(some) > n)
            some &= ~((uint64_t)1 << (63 - __builtin_clzll(some)));
        if (some == 0)
            return;
    } while (!atomic_compare_exchange_weak(&c->idle[word], &idle,
                                           idle & ~some));
    s->bits[word] |= some;
    s->n += bits_in(some);
}

/* The first worker on the caller's node. */
static uint32_t nearest(const crew *c, int cpu, uint32_t n_workers)
{
    uint16_t node = 0;

    if (cpu < 0 || !several_nodes(c))
        return 0;
    for (uint32_t i = 0; i < c->cpus.n; i++)
        if (c->cpus.at[i].cpu == cpu)
            node = c->cpus.at[i].node;
    for (uint32_t i = 0; i < n_workers; i++)
        if (c->workers[i]->node == node)
            return i;
    return 0;
}

/* How many workers a caller may have: its share of the threads to spare. */
static uint32_t share(crew *c, uint32_t n_workers)
{
    uint32_t callers = atomic_load(&c->callers);
    uint32_t capacity = atomic_load(&c->capacity), spare, taken;

    if (callers >= capacity || callers == 0)
        return 0;
    spare = capacity - callers;
    taken = n_workers - count_idle(c, (n_workers + 63) / 64);
    if (taken >= spare)
        return 0;
    taken = spare - taken;
    spare = (spare + callers - 1) / callers;
    return spare < taken ? spare : taken;
}

/* The bits of word number k, of n, in the order of a set: from `start` to the
 * end, then from the beginning. */
static uint64_t in_order(const worker_set *s, uint32_t k, uint32_t n,
                         uint32_t *out_word)
{
    uint64_t upper = ~(uint64_t)0 << (s->start % 64);

    *out_word = (s->start / 64 + k) % n;
    return k == 0 ? upper : k == n ? ~upper : ~(uint64_t)0;
}

uint32_t crew_claim(crew *c, worker_set *s, uint32_t n)
{
    uint32_t n_workers = atomic_load(&c->n_workers), part, word;

    s->n = 0;
    part = share(c, n_workers);
    n = n < part ? n : part;
    if (n == 0)
        return 0;
    s->n_words = (n_workers + 63) / 64;
    memset(s->bits, 0, s->n_words * sizeof *s->bits);
    s->cpu = this_cpu(c);
    s->start = nearest(c, s->cpu, n_workers);
    for (uint32_t k = 0; k <= s->n_words && s->n < n; k++) {
        uint64_t of = in_order(s, k, s->n_words, &word);

        claim_word(c, s, word, of, n - s->n);
    }
    return s->n;
}

/* What is done with a worker of a set, number k in its order. */
typedef uint32_t worker_fn(worker *w, const worker_set *s, loop *l, uint32_t k);

static uint32_t each(crew *c, const worker_set *s, loop *l, worker_fn *fn)
{
    uint32_t sum = 0, done = 0, word;

    for (uint32_t k = 0; done < s->n; k++) {
        uint64_t bits = in_order(s, k, s->n_words, &word) & s->bits[word];

        for (; bits != 0; bits &= bits - 1)
            sum += fn(c->workers[word * 64 + (uint32_t)__builtin_ctzll(bits)],
                      s, l, done++);
    }
    return sum;
}

static uint32_t send_one(worker *w, const worker_set *s, loop *l, uint32_t k)
{
    int seen = atomic_load_explicit(&w->cpu, memory_order_relaxed);

    w->seat = k + 1;
    if (s->cpu >= 0 && s->cpu != w->off &&
        (seen == s->cpu || w->late || atomic_load(&w->asleep))) {
        place(w, s->cpu);
        w->off = s->cpu;
    }
    w->late = false;
    atomic_store(&w->mail, l);
    wake(w);
    return 1;
}

void crew_send(crew *c, const worker_set *s, loop *l)
{
    each(c, s, l, send_one);
}

static uint32_t recall_one(worker *w, const worker_set *s, loop *l, uint32_t k)
{
    (void)s;
    (void)k;
    if (!atomic_compare_exchange_strong(&w->mail, &l, NULL))
        return 0;
    w->late = true; /* perhaps it waits for this very CPU */
    return 1;
}

uint32_t crew_recall(crew *c, const worker_set *s, loop *l)
{
    return each(c, s, l, recall_one);
}

void crew_release(crew *c, const worker_set *s)
{
    for (uint32_t word = 0; word < s->n_words; word++)
        if (s->bits[word] != 0)
            atomic_fetch_or(&c->idle[word], s->bits[word]);
}
