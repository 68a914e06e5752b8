/* Calls that few programs make: locked building, full types, a loop's extra input, what a kernel asks about its
   resources, op names that only TensorFlow's Python modules register. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static void any_shape(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeInferenceContextSetUnknownShape(c, s);
}

static void compute(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_Tensor *t = NULL;
  TF_GetInput(c, 0, &t, s);
  double *p = TF_TensorData(t);
  int64_t dims[1] = {1};
  TF_Tensor *out = TF_AllocateOutput(c, 0, TF_DOUBLE, dims, 0, sizeof(double), s);
  *(double *)TF_TensorData(out) = *p + 1;
  TF_DeleteTensor(out);
  TF_DeleteTensor(t);
  TF_DeleteStatus(s);
}

/* Names of ops that exist in TensorFlow's Python process, but not in its library. */
static void own_ops(void) {
  tr_case("ops of one's own");
  static const char *const names[] = {"Simple", "Unary", "SleepOp",
                                      "CopyOp", "A",     "AudioMicrofrontend"};
  TFE_Context *c = ec_ctx();
  for (int i = 0; i < 6; i++) {
    TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(names[i]);
    TF_OpDefinitionBuilderAddInput(b, "in: double");
    TF_OpDefinitionBuilderAddOutput(b, "result: double");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(b, any_shape);
    TF_RegisterOpDefinition(b, S);
    ec_st(names[i]);
    TF_KernelBuilder *k = TF_NewKernelBuilder(names[i], "CPU", NULL, compute, NULL);
    TF_RegisterKernelBuilder(names[i], k, S);
    ec_st("kernel");
    TF_Graph *g = TF_NewGraph();
    TF_Buffer *f = TF_NewBuffer();
    TF_GraphGetOpDef(g, names[i], f, S);
    ec_st("definition");
    ec_buf("definition", f);
    TF_DeleteBuffer(f);
    TF_DeleteGraph(g);
    f = TF_GetRegisteredKernelsForOp(names[i], S);
    ec_buf("kernels", f);
    TF_DeleteBuffer(f);
    double d = i;
    TFE_TensorHandle *x = ec_h(ec_new(TF_DOUBLE, 0, NULL, &d));
    ec_run(c, names[i], x, NULL, NULL);
    TFE_DeleteTensorHandle(x);
  }
  TFE_DeleteContext(c);
}

static TF_Operation *int_const(TF_Graph *g, const char *name, int32_t i) {
  TF_Tensor *t = tr_i32(i);
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_SetAttrTensor(d, "value", t, S);
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Operation *c = TF_FinishOperation(d, S);
  TF_DeleteTensor(t);
  return c;
}

/* The field 7 of the NodeDef; attributes are in hash order there. */
static void node_type(const char *what, TF_Operation *op) {
  TF_Buffer *b = TF_NewBuffer();
  TF_OperationToNodeDef(op, b, S);
  const unsigned char *p = b->data, *end = p + b->length;
  tr_field f;
  printf("%s: %zu bytes\n", what, b->length);
  while (tr_next(&p, end, &f))
    if (f.num == 7) ec_wire(f.p, f.n, 2);
  TF_DeleteBuffer(b);
}

static void full_types(void) {
  tr_case("full types");
  static const char *const names[] = {
      "TensorDataset", "RangeDataset",      "TFRecordDataset",       "EmptyTensorList",  "Shape",
      "MutexLock",     "OptionalFromValue", "RaggedTensorToVariant", "DatasetFromGraph", "Neg"};
  TF_Graph *g = TF_NewGraph();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    TF_Buffer *f = TF_NewBuffer();
    TF_GraphGetOpDef(g, names[i], f, S);
    ec_st(names[i]);
    ec_buf("definition", f);
    TF_DeleteBuffer(f);
  }
  float v = 1;
  TF_Tensor *t = tr_vec(TF_FLOAT, -1, &v);
  TF_OperationDescription *d = TF_NewOperationLocked(g, "Const", "c");
  TF_SetAttrTensor(d, "value", t, S);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Operation *c = TF_FinishOperationLocked(d, S);
  ec_st("locked");
  TF_DeleteTensor(t);
  d = TF_NewOperationLocked(g, "Nonsense", "n");
  TF_FinishOperationLocked(d, S);
  ec_st("locked, unknown");
  d = TF_NewOperation(g, "TensorDataset", "dataset");
  TF_Output x = {c, 0};
  TF_AddInputList(d, &x, 1);
  TF_SetAttrShapeList(d, "output_shapes", (const int64_t *[]){NULL}, (int[]){0}, 1);
  TF_Operation *ds = TF_FinishOperation(d, S);
  ec_st("dataset");
  node_type("dataset", ds);
  static const TF_DataType types[] = {TF_FLOAT, TF_STRING, TF_BFLOAT16, TF_VARIANT, TF_RESOURCE,
                                      TF_BOOL,  TF_HALF,   TF_QINT8,    TF_UINT64,  TF_COMPLEX64};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    char name[16];
    snprintf(name, sizeof name, "list%zu", i);
    TF_Output shape = {int_const(g, name, -1), 0};
    snprintf(name, sizeof name, "empty%zu", i);
    d = TF_NewOperation(g, "EmptyTensorList", name);
    TF_AddInput(d, shape);
    TF_AddInput(d, shape);
    TF_SetAttrType(d, "element_dtype", types[i]);
    node_type(tr_dtype_name((int)types[i]), TF_FinishOperation(d, S));
    ec_must("list");
  }
  d = TF_NewOperation(g, "Shape", "shape");
  TF_AddInput(d, x);
  TF_SetAttrType(d, "out_type", TF_INT64);
  TF_Output sh = {TF_FinishOperation(d, S), 0};
  node_type("Shape", sh.oper);
  TF_Function *fun = TF_GraphToFunction(g, "f_of_x", 0, 1, (const TF_Operation *const[]){sh.oper},
                                        1, &x, 1, &sh, NULL, NULL, NULL, S);
  ec_st("function");
  TF_DeleteFunction(fun);
  d = TF_NewOperation(g, "Neg", "neg");
  TF_AddInput(d, x);
  TF_Operation *neg = TF_FinishOperation(d, S);
  TF_Buffer *type = TF_NewBufferFromString("\x08\xe8\x07", 3);
  TF_SetFullType(g, neg, type);
  TF_DeleteBuffer(type);
  TF_Buffer *f = TF_NewBuffer();
  TF_OperationToNodeDef(neg, f, S);
  ec_buf("typed node", f);
  TF_DeleteBuffer(f);
  TF_SetRequireShapeInferenceFns(g, false);
  TF_SetRequireShapeInferenceFns(g, true);
  TF_DeleteGraph(g);
}

static void extra_input(void) {
  tr_case("a loop's extra input");
  TF_Graph *g = TF_NewGraph();
  TF_DataType f[1] = {TF_FLOAT};
  (void)f;
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "p");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output p = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "Neg", "n");
  TF_AddInput(d, p);
  TF_Operation *n = TF_FinishOperation(d, S);
  TF_AddWhileInputHack(g, p, n, S);
  ec_st("not a loop");
  TF_DeleteGraph(g);
}

static void contexts(void) {
  tr_case("contexts");
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetTfrt(o, false);
  TFE_Context *c = TFE_NewContext(o, S);
  ec_st("context");
  TFE_DeleteContextOptions(o);
  TF_Buffer *b = TF_NewBuffer();
  TFE_ContextGetGraphDebugInfo(c, "none", b, S);
  ec_st("debug info of nothing");
  TF_DeleteBuffer(b);
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "p");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output p = {TF_FinishOperation(d, S), 0};
  TF_Function *fun = TF_GraphToFunction(g, "same", 0, -1, NULL, 1, &p, 1, &p, NULL, NULL, NULL, S);
  ec_st("function");
  TFE_ContextAddFunction(c, fun, S);
  b = TF_NewBuffer();
  TFE_ContextGetGraphDebugInfo(c, "same", b, S);
  ec_st("debug info");
  printf("%zu bytes\n", b->length);
  TF_DeleteBuffer(b);
  TF_DeleteFunction(fun);
  TF_DeleteGraph(g);
  TFE_DeleteContext(c);
  TF_SetTfXlaCpuGlobalJit(0);
  TF_DeleteShapeAndTypeListArray(NULL, 0);
}

int main(void) {
  ec_open();
  own_ops();
  full_types();
  extra_input();
  contexts();
  return ec_close();
}
