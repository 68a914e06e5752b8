// SPDX-License-Identifier: Apache-2.0
// decode_image.c: DecodeImage, DecodeJpeg, DecodeAndCropJpeg, DecodePng, DecodeGif, DecodeBmp,
// DecodeWebP, DecodeJxl and ExtractJpegShape.
//
// The format is found from the first bytes, whatever the op is called: DecodePng reads JPEG files
// too. Which op it is decides the rank of the result and a few refusals. BMP is read here; WebP and
// JPEG XL files are recognised and refused.

#include "base/alloc.h"
#include "ops/image_codec.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef enum which { IMAGE, JPEG, CROP, PNG, GIF, BMP, WEBP, JXL } which;

typedef struct decode_state {
  which op;
  fy_dtype dtype;
  int64_t channels;
  bool expand;
  fy_jpeg_flags jpeg;
} decode_state;

static const struct {
  const char *name;
  which op;
} names[] = {{"DecodeImage", IMAGE}, {"DecodeJpeg", JPEG}, {"DecodeAndCropJpeg", CROP},
             {"DecodePng", PNG},     {"DecodeGif", GIF},   {"DecodeBmp", BMP},
             {"DecodeWebP", WEBP},   {"DecodeJxl", JXL}};

static fy_code read_jpeg_flags(const fy_site *site, fy_jpeg_flags *f, fy_error *err) {
  const int64_t ratio = fy_site_int(site, "ratio");
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ratio must be 1, 2, 4, or 8, got %lld",
                   (long long)ratio);
  }
  const fy_view dct = fy_site_string(site, "dct_method");
  f->ratio = (int)ratio;
  f->fancy_upscaling = fy_site_bool(site, "fancy_upscaling");
  f->recover = fy_site_bool(site, "try_recover_truncated");
  f->acceptable_fraction = fy_site_float(site, "acceptable_fraction");
  f->accurate_dct = fy_view_is(dct, "INTEGER_ACCURATE");
  if (!f->accurate_dct && dct.n && !fy_view_is(dct, "INTEGER_FAST")) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
  }
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  decode_state s = {.dtype = FY_UINT8, .channels = 3, .expand = true};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!strcmp(site->op->impl->name, names[i].name)) s.op = names[i].op;
  }
  s.jpeg = (fy_jpeg_flags){.ratio = 1, .fancy_upscaling = true, .acceptable_fraction = 1};
  if (s.op == JPEG || s.op == CROP) FY_TRY(read_jpeg_flags(site, &s.jpeg, err));
  if (s.op == PNG || s.op == IMAGE) s.dtype = fy_site_type(site, "dtype");
  if (s.op == IMAGE) s.expand = fy_site_bool(site, "expand_animations");
  if (s.op != GIF) {
    s.channels = fy_site_int(site, "channels");
    if (s.channels != 0 && s.channels != 1 && s.channels != 3 && s.channels != 4) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "`channels` must be 0, 1, 3 or 4 but got %lld",
                     (long long)s.channels);
    }
  }
  decode_state *state = fy_malloc(sizeof s);
  if (!state) return fy_fail_oom(err, sizeof s);
  *state = s;
  site->state = state;
  return FY_OK;
}

// ---------------------------------------------------------------- where pixels go
typedef struct job {
  fy_kernel_ctx *ctx;
  const decode_state *s;
  bool gif;   // the file may have several frames
  bool wide;  // the decoder makes uint16
  fy_tensor *out;
  void *pixels;
} job;

static fy_code room(void *arg, int64_t frames, int64_t h, int64_t w, int64_t channels, void **out,
                    fy_error *err) {
  job *j = arg;
  const decode_state *s = j->s;
  const int64_t dims[] = {frames, h, w, channels};
  bool four = s->op == GIF;
  if (j->gif) {
    if (s->op == PNG || s->op == JPEG) {
      if (frames != 1) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Got %lld frames, but animated gifs can only be decoded by "
                       "tf.io.decode_gif or tf.io.decode_image",
                       (long long)frames);
      }
    } else if (s->op == IMAGE) {
      four = s->expand;
    } else if (s->op != GIF) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Bad op type %s", j->ctx->site->op->impl->name);
    }
  }
  FY_TRY(fy_out(j->ctx, 0, four ? 4 : 3, four ? dims : dims + 1, &j->out, err));
  j->pixels = j->out->data;
  if (s->dtype != (j->wide ? FY_UINT16 : FY_UINT8)) {
    FY_TRY(fy_scratch(j->ctx, (size_t)j->out->count * (j->wide ? 2 : 1), &j->pixels, err));
  }
  *out = j->pixels;
  return FY_OK;
}

// Into the op's dtype, if the decoder could not write that itself.
static void convert(const job *j) {
  if (j->pixels == j->out->data) return;
  const int64_t n = j->out->count;
  if (j->s->dtype == FY_UINT16) {
    const uint8_t *from = j->pixels;
    uint16_t *to = j->out->data;
    FY_VECTOR for (int64_t i = 0; i < n; i++) to[i] = (uint16_t)(from[i] * 256);
  } else if (j->wide) {
    const uint16_t *from = j->pixels;
    const float scale = (float)(1. / 65535);
    float *to = j->out->data;
    FY_VECTOR for (int64_t i = 0; i < n; i++) to[i] = (float)from[i] * scale;
  } else {
    const uint8_t *from = j->pixels;
    const float scale = (float)(1. / 255);
    float *to = j->out->data;
    FY_VECTOR for (int64_t i = 0; i < n; i++) to[i] = (float)from[i] * scale;
  }
}

// ---------------------------------------------------------------- BMP
static int32_t le32(const uint8_t *p) {
  return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                   (uint32_t)p[3] << 24);
}

static void bmp_row(const uint8_t *from, int64_t in, uint8_t *to, int64_t out, int64_t w) {
  for (int64_t x = 0; x < w; x++, from += in, to += out) {
    to[0] = from[in == 1 ? 0 : 2];
    if (out == 1) continue;
    to[1] = from[in == 1 ? 0 : 1];
    to[2] = from[0];
    if (out == 4) to[3] = in == 4 ? from[3] : 255;
  }
}

static fy_code decode_bmp(job *j, fy_view file, fy_error *err) {
  const uint8_t *p = (const uint8_t *)file.p;
  if (file.n < 32) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Incomplete bmp content, requires at least 32 bytes to find the header size, "
                   "width, height, and bpp, got %zu bytes",
                   file.n);
  }
  const int64_t header = le32(p + 10), w = le32(p + 18), signed_h = le32(p + 22);
  const int64_t in = (int16_t)(p[28] | p[29] << 8) / 8, h = signed_h < 0 ? -signed_h : signed_h;
  if (in != 1 && in != 3 && in != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of channels inherent in the image must be 1, 3 or 4, was %lld",
                   (long long)in);
  }
  if (w <= 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Width must be positive");
  if (h == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Height must be nonzero");
  if (header < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "header size must be nonnegative");
  if (w * h >= INT32_MAX / 8) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Total possible pixel bytes must be less than 2^30");
  }
  const int64_t stride = (in * w + 3) / 4 * 4, off = (int64_t)file.n - header - stride * h;
  if (off != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input size should match (header_size + row_size * abs_height) but they differ "
                   "by %d",
                   (int)off);
  }
  const int64_t channels = j->s->channels ? j->s->channels : in;
  void *pixels;
  FY_TRY(room(j, 1, h, w, channels, &pixels, err));
  for (int64_t y = 0; y < h; y++) {
    bmp_row(p + header + (signed_h < 0 ? y : h - 1 - y) * stride, in,
            (uint8_t *)pixels + y * w * channels, channels, w);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- by format
static bool starts(fy_view v, const char *magic, size_t n) {
  return v.n >= n && !memcmp(v.p, magic, n);
}

static fy_code wrong_op(const decode_state *s, const char *format, const char *op, fy_error *err) {
  if (s->op == BMP) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to decode %s format using DecodeBmp op. Use `decode_%s` or "
                   "`decode_image` instead.",
                   format, op);
  }
  if (s->op == CROP && strcmp(format, "JPEG") != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "DecodeAndCropJpeg operation can run on JPEG only, but detected %s.", format);
  }
  return FY_OK;
}

static fy_code decode_jpeg(job *j, fy_view file, fy_error *err) {
  const decode_state *s = j->s;
  fy_jpeg_flags flags = s->jpeg;
  char x[128];
  if (s->channels == 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "JPEG does not support 4 channels");
  }
  flags.channels = (int)s->channels;
  if (s->op == CROP) {
    const fy_tensor *window = j->ctx->in[1];
    if (window->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "crop_window must be 1-D, got shape %s",
                     fy_tensor_shape_text(window, x));
    }
    if (window->count != 4) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "crop_size must have four elements %s",
                     fy_tensor_shape_text(window, x));
    }
    const int32_t *v = window->data;
    flags.crop = true;
    flags.crop_y = v[0];
    flags.crop_x = v[1];
    flags.crop_h = v[2];
    flags.crop_w = v[3];
  }
  FY_TRY(wrong_op(s, "JPEG", "jpeg", err));
  return fy_jpeg_decode(file, &flags, room, j, err);
}

static fy_code decode_png(job *j, fy_view file, fy_error *err) {
  FY_TRY(wrong_op(j->s, "PNG", "png", err));
  j->wide = j->s->dtype != FY_UINT8;
  return fy_png_decode(file, (int)j->s->channels, j->wide, room, j, err);
}

static fy_code decode_gif(job *j, fy_view file, fy_error *err) {
  if (j->s->channels != 0 && j->s->channels != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "channels must be 0 or 3 for GIF, got %lld",
                   (long long)j->s->channels);
  }
  FY_TRY(wrong_op(j->s, "GIF", "gif", err));
  j->gif = true;
  return fy_gif_decode(file, j->s->expand, room, j, err);
}

static fy_code decode_bmp_checked(job *j, fy_view file, fy_error *err) {
  const decode_state *s = j->s;
  if (s->channels == 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "`channels` must be 0, 3 or 4 for BMP, but got 1");
  }
  if (s->op == CROP) return wrong_op(s, "BMP", "bmp", err);
  if (s->op != BMP && s->op != IMAGE) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to decode BMP format using a wrong op. Use `decode_bmp` or "
                   "`decode_image` instead. Op used: %s",
                   j->ctx->site->op->impl->name);
  }
  return decode_bmp(j, file, err);
}

static fy_code decode(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *contents = ctx->in[0];
  job j = {.ctx = ctx, .s = ctx->site->state};
  char x[128];
  if (contents->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "`contents` must be scalar but got shape%s",
                   fy_tensor_shape_text(contents, x));
  }
  const fy_view file = fy_tensor_string(contents, 0);
  if (file.n == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Input is empty.");
  if (file.n > INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input contents are too large for int: %zu", file.n);
  }
  fy_code code;
  if (starts(file, "\xff\xd8\xff", 3)) {
    code = decode_jpeg(&j, file, err);
  } else if (starts(file, "\x89PNG\r\n\x1a\n", 8)) {
    code = decode_png(&j, file, err);
  } else if (starts(file, "GIF8", 4)) {
    code = decode_gif(&j, file, err);
  } else if (starts(file, "BM", 2)) {
    code = decode_bmp_checked(&j, file, err);
  } else if (starts(file, "RIFF", 4) && file.n > 12 && !memcmp(file.p + 8, "WEBP", 4)) {
    code = fy_fail(err, FY_UNIMPLEMENTED, "This is a WebP file; Ferry reads JPEG, PNG, GIF, BMP");
  } else if (starts(file, "\xff\x0a", 2) || starts(file, "\0\0\0\x0cJXL \r\n\x87\n", 12)) {
    code =
        fy_fail(err, FY_UNIMPLEMENTED, "This is a JPEG XL file; Ferry reads JPEG, PNG, GIF, BMP");
  } else {
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required.");
  }
  if (!code) convert(&j);
  return code;
}

static fy_code jpeg_shape(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *contents = ctx->in[0];
  int64_t size[3];
  fy_tensor *out;
  char x[128];
  if (contents->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "contents must be scalar, got shape %s",
                   fy_tensor_shape_text(contents, x));
  }
  FY_TRY(fy_jpeg_shape(fy_tensor_string(contents, 0), size, err));
  FY_TRY(fy_out(ctx, 0, 1, (const int64_t[]){3}, &out, err));
  for (int i = 0; i < 3; i++) {
    if (out->dtype == FY_INT32) {
      ((int32_t *)out->data)[i] = (int32_t)size[i];
    } else {
      ((int64_t *)out->data)[i] = size[i];
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code channels_dim(const fy_shape_ctx *ctx, int64_t *out, fy_error *err) {
  const int64_t channels = fy_shape_attr_int(ctx, "channels", 0);
  if (channels < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "channels must be non-negative, got %lld",
                   (long long)channels);
  }
  *out = channels ? channels : -1;
  return FY_OK;
}

static fy_code plain_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[] = {-1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  FY_TRY(channels_dim(ctx, &dims[2], err));
  return fy_shape_set(ctx, 0, 3, dims, err);
}

static fy_code crop_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[] = {-1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  FY_TRY(channels_dim(ctx, &dims[2], err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 0), 4, err));
  const fy_tensor *window = fy_shape_tensor(ctx, 1);
  for (int i = 0; window && window->count == 4 && i < 2; i++) {
    const int64_t v = fy_tensor_int(window, 2 + i);
    dims[i] = v < 0 ? -1 : v;
  }
  return fy_shape_set(ctx, 0, 3, dims, err);
}

static fy_code gif_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return fy_shape_set(ctx, 0, 4, (const int64_t[]){-1, -1, -1, 3}, err);
}

static fy_code webp_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[] = {-1, -1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  FY_TRY(channels_dim(ctx, &dims[3], err));
  return fy_shape_set(ctx, 0, 4, dims, err);
}

static fy_code image_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[] = {-1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  FY_TRY(channels_dim(ctx, &dims[2], err));
  if (fy_shape_attr_bool(ctx, "expand_animations")) return FY_OK;
  return fy_shape_set(ctx, 0, 3, dims, err);
}

static fy_code shape3_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return fy_shape_set(ctx, 0, 1, (const int64_t[]){3}, err);
}

static const fy_sample samples[] = {
    {"s[]=''", NULL, FY_INVALID_ARGUMENT, "Input is empty."},
    {"s[]='hello'", NULL, FY_INVALID_ARGUMENT, "Unknown image file format"},
    {"s[]='GIF89a'", NULL, FY_INVALID_ARGUMENT, "Invalid GIF data (size 6)"},
};
static const fy_sample bmp_samples[] = {
    {"s[]='BM'", NULL, FY_INVALID_ARGUMENT, "Incomplete bmp content"},
};
static const fy_sample crop_samples[] = {
    {"s[]='BM'; i32[4]=0,0,1,1", NULL, FY_INVALID_ARGUMENT, "can run on JPEG only"},
};
static const fy_sample shape_samples[] = {
    {"s[]='abc'", NULL, FY_INVALID_ARGUMENT, "Invalid JPEG data, size 3"},
};
#define DECODER(name, shape_fn, array)                                                      \
  FY_OP(name, .shape = shape_fn, .prepare = prepare, .compute = decode, .release = fy_free, \
        .flags = FY_OP_DYNAMIC | FY_OP_HOST, FY_SAMPLES(array))
DECODER(DecodeImage, image_shape, samples);
DECODER(DecodeJpeg, plain_shape, samples);
DECODER(DecodeAndCropJpeg, crop_shape, crop_samples);
DECODER(DecodePng, plain_shape, samples);
DECODER(DecodeGif, gif_shape, samples);
DECODER(DecodeBmp, plain_shape, bmp_samples);
DECODER(DecodeWebP, webp_shape, samples);
DECODER(DecodeJxl, plain_shape, samples);
FY_OP(ExtractJpegShape, .shape = shape3_shape, .compute = jpeg_shape, .flags = FY_OP_HOST,
      FY_SAMPLES(shape_samples));
