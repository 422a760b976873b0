/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * callback.c - a store of the program that uses the library: three functions
 * of its own (hull_cache_store in hull.h), asked after all other tiers.
 */
#include "cache/tier.h"

#include "cache/disk.h"

typedef struct callback {
    hull_cache_store store;
} callback;

/* Where a value arrives; it remembers why it could not take more. */
typedef struct taker {
    buf *out;
    hull_status st;
} taker;

static hull_status take(void *user, const void *p, size_t n)
{
    taker *t = user;

    if (t->st == HULL_OK) {
        buf_put(t->out, p, n);
        t->st = buf_status(t->out);
    }
    return t->st;
}

/* The program's own statuses have no text of ours. */
static hull_status outcome(hull_status st, const char *what)
{
    return st == HULL_OK ? st
                         : fail(st > HULL_OK && st <= HULL_EINTERNAL
                                    ? st : HULL_EINTERNAL,
                                "%s says %s", what, hull_status_name(st));
}

static hull_status callback_get(void *self, tier_call *call, const char *name,
                                buf *out)
{
    const hull_cache_store *s = &((callback *)self)->store;
    taker t = {out, HULL_OK};
    hull_status st = s->get(s->user, name, take, &t);

    call->received = out->n;
    TRY(t.st);
    return outcome(st, "get");
}

/* HULL_ENOTFOUND is an outcome of get alone. */
static hull_status callback_put(void *self, tier_call *call, const char *name,
                                bytes value)
{
    const hull_cache_store *s = &((callback *)self)->store;
    hull_status st = s->put(s->user, name, value.p, value.n);

    call->sent = st == HULL_OK ? value.n : 0;
    return outcome(st == HULL_ENOTFOUND ? HULL_EIO : st, "put");
}

static hull_status callback_remove(void *self, tier_call *call,
                                   const char *name)
{
    const hull_cache_store *s = &((callback *)self)->store;

    (void)call;
    return s->remove == NULL ? HULL_OK
                             : outcome(s->remove(s->user, name), "remove");
}

static void callback_close(void *self)
{
    callback *c = self;

    if (c->store.release != NULL)
        c->store.release(c->store.user);
    mem_free(c);
}

static const tier_ops callback_ops = {
    .get = callback_get,
    .put = callback_put,
    .remove = callback_remove,
    .close = callback_close,
};

hull_status hull_cache_add_store(hull_cache *c, const hull_cache_store *store,
                                 unsigned flags)
{
    bool read_only = (flags & HULL_STORE_READ_ONLY) != 0;
    hull_status st;
    callback *self;

    if (c == NULL || store == NULL)
        return fail(HULL_EINVAL, "cache and store must not be NULL");
    if ((flags & ~(unsigned)HULL_STORE_READ_ONLY) != 0)
        return fail(HULL_EINVAL, "flags are %u, wanted HULL_STORE_READ_ONLY "
                    "or 0", flags);
    if (store->get == NULL || (store->put == NULL && !read_only))
        return fail(HULL_EINVAL, "a store needs get, and put unless it is "
                    "read-only");
    self = mem_calloc(1, sizeof *self);
    if (self == NULL)
        return fail_oom(sizeof *self);
    self->store = *store;
    st = remotes_add(c->remotes, &callback_ops, self, read_only);
    if (st != HULL_OK)
        mem_free(self);
    return st;
}
