/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * onnx_external.c - opens the file that a TensorProto names as its location.
 * The name is hostile: it must be relative, without "..", and what it leads to
 * a regular file in the model's folder, links or not (file_map_below). Each
 * file is mapped once per index.
 */
#include <string.h>

#include "weights/onnx_data.h"

/* The location beside the model. */
static hull_status external_path(char **out, const char *model, str location)
{
    char *z = mem_strndup(location.p, location.n), *dir = path_dir(model);

    *out = z && dir ? path_join(dir, z) : NULL;
    mem_free(z);
    mem_free(dir);
    return *out ? HULL_OK : fail_oom(location.n);
}

hull_status onnx_external_file(int32_t *out, weights *w, const char *model,
                               str location)
{
    file f = { .fd = -1 };
    hull_status st;
    char *path;

    *out = -1;
    if (!str_is_safe_path(location))
        return fail(HULL_EFORMAT,
                    "external data '%.*s' is not a relative path below the "
                    "model's folder",
                    STR_ARG(location));
    TRY(external_path(&path, model, location));
    for (size_t i = w->n_files; i-- > 0;) {
        if (strcmp(w->files[i].path, path) == 0) {
            mem_free(path);
            *out = (int32_t)i;
            return HULL_OK;
        }
    }
    st = note(file_map_below(&f, path, model), "external data");
    if (st == HULL_OK)
        st = weights_take_file(w, &f, out);
    mem_free(path);
    file_close(&f);
    return st;
}
