/* What log_device_placement tells a listener in eager mode, and when. */
#include "eager_common.h"
#include "tensorflow/c/eager/c_api_experimental.h"

static void listen(const char *text) {
  printf("  log: %s\n", text);
}

static TFE_Context *context(const char *config, size_t n) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetConfig(o, config, n, S);
  ec_must("config");
  TFE_Context *c = TFE_NewContext(o, S);
  ec_must("context");
  TFE_DeleteContextOptions(o);
  return c;
}

static void neg(TFE_Context *c, TFE_TensorHandle *x, const char *device) {
  TFE_Op *op = ec_op(c, "Neg");
  if (device) {
    TFE_OpSetDevice(op, device, S);
    ec_must("device");
  }
  ec_in(op, x);
  ec_exec("Neg", op, 1);
}

int main(void) {
  ec_open();
  TF_RegisterLogListener(listen);
  /* device_count { key: "CPU" value: 2 } log_device_placement: true */
  TFE_Context *c = context(
      "\x0a\x07\x0a\x03"
      "CPU\x10\x02\x40\x01",
      11);
  TFE_TensorHandle *x = ec_f1(2, (float[]){1, 2}), *i = ec_i0(3);

  tr_case("config asks");
  neg(c, x, NULL);
  neg(c, x, NULL);
  printf("another dtype\n");
  neg(c, i, NULL);
  printf("another device\n");
  neg(c, x, "/device:CPU:1");
  neg(c, x, "/job:localhost/replica:0/task:0/device:CPU:0");
  ec_run(c, "Identity", x, NULL, NULL);
  printf("a failure\n");
  ec_run(c, "MatMul", x, x, NULL);
  printf("copy\n");
  TFE_TensorHandle *y =
      TFE_TensorHandleCopyToDevice(x, c, "/job:localhost/replica:0/task:0/device:CPU:1", S);
  ec_st("copy");
  TFE_DeleteTensorHandle(y);

  tr_case("off");
  TFE_ContextSetLogDevicePlacement(c, 0, S);
  ec_st("off");
  ec_run(c, "Abs", x, NULL, NULL);
  TFE_ContextSetLogDevicePlacement(c, 1, S);
  ec_st("on");
  ec_run(c, "Abs", x, NULL, NULL);
  ec_run(c, "Exp", x, NULL, NULL);
  TFE_ContextClearCaches(c);
  printf("cleared\n");
  ec_run(c, "Exp", x, NULL, NULL);

  tr_case("a variable");
  TFE_Op *op = ec_op(c, "VarHandleOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, S);
  TFE_OpSetAttrString(op, "shared_name", "v", 1);
  TFE_TensorHandle *v = NULL;
  int n = 1;
  TFE_Execute(op, &v, &n, S);
  ec_st("VarHandleOp");
  TFE_DeleteOp(op);
  op = ec_op(c, "AssignVariableOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_in(op, v);
  ec_in(op, x);
  n = 0;
  TFE_Execute(op, NULL, &n, S);
  ec_st("AssignVariableOp");
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(v);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(i);
  TFE_DeleteContext(c);
  TF_RegisterLogListener(NULL);
  return ec_close();
}
