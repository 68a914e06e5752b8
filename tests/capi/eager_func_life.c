/* Functions in eager contexts over time: definitions as bytes, calls before and after removal, a new body for an
   old name, functions that call others, two contexts, attributes that are not there, running metadata. */
#include "eager_common.h"

static TF_Function *unary(const char *name, const char *op) {
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output x = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, op, "y");
  TF_AddInput(d, x);
  TF_Output y = {TF_FinishOperation(d, S), 0};
  ec_must(op);
  TF_Function *f = TF_GraphToFunction(g, name, 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, S);
  ec_must(name);
  TF_DeleteGraph(g);
  return f;
}
static void add_def(TFE_Context *c, TF_Function *f, const char *what) {
  TF_Buffer *b = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, b, S);
  TFE_ContextAddFunctionDef(c, b->data, b->length, S);
  ec_st(what);
  TF_DeleteBuffer(b);
}
static void call(TFE_Context *c, const char *name, const char *label) {
  TFE_Op *op = TFE_NewOp(c, name, S);
  if (!ec_st(label)) return;
  TFE_TensorHandle *x = ec_f0(2);
  ec_in(op, x);
  TFE_DeleteTensorHandle(x);
  ec_exec("  call", op, 1);
}
static void partitioned(TFE_Context *c, const char *name, TF_DataType out) {
  TFE_Op *op = ec_op(c, "PartitionedCall"), *f = TFE_NewOp(c, name, S);
  if (!ec_st(name)) {
    TFE_DeleteOp(op);
    return;
  }
  TFE_TensorHandle *x = ec_f0(2);
  TFE_OpAddInputList(op, &x, 1, S);
  TFE_DeleteTensorHandle(x);
  TFE_OpSetAttrFunction(op, "f", f);
  TFE_OpSetAttrTypeList(op, "Tout", &out, 1);
  TFE_DeleteOp(f);
  ec_exec("  partitioned", op, 1);
}

int main(void) {
  ec_open();
  TFE_Context *a = ec_ctx(), *b = ec_ctx();
  TF_Function *neg = unary("F", "Neg"), *sq = unary("F", "Square"), *g = unary("G", "Exp");
  tr_case("bytes");
  TFE_ContextAddFunctionDef(a, "nonsense", 8, S);
  ec_st("nonsense");
  add_def(a, neg, "add");
  add_def(a, neg, "again");
  add_def(a, sq, "another body");
  printf("has F %d G %d empty %d\n", TFE_ContextHasFunction(a, "F"), TFE_ContextHasFunction(a, "G"),
         TFE_ContextHasFunction(a, ""));
  call(a, "F", "F");
  call(a, "G", "G");
  tr_case("two contexts");
  TFE_ContextAddFunction(b, sq, S);
  ec_st("the other body");
  call(b, "F", "F of b");
  call(a, "F", "F of a");
  tr_case("removed and made again");
  TFE_ContextRemoveFunction(a, "F", S);
  ec_st("remove");
  TFE_ContextRemoveFunction(a, "F", S);
  ec_st("again");
  call(a, "F", "F");
  add_def(a, sq, "another body");
  call(a, "F", "F");
  partitioned(a, "F", TF_FLOAT);
  partitioned(a, "F", TF_INT32);
  partitioned(a, "Nowhere", TF_FLOAT);
  tr_case("an op made before");
  TFE_Op *op = ec_op(a, "F");
  TFE_TensorHandle *x = ec_f0(3);
  ec_in(op, x);
  TFE_ContextRemoveFunction(a, "F", S);
  ec_st("remove");
  ec_exec("call", op, 1);
  tr_case("what is kept");
  TFE_ContextAddFunction(a, g, S);
  ec_st("add");
  TF_DeleteFunction(g);
  call(a, "G", "G");
  TF_Buffer *buf = TF_NewBuffer();
  TFE_ContextGetFunctionDef(a, "G", buf, S);
  if (ec_st("definition")) printf("bytes %d\n", buf->length > 0);
  TF_DeleteBuffer(buf);
  buf = TF_NewBuffer();
  TFE_ContextGetFunctionDef(a, "Nowhere", buf, S);
  ec_st("definition of nothing");
  TF_DeleteBuffer(buf);
  TF_Function *copy = TFE_ContextGetFunction(a, "G", S);
  if (ec_st("function")) {
    printf("name %s\n", TF_FunctionName(copy));
    TF_DeleteFunction(copy);
  }
  copy = TFE_ContextGetFunction(a, "Nowhere", S);
  ec_st("no function");
  printf("null %d\n", copy == NULL);
  tr_case("attributes of calls");
  op = ec_op(a, "G");
  unsigned char list = 9;
  TF_AttrType t = TFE_OpGetAttrType(op, "T", &list, S);
  printf("T %d list %d", (int)t, list);
  ec_st(", status");
  t = TFE_OpNameGetAttrType(a, "G", "nothing", &list, S);
  printf("nothing %d", (int)t);
  ec_st(", status");
  TFE_OpSetAttrBool(op, "XlaMustCompile", 0);
  ec_in(op, x);
  ec_exec("with a hint", op, 1);
  op = ec_op(a, "G");
  TFE_OpSetAttrInt(op, "nobody_knows", 5);
  ec_in(op, x);
  ec_exec("with an unknown one", op, 1);
  op = ec_op(a, "G");
  printf("inputs %d", TFE_OpGetInputLength(op, "x", S));
  ec_st(", status");
  printf("outputs %d", TFE_OpGetOutputLength(op, "y", S));
  ec_st(", status");
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(x);
  TF_DeleteFunction(neg);
  TF_DeleteFunction(sq);
  TFE_DeleteContext(a);
  TFE_DeleteContext(b);
  return ec_close();
}
