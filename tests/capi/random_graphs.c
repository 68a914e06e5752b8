/* Random graphs, half of them wrong: what building says, and what every fetch gives. The numbers are those of a
 * generator of its own, so that every library sees the same graphs. SEEDS in the environment: "first last". */
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

int main(void) {
  tg_begin();
  unsigned first = 0, last = 150;
  const char *seeds = getenv("SEEDS");
  if (seeds && sscanf(seeds, "%u %u", &first, &last) != 2) return 1;
  for (unsigned seed = first; seed < last; ++seed) {
    state = seed * 7919u + 1;
    n_out = 0;
    g = TF_NewGraph();
    printf("== %u\n", seed);
    for (int i = 0; i < 6; ++i) leaf(i);
    for (int i = 0; i < 14; ++i) {
      char type[32];
      TF_Operation *op = node(i, type, sizeof type);
      if (op == NULL) {
        printf("n%d %s: %s ", i, type, tr_code_name(TF_GetCode(st)));
        /* Of several types that do not fit, TensorFlow names one in the order of a hash table. */
        const char *m = TF_Message(st);
        tr_message(strstr(m, "not in the list of allowed values") ? "a type does not fit" : m);
        putchar('\n');
        continue;
      }
      printf("n%d %s", i, type);
      for (int k = 0; k < TF_OperationNumOutputs(op); ++k) {
        int64_t dims[8];
        int nd = TF_GraphGetTensorNumDims(g, tg_out(op, k), st);
        if (nd < 0 || nd > 8) {
          fputs(" ?", stdout);
        } else {
          TF_GraphGetTensorShape(g, tg_out(op, k), dims, nd, st);
          putchar(' ');
          tr_dims(dims, nd);
        }
      }
      putchar('\n');
      keep(op);
    }
    TF_Session *s = tg_session(g);
    for (int k = 0; k < n_out; ++k) {
      TF_Tensor *v = NULL;
      TF_SessionRun(s, NULL, NULL, NULL, 0, &out[k], &v, 1, NULL, 0, NULL, st);
      if (TF_OperationOpType(out[k].oper)[0] == 'C' &&
          strcmp(TF_OperationOpType(out[k].oper), "Const") == 0) {
        TF_DeleteTensor(v);
        continue;
      }
      printf("%s:%d", TF_OperationName(out[k].oper), out[k].index);
      if (TF_GetCode(st) == TF_OK) {
        show(v);
        putchar('\n');
        TF_DeleteTensor(v);
      } else {
        printf(" %s ", tr_code_name(TF_GetCode(st)));
        tr_message(TF_Message(st));
        putchar('\n');
      }
    }
    tg_close(s);
    TF_DeleteGraph(g);
  }
  tg_end();
  return 0;
}
