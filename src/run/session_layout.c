/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * session_layout.c - what a session knows of one set of input shapes: the
 * blocks' plans and the place of every value in one slab per device. The
 * layouts of the last few shapes are kept.
 */
#include "run/session.h"

#include <inttypes.h>
#include <string.h>

/* The block that a call node runs: callee "b<i>". */
uint32_t block_of(const node *call)
{
    str callee = attr_str(call, "callee");
    uint64_t i = 0;

    ignore(str_to_u64(&i, (str){callee.p + 1, callee.n - 1}) ? HULL_OK
                                                             : HULL_EINTERNAL);
    return (uint32_t)i; /* checked when the plan was made or read */
}

void layout_free(const session *s, layout *l)
{
    if (l == NULL)
        return;
    for (uint32_t i = 0; l->calls != NULL && i < s->m->plan->n_blocks; i++)
        if (l->calls[i].plan != NULL)
            module_device(s->m, i)->be->plan_free(l->calls[i].plan);
    arena_fini(&l->a);
    mem_free(l);
}

bool same_shape(const shape *a, const hull_tensor *t)
{
    return a->rank == (uint32_t)t->rank &&
           (a->rank == 0 ||
            memcmp(a->dims, t->shape, a->rank * sizeof *a->dims) == 0);
}

static layout *find_layout(session *s, const hull_tensor *inputs, size_t n)
{
    for (uint32_t i = 0; i < s->n_layouts; i++) {
        size_t k = 0;

        while (k < n && same_shape(&s->layouts[i]->inputs[k], &inputs[k]))
            k++;
        if (k == n)
            return s->layouts[i];
    }
    return NULL;
}

static hull_status cell_bytes(cell *c, const graph *g, val v)
{
    uint64_t numel = 1;

    for (uint32_t i = 0; i < c->shape.rank; i++)
        if (!mul_u64(&numel, numel, (uint64_t)c->shape.dims[i]))
            return fail(HULL_ESHAPE, "a value has more than 2^64 elements");
    if (!dtype_bytes(&c->size, graph_type(g, v)->dtype, numel))
        return fail(HULL_ESHAPE, "a value is too large");
    return HULL_OK;
}

/* Room for value v on device d, for the whole run. */
static hull_status want_place(const session *s, layout *l, val v, uint32_t d)
{
    cell *c = &l->cells[v];

    if (c->off[d] != UINT64_MAX || s->boxed[v])
        return HULL_OK;
    c->off[d] = l->slab_bytes[d];
    if (c->size > UINT64_MAX / 4)
        return fail(HULL_ENOMEM, "a value of %" PRIu64 " bytes", c->size);
    l->slab_bytes[d] += round_up(c->size + 1, PLACE_ALIGN);
    return HULL_OK;
}

uint32_t device_of(const module *m, uint32_t block)
{
    return device_index(m, module_device(m, block));
}

static hull_status layout_call(session *s, layout *l, const node *call)
{
    uint32_t b = block_of(call), d = device_of(s->m, b);
    const backend *be = s->m->devices.d[d]->be;
    const graph *main = s->m->plan->main, *prog = s->m->plan->blocks[b].e->main;
    call_layout *cl = &l->calls[b];
    uint32_t n_params = prog->body->n_params;
    shape *shapes = arena_array(&l->a, n_params, sizeof *shapes);
    shape *results = arena_array(&l->a, call->n_out, sizeof *results);

    cl->dynamic = call->n_out > 0 && s->boxed[call->out[0]];
    cl->shapes = shapes;
    cl->boxes = arena_array(&l->a, n_params, sizeof(*cl->boxes));
    cl->made = arena_array(&l->a, call->n_out, sizeof(*cl->made));
    cl->params = arena_array(&l->a, n_params, sizeof *cl->params);
    cl->results = arena_array(&l->a, call->n_out, sizeof *cl->results);
    if (shapes == NULL || results == NULL || cl->params == NULL ||
        cl->results == NULL || cl->boxes == NULL || cl->made == NULL)
        return fail_oom(n_params * sizeof *shapes);
    for (uint32_t i = 0; i < n_params; i++) {
        const type *t = graph_type(prog, prog->body->params[i]);

        if (i < call->n_in) {
            shapes[i] = l->cells[call->in[i]].shape;
            TRY(want_place(s, l, call->in[i], d));
            continue;
        }
        shapes[i].rank = t->rank; /* a slot */
        if (t->rank > 0)
            memcpy(shapes[i].dims, t->dims, t->rank * sizeof *t->dims);
    }
    if (cl->dynamic)
        return HULL_OK;
    TRY(be->program_plan(&cl->plan, s->m->mains[b], shapes, n_params, results,
                         &cl->scratch));
    for (uint32_t i = 0; i < call->n_out; i++) {
        l->cells[call->out[i]].shape = results[i];
        TRY(cell_bytes(&l->cells[call->out[i]], main, call->out[i]));
        TRY(want_place(s, l, call->out[i], d));
    }
    cl->scratch_off = 0;
    return HULL_OK;
}

/* Scratch follows the values; calls on one device share it. */
static void place_scratch(const session *s, layout *l)
{
    for (uint32_t d = 0; d < s->m->devices.n; d++) {
        uint64_t most = 0, base = l->slab_bytes[d];

        for (uint32_t b = 0; b < s->m->plan->n_blocks; b++) {
            if (device_of(s->m, b) != d)
                continue;
            l->calls[b].scratch_off = base;
            if (l->calls[b].scratch > most)
                most = l->calls[b].scratch;
        }
        l->slab_bytes[d] = base + round_up(most + 1, PLACE_ALIGN);
    }
}

static hull_status init_cells(session *s, layout *l)
{
    const graph *g = s->m->plan->main;
    uint32_t n_dev = s->m->devices.n;

    l->cells = arena_array(&l->a, g->n_values, sizeof *l->cells);
    l->calls = arena_array(&l->a, s->m->plan->n_blocks, sizeof *l->calls);
    l->slab_bytes = arena_array(&l->a, n_dev, sizeof *l->slab_bytes);
    l->inputs = arena_array(&l->a, g->body->n_params, sizeof *l->inputs);
    if (l->cells == NULL || l->calls == NULL || l->slab_bytes == NULL ||
        l->inputs == NULL)
        return fail_oom(g->n_values * sizeof *l->cells);
    for (uint32_t v = 0; v < g->n_values; v++) {
        l->cells[v].off = arena_array(&l->a, n_dev, sizeof *l->cells[v].off);
        l->cells[v].valid = arena_array(&l->a, n_dev, sizeof(bool));
        if (l->cells[v].off == NULL || l->cells[v].valid == NULL)
            return fail_oom(n_dev * sizeof *l->cells[v].off);
        for (uint32_t d = 0; d < n_dev; d++)
            l->cells[v].off[d] = UINT64_MAX;
    }
    return HULL_OK;
}

static hull_status make_layout(layout **out, session *s,
                               const hull_tensor *inputs, size_t n)
{
    const graph *g = s->m->plan->main;
    layout *l = mem_calloc(1, sizeof *l);
    hull_status st = HULL_OK;

    *out = NULL;
    if (l == NULL)
        return fail_oom(sizeof *l);
    TRY_OUT(init_cells(s, l));
    for (uint32_t i = 0; i < n; i++) {
        cell *c = &l->cells[g->body->params[i]];

        l->inputs[i].rank = (uint32_t)inputs[i].rank;
        if (inputs[i].rank > 0)
            memcpy(l->inputs[i].dims, inputs[i].shape,
                   (size_t)inputs[i].rank * sizeof *inputs[i].shape);
        c->shape = l->inputs[i];
        if (!s->boxed[g->body->params[i]])
            TRY_OUT(cell_bytes(c, g, g->body->params[i]));
    }
    for (const node *call = g->body->first; call != NULL; call = call->next)
        TRY_OUT(layout_call(s, l, call));
    for (uint32_t i = 0; i < g->body->n_results; i++) {
        val v = g->body->results[i];

        if (graph_def(g, v) == NULL) /* an input handed through */
            TRY_OUT(want_place(s, l, v, s->m->devices.n - 1));
    }
    place_scratch(s, l);
    *out = l;
    l = NULL;
out:
    layout_free(s, l);
    return st;
}

/* The least recently used layout makes room. */
static void keep_layout(session *s, layout *l)
{
    uint32_t at = 0;

    if (s->n_layouts < LAYOUTS_KEPT) {
        s->layouts[s->n_layouts++] = l;
        return;
    }
    for (uint32_t i = 1; i < s->n_layouts; i++)
        if (s->layouts[i]->used < s->layouts[at]->used)
            at = i;
    layout_free(s, s->layouts[at]);
    s->layouts[at] = l;
}

static hull_status want_slabs(session *s, const layout *l)
{
    for (uint32_t d = 0; d < s->m->devices.n; d++) {
        device *dev = s->m->devices.d[d];

        if (l->slab_bytes[d] <= s->slab_bytes[d])
            continue;
        dev->be->buffer_free(s->slabs[d]);
        s->slabs[d] = NULL;
        s->slab_bytes[d] = 0;
        TRY(dev->be->buffer_new(&s->slabs[d], dev, l->slab_bytes[d]));
        s->slab_bytes[d] = l->slab_bytes[d];
    }
    return HULL_OK;
}

hull_status want_layout(layout **out, session *s, const hull_tensor *inputs,
                        size_t n)
{
    *out = find_layout(s, inputs, n);
    if (*out == NULL) {
        TRY(make_layout(out, s, inputs, n));
        keep_layout(s, *out);
    }
    (*out)->used = ++s->clock;
    return want_slabs(s, *out);
}
