// SPDX-License-Identifier: Apache-2.0
// local_runner.h: runs one op on the host with nothing but the contract of ops/op.h: plain memory,
// no graph, no devices. For unit tests of ops.

#ifndef FY_TESTS_LOCAL_RUNNER_H
#define FY_TESTS_LOCAL_RUNNER_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/pool.h"
#include "ops/op.h"
#include "ops/resource.h"
#include "ops/sample.h"
#include "ops/shape_fns.h"
#include "ops/spec_bound.h"

#define LOCAL_OUTPUTS 64
#define LOCAL_SCRATCH 64

typedef struct local_run {
  fy_resources *resources;  // shared by runs, or NULL
  fy_pool *pool;            // NULL: one thread
  void *scratch[LOCAL_SCRATCH];
  int num_scratch;
} local_run;

static inline fy_code local_output(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims,
                                   fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_tensor_new(ctx->site->out_types[i], rank, dims, &t, err));
  fy_out_set(ctx, i, t);
  return FY_OK;
}
static inline fy_code local_scratch(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err) {
  local_run *run = ctx->run;
  if (run->num_scratch == LOCAL_SCRATCH) return fy_fail(err, FY_INTERNAL, "too much scratch");
  *out = fy_aligned_alloc(bytes);
  if (!*out) return fy_fail_oom(err, bytes);
  run->scratch[run->num_scratch++] = *out;
  return FY_OK;
}
static inline void local_parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                                  void (*fn)(void *arg, int64_t begin, int64_t end), void *arg) {
  fy_pool_for(((local_run *)ctx->run)->pool, n, ns_per_item, fn, arg);
}
static inline bool local_cancelled(fy_kernel_ctx *ctx) {
  (void)ctx;
  return false;
}
static inline fy_resources *local_resources(fy_kernel_ctx *ctx) {
  return ((local_run *)ctx->run)->resources;
}
static inline int64_t local_step_id(fy_kernel_ctx *ctx) {
  (void)ctx;
  return 1;
}
static const fy_services local_services = {.output = local_output,
                                           .scratch = local_scratch,
                                           .parallel = local_parallel,
                                           .cancelled = local_cancelled,
                                           .resources = local_resources,
                                           .step_id = local_step_id};

// A site bound to an op and attributes; |arena| owns what it points to.
static inline fy_code local_bind(const fy_op *op, fy_attrs *attrs, fy_tensor *const *in, int n,
                                 fy_arena *arena, fy_site *site, fy_error *err) {
  fy_dtype *in_types, *out_types;
  memset(site, 0, sizeof *site);
  FY_TRY(fy_sample_infer_attrs(op->spec, in, n, attrs, arena, err));
  FY_TRY(fy_spec_add_defaults(op->spec, attrs, arena, err));
  FY_TRY(fy_spec_check_attrs(op->spec, attrs, op->spec->name, err));
  FY_TRY(fy_spec_check_ints(op->spec, attrs, err));
  site->op = op;
  site->attrs = attrs;
  site->node_name = op->spec->name;
  FY_TRY(fy_spec_arg_types(op->spec, false, attrs, arena, &in_types, &site->num_inputs, err));
  FY_TRY(fy_spec_arg_types(op->spec, true, attrs, arena, &out_types, &site->num_outputs, err));
  site->in_types = in_types;
  site->out_types = out_types;
  if (site->num_inputs != n || site->num_outputs > LOCAL_OUTPUTS) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s wants %d inputs, got %d", op->spec->name,
                   site->num_inputs, n);
  }
  return op->impl->prepare ? op->impl->prepare(site, err) : FY_OK;
}

// Calls the kernel; |out[i]| carry a reference each on success.
static inline fy_code local_call(const fy_site *site, local_run *run, fy_tensor **in,
                                 fy_tensor **out, fy_error *err) {
  bool owned[LOCAL_OUTPUTS] = {false};
  memset(out, 0, (size_t)site->num_outputs * sizeof *out);
  fy_kernel_ctx ctx = {.site = site,
                       .svc = &local_services,
                       .in = in,
                       .out = out,
                       .out_owned = owned,
                       .run = run,
                       .threads = run->pool ? fy_pool_threads(run->pool) : 1};
  run->num_scratch = 0;
  fy_code code = site->op->impl->compute(&ctx, err);
  for (int i = 0; i < run->num_scratch; i++) fy_aligned_free(run->scratch[i]);
  for (int i = 0; code && i < site->num_outputs; i++) {
    if (owned[i]) fy_tensor_release(out[i]);
    out[i] = NULL;
  }
  return code;
}

static inline void local_unbind(fy_site *site) {
  if (site->op && site->op->impl->release && site->state) site->op->impl->release(site->state);
  site->state = NULL;
}

// The shape function, told the inputs' shapes and (|values|) their values.
static inline fy_code local_infer(const fy_site *site, fy_tensor *const *in, bool values,
                                  fy_arena *arena, fy_pshape *out, fy_error *err) {
  const size_t n = (size_t)site->num_inputs + 1;
  fy_pshape *shapes = fy_arena_array(arena, n, sizeof *shapes);
  fy_pshape *as_shape = fy_arena_array(arena, n, sizeof *as_shape);
  const fy_tensor **value = fy_arena_array(arena, n, sizeof *value);
  fy_handle_shape *handles = fy_arena_array(arena, n, sizeof *handles);
  fy_handle_shape out_handles[LOCAL_OUTPUTS];
  fy_pshape out_as_shape[LOCAL_OUTPUTS];
  if (!shapes || !as_shape || !value || !handles) return fy_fail_oom(err, n);
  for (int i = 0; i < site->num_inputs; i++) {
    shapes[i] = (fy_pshape){in[i]->rank, in[i]->dims};
    as_shape[i] = FY_UNKNOWN_SHAPE;
    value[i] = values ? in[i] : NULL;
    handles[i] = (fy_handle_shape){FY_INVALID, FY_UNKNOWN_SHAPE};
  }
  for (int i = 0; i < site->num_outputs; i++) {
    out[i] = out_as_shape[i] = FY_UNKNOWN_SHAPE;
    out_handles[i] = (fy_handle_shape){FY_INVALID, FY_UNKNOWN_SHAPE};
  }
  fy_shape_ctx ctx = {.spec = site->op->spec,
                      .attrs = site->attrs,
                      .node_name = site->node_name,
                      .num_inputs = site->num_inputs,
                      .num_outputs = site->num_outputs,
                      .in_types = site->in_types,
                      .out_types = site->out_types,
                      .in = shapes,
                      .in_value = value,
                      .in_as_shape = as_shape,
                      .in_handle = handles,
                      .out = out,
                      .out_handle = out_handles,
                      .out_as_shape = out_as_shape,
                      .arena = arena};
  return site->op->impl->shape(&ctx, err);
}

#endif
