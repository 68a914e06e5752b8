/* What kernels.h offers that no other transcript calls: config, function library, requested inputs, mutable
   outputs, deferred ops, resources as protos, kernels registered from a KernelDef, names and devices. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/kernels_experimental.h"
#include "tensorflow/c/ops.h"

static TF_Status *K;
static int kst(const char *label) {
  int ok = TF_GetCode(K) == TF_OK;
  printf("  k ");
  ec_pst(label, K);
  TF_SetStatus(K, TF_OK, "");
  return ok;
}

static int eager = 1; /* in a graph the names of inputs are TensorFlow's inner ones */
static void look(void *k, TF_OpKernelContext *c) {
  (void)k;
  K = TF_NewStatus();
  TF_Buffer *b = TF_NewBuffer();
  TF_GetSerializedConfigProto(c, b, K);
  kst("config");
  TF_DeleteBuffer(b);
  b = TF_NewBuffer();
  TF_GetSerializedFunctionDefLibrary(c, b, K);
  kst("library");
  TF_DeleteBuffer(b);
  printf("  k device id %d\n", TF_GetDeviceId(c));
  TF_StringView v = TF_GetOpKernelName(c);
  printf("  k name %.*s\n", (int)v.len, v.data);
  for (size_t i = 0; eager && i < 2; i++) {
    v = TF_GetOpKernelRequestedInput(c, i);
    printf("  k requested %zu %.*s\n", i, (int)v.len, v.data);
  }
  TF_IncNumDeferredOps(c);
  TF_DecNumDeferredOps(c);
  int64_t d[1] = {2};
  TF_Tensor *o = TF_AllocateOutput(c, 0, TF_FLOAT, d, 1, 8, K);
  kst("allocate");
  ((float *)TF_TensorData(o))[0] = 1;
  ((float *)TF_TensorData(o))[1] = 2;
  TF_Tensor *m = TF_GetMutableOutput(c, 0, K);
  printf("  k output after %d shares %d", m != NULL, m && TF_TensorData(m) == TF_TensorData(o));
  kst(", status");
  if (m) {
    ((float *)TF_TensorData(m))[1] = 5;
    TF_DeleteTensor(m);
  }
  m = TF_GetMutableOutput(c, 7, K);
  kst("output 7");
  if (m) TF_DeleteTensor(m);
  TF_DeleteTensor(o);
  TF_DeleteStatus(K);
}

static void *made_state;
static void *create(TF_OpKernelConstruction *c) {
  TF_StringView v = TF_OpKernelConstruction_GetName(c);
  printf("  k create %.*s\n", (int)v.len, v.data);
  made_state = malloc(4);
  return made_state;
}
static void destroy(void *k) {
  printf("  k destroy same %d\n", k == made_state);
  free(k);
}
static void five(void *k, TF_OpKernelContext *c) {
  printf("  k state same %d\n", k == made_state);
  TF_Status *s = TF_NewStatus();
  TF_Tensor *o = TF_AllocateOutput(c, 0, TF_INT32, NULL, 0, 4, s);
  *(int32_t *)TF_TensorData(o) = 5;
  TF_DeleteTensor(o);
  TF_DeleteStatus(s);
}

static void unknown(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeInferenceContextSetUnknownShape(c, s);
}

static void define(const char *name, const char *attr, const char *in, const char *in2,
                   const char *out) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  if (attr) TF_OpDefinitionBuilderAddAttr(b, attr);
  if (in) TF_OpDefinitionBuilderAddInput(b, in);
  if (in2) TF_OpDefinitionBuilderAddInput(b, in2);
  TF_OpDefinitionBuilderAddOutput(b, out);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, unknown);
  TF_RegisterOpDefinition(b, S);
  ec_must(name);
}

int main(void) {
  ec_open();
  define("MoreLook", NULL, "x: float", "y: int32", "z: float");
  define("MoreFive", "T: {int32, float, int64}", "x: T", NULL, "y: int32");
  TF_KernelBuilder *b = TF_NewKernelBuilder("MoreLook", "CPU", NULL, look, NULL);
  TF_KernelBuilder_HostMemory(b, "y");
  TF_KernelBuilder_Priority(b, 3);
  TF_RegisterKernelBuilder("MoreLookKernel", b, S);
  ec_must("kernel");

  TFE_Context *c = ec_ctx();
  tr_case("eager");
  TFE_TensorHandle *x = ec_f1(2, (float[]){1, 2}), *i = ec_i0(3);
  ec_run(c, "MoreLook", x, i, NULL);
  tr_case("session");
  eager = 0;
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "px");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output px = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "Placeholder", "pi");
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Output pi = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "MoreLook", "scope/look");
  TF_AddInput(d, px);
  TF_AddInput(d, pi);
  TF_Output out = {TF_FinishOperation(d, S), 0};
  ec_must("look");
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, so, S);
  TF_Output in[2] = {px, pi};
  TF_Tensor *iv[2] = {tr_vec(TF_FLOAT, 2, (float[]){7, 8}), tr_i32(9)}, *ov[1] = {0};
  TF_SessionRun(s, NULL, in, iv, 2, &out, ov, 1, NULL, 0, NULL, S);
  if (ec_st("run")) tr_show_free("value", ov[0]);
  for (int k = 0; k < 2; k++) TF_DeleteTensor(iv[k]);
  TF_DeleteSession(s, S);
  TF_DeleteSessionOptions(so);
  TF_DeleteGraph(g);

  tr_case("a kernel for some types");
  b = TF_NewKernelBuilder("MoreFive", "CPU", create, five, destroy);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_INT32, S);
  ec_st("constraint");
  TF_KernelBuilder_TypeConstraint(b, "T", TF_INT32, S);
  ec_st("the same again");
  TF_KernelBuilder_Label(b, "");
  TF_RegisterKernelBuilder("five", b, S);
  ec_st("register");
  ec_run(c, "MoreFive", i, NULL, NULL);
  ec_run(c, "MoreFive", i, NULL, NULL);
  ec_show_kernels = 1;
  ec_run(c, "MoreFive", x, NULL, NULL);
  ec_show_kernels = 0;
  tr_case("the list of kernels");
  TF_Buffer *list = TF_GetRegisteredKernelsForOp("MoreFive", S);
  if (ec_st("five")) ec_buf("kernels", list);
  if (list) TF_DeleteBuffer(list);
  list = TF_GetRegisteredKernelsForOp("MoreLook", S);
  if (ec_st("look")) ec_buf("kernels", list);
  if (list) TF_DeleteBuffer(list);
  list = TF_GetRegisteredKernelsForOp("", S);
  if (ec_st("empty name")) ec_buf("kernels", list);
  if (list) TF_DeleteBuffer(list);
  tr_case("a kernel from a KernelDef");
  define("MoreDef", NULL, "x: int32", NULL, "y: int32");
  b = TF_NewKernelBuilder("MoreDef", "CPU", create, five, destroy);
  TF_RegisterKernelBuilderWithKernelDef(
      "\x0a\x07MoreDef\x12\x03"
      "CPU",
      "moredef", b, S);
  ec_st("binary is no text");
  b = TF_NewKernelBuilder("MoreDef", "CPU", create, five, destroy);
  TF_RegisterKernelBuilderWithKernelDef("op: \"MoreDef\" device_type: \"CPU\"", "moredef", b, S);
  ec_st("text");
  list = TF_GetRegisteredKernelsForOp("MoreDef", S);
  if (ec_st("def")) ec_buf("kernels", list);
  if (list) TF_DeleteBuffer(list);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(i);
  tr_case("the context goes");
  TFE_DeleteContext(c);
  return ec_close();
}
