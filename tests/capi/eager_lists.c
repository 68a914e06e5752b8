/* Eager ops with lists of inputs and outputs, room for results, order of inputs, sharing, resetting. */
#include "eager_common.h"

static TFE_Context *ctx;

static void exec(const char *what, TFE_Op *op, int room) {
  TFE_TensorHandle *r[8] = {0};
  int n = room;
  TFE_Execute(op, r, &n, S);
  int ok = TF_GetCode(S) == TF_OK;
  ec_st(what);
  if (ok) printf("  room %d, given %d\n", room, n);
  for (int i = 0; ok && i < n && i < 8; ++i) {
    ec_handle("  out", r[i]);
    if (r[i]) TFE_DeleteTensorHandle(r[i]);
  }
}

static void lengths(const char *what, TFE_Op *op, const char *in, const char *out) {
  int n = TFE_OpGetInputLength(op, in, S);
  int ok = TF_GetCode(S) == TF_OK;
  printf("%s ", what);
  ec_st(in);
  if (ok) printf("  %d\n", n);
  n = TFE_OpGetOutputLength(op, out, S);
  ok = TF_GetCode(S) == TF_OK;
  printf("%s ", what);
  ec_st(out);
  if (ok) printf("  %d\n", n);
}

int main(void) {
  ec_open();
  ctx = ec_ctx();
  float v[4] = {1, 2, 3, 4};
  TFE_TensorHandle *a = ec_f1(2, v), *b = ec_f1(2, v + 2), *c = ec_f1(3, v), *i = ec_i0(0),
                   *s = ec_f0(7);
  TFE_TensorHandle *ab[2] = {a, b}, *ac[2] = {a, c}, *ai[2] = {a, i}, *many[5] = {a, b, a, b, a};
  TFE_Op *op;
  tr_case("ConcatV2");
  op = ec_op(ctx, "ConcatV2");
  TFE_OpAddInputList(op, ab, 2, S);
  ec_st("list");
  ec_in(op, i);
  lengths("concat", op, "values", "output");
  lengths("concat", op, "axis", "nothing");
  exec("run", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "ConcatV2");
  TFE_OpAddInputList(op, ac, 2, S);
  ec_in(op, i);
  exec("different lengths", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "ConcatV2");
  TFE_OpAddInputList(op, ai, 2, S);
  ec_st("mixed types");
  ec_in(op, i);
  exec("run", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "ConcatV2");
  TFE_OpAddInputList(op, ab, 1, S);
  ec_in(op, i);
  exec("one value", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "ConcatV2");
  TFE_OpAddInputList(op, ab, 0, S);
  ec_st("no values");
  ec_in(op, i);
  exec("run", op, 1);
  TFE_DeleteOp(op);
  tr_case("AddN and Pack");
  op = ec_op(ctx, "AddN");
  TFE_OpAddInputList(op, many, 5, S);
  printf("flat %d\n", TFE_OpGetFlatInputCount(op, S));
  TFE_TensorHandle *flat = TFE_OpGetFlatInput(op, 3, S);
  printf("third is b %d\n", flat == b);
  exec("five", op, 1);
  printf("flat %d\n", TFE_OpGetFlatInputCount(op, S));
  TFE_DeleteOp(op);
  op = ec_op(ctx, "AddN");
  for (int k = 0; k < 3; ++k) TFE_OpAddInput(op, ab[k & 1], S);
  ec_st("one by one");
  exec("run", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "AddN");
  TFE_OpAddInputList(op, many, 3, S);
  TFE_OpSetAttrInt(op, "N", 2);
  exec("N set after to another number", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "AddN");
  TFE_OpSetAttrInt(op, "N", 2);
  TFE_OpAddInputList(op, many, 3, S);
  ec_st("N set before");
  exec("run", op, 1);
  TFE_DeleteOp(op);
  tr_case("Split and Unpack: room");
  for (int room = 0; room < 5; ++room) {
    op = ec_op(ctx, "Split");
    ec_in(op, i);
    ec_in(op, a);
    TFE_OpSetAttrInt(op, "num_split", 2);
    exec("split", op, room);
    TFE_DeleteOp(op);
  }
  op = ec_op(ctx, "Split");
  TFE_OpSetAttrInt(op, "num_split", 3);
  lengths("split", op, "value", "output");
  TFE_OpReset(op, "Unpack", NULL, S);
  ec_st("reset");
  TFE_OpSetAttrInt(op, "num", 2);
  ec_in(op, a);
  lengths("unpack", op, "value", "output");
  exec("run", op, 4);
  TFE_OpReset(op, "NoSuch", NULL, S);
  ec_st("reset to nothing");
  TFE_OpReset(op, "Neg", "/device:CPU:0", S);
  ec_st("reset with a device");
  printf("%s on %s\n", TFE_OpGetName(op, S), TFE_OpGetDevice(op, S));
  ec_in(op, s);
  exec("run", op, 1);
  exec("run again", op, 1);
  TFE_DeleteOp(op);
  tr_case("IdentityN and other lists of types");
  op = ec_op(ctx, "IdentityN");
  TFE_OpAddInputList(op, ai, 2, S);
  ec_st("list");
  lengths("identity", op, "input", "output");
  exec("run", op, 8);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "IdentityN");
  TF_DataType wrong[2] = {TF_FLOAT, TF_FLOAT};
  TFE_OpSetAttrTypeList(op, "T", wrong, 2);
  TFE_OpAddInputList(op, ai, 2, S);
  ec_st("T says something else");
  exec("run", op, 8);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "IdentityN");
  exec("nothing at all", op, 8);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "Assert");
  TFE_TensorHandle *no = ec_b0(0);
  ec_in(op, no);
  TFE_OpAddInputList(op, ai, 2, S);
  exec("assert", op, 0);
  TFE_DeleteOp(op);
  tr_case("inputs that do not belong");
  op = ec_op(ctx, "Sqrt");
  ec_in(op, s);
  TFE_OpAddInput(op, s, S);
  ec_st("a second input");
  exec("run", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "Sqrt");
  TFE_OpAddInputList(op, ab, 2, S);
  ec_st("a list for one");
  exec("run", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "Sqrt");
  exec("none", op, 1);
  TFE_DeleteOp(op);
  op = ec_op(ctx, "NoOp");
  exec("NoOp", op, 0);
  TFE_DeleteOp(op);
  tr_case("handles");
  TFE_TensorHandle *copy = TFE_TensorHandleCopySharingTensor(a, S);
  ec_st("copy sharing");
  TFE_DeleteTensorHandle(a);
  ec_handle("copy", copy);
  printf("%d %d %" PRId64 "\n", TFE_TensorHandleNumDims(copy, S),
         (int)TFE_TensorHandleDataType(copy), TFE_TensorHandleNumElements(copy, S));
  TFE_DeleteTensorHandle(copy);
  TFE_DeleteTensorHandle(b);
  TFE_DeleteTensorHandle(c);
  TFE_DeleteTensorHandle(i);
  TFE_DeleteTensorHandle(s);
  TFE_DeleteTensorHandle(no);
  TFE_DeleteContext(ctx);
  return ec_close();
}
