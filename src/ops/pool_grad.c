// SPDX-License-Identifier: Apache-2.0
// pool_grad.c: gradients of pooling. That of a maximum goes to the first element that is the
// maximum; that of an average is spread evenly over what the window covered. Sums of 16-bit floats
// round at every step, as TensorFlow's do. Work is split over images, which nobody else writes.

#include "base/alloc.h"
#include "ops/pool.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct grad_job {
  fy_pool_geometry g;
  const void *in, *maxima, *grad, *index;
  void *out;
  fy_dtype index_type;
  bool batch_in_index;
  int64_t out_count;
  int bad;
} grad_job;

#define ADD(S, x, y)     ((x) + (y))
#define ADD_INT(S, x, y) ((fy_u_##S)(x) + (fy_u_##S)(y))

// Runs BODY for every output pixel of image |image|: y, x, z and |pixel|, its index in the image.
#define OVER_OUTPUTS(g, pixel, BODY)                                                        \
  for (int64_t pixel = 0; pixel < (g)->w[0].out * (g)->w[1].out * (g)->w[2].out; pixel++) { \
    const int64_t x = pixel % (g)->w[2].out, y = pixel / (g)->w[2].out % (g)->w[1].out;     \
    const int64_t z = pixel / (g)->w[2].out / (g)->w[1].out;                                \
    BODY                                                                                    \
  }
#define OVER_WINDOW(g, at, BODY)                                                               \
  for (int64_t iz = fy_pool_start(&(g)->w[0], z); iz < fy_pool_end(&(g)->w[0], z); iz++) {     \
    for (int64_t iy = fy_pool_start(&(g)->w[1], y); iy < fy_pool_end(&(g)->w[1], y); iy++) {   \
      for (int64_t ix = fy_pool_start(&(g)->w[2], x); ix < fy_pool_end(&(g)->w[2], x); ix++) { \
        const int64_t at = ((iz * (g)->w[1].in + iy) * (g)->w[2].in + ix) * (g)->depth;        \
        BODY                                                                                   \
      }                                                                                        \
    }                                                                                          \
  }

// Some channels of a window at a time: the place of each one's maximum, then what is added there.
#define CHANNELS 64
#define MAX_GRAD(E, S, PLUS)                                                                       \
  static void max_grad_##S(void *arg, int64_t begin, int64_t end) {                                \
    const grad_job *j = arg;                                                                       \
    const fy_pool_geometry *g = &j->g;                                                             \
    for (int64_t image = begin; image < end; image++) {                                            \
      const fy_t_##S *in = (const fy_t_##S *)j->in + image * g->in_image;                          \
      const fy_t_##S *grad = (const fy_t_##S *)j->grad + image * g->out_image;                     \
      fy_t_##S *out = (fy_t_##S *)j->out + image * g->in_image;                                    \
      memset(out, 0, (size_t)g->in_image * sizeof *out);                                           \
      OVER_OUTPUTS(g, pixel, {                                                                     \
        for (int64_t k = 0; k < g->depth; k += CHANNELS) {                                         \
          const int64_t n = g->depth - k < CHANNELS ? g->depth - k : CHANNELS;                     \
          const fy_t_##S *more = grad + pixel * g->depth + k;                                      \
          fy_a_##S top[CHANNELS];                                                                  \
          int32_t where[CHANNELS];                                                                 \
          int32_t w = 0;                                                                           \
          OVER_WINDOW(g, at, {                                                                     \
            const fy_t_##S *from = in + at + k;                                                    \
            for (int64_t i = 0; i < n; i++) {                                                      \
              const fy_a_##S v = FY_LD_##S(from[i]);                                               \
              const bool higher = w == 0 || v > top[i];                                            \
              top[i] = higher ? v : top[i];                                                        \
              where[i] = higher ? w : where[i];                                                    \
            }                                                                                      \
            w++;                                                                                   \
          })                                                                                       \
          w = 0;                                                                                   \
          OVER_WINDOW(g, at, {                                                                     \
            fy_t_##S *restrict to = out + at + k;                                                  \
            for (int64_t i = 0; i < n; i++) {                                                      \
              const fy_t_##S sum = FY_ST_##S(PLUS(S, FY_LD_##S(to[i]), FY_LD_##S(more[i])));       \
              to[i] = where[i] == w ? sum : to[i];                                                 \
            }                                                                                      \
            w++;                                                                                   \
          })                                                                                       \
        }                                                                                          \
      })                                                                                           \
    }                                                                                              \
  }                                                                                                \
  /* in three dims: to every element that equals the given maximum */                              \
  static void ties_grad_##S(void *arg, int64_t begin, int64_t end) {                               \
    const grad_job *j = arg;                                                                       \
    const fy_pool_geometry *g = &j->g;                                                             \
    for (int64_t image = begin; image < end; image++) {                                            \
      const fy_t_##S *in = (const fy_t_##S *)j->in + image * g->in_image;                          \
      const fy_t_##S *grad = (const fy_t_##S *)j->grad + image * g->out_image;                     \
      const fy_t_##S *maxima = (const fy_t_##S *)j->maxima + image * g->out_image;                 \
      fy_t_##S *out = (fy_t_##S *)j->out + image * g->in_image;                                    \
      memset(out, 0, (size_t)g->in_image * sizeof *out);                                           \
      OVER_OUTPUTS(g, pixel, {                                                                     \
        for (int64_t k = 0; k < g->depth; k++) {                                                   \
          const fy_a_##S top = FY_LD_##S(maxima[pixel * g->depth + k]);                            \
          const fy_a_##S more = FY_LD_##S(grad[pixel * g->depth + k]);                             \
          OVER_WINDOW(g, at, {                                                                     \
            if (FY_LD_##S(in[at + k]) == top)                                                      \
              out[at + k] = FY_ST_##S(PLUS(S, FY_LD_##S(out[at + k]), more));                      \
          })                                                                                       \
        }                                                                                          \
      })                                                                                           \
    }                                                                                              \
  }                                                                                                \
  /* the gradient of that gradient: picks what lies where the maximum was */                       \
  static void max_grad_grad_##S(void *arg, int64_t begin, int64_t end) {                           \
    const grad_job *j = arg;                                                                       \
    const fy_pool_geometry *g = &j->g;                                                             \
    for (int64_t image = begin; image < end; image++) {                                            \
      const fy_t_##S *in = (const fy_t_##S *)j->in + image * g->in_image;                          \
      const fy_t_##S *grad = (const fy_t_##S *)j->grad + image * g->in_image;                      \
      const fy_t_##S *maxima = (const fy_t_##S *)j->maxima + image * g->out_image;                 \
      fy_t_##S *out = (fy_t_##S *)j->out + image * g->out_image;                                   \
      OVER_OUTPUTS(g, pixel, {                                                                     \
        for (int64_t k = 0; k < g->depth; k++) {                                                   \
          const fy_a_##S top = FY_LD_##S(maxima[pixel * g->depth + k]);                            \
          fy_t_##S found = 0;                                                                      \
          bool done = false;                                                                       \
          OVER_WINDOW(g, at, {                                                                     \
            if (!done && FY_LD_##S(in[at + k]) == top) {                                           \
              found = grad[at + k];                                                                \
              done = true;                                                                         \
            }                                                                                      \
          })                                                                                       \
          out[pixel * g->depth + k] = found;                                                       \
        }                                                                                          \
      })                                                                                           \
    }                                                                                              \
  }                                                                                                \
  static void scatter_##S(void *arg, int64_t begin, int64_t end) {                                 \
    grad_job *j = arg;                                                                             \
    const fy_pool_geometry *g = &j->g;                                                             \
    fy_t_##S *out = j->out;                                                                        \
    for (int64_t i = begin * g->out_image; i < end * g->out_image; i++) {                          \
      int64_t at = j->index_type == FY_INT32 ? ((const int32_t *)j->index)[i]                      \
                                             : ((const int64_t *)j->index)[i];                     \
      const int64_t image = i / g->out_image;                                                      \
      if (at < 0 || at >= j->out_count) {                                                          \
        __atomic_store_n(&j->bad, 1, __ATOMIC_RELAXED);                                            \
        return;                                                                                    \
      }                                                                                            \
      if (!j->batch_in_index) at += image * g->in_image;                                           \
      if (at / g->in_image != image) {                                                             \
        __atomic_store_n(&j->bad, 1, __ATOMIC_RELAXED);                                            \
        return;                                                                                    \
      }                                                                                            \
      out[at] = FY_ST_##S(PLUS(S, FY_LD_##S(out[at]), FY_LD_##S(((const fy_t_##S *)j->grad)[i]))); \
    }                                                                                              \
  }
FY_REAL_TYPES(MAX_GRAD, ADD)
FY_INT_TYPES(MAX_GRAD, ADD_INT)

#define AVG_GRAD(E, S, _)                                                                   \
  static void avg_grad_##S(void *arg, int64_t begin, int64_t end) {                         \
    const grad_job *j = arg;                                                                \
    const fy_pool_geometry *g = &j->g;                                                      \
    for (int64_t image = begin; image < end; image++) {                                     \
      const fy_t_##S *grad = (const fy_t_##S *)j->grad + image * g->out_image;              \
      fy_t_##S *out = (fy_t_##S *)j->out + image * g->in_image;                             \
      memset(out, 0, (size_t)g->in_image * sizeof *out);                                    \
      OVER_OUTPUTS(g, pixel, {                                                              \
        const int64_t n = (fy_pool_end(&g->w[0], z) - fy_pool_start(&g->w[0], z)) *         \
                          (fy_pool_end(&g->w[1], y) - fy_pool_start(&g->w[1], y)) *         \
                          (fy_pool_end(&g->w[2], x) - fy_pool_start(&g->w[2], x));          \
        const fy_a_##S share = FY_RD_##S((fy_a_##S)(1.0 / (double)n));                      \
        OVER_WINDOW(g, at, {                                                                \
          for (int64_t k = 0; k < g->depth; k++) {                                          \
            const fy_a_##S part = FY_RD_##S(share * FY_LD_##S(grad[pixel * g->depth + k])); \
            out[at + k] = FY_ST_##S(FY_LD_##S(out[at + k]) + part);                         \
          }                                                                                 \
        })                                                                                  \
      })                                                                                    \
    }                                                                                       \
  }
FY_REAL_TYPES(AVG_GRAD, _)

typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
static const items_fn max_grads[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, max_grad)};
static const items_fn ties_grads[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, ties_grad)};
static const items_fn max_grad_grads[FY_DTYPE_COUNT] = {
    FY_ORDERED_TYPES(FY_LOOP_ENTRY, max_grad_grad)};
static const items_fn scatters[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, scatter)};
static const items_fn avg_grads[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, avg_grad)};

static fy_code fail_type(fy_kernel_ctx *ctx, fy_dtype t, fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

static fy_code check_shape(const fy_tensor *t, const char *name, int32_t rank, const int64_t *dims,
                           fy_error *err) {
  char x[128], y[128];
  if (fy_shape_equal(t->rank, t->dims, rank, dims)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s", name,
                 fy_shape_text(rank, dims, x), fy_tensor_shape_text(t, y));
}

static double image_ns(const fy_pool_geometry *g) {
  return 1.5 * (double)g->w[0].size * (double)g->w[1].size * (double)g->w[2].size *
         (double)g->out_image;
}

// Inputs: orig_input, orig_output, grad [, ksize, strides].
static fy_code max_gradient(fy_kernel_ctx *ctx, bool second, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *maxima = ctx->in[1], *grad = ctx->in[2];
  const fy_window_attrs *a = ctx->site->state;
  const int rank = a->spatial + 2;
  const char *names[] = {"tensor_in", "tensor_out", second ? "out_grad_backprop" : "out_backprop"};
  grad_job j = {.bad = 0};
  fy_tensor *out;
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i]->rank == rank) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be %d-dimensional", names[i], rank);
  }
  FY_TRY(fy_pool_resolve(ctx, in->rank, in->dims, ctx->site->num_inputs > 3 ? 3 : 0, &j.g, err));
  const fy_pool_geometry *g = &j.g;
  FY_TRY(check_shape(maxima, "orig_output", g->rank, g->out_dims, err));
  if (second) {
    FY_TRY(check_shape(grad, "grad", in->rank, in->dims, err));
    FY_TRY(fy_out(ctx, 0, g->rank, g->out_dims, &out, err));
  } else {
    FY_TRY(check_shape(grad, "grad", g->rank, g->out_dims, err));
    FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  }
  const items_fn fn = (second            ? max_grad_grads
                       : a->spatial == 3 ? ties_grads
                                         : max_grads)[in->dtype];
  if (!fn || grad->dtype != in->dtype || maxima->dtype != in->dtype) {
    return fail_type(ctx, grad->dtype, err);
  }
  if (out->count == 0) return FY_OK;
  j.in = in->data;
  j.maxima = maxima->data;
  j.grad = grad->data;
  j.out = out->data;
  fy_parallel(ctx, g->batch, image_ns(g), fn, &j);
  return FY_OK;
}
static fy_code max_grad(fy_kernel_ctx *ctx, fy_error *err) {
  return max_gradient(ctx, false, err);
}
static fy_code max_grad_grad(fy_kernel_ctx *ctx, fy_error *err) {
  return max_gradient(ctx, true, err);
}

static fy_code arg_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *grad = ctx->in[1], *index = ctx->in[2];
  grad_job j = {.batch_in_index = fy_site_bool(ctx->site, "include_batch_in_index")};
  fy_tensor *out;
  FY_TRY(fy_pool_resolve(ctx, in->rank, in->dims, 0, &j.g, err));
  FY_TRY(check_shape(grad, "grad", j.g.rank, j.g.out_dims, err));
  FY_TRY(check_shape(index, "argmax", j.g.rank, j.g.out_dims, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (!scatters[in->dtype] || grad->dtype != in->dtype) return fail_type(ctx, grad->dtype, err);
  if (out->count == 0) return FY_OK;
  memset(out->data, 0, fy_tensor_bytes(out));
  if (grad->count == 0) return FY_OK;
  j.grad = grad->data;
  j.index = index->data;
  j.index_type = index->dtype;
  j.out = out->data;
  j.out_count = out->count;
  fy_parallel(ctx, j.g.batch, image_ns(&j.g), scatters[in->dtype], &j);
  if (j.bad) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "MaxPoolGradWithArgmax: an index of argmax is out of "
                   "bounds");
  }
  return FY_OK;
}

static fy_code avg_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *sizes = ctx->in[0], *grad = ctx->in[1];
  const fy_window_attrs *a = ctx->site->state;
  const int rank = a->spatial + 2;
  grad_job j = {.bad = 0};
  fy_tensor *out;
  int32_t in_rank;
  int64_t dims[FY_MAX_RANK];
  if (sizes->rank != 1 || sizes->count != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   a->spatial == 2 ? "out_backprop must be 1-dimensional and 4 elements"
                                   : "tensor_in must be 1-dimensional and 5 elements");
  }
  if (grad->rank != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "out_backprop must be %d-dimensional", rank);
  }
  for (int64_t i = 0; i < sizes->count; i++) {
    if (fy_tensor_int(sizes, i) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   (long long)fy_tensor_int(sizes, i));
  }
  FY_TRY(fy_value_shape(sizes, &in_rank, dims, err));
  FY_TRY(fy_pool_resolve(ctx, in_rank, dims, 0, &j.g, err));
  const fy_pool_geometry *g = &j.g;
  FY_TRY(fy_out(ctx, 0, in_rank, dims, &out, err));
  if (!avg_grads[grad->dtype]) return fail_type(ctx, grad->dtype, err);
  if (out->count == 0) return FY_OK;
  FY_TRY(check_shape(grad, "grad", g->rank, g->out_dims, err));
  j.grad = grad->data;
  j.out = out->data;
  fy_parallel(ctx, g->batch, image_ns(g), avg_grads[grad->dtype], &j);
  return FY_OK;
}

#define WINDOW2 "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=\"VALID\""
#define WINDOW3 "ksize=[1,1,2,2,1]; strides=[1,1,2,2,1]; padding=\"VALID\""
static const fy_sample max_samples[] = {
    {"f32[1,2,2,1]=1,3,3,2; f32[1,1,1,1]=3; f32[1,1,1,1]=5", WINDOW2, FY_OK, "0,5,0,0"},
    {"f32[2,2,1]=ones; f32[1,1,1,1]=3; f32[1,1,1,1]=5", WINDOW2, FY_INVALID_ARGUMENT,
     "tensor_in must be 4-dimensional"},
};
static const fy_sample max_v2_samples[] = {
    {"f32[1,2,2,1]=1,3,3,2; f32[1,1,1,1]=3; f32[1,1,1,1]=5; i32[4]=1,2,2,1; i32[4]=1,2,2,1",
     "padding=\"VALID\"", FY_OK, "0,5,0,0"},
};
static const fy_sample second_samples[] = {
    {"f32[1,2,2,1]=1,3,3,2; f32[1,1,1,1]=3; f32[1,2,2,1]=5,6,7,8", WINDOW2, FY_OK, "6"},
};
static const fy_sample second_v2_samples[] = {
    {"f32[1,2,2,1]=1,3,3,2; f32[1,1,1,1]=3; f32[1,2,2,1]=5,6,7,8; i32[4]=1,2,2,1; i32[4]=1,2,2,1",
     "padding=\"VALID\"", FY_OK, "6"},
};
static const fy_sample arg_samples[] = {
    {"f32[1,2,2,1]=1,3,3,2; f32[1,1,1,1]=5; i64[1,1,1,1]=2", WINDOW2, FY_OK, "0,0,5,0"},
    {"f32[1,2,2,1]=1,3,3,2; f32[1,1,1,1]=5; i64[1,1,1,1]=7", WINDOW2, FY_INVALID_ARGUMENT,
     "out of bounds"},
};
static const fy_sample avg_samples[] = {
    {"i32[4]=1,2,2,1; f32[1,1,1,1]=8", WINDOW2, FY_OK, "2,2,2,2"},
};
static const fy_sample max3_samples[] = {
    {"f32[1,1,2,2,1]=1,3,3,2; f32[1,1,1,1,1]=3; f32[1,1,1,1,1]=5", WINDOW3, FY_OK, "0,5,5,0"},
};
static const fy_sample second3_samples[] = {
    {"f32[1,1,2,2,1]=1,3,3,2; f32[1,1,1,1,1]=3; f32[1,1,2,2,1]=5,6,7,8", WINDOW3, FY_OK, "6"},
};
static const fy_sample avg3_samples[] = {
    {"i32[5]=1,1,2,2,1; f32[1,1,1,1,1]=8", WINDOW3, FY_OK, "2,2,2,2"},
};

#define GRADIENT(Name, shape_fn, prepare_fn, compute_fn, hosts, array)                             \
  FY_OP(Name, .shape = shape_fn, .prepare = prepare_fn, .compute = compute_fn, .release = fy_free, \
        .host_inputs = hosts, FY_SAMPLES(array))
GRADIENT(MaxPoolGrad, fy_pool_grad2d_shape, fy_pool_prepare_2d, max_grad, 0, max_samples);
GRADIENT(MaxPoolGradV2, fy_pool_grad2d_shape, fy_pool_prepare_2d, max_grad, 24, max_v2_samples);
GRADIENT(MaxPoolGradGrad, fy_pool_grad_grad_shape, fy_pool_prepare_2d, max_grad_grad, 0,
         second_samples);
GRADIENT(MaxPoolGradGradV2, fy_pool_grad_grad_shape, fy_pool_prepare_2d, max_grad_grad, 24,
         second_v2_samples);
GRADIENT(MaxPoolGradWithArgmax, fy_pool_grad2d_shape, fy_pool_prepare_2d, arg_grad, 0, arg_samples);
GRADIENT(AvgPoolGrad, fy_pool_avg_grad_shape, fy_pool_prepare_2d, avg_grad, 1, avg_samples);
GRADIENT(MaxPool3DGrad, fy_pool_grad3d_shape, fy_pool_prepare_3d, max_grad, 0, max3_samples);
GRADIENT(MaxPool3DGradGrad, fy_pool_grad_grad_shape, fy_pool_prepare_3d, max_grad_grad, 0,
         second3_samples);
GRADIENT(AvgPool3DGrad, fy_pool_avg_grad_shape, fy_pool_prepare_3d, avg_grad, 1, avg3_samples);
