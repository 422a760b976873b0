/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * api.c - the public functions of compile, modules, refits and sessions: check
 * the arguments, call one internal function. Errors, options, logging and the
 * cache define theirs beside their code.
 */
#include "run/run.h"

#include <string.h>

static hull_status want(const void *p, const char *name)
{
    return p != NULL ? HULL_OK
                     : fail(HULL_EINVAL, "%s must not be NULL", name);
}

const char *hull_version(void)
{
    return HULL_VERSION_TEXT;
}

void hull_free(void *p)
{
    mem_free(p);
}

/* ---- weights ------------------------------------------------------------- */

hull_status hull_weights_open(hull_weights **out, const char *path)
{
    TRY(want(out, "out"));
    *out = NULL;
    TRY(want(path, "path"));
    return weights_open(out, path, &(weights_options){.open = true});
}

hull_status hull_weights_new(hull_weights **out)
{
    TRY(want(out, "out"));
    return weights_new(out, WEIGHTS_MEMORY);
}

hull_status hull_weights_add(hull_weights *w, const char *name,
                             const hull_tensor *t, void (*release)(void *),
                             void *user)
{
    TRY(want(w, "weights"));
    TRY(want(name, "name"));
    TRY(want(t, "tensor"));
    return weights_add_tensor(w, str_of(name), t, release, user);
}

size_t hull_weights_count(const hull_weights *w)
{
    return w != NULL ? weights_count(w) : 0;
}

hull_status hull_weights_at(const hull_weights *w, size_t i,
                            const char **out_name, hull_tensor *out)
{
    const weight_entry *e;

    TRY(want(w, "weights"));
    TRY(want(out_name, "out_name"));
    TRY(want(out, "out"));
    *out_name = NULL;
    memset(out, 0, sizeof *out);
    if (i >= weights_count(w))
        return fail(HULL_ENOTFOUND, "the checkpoint has %zu tensors, not %zu",
                    weights_count(w), i + 1);
    e = weights_at(w, i);
    *out_name = e->name.p;
    *out = (hull_tensor){.shape = e->shape,
                         .strides = e->dense ? NULL : e->strides,
                         .rank = (int32_t)e->rank,
                         .dtype = (int32_t)e->dtype};
    return HULL_OK;
}

void hull_weights_unref(hull_weights *w)
{
    weights_unref(w);
}

/* The dictionary of a nested checkpoint that the options name. */
static hull_status choose(weights **out, weights *w, const options *o)
{
    return weights_choose(out, w, option_str(o, OPT_checkpoint_key));
}

/* ---- compile ------------------------------------------------------------- */

hull_status hull_compile(hull_module **out, const char *path,
                         hull_weights *w, hull_cache *c,
                         const hull_options *o)
{
    weights *chosen;
    hull_status st;

    TRY(want(out, "out"));
    *out = NULL;
    TRY(want(path, "path"));
    TRY(choose(&chosen, w, o));
    st = note_path(module_compile(out, path, chosen, c, o), path);
    weights_unref(chosen);
    return st;
}

hull_status hull_explain(char **out, const char *path, hull_weights *w,
                         hull_cache *c, const hull_options *o, int json)
{
    hull_status st = HULL_OK;
    front_model *fm = NULL;
    weights *chosen = NULL;
    devices ds = {0};
    buf text;

    TRY(want(out, "out"));
    *out = NULL;
    TRY(want(path, "path"));
    buf_init(&text, SIZE_MAX / 2);
    TRY_OUT(choose(&chosen, w, o));
    TRY_OUT(devices_open(&ds, o));
    TRY_OUT(note_path(front_import(&fm, path, chosen), path));
    TRY_OUT(plan_explain(&text, fm, &ds, c, json != 0));
    TRY_OUT(buf_status(&text));
    *out = buf_take(&text);
out:
    buf_fini(&text);
    devices_close(&ds);
    front_free(fm);
    weights_unref(chosen);
    return st;
}

/* ---- modules ------------------------------------------------------------- */

hull_status hull_module_save(hull_module *m, const char *path, unsigned flags)
{
    TRY(want(m, "module"));
    TRY(want(path, "path"));
    return note_path(module_save(m, path, flags), path);
}

hull_status hull_module_load(hull_module **out, const char *path,
                             hull_weights *w, hull_cache *c,
                             const hull_options *o)
{
    weights *chosen;
    hull_status st;

    TRY(want(out, "out"));
    *out = NULL;
    TRY(want(path, "path"));
    TRY(choose(&chosen, w, o));
    st = note_path(module_load(out, path, chosen, c, o), path);
    weights_unref(chosen);
    return st;
}

size_t hull_module_n_inputs(const hull_module *m)
{
    return m != NULL ? plan_n_inputs(module_plan(m)) : 0;
}

size_t hull_module_n_outputs(const hull_module *m)
{
    return m != NULL ? plan_n_outputs(module_plan(m)) : 0;
}

hull_status hull_module_input(const hull_module *m, size_t i,
                              hull_tensor_info *out)
{
    TRY(want(m, "module"));
    TRY(want(out, "out"));
    *out = (hull_tensor_info){0};
    if (i >= hull_module_n_inputs(m))
        return fail(HULL_ENOTFOUND, "the module has %zu inputs, not %zu",
                    hull_module_n_inputs(m), i + 1);
    *out = module_plan(m)->input_info[i];
    return HULL_OK;
}

hull_status hull_module_output(const hull_module *m, size_t i,
                               hull_tensor_info *out)
{
    TRY(want(m, "module"));
    TRY(want(out, "out"));
    *out = (hull_tensor_info){0};
    if (i >= hull_module_n_outputs(m))
        return fail(HULL_ENOTFOUND, "the module has %zu outputs, not %zu",
                    hull_module_n_outputs(m), i + 1);
    *out = module_plan(m)->output_info[i];
    return HULL_OK;
}

uint64_t hull_module_version(const hull_module *m)
{
    return m != NULL ? module_version((hull_module *)(uintptr_t)m) : 0;
}

hull_status hull_module_describe(char **out, const hull_module *m)
{
    hull_status st;
    buf text;

    TRY(want(out, "out"));
    *out = NULL;
    TRY(want(m, "module"));
    buf_init(&text, SIZE_MAX / 2);
    st = module_describe(&text, (hull_module *)(uintptr_t)m);
    if (st == HULL_OK)
        st = buf_status(&text);
    if (st == HULL_OK)
        *out = buf_take(&text);
    buf_fini(&text);
    return st;
}

hull_module *hull_module_ref(hull_module *m)
{
    return m != NULL ? module_ref(m) : NULL;
}

void hull_module_unref(hull_module *m)
{
    module_unref(m);
}

/* ---- refit --------------------------------------------------------------- */

hull_status hull_refit(hull_module *m, hull_weights *w, const hull_options *o,
                       hull_refit_report *report)
{
    weights *chosen;
    hull_status st;

    TRY(want(m, "module"));
    TRY(want(w, "weights"));
    TRY(choose(&chosen, w, o));
    st = module_refit(m, chosen, o, report);
    weights_unref(chosen);
    return st;
}

hull_status hull_refit_model(hull_module *m, const char *path,
                             const hull_options *o, hull_refit_report *report)
{
    TRY(want(m, "module"));
    TRY(want(path, "path"));
    return module_refit_model(m, path, o, report);
}

hull_status hull_rollback(hull_module *m)
{
    TRY(want(m, "module"));
    return module_rollback(m);
}

/* ---- sessions ------------------------------------------------------------ */

hull_status hull_session_new(hull_session **out, hull_module *m,
                             const hull_options *o)
{
    TRY(want(out, "out"));
    *out = NULL;
    TRY(want(m, "module"));
    return session_new(out, m, o);
}

hull_status hull_session_run(hull_session *s, const hull_tensor *inputs,
                             size_t n_inputs, hull_tensor *outputs,
                             size_t n_outputs)
{
    TRY(want(s, "session"));
    if (n_inputs > 0)
        TRY(want(inputs, "inputs"));
    if (n_outputs > 0)
        TRY(want(outputs, "outputs"));
    return session_run(s, inputs, n_inputs, outputs, n_outputs);
}

uint64_t hull_session_version(const hull_session *s)
{
    return s != NULL ? session_version(s) : 0;
}

hull_status hull_session_reset(hull_session *s)
{
    TRY(want(s, "session"));
    return session_reset(s);
}

void hull_session_free(hull_session *s)
{
    session_free(s);
}
