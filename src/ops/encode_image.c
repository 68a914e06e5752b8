// SPDX-License-Identifier: Apache-2.0
// encode_image.c: EncodeJpeg, EncodeJpegVariableQuality and EncodePng.

#include "base/alloc.h"
#include "ops/image_codec.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

static fy_code put(fy_tensor *out, int64_t i, const fy_str *s, fy_error *err) {
  return fy_tensor_set_string(out, i, s->p, s->len) ? FY_OK : fy_fail_oom(err, s->len);
}

// ---------------------------------------------------------------- JPEG
static fy_code check_quality(int64_t quality, fy_error *err) {
  if (quality >= 0 && quality <= 100) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "quality must be in [0,100], got %lld",
                 (long long)quality);
}

static fy_code jpeg_prepare(fy_site *site, fy_error *err) {
  fy_jpeg_settings *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  const fy_view format = fy_site_string(site, "format");
  site->state = s;
  s->channels = format.n == 0 ? 0 : fy_view_is(format, "grayscale") ? 1 : 3;
  const int64_t quality = fy_site_int(site, "quality");
  FY_TRY(check_quality(quality, err));
  s->quality = (int)quality;
  s->progressive = fy_site_bool(site, "progressive");
  s->optimize = fy_site_bool(site, "optimize_size");
  s->subsample = fy_site_bool(site, "chroma_downsampling");
  s->density_unit = fy_view_is(fy_site_string(site, "density_unit"), "in") ? 1 : 2;
  s->x_density = (int)fy_site_int(site, "x_density");
  s->y_density = (int)fy_site_int(site, "y_density");
  s->xmp = fy_site_string(site, "xmp_metadata");
  return FY_OK;
}

static fy_code check_image(const fy_tensor *image, fy_error *err) {
  char x[128];
  if (image->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image must be 3-dimensional%s",
                   fy_tensor_shape_text(image, x));
  }
  if (image->count >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot encode images with >= max int32 elements");
  }
  return FY_OK;
}

static fy_code one_or_three(const fy_tensor *image, fy_error *err) {
  char x[128];
  if (image->dims[2] == 1 || image->dims[2] == 3) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "image must have 1 or 3 channels, got %s",
                 fy_tensor_shape_text(image, x));
}

static fy_code write_jpeg(fy_kernel_ctx *ctx, const fy_jpeg_settings *s, fy_error *err) {
  const fy_tensor *image = ctx->in[0];
  fy_tensor *out;
  fy_str bytes;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_str_init(&bytes);
  fy_code code = fy_jpeg_encode(image->data, image->dims[0], image->dims[1], s, &bytes, err);
  if (!code) code = put(out, 0, &bytes, err);
  fy_str_free(&bytes);
  return code;
}

static fy_code encode_jpeg(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *image = ctx->in[0];
  fy_jpeg_settings s = *(const fy_jpeg_settings *)ctx->site->state;
  char x[128];
  FY_TRY(check_image(image, err));
  if (!s.channels) {
    FY_TRY(one_or_three(image, err));
  } else if (s.channels != image->dims[2]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "format %s expects %d channels, got %s",
                   s.channels == 1 ? "grayscale" : "rgb", s.channels,
                   fy_tensor_shape_text(image, x));
  }
  s.channels = (int)image->dims[2];
  return write_jpeg(ctx, &s, err);
}

static fy_code encode_variable(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *image = ctx->in[0], *quality = ctx->in[1];
  char x[128];
  FY_TRY(check_image(image, err));
  if (quality->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "quality must be scalar: %s",
                   fy_tensor_shape_text(quality, x));
  }
  FY_TRY(check_quality(fy_tensor_int(quality, 0), err));
  FY_TRY(one_or_three(image, err));
  const fy_jpeg_settings s = {.channels = (int)image->dims[2],
                              .quality = (int)fy_tensor_int(quality, 0),
                              .subsample = true,
                              .density_unit = 1,
                              .x_density = 300,
                              .y_density = 300};
  return write_jpeg(ctx, &s, err);
}

// ---------------------------------------------------------------- PNG
static fy_code png_prepare(fy_site *site, fy_error *err) {
  const int64_t compression = fy_site_int(site, "compression");
  if (compression >= -1 && compression <= 9) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "compression should be in [-1,9], got %lld",
                 (long long)compression);
}

static fy_code encode_png(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *image = ctx->in[0];
  char x[128];
  if (image->rank < 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "images must be at least rank 3%s",
                   fy_tensor_shape_text(image, x));
  }
  if (image->count >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image cannot have >= int32 max elements");
  }
  const int32_t batch = image->rank - 3;
  const int64_t h = image->dims[batch], w = image->dims[batch + 1], c = image->dims[batch + 2];
  int64_t row;
  if (__builtin_mul_overflow(w, c, &row) || row >= INT32_MAX / 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image too wide to encode");
  }
  if (c < 1 || c > 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image must have 1, 2, 3, or 4 channels, got %lld",
                   (long long)c);
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, batch, image->dims, &out, err));
  const bool wide = image->dtype == FY_UINT16;
  const int compression = (int)fy_site_int(ctx->site, "compression");
  fy_str bytes, bad;
  fy_code code = FY_OK;
  fy_str_init(&bytes);
  fy_str_init(&bad);
  for (int64_t i = 0; i < out->count && !code; i++) {
    const char *from = (const char *)image->data + (size_t)(i * h * row) * (wide ? 2 : 1);
    bool ok;
    bytes.len = 0;
    code = fy_png_encode(from, h, w, (int)c, wide, compression, &bytes, &ok, err);
    if (!code && ok) code = put(out, i, &bytes, err);
    if (!code && !ok) fy_str_printf(&bad, "%s%lld", bad.len ? ", " : "", (long long)i);
  }
  if (!code && bad.len) {
    code = fy_fail(err, FY_INTERNAL,
                   "PNG encoding failed at the following flattened batch indices: %s",
                   fy_str_text(&bad));
  }
  fy_str_free(&bytes);
  fy_str_free(&bad);
  return code;
}

// ---------------------------------------------------------------- shapes
static fy_code jpeg_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 3, err));
  return fy_shape_set(ctx, 0, 0, NULL, err);
}

static fy_code png_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 3, err));
  if (!fy_rank_known(ctx->in[0])) return FY_OK;
  return fy_shape_set(ctx, 0, ctx->in[0].rank - 3, ctx->in[0].dims, err);
}

static const fy_sample jpeg_samples[] = {
    {"u8[2,2,2]=zeros", NULL, FY_INVALID_ARGUMENT, "image must have 1 or 3 channels, got [2,2,2]"},
    {"u8[2,2,1]=zeros", "format=\"rgb\"", FY_INVALID_ARGUMENT,
     "format rgb expects 3 channels, got [2,2,1]"},
};
static const fy_sample variable_samples[] = {
    {"u8[2,2,1]=zeros; i32[]=101", NULL, FY_INVALID_ARGUMENT,
     "quality must be in [0,100], got 101"},
};
static const fy_sample png_samples[] = {
    {"u8[2,2,5]=zeros", NULL, FY_INVALID_ARGUMENT, "image must have 1, 2, 3, or 4 channels, got 5"},
};
FY_OP(EncodeJpeg, .shape = jpeg_shape, .prepare = jpeg_prepare, .compute = encode_jpeg,
      .release = fy_free, .flags = FY_OP_HOST, FY_SAMPLES(jpeg_samples));
FY_OP(EncodeJpegVariableQuality, .shape = jpeg_shape, .compute = encode_variable,
      .flags = FY_OP_HOST, FY_SAMPLES(variable_samples));
FY_OP(EncodePng, .shape = png_shape, .prepare = png_prepare, .compute = encode_png,
      .flags = FY_OP_HOST, FY_SAMPLES(png_samples));
