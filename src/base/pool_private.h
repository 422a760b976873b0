/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pool_private.h - shared by the files of the pool and their tests.
 *
 *   cpus.c   what this process may use of the machine
 *   crew.c   the process's workers: made, placed, claimed, woken, ended
 *   pool.c   loops over them, and a module's share of them
 */
#ifndef HULL_POOL_PRIVATE_H
#define HULL_POOL_PRIVATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/base.h"

#define POOL_MAX_THREADS 1024
#define CACHE_LINE 64

/* ---- cpus.c -------------------------------------------------------------- */

typedef struct cpu_place {
    uint16_t cpu, node;
} cpu_place;

typedef struct cpus {
    uint32_t n;         /* in the affinity mask of the calling thread */
    uint32_t n_threads; /* of them that the cgroup's quota lets work at once */
    bool numbered;      /* at[].cpu are the system's numbers */
    cpu_place at[POOL_MAX_THREADS]; /* by node, then by number */
} cpus;

void cpus_read(cpus *out);
/* The parts of it; root stands in front of /proc and /sys. */
uint32_t cpus_quota(const char *root); /* UINT32_MAX: none */
void cpus_sort(cpus *c, const char *root);

/* ---- crew.c -------------------------------------------------------------- */

typedef struct loop loop;
typedef struct crew crew;

typedef struct worker {
    _Alignas(CACHE_LINE) _Atomic(loop *) mail; /* to join; NULL = none */
    uint32_t seat;      /* in that loop; seat, off, late: the claimer's */
    atomic_bool asleep; /* will wait for `wake`; who resets it posts that */
    sem_t wake;
    crew *c;
    pthread_t thread;
    uint16_t node;
    atomic_int cpu;     /* where it was seen last, -1 = nowhere */
    int off;            /* the CPU that it is kept off, -1 = none */
    bool late;          /* did not come to its last loop */
} worker;

#define CREW_WORDS (POOL_MAX_THREADS / 64)
typedef struct worker_set {
    uint64_t bits[CREW_WORDS];
    uint32_t n, n_words;
    uint32_t start;     /* the order is from this worker on, and around */
    int cpu;            /* the claimer's, -1 = not known */
} worker_set;

struct crew {
    uint32_t users;     /* pools; under the lock of all crews */
    uint32_t forks;     /* of the process when the crew was made */
    cpus cpus;
    _Atomic uint32_t capacity;  /* threads that may work, callers too */
    _Atomic uint32_t n_workers; /* started; at most capacity - 1 */
    worker *workers[POOL_MAX_THREADS]; /* capacity - 1 of them */
    _Atomic uint64_t idle[CREW_WORDS]; /* workers that no loop has */
    _Atomic uint32_t callers;
    atomic_bool quit;
    pthread_mutex_t lock;       /* failures, and the last worker's leaving */
    pthread_cond_t left;
};

/* One more pool that wants so many threads (0 = all); *out_threads is how many
 * it gets. */
hull_status crew_join(crew **out, uint32_t *out_threads, uint32_t n) MUST_CHECK;
void crew_leave(crew *c);
/* False in a child process: its workers are not there. */
bool crew_alive(const crew *c);
/* A thread begins or ends to work for itself and open loops of n threads. */
void crew_caller_begins(crew *c, uint32_t n);
void crew_caller_ends(crew *c);
/* Takes up to n idle workers, nearest first, as far as there are threads to
 * spare; calls crew_send for each; and gives them back. */
uint32_t crew_claim(crew *c, worker_set *out, uint32_t n);
void crew_send(crew *c, const worker_set *s, loop *l);
/* Workers that have not read their mail need not come: how many. */
uint32_t crew_recall(crew *c, const worker_set *s, loop *l);
void crew_release(crew *c, const worker_set *s);

/* The next crew believes this of the machine; NULL: what is true. For tests. */
void crew_pretend(const cpus *machine);

/* ---- pool.c -------------------------------------------------------------- */

void worker_begins(void);             /* on its thread, once */
void worker_runs(worker *w, loop *l); /* its part of the loop */

/* Busy waiting: true until it is time to sleep. */
typedef struct spin {
    uint32_t looks;
    uint64_t end;
} spin;
bool spin_again(spin *s);

#endif
