/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * lex.h - tokens of the language, for parse.c and its parts.
 */
#ifndef HULL_LEX_H
#define HULL_LEX_H

#include "ir/ir_private.h"

typedef enum tok_kind {
    TOK_END,
    TOK_IDENT,
    TOK_INT,    /* decimal digits */
    TOK_FLOAT,  /* digits with a point or an exponent, no sign */
    TOK_HEX,    /* 0x... */
    TOK_STRING, /* text is what the quotes contain, escapes undone */
    TOK_DIGEST, /* '#' and hex digits; text is the digits */
    TOK_ARROW,  /* -> */
    TOK_DOTS,   /* .. */
    TOK_PUNCT   /* one character, in `c` */
} tok_kind;

typedef struct token {
    tok_kind kind;
    char c;
    str text;
    size_t off; /* where it starts */
    uint32_t line, column;
} token;

typedef struct lexer {
    str text;
    size_t at, line_start;
    uint32_t line;
    token tok; /* the current token */
    ir *m;     /* strings with escapes go to its arena */
} lexer;

void lex_init(lexer *x, str text, ir *m);
/* Reads the next token into x->tok. */
hull_status lex_next(lexer *x) MUST_CHECK;
/* HULL_EFORMAT "line L column C: <text>, found <token>". */
hull_status lex_wanted(const lexer *x, const char *wanted);
/* "line L column C: " and the rest, at the current token. */
hull_status lex_fail(const lexer *x, const char *fmt, ...) PRINTF_LIKE(2, 3);

bool lex_is(const lexer *x, char c);
bool lex_is_word(const lexer *x, const char *word);
/* Skips the punctuation c, which must be there. */
hull_status lex_skip(lexer *x, char c) MUST_CHECK;
/* Skips c when it is there; *out tells. */
hull_status lex_try(lexer *x, char c, bool *out) MUST_CHECK;
hull_status lex_word(lexer *x, const char *word) MUST_CHECK;
hull_status lex_ident(lexer *x, str *out) MUST_CHECK;
hull_status lex_string(lexer *x, str *out) MUST_CHECK;
/* An optional '-' and an integer. */
hull_status lex_i64(lexer *x, int64_t *out) MUST_CHECK;

/* parse_type.c */
hull_status parse_dim(lexer *x, dim *out) MUST_CHECK;
hull_status parse_type(lexer *x, type *out) MUST_CHECK;

/* parse_attr.c: literals wait for their type, which stands behind them. */
typedef struct element {
    token tok;
    bool negative;
    uint64_t nan; /* bits of nan(0x...) */
    bool has_nan;
} element;

typedef struct raw_literal {
    const char *attr;
    element *p;
    uint32_t n;
    size_t cap;
    bool present, list, has_type, has_digest;
    type type;
    digest digest;
    token at;
} raw_literal;

typedef struct parser {
    lexer x;
    ir *m;
    const ir *pins;
    graph *g;
    region *r;       /* where nodes go */
    strmap values;   /* text of a value -> its id */
    strmap graphs;   /* names of the graphs so far */
    raw_literal lit; /* of the node being read */
    uint32_t depth;
} parser;

/* '{' name '=' value ... '}' */
hull_status parse_attrs(parser *p, node *n) MUST_CHECK;
/* Makes the attribute of p->lit, once the node's types are known. */
hull_status parse_literal_finish(parser *p, node *n,
                                 const type *first) MUST_CHECK;
/* parse.c */
hull_status parse_body(parser *p, node *n, const char *attr) MUST_CHECK;

#endif
