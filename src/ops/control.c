// SPDX-License-Identifier: Apache-2.0
// control.c: functional control flow: If, Case, While and plain calls. The runner instantiates the
// functions of a site (site->functions, in attribute order) and runs them through svc->call.

#include "base/alloc.h"
#include "ops/op.h"
#include "ops/shape_fns.h"

static fy_code function_of(const fy_kernel_ctx *ctx, int index, void **out, fy_error *err) {
  const fy_site *site = ctx->site;
  if (index >= site->num_functions || !site->functions || !ctx->svc->call) {
    return fy_fail(err, FY_INTERNAL, "%s: function %d was not instantiated", site->op->impl->name,
                   index);
  }
  *out = site->functions[index];
  return FY_OK;
}

// Calls |fn| with inputs [first, num_inputs). What nobody needs afterwards is given away; the others are held
// meanwhile, so that the function does not take them for its own.
static fy_code call_last(fy_kernel_ctx *ctx, void *fn, int first, fy_tensor **results,
                         fy_error *err) {
  const int n = ctx->site->num_inputs, num_out = ctx->site->num_outputs;
  bool any = false;
  for (int i = first; i < n && !any; i++)
    any = ctx->svc->call_giving && ctx->svc->may_change && ctx->svc->may_change(ctx, i);
  if (!any) return ctx->svc->call(ctx, fn, ctx->in + first, n - first, results, num_out, err);
  bool *held = fy_calloc((size_t)n, sizeof *held);
  if (!held) return fy_fail_oom(err, (size_t)n);
  for (int i = first; i < n; i++) held[i] = ctx->in[i]->buffer && !ctx->svc->may_change(ctx, i);
  for (int i = first; i < n; i++)
    if (held[i]) fy_tensor_retain(ctx->in[i]);
  const fy_code code =
      ctx->svc->call_giving(ctx, fn, ctx->in + first, n - first, results, num_out, err);
  for (int i = first; i < n; i++)
    if (held[i]) fy_tensor_release(ctx->in[i]);
  fy_free(held);
  return code;
}

// Calls function |index| with inputs [first, num_inputs) and publishes its results.
static fy_code call_and_publish(fy_kernel_ctx *ctx, int index, int first, fy_error *err) {
  const int n = ctx->site->num_outputs;
  void *fn = NULL;
  FY_TRY(function_of(ctx, index, &fn, err));
  fy_tensor **results = fy_calloc((size_t)(n > 0 ? n : 1), sizeof(fy_tensor *));
  if (!results) return fy_fail_oom(err, (size_t)n * sizeof *results);
  fy_code code = call_last(ctx, fn, first, results, err);
  for (int i = 0; code == FY_OK && i < n; i++) {
    if (results[i]->dtype != ctx->site->out_types[i]) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Expected type %s for return value %d but got %s.",
                     fy_dtype_name(ctx->site->out_types[i]), i, fy_dtype_name(results[i]->dtype));
    }
  }
  for (int i = 0; i < n; i++) {
    if (code) {
      fy_tensor_release(results[i]);
    } else {
      fy_out_set(ctx, i, results[i]);
    }
  }
  fy_free(results);
  return code;
}

// TensorFlow's truth: a number is not zero, a string not empty, any other shape not empty.
static fy_code to_bool(const fy_tensor *t, bool *out, fy_error *err) {
  if (t->rank > 0) {
    *out = t->count > 0;
  } else if (t->dtype == FY_STRING) {
    *out = fy_tensor_string(t, 0).n > 0;
  } else if (t->dtype == FY_BOOL) {
    *out = *(const bool *)t->data;
  } else if (t->dtype == FY_FLOAT || t->dtype == FY_DOUBLE || t->dtype == FY_HALF ||
             t->dtype == FY_BFLOAT16) {
    *out = fy_tensor_double(t, 0) != 0;
  } else if (fy_dtype_is_integer(t->dtype)) {
    *out = fy_tensor_int(t, 0) != 0;
  } else {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s cannot be converted to a boolean",
                   fy_dtype_name(t->dtype));
  }
  return FY_OK;
}

// The same of a function's result, which may be in a device's memory.
static fy_code take_bool(fy_kernel_ctx *ctx, fy_tensor *t, bool *out, fy_error *err) {
  fy_code code = FY_OK;
  if (t->device && ctx->svc->to_host) {
    fy_tensor *host = NULL;
    code = ctx->svc->to_host(ctx, t, &host, err);
    fy_tensor_release(t);
    t = host;
  }
  if (!code) code = to_bool(t, out, err);
  fy_tensor_release(t);
  return code;
}

static fy_code if_compute(fy_kernel_ctx *ctx, fy_error *err) {
  bool yes = false;
  FY_TRY(to_bool(ctx->in[0], &yes, err));
  return call_and_publish(ctx, yes ? 0 : 1, 1, err);
}

static fy_code case_compute(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *index = ctx->in[0];
  const int branches = ctx->site->num_functions;
  if (index->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "branch_index must be scalar");
  const int64_t i = fy_tensor_int(index, 0);
  return call_and_publish(ctx, i < 0 || i >= branches ? branches - 1 : (int)i, 1, err);
}

static fy_code call_compute(fy_kernel_ctx *ctx, fy_error *err) {
  return call_and_publish(ctx, 0, 0, err);
}

static fy_code keep(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  if (ctx->svc->keep) return ctx->svc->keep(ctx, t, out, err);
  if (t->buffer) return fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err);
  return fy_tensor_clone(t, out, err);
}

// One step of a loop: its arguments are ours, and let go when it is done.
static fy_code step(fy_kernel_ctx *ctx, void *body, fy_tensor **args, int num_args,
                    fy_tensor **next, int n, fy_error *err) {
  for (int k = 0; k < n; k++) next[k] = NULL;
  return (ctx->svc->call_giving ? ctx->svc->call_giving : ctx->svc->call)(ctx, body, args, num_args,
                                                                          next, n, err);
}

static fy_code check_cancelled(fy_kernel_ctx *ctx, fy_error *err) {
  if (!ctx->svc->cancelled || !ctx->svc->cancelled(ctx)) return FY_OK;
  return fy_fail(err, FY_CANCELLED, "Function was cancelled before it was started");
}

// What a step returned takes the place of what it was given. All of it is ours then, also if a type is
// not the loop's.
static fy_code carry(fy_kernel_ctx *ctx, fy_tensor **args, fy_tensor *const *next, fy_error *err) {
  fy_code code = FY_OK;
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    const fy_dtype want = ctx->site->out_types[i], got = next[i]->dtype;
    fy_tensor_release(args[i]);
    args[i] = next[i];
    if (want != got && code == FY_OK)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Expected type %s for return value %d but got %s.",
                     fy_dtype_name(want), i, fy_dtype_name(got));
  }
  return code;
}

// One step of a loop that counts: args[0] becomes the number, those after it what the step returns.
static fy_code counted_step(fy_kernel_ctx *ctx, void *body, int32_t number, fy_tensor **args,
                            int num_args, fy_tensor **next, fy_error *err) {
  fy_tensor_release(args[0]);
  args[0] = NULL;
  FY_TRY(fy_tensor_from(FY_INT32, 0, NULL, &number, &args[0], err));
  FY_TRY(check_cancelled(ctx, err));
  FY_TRY(step(ctx, body, args, num_args, next, ctx->site->num_outputs, err));
  return carry(ctx, args + 1, next, err);
}

// The values of a loop that ended with |code| become the op's results, or are let go.
static void hand_out(fy_kernel_ctx *ctx, fy_tensor **values, fy_code code) {
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    if (code)
      fy_tensor_release(values[i]);
    else
      fy_out_set(ctx, i, values[i]);
  }
}

// ---------------------------------------------------------------- While
// |args| are ours: references we hold. The body's results replace them each time round.
static fy_code while_loop(fy_kernel_ctx *ctx, void *cond, void *body, fy_tensor **args,
                          fy_tensor **next, int n, fy_error *err) {
  for (;;) {
    fy_tensor *answer = NULL;
    bool go = false;
    FY_TRY(check_cancelled(ctx, err));
    FY_TRY(ctx->svc->call(ctx, cond, args, n, &answer, 1, err));
    fy_code code = take_bool(ctx, answer, &go, err);
    if (code || !go) return code;
    FY_TRY(step(ctx, body, args, n, next, n, err));
    FY_TRY(carry(ctx, args, next, err));
  }
}

static fy_code while_compute(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_outputs;
  void *cond = NULL, *body = NULL;
  FY_TRY(function_of(ctx, 0, &cond, err));
  FY_TRY(function_of(ctx, 1, &body, err));
  fy_tensor **args = fy_calloc((size_t)(n > 0 ? n : 1), 2 * sizeof(fy_tensor *));
  if (!args) return fy_fail_oom(err, (size_t)n * 2 * sizeof *args);
  fy_code code = FY_OK;
  for (int i = 0; i < n && code == FY_OK; i++) {
    code = keep(ctx, ctx->in[i], &args[i], err);
  }
  if (code == FY_OK) code = while_loop(ctx, cond, body, args, args + n, n, err);
  hand_out(ctx, args, code);
  fy_free(args);
  return code;
}

// ---------------------------------------------------------------- For
// body(i, values...) -> values... for i from start to limit by delta.
static fy_code for_loop(fy_kernel_ctx *ctx, void *body, int32_t start, int32_t limit, int32_t delta,
                        fy_tensor **args, fy_tensor **next, int n, fy_error *err) {
  for (int64_t i = start; delta > 0 ? i < limit : i > limit; i += delta)
    FY_TRY(counted_step(ctx, body, (int32_t)i, args, n + 1, next, err));
  return FY_OK;
}

static fy_code for_compute(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"start", "limit", "delta"};
  const int n = ctx->site->num_outputs;
  int32_t v[3];
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i]->rank != 0)
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar", names[i]);
    v[i] = *(const int32_t *)ctx->in[i]->data;
  }
  if (v[2] == 0 && v[0] != v[1])
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid start/limit/delta: %d %d %d", v[0], v[1],
                   v[2]);
  if ((v[2] > 0 && v[0] > v[1]) || (v[2] < 0 && v[0] < v[1]))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid start/limit/delta: %d %d %d", v[0], v[1],
                   v[2]);
  void *body = NULL;
  FY_TRY(function_of(ctx, 0, &body, err));
  fy_tensor **args = fy_calloc((size_t)n + 1, 2 * sizeof(fy_tensor *));
  if (!args) return fy_fail_oom(err, (size_t)n * 2 * sizeof *args);
  fy_code code = FY_OK;
  for (int i = 0; i < n && code == FY_OK; i++) {
    code = keep(ctx, ctx->in[i + 3], &args[i + 1], err);
  }
  if (code == FY_OK) code = for_loop(ctx, body, v[0], v[1], v[2], args, args + n + 1, n, err);
  fy_tensor_release(args[0]);
  hand_out(ctx, args + 1, code);
  fy_free(args);
  return code;
}

// ---------------------------------------------------------------- _FerryLoop
// body(step, carried…, same…) -> carried…, for step from 0 to trips - 1 (optimize/loops.c).
static fy_code loop_compute(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_outputs, inputs = ctx->site->num_inputs;
  const int64_t trips = fy_site_int(ctx->site, "trips");
  void *body = NULL;
  FY_TRY(function_of(ctx, 0, &body, err));
  fy_tensor **args = fy_calloc((size_t)inputs + (size_t)n + 1, sizeof *args);
  if (!args) return fy_fail_oom(err, (size_t)inputs * sizeof *args);
  fy_code code = FY_OK;
  for (int i = 0; i < n && !code; i++) code = keep(ctx, ctx->in[i], &args[i + 1], err);
  for (int i = n; i < inputs; i++) {  // they outlive the call: no step may take them for its own
    args[i + 1] = ctx->in[i];
    fy_tensor_retain(args[i + 1]);
  }
  for (int64_t i = 0; i < trips && !code; i++)
    code = counted_step(ctx, body, (int32_t)i, args, inputs + 1, args + inputs + 1, err);
  for (int i = n; i < inputs; i++) fy_tensor_release(args[i + 1]);
  fy_tensor_release(args[0]);
  hand_out(ctx, args + 1, code);
  fy_free(args);
  return code;
}

// ---------------------------------------------------------------- RemoteCall
// Every device of this process can run any function: the target only has to be one of them, which
// placement inside the function decides again.
static fy_code remote_call_compute(fy_kernel_ctx *ctx, fy_error *err) {
  if (ctx->in[0]->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "target must be a scalar");
  return call_and_publish(ctx, 0, 1, err);
}

// The loop's outputs are like its inputs only where output_shapes says so: a body may change them.
#define FLAGS (FY_OP_SETS_OUTPUT | FY_OP_ANY_SPACE | FY_OP_NO_FOLD | FY_OP_CALLS_FUNCTIONS)
FY_OP(If, .shape = fy_shape_from_output_shapes, .compute = if_compute, .flags = FLAGS,
      .host_inputs = 1);
FY_OP(StatelessIf, .shape = fy_shape_from_output_shapes, .compute = if_compute, .flags = FLAGS,
      .host_inputs = 1);
FY_OP(Case, .shape = fy_shape_from_output_shapes, .compute = case_compute, .flags = FLAGS,
      .host_inputs = 1);
FY_OP(StatelessCase, .shape = fy_shape_from_output_shapes, .compute = case_compute, .flags = FLAGS,
      .host_inputs = 1);
FY_OP(While, .shape = fy_shape_from_output_shapes, .compute = while_compute, .flags = FLAGS);
FY_OP(StatelessWhile, .shape = fy_shape_from_output_shapes, .compute = while_compute,
      .flags = FLAGS);
FY_OP(_If, .shape = fy_shape_none, .compute = if_compute, .flags = FLAGS, .host_inputs = 1);
FY_OP(_While, .shape = fy_shape_none, .compute = while_compute, .flags = FLAGS);
FY_OP(For, .shape = fy_shape_none, .compute = for_compute, .flags = FLAGS, .host_inputs = 7);
FY_OP(RemoteCall, .shape = fy_shape_none, .compute = remote_call_compute, .flags = FLAGS,
      .host_inputs = 1);
FY_OP(_FerryFlow, .shape = fy_shape_none, .compute = call_compute, .flags = FLAGS);
FY_OP(_FerryLoop, .shape = fy_shape_none, .compute = loop_compute, .flags = FLAGS);
FY_OP(PartitionedCall, .shape = fy_shape_none, .compute = call_compute, .flags = FLAGS);
FY_OP(StatefulPartitionedCall, .shape = fy_shape_none, .compute = call_compute, .flags = FLAGS);
