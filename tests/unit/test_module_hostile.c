/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_module_hostile.c - a module file may hold anything: damage is found,
 * sections that contradict each other are refused, and whatever loads can run.
 */
#include "module_unit.h"

/* ---- hostile files ------------------------------------------------------- */

#define ALL_FLAGS (HULL_SAVE_SOURCES | HULL_SAVE_PREPARED)

/* Not synced: there are many. */
static void write_plain(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Damage is found when the file is opened, before anything is read; some are
 * loaded from disk as well. */
static void must_fail(const char *p, size_t n, bool load, const options *o)
{
    module *l = NULL;
    container *c;

    if (container_open(&c, (bytes){(const uint8_t *)p, n}, UINT64_MAX) ==
        HULL_OK)
        stop("a damaged file of %zu bytes is opened", n);
    if (!load)
        return;
    write_plain(at("t.hull"), p, n);
    assert_int_not_equal(module_load(&l, at("t.hull"), NULL, NULL, o),
                         HULL_OK);
    assert_null(l);
}

static void test_damaged(void **state)
{
    module *m = filled();
    options *o = options_of("threads=1");
    size_t n;
    char *p;

    (void)state;
    OK(module_save(m, at("m.hull"), ALL_FLAGS));
    module_unref(m);
    p = slurp(at("m.hull"), &n);
    for (size_t i = 0; i < n; i++) {
        must_fail(p, i, i % 97 == 0, o);
        p[i] ^= (char)(1 << i % 8);
        must_fail(p, n, i % 97 == 0, o);
        p[i] ^= (char)(1 << i % 8);
    }
    mem_free(p);
    options_free(o);
}

/* The file with one section's bytes replaced; checksums are right. */
static void rewrite(const char *to, const char *p, size_t n, const char *tag,
                    const void *bytes_in, size_t n_in)
{
    container_writer *cw;
    container *c;
    buf out;

    OK(container_open(&c, (bytes){(const uint8_t *)p, n}, UINT64_MAX));
    OK(container_writer_new(&cw, CONTAINER_MODULE));
    for (size_t i = 0; i < container_n_sections(c); i++) {
        uint64_t off, stored, size;
        const char *name;
        bytes b;

        OK(container_at(c, i, &name, &off, &stored, &size));
        OK(container_get(c, name, UINT64_MAX, &b));
        if (strcmp(name, tag) == 0)
            b = (bytes){bytes_in, n_in};
        if (b.p != NULL)
            OK(container_add(cw, name, b.p, b.n));
    }
    OK(container_write_buf(cw, &out));
    write_plain(to, out.p, out.n);
    buf_fini(&out);
    container_writer_free(cw);
    container_free(c);
}

static uint32_t random_of(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Tokens that change meaning without breaking the syntax. */
static void mutate(char *p, size_t n, uint32_t *seed)
{
    static const char letters[] = "0123456789-\"{}[],:%@ abefknrstuw.#";
    size_t at_byte = random_of(seed) % n;

    for (size_t k = 0; k < n && random_of(seed) % 4 != 0; k++) {
        size_t i = (at_byte + k) % n;

        if (p[i] >= '0' && p[i] <= '9') {
            p[i] = (char)('0' + random_of(seed) % 10);
            return;
        }
    }
    p[at_byte] = letters[random_of(seed) % (sizeof letters - 1)];
}

/* Whatever loads must also run, save and go away. */
static void try_file(const char *path, const options *o)
{
    module *l = NULL;
    answer a;

    if (module_load(&l, path, NULL, NULL, o) != HULL_OK) {
        assert_null(l);
        return;
    }
    if (module_plan(l)->main->body->n_params == 1)
        ignore(run_module(&a, l)); /* an error will do as well */
    module_unref(l);
}

static void test_hostile_sections(void **state)
{
    module *m = filled();
    options *o = options_of("threads=1");
    uint32_t seed = 7;
    container *c;
    size_t n;
    char *p;

    (void)state;
    OK(module_save(m, at("m.hull"), ALL_FLAGS));
    module_unref(m);
    p = slurp(at("m.hull"), &n);
    OK(container_open(&c, (bytes){(uint8_t *)p, n}, UINT64_MAX));
    for (size_t i = 0; i < container_n_sections(c); i++) {
        uint64_t off, stored, size;
        const char *tag;
        bytes b;

        OK(container_at(c, i, &tag, &off, &stored, &size));
        OK(container_get(c, tag, UINT64_MAX, &b));
        rewrite(at("t.hull"), p, n, tag, NULL, 0); /* missing */
        try_file(at("t.hull"), o);
        for (int k = 0; k < 30 && size > 0; k++) {
            char *copy = malloc(size);
            size_t keep = size;

            assert_non_null(copy);
            memcpy(copy, b.p, size);
            mutate(copy, size, &seed);
            if (k % 16 == 15)
                keep = random_of(&seed) % size;
            rewrite(at("t.hull"), p, n, tag, copy, keep);
            try_file(at("t.hull"), o);
            free(copy);
        }
    }
    container_free(c);
    mem_free(p);
    options_free(o);
}

/* Replaces the first `from` in a section; the module must be refused. */
static void refused(const char *p, size_t n, const char *tag, const char *from,
                    const char *to)
{
    module *l = NULL;
    container *c;
    char *found, *copy;
    bytes b;
    buf out;

    OK(container_open(&c, (bytes){(const uint8_t *)p, n}, UINT64_MAX));
    OK(container_get(c, tag, UINT64_MAX, &b));
    copy = mem_strndup((const char *)b.p, b.n);
    found = strstr(copy, from);
    if (found == NULL)
        stop("section '%s' has no '%s': %s", tag, from, copy);
    buf_init(&out, 1 << 24);
    buf_put(&out, copy, (size_t)(found - copy));
    buf_puts(&out, to);
    buf_puts(&out, found + strlen(from));
    rewrite(at("t.hull"), p, n, tag, out.p, out.n);
    if (module_load(&l, at("t.hull"), NULL, NULL, NULL) == HULL_OK)
        stop("section '%s' with '%s' for '%s' is loaded", tag, to, from);
    buf_fini(&out);
    mem_free(copy);
    container_free(c);
}

static void test_wrong_facts(void **state)
{
    module *m = filled();
    size_t n;
    char *p;

    (void)state;
    OK(module_save(m, at("m.hull"), ALL_FLAGS));
    module_unref(m);
    p = slurp(at("m.hull"), &n);
    refused(p, n, "module", "\"shape\":[5,11]", "\"shape\":[11,5]");
    refused(p, n, "module", "\"shape\":[5,11]", "\"shape\":[5,-11]");
    refused(p, n, "module", "\"dtype\":\"f32\"", "\"dtype\":\"f16\"");
    refused(p, n, "module", "\"dtype\":\"f32\"", "\"dtype\":\"f33\"");
    refused(p, n, "module", "\"dtype\":\"f32\"", "\"dtype\":\"string\"");
    refused(p, n, "main", "f32[N,5]", "string[N,5]");
    refused(p, n, "module", "\"engine\":0", "\"engine\":9");
    refused(p, n, "module", "\"engine\":0", "\"engine\":1");
    refused(p, n, "module", "\"backend\":\"sim\"", "\"backend\":\"ref\"");
    refused(p, n, "module", "\"graph\":0", "\"graph\":1");
    refused(p, n, "module", "\"tier\":0", "\"tier\":16");
    refused(p, n, "module", "\"value\":0", "\"value\":8");
    refused(p, n, "module", "\"kept\":true", "\"kept\":false");
    refused(p, n, "module", "\"inputs\":[\"x\"]", "\"inputs\":[]");
    refused(p, n, "main", "@b0", "@b1");
    refused(p, n, "main", "f32[N,5]", "f32[N,6]");
    refused(p, n, "main", "f32[N,5]", "f64[N,5]");
    refused(p, n, "recipes", "[1,0]", "[0,1]");
    refused(p, n, "binding", "\"graph\":0", "\"graph\":5");
    refused(p, n, "binding", "fc1.bias", "fc2.weight");
    refused(p, n, "binding.graphs", "fc1.weight", "fc1.height");
    refused(p, n, "sources.index", "\"offset\":0", "\"offset\":1");
    refused(p, n, "sources.index", "\"offset\":0", "\"offset\":4096000");
    refused(p, n, "sources.index", "[11,5]", "[5,11]");
    refused(p, n, "slots.index", "\"offsets\":[0", "\"offsets\":[4096000");
    refused(p, n, "slots.index", "\"offsets\":[0", "\"offsets\":[1");
    refused(p, n, "slots.index", "\"offsets\":[0", "\"offsets\":[0,0");
    mem_free(p);
}

static void test_wrong_kind(void **state)
{
    module *m = filled(), *l;
    container_writer *cw;

    (void)state;
    OK(engine_write(&cw, module_plan(m)->blocks[0].e));
    OK(container_write(cw, at("e.hull")));
    container_writer_free(cw);
    assert_int_equal(load_with(&l, at("e.hull"), NULL, ""), HULL_EFORMAT);
    assert_int_equal(load_with(&l, at("absent.hull"), NULL, ""),
                     HULL_ENOTFOUND);
    spill(at("empty.hull"), "", 0);
    assert_int_equal(load_with(&l, at("empty.hull"), NULL, ""),
                     HULL_EFORMAT);
    module_unref(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_hostile_sections),
        cmocka_unit_test(test_wrong_facts),
        cmocka_unit_test(test_wrong_kind),
    };

    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
