/* A kernel library: two ops, registered while loading; their kernels, one of
   them registered by TF_InitKernel. */
#include <stdio.h>

#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static void compute(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_Tensor *x = NULL;
  TF_GetInput(c, 0, &x, s);
  TF_Tensor *y = TF_AllocateOutput(c, 0, TF_INT32, NULL, 0, 4, s);
  *(int32_t *)TF_TensorData(y) = *(int32_t *)TF_TensorData(x) * 3;
  TF_DeleteTensor(x);
  TF_DeleteTensor(y);
  TF_DeleteStatus(s);
}

static void shape(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeHandle *h = TF_ShapeInferenceContextScalar(c);
  TF_ShapeInferenceContextSetOutput(c, 0, h, s);
  TF_DeleteShapeHandle(h);
}

static void op(const char *name) {
  TF_Status *s = TF_NewStatus();
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddInput(b, "x: int32");
  TF_OpDefinitionBuilderAddOutput(b, "y: int32");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, shape);
  TF_RegisterOpDefinition(b, s);
  TF_DeleteStatus(s);
}

static void kernel(const char *name) {
  TF_Status *s = TF_NewStatus();
  TF_KernelBuilder *b = TF_NewKernelBuilder(name, "CPU", NULL, compute, NULL);
  TF_RegisterKernelBuilder(name, b, s);
  TF_DeleteStatus(s);
}

__attribute__((constructor)) static void load(void) {
  printf("  library constructor\n");
  op("FerryPlugB");
  op("FerryPlugA");
  kernel("FerryPlugA");
}

void TF_InitKernel(void) {
  printf("  TF_InitKernel\n");
  kernel("FerryPlugB");
}
