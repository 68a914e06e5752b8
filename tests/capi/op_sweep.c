/* Every registered op, built with nothing, with wrong inputs, and with what it asks for: the code and a
 * hash of each message. FULL=1 in the environment prints the messages themselves. */
#include "transcript_graph.h"

static bool full;

static uint32_t hash(const char *s) {
  uint32_t h = 2166136261u;
  for (; *s; ++s) h = (h ^ (unsigned char)*s) * 16777619u;
  return h;
}

static void say(const char *op, const char *what) {
  printf("%s %s: %s", op, what, tr_code_name(TF_GetCode(st)));
  if (TF_GetCode(st) != TF_OK) {
    if (full) {
      putchar(' ');
      tr_message(TF_Message(st));
    } else {
      printf(" %08x", hash(TF_Message(st)));
    }
  }
  putchar('\n');
}

typedef struct {
  char name[64];
  int type; /* 0: from an attribute */
  char tattr[64], nattr[64], lattr[64];
  bool ref;
} arg;
typedef struct {
  char name[64], kind[24];
  bool has_default;
  int first; /* the first allowed type */
  int64_t min;
  char word[64]; /* the first allowed string */
} attr;

static void text_of(char *to, size_t room, tr_field f) {
  snprintf(to, room, "%.*s", (int)f.n, f.p ? (const char *)f.p : "");
}

static void show_out(TF_Graph *g, TF_Operation *op) {
  int n = TF_OperationNumOutputs(op);
  printf("  %d out:", n);
  for (int i = 0; i < n && i < 8; ++i) {
    int64_t d[16];
    int nd = TF_GraphGetTensorNumDims(g, tg_out(op, i), st);
    printf(" %s", tr_dtype_name((int)TF_OperationOutputType(tg_out(op, i))));
    if (nd < 0) {
      fputs("?", stdout);
    } else {
      TF_GraphGetTensorShape(g, tg_out(op, i), d, nd, st);
      tr_dims(d, nd);
    }
  }
  putchar('\n');
}

static int type_of(const arg *a, const attr *at, int nat) {
  if (a->type) return a->type;
  for (int i = 0; i < nat; ++i)
    if (strcmp(at[i].name, a->tattr) == 0) return at[i].first ? at[i].first : 1;
  return 1;
}

/* Builds op with placeholders of the types it asks for; `wrong` replaces the first one's. */
static void build(const char *op, const arg *in, int nin, const attr *at, int nat, int wrong,
                  int drop, const char *what) {
  TF_Graph *g = TF_NewGraph();
  TF_Operation *ph[16] = {0};
  for (int i = 0; i < nin; ++i) {
    char b[16];
    snprintf(b, sizeof b, "p%d", i);
    int t = in[i].lattr[0] ? 1 : type_of(&in[i], at, nat);
    if (wrong && i == 0) t = t == 7 ? 3 : 7;
    TF_OperationDescription *d =
        TF_NewOperation(g, in[i].ref && !wrong ? "VariableV2" : "Placeholder", b);
    TF_SetAttrType(d, "dtype", (TF_DataType)t);
    if (in[i].ref && !wrong) TF_SetAttrShape(d, "shape", NULL, -1);
    ph[i] = TF_FinishOperation(d, st);
    if (ph[i] == NULL) {
      say(op, "placeholder");
      TF_DeleteGraph(g);
      return;
    }
  }
  TF_OperationDescription *d = TF_NewOperation(g, op, "n");
  for (int i = 0; i < nin - drop; ++i) {
    if (in[i].nattr[0] || in[i].lattr[0]) {
      TF_Output o[2] = {tg_out(ph[i], 0), tg_out(ph[i], 0)};
      TF_AddInputList(d, o, 2);
    } else {
      TF_AddInput(d, tg_out(ph[i], 0));
    }
  }
  if (!drop)
    for (int i = 0; i < nat; ++i) {
      bool inferred = false;
      for (int k = 0; k < nin; ++k)
        if (strcmp(in[k].tattr, at[i].name) == 0 || strcmp(in[k].nattr, at[i].name) == 0 ||
            strcmp(in[k].lattr, at[i].name) == 0)
          inferred = true;
      if (inferred || at[i].has_default) continue;
      const char *k = at[i].kind;
      int64_t one[4] = {1, 2, 2, 1};
      if (strcmp(k, "int") == 0) TF_SetAttrInt(d, at[i].name, at[i].min > 1 ? at[i].min : 1);
      if (strcmp(k, "float") == 0) TF_SetAttrFloat(d, at[i].name, 1);
      if (strcmp(k, "bool") == 0) TF_SetAttrBool(d, at[i].name, 1);
      if (strcmp(k, "string") == 0) TF_SetAttrString(d, at[i].name, at[i].word, strlen(at[i].word));
      if (strcmp(k, "type") == 0)
        TF_SetAttrType(d, at[i].name, (TF_DataType)(at[i].first ? at[i].first : 1));
      if (strcmp(k, "shape") == 0) TF_SetAttrShape(d, at[i].name, one, 2);
      if (strcmp(k, "func") == 0) TF_SetAttrFuncName(d, at[i].name, "F", 1);
      if (strcmp(k, "list(int)") == 0) TF_SetAttrIntList(d, at[i].name, one, 4);
      if (strcmp(k, "list(type)") == 0) {
        TF_DataType t = TF_FLOAT;
        TF_SetAttrTypeList(d, at[i].name, &t, 1);
      }
    }
  TF_Operation *n = TF_FinishOperation(d, st);
  say(op, what);
  if (n != NULL && full) show_out(g, n);
  TF_DeleteGraph(g);
}

/* Not compared: ops of TensorFlow's own Python tests (the library does not register them) ... */
static const char kSkip[] =
    " "
    "A Attr AttrBool AttrBoolList AttrDefault AttrEmptyListDefault AttrEnum AttrEnumList "
    "AttrFloat AttrListDefault AttrListMin AttrListTypeDefault AttrMin AttrPartialShape "
    "AttrPartialShapeList AttrShape AttrShapeList AttrTypeDefault AudioMicrofrontend B Binary "
    "ComplexStruct ConstructionFails CopyOp DefaultAttrs DevicePlacementOp DtypeWithDefaultOp "
    "FiveFloatOutputs FloatInput FloatOutput FloatOutputStringOutput Foo1 Foo2 Foo3 FuncAttr "
    "FuncListAttr GetDeadline GraphDefVersion InPolymorphicTwice Int64Output IntAttr IntInput "
    "IntInputFloatInput IntInputIntOutput IntOutput IntOutputFloatOutput "
    "IsResourceHandleRefCounting IsTensorFloat32Enabled KernelLabel KernelLabelRequired "
    "ListInput ListOutput MakeWeakResourceHandle MixedStruct NInPolymorphicTwice NInTwice "
    "NInTwoTypeVariables NIntsIn NIntsOut NIntsOutDefault NPolymorphicIn NPolymorphicOut "
    "NPolymorphicOutDefault NPolymorphicRestrictIn NPolymorphicRestrictOut "
    "Namespace>TestStringOutput None Old OpWithDefaultAttr OpWithFutureDefaultAttr OutT "
    "OutTypeList OutTypeListRestrict Polymorphic PolymorphicDefaultOut PolymorphicOut RefIn "
    "RefInputFloatInput RefInputFloatInputIntOutput RefInputIntInput RefOut RefOutput "
    "RefOutputFloatOutput RequiresOlderGraphVersion ReservedAttr ReservedInput "
    "ResourceCreateOp ResourceInitializedOp ResourceUsingOp Restrict Simple SimpleStruct "
    "SleepIdentityOp SleepOp StringListAttr StubResourceHandleOp TestAttr TestStringOutput "
    "TwoFloatInputs TwoFloatInputsFloatOutput TwoFloatInputsIntOutput TwoFloatOutputs "
    "TwoIntInputs TwoIntOutputs TwoRefsIn TypeList TypeListRestrict TypeListTwice Unary "
    /* ... and those where TensorFlow names one of several mistakes in the order of a hash table, or
       checks what only a TPU or a server would read. */
    "AvgPool3D AvgPool3DGrad ExtractVolumePatches ChooseFastestBranchDataset Conv3DBackpropInputV2 "
    "DumpTensor "
    "ExperimentalParseExampleDataset MaxPool3D MaxPool3DGrad MaxPool3DGradGrad "
    "ParseExampleDataset ParseExampleDatasetV2 ParseSequenceExample ParseSequenceExampleV2 "
    "ParseSingleExample RaggedCross ResourceCountUpTo SortListOfSparseCoreCooTensors "
    "SparseCross SparseCrossHashed SparseCrossV2 SplitDedupData ";
static const char *const kSkipPrefix[] = {"_",         "Tpu", "TPU", "Xla", "SparseMatrix",
                                          "CSRSparse", "Rpc"};

static bool skipped(const char *op) {
  char word[160];
  for (size_t i = 0; i < sizeof kSkipPrefix / sizeof kSkipPrefix[0]; ++i)
    if (strncmp(op, kSkipPrefix[i], strlen(kSkipPrefix[i])) == 0) return true;
  snprintf(word, sizeof word, " %s ", op);
  return strstr(op, "TPUEmbedding") != NULL || strstr(kSkip, word) != NULL;
}

static void one(const unsigned char *p, size_t n) {
  const unsigned char *end = p + n;
  char op[128] = "";
  arg in[16];
  attr at[40];
  int nin = 0, nat = 0;
  tr_field f;
  memset(in, 0, sizeof in);
  memset(at, 0, sizeof at);
  while (tr_next(&p, end, &f)) {
    if (f.num == 1) text_of(op, sizeof op, f);
    if (f.num == 2 && nin < 16) {
      arg *a = &in[nin++];
      text_of(a->name, sizeof a->name, tr_get(f.p, f.n, 1));
      a->type = (int)tr_get(f.p, f.n, 3).v;
      text_of(a->tattr, sizeof a->tattr, tr_get(f.p, f.n, 4));
      text_of(a->nattr, sizeof a->nattr, tr_get(f.p, f.n, 5));
      text_of(a->lattr, sizeof a->lattr, tr_get(f.p, f.n, 6));
      a->ref = tr_get(f.p, f.n, 16).v != 0;
    }
    if (f.num == 4 && nat < 40) {
      attr *a = &at[nat++];
      text_of(a->name, sizeof a->name, tr_get(f.p, f.n, 1));
      text_of(a->kind, sizeof a->kind, tr_get(f.p, f.n, 2));
      a->has_default = tr_get(f.p, f.n, 3).p != NULL;
      a->min = (int64_t)tr_get(f.p, f.n, 6).v;
      strcpy(a->word, "word");
      tr_field al = tr_get(f.p, f.n, 7);
      if (al.p) {
        tr_field l = tr_get(al.p, al.n, 1);
        const unsigned char *q = l.p, *qe = l.p + l.n;
        tr_field e;
        while (l.p && tr_next(&q, qe, &e)) {
          if (e.num == 6 && !a->first) a->first = e.wire == 2 ? e.p[0] : (int)e.v;
          if (e.num == 2) text_of(a->word, sizeof a->word, e);
        }
      }
    }
  }
  if (skipped(op)) return;
  build(op, in, nin, at, nat, 0, nin, "bare");
  build(op, in, nin, at, nat, 0, 0, "right");
  if (nin) build(op, in, nin, at, nat, 1, 0, "wrong type");
  if (nin > 1) build(op, in, nin, at, nat, 0, 1, "one too few");
}

static int by_name(const void *a, const void *b) {
  const tr_field *x = a, *y = b;
  tr_field nx = tr_get(x->p, x->n, 1), ny = tr_get(y->p, y->n, 1);
  return tr_bytes_cmp(nx.p, nx.n, ny.p, ny.n);
}

int main(void) {
  tg_begin();
  full = getenv("FULL") != NULL;
  TF_Buffer *b = TF_GetAllOpList();
  const unsigned char *p = b->data, *end = p + b->length;
  tr_field f, *ops = calloc(4000, sizeof *ops);
  int n = 0;
  while (tr_next(&p, end, &f))
    if (f.num == 1 && n < 4000) ops[n++] = f;
  qsort(ops, (size_t)n, sizeof *ops, by_name);
  for (int i = 0; i < n; ++i) one(ops[i].p, ops[i].n);
  free(ops);
  TF_DeleteBuffer(b);
  tg_end();
  return 0;
}
