// SPDX-License-Identifier: Apache-2.0
// status.h: failures as values, with TensorFlow's codes and a text that helps.
// A function that can fail returns fy_code and takes `fy_error *err` last; |err| may be NULL.
// Invariant: making an error needs no allocation; a long text uses the heap when it can be had and
// is cut at the inline size when it cannot.

#ifndef FY_BASE_STATUS_H
#define FY_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fy_code {
  FY_OK = 0,
  FY_CANCELLED = 1,
  FY_UNKNOWN = 2,
  FY_INVALID_ARGUMENT = 3,
  FY_DEADLINE_EXCEEDED = 4,
  FY_NOT_FOUND = 5,
  FY_ALREADY_EXISTS = 6,
  FY_PERMISSION_DENIED = 7,
  FY_RESOURCE_EXHAUSTED = 8,
  FY_FAILED_PRECONDITION = 9,
  FY_ABORTED = 10,
  FY_OUT_OF_RANGE = 11,
  FY_UNIMPLEMENTED = 12,
  FY_INTERNAL = 13,
  FY_UNAVAILABLE = 14,
  FY_DATA_LOSS = 15,
  FY_UNAUTHENTICATED = 16,
} fy_code;

#define FY_ERROR_INLINE 488

// Not copyable by assignment once it holds heap text: use fy_error_move.
typedef struct fy_error {
  fy_code code;
  uint32_t len;  // bytes of text, without the final NUL
  char *heap;    // NULL while the text fits inline
  char text[FY_ERROR_INLINE];
} fy_error;

#define FY_MUST_CHECK   __attribute__((warn_unused_result))
#define FY_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define FY_LIKELY(x)    __builtin_expect(!!(x), 1)
#define FY_UNLIKELY(x)  __builtin_expect(!!(x), 0)

// The one macro that hides control flow: returns the code of |expr| if it is not FY_OK.
#define FY_TRY(expr)                                             \
  do {                                                           \
    fy_code fy_try_code_ = (expr);                               \
    if (FY_UNLIKELY(fy_try_code_ != FY_OK)) return fy_try_code_; \
  } while (0)

void fy_error_init(fy_error *err);   // cheap: does not touch the text
void fy_error_clear(fy_error *err);  // frees heap text, back to FY_OK
void fy_error_move(fy_error *to, fy_error *from);
const char *fy_error_text(const fy_error *err);  // never NULL; "" for FY_OK

// Sets code and text, replacing what was there; returns |code| so that callers can `return fy_fail(…)`.
fy_code fy_fail(fy_error *err, fy_code code, const char *format, ...) FY_PRINTF(3, 4);
fy_code fy_failv(fy_error *err, fy_code code, const char *format, va_list args);
fy_code fy_fail_oom(fy_error *err, size_t bytes);  // RESOURCE_EXHAUSTED for host bookkeeping memory

// Adds to the text of an error that is already set (e.g. the node it happened in).
void fy_error_append(fy_error *err, const char *format, ...) FY_PRINTF(2, 3);
void fy_error_prepend(fy_error *err, const char *format, ...) FY_PRINTF(2, 3);

const char *fy_code_name(fy_code code);  // "INVALID_ARGUMENT"

#ifdef __clang_analyzer__  // what the analyzer cannot see from here: these never return FY_OK
void fy_analyzer_saw(const fy_error *err, ...);
#define fy_fail(err, code, ...) (fy_analyzer_saw((err), __VA_ARGS__), (fy_code)(code))
#define fy_fail_oom(err, bytes) (fy_analyzer_saw((err), (bytes)), FY_RESOURCE_EXHAUSTED)
#endif

#endif
