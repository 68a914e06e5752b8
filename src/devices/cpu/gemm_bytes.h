// SPDX-License-Identifier: Apache-2.0
// gemm_bytes.h: blocks of a product of 8-bit integers: unsigned rows times signed columns, summed in 32 bits.
//
// B lies in panels of |columns|: [quad][column][4], four terms of a sum side by side, as the instruction for
// this (VPDPBUSD) takes them. A's rows are bytes, or words where pairs of them are multiplied (AVX2).

#ifndef FY_DEVICES_CPU_GEMM_BYTES_H
#define FY_DEVICES_CPU_GEMM_BYTES_H

#include "ops/bytes.h"

#define FY_BYTE_COLUMNS 32  // at most

typedef struct fy_byte_block {
  const char *a;      // rows …
  int64_t row_bytes;  // … so far apart
  const int8_t *b;    // a panel
  int64_t quads;
  int32_t *sums;  // [rows][step]
  int64_t step;
} fy_byte_block;

typedef struct fy_byte_kernels {
  int rows, columns;  // of a block
  bool words;         // A's rows are int16_t
  void (*block)(const fy_byte_block *block, int rows);
} fy_byte_kernels;

extern const fy_byte_kernels fy_bytes_avx2, fy_bytes_avx512;
bool fy_bytes_avx512_here(void);  // does this machine have the instruction, and may it be used?

#endif
