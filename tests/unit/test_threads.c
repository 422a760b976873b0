/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * test_threads.c - sessions run while another thread refits, and while another
 * process spoils the checkpoint's file: every output is that of exactly one
 * weight set, namely the one whose version the session tells.
 */
#include "guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define N_THREADS 8
#define N_REFITS (GUARD_SANITIZED ? 200 : 1000)
#define N_VERSIONS 4096

/* What the outputs are, by checkpoint. */
static uint64_t sums[N_EPOCHS];

typedef struct shared {
    hull_module *m;
    /* Which checkpoint a version holds, 1 more; 0 = not published. */
    _Atomic(uint32_t) holds[N_VERSIONS];
    _Atomic(bool) stop;
    _Atomic(uint64_t) runs, foreign, stale, failed;
    _Atomic(uint64_t) seen[N_EPOCHS];
} shared;

static int which_sum(uint64_t sum)
{
    for (int i = 0; i < N_EPOCHS; i++)
        if (sums[i] == sum)
            return i;
    return -1;
}

static void sums_init(void)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    guard_input in;

    guard_input_init(&in, m, 2);
    for (int i = 0; i < N_EPOCHS; i++) {
        OK(refit_of(m, guard_epochs[i], "", NULL));
        sums[i] = module_sum(m, &in);
        for (int k = 0; k < i; k++)
            assert_true(sums[k] != sums[i]);
    }
    guard_input_fini(&in);
    hull_module_unref(m);
}

/* No cmocka assertion in here: it would jump out of another thread. */
static void *run_sessions(void *user)
{
    shared *sh = user;
    hull_session *s = NULL;
    guard_input in;

    guard_input_init(&in, sh->m, 2);
    while (!sh->stop) {
        uint64_t sum, version, before = hull_module_version(sh->m);
        hull_status st;
        int which;

        if (s == NULL && hull_session_new(&s, sh->m, NULL) != HULL_OK)
            break;
        st = run_sum(&sum, s, &in);
        if (st == HULL_ESTALE) {
            sh->stale++;
            continue;
        }
        which = st == HULL_OK ? which_sum(sum) : -1;
        version = hull_session_version(s);
        if (which < 0) {
            sh->failed++;
            continue;
        }
        /* Not older than what was current before the run; and the version is
         * that set's, as far as the refitting thread has noted it by now. */
        if (version < before || version >= N_VERSIONS)
            sh->foreign++;
        else if (sh->holds[version] != 0 &&
                 sh->holds[version] != (uint32_t)which + 1)
            sh->foreign++;
        sh->seen[which]++;
        if (sh->runs++ % 64 == 63) { /* sessions come and go as well */
            hull_session_free(s);
            s = NULL;
        }
    }
    hull_session_free(s);
    guard_input_fini(&in);
    return NULL;
}

static void start(pthread_t *threads, shared *sh)
{
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, run_sessions, sh), 0);
}

static void stop_all(pthread_t *threads, shared *sh)
{
    sh->stop = true;
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void refit_under_load(const char *words)
{
    static shared sh;
    pthread_t threads[N_THREADS];
    hull_weights *w[N_EPOCHS];
    hull_options *o = options_of(words);
    int seen = 0;

    memset(&sh, 0, sizeof sh);
    sh.m = compile_of(DIGITS, guard_epochs[0], "threads=2");
    sh.holds[1] = 1;
    for (int i = 0; i < N_EPOCHS; i++)
        OK(hull_weights_open(&w[i], guard_epochs[i]));
    start(threads, &sh);
    for (int i = 0; i < N_REFITS; i++) {
        int which = (i + 1) % N_EPOCHS;
        hull_refit_report r;

        sh.holds[i + 2] = (uint32_t)which + 1;
        OK(hull_refit(sh.m, w[which], o, &r));
        assert_true(r.version == (uint64_t)i + 2);
        while (sh.runs < (uint64_t)i / 4) /* let every thread have its turn */
            sched_yield();
    }
    stop_all(threads, &sh);
    assert_true(sh.failed == 0);
    assert_true(sh.stale == 0);
    assert_true(sh.foreign == 0);
    assert_true(sh.runs >= N_REFITS / 4);
    for (int i = 0; i < N_EPOCHS; i++) {
        seen += sh.seen[i] > 0;
        hull_weights_unref(w[i]);
    }
    assert_in_range(seen, 2, N_EPOCHS);
    hull_options_free(o);
    hull_module_unref(sh.m);
}

static void outputs_belong_to_one_weight_set(void **state)
{
    (void)state;
    refit_under_load("");
}

static void and_with_borrowed_weights(void **state)
{
    (void)state;
    refit_under_load("borrow=on keep_previous=on");
}

/* Memory that a session has just let go of is written again at once. */
static void and_into_kept_memory(void **state)
{
    (void)state;
    refit_under_load("spare=on");
}

/* Refits of two threads are serial; none is lost. */
static void *refit_often(void *user)
{
    hull_module *m = user;
    intptr_t bad = 0;

    for (int i = 0; i < 40; i++) {
        hull_weights *w = NULL;

        if (hull_weights_open(&w, guard_epochs[i % N_EPOCHS]) != HULL_OK ||
            hull_refit(m, w, NULL, NULL) != HULL_OK)
            bad++;
        hull_weights_unref(w);
    }
    return (void *)bad; /* NOLINT: a count */
}

static void refits_are_serial(void **state)
{
    hull_module *m = compile_of(DIGITS, guard_epochs[0], "threads=2");
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, refit_often, m), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    assert_int_equal(hull_module_version(m), 161);
    hull_module_unref(m);
}

/* ---- another process spoils the file ------------------------------------- */

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static void put(int fd, const char *p, size_t n, off_t at)
{
    if (pwrite(fd, p, n, at) != (ssize_t)n)
        _exit(3);
}

/* In the child: truncates, overwrites in place, renames, over and over. Steps
 * are further apart than the clock of file times, which is what the identity
 * of a file is told by; a file half written has no valid header, because
 * nobody could tell it from a whole one otherwise. */
static void spoil(const char *path, const char *const *texts, const size_t *n)
{
    char tmp[512];

    snprintf(tmp, sizeof tmp, "%s.new", path);
    for (unsigned i = 0;; i++) {
        unsigned which = i / 3 % N_EPOCHS;
        const char *p = texts[which];
        int fd = open(i % 3 == 2 ? tmp : path, O_RDWR | O_CREAT, 0644);

        if (fd < 0)
            _exit(2);
        if (i % 3 == 1 && ftruncate(fd, (off_t)n[which] / 2) != 0)
            _exit(4);
        if (i % 3 != 1) {
            put(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 0);
            put(fd, p + 8, n[which] - 8, 8);
            put(fd, p, 8, 0);
        }
        close(fd);
        if (i % 3 == 2 && rename(tmp, path) != 0)
            _exit(5);
        pause_ms(20);
    }
}

static pid_t start_spoiler(const char *path)
{
    char *texts[N_EPOCHS];
    size_t n[N_EPOCHS];
    pid_t pid;

    for (int i = 0; i < N_EPOCHS; i++)
        OK(file_read_all(&texts[i], &n[i], guard_epochs[i], SIZE_MAX / 4));
    pid = fork();
    if (pid == 0)
        spoil(path, (const char *const *)texts, n);
    assert_true(pid > 0);
    for (int i = 0; i < N_EPOCHS; i++)
        mem_free(texts[i]);
    return pid;
}

static void stop_spoiler(pid_t pid, const char *path)
{
    char tmp[512];
    int status;

    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* still at it */
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    snprintf(tmp, sizeof tmp, "%s.new", path);
    unlink(tmp);
    unlink(path);
}

/* borrow=off: each refit takes one of the known contents or is refused, and a
 * set in use stays what it is. */
static void a_spoiled_file_never_mixes(void **state)
{
    static shared sh;
    const char *path = temp_path(".safetensors");
    int good = 0, bad = 0, rounds = GUARD_SANITIZED ? 200 : 1000;
    pthread_t threads[N_THREADS];
    guard_input in;
    pid_t pid;

    (void)state;
    memset(&sh, 0, sizeof sh);
    copy_file(path, guard_epochs[0]);
    pid = start_spoiler(path);
    sh.m = compile_of(DIGITS, guard_epochs[0], "threads=2");
    guard_input_init(&in, sh.m, 2);
    start(threads, &sh);
    for (int i = 0; i < rounds || ((good < 20 || bad < 5) && i < 20 * rounds);
         i++) {
        uint64_t before = hull_module_version(sh.m), sum;
        hull_refit_report r;
        hull_status st = refit_of(sh.m, path, "", &r);

        sum = module_sum(sh.m, &in);
        assert_true(which_sum(sum) >= 0);
        if (st == HULL_OK) {
            sh.holds[r.version % N_VERSIONS] = (uint32_t)which_sum(sum) + 1;
            good++;
        } else {
            assert_true(hull_module_version(sh.m) == before);
            assert_true(strlen(hull_last_error()) > 0);
            bad++;
        }
        if (hull_module_version(sh.m) >= N_VERSIONS - 1)
            break;
        pause_ms(i % 4);
    }
    stop_all(threads, &sh);
    stop_spoiler(pid, path);
    print_message("%d refits, %d refused, %llu runs\n", good, bad,
                  (unsigned long long)sh.runs);
    assert_true(good >= 20);
    assert_true(bad >= 5);
    assert_true(sh.failed == 0);
    assert_true(sh.stale == 0);
    assert_true(sh.foreign == 0);
    guard_input_fini(&in);
    hull_module_unref(sh.m);
}

/* Opened, then written in place: whatever was read is not published. */
static void a_file_written_since_it_was_opened_is_refused(void **state)
{
    const char *path = temp_path(".safetensors");
    hull_weights *w;
    hull_module *m;
    guard_input in;
    int fd;

    (void)state;
    m = compile_of(DIGITS, guard_epochs[0], "threads=1");
    guard_input_init(&in, m, 2);
    copy_file(path, guard_epochs[1]);
    pause_ms(20);
    OK(hull_weights_open(&w, path));
    fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\0\0\0\0", 4, 30000), 4);
    close(fd);
    WANT(hull_refit(m, w, NULL, NULL), HULL_ESTALE);
    assert_non_null(strstr(hull_last_error(), path));
    assert_int_equal(hull_module_version(m), 1);
    assert_true(module_sum(m, &in) == sums[0]);
    hull_weights_unref(w);
    unlink(path);
    guard_input_fini(&in);
    hull_module_unref(m);
}

/* ---- borrow=on ----------------------------------------------------------- */

typedef void spoil_fn(const char *path);

static void spoil_truncate(const char *path)
{
    assert_int_equal(truncate(path, 100), 0);
}

static void spoil_overwrite(const char *path)
{
    int fd = open(path, O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\0\0\0\0", 4, 30000), 4);
    close(fd);
}

static void spoil_rename(const char *path)
{
    copy_file(path, guard_epochs[2]);
}

/* A changed file stops its set; one that was replaced does not. */
static void stale_after(spoil_fn *fn, bool replaced)
{
    const char *path = temp_path(".safetensors");
    hull_refit_report r;
    hull_session *s;
    hull_module *m;
    guard_input in;
    uint64_t sum;
    pid_t pid;
    int status;

    copy_file(path, guard_epochs[1]);
    pause_ms(20);
    m = compile_of(DIGITS, guard_epochs[0], "threads=1 borrow=off");
    guard_input_init(&in, m, 2);
    OK(refit_of(m, path, "borrow=on keep_previous=on", &r));
    assert_true(r.slots_borrowed > 0);
    OK(hull_session_new(&s, m, NULL));
    OK(run_sum(&sum, s, &in));
    assert_true(sum == sums[1]);
    pid = fork();
    if (pid == 0) {
        fn(path);
        _exit(0);
    }
    assert_true(waitpid(pid, &status, 0) == pid && status == 0);
    if (replaced) { /* the mapping keeps the old file alive */
        OK(run_sum(&sum, s, &in));
        assert_true(sum == sums[1]);
    } else {
        WANT(run_sum(&sum, s, &in), HULL_ESTALE);
        assert_non_null(strstr(hull_last_error(), path));
        OK(hull_rollback(m)); /* the set before owns its bytes */
        OK(run_sum(&sum, s, &in));
        assert_true(sum == sums[0]);
        WANT(hull_rollback(m), HULL_ESTALE);
    }
    OK(refit_of(m, guard_epochs[3], "", NULL));
    OK(run_sum(&sum, s, &in));
    assert_true(sum == sums[3]);
    unlink(path);
    hull_session_free(s);
    guard_input_fini(&in);
    hull_module_unref(m);
}

static void a_truncated_file_stops_its_set(void **state)
{
    (void)state;
    stale_after(spoil_truncate, false);
}

static void an_overwritten_file_stops_its_set(void **state)
{
    (void)state;
    stale_after(spoil_overwrite, false);
}

static void a_replaced_file_does_not(void **state)
{
    (void)state;
    stale_after(spoil_rename, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_belong_to_one_weight_set),
        cmocka_unit_test(and_with_borrowed_weights),
        cmocka_unit_test(and_into_kept_memory),
        cmocka_unit_test(refits_are_serial),
        cmocka_unit_test(a_spoiled_file_never_mixes),
        cmocka_unit_test(a_file_written_since_it_was_opened_is_refused),
        cmocka_unit_test(a_truncated_file_stops_its_set),
        cmocka_unit_test(an_overwritten_file_stops_its_set),
        cmocka_unit_test(a_replaced_file_does_not),
    };

    sums_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
