/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * pickle.c - the data-only pickle machine: protocol 2 as torch.save writes it,
 * and what protocol 4 adds for data. It builds values in tables of its own
 * (ids, no pointers), so a value may contain itself and nothing recurses.
 * Opcodes of other protocols, and those that could only serve code (INST, OBJ,
 * EXT, NEWOBJ_EX, PERSID) are errors. Every bound is checked before use:
 * bytes of the input, stack, marks, memo, number of values.
 */
#include <string.h>

#include "weights/pickle.h"

#define STACK_MAX ((size_t)1 << 20)
#define MEMO_MAX ((size_t)1 << 20)
#define NODES_MAX ((size_t)16 << 20)
#define STEPS_MAX ((uint64_t)64 << 20)
#define GLOBAL_NAME_MAX 256

void pickle_init(pickle *m, const pickle_hooks *hooks, void *user)
{
    *m = (pickle){ .hooks = hooks, .user = user };
}

void pickle_fini(pickle *m)
{
    for (size_t i = 0; i < m->n_nodes; i++) {
        pk_node *n = &m->nodes[i];

        if (n->kind == PK_LIST || n->kind == PK_DICT)
            mem_free(n->v.items);
    }
    mem_free(m->nodes);
    mem_free(m->stack);
    mem_free(m->marks);
    mem_free(m->memo);
    arena_fini(&m->arena);
    memset(m, 0, sizeof *m);
}

const char *pickle_kind_name(pk_kind k)
{
    static const char *const names[] = {
        "nothing", "None",      "a bool",   "an int",          "a float",
        "text",    "bytes",     "a tuple",  "a list",          "a dict",
        "a class", "a storage", "a tensor", "an opaque value",
    };

    return names[k];
}

str pickle_str(const pickle *m, pk_id id)
{
    const pk_node *n = &m->nodes[id];

    return n->kind == PK_STR ? (str){ n->v.s, n->n } : (str){ "", 0 };
}

bool pickle_tuple(const pickle *m, pk_id id, uint32_t min, uint32_t max)
{
    const pk_node *n = &m->nodes[id];

    return n->kind == PK_TUPLE && n->n >= min && n->n <= max;
}

pk_id pickle_dict_get(const pickle *m, pk_id dict, str key)
{
    const pk_node *n = &m->nodes[dict];

    if (n->kind != PK_DICT)
        return 0;
    for (uint32_t i = n->n; i >= 2; i -= 2) {
        if (m->nodes[n->v.items[i - 2]].kind == PK_STR &&
            str_eq(pickle_str(m, n->v.items[i - 2]), key))
            return n->v.items[i - 1];
    }
    return 0;
}

hull_status pickle_new(pickle *m, pk_kind kind, pk_id *out)
{
    *out = 0;
    if (m->n_nodes >= NODES_MAX)
        return fail(HULL_EFORMAT, "more than %zu values", NODES_MAX);
    TRY(mem_grow(&m->nodes, &m->cap_nodes, m->n_nodes + 1, sizeof *m->nodes));
    m->nodes[m->n_nodes] = (pk_node){ .kind = (uint8_t)kind };
    *out = (pk_id)m->n_nodes++;
    return HULL_OK;
}

hull_status pickle_append(pickle *m, pk_id list, pk_id item)
{
    pk_node *n = &m->nodes[list];
    size_t cap = n->cap;

    if (n->n >= UINT32_MAX / 8)
        return fail(HULL_EFORMAT, "a list of more than 2^29 items");
    TRY(mem_grow(&n->v.items, &cap, (size_t)n->n + 1, sizeof *n->v.items));
    n->cap = (uint32_t)cap;
    n->v.items[n->n++] = item;
    return HULL_OK;
}

/* Iterative: found values go on a work list, each at most once. */
hull_status pickle_hides_tensor(pickle *m, pk_id id, bool *out)
{
    hull_status st = HULL_OK;
    pk_id *work = NULL;
    size_t n_work = 0, cap = 0;

    *out = false;
    m->stamp++;
    TRY(mem_grow(&work, &cap, 1, sizeof *work));
    work[n_work++] = id;
    while (n_work) {
        pk_node *n = &m->nodes[work[--n_work]];

        if (n->seen == m->stamp)
            continue;
        n->seen = m->stamp;
        if (n->kind == PK_TENSOR || n->kind == PK_STORAGE) {
            *out = true;
            break;
        }
        if (n->kind != PK_TUPLE && n->kind != PK_LIST && n->kind != PK_DICT)
            continue;
        m->steps += n->n;
        if (m->steps > STEPS_MAX)
            TRY_OUT(fail(HULL_EFORMAT, "values too entangled to look through"));
        TRY_OUT(mem_grow(&work, &cap, n_work + n->n, sizeof *work));
        for (uint32_t i = 0; i < n->n; i++)
            work[n_work++] = n->v.items[i];
    }
out:
    mem_free(work);
    return st;
}

/* ---- stack and memo ------------------------------------------------------ */

static hull_status push(pickle *m, pk_id id)
{
    if (m->n_stack >= STACK_MAX)
        return fail(HULL_EFORMAT, "stack of more than %zu values", STACK_MAX);
    TRY(mem_grow(&m->stack, &m->cap_stack, m->n_stack + 1, sizeof *m->stack));
    m->stack[m->n_stack++] = id;
    return HULL_OK;
}

static hull_status push_new(pickle *m, pk_kind kind, pk_node value)
{
    pk_id id;

    TRY(pickle_new(m, kind, &id));
    value.kind = (uint8_t)kind;
    m->nodes[id] = value;
    return push(m, id);
}

static hull_status push_int(pickle *m, int64_t v)
{
    return push_new(m, PK_INT, (pk_node){ .v.i = v });
}

static hull_status push_bool(pickle *m, bool v)
{
    return push_new(m, PK_BOOL, (pk_node){ .v.i = v });
}

/* Values above the last mark, or all when there is none. */
static size_t above_mark(const pickle *m)
{
    return m->n_stack - (m->n_marks ? m->marks[m->n_marks - 1] : 0);
}

static hull_status pop(pickle *m, pk_id *out)
{
    *out = 0;
    if (above_mark(m) == 0)
        return fail(HULL_EFORMAT, "stack is empty");
    *out = m->stack[--m->n_stack];
    return HULL_OK;
}

static hull_status top(const pickle *m, pk_id *out)
{
    *out = 0;
    if (above_mark(m) == 0)
        return fail(HULL_EFORMAT, "stack is empty");
    *out = m->stack[m->n_stack - 1];
    return HULL_OK;
}

static hull_status put_mark(pickle *m)
{
    if (m->n_marks >= STACK_MAX)
        return fail(HULL_EFORMAT, "more than %zu marks", STACK_MAX);
    TRY(mem_grow(&m->marks, &m->cap_marks, m->n_marks + 1, sizeof *m->marks));
    m->marks[m->n_marks++] = m->n_stack;
    return HULL_OK;
}

/* Index of the first value above the last mark; the mark goes away. */
static hull_status pop_mark(pickle *m, size_t *out)
{
    *out = 0;
    if (m->n_marks == 0)
        return fail(HULL_EFORMAT, "no mark on the stack");
    *out = m->marks[--m->n_marks];
    return HULL_OK;
}

static hull_status memo_put(pickle *m, uint64_t at)
{
    pk_id id;

    TRY(top(m, &id));
    if (at >= MEMO_MAX)
        return fail(HULL_EFORMAT, "memo index %llu, at most %zu",
                    (unsigned long long)at, MEMO_MAX - 1);
    TRY(mem_grow(&m->memo, &m->cap_memo, at + 1, sizeof *m->memo));
    if (at >= m->n_memo) {
        memset(m->memo + m->n_memo, 0, (at + 1 - m->n_memo) * sizeof *m->memo);
        m->n_memo = at + 1;
    }
    m->memo[at] = id;
    return HULL_OK;
}

static hull_status memo_get(pickle *m, uint64_t at)
{
    if (at >= m->n_memo || m->memo[at] == 0)
        return fail(HULL_EFORMAT, "memo %llu was never put",
                    (unsigned long long)at);
    return push(m, m->memo[at]);
}

/* ---- input --------------------------------------------------------------- */

static hull_status take(pickle *m, uint64_t n, const uint8_t **out)
{
    *out = m->p;
    if (n > (uint64_t)(m->end - m->p))
        return fail(HULL_EFORMAT, "wants %llu bytes, %zu remain",
                    (unsigned long long)n, (size_t)(m->end - m->p));
    m->p += n;
    return HULL_OK;
}

static hull_status take_uint(pickle *m, unsigned size, uint64_t *out)
{
    const uint8_t *b;

    *out = 0;
    TRY(take(m, size, &b));
    *out = le_get(b, size);
    return HULL_OK;
}

static hull_status push_text(pickle *m, pk_kind kind, unsigned len_size)
{
    const uint8_t *b;
    uint64_t n;

    TRY(take_uint(m, len_size, &n));
    TRY(take(m, n, &b));
    return push_new(m, kind,
                    (pk_node){ .n = (uint32_t)n, .v.s = (const char *)b });
}

/* Integers of more than 8 bytes (seeds of generators) are nobody's size. */
static hull_status push_long(pickle *m, unsigned len_size)
{
    const uint8_t *b;
    uint64_t n, v;

    TRY(take_uint(m, len_size, &n));
    TRY(take(m, n, &b));
    if (n > 8)
        return push_new(m, PK_OPAQUE, (pk_node){ 0 });
    v = le_get(b, n);
    if (n > 0 && n < 8 && b[n - 1] & 0x80)
        v |= ~(uint64_t)0 << (8 * n);
    return push_int(m, (int64_t)v);
}

static hull_status push_float(pickle *m)
{
    const uint8_t *b;
    uint64_t v = 0;
    double f;

    TRY(take(m, 8, &b));
    for (int i = 0; i < 8; i++)
        v = v << 8 | b[i];
    memcpy(&f, &v, sizeof f);
    return push_new(m, PK_FLOAT, (pk_node){ .v.f = f });
}

static hull_status take_line(pickle *m, str *out)
{
    size_t room = (size_t)(m->end - m->p);
    const uint8_t *end;

    if (room > GLOBAL_NAME_MAX)
        room = GLOBAL_NAME_MAX;
    end = room ? memchr(m->p, '\n', room) : NULL;
    if (!end)
        return fail(HULL_EFORMAT, "name without an end within %d bytes",
                    GLOBAL_NAME_MAX);
    *out = (str){ (const char *)m->p, (size_t)(end - m->p) };
    m->p = end + 1;
    return HULL_OK;
}

/* ---- opcodes ------------------------------------------------------------- */

static hull_status push_global(pickle *m, str module, str name)
{
    int64_t number;

    TRY(m->hooks->global(m, module, name, &number));
    return push_new(m, PK_GLOBAL, (pk_node){ .v.i = number });
}

static hull_status op_global(pickle *m)
{
    str module, name;

    TRY(take_line(m, &module));
    TRY(take_line(m, &name));
    return push_global(m, module, name);
}

static hull_status op_stack_global(pickle *m)
{
    pk_id module, name;

    TRY(pop(m, &name));
    TRY(pop(m, &module));
    if (pickle_kind(m, module) != PK_STR || pickle_kind(m, name) != PK_STR)
        return fail(HULL_EFORMAT, "a global is named by %s and %s",
                    pickle_kind_name(pickle_kind(m, module)),
                    pickle_kind_name(pickle_kind(m, name)));
    return push_global(m, pickle_str(m, module), pickle_str(m, name));
}

static hull_status make_tuple(pickle *m, size_t first)
{
    size_t n = m->n_stack - first;
    pk_id *items;

    items = arena_array(&m->arena, n, sizeof *items);
    if (!items)
        return fail_oom(n * sizeof *items);
    if (n)
        memcpy(items, m->stack + first, n * sizeof *items);
    m->n_stack = first;
    return push_new(m, PK_TUPLE,
                    (pk_node){ .n = (uint32_t)n, .v.items = items });
}

static hull_status op_tuple_n(pickle *m, size_t n)
{
    if (above_mark(m) < n)
        return fail(HULL_EFORMAT, "a tuple of %zu, the stack has %zu", n,
                    above_mark(m));
    return make_tuple(m, m->n_stack - n);
}

static hull_status op_tuple(pickle *m)
{
    size_t first;

    TRY(pop_mark(m, &first));
    return make_tuple(m, first);
}

/* The container below the n values from `first` on. */
static hull_status container(const pickle *m, size_t first, pk_kind kind,
                             pk_id *out)
{
    size_t floor = m->n_marks ? m->marks[m->n_marks - 1] : 0;

    *out = 0;
    if (first <= floor)
        return fail(HULL_EFORMAT, "items without %s", pickle_kind_name(kind));
    *out = m->stack[first - 1];
    if (pickle_kind(m, *out) != kind)
        return fail(HULL_EFORMAT, "items for %s, %s is wanted",
                    pickle_kind_name(pickle_kind(m, *out)),
                    pickle_kind_name(kind));
    return HULL_OK;
}

static hull_status append_from(pickle *m, size_t first)
{
    pk_id list;

    TRY(container(m, first, PK_LIST, &list));
    for (size_t i = first; i < m->n_stack; i++)
        TRY(pickle_append(m, list, m->stack[i]));
    m->n_stack = first;
    return HULL_OK;
}

static hull_status set_from(pickle *m, size_t first)
{
    pk_id dict;

    if ((m->n_stack - first) % 2)
        return fail(HULL_EFORMAT, "a key without its value");
    TRY(container(m, first, PK_DICT, &dict));
    for (size_t i = first; i < m->n_stack; i += 2) {
        pk_kind k = pickle_kind(m, m->stack[i]);

        if (k == PK_TENSOR || k == PK_STORAGE || k == PK_LIST || k == PK_DICT ||
            k == PK_TUPLE)
            return fail(HULL_EFORMAT, "%s as the key of a dict",
                        pickle_kind_name(k));
        TRY(pickle_append(m, dict, m->stack[i]));
        TRY(pickle_append(m, dict, m->stack[i + 1]));
    }
    m->n_stack = first;
    return HULL_OK;
}

/* Sets are opaque: their items are dropped when they hide no tensor. */
static hull_status op_add_items(pickle *m)
{
    size_t first;
    pk_id set;
    bool hides;

    TRY(pop_mark(m, &first));
    TRY(container(m, first, PK_OPAQUE, &set));
    for (size_t i = first; i < m->n_stack; i++) {
        TRY(pickle_hides_tensor(m, m->stack[i], &hides));
        if (hides)
            return fail(HULL_EUNSUPPORTED, "a set of tensors");
    }
    m->n_stack = first;
    return HULL_OK;
}

static hull_status op_one(pickle *m, hull_status (*fn)(pickle *, size_t),
                          size_t n)
{
    if (above_mark(m) < n)
        return fail(HULL_EFORMAT, "wants %zu values, the stack has %zu", n,
                    above_mark(m));
    return fn(m, m->n_stack - n);
}

static hull_status op_many(pickle *m, hull_status (*fn)(pickle *, size_t))
{
    size_t first;

    TRY(pop_mark(m, &first));
    return fn(m, first);
}

static hull_status op_persistent(pickle *m)
{
    pk_id id, value;

    TRY(pop(m, &id));
    TRY(m->hooks->persistent(m, id, &value));
    return push(m, value);
}

static hull_status op_reduce(pickle *m)
{
    pk_id callable, args, value;

    TRY(pop(m, &args));
    TRY(pop(m, &callable));
    if (pickle_kind(m, callable) != PK_GLOBAL)
        return fail(HULL_EFORMAT, "a call of %s",
                    pickle_kind_name(pickle_kind(m, callable)));
    if (pickle_kind(m, args) != PK_TUPLE)
        return fail(HULL_EFORMAT, "call arguments are %s, not a tuple",
                    pickle_kind_name(pickle_kind(m, args)));
    TRY(m->hooks->reduce(m, callable, args, &value));
    return push(m, value);
}

static hull_status op_build(pickle *m)
{
    pk_id object, state;

    TRY(pop(m, &state));
    TRY(top(m, &object));
    return m->hooks->build(m, object, state);
}

static hull_status op_protocol(pickle *m)
{
    uint64_t v;

    TRY(take_uint(m, 1, &v));
    if (v < 2 || v > 5)
        return fail(HULL_EUNSUPPORTED, "pickle protocol %llu, 2 to 5 are read",
                    (unsigned long long)v);
    return HULL_OK;
}

static hull_status op_frame(pickle *m)
{
    uint64_t n;

    TRY(take_uint(m, 8, &n));
    if (n > (uint64_t)(m->end - m->p))
        return fail(HULL_EFORMAT, "frame of %llu bytes, %zu remain",
                    (unsigned long long)n, (size_t)(m->end - m->p));
    return HULL_OK;
}

static hull_status op_memo(pickle *m, unsigned size, bool get)
{
    uint64_t at;

    TRY(take_uint(m, size, &at));
    return get ? memo_get(m, at) : memo_put(m, at);
}

static hull_status op_int(pickle *m, unsigned size)
{
    uint64_t v;

    TRY(take_uint(m, size, &v));
    return push_int(m, size == 4 ? (int32_t)(uint32_t)v : (int64_t)v);
}

/* The dispatch of one opcode. STOP is the caller's. */
static hull_status run_op(pickle *m, uint8_t op)
{
    switch (op) {
    case 0x80:
        return op_protocol(m);
    case 0x95:
        return op_frame(m);
    case '(':
        return put_mark(m);
    case 'N':
        return push_new(m, PK_NONE, (pk_node){ 0 });
    case 0x88:
        return push_bool(m, true);
    case 0x89:
        return push_bool(m, false);
    case 'K':
        return op_int(m, 1);
    case 'M':
        return op_int(m, 2);
    case 'J':
        return op_int(m, 4);
    case 0x8a:
        return push_long(m, 1);
    case 0x8b:
        return push_long(m, 4);
    case 'G':
        return push_float(m);
    case 'U':
        return push_text(m, PK_STR, 1);
    case 'T':
    case 'X':
        return push_text(m, PK_STR, 4);
    case 0x8c:
        return push_text(m, PK_STR, 1);
    case 0x8d:
        return push_text(m, PK_STR, 8);
    case 'C':
        return push_text(m, PK_BYTES, 1);
    case 'B':
        return push_text(m, PK_BYTES, 4);
    case 0x8e:
        return push_text(m, PK_BYTES, 8);
    case ')':
        return make_tuple(m, m->n_stack);
    case 0x85:
        return op_tuple_n(m, 1);
    case 0x86:
        return op_tuple_n(m, 2);
    case 0x87:
        return op_tuple_n(m, 3);
    case 't':
        return op_tuple(m);
    case ']':
        return push_new(m, PK_LIST, (pk_node){ 0 });
    case '}':
        return push_new(m, PK_DICT, (pk_node){ 0 });
    case 0x8f:
        return push_new(m, PK_OPAQUE, (pk_node){ 0 });
    case 0x90:
        return op_add_items(m);
    case 'a':
        return op_one(m, append_from, 1);
    case 'e':
        return op_many(m, append_from);
    case 's':
        return op_one(m, set_from, 2);
    case 'u':
        return op_many(m, set_from);
    case 'q':
        return op_memo(m, 1, false);
    case 'r':
        return op_memo(m, 4, false);
    case 0x94:
        return memo_put(m, m->n_memo);
    case 'h':
        return op_memo(m, 1, true);
    case 'j':
        return op_memo(m, 4, true);
    case 'c':
        return op_global(m);
    case 0x93:
        return op_stack_global(m);
    case 'Q':
        return op_persistent(m);
    case 'R':
    case 0x81:
        return op_reduce(m);
    case 'b':
        return op_build(m);
    default:
        break;
    }
    return fail(HULL_EUNSUPPORTED,
                "opcode 0x%02x, which no checkpoint of tensors needs", op);
}

static hull_status run(pickle *m, pk_id *out)
{
    for (;;) {
        const uint8_t *at = m->p;
        const uint8_t *op;

        TRY(note(take(m, 1, &op), "%s, byte %zu", m->what,
                 (size_t)(at - m->start)));
        if (*op == '.')
            break;
        TRY(note(run_op(m, *op), "%s, byte %zu", m->what,
                 (size_t)(at - m->start)));
    }
    if (m->n_marks || m->n_stack != 1)
        return fail(HULL_EFORMAT,
                    "%s ends with %zu values and %zu marks, 1 "
                    "value is wanted",
                    m->what, m->n_stack, m->n_marks);
    *out = m->stack[0];
    return HULL_OK;
}

hull_status pickle_run(pickle *m, bytes in, const char *what, pk_id *out,
                       size_t *out_used)
{
    hull_status st;

    *out = 0;
    *out_used = 0;
    m->n_stack = m->n_marks = m->n_memo = 0;
    m->what = what;
    m->start = m->p = in.p;
    m->end = in.p + (in.n < PICKLE_BYTES_MAX ? in.n : PICKLE_BYTES_MAX);
    if (m->n_nodes == 0) { /* id 0 is no value */
        pk_id none;

        TRY(pickle_new(m, PK_NO_VALUE, &none));
    }
    st = run(m, out);
    if (st == HULL_OK)
        *out_used = (size_t)(m->p - m->start);
    return st;
}
