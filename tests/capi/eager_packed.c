/* Packed handles: one handle for the copies of a value on several devices. */
#include "eager_common.h"
#include "tensorflow/c/eager/c_api_experimental.h"

#define CPU1 "/job:localhost/replica:0/task:0/device:CPU:1"
static const char *const devices[] = {NULL, "/device:CPU:0", "/device:CPU:1"};

static TFE_TensorHandle *pack(TFE_Context *c, TFE_TensorHandle **l, int n, const char *what) {
  TFE_TensorHandle *p = TFE_CreatePackedTensorHandle(c, l, &n, S);
  ec_st(what);
  return p;
}

static void unary(TFE_Context *c, const char *name, TFE_TensorHandle *p, bool read) {
  for (int d = 0; d < 3; d++) {
    TFE_Op *op = ec_op(c, name);
    if (devices[d]) TFE_OpSetDevice(op, devices[d], S);
    if (read) TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    ec_in(op, p);
    ec_exec(name, op, 1);
  }
}

static TFE_TensorHandle *variable(TFE_Context *c, int d, TFE_TensorHandle *value) {
  TFE_TensorHandle *v = NULL;
  TFE_Op *op = ec_op(c, "VarHandleOp");
  TFE_OpSetDevice(op, devices[d + 1], S);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, -1, S);
  TFE_OpSetAttrString(op, "shared_name", "v", 1);
  int n = 1;
  TFE_Execute(op, &v, &n, S);
  ec_must("VarHandleOp");
  TFE_DeleteOp(op);
  op = ec_op(c, "AssignVariableOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_in(op, v);
  ec_in(op, value);
  n = 0;
  TFE_Execute(op, NULL, &n, S);
  ec_must("AssignVariableOp");
  TFE_DeleteOp(op);
  return v;
}

/* f(x) = op(x), on |device| inside. */
static void function(TFE_Context *c, const char *name, const char *opname, TF_DataType in,
                     const char *device) {
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", in);
  TF_Output x = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, opname, "y");
  if (device) TF_SetDevice(d, device);
  if (in == TF_RESOURCE) TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_AddInput(d, x);
  TF_Output y = {TF_FinishOperation(d, S), 0};
  ec_must("graph");
  TF_Function *f = TF_GraphToFunction(g, name, 0, -1, NULL, 1, &x, 1, &y, NULL, NULL, NULL, S);
  ec_must("function");
  TFE_ContextAddFunction(c, f, S);
  ec_must("add");
  TF_DeleteFunction(f);
  TF_DeleteGraph(g);
}

int main(void) {
  ec_open();
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetConfig(o,
                              "\x0a\x07\x0a\x03"
                              "CPU\x10\x02",
                              9, S);
  TFE_Context *c = TFE_NewContext(o, S);
  ec_must("context");
  TFE_DeleteContextOptions(o);
  TFE_TensorHandle *x = ec_f1(2, (float[]){1, 2}), *y = ec_f1(2, (float[]){3, 4});
  TFE_TensorHandle *y1 = TFE_TensorHandleCopyToDevice(y, c, CPU1, S);
  TFE_TensorHandle *l[3] = {x, y1, x};

  tr_case("in an operation: stacked");
  TFE_TensorHandle *p = pack(c, l, 2, "pack");
  unary(c, "Neg", p, false);
  unary(c, "Identity", p, false);
  TFE_Op *op = ec_op(c, "AddV2");
  ec_in(op, p);
  ec_in(op, x);
  ec_exec("AddV2", op, 1);
  TFE_TensorHandle *one = pack(c, l, 1, "pack one");
  unary(c, "Neg", one, false);
  TFE_TensorHandle *three = pack(c, l, 3, "pack three");
  ec_run(c, "Neg", three, NULL, NULL);

  tr_case("what a packed handle says");
  TF_Tensor *t = TFE_TensorHandleResolve(p, S);
  ec_st("resolve");
  if (t) tr_show_free("  resolved", t);
  printf("elements %d\n", (int)TFE_TensorHandleNumElements(p, S));
  ec_st("elements");
  printf("dims %d\n", TFE_TensorHandleNumDims(p, S));
  ec_st("dims");
  printf("dtype %d\n", (int)TFE_TensorHandleDataType(p));
  printf("device %s\n", TFE_TensorHandleDeviceName(p, S));
  ec_st("device");
  printf("backing %s\n", TFE_TensorHandleBackingDeviceName(p, S));
  ec_st("backing");
  printf("type %s\n", TFE_TensorHandleDeviceType(p, S));
  ec_st("type");
  printf("id %d\n", TFE_TensorHandleDeviceID(p, S));
  ec_st("id");
  printf("pointer %d\n", TFE_TensorHandleDevicePointer(p, S) != NULL);
  ec_st("pointer");
  TFE_TensorHandle *same = TFE_TensorHandleCopySharingTensor(p, S);
  ec_st("share");
  if (same) ec_run(c, "Neg", same, NULL, NULL);
  TFE_DeleteTensorHandle(same);

  tr_case("different shapes and types");
  TFE_TensorHandle *s3 = ec_f1(3, (float[]){5, 6, 7}), *i = ec_i0(3);
  TFE_TensorHandle *shapes[2] = {x, s3}, *types[2] = {x, i};
  TFE_TensorHandle *bad = pack(c, shapes, 2, "shapes");
  if (bad) ec_run(c, "Neg", bad, NULL, NULL);
  TFE_DeleteTensorHandle(bad);
  bad = pack(c, types, 2, "types");
  if (bad) ec_run(c, "Neg", bad, NULL, NULL);
  TFE_DeleteTensorHandle(bad);
  bad = pack(c, l, 0, "none");
  TFE_DeleteTensorHandle(bad);

  tr_case("variables");
  TFE_TensorHandle *v[2] = {variable(c, 0, x), variable(c, 1, y)};
  TFE_TensorHandle *pv = pack(c, v, 2, "pack");
  unary(c, "ReadVariableOp", pv, true);

  tr_case("in a function");
  function(c, "read", "ReadVariableOp", TF_RESOURCE, NULL);
  function(c, "read0", "ReadVariableOp", TF_RESOURCE, "/device:CPU:0");
  function(c, "read1", "ReadVariableOp", TF_RESOURCE, "/device:CPU:1");
  function(c, "negate", "Neg", TF_FLOAT, NULL);
  unary(c, "read0", pv, false);
  unary(c, "read1", pv, false);
  unary(c, "negate", p, false);
  unary(c, "negate", x, false);

  TFE_TensorHandle *all[] = {x, y, y1, p, one, three, s3, i, v[0], v[1], pv};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) TFE_DeleteTensorHandle(all[k]);
  TFE_DeleteContext(c);
  return ec_close();
}
