/* When a kernel in eager mode gets its input's memory for its output. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

/* Asks for memory of the input's shape, or of |rows| elements, from both inputs. */
static int64_t rows = 2;
static int rank = 1;

static void forward(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  int cand[2] = {0, 1}, fwd = -9;
  int64_t d[2] = {rows, 1};
  TF_Tensor *o = TF_ForwardInputOrAllocateOutput(c, cand, TF_NumInputs(c), 0, d, rank, &fwd, s);
  ec_pst("  k forward", s);
  printf("  k forwarded %d\n", fwd);
  if (o) {
    for (int64_t i = 0; i < TF_TensorElementCount(o); i++) {
      float *at = (float *)TF_TensorData(o) + i;
      *at = fwd >= 0 ? *at + 1 : -1;
    }
    TF_DeleteTensor(o);
  }
  TF_DeleteStatus(s);
}

static void unknown(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeInferenceContextSetUnknownShape(c, s);
}

static void define(const char *name, int inputs) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddInput(b, "a: float");
  if (inputs > 1) TF_OpDefinitionBuilderAddInput(b, "b: float");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, unknown);
  TF_RegisterOpDefinition(b, S);
  ec_must("op");
  TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", NULL, forward, NULL), S);
  ec_must("kernel");
}

/* A handle whose memory is the runtime's own. */
static TFE_TensorHandle *fresh(TFE_Context *c, float a, float b) {
  TFE_TensorHandle *x = ec_f1(2, (float[]){a, b}), *y = NULL;
  TFE_Op *op = ec_op(c, "Neg");
  ec_in(op, x);
  int n = 1;
  TFE_Execute(op, &y, &n, S);
  ec_must("Neg");
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(x);
  return y;
}

int main(void) {
  ec_open();
  define("FerryForward1", 1);
  define("FerryForward2", 2);
  TFE_Context *c = ec_ctx();

  tr_case("held by the caller");
  TFE_TensorHandle *x = fresh(c, 1, 2);
  TFE_Op *op = ec_op(c, "FerryForward1");
  ec_in(op, x);
  ec_exec("held", op, 1);
  ec_handle("input", x);

  tr_case("let go before the call");
  op = ec_op(c, "FerryForward1");
  ec_in(op, x);
  TFE_DeleteTensorHandle(x);
  ec_exec("let go", op, 1);

  tr_case("from a tensor of the caller's");
  x = ec_f1(2, (float[]){3, 4});
  op = ec_op(c, "FerryForward1");
  ec_in(op, x);
  TFE_DeleteTensorHandle(x);
  ec_exec("caller's", op, 1);

  tr_case("resolved before");
  x = fresh(c, 1, 2);
  TF_Tensor *t = TFE_TensorHandleResolve(x, S);
  ec_must("resolve");
  op = ec_op(c, "FerryForward1");
  ec_in(op, x);
  TFE_DeleteTensorHandle(x);
  ec_exec("resolved", op, 1);
  tr_show_free("resolved", t);

  tr_case("the same twice");
  x = fresh(c, 1, 2);
  op = ec_op(c, "FerryForward2");
  ec_in(op, x);
  ec_in(op, x);
  TFE_DeleteTensorHandle(x);
  ec_exec("twice", op, 1);

  tr_case("the second only");
  x = fresh(c, 1, 2);
  TFE_TensorHandle *y = fresh(c, 5, 6);
  op = ec_op(c, "FerryForward2");
  ec_in(op, x);
  ec_in(op, y);
  TFE_DeleteTensorHandle(y);
  ec_exec("second", op, 1);
  ec_handle("first", x);

  tr_case("another shape");
  rank = 2;
  op = ec_op(c, "FerryForward1");
  ec_in(op, x);
  TFE_DeleteTensorHandle(x);
  ec_exec("[2,1] from [2]", op, 1);
  rank = 1;
  rows = 1;
  x = fresh(c, 1, 2);
  op = ec_op(c, "FerryForward1");
  ec_in(op, x);
  TFE_DeleteTensorHandle(x);
  ec_exec("[1] from [2]", op, 1);
  rows = 2;

  tr_case("a chain");
  x = fresh(c, 1, 2);
  for (int i = 0; i < 3; i++) {
    op = ec_op(c, "FerryForward1");
    ec_in(op, x);
    TFE_DeleteTensorHandle(x);
    x = NULL;
    int n = 1;
    TFE_Execute(op, &x, &n, S);
    ec_must("chain");
    TFE_DeleteOp(op);
  }
  ec_handle("end", x);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(c);
  return ec_close();
}
