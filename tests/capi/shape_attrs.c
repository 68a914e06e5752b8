/* Shapes with sizes that cannot be (below -1, huge, overflowing), wherever a client can write one: setters,
   bytes, GraphDefs, tensor shapes, eager attributes; what the getters give back of those that pass. */
#include "tensorflow/c/eager/c_api.h"
#include "transcript_graph.h"

static const int64_t shapes[][4] = {
    {2, -2},        {-3, 2},         {INT64_MIN, 1}, {INT64_MAX, 2},
    {0, INT64_MAX}, {-1, INT64_MAX}, {1, 3},         {3037000500, 3037000500}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void proto(tr_pb *b, const int64_t *d, int n) {
  for (int i = 0; i < n; i++) {
    tr_pb dim = {0};
    tr_pb_int(&dim, 1, d[i]);
    tr_pb_msg(b, 2, &dim);
  }
}

static void look(TF_Graph *g, TF_Operation *op, const char *attr) {
  if (!op) return;
  tg_shape(g, "  inferred", tg_out(op, 0));
  int64_t d[4] = {9, 9, 9, 9};
  TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, attr, st);
  if (tr_status("  metadata", st)) printf("  total %d type %d\n", (int)m.total_size, (int)m.type);
  TF_OperationGetAttrShape(op, attr, d, 4, st);
  if (tr_status("  shape", st)) printf("  %" PRId64 " %" PRId64 " %" PRId64 "\n", d[0], d[1], d[2]);
  TF_Buffer *b = TF_NewBuffer();
  TF_OperationGetAttrTensorShapeProto(op, attr, b, st);
  if (tr_status("  proto", st)) tr_dump_buffer("Shape", b);
  TF_DeleteBuffer(b);
}

static void lists(TF_Graph *g, const int64_t *shape) {
  TF_OperationDescription *d = TF_NewOperation(g, "FIFOQueueV2", "f");
  TF_DataType t = TF_FLOAT;
  TF_SetAttrTypeList(d, "component_types", &t, 1);
  const int64_t *list[1] = {shape};
  int n[1] = {2};
  TF_SetAttrShapeList(d, "shapes", list, n, 1);
  tg_finish_show(d, "SetAttrShapeList");
  TF_SetStatus(st, TF_OK, "");
  d = TF_NewOperation(g, "NoOp", "undeclared");
  TF_SetAttrShape(d, "_s", shape, 2);
  TF_Operation *op = tg_finish_show(d, "undeclared");
  if (op) {
    int64_t got[2] = {9, 9};
    TF_OperationGetAttrShape(op, "_s", got, 2, st);
    if (tr_status("  shape", st)) printf("  %" PRId64 " %" PRId64 "\n", got[0], got[1]);
  }
}

static void setters(void) {
  for (int i = 0; i < SHAPES; i++) {
    if (i == 3 || i == 5 || i == 7) continue; /* TensorFlow notices when it is too late to say so */
    char what[64];
    snprintf(what, sizeof what, "setter %d", i);
    tr_case(what);
    TF_Graph *g = TF_NewGraph();
    TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "p");
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrShape(d, "shape", shapes[i], 2);
    look(g, tg_finish_show(d, "SetAttrShape"), "shape");
    tr_pb b = {0};
    proto(&b, shapes[i], 2);
    d = TF_NewOperation(g, "Placeholder", "q");
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrTensorShapeProto(d, "shape", b.data, b.len, st);
    tr_status("SetAttrTensorShapeProto", st);
    look(g, tg_finish_show(d, "finish"), "shape");
    lists(g, shapes[i]);
    tr_pb_free(&b);
    TF_DeleteGraph(g);
  }
}

static void imported(void) {
  tr_case("GraphDef");
  for (int i = 0; i < SHAPES; i++) {
    tr_pb gd = {0}, node = {0}, e = {0}, v = {0}, s = {0};
    tr_pb_str(&node, 1, "p");
    tr_pb_str(&node, 2, "Placeholder");
    tr_pb_str(&e, 1, "dtype");
    tr_pb_int(&v, 6, 1);
    tr_pb_msg(&e, 2, &v);
    tr_pb_msg(&node, 5, &e);
    proto(&s, shapes[i], 2);
    tr_pb_msg(&v, 7, &s);
    tr_pb_str(&e, 1, "shape");
    tr_pb_msg(&e, 2, &v);
    tr_pb_msg(&node, 5, &e);
    tr_pb_msg(&gd, 1, &node);
    TF_Buffer *b = TF_NewBufferFromString(gd.data, gd.len);
    TF_Graph *g = TF_NewGraph();
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    TF_GraphImportGraphDef(g, b, o, st);
    if (tr_status("import", st)) tg_shape(g, "  p", tg_out(TF_GraphOperationByName(g, "p"), 0));
    TF_DeleteImportGraphDefOptions(o);
    TF_DeleteBuffer(b);
    TF_DeleteGraph(g);
    tr_pb_free(&gd);
  }
}

static void tensors(void) {
  tr_case("GraphSetTensorShape");
  for (int i = 0; i < SHAPES; i++) {
    TF_Graph *g = TF_NewGraph();
    TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -2);
    TF_GraphSetTensorShape(g, tg_out(p, 0), shapes[i], 2, st);
    tr_status("set", st);
    tg_shape(g, "  p", tg_out(p, 0));
    TF_DeleteGraph(g);
  }
}

static void eagerly(void) {
  tr_case("eager");
  TFE_ContextOptions *co = TFE_NewContextOptions();
  TFE_Context *c = TFE_NewContext(co, st);
  TFE_DeleteContextOptions(co);
  for (int i = 0; i < SHAPES; i++) {
    TFE_Op *op = TFE_NewOp(c, "VarHandleOp", st);
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    TFE_OpSetAttrShape(op, "shape", shapes[i], 2, st);
    tr_status("set", st);
    TFE_TensorHandle *out = NULL;
    int n = 1;
    TFE_Execute(op, &out, &n, st);
    tr_status("  execute", st);
    if (out) TFE_DeleteTensorHandle(out);
    TFE_DeleteOp(op);
  }
  TFE_DeleteContext(c);
}

int main(void) {
  tg_begin();
  setters();
  imported();
  tensors();
  eagerly();
  tg_end();
  return 0;
}
