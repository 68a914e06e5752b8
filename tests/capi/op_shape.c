/* Shape functions of custom ops: every TF_ShapeInferenceContext function. */
#include "eager_common.h"
#include "tensorflow/c/ops.h"

static TF_Graph *G;
static int quiet; /* shape functions print only while this is 0 */

static void show(TF_ShapeInferenceContext *c, const char *label, TF_ShapeHandle *h) {
  if (quiet) return;
  printf("  fn %s: known %d rank %" PRId64 " [", label, TF_ShapeInferenceContextRankKnown(c, h),
         TF_ShapeInferenceContextRank(c, h));
  if (TF_ShapeInferenceContextRankKnown(c, h))
    for (int64_t i = 0; i < TF_ShapeInferenceContextRank(c, h); i++) {
      TF_DimensionHandle *d = TF_NewDimensionHandle();
      TF_ShapeInferenceContextDim(c, h, i, d);
      printf("%s", i ? "," : "");
      if (TF_DimensionHandleValueKnown(d))
        printf("%" PRId64, TF_DimensionHandleValue(d));
      else
        printf("?(%" PRId64 ")", TF_DimensionHandleValue(d));
      TF_DeleteDimensionHandle(d);
    }
  printf("]\n");
}

static void fst(const char *label, TF_Status *s) {
  if (!quiet) {
    printf("  fn ");
    ec_pst(label, s);
  }
  TF_SetStatus(s, TF_OK, "");
}

/* Looks at its input in every way, output = input. */
static void look(TF_ShapeInferenceContext *c, TF_Status *s) {
  if (!quiet) printf("  fn inputs %" PRId64 "\n", TF_ShapeInferenceContextNumInputs(c));
  TF_ShapeHandle *h = TF_NewShapeHandle();
  TF_ShapeHandle *r = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(c, 0, h, s);
  fst("GetInput 0", s);
  show(c, "input", h);
  TF_ShapeInferenceContextGetInput(c, 5, r, s);
  fst("GetInput 5", s);
  TF_ShapeInferenceContextGetInput(c, -1, r, s);
  fst("GetInput -1", s);
  TF_ShapeInferenceContextWithRank(c, h, 2, r, s);
  if (TF_GetCode(s) == TF_OK) show(c, "WithRank 2", r);
  fst("WithRank 2", s);
  TF_ShapeInferenceContextWithRankAtLeast(c, h, 2, r, s);
  if (TF_GetCode(s) == TF_OK) show(c, "WithRankAtLeast 2", r);
  fst("WithRankAtLeast 2", s);
  TF_ShapeInferenceContextWithRankAtMost(c, h, 2, r, s);
  if (TF_GetCode(s) == TF_OK) show(c, "WithRankAtMost 2", r);
  fst("WithRankAtMost 2", s);
  static const int64_t sub[][2] = {{0, 1}, {1, -1}, {-1, INT64_MAX}, {0, 9},
                                   {5, 9}, {2, 1},  {-9, 2}};
  for (int i = 0; i < 7; i++) {
    char label[64];
    TF_ShapeInferenceContextSubshape(c, h, sub[i][0], sub[i][1], r, s);
    snprintf(label, sizeof label, "Subshape %d %d", (int)sub[i][0],
             sub[i][1] == INT64_MAX ? 999 : (int)sub[i][1]);
    if (TF_GetCode(s) == TF_OK) show(c, label, r);
    fst(label, s);
  }
  TF_ShapeInferenceContextConcatenateShapes(c, h, h, r, s);
  if (TF_GetCode(s) == TF_OK) show(c, "Concatenate", r);
  fst("Concatenate", s);
  TF_ShapeHandle *sc = TF_ShapeInferenceContextScalar(c);
  show(c, "Scalar", sc);
  TF_ShapeHandle *v = TF_ShapeInferenceContextVectorFromSize(c, 7);
  show(c, "Vector 7", v);
  TF_ShapeInferenceContextConcatenateShapes(c, h, v, r, s);
  if (TF_GetCode(s) == TF_OK) show(c, "Concatenate 7", r);
  fst("Concatenate 7", s);
  TF_DataType t = TF_BOOL;
  TF_ShapeInferenceContext_GetAttrType(c, "T", &t, s);
  if (!quiet) printf("  fn T %s\n", tr_dtype_name((int)t));
  fst("GetAttrType T", s);
  TF_ShapeInferenceContext_GetAttrType(c, "nope", &t, s);
  fst("GetAttrType nope", s);
  TF_ShapeInferenceContext_GetAttrType(c, "k", &t, s);
  fst("GetAttrType of an int", s);
  TF_ShapeInferenceContextSetOutput(c, 3, h, s);
  fst("SetOutput 3", s);
  TF_ShapeInferenceContextSetOutput(c, 0, h, s);
  fst("SetOutput 0", s);
  TF_DeleteShapeHandle(h);
  TF_DeleteShapeHandle(r);
  TF_DeleteShapeHandle(sc);
  TF_DeleteShapeHandle(v);
}

static void fail(TF_ShapeInferenceContext *c, TF_Status *s) {
  (void)c;
  TF_SetStatus(s, TF_INVALID_ARGUMENT, "my shape function says no");
}
static void unknown(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeInferenceContextSetUnknownShape(c, s);
}
static void scalar_vector(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeHandle *a = TF_ShapeInferenceContextScalar(c);
  TF_ShapeHandle *b = TF_ShapeInferenceContextVectorFromSize(c, 5);
  TF_ShapeInferenceContextSetOutput(c, 0, a, s);
  TF_ShapeInferenceContextSetOutput(c, 1, b, s);
  TF_DeleteShapeHandle(a);
  TF_DeleteShapeHandle(b);
}
static void rank2(TF_ShapeInferenceContext *c, TF_Status *s) {
  TF_ShapeHandle *h = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(c, 0, h, s);
  if (TF_GetCode(s) == TF_OK) TF_ShapeInferenceContextWithRank(c, h, 2, h, s);
  if (TF_GetCode(s) == TF_OK) TF_ShapeInferenceContextSetOutput(c, 0, h, s);
  TF_DeleteShapeHandle(h);
}

static void def(const char *name, const char *out, const char *out2,
                void (*fn)(TF_ShapeInferenceContext *, TF_Status *)) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddAttr(b, "T: type");
  TF_OpDefinitionBuilderAddAttr(b, "k: int = 3");
  TF_OpDefinitionBuilderAddInput(b, "x: T");
  TF_OpDefinitionBuilderAddOutput(b, out);
  if (out2) TF_OpDefinitionBuilderAddOutput(b, out2);
  if (fn) TF_OpDefinitionBuilderSetShapeInferenceFunction(b, fn);
  TF_RegisterOpDefinition(b, S);
  ec_must("register");
}

static TF_Output ph(const char *name, int nd, const int64_t *dims) {
  TF_OperationDescription *d = TF_NewOperation(G, "Placeholder", name);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  if (nd >= 0) TF_SetAttrShape(d, "shape", dims, nd);
  TF_Output o = {TF_FinishOperation(d, S), 0};
  ec_must("placeholder");
  return o;
}

static void use(const char *opname, const char *node, TF_Output x) {
  TF_OperationDescription *d = TF_NewOperation(G, opname, node);
  TF_AddInput(d, x);
  TF_Operation *op = TF_FinishOperation(d, S);
  if (!ec_st(node)) return;
  for (int i = 0; i < TF_OperationNumOutputs(op); i++) {
    TF_Output o = {op, i};
    int n = TF_GraphGetTensorNumDims(G, o, S);
    ec_must("dims");
    int64_t dims[8];
    printf("  output %d: ", i);
    if (n < 0) {
      printf("unknown\n");
      continue;
    }
    TF_GraphGetTensorShape(G, o, dims, n, S);
    printf("[");
    for (int k = 0; k < n; k++) printf("%s%" PRId64, k ? "," : "", dims[k]);
    printf("]\n");
  }
}

int main(void) {
  ec_open();
  def("FerryLook", "y: T", NULL, look);
  def("FerryFail", "y: T", NULL, fail);
  def("FerryUnknown", "y: T", "z: int32", unknown);
  def("FerryTwo", "y: T", "z: int32", scalar_vector);
  def("FerryRank", "y: T", NULL, rank2);
  def("FerryNone", "y: T", NULL, NULL);
  G = TF_NewGraph();
  TF_Output full = ph("full", 3, (int64_t[]){2, 3, 4});
  TF_Output part = ph("part", 2, (int64_t[]){-1, 5});
  TF_Output none = ph("none", -1, NULL);
  TF_Output scal = ph("scal", 0, NULL);

  tr_case("known shape");
  use("FerryLook", "look_full", full);
  tr_case("partly known shape");
  use("FerryLook", "look_part", part);
  tr_case("unknown shape");
  use("FerryLook", "look_none", none);
  tr_case("scalar");
  use("FerryLook", "look_scal", scal);
  quiet = 1;
  tr_case("failing shape function");
  use("FerryFail", "bad", full);
  printf("node made %d\n", TF_GraphOperationByName(G, "bad") != NULL);
  tr_case("unknown outputs");
  use("FerryUnknown", "unk", full);
  tr_case("two outputs");
  use("FerryTwo", "two", full);
  tr_case("rank check");
  use("FerryRank", "rank_part", part);
  use("FerryRank", "rank_none", none);
  use("FerryRank", "rank_full", full);
  tr_case("no shape function");
  use("FerryNone", "nofn", full);
  tr_case("chain");
  TF_Output r = {TF_GraphOperationByName(G, "rank_none"), 0};
  use("Neg", "neg_after", r);
  tr_case("infer shapes eagerly");
  TFE_Context *c = ec_ctx();
  TFE_Op *op = ec_op(c, "FerryRank");
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  TF_ShapeAndTypeList *in = TF_NewShapeAndTypeList(1);
  TF_ShapeAndTypeListSetUnknownShape(in, 0);
  TF_ShapeAndTypeList *out = NULL;
  TFE_InferShapes(op, in, NULL, NULL, NULL, &out, NULL, S);
  ec_st("infer");
  if (out) {
    printf("dims %d\n", out->items[0].num_dims);
    TF_DeleteShapeAndTypeList(out);
  }
  TF_DeleteShapeAndTypeList(in);
  TFE_DeleteOp(op);
  TFE_DeleteContext(c);
  TF_DeleteGraph(G);
  return ec_close();
}
