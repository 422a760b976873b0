/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * refit.c - bind, fill a new set, publish it in one step. Refits of one module
 * are serial, each starts from the set that is current when its turn comes.
 * Whatever fails before publish leaves the module as it was.
 */
#include "run/module.h"

#include <string.h>

/* The set's fill plan: the module's last one while the way of binding stays. */
static hull_status want_fill_plan(module *m, const binding *b)
{
    fill_plan *made;
    digest signature;

    TRY(binding_signature(&signature, m->plan, b));
    if (m->fill != NULL && digest_eq(&signature, &m->fill->signature))
        return HULL_OK;
    TRY(fill_plan_make(&made, m->plan, b, &m->devices));
    fill_plan_unref(m->fill);
    m->fill = made;
    return HULL_OK;
}

/* With m->refit held. Takes b. */
static hull_status fill_and_publish(module *m, binding *b,
                                    const weight_set *current,
                                    const options *o,
                                    hull_refit_report *report)
{
    bool spare = option_on(o, OPT_spare);
    weight_set *s;
    hull_status st = want_fill_plan(m, b);

    if (st != HULL_OK) {
        binding_unref(b);
        return st;
    }
    if (spare)
        module_reclaim(m);
    fill_memory_keep(&m->memory, spare);
    st = set_fill(&s, m, m->fill, b, current, o, report);
    if (!spare)
        fill_memory_keep(&m->memory, false); /* the rooms */
    if (st != HULL_OK)
        return st;
    report->publish_seconds =
        module_publish(m, s, option_on(o, OPT_keep_previous));
    report->version = s->version;
    return HULL_OK;
}

hull_status module_filled(weight_set **out, module *m, const weight_set *s)
{
    hull_refit_report r = {0};

    TRY(set_fill(out, m, s->fill, binding_ref(s->bound), s, s->options, &r));
    (*out)->version = s->version;
    return HULL_OK;
}

void module_settle(module *m)
{
    weight_set *s, *filled;

    pthread_mutex_lock(&m->refit);
    pthread_mutex_lock(&m->lock);
    s = m->current != NULL ? set_ref(m->current) : NULL;
    pthread_mutex_unlock(&m->lock);
    if (s == NULL || s->stream == NULL || !s->settles)
        goto out; /* a refit was faster */
    if (module_filled(&filled, m, s) == HULL_OK)
        module_replace(m, s, filled);
    else
        log_warn("module", "slots are still made by each run: %s",
                 error_text());
out:
    module_unpin(m, s);
    pthread_mutex_unlock(&m->refit);
}

/* What the first binding found out belongs to the plan. */
static hull_status learn_from(module *m, const bind_options *how,
                              const binding *b)
{
    if (how->allow_unread)
        TRY(plan_add_unread(m->plan, b));
    return how->model != NULL ? plan_learn(m->plan, b) : HULL_OK;
}

hull_status module_fill_bound(module *m, binding *b, const options *o)
{
    hull_refit_report r = {0};
    hull_status st;

    pthread_mutex_lock(&m->refit);
    st = fill_and_publish(m, b, NULL, o, &r);
    pthread_mutex_unlock(&m->refit);
    return st;
}

static hull_status refit_locked(module *m, weights *w, bind_options *how,
                                hull_refit_report *report)
{
    weight_set *current = NULL;
    hull_status st = HULL_OK;
    binding *b;

    pthread_mutex_lock(&m->lock);
    if (m->current != NULL)
        current = set_ref(m->current);
    pthread_mutex_unlock(&m->lock);
    how->previous = current != NULL ? current->bound : NULL;
    TRY_OUT(bind_weights(&b, m->plan, w, how));
    st = learn_from(m, how, b);
    if (st != HULL_OK) {
        binding_unref(b);
        goto out;
    }
    st = fill_and_publish(m, b, current, how->o, report);
out:
    if (!m->memory.keep)
        module_unpin(m, current);
    else if (set_unref_last(current))
        set_free(current); /* its memory is the next fill's */
    return st;
}

static hull_status refit(module *m, weights *w, bind_options *how,
                         hull_refit_report *report)
{
    uint64_t start = time_ns();
    hull_refit_report r = {0};
    hull_status st;

    pthread_mutex_lock(&m->refit);
    st = refit_locked(m, w, how, &r);
    pthread_mutex_unlock(&m->refit);
    r.seconds = (double)(time_ns() - start) * 1e-9;
    if (st == HULL_OK && report != NULL)
        *report = r;
    return st;
}

static bool is_model(const weights *w)
{
    return weights_kind(w) == WEIGHTS_ONNX || weights_kind(w) == WEIGHTS_PT2;
}

static hull_status from_model(module *m, const weights *w, const options *o,
                              bool fill, hull_refit_report *report);

hull_status module_refit(module *m, weights *w, const options *o,
                         hull_refit_report *report)
{
    bind_options how = {.o = o};

    if (is_model(w) && weights_n_files(w) > 0)
        return from_model(m, w, o, true, report);
    return refit(m, w, &how, report);
}

/* What a refit would do before it fills: tells what does not fit, and learns
 * which names nobody reads. */
static hull_status bind_only(module *m, weights *w, bind_options *how)
{
    hull_status st;
    binding *b;

    TRY(bind_weights(&b, m->plan, w, how));
    st = learn_from(m, how, b);
    binding_unref(b);
    return st;
}

hull_status module_fill(module *m, const weights *native, weights *w,
                        const options *o)
{
    /* A PT2 signature names everything; other formats may not. */
    bind_options how = {.o = o,
                        .allow_unread = weights_kind(native) != WEIGHTS_PT2};
    bool fill = !option_on(o, OPT_strip_weights);

    if (is_model(w) && weights_n_files(w) > 0)
        return from_model(m, w, o, fill, NULL);
    if (option_on(o, OPT_learn))
        how.model = native;
    return fill ? refit(m, w, &how, NULL) : bind_only(m, w, &how);
}

hull_status module_fill_native(module *m, weights *native, const str *names,
                               const options *o, hull_refit_report *report)
{
    bind_options how = {.o = o, .native = true, .by_position = names};

    return refit(m, native, &how, report);
}

static hull_status fill_other(module *m, const front_model *fm,
                              const options *o, hull_refit_report *report)
{
    hull_status st;
    str *names = mem_calloc(fm->n_holes + 1, sizeof *names);

    if (names == NULL)
        return fail_oom(fm->n_holes * sizeof *names);
    for (uint32_t i = 0; i < fm->n_holes; i++)
        names[i] = fm->holes[i].name;
    st = module_fill_native(m, fm->native, names, o, report);
    mem_free(names);
    return st;
}

/* First line in which two texts differ, for the error. */
static hull_status texts_differ(str a, str b)
{
    uint32_t line = 1;

    for (;; line++) {
        str ra, rb, la = str_split(a, '\n', &ra), lb = str_split(b, '\n', &rb);

        if (!str_eq(la, lb) || ra.n == 0 || rb.n == 0)
            return fail(HULL_EBIND,
                        "the model is another architecture: line %u of the "
                        "canonical text is '%.*s', the module has '%.*s'; "
                        "compile it instead", line, STR_ARG(str_trim(lb)),
                        STR_ARG(str_trim(la)));
        a = ra;
        b = rb;
    }
}

static hull_status same_architecture(const module *m, const front_model *fm)
{
    hull_status st = HULL_OK;
    ir *work = NULL;
    graph *g;
    buf text;

    buf_init(&text, SIZE_MAX / 2);
    TRY_OUT(ir_new(&work));
    g = graph_copy(work, fm->g, str_of("main"));
    TRY_OUT(ir_status(work));
    TRY_OUT(graph_canonical_text(&text, g));
    if (!str_eq(buf_view(&text), m->plan->imported))
        st = texts_differ(m->plan->imported, buf_view(&text));
out:
    buf_fini(&text);
    ir_free(work);
    return st;
}

/* torch.export writes a state_dict as it is, so another export of the module's
 * architecture is a checkpoint. An ONNX file is not: its exporter may have
 * changed values under unchanged names. */
static hull_status by_names(module *m, weights *w, const options *o, bool fill,
                            hull_refit_report *report)
{
    bind_options how = {.o = o};
    error_record other;
    hull_status st;

    error_take(&other);
    st = fill ? refit(m, w, &how, report) : bind_only(m, w, &how);
    return st != HULL_EBIND ? st : note(st, "%s; by names", other.text);
}

static hull_status import_and_fill(module *m, const char *path, bool names,
                                   const options *o, bool fill,
                                   hull_refit_report *report)
{
    hull_status st = HULL_OK;
    front_model *fm = NULL;

    TRY(front_import(&fm, path, NULL));
    st = same_architecture(m, fm);
    if (st == HULL_EBIND && names &&
        weights_kind(fm->native) == WEIGHTS_PT2)
        st = by_names(m, fm->native, o, fill, report);
    else if (st == HULL_OK && fill)
        st = fill_other(m, fm, o, report);
    front_free(fm);
    return note_path(st, path);
}

/* A model file that was opened as a checkpoint. */
static hull_status from_model(module *m, const weights *w, const options *o,
                              bool fill, hull_refit_report *report)
{
    return import_and_fill(m, weights_file(w, 0)->path, true, o, fill, report);
}

hull_status module_refit_model(module *m, const char *path, const options *o,
                               hull_refit_report *report)
{
    return import_and_fill(m, path, false, o, true, report);
}
