// SPDX-License-Identifier: Apache-2.0
// uniform_quantize.c: UniformQuantize, UniformDequantize, UniformRequantize, UniformQuantizedAdd,
// UniformQuantizedClipByValue, UniformQuantizedDot and UniformQuantizedDotHybrid: affine quantization
// real = (q - zero_point) * scale, with one scale or one per index of an axis. A change of scale is a
// multiplication by a 31-bit fraction and a shift, rounded once.

#include <math.h>
#include <stdatomic.h>

#include "ops/broadcast.h"
#include "ops/quant.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/uniform.h"
#include "ops/values.h"

// ---------------------------------------------------------------- scales
fy_code fy_scales_read(const fy_kernel_ctx *ctx, const fy_tensor *data, int at, int64_t axis,
                       fy_scales *out, fy_error *err) {
  const fy_tensor *scale = ctx->in[at], *zero = ctx->in[at + 1];
  char x[128], y[128];
  if (!fy_shape_equal(scale->rank, scale->dims, zero->rank, zero->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "scales and zero_points shape must be same, but given scales shape %s and "
                   "zero_points shape %s",
                   fy_tensor_shape_text(scale, x), fy_tensor_shape_text(zero, y));
  }
  if (axis < -1 || axis >= data->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "quantization_axis must be -1 or in range [0, input.rank), but given %lld",
                   (long long)axis);
  }
  if (axis == -1 ? scale->rank != 0 : scale->rank != 1 || scale->count != data->dims[axis]) {
    return axis == -1
               ? fy_fail(err, FY_INVALID_ARGUMENT,
                         "If quantization_axis is -1, scales and zero_points must be scalar "
                         "tensors, but given scales shape %s and zero_points shape %s",
                         fy_tensor_shape_text(scale, x), fy_tensor_shape_text(zero, y))
               : fy_fail(
                     err, FY_INVALID_ARGUMENT,
                     "If quantization_axis is not -1, scales and zero_points must be a tensor "
                     "of "
                     "rank 1 and the size must be equal to the input.dim_size(quantization_axis), "
                     "but given quantization_axis %lld, scales shape %s and zero_points shape "
                     "%s",
                     (long long)axis, fy_tensor_shape_text(scale, x),
                     fy_tensor_shape_text(zero, y));
  }
  *out =
      (fy_scales){scale->data, zero->data, scale->rank ? scale->count : 1,
                  axis < 0 ? 1 : fy_product(data->dims + axis + 1, data->rank - (int32_t)axis - 1)};
  return FY_OK;
}

fy_code fy_scales_positive(const fy_tensor *t, const char *text, fy_error *err) {
  for (int64_t i = 0; i < t->count; i++) {
    if (!(((const float *)t->data)[i] > 0)) return fy_fail(err, FY_INVALID_ARGUMENT, "%s", text);
  }
  return FY_OK;
}

fy_code fy_multiplier_of(double v, fy_multiplier *out, fy_error *err) {
  if (!isfinite(v) || v <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "double_multiplier must be a poisitive finite number. Given %g", v);
  }
  const double q = frexp(v, &out->shift);
  out->fraction = (int64_t)round(q * 0x1p31);
  if (out->fraction == 1LL << 31) {
    out->fraction /= 2;
    out->shift++;
  }
  if (out->shift < -31) *out = (fy_multiplier){0, 0};
  if (out->shift > 30) *out = (fy_multiplier){(1LL << 31) - 1, 30};
  return FY_OK;
}
// ---------------------------------------------------------------- to and from floats
typedef struct float_job {
  const fy_tensor *in;
  fy_tensor *out;
  fy_scales s;
  fy_limits l;
} float_job;

FY_CLONES static void quantize_run(const float *in, int64_t n, float by, int32_t zero, fy_limits l,
                                   int32_t *out) {
  for (int64_t i = 0; i < n; i++) {
    const float v = floorf(in[i] * by + 0.5f);
    const bool fits = v >= -0x1p31f && v < 0x1p31f;  // as fy_q_int32
    const int32_t q = (int32_t)(fits ? v : -0x1p31f);
    out[i] = fy_limited(fy_wrap_add(q, zero), l);
  }
}
static void put_run(fy_dtype type, void *out, int64_t at, const int32_t *v, int64_t n) {
  switch (fy_qtype_of(type).bits) {
    case 8:
      for (int64_t i = 0; i < n; i++) ((uint8_t *)out)[at + i] = (uint8_t)v[i];
      break;
    case 16:
      for (int64_t i = 0; i < n; i++) ((uint16_t *)out)[at + i] = (uint16_t)v[i];
      break;
    default: memcpy((int32_t *)out + at, v, (size_t)n * sizeof *v);
  }
}
static void get_run(fy_dtype type, const void *in, int64_t at, int32_t *v, int64_t n) {
  switch (type) {
    case FY_QINT8:
      for (int64_t i = 0; i < n; i++) v[i] = ((const int8_t *)in)[at + i];
      break;
    case FY_QUINT8:
      for (int64_t i = 0; i < n; i++) v[i] = ((const uint8_t *)in)[at + i];
      break;
    default:
      for (int64_t i = 0; i < n; i++) v[i] = (int32_t)fy_q_get(type, in, at + i);
  }
}
// How many numbers from |i| on have its scale: at most |most| and a chunk.
static int64_t run_of(const fy_scales *s, int64_t i, int64_t most) {
  const int64_t n = most < FY_CHUNK ? most : FY_CHUNK;
  const int64_t same = s->n == 1 ? n : s->inner - i % s->inner;
  return n < same ? n : same;
}
static void quantize_range(void *arg, int64_t begin, int64_t end) {
  const float_job *j = arg;
  int32_t v[FY_CHUNK];
  for (int64_t i = begin, n; i < end; i += n) {
    const int64_t c = fy_scales_channel(&j->s, i);
    n = run_of(&j->s, i, end - i);
    quantize_run((const float *)j->in->data + i, n, 1.0f / j->s.scale[c], j->s.zero[c], j->l, v);
    put_run(j->out->dtype, j->out->data, i, v, n);
  }
}
static void dequantize_range(void *arg, int64_t begin, int64_t end) {
  const float_job *j = arg;
  int32_t v[FY_CHUNK];
  for (int64_t i = begin, n; i < end; i += n) {
    const int64_t c = fy_scales_channel(&j->s, i);
    const int32_t zero = fy_wrap_neg(j->s.zero[c]);
    const float scale = j->s.scale[c];
    float *out = (float *)j->out->data + i;
    n = run_of(&j->s, i, end - i);
    get_run(j->in->dtype, j->in->data, i, v, n);
    // TensorFlow's qint32 becomes an int32 by way of float.
    for (int64_t k = 0; j->in->dtype == FY_QINT32 && k < n; k++)
      v[k] = (int32_t)fy_q_int32((float)v[k]);
    for (int64_t k = 0; k < n; k++) out[k] = (float)fy_wrap_add(v[k], zero) * scale;
  }
}

static fy_code quantize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  float_job j = {.in = in,
                 .l = fy_limits_of(ctx->site, "quantization_min_val", "quantization_max_val")};
  FY_TRY(fy_scales_read(ctx, in, 1, fy_site_int(ctx->site, "quantization_axis"), &j.s, err));
  FY_TRY(fy_out_like(ctx, 0, in, &j.out, err));
  fy_parallel(ctx, in->count, 0.6, quantize_range, &j);
  return FY_OK;
}

static fy_code dequantize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  float_job j = {.in = in};
  FY_TRY(fy_scales_read(ctx, in, 1, fy_site_int(ctx->site, "quantization_axis"), &j.s, err));
  FY_TRY(fy_scales_positive(ctx->in[1], "rhs scales elements must be all positive.", err));
  FY_TRY(fy_out_like(ctx, 0, in, &j.out, err));
  fy_parallel(ctx, in->count, 0.5, dequantize_range, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- from scale to scale
typedef struct rescale_job {
  const fy_tensor *in;
  const fy_scales *from, *to;
  fy_limits l;
  fy_dtype type;
  void *out;
  _Atomic int64_t bad_from;  // the first number whose ratio of scales is no multiplier
} rescale_job;
static double ratio_at(const rescale_job *j, int64_t i) {
  return (double)j->from->scale[fy_scales_channel(j->from, i)] /
         (double)j->to->scale[fy_scales_channel(j->to, i)];
}
static void rescale_range(void *arg, int64_t begin, int64_t end) {
  rescale_job *j = arg;
  int32_t v[FY_CHUNK];
  for (int64_t i = begin, n; i < end; i += n) {
    const int32_t zero = fy_wrap_neg(j->from->zero[fy_scales_channel(j->from, i)]);
    const int32_t shift = j->to->zero[fy_scales_channel(j->to, i)];
    fy_multiplier m;
    if (fy_multiplier_of(ratio_at(j, i), &m, NULL)) {
      int64_t first = atomic_load(&j->bad_from);
      while (i < first && !atomic_compare_exchange_weak(&j->bad_from, &first, i)) continue;
      return;
    }
    n = run_of(j->to, i, run_of(j->from, i, end - i));
    get_run(j->in->dtype, j->in->data, i, v, n);
    for (int64_t k = 0; k < n; k++) {
      const int32_t q = fy_multiplied(fy_wrap_add(v[k], zero), m);
      v[k] = fy_limited(fy_wrap_add(q, shift), j->l);
    }
    put_run(j->type, j->out, i, v, n);
  }
}
static fy_code rescale(fy_kernel_ctx *ctx, const fy_tensor *in, const fy_scales *from,
                       const fy_scales *to, fy_limits l, fy_dtype type, void *out, fy_error *err) {
  rescale_job j = {in, from, to, l, type, out, INT64_MAX};
  fy_parallel(ctx, in->count, 2, rescale_range, &j);
  if (j.bad_from == INT64_MAX) return FY_OK;
  fy_multiplier m;
  FY_TRY(fy_multiplier_of(ratio_at(&j, j.bad_from), &m, err));
  return FY_OK;
}

static fy_code requantize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_limits l =
      fy_limits_of(ctx->site, "output_quantization_min_val", "output_quantization_max_val");
  static const char positive[] = "input/output scales elements must be all positive.";
  fy_scales from, to;
  fy_tensor *out;
  FY_TRY(fy_scales_read(ctx, in, 1, fy_site_int(ctx->site, "input_quantization_axis"), &from, err));
  FY_TRY(fy_scales_read(ctx, in, 3, fy_site_int(ctx->site, "output_quantization_axis"), &to, err));
  FY_TRY(fy_scales_positive(ctx->in[1], positive, err));
  FY_TRY(fy_scales_positive(ctx->in[3], positive, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  return rescale(ctx, in, &from, &to, l, out->dtype, out->data, err);
}

typedef struct add_job {
  const int32_t *a, *b;
  int32_t *out;
  const fy_bcast *bc;
  const fy_scales *to;
  fy_limits l;
} add_job;
static void add_row(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  const add_job *j = arg;
  for (int64_t i = 0; i < n; i++) {
    const int32_t a = j->a[at[0] + i * j->bc->inner_stride[0]];
    const int32_t b = j->b[at[1] + i * j->bc->inner_stride[1]];
    const int32_t zero = j->to->zero[fy_scales_channel(j->to, out_at + i)];
    j->out[out_at + i] = fy_limited(fy_wrap_add(fy_wrap_add(a, b), -zero), j->l);
  }
}

// Scales of the result as they apply to an operand, whose dims are the last of the result's.
static fy_scales seen_from(const fy_scales *s, int64_t axis, const fy_tensor *operand,
                           int32_t rank) {
  fy_scales r = *s;
  const int64_t own = axis - (rank - operand->rank);
  if (s->n > 1 && own >= 0) {
    r.inner = fy_product(operand->dims + own + 1, operand->rank - (int32_t)own - 1);
  }
  return r;
}

static fy_code add(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const fy_limits l =
      fy_limits_of(ctx->site, "output_quantization_min_val", "output_quantization_max_val");
  const int64_t out_axis = fy_site_int(ctx->site, "output_quantization_axis");
  static const char positive[] = "lhs/rhs/output scales elements must be all positive.";
  fy_scales from_a, from_b, to;
  fy_bcast bc;
  fy_tensor *out;
  void *memory;
  FY_TRY(fy_scales_read(ctx, a, 2, fy_site_int(ctx->site, "lhs_quantization_axis"), &from_a, err));
  FY_TRY(fy_scales_read(ctx, b, 4, fy_site_int(ctx->site, "rhs_quantization_axis"), &from_b, err));
  FY_TRY(fy_bcast_init(&bc, 2, (const fy_tensor *const[]){a, b}, err));
  FY_TRY(fy_out(ctx, 0, bc.out_rank, bc.out_dims, &out, err));
  FY_TRY(fy_scales_read(ctx, out, 6, out_axis, &to, err));
  for (int i = 2; i < 8; i += 2) FY_TRY(fy_scales_positive(ctx->in[i], positive, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)(a->count + b->count) * sizeof(int32_t), &memory, err));
  int32_t *both = memory;
  const fy_scales to_a = seen_from(&to, out_axis, a, out->rank);
  const fy_scales to_b = seen_from(&to, out_axis, b, out->rank);
  const fy_limits whole = {INT32_MIN, INT32_MAX};  // only the sum is limited
  FY_TRY(rescale(ctx, a, &from_a, &to_a, whole, FY_QINT32, both, err));
  FY_TRY(rescale(ctx, b, &from_b, &to_b, whole, FY_QINT32, both + a->count, err));
  add_job j = {both, both + a->count, out->data, &bc, &to, l};
  fy_bcast_rows(&bc, 0, out->count, add_row, &j);
  return FY_OK;
}

static fy_code clip(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *min = ctx->in[1], *max = ctx->in[2];
  const int64_t axis = fy_site_int(ctx->site, "quantization_axis");
  fy_scales s;
  fy_tensor *out;
  char x[128], y[128];
  FY_TRY(fy_scales_read(ctx, in, 3, axis, &s, err));
  for (int i = 1; i < 3; i++) {
    const fy_tensor *t = ctx->in[i], *scales = ctx->in[3];
    if (fy_shape_equal(t->rank, t->dims, scales->rank, scales->dims)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input %s shape must be same as scales/zero_points. Given %s of shape %s and "
                   "scales/zero_points of shape %s",
                   i == 1 ? "min" : "max", i == 1 ? "min" : "max", fy_tensor_shape_text(t, x),
                   fy_tensor_shape_text(scales, y));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  for (int64_t i = 0; i < in->count; i++) {
    const int64_t c = fy_scales_channel(&s, i);
    const fy_limits l = {((const int32_t *)min->data)[c], ((const int32_t *)max->data)[c]};
    ((int32_t *)out->data)[i] = fy_limited(((const int32_t *)in->data)[i], l);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- dot
static fy_code check_dot(const fy_tensor *a, const fy_tensor *b, fy_error *err) {
  char x[128], y[128];
  if (a->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "lhs rank must be 2, but given lhs shape %s",
                   fy_tensor_shape_text(a, x));
  }
  if (b->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "rhs rank must be 2, but given rhs shape %s",
                   fy_tensor_shape_text(b, x));
  }
  if (a->dims[1] == b->dims[0]) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "lhs.dim_size(1) and rhs.dim_size(0) must be equal, but given lhs shape %s and "
                 "rhs shape %s",
                 fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
}

// Products go by the shape of the scales, whatever axis the attribute names.
static int64_t axis_by_shape(const fy_tensor *scales) {
  return scales->rank ? 1 : -1;
}

static int32_t dot_one(const int8_t *row, int32_t zero_row, const int8_t *col, int64_t step,
                       int32_t zero_col, int64_t n) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += (uint32_t)(row[i] - zero_row) * (uint32_t)(col[i * step] - zero_col);
  }
  return (int32_t)sum;
}

static fy_code dot(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const fy_limits l =
      fy_limits_of(ctx->site, "output_quantization_min_val", "output_quantization_max_val");
  static const char positive[] = "lhs/rhs/output scales elements must be all positive.";
  fy_scales sa, sb, so;
  fy_tensor *out;
  FY_TRY(check_dot(a, b, err));
  const int64_t m = a->dims[0], k = a->dims[1], n = b->dims[1];
  FY_TRY(fy_scales_read(ctx, a, 2, fy_site_int(ctx->site, "lhs_quantization_axis"), &sa, err));
  FY_TRY(fy_scales_read(ctx, b, 4, axis_by_shape(ctx->in[4]), &sb, err));
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){m, n}, &out, err));
  FY_TRY(fy_scales_read(ctx, out, 6, axis_by_shape(ctx->in[6]), &so, err));
  for (int i = 2; i < 8; i += 2) FY_TRY(fy_scales_positive(ctx->in[i], positive, err));
  for (int64_t c = 0; c < n; c++) {
    const int64_t cb = sb.n == 1 ? 0 : c, co = so.n == 1 ? 0 : c;
    fy_multiplier by;
    FY_TRY(fy_multiplier_of((double)sa.scale[0] * (double)sb.scale[cb] / (double)so.scale[co], &by,
                            err));
    for (int64_t r = 0; r < m; r++) {
      const int32_t sum = dot_one((const int8_t *)a->data + r * k, sa.zero[0],
                                  (const int8_t *)b->data + c, n, sb.zero[cb], k);
      ((int32_t *)out->data)[r * n + c] =
          fy_limited(fy_wrap_add(fy_multiplied(sum, by), so.zero[co]), l);
    }
  }
  return FY_OK;
}

// Quantizes a row to int8 by its own extremes.
void fy_quantize_row(const float *in, int64_t n, int8_t *out, float *scale, int32_t *zero) {
  double low = 0, high = 0;
  for (int64_t i = 0; i < n; i++) {
    low = (double)in[i] < low ? (double)in[i] : low;
    high = (double)in[i] > high ? (double)in[i] : high;
  }
  const float inverse = high > low ? (float)(255.0 / (high - low)) : 0;
  *scale = (float)((high - low) / 255.0);
  if (*scale == 0 || !isfinite(inverse)) {
    memset(out, 0, (size_t)n);
    *scale = 1;
    *zero = 0;
    return;
  }
  const double from_low = -128 - low / (double)*scale, from_high = 127 - high / (double)*scale;
  const double error_low = 128 + fabs(low / (double)*scale);
  const double error_high = 127 + fabs(high / (double)*scale);
  const double at = error_low < error_high ? from_low : from_high;
  *zero = (int32_t)(at <= -128 ? -128 : at >= 127 ? 127 : round(at));
  for (int64_t i = 0; i < n; i++) {
    const int32_t v = (int32_t)fy_q_int32(floorf(in[i] * inverse + 0.5f));
    out[i] = (int8_t)fy_limited(fy_wrap_add(v, *zero), (fy_limits){-128, 127});
  }
}

static fy_code hybrid_dot(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  fy_scales sb;
  fy_tensor *out;
  void *memory;
  FY_TRY(check_dot(a, b, err));
  const int64_t m = a->dims[0], k = a->dims[1], n = b->dims[1];
  FY_TRY(fy_scales_read(ctx, b, 2, axis_by_shape(ctx->in[2]), &sb, err));
  FY_TRY(fy_scales_positive(ctx->in[2], "rhs scales elements must be all positive.", err));
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){m, n}, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)k + 1, &memory, err));
  for (int64_t r = 0; r < m; r++) {
    float scale;
    int32_t zero;
    fy_quantize_row((const float *)a->data + r * k, k, memory, &scale, &zero);
    for (int64_t c = 0; c < n; c++) {
      const int64_t cb = sb.n == 1 ? 0 : c;
      const int32_t sum = dot_one(memory, zero, (const int8_t *)b->data + c, n, sb.zero[cb], k);
      ((float *)out->data)[r * n + c] = (float)sum * scale * sb.scale[cb];
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- prepare, shapes
static fy_code axis_prepare(fy_site *site, fy_error *err) {
  const int64_t axis = fy_site_int(site, "quantization_axis");
  if (axis >= -1) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "quantization_axis must be >= -1, given: %lld",
                 (long long)axis);
}
static fy_code requantize_prepare(fy_site *site, fy_error *err) {
  const int64_t in = fy_site_int(site, "input_quantization_axis");
  const int64_t out = fy_site_int(site, "output_quantization_axis");
  if (in < -1 || out < -1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s_quantization_axis must be >= -1, given: %lld",
                   in < -1 ? "input" : "output", (long long)(in < -1 ? in : out));
  }
  if (in < 0 || out < 0 || in == out) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "If input and output is both per-axis quantized, the quantization axis must be "
                 "same.");
}
static fy_code dot_prepare(fy_site *site, fy_error *err) {
  const bool full = site->num_inputs == 8;
  const int64_t rhs = fy_site_int(site, "rhs_quantization_axis");
  const int64_t out = full ? fy_site_int(site, "output_quantization_axis") : -1;
  if (full && fy_site_int(site, "lhs_quantization_axis") != -1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "lhs_quantization_axis Attr must be -1 (per-tensor).");
  }
  const char *wrong = rhs != 1 && rhs != -1 ? "rhs" : out != 1 && out != -1 ? "output" : NULL;
  if (!wrong) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "%s_quantization_axis Attr must be 1 (per-channel) or -1 (per-tensor).", wrong);
}
static fy_code add_prepare(fy_site *site, fy_error *err) {
  if (fy_site_int(site, "lhs_quantization_axis") >= -1 &&
      fy_site_int(site, "rhs_quantization_axis") >= -1 &&
      fy_site_int(site, "output_quantization_axis") >= -1)
    return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "lhs, rhs and output quantization_axis must be -1 or within [0, dims)");
}
static fy_code like_first(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err);
}
// Inputs |at| and the next: scalars, or one for each of |n|.
fy_code fy_scales_shape(const fy_shape_ctx *ctx, int at, int64_t n, fy_error *err) {
  const fy_pshape scale = ctx->in[at], zero = ctx->in[at + 1];
  if (scale.rank < 0 || zero.rank < 0) return FY_OK;
  if (scale.rank != zero.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "scales and zero_points must have same rank.");
  }
  if (scale.rank == 0) return FY_OK;
  int64_t both;
  FY_TRY(fy_dim_merge(scale.dims[0], n, &both, err));
  return fy_dim_merge(zero.dims[0], n, &both, err);
}
static fy_code dot_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t k;
  const bool hybrid = ctx->num_inputs == 4;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  for (int i = 2; i < ctx->num_inputs; i++) {
    FY_TRY(fy_shape_rank_at_most(ctx->in[i], !hybrid && i < 4 ? 0 : 1, err));
  }
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 1), fy_dim_of(ctx->in[1], 0), &k, err));
  for (int i = hybrid ? 2 : 4; i < ctx->num_inputs; i += 2) {
    FY_TRY(fy_scales_shape(ctx, i, fy_dim_of(ctx->in[1], 1), err));
  }
  const int64_t dims[] = {fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 1)};
  return fy_shape_set(ctx, 0, 2, dims, err);
}

#define RANGE "quantization_min_val=-128; quantization_max_val=127"
#define RANGES                                                    \
  "lhs_quantization_min_val=-128; lhs_quantization_max_val=127; " \
  "rhs_quantization_min_val=-128; rhs_quantization_max_val=127; " \
  "output_quantization_min_val=-100000; output_quantization_max_val=100000"
static const fy_sample quantize_samples[] = {
    {"f32[3]=-1,0.26,100; f32[]=0.5; i32[]=1", "Tout=qint8; " RANGE, FY_OK, "-1,2,127"},
    {"f32[3]=-1,0.26,100; f32[1]=0.5; i32[1]=1", "Tout=qint8; " RANGE, FY_INVALID_ARGUMENT,
     "must be scalar"},
};
static const fy_sample dequantize_samples[] = {
    {"qint8[3]=-1,2,127; f32[]=0.5; i32[]=1", "Tout=float; " RANGE, FY_OK, "-1,0.5,63"},
};
static const fy_sample requantize_samples[] = {
    {"qint8[3]=-1,2,127; f32[]=0.5; i32[]=1; f32[]=1; i32[]=0",
     "Tout=qint8; input_quantization_min_val=-128; input_quantization_max_val=127; "
     "output_quantization_min_val=-128; output_quantization_max_val=127",
     FY_OK, "-1,1,63"},
};
static const fy_sample add_samples[] = {
    {"qint32[2]=1,2; qint32[1]=3; f32[]=1; i32[]=0; f32[]=1; i32[]=0; f32[]=1; i32[]=0", RANGES,
     FY_OK, "4,5"},
};
static const fy_sample clip_samples[] = {
    {"qint32[3]=-5,0,5; qint32[]=-1; qint32[]=2; f32[]=1; i32[]=0", RANGE, FY_OK, "-1,0,2"},
};
static const fy_sample dot_samples[] = {
    {"qint8[1,2]=1,2; qint8[2,1]=3,4; f32[]=1; i32[]=0; f32[]=1; i32[]=0; f32[]=1; i32[]=0",
     "Tout=qint32; " RANGES, FY_OK, "11"},
};
static const fy_sample hybrid_samples[] = {
    {"f32[1,2]=0,255; qint8[2,1]=3,4; f32[]=1; i32[]=0",
     "Tout=float; rhs_quantization_min_val=-128; rhs_quantization_max_val=127", FY_OK, "1020"},
};
FY_OP(UniformQuantize, .shape = like_first, .prepare = axis_prepare, .compute = quantize,
      FY_SAMPLES(quantize_samples));
FY_OP(UniformDequantize, .shape = like_first, .compute = dequantize,
      FY_SAMPLES(dequantize_samples));
FY_OP(UniformRequantize, .shape = like_first, .prepare = requantize_prepare, .compute = requantize,
      FY_SAMPLES(requantize_samples));
FY_OP(UniformQuantizedAdd, .shape = fy_shape_broadcast, .prepare = add_prepare, .compute = add,
      FY_SAMPLES(add_samples));
FY_OP(UniformQuantizedClipByValue, .shape = like_first, .compute = clip, FY_SAMPLES(clip_samples));
FY_OP(UniformQuantizedDot, .shape = dot_shape, .prepare = dot_prepare, .compute = dot,
      FY_SAMPLES(dot_samples));
FY_OP(UniformQuantizedDotHybrid, .shape = dot_shape, .prepare = dot_prepare, .compute = hybrid_dot,
      FY_SAMPLES(hybrid_samples));
