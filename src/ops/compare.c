// SPDX-License-Identifier: Apache-2.0
// compare.c: comparisons and logic with broadcasting; the result is bool.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/vecmath.h"

#define EQ(S, x, y) ((x) == (y))
#define NE(S, x, y) ((x) != (y))
#define LT(S, x, y) ((x) < (y))
#define LE(S, x, y) ((x) <= (y))
// Bools of longer numbers, and comparisons of 64-bit integers, take newer machines a third of the time.
#define LONG(E, S, name, EXPR)  FY_BINARY_CLONED(S, name, EXPR, bool, FY_ST_b)
#define SHORT(E, S, name, EXPR) FY_COMPARE_LOOP(E, S, name, EXPR)
#define SIGNED_LOOPS(name, EXPR) \
  SHORT(FY_INT8, i8, name, EXPR) \
  SHORT(FY_INT16, i16, name, EXPR) LONG(FY_INT32, i32, name, EXPR) LONG(FY_INT64, i64, name, EXPR)
#define UNSIGNED_LOOPS(name, EXPR)  \
  SHORT(FY_UINT8, u8, name, EXPR)   \
  SHORT(FY_UINT16, u16, name, EXPR) \
  LONG(FY_UINT32, u32, name, EXPR) LONG(FY_UINT64, u64, name, EXPR)
#define COMPARE(name, EXPR, op)        \
  FY_FULL_REAL_TYPES(LONG, name, EXPR) \
  SIGNED_LOOPS(name, EXPR)             \
  FY_VEC_BINARY_16(name, op)
COMPARE(equal, EQ, FY_16_EQUAL)
FY_COMPLEX_TYPES(FY_COMPARE_LOOP, equal, EQ)
COMPARE(not_equal, NE, FY_16_NOT_EQUAL)
FY_COMPLEX_TYPES(FY_COMPARE_LOOP, not_equal, NE)
COMPARE(less, LT, FY_16_LESS)
UNSIGNED_LOOPS(less, LT)
COMPARE(less_equal, LE, FY_16_LESS_EQUAL)
UNSIGNED_LOOPS(less_equal, LE)
#define TURNED(E, S, name, other)                                                                  \
  static void name##_##S(const void *a, int64_t sa, const void *b, int64_t sb, void *o, int64_t n, \
                         int *bad) {                                                               \
    other##_##S(b, sb, a, sa, o, n, bad);                                                          \
  }
FY_ORDERED_TYPES(TURNED, greater, less)
FY_ORDERED_TYPES(TURNED, greater_equal, less_equal)

#define LOGICAL_AND(S, x, y) ((x) & (y))
#define LOGICAL_OR(S, x, y)  ((x) | (y))
FY_COMPARE_LOOP(FY_BOOL, b, equal, EQ)
FY_COMPARE_LOOP(FY_BOOL, b, not_equal, NE)
FY_COMPARE_LOOP(FY_BOOL, b, logical_and, LOGICAL_AND)
FY_COMPARE_LOOP(FY_BOOL, b, logical_or, LOGICAL_OR)
FY_CLONES static void logical_not_b(const void *pi, void *po, int64_t n, const void *param) {
  const uint8_t *in = pi;  // as bytes, which the compiler vectorises
  uint8_t *out = po;
  (void)param;
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = in[i] ^ 1;
}

static void strings_equal(const void *pa, int64_t sa, const void *pb, int64_t sb, bool *out,
                          int64_t n, bool want) {
  const fy_tensor a = {.dtype = FY_STRING, .data = (void *)(uintptr_t)pa};
  const fy_tensor b = {.dtype = FY_STRING, .data = (void *)(uintptr_t)pb};
  for (int64_t i = 0; i < n; i++) {
    out[i] = fy_view_eq(fy_tensor_string(&a, i * sa), fy_tensor_string(&b, i * sb)) == want;
  }
}
static void equal_s(const void *a, int64_t sa, const void *b, int64_t sb, void *out, int64_t n,
                    int *bad) {
  (void)bad;
  strings_equal(a, sa, b, sb, out, n, true);
}
static void not_equal_s(const void *a, int64_t sa, const void *b, int64_t sb, void *out, int64_t n,
                        int *bad) {
  (void)bad;
  strings_equal(a, sa, b, sb, out, n, false);
}

#define EQUALITY_TABLE(name)                                                                       \
  static const fy_binary_loops name##_loops = {                                                    \
      {FY_REAL_TYPES(FY_LOOP_ENTRY, name) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name)                    \
           FY_SIGNED_TYPES(FY_LOOP_ENTRY, name) FY_UNSIGNED_AS_SIGNED(name)[FY_QINT8] = name##_i8, \
       [FY_QUINT8] = name##_i8, [FY_QINT16] = name##_i16, [FY_QUINT16] = name##_i16,               \
       [FY_QINT32] = name##_i32, [FY_BOOL] = name##_b, [FY_STRING] = name##_s},                    \
      NULL,                                                                                        \
      0.3}
EQUALITY_TABLE(equal);
EQUALITY_TABLE(not_equal);
#define ORDER_TABLE(name) \
  static const fy_binary_loops name##_loops = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, name)}, NULL, 0.3}
ORDER_TABLE(less);
ORDER_TABLE(less_equal);
ORDER_TABLE(greater);
ORDER_TABLE(greater_equal);
static const fy_binary_loops and_loops = {{[FY_BOOL] = logical_and_b}, NULL, 0.2};
static const fy_binary_loops or_loops = {{[FY_BOOL] = logical_or_b}, NULL, 0.2};
static const fy_unary_loops not_loops = {{[FY_BOOL] = logical_not_b}, 0.2};

// ---------------------------------------------------------------- Equal and NotEqual
// With incompatible_shape_error = false, shapes that do not fit are one plain "not equal".
static bool fits(const fy_tensor *a, const fy_tensor *b) {
  for (int32_t i = 1; i <= a->rank && i <= b->rank; i++) {
    const int64_t x = a->dims[a->rank - i], y = b->dims[b->rank - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

static fy_code equality(fy_kernel_ctx *ctx, fy_error *err) {
  if (FY_UNLIKELY(!fits(ctx->in[0], ctx->in[1])) &&
      !fy_site_bool(ctx->site, "incompatible_shape_error")) {
    fy_tensor *out;
    FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
    *(bool *)out->data = ctx->site->op->impl->aux == &not_equal_loops;
    return FY_OK;
  }
  return fy_binary_compute(ctx, err);
}

static fy_code equality_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *strict = fy_attrs_get(ctx->attrs, "incompatible_shape_error");
  if (strict && !strict->v.b) return fy_shape_broadcast_or_unknown(ctx, err);
  return fy_shape_broadcast(ctx, err);
}

static const fy_sample equal_samples[] = {
    {"f32[3]=1,2,3; f32[]=2", NULL, FY_OK, NULL},
    {"s[2]='a','b'; s[2]='a','c'", NULL, FY_OK, NULL},
    {"i32[2]=1,2; i32[3]=1,2,3", "incompatible_shape_error=false", FY_OK, NULL},
    {"i32[2]=1,2; i32[3]=1,2,3", NULL, FY_INVALID_ARGUMENT, "Incompatible shapes: [2] vs. [3]"},
};
static const fy_sample order_samples[] = {
    {"f32[8]=special; f32[8]=zeros", NULL, FY_OK, NULL},
    {"u64[2]=1,18446744073709551615; u64[]=5", NULL, FY_OK, NULL},
};
static const fy_sample logic_samples[] = {
    {"b[4]=true,true,false,false; b[4]=true,false,true,false", NULL, FY_OK, NULL},
    {"b[2,1]=true,false; b[3]=true,false,true", NULL, FY_OK, NULL},
};
static const fy_sample not_samples[] = {{"b[2]=true,false", NULL, FY_OK, "0,1"}};

#define COMPARE_OP(Name, table, array)                                                    \
  FY_OP(Name, .shape = fy_shape_broadcast, .compute = fy_binary_compute, .aux = &(table), \
        FY_SAMPLES(array))

FY_OP(Equal, .shape = equality_shape, .compute = equality, .aux = &equal_loops,
      FY_SAMPLES(equal_samples));
FY_OP(NotEqual, .shape = equality_shape, .compute = equality, .aux = &not_equal_loops,
      FY_SAMPLES(equal_samples));
COMPARE_OP(Less, less_loops, order_samples);
COMPARE_OP(LessEqual, less_equal_loops, order_samples);
COMPARE_OP(Greater, greater_loops, order_samples);
COMPARE_OP(GreaterEqual, greater_equal_loops, order_samples);
COMPARE_OP(LogicalAnd, and_loops, logic_samples);
COMPARE_OP(LogicalOr, or_loops, logic_samples);
FY_OP(LogicalNot, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &not_loops,
      .flags = FY_OP_INPLACE, FY_SAMPLES(not_samples));
