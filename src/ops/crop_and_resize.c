// SPDX-License-Identifier: Apache-2.0
// crop_and_resize.c: CropAndResize and its gradients to the image and to the boxes. A box is given
// in fractions of the image; what falls outside it gets |extrapolation_value|.

#include "ops/resize.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct crop_job {
  const float *boxes;    // [n, 4]: y1, x1, y2, x2
  const int32_t *which;  // [n]: image of the batch
  int64_t n, image_h, image_w, crop_h, crop_w, depth;
  const float *image, *grad;
  void *out;
  float outside;
  bool nearest;
} crop_job;

// Row (or column) |at| of a crop lies at start + at * step in the image.
typedef struct line {
  float start, step;
  int64_t size;  // of the image
} line;
static line line_of(float from, float to, int64_t crop, int64_t size) {
  if (crop <= 1) return (line){(float)(0.5 * (double)(from + to) * (double)(size - 1)), 0, size};
  const float scale = (to - from) * (float)(size - 1) / (float)(crop - 1);
  return (line){from * (float)(size - 1), scale, size};
}

// The rows (or columns) beside a place, and how far from the first to the second it is.
typedef struct tap {
  int64_t low, high, nearest;
  float part;
} tap;
static inline tap tap_at(float p, int64_t size) {     // p is inside of the image
  const int64_t whole = (int64_t)p, last = size - 1;  // (float)(size - 1) may round up
  const float part = p - (float)whole;
  const int64_t high = whole + (part > 0), nearest = whole + (part >= 0.5f);
  return (tap){whole < last ? whole : last, high < last ? high : last,
               nearest < last ? nearest : last, part};
}
static inline bool find_tap(line l, int64_t at, tap *out) {  // false: outside
  const float p = l.start + (float)at * l.step;
  if (!(p >= 0 && p <= (float)(l.size - 1))) return false;
  *out = tap_at(p, l.size);
  return true;
}

// Item: a box.
FY_CLONES static void crop_boxes(void *arg, int64_t begin, int64_t end) {
  const crop_job *j = arg;
  const int64_t d = j->depth;
  for (int64_t b = begin; b < end; b++) {
    const float *box = j->boxes + 4 * b;
    const float *image = j->image + (int64_t)j->which[b] * j->image_h * j->image_w * d;
    float *to = (float *)j->out + b * j->crop_h * j->crop_w * d;
    const line down = line_of(box[0], box[2], j->crop_h, j->image_h);
    const line along = line_of(box[1], box[3], j->crop_w, j->image_w);
    tap y = {0}, x = {0};
    bool row_inside = false;
    for (int64_t row = 0, col = 0; row < j->crop_h; to += d, row += col == 0) {
      if (col == 0) row_inside = find_tap(down, row, &y);
      const bool inside = row_inside && find_tap(along, col, &x);
      if (++col == j->crop_w) col = 0;
      if (!inside) {
        for (int64_t k = 0; k < d; k++) to[k] = j->outside;
        continue;
      }
      if (j->nearest) {
        const int64_t at = y.nearest * j->image_w + x.nearest;
        for (int64_t k = 0; k < d; k++) to[k] = image[at * d + k];
        continue;
      }
      const float *top = image + y.low * j->image_w * d, *bottom = image + y.high * j->image_w * d;
      const int64_t left = x.low * d, right = x.high * d;
      for (int64_t k = 0; k < d; k++) {
        const float a = top[left + k] + (top[right + k] - top[left + k]) * x.part;
        const float e = bottom[left + k] + (bottom[right + k] - bottom[left + k]) * x.part;
        to[k] = a + (e - a) * y.part;
      }
    }
  }
}

#define TO_IMAGE(E, S, _)                                                                        \
  static void to_image_##S(const crop_job *j) {                                                  \
    const int64_t d = j->depth;                                                                  \
    for (int64_t b = 0; b < j->n; b++) {                                                         \
      const float *box = j->boxes + 4 * b;                                                       \
      fy_t_##S *image = (fy_t_##S *)j->out + (int64_t)j->which[b] * j->image_h * j->image_w * d; \
      const float *grad = j->grad + b * j->crop_h * j->crop_w * d;                               \
      const line down = line_of(box[0], box[2], j->crop_h, j->image_h);                          \
      const line along = line_of(box[1], box[3], j->crop_w, j->image_w);                         \
      tap y = {0}, x = {0};                                                                      \
      bool row_inside = false;                                                                   \
      for (int64_t r = 0, c = 0; r < j->crop_h; grad += d, r += c == 0) {                        \
        if (c == 0) row_inside = find_tap(down, r, &y);                                          \
        const bool inside = row_inside && find_tap(along, c, &x);                                \
        if (++c == j->crop_w) c = 0;                                                             \
        if (!inside) continue;                                                                   \
        const float wy[] = {1 - y.part, y.part}, wx[] = {1 - x.part, x.part};                    \
        for (int q = 0; q < (j->nearest ? 1 : 4); q++) {                                         \
          const int64_t row = j->nearest ? y.nearest : q / 2 ? y.high : y.low;                   \
          const int64_t col = j->nearest ? x.nearest : q % 2 ? x.high : x.low;                   \
          fy_t_##S *to = image + (row * j->image_w + col) * d;                                   \
          for (int64_t k = 0; k < d; k++) {                                                      \
            const float part = j->nearest ? grad[k] : wx[q % 2] * (wy[q / 2] * grad[k]);         \
            to[k] = FY_ST_##S(FY_LD_##S(to[k]) + FY_RD_##S((fy_a_##S)part));                     \
          }                                                                                      \
        }                                                                                        \
      }                                                                                          \
    }                                                                                            \
  }
FY_REAL_TYPES(TO_IMAGE, _)
typedef void (*to_image_fn)(const crop_job *j);
static const to_image_fn to_images[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, to_image)};

// Item: a box.
static void to_boxes(void *arg, int64_t begin, int64_t end) {
  const crop_job *j = arg;
  const int64_t d = j->depth;
  for (int64_t b = begin; b < end; b++) {
    const float *box = j->boxes + 4 * b;
    const float *image = j->image + (int64_t)j->which[b] * j->image_h * j->image_w * d;
    const float *grad = j->grad + b * j->crop_h * j->crop_w * d;
    float *out = (float *)j->out + 4 * b;
    const float ratio_y = j->crop_h > 1 ? (float)(j->image_h - 1) / (float)(j->crop_h - 1) : 0;
    const float ratio_x = j->crop_w > 1 ? (float)(j->image_w - 1) / (float)(j->crop_w - 1) : 0;
    line down = line_of(box[0], box[2], j->crop_h, j->image_h);
    line along = line_of(box[1], box[3], j->crop_w, j->image_w);
    if (j->crop_h > 1) down.step = (box[2] - box[0]) * ratio_y;  // which rounds in another way
    if (j->crop_w > 1) along.step = (box[3] - box[1]) * ratio_x;
    for (int64_t p = 0; p < j->crop_h * j->crop_w; p++, grad += d) {
      const int64_t row = p / j->crop_w, col = p % j->crop_w;
      tap y, x;
      if (!find_tap(down, row, &y) || !find_tap(along, col, &x)) continue;
      const float *top = image + y.low * j->image_w * d, *bottom = image + y.high * j->image_w * d;
      const int64_t left = x.low * d, right = x.high * d;
      const float part_y = y.part, part_x = x.part;
      for (int64_t k = 0; k < d; k++) {
        const float tl = top[left + k], tr = top[right + k];
        const float bl = bottom[left + k], br = bottom[right + k];
        const float dy = ((1 - part_x) * (bl - tl) + part_x * (br - tr)) * grad[k];
        const float dx = ((1 - part_y) * (tr - tl) + part_y * (br - bl)) * grad[k];
        const float h = (float)(j->image_h - 1), w = (float)(j->image_w - 1);
        out[0] += j->crop_h > 1 ? dy * (h - (float)row * ratio_y) : dy * 0.5f * h;
        out[2] += j->crop_h > 1 ? dy * ((float)row * ratio_y) : dy * 0.5f * h;
        out[1] += j->crop_w > 1 ? dx * (w - (float)col * ratio_x) : dx * 0.5f * w;
        out[3] += j->crop_w > 1 ? dx * ((float)col * ratio_x) : dx * 0.5f * w;
      }
    }
  }
}

// ---------------------------------------------------------------- checks
static fy_code read_boxes(const fy_tensor *boxes, const fy_tensor *which, crop_job *j,
                          fy_error *err) {
  char x[128];
  j->n = 0;
  j->boxes = boxes->data;
  j->which = which->data;
  if (boxes->count == 0 && which->count == 0) return FY_OK;
  if (boxes->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "boxes must be 2-D, got: %s",
                   fy_tensor_shape_text(boxes, x));
  }
  if (boxes->dims[1] != 4) return fy_fail(err, FY_INVALID_ARGUMENT, "boxes must have 4 columns");
  if (which->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "box_indices must be rank 1 but is shape %s",
                   fy_tensor_shape_text(which, x));
  }
  if (which->dims[0] != boxes->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "box_index has incompatible shape");
  }
  j->n = boxes->dims[0];
  return FY_OK;
}

static fy_code check_index(const crop_job *j, int64_t batch, fy_error *err) {
  for (int64_t b = 0; b < j->n; b++) {
    if (j->which[b] >= 0 && j->which[b] < batch) continue;
    return fy_fail(err, FY_OUT_OF_RANGE, "box_index has values outside [0, batch_size)");
  }
  return FY_OK;
}

static fy_code read_image(const fy_tensor *image, crop_job *j, fy_error *err) {
  char x[128];
  if (image->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input image must be 4-D%s",
                   fy_tensor_shape_text(image, x));
  }
  j->image_h = image->dims[1];
  j->image_w = image->dims[2];
  j->depth = image->dims[3];
  if (j->image_h <= 0 || j->image_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image dimensions must be positive");
  }
  return FY_OK;
}

static fy_code crop(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *image = ctx->in[0], *size = ctx->in[3];
  crop_job j = {.outside = fy_site_float(ctx->site, "extrapolation_value"),
                .nearest = fy_view_is(fy_site_string(ctx->site, "method"), "nearest")};
  fy_tensor *out;
  char x[128];
  FY_TRY(read_image(image, &j, err));
  FY_TRY(read_boxes(ctx->in[1], ctx->in[2], &j, err));
  if (size->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "crop_size must be 1-D%s",
                   fy_tensor_shape_text(size, x));
  }
  if (size->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "crop_size must have two elements%s",
                   fy_tensor_shape_text(size, x));
  }
  j.crop_h = fy_tensor_int(size, 0);
  j.crop_w = fy_tensor_int(size, 1);
  if (j.crop_h <= 0 || j.crop_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "crop dimensions must be positive");
  }
  FY_TRY(check_index(&j, image->dims[0], err));
  const int64_t dims[] = {j.n, j.crop_h, j.crop_w, j.depth};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  for (int64_t i = 0; i < 4 * j.n; i++) {
    if (isfinite(j.boxes[i])) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Boxes contains at least one element that is not finite");
  }
  FY_TRY(fy_image_floats(ctx, image, &j.image, err));
  j.out = out->data;
  fy_parallel(ctx, j.n, (double)(j.crop_h * j.crop_w) * (10 + 2 * (double)j.depth), crop_boxes, &j);
  return FY_OK;
}

static fy_code read_grads(const fy_tensor *grad, crop_job *j, fy_error *err) {
  char x[128];
  if (grad->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "grads image must be 4-D%s",
                   fy_tensor_shape_text(grad, x));
  }
  j->grad = grad->data;
  j->crop_h = grad->dims[1];
  j->crop_w = grad->dims[2];
  if (j->crop_h <= 0 || j->crop_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "grads dimensions must be positive");
  }
  return FY_OK;
}

static fy_code image_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *size = ctx->in[3];
  crop_job j = {.nearest = fy_view_is(fy_site_string(ctx->site, "method"), "nearest")};
  fy_tensor *out;
  char x[128];
  FY_TRY(read_grads(grad, &j, err));
  FY_TRY(read_boxes(ctx->in[1], ctx->in[2], &j, err));
  if (size->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image_size must be 1-D%s",
                   fy_tensor_shape_text(size, x));
  }
  if (size->count != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image_size must have 4 elements%s",
                   fy_tensor_shape_text(size, x));
  }
  const int64_t dims[] = {fy_tensor_int(size, 0), fy_tensor_int(size, 1), fy_tensor_int(size, 2),
                          fy_tensor_int(size, 3)};
  j.image_h = dims[1];
  j.image_w = dims[2];
  j.depth = dims[3];
  if (j.image_h <= 0 || j.image_w <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image dimensions must be positive");
  }
  if (dims[0] < 0 || j.depth < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   (long long)(dims[0] < 0 ? dims[0] : j.depth));
  }
  if (grad->dims[0] != j.n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "boxes and grads have incompatible shape");
  }
  if (grad->dims[3] != j.depth) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image_size and grads are incompatible");
  }
  FY_TRY(check_index(&j, dims[0], err));
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (!to_images[out->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "CropAndResizeGradImage has no loop for %s",
                   fy_dtype_name(out->dtype));
  }
  if (out->count == 0) return FY_OK;
  memset(out->data, 0, fy_tensor_bytes(out));
  j.out = out->data;
  to_images[out->dtype](&j);
  return FY_OK;
}

static fy_code box_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *image = ctx->in[1];
  crop_job j = {.nearest = false};
  fy_tensor *out;
  FY_TRY(read_grads(grad, &j, err));
  FY_TRY(read_image(image, &j, err));
  if (grad->dims[3] != j.depth) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "image, grads depth differ");
  }
  FY_TRY(read_boxes(ctx->in[2], ctx->in[3], &j, err));
  if (grad->dims[0] != j.n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "boxes and grads have incompatible shape");
  }
  FY_TRY(check_index(&j, image->dims[0], err));
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){j.n, 4}, &out, err));
  if (out->count == 0) return FY_OK;
  memset(out->data, 0, fy_tensor_bytes(out));
  FY_TRY(fy_image_floats(ctx, image, &j.image, err));
  j.out = out->data;
  fy_parallel(ctx, j.n, (double)(j.crop_h * j.crop_w) * (20 + 5 * (double)j.depth), to_boxes, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code boxes_dim(fy_shape_ctx *ctx, int boxes, int which, int64_t *n, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[boxes], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[which], 1, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[boxes], 0), fy_dim_of(ctx->in[which], 0), n, err));
  return fy_dim_is(fy_dim_of(ctx->in[boxes], 1), 4, err);
}

static fy_code crop_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  FY_TRY(boxes_dim(ctx, 1, 2, &n, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 1, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[3], 0), 2, err));
  int64_t dims[4] = {n, -1, -1, fy_dim_of(ctx->in[0], 3)};
  const fy_tensor *v = fy_shape_tensor(ctx, 3);
  for (int i = 0; v && !v->device && v->count == 2 && i < 2; i++) {
    dims[1 + i] = fy_tensor_int(v, i) < 0 ? -1 : fy_tensor_int(v, i);
  }
  return fy_shape_set(ctx, 0, 4, dims, err);
}

static fy_code image_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape shape;
  FY_TRY(fy_shape_from_input(ctx, 3, &shape, err));
  FY_TRY(fy_shape_rank_is(shape, 4, err));
  return fy_shape_set(ctx, 0, 4, shape.rank < 0 ? NULL : shape.dims, err);
}

static fy_code box_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[2].rank, ctx->in[2].dims, err);
}

static const fy_sample samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[1,4]=0,0,1,1; i32[1]=0; i32[2]=3,3", NULL, FY_OK,
     "1,1.5,2,2,2.5,3,3,3.5,4"},
    {"u8[1,2,2,1]=1,2,3,4; f32[1,4]=0,0,2,2; i32[1]=0; i32[2]=2,2",
     "method=\"nearest\"; extrapolation_value=9.0", FY_OK, "1,9,9,9"},
    {"f32[1,2,2,1]=1,2,3,4; f32[1,4]=0,0,1,1; i32[1]=1; i32[2]=3,3", NULL, FY_OUT_OF_RANGE,
     "box_index has values outside [0, batch_size)"},
};
static const fy_sample image_samples[] = {
    {"f32[1,1,1,1]=4; f32[1,4]=0,0,1,1; i32[1]=0; i32[4]=1,2,2,1", "T=float", FY_OK, "1,1,1,1"},
};
static const fy_sample box_samples[] = {
    {"f32[1,1,1,1]=1; f32[1,2,2,1]=1,2,3,5; f32[1,4]=0,0,1,1; i32[1]=0", NULL, FY_OK,
     "1.25,0.75,1.25,0.75"},
};
FY_OP(CropAndResize, .shape = crop_shape, .compute = crop, .host_inputs = 8, FY_SAMPLES(samples));
FY_OP(CropAndResizeGradImage, .shape = image_grad_shape, .compute = image_gradient,
      .host_inputs = 8, FY_SAMPLES(image_samples));
FY_OP(CropAndResizeGradBoxes, .shape = box_grad_shape, .compute = box_gradient,
      FY_SAMPLES(box_samples));
