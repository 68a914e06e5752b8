/* TF_NewWhile, TF_FinishWhile, TF_AbortWhile: names, edges, attributes, errors, runs. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Operation *a, *b;
static TF_Output in[2], out[2];

static TF_Output two(TF_Graph *gr, const char *type, const char *name, TF_Output x, TF_Output y) {
  TF_OperationDescription *d = TF_NewOperation(gr, type, name);
  TF_AddInput(d, x);
  TF_AddInput(d, y);
  return tg_out(tg_finish(d), 0);
}

static TF_Output less(TF_WhileParams *p) {
  return two(p->cond_graph, "Less", "less", p->cond_inputs[0],
             tg_out(tg_ci(p->cond_graph, 9, "nine"), 0));
}

static void two_variables(void) {
  tr_case("two variables, one handed through");
  TF_WhileParams p = TF_NewWhile(g, in, 2, st);
  tr_status("new", st);
  printf("%d inputs, cond output %d, body outputs %d %d, name %d\n", p.ninputs,
         p.cond_output.oper != NULL, p.body_outputs[0].oper != NULL, p.body_outputs[1].oper != NULL,
         p.name != NULL);
  tg_nodes(p.cond_graph);
  tg_nodes(p.body_graph);
  p.cond_output = two(p.cond_graph, "Less", "less", p.cond_inputs[0], p.cond_inputs[1]);
  p.body_outputs[0] =
      two(p.body_graph, "AddV2", "sum", p.body_inputs[0], tg_out(tg_ci(p.body_graph, 2, "two"), 0));
  p.body_outputs[1] = p.body_inputs[1];
  p.name = "w";
  TF_FinishWhile(&p, st, out);
  tr_status("finish", st);
  tg_nodes(g);
  printf("%s:%d %s:%d\n", TF_OperationName(out[0].oper), out[0].index,
         TF_OperationName(out[1].oper), out[1].index);
  TF_Operation *e = TF_GraphOperationByName(g, "w/Enter_1");
  char name[32] = {0};
  TF_OperationGetAttrString(e, "frame_name", name, 31, st);
  tr_status("frame", st);
  puts(name);
  int64_t parallel = 0;
  TF_OperationGetAttrInt(e, "parallel_iterations", &parallel, st);
  unsigned char constant = 9;
  TF_OperationGetAttrBool(e, "is_constant", &constant, st);
  printf("parallel %d, constant %d\n", (int)parallel, constant);
}

static void nested(void) {
  tr_case("a loop in a loop's body");
  TF_WhileParams p = TF_NewWhile(g, in, 1, st);
  p.cond_output = less(&p);
  TF_Output inner;
  TF_WhileParams q = TF_NewWhile(p.body_graph, (TF_Output *)p.body_inputs, 1, st);
  q.cond_output = less(&q);
  q.body_outputs[0] = two(q.body_graph, "AddV2", "more", q.body_inputs[0], q.body_inputs[0]);
  q.name = "inner";
  TF_FinishWhile(&q, st, &inner);
  tr_status("inner", st);
  p.body_outputs[0] = inner;
  p.name = "outer";
  TF_FinishWhile(&p, st, out);
  tr_status("outer", st);
  /* TensorFlow's own optimizer spoils this loop: run it without. */
  static const unsigned char no_meta_optimizer[] = {0x52, 5, 0x52, 3, 0x98, 1, 1};
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_SetConfig(o, no_meta_optimizer, sizeof no_meta_optimizer, st);
  TF_Session *s = TF_NewSession(g, o, st);
  TF_DeleteSessionOptions(o);
  tg_fetch1(s, "from 1", a, tr_i32(1), out[0].oper);
  tg_fetch1(s, "from 20", a, tr_i32(20), out[0].oper);
  tg_close(s);
}

static void errors(void) {
  tr_case("a cond that is no bool");
  TF_WhileParams p = TF_NewWhile(g, in, 1, st);
  p.cond_output = p.cond_inputs[0];
  p.body_outputs[0] = p.body_inputs[0];
  p.name = "x";
  TF_FinishWhile(&p, st, out);
  tr_status("finish", st);
  tr_case("body output not set");
  TF_WhileParams q = TF_NewWhile(g, in, 1, st);
  q.cond_output = less(&q);
  q.name = "y";
  TF_FinishWhile(&q, st, out);
  tr_status("finish", st);
  tr_case("no name");
  TF_WhileParams r = TF_NewWhile(g, in, 1, st);
  r.cond_output = less(&r);
  r.body_outputs[0] = r.body_inputs[0];
  TF_FinishWhile(&r, st, out);
  tr_status("finish", st);
  tr_case("not from TF_NewWhile");
  TF_WhileParams t = {0, NULL, NULL, {NULL, 0}, NULL, NULL, NULL, NULL};
  TF_FinishWhile(&t, st, out);
  tr_status("finish", st);
  tr_case("abort");
  TF_WhileParams u = TF_NewWhile(g, in, 1, st);
  TF_AbortWhile(&u);
  puts("aborted");
  tr_case("no inputs");
  TF_WhileParams v = TF_NewWhile(g, in, 0, st);
  tr_status("new", st);
  printf("%d %d\n", v.ninputs, v.cond_graph != NULL);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  a = tg_ph(g, TF_INT32, "a", NULL, 0);
  b = tg_ph(g, TF_INT32, "b", NULL, 0);
  in[0] = tg_out(a, 0);
  in[1] = tg_out(b, 0);
  two_variables();
  nested();
  errors();
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
