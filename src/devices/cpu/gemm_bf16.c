// SPDX-License-Identifier: Apache-2.0
// gemm_bf16.c: cuts a product of bfloat16 into blocks (gemm_bf16.h). B becomes panels of pairs of terms. A row of A
// is pairs already, unless their number is odd or A is transposed: then it is copied. An item of work is a tile of
// rows and a panel; the sum is cut into pieces, so that a panel's stays in L1.

#include "devices/cpu/gemm_bf16.h"

#include <string.h>

#include "ops/turn.h"

#define TILE_ROWS 48
#define PIECE     128  // pairs

typedef struct job {
  const uint16_t *a, *b;
  uint16_t *c;
  int64_t m, k, n, pairs;
  bool ta, tb;
  uint32_t *packed;  // [panel][pair][column]
  uint32_t *copy;    // of A: [row][pair], transposed [pair][row]; NULL: A itself
} job;

static int64_t up(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}
static bool copies(int64_t k, bool ta) {
  return ta || k % 2;
}
static size_t packed_bytes(int64_t k, int64_t n) {
  return (size_t)(up(n, FY_BF16_COLUMNS) * FY_BF16_COLUMNS * up(k, 2)) * sizeof(uint32_t);
}
static size_t copy_bytes(int64_t m, int64_t k) {
  return (size_t)(m * up(k, 2)) * sizeof(uint32_t);
}

size_t fy_gemm_bf16_needs(int64_t m, int64_t k, int64_t n, bool ta) {
  return fy_scratch_line(packed_bytes(k, n)) +
         (copies(k, ta) ? fy_scratch_line(copy_bytes(m, k)) : 0);
}

// Two rows of |n| numbers, the second NULL if there is none, as a row of pairs.
FY_CLONES static void pair_rows(const uint16_t *low, const uint16_t *high, int64_t n,
                                uint32_t *to) {
  if (!high)
    for (int64_t i = 0; i < n; i++) to[i] = low[i];
  else
    for (int64_t i = 0; i < n; i++) to[i] = low[i] | (uint32_t)high[i] << 16;
}

static uint32_t pair_at(const uint16_t *row, int64_t pair, int64_t k) {
  return row[2 * pair] | (2 * pair + 1 < k ? (uint32_t)row[2 * pair + 1] << 16 : 0);
}

static void pack_panels(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t p = begin; p < end; p++) {
    const int64_t at = p * FY_BF16_COLUMNS, left = j->n - at;
    const int64_t width = left < FY_BF16_COLUMNS ? left : FY_BF16_COLUMNS;
    uint32_t *to = j->packed + p * j->pairs * FY_BF16_COLUMNS;
    if (width < FY_BF16_COLUMNS) memset(to, 0, (size_t)(j->pairs * FY_BF16_COLUMNS) * sizeof *to);
    if (j->tb && j->k % 2 == 0 && j->pairs >= 8 && width >= 8) {
      fy_turn_words(to, FY_BF16_COLUMNS, j->b + at * j->k, j->pairs, j->pairs, width);
      continue;
    }
    for (int64_t q = 0; q < j->pairs; q++, to += FY_BF16_COLUMNS) {
      const uint16_t *row = j->b + 2 * q * j->n + at;
      for (int64_t i = 0; j->tb && i < width; i++) to[i] = pair_at(j->b + (at + i) * j->k, q, j->k);
      if (!j->tb) pair_rows(row, 2 * q + 1 < j->k ? row + j->n : NULL, width, to);
    }
  }
}

static void copy_rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    if (j->ta) {  // pair |i| of all rows
      const uint16_t *row = j->a + 2 * i * j->m;
      pair_rows(row, 2 * i + 1 < j->k ? row + j->m : NULL, j->m, j->copy + i * j->m);
    } else {
      uint32_t *to = j->copy + i * j->pairs;
      for (int64_t q = 0; q < j->pairs; q++) to[q] = pair_at(j->a + i * j->k, q, j->k);
    }
  }
}

FY_CLONES static void cut(const float *from, int64_t n, uint16_t *to) {
  for (int64_t i = 0; i < n; i++) to[i] = fy_float_cut_to_bfloat16(from[i]);
}

static void items(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const int64_t panels = up(j->n, FY_BF16_COLUMNS);
  float sums[TILE_ROWS * FY_BF16_COLUMNS];
  for (int64_t item = begin; item < end; item++) {
    const int64_t m0 = item / panels * TILE_ROWS, p = item % panels, at = p * FY_BF16_COLUMNS;
    const int64_t rows = j->m - m0 < TILE_ROWS ? j->m - m0 : TILE_ROWS;
    const int64_t width = j->n - at < FY_BF16_COLUMNS ? j->n - at : FY_BF16_COLUMNS;
    const fy_pair *a = j->copy ? (const fy_pair *)j->copy : (const fy_pair *)(const void *)j->a;
    fy_bf16_block block = {.row_step = j->ta ? 1 : j->pairs, .pair_step = j->ta ? j->m : 1};
    for (int64_t q = 0; q < j->pairs; q += PIECE) {
      block.pairs = j->pairs - q < PIECE ? j->pairs - q : PIECE;
      block.b = j->packed + (p * j->pairs + q) * FY_BF16_COLUMNS;
      block.first = q == 0;
      for (int64_t i = 0; i < rows; i += FY_BF16_ROWS) {
        block.a = a + (m0 + i) * block.row_step + q * block.pair_step;
        block.sums = sums + i * FY_BF16_COLUMNS;
        fy_gemm_bf16_block(&block, (int)(rows - i < FY_BF16_ROWS ? rows - i : FY_BF16_ROWS));
      }
    }
    for (int64_t i = 0; i < rows; i++)
      cut(sums + i * FY_BF16_COLUMNS, width, j->c + (m0 + i) * j->n + at);
  }
}

fy_code fy_gemm_bf16(fy_kernel_ctx *ctx, const uint16_t *a, const uint16_t *b, uint16_t *c,
                     int64_t m, int64_t k, int64_t n, bool ta, bool tb, fy_error *err) {
  job j = {.a = a, .b = b, .c = c, .m = m, .k = k, .n = n, .pairs = up(k, 2), .ta = ta, .tb = tb};
  const int64_t panels = up(n, FY_BF16_COLUMNS);
  void *memory;
  FY_TRY(fy_scratch(ctx, packed_bytes(k, n), &memory, err));
  j.packed = memory;
  if (copies(k, ta)) {
    FY_TRY(fy_scratch(ctx, copy_bytes(m, k), &memory, err));
    j.copy = memory;
    fy_parallel(ctx, ta ? j.pairs : m, 0.3 * (double)(ta ? m : j.pairs), copy_rows, &j);
  }
  fy_parallel(ctx, panels, 0.3 * (double)(j.pairs * FY_BF16_COLUMNS), pack_panels, &j);
  fy_parallel(ctx, panels * up(m, TILE_ROWS),
              0.006 * (double)(TILE_ROWS * FY_BF16_COLUMNS) * (double)k, items, &j);
  return FY_OK;
}
