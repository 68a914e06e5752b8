/* Logical CPU devices, placement policies, soft placement. */
#include "eager_common.h"

#define CPU0 "/job:localhost/replica:0/task:0/device:CPU:0"
#define CPU1 "/job:localhost/replica:0/task:0/device:CPU:1"

static void list(TFE_Context *c) {
  TF_DeviceList *l = TFE_ContextListDevices(c, S);
  ec_st("list");
  for (int i = 0; i < TF_DeviceListCount(l); i++) {
    printf("  %s", TF_DeviceListName(l, i, S));
    printf(" %s", TF_DeviceListType(l, i, S));
    printf(" %" PRId64 "\n", TF_DeviceListMemoryBytes(l, i, S));
  }
  TF_DeleteDeviceList(l);
}

static TFE_Context *two(int policy, int soft) {
  tr_pb cfg = {0}, m = {0};
  tr_pb_str(&m, 1, "CPU");
  tr_pb_int(&m, 2, 2);
  tr_pb_msg(&cfg, 1, &m); /* device_count {"CPU": 2} */
  if (soft) tr_pb_int(&cfg, 7, 1);
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetConfig(o, cfg.data, cfg.len, S);
  ec_must("config");
  if (policy >= 0)
    TFE_ContextOptionsSetDevicePlacementPolicy(o, (TFE_ContextDevicePlacementPolicy)policy);
  TFE_Context *c = TFE_NewContext(o, S);
  ec_must("context");
  TFE_DeleteContextOptions(o);
  tr_pb_free(&cfg);
  return c;
}

static TFE_TensorHandle *on(TFE_Context *c, TFE_TensorHandle *h, const char *dev) {
  TFE_TensorHandle *r = TFE_TensorHandleCopyToDevice(h, c, dev, S);
  ec_st("copy");
  return r;
}

static void where(const char *label, TFE_TensorHandle *h) {
  printf("%s: on %s", label, TFE_TensorHandleDeviceName(h, S));
  printf(" backing %s", TFE_TensorHandleBackingDeviceName(h, S));
  printf(" id %d\n", TFE_TensorHandleDeviceID(h, S));
}

static void run(TFE_Context *c, const char *name, const char *dev, TFE_TensorHandle *a,
                TFE_TensorHandle *b) {
  TFE_Op *op = ec_op(c, name);
  if (dev) {
    TFE_OpSetDevice(op, dev, S);
    ec_must("set device");
  }
  ec_in(op, a);
  if (b) ec_in(op, b);
  TFE_TensorHandle *r = ec_exec_keep(name, op, 1);
  if (r) {
    where("  result", r);
    TFE_DeleteTensorHandle(r);
  }
}

static void policies(void) {
  for (int p = 0; p < 4; p++) {
    char label[64];
    snprintf(label, sizeof label, "policy %d", p);
    tr_case(label);
    TFE_Context *c = two(p, 0);
    printf("policy %d\n", (int)TFE_ContextGetDevicePlacementPolicy(c));
    TFE_TensorHandle *f = ec_f1(2, (float[]){1, 2});
    TFE_TensorHandle *i = ec_i1(2, (int32_t[]){3, 4});
    TFE_TensorHandle *f1 = on(c, f, "CPU:1");
    where("copied", f1);
    run(c, "Square", CPU1, f, NULL);
    run(c, "Square", CPU1, i, NULL);
    run(c, "Identity", CPU1, f, NULL);
    run(c, "AddV2", NULL, f, f1);
    run(c, "AddV2", NULL, f1, f);
    run(c, "AddV2", CPU1, f1, f1);
    run(c, "AddV2", CPU0, f1, f1);
    run(c, "Neg", NULL, f1, NULL);
    run(c, "Reshape", CPU1, f1, i);

    TFE_Op *op = ec_op(c, "IdentityN");
    TFE_OpSetDevice(op, CPU1, S);
    TFE_TensorHandle *l[2] = {f, f1};
    TFE_OpAddInputList(op, l, 2, S);
    ec_exec("IdentityN", op, 2);
    TFE_DeleteTensorHandle(f);
    TFE_DeleteTensorHandle(i);
    TFE_DeleteTensorHandle(f1);
    TFE_DeleteContext(c);
  }
}

int main(void) {
  ec_open();
  tr_case("two logical CPUs by config");
  TFE_Context *c = two(-1, 0);
  list(c);
  TFE_TensorHandle *f = ec_f1(2, (float[]){1, 2});
  run(c, "Neg", NULL, f, NULL);
  run(c, "Neg", CPU1, f, NULL);
  run(c, "Neg", "/device:CPU:1", f, NULL);
  run(c, "Neg", "/device:CPU:*", f, NULL);
  run(c, "Neg", "/job:localhost", f, NULL);
  run(c, "Neg", "/device:CPU:2", f, NULL);

  tr_case("copy between logical CPUs");
  TFE_TensorHandle *f1 = on(c, f, CPU1);
  where("copy", f1);
  ec_handle("copy", f1);
  printf("same memory %d\n",
         TFE_TensorHandleDevicePointer(f, S) == TFE_TensorHandleDevicePointer(f1, S));
  TFE_TensorHandle *f0 = on(c, f1, CPU0);
  where("back", f0);
  TFE_DeleteTensorHandle(f0);
  const char *sv[1] = {"text"};
  TFE_TensorHandle *s = ec_h(tr_strings(NULL, 0, sv));
  TFE_TensorHandle *s1 = on(c, s, CPU1);
  ec_handle("string", s1);
  TFE_DeleteTensorHandle(s);
  TFE_DeleteTensorHandle(s1);

  tr_case("variable on CPU:1");
  TFE_Op *op = ec_op(c, "VarHandleOp");
  TFE_OpSetDevice(op, CPU1, S);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", (int64_t[]){2}, 1, S);
  TFE_OpSetAttrString(op, "shared_name", "v", 1);
  TFE_TensorHandle *v = ec_exec_keep("VarHandleOp", op, 1);
  where("handle", v);
  op = ec_op(c, "AssignVariableOp");
  ec_in(op, v);
  ec_in(op, f);
  ec_exec("AssignVariableOp", op, 0);
  op = ec_op(c, "ReadVariableOp");
  ec_in(op, v);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetDevice(op, CPU0, S);
  TFE_TensorHandle *r = ec_exec_keep("ReadVariableOp asked for CPU:0", op, 1);
  if (r) {
    where("value", r);
    TFE_DeleteTensorHandle(r);
  }
  op = ec_op(c, "VarHandleOp");
  TFE_OpSetDevice(op, CPU0, S);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", (int64_t[]){2}, 1, S);
  TFE_OpSetAttrString(op, "shared_name", "v", 1);
  TFE_TensorHandle *v0 = ec_exec_keep("VarHandleOp", op, 1);
  op = ec_op(c, "VarIsInitializedOp");
  ec_in(op, v0);
  ec_exec("same name on CPU:0 initialized", op, 1);
  op = ec_op(c, "ReadVariableOp");
  ec_in(op, v0);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_exec("read on CPU:0", op, 1);
  TFE_TensorHandle *moved = TFE_TensorHandleCopyToDevice(v, c, CPU0, S);
  ec_st("copy the resource handle to CPU:0");
  if (moved) {
    where("moved", moved);
    TFE_DeleteTensorHandle(moved);
  }
  TFE_DeleteTensorHandle(v);
  TFE_DeleteTensorHandle(v0);

  tr_case("thread local policy");
  TFE_ContextSetThreadLocalDevicePlacementPolicy(c, TFE_DEVICE_PLACEMENT_EXPLICIT);
  printf("policy %d\n", (int)TFE_ContextGetDevicePlacementPolicy(c));
  run(c, "Square", CPU1, f, NULL);
  TFE_ContextSetThreadLocalDevicePlacementPolicy(c, TFE_DEVICE_PLACEMENT_SILENT);
  run(c, "Square", CPU1, f, NULL);
  TFE_DeleteTensorHandle(f1);
  TFE_DeleteContext(c);

  policies();

  tr_case("soft placement off and on");
  c = two(-1, 0);
  run(c, "Neg", "/device:GPU:0", f, NULL);
  TFE_ContextSetSoftDevicePlacement(c, 1, S);
  ec_st("soft on");
  run(c, "Neg", "/device:GPU:0", f, NULL);
  run(c, "Neg", "/device:CPU:9", f, NULL);
  run(c, "Neg", "/job:worker/device:CPU:0", f, NULL);
  TFE_ContextSetSoftDevicePlacement(c, 0, S);
  ec_st("soft off");
  run(c, "Neg", "/device:GPU:0", f, NULL);
  TFE_ContextSetLogDevicePlacement(c, 0, S);
  ec_st("log placement off");
  TFE_DeleteContext(c);

  tr_case("soft placement by config");
  c = two(-1, 1);
  run(c, "Neg", "/device:GPU:0", f, NULL);
  run(c, "Neg", "/job:worker/device:GPU:0", f, NULL);
  TFE_DeleteContext(c);

  tr_case("set logical CPU devices");
  c = ec_ctx();
  list(c);
  TFE_SetLogicalCpuDevices(c, 3, "/job:localhost/replica:0/task:0", S);
  ec_st("three");
  list(c);
  run(c, "Neg", "/device:CPU:2", f, NULL);
  run(c, "Neg", "/device:CPU:3", f, NULL);
  TFE_SetLogicalCpuDevices(c, 1, "/job:localhost/replica:0/task:0", S);
  ec_st("one");
  list(c);
  TFE_DeleteContext(c);
  TFE_DeleteTensorHandle(f);
  return ec_close();
}
