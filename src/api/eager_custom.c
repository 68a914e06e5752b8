// SPDX-License-Identifier: Apache-2.0
// eager_custom.c: TFE_RegisterCustomDevice: devices made of a client's callbacks. Ops go to them
// whole, by the request or by their inputs; values go in and out by the device's own copies.
// What the context knows of them is in execute/eager_custom.c.

#include <string.h>

#include "api/eager.h"
#include "base/alloc.h"

typedef struct custom_device {
  fy_custom_device base;
  TFE_CustomDevice calls;
  TFE_Context *context;
  void *info;
} custom_device;

typedef struct custom_value {
  fy_custom_value base;
  TFE_CustomDeviceTensorHandle calls;
  void *data;
} custom_value;

static custom_value *value_of(const fy_handle *h) {
  return (custom_value *)fy_handle_custom_value(h);
}

// What a callback said, in |err|.
static fy_code settle(TF_Status *said, fy_error *err) {
  fy_code code = (fy_code)TF_GetCode(said);
  if (code) fy_fail(err, code, "%s", TF_Message(said));
  TF_DeleteStatus(said);
  return code;
}

// A status for a callback, if the device may still be called.
static fy_code prepare(const custom_device *d, TF_Status **out, fy_error *err) {
  *out = NULL;
  if (d->base.closed)
    return fy_fail(err, FY_FAILED_PRECONDITION, "The context of the custom device %s was deleted.",
                   d->base.name);
  *out = TF_NewStatus();
  return *out ? FY_OK : fy_fail_oom(err, sizeof **out);
}

// ---------------------------------------------------------------- devices
static void close_device(fy_custom_device *base) {
  custom_device *d = (custom_device *)base;
  if (d->calls.delete_device) d->calls.delete_device(d->info);
}

static void free_device(fy_custom_device *base) {
  fy_free(base->name);
  fy_free(base);
}

void TFE_RegisterCustomDevice(TFE_Context *ctx, TFE_CustomDevice device, const char *device_name,
                              void *device_info, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  custom_device *d = fy_calloc(1, sizeof *d);
  fy_code code = FY_OK;
  if (!d || !(d->base.name = fy_strdup(device_name))) code = fy_fail_oom(err, sizeof *d);
  if (!code) {
    d->base.close = close_device;
    d->base.free = free_device;
    d->calls = device;
    d->context = ctx;
    d->info = device_info;
    code = fy_eager_add_custom(fy_api_eager(ctx), &d->base, err);
  }
  fy_api_end(status, code);
  if (!code) return;
  if (d) free_device(&d->base);
  if (device.delete_device) device.delete_device(device_info);
}

bool TFE_IsCustomDevice(TFE_Context *ctx, const char *device_name) {
  return fy_eager_find_custom(fy_api_eager(ctx), device_name) != NULL;
}

// ---------------------------------------------------------------- values
static void drop_value(fy_custom_value *base) {
  custom_value *v = (custom_value *)base;
  if (v->calls.deallocator) v->calls.deallocator(v->data);
  fy_free(v);
}

fy_code fy_api_custom_rank(const fy_handle *h, int *out, fy_error *err) {
  const custom_value *v = value_of(h);
  TF_Status *said = TF_NewStatus();
  if (!said) return fy_fail_oom(err, sizeof *said);
  *out = v->calls.num_dims(v->data, said);
  return settle(said, err);
}

fy_code fy_api_custom_dim(const fy_handle *h, int i, int64_t *out, fy_error *err) {
  const custom_value *v = value_of(h);
  TF_Status *said = TF_NewStatus();
  if (!said) return fy_fail_oom(err, sizeof *said);
  *out = v->calls.dim(v->data, i, said);
  return settle(said, err);
}

void *fy_api_custom_pointer(const fy_handle *h) {
  return value_of(h)->data;
}

const fy_devname *fy_api_custom_name(const fy_handle *h) {
  return &fy_handle_custom_value(h)->device->parsed;
}

static fy_code copy_out(fy_handle *h, const char *to, fy_handle **out, fy_error *err) {
  custom_device *d = (custom_device *)fy_handle_custom_value(h)->device;
  TF_Status *said;
  *out = NULL;
  FY_TRY(prepare(d, &said, err));
  *out = fy_api_handle(
      d->calls.copy_tensor_from_device(d->context, fy_api_tfe_handle(h), to, said, d->info));
  FY_TRY(settle(said, err));
  return *out ? FY_OK : fy_fail(err, FY_INTERNAL, "%s gave no value.", d->base.name);
}

fy_code fy_api_custom_home(fy_handle *h, fy_handle **out, fy_error *err) {
  FY_TRY(copy_out(h, FY_HOST_NAME, out, err));
  if (!(*out)->custom) return FY_OK;
  fy_handle_release(*out);
  *out = NULL;
  return fy_fail(err, FY_INTERNAL, "%s gave a value of a custom device for the host.",
                 fy_handle_device_name(h));
}

fy_code fy_api_custom_copy(fy_eager *c, fy_handle *h, const char *to, bool *done, fy_handle **out,
                           fy_error *err) {
  custom_device *d = (custom_device *)fy_eager_find_custom(c, to);
  TF_Status *said;
  *done = d || h->custom;
  if (!*done) return FY_OK;
  if (!d) return copy_out(h, to, out, err);
  FY_TRY(prepare(d, &said, err));
  *out = fy_api_handle(
      d->calls.copy_tensor_to_device(d->context, fy_api_tfe_handle(h), said, d->info));
  return settle(said, err);
}

fy_code fy_api_custom_pack(fy_handle *const *handles, int n, bool *done, fy_handle **out,
                           fy_error *err) {
  int i = 0;
  TF_Status *said;
  while (i < n && !handles[i]->custom) i++;
  *done = i < n;
  if (!*done) return FY_OK;
  custom_device *d = (custom_device *)fy_handle_custom_value(handles[i])->device;
  if (!d->calls.pack)
    return fy_fail(err, FY_UNIMPLEMENTED, "This custom device does not support packing tensors.");
  FY_TRY(prepare(d, &said, err));
  *out = fy_api_handle(
      d->calls.pack(d->context, (TFE_TensorHandle **)(uintptr_t)handles, n, said, d->info));
  return settle(said, err);
}

static bool summarize(fy_str *out, fy_handle *h, const custom_value *v) {
  bool ok = false;
  fy_tensor *t;
  if (v->calls.summarize) {
    TF_Status *said = TF_NewStatus();
    TF_Buffer *text = said ? v->calls.summarize(v->data, said) : NULL;
    ok = text && TF_GetCode(said) == TF_OK;
    if (ok) fy_str_addn(out, text->data, text->length);
    if (text) TF_DeleteBuffer(text);
    TF_DeleteStatus(said);
    return ok;
  }
  if (fy_api_custom_home(h, &h, NULL) != FY_OK) return false;
  ok = fy_handle_tensor_on(h, NULL, &t, NULL, NULL) == FY_OK;
  if (ok) fy_handle_print_value(out, t);
  fy_handle_release(h);
  return ok;
}

static void print_value(fy_str *out, fy_handle *h, fy_custom_value *base) {
  int rank = 0;
  if (!summarize(out, h, (custom_value *)base)) fy_str_add(out, "<error computing value>");
  fy_str_add(out, ", shape=");
  if (fy_api_custom_rank(h, &rank, NULL) != FY_OK) {
    fy_str_add(out, "<error computing shape>");
    return;
  }
  fy_str_addc(out, '[');
  for (int i = 0; i < rank; i++) {
    int64_t dim = -1;
    fy_code code = fy_api_custom_dim(h, i, &dim, NULL);
    (void)code;  // then it is unknown
    fy_str_printf(out, "%s%lld", i ? "," : "", (long long)dim);
  }
  fy_str_addc(out, ']');
}

TFE_TensorHandle *TFE_NewCustomDeviceTensorHandle(TFE_Context *ctx, const char *device_name,
                                                  TF_DataType dtype, void *data,
                                                  TFE_CustomDeviceTensorHandle methods,
                                                  TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_handle *h = NULL;
  fy_custom_device *d = fy_eager_find_custom(fy_api_eager(ctx), device_name);
  custom_value *v = d ? fy_malloc(sizeof *v) : NULL;
  if (v) {
    *v = (custom_value){{d, drop_value, print_value}, methods, data};
    h = fy_handle_on_custom(fy_api_eager(ctx), (fy_dtype)dtype, &v->base);
  }
  if (!h) {
    fy_code code = d ? fy_fail_oom(err, sizeof *v)
                     : fy_fail(err, FY_INVALID_ARGUMENT, "%s unknown device.", device_name);
    fy_api_end(status, code);
    fy_free(v);
    if (methods.deallocator) methods.deallocator(data);
  }
  return fy_api_tfe_handle(h);
}

// ---------------------------------------------------------------- execution
// The custom device of the inputs, if they are on one.
static fy_code common_device(const fy_eager_op *op, custom_device **out, fy_error *err) {
  *out = NULL;
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    if (!op->inputs[i]->custom) continue;
    custom_device *d = (custom_device *)fy_handle_custom_value(op->inputs[i])->device;
    if (*out && *out != d)
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "If an operation has one of its inputs in a custom device, then all inputs should be "
          "on that same custom device or another physical device. Operation %s has one input in "
          "custom device %s and at least one input in a different custom device %s",
          op->name, (*out)->base.name, d->base.name);
    *out = d;
  }
  return FY_OK;
}

// Where |op| runs: a resource's device wins over the request, the request over other inputs; a
// device that wants to be asked about its inputs decides before all of these.
static fy_code choose(const fy_eager_op *op, custom_device **out, fy_error *err) {
  custom_device *mine;
  const char *request = fy_eager_op_device(op);
  *out = (custom_device *)fy_eager_find_custom(op->context, request);
  FY_TRY(common_device(op, &mine, err));
  if (!mine) return FY_OK;
  if (mine->calls.shall_pin_to_this_device) {
    TF_Status *said;
    FY_TRY(prepare(mine, &said, err));
    bool pin = mine->calls.shall_pin_to_this_device((const TFE_Op *)op, said);
    bool asked = TF_GetCode(said) == TF_OK;
    TF_DeleteStatus(said);
    if (asked && pin) *out = mine;
    if (asked) return FY_OK;
  }
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    if (op->inputs[i]->dtype != FY_RESOURCE) continue;
    if (op->inputs[i]->custom) *out = mine;
    return FY_OK;
  }
  if (!*out && !*request) *out = mine;
  return FY_OK;
}

// Puts values of the host in the place of those of custom devices.
static fy_code bring_inputs(fy_eager_op *op, fy_error *err) {
  const char *to = fy_eager_op_device(op);
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    fy_handle *h;
    if (!op->inputs[i]->custom) continue;
    FY_TRY(copy_out(op->inputs[i], *to ? to : FY_HOST_NAME, &h, err));
    fy_handle_release(op->inputs[i]);
    op->inputs[i] = h;
  }
  return FY_OK;
}

static fy_code call_device(custom_device *d, const fy_eager_op *op, fy_handle **results,
                           int *num_results, fy_error *err) {
  TF_Status *said;
  int room = *num_results > 0 ? *num_results : 0;
  FY_TRY(prepare(d, &said, err));
  TFE_TensorHandle **out = fy_calloc((size_t)room + 1, sizeof *out);
  if (!out) {
    TF_DeleteStatus(said);
    return fy_fail_oom(err, (size_t)room * sizeof *out);
  }
  d->calls.execute((const TFE_Op *)op, num_results, out, said, d->info);
  fy_code code = settle(said, err);
  for (int i = 0; !code && i < *num_results && i < room; i++) results[i] = fy_api_handle(out[i]);
  fy_free(out);
  return code;
}

fy_code fy_api_custom_execute(fy_eager_op *op, fy_handle **results, int *num_results,
                              fy_error *err) {
  custom_device *d;
  FY_TRY(choose(op, &d, err));
  if (d) return call_device(d, op, results, num_results, err);
  FY_TRY(bring_inputs(op, err));
  return fy_eager_execute(op, results, num_results, err);
}
