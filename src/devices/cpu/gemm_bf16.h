// SPDX-License-Identifier: Apache-2.0
// gemm_bf16.h: products of bfloat16 by the instruction that multiplies pairs of them and adds both products to
// a float: twice the terms of a float's in the same time, and nothing is widened. (AVX512_BF16: Zen 4, Cooper
// Lake and later.)

#ifndef FY_DEVICES_CPU_GEMM_BF16_H
#define FY_DEVICES_CPU_GEMM_BF16_H

#include "ops/op.h"

#define FY_BF16_ROWS    6
#define FY_BF16_COLUMNS 32

// Two terms, the first in the low half, wherever bfloat16s lie.
typedef uint32_t fy_pair __attribute__((may_alias, aligned(2)));

// A block of C: a few rows of pairs times a panel of them.
typedef struct fy_bf16_block {
  const fy_pair *a;             // of a row …
  int64_t row_step, pair_step;  // … so far apart
  const fy_pair *b;             // [pairs][FY_BF16_COLUMNS]
  int64_t pairs;
  float *sums;  // [rows][FY_BF16_COLUMNS]
  bool first;   // the sums start from zero, else they are added to
} fy_bf16_block;

#if defined(__x86_64__)
bool fy_gemm_bf16_here(void);  // does this machine have it, and may it be used?
void fy_gemm_bf16_block(const fy_bf16_block *block, int rows);  // 1 to FY_BF16_ROWS
#else
static inline bool fy_gemm_bf16_here(void) {
  return false;
}
static inline void fy_gemm_bf16_block(const fy_bf16_block *block, int rows) {
  (void)block, (void)rows;
}
#endif
// c = a b, all row by row (or transposed: |ta|, |tb|), cut like the reference's results.
FY_MUST_CHECK fy_code fy_gemm_bf16(fy_kernel_ctx *ctx, const uint16_t *a, const uint16_t *b,
                                   uint16_t *c, int64_t m, int64_t k, int64_t n, bool ta, bool tb,
                                   fy_error *err);
size_t fy_gemm_bf16_needs(int64_t m, int64_t k, int64_t n, bool ta);

#endif
