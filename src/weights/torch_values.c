/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * torch_values.c - the meaning of names in a checkpoint's pickle: a closed
 * table of globals, each of which is a dtype, a storage class, a constructor
 * that this file evaluates on data alone, or a class whose objects are opaque.
 * A name outside of the table is refused where it is read. Objects that only
 * carry metadata become opaque values; one that would hide a tensor is refused,
 * so no tensor is lost without a word.
 */
#include <string.h>

#include "weights/torch_values.h"

typedef enum role {
    ROLE_DICT,       /* OrderedDict, defaultdict, Counter, dict */
    ROLE_REBUILD,    /* _rebuild_tensor(_v2): storage offset size stride ... */
    ROLE_REBUILD_V3, /* the same with a dtype */
    ROLE_WRAP,       /* Parameter and _rebuild_parameter*: first argument */
    ROLE_FROM_TYPE,  /* _rebuild_from_type_v2: func type args state */
    ROLE_TENSOR,     /* the class torch.Tensor, as an argument */
    ROLE_SIZE,       /* torch.Size */
    ROLE_LAYOUT,
    ROLE_ENCODE, /* _codecs.encode */
    ROLE_OPAQUE, /* objects nobody looks into */
    ROLE_DTYPE,
    ROLE_STORAGE,
    ROLE_REFUSED /* known, and not read */
} role;

/* dtype: of ROLE_DTYPE and ROLE_STORAGE; HULL_NONE as storage: untyped. */
static const struct global {
    const char *module, *name;
    role role;
    hull_dtype dtype;
} globals[] = {
    { "collections", "OrderedDict", ROLE_DICT, HULL_NONE },
    { "collections", "defaultdict", ROLE_DICT, HULL_NONE },
    { "collections", "Counter", ROLE_DICT, HULL_NONE },
    { "torch._utils", "_rebuild_tensor", ROLE_REBUILD, HULL_NONE },
    { "torch._utils", "_rebuild_tensor_v2", ROLE_REBUILD, HULL_NONE },
    { "torch._utils", "_rebuild_tensor_v3", ROLE_REBUILD_V3, HULL_NONE },
    { "torch._utils", "_rebuild_parameter", ROLE_WRAP, HULL_NONE },
    { "torch._utils", "_rebuild_parameter_with_state", ROLE_WRAP, HULL_NONE },
    { "torch.nn.parameter", "Parameter", ROLE_WRAP, HULL_NONE },
    { "torch._tensor", "_rebuild_from_type_v2", ROLE_FROM_TYPE, HULL_NONE },
    { "torch", "Tensor", ROLE_TENSOR, HULL_NONE },
    { "torch", "Size", ROLE_SIZE, HULL_NONE },
    { "torch", "device", ROLE_OPAQUE, HULL_NONE },
    { "torch.serialization", "_get_layout", ROLE_LAYOUT, HULL_NONE },
    { "_codecs", "encode", ROLE_ENCODE, HULL_NONE },
    { "argparse", "Namespace", ROLE_OPAQUE, HULL_NONE },
    { "numpy.core.multiarray", "scalar", ROLE_OPAQUE, HULL_NONE },
    { "numpy._core.multiarray", "scalar", ROLE_OPAQUE, HULL_NONE },
    { "numpy.core.multiarray", "_reconstruct", ROLE_OPAQUE, HULL_NONE },
    { "numpy._core.multiarray", "_reconstruct", ROLE_OPAQUE, HULL_NONE },
    { "numpy", "ndarray", ROLE_OPAQUE, HULL_NONE },
    { "numpy", "dtype", ROLE_OPAQUE, HULL_NONE },
    { "torch._utils", "_rebuild_qtensor", ROLE_REFUSED, HULL_NONE },
    { "torch._utils", "_rebuild_sparse_tensor", ROLE_REFUSED, HULL_NONE },
    { "torch._utils", "_rebuild_sparse_csr_tensor", ROLE_REFUSED, HULL_NONE },
    { "torch._utils", "_rebuild_nested_tensor", ROLE_REFUSED, HULL_NONE },
    { "torch._utils", "_rebuild_meta_tensor_no_storage", ROLE_REFUSED,
      HULL_NONE },
    { "torch._utils", "_rebuild_wrapper_subclass", ROLE_REFUSED, HULL_NONE },
    { "torch._utils", "_rebuild_device_tensor_from_numpy", ROLE_REFUSED,
      HULL_NONE },
    { "torch._utils", "_rebuild_device_tensor_from_cpu_tensor", ROLE_REFUSED,
      HULL_NONE },
    { "torch", "float64", ROLE_DTYPE, HULL_F64 },
    { "torch", "float32", ROLE_DTYPE, HULL_F32 },
    { "torch", "float16", ROLE_DTYPE, HULL_F16 },
    { "torch", "bfloat16", ROLE_DTYPE, HULL_BF16 },
    { "torch", "float8_e4m3fn", ROLE_DTYPE, HULL_F8E4M3FN },
    { "torch", "float8_e4m3fnuz", ROLE_DTYPE, HULL_F8E4M3FNUZ },
    { "torch", "float8_e5m2", ROLE_DTYPE, HULL_F8E5M2 },
    { "torch", "float8_e5m2fnuz", ROLE_DTYPE, HULL_F8E5M2FNUZ },
    { "torch", "float8_e8m0fnu", ROLE_DTYPE, HULL_F8E8M0 },
    { "torch", "float4_e2m1fn_x2", ROLE_DTYPE, HULL_F4E2M1 },
    { "torch", "int64", ROLE_DTYPE, HULL_I64 },
    { "torch", "int32", ROLE_DTYPE, HULL_I32 },
    { "torch", "int16", ROLE_DTYPE, HULL_I16 },
    { "torch", "int8", ROLE_DTYPE, HULL_I8 },
    { "torch", "uint64", ROLE_DTYPE, HULL_U64 },
    { "torch", "uint32", ROLE_DTYPE, HULL_U32 },
    { "torch", "uint16", ROLE_DTYPE, HULL_U16 },
    { "torch", "uint8", ROLE_DTYPE, HULL_U8 },
    { "torch", "bool", ROLE_DTYPE, HULL_BOOL },
    { "torch", "complex64", ROLE_DTYPE, HULL_C64 },
    { "torch", "complex128", ROLE_DTYPE, HULL_C128 },
    { "torch", "DoubleStorage", ROLE_STORAGE, HULL_F64 },
    { "torch", "FloatStorage", ROLE_STORAGE, HULL_F32 },
    { "torch", "HalfStorage", ROLE_STORAGE, HULL_F16 },
    { "torch", "BFloat16Storage", ROLE_STORAGE, HULL_BF16 },
    { "torch", "LongStorage", ROLE_STORAGE, HULL_I64 },
    { "torch", "IntStorage", ROLE_STORAGE, HULL_I32 },
    { "torch", "ShortStorage", ROLE_STORAGE, HULL_I16 },
    { "torch", "CharStorage", ROLE_STORAGE, HULL_I8 },
    { "torch", "ByteStorage", ROLE_STORAGE, HULL_U8 },
    { "torch", "BoolStorage", ROLE_STORAGE, HULL_BOOL },
    { "torch", "ComplexFloatStorage", ROLE_STORAGE, HULL_C64 },
    { "torch", "ComplexDoubleStorage", ROLE_STORAGE, HULL_C128 },
    { "torch", "QInt8Storage", ROLE_STORAGE, HULL_I8 },
    { "torch", "QUInt8Storage", ROLE_STORAGE, HULL_U8 },
    { "torch", "QInt32Storage", ROLE_STORAGE, HULL_I32 },
    { "torch.storage", "UntypedStorage", ROLE_STORAGE, HULL_NONE },
    { "torch.storage", "_UntypedStorage", ROLE_STORAGE, HULL_NONE },
    { "torch", "UntypedStorage", ROLE_STORAGE, HULL_NONE },
};

/* Plain Python types; their module is builtins or, from Python 2,
 * __builtin__. They continue the numbering of `globals`. */
static const struct {
    const char *name;
    role role;
} builtins[] = {
    { "dict", ROLE_DICT },        { "set", ROLE_OPAQUE },
    { "frozenset", ROLE_OPAQUE }, { "bytearray", ROLE_OPAQUE },
    { "complex", ROLE_OPAQUE },   { "list", ROLE_OPAQUE },
    { "tuple", ROLE_OPAQUE },     { "int", ROLE_OPAQUE },
    { "long", ROLE_OPAQUE },      { "float", ROLE_OPAQUE },
    { "str", ROLE_OPAQUE },       { "unicode", ROLE_OPAQUE },
    { "bool", ROLE_OPAQUE },      { "bytes", ROLE_OPAQUE },
    { "slice", ROLE_OPAQUE },     { "range", ROLE_OPAQUE },
};

void torch_values_fini(torch_values *v)
{
    mem_free(v->storages);
    strmap_fini(&v->by_key);
    memset(v, 0, sizeof *v);
}

static const char *refused_kind(const char *name)
{
    static const struct {
        const char *part, *kind;
    } kinds[] = {
        { "sparse", "sparse" },  { "qtensor", "quantized" },
        { "nested", "nested" },  { "meta", "meta" },
        { "wrapper", "wrapped" },
    };

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (str_contains(str_of(name), kinds[i].part))
            return kinds[i].kind;
    return "device";
}

static hull_status find_global(pickle *m, str module, str name, int64_t *out)
{
    *out = 0;
    (void)m;
    for (size_t i = 0; i < COUNT_OF(globals); i++) {
        if (!str_is(module, globals[i].module) ||
            !str_is(name, globals[i].name))
            continue;
        if (globals[i].role == ROLE_REFUSED)
            return fail(HULL_EUNSUPPORTED,
                        "%s tensors (%s.%s) are not read, dense ones are",
                        refused_kind(globals[i].name), globals[i].module,
                        globals[i].name);
        *out = (int64_t)i;
        return HULL_OK;
    }
    if (str_is(module, "builtins") || str_is(module, "__builtin__")) {
        for (size_t i = 0; i < COUNT_OF(builtins); i++) {
            if (!str_is(name, builtins[i].name))
                continue;
            *out = (int64_t)(COUNT_OF(globals) + i);
            return HULL_OK;
        }
    }
    return fail(HULL_EUNSUPPORTED,
                "unsafe or unsupported global %.*s.%.*s; a pickled module? "
                "save its state_dict()",
                STR_ARG(module), STR_ARG(name));
}

static role role_of(const pickle *m, pk_id global)
{
    size_t i = (size_t)pickle_at(m, global)->v.i;

    return i < COUNT_OF(globals) ? globals[i].role
                                 : builtins[i - COUNT_OF(globals)].role;
}

static const char *name_of(const pickle *m, pk_id global)
{
    size_t i = (size_t)pickle_at(m, global)->v.i;

    return i < COUNT_OF(globals) ? globals[i].name
                                 : builtins[i - COUNT_OF(globals)].name;
}

static bool is_role(const pickle *m, pk_id id, role r)
{
    return pickle_kind(m, id) == PK_GLOBAL && role_of(m, id) == r;
}

static pk_id arg(const pickle *m, pk_id tuple, uint32_t i)
{
    return pickle_at(m, tuple)->v.items[i];
}

/* ---- persistent ids: storages -------------------------------------------- */

static bool is_digits(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0 && s.n <= 32;
}

static hull_status read_storage(torch_storage *s, pickle *m, pk_id id)
{
    const torch_values *v = m->user;
    uint32_t want = v->legacy ? 6 : 5;
    const pk_node *numel;

    *s = (torch_storage){ 0 };
    if (!pickle_tuple(m, id, want, want))
        return fail(HULL_EFORMAT, "persistent id is not a tuple of %u items",
                    want);
    if (!str_is(pickle_str(m, arg(m, id, 0)), "storage"))
        return fail(HULL_EUNSUPPORTED,
                    "persistent id is for '%.*s', not for "
                    "a storage",
                    STR_ARG(pickle_str(m, arg(m, id, 0))));
    if (!is_role(m, arg(m, id, 1), ROLE_STORAGE))
        return fail(HULL_EFORMAT, "persistent id without a storage class");
    s->dtype = globals[pickle_at(m, arg(m, id, 1))->v.i].dtype;
    s->elem = s->dtype == HULL_NONE ? 1 : hull_dtype_bits(s->dtype) / 8;
    s->key = pickle_str(m, arg(m, id, 2));
    if (!is_digits(s->key))
        return fail(HULL_EFORMAT, "storage key '%.*s' is not a number",
                    STR_ARG(s->key));
    numel = pickle_at(m, arg(m, id, 4));
    if (numel->kind != PK_INT || numel->v.i < 0 ||
        !mul_u64(&s->len, (uint64_t)numel->v.i, s->elem))
        return fail(HULL_EFORMAT, "storage %.*s has an impossible size",
                    STR_ARG(s->key));
    if (v->legacy && pickle_kind(m, arg(m, id, 5)) != PK_NONE)
        return fail(HULL_EUNSUPPORTED,
                    "storage %.*s is a view of another storage",
                    STR_ARG(s->key));
    return HULL_OK;
}

static hull_status on_persistent(pickle *m, pk_id id, pk_id *out)
{
    torch_values *v = m->user;
    torch_storage s;
    uint32_t i;

    *out = 0;
    TRY(read_storage(&s, m, id));
    if (strmap_get(&v->by_key, s.key, &i)) {
        const torch_storage *o = &v->storages[i];

        if (o->dtype != s.dtype || o->len != s.len)
            return fail(HULL_EFORMAT,
                        "storage %.*s is of %llu bytes of %s and of %llu of "
                        "%s",
                        STR_ARG(s.key), (unsigned long long)o->len,
                        hull_dtype_name(o->dtype), (unsigned long long)s.len,
                        hull_dtype_name(s.dtype));
    } else {
        i = (uint32_t)v->n;
        TRY(mem_grow(&v->storages, &v->cap, v->n + 1, sizeof *v->storages));
        TRY(strmap_set(&v->by_key, s.key, i));
        v->storages[v->n++] = s;
    }
    TRY(pickle_new(m, PK_STORAGE, out));
    m->nodes[*out].v.i = i;
    return HULL_OK;
}

/* ---- REDUCE -------------------------------------------------------------- */

static hull_status read_dims(const pickle *m, pk_id tuple, const char *what,
                             int64_t *dims, uint32_t *out_n)
{
    const pk_node *t = pickle_at(m, tuple);

    *out_n = 0;
    if (t->kind != PK_TUPLE)
        return fail(HULL_EFORMAT, "%s of a tensor is %s, a tuple is wanted",
                    what, pickle_kind_name((pk_kind)t->kind));
    if (t->n > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED, "a tensor of rank %u, at most %d", t->n,
                    HULL_MAX_RANK);
    for (uint32_t i = 0; i < t->n; i++) {
        const pk_node *d = pickle_at(m, t->v.items[i]);

        if (d->kind != PK_INT || d->v.i < 0)
            return fail(HULL_EFORMAT,
                        "%s %u of a tensor is not a number from 0", what, i);
        dims[i] = d->v.i;
    }
    *out_n = t->n;
    return HULL_OK;
}

/* Does the view lie inside its storage? Empty tensors touch nothing. */
static hull_status check_view(const torch_tensor *t, const torch_storage *s,
                              uint64_t elem)
{
    uint64_t last = 0, step, end;

    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->shape[i] == 0)
            return HULL_OK;
        if (!mul_u64(&step, (uint64_t)(t->shape[i] - 1),
                     (uint64_t)t->strides[i]) ||
            !add_u64(&last, last, step))
            return fail(HULL_EFORMAT, "strides of a tensor overflow");
    }
    if (!add_u64(&end, last, 1) || !mul_u64(&end, end, elem) ||
        !add_u64(&end, end, t->off) || end > s->len)
        return fail(HULL_EFORMAT,
                    "a tensor reaches beyond storage %.*s of %llu bytes",
                    STR_ARG(s->key), (unsigned long long)s->len);
    return HULL_OK;
}

/* hooks: None or an empty OrderedDict; metadata: no lazy conjugate. */
static hull_status check_extras(const pickle *m, pk_id args, uint32_t hooks,
                                uint32_t metadata)
{
    uint32_t n = pickle_at(m, args)->n;
    const pk_node *d;

    if (n > hooks) {
        d = pickle_at(m, arg(m, args, hooks));
        if (d->kind != PK_NONE && !(d->kind == PK_DICT && d->n == 0))
            return fail(HULL_EUNSUPPORTED, "a tensor with hooks");
    }
    if (n <= metadata)
        return HULL_OK;
    d = pickle_at(m, arg(m, args, metadata));
    if (d->kind == PK_NONE)
        return HULL_OK;
    if (d->kind != PK_DICT)
        return fail(HULL_EFORMAT, "metadata of a tensor is %s",
                    pickle_kind_name((pk_kind)d->kind));
    for (uint32_t i = 1; i < d->n; i += 2) {
        const pk_node *value = pickle_at(m, d->v.items[i]);

        if (value->kind != PK_BOOL || value->v.i != 0)
            return fail(HULL_EUNSUPPORTED,
                        "a tensor that is lazily conjugated or negated");
    }
    return HULL_OK;
}

static hull_status tensor_dtype(torch_tensor *t, const pickle *m, pk_id args,
                                bool v3, const torch_storage *s)
{
    if (!v3 && s->dtype == HULL_NONE)
        return fail(HULL_EFORMAT, "an untyped storage without a dtype");
    t->dtype = s->dtype;
    if (!v3)
        return HULL_OK;
    if (!is_role(m, arg(m, args, 6), ROLE_DTYPE))
        return fail(HULL_EFORMAT, "_rebuild_tensor_v3 wants a dtype");
    t->dtype = globals[pickle_at(m, arg(m, args, 6))->v.i].dtype;
    return HULL_OK;
}

/* float4_e2m1fn_x2 counts bytes of two elements, the first one in the low bits.
 * As in safetensors, the last dim then counts elements. */
static hull_status unpack_pairs(torch_tensor *t)
{
    int64_t stride = 1;

    if (t->rank == 0)
        return fail(HULL_EUNSUPPORTED, "a scalar of packed %s",
                    hull_dtype_name(t->dtype));
    for (uint32_t i = t->rank; i-- > 0;) {
        if (t->shape[i] > 1 && t->strides[i] != stride)
            return fail(HULL_EUNSUPPORTED, "a view of packed %s",
                        hull_dtype_name(t->dtype));
        if (!mul_i64(&stride, stride, t->shape[i]))
            return fail(HULL_EFORMAT, "sizes of a tensor overflow");
    }
    if (!mul_i64(&t->shape[t->rank - 1], t->shape[t->rank - 1], 2))
        return fail(HULL_EFORMAT, "sizes of a tensor overflow");
    t->dense = true;
    return HULL_OK;
}

static hull_status rebuild(pickle *m, pk_id callable, pk_id args, pk_id *out)
{
    const torch_values *v = m->user;
    bool v3 = role_of(m, callable) == ROLE_REBUILD_V3;
    torch_tensor *t;
    const torch_storage *s;
    const pk_node *off;
    uint32_t n_strides;
    uint64_t elem;

    if (!pickle_tuple(m, args, v3 ? 7 : 4, v3 ? 8 : 7))
        return fail(HULL_EFORMAT, "%s with %u arguments", name_of(m, callable),
                    pickle_at(m, args)->n);
    if (pickle_kind(m, arg(m, args, 0)) != PK_STORAGE)
        return fail(HULL_EFORMAT, "%s of %s, a storage is wanted",
                    name_of(m, callable),
                    pickle_kind_name(pickle_kind(m, arg(m, args, 0))));
    s = &v->storages[pickle_at(m, arg(m, args, 0))->v.i];
    t = arena_alloc(&m->arena, sizeof *t);
    if (!t)
        return fail_oom(sizeof *t);
    t->storage = (uint32_t)pickle_at(m, arg(m, args, 0))->v.i;
    TRY(tensor_dtype(t, m, args, v3, s));
    elem = (hull_dtype_bits(t->dtype) + 7) / 8;
    off = pickle_at(m, arg(m, args, 1));
    if (off->kind != PK_INT || off->v.i < 0 ||
        !mul_u64(&t->off, (uint64_t)off->v.i, elem))
        return fail(HULL_EFORMAT, "offset of a tensor is not a number from 0");
    TRY(read_dims(m, arg(m, args, 2), "size", t->shape, &t->rank));
    TRY(read_dims(m, arg(m, args, 3), "stride", t->strides, &n_strides));
    if (n_strides != t->rank)
        return fail(HULL_EFORMAT, "a tensor of %u sizes and %u strides",
                    t->rank, n_strides);
    TRY(check_view(t, s, elem));
    TRY(check_extras(m, args, 5, v3 ? 7 : 6));
    if (hull_dtype_bits(t->dtype) < 8)
        TRY(unpack_pairs(t));
    TRY(pickle_new(m, PK_TENSOR, out));
    m->nodes[*out].v.data = t;
    return HULL_OK;
}

/* A parameter is its tensor. */
static hull_status wrap(pickle *m, pk_id callable, pk_id args, pk_id *out)
{
    if (!pickle_tuple(m, args, 1, 4) ||
        pickle_kind(m, arg(m, args, 0)) != PK_TENSOR)
        return fail(HULL_EFORMAT, "%s without a tensor", name_of(m, callable));
    *out = arg(m, args, 0);
    return HULL_OK;
}

static hull_status from_type(pickle *m, pk_id args, pk_id *out)
{
    pk_id fn, type;

    if (!pickle_tuple(m, args, 4, 4) ||
        pickle_kind(m, arg(m, args, 2)) != PK_TUPLE)
        return fail(HULL_EFORMAT, "_rebuild_from_type_v2 wants a function, a "
                                  "type, a tuple and a state");
    fn = arg(m, args, 0);
    type = arg(m, args, 1);
    if (!is_role(m, type, ROLE_TENSOR) &&
        !(is_role(m, type, ROLE_WRAP) &&
          strcmp(name_of(m, type), "Parameter") == 0))
        return fail(HULL_EUNSUPPORTED, "a tensor of a class of its own");
    if (is_role(m, fn, ROLE_REBUILD) || is_role(m, fn, ROLE_REBUILD_V3))
        return rebuild(m, fn, arg(m, args, 2), out);
    if (is_role(m, fn, ROLE_WRAP))
        return wrap(m, fn, arg(m, args, 2), out);
    return fail(HULL_EUNSUPPORTED, "_rebuild_from_type_v2 of another function");
}

static hull_status append_pair(pickle *m, pk_id dict, pk_id pair)
{
    const pk_node *n = pickle_at(m, pair);
    pk_id key, value;

    if ((n->kind != PK_TUPLE && n->kind != PK_LIST) || n->n != 2)
        return fail(HULL_EFORMAT, "an OrderedDict of something else than "
                                  "pairs");
    key = n->v.items[0];
    value = n->v.items[1];
    TRY(pickle_append(m, dict, key));
    return pickle_append(m, dict, value);
}

/* OrderedDict(), OrderedDict([(k, v)...]), defaultdict(type), Counter({}). */
static hull_status make_dict(pickle *m, pk_id args, pk_id *out)
{
    uint32_t n;
    pk_id from;

    TRY(pickle_new(m, PK_DICT, out));
    if (!pickle_tuple(m, args, 0, 2))
        return fail(HULL_EFORMAT, "a dict made of %u arguments",
                    pickle_at(m, args)->n);
    for (uint32_t a = 0; a < pickle_at(m, args)->n; a++) {
        pk_kind k;

        from = arg(m, args, a);
        k = pickle_kind(m, from);
        if (k == PK_GLOBAL || k == PK_NONE) /* defaultdict's factory */
            continue;
        if (k != PK_LIST && k != PK_DICT)
            return fail(HULL_EFORMAT, "a dict made of %s", pickle_kind_name(k));
        n = pickle_at(m, from)->n;
        m->steps += n;
        if (m->steps > ((uint64_t)64 << 20))
            return fail(HULL_EFORMAT, "dicts copied too often");
        for (uint32_t i = 0; i < n; i++) {
            pk_id item = pickle_at(m, from)->v.items[i];

            if (k == PK_DICT)
                TRY(pickle_append(m, *out, item));
            else
                TRY(append_pair(m, *out, item));
        }
    }
    return HULL_OK;
}

static hull_status make_opaque(pickle *m, const char *what, pk_id args,
                               pk_id *out)
{
    bool hides;

    TRY(pickle_hides_tensor(m, args, &hides));
    if (hides)
        return fail(HULL_EUNSUPPORTED,
                    "%s holds tensors, where none is "
                    "looked for",
                    what);
    return pickle_new(m, PK_OPAQUE, out);
}

static hull_status on_reduce(pickle *m, pk_id callable, pk_id args, pk_id *out)
{
    *out = 0;
    switch (role_of(m, callable)) {
    case ROLE_DICT:
        return make_dict(m, args, out);
    case ROLE_REBUILD:
    case ROLE_REBUILD_V3:
        return rebuild(m, callable, args, out);
    case ROLE_WRAP:
        return wrap(m, callable, args, out);
    case ROLE_FROM_TYPE:
        return from_type(m, args, out);
    case ROLE_SIZE:
        if (!pickle_tuple(m, args, 1, 1) ||
            pickle_kind(m, arg(m, args, 0)) != PK_TUPLE)
            return fail(HULL_EFORMAT, "torch.Size wants a tuple");
        *out = arg(m, args, 0);
        return HULL_OK;
    case ROLE_LAYOUT:
        if (!pickle_tuple(m, args, 1, 1) ||
            !str_is(pickle_str(m, arg(m, args, 0)), "torch.strided"))
            return fail(HULL_EUNSUPPORTED, "a layout that is not strided");
        return pickle_new(m, PK_OPAQUE, out);
    case ROLE_ENCODE:
    case ROLE_OPAQUE:
        return make_opaque(m, name_of(m, callable), args, out);
    case ROLE_TENSOR:
    case ROLE_DTYPE:
    case ROLE_STORAGE:
    case ROLE_REFUSED:
        break;
    }
    return fail(HULL_EUNSUPPORTED, "a call of %s", name_of(m, callable));
}

/* A dict's state holds attributes (_metadata of a state_dict): dropped. */
static hull_status on_build(pickle *m, pk_id object, pk_id state)
{
    pk_id opaque;

    if (pickle_kind(m, object) == PK_DICT)
        return HULL_OK;
    if (pickle_kind(m, object) == PK_OPAQUE)
        return make_opaque(m, "the state of an object", state, &opaque);
    return fail(HULL_EUNSUPPORTED, "a state for %s",
                pickle_kind_name(pickle_kind(m, object)));
}

const pickle_hooks torch_hooks = {
    .global = find_global,
    .persistent = on_persistent,
    .reduce = on_reduce,
    .build = on_build,
};
