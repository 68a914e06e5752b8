// SPDX-License-Identifier: Apache-2.0
// scatter.c: ScatterNd, TensorScatterUpdate/Add/Sub/Min/Max: rows of updates go to places named by
// rows of indices, in order. An index out of range is an error (or skipped, if the policy says so).

#include "ops/scatter.h"

#include <stdio.h>

#include "ops/fused.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- loops
#define LOOP(E, S, name, EXPR)                                                \
  static void name##_##S(void *pt, const void *pf, int64_t n, int64_t step) { \
    fy_t_##S *to = pt;                                                        \
    const fy_t_##S *from = pf;                                                \
    for (int64_t i = 0; i < n; i++) {                                         \
      const fy_a_##S x = FY_LD_##S(to[i]), y = FY_LD_##S(from[i * step]);     \
      to[i] = FY_ST_##S(EXPR(S, x, y));                                       \
    }                                                                         \
  }
#define PLUS(S, x, y)      ((x) + (y))
#define MINUS(S, x, y)     ((x) - (y))
#define TIMES(S, x, y)     ((x) * (y))
#define OVER(S, x, y)      ((x) / (y))
#define PLUS_INT(S, x, y)  ((fy_u_##S)(x) + (fy_u_##S)(y))
#define MINUS_INT(S, x, y) ((fy_u_##S)(x) - (fy_u_##S)(y))
#define TIMES_INT(S, x, y) ((fy_u_##S)(x) * (fy_u_##S)(y))
// Division by zero gives 0 here, and the smallest over -1 wraps.
#define OVER_SIGNED(S, x, y) \
  ((y) == 0 ? 0 : (y) == -1 ? (fy_a_##S)(0 - (fy_u_##S)(x)) : (fy_a_##S)((x) / (y)))
#define OVER_UNSIGNED(S, x, y) ((y) == 0 ? 0 : (x) / (y))
#define TIMES_CPLX(S, x, y)    fy_cmul_##S(x, y)
#define LOWER(S, x, y)         ((y) < (x) ? (y) : (x))
#define HIGHER(S, x, y)        ((x) < (y) ? (y) : (x))
#define EITHER(S, x, y)        ((x) | (y))
#define DIFFERENT(S, x, y)     ((x) != (y))
// 16-bit floats by the lanes' arithmetic, in place.
#define LANES_LOOP(S, type, name, op)                                            \
  static void name##_##S(void *to, const void *from, int64_t n, int64_t step) {  \
    fy_lanes_best()->floats_16[type].binary[op](to, 1, from, step, to, n, NULL); \
  }
#define LANES_LOOPS(name, op)              \
  LANES_LOOP(f16, FY_LANES_HALF, name, op) \
  LANES_LOOP(bf16, FY_LANES_BFLOAT16, name, op)
LANES_LOOPS(add, FY_16_ADD)
LANES_LOOPS(sub, FY_16_SUB)
LANES_LOOPS(mul, FY_16_MUL)
LANES_LOOPS(quo, FY_16_DIV)
FY_FULL_REAL_TYPES(LOOP, add, PLUS)
FY_COMPLEX_TYPES(LOOP, add, PLUS)
FY_INT_TYPES(LOOP, add, PLUS_INT)
LOOP(FY_BOOL, b, add, EITHER)
LOOP(FY_BOOL, b, sub, DIFFERENT)
FY_FULL_REAL_TYPES(LOOP, sub, MINUS)
FY_COMPLEX_TYPES(LOOP, sub, MINUS)
FY_INT_TYPES(LOOP, sub, MINUS_INT)
FY_FULL_REAL_TYPES(LOOP, mul, TIMES)
FY_COMPLEX_TYPES(LOOP, mul, TIMES_CPLX)
FY_INT_TYPES(LOOP, mul, TIMES_INT)
FY_FULL_REAL_TYPES(LOOP, quo, OVER)
FY_COMPLEX_TYPES(LOOP, quo, OVER)
FY_SIGNED_TYPES(LOOP, quo, OVER_SIGNED)
FY_UNSIGNED_TYPES(LOOP, quo, OVER_UNSIGNED)
// 16-bit floats are compared by their bits, as floats compare: both zeros are equal, NaN is less than nothing and nothing
// less. Denormal bfloat16s count as 0 (those of halves are ordinary floats). |turn|: all bits set if the order is to be
// turned around, |other| if what is not less is meant.
typedef struct order_16 {
  int16_t least, most, turn, other;
} order_16;
typedef int16_t shorts __attribute__((vector_size(32)));
static inline __attribute__((always_inline)) void place_16(shorts *v, const order_16 *o) {
  const shorts sign = *v >> 15 ^ o->turn, size = *v & 0x7FFF;
  *v = ((size & (size >= o->least)) ^ sign) - sign;
}
static inline __attribute__((always_inline)) void pick_16(uint16_t *to, const uint16_t *from,
                                                          const order_16 *o) {
  shorts x, y, p, q;
  memcpy(&x, to, sizeof x), memcpy(&y, from, sizeof y);
  p = x, q = y;
  place_16(&p, o), place_16(&q, o);
  p = ((p < q) & ((x & 0x7FFF) <= o->most) & ((y & 0x7FFF) <= o->most)) ^ o->other;
  x = (y & p) | (x & ~p);
  memcpy(to, &x, sizeof x);
}
FY_CLONES static void pick_rows_16(const order_16 *o, uint16_t *to, const uint16_t *from,
                                   int64_t n) {
  enum { LANES = sizeof(shorts) / sizeof(int16_t) };
  const order_16 how = *o;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) pick_16(to + i, from + i, &how);
  if (i == n) return;
  uint16_t rest[2][LANES] = {{0}};
  const size_t bytes = (size_t)(n - i) * sizeof *to;
  memcpy(rest[0], to + i, bytes), memcpy(rest[1], from + i, bytes);
  pick_16(rest[0], rest[1], &how);
  memcpy(to + i, rest[0], bytes);
}
// The larger one is y where x is less than it; with |last| it is y where y is not less than x.
void fy_scatter_pick_16(bool half, bool larger, bool last, uint16_t *to, const uint16_t *from,
                        int64_t n, int64_t step) {
  const order_16 o = {half ? 0 : 0x80, half ? 0x7C00 : 0x7F80, larger == last ? -1 : 0,
                      last ? -1 : 0};
  uint16_t same[64];
  if (step) {
    pick_rows_16(&o, to, from, n);
    return;
  }
  for (int64_t i = 0; i < n && i < 64; i++) same[i] = from[0];
  for (int64_t i = 0; i < n; i += 64) pick_rows_16(&o, to + i, same, n - i < 64 ? n - i : 64);
}
FY_SCATTER_PICK_16(min, false, false)
FY_SCATTER_PICK_16(max, true, false)
#define MIN_MAX(E, S, _) \
  LOOP(E, S, min, LOWER) \
  LOOP(E, S, max, HIGHER)
FY_FULL_REAL_TYPES(MIN_MAX, _)
FY_INT_TYPES(MIN_MAX, _)

#define NUMBERS(name) FY_NUMERIC_TYPES(FY_LOOP_ENTRY, name)
#define ORDERED(name) FY_ORDERED_TYPES(FY_LOOP_ENTRY, name)
static const fy_scatter_loop loops[FY_SCATTER_KINDS][FY_DTYPE_COUNT] = {
    [FY_SCATTER_ADD] = {NUMBERS(add)[FY_BOOL] = add_b},
    [FY_SCATTER_SUB] = {NUMBERS(sub)[FY_BOOL] = sub_b},
    [FY_SCATTER_MUL] = {NUMBERS(mul)},
    [FY_SCATTER_DIV] = {NUMBERS(quo)},
    [FY_SCATTER_MIN] = {ORDERED(min)},
    [FY_SCATTER_MAX] = {ORDERED(max)},
};

fy_scatter_loop fy_scatter_find(fy_scatter_kind kind, fy_dtype t) {
  return (int)t < FY_DTYPE_COUNT ? loops[kind][t] : NULL;
}

// Strings are added by joining them.
static fy_code join(fy_tensor *to, int64_t to_at, const fy_tensor *from, int64_t from_at,
                    int64_t count, fy_error *err) {
  for (int64_t i = 0; i < count; i++) {
    const fy_view a = fy_tensor_string(to, to_at + i), b = fy_tensor_string(from, from_at + i);
    fy_str both;
    fy_str_init(&both);
    fy_str_addn(&both, a.p, a.n);
    fy_str_addn(&both, b.p, b.n);
    const bool ok =
        !both.failed && fy_tensor_set_string(to, to_at + i, fy_str_text(&both), both.len);
    fy_str_free(&both);
    if (!ok) return fy_fail_oom(err, a.n + b.n);
  }
  return FY_OK;
}

fy_code fy_scatter_apply(fy_scatter_kind kind, fy_scatter_loop loop, fy_tensor *to, int64_t to_at,
                         const fy_tensor *from, int64_t from_at, int64_t count, fy_error *err) {
  if (kind == FY_SCATTER_UPDATE) {
    return fy_copy_run(to->dtype, to->data, to_at, from->data, from_at, count, err);
  }
  if (loop) {
    const size_t size = fy_dtype_storage(to->dtype);
    loop((char *)to->data + (size_t)to_at * size, (const char *)from->data + (size_t)from_at * size,
         count, 1);
    return FY_OK;
  }
  if (kind == FY_SCATTER_ADD && to->dtype == FY_STRING) {
    return join(to, to_at, from, from_at, count, err);
  }
  return fy_fail(err, FY_UNIMPLEMENTED, "scatter has no loop for %s", fy_dtype_name(to->dtype));
}

// ---------------------------------------------------------------- rows of indices
static int64_t index_at(const fy_tensor *t, int64_t i) {
  return t->dtype == FY_INT32   ? ((const int32_t *)t->data)[i]
         : t->dtype == FY_INT64 ? ((const int64_t *)t->data)[i]
                                : fy_tensor_int(t, i);
}

const char *fy_place_text(int32_t rank, const int64_t *dims, int64_t at, char buf[128]) {
  size_t len = 0;
  int64_t step = fy_product(dims, rank);
  buf[0] = 0;
  for (int32_t d = 0; d < rank && len < 100; d++) {
    step /= dims[d] > 0 ? dims[d] : 1;
    len += (size_t)snprintf(buf + len, 128 - len, "%s%lld", d ? "," : "[", (long long)(at / step));
    at %= step;
  }
  if (rank > 0) snprintf(buf + len, 128 - len, "]");
  return buf;
}

static fy_code fail_row(const fy_tensor *target, const fy_tensor *indices, int64_t row,
                        int64_t depth, fy_error *err) {
  char shape[128], place[128], list[200] = "";
  size_t len = 0;
  for (int64_t k = 0; k < depth && len < 160; k++) {
    len += (size_t)snprintf(list + len, sizeof list - len, "%s%lld", k ? ", " : "",
                            (long long)index_at(indices, row * depth + k));
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "indices%s = [%s] does not index into shape %s",
                 fy_place_text(indices->rank - 1, indices->dims, row, place), list,
                 fy_tensor_shape_text(target, shape));
}

fy_code fy_scatter_nd_run(const fy_site *site, fy_scatter_kind kind, fy_tensor *target,
                          const fy_tensor *indices, const fy_tensor *updates, fy_error *err) {
  const bool vector = indices->rank == 1;
  const int64_t depth = vector ? 1 : indices->dims[indices->rank - 1];
  const int64_t rows = vector ? indices->count > 0 : fy_product(indices->dims, indices->rank - 1);
  const int64_t run = fy_product(target->dims + depth, target->rank - (int32_t)depth);
  const bool ignore = fy_view_is(fy_site_string(site, "bad_indices_policy"), "IGNORE");
  const fy_scatter_loop loop = fy_scatter_find(kind, target->dtype);
  int64_t last_bad = -1;
  if (depth == 0 && target->count) {  // an index of no numbers
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Only indices.shape[-1] values between 1 and 5 are currently supported.  "
                   "Requested rank: 0");
  }
  for (int64_t r = 0; r < rows; r++) {
    int64_t to = 0;
    bool bad = false;
    for (int64_t k = 0; k < depth; k++) {
      const int64_t index = index_at(indices, r * depth + k);
      bad |= (uint64_t)index >= (uint64_t)target->dims[k];
      if (!bad) to = to * target->dims[k] + index;
    }
    if (bad && !ignore) last_bad = r;
    if (bad) continue;
    FY_TRY(fy_scatter_apply(kind, loop, target, to * run, updates, r * run, run, err));
  }
  return last_bad < 0 ? FY_OK : fail_row(target, indices, last_bad, depth, err);
}

static fy_code check_ranks(const fy_tensor *indices, const fy_tensor *updates, fy_error *err) {
  if (indices->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Indices shape must have rank at least one. Found:[]");
  }
  if (updates->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Updates shape must have rank at least one. Found:[]");
  }
  return FY_OK;
}

// Do updates' dims after |outer| equal the target's after |depth|?
static bool inner_fits(int32_t rank, const int64_t *dims, int64_t depth, const fy_tensor *updates,
                       int32_t outer) {
  if (depth > rank || outer > updates->rank) return false;
  return fy_shape_equal(rank - (int32_t)depth, dims + depth, updates->rank - outer,
                        updates->dims + outer);
}
static bool outer_fits(const fy_tensor *indices, const fy_tensor *updates) {
  const int32_t outer = indices->rank - 1;
  return updates->rank >= outer && fy_shape_equal(outer, indices->dims, outer, updates->dims);
}

fy_code fy_scatter_vector_check(int32_t rank, const int64_t *dims, const fy_tensor *indices,
                                const fy_tensor *updates, fy_error *err) {
  char x[128], y[128];
  if (indices->rank != 1) return FY_OK;
  if (indices->dims[0] != updates->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimensions [0,1) of indices[shape=%s] = %lld must match dimensions [0,1) of "
                   "updates[shape=%s] = %lld",
                   fy_tensor_shape_text(indices, x), (long long)indices->dims[0],
                   fy_tensor_shape_text(updates, y), (long long)updates->dims[0]);
  }
  if (inner_fits(rank, dims, 1, updates, 1)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Dimensions [1,%d) of input[shape=%s] must match dimensions [1,%d) of "
                 "updates[shape=%s]",
                 rank, fy_shape_text(rank, dims, x), updates->rank,
                 fy_tensor_shape_text(updates, y));
}

// Of target, indices and updates, all have elements, or the last two have none.
static fy_code check_empty(int64_t target, const fy_tensor *indices, const fy_tensor *updates,
                           fy_error *err) {
  if (indices->count == 0 && updates->count == 0) return FY_OK;
  if (target && indices->count && updates->count) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Indices and updates specified for empty output shape");
}

fy_code fy_scatter_nd_check(const fy_tensor *target, const fy_tensor *indices,
                            const fy_tensor *updates, fy_error *err) {
  char x[128], y[128];
  FY_TRY(check_ranks(indices, updates, err));
  FY_TRY(check_empty(target->count, indices, updates, err));
  if (!outer_fits(indices, updates)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Outer dimensions of indices and update must match. Indices shape: %s, updates "
                   "shape:%s",
                   fy_tensor_shape_text(indices, x), fy_tensor_shape_text(updates, y));
  }
  const int32_t outer = indices->rank - 1;
  const int64_t depth = indices->dims[outer];
  if (depth <= target->rank && target->rank - depth == updates->rank - outer &&
      !inner_fits(target->rank, target->dims, depth, updates, outer)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The inner %lld dimensions of output.shape=%s must match the inner %d dimensions "
        "of updates.shape=%s",
        (long long)(target->rank - depth), fy_tensor_shape_text(target, x), updates->rank - outer,
        fy_tensor_shape_text(updates, y));
  }
  if (!inner_fits(target->rank, target->dims, indices->dims[outer], updates, outer)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inner dimensions of output shape must match inner dimensions of updates shape. "
                   "Output: %s updates: %s",
                   fy_tensor_shape_text(target, x), fy_tensor_shape_text(updates, y));
  }
  return fy_scatter_vector_check(target->rank, target->dims, indices, updates, err);
}

fy_code fy_scatter_policy(const fy_site *site, fy_error *err) {
  const fy_view p = fy_site_string(site, "bad_indices_policy");
  if (!p.n || fy_view_is(p, "DEFAULT") || fy_view_is(p, "ERROR") || fy_view_is(p, "IGNORE"))
    return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Unknown bad indices handling attribute: %.*s", (int)p.n,
                 p.p);
}

// ---------------------------------------------------------------- ScatterNd
static fy_code scatter_nd(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *updates = ctx->in[1];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  char x[128], y[128];
  FY_TRY(fy_scatter_policy(ctx->site, err));
  FY_TRY(check_ranks(indices, updates, err));
  FY_TRY(fy_value_shape(ctx->in[2], &rank, dims, err));
  const int64_t count = fy_product(dims, rank);
  const int32_t outer = indices->rank - 1;
  const int64_t depth = indices->dims[outer];
  if (!outer_fits(indices, updates)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimensions [0,%d) of indices[shape=%s] must match dimensions [0,%d) of "
                   "updates[shape=%s]",
                   outer, fy_tensor_shape_text(indices, x), outer,
                   fy_tensor_shape_text(updates, y));
  }
  if (!inner_fits(rank, dims, depth, updates, outer)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimensions [%lld,%d) of input[shape=%s] must match dimensions [%d,%d) of "
                   "updates[shape=%s]",
                   (long long)depth, rank, fy_shape_text(rank, dims, x), outer, updates->rank,
                   fy_tensor_shape_text(updates, y));
  }
  FY_TRY(fy_scatter_vector_check(rank, dims, indices, updates, err));
  if (count == 0 && indices->count && updates->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Indices and updates specified for empty output.  indices shape: %s",
                   fy_tensor_shape_text(indices, x));
  }
  FY_TRY(check_empty(count, indices, updates, err));
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  if (fy_dtype_is_plain(out->dtype)) memset(out->data, 0, fy_tensor_bytes(out));
  return fy_scatter_nd_run(ctx->site, FY_SCATTER_ADD, out, indices, updates, err);
}

static fy_code tensor_scatter(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *target = ctx->in[0];
  const fy_scatter_kind *kind = ctx->site->op->impl->aux;
  fy_tensor *out;
  FY_TRY(fy_scatter_policy(ctx->site, err));
  FY_TRY(fy_scatter_nd_check(target, ctx->in[1], ctx->in[2], err));
  FY_TRY(fy_out_like(ctx, 0, target, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_copy_run(out->dtype, out->data, 0, target->data, 0, out->count, err));
  return fy_scatter_nd_run(ctx->site, *kind, out, ctx->in[1], ctx->in[2], err);
}

// ---------------------------------------------------------------- shapes
static bool some(fy_pshape s) {  // known to hold elements
  bool any = s.rank >= 0;
  for (int32_t i = 0; i < s.rank; i++) any &= s.dims[i] > 0;
  return any;
}
static bool none(fy_pshape s) {
  for (int32_t i = 0; i < s.rank; i++) {
    if (s.dims[i] == 0) return true;
  }
  return false;
}

fy_code fy_scatter_nd_infer(fy_shape_ctx *ctx, fy_pshape target, fy_pshape indices,
                            fy_pshape updates, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(indices, 1, err));
  if (none(target) && (some(indices) || some(updates))) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Indices and updates specified for empty input");
  }
  // Only the length of an index tells what is outer and what is inner.
  const int64_t depth = indices.rank >= 1 ? indices.dims[indices.rank - 1] : -1;
  if (depth >= 0 && updates.rank > 0) {
    const int32_t outer = indices.rank - 1;
    const int32_t own = outer < updates.rank ? outer : updates.rank;
    const fy_pshape a = {outer, indices.dims}, b = {own, updates.dims};
    char x[128], y[128], p[128], q[128];
    fy_pshape merged;
    fy_error why;
    fy_error_init(&why);
    if (fy_shape_merge(ctx, a, b, &merged, &why)) {
      fy_code code = fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Dimensions [0,%d) of indices[shape=%s] = %s must match dimensions [0,%d) of "
          "updates[shape=%s] = %s: %s",
          outer, fy_shape_text(indices.rank, indices.dims, x), fy_shape_text(a.rank, a.dims, p),
          outer, fy_shape_text(updates.rank, updates.dims, y), fy_shape_text(b.rank, b.dims, q),
          fy_error_text(&why));
      fy_error_clear(&why);
      return code;
    }
    const int32_t from = depth < target.rank ? (int32_t)depth : target.rank;
    const fy_pshape c =
        target.rank < 0 ? FY_UNKNOWN_SHAPE : (fy_pshape){target.rank - from, target.dims + from};
    const fy_pshape d = {updates.rank - own, updates.dims + own};
    if (fy_shape_merge(ctx, c, d, &merged, &why)) {
      fy_code code =
          fy_fail(err, FY_INVALID_ARGUMENT,
                  "Dimensions [%lld,%d) of input[shape=%s] = %s must match dimensions [%d,%d) of "
                  "updates[shape=%s] = %s: %s",
                  (long long)depth, target.rank, fy_shape_text(target.rank, target.dims, x),
                  fy_shape_text(c.rank, c.dims, p), outer, updates.rank,
                  fy_shape_text(updates.rank, updates.dims, y), fy_shape_text(d.rank, d.dims, q),
                  fy_error_text(&why));
      fy_error_clear(&why);
      return code;
    }
  }
  return FY_OK;
}
static fy_code scatter_shape(fy_shape_ctx *ctx, fy_pshape target, fy_pshape indices,
                             fy_pshape updates, fy_error *err) {
  FY_TRY(fy_scatter_nd_infer(ctx, target, indices, updates, err));
  return fy_shape_set(ctx, 0, target.rank, target.dims, err);
}
static fy_code scatter_nd_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape target;
  FY_TRY(fy_shape_rank_at_least(ctx->in[1], 1, err));
  FY_TRY(fy_shape_from_input(ctx, 2, &target, err));
  return scatter_shape(ctx, target, ctx->in[0], ctx->in[1], err);
}
static fy_code tensor_scatter_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  return scatter_shape(ctx, ctx->in[0], ctx->in[1], ctx->in[2], err);
}

static const fy_sample nd_samples[] = {
    {"i32[3,1]=0,2,0; f32[3]=1,2,3; i32[1]=4", NULL, FY_OK, "4,0,2,0"},
    {"i64[1,2]=1,1; i32[1]=5; i64[2]=2,2", NULL, FY_OK, "0,0,0,5"},
    {"i32[1,1]=4; f32[1]=1; i32[1]=4", NULL, FY_INVALID_ARGUMENT,
     "indices[0] = [4] does not index into shape [4]"},
    {"i32[2,1]=4,1; f32[2]=1,1; i32[1]=4", "bad_indices_policy=\"IGNORE\"", FY_OK, "0,1,0,0"},
};
static const fy_sample tensor_samples[] = {
    {"f32[4]=iota; i32[2,1]=0,2; f32[2]=5,6", NULL, FY_OK, NULL},
    {"i32[2,2]=iota; i32[1,1]=1; i32[1,2]=5,6", NULL, FY_OK, NULL},
    {"f32[2]=iota; i32[1,1]=2; f32[1]=1", NULL, FY_INVALID_ARGUMENT,
     "indices[0] = [2] does not index into shape [2]"},
};

FY_OP(ScatterNd, .shape = scatter_nd_shape, .compute = scatter_nd, .host_inputs = 1 << 2,
      FY_SAMPLES(nd_samples));
#define TENSOR_SCATTER(Name, kind)                                                              \
  static const fy_scatter_kind kind_of_##Name = kind;                                           \
  FY_OP(Name, .shape = tensor_scatter_shape, .compute = tensor_scatter, .aux = &kind_of_##Name, \
        FY_SAMPLES(tensor_samples))
TENSOR_SCATTER(TensorScatterUpdate, FY_SCATTER_UPDATE);
TENSOR_SCATTER(TensorScatterAdd, FY_SCATTER_ADD);
TENSOR_SCATTER(TensorScatterSub, FY_SCATTER_SUB);
TENSOR_SCATTER(TensorScatterMin, FY_SCATTER_MIN);
TENSOR_SCATTER(TensorScatterMax, FY_SCATTER_MAX);
