/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cpu.c - the backend of the machine's own CPU: host memory, the interpreter's
 * plans, and for each node the best kernel of kernels.def. A node without one
 * runs on the reference kernel in place; explain lists those.
 */
#include "backend/cpu/choice.h"

#define TAKES(name, wants) static const char name##_wants[] = wants;
#include "backend/cpu/takes.def"
#undef TAKES
#define KERNEL(name, op, level, takes, run) \
    {{name, run}, OP_##op, CPU_##level, takes, takes##_wants},
const cpu_kernel cpu_kernels[] = {
#include "backend/cpu/kernels.def"
    {{NULL, NULL}, OP_none, CPU_ANY, NULL, NULL} /* ends the table */
};
#undef KERNEL
const size_t cpu_n_kernels = COUNT_OF(cpu_kernels) - 1;

static const cpu_device *cpu_of(const device *d)
{
    return (const cpu_device *)(const void *)d;
}

/* Whether every kernel for `has` may be entered here. */
static bool can_run(const cpu_features *machine, const cpu_features *has)
{
    return has->level <= machine->level && has->vnni <= machine->vnni &&
           has->bf16 <= machine->bf16;
}

/* Building for less than the machine has, or for more; what cannot run here
 * cannot be timed either. */
static hull_status take_target(cpu_device *c, const options *o)
{
    str target = o != NULL ? option_str(o, OPT_target) : (str){0};

    c->machine = c->has;
    if (target.n == 0)
        return HULL_OK;
    TRY(cpu_features_set(&c->has, target));
    c->foreign = !can_run(&c->machine, &c->has);
    if (c->foreign && option_on(o, OPT_tune))
        return fail(HULL_EINVAL, "tune=on times kernels on this machine, which "
                    "cannot run those of target '%.*s'", STR_ARG(target));
    return HULL_OK;
}

static hull_status cpu_open(device **out, const options *o, pool *p)
{
    cpu_device *c = mem_calloc(1, sizeof *c);
    hull_status st = HULL_OK;

    *out = NULL;
    if (c == NULL)
        return fail_oom(sizeof *c);
    c->d = (device){.be = &backend_cpu, .pool = p};
    TRY_OUT(cpu_features_get(&c->has));
    TRY_OUT(take_target(c, o));
    *out = &c->d;
    c = NULL;
out:
    mem_free(c);
    return st;
}

static void cpu_close(device *d)
{
    mem_free(d);
}

static void cpu_target(buf *out, const device *d)
{
    const cpu_features *f = &cpu_of(d)->has;

    buf_printf(out, "cpu %s%s%s kernels %s", cpu_level_name(f->level),
               f->vnni ? "+vnni" : "", f->bf16 ? "+bf16" : "",
               HULL_CPU_SOURCES);
}

static const char *cpu_why_not(const device *d, const graph *g, const node *n)
{
    (void)d;
    (void)g;
    (void)n;
    return NULL;
}

const host_kernel *cpu_kernel_for(const cpu_device *c, const graph *g,
                                  const node *n, bool enter)
{
    for (size_t i = 0; i < cpu_n_kernels; i++) {
        const cpu_kernel *k = &cpu_kernels[i];

        if (k->op == n->op && cpu_runs(&c->has, k->level) &&
            (!enter || !c->foreign || cpu_runs(&c->machine, k->level)) &&
            k->takes(g, n))
            return &k->k;
    }
    return NULL;
}

static const host_kernel *cpu_kernel_of(const device *d, const graph *g,
                                        const node *n)
{
    return cpu_kernel_for(cpu_of(d), g, n, true);
}

const backend backend_cpu = {
    .name = "cpu",
    .has_targets = true,
    .open = cpu_open,
    .close = cpu_close,
    .target = cpu_target,
    .why_not = cpu_why_not,
    .lower = cpu_lower,
    .report = cpu_report,
    .kernel = cpu_kernel_of,
    HOST_BACKEND,
};
