/* What a kernel may ask and do while it runs. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static TF_Status *K;
static int kst(const char *label) {
  int ok = TF_GetCode(K) == TF_OK;
  printf("  k ");
  ec_pst(label, K);
  TF_SetStatus(K, TF_OK, "");
  return ok;
}

static int64_t last_step = -1;

static void info(TF_OpKernelContext *c) {
  printf("  k inputs %d outputs %d\n", TF_NumInputs(c), TF_NumOutputs(c));
  for (int i = 0; i < TF_NumInputs(c); i++)
    printf("  k input %d %s\n", i, tr_dtype_name((int)TF_InputDatatype(c, i)));
  for (int i = 0; i < TF_NumOutputs(c); i++)
    printf("  k output %d expects %s\n", i, tr_dtype_name((int)TF_ExpectedOutputDataType(c, i)));
  int64_t step = TF_StepId(c);
  printf("  k step moved %d same as GetStepId %d\n", step != last_step, step == TF_GetStepId(c));
  last_step = step;
  printf("  k frame %" PRIu64 " iter %" PRId64 "\n", TF_GetFrameId(c), TF_GetIterId(c));
  TF_StringView v = TF_GetOpKernelName(c);
  printf("  k kernel name %.*s\n", (int)v.len, v.data);
  v = TF_GetDeviceName(c);
  printf("  k device %.*s\n", (int)v.len, v.data);
  v = TF_GetResourceMgrDefaultContainerName(c);
  printf("  k container %.*s\n", (int)v.len, v.data);
  printf("  k graph def version %d\n", TF_GetGraphDefVersion(c));
  printf("  k host input %d", TF_IsHostMemoryInput(c, 0, K));
  kst(", status");
  printf("  k host output %d", TF_IsHostMemoryOutput(c, 0, K));
  kst(", status");
  TF_IsHostMemoryInput(c, 9, K);
  kst("host input 9");
  TF_IsHostMemoryOutput(c, 9, K);
  kst("host output 9");
  TF_InputRange_Args a = {TF_InputRange_Args_STRUCT_SIZE, NULL, -9, -9, K};
  TF_InputRange(c, "list", &a);
  printf("  k range list %d..%d\n", a.start, a.stop);
  kst("range list");
  a.start = a.stop = -9;
  TF_InputRange(c, "nope", &a);
  kst("range nope");
}

static void compute(void *k, TF_OpKernelContext *c) {
  (void)k;
  K = TF_NewStatus();
  info(c);
  TF_Tensor *x = NULL;
  TF_GetInput(c, 0, &x, K);
  if (kst("GetInput 0")) tr_show("  k x", x);
  TF_Tensor *bad = NULL;
  TF_GetInput(c, 9, &bad, K);
  kst("GetInput 9");
  TF_GetInput(c, -1, &bad, K);
  kst("GetInput -1");

  /* output 0: SetOutput of the input itself */
  TF_SetOutput(c, 0, x, K);
  kst("SetOutput 0");
  TF_SetOutput(c, 9, x, K);
  kst("SetOutput 9");

  /* output 1: allocated */
  int64_t d2[2] = {2, 1};
  TF_Tensor *o = TF_AllocateOutput(c, 1, TF_INT32, d2, 2, 8, K);
  if (kst("AllocateOutput 1")) {
    printf("  k %s dims %d bytes %zu\n", tr_dtype_name((int)TF_TensorType(o)), TF_NumDims(o),
           TF_TensorByteSize(o));
    ((int32_t *)TF_TensorData(o))[0] = 11;
    ((int32_t *)TF_TensorData(o))[1] = 22;
  }
  if (o) TF_DeleteTensor(o);

  /* output 2: forwarded when possible */
  int cand[1] = {0}, fwd = -9;
  int64_t d1[1] = {TF_NumDims(x) == 1 ? TF_Dim(x, 0) : 1};
  o = TF_ForwardInputOrAllocateOutput(c, cand, 1, 2, d1, 1, &fwd, K);
  if (kst("ForwardInputOrAllocateOutput 2")) {
    printf("  k forwarded %d shares %d\n", fwd, TF_TensorData(o) == TF_TensorData(x));
    for (int64_t i = 0; i < TF_TensorElementCount(o); i++) ((float *)TF_TensorData(o))[i] = 5;
  }
  if (o) TF_DeleteTensor(o);

  TF_AllocatorAttributes at;
  memset(&at, 0, sizeof at);
  at.struct_size = TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE;
  at.on_host = 1;
  TF_Tensor *t = TF_AllocateTemp(c, TF_DOUBLE, d2, 2, &at, K);
  if (kst("AllocateTemp")) {
    printf("  k temp %s bytes %zu\n", tr_dtype_name((int)TF_TensorType(t)), TF_TensorByteSize(t));
    TF_DeleteTensor(t);
  }
  at.struct_size = 0;
  t = TF_AllocateTemp(c, TF_DOUBLE, d2, 2, &at, K);
  kst("AllocateTemp with struct_size 0");
  if (t) TF_DeleteTensor(t);
  TF_DeleteTensor(x);
  TF_DeleteStatus(K);
}

static void wrong(void *k, TF_OpKernelContext *c) {
  (void)k;
  K = TF_NewStatus();
  TF_Tensor *x = NULL;
  TF_GetInput(c, 0, &x, K);
  int32_t mode = *(int32_t *)TF_TensorData(x);
  int64_t d1[1] = {2};
  printf("  k mode %d\n", mode);
  if (mode == 0) {        /* leave the output unset */
  } else if (mode == 1) { /* dtype that the op does not declare */
    TF_Tensor *o = TF_AllocateOutput(c, 0, TF_FLOAT, d1, 1, 8, K);
    kst("AllocateOutput of another dtype");
    if (o) TF_DeleteTensor(o);
  } else if (mode == 2) { /* output that is not there */
    TF_Tensor *o = TF_AllocateOutput(c, 4, TF_INT32, d1, 1, 8, K);
    kst("AllocateOutput 4");
    if (o) TF_DeleteTensor(o);
  } else if (mode == 3) {
    TF_SetStatus(K, TF_DATA_LOSS, "first");
    TF_OpKernelContext_Failure(c, K);
    TF_SetStatus(K, TF_ABORTED, "second");
    TF_OpKernelContext_Failure(c, K);
  } else if (mode == 4) { /* an OK status is no failure */
    TF_SetOutput(c, 0, x, K);
    TF_SetStatus(K, TF_OK, "");
  } else if (mode == 5) { /* failure after the output */
    TF_SetOutput(c, 0, x, K);
    TF_SetStatus(K, TF_UNKNOWN, "");
    TF_OpKernelContext_Failure(c, K);
  }
  TF_DeleteTensor(x);
  TF_DeleteStatus(K);
}

static void async(void *k, TF_OpKernelContext *c, TF_AsyncOpKernelDoneCallback *done) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_Tensor *x = NULL;
  TF_GetInput(c, 0, &x, s);
  if (*(int32_t *)TF_TensorData(x) < 0) {
    TF_SetStatus(s, TF_UNAVAILABLE, "async failure");
    TF_OpKernelContext_Failure(c, s);
  } else {
    TF_SetOutput(c, 0, x, s);
  }
  TF_DeleteTensor(x);
  TF_DeleteStatus(s);
  TF_RunAsyncOpKernelDoneCallback(done);
}

/* Adds 1 in place when it may. */
static void forward(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  int cand[1] = {0}, fwd = -9;
  int64_t d[1] = {2};
  TF_Tensor *o = TF_ForwardInputOrAllocateOutput(c, cand, 1, 0, d, 1, &fwd, s);
  ec_pst("  k forward", s);
  printf("  k forwarded %d\n", fwd);
  TF_Tensor *x = NULL;
  TF_GetInput(c, 0, &x, s);
  printf("  k input after forwarding: %s\n", TF_GetCode(s) == TF_OK ? "OK" : TF_Message(s));
  if (x) TF_DeleteTensor(x);
  if (fwd == 0)
    for (int i = 0; i < 2; i++) ((float *)TF_TensorData(o))[i] += 1;
  else
    for (int i = 0; i < 2; i++) ((float *)TF_TensorData(o))[i] = -1;
  TF_DeleteTensor(o);
  TF_DeleteStatus(s);
}

static void unknown(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeInferenceContextSetUnknownShape(c, s);
}

static void reg(const char *op, TF_KernelBuilder *b) {
  TF_RegisterKernelBuilder(op, b, S);
  ec_must("kernel");
}

int main(void) {
  ec_open();
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder("FerryCtx");
  TF_OpDefinitionBuilderAddAttr(b, "N: int >= 1");
  TF_OpDefinitionBuilderAddInput(b, "x: float");
  TF_OpDefinitionBuilderAddInput(b, "list: N * int32");
  TF_OpDefinitionBuilderAddOutput(b, "same: float");
  TF_OpDefinitionBuilderAddOutput(b, "made: int32");
  TF_OpDefinitionBuilderAddOutput(b, "forwarded: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, unknown);
  TF_RegisterOpDefinition(b, S);
  ec_must("op");
  reg("FerryCtx", TF_NewKernelBuilder("FerryCtx", "CPU", NULL, compute, NULL));
  static const char *const names[] = {"FerryWrong", "FerryAsync"};
  for (int i = 0; i < 2; i++) {
    b = TF_NewOpDefinitionBuilder(names[i]);
    TF_OpDefinitionBuilderAddInput(b, "x: int32");
    TF_OpDefinitionBuilderAddOutput(b, "y: int32");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(b, unknown);
    TF_RegisterOpDefinition(b, S);
    ec_must("op");
  }
  reg("FerryWrong", TF_NewKernelBuilder("FerryWrong", "CPU", NULL, wrong, NULL));
  reg("FerryAsync", TF_NewAsyncKernelBuilder("FerryAsync", "CPU", NULL, async, NULL));

  b = TF_NewOpDefinitionBuilder("FerryForward");
  TF_OpDefinitionBuilderAddInput(b, "x: float");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, unknown);
  TF_RegisterOpDefinition(b, S);
  ec_must("op");
  reg("FerryForward", TF_NewKernelBuilder("FerryForward", "CPU", NULL, forward, NULL));

  TFE_Context *c = ec_ctx();
  for (int round = 0; round < 2; round++) {
    tr_case(round ? "eager, again" : "eager");
    TFE_Op *op = ec_op(c, "FerryCtx");
    TFE_TensorHandle *x = ec_f1(2, (float[]){1, 2});
    TFE_TensorHandle *i = ec_i0(3);
    TFE_TensorHandle *l[2] = {i, i};
    ec_in(op, x);
    TFE_OpAddInputList(op, l, 2, S);
    ec_must("list");
    ec_exec("FerryCtx", op, 3);
    ec_handle("input afterwards", x);
    TFE_DeleteTensorHandle(x);
    TFE_DeleteTensorHandle(i);
  }

  tr_case("session");
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "px");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output px = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "Placeholder", "pi");
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Output pi = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "FerryCtx", "ctx");
  TF_AddInput(d, px);
  TF_AddInputList(d, &pi, 1);
  TF_Operation *op = TF_FinishOperation(d, S);
  ec_must("ctx");
  d = TF_NewOperation(g, "FerryWrong", "wrong");
  TF_AddInput(d, pi);
  TF_Output w = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "FerryAsync", "async");
  TF_AddInput(d, pi);
  TF_Output as = {TF_FinishOperation(d, S), 0};
  ec_must("graph");
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, so, S);
  TF_Output in[2] = {px, pi}, out[3] = {{op, 0}, {op, 1}, {op, 2}};
  TF_Tensor *iv[2] = {tr_vec(TF_FLOAT, 2, (float[]){7, 8}), tr_i32(9)};
  TF_Tensor *ov[3] = {0};
  TF_SessionRun(s, NULL, in, iv, 2, out, ov, 3, NULL, 0, NULL, S);
  if (ec_st("run"))
    for (int i = 0; i < 3; i++) tr_show_free("value", ov[i]);
  for (int i = 0; i < 2; i++) TF_DeleteTensor(iv[i]);

  tr_case("forwarding");
  d = TF_NewOperation(g, "Neg", "neg");
  TF_AddInput(d, px);
  TF_Output neg = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "FerryForward", "fwd");
  TF_AddInput(d, neg);
  TF_Output fo[2] = {{TF_FinishOperation(d, S), 0}, neg};
  ec_must("graph");
  for (int both = 0; both < 2; both++) {
    TF_Tensor *t = tr_vec(TF_FLOAT, 2, (float[]){7, 8});
    TF_Tensor *y[2] = {0};
    TF_SessionRun(s, NULL, &px, &t, 1, fo, y, 1 + both, NULL, 0, NULL, S);
    if (ec_st(both ? "input also fetched" : "sole consumer"))
      for (int i = 0; i <= both; i++) tr_show_free("  value", y[i]);
    TF_DeleteTensor(t);
  }
  TFE_TensorHandle *fx = ec_f1(2, (float[]){1, 2});
  ec_run(c, "FerryForward", fx, NULL, NULL);
  ec_handle("eager input", fx);
  TFE_DeleteTensorHandle(fx);

  tr_case("session: failures");
  static const int modes[] = {0, 2, 3, 4, 5};
  for (int m = 0; m < 5; m++) {
    TF_Tensor *t = tr_i32(modes[m]);
    TF_Tensor *y = NULL;
    TF_SessionRun(s, NULL, &pi, &t, 1, &w, &y, 1, NULL, 0, NULL, S);
    if (ec_st("wrong")) tr_show_free("  value", y);
    TF_DeleteTensor(t);
  }
  tr_case("eager: failures");
  for (int m = 1; m < 5; m++) {
    TFE_TensorHandle *x = ec_i0(modes[m]);
    ec_run(c, "FerryWrong", x, NULL, NULL);
    TFE_DeleteTensorHandle(x);
  }

  tr_case("async kernel");
  for (int v = 1; v >= -1; v -= 2) {
    TF_Tensor *t = tr_i32(v);
    TF_Tensor *y = NULL;
    TF_SessionRun(s, NULL, &pi, &t, 1, &as, &y, 1, NULL, 0, NULL, S);
    if (ec_st("session")) tr_show_free("  value", y);
    TF_DeleteTensor(t);
    TFE_TensorHandle *x = ec_i0(v);
    ec_run(c, "FerryAsync", x, NULL, NULL);
    TFE_DeleteTensorHandle(x);
  }
  TF_DeleteSession(s, S);
  TF_DeleteSessionOptions(so);
  TF_DeleteGraph(g);
  TFE_DeleteContext(c);
  return ec_close();
}
