// SPDX-License-Identifier: Apache-2.0
// status.c: error values. Text is always made in a local buffer first, because the arguments may
// point into the very error that is being replaced ("%s: while ..." around the old text).

#include "base/status.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#undef fy_fail  // (macros only for the analyzer)
#undef fy_fail_oom

// A formatted text: in |local| while it fits, else in |heap|.
typedef struct piece {
  char *heap;
  size_t len;
  char local[FY_ERROR_INLINE];
} piece;

static void piece_cut(piece *p) {
  p->len = sizeof p->local - 1;
  memcpy(p->local + p->len - 3, "...", 4);
}

static void piece_format(piece *p, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  p->heap = NULL;
  int n = vsnprintf(p->local, sizeof p->local, format, args);
  if (n < 0) {  // the C library could not format: the bare format still says something
    n = snprintf(p->local, sizeof p->local, "%s", format);
    p->len = (size_t)n < sizeof p->local ? (size_t)n : sizeof p->local - 1;
  } else if ((size_t)n < sizeof p->local) {
    p->len = (size_t)n;
  } else if ((p->heap = fy_malloc((size_t)n + 1)) != NULL) {
    vsnprintf(p->heap, (size_t)n + 1, format, again);
    p->len = (size_t)n;
  } else {
    piece_cut(p);
  }
  va_end(again);
}

void fy_error_init(fy_error *err) {
  err->code = FY_OK;
  err->len = 0;
  err->heap = NULL;
}

void fy_error_clear(fy_error *err) {
  if (!err) return;
  fy_free(err->heap);
  fy_error_init(err);
}

void fy_error_move(fy_error *to, fy_error *from) {
  if (to == from) return;
  fy_error_clear(to);
  to->code = from->code;
  to->len = from->len;
  to->heap = from->heap;
  if (!from->heap && from->len) memcpy(to->text, from->text, (size_t)from->len + 1);
  fy_error_init(from);
}

const char *fy_error_text(const fy_error *err) {
  if (!err || err->code == FY_OK || err->len == 0) return "";
  return err->heap ? err->heap : err->text;
}

fy_code fy_failv(fy_error *err, fy_code code, const char *format, va_list args) {
  if (!err) return code;
  piece p;
  piece_format(&p, format, args);
  fy_free(err->heap);  // only now: an argument may have pointed into it
  err->code = code;
  err->len = (uint32_t)p.len;
  err->heap = p.heap;
  if (!p.heap) memcpy(err->text, p.local, p.len + 1);
  return code;
}

fy_code fy_fail(fy_error *err, fy_code code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fy_failv(err, code, format, args);
  va_end(args);
  return code;
}

fy_code fy_fail_oom(fy_error *err, size_t bytes) {
  return fy_fail(err, FY_RESOURCE_EXHAUSTED, "Out of host memory: could not allocate %zu bytes",
                 bytes);
}

void fy_error_append(fy_error *err, const char *format, ...) {
  if (!err || err->code == FY_OK) return;
  piece p;
  va_list args;
  va_start(args, format);
  piece_format(&p, format, args);
  va_end(args);
  fy_fail(err, err->code, "%s%s", fy_error_text(err), p.heap ? p.heap : p.local);
  fy_free(p.heap);
}

void fy_error_prepend(fy_error *err, const char *format, ...) {
  if (!err || err->code == FY_OK) return;
  piece p;
  va_list args;
  va_start(args, format);
  piece_format(&p, format, args);
  va_end(args);
  fy_fail(err, err->code, "%s%s", p.heap ? p.heap : p.local, fy_error_text(err));
  fy_free(p.heap);
}

const char *fy_code_name(fy_code code) {
  static const char *const names[] = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS",
      "UNAUTHENTICATED",
  };
  size_t i = (size_t)code;
  return i < sizeof names / sizeof *names ? names[i] : "UNKNOWN_CODE";
}
