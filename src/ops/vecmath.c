// SPDX-License-Identifier: Apache-2.0
// vecmath.c: see vecmath.h.

#include "ops/vecmath.h"

#include <string.h>

#include "ops/fused.h"

#define VEC(S, name, op)                                                              \
  void fy_vec_##name##_##S(const void *in, void *out, int64_t n, const void *param) { \
    (void)param;                                                                      \
    fy_lanes_best()->unary_##S[op](in, out, n);                                       \
  }
#define VEC_f32(name, op) VEC(f32, name, op)
#define VEC_f64(name, op) VEC(f64, name, op)
FY_VEC_FUNCTIONS_f32(VEC_f32) FY_VEC_FUNCTIONS_f64(VEC_f64)

    void fy_vec_atan2_f32(const void *a, int64_t sa, const void *b, int64_t sb, void *o, int64_t n,
                          int *bad) {
  (void)bad;
  fy_lanes_best()->atan2_f32(a, sa, b, sb, o, n);
}

enum { MOST_BYTES = 64 };  // of a vector

// |code| over whole vectors; the last elements with some before them again, or, where these are overwritten, as a vector
// of their own. |b|: an array or a constant.
static void run_code(int type, uint32_t code, const char *a, const char *b, bool b_moves, char *out,
                     int64_t n) {
  const fy_lanes *lanes = fy_lanes_best();
  const size_t elem = type == FY_LANES_F32 || type == FY_LANES_I32 ? sizeof(float) : sizeof(double);
  const int64_t whole = n - n % (lanes->bytes / (int64_t)elem);
  const fy_fused_instr ip = {.code = (uint16_t)code, .a = 0, .b = b_moves ? 1 : 0, .out = 2};
  void *slots[3] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, out};
  fy_fused_regs regs = {slots, b, whole};
  if (whole) lanes->fused[type][code](&ip, &regs);
  if (whole == n) return;
  regs.n = lanes->bytes / (int64_t)elem;
  if (whole && a != out && b != out) {
    const size_t from = (size_t)(n - regs.n) * elem;
    slots[0] = (void *)(uintptr_t)(a + from), slots[2] = out + from;
    if (b_moves) slots[1] = (void *)(uintptr_t)(b + from);
    lanes->fused[type][code](&ip, &regs);
    return;
  }
  const size_t done = (size_t)whole * elem, rest = (size_t)(n - whole) * elem;
  _Alignas(MOST_BYTES) char last[3][MOST_BYTES] = {{0}};
  memcpy(last[0], a + done, rest);
  if (b_moves) memcpy(last[1], b + done, rest);
  for (int i = 0; i < 3; i++) slots[i] = last[i];
  lanes->fused[type][code](&ip, &regs);
  memcpy(out + done, last[2], rest);
}

static bool is_nan(int type, const void *x) {
  return type == FY_LANES_F32 ? *(const float *)x != *(const float *)x
                              : *(const double *)x != *(const double *)x;
}
static void fill(int type, const void *x, void *out, int64_t n) {
  const size_t elem = type == FY_LANES_F32 ? sizeof(float) : sizeof(double);
  for (int64_t i = 0; i < n; i++) memmove((char *)out + (size_t)i * elem, x, elem);
}

// Codes for a constant rely on it being a number.
void fy_vec_apply(int type, fy_ew op, const void *a, int64_t step_a, const void *b, int64_t step_b,
                  void *out, int64_t n) {
  if (!b || (step_a && step_b)) {
    run_code(type, op, a, b, b != NULL, out, n);
  } else if (!step_a && !step_b) {
    run_code(type, op, a, b, true, out, n > 0);
    fill(type, out, out, n);
  } else if (is_nan(type, step_a ? b : a)) {
    fill(type, step_a ? b : a, out, n);
  } else if (step_a) {
    run_code(type, op + FY_FUSED_BY_CONST, a, b, false, out, n);
  } else {
    run_code(type, op + FY_FUSED_OF_CONST, b, a, false, out, n);
  }
}

void fy_halves_to_floats(const uint16_t *in, float *out, int64_t n) {
  const fy_lanes *lanes = fy_lanes_best();
  if (lanes->halves_to_floats) {
    lanes->halves_to_floats(in, out, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = fy_ld_half(in[i]);
}

void fy_floats_to_halves(const float *in, uint16_t *out, int64_t n) {
  const fy_lanes *lanes = fy_lanes_best();
  if (lanes->floats_to_halves) {
    lanes->floats_to_halves(in, out, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = fy_st_half(in[i]);
}

static void widen(const uint16_t *in, float *out, int64_t n, bool half) {
  if (half)
    fy_halves_to_floats(in, out, n);
  else
    for (int64_t i = 0; i < n; i++) out[i] = fy_bfloat16_to_float(in[i]);
}
static void narrow(const float *in, uint16_t *out, int64_t n, bool half) {
  if (half)
    fy_floats_to_halves(in, out, n);
  else
    for (int64_t i = 0; i < n; i++) out[i] = fy_float_to_bfloat16(in[i]);
}

// 16-bit floats by the float function: its error is far below their last place.
static void by_floats(const uint16_t *in, uint16_t *out, int64_t n, bool half, fy_unary_loop fn) {
  float x[FY_CHUNK];
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    widen(in + at, x, m, half);
    fn(x, x, m, NULL);
    narrow(x, out + at, m, half);
  }
}
#define VEC_16(name)                                                                   \
  void fy_vec_##name##_f16(const void *in, void *out, int64_t n, const void *param) {  \
    (void)param;                                                                       \
    by_floats(in, out, n, true, fy_vec_##name##_f32);                                  \
  }                                                                                    \
  void fy_vec_##name##_bf16(const void *in, void *out, int64_t n, const void *param) { \
    (void)param;                                                                       \
    by_floats(in, out, n, false, fy_vec_##name##_f32);                                 \
  }
FY_VEC_16_FUNCTIONS(VEC_16)

// ---------------------------------------------------------------- x log(y), 0 where x is 0
#define X_TIMES(E, S, _)                                                                        \
  FY_CLONES static void times_##S(const fy_a_##S *a, int64_t sa, const fy_a_##S *l, int64_t sl, \
                                  fy_a_##S *o, int64_t n) {                                     \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                                 \
      const fy_a_##S x = a[i * sa];                                                             \
      o[i] = x == 0 ? x : TIMES_##S(x, l[i * sl]);                                              \
    }                                                                                           \
  }                                                                                             \
  static void x_times_##S(const fy_a_##S *a, int64_t sa, const fy_a_##S *b, int64_t sb,         \
                          fy_a_##S *o, int64_t n, fy_unary_loop fn) {                           \
    fy_a_##S l[FY_CHUNK];                                                                       \
    if (!sb) fn(b, l, 1, NULL);                                                                 \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                              \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                                  \
      if (sb) fn(b + at, l, m, NULL);                                                           \
      if (sa && sb)                                                                             \
        times_##S(a + at, 1, l, 1, o + at, m);                                                  \
      else                                                                                      \
        times_##S(a + at * sa, sa, l, sb, o + at, m);                                           \
    }                                                                                           \
  }
#define TIMES_f32(x, y)  ((x) * (y))
#define TIMES_f64(x, y)  ((x) * (y))
#define TIMES_c64(x, y)  fy_cmul_c64(x, y)
#define TIMES_c128(x, y) fy_cmul_c128(x, y)
FY_FULL_REAL_TYPES(X_TIMES, _)
FY_COMPLEX_TYPES(X_TIMES, _)

// The logarithm of 16-bit floats is rounded to one before the product is.
static void x_times_16(const uint16_t *a, int64_t sa, const uint16_t *b, int64_t sb, uint16_t *o,
                       int64_t n, fy_unary_loop fn, bool half) {
  uint16_t rounded[FY_CHUNK];
  float x[FY_CHUNK], l[FY_CHUNK], product[FY_CHUNK];
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    fn(b + at * sb, rounded, sb ? m : 1, NULL);
    widen(rounded, l, sb ? m : 1, half);
    widen(a + at * sa, x, sa ? m : 1, half);
    if (sa && sb)
      times_f32(x, 1, l, 1, product, m);
    else
      times_f32(x, sa, l, sb, product, m);
    narrow(product, o + at, m, half);
  }
}
#define x_times_f16(...)  x_times_16(__VA_ARGS__, true)
#define x_times_bf16(...) x_times_16(__VA_ARGS__, false)
#define X_LOGS(E, S, _)                                                                           \
  void fy_vec_xlogy_##S(const void *a, int64_t sa, const void *b, int64_t sb, void *o, int64_t n, \
                        int *bad) {                                                               \
    (void)bad;                                                                                    \
    x_times_##S(a, sa, b, sb, o, n, fy_vec_log_##S);                                              \
  }                                                                                               \
  void fy_vec_xlog1py_##S(const void *a, int64_t sa, const void *b, int64_t sb, void *o,          \
                          int64_t n, int *bad) {                                                  \
    (void)bad;                                                                                    \
    x_times_##S(a, sa, b, sb, o, n, fy_vec_log1p_##S);                                            \
  }
FY_REAL_TYPES(X_LOGS, _)
FY_COMPLEX_TYPES(X_LOGS, _)
