// SPDX-License-Identifier: Apache-2.0
// sim_launch.c: a kernel on the simulated GPU is the op's reference loop on the device's own
// memory.
//
// The loop must be able to touch its arguments, but the tensors it was launched with hold device
// addresses. So it runs in a *shadow* of the caller's context: arguments in device memory are
// replaced by borrowed tensors over the alias of the same bytes; host arguments (shapes, axes) pass
// as they are; requests for outputs and scratch go to device memory and come back as aliases. When
// the loop is done, what it published is translated back. No alias leaves a launch: shadows have no
// buffer, and kernels do not keep borrowed tensors.
// A real GPU's backend replaces run_reference() by finding and enqueueing its own kernel.

#include <string.h>

#include "base/alloc.h"
#include "devices/sim/sim_impl.h"
#include "memory/pool.h"
#include "ops/host_args.h"

typedef struct call {
  fy_kernel_ctx ctx;  // the shadow; first, so that a service can find its call
  fy_kernel_ctx *outer;
  fy_sim *sim;
  fy_tensor *in_shadow, *out_shadow;  // storage
  void **scratch;                     // device addresses to give back
  size_t num_scratch, cap_scratch;
} call;

static call *call_of(fy_kernel_ctx *ctx) {
  return (call *)(void *)ctx;
}

// |t| as the loop may touch it; |storage| lives as long as the launch.
static fy_tensor *shadow(fy_sim *s, fy_tensor *t, fy_tensor *storage) {
  if (t->device != s->device) return t;
  fy_tensor_init(storage);
  storage->dtype = t->dtype;
  storage->rank = t->rank;
  storage->count = t->count;
  storage->dims = t->dims;
  storage->data = t->data ? fy_sim_alias(s, t->data, fy_tensor_bytes(t)) : NULL;
  return storage;
}

// --- services ---

// The caller decides which memory (planned, fresh, an input's); the loop gets its alias.
static fy_code sim_output(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims,
                          fy_error *err) {
  call *c = call_of(ctx);
  if (fy_site_output_on_host(ctx->site, i) && !c->outer->svc->forward) {
    fy_tensor *t;
    FY_TRY(fy_tensor_new(fy_dtype_base(ctx->site->out_types[i]), rank, dims, &t, err));
    fy_out_set(c->outer, i, t);
  } else {
    FY_TRY(c->outer->svc->output(c->outer, i, rank, dims, err));
  }
  if (ctx->out_owned[i]) fy_tensor_release(ctx->out[i]);
  ctx->out_owned[i] = false;
  ctx->out[i] = shadow(c->sim, c->outer->out[i], &c->out_shadow[i]);
  return FY_OK;
}

static fy_code sim_scratch(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err) {
  call *c = call_of(ctx);
  fy_kernel_ctx *outer = c->outer;
  void *p;
  const size_t line = fy_scratch_line(bytes);
  *out = NULL;
  outer->scratch_asked += line;
  if (line <= outer->scratch_left && line >= bytes) {
    *out = fy_sim_alias(c->sim, outer->scratch, bytes);
    outer->scratch = (char *)outer->scratch + line;
    outer->scratch_left -= line;
    return FY_OK;
  }
  if (!fy_grow(&c->scratch, &c->cap_scratch, c->num_scratch + 1, sizeof *c->scratch)) {
    return fy_fail_oom(err, sizeof *c->scratch);
  }
  FY_TRY(fy_mempool_alloc(c->sim->device->memory, bytes, ctx->site->node_name, &p, err));
  c->scratch[c->num_scratch++] = p;
  *out = fy_sim_alias(c->sim, p, bytes);
  return FY_OK;
}

static fy_code sim_allocate(fy_kernel_ctx *ctx, fy_dtype dtype, int32_t rank, const int64_t *dims,
                            fy_tensor **out, fy_error *err) {
  fy_device *d = fy_dtype_is_plain(dtype) ? call_of(ctx)->sim->device : NULL;
  return fy_memory_tensor(d, dtype, rank, dims, ctx->site->node_name, out, err);
}

static fy_code sim_bring(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err) {
  return fy_memory_copy_tensor(t, fy_dtype_is_plain(t->dtype) ? call_of(ctx)->sim->device : NULL,
                               out, err);
}

static fy_tensor *sim_view(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage) {
  return shadow(call_of(ctx)->sim, t, storage);
}

static int input_index(const call *c, const fy_tensor *t) {  // of a shadow; -1 if it is none
  for (int i = 0; i < c->ctx.site->num_inputs; i++) {
    if (t == &c->in_shadow[i]) return i;
  }
  return -1;
}

static fy_code sim_call(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                        fy_tensor **results, int num_results, fy_error *err) {
  call *c = call_of(ctx);
  fy_tensor **real = fy_calloc((size_t)num_args + 1, sizeof *real);
  if (!real) return fy_fail_oom(err, sizeof *real);
  for (int i = 0; i < num_args; i++) {
    int k = input_index(c, args[i]);
    real[i] = k >= 0 ? c->outer->in[k] : args[i];
  }
  fy_code code = c->outer->svc->call(c->outer, fn, real, num_args, results, num_results, err);
  fy_free(real);
  return code;
}

static void sim_parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                         void (*fn)(void *arg, int64_t begin, int64_t end), void *arg) {
  call_of(ctx)->outer->svc->parallel(call_of(ctx)->outer, n, ns_per_item, fn, arg);
}

static bool sim_cancelled(fy_kernel_ctx *ctx) {
  return call_of(ctx)->outer->svc->cancelled(call_of(ctx)->outer);
}

static struct fy_resources *sim_resources(fy_kernel_ctx *ctx) {
  const fy_services *svc = call_of(ctx)->outer->svc;
  return svc->resources ? svc->resources(call_of(ctx)->outer) : NULL;
}

static int64_t sim_step_id(fy_kernel_ctx *ctx) {
  return call_of(ctx)->outer->svc->step_id(call_of(ctx)->outer);
}

static const fy_services services = {
    .output = sim_output,
    .scratch = sim_scratch,
    .parallel = sim_parallel,
    .cancelled = sim_cancelled,
    .resources = sim_resources,
    .call = sim_call,
    .step_id = sim_step_id,
    .allocate = sim_allocate,
    .bring = sim_bring,
    .view = sim_view,
};

// --- into the shadow and back ---

static fy_code make_shadow(call *c, fy_sim *s, fy_kernel_ctx *outer, fy_error *err) {
  const fy_site *site = outer->site;
  size_t n_in = (size_t)site->num_inputs, n_out = (size_t)site->num_outputs, n = n_in + n_out;
  memset(c, 0, sizeof *c);
  c->outer = outer;
  c->sim = s;
  c->ctx = *outer;
  c->ctx.svc = &services;
  c->in_shadow = fy_malloc((n + 1) * sizeof *c->in_shadow);
  c->ctx.in = fy_calloc(n + 1, sizeof *c->ctx.in);
  c->ctx.out_owned = fy_calloc(n_out + 1, sizeof *c->ctx.out_owned);
  if (!c->in_shadow || !c->ctx.in || !c->ctx.out_owned)
    return fy_fail_oom(err, n * sizeof(fy_tensor));
  c->out_shadow = c->in_shadow + n_in;
  c->ctx.out = c->ctx.in + n_in;
  for (size_t i = 0; i < n_in; i++) {
    fy_tensor *t = outer->in[i];
    if (t->device && t->device != s->device && !t->device->is_host) {
      return fy_fail(err, FY_INTERNAL, "input %zu of %s lives on %s, not on %s", i,
                     site->node_name ? site->node_name : site->op->spec->name, t->device->name,
                     s->device->name);
    }
    c->ctx.in[i] = shadow(s, t, &c->in_shadow[i]);
  }
  for (size_t i = 0; i < n_out; i++) {
    if (outer->out[i]) c->ctx.out[i] = shadow(s, outer->out[i], &c->out_shadow[i]);
  }
  return FY_OK;
}

static void drop_shadow(call *c) {
  for (int i = 0; c->ctx.out_owned && i < c->ctx.site->num_outputs; i++) {
    if (c->ctx.out_owned[i]) fy_tensor_release(c->ctx.out[i]);
  }
  while (c->num_scratch) fy_mempool_release(c->sim->device->memory, c->scratch[--c->num_scratch]);
  fy_free(c->scratch);
  fy_free(c->in_shadow);
  fy_free(c->ctx.in);
  fy_free(c->ctx.out_owned);
}

// Gives output |i| to the caller as a real tensor.
static fy_code publish(call *c, int i, fy_error *err) {
  fy_tensor *t = c->ctx.out[i], *real;
  if (!t || t == &c->out_shadow[i] || t == c->outer->out[i]) return FY_OK;
  bool aliased = !t->device && t->data && fy_sim_alias_owns(c->sim, t->data);
  if (!aliased) {  // a tensor of its own, e.g. a variable's value: it moves
    if (!c->ctx.out_owned[i]) fy_tensor_retain(t);
    c->ctx.out_owned[i] = false;
    fy_out_set(c->outer, i, t);
    return FY_OK;
  }
  int k = input_index(c, t);
  if (k >= 0 && c->outer->in[k]->buffer) {
    FY_TRY(fy_tensor_alias(c->outer->in[k], t->dtype, t->rank, t->dims, &real, err));
    fy_out_set(c->outer, i, real);
    return FY_OK;
  }
  // A view of memory that belongs to the caller's plan: it gets memory of its own.
  FY_TRY(c->outer->svc->output(c->outer, i, t->rank, t->dims, err));
  fy_tensor storage, *to = shadow(c->sim, c->outer->out[i], &storage);
  memmove(to->data, t->data, fy_tensor_bytes(t));
  return FY_OK;
}

// --- cost ---

static void default_cost(const fy_kernel_ctx *ctx, fy_cost *cost) {
  for (int i = 0; i < ctx->site->num_inputs; i++)
    cost->bytes += (double)fy_tensor_bytes(ctx->in[i]);
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    if (!ctx->out[i]) continue;
    cost->bytes += (double)fy_tensor_bytes(ctx->out[i]);
    cost->flops += (double)ctx->out[i]->count;
  }
}

static fy_code find_cost(const fy_kernel_ctx *ctx, fy_cost *cost, fy_error *err) {
  const fy_site *site = ctx->site;
  *cost = (fy_cost){0};
  if (!site->op->impl->cost) {
    default_cost(ctx, cost);
    return FY_OK;
  }
  size_t n_in = (size_t)site->num_inputs, n_out = (size_t)site->num_outputs;
  fy_pshape *shapes = fy_calloc(n_in + n_out + 1, sizeof *shapes);
  if (!shapes) return fy_fail_oom(err, sizeof *shapes);
  for (size_t i = 0; i < n_in; i++) shapes[i] = (fy_pshape){ctx->in[i]->rank, ctx->in[i]->dims};
  for (size_t i = 0; i < n_out; i++) {
    const fy_tensor *t = ctx->out[i];
    shapes[n_in + i] = t ? (fy_pshape){t->rank, t->dims} : (fy_pshape){-1, NULL};
  }
  site->op->impl->cost(site, shapes, shapes + n_in, cost);
  fy_free(shapes);
  return FY_OK;
}

// --- launching ---

static fy_code run_reference(fy_sim *s, fy_kernel_ctx *outer, fy_error *err) {
  call c;
  fy_code code = make_shadow(&c, s, outer, err);
  if (!code) code = fy_site_compute(outer->site)(&c.ctx, err);
  for (int i = 0; !code && i < outer->site->num_outputs; i++) code = publish(&c, i, err);
  drop_shadow(&c);
  return code;
}

static fy_code launch_checked(fy_sim *s, fy_kernel_ctx *ctx, const fy_event *after, int num_after,
                              fy_event *done, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_op_impl *impl = site->op->impl;
  const char *name = site->node_name ? site->node_name : site->op->spec->name;
  int64_t ready;
  fy_cost cost;
  FY_TRY(fy_sim_alive(s, err));
  if (!impl || !impl->compute) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no kernel for operation %s", s->device->name,
                   site->op->spec->name);
  }
  FY_TRY(fy_sim_ready(s, after, num_after, &ready, err));
  long long nth = atomic_fetch_add(&s->launches, 1) + 1;
  if (nth == s->model.fail_launch || fy_fault_due(FY_FAULT_LAUNCH)) {
    return fy_fail(err, FY_INTERNAL, "%s: launch %lld (%s) fails on request", s->device->name, nth,
                   name);
  }
  FY_TRY(run_reference(s, ctx, err));
  if (impl->flags & FY_OP_ANY_DEVICE_HOST_DATA) return FY_OK;  // nothing happened on the device
  if (fy_op_needs_no_device(site->op)) {  // what is handed on is there when all before it is done
    fy_sim_mark(s, FY_QUEUE_COMPUTE, ready, done);
    return FY_OK;
  }
  FY_TRY(find_cost(ctx, &cost, err));
  double compute_ns = cost.flops / s->model.flops * 1e9;
  double memory_ns = cost.bytes / s->model.memory_bytes_per_s * 1e9;
  double work_ns = (compute_ns > memory_ns ? compute_ns : memory_ns) / (1 - s->model.busy);
  fy_sim_work(s, FY_QUEUE_COMPUTE, NULL, FY_QUEUE_COMPUTE, ready, s->model.launch_ns + work_ns,
              name, (uint64_t)cost.bytes, done);
  return FY_OK;
}

int fy_sim_launch(fy_device *d, fy_kernel_ctx *ctx, const fy_event *after, int num_after,
                  fy_event *done, fy_error *err) {
  if (done) *done = (fy_event){0};
  const int64_t begin = fy_now_ns();
  const fy_code code = launch_checked(fy_sim_of(d), ctx, after, num_after, done, err);
  fy_mempool_busy(d->memory, fy_now_ns() - begin);
  return (int)code;
}
