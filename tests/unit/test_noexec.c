/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_noexec.c - nothing that the library reads becomes code. A child process
 * is killed by the kernel (seccomp) the moment it maps memory executable,
 * makes it so, or starts a program; in it a model is compiled, saved, loaded
 * from the cache and from its file, refitted and run on every backend. Control
 * children, which do what is forbidden, have to die of it.
 */
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT 77

#define LOAD(field)                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,         \
             (uint32_t)offsetof(struct seccomp_data, field))
#define DIE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LIVE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Skips the `over` statements that follow unless it is call nr. */
#define UNLESS(nr, over) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, over)
/* The low half of argument 2: both calls have the protection there. */
#define NO_EXEC(nr)                                                       \
    UNLESS(nr, 4),                                                        \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                \
                 (uint32_t)offsetof(struct seccomp_data, args[2])),       \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), DIE, LIVE
#define NEVER(nr) UNLESS(nr, 1), DIE

/* False: this kernel has no filters. */
static bool forbid(void)
{
    struct sock_filter rules[] = {
        LOAD(nr),
        NO_EXEC(SYS_mmap),
        NO_EXEC(SYS_mprotect),
        NO_EXEC(SYS_pkey_mprotect),
        NEVER(SYS_memfd_create),
        NEVER(SYS_execve),
        NEVER(SYS_execveat),
        NEVER(SYS_ptrace),
        LIVE,
    };
    struct sock_fprog program = { COUNT_OF(rules), rules };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* ---- what the child does ------------------------------------------------- */

static bool run(hull_module *m)
{
    float zeros[64] = { 0 };
    int64_t shape[] = { 1, 1, 8, 8 };
    hull_tensor in = { .data = zeros, .shape = shape, .rank = 4,
                       .dtype = HULL_F32 };
    hull_tensor out = { 0 };
    hull_session *s = NULL;
    bool ok = hull_session_new(&s, m, NULL) == HULL_OK &&
              hull_session_run(s, &in, 1, &out, 1) == HULL_OK &&
              out.data != NULL;

    hull_session_free(s);
    return ok;
}

/* Twice with the same cache: a build, then the engine out of the folder. */
static bool life(const char *backend, const char *folder)
{
    char *cache = path_join(folder, "cache"), *path = path_join(folder, "m");
    hull_weights *w = NULL, *w2 = NULL;
    hull_options *o = NULL;
    hull_module *m = NULL, *loaded = NULL;
    hull_cache *c = NULL;
    bool ok = false;

    if (hull_options_new(&o) != HULL_OK ||
        hull_options_set(o, "backends", backend) != HULL_OK ||
        hull_cache_open(&c, cache, NULL) != HULL_OK ||
        hull_weights_open(&w, "demo/epoch1.safetensors") != HULL_OK ||
        hull_weights_open(&w2, "demo/epoch20.safetensors") != HULL_OK)
        goto out;
    for (int i = 0; i < 2; i++) {
        hull_module_unref(m);
        m = NULL;
        if (hull_compile(&m, "demo/digits.onnx", w, c, o) != HULL_OK ||
            !run(m))
            goto out;
    }
    ok = hull_module_save(m, path, HULL_SAVE_SOURCES) == HULL_OK &&
         hull_module_load(&loaded, path, NULL, c, o) == HULL_OK &&
         run(loaded) && hull_refit(loaded, w2, NULL, NULL) == HULL_OK &&
         run(loaded);
out:
    if (!ok)
        print_error("%s: %s\n", backend, error_text());
    hull_module_unref(loaded);
    hull_module_unref(m);
    hull_weights_unref(w2);
    hull_weights_unref(w);
    hull_cache_unref(c);
    hull_options_free(o);
    mem_free(cache);
    mem_free(path);
    return ok;
}

static bool all_backends(const char *folder)
{
    return life("cpu", folder) && life("ref", folder) && life("sim", folder);
}

static bool map_code(const char *folder)
{
    (void)folder;
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0) != MAP_FAILED;
}

static bool make_code(const char *folder)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)folder;
    return p != MAP_FAILED && mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool start_program(const char *folder)
{
    (void)folder;
    return execl("/bin/true", "true", (char *)NULL) == 0;
}

/* The wait status of a child that did it under the filter. */
static int in_child(bool (*fn)(const char *), const char *folder)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0)
        _exit(!forbid() ? CANNOT : fn(folder) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
        skip();
    return status;
}

static void controls_die(void **state)
{
    bool (*const bad[])(const char *) = { map_code, make_code, start_program };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int status = in_child(bad[i], "");

        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
}

static void product_lives(void **state)
{
    char folder[] = "/tmp/hull_noexec_XXXXXX";
    char command[64];
    int status;

    (void)state;
    assert_non_null(mkdtemp(folder));
    status = in_child(all_backends, folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controls_die),
        cmocka_unit_test(product_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
