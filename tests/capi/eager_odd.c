/* Eager calls at their edges: odd inputs, empty lists, huge sizes, reuse, deletes in any order. */
#include "eager_common.h"
#include "tensorflow/c/eager/c_api_experimental.h"

static void binary(TFE_Context *c, const char *name, TFE_TensorHandle *a, TFE_TensorHandle *b) {
  TFE_Op *op = ec_op(c, name);
  ec_in(op, a);
  if (b) ec_in(op, b);
  ec_exec(name, op, 1);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
}

static TFE_TensorHandle *empty(TF_DataType t, int nd, const int64_t *dims) {
  return ec_h(ec_new(t, nd, dims, NULL));
}

static TFE_TensorHandle *i64(int64_t n, const int64_t *v) {
  return ec_h(ec_new(TF_INT64, 1, &n, v));
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();
  int64_t d0[1] = {0}, d20[2] = {2, 0}, d02[2] = {0, 2};

  tr_case("empty tensors");
  binary(c, "AddV2", empty(TF_FLOAT, 1, d0), empty(TF_FLOAT, 1, d0));
  binary(c, "AddV2", empty(TF_FLOAT, 1, d0), ec_f0(1));
  binary(c, "AddV2", empty(TF_FLOAT, 1, d0), ec_f1(2, (float[]){1, 2}));
  binary(c, "MatMul", empty(TF_FLOAT, 2, d20), empty(TF_FLOAT, 2, d02));
  binary(c, "MatMul", empty(TF_FLOAT, 2, d02), empty(TF_FLOAT, 2, d20));
  binary(c, "Neg", empty(TF_STRING, 1, d0), NULL);
  binary(c, "Sum", empty(TF_FLOAT, 1, d0), ec_i0(0));
  binary(c, "Max", empty(TF_FLOAT, 1, d0), ec_i0(0));
  binary(c, "ArgMax", empty(TF_FLOAT, 1, d0), ec_i0(0));
  binary(c, "ArgMax", ec_f1(2, (float[]){1, 2}), ec_i0(3));
  binary(c, "Reshape", empty(TF_FLOAT, 1, d0), ec_i1(2, (int32_t[]){-1, 0}));
  binary(c, "Reshape", empty(TF_FLOAT, 1, d0), ec_i1(2, (int32_t[]){-1, 3}));
  binary(c, "Reshape", empty(TF_FLOAT, 1, d0), ec_i1(1, (int32_t[]){1}));

  tr_case("sizes that cannot be");
  binary(c, "Fill", i64(2, (int64_t[]){INT64_MAX, 2}), ec_f0(1));
  binary(c, "Fill", i64(2, (int64_t[]){-1, 2}), ec_f0(1));
  binary(c, "Fill", i64(2, (int64_t[]){0, INT64_MAX}), ec_f0(1));
  binary(c, "Reshape", ec_f0(1), i64(2, (int64_t[]){INT64_MAX, 2}));
  binary(c, "Reshape", ec_f0(1), i64(1, (int64_t[]){-2}));
  binary(c, "Tile", ec_f1(2, (float[]){1, 2}), i64(1, (int64_t[]){-1}));
  binary(c, "Tile", ec_f1(2, (float[]){1, 2}), i64(1, (int64_t[]){INT64_MAX}));
  binary(c, "BroadcastTo", ec_f1(2, (float[]){1, 2}), i64(2, (int64_t[]){INT64_MAX, 2}));
  binary(c, "BroadcastTo", ec_f1(2, (float[]){1, 2}), i64(1, (int64_t[]){3}));
  binary(c, "ExpandDims", ec_f0(1), ec_i0(2));
  binary(c, "ExpandDims", ec_f0(1), ec_i0(-2));
  binary(c, "Transpose", ec_f1(2, (float[]){1, 2}), ec_i1(2, (int32_t[]){0, 1}));
  binary(c, "Transpose", ec_f1(2, (float[]){1, 2}), ec_i1(1, (int32_t[]){5}));
  binary(c, "Transpose", ec_f1(2, (float[]){1, 2}), ec_i1(1, (int32_t[]){-1}));

  tr_case("one op object, many uses");
  TFE_Op *op = ec_op(c, "AddV2");
  TFE_TensorHandle *x = ec_f0(1), *y = ec_f0(2), *i = ec_i0(1);
  for (int k = 0; k < 3; k++) {
    TFE_OpReset(op, "AddV2", NULL, S);
    ec_st("reset");
    ec_in(op, x);
    ec_in(op, k == 1 ? i : y);
    TFE_TensorHandle *out = NULL;
    int n = 1;
    TFE_Execute(op, &out, &n, S);
    if (ec_st("execute")) ec_handle("out", out);
    TFE_DeleteTensorHandle(out);
  }
  TFE_OpReset(op, "Nope", NULL, S);
  ec_st("reset to an unknown op");
  TFE_OpReset(op, "Neg", "/device:GPU:0", S);
  ec_st("reset to a device that is not there");
  TFE_DeleteOp(op);

  tr_case("deleting in any order");
  op = ec_op(c, "Neg");
  ec_in(op, x);
  TFE_DeleteOp(op);
  op = ec_op(c, "Neg");
  TFE_TensorHandle *z = ec_f0(4), *out = NULL;
  ec_in(op, z);
  TFE_DeleteTensorHandle(z);
  int n = 1;
  TFE_Execute(op, &out, &n, S);
  ec_st("input deleted first");
  TFE_DeleteOp(op);
  ec_handle("out", out);
  TFE_TensorHandle *copy = TFE_TensorHandleCopySharingTensor(out, S);
  TFE_DeleteTensorHandle(out);
  ec_handle("copy", copy);
  TF_Tensor *t = TFE_TensorHandleResolve(copy, S);
  TFE_DeleteTensorHandle(copy);
  tr_show_free("tensor", t);

  tr_case("results without room");
  op = ec_op(c, "Neg");
  ec_in(op, x);
  n = 0;
  TFE_Execute(op, NULL, &n, S);
  ec_st("no slot");
  TFE_DeleteOp(op);
  op = ec_op(c, "NoOp");
  n = 3;
  TFE_TensorHandle *three[3] = {NULL, NULL, NULL};
  TFE_Execute(op, three, &n, S);
  ec_st("NoOp");
  printf("results %d\n", n);
  TFE_DeleteOp(op);

  tr_case("special values");
  float odd[4] = {0.0f, -0.0f, __builtin_inff(), -__builtin_nanf("")};
  static const char *const names[] = {"Sqrt", "Log",  "Reciprocal", "Sign",    "Rint",
                                      "Exp",  "Tanh", "Relu",       "Sigmoid", "IsNan"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    binary(c, names[k], ec_f1(4, odd), NULL);
  binary(c, "Div", ec_i0(1), ec_i0(0));
  binary(c, "FloorMod", ec_i0(INT32_MIN), ec_i0(-1));
  binary(c, "Maximum", ec_f1(4, odd), ec_f0(0));
  binary(c, "Pow", ec_i0(2), ec_i0(-1));
  binary(c, "Pow", ec_f0(-8), ec_f0(1.0f / 3));
  binary(c, "LeftShift", ec_i0(1), ec_i0(40));
  binary(c, "Abs", ec_i0(INT32_MIN), NULL);

  tr_case("kinds that do not fit");
  binary(c, "Neg", ec_b0(1), NULL);
  binary(c, "LogicalNot", ec_i0(1), NULL);
  binary(c, "StringLength", ec_f0(1), NULL);
  binary(c, "MatMul", ec_i0(1), ec_i0(1));
  binary(c, "Rank", ec_h(tr_str("a string")), NULL);

  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(y);
  TFE_DeleteTensorHandle(i);
  TFE_DeleteContext(c);
  return ec_close();
}
