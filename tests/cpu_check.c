/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cpu_check.c - cpu_check CASES [--bench [2]]: every row of the cpu backend's
 * kernels.def against the reference kernel of its op, at every level that the
 * machine has; with one thread and with three, which must agree to the bit; a
 * chain also with the kernels of its ops, to the bit. A row that no case
 * reaches is a failure. --bench prints what a row moves or multiplies in a
 * second instead (by hand, on a quiet machine), with one thread or 2.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cpu/cpu.h"
#include "ops/family.h"

#define CASE_HOSTILE 1u /* NaN, infinities, zeros */
#define CASE_HUGE 2u    /* all exponents */
#define MAX_TENSORS 16
#define GUARD 64 /* bytes behind a result that nobody may touch */

typedef struct cpu_case {
    const char *params, *what;
    double tol, flops;
    unsigned kinds;
    const char *const *sizes; /* in place of $; or NULL */
} cpu_case;

/* Nothing, one, tails of both levels, more than one piece of work. */
static const char *const some_sizes[] = {"0",    "1",      "7",
                                         "8",    "16",     "33",
                                         "3,21", "2,1,15", "70001",
                                         NULL};
static const char *const few_sizes[] = {"1", "19", "70001", NULL};
static const char *const pair_sizes[] = {"0",  "1",  "2",
                                         "31", "64", "2003",
                                         NULL};

static unsigned n_checked, n_failed;
static uint64_t seed; /* of the case */

static uint32_t draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

/* ---- values -------------------------------------------------------------- */

static double tame_value(void)
{
    return ((double)draw() / 2147483648.0 - 0.5) * 6;
}

static double hostile_value(unsigned kinds)
{
    static const double specials[] = {NAN,  INFINITY, -INFINITY, 0.0,
                                      -0.0, 1.0,      -1.0,      0.5};
    static const double huge[] = {3.4028234663852886e38,
                                  -3.4028234663852886e38, 1e-45, -1e-40,
                                  1.1754943508222875e-38, 88.7, -88.7, -104,
                                  1e30, -1e-30, 100000.5, 2.5, -3.5};
    uint32_t k = draw() % 8;

    if (k == 0)
        return specials[draw() % COUNT_OF(specials)];
    if (k == 1 && (kinds & CASE_HUGE))
        return huge[draw() % COUNT_OF(huge)];
    if (k == 2 && (kinds & CASE_HUGE))
        return ldexp(tame_value(), (int)(draw() % 250) - 125);
    return tame_value();
}

static int64_t int_value(bool hostile)
{
    if (hostile && draw() % 4 == 0)
        return draw() % 2 ? INT64_MIN + (int64_t)(draw() % 2)
                          : INT64_MAX - (int64_t)(draw() % 2);
    return (int64_t)(draw() % 9) - 4;
}

static int64_t byte_value(bool hostile)
{
    static const int64_t ends[] = {0, 1, 127, 128, 255};

    return hostile && draw() % 2 ? ends[draw() % COUNT_OF(ends)]
                                 : (int64_t)(draw() % 256);
}

/* Parameters named i are indices: -2 .. 1. Those from v on are positive. */
static void fill(tensor *t, str name, bool hostile, unsigned kinds)
{
    int64_t n = tensor_numel(t);
    bool index = str_is(name, "i") || str_is(name, "%i");
    bool positive = str_starts(name, "v") || str_starts(name, "%v");
    bool byte = t->dtype == HULL_U8 || t->dtype == HULL_I8;

    for (int64_t i = 0; i < n; i++) {
        if (dtype_is_float(t->dtype)) {
            double v = hostile ? hostile_value(kinds) : tame_value();

            store_f64(t->dtype, t->data, (uint64_t)i,
                      positive ? fabs(v) + 0.25 : v);
        } else {
            store_i64(t->dtype, t->data, (uint64_t)i,
                      index ? (int64_t)(draw() % 4) - 2
                      : byte ? byte_value(hostile)
                      : t->dtype == HULL_BOOL ? draw() % 2
                                              : int_value(hostile));
        }
    }
}

/* ---- one case ------------------------------------------------------------ */

typedef struct trial {
    ir *m;
    const node *n;
    dim_env env;
    arena a, scratch;
    tensor in[MAX_TENSORS], want[MAX_TENSORS], got[MAX_TENSORS];
    tensor again[MAX_TENSORS];
} trial;

/* Operands have memory of their own, so that a sanitizer sees what is read
 * beyond it. */
static void *operand_memory(tensor *x)
{
    uint64_t n = tensor_bytes(x);

    x->data = malloc(n > 0 ? n : 1);
    return x->data;
}

static void *memory(trial *t, tensor *x)
{
    uint64_t n = tensor_bytes(x);

    x->data = arena_alloc(&t->a, n + GUARD);
    if (x->data != NULL)
        memset(x->data, 0xa5, n + GUARD);
    return x->data;
}

static bool guard_holds(const tensor *x)
{
    const unsigned char *p = x->data;
    uint64_t n = tensor_bytes(x);

    for (int i = 0; i < GUARD; i++)
        if (p[n + (uint64_t)i] != 0xa5)
            return false;
    return true;
}

/* "a: f32[3]" and "exp %a" as a graph of one node. */
static hull_status trial_open(trial *t, const char *params, const char *what)
{
    char text[2048], names[64] = "%r0";
    str rest = str_of(what);
    op_code op = op_find(str_split(rest, ' ', &rest));
    const graph *g;

    *t = (trial){0};
    for (int32_t i = 1; op != OP_none && i < op_get(op)->n_out; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names),
                 ", %%r%d", i);
    snprintf(text, sizeof text, "graph @t(%s) {\n  %s = %s\n  return %s\n}\n",
             params, names, what, names);
    TRY(ir_parse(&t->m, str_of(text), NULL));
    g = t->m->graphs[0];
    t->n = g->body->first;
    TRY(dim_env_init(&t->env, t->m));
    for (uint32_t i = 0; i < t->n->n_in; i++) {
        if (t->n->in[i] == 0)
            continue;
        TRY(tensor_of_type(&t->in[i], &t->env, graph_type(g, t->n->in[i])));
        if (operand_memory(&t->in[i]) == NULL)
            return HULL_ENOMEM;
    }
    for (uint32_t i = 0; i < t->n->n_out; i++) {
        TRY(tensor_of_type(&t->want[i], &t->env, graph_type(g, t->n->out[i])));
        t->again[i] = t->got[i] = t->want[i];
        if (memory(t, &t->want[i]) == NULL || memory(t, &t->got[i]) == NULL ||
            memory(t, &t->again[i]) == NULL)
            return HULL_ENOMEM;
    }
    return HULL_OK;
}

static void trial_fill(trial *t, bool hostile, unsigned kinds)
{
    const graph *g = t->m->graphs[0];

    for (uint32_t i = 0; i < t->n->n_in; i++)
        if (t->in[i].data != NULL)
            fill(&t->in[i], graph_value(g, t->n->in[i])->name, hostile, kinds);
}

static void trial_close(trial *t)
{
    for (uint32_t i = 0; i < MAX_TENSORS; i++)
        free(t->in[i].data);
    arena_fini(&t->a);
    arena_fini(&t->scratch);
    dim_env_fini(&t->env);
    ir_free(t->m);
}

static hull_status trial_run(trial *t, op_eval_fn *run, tensor *out, pool *p)
{
    eval_ctx cx = {.env = &t->env, .scratch = &t->scratch, .pool = p};

    arena_reset(&t->scratch);
    return run(&cx, t->n, t->in, out);
}

static bool fits(double found, double wanted, const cpu_case *c)
{
    if (isnan(wanted) || isnan(found))
        return isnan(wanted) && isnan(found);
    if (isinf(wanted) || isinf(found))
        return found == wanted;
    if (found == wanted)
        return found != 0 || c->kinds == 0 ||
               !signbit(found) == !signbit(wanted);
    return fabs(found - wanted) <= c->tol + c->tol * fabs(wanted);
}

static void complain(const char *kernel, const char *params, const char *what,
                     const char *problem)
{
    if (n_failed++ < 40)
        printf("%s: %s with %s: %s\n", kernel, what, params, problem);
}

static void compare(const trial *t, const char *kernel, const cpu_case *c,
                    const char *params)
{
    char text[160];

    for (uint32_t k = 0; k < t->n->n_out; k++) {
        const tensor *w = &t->want[k], *f = &t->got[k];
        int64_t n = tensor_numel(w);

        if (!guard_holds(f) || !guard_holds(&t->again[k]))
            complain(kernel, params, c->what, "wrote behind its result");
        if (memcmp(f->data, t->again[k].data, tensor_bytes(f)) != 0)
            complain(kernel, params, c->what, "threads change the result");
        for (int64_t i = 0; i < n; i++) {
            double a, b;

            if (!dtype_is_float(w->dtype)) {
                if (memcmp(f->data, w->data, tensor_bytes(f)) == 0)
                    break;
                complain(kernel, params, c->what, "another result");
                break;
            }
            a = load_f64(f->dtype, f->data, (uint64_t)i);
            b = load_f64(w->dtype, w->data, (uint64_t)i);
            if (fits(a, b, c))
                continue;
            snprintf(text, sizeof text, "element %" PRId64 " is %.9g, wanted "
                     "%.9g", i, a, b);
            complain(kernel, params, c->what, text);
            break;
        }
    }
}

static op_eval_fn *kernel_of(op_code op, cpu_level level)
{
    for (size_t i = 0; i < cpu_n_kernels; i++) /* f32 comes first */
        if (cpu_kernels[i].op == op && cpu_kernels[i].level == level)
            return cpu_kernels[i].k.run;
    return NULL;
}

/* What one or two tensors broadcast to; returns its rank. */
static uint32_t joint_shape(const tensor *x, uint32_t n, int64_t *dims)
{
    const tensor *a = &x[0], *b = &x[n - 1];
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;

    for (uint32_t i = 1; i <= rank; i++) {
        int64_t one = i <= a->rank ? a->shape[a->rank - i] : 1;

        dims[rank - i] = one != 1 || i > b->rank ? one
                                                 : b->shape[b->rank - i];
    }
    return rank;
}

/* A chain step by step, by the level's kernels, into t->want. */
static hull_status run_steps(trial *t, cpu_level level)
{
    tensor v[CHAIN_OPERANDS + CHAIN_STEPS], from[2] = {{0}};
    eval_ctx cx = {.env = &t->env, .scratch = &t->scratch};
    uint32_t n_in = t->n->n_in;
    chain_code c;

    TRY(chain_read(&c, t->n));
    arena_reset(&t->scratch);
    memcpy(v, t->in, n_in * sizeof *v);
    for (uint32_t i = 0; i < c.n; i++) {
        const chain_step *s = &c.steps[i];
        op_eval_fn *run = kernel_of(s->op, level);
        node one = chain_node(s);
        tensor *to = &v[n_in + i];
        int64_t dims[HULL_MAX_RANK];
        uint32_t rank;

        if (run == NULL)
            return fail(HULL_ENOTFOUND, "%s", op_get(s->op)->name);
        for (uint32_t k = 0; k < s->n_in; k++)
            from[k] = v[s->in[k]];
        rank = joint_shape(from, s->n_in, dims);
        TRY(eval_temp(&cx, to, s->to != HULL_NONE ? s->to : HULL_F32, dims,
                      rank));
        TRY(run(&cx, &one, from, to));
    }
    memcpy(t->want[0].data, v[n_in + c.n - 1].data,
           tensor_bytes(&t->want[0]));
    return HULL_OK;
}

/* NaNs are equal whatever their bits are. */
static bool same_floats(const tensor *a, const tensor *b)
{
    size_t size = hull_dtype_bits(a->dtype) / 8;

    for (int64_t i = 0; i < tensor_numel(a); i++)
        if (memcmp((char *)a->data + (size_t)i * size,
                   (char *)b->data + (size_t)i * size, size) != 0 &&
            !(isnan(load_f64(a->dtype, a->data, (uint64_t)i)) &&
              isnan(load_f64(b->dtype, b->data, (uint64_t)i))))
            return false;
    return true;
}

static void check_kernel(trial *t, const cpu_kernel *k, const cpu_case *c,
                         const char *params, pool *p)
{
    for (int hostile = 0; hostile < 2; hostile++) {
        hull_status want, got, again;

        if (hostile && !(c->kinds & CASE_HOSTILE))
            break;
        trial_fill(t, hostile != 0, c->kinds);
        want = trial_run(t, op_get(k->op)->eval, t->want, NULL);
        got = trial_run(t, k->k.run, t->got, NULL);
        again = trial_run(t, k->k.run, t->again, p);
        n_checked++;
        if (want != got || want != again)
            complain(k->k.name, params, c->what,
                     want == HULL_OK ? "refused" : "accepted");
        else if (want == HULL_OK)
            compare(t, k->k.name, c, params);
        if (k->op == OP_chain && (run_steps(t, k->level) != HULL_OK ||
                                  !same_floats(t->want, t->got)))
            complain(k->k.name, params, c->what,
                     "not to the bit what its ops' kernels give");
    }
}

/* `params` and `what` with $ replaced. */
static void put_shape(char *out, size_t size, const char *s, const char *by)
{
    size_t n = 0;

    for (; *s != '\0' && n + strlen(by) + 1 < size; s++) {
        if (*s != '$') {
            out[n++] = *s;
            continue;
        }
        memcpy(out + n, by, strlen(by));
        n += strlen(by);
    }
    out[n] = '\0';
}

static void check_case(const cpu_case *c, const char *by, const cpu_features *has,
                       unsigned *reached, pool *p)
{
    char params[768], what[768];
    cpu_case one = *c;
    trial t;

    put_shape(params, sizeof params, c->params, by);
    put_shape(what, sizeof what, c->what, by);
    /* A case has its values wherever it stands in the file. */
    seed = checksum_of(params, strlen(params)).lo;
    one.what = what;
    if (trial_open(&t, params, what) != HULL_OK)
        complain("case", params, what, error_text());
    for (size_t i = 0; t.n != NULL && i < cpu_n_kernels; i++) {
        const cpu_kernel *k = &cpu_kernels[i];

        if (k->op != t.n->op || !cpu_runs(has, k->level) ||
            !k->takes(t.m->graphs[0], t.n))
            continue;
        reached[i]++;
        check_kernel(&t, k, &one, params, p);
    }
    trial_close(&t);
}

/* ---- bench --------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void bench_case(const cpu_case *b, const cpu_features *has, pool *p)
{
    trial t;

    if (trial_open(&t, b->params, b->what) != HULL_OK) {
        complain("bench", b->params, b->what, error_text());
        trial_close(&t);
        return;
    }
    trial_fill(&t, false, 0);
    for (size_t i = 0; i < cpu_n_kernels; i++) {
        const cpu_kernel *k = &cpu_kernels[i];
        double best = INFINITY, total = 0, moved = 0;

        if (k->op != t.n->op || !cpu_runs(has, k->level) ||
            !k->takes(t.m->graphs[0], t.n))
            continue;
        for (int n = 0; n < 200 && (n < 3 || total < 0.2); n++) {
            double start = seconds(), took;

            if (trial_run(&t, k->k.run, t.got, p) != HULL_OK)
                complain(k->k.name, b->params, b->what, error_text());
            took = seconds() - start;
            total += took;
            best = took < best ? took : best;
        }
        for (uint32_t j = 0; j < t.n->n_in; j++)
            moved += t.in[j].data != NULL ? (double)tensor_bytes(&t.in[j]) : 0;
        moved += (double)tensor_bytes(&t.got[0]);
        printf("%-24s %9.1f us %7.1f %s  %s\n", k->k.name, best * 1e6,
               (b->flops > 0 ? b->flops : moved) / best * 1e-9,
               b->flops > 0 ? "GFLOP/s" : "GB/s", b->what);
    }
    trial_close(&t);
}

/* ---- the file ------------------------------------------------------------ */

typedef struct checking {
    const cpu_features *has;
    pool *p;
    unsigned *reached;
    bool bench;
} checking;

static hull_status read_head(cpu_case *c, str head, bool *bench)
{
    str rest, first = str_split(head, ' ', &rest), kinds, sizes;

    *bench = str_is(first, "bench");
    kinds = str_split(rest, ' ', &rest);
    sizes = str_trim(rest);
    if (!str_to_f64(*bench ? &c->flops : &c->tol, *bench ? kinds : first))
        return fail(HULL_EFORMAT, "'%.*s' is no case", STR_ARG(head));
    c->kinds = str_is(kinds, "all") ? CASE_HOSTILE | CASE_HUGE
               : str_is(kinds, "hostile") ? CASE_HOSTILE : 0;
    c->sizes = str_is(sizes, "some")    ? some_sizes
               : str_is(sizes, "few")   ? few_sizes
               : str_is(sizes, "pairs") ? pair_sizes
                                        : NULL;
    return HULL_OK;
}

static hull_status do_line(const checking *k, str line)
{
    str rest, head = str_split(line, '|', &rest);
    str params = str_trim(str_split(rest, '|', &rest));
    char p[768], w[768];
    cpu_case c = {.params = p, .what = w};
    const char *const *s;
    bool bench;

    if (line.n == 0 || line.p[0] == '#')
        return HULL_OK;
    TRY(read_head(&c, str_trim(head), &bench));
    snprintf(p, sizeof p, "%.*s", STR_ARG(params));
    snprintf(w, sizeof w, "%.*s", STR_ARG(str_trim(rest)));
    if (bench != k->bench)
        return HULL_OK;
    if (bench)
        bench_case(&c, k->has, k->p);
    s = c.sizes;
    while (!bench) {
        check_case(&c, s != NULL ? *s : "", k->has, k->reached, k->p);
        if (s == NULL || *++s == NULL)
            break;
    }
    return HULL_OK;
}

static hull_status do_file(const checking *k, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1024];
    hull_status st = HULL_OK;

    if (f == NULL)
        return fail(HULL_EIO, "no file '%s'", path);
    while (st == HULL_OK && fgets(line, sizeof line, f) != NULL)
        st = do_line(k, str_trim(str_of(line)));
    fclose(f);
    return st;
}

static void count_rows(const checking *k)
{
    for (size_t i = 0; i < cpu_n_kernels; i++)
        if (cpu_runs(k->has, cpu_kernels[i].level) && k->reached[i] == 0)
            complain(cpu_kernels[i].k.name, "-", "-", "no case reaches it");
    printf("%u passed, %u failed, 0 skipped\n",
           n_checked > n_failed ? n_checked - n_failed : 0, n_failed);
}

int main(int argc, char **argv)
{
    checking k = {.bench = argc > 2};
    uint32_t threads = !k.bench ? 3 : argc > 3 ? 2 : 1;
    hull_status st = argc < 2 ? fail(HULL_EINVAL, "no file of cases") : HULL_OK;
    cpu_features has = {0};

    k.reached = calloc(cpu_n_kernels, sizeof *k.reached);
    if (st == HULL_OK && k.reached != NULL)
        st = cpu_features_get(&has);
    if (st == HULL_OK)
        st = pool_new(&k.p, threads);
    k.has = &has;
    if (st == HULL_OK && k.reached != NULL)
        st = do_file(&k, argv[1]);
    if (st != HULL_OK)
        printf("cpu_check: %s\n", error_text());
    else if (!k.bench)
        count_rows(&k);
    pool_free(k.p);
    free(k.reached);
    return st == HULL_OK && n_failed == 0 ? 0 : 1;
}
