/* DLPack in and out.  TensorFlow exports these functions under C++ names, a C
   library under plain ones: use whichever the program was linked with. */
#include "eager_common.h"

#define WEAK __attribute__((weak))
extern void *TFE_GetDLDevice(TFE_TensorHandle *, TF_Status *) WEAK;
extern void *TFE_HandleToDLPack(TFE_TensorHandle *, TF_Status *) WEAK;
extern TFE_TensorHandle *TFE_HandleFromDLPack(void *, TF_Status *, TFE_Context *) WEAK;
extern void TFE_CallDLManagedTensorDeleter(void *) WEAK;
extern void *cxx_device(TFE_TensorHandle *, TF_Status *) __asm__(
    "_ZN10tensorflow15TFE_GetDLDeviceEP16TFE_TensorHandleP10TSL_Status") WEAK;
extern void *cxx_to(TFE_TensorHandle *, TF_Status *) __asm__(
    "_ZN10tensorflow18TFE_HandleToDLPackEP16TFE_TensorHandleP10TSL_Status") WEAK;
extern TFE_TensorHandle *cxx_from(void *, TF_Status *, TFE_Context *) __asm__(
    "_ZN10tensorflow20TFE_HandleFromDLPackEPvP10TSL_StatusP11TFE_Context") WEAK;
extern void cxx_delete(void *) __asm__("_ZN10tensorflow30TFE_CallDLManagedTensorDeleterEPv") WEAK;

static void *get_device(TFE_TensorHandle *h) {
  return TFE_GetDLDevice ? TFE_GetDLDevice(h, S) : cxx_device(h, S);
}
static void *to_dl(TFE_TensorHandle *h) {
  return TFE_HandleToDLPack ? TFE_HandleToDLPack(h, S) : cxx_to(h, S);
}
static TFE_TensorHandle *from_dl(void *d, TFE_Context *c) {
  return TFE_HandleFromDLPack ? TFE_HandleFromDLPack(d, S, c) : cxx_from(d, S, c);
}
static void call_delete(void *d) {
  if (TFE_CallDLManagedTensorDeleter)
    TFE_CallDLManagedTensorDeleter(d);
  else
    cxx_delete(d);
}

/* The DLPack 0.x structures, as every producer and consumer lays them out. */
typedef struct {
  int32_t device_type, device_id;
} DLDev;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DLType;
typedef struct {
  void *data;
  DLDev device;
  int32_t ndim;
  DLType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTen;
typedef struct DLMan {
  DLTen t;
  void *ctx;
  void (*deleter)(struct DLMan *);
} DLMan;

static void show_dl(const DLMan *m) {
  printf("  device %d:%d ndim %d type %d/%d/%d offset %d shape [", m->t.device.device_type,
         m->t.device.device_id, m->t.ndim, m->t.dtype.code, m->t.dtype.bits, m->t.dtype.lanes,
         (int)m->t.byte_offset);
  for (int i = 0; i < m->t.ndim; i++) printf("%s%" PRId64, i ? "," : "", m->t.shape[i]);
  printf("] strides ");
  if (!m->t.strides)
    printf("null");
  else
    for (int i = 0; i < m->t.ndim; i++) printf("%s%" PRId64, i ? "," : "[", m->t.strides[i]);
  printf("%s deleter %d\n", m->t.strides ? "]" : "", m->deleter != NULL);
}

static void out_one(TFE_Context *c, const char *label, TF_Tensor *t) {
  TFE_TensorHandle *h = ec_h(t);
  DLMan *m = to_dl(h);
  printf("%s ", label);
  if (!ec_st("to dlpack")) {
    printf("  %s\n", m ? "not null" : "null");
    TFE_DeleteTensorHandle(h);
    return;
  }
  show_dl(m);
  printf("  shares memory %d\n", m->t.data == TFE_TensorHandleDevicePointer(h, S));
  TFE_DeleteTensorHandle(h);
  TFE_TensorHandle *back = from_dl(m, c);
  ec_st("  from dlpack");
  if (back) {
    ec_handle("  back", back);
    TFE_DeleteTensorHandle(back);
  }
}

static int deleted;
static void my_delete(struct DLMan *m) {
  deleted++;
  printf("deleter called, ctx %d\n", *(int *)m->ctx);
}

static float mem[8] __attribute__((aligned(64))) = {1, 2, 3, 4, 5, 6, 7, 8};

static void in_one(TFE_Context *c, const char *label, DLMan *m) {
  deleted = 0;
  TFE_TensorHandle *h = from_dl(m, c);
  ec_st(label);
  printf("  handle %s\n", h ? "not null" : "null");
  if (h) {
    ec_handle("  value", h);
    printf("  shares memory %d device %s\n",
           TFE_TensorHandleDevicePointer(h, S) == (char *)m->t.data + m->t.byte_offset,
           TFE_TensorHandleDeviceName(h, S));
    TFE_DeleteTensorHandle(h);
  }
  printf("  deleted %d\n", deleted);
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();

  tr_case("device");
  TFE_TensorHandle *h = ec_f0(1);
  DLDev *d = get_device(h);
  ec_st("get");
  printf("type %d id %d\n", d->device_type, d->device_id);
  free(d);
  TFE_DeleteTensorHandle(h);

  tr_case("out: every dtype");
  static const TF_DataType dts[] = {TF_FLOAT,  TF_DOUBLE, TF_HALF,      TF_BFLOAT16,   TF_INT8,
                                    TF_INT16,  TF_INT32,  TF_INT64,     TF_UINT8,      TF_UINT16,
                                    TF_UINT32, TF_UINT64, TF_COMPLEX64, TF_COMPLEX128, TF_BOOL,
                                    TF_QINT8,  TF_QUINT8, TF_QINT32};
  unsigned char zeros[64] = {0};
  for (size_t i = 0; i < sizeof dts / sizeof *dts; i++) {
    int64_t n = 2;
    out_one(c, tr_dtype_name((int)dts[i]), ec_new(dts[i], 1, &n, zeros));
  }

  tr_case("out: shapes and strides");
  int64_t dims[3] = {2, 2, 2};
  out_one(c, "scalar", tr_f32(5));
  out_one(c, "cube", ec_new(TF_FLOAT, 3, dims, mem));
  int64_t empty[2] = {0, 3};
  out_one(c, "empty", ec_new(TF_FLOAT, 2, empty, mem));

  tr_case("out: deleter without a consumer");
  h = ec_f1(3, mem);
  DLMan *m = to_dl(h);
  ec_st("to dlpack");
  TFE_DeleteTensorHandle(h);
  printf("data still there %g\n", (double)((float *)m->t.data)[2]);
  call_delete(m);
  printf("deleted\n");

  tr_case("in");
  int ctx = 42;
  int64_t shape[2] = {2, 4}, row[2] = {4, 1}, col[2] = {1, 2}, wide[2] = {8, 1};
  DLMan t = {{mem, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0}, &ctx, my_delete};
  in_one(c, "no strides", &t);
  t.t.strides = row;
  in_one(c, "row strides", &t);
  t.t.strides = col;
  in_one(c, "column strides", &t);
  t.t.strides = wide;
  in_one(c, "gaps between rows", &t);
  t.t.strides = NULL;
  t.deleter = NULL;
  in_one(c, "null deleter", &t);
  t.deleter = my_delete;
  t.t.ndim = 0;
  in_one(c, "scalar", &t);
  t.t.ndim = 2;

  tr_case("in: dtypes");
  static const DLType ty[] = {{2, 64, 1}, {2, 16, 1}, {4, 16, 1},  {0, 8, 1},  {0, 16, 1},
                              {0, 32, 1}, {0, 64, 1}, {1, 8, 1},   {1, 16, 1}, {1, 32, 1},
                              {1, 64, 1}, {5, 64, 1}, {5, 128, 1}, {6, 8, 1},  {1, 1, 1},
                              {2, 8, 1},  {0, 4, 1},  {2, 32, 4},  {3, 64, 1}, {9, 32, 1},
                              {4, 32, 1}, {5, 32, 1}, {6, 1, 1},   {10, 8, 1}};
  int64_t tiny[1] = {1};
  static uint64_t zmem[8] __attribute__((aligned(64)));
  for (size_t i = 0; i < sizeof ty / sizeof *ty; i++) {
    DLMan q = {{zmem, {1, 0}, 1, ty[i], tiny, NULL, 0}, &ctx, my_delete};
    char label[64];
    snprintf(label, sizeof label, "code %d bits %d lanes %d", ty[i].code, ty[i].bits, ty[i].lanes);
    in_one(c, label, &q);
  }

  tr_case("in: devices");
  t.t.device.device_type = 2;
  in_one(c, "GPU", &t);
  t.t.device.device_type = 99;
  in_one(c, "unknown device", &t);
  t.t.device.device_type = 1;
  t.t.device.device_id = 3;
  in_one(c, "CPU 3", &t);

  TFE_DeleteContext(c);
  return ec_close();
}
