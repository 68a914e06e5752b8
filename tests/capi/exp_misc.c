/* Experimental helpers: config builders, debug strings, attr builders, ... */
#include "eager_common.h"

static void configs(void) {
  for (int k = 0; k < 5; k++) {
    static const unsigned char xla[] = {0, 1, 0, 0, 1};
    static const unsigned char grow[] = {0, 0, 1, 0, 1};
    static const unsigned cpus[] = {1, 1, 1, 4, 0};
    char label[64];
    snprintf(label, sizeof label, "create config %d %d %u", xla[k], grow[k], cpus[k]);
    tr_case(label);
    TF_Buffer *b = TF_CreateConfig(xla[k], grow[k], cpus[k]);
    ec_buf("config", b);
    TF_SessionOptions *o = TF_NewSessionOptions();
    TF_SetConfig(o, b->data, b->length, S);
    ec_st("SetConfig");
    TF_DeleteSessionOptions(o);
    TF_DeleteBuffer(b);
  }
  tr_case("create run options");
  for (unsigned char k = 0; k < 2; k++) {
    TF_Buffer *b = TF_CreateRunOptions(k);
    ec_buf("run options", b);
    TF_DeleteBuffer(b);
  }
  tr_case("make internal error status");
  TF_MakeInternalErrorStatus(S, "something went wrong");
  ec_st("status");
  tr_case("unused port");
  int port = TF_PickUnusedPortOrDie();
  printf("in range %d\n", port > 0 && port < 65536);
  tr_case("server def text");
  TF_Buffer *b = TFE_GetServerDef("job_name: \"worker\" task_index: 1 protocol: \"grpc\"", S);
  ec_st("good");
  if (b) {
    ec_buf("server def", b);
    TF_DeleteBuffer(b);
  }
  b = TFE_GetServerDef("nonsense {", S);
  ec_st("bad");
  printf("buffer %s\n", b ? "not null" : "null");
}

static void debug_strings(void) {
  tr_case("graph debug string");
  TF_Graph *g = TF_NewGraph();
  size_t len = 0;
  const char *s = TF_GraphDebugString(g, &len);
  printf("empty graph: length ok %d\n", strlen(s) == len);
  ec_text(s);
  printf("\n");
  free((void *)s);
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", (int64_t[]){-1, 3}, 2);
  TF_Output x = {TF_FinishOperation(d, S), 0};
  ec_must("x");
  d = TF_NewOperation(g, "Neg", "n");
  TF_AddInput(d, x);
  TF_SetDevice(d, "/device:CPU:0");
  TF_Output y = {TF_FinishOperation(d, S), 0};
  ec_must("n");
  s = TF_GraphDebugString(g, &len);
  ec_text(s);
  printf("\n");
  free((void *)s);
  tr_case("function debug string");
  TF_Function *f =
      TF_GraphToFunction(g, "F", 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, "a description", S);
  ec_st("GraphToFunction");
  char *fs = TF_FunctionDebugString(f, &len);
  printf("length ok %d\n", strlen(fs) == len);
  ec_text(fs);
  printf("\n");
  free(fs);
  tr_case("graph remove function");
  TF_GraphCopyFunction(g, f, NULL, S);
  printf("functions %d\n", TF_GraphNumFunctions(g));
  TF_GraphRemoveFunction(g, "F", S);
  ec_st("remove");
  printf("functions %d\n", TF_GraphNumFunctions(g));
  TF_GraphRemoveFunction(g, "F", S);
  ec_st("remove again");
  TF_DeleteFunction(f);
  TF_DeleteGraph(g);
}

static void attr_builders(void) {
  tr_case("attr builder");
  static const struct {
    const char *op;
    const char *attr;
    TF_DataType dt;
    const char *dev;
  } q[] = {{"MatMul", "T", TF_FLOAT, "CPU"},   {"MatMul", "T", TF_INT8, "CPU"},
           {"MatMul", "T", TF_FLOAT, "GPU"},   {"MatMul", "T", TF_FLOAT, "XYZ"},
           {"NoSuchOp", "T", TF_FLOAT, "CPU"}, {"Identity", "T", TF_STRING, "CPU"}};
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) {
    TF_AttrBuilder *b = TF_NewAttrBuilder(q[i].op);
    TF_AttrBuilderSetType(b, q[i].attr, q[i].dt);
    TF_AttrBuilderCheckCanRunOnDevice(b, q[i].dev, S);
    printf("%s %s on %s ", q[i].op, tr_dtype_name((int)q[i].dt), q[i].dev);
    ec_st("check");
    TF_DeleteAttrBuilder(b);
  }
  TF_AttrBuilder *b = TF_NewAttrBuilder("IdentityN");
  TF_AttrBuilderSetTypeList(b, "T", (TF_DataType[]){TF_FLOAT, TF_STRING}, 2);
  TF_AttrBuilderCheckCanRunOnDevice(b, "CPU", S);
  ec_st("IdentityN list");
  TF_DeleteAttrBuilder(b);

  tr_case("number attr of a list input");
  static const struct {
    const char *op;
    int i;
  } n[] = {{"ConcatV2", 0}, {"ConcatV2", 1}, {"Pack", 0},     {"IdentityN", 0}, {"Neg", 0},
           {"Neg", 1},      {"Neg", -1},     {"NoSuchOp", 0}, {"AddN", 0}};
  for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
    const char *r = TF_GetNumberAttrForOpListInput(n[i].op, n[i].i, S);
    printf("%s %d -> %s ", n[i].op, n[i].i, r ? r : "null");
    ec_st("get");
  }

  tr_case("stateful ops");
  static const char *const ops[] = {
      "Neg",         "RandomUniform",           "VarHandleOp", "Const", "ReadVariableOp", "If",
      "StatelessIf", "StatefulPartitionedCall", "NoSuchOp",    "Print"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    int r = TF_OpIsStateful(ops[i], S);
    printf("%s %d ", ops[i], r);
    ec_st("get");
  }
}

static void names_and_metadata(void) {
  tr_case("executed op names and run metadata");
  TFE_Context *c = ec_ctx();
  TF_Buffer *b = TF_NewBuffer();
  TFE_GetExecutedOpNames(c, b, S);
  ec_st("names");
  printf("length %zu\n", b->length);
  TF_DeleteBuffer(b);
  TFE_TensorHandle *x = ec_f0(2);
  ec_run(c, "Neg", x, NULL, NULL);
  b = TF_NewBuffer();
  TFE_GetExecutedOpNames(c, b, S);
  ec_st("names");
  printf("[%.*s]\n", (int)b->length, (const char *)b->data);
  TF_DeleteBuffer(b);
  b = TF_NewBuffer();
  TFE_ContextExportRunMetadata(c, b, S);
  ec_st("export without enable");
  printf("length %zu\n", b->length);
  TF_DeleteBuffer(b);
  TFE_ContextEnableRunMetadata(c);
  ec_run(c, "Neg", x, NULL, NULL);
  b = TF_NewBuffer();
  TFE_ContextExportRunMetadata(c, b, S);
  ec_st("export after an op");
  printf("has data %d\n", b->length > 0);
  TF_DeleteBuffer(b);
  b = TF_NewBuffer();
  TFE_ContextExportRunMetadata(c, b, S);
  ec_st("export again");
  TF_DeleteBuffer(b);
  TFE_ContextDisableRunMetadata(c);
  TFE_ContextEnableGraphCollection(c);
  ec_run(c, "Neg", x, NULL, NULL);
  TFE_ContextDisableGraphCollection(c);
  TFE_DeleteTensorHandle(x);

  tr_case("context ids");
  TFE_Context *c2 = ec_ctx();
  printf("differ %d\n", TFE_GetContextId(c) != TFE_GetContextId(c2));
  TFE_DeleteContext(c2);

  tr_case("run eager op as function, jit rewrite");
  TFE_ContextSetRunEagerOpAsFunction(c, 1, S);
  ec_st("set");
  x = ec_f0(3);
  ec_run(c, "Neg", x, NULL, NULL);
  int64_t d22[2] = {2, 2}, d33[2] = {3, 3};
  TFE_TensorHandle *a = ec_ramp(2, d22);
  TFE_TensorHandle *w = ec_ramp(2, d33);
  ec_run(c, "MatMul", a, w, NULL);
  TFE_ContextSetRunEagerOpAsFunction(c, 0, S);
  ec_st("unset");
  TFE_ContextSetJitCompileRewrite(c, 0, S);
  ec_st("jit off");

  tr_case("packed handle");
  TFE_TensorHandle *l[2] = {x, x};
  int n = 2;
  TFE_TensorHandle *p = TFE_CreatePackedTensorHandle(c, l, &n, S);
  ec_st("pack");
  if (p) {
    printf("device %s ", TFE_TensorHandleDeviceName(p, S));
    ec_st("device");
    TFE_DeleteTensorHandle(p);
  }
  n = 0;
  p = TFE_CreatePackedTensorHandle(c, l, &n, S);
  ec_st("pack none");
  l[1] = a;
  n = 2;
  p = TFE_CreatePackedTensorHandle(c, l, &n, S);
  ec_st("pack different shapes");
  if (p) TFE_DeleteTensorHandle(p);

  tr_case("custom devices");
  printf("CPU:0 is custom %d\n",
         TFE_IsCustomDevice(c, "/job:localhost/replica:0/task:0/device:CPU:0"));
  printf("CUSTOM:0 is custom %d\n",
         TFE_IsCustomDevice(c, "/job:localhost/replica:0/task:0/device:CUSTOM:0"));

  tr_case("collectives without setup");
  TFE_CollectiveOpsCheckPeerHealth(c, "/job:localhost/replica:0/task:0", 1000, S);
  ec_st("check peer health");
  TFE_EnableCollectiveOps(c, "\xff", 1, S);
  ec_st("enable with garbage");
  TFE_ContextSetServerDef(c, 0, "\xff", 1, S);
  ec_st("set server def with garbage");
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(w);
  TFE_DeleteContext(c);
}

int main(void) {
  ec_open();
  configs();
  debug_strings();
  attr_builders();
  names_and_metadata();
  return ec_close();
}
