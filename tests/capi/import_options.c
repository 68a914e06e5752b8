/* TF_GraphImportGraphDefWithResults with every combination of the options that change names, edges and
   devices: 2 prefixes (none, one that is taken) x unique names x unique prefix x device x control
   dependency x input mapping x control mapping x backward compatible return values. */
#include "transcript_graph.h"

static void put_node(tr_pb *gd, const char *name, const char *op, const char *in0, const char *in1,
                     const char *device, int typed) {
  tr_pb n = {0};
  tr_pb_str(&n, 1, name);
  tr_pb_str(&n, 2, op);
  if (in0) tr_pb_str(&n, 3, in0);
  if (in1) tr_pb_str(&n, 3, in1);
  if (device) tr_pb_str(&n, 4, device);
  if (typed) {
    tr_pb e = {0}, v = {0};
    tr_pb_str(&e, 1, typed == 2 ? "dtype" : "T");
    tr_pb_int(&v, 6, 1);
    tr_pb_msg(&e, 2, &v);
    tr_pb_msg(&n, 5, &e);
  }
  tr_pb_msg(gd, 1, &n);
}

static void show(TF_Graph *g, size_t skip) {
  size_t pos = 0;
  TF_Operation *op;
  while ((op = TF_GraphNextOperation(g, &pos)) != NULL) {
    if (skip) {
      --skip;
      continue;
    }
    printf("  %s %s", TF_OperationName(op), TF_OperationOpType(op));
    for (int i = 0; i < TF_OperationNumInputs(op); ++i) {
      TF_Output o = TF_OperationInput(tg_in(op, i));
      printf(" %s:%d", TF_OperationName(o.oper), o.index);
    }
    TF_Operation *c[8];
    int n = TF_OperationGetControlInputs(op, c, 8);
    for (int i = 0; i < n; ++i) printf(" ^%s", TF_OperationName(c[i]));
    if (TF_OperationDevice(op)[0]) printf(" @%s", TF_OperationDevice(op));
    putchar('\n');
  }
}

static void import(TF_Graph *g, tr_pb *gd, TF_ImportGraphDefOptions *o, int returns) {
  TF_Buffer *b = TF_NewBufferFromString(gd->data, gd->len);
  TF_ImportGraphDefResults *r = TF_GraphImportGraphDefWithResults(g, b, o, st);
  if (tr_status("import", st)) {
    int n = 0, *idx = NULL;
    TF_Output *out = NULL;
    TF_Operation **ops = NULL;
    const char **names = NULL;
    TF_ImportGraphDefResultsReturnOutputs(r, &n, &out);
    for (int i = 0; i < n; ++i) printf("  out %s:%d", TF_OperationName(out[i].oper), out[i].index);
    TF_ImportGraphDefResultsReturnOperations(r, &n, &ops);
    for (int i = 0; i < n; ++i) printf(" op %s", TF_OperationName(ops[i]));
    TF_ImportGraphDefResultsMissingUnusedInputMappings(r, &n, &names, &idx);
    if (returns) printf(" unused %d\n", n);
    TF_DeleteImportGraphDefResults(r);
  }
  TF_DeleteBuffer(b);
}

int main(void) {
  tg_begin();
  tr_pb gd = {0};
  put_node(&gd, "a", "Placeholder", NULL, NULL, NULL, 2);
  put_node(&gd, "p/b", "Placeholder", NULL, NULL, "/device:CPU:1", 2);
  put_node(&gd, "s", "AddV2", "a", "p/b:0", NULL, 1);
  put_node(&gd, "t", "Neg", "s", "^a", NULL, 1);
  put_node(&gd, "u", "NoOp", "^t", "^p/b", NULL, 0);
  for (int bits = 0; bits < 256; ++bits) {
    char name[96];
    snprintf(name, sizeof name, "%s%s%s%s%s%s%s%s", bits & 1 ? "prefix " : "",
             bits & 2 ? "names " : "", bits & 4 ? "unique-prefix " : "", bits & 8 ? "device " : "",
             bits & 16 ? "control " : "", bits & 32 ? "map " : "", bits & 64 ? "map-control " : "",
             bits & 128 ? "return" : "");
    tr_case(name);
    TF_Graph *g = TF_NewGraph();
    TF_Operation *a = tg_cf(g, 1, "a"), *p = tg_cf(g, 2, "p");
    tg_cf(g, 3, "s_1");
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    if (bits & 1) TF_ImportGraphDefOptionsSetPrefix(o, "p");
    if (bits & 2) TF_ImportGraphDefOptionsSetUniquifyNames(o, 1);
    if (bits & 4) TF_ImportGraphDefOptionsSetUniquifyPrefix(o, 1);
    if (bits & 8) TF_ImportGraphDefOptionsSetDefaultDevice(o, "/job:x/device:GPU:7");
    if (bits & 16) TF_ImportGraphDefOptionsAddControlDependency(o, p);
    if (bits & 32) TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(a, 0));
    if (bits & 64) TF_ImportGraphDefOptionsRemapControlDependency(o, "t", a);
    if (bits & 128) {
      TF_ImportGraphDefOptionsAddReturnOutput(o, "s", 0);
      TF_ImportGraphDefOptionsAddReturnOutput(o, "a", 0);
      TF_ImportGraphDefOptionsAddReturnOperation(o, "u");
    }
    import(g, &gd, o, bits & 128);
    import(g, &gd, o, bits & 128);
    show(g, 3);
    TF_DeleteImportGraphDefOptions(o);
    TF_DeleteGraph(g);
  }
  tr_pb_free(&gd);
  tg_end();
  return 0;
}
