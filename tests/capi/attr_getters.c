/* Every getter on an attribute of every kind, with room and without. */
#include "transcript_graph.h"

/* Prints and clears: a getter that finds an error in its status does nothing. */
static bool say(const char *what) {
  bool ok = tr_status(what, st);
  TF_SetStatus(st, TF_OK, "");
  return ok;
}

static TF_Operation *build(TF_Graph *g) {
  TF_OperationDescription *d = TF_NewOperation(g, "NoOp", "n");
  const void *sv[2] = {"ab", "c"};
  size_t sn[2] = {2, 1};
  int64_t iv[3] = {7, -8, 9}, dims[2] = {2, -1};
  const int64_t *shapes[2] = {dims, NULL};
  int nshapes[2] = {2, -1};
  float fv[2] = {1.5f, 2};
  unsigned char bv[2] = {1, 0};
  TF_DataType tv[2] = {TF_INT8, TF_STRING};
  TF_Tensor *t[2] = {tr_f32(2), tr_str("x")};
  TF_SetAttrString(d, "_string", "abc", 3);
  TF_SetAttrStringList(d, "_strings", sv, sn, 2);
  TF_SetAttrInt(d, "_int", -5);
  TF_SetAttrIntList(d, "_ints", iv, 3);
  TF_SetAttrFloat(d, "_float", 0.25f);
  TF_SetAttrFloatList(d, "_floats", fv, 2);
  TF_SetAttrBool(d, "_bool", 1);
  TF_SetAttrBoolList(d, "_bools", bv, 2);
  TF_SetAttrType(d, "_type", TF_HALF);
  TF_SetAttrTypeList(d, "_types", tv, 2);
  TF_SetAttrShape(d, "_shape", dims, 2);
  TF_SetAttrShape(d, "_unknown", NULL, -1);
  TF_SetAttrShapeList(d, "_shapes", shapes, nshapes, 2);
  TF_SetAttrTensor(d, "_tensor", t[0], st);
  TF_SetAttrTensorList(d, "_tensors", t, 2, st);
  TF_SetAttrFuncName(d, "_func", "Fn", 2);
  TF_SetAttrPlaceholder(d, "_place", "T");
  TF_SetAttrIntList(d, "_none", NULL, 0);
  TF_DeleteTensor(t[0]);
  TF_DeleteTensor(t[1]);
  return tg_finish(d);
}

static void getters(TF_Operation *op, const char *a) {
  char text[8], store[8];
  void *sv[3] = {0};
  size_t sn[3] = {0};
  int64_t i = -77, iv[3] = {-77, -77, -77}, sd[8];
  float f = -77, fv[3] = {-77, -77, -77};
  unsigned char b = 77, bv[3] = {77, 77, 77};
  TF_DataType t = TF_QINT8, tv[3] = {TF_QINT8, TF_QINT8, TF_QINT8};
  int64_t *shp[3] = {0};
  int nd[3] = {-77, -77, -77};
  TF_Tensor *te = NULL, *tev[3] = {0};
  TF_Buffer *buf = TF_NewBuffer(), *bufs[3] = {0};
  memset(text, '.', sizeof text);
  TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, a, st);
  if (say("metadata"))
    printf("  %d %d %d %d\n", m.is_list, (int)m.list_size, (int)m.type, (int)m.total_size);
  TF_OperationGetAttrString(op, a, text, sizeof text, st);
  if (say("string")) printf("  %.8s\n", text);
  TF_OperationGetAttrStringList(op, a, sv, sn, 3, store, sizeof store, st);
  if (say("string list"))
    for (int k = 0; k < 3; ++k)
      printf("  %zu \"%.*s\"\n", sn[k], (int)sn[k], sv[k] ? (char *)sv[k] : "");
  TF_OperationGetAttrInt(op, a, &i, st);
  if (say("int")) printf("  %" PRId64 "\n", i);
  TF_OperationGetAttrIntList(op, a, iv, 3, st);
  if (say("int list")) printf("  %" PRId64 " %" PRId64 " %" PRId64 "\n", iv[0], iv[1], iv[2]);
  TF_OperationGetAttrFloat(op, a, &f, st);
  if (say("float")) printf("  %g\n", (double)f);
  TF_OperationGetAttrFloatList(op, a, fv, 3, st);
  if (say("float list")) printf("  %g %g %g\n", (double)fv[0], (double)fv[1], (double)fv[2]);
  TF_OperationGetAttrBool(op, a, &b, st);
  if (say("bool")) printf("  %d\n", b);
  TF_OperationGetAttrBoolList(op, a, bv, 3, st);
  if (say("bool list")) printf("  %d %d %d\n", bv[0], bv[1], bv[2]);
  TF_OperationGetAttrType(op, a, &t, st);
  if (say("type")) printf("  %d\n", (int)t);
  TF_OperationGetAttrTypeList(op, a, tv, 3, st);
  if (say("type list")) printf("  %d %d %d\n", (int)tv[0], (int)tv[1], (int)tv[2]);
  if (m.type == TF_ATTR_SHAPE && !m.is_list) {
    int64_t room[2] = {-77, -77};
    TF_OperationGetAttrShape(op, a, room, m.total_size < 0 ? 0 : 2, st);
    if (say("shape")) printf("  %" PRId64 " %" PRId64 "\n", room[0], room[1]);
  } else {
    TF_OperationGetAttrShape(op, a, sd, 0, st);
    say("shape");
  }
  TF_OperationGetAttrShapeList(op, a, shp, nd, 3, sd, 8, st);
  if (say("shape list")) printf("  %d %d %d\n", nd[0], nd[1], nd[2]);
  TF_OperationGetAttrTensorShapeProto(op, a, buf, st);
  if (say("shape proto")) tr_dump_buffer("Shape", buf);
  TF_OperationGetAttrTensorShapeProtoList(op, a, bufs, 3, st);
  say("shape proto list");
  for (int k = 0; k < 3; ++k)
    if (bufs[k]) printf("  %zu bytes\n", bufs[k]->length), TF_DeleteBuffer(bufs[k]);
  TF_OperationGetAttrTensor(op, a, &te, st);
  if (say("tensor")) tr_show_free("  value", te);
  TF_OperationGetAttrTensorList(op, a, tev, 3, st);
  say("tensor list");
  for (int k = 0; k < 3; ++k)
    if (tev[k]) tr_show_free("  value", tev[k]);
  TF_DeleteBuffer(buf);
  buf = TF_NewBuffer();
  TF_OperationGetAttrValueProto(op, a, buf, st);
  if (say("value proto")) tr_dump_buffer("AttrValue", buf);
  TF_OperationGetAttrValueProto(op, a, buf, st);
  say("value proto into a full buffer");
  TF_DeleteBuffer(buf);
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  TF_Operation *n = build(g);
  static const char *const names[] = {"_string", "_strings", "_int",    "_ints",   "_float",
                                      "_floats", "_bool",    "_bools",  "_type",   "_types",
                                      "_shape",  "_unknown", "_shapes", "_tensor", "_tensors",
                                      "_func",   "_place",   "_none",   "",        "missing"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
    tr_case(names[k]);
    getters(n, names[k]);
  }
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
