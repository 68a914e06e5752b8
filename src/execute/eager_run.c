// SPDX-License-Identifier: Apache-2.0
// eager_run.c: execute a call: find its kernel, bring inputs where it wants them, run it now or
// hand it to an async executor. The straight road of a repeated call on the host: one lookup, the
// kernel, one handle per output.

#include <string.h>

#include "base/alloc.h"
#include "execute/eager_impl.h"
#include "memory/pool.h"

#define SMALL 16  // inputs or outputs for which the stack serves

// ------------------------------------------------------------------ inputs
static const char *name_of(const fy_device *d) {
  return d ? d->name : FY_HOST_NAME;
}

static void warn_of_copy(const fy_eager_op *op, const fy_eager_kernel *k, uint32_t i) {
  fy_str text;
  if (!op->context->say) return;
  fy_str_init(&text);
  fy_str_printf(&text,
                "before computing %s input #%u was expected to be on %s but is actually on %s "
                "(operation running on %s). This triggers a copy which can be a performance "
                "bottleneck.",
                op->name, i, name_of(k->in_device[i]), name_of(op->inputs[i]->device),
                k->device->name);
  if (!text.failed) op->context->say(true, text.p);
  fy_str_free(&text);
}

static void log_placement(const fy_eager_op *op, const fy_eager_kernel *k) {
  fy_str text;
  if (!op->context->say) return;
  fy_str_init(&text);
  fy_str_printf(&text, "Executing op %s in device %s\n", op->name, k->device->name);
  if (!text.failed) op->context->say(false, text.p);
  fy_str_free(&text);
}

// An input is not where the kernel wants it: is copying allowed?
static fy_code may_copy(const fy_eager_op *op, const fy_eager_kernel *k, uint32_t i,
                        fy_error *err) {
  const fy_handle *h = op->inputs[i];
  fy_copy_policy policy = fy_eager_policy(op->context);
  if (policy == FY_COPY_SILENT) return FY_OK;
  if (policy == FY_COPY_WARN) {
    warn_of_copy(op, k, i);
    return FY_OK;
  }
  if (policy == FY_COPY_SILENT_INT32 && h->dtype == FY_INT32) return FY_OK;
  if (strcmp(op->name, "Identity") == 0 || strcmp(op->name, "IdentityN") == 0 ||
      strcmp(op->name, "_EagerConst") == 0)
    return FY_OK;
  return fy_fail(
      err, FY_INVALID_ARGUMENT,
      "Tensors on conflicting devices: cannot compute %s as input #%u was expected to be on "
      "%s but is actually on %s (operation running on %s) Tensors can be copied explicitly "
      "using: `with tf.device(device_name): x = tf.identity(x)` or transparently copied by "
      "using tf.config.experimental.set_device_policy('silent'). Copying tensors between "
      "devices may slow down your model",
      op->name, i, name_of(k->in_device[i]), name_of(h->device), k->device->name);
}

static fy_code check_inputs(const fy_eager_op *op, const fy_eager_kernel *k, fy_error *err) {
  if (FY_UNLIKELY((uint32_t)k->site.num_inputs != op->num_inputs))
    return fy_fail(err, FY_INVALID_ARGUMENT, "expected %d inputs, got %u", k->site.num_inputs,
                   op->num_inputs);
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    const fy_handle *h = op->inputs[i];
    const fy_device *want = k->in_device[i];
    if (FY_UNLIKELY(h->device != want && want != FY_EAGER_ANYWHERE))
      FY_TRY(may_copy(op, k, i, err));
    if (FY_UNLIKELY(h->dtype != k->site.in_types[i]))
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "cannot compute %s as input #%u(zero-based) was expected to be a %s tensor but is "
          "a %s tensor",
          op->name, i, fy_dtype_name(k->site.in_types[i]), fy_dtype_name(h->dtype));
  }
  return FY_OK;
}

// Waits for values and copies what lies elsewhere; |in| borrows from the handles.
static fy_code gather(fy_eager *c, fy_eager_kernel *k, fy_handle **handles, fy_tensor **in,
                      fy_error *err) {
  for (int i = 0; i < k->site.num_inputs; i++) {
    fy_handle *h = handles[i];
    const fy_device *want = k->in_device[i];
    if (FY_UNLIKELY(atomic_load_explicit(&h->state, memory_order_acquire) != FY_HANDLE_READY))
      FY_TRY(fy_handle_wait(h, err));
    if (FY_LIKELY(h->device == want || want == FY_EAGER_ANYWHERE)) {
      in[i] = h->tensor;
      continue;
    }
    bool copied;
    fy_code code = fy_handle_tensor_on(h, want, &in[i], &copied, err);
    if (!code && copied) fy_eager_note_copy(c, k, i, h->device, fy_tensor_bytes(in[i]));
    if (!code) continue;
    if (err)
      fy_error_prepend(err, "Failed copying input tensor from %s to %s in order to run %s: ",
                       name_of(h->device), name_of(want), k->site.node_name);
    return code;
  }
  return FY_OK;
}

// ------------------------------------------------------------------ the call
static fy_code decorate(const fy_eager *c, const fy_eager_kernel *k, fy_code code, fy_error *err) {
  if (!err) return code;
  for (int i = 0; i < k->prefixes; i++) fy_error_prepend(err, "{{function_node %s}} ", k->function);
  if (!k->function && atomic_load(&c->as_function))
    fy_error_prepend(err, "{{function_node __wrapped__%s_device_%s}} ", k->site.node_name,
                     k->device->name);
  if (code == FY_UNAVAILABLE) {
    fy_error_append(
        err,
        "\nExecuting non-communication op <%s> originally returned UnavailableError, and "
        "was replaced by InternalError to avoid invoking TF network error handling logic.",
        k->site.node_name);
    err->code = code = FY_INTERNAL;
  }
  return code;
}

static fy_code call(fy_eager *c, fy_eager_kernel *k, fy_cancel *cancel, fy_handle *const *handles,
                    fy_tensor **in, fy_tensor **out, fy_error *err) {
  fy_run run = {.resources = k->resources,
                .cancel = cancel,
                .step_id = atomic_load_explicit(&c->step, memory_order_relaxed)};
  fy_code code = FY_OK;
  if (FY_UNLIKELY(cancel && k->function && fy_cancel_requested(cancel)))
    code = fy_fail(err, FY_CANCELLED, "Function was cancelled before it was started");
  if (!code) code = fy_kernel_call(&k->site, &run, handles, in, out, err);
  if (FY_UNLIKELY(code != FY_OK)) return decorate(c, k, code, err);
  for (int i = 0; i < k->site.num_outputs; i++) {
    if (FY_LIKELY(out[i] != NULL)) continue;
    // A kernel may leave an output alone: TensorFlow then shows an empty float tensor.
    code = fy_tensor_new(FY_FLOAT, 1, (const int64_t[]){0}, &out[i], err);
    if (!code) continue;
    for (int n = 0; n < k->site.num_outputs; n++) fy_tensor_release(out[n]);
    return code;
  }
  return FY_OK;
}

static fy_handle *wrap(fy_eager *c, const fy_eager_kernel *k, int i, fy_tensor *t) {
  if (FY_LIKELY(!k->op_device && !t->device)) return fy_handle_new(t);
  if (k->function || k->out_device[i] != t->device) {
    const fy_device *at = t->device ? fy_eager_slot(c, t->device) : NULL;
    if (k->function) return fy_handle_on(t, c, at, at, NULL);
    if (at || !k->device->is_host)
      return fy_handle_on(t, c, at, k->op_device, t->dtype == FY_RESOURCE ? k->op_device : NULL);
  }
  return fy_handle_on(t, c, k->out_device[i], k->op_device,
                      t->dtype == FY_RESOURCE ? k->op_device : NULL);
}

static fy_code run_now(fy_eager_op *op, fy_eager_kernel *k, fy_handle **results, fy_error *err) {
  fy_eager *c = op->context;
  fy_tensor *in_small[SMALL], *out_small[SMALL];
  fy_tensor **in = in_small, **out = out_small;
  int num_in = k->site.num_inputs, num_out = k->site.num_outputs;
  if (num_in > SMALL) in = fy_malloc((size_t)num_in * sizeof *in);
  if (num_out > SMALL) out = fy_malloc((size_t)num_out * sizeof *out);
  fy_code code = in && out ? gather(c, k, op->inputs, in, err) : fy_fail_oom(err, sizeof *in);
  if (!code) code = call(c, k, op->cancel, op->inputs, in, out, err);
  if (!code) {
    for (int i = 0; i < num_out; i++) {
      results[i] = wrap(c, k, i, out[i]);
      if (FY_UNLIKELY(!results[i])) code = fy_fail_oom(err, sizeof **results);
    }
    for (int i = 0; code && i < num_out; i++) {
      if (results[i]) fy_handle_release(results[i]);
      results[i] = NULL;
    }
  }
  if (FY_UNLIKELY(in != in_small)) fy_free(in);
  if (FY_UNLIKELY(out != out_small)) fy_free(out);
  return code;
}

// ------------------------------------------------------------------ later
typedef struct task {
  fy_executor_task base;
  fy_eager *context;  // retained
  fy_eager_kernel *kernel;
  fy_cancel *cancel;
  fy_handle **inputs, **outputs;
  fy_tensor **in, **out;
} task;

static void free_task(task *t) {
  for (int i = 0; i < t->kernel->site.num_inputs; i++) fy_handle_release(t->inputs[i]);
  for (int i = 0; i < t->kernel->site.num_outputs; i++) fy_handle_release(t->outputs[i]);
  fy_eager_kernel_put(t->kernel);
  fy_eager_release(t->context);
  fy_free(t);
}

// Where a function leaves its results is known only afterwards, but their handles are out already
// and say CPU:0.
static fy_code bring_home(fy_tensor **out, int n, fy_error *err) {
  fy_code code = FY_OK;
  for (int i = 0; i < n && !code; i++) {
    fy_tensor *copy;
    if (!out[i]->device) continue;
    code = fy_memory_copy_tensor(out[i], NULL, &copy, err);
    if (code) break;
    fy_tensor_release(out[i]);
    out[i] = copy;
  }
  for (int i = 0; code && i < n; i++) fy_tensor_release(out[i]);
  return code;
}

static fy_code run_task(fy_executor_task *base, const fy_error *poison, fy_error *err) {
  task *t = (task *)base;
  fy_code code;
  if (poison)
    code = fy_fail(err, poison->code, "%s", fy_error_text(poison));
  else
    code = gather(t->context, t->kernel, t->inputs, t->in, err);
  if (!code) code = call(t->context, t->kernel, t->cancel, t->inputs, t->in, t->out, err);
  if (!code && t->kernel->function) code = bring_home(t->out, t->kernel->site.num_outputs, err);
  return code;
}

static void end_task(fy_executor_task *base, fy_code code, const fy_error *err) {
  task *t = (task *)base;
  for (int i = 0; i < t->kernel->site.num_outputs; i++) {
    if (code)
      fy_handle_fail(t->outputs[i], err);
    else
      fy_handle_resolve(t->outputs[i], t->out[i]);
  }
  free_task(t);
}

static fy_code run_later(fy_eager_op *op, fy_eager_kernel *k, fy_executor *executor,
                         fy_handle **results, fy_error *err) {
  size_t in = (size_t)k->site.num_inputs, out = (size_t)k->site.num_outputs;
  task *t = fy_calloc(1, sizeof *t + (in + out) * 2 * sizeof(void *));
  if (!t) return fy_fail_oom(err, sizeof *t);
  t->base.run = run_task;
  t->base.end = end_task;
  t->context = op->context;
  t->kernel = k;
  t->cancel = op->cancel;
  t->inputs = (fy_handle **)(t + 1);
  t->outputs = t->inputs + in;
  t->in = (fy_tensor **)(t->outputs + out);
  t->out = t->in + in;
  for (size_t i = 0; i < out; i++) {
    const fy_device *at = k->function ? NULL : k->out_device[i];
    t->outputs[i] =
        fy_handle_pending(op->context, k->site.out_types[i], at, k->function ? NULL : k->op_device);
    if (t->outputs[i]) continue;
    while (i-- > 0) fy_handle_release(t->outputs[i]);
    fy_free(t);
    return fy_fail_oom(err, sizeof **results);
  }
  for (size_t i = 0; i < in; i++) {
    fy_handle_retain(op->inputs[i]);
    t->inputs[i] = op->inputs[i];
  }
  for (size_t i = 0; i < out; i++) {
    fy_handle_retain(t->outputs[i]);
    results[i] = t->outputs[i];
  }
  fy_eager_retain(op->context);
  atomic_fetch_add(&k->users, 1);
  fy_code code = fy_executor_add(executor, &t->base, err);
  if (code) {
    for (size_t i = 0; i < out; i++) {
      fy_handle_release(results[i]);
      results[i] = NULL;
    }
    free_task(t);
  }
  return code;
}

// ------------------------------------------------------------------ execute
static fy_code run_async(fy_eager_op *op, fy_eager_kernel *k, fy_handle **results, fy_error *err) {
  fy_executor *executor = fy_eager_get_executor(op->context);
  fy_code code = fy_executor_is_async(executor) ? run_later(op, k, executor, results, err)
                                                : run_now(op, k, results, err);
  fy_executor_release(executor);
  return code;
}

static fy_code executor_status(fy_eager *c, fy_error *err) {
  fy_executor *executor = fy_eager_get_executor(c);
  fy_code code = fy_executor_status(executor, err);
  fy_executor_release(executor);
  return code;
}

// Every input is here, where it is wanted, and of the right type: nothing to wait for or to copy.
static bool all_ready(const fy_eager_op *op, const fy_eager_kernel *k, fy_tensor **in) {
  uint32_t n = op->num_inputs;
  if (FY_UNLIKELY(n != (uint32_t)k->site.num_inputs || n > SMALL)) return false;
  for (uint32_t i = 0; i < n; i++) {
    const fy_handle *h = op->inputs[i];
    if (FY_UNLIKELY(h->device != k->in_device[i] || h->dtype != k->site.in_types[i] ||
                    atomic_load_explicit(&h->state, memory_order_acquire) != FY_HANDLE_READY))
      return false;
    in[i] = h->tensor;
  }
  return true;
}

static fy_code execute(fy_eager_op *op, fy_eager_kernel *k, bool special, fy_handle **results,
                       int room, fy_error *err) {
  int n = k->site.num_outputs;
  fy_tensor *in[SMALL], *out;
  if (FY_UNLIKELY(n > room))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expecting %d outputs, but *num_retvals is %d", n,
                   room);
  if (FY_LIKELY(n == 1 && !special && all_ready(op, k, in))) {
    FY_TRY(call(op->context, k, op->cancel, op->inputs, in, &out, err));
    results[0] = wrap(op->context, k, 0, out);
    return FY_LIKELY(results[0] != NULL) ? FY_OK : fy_fail_oom(err, sizeof **results);
  }
  FY_TRY(check_inputs(op, k, err));
  return special ? run_async(op, k, results, err) : run_now(op, k, results, err);
}

fy_code fy_eager_execute(fy_eager_op *op, fy_handle **results, int *num_results, fy_error *err) {
  fy_eager *c = op->context;
  fy_eager_kernel *k;
  bool own;
  bool special = c->async || atomic_load_explicit(&c->num_threads, memory_order_relaxed) != 0;
  if (FY_UNLIKELY(special)) FY_TRY(executor_status(c, err));
  if (FY_UNLIKELY(op->expected && !op->num_inputs))
    return fy_fail(err, FY_INVALID_ARGUMENT, "expected %u inputs, got 0", op->expected);
  if (FY_UNLIKELY(op->has_packed)) FY_TRY(fy_eager_unpack_inputs(op, err));
  FY_TRY(fy_eager_kernel_get(op, &k, &own, err));
  if (FY_UNLIKELY(atomic_load_explicit(&c->log, memory_order_relaxed))) log_placement(op, k);
  fy_code code = execute(op, k, special, results, *num_results, err);
  if (FY_LIKELY(!code)) {
    *num_results = k->site.num_outputs;
    op->device = k->device;
    op->expected = op->num_inputs;
    fy_eager_op_drop_inputs(op);
    op->next_arg = 0;
    op->inferring = true;
    op->has_lists = op->has_resources = false;
  }
  if (FY_UNLIKELY(own)) fy_eager_kernel_put(k);
  return code;
}
