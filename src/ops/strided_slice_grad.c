// SPDX-License-Identifier: Apache-2.0
// strided_slice_grad.c: writing where StridedSlice (slice.c) would have read: StridedSliceGrad into
// zeros, TensorStridedSliceUpdate into a copy, StridedSliceAssign and ResourceStridedSliceAssign into
// a variable.

#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/values.h"
#include "ops/variable.h"

#define MAX_ENTRIES 31

typedef struct target {  // where the gradient goes
  int32_t rank;
  int64_t size[FY_MAX_RANK], start[FY_MAX_RANK], step[FY_MAX_RANK];
  int32_t out_rank;  // the gradient's own
  int64_t out_dims[2 * FY_MAX_RANK];
} target;

static bool bit(int64_t mask, int64_t i) {
  return mask >> i & 1;
}

// One dim of |n| elements under begin, end, step (all known).
static fy_code resolve_dim(int64_t n, int64_t begin, int64_t end, int64_t step, bool from_start,
                           bool to_end, int32_t d, target *t) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  if (begin < 0) begin = begin < -n ? -1 : begin + n;
  if (end < 0) end = end < -n ? -1 : end + n;
  begin = begin < low ? low : begin > high ? high : begin;
  end = end < low ? low : end > high ? high : end;
  if (from_start) begin = step > 0 ? low : high;
  if (to_end) end = step > 0 ? high : low;
  const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  const int64_t span = step > 0 ? end - begin : begin - end;
  t->size[d] = span <= 0 ? 0 : (int64_t)(((uint64_t)span - 1) / by + 1);
  t->start[d] = span <= 0 ? 0 : begin;
  t->step[d] = t->size[d] <= 1 ? 1 : step;
  return FY_OK;
}

static fy_code resolve(fy_kernel_ctx *ctx, int32_t rank, const int64_t *dims, target *t,
                       fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_tensor *begin = ctx->in[1], *end = ctx->in[2], *strides = ctx->in[3];
  const int64_t ellipsis_mask = fy_site_int(site, "ellipsis_mask");
  const int64_t new_axis = fy_site_int(site, "new_axis_mask");
  const int64_t shrink = fy_site_int(site, "shrink_axis_mask");
  const int32_t n = (int32_t)begin->count;
  if ((uint64_t)ellipsis_mask & ((uint64_t)ellipsis_mask - 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Multiple ellipses in slice spec not allowed");
  }
  t->rank = rank;
  t->out_rank = 0;
  int32_t d = 0;
  bool ellipsis = false;
  for (int32_t i = 0; i <= n; i++) {
    if (i == n ? !ellipsis : bit(ellipsis_mask, i)) {  // written, or implied at the end
      ellipsis = true;
      int32_t after = 0;
      for (int32_t k = i + 1; k < n; k++) after += !bit(new_axis, k);
      for (; d < rank - after; d++) {
        t->size[d] = t->out_dims[t->out_rank++] = dims[d];
        t->start[d] = 0;
        t->step[d] = 1;
      }
      continue;
    }
    if (i == n) break;
    if (bit(new_axis, i)) {
      t->out_dims[t->out_rank++] = 1;
      continue;
    }
    if (d >= rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Index out of range using input dim %d; input has only %d dims", d, rank);
    }
    const int64_t b = fy_tensor_int(begin, i), step = fy_tensor_int(strides, i);
    if (step == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "strides[%d] must be non-zero", i);
    if (bit(shrink, i)) {
      const int64_t at = b < 0 ? b + dims[d] : b;
      if (step <= 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "only stride 1 allowed on non-range indexing.");
      }
      if (at < 0 || at >= dims[d]) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "slice index %lld of dimension %d out of bounds.",
                       (long long)b, d);
      }
      t->size[d] = t->step[d] = 1;
      t->start[d] = at;
    } else {
      FY_TRY(resolve_dim(dims[d], b, fy_tensor_int(end, i), step,
                         bit(fy_site_int(site, "begin_mask"), i),
                         bit(fy_site_int(site, "end_mask"), i), d, t));
      t->out_dims[t->out_rank++] = t->size[d];
    }
    d++;
  }
  if (t->out_rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  return FY_OK;
}

static fy_code scatter(const target *t, const int64_t *dims, const fy_tensor *dy, fy_tensor *out,
                       fy_error *err) {
  int64_t strides[FY_MAX_RANK], index[FY_MAX_RANK] = {0}, base = 0;
  fy_dense_strides(t->rank, dims, strides);
  for (int32_t d = 0; d < t->rank; d++) base += t->start[d] * strides[d];
  const int32_t last = t->rank - 1;
  const int64_t run = t->rank ? t->size[last] : 1;
  const bool dense = t->rank == 0 || t->step[last] == 1;
  for (int64_t at = 0; at < dy->count; at += run) {
    int64_t to = base;
    for (int32_t d = 0; d < last; d++) to += index[d] * t->step[d] * strides[d];
    if (dense) {
      FY_TRY(fy_copy_run(out->dtype, out->data, to, dy->data, at, run, err));
    } else if (fy_dtype_is_plain(out->dtype) && fy_dtype_storage(out->dtype) == 4) {
      const uint32_t *from = (const uint32_t *)dy->data + at;
      uint32_t *o = (uint32_t *)out->data + to;
      for (int64_t i = 0; i < run; i++) o[i * t->step[last]] = from[i];
    } else {
      for (int64_t i = 0; i < run; i++) {
        FY_TRY(
            fy_copy_run(out->dtype, out->data, to + i * t->step[last], dy->data, at + i, 1, err));
      }
    }
    for (int32_t d = last - 1; d >= 0 && ++index[d] == t->size[d]; d--) index[d] = 0;
  }
  return FY_OK;
}

static fy_code check_entries(const fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *begin = ctx->in[1], *end = ctx->in[2], *strides = ctx->in[3];
  char x[128], y[128], z[128];
  if (begin->rank != 1 || end->rank != 1 || strides->rank != 1 || begin->count != end->count ||
      begin->count != strides->count || begin->count > MAX_ENTRIES) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, "
        "%s, and %s instead.",
        fy_tensor_shape_text(begin, x), fy_tensor_shape_text(end, y),
        fy_tensor_shape_text(strides, z));
  }
  return FY_OK;
}

static fy_code slice_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *shape = ctx->in[0], *dy = ctx->in[4];
  char x[128], y[128];
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape must be 1-D, got shape.shape = %s",
                   fy_tensor_shape_text(shape, x));
  }
  FY_TRY(fy_value_shape(shape, &rank, dims, err));
  FY_TRY(check_entries(ctx, err));
  target t;
  FY_TRY(resolve(ctx, rank, dims, &t, err));
  if (!fy_shape_equal(t.out_rank, t.out_dims, dy->rank, dy->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape of dy was %s instead of %s",
                   fy_tensor_shape_text(dy, x), fy_shape_text(t.out_rank, t.out_dims, y));
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  if (fy_dtype_is_plain(out->dtype)) memset(out->data, 0, fy_tensor_bytes(out));
  if (dy->count == 0) return FY_OK;
  return scatter(&t, dims, dy, out, err);
}

static fy_code slice_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  return fy_shape_from_input(ctx, 0, &ctx->out[0], err);
}

// ---------------------------------------------------------------- updates
// |value| repeated to fill |dims|; one reference.
static fy_code fill_out(const fy_tensor *value, int32_t rank, const int64_t *dims, fy_tensor **out,
                        fy_error *err) {
  char x[128], y[128];
  const int32_t shift = rank - value->rank;
  bool fits = shift >= 0;
  for (int32_t d = 0; fits && d < value->rank; d++)
    fits = value->dims[d] == 1 || value->dims[d] == dims[d + shift];
  if (!fits) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot broadcast input shape %s into final shape %s",
                   fy_tensor_shape_text(value, x), fy_shape_text(rank, dims, y));
  }
  FY_TRY(fy_tensor_new(value->dtype, rank, dims, out, err));
  int64_t strides[FY_MAX_RANK];
  fy_dense_strides(value->rank, value->dims, strides);
  fy_code code = FY_OK;
  for (int64_t i = 0; !code && i < (*out)->count; i++) {
    int64_t from = 0, rest = i;
    for (int32_t d = rank - 1; d >= 0; d--) {
      const int64_t at = rest % dims[d];
      rest /= dims[d];
      if (d >= shift && value->dims[d - shift] > 1) from += at * strides[d - shift];
    }
    code = fy_copy_run(value->dtype, (*out)->data, i, value->data, from, 1, err);
  }
  if (code) fy_tensor_release(*out);
  return code;
}

static fy_code write_slice(fy_kernel_ctx *ctx, fy_tensor *to, fy_error *err) {
  const fy_tensor *value = ctx->in[4];
  target t;
  FY_TRY(check_entries(ctx, err));
  FY_TRY(resolve(ctx, to->rank, to->dims, &t, err));
  if (fy_product(t.out_dims, t.out_rank) == 0) return FY_OK;  // whatever the value is
  if (fy_shape_equal(t.out_rank, t.out_dims, value->rank, value->dims))
    return value->count ? scatter(&t, to->dims, value, to, err) : FY_OK;
  fy_tensor *filled;
  FY_TRY(fill_out(value, t.out_rank, t.out_dims, &filled, err));
  fy_code code = filled->count ? scatter(&t, to->dims, filled, to, err) : FY_OK;
  fy_tensor_release(filled);
  return code;
}

static fy_code update_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  if (ctx->svc->forward && ctx->svc->forward(ctx, 0, 0, in->rank, in->dims)) {
    out = ctx->out[0];
  } else {
    FY_TRY(fy_out_like(ctx, 0, in, &out, err));
    FY_TRY(fy_copy_run(in->dtype, out->data, 0, in->data, 0, in->count, err));
  }
  return write_slice(ctx, out, err);
}

static fy_code assign_slice(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  fy_tensor *garbage = NULL, storage;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  fy_lock(&v->lock);
  fy_code code = FY_OK;
  if (!v->value || v->value->dtype != ctx->in[4]->dtype) {
    code = !v->value ? fy_fail(err, FY_NOT_FOUND, "Resource %s/%s/%s does not exist.", v->container,
                               v->name, v->object.type->name)
                     : fy_fail(err, FY_INVALID_ARGUMENT,
                               "l-value dtype %s does not match r-value dtype %s",
                               fy_dtype_name(v->value->dtype), fy_dtype_name(ctx->in[4]->dtype));
  }
  if (!code) code = fy_variable_own(ctx, v, &garbage, err);
  if (!code) code = write_slice(ctx, fy_variable_view(ctx, v->value, &storage), err);
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  return code ? code : fy_out_ref(ctx, err);
}

static const fy_sample update_samples[] = {
    {"f32[5]=1,2,3,4,5; i32[1]=4; i32[1]=0; i32[1]=-2; f32[2]=7,8", NULL, FY_OK, "1,2,8,4,7"},
    {"f32[2,2]=1,2,3,4; i32[1]=0; i32[1]=1; i32[1]=1; f32[]=9", NULL, FY_OK, "9,9,3,4"},
    {"f32[2]=1,2; i32[1]=0; i32[1]=1; i32[1]=1; f32[3]=9,8,7", NULL, FY_INVALID_ARGUMENT,
     "Cannot broadcast input shape [3] into final shape [1]"},
};
static const fy_sample samples[] = {
    {"i32[1]=5; i32[1]=4; i32[1]=0; i32[1]=-2; f32[2]=1,2", NULL, FY_OK, "0,0,2,0,1"},
    {"i32[2]=2,3; i32[2]=0,-1; i32[2]=0,0; i32[2]=1,1; f32[2]=1,2",
     "ellipsis_mask=1; shrink_axis_mask=2", FY_OK, "0,0,1,0,0,2"},
    {"i32[1]=3; i32[1]=0; i32[1]=3; i32[1]=1; f32[2]=1,2", NULL, FY_INVALID_ARGUMENT,
     "shape of dy was [2] instead of [3]"},
};
FY_OP(StridedSliceGrad, .shape = slice_grad_shape, .compute = slice_grad, .host_inputs = 15,
      FY_SAMPLES(samples));
FY_OP(TensorStridedSliceUpdate, .shape = fy_shape_unchanged, .compute = update_tensor,
      .host_inputs = 14, FY_SAMPLES(update_samples));
FY_OP(StridedSliceAssign, .shape = fy_shape_unchanged, .compute = assign_slice,
      .flags = FY_OP_SETS_OUTPUT, .host_inputs = 15, .host_outputs = 1);
FY_OP(ResourceStridedSliceAssign, .shape = fy_shape_none, .compute = assign_slice,
      .host_inputs = 15);
