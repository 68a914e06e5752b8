// SPDX-License-Identifier: Apache-2.0
// bytes.c: products of 8-bit integers as plain loops (bytes.h). Item: a row.

#include "ops/bytes.h"

#include "ops/typed.h"

// Element |k| of row |row| in group |g|, its zero taken away; outside of the image 0.
static uint32_t left_at(const fy_byte_product *p, int64_t row, int64_t g, int64_t k) {
  const fy_conv *c = p->conv;
  int64_t at = row * p->row_step + k * p->k_step;
  if (c) {
    const fy_window *h = &c->w[1], *w = &c->w[2];
    const int64_t tap = k / c->filter_depth, pixel = row % c->out_spatial;
    const int64_t y = fy_window_at(h, pixel / w->out, tap / w->size);
    const int64_t x = fy_window_at(w, pixel % w->out, tap % w->size);
    if (y < 0 || y >= h->in || x < 0 || x >= w->in) return 0;
    at = ((row / c->out_spatial * h->in + y) * w->in + x) * c->in_depth + g * c->filter_depth +
         k % c->filter_depth;
  }
  return (uint32_t)fy_byte_at(p->a, p->a_signed, at) - (uint32_t)p->a_zero;
}

typedef struct plain_job {
  const fy_byte_product *p;
  fy_slices sums;
} plain_job;

static void plain_rows(void *arg, int64_t begin, int64_t end) {
  plain_job *j = arg;
  const fy_byte_product *p = j->p;
  uint32_t *sums = fy_slice_take(&j->sums);
  for (int64_t i = begin * p->groups; i < end * p->groups; i++) {
    const int64_t row = i / p->groups, g = i % p->groups;
    memset(sums, 0, (size_t)p->n * sizeof *sums);
    for (int64_t k = 0; k < p->k; k++) {
      const uint32_t a = left_at(p, row, g, k);
      const int64_t at = k * p->step_k + g * p->n * p->step_n;
      for (int64_t n = 0; a && n < p->n; n++)
        sums[n] +=
            a * ((uint32_t)fy_byte_at(p->b, p->b_signed, at + n * p->step_n) - (uint32_t)p->b_zero);
    }
    p->finish(p->finish_arg, row, g * p->n, p->n, (const int32_t *)sums);
  }
  fy_slice_give(&j->sums, sums);
}

fy_code fy_bytes_plain(fy_kernel_ctx *ctx, const fy_byte_product *p, fy_error *err) {
  plain_job j = {.p = p};
  if (p->depthwise) return fy_bytes_depthwise(ctx, p, err);
  FY_TRY(fy_slices_make(ctx, p->m, (size_t)(p->n + 1) * sizeof(uint32_t), &j.sums, err));
  fy_parallel(ctx, p->m, (double)(p->groups * p->n * p->k), plain_rows, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- depthwise
// A product of two bytes fits 16 bits; so do the bytes themselves, with their zeros taken away or not.
#define ADD_TAP(name, TA, TB)                                                                      \
  FY_CLONES static void name(const TA *restrict a, const TB *restrict b, int64_t n, int64_t times, \
                             int32_t *restrict sums) {                                             \
    if (times == 1)                                                                                \
      for (int64_t i = 0; i < n; i++) sums[i] += (int16_t)((int16_t)a[i] * (int16_t)b[i]);         \
    else                                                                                           \
      for (int64_t i = 0; i < n; i++)                                                              \
        for (int64_t q = 0; q < times; q++)                                                        \
          sums[i * times + q] += (int16_t)((int16_t)a[i] * (int16_t)b[i * times + q]);             \
  }
ADD_TAP(add_u8, uint8_t, int8_t)
ADD_TAP(add_s8, int8_t, int8_t)

typedef struct depth_job {
  const fy_byte_product *p;
  fy_slices sums;
} depth_job;

static void depth_rows(void *arg, int64_t begin, int64_t end) {
  depth_job *j = arg;
  const fy_byte_product *p = j->p;
  const fy_conv *c = p->conv;
  const fy_window *h = &c->w[1], *w = &c->w[2];
  const int64_t times = c->out_depth / c->in_depth;
  int32_t *sums = fy_slice_take(&j->sums);
  for (int64_t row = begin; row < end; row++) {
    const int64_t image = row / c->out_spatial, pixel = row % c->out_spatial;
    memset(sums, 0, (size_t)c->out_depth * sizeof *sums);
    for (int64_t t = 0; t < c->taps; t++) {
      const int64_t y = fy_window_at(h, pixel / w->out, t / w->size);
      const int64_t x = fy_window_at(w, pixel % w->out, t % w->size);
      if (y < 0 || y >= h->in || x < 0 || x >= w->in) continue;
      const char *a = (const char *)p->a + ((image * h->in + y) * w->in + x) * c->in_depth;
      const int8_t *b = (const int8_t *)p->b + t * c->out_depth;
      if (p->a_signed)
        add_s8((const int8_t *)a, b, c->in_depth, times, sums);
      else
        add_u8((const uint8_t *)a, b, c->in_depth, times, sums);
    }
    p->finish(p->finish_arg, row, 0, c->out_depth, sums);
  }
  fy_slice_give(&j->sums, sums);
}

fy_code fy_bytes_depthwise(fy_kernel_ctx *ctx, const fy_byte_product *p, fy_error *err) {
  depth_job j = {.p = p};
  const int64_t n = p->conv->out_depth;
  FY_TRY(fy_slices_make(ctx, p->m, (size_t)(n + 1) * sizeof(int32_t), &j.sums, err));
  fy_parallel(ctx, p->m, 0.3 * (double)(n * p->conv->taps), depth_rows, &j);
  return FY_OK;
}
