/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_pt2_data.c - weights of torch.export archives: the exported fixtures
 * against their checkpoints, ties, and small archives built here for views,
 * fake tensors, older layouts and everything a config can get wrong.
 */
#include "weights_unit.h"

static const float eight[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

#define META(dtype, sizes, strides, off)                                    \
    "{\"dtype\":" dtype ",\"sizes\":" sizes ",\"requires_grad\":false,"     \
    "\"device\":{\"type\":\"cpu\",\"index\":null},\"strides\":" strides "," \
    "\"storage_offset\":" off ",\"layout\":7}"
#define PAYLOAD(path, meta)                                               \
    "{\"path_name\":\"" path "\",\"is_param\":true,\"use_pickle\":false," \
    "\"tensor_meta\":" meta "}"
#define N(v) "{\"as_int\":" v "}"
#define MATRIX \
    META("7", "[" N("2") "," N("4") "]", "[" N("4") "," N("1") "]", N("0"))
#define TURNED \
    META("7", "[" N("3") "," N("2") "]", "[" N("1") "," N("4") "]", N("1"))
#define PART META("7", "[" N("4") "]", "[" N("1") "]", N("0"))
#define NONE META("7", "[" N("0") "]", "[" N("1") "]", N("0"))
#define ENTRY(fqn, meta) "\"" fqn "\":" PAYLOAD("weight_0", meta)
#define CONFIG(entries) "{\"config\":{" entries "}}"
#define MODEL "{\"schema_version\": {\"major\": 8, \"minor\": 20}}"
#define OLD "{\"schema_version\": {\"major\": 8, \"minor\": 14}}"

typedef struct parts {
    const char *config, *constants, *model, *byteorder, *version;
    size_t record; /* bytes of weight_0 */
} parts;

static void member(zip_writer *w, const char *name, const char *text)
{
    char full[128];

    if (!text)
        return;
    snprintf(full, sizeof full, "a.b/%s", name);
    zip_writer_add(w, str_of(full), text, strlen(text), 64);
}

static const char *archive(const parts *p)
{
    zip_writer w;

    zip_writer_init(&w, 1 << 20);
    zip_writer_add(&w, str_of("a.b/data/weights/weight_0"), eight, p->record,
                   64);
    zip_writer_add(&w, str_of("a.b/data/constants/tensor_0"), eight, 4, 64);
    member(&w, "data/weights/model_weights_config.json", p->config);
    member(&w, "data/constants/model_constants_config.json", p->constants);
    member(&w, "models/model.json", p->model ? p->model : MODEL);
    member(&w, "archive_format", "pt2");
    member(&w, "archive_version", p->version ? p->version : "0");
    member(&w, "byteorder", p->byteorder ? p->byteorder : "little");
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    put("x.pt2", w.out.p, w.out.n);
    zip_writer_fini(&w);
    return at("x.pt2");
}

static const char *with_config(const char *config)
{
    parts p = { .config = config, .record = sizeof eight };

    return archive(&p);
}

static void views_and_ties(void **state)
{
    /* clang-format off */
    parts p = {
        .config = CONFIG(ENTRY("a", MATRIX) "," ENTRY("tied", MATRIX) ","
                         ENTRY("turned", TURNED)),
        .constants =
            CONFIG("\"k\":" PAYLOAD("tensor_0", META("7", "[]", "[]", N("0")))),
        .record = sizeof eight,
    };
    /* clang-format on */
    static const float turned[] = { 2, 6, 3, 7, 4, 8 };
    weights *w = open_ok(archive(&p));
    float out[6];

    (void)state;
    assert_int_equal(weights_count(w), 4);
    assert_int_equal(weights_kind(w), WEIGHTS_PT2);
    assert_int_equal(find(w, "a")->storage, find(w, "tied")->storage);
    assert_int_equal(find(w, "a")->storage, find(w, "turned")->storage);
    assert_memory_equal(weights_view(w, find(w, "a")), eight, sizeof eight);
    assert_false(find(w, "turned")->dense);
    assert_int_equal(weights_read(w, find(w, "turned"), out), HULL_OK);
    assert_memory_equal(out, turned, sizeof turned);
    assert_false(find(w, "a")->constant);
    assert_true(find(w, "k")->constant);
    assert_int_equal(find(w, "k")->rank, 0);
    weights_unref(w);
}

/* Exported with fake tensors: all FQNs name one empty record; no tie. */
static void fake_tensors(void **state)
{
    /* clang-format off */
    parts p = {
        .config = CONFIG(ENTRY("a", MATRIX) "," ENTRY("b", MATRIX) ","
                         ENTRY("none", NONE)),
    };
    /* clang-format on */
    weights *w = open_ok(archive(&p));
    const weight_entry *a = find(w, "a"), *b = find(w, "b");

    (void)state;
    assert_int_not_equal(a->storage, b->storage);
    assert_true(weights_storage(w, a)->absent);
    assert_true(weights_storage(w, b)->absent);
    assert_false(weights_storage(w, find(w, "none"))->absent);
    assert_null(weights_view(w, a));
    assert_int_equal(a->len, 32);
    weights_unref(w);
}

/* Torch 2.9 lost the offset of views: such a view has no bytes. */
static void lost_offsets(void **state)
{
    /* clang-format off */
    parts p = {
        .config = CONFIG(ENTRY("a", MATRIX) "," ENTRY("tied", MATRIX) ","
                         ENTRY("part", PART)),
        .model = OLD,
        .record = sizeof eight,
    };
    /* clang-format on */
    weights *w;

    (void)state;
    assert_int_equal(log_configure("all:error"), HULL_OK);
    w = open_ok(archive(&p));
    assert_int_equal(log_configure(""), HULL_OK);
    assert_true(weights_storage(w, find(w, "part"))->absent);
    assert_int_equal(find(w, "a")->storage, find(w, "tied")->storage);
    weights_unref(w);
    p.model = MODEL;
    w = open_ok(archive(&p));
    assert_int_equal(find(w, "a")->storage, find(w, "part")->storage);
    weights_unref(w);
}

static void bad_configs(void **state)
{
    /* clang-format off */
    static const struct {
        const char *config;
        hull_status st;
        const char *want;
    } bad[] = {
        {"[]", HULL_EFORMAT, "array"},
        {"{}", HULL_EFORMAT, "config"},
        {"{\"config\":", HULL_EFORMAT, "config"},
        {CONFIG("\"a\":1"), HULL_EFORMAT, "integer"},
        {CONFIG("\"a\":" PAYLOAD("weight_1", MATRIX)), HULL_EFORMAT, "missing"},
        {CONFIG("\"a\":" PAYLOAD("../weight_0", MATRIX)), HULL_EFORMAT,
            "path_name"},
        {CONFIG("\"a\":" PAYLOAD("x/y", MATRIX)), HULL_EFORMAT, "path_name"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", "null")), HULL_EUNSUPPORTED,
            "pickled object"},
        {CONFIG("\"a\":{\"path_name\":\"weight_0\",\"use_pickle\":true,"
            "\"tensor_meta\":" MATRIX "}"), HULL_EUNSUPPORTED, "pickled"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("0", "[]", "[]", N("0")))),
            HULL_EUNSUPPORTED, "dtype number 0"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("99", "[]", "[]", N("0")))),
            HULL_EUNSUPPORTED, "dtype number 99"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("7", "[]", "[" N("1") "]", N(
            "0")))), HULL_EFORMAT, "0 sizes and 1 strides"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("7", "[" N("-1") "]", "[" N(
            "1") "]", N("0")))), HULL_EFORMAT, "sizes of 'a' is -1"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("7", "[" N("2") "]", "[" N(
            "-1") "]", N("0")))), HULL_EFORMAT, "strides of 'a' is -1"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("7", "[{}]", "[" N("1") "]",
            N("0")))), HULL_EUNSUPPORTED, "not a plain number"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("7", "[" N("8") "]", "[" N(
            "1") "]", N("1")))), HULL_EFORMAT, "takes 32 bytes"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("7", "[" N("2") "]", "[" N(
            "1") "]", N("9223372036854775807")))), HULL_EFORMAT, "overflow"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", META("7", "[" N("3") "]", "[" N(
            "9223372036854775807") "]", N("0")))), HULL_EFORMAT, "overflow"},
        {CONFIG("\"a\":" PAYLOAD("weight_0", MATRIX) ",\"a\":" PAYLOAD(
            "weight_0", MATRIX)), HULL_EFORMAT, "duplicate"},
        {NULL, HULL_EFORMAT, "no weights config"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        open_bad(with_config(bad[i].config), bad[i].st, bad[i].want);
}

static void bad_archives(void **state)
{
    parts p = { .config = CONFIG(""), .record = 30, .byteorder = "big" };
    zip_writer w;

    (void)state;
    open_bad(archive(&p), HULL_EVERSION, "byteorder");
    p.byteorder = NULL;
    p.version = "1";
    open_bad(archive(&p), HULL_EVERSION, "archive_version");
    p.version = NULL;
    p.config = CONFIG("\"a\":" PAYLOAD("weight_0", MATRIX));
    open_bad(archive(&p), HULL_EFORMAT, "30 bytes");
    p.config = CONFIG("");
    weights_unref(open_ok(archive(&p)));

    zip_writer_init(&w, 1 << 20);
    member(&w, "models/one.json", "{}");
    member(&w, "models/two.json", "{}");
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    open_bad(put("x", w.out.p, w.out.n), HULL_EUNSUPPORTED, "several models");
    zip_writer_fini(&w);

    zip_writer_init(&w, 1 << 20);
    member(&w, "archive_format", "pt2");
    member(&w, "data/aotinductor/model/x.so", "");
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    open_bad(put("x", w.out.p, w.out.n), HULL_EUNSUPPORTED, "AOTInductor");
    zip_writer_fini(&w);

    zip_writer_init(&w, 1 << 20);
    member(&w, "models/one.json", "{}");
    zip_writer_add(&w, str_of("elsewhere"), "", 0, 1);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    open_bad(put("x", w.out.p, w.out.n), HULL_EFORMAT, "outside of");
    zip_writer_fini(&w);
}

/* Torch 2.8 keeps torch.save zips inside, 2.7 and before without a root. */
static void older_layouts(void **state)
{
    static const char *const layouts[2][3] = {
        { "m/models/model.json", "m/data/weights/model.pt",
          "m/data/constants/model.pt" },
        { "serialized_exported_program.json", "serialized_state_dict.pt",
          "serialized_constants.pt" },
    };
    char *inner;
    size_t n;

    (void)state;
    assert_int_equal(
        file_read_all(&inner, &n, shared("fixtures/mlp/a.pt"), (size_t)1 << 20),
        HULL_OK);
    for (size_t i = 0; i < 2; i++) {
        weights *w, *a;
        zip_writer z;

        for (int constants = 0; constants < 2; constants++) {
            zip_writer_init(&z, (size_t)1 << 24);
            zip_writer_add(&z, str_of(layouts[i][0]), MODEL, sizeof MODEL - 1,
                           1);
            zip_writer_add(&z, str_of(layouts[i][1]), inner, n, 1);
            if (constants)
                zip_writer_add(&z, str_of(layouts[i][2]), inner, n, 1);
            assert_int_equal(zip_writer_end(&z), HULL_OK);
            put("x.pt2", z.out.p, z.out.n);
            zip_writer_fini(&z);
            if (constants)
                open_bad(at("x.pt2"), HULL_EFORMAT, "two tensors");
            else
                weights_unref(open_ok(at("x.pt2")));
        }
        zip_writer_init(&z, (size_t)1 << 24);
        zip_writer_add(&z, str_of(layouts[i][0]), MODEL, sizeof MODEL - 1, 1);
        zip_writer_add(&z, str_of(layouts[i][1]), inner, n, 1);
        zip_writer_add(&z, str_of(layouts[i][2]), "", 0, 1);
        assert_int_equal(zip_writer_end(&z), HULL_OK);
        w = open_ok(put("x.pt2", z.out.p, z.out.n));
        zip_writer_fini(&z);
        a = open_ok(shared("fixtures/mlp/a.safetensors"));
        assert_int_equal(weights_kind(w), WEIGHTS_PT2);
        assert_int_equal(weights_count(w), weights_count(a));
        assert_holds(w, a);
        weights_unref(a);
        weights_unref(w);
    }
    mem_free(inner);
}

static void fixtures(void **state)
{
    static const struct {
        const char *name;
        bool dynamic;
        size_t extra, constants; /* tied FQNs, constants */
    } nets[] = {
        { "bert", true, 0, 2 },     { "cnn", true, 0, 0 },
        { "convnext", true, 0, 0 }, { "efficientnet", true, 0, 0 },
        { "gpt2", true, 1, 0 },     { "llama", true, 0, 2 },
        { "lstm", false, 0, 0 },    { "mlp", true, 0, 0 },
        { "resnet", true, 0, 0 },   { "unet", false, 0, 0 },
        { "vit", true, 0, 0 },
    };
    static const char *const forms[] = { "train", "core", "train.dyn" };
    char rel[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(nets); i++) {
        weights *a;

        snprintf(rel, sizeof rel, "fixtures/%s/a.safetensors", nets[i].name);
        a = open_ok(shared(rel));
        for (size_t k = 0; k < (nets[i].dynamic ? 3 : 2); k++) {
            weights *w;
            size_t constants = 0;

            snprintf(rel, sizeof rel, "fixtures/%s/%s.pt2", nets[i].name,
                     forms[k]);
            w = open_ok(shared(rel));
            assert_holds(w, a);
            for (size_t j = 0; j < weights_count(w); j++)
                constants += weights_at(w, j)->constant;
            assert_int_equal(constants, nets[i].constants);
            assert_int_equal(weights_count(w),
                             weights_count(a) + constants + nets[i].extra);
            weights_unref(w);
        }
        weights_unref(a);
    }
}

static void tied_head(void **state)
{
    weights *w = open_ok(shared("fixtures/gpt2/train.pt2"));
    uint32_t tied = 0;

    (void)state;
    for (size_t i = 0; i < weights_count(w); i++)
        for (size_t k = i + 1; k < weights_count(w); k++)
            if (weights_at(w, i)->storage == weights_at(w, k)->storage) {
                bool equal;
                uint64_t before = file_bytes_read();

                tied++;
                assert_int_equal(weights_equal(&equal, w, weights_at(w, i), w,
                                               weights_at(w, k)),
                                 HULL_OK);
                assert_true(equal);
                assert_int_equal(file_bytes_read(), before);
            }
    assert_int_equal(tied, 1);
    weights_unref(w);
}

static void damaged(void **state)
{
    (void)state;
    survive_damage(shared("fixtures/mlp/core.pt2"), 600);
    survive_damage(archive(&(parts){
                       .config = CONFIG("\"a\":" PAYLOAD("weight_0", MATRIX)),
                       .record = sizeof eight }),
                   1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_and_ties), cmocka_unit_test(fake_tensors),
        cmocka_unit_test(lost_offsets),   cmocka_unit_test(bad_configs),
        cmocka_unit_test(bad_archives),   cmocka_unit_test(older_layouts),
        cmocka_unit_test(fixtures),       cmocka_unit_test(tied_head),
        cmocka_unit_test(damaged),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
