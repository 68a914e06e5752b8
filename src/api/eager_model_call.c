// SPDX-License-Identifier: Apache-2.0
// eager_model_call.c: functions of a SavedModel: what they take, and the op that calls one.

#include "api/eager_model.h"
#include "base/alloc.h"

static TFE_Op *make_call(const fy_model_function *f, TFE_TensorHandle **inputs, int num_inputs,
                         TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_eager_op *op = NULL;
  fy_code code;
  if (num_inputs < 0)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "%d inputs", num_inputs);
  else
    code = fy_model_call_op(f, (fy_handle **)inputs, (size_t)num_inputs, &op, err);
  fy_api_end(status, code);
  return (TFE_Op *)op;
}

TFE_Op *TF_ConcreteFunctionMakeCallOp(TF_ConcreteFunction *func, TFE_TensorHandle **inputs,
                                      int num_inputs, TF_Status *status) {
  return make_call(&func->f, inputs, num_inputs, status);
}

TFE_Op *TF_SignatureDefFunctionMakeCallOp(TF_SignatureDefFunction *func, TFE_TensorHandle **inputs,
                                          int num_inputs, TF_Status *status) {
  return make_call(&func->f, inputs, num_inputs, status);
}

TF_FunctionMetadata *TF_ConcreteFunctionGetMetadata(TF_ConcreteFunction *func) {
  return &func->f.about;
}

TF_SignatureDefFunctionMetadata *TF_SignatureDefFunctionGetMetadata(TF_SignatureDefFunction *func) {
  return &func->metadata;
}

const TF_SignatureDefParamList *TF_SignatureDefFunctionMetadataArgs(
    const TF_SignatureDefFunctionMetadata *list) {
  return &list->args;
}

const TF_SignatureDefParamList *TF_SignatureDefFunctionMetadataReturns(
    const TF_SignatureDefFunctionMetadata *list) {
  return &list->returns;
}

size_t TF_SignatureDefParamListSize(const TF_SignatureDefParamList *list) {
  return list->n;
}

const TF_SignatureDefParam *TF_SignatureDefParamListGet(const TF_SignatureDefParamList *list,
                                                        int i) {
  return i >= 0 && (size_t)i < list->n ? &list->items[i] : NULL;
}

const char *TF_SignatureDefParamName(const TF_SignatureDefParam *param) {
  return param->name;
}

const TF_TensorSpec *TF_SignatureDefParamTensorSpec(const TF_SignatureDefParam *param) {
  return &param->spec;
}

TF_DataType TF_TensorSpecDataType(const TF_TensorSpec *spec) {
  return (TF_DataType)spec->dtype;
}

const TF_Shape *TF_TensorSpecShape(const TF_TensorSpec *spec) {
  return &spec->shape;
}

// ---------------------------------------------------------------- lists
size_t TF_ConcreteFunctionListSize(TF_ConcreteFunctionList *list) {
  return list->n;
}

TF_ConcreteFunction *TF_ConcreteFunctionListGet(TF_ConcreteFunctionList *list, int i) {
  return i >= 0 && (size_t)i < list->n ? list->items[i] : NULL;
}

void TF_DeleteConcreteFunctionList(TF_ConcreteFunctionList *list) {
  if (!list) return;
  fy_free((void *)list->items);
  fy_free(list);
}
