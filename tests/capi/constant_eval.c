/* TF_TryEvaluateConstant: what counts as constant, and what it says of everything else. */
#include "transcript_graph.h"

static TF_Graph *g;

static void eval(const char *what, TF_Operation *op, int index) {
  TF_Tensor *t = NULL;
  if (op == NULL) {
    printf("%s: no operation\n", what);
    return;
  }
  unsigned char known = TF_TryEvaluateConstant(g, tg_out(op, index), &t, st);
  tr_status(what, st);
  printf("  known %d\n", known);
  if (t) tr_show_free("  value", t);
  TF_SetStatus(st, TF_OK, "");
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  int64_t d[2] = {2, 3}, part[2] = {2, -1};
  float v[6] = {1, 2, 3, 4, 5, 6};
  TF_Operation *c = tg_const(g, tr_tensor(TF_FLOAT, d, 2, v), "c");
  TF_Operation *s = tg_const(g, tr_str("text"), "s"), *i0 = tg_ci(g, 0, "i0");
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", d, 2), *pp = tg_ph(g, TF_FLOAT, "pp", part, 2);
  TF_Operation *pu = tg_ph(g, TF_FLOAT, "pu", NULL, -1);
  tr_case("constants");
  eval("const", c, 0);
  eval("string", s, 0);
  eval("neg", tg_op(g, "Neg", "neg", 1, c), 0);
  eval("identity", tg_op(g, "Identity", "id", 1, c), 0);
  eval("string identity", tg_op(g, "Identity", "ids", 1, s), 0);
  eval("sum", tg_op(g, "Sum", "sum", 2, c, i0), 0);
  TF_OperationDescription *x = tg_desc(g, "Cast", "cast", 1, c);
  TF_SetAttrType(x, "DstT", TF_INT64);
  eval("cast", tg_finish(x), 0);
  x = tg_desc(g, "Split", "split", 2, i0, c);
  TF_SetAttrInt(x, "num_split", 2);
  TF_Operation *split = tg_finish(x);
  eval("split 0", split, 0);
  eval("split 1", split, 1);
  x = tg_desc(g, "Neg", "ctl", 1, c);
  TF_AddControlInput(x, p);
  eval("after a placeholder", tg_finish(x), 0);
  x = tg_desc(g, "Neg", "ctl2", 1, c);
  TF_AddControlInput(x, s);
  eval("after a constant", tg_finish(x), 0);
  tr_case("shapes");
  eval("shape of a constant", tg_op(g, "Shape", "sh", 1, c), 0);
  eval("shape of a known placeholder", tg_op(g, "Shape", "shp", 1, p), 0);
  eval("shape of a partly known one", tg_op(g, "Shape", "shpp", 1, pp), 0);
  eval("shape of an unknown one", tg_op(g, "Shape", "shpu", 1, pu), 0);
  eval("size", tg_op(g, "Size", "sz", 1, p), 0);
  eval("size partly", tg_op(g, "Size", "szp", 1, pp), 0);
  eval("rank", tg_op(g, "Rank", "rk", 1, pp), 0);
  eval("rank unknown", tg_op(g, "Rank", "rku", 1, pu), 0);
  x = tg_desc(g, "Shape", "sh64", 1, p);
  TF_SetAttrType(x, "out_type", TF_INT64);
  eval("shape int64", tg_finish(x), 0);
  x = TF_NewOperation(g, "ShapeN", "shn");
  TF_Output two[2] = {tg_out(p, 0), tg_out(c, 0)};
  TF_AddInputList(x, two, 2);
  TF_Operation *shn = tg_finish(x);
  eval("shapes 0", shn, 0);
  eval("shapes 1", shn, 1);
  eval("double size",
       tg_op(g, "AddV2", "dsz", 2, TF_GraphOperationByName(g, "sz"),
             TF_GraphOperationByName(g, "sz")),
       0);
  eval("zeros like", tg_op(g, "ZerosLike", "zl", 1, p), 0);
  tr_case("not constant");
  eval("placeholder", p, 0);
  eval("neg of one", tg_op(g, "Neg", "np", 1, p), 0);
  x = tg_desc(g, "PlaceholderWithDefault", "pwd", 1, c);
  TF_SetAttrShape(x, "shape", d, 2);
  TF_Operation *pwd = tg_finish(x);
  eval("placeholder with default", pwd, 0);
  eval("neg of it", tg_op(g, "Neg", "npwd", 1, pwd), 0);
  TF_Operation *sh = TF_GraphOperationByName(g, "sh");
  x = tg_desc(g, "RandomUniform", "rnd", 1, sh);
  TF_SetAttrType(x, "dtype", TF_FLOAT);
  TF_Operation *rnd = tg_finish(x);
  eval("random", rnd, 0);
  eval("neg of random", tg_op(g, "Neg", "nrnd", 1, rnd), 0);
  eval("shape of random", tg_op(g, "Shape", "srnd", 1, rnd), 0);
  x = TF_NewOperation(g, "VarHandleOp", "var");
  TF_SetAttrType(x, "dtype", TF_FLOAT);
  TF_SetAttrShape(x, "shape", d, 2);
  TF_Operation *var = tg_finish(x);
  eval("handle", var, 0);
  x = tg_desc(g, "ReadVariableOp", "read", 1, var);
  TF_SetAttrType(x, "dtype", TF_FLOAT);
  TF_Operation *read = tg_finish(x);
  eval("read", read, 0);
  eval("shape of read", tg_op(g, "Shape", "sread", 1, read), 0);
  eval("variable shape", tg_op(g, "VariableShape", "vsh", 1, var), 0);
  x = tg_desc(g, "Switch", "sw", 2, c, tg_const(g, tr_bool(true), "yes"));
  eval("switch false", tg_finish(x), 0);
  tr_case("mistakes");
  x = tg_desc(g, "CheckNumerics", "chk", 1, tg_cf(g, 1.0f / 0.0f, "inf"));
  TF_SetAttrString(x, "message", "no", 2);
  eval("a kernel that fails", tg_finish(x), 0);
  eval("int division by zero", tg_op(g, "FloorDiv", "div", 2, tg_ci(g, 1, "one"), i0), 0);
  x = TF_NewOperation(g, "Bitcast", "bit");
  TF_AddInput(x, tg_out(i0, 0));
  TF_SetAttrType(x, "type", TF_FLOAT);
  eval("bitcast", tg_finish(x), 0);
  tr_case("functions and large values");
  TF_Graph *b = TF_NewGraph();
  TF_Operation *a = tg_ph(b, TF_FLOAT, "a", NULL, -1), *n = tg_op(b, "Neg", "n", 1, a);
  TF_Output in = tg_out(a, 0), out = tg_out(n, 0);
  TF_Function *f = TF_GraphToFunction(b, "F", 0, -1, NULL, 1, &in, 1, &out, NULL, NULL, NULL, st);
  TF_GraphCopyFunction(g, f, NULL, st);
  TF_DeleteFunction(f);
  TF_DeleteGraph(b);
  eval("call", tg_op(g, "F", "call", 1, c), 0);
  int32_t bigdims[2] = {2000, 2000};
  TF_Operation *bd = tg_const(g, tr_vec(TF_INT32, 2, bigdims), "bd");
  TF_Operation *fill = tg_op(g, "Fill", "fill", 2, bd, tg_cf(g, 1, "cell"));
  TF_Operation *axes = tg_const(g, tr_vec(TF_INT32, 2, (int32_t[]){0, 1}), "axes");
  eval("sum of a large fill", tg_op(g, "Sum", "bigsum", 2, fill, axes), 0);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
