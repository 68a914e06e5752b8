// SPDX-License-Identifier: Apache-2.0
// kernel_conv_filter.c: the gradient of a convolution's filter, floats and doubles in NHWC:
//   filter[tap, ic][oc] = sum over output pixels p of  in[what p sees through tap][ic] * grad[p][oc]
// a product of M = taps * ic rows and N = oc columns whose sum runs over all pixels. For a few hundred
// pixels at a time what the taps of some rows see is copied out, pixel by pixel, and the kernel of gemm.h
// adds the product to these rows. Threads take parts of the pixels, each with sums of its own that are
// added in the end; where the filter is too large for that, rows, and the gradient is packed once for all.

#include <math.h>
#include <string.h>

#include "devices/cpu/kernels.h"
#include "devices/cpu/winograd.h"
#include "ops/values.h"

#define PIXELS     256    // of one step
#define MAX_ROWS   96     // of an item
#define OWN_SUMS   65536  // of the filter, at most, that each part of the pixels has for itself
#define MOST_PARTS 16

typedef struct filter_job {
  const fy_conv *c;
  fy_gemm_type type;
  size_t size;
  const char *in, *packed;
  char *out;
  int64_t pixels, columns, padded;       // of all images; per group; rounded up to panels
  int64_t taps_per_item, rows_per_item;  // rows of one tap when there are many channels
  int64_t tap_items, row_items, group_bytes;
  int64_t parts, num_sums;  // of the pixels; of the filter
  const char *grad;
  char *sums;  // [part][filter]
  fy_slices *seen;
} filter_job;

// How many sums over a part of the pixels are made, by no more than shapes: with one, threads share out the
// filter and what is packed.
static int64_t num_parts(int64_t sums, int64_t pixels, int64_t groups) {
  if (groups != 1 || sums > OWN_SUMS || pixels < 2 * PIXELS) return 1;
  return pixels / PIXELS < MOST_PARTS ? pixels / PIXELS : MOST_PARTS;
}

// Copies channels [first, first + n) of what the pixels [p0, p1) see through |tap| to columns of |to|.
static void look(const filter_job *j, int64_t tap, int64_t p0, int64_t p1, int64_t first, int64_t n,
                 char *to, int64_t line) {
  const fy_conv *c = j->c;
  const fy_window *w = c->w;
  const size_t bytes = (size_t)n * j->size, step = (size_t)line * j->size;
  int64_t at[3], lo, hi, p = p0;
  fy_conv_tap(c, tap, at);
  fy_window_range(&w[2], at[2], &lo, &hi);
  while (p < p1) {
    int64_t rest = p;
    const int64_t x0 = rest % w[2].out;
    rest /= w[2].out;
    const int64_t y = rest % w[1].out;
    rest /= w[1].out;
    const int64_t z = rest % w[0].out, image = rest / w[0].out;
    const int64_t x1 = x0 + (p1 - p) < w[2].out ? x0 + (p1 - p) : w[2].out;
    const int64_t iz = fy_window_at(&w[0], z, at[0]);
    const int64_t iy = fy_window_at(&w[1], y, at[1]);
    const bool inside = iz >= 0 && iz < w[0].in && iy >= 0 && iy < w[1].in;
    const char *from = j->in;
    if (inside)
      from += (size_t)((((image * w[0].in + iz) * w[1].in + iy) * w[2].in) * c->in_depth + first) *
              j->size;
    for (int64_t x = x0; x < x1; x++, to += step) {
      const int64_t ix = fy_window_at(&w[2], x, at[2]);
      if (!inside || x < lo || x >= hi)
        memset(to, 0, bytes);
      else if (bytes == sizeof(float))
        memcpy(to, from + (size_t)(ix * c->in_depth) * j->size, sizeof(float));
      else
        memcpy(to, from + (size_t)(ix * c->in_depth) * j->size, bytes);
    }
    p += x1 - x0;
  }
}

// Adds what the pixels [p0, p1), whose gradients are packed at |b|, give to the rows of an item.
static void add_pixels(const filter_job *j, int64_t item, int64_t p0, int64_t p1, const char *b,
                       bool adds, char *out, char *seen) {
  const fy_conv *c = j->c;
  const int64_t depth = c->filter_depth, part = item % j->row_items;
  const int64_t group = item / j->row_items / j->tap_items;
  const int64_t t0 = item / j->row_items % j->tap_items * j->taps_per_item;
  const int64_t t1 = t0 + j->taps_per_item < c->taps ? t0 + j->taps_per_item : c->taps;
  const int64_t first = part * j->rows_per_item;
  const int64_t n = depth - first < j->rows_per_item ? depth - first : j->rows_per_item;
  const int64_t rows = (t1 - t0) * n;
  for (int64_t t = t0; t < t1; t++)
    look(j, t, p0, p1, group * depth + first, n, seen + (size_t)((t - t0) * n) * j->size, rows);
  const int64_t at = (t0 * depth + first) * c->out_depth + group * j->columns;
  const fy_gemm_job product = {.type = j->type,
                               .m = rows,
                               .n = j->columns,
                               .taps = 1,
                               .depth = p1 - p0,
                               .a = seen,
                               .row_step = 1,
                               .k_step = rows,
                               .b = b,
                               .c = out + (size_t)at * j->size,
                               .ldc = c->out_depth,
                               .adds = adds,
                               .lo = -INFINITY,
                               .hi = INFINITY};
  fy_gemm_run(NULL, &product);
}

static int64_t next_step(int64_t p, int64_t end) {
  return p + PIXELS < end ? p + PIXELS : end;
}

static void filter_items(void *arg, int64_t begin, int64_t end) {
  const filter_job *j = arg;
  char *seen = fy_slice_take(j->seen);
  for (int64_t item = begin; item < end; item++) {
    const int64_t group = item / j->row_items / j->tap_items;
    const char *packed = j->packed + (size_t)(group * j->group_bytes);
    for (int64_t p = 0; p < j->pixels; p += PIXELS)
      add_pixels(j, item, p, next_step(p, j->pixels), packed + (size_t)(p * j->padded) * j->size,
                 p > 0, j->out, seen);
  }
  fy_slice_give(j->seen, seen);
}

// The same where each part of the pixels has sums of its own: all rows meet what was just packed.
static void filter_parts(void *arg, int64_t begin, int64_t end) {
  const filter_job *j = arg;
  char *seen = fy_slice_take(j->seen), *packed = seen + (size_t)(PIXELS * MAX_ROWS) * j->size;
  for (int64_t part = begin; part < end; part++) {
    const int64_t first = j->pixels * part / j->parts, last = j->pixels * (part + 1) / j->parts;
    char *sums = j->sums + (size_t)(part * j->num_sums) * j->size;
    for (int64_t p = first, next; p < last; p = next) {
      next = next_step(p, last);
      fy_gemm_pack(NULL, j->type, j->grad + (size_t)(p * j->columns) * j->size, next - p,
                   j->columns, j->columns, 1, NULL, packed);
      for (int64_t i = 0; i < j->tap_items * j->row_items; i++)
        add_pixels(j, i, p, next, packed, p > first, sums, seen);
    }
  }
  fy_slice_give(j->seen, seen);
}

static void add_parts(void *arg, int64_t begin, int64_t end) {
  const filter_job *j = arg;
  const size_t size = j->size, from = (size_t)begin * size, bytes = (size_t)(end - begin) * size;
  memcpy(j->out + from, j->sums + from, bytes);
  for (int64_t part = 1; part < j->parts; part++) {
    const char *sums = j->sums + (size_t)(part * j->num_sums) * size + from;
    for (int64_t i = 0; i < end - begin; i++)
      if (j->type == FY_GEMM_F32)
        ((float *)(void *)(j->out + from))[i] += ((const float *)(const void *)sums)[i];
      else
        ((double *)(void *)(j->out + from))[i] += ((const double *)(const void *)sums)[i];
  }
}

static void pack_items(void *arg, int64_t begin, int64_t end) {
  void **a = arg;
  const filter_job *j = a[0];
  const char *grad = a[1];
  const int64_t steps = (j->pixels + PIXELS - 1) / PIXELS;
  for (int64_t i = begin; i < end; i++) {
    const int64_t g = i / steps, p0 = i % steps * PIXELS;
    const int64_t n = j->pixels - p0 < PIXELS ? j->pixels - p0 : PIXELS;
    fy_gemm_pack(
        NULL, j->type, grad + (size_t)(p0 * j->c->out_depth + g * j->columns) * j->size, n,
        j->columns, j->c->out_depth, 1, NULL,
        (char *)a[2] + (size_t)g * (size_t)j->group_bytes + (size_t)(p0 * j->padded) * j->size);
  }
}

static fy_code conv_filter(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *sizes = ctx->in[1], *grad = ctx->in[2];
  fy_conv c;
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
  if (!attrs->channels_last || grad->dtype != in->dtype || !in->count || !grad->count ||
      sizes->rank != 1)
    return ctx->site->op->impl->compute(ctx, err);
  if (fy_value_shape(sizes, &rank, dims, err) ||
      fy_conv_backward(ctx, "", in->rank, in->dims, rank, dims, grad, false, &c, err)) {
    fy_error_clear(err);
    return ctx->site->op->impl->compute(ctx, err);
  }
  filter_job j = {.c = &c,
                  .type = in->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32,
                  .size = fy_dtype_storage(in->dtype),
                  .in = in->data,
                  .pixels = c.batch * c.out_spatial};
  if (c.groups < 1 || c.out_depth % c.groups || c.filter_depth < 1 || c.taps < 1 || j.pixels < 1)
    return ctx->site->op->impl->compute(ctx, err);
  j.columns = c.out_depth / c.groups;
  j.grad = grad->data;
  j.num_sums = c.taps * c.filter_depth * c.out_depth;
  j.parts = num_parts(j.num_sums, j.pixels, c.groups);
  size_t bytes, group;
  if (j.columns < 1 || !fy_gemm_packed_bytes(j.type, j.pixels, j.columns, c.groups, &bytes) ||
      !fy_gemm_packed_bytes(j.type, j.pixels, j.columns, 1, &group))
    return ctx->site->op->impl->compute(ctx, err);
  j.group_bytes = (int64_t)group;
  j.padded = (int64_t)(group / j.size) / j.pixels;
  // Whole taps when the channels are few, else parts of one tap's.
  j.taps_per_item = c.filter_depth < MAX_ROWS ? MAX_ROWS / c.filter_depth : 1;
  if (j.taps_per_item > c.taps) j.taps_per_item = c.taps;
  j.rows_per_item = c.filter_depth;
  if (j.rows_per_item > MAX_ROWS) {
    const int64_t parts = (c.filter_depth + MAX_ROWS - 1) / MAX_ROWS;
    j.rows_per_item = (c.filter_depth + parts - 1) / parts;
  }
  // Enough items for all threads, if they are what is shared out.
  const int64_t want = j.parts > 1 ? 1 : 3 * (int64_t)ctx->threads;
  while (j.taps_per_item > 1 &&
         (c.taps + j.taps_per_item - 1) / j.taps_per_item * c.groups < want &&
         j.taps_per_item * c.filter_depth > 24)
    j.taps_per_item = (j.taps_per_item + 1) / 2;
  j.tap_items = (c.taps + j.taps_per_item - 1) / j.taps_per_item;
  j.row_items = (c.filter_depth + j.rows_per_item - 1) / j.rows_per_item;
  while (j.tap_items * j.row_items * c.groups < want && j.rows_per_item > 24) {
    j.rows_per_item = (j.rows_per_item + 1) / 2;
    j.row_items = (c.filter_depth + j.rows_per_item - 1) / j.rows_per_item;
    j.taps_per_item = 1;
    j.tap_items = c.taps;
  }
  fy_tensor *out;
  void *packed;
  fy_slices seen;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (!out->count) return FY_OK;
  if (fy_filter_few_fits(&c, j.type == FY_GEMM_F64))
    return fy_filter_few(ctx, &c, j.type == FY_GEMM_F64, in->data, grad->data, out->data, err);
  if (j.type == FY_GEMM_F32 && fy_winograd_filter_fits(&c)) {
    bool finite;
    FY_TRY(fy_winograd_filter(ctx, &c, in->data, grad->data, out->data, &finite, err));
    if (finite) return FY_OK;
  }
  j.out = out->data;
  const double ns = FY_GEMM_TERM_NS * (double)j.pixels * (double)j.num_sums;
  if (j.parts > 1) {
    FY_TRY(fy_scratch(ctx, (size_t)(j.parts * j.num_sums) * j.size, &packed, err));
    FY_TRY(fy_slices_make(ctx, j.parts, (size_t)(PIXELS * (MAX_ROWS + j.padded)) * j.size, &seen,
                          err));
    j.sums = packed;
    j.seen = &seen;
    fy_parallel(ctx, j.parts, ns / (double)j.parts, filter_parts, &j);
    fy_parallel(ctx, j.num_sums, 0.2 * (double)j.parts, add_parts, &j);
    return FY_OK;
  }
  FY_TRY(fy_scratch(ctx, bytes, &packed, err));
  j.packed = packed;
  const int64_t steps = (j.pixels + PIXELS - 1) / PIXELS;
  void *pack[3] = {&j, (void *)(uintptr_t)grad->data, packed};
  fy_parallel(ctx, steps * c.groups, 0.2 * (double)(PIXELS * j.columns), pack_items, pack);
  const int64_t items = j.tap_items * j.row_items * c.groups;
  FY_TRY(fy_slices_make(ctx, items, (size_t)(PIXELS * MAX_ROWS) * j.size, &seen, err));
  j.seen = &seen;
  fy_parallel(ctx, items, ns / (double)items, filter_items, &j);
  return FY_OK;
}

// The filter's sizes are data, but they are those of the output; where they are not known, for one group.
static void filter_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_window_attrs *attrs = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *grad = ctx->in[2], *filter = ctx->out[0];
  if (!attrs || !attrs->channels_last || grad->dtype != in->dtype || !in->count || !grad->count ||
      grad->rank < 1)
    return;
  const fy_gemm_type type = in->dtype == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
  fy_conv c;
  fy_error e;
  fy_error_init(&e);
  const bool known = filter && filter->count &&
                     !fy_conv_backward(ctx, "", in->rank, in->dims, filter->rank, filter->dims,
                                       grad, false, &c, &e);
  fy_error_clear(&e);
  if (known && fy_filter_few_fits(&c, type == FY_GEMM_F64)) {
    out->scratch += fy_filter_few_needs(ctx, &c, type == FY_GEMM_F64);
    return;
  }
  if (known && type == FY_GEMM_F32 && fy_winograd_filter_fits(&c)) {
    out->scratch += fy_winograd_filter_needs(ctx, &c);
    return;
  }
  const int64_t columns = grad->dims[grad->rank - 1], pixels = grad->count / columns;
  const int64_t parts = known ? num_parts(filter->count, pixels, c.groups) : 1;
  size_t bytes;
  if (!fy_gemm_packed_bytes(type, pixels, columns, 1, &bytes)) return;
  if (parts > 1) {
    const size_t size = fy_dtype_storage(in->dtype);
    out->scratch +=
        fy_scratch_line((size_t)(parts * filter->count) * size) +
        fy_slices_needs(ctx, parts, (size_t)PIXELS * (MAX_ROWS * size + bytes / (size_t)pixels));
    return;
  }
  out->scratch +=
      fy_scratch_line(bytes) +
      fy_slices_needs(ctx, INT64_MAX, (size_t)(PIXELS * MAX_ROWS) * fy_dtype_storage(in->dtype));
}

#define REALS (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE))
extern const fy_fast_kernel fy_fast_conv2d_filter, fy_fast_conv3d_filter;
const fy_fast_kernel fy_fast_conv2d_filter = {.op = "Conv2DBackpropFilter",
                                              .name = "gemm",
                                              .dtypes = REALS,
                                              .compute = conv_filter,
                                              .needs = filter_needs};
const fy_fast_kernel fy_fast_conv3d_filter = {.op = "Conv3DBackpropFilterV2",
                                              .name = "gemm",
                                              .dtypes = REALS,
                                              .compute = conv_filter,
                                              .needs = filter_needs};
