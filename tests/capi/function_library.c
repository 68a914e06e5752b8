/* Function libraries: gradients of functions, GraphDefs that bring functions (the same, others of the same
   name, ones that call unknown ones), removing and copying them, and graphs that outlive what they came from. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

/* NAME(x) = OP(x) */
static TF_Function *unary(const char *name, const char *op) {
  TF_Graph *g = TF_NewGraph();
  TF_Operation *x = tg_ph(g, TF_FLOAT, "x", NULL, -2), *y = tg_op(g, op, "y", 1, x);
  TF_Output in = tg_out(x, 0), out = tg_out(y, 0);
  TF_Function *f = TF_GraphToFunction(g, name, 0, -1, NULL, 1, &in, 1, &out, NULL, NULL, NULL, st);
  if (TF_GetCode(st)) tr_status(name, st);
  TF_DeleteGraph(g);
  return f;
}

static int by_text(const void *a, const void *b) {
  return strcmp(a, b);
}
/* The names of functions and gradients, sorted. */
static void library(TF_Graph *g, const char *what) {
  TF_Buffer *b = TF_NewBuffer();
  char lines[16][64];
  int n = 0;
  TF_GraphToGraphDef(g, b, st);
  printf("%s: functions %d\n", what, TF_GraphNumFunctions(g));
  const unsigned char *p = b->data, *end = p + b->length;
  tr_field lib, e, sig, name = {0};
  while (tr_next(&p, end, &lib)) {
    if (lib.num != 2) continue;
    for (const unsigned char *q = lib.p; tr_next(&q, lib.p + lib.n, &e); n++) {
      const unsigned char *r = e.p;
      if (!tr_next(&r, e.p + e.n, &sig)) continue;
      const unsigned char *t = e.num == 2 ? r : sig.p;
      tr_next(&t, e.num == 2 ? e.p + e.n : sig.p + sig.n, &name);
      if (e.num == 2)
        snprintf(lines[n], 64, "gradient of %.*s: %.*s", (int)sig.n, (const char *)sig.p,
                 (int)name.n, (const char *)name.p);
      else
        snprintf(lines[n], 64, "function %.*s", (int)name.n, (const char *)name.p);
    }
  }
  qsort(lines, (size_t)n, sizeof *lines, by_text);
  for (int i = 0; i < n; i++) printf("  %s\n", lines[i]);
  TF_DeleteBuffer(b);
}

static TF_Buffer *graph_def(TF_Graph *g) {
  TF_Buffer *b = TF_NewBuffer();
  TF_GraphToGraphDef(g, b, st);
  return b;
}
static void import(TF_Graph *g, const TF_Buffer *b, const char *prefix, const char *what) {
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, prefix);
  TF_GraphImportGraphDef(g, b, o, st);
  tr_status(what, st);
  TF_DeleteImportGraphDefOptions(o);
}
static void call(TF_Graph *g, const char *type, const char *name) {
  TF_Operation *c = tg_cf(g, 3, "c");
  if (!c) c = TF_GraphOperationByName(g, "c");
  TF_Operation *op = tg_op_show(g, "Neg", "warm", 1, c);
  (void)op;
  op = TF_FinishOperation(tg_desc(g, type, name, 1, c), st);
  if (!tr_status(name, st)) return;
  TF_Session *s = tg_session(g);
  tg_fetch(s, "  run", op);
  tg_close(s);
}

int main(void) {
  tg_begin();
  TF_Function *f = unary("F", "Neg"), *f2 = unary("F", "Square"), *dg = unary("DG", "Exp");
  TF_Function *h = unary("H", "Abs");
  tr_case("gradients");
  TF_Graph *g = TF_NewGraph();
  TF_GraphCopyFunction(g, f, dg, st);
  tr_status("with a gradient", st);
  library(g, "one");
  TF_GraphCopyFunction(g, f, dg, st);
  tr_status("again", st);
  TF_GraphCopyFunction(g, f, h, st);
  tr_status("another gradient", st);
  library(g, "after");
  TF_GraphCopyFunction(g, f2, NULL, st);
  tr_status("another of that name", st);
  TF_GraphCopyFunction(g, h, f2, st);
  tr_status("another of that name as gradient", st);
  TF_GraphCopyFunction(g, dg, f, st);
  tr_status("the gradient's gradient", st);
  library(g, "all");
  tr_case("imported");
  TF_Buffer *b = graph_def(g);
  TF_Graph *k = TF_NewGraph();
  import(k, b, "", "into an empty graph");
  library(k, "one");
  import(k, b, "again", "again");
  library(k, "two");
  TF_Graph *m = TF_NewGraph();
  TF_GraphCopyFunction(m, f2, NULL, st);
  import(m, b, "", "where a name is taken");
  library(m, "taken");
  TF_DeleteBuffer(b);
  tr_case("called");
  call(k, "F", "callF");
  call(m, "F", "callF");
  call(k, "DG", "callDG");
  call(k, "Nowhere", "callNowhere");
  tr_case("removed");
  TF_GraphRemoveFunction(k, "F", st);
  tr_status("with a gradient", st);
  library(k, "left");
  TF_GraphRemoveFunction(k, "F", st);
  tr_status("again", st);
  TF_GraphRemoveFunction(k, "", st);
  tr_status("no name", st);
  TF_Operation *op =
      TF_FinishOperation(tg_desc(k, "F", "late", 1, TF_GraphOperationByName(k, "c")), st);
  tr_status("a call of it", st);
  printf("made %d\n", op != NULL);
  TF_Session *s = tg_session(k);
  TF_Operation *old = TF_GraphOperationByName(k, "callF");
  if (old) tg_fetch(s, "a call from before", old);
  tg_close(s);
  tr_case("a function that calls it");
  TF_Graph *in = TF_NewGraph();
  TF_GraphCopyFunction(in, f, NULL, st);
  TF_Operation *x = tg_ph(in, TF_FLOAT, "x", NULL, -2), *y = tg_op(in, "F", "y", 1, x);
  TF_Output i0 = tg_out(x, 0), o0 = tg_out(y, 0);
  TF_Function *outer =
      TF_GraphToFunction(in, "Outer", 0, -1, NULL, 1, &i0, 1, &o0, NULL, NULL, NULL, st);
  tr_status("made", st);
  TF_Graph *q = TF_NewGraph();
  TF_GraphCopyFunction(q, outer, NULL, st);
  tr_status("copied without the inner one", st);
  library(q, "alone");
  call(q, "Outer", "early");
  TF_GraphCopyFunction(q, f, NULL, st);
  tr_status("the inner one", st);
  op = TF_FinishOperation(tg_desc(q, "Outer", "then", 1, TF_GraphOperationByName(q, "c")), st);
  if (tr_status("then", st)) {
    s = tg_session(q);
    tg_fetch(s, "  run", op);
    tg_close(s);
  }
  TF_Function *got[4] = {0};
  int n = TF_GraphGetFunctions(q, got, 4, st);
  TF_DeleteGraph(q);
  for (int i = 0; i < n; i++) {
    printf("kept %d\n", TF_FunctionName(got[i])[0] != 0);
    TF_DeleteFunction(got[i]);
  }
  TF_Function *fs[] = {f, f2, dg, h, outer};
  for (int i = 0; i < 5; i++) TF_DeleteFunction(fs[i]);
  TF_Graph *gs[] = {g, k, m, in};
  for (int i = 0; i < 4; i++) TF_DeleteGraph(gs[i]);
  tg_end();
  return 0;
}
