// SPDX-License-Identifier: Apache-2.0
// conv.c: Conv2D, Conv3D and the gradients of their input and filter.
//
// All six are sums of small matrix products, one per tap of the window and row of the image: a row
// of pixels, |stride| pixels apart, is a matrix whose rows are channels. No patches are copied.
//   forward   out  row [x, oc] += in  row [x, ic] * filter[tap] [ic, oc]
//   to input  grad row [x, ic] += out row [x, oc] * filter[tap]^T [oc, ic]
//   to filter filter[tap] [ic, oc] += in row^T [ic, x] * out row [x, oc]
// Work is split over rows of what is written, so that nobody writes what another one does.
// Any group count, dilation and data format, forward and backward (TensorFlow's CPU kernels know
// fewer). Not here: the fast kernels of devices/cpu; depthwise.c.

#include "base/alloc.h"
#include "ops/conv.h"
#include "ops/typed.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define PIXELS   64   // output pixels of one item
#define CHANNELS 16   // filter rows of one item
#define DEPTH    128  // columns of four rows that are laid side by side

typedef struct conv_job {
  fy_conv c;
  const void *in, *filter, *grad;  // plain
  void *out;
  int64_t blocks;  // items per row (pixels) or per tap and group (channels)
} conv_job;

#define MADD_REAL(S, acc, x, y) ((acc) + (x) * (y))
#define MADD_INT(S, acc, x, y)  ((fy_u_##S)(acc) + (fy_u_##S)(x) * (fy_u_##S)(y))

// c [m, n] += a [m, k] b [k, n]; rows of a and c lie a_row and c_row apart, columns of a a_col.
// A tile of 4 x 8 stays in registers; four rows of a are laid side by side first, which keeps the
// compiler from vectorising along k.
#define PRODUCT(E, S, MADD)                                                                       \
  __attribute__((noinline)) static void rows4_##S(const fy_a_##S(*x)[4], const fy_a_##S *b,       \
                                                  int64_t b_row, fy_a_##S *c, int64_t c_row,      \
                                                  int64_t k, int64_t n) {                         \
    int64_t j = 0;                                                                                \
    for (; j + 8 <= n; j += 8) {                                                                  \
      fy_a_##S acc[4][8];                                                                         \
      for (int r = 0; r < 4; r++) {                                                               \
        for (int q = 0; q < 8; q++) acc[r][q] = c[r * c_row + j + q];                             \
      }                                                                                           \
      for (int64_t p = 0; p < k; p++) {                                                           \
        const fy_a_##S *y = b + p * b_row + j;                                                    \
        for (int r = 0; r < 4; r++) {                                                             \
          for (int q = 0; q < 8; q++) acc[r][q] = (fy_a_##S)MADD(S, acc[r][q], x[p][r], y[q]);    \
        }                                                                                         \
      }                                                                                           \
      for (int r = 0; r < 4; r++) {                                                               \
        for (int q = 0; q < 8; q++) c[r * c_row + j + q] = acc[r][q];                             \
      }                                                                                           \
    }                                                                                             \
    for (; j < n; j++) {                                                                          \
      for (int r = 0; r < 4; r++) {                                                               \
        fy_a_##S acc = c[r * c_row + j];                                                          \
        for (int64_t p = 0; p < k; p++) acc = (fy_a_##S)MADD(S, acc, x[p][r], b[p * b_row + j]);  \
        c[r * c_row + j] = acc;                                                                   \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  static void madd_##S(const fy_a_##S *a, int64_t a_row, int64_t a_col, const fy_a_##S *b,        \
                       int64_t b_row, fy_a_##S *c, int64_t c_row, int64_t m, int64_t k,           \
                       int64_t n) {                                                               \
    fy_a_##S x[DEPTH][4];                                                                         \
    int64_t i = 0;                                                                                \
    for (; i + 4 <= m; i += 4) {                                                                  \
      for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {                                                 \
        const int64_t some = k - p0 < DEPTH ? k - p0 : DEPTH;                                     \
        const fy_a_##S *from = a + i * a_row + p0 * a_col;                                        \
        for (int64_t p = 0; p < some; p++) {                                                      \
          for (int r = 0; r < 4; r++) x[p][r] = from[r * a_row + p * a_col];                      \
        }                                                                                         \
        rows4_##S((const fy_a_##S(*)[4])x, b + p0 * b_row, b_row, c + i * c_row, c_row, some, n); \
      }                                                                                           \
    }                                                                                             \
    for (; i < m; i++) {                                                                          \
      fy_a_##S *restrict to = c + i * c_row;                                                      \
      for (int64_t p = 0; p < k; p++) {                                                           \
        const fy_a_##S v = a[i * a_row + p * a_col];                                              \
        const fy_a_##S *restrict y = b + p * b_row;                                               \
        for (int64_t j = 0; j < n; j++) to[j] = (fy_a_##S)MADD(S, to[j], v, y[j]);                \
      }                                                                                           \
    }                                                                                             \
  }

// Item: (image, depth, height, block of pixels) of the output.
#define FORWARD(E, S, _)                                                                          \
  static void forward_##S(void *arg, int64_t begin, int64_t end) {                                \
    const conv_job *j = arg;                                                                      \
    const fy_conv *c = &j->c;                                                                     \
    const fy_window *wd = &c->w[0], *wh = &c->w[1], *ww = &c->w[2];                               \
    const int64_t ic = c->in_depth, oc = c->out_depth, icg = c->filter_depth;                     \
    const int64_t ocg = oc / c->groups;                                                           \
    for (int64_t item = begin; item < end; item++) {                                              \
      const int64_t row = item / j->blocks, x0 = item % j->blocks * PIXELS;                       \
      const int64_t x1 = ww->out - x0 < PIXELS ? ww->out : x0 + PIXELS;                           \
      const int64_t y = row % wh->out, z = row / wh->out % wd->out;                               \
      const int64_t image = row / wh->out / wd->out;                                              \
      fy_a_##S *out = (fy_a_##S *)j->out + row * ww->out * oc;                                    \
      for (int64_t i = x0 * oc; i < x1 * oc; i++) out[i] = 0;                                     \
      for (int64_t t = 0; t < c->taps; t++) {                                                     \
        int64_t at[3], lo, hi;                                                                    \
        fy_conv_tap(c, t, at);                                                                    \
        const int64_t iz = fy_window_at(wd, z, at[0]);                                            \
        const int64_t iy = fy_window_at(wh, y, at[1]);                                            \
        if (iz < 0 || iz >= wd->in || iy < 0 || iy >= wh->in) continue;                           \
        fy_window_range(ww, at[2], &lo, &hi);                                                     \
        lo = lo < x0 ? x0 : lo;                                                                   \
        hi = hi > x1 ? x1 : hi;                                                                   \
        if (lo >= hi) continue;                                                                   \
        const int64_t ix = fy_window_at(ww, lo, at[2]);                                           \
        const fy_a_##S *in =                                                                      \
            (const fy_a_##S *)j->in + (((image * wd->in + iz) * wh->in + iy) * ww->in + ix) * ic; \
        const fy_a_##S *filter = (const fy_a_##S *)j->filter + t * icg * oc;                      \
        for (int64_t g = 0; g < c->groups; g++) {                                                 \
          madd_##S(in + g * icg, ww->stride * ic, 1, filter + g * ocg, oc,                        \
                   out + lo * oc + g * ocg, oc, hi - lo, icg, ocg);                               \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
  }

// Item: (image, depth, height) of the input. The filter is transposed: [tap, oc, ic of a group].
#define TO_INPUT(E, S, _)                                                                          \
  static void to_input_##S(void *arg, int64_t begin, int64_t end) {                                \
    const conv_job *j = arg;                                                                       \
    const fy_conv *c = &j->c;                                                                      \
    const fy_window *wd = &c->w[0], *wh = &c->w[1], *ww = &c->w[2];                                \
    const int64_t ic = c->in_depth, oc = c->out_depth, icg = c->filter_depth;                      \
    const int64_t ocg = oc / c->groups;                                                            \
    for (int64_t row = begin; row < end; row++) {                                                  \
      const int64_t iy = row % wh->in, iz = row / wh->in % wd->in;                                 \
      const int64_t image = row / wh->in / wd->in;                                                 \
      fy_a_##S *out = (fy_a_##S *)j->out + row * ww->in * ic;                                      \
      for (int64_t i = 0; i < ww->in * ic; i++) out[i] = 0;                                        \
      for (int64_t t = 0; t < c->taps; t++) {                                                      \
        int64_t at[3], lo, hi;                                                                     \
        fy_conv_tap(c, t, at);                                                                     \
        const int64_t z = iz + wd->before - at[0] * wd->dilation;                                  \
        const int64_t y = iy + wh->before - at[1] * wh->dilation;                                  \
        if (z < 0 || y < 0 || z % wd->stride || y % wh->stride) continue;                          \
        if (z / wd->stride >= wd->out || y / wh->stride >= wh->out) continue;                      \
        fy_window_range(ww, at[2], &lo, &hi);                                                      \
        if (lo >= hi) continue;                                                                    \
        const int64_t ix = fy_window_at(ww, lo, at[2]);                                            \
        const fy_a_##S *grad =                                                                     \
            (const fy_a_##S *)j->grad +                                                            \
            (((image * wd->out + z / wd->stride) * wh->out + y / wh->stride) * ww->out + lo) * oc; \
        const fy_a_##S *filter = (const fy_a_##S *)j->filter + t * oc * icg;                       \
        for (int64_t g = 0; g < c->groups; g++) {                                                  \
          madd_##S(grad + g * ocg, oc, 1, filter + g * ocg * icg, icg, out + ix * ic + g * icg,    \
                   ww->stride * ic, hi - lo, ocg, icg);                                            \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

// Item: (tap, group, block of input channels) of the filter.
#define TO_FILTER(E, S, _)                                                                      \
  static void to_filter_##S(void *arg, int64_t begin, int64_t end) {                            \
    const conv_job *j = arg;                                                                    \
    const fy_conv *c = &j->c;                                                                   \
    const fy_window *wd = &c->w[0], *wh = &c->w[1], *ww = &c->w[2];                             \
    const int64_t ic = c->in_depth, oc = c->out_depth, icg = c->filter_depth;                   \
    const int64_t ocg = oc / c->groups;                                                         \
    for (int64_t item = begin; item < end; item++) {                                            \
      const int64_t first = item % j->blocks * CHANNELS, g = item / j->blocks % c->groups;      \
      const int64_t t = item / j->blocks / c->groups;                                           \
      const int64_t count = icg - first < CHANNELS ? icg - first : CHANNELS;                    \
      fy_a_##S *out = (fy_a_##S *)j->out + (t * icg + first) * oc + g * ocg;                    \
      int64_t at[3], lo, hi;                                                                    \
      for (int64_t i = 0; i < count; i++) {                                                     \
        for (int64_t k = 0; k < ocg; k++) out[i * oc + k] = 0;                                  \
      }                                                                                         \
      fy_conv_tap(c, t, at);                                                                    \
      fy_window_range(ww, at[2], &lo, &hi);                                                     \
      if (lo >= hi) continue;                                                                   \
      const int64_t ix = fy_window_at(ww, lo, at[2]);                                           \
      for (int64_t row = 0; row < c->batch * wd->out * wh->out; row++) {                        \
        const int64_t y = row % wh->out, z = row / wh->out % wd->out;                           \
        const int64_t image = row / wh->out / wd->out;                                          \
        const int64_t iz = fy_window_at(wd, z, at[0]);                                          \
        const int64_t iy = fy_window_at(wh, y, at[1]);                                          \
        if (iz < 0 || iz >= wd->in || iy < 0 || iy >= wh->in) continue;                         \
        const fy_a_##S *in = (const fy_a_##S *)j->in +                                          \
                             (((image * wd->in + iz) * wh->in + iy) * ww->in + ix) * ic +       \
                             g * icg + first;                                                   \
        const fy_a_##S *grad = (const fy_a_##S *)j->grad + (row * ww->out + lo) * oc + g * ocg; \
        madd_##S(in, 1, ww->stride *ic, grad, oc, out, oc, count, hi - lo, ocg);                \
      }                                                                                         \
    }                                                                                           \
  }

// [tap, ic, oc] -> [tap, oc, ic]
#define TRANSPOSE(E, S, _)                                                          \
  static void transpose_##S(const void *from, void *to, int64_t taps, int64_t rows, \
                            int64_t cols) {                                         \
    const fy_a_##S *in = from;                                                      \
    fy_a_##S *out = to;                                                             \
    for (int64_t t = 0; t < taps; t++, in += rows * cols, out += rows * cols) {     \
      for (int64_t r = 0; r < rows; r++) {                                          \
        for (int64_t k = 0; k < cols; k++) out[k * rows + r] = in[r * cols + k];    \
      }                                                                             \
    }                                                                               \
  }

#define ALL_LOOPS(E, S, MADD) \
  PRODUCT(E, S, MADD) FORWARD(E, S, _) TO_INPUT(E, S, _) TO_FILTER(E, S, _) TRANSPOSE(E, S, _)
FY_FULL_REAL_TYPES(ALL_LOOPS, MADD_REAL)
ALL_LOOPS(FY_INT32, i32, MADD_INT)

#define CONV_TYPES(X, name) FY_FULL_REAL_TYPES(X, name) X(FY_INT32, i32, name)
typedef void (*items_fn)(void *arg, int64_t begin, int64_t end);
typedef void (*transpose_fn)(const void *from, void *to, int64_t taps, int64_t rows, int64_t cols);
static const items_fn forwards[FY_DTYPE_COUNT] = {CONV_TYPES(FY_LOOP_ENTRY, forward)};
static const items_fn to_inputs[FY_DTYPE_COUNT] = {CONV_TYPES(FY_LOOP_ENTRY, to_input)};
static const items_fn to_filters[FY_DTYPE_COUNT] = {CONV_TYPES(FY_LOOP_ENTRY, to_filter)};
static const transpose_fn transposes[FY_DTYPE_COUNT] = {CONV_TYPES(FY_LOOP_ENTRY, transpose)};

static fy_code fail_type(fy_kernel_ctx *ctx, fy_dtype t, fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                 fy_dtype_name(t));
}

static fy_code fail_no_filter(fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "filter must not have zero elements (i.e. all dimensions must be non-zero)");
}

// A 1x1 window with stride 1 sees the image as one long row.
static void flatten(fy_conv *c) {
  for (int i = 0; i < 3; i++) {
    const fy_window *w = &c->w[i];
    if (w->size != 1 || w->stride != 1 || w->before || w->after) return;
  }
  const int64_t pixels = c->batch * c->in_spatial;
  c->batch = 1;
  c->w[0].in = c->w[0].out = c->w[1].in = c->w[1].out = 1;
  c->w[2].in = c->w[2].out = pixels;
}

// What one pixel costs, roughly.
static double pixel_ns(const fy_conv *c) {
  return 0.3 * (double)c->taps * (double)c->filter_depth * (double)c->out_depth + 5;
}

// ---------------------------------------------------------------- forward
fy_code fy_conv_batch(fy_kernel_ctx *ctx, const fy_tensor *in, const fy_tensor *filter,
                      int32_t lead, const int64_t *lead_dims, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  conv_job j = {.blocks = 1};
  fy_tensor *out;
  int64_t dims[5], all[FY_MAX_RANK];
  FY_TRY(fy_conv_forward(ctx, in, filter, false, &j.c, err));
  const fy_conv *c = &j.c;
  const int64_t spatial[3] = {c->w[0].out, c->w[1].out, c->w[2].out};
  fy_window_shape(a, c->batch, spatial, c->out_depth, dims);
  memcpy(all, lead_dims, (size_t)lead * sizeof *all);
  memcpy(all + lead, dims + 1, (size_t)(a->spatial + 1) * sizeof *all);
  FY_TRY(fy_out(ctx, 0, lead + a->spatial + 1, all, &out, err));
  const fy_dtype type = in->dtype, plain = fy_plain_type(type);
  if (!forwards[plain] || filter->dtype != type) return fail_type(ctx, type, err);
  if (out->count == 0) return FY_OK;
  if (in->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  if (filter->count == 0) return fail_no_filter(err);
  if (c->out_depth % c->groups || c->out_depth < c->groups) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "output depth must be evenly divisible by number of groups: %lld vs %lld",
                   (long long)c->out_depth, (long long)c->groups);
  }
  FY_TRY(fy_plain_load(ctx, type, in->data, c->batch, c->in_spatial, c->in_depth, a->channels_last,
                       &j.in, err));
  FY_TRY(fy_plain_load(ctx, type, filter->data, 1, 1, filter->count, true, &j.filter, err));
  FY_TRY(fy_plain_room(ctx, type, out->data, out->count, a->channels_last, &j.out, err));
  const int64_t batch = c->batch, pixels = c->out_spatial;
  flatten(&j.c);
  j.blocks = (c->w[2].out + PIXELS - 1) / PIXELS;
  const double item = (double)(c->w[2].out < PIXELS ? c->w[2].out : PIXELS);
  fy_parallel(ctx, c->batch * c->w[0].out * c->w[1].out * j.blocks, item * pixel_ns(c),
              forwards[plain], &j);
  fy_plain_store(type, j.out, out->data, batch, pixels, c->out_depth, a->channels_last);
  return FY_OK;
}

static fy_code convolve(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  return fy_conv_batch(ctx, in, ctx->in[1], 1, in->rank ? in->dims : &in->count, err);
}

// Conv: any number of batch dims, two or three spatial ones.
static fy_code convolve_any(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  const int64_t batch = fy_site_int(ctx->site, "batch_dims"), spatial = in->rank - 1 - batch;
  if (fy_site_int(ctx->site, "groups") != 1) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Grouped/Depthwise Convolutions are not supported yet.");
  }
  if (spatial < 2 || spatial > 3 || batch < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The input must have 2 or 3 spatial dimensions but got %lld",
                   (long long)spatial);
  }
  if (filter->rank != 4 && filter->rank != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The filter must be rank 4 or 5 but got %d",
                   filter->rank);
  }
  if (a->spatial != spatial) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window strides field must specify %lld dimensions",
                   (long long)spatial + 2);
  }
  fy_tensor flat = *in;
  int64_t dims[5] = {1};
  for (int64_t d = 0; d < batch; d++) dims[0] *= in->dims[d];
  for (int64_t d = 0; d < spatial + 1; d++) dims[1 + d] = in->dims[batch + d];
  flat.rank = (int32_t)spatial + 2;
  flat.dims = dims;
  const int64_t depth = dims[fy_channel_dim(a)];
  if (filter->rank == flat.rank && depth != filter->dims[spatial]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input depth must be equal to filter depth: %lld vs %lld", (long long)depth,
                   (long long)filter->dims[spatial]);
  }
  if (filter->count == 0) return fail_no_filter(err);
  return fy_conv_batch(ctx, &flat, filter, (int32_t)batch, in->dims, err);
}

// ---------------------------------------------------------------- gradient of the input
// The shape that input |i| gives; Conv2DBackpropInput also takes height and width alone.
static fy_code sizes_of(fy_kernel_ctx *ctx, const fy_tensor *sizes, const fy_tensor *filter,
                        const fy_tensor *grad, int32_t *rank, int64_t dims[FY_MAX_RANK],
                        fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  if (a->spatial == 2 && grad->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_sizes must be 4-dimensional, got: %d",
                   grad->rank);
  }
  if (a->spatial == 2 && sizes->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Conv2DBackpropInput: input_sizes input must be 1-dim, not %d", sizes->rank);
  }
  if (a->spatial == 2 && sizes->count == 2 && filter->rank == 4 && grad->rank == 4) {
    const int64_t spatial[3] = {1, fy_tensor_int(sizes, 0), fy_tensor_int(sizes, 1)};
    if (spatial[1] < 0 || spatial[2] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Conv2DBackpropInput: elements of input_sizes must be >= 0, not %lldx%lld",
                     (long long)spatial[1], (long long)spatial[2]);
    }
    *rank = 4;
    fy_window_shape(a, grad->dims[0], spatial, filter->dims[2], dims);
    return FY_OK;
  }
  if (a->spatial == 2 && sizes->count != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but "
                   "got: %lld",
                   (long long)sizes->count);
  }
  return fy_value_shape(sizes, rank, dims, err);
}

static fy_code input_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const fy_tensor *filter = ctx->in[1], *grad = ctx->in[2];
  const char *label = a->spatial == 2 ? "Conv2DCustomBackpropInput" : "Conv3DBackpropInputOp";
  conv_job j = {.blocks = 1};
  fy_tensor *out;
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
  if (fy_dtype_is_integer(ctx->in[0]->dtype)) {
    FY_TRY(sizes_of(ctx, ctx->in[0], filter, grad, &rank, dims, err));
  } else {  // version 1: an input of that shape
    rank = ctx->in[0]->rank;
    memcpy(dims, ctx->in[0]->dims, (size_t)rank * sizeof *dims);
  }
  FY_TRY(
      fy_conv_backward(ctx, label, rank, dims, filter->rank, filter->dims, grad, false, &j.c, err));
  const fy_conv *c = &j.c;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  const fy_dtype type = filter->dtype, plain = fy_plain_type(type);
  if (!to_inputs[plain] || grad->dtype != type) return fail_type(ctx, type, err);
  if (out->count == 0) return FY_OK;
  if (grad->count == 0 || filter->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  const void *wide;
  void *turned;
  FY_TRY(fy_plain_load(ctx, type, grad->data, c->batch, c->out_spatial, c->out_depth,
                       a->channels_last, &j.grad, err));
  FY_TRY(fy_plain_load(ctx, type, filter->data, 1, 1, filter->count, true, &wide, err));
  FY_TRY(fy_scratch(ctx, (size_t)filter->count * fy_dtype_storage(plain), &turned, err));
  transposes[plain](wide, turned, c->taps, c->filter_depth, c->out_depth);
  j.filter = turned;
  FY_TRY(fy_plain_room(ctx, type, out->data, out->count, a->channels_last, &j.out, err));
  fy_parallel(ctx, c->batch * c->w[0].in * c->w[1].in, (double)c->w[2].in * pixel_ns(c),
              to_inputs[plain], &j);
  fy_plain_store(type, j.out, out->data, c->batch, c->in_spatial, c->in_depth, a->channels_last);
  return FY_OK;
}

// ---------------------------------------------------------------- gradient of the filter
static fy_code filter_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *sizes = ctx->in[1], *grad = ctx->in[2];
  const char *label = a->spatial == 2 ? "Conv2DCustomBackpropFilter" : "Conv3DBackpropFilterOp";
  conv_job j = {.blocks = 1};
  fy_tensor *out;
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
  if (!fy_dtype_is_integer(sizes->dtype)) {  // version 1: a filter of that shape
    rank = sizes->rank;
    memcpy(dims, sizes->dims, (size_t)rank * sizeof *dims);
  } else if (sizes->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Conv2DCustomBackpropFilter: filter_sizes input must be 1-dim, not %d",
                   sizes->rank);
  } else {
    FY_TRY(fy_value_shape(sizes, &rank, dims, err));
  }
  FY_TRY(fy_conv_backward(ctx, label, in->rank, in->dims, rank, dims, grad, false, &j.c, err));
  const fy_conv *c = &j.c;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  const fy_dtype type = in->dtype, plain = fy_plain_type(type);
  if (!to_filters[plain] || grad->dtype != type) return fail_type(ctx, type, err);
  if (out->count == 0) return FY_OK;
  if (grad->count == 0 || in->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  FY_TRY(fy_plain_load(ctx, type, in->data, c->batch, c->in_spatial, c->in_depth, a->channels_last,
                       &j.in, err));
  FY_TRY(fy_plain_load(ctx, type, grad->data, c->batch, c->out_spatial, c->out_depth,
                       a->channels_last, &j.grad, err));
  FY_TRY(fy_plain_room(ctx, type, out->data, out->count, true, &j.out, err));
  j.blocks = (c->filter_depth + CHANNELS - 1) / CHANNELS;
  const int64_t items = c->taps * c->groups * j.blocks;
  fy_parallel(ctx, items, (double)c->batch * (double)c->out_spatial * pixel_ns(c) / (double)items,
              to_filters[plain], &j);
  fy_plain_store(type, j.out, out->data, 1, 1, out->count, true);
  return FY_OK;
}

#define ONES4 "strides=[1,1,1,1]; "
static const fy_sample conv2d_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[1,1,1,2]=1,10", ONES4 "padding=\"VALID\"", FY_OK,
     "1,10,2,20,3,30,4,40"},
    {"f32[1,3,3,1]=iota; f32[2,2,1,1]=ones", ONES4 "padding=\"SAME\"", FY_OK,
     "8,12,7,20,24,13,13,15,8"},
    {"f32[1,1,3,3]=iota; f32[2,2,1,1]=ones", ONES4 "padding=\"VALID\"; data_format=\"NCHW\"", FY_OK,
     "8,12,20,24"},
    {"f16[2,5,5,4]=normal; f16[3,3,2,6]=normal", "strides=[1,2,2,1]; padding=\"SAME\"", FY_OK,
     NULL},
    {"f32[1,9,70,8]=normal; f32[3,3,8,17]=normal", ONES4 "padding=\"SAME\"; dilations=[1,2,2,1]",
     FY_OK, NULL},
    {"f32[1,2,2,3]=zeros; f32[1,1,2,2]=zeros", ONES4 "padding=\"SAME\"", FY_INVALID_ARGUMENT,
     "input depth must be evenly divisible by filter depth: 3 vs 2"},
};
static const fy_sample conv2d_input_samples[] = {
    {"i32[4]=1,3,3,1; f32[2,2,1,1]=1,2,3,4; f32[1,2,2,1]=1,1,1,1", ONES4 "padding=\"VALID\"", FY_OK,
     "1,3,2,4,10,6,3,7,4"},
    {"i32[2]=5,5; f16[3,3,2,4]=normal; f16[1,3,3,4]=normal", "strides=[1,2,2,1]; padding=\"SAME\"",
     FY_OK, NULL},
    {"i32[4]=1,3,3,1; f32[2,2,1,1]=ones; f32[1,3,2,1]=ones", ONES4 "padding=\"VALID\"",
     FY_INVALID_ARGUMENT, "Conv2DCustomBackpropInput: Size of out_backprop doesn't match computed"},
};
static const fy_sample conv2d_filter_samples[] = {
    {"f32[1,3,3,1]=iota; i32[4]=2,2,1,1; f32[1,2,2,1]=1,1,1,1", ONES4 "padding=\"VALID\"", FY_OK,
     "8,12,20,24"},
    {"bf16[2,5,5,20]=normal; i32[4]=3,3,20,4; bf16[2,3,3,4]=normal",
     "strides=[1,2,2,1]; padding=\"SAME\"", FY_OK, NULL},
};
#define ONES5 "strides=[1,1,1,1,1]; "
static const fy_sample conv3d_samples[] = {
    {"f32[1,2,2,2,1]=iota; f32[2,2,2,1,1]=ones", ONES5 "padding=\"VALID\"", FY_OK, "28"},
    {"f16[1,3,4,5,2]=normal; f16[2,3,2,2,3]=normal", "strides=[1,1,2,2,1]; padding=\"SAME\"", FY_OK,
     NULL},
    {"f32[1,2,2,2,2]=zeros; f32[1,1,1,3,1]=zeros", ONES5 "padding=\"SAME\"", FY_INVALID_ARGUMENT,
     "Input depth must be evenly divisible by filter depth: 2 vs 3"},
};
static const fy_sample conv3d_input_samples[] = {
    {"i32[5]=1,2,2,2,1; f32[1,1,2,1,1]=1,2; f32[1,2,2,1,1]=1,2,3,4", ONES5 "padding=\"VALID\"",
     FY_OK, "1,2,2,4,3,6,4,8"},
};
static const fy_sample conv3d_filter_samples[] = {
    {"f32[1,2,2,2,1]=iota; i32[5]=1,1,2,1,1; f32[1,2,2,1,1]=1,2,3,4", ONES5 "padding=\"VALID\"",
     FY_OK, "40,50"},
};

static const fy_sample conv_samples[] = {
    {"f32[2,1,2,2,1]=iota; f32[1,1,1,1]=2", ONES4 "padding=\"VALID\"; batch_dims=2", FY_OK,
     "0,2,4,6,8,10,12,14"},
    {"f32[2,2,1]=iota; f32[2,2,1,1]=ones", ONES4 "padding=\"VALID\"; batch_dims=0", FY_OK, "6"},
    {"f32[1,2,2,2,1]=iota; f32[2,2,2,1,1]=ones", ONES5 "padding=\"VALID\"", FY_OK, "28"},
    {"f32[1,2,1]=iota; f32[2,1,1]=ones", "strides=[1,1,1]; padding=\"VALID\"", FY_INVALID_ARGUMENT,
     "The input must have 2 or 3 spatial dimensions but got 1"},
};
static const fy_sample conv3d_input_v1_samples[] = {
    {"f32[1,2,2,2,1]=zeros; f32[1,1,2,1,1]=1,2; f32[1,2,2,1,1]=1,2,3,4", ONES5 "padding=\"VALID\"",
     FY_OK, "1,2,2,4,3,6,4,8"},
};
static const fy_sample conv3d_filter_v1_samples[] = {
    {"f32[1,2,2,2,1]=iota; f32[1,1,2,1,1]=zeros; f32[1,2,2,1,1]=1,2,3,4", ONES5 "padding=\"VALID\"",
     FY_OK, "40,50"},
};

#define CONV(Name, shape_fn, prepare_fn, run, hosts, array)                                 \
  FY_OP(Name, .shape = shape_fn, .prepare = prepare_fn, .compute = run, .release = fy_free, \
        .cost = fy_conv_cost, .host_inputs = hosts, FY_SAMPLES(array))
CONV(Conv2D, fy_conv2d_shape, fy_conv_prepare_2d, convolve, 0, conv2d_samples);
CONV(Conv2DBackpropInput, fy_conv_input_shape, fy_conv_prepare_2d, input_gradient, 1,
     conv2d_input_samples);
CONV(Conv2DBackpropFilter, fy_conv_filter_shape, fy_conv_prepare_2d, filter_gradient, 2,
     conv2d_filter_samples);
CONV(Conv3D, fy_conv3d_shape, fy_conv_prepare_3d, convolve, 0, conv3d_samples);
CONV(Conv3DBackpropInputV2, fy_conv_input_shape, fy_conv_prepare_3d, input_gradient, 1,
     conv3d_input_samples);
CONV(Conv3DBackpropFilterV2, fy_conv_filter_shape, fy_conv_prepare_3d, filter_gradient, 2,
     conv3d_filter_samples);
CONV(Conv, fy_conv_any_shape, fy_conv_prepare_any, convolve_any, 0, conv_samples);
CONV(Conv3DBackpropInput, fy_conv_like_shape, fy_conv_prepare_3d, input_gradient, 0,
     conv3d_input_v1_samples);
CONV(Conv3DBackpropFilter, fy_conv_like_shape, fy_conv_prepare_3d, filter_gradient, 0,
     conv3d_filter_v1_samples);
