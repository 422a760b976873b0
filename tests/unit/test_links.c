/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_links.c - files that a file names: ONNX external data and the shards of
 * an index. Links are followed as long as they end in the folder of the file
 * that names them, or beside it when that file is a link itself.
 */
#include "weights_unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define SECRET "secret bytes"

/* repo/blobs and repo/snap as download caches have them. */
static int make_tree(void **state)
{
    static const char *const folders[] = { "repo", "repo/blobs", "repo/snap",
                                           "repo/snap/sub" };

    if (make_folder(state) != 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (mkdir(at(folders[i]), 0700) != 0)
            return -1;
    put("secret", SECRET, 12);
    put("repo/blobs/weights", "abcdefghijkl", 12);
    put("repo/snap/plain", "abcdefghijkl", 12);
    put("repo/snap/sub/plain", "abcdefghijkl", 12);
    return 0;
}

static int remove_tree(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* repo/snap/name -> to */
static void link_to(const char *to, const char *name)
{
    char path[256], target[256];

    snprintf(target, sizeof target, "%s", to); /* at() may have given it */
    snprintf(path, sizeof path, "repo/snap/%s", name);
    unlink(at(path));
    assert_int_equal(symlink(target, at(path)), 0);
}

/* A field of bytes, short ones. */
static void field(buf *b, int number, const char *p, size_t n)
{
    assert_true(n < 128);
    buf_putc(b, (char)(number << 3 | 2));
    buf_putc(b, (char)n);
    buf_put(b, p, n);
}

/* A model whose weight x of f32[3] lies in the file `location`. */
static void put_model(const char *name, const char *location)
{
    buf entry, tensor, graph, all;

    buf_init(&entry, 1000);
    buf_init(&tensor, 1000);
    buf_init(&graph, 1000);
    buf_init(&all, 1000);
    field(&entry, 1, "location", 8);
    field(&entry, 2, location, strlen(location));
    buf_put(&tensor, "\x08\3\x10\1", 4); /* dims 3, FLOAT */
    field(&tensor, 8, "x", 1);
    field(&tensor, 13, entry.p, entry.n);
    buf_put(&tensor, "\x70\1", 2); /* EXTERNAL */
    field(&graph, 5, tensor.p, tensor.n);
    buf_put(&all, "\x08\x0a", 2); /* ir_version 10 */
    field(&all, 7, graph.p, graph.n);
    put(name, all.p, all.n);
    buf_fini(&entry);
    buf_fini(&tensor);
    buf_fini(&graph);
    buf_fini(&all);
}

static void opens(const char *location)
{
    weights *w;
    char out[12];

    put_model("repo/snap/m.onnx", location);
    w = open_ok(at("repo/snap/m.onnx"));
    assert_int_equal(weights_read(w, find(w, "x"), out), HULL_OK);
    assert_memory_equal(out, "abcdefghijkl", 12);
    weights_unref(w);
}

static void refused(const char *location, hull_status st, const char *text)
{
    put_model("repo/snap/m.onnx", location);
    open_bad(at("repo/snap/m.onnx"), st, text);
}

static void links_inside(void **state)
{
    (void)state;
    opens("plain");
    opens("sub/plain");
    opens("./plain");
    link_to("plain", "link");
    opens("link");
    link_to("sub", "folder");
    opens("folder/plain");
    link_to("../snap/sub/../plain", "winding");
    opens("winding");
    link_to(at("repo/snap/plain"), "absolute");
    opens("absolute");
    link_to(".", "self");
    opens("self/self/self/plain");
    unlink(at("repo/snap/hard"));
    char from[256];
    snprintf(from, sizeof from, "%s/repo/blobs/weights", folder);
    assert_int_equal(link(from, at("repo/snap/hard")), 0);
    opens("hard");
}

static void links_outside(void **state)
{
    static const char away[] = "is not below the folder";

    (void)state;
    link_to("../../secret", "out");
    refused("out", HULL_EFORMAT, away);
    link_to(at("secret"), "out");
    refused("out", HULL_EFORMAT, away);
    link_to("/etc/passwd", "out");
    refused("out", HULL_EFORMAT, away);
    link_to("/dev/zero", "out");
    refused("out", HULL_EFORMAT, away);
    link_to("/proc/self/environ", "out");
    refused("out", HULL_EFORMAT, away);
    link_to("../blobs/weights", "out");
    refused("out", HULL_EFORMAT, away); /* the model is no link */
    link_to("../..", "up");
    refused("up/secret", HULL_EFORMAT, away);
    link_to("..", "up");
    refused("up/snap2/plain", HULL_ENOTFOUND, "No such file");
    /* A name that only begins like the folder is another folder. */
    assert_int_equal(mkdir(at("repo/snap2"), 0700), 0);
    put("repo/snap2/plain", "abcdefghijkl", 12);
    refused("up/snap2/plain", HULL_EFORMAT, away);
    link_to("out", "out2");
    link_to("out2", "out");
    refused("out", HULL_EIO, "symbolic links");
    link_to("nothing", "out");
    refused("out", HULL_ENOTFOUND, "No such file");
}

static void no_files(void **state)
{
    (void)state;
    unlink(at("repo/snap/pipe"));
    assert_int_equal(mkfifo(at("repo/snap/pipe"), 0600), 0);
    refused("pipe", HULL_EIO, "a special file"); /* and nobody waits */
    link_to("pipe", "link");
    refused("link", HULL_EIO, "a special file");
    refused("sub", HULL_EIO, "a folder");
    refused(".", HULL_EFORMAT, "is not below");
    refused("plain/x", HULL_ENOTFOUND, "Not a directory");
}

/* snap/model -> blobs/1, snap/data -> blobs/weights. */
static void download_cache(void **state)
{
    weights *w;

    (void)state;
    put_model("repo/blobs/1", "data");
    link_to("../blobs/1", "model.onnx");
    link_to("../blobs/weights", "data");
    w = open_ok(at("repo/snap/model.onnx"));
    assert_non_null(find(w, "x"));
    weights_unref(w);
    link_to("../../secret", "data");
    open_bad(at("repo/snap/model.onnx"), HULL_EFORMAT, "is not below");
    /* The folder of the link has the name, too. */
    unlink(at("repo/snap/data"));
    put("repo/snap/data", "abcdefghijkl", 12);
    weights_unref(open_ok(at("repo/snap/model.onnx")));
    unlink(at("repo/snap/data"));
    open_bad(at("repo/snap/model.onnx"), HULL_ENOTFOUND, "No such file");
}

static void put_shard(const char *name)
{
    static const float v[] = { 1, 2 };
    static const int64_t shape[] = { 2 };
    safetensors_item item = { str_of("a"), HULL_F32, 1, shape, v, 8 };

    assert_int_equal(safetensors_write(at(name), &item, 1), HULL_OK);
}

static void shards(void **state)
{
    static const char map[] = "{\"weight_map\":{\"a\":\"s.safetensors\"}}";

    (void)state;
    put_shard("outside");
    put_shard("repo/blobs/2");
    put("repo/snap/index.json", map, sizeof map - 1);
    put("repo/blobs/3", map, sizeof map - 1);
    link_to("../blobs/3", "linked.json");
    link_to("../blobs/2", "s.safetensors");
    open_bad(at("repo/snap/index.json"), HULL_EFORMAT, "is not below");
    weights_unref(open_ok(at("repo/snap/linked.json")));
    link_to("../../outside", "s.safetensors");
    open_bad(at("repo/snap/index.json"), HULL_EFORMAT, "is not below");
    open_bad(at("repo/snap/linked.json"), HULL_EFORMAT, "is not below");
}

/* Somebody swaps a folder with a link to another one while it is opened: what
 * opens is the file inside, whenever that was. */
static atomic_bool done;

static void *swap(void *user)
{
    const char *root = user;
    char real[256], away[256], name[256];

    snprintf(name, sizeof name, "%s/repo/snap/swapped", root);
    snprintf(real, sizeof real, "%s/repo/snap/real", root);
    snprintf(away, sizeof away, "%s/repo/snap/away", root);
    while (!done) {
        (void)rename(name, real);
        (void)rename(away, name);
        (void)rename(name, away);
        (void)rename(real, name);
    }
    return NULL;
}

static void races(void **state)
{
    char path[256], owner[256], out[12];
    unsigned n_opened = 0;
    pthread_t thread;

    (void)state;
    snprintf(path, sizeof path, "%s/repo/snap/swapped/f", folder);
    snprintf(owner, sizeof owner, "%s/repo/snap/m.onnx", folder);
    assert_int_equal(mkdir(at("repo/snap/swapped"), 0700), 0);
    assert_int_equal(mkdir(at("outside_dir"), 0700), 0);
    put("repo/snap/swapped/f", "abcdefghijkl", 12);
    put("outside_dir/f", SECRET, 12);
    link_to("../../outside_dir", "away");
    assert_int_equal(pthread_create(&thread, NULL, swap, folder), 0);
    for (int i = 0; i < 20000; i++) {
        file f;

        if (file_map_below(&f, path, owner) != HULL_OK)
            continue;
        n_opened++;
        assert_int_equal(file_read_at(&f, 0, out, 12), HULL_OK);
        assert_memory_equal(out, "abcdefghijkl", 12);
        file_close(&f);
    }
    done = true;
    pthread_join(thread, NULL);
    assert_true(n_opened > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_inside), cmocka_unit_test(links_outside),
        cmocka_unit_test(no_files),     cmocka_unit_test(download_cache),
        cmocka_unit_test(shards),       cmocka_unit_test(races),
    };

    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
