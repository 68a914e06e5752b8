/* What a kernel in a graph is told of its node: the names of its inputs (plain, by index, fed, in
   a function), its own name, its device, frame and iteration. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static void look(void *k, TF_OpKernelContext *c) {
  (void)k;
  TF_Status *s = TF_NewStatus();
  TF_StringView v = TF_GetOpKernelName(c);
  printf("  k %.*s:", (int)v.len, v.data);
  for (size_t i = 0; i < (size_t)TF_NumInputs(c); i++) {
    v = TF_GetOpKernelRequestedInput(c, i);
    printf(" \"%.*s\"", (int)v.len, v.data);
  }
  v = TF_GetDeviceName(c);
  printf(" on %.*s frame %d iter %d\n", (int)v.len, v.data, (int)TF_GetFrameId(c),
         (int)TF_GetIterId(c));
  TF_Tensor *o = TF_AllocateOutput(c, 0, TF_FLOAT, NULL, 0, 4, s);
  *(float *)TF_TensorData(o) = 5;
  TF_DeleteTensor(o);
  TF_DeleteStatus(s);
}

static void scalar(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeHandle *h = TF_ShapeInferenceContextScalar(c);
  TF_ShapeInferenceContextSetOutput(c, 0, h, s);
  TF_DeleteShapeHandle(h);
}

static void define(void) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder("InputsLook");
  TF_OpDefinitionBuilderAddAttr(b, "N: int >= 1");
  TF_OpDefinitionBuilderAddInput(b, "x: N * float");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, scalar);
  TF_RegisterOpDefinition(b, S);
  ec_must("op");
  TF_RegisterKernelBuilder("InputsLook", TF_NewKernelBuilder("InputsLook", "CPU", NULL, look, NULL),
                           S);
  ec_must("kernel");
}

static TF_Output node(TF_Graph *g, const char *name, int n, const TF_Output *in) {
  TF_OperationDescription *d = TF_NewOperation(g, "InputsLook", name);
  TF_AddInputList(d, in, n);
  TF_Output o = {TF_FinishOperation(d, S), 0};
  ec_must(name);
  return o;
}

static TF_Output source(TF_Graph *g, const char *type, const char *name) {
  TF_OperationDescription *d = TF_NewOperation(g, type, name);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output o = {TF_FinishOperation(d, S), 0};
  ec_must(name);
  return o;
}

static void run(TF_Session *s, const char *what, int n, const TF_Output *in, TF_Output out) {
  TF_Tensor *iv[2] = {tr_vec(TF_FLOAT, 4, (float[]){1, 2, 3, 4}), tr_f32(2)}, *ov = NULL;
  TF_SessionRun(s, NULL, in, iv, n, &out, &ov, 1, NULL, 0, NULL, S);
  if (ec_st(what)) tr_show_free("  out", ov);
  for (int k = 0; k < 2; k++) TF_DeleteTensor(iv[k]);
}

int main(void) {
  ec_open();
  define();
  TF_Graph *g = TF_NewGraph();
  TF_Output p = source(g, "Placeholder", "p"), in[3];
  TF_OperationDescription *d = TF_NewOperation(g, "Unpack", "scope/unpack");
  TF_AddInput(d, p);
  TF_SetAttrInt(d, "num", 4);
  TF_Operation *unpack = TF_FinishOperation(d, S);
  ec_must("unpack");
  in[0] = p;
  TF_Output one = node(g, "one", 1, in);
  in[0] = (TF_Output){unpack, 2};
  in[1] = (TF_Output){unpack, 0};
  in[2] = one;
  TF_Output three = node(g, "scope/three", 3, in);
  in[0] = three;
  in[1] = three;
  TF_Output twice = node(g, "twice", 2, in);
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, so, S);
  tr_case("in a session");
  run(s, "one", 1, &p, one);
  run(s, "three", 1, &p, three);
  run(s, "twice", 1, &p, twice);
  tr_case("what is fed");
  run(s, "one of unpack", 2, (TF_Output[]){p, {unpack, 2}}, three);
  run(s, "three", 2, (TF_Output[]){p, three}, twice);
  tr_case("in a function");
  TF_Function *f = TF_GraphToFunction(g, "F", 0, -1, NULL, 1, &p, 1, &twice, NULL, NULL, NULL, S);
  ec_must("function");
  TFE_Context *e = ec_ctx();
  TFE_ContextAddFunction(e, f, S);
  ec_must("add");
  TFE_TensorHandle *x = ec_f1(4, (float[]){1, 2, 3, 4});
  ec_run(e, "F", x, NULL, NULL);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(e);
  TF_DeleteFunction(f);
  TF_DeleteSession(s, S);
  TF_DeleteSessionOptions(so);
  TF_DeleteGraph(g);
  return ec_close();
}
