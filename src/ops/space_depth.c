// SPDX-License-Identifier: Apache-2.0
// space_depth.c: SpaceToDepth and DepthToSpace: blocks of pixels become channels, and back. Both
// are one strided copy of a six-dimensional view.

#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/values.h"

typedef struct layout {
  int32_t h, w, c;  // which dims
} layout;

static layout layout_of(fy_view format) {
  return format.n > 1 && format.p[1] == 'C' ? (layout){2, 3, 1} : (layout){1, 2, 3};
}

static fy_code run(fy_kernel_ctx *ctx, bool to_depth, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_view format = fy_site_string(ctx->site, "data_format");
  const int64_t b = fy_site_int(ctx->site, "block_size");
  if (fy_view_is(format, "NCHW_VECT_C")) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for the data format NCHW_VECT_C",
                   ctx->site->op->impl->name);
  }
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   to_depth ? "Input rank should be 4 instead of %d"
                            : "Input rank should be: 4 instead of: %d",
                   in->rank);
  }
  const layout l = layout_of(format);
  const int64_t n = in->dims[0], h = in->dims[l.h], w = in->dims[l.w], c = in->dims[l.c];
  if (b > INT32_MAX) return fy_fail(err, FY_INVALID_ARGUMENT, "Block size is too large");
  if (to_depth && (h % b || w % b)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Image width %lld and height %lld should be divisible by block_size: %lld",
                   (long long)w, (long long)h, (long long)b);
  }
  if (!to_depth && c % (b * b)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input depth dimension %lld should be divisible by: %lld", (long long)c,
                   (long long)(b * b));
  }
  // Sizes of the side with the deep channels: pixels [small_h, small_w], channels [b, b, thin].
  const int64_t small_h = to_depth ? h / b : h, small_w = to_depth ? w / b : w;
  const int64_t thin = to_depth ? c : c / (b * b);
  int64_t dims[4], strides[4];
  dims[0] = n;
  if (__builtin_mul_overflow(small_h, to_depth ? 1 : b, &dims[l.h]) ||
      __builtin_mul_overflow(small_w, to_depth ? 1 : b, &dims[l.w]) ||
      __builtin_mul_overflow(thin, to_depth ? b * b : 1, &dims[l.c])) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "the output is too large");
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  fy_dense_strides(4, in->dims, strides);
  const int64_t sh = strides[l.h], sw = strides[l.w], sc = strides[l.c];
  const bool nhwc = l.c == 3;
  if (to_depth) {
    const int64_t last_dims[] = {n, small_h, small_w, b, b, thin};
    const int64_t last[] = {strides[0], sh * b, sw * b, sh, sw, sc};
    const int64_t first_dims[] = {n, b, b, thin, small_h, small_w};
    const int64_t first[] = {strides[0], sh, sw, sc, sh * b, sw * b};
    return fy_strided_copy(ctx, out, in, 6, nhwc ? last_dims : first_dims, nhwc ? last : first, 0,
                           err);
  }
  const int64_t last_dims[] = {n, small_h, b, small_w, b, thin};
  const int64_t last[] = {strides[0], sh, b * thin * sc, sw, thin * sc, sc};
  const int64_t first_dims[] = {n, thin, small_h, b, small_w, b};
  const int64_t first[] = {strides[0], sc, sh, b * thin * sc, sw, thin * sc};
  return fy_strided_copy(ctx, out, in, 6, nhwc ? last_dims : first_dims, nhwc ? last : first, 0,
                         err);
}
static fy_code space_to_depth(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, true, err);
}
static fy_code depth_to_space(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, false, err);
}

static fy_code infer(fy_shape_ctx *ctx, bool to_depth, fy_error *err) {
  const fy_attr *format = fy_attrs_get(ctx->attrs, "data_format");
  const fy_view name =
      format && format->kind == FY_ATTR_STRING ? format->v.s : (fy_view){"NHWC", 4};
  const int64_t b = fy_shape_attr_int(ctx, "block_size", 2);
  const fy_pshape in = ctx->in[0];
  const bool packed = fy_view_is(name, "NCHW_VECT_C");  // [N, C / 4, H, W, 4]
  const int32_t rank = packed ? 5 : 4;
  FY_TRY(fy_shape_rank_is(in, rank, err));
  const layout l = packed ? layout_of((fy_view){"NCHW", 4}) : layout_of(name);
  int64_t dims[5] = {-1, -1, -1, -1, packed ? 4 : -1};
  if (packed && !to_depth) FY_TRY(fy_dim_is(fy_dim_of(in, 4), 4, err));
  if (in.rank < 0 || b < 1 || b > INT32_MAX) return fy_shape_set(ctx, 0, rank, dims, err);
  dims[0] = in.dims[0];
  const int32_t which[] = {l.h, l.w, l.c};
  for (int i = 0; i < 3; i++) {
    const int64_t size = in.dims[which[i]], by = i < 2 ? b : b * b;
    if (size < 0) continue;
    if ((i < 2) == to_depth) {
      if (size % by) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Dimension size must be evenly divisible by %lld but is %lld", (long long)by,
                       (long long)size);
      }
      dims[which[i]] = size / by;
    } else if (__builtin_mul_overflow(size, by, &dims[which[i]])) {
      dims[which[i]] = -1;
    }
  }
  return fy_shape_set(ctx, 0, rank, dims, err);
}
static fy_code to_depth_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, true, err);
}
static fy_code to_space_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, false, err);
}

static const fy_sample depth_samples[] = {
    {"f32[1,2,4,1]=iota", "block_size=2", FY_OK, "0,1,4,5,2,3,6,7"},
    {"s[1,2,2,1]='a','b','c','d'", "block_size=2", FY_OK, NULL},
    {"i32[1,1,2,4]=iota", "block_size=2; data_format=\"NCHW\"", FY_OK, "0,2,1,3,4,6,5,7"},
    {"f32[1,3,4,1]=iota", "block_size=2", FY_INVALID_ARGUMENT,
     "Image width 4 and height 3 should be divisible by block_size: 2"},
};
static const fy_sample space_samples[] = {
    {"f32[1,1,2,4]=0,1,4,5,2,3,6,7", "block_size=2", FY_OK, "0,1,2,3,4,5,6,7"},
    {"i32[1,4,1,2]=0,2,1,3,4,6,5,7", "block_size=2; data_format=\"NCHW\"", FY_OK,
     "0,1,2,3,4,5,6,7"},
    {"f32[1,1,2,3]=zeros", "block_size=2", FY_INVALID_ARGUMENT,
     "Input depth dimension 3 should be divisible by: 4"},
};
FY_OP(SpaceToDepth, .shape = to_depth_shape, .compute = space_to_depth, FY_SAMPLES(depth_samples));
FY_OP(DepthToSpace, .shape = to_space_shape, .compute = depth_to_space, FY_SAMPLES(space_samples));
