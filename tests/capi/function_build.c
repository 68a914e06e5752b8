/* TF_GraphToFunction and the function library of a graph. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

static void dump(TF_Function *f) {
  TF_Buffer *b = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, b, st);
  if (tr_status("def", st)) tr_dump_buffer("FunctionDef", b);
  TF_DeleteBuffer(b);
}

static TF_Function *make(const char *what, TF_Graph *g, const char *name, int nops,
                         const TF_Operation *const *ops, int nin, const TF_Output *in, int nout,
                         const TF_Output *out, const char *const *names) {
  TF_Function *f =
      TF_GraphToFunction(g, name, 0, nops, ops, nin, in, nout, out, names, NULL, NULL, st);
  tr_status(what, st);
  if ((f == NULL) != (TF_GetCode(st) != TF_OK)) puts("function/status disagree");
  return f;
}
static void drop(TF_Function *f) {
  if (f) TF_DeleteFunction(f);
}

static void shapes_of_functions(void) {
  TF_Graph *g = TF_NewGraph();
  TF_Operation *a = tg_ph(g, TF_FLOAT, "a", NULL, -1);
  TF_Operation *b = tg_ph(g, TF_FLOAT, "b", NULL, -1);
  TF_Operation *two = tg_cf(g, 2, "two");
  TF_Operation *add = tg_op(g, "AddV2", "scope/add", 2, a, b);
  TF_Operation *mul = tg_op(g, "Mul", "Mul", 2, add, two);
  TF_Operation *noop = tg_op(g, "NoOp", "side", 0);
  TF_Output in[2] = {tg_out(a, 0), tg_out(b, 0)};
  TF_Output out[2] = {tg_out(mul, 0), tg_out(add, 0)};

  tr_case("no inputs");
  TF_Output k = tg_out(two, 0);
  const TF_Operation *only[1] = {two};
  TF_Function *f = make("const", g, "fconst", 1, only, 0, NULL, 1, &k, NULL);
  dump(f);
  drop(f);
  tr_case("whole graph, two inputs, two outputs");
  f = make("whole", g, "fwhole", -1, NULL, 2, in, 2, out, NULL);
  printf("name %s\n", TF_FunctionName(f));
  dump(f);
  drop(f);
  tr_case("output names");
  const char *names[2] = {"product", "sum"};
  f = make("named", g, "fnamed", -1, NULL, 2, in, 2, out, names);
  dump(f);
  drop(f);
  tr_case("body subset");
  const TF_Operation *body[1] = {mul};
  TF_Output sub[2] = {tg_out(add, 0), tg_out(two, 0)};
  f = make("subset", g, "fsub", 1, body, 2, sub, 1, out, NULL);
  dump(f);
  drop(f);
  tr_case("subset missing an input");
  drop(make("subset", g, "fbad", 1, body, 1, sub, 1, out, NULL));
  tr_case("same output twice, input as output");
  TF_Output dup[3] = {tg_out(add, 0), tg_out(add, 0), tg_out(a, 0)};
  f = make("dup", g, "fdup", -1, NULL, 2, in, 3, dup, NULL);
  dump(f);
  drop(f);
  tr_case("control outputs");
  const TF_Operation *co[1] = {noop};
  const char *con[1] = {"done"};
  f = TF_GraphToFunctionWithControlOutputs(g, "fctl", 0, -1, NULL, 2, in, 1, out, NULL, 1, co, con,
                                           NULL, NULL, st);
  tr_status("control", st);
  if (f) dump(f);
  drop(f);
  f = TF_GraphToFunctionWithControlOutputs(g, "fctl2", 0, -1, NULL, 2, in, 1, out, NULL, 1, co,
                                           NULL, NULL, NULL, st);
  tr_status("control unnamed", st);
  if (f) dump(f);
  drop(f);
  tr_case("description");
  f = TF_GraphToFunction(g, "fdesc", 0, 1, only, 0, NULL, 1, &k, NULL, NULL, "what it does", st);
  tr_status("description", st);
  dump(f);
  drop(f);
  tr_case("append hash");
  f = TF_GraphToFunction(g, "fhash", 1, 1, only, 0, NULL, 1, &k, NULL, NULL, NULL, st);
  tr_status("hash", st);
  const char *nm = TF_FunctionName(f);
  size_t len = strlen(nm);
  int good = len > 6 && strncmp(nm, "fhash_", 6) == 0;
  for (size_t i = 6; i < len; ++i)
    if (!((nm[i] >= '0' && nm[i] <= '9') || (nm[i] >= 'a' && nm[i] <= 'z') ||
          (nm[i] >= 'A' && nm[i] <= 'Z')))
      good = 0;
  TF_Function *f2 =
      TF_GraphToFunction(g, "fhash", 1, 1, only, 0, NULL, 1, &k, NULL, NULL, NULL, st);
  printf("prefix and characters %d, repeatable %d\n", good, strcmp(nm, TF_FunctionName(f2)) == 0);
  drop(f2);
  drop(f);

  tr_case("errors: inputs");
  TF_Output twice[2] = {in[0], in[0]};
  drop(make("same input twice", g, "e1", -1, NULL, 2, twice, 1, out, NULL));
  TF_Output badidx = tg_out(a, 3);
  drop(make("bad input index", g, "e2", -1, NULL, 1, &badidx, 1, out, NULL));
  drop(make("placeholder not listed", g, "e3", -1, NULL, 1, in, 1, out, NULL));
  tr_case("errors: outputs");
  badidx = tg_out(mul, 9);
  drop(make("bad output index", g, "e4", -1, NULL, 2, in, 1, &badidx, NULL));
  const char *same[2] = {"x", "x"};
  drop(make("same output names", g, "e5", -1, NULL, 2, in, 2, out, same));
  const char *ugly[2] = {"Has Space", "9"};
  f = make("odd output names", g, "e6", -1, NULL, 2, in, 2, out, ugly);
  if (f) dump(f);
  drop(f);
  tr_case("errors: names");
  f = make("empty name", g, "", 1, only, 0, NULL, 1, &k, NULL);
  drop(f);
  f = make("odd name", g, "a name/with: things", 1, only, 0, NULL, 1, &k, NULL);
  if (f) printf("name %s\n", TF_FunctionName(f));
  drop(f);
  tr_case("errors: control outputs");
  const TF_Operation *co2[2] = {noop, noop};
  const char *con2[2] = {"done", "done"};
  drop(TF_GraphToFunctionWithControlOutputs(g, "e8", 0, -1, NULL, 2, in, 1, out, NULL, 2, co2, con2,
                                            NULL, NULL, st));
  tr_status("same names", st);
  const TF_Operation *one[1] = {mul};
  drop(TF_GraphToFunctionWithControlOutputs(g, "e9", 0, 1, one, 2, sub, 1, out, NULL, 1, co, con,
                                            NULL, NULL, st));
  tr_status("outside body", st);
  tr_case("body listing an input op");
  const TF_Operation *bi[2] = {mul, add};
  drop(make("input produced by body op", g, "e10", 2, bi, 2, sub, 1, out, NULL));
  TF_DeleteGraph(g);
}

static TF_Function *neg_function(const char *name) {
  TF_Graph *b = TF_NewGraph();
  TF_Operation *x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_Operation *n = tg_op(b, "Neg", "n", 1, x);
  TF_Output i = tg_out(x, 0), o = tg_out(n, 0);
  TF_Function *f = TF_GraphToFunction(b, name, 0, -1, NULL, 1, &i, 1, &o, NULL, NULL, NULL, st);
  if (TF_GetCode(st) != TF_OK) tr_status("neg", st);
  TF_DeleteGraph(b);
  return f;
}

static int by_name(const void *a, const void *b) {
  return strcmp(TF_FunctionName(*(TF_Function *const *)a),
                TF_FunctionName(*(TF_Function *const *)b));
}

static void library(void) {
  TF_Graph *g = TF_NewGraph();
  TF_Function *f = neg_function("MyNeg");
  TF_Function *h = neg_function("MyOther");
  tr_case("copy into a graph");
  printf("functions %d\n", TF_GraphNumFunctions(g));
  TF_GraphCopyFunction(g, f, NULL, st);
  tr_status("copy", st);
  TF_GraphCopyFunction(g, f, NULL, st);
  tr_status("copy again", st);
  printf("functions %d\n", TF_GraphNumFunctions(g));
  tr_case("same name, other body");
  TF_Graph *b = TF_NewGraph();
  TF_Operation *x = tg_ph(b, TF_FLOAT, "x", NULL, -1);
  TF_Operation *n = tg_op(b, "Exp", "n", 1, x);
  TF_Output i = tg_out(x, 0), o = tg_out(n, 0);
  TF_Function *clash =
      TF_GraphToFunction(b, "MyNeg", 0, -1, NULL, 1, &i, 1, &o, NULL, NULL, NULL, st);
  TF_GraphCopyFunction(g, clash, NULL, st);
  tr_status("copy", st);
  drop(clash);
  clash = TF_GraphToFunction(b, "Neg", 0, -1, NULL, 1, &i, 1, &o, NULL, NULL, NULL, st);
  tr_status("named as an op", st);
  if (clash) TF_GraphCopyFunction(g, clash, NULL, st), tr_status("copy", st);
  drop(clash);
  TF_DeleteGraph(b);
  tr_case("with gradient");
  TF_GraphCopyFunction(g, f, h, st);
  tr_status("copy with gradient", st);
  TF_Function *third = neg_function("Third");
  TF_GraphCopyFunction(g, f, third, st);
  tr_status("another gradient", st);
  drop(third);
  TF_GraphCopyFunction(g, NULL, NULL, st);
  tr_status("null function", st);
  tr_case("list functions");
  TF_Function *fs[8] = {NULL};
  int c = TF_GraphGetFunctions(g, fs, 8, st);
  tr_status("get", st);
  qsort(fs, (size_t)c, sizeof fs[0], by_name);
  for (int k = 0; k < c; ++k) {
    printf(" %s", TF_FunctionName(fs[k]));
    drop(fs[k]);
  }
  puts("");
  c = TF_GraphGetFunctions(g, fs, 1, st);
  printf("max 1 gives %d\n", c);
  if (c > 0) drop(fs[0]);
  tr_case("calling as an op of that name");
  TF_Operation *v = tg_cf(g, 3, "v");
  TF_OperationDescription *d = tg_desc(g, "MyNeg", "call", 1, v);
  TF_Operation *call = tg_finish_show(d, "call");
  printf("%s outputs %d %s\n", TF_OperationOpType(call), TF_OperationNumOutputs(call),
         tr_dtype_name(TF_OperationOutputType(tg_out(call, 0))));
  tg_shape(g, "call", tg_out(call, 0));
  TF_Operation *wi = tg_ci(g, 3, "wi");
  tg_op_show(g, "MyNeg", "wrong_type", 1, wi);
  TF_Buffer *buf = TF_NewBuffer();
  TF_GraphGetOpDef(g, "MyNeg", buf, st);
  if (tr_status("op def", st)) tr_dump_buffer("OpDef", buf);
  TF_DeleteBuffer(buf);
  buf = TF_NewBuffer();
  TF_OperationToNodeDef(call, buf, st);
  tr_dump_buffer("NodeDef", buf);
  TF_DeleteBuffer(buf);
  TF_Session *s = tg_session(g);
  tg_fetch(s, "run", call);
  tg_close(s);
  tr_case("attributes of a function");
  tr_pb a = {0};
  tr_pb_int(&a, 5, 1);
  TF_FunctionSetAttrValueProto(f, "_XlaCompile", a.data, a.len, st);
  tr_status("set", st);
  TF_FunctionSetAttrValueProto(f, "bad", "\xff\xff", 2, st);
  tr_status("bad bytes", st);
  buf = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(f, "_XlaCompile", buf, st);
  if (tr_status("get", st)) tr_dump_buffer("AttrValue", buf);
  TF_DeleteBuffer(buf);
  buf = TF_NewBuffer();
  TF_FunctionGetAttrValueProto(f, "missing", buf, st);
  tr_status("missing", st);
  TF_DeleteBuffer(buf);
  tr_pb_free(&a);
  dump(f);
  tr_case("import a function def");
  buf = TF_NewBuffer();
  TF_FunctionToFunctionDef(h, buf, st);
  TF_Function *imp = TF_FunctionImportFunctionDef(buf->data, buf->length, st);
  tr_status("import", st);
  printf("name %s\n", TF_FunctionName(imp));
  dump(imp);
  drop(imp);
  TF_DeleteBuffer(buf);
  imp = TF_FunctionImportFunctionDef("\xff\xff", 2, st);
  tr_status("bad bytes", st);
  printf("null %d\n", imp == NULL);
  imp = TF_FunctionImportFunctionDef("", 0, st);
  tr_status("empty", st);
  drop(imp);
  tr_case("graph def with a library");
  TF_GraphRemoveFunction(g, "MyOther", st);
  tr_status("remove", st);
  TF_GraphRemoveFunction(g, "nothing", st);
  tr_status("remove unknown", st);
  printf("functions %d\n", TF_GraphNumFunctions(g));
  buf = TF_NewBuffer();
  TF_GraphToGraphDef(g, buf, st);
  TF_Graph *g2 = TF_NewGraph();
  TF_ImportGraphDefOptions *io = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(g2, buf, io, st);
  tr_status("import", st);
  printf("functions %d\n", TF_GraphNumFunctions(g2));
  TF_Operation *c2 = TF_GraphOperationByName(g2, "call");
  s = tg_session(g2);
  if (c2) tg_fetch(s, "run", c2);
  tg_close(s);
  TF_DeleteImportGraphDefOptions(io);
  TF_DeleteBuffer(buf);
  TF_DeleteGraph(g2);
  drop(f);
  drop(h);
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  shapes_of_functions();
  library();
  tg_end();
  return 0;
}
