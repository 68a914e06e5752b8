// SPDX-License-Identifier: Apache-2.0
// quantize_and_dequantize.c: QuantizeAndDequantize (V1 to V4) and V4's gradient: what a number loses
// when it is quantized to |num_bits| bits and back.

#include <float.h>

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct job {
  bool is_signed, narrow, half_up, range_given;
  int64_t bits;
  int64_t outer, n, inner;  // slices of the axis
} job;

#define RANGE_MAX_f32 FLT_MAX
#define RANGE_MAX_f64 DBL_MAX

// A run of numbers of one slice. |unlimited| min and max keep what they are compared with; a NaN stays one.
#define TRIP_RUN(E, S, _)                                                                          \
  FY_CLONES static void trip_run_##S(const void *pi, void *po, int64_t n, double low, double high, \
                                     double by, double back, bool half_up) {                       \
    const fy_t_##S *in = pi, min = (fy_t_##S)low, max = (fy_t_##S)high;                            \
    const fy_t_##S scale = (fy_t_##S)by, inverse = (fy_t_##S)back;                                 \
    fy_t_##S *out = po;                                                                            \
    if (half_up) {                                                                                 \
      FY_VECTOR for (int64_t i = 0; i < n; i++) {                                                  \
        fy_t_##S x = max < in[i] ? max : in[i];                                                    \
        x = (x < min ? min : x) * scale;                                                           \
        out[i] = FY_MATH_##S(floor)(x + (fy_t_##S)0.5) * inverse;                                  \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                                    \
      fy_t_##S x = max < in[i] ? max : in[i];                                                      \
      out[i] = FY_MATH_##S(rint)((x < min ? min : x) * scale) * inverse;                           \
    }                                                                                              \
  }                                                                                                \
  FY_CLONES static void extremes_##S(const void *pi, int64_t n, double *low, double *high) {       \
    const fy_t_##S *in = pi;                                                                       \
    fy_t_##S min[8], max[8];                                                                       \
    int64_t i = 0;                                                                                 \
    for (int k = 0; k < 8; k++) min[k] = (fy_t_##S) * low, max[k] = (fy_t_##S) * high;             \
    for (; i + 8 <= n; i += 8) {                                                                   \
      for (int k = 0; k < 8; k++) {                                                                \
        min[k] = in[i + k] < min[k] ? in[i + k] : min[k];                                          \
        max[k] = in[i + k] > max[k] ? in[i + k] : max[k];                                          \
      }                                                                                            \
    }                                                                                              \
    for (; i < n; i++) {                                                                           \
      min[0] = in[i] < min[0] ? in[i] : min[0];                                                    \
      max[0] = in[i] > max[0] ? in[i] : max[0];                                                    \
    }                                                                                              \
    for (int k = 1; k < 8; k++) {                                                                  \
      min[0] = min[k] < min[0] ? min[k] : min[0];                                                  \
      max[0] = max[k] > max[0] ? max[k] : max[0];                                                  \
    }                                                                                              \
    *low = (double)min[0];                                                                         \
    *high = (double)max[0];                                                                        \
  }
FY_FULL_REAL_TYPES(TRIP_RUN, _)

typedef struct trip_run {
  const char *in;
  char *out;
  bool wide, half_up;
  double min, max, scale, inverse;
} trip_run;
static void trip_range(void *arg, int64_t begin, int64_t end) {
  const trip_run *r = arg;
  const size_t at = (size_t)begin * (r->wide ? 8 : 4);
  (r->wide ? trip_run_f64 : trip_run_f32)(r->in + at, r->out + at, end - begin, r->min, r->max,
                                          r->scale, r->inverse, r->half_up);
}

// Slice |k|: the scale keeps 0 exact and lets neither end overflow.
#define ROUND_TRIP(E, S, _)                                                                      \
  static void round_trip_##S(fy_kernel_ctx *ctx, const job *j, const void *pi, const void *pmin, \
                             const void *pmax, void *po) {                                       \
    const fy_t_##S *in = pi, *mins = pmin, *maxs = pmax;                                         \
    fy_t_##S *out = po;                                                                          \
    const int shift = (int)(j->is_signed ? j->bits - 1 : j->bits);                               \
    const int64_t top = (int64_t)((1ull << shift) - 1);                                          \
    const int64_t bottom = !j->is_signed ? 0                                                     \
                           : j->narrow   ? -(int64_t)(1ull << shift) + 1                         \
                                         : -(int64_t)(1ull << shift);                              \
    for (int64_t k = 0; k < j->n; k++) {                                                         \
      fy_a_##S min = 0, max = 0;                                                                 \
      if (j->range_given) {                                                                      \
        min = mins[k];                                                                           \
        max = maxs[k];                                                                           \
      } else {                                                                                   \
        double low = INFINITY, high = -INFINITY;                                                 \
        for (int64_t o = 0; o < j->outer; o++)                                                   \
          extremes_##S(in + (o * j->n + k) * j->inner, j->inner, &low, &high);                   \
        min = (fy_a_##S)low;                                                                     \
        max = (fy_a_##S)high;                                                                    \
      }                                                                                          \
      const fy_a_##S b = (fy_a_##S)bottom, t = (fy_a_##S)top;                                    \
      const fy_a_##S from_min = b * min > 0 ? b / min : RANGE_MAX_##S;                           \
      const fy_a_##S from_max = t * max > 0 ? t / max : RANGE_MAX_##S;                           \
      fy_a_##S scale, inverse;                                                                   \
      if (from_min < from_max) {                                                                 \
        scale = from_min;                                                                        \
        inverse = min / b;                                                                       \
        max = t * inverse;                                                                       \
      } else {                                                                                   \
        scale = from_max;                                                                        \
        inverse = max / t;                                                                       \
        min = b * inverse;                                                                       \
      }                                                                                          \
      trip_run r = {.wide = sizeof(fy_t_##S) == 8,                                               \
                    .half_up = j->half_up,                                                       \
                    .scale = (double)scale,                                                      \
                    .inverse = (double)inverse};                                                 \
      r.min = j->range_given ? (double)min : -INFINITY;                                          \
      r.max = j->range_given ? (double)max : INFINITY;                                           \
      for (int64_t o = 0; o < j->outer; o++) {                                                   \
        const int64_t row = (o * j->n + k) * j->inner;                                           \
        r.in = (const char *)(in + row);                                                         \
        r.out = (char *)(out + row);                                                             \
        fy_parallel(ctx, j->inner, 0.5, trip_range, &r);                                         \
      }                                                                                          \
    }                                                                                            \
  }
FY_FULL_REAL_TYPES(ROUND_TRIP, _)

typedef struct pass_job {
  const void *grad, *x, *min, *max;
  void *out;
  int64_t n, inner;
} pass_job;
// A run has one range, or a range for each of its numbers.
#define PASS_GRADIENT(E, S, _)                                                                 \
  FY_CLONES static void pass_gradient_##S(void *arg, int64_t begin, int64_t end) {             \
    const pass_job *j = arg;                                                                   \
    const bool each = j->inner == 1;                                                           \
    for (int64_t at = begin, n; at < end; at += n) {                                           \
      const int64_t k = at / j->inner % j->n;                                                  \
      const fy_t_##S *g = (const fy_t_##S *)j->grad + at, *x = (const fy_t_##S *)j->x + at;    \
      const fy_t_##S *min = (const fy_t_##S *)j->min + k, *max = (const fy_t_##S *)j->max + k; \
      fy_t_##S *out = (fy_t_##S *)j->out + at;                                                 \
      n = each ? j->n - k : j->inner - at % j->inner;                                          \
      if (n > end - at) n = end - at;                                                          \
      if (each) {                                                                              \
        FY_VECTOR for (int64_t i = 0; i < n; i++) {                                            \
          out[i] = g[i] * (fy_t_##S)((x[i] >= min[i]) & (x[i] <= max[i]));                     \
        }                                                                                      \
      } else {                                                                                 \
        const fy_t_##S low = *min, high = *max;                                                \
        FY_VECTOR for (int64_t i = 0; i < n; i++) {                                            \
          out[i] = g[i] * (fy_t_##S)((x[i] >= low) & (x[i] <= high));                          \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
  }
FY_FULL_REAL_TYPES(PASS_GRADIENT, _)

static void split(const fy_tensor *in, int64_t axis, job *j) {
  j->outer = axis < 0 ? 1 : fy_product(in->dims, (int32_t)axis);
  j->n = axis < 0 ? 1 : in->dims[axis];
  j->inner = axis < 0 ? in->count : fy_product(in->dims + axis + 1, in->rank - (int32_t)axis - 1);
}

static fy_code check_bits(int64_t bits, bool is_signed, const char *quote, fy_error *err) {
  if (bits > 0 && bits < (is_signed ? 62 : 63)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "num_bits is out of range: %lld with %ssigned_input_%s %d", (long long)bits, quote,
                 quote, is_signed);
}

static fy_code check_axis(const fy_site *site, fy_error *err) {
  const int64_t axis = fy_site_int(site, "axis");
  if (axis >= -1) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Axis must be at least -1. Found %lld", (long long)axis);
}

static fy_code prepare_v1(fy_site *site, fy_error *err) {
  const float min = fy_site_float(site, "input_min"), max = fy_site_float(site, "input_max");
  FY_TRY(check_bits(fy_site_int(site, "num_bits"), fy_site_bool(site, "signed_input"), "", err));
  if (!fy_site_bool(site, "range_given") || min <= max) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid range: input_min %g > input_max %g",
                 (double)min, (double)max);
}
static fy_code prepare_v2(fy_site *site, fy_error *err) {
  FY_TRY(check_axis(site, err));
  return check_bits(fy_site_int(site, "num_bits"), fy_site_bool(site, "signed_input"), "", err);
}
static fy_code prepare_v3(fy_site *site, fy_error *err) {
  return check_axis(site, err);
}

static fy_code check_ranges(fy_kernel_ctx *ctx, int first, int64_t axis, const job *j,
                            fy_error *err) {
  const fy_tensor *min = ctx->in[first], *max = ctx->in[first + 1];
  char x[128];
  // V2 and V4 ask for scalars whatever the axis is, as TensorFlow 2.21 does.
  const bool scalars = axis == -1 || ctx->site->num_inputs != 4;
  for (int i = 0; scalars && i < 2; i++) {
    const fy_tensor *range = i ? max : min;
    if (ctx->site->num_inputs == 4 ? range->count == 1 : range->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_%s must be a scalar.", i ? "max" : "min");
  }
  if (axis == -1) {
    const double lo = fy_tensor_double(min, 0), hi = fy_tensor_double(max, 0);
    if (lo <= hi) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid range: input_min %g > input_max %g", lo, hi);
  }
  for (int i = 0; i < 2; i++) {
    const fy_tensor *t = i ? max : min;
    if (t->rank == 1 && t->count == j->n) continue;
    if (t->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Shape must be rank 1 for input_%s_tensor when the axis is specified",
                     i ? "max" : "min");
    }
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "input_%s_tensor has incorrect size, was %lld expected %lld to match dim %lld of "
        "the input %s",
        i ? "max" : "min", (long long)t->count, (long long)j->n, (long long)axis,
        fy_tensor_shape_text(t, x));
  }
  return FY_OK;
}

static fy_code run(fy_kernel_ctx *ctx, const job *j, const void *min, const void *max,
                   fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, ctx->in[0], &out, err));
  if (out->count == 0) return FY_OK;
  if (out->dtype == FY_FLOAT) {
    round_trip_f32(ctx, j, ctx->in[0]->data, min, max, out->data);
  } else if (out->dtype == FY_DOUBLE) {
    round_trip_f64(ctx, j, ctx->in[0]->data, min, max, out->data);
  } else {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(out->dtype));
  }
  return FY_OK;
}

static fy_code v1(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  job j = {.is_signed = fy_site_bool(site, "signed_input"),
           .range_given = fy_site_bool(site, "range_given"),
           .bits = fy_site_int(site, "num_bits")};
  const float min = fy_site_float(site, "input_min"), max = fy_site_float(site, "input_max");
  const double min64 = (double)min, max64 = (double)max;
  const bool wide = ctx->in[0]->dtype == FY_DOUBLE;
  split(ctx->in[0], -1, &j);
  return run(ctx, &j, wide ? (const void *)&min64 : &min, wide ? (const void *)&max64 : &max, err);
}

static fy_code v2(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_tensor *in = ctx->in[0];
  const int64_t axis = fy_site_int(site, "axis");
  const bool bits_given = site->num_inputs == 4;
  job j = {.is_signed = fy_site_bool(site, "signed_input"),
           .narrow = fy_site_bool(site, "narrow_range"),
           .range_given = fy_site_bool(site, "range_given")};
  if (!bits_given) {
    j.bits = fy_site_int(site, "num_bits");
    j.half_up = fy_view_is(fy_site_string(site, "round_mode"), "HALF_UP");
  }
  // Version 3 compares the axis with the rank even where it says that there is none.
  if (axis >= in->rank || (bits_given && axis == -1 && in->rank == 0)) {
    return bits_given ? fy_fail(err, FY_INVALID_ARGUMENT,
                                "Axis requested is larger than input dimensions. Axis: %lld Input "
                                "Dimensions: %d",
                                (long long)axis, in->rank)
                      : fy_fail(err, FY_INVALID_ARGUMENT,
                                "Shape must be at least rank %lld but is rank %d",
                                (long long)axis + 1, in->rank);
  }
  split(in, axis, &j);
  if (bits_given) {
    if (ctx->in[3]->rank != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Invalid shape. The `num_bits` tensor should be a scalar. Got dimensions: %d",
                     ctx->in[3]->rank);
    }
    j.bits = fy_tensor_int(ctx->in[3], 0);
    FY_TRY(check_bits(j.bits, j.is_signed, "`", err));
  }
  if (j.range_given) FY_TRY(check_ranges(ctx, 1, axis, &j, err));
  return run(ctx, &j, ctx->in[1]->data, ctx->in[2]->data, err);
}

static fy_code v4_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *in = ctx->in[1];
  const int64_t axis = fy_site_int(ctx->site, "axis");
  job j = {.range_given = true};
  fy_tensor *out, *min_out, *max_out;
  if (!fy_shape_equal(grad->rank, grad->dims, in->rank, in->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "gradient and input must be the same size");
  }
  if (axis < -1) return check_axis(ctx->site, err);
  if (axis >= in->rank) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Axis should be -1 or 0 or a positive value less than %dbut given axis value was "
        "%lld",
        in->rank, (long long)axis);
  }
  split(in, axis, &j);
  for (int i = 2; i < 4; i++) {
    const fy_tensor *t = ctx->in[i];
    const char *name = i == 2 ? "min" : "max";
    if (axis == -1 && t->rank != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "input_%s must be a scalar if axis is unspecified",
                     name);
    }
    if (axis >= 0 && (t->rank != 1 || t->count != j.n)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s has incorrect size, expected %lld was %lld",
                     name, (long long)j.n, (long long)t->count);
    }
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  FY_TRY(fy_out_like(ctx, 1, ctx->in[2], &min_out, err));
  FY_TRY(fy_out_like(ctx, 2, ctx->in[3], &max_out, err));
  if (min_out->count) memset(min_out->data, 0, fy_tensor_bytes(min_out));
  if (max_out->count) memset(max_out->data, 0, fy_tensor_bytes(max_out));
  if (in->count == 0) return FY_OK;
  if (in->dtype != FY_FLOAT && in->dtype != FY_DOUBLE) {
    return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(in->dtype));
  }
  pass_job pass = {grad->data, in->data, ctx->in[2]->data, ctx->in[3]->data,
                   out->data,  j.n,      j.inner};
  fy_parallel(ctx, in->count, 0.4, in->dtype == FY_FLOAT ? pass_gradient_f32 : pass_gradient_f64,
              &pass);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code ranged_shape(fy_shape_ctx *ctx, int first, fy_error *err) {
  const int64_t axis = fy_shape_attr_int(ctx, "axis", -1);
  const int32_t rank = axis == -1 ? 0 : 1;
  const fy_pshape in = ctx->in[0];  // of the gradient op that is the gradient
  int64_t unknown = -1;
  fy_pshape least = ctx->in[first], both;
  FY_TRY(fy_shape_rank_is(least, rank, err));
  if (least.rank < 0) least = (fy_pshape){rank, &unknown};
  FY_TRY(fy_shape_merge(ctx, ctx->in[first + 1], least, &both, err));
  if (axis < -1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "axis should be at least -1, got %lld",
                   (long long)axis);
  }
  if (axis != -1) {
    int64_t n;
    FY_TRY(fy_shape_rank_at_least(in, (int32_t)axis + 1, err));
    if (in.rank >= 0) {
      FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[first], 0), in.dims[axis], &n, err));
      FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[first + 1], 0), in.dims[axis], &n, err));
    }
  }
  return fy_shape_set(ctx, 0, in.rank, in.dims, err);
}

static fy_code v2_shape(fy_shape_ctx *ctx, fy_error *err) {
  if (ctx->num_inputs == 4) FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  return ranged_shape(ctx, 1, err);
}

static fy_code grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape both;
  const int64_t axis = fy_shape_attr_int(ctx, "axis", -1);
  FY_TRY(ranged_shape(ctx, 2, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &both, err));
  FY_TRY(fy_shape_set(ctx, 0, both.rank, both.dims, err));
  for (int i = 1; i < 3; i++) {
    const int64_t n = fy_dim_of(ctx->in[1 + i], 0) >= 0 ? fy_dim_of(ctx->in[1 + i], 0)
                                                        : fy_dim_of(ctx->in[4 - i], 0);
    FY_TRY(fy_shape_set(ctx, i, axis == -1 ? 0 : 1, &n, err));
  }
  return FY_OK;
}

static const fy_sample v1_samples[] = {
    {"f32[3]=-1,0.3,1", "num_bits=2", FY_OK, "-1,0,1"},
};
static const fy_sample v2_samples[] = {
    {"f32[3]=-1,0.3,1; f32[]=-1; f32[]=1", "range_given=true; narrow_range=true; num_bits=2", FY_OK,
     "-1,0,1"},
    {"f32[3]=-1,0.3,1; f32[]=1; f32[]=-1", "range_given=true", FY_INVALID_ARGUMENT,
     "Invalid range: input_min 1 > input_max -1"},
};
static const fy_sample v3_samples[] = {
    {"f32[3]=-1,0.3,1; f32[]=-1; f32[]=1; i32[]=2", "narrow_range=true", FY_OK, "-1,0,1"},
};
static const fy_sample grad_samples[] = {
    {"f32[3]=1,2,3; f32[3]=-2,0,2; f32[]=-1; f32[]=1", NULL, FY_OK, "0,2,0"},
};
FY_OP(QuantizeAndDequantize, .shape = fy_shape_unchanged, .prepare = prepare_v1, .compute = v1,
      FY_SAMPLES(v1_samples));
FY_OP(QuantizeAndDequantizeV2, .shape = v2_shape, .prepare = prepare_v2, .compute = v2,
      FY_SAMPLES(v2_samples));
FY_OP(QuantizeAndDequantizeV3, .shape = v2_shape, .prepare = prepare_v3, .compute = v2,
      .host_inputs = 8, FY_SAMPLES(v3_samples));
FY_OP(QuantizeAndDequantizeV4, .shape = v2_shape, .prepare = prepare_v2, .compute = v2,
      FY_SAMPLES(v2_samples));
FY_OP(QuantizeAndDequantizeV4Grad, .shape = grad_shape, .compute = v4_grad,
      FY_SAMPLES(grad_samples));
