// SPDX-License-Identifier: Apache-2.0
// pool.c: MaxPool, MaxPoolV2, MaxPool3D, MaxPoolWithArgmax, AvgPool, AvgPool3D.
// A window at the border covers only what is there: averages leave the padding out.
// As in TensorFlow a NaN loses against any number in MaxPool, and sums of 16-bit floats round at
// every step (of volumes: at the end).

#include "base/alloc.h"
#include "ops/pool.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct pool_job {
  fy_pool_geometry g;
  const void *in;
  void *out, *index;
  fy_dtype index_type;
  bool batch_in_index;
} pool_job;

// Items of all loops: rows (image, depth, height) of the output. EACH(in) runs for every input
// pixel under the window of output pixel x, in order; |at| is its position in the image.
#define OVER_WINDOW(S, g, in, at, EACH)                                                        \
  for (int64_t iz = fy_pool_start(&(g)->w[0], z); iz < fy_pool_end(&(g)->w[0], z); iz++) {     \
    for (int64_t iy = fy_pool_start(&(g)->w[1], y); iy < fy_pool_end(&(g)->w[1], y); iy++) {   \
      for (int64_t ix = fy_pool_start(&(g)->w[2], x); ix < fy_pool_end(&(g)->w[2], x); ix++) { \
        const int64_t at = ((iz * (g)->w[1].in + iy) * (g)->w[2].in + ix) * (g)->depth;        \
        const fy_t_##S *in = (const fy_t_##S *)j->in + image * (g)->in_image + at;             \
        EACH                                                                                   \
      }                                                                                        \
    }                                                                                          \
  }
#define ROW(g)                                                                    \
  const int64_t y = row % (g)->w[1].out, z = row / (g)->w[1].out % (g)->w[0].out; \
  const int64_t image = row / (g)->w[1].out / (g)->w[0].out;

// Floats and 16-bit floats, in lanes.
#define IN_LANES(name, TYPE, KIND)                                                   \
  static void name(void *arg, int64_t begin, int64_t end) {                          \
    const pool_job *j = arg;                                                         \
    fy_pool_lanes(&j->g, FY_POOL_##TYPE, FY_POOL_##KIND, j->in, j->out, begin, end); \
  }
IN_LANES(max_f32, FLOAT, MAX)
IN_LANES(max_f16, HALF, MAX)
IN_LANES(max_bf16, BFLOAT16, MAX)
IN_LANES(avg_f32, FLOAT, AVERAGE)
IN_LANES(avg_f16, HALF, AVERAGE)
IN_LANES(avg_bf16, BFLOAT16, AVERAGE)
IN_LANES(avg3d_f16, HALF, AVERAGE_LATE)
IN_LANES(avg3d_bf16, BFLOAT16, AVERAGE_LATE)
#define avg3d_f32 avg_f32
#define avg3d_f64 avg_f64

#define CHANNELS 64  // at a time, with their maxima and places at hand
#define MAX_POOL(E, S, CLONES)                                                                \
  CLONES static void max_##S(void *arg, int64_t begin, int64_t end) {                         \
    const pool_job *j = arg;                                                                  \
    const fy_pool_geometry *g = &j->g;                                                        \
    for (int64_t row = begin; row < end; row++) {                                             \
      ROW(g)                                                                                  \
      for (int64_t x = 0; x < g->w[2].out; x++) {                                             \
        fy_t_##S *out = (fy_t_##S *)j->out + (row * g->w[2].out + x) * g->depth;              \
        for (int64_t k = 0; k < g->depth; k += CHANNELS) {                                    \
          const int64_t n = g->depth - k < CHANNELS ? g->depth - k : CHANNELS;                \
          fy_t_##S top[CHANNELS];                                                             \
          for (int64_t i = 0; i < n; i++) top[i] = FY_LOWEST_##S;                             \
          OVER_WINDOW(S, g, in, at, {                                                         \
            for (int64_t i = 0; i < n; i++) top[i] = in[k + i] > top[i] ? in[k + i] : top[i]; \
          })                                                                                  \
          memcpy(out + k, top, (size_t)n * sizeof *out);                                      \
        }                                                                                     \
      }                                                                                       \
    }                                                                                         \
  }
#define DEPTH_MAX_POOL(E, S, _)                                      \
  /* the maximum over |depth_window| channels */                     \
  static void max_depth_##S(void *arg, int64_t begin, int64_t end) { \
    const pool_job *j = arg;                                         \
    const int64_t n = j->g.depth_window;                             \
    for (int64_t i = begin; i < end; i++) {                          \
      const fy_t_##S *in = (const fy_t_##S *)j->in + i * n;          \
      fy_t_##S top = in[0];                                          \
      for (int64_t k = 1; k < n; k++) {                              \
        if (FY_LD_##S(in[k]) > FY_LD_##S(top)) top = in[k];          \
      }                                                              \
      ((fy_t_##S *)j->out)[i] = top;                                 \
    }                                                                \
  }
// The first of equal maxima; a NaN that comes first stays. Whether a number is higher is no branch: that
// could not be foretold. |where|: pixels.
#define ARG_MAX_POOL(E, S, CLONES)                                                          \
  CLONES static void arg_max_##S(void *arg, int64_t begin, int64_t end) {                   \
    const pool_job *j = arg;                                                                \
    const fy_pool_geometry *g = &j->g;                                                      \
    for (int64_t row = begin; row < end; row++) {                                           \
      ROW(g)                                                                                \
      for (int64_t x = 0; x < g->w[2].out; x++) {                                           \
        const int64_t to = (row * g->w[2].out + x) * g->depth;                              \
        for (int64_t k = 0; k < g->depth; k += CHANNELS) {                                  \
          const int64_t n = g->depth - k < CHANNELS ? g->depth - k : CHANNELS;              \
          fy_t_##S top[CHANNELS];                                                           \
          int32_t where[CHANNELS];                                                          \
          bool any = false;                                                                 \
          for (int64_t i = 0; i < n; i++) top[i] = FY_ST_##S(FY_LOWEST_##S), where[i] = -1; \
          OVER_WINDOW(S, g, in, at, {                                                       \
            const int32_t here = (int32_t)((iz * g->w[1].in + iy) * g->w[2].in + ix);       \
            if (!any) {                                                                     \
              memcpy(top, in + k, (size_t)n * sizeof *top);                                 \
              for (int64_t i = 0; i < n; i++) where[i] = here;                              \
            } else {                                                                        \
              for (int64_t i = 0; i < n; i++) {                                             \
                const fy_t_##S v = in[k + i];                                               \
                const bool higher = FY_LD_##S(v) > FY_LD_##S(top[i]);                       \
                const int32_t m = -(int32_t)higher;                                         \
                top[i] = higher ? v : top[i];                                               \
                where[i] = (here & m) | (where[i] & ~m);                                    \
              }                                                                             \
            }                                                                               \
            any = true;                                                                     \
          })                                                                                \
          memcpy((fy_t_##S *)j->out + to + k, top, (size_t)n * sizeof *top);                \
          put_places(j, image, k, where, n, to + k);                                        \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
  }
static __attribute__((noinline)) void put_places(const pool_job *j, int64_t image, int64_t channel,
                                                 const int32_t *where, int64_t n, int64_t to) {
  const int64_t depth = j->g.depth;
  const int64_t base = (j->batch_in_index ? image * j->g.in_image : 0) + channel;
  const bool none = where[0] < 0;  // then of no channel
  if (j->index_type == FY_INT32) {
    int32_t *out = (int32_t *)j->index + to;
    for (int64_t i = 0; i < n; i++) out[i] = none ? -1 : (int32_t)(base + where[i] * depth + i);
  } else {
    int64_t *out = (int64_t *)j->index + to;
    for (int64_t i = 0; i < n; i++) out[i] = none ? -1 : base + where[i] * depth + i;
  }
}
MAX_POOL(FY_DOUBLE, f64, FY_CLONES)
FY_INT_TYPES(MAX_POOL, )
FY_ORDERED_TYPES(DEPTH_MAX_POOL, _)
FY_SHORT_REAL_TYPES(ARG_MAX_POOL, )
ARG_MAX_POOL(FY_FLOAT, f32, FY_CLONES)
ARG_MAX_POOL(FY_DOUBLE, f64, )
FY_INT_TYPES(ARG_MAX_POOL, )

FY_CLONES static void avg_f64(void *arg, int64_t begin, int64_t end) {
  const pool_job *j = arg;
  const fy_pool_geometry *g = &j->g;
  for (int64_t row = begin; row < end; row++) {
    ROW(g)
    for (int64_t x = 0; x < g->w[2].out; x++) {
      double *out = (double *)j->out + (row * g->w[2].out + x) * g->depth;
      for (int64_t k = 0; k < g->depth; k += CHANNELS) {
        const int64_t n = g->depth - k < CHANNELS ? g->depth - k : CHANNELS;
        double sum[CHANNELS] = {0}, count = 0;
        OVER_WINDOW(f64, g, in, at, {
          count += 1;
          for (int64_t i = 0; i < n; i++) sum[i] += in[k + i];
        })
        for (int64_t i = 0; i < n; i++) out[k + i] = sum[i] / count;
      }
    }
  }
}

typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
typedef struct pool_table {
  items_fn fn[FY_DTYPE_COUNT];
} pool_table;
static const pool_table maxes = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, max)[FY_QINT8] = max_i8}};
static const pool_table depth_maxes = {
    {FY_ORDERED_TYPES(FY_LOOP_ENTRY, max_depth)[FY_QINT8] = max_depth_i8}};
static const pool_table arg_maxes = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, arg_max)}};
static const pool_table averages = {{FY_REAL_TYPES(FY_LOOP_ENTRY, avg)}};
static const pool_table averages3d = {{FY_REAL_TYPES(FY_LOOP_ENTRY, avg3d)}};

static fy_code run(fy_kernel_ctx *ctx, const pool_table *table, int sizes, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  pool_job j = {.batch_in_index = fy_site_bool(ctx->site, "include_batch_in_index")};
  fy_tensor *out, *index = NULL;
  if (table == &arg_maxes && in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "tensor_in must be 4-dimensional (2)");
  }
  if (table == &arg_maxes && in->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "tensor_in must not be empty (2)");
  }
  FY_TRY(fy_pool_resolve(ctx, in->rank, in->dims, sizes, &j.g, err));
  const fy_pool_geometry *g = &j.g;
  if (g->depth_window != 1 && table != &maxes) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   table == &averages
                       ? "Non-spatial pooling is not yet supported. Volunteers? :)"
                       : "MaxPoolWithArgmax is not yet supported on the depth dimension.");
  }
  if (g->depth_window != 1) table = &depth_maxes;
  FY_TRY(fy_out(ctx, 0, g->rank, g->out_dims, &out, err));
  if (ctx->site->num_outputs > 1) FY_TRY(fy_out(ctx, 1, g->rank, g->out_dims, &index, err));
  if (!table->fn[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  if (out->count == 0) return FY_OK;
  j.in = in->data;
  j.out = out->data;
  if (index) {
    j.index = index->data;
    j.index_type = index->dtype;
  }
  if (table == &depth_maxes) {
    fy_parallel(ctx, out->count, 0.5 * (double)g->depth_window, table->fn[in->dtype], &j);
    return FY_OK;
  }
  const double window = (double)g->w[0].size * (double)g->w[1].size * (double)g->w[2].size;
  fy_parallel(ctx, g->batch * g->w[0].out * g->w[1].out,
              0.4 * window * (double)g->w[2].out * (double)g->depth + 20, table->fn[in->dtype], &j);
  return FY_OK;
}

static fy_code pool(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, ctx->site->op->impl->aux, 0, err);
}
static fy_code pool_v2(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, ctx->site->op->impl->aux, 1, err);
}

#define WINDOW2 "ksize=[1,2,2,1]; strides=[1,2,2,1]; "
static const fy_sample max_samples[] = {
    {"f32[1,2,4,1]=1,2,3,4,5,6,7,8", WINDOW2 "padding=\"VALID\"", FY_OK, "6,8"},
    {"i8[1,3,3,1]=-1,-2,-3,-4,-5,-6,-7,-8,-9", WINDOW2 "padding=\"SAME\"", FY_OK, "-1,-3,-7,-9"},
    {"f32[1,1,2,2]=1,2,3,4",
     "ksize=[1,1,2,2]; strides=[1,1,2,2]; padding=\"SAME\"; "
     "data_format=\"NCHW\"",
     FY_OK, "4"},
    {"f32[1,1,1,4]=1,2,4,3", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=\"SAME\"", FY_OK, "2,4"},
    {"f16[2,5,5,3]=normal",
     "ksize=[1,3,3,1]; strides=[1,2,2,1]; padding=\"EXPLICIT\"; "
     "explicit_paddings=[0,0,1,1,1,0,0,0]",
     FY_OK, NULL},
    {"f32[2,2,1]=ones", WINDOW2 "padding=\"SAME\"", FY_INVALID_ARGUMENT,
     "tensor_in_shape must have 2 spatial dimensions. 3 0"},
};
static const fy_sample max_v2_samples[] = {
    {"f32[1,2,4,1]=1,2,3,4,5,6,7,8; i32[4]=1,2,2,1; i32[4]=1,2,2,1", "padding=\"VALID\"", FY_OK,
     "6,8"},
};
static const fy_sample arg_samples[] = {
    {"f32[1,2,4,1]=1,2,3,4,5,6,8,8", WINDOW2 "padding=\"VALID\"", FY_OK, "6,8"},
};
static const fy_sample avg_samples[] = {
    {"f32[1,3,3,1]=iota", WINDOW2 "padding=\"SAME\"", FY_OK, "2,3.5,6.5,8"},
    {"f16[1,5,5,3]=normal", WINDOW2 "padding=\"VALID\"", FY_OK, NULL},
};
#define WINDOW3 "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; "
static const fy_sample max3_samples[] = {
    {"f32[1,2,2,2,1]=iota", WINDOW3 "padding=\"VALID\"", FY_OK, "7"},
};
static const fy_sample avg3_samples[] = {
    {"f32[1,2,2,2,1]=iota", WINDOW3 "padding=\"VALID\"", FY_OK, "3.5"},
};

#define POOL(Name, shape_fn, prepare_fn, compute_fn, table, hosts, array)                          \
  FY_OP(Name, .shape = shape_fn, .prepare = prepare_fn, .compute = compute_fn, .release = fy_free, \
        .aux = &table, .host_inputs = hosts, FY_SAMPLES(array))
POOL(MaxPool, fy_pool2d_shape, fy_pool_prepare_2d, pool, maxes, 0, max_samples);
POOL(MaxPoolV2, fy_pool2d_v2_shape, fy_pool_prepare_2d, pool_v2, maxes, 6, max_v2_samples);
POOL(MaxPoolWithArgmax, fy_pool2d_shape, fy_pool_prepare_2d, pool, arg_maxes, 0, arg_samples);
POOL(AvgPool, fy_pool2d_shape, fy_pool_prepare_2d, pool, averages, 0, avg_samples);
POOL(MaxPool3D, fy_pool3d_shape, fy_pool_prepare_3d, pool, maxes, 0, max3_samples);
POOL(AvgPool3D, fy_pool3d_shape, fy_pool_prepare_3d, pool, averages3d, 0, avg3_samples);
