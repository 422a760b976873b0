/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * devices.c - opens the backends that the options name, ref last.
 */
#include "compile/compile.h"

#include <unistd.h>

static hull_status add_device(devices *ds, const backend *be)
{
    size_t cap = ds->n;

    for (uint32_t i = 0; i < ds->n; i++)
        if (ds->d[i]->be == be)
            return HULL_OK;
    TRY(mem_grow(&ds->d, &cap, ds->n + 1u, sizeof *ds->d));
    TRY(note(be->open(&ds->d[ds->n], ds->options, ds->pool), "backend %s",
             be->name));
    ds->n++;
    return HULL_OK;
}

static hull_status no_such_backend(str name)
{
    hull_status st;
    buf known;

    buf_init(&known, 4096);
    for (size_t i = 0; backend_at(i) != NULL; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", backend_at(i)->name);
    st = fail(HULL_EINVAL, "there is no backend '%.*s'; there are %s",
              STR_ARG(name), known.p != NULL ? known.p : "none");
    buf_fini(&known);
    return st;
}

hull_status backends_check(str list)
{
    while (list.n > 0) {
        str name = str_trim(str_split(list, ',', &list));

        if (backend_find(name) == NULL)
            return no_such_backend(name);
    }
    return HULL_OK;
}

/* A target that nobody obeys would be one that nobody checks. */
static hull_status check_target(const devices *ds)
{
    str target = option_str(ds->options, OPT_target);

    for (uint32_t i = 0; i < ds->n; i++)
        if (ds->d[i]->be->has_targets)
            return HULL_OK;
    return target.n == 0 ? HULL_OK
           : fail(HULL_EINVAL, "target is '%.*s', but none of the backends "
                  "'%.*s' has targets", STR_ARG(target),
                  STR_ARG(option_str(ds->options, OPT_backends)));
}

hull_status devices_open(devices *out, const options *o)
{
    str rest = option_str(o, OPT_backends);
    hull_status st = HULL_OK;

    *out = (devices){0};
    TRY(backends_check(rest));
    TRY_OUT(options_copy(&out->options, o));
    TRY_OUT(pool_new(&out->pool, (uint32_t)option_int(o, OPT_threads)));
    while (rest.n > 0) {
        str name = str_trim(str_split(rest, ',', &rest));

        TRY_OUT(add_device(out, backend_find(name)));
    }
    TRY_OUT(add_device(out, &backend_ref));
    TRY_OUT(check_target(out));
    return HULL_OK;
out:
    devices_close(out);
    return st;
}

void devices_close(devices *ds)
{
    if (ds == NULL)
        return;
    for (uint32_t i = 0; i < ds->n; i++)
        ds->d[i]->be->close(ds->d[i]);
    mem_free(ds->d);
    pool_free(ds->pool);
    options_free(ds->options);
    *ds = (devices){0};
}

device *devices_find(const devices *ds, str name)
{
    for (uint32_t i = 0; i < ds->n; i++)
        if (str_is(name, ds->d[i]->be->name))
            return ds->d[i];
    return NULL;
}

hull_status device_target(buf *out, const device *d)
{
    buf_init(out, 4096);
    d->be->target(out, d);
    return buf_status(out);
}
