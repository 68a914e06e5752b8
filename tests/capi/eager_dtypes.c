/* The same few operations over every data type. */
#include "eager_common.h"

static TFE_Context *C;

static TFE_TensorHandle *cast(TFE_TensorHandle *x, TF_DataType dt) {
  TFE_Op *op = ec_op(C, "Cast");
  ec_in(op, x);
  TFE_OpSetAttrType(op, "DstT", dt);
  char label[64];
  snprintf(label, sizeof label, "cast to %s", tr_dtype_name((int)dt));
  return ec_exec_keep(label, op, 1);
}

int main(void) {
  ec_open();
  C = ec_ctx();
  TFE_TensorHandle *src = ec_f1(4, (float[]){0, 1, 2.5f, 100});
  TFE_TensorHandle *one = ec_f1(1, (float[]){3});
  static const TF_DataType dts[] = {TF_FLOAT,  TF_DOUBLE, TF_HALF,  TF_BFLOAT16,  TF_INT8,
                                    TF_INT16,  TF_INT32,  TF_INT64, TF_UINT8,     TF_UINT16,
                                    TF_UINT32, TF_UINT64, TF_BOOL,  TF_COMPLEX64, TF_COMPLEX128};
  for (size_t i = 0; i < sizeof dts / sizeof *dts; i++) {
    char label[64];
    snprintf(label, sizeof label, "dtype %s", tr_dtype_name((int)dts[i]));
    tr_case(label);
    TFE_TensorHandle *a = cast(src, dts[i]);
    TFE_TensorHandle *b = cast(one, dts[i]);
    printf("bytes %zu\n", TFE_TensorHandleDeviceMemorySize(a, S));
    static const char *const bin[] = {"AddV2", "Sub", "Mul", "Maximum"};
    if (dts[i] == TF_BOOL) {
      ec_run(C, "LogicalAnd", a, b, NULL);
      ec_run(C, "LogicalOr", a, b, NULL);
      ec_run(C, "LogicalNot", a, NULL, NULL);
    } else {
      int n = dts[i] == TF_COMPLEX64 || dts[i] == TF_COMPLEX128 ? 3 : 4;
      for (int k = 0; k < n; k++) ec_run(C, bin[k], a, b, NULL);
    }
    ec_run(C, "Equal", a, b, NULL);
    ec_run(C, "Identity", a, NULL, NULL);
    ec_run(C, "ZerosLike", a, NULL, NULL);
    ec_run(C, "OnesLike", a, NULL, NULL);
    TFE_TensorHandle *back = cast(a, TF_FLOAT);
    if (back) TFE_DeleteTensorHandle(back);
    TFE_DeleteTensorHandle(a);
    TFE_DeleteTensorHandle(b);
  }

  tr_case("strings");
  int64_t three = 3;
  const char *sv[3] = {"a", "bc", "a string longer than the inline capacity"};
  TFE_TensorHandle *s = ec_h(tr_strings(&three, 1, sv));
  ec_run(C, "Identity", s, NULL, NULL);
  ec_run(C, "AddV2", s, s, NULL);
  ec_run(C, "Equal", s, s, NULL);
  ec_run(C, "StringLength", s, NULL, NULL);
  ec_run(C, "StringUpper", s, NULL, NULL);
  TFE_TensorHandle *ax = ec_i0(0);
  TFE_TensorHandle *ix = ec_i1(2, (int32_t[]){2, 0});
  ec_run(C, "GatherV2", s, ix, ax);

  tr_case("narrowing casts");
  TFE_TensorHandle *big = ec_f1(4, (float[]){300, -1.9f, 1.9f, 70000});
  TF_DataType nt[] = {TF_INT32, TF_INT64, TF_BOOL, TF_HALF};
  for (int i = 0; i < 4; i++) {
    TFE_TensorHandle *r = cast(big, nt[i]);
    if (r) TFE_DeleteTensorHandle(r);
  }
  TFE_TensorHandle *bi = ec_i1(3, (int32_t[]){300, -1, 65537});
  TF_DataType it[] = {TF_INT8, TF_UINT8, TF_INT16, TF_UINT16, TF_UINT32, TF_INT64, TF_UINT64};
  for (int i = 0; i < 7; i++) {
    TFE_TensorHandle *r = cast(bi, it[i]);
    if (r) TFE_DeleteTensorHandle(r);
  }
  TFE_TensorHandle *all[] = {src, one, s, ax, ix, big, bi};
  for (size_t q = 0; q < sizeof all / sizeof *all; q++) TFE_DeleteTensorHandle(all[q]);
  TFE_DeleteContext(C);
  return ec_close();
}
