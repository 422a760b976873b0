/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * answer.c - what leaves the program: exit codes, the JSON object, the one line
 * of an error, and the progress line of long work.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "compile/plan_file.h"

static const struct {
    hull_status status;
    enum exit_code code;
} exit_codes[] = {
    { HULL_OK, EXIT_CODE_OK },
    { HULL_EINVAL, EXIT_CODE_USAGE },
    { HULL_ENOMEM, EXIT_CODE_SYSTEM },
    { HULL_EIO, EXIT_CODE_SYSTEM },
    { HULL_EFORMAT, EXIT_CODE_FILE },
    { HULL_EVERSION, EXIT_CODE_FILE },
    { HULL_ENOTFOUND, EXIT_CODE_FILE },
    { HULL_EUNSUPPORTED, EXIT_CODE_UNSUPPORTED },
    { HULL_ESHAPE, EXIT_CODE_SHAPE },
    { HULL_EBIND, EXIT_CODE_BIND },
    { HULL_EUNBOUND, EXIT_CODE_BIND },
    { HULL_ESTALE, EXIT_CODE_SYSTEM },
    { HULL_EMISMATCH, EXIT_CODE_MISMATCH },
    { HULL_EDEVICE, EXIT_CODE_SYSTEM },
    { HULL_EINTERNAL, EXIT_CODE_INTERNAL },
};

int exit_code_of(const cli *c, hull_status st)
{
    if (st != HULL_OK && c->usage)
        return EXIT_CODE_USAGE;
    for (size_t i = 0; i < COUNT_OF(exit_codes); i++)
        if (exit_codes[i].status == st)
            return (int)exit_codes[i].code;
    return EXIT_CODE_INTERNAL;
}

/* ---- JSON ---------------------------------------------------------------- */

hull_status answer(json_t *object, const char *key, json_t *j)
{
    if (!j || json_object_set_new(object, key, j) != 0)
        return fail_oom(0);
    return HULL_OK;
}

hull_status answer_item(json_t *array, json_t *j)
{
    if (!j || json_array_append_new(array, j) != 0)
        return fail_oom(0);
    return HULL_OK;
}

json_t *json_str(str s)
{
    return json_text(s);
}

hull_status answer_warning(cli *c, const char *text)
{
    fprintf(stderr, "hull: %s\n", text);
    return c->json ? answer(c->result, "warning", json_str(str_of(text)))
                   : HULL_OK;
}

static int put_json(cli *c, hull_status st, const char *text)
{
    json_t *result = c->result ? c->result : json_object();
    int bad = !result;

    if (st != HULL_OK && result) {
        bad |= json_object_set_new(result, "error", json_str(str_of(text)));
        bad |= json_object_set_new(result, "status",
                                   json_string(hull_status_name(st)));
    }
    bad |= json_dumpf(result, stdout, JSON_INDENT(2));
    putchar('\n');
    c->result = NULL;
    json_decref(result);
    return bad;
}

int answer_end(cli *c, hull_status st)
{
    char text[ERROR_TEXT_MAX];
    int code = exit_code_of(c, st), bad = 0;

    snprintf(text, sizeof(text), "%s", error_text());
    if (c->json)
        bad = put_json(c, st, text);
    bad |= fflush(stdout) != 0 || ferror(stdout);
    if (st != HULL_OK && !c->json)
        fprintf(stderr, "hull: %s\n", text);
    if (bad && code == 0) {
        fprintf(stderr, "hull: standard output cannot be written\n");
        code = EXIT_CODE_SYSTEM;
    }
    return code;
}

/* ---- progress ------------------------------------------------------------ */

typedef struct progress {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool running, stop;
    char what[256];
} progress;

/* The line belongs to the one terminal of the process. */
static progress shown = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *show(void *user)
{
    progress *p = user;
    uint64_t start = time_ns();
    bool drawn = false;
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        at.tv_nsec += 500000000;
        if (at.tv_nsec >= 1000000000) {
            at.tv_nsec -= 1000000000;
            at.tv_sec++;
        }
        while (!p->stop &&
               pthread_cond_timedwait(&p->wake, &p->lock, &at) == 0)
            ;
        if (p->stop)
            break;
        fprintf(stderr, "\r\033[K%s ... %.1f s", p->what,
                (double)(time_ns() - start) * 1e-9);
        fflush(stderr);
        drawn = true;
    }
    pthread_mutex_unlock(&p->lock);
    if (drawn)
        fputs("\r\033[K", stderr);
    return NULL;
}

void progress_begin(const cli *c, const char *what, const char *name)
{
    pthread_condattr_t clock;

    if (c->json || !isatty(STDERR_FILENO) || shown.running)
        return;
    snprintf(shown.what, sizeof(shown.what), "%s %s", what, path_base(name));
    shown.stop = false;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&shown.wake, &clock);
    pthread_condattr_destroy(&clock);
    /* Without a thread there is no progress line; the work goes on. */
    shown.running =
        pthread_create(&shown.thread, NULL, show, &shown) == 0;
    if (!shown.running)
        pthread_cond_destroy(&shown.wake);
}

void progress_end(void)
{
    if (!shown.running)
        return;
    pthread_mutex_lock(&shown.lock);
    shown.stop = true;
    pthread_cond_signal(&shown.wake);
    pthread_mutex_unlock(&shown.lock);
    pthread_join(shown.thread, NULL);
    pthread_cond_destroy(&shown.wake);
    shown.running = false;
}
