// SPDX-License-Identifier: Apache-2.0
// opencl_launch.c: an op on the device: find its handler, give it outputs, enqueue its kernels.
//
// A handler computes shapes with the op's own shape function and enqueues. In cases it does not know
// (more than eight dims that cannot be merged, arguments in an unexpected memory, input that is an
// error) it says FY_OCL_DETOUR: then the arguments are brought to the host, the reference loop runs
// there, and the results go back. So rare cases are slow, never wrong, and errors read the same.
// Ops that only handle tensors (variables) or whose one loop is a service (strided copies, random
// numbers) run their reference code as it is, with the services below.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/pool.h"
#include "ops/host_args.h"
#include "ops/shape_fns.h"

static fy_ocl_call *call_of(fy_kernel_ctx *ctx) {
  return (fy_ocl_call *)(void *)ctx;
}

// --- arguments ---

void fy_ocl_args_init(fy_ocl_args *a, fy_ocl_call *c) {
  memset(a, 0, offsetof(fy_ocl_args, values));
  a->call = c;
  a->used = 0;
  a->overflow = false;
}

static int next_arg(fy_ocl_args *a) {
  if (a->num_args == FY_OCL_ARGS) {
    a->overflow = true;
    return FY_OCL_ARGS - 1;
  }
  return a->num_args++;
}

void fy_ocl_add_value(fy_ocl_args *a, const void *p, size_t bytes) {
  int i = next_arg(a), at = (a->used + 7) / 8 * 8;
  if ((size_t)at + bytes > sizeof a->values) {
    a->overflow = true;
    return;
  }
  memcpy(a->values + at, p, bytes);
  a->args[i].kind = FY_OCL_VALUE;
  a->args[i].value_at = at;
  a->args[i].bytes = bytes;
  a->used = at + (int)bytes;
}

void fy_ocl_add_memory(fy_ocl_args *a, const void *p, size_t bytes, size_t size, bool write) {
  int i = next_arg(a);
  a->args[i].kind = FY_OCL_BUFFER;
  a->args[i].p = p;
  a->args[i].bytes = bytes;
  a->args[i].size = size;
  a->args[i].write = write;
}

void fy_ocl_add_in(fy_ocl_args *a, const fy_tensor *t) {
  fy_ocl_add_memory(a, t ? t->data : NULL, t ? fy_tensor_bytes(t) : 0,
                    t ? fy_dtype_storage(t->dtype) : 1, false);
}
void fy_ocl_add_out(fy_ocl_args *a, const fy_tensor *t) {
  fy_ocl_add_memory(a, t->data, fy_tensor_bytes(t), fy_dtype_storage(t->dtype), true);
}
void fy_ocl_add_int(fy_ocl_args *a, int v) {
  cl_int x = v;
  fy_ocl_add_value(a, &x, sizeof x);
}
void fy_ocl_add_long(fy_ocl_args *a, int64_t v) {
  cl_long x = v;
  fy_ocl_add_value(a, &x, sizeof x);
}
void fy_ocl_add_float(fy_ocl_args *a, float v) {
  fy_ocl_add_value(a, &v, sizeof v);
}
void fy_ocl_add_local(fy_ocl_args *a, size_t bytes) {
  int i = next_arg(a);
  a->args[i].kind = FY_OCL_LOCAL;
  a->args[i].bytes = bytes;
}

// With the lock held.
static fy_code set_args(fy_ocl_args *a, cl_kernel kernel, fy_ocl_range *ranges, int *num_ranges,
                        fy_error *err) {
  fy_ocl *o = a->call->ocl;
  cl_uint at = 0;
  cl_int code = CL_SUCCESS;
  for (int i = 0; i < a->num_args && !code; i++) {
    if (a->args[i].kind == FY_OCL_VALUE) {
      code = o->cl->SetKernelArg(kernel, at++, a->args[i].bytes, a->values + a->args[i].value_at);
    } else if (a->args[i].kind == FY_OCL_LOCAL) {
      code = o->cl->SetKernelArg(kernel, at++, a->args[i].bytes, NULL);
    } else {
      cl_mem mem = NULL;
      size_t offset = 0;
      if (a->args[i].bytes) {
        const char *p = a->args[i].p;
        if (!fy_ocl_resolve(o, p, a->args[i].bytes, &mem, &offset))
          return fy_fail(err, FY_INTERNAL, "argument %d of a kernel is not in the memory of %s", i,
                         o->device->name);
        if (*num_ranges == FY_OCL_RANGES)
          return fy_fail(err, FY_INTERNAL, "a kernel has too many arguments");
        ranges[(*num_ranges)++] = (fy_ocl_range){p, p + a->args[i].bytes, a->args[i].write};
      }
      cl_long elements = (cl_long)(offset / a->args[i].size);
      code = o->cl->SetKernelArg(kernel, at++, sizeof mem, &mem);
      if (!code) code = o->cl->SetKernelArg(kernel, at++, sizeof elements, &elements);
    }
  }
  return code ? fy_ocl_fail(o, "setting an argument", code, err) : FY_OK;
}

fy_code fy_ocl_run_nd(fy_ocl_args *a, const char *source, const char *options, const char *name,
                      const size_t global[3], const size_t local[3], fy_error *err) {
  fy_ocl_call *c = a->call;
  fy_ocl *o = c->ocl;
  fy_str text;
  cl_kernel kernel = NULL;
  fy_ocl_range ranges[FY_OCL_RANGES];
  cl_event wait[FY_QUEUES + 1], event = NULL;
  int num_ranges = 0;
  if (a->overflow) return fy_fail(err, FY_INTERNAL, "a kernel has too many arguments");
  if (!global[0] || !global[1] || !global[2]) return FY_OK;
  fy_str_init(&text);
  fy_str_add(&text, fy_ocl_src_prelude);
  fy_str_add(&text, source);
  fy_code code = fy_ocl_kernel(o, fy_str_text(&text), options, name, &kernel, err);
  fy_str_free(&text);
  if (code) return code;
  fy_lock(&o->lock);
  code = set_args(a, kernel, ranges, &num_ranges, err);
  if (!code) {
    int n =
        fy_ocl_dependencies(o, FY_QUEUE_COMPUTE, ranges, num_ranges, c->after, c->num_after, wait);
    cl_int rc = o->cl->EnqueueNDRangeKernel(o->queues[FY_QUEUE_COMPUTE].queue, kernel, 3, NULL,
                                            global, local, (cl_uint)n, n ? wait : NULL, &event);
    fy_ocl_drop_events(o, wait, n);
    code = rc ? fy_ocl_fail(o, "starting a kernel", rc, err)
              : fy_ocl_push(o, FY_QUEUE_COMPUTE, event, ranges, num_ranges, &c->done, err);
  }
  fy_unlock(&o->lock);
  return code;
}

fy_code fy_ocl_run(fy_ocl_args *a, const char *source, const char *options, const char *name,
                   int64_t n, bool groups, fy_error *err) {
  size_t items = groups ? (size_t)n * 64 : ((size_t)n + 63) / 64 * 64;
  const size_t global[3] = {items, 1, 1}, local[3] = {64, 1, 1};
  return fy_ocl_run_nd(a, source, options, name, global, local, err);
}

// What was planned for the call first; what was not is told, so that it is from then on.
fy_code fy_ocl_scratch(fy_ocl_call *c, size_t bytes, void **out, fy_error *err) {
  fy_kernel_ctx *outer = c->outer;
  const size_t line = fy_scratch_line(bytes);
  *out = NULL;
  outer->scratch_asked += line;
  if (line >= bytes && line <= outer->scratch_left) {
    *out = outer->scratch;
    outer->scratch = (char *)outer->scratch + line;
    outer->scratch_left -= line;
    return FY_OK;
  }
  if (!fy_grow(&c->scratch, &c->cap_scratch, c->num_scratch + 1, sizeof *c->scratch))
    return fy_fail_oom(err, sizeof *c->scratch);
  FY_TRY(fy_mempool_alloc(c->ocl->device->memory, bytes, c->ctx.site->node_name, out, err));
  c->scratch[c->num_scratch++] = *out;
  return FY_OK;
}

// --- outputs ---

fy_code fy_ocl_output_dims(fy_ocl_call *c, int i, int32_t rank, const int64_t *dims,
                           fy_tensor **out, fy_error *err) {
  FY_TRY(fy_out(c->outer, i, rank, dims, out, err));
  // A case for the reference: the caller's tensor is of another memory.
  return fy_ocl_here(c, *out) || (*out)->count == 0 ? FY_OK : FY_OCL_DETOUR;
}

static fy_code infer(fy_ocl_call *c, fy_pshape *out) {
  const fy_site *site = c->ctx.site;
  const size_t n = (size_t)site->num_inputs + 1, m = (size_t)site->num_outputs + 1;
  fy_pshape *shapes = fy_arena_array(&c->arena, 2 * n, sizeof *shapes);
  const fy_tensor **value = fy_arena_array(&c->arena, n, sizeof *value);
  fy_handle_shape *handles = fy_arena_array(&c->arena, n + m, sizeof *handles);
  fy_pshape *out_as_shape = fy_arena_array(&c->arena, m, sizeof *out_as_shape);
  if (!shapes || !value || !handles || !out_as_shape || !site->op->impl->shape)
    return FY_OCL_DETOUR;
  for (size_t i = 0; i + 1 < n; i++) {
    fy_tensor *t = c->ctx.in[i];
    shapes[i] = (fy_pshape){t->rank, t->dims};
    shapes[n + i] = FY_UNKNOWN_SHAPE;
    value[i] = t->device && !t->device->is_host ? NULL : t;
  }
  for (size_t i = 0; i < n + m; i++) handles[i] = (fy_handle_shape){FY_INVALID, FY_UNKNOWN_SHAPE};
  for (size_t i = 0; i + 1 < m; i++) out[i] = out_as_shape[i] = FY_UNKNOWN_SHAPE;
  fy_shape_ctx ctx = {.spec = site->op->spec,
                      .attrs = site->attrs,
                      .node_name = site->node_name,
                      .num_inputs = site->num_inputs,
                      .num_outputs = site->num_outputs,
                      .in_types = site->in_types,
                      .out_types = site->out_types,
                      .in = shapes,
                      .in_value = value,
                      .in_as_shape = shapes + n,
                      .in_handle = handles,
                      .out = out,
                      .out_handle = handles + n,
                      .out_as_shape = out_as_shape,
                      .arena = &c->arena};
  fy_error ignored;
  fy_error_init(&ignored);
  fy_code code = site->op->impl->shape(&ctx, &ignored);
  fy_error_clear(&ignored);
  return code ? FY_OCL_DETOUR : FY_OK;
}

fy_code fy_ocl_output(fy_ocl_call *c, int i, fy_tensor **out, fy_error *err) {
  fy_pshape *shapes =
      fy_arena_array(&c->arena, (size_t)c->ctx.site->num_outputs + 1, sizeof *shapes);
  if (!shapes) return fy_fail_oom(err, sizeof *shapes);
  FY_TRY(infer(c, shapes));
  if (shapes[i].rank < 0) return FY_OCL_DETOUR;
  // The reference tells what is wrong with sizes that overflow, before a zero too.
  int64_t count = 1;
  for (int32_t d = 0; d < shapes[i].rank; d++)
    if (shapes[i].dims[d] < 0 || __builtin_mul_overflow(count, shapes[i].dims[d], &count))
      return FY_OCL_DETOUR;
  return fy_ocl_output_dims(c, i, shapes[i].rank, shapes[i].dims, out, err);
}

// --- services for reference code ---

static fy_code svc_output(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims,
                          fy_error *err) {
  fy_ocl_call *c = call_of(ctx);
  if (!fy_site_output_on_host(ctx->site, i))
    return c->outer->svc->output(c->outer, i, rank, dims, err);
  fy_tensor *t;
  FY_TRY(fy_tensor_new(fy_dtype_base(ctx->site->out_types[i]), rank, dims, &t, err));
  fy_out_set(c->outer, i, t);
  return FY_OK;
}
static fy_code svc_scratch(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err) {
  fy_ocl_call *c = call_of(ctx);
  *out = NULL;
  // Not the caller's: what it planned is in our memory, which reference code cannot touch.
  if (!fy_grow(&c->host_scratch, &c->cap_host, c->num_host + 1, sizeof *c->host_scratch) ||
      !(*out = fy_aligned_alloc(bytes)))
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "OOM when allocating %zu bytes of temporary memory",
                   bytes);
  c->host_scratch[c->num_host++] = *out;
  return FY_OK;
}
static void svc_parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                         void (*fn)(void *arg, int64_t begin, int64_t end), void *arg) {
  fy_ocl_call *c = call_of(ctx);
  c->outer->svc->parallel(c->outer, n, ns_per_item, fn, arg);
}
static bool svc_cancelled(fy_kernel_ctx *ctx) {
  fy_ocl_call *c = call_of(ctx);
  return c->outer->svc->cancelled(c->outer);
}
static struct fy_resources *svc_resources(fy_kernel_ctx *ctx) {
  fy_ocl_call *c = call_of(ctx);
  return c->outer->svc->resources ? c->outer->svc->resources(c->outer) : NULL;
}
static fy_code svc_call(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                        fy_tensor **results, int num_results, fy_error *err) {
  fy_ocl_call *c = call_of(ctx);
  return c->outer->svc->call(c->outer, fn, args, num_args, results, num_results, err);
}
static int64_t svc_step_id(fy_kernel_ctx *ctx) {
  fy_ocl_call *c = call_of(ctx);
  return c->outer->svc->step_id(c->outer);
}
static fy_code svc_allocate(fy_kernel_ctx *ctx, fy_dtype dtype, int32_t rank, const int64_t *dims,
                            fy_tensor **out, fy_error *err) {
  fy_device *d = fy_dtype_is_plain(dtype) ? call_of(ctx)->ocl->device : NULL;
  return fy_memory_tensor(d, dtype, rank, dims, ctx->site->node_name, out, err);
}
static fy_code svc_bring(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  fy_device *d = fy_dtype_is_plain(t->dtype) ? call_of(ctx)->ocl->device : NULL;
  return fy_memory_copy_tensor(t, d, out, err);
}
static fy_code svc_to_host(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  (void)ctx;
  return fy_memory_copy_tensor(t, NULL, out, err);
}
static fy_code svc_keep(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  (void)ctx;
  if (t->buffer) return fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err);
  return fy_memory_copy_tensor(t, t->device, out, err);
}
static fy_code svc_strided(fy_kernel_ctx *ctx, fy_tensor *out, const fy_tensor *in, int32_t rank,
                           const int64_t *dims, const int64_t *strides, int64_t offset,
                           fy_error *err) {
  fy_ocl_call *c = call_of(ctx);
  int64_t *dense = fy_arena_array(&c->arena, (size_t)rank + 1, sizeof *dense), step = 1;
  if (!dense) return fy_fail_oom(err, sizeof *dense);
  for (int32_t d = rank - 1; d >= 0; d--) {
    dense[d] = step;
    step *= dims[d];
  }
  return fy_ocl_move(c, out, 0, dense, in, offset, strides, rank, dims, err);
}

static const fy_services services = {
    .output = svc_output,
    .scratch = svc_scratch,
    .parallel = svc_parallel,
    .cancelled = svc_cancelled,
    .resources = svc_resources,
    .call = svc_call,
    .step_id = svc_step_id,
    .allocate = svc_allocate,
    .bring = svc_bring,
    .to_host = svc_to_host,
    .keep = svc_keep,
    .strided = svc_strided,
    .random = fy_ocl_random_fill,
};

fy_code fy_ocl_generic(fy_ocl_call *c, int arg, fy_error *err) {
  (void)arg;
  return c->ctx.site->op->impl->compute(&c->ctx, err);
}

// --- the detour over the host ---

static fy_code detour_output(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims,
                             fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_tensor_new(fy_dtype_base(ctx->site->out_types[i]), rank, dims, &t, err));
  fy_out_set(ctx, i, t);
  return FY_OK;
}

// A variable that is changed on the host is there from now on.
static fy_code detour_bring(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  (void)ctx;
  return fy_memory_copy_tensor(t, NULL, out, err);
}

static const fy_services detour_services = {
    .output = detour_output,
    .bring = detour_bring,
    .scratch = svc_scratch,
    .parallel = svc_parallel,
    .cancelled = svc_cancelled,
    .resources = svc_resources,
    .call = svc_call,
    .step_id = svc_step_id,
};

static fy_code put_back(fy_ocl_call *c, int i, fy_tensor *t, fy_error *err) {
  fy_tensor *to;
  if (fy_site_output_on_host(c->ctx.site, i)) {
    fy_tensor_retain(t);
    fy_out_set(c->outer, i, t);
    return FY_OK;
  }
  FY_TRY(fy_out(c->outer, i, t->rank, t->dims, &to, err));
  size_t bytes = fy_tensor_bytes(t);
  if (!bytes) return FY_OK;
  if (!fy_ocl_here(c, to)) {
    memcpy(to->data, t->data, bytes);
    return FY_OK;
  }
  return (fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_HOST_TO_DEVICE, to->data, t->data, bytes,
                              NULL, NULL, &c->done, err);
}

static fy_code detour(fy_ocl_call *c, fy_error *err) {
  const fy_site *site = c->ctx.site;
  size_t n = (size_t)site->num_inputs, m = (size_t)site->num_outputs;
  fy_tensor **in = fy_arena_array(&c->arena, n + 1, sizeof *in);
  fy_tensor **out = fy_arena_array(&c->arena, m + 1, sizeof *out);
  bool *owned = fy_arena_array(&c->arena, m + 1, sizeof *owned);
  fy_code code = FY_OK;
  if (!in || !out || !owned) return fy_fail_oom(err, (n + m) * sizeof *in);
  memset(in, 0, (n + 1) * sizeof *in);
  memset(out, 0, (m + 1) * sizeof *out);
  memset(owned, 0, m + 1);
  for (int i = 0; i < c->num_after && !code; i++)
    if (c->after[i].device)
      code = (fy_code)c->after[i].device->ops->wait(c->after[i].device, &c->after[i], err);
  for (size_t i = 0; i < n && !code; i++) {
    fy_tensor *t = c->outer->in[i];
    if (fy_ocl_here(c, t)) {
      code = fy_memory_copy_tensor(t, NULL, &in[i], err);
    } else {
      fy_tensor_retain(t);
      in[i] = t;
    }
  }
  if (!code) {
    fy_kernel_ctx saved = c->ctx;
    fy_site host = *site;
    host.device = NULL;
    c->ctx.site = &host;
    c->ctx.in = in;
    c->ctx.out = out;
    c->ctx.out_owned = owned;
    c->ctx.svc = &detour_services;
    code = site->op->impl->compute(&c->ctx, err);
    c->ctx = saved;
  }
  for (size_t i = 0; i < m && !code; i++)
    if (out[i]) code = put_back(c, (int)i, out[i], err);
  for (size_t i = 0; i < m; i++)
    if (owned[i]) fy_tensor_release(out[i]);
  for (size_t i = 0; i < n; i++) fy_tensor_release(in[i]);
  return code;
}

// --- launching ---

static fy_code run_op(fy_ocl_call *c, fy_error *err) {
  const fy_op *op = c->ctx.site->op;
  const fy_ocl_op *known = fy_ocl_find_op(op->spec->name);
  if (!op->impl || !op->impl->compute)
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no kernel for operation %s", c->ocl->device->name,
                   op->spec->name);
  if (op->impl->flags & FY_OP_ANY_DEVICE_HOST_DATA) return fy_ocl_generic(c, 0, err);
  if (!known)
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no OpenCL kernel for operation %s",
                   c->ocl->device->name, op->spec->name);
  fy_code code = known->run(c, known->arg, err);
  if (!code && c->hook_code) code = c->hook_code;
  if (code != FY_OCL_DETOUR) return code;
  c->ocl->detours++;
  return detour(c, err);
}

// Small results of host arguments: the host makes them, and they go to the device.
fy_code fy_ocl_upload(fy_ocl_call *c, int arg, fy_error *err) {
  (void)arg;
  return detour(c, err);
}

int fy_ocl_launch(fy_device *d, fy_kernel_ctx *ctx, const fy_event *after, int num_after,
                  fy_event *done, fy_error *err) {
  fy_ocl *o = fy_ocl_of(d);
  if (done) *done = (fy_event){0};
  if (fy_fault_due(FY_FAULT_LAUNCH))
    return (int)fy_fail(err, FY_INTERNAL, "%s: the launch of %s fails on request", d->name,
                        ctx->site->node_name ? ctx->site->node_name : ctx->site->op->spec->name);
  fy_code code = fy_ocl_wait_foreign(o, after, num_after, err);
  if (code) return (int)code;
  fy_ocl_call c = {.ctx = *ctx, .outer = ctx, .ocl = o, .after = after, .num_after = num_after};
  c.ctx.svc = &services;
  c.ctx.scratch = NULL;  // planned in our memory, but reference code runs on the host
  c.ctx.scratch_left = 0;
  c.hook_err = err;
  fy_arena_init(&c.arena);
  code = run_op(&c, err);
  // In order with what uses it now; the queues' bookkeeping guards it against copies.
  while (c.num_scratch) fy_mempool_release(d->memory, c.scratch[--c.num_scratch]);
  fy_free(c.scratch);
  while (c.num_host) fy_aligned_free(c.host_scratch[--c.num_host]);
  fy_free(c.host_scratch);
  fy_arena_free(&c.arena);
  o->launches++;
  if (done && !code) *done = c.done;
  return (int)code;
}

#else
typedef int fy_opencl_launch_is_empty;
#endif
