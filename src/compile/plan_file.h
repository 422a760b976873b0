/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * plan_file.h - what the writers and readers of a module file share: sections
 * that are JSON documents, and the checks of a recipe that came from a file.
 * plan_file.c owns the sections of the plan, src/run those of the weights.
 */
#ifndef HULL_PLAN_FILE_H
#define HULL_PLAN_FILE_H

#include <jansson.h>

#include "compile/compile.h"

/* Largest text sections that are read, bytes: a compressed one may claim
 * much. */
#define MODULE_TEXT_MAX ((uint64_t)1 << 28)
#define MODULE_PINS_MAX ((uint64_t)1 << 30)

/* ---- plan_json.c --------------------------------------------------------- */

/* An empty object. Build every document from it: the first one also hands
 * jansson our allocator, which must not change while a document lives. */
hull_status json_new(json_t **out) MUST_CHECK;
/* Take v in every case; NULL (no memory) is HULL_ENOMEM. */
hull_status json_put(json_t *object, const char *key, json_t *v) MUST_CHECK;
hull_status json_push(json_t *array, json_t *v) MUST_CHECK;
/* object[key] = [], which *out borrows. */
hull_status json_put_array(json_t **out, json_t *object, const char *key)
    MUST_CHECK;
/* Bytes that are not UTF-8 become '?'. NULL without memory. */
json_t *json_text(str s);
json_t *json_shape(const int64_t *dims, uint32_t rank);
json_t *json_texts(const str *s, uint32_t n);
hull_status json_print(buf *out, const json_t *j) MUST_CHECK;

/* obj[key] is an integer from 0 to max. */
hull_status json_want_u64(uint64_t *out, json_t *obj, const char *key,
                          uint64_t max, const char *what) MUST_CHECK;
hull_status json_want_u32(uint32_t *out, json_t *obj, const char *key,
                          uint32_t max, const char *what) MUST_CHECK;
/* obj[key] is a list of at most HULL_MAX_RANK sizes. */
hull_status json_want_shape(int64_t *dims, uint32_t *rank, json_t *obj,
                            const char *key, const char *what) MUST_CHECK;
hull_status json_want_dtype(hull_dtype *out, json_t *obj, const char *key,
                            const char *what) MUST_CHECK;
hull_status json_want_digest(digest *out, json_t *obj, const char *key,
                             const char *what) MUST_CHECK;

hull_status section_add_json(container_writer *w, const char *tag,
                             const json_t *j) MUST_CHECK;
hull_status section_get_json(json_t **out, container *c, const char *tag)
    MUST_CHECK;

/* ---- plan_file.c --------------------------------------------------------- */

/* Large literals of two irs (either may be NULL) as one section. */
hull_status section_add_pins(container_writer *w, const char *tag,
                             const ir *a, const ir *b) MUST_CHECK;
/* A text of graphs; an empty section gives an empty ir. */
hull_status section_get_ir(ir **out, container *c, const char *tag,
                           const ir *pins) MUST_CHECK;
/* Recipe `number`, for one hole only: a file in which many holes share a large
 * one would cost its size many times. */
hull_status recipe_take(graph **out, const ir *recipes, bool *taken,
                        uint32_t number) MUST_CHECK;
/* A recipe is one pure computation over weight leaves, its shapes are fixed,
 * and its result is what the hole wants. HULL_EFORMAT. */
hull_status recipe_check(const graph *recipe, const plan_hole *h) MUST_CHECK;
/* Writes the option `backends` for a file: those of o, behind those of the
 * file's engines that this build has and o does not name. */
hull_status plan_file_backends(buf *out, container *c, const options *o)
    MUST_CHECK;

#endif
