/* Every registered op: its definition field by field (a hash of the text), what the getters of single facts
 * say of it. FULL=1 in the environment prints the texts. */
#include "eager_common.h"

/* Ops of TensorFlow's own tests, which Ferry knows by signature only, are not in TensorFlow's library. */
static bool ours_only(const char *name) {
  TF_Graph *g = TF_NewGraph();
  TF_Buffer *b = TF_NewBuffer();
  TF_GraphGetOpDef(g, name, b, S);
  bool unknown = TF_GetCode(S) != TF_OK;
  TF_SetStatus(S, TF_OK, "");
  TF_DeleteBuffer(b);
  TF_DeleteGraph(g);
  return unknown;
}

static uint32_t h;
static void mix(const void *p, size_t n) {
  const unsigned char *c = p;
  for (size_t i = 0; i < n; ++i) h = (h ^ c[i]) * 16777619u;
}

static int by_name(const void *a, const void *b) {
  const tr_field *x = a, *y = b;
  tr_field nx = tr_get(x->p, x->n, 1), ny = tr_get(y->p, y->n, 1);
  return tr_bytes_cmp(nx.p, nx.n, ny.p, ny.n);
}

/* Fields in any order and of any number; descriptions aside. */
static void walk(const unsigned char *p, size_t n, int depth, bool arg, bool attr) {
  const unsigned char *end = p + n;
  tr_field f;
  uint32_t sum = 0, outer = h;
  while (tr_next(&p, end, &f)) {
    if (depth == 0 && (f.num == 5 || f.num == 6)) continue;
    if ((arg && (f.num == 2 || f.num == 17 || f.num == 7)) || (attr && f.num == 4)) continue;
    h = 2166136261u ^ (uint32_t)f.num;
    if (f.p == NULL)
      mix(&f.v, sizeof f.v);
    else if (depth == 0 && (f.num == 2 || f.num == 3 || f.num == 4))
      walk(f.p, f.n, 1, f.num != 4, f.num == 4);
    else
      mix(f.p, f.n);
    sum = sum * 31 + h;
  }
  h = outer * 16777619u ^ sum;
}

static const char kTests[] =
    " A Attr B Binary ComplexStruct ConstructionFails CopyOp DefaultAttrs DevicePlacementOp "
    "DtypeWithDefaultOp FiveFloatOutputs FloatInput FloatOutput FloatOutputStringOutput Foo1 Foo2 "
    "Foo3 "
    "FuncAttr FuncListAttr GetDeadline GraphDefVersion InPolymorphicTwice Int64Output IntAttr "
    "IntInput "
    "IntInputFloatInput IntInputIntOutput IntOutput IntOutputFloatOutput "
    "IsResourceHandleRefCounting "
    "IsTensorFloat32Enabled KernelLabel KernelLabelRequired ListInput ListOutput "
    "MakeWeakResourceHandle "
    "MixedStruct NInPolymorphicTwice NInTwice NInTwoTypeVariables NIntsIn NIntsOut NIntsOutDefault "
    "NPolymorphicIn NPolymorphicOut NPolymorphicOutDefault NPolymorphicRestrictIn "
    "NPolymorphicRestrictOut "
    "Namespace>TestStringOutput None Old OpWithDefaultAttr OpWithFutureDefaultAttr OutT "
    "OutTypeList "
    "OutTypeListRestrict Polymorphic PolymorphicDefaultOut PolymorphicOut RefIn RefInputFloatInput "
    "RefInputFloatInputIntOutput RefInputIntInput RefOut RefOutput RefOutputFloatOutput "
    "RequiresOlderGraphVersion ReservedAttr ReservedInput ResourceCreateOp ResourceInitializedOp "
    "ResourceUsingOp Restrict Simple SimpleStruct SleepIdentityOp SleepOp StringListAttr "
    "StubResourceHandleOp TestAttr TestStringOutput TwoFloatInputs TwoFloatInputsFloatOutput "
    "TwoFloatInputsIntOutput TwoFloatOutputs TwoIntInputs TwoIntOutputs TwoRefsIn TypeList "
    "TypeListRestrict TypeListTwice Unary AudioMicrofrontend ";

int main(void) {
  ec_open();
  TFE_Context *ctx = ec_ctx();
  bool full = getenv("FULL") != NULL;
  TF_Buffer *b = TF_GetAllOpList();
  const unsigned char *p = b->data, *end = p + b->length;
  tr_field f, *ops = calloc(4000, sizeof *ops);
  int n = 0;
  while (tr_next(&p, end, &f))
    if (f.num == 1 && n < 4000) ops[n++] = f;
  qsort(ops, (size_t)n, sizeof *ops, by_name);
  for (int i = 0; i < n; ++i) {
    char name[160], word[170];
    tr_field nf = tr_get(ops[i].p, ops[i].n, 1);
    snprintf(name, sizeof name, "%.*s", (int)nf.n, (const char *)nf.p);
    snprintf(word, sizeof word, " %s ", name);
    if (name[0] == '_' || strstr(kTests, word) || strncmp(name, "Attr", 4) == 0 || ours_only(name))
      continue;
    if (strcmp(name, "ImageSummary") == 0)
      continue; /* its default tensor is written in another field */
    h = 2166136261u;
    walk(ops[i].p, ops[i].n, 0, false, false);
    printf("%s %08x stateful %d", name, h, TF_OpIsStateful(name, S));
    if (TF_GetCode(S) != TF_OK) ec_st(" ?");
    const unsigned char *q = ops[i].p, *qe = q + ops[i].n;
    int input = -1;
    while (tr_next(&q, qe, &f)) {
      if (f.num == 2) ++input;
      tr_field an = f.p ? tr_get(f.p, f.n, 1) : f;
      char a[128];
      snprintf(a, sizeof a, "%.*s", (int)an.n, an.p ? (const char *)an.p : "");
      if (f.num == 4) {
        unsigned char list = 9;
        TF_AttrType t = TFE_OpNameGetAttrType(ctx, name, a, &list, S);
        printf(" %s:%d%s", full ? a : "", (int)t, list == 1 ? "[]" : list == 0 ? "" : "?");
        TF_SetStatus(S, TF_OK, "");
      }
      if (f.num == 2 && tr_get(f.p, f.n, 5).p) {
        const char *number = TF_GetNumberAttrForOpListInput(name, input, S);
        printf(" *%s", number ? number : "null");
        TF_SetStatus(S, TF_OK, "");
      }
    }
    putchar('\n');
    if (full) tr_dump("OpDef", ops[i].p, ops[i].n, 2);
  }
  free(ops);
  TF_DeleteBuffer(b);
  TFE_DeleteContext(ctx);
  return ec_close();
}
