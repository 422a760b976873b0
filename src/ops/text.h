/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * text.h - inside src/ops only: what the ops on strings share. The bytes of a
 * string live to the end of the run, whoever made them (the caller's input,
 * the graph's attributes, the run's arena), so parts of one are views.
 */
#ifndef HULL_OPS_TEXT_H
#define HULL_OPS_TEXT_H

#include "ops/op.h"

/* ---- text_case.c: characters --------------------------------------------- */

/* The character at p, n > 0: its bytes, and *out; TEXT_NO_CHAR and 1 where the
 * bytes are no UTF-8. */
#define TEXT_NO_CHAR UINT32_MAX
size_t text_char(uint32_t *out, const char *p, size_t n);
bool text_is_space(uint32_t c);
/* One character for one: Latin, Greek, Cyrillic, Armenian and fullwidth
 * letters, whatever the language. Bytes that are no UTF-8 stay. */
hull_status text_upper(hull_string *out, arena *a, hull_string s) MUST_CHECK;
hull_status text_lower(hull_string *out, arena *a, hull_string s) MUST_CHECK;

/* ---- text_regex.c: the one file that knows PCRE2 ------------------------- */

typedef struct regex regex;
/* RE2's syntax without \C, \v and octal escapes. HULL_EUNSUPPORTED when
 * the build has no PCRE2 or RE2 has no such construct; HULL_EINVAL names the
 * place of a mistake. */
hull_status regex_new(regex **out, str pattern) MUST_CHECK;
void regex_free(regex *r);
/* The whole of s; false for what is no UTF-8. HULL_EUNSUPPORTED when it takes
 * too many steps. */
hull_status regex_match(bool *out, const regex *r, hull_string s) MUST_CHECK;

/* ---- text_ngrams.c ------------------------------------------------------- */

hull_status ngrams_infer(graph *g, node *n) MUST_CHECK;
hull_status ngrams_eval(eval_ctx *cx, const node *n, const tensor *in,
                        tensor *out) MUST_CHECK;

/* ---- text_number.c: cast ------------------------------------------------- */

hull_status text_cast(eval_ctx *cx, const node *n, const tensor *in,
                      tensor *out) MUST_CHECK;

#endif
