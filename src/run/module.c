/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module.c - a module's life: programs loaded on their devices, the current
 * weight set and its pins, the reclaimer.
 */
#include "run/module.h"

#include <string.h>

/* A run that makes less than this is no sooner done than fill and run. */
#define LATE_LEAST ((uint64_t)8 << 20)

device *module_device(const module *m, uint32_t block)
{
    return devices_find(&m->devices, m->plan->blocks[block].backend);
}

uint32_t device_index(const module *m, const device *d)
{
    uint32_t i = 0;

    while (m->devices.d[i] != d)
        i++;
    return i;
}

const plan *module_plan(const module *m)
{
    return m->plan;
}

/* ---- the reclaimer ------------------------------------------------------- */

static void *reclaim(void *user)
{
    module *m = user;
    weight_set *s;

    pthread_mutex_lock(&m->retired_lock);
    while (!m->closing || m->n_retired > 0) {
        bool settle = m->unsettled && !m->closing;

        if (m->n_retired == 0 && !settle) {
            pthread_cond_wait(&m->retired_some, &m->retired_lock);
            continue;
        }
        s = m->n_retired > 0 ? m->retired[--m->n_retired] : NULL;
        m->unsettled = m->unsettled && !settle;
        pthread_mutex_unlock(&m->retired_lock);
        set_free(s);
        if (settle)
            module_settle(m);
        pthread_mutex_lock(&m->retired_lock);
    }
    pthread_mutex_unlock(&m->retired_lock);
    return NULL;
}

void module_reclaim(module *m)
{
    weight_set *s;

    do {
        s = NULL;
        pthread_mutex_lock(&m->retired_lock);
        if (m->n_retired > 0)
            s = m->retired[--m->n_retired];
        pthread_mutex_unlock(&m->retired_lock);
        set_free(s);
    } while (s != NULL);
}

static void retire(module *m, weight_set *s)
{
    hull_status st = HULL_ENOMEM;

    pthread_mutex_lock(&m->retired_lock);
    if (m->has_reclaimer)
        st = mem_grow(&m->retired, &m->cap_retired, m->n_retired + 1,
                      sizeof(*m->retired));
    if (st == HULL_OK) {
        m->retired[m->n_retired++] = s;
        pthread_cond_signal(&m->retired_some);
    }
    pthread_mutex_unlock(&m->retired_lock);
    if (st != HULL_OK)
        set_free(s); /* no reclaimer: then the last reader frees it */
}

static void drop(module *m, weight_set *s)
{
    if (set_unref_last(s))
        retire(m, s);
}

void module_want_settled(module *m, weight_set *s)
{
    if (atomic_exchange(&s->settling, true))
        return;
    pthread_mutex_lock(&m->retired_lock);
    m->unsettled = true;
    pthread_cond_signal(&m->retired_some);
    pthread_mutex_unlock(&m->retired_lock);
}

/* ---- pins ---------------------------------------------------------------- */

/* Names the holes that have no value before the first fill. */
static hull_status unbound(const module *m)
{
    hull_status st;
    uint32_t n = 0;
    buf names;

    buf_init(&names, 2048);
    for (uint32_t i = 0; i < m->plan->n_holes; i++) {
        const plan_hole *h = &m->plan->holes[i];

        if (h->kept && h->kept_value != NULL)
            continue;
        if (n++ < 12)
            buf_printf(&names, "%s'%.*s'", n > 1 ? ", " : "",
                       STR_ARG(h->n_names > 0 ? h->names[0] : h->name));
    }
    st = fail(HULL_EUNBOUND,
              "the module has no weights: refit it first; %u unbound: %s%s", n,
              names.p != NULL ? names.p : "", n > 12 ? ", ..." : "");
    buf_fini(&names);
    return st;
}

hull_status module_pin(weight_set **out, module *m)
{
    hull_status st;

    pthread_mutex_lock(&m->lock);
    *out = m->current != NULL ? set_ref(m->current) : NULL;
    pthread_mutex_unlock(&m->lock);
    if (*out == NULL)
        return unbound(m);
    st = set_fresh(*out);
    if (st != HULL_OK) {
        module_unpin(m, *out);
        *out = NULL;
    }
    return st;
}

void module_unpin(module *m, weight_set *s)
{
    if (s != NULL)
        drop(m, s);
}

uint64_t module_version(module *m)
{
    uint64_t v;

    pthread_mutex_lock(&m->lock);
    v = m->current != NULL ? m->current->version : 0;
    pthread_mutex_unlock(&m->lock);
    return v;
}

double module_publish(module *m, weight_set *s, bool keep_previous)
{
    uint64_t begin = time_ns();
    weight_set *old, *older;
    double seconds;

    pthread_mutex_lock(&m->lock);
    s->version = ++m->version;
    old = m->current;
    m->current = s;
    older = m->previous;
    m->previous = keep_previous ? old : NULL;
    if (keep_previous)
        old = NULL;
    pthread_mutex_unlock(&m->lock);
    seconds = (double)(time_ns() - begin) * 1e-9;
    drop(m, old);
    drop(m, older);
    return seconds;
}

void module_replace(module *m, const weight_set *old, weight_set *s)
{
    weight_set *gone = s;

    s->version = old->version;
    pthread_mutex_lock(&m->lock);
    if (m->current == old) {
        gone = m->current;
        m->current = s;
    }
    pthread_mutex_unlock(&m->lock);
    drop(m, gone);
}

hull_status module_rollback(module *m)
{
    hull_status st = HULL_OK;

    pthread_mutex_lock(&m->refit);
    if (m->previous == NULL)
        st = fail(HULL_EINVAL, "there is no previous weight set; refit with "
                               "keep_previous=on to be able to roll back");
    else
        st = set_fresh(m->previous);
    if (st == HULL_OK) {
        weight_set *current;

        pthread_mutex_lock(&m->lock);
        current = m->current;
        m->current = m->previous;
        atomic_store(&m->current->settling, false); /* it may ask again */
        m->previous = current;
        pthread_mutex_unlock(&m->lock);
    }
    pthread_mutex_unlock(&m->refit);
    return st;
}

/* ---- birth and death ----------------------------------------------------- */

static hull_status load_programs(module *m)
{
    m->mains = mem_calloc(m->plan->n_blocks + 1, sizeof(*m->mains));
    if (m->mains == NULL)
        return fail_oom(m->plan->n_blocks * sizeof(*m->mains));
    for (uint32_t i = 0; i < m->plan->n_blocks; i++) {
        device *d = module_device(m, i);

        if (d == NULL)
            return fail(HULL_EDEVICE, "backend '%.*s' is not open",
                        STR_ARG(m->plan->blocks[i].backend));
        TRY(d->be->program_load(&m->mains[i], d, m->plan->blocks[i].e->main));
    }
    return HULL_OK;
}

hull_status module_new(module **out, plan *p, devices *ds)
{
    module *m = mem_calloc(1, sizeof *m);
    hull_status st = HULL_OK;

    *out = NULL;
    if (m == NULL) {
        plan_free(p);
        devices_close(ds);
        return fail_oom(sizeof *m);
    }
    atomic_init(&m->refs, 1);
    m->plan = p;
    m->devices = *ds;
    *ds = (devices){0};
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->refit, NULL);
    pthread_mutex_init(&m->retired_lock, NULL);
    pthread_cond_init(&m->retired_some, NULL);
    fill_memory_init(&m->memory);
    m->late_least = LATE_LEAST;
    TRY_OUT(load_programs(m));
    m->has_reclaimer = pthread_create(&m->reclaimer, NULL, reclaim, m) == 0;
    *out = m;
    m = NULL;
out:
    module_unref(m);
    return st;
}

module *module_ref(module *m)
{
    atomic_fetch_add(&m->refs, 1);
    return m;
}

static void stop_reclaimer(module *m)
{
    if (!m->has_reclaimer)
        return;
    pthread_mutex_lock(&m->retired_lock);
    m->closing = true;
    pthread_cond_signal(&m->retired_some);
    pthread_mutex_unlock(&m->retired_lock);
    pthread_join(m->reclaimer, NULL);
    m->has_reclaimer = false;
}

void module_unref(module *m)
{
    if (m == NULL || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    stop_reclaimer(m);
    drop(m, m->current);
    drop(m, m->previous);
    fill_plan_unref(m->fill);
    fill_memory_fini(&m->memory);
    for (uint32_t i = 0; m->mains != NULL && i < m->plan->n_blocks; i++)
        if (m->mains[i] != NULL)
            module_device(m, i)->be->program_free(m->mains[i]);
    mem_free(m->mains);
    mem_free(m->retired);
    plan_free(m->plan);
    devices_close(&m->devices);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->refit);
    pthread_mutex_destroy(&m->retired_lock);
    pthread_cond_destroy(&m->retired_some);
    mem_free(m);
}
