/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * refit.c - compile, run, refit, run: the whole API in one page.
 *
 *     refit MODEL FIRST.safetensors SECOND.safetensors
 *
 * Build: cc refit.c $(pkg-config --cflags --libs hull), or CMakeLists.txt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <hull.h>

static void check(hull_status st)
{
    if (st == HULL_OK)
        return;
    fprintf(stderr, "refit: %s: %s\n", hull_status_name(st), hull_last_error());
    exit(1);
}

static float data[1 << 16];

/* One f32 input: a ramp, with 1 for every symbolic dim. */
static hull_tensor make_input(const hull_module *m, int64_t *shape)
{
    hull_tensor_info info;
    int64_t n = 1;

    check(hull_module_input(m, 0, &info));
    for (int32_t i = 0; i < info.rank; i++) {
        shape[i] = info.shape[i] < 0 ? 1 : info.shape[i];
        n *= shape[i];
    }
    if (info.dtype != HULL_F32 || n > (int64_t)(sizeof(data) / sizeof(*data)))
        exit(1);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)(i % 17) / 16.0F;
    return (hull_tensor){ .data = data, .shape = shape, .rank = info.rank,
                          .dtype = HULL_F32 };
}

static void run(hull_session *s, const hull_tensor *in, const char *what)
{
    hull_tensor out = { 0 };

    check(hull_session_run(s, in, 1, &out, 1));
    printf("%s, weight set %llu:", what,
           (unsigned long long)hull_session_version(s));
    for (int64_t i = 0; i < out.shape[out.rank - 1] && i < 4; i++)
        printf(" %.6f", (double)((const float *)out.data)[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    hull_weights *first, *second;
    hull_module *m;
    hull_session *s;
    int64_t shape[HULL_MAX_RANK];
    hull_tensor in;

    if (argc != 4)
        return 2;
    check(hull_weights_open(&first, argv[2]));
    check(hull_weights_open(&second, argv[3]));
    check(hull_compile(&m, argv[1], first, NULL, NULL));
    check(hull_session_new(&s, m, NULL));
    in = make_input(m, shape);
    run(s, &in, "first");
    check(hull_refit(m, second, NULL, NULL));
    run(s, &in, "second");
    hull_session_free(s);
    hull_module_unref(m);
    hull_weights_unref(second);
    hull_weights_unref(first);
    return 0;
}
