/* Running functions: calls, If, Case, While, nested calls, errors inside. */
#include "transcript_graph.h"

/* f(x) = op(x, c) for floats. */
static TF_Function *unary(const char *name, const char *op, float c) {
  TF_Graph *b = TF_NewGraph();
  TF_Operation *x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_Operation *k = tg_cf(b, c, "k");
  TF_Operation *n = tg_op(b, op, "n", 2, x, k);
  TF_Output i = tg_out(x, 0), o = tg_out(n, 0);
  TF_Function *f = TF_GraphToFunction(b, name, 0, -1, NULL, 1, &i, 1, &o, NULL, NULL, NULL, st);
  if (TF_GetCode(st) != TF_OK) tr_status(name, st);
  TF_DeleteGraph(b);
  return f;
}
static void put(TF_Graph *g, TF_Function *f) {
  TF_GraphCopyFunction(g, f, NULL, st);
  if (TF_GetCode(st) != TF_OK) tr_status("copy", st);
  TF_DeleteFunction(f);
}
static TF_OperationDescription *types(TF_OperationDescription *d, const char *attr, TF_DataType a) {
  TF_SetAttrTypeList(d, attr, &a, 1);
  return d;
}
static TF_OperationDescription *call(TF_Graph *g, const char *op, const char *name,
                                     TF_Operation *arg, const char *fn) {
  TF_OperationDescription *d = TF_NewOperation(g, op, name);
  TF_Output l = tg_out(arg, 0);
  TF_AddInputList(d, &l, 1);
  types(d, "Tout", TF_FLOAT);
  if (fn) TF_SetAttrFuncName(d, "f", fn, strlen(fn));
  return d;
}

/* Each in a graph of its own: a bad call spoils every run of its session. */
static void bad_calls(void) {
  static const char *const names[] = {
      "call of an unknown function",       "call without f",
      "wrong number of arguments",         "wrong output type",
      "While whose body changes the type", "If of an unknown branch"};
  for (int k = 0; k < 6; ++k) {
    tr_case(names[k]);
    TF_Graph *g = TF_NewGraph();
    put(g, unary("Add10", "AddV2", 10));
    put(g, unary("Below100", "Less", 100));
    TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
    TF_Operation *fine = tg_cf(g, 1, "fine");
    TF_Output two[2] = {tg_out(p, 0), tg_out(p, 0)};
    TF_OperationDescription *d;
    if (k < 2)
      d = call(g, "PartitionedCall", "n", p, k ? NULL : "Nowhere");
    else {
      d = TF_NewOperation(g, k < 4 ? "PartitionedCall" : k < 5 ? "While" : "If", "n");
      if (k == 5) TF_AddInput(d, tg_out(fine, 0));
      TF_AddInputList(d, two, k == 2 ? 2 : 1);
      if (k != 4) types(d, "Tout", k == 3 ? TF_INT32 : TF_FLOAT);
      if (k < 4) TF_SetAttrFuncName(d, "f", "Add10", 5);
      if (k == 4)
        TF_SetAttrFuncName(d, "cond", "Below100", 8), TF_SetAttrFuncName(d, "body", "Below100", 8);
      if (k == 5)
        TF_SetAttrFuncName(d, "then_branch", "Add10", 5),
            TF_SetAttrFuncName(d, "else_branch", "Nope", 4);
    }
    TF_Operation *n = tg_finish_show(d, "build");
    TF_Session *s = tg_session(g);
    if (n) tg_fetch1(s, "run", p, tr_f32(1), n);
    tg_fetch(s, "other node", fine);
    tg_close(s);
    TF_DeleteGraph(g);
  }
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  put(g, unary("Add10", "AddV2", 10));
  put(g, unary("Times3", "Mul", 3));
  put(g, unary("Below100", "Less", 100));
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  TF_Session *s = tg_session(g);

  tr_case("PartitionedCall");
  TF_Operation *n = tg_finish_show(call(g, "PartitionedCall", "pc", p, "Add10"), "build");
  tg_shape(g, "pc", tg_out(n, 0));
  tg_fetch1(s, "run", p, tr_f32(1), n);
  tr_case("StatefulPartitionedCall");
  n = tg_finish_show(call(g, "StatefulPartitionedCall", "spc", p, "Times3"), "build");
  tg_fetch1(s, "run", p, tr_f32(5), n);
  tr_case("direct op");
  n = tg_op_show(g, "Times3", "direct", 1, p);
  tg_fetch1(s, "run", p, tr_f32(7), n);
  TF_OperationDescription *d;
  TF_Output two[2] = {tg_out(p, 0), tg_out(p, 0)};
  static const char *const ifs[2] = {"If", "StatelessIf"};
  for (int k = 0; k < 2; ++k) {
    tr_case(ifs[k]);
    char nm[16];
    TF_Operation *c = tg_ph(g, TF_BOOL, k ? "c1" : "c0", NULL, -1);
    snprintf(nm, sizeof nm, "if%d", k);
    d = TF_NewOperation(g, ifs[k], nm);
    TF_AddInput(d, tg_out(c, 0));
    TF_AddInputList(d, two, 1);
    types(d, "Tout", TF_FLOAT);
    TF_SetAttrFuncName(d, "then_branch", "Add10", 5);
    TF_SetAttrFuncName(d, "else_branch", "Times3", 6);
    n = tg_finish_show(d, "build");
    for (int v = 0; v < 2; ++v) {
      TF_Output in[2] = {tg_out(c, 0), tg_out(p, 0)}, out = tg_out(n, 0);
      TF_Tensor *vals[2] = {tr_bool(v != 0), tr_f32(4)};
      tg_run(s, v ? "true" : "false", in, vals, 2, &out, 1, NULL, 0);
    }
  }
  tr_case("If on a number");
  TF_Operation *ci = tg_ph(g, TF_INT32, "ci", NULL, -1);
  d = TF_NewOperation(g, "If", "ifn");
  TF_AddInput(d, tg_out(ci, 0));
  TF_AddInputList(d, two, 1);
  types(d, "Tout", TF_FLOAT);
  TF_SetAttrFuncName(d, "then_branch", "Add10", 5);
  TF_SetAttrFuncName(d, "else_branch", "Times3", 6);
  n = tg_finish_show(d, "build");
  for (int v = 0; v < 3; v += 2) {
    TF_Output in[2] = {tg_out(ci, 0), tg_out(p, 0)}, out = tg_out(n, 0);
    TF_Tensor *vals[2] = {tr_i32(v), tr_f32(4)};
    tg_run(s, v ? "2" : "0", in, vals, 2, &out, 1, NULL, 0);
  }
  tr_case("Case");
  d = TF_NewOperation(g, "Case", "case");
  TF_AddInput(d, tg_out(ci, 0));
  TF_AddInputList(d, two, 1);
  types(d, "Tout", TF_FLOAT);
  tr_pb av = {0}, li = {0}, fa = {0};
  tr_pb_str(&fa, 1, "Add10");
  tr_pb_msg(&li, 9, &fa);
  tr_pb_str(&fa, 1, "Times3");
  tr_pb_msg(&li, 9, &fa);
  tr_pb_msg(&av, 1, &li);
  TF_SetAttrValueProto(d, "branches", av.data, av.len, st);
  tr_pb_free(&av);
  n = tg_finish_show(d, "build");
  for (int v = -1; v < 3; ++v) {
    TF_Output in[2] = {tg_out(ci, 0), tg_out(p, 0)}, out = tg_out(n, 0);
    TF_Tensor *vals[2] = {tr_i32(v), tr_f32(4)};
    char w[8];
    snprintf(w, sizeof w, "%d", v);
    tg_run(s, w, in, vals, 2, &out, 1, NULL, 0);
  }
  for (int k = 0; k < 2; ++k) {
    tr_case(k ? "StatelessWhile" : "While");
    d = TF_NewOperation(g, k ? "StatelessWhile" : "While", k ? "w1" : "w0");
    TF_AddInputList(d, two, 1);
    TF_SetAttrFuncName(d, "cond", "Below100", 8);
    TF_SetAttrFuncName(d, "body", "Times3", 6);
    n = tg_finish_show(d, "build");
    tg_fetch1(s, "from 1", p, tr_f32(1), n);
    tg_fetch1(s, "from 1000", p, tr_f32(1000), n);
  }
  tg_close(s);

  tr_case("error inside a function");
  TF_Graph *b = TF_NewGraph();
  TF_Operation *x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_OperationDescription *cd = tg_desc(b, "CheckNumerics", "chk", 1, x);
  TF_SetAttrString(cd, "message", "boom", 4);
  TF_Operation *ck = tg_finish(cd);
  TF_Output i = tg_out(x, 0), o = tg_out(ck, 0);
  TF_Function *f =
      TF_GraphToFunction(b, "Checked", 0, -1, NULL, 1, &i, 1, &o, NULL, NULL, NULL, st);
  TF_DeleteGraph(b);
  put(g, f);
  float zero = 0.0f;
  n = tg_finish_show(call(g, "PartitionedCall", "chkcall", p, "Checked"), "PartitionedCall");
  TF_Operation *n2 = tg_op_show(g, "Checked", "chkdirect", 1, p);
  s = tg_session(g);
  tg_fetch1(s, "call", p, tr_f32(1.0f / zero), n);
  tg_fetch1(s, "direct", p, tr_f32(1.0f / zero), n2);
  tg_fetch1(s, "fine", p, tr_f32(1), n);

  tr_case("nested calls");
  b = TF_NewGraph();
  put(b, unary("Add10", "AddV2", 10));
  x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_Operation *c1 = tg_finish(call(b, "PartitionedCall", "c1", x, "Add10"));
  TF_Operation *c2 = tg_op(b, "Add10", "c2", 1, c1);
  i = tg_out(x, 0), o = tg_out(c2, 0);
  f = TF_GraphToFunction(b, "Add20", 0, -1, NULL, 1, &i, 1, &o, NULL, NULL, NULL, st);
  tr_status("to function", st);
  TF_DeleteGraph(b);
  put(g, f);
  n = tg_op_show(g, "Add20", "nested", 1, p);
  tg_fetch1(s, "run", p, tr_f32(1), n);

  tr_case("side effects through control outputs");
  TF_OperationDescription *vd = TF_NewOperation(g, "VarHandleOp", "v");
  TF_SetAttrType(vd, "dtype", TF_FLOAT);
  TF_SetAttrShape(vd, "shape", NULL, 0);
  TF_Operation *v = tg_finish(vd);
  TF_Operation *five = tg_cf(g, 5, "five");
  vd = tg_desc(g, "AssignVariableOp", "init", 2, v, five);
  TF_SetAttrType(vd, "dtype", TF_FLOAT);
  TF_Operation *init = tg_finish(vd);
  b = TF_NewGraph();
  TF_Operation *h = tg_ph(b, TF_RESOURCE, "h", NULL, 0);
  TF_Operation *one = tg_cf(b, 1, "one");
  vd = tg_desc(b, "AssignAddVariableOp", "inc", 2, h, one);
  TF_SetAttrType(vd, "dtype", TF_FLOAT);
  TF_Operation *inc = tg_finish(vd);
  const TF_Operation *co[1] = {inc};
  i = tg_out(h, 0), o = tg_out(one, 0);
  f = TF_GraphToFunctionWithControlOutputs(b, "Inc", 0, -1, NULL, 1, &i, 1, &o, NULL, 1, co, NULL,
                                           NULL, NULL, st);
  tr_status("to function", st);
  TF_DeleteGraph(b);
  put(g, f);
  n = tg_finish_show(call(g, "StatefulPartitionedCall", "inccall", v, "Inc"), "call");
  vd = tg_desc(g, "ReadVariableOp", "read", 1, v);
  TF_SetAttrType(vd, "dtype", TF_FLOAT);
  TF_Operation *rd = tg_finish(vd);
  tg_target(s, "init", init);
  tg_target(s, "inc", n);
  tg_target(s, "inc", n);
  tg_fetch(s, "read", rd);
  tg_close(s);
  TF_DeleteGraph(g);
  bad_calls();
  tg_end();
  return 0;
}
