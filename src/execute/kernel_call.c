// SPDX-License-Identifier: Apache-2.0
// kernel_call.c: bind kernels to sites, and call one outside of a program.

#include "execute/kernel_call.h"

#include <string.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "devices/cpu/kernels.h"
#include "execute/cancel.h"
#include "execute/eager.h"
#include "execute/state.h"
#include "memory/pool.h"
#include "ops/spec_bound.h"

// ------------------------------------------------------------------ binding
static fy_code add_function(fy_site *site, fy_callables *callables, fy_view name,
                            const fy_attrs *attrs, fy_error *err) {
  if (!callables)
    return fy_fail(err, FY_FAILED_PRECONDITION, "no function library to call '%.*s' from",
                   (int)name.n, name.p);
  void **grown = fy_realloc(site->functions, (size_t)(site->num_functions + 1) * sizeof *grown);
  if (!grown) return fy_fail_oom(err, sizeof *grown);
  site->functions = grown;
  fy_callable *c;
  FY_TRY(fy_callables_get(callables, name, attrs, site->device, &c, err));
  site->functions[site->num_functions++] = c;
  return FY_OK;
}

static fy_code bind_functions(fy_site *site, fy_callables *callables, fy_error *err) {
  const fy_op_spec *spec = site->op->spec;
  for (int i = 0; i < spec->num_attrs; i++) {
    if (spec->attrs[i].kind != FY_ATTR_FUNC) continue;
    const fy_attr *a = fy_attrs_get(site->attrs, spec->attrs[i].name);
    if (!a || a->kind != FY_ATTR_FUNC) continue;
    const fy_func_attr *f = a->is_list ? a->v.funcs : a->v.func;
    for (uint32_t k = 0; k < (a->is_list ? a->n : 1); k++)
      FY_TRY(add_function(site, callables, f[k].name, &f[k].attrs, err));
  }
  return FY_OK;
}

fy_code fy_site_bind(fy_site *site, fy_callables *callables, const char *call, fy_error *err) {
  const fy_op_impl *impl = site->op->impl;
  if (!call) FY_TRY(fy_spec_check_bound(site->op->spec, site->attrs, err));
  if (!call) FY_TRY(fy_spec_check_shapes(site->op->spec, site->attrs, err));
  if (!call) FY_TRY(fy_spec_check_ints(site->op->spec, site->attrs, err));
  if (call)
    FY_TRY(add_function(site, callables, fy_view_of(call), site->attrs, err));
  else if (impl && (impl->flags & FY_OP_CALLS_FUNCTIONS))
    FY_TRY(bind_functions(site, callables, err));
  if (site->op->user_kernels && (!impl || !impl->compute)) return fy_user_kernel_bind(site, err);
  if (!impl || call) return FY_OK;
  if (impl->prepare) FY_TRY(impl->prepare(site, err));
  const fy_fast_kernel *fast = fy_cpu_kernel(site);
  if (!fast) return FY_OK;
  if (fast->prepare) FY_TRY(fast->prepare(site, err));
  site->fast = fast;
  return FY_OK;
}

void fy_site_deinit(fy_site *site) {
  if (!site->op) return;
  const fy_op_impl *impl = site->op->impl;
  if (site->op->user_kernels && (!impl || !impl->compute))
    fy_user_kernel_unbind(site);
  else if (site->state && impl && impl->release)
    impl->release(site->state);
  site->state = NULL;
  if (site->fast && site->fast->release) site->fast->release(site->fast_state);
  site->fast = NULL;
  site->fast_state = NULL;
  fy_free(site->functions);
  site->functions = NULL;
  site->num_functions = 0;
}

// ------------------------------------------------------------------ one call
typedef struct call_state {
  fy_kernel_ctx ctx;
  const fy_run *run;
  fy_handle *const *handles;
  void **scratch;
  size_t num_scratch, cap_scratch;
} call_state;

static fy_code output(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims, fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_service_allocate(ctx, ctx->site->out_types[i], rank, dims, &t, err));
  fy_out_set(ctx, i, t);
  return FY_OK;
}

static fy_code scratch(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err) {
  call_state *c = ctx->run;
  *out = NULL;
  if (!fy_grow(&c->scratch, &c->cap_scratch, c->num_scratch + 1, sizeof *c->scratch) ||
      !(*out = fy_aligned_alloc(bytes)))
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "OOM when allocating %zu bytes of temporary memory",
                   bytes);
  c->scratch[c->num_scratch++] = *out;
  return FY_OK;
}

static bool cancelled(fy_kernel_ctx *ctx) {
  const fy_run *run = ((call_state *)ctx->run)->run;
  if (!run) return false;
  if (run->cancel && fy_cancel_requested(run->cancel)) return true;
  return run->deadline_ns && fy_now_ns() > run->deadline_ns;
}

static fy_resources *resources(fy_kernel_ctx *ctx) {
  const fy_run *run = ((call_state *)ctx->run)->run;
  return run ? run->resources : NULL;
}

static fy_code call(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                    fy_tensor **results, int num_results, fy_error *err) {
  return fy_callable_call(fn, ((call_state *)ctx->run)->run, args, num_args, results, num_results,
                          err);
}

static fy_code call_giving(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                           fy_tensor **results, int num_results, fy_error *err) {
  const fy_run *run = ((call_state *)ctx->run)->run;
  fy_run giving = run ? *run : (fy_run){0};
  giving.gives = true;
  return fy_callable_call(fn, &giving, args, num_args, results, num_results, err);
}

static int64_t step_id(fy_kernel_ctx *ctx) {
  const fy_run *run = ((call_state *)ctx->run)->run;
  return run ? run->step_id : 0;
}

// Only this call holds the handle, and only the handle holds the memory.
static bool forward(fy_kernel_ctx *ctx, int i, int j, int32_t rank, const int64_t *dims) {
  const call_state *c = ctx->run;
  fy_tensor *from = ctx->in[j], *t;
  int64_t count;
  if (!c->handles || c->handles[j]->tensor != from ||
      atomic_load_explicit(&c->handles[j]->refs, memory_order_acquire) != 1 ||
      from->dtype != ctx->site->out_types[i] || !fy_tensor_is_exclusive(from) ||
      !fy_shape_count(rank, dims, &count) || count != from->count)
    return false;
  if (fy_tensor_alias(from, from->dtype, rank, dims, &t, NULL)) return false;
  fy_out_set(ctx, i, t);
  return true;
}

static const fy_services call_services = {.output = output,
                                          .scratch = scratch,
                                          .parallel = fy_service_parallel,
                                          .cancelled = cancelled,
                                          .resources = resources,
                                          .call = call,
                                          .call_giving = call_giving,
                                          .step_id = step_id,
                                          .allocate = fy_service_allocate,
                                          .bring = fy_service_bring,
                                          .view = fy_service_view,
                                          .forward = forward,
                                          .to_host = fy_service_to_host,
                                          .keep = fy_service_keep,
                                          .shares_parts = true};

fy_code fy_kernel_call(const fy_site *site, const fy_run *run, fy_handle *const *handles,
                       fy_tensor *const *in, fy_tensor **out, fy_error *err) {
  bool owned_small[16] = {0};
  bool *owned = owned_small;
  if (site->num_outputs > 16 && !(owned = fy_calloc((size_t)site->num_outputs, 1)))
    return fy_fail_oom(err, (size_t)site->num_outputs);
  for (int i = 0; i < site->num_outputs; i++) out[i] = NULL;
  call_state c = {.run = run, .handles = handles};
  c.ctx = (fy_kernel_ctx){.site = site,
                          .svc = &call_services,
                          .in = (fy_tensor **)(uintptr_t)in,
                          .out = out,
                          .out_owned = owned,
                          .run = &c,
                          .threads = 1};
  fy_device *d = site->device;
  if (d && d->pool) c.ctx.threads = fy_pool_threads(d->pool);
  const fy_op_impl *impl = site->op->impl;
  bool here = !d || d->is_host || (impl && (impl->flags & (FY_OP_ALIAS | FY_OP_ANY_SPACE)));
  const fy_float_mode mode = fy_flush_denormals();
  fy_code code;
  if (!here) {
    fy_event done = {0};
    code = (fy_code)d->ops->launch(d, &c.ctx, NULL, 0, &done, err);
    if (!code && done.device) code = (fy_code)d->ops->wait(d, &done, err);
  } else if (impl && impl->compute) {
    code = fy_site_compute(site)(&c.ctx, err);
  } else if (site->op->user_kernels) {
    code = fy_user_kernel_compute(&c.ctx, err);
  } else if (site->num_outputs == 0) {
    code = FY_OK;
  } else {
    code =
        fy_fail(err, FY_UNIMPLEMENTED, "operation %s has no kernel in Ferry", site->op->spec->name);
  }
  fy_float_mode_restore(mode);
  if (code) {
    for (int i = 0; i < site->num_outputs; i++) {
      if (owned[i]) fy_tensor_release(out[i]);
      out[i] = NULL;
    }
  }
  while (c.num_scratch) fy_aligned_free(c.scratch[--c.num_scratch]);
  fy_free(c.scratch);
  if (owned != owned_small) fy_free(owned);
  return code;
}

fy_code fy_kernel_call_node(const fy_node *node, fy_tensor *const *in, fy_tensor **out,
                            fy_error *err) {
  fy_dtype types[16];
  if (!node->op || !node->op->impl || !node->op->impl->compute || node->num_outputs > 16)
    return fy_fail(err, FY_UNIMPLEMENTED, "node '%s' cannot be evaluated ahead of time",
                   node->name);
  for (uint32_t i = 0; i < node->num_outputs; i++) types[i] = fy_dtype_base(node->outputs[i].dtype);
  fy_site site = {.op = node->op,
                  .attrs = &node->attrs,
                  .node_name = node->name,
                  .num_inputs = (int)node->num_inputs,
                  .num_outputs = (int)node->num_outputs,
                  .in_types = node->input_types,
                  .out_types = types};
  fy_code code = fy_site_bind(&site, NULL, NULL, err);
  if (!code) code = fy_kernel_call(&site, NULL, NULL, in, out, err);
  for (int i = 0; !code && i < site.num_outputs; i++) {
    if (out[i]) continue;
    code = fy_fail(err, FY_INTERNAL, "Missing %d-th output from {{node %s}}", i, node->name);
    for (int k = 0; k < site.num_outputs; k++) fy_tensor_release(out[k]);
  }
  fy_site_deinit(&site);
  return code;
}
