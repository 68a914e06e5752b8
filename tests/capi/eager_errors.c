/* Run-time errors of eager operations: shapes, ranges, dtypes. */
#include "eager_common.h"

static TFE_Context *C;

static TFE_TensorHandle *f(int nd, int64_t a, int64_t b, int64_t c) {
  int64_t d[3] = {a, b, c};
  return ec_ramp(nd, d);
}

/* Inputs are consumed. */
static void run(const char *name, TFE_TensorHandle *a, TFE_TensorHandle *b, TFE_TensorHandle *d) {
  ec_run(C, name, a, b, d);
  if (a) TFE_DeleteTensorHandle(a);
  if (b) TFE_DeleteTensorHandle(b);
  if (d) TFE_DeleteTensorHandle(d);
}

static TFE_TensorHandle *iv(int n, int32_t a, int32_t b, int32_t c) {
  int32_t v[3] = {a, b, c};
  return ec_i1(n, v);
}

static void concat(const char *label, TFE_TensorHandle *a, TFE_TensorHandle *b, int axis) {
  TFE_TensorHandle *l[2] = {a, b};
  TFE_TensorHandle *x = ec_i0(axis);
  TFE_Op *op = ec_op(C, "ConcatV2");
  TFE_OpAddInputList(op, l, 2, S);
  ec_must("list");
  ec_in(op, x);
  ec_exec(label, op, 1);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
  TFE_DeleteTensorHandle(x);
}

static void split(const char *label, TFE_TensorHandle *v, int axis, int n) {
  TFE_TensorHandle *x = ec_i0(axis);
  TFE_Op *op = ec_op(C, "Split");
  ec_in(op, x);
  ec_in(op, v);
  TFE_OpSetAttrInt(op, "num_split", n);
  ec_exec(label, op, 8);
  TFE_DeleteTensorHandle(v);
  TFE_DeleteTensorHandle(x);
}

static void pack(const char *label, TFE_TensorHandle *a, TFE_TensorHandle *b, int axis) {
  TFE_TensorHandle *l[2] = {a, b};
  TFE_Op *op = ec_op(C, "Pack");
  TFE_OpAddInputList(op, l, 2, S);
  ec_must("list");
  TFE_OpSetAttrInt(op, "axis", axis);
  ec_exec(label, op, 1);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
}

int main(void) {
  ec_open();
  C = ec_ctx();

  tr_case("MatMul");
  run("MatMul", f(2, 2, 3, 0), f(2, 2, 3, 0), NULL);
  run("MatMul", f(1, 2, 0, 0), f(2, 2, 3, 0), NULL);
  run("MatMul", f(2, 2, 2, 0), ec_i0(1), NULL);
  run("MatMul", f(3, 2, 2, 2), f(2, 2, 2, 0), NULL);
  run("BatchMatMulV2", f(3, 2, 2, 2), f(3, 3, 2, 2), NULL);
  run("BatchMatMulV2", f(2, 2, 3, 0), f(2, 2, 3, 0), NULL);
  run("BatchMatMulV2", f(1, 2, 0, 0), f(2, 2, 3, 0), NULL);

  tr_case("broadcast");
  run("Add", f(1, 2, 0, 0), f(1, 3, 0, 0), NULL);
  run("AddV2", f(2, 2, 3, 0), f(2, 3, 3, 0), NULL);
  run("Mul", f(2, 2, 2, 0), f(1, 3, 0, 0), NULL);
  run("Sub", f(1, 0, 0, 0), f(1, 2, 0, 0), NULL);
  run("Less", f(1, 2, 0, 0), f(1, 3, 0, 0), NULL);
  run("Equal", f(1, 2, 0, 0), f(1, 3, 0, 0), NULL);
  run("AddV2", f(2, 2, 1, 0), f(2, 1, 3, 0), NULL);
  run("SelectV2", ec_b0(1), f(1, 2, 0, 0), f(1, 3, 0, 0));
  run("BroadcastTo", f(1, 2, 0, 0), iv(1, 3, 0, 0), NULL);
  run("BroadcastTo", f(2, 2, 2, 0), iv(1, 2, 0, 0), NULL);

  tr_case("mismatched dtypes");
  run("AddV2", f(1, 2, 0, 0), iv(2, 1, 2, 0), NULL);
  run("Select", f(1, 2, 0, 0), f(1, 2, 0, 0), f(1, 2, 0, 0));
  run("LogicalNot", f(1, 2, 0, 0), NULL, NULL);
  run("Reshape", f(1, 2, 0, 0), f(1, 2, 0, 0), NULL);

  tr_case("Reshape");
  run("Reshape", f(1, 6, 0, 0), iv(2, 2, 2, 0), NULL);
  run("Reshape", f(1, 6, 0, 0), iv(2, -1, 4, 0), NULL);
  run("Reshape", f(1, 6, 0, 0), iv(2, -1, -1, 0), NULL);
  run("Reshape", f(1, 6, 0, 0), iv(2, -2, 3, 0), NULL);
  run("Reshape", f(1, 6, 0, 0), ec_i0(6), NULL);
  run("Reshape", f(1, 0, 0, 0), iv(2, -1, 0, 0), NULL);
  run("Reshape", f(1, 6, 0, 0), iv(2, -1, 2, 0), NULL);

  tr_case("ConcatV2");
  concat("dims differ", f(2, 2, 3, 0), f(2, 3, 2, 0), 0);
  concat("ranks differ", f(2, 2, 3, 0), f(1, 3, 0, 0), 0);
  concat("axis too big", f(2, 2, 3, 0), f(2, 2, 3, 0), 2);
  concat("axis too small", f(2, 2, 3, 0), f(2, 2, 3, 0), -3);
  concat("scalars", ec_f0(1), ec_f0(2), 0);
  concat("axis -1", f(2, 2, 1, 0), f(2, 2, 2, 0), -1);

  tr_case("GatherV2");
  run("GatherV2", f(1, 3, 0, 0), iv(1, 3, 0, 0), ec_i0(0));
  run("GatherV2", f(1, 3, 0, 0), iv(2, 0, -1, 0), ec_i0(0));
  run("GatherV2", f(1, 3, 0, 0), iv(1, 1, 0, 0), ec_i0(1));
  run("GatherV2", ec_f0(1), iv(1, 1, 0, 0), ec_i0(0));
  run("GatherV2", f(2, 2, 3, 0), iv(2, 2, 0, 0), ec_i0(-1));
  run("GatherNd", f(2, 2, 2, 0), iv(2, 5, 0, 0), NULL);
  run("GatherNd", f(2, 2, 2, 0), iv(3, 0, 0, 0), NULL);

  tr_case("Split and Pack");
  split("uneven", f(1, 5, 0, 0), 0, 2);
  split("axis", f(1, 4, 0, 0), 1, 2);
  split("axis low", f(1, 4, 0, 0), -2, 2);
  split("axis -1", f(1, 4, 0, 0), -1, 2);
  pack("shapes differ", f(1, 2, 0, 0), f(1, 3, 0, 0), 0);
  pack("axis", f(1, 2, 0, 0), f(1, 2, 0, 0), 3);
  pack("axis -2", f(1, 2, 0, 0), f(1, 2, 0, 0), -2);

  tr_case("reductions");
  run("Sum", f(2, 2, 3, 0), iv(1, 2, 0, 0), NULL);
  run("Sum", f(2, 2, 3, 0), iv(1, -3, 0, 0), NULL);
  run("Sum", f(2, 2, 3, 0), iv(2, 0, 0, 0), NULL);
  run("Sum", f(2, 2, 3, 0), iv(0, 0, 0, 0), NULL);
  run("Sum", f(2, 2, 3, 0), iv(1, -1, 0, 0), NULL);
  run("ArgMax", f(2, 2, 3, 0), ec_i0(2), NULL);
  run("ArgMax", f(1, 0, 0, 0), ec_i0(0), NULL);

  tr_case("slicing");
  run("Slice", f(1, 3, 0, 0), iv(1, 2, 0, 0), iv(1, 2, 0, 0));
  run("Slice", f(1, 3, 0, 0), iv(1, 4, 0, 0), iv(1, -1, 0, 0));
  run("Slice", f(1, 3, 0, 0), iv(2, 0, 0, 0), iv(2, 1, 1, 0));
  run("Slice", f(1, 3, 0, 0), iv(1, 1, 0, 0), iv(1, -1, 0, 0));
  run("ExpandDims", f(1, 3, 0, 0), ec_i0(2), NULL);
  run("ExpandDims", f(1, 3, 0, 0), ec_i0(-3), NULL);
  run("Tile", f(1, 3, 0, 0), iv(2, 1, 1, 0), NULL);
  run("Tile", f(1, 3, 0, 0), iv(1, -1, 0, 0), NULL);
  run("Transpose", f(2, 2, 3, 0), iv(1, 0, 0, 0), NULL);
  run("Transpose", f(2, 2, 3, 0), iv(2, 0, 0, 0), NULL);
  run("Transpose", f(2, 2, 3, 0), iv(2, 0, 2, 0), NULL);
  run("Fill", iv(1, -2, 0, 0), ec_f0(1), NULL);
  run("Fill", ec_i0(2), ec_f0(1), NULL);
  run("Fill", iv(1, 2, 0, 0), f(1, 2, 0, 0), NULL);
  run("Range", ec_i0(0), ec_i0(5), ec_i0(0));
  run("Range", ec_i0(5), ec_i0(0), ec_i0(1));
  run("Range", ec_i0(0), ec_i0(5), ec_i0(2));
  run("OneHot", iv(2, 0, 1, 0), ec_i0(-1), ec_f0(1));
  run("ReverseV2", f(1, 3, 0, 0), iv(1, 1, 0, 0), NULL);
  run("Pad", f(1, 3, 0, 0), iv(2, 1, 1, 0), NULL);
  run("Cumsum", f(1, 3, 0, 0), ec_i0(1), NULL);

  tr_case("integer division");
  run("FloorDiv", ec_i0(1), ec_i0(0), NULL);
  run("FloorMod", ec_i0(1), ec_i0(0), NULL);
  run("Div", ec_i0(1), ec_i0(0), NULL);
  run("FloorDiv", ec_i0(-7), ec_i0(2), NULL);
  run("FloorMod", ec_i0(-7), ec_i0(2), NULL);
  run("Pow", ec_i0(2), ec_i0(-1), NULL);

  tr_case("neural net ops");
  run("BiasAdd", f(2, 2, 3, 0), f(1, 2, 0, 0), NULL);
  run("Softmax", ec_f0(1), NULL, NULL);
  run("SparseSoftmaxCrossEntropyWithLogits", f(2, 1, 3, 0), iv(1, 7, 0, 0), NULL);
  run("SoftmaxCrossEntropyWithLogits", f(2, 1, 3, 0), f(2, 2, 2, 0), NULL);
  run("InTopKV2", f(2, 2, 3, 0), iv(3, 0, 0, 0), ec_i0(1));
  run("L2Loss", f(1, 3, 0, 0), NULL, NULL);

  tr_case("strings and checks");
  const char *sv[2] = {"12", "x1"};
  int64_t two = 2;
  run("StringToNumber", ec_h(tr_strings(&two, 1, sv)), NULL, NULL);
  run("CheckNumerics", ec_f0(1), NULL, NULL);
  TFE_Op *op = ec_op(C, "CheckNumerics");
  TFE_TensorHandle *z = ec_f1(2, (float[]){1.0f / 3, 0});
  TFE_TensorHandle *inf = ec_f1(2, (float[]){(float)1e30 * (float)1e30, 1});
  ec_in(op, inf);
  TFE_OpSetAttrString(op, "message", "my check", 8);
  ec_exec("CheckNumerics inf", op, 1);
  op = ec_op(C, "Assert");
  TFE_TensorHandle *no = ec_b0(0);
  ec_in(op, no);
  TFE_TensorHandle *l[1] = {z};
  TFE_OpAddInputList(op, l, 1, S);
  ec_exec("Assert", op, 0);
  TFE_DeleteTensorHandle(z);
  TFE_DeleteTensorHandle(inf);
  TFE_DeleteTensorHandle(no);

  TFE_DeleteContext(C);
  return ec_close();
}
