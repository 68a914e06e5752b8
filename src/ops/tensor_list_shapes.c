// SPDX-License-Identifier: Apache-2.0
// tensor_list_shapes.c: shape functions of the TensorList ops.

#include "ops/tensor_list_impl.h"

static fy_code handle_from_attr(fy_shape_ctx *ctx, int shape_input, fy_error *err) {
  const fy_attr *type = fy_attrs_get(ctx->attrs, "element_dtype");
  if (type && type->kind == FY_ATTR_TYPE) ctx->out_handle[0].dtype = type->v.type;
  FY_TRY(fy_shape_from_input_or_scalar(ctx, shape_input, &ctx->out_handle[0].shape, err));
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
// What a row of |t| is must agree with the element's shape; |leading|: the row keeps a first dim.
static fy_code rows_fit(fy_shape_ctx *ctx, fy_pshape t, bool leading, fy_pshape element,
                        fy_error *err) {
  if (t.rank < 0) return FY_OK;
  fy_pshape row = {t.rank ? t.rank - 1 : 0, t.rank ? t.dims + 1 : t.dims}, merged;
  if (leading) {
    int64_t *dims = fy_shape_dims(ctx, t.rank);
    if (!dims) return fy_fail_oom(err, sizeof *dims);
    for (int32_t d = 1; d < t.rank; d++) dims[d] = t.dims[d];
    row = (fy_pshape){t.rank, dims};
  }
  return fy_shape_merge(ctx, row, element, &merged, err);
}
fy_code fy_list_shape_new(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 0, err);
}
fy_code fy_list_shape_from_tensor(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(handle_from_attr(ctx, 1, err));
  return rows_fit(ctx, ctx->in[0], false, ctx->out_handle[0].shape, err);
}
fy_code fy_list_shape_split(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(handle_from_attr(ctx, 1, err));
  return rows_fit(ctx, ctx->in[0], true, ctx->out_handle[0].shape, err);
}
fy_code fy_list_shape_scatter(fy_shape_ctx *ctx, fy_error *err) {
  return handle_from_attr(ctx, 2, err);
}
fy_code fy_list_shape_same(fy_shape_ctx *ctx, fy_error *err) {
  ctx->out_handle[0] = ctx->in_handle[0];
  return fy_shape_set(ctx, 0, 0, NULL, err);
}
// What the shape input and the handle say about an element; unknown when they disagree.
static fy_code known_element(fy_shape_ctx *ctx, int shape_input, fy_pshape *out, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_shape_from_input_or_scalar(ctx, shape_input, &s, err));
  if (fy_shape_merge(ctx, s, ctx->in_handle[0].shape, out, NULL)) *out = FY_UNKNOWN_SHAPE;
  return FY_OK;
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
  fy_pshape s;
  FY_TRY(known_element(ctx, 2, &s, err));
  return fy_shape_set(ctx, 0, s.rank, s.dims, err);
}
fy_code fy_list_shape_pop(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;  // a shape that does not make sense is none of inference's business here
  if (known_element(ctx, 1, &s, NULL)) s = ctx->in_handle[0].shape;
  FY_TRY(fy_list_shape_same(ctx, err));
  return fy_shape_set(ctx, 1, s.rank, s.dims, err);
}
fy_code fy_list_shape_stack(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(known_element(ctx, 1, &s, err));
  return set_with_leading(ctx, 0, fy_shape_attr_int(ctx, "num_elements", -1), s, err);
}
fy_code fy_list_shape_gather(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape at = ctx->in[1];
  int64_t dims[FY_MAX_RANK];
  fy_pshape s;
  FY_TRY(known_element(ctx, 2, &s, err));
  if (at.rank < 0 || s.rank < 0 || at.rank + s.rank > FY_MAX_RANK) return FY_OK;
  for (int32_t d = 0; d < at.rank; d++) dims[d] = at.dims[d];
  for (int32_t d = 0; d < s.rank; d++) dims[at.rank + d] = s.dims[d];
  return fy_shape_set(ctx, 0, at.rank + s.rank, dims, err);
}
fy_code fy_list_shape_resize(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  return fy_list_shape_same(ctx, err);
}
fy_code fy_list_shape_scatter_existing(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  return fy_list_shape_same(ctx, err);
}
fy_code fy_list_shape_merged(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &ctx->out[0], err);
}
fy_code fy_list_shape_push_batch(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[1], 1, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 0), &n, err));
  return fy_shape_set(ctx, 0, 1, &n, err);
}
// Elements end to end: all but the first dim is theirs.
fy_code fy_list_shape_concat(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s = FY_UNKNOWN_SHAPE;
  const fy_attr *a = fy_attrs_get(ctx->attrs, "element_shape");
  if (ctx->num_inputs > 1) {
    FY_TRY(fy_shape_from_input_or_scalar(ctx, 1, &s, err));
  } else if (a && a->kind == FY_ATTR_SHAPE) {
    s = a->v.shape;
  }
  if (s.rank >= 0 && s.rank <= FY_MAX_RANK) {
    int64_t dims[FY_MAX_RANK];
    dims[0] = -1;
    for (int32_t d = 1; d < s.rank; d++) dims[d] = s.dims[d];
    FY_TRY(fy_shape_set(ctx, 0, s.rank ? s.rank : 1, dims, err));
  }
  return fy_shape_set(ctx, 1, 1, (const int64_t[]){-1}, err);
}
