// SPDX-License-Identifier: Apache-2.0
// resize.c: ResizeNearestNeighbor, ResizeBilinear, ResizeArea and the gradients of the first two.
// Pixel positions are computed in float, step by step as TensorFlow does, so that they fall on the
// same side. Not here: ResizeBicubic (resize_bicubic.c).

#include "ops/resize.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"
#include "ops/window.h"

typedef struct sample_at {  // one output row or column of bilinear interpolation
  int64_t low, high;
  float part;  // of high
} sample_at;

typedef struct resize_job {
  const fy_resize *r;
  const void *in;
  void *out;
  const int64_t *rows, *cols;  // nearest
  const sample_at *y, *x;      // bilinear
  const struct area_at *area;  // of columns
  float *kept;                 // bilinear: two rows of the output's width for each block
  size_t size;                 // bytes of a pixel
} resize_job;

// ---------------------------------------------------------------- nearest
static int64_t nearest(const fy_resize *r, int64_t at, float scale, int64_t limit) {
  const float p = r->half_pixel ? ((float)at + 0.5f) * scale : (float)at * scale;
  const float rounded = r->align_corners ? roundf(p) : floorf(p);
  const int64_t i = rounded >= (float)limit ? limit - 1 : (int64_t)rounded;
  return i < 0 ? 0 : i >= limit ? limit - 1 : i;
}

// Both tables of positions: for |out| the pixel of |in| it is taken from.
static fy_code nearest_tables(fy_kernel_ctx *ctx, const fy_resize *r, resize_job *j,
                              fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(r->out_h + r->out_w) * sizeof(int64_t), &memory, err));
  int64_t *rows = memory, *cols = rows + r->out_h;
  for (int64_t i = 0; i < r->out_h; i++) rows[i] = nearest(r, i, r->scale_h, r->in_h);
  for (int64_t i = 0; i < r->out_w; i++) cols[i] = nearest(r, i, r->scale_w, r->in_w);
  j->rows = rows;
  j->cols = cols;
  return FY_OK;
}

static void nearest_rows(void *arg, int64_t begin, int64_t end) {
  const resize_job *j = arg;
  const fy_resize *r = j->r;
  for (int64_t row = begin; row < end; row++) {
    const int64_t image = row / r->out_h, y = j->rows[row % r->out_h];
    const char *from = (const char *)j->in + (size_t)((image * r->in_h + y) * r->in_w) * j->size;
    char *to = (char *)j->out + (size_t)(row * r->out_w) * j->size;
    for (int64_t x = 0; x < r->out_w; x++) {
      memcpy(to + (size_t)x * j->size, from + (size_t)j->cols[x] * j->size, j->size);
    }
  }
}

static fy_code resize_nearest(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_resize r;
  resize_job j = {.r = &r, .in = in->data};
  fy_tensor *out;
  FY_TRY(fy_resize_check(ctx, &r, err));
  const int64_t dims[] = {r.batch, r.out_h, r.out_w, r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(nearest_tables(ctx, &r, &j, err));
  j.out = out->data;
  j.size = (size_t)r.channels * fy_dtype_storage(in->dtype);
  fy_parallel(ctx, r.batch * r.out_h, (double)r.out_w * (2 + 0.1 * (double)j.size), nearest_rows,
              &j);
  return FY_OK;
}

// The gradient: |rows| and |cols| say where each pixel of the gradient goes. Item: an image.
#define ADD(S, x, y)     ((x) + (y))
#define ADD_INT(S, x, y) ((fy_u_##S)(x) + (fy_u_##S)(y))
#define NEAREST_GRAD(E, S, PLUS)                                                               \
  static void nearest_grad_##S(void *arg, int64_t begin, int64_t end) {                        \
    const resize_job *j = arg;                                                                 \
    const fy_resize *r = j->r;                                                                 \
    const int64_t n = r->channels;                                                             \
    for (int64_t image = begin; image < end; image++) {                                        \
      fy_t_##S *out = (fy_t_##S *)j->out + image * r->in_h * r->in_w * n;                      \
      const fy_t_##S *restrict in = (const fy_t_##S *)j->in + image * r->out_h * r->out_w * n; \
      memset(out, 0, (size_t)(r->in_h * r->in_w * n) * sizeof *out);                           \
      for (int64_t y = 0; y < r->out_h; y++) {                                                 \
        fy_t_##S *line = out + j->rows[y] * r->in_w * n;                                       \
        for (int64_t x = 0; x < r->out_w; x++, in += n) {                                      \
          fy_t_##S *restrict to = line + j->cols[x] * n;                                       \
          for (int64_t c = 0; c < n; c++)                                                      \
            to[c] = FY_ST_##S(PLUS(S, FY_LD_##S(to[c]), FY_LD_##S(in[c])));                    \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
  }
FY_REAL_TYPES(NEAREST_GRAD, ADD)
FY_INT_TYPES(NEAREST_GRAD, ADD_INT)
typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
static const items_fn nearest_grads[FY_DTYPE_COUNT] = {
    FY_ORDERED_TYPES(FY_LOOP_ENTRY, nearest_grad)};

static fy_code resize_nearest_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *size = ctx->in[1];
  fy_resize r = {.align_corners = fy_site_bool(ctx->site, "align_corners"),
                 .half_pixel = fy_site_bool(ctx->site, "half_pixel_centers")};
  resize_job j = {.r = &r, .in = grad->data};
  fy_tensor *out;
  char x[128];
  if (grad->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                   fy_tensor_shape_text(grad, x));
  }
  if (size->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t must be 1-dimensional%s",
                   fy_tensor_shape_text(size, x));
  }
  if (size->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t must have two elements%s",
                   fy_tensor_shape_text(size, x));
  }
  r.batch = grad->dims[0];
  r.out_h = grad->dims[1];
  r.out_w = grad->dims[2];
  r.channels = grad->dims[3];
  r.in_h = fy_tensor_int(size, 0);
  r.in_w = fy_tensor_int(size, 1);
  if (r.in_h < 1 || r.in_w < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape_t's elements must be positive");
  }
  const int64_t dims[] = {r.batch, r.in_h, r.in_w, r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (!nearest_grads[grad->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "ResizeNearestNeighborGrad has no loop for %s",
                   fy_dtype_name(grad->dtype));
  }
  if (out->count == 0) return FY_OK;
  if (grad->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  r.scale_h = fy_resize_scale(r.in_h, r.out_h, r.align_corners);
  r.scale_w = fy_resize_scale(r.in_w, r.out_w, r.align_corners);
  FY_TRY(nearest_tables(ctx, &r, &j, err));
  j.out = out->data;
  fy_parallel(ctx, r.batch, (double)(r.out_h * r.out_w * r.channels), nearest_grads[grad->dtype],
              &j);
  return FY_OK;
}

// ---------------------------------------------------------------- bilinear
static void samples_along(const fy_resize *r, int64_t out, float scale, int64_t limit,
                          sample_at *to) {
  for (int64_t i = 0; i < out; i++) {
    const float p = fy_resize_at(r, i, scale), low = floorf(p), high = ceilf(p);
    to[i].low = low < 0 ? 0 : low >= (float)limit ? limit - 1 : (int64_t)low;
    to[i].high = high < 0 ? 0 : high >= (float)limit ? limit - 1 : (int64_t)high;
    if (to[i].low >= limit) to[i].low = limit - 1;
    if (to[i].high >= limit) to[i].high = limit - 1;
    to[i].part = p - low;
  }
}

static fy_code bilinear_tables(fy_kernel_ctx *ctx, const fy_resize *r, resize_job *j,
                               fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(r->out_h + r->out_w) * sizeof(sample_at), &memory, err));
  sample_at *y = memory, *x = y + r->out_h;
  samples_along(r, r->out_h, r->scale_h, r->in_h, y);
  samples_along(r, r->out_w, r->scale_w, r->in_w, x);
  j->y = y;
  j->x = x;
  return FY_OK;
}

// A row of the image stretched to the output's width.
static inline void stretch(const float *restrict from, const sample_at *at, int64_t n, int64_t c,
                           float *restrict to) {
  for (int64_t x = 0; x < n; x++, to += c) {
    const float *left = from + at[x].low * c, *right = from + at[x].high * c;
    const float part = at[x].part;
    for (int64_t k = 0; k < c; k++) to[k] = left[k] + (right[k] - left[k]) * part;
  }
}
FY_CLONES static void stretch_row(const float *from, const sample_at *at, int64_t n, int64_t c,
                                  float *to) {
  switch (c) {
    case 1: stretch(from, at, n, 1, to); break;
    case 3: stretch(from, at, n, 3, to); break;
    case 4: stretch(from, at, n, 4, to); break;
    case 16: stretch(from, at, n, 16, to); break;
    default: stretch(from, at, n, c, to); break;
  }
}
FY_CLONES static void between_rows(const float *restrict a, const float *restrict b, float part,
                                   float *restrict to, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] = a[i] + (b[i] - a[i]) * part;
}

// The two stretched rows that an output row lies between are kept: the next one often needs them.
static void bilinear_rows(const resize_job *j, int64_t block, int64_t begin, int64_t end) {
  const fy_resize *r = j->r;
  const int64_t c = r->channels, width = r->out_w * c;
  float *kept[2] = {j->kept + block * 2 * width, NULL};
  int64_t have[2] = {-1, -1};
  kept[1] = kept[0] + width;
  for (int64_t row = begin; row < end; row++) {
    const sample_at *y = &j->y[row % r->out_h];
    const int64_t first = row / r->out_h * r->in_h, top = first + y->low, bottom = first + y->high;
    if (have[0] != top && have[1] == top) {
      float *swap = kept[0];
      kept[0] = kept[1], kept[1] = swap;
      have[1] = have[0], have[0] = top;
    }
    if (have[0] != top)
      stretch_row((const float *)j->in + top * r->in_w * c, j->x, r->out_w, c, kept[0]);
    if (have[1] != bottom)
      stretch_row((const float *)j->in + bottom * r->in_w * c, j->x, r->out_w, c, kept[1]);
    have[0] = top, have[1] = bottom;
    between_rows(kept[0], kept[1], y->part, (float *)j->out + row * width, width);
  }
}

// Blocks of rows, each with two rows of its own.
#define BLOCK_ROWS 32
static void bilinear_block(void *arg, int64_t begin, int64_t end) {
  const resize_job *j = arg;
  const int64_t rows = j->r->batch * j->r->out_h;
  for (int64_t b = begin; b < end; b++) {
    const int64_t to = (b + 1) * BLOCK_ROWS;
    bilinear_rows(j, b, b * BLOCK_ROWS, to < rows ? to : rows);
  }
}
static fy_code bilinear_blocks(fy_kernel_ctx *ctx, const fy_resize *r, resize_job *j,
                               fy_error *err) {
  const int64_t rows = r->batch * r->out_h, blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
  const int64_t width = r->out_w * r->channels;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)blocks * 2 * (size_t)width * sizeof(float), &memory, err));
  j->kept = memory;
  fy_parallel(ctx, blocks, BLOCK_ROWS * 1.0 * (double)width, bilinear_block, j);
  return FY_OK;
}

static fy_code resize_bilinear(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resize r;
  resize_job j = {.r = &r};
  fy_tensor *out;
  const float *pixels;
  FY_TRY(fy_resize_check(ctx, &r, err));
  const int64_t dims[] = {r.batch, r.out_h, r.out_w, r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_image_floats(ctx, ctx->in[0], &pixels, err));
  if (r.in_h == r.out_h && r.in_w == r.out_w) {
    memcpy(out->data, pixels, fy_tensor_bytes(out));
    return FY_OK;
  }
  FY_TRY(bilinear_tables(ctx, &r, &j, err));
  j.in = pixels;
  j.out = out->data;
  FY_TRY(bilinear_blocks(ctx, &r, &j, err));
  return FY_OK;
}

// Item: an image. Sums of 16-bit floats are in float and rounded at the end (by the caller).
#define BILINEAR_GRAD(E, S, _)                                                                  \
  static void bilinear_grad_##S(void *arg, int64_t begin, int64_t end) {                        \
    const resize_job *j = arg;                                                                  \
    const fy_resize *r = j->r;                                                                  \
    const int64_t c = r->channels;                                                              \
    for (int64_t image = begin; image < end; image++) {                                         \
      fy_a_##S *out = (fy_a_##S *)j->out + image * r->in_h * r->in_w * c;                       \
      const float *restrict in = (const float *)j->in + image * r->out_h * r->out_w * c;        \
      memset(out, 0, (size_t)(r->in_h * r->in_w * c) * sizeof *out);                            \
      for (int64_t v = 0; v < r->out_h; v++) {                                                  \
        const sample_at *y = &j->y[v];                                                          \
        fy_a_##S *lines[] = {out + y->low * r->in_w * c, out + y->high * r->in_w * c};          \
        const float wy[] = {1 - y->part, y->part};                                              \
        for (int64_t u = 0; u < r->out_w; u++, in += c) {                                       \
          const sample_at *x = &j->x[u];                                                        \
          const int64_t at[] = {x->low * c, x->high * c};                                       \
          const float wx[] = {1 - x->part, x->part};                                            \
          for (int q = 0; q < 4; q++) { /* they may be the same pixel: one after the other */   \
            fy_a_##S *restrict to = lines[q / 2] + at[q % 2];                                   \
            for (int64_t k = 0; k < c; k++) to[k] += (fy_a_##S)(in[k] * wy[q / 2] * wx[q % 2]); \
          }                                                                                     \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }
FY_FULL_REAL_TYPES(BILINEAR_GRAD, _)
static const items_fn bilinear_grads[FY_DTYPE_COUNT] = {
    FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, bilinear_grad)};

static fy_code resize_bilinear_grad(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resize r;
  resize_job j = {.r = &r, .in = ctx->in[0]->data};
  fy_tensor *out;
  FY_TRY(fy_resize_check_grad(ctx, &r, err));
  const int64_t dims[] = {r.batch, r.in_h, r.in_w, r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  const items_fn loop = bilinear_grads[fy_plain_type(out->dtype)];
  if (!loop || ctx->in[0]->dtype != FY_FLOAT) {
    return fy_fail(err, FY_UNIMPLEMENTED, "ResizeBilinearGrad has no loop for %s",
                   fy_dtype_name(out->dtype));
  }
  if (out->count == 0) return FY_OK;
  FY_TRY(bilinear_tables(ctx, &r, &j, err));
  FY_TRY(fy_plain_room(ctx, out->dtype, out->data, out->count, true, &j.out, err));
  fy_parallel(ctx, r.batch, 6.0 * (double)(r.out_h * r.out_w * r.channels), loop, &j);
  fy_plain_store(out->dtype, j.out, out->data, 1, 1, out->count, true);
  return FY_OK;
}

// ---------------------------------------------------------------- area
// How much of input pixel |i| lies in [from, to), whose length is |scale|.
static float overlap(int64_t i, float from, float to, float scale) {
  const float v = (float)i;
  if (v < from) return v + 1 > to ? scale : v + 1 - from;
  return v + 1 > to ? to - v : 1.0f;
}
static int64_t bound(int64_t i, int64_t limit) {
  return i < 0 ? 0 : i >= limit ? limit - 1 : i;
}

// What an output column covers: whole input columns but for the first and the last.
typedef struct area_at {
  int64_t left, right;  // both are covered; |right| is |left| where that is all
  float first, last;
} area_at;

static inline __attribute__((always_inline)) void area_row(const resize_job *j, int64_t row,
                                                           const int64_t c) {
  const fy_resize *r = j->r;
  const float scale = 1.0f / (r->scale_h * r->scale_w);
  const int64_t at = row % r->out_h;
  const float *image = (const float *)j->in + row / r->out_h * r->in_h * r->in_w * c;
  const float y0 = (float)at * r->scale_h, y1 = (float)(at + 1) * r->scale_h;
  const int64_t top = (int64_t)floorf(y0), bottom = (int64_t)ceilf(y1);
  float *restrict out = (float *)j->out + row * r->out_w * c;
  for (int64_t i = 0; i < r->out_w * c; i++) out[i] = 0;
  for (int64_t iy = top; iy < bottom; iy++) {
    const float *line = image + bound(iy, r->in_h) * r->in_w * c;
    const float weight = overlap(iy, y0, y1, r->scale_h);
    float *restrict to = out;
    for (int64_t x = 0; x < r->out_w; x++, to += c) {
      const area_at *a = &j->area[x];
      const float *left = line + bound(a->left, r->in_w) * c;
      const float *right = line + bound(a->right, r->in_w) * c;
      for (int64_t k = 0; k < c; k++) {
        float part = left[k] * a->first;
        for (int64_t ix = a->left + 1; ix < a->right; ix++)
          part += line[bound(ix, r->in_w) * c + k];
        if (a->right > a->left) part += right[k] * a->last;
        to[k] += weight * part;
      }
    }
  }
  for (int64_t i = 0; i < r->out_w * c; i++) out[i] *= scale;
}
static void area_rows(void *arg, int64_t begin, int64_t end) {
  const resize_job *j = arg;
  const int64_t c = j->r->channels;
  for (int64_t row = begin; row < end; row++) {
    if (c == 3)
      area_row(j, row, 3);
    else
      area_row(j, row, c);
  }
}

static fy_code resize_area(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resize r;
  resize_job j = {.r = &r};
  fy_tensor *out;
  const float *pixels;
  void *memory;
  FY_TRY(fy_resize_check(ctx, &r, err));
  const int64_t dims[] = {r.batch, r.out_h, r.out_w, r.channels};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_image_floats(ctx, ctx->in[0], &pixels, err));
  FY_TRY(fy_scratch(ctx, (size_t)r.out_w * sizeof(area_at), &memory, err));
  area_at *area = memory;
  for (int64_t x = 0; x < r.out_w; x++) {
    const float x0 = (float)x * r.scale_w, x1 = (float)(x + 1) * r.scale_w;
    const int64_t left = (int64_t)floorf(x0), right = (int64_t)ceilf(x1) - 1;
    area[x] =
        (area_at){left, right, overlap(left, x0, x1, r.scale_w), overlap(right, x0, x1, r.scale_w)};
  }
  j.area = area;
  j.in = pixels;
  j.out = out->data;
  const double window = (double)(r.scale_h + 1) * (double)(r.scale_w + 1);
  fy_parallel(ctx, r.batch * r.out_h, 2 * window * (double)r.out_w * (double)r.channels, area_rows,
              &j);
  return FY_OK;
}

static const fy_sample nearest_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; i32[2]=3,3", NULL, FY_OK, "1,1,2,1,1,2,3,3,4"},
    {"u8[1,2,2,1]=1,2,3,4; i32[2]=3,3", "align_corners=true", FY_OK, "1,2,2,3,4,4,3,4,4"},
    {"i32[1,1,4,1]=1,2,3,4; i32[2]=1,2", "half_pixel_centers=true", FY_OK, "2,4"},
    {"f32[1,2,2,1]=1,2,3,4; i32[2]=0,3", NULL, FY_INVALID_ARGUMENT,
     "output dimensions must be positive"},
};
static const fy_sample nearest_grad_samples[] = {
    {"f32[1,1,4,1]=1,2,3,4; i32[2]=1,2", NULL, FY_OK, "3,7"},
    {"f32[1,4,1]=1,2,3,4; i32[2]=1,2", NULL, FY_INVALID_ARGUMENT, "input must be 4-dimensional"},
};
static const fy_sample bilinear_samples[] = {
    {"f32[1,1,2,1]=1,3; i32[2]=1,4", NULL, FY_OK, "1,2,3,3"},
    {"i32[1,1,2,1]=1,3; i32[2]=1,3", "align_corners=true", FY_OK, "1,2,3"},
    {"f16[1,1,2,1]=1,3; i32[2]=1,4", "half_pixel_centers=true", FY_OK, "1,1.5,2.5,3"},
    {"f32[1,2,2,1]=1,2,3,4; i32[2]=3,3", "align_corners=true; half_pixel_centers=true",
     FY_INVALID_ARGUMENT, "If half_pixel_centers is True, align_corners must be False."},
};
static const fy_sample bilinear_grad_samples[] = {
    {"f32[1,1,4,1]=1,2,3,4; f32[1,1,2,1]=0,0", NULL, FY_OK, "2,8"},
};
static const fy_sample area_samples[] = {
    {"f32[1,1,4,1]=1,3,5,7; i32[2]=1,2", NULL, FY_OK, "2,6"},
    {"u8[1,3,3,1]=1,2,3,4,5,6,7,8,9; i32[2]=1,1", NULL, FY_OK, NULL},
};
FY_OP(ResizeNearestNeighbor, .shape = fy_resize_shape, .compute = resize_nearest, .host_inputs = 2,
      FY_SAMPLES(nearest_samples));
FY_OP(ResizeNearestNeighborGrad, .shape = fy_resize_shape, .compute = resize_nearest_grad,
      .host_inputs = 2, FY_SAMPLES(nearest_grad_samples));
FY_OP(ResizeBilinear, .shape = fy_resize_shape, .compute = resize_bilinear, .host_inputs = 2,
      FY_SAMPLES(bilinear_samples));
FY_OP(ResizeBilinearGrad, .shape = fy_resize_grad_shape, .compute = resize_bilinear_grad,
      FY_SAMPLES(bilinear_grad_samples));
FY_OP(ResizeArea, .shape = fy_resize_shape, .compute = resize_area, .host_inputs = 2,
      FY_SAMPLES(area_samples));
