/* Custom devices: who is asked to run an op, what happens to handles that live there, who owns what. */
#include "eager_common.h"

#define AT   "/job:localhost/replica:0/task:0/device:"
#define CPU0 AT "CPU:0"
#define A0   AT "CUSTOM:0"
#define A1   AT "CUSTOM:1"

/* A device that keeps each value as a handle on the CPU. */
typedef struct device {
  char name[80];
  bool refuses; /* to give values back */
  int pins;     /* -1: has no opinion, else what shall_pin says */
  int values;   /* alive */
} device;
typedef struct value {
  device *dev;
  TFE_TensorHandle *inner;
} value;

static const char *brief(const device *d) {
  const char *p = strrchr(d->name, '/');
  return p ? p : d->name;
}

static int value_dims(void *data, TF_Status *s) {
  return TFE_TensorHandleNumDims(((value *)data)->inner, s);
}
static int64_t value_dim(void *data, int i, TF_Status *s) {
  return TFE_TensorHandleDim(((value *)data)->inner, i, s);
}
static void value_free(void *data) {
  value *v = data;
  TFE_DeleteTensorHandle(v->inner);
  v->dev->values--;
  free(v);
}
static TF_Buffer *value_text(void *data, TF_Status *s) {
  (void)data;
  (void)s;
  return TF_NewBufferFromString("held", 4);
}

static TFE_TensorHandle *wrap(TFE_Context *c, device *d, TFE_TensorHandle *inner, TF_Status *s) {
  TFE_CustomDeviceTensorHandle m = {TFE_CUSTOM_DEVICE_VERSION, value_dims, value_dim, value_free,
                                    value_text};
  value *v = malloc(sizeof *v);
  *v = (value){d, inner};
  d->values++;
  return TFE_NewCustomDeviceTensorHandle(c, d->name, TFE_TensorHandleDataType(inner), v, m, s);
}

static TFE_TensorHandle *to_device(TFE_Context *c, TFE_TensorHandle *h, TF_Status *s, void *info) {
  device *d = info;
  printf("  [%s takes a value]\n", brief(d));
  TFE_TensorHandle *inner = TFE_TensorHandleCopyToDevice(h, c, CPU0, s);
  return TF_GetCode(s) == TF_OK ? wrap(c, d, inner, s) : NULL;
}

static TFE_TensorHandle *from_device(TFE_Context *c, TFE_TensorHandle *h, const char *to,
                                     TF_Status *s, void *info) {
  device *d = info;
  printf("  [%s gives a value to %s]\n", brief(d), to);
  if (d->refuses) {
    TF_SetStatus(s, TF_INTERNAL, "values stay here");
    return NULL;
  }
  value *v = TFE_TensorHandleDevicePointer(h, s);
  return TFE_TensorHandleCopyToDevice(v->inner, c, to, s);
}

static void run(const TFE_Op *op, int *n, TFE_TensorHandle **out, TF_Status *s, void *info) {
  device *d = info;
  const char *name = TFE_OpGetName(op, s);
  TFE_Context *c = TFE_OpGetContext(op, s);
  int inputs = TFE_OpGetFlatInputCount(op, s);
  printf("  [%s runs %s asked for '%s' with %d inputs, room for %d]\n", brief(d), name,
         TFE_OpGetDevice(op, s), inputs, *n);
  if (strcmp(name, "Neg") == 0) {
    TF_SetStatus(s, TF_FAILED_PRECONDITION, "no Neg today");
    return;
  }
  TFE_Op *mine = TFE_NewOp(c, name, s);
  TFE_OpAddAttrs(mine, TFE_OpGetAttrs(op));
  TFE_OpSetDevice(mine, CPU0, s);
  for (int i = 0; i < inputs && TF_GetCode(s) == TF_OK; i++) {
    TFE_TensorHandle *h = TFE_OpGetFlatInput(op, i, s);
    const char *where = TFE_TensorHandleDeviceName(h, s);
    if (strcmp(where, d->name) == 0) h = ((value *)TFE_TensorHandleDevicePointer(h, s))->inner;
    TFE_OpAddInput(mine, h, s);
  }
  TFE_TensorHandle *r[8] = {0};
  if (TF_GetCode(s) == TF_OK) TFE_Execute(mine, r, n, s);
  TFE_DeleteOp(mine);
  if (TF_GetCode(s) == TF_OK)
    for (int i = 0; i < *n; i++) out[i] = wrap(c, d, r[i], s);
}

static int deleted, alive;
static void gone(void *info) {
  device *d = info;
  deleted++;
  alive += d->values;
  free(d);
}

/* In which order they go is TensorFlow's secret. */
static void end(TFE_Context *c) {
  TFE_DeleteContext(c);
  printf("devices deleted: %d, with %d values\n", deleted, alive);
  deleted = alive = 0;
}

static TFE_TensorHandle *packs(TFE_Context *c, TFE_TensorHandle **h, int n, TF_Status *s,
                               void *info) {
  device *d = info;
  printf("  [%s packs %d]\n", brief(d), n);
  (void)h;
  TFE_TensorHandle *inner = ec_f0((float)n);
  return wrap(c, d, inner, s);
}

static int pin_answer;
static bool pins(const TFE_Op *op, TF_Status *s) {
  printf("  [is asked to take %s: %d]\n", TFE_OpGetName(op, s), pin_answer);
  return pin_answer != 0;
}

static device *add(TFE_Context *c, const char *name, bool asks, bool pack) {
  device *d = calloc(1, sizeof *d);
  snprintf(d->name, sizeof d->name, "%s", name);
  TFE_CustomDevice v = {TFE_CUSTOM_DEVICE_VERSION, to_device,         from_device, run, gone,
                        pack ? packs : NULL,       asks ? pins : NULL};
  TFE_RegisterCustomDevice(c, v, name, d, S);
  bool ok = ec_st(name);
  if (!ok) printf("  deleted: %d\n", deleted);
  return ok ? d : NULL;
}

static void look(const char *what, TFE_TensorHandle *h) {
  if (!h) {
    printf("%s: none\n", what);
    return;
  }
  printf("%s: %s on %s", what, tr_dtype_name((int)TFE_TensorHandleDataType(h)),
         TFE_TensorHandleDeviceName(h, S));
  printf(" backed by %s", TFE_TensorHandleBackingDeviceName(h, S));
  printf(" type %s", TFE_TensorHandleDeviceType(h, S));
  printf(" id %d rank %d", TFE_TensorHandleDeviceID(h, S), TFE_TensorHandleNumDims(h, S));
  printf(" elements %" PRId64 "\n", TFE_TensorHandleNumElements(h, S));
  ec_st("  status");
}

static TFE_TensorHandle *call(TFE_Context *c, const char *name, const char *device,
                              TFE_TensorHandle *a, TFE_TensorHandle *b) {
  TFE_Op *op = ec_op(c, name);
  if (device) TFE_OpSetDevice(op, device, S);
  if (a) ec_in(op, a);
  if (b) ec_in(op, b);
  TFE_TensorHandle *r[2] = {0};
  int n = 2;
  printf("%s%s%s\n", name, device ? " on " : "", device ? device : "");
  TFE_Execute(op, r, &n, S);
  if (ec_st("  executed")) {
    printf("  results %d, op says '%s', inputs left %d\n", n, TFE_OpGetDevice(op, S),
           TFE_OpGetFlatInputCount(op, S));
    if (n > 0) look("  result", r[0]);
  }
  ec_st("  after");
  TFE_DeleteOp(op);
  return r[0];
}

static void drop(TFE_TensorHandle *h) {
  if (h) TFE_DeleteTensorHandle(h);
}

static void registration(void) {
  tr_case("registration");
  TFE_Context *c = ec_ctx();
  add(c, "/device:CUSTOM:0", false, false);
  add(c, "CUSTOM:0 and more of a bad name, padded to fit the log prefix length", false, false);
  add(c, A0, false, false);
  add(c, A0, false, false);
  add(c, CPU0, false, false);
  add(c, "/job:other/replica:0/task:0/device:CUSTOM:0", false, false);
  add(c, "/job:localhost/replica:0/task:0/custom:3 ", false, false);
  printf("is custom: %d %d %d %d\n", TFE_IsCustomDevice(c, A0), TFE_IsCustomDevice(c, A1),
         TFE_IsCustomDevice(c, CPU0), TFE_IsCustomDevice(c, "/device:CUSTOM:0"));
  TF_DeviceList *l = TFE_ContextListDevices(c, S);
  printf("listed devices: %d\n", TF_DeviceListCount(l));
  TF_DeleteDeviceList(l);
  end(c);
}

static void copies(void) {
  tr_case("copies");
  TFE_Context *c = ec_ctx();
  device *d = add(c, A0, false, false);
  add(c, A1, false, false);
  TFE_TensorHandle *x = ec_f2(2, 2, (float[]){1, 2, 3, 4});
  TFE_TensorHandle *y = TFE_TensorHandleCopyToDevice(x, c, A0, S);
  ec_st("to A0");
  look("y", y);
  printf("dim 1 = %" PRId64 "\n", TFE_TensorHandleDim(y, 1, S));
  ec_st("dim");
  TFE_TensorHandle *back = TFE_TensorHandleCopyToDevice(y, c, CPU0, S);
  ec_st("back");
  ec_handle("back", back);
  drop(back);
  ec_handle("resolved", y);
  back = TFE_TensorHandleCopyToDevice(y, c, A1, S);
  ec_st("to A1");
  look("on A1", back);
  drop(back);
  back = TFE_TensorHandleCopyToDevice(y, c, A0, S);
  ec_st("to A0 again");
  look("on A0", back);
  drop(back);
  back = TFE_TensorHandleCopyToDevice(y, c, "/device:CUSTOM:0", S);
  ec_st("a short name");
  drop(back);
  back = TFE_TensorHandleCopySharingTensor(y, S);
  ec_st("sharing");
  look("shared", back);
  drop(back);
  d->refuses = true;
  ec_handle("refused", y);
  back = TFE_TensorHandleCopyToDevice(y, c, CPU0, S);
  ec_st("copy refused");
  printf("values: %d\n", d->values);
  drop(y);
  printf("values: %d\n", d->values);
  drop(x);
  end(c);
}

static void placement(void) {
  tr_case("placement");
  TFE_Context *c = ec_ctx();
  device *d = add(c, A0, false, false);
  add(c, A1, false, false);
  TFE_TensorHandle *x = ec_f2(2, 2, (float[]){1, 2, 3, 4});
  TFE_TensorHandle *a = TFE_TensorHandleCopyToDevice(x, c, A0, S);
  TFE_TensorHandle *b = TFE_TensorHandleCopyToDevice(x, c, A1, S);
  drop(call(c, "MatMul", NULL, x, x));
  drop(call(c, "MatMul", A0, x, x));
  drop(call(c, "MatMul", "/device:CUSTOM:0", x, x));
  drop(call(c, "MatMul", "/device:CUSTOM:7", x, x));
  drop(call(c, "MatMul", NULL, a, a));
  drop(call(c, "MatMul", NULL, a, x));
  drop(call(c, "MatMul", NULL, x, a));
  drop(call(c, "MatMul", NULL, a, b));
  drop(call(c, "MatMul", CPU0, a, x));
  drop(call(c, "MatMul", A1, a, x));
  drop(call(c, "MatMul", A1, x, b));
  d->refuses = true;
  drop(call(c, "MatMul", CPU0, a, x));
  drop(call(c, "Neg", NULL, a, NULL));
  drop(call(c, "MatMul", NULL, a, NULL));
  drop(a);
  drop(b);
  drop(x);
  end(c);
}

static void choosing(void) {
  tr_case("choosing");
  TFE_Context *c = ec_ctx();
  add(c, A0, true, false);
  TFE_TensorHandle *x = ec_f2(2, 2, (float[]){1, 2, 3, 4});
  TFE_TensorHandle *a = TFE_TensorHandleCopyToDevice(x, c, A0, S);
  for (pin_answer = 0; pin_answer < 2; pin_answer++) {
    drop(call(c, "MatMul", NULL, a, x));
    drop(call(c, "MatMul", CPU0, a, x));
    drop(call(c, "MatMul", A0, a, x));
    drop(call(c, "MatMul", A0, x, x));
  }
  drop(a);
  drop(x);
  end(c);
}

static void variables(void) {
  tr_case("variables");
  TFE_Context *c = ec_ctx();
  add(c, A0, false, false);
  TFE_TensorHandle *x = ec_f0(111), *v = NULL;
  TFE_Op *op = ec_op(c, "VarHandleOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, S);
  TFE_OpSetAttrString(op, "shared_name", "here", 4);
  TFE_OpSetDevice(op, A0, S);
  int n = 1;
  TFE_Execute(op, &v, &n, S);
  ec_st("VarHandleOp");
  TFE_DeleteOp(op);
  look("variable", v);
  static const char *const where[] = {NULL, CPU0, A0};
  for (int i = 0; i < 3; i++) {
    op = ec_op(c, "AssignVariableOp");
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    if (where[i]) TFE_OpSetDevice(op, where[i], S);
    ec_in(op, v);
    ec_in(op, x);
    n = 0;
    TFE_Execute(op, NULL, &n, S);
    ec_st("AssignVariableOp");
    TFE_DeleteOp(op);
  }
  op = ec_op(c, "ReadVariableOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_in(op, v);
  TFE_TensorHandle *r = NULL;
  n = 1;
  TFE_Execute(op, &r, &n, S);
  ec_st("ReadVariableOp");
  TFE_DeleteOp(op);
  look("read", r);
  ec_handle("read", r);
  drop(r);
  drop(v);
  drop(x);
  end(c);
}

static void let_go(void *data, size_t n, void *arg) {
  (void)data;
  (void)arg;
  printf("  [%zu bytes let go]\n", n);
}

static void odd(void) {
  tr_case("packing");
  TFE_Context *c = ec_ctx();
  add(c, A0, false, true);
  add(c, A1, false, false);
  TFE_TensorHandle *x = ec_f0(1);
  TFE_TensorHandle *a = TFE_TensorHandleCopyToDevice(x, c, A0, S);
  TFE_TensorHandle *b = TFE_TensorHandleCopyToDevice(x, c, A1, S);
  TFE_TensorHandle *l[2] = {x, a}, *m[2] = {b, a};
  int n = 2;
  TFE_TensorHandle *p = TFE_CreatePackedTensorHandle(c, l, &n, S);
  ec_st("pack on A0");
  look("packed", p);
  ec_handle("packed", p);
  drop(p);
  p = TFE_CreatePackedTensorHandle(c, m, &n, S);
  ec_st("pack on A1");
  tr_case("odd handles");
  int64_t dims[1] = {1};
  float f = 5;
  p = TFE_NewTensorHandleFromDeviceMemory(c, A0, TF_FLOAT, dims, 1, &f, 4, let_go, NULL, S);
  ec_st("device memory");
  TFE_Op *op = ec_op(c, "Identity");
  ec_in(op, a);
  TFE_OpSetDevice(op, "nonsense", S);
  ec_st("a bad device");
  TFE_OpReset(op, "Identity", A0, S);
  ec_st("reset");
  printf("op on '%s'\n", TFE_OpGetDevice(op, S));
  TFE_OpReset(op, "Identity", CPU0, S);
  printf("op on '%s'\n", TFE_OpGetDevice(op, S));
  ec_st("reset");
  TFE_DeleteOp(op);
  tr_case("functions");
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output in = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "Square", "y");
  TF_AddInput(d, in);
  TF_Output out = {TF_FinishOperation(d, S), 0};
  TF_Function *fun = TF_GraphToFunction(g, "sq", 0, -1, NULL, 1, &in, 1, &out, NULL, NULL, NULL, S);
  TFE_ContextAddFunction(c, fun, S);
  ec_must("function");
  TF_DeleteFunction(fun);
  TF_DeleteGraph(g);
  drop(call(c, "sq", NULL, a, NULL));
  drop(call(c, "sq", A0, x, NULL));
  drop(call(c, "sq", CPU0, a, NULL));
  drop(a);
  drop(b);
  drop(x);
  end(c);
}

static void async(void) {
  tr_case("async");
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetAsync(o, 1);
  TFE_Context *c = TFE_NewContext(o, S);
  TFE_DeleteContextOptions(o);
  add(c, A0, false, false);
  TFE_TensorHandle *x = ec_f2(2, 2, (float[]){1, 2, 3, 4});
  TFE_TensorHandle *a = TFE_TensorHandleCopyToDevice(x, c, A0, S);
  TFE_TensorHandle *y = call(c, "MatMul", NULL, a, x);
  ec_handle("y", y);
  drop(y);
  y = call(c, "MatMul", CPU0, a, x);
  ec_handle("y", y);
  drop(y);
  drop(a);
  drop(x);
  end(c);
}

int main(void) {
  ec_open();
  registration();
  copies();
  placement();
  choosing();
  variables();
  odd();
  async();
  return ec_close();
}
