// SPDX-License-Identifier: Apache-2.0
// batch_norm.h: sums over the channels of a tensor, and what is done to each number then. Shared by
// batch_norm.c (the ops) and batch_norm_loops.c.
//
// A tensor is [outer, channels, inner]. Where channels come last (inner is 1) it is walked in rows of
// |width| numbers, some times the channels, so that three channels are as fast as sixty-four; the
// vectors are repeated to that width. Else |width| is the number of channels.

#ifndef FY_OPS_BATCH_NORM_H
#define FY_OPS_BATCH_NORM_H

#include "ops/op.h"

typedef struct fy_norm_job {
  fy_dtype type;  // FY_FLOAT, FY_HALF, FY_BFLOAT16
  bool channels_last;
  int64_t outer, channels, inner;
  int64_t width, parts;  // parts are summed alone; how many does not depend on the threads
  const void *x, *grad;  // |grad|: NULL unless this is a gradient
  void *out;
  // [width]. out = (x - shift) * scale + offset; gradient: scale * (grad - offset - (x - shift) * slope)
  float *shift, *scale, *offset, *slope;
  double *sums;  // [parts][2][width]
} fy_norm_job;

// |width| and |parts| of a tensor whose other sizes are known.
void fy_norm_cut(fy_norm_job *j);
// Bytes of working memory, and its distribution over the vectors and sums.
size_t fy_norm_work(const fy_norm_job *j);
void fy_norm_set_work(fy_norm_job *j, void *memory);

// Sums over every channel, into the first of |sums|: of x - shift and its square; of a gradient the
// gradient's and that of its product with x - shift. In double, so that their order does not show.
void fy_norm_sum(fy_kernel_ctx *ctx, fy_norm_job *j);
// Repeats what the first |channels| of |v| hold.
void fy_norm_repeat(const fy_norm_job *j, float *v);
void fy_norm_apply(fy_kernel_ctx *ctx, fy_norm_job *j);

#endif
