/* Numbers too small to be normal: kernels take and give 0 for them, in a session (constant, fed, on many
   threads) and eagerly; copies keep them; and the caller's own arithmetic is left as it was. */
#include "tensorflow/c/eager/c_api.h"
#include "transcript_graph.h"

static const float tiny[4] = {1e-40f, -1e-40f, 1e-45f, 1.f};

static void own(const char *when) {
  volatile float x = tiny[0], half = .5f;
  printf("own arithmetic %s: %s\n", when, x * half != 0 ? "exact" : "flushed");
}

static void in_graph(TF_Operation *x, TF_Graph *g, const char *kind, TF_Operation *fed) {
  static const char *const ops[] = {"Sqrt", "Neg", "Reciprocal", "Identity", "Floor"};
  TF_Session *s;
  char name[64];
  TF_Operation *made[8];
  int n = 0;
  for (; n < 5; n++) {
    snprintf(name, sizeof name, "%s_%s", kind, ops[n]);
    made[n] = tg_op(g, ops[n], name, 1, x);
  }
  snprintf(name, sizeof name, "%s_cast", kind);
  TF_OperationDescription *d = tg_desc(g, "Cast", name, 1, x);
  TF_SetAttrType(d, "DstT", TF_DOUBLE);
  made[n++] = tg_finish(d);
  s = tg_session(g);
  for (int i = 0; i < n; i++) {
    if (fed)
      tg_fetch1(s, TF_OperationName(made[i]), fed, tr_vec(TF_FLOAT, 4, tiny), made[i]);
    else
      tg_fetch(s, TF_OperationName(made[i]), made[i]);
  }
  tg_close(s);
}

static void on_threads(TF_Graph *g, TF_Operation *p) {
  enum { COUNT = 1 << 20 };
  const int64_t dims[1] = {COUNT};
  TF_Tensor *big = TF_AllocateTensor(TF_FLOAT, dims, 1, COUNT * sizeof(float)), *got = NULL;
  float *data = TF_TensorData(big);
  for (int i = 0; i < COUNT; i++) data[i] = tiny[0];
  TF_Output in = tg_out(p, 0), out = tg_out(tg_op(g, "Sqrt", "large", 1, p), 0);
  TF_Session *s = tg_session(g);
  TF_SessionRun(s, NULL, &in, &big, 1, &out, &got, 1, NULL, 0, NULL, st);
  if (tr_status("large", st)) {
    int left = 0;
    for (int i = 0; i < COUNT; i++) left += ((float *)TF_TensorData(got))[i] != 0;
    printf("  %d of %d are not 0\n", left, COUNT);
    TF_DeleteTensor(got);
  }
  TF_DeleteTensor(big);
  tg_close(s);
}

static void eagerly(const char *name) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *c = TFE_NewContext(o, st);
  TFE_DeleteContextOptions(o);
  TF_Tensor *t = tr_vec(TF_FLOAT, 4, tiny);
  TFE_TensorHandle *x = TFE_NewTensorHandle(t, st), *y = NULL;
  TFE_Op *op = TFE_NewOp(c, name, st);
  int n = 1;
  TFE_OpAddInput(op, x, st);
  TFE_Execute(op, &y, &n, st);
  if (tr_status(name, st)) {
    tr_show_free("  out", TFE_TensorHandleResolve(y, st));
    TFE_DeleteTensorHandle(y);
  }
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(x);
  TF_DeleteTensor(t);
  TFE_DeleteContext(c);
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  const int64_t four[1] = {-1};
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", four, 1);
  own("at first");
  tr_case("constant");
  in_graph(tg_const(g, tr_vec(TF_FLOAT, 4, tiny), "c"), g, "constant", NULL);
  own("after that");
  tr_case("fed");
  in_graph(p, g, "fed", p);
  on_threads(g, p);
  own("after that");
  tr_case("eager");
  eagerly("Sqrt");
  eagerly("Square");
  eagerly("Identity");
  own("after that");
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
