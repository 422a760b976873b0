/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * module_file.h - the weights' sections of a module file, for the files of
 * src/run only: module_file.c decides which of them are written and used,
 * sources_file.c owns tensors and binding, slots_file.c the prepared slots.
 */
#ifndef HULL_RUN_MODULE_FILE_H
#define HULL_RUN_MODULE_FILE_H

#include "compile/plan_file.h"
#include "run/module.h"

/* ---- sources_file.c ------------------------------------------------------ */

/* Sections "binding", "binding.graphs", "binding.pins": which tensor or recipe
 * is each hole's value, by the checkpoint's names. */
hull_status binding_write(container_writer *cw, const plan *p,
                          const binding *b) MUST_CHECK;
/* The same over w, which must have what the binding names: else `code`. */
hull_status binding_read(binding **out, container *c, const plan *p,
                         weights *w, hull_status code) MUST_CHECK;

/* HULL_EINVAL when e was in memory that the caller has taken back. */
hull_status tensor_is_there(const weights *w, const weight_entry *e)
    MUST_CHECK;
/* Tensors on their way into a file; alive until the file is written. */
typedef struct sources_writer sources_writer;
/* Sections "sources.index" and "sources", which is streamed. */
hull_status sources_write(sources_writer **out, container_writer *cw,
                          const plan *p, const binding *b) MUST_CHECK;
void sources_writer_free(sources_writer *sw);
/* An index of the tensors inside the module file; takes f. */
hull_status sources_open(weights **out, container *c, file *f) MUST_CHECK;

/* ---- slots_file.c -------------------------------------------------------- */

typedef struct slots_writer slots_writer;
/* Sections "slots.index" and "slots", which is streamed. */
hull_status slots_write(slots_writer **out, container_writer *cw, module *m,
                        const weight_set *s) MUST_CHECK;
void slots_writer_free(slots_writer *sw);
/* Whether the file has slots that these very engines made. */
hull_status slots_fit(bool *out, container *c, const plan *p) MUST_CHECK;
/* A set of the file's slots, which stay in the mapping where the backend reads
 * host memory. w holds the file. Takes b, which may be NULL. */
hull_status slots_read(weight_set **out, container *c, module *m, weights *w,
                       binding *b) MUST_CHECK;

#endif
