/* GraphDefs of other versions: producer, min_consumer and bad_consumers, ops that came or went, attributes with
   defaults that an old producer leaves out or a new one adds, and what TF_GraphVersions says afterwards. */
#include "transcript_graph.h"

static void attr_type(tr_pb *node, const char *name, int t) {
  tr_pb e = {0}, v = {0};
  tr_pb_str(&e, 1, name);
  tr_pb_int(&v, 6, t);
  tr_pb_msg(&e, 2, &v);
  tr_pb_msg(node, 5, &e);
}
static void attr_int(tr_pb *node, const char *name, int field, int64_t i) {
  tr_pb e = {0}, v = {0};
  tr_pb_str(&e, 1, name);
  tr_pb_int(&v, field, i);
  tr_pb_msg(&e, 2, &v);
  tr_pb_msg(node, 5, &e);
}
static tr_pb placeholder(const char *name) {
  tr_pb n = {0};
  tr_pb_str(&n, 1, name);
  tr_pb_str(&n, 2, "Placeholder");
  attr_type(&n, "dtype", 1);
  return n;
}

static void import(const char *what, int producer, int min_consumer, int bad, tr_pb *extra) {
  tr_pb g = {0}, v = {0}, n = placeholder("p");
  tr_pb_msg(&g, 1, &n);
  if (extra) tr_pb_msg(&g, 1, extra);
  if (producer) tr_pb_int(&v, 1, producer);
  if (min_consumer) tr_pb_int(&v, 2, min_consumer);
  if (bad) tr_pb_int(&v, 3, bad);
  if (v.len) tr_pb_msg(&g, 4, &v);
  TF_Buffer *b = TF_NewBufferFromString(g.data, g.len);
  TF_Graph *graph = TF_NewGraph();
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(graph, b, o, st);
  if (tr_status(what, st)) {
    TF_Buffer *ver = TF_NewBuffer();
    TF_GraphVersions(graph, ver, st);
    const unsigned char *p = ver->data, *end = p + ver->length;
    tr_field f;
    while (tr_next(&p, end, &f))
      if (f.num != 1 || f.v < 1000) printf("  version field %d: %d\n", f.num, (int)f.v);
    TF_DeleteBuffer(ver);
    tg_shape(graph, "  p", tg_out(TF_GraphOperationByName(graph, "p"), 0));
    TF_Operation *x = TF_GraphOperationByName(graph, "x");
    if (x) {
      TF_Buffer *nd = TF_NewBuffer();
      TF_OperationToNodeDef(x, nd, st);
      tr_dump("NodeDef", nd->data, nd->length, 2);
      TF_DeleteBuffer(nd);
    }
  }
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteGraph(graph);
  TF_DeleteBuffer(b);
  tr_pb_free(&g);
}

static tr_pb node(const char *op, const char *in0, const char *in1) {
  tr_pb n = {0};
  tr_pb_str(&n, 1, "x");
  tr_pb_str(&n, 2, op);
  if (in0) tr_pb_str(&n, 3, in0);
  if (in1) tr_pb_str(&n, 3, in1);
  attr_type(&n, "T", 1);
  return n;
}

int main(void) {
  tg_begin();
  tr_case("versions");
  import("none", 0, 0, 0, NULL);
  import("producer 1", 1, 0, 0, NULL);
  import("producer 21", 21, 0, 0, NULL);
  import("producer 27", 27, 12, 0, NULL);
  import("producer -5", -5, 0, 0, NULL);
  import("a producer of the future", 99999, 0, 0, NULL);
  import("min_consumer above producer", 10, 27, 0, NULL);
  import("min_consumer of the future", 27, 99999, 0, NULL);
  import("negative min_consumer", 27, -3, 0, NULL);
  import("a bad consumer, not us", 27, 0, 5, NULL);
  tr_case("ops that went");
  tr_pb n;
  static const char *const gone[] = {"BatchNormWithGlobalNormalization",
                                     "RefSwitch",
                                     "AdjustContrast",
                                     "ExtractGlimpse",
                                     "BatchMatrixDiag",
                                     "Pack"};
  for (int i = 0; i < 5; i++) {
    for (int producer = 5; producer < 40; producer += 16) {
      n = node(gone[i], "p", "p");
      import(gone[i], producer, 0, 0, &n);
    }
  }
  tr_case("attributes");
  n = node("LeakyRelu", "p", NULL);
  import("a default that is left out", 27, 0, 0, &n);
  n = node("LeakyRelu", "p", NULL);
  attr_int(&n, "new_attr", 3, 7);
  import("one that nobody knows", 27, 0, 0, &n);
  n = node("LeakyRelu", "p", NULL);
  attr_int(&n, "_mine", 3, 7);
  import("one with an underscore", 27, 0, 0, &n);
  n = node("LeakyRelu", "p", NULL);
  attr_int(&n, "new_attr", 3, 7);
  import("the same from the future", 99999, 0, 0, &n);
  n = node("MatMul", "p", "p");
  attr_int(&n, "transpose_a", 5, 1);
  import("some given", 27, 0, 0, &n);
  n = node("NoSuchOp", "p", NULL);
  import("an op from the future", 99999, 0, 0, &n);
  tg_end();
  return 0;
}
