/* Which of several kernels runs: constraints on one and two types, priorities, labels, two that fit alike,
   none that fits; in a session and eagerly, and how the error lists them. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static void answer(TF_OpKernelContext *c, int32_t v) {
  TF_Status *s = TF_NewStatus();
  TF_Tensor *o = TF_AllocateOutput(c, 0, TF_INT32, NULL, 0, 4, s);
  *(int32_t *)TF_TensorData(o) = v;
  TF_DeleteTensor(o);
  TF_DeleteStatus(s);
}
#define KERNEL(n)                                    \
  static void k##n(void *k, TF_OpKernelContext *c) { \
    (void)k;                                         \
    answer(c, n);                                    \
  }
// clang-format off
KERNEL(1) KERNEL(2) KERNEL(3) KERNEL(4) KERNEL(5)
    // clang-format on

    static void scalar(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeHandle *h = TF_ShapeInferenceContextScalar(c);
  TF_ShapeInferenceContextSetOutput(c, 0, h, s);
  TF_DeleteShapeHandle(h);
}
static void define(const char *name) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddAttr(b, "T: type");
  TF_OpDefinitionBuilderAddAttr(b, "U: type");
  TF_OpDefinitionBuilderAddInput(b, "x: T");
  TF_OpDefinitionBuilderAddInput(b, "y: U");
  TF_OpDefinitionBuilderAddOutput(b, "z: int32");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, scalar);
  TF_RegisterOpDefinition(b, S);
  ec_must(name);
}
typedef void (*compute_fn)(void *, TF_OpKernelContext *);
static void kernel(const char *op, compute_fn f, int t, int u, int priority, const char *label) {
  TF_KernelBuilder *b = TF_NewKernelBuilder(op, "CPU", NULL, f, NULL);
  if (t) TF_KernelBuilder_TypeConstraint(b, "T", (TF_DataType)t, S);
  if (u) TF_KernelBuilder_TypeConstraint(b, "U", (TF_DataType)u, S);
  if (priority) TF_KernelBuilder_Priority(b, priority);
  if (label) TF_KernelBuilder_Label(b, label);
  TF_RegisterKernelBuilder("k", b, S);
  ec_must("kernel");
}

static void eager(TFE_Context *c, const char *op, TFE_TensorHandle *a, TFE_TensorHandle *b,
                  const char *label) {
  TFE_Op *o = ec_op(c, op);
  ec_in(o, a);
  ec_in(o, b);
  if (label) TFE_OpSetAttrString(o, "_kernel", label, strlen(label));
  ec_exec(op, o, 1);
}

static TF_Output konst(TF_Graph *g, const char *name, TF_Tensor *t) {
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_SetAttrType(d, "dtype", TF_TensorType(t));
  TF_SetAttrTensor(d, "value", t, S);
  TF_DeleteTensor(t);
  TF_Output o = {TF_FinishOperation(d, S), 0};
  ec_must(name);
  return o;
}
static void session(const char *op, TF_Tensor *x, TF_Tensor *y, const char *label) {
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, op, "node");
  TF_AddInput(d, konst(g, "x", x));
  TF_AddInput(d, konst(g, "y", y));
  if (label) TF_SetAttrString(d, "_kernel", label, strlen(label));
  TF_Output o = {TF_FinishOperation(d, S), 0};
  if (ec_st("build")) {
    TF_SessionOptions *so = TF_NewSessionOptions();
    TF_Session *s = TF_NewSession(g, so, S);
    TF_Tensor *r = NULL;
    TF_SessionRun(s, NULL, NULL, NULL, 0, &o, &r, 1, NULL, 0, NULL, S);
    if (ec_st("run")) tr_show_free("  out", r);
    TF_DeleteSession(s, S);
    TF_DeleteSessionOptions(so);
  }
  TF_DeleteGraph(g);
}

int main(void) {
  ec_open();
  ec_show_kernels = 1;
  define("ChooseTypes");
  kernel("ChooseTypes", k1, TF_FLOAT, 0, 0, NULL);
  kernel("ChooseTypes", k2, TF_INT32, TF_INT32, 0, NULL);
  kernel("ChooseTypes", k3, TF_INT32, TF_FLOAT, 0, NULL);
  define("ChoosePriority");
  kernel("ChoosePriority", k1, 0, 0, 1, NULL);
  kernel("ChoosePriority", k2, TF_FLOAT, 0, 5, NULL);
  kernel("ChoosePriority", k3, TF_FLOAT, TF_FLOAT, 3, NULL);
  define("ChooseLabel");
  kernel("ChooseLabel", k1, 0, 0, 0, NULL);
  kernel("ChooseLabel", k2, 0, 0, 0, "fast");
  kernel("ChooseLabel", k3, TF_FLOAT, 0, 0, "exact");
  define("ChooseTwins");
  kernel("ChooseTwins", k4, TF_FLOAT, 0, 2, NULL);
  kernel("ChooseTwins", k5, 0, TF_FLOAT, 2, NULL);
  define("ChooseNone");
  TFE_Context *c = ec_ctx();
  TFE_TensorHandle *f = ec_f0(1), *i = ec_i0(1);
  static const char *const ops[] = {"ChooseTypes", "ChoosePriority", "ChooseLabel", "ChooseTwins",
                                    "ChooseNone"};
  for (int k = 0; k < 5; k++) {
    tr_case(ops[k]);
    for (int t = 0; t < 4; t++) eager(c, ops[k], t & 1 ? i : f, t & 2 ? i : f, NULL);
    for (int t = 0; t < 4; t++)
      session(ops[k], t & 1 ? tr_i32(1) : tr_f32(1), t & 2 ? tr_i32(1) : tr_f32(1), NULL);
  }
  tr_case("labels"); /* kernels of several labels are listed in hash order */
  ec_show_kernels = 0;
  static const char *const labels[] = {"", "fast", "exact", "none"};
  for (int k = 0; k < 4; k++) {
    eager(c, "ChooseLabel", f, f, labels[k]);
    eager(c, "ChooseLabel", i, f, labels[k]);
    if (k < 2) session("ChooseLabel", tr_i32(1), tr_f32(1), labels[k]);
  }
  TFE_DeleteTensorHandle(f);
  TFE_DeleteTensorHandle(i);
  TFE_DeleteContext(c);
  return ec_close();
}
