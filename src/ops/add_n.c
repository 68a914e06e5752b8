// SPDX-License-Identifier: Apache-2.0
// add_n.c: AddN (a sum of equal shapes) and BiasAdd (a vector added along the channels).

#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/variant_sum.h"
#include "ops/values.h"

typedef struct sum_job {
  fy_binary_loop loop;
  fy_tensor **in;
  int num_inputs;
  char *out;
  size_t size;
  bool floats;
} sum_job;

// Three more at once: fewer passes over the sum, and more streams of memory under way.
FY_CLONES static void add_three(const float *sum, const float *a, const float *b, const float *c,
                                float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = sum[i] + a[i] + b[i] + c[i];
}

// In pieces that stay in the cache, so that the partial sum is not written to memory N times.
static void sum_range(void *arg, int64_t begin, int64_t end) {
  const sum_job *j = arg;
  int bad = 0;
  for (int64_t at = begin; at < end; at += 2048) {
    const int64_t n = end - at < 2048 ? end - at : 2048;
    const size_t skip = (size_t)at * j->size;
    const char *sum = (const char *)j->in[0]->data + skip;
    int i = 1;
    for (; j->floats && i + 3 <= j->num_inputs; i += 3) {
#define PART(k) ((const float *)j->in[i + (k)]->data + at)
      float *out = (float *)(void *)j->out + at;
      add_three(i > 1 ? out : (const float *)j->in[0]->data + at, PART(0), PART(1), PART(2), out,
                n);
      sum = j->out + skip;
    }
    for (; i < j->num_inputs; i++) {
      j->loop(sum, 1, (const char *)j->in[i]->data + skip, 1, j->out + skip, n, &bad);
      sum = j->out + skip;
    }
  }
}

static fy_code add_n(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *first = ctx->in[0];
  const int n = ctx->site->num_inputs;
  for (int i = 1; i < n; i++) {
    if (fy_shape_equal(first->rank, first->dims, ctx->in[i]->rank, ctx->in[i]->dims)) continue;
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inputs to operation %s of type %s must have the same size and shape.  Input 0: "
                   "%s != input %d: %s",
                   ctx->site->node_name, ctx->site->op->impl->name, fy_tensor_shape_text(first, x),
                   i, fy_tensor_shape_text(ctx->in[i], y));
  }
  if (n == 1) return fy_out_alias(ctx, 0, 0, first->rank, first->dims, err);
  if (first->dtype == FY_VARIANT) return fy_variant_add_n(ctx, err);
  const fy_binary_loop loop = fy_add_loops.loop[first->dtype];
  if (!loop) {
    return fy_fail(err, FY_UNIMPLEMENTED, "AddN has no loop for %s", fy_dtype_name(first->dtype));
  }
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, first, &out, err));
  sum_job job = {
      loop, ctx->in, n, out->data, fy_dtype_storage(first->dtype), first->dtype == FY_FLOAT};
  if (out->count) fy_parallel(ctx, out->count, 0.3 * n, sum_range, &job);
  return FY_OK;
}

// ---------------------------------------------------------------- BiasAdd
typedef struct bias_job {
  fy_binary_loop loop;
  const fy_bcast *bcast;
  const char *value, *bias;
  char *out;
  size_t size;
} bias_job;

static void bias_row(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  const bias_job *j = arg;
  int bad = 0;
  j->loop(j->value + (size_t)at[0] * j->size, j->bcast->inner_stride[0],
          j->bias + (size_t)at[1] * j->size, j->bcast->inner_stride[1],
          j->out + (size_t)out_at * j->size, n, &bad);
}
static void bias_rows(void *arg, int64_t begin, int64_t end) {
  const bias_job *j = arg;
  fy_bcast_rows(j->bcast, begin, end, bias_row, arg);
}

static fy_code bias_add(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *value = ctx->in[0], *bias = ctx->in[1];
  char x[128], y[128];
  if (value->rank < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s",
                   fy_tensor_shape_text(value, x));
  }
  if (bias->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Biases must be 1D: %s",
                   fy_tensor_shape_text(bias, x));
  }
  const bool nchw = fy_view_is(fy_site_string(ctx->site, "data_format"), "NCHW");
  const int32_t channel = nchw ? 1 : value->rank - 1;
  if (bias->count != value->dims[channel]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Must provide as many biases as the last dimension of the input tensor: %s vs. %s",
        fy_tensor_shape_text(bias, x), fy_tensor_shape_text(value, y));
  }
  const fy_binary_loop loop = fy_add_loops.loop[value->dtype];
  if (!loop || bias->dtype != value->dtype) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(value->dtype));
  }
  if (!nchw) return fy_binary_run(ctx, loop, 0.4, "", err);
  int64_t bias_dims[FY_MAX_RANK];
  for (int32_t d = 0; d < value->rank; d++) bias_dims[d] = d == channel ? bias->count : 1;
  fy_bcast bcast;
  const int32_t ranks[] = {value->rank, value->rank};
  const int64_t *const dims[] = {value->dims, bias_dims};
  FY_TRY(fy_bcast_init_dims(&bcast, 2, ranks, dims, err));
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, value, &out, err));
  bias_job job = {loop, &bcast, value->data, bias->data, out->data, fy_dtype_storage(value->dtype)};
  if (out->count) fy_parallel(ctx, out->count, 0.4, bias_rows, &job);
  return FY_OK;
}

static fy_code bias_add_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *format = fy_attrs_get(ctx->attrs, "data_format");
  const bool nchw = format && format->kind == FY_ATTR_STRING && fy_view_is(format->v.s, "NCHW");
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], nchw ? 3 : 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  const fy_pshape in = ctx->in[0];
  if (in.rank < 0) return FY_OK;
  FY_TRY(fy_shape_unchanged(ctx, err));
  int64_t *dims = (int64_t *)(uintptr_t)ctx->out[0].dims;
  const int32_t channel = nchw ? 1 : in.rank - 1;
  return fy_dim_merge(in.dims[channel], fy_dim_of(ctx->in[1], 0), &dims[channel], err);
}

static const fy_sample add_n_samples[] = {
    {"f32[2]=1,2; f32[2]=3,4; f32[2]=5,6", "N=3", FY_OK, "9,12"},
    {"f32[2]=1,2; f32[1]=3", "N=2", FY_INVALID_ARGUMENT, "must have the same size and shape."},
};
static const fy_sample bias_samples[] = {
    {"f32[2,2]=1,2,3,4; f32[2]=10,20", NULL, FY_OK, "11,22,13,24"},
    {"f32[1,2,2]=1,2,3,4; f32[2]=10,20", "data_format=\"NCHW\"", FY_OK, "11,12,23,24"},
    {"f32[1,2]=1,2; f32[3]=1,2,3", NULL, FY_INVALID_ARGUMENT,
     "Must provide as many biases as the last dimension of the input tensor: [3] vs. [1,2]"},
};
static const fy_sample bias_v1_samples[] = {
    {"f32[2,2]=1,2,3,4; f32[2]=10,20", NULL, FY_OK, "11,22,13,24"},
    {"f32[1,2]=1,2; f32[3]=1,2,3", NULL, FY_INVALID_ARGUMENT,
     "Must provide as many biases as the last dimension of the input tensor: [3] vs. [1,2]"},
};

static fy_code accumulate_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  FY_TRY(fy_shape_merge_all(ctx, err));
  if (!a || a->kind != FY_ATTR_SHAPE || a->v.shape.rank < 0) return FY_OK;
  fy_pshape merged;
  FY_TRY(fy_shape_merge(ctx, ctx->out[0], a->v.shape, &merged, err));
  return fy_shape_set(ctx, 0, merged.rank, merged.dims, err);
}

FY_OP(AccumulateNV2, .shape = accumulate_shape, .compute = add_n);
FY_OP(AddN, .shape = fy_shape_merge_all, .compute = add_n, FY_SAMPLES(add_n_samples));
FY_OP(BiasAddV1, .shape = bias_add_shape, .compute = bias_add, .flags = FY_OP_INPLACE,
      FY_SAMPLES(bias_v1_samples));
FY_OP(BiasAdd, .shape = bias_add_shape, .compute = bias_add, .flags = FY_OP_INPLACE,
      FY_SAMPLES(bias_samples));
