// SPDX-License-Identifier: Apache-2.0
// services.c: what a kernel running in a program may ask for (fy_services).

#include <string.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "execute/callable.h"
#include "execute/cancel.h"
#include "execute/kernel_call.h"
#include "execute/state.h"
#include "memory/pool.h"

// Whether nothing of this run reads value |v| after this instruction: it was made at run time, or is an argument
// that the caller gives away.
static bool dies_here(const fy_exec *e, uint32_t v) {
  const fy_instr *ins = e->instr;
  const fy_program *p = e->state->program;
  for (uint32_t k = 0; k < ins->num_free; k++)
    if (p->args[ins->free_at + k] == v) return e->state->owned[v];
  // With several tasks the last reader in the list need not be the last in time.
  return e->run->gives && p->num_tasks <= 1 && p->values[v].storage == FY_STORE_FEED &&
         p->values[v].last_use == (uint32_t)(ins - p->instrs) && !p->values[v].fetched;
}

// Whether input |t| may become output |i| of |count| elements: dead after this instruction, and referred to by
// nobody else.
static bool may_take(const fy_exec *e, const fy_tensor *t, int i, int64_t count) {
  const fy_instr *ins = e->instr;
  const fy_program *p = e->state->program;
  if (t->count != count || t->dtype != ins->site->out_types[i] || !fy_tensor_is_exclusive(t))
    return false;
  for (uint32_t n = 0; n < ins->num_in; n++) {
    const uint32_t v = p->args[ins->in + n];
    if (e->state->slots[v] == t)
      return !(p->has_devices && p->values[v].storage == FY_STORE_FEED) && dies_here(e, v);
  }
  return false;
}

// The input whose memory an in-place op's output 0 takes, or NULL.
static fy_tensor *forwardable(fy_exec *e, int i, int32_t rank, const int64_t *dims) {
  const fy_instr *ins = e->instr;
  int64_t count;
  if (i != 0 || !ins->site->op->impl || !(ins->site->op->impl->flags & FY_OP_INPLACE) ||
      !fy_shape_count(rank, dims, &count))
    return NULL;
  for (uint32_t n = 0; n < ins->num_in; n++)
    if (may_take(e, e->in[n], i, count)) return e->in[n];
  return NULL;
}

static bool forward(fy_kernel_ctx *ctx, int i, int j, int32_t rank, const int64_t *dims) {
  fy_exec *e = ctx->run;
  fy_tensor *from = ctx->in[j], *t;
  int64_t count;
  for (int n = 0; n < ctx->site->num_inputs; n++)
    if (n != j && ctx->in[n] == from) return false;
  if (!fy_shape_count(rank, dims, &count) || !may_take(e, from, i, count)) return false;
  if (fy_tensor_alias(from, from->dtype, rank, dims, &t, NULL)) return false;
  fy_out_set(ctx, i, t);
  return true;
}

static fy_code output(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims, fy_error *err) {
  fy_exec *e = ctx->run;
  const fy_instr *ins = e->instr;
  const fy_value *v = &e->state->program->values[e->state->program->args[ins->out + (uint32_t)i]];
  fy_tensor *t;
  fy_tensor *reuse = forwardable(e, i, rank, dims);
  if (reuse) {
    FY_TRY(fy_tensor_alias(reuse, reuse->dtype, rank, dims, &t, err));
  } else if (v->space == 0) {
    fy_device *host =
        ins->device->is_host ? ins->device : (fy_device *)e->state->program->devices->client;
    FY_TRY(fy_memory_tensor(host, ctx->site->out_types[i], rank, dims, ins->node->name, &t, err));
  } else {
    FY_TRY(fy_memory_tensor(ins->device, ctx->site->out_types[i], rank, dims, ins->node->name, &t,
                            err));
  }
  fy_out_set(ctx, i, t);
  return FY_OK;
}

// From the plan; what was not planned, from the heap until the instruction ends.
static fy_code scratch(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err) {
  fy_exec *e = ctx->run;
  const size_t line = fy_scratch_line(bytes);
  ctx->scratch_asked += line;
  if (FY_LIKELY(line <= ctx->scratch_left && line >= bytes)) {
    *out = ctx->scratch;
    ctx->scratch = (char *)ctx->scratch + line;
    ctx->scratch_left -= line;
    return FY_OK;
  }
  const fy_code code = fy_exec_extra(e, bytes, out, err);
  if (code) ctx->scratch_asked -= line;  // nothing to plan for: later calls may need less
  return code;
}

static bool cancelled(fy_kernel_ctx *ctx) {
  fy_exec *e = ctx->run;
  if (e->run->cancel && fy_cancel_requested(e->run->cancel)) return true;
  if (e->run->deadline_ns && fy_now_ns() > e->run->deadline_ns) e->timed_out = true;
  return e->timed_out;
}

static fy_resources *resources(fy_kernel_ctx *ctx) {
  return ((fy_exec *)ctx->run)->run->resources;
}

static fy_code call_with(fy_kernel_ctx *ctx, void *fn, bool gives, fy_tensor *const *args,
                         int num_args, fy_tensor **results, int num_results, fy_error *err) {
  fy_run run = *((fy_exec *)ctx->run)->run;
  run.gives = gives;
  return fy_callable_call(fn, &run, args, num_args, results, num_results, err);
}

static fy_code call(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                    fy_tensor **results, int num_results, fy_error *err) {
  return call_with(ctx, fn, false, args, num_args, results, num_results, err);
}

static fy_code call_giving(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                           fy_tensor **results, int num_results, fy_error *err) {
  return call_with(ctx, fn, true, args, num_args, results, num_results, err);
}

static bool may_change(fy_kernel_ctx *ctx, int j) {
  const fy_exec *e = ctx->run;
  const fy_program *p = e->state->program;
  const fy_instr *ins = e->instr;
  const fy_tensor *t = ctx->in[j];
  if (p->num_tasks > 1 || !fy_tensor_is_exclusive(t)) return false;
  for (uint32_t n = 0; n < ins->num_in; n++)
    if (n != (uint32_t)j && ctx->in[n] == t) return false;
  return dies_here(e, p->args[ins->in + (uint32_t)j]);
}

static int64_t step_id(fy_kernel_ctx *ctx) {
  return ((fy_exec *)ctx->run)->run->step_id;
}

// ------------------------------------------------------------------ the same for single calls
void fy_service_parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                         void (*fn)(void *, int64_t, int64_t), void *arg) {
  fy_pool_for(ctx->site->device ? ctx->site->device->pool : NULL, n, ns_per_item, fn, arg);
}

fy_code fy_service_allocate(fy_kernel_ctx *ctx, fy_dtype dtype, int32_t rank, const int64_t *dims,
                            fy_tensor **out, fy_error *err) {
  const fy_device *d = ctx->site->device;
  // Handles, strings and variants are host objects wherever the op runs.
  if (!d || (!d->is_host && !fy_dtype_is_plain(fy_dtype_base(dtype))))
    return fy_tensor_new(dtype, rank, dims, out, err);
  return fy_memory_tensor(ctx->site->device, dtype, rank, dims, ctx->site->node_name, out, err);
}

fy_code fy_service_bring(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  return fy_memory_copy_tensor(t, ctx->site->device, out, err);
}

fy_tensor *fy_service_view(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage) {
  (void)ctx;
  (void)storage;
  return t;
}

fy_code fy_service_to_host(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  (void)ctx;
  return fy_memory_copy_tensor(t, NULL, out, err);
}

fy_code fy_service_keep(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  (void)ctx;
  if (t->buffer) return fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err);
  return fy_memory_copy_tensor(t, t->device, out, err);
}

const fy_services fy_program_services = {.output = output,
                                         .scratch = scratch,
                                         .parallel = fy_service_parallel,
                                         .cancelled = cancelled,
                                         .resources = resources,
                                         .call = call,
                                         .call_giving = call_giving,
                                         .may_change = may_change,
                                         .step_id = step_id,
                                         .allocate = fy_service_allocate,
                                         .bring = fy_service_bring,
                                         .view = fy_service_view,
                                         .forward = forward,
                                         .to_host = fy_service_to_host,
                                         .keep = fy_service_keep,
                                         .shares_parts = true};
