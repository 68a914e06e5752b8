/* A random op with seeds goes on where it stopped, whatever a run fetches beside it and whatever shape
 * its result has: its generator belongs to the node in the session. */
#include "transcript_graph.h"

static TF_Graph *g;

static TF_OperationDescription *seeded(const char *op, const char *name, TF_Operation *shape) {
  TF_OperationDescription *d = tg_desc(g, op, name, 1, shape);
  TF_SetAttrInt(d, "seed", 3);
  TF_SetAttrInt(d, "seed2", 5);
  return d;
}

static void run(TF_Session *s, const char *what, TF_Operation *shape, int n, TF_Operation *a,
                TF_Operation *b) {
  TF_Output in = tg_out(shape, 0), out[2] = {tg_out(a, 0), tg_out(b ? b : a, 0)};
  int32_t dims[1] = {n};
  TF_Tensor *t = tr_vec(TF_INT32, 1, dims);
  tg_run(s, what, &in, &t, 1, out, b ? 2 : 1, NULL, 0);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  tr_case("build");
  TF_Operation *shape = tg_ph(g, TF_INT32, "shape", NULL, -1);
  TF_OperationDescription *d = seeded("RandomUniform", "random", shape);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Operation *random = tg_finish_show(d, "random");
  TF_Operation *same = tg_op_show(g, "Identity", "same", 1, random);
  TF_Operation *other = tg_op_show(g, "Neg", "other", 1, random);
  TF_Operation *order = tg_finish_show(seeded("RandomShuffle", "order", random), "order");
  TF_Session *s = tg_session(g);
  tr_case("one fetch after the other");
  run(s, "same", shape, 2, same, NULL);
  run(s, "same", shape, 2, same, NULL);
  run(s, "other", shape, 2, other, NULL);
  run(s, "both", shape, 2, random, other);
  run(s, "same", shape, 2, same, NULL);
  tr_case("shapes");
  for (int n = 1; n < 14; n++) run(s, "same", shape, n, same, NULL);
  run(s, "same again", shape, 1, same, NULL);
  tr_case("an order");
  run(s, "order", shape, 6, order, NULL);
  run(s, "order and more", shape, 6, order, random);
  tg_close(s);
  tr_case("another session starts anew");
  s = tg_session(g);
  run(s, "other", shape, 2, other, NULL);
  run(s, "same", shape, 2, same, NULL);
  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
