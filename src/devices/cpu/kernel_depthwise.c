// SPDX-License-Identifier: Apache-2.0
// kernel_depthwise.c: depthwise convolution of floats in NHWC, one filter per channel. Where windows are
// 3 or 5 wide a row of the output goes to gemm_depthwise.inc as a whole, else that is told where every
// tap of every pixel looks.

#include <math.h>
#include <string.h>

#include "devices/cpu/epilogue.h"
#include "devices/cpu/gemm.h"
#include "ops/values.h"

#define ROW_PIXELS 16
#define MOST_TAPS  128

typedef struct depth_job {
  const fy_conv *c;
  const fy_gemm_kernels *kernels;
  fy_line_fn line;  // NULL: no such window
  const float *in, *filter, *bias, *zeros;
  float lo, hi;
  const float *add;
  fy_finish_fn finish;
  const void *finish_arg;
  float *out;
} depth_job;

// A clamp that has to wait for an addend.
static void finish_clamp(const void *arg, float *row, int64_t n) {
  const fy_epilogue *e = arg;
  const float hi = e->act == FY_EW_RELU6 ? 6 : INFINITY;
  for (int64_t i = 0; i < n; i++) row[i] = row[i] < 0 ? 0 : row[i] > hi ? hi : row[i];
}

// Row |y| of |image|, wherever its pixels look.
static void depth_any(const depth_job *j, int64_t image, int64_t y, float *out) {
  const fy_window *wh = &j->c->w[1], *ww = &j->c->w[2];
  const int64_t ch = j->c->in_depth, taps = j->c->taps;
  const float *rows[ROW_PIXELS * MOST_TAPS];
  for (int64_t x0 = 0; x0 < ww->out; x0 += ROW_PIXELS) {
    const int64_t n = ww->out - x0 < ROW_PIXELS ? ww->out - x0 : ROW_PIXELS;
    for (int64_t r = 0; r < wh->size; r++) {
      const int64_t iy = fy_window_at(wh, y, r);
      const bool inside = iy >= 0 && iy < wh->in;
      const float *line = j->in + (inside ? (image * wh->in + iy) * ww->in * ch : 0);
      for (int64_t i = 0; i < n; i++) {
        const float **at = rows + i * taps + r * ww->size;
        int64_t ix = (x0 + i) * ww->stride - ww->before;
        for (int64_t q = 0; q < ww->size; q++, ix += ww->dilation)
          at[q] = inside && ix >= 0 && ix < ww->in ? line + ix * ch : j->zeros;
      }
    }
    j->kernels->depthwise(rows, j->filter, taps, ch, j->bias, j->lo, j->hi, out + x0 * ch, n);
  }
}

// The same where there is a kernel for such windows; lines above and below the image are left out.
static void depth_line(const depth_job *j, int64_t image, int64_t y, float *out) {
  const fy_window *wh = &j->c->w[1], *ww = &j->c->w[2];
  const int64_t ch = j->c->in_depth;
  const float *lines[FY_DEPTH_HEIGHT], *filters[FY_DEPTH_HEIGHT];
  fy_depth_row row = {.lines = lines,
                      .filters = filters,
                      .width = ww->in,
                      .before = ww->before,
                      .channels = ch,
                      .zeros = j->zeros,
                      .bias = j->bias,
                      .clamps = j->lo > -INFINITY || j->hi < INFINITY,
                      .lo = j->lo,
                      .hi = j->hi,
                      .out = out,
                      .n = ww->out};
  for (int64_t r = 0; r < wh->size; r++) {
    const int64_t iy = fy_window_at(wh, y, r);
    if (iy < 0 || iy >= wh->in) continue;
    lines[row.height] = j->in + (image * wh->in + iy) * ww->in * ch;
    filters[row.height++] = j->filter + r * ww->size * ch;
  }
  j->line(&row);
}

// Item: (image, row) of the output.
static void depth_rows(void *arg, int64_t begin, int64_t end) {
  const depth_job *j = arg;
  const int64_t height = j->c->w[1].out, all = j->c->w[2].out * j->c->in_depth;
  for (int64_t row = begin; row < end; row++) {
    float *out = j->out + row * all;
    (j->line ? depth_line : depth_any)(j, row / height, row % height, out);
    for (int64_t i = 0; j->add && i < all; i++) out[i] += j->add[row * all + i];
    if (j->finish) j->finish(j->finish_arg, out, all);
  }
}

static bool can_depth(const fy_conv *c) {
  return c->out_depth % c->in_depth == 0 && c->taps <= MOST_TAPS && c->out_spatial >= 1;
}

// Where |j| has everything but how to go about it.
static void run_depth(fy_kernel_ctx *ctx, depth_job *j) {
  const fy_conv *c = j->c;
  const fy_window *ww = &c->w[2];
  j->kernels = fy_gemm_for(c->in_depth);
  const int64_t two = 2 * j->kernels->lanes;
  if ((ww->size == 3 || ww->size == 5) && ww->stride <= 2 && ww->dilation == 1 &&
      ww->out >= (c->in_depth < two ? 7 : 4) && c->in_depth >= two / 2 &&
      c->w[1].size <= FY_DEPTH_HEIGHT)
    j->line = j->kernels->line[ww->size == 5][ww->stride - 1];
  fy_parallel(ctx, c->batch * c->w[1].out,
              0.06 * (double)ww->out * (double)c->in_depth * (double)c->taps, depth_rows, j);
}

static fy_code zero_pixel(fy_kernel_ctx *ctx, int64_t channels, const float **out, fy_error *err) {
  void *zeros;
  FY_TRY(fy_scratch(ctx, (size_t)channels * sizeof **out, &zeros, err));
  memset(zeros, 0, (size_t)channels * sizeof **out);
  *out = zeros;
  return FY_OK;
}

bool fy_depthwise_can(const fy_conv *c) {
  return can_depth(c) && c->out_depth == c->in_depth && c->w[1].before >= 0 && c->w[2].before >= 0;
}

fy_code fy_depthwise_plain(fy_kernel_ctx *ctx, const fy_conv *c, const float *in,
                           const float *filter, float *out, fy_error *err) {
  depth_job j = {.c = c, .in = in, .filter = filter, .lo = -INFINITY, .hi = INFINITY, .out = out};
  FY_TRY(zero_pixel(ctx, c->in_depth, &j.zeros, err));
  run_depth(ctx, &j);
  return FY_OK;
}

// As depthwise() goes about it.
static void depthwise_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_epilogue *e = fy_epilogue_of(ctx->site);
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  fy_conv c;
  if (!attrs->channels_last || in->dtype != filter->dtype ||
      fy_conv_forward(ctx, in, filter, true, &c, NULL) || !in->count || !filter->count ||
      !can_depth(&c) ||
      !fy_epilogue_fits(ctx, e, c.out_depth, c.batch * c.out_spatial * c.out_depth))
    return;
  out->scratch += fy_scratch_line((size_t)c.out_depth * sizeof(float));
  if (c.out_depth != c.in_depth)
    out->scratch += fy_scratch_line((size_t)(in->count / c.in_depth * c.out_depth) * sizeof(float));
  if (e && e->num_affine)
    fy_pack_needs(ctx, 1, fy_epilogue_weights(e),
                  (size_t)(c.out_depth * (c.taps + 2)) * sizeof(float), out);
}

static fy_code depthwise(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_epilogue *e = fy_epilogue_of(ctx->site);
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  fy_conv c;
  if (!attrs->channels_last || in->dtype != filter->dtype) return fy_fast_reference(ctx, err);
  FY_TRY(fy_conv_forward(ctx, in, filter, true, &c, err));
  if (!in->count || !filter->count || !can_depth(&c) ||
      !fy_epilogue_fits(ctx, e, c.out_depth, c.batch * c.out_spatial * c.out_depth))
    return fy_fast_reference(ctx, err);
  const int64_t spatial[3] = {1, c.w[1].out, c.w[2].out};
  int64_t dims[5];
  fy_tensor *out;
  double lo, hi;
  fy_window_shape(attrs, c.batch, spatial, c.out_depth, dims);
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  depth_job j = {.c = &c,
                 .filter = filter->data,
                 .add = e && e->add >= 0 ? ctx->in[e->add]->data : NULL,
                 .finish = fy_epilogue_finish(e),
                 .finish_arg = e,
                 .out = out->data};
  FY_TRY(zero_pixel(ctx, c.out_depth, &j.zeros, err));
  const void *repeated = in->data;
  FY_TRY(fy_depthwise_repeat(ctx, FY_FLOAT, &c, &repeated, err));
  j.in = repeated;
  fy_epilogue_clamp(e, &lo, &hi);
  if (j.add && !j.finish && lo == 0) j.finish = finish_clamp;
  j.lo = j.finish ? -INFINITY : (float)lo;
  j.hi = j.finish ? INFINITY : (float)hi;
  fy_packed *packed = NULL;
  if (e && e->num_affine) {
    const int64_t n = c.in_depth, bytes = n * (c.taps + 2) * (int64_t)sizeof(float);
    bool fresh;
    FY_TRY(fy_pack_acquire(ctx, ctx->site->fast_state, 1, fy_epilogue_weights(e), (size_t)bytes,
                           &packed, &fresh, err));
    float *scaled = packed->data, *bias = scaled + n * c.taps, *scale = bias + n;
    if (fresh) {
      fy_epilogue_fold(ctx, e, FY_GEMM_F32, n, n, scale, bias);
      for (int64_t i = 0; i < n * c.taps; i++) scaled[i] = j.filter[i] * scale[i % n];
      packed->bias = bias;
    }
    j.filter = scaled;
    j.bias = bias;
  }
  run_depth(ctx, &j);
  if (packed) fy_pack_release(ctx->site->fast_state, packed, true);
  return FY_OK;
}

extern const fy_fast_kernel fy_fast_depthwise, fy_fast_fused_depthwise;
const fy_fast_kernel fy_fast_depthwise = {.op = "DepthwiseConv2dNative",
                                          .name = "depthwise",
                                          .dtypes = FY_T(FY_FLOAT),
                                          .compute = depthwise,
                                          .needs = depthwise_needs};
const fy_fast_kernel fy_fast_fused_depthwise = {.op = "_FerryDepthwise",
                                                .name = "depthwise",
                                                .dtypes = FY_T(FY_FLOAT),
                                                .prepare = fy_pack_cache_prepare,
                                                .compute = depthwise,
                                                .needs = depthwise_needs,
                                                .release = fy_pack_cache_free};
