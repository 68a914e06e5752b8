/* TF_GraphToFunction: what may be an input, an output, a part of the body; names; errors. */
#include "transcript_graph.h"

static void show(TF_Function *f, const char *what) {
  if (!tr_status(what, st)) {
    printf("  function %d\n", f != NULL);
    TF_SetStatus(st, TF_OK, "");
    return;
  }
  TF_Buffer *b = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, b, st);
  printf("  name %s\n", TF_FunctionName(f));
  tr_dump("FunctionDef", b->data, b->length, 2);
  TF_DeleteBuffer(b);
  TF_DeleteFunction(f);
}

#define FN(g, name, nops, ops, ni, in, no, out, names) \
  TF_GraphToFunction(g, name, 0, nops, ops, ni, in, no, out, names, NULL, "about", st)

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  int64_t d4[1] = {4};
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", d4, 1), *q = tg_ph(g, TF_FLOAT, "q", NULL, -1);
  TF_Operation *c = tg_cf(g, 2, "c"), *axis = tg_ci(g, 0, "axis");
  TF_OperationDescription *d = tg_desc(g, "Split", "split", 2, axis, p);
  TF_SetAttrInt(d, "num_split", 2);
  TF_Operation *split = tg_finish(d);
  TF_Operation *mul = tg_op(g, "Mul", "mul", 2, c, split);
  d = tg_desc(g, "Neg", "guarded", 1, q);
  TF_AddControlInput(d, mul);
  TF_Operation *guarded = tg_finish(d);
  d = tg_desc(g, "Neg", "on/device", 1, q);
  TF_SetDevice(d, "/device:CPU:0");
  TF_ColocateWith(d, c);
  TF_Operation *dev = tg_finish(d);
  TF_Output s1 = tg_out(split, 1), s0 = tg_out(split, 0), m0 = tg_out(mul, 0), q0 = tg_out(q, 0),
            p0 = tg_out(p, 0), c0 = tg_out(c, 0), gu = tg_out(guarded, 0), de = tg_out(dev, 0);

  tr_case("an inner tensor as input");
  TF_Output in2[2] = {s0, c0};
  const TF_Operation *body[4] = {mul, c, split, axis};
  show(FN(g, "Inner", 1, body, 2, in2, 1, &m0, NULL), "two inner inputs");
  show(FN(g, "Partly", 2, body, 1, &s0, 1, &m0, NULL), "one, with the constant in the body");
  tr_case("the second output as input");
  show(FN(g, "Second", 0, NULL, 1, &s1, 1, &s1, NULL), "handed through");
  tr_case("outputs of several");
  TF_Output pq[2] = {p0, q0}, pp[2] = {p0, p0};
  TF_Output outs[4] = {s0, s1, s0, m0};
  show(FN(g, "Several", -1, NULL, 2, pq, 4, outs, NULL), "whole graph");
  const char *on[4] = {"first", "second", "third", "Fourth"};
  show(FN(g, "Named", -1, NULL, 2, pq, 4, outs, on), "named");
  const char *same[4] = {"o", "o", "o", "o"};
  show(FN(g, "Clash", -1, NULL, 2, pq, 4, outs, same), "equal names");
  const char *likein[1] = {"p"};
  show(FN(g, "LikeInput", -1, NULL, 2, pq, 1, &m0, likein), "named like the input");
  tr_case("control edges and devices");
  show(FN(g, "Guarded", -1, NULL, 2, pq, 1, &gu, NULL), "control edge inside");
  const TF_Operation *only[1] = {guarded};
  show(FN(g, "Cut", 1, only, 1, &q0, 1, &gu, NULL), "control edge from outside");
  const TF_Operation *onlydev[1] = {dev};
  show(FN(g, "Dev", 1, onlydev, 1, &q0, 1, &de, NULL), "device and colocation");
  tr_case("mistakes");
  show(FN(g, "NoInput", 1, only, 0, NULL, 1, &gu, NULL), "input not listed");
  show(FN(g, "Twice", -1, NULL, 2, pp, 1, &m0, NULL), "the same input twice");
  TF_Output bad = tg_out(split, 7);
  show(FN(g, "BadOut", -1, NULL, 2, pq, 1, &bad, NULL), "output index");
  show(FN(g, "BadIn", -1, NULL, 1, &bad, 1, &m0, NULL), "input index");
  show(FN(g, "", -1, NULL, 2, pq, 1, &m0, NULL), "no name");
  show(FN(g, "a b", -1, NULL, 2, pq, 1, &m0, NULL), "name with a blank");
  show(FN(g, "Outside", 1, body, 2, in2, 1, &gu, NULL), "output outside the body");
  tr_case("control outputs");
  const TF_Operation *co[2] = {mul, guarded};
  const char *cn[2] = {"one", "two"}, *cs[2] = {"one", "one"};
  show(TF_GraphToFunctionWithControlOutputs(g, "Co", 0, -1, NULL, 2, pq, 0, NULL, NULL, 2, co, cn,
                                            NULL, NULL, st),
       "two");
  show(TF_GraphToFunctionWithControlOutputs(g, "Co2", 0, -1, NULL, 2, pq, 0, NULL, NULL, 2, co,
                                            NULL, NULL, NULL, st),
       "without names");
  show(TF_GraphToFunctionWithControlOutputs(g, "Co3", 0, -1, NULL, 2, pq, 0, NULL, NULL, 2, co, cs,
                                            NULL, NULL, st),
       "equal names");
  const TF_Operation *twice[2] = {mul, mul};
  show(TF_GraphToFunctionWithControlOutputs(g, "Co4", 0, -1, NULL, 2, pq, 0, NULL, NULL, 2, twice,
                                            cn, NULL, NULL, st),
       "the same operation twice");
  tr_case("calls");
  TF_Function *f = FN(g, "Call", -1, NULL, 2, pq, 2, outs, NULL);
  TF_Graph *h = TF_NewGraph();
  TF_GraphCopyFunction(h, f, NULL, st);
  tr_status("copy", st);
  TF_GraphCopyFunction(h, f, f, st);
  tr_status("its own gradient", st);
  TF_SetStatus(st, TF_OK, "");
  TF_GraphCopyFunction(h, NULL, NULL, st);
  tr_status("nothing", st);
  TF_SetStatus(st, TF_OK, "");
  printf("functions %d\n", TF_GraphNumFunctions(h));
  float v[4] = {1, 2, 3, 4};
  TF_Operation *a = tg_const(h, tr_vec(TF_FLOAT, 4, v), "a"), *i = tg_ci(h, 1, "i");
  tg_op_show(h, "Call", "few", 1, a);
  tg_op_show(h, "Call", "kind", 2, a, i);
  tg_op_show(h, "Call", "many", 3, a, a, a);
  TF_Operation *call = tg_op_show(h, "Call", "call", 2, a, a);
  printf("outputs %d\n", TF_OperationNumOutputs(call));
  tg_shape(h, "0", tg_out(call, 0));
  tg_shape(h, "1", tg_out(call, 1));
  TF_Session *s = tg_session(h);
  TF_Output o2[2] = {tg_out(call, 1), tg_out(call, 0)};
  tg_run(s, "run", NULL, NULL, 0, o2, 2, NULL, 0);
  TF_Operation *three = tg_const(h, tr_vec(TF_FLOAT, 3, v), "three");
  TF_Operation *oddcall = tg_op_show(h, "Call", "odd", 2, three, three);
  if (oddcall) tg_fetch(s, "does not divide", oddcall);
  tg_close(s);
  TF_Function *got[4] = {0};
  int n = TF_GraphGetFunctions(h, got, 4, st);
  tr_status("functions", st);
  printf("%d %s\n", n, n > 0 ? TF_FunctionName(got[0]) : "");
  for (int k = 0; k < n; ++k) TF_DeleteFunction(got[k]);
  n = TF_GraphGetFunctions(h, got, 0, st);
  printf("%d\n", n);
  TF_DeleteFunction(f);
  TF_DeleteFunction(NULL);
  TF_DeleteGraph(h);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
