/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * connection.c - what stores on the network share: connections that wait for
 * the next call, SIGPIPE held back while one is written to, and the time that
 * a call has left.
 */
#include "cache/tier.h"

#include <time.h>
#include <unistd.h>

void idle_init(idle *i, void (*close)(void *connection))
{
    *i = (idle){.owner = getpid(), .close = close};
    pthread_mutex_init(&i->lock, NULL);
}

static void forget_parents(idle *i)
{
    if (i->owner == getpid())
        return;
    i->owner = getpid();
    i->n = 0;
}

void idle_fini(idle *i)
{
    forget_parents(i);
    for (size_t k = 0; k < i->n; k++)
        i->close(i->p[k]);
    pthread_mutex_destroy(&i->lock);
}

void *idle_take(idle *i)
{
    void *connection;

    pthread_mutex_lock(&i->lock);
    forget_parents(i);
    connection = i->n > 0 ? i->p[--i->n] : NULL;
    pthread_mutex_unlock(&i->lock);
    return connection;
}

void idle_give(idle *i, void *connection)
{
    pthread_mutex_lock(&i->lock);
    forget_parents(i);
    if (i->n < IDLE_MAX) {
        i->p[i->n++] = connection;
        connection = NULL;
    }
    pthread_mutex_unlock(&i->lock);
    if (connection != NULL)
        i->close(connection);
}

void no_sigpipe_begin(no_sigpipe *s)
{
    sigset_t mine, pending;

    sigemptyset(&mine);
    sigaddset(&mine, SIGPIPE);
    sigpending(&pending);
    s->pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &mine, &s->old);
}

/* One that came meanwhile is ours and goes; one from before stays. */
void no_sigpipe_end(no_sigpipe *s)
{
    const struct timespec now = {0, 0};
    sigset_t mine;

    sigemptyset(&mine);
    sigaddset(&mine, SIGPIPE);
    if (!s->pending)
        while (sigtimedwait(&mine, NULL, &now) == SIGPIPE)
            ;
    pthread_sigmask(SIG_SETMASK, &s->old, NULL);
}

uint64_t ms_left(uint64_t end)
{
    uint64_t now = time_ns();

    return now < end ? (end - now + 999999) / 1000000 : 0;
}

void pause_about(uint64_t ms, uint64_t end)
{
    uint64_t ns = ms * 500000, left = ms_left(end) * 1000000;
    struct timespec t;
    uint32_t random = 0;

    ignore(getentropy(&random, sizeof random) == 0 ? HULL_OK : HULL_EIO);
    ns += ms * 1000000 / UINT32_MAX * random;
    ns = ns < left ? ns : left;
    t = (struct timespec){(time_t)(ns / 1000000000),
                          (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}
