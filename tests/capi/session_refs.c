/* Reference variables. */
#include "transcript_graph.h"

static TF_Graph *g;

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

  tg_end();
  return 0;
}
