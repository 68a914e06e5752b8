// SPDX-License-Identifier: Apache-2.0
// random_truncated.c: ParameterizedTruncatedNormal and its stateless form: a normal distribution with
// a mean, a deviation and two bounds, by rejection from whichever of the normal, the uniform and the
// exponential distribution is rejected least. The same numbers as TensorFlow gives when it does not
// split the work between threads (it does so for large outputs, and then they depend on how).

#include "ops/broadcast.h"
#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define MOST_TRIES 1000

typedef struct bounds {
  double mean, deviation, low, high;
} bounds;
// Values of one distribution, |step| apart; what is drawn and not needed is lost.
typedef fy_code (*draw_fn)(fy_philox *g, bounds b, void *out, int64_t at, int64_t step,
                           int64_t count, fy_error *err);

static fy_code fail_tries(const char *which, const char *space, fy_error *err) {
  return fy_fail(err, FY_INTERNAL,
                 "TruncatedNormal %s rejection sampler failed to %saccept a sample.", which, space);
}

// Half rounds every step to 16 bits, as TensorFlow's does.
#define DRAW(E, S, SIZE)                                                                        \
  static void uniforms_##S(fy_philox *g, fy_a_##S *x) {                                         \
    uint32_t b[4];                                                                              \
    fy_philox_next(g, b);                                                                       \
    for (int i = 0; i < (SIZE); i++) x[i] = UNIT_##S(b, i);                                     \
  }                                                                                             \
  static void normals_##S(fy_philox *g, fy_a_##S *x) {                                          \
    uint32_t b[4];                                                                              \
    fy_philox_next(g, b);                                                                       \
    NORMALS_##S(b, x);                                                                          \
  }                                                                                             \
  static fy_code draw_##S(fy_philox *g, bounds p, void *out, int64_t at, int64_t step,          \
                          int64_t count, fy_error *err) {                                       \
    fy_t_##S *o = out;                                                                          \
    fy_a_##S mean = (fy_a_##S)p.mean, deviation = (fy_a_##S)p.deviation, low = (fy_a_##S)p.low, \
             high = (fy_a_##S)p.high;                                                           \
    if ((isinf(low) && low < 0) || high < mean) {                                               \
      const fy_a_##S kept = low;                                                                \
      low = high, high = kept, deviation = -deviation;                                          \
    }                                                                                           \
    const fy_a_##S bottom = RD(S, RD(S, low - mean) / deviation),                               \
                   top = RD(S, RD(S, high - mean) / deviation);                                 \
    const fy_a_##S root = RD(S, FY_MATH_##S(sqrt)(RD(S, RD(S, bottom * bottom) + 4)));          \
    const fy_a_##S power = RD(S, RD(S, bottom * RD(S, bottom - root)) / 4);                     \
    const fy_a_##S cutoff =                                                                     \
        RD(S, RD(S, 2 * RD(S, FY_MATH_##S(exp)(RD(S, (fy_a_##S)0.5 + power)))) /                \
                  RD(S, bottom + root));                                                        \
    const fy_a_##S gap = RD(S, top - bottom), far = RD(S, (fy_a_##S)1.3);                       \
    fy_a_##S x[4], z[4], u[4];                                                                  \
    int64_t n = 0;                                                                              \
    int tries = 0;                                                                              \
    if ((bottom < -far && top >= 0) || (top > far && bottom <= 0)) {                            \
      while (n < count) {                                                                       \
        normals_##S(g, x);                                                                      \
        for (int i = 0; i < (SIZE) && n < count; i++) {                                         \
          if (x[i] >= bottom && x[i] <= top) {                                                  \
            o[at + step * n++] = FY_ST_##S(RD(S, x[i] * deviation) + mean);                     \
            tries = 0;                                                                          \
          } else if (++tries > MOST_TRIES) {                                                    \
            return fail_tries("randn", "", err);                                                \
          }                                                                                     \
        }                                                                                       \
      }                                                                                         \
    } else if (gap < cutoff) {                                                                  \
      const fy_a_##S plus = bottom < 0 ? 0 : RD(S, bottom * bottom);                            \
      while (n < count) {                                                                       \
        uniforms_##S(g, x);                                                                     \
        uniforms_##S(g, u);                                                                     \
        for (int i = 0; i < (SIZE) && n < count; i++) {                                         \
          z[i] = RD(S, RD(S, x[i] * gap) + bottom);                                             \
          const fy_a_##S e = RD(S, RD(S, plus - RD(S, z[i] * z[i])) / 2);                       \
          if (u[i] <= RD(S, FY_MATH_##S(exp)(e))) {                                             \
            o[at + step * n++] = FY_ST_##S(RD(S, z[i] * deviation) + mean);                     \
            tries = 0;                                                                          \
          } else if (++tries >= MOST_TRIES) {                                                   \
            return fail_tries("uniform", " ", err);                                             \
          }                                                                                     \
        }                                                                                       \
      }                                                                                         \
    } else {                                                                                    \
      const fy_a_##S alpha = RD(S, RD(S, bottom + root) / 2);                                   \
      while (n < count) {                                                                       \
        uniforms_##S(g, x);                                                                     \
        for (int i = 0; i < (SIZE) && n < count; i += 2) {                                      \
          const fy_a_##S y = RD(S, RD(S, -RD(S, FY_MATH_##S(log)(x[i])) / alpha) + bottom);     \
          const fy_a_##S d = bottom < alpha ? RD(S, alpha - y) : RD(S, bottom - alpha);         \
          const fy_a_##S e = RD(S, FY_MATH_##S(exp)(RD(S, RD(S, -d * d) / 2)));                 \
          if (x[i + 1] <= e && y < top) {                                                       \
            o[at + step * n++] = FY_ST_##S(RD(S, y * deviation) + mean);                        \
            tries = 0;                                                                          \
          } else if (++tries >= MOST_TRIES) {                                                   \
            return fail_tries("exponential distribution", "", err);                             \
          }                                                                                     \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
    return FY_OK;                                                                               \
  }
#define RD(S, x)          FY_RD_##S(x)
#define UNIT_f16(b, i)    fy_ld_half(fy_bits_to_unit_half(b[i]))
#define UNIT_f32(b, i)    fy_bits_to_unit_float(b[i])
#define UNIT_f64(b, i)    fy_bits_to_unit_double(b[2 * (i)], b[2 * (i) + 1])
#define NORMALS_f64(b, x) fy_normal_double(b, &(x)[0], &(x)[1])
#define NORMALS_f32(b, x)                          \
  do {                                             \
    fy_normal_float(b[0], b[1], &(x)[0], &(x)[1]); \
    fy_normal_float(b[2], b[3], &(x)[2], &(x)[3]); \
  } while (0)
#define NORMALS_f16(b, x)                                                \
  do {                                                                   \
    NORMALS_f32(b, x);                                                   \
    for (int i = 0; i < 4; i++) (x)[i] = fy_ld_half(fy_st_half((x)[i])); \
  } while (0)
DRAW(FY_HALF, f16, 4)
DRAW(FY_FLOAT, f32, 4)
DRAW(FY_DOUBLE, f64, 2)
static const draw_fn draws[FY_DTYPE_COUNT] = {
    [FY_HALF] = draw_f16, [FY_FLOAT] = draw_f32, [FY_DOUBLE] = draw_f64};

static fy_code check_bounds(const bounds *b, fy_error *err) {
  if (b->deviation > 0 && b->low < b->high && (isfinite(b->low) || isfinite(b->high))) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid parameters");
}

// ---------------------------------------------------------------- a row of the output each
static fy_code stateful(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"means", "stddevs", "minvals", "maxvals"};
  const fy_tensor *shape = ctx->in[0];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  fy_tensor *out;
  char x[128];
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape should be a vector, got shape: %s",
                   fy_tensor_shape_text(shape, x));
  }
  if (shape->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Shape tensor must not be empty, got Tensor<type: %s shape: [0] values: >",
                   fy_dtype_name(shape->dtype));
  }
  FY_TRY(fy_value_shape(shape, &rank, dims, err));
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  int64_t rows = dims[0], each = fy_product(dims + 1, rank - 1);
  bool alike = true;
  for (int i = 0; i < 4; i++) {
    const fy_tensor *p = ctx->in[i + 1];
    if (p->rank > 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input %s should be a scalar or vector, got shape: %s", names[i],
                     fy_tensor_shape_text(p, x));
    }
    alike = alike && (p->rank == 0 || (i < 2 && p->count == 1));
  }
  for (int i = 0; !alike && i < 4; i++) {
    const fy_tensor *p = ctx->in[i + 1];
    if (p->rank == 0 || p->count == 1 || p->count == rows) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input %s should have length 1 or shape[0], got shape: %s", names[i],
                   fy_tensor_shape_text(p, x));
  }
  if (out->count == 0) return FY_OK;
  if (alike) each = 100, rows = (out->count + each - 1) / each;
  fy_random_state *s = ctx->site->state;
  fy_lock(&s->lock);
  fy_philox g = s->generator;
  fy_philox_skip(&s->generator, (uint64_t)(rows * 2 * MOST_TRIES * (each + 3) / 4));
  fy_unlock(&s->lock);
  for (int64_t row = 0; row < rows; row++) {
    double p[4];
    for (int i = 0; i < 4; i++) {
      p[i] = fy_tensor_double(ctx->in[i + 1], ctx->in[i + 1]->count == 1 ? 0 : row);
    }
    const bounds b = {p[0], p[1], p[2], p[3]};
    const int64_t at = row * each, left = out->count - at;
    FY_TRY(check_bounds(&b, err));
    FY_TRY(draws[out->dtype](&g, b, out->data, at, 1, left < each ? left : each, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- parameters innermost
static int64_t broadcast_index(const fy_tensor *t, int32_t rank, const int64_t *dims, int64_t i) {
  int64_t at = 0, step = 1;
  for (int32_t d = rank - 1, k = t->rank - 1; k >= 0; d--, k--) {
    const int64_t here = i % dims[d];
    i /= dims[d];
    if (t->dims[k] != 1) at += here * step;
    step *= t->dims[k];
  }
  return at;
}

static fy_code stateless(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *shape = ctx->in[0];
  int64_t dims[FY_MAX_RANK], all[FY_MAX_RANK];
  int32_t rank, most = 0;
  fy_tensor *out;
  fy_philox g;
  char x[128];
  FY_TRY(fy_random_of_seed(ctx->in[1], &g, err));
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape should be a vector, got shape: %s",
                   fy_tensor_shape_text(shape, x));
  }
  FY_TRY(fy_value_shape(shape, &rank, dims, err));
  for (int i = 2; i < 6; i++) most = ctx->in[i]->rank > most ? ctx->in[i]->rank : most;
  for (int32_t d = 0; d < most; d++) all[d] = 1;
  for (int i = 2; i < 6; i++) {
    const fy_tensor *t = ctx->in[i];
    for (int32_t k = 0; k < t->rank; k++) {
      int64_t *dim = &all[most - t->rank + k];
      if (t->dims[k] == 1 || t->dims[k] == *dim) continue;
      if (*dim != 1) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "means, stddevs, minvals, maxvals must have compatible batch dimensions");
      }
      *dim = t->dims[k];
    }
  }
  if (rank < most || !fy_shape_equal(most, dims + rank - most, most, all)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape passed in must end with broadcasted shape.");
  }
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  const int64_t parameters = fy_product(all, most), samples = out->count / parameters;
  for (int64_t k = 0; k < parameters; k++) {
    double p[4];
    for (int i = 0; i < 4; i++) {
      p[i] = fy_tensor_double(ctx->in[i + 2], broadcast_index(ctx->in[i + 2], most, all, k));
    }
    const bounds b = {p[0], p[1], p[2], p[3]};
    FY_TRY(check_bounds(&b, err));
    FY_TRY(draws[out->dtype](&g, b, out->data, k, parameters, samples, err));
  }
  return FY_OK;
}

static fy_code stateful_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  for (int i = 1; i < 5; i++) FY_TRY(fy_shape_rank_at_most(ctx->in[i], 1, err));
  return fy_shape_from_first(ctx, err);
}
static fy_code stateless_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (ctx->in[1].rank == 1) FY_TRY(fy_dim_is(ctx->in[1].dims[0], 2, err));
  fy_pshape all = ctx->in[2];
  for (int i = 3; i < 6; i++) FY_TRY(fy_shape_broadcast_two(ctx, all, ctx->in[i], &all, err));
  return fy_shape_from_first(ctx, err);
}

static const fy_sample stateful_samples[] = {
    {"i32[1]=5; f32[]=0; f32[]=1; f32[]=-1; f32[]=1", "seed=1; seed2=2", FY_OK, NULL},
    {"i32[1]=5; f32[]=0; f32[]=-1; f32[]=-1; f32[]=1", "seed=1", FY_INVALID_ARGUMENT,
     "Invalid parameters"},
};
static const fy_sample stateless_samples[] = {
    {"i32[1]=5; i64[2]=1,2; f64[]=0; f64[]=1; f64[]=3; f64[]=9", NULL, FY_OK, NULL},
};
FY_OP(ParameterizedTruncatedNormal, .shape = stateful_shape, .prepare = fy_random_prepare,
      .compute = stateful, .release = fy_random_release, .host_inputs = 1,
      FY_SAMPLES(stateful_samples));
FY_OP(StatelessParameterizedTruncatedNormal, .shape = stateless_shape, .compute = stateless,
      .host_inputs = 0x3F, FY_SAMPLES(stateless_samples));
