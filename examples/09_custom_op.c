// SPDX-License-Identifier: Apache-2.0
// 09_custom_op: an operation that Ferry does not know: its signature and shape function (ops.h),
// its kernel (kernels.h), and a graph that uses it. "Leap" turns years into 1 (leap year) or 0.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static void stop(const char *text) {
  fprintf(stderr, "%s\n", text);
  exit(1);
}

// The output has the shape of the input.
static void leap_shape(TF_ShapeInferenceContext *ctx, TF_Status *status) {
  TF_ShapeHandle *shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(ctx, 0, shape, status);
  if (TF_GetCode(status) == TF_OK) TF_ShapeInferenceContextSetOutput(ctx, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}

static void leap_compute(void *kernel, TF_OpKernelContext *ctx) {
  (void)kernel;
  TF_Status *status = TF_NewStatus();
  TF_Tensor *in = NULL, *out = NULL;
  TF_GetInput(ctx, 0, &in, status);
  if (TF_GetCode(status) == TF_OK) {
    int64_t dims[8];
    int rank = TF_NumDims(in);
    for (int i = 0; i < rank && i < 8; i++) dims[i] = TF_Dim(in, i);
    out = TF_AllocateOutput(ctx, 0, TF_INT32, dims, rank, TF_TensorByteSize(in), status);
  }
  if (TF_GetCode(status) == TF_OK) {
    const int32_t *year = TF_TensorData(in);
    int32_t *leap = TF_TensorData(out);
    for (int64_t i = 0; i < TF_TensorElementCount(in); i++)
      leap[i] = (year[i] % 4 == 0 && year[i] % 100 != 0) || year[i] % 400 == 0;
  } else {
    TF_OpKernelContext_Failure(ctx, status);
  }
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  TF_DeleteStatus(status);
}

static void register_leap(void) {
  TF_Status *status = TF_NewStatus();
  TF_OpDefinitionBuilder *op = TF_NewOpDefinitionBuilder("Leap");
  TF_OpDefinitionBuilderAddInput(op, "years: int32");
  TF_OpDefinitionBuilderAddOutput(op, "leap: int32");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, leap_shape);
  TF_RegisterOpDefinition(op, status);
  if (TF_GetCode(status) != TF_OK) stop(TF_Message(status));
  TF_KernelBuilder *kernel = TF_NewKernelBuilder("Leap", "CPU", NULL, leap_compute, NULL);
  TF_RegisterKernelBuilder("LeapKernel", kernel, status);
  if (TF_GetCode(status) != TF_OK) stop(TF_Message(status));
  TF_DeleteStatus(status);
}

int main(void) {
  ferry_error err;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  ferry_tensor *years, *out[2];
  register_leap();
  const int32_t values[4] = {1900, 2000, 2023, 2024};
  if (ferry_open(NULL, &rt, &err) || ferry_graph_new(rt, &g, &err) ||
      ferry_graph_add(g, "Placeholder", "years", NULL, "dtype=int32; shape=[?]", NULL, NULL,
                      &err) ||
      ferry_graph_add(g, "Leap", "leap", "years", NULL, NULL, NULL, &err) ||
      ferry_graph_add(g, "Const", "axis", NULL, "dtype=int32; value=0", NULL, NULL, &err) ||
      ferry_graph_add(g, "Sum", "count", "leap, axis", NULL, NULL, NULL, &err) ||
      ferry_session_new(rt, g, &s, &err) ||
      ferry_tensor_new(3 /* int32 */, 1, (int64_t[]){4}, values, &years, &err) ||
      ferry_run(s, 1, (const char *[]){"years"}, &years, 2, (const char *[]){"leap", "count"}, out,
                0, &err))
    stop(err.text);
  for (int i = 0; i < 2; i++) {
    char *text;
    if (ferry_tensor_text(out[i], 10, &text) == 0) printf("%s\n", text);
    ferry_free_text(text);
    ferry_tensor_free(out[i]);
  }
  ferry_tensor_free(years);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  return 0;
}
