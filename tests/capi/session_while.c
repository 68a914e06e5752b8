/* A loop made with TF_NewWhile runs. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Operation *a;

static void whiles(void) {
  tr_case("TF_NewWhile");
  g = TF_NewGraph();
  a = tg_ph(g, TF_INT32, "a", NULL, 0);
  TF_Output in = tg_out(a, 0), out = {NULL, -1};
  TF_WhileParams p = TF_NewWhile(g, &in, 1, st);
  tr_status("new", st);
  TF_Operation *lim = tg_ci(p.cond_graph, 10, "lim");
  TF_OperationDescription *d = TF_NewOperation(p.cond_graph, "Less", "less");
  TF_AddInput(d, p.cond_inputs[0]);
  TF_AddInput(d, tg_out(lim, 0));
  p.cond_output = tg_out(tg_finish(d), 0);
  TF_Operation *one = tg_ci(p.body_graph, 3, "three");
  d = TF_NewOperation(p.body_graph, "AddV2", "add");
  TF_AddInput(d, p.body_inputs[0]);
  TF_AddInput(d, tg_out(one, 0));
  p.body_outputs[0] = tg_out(tg_finish(d), 0);
  p.name = "loop";
  TF_FinishWhile(&p, st, &out);
  tr_status("finish", st);
  printf("output %s:%d\n", TF_OperationName(out.oper), out.index);
  tg_nodes(g);
  TF_Session *s = tg_session(g);
  tg_fetch1(s, "from 0", a, tr_i32(0), out.oper);
  tg_fetch1(s, "from 50", a, tr_i32(50), out.oper);
  tg_close(s);
  tr_case("TF_NewWhile errors");
  TF_WhileParams p2 = TF_NewWhile(g, &in, 1, st);
  TF_FinishWhile(&p2, st, &out);
  tr_status("nothing set", st);
  TF_WhileParams p3 = TF_NewWhile(g, &in, 1, st);
  p3.name = "l2";
  TF_FinishWhile(&p3, st, &out);
  tr_status("no cond output", st);
  TF_WhileParams p4 = TF_NewWhile(g, NULL, 0, st);
  tr_status("no inputs", st);
  (void)p4;
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  whiles();
  tg_end();
  return 0;
}
