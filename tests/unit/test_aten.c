/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_aten.c - what the ATen lowerings refuse: an argument that is not
 * honoured must be an error that names it, never another result. What they do
 * is tested against PyTorch (tests/aten.c). The table of operators is in order.
 *
 * A call is text: "gelu self=x approximate='quick'". Values: a tensor's name,
 * an integer, a number with a point, true, false, none, 'text', [1,2] a list
 * of integers, {x,v} of tensors, #7 a ScalarType. Arguments are separated by
 * blanks.
 */
#include "weights_unit.h"

#include "front/aten.h"

/* Name, ScalarType, sizes; 77 is the symbol N. */
static const struct {
    const char *name;
    int dtype;
    int rank, sizes[4];
} tensors[] = {
    {"x", 7, 4, {2, 3, 4, 4}}, {"y", 7, 3, {2, 3, 4}}, {"m", 7, 2, {3, 3}},
    {"v", 7, 1, {3}},          {"s", 7, 0, {0}},       {"i", 5, 1, {2}},
    {"z", 10, 2, {3, 2}},       {"h", 6, 2, {4, 4}},    {"n", 7, 2, {77, 3}},
    {"b", 12, 1, {5}},         {"k", 5, 2, {3, 3}},
};

static void put_tensor(buf *b, size_t i)
{
    buf_printf(b, "%s\"%s\":{\"dtype\":%d,\"sizes\":[", i ? "," : "",
               tensors[i].name, tensors[i].dtype);
    for (int k = 0; k < tensors[i].rank; k++) {
        buf_puts(b, k ? "," : "");
        if (tensors[i].sizes[k] == 77)
            buf_puts(b, "{\"as_expr\":{\"expr_str\":\"Symbol('N', "
                        "positive=True, integer=True)\",\"hint\":null}}");
        else
            buf_printf(b, "{\"as_int\":%d}", tensors[i].sizes[k]);
    }
    buf_puts(b, "],\"strides\":[],\"storage_offset\":{\"as_int\":0}}");
}

static bool is_tensor(str s)
{
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        if (str_is(s, tensors[i].name))
            return true;
    return false;
}

static void put_value(buf *b, str s)
{
    str inner = {s.p + 1, s.n > 2 ? s.n - 2 : 0}, part;

    if (is_tensor(s)) {
        buf_printf(b, "{\"as_tensor\":{\"name\":\"%.*s\"}}", STR_ARG(s));
    } else if (s.p[0] == '\'') {
        buf_printf(b, "{\"as_string\":\"%.*s\"}", STR_ARG(inner));
    } else if (s.p[0] == '[') {
        buf_printf(b, "{\"as_ints\":[%.*s]}", STR_ARG(inner));
    } else if (s.p[0] == '#') {
        buf_printf(b, "{\"as_scalar_type\":%.*s}", (int)s.n - 1, s.p + 1);
    } else if (s.p[0] == '{') {
        buf_puts(b, "{\"as_tensors\":[");
        for (bool first = true; inner.n; first = false) {
            part = str_split(inner, ',', &inner);
            buf_printf(b, "%s{\"name\":\"%.*s\"}", first ? "" : ",",
                       STR_ARG(part));
        }
        buf_puts(b, "]}");
    } else if (str_is(s, "true") || str_is(s, "false")) {
        buf_printf(b, "{\"as_bool\":%.*s}", STR_ARG(s));
    } else if (str_is(s, "none")) {
        buf_puts(b, "{\"as_none\":true}");
    } else {
        buf_printf(b, "{\"as_%s\":%.*s}",
                   memchr(s.p, '.', s.n) ? "float" : "int", STR_ARG(s));
    }
}

static void put_arguments(buf *b, str rest)
{
    for (bool first = true; rest.n; first = false) {
        str text, one = str_split(rest, ' ', &rest);
        str name = str_split(one, '=', &text);

        buf_printf(b, "%s{\"name\":\"%.*s\",\"kind\":1,\"arg\":",
                   first ? "" : ",", STR_ARG(name));
        put_value(b, text);
        buf_puts(b, "}");
    }
}

/* A program of one node; its first result goes out. */
static const char *program_of(str call)
{
    static const char config[] = "{\"config\":{}}";
    str rest, op = str_split(call, ' ', &rest);
    bool plain = memchr(op.p, '.', op.n) == NULL;
    zip_writer w;
    buf b;

    buf_init(&b, 1 << 16);
    buf_puts(&b, "{\"graph_module\":{\"graph\":{\"inputs\":[");
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        buf_printf(&b, "%s{\"as_tensor\":{\"name\":\"%s\"}}", i ? "," : "",
                   tensors[i].name);
    buf_printf(&b, "],\"outputs\":[{\"as_tensor\":{\"name\":\"r\"}}],\"nodes\":"
               "[{\"target\":\"torch.ops.aten.%.*s%s\",\"name\":\"r\","
               "\"metadata\":{},\"outputs\":[{\"as_tensor\":{\"name\":\"r\"}}],"
               "\"inputs\":[", STR_ARG(op), plain ? ".default" : "");
    put_arguments(&b, rest);
    buf_puts(&b, "]}],\"sym_int_values\":{},\"tensor_values\":{");
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        put_tensor(&b, i);
    buf_puts(&b, ",\"r\":{\"dtype\":7,\"sizes\":[],\"strides\":[]}}},"
                 "\"signature\":{\"input_specs\":[");
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        buf_printf(&b, "%s{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":"
                   "\"%s\"}}}}", i ? "," : "", tensors[i].name);
    buf_puts(&b, "],\"output_specs\":[{\"user_output\":{\"arg\":{\"as_tensor\":"
                 "{\"name\":\"r\"}}}}]},\"module_call_graph\":[]},"
                 "\"opset_version\":{\"aten\":10},\"range_constraints\":{"
                 "\"N\":{\"min_val\":2,\"max_val\":64}},\"schema_version\":{"
                 "\"major\":8,\"minor\":9},\"torch_version\":\"2.13.0\"}");
    assert_int_equal(buf_status(&b), HULL_OK);
    zip_writer_init(&w, 1 << 20);
    zip_writer_add(&w, str_of("m/data/weights/model_weights_config.json"),
                   config, sizeof config - 1, 64);
    zip_writer_add(&w, str_of("m/models/model.json"), b.p, b.n, 64);
    zip_writer_add(&w, str_of("m/archive_format"), "pt2", 3, 64);
    zip_writer_add(&w, str_of("m/archive_version"), "0", 1, 64);
    zip_writer_add(&w, str_of("m/byteorder"), "little", 6, 64);
    assert_int_equal(zip_writer_end(&w), HULL_OK);
    put("m.pt2", w.out.p, w.out.n);
    zip_writer_fini(&w);
    buf_fini(&b);
    return at("m.pt2");
}

#define BAD HULL_EFORMAT
#define NOT HULL_EUNSUPPORTED

static const struct {
    const char *call;
    hull_status status;
    const char *text;
} refused[] = {
    /* aten_act.c */
    {"gelu self=v approximate='quick'", NOT, "approximation"},
    {"celu self=v alpha=0", BAD, "alpha is 0"},
    {"alpha_dropout input=v p=0.5 train=true", NOT, "model.eval()"},
    {"feature_dropout input=v p=0.5 train=true", NOT, "model.eval()"},
    {"rrelu self=v training=true", NOT, "model.eval()"},
    /* aten_args.c */
    {"sum.dim_IntList self=v dim=[3]", BAD, "dim 3 with rank 1"},
    {"relu self=v inplace=true", NOT, "no argument 'inplace'"},
    {"mul.Tensor self=v", BAD, "lacks argument 'other'"},
    {"mul.Tensor self=v other='a'", BAD, "operand 1 of op 'mul'"},
    {"softmax.int self=v dim='a'", BAD, "'dim' is not a plain integer"},
    {"mean.dim self=v dim=[0] keepdim='a'", BAD, "'keepdim' is not a bool"},
    {"gelu self=v approximate=3", BAD, "'approximate' is not a string"},
    {"sum self=v dtype=3", BAD, "'dtype' is not a dtype"},
    {"permute self=v dims='a'", BAD, "'dims' is not a list"},
    /* aten_bag.c */
    {"cdist x1=v x2=m", BAD, "rank below 2"},
    {"_cdist_forward x1=m x2=m p=-1.0 compute_mode=none", BAD, "negative"},
    {"_pdist_forward self=v", BAD, "no matrix"},
    {"_pdist_forward self=n", NOT, "symbolic number of rows"},
    {"_embedding_bag weight=v indices=i offsets=i", BAD, "unfit rank"},
    {"_embedding_bag weight=m indices=i offsets=i mode=3", BAD, "mode"},
    {"_embedding_bag weight=m indices=i offsets=i mode=1 "
     "per_sample_weights=v", BAD, "mode"},
    /* aten_complex.c, aten_fft.c */
    {"imag self=v", BAD, "not complex"},
    {"view_as_complex self=h", NOT, "dtype"},
    {"complex real=h imag=h", NOT, "f32 and f64"},
    {"pow.Tensor_Tensor self=z exponent=z", NOT, "complex"},
    {"amax self=z", NOT, "complex"},
    {"sin self=z", NOT, "complex"},
    {"_fft_r2c self=v dim=[0] normalization=3 onesided=true", BAD,
     "normalization"},
    {"_fft_r2c self=v dim=[] normalization=0 onesided=true", NOT, "no dims"},
    {"_fft_r2c self=h dim=[0] normalization=0 onesided=true", NOT, "halves"},
    {"_fft_r2c self=v dim=[4] normalization=0 onesided=true", BAD, "range"},
    {"fft_fft self=v norm='half'", BAD, "norm"},
    {"fft_fftn self=v s=[3,3]", BAD, "more sizes than dims"},
    {"stft self=z n_fft=2", NOT, "complex signal"},
    {"stft self=v n_fft=2 win_length=3", BAD, "sizes of a window"},
    {"stft self=v n_fft=2 hop_length=0", BAD, "sizes of a window"},
    {"stft self=y n_fft=2 hop_length=1", BAD, "unfit rank"},
    {"stft.center self=v n_fft=2 hop_length=1 pad_mode='odd'", NOT, "padding"},
    {"istft self=m n_fft=4", BAD, "not complex"},
    {"istft self=z n_fft=4 onesided=false", NOT, "complex signal"},
    {"fft_fftfreq n=0", NOT, "samples"},
    /* aten_create.c */
    {"arange.start_step start=0 end=4 step=0", BAD, "step is 0"},
    {"arange.start_step start=0.5 end=4 step=-1", BAD, "length of the range"},
    {"linspace start=0 end=1 steps=-1", BAD, "negative number"},
    {"hann_window window_length=-1", NOT, "length of a window"},
    {"tril self=v", BAD, "rank below 2"},
    {"resize self=n size=[2,2]", NOT, "symbolic size"},
    {"item self=s", NOT, "float that depends on data"},
    {"tril_indices row=2000000 col=3", NOT, "2^20"},
    /* aten_join.c */
    {"meshgrid.indexing tensors={v,v} indexing='yx'", NOT, "order of axes"},
    {"cat tensors={}", BAD, "no tensors"},
    {"pad self=v pad=[1,1,1,1]", BAD, "do not fit the rank"},
    {"pad self=v pad=[1] mode='constant'", BAD, "do not fit the rank"},
    {"pad self=v pad=[1,1] mode='odd'", NOT, "padding mode"},
    {"repeat self=m repeats=[2]", BAD, "do not fit the rank"},
    {"roll self=m shifts=[1,2] dims=[0]", BAD, "differ in number"},
    {"roll self=m shifts=[1] dims=[5]", BAD, "out of range"},
    {"pixel_shuffle self=m upscale_factor=2", BAD, "unfit rank"},
    {"channel_shuffle self=m groups=2", BAD, "unfit rank"},
    {"unfold self=m dimension=0 size=2 step=0", BAD, "step"},
    {"diff self=v n=65", NOT, "order of difference"},
    {"fliplr self=v", BAD, "unfit rank"},
    /* aten_nn.c: training and statistics */
    {"batch_norm input=x weight=none bias=none running_mean=v running_var=v "
     "training=true momentum=0.1 eps=0.1 cudnn_enabled=true", NOT,
     "model.eval()"},
    {"batch_norm input=x weight=none bias=none running_mean=none "
     "running_var=none training=false momentum=0.1 eps=0.1 "
     "cudnn_enabled=true", BAD, "no running statistics"},
    {"_native_batch_norm_legit.no_stats input=x weight=none bias=none "
     "training=false momentum=0.1 eps=0.1", BAD, "no running statistics"},
    {"instance_norm input=x weight=none bias=none running_mean=none "
     "running_var=none use_input_stats=false momentum=0.1 eps=0.1 "
     "cudnn_enabled=true", BAD, "no running statistics"},
    {"instance_norm input=m weight=none bias=none running_mean=none "
     "running_var=none use_input_stats=true momentum=0.1 eps=0.1 "
     "cudnn_enabled=true", BAD, "rank below 3"},
    {"layer_norm input=m normalized_shape=[4]", BAD, "normalized_shape"},
    {"layer_norm input=m normalized_shape=[]", BAD, "normalized_shape"},
    {"layer_norm input=m normalized_shape=[3,3,3]", BAD, "normalized_shape"},
    {"rms_norm input=m normalized_shape=[2]", BAD, "normalized_shape"},
    {"scaled_dot_product_attention query=y key=y value=y dropout_p=0.5", NOT,
     "model.eval()"},
    {"scaled_dot_product_attention query=y key=y value=y attn_mask=y "
     "is_causal=true", BAD, "mask and is_causal"},
    {"conv2d.padding input=x weight=x padding='odd'", NOT, "padding mode"},
    {"conv1d input=m weight=m", NOT, "weight of unfit rank"},
    {"_upsample_bilinear2d_aa self=x output_size=[8,8] align_corners=true",
     NOT, "aligned corners"},
    {"upsample_nearest2d self=y output_size=[8,8]", BAD, "unfit rank"},
    {"upsample_nearest2d self=x output_size=[8]", BAD, "output sizes"},
    /* aten_loss.c */
    {"mse_loss self=v target=v reduction=3", BAD, "reduction"},
    {"nll_loss self=m target=k", BAD, "targets of unfit rank"},
    {"cross_entropy_loss self=s target=i", BAD, "rank 0"},
    /* aten_order.c */
    {"topk self=s k=2", BAD, "k of a scalar"},
    {"bucketize.Tensor self=v boundaries=s", BAD, "boundaries"},
    {"searchsorted.Tensor sorted_sequence=y self=m", BAD, "boundaries"},
    /* aten_pool.c */
    {"avg_pool2d self=v kernel_size=[2,2]", BAD, "unfit rank"},
    {"avg_pool2d self=x kernel_size=[2,2] divisor_override=0", BAD,
     "divisor is 0"},
    {"avg_pool2d self=x kernel_size=[2,2] padding=[3,3] divisor_override=2",
     BAD, "window out of range"},
    {"avg_pool2d self=x kernel_size=[2,2,2]", BAD, "one integer per axis"},
    {"adaptive_max_pool2d self=x output_size=[0,2]", BAD, "out of range"},
    {"max_unpool2d self=x indices=k output_size=[8,8]", BAD, "unfit rank"},
    /* aten_scatter.c, aten_index.c */
    {"scatter_reduce.two self=m dim=0 index=k src=m reduce='var'", NOT,
     "reduction"},
    {"scatter.reduce self=m dim=0 index=k src=m reduce='odd'", NOT,
     "reduction"},
    {"index_add self=m dim=0 index=i source=v", BAD, "source of unfit rank"},
    {"take_along_dim self=m indices=i dim=0", BAD, "another rank"},
    {"index.Tensor self=v indices={i,i}", BAD, "do not fit the rank"},
    {"index_put self=m indices={b} values=x", NOT, "do not fit"},
    /* aten_shape.c */
    {"view self=m size=[-1,-1]", BAD, "two sizes are -1"},
    {"view self=m size=[-1,0]", BAD, "no elements"},
    {"permute self=m dims=[0]", BAD, "do not fit the rank"},
    {"expand self=m size=[3]", BAD, "fewer sizes"},
    {"slice.Tensor self=m step=0", BAD, "not positive"},
    {"split.Tensor self=m split_size=0", BAD, "no elements"},
    {"select_scatter self=m src=m dim=0 index=0", BAD, "unfit rank"},
    /* aten_window.c */
    {"diagonal self=m dim1=1 dim2=1", BAD, "same"},
    {"diag self=y", BAD, "unfit rank"},
    {"diag_embed self=s", BAD, "unfit rank"},
    {"trace self=v", BAD, "no matrix"},
    {"as_strided self=m size=[2] stride=[1,1]", BAD, "differ in number"},
    {"as_strided self=m size=[2] stride=[1]", NOT, "part of a storage"},
    {"im2col self=x kernel_size=[0,1] dilation=[1,1] padding=[0,0] "
     "stride=[1,1]", BAD, "window out of range"},
    {"im2col self=m kernel_size=[1,1] dilation=[1,1] padding=[0,0] "
     "stride=[1,1]", BAD, "unfit rank"},
    {"col2im self=y output_size=[8] kernel_size=[1,1] dilation=[1,1] "
     "padding=[0,0] stride=[1,1]", BAD, "unfit rank"},
    {"grid_sampler input=x grid=x interpolation_mode=3 padding_mode=0 "
     "align_corners=false", NOT, "interpolation or padding"},
    {"grid_sampler input=x grid=x interpolation_mode=0 padding_mode=-1 "
     "align_corners=false", NOT, "interpolation or padding"},
    {"affine_grid_generator theta=m size=[1,1,2,2] align_corners=true", BAD,
     "unfit rank"},
};

static void refusals(void **state)
{
    unsigned wrong = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        front_model *fm = NULL;
        hull_status st = front_import(&fm, program_of(str_of(refused[i].call)),
                                      NULL);
        const char *said = error_text();

        front_free(fm);
        if (st == refused[i].status && strstr(said, refused[i].text) != NULL)
            continue;
        wrong++;
        print_error("%s: %s '%s', want %s '%s'\n", refused[i].call,
                    hull_status_name(st), st ? said : "",
                    hull_status_name(refused[i].status), refused[i].text);
    }
    assert_int_equal(wrong, 0);
}

/* Bisection needs the order; a row that is out of it is not found. */
static void rows_are_in_order(void **state)
{
    static const char *const names[] = {
#define ATEN(name, schema, lower, param) name,
#include "front/aten.def"
#undef ATEN
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const aten_row *row = aten_find(str_of(names[i]));

        if (row == NULL || strcmp(row->name, names[i]) != 0)
            stop("row %s is not found", names[i]);
        if (i > 0 && strcmp(names[i - 1], names[i]) >= 0)
            stop("row %s is out of order", names[i]);
    }
    assert_null(aten_find(str_of("no_such")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(rows_are_in_order),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
