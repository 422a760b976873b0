/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * report.c - how the nodes of a lowered graph run here, for explain: the ways
 * that there were and what each is predicted to take, or took when it was
 * timed; and what the kernels want of a node that the reference kernel runs.
 */
#include "backend/cpu/choice.h"

#include <inttypes.h>

#define NODE_NS 300 /* of any node: its call and its operands */

/* What each kernel of the op wants, or that there is none at this level. */
static void say_why_not(buf *out, const node *n, const cpu_features *has)
{
    const char *said = NULL;
    bool any = false;

    for (size_t i = 0; i < cpu_n_kernels; i++) {
        const cpu_kernel *k = &cpu_kernels[i];

        any = any || k->op == n->op;
        if (k->op != n->op || !cpu_runs(has, k->level) || k->wants == said)
            continue;
        buf_printf(out, "%s%s", said == NULL ? "wants " : ", or ", k->wants);
        said = k->wants;
    }
    if (said == NULL)
        buf_puts(out, any ? "its kernels need more than this CPU has"
                          : "there is no kernel for this op");
}

static void read_times(node_report *r, device *d, const cpu_site *s,
                       const notebook *notes)
{
    buf key, known;

    buf_init(&key, 65536);
    buf_init(&known, 65536);
    if (notes != NULL && cpu_tune_key(&key, d, s) == HULL_OK)
        notes->get(notes->user, buf_view(&key), &known);
    for (uint32_t i = 0; i < r->n_ways; i++)
        r->ways[i].timed_ns = cpu_tuned_ns(buf_view(&known), r->ways[i].name);
    buf_fini(&key);
    buf_fini(&known);
}

static void find_ways(node_report *r, const cpu_site *s, int64_t answer)
{
    for (size_t i = 0; i < cpu_n_choices && r->n_ways < NODE_WAYS_MAX; i++) {
        const cpu_choice *c = &cpu_choices[i];
        bool taken = c->value == answer;

        if (c->ask == s->ask && (taken || c->fits(s)))
            r->ways[r->n_ways++] = (node_way){c->name, NODE_NS + c->cost(s),
                                               0, taken};
    }
}

hull_status cpu_report(device *d, const graph *g, const options *o,
                       const notebook *notes, report_fn *fn, void *user)
{
    const cpu_device *c = (const cpu_device *)(const void *)d;
    const cpu_features *has = &c->has;
    cpu_level level = has->level;
    hull_status st = HULL_OK;
    dim_env typical;
    cpu_site s;
    int64_t answer;
    buf why;

    buf_init(&why, 4096);
    TRY_OUT(cpu_typical_sizes(&typical, g));
    for (const node *n = graph_first(g); n != NULL; n = graph_next(g, n)) {
        node_report r = {.n = n};

        buf_clear(&why);
        if (cpu_kernel_for(c, g, n, false) == NULL) {
            say_why_not(&why, n, has);
            TRY_OUT(buf_status(&why));
            r.why_not = why.p;
        }
        if (cpu_site_lowered(&s, &answer, &typical, g, n, level,
                             option_on(o, OPT_winograd))) {
            find_ways(&r, &s, answer);
            read_times(&r, d, &s, notes);
        } else if (n->n_out > 0) {
            r.ways[r.n_ways++] = (node_way){
                "", NODE_NS + cpu_predict(&typical, g, n, level), 0, true};
        }
        TRY_OUT(fn(user, &r));
    }
out:
    dim_env_fini(&typical);
    buf_fini(&why);
    return st;
}
