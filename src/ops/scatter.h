// SPDX-License-Identifier: Apache-2.0
// scatter.h: updates at indexed places, shared by the ops on tensors (scatter.c) and on variables
// (resource_scatter.c).

#ifndef FY_OPS_SCATTER_H
#define FY_OPS_SCATTER_H

#include "ops/op.h"
#include "ops/typed.h"

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

// 16-bit floats are compared by their bits, as floats compare: both zeros are equal, NaN is less than nothing and nothing
// less. Denormal bfloat16s count as 0 (those of halves are ordinary floats).
static inline int16_t fy_order_16(uint16_t h, uint16_t least) {
  const int16_t sign = (int16_t)((int16_t)h >> 15);
  const uint16_t size = (uint16_t)(h & 0x7FFF);
  return (int16_t)(((int16_t)(size < least ? 0 : size) ^ sign) - sign);
}
static inline int fy_less_16(uint16_t x, uint16_t y, uint16_t least, uint16_t most) {
  const int numbers = ((x & 0x7FFF) <= most) & ((y & 0x7FFF) <= most);
  return (fy_order_16(x, least) < fy_order_16(y, least)) & numbers;
}
#define FY_HALF_LESS(x, y)  fy_less_16(x, y, 0, 0x7C00)
#define FY_BRAIN_LESS(x, y) fy_less_16(x, y, 0x80, 0x7F80)
#define FY_ORDER_16(name, CONDITION, YES, NO)                                     \
  FY_CLONES static void name(void *pt, const void *pf, int64_t n, int64_t step) { \
    uint16_t *to = pt;                                                            \
    const uint16_t *from = pf;                                                    \
    if (step == 1) {                                                              \
      FY_VECTOR for (int64_t i = 0; i < n; i++) {                                 \
        const uint16_t x = to[i], y = from[i];                                    \
        to[i] = CONDITION ? YES : NO;                                             \
      }                                                                           \
      return;                                                                     \
    }                                                                             \
    for (int64_t i = 0; i < n; i++) {                                             \
      const uint16_t x = to[i], y = from[i * step];                               \
      to[i] = CONDITION ? YES : NO;                                               \
    }                                                                             \
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
