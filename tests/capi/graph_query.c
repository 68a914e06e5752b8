/* Reading a graph back: edges, orders, names, protos, op and kernel lists. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

static TF_Graph *g;

static int cmp_str(const void *a, const void *b) {
  return strcmp((const char *)a, (const char *)b);
}

static const char *label(TF_Operation *op) {
  return op ? TF_OperationName(op) : "null";
}

static void node_def(TF_Operation *op) {
  TF_Buffer *b = TF_NewBuffer();
  TF_OperationToNodeDef(op, b, st);
  if (tr_status(TF_OperationName(op), st)) tr_dump_buffer("NodeDef", b);
  TF_DeleteBuffer(b);
}

static void describe(TF_Operation *op) {
  printf("%s %s device \"%s\" in %d out %d ctl-in %d ctl-out %d\n", TF_OperationName(op),
         TF_OperationOpType(op), TF_OperationDevice(op), TF_OperationNumInputs(op),
         TF_OperationNumOutputs(op), TF_OperationNumControlInputs(op),
         TF_OperationNumControlOutputs(op));
  int n = TF_OperationNumInputs(op);
  for (int i = 0; i < n; ++i) {
    TF_Output s = TF_OperationInput(tg_in(op, i));
    printf("  input %d %s:%d %s\n", i, label(s.oper), s.index,
           tr_dtype_name(TF_OperationInputType(tg_in(op, i))));
  }
  n = TF_OperationNumOutputs(op);
  for (int i = 0; i < n; ++i) {
    TF_Output o = tg_out(op, i);
    TF_Input c[8];
    int total = TF_OperationOutputNumConsumers(o);
    int k = TF_OperationOutputConsumers(o, c, 8);
    printf("  output %d %s consumers %d/%d:", i, tr_dtype_name(TF_OperationOutputType(o)), k,
           total);
    char lines[8][40];
    for (int j = 0; j < k && j < 8; ++j)
      snprintf(lines[j], 40, "%s:%d", label(c[j].oper), c[j].index);
    qsort(lines, (size_t)(k < 8 ? k : 8), 40, cmp_str);
    for (int j = 0; j < k && j < 8; ++j) printf(" %s", lines[j]);
    puts("");
    tg_shape(g, "   ", o);
  }
}

static void list_all(void) {
  size_t pos = 0;
  TF_Operation *op;
  while ((op = TF_GraphNextOperation(g, &pos)) != NULL) printf(" %s", TF_OperationName(op));
  puts("");
}

static void edges(void) {
  tr_case("empty graph");
  size_t pos = 0;
  printf("next null %d\n", TF_GraphNextOperation(g, &pos) == NULL);
  int64_t d[2] = {2, 3};
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", d, 2);
  TF_Operation *c = tg_cf(g, 1, "c");
  TF_Operation *add = tg_op(g, "AddV2", "add", 2, p, c);
  TF_Operation *axis = tg_ci(g, 1, "axis");
  TF_OperationDescription *dd = tg_desc(g, "Split", "split", 2, axis, add);
  TF_SetAttrInt(dd, "num_split", 3);
  TF_SetDevice(dd, "/device:CPU:0");
  TF_AddControlInput(dd, c);
  TF_AddControlInput(dd, p);
  TF_Operation *split = tg_finish(dd);
  TF_Output l[3] = {tg_out(split, 2), tg_out(split, 0), tg_out(p, 0)};
  dd = TF_NewOperation(g, "ConcatV2", "cat");
  TF_AddInputList(dd, l, 3);
  TF_AddInput(dd, tg_out(axis, 0));
  TF_Operation *cat = tg_finish(dd);
  dd = TF_NewOperation(g, "NoOp", "last");
  TF_AddControlInput(dd, cat);
  TF_AddControlInput(dd, split);
  TF_Operation *last = tg_finish(dd);
  tr_case("each operation");
  describe(p);
  describe(c);
  describe(add);
  describe(split);
  describe(cat);
  describe(last);
  tr_case("order");
  list_all();
  tr_case("all inputs");
  TF_Output in[4];
  TF_OperationAllInputs(cat, in, 4);
  for (int i = 0; i < 4; ++i) printf(" %s:%d", label(in[i].oper), in[i].index);
  puts("");
  TF_OperationAllInputs(cat, in, 2);
  printf("two: %s:%d %s:%d\n", label(in[0].oper), in[0].index, label(in[1].oper), in[1].index);
  tr_case("control inputs and outputs");
  TF_Operation *ops[4];
  int k = TF_OperationGetControlInputs(last, ops, 4);
  printf("last <-");
  for (int i = 0; i < k; ++i) printf(" %s", label(ops[i]));
  puts("");
  k = TF_OperationGetControlInputs(last, ops, 1);
  printf("max 1 returns %d\n", k);
  k = TF_OperationGetControlOutputs(split, ops, 4);
  printf("split -> %d %s\n", k, k ? label(ops[0]) : "");
  k = TF_OperationGetControlOutputs(c, ops, 4);
  printf("c -> %d\n", k);
  tr_case("consumers truncated");
  TF_Input cons[1];
  printf("%d of %d\n", TF_OperationOutputConsumers(tg_out(p, 0), cons, 1),
         TF_OperationOutputNumConsumers(tg_out(p, 0)));
  tr_case("list lengths");
  printf("%d ", TF_OperationOutputListLength(split, "output", st));
  tr_status("output", st);
  printf("%d ", TF_OperationInputListLength(cat, "values", st));
  tr_status("values", st);
  printf("%d ", TF_OperationInputListLength(cat, "axis", st));
  tr_status("axis", st);
  printf("%d ", TF_OperationInputListLength(cat, "nope", st));
  tr_status("input nope", st);
  printf("%d ", TF_OperationOutputListLength(cat, "nope", st));
  tr_status("output nope", st);
  tr_case("by name");
  printf("%s %s %s %s\n", label(TF_GraphOperationByName(g, "cat")),
         label(TF_GraphOperationByName(g, "none")), label(TF_GraphOperationByName(g, "")),
         label(TF_GraphOperationByName(g, "cat:0")));
  tr_case("node defs");
  node_def(p);
  node_def(c);
  node_def(split);
  node_def(cat);
  node_def(last);
  tr_case("graph def");
  TF_Buffer *b = TF_NewBuffer();
  TF_GraphToGraphDef(g, b, st);
  tr_status("to graph def", st);
  tr_dump_buffer("GraphDef", b);
  TF_DeleteBuffer(b);
  tr_case("versions");
  b = TF_NewBuffer();
  TF_GraphVersions(g, b, st);
  tr_status("versions", st);
  tr_dump_buffer("VersionDef", b);
  TF_DeleteBuffer(b);
  tr_case("debug string");
  size_t len = 0;
  const char *s = TF_GraphDebugString(g, &len);
  printf("length matches %d\n", s && strlen(s) == len);
  free((void *)(uintptr_t)s);
}

static void shapes(void) {
  TF_Operation *u = tg_ph(g, TF_FLOAT, "u", NULL, -1);
  TF_Output o = tg_out(u, 0);
  int64_t d[4] = {2, -1, -1, 5};
  tr_case("set tensor shape");
  tg_shape(g, "before", o);
  TF_GraphSetTensorShape(g, o, NULL, -1, st);
  tr_status("unknown", st);
  TF_GraphSetTensorShape(g, o, d, 2, st);
  tr_status("[2,?]", st);
  tg_shape(g, "after", o);
  d[0] = -1, d[1] = 3;
  TF_GraphSetTensorShape(g, o, d, 2, st);
  tr_status("[?,3]", st);
  tg_shape(g, "merged", o);
  d[0] = 4, d[1] = 3;
  TF_GraphSetTensorShape(g, o, d, 2, st);
  tr_status("[4,3]", st);
  d[0] = 2, d[1] = 3, d[2] = 4;
  TF_GraphSetTensorShape(g, o, d, 3, st);
  tr_status("[2,3,4]", st);
  TF_GraphSetTensorShape(g, o, NULL, -1, st);
  tr_status("unknown again", st);
  tg_shape(g, "still", o);
  TF_Operation *neg = tg_op(g, "Neg", "neg", 1, u);
  tg_shape(g, "consumer", tg_out(neg, 0));
  tr_case("get shape errors");
  int64_t got[4];
  TF_GraphGetTensorShape(g, o, got, 1, st);
  tr_status("too few dims", st);
  TF_GraphGetTensorShape(g, o, got, 3, st);
  tr_status("too many dims", st);
  TF_Graph *g2 = TF_NewGraph();
  TF_Operation *other = tg_cf(g2, 1, "other");
  TF_GraphGetTensorNumDims(g, tg_out(other, 0), st);
  tr_status("foreign op", st);
  TF_GraphSetTensorShape(g, tg_out(other, 0), d, 1, st);
  tr_status("foreign op set", st);
  TF_DeleteGraph(g2);
}

static void handles(void) {
  tr_case("handle shape and type");
  TF_OperationDescription *d = TF_NewOperation(g, "VarHandleOp", "v");
  int64_t dims[2] = {2, 3};
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", dims, 2);
  TF_Operation *v = tg_finish_show(d, "v");
  TF_Operation *ph = tg_ph(g, TF_RESOURCE, "ph", NULL, 0);
  d = tg_desc(g, "ReadVariableOp", "r", 1, v);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  tg_shape(g, "read", tg_out(tg_finish_show(d, "r"), 0));
  d = tg_desc(g, "ReadVariableOp", "r2", 1, v);
  TF_SetAttrType(d, "dtype", TF_INT32);
  tg_finish_show(d, "r2");
  d = tg_desc(g, "ReadVariableOp", "r3", 1, ph);
  TF_SetAttrType(d, "dtype", TF_INT32);
  tg_shape(g, "read of placeholder", tg_out(tg_finish_show(d, "r3"), 0));
  TF_Buffer *b = TF_GetHandleShapeAndType(g, tg_out(v, 0));
  tr_pb h = {0};
  tr_pb_raw(&h, b->data, b->length);
  const unsigned char *p = h.data, *e = h.data + h.len;
  tr_field f;
  while (tr_next(&p, e, &f)) {
    printf("field %d wire %d\n", f.num, f.wire);
    if (f.num == 2) tr_dump("HandleShape", f.p, f.n, 2);
  }
  TF_DeleteBuffer(b);
  TF_SetHandleShapeAndType(g, tg_out(ph, 0), h.data, h.len, st);
  tr_status("set handle data", st);
  d = tg_desc(g, "ReadVariableOp", "r4", 1, ph);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  tg_shape(g, "read of placeholder", tg_out(tg_finish_show(d, "r4"), 0));
  tr_pb_free(&h);
  TF_SetHandleShapeAndType(g, tg_out(ph, 0), "\xff\xff", 2, st);
  tr_status("bad bytes", st);
  b = TF_GetHandleShapeAndType(g, tg_out(TF_GraphOperationByName(g, "c"), 0));
  printf("no handle data: %s\n", b ? "buffer" : "null");
  if (b) TF_DeleteBuffer(b);
}

static void op_defs(void) {
  static const char *const names[] = {"Const",       "MatMul", "AddN", "Split",
                                      "VarHandleOp", "While",  "NoOp", "NoSuchOp"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    char w[64];
    snprintf(w, sizeof w, "op def %s", names[i]);
    tr_case(w);
    TF_Buffer *b = TF_NewBuffer();
    TF_GraphGetOpDef(g, names[i], b, st);
    if (tr_status("get", st)) tr_dump_buffer("OpDef", b);
    TF_DeleteBuffer(b);
  }
  tr_case("all op list");
  TF_Buffer *b = TF_GetAllOpList();
  const unsigned char *p = (const unsigned char *)b->data, *e = p + b->length;
  tr_field f, add = {0}, reshape = {0};
  int count = 0;
  while (tr_next(&p, e, &f)) {
    tr_field nm = tr_get(f.p, f.n, 1);
    ++count;
    if (nm.n == 5 && memcmp(nm.p, "AddV2", 5) == 0) add = f;
    if (nm.n == 7 && memcmp(nm.p, "Reshape", 7) == 0) reshape = f;
  }
  tr_dump("OpDef", add.p, add.n, 2);
  tr_dump("OpDef", reshape.p, reshape.n, 2);
  printf("more than 1000 %d\n", count > 1000);
  TF_DeleteBuffer(b);
  tr_case("op facts");
  printf("%d ", TF_OpIsStateful("VarHandleOp", st));
  tr_status("stateful VarHandleOp", st);
  printf("%d ", TF_OpIsStateful("Add", st));
  tr_status("stateful Add", st);
  TF_OpIsStateful("NoSuchOp", st);
  tr_status("stateful NoSuchOp", st);
}

static void kernels_for(const char *op) {
  char w[64];
  snprintf(w, sizeof w, "CPU and DEFAULT kernels for %s", op);
  tr_case(w);
  TF_Buffer *b = TF_GetRegisteredKernelsForOp(op, st);
  if (!tr_status("get", st)) return;
  const unsigned char *p = (const unsigned char *)b->data, *e = p + b->length;
  tr_field f;
  char line[64][160];
  int n = 0;
  while (tr_next(&p, e, &f) && n < 64) {
    tr_field dev = tr_get(f.p, f.n, 2), lab = tr_get(f.p, f.n, 5), pri = tr_get(f.p, f.n, 6);
    if (!(dev.n == 3 && memcmp(dev.p, "CPU", 3) == 0) &&
        !(dev.n == 7 && memcmp(dev.p, "DEFAULT", 7) == 0))
      continue;
    int k = snprintf(line[n], 160, "%.*s label \"%.*s\" priority %d", (int)dev.n,
                     (const char *)dev.p, (int)lab.n, lab.p ? (const char *)lab.p : "", (int)pri.v);
    const unsigned char *q = f.p, *qe = f.p + f.n;
    tr_field c;
    while (tr_next(&q, qe, &c)) {
      if (c.num == 4)
        k += snprintf(line[n] + k, 160 - (size_t)k, " host %.*s", (int)c.n, (const char *)c.p);
      if (c.num != 3) continue;
      tr_field cn = tr_get(c.p, c.n, 1), av = tr_get(c.p, c.n, 2), li = tr_get(av.p, av.n, 1);
      tr_field ty = tr_get(li.p, li.n, 6);
      k += snprintf(line[n] + k, 160 - (size_t)k, " %.*s=%s", (int)cn.n, (const char *)cn.p,
                    tr_dtype_name(ty.wire == 2 ? ty.p[0] : (int)ty.v));
    }
    ++n;
  }
  qsort(line, (size_t)n, sizeof line[0], cmp_str);
  for (int i = 0; i < n; ++i) puts(line[i]);
  TF_DeleteBuffer(b);
}

int main(void) {
  tg_begin();
  tr_case("iteration continued after the end");
  g = TF_NewGraph();
  tg_cf(g, 1, "n1");
  size_t pos = 0;
  printf("%s\n", label(TF_GraphNextOperation(g, &pos)));
  printf("pos %zu\n", pos);
  printf("%s\n", label(TF_GraphNextOperation(g, &pos)));
  printf("pos %zu\n", pos);
  tg_cf(g, 1, "n2");
  tg_cf(g, 1, "n3");
  printf("%s\n", label(TF_GraphNextOperation(g, &pos)));
  printf("%s\n", label(TF_GraphNextOperation(g, &pos)));
  TF_DeleteGraph(g);
  g = TF_NewGraph();
  edges();
  shapes();
  handles();
  op_defs();
  kernels_for("MatMul");
  kernels_for("NoOp");
  kernels_for("Reshape");
  kernels_for("NoSuchOp");
  tr_case("all kernels");
  TF_Buffer *b = TF_GetAllRegisteredKernels(st);
  tr_status("get", st);
  printf("many %d\n", b->length > 10000);
  TF_DeleteBuffer(b);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
