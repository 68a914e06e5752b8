/* What a kernel may ask its construction context. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static const char *const specs[] = {
    "s: string = 'text'",
    "i: int = 7",
    "big: int = 8589934592",
    "f: float = 1.5",
    "b: bool = true",
    "t: type = DT_HALF",
    "sh: shape = { dim { size: 2 } dim { size: 3 } }",
    "shu: shape = { dim { size: -1 } }",
    "te: tensor = { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 4 int_val: 5 }",
    "fn: func = { name: 'myfn' }",
    "ls: list(string) = ['ab', '', 'cde']",
    "li: list(int) = [1, -2, 3]",
    "lf: list(float) = [0.5, 2.5]",
    "lb: list(bool) = [true, false]",
    "lt: list(type) = [DT_FLOAT, DT_STRING]",
    "le: list(int) = []",
    "lsh: list(shape) = [{ dim { size: 2 } }, { unknown_rank: true }]",
    "lte: list(tensor) = [{ dtype: DT_FLOAT tensor_shape { } float_val: 9 }]"};

static TF_Status *K;
static int kst(const char *label) {
  int ok = TF_GetCode(K) == TF_OK;
  printf("  k ");
  ec_pst(label, K);
  TF_SetStatus(K, TF_OK, "");
  return ok;
}

static void sizes(TF_OpKernelConstruction *c) {
  static const char *const n[] = {"s",  "i",  "f",  "b",  "t",  "sh", "shu", "te",  "fn",
                                  "ls", "li", "lf", "lb", "lt", "le", "lsh", "lte", "nope"};
  for (size_t k = 0; k < sizeof n / sizeof *n; k++) {
    int32_t list = -9, total = -9;
    TF_OpKernelConstruction_GetAttrSize(c, n[k], &list, &total, K);
    printf("  k size %s: list %d total %d\n", n[k], list, total);
    if (TF_GetCode(K) != TF_OK) kst("size");
  }
}

static void *create(TF_OpKernelConstruction *c) {
  K = TF_NewStatus();
  TF_StringView nm = TF_OpKernelConstruction_GetName(c);
  printf("  k name %.*s\n", (int)nm.len, nm.data);
  printf("  k has i %d", TF_OpKernelConstruction_HasAttr(c, "i", K));
  kst(", has");
  printf("  k has nope %d", TF_OpKernelConstruction_HasAttr(c, "nope", K));
  kst(", has");
  sizes(c);

  char buf[16];
  memset(buf, '#', sizeof buf);
  TF_OpKernelConstruction_GetAttrString(c, "s", buf, 16, K);
  printf("  k s [%.6s]\n", buf);
  kst("string");
  memset(buf, '#', sizeof buf);
  TF_OpKernelConstruction_GetAttrString(c, "s", buf, 2, K);
  printf("  k s short [%.4s]\n", buf);
  kst("string short");
  int32_t i32 = -1;
  TF_OpKernelConstruction_GetAttrInt32(c, "i", &i32, K);
  printf("  k i %d\n", i32);
  kst("int32");
  TF_OpKernelConstruction_GetAttrInt32(c, "big", &i32, K);
  kst("int32 of a big value");
  int64_t i64 = -1;
  TF_OpKernelConstruction_GetAttrInt64(c, "big", &i64, K);
  printf("  k big %" PRId64 "\n", i64);
  kst("int64");
  float f = -1;
  TF_OpKernelConstruction_GetAttrFloat(c, "f", &f, K);
  printf("  k f %g\n", (double)f);
  kst("float");
  unsigned char b = 9;
  TF_OpKernelConstruction_GetAttrBool(c, "b", &b, K);
  printf("  k b %d\n", b);
  kst("bool");
  TF_DataType t = TF_FLOAT;
  TF_OpKernelConstruction_GetAttrType(c, "t", &t, K);
  printf("  k t %s\n", tr_dtype_name((int)t));
  kst("type");
  TF_Tensor *te = NULL;
  TF_OpKernelConstruction_GetAttrTensor(c, "te", &te, K);
  if (kst("tensor")) tr_show_free("  k te", te);
  TF_Buffer *fb = TF_OpKernelConstruction_GetAttrFunction(c, "fn", K);
  if (kst("function")) {
    tr_dump("FuncAttr", fb->data, fb->length, 6);
    TF_DeleteBuffer(fb);
  }

  char *v[3];
  size_t len[3];
  char store[16];
  TF_OpKernelConstruction_GetAttrStringList(c, "ls", v, len, 3, store, sizeof store, K);
  if (kst("string list"))
    printf("  k ls %.*s|%.*s|%.*s\n", (int)len[0], v[0], (int)len[1], v[1], (int)len[2], v[2]);
  TF_OpKernelConstruction_GetAttrStringList(c, "ls", v, len, 3, store, 3, K);
  kst("string list, small store");
  int32_t l32[4] = {-9, -9, -9, -9};
  TF_OpKernelConstruction_GetAttrInt32List(c, "li", l32, 3, K);
  printf("  k li %d %d %d\n", l32[0], l32[1], l32[2]);
  kst("int32 list");
  l32[0] = l32[1] = -9;
  TF_OpKernelConstruction_GetAttrInt32List(c, "li", l32, 1, K);
  printf("  k li short %d %d\n", l32[0], l32[1]);
  kst("int32 list short");
  int64_t l64[4] = {-9, -9, -9, -9};
  TF_OpKernelConstruction_GetAttrInt64List(c, "li", l64, 4, K);
  printf("  k li64 %d %d %d %d\n", (int)l64[0], (int)l64[1], (int)l64[2], (int)l64[3]);
  kst("int64 list");
  float lf[2] = {-9, -9};
  TF_OpKernelConstruction_GetAttrFloatList(c, "lf", lf, 2, K);
  printf("  k lf %g %g\n", (double)lf[0], (double)lf[1]);
  kst("float list");
  unsigned char lb[2] = {9, 9};
  TF_OpKernelConstruction_GetAttrBoolList(c, "lb", lb, 2, K);
  printf("  k lb %d %d\n", lb[0], lb[1]);
  kst("bool list");
  TF_DataType lt[2] = {TF_BOOL, TF_BOOL};
  TF_OpKernelConstruction_GetAttrTypeList(c, "lt", lt, 2, K);
  printf("  k lt %s %s\n", tr_dtype_name((int)lt[0]), tr_dtype_name((int)lt[1]));
  kst("type list");
  TF_OpKernelConstruction_GetAttrInt64List(c, "le", l64, 4, K);
  kst("empty list");
  TF_Tensor *lte[1] = {NULL};
  TF_OpKernelConstruction_GetAttrTensorList(c, "lte", lte, 1, K);
  if (kst("tensor list")) tr_show_free("  k lte", lte[0]);

  /* wrong kinds and missing names */
  TF_OpKernelConstruction_GetAttrInt64(c, "nope", &i64, K);
  kst("missing");
  TF_OpKernelConstruction_GetAttrInt64(c, "s", &i64, K);
  kst("int of a string");
  TF_OpKernelConstruction_GetAttrFloat(c, "i", &f, K);
  kst("float of an int");
  TF_OpKernelConstruction_GetAttrBool(c, "li", &b, K);
  kst("bool of a list");
  TF_OpKernelConstruction_GetAttrType(c, "b", &t, K);
  kst("type of a bool");
  TF_OpKernelConstruction_GetAttrTensor(c, "f", &te, K);
  kst("tensor of a float");
  TF_OpKernelConstruction_GetAttrFloatList(c, "f", lf, 2, K);
  kst("list of a scalar");
  TF_OpKernelConstruction_GetAttrString(c, "t", buf, 16, K);
  kst("string of a type");
  TF_OpKernelConstruction_GetAttrStringList(c, "li", v, len, 3, store, 16, K);
  kst("string list of ints");

  TF_Buffer *nd = TF_OpKernelConstruction_GetNodeDef(c, K);
  if (kst("node def")) {
    /* in a session, graph passes leave private attrs behind */
    if (nm.len == strlen("FerryAttrs")) tr_dump("NodeDef", nd->data, nd->length, 6);
    TF_DeleteBuffer(nd);
  }
  TF_DeleteStatus(K);
  return NULL;
}
static void compute(void *k, TF_OpKernelContext *c) {
  (void)k;
  (void)c;
}
static void noshape(TF_ShapeInferenceContext *c, TF_Status *s) {
  (void)c;
  (void)s;
}

int main(void) {
  ec_open();
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder("FerryAttrs");
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
    TF_OpDefinitionBuilderAddAttr(b, specs[i]);
  TF_OpDefinitionBuilderSetIsStateful(b, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, noshape);
  TF_RegisterOpDefinition(b, S);
  ec_must("op");
  TF_KernelBuilder *kb = TF_NewKernelBuilder("FerryAttrs", "CPU", create, compute, NULL);
  TF_RegisterKernelBuilder("FerryAttrsKernel", kb, S);
  ec_must("kernel");

  tr_case("defaults, eagerly");
  TFE_Context *c = ec_ctx();
  ec_exec("FerryAttrs", ec_op(c, "FerryAttrs"), 0);
  TFE_DeleteContext(c);

  tr_case("set attrs, in a session");
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "FerryAttrs", "node/name");
  TF_SetAttrString(d, "s", "a longer text", 13);
  TF_SetAttrInt(d, "i", -1);
  TF_SetAttrIntList(d, "li", (int64_t[]){10, 20}, 2);
  TF_SetDevice(d, "/device:CPU:0");
  TF_Operation *op = TF_FinishOperation(d, S);
  ec_must("finish");
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, so, S);
  const TF_Operation *target = op;
  TF_SessionRun(s, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, S);
  ec_st("run");
  TF_DeleteSession(s, S);
  TF_DeleteSessionOptions(so);
  TF_DeleteGraph(g);
  return ec_close();
}
