/* Contexts, context options and tensor handles. */
#include "eager_common.h"

static void describe(const char *label, TFE_TensorHandle *h) {
  printf("%s: dtype=%s", label, tr_dtype_name((int)TFE_TensorHandleDataType(h)));
  int nd = TFE_TensorHandleNumDims(h, S);
  ec_must("NumDims");
  printf(" dims=%d [", nd);
  for (int i = 0; i < nd; i++) printf("%s%" PRId64, i ? "," : "", TFE_TensorHandleDim(h, i, S));
  printf("] elements=%" PRId64 "\n", TFE_TensorHandleNumElements(h, S));
  printf("  device=%s\n", TFE_TensorHandleDeviceName(h, S));
  printf("  backing=%s\n", TFE_TensorHandleBackingDeviceName(h, S));
  printf("  type=%s", TFE_TensorHandleDeviceType(h, S));
  printf(" id=%d\n", TFE_TensorHandleDeviceID(h, S));
  ec_must("describe");
}

static void options(void) {
  tr_case("context options");
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetConfig(o, "\xff\xff", 2, S);
  ec_st("bad config");
  TFE_ContextOptionsSetConfig(o, "", 0, S);
  ec_st("empty config");
  TFE_ContextOptionsSetAsync(o, 0);
  TFE_ContextOptionsSetDevicePlacementPolicy(o, TFE_DEVICE_PLACEMENT_WARN);
  TFE_Context *c = TFE_NewContext(o, S);
  ec_st("new context");
  printf("policy %d\n", (int)TFE_ContextGetDevicePlacementPolicy(c));
  TFE_DeleteContextOptions(o);
  TFE_DeleteContext(c);

  tr_case("default policy");
  c = ec_ctx();
  printf("policy %d\n", (int)TFE_ContextGetDevicePlacementPolicy(c));

  tr_case("list devices");
  TF_DeviceList *l = TFE_ContextListDevices(c, S);
  ec_st("list");
  for (int i = 0; i < TF_DeviceListCount(l); i++) {
    printf("%s", TF_DeviceListName(l, i, S));
    printf(" %s", TF_DeviceListType(l, i, S));
    printf(" %" PRId64 "\n", TF_DeviceListMemoryBytes(l, i, S));
  }
  TF_DeviceListName(l, 7, S);
  ec_st("name of device 7");
  TF_DeviceListType(l, -1, S);
  ec_st("type of device -1");
  TF_DeleteDeviceList(l);
  TFE_ContextClearCaches(c);
  TFE_ContextStartStep(c);
  TFE_ContextEndStep(c);
  TF_Buffer *b = TF_NewBuffer();
  TFE_HostAddressSpace(c, b);
  printf("host address space \"%.*s\"\n", (int)b->length, (const char *)b->data);
  TF_DeleteBuffer(b);
  TFE_DeleteContext(c);
}

static void handles(TFE_Context *c) {
  tr_case("describe handles");
  TFE_TensorHandle *h = ec_f0(2.5f);
  describe("scalar", h);
  ec_handle("scalar", h);
  TFE_DeleteTensorHandle(h);
  int64_t d3[3] = {2, 0, 3};
  h = ec_h(ec_new(TF_INT64, 3, d3, NULL));
  describe("empty", h);
  ec_handle("empty", h);
  TFE_DeleteTensorHandle(h);
  int64_t d2[2] = {1, 2};
  const char *sv[2] = {"hello", ""};
  h = ec_h(tr_strings(d2, 2, sv));
  describe("strings", h);
  ec_handle("strings", h);
  TFE_DeleteTensorHandle(h);

  h = ec_ramp(2, d2);

  tr_case("copy sharing tensor");
  TFE_TensorHandle *h2 = TFE_TensorHandleCopySharingTensor(h, S);
  ec_st("copy");
  TF_Tensor *a = TFE_TensorHandleResolve(h, S);
  TF_Tensor *b = TFE_TensorHandleResolve(h2, S);
  printf("same data %d\n", TF_TensorData(a) == TF_TensorData(b));
  ((float *)TF_TensorData(a))[0] = 77.0f;
  ec_handle("copy sees write", h2);
  TF_DeleteTensor(a);
  TF_DeleteTensor(b);
  TFE_DeleteTensorHandle(h);
  ec_handle("copy outlives original", h2);

  tr_case("handle shares the tensor it was made from");
  float v[2] = {5, 6};
  TF_Tensor *t = ec_new(TF_FLOAT, 2, d2, v);
  TFE_TensorHandle *h3 = TFE_NewTensorHandle(t, S);
  ((float *)TF_TensorData(t))[1] = 60.0f;
  ec_handle("after write", h3);
  TF_DeleteTensor(t);
  ec_handle("after tensor deleted", h3);
  TFE_DeleteTensorHandle(h3);

  tr_case("string tensor handle copies");
  t = tr_strings(d2, 2, sv);
  h3 = TFE_NewTensorHandle(t, S);
  TF_StringCopy(&((TF_TString *)TF_TensorData(t))[0], "changed", 7);
  ec_handle("after write", h3);
  TF_DeleteTensor(t);
  TFE_DeleteTensorHandle(h3);

  tr_case("copy to device");
  static const char *const names[] = {"CPU:0",
                                      "/cpu:0",
                                      "/device:CPU:0",
                                      "",
                                      "/job:localhost/replica:0/task:0/device:CPU:0",
                                      "/job:localhost/replica:0/task:0/cpu:0",
                                      "/device:CPU:1",
                                      "GPU:0",
                                      "/job:worker/replica:0/task:0/device:CPU:0",
                                      "nonsense",
                                      "/device:",
                                      "/device:CPU:*"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    TFE_TensorHandle *r = TFE_TensorHandleCopyToDevice(h2, c, names[i], S);
    printf("[%s] ", names[i]);
    if (ec_st("copy")) {
      ec_handle("  value", r);
      printf("  device=%s\n", TFE_TensorHandleDeviceName(r, S));
    } else {
      printf("  handle %s\n", r ? "not null" : "null");
    }
    if (r) TFE_DeleteTensorHandle(r);
  }

  tr_case("debug info");
  TFE_TensorDebugInfo *di = TFE_TensorHandleTensorDebugInfo(h2, S);
  ec_st("debug info");
  int n = TFE_TensorDebugInfoOnDeviceNumDims(di);
  printf("dims %d:", n);
  for (int i = 0; i < n; i++) printf(" %" PRId64, TFE_TensorDebugInfoOnDeviceDim(di, i));
  printf("\n");
  TFE_DeleteTensorDebugInfo(di);

  tr_case("device memory");
  printf("size %zu\n", TFE_TensorHandleDeviceMemorySize(h2, S));
  ec_st("size");
  void *p = TFE_TensorHandleDevicePointer(h2, S);
  ec_st("pointer");
  printf("first %g\n", (double)((float *)p)[0]);

  tr_case("handle status");
  TFE_TensorHandleGetStatus(h2, S);
  ec_st("status");

  tr_case("null arguments");
  TFE_TensorHandleNumDims(NULL, S);
  ec_st("NumDims");
  TFE_TensorHandleNumElements(NULL, S);
  ec_st("NumElements");
  TFE_TensorHandleDim(NULL, 0, S);
  ec_st("Dim");
  TFE_TensorHandleDeviceName(NULL, S);
  ec_st("DeviceName");
  TFE_TensorHandleBackingDeviceName(NULL, S);
  ec_st("BackingDeviceName");
  TFE_TensorHandleDeviceType(NULL, S);
  ec_st("DeviceType");
  TFE_TensorHandleDeviceID(NULL, S);
  ec_st("DeviceID");
  TFE_TensorHandleResolve(NULL, S);
  ec_st("Resolve");
  TFE_TensorHandleCopySharingTensor(NULL, S);
  ec_st("CopySharingTensor");
  TFE_TensorHandleCopyToDevice(NULL, c, "CPU:0", S);
  ec_st("CopyToDevice");
  TFE_TensorHandleDevicePointer(NULL, S);
  ec_st("DevicePointer");
  TFE_TensorHandleDeviceMemorySize(NULL, S);
  ec_st("DeviceMemorySize");
  TFE_DeleteTensorHandle(NULL);
  TFE_DeleteOp(NULL);
  TFE_DeleteContext(NULL);
  printf("null deletes survived\n");
  TFE_DeleteTensorHandle(h2);
}

static int freed;
static void unref(void *data, size_t len, void *arg) {
  (void)data;
  printf("deallocator len=%zu arg=%d\n", len, *(int *)arg);
  freed++;
}

static void from_memory(TFE_Context *c) {
  tr_case("handle from device memory");
  static float buf[4] __attribute__((aligned(64))) = {1, 2, 3, 4};
  int64_t d[2] = {2, 2};
  int arg = 42;
  TFE_TensorHandle *h =
      TFE_NewTensorHandleFromDeviceMemory(c, "/job:localhost/replica:0/task:0/device:CPU:0",
                                          TF_FLOAT, d, 2, buf, sizeof buf, unref, &arg, S);
  ec_st("new");
  ec_handle("value", h);
  describe("handle", h);
  printf("shares memory %d\n", TFE_TensorHandleDevicePointer(h, S) == (void *)buf);
  buf[0] = 10;
  ec_handle("after write", h);
  TFE_DeleteTensorHandle(h);
  printf("freed %d\n", freed);

  tr_case("handle from device memory: bad device");
  h = TFE_NewTensorHandleFromDeviceMemory(c, "/device:GPU:0", TF_FLOAT, d, 2, buf, sizeof buf,
                                          unref, &arg, S);
  ec_st("new");
  printf("handle %s freed %d\n", h ? "not null" : "null", freed);

  tr_case("handle from device memory: length");
  h = TFE_NewTensorHandleFromDeviceMemory(c, "CPU:0", TF_FLOAT, d, 2, buf, 8, unref, &arg, S);
  ec_st("too short");
  printf("handle %s freed %d\n", h ? "not null" : "null", freed);
  if (h) TFE_DeleteTensorHandle(h);

  tr_case("handle from scalar");
  float f = 3.5f;
  h = TFE_NewTensorHandleFromScalar(TF_FLOAT, &f, sizeof f, S);
  ec_st("float");
  ec_handle("value", h);
  describe("scalar", h);
  TFE_DeleteTensorHandle(h);
  int64_t i64 = -7;
  h = TFE_NewTensorHandleFromScalar(TF_INT64, &i64, sizeof i64, S);
  ec_st("int64");
  ec_handle("value", h);
  TFE_DeleteTensorHandle(h);

  tr_case("allocate host tensor");
  TF_Tensor *t = TFE_AllocateHostTensor(c, TF_INT32, d, 2, S);
  ec_st("allocate");
  printf("%s dims %d bytes %zu\n", tr_dtype_name((int)TF_TensorType(t)), TF_NumDims(t),
         TF_TensorByteSize(t));
  for (int i = 0; i < 4; i++) ((int32_t *)TF_TensorData(t))[i] = i * i;
  h = TFE_NewTensorHandleFromTensor(c, t, S);
  ec_st("handle");
  ec_handle("value", h);
  TFE_DeleteTensorHandle(h);
  TF_DeleteTensor(t);
}

int main(void) {
  ec_open();
  options();
  TFE_Context *c = ec_ctx();
  handles(c);
  from_memory(c);
  TFE_DeleteContext(c);
  return ec_close();
}
