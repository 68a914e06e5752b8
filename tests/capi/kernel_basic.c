/* Custom kernels: registration, life cycle, selection, failures; run in a
   session, eagerly and inside functions. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static int creates, computes, deletes;

static void same_shape(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeHandle *h = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(c, 0, h, s);
  TF_ShapeInferenceContextSetOutput(c, 0, h, s);
  TF_DeleteShapeHandle(h);
}

static void *scale_create(TF_OpKernelConstruction *c) {
  TF_Status *s = TF_NewStatus();
  float *f = malloc(sizeof *f);
  *f = 0;
  TF_OpKernelConstruction_GetAttrFloat(c, "factor", f, s);
  creates++;
  TF_StringView n = TF_OpKernelConstruction_GetName(c);
  printf("  kernel create [%.*s] factor %g\n", (int)n.len, n.data, (double)*f);
  if (*f < 0) {
    TF_SetStatus(s, TF_INVALID_ARGUMENT, "factor must not be negative");
    TF_OpKernelConstruction_Failure(c, s);
  }
  TF_DeleteStatus(s);
  return f;
}

static void scale_compute(void *k, TF_OpKernelContext *c) {
  TF_Status *s = TF_NewStatus();
  TF_Tensor *x = NULL;
  computes++;
  TF_GetInput(c, 0, &x, s);
  if (*(float *)k > 1000) {
    TF_SetStatus(s, TF_OUT_OF_RANGE, "factor too large");
    TF_OpKernelContext_Failure(c, s);
  } else {
    int64_t d[8];
    for (int i = 0; i < TF_NumDims(x); i++) d[i] = TF_Dim(x, i);
    TF_Tensor *y = TF_AllocateOutput(c, 0, TF_FLOAT, d, TF_NumDims(x), TF_TensorByteSize(x), s);
    for (int64_t i = 0; i < TF_TensorElementCount(x); i++)
      ((float *)TF_TensorData(y))[i] = ((float *)TF_TensorData(x))[i] * *(float *)k;
    TF_DeleteTensor(y);
  }
  TF_DeleteTensor(x);
  TF_DeleteStatus(s);
}

static void scale_delete(void *k) {
  deletes++;
  free(k);
}

/* Kernels that say which of them ran. */
static void which(TF_OpKernelContext *c, int32_t id) {
  TF_Status *s = TF_NewStatus();
  TF_Tensor *y = TF_AllocateOutput(c, 0, TF_INT32, NULL, 0, 4, s);
  *(int32_t *)TF_TensorData(y) = id;
  TF_DeleteTensor(y);
  TF_DeleteStatus(s);
}
static void which1(void *k, TF_OpKernelContext *c) {
  (void)k;
  which(c, 1);
}
static void which2(void *k, TF_OpKernelContext *c) {
  (void)k;
  which(c, 2);
}
static void which3(void *k, TF_OpKernelContext *c) {
  (void)k;
  which(c, 3);
}
static void which4(void *k, TF_OpKernelContext *c) {
  (void)k;
  which(c, 4);
}
static void silent(void *k, TF_OpKernelContext *c) {
  (void)k;
  (void)c;
}

static void scalar_shape(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeHandle *h = TF_ShapeInferenceContextScalar(c);
  TF_ShapeInferenceContextSetOutput(c, 0, h, s);
  TF_DeleteShapeHandle(h);
}

static void def(const char *name, const char *a1, const char *in, const char *out,
                void (*fn)(TF_ShapeInferenceContext *, TF_Status *)) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  if (a1) TF_OpDefinitionBuilderAddAttr(b, a1);
  if (in) TF_OpDefinitionBuilderAddInput(b, in);
  if (out) TF_OpDefinitionBuilderAddOutput(b, out);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, fn);
  TF_RegisterOpDefinition(b, S);
  ec_must("op");
}

static TF_Operation *fin(TF_OperationDescription *d) {
  TF_Operation *o = TF_FinishOperation(d, S);
  ec_must("finish");
  return o;
}

static TF_Output konst(TF_Graph *g, const char *name, TF_DataType dt, TF_Tensor *t) {
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_SetAttrType(d, "dtype", dt);
  TF_SetAttrTensor(d, "value", t, S);
  TF_DeleteTensor(t);
  return (TF_Output){fin(d), 0};
}

static void run(TF_Session *s, TF_Operation *op) {
  TF_Output o = {op, 0};
  TF_Tensor *t = NULL;
  TF_SessionRun(s, NULL, NULL, NULL, 0, &o, &t, 1, NULL, 0, NULL, S);
  char label[80];
  snprintf(label, sizeof label, "run %s", TF_OperationName(op));
  if (ec_st(label)) tr_show_free("  value", t);
}

static void registration(void) {
  tr_case("register");
  def("FerryScale", "factor: float = 2", "x: float", "y: float", same_shape);
  TF_KernelBuilder *b =
      TF_NewKernelBuilder("FerryScale", "CPU", scale_create, scale_compute, scale_delete);
  TF_RegisterKernelBuilder("FerryScaleKernel", b, S);
  ec_st("register");
  TF_Buffer *kb = TF_GetRegisteredKernelsForOp("FerryScale", S);
  ec_st("kernels for op");
  tr_dump_buffer("KernelList", kb);
  TF_DeleteBuffer(kb);
  kb = TF_GetRegisteredKernelsForOp("FerryNoSuchOp", S);
  ec_st("kernels for an unknown op");
  if (kb) {
    printf("length %zu\n", kb->length);
    TF_DeleteBuffer(kb);
  }

  tr_case("type constraints, priority, host memory, label");
  def("FerryWhich", "T: type", "x: T", "y: int32", scalar_shape);
  b = TF_NewKernelBuilder("FerryWhich", "CPU", NULL, which1, NULL);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_FLOAT, S);
  ec_st("constraint float");
  TF_RegisterKernelBuilder("W1", b, S);
  ec_st("register");
  b = TF_NewKernelBuilder("FerryWhich", "CPU", NULL, which2, NULL);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_INT32, S);
  TF_KernelBuilder_HostMemory(b, "x");
  TF_RegisterKernelBuilder("W2", b, S);
  ec_st("register");
  b = TF_NewKernelBuilder("FerryWhich", "CPU", NULL, which3, NULL);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_INT32, S);
  TF_KernelBuilder_Priority(b, 5);
  TF_RegisterKernelBuilder("W3", b, S);
  ec_st("register");
  kb = TF_GetRegisteredKernelsForOp("FerryWhich", S);
  tr_dump_buffer("KernelList", kb);
  TF_DeleteBuffer(kb);
  def("FerryLabel", "T: type", "x: T", "y: int32", scalar_shape);
  b = TF_NewKernelBuilder("FerryLabel", "CPU", NULL, which4, NULL);
  TF_KernelBuilder_TypeConstraint(b, "T", TF_INT32, S);
  TF_KernelBuilder_Label(b, "special");
  TF_RegisterKernelBuilder("W4", b, S);
  ec_st("register");
  kb = TF_GetRegisteredKernelsForOp("FerryLabel", S);
  tr_dump_buffer("KernelList", kb);
  TF_DeleteBuffer(kb);

  tr_case("builders that go wrong");
  b = TF_NewKernelBuilder("FerryWhich", "CPU", NULL, which1, NULL);
  TF_KernelBuilder_TypeConstraint(b, "U", TF_FLOAT, S);
  ec_st("constraint on an attr the op lacks");
  TF_DeleteKernelBuilder(b);
  b = TF_NewKernelBuilder("FerryLater", "CPU", NULL, silent, NULL);
  TF_RegisterKernelBuilder("Later", b, S);
  ec_st("kernel before its op");
}

static void session(void) {
  tr_case("session: create, compute, delete");
  TF_Graph *g = TF_NewGraph();
  float v[2] = {1, 2};
  TF_Output x = konst(g, "x", TF_FLOAT, tr_vec(TF_FLOAT, 2, v));
  TF_OperationDescription *d = TF_NewOperation(g, "FerryScale", "scale");
  TF_AddInput(d, x);
  TF_SetAttrFloat(d, "factor", 10);
  TF_Operation *op = fin(d);
  d = TF_NewOperation(g, "FerryScale", "negative");
  TF_AddInput(d, x);
  TF_SetAttrFloat(d, "factor", -1);
  TF_Operation *neg = fin(d);
  d = TF_NewOperation(g, "FerryScale", "large");
  TF_AddInput(d, x);
  TF_SetAttrFloat(d, "factor", 2000);
  TF_Operation *big = fin(d);
  /* constant folding off: kernels run exactly when the graph says so */
  tr_pb cfg = {0}, go = {0}, ro = {0}, oo = {0};
  tr_pb_int(&ro, 19, 1); /* RewriterConfig.disable_meta_optimizer */
  tr_pb_int(&oo, 3, -1); /* OptimizerOptions.opt_level L0 */
  tr_pb_msg(&go, 3, &oo);
  tr_pb_msg(&go, 10, &ro);
  tr_pb_msg(&cfg, 10, &go);
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_SetConfig(so, cfg.data, cfg.len, S);
  ec_must("config");
  tr_pb_free(&cfg);
  TF_Session *s = TF_NewSession(g, so, S);
  ec_must("session");
  creates = computes = deletes = 0;
  run(s, op);
  run(s, op);
  printf("creates %d computes %d deletes %d\n", creates, computes, deletes);
  tr_case("session: failing kernels");
  run(s, neg);
  run(s, big);
  run(s, op);
  TF_CloseSession(s, S);
  TF_DeleteSession(s, S);
  ec_must("close");
  printf("all deleted %d\n", creates == deletes);

  tr_case("session: kernels by type, priority and label");
  TF_DeleteGraph(g);
  static const struct {
    const char *op, *node;
    TF_DataType dt;
    const char *label;
  } q[] = {{"FerryWhich", "of_float", TF_FLOAT, NULL},
           {"FerryWhich", "of_int32", TF_INT32, NULL},
           {"FerryWhich", "of_int64", TF_INT64, NULL},
           {"FerryLabel", "labelled", TF_INT32, "special"},
           {"FerryLabel", "wrong_label", TF_INT32, "other"},
           {"FerryLabel", "no_label", TF_INT32, NULL},
           {"FerryLabel", "label_type", TF_FLOAT, "special"}};
  int64_t zero = 0;
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) {
    g = TF_NewGraph();
    s = TF_NewSession(g, so, S);
    TF_Output in = konst(g, "in", q[i].dt, tr_tensor(q[i].dt, NULL, 0, &zero));
    d = TF_NewOperation(g, q[i].op, q[i].node);
    TF_AddInput(d, in);
    if (q[i].label) TF_SetAttrString(d, "_kernel", q[i].label, strlen(q[i].label));
    run(s, fin(d));
    TF_DeleteSession(s, S);
    TF_DeleteGraph(g);
  }
  TF_DeleteSessionOptions(so);
}

static void eager(void) {
  tr_case("eager");
  TFE_Context *c = ec_ctx();
  TFE_TensorHandle *x = ec_f1(2, (float[]){1, 2});
  creates = computes = deletes = 0;
  static const float fs[] = {3, 3, 4, -1, 2000};
  for (int i = 0; i < 5; i++) {
    TFE_Op *op = ec_op(c, "FerryScale");
    ec_in(op, x);
    TFE_OpSetAttrFloat(op, "factor", fs[i]);
    ec_exec("FerryScale", op, 1);
  }
  TFE_Op *op = ec_op(c, "FerryScale");
  ec_in(op, x);
  ec_exec("FerryScale default", op, 1);
  printf("creates %d computes %d deletes %d\n", creates, computes, deletes);
  TFE_ContextClearCaches(c);
  printf("after clearing caches: creates %d deletes %d\n", creates, deletes);

  tr_case("eager: kernels by type");
  TFE_TensorHandle *i = ec_i0(1);
  TFE_TensorHandle *b = ec_b0(1);
  ec_run(c, "FerryWhich", x, NULL, NULL);
  ec_run(c, "FerryWhich", i, NULL, NULL);
  ec_run(c, "FerryWhich", b, NULL, NULL);
  op = ec_op(c, "FerryWhich");
  ec_in(op, x);
  TFE_OpSetDevice(op, "/device:GPU:0", S);
  ec_exec("FerryWhich on a GPU", op, 1);

  tr_case("eager: kernel that sets no output");
  def("FerryLater", NULL, "x: float", "y: float", same_shape);
  op = ec_op(c, "FerryLater");
  ec_in(op, x);
  TFE_TensorHandle *r[1] = {0};
  int n = 1;
  TFE_Execute(op, r, &n, S);
  ec_st("FerryLater");
  printf("outputs %d\n", n);
  TFE_DeleteTensorHandle(r[0]);
  TFE_DeleteOp(op);

  tr_case("inside a function");
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output in = {fin(d), 0};
  d = TF_NewOperation(g, "FerryScale", "inner");
  TF_AddInput(d, in);
  TF_SetAttrFloat(d, "factor", 5);
  TF_Output mid = {fin(d), 0};
  TF_Function *f =
      TF_GraphToFunction(g, "scaled", 0, -1, NULL, 1, &in, 1, &mid, NULL, NULL, NULL, S);
  ec_must("function");
  TFE_ContextAddFunction(c, f, S);
  TF_DeleteFunction(f);
  d = TF_NewOperation(g, "FerryScale", "broken");
  TF_AddInput(d, mid);
  TF_SetAttrFloat(d, "factor", 5000);
  TF_Output last = {fin(d), 0};
  f = TF_GraphToFunction(g, "failing", 0, -1, NULL, 1, &in, 1, &last, NULL, NULL, NULL, S);
  ec_must("function");
  TFE_ContextAddFunction(c, f, S);
  TF_DeleteFunction(f);
  ec_run(c, "scaled", x, NULL, NULL);
  ec_run(c, "failing", x, NULL, NULL);
  TF_DeleteGraph(g);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(i);
  TFE_DeleteTensorHandle(b);
  TFE_DeleteContext(c);
  printf("all deleted %d\n", creates == deletes);
}

int main(void) {
  ec_open();
  ec_show_kernels = 1;
  registration();
  session();
  eager();
  return ec_close();
}
