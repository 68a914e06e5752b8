// SPDX-License-Identifier: Apache-2.0
// boxes.c: DrawBoundingBoxes (V2), and SampleDistortedBoundingBox (V2, stateless) with RandomCrop,
// which choose a part of an image at random: bit for bit as TensorFlow for the same seeds.

#include <math.h>

#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- drawing
static const float default_colours[10][4] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
    {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

typedef struct canvas {
  void *data;
  bool half;
  int64_t h, w, depth;
  const float *colour;
} canvas;

static void dot(const canvas *c, int64_t y, int64_t x) {
  const int64_t at = (y * c->w + x) * c->depth;
  for (int64_t k = 0; k < c->depth; k++) {
    if (c->half) {
      ((uint16_t *)c->data)[at + k] = fy_st_half(c->colour[k]);
    } else {
      ((float *)c->data)[at + k] = c->colour[k];
    }
  }
}

static int64_t to_pixel(float at, int64_t size) {
  const float v = at * (float)(size - 1);
  return v >= -0x1p63f && v < 0x1p63f ? (int64_t)v : INT64_MIN;
}

static void draw_box(const canvas *c, const float box[4]) {
  const int64_t y0 = to_pixel(box[0], c->h), x0 = to_pixel(box[1], c->w);
  const int64_t y1 = to_pixel(box[2], c->h), x1 = to_pixel(box[3], c->w);
  if (y0 > y1 || x0 > x1 || y0 >= c->h || y1 < 0 || x0 >= c->w || x1 < 0) return;
  const int64_t top = y0 > 0 ? y0 : 0, bottom = y1 < c->h ? y1 : c->h - 1;
  const int64_t left = x0 > 0 ? x0 : 0, right = x1 < c->w ? x1 : c->w - 1;
  for (int64_t x = left; x <= right; x++) {
    if (y0 >= 0) dot(c, y0, x);
    if (y1 < c->h) dot(c, y1, x);
  }
  for (int64_t y = top; y <= bottom; y++) {
    if (x0 >= 0) dot(c, y, x0);
    if (x1 < c->w) dot(c, y, x1);
  }
}

static fy_code draw(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *images = ctx->in[0], *boxes = ctx->in[1];
  fy_tensor *out;
  char x[128];
  if (images->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The rank of the images should be 4");
  }
  if (boxes->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The rank of the boxes tensor should be 3");
  }
  if (images->dims[0] != boxes->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The batch sizes should be the same");
  }
  const int64_t depth = images->dims[3];
  if (depth != 1 && depth != 3 && depth != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
  }
  if (boxes->dims[2] != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The size of the third dimension of the box must be 4. Received: %lld",
                   (long long)boxes->dims[2]);
  }
  const float white[] = {1};
  const float *colours = &default_colours[0][0];
  int64_t num_colours = 10, stride = 4;
  if (depth == 1) colours = white, num_colours = 1;
  if (ctx->site->num_inputs == 3) {
    const fy_tensor *given = ctx->in[2];
    if (given->rank != 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "colors must be a 2-D matrix%s",
                     fy_tensor_shape_text(given, x));
    }
    if (given->dims[1] < depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "colors must have equal or more channels than the image provided: %s",
                     fy_tensor_shape_text(given, x));
    }
    if (given->count) {
      colours = given->data;
      num_colours = given->dims[0];
      stride = given->dims[1];
    }
  }
  FY_TRY(fy_out_like(ctx, 0, images, &out, err));
  if (out->count == 0) return FY_OK;
  memcpy(out->data, images->data, fy_tensor_bytes(images));
  const size_t image = fy_tensor_bytes(images) / (size_t)images->dims[0];
  for (int64_t b = 0; b < images->dims[0]; b++) {
    for (int64_t i = 0; i < boxes->dims[1]; i++) {
      const canvas c = {(char *)out->data + (size_t)b * image,
                        out->dtype == FY_HALF,
                        images->dims[1],
                        images->dims[2],
                        depth,
                        colours + i % num_colours * stride};
      draw_box(&c, (const float *)boxes->data + (b * boxes->dims[1] + i) * 4);
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- choosing a part
typedef struct rectangle {
  int32_t x0, y0, x1, y1;
} rectangle;

static float area_of(rectangle r) {
  return (float)(int32_t)((uint32_t)(r.x1 - r.x0) * (uint32_t)(r.y1 - r.y0));
}

static bool covers(rectangle crop, float least, const rectangle *boxes, int64_t n) {
  if (area_of(crop) < 1) return false;
  for (int64_t i = 0; i < n; i++) {
    const float area = area_of(boxes[i]);
    if (area < 1) continue;
    rectangle both = {crop.x0 > boxes[i].x0 ? crop.x0 : boxes[i].x0,
                      crop.y0 > boxes[i].y0 ? crop.y0 : boxes[i].y0,
                      crop.x1 < boxes[i].x1 ? crop.x1 : boxes[i].x1,
                      crop.y1 < boxes[i].y1 ? crop.y1 : boxes[i].y1};
    if (both.x0 > both.x1 || both.y0 > both.y1) both = (rectangle){0, 0, 0, 0};
    if (area_of(both) / area >= least) return true;
  }
  return false;
}

static int32_t rounded(float v) {
  return v >= -0x1p31f && v < 0x1p31f ? (int32_t)lrintf(v) : INT32_MIN;
}

// A rectangle of |aspect| (width over height) whose area is within the range, if there is one.
static bool propose(int32_t w, int32_t h, const float area[2], float aspect, fy_philox_singles *s,
                    rectangle *out) {
  if (area[1] <= 0 || aspect <= 0 || w <= 0 || h <= 0 || area[0] > area[1]) return false;
  const float least = area[0] * (float)w * (float)h, most = area[1] * (float)w * (float)h;
  int32_t height = rounded(sqrtf(least / aspect)), highest = rounded(sqrtf(most / aspect));
  if (rounded((float)highest * aspect) > w) {
    highest = (int32_t)(((double)w + 0.5 - (double)0.0000001f) / (double)aspect);
    if (rounded((float)highest * aspect) > w) highest--;
  }
  if (highest > h) highest = h;
  if (height >= highest) height = highest;
  if (height < highest) {
    height += (int32_t)fy_philox_below(s, (uint32_t)(highest - height + 1));
  }
  int32_t width = rounded((float)height * aspect);
  float got = area_of((rectangle){0, 0, width, height});
  if (got < least) {
    height++;
    width = rounded((float)height * aspect);
    got = area_of((rectangle){0, 0, width, height});
  }
  if (got > most) {
    height--;
    width = rounded((float)height * aspect);
    got = area_of((rectangle){0, 0, width, height});
  }
  if (got < least || got > most || width > w || height > h || width <= 0 || height <= 0) {
    return false;
  }
  const int32_t y = height < h ? (int32_t)fy_philox_below(s, (uint32_t)(h - height)) : 0;
  const int32_t x = width < w ? (int32_t)fy_philox_below(s, (uint32_t)(w - width)) : 0;
  *out = (rectangle){x, y, x + width, y + height};
  return true;
}

static fy_code range_of(const fy_site *site, const char *attr, const char *name, float out[2],
                        fy_error *err) {
  const fy_attr *a = fy_site_attr(site, attr);
  if (!a || !a->is_list || a->n != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s range field must specify 2 dimensions", name);
  }
  out[0] = a->v.floats[0];
  out[1] = a->v.floats[1];
  if (!(out[0] > 0 && out[1] > 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s range must be non-negative: [%g, %g]", name,
                   (double)out[0], (double)out[1]);
  }
  return FY_OK;
}

typedef struct box_attrs {
  float aspect[2], area[2], covered;
  int64_t attempts;
  bool whole_image;
} box_attrs;

static fy_code check_covered(float v, fy_error *err) {
  return v >= 0 ? FY_OK
                : fy_fail(err, FY_INVALID_ARGUMENT, "Min object covered must be non-negative: %g",
                          (double)v);
}

static fy_code read_attrs(const fy_site *site, box_attrs *a, fy_error *err) {
  if (site->num_inputs == 2) {
    a->covered = fy_site_float(site, "min_object_covered");
    FY_TRY(check_covered(a->covered, err));
  }
  a->whole_image = fy_site_bool(site, "use_image_if_no_bounding_boxes");
  FY_TRY(range_of(site, "aspect_ratio_range", "Aspect ratio", a->aspect, err));
  FY_TRY(range_of(site, "area_range", "Area", a->area, err));
  if (a->area[0] > 1 || a->area[1] > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Area range must be less then or equal to 1.0: [%g, %g]", (double)a->area[0],
                   (double)a->area[1]);
  }
  a->attempts = fy_site_int(site, "max_attempts");
  if (a->attempts <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Max attempts must be non-negative: %lld",
                   (long long)a->attempts);
  }
  return FY_OK;
}

static fy_code stateful_prepare(fy_site *site, fy_error *err) {
  box_attrs a;
  FY_TRY(read_attrs(site, &a, err));
  return fy_random_prepare(site, err);
}
static fy_code stateless_prepare(fy_site *site, fy_error *err) {
  box_attrs a;
  return read_attrs(site, &a, err);
}

static fy_code read_boxes(fy_kernel_ctx *ctx, const box_attrs *a, int32_t w, int32_t h,
                          rectangle **out, int64_t *out_n, fy_error *err) {
  const fy_tensor *boxes = ctx->in[1];
  const float *v = boxes->data;
  const int64_t n = boxes->count / 4;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(rectangle), &memory, err));
  rectangle *r = memory;
  for (int64_t i = 0; i < 4 * n; i++) {
    if (v[i] >= 0 && v[i] <= 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "All bounding box coordinates must be in [0.0, 1.0]: %g", (double)v[i]);
  }
  for (int64_t i = 0; i < n; i++, v += 4) {
    r[i] = (rectangle){(int32_t)(v[1] * (float)w), (int32_t)(v[0] * (float)h),
                       (int32_t)(v[3] * (float)w), (int32_t)(v[2] * (float)h)};
  }
  *out = r;
  *out_n = n;
  if (n) return FY_OK;
  if (!a->whole_image) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "No bounding boxes provided as input. One must enable "
                   "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes.");
  }
  r[0] = (rectangle){0, 0, w, h};
  *out_n = 1;
  return FY_OK;
}

static void put_int(fy_tensor *t, int64_t i, int64_t v) {
  switch (fy_dtype_size(t->dtype)) {
    case 1: ((uint8_t *)t->data)[i] = (uint8_t)v; break;
    case 2: ((uint16_t *)t->data)[i] = (uint16_t)v; break;
    case 4: ((uint32_t *)t->data)[i] = (uint32_t)v; break;
    default: ((int64_t *)t->data)[i] = v;
  }
}

static fy_code sample_box(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *size = ctx->in[0], *boxes = ctx->in[1];
  const bool stateless = ctx->site->num_inputs == 4;
  box_attrs a = {.covered = 0};
  char x[128];
  FY_TRY(read_attrs(ctx->site, &a, err));
  fy_philox generator;
  if (stateless) {
    FY_TRY(fy_random_of_seed(ctx->in[3], &generator, err));
  } else {
    generator = fy_random_reserve_blocks(ctx, (uint64_t)a.attempts);
  }
  if (size->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image_size must be 1-dimensional%s",
                   fy_tensor_shape_text(size, x));
  }
  if (size->count != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image_size must contain 3 elements%s",
                   fy_tensor_shape_text(size, x));
  }
  const int64_t h = fy_tensor_int(size, 0), w = fy_tensor_int(size, 1);
  if (h < 0 || h >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image height cannot be >= int32 max");
  }
  if (w < 0 || w >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image width cannot be >= int32 max");
  }
  if (boxes->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input boxes must be 3-dimensional [batch, num_boxes, coords]: %s",
                   fy_tensor_shape_text(boxes, x));
  }
  if (boxes->dims[2] != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "bounding boxes must have shape [4] or [*, 4], got %s",
                   fy_tensor_shape_text(boxes, x));
  }
  if (ctx->site->num_inputs >= 3) {
    if (ctx->in[2]->rank != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "min_object_covered must be 0-D, got shape %s",
                     fy_tensor_shape_text(ctx->in[2], x));
    }
    a.covered = *(const float *)ctx->in[2]->data;
    FY_TRY(check_covered(a.covered, err));
  }
  rectangle *list = NULL, crop = {0, 0, (int32_t)w, (int32_t)h}, found;
  int64_t n;
  FY_TRY(read_boxes(ctx, &a, (int32_t)w, (int32_t)h, &list, &n, err));
  fy_philox_singles s = {.generator = generator};
  for (int64_t i = 0; i < a.attempts; i++) {
    const float aspect =
        fy_bits_to_unit_float(fy_philox_single(&s)) * (a.aspect[1] - a.aspect[0]) + a.aspect[0];
    if (propose((int32_t)w, (int32_t)h, a.area, aspect, &s, &found) &&
        covers(found, a.covered, list, n)) {
      crop = found;
      break;
    }
  }
  fy_tensor *begin, *extent, *box;
  FY_TRY(fy_out(ctx, 0, 1, (const int64_t[]){3}, &begin, err));
  FY_TRY(fy_out(ctx, 1, 1, (const int64_t[]){3}, &extent, err));
  FY_TRY(fy_out(ctx, 2, 3, (const int64_t[]){1, 1, 4}, &box, err));
  const int64_t from[] = {crop.y0, crop.x0, 0}, by[] = {crop.y1 - crop.y0, crop.x1 - crop.x0, -1};
  for (int i = 0; i < 3; i++) {
    put_int(begin, i, from[i]);
    put_int(extent, i, by[i]);
  }
  float *b = box->data;
  b[0] = (float)crop.y0 / (float)h;
  b[1] = (float)crop.x0 / (float)w;
  b[2] = (float)crop.y1 / (float)h;
  b[3] = (float)crop.x1 / (float)w;
  return FY_OK;
}

static fy_code random_crop(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *image = ctx->in[0], *size = ctx->in[1];
  fy_tensor *out;
  char x[128];
  if (image->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 3-dimensional%s",
                   fy_tensor_shape_text(image, x));
  }
  if (size->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t must be 1-dimensional%s",
                   fy_tensor_shape_text(size, x));
  }
  if (size->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t must have two elements%s",
                   fy_tensor_shape_text(size, x));
  }
  const int64_t h = fy_tensor_int(size, 0), w = fy_tensor_int(size, 1), c = image->dims[2];
  if (h <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "crop height must be > 0, got: %lld", (long long)h);
  }
  if (w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "crop width must be > 0, got: %lld", (long long)w);
  }
  if (image->dims[0] == h && image->dims[1] == w) {
    return fy_out_alias(ctx, 0, 0, image->rank, image->dims, err);
  }
  if (image->dims[0] < h || image->dims[1] < w) {
    const bool tall = image->dims[0] < h;
    return fy_fail(
        err, FY_FAILED_PRECONDITION, "%s must be >= target_%s: %s = %lld, target_%s = %lld",
        tall ? "height" : "width", tall ? "height" : "width", tall ? "height" : "width",
        (long long)image->dims[tall ? 0 : 1], tall ? "height" : "width", (long long)(tall ? h : w));
  }
  FY_TRY(fy_out(ctx, 0, 3, (const int64_t[]){h, w, c}, &out, err));
  fy_philox_singles s = {.generator = fy_random_reserve_blocks(ctx, 1)};
  const int64_t rows = image->dims[0] - h + 1, cols = image->dims[1] - w + 1;
  const int64_t y0 = rows > 1 ? (int64_t)fy_philox_below(&s, (uint32_t)rows) : 0;
  const int64_t x0 = cols > 1 ? (int64_t)fy_philox_below(&s, (uint32_t)cols) : 0;
  for (int64_t y = 0; y < h; y++) {
    FY_TRY(fy_copy_run(image->dtype, out->data, y * w * c, image->data,
                       ((y0 + y) * image->dims[1] + x0) * c, w * c, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code draw_shape(fy_shape_ctx *ctx, fy_error *err) {
  if (ctx->num_inputs > 2) {  // version 2 leaves the rest to the kernel
    FY_TRY(fy_shape_rank_at_least(ctx->in[0], 3, err));
    return fy_shape_unchanged(ctx, err);
  }
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  const int64_t depth = fy_dim_of(ctx->in[0], 3);
  if (depth >= 0 && depth != 1 && depth != 3 && depth != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
  }
  FY_TRY(fy_shape_rank_is(ctx->in[1], 3, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 2), 4, err));
  return fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err);
}

static fy_code sample_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 3, err));
  if (ctx->num_inputs > 2) FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[0], 0), 3, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 2), 4, err));
  if (ctx->num_inputs > 3) {
    FY_TRY(fy_shape_rank_is(ctx->in[3], 1, err));
    FY_TRY(fy_dim_is(fy_dim_of(ctx->in[3], 0), 2, err));
  }
  FY_TRY(fy_shape_set(ctx, 0, 1, (const int64_t[]){3}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, (const int64_t[]){3}, err));
  return fy_shape_set(ctx, 2, 3, (const int64_t[]){1, 1, 4}, err);
}

static fy_code crop_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[3] = {-1, -1, -1};
  FY_TRY(fy_shape_rank_is(ctx->in[0], 3, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 0), 2, err));
  dims[2] = fy_dim_of(ctx->in[0], 2);
  const fy_tensor *size = fy_shape_tensor(ctx, 1);
  for (int i = 0; size && size->count == 2 && i < 2; i++) {
    dims[i] = fy_tensor_int(size, i) < 0 ? -1 : fy_tensor_int(size, i);
  }
  return fy_shape_set(ctx, 0, 3, dims, err);
}

static const fy_sample draw_samples[] = {
    {"f32[1,3,3,1]=zeros; f32[1,1,4]=0,0,1,1", NULL, FY_OK, "1,1,1,1,0,1,1,1,1"},
    {"f32[3,3,1]=zeros; f32[1,1,4]=0,0,1,1", NULL, FY_INVALID_ARGUMENT,
     "The rank of the images should be 4"},
};
static const fy_sample draw2_samples[] = {
    {"f32[1,2,2,1]=zeros; f32[1,1,4]=0,0,0,1; f32[1,1]=7", NULL, FY_OK, "7,7,0,0"},
};
static const fy_sample sample_samples[] = {
    {"i32[3]=8,9,3; f32[1,1,4]=0,0,1,1", "seed=3; seed2=4", FY_OK, NULL},
    {"i32[3]=8,9,3; f32[1,0,4]=", "seed=3", FY_INVALID_ARGUMENT, "No bounding boxes provided"},
};
static const fy_sample sample2_samples[] = {
    {"i32[3]=8,9,3; f32[1,1,4]=0,0,1,1; f32[]=0.5", "seed=3; seed2=4", FY_OK, NULL},
};
static const fy_sample stateless_samples[] = {
    {"i32[3]=8,9,3; f32[1,1,4]=0,0,1,1; f32[]=0.5; i32[2]=1,2", NULL, FY_OK, NULL},
};
static const fy_sample crop_samples[] = {
    {"f32[3,3,1]=iota; i64[2]=2,2", "seed=1; seed2=2", FY_OK, NULL},
    {"f32[3,3,1]=iota; i64[2]=4,2", "seed=1; seed2=2", FY_FAILED_PRECONDITION, "height must be"},
};
FY_OP(DrawBoundingBoxes, .shape = draw_shape, .compute = draw, FY_SAMPLES(draw_samples));
FY_OP(DrawBoundingBoxesV2, .shape = draw_shape, .compute = draw, FY_SAMPLES(draw2_samples));
FY_OP(SampleDistortedBoundingBox, .shape = sample_shape, .prepare = stateful_prepare,
      .compute = sample_box, .release = fy_random_release, .host_inputs = 7, .host_outputs = 7,
      FY_SAMPLES(sample_samples));
FY_OP(SampleDistortedBoundingBoxV2, .shape = sample_shape, .prepare = stateful_prepare,
      .compute = sample_box, .release = fy_random_release, .host_inputs = 7, .host_outputs = 7,
      FY_SAMPLES(sample2_samples));
FY_OP(StatelessSampleDistortedBoundingBox, .shape = sample_shape, .prepare = stateless_prepare,
      .compute = sample_box, .host_inputs = 15, .host_outputs = 7, FY_SAMPLES(stateless_samples));
FY_OP(RandomCrop, .shape = crop_shape, .prepare = fy_random_prepare, .compute = random_crop,
      .release = fy_random_release, .flags = FY_OP_DYNAMIC, .host_inputs = 2,
      FY_SAMPLES(crop_samples));
