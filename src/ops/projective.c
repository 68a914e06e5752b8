// SPDX-License-Identifier: Apache-2.0
// projective.c: ImageProjectiveTransformV2 and V3: where an output pixel lies in the input is a
// quotient of linear functions of its place; outside the image |fill_mode| decides.

#include "base/alloc.h"
#include "ops/quant.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef enum fill_mode { REFLECT, WRAP, CONSTANT, NEAREST } fill_mode;

typedef struct transform_state {
  bool bilinear;
  fill_mode mode;
} transform_state;

typedef struct transform_job {
  const void *images;
  void *out;
  const float *transforms;
  bool one_transform;
  transform_state s;
  int64_t h, w, out_h, out_w, depth;
  float fill;
} transform_job;

static float clamped(float v, int64_t size) {
  const float top = (float)(size - 1);
  return v < 0 ? 0 : v > top ? top : v;
}

// As a conversion to 64 bits and back: what does not fit, or is not a number, becomes the least.
static float whole(float v) {
  return v > -0x1p63f && v < 0x1p63f ? truncf(v) : -0x1p63f;
}

static int64_t index_of(float v) {
  return v > -0x1p62f && v < 0x1p62f ? (int64_t)v : -1 - (INT64_C(1) << 62);  // outside any image
}

// Where |at| lies after reflection, wrapping or clamping.
static float mapped(float at, int64_t size, fill_mode mode) {
  const float n = (float)size, twice = (float)(2 * size);
  if (mode == CONSTANT) return at;
  if (mode == NEAREST) return clamped(at, size);
  if (at < 0) {
    if (size <= 1) {
      at = 0;
    } else if (mode == REFLECT) {
      if (at < twice) at = twice * whole(-at / twice) + at;
      at = at < -n ? at + twice : -at - 1;
    } else {
      at += n * (whole(-at / (float)(size - 1)) + 1);
    }
  } else if (at > (float)(size - 1)) {
    if (size <= 1) {
      at = 0;
    } else if (mode == REFLECT) {
      at -= twice * whole(at / twice);
      if (at >= n) at = twice - at - 1;
    } else {
      at -= n * whole(at / (float)(size - 1));
    }
  }
  return clamped(at, size);
}

// Place of output pixel (x, y) in the input; false = at infinity.
static bool place(const transform_job *j, const float *t, int64_t x, int64_t y, float *in_x,
                  float *in_y) {
  const float fx = (float)x, fy = (float)y;
  const float projection = t[6] * fx + t[7] * fy + 1;
  if (projection == 0) return false;
  *in_x = mapped((t[0] * fx + t[1] * fy + t[2]) / projection, j->w, j->s.mode);
  *in_y = mapped((t[3] * fx + t[4] * fy + t[5]) / projection, j->h, j->s.mode);
  return true;
}

static bool inside(const transform_job *j, int64_t y, int64_t x) {
  return y >= 0 && y < j->h && x >= 0 && x < j->w;
}

// From float to the type; an integer that does not hold it is what the processor's conversion gives.
#define OF_f16(v)  (v)
#define OF_bf16(v) (v)
#define OF_f32(v)  (v)
#define OF_f64(v)  ((double)(v))
#define OF_u8(v)   ((uint8_t)fy_q_int32(v))
#define OF_i32(v)  ((int32_t)fy_q_int32(v))
#define OF_i64(v)  fy_q_int64((double)(v))
#define AT(dy, dx) image[((iy + (dy)) * j->w + ix + (dx)) * d + k]
// Item: a row of the output. Where the four neighbours are outside, the fill value stands in.
#define TRANSFORM(E, S, _)                                                            \
  static void transform_##S(void *arg, int64_t begin, int64_t end) {                  \
    const transform_job *j = arg;                                                     \
    const int64_t d = j->depth;                                                       \
    const fy_t_##S fill = FY_ST_##S((fy_a_##S)j->fill);                               \
    for (int64_t row = begin; row < end; row++) {                                     \
      const int64_t batch = row / j->out_h, y = row % j->out_h;                       \
      const float *t = j->transforms + (j->one_transform ? 0 : 8 * batch);            \
      const fy_t_##S *image = (const fy_t_##S *)j->images + batch * j->h * j->w * d;  \
      fy_t_##S *to = (fy_t_##S *)j->out + row * j->out_w * d;                         \
      for (int64_t x = 0; x < j->out_w; x++, to += d) {                               \
        float fx, fy;                                                                 \
        if (!place(j, t, x, y, &fx, &fy)) {                                           \
          for (int64_t k = 0; k < d; k++) to[k] = fill;                               \
          continue;                                                                   \
        }                                                                             \
        if (!j->s.bilinear) {                                                         \
          const int64_t ny = index_of(roundf(fy)), nx = index_of(roundf(fx));         \
          for (int64_t k = 0; k < d; k++) {                                           \
            to[k] = inside(j, ny, nx) ? image[(ny * j->w + nx) * d + k] : fill;       \
          }                                                                           \
          continue;                                                                   \
        }                                                                             \
        const float y0 = floorf(fy), x0 = floorf(fx), y1 = y0 + 1, x1 = x0 + 1;       \
        const int64_t iy = index_of(y0), ix = index_of(x0);                           \
        for (int64_t k = 0; k < d; k++) {                                             \
          const float f = (float)FY_LD_##S(fill);                                     \
          const float a = inside(j, iy, ix) ? (float)FY_LD_##S(AT(0, 0)) : f;         \
          const float b = inside(j, iy, ix + 1) ? (float)FY_LD_##S(AT(0, 1)) : f;     \
          const float c = inside(j, iy + 1, ix) ? (float)FY_LD_##S(AT(1, 0)) : f;     \
          const float e = inside(j, iy + 1, ix + 1) ? (float)FY_LD_##S(AT(1, 1)) : f; \
          const float top = (x1 - fx) * a + (fx - x0) * b;                            \
          const float bottom = (x1 - fx) * c + (fx - x0) * e;                         \
          to[k] = FY_ST_##S(OF_##S((y1 - fy) * top + (fy - y0) * bottom));            \
        }                                                                             \
      }                                                                               \
    }                                                                                 \
  }
#define TRANSFORM_TYPES(X, ...) \
  FY_REAL_TYPES(X, __VA_ARGS__) \
  X(FY_UINT8, u8, __VA_ARGS__) X(FY_INT32, i32, __VA_ARGS__) X(FY_INT64, i64, __VA_ARGS__)
TRANSFORM_TYPES(TRANSFORM, _)
typedef void (*transform_fn)(void *arg, int64_t begin, int64_t end);
static const transform_fn transforms[FY_DTYPE_COUNT] = {TRANSFORM_TYPES(FY_LOOP_ENTRY, transform)};

// Names TensorFlow does not know are only logged by it; here they are refused.
static fy_code prepare(fy_site *site, fy_error *err) {
  static const char *const modes[] = {"REFLECT", "WRAP", "CONSTANT", "NEAREST"};
  const fy_view how = fy_site_string(site, "interpolation"),
                mode = fy_site_string(site, "fill_mode");
  transform_state s = {.bilinear = fy_view_is(how, "BILINEAR")};
  if (!s.bilinear && !fy_view_is(how, "NEAREST")) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid interpolation %.*s. Supported types: NEAREST, BILINEAR", (int)how.n,
                   how.p);
  }
  int i = 0;
  while (i < 4 && !fy_view_is(mode, modes[i])) i++;
  if (i == 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid mode %.*s. Supported types: REFLECT, WRAP, CONSTANT, NEAREST",
                   (int)mode.n, mode.p);
  }
  s.mode = (fill_mode)i;
  transform_state *state = fy_malloc(sizeof s);
  if (!state) return fy_fail_oom(err, sizeof s);
  *state = s;
  site->state = state;
  return FY_OK;
}

static fy_code transform(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *images = ctx->in[0], *by = ctx->in[1], *shape = ctx->in[2];
  fy_tensor *out;
  char x[128];
  if (images->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input images must have rank 4");
  }
  if (by->rank != 2 || by->dims[1] != 8 || (by->dims[0] != 1 && by->dims[0] != images->dims[0])) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input transform should be num_images x 8 or 1 x 8");
  }
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output shape must be 1-dimensional%s",
                   fy_tensor_shape_text(shape, x));
  }
  if (shape->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output shape must have two elements%s",
                   fy_tensor_shape_text(shape, x));
  }
  transform_job j = {.images = images->data,
                     .transforms = by->data,
                     .one_transform = by->dims[0] == 1,
                     .s = *(const transform_state *)ctx->site->state,
                     .h = images->dims[1],
                     .w = images->dims[2],
                     .out_h = fy_tensor_int(shape, 0),
                     .out_w = fy_tensor_int(shape, 1),
                     .depth = images->dims[3]};
  if (j.out_h <= 0 || j.out_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output dimensions must be positive");
  }
  if (ctx->site->num_inputs > 3) {
    if (ctx->in[3]->rank != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "fill_value must be a scalar%s",
                     fy_tensor_shape_text(ctx->in[3], x));
    }
    j.fill = *(const float *)ctx->in[3]->data;
  }
  const int64_t dims[] = {images->dims[0], j.out_h, j.out_w, j.depth};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  if (!transforms[out->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(out->dtype));
  }
  if (j.h == 0 || j.w == 0) j.s.mode = CONSTANT;  // nothing to reflect: everything is outside
  j.out = out->data;
  fy_parallel(ctx, dims[0] * j.out_h, (double)j.out_w * (20 + 5 * (double)j.depth),
              transforms[out->dtype], &j);
  return FY_OK;
}

static fy_code transform_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[] = {-1, -1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[2], 0), 2, err));
  dims[0] = fy_dim_of(ctx->in[0], 0);
  dims[3] = fy_dim_of(ctx->in[0], 3);
  const fy_tensor *size = fy_shape_tensor(ctx, 2);
  for (int i = 0; size && size->count == 2 && i < 2; i++) {
    dims[1 + i] = fy_tensor_int(size, i) < 0 ? -1 : fy_tensor_int(size, i);
  }
  return fy_shape_set(ctx, 0, 4, dims, err);
}

static const fy_sample samples2[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[1,8]=1,0,1,0,1,0,0,0; i32[2]=2,2", "interpolation=\"NEAREST\"",
     FY_OK, "2,0,4,0"},
    {"f32[1,2,2,1]=1,2,3,4; f32[1,8]=1,0,0.5,0,1,0,0,0; i32[2]=2,1", "interpolation=\"BILINEAR\"",
     FY_OK, "1.5,3.5"},
};
static const fy_sample samples3[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[1,8]=1,0,1,0,1,0,0,0; i32[2]=2,2; f32[]=9",
     "interpolation=\"NEAREST\"", FY_OK, "2,9,4,9"},
};
FY_OP(ImageProjectiveTransformV2, .shape = transform_shape, .prepare = prepare,
      .compute = transform, .release = fy_free, .host_inputs = 4, FY_SAMPLES(samples2));
FY_OP(ImageProjectiveTransformV3, .shape = transform_shape, .prepare = prepare,
      .compute = transform, .release = fy_free, .host_inputs = 12, FY_SAMPLES(samples3));
