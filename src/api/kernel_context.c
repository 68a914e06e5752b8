// SPDX-License-Identifier: Apache-2.0
// kernel_context.c: what a kernel of a third party may ask and do while it computes. Tensors that
// it gets are views of what the runner holds: valid as long as its context, which is all that the
// contract promises. What it publishes gets memory of its own if it was borrowed.

#include <string.h>

#include "api/user_kernels.h"
#include "base/alloc.h"
#include "config.pb-c.h"
#include "function.pb-c.h"
#include "graph/version.h"
#include "tensorflow/c/kernels_experimental.h"

void TF_OpKernelContext_Failure(TF_OpKernelContext *ctx, TF_Status *status) {
  if (ctx->error.code == FY_OK && status->error.code != FY_OK)
    fy_fail(&ctx->error, status->error.code, "%s", fy_error_text(&status->error));
}

static TF_StringView view_of(const char *s) {
  return (TF_StringView){s, strlen(s)};
}

// ---------------------------------------------------------------- facts
int TF_NumInputs(TF_OpKernelContext *ctx) {
  return ctx->ctx->site->num_inputs;
}
int TF_NumOutputs(TF_OpKernelContext *ctx) {
  return ctx->ctx->site->num_outputs;
}

TF_DataType TF_InputDatatype(TF_OpKernelContext *ctx, int index) {
  const fy_site *s = ctx->ctx->site;
  return index >= 0 && index < s->num_inputs ? (TF_DataType)ctx->ctx->in[index]->dtype
                                             : (TF_DataType)0;
}

TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext *ctx, int i) {
  const fy_site *s = ctx->ctx->site;
  return i >= 0 && i < s->num_outputs ? (TF_DataType)s->out_types[i] : (TF_DataType)0;
}

int64_t TF_StepId(TF_OpKernelContext *ctx) {
  return ctx->ctx->svc->step_id(ctx->ctx);
}
int64_t TF_GetStepId(TF_OpKernelContext *ctx) {
  return TF_StepId(ctx);
}
uint64_t TF_GetFrameId(TF_OpKernelContext *ctx) {
  (void)ctx;
  return 0;
}
int64_t TF_GetIterId(TF_OpKernelContext *ctx) {
  (void)ctx;
  return 0;
}
int TF_GetGraphDefVersion(TF_OpKernelContext *ctx) {
  (void)ctx;
  return FY_GRAPH_DEF_VERSION;
}

int TF_GetDeviceId(TF_OpKernelContext *ctx) {
  const struct fy_device *d = ctx->ctx->site->device;
  return d ? d->index : 0;
}

TF_StringView TF_GetDeviceName(TF_OpKernelContext *ctx) {
  const struct fy_device *d = ctx->ctx->site->device;
  return view_of(d ? d->name : "/job:localhost/replica:0/task:0/device:CPU:0");
}

TF_StringView TF_GetOpKernelName(TF_OpKernelContext *ctx) {
  return view_of(ctx->ctx->site->node_name);
}

TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext *ctx) {
  (void)ctx;
  return view_of("localhost");
}

// Eagerly, TensorFlow names every input so.
TF_StringView TF_GetOpKernelRequestedInput(TF_OpKernelContext *ctx, size_t index) {
  const fy_site *s = ctx->ctx->site;
  if (index >= (size_t)s->num_inputs) return view_of("");
  return view_of(s->in_names ? s->in_names[index] : "dummy_input");
}

// ---------------------------------------------------------------- arguments
static fy_code arg_range(const fy_site *s, const char *name, int *begin, int *end, fy_error *err) {
  const fy_op_spec *spec = s->op->spec;
  for (int i = 0; i < spec->num_inputs; i++)
    if (strcmp(spec->inputs[i].name, name) == 0)
      return fy_spec_arg_range(spec, false, i, s->attrs, begin, end, err);
  return fy_fail(err, FY_INVALID_ARGUMENT, "Unknown input name: %s", name);
}

void TF_InputRange(TF_OpKernelContext *ctx, const char *name, TF_InputRange_Args *args) {
  fy_error *err = fy_api_begin(args->status);
  int begin = 0, end = 0;
  fy_code code = arg_range(ctx->ctx->site, name, &begin, &end, err);
  fy_api_end(args->status, code);
  if (code) return;
  args->start = begin;
  args->stop = end;
}

// Does the kernel want the argument that |flat| belongs to in host memory?
static bool is_host_arg(const TF_OpKernelContext *ctx, bool outputs, int flat) {
  const fy_site *s = ctx->ctx->site;
  const fy_op_spec *spec = s->op->spec;
  fy_dtype type = outputs ? s->out_types[flat] : s->in_types[flat];
  if (type == FY_STRING || type == FY_RESOURCE) return true;
  for (int i = 0; i < (outputs ? spec->num_outputs : spec->num_inputs); i++) {
    int begin, end;
    if (fy_spec_arg_range(spec, outputs, i, s->attrs, &begin, &end, NULL)) return false;
    if (flat < begin || flat >= end) continue;
    const char *name = outputs ? spec->outputs[i].name : spec->inputs[i].name;
    for (uint32_t k = 0; k < ctx->kernel->num_host_args; k++)
      if (strcmp(ctx->kernel->host_args[k], name) == 0) return true;
  }
  return false;
}

static bool host_memory(TF_OpKernelContext *ctx, int i, bool outputs, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_site *s = ctx->ctx->site;
  if (i >= 0 && i < (outputs ? s->num_outputs : s->num_inputs)) return is_host_arg(ctx, outputs, i);
  fy_fail(err, FY_OUT_OF_RANGE, "%s index out of range", outputs ? "output" : "input");
  return false;
}

bool TF_IsHostMemoryInput(TF_OpKernelContext *ctx, int i, TF_Status *status) {
  return host_memory(ctx, i, false, status);
}

bool TF_IsHostMemoryOutput(TF_OpKernelContext *ctx, int i, TF_Status *status) {
  return host_memory(ctx, i, true, status);
}

bool TF_IsRefInput(TF_OpKernelContext *ctx, int i, TF_Status *status) {
  host_memory(ctx, i, false, status);
  return false;
}

static TF_Tensor *view_tensor(const fy_tensor *t, TF_Status *status) {
  fy_tensor *own = NULL;
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_api_view(t, &own, err));
  return fy_api_tf_tensor(own);
}

void TF_GetInput(TF_OpKernelContext *ctx, int i, TF_Tensor **tensor, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  if (i < 0 || i >= ctx->ctx->site->num_inputs) {
    fy_fail(err, FY_OUT_OF_RANGE, "input index out of range");
    return;
  }
  TF_Tensor *t = view_tensor(ctx->ctx->in[i], status);
  if (t) *tensor = t;
}

void TF_GetInputByName(TF_OpKernelContext *ctx, const char *inputName, TF_Tensor **tensor,
                       TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  int begin = 0, end = 0;
  fy_code code = arg_range(ctx->ctx->site, inputName, &begin, &end, err);
  if (!code && end != begin + 1)
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "OpKernel used list-valued input name '%s' when single-valued input was expected",
                inputName);
  fy_api_end(status, code);
  if (!code) TF_GetInput(ctx, begin, tensor, status);
}

// ---------------------------------------------------------------- outputs
void TF_SetOutput(TF_OpKernelContext *ctx, int i, const TF_Tensor *tensor, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_tensor *t = fy_api_tensor(tensor);
  fy_tensor *own;
  if (i < 0 || i >= ctx->ctx->site->num_outputs) {
    fy_fail(err, FY_OUT_OF_RANGE, "output index out of range");
    return;
  }
  // Memory that is borrowed from a program must not leave the call.
  fy_code code = t->buffer ? fy_tensor_alias(t, t->dtype, t->rank, t->dims, &own, err)
                           : fy_tensor_clone(t, &own, err);
  if (!code) fy_out_set(ctx->ctx, i, own);
  fy_api_end(status, code);
}

TF_Tensor *TF_GetMutableOutput(TF_OpKernelContext *ctx, int i, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  if (i < 0 || i >= ctx->ctx->site->num_outputs) {
    fy_fail(err, FY_OUT_OF_RANGE, "output index out of range");
    return NULL;
  }
  if (!ctx->ctx->out[i]) {
    fy_fail(err, FY_FAILED_PRECONDITION, "output %d was not set", i);
    return NULL;
  }
  return view_tensor(ctx->ctx->out[i], status);
}

TF_Tensor *TF_AllocateOutput(TF_OpKernelContext *context, int index, TF_DataType dtype,
                             const int64_t *dims, int num_dims, size_t len, TF_Status *status) {
  (void)len;
  fy_error *err = fy_api_begin(status);
  const fy_site *s = context->ctx->site;
  fy_tensor *t = NULL;
  fy_code code = FY_OK;
  if (index < 0 || index >= s->num_outputs)
    code = fy_fail(err, FY_INTERNAL, "allocate_output with bad index=%d num_outputs=%d kernel=%s",
                   index, s->num_outputs, s->node_name);
  else if ((fy_dtype)dtype != s->out_types[index])
    code =
        fy_fail(err, FY_INVALID_ARGUMENT, "output %d of %s is of type %s, not %s", index,
                s->node_name, fy_dtype_name(s->out_types[index]), fy_dtype_name((fy_dtype)dtype));
  else
    code = fy_out(context->ctx, index, num_dims, dims, &t, err);
  fy_api_end(status, code);
  return code ? NULL : view_tensor(t, status);
}

TF_Tensor *TF_ForwardInputOrAllocateOutput(TF_OpKernelContext *context,
                                           const int *candidate_input_indices,
                                           int num_candidate_input_indices, int output_index,
                                           const int64_t *output_dims, int output_num_dims,
                                           int *forwarded_input, TF_Status *status) {
  fy_kernel_ctx *c = context->ctx;
  bool sound = output_index >= 0 && output_index < c->site->num_outputs && c->svc->forward;
  if (forwarded_input) *forwarded_input = -1;
  for (int k = 0; sound && k < num_candidate_input_indices; k++) {
    int j = candidate_input_indices[k];
    if (j < 0 || j >= c->site->num_inputs) continue;
    if (!c->svc->forward(c, output_index, j, output_num_dims, output_dims)) continue;
    if (forwarded_input) *forwarded_input = j;
    fy_api_begin(status);
    return view_tensor(c->out[output_index], status);
  }
  TF_DataType type = TF_ExpectedOutputDataType(context, output_index);
  return TF_AllocateOutput(context, output_index, type, output_dims, output_num_dims, 0, status);
}

TF_Tensor *TF_AllocateTemp(TF_OpKernelContext *context, TF_DataType dtype, const int64_t *dims,
                           int num_dims, TF_AllocatorAttributes *alloc_attrs, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_kernel_ctx *c = context->ctx;
  fy_tensor *t = NULL;
  fy_code code;
  if (alloc_attrs && alloc_attrs->struct_size < TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE)
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "TF_AllocatorAttributes struct size member must be set to "
                   "TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE");
  else if (alloc_attrs && alloc_attrs->on_host)
    code = fy_tensor_new((fy_dtype)dtype, num_dims, dims, &t, err);
  else
    code = c->svc->allocate(c, (fy_dtype)dtype, num_dims, dims, &t, err);
  fy_api_end(status, code);
  return fy_api_tf_tensor(t);
}

// ---------------------------------------------------------------- what only other builds have
void TF_IncNumDeferredOps(TF_OpKernelContext *context) {
  (void)context;
}
void TF_DecNumDeferredOps(TF_OpKernelContext *context) {
  (void)context;
}

SP_Stream TF_GetStream(TF_OpKernelContext *ctx, TF_Status *status) {
  (void)ctx;
  fy_fail(fy_api_begin(status), FY_UNIMPLEMENTED,
          "Accessing device stream is not supported on a device without the StreamExecutor C API");
  return NULL;
}

void TF_GetSerializedFunctionDefLibrary(TF_OpKernelContext *ctx, TF_Buffer *buffer,
                                        TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  Tensorflow__FunctionDefLibrary library;
  tensorflow__function_def_library__init(&library);
  fy_api_end(status, fy_api_message_to_buffer(&library.base, buffer, err));
}

void TF_GetSerializedConfigProto(TF_OpKernelContext *ctx, TF_Buffer *buffer, TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  Tensorflow__ConfigProto config;
  tensorflow__config_proto__init(&config);
  fy_api_end(status, fy_api_message_to_buffer(&config.base, buffer, err));
}
