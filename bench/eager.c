// eager.c: what one eager operation costs when the arithmetic itself is nothing: a scalar add, from
// making the op to dropping its result.
#include "bench.h"
#include "tensorflow/c/eager/c_api.h"

typedef struct eager_add {
  TFE_Context *context;
  TFE_TensorHandle *a, *b;
  TF_Status *status;
} eager_add;

static TFE_TensorHandle *add(eager_add *add) {
  TFE_Op *op = TFE_NewOp(add->context, "AddV2", add->status);
  TFE_OpAddInput(op, add->a, add->status);
  TFE_OpAddInput(op, add->b, add->status);
  TFE_TensorHandle *result = NULL;
  int count = 1;
  TFE_Execute(op, &result, &count, add->status);
  bench_require(add->status, "TFE_Execute");
  TFE_DeleteOp(op);
  return result;
}

static void add_and_drop(void *context) {
  TFE_DeleteTensorHandle(add(context));
}

static TFE_TensorHandle *scalar_handle(float value, TF_Status *status) {
  TF_Tensor *tensor = bench_scalar(value);
  TFE_TensorHandle *handle = TFE_NewTensorHandle(tensor, status);
  bench_require(status, "TFE_NewTensorHandle");
  TF_DeleteTensor(tensor);
  return handle;
}

int main(void) {
  eager_add step = {.status = TF_NewStatus()};
  TFE_ContextOptions *options = TFE_NewContextOptions();
  step.context = TFE_NewContext(options, step.status);
  bench_require(step.status, "TFE_NewContext");
  TFE_DeleteContextOptions(options);
  step.a = scalar_handle(1.5f, step.status);
  step.b = scalar_handle(2.25f, step.status);

  TFE_TensorHandle *sum = add(&step);
  TF_Tensor *value = TFE_TensorHandleResolve(sum, step.status);
  bench_require(step.status, "TFE_TensorHandleResolve");
  bench_report("check:eager_add", (double)*(float *)TF_TensorData(value));
  TF_DeleteTensor(value);
  TFE_DeleteTensorHandle(sum);

  bench_report("eager_add", bench_ns_per_call(add_and_drop, &step));

  TFE_DeleteTensorHandle(step.a);
  TFE_DeleteTensorHandle(step.b);
  TFE_DeleteContext(step.context);
  TF_DeleteStatus(step.status);
  return 0;
}
