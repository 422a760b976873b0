/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_data.c - tensors out of an ONNX file: the initializers and Constant
 * nodes of the main graph.
 *
 *   ModelProto   1 ir_version  7 graph
 *   GraphProto   1 node*  5 initializer*  15 sparse_initializer*
 *   NodeProto    2 output*  4 op_type  5 attribute*  7 domain
 *   TensorProto  1 dims*  2 data_type  3 segment  4 float_data*
 *                5 int32_data*  6 string_data*  7 int64_data*  8 name
 *                9 raw_data  10 double_data*  11 uint64_data*
 *                13 external_data*  14 data_location
 *   AttributeProto 5 t  22 sparse_tensor
 *
 * Payload that lies in the file as plain little-endian bytes is indexed where
 * it is; varints and split lists are decoded into memory of the index.
 */
#include <string.h>

#include "weights/onnx_data.h"

enum {
    DATA_FLOAT = 4,
    DATA_INT32 = 5,
    DATA_STRING = 6,
    DATA_INT64 = 7,
    DATA_RAW = 9,
    DATA_DOUBLE = 10,
    DATA_UINT64 = 11
};

/* By TensorProto.DataType: our dtype and the typed field that holds it. */
static const struct {
    hull_dtype dtype;
    uint8_t field;
} types[] = {
    [1] = { HULL_F32, DATA_FLOAT },
    [2] = { HULL_U8, DATA_INT32 },
    [3] = { HULL_I8, DATA_INT32 },
    [4] = { HULL_U16, DATA_INT32 },
    [5] = { HULL_I16, DATA_INT32 },
    [6] = { HULL_I32, DATA_INT32 },
    [7] = { HULL_I64, DATA_INT64 },
    [8] = { HULL_NONE, DATA_STRING },
    [9] = { HULL_BOOL, DATA_INT32 },
    [10] = { HULL_F16, DATA_INT32 },
    [11] = { HULL_F64, DATA_DOUBLE },
    [12] = { HULL_U32, DATA_UINT64 },
    [13] = { HULL_U64, DATA_UINT64 },
    [14] = { HULL_C64, DATA_FLOAT },
    [15] = { HULL_C128, DATA_DOUBLE },
    [16] = { HULL_BF16, DATA_INT32 },
    [17] = { HULL_F8E4M3FN, DATA_INT32 },
    [18] = { HULL_F8E4M3FNUZ, DATA_INT32 },
    [19] = { HULL_F8E5M2, DATA_INT32 },
    [20] = { HULL_F8E5M2FNUZ, DATA_INT32 },
    [21] = { HULL_U4, DATA_INT32 },
    [22] = { HULL_I4, DATA_INT32 },
    [23] = { HULL_F4E2M1, DATA_INT32 },
    [24] = { HULL_F8E8M0, DATA_INT32 },
    [25] = { HULL_U2, DATA_INT32 },
    [26] = { HULL_I2, DATA_INT32 },
};

hull_dtype onnx_dtype(int64_t data_type)
{
    if (data_type < 0 || (uint64_t)data_type >= COUNT_OF(types))
        return HULL_NONE;
    return types[data_type].dtype;
}

typedef struct proto {
    str name;
    int64_t *dims;
    size_t n_dims, cap_dims;
    int64_t type;
    unsigned fields; /* bit i: data field i has values */
    bytes raw;       /* raw_data, or the one packed list of fixed values */
    buf fixed;       /* float and double values of several lists */
    bool split;      /* they are in `fixed` */
    int64_t *ints;   /* int32_data, int64_data, uint64_data */
    size_t n_ints, cap_ints;
    bool external, segment;
    str location;
    str offset, length; /* p NULL when absent */
} proto;

static void proto_fini(proto *t)
{
    mem_free(t->dims);
    mem_free(t->ints);
    buf_fini(&t->fixed);
}

/* float_data and double_data: little-endian on the wire as in memory. */
static hull_status take_fixed(proto *t, const pb *r, const pb_field *f,
                              uint8_t wire, size_t size)
{
    uint8_t b[8];
    bytes v = f->b;

    if (f->wire == 2) {
        if (v.n % size)
            return fail(HULL_EFORMAT,
                        "%s: list of %zu bytes, elements have %zu", r->what,
                        v.n, size);
    } else {
        TRY(pb_want(r, f, wire));
        le_put(b, f->u, size);
        v = (bytes){ b, size };
    }
    if (v.n == 0)
        return HULL_OK;
    if (!t->split && !t->raw.n && f->wire == 2) {
        t->raw = v;
        return HULL_OK;
    }
    if (!t->split && t->raw.n)
        buf_put(&t->fixed, t->raw.p, t->raw.n);
    t->split = true;
    buf_put(&t->fixed, v.p, v.n);
    return buf_status(&t->fixed);
}

static hull_status take_external(proto *t, bytes entry, const uint8_t *base)
{
    pb r = pb_of(entry, base, "external_data");
    pb_field f;
    bool more;
    str key = { 0 }, value = { "", 0 };

    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            break;
        if (f.number > 2)
            continue;
        TRY(pb_want(&r, &f, 2));
        *(f.number == 1 ? &key : &value) = pb_str(&f);
    }
    if (str_is(key, "location"))
        t->location = value;
    else if (str_is(key, "offset"))
        t->offset = value;
    else if (str_is(key, "length"))
        t->length = value;
    else if (!str_is(key, "checksum") && !str_is(key, "basepath"))
        log_warn("weights", "external data has the unknown key '%.*s'",
                 STR_ARG(key));
    return HULL_OK;
}

static hull_status take_field(proto *t, pb *r, const pb_field *f)
{
    size_t before = t->n_ints;

    switch (f->number) {
    case 1:
        return pb_i64s(r, f, &t->dims, &t->n_dims, &t->cap_dims);
    case 2:
        TRY(pb_want(r, f, 0));
        t->type = (int64_t)f->u;
        return HULL_OK;
    case 3:
        t->segment = true;
        return HULL_OK;
    case DATA_FLOAT:
        t->fields |= f->wire != 2 || f->b.n ? 1u << DATA_FLOAT : 0;
        return take_fixed(t, r, f, 5, 4);
    case DATA_DOUBLE:
        t->fields |= f->wire != 2 || f->b.n ? 1u << DATA_DOUBLE : 0;
        return take_fixed(t, r, f, 1, 8);
    case DATA_INT32:
    case DATA_INT64:
    case DATA_UINT64:
        TRY(pb_i64s(r, f, &t->ints, &t->n_ints, &t->cap_ints));
        t->fields |= t->n_ints > before ? 1u << f->number : 0;
        return HULL_OK;
    case DATA_STRING:
        t->fields |= 1u << DATA_STRING;
        return HULL_OK;
    case 8:
        TRY(pb_want(r, f, 2));
        t->name = pb_str(f);
        return HULL_OK;
    case DATA_RAW:
        TRY(pb_want(r, f, 2));
        if (f->b.n == 0)
            return HULL_OK;
        t->fields |= 1u << DATA_RAW;
        t->raw = f->b;
        return HULL_OK;
    case 13:
        TRY(pb_want(r, f, 2));
        return take_external(t, f->b, r->base);
    case 14:
        TRY(pb_want(r, f, 0));
        t->external = f->u == 1;
        return HULL_OK;
    default:
        return HULL_OK;
    }
}

static hull_status parse(proto *t, bytes tensor, const uint8_t *base)
{
    pb r = pb_of(tensor, base, "TensorProto");
    pb_field f;
    bool more;

    *t = (proto){ 0 };
    buf_init(&t->fixed, tensor.n + 1);
    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            break;
        TRY(take_field(t, &r, &f));
    }
    file_count_read(tensor.n - (t->split ? 0 : t->raw.n));
    return HULL_OK;
}

/* dims, dtype and the rules on which data field holds the values. */
static hull_status check_proto(weight_entry *e, const proto *t,
                               uint64_t *out_numel)
{
    if (t->segment)
        return fail(HULL_EUNSUPPORTED, "tensor '%.*s' is a segment",
                    STR_ARG(e->name));
    if (t->type <= 0 || (uint64_t)t->type >= COUNT_OF(types))
        return fail(HULL_EFORMAT, "tensor '%.*s' has data_type %lld",
                    STR_ARG(e->name), (long long)t->type);
    e->dtype = types[t->type].dtype;
    if (e->dtype == HULL_NONE)
        return fail(HULL_EUNSUPPORTED, "tensor '%.*s' has data_type %lld%s",
                    STR_ARG(e->name), (long long)t->type,
                    t->type == 8 ? ", text" : "");
    if (t->n_dims > HULL_MAX_RANK)
        return fail(HULL_EUNSUPPORTED,
                    "tensor '%.*s' has rank %zu, at most "
                    "%d",
                    STR_ARG(e->name), t->n_dims, HULL_MAX_RANK);
    e->rank = (uint32_t)t->n_dims;
    if (t->n_dims)
        memcpy(e->shape, t->dims, t->n_dims * sizeof e->shape[0]);
    TRY(weights_numel(out_numel, e->name, e->rank, e->shape));
    TRY(weights_dense_len(&e->len, e->name, e->dtype, *out_numel));
    if (t->fields & (t->fields - 1))
        return fail(HULL_EFORMAT, "tensor '%.*s' has two data fields",
                    STR_ARG(e->name));
    if (t->external && t->fields)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' has external data and a data field",
                    STR_ARG(e->name));
    if (t->fields & ~(1u << DATA_RAW | 1u << types[t->type].field))
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' of %s holds its values in the wrong field",
                    STR_ARG(e->name), hull_dtype_name(e->dtype));
    return HULL_OK;
}

static hull_status want_len(const weight_entry *e, uint64_t found)
{
    if (found == e->len)
        return HULL_OK;
    return fail(HULL_EFORMAT,
                "tensor '%.*s' has %llu bytes, its shape wants %llu",
                STR_ARG(e->name), (unsigned long long)found,
                (unsigned long long)e->len);
}

/* Values that are varints in the file become little-endian elements. */
static hull_status decode_ints(weight_storage *s, const weight_entry *e,
                               const proto *t, uint64_t numel)
{
    uint32_t bits = hull_dtype_bits(e->dtype);
    uint64_t size = bits < 8 ? 1 : bits / 8;
    uint64_t count = bits < 8 ? e->len : numel;
    uint8_t *p;

    if (t->n_ints != count)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' has %zu values, its shape wants %llu",
                    STR_ARG(e->name), t->n_ints, (unsigned long long)count);
    p = mem_alloc(e->len);
    if (!p)
        return fail_oom(e->len);
    s->owned = p;
    s->len = e->len;
    for (size_t i = 0; i < t->n_ints; i++) {
        int64_t v = t->ints[i], one = 1;

        if (size < 8 &&
            (v < -(one << (8 * size - 1)) || v >= one << (8 * size)))
            return fail(
                HULL_EFORMAT, "tensor '%.*s' of %s holds the value %lld",
                STR_ARG(e->name), hull_dtype_name(e->dtype), (long long)v);
        le_put(p, (uint64_t)v, size);
        p += size;
    }
    return HULL_OK;
}

static hull_status place_external(weight_storage *s, weights *w,
                                  const weight_entry *e, const proto *t,
                                  const char *model)
{
    uint64_t end, len = e->len;

    if (!t->location.p)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' has external data without a location",
                    STR_ARG(e->name));
    if (!*model)
        return fail(HULL_EUNSUPPORTED,
                    "tensor '%.*s' has external data, the model has no folder",
                    STR_ARG(e->name));
    if (t->offset.p && !str_to_u64(&s->off, t->offset))
        return fail(HULL_EFORMAT, "tensor '%.*s' has external offset '%.*s'",
                    STR_ARG(e->name), STR_ARG(t->offset));
    if (t->length.p && !str_to_u64(&len, t->length))
        return fail(HULL_EFORMAT, "tensor '%.*s' has external length '%.*s'",
                    STR_ARG(e->name), STR_ARG(t->length));
    TRY(want_len(e, len));
    TRY(note(onnx_external_file(&s->file, w, model, t->location),
             "tensor '%.*s'", STR_ARG(e->name)));
    if (!add_u64(&end, s->off, len) || end > w->files[s->file].size)
        return fail(HULL_EFORMAT,
                    "tensor '%.*s' takes %llu bytes at byte %llu, '%.*s' has "
                    "%llu",
                    STR_ARG(e->name), (unsigned long long)len,
                    (unsigned long long)s->off, STR_ARG(t->location),
                    (unsigned long long)w->files[s->file].size);
    s->len = len;
    return HULL_OK;
}

/* A payload that is plain bytes of the message. */
static hull_status place_view(weight_storage *s, const weights *w, bytes b,
                              int32_t index)
{
    const file *f;

    s->len = b.n;
    if (b.n == 0) { /* no place: some byte of ours */
        s->memory = "";
        return HULL_OK;
    }
    if (index < 0) {
        s->memory = b.p;
        return HULL_OK;
    }
    if ((size_t)index >= w->n_files)
        return fail(HULL_EINTERNAL, "tensor of file %d, index has %zu", index,
                    w->n_files);
    f = &w->files[index];
    if ((uintptr_t)b.p < (uintptr_t)f->p ||
        (uintptr_t)b.p - (uintptr_t)f->p > f->size - b.n)
        return fail(HULL_EINTERNAL, "tensor outside of its file %s", f->path);
    s->file = index;
    s->off = (uint64_t)((uintptr_t)b.p - (uintptr_t)f->p);
    s->payload = true;
    return HULL_OK;
}

static hull_status place(weight_storage *s, weights *w, const weight_entry *e,
                         proto *t, int32_t index, const char *model,
                         uint64_t numel)
{
    if (t->external)
        return place_external(s, w, e, t, model);
    if (t->n_ints)
        return decode_ints(s, e, t, numel);
    if (t->split) {
        TRY(want_len(e, t->fixed.n));
        s->len = t->fixed.n;
        s->owned = buf_take(&t->fixed);
        return HULL_OK;
    }
    TRY(want_len(e, t->raw.n));
    return place_view(s, w, t->raw, index);
}

static hull_status add_storage_entry(weights *w, weight_storage *s,
                                     weight_entry *e)
{
    hull_status st = weights_add_storage(w, s, &e->storage);

    if (st != HULL_OK) {
        mem_free(s->owned);
        return st;
    }
    return weights_add(w, e, false);
}

static hull_status add_proto(weights *w, str name, proto *t, int32_t index,
                             const char *model, bool inline_value)
{
    weight_entry e = { .name = name, .inline_value = inline_value };
    weight_storage s = { .file = -1 };
    uint64_t numel;
    hull_status st;

    TRY(check_proto(&e, t, &numel));
    st = place(&s, w, &e, t, index, model, numel);
    if (st != HULL_OK) {
        mem_free(s.owned);
        return st;
    }
    return add_storage_entry(w, &s, &e);
}

hull_status onnx_tensor_add(weights *w, str name, bytes tensor, int32_t index,
                            const char *model, bool inline_value)
{
    proto t;
    const uint8_t *base = tensor.p;
    hull_status st;

    if (index >= 0 && (size_t)index < w->n_files)
        base = w->files[index].p;
    st = parse(&t, tensor, base);
    if (st == HULL_OK)
        st = add_proto(w, name, &t, index, model, inline_value);
    if (st == HULL_OK)
        weights_note_late(w, tensor, false);
    proto_fini(&t);
    return st;
}

/* ---- the model ----------------------------------------------------------- */

typedef struct source {
    weights *w;
    int32_t index;
    const uint8_t *base;
    const char *model;
} source;

/* As onnx_tensor_add, for a whole file: text is left out, it is no weight. */
static hull_status add_or_skip(source *s, str name, bytes tensor,
                               bool inline_value)
{
    proto t;
    hull_status st = parse(&t, tensor, s->base);

    if (st == HULL_OK && name.p == NULL)
        name = t.name;
    if (st == HULL_OK && name.n == 0)
        st = fail(HULL_EFORMAT, "an initializer has no name");
    if (st == HULL_OK && t.type > 0 && (uint64_t)t.type < COUNT_OF(types) &&
        types[t.type].dtype == HULL_NONE)
        log_info("weights", "text '%.*s' is no weight", STR_ARG(name));
    else if (st == HULL_OK)
        st = add_proto(s->w, name, &t, s->index, s->model, inline_value);
    proto_fini(&t);
    return st;
}

/* A value attribute of a Constant node. */
typedef struct constant {
    bytes tensor, sparse;
    bool has_tensor;
    uint32_t n; /* value attributes seen */
    uint32_t rank;
    hull_dtype dtype; /* HULL_NONE: the tensor, or nothing of ours */
    float *floats;
    int64_t *ints;
    size_t n_floats, cap_floats, n_ints, cap_ints;
    float f;
    int64_t i;
} constant;

static hull_status read_attribute_field(constant *c, str *name, pb *r,
                                        const pb_field *f)
{
    switch (f->number) {
    case 1:
        TRY(pb_want(r, f, 2));
        *name = pb_str(f);
        return HULL_OK;
    case 2:
        TRY(pb_want(r, f, 5));
        c->f = pb_f32(f);
        return HULL_OK;
    case 3:
        TRY(pb_want(r, f, 0));
        c->i = (int64_t)f->u;
        return HULL_OK;
    case 5:
        TRY(pb_want(r, f, 2));
        if (c->has_tensor)
            return fail(HULL_EFORMAT, "a Constant has two tensors");
        c->tensor = f->b;
        c->has_tensor = true;
        return HULL_OK;
    case 22:
        TRY(pb_want(r, f, 2));
        c->sparse = f->b;
        return HULL_OK;
    case 7:
        return pb_f32s(r, f, &c->floats, &c->n_floats, &c->cap_floats);
    case 8:
        return pb_i64s(r, f, &c->ints, &c->n_ints, &c->cap_ints);
    default:
        return HULL_OK;
    }
}

static hull_status read_attribute(constant *c, bytes b, const uint8_t *base)
{
    static const struct {
        const char *name;
        hull_dtype dtype;
        uint32_t rank;
    } kinds[] = {
        { "value", HULL_NONE, 0 },         { "value_float", HULL_F32, 0 },
        { "value_int", HULL_I64, 0 },      { "value_floats", HULL_F32, 1 },
        { "value_ints", HULL_I64, 1 },     { "value_string", HULL_NONE, 0 },
        { "value_strings", HULL_NONE, 1 }, { "sparse_value", HULL_NONE, 0 },
    };
    pb r = pb_of(b, base, "AttributeProto");
    pb_field f;
    bool more;
    str name = { 0 };

    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            break;
        TRY(read_attribute_field(c, &name, &r, &f));
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (!str_is(name, kinds[i].name))
            continue;
        if (i == 0 && !c->has_tensor)
            return fail(HULL_EFORMAT, "a Constant's value has no tensor");
        c->n++;
        c->dtype = kinds[i].dtype;
        c->rank = kinds[i].rank;
    }
    return HULL_OK;
}

static hull_status add_plain(source *s, str name, const constant *c)
{
    weight_entry e = {
        .name = name, .dtype = c->dtype, .rank = c->rank, .inline_value = true
    };
    weight_storage g = { .file = -1 };
    bool is_float = c->dtype == HULL_F32;
    size_t n = !c->rank ? 1 : is_float ? c->n_floats : c->n_ints;
    const void *from = is_float ? (const void *)&c->f : (const void *)&c->i;

    if (c->rank)
        from = is_float ? (const void *)c->floats : (const void *)c->ints;
    e.shape[0] = (int64_t)n;
    g.len = n * (is_float ? sizeof(float) : sizeof(int64_t));
    g.owned = mem_alloc(g.len);
    if (!g.owned)
        return fail_oom(g.len);
    if (n)
        memcpy(g.owned, from, g.len);
    return add_storage_entry(s->w, &g, &e);
}

static hull_status add_constant(source *s, str output, const constant *c)
{
    if (c->n != 1)
        return fail(HULL_EFORMAT,
                    "Constant '%.*s' has %u values, exactly 1 is wanted",
                    STR_ARG(output), c->n);
    if (c->dtype != HULL_NONE)
        return add_plain(s, output, c);
    if (c->has_tensor)
        return add_or_skip(s, output, c->tensor, true);
    if (c->sparse.p != NULL)
        return onnx_sparse_add(s->w, output, c->sparse, s->model, true);
    log_info("weights", "text '%.*s' is no weight", STR_ARG(output));
    return HULL_OK;
}

typedef struct node {
    str output, op_type, domain;
    bool has_output;
} node;

static hull_status read_node(node *n, bytes b, const uint8_t *base)
{
    pb r = pb_of(b, base, "NodeProto");
    pb_field f;
    bool more;

    *n = (node){ 0 };
    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number != 2 && f.number != 4 && f.number != 7)
            continue;
        TRY(pb_want(&r, &f, 2));
        if (f.number == 4)
            n->op_type = pb_str(&f);
        else if (f.number == 7)
            n->domain = pb_str(&f);
        else if (!n->has_output)
            n->output = pb_str(&f);
        n->has_output = n->has_output || f.number == 2;
    }
}

static hull_status add_node(source *s, bytes b)
{
    constant c = { 0 };
    hull_status st = HULL_OK;
    node n;
    pb r = pb_of(b, s->base, "NodeProto");
    pb_field f;
    bool more;

    TRY(read_node(&n, b, s->base));
    if (!str_is(n.op_type, "Constant") ||
        (n.domain.n && !str_is(n.domain, "ai.onnx"))) {
        file_count_read(b.n);
        return HULL_OK;
    }
    if (n.output.n == 0)
        return HULL_OK;
    for (;;) {
        TRY_OUT(pb_next(&r, &f, &more));
        if (!more)
            break;
        if (f.number != 5)
            continue;
        TRY_OUT(pb_want(&r, &f, 2));
        TRY_OUT(read_attribute(&c, f.b, s->base));
    }
    st = note(add_constant(s, n.output, &c), "node '%.*s'", STR_ARG(n.output));
out:
    mem_free(c.floats);
    mem_free(c.ints);
    return st;
}

static hull_status read_graph(source *s, bytes graph)
{
    pb r = pb_of(graph, s->base, "GraphProto");
    pb_field f;
    bool more;

    for (;;) {
        TRY(pb_next(&r, &f, &more));
        if (!more)
            return HULL_OK;
        if (f.number != 1 && f.number != 5 && f.number != 15)
            continue;
        TRY(pb_want(&r, &f, 2));
        if (f.number == 1)
            TRY(add_node(s, f.b));
        else if (f.number == 5)
            TRY(add_or_skip(s, (str){ 0 }, f.b, false));
        else
            TRY(onnx_sparse_add(s->w, (str){ 0 }, f.b, s->model, false));
    }
}

static hull_status find_graph(bytes *out, const file *f)
{
    pb r = pb_of((bytes){ f->p, (size_t)f->size }, f->p, "ModelProto");
    pb_field d;
    bool more, version = false, graph = false;

    for (;;) {
        TRY(pb_next(&r, &d, &more));
        if (!more)
            break;
        version = version || (d.number == 1 && d.wire == 0);
        if (d.number != 7)
            continue;
        TRY(pb_want(&r, &d, 2));
        if (graph)
            return fail(HULL_EFORMAT, "ModelProto has two graphs");
        graph = true;
        *out = d.b;
    }
    if (!version || !graph)
        return fail(HULL_EFORMAT, "not an ONNX model: it has no %s",
                    graph ? "ir_version" : "graph");
    return HULL_OK;
}

hull_status onnx_data_read(weights *w, file *f)
{
    source s = { .w = w };
    bytes graph = { 0 };

    TRY(find_graph(&graph, f));
    s.base = f->p;
    TRY(weights_take_file(w, f, &s.index));
    s.model = w->files[s.index].path; /* owned by w; more files may move it */
    return read_graph(&s, graph);
}
