/* Functions in an eager context. */
#include "eager_common.h"

static TFE_Context *C;

static TF_Operation *fin(TF_OperationDescription *d) {
  TF_Operation *o = TF_FinishOperation(d, S);
  ec_must("FinishOperation");
  return o;
}
static TF_Output out(TF_Operation *o) {
  return (TF_Output){o, 0};
}

static TF_Output ph(TF_Graph *g, const char *name, TF_DataType dt) {
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", dt);
  return out(fin(d));
}
static TF_Output cst(TF_Graph *g, const char *name, float v) {
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_Tensor *t = tr_f32(v);
  TF_SetAttrTensor(d, "value", t, S);
  TF_DeleteTensor(t);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  return out(fin(d));
}
static TF_Output bin(TF_Graph *g, const char *op, const char *name, TF_Output a, TF_Output b) {
  TF_OperationDescription *d = TF_NewOperation(g, op, name);
  TF_AddInput(d, a);
  TF_AddInput(d, b);
  return out(fin(d));
}
static TF_Function *to_fn(TF_Graph *g, const char *name, int ni, TF_Output *in, int no,
                          TF_Output *o, const char *const *onames) {
  TF_Function *f = TF_GraphToFunction(g, name, 0, -1, NULL, ni, in, no, o,
                                      (const char *const *)onames, NULL, NULL, S);
  ec_must("GraphToFunction");
  return f;
}
/* name(x) = x op k */
static TF_Function *unary(const char *name, const char *op, float k) {
  TF_Graph *g = TF_NewGraph();
  TF_Output x = ph(g, "x", TF_FLOAT);
  TF_Output r = bin(g, op, "r", x, cst(g, "k", k));
  TF_Function *f = to_fn(g, name, 1, &x, 1, &r, NULL);
  TF_DeleteGraph(g);
  return f;
}

static void add(TF_Function *f) {
  TFE_ContextAddFunction(C, f, S);
  ec_st("AddFunction");
  TF_DeleteFunction(f);
}

static void call1(const char *name, TFE_TensorHandle *x) {
  TFE_Op *op = TFE_NewOp(C, name, S);
  if (!op) {
    ec_st(name);
    return;
  }
  if (x) ec_in(op, x);
  ec_exec(name, op, 4);
}

static void basics(TFE_TensorHandle *x) {
  tr_case("add and call a function");
  printf("has %d\n", TFE_ContextHasFunction(C, "twice"));
  add(unary("twice", "Mul", 2));
  printf("has %d\n", TFE_ContextHasFunction(C, "twice"));
  TFE_Op *op = ec_op(C, "twice");
  printf("name %s inputs %d\n", TFE_OpGetName(op, S), TFE_OpGetFlatInputCount(op, S));
  ec_in(op, x);
  printf("input length %d ", TFE_OpGetInputLength(op, "x", S));
  ec_st("x");
  printf("output length %d ", TFE_OpGetOutputLength(op, "r", S));
  ec_st("r");
  ec_exec("twice", op, 1);

  tr_case("add the same function again");
  add(unary("twice", "Mul", 2));
  call1("twice", x);
  tr_case("add another function of the same name");
  add(unary("twice", "AddV2", 100));
  call1("twice", x);

  tr_case("wrong calls");
  call1("nope", x);
  call1("twice", NULL);
  TFE_TensorHandle *i = ec_i0(3);
  call1("twice", i);
  op = ec_op(C, "twice");
  ec_in(op, x);
  ec_exec("no room", op, 0);
  TFE_DeleteTensorHandle(i);

  tr_case("get function def");
  TF_Buffer *b = TF_NewBuffer();
  TFE_ContextGetFunctionDef(C, "twice", b, S);
  ec_st("get");
  tr_dump_buffer("FunctionDef", b);

  tr_case("add function def");
  TFE_ContextAddFunctionDef(C, b->data, b->length, S);
  ec_st("same again");
  TFE_ContextAddFunctionDef(C, "\xff\xff", 2, S);
  ec_st("garbage");
  TFE_ContextAddFunctionDef(C, "", 0, S);
  ec_st("empty");
  TF_DeleteBuffer(b);
  b = TF_NewBuffer();
  TFE_ContextGetFunctionDef(C, "nope", b, S);
  ec_st("get missing");
  TF_DeleteBuffer(b);

  tr_case("get function");
  TF_Function *f = TFE_ContextGetFunction(C, "twice", S);
  ec_st("get");
  if (f) {
    printf("name %s\n", TF_FunctionName(f));
    TF_DeleteFunction(f);
  }
  f = TFE_ContextGetFunction(C, "nope", S);
  ec_st("get missing");
  printf("%s\n", f ? "not null" : "null");

  tr_case("remove function");
  add(unary("gone", "Sub", 1));
  call1("gone", x);
  TFE_ContextRemoveFunction(C, "gone", S);
  ec_st("remove");
  printf("has %d\n", TFE_ContextHasFunction(C, "gone"));
  call1("gone", x);
  TFE_ContextRemoveFunction(C, "gone", S);
  ec_st("remove again");
  TFE_ContextRemoveFunction(C, "never", S);
  ec_st("remove never there");
  add(unary("gone", "AddV2", 1));
  call1("gone", x);
}

static void shapes(TFE_TensorHandle *x) {
  tr_case("several inputs and outputs");
  TF_Graph *g = TF_NewGraph();
  TF_Output in[2] = {ph(g, "a", TF_FLOAT), ph(g, "b", TF_FLOAT)};
  TF_Output o[3] = {bin(g, "AddV2", "s", in[0], in[1]), bin(g, "Mul", "p", in[0], in[1]), in[0]};
  const char *names[3] = {"sum", "prod", "same"};
  add(to_fn(g, "multi", 2, in, 3, o, names));
  TF_DeleteGraph(g);
  TFE_TensorHandle *y = ec_f1(2, (float[]){10, 20});
  TFE_Op *op = ec_op(C, "multi");
  ec_in(op, x);
  ec_in(op, y);
  printf("output length %d ", TFE_OpGetOutputLength(op, "prod", S));
  ec_st("prod");
  ec_exec("multi", op, 3);
  op = ec_op(C, "multi");
  ec_in(op, x);
  ec_exec("multi with one input", op, 3);
  op = ec_op(C, "multi");
  ec_in(op, x);
  ec_in(op, y);
  ec_exec("multi with room 2", op, 2);

  tr_case("run-time error inside a function");
  TFE_TensorHandle *y3 = ec_f1(3, (float[]){1, 2, 3});
  g = TF_NewGraph();
  in[0] = ph(g, "a", TF_FLOAT);
  in[1] = ph(g, "b", TF_FLOAT);
  o[0] = bin(g, "AddV2", "s", in[0], in[1]);
  add(to_fn(g, "plus", 2, in, 1, o, NULL));
  TF_DeleteGraph(g);
  op = ec_op(C, "plus");
  ec_in(op, x);
  ec_in(op, y3);
  ec_exec("plus", op, 3);
  op = ec_op(C, "StatefulPartitionedCall");
  TFE_TensorHandle *xy[2] = {x, y3};
  TFE_OpAddInputList(op, xy, 2, S);
  ec_must("list");
  TFE_OpSetAttrFunctionName(op, "f", "plus", 4);
  TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT}, 1);
  ec_exec("StatefulPartitionedCall of plus", op, 1);

  tr_case("nested functions");
  TF_Function *tw = unary("inner", "Mul", 3);
  g = TF_NewGraph();
  TF_GraphCopyFunction(g, tw, NULL, S);
  ec_must("copy function");
  TF_Output px = ph(g, "x", TF_FLOAT);
  TF_OperationDescription *d = TF_NewOperation(g, "inner", "call1");
  TF_AddInput(d, px);
  TF_Operation *c1 = fin(d);
  d = TF_NewOperation(g, "inner", "call2");
  TF_AddInput(d, out(c1));
  TF_Output r = out(fin(d));
  TF_Function *outer = to_fn(g, "outer", 1, &px, 1, &r, NULL);
  TF_DeleteGraph(g);
  TFE_ContextAddFunction(C, outer, S);
  ec_st("AddFunction outer without inner");
  call1("outer", x);
  TF_DeleteFunction(outer);
  add(tw);
  call1("outer", x);

  tr_case("PartitionedCall");
  static const char *const pc[] = {"PartitionedCall", "StatefulPartitionedCall"};
  for (int i = 0; i < 2; i++) {
    op = ec_op(C, pc[i]);
    TFE_OpAddInputList(op, &x, 1, S);
    ec_must("list");
    TFE_OpSetAttrFunctionName(op, "f", "twice", 5);
    TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT}, 1);
    ec_exec(pc[i], op, 1);
    op = ec_op(C, pc[i]);
    TFE_OpAddInputList(op, &x, 1, S);
    TFE_OpSetAttrFunctionName(op, "f", "nope", 4);
    TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT}, 1);
    ec_exec("missing function", op, 1);
    op = ec_op(C, pc[i]);
    TFE_OpAddInputList(op, &x, 1, S);
    TFE_OpSetAttrFunctionName(op, "f", "twice", 5);
    TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_INT32}, 1);
    ec_exec("wrong Tout", op, 1);
  }

  tr_case("stateless If and If");
  static const char *const ifs[] = {"StatelessIf", "If"};
  for (int i = 0; i < 2; i++)
    for (int p = 0; p < 2; p++) {
      TFE_TensorHandle *pred = ec_b0(p);
      op = ec_op(C, ifs[i]);
      ec_in(op, pred);
      TFE_OpAddInputList(op, &x, 1, S);
      ec_must("list");
      TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT}, 1);
      TFE_OpSetAttrFunctionName(op, "then_branch", "twice", 5);
      TFE_OpSetAttrFunctionName(op, "else_branch", "inner", 5);
      ec_exec(ifs[i], op, 1);
      TFE_DeleteTensorHandle(pred);
    }
  TFE_TensorHandle *num = ec_i0(5);
  op = ec_op(C, "If");
  ec_in(op, num);
  TFE_OpAddInputList(op, &x, 1, S);
  TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT}, 1);
  TFE_OpSetAttrFunctionName(op, "then_branch", "twice", 5);
  TFE_OpSetAttrFunctionName(op, "else_branch", "inner", 5);
  ec_exec("If with int predicate", op, 1);
  op = ec_op(C, "If");
  ec_in(op, num);
  TFE_OpAddInputList(op, &x, 1, S);
  TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT}, 1);
  TFE_OpSetAttrFunctionName(op, "then_branch", "twice", 5);
  TFE_OpSetAttrFunctionName(op, "else_branch", "absent", 6);
  ec_exec("If with missing branch", op, 1);
  TFE_DeleteTensorHandle(num);

  tr_case("While");
  g = TF_NewGraph();
  px = ph(g, "x", TF_FLOAT);
  r = bin(g, "Less", "less", px, cst(g, "k", 100));
  add(to_fn(g, "cond", 1, &px, 1, &r, NULL));
  TF_DeleteGraph(g);
  TFE_TensorHandle *start = ec_f0(3);
  static const char *const wh[] = {"While", "StatelessWhile"};
  for (int i = 0; i < 2; i++) {
    op = ec_op(C, wh[i]);
    TFE_OpAddInputList(op, &start, 1, S);
    ec_must("list");
    TFE_OpSetAttrFunctionName(op, "cond", "cond", 4);
    TFE_OpSetAttrFunctionName(op, "body", "twice", 5);
    ec_exec(wh[i], op, 1);
  }
  tr_case("Case");
  TFE_Op *f1 = ec_op(C, "twice");
  TFE_Op *f2 = ec_op(C, "inner");
  const TFE_Op *br[2] = {f1, f2};
  for (int k = -1; k < 3; k++) {
    TFE_TensorHandle *idx = ec_i0(k);
    op = ec_op(C, "Case");
    ec_in(op, idx);
    TFE_OpAddInputList(op, &x, 1, S);
    TFE_OpSetAttrFunctionList(op, "branches", br, 2);
    TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT}, 1);
    printf("branch %d ", k);
    ec_exec("Case", op, 1);
    TFE_DeleteTensorHandle(idx);
  }
  TFE_DeleteOp(f1);
  TFE_DeleteOp(f2);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(y3);
  TFE_DeleteTensorHandle(start);
}

static void variables(void) {
  tr_case("variable captured by a function");
  TF_Graph *g = TF_NewGraph();
  TF_Output in[2] = {ph(g, "v", TF_RESOURCE), ph(g, "d", TF_FLOAT)};
  TF_OperationDescription *d = TF_NewOperation(g, "AssignAddVariableOp", "up");
  TF_AddInput(d, in[0]);
  TF_AddInput(d, in[1]);
  TF_Operation *up = fin(d);
  d = TF_NewOperation(g, "ReadVariableOp", "read");
  TF_AddInput(d, in[0]);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_AddControlInput(d, up);
  TF_Output r = out(fin(d));
  add(to_fn(g, "bump", 2, in, 1, &r, NULL));
  TF_DeleteGraph(g);
  TFE_Op *op = ec_op(C, "VarHandleOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, S);
  TFE_OpSetAttrString(op, "shared_name", "fv", 2);
  TFE_TensorHandle *v = ec_exec_keep("VarHandleOp", op, 1);
  TFE_TensorHandle *x = ec_f0(1);
  op = ec_op(C, "bump");
  ec_in(op, v);
  ec_in(op, x);
  ec_exec("bump uninitialized", op, 1);
  op = ec_op(C, "AssignVariableOp");
  ec_in(op, v);
  ec_in(op, x);
  ec_exec("assign", op, 0);
  for (int i = 0; i < 2; i++) {
    op = ec_op(C, "bump");
    ec_in(op, v);
    ec_in(op, x);
    ec_exec("bump", op, 1);
  }
  TFE_DeleteTensorHandle(v);
  TFE_DeleteTensorHandle(x);
}

int main(void) {
  ec_open();
  C = ec_ctx();
  TFE_TensorHandle *x = ec_f1(2, (float[]){1, 2});
  basics(x);
  shapes(x);
  variables();
  TFE_DeleteTensorHandle(x);
  TFE_DeleteContext(C);
  return ec_close();
}
