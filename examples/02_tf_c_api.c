// SPDX-License-Identifier: Apache-2.0
// 02_tf_c_api: a program that knows only TensorFlow's C API. It compiles and links unchanged
// against TensorFlow's libtensorflow and against Ferry (cc 02_tf_c_api.c -ltensorflow).

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

static TF_Status *status;

static void check(void) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}

static TF_Tensor *matrix(int64_t rows, int64_t cols, const float *values) {
  int64_t dims[2] = {rows, cols};
  size_t bytes = (size_t)(rows * cols) * sizeof *values;
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 2, bytes);
  memcpy(TF_TensorData(t), values, bytes);
  return t;
}

static TF_Output placeholder(TF_Graph *g, const char *name) {
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output out = {TF_FinishOperation(d, status), 0};
  check();
  return out;
}

static TF_Output constant(TF_Graph *g, const char *name, TF_Tensor *value) {
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_SetAttrType(d, "dtype", TF_TensorType(value));
  TF_SetAttrTensor(d, "value", value, status);
  check();
  TF_Output out = {TF_FinishOperation(d, status), 0};
  check();
  return out;
}

int main(void) {
  status = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  printf("TensorFlow C API %s\n", TF_Version());

  // y = relu(x * w)
  const float w_values[4] = {1, -1, 2, 0.5f}, x_values[2] = {3, 4};
  TF_Tensor *w_value = matrix(2, 2, w_values);
  TF_Output x = placeholder(g, "x"), w = constant(g, "w", w_value);
  TF_OperationDescription *d = TF_NewOperation(g, "MatMul", "product");
  TF_AddInput(d, x);
  TF_AddInput(d, w);
  TF_Output product = {TF_FinishOperation(d, status), 0};
  check();
  d = TF_NewOperation(g, "Relu", "y");
  TF_AddInput(d, product);
  TF_Output y = {TF_FinishOperation(d, status), 0};
  check();

  TF_SessionOptions *options = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, options, status);
  check();
  TF_Tensor *in = matrix(1, 2, x_values), *out = NULL;
  TF_SessionRun(s, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, status);
  check();
  const float *r = TF_TensorData(out);
  printf("relu([3 4] * w) = [%g %g]\n", (double)r[0], (double)r[1]);

  TF_CloseSession(s, status);
  TF_DeleteSession(s, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  TF_DeleteTensor(w_value);
  TF_DeleteGraph(g);
  TF_DeleteStatus(status);
  return 0;
}
