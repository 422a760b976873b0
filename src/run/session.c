/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * session.c - one caller's buffers and runs. For each set of input shapes a
 * layout is made once: the blocks' plans and the place of every value in one
 * slab per device. The layouts of the last few shapes are kept; a run with a
 * known one allocates nothing.
 *
 * Buffers that a model mutates are parameters and results after the user's: a
 * session keeps their values between runs, starts from the checkpoint's, and
 * holds its weight set until reset, so that a sequence is never a mix of two.
 *
 * A dynamic block (graph_is_dynamic) has no plan and no places for its results:
 * they are boxes, kept until the next run, and nothing but main reads them.
 */
#include "run/boxes.h"
#include "run/session.h"

#include <inttypes.h>
#include <string.h>

/* ---- state --------------------------------------------------------------- */

static uint32_t n_states(const session *s)
{
    return s->m->plan->main->n_states;
}

/* Room for every state; its value comes with the first run. */
static hull_status new_states(session *s)
{
    const plan *p = s->m->plan;
    uint32_t n_inputs = plan_n_inputs(p);

    s->inputs = mem_calloc(p->main->body->n_params + 1u, sizeof *s->inputs);
    s->state_shapes = mem_calloc(n_states(s) + 1u, sizeof *s->state_shapes);
    if (s->inputs == NULL || s->state_shapes == NULL)
        return fail_oom(n_states(s) * sizeof *s->state_shapes);
    for (uint32_t i = 0; i < n_states(s); i++) {
        const plan_hole *h = plan_state_hole(p, i);
        hull_tensor *t = &s->inputs[n_inputs + i];

        s->state_shapes[i].rank = h->rank;
        memcpy(s->state_shapes[i].dims, h->shape, sizeof h->shape);
        *t = (hull_tensor){.shape = s->state_shapes[i].dims,
                           .rank = (int32_t)h->rank,
                           .dtype = (int32_t)h->dtype};
        t->data = mem_alloc_aligned(PLACE_ALIGN, h->n_bytes + 1);
        if (t->data == NULL)
            return fail_oom(h->n_bytes);
    }
    return HULL_OK;
}

static void free_states(session *s)
{
    for (uint32_t i = 0; s->inputs != NULL && i < n_states(s); i++)
        mem_free(s->inputs[plan_n_inputs(s->m->plan) + i].data);
    mem_free(s->inputs);
    mem_free(s->state_shapes);
    module_unpin(s->m, s->held);
}

/* The checkpoint's values, from the set that the session holds from now on. */
static hull_status start_states(session *s)
{
    const plan *p = s->m->plan;
    weight_set *set;
    hull_status st = HULL_OK;

    TRY(module_pin(&set, s->m));
    if (set->bound == NULL)
        st = fail(HULL_EUNBOUND, "the model has state, whose first value is "
                                 "in the checkpoint: keep_sources=on");
    for (uint32_t i = 0; st == HULL_OK && i < n_states(s); i++)
        st = binding_value(s->inputs[plan_n_inputs(p) + i].data, p,
                           set->bound, plan_state_hole(p, i));
    if (st != HULL_OK) {
        module_unpin(s->m, set);
        return st;
    }
    s->held = set;
    return HULL_OK;
}

hull_status session_reset(session *s)
{
    module_unpin(s->m, s->held);
    s->held = NULL;
    s->random.draws = 0;
    return HULL_OK;
}

/* ---- boxes --------------------------------------------------------------- */

static bool is_boxed(const module *m, val v)
{
    const graph *g = m->plan->main;
    const node *def = graph_def(g, v);

    if (def == NULL)
        return type_is_boxed(graph_type(g, v));
    return graph_is_dynamic(m->plan->blocks[block_of(def)].e->main);
}

static hull_status find_boxed(session *s)
{
    uint32_t n = s->m->plan->main->n_values;

    s->boxed = mem_calloc(n, sizeof *s->boxed);
    s->boxes = mem_calloc(n, sizeof(*s->boxes));
    if (s->boxed == NULL || s->boxes == NULL)
        return fail_oom(n * sizeof(*s->boxes));
    for (uint32_t v = 1; v < n; v++)
        s->boxed[v] = is_boxed(s->m, v);
    return HULL_OK;
}

/* ---- new and free -------------------------------------------------------- */

hull_status session_new(session **out, module *m, const options *o)
{
    session *s = mem_calloc(1, sizeof *s);
    uint32_t n_dev = m->devices.n, n_out = m->plan->main->body->n_results;
    hull_status st = HULL_OK;

    *out = NULL;
    if (s == NULL)
        return fail_oom(sizeof *s);
    s->m = module_ref(m);
    s->random.seed = (uint64_t)option_int(o != NULL ? o : m->devices.options,
                                          OPT_seed);
    s->slabs = mem_calloc(n_dev, sizeof(*s->slabs));
    s->slab_bytes = mem_calloc(n_dev, sizeof *s->slab_bytes);
    s->streams = mem_calloc(n_dev, sizeof(*s->streams));
    s->windows = mem_calloc(n_dev, sizeof *s->windows);
    s->outputs = mem_calloc(n_out + 1, sizeof(*s->outputs));
    s->output_bytes = mem_calloc(n_out + 1, sizeof *s->output_bytes);
    s->output_shapes = mem_calloc(n_out + 1, sizeof *s->output_shapes);
    if (s->slabs == NULL || s->slab_bytes == NULL || s->streams == NULL ||
        s->windows == NULL || s->outputs == NULL || s->output_bytes == NULL ||
        s->output_shapes == NULL)
        TRY_OUT(fail_oom(n_out * sizeof *s->output_shapes));
    TRY_OUT(find_boxed(s));
    TRY_OUT(new_states(s));
    TRY_OUT(dim_env_init(&s->env, m->plan->m));
    for (uint32_t i = 0; i < n_dev; i++) {
        const backend *be = m->devices.d[i]->be;

        TRY_OUT(be->stream_new(&s->streams[i], m->devices.d[i]));
        if (be->stream_random != NULL)
            be->stream_random(s->streams[i], &s->random);
    }
    *out = s;
    s = NULL;
out:
    session_free(s);
    return st;
}

void session_profile(session *s, const profiler *p)
{
    for (uint32_t i = 0; i < s->m->devices.n; i++) {
        const backend *be = s->m->devices.d[i]->be;

        if (be->stream_profile != NULL)
            be->stream_profile(s->streams[i], p);
    }
}

/* Lets go of what the last run made. */
static void drop_boxes(session *s)
{
    for (uint32_t v = 0; v < s->m->plan->main->n_values; v++) {
        box_unref(s->boxes[v]);
        s->boxes[v] = NULL;
    }
    arena_reset(&s->texts);
    arena_reset(&s->views);
}

void session_free(session *s)
{
    if (s == NULL)
        return;
    if (s->boxes != NULL)
        drop_boxes(s);
    mem_free(s->boxes);
    mem_free(s->boxed);
    arena_fini(&s->texts);
    arena_fini(&s->views);
    for (uint32_t i = 0; i < s->n_layouts; i++)
        layout_free(s, s->layouts[i]);
    for (uint32_t i = 0; i < s->m->devices.n; i++) {
        const backend *be = s->m->devices.d[i]->be;

        if (s->slabs != NULL)
            be->buffer_free(s->slabs[i]);
        if (s->windows != NULL)
            be->buffer_free(s->windows[i].buffer);
        if (s->streams != NULL)
            be->stream_free(s->streams[i]);
    }
    for (uint32_t i = 0; s->outputs != NULL &&
                         i < s->m->plan->main->body->n_results; i++)
        mem_free(s->outputs[i]);
    mem_free(s->slabs);
    mem_free(s->slab_bytes);
    mem_free(s->streams);
    mem_free(s->windows);
    mem_free(s->staging);
    mem_free(s->outputs);
    mem_free(s->output_bytes);
    mem_free(s->output_shapes);
    dim_env_fini(&s->env);
    free_states(s);
    module_unref(s->m);
    mem_free(s);
}

/* ---- inputs -------------------------------------------------------------- */

static hull_status check_input(session *s, uint32_t i, const hull_tensor *t)
{
    const plan *p = s->m->plan;
    const type *want = graph_type(p->main, p->main->body->params[i]);
    str name = p->inputs[i];

    if (type_is_boxed(want)) {
        char what[256];

        snprintf(what, sizeof what, "input '%.*s'", STR_ARG(name));
        return box_of_input(&s->boxes[p->main->body->params[i]], p->m, want,
                            t, what);
    }
    if (t->dtype != (int32_t)want->dtype)
        return fail(HULL_ESHAPE, "input '%.*s' is %s, wanted %s",
                    STR_ARG(name), hull_dtype_name((hull_dtype)t->dtype),
                    hull_dtype_name(want->dtype));
    if (t->rank != (int32_t)want->rank || (t->rank > 0 && t->shape == NULL))
        return fail(HULL_ESHAPE, "input '%.*s' has rank %d, wanted %u",
                    STR_ARG(name), t->rank, want->rank);
    if (t->strides != NULL && hull_dtype_bits(want->dtype) < 8)
        return fail(HULL_EUNSUPPORTED, "input '%.*s' is strided and packed; "
                    "%s is taken dense only", STR_ARG(name),
                    hull_dtype_name(want->dtype));
    if (t->device != 0)
        return fail(HULL_EUNSUPPORTED, "input '%.*s' is on device %d; only "
                    "host memory is taken", STR_ARG(name), t->device);
    return HULL_OK;
}

/* The input's dims that are plain symbols, or all others. */
static hull_status bind_input(session *s, uint32_t i, const hull_tensor *t,
                              bool symbols)
{
    const plan *p = s->m->plan;
    const type *want = graph_type(p->main, p->main->body->params[i]);

    for (uint32_t k = 0; want->kind == TYPE_TENSOR && k < want->rank; k++) {
        char what[256];

        if (dim_is_symbol(p->m, want->dims[k]) != symbols)
            continue;
        snprintf(what, sizeof what, "input '%.*s' dim %u",
                 STR_ARG(p->inputs[i]), k);
        TRY(dim_bind(&s->env, want->dims[k], t->shape[k], what));
    }
    return HULL_OK;
}

static bool has_elements(const hull_tensor *t)
{
    for (int32_t k = 0; k < t->rank; k++)
        if (t->shape[k] == 0)
            return false;
    return true;
}

static hull_status check_inputs(session *s, const hull_tensor *inputs,
                                size_t n_inputs, size_t n_outputs)
{
    const plan *p = s->m->plan;

    if (n_inputs != plan_n_inputs(p) || n_outputs > plan_n_outputs(p))
        return fail(HULL_EINVAL,
                    "%zu inputs and %zu outputs given, the module has %u and "
                    "%u", n_inputs, n_outputs, plan_n_inputs(p),
                    plan_n_outputs(p));
    dim_env_clear(&s->env);
    drop_boxes(s);
    for (uint32_t i = 0; i < n_inputs; i++) {
        TRY(check_input(s, i, &inputs[i]));
        if (inputs[i].data == NULL && inputs[i].dtype != HULL_NONE &&
            has_elements(&inputs[i]))
            return fail(HULL_EINVAL, "input '%.*s' has no data",
                        STR_ARG(p->inputs[i]));
        s->inputs[i] = inputs[i];
        TRY(bind_input(s, i, &inputs[i], true));
    }
    /* A size like N*M may stand in front of the inputs that fix N and M. */
    for (uint32_t i = 0; i < n_inputs; i++)
        TRY(bind_input(s, i, &inputs[i], false));
    return HULL_OK;
}

/* ---- a run --------------------------------------------------------------- */

static place cell_place(const session *s, const layout *l, val v, uint32_t d)
{
    return (place){s->slabs[d], l->cells[v].off[d], l->cells[v].size};
}

/* Most runs need none: it is made for the first value that does. */
static hull_status want_staging(session *s, uint64_t size)
{
    if (size <= s->staging_bytes)
        return HULL_OK;
    mem_free(s->staging);
    s->staging_bytes = 0;
    s->staging = mem_alloc_aligned(PLACE_ALIGN, size);
    if (s->staging == NULL)
        return fail_oom(size);
    s->staging_bytes = size;
    return HULL_OK;
}

/* Strided input to dense staging memory. */
static void densify(char *dst, const hull_tensor *t)
{
    size_t width = hull_dtype_bits((hull_dtype)t->dtype) / 8;
    int64_t index[HULL_MAX_RANK] = {0};
    const char *src = t->data;

    for (;;) {
        int64_t off = 0;
        int32_t k = t->rank - 1;

        for (int32_t i = 0; i < t->rank; i++)
            off += index[i] * t->strides[i];
        memcpy(dst, src + off * (int64_t)width, width);
        dst += width;
        while (k >= 0 && ++index[k] == t->shape[k])
            index[k--] = 0;
        if (k < 0)
            return;
    }
}

static hull_status upload_inputs(session *s, layout *l,
                                 const hull_tensor *inputs, size_t n)
{
    const graph *g = s->m->plan->main;

    for (uint32_t i = 0; i < n; i++) {
        val v = g->body->params[i];
        cell *c = &l->cells[v];
        const void *src = inputs[i].data;

        for (uint32_t d = 0; d < s->m->devices.n; d++) {
            const backend *be = s->m->devices.d[d]->be;

            c->valid[d] = false;
            if (c->off[d] == UINT64_MAX) /* read by no call of d, or boxed */
                continue;
            if (inputs[i].strides != NULL && c->size > 0) {
                TRY(want_staging(s, c->size));
                densify(s->staging, &inputs[i]);
                src = s->staging;
            }
            TRY(be->upload(s->streams[d], cell_place(s, l, v, d), src));
            if (inputs[i].strides != NULL && c->size > 0)
                TRY(be->stream_sync(s->streams[d]));
            c->valid[d] = true;
        }
    }
    return HULL_OK;
}

/* A value made on another device comes over the host. */
static hull_status bring(session *s, layout *l, val v, uint32_t d)
{
    cell *c = &l->cells[v];

    for (uint32_t from = 0; !c->valid[d] && from < s->m->devices.n; from++) {
        const backend *src = s->m->devices.d[from]->be;
        const backend *dst = s->m->devices.d[d]->be;

        if (!c->valid[from])
            continue;
        TRY(want_staging(s, c->size));
        TRY(src->download(s->streams[from], s->staging,
                          cell_place(s, l, v, from)));
        TRY(src->stream_sync(s->streams[from]));
        TRY(dst->upload(s->streams[d], cell_place(s, l, v, d), s->staging));
        TRY(dst->stream_sync(s->streams[d])); /* staging is used again */
        c->valid[d] = true;
    }
    return HULL_OK;
}

/* A dynamic block: its results are boxes of the session. */
static hull_status run_boxes(session *s, const call_layout *cl, uint32_t b,
                             uint32_t d, const node *call)
{
    const backend *be = s->m->devices.d[d]->be;

    if (be->program_run_boxes == NULL)
        return fail(HULL_EINTERNAL, "block %u of backend %s is dynamic", b,
                    be->name);
    for (uint32_t i = 0; i < call->n_in; i++)
        cl->boxes[i] = s->boxes[call->in[i]];
    TRY(be->stream_sync(s->streams[d]));
    TRY(be->program_run_boxes(s->streams[d], s->m->mains[b], cl->shapes,
                              cl->params, cl->boxes, cl->made, &s->texts));
    for (uint32_t i = 0; i < call->n_out; i++)
        s->boxes[call->out[i]] = cl->made[i];
    return HULL_OK;
}

static hull_status run_call(session *s, layout *l, const weight_set *set,
                            const node *call)
{
    uint32_t b = block_of(call), d = device_of(s->m, b);
    const graph *prog = s->m->plan->blocks[b].e->main;
    call_layout *cl = &l->calls[b];
    place scratch = {s->slabs[d], cl->scratch_off, cl->scratch};

    for (uint32_t i = 0; i < prog->body->n_params; i++) {
        if (i >= call->n_in) {
            cl->params[i] = set->block_slots[b][i - call->n_in];
            continue;
        }
        if (s->boxed[call->in[i]])
            continue;
        TRY(bring(s, l, call->in[i], d));
        cl->params[i] = cell_place(s, l, call->in[i], d);
    }
    if (cl->dynamic)
        return run_boxes(s, cl, b, d, call);
    for (uint32_t i = 0; i < call->n_out; i++) {
        for (uint32_t k = 0; k < s->m->devices.n; k++)
            l->cells[call->out[i]].valid[k] = k == d;
        cl->results[i] = cell_place(s, l, call->out[i], d);
    }
    if (set->stream != NULL) {
        block_run r = {s->streams[d], cl->plan, cl->params, cl->results,
                       scratch, s->windows};

        return stream_run(s->m, set, b, &r);
    }
    return s->m->devices.d[d]->be->program_run(s->streams[d], s->m->mains[b],
                                               cl->plan, cl->params,
                                               cl->results, scratch);
}

/* The caller's memory for output i, when there is some, fits the result. */
static hull_status check_output(const session *s, const layout *l, uint32_t i,
                                const hull_tensor *out)
{
    const plan *p = s->m->plan;
    val v = p->main->body->results[i];
    const cell *c = &l->cells[v];

    if (out->data == NULL || s->boxed[v]) /* a box tells after the run */
        return HULL_OK;
    if (out->device != 0)
        return fail(HULL_EUNSUPPORTED, "output '%.*s' is on device %d; only "
                    "host memory is taken", STR_ARG(p->outputs[i]),
                    out->device);
    if (out->dtype != (int32_t)graph_type(p->main, v)->dtype ||
        (out->rank > 0 && out->shape == NULL) ||
        !same_shape(&c->shape, out) || out->strides != NULL)
        return fail(HULL_ESHAPE, "output '%.*s' was given memory of another "
                    "dtype or shape", STR_ARG(p->outputs[i]));
    return HULL_OK;
}

/* Memory that the session lends for output i. */
static hull_status lent_memory(session *s, uint64_t size, uint32_t i)
{
    if (s->outputs[i] != NULL && size <= s->output_bytes[i])
        return HULL_OK;
    mem_free(s->outputs[i]);
    s->output_bytes[i] = 0;
    s->outputs[i] = mem_alloc_aligned(PLACE_ALIGN, size + 1);
    if (s->outputs[i] == NULL)
        return fail_oom(size);
    s->output_bytes[i] = size;
    return HULL_OK;
}

/* A device that has v; its index, or the number of devices. */
static uint32_t device_with(const session *s, const layout *l, val v)
{
    uint32_t d = 0;

    while (d < s->m->devices.n && !l->cells[v].valid[d])
        d++;
    return d;
}

static hull_status download_value(session *s, const layout *l, val v,
                                  void *dst)
{
    uint32_t d = device_with(s, l, v);
    const backend *be;

    if (d == s->m->devices.n)
        return fail(HULL_EINTERNAL, "value %u is on no device", v);
    be = s->m->devices.d[d]->be;
    TRY(be->download(s->streams[d], dst, cell_place(s, l, v, d)));
    return be->stream_sync(s->streams[d]);
}

/* Output i without memory of the caller's: where it lies, if the host can read
 * it there, else a copy. */
static hull_status lend_output(session *s, const layout *l, uint32_t i,
                               hull_tensor *out)
{
    const graph *g = s->m->plan->main;
    val v = g->body->results[i];
    const cell *c = &l->cells[v];
    uint32_t d = device_with(s, l, v);
    const backend *be = d < s->m->devices.n ? s->m->devices.d[d]->be : NULL;
    union { const void *in; void *out; } lent;

    if (be != NULL && be->buffer_view != NULL) {
        TRY(be->stream_sync(s->streams[d]));
        lent.in = be->buffer_view(cell_place(s, l, v, d));
    } else {
        TRY(lent_memory(s, c->size, i));
        lent.out = s->outputs[i];
        TRY(download_value(s, l, v, lent.out));
    }
    s->output_shapes[i] = c->shape;
    *out = (hull_tensor){.data = lent.out,
                         .shape = s->output_shapes[i].dims,
                         .rank = (int32_t)c->shape.rank,
                         .dtype = (int32_t)graph_type(g, v)->dtype};
    return HULL_OK;
}

/* Output i is a box: copied to the caller's memory, or lent. An input handed
 * through is copied, the caller's memory is his. */
static hull_status give_box(session *s, uint32_t i, hull_tensor *out)
{
    const plan *p = s->m->plan;
    val v = p->main->body->results[i];
    char what[256];

    if (graph_def(p->main, v) == NULL) {
        box *own = box_own(s->boxes[v], &s->texts);

        if (own == NULL)
            return HULL_ENOMEM;
        box_unref(s->boxes[v]);
        s->boxes[v] = own;
    }
    if (out->data == NULL)
        return box_view(out, s->boxes[v], &s->views);
    snprintf(what, sizeof what, "output '%.*s'", STR_ARG(p->outputs[i]));
    return box_copy(out, s->boxes[v], what);
}

static hull_status download_outputs(session *s, const layout *l,
                                    hull_tensor *outputs, size_t n)
{
    const graph *g = s->m->plan->main;

    for (uint32_t i = 0; i < n; i++) {
        if (s->boxes[g->body->results[i]] != NULL) {
            TRY(give_box(s, i, &outputs[i]));
            continue;
        }
        if (outputs[i].data == NULL)
            TRY(lend_output(s, l, i, &outputs[i]));
        else
            TRY(download_value(s, l, g->body->results[i], outputs[i].data));
    }
    return HULL_OK;
}

/* What the run made of the states is what the next run starts from. */
static hull_status download_states(session *s, const layout *l)
{
    const graph *g = s->m->plan->main;

    for (uint32_t i = 0; i < n_states(s); i++) {
        val v = g->body->results[g->states[i].result];
        const hull_tensor *to = &s->inputs[g->states[i].param];

        if (s->boxes[v] != NULL)
            TRY(box_copy(to, s->boxes[v], "a state"));
        else
            TRY(download_value(s, l, v, to->data));
    }
    return HULL_OK;
}

static hull_status run_queued(session *s, const weight_set *set,
                              hull_tensor *outputs, size_t n_outputs)
{
    size_t n_inputs = s->m->plan->main->body->n_params;
    layout *l;

    TRY(want_layout(&l, s, s->inputs, n_inputs));
    for (uint32_t i = 0; i < n_outputs; i++)
        TRY(check_output(s, l, i, &outputs[i]));
    TRY(upload_inputs(s, l, s->inputs, n_inputs));
    for (const node *call = s->m->plan->main->body->first; call != NULL;
         call = call->next)
        TRY(run_call(s, l, set, call));
    TRY(download_outputs(s, l, outputs, n_outputs));
    return download_states(s, l);
}

/* Nothing may be queued when the set is let go of and the caller's memory may
 * change: neither after a failure nor when no output was asked for. */
static hull_status run_pinned(session *s, const weight_set *set,
                              hull_tensor *outputs, size_t n_outputs)
{
    hull_status st = run_queued(s, set, outputs, n_outputs);
    error_record first;

    if (st != HULL_OK)
        error_take(&first);
    for (uint32_t d = 0; d < s->m->devices.n; d++) {
        hull_status synced =
            s->m->devices.d[d]->be->stream_sync(s->streams[d]);

        if (st == HULL_OK && synced != HULL_OK) {
            st = synced;
            error_take(&first);
        }
    }
    if (st != HULL_OK)
        return error_put(&first);
    s->version = set->version;
    return HULL_OK;
}

/* A set that streams has read its files only now; one that does not needs no
 * windows. */
static hull_status run_with(session *s, weight_set *set, hull_tensor *outputs,
                            size_t n_outputs)
{
    if (set->stream == NULL) {
        for (uint32_t d = 0; d < s->m->devices.n; d++) {
            s->m->devices.d[d]->be->buffer_free(s->windows[d].buffer);
            s->windows[d] = (place){0};
        }
        return run_pinned(s, set, outputs, n_outputs);
    }
    TRY(run_pinned(s, set, outputs, n_outputs));
    TRY(set_fresh(set));
    if (set->settles)
        module_want_settled(s->m, set);
    return HULL_OK;
}

/* The held set goes on as the same one with its slots filled, when there is
 * one. */
static hull_status hold_settled(session *s)
{
    weight_set *now;

    if (s->held->stream == NULL || module_version(s->m) != s->held->version)
        return HULL_OK;
    TRY(module_pin(&now, s->m));
    if (now->version == s->held->version && now->stream == NULL) {
        weight_set *old = s->held;

        s->held = now;
        now = old;
    }
    module_unpin(s->m, now);
    return HULL_OK;
}

static hull_status run_checked(session *s, hull_tensor *outputs,
                               size_t n_outputs)
{
    weight_set *set;
    hull_status st;

    if (n_states(s) > 0) {
        if (s->held == NULL)
            TRY(start_states(s));
        TRY(hold_settled(s));
        TRY(set_fresh(s->held));
        return run_with(s, s->held, outputs, n_outputs);
    }
    TRY(module_pin(&set, s->m));
    st = run_with(s, set, outputs, n_outputs);
    module_unpin(s->m, set);
    return st;
}

hull_status session_run(session *s, const hull_tensor *inputs,
                        size_t n_inputs, hull_tensor *outputs,
                        size_t n_outputs)
{
    hull_status st;

    TRY(check_inputs(s, inputs, n_inputs, n_outputs));
    pool_enter(s->m->devices.pool);
    st = run_checked(s, outputs, n_outputs);
    pool_leave(s->m->devices.pool);
    return st;
}

uint64_t session_version(const session *s)
{
    return s->version;
}
