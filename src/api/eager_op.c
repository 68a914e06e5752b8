// SPDX-License-Identifier: Apache-2.0
// eager_op.c: TFE_Op: names, devices, inputs, lengths, execution.

#include <string.h>

#include "api/eager.h"
#include "base/alloc.h"
#include "graph/node.h"

TFE_Op *TFE_NewOp(TFE_Context *ctx, const char *op_or_function_name, TF_Status *status) {
  fy_eager_op *op;
  fy_error *err = fy_api_begin_fast(status);
  fy_code code = fy_eager_op_new(fy_api_eager(ctx), op_or_function_name, &op, err);
  if (FY_UNLIKELY(code)) fy_api_end(status, code);
  return (TFE_Op *)op;
}

void TFE_OpReset(TFE_Op *op_to_reset, const char *op_or_function_name, const char *raw_device_name,
                 TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status,
             fy_eager_op_reset(fy_api_op(op_to_reset), op_or_function_name, raw_device_name, err));
}

void TFE_DeleteOp(TFE_Op *op) {
  if (op) fy_eager_op_free(fy_api_op(op));
}

const char *TFE_OpGetName(const TFE_Op *op, TF_Status *status) {
  fy_api_begin(status);
  return fy_api_op(op)->name;
}

TFE_Context *TFE_OpGetContext(const TFE_Op *op, TF_Status *status) {
  fy_api_begin(status);
  return fy_api_tfe_context(fy_api_op(op)->context);
}

void TFE_OpSetDevice(TFE_Op *op, const char *device_name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_eager_op_set_device(fy_api_op(op), device_name, err));
}

const char *TFE_OpGetDevice(const TFE_Op *op, TF_Status *status) {
  fy_api_begin(status);
  return fy_eager_op_device(fy_api_op(op));
}

// ---------------------------------------------------------------- inputs
void TFE_OpAddInput(TFE_Op *op, TFE_TensorHandle *input, TF_Status *status) {
  fy_error *err = fy_api_begin_fast(status);
  fy_code code = fy_eager_op_add_input(fy_api_op(op), fy_api_handle(input), err);
  if (FY_UNLIKELY(code)) fy_api_end(status, code);
}

void TFE_OpAddInputList(TFE_Op *op, TFE_TensorHandle **inputs, int num_inputs, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_eager_op_add_inputs(fy_api_op(op), (fy_handle **)inputs, num_inputs, err));
}

int TFE_OpGetFlatInputCount(const TFE_Op *op, TF_Status *status) {
  fy_api_begin(status);
  return (int)fy_api_op(op)->num_inputs;
}

TFE_TensorHandle *TFE_OpGetFlatInput(const TFE_Op *op, int index, TF_Status *status) {
  const fy_eager_op *o = fy_api_op(op);
  fy_error *err = fy_api_begin(status);
  if (index >= 0 && (uint32_t)index < o->num_inputs) return fy_api_tfe_handle(o->inputs[index]);
  fy_fail(err, FY_INVALID_ARGUMENT, "input %d of an op with %u inputs", index, o->num_inputs);
  return NULL;
}

// ---------------------------------------------------------------- lengths
static fy_code arg_length(const fy_eager_op *op, const char *name, bool outputs, int *out,
                          fy_error *err) {
  fy_arena arena;
  fy_attrs attrs;
  if (!op->op) return fy_op_not_registered(op->name, err);
  const fy_op_spec *spec = op->op->spec;
  const fy_arg_spec *args = outputs ? spec->outputs : spec->inputs;
  int n = outputs ? spec->num_outputs : spec->num_inputs, begin = 0, end = 0, i = 0;
  while (i < n && strcmp(args[i].name, name) != 0) i++;
  if (i == n)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s '%s' not found", outputs ? "Output" : "Input",
                   name);
  fy_arena_init(&arena);
  fy_code code = fy_eager_op_attrs(op, true, &arena, &attrs, err);
  const char *counted = args[i].number_attr ? args[i].number_attr : args[i].type_list_attr;
  if (!code && counted && !fy_attrs_get(&attrs, counted))
    code = fy_fail(err, FY_NOT_FOUND, "No attr named '%s' in NodeDef:", counted);
  // Other arguments may not be countable yet: only this one matters.
  if (!code && counted) {
    const fy_attr *a = fy_attrs_get(&attrs, counted);
    end = a->is_list ? (int)a->n : (int)a->v.i;
  } else if (!code) {
    end = 1;
  }
  fy_arena_free(&arena);
  if (!code) *out = end - begin;
  return code;
}

int TFE_OpGetInputLength(TFE_Op *op, const char *input_name, TF_Status *status) {
  int length = -1;
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, arg_length(fy_api_op(op), input_name, false, &length, err));
  return length;
}

int TFE_OpGetOutputLength(TFE_Op *op, const char *output_name, TF_Status *status) {
  int length = -1;
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, arg_length(fy_api_op(op), output_name, true, &length, err));
  return length;
}

// ---------------------------------------------------------------- execution
void TFE_Execute(TFE_Op *op, TFE_TensorHandle **retvals, int *num_retvals, TF_Status *status) {
  fy_error *err = fy_api_begin_fast(status);
  fy_code code = FY_UNLIKELY(fy_api_op(op)->has_custom)
                     ? fy_api_custom_execute(fy_api_op(op), (fy_handle **)retvals, num_retvals, err)
                     : fy_eager_execute(fy_api_op(op), (fy_handle **)retvals, num_retvals, err);
  if (FY_UNLIKELY(code)) fy_api_end(status, code);
}
