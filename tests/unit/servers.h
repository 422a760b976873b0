/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * servers.h - real servers on the loopback for tests of stores: redis-server,
 * nginx with DAV, and the store that misbehaves. Each ends with its test.
 */
#ifndef HULL_SERVERS_H
#define HULL_SERVERS_H

#include "cache_unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

typedef struct server {
    pid_t pid;
    int port, second_port, in; /* in: ends the server when it is closed */
} server;

/* The path of a program, NULL when it is not installed. */
UNUSED static const char *program(const char *name)
{
    static char path[128];
    static const char *const folders[] = {"/usr/bin", "/usr/sbin", "/bin",
                                          "/usr/local/bin",
                                          "/usr/local/sbin"};

    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

#define NEED(name)                                                      \
    do {                                                                \
        if (program(name) == NULL) {                                    \
            print_message("skipped: no %s: scripts/setup.sh test\n",    \
                          name);                                        \
            skip();                                                     \
        }                                                               \
    } while (0)

UNUSED static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(s, (struct sockaddr *)&a, n), 0);
    assert_int_equal(getsockname(s, (struct sockaddr *)&a, &n), 0);
    close(s);
    return ntohs(a.sin_port);
}

UNUSED static bool answers(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    bool good = connect(s, (struct sockaddr *)&a, sizeof a) == 0;

    close(s);
    return good;
}

UNUSED static void wait_for(const server *s)
{
    for (int i = 0; i < 2000 && !answers(s->port); i++) {
        assert_int_equal(waitpid(s->pid, NULL, WNOHANG), 0);
        usleep(5000);
    }
    assert_true(answers(s->port));
}

/* Its output goes to `out`, or nowhere. */
UNUSED static server start(const char *path, char *const argv[], int out)
{
    int pipe_fds[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    server s = {0};

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    s.pid = fork();
    assert_true(s.pid >= 0);
    if (s.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipe_fds[0], 0);
        dup2(out >= 0 ? out : null, 1);
        dup2(null, 2);
        execv(path, argv);
        _exit(127);
    }
    close(pipe_fds[0]);
    close(null);
    s.in = pipe_fds[1];
    return s;
}

UNUSED static void stop_server(server *s)
{
    if (s->pid <= 0)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    close(s->in);
    *s = (server){0};
}

/* ---- one server for each test, and a log without secrets ----------------- */

static server served;
static int secrets_seen;

/* What was logged; a secret or a control byte in it is a failure. */
static void watch_log(void *user, const char *subsystem, int level,
                      const char *text)
{
    (void)user;
    (void)subsystem;
    (void)level;
    if (strstr(text, "s3cret") != NULL || strstr(text, "t0ken") != NULL)
        secrets_seen++;
    for (const char *p = text; *p != '\0'; p++)
        if (*p != '\n' && ((unsigned char)*p < ' ' || *p == 0x7f))
            secrets_seen++;
}

static int set_up(void **state)
{
    hull_set_log(watch_log, NULL);
    secrets_seen = 0;
    return make_folder(state);
}

static int tear_down(void **state)
{
    stop_server(&served);
    hull_set_log(NULL, NULL);
    if (secrets_seen > 0)
        print_error("%d lines of the log hold what they must not\n",
                    secrets_seen);
    return remove_folder(state) != 0 || secrets_seen > 0;
}

#define SERVED(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* ---- the servers --------------------------------------------------------- */

/* On a port and on the socket "redis.sock" of the test's folder. */
UNUSED static server start_redis_on(int port, const char *password)
{
    char number[16], sock[128];
    char *argv[] = {"redis-server", "--port", number, "--bind", "127.0.0.1",
                    "--unixsocket", sock, "--save", "", "--appendonly", "no",
                    "--dir", folder, "--loglevel", "warning", "--requirepass",
                    (char *)password, NULL};
    server s;

    snprintf(number, sizeof number, "%d", port);
    snprintf(sock, sizeof sock, "%s/redis.sock", folder);
    s = start(program("redis-server"), argv, -1);
    s.port = port;
    wait_for(&s);
    return s;
}

UNUSED static server start_redis(const char *password)
{
    return start_redis_on(free_port(), password);
}

/* Locations: / takes and gives; /token/ and /basic/ want credentials; /moved/
 * redirects to /; /broken/ answers 503. `more` are further servers. */
UNUSED static server start_nginx_with(const char *more)
{
    static const char config[] =
        "daemon off;\nmaster_process off;\npid nginx.pid;\n"
        "error_log error.log;\nevents { }\nhttp {\n  access_log access.log;\n"
        "  client_body_temp_path t1;\n  proxy_temp_path t2;\n"
        "  fastcgi_temp_path t3;\n  uwsgi_temp_path t4;\n"
        "  scgi_temp_path t5;\n  client_max_body_size 0;\n  server {\n"
        "    listen 127.0.0.1:%d;\n    root www;\n"
        "    dav_methods PUT DELETE;\n    create_full_put_path on;\n"
        "    location / { }\n"
        "    location /token/ { if ($http_authorization != \"Bearer t0ken\")"
        " { return 401; } }\n"
        "    location /basic/ { if ($http_authorization != "
        "\"Basic dTpw\") { return 401; } }\n"
        "    location /moved/ { rewrite ^/moved/(.*)$ /$1;\n"
        "      return 307 $uri; }\n"
        "    location /broken/ { return 503; }\n  }\n%s}\n";
    char text[3072], prefix[80];
    char *argv[] = {"nginx", "-p", prefix, "-c", "nginx.conf", "-e",
                    "error.log", NULL};
    int port = free_port();
    server s;

    snprintf(text, sizeof text, config, port, more);
    snprintf(prefix, sizeof prefix, "%s/", folder);
    file_in("nginx.conf", text);
    assert_int_equal(mkdir(path_in("www"), 0700), 0);
    s = start(program("nginx"), argv, -1);
    s.port = port;
    wait_for(&s);
    return s;
}

UNUSED static server start_nginx(void)
{
    return start_nginx_with("");
}

UNUSED static void serve_redis(const char *password)
{
    NEED("redis-server");
    served = start_redis(password);
}

UNUSED static void serve_nginx(void)
{
    NEED("nginx");
    served = start_nginx();
}

/* b has a folder without what a gives to the store of both. */
UNUSED static void check_own_memory(cache *a, cache *b)
{
    put_number(a, 1, 3000);
    each_allocation_fails(b, 1);
    assert_true(stat_of(b, "errors") > 0);
    cache_unref(a);
    cache_unref(b);
}

/* A certificate for 127.0.0.1 that vouches for itself: cert.pem, key.pem. */
UNUSED static void make_certificate(void)
{
    char key[128], cert[128];
    char *argv[] = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=hull", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                    cert, NULL};
    server maker;
    int status;

    snprintf(key, sizeof key, "%s/key.pem", folder);
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    maker = start(program("openssl"), argv, -1);
    assert_int_equal(waitpid(maker.pid, &status, 0), maker.pid);
    assert_int_equal(status, 0);
    close(maker.in);
}

/* Redis over TLS alone. */
UNUSED static server start_redis_tls(void)
{
    char number[16], key[128], cert[128];
    char *argv[] = {"redis-server", "--port", "0", "--bind", "127.0.0.1",
                    "--tls-port", number, "--tls-cert-file", cert,
                    "--tls-key-file", key, "--tls-ca-cert-file", cert,
                    "--tls-auth-clients", "no", "--save", "", "--dir",
                    folder, NULL};
    int port = free_port();
    server s;

    make_certificate();
    snprintf(number, sizeof number, "%d", port);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    s = start(program("redis-server"), argv, -1);
    s.port = port;
    wait_for(&s);
    return s;
}

/* Has a certificate of its own for 127.0.0.1, "cert.pem", on the second port;
 * /plain/ redirects to a store without TLS, /moved/ to one with. */
UNUSED static server start_nginx_tls(void)
{
    static const char block[] =
        "  server {\n    listen 127.0.0.1:%d ssl;\n    root www;\n"
        "    ssl_certificate cert.pem;\n    ssl_certificate_key key.pem;\n"
        "    dav_methods PUT DELETE;\n    create_full_put_path on;\n"
        "    location / { }\n"
        "    location /moved/ { rewrite ^/moved/(.*)$ /$1;\n"
        "      return 307 $uri; }\n"
        "    location /plain/ { rewrite ^/plain/(.*)$ /$1;\n"
        "      return 307 http://127.0.0.1:%d$uri; }\n  }\n";
    server s, plain = {.port = free_port()};
    int port = free_port();
    char more[1024];

    make_certificate();
    snprintf(more, sizeof more, block, port, plain.port);
    snprintf(more + strlen(more), sizeof more - strlen(more),
             "  server {\n    listen 127.0.0.1:%d;\n    root www;\n"
             "    dav_methods PUT DELETE;\n    create_full_put_path on;\n"
             "  }\n", plain.port);
    s = start_nginx_with(more);
    s.second_port = port;
    return s;
}

/* Two ports: HTTP and Redis. What it was asked is in the file "log". */
UNUSED static server start_hostile(void)
{
    char script[] = "tests/hostile_store.py", log[128], line[64] = "";
    char *argv[] = {"python3", script, log, NULL};
    int pipe_fds[2];
    size_t n = 0;
    server s;

    snprintf(log, sizeof log, "%s/log", folder);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    s = start(program("python3"), argv, pipe_fds[1]);
    close(pipe_fds[1]);
    while (n < sizeof line - 1 && read(pipe_fds[0], line + n, 1) == 1 &&
           line[n] != '\n')
        n++;
    close(pipe_fds[0]);
    assert_int_equal(sscanf(line, "%d %d", &s.port, &s.second_port), 2);
    return s;
}

/* Lines of the misbehaving store's log that hold the text. */
UNUSED static int logged(const char *text)
{
    char *all, *at;
    size_t size;
    int n = 0;

    OK(file_read_all(&all, &size, path_in("log"), 1 << 24));
    for (at = all; (at = strstr(at, text)) != NULL; at++)
        n++;
    mem_free(all);
    return n;
}

UNUSED static void serve_hostile(void)
{
    NEED("python3");
    served = start_hostile();
}

#endif
