/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_stream.c - slots that runs make (option fill): the answers of filled
 * slots to the bit, in less memory; the set that settles, also under a state;
 * what is refused; files that change; saving, partial refits, refits under
 * load.
 */
#include "module_unit.h"

#include <pthread.h>

#include "run/module.h"

#define WIDTH 256
#define N_LAYERS 6
#define N_TOKENS 300
#define ROWS 16   /* enough for panels */

/* A table that is read as it is; a weight that the first and the last layer
 * read; one that a view shows long after it is first looked at; some that are
 * results as well, or only. */
static const char head[] =
    "graph @main(%i: i64[16]";
static const char weights_text[] =
    ") {\n"
    "  %e = weight \"e\" : f32[300,256]\n"
    "  %k = weight \"k\" : f32[256]\n"
    "  %x0 = gather %e, %i {axis=0} : f32[16,256]\n";

static const char *const flat_text[] = {
    "  %b = weight \"b\" : f32[16,16]\n"
    "  %flat = reshape %b {shape=[256]} : f32[256]\n",
    "  %flat = weight \"b\" : f32[256]\n"};
static bool in_place; /* of the running test: b is read as it is, too */

static const char *const small[] = {"e", "b", "k", "a"};
static const int64_t shapes[][2] = {
    {N_TOKENS, WIDTH}, {16, 16}, {WIDTH, 0}, {WIDTH, WIDTH}};
#define N_SMALL 3
#define N_WEIGHTS (N_SMALL + N_LAYERS)
#define STATE N_WEIGHTS /* "a", of the shape of k; in models with a state */

static void weight_name(char out[16], int i)
{
    if (i < N_SMALL || i == STATE)
        snprintf(out, 16, "%s", small[i == STATE ? N_SMALL : i]);
    else
        snprintf(out, 16, "w%d", i - N_SMALL);
}

static const int64_t *weight_shape(int i)
{
    return i == STATE || (i == 1 && in_place)
               ? shapes[2] : shapes[i < N_SMALL ? i : N_SMALL];
}

static uint32_t weight_rank(int i)
{
    return i == 2 || i == STATE || (i == 1 && in_place) ? 1 : 2;
}

/* With a state the sum goes on from run to run. */
static char *model_text(bool state)
{
    buf b;

    buf_init(&b, 1 << 16);
    buf_puts(&b, head);
    buf_puts(&b, state ? ", %a: f32[256] = state \"a\"" : "");
    buf_puts(&b, weights_text);
    buf_puts(&b, flat_text[in_place]);
    for (int i = 0; i < N_LAYERS; i++)
        buf_printf(&b, "  %%w%d = weight \"w%d\" : f32[256,256]\n", i, i);
    for (int i = 0; i <= N_LAYERS; i++)
        buf_printf(&b, "  %%y%d = matmul %%x%d, %%w%d {trans_b=true} : "
                   "f32[16,256]\n"
                   "  %%x%d = tanh %%y%d : f32[16,256]\n",
                   i, i, i % N_LAYERS, i + 1, i);
    buf_printf(&b, "  %%s = add %%x%d, %%flat : f32[16,256]\n"
               "  %%t = mul %%s, %%%s : f32[16,256]\n", N_LAYERS + 1,
               state ? "a" : "k");
    buf_puts(&b, "  %minus = neg %w1 : f32[256,256]\n");
    buf_puts(&b, state ? "  %a1 = add %a, %k : f32[256]\n"
                         "  return %t, %k, %flat, %minus, %a1 -> \"a\"\n}\n"
                       : "  return %t, %k, %flat, %minus\n}\n");
    OK(buf_status(&b));
    return b.p;
}

static module *compile_model(const char *set, bool state)
{
    static const str names[N_WEIGHTS + 1][1] = {
        {{"e", 1}}, {{"b", 1}}, {{"k", 1}}, {{"w0", 2}}, {{"w1", 2}},
        {{"w2", 2}}, {{"w3", 2}}, {{"w4", 2}}, {{"w5", 2}}, {{"a", 1}}};
    int n = N_WEIGHTS + state;
    front_hole holes[N_WEIGHTS + 1] = {0};
    front_model fm = {.holes = holes, .n_holes = (uint32_t)n,
                      .format = "onnx", .producer = {"a test", 6}};
    char *text = model_text(state);
    options *o = options_of(set);
    devices ds;
    module *m;
    plan *p;

    fm.m = parsed(text);
    fm.g = fm.m->graphs[0];
    for (int i = 0; i < n; i++) {
        holes[i].name = names[i][0];
        holes[i].names = names[i];
        holes[i].n_names = 1;
        holes[i].reason = "initializer";
        for (node *d = graph_first(fm.g); d != NULL; d = graph_next(fm.g, d))
            if (d->op == OP_weight &&
                str_eq(attr_str(d, "name"), names[i][0]))
                holes[i].type = *graph_type(fm.g, d->out[0]);
        if (i == STATE)
            holes[i].type = *graph_type(fm.g, fm.g->body->params[1]);
    }
    OK(weights_new(&fm.native, WEIGHTS_MEMORY));
    OK(devices_open(&ds, o));
    OK(plan_compile(&p, &fm, &ds, NULL));
    OK(module_new(&m, p, &ds));
    m->late_least = 0;
    weights_unref(fm.native);
    ir_free(fm.m);
    options_free(o);
    mem_free(text);
    return m;
}

static module *compile_stack(const char *set)
{
    return compile_model(set, false);
}

static float *values[N_WEIGHTS + 1];

static uint64_t weight_floats(int i)
{
    return (uint64_t)weight_shape(i)[0] *
           (weight_rank(i) == 2 ? (uint64_t)weight_shape(i)[1] : 1);
}

/* Weights of seed `seed`, of those in [from, to). */
static void write_stack(const char *name, uint32_t seed, int from, int to)
{
    char names[N_WEIGHTS + 1][16];
    safetensors_item items[N_WEIGHTS + 1];

    for (int i = from; i < to; i++) {
        uint64_t n = weight_floats(i);

        free(values[i]);
        values[i] = malloc(n * sizeof(float));
        for (uint64_t k = 0; k < n; k++) {
            seed = seed * 1664525u + 1013904223u;
            values[i][k] = ((float)(seed >> 8) / (float)(1 << 24) - 0.5f) *
                           0.25f;
        }
        weight_name(names[i], i);
        items[i] = (safetensors_item){str_of(names[i]), HULL_F32,
                                      weight_rank(i), weight_shape(i),
                                      values[i], n * sizeof(float)};
    }
    OK(safetensors_write(at(name), items + from, (size_t)(to - from)));
}

typedef struct outputs {
    float y[ROWS * WIDTH], k[WIDTH], flat[WIDTH], minus[WIDTH * WIDTH];
} outputs;

static hull_status run_in(outputs *out, session *s)
{
    static const int64_t ids = ROWS, y[] = {ROWS, WIDTH}, k[] = {WIDTH};
    static const int64_t w[] = {WIDTH, WIDTH};
    int64_t tokens[ROWS] = {7, 0, N_TOKENS - 1, 150};
    hull_tensor in = {.data = tokens, .shape = &ids, .rank = 1,
                      .dtype = HULL_I64};
    hull_tensor outs[4] = {
        {.data = out->y, .shape = y, .rank = 2, .dtype = HULL_F32},
        {.data = out->k, .shape = k, .rank = 1, .dtype = HULL_F32},
        {.data = out->flat, .shape = k, .rank = 1, .dtype = HULL_F32},
        {.data = out->minus, .shape = w, .rank = 2, .dtype = HULL_F32}};

    memset(out, 0, sizeof *out);
    return session_run(s, &in, 1, outs, 4);
}

static outputs outputs_of(module *m, int runs)
{
    outputs out;
    session *s;

    OK(session_new(&s, m, NULL));
    for (int i = 0; i < runs; i++)
        OK(run_in(&out, s));
    session_free(s);
    return out;
}

static json_int_t number_of(module *m, const char *key)
{
    json_t *top;
    json_int_t v;
    buf text;

    buf_init(&text, 1 << 20);
    OK(module_describe(&text, m));
    top = json_loadb(text.p, text.n, 0, NULL);
    v = json_is_boolean(json_object_get(top, key))
            ? json_is_true(json_object_get(top, key))
            : json_integer_value(json_object_get(top, key));
    json_decref(top);
    buf_fini(&text);
    return v;
}

static void wait_filled(module *m)
{
    for (int i = 0; i < 3000 && !number_of(m, "filled"); i++)
        usleep(10000);
    assert_true(number_of(m, "filled"));
}

static outputs wanted(const char *set, const char *name)
{
    module *m = compile_stack(set);
    outputs out;

    OK(refit_with(m, name, "", NULL));
    assert_true(number_of(m, "filled") && number_of(m, "window_bytes") == 0);
    out = outputs_of(m, 1);
    assert_true(out.y[0] != out.y[WIDTH] && out.k[5] != 0);
    module_unref(m);
    return out;
}

static const char *const backends[] = {"backends=cpu", "backends=ref",
                                       "backends=cpu fuse=off",
                                       "backends=cpu threads=1"};

static void runs_make_their_slots(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        outputs want = wanted(backends[i], "a.safetensors"), got;
        module *m = compile_stack(backends[i]);
        hull_refit_report r;

        OK(refit_with(m, "a.safetensors", "fill=run", &r));
        assert_true(r.slots_streamed >= (i == 0 || i == 3 ? N_LAYERS : 0));
        assert_true(r.slots_borrowed > 0); /* the table */
        assert_true(r.slots_copied == 0 && r.slots_computed == 0);
        assert_true(r.bytes_read == 0 && r.bytes_written == 0);
        assert_false(number_of(m, "filled"));
        got = outputs_of(m, 3);
        assert_memory_equal(&got, &want, sizeof got);
        assert_false(number_of(m, "filled"));
        module_unref(m);
    }
}

/* Two of the six layers at most, not all; the table is no part of it. */
static void a_window_is_used_again(void **state)
{
    module *m = compile_stack("backends=cpu");
    json_int_t window;

    (void)state;
    assert_true(number_of(m, "slots") == N_WEIGHTS + 1); /* w0 has one, too */
    OK(refit_with(m, "a.safetensors", "fill=run", NULL));
    window = number_of(m, "window_bytes");
    assert_true(window >= WIDTH * WIDTH * 4);
    assert_true(window <= 4 * WIDTH * WIDTH * 4);
    module_unref(m);
}

static void a_late_set_settles_after_a_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        outputs want = wanted(backends[i], "a.safetensors"), got;
        outputs next = wanted(backends[i], "b.safetensors");
        module *m = compile_stack(backends[i]);
        session *s;

        OK(refit_with(m, "a.safetensors", "fill=late", NULL));
        usleep(20000);
        assert_false(number_of(m, "filled")); /* nobody has used it */
        OK(session_new(&s, m, NULL));
        OK(run_in(&got, s));
        assert_memory_equal(&got, &want, sizeof got);
        wait_filled(m);
        assert_true(module_version(m) == 1);
        OK(run_in(&got, s));
        assert_memory_equal(&got, &want, sizeof got);
        assert_true(session_version(s) == 1);
        OK(refit_with(m, "b.safetensors", "fill=late", NULL));
        assert_false(number_of(m, "filled"));
        OK(run_in(&got, s));
        assert_memory_equal(&got, &next, sizeof got);
        assert_true(session_version(s) == 2);
        wait_filled(m);
        session_free(s);
        module_unref(m);
    }
}

/* In place: the mapping shows it at once, and so does the file's time. */
static void change_last_byte(const char *name)
{
    FILE *f = fopen(at(name), "r+b");
    int c;

    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    c = fgetc(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    assert_int_equal(fputc(c ^ 1, f), c ^ 1);
    assert_int_equal(fclose(f), 0);
}

/* The set that a state holds goes on with its slots filled. */
static void a_held_set_settles(void **state)
{
    module *now = compile_model("backends=cpu", true);
    module *m = compile_model("backends=cpu", true);
    outputs want, got, first;
    session *s, *t;

    (void)state;
    write_stack("s.safetensors", 3, 0, N_WEIGHTS + 1);
    OK(refit_with(now, "s.safetensors", "", NULL));
    OK(refit_with(m, "s.safetensors", "fill=late", NULL));
    OK(session_new(&s, now, NULL));
    OK(session_new(&t, m, NULL));
    for (int i = 0; i < 4; i++) {
        OK(run_in(&want, s));
        OK(run_in(&got, t));
        assert_memory_equal(&got, &want, sizeof got);
        assert_true(i == 0 || memcmp(&got, &first, sizeof got) != 0);
        first = i == 0 ? got : first;
        wait_filled(m);
        if (i > 0) /* it holds the filled set: the file may go */
            change_last_byte("s.safetensors");
    }
    session_free(s);
    session_free(t);
    module_unref(now);
    module_unref(m);
}

/* After the first kernel of a run. */
static void change_once(void *user, const device *d, const graph *g,
                        const node *n, const tensor *in, const tensor *out,
                        uint64_t begin, uint64_t end)
{
    bool *done = user;

    (void)d;
    (void)g;
    (void)n;
    (void)in;
    (void)out;
    (void)begin;
    (void)end;
    if (!*done)
        change_last_byte("c.safetensors");
    *done = true;
}

/* Nothing of a settled set lies in the file any more, be it one that was all
 * in place, as it is on ref. */
static void a_settled_set_needs_no_file(void **state)
{
    (void)state;
    in_place = true;
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        module *m = compile_stack(backends[i]);
        outputs want, got;

        write_stack("l.safetensors", 44, 0, N_WEIGHTS);
        want = wanted(backends[i], "l.safetensors");
        OK(refit_with(m, "l.safetensors", "fill=late", NULL));
        got = outputs_of(m, 1);
        assert_memory_equal(&got, &want, sizeof got);
        wait_filled(m);
        change_last_byte("l.safetensors");
        got = outputs_of(m, 1);
        assert_memory_equal(&got, &want, sizeof got);
        module_unref(m);
    }
    in_place = false;
}

/* It may have asked to be filled before it was replaced. */
static void a_set_that_comes_back_settles(void **state)
{
    module *m = compile_stack("backends=cpu");
    outputs want = wanted("backends=cpu", "a.safetensors"), got;

    (void)state;
    OK(refit_with(m, "a.safetensors", "fill=late", NULL));
    m->current->settling = true;
    OK(refit_with(m, "b.safetensors", "keep_previous=on", NULL));
    OK(module_rollback(m));
    got = outputs_of(m, 1);
    assert_memory_equal(&got, &want, sizeof got);
    wait_filled(m);
    module_unref(m);
}

static void small_sets_are_filled_at_once(void **state)
{
    module *m = compile_stack("backends=cpu");

    (void)state;
    m->late_least = (uint64_t)8 << 20;
    OK(refit_with(m, "a.safetensors", "fill=late", NULL));
    assert_true(number_of(m, "filled"));
    OK(refit_with(m, "b.safetensors", "fill=run", NULL));
    assert_false(number_of(m, "filled"));
    module_unref(m);
}

static void a_changed_file_stops_runs(void **state)
{
    module *m = compile_stack("backends=cpu");
    outputs want = wanted("backends=cpu", "b.safetensors"), got;
    bool done = false;
    profiler p = {change_once, &done};
    session *s;

    (void)state;
    OK(session_new(&s, m, NULL));
    for (int during = 0; during < 2; during++) {
        size_t n;
        char *text = slurp(at("a.safetensors"), &n);

        spill(at("c.safetensors"), text, n);
        mem_free(text);
        OK(refit_with(m, "c.safetensors", "fill=run", NULL));
        OK(run_in(&got, s));
        usleep(30000); /* a tick of the clock of files */
        if (during)
            session_profile(s, &p);
        else
            change_last_byte("c.safetensors");
        assert_int_equal(run_in(&got, s), HULL_ESTALE);
        assert_non_null(strstr(error_text(), "c.safetensors"));
    }
    session_profile(s, NULL);
    OK(refit_with(m, "b.safetensors", "fill=run", NULL));
    OK(run_in(&got, s));
    assert_memory_equal(&got, &want, sizeof got);
    session_free(s);
    module_unref(m);
}

static void nothing(void *user)
{
    (void)user;
}

static outputs memory_want;

/* From memory; weight `odd` lies at an odd address; -1: none does. */
static hull_status refit_memory(module *m, const char *set, bool release,
                                int odd, hull_refit_report *r)
{
    options *o = options_of(set);
    char *copy = NULL;
    hull_status st;
    weights *w;

    OK(weights_new(&w, WEIGHTS_MEMORY));
    for (int i = 0; i < N_WEIGHTS; i++) {
        char name[16];
        hull_tensor t = {.data = values[i], .shape = weight_shape(i),
                         .rank = (int32_t)weight_rank(i), .dtype = HULL_F32};

        if (i == odd) {
            copy = malloc(weight_floats(i) * sizeof(float) + 1);
            t.data = copy + 1;
            memcpy(copy + 1, values[i], weight_floats(i) * sizeof(float));
        }
        weight_name(name, i);
        OK(weights_add_tensor(w, str_of(name), &t, release ? nothing : NULL,
                              NULL));
    }
    st = module_refit(m, w, o, r);
    weights_unref(w);
    options_free(o);
    if (st == HULL_OK && odd >= 0) {
        outputs got = outputs_of(m, 1);

        assert_memory_equal(&got, &memory_want, sizeof got);
        OK(refit_with(m, "a.safetensors", "", NULL)); /* lets go of it */
    }
    free(copy);
    return st;
}

static void memory_must_outlive_the_call(void **state)
{
    module *m = compile_stack("backends=cpu");
    outputs want, got;

    (void)state;
    write_stack("d.safetensors", 99, 0, N_WEIGHTS);
    want = wanted("backends=cpu", "d.safetensors");
    assert_int_equal(refit_memory(m, "fill=run", false, -1, NULL), HULL_EINVAL);
    assert_non_null(strstr(error_text(), "fill=run"));
    assert_int_equal(refit_memory(m, "fill=late release_weights=on", true, -1,
                                  NULL), HULL_EINVAL);
    assert_non_null(strstr(error_text(), "release_weights"));
    assert_int_equal(refit_memory(m, "fill=soon", true, -1, NULL), HULL_EINVAL);
    assert_non_null(strstr(error_text(), "'soon', wanted now, late or run"));
    assert_true(module_version(m) == 0);
    OK(refit_memory(m, "fill=run", true, -1, NULL));
    got = outputs_of(m, 2);
    assert_memory_equal(&got, &want, sizeof got);
    module_unref(m);
}

/* A table whose rows are copied may do so; what is computed with, not. */
static void a_table_lies_anywhere(void **state)
{
    module *m = compile_stack("backends=cpu");
    hull_refit_report none, table, vector;

    (void)state;
    write_stack("d.safetensors", 98, 0, N_WEIGHTS);
    memory_want = wanted("backends=cpu", "d.safetensors");
    OK(refit_memory(m, "borrow=on", true, -1, &none));
    OK(refit_memory(m, "borrow=on", true, 0, &table));
    OK(refit_memory(m, "borrow=on", true, 2, &vector));
    assert_true(none.slots_borrowed >= 2);
    assert_true(table.slots_borrowed == none.slots_borrowed);
    assert_true(vector.slots_borrowed == none.slots_borrowed - 1);
    module_unref(m);
}

static void slots_are_saved_filled(void **state)
{
    outputs want = wanted("backends=cpu", "a.safetensors"), got;
    module *m = compile_stack("backends=cpu"), *loaded;
    options *o = options_of("backends=cpu");

    (void)state;
    OK(refit_with(m, "a.safetensors", "fill=run", NULL));
    OK(module_save(m, at("m.hull"), HULL_SAVE_PREPARED));
    assert_false(number_of(m, "filled"));
    OK(module_load(&loaded, at("m.hull"), NULL, NULL, o));
    got = outputs_of(loaded, 1);
    assert_memory_equal(&got, &want, sizeof got);
    module_unref(loaded);
    module_unref(m);
    options_free(o);
}

static void a_part_is_replaced(void **state)
{
    outputs got, want;
    module *m = compile_stack("backends=cpu"),
           *now = compile_stack("backends=cpu");

    (void)state;
    write_stack("part.safetensors", 5, 4, 6);
    OK(refit_with(now, "a.safetensors", "", NULL));
    OK(refit_with(now, "part.safetensors", "allow_missing=on", NULL));
    want = outputs_of(now, 1);
    OK(refit_with(m, "a.safetensors", "fill=run", NULL));
    OK(refit_with(m, "part.safetensors", "allow_missing=on fill=run", NULL));
    got = outputs_of(m, 2);
    assert_memory_equal(&got, &want, sizeof got);
    OK(refit_with(m, "part.safetensors", "allow_missing=on", NULL));
    assert_true(number_of(m, "filled"));
    got = outputs_of(m, 1);
    assert_memory_equal(&got, &want, sizeof got);
    module_unref(m);
    module_unref(now);
}

/* ---- refits while sessions run ------------------------------------------- */

typedef struct load {
    module *m;
    const outputs *want; /* per checkpoint */
    _Atomic(bool) stop;
    _Atomic(int) runs, wrong;
} load;

static void *keep_running(void *user)
{
    load *l = user;
    outputs got;
    session *s;

    OK(session_new(&s, l->m, NULL));
    while (!l->stop) {
        if (run_in(&got, s) != HULL_OK ||
            (memcmp(&got, &l->want[0], sizeof got) != 0 &&
             memcmp(&got, &l->want[1], sizeof got) != 0))
            l->wrong++;
        l->runs++;
    }
    session_free(s);
    return NULL;
}

static void refits_meet_runs_and_fills(void **state)
{
    static const char *const sets[] = {"fill=late", "", "fill=run",
                                       "fill=late spare=on"};
    outputs want[2];
    load l = {.m = compile_stack("backends=cpu"), .want = want};
    pthread_t t[2];

    (void)state;
    want[0] = wanted("backends=cpu", "a.safetensors");
    want[1] = wanted("backends=cpu", "b.safetensors");
    OK(refit_with(l.m, "a.safetensors", "fill=late", NULL));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, keep_running, &l), 0);
    for (int i = 0; i < 40; i++) {
        OK(refit_with(l.m, i % 2 ? "a.safetensors" : "b.safetensors",
                      sets[i % COUNT_OF(sets)], NULL));
        usleep(2000);
    }
    while (l.runs < 20)
        usleep(1000);
    l.stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(l.wrong, 0);
    module_unref(l.m);
}

static int set_up_stack(void **state)
{
    if (make_folder(state) != 0)
        return -1;
    write_stack("a.safetensors", 1, 0, N_WEIGHTS);
    write_stack("b.safetensors", 2, 0, N_WEIGHTS);
    return 0;
}

static int tear_down_stack(void **state)
{
    for (int i = 0; i <= N_WEIGHTS; i++)
        free(values[i]);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_make_their_slots),
        cmocka_unit_test(a_window_is_used_again),
        cmocka_unit_test(a_late_set_settles_after_a_run),
        cmocka_unit_test(a_held_set_settles),
        cmocka_unit_test(a_settled_set_needs_no_file),
        cmocka_unit_test(a_set_that_comes_back_settles),
        cmocka_unit_test(small_sets_are_filled_at_once),
        cmocka_unit_test(a_changed_file_stops_runs),
        cmocka_unit_test(memory_must_outlive_the_call),
        cmocka_unit_test(a_table_lies_anywhere),
        cmocka_unit_test(slots_are_saved_filled),
        cmocka_unit_test(a_part_is_replaced),
        cmocka_unit_test(refits_meet_runs_and_fills),
    };

    return cmocka_run_group_tests(tests, set_up_stack, tear_down_stack);
}
