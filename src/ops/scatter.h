// SPDX-License-Identifier: Apache-2.0
// scatter.h: updates at indexed places, shared by the ops on tensors (scatter.c) and on variables
// (resource_scatter.c).

#ifndef FY_OPS_SCATTER_H
#define FY_OPS_SCATTER_H

#include "ops/op.h"

typedef enum fy_scatter_kind {
  FY_SCATTER_UPDATE,
  FY_SCATTER_ADD,
  FY_SCATTER_SUB,
  FY_SCATTER_MUL,
  FY_SCATTER_DIV,
  FY_SCATTER_MIN,
  FY_SCATTER_MAX,
  FY_SCATTER_KINDS
} fy_scatter_kind;

// to[i] = to[i] OP from[i] for |n| elements; |step| 0: from[0] for all.
typedef void (*fy_scatter_loop)(void *to, const void *from, int64_t n, int64_t step);
fy_scatter_loop fy_scatter_find(fy_scatter_kind kind, fy_dtype t);  // NULL: none

// The smaller or larger of 16-bit floats: that of |to| stays where they do not differ, or with |last| that of |from|.
void fy_scatter_pick_16(bool half, bool larger, bool last, uint16_t *to, const uint16_t *from,
                        int64_t n, int64_t step);
// Loops of both types of 16 bits that do so.
#define FY_SCATTER_PICK_16(name, larger, last)                                   \
  static void name##_f16(void *to, const void *from, int64_t n, int64_t step) {  \
    fy_scatter_pick_16(true, larger, last, to, from, n, step);                   \
  }                                                                              \
  static void name##_bf16(void *to, const void *from, int64_t n, int64_t step) { \
    fy_scatter_pick_16(false, larger, last, to, from, n, step);                  \
  }

// Applies |count| elements of |from| + |from_at| to |to| + |to_at|; strings too. |loop| as found.
FY_MUST_CHECK fy_code fy_scatter_apply(fy_scatter_kind kind, fy_scatter_loop loop, fy_tensor *to,
                                       int64_t to_at, const fy_tensor *from, int64_t from_at,
                                       int64_t count, fy_error *err);

// How TensorScatter* and the ScatterNd ops of variables check their shapes.
FY_MUST_CHECK fy_code fy_scatter_nd_check(const fy_tensor *target, const fy_tensor *indices,
                                          const fy_tensor *updates, fy_error *err);
// What TensorFlow wants of a vector of indices, in all of these ops: it takes it for rows of one index
// each, of which it does the first only. Passes if |indices| is no vector.
FY_MUST_CHECK fy_code fy_scatter_vector_check(int32_t rank, const int64_t *dims,
                                              const fy_tensor *indices, const fy_tensor *updates,
                                              fy_error *err);
// fy_scatter_nd_check for shapes that may be known in part. (Not a whole shape function: sets nothing.)
FY_MUST_CHECK fy_code fy_scatter_nd_infer(fy_shape_ctx *ctx, fy_pshape target, fy_pshape indices,
                                          fy_pshape updates, fy_error *err);
// target[indices[r]] = target[indices[r]] OP updates[r] for every row; shapes are checked already.
// What to do with indices that are out of range must be a known word.
FY_MUST_CHECK fy_code fy_scatter_policy(const fy_site *site, fy_error *err);
FY_MUST_CHECK fy_code fy_scatter_nd_run(const fy_site *site, fy_scatter_kind kind,
                                        fy_tensor *target, const fy_tensor *indices,
                                        const fy_tensor *updates, fy_error *err);

// "[1,0]": where element |at| of a tensor of this shape is; "" for a scalar.
const char *fy_place_text(int32_t rank, const int64_t *dims, int64_t at, char buf[128]);

#endif
