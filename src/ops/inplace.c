// SPDX-License-Identifier: Apache-2.0
// inplace.c: InplaceUpdate, InplaceAdd, InplaceSub, Empty, DeepCopy, Copy, CopyHost, ParallelConcat.
// "In place" is up to the memory planner here: the output is the input's memory only when nobody
// else needs that.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

static fy_code check_update(const fy_tensor *x, const fy_tensor *i, const fy_tensor *v,
                            fy_error *err) {
  char a[128], b[128];
  if (i->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "i must be a vector. %s", fy_tensor_shape_text(i, a));
  }
  if (x->rank != v->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "x and v shape doesn't match (ranks differ): %s vs. %s",
                   fy_tensor_shape_text(x, a), fy_tensor_shape_text(v, b));
  }
  for (int32_t d = 1; d < x->rank; d++) {
    if (x->dims[d] == v->dims[d]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "x and v shape doesn't match at index %d : %s vs. %s",
                   d, fy_tensor_shape_text(x, a), fy_tensor_shape_text(v, b));
  }
  if (x->rank < 1 || i->dims[0] != v->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "i and x shape doesn't match at index 0: %s vs. %s",
                   fy_tensor_shape_text(i, a), fy_tensor_shape_text(v, b));
  }
  return FY_OK;
}

static fy_code update(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *x = ctx->in[0], *i = ctx->in[1], *v = ctx->in[2];
  const fy_binary_loops *loops = ctx->site->op->impl->aux;  // NULL: replace
  const fy_binary_loop loop = loops ? loops->loop[x->dtype] : NULL;
  fy_tensor *out;
  FY_TRY(check_update(x, i, v, err));
  if (loops && (!loop || x->dtype == FY_BOOL)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported data type: %s", fy_dtype_name(x->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, x, &out, err));
  if (out->data != x->data) {
    FY_TRY(fy_copy_run(x->dtype, out->data, 0, x->data, 0, x->count, err));
  }
  const int64_t rows = x->dims[0], each = rows ? x->count / rows : 0;
  const size_t size = fy_dtype_storage(x->dtype);
  for (int64_t k = 0; rows && k < i->count; k++) {
    const int64_t row = ((((const int32_t *)i->data)[k] % rows) + rows) % rows;  // as TensorFlow
    if (loop) {
      char *to = (char *)out->data + (size_t)(row * each) * size;
      int bad = 0;
      loop(to, 1, (const char *)v->data + (size_t)(k * each) * size, 1, to, each, &bad);
    } else {
      FY_TRY(fy_copy_run(x->dtype, out->data, row * each, v->data, k * each, each, err));
    }
  }
  return FY_OK;
}

static fy_code empty(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *shape = ctx->in[0];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  fy_tensor *out;
  char x[128];
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape must be a vector of int32, got shape %s",
                   fy_tensor_shape_text(shape, x));
  }
  FY_TRY(fy_value_shape(shape, &rank, dims, err));
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (!fy_dtype_is_plain(out->dtype) || out->count == 0) return FY_OK;  // born empty
  memset(out->data, 0, fy_tensor_bytes(out));
  return FY_OK;
}

static fy_code copy(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  return fy_copy_run(in->dtype, out->data, 0, in->data, 0, in->count, err);
}

// Inputs [1, ...] one after another. The attribute says the shape.
static fy_code parallel_concat(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *first = ctx->in[0];
  const int n = ctx->site->num_inputs;
  int64_t dims[FY_MAX_RANK];
  fy_tensor *out;
  char a[128];
  if (first->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ParallelConcat needs inputs of rank 1 or more");
  }
  for (int i = 0; i < n; i++) {
    const fy_tensor *t = ctx->in[i];
    if (t->rank == first->rank && t->dims[0] == 1 &&
        fy_shape_equal(t->rank, t->dims, first->rank, first->dims)) {
      continue;
    }
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "ParallelConcat: input %d has shape %s; all must be alike and 1 in their first dim", i,
        fy_tensor_shape_text(t, a));
  }
  memcpy(dims, first->dims, (size_t)first->rank * sizeof dims[0]);
  dims[0] = n;
  const fy_attr *shape = fy_site_attr(ctx->site, "shape");
  if (shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank == first->rank) {
    if (shape->v.shape.dims[0] > n) dims[0] = shape->v.shape.dims[0];
  }
  FY_TRY(fy_out(ctx, 0, first->rank, dims, &out, err));
  if (dims[0] > n && fy_dtype_is_plain(out->dtype)) memset(out->data, 0, fy_tensor_bytes(out));
  for (int i = 0; i < n; i++) {
    FY_TRY(fy_copy_run(first->dtype, out->data, i * first->count, ctx->in[i]->data, 0, first->count,
                       err));
  }
  return FY_OK;
}

static fy_code empty_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_from_first(ctx, err);
}
static fy_code concat_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  if (!a || a->kind != FY_ATTR_SHAPE) return FY_OK;
  fy_pshape all = a->v.shape;
  if (!fy_shape_known(all)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape attr must be fully defined.");
  }
  if (all.rank == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Out of range dim_index 0 for shape with 0 dimensions");
  }
  int64_t *one = fy_shape_dims(ctx, all.rank);
  if (!one) return fy_fail_oom(err, sizeof *one);
  for (int32_t d = 0; d < all.rank; d++) one[d] = d ? all.dims[d] : 1;
  fy_pshape merged;
  for (int i = 0; i < ctx->num_inputs; i++) {
    if (!fy_shape_known(ctx->in[i])) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "All input shapes must be fully defined.");
    }
    if (ctx->in[i].rank > 0 && ctx->in[i].dims[0] != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Size of first dimension must be 1.");
    }
    FY_TRY(fy_shape_merge(ctx, ctx->in[i], (fy_pshape){all.rank, one}, &merged, err));
  }
  return fy_shape_from_attr(ctx, err);
}

static const fy_sample update_samples[] = {
    {"f32[3]=1,2,3; i32[2]=0,-1; f32[2]=7,8", NULL, FY_OK, "7,2,8"},
    {"f32[3]=1,2,3; i32[]=0; f32[2]=7,8", NULL, FY_INVALID_ARGUMENT, "i must be a vector. []"},
};
static const fy_sample add_samples[] = {
    {"f32[3]=1,2,3; i32[2]=0,0; f32[2]=7,8", NULL, FY_OK, "16,2,3"},
};
static const fy_sample sub_samples[] = {
    {"i32[3]=1,2,3; i32[1]=1; i32[1]=7", NULL, FY_OK, "1,-5,3"},
};
static const fy_sample empty_samples[] = {{"i32[1]=2", "dtype=float; init=true", FY_OK, "0,0"}};
static const fy_sample copy_samples[] = {{"f32[2]=1,2", NULL, FY_OK, "1,2"},
                                         {"s[1]='a'", NULL, FY_OK, "'a'"}};
static const fy_sample concat_samples[] = {
    {"f32[1,2]=1,2; f32[1,2]=3,4", "shape=[2,2]", FY_OK, "1,2,3,4"},
};
FY_OP(InplaceUpdate, .shape = fy_shape_unchanged, .compute = update, FY_SAMPLES(update_samples));
FY_OP(InplaceAdd, .shape = fy_shape_unchanged, .compute = update, .aux = &fy_add_loops,
      FY_SAMPLES(add_samples));
FY_OP(InplaceSub, .shape = fy_shape_unchanged, .compute = update, .aux = &fy_sub_loops,
      FY_SAMPLES(sub_samples));
FY_OP(Empty, .shape = empty_shape, .compute = empty, .host_inputs = 1, FY_SAMPLES(empty_samples));
FY_OP(DeepCopy, .shape = fy_shape_unchanged, .compute = copy, FY_SAMPLES(copy_samples));
FY_OP(Copy, .shape = fy_shape_unchanged, .compute = copy, FY_SAMPLES(copy_samples));
FY_OP(CopyHost, .shape = fy_shape_unchanged, .compute = copy, FY_SAMPLES(copy_samples));
FY_OP(ParallelConcat, .shape = concat_shape, .compute = parallel_concat,
      FY_SAMPLES(concat_samples));
