// SPDX-License-Identifier: Apache-2.0
// isotonic.c: IsotonicRegression: each row's nearest sequence that does not increase, by joining
// neighbours that do until their means no longer do; and NearestNeighbors: of each point, the k
// centers with the smallest squared distance.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct pool {
  double sum, mean;
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
typedef struct isotonic_job {
  const fy_tensor *in;
  fy_tensor *out, *segments;
  int64_t n;  // of a row
  fy_slices slices;
} isotonic_job;

static void isotonic_rows(void *arg, int64_t begin, int64_t end) {
  isotonic_job *j = arg;
  const fy_dtype type = j->out->dtype;
  pool *p = fy_slice_take(&j->slices);
  for (int64_t row = begin * j->n; row < end * j->n; row += j->n) {
    int64_t top = 0;
    for (int64_t i = 0; i < j->n; i++) {
      const double x = fy_tensor_double(j->in, row + i);
      p[top++] = (pool){x, rounded(type, x), 1};
      for (; top > 1 && p[top - 2].mean < p[top - 1].mean; top--) {
        pool *to = &p[top - 2];
        to->sum = rounded(type, to->sum + p[top - 1].sum);
        to->n += p[top - 1].n;
        to->mean = rounded(type, to->sum / (double)to->n);
      }
    }
    for (int64_t s = 0, at = row; s < top; s++) {
      for (int64_t i = 0; i < p[s].n; i++, at++) {
        put(j->out, at, p[s].mean);
        ((int32_t *)j->segments->data)[at] = (int32_t)s;
      }
    }
  }
  fy_slice_give(&j->slices, p);
}

static fy_code isotonic(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  isotonic_job j = {.in = in, .n = in->rank ? in->dims[in->rank - 1] : 1};
  FY_TRY(fy_out(ctx, 0, in->rank, in->dims, &j.out, err));
  FY_TRY(fy_out(ctx, 1, in->rank, in->dims, &j.segments, err));
  if (in->count == 0) return FY_OK;
  const int64_t rows = in->count / j.n;
  FY_TRY(fy_slices_make(ctx, rows, (size_t)j.n * sizeof(pool), &j.slices, err));
  fy_parallel(ctx, rows, 20 * (double)j.n, isotonic_rows, &j);
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

static bool nearer(near x, near y) {
  return x.distance != y.distance ? x.distance < y.distance : x.center < y.center;
}

// Puts |x| at or below |at| into a heap of |n|, whose root is the farthest.
static void sift(near *heap, int64_t n, int64_t at, near x) {
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && nearer(heap[child], heap[child + 1])) child++;
    if (!nearer(x, heap[child])) break;
    heap[at] = heap[child];
  }
  heap[at] = x;
}

FY_CLONES static double squared_distance(const float *p, const float *q, int64_t n) {
  double sums[8] = {0};
  int64_t d = 0;
  for (; d + 8 <= n; d += 8) {
    for (int i = 0; i < 8; i++) {
      const double step = (double)p[d + i] - (double)q[d + i];
      sums[i] += step * step;
    }
  }
  for (; d < n; d++) {
    const double step = (double)p[d] - (double)q[d];
    sums[0] += step * step;
  }
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

typedef struct near_job {
  const float *points, *centers;
  int64_t num_centers, width, k;
  int64_t *indices;
  float *distances;
  fy_slices slices;
} near_job;

static void near_points(void *arg, int64_t begin, int64_t end) {
  near_job *j = arg;
  near *heap = fy_slice_take(&j->slices);
  for (int64_t i = begin; i < end; i++) {
    const float *p = j->points + i * j->width;
    for (int64_t c = 0; c < j->num_centers; c++) {
      const near x = {squared_distance(p, j->centers + c * j->width, j->width), c};
      if (c < j->k)
        heap[c] = x;
      else if (nearer(x, heap[0]))
        sift(heap, j->k, 0, x);
      if (c + 1 < j->k || c >= j->k) continue;
      for (int64_t at = j->k / 2; at-- > 0;) sift(heap, j->k, at, heap[at]);
    }
    for (int64_t n = j->k; n-- > 0;) {
      j->indices[i * j->k + n] = heap[0].center;
      j->distances[i * j->k + n] = (float)heap[0].distance;
      sift(heap, n, 0, heap[n]);
    }
  }
  fy_slice_give(&j->slices, heap);
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
  near_job j = {points->data, centers->data, m, width, k, indices->data, distances->data, {0}};
  FY_TRY(fy_slices_make(ctx, n, (size_t)k * sizeof(near), &j.slices, err));
  fy_parallel(ctx, n, (double)m * (5 + 0.5 * (double)width), near_points, &j);
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
