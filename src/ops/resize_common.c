// SPDX-License-Identifier: Apache-2.0
// resize_common.c: see resize.h.

#include "base/alloc.h"
#include "ops/resize.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

float fy_resize_scale(int64_t in, int64_t out, bool align_corners) {
  // (A single row has no corners, to ResizeArea; the others end up in it anyway.)
  return align_corners && out > 1 && in > 1 ? (float)(in - 1) / (float)(out - 1)
                                            : (float)in / (float)out;
}

static fy_code read_attrs(fy_kernel_ctx *ctx, fy_resize *r, fy_error *err) {
  r->align_corners = fy_site_bool(ctx->site, "align_corners");
  r->half_pixel = fy_site_bool(ctx->site, "half_pixel_centers");
  const bool either = ctx->site->num_inputs != 4;  // the quantized one takes both
  if (either && r->half_pixel && r->align_corners) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "If half_pixel_centers is True, align_corners must be False.");
  }
  return FY_OK;
}

fy_code fy_resize_check(fy_kernel_ctx *ctx, fy_resize *r, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *size = ctx->in[1];
  char x[128];
  FY_TRY(read_attrs(ctx, r, err));
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                   fy_tensor_shape_text(in, x));
  }
  r->batch = in->dims[0];
  r->in_h = in->dims[1];
  r->in_w = in->dims[2];
  r->channels = in->dims[3];
  if (r->channels <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image must have at least one channel");
  }
  if (r->in_h <= 0 || r->in_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input image must be of non-zero size");
  }
  if (r->in_h >= INT32_MAX || r->in_w >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input sizes must be between 0 and max int32");
  }
  if (size->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t must be 1-dimensional%s",
                   fy_tensor_shape_text(size, x));
  }
  if (size->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t must have two elements%s",
                   fy_tensor_shape_text(size, x));
  }
  r->out_h = fy_tensor_int(size, 0);
  r->out_w = fy_tensor_int(size, 1);
  if (r->out_h <= 0 || r->out_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output dimensions must be positive");
  }
  r->scale_h = fy_resize_scale(r->in_h, r->out_h, r->align_corners);
  r->scale_w = fy_resize_scale(r->in_w, r->out_w, r->align_corners);
  return FY_OK;
}

fy_code fy_resize_check_grad(fy_kernel_ctx *ctx, fy_resize *r, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *image = ctx->in[1];
  char x[128];
  FY_TRY(read_attrs(ctx, r, err));
  if (grad->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_grad must be 4-dimensional%s",
                   fy_tensor_shape_text(grad, x));
  }
  r->batch = grad->dims[0];
  r->out_h = grad->dims[1];
  r->out_w = grad->dims[2];
  r->channels = grad->dims[3];
  if (r->out_h <= 0 || r->out_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "resized dimensions must be positive");
  }
  if (image->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "original_image must be 4-dimensional%s",
                   fy_tensor_shape_text(image, x));
  }
  r->in_h = image->dims[1];
  r->in_w = image->dims[2];
  if (r->in_h <= 0 || r->in_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "original dimensions must be positive");
  }
  if (r->in_h >= INT32_MAX || r->in_w >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "original sizes must be between 0 and max int32");
  }
  r->scale_h = fy_resize_scale(r->in_h, r->out_h, r->align_corners);
  r->scale_w = fy_resize_scale(r->in_w, r->out_w, r->align_corners);
  return FY_OK;
}

#define TO_FLOAT(E, S, _)                                               \
  static void floats_##S(const void *in, float *out, int64_t n) {       \
    const fy_t_##S *from = in;                                          \
    for (int64_t i = 0; i < n; i++) out[i] = (float)FY_LD_##S(from[i]); \
  }
FY_ORDERED_TYPES(TO_FLOAT, _)
typedef void (*floats_fn)(const void *in, float *out, int64_t n);
static const floats_fn floats[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, floats)};

fy_code fy_image_floats(fy_kernel_ctx *ctx, const fy_tensor *t, const float **out, fy_error *err) {
  *out = t->data;
  if (t->dtype == FY_FLOAT) return FY_OK;
  if (!floats[t->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(t->dtype));
  }
  void *copy;
  size_t bytes;
  if (!fy_mul_size((size_t)t->count, sizeof(float), &bytes)) return fy_fail_oom(err, SIZE_MAX);
  FY_TRY(fy_scratch(ctx, bytes, &copy, err));
  floats[t->dtype](t->data, copy, t->count);
  *out = copy;
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
fy_code fy_resize_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0], size = ctx->in[1];
  FY_TRY(fy_shape_rank_is(in, 4, err));
  FY_TRY(fy_shape_rank_is(size, 1, err));
  FY_TRY(fy_dim_is(fy_dim_of(size, 0), 2, err));
  int64_t dims[4] = {fy_dim_of(in, 0), -1, -1, fy_dim_of(in, 3)};
  const fy_tensor *v = fy_shape_tensor(ctx, 1);
  for (int i = 0; v && !v->device && v->count == 2 && i < 2; i++) {
    const int64_t s = fy_tensor_int(v, i);
    dims[1 + i] = s < 0 ? -1 : s;
  }
  return fy_shape_set(ctx, 0, 4, dims, err);
}

fy_code fy_resize_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[1].rank, ctx->in[1].dims, err);
}
