/* Random graphs, half of them wrong: what building says, and what every fetch gives. The numbers are those of a
 * generator of its own, so that every library sees the same graphs. SEEDS in the environment: "first last". */
#include "random_graph.h"

int main(void) {
  tg_begin();
  unsigned first = 0, last = 150;
  const char *seeds = getenv("SEEDS");
  if (seeds && sscanf(seeds, "%u %u", &first, &last) != 2) return 1;
  for (unsigned seed = first; seed < last; ++seed) {
    state = seed * 7919u + 1;
    n_out = 0;
    g = TF_NewGraph();
    printf("== %u\n", seed);
    for (int i = 0; i < 6; ++i) leaf(i);
    for (int i = 0; i < 14; ++i) {
      char type[32];
      TF_Operation *op = node(i, type, sizeof type);
      if (op == NULL) {
        printf("n%d %s: %s ", i, type, tr_code_name(TF_GetCode(st)));
        /* Of several types that do not fit, TensorFlow names one in the order of a hash table. */
        const char *m = TF_Message(st);
        tr_message(strstr(m, "not in the list of allowed values") ? "a type does not fit" : m);
        putchar('\n');
        continue;
      }
      printf("n%d %s", i, type);
      for (int k = 0; k < TF_OperationNumOutputs(op); ++k) {
        int64_t dims[8];
        int nd = TF_GraphGetTensorNumDims(g, tg_out(op, k), st);
        if (nd < 0 || nd > 8) {
          fputs(" ?", stdout);
        } else {
          TF_GraphGetTensorShape(g, tg_out(op, k), dims, nd, st);
          putchar(' ');
          tr_dims(dims, nd);
        }
      }
      putchar('\n');
      keep(op);
    }
    TF_Session *s = tg_session(g);
    for (int k = 0; k < n_out; ++k) {
      TF_Tensor *v = NULL;
      TF_SessionRun(s, NULL, NULL, NULL, 0, &out[k], &v, 1, NULL, 0, NULL, st);
      if (TF_OperationOpType(out[k].oper)[0] == 'C' &&
          strcmp(TF_OperationOpType(out[k].oper), "Const") == 0) {
        TF_DeleteTensor(v);
        continue;
      }
      printf("%s:%d", TF_OperationName(out[k].oper), out[k].index);
      if (TF_GetCode(st) == TF_OK) {
        show(v);
        putchar('\n');
        TF_DeleteTensor(v);
      } else {
        printf(" %s ", tr_code_name(TF_GetCode(st)));
        tr_message(TF_Message(st));
        putchar('\n');
      }
    }
    tg_close(s);
    TF_DeleteGraph(g);
  }
  tg_end();
  return 0;
}
