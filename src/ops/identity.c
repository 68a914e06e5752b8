// SPDX-License-Identifier: Apache-2.0
// identity.c: values that pass through or stand still: Const, Placeholder, Identity, NoOp ….

#include "ops/op.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

static fy_code const_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "value");
  if (!a || a->kind != FY_ATTR_TENSOR || a->is_list || !a->v.tensor) return FY_OK;
  const fy_tensor *t = a->v.tensor;
  FY_TRY(fy_shape_set(ctx, 0, t->rank, t->dims, err));
  if (t->rank > 1 || t->count > FY_MAX_RANK || t->device || !fy_dtype_is_integer(t->dtype)) {
    return FY_OK;
  }
  int64_t values[FY_MAX_RANK];
  for (int64_t i = 0; i < t->count; i++) values[i] = fy_tensor_int(t, i);
  return fy_shape_set_value(ctx, 0, (int32_t)t->count, values, err);
}

static fy_code const_prepare(fy_site *site, fy_error *err) {
  const fy_attr *a = fy_site_attr(site, "value");
  if (!a || a->kind != FY_ATTR_TENSOR || a->is_list || !a->v.tensor) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Const needs a tensor in its attribute 'value'");
  }
  if (site->num_outputs == 1 && a->v.tensor->dtype != site->out_types[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Type mismatch between value (%s) and dtype (%s)",
                   fy_dtype_name(a->v.tensor->dtype), fy_dtype_name(site->out_types[0]));
  }
  site->state = a->v.tensor;  // kept by the arena of the attributes
  return FY_OK;
}

static fy_code const_compute(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *t = ctx->site->state;
  (void)err;
  fy_tensor_retain(t);
  fy_out_set(ctx, 0, t);
  return FY_OK;
}

static fy_code identity(fy_kernel_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    FY_TRY(fy_out_alias(ctx, i, i, ctx->in[i]->rank, ctx->in[i]->dims, err));
  }
  return FY_OK;
}

static fy_code no_op(fy_kernel_ctx *ctx, fy_error *err) {
  (void)ctx, (void)err;
  return FY_OK;
}

// The default is only a default: a feed may have any shape the attribute allows.
static fy_code placeholder_with_default_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  fy_pshape merged;
  if (!a || a->kind != FY_ATTR_SHAPE || a->is_list) return FY_OK;
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], a->v.shape, &merged, err));
  return fy_shape_set(ctx, 0, a->v.shape.rank, a->v.shape.dims, err);
}

// ---------------------------------------------------------------- EnsureShape
static fy_code ensure_shape_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  if (!a || a->kind != FY_ATTR_SHAPE) return fy_shape_unchanged(ctx, err);
  if (a->v.shape.rank < 0) FY_TRY(fy_shape_rank_is(ctx->in[0], -1, err));
  return fy_shape_merge(ctx, ctx->in[0], a->v.shape, &ctx->out[0], err);
}

static fy_code ensure_shape(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_attr *a = fy_site_attr(ctx->site, "shape");
  const fy_pshape want = a && a->kind == FY_ATTR_SHAPE ? a->v.shape : FY_UNKNOWN_SHAPE;
  bool ok = want.rank < 0 || want.rank == in->rank;
  for (int32_t i = 0; ok && i < want.rank; i++)
    ok = want.dims[i] < 0 || want.dims[i] == in->dims[i];
  if (!ok) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Shape of tensor %s %s is not compatible with expected shape %s.", "dummy_input",
                   fy_tensor_shape_text(in, x), fy_shape_text(want.rank, want.dims, y));
  }
  return fy_out_alias(ctx, 0, 0, in->rank, in->dims, err);
}

static const fy_sample identity_samples[] = {
    {"f32[2,2]=1,2,3,4", NULL, FY_OK, "1,2,3,4"},
    {"s[2]='a','bc'", NULL, FY_OK, NULL},
    {"f64[0]=", NULL, FY_OK, ""},
};
static const fy_sample plain_samples[] = {{"f32[2,2]=1,2,3,4", NULL, FY_OK, "1,2,3,4"}};
static const fy_sample identity_n_samples[] = {
    {"f32[2]=1,2; i32[]=3", "T=[float,int32]", FY_OK, "1,2"},
};
static const fy_sample ensure_samples[] = {
    {"f32[2]=1,2", "shape=[?]", FY_OK, "1,2"},
    {"f32[2]=1,2", "shape=[3]", FY_INVALID_ARGUMENT,
     "Shape of tensor dummy_input [2] is not compatible with expected shape [3]."},
};
static const fy_sample no_samples[] = {{"", NULL, FY_OK, NULL}};

#define PASS_FLAGS (FY_OP_ALIAS | FY_OP_CHEAP)
FY_OP(Const, .shape = const_shape, .prepare = const_prepare, .compute = const_compute,
      .flags = FY_OP_SETS_OUTPUT | FY_OP_CHEAP);
FY_OP(Placeholder, .shape = fy_shape_from_attr, .flags = FY_OP_NO_FOLD);
FY_OP(PlaceholderV2, .shape = fy_shape_from_attr, .flags = FY_OP_NO_FOLD);
FY_OP(_Arg, .shape = fy_shape_none, .flags = FY_OP_NO_FOLD);
FY_OP(_Retval, .shape = fy_shape_none, .flags = FY_OP_NO_FOLD);
FY_OP(PlaceholderWithDefault, .shape = placeholder_with_default_shape, .compute = identity,
      .flags = PASS_FLAGS | FY_OP_NO_FOLD);
FY_OP(Identity, .shape = fy_shape_identity, .compute = identity, .flags = PASS_FLAGS,
      FY_SAMPLES(identity_samples));
FY_OP(IdentityN, .shape = fy_shape_identity, .compute = identity, .flags = FY_OP_CHEAP,
      FY_SAMPLES(identity_n_samples));
FY_OP(StopGradient, .shape = fy_shape_identity, .compute = identity, .flags = PASS_FLAGS,
      FY_SAMPLES(identity_samples));
FY_OP(PreventGradient, .shape = fy_shape_identity, .compute = identity, .flags = PASS_FLAGS,
      FY_SAMPLES(identity_samples));
FY_OP(Snapshot, .shape = fy_shape_unchanged, .compute = identity, .flags = PASS_FLAGS,
      FY_SAMPLES(plain_samples));
FY_OP(NoOp, .shape = fy_shape_none, .compute = no_op, .flags = FY_OP_CHEAP, FY_SAMPLES(no_samples));
FY_OP(EnsureShape, .shape = ensure_shape_shape, .compute = ensure_shape, .flags = PASS_FLAGS,
      FY_SAMPLES(ensure_samples));
FY_OP(GuaranteeConst, .shape = fy_shape_unchanged, .compute = identity, .flags = PASS_FLAGS,
      FY_SAMPLES(plain_samples));
FY_OP(HostConst, .shape = const_shape, .prepare = const_prepare, .compute = const_compute,
      .flags = FY_OP_SETS_OUTPUT | FY_OP_CHEAP | FY_OP_HOST);
