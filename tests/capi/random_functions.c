/* Random graphs made into functions, and these called in every way: by name, through PartitionedCall, in an If; what
 * building and running says. */
#include "random_graph.h"

/* All results of one run. Which of several mistakes a run meets first is nobody's promise. */
static void show_run(TF_Session *s, const char *what, TF_Operation *op) {
  if (op == NULL) return;
  TF_Output o[3] = {tg_out(op, 0), tg_out(op, 1), tg_out(op, 2)};
  TF_Tensor *v[3] = {NULL, NULL, NULL};
  TF_SessionRun(s, NULL, NULL, NULL, 0, o, v, 3, NULL, 0, NULL, st);
  printf("%s %s", what, tr_code_name(TF_GetCode(st)));
  for (int k = 0; k < 3; ++k) {
    if (v[k] == NULL) continue;
    show(v[k]);
    TF_DeleteTensor(v[k]);
  }
  putchar('\n');
}

/* Of several mistakes in a body TensorFlow reports the one that a hash table puts first. */
static TF_Operation *finish(TF_OperationDescription *d, const char *what) {
  TF_Operation *op = TF_FinishOperation(d, st);
  printf("%s: %s\n", what, tr_code_name(TF_GetCode(st)));
  return op;
}

int main(void) {
  tg_begin();
  unsigned first = 0, last = 120;
  const char *seeds = getenv("SEEDS");
  if (seeds && sscanf(seeds, "%u %u", &first, &last) != 2) return 1;
  for (unsigned seed = first; seed < last; ++seed) {
    state = seed * 104729u + 3;
    n_out = 0;
    g = TF_NewGraph();
    printf("== %u\n", seed);
    TF_Output in[2];
    for (int i = 0; i < 2; ++i) {
      char name[4];
      int64_t dims[2] = {2, 3};
      snprintf(name, sizeof name, "x%d", i);
      in[i] = tg_out(tg_ph(g, TF_FLOAT, name, dims, rnd(2) ? 2 : -1), 0);
      out[n_out++] = in[i];
    }
    for (int i = 0; i < 3; ++i) leaf(i);
    for (int i = 0; i < 10; ++i) {
      char type[32];
      TF_Operation *op = node(i, type, sizeof type);
      if (op) keep(op);
    }
    TF_Output results[3];
    for (int i = 0; i < 3; ++i) results[i] = out[rnd((uint32_t)n_out)];
    TF_Function *f =
        TF_GraphToFunction(g, "F", 0, -1, NULL, 2, in, 3, results, NULL, NULL, NULL, st);
    if (!tr_status("function", st)) {
      TF_SetStatus(st, TF_OK, "");
      TF_DeleteGraph(g);
      continue;
    }
    TF_DataType tout[3];
    for (int i = 0; i < 3; ++i) tout[i] = TF_OperationOutputType(results[i]);
    TF_Graph *h = TF_NewGraph();
    TF_GraphCopyFunction(h, f, NULL, st);
    TF_DeleteFunction(f);
    TF_DeleteGraph(g);
    float v[6] = {1, -2, 0.5f, 3, 0, 2};
    int64_t dims[2] = {2, 3}, flat[1] = {6};
    bool odd = rnd(3) == 0;
    TF_Operation *a = tg_const(h, tr_tensor(TF_FLOAT, dims, 2, v), "a");
    TF_Operation *b = tg_const(h, tr_tensor(TF_FLOAT, odd ? flat : dims, odd ? 1 : 2, v), "b");
    TF_Operation *yes = tg_const(h, tr_bool(rnd(2)), "yes");
    TF_Operation *call = finish(tg_desc(h, "F", "call", 2, a, b), "call");
    TF_Output args[2] = {tg_out(a, 0), tg_out(b, 0)};
    for (int k = 0; call && k < 3; ++k) tg_shape(h, "  out", tg_out(call, k));
    TF_OperationDescription *d = TF_NewOperation(h, "PartitionedCall", "pc");
    TF_AddInputList(d, args, 2);
    TF_SetAttrTypeList(d, "Tout", tout, 3);
    TF_SetAttrFuncName(d, "f", "F", 1);
    TF_Operation *pc = finish(d, "PartitionedCall");
    for (int k = 0; pc && k < 3; ++k) tg_shape(h, "  out", tg_out(pc, k));
    d = TF_NewOperation(h, "StatelessIf", "if");
    TF_AddInput(d, tg_out(yes, 0));
    TF_AddInputList(d, args, 2);
    TF_SetAttrTypeList(d, "Tout", tout, 3);
    TF_SetAttrFuncName(d, "then_branch", "F", 1);
    TF_SetAttrFuncName(d, "else_branch", "F", 1);
    TF_Operation *cond = tg_finish_show(d, "If");
    TF_Session *s = tg_session(h);
    show_run(s, "call", call);
    show_run(s, "PartitionedCall", pc);
    show_run(s, "If", cond);
    tg_close(s);
    TF_DeleteGraph(h);
  }
  tg_end();
  return 0;
}
