/* Reference variables. */
#include "transcript_graph.h"

static TF_Graph *g;

/* What is read through an Identity that waits for nothing, by nodes that wait for an update. */
static void after_an_update(void) {
  tr_case("reads after an update");
  g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "VariableV2", "rv");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Operation *rv = tg_finish(d), *one = tg_cf(g, 1, "one");
  TF_Operation *set = tg_op(g, "Assign", "set", 2, rv, one);
  TF_Operation *read = tg_op(g, "Identity", "read", 1, rv);
  TF_Operation *before = tg_op(g, "Neg", "before", 1, read);
  d = tg_desc(g, "AssignAdd", "add", 2, rv, one);
  TF_AddControlInput(d, before);
  TF_Operation *add = tg_finish(d);
  TF_Operation *minus = tg_op(g, "AssignSub", "minus", 2, rv, tg_cf(g, 5, "five"));
  d = tg_desc(g, "Identity", "same", 1, read);
  TF_AddControlInput(d, add);
  TF_Operation *same = tg_finish(d);
  d = tg_desc(g, "Mul", "square", 2, read, read);
  TF_AddControlInput(d, minus);
  TF_Operation *square = tg_finish(d);
  d = TF_NewOperation(g, "Const", "ten"); /* the control input is the constant's */
  TF_AddControlInput(d, add);
  TF_Tensor *ten = tr_f32(10);
  TF_SetAttrTensor(d, "value", ten, st);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_DeleteTensor(ten);
  TF_Operation *times = tg_op(g, "Mul", "times", 2, read, tg_finish(d));
  const TF_Output both[] = {tg_out(before, 0), tg_out(same, 0)},
                  late[] = {both[0], tg_out(times, 0)};
  TF_Session *s = tg_session(g);
  tg_fetch(s, "assign", set);
  tg_run(s, "before and after AssignAdd", NULL, NULL, 0, both, 2, NULL, 0);
  tg_fetch(s, "after AssignAdd again", times);
  tg_run(s, "before and after AssignAdd, times 10", NULL, NULL, 0, late, 2, NULL, 0);
  tg_fetch(s, "after AssignSub", square);
  tg_fetch(s, "now", read);
  tg_close(s);
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  TF_OperationDescription *d;
  TF_Operation *one;
  TF_Session *s;
  tr_case("reference variables");
  g = TF_NewGraph();
  d = TF_NewOperation(g, "VariableV2", "rv");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", NULL, 0);
  TF_Operation *rv = tg_finish_show(d, "rv");
  one = tg_cf(g, 1, "one");
  TF_Operation *as = tg_op_show(g, "Assign", "as", 2, rv, one);
  TF_Operation *aa = tg_op_show(g, "AssignAdd", "aa", 2, rv, one);
  TF_Operation *id = tg_op_show(g, "Identity", "id", 1, rv);
  s = tg_session(g);
  tg_fetch(s, "uninitialised", id);
  tg_fetch(s, "fetch the ref itself", rv);
  tg_fetch(s, "assign", as);
  tg_fetch(s, "assign add", aa);
  tg_fetch(s, "read", id);
  tg_close(s);
  TF_DeleteGraph(g);

  after_an_update();
  tg_end();
  return 0;
}
