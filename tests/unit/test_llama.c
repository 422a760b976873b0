/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_llama.c - an architecture of seven billion parameters: a decoder of 32
 * layers as an exporter writes it, some 2,000 nodes, its weights in a sparse
 * file beside it and in a sparse checkpoint. Compiling takes seconds and less
 * than 200 MB, since nobody reads a weight.
 */
#include "guard.h"

#include <inttypes.h>
#include <jansson.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sparse_unit.h"

#define LAYERS 32
#define DIM 4096
#define HEADS 32
#define HEAD 128
#define FFN 11008
#define VOCAB 32000
#define F16 10

/* Half of what it takes is spare: machines of tests are shared and slow. */
#define RSS_MAX_KIB (200 * 1024L)
#define SECONDS_MAX 20.0

static char model_path[256], data_path[256], checkpoint_path[256];

typedef struct builder {
    maker k;
    buf header;          /* of the checkpoint */
    int64_t at;          /* bytes of weights so far */
    uint64_t parameters;
    unsigned n_weights, n_nodes;
} builder;

/* One weight of [d0] or [d0,d1]: an initializer with external data, and its
 * line in the checkpoint's header. */
static void weight(builder *b, const char *name, int64_t d0, int64_t d1)
{
    buf t = new_buf();
    int64_t n = d0 * (d1 > 0 ? d1 : 1), size = 2 * n;
    char number[32];

    put_int(&t, 1, d0);
    if (d1 > 0)
        put_int(&t, 1, d1);
    put_int(&t, 2, F16);
    put_text(&t, 8, name);
    put_entry(&t, "location", path_base(data_path));
    snprintf(number, sizeof number, "%" PRId64, b->at);
    put_entry(&t, "offset", number);
    snprintf(number, sizeof number, "%" PRId64, size);
    put_entry(&t, "length", number);
    put_int(&t, 14, 1);
    put_message(&b->k.graph, 5, &t);
    buf_printf(&b->header, "%s\"%s\":{\"dtype\":\"F16\",\"shape\":[%" PRId64,
               b->n_weights > 0 ? "," : "{", name, d0);
    if (d1 > 0)
        buf_printf(&b->header, ",%" PRId64, d1);
    buf_printf(&b->header, "],\"data_offsets\":[%" PRId64 ",%" PRId64 "]}",
               b->at, b->at + size);
    b->at += size;
    b->parameters += (uint64_t)n;
    b->n_weights++;
}

/* A node; every '@' in its names is the layer's prefix. */
static void node_put(builder *b, const char *layer, const char *op,
                     const char *in, const char *out, buf *attrs)
{
    char text[2][512];
    const char *from[2] = {in, out};

    for (int i = 0; i < 2; i++) {
        size_t n = 0;

        for (const char *p = from[i]; *p != '\0'; p++)
            n += (size_t)snprintf(text[i] + n, sizeof text[i] - n, "%.*s",
                                  *p == '@' ? 64 : 1, *p == '@' ? layer : p);
    }
    put_node(&b->k.graph, op, text[0], text[1], attrs);
    b->n_nodes++;
}

static void transpose(builder *b, const char *layer, const char *in,
                      const char *out, const int64_t *perm, size_t n)
{
    buf attrs = new_buf();

    attr_ints_put(&attrs, "perm", perm, n);
    node_put(b, layer, "Transpose", in, out, &attrs);
}

static void rms_norm(builder *b, const char *layer, const char *in,
                     const char *out, const char *name)
{
    buf attrs = new_buf();
    char sum[8][64], text[256];

    for (int i = 0; i < 8; i++)
        snprintf(sum[i], sizeof sum[0], "%s_%d", out, i);
    snprintf(text, sizeof text, "%s two", in);
    node_put(b, layer, "Pow", text, sum[0], NULL);
    snprintf(text, sizeof text, "%s last", sum[0]);
    attr_int_put(&attrs, "keepdims", 1);
    node_put(b, layer, "ReduceMean", text, sum[1], &attrs);
    snprintf(text, sizeof text, "%s eps", sum[1]);
    node_put(b, layer, "Add", text, sum[2], NULL);
    node_put(b, layer, "Sqrt", sum[2], sum[3], NULL);
    node_put(b, layer, "Reciprocal", sum[3], sum[4], NULL);
    snprintf(text, sizeof text, "%s %s", in, sum[4]);
    node_put(b, layer, "Mul", text, sum[5], NULL);
    snprintf(text, sizeof text, "%s %s", name, sum[5]);
    node_put(b, layer, "Mul", text, out, NULL);
}

/* in x weight^T, the weight as PyTorch has it. */
static void linear(builder *b, const char *layer, const char *in,
                   const char *out, const char *name, int64_t n_out,
                   int64_t n_in)
{
    static const int64_t perm[] = {1, 0};
    char full[160], t[64], text[256];

    snprintf(full, sizeof full, "%s%s.weight", *layer ? layer : "", name);
    weight(b, full, n_out, n_in);
    snprintf(t, sizeof t, "%s_t", out);
    transpose(b, layer, full, t, perm, 2);
    snprintf(text, sizeof text, "%s %s", in, t);
    node_put(b, layer, "MatMul", text, out, NULL);
}

static void rotary(builder *b, const char *layer, const char *in,
                   const char *out)
{
    char t[8][64], text[256];
    buf attrs = new_buf();

    for (int i = 0; i < 8; i++)
        snprintf(t[i], sizeof t[0], "%s_%d", out, i);
    snprintf(text, sizeof text, "%s cos", in);
    node_put(b, layer, "Mul", text, t[0], NULL);
    snprintf(text, sizeof text, "%s zero half last one", in);
    node_put(b, layer, "Slice", text, t[1], NULL);
    snprintf(text, sizeof text, "%s half end last one", in);
    node_put(b, layer, "Slice", text, t[2], NULL);
    node_put(b, layer, "Neg", t[2], t[3], NULL);
    snprintf(text, sizeof text, "%s %s", t[3], t[1]);
    attr_int_put(&attrs, "axis", -1);
    node_put(b, layer, "Concat", text, t[4], &attrs);
    snprintf(text, sizeof text, "%s sin", t[4]);
    node_put(b, layer, "Mul", text, t[5], NULL);
    snprintf(text, sizeof text, "%s %s", t[0], t[5]);
    node_put(b, layer, "Add", text, out, NULL);
}

static void attention(builder *b, const char *l)
{
    static const int64_t heads[] = {1, -1, HEADS, HEAD}, flat[] = {1, -1, DIM};
    static const int64_t swap[] = {0, 2, 1, 3}, last[] = {0, 1, 3, 2};
    char name[96];

    linear(b, l, "@n", "@q", "self_attn.q_proj", DIM, DIM);
    linear(b, l, "@n", "@k", "self_attn.k_proj", DIM, DIM);
    linear(b, l, "@n", "@v", "self_attn.v_proj", DIM, DIM);
    snprintf(name, sizeof name, "%sheads", l);
    put_i64s(&b->k.graph, name, heads, 4);
    snprintf(name, sizeof name, "%sflat", l);
    put_i64s(&b->k.graph, name, flat, 3);
    node_put(b, l, "Reshape", "@q @heads", "@q4", NULL);
    node_put(b, l, "Reshape", "@k @heads", "@k4", NULL);
    node_put(b, l, "Reshape", "@v @heads", "@v4", NULL);
    transpose(b, l, "@q4", "@qh", swap, 4);
    transpose(b, l, "@k4", "@kh", swap, 4);
    transpose(b, l, "@v4", "@vh", swap, 4);
    rotary(b, l, "@qh", "@qr");
    rotary(b, l, "@kh", "@kr");
    transpose(b, l, "@kr", "@kt", last, 4);
    node_put(b, l, "MatMul", "@qr @kt", "@s", NULL);
    node_put(b, l, "Mul", "@s scale", "@ss", NULL);
    node_put(b, l, "Add", "@ss mask", "@sm", NULL);
    node_put(b, l, "Softmax", "@sm", "@p", NULL);
    node_put(b, l, "MatMul", "@p @vh", "@o", NULL);
    transpose(b, l, "@o", "@ot", swap, 4);
    node_put(b, l, "Reshape", "@ot @flat", "@of", NULL);
    linear(b, l, "@of", "@a", "self_attn.o_proj", DIM, DIM);
}

static void decoder_layer(builder *b, int i, const char *in, const char *out)
{
    char l[64], name[128], text[256];

    snprintf(l, sizeof l, "model.layers.%d.", i);
    snprintf(name, sizeof name, "%sinput_layernorm.weight", l);
    weight(b, name, DIM, 0);
    rms_norm(b, l, in, "@n", "@input_layernorm.weight");
    attention(b, l);
    snprintf(text, sizeof text, "%s @a", in);
    node_put(b, l, "Add", text, "@h", NULL);
    snprintf(name, sizeof name, "%spost_attention_layernorm.weight", l);
    weight(b, name, DIM, 0);
    rms_norm(b, l, "@h", "@m", "@post_attention_layernorm.weight");
    linear(b, l, "@m", "@g", "mlp.gate_proj", FFN, DIM);
    linear(b, l, "@m", "@u", "mlp.up_proj", FFN, DIM);
    node_put(b, l, "Sigmoid", "@g", "@gs", NULL);
    node_put(b, l, "Mul", "@g @gs", "@gg", NULL);
    node_put(b, l, "Mul", "@gg @u", "@gu", NULL);
    linear(b, l, "@gu", "@d", "mlp.down_proj", DIM, FFN);
    node_put(b, l, "Add", "@h @d", out, NULL);
}

static void put_half(buf *g, const char *name, uint16_t bits)
{
    put_stored(g, name, F16, NULL, 0, &bits, 2);
}

static void constants(builder *b)
{
    static const int64_t zero = 0, half = HEAD / 2, end = INT64_MAX, one = 1,
                         last = -1;
    buf *g = &b->k.graph;

    put_half(g, "two", 0x4000);
    put_half(g, "eps", 0x00a8);
    put_half(g, "scale", 0x2da8);
    put_i64s(g, "zero", &zero, 1);
    put_i64s(g, "half", &half, 1);
    put_i64s(g, "end", &end, 1);
    put_i64s(g, "one", &one, 1);
    put_i64s(g, "last", &last, 1);
}

static void build(builder *b)
{
    static const int64_t ids[] = {1, -1}, table[] = {1, 1, -1, HEAD};
    static const int64_t mask[] = {1, 1, -1, -1}, y[] = {1, -1, VOCAB};
    char in[32] = "x0", out[32];

    *b = (builder){.k = maker_new(18), .header = new_buf()};
    put_value(&b->k.graph, 11, "ids", 7, ids, 2);
    put_value(&b->k.graph, 11, "cos", F16, table, 4);
    put_value(&b->k.graph, 11, "sin", F16, table, 4);
    put_value(&b->k.graph, 11, "mask", F16, mask, 4);
    constants(b);
    weight(b, "model.embed_tokens.weight", VOCAB, DIM);
    node_put(b, "", "Gather", "model.embed_tokens.weight ids", in, NULL);
    for (int i = 0; i < LAYERS; i++) {
        snprintf(out, sizeof out, "x%d", i + 1);
        decoder_layer(b, i, in, out);
        memcpy(in, out, sizeof in);
    }
    weight(b, "model.norm.weight", DIM, 0);
    rms_norm(b, "", in, "xn", "model.norm.weight");
    linear(b, "", "xn", "logits", "lm_head", VOCAB, DIM);
    put_value(&b->k.graph, 12, "logits", F16, y, 3);
    buf_putc(&b->header, '}');
}

static bool write_files(void)
{
    builder b;
    char head[8], made[64];
    bool ok;

    build(&b);
    print_message("%" PRIu64 " parameters, %u tensors, %u nodes\n",
                  b.parameters, b.n_weights, b.n_nodes);
    assert_true(b.parameters > 6700000000);
    assert_true(b.n_nodes > 1900);
    while ((b.header.n + 8) % 64 != 0)
        buf_putc(&b.header, ' ');
    OK(buf_status(&b.header));
    for (int i = 0; i < 8; i++)
        head[i] = (char)(b.header.n >> (8 * i));
    ok = sparse_file(data_path, "", 0, b.at);
    if (ok) {
        buf all = new_buf();

        buf_put(&all, head, 8);
        buf_put(&all, b.header.p, b.header.n);
        OK(buf_status(&all));
        ok = sparse_file(checkpoint_path, all.p, all.n,
                         (int64_t)all.n + b.at);
        buf_fini(&all);
    }
    buf_fini(&b.header);
    maker_write(&b.k, made);
    copy_file(model_path, made);
    unlink(made);
    return ok;
}

static int make_files(void **state)
{
    (void)state;
    snprintf(model_path, sizeof model_path, "%s", temp_path(".onnx"));
    snprintf(data_path, sizeof data_path, "%s", temp_path(".bin"));
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s",
             temp_path(".safetensors"));
    if (write_files())
        return 0;
    print_message("SKIP: the temporary folder takes no sparse file\n");
    model_path[0] = '\0';
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(model_path);
    unlink(data_path);
    unlink(checkpoint_path);
    return 0;
}

/* What one call cost, measured in a process of its own. */
typedef struct cost {
    hull_status st;
    long rss_kib;
    double seconds, import, compile; /* the last two: hull_module_describe */
    unsigned blocks, engines;
    char text[256];
} cost;

static hull_status facts(cost *c, hull_module *m)
{
    json_t *top = NULL, *blocks, *block;
    const char *keys[64];
    char *text;
    size_t i;

    TRY(hull_module_describe(&text, m));
    TRY(json_parse(&top, text, strlen(text), "the facts"));
    hull_free(text);
    c->import = json_real_value(json_object_get(top, "import_seconds"));
    c->compile = json_real_value(json_object_get(top, "compile_seconds"));
    blocks = json_object_get(top, "blocks");
    json_array_foreach(blocks, i, block) {
        const char *key = json_string_value(json_object_get(block, "key"));
        unsigned k = 0;

        while (key != NULL && k < c->engines && strcmp(keys[k], key) != 0)
            k++;
        if (key != NULL && k == c->engines && k < 64)
            keys[c->engines++] = key;
        c->blocks++;
    }
    json_free(top);
    return HULL_OK;
}

static hull_status compile(cost *c, const char *weights)
{
    hull_options *o = NULL;
    hull_weights *w = NULL;
    hull_module *m = NULL;
    hull_status st;

    TRY_OUT(hull_options_new(&o));
    TRY_OUT(hull_options_set(o, "strip_weights", "on"));
    if (weights != NULL)
        TRY_OUT(hull_weights_open(&w, weights));
    TRY_OUT(hull_compile(&m, model_path, w, NULL, o));
    TRY_OUT(facts(c, m));
out:
    hull_module_unref(m);
    hull_weights_unref(w);
    hull_options_free(o);
    return st;
}

static cost measure(const char *weights)
{
    cost c = {0};
    int ends[2], status;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct rusage r;

        c.st = compile(&c, weights);
        getrusage(RUSAGE_SELF, &r);
        c.rss_kib = r.ru_maxrss;
        c.seconds = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
                    (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
        snprintf(c.text, sizeof c.text, "%s", hull_last_error());
        _exit(write(ends[1], &c, sizeof c) != sizeof c);
    }
    assert_true(pid > 0);
    close(ends[1]);
    assert_true(read(ends[0], &c, sizeof c) == sizeof c);
    close(ends[0]);
    assert_true(waitpid(pid, &status, 0) == pid && status == 0);
    return c;
}

static void check(const char *what, const char *weights)
{
    cost c;

    if (model_path[0] == '\0')
        skip();
    c = measure(weights);
    if (c.st != HULL_OK)
        stop("%s: %s: %s", what, hull_status_name(c.st), c.text);
    print_message("%s: %.2f s (import %.2f, compile %.2f), %ld KiB resident, "
                  "%u blocks, %u engines\n", what, c.seconds, c.import,
                  c.compile, c.rss_kib, c.blocks, c.engines);
    if (GUARD_SANITIZED)
        return;
    assert_true(c.rss_kib < RSS_MAX_KIB);
    assert_true(c.seconds < SECONDS_MAX);
}

static void seven_billion_parameters(void **state)
{
    (void)state;
    check("compile", NULL);
}

static void and_a_checkpoint(void **state)
{
    (void)state;
    check("compile with a checkpoint", checkpoint_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seven_billion_parameters),
        cmocka_unit_test(and_a_checkpoint),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
