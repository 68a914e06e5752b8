// SPDX-License-Identifier: Apache-2.0
// eager_handle.c: handles: values with a place, perhaps not computed yet. One lock and one
// condition serve all pending handles of the process: waiting is rare and ends soon, and a handle
// stays small.

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "devices/devices.h"
#include "execute/eager_impl.h"
#include "memory/pool.h"
#include "wire/mapping.h"

static fy_mutex pending_lock = FY_MUTEX_INIT;  // state changes and extras of all handles
static fy_cond pending_done = FY_COND_INIT;

fy_handle *fy_handle_new(fy_tensor *t) {
  fy_handle *h = fy_malloc(sizeof *h);
  if (FY_UNLIKELY(!h)) {
    fy_tensor_release(t);
    return NULL;
  }
  *h = (fy_handle){.dtype = t->dtype, .tensor = t};
  atomic_init(&h->refs, 1);
  return h;
}

fy_handle *fy_handle_on(fy_tensor *t, fy_eager *c, const fy_device *device,
                        const fy_device *op_device, const fy_device *resource_device) {
  fy_handle *h = fy_handle_new(t);
  if (!h || (!device && !op_device && !resource_device)) return h;
  h->device = device;
  h->op_device = op_device;
  h->resource_device = resource_device;
  h->context = c;
  fy_eager_retain(c);
  return h;
}

fy_handle *fy_handle_pending(fy_eager *c, fy_dtype dtype, const fy_device *device,
                             const fy_device *op_device) {
  fy_handle *h = fy_malloc(sizeof *h);
  if (!h) return NULL;
  *h = (fy_handle){.dtype = dtype, .device = device, .op_device = op_device, .context = c};
  if (dtype == FY_RESOURCE) h->resource_device = op_device;
  atomic_init(&h->refs, 1);
  atomic_init(&h->state, FY_HANDLE_PENDING);
  fy_eager_retain(c);
  return h;
}

// Holds pending_lock.
static struct fy_handle_extra *extra_of(fy_handle *h) {
  if (!h->extra) h->extra = fy_calloc(1, sizeof *h->extra);
  return h->extra;
}

void fy_handle_resolve(fy_handle *h, fy_tensor *t) {
  fy_lock(&pending_lock);
  h->tensor = t;
  atomic_store_explicit(&h->state, FY_HANDLE_READY, memory_order_release);
  fy_cond_broadcast(&pending_done);
  fy_unlock(&pending_lock);
}

void fy_handle_fail(fy_handle *h, const fy_error *error) {
  fy_lock(&pending_lock);
  struct fy_handle_extra *x = extra_of(h);
  if (x) fy_fail(&x->error, error->code, "%s", fy_error_text(error));
  atomic_store_explicit(&h->state, FY_HANDLE_FAILED, memory_order_release);
  fy_cond_broadcast(&pending_done);
  fy_unlock(&pending_lock);
}

void fy_handle_free(fy_handle *h) {
  struct fy_handle_extra *x = h->extra;
  if (FY_UNLIKELY(x != NULL)) {
    for (size_t i = 0; i < x->num_copies; i++) {
      fy_tensor_release(x->copies[i].tensor);
      fy_devices_unref(x->copies[i].set);
    }
    fy_free(x->copies);
    for (int i = 0; i < x->num_parts; i++) fy_handle_release(x->parts[i]);
    fy_free(x->parts);
    if (x->custom) x->custom->drop(x->custom);
    fy_error_clear(&x->error);
    fy_free(x);
  }
  fy_tensor_release(h->tensor);
  if (FY_UNLIKELY(h->context != NULL)) fy_eager_release(h->context);
  fy_free(h);
}

fy_code fy_handle_wait_slow(fy_handle *h, fy_error *err) {
  fy_code code = FY_OK;
  fy_lock(&pending_lock);
  while (atomic_load_explicit(&h->state, memory_order_acquire) == FY_HANDLE_PENDING)
    fy_cond_wait(&pending_done, &pending_lock);
  if (atomic_load_explicit(&h->state, memory_order_acquire) == FY_HANDLE_FAILED) {
    const fy_error *e = h->extra ? &h->extra->error : NULL;
    code =
        e && e->code ? fy_fail(err, e->code, "%s", fy_error_text(e)) : fy_fail_oom(err, sizeof *h);
  }
  fy_unlock(&pending_lock);
  return code;
}

const char *fy_handle_device_name(const fy_handle *h) {
  if (h->packed) return FY_HOST_ADDRESS "/device:COMPOSITE:0";
  if (h->custom) return h->extra->custom->device->name;
  return h->op_device ? h->op_device->name : FY_HOST_NAME;
}

const char *fy_handle_backing_device_name(const fy_handle *h) {
  if (h->packed || h->custom) return fy_handle_device_name(h);
  return h->device ? h->device->name : FY_HOST_NAME;
}

// ------------------------------------------------------------------ copies
// The value in memory of |to|, made once and kept with the handle.
static fy_code keep_copy(fy_handle *h, fy_device *to, fy_tensor **out, bool *copied,
                         fy_error *err) {
  fy_code code = FY_OK;
  fy_lock(&pending_lock);
  struct fy_handle_extra *x = extra_of(h);
  if (!x) code = fy_fail_oom(err, sizeof *x);
  for (size_t i = 0; !code && i < x->num_copies && !*out; i++)
    if (x->copies[i].device == to) *out = x->copies[i].tensor;
  fy_unlock(&pending_lock);
  if (code || *out) return code;
  fy_tensor *copy;
  FY_TRY(h->tensor->device == to
             ? fy_tensor_clone(h->tensor, &copy, err)
             : fy_memory_copy_tensor_for(h->tensor, to, "a tensor handle", &copy, err));
  fy_lock(&pending_lock);
  for (size_t i = 0; i < x->num_copies && !*out; i++)
    if (x->copies[i].device == to) *out = x->copies[i].tensor;  // another thread was faster
  if (!*out) {
    if (fy_grow(&x->copies, &x->cap_copies, x->num_copies + 1, sizeof *x->copies)) {
      x->copies[x->num_copies++] = (struct fy_handle_copy){
          to, copy, to ? fy_devices_set_of(to) : NULL};  // the handle may outlive the context
      *out = copy;
      copy = NULL;
      if (copied) *copied = true;
    } else {
      code = fy_fail_oom(err, sizeof *x->copies);
    }
  }
  fy_unlock(&pending_lock);
  fy_tensor_release(copy);
  return code;
}

fy_code fy_handle_tensor_on(fy_handle *h, const fy_device *device, fy_tensor **out, bool *copied,
                            fy_error *err) {
  *out = NULL;
  if (copied) *copied = false;
  if (h->packed)
    return fy_fail(err, FY_INTERNAL, "Invalid Tensor call on a PACKED handle: %p", (void *)h);
  FY_TRY(fy_handle_wait(h, err));
  // Host devices share memory: the tensor itself serves them all.
  fy_device *to = (fy_device *)(uintptr_t)device;
  if (to && to->is_host) to = NULL;
  if (h->tensor->device == to || h->tensor->dtype == FY_RESOURCE) {
    *out = h->tensor;
    return FY_OK;
  }
  return keep_copy(h, to, out, copied, err);
}

fy_code fy_handle_own_memory(fy_handle *h, fy_tensor **out, fy_error *err) {
  *out = NULL;
  FY_TRY(fy_handle_wait(h, err));
  // A copy in the memory where the tensor itself is; nobody else asks for that one.
  if (fy_wire_mapping_has(h->tensor)) return keep_copy(h, NULL, out, NULL, err);
  *out = h->tensor;
  return FY_OK;
}

fy_code fy_handle_copy_to(fy_handle *h, fy_eager *c, fy_device *device, fy_handle **out,
                          fy_error *err) {
  fy_tensor *t;
  *out = NULL;
  const fy_device *slot = fy_eager_slot(c, device);
  FY_TRY(fy_handle_tensor_on(h, device, &t, NULL, err));
  fy_tensor_retain(t);
  *out = fy_handle_on(t, c, slot, slot, h->resource_device);
  return *out ? FY_OK : fy_fail_oom(err, sizeof **out);
}

fy_code fy_handle_pack(fy_eager *c, fy_handle **handles, int n, fy_handle **out, fy_error *err) {
  (void)c;
  *out = NULL;
  if (n <= 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Handles should not be empty.");
  FY_TRY(fy_handle_wait(handles[0], err));
  fy_tensor_retain(handles[0]->tensor);
  fy_handle *h = fy_handle_new(handles[0]->tensor);
  if (!h) return fy_fail_oom(err, sizeof *h);
  h->packed = true;
  h->extra = fy_calloc(1, sizeof *h->extra);
  fy_handle **parts = fy_calloc((size_t)n, sizeof *parts);
  if (!h->extra || !parts) {
    fy_free(parts);
    fy_handle_release(h);
    return fy_fail_oom(err, (size_t)n * sizeof *parts);
  }
  for (int i = 0; i < n; i++) {
    fy_handle_retain(handles[i]);
    parts[i] = handles[i];
  }
  h->extra->parts = parts;
  h->extra->num_parts = n;
  *out = h;
  return FY_OK;
}

// ------------------------------------------------------------------ text
// NumPy's layout: rows on lines of their own, up to three elements at either end of a dimension.
static void print_values(fy_str *out, const fy_tensor *t, int32_t dim, int64_t first, int depth) {
  if (dim == t->rank) {
    fy_tensor *one = NULL;
    if (fy_tensor_alias(t, t->dtype, 0, NULL, &one, NULL) != FY_OK) return;
    one->data = (char *)t->data + (size_t)first * fy_dtype_storage(t->dtype);
    fy_tensor_print(out, one, 1);
    fy_tensor_release(one);
    return;
  }
  int64_t stride = 1;
  for (int32_t i = dim + 1; i < t->rank; i++) stride *= t->dims[i];
  fy_str_addc(out, '[');
  for (int64_t i = 0; i < t->dims[dim]; i++) {
    bool cut = t->dims[dim] > 6 && i == 3;
    if (i > 0) {
      if (dim == t->rank - 1) {
        fy_str_addc(out, ' ');
      } else {
        fy_str_addc(out, '\n');
        for (int k = 0; k <= depth; k++) fy_str_addc(out, ' ');
      }
    }
    if (cut) {
      fy_str_add(out, "...");
      i = t->dims[dim] - 4;
      continue;
    }
    print_values(out, t, dim + 1, first + i * stride, depth + 1);
  }
  fy_str_addc(out, ']');
}

void fy_handle_print_value(fy_str *out, const fy_tensor *t) {
  print_values(out, t, 0, 0, 0);
}

void fy_handle_print(fy_str *out, fy_handle *h) {
  fy_tensor *t = NULL;
  fy_str_add(out, "TensorHandle(");
  if (h->custom) {
    h->extra->custom->print(out, h, h->extra->custom);
  } else if (fy_handle_tensor_on(h, NULL, &t, NULL, NULL) == FY_OK && t->dtype != FY_RESOURCE) {
    print_values(out, t, 0, 0, 0);
    fy_str_add(out, ", shape=");
    fy_shape_print(out, t->rank, t->dims);
  } else {
    fy_str_add(out, "?, shape=<unknown>");
  }
  fy_str_printf(out, ", dtype=%s, device=\"%s\")", fy_dtype_enum_name(h->dtype),
                fy_handle_device_name(h));
}
