/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * dims_eval.c - what dim expressions are worth: bounds from the symbols'
 * ranges, values under an environment, binding of symbols to the sizes of a
 * run, and the text. Recursion is bounded by the limits of dims.c.
 */
#include "ir/dims.h"

#include <inttypes.h>
#include <string.h>

/* ---- bounds -------------------------------------------------------------- */

typedef struct range {
    int64_t min, max; /* INT64_MIN, INT64_MAX: unbounded */
} range;

static const range everything = { INT64_MIN, INT64_MAX };

static bool is_inf(int64_t v)
{
    return v == INT64_MIN || v == INT64_MAX;
}

/* Bound + bound of the same side; infinities absorb. */
static int64_t bound_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (is_inf(a))
        return a;
    if (is_inf(b))
        return b;
    return add_i64(&sum, a, b) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t bound_mul(int64_t a, int64_t b)
{
    int64_t product;

    if (a == 0 || b == 0)
        return 0;
    if (!is_inf(a) && !is_inf(b) && mul_i64(&product, a, b))
        return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q;

    if (b == -1)
        return a == INT64_MIN ? INT64_MAX : -a;
    q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static int64_t bound_div(int64_t a, int64_t b)
{
    if (is_inf(a))
        return b > 0 ? a : a == INT64_MAX ? INT64_MIN : INT64_MAX;
    if (is_inf(b))
        return a < 0 ? -1 : 0;
    return floor_div(a, b);
}

static range hull_of(const int64_t *v, int n)
{
    range r = { v[0], v[0] };

    for (int i = 1; i < n; i++) {
        r.min = v[i] < r.min ? v[i] : r.min;
        r.max = v[i] > r.max ? v[i] : r.max;
    }
    return r;
}

static range corners(range a, range b, int64_t (*f)(int64_t, int64_t))
{
    int64_t v[4] = { f(a.min, b.min), f(a.min, b.max), f(a.max, b.min),
                     f(a.max, b.max) };

    return hull_of(v, 4);
}

static range range_mod(range a, range b)
{
    if (b.min <= 0)
        return everything;
    if (a.min >= 0 && a.max < b.min)
        return a;
    return (range){ 0, b.max == INT64_MAX ? b.max : b.max - 1 };
}

static range range_of(const ir *m, dim d)
{
    const dim_node *n = dim_get(m, d);
    range a, b;

    if (d >= 0)
        return (range){ d, d };
    if (n == NULL)
        return everything;
    if (n->op == DIM_INT)
        return (range){ n->value, n->value };
    if (n->op == DIM_SYM)
        return (range){ n->min, n->max };
    a = range_of(m, n->a);
    b = range_of(m, n->b);
    switch (n->op) {
    case DIM_ADD:
        return (range){ bound_add(a.min, b.min), bound_add(a.max, b.max) };
    case DIM_MUL:
        return corners(a, b, bound_mul);
    case DIM_DIV:
        if (b.min <= 0) { /* an integer divisor is always positive */
            if (b.min < 0 || b.max <= 0)
                return everything;
            b.min = 1; /* zero is refused when evaluated */
        }
        return corners(a, b, bound_div);
    case DIM_MOD:
        if (b.min == 0 && b.max > 0)
            b.min = 1;
        return range_mod(a, b);
    case DIM_MIN:
        return (range){ a.min < b.min ? a.min : b.min,
                        a.max < b.max ? a.max : b.max };
    case DIM_MAX:
        return (range){ a.min > b.min ? a.min : b.min,
                        a.max > b.max ? a.max : b.max };
    case DIM_BCAST:
        return (range){ a.min < b.min ? a.min : b.min,
                        a.max > b.max ? a.max : b.max };
    case DIM_INT:
    case DIM_SYM:
        break;
    }
    return everything;
}

bool dim_is_symbol(const ir *m, dim d)
{
    const dim_node *n = dim_get(m, d);

    return n != NULL && n->op == DIM_SYM;
}

void dim_range(const ir *m, dim d, int64_t *out_min, int64_t *out_max)
{
    range r = range_of(m, d);

    *out_min = r.min;
    *out_max = r.max;
}

/* ---- environments -------------------------------------------------------- */

hull_status dim_env_init(dim_env *e, const ir *m)
{
    uint32_t n = dim_n_nodes(m);

    *e = (dim_env){ .m = m };
    e->values = mem_calloc(n, sizeof(*e->values));
    if (e->values == NULL)
        return fail_oom(n * sizeof(*e->values));
    e->n = n;
    dim_env_clear(e);
    return HULL_OK;
}

void dim_env_fini(dim_env *e)
{
    if (e == NULL)
        return;
    mem_free(e->values);
    *e = (dim_env){ 0 };
}

void dim_env_clear(dim_env *e)
{
    for (uint32_t i = 0; i < e->n; i++)
        e->values[i] = INT64_MIN;
}

static int64_t bound_value(const dim_env *e, dim d)
{
    uint64_t i = dim_index(d);

    return i < e->n ? e->values[i] : INT64_MIN;
}

static hull_status eval_overflow(const dim_env *e, dim d)
{
    char text[200];
    buf b;

    buf_init(&b, 1 << 16);
    dim_print(&b, e->m, d);
    snprintf(text, sizeof(text), "%.*s", STR_ARG(buf_view(&b)));
    buf_fini(&b);
    return fail(HULL_ESHAPE, "size %s is beyond 64 bits or divides by zero",
                text);
}

static hull_status eval_bcast(int64_t *out, int64_t a, int64_t b)
{
    if (a != 1 && b != 1 && a != b)
        return fail(HULL_ESHAPE,
                    "sizes %" PRId64 " and %" PRId64 " do not broadcast", a, b);
    *out = a == 1 ? b : a;
    return HULL_OK;
}

static hull_status eval_op(int64_t *out, const dim_env *e, dim d, int64_t a,
                           int64_t b)
{
    const dim_node *n = dim_get(e->m, d);
    bool ok = true;

    switch (n->op) {
    case DIM_ADD:
        ok = add_i64(out, a, b);
        break;
    case DIM_MUL:
        ok = mul_i64(out, a, b);
        break;
    case DIM_DIV:
    case DIM_MOD:
        ok = b != 0 && !(a == INT64_MIN && b == -1);
        if (ok)
            *out = n->op == DIM_DIV ? floor_div(a, b) : a - b * floor_div(a, b);
        break;
    case DIM_MIN:
        *out = a < b ? a : b;
        break;
    case DIM_MAX:
        *out = a > b ? a : b;
        break;
    case DIM_BCAST:
        return eval_bcast(out, a, b);
    case DIM_INT:
    case DIM_SYM:
        break;
    }
    return ok ? HULL_OK : eval_overflow(e, d);
}

hull_status dim_eval_value(int64_t *out, const dim_env *e, dim d)
{
    const dim_node *n;
    int64_t a, b;

    *out = 0;
    if (d >= 0) {
        *out = d;
        return HULL_OK;
    }
    if (d == DIM_UNKNOWN)
        return fail(HULL_ESHAPE, "a size that depends on data is not known");
    n = dim_get(e->m, d);
    if (n == NULL)
        return fail(HULL_EINTERNAL, "dim %" PRId64 " is not in the table", d);
    if (n->op == DIM_INT) {
        *out = n->value;
        return HULL_OK;
    }
    if (n->op == DIM_SYM) {
        *out = bound_value(e, d);
        if (*out != INT64_MIN)
            return HULL_OK;
        *out = 0;
        return fail(HULL_ESHAPE, "size '%.*s' is not bound by any input",
                    STR_ARG(n->name));
    }
    TRY(dim_eval_value(&a, e, n->a));
    TRY(dim_eval_value(&b, e, n->b));
    return eval_op(out, e, d, a, b);
}

hull_status dim_eval(int64_t *out, const dim_env *e, dim d)
{
    int64_t v;

    *out = 0;
    TRY(dim_eval_value(&v, e, d));
    if (v < 0)
        return fail(HULL_ESHAPE, "size is %" PRId64 ", less than 0", v);
    *out = v;
    return HULL_OK;
}

/* ---- binding ------------------------------------------------------------- */

static bool is_free(const dim_env *e, dim d)
{
    const dim_node *n = dim_get(e->m, d);

    return n != NULL && n->op == DIM_SYM && bound_value(e, d) == INT64_MIN;
}

/* Some unbound symbol of d, DIM_UNKNOWN when there is none. */
static dim find_free(const dim_env *e, dim d)
{
    const dim_node *n = dim_get(e->m, d);
    dim s;

    if (n == NULL || n->op == DIM_INT)
        return DIM_UNKNOWN;
    if (n->op == DIM_SYM)
        return is_free(e, d) ? d : DIM_UNKNOWN;
    s = find_free(e, n->a);
    return s != DIM_UNKNOWN ? s : find_free(e, n->b);
}

static hull_status bind_symbol(dim_env *e, dim sym, int64_t size,
                               const char *what)
{
    const dim_node *n = dim_get(e->m, sym);

    if (dim_index(sym) >= e->n)
        return fail(HULL_EINTERNAL, "size '%.*s' is newer than its environment",
                    STR_ARG(n->name));
    if (size < n->min)
        return fail(HULL_ESHAPE,
                    "%s is %" PRId64 ", but '%.*s' is at least %" PRId64, what,
                    size, STR_ARG(n->name), n->min);
    if (size > n->max)
        return fail(HULL_ESHAPE,
                    "%s is %" PRId64 ", but '%.*s' is at most %" PRId64, what,
                    size, STR_ARG(n->name), n->max);
    e->values[dim_index(sym)] = size;
    return HULL_OK;
}

hull_status dim_assign(dim_env *e, dim sym, int64_t v)
{
    if (v == INT64_MIN)
        return fail(HULL_ESHAPE, "value %" PRId64 " is out of bounds", v);
    return bind_symbol(e, sym, v, "the value");
}

static hull_status not_linear(const dim_env *e, dim sym, const char *what)
{
    const dim_node *n = dim_get(e->m, sym);

    return fail(HULL_ESHAPE, "%s does not determine size '%.*s'", what,
                STR_ARG(n->name));
}

/* Adds the term to c * sym + k. */
static hull_status linear_term(int64_t *c, int64_t *k, const dim_env *e,
                               const dim_term *t, dim sym, const char *what)
{
    int64_t v = t->coef, f;
    int power = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        if (t->atom[i] == sym) {
            power++;
            continue;
        }
        if (find_free(e, t->atom[i]) != DIM_UNKNOWN)
            return not_linear(e, sym, what);
        TRY(dim_eval_value(&f, e, t->atom[i]));
        if (!mul_i64(&v, v, f))
            return eval_overflow(e, t->atom[i]);
    }
    if (power > 1)
        return not_linear(e, sym, what);
    if (!add_i64(power ? c : k, power ? *c : *k, v))
        return eval_overflow(e, sym);
    return HULL_OK;
}

/* Solves c * sym + k = size. */
static hull_status bind_linear(dim_env *e, dim d, dim sym, int64_t size,
                               const char *what)
{
    dim_poly p;
    int64_t c = 0, k = 0, rest;
    const dim_node *n = dim_get(e->m, sym);

    if (!dim_to_poly(e->m, &p, d))
        return not_linear(e, sym, what);
    for (uint32_t i = 0; i < p.n; i++)
        TRY(linear_term(&c, &k, e, &p.term[i], sym, what));
    if (!add_i64(&k, k, p.constant) || !sub_i64(&rest, size, k))
        return eval_overflow(e, d);
    if (c == 0)
        return not_linear(e, sym, what);
    if ((c == -1 && rest == INT64_MIN) || rest % c != 0)
        return fail(HULL_ESHAPE,
                    "%s is %" PRId64 ", which is %" PRId64 " * %.*s + %" PRId64
                    " for no integer",
                    what, size, c, STR_ARG(n->name), k);
    return bind_symbol(e, sym, rest / c, what);
}

/* d = sym + guard: a term of its own, and others that hold it inside, such as
 * s + min(0, s - t) for "s, at least t". */
static bool is_guarded(const dim_env *e, dim d, dim sym)
{
    bool alone = false, inside = false;
    dim_poly p;

    if (!dim_to_poly(e->m, &p, d))
        return false;
    for (uint32_t i = 0; i < p.n; i++) {
        const dim_term *t = &p.term[i];

        if (t->n == 1 && t->atom[0] == sym && t->coef == 1)
            alone = true;
        else
            for (uint32_t k = 0; k < t->n; k++)
                inside |= find_free(e, t->atom[k]) != DIM_UNKNOWN;
    }
    return alone && inside;
}

/* sym is the size, and the guard must then be worth 0. */
static hull_status bind_guarded(dim_env *e, dim d, dim sym, int64_t size,
                                const char *what)
{
    char text[200];
    int64_t v = 0;
    buf b;

    TRY(bind_symbol(e, sym, size, what));
    hull_status st = note(dim_eval_value(&v, e, d), "%s", what);
    if (st == HULL_OK && v == size)
        return HULL_OK;
    e->values[dim_index(sym)] = INT64_MIN;
    TRY(st);
    buf_init(&b, sizeof(text) - 1);
    dim_print(&b, e->m, d);
    snprintf(text, sizeof(text), "%.*s", (int)b.n, b.n > 0 ? b.p : "");
    buf_fini(&b);
    return fail(HULL_ESHAPE,
                "%s is %" PRId64 ", which a guard of the model forbids: "
                "%s is %" PRId64, what, size, text, v);
}

hull_status dim_bind(dim_env *e, dim d, int64_t size, const char *what)
{
    dim sym;
    int64_t v;

    if (d == DIM_UNKNOWN)
        return HULL_OK;
    sym = find_free(e, d);
    if (sym != DIM_UNKNOWN && sym == d)
        return bind_symbol(e, d, size, what);
    if (sym != DIM_UNKNOWN && is_guarded(e, d, sym))
        return bind_guarded(e, d, sym, size, what);
    if (sym != DIM_UNKNOWN)
        return bind_linear(e, d, sym, size, what);
    TRY(note(dim_eval(&v, e, d), "%s", what));
    if (v != size)
        return fail(HULL_ESHAPE, "%s is %" PRId64 ", %" PRId64 " is wanted",
                    what, size, v);
    return HULL_OK;
}

/* ---- text ---------------------------------------------------------------- */

typedef struct printer {
    buf *b;
    const ir *m;
    dim_sym_fn *fn;
    void *user;
} printer;

static void print_dim(const printer *p, dim d);

static void print_call(const printer *p, const char *name, const dim_node *n)
{
    buf_puts(p->b, name);
    buf_putc(p->b, '(');
    print_dim(p, n->a);
    buf_puts(p->b, ", ");
    print_dim(p, n->b);
    buf_putc(p->b, ')');
}

static void print_symbol(const printer *p, dim d, const dim_node *n)
{
    if (p->fn != NULL)
        p->fn(p->user, p->b, d, n);
    else if (is_ident(n->name))
        buf_str(p->b, n->name);
    else
        buf_quoted(p->b, n->name);
}

/* A factor or an operand of / and %: in parentheses unless it stands alone. */
static void print_factor(const printer *p, dim d)
{
    const dim_node *n = dim_get(p->m, d);
    bool alone = n == NULL || n->op == DIM_SYM || n->op == DIM_MIN ||
                 n->op == DIM_MAX || n->op == DIM_BCAST;

    if (!alone)
        buf_putc(p->b, '(');
    print_dim(p, d);
    if (!alone)
        buf_putc(p->b, ')');
}

/* A product; the sign was written by the sum when `positive`. */
static void print_product(const printer *p, dim d, bool positive)
{
    dim rev[DIM_MAX_FACTORS + 1];
    uint32_t n = 0;
    int64_t v;
    const dim_node *x = dim_get(p->m, d);

    for (; x != NULL && x->op == DIM_MUL && n < DIM_MAX_FACTORS;
         d = x->a, x = dim_get(p->m, d))
        rev[n++] = x->b;
    rev[n++] = d;
    if (dim_is_int(p->m, rev[n - 1], &v) && v < 0) {
        if (!positive)
            buf_putc(p->b, '-');
        if (v != -1)
            buf_printf(p->b, "%" PRIu64 "*", 0 - (uint64_t)v);
        n--;
    }
    while (n > 0) {
        print_factor(p, rev[--n]);
        if (n > 0)
            buf_putc(p->b, '*');
    }
}

/* Coefficient or constant below 0? */
static bool starts_negative(const ir *m, dim d)
{
    const dim_node *n = dim_get(m, d);
    int64_t v;

    while (n != NULL && n->op == DIM_MUL) {
        d = n->a;
        n = dim_get(m, d);
    }
    return dim_is_int(m, d, &v) && v < 0;
}

static void print_term(const printer *p, dim d, bool first)
{
    const dim_node *n = dim_get(p->m, d);
    bool negative = starts_negative(p->m, d);

    if (!first)
        buf_putc(p->b, negative ? '-' : '+');
    if (n != NULL && n->op == DIM_MUL)
        print_product(p, d, !first);
    else if (n != NULL && n->op == DIM_INT)
        buf_printf(p->b, "%s%" PRIu64, first ? "-" : "",
                   0 - (uint64_t)n->value);
    else
        print_dim(p, d);
}

static void print_sum(const printer *p, dim d)
{
    dim rev[DIM_MAX_TERMS + 1];
    uint32_t n = 0;
    const dim_node *s = dim_get(p->m, d);

    for (; s != NULL && s->op == DIM_ADD && n < DIM_MAX_TERMS;
         d = s->a, s = dim_get(p->m, d))
        rev[n++] = s->b;
    print_term(p, d, true);
    while (n > 0)
        print_term(p, rev[--n], false);
}

static void print_dim(const printer *p, dim d)
{
    const dim_node *n = dim_get(p->m, d);

    if (n == NULL) {
        if (d >= 0)
            buf_int(p->b, d);
        else
            buf_putc(p->b, '?');
        return;
    }
    switch (n->op) {
    case DIM_INT:
    case DIM_MUL:
        print_term(p, d, true);
        break;
    case DIM_ADD:
        print_sum(p, d);
        break;
    case DIM_SYM:
        print_symbol(p, d, n);
        break;
    case DIM_DIV:
    case DIM_MOD:
        print_factor(p, n->a);
        buf_putc(p->b, n->op == DIM_DIV ? '/' : '%');
        print_factor(p, n->b);
        break;
    case DIM_MIN:
        print_call(p, "min", n);
        break;
    case DIM_MAX:
        print_call(p, "max", n);
        break;
    case DIM_BCAST:
        print_call(p, "bcast", n);
        break;
    }
}

void dim_print_with(buf *b, const ir *m, dim d, dim_sym_fn *fn, void *user)
{
    printer p = { b, m, fn, user };

    print_dim(&p, d);
}

void dim_print(buf *b, const ir *m, dim d)
{
    dim_print_with(b, m, d, NULL, NULL);
}
