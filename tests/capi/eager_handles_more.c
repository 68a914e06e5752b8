/* Tensor handles: what they say of themselves for every type and rank, copies and shared copies, names of
   devices that are not there, handles that outlive the op and the tensor they came from. */
#include "eager_common.h"

static void about(const char *label, TFE_TensorHandle *h) {
  printf("%s: %s dims %d", label, tr_dtype_name((int)TFE_TensorHandleDataType(h)),
         TFE_TensorHandleNumDims(h, S));
  ec_must("dims");
  printf(" elements %" PRId64, TFE_TensorHandleNumElements(h, S));
  ec_must("elements");
  for (int i = 0; i < TFE_TensorHandleNumDims(h, S); i++)
    printf(" %" PRId64, TFE_TensorHandleDim(h, i, S));
  printf(" on %s", TFE_TensorHandleDeviceName(h, S));
  printf(" backing %s", TFE_TensorHandleBackingDeviceName(h, S));
  printf(" type %s id %d\n", TFE_TensorHandleDeviceType(h, S), TFE_TensorHandleDeviceID(h, S));
  ec_must("about");
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();
  tr_case("every type");
  for (int t = 1; t <= 23; t++) {
    size_t size = TF_DataTypeSize((TF_DataType)t);
    if (!size) continue;
    int64_t d[3] = {2, 0, 3};
    TF_Tensor *x = TF_AllocateTensor((TF_DataType)t, d, 3, 0);
    TFE_TensorHandle *h = TFE_NewTensorHandle(x, S);
    ec_must("handle");
    TF_DeleteTensor(x);
    about("empty", h);
    TFE_DeleteTensorHandle(h);
  }
  tr_case("a matrix");
  TFE_TensorHandle *h = ec_f2(2, 3, (float[]){1, 2, 3, 4, 5, 6});
  about("matrix", h);
  tr_case("copies");
  static const char *const devices[] = {"/job:localhost/replica:0/task:0/device:CPU:0",
                                        "CPU:0",
                                        "/cpu:0",
                                        "",
                                        "GPU:0",
                                        "/device:CPU:9",
                                        "nonsense"};
  for (int i = 0; i < 7; i++) {
    TFE_TensorHandle *r = TFE_TensorHandleCopyToDevice(h, c, devices[i], S);
    printf("'%s'", devices[i]);
    if (ec_st(" copy")) {
      about("  copy", r);
      printf("  shares %d same %d\n",
             TFE_TensorHandleDevicePointer(r, S) == TFE_TensorHandleDevicePointer(h, S), r == h);
      TFE_DeleteTensorHandle(r);
    }
  }
  TFE_TensorHandle *share = TFE_TensorHandleCopySharingTensor(h, S);
  ec_st("sharing copy");
  printf("same handle %d shares %d\n", share == h,
         TFE_TensorHandleDevicePointer(share, S) == TFE_TensorHandleDevicePointer(h, S));
  printf("memory size %zu", TFE_TensorHandleDeviceMemorySize(share, S));
  ec_st(", status");
  TFE_DeleteTensorHandle(h);
  ec_handle("after the first is gone", share);
  tr_case("an op's device");
  for (int i = 0; i < 7; i++) {
    TFE_Op *op = ec_op(c, "Neg");
    ec_in(op, share);
    TFE_OpSetDevice(op, devices[i], S);
    printf("'%s'", devices[i]);
    if (ec_st(" set")) {
      printf("  device '%s'\n", TFE_OpGetDevice(op, S));
      ec_exec("  run", op, 1);
    } else {
      TFE_DeleteOp(op);
    }
  }
  tr_case("debug information");
  TFE_TensorDebugInfo *info = TFE_TensorHandleTensorDebugInfo(share, S);
  if (ec_st("info")) {
    printf("dims %d:", TFE_TensorDebugInfoOnDeviceNumDims(info));
    for (int i = 0; i < TFE_TensorDebugInfoOnDeviceNumDims(info); i++)
      printf(" %" PRId64, TFE_TensorDebugInfoOnDeviceDim(info, i));
    printf("\n");
    TFE_DeleteTensorDebugInfo(info);
  }
  tr_case("tensors keep what handles give");
  TF_Tensor *t = TFE_TensorHandleResolve(share, S);
  ec_st("resolve");
  TFE_DeleteTensorHandle(share);
  tr_show("tensor", t);
  TF_DeleteTensor(t);
  TFE_DeleteTensorHandle(NULL);
  TFE_DeleteContext(c);
  return ec_close();
}
