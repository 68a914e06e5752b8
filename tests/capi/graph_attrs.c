/* Attribute getters: metadata, values, truncation and error texts. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Operation *n;

/* Several getters leave the status alone when they succeed. */
static void ok(void) {
  TF_SetStatus(st, TF_OK, "");
}

static int by_name(const void *a, const void *b) {
  return strcmp((const char *)a, (const char *)b);
}

static void meta(TF_Operation *op, const char *a) {
  TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, a, st);
  char w[64];
  snprintf(w, sizeof w, "%s meta", a);
  if (TF_GetCode(st) != TF_OK) {
    tr_status(w, st);
    return;
  }
  printf("%s: is_list %d list_size %" PRId64 " type %d total_size %" PRId64 "\n", w, m.is_list,
         m.list_size, (int)m.type, m.total_size);
}

static void ints(const char *a, int max) {
  int64_t v[8] = {-77, -77, -77, -77, -77, -77, -77, -77};
  ok();
  TF_OperationGetAttrIntList(n, a, v, max, st);
  if (tr_status(a, st)) {
    for (int i = 0; i < 4; ++i) printf(" %" PRId64, v[i]);
    puts("");
  }
}

static void build(void) {
  TF_OperationDescription *d = TF_NewOperation(g, "NoOp", "n");
  const void *sv[3] = {"one", "", "three"};
  size_t sl[3] = {3, 0, 5};
  int64_t iv[3] = {1, -2, INT64_C(3000000000)};
  float fv[2] = {0.5f, -2.25f};
  unsigned char bv[3] = {1, 0, 1};
  TF_DataType tv[2] = {TF_INT32, TF_STRING};
  int64_t d0[2] = {2, 3}, d1[1] = {-1};
  const int64_t *dv[4] = {d0, d1, NULL, NULL};
  int nv[4] = {2, 1, -1, 0};
  TF_Tensor *ts[2] = {tr_f32(1.5f), tr_str("text")};
  TF_SetAttrString(d, "_s", "hello", 5);
  TF_SetAttrString(d, "_s0", "", 0);
  TF_SetAttrStringList(d, "_sl", sv, sl, 3);
  TF_SetAttrInt(d, "_i", -42);
  TF_SetAttrIntList(d, "_il", iv, 3);
  TF_SetAttrFloat(d, "_f", 3.25f);
  TF_SetAttrFloatList(d, "_fl", fv, 2);
  TF_SetAttrBool(d, "_b", 1);
  TF_SetAttrBoolList(d, "_bl", bv, 3);
  TF_SetAttrType(d, "_t", TF_HALF);
  TF_SetAttrTypeList(d, "_tl", tv, 2);
  TF_SetAttrShape(d, "_sh", d0, 2);
  TF_SetAttrShape(d, "_shu", NULL, -1);
  TF_SetAttrShape(d, "_sh0", NULL, 0);
  TF_SetAttrShapeList(d, "_shl", dv, nv, 4);
  TF_SetAttrTensor(d, "_te", ts[0], st);
  TF_SetAttrTensorList(d, "_tel", ts, 2, st);
  TF_SetAttrFuncName(d, "_fn", "some_func", 9);
  TF_SetAttrPlaceholder(d, "_ph", "T");
  TF_SetAttrIntList(d, "_il0", iv, 0);
  TF_SetAttrStringList(d, "_sl0", sv, sl, 0);
  TF_SetAttrTypeList(d, "_tl0", tv, 0);
  tr_pb sh = {0}, dim = {0};
  tr_pb_int(&dim, 1, 7);
  tr_pb_msg(&sh, 2, &dim);
  TF_SetAttrTensorShapeProto(d, "_shp", sh.data, sh.len, st);
  tr_status("shape proto", st);
  const void *pp[2] = {sh.data, sh.data};
  size_t pl[2] = {sh.len, sh.len};
  TF_SetAttrTensorShapeProtoList(d, "_shpl", pp, pl, 2, st);
  tr_status("shape proto list", st);
  tr_pb av = {0};
  tr_pb_int(&av, 3, 99);
  TF_SetAttrValueProto(d, "_vp", av.data, av.len, st);
  tr_pb_free(&av);
  TF_SetAttrValueProto(d, "_empty", "", 0, st);
  tr_status("empty value proto", st);
  tr_pb_free(&sh);
  TF_DeleteTensor(ts[0]);
  TF_DeleteTensor(ts[1]);
  n = tg_finish_show(d, "n");
}

static void all_meta(void) {
  static const char *const a[] = {"_s",   "_s0",  "_sl",   "_i",  "_il",    "_f",   "_fl",
                                  "_b",   "_bl",  "_t",    "_tl", "_sh",    "_shu", "_sh0",
                                  "_shl", "_te",  "_tel",  "_fn", "_ph",    "_il0", "_sl0",
                                  "_tl0", "_shp", "_shpl", "_vp", "_empty", "_none"};
  tr_case("metadata");
  for (size_t i = 0; i < sizeof a / sizeof a[0]; ++i) meta(n, a[i]);
  tr_case("number of attrs and names (sorted)");
  int c = TF_OperationGetNumAttrs(n);
  printf("count %d\n", c);
  char names[64][16];
  for (int i = 0; i < c; ++i) {
    int len = TF_OperationGetAttrNameLength(n, i);
    memset(names[i], 0, 16);
    ok();
    TF_OperationGetAttrName(n, i, names[i], st);
    if (TF_GetCode(st) != TF_OK || (int)strlen(names[i]) != len) puts("bad name");
  }
  qsort(names, (size_t)c, 16, by_name);
  for (int i = 0; i < c; ++i) printf("%s ", names[i]);
  puts("");
  char buf[32];
  printf("length out of range %d\n", TF_OperationGetAttrNameLength(n, 500));
  ok();
  TF_OperationGetAttrName(n, 500, buf, st);
  tr_status("name out of range", st);
}

static void values(void) {
  char buf[32];
  int64_t i = 0;
  float f = 0;
  unsigned char b = 9;
  TF_DataType t = TF_FLOAT;
  tr_case("string");
  memset(buf, '.', sizeof buf);
  ok();
  TF_OperationGetAttrString(n, "_s", buf, 5, st);
  if (tr_status("full", st)) printf("%.8s\n", buf);
  memset(buf, '.', sizeof buf);
  ok();
  TF_OperationGetAttrString(n, "_s", buf, 3, st);
  if (tr_status("3 bytes", st)) printf("%.8s\n", buf);
  memset(buf, '.', sizeof buf);
  ok();
  TF_OperationGetAttrString(n, "_s", buf, 20, st);
  if (tr_status("20 bytes", st)) printf("%.8s\n", buf);
  tr_case("string list");
  void *ptr[3];
  size_t len[3];
  char store[32];
  ok();
  TF_OperationGetAttrStringList(n, "_sl", ptr, len, 3, store, sizeof store, st);
  if (tr_status("_sl", st))
    for (int k = 0; k < 3; ++k) printf("%zu \"%.*s\"\n", len[k], (int)len[k], (char *)ptr[k]);
  ok();
  TF_OperationGetAttrStringList(n, "_sl", ptr, len, 1, store, sizeof store, st);
  if (tr_status("max 1", st)) printf("%zu \"%.*s\"\n", len[0], (int)len[0], (char *)ptr[0]);
  ok();
  TF_OperationGetAttrStringList(n, "_sl", ptr, len, 3, store, 4, st);
  tr_status("storage 4", st);
  tr_case("int, float, bool, type");
  ok();
  TF_OperationGetAttrInt(n, "_i", &i, st);
  if (tr_status("_i", st)) printf("%" PRId64 "\n", i);
  ok();
  TF_OperationGetAttrInt(n, "_vp", &i, st);
  if (tr_status("_vp", st)) printf("%" PRId64 "\n", i);
  ok();
  TF_OperationGetAttrFloat(n, "_f", &f, st);
  if (tr_status("_f", st)) printf("%g\n", (double)f);
  ok();
  TF_OperationGetAttrBool(n, "_b", &b, st);
  if (tr_status("_b", st)) printf("%d\n", b);
  ok();
  TF_OperationGetAttrType(n, "_t", &t, st);
  if (tr_status("_t", st)) printf("%s\n", tr_dtype_name(t));
  tr_case("lists, whole and truncated");
  ints("_il", 3);
  ints("_il", 2);
  ints("_il", 8);
  ints("_il", 0);
  ints("_il0", 3);
  float fl[3] = {-1, -1, -1};
  ok();
  TF_OperationGetAttrFloatList(n, "_fl", fl, 1, st);
  tr_status("_fl", st);
  printf("%g %g\n", (double)fl[0], (double)fl[1]);
  unsigned char bl[4] = {7, 7, 7, 7};
  ok();
  TF_OperationGetAttrBoolList(n, "_bl", bl, 3, st);
  tr_status("_bl", st);
  printf("%d %d %d %d\n", bl[0], bl[1], bl[2], bl[3]);
  TF_DataType tl[2] = {TF_FLOAT, TF_FLOAT};
  ok();
  TF_OperationGetAttrTypeList(n, "_tl", tl, 2, st);
  tr_status("_tl", st);
  printf("%s %s\n", tr_dtype_name(tl[0]), tr_dtype_name(tl[1]));
  tr_case("shape");
  int64_t d[4] = {-9, -9, -9, -9};
  ok();
  TF_OperationGetAttrShape(n, "_sh", d, 2, st);
  tr_status("_sh", st);
  tr_dims(d, 3);
  puts("");
  d[0] = d[1] = -9;
  ok();
  TF_OperationGetAttrShape(n, "_sh", d, 1, st);
  tr_status("_sh 1 dim", st);
  tr_dims(d, 2);
  puts("");
  ok();
  TF_OperationGetAttrShape(n, "_shu", d, 4, st);
  tr_status("_shu", st);
  ok();
  TF_OperationGetAttrShape(n, "_sh0", d, 0, st);
  tr_status("_sh0", st);
  tr_case("shape list");
  int64_t *dp[4];
  int nd[4];
  int64_t store2[8];
  ok();
  TF_OperationGetAttrShapeList(n, "_shl", dp, nd, 4, store2, 8, st);
  if (tr_status("_shl", st))
    for (int k = 0; k < 4; ++k) {
      printf("%d ", nd[k]);
      if (nd[k] > 0) tr_dims(dp[k], nd[k]);
      puts("");
    }
  ok();
  TF_OperationGetAttrShapeList(n, "_shl", dp, nd, 4, store2, 1, st);
  tr_status("storage 1", st);
  ok();
  TF_OperationGetAttrShapeList(n, "_shl", dp, nd, 1, store2, 8, st);
  if (tr_status("max 1", st)) printf("%d\n", nd[0]);
  tr_case("shape protos");
  TF_Buffer *bb = TF_NewBuffer();
  ok();
  TF_OperationGetAttrTensorShapeProto(n, "_shp", bb, st);
  if (tr_status("_shp", st)) tr_dump_buffer("Shape", bb);
  TF_DeleteBuffer(bb);
  bb = TF_NewBuffer();
  ok();
  TF_OperationGetAttrTensorShapeProto(n, "_shu", bb, st);
  if (tr_status("_shu", st)) tr_dump_buffer("Shape", bb);
  TF_DeleteBuffer(bb);
  TF_Buffer *bl2[4] = {NULL, NULL, NULL, NULL};
  ok();
  TF_OperationGetAttrTensorShapeProtoList(n, "_shl", bl2, 4, st);
  tr_status("_shl", st);
  for (int k = 0; k < 4; ++k)
    if (bl2[k]) {
      printf("%d\n", k);
      tr_dump_buffer("Shape", bl2[k]);
      TF_DeleteBuffer(bl2[k]);
    }
  tr_case("tensors");
  TF_Tensor *te = NULL;
  ok();
  TF_OperationGetAttrTensor(n, "_te", &te, st);
  tr_status("_te", st);
  tr_show_free("_te", te);
  TF_Tensor *tel[2] = {NULL, NULL};
  ok();
  TF_OperationGetAttrTensorList(n, "_tel", tel, 2, st);
  tr_status("_tel", st);
  tr_show_free("0", tel[0]);
  tr_show_free("1", tel[1]);
  tel[0] = tel[1] = NULL;
  ok();
  TF_OperationGetAttrTensorList(n, "_tel", tel, 1, st);
  tr_status("_tel max 1", st);
  tr_show_free("0", tel[0]);
  tr_show_free("1", tel[1]);
  tr_case("value protos");
  static const char *const a[] = {"_s",  "_sl", "_il", "_b",   "_tl",    "_shl",
                                  "_te", "_fn", "_ph", "_il0", "_empty", "_none"};
  for (size_t k = 0; k < sizeof a / sizeof a[0]; ++k) {
    bb = TF_NewBuffer();
    ok();
    TF_OperationGetAttrValueProto(n, a[k], bb, st);
    if (tr_status(a[k], st)) tr_dump_buffer("AttrValue", bb);
    TF_DeleteBuffer(bb);
  }
}

static void errors(void) {
  char buf[32];
  int64_t i[4];
  float f;
  unsigned char b;
  TF_DataType t;
  TF_Tensor *te = NULL;
  void *ptr[3];
  size_t len[3];
  int nd[3];
  int64_t *dp[3];
  TF_Buffer *bb = TF_NewBuffer();
  static const char *const name[] = {"_none", "_i", "_il", "_s"};
  for (int k = 0; k < 4; ++k) {
    char w[32];
    snprintf(w, sizeof w, "getters on %s", name[k]);
    tr_case(w);
    const char *a = name[k];
    ok();
    if (k != 3) TF_OperationGetAttrString(n, a, buf, 5, st), tr_status("string", st);
    ok();
    TF_OperationGetAttrStringList(n, a, ptr, len, 3, buf, 8, st), tr_status("string list", st);
    ok();
    if (k != 1) TF_OperationGetAttrInt(n, a, i, st), tr_status("int", st);
    ok();
    if (k != 2) TF_OperationGetAttrIntList(n, a, i, 4, st), tr_status("int list", st);
    ok();
    TF_OperationGetAttrFloat(n, a, &f, st), tr_status("float", st);
    ok();
    TF_OperationGetAttrFloatList(n, a, &f, 1, st), tr_status("float list", st);
    ok();
    TF_OperationGetAttrBool(n, a, &b, st), tr_status("bool", st);
    ok();
    TF_OperationGetAttrBoolList(n, a, &b, 1, st), tr_status("bool list", st);
    ok();
    TF_OperationGetAttrType(n, a, &t, st), tr_status("type", st);
    ok();
    TF_OperationGetAttrTypeList(n, a, &t, 1, st), tr_status("type list", st);
    ok();
    TF_OperationGetAttrShape(n, a, i, 1, st), tr_status("shape", st);
    ok();
    TF_OperationGetAttrShapeList(n, a, dp, nd, 3, i, 4, st), tr_status("shape list", st);
    ok();
    TF_OperationGetAttrTensorShapeProto(n, a, bb, st), tr_status("shape proto", st);
    ok();
    TF_OperationGetAttrTensorShapeProtoList(n, a, &bb, 1, st), tr_status("shape proto list", st);
    ok();
    TF_OperationGetAttrTensor(n, a, &te, st), tr_status("tensor", st);
    ok();
    TF_OperationGetAttrTensorList(n, a, &te, 1, st), tr_status("tensor list", st);
  }
  TF_DeleteBuffer(bb);
}

static void stale(void) {
  tr_case("getters called with a failed status");
  char buf[9] = "........";
  int64_t i = 7;
  TF_SetStatus(st, TF_ABORTED, "old");
  TF_OperationGetAttrString(n, "_s", buf, 5, st);
  tr_status("string", st);
  printf("%s\n", buf);
  TF_SetStatus(st, TF_ABORTED, "old");
  TF_OperationGetAttrIntList(n, "_il", &i, 1, st);
  tr_status("int list", st);
  printf("%d\n", (int)i);
  TF_SetStatus(st, TF_ABORTED, "old");
  TF_OperationGetAttrInt(n, "_i", &i, st);
  tr_status("int", st);
  printf("%d\n", (int)i);
  TF_SetStatus(st, TF_ABORTED, "old");
  (void)TF_OperationGetAttrMetadata(n, "_i", st);
  tr_status("metadata", st);
  ok();
}

static void registered(void) {
  tr_case("attrs of registered ops");
  TF_Operation *c = tg_cf(g, 1, "c");
  meta(c, "value");
  meta(c, "dtype");
  meta(c, "nope");
  TF_Operation *p = tg_ph(g, TF_INT32, "p", NULL, -2);
  meta(p, "shape");
  TF_Operation *q = tg_op(g, "Squeeze", "q", 1, p);
  meta(q, "squeeze_dims");
  meta(q, "T");
  TF_Operation *pf = tg_ph(g, TF_FLOAT, "pf", NULL, -1);
  TF_Operation *m = tg_op(g, "MatMul", "m", 2, pf, pf);
  meta(m, "transpose_a");
  int64_t d[2] = {2, 3};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, d, 2, 24);
  memset(TF_TensorData(t), 0, 24);
  TF_Operation *k = tg_const(g, t, "k");
  meta(k, "value");
  TF_Tensor *got = NULL;
  TF_OperationGetAttrTensor(k, "value", &got, st);
  tr_status("value", st);
  tr_show_free("value", got);
  TF_OperationDescription *dd = tg_desc(g, "Neg", "co", 1, c);
  TF_ColocateWith(dd, k);
  TF_Operation *co = tg_finish_show(dd, "co");
  meta(co, "_class");
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  tr_case("set every kind");
  build();
  all_meta();
  values();
  errors();
  stale();
  registered();
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
