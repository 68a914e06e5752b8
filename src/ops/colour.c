// SPDX-License-Identifier: Apache-2.0
// colour.c: RGBToHSV, HSVToRGB, AdjustContrastv2, AdjustHue and AdjustSaturation.
// 16-bit floats are rounded after every step, as TensorFlow's expressions do.

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- RGB <-> HSV
#define TO_HSV(E, S, _)                                                                   \
  FY_CLONE_##S static void to_hsv_##S(const void *pi, void *po, int64_t n) {              \
    const fy_t_##S *restrict in = pi;                                                     \
    fy_t_##S *restrict o = po;                                                            \
    const fy_a_##S sixth = FY_RD_##S((fy_a_##S)1 / FY_RD_##S((fy_a_##S)6));               \
    const fy_a_##S third = FY_RD_##S((fy_a_##S)2 / (fy_a_##S)6);                          \
    const fy_a_##S two_thirds = FY_RD_##S((fy_a_##S)4 / (fy_a_##S)6);                     \
    for (int64_t i = 0; i < n; i++, in += 3, o += 3) {                                    \
      const fy_a_##S r = FY_LD_##S(in[0]), g = FY_LD_##S(in[1]), b = FY_LD_##S(in[2]);    \
      const fy_a_##S rg = r > g ? r : g, low = r < g ? r : g;                             \
      const fy_a_##S v = rg > b ? rg : b, range = FY_RD_##S(v - (low < b ? low : b));     \
      const fy_a_##S norm = FY_RD_##S(FY_RD_##S((fy_a_##S)1 / range) * sixth);            \
      fy_a_##S h = r == v   ? FY_RD_##S(norm * FY_RD_##S(g - b))                          \
                   : g == v ? FY_RD_##S(FY_RD_##S(norm * FY_RD_##S(b - r)) + third)       \
                            : FY_RD_##S(FY_RD_##S(norm * FY_RD_##S(r - g)) + two_thirds); \
      h = range > 0 ? h : 0;                                                              \
      o[0] = FY_ST_##S(h < 0 ? h + 1 : h);                                                \
      o[1] = FY_ST_##S(v > 0 ? range / v : 0);                                            \
      o[2] = FY_ST_##S(v);                                                                \
    }                                                                                     \
  }
FY_REAL_TYPES(TO_HSV, _)

#define CLAMP01(v) ((v) > 0 ? ((v) < 1 ? (v) : 1) : 0)
#define TO_RGB(E, S, _)                                                                      \
  FY_CLONE_##S static void to_rgb_##S(const void *pi, void *po, int64_t n) {                 \
    const fy_t_##S *restrict in = pi;                                                        \
    fy_t_##S *restrict o = po;                                                               \
    for (int64_t i = 0; i < n; i++, in += 3, o += 3) {                                       \
      const fy_a_##S h = FY_LD_##S(in[0]), s = FY_LD_##S(in[1]), v = FY_LD_##S(in[2]);       \
      const fy_a_##S dh = FY_RD_##S(h * 6), rest = FY_RD_##S(1 - s);                         \
      const fy_a_##S d3 = FY_RD_##S(dh - 3), d2 = FY_RD_##S(dh - 2), d4 = FY_RD_##S(dh - 4); \
      const fy_a_##S r = FY_RD_##S((d3 < 0 ? -d3 : d3) - 1);                                 \
      const fy_a_##S g = FY_RD_##S(2 - (d2 < 0 ? -d2 : d2));                                 \
      const fy_a_##S b = FY_RD_##S(2 - (d4 < 0 ? -d4 : d4));                                 \
      o[0] = FY_ST_##S(FY_RD_##S(rest + FY_RD_##S(s * CLAMP01(r))) * v);                     \
      o[1] = FY_ST_##S(FY_RD_##S(rest + FY_RD_##S(s * CLAMP01(g))) * v);                     \
      o[2] = FY_ST_##S(FY_RD_##S(rest + FY_RD_##S(s * CLAMP01(b))) * v);                     \
    }                                                                                        \
  }
TO_RGB(FY_BFLOAT16, bf16, _)
FY_FULL_REAL_TYPES(TO_RGB, _)

// Halves: a step at a time for many pixels, as the machine rounds them.
#define HALF_PIXELS 128
static void round_f16(float *x, int64_t n) {
  uint16_t h[HALF_PIXELS];
  fy_floats_to_halves(x, h, n);
  fy_halves_to_floats(h, x, n);
}
static void to_rgb_chunk_f16(const uint16_t *in, uint16_t *out, int64_t n) {
  static const float shifts[] = {3, 2, 4};
  float hsv[3 * HALF_PIXELS], rgb[3 * HALF_PIXELS], dh[HALF_PIXELS], rest[HALF_PIXELS],
      x[HALF_PIXELS];
  fy_halves_to_floats(in, hsv, 3 * n);
  for (int64_t i = 0; i < n; i++) dh[i] = hsv[3 * i] * 6, rest[i] = 1 - hsv[3 * i + 1];
  round_f16(dh, n);
  round_f16(rest, n);
  for (int c = 0; c < 3; c++) {
    for (int64_t i = 0; i < n; i++) x[i] = dh[i] - shifts[c];
    round_f16(x, n);
    for (int64_t i = 0; i < n; i++) x[i] = c ? 2 - fabsf(x[i]) : fabsf(x[i]) - 1;
    round_f16(x, n);
    for (int64_t i = 0; i < n; i++) x[i] = hsv[3 * i + 1] * CLAMP01(x[i]);
    round_f16(x, n);
    for (int64_t i = 0; i < n; i++) x[i] = rest[i] + x[i];
    round_f16(x, n);
    for (int64_t i = 0; i < n; i++) rgb[3 * i + c] = x[i] * hsv[3 * i + 2];
  }
  fy_floats_to_halves(rgb, out, 3 * n);
}
static void to_rgb_f16(const void *pi, void *po, int64_t n) {
  for (int64_t at = 0; at < n; at += HALF_PIXELS) {
    const int64_t m = n - at < HALF_PIXELS ? n - at : HALF_PIXELS;
    to_rgb_chunk_f16((const uint16_t *)pi + 3 * at, (uint16_t *)po + 3 * at, m);
  }
}

typedef void (*pixels_fn)(const void *in, void *out, int64_t n);
static const pixels_fn to_hsv[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, to_hsv)};
static const pixels_fn to_rgb[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, to_rgb)};

typedef struct pixel_job {
  pixels_fn fn;
  const char *in;
  char *out;
  size_t pixel_bytes;
} pixel_job;

static void pixel_part(void *arg, int64_t begin, int64_t end) {
  const pixel_job *j = arg;
  const size_t at = (size_t)begin * j->pixel_bytes;
  j->fn(j->in + at, j->out + at, end - begin);
}

static fy_code convert(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const pixels_fn *table = ctx->site->op->impl->aux;
  fy_tensor *out;
  char x[128];
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be at least 1D%s",
                   fy_tensor_shape_text(in, x));
  }
  if (in->dims[in->rank - 1] != 3) {
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "input must have 3 channels but input only has %lld channels.",
                   (long long)in->dims[in->rank - 1]);
  }
  if (!table[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  pixel_job j = {table[in->dtype], in->data, out->data, 3 * fy_dtype_size(in->dtype)};
  fy_parallel(ctx, in->count / 3, 15, pixel_part, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- contrast
// The sum of |n| pixels by halves: the first half plus the second, again and again.
FY_CLONES static void mean_of(const float *restrict in, float *restrict sums, int64_t n, int64_t c,
                              float *restrict mean) {
  int64_t left = n - n / 2, right = n / 2;
  for (int64_t i = 0; i < right * c; i++) sums[i] = in[left * c + i] + in[i];
  if (left > right) memcpy(sums + right * c, in + right * c, (size_t)c * sizeof *sums);
  for (int64_t rest = left; rest > 1; rest = left) {
    right = rest / 2;
    left = rest - right;
    FY_VECTOR for (int64_t i = 0; i < right * c; i++) sums[i] += sums[left * c + i];
  }
  const float scale = 1.0f / (float)n;
  for (int64_t k = 0; k < c; k++) mean[k] = sums[k] * scale;
}

// out = m + factor (in - m), where the means of the channels repeat every |c|; |means| holds them
// |PIXELS| times.
#define PIXELS 64
FY_CLONES static void spread(const float *restrict in, float *restrict out, int64_t n,
                             const float *restrict means, int64_t repeat, float factor) {
  for (int64_t at = 0; at < n; at += repeat) {
    const int64_t m = n - at < repeat ? n - at : repeat;
    for (int64_t i = 0; i < m; i++) out[at + i] = means[i] + factor * (in[at + i] - means[i]);
  }
}

typedef struct contrast_job {
  const float *in;
  float *out, *scratch;  // of each image: the means, repeated, then sums
  int64_t n, c, per_image;
  float factor;
} contrast_job;

static void contrast_images(void *arg, int64_t begin, int64_t end) {
  const contrast_job *j = arg;
  const int64_t size = j->n * j->c;
  for (int64_t b = begin; b < end; b++) {
    float *means = j->scratch + b * j->per_image, *sums = means + PIXELS * j->c;
    mean_of(j->in + b * size, sums, j->n, j->c, means);
    for (int64_t i = j->c; i < PIXELS * j->c; i++) means[i] = means[i - j->c];
    spread(j->in + b * size, j->out + b * size, size, means, PIXELS * j->c, j->factor);
  }
}

static fy_code check_image(const fy_tensor *in, const fy_tensor *scalar, const char *name,
                           fy_error *err) {
  char x[128];
  if (in->rank < 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be at least 3-D, got shape%s",
                   fy_tensor_shape_text(in, x));
  }
  if (scalar->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be scalar: %s", name,
                   fy_tensor_shape_text(scalar, x));
  }
  return FY_OK;
}

static fy_code contrast(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  void *scratch;
  FY_TRY(check_image(in, ctx->in[1], "contrast_factor", err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (in->count == 0) return FY_OK;
  const float factor = *(const float *)ctx->in[1]->data;
  const int64_t c = in->dims[in->rank - 1], n = in->dims[in->rank - 3] * in->dims[in->rank - 2];
  const int64_t images = in->count / (n * c);
  contrast_job j = {.in = in->data, .out = out->data, .n = n, .c = c, .factor = factor};
  j.per_image = (n / 2 + 2 + PIXELS) * c;
  FY_TRY(fy_scratch(ctx, (size_t)(images * j.per_image) * sizeof(float), &scratch, err));
  j.scratch = scratch;
  fy_parallel(ctx, images, 0.6 * (double)(n * c), contrast_images, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- hue
// Hue in [0, 6): which of the six orders of the channels, and how far along.
static float hue_of(const float p[3], float *low, float *high) {
  const float r = p[0], g = p[1], b = p[2];
  float middle;
  int order;
  if (r < g) {
    if (b < r) {
      *high = g, middle = r, *low = b, order = 1;
    } else if (b > g) {
      *high = b, middle = g, *low = r, order = 3;
    } else {
      *high = g, middle = b, *low = r, order = 2;
    }
  } else if (b < g) {
    *high = r, middle = g, *low = b, order = 0;
  } else if (b > r) {
    *high = b, middle = r, *low = g, order = 4;
  } else {
    *high = r, middle = b, *low = g, order = 5;
  }
  if (*high == *low) return 0;
  const float ratio = (middle - *low) / (*high - *low);
  return (float)order + (order % 2 ? 1 - ratio : ratio);
}

static void from_hue(float h, float low, float high, float q[3]) {
  static const int8_t high_at[] = {0, 1, 1, 2, 2, 0}, middle_at[] = {1, 0, 2, 1, 0, 2};
  int order = h >= 0 && h < 6 ? (int)h : 5;
  float ratio = h - (float)order;
  if (order % 2) ratio = 1 - ratio;
  q[0] = q[1] = q[2] = low;
  q[high_at[order]] = high;
  q[middle_at[order]] = low + ratio * (high - low);
}

typedef struct adjust_job {
  const float *in;
  float *out;
  float by;
} adjust_job;

static void hue_part(void *arg, int64_t begin, int64_t end) {
  const adjust_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    float low, high, h = hue_of(j->in + 3 * i, &low, &high) + j->by * 6;
    if (h < 0 || h >= 6) {
      if (fabsf(h) < 600) {  // a few steps round as TensorFlow's do
        while (h < 0) h += 6;
        while (h >= 6) h -= 6;
      } else {
        h = fmodf(h, 6);
        if (h < 0) h += 6;
        if (h >= 6) h = 0;
      }
    }
    from_hue(h, low, high, j->out + 3 * i);
  }
}

// ---------------------------------------------------------------- saturation
static void saturation_part(void *arg, int64_t begin, int64_t end) {
  static const int8_t full[] = {0, 1, 1, 2, 2, 0}, part[] = {1, 0, 2, 1, 0, 2};
  const adjust_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const float *p = j->in + 3 * i, r = p[0], g = p[1], b = p[2];
    float *q = j->out + 3 * i;
    const float rg = r > g ? r : g, low = r < g ? r : g;
    const float v = rg > b ? rg : b, range = v - (low < b ? low : b);
    const float norm = 1.0f / (6.0f * range);
    float s = v > 0 ? range / v : 0;
    float h = r == v   ? norm * (g - b)
              : g == v ? (float)((double)(norm * (b - r)) + 2.0 / 6.0)
                       : (float)((double)(norm * (r - g)) + 4.0 / 6.0);
    if (range <= 0) h = 0;
    if (h < 0) h = h + 1;
    s *= j->by;
    s = s > 0 ? s : 0;
    s = s < 1 ? s : 1;
    const float c = s * v, m = v - c, dh = h * 6;
    float mod = dh;  // in (0, 2]
    if (mod <= 0) mod += 2;
    while (mod >= 2) mod -= 2;
    const float x = c * (1 - fabsf(mod - 1));
    const int order = dh >= 0 && dh < 6 ? (int)dh : -1;
    q[0] = q[1] = q[2] = m;
    if (order >= 0) {
      q[full[order]] = c + m;
      q[part[order]] = x + m;
    }
  }
}

static fy_code adjust(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool hue = ctx->site->op->impl->aux != NULL;
  fy_tensor *out;
  FY_TRY(check_image(in, ctx->in[1], hue ? "delta" : "scale", err));
  if (in->dims[in->rank - 1] != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input must have 3 channels but instead has %lld channels.",
                   (long long)in->dims[in->rank - 1]);
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  adjust_job j = {in->data, out->data, *(const float *)ctx->in[1]->data};
  if (in->count) fy_parallel(ctx, in->count / 3, 20, hue ? hue_part : saturation_part, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code colour_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  if (in.rank < 0) return FY_OK;
  FY_TRY(fy_dim_is(in.dims[in.rank - 1], 3, err));
  int64_t *dims = fy_shape_dims(ctx, in.rank);
  if (!dims) return fy_fail_oom(err, 0);
  memcpy(dims, in.dims, (size_t)in.rank * sizeof *dims);
  dims[in.rank - 1] = 3;
  return fy_shape_set(ctx, 0, in.rank, dims, err);
}
static fy_code contrast_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 3, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  return fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err);
}
static fy_code image_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 3, err));
  return fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err);
}

static const fy_sample hsv_samples[] = {
    {"f32[2,3]=0,1,0,0.5,0.5,0.5", NULL, FY_OK, "0.33333334,1,1,0,0,0.5"},
    {"f32[2]=0,1", NULL, FY_FAILED_PRECONDITION, "input only has 2 channels"},
};
static const fy_sample rgb_samples[] = {
    {"f32[3]=0,0,0.5", NULL, FY_OK, "0.5,0.5,0.5"},
    {"f64[3]=0,1,1", NULL, FY_OK, "1,0,0"},
};
static const fy_sample contrast_samples[] = {
    {"f32[1,2,1]=1,3; f32[]=2", NULL, FY_OK, "0,4"},
    {"f32[2,1]=1,3; f32[]=2", NULL, FY_INVALID_ARGUMENT, "input must be at least 3-D"},
};
static const fy_sample hue_samples[] = {
    {"f32[1,1,3]=1,0,0; f32[]=0.5", NULL, FY_OK, "0,1,1"},
};
static const fy_sample saturation_samples[] = {
    {"f32[1,1,3]=1,0.5,0.5; f32[]=2", NULL, FY_OK, "1,0,0"},
};
static const char is_hue;
FY_OP(RGBToHSV, .shape = colour_shape, .compute = convert, .aux = to_hsv, FY_SAMPLES(hsv_samples));
FY_OP(HSVToRGB, .shape = colour_shape, .compute = convert, .aux = to_rgb, FY_SAMPLES(rgb_samples));
FY_OP(AdjustContrastv2, .shape = contrast_shape, .compute = contrast, FY_SAMPLES(contrast_samples));
FY_OP(AdjustHue, .shape = image_shape, .compute = adjust, .aux = &is_hue, FY_SAMPLES(hue_samples));
FY_OP(AdjustSaturation, .shape = image_shape, .compute = adjust, FY_SAMPLES(saturation_samples));
