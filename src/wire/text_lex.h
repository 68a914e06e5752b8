// SPDX-License-Identifier: Apache-2.0
// text_lex.h: the tokens of protobuf text, with their place. Used by text_parse.c only.

#ifndef FY_WIRE_TEXT_LEX_H
#define FY_WIRE_TEXT_LEX_H

#include "base/arena.h"
#include "base/status.h"

typedef enum fy_wire_token_kind {
  FY_WIRE_TOKEN_END,
  FY_WIRE_TOKEN_NAME,    // identifier
  FY_WIRE_TOKEN_NUMBER,  // 12, 0x1f, 017, 1.5e3f
  FY_WIRE_TOKEN_STRING,  // with its quotes
  FY_WIRE_TOKEN_PUNCT,   // one character
  FY_WIRE_TOKEN_BAD,     // a character that starts nothing, or a string without its end
} fy_wire_token_kind;

typedef struct fy_wire_lexer {
  const char *at, *end;    // what is left
  const char *line_start;  // of the current token
  unsigned line;
  fy_wire_token_kind kind;  // the current token
  const char *p;
  size_t n;
  unsigned column;
} fy_wire_lexer;

void fy_wire_lex_init(fy_wire_lexer *lex, const char *text, size_t n);  // at the first token
void fy_wire_lex_next(fy_wire_lexer *lex);
bool fy_wire_lex_is(const fy_wire_lexer *lex, char punct);

// INVALID_ARGUMENT whose text starts with the place of the current token.
fy_code fy_wire_lex_fail(const fy_wire_lexer *lex, fy_error *err, const char *format, ...)
    FY_PRINTF(3, 4);

// The current token and all string tokens after it, unescaped and joined; NUL-ended, in |arena|.
FY_MUST_CHECK fy_code fy_wire_lex_string(fy_wire_lexer *lex, fy_arena *arena, char **out,
                                         size_t *out_n, fy_error *err);
// The current NUMBER token (any sign was read before) as an unsigned value or a real.
bool fy_wire_lex_uint(const fy_wire_lexer *lex, uint64_t *out);
bool fy_wire_lex_real(const fy_wire_lexer *lex, double *out);

#endif
