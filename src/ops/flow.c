// SPDX-License-Identifier: Apache-2.0
// flow.c: TensorFlow 1's control flow: what is known of shapes, and what each does to the tensors it gets.
// In graphs these nodes never run as kernels: execute/frames.c interprets them, since what they really
// do is to decide which other nodes run. The kernels here serve eager calls.

#include "ops/op.h"
#include "ops/shape_fns.h"

static fy_code pass_on(fy_shape_ctx *ctx, int out, int in, fy_error *err) {
  FY_TRY(fy_shape_set(ctx, out, ctx->in[in].rank, ctx->in[in].dims, err));
  ctx->out_handle[out] = ctx->in_handle[in];
  return FY_OK;
}

static fy_code switch_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  for (int i = 0; i < ctx->num_outputs; i++) FY_TRY(pass_on(ctx, i, 0, err));
  return FY_OK;
}

// What all inputs have in common.
static fy_code merge_shape(fy_shape_ctx *ctx, fy_error *err) {
  if (ctx->num_outputs > 1) FY_TRY(fy_shape_set(ctx, 1, 0, NULL, err));
  const int32_t rank = ctx->in[0].rank;
  if (rank < 0) return FY_OK;
  int64_t *dims = fy_shape_dims(ctx, rank);
  if (!dims) return fy_fail_oom(err, (size_t)rank * sizeof *dims);
  for (int32_t d = 0; d < rank; d++) dims[d] = ctx->in[0].dims[d];
  for (int i = 1; i < ctx->num_inputs; i++) {
    if (ctx->in[i].rank != rank) return FY_OK;
    for (int32_t d = 0; d < rank; d++)
      if (ctx->in[i].dims[d] != dims[d]) dims[d] = -1;
  }
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static fy_code enter_shape(fy_shape_ctx *ctx, fy_error *err) {
  if (ctx->in_handle[0].dtype != FY_INVALID) {
    ctx->out_handle[0] = ctx->in_handle[0];
    return FY_OK;
  }
  // A loop variable may change its shape as the loop goes round.
  return fy_shape_attr_bool(ctx, "is_constant") ? pass_on(ctx, 0, 0, err) : FY_OK;
}

static fy_code same_shape(fy_shape_ctx *ctx, fy_error *err) {
  return pass_on(ctx, 0, 0, err);
}

static fy_code loop_cond_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return fy_shape_set(ctx, 0, 0, NULL, err);
}

// ---------------------------------------------------------------- kernels
static fy_code scalar_index(const fy_kernel_ctx *ctx, const fy_tensor *t, const char *what,
                            int64_t *out, fy_error *err) {
  char text[128];
  if (t->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, but it has shape %s", what,
                   fy_shape_text(t->rank, t->dims, text));
  (void)ctx;
  *out = t->dtype == FY_BOOL ? *(const bool *)t->data : fy_tensor_int(t, 0);
  return FY_OK;
}

static fy_code switch_compute(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_outputs;
  int64_t i = 0;
  FY_TRY(scalar_index(ctx, ctx->in[1], "The second input", &i, err));
  return fy_out_alias(ctx, i < 0 || i >= n ? n - 1 : (int)i, 0, ctx->in[0]->rank, ctx->in[0]->dims,
                      err);
}

// Called eagerly, every input is there; the first counts. (In a graph the executor picks the one that comes.)
static fy_code merge_compute(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *index;
  FY_TRY(fy_out(ctx, 1, 0, NULL, &index, err));
  *(int32_t *)index->data = 0;
  return fy_out_alias(ctx, 0, 0, ctx->in[0]->rank, ctx->in[0]->dims, err);
}

static fy_code pass_compute(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_out_alias(ctx, 0, 0, ctx->in[0]->rank, ctx->in[0]->dims, err);
}

#define FLAGS (FY_OP_SETS_OUTPUT | FY_OP_NO_FOLD | FY_OP_CHEAP)
#define PASS  (FY_OP_ALIAS | FY_OP_NO_FOLD | FY_OP_CHEAP)
FY_OP(Switch, .shape = switch_shape, .compute = switch_compute, .flags = FLAGS, .host_inputs = 2);
FY_OP(RefSwitch, .shape = switch_shape, .compute = switch_compute, .flags = FLAGS,
      .host_inputs = 2);
FY_OP(_SwitchN, .shape = switch_shape, .compute = switch_compute, .flags = FLAGS, .host_inputs = 2);
FY_OP(Merge, .shape = merge_shape, .compute = merge_compute, .flags = FLAGS, .host_outputs = 2);
FY_OP(RefMerge, .shape = merge_shape, .compute = merge_compute, .flags = FLAGS, .host_outputs = 2);
FY_OP(Enter, .shape = enter_shape, .compute = pass_compute, .flags = PASS);
FY_OP(RefEnter, .shape = same_shape, .compute = pass_compute, .flags = PASS);
FY_OP(Exit, .shape = same_shape, .compute = pass_compute, .flags = PASS);
FY_OP(RefExit, .shape = same_shape, .compute = pass_compute, .flags = PASS);
FY_OP(NextIteration, .shape = same_shape, .compute = pass_compute, .flags = PASS);
FY_OP(RefNextIteration, .shape = same_shape, .compute = pass_compute, .flags = PASS);
FY_OP(LoopCond, .shape = loop_cond_shape, .compute = pass_compute, .flags = PASS, .host_inputs = 1,
      .host_outputs = 1);
FY_OP(ControlTrigger, .shape = fy_shape_none);
