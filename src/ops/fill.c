// SPDX-License-Identifier: Apache-2.0
// fill.c: tensors from nothing but numbers: Fill, ZerosLike, OnesLike, Range, LinSpace, OneHot.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/turn.h"
#include "ops/variant_sum.h"
#include "ops/values.h"

// ---------------------------------------------------------------- Fill, ZerosLike, OnesLike
typedef struct fill_job {
  char *out;
  const char *value;  // NULL: all bytes are zero
  size_t size;
} fill_job;

#define ZERO_NS 0.02  // a byte
typedef struct bytes16 {
  uint64_t a, b;
} bytes16;

static void fill_range(void *arg, int64_t begin, int64_t end) {
  const fill_job *j = arg;
  if (!j->value) {
    memset(j->out + (size_t)begin * j->size, 0, (size_t)(end - begin) * j->size);
    return;
  }
  fy_fill(j->out + (size_t)begin * j->size, j->value, j->size, end - begin);
}

static fy_code fill_with(fy_kernel_ctx *ctx, fy_tensor *out, const void *value, fy_error *err) {
  if (!fy_dtype_is_plain(out->dtype)) {
    for (int64_t i = 0; i < out->count; i++) {
      FY_TRY(fy_copy_run(out->dtype, out->data, i, value, 0, 1, err));
    }
    return FY_OK;
  }
  fill_job job = {out->data, value, fy_dtype_storage(out->dtype)};
  static const char zeros[16];
  if (job.size <= sizeof zeros && memcmp(value, zeros, job.size) == 0) job.value = NULL;
  fy_parallel(ctx, out->count, (job.value ? 0.04 : ZERO_NS) * (double)job.size, fill_range, &job);
  return FY_OK;
}

static fy_code fill(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *shape = ctx->in[0], *value = ctx->in[1];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  char x[128];
  if (shape->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dims must represent a vector, got shape %s",
                   fy_tensor_shape_text(shape, x));
  }
  if (value->count != 1 || value->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "value must represent a scalar, got shape %s",
                   fy_tensor_shape_text(value, x));
  }
  if (shape->rank == 0) {  // once upon a time that was a vector of one
    rank = 1;
    dims[0] = fy_tensor_int(shape, 0);
    if (dims[0] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)dims[0]);
    }
  } else {
    FY_TRY(fy_value_shape(shape, &rank, dims, err));
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  return fill_with(ctx, out, value->data, err);
}

static fy_code fill_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  const uint64_t before = ctx->asked_values;
  const fy_tensor *sizes = fy_shape_tensor(ctx, 0);
  ctx->asked_values = before;  // TensorFlow names the shape only
  for (int64_t i = 0; sizes && i < sizes->count; i++) {
    if (fy_tensor_int(sizes, i) >= -1 || (ctx->packed & 1)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid value in tensor used for shape: %lld",
                   (long long)fy_tensor_int(sizes, i));
  }
  for (int64_t i = 0; sizes && i < sizes->count; i++) {
    if (fy_tensor_int(sizes, i) >= 0) continue;
    ctx->asked_shapes |= 1;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Fill dimensions must be >= 0");
  }
  FY_TRY(fy_shape_from_first(ctx, err));
  // A vector filled with a known number is a shape.
  const fy_pshape out = ctx->out[0];
  int64_t value, values[FY_MAX_RANK];
  if (out.rank != 1 || out.dims[0] < 0 || out.dims[0] > FY_MAX_RANK) return FY_OK;
  if (!fy_dtype_is_integer(ctx->out_types[0]) || !fy_shape_int_value(ctx, 1, &value)) return FY_OK;
  for (int64_t i = 0; i < out.dims[0]; i++) values[i] = value;
  return fy_shape_set_value(ctx, 0, (int32_t)out.dims[0], values, err);
}

static fy_code zeros_like(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  if (in->dtype == FY_VARIANT) return fy_variant_zeros_like(ctx, err);
  if (in->dtype == FY_RESOURCE) {
    return fy_fail(err, FY_UNIMPLEMENTED, "ZerosLike of %s is not supported",
                   fy_dtype_name(in->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (in->dtype == FY_STRING) {
    for (int64_t i = 0; i < out->count; i++) {
      if (!fy_tensor_set_string(out, i, "", 0)) return fy_fail_oom(err, 1);
    }
  } else if (out->count) {
    fill_job job = {out->data, NULL, fy_dtype_storage(out->dtype)};
    fy_parallel(ctx, out->count, ZERO_NS * (double)job.size, fill_range, &job);
  }
  return FY_OK;
}

static fy_code ones_like(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_dtype t = ctx->in[0]->dtype;
  _Alignas(16) char one[16] = {0};
#define ONE(E, S, _)                 \
  case E: {                          \
    const fy_t_##S v = FY_ST_##S(1); \
    memcpy(one, &v, sizeof v);       \
    break;                           \
  }
  switch ((int)t) {
    FY_NUMERIC_TYPES(ONE, _)
    ONE(FY_BOOL, b, _)
    default: return fy_fail(err, FY_UNIMPLEMENTED, "OnesLike has no loop for %s", fy_dtype_name(t));
  }
#undef ONE
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, ctx->in[0], &out, err));
  return fill_with(ctx, out, one, err);
}

// ---------------------------------------------------------------- Range
// Sizes as TensorFlow finds them: exactly for integers, ceil(|(limit - start) / delta|) for floats,
// the quotient in double; an element is start + i * delta, every step rounded to the type itself.
#define LOOP_f16
#define LOOP_bf16
#define LOOP_f32 FY_CLONES
#define LOOP_f64 FY_CLONES
typedef struct range_real_job {
  void *out;
  double start, delta;
} range_real_job;
#define RANGE_REAL(E, S, _)                                                                  \
  LOOP_##S static void range_part_##S(void *arg, int64_t begin, int64_t end) {               \
    const range_real_job *j = arg;                                                           \
    fy_t_##S *restrict o = j->out;                                                           \
    const fy_a_##S start = (fy_a_##S)j->start, delta = (fy_a_##S)j->delta;                   \
    if (end > INT32_MAX) { /* only smaller numbers are made floats of in vectors */          \
      for (int64_t i = begin; i < end; i++)                                                  \
        o[i] = FY_ST_##S(start + FY_RD_##S(FY_RD_##S((fy_a_##S)i) * delta));                 \
      return;                                                                                \
    }                                                                                        \
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++)                                  \
      o[i] = FY_ST_##S(start + FY_RD_##S(FY_RD_##S((fy_a_##S)i) * delta));                   \
  }                                                                                          \
  static fy_code range_##S(fy_kernel_ctx *ctx, fy_error *err) {                              \
    const fy_a_##S start = FY_LD_##S(*(const fy_t_##S *)ctx->in[0]->data);                   \
    const fy_a_##S limit = FY_LD_##S(*(const fy_t_##S *)ctx->in[1]->data);                   \
    const fy_a_##S delta = FY_LD_##S(*(const fy_t_##S *)ctx->in[2]->data);                   \
    FY_TRY(check_range((double)start, (double)limit, (double)delta, err));                   \
    const fy_a_##S span = FY_RD_##S(FY_RD_##S(limit - start) / delta);                       \
    const double size = ceil(fabs((double)span));                                            \
    if (!(size < 9.2e18)) {                                                                  \
      return fy_fail(err, FY_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= %lld", \
                     (long long)INT64_MAX);                                                  \
    }                                                                                        \
    fy_tensor *out;                                                                          \
    FY_TRY(fy_out(ctx, 0, 1, (const int64_t[]){(int64_t)size}, &out, err));                  \
    range_real_job j = {out->data, (double)start, (double)delta};                            \
    fy_parallel(ctx, out->count, 0.3, range_part_##S, &j);                                   \
    return FY_OK;                                                                            \
  }
// The index counts in the type itself: that many fit a vector.
typedef struct range_job {
  void *out;
  uint64_t start, delta;
} range_job;
#define RANGE_INT(E, S, _)                                                                   \
  FY_CLONES static void range_part_##S(void *arg, int64_t begin, int64_t end) {              \
    const range_job *j = arg;                                                                \
    fy_t_##S *restrict o = j->out;                                                           \
    fy_u_##S value = (fy_u_##S)(j->start + (uint64_t)begin * j->delta);                      \
    const fy_u_##S delta = (fy_u_##S)j->delta;                                               \
    for (int64_t i = begin; i < end; i++) {                                                  \
      o[i] = (fy_t_##S)value;                                                                \
      value = (fy_u_##S)(value + delta);                                                     \
    }                                                                                        \
  }                                                                                          \
  static fy_code range_##S(fy_kernel_ctx *ctx, fy_error *err) {                              \
    const fy_a_##S start = *(const fy_t_##S *)ctx->in[0]->data;                              \
    const fy_a_##S limit = *(const fy_t_##S *)ctx->in[1]->data;                              \
    const fy_a_##S delta = *(const fy_t_##S *)ctx->in[2]->data;                              \
    FY_TRY(check_int_range(start, limit, delta, err));                                       \
    const uint64_t span = delta > 0 ? (uint64_t)(int64_t)limit - (uint64_t)(int64_t)start    \
                                    : (uint64_t)(int64_t)start - (uint64_t)(int64_t)limit;   \
    const uint64_t by = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)(int64_t)delta;          \
    const uint64_t size = span / by + (span % by != 0);                                      \
    if (size > INT64_MAX) {                                                                  \
      return fy_fail(err, FY_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= %lld", \
                     (long long)INT64_MAX);                                                  \
    }                                                                                        \
    fy_tensor *out;                                                                          \
    FY_TRY(fy_out(ctx, 0, 1, (const int64_t[]){(int64_t)size}, &out, err));                  \
    range_job j = {out->data, (uint64_t)(int64_t)start, (uint64_t)(int64_t)delta};           \
    fy_parallel(ctx, out->count, 0.15, range_part_##S, &j);                                  \
    return FY_OK;                                                                            \
  }

static fy_code check_int_range(int64_t start, int64_t limit, int64_t delta, fy_error *err) {
  if (delta == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Requires delta != 0: 0");
  if (delta > 0 ? start > limit : start < limit) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %lld/%lld",
                   delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", (long long)start,
                   (long long)limit);
  }
  return FY_OK;
}

static fy_code check_range(double start, double limit, double delta, fy_error *err) {
  if (delta == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Requires delta != 0: 0");
  if (!(delta > 0 ? start <= limit : start >= limit)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %g/%g",
                   delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
  }
  return FY_OK;
}
FY_REAL_TYPES(RANGE_REAL, _)
FY_INDEX_TYPES(RANGE_INT, _)

static fy_code range(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"start", "limit", "delta"};
  char x[128];
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i]->count == 1 && ctx->in[i]->rank <= 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, not shape %s", names[i],
                   fy_tensor_shape_text(ctx->in[i], x));
  }
#define CASE(E, S, _) \
  case E: return range_##S(ctx, err);
  switch ((int)ctx->in[0]->dtype) {
    FY_REAL_TYPES(CASE, _)
    FY_INDEX_TYPES(CASE, _)
    default: break;
  }
#undef CASE
  return fy_fail(err, FY_UNIMPLEMENTED, "Range has no loop for %s",
                 fy_dtype_name(ctx->in[0]->dtype));
}

static fy_code range_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t v[3], size = -1;
  bool known = fy_dtype_is_integer(ctx->in_types[0]);
  for (int i = 0; i < 3; i++) {
    fy_code code = fy_shape_rank_is(ctx->in[i], 0, err);
    if (code) {
      fy_error_append(err, "\n\t for '%s'", i == 0 ? "start" : i == 1 ? "limit" : "delta");
      return code;
    }
    known = known && fy_shape_int_value(ctx, i, &v[i]);
  }
  if (known) {
    if (v[2] == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Requires delta != 0");
    FY_TRY(check_int_range(v[0], v[1], v[2], err));
    const uint64_t span =
        v[2] > 0 ? (uint64_t)v[1] - (uint64_t)v[0] : (uint64_t)v[0] - (uint64_t)v[1];
    const uint64_t by = v[2] > 0 ? (uint64_t)v[2] : 0 - (uint64_t)v[2];
    const uint64_t n = span / by + (span % by != 0);
    if (n <= INT64_MAX) size = (int64_t)n;
  } else if (ctx->in_types[0] == FY_FLOAT || ctx->in_types[0] == FY_DOUBLE) {
    // (of 16-bit types the size depends on how the kernel rounds)
    const fy_tensor *from = fy_shape_tensor(ctx, 0), *to = fy_shape_tensor(ctx, 1);
    const fy_tensor *by = fy_shape_tensor(ctx, 2);
    if (!from || !to || !by) return fy_shape_set(ctx, 0, 1, NULL, err);
    const double start = fy_tensor_double(from, 0), limit = fy_tensor_double(to, 0);
    const double delta = fy_tensor_double(by, 0);
    FY_TRY(check_range(start, limit, delta, err));
    const bool single = ctx->in_types[0] == FY_FLOAT;  // in the type itself, as the kernel
    const double span =
        single ? (double)(((float)limit - (float)start) / (float)delta) : (limit - start) / delta;
    const double n = ceil(fabs(span));
    if (n < 9e18) size = (int64_t)n;
  }
  FY_TRY(fy_shape_set(ctx, 0, 1, &size, err));
  if (!known || size < 0 || size > FY_MAX_RANK) return FY_OK;
  int64_t values[FY_MAX_RANK];
  for (int64_t i = 0; i < size; i++) values[i] = v[0] + i * v[2];
  return fy_shape_set_value(ctx, 0, (int32_t)size, values, err);
}

// ---------------------------------------------------------------- LinSpace
#define LIN(E, S, _)                                                                      \
  LOOP_##S static void lin_part_##S(void *arg, int64_t begin, int64_t end) {              \
    const range_real_job *j = arg;                                                        \
    fy_t_##S *restrict o = j->out;                                                        \
    const fy_a_##S start = (fy_a_##S)j->start, step = (fy_a_##S)j->delta;                 \
    if (end > INT32_MAX) {                                                                \
      for (int64_t i = begin; i < end; i++) o[i] = FY_ST_##S(start + step * (fy_a_##S)i); \
      return;                                                                             \
    }                                                                                     \
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++)                               \
      o[i] = FY_ST_##S(start + step * (fy_a_##S)i);                                       \
  }                                                                                       \
  static void lin_##S(fy_kernel_ctx *ctx, const fy_tensor *from, const fy_tensor *to,     \
                      fy_tensor *out) {                                                   \
    const fy_a_##S a = FY_LD_##S(*(const fy_t_##S *)from->data);                          \
    const fy_a_##S b = FY_LD_##S(*(const fy_t_##S *)to->data);                            \
    const int64_t n = out->count;                                                         \
    fy_t_##S *o = out->data;                                                              \
    const fy_a_##S step = n > 1 ? (b - a) / (fy_a_##S)(n - 1) : 0;                        \
    range_real_job j = {o, (double)a, (double)step};                                      \
    fy_parallel(ctx, n, 0.3, lin_part_##S, &j);                                           \
    o[0] = FY_ST_##S(a);                                                                  \
    if (n > 1) o[n - 1] = FY_ST_##S(b);                                                   \
  }
FY_REAL_TYPES(LIN, _)

static fy_code lin_space(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"start", "stop", "num"};
  char x[128];
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, not shape %s", names[i],
                   fy_tensor_shape_text(ctx->in[i], x));
  }
  const int64_t n = fy_tensor_int(ctx->in[2], 0);
  if (n <= 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)n);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 1, &n, &out, err));
#define CASE(E, S, _) \
  case E: lin_##S(ctx, ctx->in[0], ctx->in[1], out); return FY_OK;
  switch ((int)out->dtype) {
    FY_REAL_TYPES(CASE, _)
    default: break;
  }
#undef CASE
  return fy_fail(err, FY_UNIMPLEMENTED, "LinSpace has no loop for %s", fy_dtype_name(out->dtype));
}

static fy_code lin_space_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n = -1;
  for (int i = 0; i < 3; i++) {
    fy_code code = fy_shape_rank_is(ctx->in[i], 0, err);
    if (code) {
      fy_error_append(err, " for '%s'", i == 0 ? "start" : i == 1 ? "stop" : "num");
      return code;
    }
  }
  if (fy_shape_int_value(ctx, 2, &n) && n <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)n);
  }
  return fy_shape_set(ctx, 0, 1, &n, err);
}

// ---------------------------------------------------------------- OneHot
typedef struct hot_job {
  fill_job off;
  const fy_tensor *indices;
  const char *on;
  int64_t depth, inner;
} hot_job;

static inline int64_t index_at(const fy_tensor *t, int64_t i) {
  if (t->dtype == FY_INT32) return ((const int32_t *)t->data)[i];
  if (t->dtype == FY_INT64) return ((const int64_t *)t->data)[i];
  return fy_tensor_int(t, i);
}
#define SET_HOT(T)                                                      \
  {                                                                     \
    T v, *o = (T *)(void *)j->off.out;                                  \
    memcpy(&v, j->on, sizeof v);                                        \
    for (int64_t i = begin; i < end; i++) {                             \
      const int64_t k = index_at(j->indices, i);                        \
      if (k < 0 || k >= j->depth) continue;                             \
      if (j->inner == 1)                                                \
        o[i * j->depth + k] = v;                                        \
      else                                                              \
        o[(i / j->inner * j->depth + k) * j->inner + i % j->inner] = v; \
    }                                                                   \
  }
static void set_hot(const hot_job *j, int64_t begin, int64_t end) {
  switch (j->off.size) {
    case 1: SET_HOT(uint8_t) break;
    case 2: SET_HOT(uint16_t) break;
    case 4: SET_HOT(uint32_t) break;
    case 8: SET_HOT(uint64_t) break;
    default: SET_HOT(bytes16) break;
  }
}
// Items: indices. What lies together is filled in pieces that are still near when their number is set.
static void hot_range(void *arg, int64_t begin, int64_t end) {
  hot_job *j = arg;
  if (j->inner != 1) {  // filled before
    set_hot(j, begin, end);
    return;
  }
  const int64_t most = (1 << 14) / (int64_t)j->off.size / j->depth + 1;
  for (int64_t i = begin, n; i < end; i += n) {
    n = end - i < most ? end - i : most;
    fill_range(&j->off, i * j->depth, (i + n) * j->depth);
    set_hot(j, i, i + n);
  }
}

static fy_code one_hot(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *depth_in = ctx->in[1], *on = ctx->in[2],
                  *off = ctx->in[3];
  const int64_t axis_attr = fy_site_int(ctx->site, "axis");
  const int32_t rank = indices->rank + 1;
  char x[128];
  if (axis_attr != -1 && (axis_attr < 0 || axis_attr >= rank)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected axis to be -1 or between [0, %d).  But received: %lld", rank,
                   (long long)axis_attr);
  }
  static const char *const names[] = {"depth", "on_value", "off_value"};
  for (int i = 0; i < 3; i++) {
    if (ctx->in[1 + i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, but got: %s", names[i],
                   fy_tensor_shape_text(ctx->in[1 + i], x));
  }
  const int64_t depth = fy_tensor_int(depth_in, 0);
  if (depth < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "depth must be non-negative, got: %lld",
                   (long long)depth);
  }
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  const int32_t axis = axis_attr < 0 ? rank - 1 : (int32_t)axis_attr;
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) {
    dims[d] = d < axis ? indices->dims[d] : d == axis ? depth : indices->dims[d - 1];
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  const int64_t inner = fy_product(dims + axis + 1, rank - 1 - axis);
  const bool plain = fy_dtype_is_plain(out->dtype);
  if (inner != 1 || !plain) FY_TRY(fill_with(ctx, out, off->data, err));
  if (out->count == 0) return FY_OK;
  if (plain) {
    hot_job j = {.off = {out->data, off->data, fy_dtype_storage(out->dtype)},
                 .indices = indices,
                 .on = on->data,
                 .depth = depth,
                 .inner = inner};
    const double row = inner == 1 ? 0.1 * (double)depth * (double)j.off.size : 0;
    fy_parallel(ctx, indices->count, 2 + row, hot_range, &j);
    return FY_OK;
  }
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t k = index_at(indices, i);
    if (k < 0 || k >= depth) continue;
    FY_TRY(fy_copy_run(out->dtype, out->data, (i / inner * depth + k) * inner + i % inner, on->data,
                       0, 1, err));
  }
  return FY_OK;
}
static fy_code one_hot_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t axis_attr = fy_shape_attr_int(ctx, "axis", -1);
  int64_t depth;
  if (axis_attr < -1) return fy_fail(err, FY_INVALID_ARGUMENT, "axis must be >= -1");
  FY_TRY(fy_shape_dim_from_scalar(ctx, 1, &depth, err));
  const fy_pshape in = ctx->in[0];
  if (in.rank < 0) return FY_OK;
  // That the axis fits is the kernel's to check; TensorFlow's inference wraps it around.
  const int32_t axis = (int32_t)((axis_attr + in.rank + 1) % (in.rank + 1));
  int64_t dims[FY_MAX_RANK + 1];
  for (int32_t d = 0; d <= in.rank; d++) {
    dims[d] = d < axis ? in.dims[d] : d == axis ? depth : in.dims[d - 1];
  }
  return fy_shape_set(ctx, 0, in.rank + 1, dims, err);
}

static const fy_sample fill_samples[] = {
    {"i32[2]=2,2; f32[]=7", NULL, FY_OK, "7,7,7,7"},
    {"i32[1]=2; s[]='x'", NULL, FY_OK, NULL},
    {"i32[1]=-1; f32[]=1", NULL, FY_INVALID_ARGUMENT, "Dimension -1 must be >= 0"},
};
static const fy_sample like_samples[] = {
    {"f32[2,2]=normal", NULL, FY_OK, NULL},
    {"b[2]=true,false", NULL, FY_OK, NULL},
    {"c128[1]=3", NULL, FY_OK, NULL},
};
static const fy_sample range_samples[] = {
    {"i32[]=0; i32[]=5; i32[]=2", NULL, FY_OK, "0,2,4"},
    {"f32[]=0; f32[]=1; f32[]=0.25", NULL, FY_OK, "0,0.25,0.5,0.75"},
    {"i64[]=5; i64[]=0; i64[]=-2", NULL, FY_OK, "5,3,1"},
    {"i32[]=0; i32[]=5; i32[]=0", NULL, FY_INVALID_ARGUMENT, "Requires delta != 0: 0"},
    {"i32[]=5; i32[]=0; i32[]=1", NULL, FY_INVALID_ARGUMENT,
     "Requires start <= limit when delta > 0: 5/0"},
};
static const fy_sample lin_samples[] = {
    {"f32[]=0; f32[]=1; i32[]=5", NULL, FY_OK, "0,0.25,0.5,0.75,1"},
    {"f32[]=0; f32[]=1; i32[]=0", NULL, FY_INVALID_ARGUMENT, "Requires num > 0: 0"},
};
static const fy_sample one_hot_samples[] = {
    {"i32[2]=1,5; i32[]=3; f32[]=1; f32[]=0", NULL, FY_OK, "0,1,0,0,0,0"},
    {"i64[2]=0,1; i32[]=2; i32[]=5; i32[]=1", "axis=0", FY_OK, "5,1,1,5"},
    {"i32[1]=0; i32[]=-1; f32[]=1; f32[]=0", NULL, FY_INVALID_ARGUMENT,
     "depth must be non-negative, got: -1"},
};

FY_OP(Fill, .shape = fill_shape, .compute = fill, .host_inputs = 1, FY_SAMPLES(fill_samples));
FY_OP(ZerosLike, .shape = fy_shape_unchanged, .compute = zeros_like, .flags = FY_OP_INPLACE,
      FY_SAMPLES(like_samples));
FY_OP(OnesLike, .shape = fy_shape_unchanged, .compute = ones_like, .flags = FY_OP_INPLACE,
      FY_SAMPLES(like_samples));
FY_OP(Range, .shape = range_shape, .compute = range, .flags = FY_OP_DYNAMIC, .host_inputs = 7,
      .host_outputs = 1, FY_SAMPLES(range_samples));
FY_OP(LinSpace, .shape = lin_space_shape, .compute = lin_space, .host_inputs = 7,
      FY_SAMPLES(lin_samples));
FY_OP(OneHot, .shape = one_hot_shape, .compute = one_hot, .host_inputs = 1 << 1,
      FY_SAMPLES(one_hot_samples));
