/* Tensors: sizes that do not fit, who frees what, aliases, reshaping, moving, protos. */
#include "transcript.h"

static int freed;
static void count(void *data, size_t len, void *arg) {
  (void)len;
  ++freed;
  if (arg) free(data);
}

static void facts(const char *what, const TF_Tensor *t) {
  if (t == NULL) {
    printf("%s: null\n", what);
    return;
  }
  printf("%s: %s nd %d bytes %zu elements %" PRId64 " data %d aligned %d dims", what,
         tr_dtype_name((int)TF_TensorType(t)), TF_NumDims(t), TF_TensorByteSize(t),
         TF_TensorElementCount(t), TF_TensorData(t) != NULL, TF_TensorIsAligned(t));
  for (int i = 0; i < TF_NumDims(t); ++i) printf(" %" PRId64, TF_Dim(t, i));
  putchar('\n');
}

static void sizes(void) {
  tr_case("TF_NewTensor and its length");
  static const struct {
    TF_DataType type;
    int64_t dims[3];
    int nd;
    size_t len;
  } k[] = {{TF_FLOAT, {2, 3}, 2, 24},   {TF_FLOAT, {2, 3}, 2, 23}, {TF_FLOAT, {2, 3}, 2, 28},
           {TF_FLOAT, {2, 3}, 2, 0},    {TF_FLOAT, {0, 3}, 2, 0},  {TF_FLOAT, {0}, 0, 4},
           {TF_FLOAT, {0}, 0, 3},       {TF_INT64, {4}, 1, 31},    {TF_BOOL, {5}, 1, 5},
           {TF_COMPLEX128, {1}, 1, 16}, {TF_HALF, {3}, 1, 6},      {TF_BFLOAT16, {3}, 1, 5},
           {TF_UINT8, {1, 1, 1}, 3, 1}, {TF_QINT32, {2}, 1, 8},    {TF_DOUBLE, {0, 0}, 2, 8}};
  for (size_t i = 0; i < sizeof k / sizeof k[0]; ++i) {
    char w[24];
    snprintf(w, sizeof w, "new %zu", i);
    freed = 0;
    void *data = NULL;
    if (posix_memalign(&data, 64, 64) != 0) abort();
    memset(data, 0, 64);
    TF_Tensor *t = TF_NewTensor(k[i].type, k[i].dims, k[i].nd, data, k[i].len, count, NULL);
    facts(w, t);
    if (t) {
      printf("  same memory %d\n", TF_TensorData(t) == data);
      TF_DeleteTensor(t);
    }
    printf("  freed %d\n", freed);
    free(data);
  }
  tr_case("unaligned memory is copied");
  char *raw = malloc(64);
  float v = 2.5f;
  memcpy(raw + 1, &v, 4);
  freed = 0;
  TF_Tensor *t = TF_NewTensor(TF_FLOAT, NULL, 0, raw + 1, 4, count, NULL);
  tr_show("value", t);
  printf("freed %d copied %d aligned %d\n", freed, TF_TensorData(t) != raw + 1,
         TF_TensorIsAligned(t));
  TF_DeleteTensor(t);
  printf("freed %d\n", freed);
  free(raw);
  tr_case("TF_AllocateTensor and its length");
  int64_t d2[2] = {2, 2}, d0[1] = {0};
  t = TF_AllocateTensor(TF_FLOAT, d2, 2, 16);
  facts("exact", t);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_FLOAT, d2, 2, 64);
  facts("more than needed", t);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_FLOAT, d0, 1, 0);
  facts("empty", t);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_STRING, d2, 2, 4 * sizeof(TF_TString));
  facts("strings", t);
  TF_DeleteTensor(t);
  TF_DeleteTensor(NULL);
}

static void aliases(void) {
  TF_Status *st = TF_NewStatus();
  tr_case("bitcast");
  int64_t d[2] = {2, 3}, one[1] = {6}, half[2] = {2, 6}, wrong[1] = {5}, no[1] = {0};
  float v[6] = {1, 2, 3, 4, 5, 6};
  TF_Tensor *a = tr_tensor(TF_FLOAT, d, 2, v), *b = tr_i32(0), *c = tr_str("x");
  TF_TensorBitcastFrom(a, TF_FLOAT, b, one, 1, st);
  tr_status("float to float[6]", st);
  tr_show("b", b);
  printf("shared %d\n", TF_TensorData(a) == TF_TensorData(b));
  TF_TensorBitcastFrom(a, TF_INT32, b, one, 1, st);
  tr_status("float to int32[6]", st);
  printf("%s %" PRId32 "\n", tr_dtype_name((int)TF_TensorType(b)),
         ((int32_t *)TF_TensorData(b))[0]);
  TF_TensorBitcastFrom(a, TF_INT16, b, half, 2, st);
  tr_status("float to int16[2,6]", st);
  facts("b", b);
  TF_TensorBitcastFrom(a, TF_DOUBLE, b, wrong, 1, st);
  tr_status("float to double[5]", st);
  TF_TensorBitcastFrom(a, TF_FLOAT, b, wrong, 1, st);
  tr_status("float to float[5]", st);
  TF_TensorBitcastFrom(a, TF_STRING, b, one, 1, st);
  tr_status("float to string", st);
  TF_TensorBitcastFrom(c, TF_FLOAT, b, one, 1, st);
  tr_status("string to float", st);
  TF_TensorBitcastFrom(a, TF_FLOAT, b, no, 1, st);
  tr_status("float to float[0]", st);
  tr_case("set shape");
  int64_t e[3] = {3, 2, 1};
  TF_SetShape(a, e, 3);
  facts("a", a);
  tr_show("a", a);
  tr_case("maybe move");
  TF_Tensor *m = TF_TensorMaybeMove(a);
  printf("null while shared %d\n", m == NULL);
  if (m)
    TF_DeleteTensor(m);
  else
    TF_DeleteTensor(a);
  TF_DeleteTensor(b);
  TF_DeleteTensor(c);
  freed = 0;
  void *own = NULL;
  if (posix_memalign(&own, 64, 64) != 0) abort();
  TF_Tensor *t = TF_NewTensor(TF_FLOAT, d, 2, own, 24, count, own);
  m = TF_TensorMaybeMove(t);
  printf("foreign memory moves %d\n", m != NULL);
  TF_DeleteTensor(m ? m : t);
  printf("freed %d\n", freed);
  t = tr_f32(1);
  m = TF_TensorMaybeMove(t);
  printf("own memory moves %d\n", m != NULL);
  TF_DeleteTensor(m ? m : t);
  TF_DeleteStatus(st);
}

static void protos(void) {
  TF_Status *st = TF_NewStatus();
  tr_case("TF_TensorFromProto");
  static const struct {
    const char *what, *bytes;
    size_t n;
  } k[] = {
      {"scalar float_val", "\x08\x01\x12\x00\x2a\x04\x00\x00\x20\x40", 10},
      {"vector of one value", "\x08\x01\x12\x04\x12\x02\x08\x03\x2a\x04\x00\x00\x20\x40", 14},
      {"content", "\x08\x03\x12\x04\x12\x02\x08\x02\x22\x08\x01\x00\x00\x00\x02\x00\x00\x00", 18},
      {"content too short", "\x08\x03\x12\x04\x12\x02\x08\x02\x22\x04\x01\x00\x00\x00", 14},
      {"string", "\x08\x07\x12\x00\x42\x02hi", 8},
      {"no dtype", "\x12\x00", 2},
      {"no values", "\x08\x01\x12\x04\x12\x02\x08\x02", 8},
      {"too many values", "\x08\x03\x12\x04\x12\x02\x08\x01\x3a\x02\x01\x02", 12},
      {"unknown rank", "\x08\x01\x12\x02\x18\x01\x2a\x04\x00\x00\x20\x40", 12},
      {"negative dim", "\x08\x01\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 17},
      {"bool", "\x08\x0a\x12\x00\x58\x01", 6},
      {"garbage", "\xff\xff\xff", 3},
      {"bad dtype", "\x08\x63\x12\x00", 4}};
  for (size_t i = 0; i < sizeof k / sizeof k[0]; ++i) {
    TF_Buffer *b = TF_NewBufferFromString(k[i].bytes, k[i].n);
    TF_Tensor *t = tr_i32(7);
    TF_TensorFromProto(b, t, st);
    if (tr_status(k[i].what, st)) tr_show("  value", t);
    TF_SetStatus(st, TF_OK, "");
    TF_DeleteTensor(t);
    TF_DeleteBuffer(b);
  }
  TF_DeleteStatus(st);
}

static void types(void) {
  tr_case("sizes of types");
  for (int i = 0; i <= 36; ++i) printf("%d %zu\n", i, TF_DataTypeSize((TF_DataType)i));
  printf("%zu %zu %zu\n", TF_DataTypeSize((TF_DataType)101), TF_DataTypeSize((TF_DataType)-1),
         TF_DataTypeSize((TF_DataType)1000));
  printf("alignment %zu\n", TF_TensorDefaultAlignment());
}

int main(void) {
  sizes();
  aliases();
  protos();
  types();
  return 0;
}
