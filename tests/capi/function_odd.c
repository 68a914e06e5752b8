/* Functions at their edges: recursion, nothing in or out, unused and repeated arguments, resources. */
#include "transcript_graph.h"
#include "tensorflow/c/c_api_experimental.h"

static TF_Function *make(TF_Graph *g, const char *name, int nin, const TF_Output *in, int nout,
                         const TF_Output *out) {
  TF_Function *f =
      TF_GraphToFunction(g, name, 0, -1, NULL, nin, in, nout, out, NULL, NULL, NULL, st);
  tr_status(name, st);
  return f;
}

static void show(TF_Function *f) {
  TF_Buffer *b = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, b, st);
  if (tr_status("def", st)) tr_dump_buffer("FunctionDef", b);
  TF_DeleteBuffer(b);
}

static TF_Operation *call(TF_Graph *g, const char *f, const char *name, int n, TF_Output *in,
                          int nout) {
  TF_OperationDescription *d = TF_NewOperation(g, "StatefulPartitionedCall", name);
  TF_DataType types[4] = {TF_FLOAT, TF_FLOAT, TF_FLOAT, TF_FLOAT};
  TF_AddInputList(d, in, n);
  TF_SetAttrTypeList(d, "Tin", types, n);
  TF_SetAttrTypeList(d, "Tout", types, nout);
  TF_SetAttrFuncName(d, "f", f, strlen(f));
  return tg_finish_show(d, name);
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, 0);
  TF_Output pin = tg_out(p, 0);

  tr_case("nothing in, nothing out");
  TF_Graph *b = TF_NewGraph();
  tg_op(b, "NoOp", "nop", 0);
  TF_Function *f = make(b, "nothing", 0, NULL, 0, NULL);
  if (f) {
    show(f);
    TF_GraphCopyFunction(g, f, NULL, st);
    tr_status("copy", st);
    TF_DeleteFunction(f);
  }
  TF_DeleteGraph(b);
  TF_Operation *none = call(g, "nothing", "call_nothing", 0, &pin, 0);
  TF_Session *s = tg_session(g);
  if (none) tg_target(s, "run", none);

  tr_case("the argument itself, twice");
  b = TF_NewGraph();
  TF_Operation *x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_Output xo[2] = {tg_out(x, 0), tg_out(x, 0)};
  f = make(b, "same", 1, xo, 2, xo);
  if (f) {
    show(f);
    TF_GraphCopyFunction(g, f, NULL, st);
    tr_status("copy", st);
    TF_DeleteFunction(f);
    TF_Operation *same = call(g, "same", "call_same", 1, &pin, 2);
    TF_Output out[2] = {tg_out(same, 0), tg_out(same, 1)};
    TF_Tensor *v = tr_f32(3);
    if (same) tg_run(s, "run", &pin, &v, 1, out, 2, NULL, 0);
  }
  TF_DeleteGraph(b);

  tr_case("an argument nobody uses");
  b = TF_NewGraph();
  x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_Operation *y = tg_ph(b, TF_FLOAT, "y", NULL, -1);
  TF_Output in2[2] = {tg_out(x, 0), tg_out(y, 0)};
  TF_Output neg = tg_out(tg_op(b, "Neg", "n", 1, x), 0);
  f = make(b, "unused", 2, in2, 1, &neg);
  if (f) {
    TF_GraphCopyFunction(g, f, NULL, st);
    TF_DeleteFunction(f);
    TF_Output both[2] = {pin, pin};
    TF_Operation *op = call(g, "unused", "call_unused", 2, both, 1);
    if (op) tg_fetch1(s, "run", p, tr_f32(2), op);
  }
  tr_case("too many arguments");
  TF_Output three[3] = {pin, pin, pin};
  TF_Operation *many = call(g, "unused", "many", 3, three, 1);
  if (many) tg_fetch1(s, "many", p, tr_f32(2), many);
  TF_DeleteGraph(b);

  tr_case("a function that calls a function");
  b = TF_NewGraph();
  x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_Output xi = tg_out(x, 0);
  TF_Operation *inner = call(b, "unused", "inner", 2, (TF_Output[2]){xi, xi}, 1);
  if (inner) {
    TF_Output o = tg_out(inner, 0);
    f = make(b, "outer", 1, &xi, 1, &o);
    if (f) {
      TF_GraphCopyFunction(g, f, NULL, st);
      tr_status("copy", st);
      TF_DeleteFunction(f);
      TF_Operation *op = call(g, "outer", "call_outer", 1, &pin, 1);
      if (op) tg_fetch1(s, "run", p, tr_f32(5), op);
    }
  }
  TF_DeleteGraph(b);

  tr_case("bytes that are no function");
  static const char *const bad[] = {"", "nonsense", "\x0a\x02\x0a"};
  static const size_t len[] = {0, 8, 3};
  for (int i = 0; i < 3; i++) {
    f = TF_FunctionImportFunctionDef(bad[i], len[i], st);
    tr_status("import", st);
    if (f) {
      printf("name ");
      tr_escaped(TF_FunctionName(f), strlen(TF_FunctionName(f)));
      putchar('\n');
      TF_GraphCopyFunction(g, f, NULL, st);
      tr_status("copy", st);
      TF_DeleteFunction(f);
    }
  }

  tr_case("attributes of a function");
  b = TF_NewGraph();
  x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  xi = tg_out(x, 0);
  neg = tg_out(tg_op(b, "Neg", "n", 1, x), 0);
  f = make(b, "attrs", 1, &xi, 1, &neg);
  TF_FunctionSetAttrValueProto(f, "_a", "\x18\x07", 2, st); /* i: 7 */
  tr_status("set", st);
  TF_FunctionSetAttrValueProto(f, "_b", "\xff", 1, st);
  tr_status("set nonsense", st);
  TF_Buffer *v = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(f, "_a", v, st);
  if (tr_status("get", st)) tr_dump_buffer("AttrValue", v);
  TF_DeleteBuffer(v);
  v = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(f, "_none", v, st);
  tr_status("get what is not there", st);
  TF_DeleteBuffer(v);
  TF_DeleteFunction(f);
  TF_DeleteGraph(b);

  tr_case("removing functions");
  printf("functions %d\n", TF_GraphNumFunctions(g));
  TF_GraphRemoveFunction(g, "unused", st);
  tr_status("remove", st);
  TF_GraphRemoveFunction(g, "unused", st);
  tr_status("remove again", st);
  printf("functions %d\n", TF_GraphNumFunctions(g));
  TF_Function *list[8];
  printf("got %d\n", TF_GraphGetFunctions(g, list, 1, st));
  tr_status("get one", st);
  TF_DeleteFunction(list[0]);
  printf("got %d\n", TF_GraphGetFunctions(g, list, 0, st));
  tr_status("get none", st);

  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
