// SPDX-License-Identifier: Apache-2.0
// 08_eager: operations one by one through TensorFlow's eager C API, on the CPU and then on a
// (simulated) GPU, with explicit copies between the two.

#define _POSIX_C_SOURCE 200112L  // setenv

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/eager/c_api.h"

static TF_Status *status;

static void check(void) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s\n", TF_Message(status));
  exit(1);
}

static TFE_TensorHandle *matrix(const float values[4]) {
  int64_t dims[2] = {2, 2};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 2, 4 * sizeof *values);
  memcpy(TF_TensorData(t), values, 4 * sizeof *values);
  TFE_TensorHandle *h = TFE_NewTensorHandle(t, status);
  check();
  TF_DeleteTensor(t);
  return h;
}

static TFE_TensorHandle *multiply(TFE_Context *ctx, TFE_TensorHandle *a, TFE_TensorHandle *b,
                                  const char *device) {
  TFE_Op *op = TFE_NewOp(ctx, "MatMul", status);
  check();
  TFE_OpSetDevice(op, device, status);
  check();
  TFE_OpAddInput(op, a, status);
  check();
  TFE_OpAddInput(op, b, status);
  check();
  TFE_TensorHandle *out = NULL;
  int n = 1;
  TFE_Execute(op, &out, &n, status);
  check();
  TFE_DeleteOp(op);
  return out;
}

static void print(const char *what, TFE_TensorHandle *h) {
  TF_Tensor *t = TFE_TensorHandleResolve(h, status);  // copies to the host if it must
  check();
  const float *v = TF_TensorData(t);
  printf("%-10s [[%g %g][%g %g]] on %s\n", what, (double)v[0], (double)v[1], (double)v[2],
         (double)v[3], TFE_TensorHandleDeviceName(h, status));
  TF_DeleteTensor(t);
}

int main(void) {
  setenv("FERRY_SIM", "gpu:1", 0);  // nothing is simulated unless asked for
  status = TF_NewStatus();
  TFE_ContextOptions *options = TFE_NewContextOptions();
  TFE_Context *ctx = TFE_NewContext(options, status);
  check();
  TFE_DeleteContextOptions(options);

  TFE_TensorHandle *a = matrix((float[4]){1, 2, 3, 4}), *b = matrix((float[4]){0, 1, 1, 0});
  TFE_TensorHandle *on_cpu = multiply(ctx, a, b, "/device:CPU:0");
  print("a * b", on_cpu);

  TFE_TensorHandle *there = TFE_TensorHandleCopyToDevice(on_cpu, ctx, "/device:GPU:0", status);
  check();
  TFE_TensorHandle *on_gpu = multiply(ctx, there, there, "/device:GPU:0");
  print("(a * b)^2", on_gpu);

  TFE_TensorHandle *all[] = {a, b, on_cpu, there, on_gpu};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) TFE_DeleteTensorHandle(all[i]);
  TFE_DeleteContext(ctx);
  TF_DeleteStatus(status);
  return 0;
}
