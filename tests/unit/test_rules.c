/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_rules.c - mapping rules: the language and its errors, patterns, recipes
 * on the small model of module_unit.h, and a Hugging Face spelling of the
 * shared ViT fixture in every model form.
 */
#include "module_unit.h"

#include "compile/bind_private.h"

/* ---- files --------------------------------------------------------------- */

static const char *rules_file(const char *text)
{
    spill(at("rules"), text, strlen(text));
    return at("rules");
}

static void reads(void **state)
{
    static const char text[] =
        "// a comment\r\n"
        "a.*.w = \"b.*.w\"   // quoted\n"
        "\n"
        "  c = d/e:0 // a TensorFlow name\n"
        "** = model.**\n"
        "q.*.w = concat \"q.*\", \"k.*\", \"q.*\" {axis=0}  // one op\n"
        "z = {  // a block\n"
        "  %t = transpose \"x\" {perm=[1,0]}\n"
        "  return %t }\n"
        "_ = pooler.**\n";
    rules *rs;

    (void)state;
    OK(rules_read(&rs, rules_file(text)));
    assert_int_equal(rs->n, 6);
    assert_true(rs->r[0].rename && str_is(rs->r[0].names[0], "b.*.w"));
    assert_true(str_is(rs->r[1].left, "c") &&
                str_is(rs->r[1].names[0], "d/e:0"));
    assert_int_equal(rs->r[1].line, 4);
    assert_int_equal(rs->r[1].column, 3);
    assert_int_equal(rs->r[3].n_names, 2);
    assert_false(rs->r[3].rename);
    assert_true(rs->r[4].block && rs->r[4].body_line == 7);
    assert_true(str_is(rs->r[5].left, "_") && rs->r[5].line == 10);
    rules_free(rs);
}

static void malformed(void **state)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        {"", "has no rule"},
        {"// nothing\n", "has no rule"},
        {"a\n", "line 1 column 2: '=' is wanted"},
        {"a = \n", "line 1 column 5: a name or a recipe is wanted"},
        {"= a\n", "line 1 column 1: a name is wanted"},
        {"a = \"b\n", "line 1 column 5: a name is not closed"},
        {"a = \"b\\\"\"\n", "line 1 column 7: a name has a backslash"},
        {"a = \"b\" c\n", "line 1 column 9: 'c' stands behind the name"},
        {"a = transpose %x {perm=[1,0]}\n", "reads no tensor"},
        {"a = relu \"\"\n", "line 1 column 10: a name is empty"},
        {"a = {\n relu \"b\"\n", "the '{' of line 1 is not closed"},
        {"a = { return \"b\" } c\n", "line 1 column 20: 'c' stands behind"},
        {"a.*b = c.*b\n", "'*b': a star is a whole segment"},
        {"a.*** = c\n", "'***': a star"},
        {"**.a.** = **.b.**\n", "two '**'"},
        {"a..b = c\n", "line 1 column 3: 'a..b' has an empty segment"},
        {"a.* = b\n", "'a.*' has stars, no name"},
        {"a.*.** = b.**.*\n", "the stars of 'b.**.*' are not those"},
        {"a = b.*\n", "the stars of 'b.*' are not those of 'a'"},
        {"*.*.*.*.*.*.*.*.* = b\n", "more than 8 stars"},
        {"_ = relu \"a\"\n", "'_' takes one name"},
        {"a = b\n\n c d\n e = f.*\ng = \"\n",
         "line 3 column 4: '=' is wanted; line 4 column 2: the stars of "
         "'f.*' are not those of 'e'; line 5 column 5: a name is not closed"},
        {"x = {\n %a = relu \"b\\\"\n return %a\n}\ny =\n",
         "line 2 column 14: a name has a backslash; line 5"},
        {"a = \xff\n", "no text"},
    };
    char many[64 * 20 + 1] = "";
    rules *rs;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hull_status st = rules_read(&rs, rules_file(bad[i].text));

        if (st != HULL_EFORMAT || rs != NULL ||
            strstr(error_text(), bad[i].want) == NULL)
            stop("'%s': status %d: %s\n wanted: %s", bad[i].text, (int)st,
                 error_text(), bad[i].want);
    }
    for (int i = 0; i < 20; i++)
        strncat(many, "a b\n", sizeof many - strlen(many) - 1);
    assert_int_equal(rules_read(&rs, rules_file(many)), HULL_EFORMAT);
    assert_non_null(strstr(error_text(), "; and 8 more"));
    assert_int_equal(rules_read(&rs, at("absent")), HULL_ENOTFOUND);
    spill(at("zero"), "a = b\0\n", 7);
    assert_int_equal(rules_read(&rs, at("zero")), HULL_EFORMAT);
}

/* Every rule is tried on every name, which is no work without an end. */
static void tries_have_a_limit(void **state)
{
    enum { N_RULES = 60000, N_TENSORS = 20000 };
    static const float zero[1];
    static const int64_t one[] = { 1 };
    hull_tensor t = { .data = (void *)(uintptr_t)zero, .shape = one,
                      .rank = 1, .dtype = HULL_F32 };
    hull_weights *w;
    mapped *mp;
    char name[16];
    buf b;

    (void)state;
    buf_init(&b, (size_t)1 << 20);
    for (int i = 0; i < N_RULES; i++)
        buf_puts(&b, "a = t1\n");
    OK(buf_status(&b));
    spill(at("rules"), b.p, b.n);
    buf_fini(&b);
    OK(hull_weights_new(&w));
    for (int i = 0; i < N_TENSORS; i++) {
        snprintf(name, sizeof name, "t%d", i);
        OK(hull_weights_add(w, name, &t, NULL, NULL));
    }
    assert_int_equal(mapped_new(&mp, at("rules"), w), HULL_EUNSUPPORTED);
    assert_non_null(strstr(error_text(), "60000 rules, too many to try"));
    assert_null(mp);
    hull_weights_unref(w);
}

/* Whatever is in a file: an answer or an error. */
static void damaged(void **state)
{
    static const char good[] =
        "a.*.w = \"b.*.w\"\nq = { %t = concat \"x\", \"y\" {axis=0}\n"
        "return %t }\n_ = p.**\n";
    static const char put[] = "*.\"{}=/_\\\n %";
    char text[sizeof good];
    uint64_t seed = 88172645463325252u;
    rules *rs;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        memcpy(text, good, sizeof text);
        for (int k = 0; k <= i % 3; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            text[(seed >> 16) % (sizeof good - 1)] =
                put[(seed >> 8) % (sizeof put - 1)];
        }
        if (rules_read(&rs, rules_file(text)) != HULL_OK)
            assert_null(rs);
        rules_free(rs);
    }
}

/* ---- patterns ------------------------------------------------------------ */

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *name, *to, *want; /* NULL: no match */
    } table[] = {
        {"a.b", "a.b", "c", "c"},
        {"a.b", "a.bc", "", NULL},
        {"a.b", "a", "", NULL},
        {"a.*", "a.b", "x.*.y", "x.b.y"},
        {"a.*", "a.b.c", "", NULL},
        {"a.*", "a.", "", NULL},
        {"*.*.w", "l.3.w", "*-is-no-star.*", "*-is-no-star.l"},
        {"a.**", "a.b.c", "**", "b.c"},
        {"a.**", "a", "", NULL},
        {"**.w", "a.b.w", "m.**.weight", "m.a.b.weight"},
        {"**.w", "w", "", NULL},
        {"a.**.*.w", "a.b.c.d.w", "**.*", "b.c.d"},
        {"a.**.*.w", "a.b.w", "", NULL},
        {"**", "x.y", "**", "x.y"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        str stars[RULE_STARS_MAX];
        bool is = rule_match(str_of(table[i].pattern), str_of(table[i].name),
                             stars);
        buf b;

        if (is != (table[i].want != NULL))
            stop("%s on %s: %d", table[i].pattern, table[i].name, is);
        if (!is)
            continue;
        buf_init(&b, 1000);
        rule_fill(&b, str_of(table[i].to), stars);
        if (!str_is(buf_view(&b), table[i].want))
            stop("%s: %s", table[i].name, b.p);
        buf_fini(&b);
    }
}

/* ---- on the small model: fc1.weight [11,5] fc1.bias fc2.weight [3,11] ----- */

/* Another spelling: the first weight transposed, the second in two halves. */
static void write_other(float scale)
{
    static const int64_t s1[] = {5, 11}, s2[] = {11}, s3[] = {1, 11},
                         s4[] = {2, 11};
    float w[55], b[11], u[33];
    const safetensors_item items[] = {
        {str_of("enc.0.kernel"), HULL_F32, 2, s1, w, sizeof w},
        {str_of("enc.0.offset"), HULL_F32, 1, s2, b, sizeof b},
        {str_of("out/top:0"), HULL_F32, 2, s3, u, 44},
        {str_of("out/rest:0"), HULL_F32, 2, s4, u + 11, 88},
        {str_of("pooler.dense.weight"), HULL_F32, 1, s2, b, sizeof b},
    };

    for (int i = 0; i < 55; i++)
        w[i % 5 * 11 + i / 5] = scale * (float)(i % 9 - 4) * 0.25f;
    for (int i = 0; i < 11; i++)
        b[i] = scale * (float)(i - 5) * 0.125f;
    for (int i = 0; i < 33; i++)
        u[i] = scale * (float)(i % 5 - 2) * 0.0625f;
    OK(safetensors_write(at("other.safetensors"), items, COUNT_OF(items)));
}

static const char other_rules[] =
    "// from the other spelling\n"
    "fc1.weight = transpose \"enc.0.kernel\" {perm=[1,0]}\n"
    "fc1.bias   = enc.0.offset\n"
    "fc2.weight = {\n"
    "  %all = concat \"out/top:0\", \"out/rest:0\" {axis=0}\n"
    "  return %all\n"
    "}\n"
    "_ = pooler.**\n";

static hull_status refit_mapped(module *m, const char *text,
                                hull_refit_report *report)
{
    char set[300];

    snprintf(set, sizeof set, "map=%s", rules_file(text));
    return refit_with(m, "other.safetensors", set, report);
}

static void a_mapping_names_the_tensors(void **state)
{
    module *m = compiled("");
    hull_refit_report r;
    const void *plan_before;
    answer want, have;

    (void)state;
    write_checkpoint("a.safetensors", 1, "", 3);
    write_other(1);
    OK(refit_with(m, "a.safetensors", "", NULL));
    want = answer_of(m);
    write_checkpoint("b.safetensors", 2, "", 3);
    OK(refit_with(m, "b.safetensors", "", NULL));
    assert_int_equal(refit_with(m, "other.safetensors", "", NULL), HULL_EBIND);
    OK(refit_mapped(m, other_rules, &r));
    have = answer_of(m);
    assert_memory_equal(&want, &have, sizeof want);
    /* The transpose of the rule and that of the module's recipe undo each
     * other, so that weight is copied. */
    assert_true(r.slots_copied >= 2);
    /* The same way of binding again: the fill plan stays. */
    plan_before = m->fill;
    write_other(3);
    OK(refit_mapped(m, other_rules, NULL));
    assert_ptr_equal(m->fill, plan_before);
    /* Other rules are another binding, though they do the same. */
    OK(refit_mapped(m, "fc1.bias = enc.0.offset\nfc1.weight = transpose "
                    "\"enc.0.kernel\" {perm=[1,0]}\nfc2.weight = concat "
                    "\"out/top:0\", \"out/rest:0\" {axis=0}\n_ = pooler.**\n",
                    NULL));
    assert_ptr_not_equal(m->fill, plan_before);
    /* A module saved with its sources needs no rules to be loaded. */
    want = answer_of(m);
    OK(module_save(m, at("mapped.hull"), HULL_SAVE_SOURCES));
    module_unref(m);
    OK(load_with(&m, at("mapped.hull"), NULL, ""));
    have = answer_of(m);
    assert_memory_equal(&want, &have, sizeof want);
    module_unref(m);
}

static void rules_that_do_not_fit(void **state)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        {"fc1.bias = enc.0.offset\nx = absent\ny = q.*\n",
         "the stars of 'q.*'"},
        {"fc1.bias = enc.0.offset\nx = absent\ny.* = q.*\n",
         "line 2 column 1: no tensor of the checkpoint is called 'absent'; "
         "line 3 column 1: no tensor of the checkpoint is called 'q.*'"},
        {"a = enc.0.offset\na = enc.0.kernel\n",
         "line 2 column 1: earlier rules give every 'a'"},
        {"a = concat \"enc.0.offset\", \"b\" {axis=0}\n",
         "line 1 column 1: 'b', for 'a', is not in the checkpoint"},
        {"// line 1\na = trnspose \"enc.0.kernel\" {perm=[1,0]}\n",
         "line 2 column 5: there is no op 'trnspose' (for 'a')"},
        {"a = transpose \"enc.0.kernel\" {perm=[1,2]}\n", "line 1 column 5"},
        {"a = {\n  %x = relu \"enc.0.offset\"\n  %y = add %x, %z\n"
         "  return %y\n}\n", "line 3 column 16: %z is not defined"},
        {"a = {\n  return \"enc.0.offset\", \"enc.0.kernel\"\n}\n",
         "one result"},
        {"a = {\n return \"enc.0.offset\" }\nb = concat \"enc.0.kernel\", "
         "\"out/top:0\" {axis=1}\nc = relu \"enc.0.kernel\" {x=1}\n", "; line"},
        {"a = { return \"enc.0.offset\" } }\n", "'}' stands behind"},
        {"a = { %t = expand \"enc.0.offset\" {shape=[4000000000,4000000000,11]}"
         "\n return %t }\n", "too large"},
        {"a = {\n  %w = weight \"enc.0.offset\"\n  return %w\n}\n",
         "line 2 column 8: "},
        {"a = call \"enc.0.offset\" {callee=\"r\"}\n", "line 1"},
    };
    module *m = compiled("");
    answer want, have;

    (void)state;
    write_other(1);
    OK(refit_mapped(m, other_rules, NULL));
    want = answer_of(m);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hull_status st = refit_mapped(m, bad[i].text, NULL);

        if (st == HULL_OK || strstr(error_text(), bad[i].want) == NULL)
            stop("'%s': status %d: %s\n wanted: %s", bad[i].text, (int)st,
                 error_text(), bad[i].want);
    }
    /* What the rules leave out is missing or unexpected as ever. */
    assert_int_equal(refit_mapped(m, "fc1.bias = enc.0.offset\n", NULL),
                     HULL_EBIND);
    assert_non_null(strstr(error_text(), "missing: 'fc1.weight'"));
    assert_non_null(strstr(error_text(), "unexpected: 'enc.0.kernel'"));
    /* A result of another shape. */
    assert_int_equal(refit_mapped(m, "fc1.weight = enc.0.kernel\nfc1.bias = "
                     "enc.0.offset\nfc2.weight = concat \"out/top:0\", "
                     "\"out/rest:0\" {axis=0}\n_ = pooler.**\n", NULL),
                     HULL_EBIND);
    assert_non_null(strstr(error_text(), "'enc.0.kernel' is f32[5,11]"));
    have = answer_of(m);
    assert_memory_equal(&want, &have, sizeof want);
    module_unref(m);
}

/* Ties of the model hold also between tensors that rules make. */
static void ties_are_checked(void **state)
{
    static const char more[] =
        "fc1.weight = transpose \"enc.0.kernel\" {perm=[1,0]}\n"
        "fc1.bias = enc.0.offset\n_ = pooler.**\n"
        "fc2.weight = concat \"out/top:0\", \"out/rest:0\" {axis=0}\n";
    char text[600];
    module *m = compiled("");

    (void)state;
    write_other(1);
    snprintf(text, sizeof text, "%shead.weight = concat \"out/top:0\", "
             "\"out/rest:0\" {axis=0}\n", more);
    OK(refit_mapped(m, text, NULL));
    snprintf(text, sizeof text, "%shead.weight = { %%a = concat \"out/top:0\", "
             "\"out/rest:0\" {axis=0}\n%%b = neg %%a\nreturn %%b }\n", more);
    assert_int_equal(refit_mapped(m, text, NULL), HULL_EBIND);
    assert_non_null(strstr(error_text(), "tied in the model but different"));
    module_unref(m);
}

static void a_model_file_takes_no_map(void **state)
{
    hull_options *o;
    hull_module *m;

    (void)state;
    OK(hull_options_new(&o));
    OK(hull_options_set(o, "map", rules_file(other_rules)));
    assert_int_equal(hull_compile(&m, "demo/digits.onnx", NULL, NULL, o),
                     HULL_EINVAL);
    assert_non_null(strstr(hull_last_error(), "is for a checkpoint"));
    hull_options_free(o);
}

/* The worked examples of docs/mapping.md, by value. */
static void documented_recipes(void **state)
{
    static const char text[] =
        "v.*.query.* = slice \"blocks.*.attn.qkv.*\" {axes=[0], starts=[0], "
        "ends=[2]}\n"
        "v.*.key.*   = slice \"blocks.*.attn.qkv.*\" {axes=[0], starts=[2], "
        "ends=[4]}\n"
        "norm.weight = {\n"
        "  %one = const {value=1.0} : f32[]\n"
        "  %w = add \"ln.gamma_minus_one\", %one\n"
        "  return %w\n"
        "}\n"
        "fc.weight = {\n"
        "  %v = mul \"fc.weight_v\", \"fc.weight_v\"\n"
        "  %n = reduce_sum %v {axes=[1], keep=true}\n"
        "  %s = rsqrt %n\n"
        "  %u = mul \"fc.weight_v\", %s\n"
        "  %w = mul %u, \"fc.weight_g\"\n"
        "  return %w\n"
        "}\n"
        "each.* = concat \"x.*.w\", \"ln.gamma_minus_one\" {axis=0}\n"
        "fused = concat \"b16\", \"b16\" {axis=0}\n";
    static const int64_t s6[] = {6, 2}, s2[] = {2}, s22[] = {2, 2},
                         s21[] = {2, 1};
    static const float qkv[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const float gamma[2] = {0, 1}, v[4] = {3, 4, 0, 2}, g[2] = {10, 6};
    static const uint16_t b16[2] = {0x3f80, 0x4000};
    const safetensors_item items[] = {
        {str_of("blocks.7.attn.qkv.weight"), HULL_F32, 2, s6, qkv, 48},
        {str_of("ln.gamma_minus_one"), HULL_F32, 1, s2, gamma, 8},
        {str_of("fc.weight_v"), HULL_F32, 2, s22, v, 16},
        {str_of("fc.weight_g"), HULL_F32, 2, s21, g, 8},
        {str_of("x.a.w"), HULL_F32, 1, s2, gamma, 8},
        {str_of("x.b.w"), HULL_F32, 1, s2, gamma, 8},
        {str_of("b16"), HULL_BF16, 1, s2, b16, 4},
    };
    static const struct {
        const char *name;
        uint32_t n;
        float want[4];
    } table[] = {
        {"v.7.query.weight", 4, {0, 1, 2, 3}},
        {"v.7.key.weight", 4, {4, 5, 6, 7}},
        {"norm.weight", 2, {1, 2}},
        {"fc.weight", 4, {6, 8, 0, 6}},
        {"each.a", 4, {0, 1, 0, 1}},
        {"each.b", 4, {0, 1, 0, 1}},
    };
    spelling s = {0};
    float have[4];
    mapped *mp;
    weights *w;

    (void)state;
    OK(safetensors_write(at("doc.safetensors"), items, COUNT_OF(items)));
    OK(weights_open(&w, at("doc.safetensors"), NULL));
    OK(mapped_new(&mp, rules_file(text), w));
    s.w = w;
    s.map = mp;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const weight_entry *e = spelling_find(&s, str_of(table[i].name));

        if (e == NULL)
            stop("%s is absent", table[i].name);
        assert_int_equal(e->len, table[i].n * sizeof(float));
        OK(spelling_read(have, &s, e));
        for (uint32_t k = 0; k < table[i].n; k++)
            if (!(have[k] - table[i].want[k] < 1e-5f &&
                  table[i].want[k] - have[k] < 1e-5f))
                stop("%s: element %u is %g", table[i].name, k,
                     (double)have[k]);
    }
    assert_int_equal(mapped_find(mp, str_of("fused"))->dtype, HULL_BF16);
    assert_int_equal(mapped_find(mp, str_of("fused"))->len, 8);
    mapped_free(mp);
    weights_unref(w);
}

static void no_memory(void **state)
{
    int64_t live;
    hull_status st = HULL_ENOMEM;
    mapped *mp;
    weights *w;

    (void)state;
    write_other(1);
    rules_file(other_rules);
    OK(weights_open(&w, at("other.safetensors"), NULL));
    live = mem_live();
    for (uint64_t n = 1; n < 4000 && st != HULL_OK; n++) {
        mem_fail_at(n, true);
        st = mapped_new(&mp, at("rules"), w);
        mem_fail_at(0, false);
        if (st != HULL_OK) {
            assert_null(mp);
            assert_int_equal(mem_live(), live);
        }
    }
    OK(st);
    mapped_free(mp);
    assert_int_equal(mem_live(), live);
    weights_unref(w);
}

/* ---- Hugging Face's spelling of the ViT fixture -------------------------- */

/* timm's name and Hugging Face's; '#' is the number of the block. */
static const char *const vit[][2] = {
    {"cls_token", "vit.embeddings.cls_token"},
    {"pos_embed", "vit.embeddings.position_embeddings"},
    {"patch_embed.proj.", "vit.embeddings.patch_embeddings.projection."},
    {"norm.", "vit.layernorm."},
    {"head.", "classifier."},
    {"norm1.", "layernorm_before."},
    {"norm2.", "layernorm_after."},
    {"attn.proj.", "attention.output.dense."},
    {"mlp.fc1.", "intermediate.dense."},
    {"mlp.fc2.", "output.dense."},
};

static const char vit_rules[] =
    "cls_token                = vit.embeddings.cls_token\n"
    "pos_embed                = vit.embeddings.position_embeddings\n"
    "patch_embed.proj.*       = vit.embeddings.patch_embeddings.projection.*\n"
    "blocks.*.norm1.*         = vit.encoder.layer.*.layernorm_before.*\n"
    "blocks.*.norm2.*         = vit.encoder.layer.*.layernorm_after.*\n"
    "blocks.*.attn.qkv.*      = concat "
    "\"vit.encoder.layer.*.attention.attention.query.*\", "
    "\"vit.encoder.layer.*.attention.attention.key.*\", "
    "\"vit.encoder.layer.*.attention.attention.value.*\" {axis=0}\n"
    "blocks.*.attn.proj.*     = vit.encoder.layer.*.attention.output.dense.*\n"
    "blocks.*.mlp.fc1.*       = vit.encoder.layer.*.intermediate.dense.*\n"
    "blocks.*.mlp.fc2.*       = vit.encoder.layer.*.output.dense.*\n"
    "norm.*                   = vit.layernorm.*\n"
    "head.*                   = classifier.*\n"
    "_                        = vit.pooler.**\n";

static const char *fixture_path(const char *name)
{
    static char text[512];
    const char *root = getenv("HULL_SHARED");

    snprintf(text, sizeof text, "%s/fixtures/vit/%s",
             root != NULL ? root : "../shared", name);
    return access(text, R_OK) == 0 ? text : NULL;
}

static void put_item(safetensors_item *items, size_t *n, const char *name,
                     const weight_entry *e, const uint8_t *p, int part)
{
    static int64_t dims[512][HULL_MAX_RANK];
    safetensors_item *t = &items[*n];

    assert_true(*n < 512);
    memcpy(dims[*n], e->shape, sizeof dims[0]);
    *t = (safetensors_item){.name = str_of(strdup(name)), .dtype = e->dtype,
                            .rank = e->rank, .shape = dims[*n], .data = p,
                            .len = e->len};
    if (part >= 0) {
        dims[*n][0] /= 3;
        t->len /= 3;
        t->data = p + (uint64_t)part * t->len;
    }
    (*n)++;
}

static void hf_name(char out[128], str name)
{
    int block = -1, n = 0;
    char rest[96];

    snprintf(rest, sizeof rest, "%.*s", STR_ARG(name));
    if (sscanf(rest, "blocks.%d.%n", &block, &n) == 1)
        memmove(rest, rest + n, strlen(rest + n) + 1);
    for (size_t i = 0; i < COUNT_OF(vit); i++)
        if (strncmp(rest, vit[i][0], strlen(vit[i][0])) == 0) {
            snprintf(out, 128, block < 0 ? "%.0d%s%s"
                                         : "vit.encoder.layer.%d.%s%s",
                     block < 0 ? 0 : block, vit[i][1],
                     rest + strlen(vit[i][0]));
            return;
        }
    stop("%s has no other name", rest);
}

/* The fixture's checkpoint in the other spelling: q, k and v apart, a pooler
 * that timm lacks. */
static void write_hf(const char *from, const char *to)
{
    static const char *const qkv[] = {"query", "key", "value"};
    safetensors_item items[512];
    size_t n = 0;
    weights *w;
    char name[128];

    OK(weights_open(&w, fixture_path(from), NULL));
    for (size_t i = 0; i < weights_count(w); i++) {
        const weight_entry *e = weights_at(w, i);
        int block, end = 0;

        if (sscanf(e->name.p, "blocks.%d.attn.qkv.%n", &block, &end) == 1 &&
            end > 0) {
            for (int k = 0; k < 3; k++) {
                snprintf(name, sizeof name, "vit.encoder.layer.%d.attention."
                         "attention.%s.%s", block, qkv[k], e->name.p + end);
                put_item(items, &n, name, e, weights_view(w, e), k);
            }
            continue;
        }
        hf_name(name, e->name);
        put_item(items, &n, name, e, weights_view(w, e), -1);
        if (strcmp(name, "classifier.bias") == 0)
            put_item(items, &n, "vit.pooler.dense.bias", e, weights_view(w, e),
                     -1);
    }
    OK(safetensors_write(at(to), items, n));
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)items[i].name.p);
    weights_unref(w);
}

static void slots_of(module *m, buf *out)
{
    container *c;
    bytes slots;
    file f;

    OK(module_save(m, at("s.hull"), HULL_SAVE_PREPARED));
    OK(file_map(&f, at("s.hull")));
    OK(container_open(&c, (bytes){f.p, f.size}, UINT64_MAX));
    OK(container_get(c, "slots", UINT64_MAX, &slots));
    buf_init(out, SIZE_MAX / 2);
    buf_put(out, slots.p, slots.n);
    OK(buf_status(out));
    container_free(c);
    file_close(&f);
}

/* Every form, filled from both spellings: the same slots, bit for bit. */
static void vit_in_the_other_spelling(void **state)
{
    static const char *const forms[] = {"train.pt2", "core.pt2",
                                        "train.dyn.pt2", "dynamo.onnx",
                                        "legacy.onnx"};
    options *o = options_of(""), *with;
    char set[300];
    unsigned done = 0;

    (void)state;
    if (fixture_path("a.safetensors") == NULL)
        skip();
    write_hf("a.safetensors", "hf_a.safetensors");
    write_hf("b.safetensors", "hf_b.safetensors");
    snprintf(set, sizeof set, "map=%s", rules_file(vit_rules));
    with = options_of(set);
    OK(hull_options_set(o, "learn", "on"));
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        weights *a, *b, *hf;
        module *m;
        buf want, have;

        if (fixture_path(forms[i]) == NULL)
            continue;
        OK(weights_open(&a, fixture_path("a.safetensors"), NULL));
        OK(weights_open(&b, fixture_path("b.safetensors"), NULL));
        OK(weights_open(&hf, at("hf_b.safetensors"), NULL));
        OK(module_compile(&m, fixture_path(forms[i]), a, NULL, o));
        OK(module_refit(m, b, NULL, NULL));
        slots_of(m, &want);
        OK(module_refit(m, a, NULL, NULL));
        if (module_refit(m, hf, with, NULL) != HULL_OK)
            stop("%s: %s", forms[i], error_text());
        slots_of(m, &have);
        assert_true(want.n > 0 && str_eq(buf_view(&want), buf_view(&have)));
        buf_fini(&want);
        buf_fini(&have);
        module_unref(m);
        weights_unref(a);
        weights_unref(b);
        weights_unref(hf);
        done++;
    }
    assert_true(done >= 4);
    options_free(with);
    options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(malformed),
        cmocka_unit_test(tries_have_a_limit),
        cmocka_unit_test(damaged),
        cmocka_unit_test(patterns),
        cmocka_unit_test(a_mapping_names_the_tensors),
        cmocka_unit_test(rules_that_do_not_fit),
        cmocka_unit_test(ties_are_checked),
        cmocka_unit_test(a_model_file_takes_no_map),
        cmocka_unit_test(documented_recipes),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(vit_in_the_other_spelling),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
