// SPDX-License-Identifier: Apache-2.0
// rows.h: reductions of rows and the element-wise operations around them as one program (op
// _FerryRows, made by optimize/rows.c, run by rows.c): layer normalisation, moments, a softmax
// written out. A tensor is seen as rows of some length; every row can be computed alone.
//
// Values are numbered: inputs first, then constants, then the result of each operation; the last one
// is the op's output. It travels as the string attribute "program":
//   uint32 inputs, constants, operations
//   uint32 kind[inputs]             (fy_rows_kind)
//   uint64 constant[constants]      (the element's bytes, low end first)
//   uint32 op, a, b, wide [operations]
// in the machine's byte order: it never leaves the process.

#ifndef FY_OPS_ROWS_H
#define FY_OPS_ROWS_H

#include "ops/fused.h"
#include "ops/reduce.h"

#define FY_ROWS_MOST 96  // inputs, constants and operations together
#define FY_ROWS_REDUCE \
  4096  // an operation from here on is a reduction: minus this, fy_row_reduction

typedef enum fy_rows_kind {
  FY_ROWS_WIDE = 0,    // rows of the full length
  FY_ROWS_SCALAR = 1,  // one element
  FY_ROWS_ROW = 2,     // one row for all
  FY_ROWS_COLUMN = 3,  // one element per row
} fy_rows_kind;

typedef struct fy_rows_op {
  uint32_t op;    // fy_ew, or FY_ROWS_REDUCE + fy_row_reduction
  uint32_t a, b;  // b is FY_FUSED_NONE where there is one operand
  uint32_t wide;  // 1: the result is rows, 0: one element per row
} fy_rows_op;

typedef struct fy_rows_program {
  uint32_t num_inputs, num_consts, num_ops;
  uint32_t kinds[FY_ROWS_MOST];
  uint64_t consts[FY_ROWS_MOST];
  fy_rows_op ops[FY_ROWS_MOST];
} fy_rows_program;

FY_MUST_CHECK fy_code fy_rows_encode(const fy_rows_program *p, fy_arena *arena, fy_view *out,
                                     fy_error *err);
// The opposite; trusts nothing. INVALID_ARGUMENT if damaged.
FY_MUST_CHECK fy_code fy_rows_decode(fy_view bytes, fy_dtype dtype, fy_rows_program *out,
                                     fy_error *err);

// ---------------------------------------------------------------- programs of their own (rows_norm.c)
typedef struct fy_norm {
  fy_norm_form form;
  uint32_t x, gamma, beta;  // inputs; FY_FUSED_NONE: there is none
  float epsilon;
  void (*root)(const float *in, float *out, int64_t n);
} fy_norm;
// Is |p|, a program of floats, a layer normalisation, l2_normalize or softmax and nothing else?
bool fy_norm_match(const fy_rows_program *p, fy_norm *out);
// Whether rows of |n| have a loop of their own, so that it pays.
bool fy_norm_fits(const fy_norm *f, int64_t n);
void fy_norm_rows(const fy_norm *f, const float *x, const float *gamma, const float *beta,
                  int64_t n, int64_t rows, bool past_cache, float *out);
// out = exp(in - the maximum of in); returns the sum, added as reduce.c adds a row of that length if it
// is longer than FY_REDUCE_SHORT. If there is a NaN, that is all to rely on: the sum is NaN. (softmax.c)
float fy_softmax_exps(const float *in, float *out, int64_t n);

#endif
