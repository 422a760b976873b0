/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_text_ops.c - strings: in and out of the public API, letters, regular
 * expressions and numbers as text, stored strings and sparse tensors of ONNX,
 * and every way in by which a file could pass pointers for strings.
 */
#include "unit.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "ir/ir.h"
#include "onnx_maker.h"
#include "ops/text.h"
#include "weights/weights.h"

enum { F32 = 1, I64 = 7, TEXT = 8, BOOL = 9 };

static hull_string text_of(const char *z)
{
    return (hull_string){z, strlen(z)};
}

static bool is_text(hull_string s, const char *p, size_t n)
{
    return s.n == n && (n == 0 || memcmp(s.p, p, n) == 0);
}

/* ---- the public API ------------------------------------------------------ */

/* A TensorProto of text: words separated by blanks. */
static buf text_tensor(const char *name, const int64_t *dims, size_t rank,
                       const char *words)
{
    buf t = new_buf();

    for (size_t i = 0; i < rank; i++)
        put_int(&t, 1, dims[i]);
    put_int(&t, 2, TEXT);
    put_names(&t, 6, words);
    put_text(&t, 8, name);
    return t;
}

/* y = each of x joined with "other" and with "same"; is: x equals "a"; parts
 * and counts of x split at "-"; z: strings of a Constant. */
static void write_model(char path[64])
{
    const int64_t x[1] = {-1}, two[1] = {2}, none[1] = {0}, order[2] = {1, 0};
    maker m = maker_new(20);
    buf t = text_tensor("c", two, 1, "same other"), a;

    put_message(&m.graph, 5, &t);
    put_i64s(&m.graph, "first", none, 1);
    put_i64s(&m.graph, "order", order, 2);
    put_value(&m.graph, 11, "x", TEXT, x, 1);
    a = new_buf();
    attr_text_put(&a, "value_string", "a");
    put_node(&m.graph, "Constant", "", "a", &a);
    a = new_buf();
    attr_texts_put(&a, "value_strings", "p q");
    put_node(&m.graph, "Constant", "", "z", &a);
    put_node(&m.graph, "Equal", "x a", "is", NULL);
    put_i64s(&m.graph, "axes", order, 1);
    put_node(&m.graph, "Unsqueeze", "x axes", "column", NULL);
    put_node(&m.graph, "StringConcat", "column c", "joined", NULL);
    a = new_buf();
    attr_int_put(&a, "axis", 1);
    put_node(&m.graph, "Gather", "joined order", "turned", &a);
    put_node(&m.graph, "Transpose", "turned", "y", NULL);
    a = new_buf();
    attr_text_put(&a, "delimiter", "-");
    put_node(&m.graph, "StringSplit", "x", "parts counts", &a);
    put_value(&m.graph, 12, "y", TEXT, order, 2);
    put_value(&m.graph, 12, "is", BOOL, x, 1);
    put_value(&m.graph, 12, "parts", TEXT, order, 2);
    put_value(&m.graph, 12, "counts", I64, x, 1);
    put_value(&m.graph, 12, "z", TEXT, two, 1);
    maker_write(&m, path);
    assert_true(path[0] != 0);
}

static hull_module *compiled(const char *path)
{
    hull_module *m;

    if (hull_compile(&m, path, NULL, NULL, NULL) != HULL_OK) {
        print_error("%s\n", hull_last_error());
        assert_true(0);
    }
    return m;
}

static void check_answers(hull_session *s)
{
    static const hull_string x[3] = {{"a", 1}, {"b-\0\xff", 4}, {NULL, 0}};
    const int64_t n = 3;
    hull_tensor in = {.data = (void *)(uintptr_t)x, .shape = &n, .rank = 1,
                      .dtype = HULL_STRING};
    hull_tensor out[5] = {{0}};
    const hull_string *y, *parts;
    const uint8_t *is;

    if (hull_session_run(s, &in, 1, out, 5) != HULL_OK)
        print_error("%s\n", hull_last_error());
    y = out[0].data;
    is = out[1].data;
    parts = out[2].data;
    assert_int_equal(out[0].dtype, HULL_STRING);
    assert_int_equal(out[0].shape[0], 2);
    assert_int_equal(out[0].shape[1], 3);
    assert_true(is_text(y[0], "aother", 6));
    assert_true(is_text(y[1], "b-\0\xffother", 9));
    assert_true(is_text(y[2], "other", 5));
    assert_true(is_text(y[3], "asame", 5));
    assert_true(is[0] && !is[1] && !is[2]);
    assert_int_equal(out[2].shape[0], 3);
    assert_int_equal(out[2].shape[1], 2);
    assert_true(is_text(parts[0], "a", 1) && is_text(parts[1], "", 0));
    assert_true(is_text(parts[2], "b", 1) && is_text(parts[3], "\0\xff", 2));
    assert_true(is_text(parts[4], "", 0) && is_text(parts[5], "", 0));
    assert_int_equal(((const int64_t *)out[3].data)[1], 2);
    assert_true(is_text(((const hull_string *)out[4].data)[1], "q", 1));
}

/* What a run lends does not point into the caller's memory. */
static void results_outlive_inputs(hull_session *s)
{
    char letters[3] = {'k', '-', 'l'};
    hull_string x = {letters, 3};
    const int64_t n = 1;
    hull_tensor in = {.data = &x, .shape = &n, .rank = 1,
                      .dtype = HULL_STRING};
    hull_tensor out[5] = {{0}};

    assert_int_equal(hull_session_run(s, &in, 1, out, 5), HULL_OK);
    memset(letters, 33, sizeof letters);
    assert_true(is_text(((const hull_string *)out[0].data)[1], "k-lsame", 7));
    assert_true(is_text(((const hull_string *)out[2].data)[1], "l", 1));
}

static void strings_in_and_out(void **state)
{
    char path[64], saved[80];
    hull_module *m, *l;
    hull_session *s;

    (void)state;
    write_model(path);
    m = compiled(path);
    assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
    for (int i = 0; i < 3; i++)
        check_answers(s);
    results_outlive_inputs(s);
    hull_session_free(s);
    snprintf(saved, sizeof saved, "%s.hull", path);
    assert_int_equal(hull_module_save(m, saved, HULL_SAVE_SOURCES), HULL_OK);
    assert_int_equal(hull_module_load(&l, saved, NULL, NULL, NULL), HULL_OK);
    assert_int_equal(hull_session_new(&s, l, NULL), HULL_OK);
    check_answers(s);
    hull_session_free(s);
    hull_module_unref(l);
    hull_module_unref(m);
    unlink(saved);
    unlink(path);
}

static void bad_strings_are_refused(void **state)
{
    const hull_string nowhere[2] = {{"a", 1}, {NULL, 1}};
    int64_t n = 2;
    hull_tensor in = {.data = (void *)(uintptr_t)nowhere, .shape = &n,
                      .rank = 1, .dtype = HULL_STRING};
    hull_tensor out[5] = {{0}};
    hull_string room[6];
    int64_t two[2] = {2, 1};
    char path[64];
    hull_module *m;
    hull_session *s;

    (void)state;
    write_model(path);
    m = compiled(path);
    assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
    assert_int_equal(hull_session_run(s, &in, 1, out, 5), HULL_EINVAL);
    assert_non_null(strstr(hull_last_error(), "string 1"));
    in.dtype = HULL_F32;
    assert_int_equal(hull_session_run(s, &in, 1, out, 5), HULL_ESHAPE);
    in.dtype = HULL_STRING;
    n = 1;
    out[0] = (hull_tensor){.data = room, .shape = two, .rank = 2,
                           .dtype = HULL_STRING};
    assert_int_equal(hull_session_run(s, &in, 1, out, 5), HULL_EUNSUPPORTED);
    n = 0;
    in.data = NULL;
    memset(out, 0, sizeof out);
    assert_int_equal(hull_session_run(s, &in, 1, out, 5), HULL_OK);
    assert_int_equal(out[0].shape[1], 0);
    assert_int_equal(out[2].shape[1], 0);
    hull_session_free(s);
    hull_module_unref(m);
    unlink(path);
}

/* ---- letters, patterns, numbers ------------------------------------------ */

static void letters_of_many_scripts(void **state)
{
    static const char *const pairs[][2] = {
        {"Hello 12", "HELLO 12"},
        {"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", "\xc3\x84\xc3\x96\xc3\x9c\xc3\x9f"},
        {"\xc3\xbf", "\xc5\xb8"},
        {"\xce\xac\xcf\x82", "\xce\x86\xce\xa3"},
        {"\xd1\x8f\xd1\x91", "\xd0\xaf\xd0\x81"},
        {"\xd5\xa1", "\xd4\xb1"},
        {"\xef\xbd\x81", "\xef\xbc\xa1"},
        {"\xff\xc3(a\xed\xa0\x80", "\xff\xc3(A\xed\xa0\x80"},
        {"", ""},
    };
    arena a = {0};
    hull_string s;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        assert_int_equal(text_upper(&s, &a, text_of(pairs[i][0])), HULL_OK);
        assert_true(is_text(s, pairs[i][1], strlen(pairs[i][1])));
    }
    assert_int_equal(text_lower(&s, &a, text_of("\xc5\xb8\xd0\xafZ")), HULL_OK);
    assert_true(is_text(s, "\xc3\xbf\xd1\x8fz", 5));
    for (uint32_t c = 0; c < 0x600; c++) { /* down and up again */
        char up[4] = {(char)(0xc0 | c >> 6), (char)(0x80 | (c & 63))};
        hull_string t, u, v;

        if (c < 0x80)
            continue;
        t = (hull_string){up, 2};
        assert_int_equal(text_lower(&u, &a, t), HULL_OK);
        assert_int_equal(text_upper(&v, &a, u), HULL_OK);
        assert_int_equal(text_lower(&v, &a, v), HULL_OK);
        if (c != 0xb5 && c != 0x131 && c != 0x17f && c != 0x3c2)
            assert_true(is_text(u, v.p, v.n));
    }
    arena_fini(&a);
}

#ifdef HULL_HAS_PCRE2
static hull_status match(bool *out, const char *pattern, const char *text)
{
    regex *r;

    *out = false;
    TRY(regex_new(&r, str_of(pattern)));
    hull_status st = regex_match(out, r, text_of(text));
    regex_free(r);
    return st;
}

static void patterns_of_re2(void **state)
{
    static const char *const good[][2] = {
        {"a|ab", "ab"}, {"(?P<n>x)[]a]+", "x]a"}, {"[[:alpha:]\\d]+", "a1"},
        {"\\Q(*\\E+?", "(***"}, {"(?s:.)", "\n"}, {"\\x{e4}", "\xc3\xa4"},
        {"a{2,3}?", "aaa"}, {"\\pL+", "\xc3\xa4z"}, {"[^(?=*]", "b"},
    };
    static const char *const no_match[][2] = {
        {"a", "a\n"}, {"a$", "a\n"}, {"", "a"}, {".", "\n"}, {".", "\xff"},
    };
    static const char *const bad[] = {
        "(a)\\1", "(?=a)", "(?<=a)b", "(?!a)", "(?>a)", "(*UCP)a", "\\Ka",
        "\\C", "a++", "a**", "(?#c)", "(?R)", "(?x) a", "\\", "(", "[", "a{2",
        "(?", "(?P=n)", "\\g1", "[\\1]", "\\Qa",
    };
    bool yes;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(match(&yes, good[i][0], good[i][1]), HULL_OK);
        assert_true(yes);
    }
    for (size_t i = 0; i < COUNT_OF(no_match); i++) {
        assert_int_equal(match(&yes, no_match[i][0], no_match[i][1]), HULL_OK);
        assert_false(yes);
    }
    for (size_t i = 0; i + 1 < COUNT_OF(bad); i++)
        if (strcmp(bad[i], "a{2") != 0) /* plain text to both */
            assert_int_not_equal(match(&yes, bad[i], "a"), HULL_OK);
}

static void hostile_patterns_end(void **state)
{
    char many[4096], text[2048];
    bool yes;

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[sizeof text - 2] = 'b';
    assert_int_equal(match(&yes, "(a|aa|a*)*[cd]", text), HULL_EUNSUPPORTED);
    assert_int_equal(match(&yes, "(x+x+)+y|(a+)+[cd]", text),
                     HULL_EUNSUPPORTED);
    memset(many, '(', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_int_equal(match(&yes, many, text), HULL_EINVAL);
    assert_int_equal(match(&yes, "((a{1000}){1000}){1000}", text), HULL_EINVAL);
}
#endif

/* One value of dtype `from`, cast; the answer lies in `a`. */
static hull_status cast_one(void *out, hull_dtype to, const void *in,
                            hull_dtype from, arena *a)
{
    eval_ctx cx = {.scratch = a, .texts = a};
    ir *m;
    node *n;
    tensor x = {.dtype = from, .data = (void *)(uintptr_t)in};
    tensor y = {.dtype = to, .data = out};
    hull_status st;

    assert_int_equal(ir_new(&m), HULL_OK);
    n = node_new(graph_new(m, str_of("g")), OP_cast);
    st = text_cast(&cx, n, &x, &y);
    ir_free(m);
    return st;
}

static void check_number(hull_dtype dt, double v, const char *text)
{
    arena a = {0};
    hull_string s = {NULL, 0};
    unsigned char raw[8], back[8];

    if (dtype_is_float(dt))
        store_f64(dt, raw, 0, v);
    else
        store_i64(dt, raw, 0, (int64_t)v);
    assert_int_equal(cast_one(&s, HULL_STRING, raw, dt, &a), HULL_OK);
    if (!is_text(s, text, strlen(text)))
        print_error("'%.*s', want '%s'\n", (int)s.n, s.p, text);
    assert_true(is_text(s, text, strlen(text)));
    assert_int_equal(cast_one(back, dt, &s, HULL_STRING, &a), HULL_OK);
    assert_true(isnan(v) || load_f64(dt, back, 0) == load_f64(dt, raw, 0));
    arena_fini(&a);
}

static void numbers_as_text(void **state)
{
    static const char *const bad[] = {"", "a", "1 2", "+-1", "0x10", "1e",
                                      "--1", "nano", "1\0"};
    arena a = {0};
    hull_string s = text_of("  +1.5e2\n");
    float f = 0;
    int8_t i = 0;

    (void)state;
    check_number(HULL_F32, 0.1, "0.1");
    check_number(HULL_F32, -0.0, "-0.0");
    check_number(HULL_F32, 1e10, "1e+10");
    check_number(HULL_F32, 100, "100.0");
    check_number(HULL_F16, 0.1, "0.1");
    check_number(HULL_F16, 65504, "65500.0");
    check_number(HULL_F16, 0x1p-24, "6e-08");
    check_number(HULL_BF16, 3.3895313892515355e38, "3.39e+38");
    check_number(HULL_F64, 0.1, "0.1");
    check_number(HULL_F32, (double)NAN, "NaN");
    check_number(HULL_F32, (double)INFINITY, "INF");
    check_number(HULL_F64, -(double)INFINITY, "-INF");
    check_number(HULL_I64, -12, "-12");
    check_number(HULL_U8, 255, "255");
    check_number(HULL_BOOL, 1, "True");
    assert_int_equal(cast_one(&f, HULL_F32, &s, HULL_STRING, &a), HULL_OK);
    assert_true(f == 150.0f);
    s = text_of("+Infinity");
    assert_int_equal(cast_one(&f, HULL_F32, &s, HULL_STRING, &a), HULL_OK);
    assert_true(isinf(f));
    for (size_t k = 0; k < COUNT_OF(bad); k++) {
        s = text_of(bad[k]);
        if (k + 1 == COUNT_OF(bad))
            s.n = 2; /* with the NUL */
        assert_int_equal(cast_one(&f, HULL_F32, &s, HULL_STRING, &a),
                         HULL_EINVAL);
    }
    s = text_of("128");
    assert_int_equal(cast_one(&i, HULL_I8, &s, HULL_STRING, &a), HULL_EINVAL);
    s = text_of("1.0");
    assert_int_equal(cast_one(&i, HULL_I8, &s, HULL_STRING, &a), HULL_EINVAL);
    arena_fini(&a);
}

/* ---- pointers never come from a file ------------------------------------- */

static void texts_that_forge_strings(void **state)
{
    static const char *const bad[] = {
        "%r = weight \"w\" : string[2]",
        "%r = const {value=[1,2]} : string[2]",
        "%r = const {value=string[1] [1]} : string[1]",
        "%r = iota {shape=[2], axis=0, dtype=string} : string[2]",
        "%r = bitcast %c {to=string} : string[2]",
        "%r = neg %s : string[2]",
        "%r = add %s, %s : string[2]",
        "%r = lt %s, %s : bool[2]",
        "%r = cumsum %s {axis=0} : string[2]",
        "%r = pad %s {pads=[0,1]} : string[3]",
        "%r = scatter_elements %s, %i, %s : string[2]",
        "%r = bitcast %s {to=u8} : u8[2,16]",
        "%r = expect %s {value=[1,2], what=\"x\"} : string[2]",
        "%r = quantize %f, %f {to=string} : string[2]",
        "%r = cast %z {to=string} : string[2]",
        "%r = strings {value=[\"a\",\"b\"], shape=[2]} : i64[2]",
        "%r = text_concat %s, %i : string[2]",
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ir *m;

        snprintf(text, sizeof text, "graph @g(%%s: string[2], %%c: c128[2], "
                 "%%i: i64[2], %%f: f32[2], %%z: c64[2]) {\n  %s\n"
                 "  return %%r\n}\n", bad[i]);
        if (ir_parse(&m, str_of(text), NULL) == HULL_OK)
            print_error("accepted: %s\n", bad[i]);
        assert_null(m);
    }
}

static void states_hold_no_strings(void **state)
{
    graph *g;
    ir *m;
    dim two = 2;
    type t;

    (void)state;
    assert_int_equal(ir_new(&m), HULL_OK);
    t = type_tensor(m, HULL_STRING, &two, 1);
    g = graph_new(m, str_of("g"));
    graph_result(g, op_reshape(g, graph_param(g, str_of("s"), &t), &two, 1));
    graph_set_state(g, 0, 0, str_of("w"));
    assert_int_equal(graph_verify(g), HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "no tensor of numbers"));
    ir_free(m);
}

static void checkpoints_hold_no_strings(void **state)
{
    static const char header[] =
        "{\"w\":{\"dtype\":\"STRING\",\"shape\":[1],\"data_offsets\":[0,16]}}";
    const hull_string s = {"a", 1};
    const int64_t one = 1;
    hull_tensor t = {.data = (void *)(uintptr_t)&s, .shape = &one, .rank = 1,
                     .dtype = HULL_STRING};
    uint64_t n = sizeof header - 1;
    char path[64];
    hull_weights *w;
    buf b = new_buf();

    (void)state;
    assert_int_equal(hull_weights_new(&w), HULL_OK);
    assert_int_equal(hull_weights_add(w, "w", &t, NULL, NULL),
                     HULL_EUNSUPPORTED);
    t.dtype = HULL_SEQUENCE;
    assert_int_not_equal(hull_weights_add(w, "w", &t, NULL, NULL), HULL_OK);
    hull_weights_unref(w);
    buf_put(&b, &n, 8);
    buf_put(&b, header, n);
    buf_put(&b, "0123456789abcdef", 16);
    write_bytes(path, b.p, b.n);
    assert_int_equal(hull_weights_open(&w, path), HULL_OK);
    assert_int_equal(hull_weights_at(w, 0, &(const char *){NULL}, &t),
                     HULL_OK);
    assert_int_equal(t.dtype, HULL_NONE); /* a dtype that is not read */
    hull_weights_unref(w);
    unlink(path);
    buf_fini(&b);
    write_model(path); /* its strings are no weights */
    assert_int_equal(hull_weights_open(&w, path), HULL_OK);
    for (size_t i = 0; i < hull_weights_count(w); i++) {
        const char *name;

        assert_int_equal(hull_weights_at(w, i, &name, &t), HULL_OK);
        assert_int_not_equal(t.dtype, HULL_STRING);
    }
    hull_weights_unref(w);
    unlink(path);
}

/* ---- sparse tensors ------------------------------------------------------ */

static buf sparse_tensor(const char *name, const int64_t *dims, size_t rank,
                         const float *values, const int64_t *at, int64_t n,
                         int64_t per_index)
{
    int64_t shape[2] = {n, per_index};
    buf s = new_buf();
    buf v = tensor_buf(name, F32, shape, 1, values, (size_t)n * 4);
    buf i = tensor_buf("", I64, shape, per_index > 0 ? 2 : 1, at,
                       (size_t)(n * (per_index > 0 ? per_index : 1)) * 8);

    put_message(&s, 1, &v);
    put_message(&s, 2, &i);
    for (size_t k = 0; k < rank; k++)
        put_int(&s, 3, dims[k]);
    return s;
}

/* y = x + w + c: w a sparse initializer, c a Constant. */
static void write_sparse(char path[64], const int64_t *at, int64_t per_index,
                         const int64_t *dims)
{
    static const float v[2] = {5, 7};
    static const int64_t flat[2] = {1, 3};
    const int64_t two[2] = {2, 2};
    maker m = maker_new(17);
    buf s = sparse_tensor("w", dims, 2, v, at, 2, per_index), a, t;

    put_value(&m.graph, 11, "x", F32, two, 2);
    put_message(&m.graph, 15, &s);
    s = sparse_tensor("", two, 2, v, flat, 2, 0);
    a = new_buf();
    t = new_buf();
    put_text(&t, 1, "sparse_value");
    put_message(&t, 22, &s);
    put_int(&t, 20, 11);
    put_message(&a, 5, &t);
    put_node(&m.graph, "Constant", "", "c", &a);
    put_node(&m.graph, "Add", "x w", "s", NULL);
    put_node(&m.graph, "Add", "s c", "y", NULL);
    put_value(&m.graph, 12, "y", F32, two, 2);
    maker_write(&m, path);
    assert_true(path[0] != 0);
}

static void run_sparse(hull_module *m, const float *want)
{
    static const float x[4] = {0, 0, 0, 100};
    const int64_t two[2] = {2, 2};
    hull_tensor in = {.data = (void *)(uintptr_t)x, .shape = two, .rank = 2,
                      .dtype = HULL_F32};
    hull_tensor out = {0};
    hull_session *s;

    assert_int_equal(hull_session_new(&s, m, NULL), HULL_OK);
    assert_int_equal(hull_session_run(s, &in, 1, &out, 1), HULL_OK);
    assert_memory_equal(out.data, want, 4 * sizeof *want);
    hull_session_free(s);
}

static void sparse_tensors_are_dense_weights(void **state)
{
    static const int64_t flat[2] = {0, 3}, pairs[4] = {0, 0, 1, 1};
    static const float want[4] = {5, 5, 0, 114}, other[4] = {1, 1, 1, 1};
    static const float after[4] = {1, 6, 1, 108};
    const int64_t two[2] = {2, 2};
    hull_tensor t = {.data = (void *)(uintptr_t)other, .shape = two, .rank = 2,
                     .dtype = HULL_F32};
    char path[64];

    (void)state;
    for (int i = 0; i < 2; i++) {
        hull_module *m;
        hull_weights *w;
        hull_options *o;

        write_sparse(path, i == 0 ? flat : pairs, i == 0 ? 0 : 2, two);
        m = compiled(path);
        run_sparse(m, want);
        assert_int_equal(hull_options_new(&o), HULL_OK);
        assert_int_equal(hull_options_set(o, "allow_missing", "on"), HULL_OK);
        assert_int_equal(hull_weights_new(&w), HULL_OK);
        assert_int_equal(hull_weights_add(w, "w", &t, NULL, NULL), HULL_OK);
        if (hull_refit(m, w, o, NULL) != HULL_OK)
            print_error("%s\n", hull_last_error());
        run_sparse(m, after);
        hull_options_free(o);
        hull_weights_unref(w);
        hull_module_unref(m);
        unlink(path);
    }
}

static void bad_sparse_tensors(void **state)
{
    static const struct {
        int64_t at[4], per_index, dims[2];
    } rows[] = {
        {{0, 4}, 0, {2, 2}},       {{3, 0}, 0, {2, 2}},
        {{1, 1}, 0, {2, 2}},       {{-1, 1}, 0, {2, 2}},
        {{0, 0, 1, 2}, 2, {2, 2}}, {{0, 0, 0, -1}, 2, {2, 2}},
        {{0, 1}, 0, {-2, 2}},      {{0, 1}, 0, {INT64_MAX, INT64_MAX}},
        {{0, 1}, 0, {1 << 20, 1 << 20}}, {{0, 1}, 1, {2, 2}},
    };
    char path[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        hull_module *m;

        write_sparse(path, rows[i].at, rows[i].per_index, rows[i].dims);
        assert_int_not_equal(hull_compile(&m, path, NULL, NULL, NULL),
                             HULL_OK);
        assert_null(m);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_in_and_out),
        cmocka_unit_test(bad_strings_are_refused),
        cmocka_unit_test(letters_of_many_scripts),
#ifdef HULL_HAS_PCRE2
        cmocka_unit_test(patterns_of_re2),
        cmocka_unit_test(hostile_patterns_end),
#endif
        cmocka_unit_test(numbers_as_text),
        cmocka_unit_test(texts_that_forge_strings),
        cmocka_unit_test(states_hold_no_strings),
        cmocka_unit_test(checkpoints_hold_no_strings),
        cmocka_unit_test(sparse_tensors_are_dense_weights),
        cmocka_unit_test(bad_sparse_tensors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
