// SPDX-License-Identifier: Apache-2.0
// quantize.c: QuantizeV2 and Dequantize. MIN_COMBINED and SCALED may have a range per slice of an
// axis; MIN_FIRST rounds the start of the range to a whole step first.

#include <float.h>

#include "ops/quant.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef enum mode { MIN_COMBINED, MIN_FIRST, SCALED } mode;

static mode mode_of(const fy_site *site) {
  const fy_view m = fy_site_string(site, "mode");
  return fy_view_is(m, "MIN_FIRST") ? MIN_FIRST : fy_view_is(m, "SCALED") ? SCALED : MIN_COMBINED;
}

// The elements of slice |i| along |axis|: |outer| runs of |inner|.
typedef struct slices {
  int64_t outer, n, inner;
} slices;
static slices slices_of(const fy_tensor *t, int64_t axis) {
  if (axis < 0) return (slices){1, 1, t->count};
  return (slices){fy_product(t->dims, (int32_t)axis), t->dims[axis],
                  fy_product(t->dims + axis + 1, t->rank - (int32_t)axis - 1)};
}

static float half_range(fy_qtype q) {
  return q.low == 0 ? 0 : (float)(((double)q.high - (double)q.low + 1) / 2);
}

// ---------------------------------------------------------------- QuantizeV2
typedef struct quantize_job {
  const float *in;
  void *out;
  fy_dtype type;
  mode mode;
  bool even, narrow;
  float least;  // ensure_minimum_range
} quantize_job;

// Steps that every mode is made of: w = (x within [min, max] - less) * scale + more, rounded; then
// less |shift| within [low, high]. What is not a number becomes |nan| (unless shifted).
typedef enum rounding { TO_ZERO, AWAY_FROM_ZERO, TO_EVEN } rounding;
typedef struct quantize_steps {
  float min, max, less, scale, more;
  rounding round;
  bool shifted;
  float shift, low, high;
  int32_t nan;
} quantize_steps;

static inline int32_t int_of(float v) {  // as fy_q_int32
  return v >= -0x1p31f && v < 0x1p31f ? (int32_t)v : INT32_MIN;
}
static inline int32_t int_or(float v, int32_t nan) {
  return v == v ? int_of(v) : nan;
}
static inline float within(float v, float min, float max) {
  v = v > max ? max : v;
  return v < min ? min : v;
}
// What truncation makes of it is the nearest integer, of two the one farther from zero.
static inline float before_away(float w) {
  return w + copysignf(0x1.fffffep-2f, w);
}

#define QUANTIZE_CHUNK 512
FY_CLONES static void quantize_chunk(const float *restrict in, int32_t *restrict out, int64_t n,
                                     quantize_steps s) {
  if (s.shifted) {
    for (int64_t i = 0; i < n; i++) {
      const float v = in[i] * s.scale, w = truncf(before_away(v));
      // From 2^23 on every float is whole.
      out[i] = int_of(within((fabsf(v) < 0x1p23f ? w : v) - s.shift, s.low, s.high));
    }
  } else if (s.round == TO_ZERO) {
    for (int64_t i = 0; i < n; i++)
      out[i] = int_or((within(in[i], s.min, s.max) - s.less) * s.scale + s.more, s.nan);
  } else if (s.round == AWAY_FROM_ZERO) {
    for (int64_t i = 0; i < n; i++)
      out[i] =
          int_or(before_away((within(in[i], s.min, s.max) - s.less) * s.scale + s.more), s.nan);
  } else {
    for (int64_t i = 0; i < n; i++)
      out[i] = int_or(rintf((within(in[i], s.min, s.max) - s.less) * s.scale + s.more), s.nan);
  }
}
// The same for bytes, where no step leaves the range of int32_t. (Not to even.) |least|: what is not a number becomes
// what min does.
FY_CLONES static void quantize_bytes(const float *restrict in, uint8_t *restrict out, int64_t n,
                                     quantize_steps s, bool least) {
  const float nan = (float)s.nan;
  if (least && s.round == TO_ZERO) {
    for (int64_t i = 0; i < n; i++) {
      const float v = in[i] > s.min ? in[i] : s.min;
      out[i] = (uint8_t)(int32_t)(((v > s.max ? s.max : v) - s.less) * s.scale + s.more);
    }
  } else if (least) {
    for (int64_t i = 0; i < n; i++) {
      const float v = in[i] > s.min ? in[i] : s.min;
      out[i] = (uint8_t)(int32_t)before_away(((v > s.max ? s.max : v) - s.less) * s.scale + s.more);
    }
  } else if (s.round == TO_ZERO) {
    for (int64_t i = 0; i < n; i++) {
      const float w = (within(in[i], s.min, s.max) - s.less) * s.scale + s.more;
      out[i] = (uint8_t)(int32_t)(w == w ? w : nan);
    }
  } else {
    for (int64_t i = 0; i < n; i++) {
      const float w = before_away((within(in[i], s.min, s.max) - s.less) * s.scale + s.more);
      out[i] = (uint8_t)(int32_t)(w == w ? w : nan);
    }
  }
}
FY_CLONES static void narrow_8(const int32_t *restrict in, uint8_t *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (uint8_t)in[i];
}
FY_CLONES static void narrow_16(const int32_t *restrict in, uint16_t *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (uint16_t)in[i];
}

typedef struct quantize_run {
  quantize_steps steps;
  const float *in;
  char *out;
  int bits;
  bool bytes;     // quantize_bytes may do it
  int64_t whole;  // up to here a NaN becomes |low|, as in TensorFlow's vectors; then 0
  int32_t low;
} quantize_run;

static void quantize_range(void *arg, int64_t begin, int64_t end) {
  const quantize_run *r = arg;
  int32_t v[QUANTIZE_CHUNK];
  for (int64_t at = begin, m; at < end; at += m) {
    quantize_steps steps = r->steps;
    m = r->bytes || end - at < QUANTIZE_CHUNK ? end - at : QUANTIZE_CHUNK;
    if (at < r->whole) {
      m = r->whole - at < m ? r->whole - at : m;
      steps.nan = r->low;
    }
    if (r->bytes) {
      const float least = (steps.min - steps.less) * steps.scale + steps.more;
      quantize_bytes(r->in + at, (uint8_t *)(void *)r->out + at, m, steps,
                     (int32_t)(steps.round == TO_ZERO ? least : before_away(least)) == steps.nan);
      continue;
    }
    quantize_chunk(r->in + at, v, m, steps);
    if (r->bits == 8)
      narrow_8(v, (uint8_t *)(void *)r->out + at, m);
    else if (r->bits == 16)
      narrow_16(v, (uint16_t *)(void *)r->out + at, m);
    else
      memcpy((int32_t *)(void *)r->out + at, v, (size_t)m * sizeof *v);
  }
}

static void quantize_slice(fy_kernel_ctx *ctx, const quantize_job *j, const slices *s,
                           int64_t slice, float *min_range, float *max_range) {
  const fy_qtype q = fy_qtype_of(j->type);
  float min = fminf(0, *min_range);
  const float epsilon = fmaxf(1.0f, fmaxf(fabsf(*min_range), fabsf(*max_range))) * j->least;
  float max = fmaxf(0, fmaxf(*max_range, min + epsilon));
  quantize_steps steps = {0};
  if (j->mode == MIN_COMBINED) {
    steps.scale = (float)(((double)q.high - (double)q.low) / (double)(max - min));
    steps.less = min;
    steps.round = q.low == 0 ? TO_ZERO : AWAY_FROM_ZERO;
    steps.more = q.low == 0 ? 0.5f : -half_range(q);
  } else if (j->mode == MIN_FIRST) {
    const fy_quantizer first = fy_quantizer_of(q, min, max);
    steps.shifted = true;
    steps.scale = first.scale, steps.shift = first.shift;
    steps.low = first.low, steps.high = first.high;
  } else {
    const int64_t low = q.low + (j->narrow ? 1 : 0);
    const float from_min = (float)low * min > 0 ? (float)low / min : FLT_MAX;
    const float from_max = (float)q.high * max > 0 ? (float)q.high / max : FLT_MAX;
    steps.scale = fminf(from_min, from_max);
    steps.round = j->even ? TO_EVEN : AWAY_FROM_ZERO;
    max = (float)q.high / steps.scale;
    min = (float)low / steps.scale;
  }
  steps.min = min, steps.max = max;
  const bool vectors = s->n == 1 && steps.round == AWAY_FROM_ZERO && q.bits < 32;
  // Steps are monotonous: what both ends of the range become bounds the rest.
  const float from = (min - steps.less) * steps.scale, to = (max - steps.less) * steps.scale;
  const bool bytes = q.bits == 8 && !steps.shifted && steps.round != TO_EVEN && min <= max &&
                     fabsf(from) < 0x1p30f && fabsf(to) < 0x1p30f;
  for (int64_t o = 0; o < s->outer; o++) {
    const int64_t start = (o * s->n + slice) * s->inner;
    quantize_run run = {
        steps,         j->in + start, (char *)j->out + (size_t)start * fy_dtype_storage(j->type),
        q.bits,        bytes,         vectors ? s->inner & ~(int64_t)7 : 0,
        (int32_t)q.low};
    fy_parallel(ctx, s->inner, 0.5, quantize_range, &run);
  }
  *min_range = min;
  *max_range = max;
}

static fy_code quantize_prepare(fy_site *site, fy_error *err) {
  const fy_view round_mode = fy_site_string(site, "round_mode"), m = fy_site_string(site, "mode");
  if (fy_view_is(round_mode, "HALF_TO_EVEN") && !fy_view_is(m, "SCALED")) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is "
                   "'%.*s'.",
                   (int)m.n, m.p);
  }
  return FY_OK;
}

static fy_code check_range(const fy_tensor *t, const char *name, int64_t axis, int64_t n,
                           fy_error *err) {
  if (axis < 0) {
    if (t->count == 1) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "If axis is not specified, %s must contain a single float element, but it "
                   "contains %lld elements",
                   name, (long long)t->count);
  }
  if (t->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "If axis is specified, %s must be a 1-D tensor whose size matches the axis "
                   "dimension of the input and output tensors, but %s dims are %d",
                   name, name, t->rank);
  }
  if (t->count == n) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "If axis is specified, %s must be a 1-D tensor whose size matches the axis "
                 "dimension of the input and output tensors, but %s is a 1-D tensor of size %lld "
                 "and input's axis dimension is of size %lld",
                 name, name, (long long)t->count, (long long)n);
}

static fy_code quantize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *min = ctx->in[1], *max = ctx->in[2];
  const int64_t axis = fy_site_int(ctx->site, "axis");
  fy_tensor *out, *min_out, *max_out;
  quantize_job j = {.in = in->data,
                    .mode = mode_of(ctx->site),
                    .even = fy_view_is(fy_site_string(ctx->site, "round_mode"), "HALF_TO_EVEN"),
                    .narrow = fy_site_bool(ctx->site, "narrow_range"),
                    .least = fy_site_float(ctx->site, "ensure_minimum_range")};
  if (axis >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Axis is on a zero-based index, so its value must always be less than number of "
                   "input's dims, but given axis value was %lld and input's dims was %d",
                   (long long)axis, in->rank);
  }
  const slices s = slices_of(in, axis);
  FY_TRY(check_range(min, "min_range", axis, s.n, err));
  FY_TRY(check_range(max, "max_range", axis, s.n, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  // The ranges of a single slice are scalars, whatever the axis.
  FY_TRY(fy_out(ctx, 1, s.n == 1 ? 0 : 1, &s.n, &min_out, err));
  FY_TRY(fy_out(ctx, 2, s.n == 1 ? 0 : 1, &s.n, &max_out, err));
  if (s.n != 1 && j.mode == MIN_FIRST) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "MIN_FIRST mode is not implemented for Quantize with axis != -1.");
  }
  j.out = out->data;
  j.type = out->dtype;
  for (int64_t i = 0; i < s.n; i++) {
    float lo = ((const float *)min->data)[i], hi = ((const float *)max->data)[i];
    if (hi < lo) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input_max_range must be larger than input_min_range.");
    }
    quantize_slice(ctx, &j, &s, i, &lo, &hi);
    ((float *)min_out->data)[i] = lo;
    ((float *)max_out->data)[i] = hi;
  }
  return FY_OK;
}

// ---------------------------------------------------------------- Dequantize
static fy_code dequantize_prepare(fy_site *site, fy_error *err) {
  const fy_view m = fy_site_string(site, "mode");
  if (site->out_types[0] == FY_FLOAT || fy_view_is(m, "MIN_COMBINED")) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "When output type is bfloat16, Mode string must be 'MIN_COMBINED', is '%.*s'",
                 (int)m.n, m.p);
}

// A run of bytes to floats: (x + half) * scale + min.
FY_CLONES static void bytes_to_floats(fy_dtype type, const void *in, float *out, int64_t n,
                                      float half, float scale, float min) {
  const uint8_t *u = in;
  const int8_t *s = in;
  if (type == FY_QUINT8) {
    for (int64_t i = 0; i < n; i++) out[i] = ((float)u[i] + half) * scale + min;
  } else {
    for (int64_t i = 0; i < n; i++) out[i] = ((float)s[i] + half) * scale + min;
  }
}

typedef struct bytes_run {
  fy_dtype type;
  const char *in;
  float *out;
  float half, scale, min;
} bytes_run;
static void bytes_range(void *arg, int64_t begin, int64_t end) {
  const bytes_run *r = arg;
  bytes_to_floats(r->type, r->in + begin, r->out + begin, end - begin, r->half, r->scale, r->min);
}

static fy_code dequantize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const int64_t axis = fy_site_int(ctx->site, "axis");
  const mode how = mode_of(ctx->site);
  const bool narrow = fy_site_bool(ctx->site, "narrow_range");
  const fy_qtype q = fy_qtype_of(in->dtype);
  const float half = half_range(q);
  fy_tensor *out;
  if (axis >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Axis must be less than input dimension(%d), got %lld",
                   in->rank, (long long)axis);
  }
  const slices s = slices_of(in, axis);
  for (int i = 1; i < 3; i++) {
    if (ctx->in[i]->count == s.n) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input_%s_tensor must have as many elements as input on the dequantization axis "
                   "(%lld), got %lld, expected %lld",
                   i == 1 ? "min" : "max", (long long)axis, (long long)ctx->in[i]->count,
                   (long long)s.n);
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (s.n != 1 && how == MIN_FIRST) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "MIN_FIRST mode is not implemented for Dequantize with axis != -1.");
  }
  for (int64_t k = 0; k < s.n; k++) {
    const float min = ((const float *)ctx->in[1]->data)[k];
    const float max = ((const float *)ctx->in[2]->data)[k];
    const fy_dequantizer first = fy_dequantizer_of(q, min, max);
    const float low = (float)(q.low + (narrow ? 1 : 0)), high = (float)q.high;
    const float scaled = q.low == 0 ? max / high : fmaxf(min / low, max / high);
    const float combined = (max - min) / (high - (float)q.low);
    for (int64_t o = 0; o < s.outer; o++) {
      const int64_t start = (o * s.n + k) * s.inner;
      if (how != MIN_FIRST && out->dtype == FY_FLOAT &&
          (in->dtype == FY_QUINT8 || in->dtype == FY_QINT8)) {
        bytes_run run = {
            in->dtype, (const char *)in->data + start, (float *)out->data + start, half, combined,
            min};
        if (how == SCALED) run.half = 0, run.scale = scaled, run.min = -0.0f;  // adds nothing
        fy_parallel(ctx, s.inner, 0.2, bytes_range, &run);
        continue;
      }
      for (int64_t i = start; i < start + s.inner; i++) {
        int64_t x = fy_q_get(in->dtype, in->data, i);
        // TensorFlow goes through float and int here, which the largest integers do not survive.
        if (how == SCALED && s.n == 1) x = fy_q_int32((float)x);
        const float v = how == MIN_FIRST ? fy_dequantize(first, x)
                        : how == SCALED  ? (float)x * scaled
                                         : ((float)x + half) * combined + min;
        if (out->dtype == FY_FLOAT) {
          ((float *)out->data)[i] = v;
        } else {
          ((uint16_t *)out->data)[i] = fy_float_to_bfloat16(v);
        }
      }
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
// Ranges are scalars, or vectors along the axis.
static fy_code range_shape(fy_shape_ctx *ctx, int64_t axis, fy_pshape *range, fy_error *err) {
  const int32_t rank = axis == -1 ? 0 : 1;
  if (axis < -1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "axis should be at least -1, got %lld",
                   (long long)axis);
  }
  FY_TRY(fy_shape_rank_is(ctx->in[1], rank, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], rank, err));
  *range = ctx->in[2];  // TensorFlow looks no closer at the minimum
  if (axis == -1) return FY_OK;
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], (int32_t)axis + 1, err));
  if (ctx->in[0].rank < 0) return FY_OK;
  int64_t n;
  return fy_dim_merge(fy_dim_of(*range, 0), ctx->in[0].dims[axis], &n, err);
}

static fy_code quantize_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t axis = fy_shape_attr_int(ctx, "axis", -1);
  fy_pshape range;
  FY_TRY(fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err));
  FY_TRY(range_shape(ctx, axis, &range, err));
  for (int i = 1; i < 3; i++) {
    const int64_t n = axis == -1 ? -1 : fy_dim_of(range, 0);
    // A vector of one comes out as a scalar, which TensorFlow's inference does not say.
    if (n == 1) continue;
    FY_TRY(fy_shape_set(ctx, i, axis == -1 ? 0 : 1, &n, err));
  }
  return FY_OK;
}

static fy_code dequantize_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t axis = fy_shape_attr_int(ctx, "axis", -1);
  fy_pshape range;
  FY_TRY(fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err));
  if (axis >= -1 && axis > ctx->in[0].rank) {  // of an unknown rank, too
    return fy_fail(err, FY_INVALID_ARGUMENT, "Axis must be less than input dimension(%d), got %lld",
                   ctx->in[0].rank, (long long)axis);
  }
  return range_shape(ctx, axis, &range, err);
}

static const fy_sample quantize_samples[] = {
    {"f32[3]=-1,0,1; f32[]=-1; f32[]=1", "T=quint8", FY_OK, "0,128,255"},
    {"f32[3]=-1,0,1; f32[]=-1; f32[]=1", "T=qint8; mode=\"SCALED\"", FY_OK, "-127,0,127"},
    {"f32[3]=-1,0,1; f32[]=1; f32[]=-1", "T=qint8", FY_INVALID_ARGUMENT,
     "input_max_range must be larger than input_min_range."},
};
static const fy_sample dequantize_samples[] = {
    {"quint8[3]=0,51,255; f32[]=0; f32[]=5", NULL, FY_OK, "0,1,5"},
    {"qint8[2]=-127,127; f32[]=-1; f32[]=1", "mode=\"SCALED\"; narrow_range=true", FY_OK, "-1,1"},
};
FY_OP(QuantizeV2, .shape = quantize_shape, .prepare = quantize_prepare, .compute = quantize,
      FY_SAMPLES(quantize_samples));
FY_OP(Dequantize, .shape = dequantize_shape, .prepare = dequantize_prepare, .compute = dequantize,
      FY_SAMPLES(dequantize_samples));
