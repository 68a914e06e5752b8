// SPDX-License-Identifier: Apache-2.0
// summary_image.c: ImageSummary: pictures as PNG files in a Summary message. Bytes are taken as they
// are; real numbers are scaled so that the picture's range fits: [0, max] to [0, 255], or, with
// negative values, [-m, m] to [1, 255]. Pixels that are not finite get the bad colour.

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "ops/image_codec.h"
#include "ops/shape_fns.h"
#include "ops/summary_wire.h"
#include "ops/text.h"
#include "ops/typed.h"
#include "ops/values.h"

static fy_code check_color(fy_site *site, fy_error *err) {
  const fy_attr *a = fy_site_attr(site, "bad_color");
  const fy_tensor *t = a ? a->v.tensor : NULL;
  if (!t || t->dtype != FY_UINT8) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "bad_color must be uint8, got %s",
                   t ? fy_dtype_name(t->dtype) : "nothing");
  }
  char shape[128];
  if (t->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "bad_color must be a vector, got shape %s",
                   fy_tensor_shape_text(t, shape));
  }
  return FY_OK;
}

static bool is_finite_pixel(const fy_tensor *t, int64_t at, int64_t depth) {
  for (int64_t d = 0; d < depth; d++) {
    if (!isfinite(fy_tensor_double(t, at + d))) return false;
  }
  return true;
}

// Picture |i| of real numbers as bytes.
static void scale(const fy_tensor *t, int64_t i, int64_t pixels, int64_t depth, const uint8_t *bad,
                  uint8_t *out) {
  const int64_t from = i * pixels * depth;
  float min = INFINITY, max = -INFINITY;
  for (int64_t p = 0; p < pixels; p++) {
    if (!is_finite_pixel(t, from + p * depth, depth)) continue;
    for (int64_t d = 0; d < depth; d++) {
      const float v = (float)fy_tensor_double(t, from + p * depth + d);
      min = v < min ? v : min;
      max = v > max ? v : max;
    }
  }
  const float tiny = 1e-6f, most = fmaxf(fabsf(min), fabsf(max));
  float factor, offset = 0.0f;
  if (min < 0) {
    factor = most < tiny ? 0.0f : 127.0f / most;
    offset = 128.0f;
  } else {
    factor = max < tiny ? 0.0f : 255.0f / max;
  }
  for (int64_t p = 0; p < pixels; p++) {
    const bool fine = is_finite_pixel(t, from + p * depth, depth);
    for (int64_t d = 0; d < depth; d++) {
      const double x = fy_tensor_double(t, from + p * depth + d);
      double v = 0;
      if (fine) {
        v = t->dtype == FY_DOUBLE ? x * (double)factor + (double)offset
            : t->dtype == FY_HALF
                ? (double)FY_RD_f16(FY_RD_f16((float)x * FY_RD_f16(factor)) + offset)
                : (double)((float)x * factor + offset);
      }
      out[p * depth + d] = fine ? (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v) : bad[d];
    }
  }
}

fy_code fy_put_images(fy_kernel_ctx *ctx, fy_str *s, const fy_tensor *tag, const fy_tensor *t,
                      const fy_tensor *color, int64_t most, fy_error *err) {
  char a[128], name[48];
  void *pixels = NULL;
  if (tag->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Tags must be a scalar");
  if (t->rank != 4 || (t->dims[3] != 1 && t->dims[3] != 3 && t->dims[3] != 4)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor must be 4-D with last dim 1, 3, or 4, not %s",
                   fy_tensor_shape_text(t, a));
  }
  const int64_t h = t->dims[1], w = t->dims[2], depth = t->dims[3];
  if (!h || !w || !depth) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input tensor must have non-zero dims. Found: [%lld, %lld, %lld, %lld].",
                   (long long)t->dims[0], (long long)h, (long long)w, (long long)depth);
  }
  if (h > INT32_MAX || w > INT32_MAX || (h && w > ((int64_t)1 << 31) / h)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor too large for summary %s",
                   fy_tensor_shape_text(t, a));
  }
  if (color->count < depth) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "expected depth <= bad_color.size, got depth = %lld, bad_color.size = %lld",
                   (long long)depth, (long long)color->count);
  }
  const int64_t n = t->dims[0] < most ? t->dims[0] : most;
  const fy_view base = fy_tensor_string(tag, 0);
  if (t->dtype != FY_UINT8) FY_TRY(fy_scratch(ctx, (size_t)(h * w * depth) + 1, &pixels, err));
  fy_str value, part, png;
  fy_code code = FY_OK;
  fy_str_init(&value);
  fy_str_init(&part);
  fy_str_init(&png);
  for (int64_t i = 0; i < n && !code; i++) {
    part.len = value.len = png.len = 0;
    const void *bytes = pixels;
    if (t->dtype == FY_UINT8)
      bytes = (const uint8_t *)t->data + i * h * w * depth;
    else
      scale(t, i, h * w, depth, color->data, pixels);
    if (base.n) fy_str_addn(&part, base.p, base.n);
    snprintf(name, sizeof name, most > 1 ? "/image/%lld" : "/image", (long long)i);
    fy_str_add(&part, name);
    fy_put_str(&value, 1, &part);
    part.len = 0;
    bool ok = true;
    code = fy_png_encode(bytes, h, w, (int)depth, false, -1, &png, &ok, err);
    if (!code && !ok) code = fy_fail(err, FY_UNKNOWN, "PNG encoding failed");
    fy_put_int(&part, 1, h);
    fy_put_int(&part, 2, w);
    fy_put_int(&part, 3, depth);
    fy_put_str(&part, 4, &png);
    fy_put_str(&value, 4, &part);
    fy_put_str(s, 1, &value);
  }
  fy_str_free(&value);
  fy_str_free(&part);
  fy_str_free(&png);
  return code;
}

static fy_code image(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *color = fy_site_attr(ctx->site, "bad_color")->v.tensor;
  fy_tensor *out;
  fy_str s;
  fy_str_init(&s);
  fy_code code = fy_put_images(ctx, &s, ctx->in[0], ctx->in[1], color,
                               fy_site_int(ctx->site, "max_images"), err);
  if (!code) code = fy_out(ctx, 0, 0, NULL, &out, err);
  if (!code) code = fy_text_put_str(out, 0, &s, err);
  fy_str_free(&s);
  return code;
}

static const fy_sample samples[] = {
    {"s[]='i'; u8[0,2,2,3]=", NULL, FY_OK, "''"},
    {"s[]='i'; u8[1,2,2,2]=zeros", NULL, FY_INVALID_ARGUMENT,
     "Tensor must be 4-D with last dim 1, 3, or 4, not [1,2,2,2]"},
};

FY_OP(ImageSummary, .shape = fy_shape_scalar, .prepare = check_color, .compute = image,
      .flags = FY_OP_HOST, FY_SAMPLES(samples));
