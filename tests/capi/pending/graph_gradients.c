/* TF_AddGradients: added nodes, values, and error texts. */
#include "transcript_graph.h"

static TF_Graph *g;

static void added(size_t *pos) {
  TF_Operation *op;
  while ((op = TF_GraphNextOperation(g, pos)) != NULL)
    printf("  %s %s\n", TF_OperationName(op), TF_OperationOpType(op));
}
static void grad(const char *what, const char *prefix, TF_Operation *y, TF_Operation *x,
                 TF_Operation *dx, float at) {
  size_t pos = 0;
  while (TF_GraphNextOperation(g, &pos) != NULL) {
  }
  TF_Output yo = tg_out(y, 0), xo = tg_out(x, 0), di = {NULL, 0}, dy = {NULL, 0};
  if (dx) di = tg_out(dx, 0);
  if (prefix)
    TF_AddGradientsWithPrefix(g, prefix, &yo, 1, &xo, 1, dx ? &di : NULL, st, &dy);
  else
    TF_AddGradients(g, &yo, 1, &xo, 1, dx ? &di : NULL, st, &dy);
  if (!tr_status(what, st)) return;
  added(&pos);
  if (dy.oper == NULL) {
    puts("no gradient");
    return;
  }
  printf("result %s:%d\n", TF_OperationName(dy.oper), dy.index);
  TF_Session *s = tg_session(g);
  tg_run(s, "value", &xo, (TF_Tensor *[]){tr_f32(at)}, 1, &dy, 1, NULL, 0);
  tg_close(s);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  TF_Operation *x = tg_ph(g, TF_FLOAT, "x", NULL, 0);
  TF_Operation *c = tg_cf(g, 3, "c");
  TF_Operation *sq = tg_op(g, "Square", "sq", 1, x);
  TF_Operation *mul = tg_op(g, "Mul", "mul", 2, sq, c);
  TF_Operation *both = tg_op(g, "AddV2", "both", 2, mul, x);
  TF_Operation *stop = tg_op(g, "StopGradient", "stop", 1, x);
  TF_Operation *ns = tg_op(g, "Neg", "ns", 1, stop);
  TF_Operation *xl = tg_op(g, "Xlogy", "xl", 2, x, x);
  tr_case("square");
  grad("d sq / d x", NULL, sq, x, NULL, 5);
  tr_case("again, scope made unique");
  grad("d sq / d x", NULL, sq, x, NULL, 5);
  tr_case("several paths");
  grad("d both / d x", NULL, both, x, NULL, 2);
  tr_case("given output gradient");
  grad("dx = c", NULL, sq, x, c, 5);
  tr_case("prefix");
  grad("prefix mine", "mine", sq, x, NULL, 5);
  tg_cf(g, 1, "solo/one");
  grad("prefix in use", "solo", sq, x, NULL, 5);
  tr_case("of itself");
  grad("d x / d x", NULL, x, x, NULL, 5);
  tr_case("stop gradient");
  grad("stop", NULL, ns, x, NULL, 5);
  tr_case("unreachable");
  grad("d c / d x", NULL, c, x, NULL, 5);
  tr_case("not defined for an op");
  grad("xlogy", NULL, xl, x, NULL, 5);
  tr_case("every node");
  size_t pos = 0;
  added(&pos);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
