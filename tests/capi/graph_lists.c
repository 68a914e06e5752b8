/* Argument lists of an operation by name and by number, control edges both ways, consumers: with room, with too
   little, with names that are not there. */
#include "transcript_graph.h"

static void lengths(TF_Operation *op, const char *name) {
  int n = TF_OperationInputListLength(op, name, st);
  printf("in %s %d", name, n);
  tr_status(", status", st);
  n = TF_OperationOutputListLength(op, name, st);
  printf("out %s %d", name, n);
  tr_status(", status", st);
}

static void edges(TF_Operation *op, int room) {
  TF_Operation *c[8] = {NULL};
  int n = TF_OperationGetControlInputs(op, c, room);
  printf("%s: control inputs %d of %d:", TF_OperationName(op), n, TF_OperationNumControlInputs(op));
  for (int i = 0; i < 8; i++)
    if (c[i]) printf(" %s", TF_OperationName(c[i]));
  memset(c, 0, sizeof c);
  n = TF_OperationGetControlOutputs(op, c, room);
  printf("; outputs %d of %d:", n, TF_OperationNumControlOutputs(op));
  for (int i = 0; i < 8; i++)
    if (c[i]) printf(" %s", TF_OperationName(c[i]));
  printf("\n");
}

static void consumers(TF_Operation *op, int index, int room) {
  TF_Input in[8] = {{0}};
  int n = TF_OperationOutputConsumers(tg_out(op, index), in, room);
  printf("%s:%d consumers %d of %d:", TF_OperationName(op), index, n,
         TF_OperationOutputNumConsumers(tg_out(op, index)));
  for (int i = 0; i < 8; i++)
    if (in[i].oper) printf(" %s.%d", TF_OperationName(in[i].oper), in[i].index);
  printf("\n");
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  TF_Operation *a = tg_cf(g, 1, "a"), *b = tg_cf(g, 2, "b"), *i = tg_ci(g, 0, "i");
  TF_Operation *t = tg_const(g, tr_bool(true), "t"), *s = tg_const(g, tr_str("text"), "s");
  TF_Output ab[3] = {tg_out(a, 0), tg_out(b, 0), tg_out(a, 0)};
  TF_Output mixed[3] = {tg_out(a, 0), tg_out(i, 0), tg_out(s, 0)};
  TF_OperationDescription *d = TF_NewOperation(g, "ConcatV2", "cat");
  TF_AddInputList(d, ab, 3);
  TF_AddInput(d, tg_out(i, 0));
  TF_Operation *cat = TF_FinishOperation(d, st);
  tr_status("concat of scalars", st);
  d = TF_NewOperation(g, "Pack", "pack");
  TF_AddInputList(d, ab, 3);
  TF_Operation *pack = tg_finish_show(d, "pack");
  d = TF_NewOperation(g, "IdentityN", "many");
  TF_AddInputList(d, mixed, 3);
  TF_Operation *many = tg_finish_show(d, "identity of three");
  d = TF_NewOperation(g, "Assert", "check");
  TF_AddInput(d, tg_out(t, 0));
  TF_AddInputList(d, mixed, 3);
  TF_AddControlInput(d, pack);
  TF_AddControlInput(d, many);
  TF_AddControlInput(d, pack);
  TF_Operation *check = tg_finish_show(d, "assert");
  d = tg_desc(g, "Neg", "neg", 1, many);
  TF_AddControlInput(d, check);
  TF_AddControlInput(d, many);
  TF_Operation *neg = tg_finish_show(d, "neg");
  tr_case("lengths");
  TF_Operation *ops[] = {pack, many, check, neg};
  static const char *const names[] = {"values",    "input", "output", "data",
                                      "condition", "x",     "",       "nothing"};
  for (int k = 0; k < 4; k++) {
    printf("-- %s inputs %d outputs %d\n", TF_OperationName(ops[k]), TF_OperationNumInputs(ops[k]),
           TF_OperationNumOutputs(ops[k]));
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) lengths(ops[k], names[n]);
    for (int n = 0; n < TF_OperationNumInputs(ops[k]); n++) {
      TF_Output o = TF_OperationInput(tg_in(ops[k], n));
      printf("  %d %s %s:%d\n", n, tr_dtype_name((int)TF_OperationInputType(tg_in(ops[k], n))),
             TF_OperationName(o.oper), o.index);
    }
  }
  tr_case("all inputs");
  for (int room = 0; room < 6; room++) {
    TF_Output o[8] = {{0}};
    TF_OperationAllInputs(check, o, room);
    printf("%d:", room);
    for (int k = 0; k < 8; k++)
      if (o[k].oper) printf(" %s", TF_OperationName(o[k].oper));
    printf("\n");
  }
  tr_case("edges");
  for (int room = 0; room < 4; room++) {
    edges(check, room);
    edges(many, room);
    edges(neg, room);
  }
  tr_case("consumers");
  for (int room = 0; room < 5; room++) {
    consumers(a, 0, room);
    consumers(many, 0, room);
  }
  consumers(many, 1, 4);
  consumers(neg, 0, 4);
  printf("cat %d\n", cat != NULL);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
