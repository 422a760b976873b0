/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * options.h - typed access to the rows of options.def. The table is the only
 * place that knows an option's spelling, type, bounds and effect on the key.
 */
#ifndef HULL_OPTIONS_H
#define HULL_OPTIONS_H

#include "base/base.h"

#define OPT(key, ...) OPT_##key,
typedef enum option_id {
#include "options/options.def"
    OPT_COUNT
} option_id;
#undef OPT

typedef struct hull_options options;

hull_status options_new(options **out) MUST_CHECK;
hull_status options_copy(options **out, const options *o) MUST_CHECK;
void options_free(options *o);
/* Accessors take o NULL for the defaults. */
int64_t option_int(const options *o, option_id id); /* INT, BYTES, BOOL */
bool option_on(const options *o, option_id id);
str option_str(const options *o, option_id id);
/* Is `word` one of the comma-separated words of a STR option? */
bool option_lists(const options *o, option_id id, str word);
/* Appends "key=value\n" for every CODE option: a part of the cache key. */
void options_code_text(buf *out, const options *o);
/* The same for every option that a plan depends on: CODE, PLAN, and `keep`,
 * which says whose values the plan holds. */
void options_plan_text(buf *out, const options *o);

#endif
