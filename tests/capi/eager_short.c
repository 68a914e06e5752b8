/* Eager calls with too few inputs, with none and with one too many, each made twice (the second finds the
   kernel that the first left behind, or its failure), and merges, which wait for no one. */
#include "eager_common.h"

static void call(TFE_Context *c, const char *name, int n, TFE_TensorHandle *const *in, int times) {
  for (int k = 0; k < times; k++) {
    TFE_Op *op = ec_op(c, name);
    for (int i = 0; i < n; i++) {
      TFE_OpAddInput(op, in[i], S);
      if (TF_GetCode(S)) ec_st("  add");
    }
    char label[64];
    snprintf(label, sizeof label, "%s/%d", name, n);
    ec_exec(label, op, 4);
  }
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();
  TFE_TensorHandle *x[4] = {ec_f0(1), ec_f0(2), ec_f0(3), ec_f0(4)};
  TFE_TensorHandle *i[2] = {ec_i0(0), ec_i0(1)}, *mixed[2] = {x[0], i[0]};
  tr_case("too few");
  call(c, "AddV2", 1, x, 3);
  call(c, "AddV2", 2, x, 1);
  call(c, "AddV2", 1, x, 2);
  call(c, "AddV2", 0, x, 2);
  call(c, "Neg", 0, x, 2);
  call(c, "Select", 2, x, 2);
  call(c, "MatMul", 1, x, 2);
  call(c, "Reshape", 1, x, 2);
  call(c, "Range", 2, i, 2);
  tr_case("too many");
  call(c, "Neg", 2, x, 2);
  tr_case("the same op object");
  TFE_Op *op = ec_op(c, "AddV2");
  for (int k = 0; k < 5; k++) {
    if (k) TFE_OpReset(op, "AddV2", NULL, S);
    ec_in(op, x[0]);
    if (k == 1 || k == 3) ec_in(op, x[1]);
    TFE_TensorHandle *out = NULL;
    int n = 1;
    TFE_Execute(op, &out, &n, S);
    if (ec_st("execute")) ec_handle("  out", out);
    if (out) TFE_DeleteTensorHandle(out);
  }
  for (int k = 0; k < 2; k++) {
    int n = 1;
    TFE_TensorHandle *out = NULL;
    TFE_Execute(op, &out, &n, S);
    ec_st("without a reset");
  }
  TFE_DeleteOp(op);
  tr_case("merges and switches");
  for (int k = 0; k < 4; k++) {
    op = ec_op(c, k == 3 ? "RefMerge" : "Merge");
    TFE_OpAddInputList(op, x, k == 0 ? 2 : k, S);
    if (TF_GetCode(S)) ec_st("list");
    ec_exec("Merge", op, 2);
  }
  op = ec_op(c, "Merge");
  TFE_OpAddInputList(op, mixed, 2, S);
  ec_st("two types");
  ec_exec("Merge", op, 2);
  call(c, "LoopCond", 1, x, 1);
  TFE_TensorHandle *yes = ec_b0(1), *sw[2] = {x[0], yes};
  call(c, "LoopCond", 1, &yes, 1);
  call(c, "Switch", 2, sw, 2);
  call(c, "NextIteration", 1, x, 1);
  call(c, "Exit", 1, x, 1);
  op = ec_op(c, "Enter");
  TFE_OpSetAttrString(op, "frame_name", "f", 1);
  ec_in(op, x[0]);
  ec_exec("Enter", op, 1);
  call(c, "ControlTrigger", 0, NULL, 1);
  TFE_DeleteTensorHandle(yes);
  for (int k = 0; k < 4; k++) TFE_DeleteTensorHandle(x[k]);
  for (int k = 0; k < 2; k++) TFE_DeleteTensorHandle(i[k]);
  TFE_DeleteContext(c);
  return ec_close();
}
