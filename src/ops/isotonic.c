// SPDX-License-Identifier: Apache-2.0
// isotonic.c: IsotonicRegression: each row's nearest sequence that does not increase, by joining
// neighbours that do until their means no longer do; and NearestNeighbors: of each point, the k
// centers with the smallest squared distance.

#include <stdlib.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct pool {
  double sum;
  int64_t n;
} pool;

// Sums are kept in the type of the result.
static double rounded(fy_dtype type, double x) {
  switch (type) {
    case FY_FLOAT: return (float)x;
    case FY_HALF: return fy_half_to_float(fy_float_to_half((float)x));
    case FY_BFLOAT16: return fy_bfloat16_to_float(fy_float_to_bfloat16((float)x));
    default: return x;
  }
}
static void put(fy_tensor *t, int64_t i, double x) {
  switch (t->dtype) {
    case FY_FLOAT: ((float *)t->data)[i] = (float)x; break;
    case FY_HALF: ((uint16_t *)t->data)[i] = fy_float_to_half((float)x); break;
    case FY_BFLOAT16: ((uint16_t *)t->data)[i] = fy_float_to_bfloat16((float)x); break;
    default: ((double *)t->data)[i] = x; break;
  }
}
static double mean(fy_dtype type, const pool *p) {
  return rounded(type, p->sum / (double)p->n);
}

static fy_code isotonic(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out, *segments;
  FY_TRY(fy_out(ctx, 0, in->rank, in->dims, &out, err));
  FY_TRY(fy_out(ctx, 1, in->rank, in->dims, &segments, err));
  const int64_t n = in->rank ? in->dims[in->rank - 1] : 1;
  if (in->count == 0) return FY_OK;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(pool), &memory, err));
  pool *p = memory;
  for (int64_t row = 0; row < in->count; row += n) {
    int64_t top = 0;
    for (int64_t i = 0; i < n; i++) {
      p[top++] = (pool){fy_tensor_double(in, row + i), 1};
      while (top > 1 && mean(out->dtype, &p[top - 2]) < mean(out->dtype, &p[top - 1])) {
        p[top - 2].sum = rounded(out->dtype, p[top - 2].sum + p[top - 1].sum);
        p[top - 2].n += p[top - 1].n;
        top--;
      }
    }
    for (int64_t s = 0, at = row; s < top; s++) {
      const double m = mean(out->dtype, &p[s]);
      for (int64_t i = 0; i < p[s].n; i++, at++) {
        put(out, at, m);
        ((int32_t *)segments->data)[at] = (int32_t)s;
      }
    }
  }
  return FY_OK;
}

static fy_code isotonic_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err));
  return fy_shape_set(ctx, 1, ctx->in[0].rank, ctx->in[0].dims, err);
}

// ---------------------------------------------------------------- NearestNeighbors
typedef struct near {
  double distance;
  int64_t center;
} near;

static int nearer(const void *a, const void *b) {
  const near *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->center > y->center) - (x->center < y->center);
}

static fy_code neighbors(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *points = ctx->in[0], *centers = ctx->in[1], *k_in = ctx->in[2];
  fy_tensor *indices, *distances;
  if (points->rank != 2)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input points should be a matrix.");
  if (centers->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input centers should be a matrix.");
  }
  if (k_in->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Input k should be a scalar.");
  int64_t k = fy_tensor_int(k_in, 0);
  if (k < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected k >= 0, got %lld", (long long)k);
  }
  if (points->dims[0] == 0 || centers->dims[0] == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected %s.rows() > 0.",
                   points->dims[0] == 0 ? "points" : "centers");
  }
  if (points->dims[1] != centers->dims[1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected point_dimensions == center_dimensions: %lld vs %lld.",
                   (long long)points->dims[1], (long long)centers->dims[1]);
  }
  const int64_t n = points->dims[0], m = centers->dims[0], width = points->dims[1];
  if (k > m) k = m;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, k}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 2, (const int64_t[]){n, k}, &distances, err));
  if (indices->count == 0) return FY_OK;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)m * sizeof(near), &memory, err));
  near *all = memory;
  for (int64_t i = 0; i < n; i++) {
    const float *p = (const float *)points->data + i * width;
    for (int64_t c = 0; c < m; c++) {
      const float *q = (const float *)centers->data + c * width;
      double sum = 0;
      for (int64_t d = 0; d < width; d++) {
        const double step = (double)p[d] - (double)q[d];
        sum += step * step;
      }
      all[c] = (near){sum, c};
    }
    qsort(all, (size_t)m, sizeof *all, nearer);
    for (int64_t c = 0; c < k; c++) {
      ((int64_t *)indices->data)[i * k + c] = all[c].center;
      ((float *)distances->data)[i * k + c] = (float)all[c].distance;
    }
  }
  return FY_OK;
}

static const fy_sample isotonic_samples[] = {
    {"f32[2,4]=3,1,2,5,4,3,2,1", NULL, FY_OK, NULL},
    {"i32[4]=3,1,2,6", "output_dtype=double", FY_OK, "3,3,3,3"},
};
static const fy_sample near_samples[] = {
    {"f32[2,2]=1,2,3,4; f32[3,2]=0,0,3,3,1,2; i64[]=2", NULL, FY_OK, "2,0,1,2"},
    {"f32[2,2]=1,2,3,4; f32[3,2]=0,0,3,3,1,2; i64[]=-1", NULL, FY_INVALID_ARGUMENT, "k >= 0"},
};
FY_OP(IsotonicRegression, .shape = isotonic_shape, .compute = isotonic, .flags = FY_OP_HOST,
      FY_SAMPLES(isotonic_samples));
FY_OP(NearestNeighbors, .shape = fy_shape_none, .compute = neighbors,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(near_samples));
