// SPDX-License-Identifier: Apache-2.0
// tensor_list_shapes.c: shape functions of the TensorList ops.

#include "ops/tensor_list_impl.h"

static fy_code handle_from_attr(fy_shape_ctx *ctx, int shape_input, fy_error *err) {
  const fy_attr *type = fy_attrs_get(ctx->attrs, "element_dtype");
  if (type && type->kind == FY_ATTR_TYPE) ctx->out_handle[0].dtype = type->v.type;
  fy_pshape s = FY_UNKNOWN_SHAPE;
  const fy_tensor *v = ctx->in_value[shape_input];
  if (v && v->rank == 1) {
    int64_t *dims = fy_shape_dims(ctx, (int32_t)v->count);
    if (!dims) return fy_fail_oom(err, 8);
    for (int64_t i = 0; i < v->count; i++) dims[i] = fy_tensor_int(v, i);
    s = (fy_pshape){(int32_t)v->count, dims};
  }
  ctx->out_handle[0].shape = s;
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
fy_code fy_list_shape_new(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 0, err);
}
fy_code fy_list_shape_from_tensor(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 1, err);
}
fy_code fy_list_shape_scatter(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 2, err);
}
fy_code fy_list_shape_same(fy_shape_ctx *ctx, fy_error *err) {
  ctx->out_handle[0] = ctx->in_handle[0];
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
// What a constant shape input and the handle say about an element; unknown when they disagree.
static fy_pshape known_element(fy_shape_ctx *ctx, int shape_input) {
  fy_pshape s = FY_UNKNOWN_SHAPE, merged;
  const fy_tensor *v = ctx->in_value[shape_input];
  if (v && v->rank == 1 && v->count <= FY_MAX_RANK) {
    int64_t *dims = fy_shape_dims(ctx, (int32_t)v->count);
    if (!dims) return FY_UNKNOWN_SHAPE;
    for (int64_t i = 0; i < v->count; i++) {
      dims[i] = fy_tensor_int(v, i);
      if (dims[i] < -1) return FY_UNKNOWN_SHAPE;
    }
    s = (fy_pshape){(int32_t)v->count, dims};
  }
  if (fy_shape_merge(ctx, s, ctx->in_handle[0].shape, &merged, NULL)) return FY_UNKNOWN_SHAPE;
  return merged;
}
static fy_code set_with_leading(fy_shape_ctx *ctx, int i, int64_t leading, fy_pshape s,
                                fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  if (s.rank < 0 || s.rank >= FY_MAX_RANK) return FY_OK;
  dims[0] = leading;
  for (int32_t d = 0; d < s.rank; d++) dims[d + 1] = s.dims[d];
  return fy_shape_set(ctx, i, s.rank + 1, dims, err);
}
fy_code fy_list_shape_get(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape s = known_element(ctx, 2);
  return fy_shape_set(ctx, 0, s.rank, s.dims, err);
}
fy_code fy_list_shape_pop(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape s = known_element(ctx, 1);
  FY_TRY(fy_list_shape_same(ctx, err));
  return fy_shape_set(ctx, 1, s.rank, s.dims, err);
}
fy_code fy_list_shape_stack(fy_shape_ctx *ctx, fy_error *err) {
  return set_with_leading(ctx, 0, fy_shape_attr_int(ctx, "num_elements", -1), known_element(ctx, 1),
                          err);
}
fy_code fy_list_shape_gather(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t n = ctx->in[1].rank == 1 ? ctx->in[1].dims[0] : -1;
  return set_with_leading(ctx, 0, n, known_element(ctx, 2), err);
}
fy_code fy_list_shape_concat(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 1, 1, (const int64_t[]){-1}, err);
}
