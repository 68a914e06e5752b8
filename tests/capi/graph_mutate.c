/* Changing a finished graph: edges, attributes, devices, control inputs. */
#include "transcript_graph.h"

static TF_Graph *g;

static void node_def(TF_Operation *op) {
  TF_Buffer *b = TF_NewBuffer();
  TF_OperationToNodeDef(op, b, st);
  if (tr_status(TF_OperationName(op), st)) tr_dump_buffer("NodeDef", b);
  TF_DeleteBuffer(b);
}

static void inputs(TF_Operation *op) {
  printf("%s <-", TF_OperationName(op));
  for (int i = 0; i < TF_OperationNumInputs(op); ++i) {
    TF_Output o = TF_OperationInput(tg_in(op, i));
    printf(" %s:%d", TF_OperationName(o.oper), o.index);
  }
  TF_Operation *c[8];
  int n = TF_OperationGetControlInputs(op, c, 8);
  for (int i = 0; i < n; ++i) printf(" ^%s", TF_OperationName(c[i]));
  puts("");
}

static TF_Buffer *attr_int(int64_t v) {
  tr_pb p = {0};
  tr_pb_int(&p, 3, v);
  TF_Buffer *b = TF_NewBufferFromString(p.data, p.len);
  tr_pb_free(&p);
  return b;
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  int64_t d23[2] = {2, 3}, d45[2] = {4, 5};
  TF_Operation *a = tg_ph(g, TF_FLOAT, "a", d23, 2);
  TF_Operation *b = tg_ph(g, TF_FLOAT, "b", d23, 2);
  TF_Operation *c = tg_ph(g, TF_FLOAT, "c", d45, 2);
  TF_Operation *i = tg_ph(g, TF_INT32, "i", d23, 2);
  TF_Operation *add = tg_op(g, "AddV2", "add", 2, a, a);
  TF_Operation *neg = tg_op(g, "Neg", "neg", 1, add);

  tr_case("update edge");
  inputs(add);
  TF_UpdateEdge(g, tg_out(b, 0), tg_in(add, 1), st);
  tr_status("b -> add:1", st);
  inputs(add);
  node_def(add);
  printf("a consumers %d b consumers %d\n", TF_OperationOutputNumConsumers(tg_out(a, 0)),
         TF_OperationOutputNumConsumers(tg_out(b, 0)));
  tr_case("update edge errors");
  TF_UpdateEdge(g, tg_out(i, 0), tg_in(add, 0), st);
  tr_status("type mismatch", st);
  TF_UpdateEdge(g, tg_out(c, 0), tg_in(add, 0), st);
  tr_status("shape mismatch", st);
  TF_UpdateEdge(g, tg_out(a, 1), tg_in(add, 0), st);
  tr_status("bad output index", st);
  TF_UpdateEdge(g, tg_out(a, 0), tg_in(add, 7), st);
  tr_status("bad input index", st);
  TF_UpdateEdge(g, tg_out(neg, 0), tg_in(add, 0), st);
  tr_status("cycle", st);
  inputs(add);

  tr_case("add control input");
  TF_AddOperationControlInput(g, neg, a);
  TF_AddOperationControlInput(g, neg, b);
  TF_AddOperationControlInput(g, neg, a);
  inputs(neg);
  node_def(neg);
  printf("a control outputs %d\n", TF_OperationNumControlOutputs(a));
  tr_case("remove control inputs");
  TF_RemoveAllControlInputs(g, neg);
  inputs(neg);
  node_def(neg);
  TF_RemoveAllControlInputs(g, a);
  printf("a control outputs %d\n", TF_OperationNumControlOutputs(a));

  tr_case("set attr");
  TF_Buffer *v = attr_int(5);
  TF_SetAttr(g, neg, "_mine", v, st);
  tr_status("_mine", st);
  TF_SetAttr(g, neg, "public", v, st);
  tr_status("public", st);
  node_def(neg);
  TF_DeleteBuffer(v);
  v = attr_int(6);
  TF_SetAttr(g, neg, "_mine", v, st);
  tr_status("_mine again", st);
  TF_DeleteBuffer(v);
  v = TF_NewBufferFromString("\xff\xff", 2);
  TF_SetAttr(g, neg, "_bad", v, st);
  tr_status("bad bytes", st);
  TF_DeleteBuffer(v);
  node_def(neg);
  tr_case("clear attr");
  TF_ClearAttr(g, neg, "_mine", st);
  tr_status("_mine", st);
  TF_ClearAttr(g, neg, "_mine", st);
  tr_status("_mine again", st);
  TF_ClearAttr(g, neg, "public", st);
  tr_status("public", st);
  node_def(neg);

  tr_case("set requested device");
  TF_SetRequestedDevice(g, neg, "/device:CPU:0");
  printf("device \"%s\"\n", TF_OperationDevice(neg));
  TF_SetRequestedDevice(g, neg, "anything at all");
  printf("device \"%s\"\n", TF_OperationDevice(neg));
  TF_SetRequestedDevice(g, neg, "");
  printf("device \"%s\"\n", TF_OperationDevice(neg));

  tr_case("mutating after a session ran");
  TF_Graph *h = TF_NewGraph();
  TF_Operation *x = tg_cf(h, 2, "x");
  TF_Operation *y = tg_cf(h, 5, "y");
  TF_Operation *n1 = tg_op(h, "Neg", "n1", 1, x);
  TF_Operation *n2 = tg_op(h, "Identity", "n2", 1, n1);
  TF_Session *s = tg_session(h);
  tg_fetch(s, "before", n2);
  TF_UpdateEdge(h, tg_out(y, 0), tg_in(n1, 0), st);
  tr_status("update edge", st);
  tg_fetch(s, "after edge", n2);
  tg_fetch(s, "after edge again", n1);
  tg_close(s);
  s = tg_session(h);
  tg_fetch(s, "new session", n2);
  TF_AddOperationControlInput(h, n1, x);
  tg_fetch(s, "after control input", n2);
  tg_close(s);
  s = tg_session(h);
  tg_fetch(s, "ran", n2);
  TF_SetRequestedDevice(h, n1, "/device:GPU:0");
  tg_fetch(s, "after device", n2);
  tg_close(s);
  TF_DeleteGraph(h);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
