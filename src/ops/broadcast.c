// SPDX-License-Identifier: Apache-2.0
// broadcast.c: see broadcast.h.

#include "ops/broadcast.h"

// Dim |d| of the output, seen by an operand of |rank|: its own size there, or 1 to the left of it.
static int64_t dim_at(int32_t out_rank, int32_t d, int32_t rank, const int64_t *dims) {
  const int32_t own = d - (out_rank - rank);
  return own < 0 ? 1 : dims[own];
}

static fy_code fail_shapes(int operands, const int32_t *ranks, const int64_t *const *dims,
                           fy_error *err) {
  char a[128], b[128], c[128];
  fy_shape_text(ranks[0], dims[0], a);
  fy_shape_text(ranks[1], dims[1], b);
  if (operands < 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", a, b);
  }
  fy_shape_text(ranks[2], dims[2], c);
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "condition %s, then %s, and else %s must be broadcastable", a, b, c);
}

// All operands have the same shape, of something: one row.
static bool all_alike(fy_bcast *b, int operands, const int32_t *ranks, const int64_t *const *dims) {
  int64_t count = 1;
  for (int k = 1; k < operands; k++)
    if (!fy_shape_equal(ranks[0], dims[0], ranks[k], dims[k])) return false;
  for (int32_t d = 0; d < ranks[0]; d++) {
    b->out_dims[d] = dims[0][d];
    if (__builtin_mul_overflow(count, dims[0][d], &count)) return false;
  }
  if (count <= 0) return false;
  b->out_rank = ranks[0];
  b->count = b->inner = b->dims[0] = count;
  b->rank = 1;
  for (int k = 0; k < operands; k++) b->inner_stride[k] = b->strides[k][0] = 1;
  return true;
}

fy_code fy_bcast_init_dims(fy_bcast *b, int operands, const int32_t *ranks,
                           const int64_t *const *dims, fy_error *err) {
  b->operands = operands;
  if (all_alike(b, operands, ranks, dims)) return FY_OK;
  b->out_rank = 0;
  for (int k = 0; k < operands; k++) {
    if (ranks[k] > b->out_rank) b->out_rank = ranks[k];
  }
  int64_t step[FY_BCAST_OPERANDS] = {0};  // elements per unit of the dim to the left
  for (int k = 0; k < operands; k++) step[k] = 1;
  // From the right: find each output dim and append it reversed, merging with the dim before it
  // when every operand treats both alike (all steps or all repeats).
  int32_t n = 0;
  for (int32_t d = b->out_rank - 1; d >= 0; d--) {
    int64_t size = 1;
    for (int k = 0; k < operands; k++) {
      const int64_t own = dim_at(b->out_rank, d, ranks[k], dims[k]);
      if (own == 1) continue;
      if (size != 1 && size != own) return fail_shapes(operands, ranks, dims, err);
      size = own;
    }
    b->out_dims[d] = size;
    if (size == 1) continue;
    int64_t stride[FY_BCAST_OPERANDS] = {0};
    for (int k = 0; k < operands; k++) {
      const int64_t own = dim_at(b->out_rank, d, ranks[k], dims[k]);
      stride[k] = own == 1 ? 0 : step[k];
      step[k] *= own;  // fits: it divides the operand's own element count
    }
    bool merge = n > 0;
    for (int k = 0; k < operands && merge; k++) {
      const int64_t below = b->strides[k][n - 1];
      merge = stride[k] == below * b->dims[n - 1] && (stride[k] != 0) == (below != 0);
    }
    if (merge) {
      b->dims[n - 1] *= size;
    } else {
      for (int k = 0; k < operands; k++) b->strides[k][n] = stride[k];
      b->dims[n++] = size;
    }
  }
  if (!fy_shape_count(b->out_rank, b->out_dims, &b->count)) {
    char a[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "Broadcast output shape %s is too large",
                   fy_shape_text(b->out_rank, b->out_dims, a));
  }
  if (n == 0) {
    b->dims[0] = 1;
    for (int k = 0; k < operands; k++) b->strides[k][0] = 1;
    n = 1;
  }
  for (int32_t i = 0, j = n - 1; i < j; i++, j--) {  // reversed above: turn around
    int64_t t = b->dims[i];
    b->dims[i] = b->dims[j];
    b->dims[j] = t;
    for (int k = 0; k < operands; k++) {
      t = b->strides[k][i];
      b->strides[k][i] = b->strides[k][j];
      b->strides[k][j] = t;
    }
  }
  b->rank = n;
  b->inner = b->dims[n - 1];
  for (int k = 0; k < operands; k++) b->inner_stride[k] = b->strides[k][n - 1];
  return FY_OK;
}

fy_code fy_bcast_init(fy_bcast *b, int operands, const fy_tensor *const *in, fy_error *err) {
  int32_t ranks[FY_BCAST_OPERANDS];
  const int64_t *dims[FY_BCAST_OPERANDS];
  for (int k = 0; k < operands; k++) {
    ranks[k] = in[k]->rank;
    dims[k] = in[k]->dims;
  }
  return fy_bcast_init_dims(b, operands, ranks, dims, err);
}

void fy_bcast_rows(const fy_bcast *b, int64_t begin, int64_t end,
                   void (*row)(void *arg, const int64_t *at, int64_t out_at, int64_t n),
                   void *arg) {
  if (begin >= end) return;
  int64_t index[FY_MAX_RANK];
  int64_t at[FY_BCAST_OPERANDS] = {0};
  int64_t rest = begin;
  for (int32_t d = b->rank - 1; d >= 0; d--) {
    index[d] = rest % b->dims[d];
    rest /= b->dims[d];
    for (int k = 0; k < b->operands; k++) at[k] += index[d] * b->strides[k][d];
  }
  const int32_t last = b->rank - 1;
  for (int64_t pos = begin; pos < end;) {
    int64_t n = b->inner - index[last];
    if (n > end - pos) n = end - pos;
    row(arg, at, pos, n);
    pos += n;
    for (int k = 0; k < b->operands; k++) at[k] -= index[last] * b->inner_stride[k];
    index[last] = 0;
    for (int32_t d = last - 1; d >= 0; d--) {  // carry
      for (int k = 0; k < b->operands; k++) at[k] += b->strides[k][d];
      if (++index[d] < b->dims[d]) break;
      for (int k = 0; k < b->operands; k++) at[k] -= b->dims[d] * b->strides[k][d];
      index[d] = 0;
    }
  }
}
