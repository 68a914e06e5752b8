// SPDX-License-Identifier: Apache-2.0
// shape_fns.h: helpers for shape functions over partially known shapes, and the functions that many
// ops share. Texts are TensorFlow's; graph/ adds the node and its input shapes.
//
// A pshape of rank -1 is unknown. Value-as-shape: a small integer output whose value is (partly)
// known sets out_as_shape: its dims are the values, -1 where unknown; a scalar counts as one dim.

#ifndef FY_OPS_SHAPE_FNS_H
#define FY_OPS_SHAPE_FNS_H

#include "ops/op.h"

#define FY_UNKNOWN_SHAPE ((fy_pshape){-1, NULL})

static inline bool fy_rank_known(fy_pshape s) {
  return s.rank >= 0;
}
static inline int64_t fy_dim_of(fy_pshape s, int32_t i) {  // -1 when unknown
  return s.rank < 0 ? -1 : s.dims[i];
}
bool fy_shape_known(fy_pshape s);  // rank and all dims

// --- results ---
// Sets output |i|; |dims| are copied (NULL = all unknown).
FY_MUST_CHECK fy_code fy_shape_set(fy_shape_ctx *ctx, int i, int32_t rank, const int64_t *dims,
                                   fy_error *err);
FY_MUST_CHECK fy_code fy_shape_set_value(fy_shape_ctx *ctx, int i, int32_t n, const int64_t *values,
                                         fy_error *err);
// Dims in the arena for a result of |rank|, preset to -1. NULL when memory is short.
int64_t *fy_shape_dims(fy_shape_ctx *ctx, int32_t rank);

// --- checks; an unknown shape passes ---
FY_MUST_CHECK fy_code fy_shape_rank_is(fy_pshape s, int32_t rank, fy_error *err);
FY_MUST_CHECK fy_code fy_shape_rank_at_least(fy_pshape s, int32_t rank, fy_error *err);
FY_MUST_CHECK fy_code fy_shape_rank_at_most(fy_pshape s, int32_t rank, fy_error *err);
FY_MUST_CHECK fy_code fy_dim_merge(int64_t a, int64_t b, int64_t *out, fy_error *err);
FY_MUST_CHECK fy_code fy_dim_is(int64_t dim, int64_t want, fy_error *err);
// What both shapes say together; the result's dims are in the context's arena.
FY_MUST_CHECK fy_code fy_shape_merge(fy_shape_ctx *ctx, fy_pshape a, fy_pshape b, fy_pshape *out,
                                     fy_error *err);
FY_MUST_CHECK fy_code fy_shape_broadcast_two(fy_shape_ctx *ctx, fy_pshape a, fy_pshape b,
                                             fy_pshape *out, fy_error *err);

// --- inputs as values ---
// The value of input |i| if it is known ahead: a constant, or computed from constants. Else NULL.
const fy_tensor *fy_shape_tensor(fy_shape_ctx *ctx, int i);
bool fy_shape_int_value(fy_shape_ctx *ctx, int i, int64_t *out);  // a scalar, fully known
// Known elements of a 1-D (or scalar) integer input: *n values, -1... where |known| is false. False
// when not even the length is known. Arrays in the arena.
bool fy_shape_values(fy_shape_ctx *ctx, int i, int32_t *n, int64_t **values, bool **known);
// Input |i| read as a shape. -1 = unknown dim.
FY_MUST_CHECK fy_code fy_shape_from_input(fy_shape_ctx *ctx, int i, fy_pshape *out, fy_error *err);
// The same where a scalar -1 stands for an unknown shape (lists of tensors, ragged tensors).
FY_MUST_CHECK fy_code fy_shape_from_input_or_scalar(fy_shape_ctx *ctx, int i, fy_pshape *out,
                                                    fy_error *err);
// The size that scalar input |i| gives; -1 when it is not known.
FY_MUST_CHECK fy_code fy_shape_dim_from_scalar(fy_shape_ctx *ctx, int i, int64_t *out,
                                               fy_error *err);
// Axis -> [0, rank): "Dimension size, given by scalar input 5 must be in range [-2, 2)".
FY_MUST_CHECK fy_code fy_shape_axis(int64_t axis, int32_t rank, int32_t *out, fy_error *err);

// --- attributes with the node's defaults filled in ---
int64_t fy_shape_attr_int(const fy_shape_ctx *ctx, const char *name, int64_t otherwise);
bool fy_shape_attr_bool(const fy_shape_ctx *ctx, const char *name);

// A handle is a scalar; one of version 1, a reference, a vector of two strings.
FY_MUST_CHECK fy_code fy_shape_handle(const fy_shape_ctx *ctx, int i, fy_error *err);

// --- whole shape functions ---
fy_code fy_shape_none(fy_shape_ctx *ctx, fy_error *err);    // no outputs, or nothing known
fy_code fy_shape_scalar(fy_shape_ctx *ctx, fy_error *err);  // every output is a scalar
fy_code fy_shape_ref(fy_shape_ctx *ctx, fy_error *err);     // a resource's name: two strings
// Inputs are handles, or strings' references that stand for one; outputs scalars.
fy_code fy_shape_of_handles(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_shape_unchanged(fy_shape_ctx *ctx, fy_error *err);   // output 0 like input 0
fy_code fy_shape_at_least_1(fy_shape_ctx *ctx, fy_error *err);  // the same, rank >= 1
fy_code fy_shape_identity(fy_shape_ctx *ctx,
                          fy_error *err);  // output i is input i: value, handle too
fy_code fy_shape_broadcast(fy_shape_ctx *ctx, fy_error *err);  // of inputs 0 and 1
fy_code fy_shape_broadcast_or_unknown(fy_shape_ctx *ctx, fy_error *err);
fy_code fy_shape_merge_all(fy_shape_ctx *ctx, fy_error *err);   // all inputs alike (AddN)
fy_code fy_shape_from_attr(fy_shape_ctx *ctx, fy_error *err);   // attribute "shape"
fy_code fy_shape_from_first(fy_shape_ctx *ctx, fy_error *err);  // input 0 is a shape (Fill, random)
fy_code fy_shape_reduction(fy_shape_ctx *ctx, fy_error *err);   // input, axes; attribute keep_dims
fy_code fy_shape_from_output_shapes(fy_shape_ctx *ctx, fy_error *err);  // attribute "output_shapes"

#endif
