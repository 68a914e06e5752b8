/* The unified API: one code that runs operations or traces them into a function; and statuses under TSL names. */
#include "tensorflow/c/eager/c_api_unified_experimental.h"

#include "eager_common.h"
#include "xla/tsl/c/tsl_status.h"

static TF_ExecutionContext *eager(void) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TF_ExecutionContext *c = TF_NewEagerExecutionContext(o, S);
  ec_must("context");
  TFE_DeleteContextOptions(o);
  return c;
}

/* type(in...) in |c|; a name is set where one is given. The first of |room| outputs. */
static TF_AbstractTensor *apply(TF_ExecutionContext *c, const char *type, const char *name,
                                TF_AbstractTensor **in, int n, int room) {
  TF_AbstractOp *op = TF_NewAbstractOp(c);
  TF_AbstractOpSetOpType(op, type, S);
  if (TF_GetCode(S) != TF_OK) ec_st("  type");
  if (name) TF_AbstractOpSetOpName(op, name, S);
  if (TF_GetCode(S) != TF_OK) ec_st("  name");
  TF_OutputList *o = TF_NewOutputList();
  TF_OutputListSetNumOutputs(o, room, S);
  TF_ExecuteOperation(op, n, in, o, S);
  bool ok = ec_st(type);
  printf("  outputs: %d\n", TF_OutputListNumOutputs(o));
  TF_AbstractTensor *r = ok && room > 0 ? TF_OutputListGet(o, 0) : NULL;
  TF_DeleteOutputList(o);
  TF_DeleteAbstractOp(op);
  return r;
}

static TF_AbstractTensor *scalar(float f) {
  TF_AbstractTensor *t = TF_CreateAbstractTensorFromEagerTensor(ec_f0(f), S);
  ec_must("tensor");
  return t;
}

static void show(const char *what, TF_AbstractTensor *t) {
  TFE_TensorHandle *h = TF_AbstractTensorGetEagerTensor(t, S);
  if (ec_st(what)) ec_handle(what, h);
}

static void running(void) {
  tr_case("running");
  TF_ExecutionContext *c = eager();
  TF_AbstractTensor *x = scalar(2), *in[2] = {x, x};
  TF_AbstractTensor *y = apply(c, "Add", NULL, in, 2, 1);
  show("2 + 2", y);
  TF_DeleteAbstractTensor(y);
  y = apply(c, "Add", "named", in, 2, 1);
  show("named", y);
  TF_DeleteAbstractTensor(y);
  apply(c, "Add", NULL, in, 1, 1);
  apply(c, "NoSuchOp", NULL, in, 0, 1);
  TF_AbstractOp *op = TF_NewAbstractOp(c);
  TF_AbstractOpSetOpType(op, "VarHandleOp", S);
  TF_AbstractOpSetAttrType(op, "dtype", TF_FLOAT, S);
  ec_st("attribute");
  TF_AbstractOpSetOpType(op, "Neg", S);
  ec_st("type again");
  TF_DeleteAbstractOp(op);
  TFE_Context *tfe = TF_ExecutionContextGetTFEContext(c, S);
  ec_st("the context");
  ec_run(tfe, "Neg", TF_AbstractTensorGetEagerTensor(x, S), NULL, NULL);
  TF_AddFunctionParameter(c, TF_FLOAT, (TF_Shape){-1, NULL}, S);
  ec_st("a parameter of an eager context");
  TF_OutputList *o = TF_NewOutputList();
  TF_FinalizeFunction(c, o, S);
  ec_st("finalize an eager context");
  TF_DeleteOutputList(o);
  TF_DeleteAbstractTensor(x);
  TF_DeleteExecutionContext(c);
}

static void tracing(void) {
  tr_case("tracing");
  TF_ExecutionContext *g = TF_CreateFunction("two_adds", S);
  ec_st("create");
  int64_t dims[2] = {2, -1};
  TF_AbstractTensor *a = TF_AddFunctionParameter(g, TF_FLOAT, (TF_Shape){-1, NULL}, S);
  ec_st("a");
  TF_AbstractTensor *b = TF_AddFunctionParameter(g, TF_FLOAT, (TF_Shape){0, dims}, S);
  ec_st("b");
  TF_AbstractTensor *in[2] = {a, b};
  TF_AbstractTensor *s1 = apply(g, "Add", "first", in, 2, 1);
  in[0] = b;
  TF_AbstractTensor *s2 = apply(g, "Add", "second", in, 2, 1);
  tr_case("tracing mistakes");
  TF_AbstractTensor *x = scalar(1), *mixed[2] = {a, x};
  TF_AbstractOp *op = TF_NewAbstractOp(g);
  TF_AbstractOpSetOpName(op, "early", S);
  ec_st("name before type");
  TF_AbstractOpSetAttrType(op, "dtype", TF_FLOAT, S);
  ec_st("attribute before type");
  TF_AbstractOpSetOpType(op, "Placeholder", S);
  ec_st("type");
  TF_OutputList *o = TF_NewOutputList();
  TF_OutputListSetNumOutputs(o, 1, S);
  TF_ExecuteOperation(op, 0, NULL, o, S);
  ec_st("execute without a name");
  TF_AbstractOpSetAttrType(op, "dtype", TF_FLOAT, S);
  ec_st("attribute before name");
  TF_AbstractOpSetOpName(op, "ph", S);
  ec_st("name");
  TF_AbstractOpSetOpName(op, "ph2", S);
  ec_st("name again");
  TF_AbstractOpSetOpType(op, "Identity", S);
  ec_st("type after name");
  TF_AbstractOpSetAttrType(op, "dtype", TF_FLOAT, S);
  ec_st("attribute");
  TF_ExecuteOperation(op, 0, NULL, o, S);
  ec_st("execute");
  TF_DeleteAbstractTensor(TF_OutputListGet(o, 0));
  TF_DeleteAbstractOp(op);
  apply(g, "Add", "mixed", mixed, 2, 1);
  TF_DeleteAbstractTensor(apply(g, "Neg", "first", in, 1, 1));
  apply(g, "NoSuchOp", "nothing", in, 0, 1);
  /* TensorFlow's messages end with an address. */
  TF_ExecutionContextGetTFEContext(g, S);
  printf("the eager context of a function: %s\n", tr_code_name(TF_GetCode(S)));
  TF_AbstractTensorGetEagerTensor(a, S);
  printf("the handle of a traced tensor: %s\n", tr_code_name(TF_GetCode(S)));
  TF_SetStatus(S, TF_OK, "");
  TF_ExecutionContext *c = eager();
  tr_case("the function");
  TF_OutputListSetNumOutputs(o, 0, S);
  TF_OutputListPushBack(o, s1, S);
  TF_OutputListPushBack(o, s2, S);
  printf("results: %d\n", TF_OutputListNumOutputs(o));
  TF_AbstractFunction *f = TF_FinalizeFunction(g, o, S);
  ec_st("finalize");
  TF_ExecutionContextRegisterFunction(c, f, S);
  ec_st("register");
  TF_ExecutionContextRegisterFunction(c, f, S);
  ec_st("register again");
  TF_Buffer *buf = TF_NewBuffer();
  TFE_ContextGetFunctionDef(TF_ExecutionContextGetTFEContext(c, S), "two_adds", buf, S);
  if (ec_st("definition")) {
    TF_Graph *graph = TF_NewGraph();
    TF_Function *again = TF_FunctionImportFunctionDef(buf->data, buf->length, S);
    size_t n;
    TF_GraphCopyFunction(graph, again, NULL, S);
    /* The order of the results in the text is by chance. */
    const char *text = TF_FunctionDebugString(again, &n), *line = text;
    while (*line) {
      int len = (int)strcspn(line, "\n");
      if (strncmp(line, "  return", 8) != 0) printf("%.*s\n", len, line);
      line += len + (line[len] == '\n');
    }
    free((void *)(uintptr_t)text);
    TF_DeleteFunction(again);
    TF_DeleteGraph(graph);
  }
  TF_DeleteBuffer(buf);
  TF_AbstractTensor *args[2] = {scalar(2), scalar(3)};
  op = TF_NewAbstractOp(c);
  TF_AbstractOpSetOpType(op, "two_adds", S);
  ec_st("call");
  TF_OutputListSetNumOutputs(o, 2, S);
  TF_ExecuteOperation(op, 2, args, o, S);
  ec_st("called");
  for (int i = 0; i < TF_OutputListNumOutputs(o); i++) {
    show("result", TF_OutputListGet(o, i));
    TF_DeleteAbstractTensor(TF_OutputListGet(o, i));
  }
  TF_DeleteAbstractOp(op);
  TF_DeleteOutputList(o);
  TF_DeleteAbstractFunction(f);
  TF_DeleteAbstractTensor(args[0]);
  TF_DeleteAbstractTensor(args[1]);
  TF_DeleteAbstractTensor(s1);
  TF_DeleteAbstractTensor(s2);
  TF_DeleteAbstractTensor(a);
  TF_DeleteAbstractTensor(b);
  TF_DeleteAbstractTensor(x);
  TF_DeleteExecutionContext(c);
}

static void bad_functions(void) {
  tr_case("bad functions");
  TF_SetTracingImplementation("graphdef", S);
  ec_st("graphdef");
  TF_SetTracingImplementation("nonsense", S);
  ec_st("nonsense");
  TF_ExecutionContext *g = TF_CreateFunction("returns_eager", S);
  TF_AbstractTensor *x = scalar(1);
  TF_OutputList *o = TF_NewOutputList();
  TF_OutputListPushBack(o, x, S);
  TF_FinalizeFunction(g, o, S);
  ec_st("returns an eager tensor");
  TF_DeleteOutputList(o);
  TF_DeleteAbstractTensor(x);
  g = TF_CreateFunction("registrar", S);
  TF_ExecutionContext *h = TF_CreateFunction("empty", S);
  o = TF_NewOutputList();
  TF_AbstractFunction *f = TF_FinalizeFunction(h, o, S);
  ec_st("an empty function");
  TF_ExecutionContextRegisterFunction(g, f, S);
  ec_st("register with a function");
  TF_DeleteAbstractFunction(f);
  TF_DeleteOutputList(o);
  TF_DeleteExecutionContext(g);
}

static void visit(const char *key, const char *value, void *arg) {
  printf("%s%s=%s\n", (const char *)arg, key, value);
}

static void statuses(void) {
  tr_case("statuses");
  TSL_Status *s = TSL_NewStatus();
  printf("%d '%s'\n", (int)TSL_GetCode(s), TSL_Message(s));
  TSL_SetStatus(s, TSL_NOT_FOUND, "lost");
  TSL_SetPayload(s, "k", "v");
  TSL_ForEachPayload(s, visit, (void *)(uintptr_t) "  ");
  printf("%d '%s' %d\n", (int)TSL_GetCode(s), TSL_Message(s), (int)TF_GetCode(s));
  TSL_SetStatusFromIOError(s, 2, "file");
  printf("%d '%s'\n", (int)TSL_GetCode(s), TSL_Message(s));
  TSL_DeleteStatus(s);
}

int main(void) {
  ec_open();
  running();
  tracing();
  bad_functions();
  statuses();
  return ec_close();
}
