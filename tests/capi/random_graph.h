/* A generator of random graphs, half of whose nodes are wrong: the same graphs for every library. */
#ifndef FERRY_TESTS_CAPI_RANDOM_GRAPH_H_
#define FERRY_TESTS_CAPI_RANDOM_GRAPH_H_

#include "transcript_graph.h"

static uint64_t state;
static uint32_t rnd(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

enum { MAX = 40 };
static TF_Graph *g;
static TF_Output out[MAX];
static int n_out;

static TF_Output pick(TF_DataType t) {
  for (int k = 0; k < 6; ++k) {
    TF_Output o = out[rnd((uint32_t)n_out)];
    if (TF_OperationOutputType(o) == t) return o;
  }
  return out[rnd((uint32_t)n_out)];
}

static void keep(TF_Operation *op) {
  for (int i = 0; op && i < TF_OperationNumOutputs(op) && n_out < MAX; ++i)
    out[n_out++] = tg_out(op, i);
}

static void leaf(int i) {
  static const int64_t shapes[][2] = {{2, 3}, {3, 2}, {1, 3}, {3, 0}, {2, 2}, {6, 0}};
  static const int ranks[] = {2, 2, 2, 1, 2, 1};
  uint32_t k = rnd(7);
  char name[16];
  snprintf(name, sizeof name, "c%d", i);
  float f[6];
  int32_t v[6];
  for (int j = 0; j < 6; ++j) {
    v[j] = (int32_t)rnd(7) - 2;
    f[j] = (float)v[j] * 0.5f;
  }
  bool ints = rnd(3) == 0;
  int rank = k == 6 ? 0 : ranks[k];
  TF_DataType t = ints ? TF_INT32 : TF_FLOAT;
  if (rnd(8) == 0 && !ints) f[0] = rnd(2) ? 1.0f / 0.0f : -1.0f / 0.0f;
  keep(tg_const(g, tr_tensor(t, k == 6 ? NULL : shapes[k], rank, ints ? (void *)v : (void *)f),
                name));
}

static TF_Operation *node(int i, char *type, size_t room) {
  static const char *const unary[] = {"Neg",   "Abs",       "Square",   "Relu",  "Tanh",
                                      "Sign",  "Floor",     "Identity", "Shape", "Size",
                                      "Rank",  "ZerosLike", "OnesLike", "Exp",   "Sqrt",
                                      "Log1p", "Softmax",   "IsNan",    "L2Loss"};
  static const char *const binary[] = {"AddV2",
                                       "Sub",
                                       "Mul",
                                       "Div",
                                       "Maximum",
                                       "Minimum",
                                       "Less",
                                       "Equal",
                                       "Pow",
                                       "FloorDiv",
                                       "SquaredDifference",
                                       "BiasAdd",
                                       "MatMul",
                                       "FloorMod",
                                       "Reshape",
                                       "Tile",
                                       "Fill",

                                       "Sum",
                                       "Max",
                                       "Mean",
                                       "Prod",
                                       "ReverseV2",
                                       "Transpose",
                                       "BroadcastTo",
                                       "GatherNd",
                                       "ArgMax"};
  static const char *const lists[] = {"AddN",    "Pack",       "ConcatV2", "Select", "GatherV2",
                                      "Slice",   "Where",      "Unpack",   "Split",  "Cast",
                                      "Squeeze", "LogicalNot", "Assert"};
  char name[16];
  snprintf(name, sizeof name, "n%d", i);
  TF_DataType t = rnd(3) == 0 ? TF_INT32 : TF_FLOAT;
  uint32_t kind = rnd(10);
  TF_OperationDescription *d;
  if (kind < 3) {
    const char *op = unary[rnd(sizeof unary / sizeof *unary)];
    d = TF_NewOperation(g, op, name);
    TF_AddInput(d, pick(t));
    snprintf(type, room, "%s", op);
  } else if (kind < 7) {
    const char *op = binary[rnd(sizeof binary / sizeof *binary)];
    d = TF_NewOperation(g, op, name);
    bool second_int = strchr("RTFESMPBGC", op[0]) && rnd(3);
    TF_AddInput(d, op[0] == 'F' && op[1] == 'i' ? pick(TF_INT32) : pick(t));
    TF_AddInput(d, pick(second_int ? TF_INT32 : t));
    if (strcmp(op, "MatMul") == 0 && rnd(2)) TF_SetAttrBool(d, "transpose_b", 1);
    if ((strcmp(op, "Sum") == 0 || strcmp(op, "Max") == 0) && rnd(2))
      TF_SetAttrBool(d, "keep_dims", 1);
    snprintf(type, room, "%s", op);
  } else {
    const char *op = lists[rnd(sizeof lists / sizeof *lists)];
    d = TF_NewOperation(g, op, name);
    snprintf(type, room, "%s", op);
    TF_Output l[3] = {pick(t), pick(t), pick(t)};
    if (strcmp(op, "AddN") == 0 || strcmp(op, "Pack") == 0) {
      TF_AddInputList(d, l, 1 + (int)rnd(3));
      if (op[0] == 'P' && rnd(2)) TF_SetAttrInt(d, "axis", (int64_t)rnd(4) - 1);
    } else if (strcmp(op, "ConcatV2") == 0) {
      TF_AddInputList(d, l, 2 + (int)rnd(2));
      TF_AddInput(d, pick(TF_INT32));
    } else if (strcmp(op, "Select") == 0) {
      TF_AddInput(d, pick(TF_BOOL));
      TF_AddInput(d, l[0]);
      TF_AddInput(d, l[1]);
    } else if (strcmp(op, "GatherV2") == 0 || strcmp(op, "Slice") == 0) {
      TF_AddInput(d, l[0]);
      TF_AddInput(d, pick(TF_INT32));
      TF_AddInput(d, pick(TF_INT32));
    } else if (strcmp(op, "Split") == 0) {
      TF_AddInput(d, pick(TF_INT32));
      TF_AddInput(d, l[0]);
      TF_SetAttrInt(d, "num_split", 1 + (int64_t)rnd(3));
    } else if (strcmp(op, "Assert") == 0) {
      TF_AddInput(d, pick(TF_BOOL));
      TF_AddInputList(d, l, 2);
    } else {
      TF_AddInput(d, strcmp(op, "LogicalNot") == 0 ? pick(TF_BOOL) : l[0]);
      if (strcmp(op, "CheckNumerics") == 0) TF_SetAttrString(d, "message", "check", 5);
      if (strcmp(op, "Unpack") == 0) TF_SetAttrInt(d, "num", 1 + (int64_t)rnd(3));
      if (strcmp(op, "Cast") == 0) TF_SetAttrType(d, "DstT", rnd(2) ? TF_INT32 : TF_BOOL);
    }
  }
  return TF_FinishOperation(d, st);
}

static void show(const TF_Tensor *t) {
  TF_DataType ty = TF_TensorType(t);
  printf(" %s[", tr_dtype_name((int)ty));
  for (int i = 0; i < TF_NumDims(t); ++i) printf("%s%" PRId64, i ? "," : "", TF_Dim(t, i));
  printf("]");
  for (int64_t i = 0; i < TF_TensorElementCount(t) && i < 12; ++i) {
    putchar(' ');
    if (ty == TF_FLOAT) {
      float f = ((const float *)TF_TensorData(t))[i];
      if (f != f)
        fputs("nan", stdout);
      else
        printf("%.3g", (double)f == 0 ? 0.0 : (double)f);
    } else {
      tr_element(ty, TF_TensorData(t), i);
    }
  }
}

#endif /* FERRY_TESTS_CAPI_RANDOM_GRAPH_H_ */
