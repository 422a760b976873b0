/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_borrow.c - where a set's bytes are: borrowed from the file, shared with
 * the set before, copied from the caller's memory, widened, rolled back; and
 * that a run of a known shape allocates nothing.
 */
#include "guard.h"

#include <fcntl.h>

#include "ir/ir.h"
#include "weights/weights.h"

typedef struct pair {
    hull_module *m;
    guard_input in;
} pair;

static void pair_init(pair *p, const char *words)
{
    p->m = compile_of(DIGITS, guard_epochs[0], words);
    guard_input_init(&p->in, p->m, 2);
}

static void pair_fini(pair *p)
{
    guard_input_fini(&p->in);
    hull_module_unref(p->m);
}

/* Slots of any kind in a report. */
static uint64_t all_slots(const hull_refit_report *r)
{
    return r->slots_borrowed + r->slots_copied + r->slots_computed +
           r->slots_shared;
}

static void borrowing_copies_nothing(void **state)
{
    hull_refit_report plain, lent;
    pair p;
    uint64_t want;

    (void)state;
    pair_init(&p, "");
    OK(refit_of(p.m, guard_epochs[1], "", &plain));
    want = module_sum(p.m, &p.in);
    assert_true(plain.slots_borrowed == 0);
    assert_true(plain.slots_copied > 0);
    assert_true(plain.bytes_written > 0);
    OK(refit_of(p.m, guard_epochs[1], "borrow=on", &lent));
    assert_true(module_sum(p.m, &p.in) == want);
    assert_true(lent.slots_borrowed == plain.slots_copied);
    assert_true(lent.slots_copied == 0);
    assert_true(lent.bytes_written + lent.bytes_shared <
                plain.bytes_written);
    pair_fini(&p);
}

/* Without the fusions every slot is its source unchanged. */
static void without_fusion_nothing_is_written(void **state)
{
    pair p, q;
    hull_refit_report r;

    (void)state;
    pair_init(&p, "fuse=off borrow=on");
    pair_init(&q, "fuse=off");
    OK(refit_of(p.m, guard_epochs[2], "borrow=on", &r));
    OK(refit_of(q.m, guard_epochs[2], "", NULL));
    assert_true(module_sum(p.m, &p.in) == module_sum(q.m, &q.in));
    assert_true(r.slots_borrowed > 0);
    if (r.slots_computed == 0) {
        assert_true(r.bytes_written == 0);
        assert_true(r.bytes_read == 0);
    }
    pair_fini(&p);
    pair_fini(&q);
}

static void the_same_file_shares_every_slot(void **state)
{
    hull_refit_report first, again, other;
    pair p;
    uint64_t want;

    (void)state;
    pair_init(&p, "");
    OK(refit_of(p.m, guard_epochs[1], "", &first));
    want = module_sum(p.m, &p.in);
    OK(refit_of(p.m, guard_epochs[1], "", &again));
    assert_true(again.slots_shared == all_slots(&first));
    assert_true(again.bytes_read == 0);
    assert_true(again.bytes_written == 0);
    assert_true(again.bytes_shared >= first.bytes_written);
    assert_true(again.version == first.version + 1);
    assert_true(module_sum(p.m, &p.in) == want);
    OK(refit_of(p.m, guard_epochs[2], "", &other));
    assert_true(other.slots_shared == 0);
    assert_true(module_sum(p.m, &p.in) != want);
    pair_fini(&p);
}

/* A file of equal size that was replaced is another file. */
static void a_replaced_file_shares_nothing(void **state)
{
    const char *path = temp_path(".safetensors");
    hull_refit_report r;
    pair p;
    uint64_t want;

    (void)state;
    pair_init(&p, "");
    OK(refit_of(p.m, guard_epochs[2], "", NULL));
    want = module_sum(p.m, &p.in);
    copy_file(path, guard_epochs[1]);
    OK(refit_of(p.m, path, "", NULL));
    assert_true(module_sum(p.m, &p.in) != want);
    copy_file(path, guard_epochs[2]);
    OK(refit_of(p.m, path, "", &r));
    assert_true(r.slots_shared == 0);
    assert_true(module_sum(p.m, &p.in) == want);
    unlink(path);
    pair_fini(&p);
}

/* In place, at once, of equal size: all within one tick of the clock that
 * file times are told by. No refit may take the file for the one before. */
static void quick_writes_are_not_taken_for_one(void **state)
{
    const char *path = temp_path(".safetensors");
    char *texts[N_EPOCHS];
    uint64_t sums[N_EPOCHS];
    size_t n[N_EPOCHS];
    pair p;

    (void)state;
    pair_init(&p, "");
    for (int i = 0; i < N_EPOCHS; i++) {
        OK(file_read_all(&texts[i], &n[i], guard_epochs[i], SIZE_MAX / 4));
        OK(refit_of(p.m, guard_epochs[i], "", NULL));
        sums[i] = module_sum(p.m, &p.in);
    }
    copy_file(path, guard_epochs[0]);
    for (int i = 0; i < 100; i++) {
        int fd = open(path, O_WRONLY), k = i % N_EPOCHS;

        assert_true(fd >= 0);
        assert_true(pwrite(fd, texts[k], n[k], 0) == (ssize_t)n[k]);
        close(fd);
        OK(refit_of(p.m, path, "", NULL));
        if (module_sum(p.m, &p.in) != sums[k])
            stop("write %d is taken for the one before", i);
    }
    for (int i = 0; i < N_EPOCHS; i++)
        mem_free(texts[i]);
    unlink(path);
    pair_fini(&p);
}

/* ---- partial refits ------------------------------------------------------ */

/* Writes the tensors of `from` whose name contains `part`. */
static void write_part(const char *path, const char *from, const char *part)
{
    safetensors_item items[64];
    hull_weights *w;
    size_t n = 0;

    OK(hull_weights_open(&w, from));
    for (size_t i = 0; i < weights_count(w); i++) {
        const weight_entry *e = weights_at(w, i);

        if (str_contains(e->name, part))
            items[n++] = (safetensors_item){
                .name = e->name, .dtype = e->dtype, .rank = e->rank,
                .shape = e->shape, .data = weights_view(w, e),
                .len = e->len};
    }
    assert_true(n > 0);
    OK(safetensors_write(path, items, n));
    hull_weights_unref(w);
}

static void a_partial_refit_computes_only_what_changed(void **state)
{
    const char *path = temp_path(".safetensors");
    hull_refit_report whole, part;
    pair p;
    uint64_t before, half;

    (void)state;
    pair_init(&p, "");
    OK(refit_of(p.m, guard_epochs[1], "", &whole));
    before = module_sum(p.m, &p.in);
    write_part(path, guard_epochs[2], "fc2");
    WANT(refit_of(p.m, path, "", NULL), HULL_EBIND);
    assert_true(module_sum(p.m, &p.in) == before);
    OK(refit_of(p.m, path, "allow_missing=on", &part));
    half = module_sum(p.m, &p.in);
    assert_true(half != before);
    assert_true(part.bytes_read < whole.bytes_read / 4);
    write_part(path, guard_epochs[1], "fc2"); /* and back */
    OK(refit_of(p.m, path, "allow_missing=on", NULL));
    assert_true(module_sum(p.m, &p.in) == before);
    unlink(path);
    pair_fini(&p);
}

/* ---- the caller's memory ------------------------------------------------- */

static int releases;

static void release(void *user)
{
    releases++;
    free(user);
}

/* The checkpoint in memory that the caller owns, one block per tensor. */
static hull_weights *in_memory(const char *path, void **blocks,
                               size_t *out_n, bool give)
{
    hull_weights *from, *w;

    OK(hull_weights_open(&from, path));
    OK(hull_weights_new(&w));
    *out_n = hull_weights_count(from);
    for (size_t i = 0; i < *out_n; i++) {
        const weight_entry *e = weights_at(from, i);
        hull_tensor t = {.shape = e->shape, .rank = (int32_t)e->rank,
                         .dtype = (int32_t)e->dtype};

        blocks[i] = malloc((size_t)e->len + 1);
        assert_non_null(blocks[i]);
        OK(weights_read(from, e, blocks[i]));
        t.data = blocks[i];
        OK(hull_weights_add(w, e->name.p, &t, give ? release : NULL,
                            give ? blocks[i] : NULL));
    }
    hull_weights_unref(from);
    return w;
}

/* Lent for the call: the memory may go at once, whatever is asked for. */
static void memory_is_read_during_the_call_only(void **state)
{
    static const char *const words[] = {"", "borrow=on",
                                        "borrow=on keep_sources=off"};
    const char *path = temp_path(".safetensors");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        pair p;
        hull_options *o = options_of(words[i]);
        hull_refit_report r;
        hull_weights *w;
        void *blocks[64];
        uint64_t want;
        size_t n;

        pair_init(&p, "");
        OK(refit_of(p.m, guard_epochs[1], "", NULL));
        want = module_sum(p.m, &p.in);
        OK(refit_of(p.m, guard_epochs[0], "", NULL));
        w = in_memory(guard_epochs[1], blocks, &n, false);
        OK(hull_refit(p.m, w, o, &r));
        hull_weights_unref(w);
        for (size_t k = 0; k < n; k++)
            free(blocks[k]);
        assert_true(r.slots_borrowed == 0);
        assert_true(module_sum(p.m, &p.in) == want);
        /* There is no source for a partial refit any more: an error. */
        write_part(path, guard_epochs[2], "fc2");
        assert_int_not_equal(refit_of(p.m, path, "allow_missing=on", NULL),
                             HULL_OK);
        assert_true(module_sum(p.m, &p.in) == want);
        hull_options_free(o);
        pair_fini(&p);
    }
    unlink(path);
}

static void memory_with_a_release_is_borrowed_and_released_once(void **state)
{
    pair p;
    hull_options *o = options_of("borrow=on");
    hull_refit_report r;
    hull_weights *w;
    void *blocks[64];
    uint64_t want;
    size_t n;

    (void)state;
    pair_init(&p, "");
    OK(refit_of(p.m, guard_epochs[1], "", NULL));
    want = module_sum(p.m, &p.in);
    releases = 0;
    w = in_memory(guard_epochs[1], blocks, &n, true);
    OK(hull_refit(p.m, w, o, &r));
    hull_weights_unref(w);
    assert_true(r.slots_borrowed > 0);
    assert_true(module_sum(p.m, &p.in) == want);
    assert_true(releases < (int)n); /* what is borrowed is still there */
    OK(refit_of(p.m, guard_epochs[0], "", NULL));
    pair_fini(&p); /* waits for the reclaimer */
    assert_int_equal(releases, n);
    hull_options_free(o);
}

static void release_weights_frees_what_was_read(void **state)
{
    const char *path = temp_path(".safetensors");
    pair p;
    hull_options *o = options_of("release_weights=on");
    hull_weights *w;
    void *blocks[64];
    uint64_t want;
    size_t n;

    (void)state;
    pair_init(&p, "");
    OK(refit_of(p.m, guard_epochs[1], "", NULL));
    want = module_sum(p.m, &p.in);
    releases = 0;
    w = in_memory(guard_epochs[1], blocks, &n, true);
    OK(hull_refit(p.m, w, o, NULL));
    assert_int_equal(releases, n); /* before anybody lets go of w */
    hull_weights_unref(w);
    assert_int_equal(releases, n);
    assert_true(module_sum(p.m, &p.in) == want);
    write_part(path, guard_epochs[2], "fc2"); /* the rest is gone */
    WANT(refit_of(p.m, path, "allow_missing=on", NULL), HULL_EBIND);
    assert_true(module_sum(p.m, &p.in) == want);
    unlink(path);
    hull_options_free(o);
    pair_fini(&p);
}

/* Wherever a tensor of floats may lie, borrowed or copied, the answer is the
 * same to the bit. */
static void any_offset_gives_the_same_bits(void **state)
{
    hull_options *o = options_of("borrow=on");
    uint64_t want;
    pair p;

    (void)state;
    pair_init(&p, "");
    OK(refit_of(p.m, guard_epochs[1], "", NULL));
    want = module_sum(p.m, &p.in);
    for (size_t off = 0; off < 64; off += 4) {
        hull_weights *from, *w;
        void *blocks[64];
        hull_refit_report r;

        OK(hull_weights_open(&from, guard_epochs[1]));
        OK(hull_weights_new(&w));
        for (size_t i = 0; i < weights_count(from); i++) {
            const weight_entry *e = weights_at(from, i);
            hull_tensor t = {.shape = e->shape, .rank = (int32_t)e->rank,
                             .dtype = e->dtype};

            blocks[i] = aligned_alloc(64, (e->len + 127) / 64 * 64);
            t.data = (char *)blocks[i] + off;
            memcpy(t.data, weights_view(from, e), e->len);
            OK(hull_weights_add(w, e->name.p, &t, free, blocks[i]));
        }
        OK(hull_refit(p.m, w, o, &r));
        assert_true(r.slots_borrowed > 0);
        assert_true(module_sum(p.m, &p.in) == want);
        hull_weights_unref(from);
        hull_weights_unref(w);
        OK(refit_of(p.m, guard_epochs[0], "", NULL));
    }
    hull_options_free(o);
    pair_fini(&p);
}

/* ---- dtypes -------------------------------------------------------------- */

/* The checkpoint with every float tensor as dt. */
static void write_as(const char *path, const char *from, hull_dtype dt)
{
    safetensors_item items[64];
    hull_weights *w;
    size_t n;

    OK(hull_weights_open(&w, from));
    n = weights_count(w);
    for (size_t i = 0; i < n; i++) {
        const weight_entry *e = weights_at(w, i);
        uint64_t numel = e->len * 8 / hull_dtype_bits(e->dtype);
        char *data = calloc(numel + 1, 8);

        items[i] = (safetensors_item){.name = e->name, .dtype = e->dtype,
                                      .rank = e->rank, .shape = e->shape,
                                      .data = data, .len = e->len};
        memcpy(data, weights_view(w, e), e->len);
        if (!dtype_is_float(e->dtype))
            continue;
        for (uint64_t k = 0; k < numel; k++)
            store_f64(dt, data, k,
                      load_f64(e->dtype, weights_view(w, e), k));
        items[i].dtype = dt;
        items[i].len = numel * hull_dtype_bits(dt) / 8;
    }
    OK(safetensors_write(path, items, n));
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)items[i].data);
    hull_weights_unref(w);
}

static void a_narrow_checkpoint_widens_exactly(void **state)
{
    static const hull_dtype dts[] = {HULL_F16, HULL_BF16};
    const char *narrow = temp_path(".safetensors");
    const char *wide = temp_path(".wide.safetensors");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(dts); i++) {
        pair p;
        uint64_t want, plain;

        pair_init(&p, "");
        plain = module_sum(p.m, &p.in);
        write_as(narrow, guard_epochs[1], dts[i]);
        write_as(wide, narrow, HULL_F32); /* the same values, wide */
        OK(refit_of(p.m, wide, "", NULL));
        want = module_sum(p.m, &p.in);
        assert_true(want != plain);
        OK(refit_of(p.m, guard_epochs[0], "", NULL));
        OK(refit_of(p.m, narrow, "", NULL));
        assert_true(module_sum(p.m, &p.in) == want);
        OK(refit_of(p.m, narrow, "borrow=on", NULL));
        assert_true(module_sum(p.m, &p.in) == want);
        pair_fini(&p);
    }
    unlink(narrow);
    unlink(wide);
}

static void a_wide_checkpoint_needs_narrow(void **state)
{
    const char *path = temp_path(".safetensors");
    pair p;
    uint64_t want, plain;

    (void)state;
    pair_init(&p, "");
    plain = module_sum(p.m, &p.in);
    OK(refit_of(p.m, guard_epochs[1], "", NULL));
    want = module_sum(p.m, &p.in);
    OK(refit_of(p.m, guard_epochs[0], "", NULL));
    write_as(path, guard_epochs[1], HULL_F64);
    WANT(refit_of(p.m, path, "", NULL), HULL_EBIND);
    assert_non_null(strstr(hull_last_error(), "wrong dtype"));
    assert_non_null(strstr(hull_last_error(), "f64"));
    assert_true(module_sum(p.m, &p.in) == plain);
    OK(refit_of(p.m, path, "narrow=on", NULL)); /* f64 of f32: exact */
    assert_true(module_sum(p.m, &p.in) == want);
    unlink(path);
    pair_fini(&p);
}

/* ---- rollback ------------------------------------------------------------ */

static void rollback_publishes_the_set_before(void **state)
{
    pair p;
    uint64_t a, b, version;

    (void)state;
    pair_init(&p, "");
    a = module_sum(p.m, &p.in);
    WANT(hull_rollback(p.m), HULL_EINVAL);
    OK(refit_of(p.m, guard_epochs[1], "", NULL));
    WANT(hull_rollback(p.m), HULL_EINVAL); /* it was not kept */
    b = module_sum(p.m, &p.in);
    version = hull_module_version(p.m);
    OK(refit_of(p.m, guard_epochs[0], "keep_previous=on", NULL));
    assert_true(module_sum(p.m, &p.in) == a);
    OK(hull_rollback(p.m));
    assert_true(module_sum(p.m, &p.in) == b);
    assert_true(hull_module_version(p.m) == version);
    OK(hull_rollback(p.m)); /* and forth again */
    assert_true(module_sum(p.m, &p.in) == a);
    /* What a refit without keep_previous replaced is gone, and so is the set
     * of the refit before: that one is not what a rollback promises. */
    OK(refit_of(p.m, guard_epochs[1], "", NULL));
    WANT(hull_rollback(p.m), HULL_EINVAL);
    pair_fini(&p);
}

/* ---- steady state -------------------------------------------------------- */

static void a_known_shape_allocates_nothing(void **state)
{
    static const char *const models[] = {
        DIGITS, "demo/digits.pt2", "mlp/dynamo.onnx", "cnn/train.pt2",
        "lstm/dynamo.onnx", "llama/train.pt2",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        const char *path = i < 2 ? models[i] : fixture(models[i]);
        uint64_t first, sum, count;
        guard_input in, other;
        hull_session *s;
        hull_module *m;

        if (path == NULL)
            continue;
        m = compile_of(path, NULL, "");
        guard_input_init(&in, m, 2);
        guard_input_init(&other, m, i == 0 ? 5 : 2);
        OK(hull_session_new(&s, m, NULL));
        OK(run_sum(&first, s, &in));
        OK(run_sum(&sum, s, &other));
        OK(run_sum(&sum, s, &in));
        count = mem_count();
        for (int k = 0; k < 3; k++) {
            OK(run_sum(&sum, s, &in));
            assert_true(sum == first);
            OK(run_sum(&sum, s, &other));
        }
        if (mem_count() != count)
            stop("%s: %llu allocations in 6 runs", path,
                 (unsigned long long)(mem_count() - count));
        hull_session_free(s);
        guard_input_fini(&in);
        guard_input_fini(&other);
        hull_module_unref(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borrowing_copies_nothing),
        cmocka_unit_test(without_fusion_nothing_is_written),
        cmocka_unit_test(the_same_file_shares_every_slot),
        cmocka_unit_test(a_replaced_file_shares_nothing),
        cmocka_unit_test(quick_writes_are_not_taken_for_one),
        cmocka_unit_test(a_partial_refit_computes_only_what_changed),
        cmocka_unit_test(memory_is_read_during_the_call_only),
        cmocka_unit_test(memory_with_a_release_is_borrowed_and_released_once),
        cmocka_unit_test(release_weights_frees_what_was_read),
        cmocka_unit_test(any_offset_gives_the_same_bits),
        cmocka_unit_test(a_narrow_checkpoint_widens_exactly),
        cmocka_unit_test(a_wide_checkpoint_needs_narrow),
        cmocka_unit_test(rollback_publishes_the_set_before),
        cmocka_unit_test(a_known_shape_allocates_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
