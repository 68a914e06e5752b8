// SPDX-License-Identifier: Apache-2.0
// einsum_equation.h: the equation of an Einsum, its labels and their sizes.

#ifndef FY_OPS_EINSUM_EQUATION_H
#define FY_OPS_EINSUM_EQUATION_H

#include "ops/op.h"

// A character, or 256 + place of a dim of "..." from the right.
#define FY_EINSUM_LABELS (256 + FY_MAX_RANK)
#define FY_EINSUM_UNSEEN (-2)  // the size of a label that no input has; -1: unknown

typedef struct fy_einsum_term {
  int32_t rank;
  int32_t label[FY_MAX_RANK];
} fy_einsum_term;

typedef struct fy_einsum_equation {
  int inputs;
  fy_einsum_term in[2], out;
  int64_t size[FY_EINSUM_LABELS];
} fy_einsum_equation;

bool fy_einsum_has(const fy_einsum_term *t, int32_t label);

// For tensors that are there.
FY_MUST_CHECK fy_code fy_einsum_read(fy_view text, const fy_pshape *in, int inputs,
                                     fy_einsum_equation *e, fy_error *err);

// For what is known of shapes while a graph is built. *known false: not even the output's rank.
FY_MUST_CHECK fy_code fy_einsum_infer(fy_view text, const fy_pshape *in, int inputs,
                                      fy_einsum_equation *e, bool *known, fy_error *err);

#endif
