/* Defining operations with TF_OpDefinitionBuilder. */
#include "eager_common.h"
#include "tensorflow/c/ops.h"

static TF_Graph *G;

static void unknown(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeInferenceContextSetUnknownShape(c, s);
}

static void finish(const char *name, TF_OpDefinitionBuilder *b) {
  TF_RegisterOpDefinition(b, S);
  ec_st("register");
  TF_Buffer *o = TF_NewBuffer();
  TF_GraphGetOpDef(G, name, o, S);
  ec_st("get op def");
  tr_dump_buffer("OpDef", o);
  TF_DeleteBuffer(o);
}

static void attr_case(const char *label, const char *name, const char *spec) {
  tr_case(label);
  printf("attr %s\n", spec);
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddAttr(b, spec);
  finish(name, b);
}

int main(void) {
  ec_open();
  G = TF_NewGraph();

  tr_case("empty op");
  finish("FerryEmpty", TF_NewOpDefinitionBuilder("FerryEmpty"));

  tr_case("deleted builder");
  TF_DeleteOpDefinitionBuilder(TF_NewOpDefinitionBuilder("FerryGone"));
  TF_Buffer *o = TF_NewBuffer();
  TF_GraphGetOpDef(G, "FerryGone", o, S);
  ec_st("get op def");
  TF_DeleteBuffer(o);

  tr_case("inputs and outputs");
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder("FerryArgs");
  TF_OpDefinitionBuilderAddAttr(b, "T: type");
  TF_OpDefinitionBuilderAddAttr(b, "U: {float, int32} = DT_FLOAT");
  TF_OpDefinitionBuilderAddAttr(b, "N: int >= 2");
  TF_OpDefinitionBuilderAddAttr(b, "L: list(type)");
  TF_OpDefinitionBuilderAddInput(b, "a: float");
  TF_OpDefinitionBuilderAddInput(b, "b: T");
  TF_OpDefinitionBuilderAddInput(b, "c: N * int32");
  TF_OpDefinitionBuilderAddInput(b, "d: N*U");
  TF_OpDefinitionBuilderAddInput(b, "e: L");
  TF_OpDefinitionBuilderAddInput(b, "r: Ref(float)");
  TF_OpDefinitionBuilderAddInput(b, "h: resource");
  TF_OpDefinitionBuilderAddOutput(b, "x: T");
  TF_OpDefinitionBuilderAddOutput(b, "y: N * string");
  TF_OpDefinitionBuilderAddOutput(b, "z: L");
  TF_OpDefinitionBuilderAddOutput(b, "q: Ref(T)");
  finish("FerryArgs", b);

  tr_case("flags");
  b = TF_NewOpDefinitionBuilder("FerryFlags");
  TF_OpDefinitionBuilderSetIsCommutative(b, true);
  TF_OpDefinitionBuilderSetIsAggregate(b, true);
  TF_OpDefinitionBuilderSetIsStateful(b, true);
  TF_OpDefinitionBuilderSetAllowsUninitializedInput(b, true);
  TF_OpDefinitionBuilderDeprecated(b, 26, "use something else");
  finish("FerryFlags", b);
  b = TF_NewOpDefinitionBuilder("FerryNoFlags");
  TF_OpDefinitionBuilderSetIsStateful(b, true);
  TF_OpDefinitionBuilderSetIsStateful(b, false);
  finish("FerryNoFlags", b);
  b = TF_NewOpDefinitionBuilder("FerryOnlyFalse");
  TF_OpDefinitionBuilderSetIsCommutative(b, false);
  TF_OpDefinitionBuilderSetIsAggregate(b, false);
  TF_OpDefinitionBuilderSetIsStateful(b, false);
  TF_OpDefinitionBuilderSetAllowsUninitializedInput(b, false);
  finish("FerryOnlyFalse", b);
  printf("stateful %d %d\n", TF_OpIsStateful("FerryFlags", S), TF_OpIsStateful("FerryNoFlags", S));

  attr_case("attr string", "FerryA1", "a: string");
  attr_case("attr string default", "FerryA2", "a: string = 'it is'");
  attr_case("attr string double quotes", "FerryA3", "a: string = \"q\\n\"");
  attr_case("attr string allowed", "FerryA4", "a: {'x', \"y\"} = 'y'");
  attr_case("attr int", "FerryA5", "a: int");
  attr_case("attr int default", "FerryA6", "a: int = -3");
  attr_case("attr int minimum", "FerryA7", "a: int >= -5 = 2");
  attr_case("attr float default", "FerryA8", "a: float = 1.5");
  attr_case("attr bool default", "FerryA9", "a: bool = true");
  attr_case("attr type default", "FerryB1", "a: type = DT_INT32");
  attr_case("attr type allowed", "FerryB2", "a: {int32, string, half}");
  attr_case("attr numbertype", "FerryB3", "a: numbertype");
  attr_case("attr realnumbertype", "FerryB4", "a: realnumbertype = DT_FLOAT");
  attr_case("attr quantizedtype", "FerryB5", "a: quantizedtype");
  attr_case("attr shape default", "FerryB6", "a: shape = { dim { size: 2 } dim { size: -1 } }");
  attr_case("attr shape unknown", "FerryB7", "a: shape = { unknown_rank: true }");
  attr_case("attr tensor", "FerryB8", "a: tensor = { dtype: DT_INT32 int_val: 5 }");
  attr_case("attr func", "FerryB9", "a: func");
  attr_case("attr func default", "FerryC1", "a: func = { name: 'f' }");
  attr_case("attr list(int)", "FerryC2", "a: list(int)");
  attr_case("attr list(int) default", "FerryC3", "a: list(int) = [1, -2]");
  attr_case("attr list(int) empty default", "FerryC4", "a: list(int) = []");
  attr_case("attr list minimum", "FerryC5", "a: list(int) >= 3");
  attr_case("attr list(string)", "FerryC6", "a: list(string) = ['p', 'q']");
  attr_case("attr list(type)", "FerryC7", "a: list({int32, float}) = [DT_FLOAT]");
  attr_case("attr list(bool)", "FerryC8", "a: list(bool) = [true, false]");
  attr_case("attr list(float)", "FerryC9", "a: list(float) = [0.5, 2]");
  attr_case("attr list(shape)", "FerryD1", "a: list(shape) = [{ dim { size: 1 } }]");
  attr_case("attr list(func)", "FerryD2", "a: list(func) >= 1");
  attr_case("attr spaces", "FerryD3", "a  :  int  >=  1  =  4  ");

  tr_case("use in a graph without a kernel");
  TF_OperationDescription *d = TF_NewOperation(G, "FerryA6", "node");
  TF_Operation *op = TF_FinishOperation(d, S);
  ec_st("finish");
  d = TF_NewOperation(G, "FerryA5", "node2");
  TF_FinishOperation(d, S);
  ec_st("missing attr");
  d = TF_NewOperation(G, "FerryA7", "node3");
  TF_SetAttrInt(d, "a", -6);
  TF_FinishOperation(d, S);
  ec_st("below the minimum");
  d = TF_NewOperation(G, "FerryA4", "node4");
  TF_SetAttrString(d, "a", "z", 1);
  TF_FinishOperation(d, S);
  ec_st("not allowed");
  d = TF_NewOperation(G, "FerryFlags", "node5");
  TF_FinishOperation(d, S);
  ec_st("deprecated op");

  tr_case("use eagerly without a kernel");
  TFE_Context *c = ec_ctx();
  ec_show_kernels = 1;
  ec_exec("FerryA6", ec_op(c, "FerryA6"), 1);

  tr_case("run in a session without a kernel");
  b = TF_NewOpDefinitionBuilder("FerryNoKernel");
  TF_OpDefinitionBuilderAddAttr(b, "a: int = 4");
  TF_OpDefinitionBuilderAddOutput(b, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, unknown);
  TF_RegisterOpDefinition(b, S);
  ec_st("register");
  d = TF_NewOperation(G, "FerryNoKernel", "nokernel");
  op = TF_FinishOperation(d, S);
  ec_st("finish");
  int64_t v = 0;
  if (op) {
    TF_OperationGetAttrInt(op, "a", &v, S);
    ec_st("attr");
    printf("a = %" PRId64 "\n", v);
    printf("outputs %d\n", TF_OperationNumOutputs(op));
  }
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(G, so, S);
  ec_st("session");
  if (op) {
    const TF_Operation *target = op;
    TF_SessionRun(s, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, S);
    ec_st("run");
  }
  TF_DeleteSession(s, S);
  TF_DeleteSessionOptions(so);
  TFE_DeleteContext(c);
  TF_DeleteGraph(G);
  return ec_close();
}
