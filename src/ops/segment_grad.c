// SPDX-License-Identifier: Apache-2.0
// segment_grad.c: gradients of SparseSegmentSum/Mean/SqrtN: each row taken gets its segment's gradient,
// divided as the segment was. The first form fills a dense result of output_dim0 rows, V2 only the
// rows that were taken, with their sorted numbers.

#include <stdlib.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef enum grad_kind { GRAD_SUM, GRAD_MEAN, GRAD_SQRT_N } grad_kind;

// out[i] += in[i] * scale in |n| elements; the factor is rounded to the type first.
#define ADD_SCALED(E, S, _)                                                                   \
  static void add_scaled_##S(void *po, const void *pi, int64_t n, double scale, bool first) { \
    fy_t_##S *out = po;                                                                       \
    const fy_t_##S *in = pi;                                                                  \
    const fy_a_##S by = FY_RD_##S((fy_a_##S)scale);                                           \
    for (int64_t i = 0; i < n; i++) {                                                         \
      const fy_a_##S x = FY_RD_##S(FY_LD_##S(in[i]) * by);                                    \
      const fy_a_##S before = first ? 0 : FY_LD_##S(out[i]);                                  \
      out[i] = FY_ST_##S(before + x);                                                         \
    }                                                                                         \
  }
FY_REAL_TYPES(ADD_SCALED, _)
typedef void (*add_fn)(void *out, const void *in, int64_t n, double scale, bool first);
static const add_fn adds[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, add_scaled)};

static fy_code checks(fy_tensor *const *in, bool sparse, fy_error *err) {
  if (in[0]->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index must be less than 0, got 0");
  }
  if (in[1]->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "indices should be a vector.");
  if (in[2]->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "segment_ids should be a vector.");
  if (in[3]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%soutput_dim0 should be a scalar.",
                   sparse ? "dense_" : "");
  }
  if (in[1]->count != in[2]->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "segment_ids and indices should have same size.");
  }
  return FY_OK;
}

static fy_code range_checks(fy_tensor *const *in, fy_error *err) {
  const int64_t rows = fy_tensor_int(in[3], 0), segments = in[0]->dims[0], n = in[1]->count;
  if (rows < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   (long long)rows);
  }
  if (rows == 0) return FY_OK;
  if (n && fy_tensor_int(in[2], n - 1) + 1 > segments) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid number of segments");
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t id = fy_tensor_int(in[2], i);
    if (id >= 0 && id < segments) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Segment id %lld out of range [0, %lld).",
                   (long long)id, (long long)segments);
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t index = fy_tensor_int(in[1], i);
    if (index >= 0 && index < rows) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index %lld out of range [0, %lld).", (long long)index,
                   (long long)rows);
  }
  return FY_OK;
}

static int by_number(const void *pa, const void *pb) {
  const int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
  return a < b ? -1 : a > b;
}

static fy_code grad(fy_kernel_ctx *ctx, bool sparse, fy_error *err) {
  fy_tensor *const *in = ctx->in;
  const grad_kind kind = *(const grad_kind *)ctx->site->op->impl->aux;
  const add_fn add = adds[in[0]->dtype];
  int64_t dims[FY_MAX_RANK];
  void *memory;
  fy_tensor *out, *unique = NULL;
  FY_TRY(checks(in, sparse, err));
  FY_TRY(range_checks(in, err));
  if (!add) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in[0]->dtype));
  }
  const int64_t segments = in[0]->dims[0];
  const int64_t n = fy_tensor_int(in[3], 0) ? in[1]->count : 0;  // no rows wanted: nothing to do
  // How often a segment was used; which row of the result an index means; whether it was written.
  FY_TRY(fy_scratch(ctx, (size_t)(segments + n + 1) * sizeof(int64_t), &memory, err));
  int64_t *used = memory, *sorted = used + segments, rows = fy_tensor_int(in[3], 0);
  if (segments) memset(used, 0, (size_t)segments * sizeof *used);
  for (int64_t i = 0; i < n; i++) used[fy_tensor_int(in[2], i)]++;
  if (sparse) {
    for (int64_t i = 0; i < n; i++) sorted[i] = fy_tensor_int(in[1], i);
    qsort(sorted, (size_t)n, sizeof *sorted, by_number);
    rows = 0;
    for (int64_t i = 0; i < n; i++) {
      if (!i || sorted[i] != sorted[rows - 1]) sorted[rows++] = sorted[i];
    }
    FY_TRY(fy_out(ctx, 1, 1, &rows, &unique, err));
    for (int64_t i = 0; i < rows; i++) fy_index_put(unique, i, sorted[i]);
  }
  dims[0] = rows;
  for (int32_t d = 1; d < in[0]->rank; d++) dims[d] = in[0]->dims[d];
  FY_TRY(fy_out(ctx, 0, in[0]->rank, dims, &out, err));
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  const size_t run = (size_t)fy_product(dims + 1, in[0]->rank - 1);
  const size_t bytes = run * fy_dtype_storage(in[0]->dtype);
  FY_TRY(fy_scratch(ctx, (size_t)rows + 1, &memory, err));
  bool *written = memory;
  memset(written, 0, (size_t)rows);
  for (int64_t i = 0; i < n; i++) {
    const int64_t id = fy_tensor_int(in[2], i), count = used[id];
    int64_t to = fy_tensor_int(in[1], i);
    if (sparse) {
      const int64_t *found = bsearch(&to, sorted, (size_t)rows, sizeof to, by_number);
      if (!found) return fy_fail(err, FY_INTERNAL, "an index is lost");
      to = found - sorted;
    }
    const double scale = kind == GRAD_SUM    ? 1
                         : kind == GRAD_MEAN ? 1.0 / (double)count
                                             : 1.0 / sqrt((double)count);
    add((char *)out->data + (size_t)to * bytes, (const char *)in[0]->data + (size_t)id * bytes,
        (int64_t)run, scale, !written[to]);
    written[to] = true;
  }
  return FY_OK;
}
static fy_code dense_grad(fy_kernel_ctx *ctx, fy_error *err) {
  return grad(ctx, false, err);
}
static fy_code sparse_grad(fy_kernel_ctx *ctx, fy_error *err) {
  return grad(ctx, true, err);
}

static fy_code grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape data = ctx->in[0];
  const bool sparse = ctx->num_outputs > 1;
  fy_pshape merged;
  int64_t rows = -1;
  FY_TRY(fy_shape_rank_at_least(data, 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  const fy_pshape vector = {1, (const int64_t[]){fy_dim_of(ctx->in[1], 0)}};
  FY_TRY(fy_shape_merge(ctx, ctx->in[2], vector, &merged, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  if (!sparse && fy_shape_int_value(ctx, 3, &rows) && rows < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot specify a negative value for output_dim0");
  }
  if (sparse) {
    rows = -1;
    FY_TRY(fy_shape_set(ctx, 1, 1, &rows, err));
  }
  if (data.rank < 0) return FY_OK;
  int64_t *dims = fy_shape_dims(ctx, data.rank);
  if (!dims) return fy_fail_oom(err, (size_t)data.rank);
  for (int32_t d = 1; d < data.rank; d++) dims[d] = data.dims[d];
  dims[0] = rows;
  return fy_shape_set(ctx, 0, data.rank, dims, err);
}

static const grad_kind kinds[] = {GRAD_SUM, GRAD_MEAN, GRAD_SQRT_N};
static const fy_sample samples[] = {
    {"f32[2,1]=5,6; i32[2]=2,0; i32[2]=0,1; i32[]=3", NULL, FY_OK, NULL},
    {"f32[2,1]=5,6; i32[2]=2,3; i32[2]=0,1; i32[]=3", NULL, FY_INVALID_ARGUMENT,
     "Index 3 out of range [0, 3)."},
};
#define GRAD(Name, k)                                                                            \
  FY_OP(SparseSegment##Name##Grad, .shape = grad_shape, .compute = dense_grad, .aux = &kinds[k], \
        .host_inputs = 1 << 3, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples));                     \
  FY_OP(SparseSegment##Name##GradV2, .shape = grad_shape, .compute = sparse_grad,                \
        .aux = &kinds[k], .host_inputs = 1 << 3, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples))
GRAD(Sum, 0);
GRAD(Mean, 1);
GRAD(SqrtN, 2);
