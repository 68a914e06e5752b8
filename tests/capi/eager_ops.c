/* Building and running primitive eager operations. */
#include "eager_common.h"

static void building(TFE_Context *c) {
  tr_case("unknown op");
  TFE_Op *op = TFE_NewOp(c, "NoSuchOp", S);
  printf("op %s\n", op ? "not null" : "null");
  ec_st("NewOp");
  op = TFE_NewOp(c, "", S);
  ec_st("NewOp empty name");

  tr_case("op getters");
  op = ec_op(c, "MatMul");
  printf("name %s\n", TFE_OpGetName(op, S));
  printf("context same %d\n", TFE_OpGetContext(op, S) == c);
  printf("device [%s]\n", TFE_OpGetDevice(op, S));
  printf("flat inputs %d\n", TFE_OpGetFlatInputCount(op, S));
  ec_st("count");
  int64_t d22[2] = {2, 2};
  TFE_TensorHandle *m = ec_ramp(2, d22);
  ec_in(op, m);
  printf("flat inputs %d\n", TFE_OpGetFlatInputCount(op, S));
  TFE_TensorHandle *got = TFE_OpGetFlatInput(op, 0, S);
  ec_st("flat input 0");
  printf("same handle %d\n", got == m);
  ec_in(op, m);
  ec_exec("run", op, 1);

  tr_case("set device");
  static const char *const dev[] = {"",
                                    "CPU:0",
                                    "/cpu:0",
                                    "/device:CPU:0",
                                    "/device:CPU:*",
                                    "/job:localhost/replica:0/task:0/device:CPU:0",
                                    "/job:localhost",
                                    "/device:CPU:7",
                                    "/device:GPU:0",
                                    "/job:worker/device:CPU:0",
                                    "garbage",
                                    "/device:TPU",
                                    "/job:"};
  for (size_t i = 0; i < sizeof dev / sizeof *dev; i++) {
    op = ec_op(c, "Neg");
    ec_in(op, m);
    printf("[%s] ", dev[i]);
    TFE_OpSetDevice(op, dev[i], S);
    ec_st("set");
    printf("get [%s] ", TFE_OpGetDevice(op, S));
    ec_exec("run", op, 1);
  }

  tr_case("op reset");
  op = ec_op(c, "Neg");
  ec_in(op, m);
  TFE_OpReset(op, "Square", "/device:CPU:0", S);
  ec_st("reset to Square");
  printf("name %s device [%s] inputs %d\n", TFE_OpGetName(op, S), TFE_OpGetDevice(op, S),
         TFE_OpGetFlatInputCount(op, S));
  ec_in(op, m);
  TFE_TensorHandle *r[4] = {0};
  int n = 1;
  TFE_Execute(op, r, &n, S);
  ec_st("run");
  ec_handle("out", r[0]);
  TFE_DeleteTensorHandle(r[0]);
  TFE_OpReset(op, "NoSuchOp", NULL, S);
  ec_st("reset to unknown");
  TFE_OpReset(op, "Neg", "bad device", S);
  ec_st("reset with bad device");
  TFE_OpReset(op, "Neg", NULL, S);
  ec_st("reset with null device");
  printf("name %s device [%s]\n", TFE_OpGetName(op, S), TFE_OpGetDevice(op, S));
  TFE_DeleteOp(op);

  tr_case("execute twice");
  op = ec_op(c, "Square");
  ec_in(op, m);
  for (int i = 0; i < 2; i++) {
    n = 1;
    TFE_Execute(op, r, &n, S);
    if (ec_st("run")) {
      ec_handle("out", r[0]);
      TFE_DeleteTensorHandle(r[0]);
    }
    printf("inputs left %d\n", TFE_OpGetFlatInputCount(op, S));
  }
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(m);
}

static void lists(TFE_Context *c) {
  tr_case("input and output lengths");
  TFE_TensorHandle *a = ec_f1(2, (float[]){1, 2});
  TFE_TensorHandle *b = ec_f1(3, (float[]){3, 4, 5});
  TFE_TensorHandle *ab[2] = {a, b};
  TFE_TensorHandle *axis = ec_i0(0);
  TFE_Op *op = ec_op(c, "ConcatV2");
  printf("%d ", TFE_OpGetInputLength(op, "values", S));
  ec_st("values before");
  TFE_OpAddInputList(op, ab, 2, S);
  ec_st("add list");
  printf("%d ", TFE_OpGetInputLength(op, "values", S));
  ec_st("values after");
  printf("%d ", TFE_OpGetInputLength(op, "axis", S));
  ec_st("axis");
  printf("%d ", TFE_OpGetInputLength(op, "nope", S));
  ec_st("nope");
  printf("%d ", TFE_OpGetOutputLength(op, "output", S));
  ec_st("output");
  printf("%d ", TFE_OpGetOutputLength(op, "nope", S));
  ec_st("nope");
  ec_in(op, axis);
  ec_exec("concat", op, 1);

  tr_case("concat through single inputs");
  op = ec_op(c, "ConcatV2");
  ec_in(op, a);
  ec_in(op, b);
  ec_in(op, axis);
  TFE_OpSetAttrInt(op, "N", 2);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  ec_exec("with T", op, 1);

  tr_case("input list of type list");
  TFE_TensorHandle *i = ec_i0(9);
  TFE_TensorHandle *mix[3] = {a, i, b};
  op = ec_op(c, "IdentityN");
  TFE_OpAddInputList(op, mix, 3, S);
  ec_st("add list");
  printf("%d ", TFE_OpGetInputLength(op, "input", S));
  ec_st("input length");
  printf("%d ", TFE_OpGetOutputLength(op, "output", S));
  ec_st("output length");
  ec_exec("IdentityN", op, 3);

  tr_case("mixed dtypes in a homogeneous list");
  op = ec_op(c, "Pack");
  TFE_OpAddInputList(op, mix, 2, S);
  ec_st("add list");
  ec_exec("Pack", op, 1);

  tr_case("empty input list");
  op = ec_op(c, "Pack");
  TFE_OpAddInputList(op, mix, 0, S);
  ec_st("add list");
  ec_exec("Pack", op, 1);

  tr_case("output list length from attr");
  op = ec_op(c, "Split");
  printf("%d ", TFE_OpGetOutputLength(op, "output", S));
  ec_st("before attr");
  TFE_OpSetAttrInt(op, "num_split", 2);
  printf("%d ", TFE_OpGetOutputLength(op, "output", S));
  ec_st("after attr");
  ec_in(op, axis);
  TFE_TensorHandle *f4 = ec_f1(4, (float[]){1, 2, 3, 4});
  ec_in(op, f4);
  ec_exec("Split", op, 2);

  tr_case("retval slots");
  for (int room = 0; room < 5; room++) {
    op = ec_op(c, "Split");
    TFE_OpSetAttrInt(op, "num_split", 4);
    ec_in(op, axis);
    ec_in(op, f4);
    printf("room %d ", room);
    ec_exec("Split", op, room);
  }
  op = ec_op(c, "Neg");
  ec_in(op, a);
  printf("room 5 ");
  ec_exec("Neg", op, 5);
  op = ec_op(c, "NoOp");
  ec_exec("NoOp", op, 0);
  op = ec_op(c, "NoOp");
  ec_exec("NoOp room 2", op, 2);

  tr_case("many outputs");
  op = ec_op(c, "TopKV2");
  TFE_TensorHandle *k = ec_i0(2);
  ec_in(op, f4);
  ec_in(op, k);
  ec_exec("TopKV2", op, 2);
  op = ec_op(c, "Unique");
  TFE_TensorHandle *u = ec_i1(5, (int32_t[]){4, 1, 4, 2, 1});
  ec_in(op, u);
  ec_exec("Unique", op, 2);
  op = ec_op(c, "Unpack");
  ec_in(op, u);
  TFE_OpSetAttrInt(op, "num", 5);
  ec_exec("Unpack", op, 5);

  tr_case("wrong number of inputs");
  ec_run(c, "Add", a, NULL, NULL);
  ec_run(c, "Neg", NULL, NULL, NULL);
  ec_run(c, "ConcatV2", a, NULL, NULL);
  op = ec_op(c, "Neg");
  TFE_OpAddInputList(op, ab, 2, S);
  ec_st("list into single");
  ec_exec("Neg", op, 1);

  tr_case("type inference");
  ec_run(c, "AddV2", a, a, NULL);
  ec_run(c, "AddV2", i, i, NULL);
  ec_run(c, "Cast", a, NULL, NULL);
  op = ec_op(c, "Cast");
  ec_in(op, f4);
  TFE_OpSetAttrType(op, "DstT", TF_INT32);
  ec_exec("Cast to int32", op, 1);
  op = ec_op(c, "Cast");
  ec_in(op, f4);
  TFE_OpSetAttrType(op, "DstT", TF_STRING);
  ec_exec("Cast to string", op, 1);
  op = ec_op(c, "Shape");
  ec_in(op, f4);
  ec_exec("Shape default out_type", op, 1);
  op = ec_op(c, "Shape");
  ec_in(op, f4);
  TFE_OpSetAttrType(op, "out_type", TF_INT64);
  ec_exec("Shape int64", op, 1);
  op = ec_op(c, "AddV2");
  ec_in(op, a);
  ec_in(op, a);
  TFE_OpSetAttrType(op, "T", TF_INT32);
  ec_exec("wrong explicit T", op, 1);

  tr_case("outputs alias inputs");
  op = ec_op(c, "Identity");
  ec_in(op, a);
  TFE_TensorHandle *id = ec_exec_keep("Identity", op, 1);
  printf("same memory %d same handle %d\n",
         TFE_TensorHandleDevicePointer(id, S) == TFE_TensorHandleDevicePointer(a, S), id == a);
  TFE_DeleteTensorHandle(id);
  TFE_TensorHandle *sh = ec_i1(2, (int32_t[]){2, 2});
  op = ec_op(c, "Reshape");
  ec_in(op, f4);
  ec_in(op, sh);
  id = ec_exec_keep("Reshape", op, 1);
  printf("same memory %d\n",
         TFE_TensorHandleDevicePointer(id, S) == TFE_TensorHandleDevicePointer(f4, S));
  printf("device %s\n", TFE_TensorHandleDeviceName(id, S));
  printf("backing %s\n", TFE_TensorHandleBackingDeviceName(id, S));
  TFE_DeleteTensorHandle(id);
  TFE_TensorHandle *all[] = {a, b, axis, i, f4, k, u, sh};
  for (size_t q = 0; q < sizeof all / sizeof *all; q++) TFE_DeleteTensorHandle(all[q]);
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();
  building(c);
  lists(c);
  TFE_DeleteContext(c);
  return ec_close();
}
