// SPDX-License-Identifier: Apache-2.0
// kernel_depthwise_grad.c: the gradients of a depthwise convolution of floats, channels last, with one
// filter per channel. The filter's is a sum over all pixels of products of channels: rows of pixels
// are summed in a fixed number of parts, so that the result does not depend on the threads. The
// input's is the convolution of the gradient with the filter turned around, where the window moves
// by one pixel at a time.

#include <string.h>

#include "devices/cpu/kernels.h"
#include "ops/conv.h"
#include "ops/fused.h"
#include "ops/values.h"

#define MOST_PARTS 16
#define CHANNELS   64       // summed at a time
#define LONG_ROW   16       // pixels: in shorter ones its ends take too long, …
#define FEW        32       // … unless there are no more channels than these
#define LINE       16       // numbers of a cache line
#define FAR_BYTES  4194304  // that are not in L2

typedef struct filter_job {
  const fy_conv *c;
  const fy_lanes *lanes;
  const float *in, *grad;
  float *sums;  // [parts, taps, channels]
  int64_t parts;
  bool far;  // what is summed is not in a near cache
} filter_job;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// The outputs [*lo, *hi) all of whose taps are inside.
static void find_inside(const fy_window *w, int64_t *lo, int64_t *hi) {
  *lo = 0;
  *hi = w->out;
  for (int64_t k = 0; k < w->size; k++) {
    int64_t a, b;
    fy_window_range(w, k, &a, &b);
    *lo = most(*lo, a);
    *hi = least(*hi, b);
  }
  if (*lo >= *hi) *lo = *hi = 0;
}

// Do outputs at |y| look through a window of 3 whose taps are all inside?
static bool sees_all(const fy_window *w, int64_t y) {
  return w->size == 3 && y < w->out && fy_window_at(w, y, 0) >= 0 && fy_window_at(w, y, 2) < w->in;
}

// Row |row| of all images, through line |r| of the window: the pixels that every tap of it sees
// inside of the image are summed for all taps at once, those at the ends tap by tap.
static void add_line(const filter_job *j, int64_t row, int64_t r, float *sums) {
  const fy_window *wh = &j->c->w[1], *ww = &j->c->w[2];
  const int64_t ch = j->c->in_depth, step = ww->stride * ch;
  const int64_t iy = fy_window_at(wh, row % wh->out, r);
  if (iy < 0 || iy >= wh->in) return;
  const float *line = j->in + (row / wh->out * wh->in + iy) * ww->in * ch;
  const float *grad = j->grad + row * ww->out * ch;
  int64_t lo, hi;
  find_inside(ww, &lo, &hi);
  if (lo < hi)
    j->lanes->tap_sums_f32(line + (lo * ww->stride - ww->before) * ch, step, ww->dilation * ch,
                           ww->size, grad + lo * ch, ch, sums, ch, hi - lo, ch);
  for (int64_t k = 0; k < ww->size; k++) {
    int64_t a, b;
    fy_window_range(ww, k, &a, &b);
    const int64_t ends[2][2] = {{a, least(b, lo)}, {most(a, hi), b}};
    for (int e = 0; e < 2; e++) {
      const int64_t x0 = ends[e][0], n = ends[e][1] - x0;
      if (n > 0)
        j->lanes->tap_sums_f32(line + fy_window_at(ww, x0, k) * ch, step, 0, 1, grad + x0 * ch, ch,
                               sums + k * ch, ch, n, ch);
    }
  }
}

// The same through all lines of a window of 3 x 3 at once; while some channels are summed, what the next row
// brings of them is called for.
static void add_square(const filter_job *j, int64_t row, float *sums) {
  const fy_window *wh = &j->c->w[1], *ww = &j->c->w[2];
  const int64_t ch = j->c->in_depth, y = row % wh->out, line = ww->in * ch;
  const float *image = j->in + row / wh->out * wh->in * line;
  fy_tap_square s = {.grad = j->grad + row * ww->out * ch,
                     .width = ww->in,
                     .before = ww->before,
                     .stride = ww->stride,
                     .dilation = ww->dilation,
                     .channels = ch,
                     .pixels = ww->out,
                     .sums = sums};
  find_inside(ww, &s.first, &s.last);
  for (int r = 0; r < 3; r++) s.lines[r] = image + fy_window_at(wh, y, r) * line;
  const float *next[2] = {s.grad + ww->out * ch, s.lines[2] + wh->stride * line};
  const int64_t numbers[2] = {ww->out * ch, line};
  const bool far = j->far && sees_all(wh, y + 1);
  for (int64_t c = 0; c < ch; c += CHANNELS) {
    const int64_t end = least(c + CHANNELS, ch);
    for (int k = 0; far && k < 2; k++)
      for (int64_t at = numbers[k] * c / ch; at < numbers[k] * end / ch; at += LINE)
        __builtin_prefetch(next[k] + at, 0, 2);
    j->lanes->square_sums_f32(&s, c, end);
  }
}

static void sum_parts(void *arg, int64_t begin, int64_t end) {
  const filter_job *j = arg;
  const fy_window *wh = &j->c->w[1], *ww = &j->c->w[2];
  const int64_t ch = j->c->in_depth, rows = j->c->batch * wh->out;
  const bool square = ww->size == 3 && (ww->out >= LONG_ROW || ch <= FEW);
  for (int64_t part = begin; part < end; part++) {
    float *sums = j->sums + part * j->c->taps * ch;
    memset(sums, 0, (size_t)(j->c->taps * ch) * sizeof *sums);
    for (int64_t row = part * rows / j->parts; row < (part + 1) * rows / j->parts; row++) {
      if (square && sees_all(wh, row % wh->out)) {
        add_square(j, row, sums);
        continue;
      }
      for (int64_t r = 0; r < wh->size; r++) add_line(j, row, r, sums + r * ww->size * ch);
    }
  }
}

static bool plain_sizes(const fy_tensor *sizes, int64_t dims[FY_MAX_RANK]) {
  int32_t rank;
  return sizes->rank == 1 && fy_value_shape(sizes, &rank, dims, NULL) == FY_OK && rank == 4;
}

// One filter per channel, and something to do.
static bool is_simple(const fy_conv *c) {
  return c->out_depth == c->in_depth && c->taps > 0 && c->taps <= 4096 && c->out_spatial > 0 &&
         c->in_spatial > 0 && c->batch > 0;
}

static fy_code depthwise_filter(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *grad = ctx->in[2];
  fy_conv c;
  int64_t dims[FY_MAX_RANK];
  if (!attrs->channels_last || grad->dtype != in->dtype || !in->count || !grad->count ||
      !plain_sizes(ctx->in[1], dims) ||
      fy_conv_backward(ctx, "", in->rank, in->dims, 4, dims, grad, true, &c, NULL) ||
      !is_simple(&c))
    return fy_fast_reference(ctx, err);
  fy_tensor *out;
  void *sums;
  const int64_t n = c.taps * c.in_depth;
  filter_job j = {.c = &c,
                  .lanes = fy_lanes_best(),
                  .in = in->data,
                  .grad = grad->data,
                  .parts = least(MOST_PARTS, c.batch * c.w[1].out),
                  .far = in->count + grad->count > FAR_BYTES / (int64_t)sizeof(float)};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  FY_TRY(fy_scratch(ctx, (size_t)(j.parts * n) * sizeof(float), &sums, err));
  j.sums = sums;
  fy_parallel(ctx, j.parts, 0.04 * (double)c.taps * (double)grad->count / (double)j.parts,
              sum_parts, &j);
  float *to = out->data;
  memcpy(to, j.sums, (size_t)n * sizeof *to);
  for (int64_t part = 1; part < j.parts; part++)
    for (int64_t i = 0; i < n; i++) to[i] += j.sums[part * n + i];
  return FY_OK;
}

// The filter's sizes are data: as for a window of 3 x 3, as most have.
static void filter_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_tensor *in = ctx->in[0];
  if (in->rank == 4)
    out->scratch += fy_scratch_line((size_t)(MOST_PARTS * 9 * in->dims[3]) * sizeof(float));
}

static fy_code depthwise_input(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_tensor *filter = ctx->in[1], *grad = ctx->in[2];
  fy_conv c;
  int64_t dims[FY_MAX_RANK];
  if (!attrs->channels_last || filter->dtype != FY_FLOAT || grad->dtype != FY_FLOAT ||
      !filter->count || !grad->count || !plain_sizes(ctx->in[0], dims) ||
      fy_conv_backward(ctx, "", 4, dims, filter->rank, filter->dims, grad, true, &c, NULL) ||
      !is_simple(&c) || c.w[1].stride != 1 || c.w[2].stride != 1)
    return fy_fast_reference(ctx, err);
  fy_conv_turn(&c);
  if (!fy_depthwise_can(&c)) return fy_fast_reference(ctx, err);
  fy_tensor *out;
  void *turned;
  const int64_t ch = c.in_depth;
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  FY_TRY(fy_scratch(ctx, (size_t)(c.taps * ch) * sizeof(float), &turned, err));
  for (int64_t t = 0; t < c.taps; t++)
    memcpy((float *)turned + t * ch, (const float *)filter->data + (c.taps - 1 - t) * ch,
           (size_t)ch * sizeof(float));
  return fy_depthwise_plain(ctx, &c, grad->data, turned, out->data, err);
}

static void input_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_tensor *filter = ctx->in[1];
  const size_t row = filter->rank == 4 ? (size_t)filter->dims[2] : 0;
  out->scratch +=
      fy_scratch_line((size_t)filter->count * sizeof(float)) + fy_scratch_line(row * sizeof(float));
}

extern const fy_fast_kernel fy_fast_depthwise_filter, fy_fast_depthwise_input;
const fy_fast_kernel fy_fast_depthwise_filter = {.op = "DepthwiseConv2dNativeBackpropFilter",
                                                 .name = "depthwise",
                                                 .dtypes = FY_T(FY_FLOAT),
                                                 .compute = depthwise_filter,
                                                 .needs = filter_needs};
const fy_fast_kernel fy_fast_depthwise_input = {.op = "DepthwiseConv2dNativeBackpropInput",
                                                .name = "depthwise",
                                                .dtypes = FY_T(FY_INT32),
                                                .compute = depthwise_input,
                                                .needs = input_needs};
