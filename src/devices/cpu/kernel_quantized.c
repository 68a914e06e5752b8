// SPDX-License-Identifier: Apache-2.0
// kernel_quantized.c: products and convolutions of bytes by the blocks of gemm_bytes.h.
//
// A block multiplies unsigned rows by signed columns. Signed rows have 128 added (their highest bit turned),
// unsigned columns lose it, and with it zero points, so that what is left of them is taken away after the sum:
//   sum (a - z)(b - w) = sum a b - z (sum of b) - w (sum of a) + k z w,
// all of it exact, because everything wraps at 32 bits. Columns are packed once, with their sums, and kept
// while the weights are the same. Rows are read where they lie if they can be, else a tile of them is
// laid out: the pixels that a window sees, one after the other. Item: a tile of rows and some panels.

#include <string.h>

#include "devices/cpu/cpu.h"
#include "devices/cpu/gemm_bytes.h"
#include "devices/cpu/kernels.h"
#include "ops/typed.h"

#define TILE_ROWS     48
#define BLOCK_COLUMNS 256  // of an item
#define TERM_NS       0.004

typedef struct job {
  const fy_byte_product *p;
  const fy_byte_kernels *kernels;
  int64_t quads, panels;  // of a group
  const int8_t *packed;   // [group][panel][quad][column][4]
  const int32_t *totals;  // [group][panel][column]: the sums of columns
  uint32_t a_zero, b_zero;
  bool direct;  // rows are read where they lie
  int64_t tile, blocks;
  size_t row_bytes;  // of a row that was laid out
  fy_slices slices;
} job;

static int64_t up(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

// ---------------------------------------------------------------- columns
static size_t packed_bytes(const job *j) {
  return (size_t)(j->p->groups * j->panels * j->quads * j->kernels->columns) * 4;
}

// Columns side by side: four rows of B at a time.
FY_CLONES static void pack_quad(const uint8_t *const rows[4], int64_t n, uint8_t flip, int8_t *to) {
  for (int64_t i = 0; i < n; i++) {
    for (int r = 0; r < 4; r++) to[4 * i + r] = (int8_t)(rows[r][i] ^ flip);
  }
}

// Item: a panel of a group.
static void pack_panels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const fy_byte_product *p = j->p;
  const int64_t columns = j->kernels->columns;
  const uint8_t flip = p->b_signed ? 0 : 0x80, *b = p->b;
  for (int64_t item = begin; item < end; item++) {
    const int64_t first = item % j->panels * columns, left = p->n - first;
    const int64_t width = left < columns ? left : columns;
    const uint8_t *from = b + (item / j->panels * p->n + first) * p->step_n;
    int8_t *to = (int8_t *)(uintptr_t)j->packed + item * j->quads * columns * 4;
    int32_t *totals = (int32_t *)(uintptr_t)j->totals + item * columns;
    memset(totals, 0, (size_t)columns * sizeof *totals);
    for (int64_t q = 0; q < j->quads; q++, to += columns * 4) {
      const int64_t rows = p->k - 4 * q < 4 ? p->k - 4 * q : 4;
      const uint8_t *four = from + 4 * q * p->step_k;
      if (rows == 4 && p->step_n == 1) {
        pack_quad((const uint8_t *const[]){four, four + p->step_k, four + 2 * p->step_k,
                                           four + 3 * p->step_k},
                  width, flip, to);
      } else {
        for (int64_t i = 0; i < width; i++) {
          for (int64_t r = 0; r < 4; r++)
            to[4 * i + r] = r < rows ? (int8_t)(four[r * p->step_k + i * p->step_n] ^ flip) : 0;
        }
      }
      memset(to + 4 * width, 0, (size_t)(4 * (columns - width)));
      for (int64_t i = 0; i < width; i++)
        totals[i] += to[4 * i] + to[4 * i + 1] + to[4 * i + 2] + to[4 * i + 3];
    }
  }
}

// ---------------------------------------------------------------- rows
// The pixels that output |row| sees, |zero| where there are none.
static void lay_window(const fy_byte_product *p, int64_t row, int64_t g, uint8_t zero,
                       uint8_t *to) {
  const fy_conv *c = p->conv;
  const fy_window *h = &c->w[1], *w = &c->w[2];
  const int64_t pixel = row % c->out_spatial, depth = c->filter_depth;
  const uint8_t *image =
      (const uint8_t *)p->a + row / c->out_spatial * c->in_spatial * c->in_depth + g * depth;
  const int64_t x0 = fy_window_at(w, pixel % w->out, 0);
  const bool whole = depth == c->in_depth && w->dilation == 1 && x0 >= 0 && x0 + w->size <= w->in;
  for (int64_t r = 0; r < h->size; r++) {
    const int64_t y = fy_window_at(h, pixel / w->out, r);
    const bool inside = y >= 0 && y < h->in;
    const uint8_t *line = image + y * w->in * c->in_depth;
    if (inside && whole) {
      memcpy(to, line + x0 * depth, (size_t)(w->size * depth));
      to += w->size * depth;
      continue;
    }
    for (int64_t s = 0; s < w->size; s++, to += depth) {
      const int64_t x = x0 + s * w->dilation;
      if (inside && x >= 0 && x < w->in)
        memcpy(to, line + x * c->in_depth, (size_t)depth);
      else
        memset(to, zero, (size_t)depth);
    }
  }
}

FY_CLONES static void flip_bytes(uint8_t *v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] ^= 0x80;
}
FY_CLONES static void widen(const uint8_t *from, int64_t n, int16_t *to) {
  for (int64_t i = 0; i < n; i++) to[i] = from[i];
}
FY_CLONES static int32_t total_of(const uint8_t *v, int64_t n) {
  int32_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i];
  return sum;
}

// Row |row| of group |g| as unsigned bytes, and zeros up to a whole quad.
static void lay_row(const job *j, int64_t row, int64_t g, uint8_t *to) {
  const fy_byte_product *p = j->p;
  const uint8_t *from = (const uint8_t *)p->a + row * p->row_step;
  if (p->conv)
    lay_window(p, row, g, (uint8_t)p->a_zero, to);
  else if (p->k_step == 1)
    memcpy(to, from, (size_t)p->k);
  else
    for (int64_t k = 0; k < p->k; k++) to[k] = from[k * p->k_step];
  if (p->a_signed) flip_bytes(to, p->k);
  memset(to + p->k, 0, (size_t)(4 * j->quads - p->k));
}

typedef struct tile {
  const char *rows;
  int64_t row_bytes, first, count;
  int32_t *totals;  // the sums of rows
} tile;

// |room|: the rows, then one row of bytes where they are widened.
static void lay_tile(const job *j, int64_t g, char *room, tile *t) {
  const fy_byte_product *p = j->p;
  const int64_t bytes = 4 * j->quads;
  uint8_t *line = (uint8_t *)room + j->tile * (int64_t)j->row_bytes;
  t->rows = room;
  t->row_bytes = (int64_t)j->row_bytes;
  if (j->direct) {
    t->rows = (const char *)p->a + t->first * p->row_step;
    t->row_bytes = p->row_step;
  }
  for (int64_t i = 0; i < t->count; i++) {
    char *to = room + i * (int64_t)j->row_bytes;
    const uint8_t *row = j->direct ? (const uint8_t *)t->rows + i * t->row_bytes : (uint8_t *)to;
    if (!j->direct) {
      if (j->kernels->words) row = line;
      lay_row(j, t->first + i, g, (uint8_t *)(uintptr_t)row);
      if (j->kernels->words) widen(row, bytes, (int16_t *)(void *)to);
    }
    if (j->b_zero) t->totals[i] = total_of(row, p->k);
  }
}

// ---------------------------------------------------------------- products
FY_CLONES static void take_zeros(int32_t *sums, const int32_t *totals, uint32_t a_zero,
                                 uint32_t rest, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    sums[i] = (int32_t)((uint32_t)sums[i] - a_zero * (uint32_t)totals[i] - rest);
}

static void finish_rows(const job *j, const tile *t, int64_t g, int64_t column, int64_t n,
                        int32_t *sums, int64_t step) {
  const fy_byte_product *p = j->p;
  const int32_t *totals = j->totals + g * j->panels * j->kernels->columns + column;
  for (int64_t i = 0; i < t->count; i++) {
    int32_t *row = sums + i * step;
    if (j->a_zero || j->b_zero) {
      uint32_t rest = 0u - (uint32_t)p->k * j->a_zero * j->b_zero;
      if (j->b_zero) rest += j->b_zero * (uint32_t)t->totals[i];
      take_zeros(row, totals, j->a_zero, rest, n);
    }
    p->finish(p->finish_arg, t->first + i, g * p->n + column, n, row);
  }
}

static void items(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const fy_byte_product *p = j->p;
  const int64_t columns = j->kernels->columns, rows = j->kernels->rows;
  char *slice = fy_slice_take(&j->slices);
  int32_t row_totals[TILE_ROWS], *sums = (int32_t *)(void *)slice;
  int64_t laid = -1;
  tile t = {.totals = row_totals};
  for (int64_t item = begin; item < end; item++) {
    const int64_t block = item % j->blocks, at = item / j->blocks;
    const int64_t g = at % p->groups, first = block * BLOCK_COLUMNS;
    const int64_t n = p->n - first < BLOCK_COLUMNS ? p->n - first : BLOCK_COLUMNS;
    const int64_t step = up(n, columns) * columns;
    if (laid != at) {
      t.first = at / p->groups * j->tile;
      t.count = p->m - t.first < j->tile ? p->m - t.first : j->tile;
      lay_tile(j, g, slice + TILE_ROWS * BLOCK_COLUMNS * sizeof *sums, &t);
      laid = at;
    }
    for (int64_t c = 0; c < n; c += columns) {
      const int64_t panel = g * j->panels + (first + c) / columns;
      fy_byte_block b = {.row_bytes = t.row_bytes,
                         .b = j->packed + panel * j->quads * columns * 4,
                         .quads = j->quads,
                         .step = step};
      for (int64_t i = 0; i < t.count; i += rows) {
        b.a = t.rows + i * t.row_bytes;
        b.sums = sums + i * step + c;
        j->kernels->block(&b, (int)(t.count - i < rows ? t.count - i : rows));
      }
    }
    finish_rows(j, &t, g, first, n, sums, step);
  }
  fy_slice_give(&j->slices, slice);
}

// ---------------------------------------------------------------- a whole product
static const fy_byte_kernels *best(void) {
#if defined(__x86_64__)
  if (fy_bytes_avx512_here()) return &fy_bytes_avx512;
  if (fy_cpu_level_get() >= FY_CPU_AVX2) return &fy_bytes_avx2;
#endif
  return NULL;
}

// Rows of whole quads that are unsigned and one after the other.
static bool lies_right(const job *j) {
  const fy_byte_product *p = j->p;
  if (p->a_signed || p->k % 4 || j->kernels->words) return false;
  return p->conv ? p->groups == 1 && p->row_step : p->k_step == 1;
}

static fy_code run(fy_kernel_ctx *ctx, job *j, fy_error *err) {
  const fy_byte_product *p = j->p;
  const int64_t bytes = 4 * j->quads;
  j->direct = lies_right(j);
  j->row_bytes = (size_t)bytes * (j->kernels->words ? 2 : 1);
  j->tile = p->m < TILE_ROWS ? p->m : TILE_ROWS;
  j->blocks = up(p->n, BLOCK_COLUMNS);
  const int64_t count = up(p->m, j->tile) * p->groups * j->blocks;
  size_t room = TILE_ROWS * BLOCK_COLUMNS * sizeof(int32_t);
  if (!j->direct) room += (size_t)(j->tile + 1) * j->row_bytes;
  FY_TRY(fy_slices_make(ctx, count, room, &j->slices, err));
  const int64_t width = p->n < BLOCK_COLUMNS ? p->n : BLOCK_COLUMNS;
  fy_parallel(ctx, count, TERM_NS * (double)(j->tile * width) * (double)(p->k + 64), items, j);
  return FY_OK;
}

static fy_code multiply(fy_kernel_ctx *ctx, const fy_byte_product *given, fy_error *err) {
  if (given->depthwise) return fy_bytes_depthwise(ctx, given, err);
  fy_byte_product p = *given;
  const fy_conv *c = p.conv;
  job j = {.p = &p, .kernels = best()};
  // Outside of the image a byte stands for 0.
  const bool fits = p.a_signed ? (int8_t)p.a_zero == p.a_zero : (uint8_t)p.a_zero == p.a_zero;
  if (!j.kernels || (c && !fits) || p.k < 1) return fy_bytes_plain(ctx, given, err);
  if (c && c->taps == 1 && c->w[1].stride == 1 && c->w[2].stride == 1 &&
      c->out_spatial == c->in_spatial)
    p.row_step = c->in_depth;
  j.quads = up(p.k, 4);
  j.panels = up(p.n, j.kernels->columns);
  j.a_zero = (uint32_t)p.a_zero + (p.a_signed ? 128 : 0);
  j.b_zero = (uint32_t)p.b_zero - (p.b_signed ? 0 : 128);
  const size_t bytes = packed_bytes(&j),
               more = (size_t)(p.groups * j.panels * j.kernels->columns) * sizeof(int32_t);
  fy_pack_cache *cache = ctx->site->fast_state;
  fy_packed *packed;
  bool is_fresh;
  FY_TRY(fy_pack_acquire(ctx, cache, p.b_input, 1, bytes + more, &packed, &is_fresh, err));
  j.packed = packed->data;
  j.totals = (const int32_t *)(const void *)((const char *)packed->data + bytes);
  if (is_fresh)
    fy_parallel(ctx, p.groups * j.panels, 0.5 * (double)(4 * j.quads * j.kernels->columns),
                pack_panels, &j);
  const fy_code code = run(ctx, &j, err);
  fy_pack_release(cache, packed, !code);
  return code;
}

static fy_code matmul(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_matmul(ctx, multiply, err);
}
static fy_code conv(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_conv(ctx, multiply, err);
}
static fy_code fused_matmul(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_fused_matmul(ctx, multiply, err);
}
static fy_code fused_conv(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_fused_conv(ctx, multiply, err);
}

#define FAST(id, op_name, fn)                                                      \
  const fy_fast_kernel fy_fast_##id = {.op = op_name,                              \
                                       .name = "bytes",                            \
                                       .dtypes = FY_T(FY_QUINT8) | FY_T(FY_QINT8), \
                                       .prepare = fy_pack_cache_prepare,           \
                                       .compute = fn,                              \
                                       .release = fy_pack_cache_free}
extern const fy_fast_kernel fy_fast_fused_quantized_conv2d;
extern const fy_fast_kernel fy_fast_quantized_conv2d;
extern const fy_fast_kernel fy_fast_quantized_conv2d_and_relu;
extern const fy_fast_kernel fy_fast_quantized_conv2d_and_relu_and_requantize;
extern const fy_fast_kernel fy_fast_quantized_conv2d_and_requantize;
extern const fy_fast_kernel fy_fast_quantized_conv2d_per_channel;
extern const fy_fast_kernel fy_fast_quantized_conv2d_with_bias;
extern const fy_fast_kernel fy_fast_quantized_conv2d_with_bias_and_relu;
extern const fy_fast_kernel fy_fast_quantized_conv2d_with_bias_and_relu_and_requantize;
extern const fy_fast_kernel fy_fast_quantized_conv2d_with_bias_and_requantize;
extern const fy_fast_kernel fy_fast_quantized_conv2d_with_bias_signed_sum_and_relu_and_requantize;
extern const fy_fast_kernel fy_fast_quantized_conv2d_with_bias_sum_and_relu;
extern const fy_fast_kernel fy_fast_quantized_conv2d_with_bias_sum_and_relu_and_requantize;
extern const fy_fast_kernel fy_fast_quantized_matmul;
extern const fy_fast_kernel fy_fast_quantized_matmul_with_bias;
extern const fy_fast_kernel fy_fast_quantized_matmul_with_bias_and_dequantize;
extern const fy_fast_kernel fy_fast_quantized_matmul_with_bias_and_relu;
extern const fy_fast_kernel fy_fast_quantized_matmul_with_bias_and_relu_and_requantize;
extern const fy_fast_kernel fy_fast_quantized_matmul_with_bias_and_requantize;
FAST(fused_quantized_conv2d, "_FusedQuantizedConv2D", fused_conv);
FAST(quantized_conv2d, "QuantizedConv2D", conv);
FAST(quantized_conv2d_and_relu, "QuantizedConv2DAndRelu", fused_conv);
FAST(quantized_conv2d_and_relu_and_requantize, "QuantizedConv2DAndReluAndRequantize", fused_conv);
FAST(quantized_conv2d_and_requantize, "QuantizedConv2DAndRequantize", fused_conv);
FAST(quantized_conv2d_per_channel, "QuantizedConv2DPerChannel", fused_conv);
FAST(quantized_conv2d_with_bias, "QuantizedConv2DWithBias", fused_conv);
FAST(quantized_conv2d_with_bias_and_relu, "QuantizedConv2DWithBiasAndRelu", fused_conv);
FAST(quantized_conv2d_with_bias_and_relu_and_requantize,
     "QuantizedConv2DWithBiasAndReluAndRequantize", fused_conv);
FAST(quantized_conv2d_with_bias_and_requantize, "QuantizedConv2DWithBiasAndRequantize", fused_conv);
FAST(quantized_conv2d_with_bias_signed_sum_and_relu_and_requantize,
     "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", fused_conv);
FAST(quantized_conv2d_with_bias_sum_and_relu, "QuantizedConv2DWithBiasSumAndRelu", fused_conv);
FAST(quantized_conv2d_with_bias_sum_and_relu_and_requantize,
     "QuantizedConv2DWithBiasSumAndReluAndRequantize", fused_conv);
FAST(quantized_matmul, "QuantizedMatMul", matmul);
FAST(quantized_matmul_with_bias, "QuantizedMatMulWithBias", fused_matmul);
FAST(quantized_matmul_with_bias_and_dequantize, "QuantizedMatMulWithBiasAndDequantize",
     fused_matmul);
FAST(quantized_matmul_with_bias_and_relu, "QuantizedMatMulWithBiasAndRelu", fused_matmul);
FAST(quantized_matmul_with_bias_and_relu_and_requantize,
     "QuantizedMatMulWithBiasAndReluAndRequantize", fused_matmul);
FAST(quantized_matmul_with_bias_and_requantize, "QuantizedMatMulWithBiasAndRequantize",
     fused_matmul);
