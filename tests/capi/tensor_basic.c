/* Tensors: creation, shapes, sizes, alignment, ownership, bitcast. */
#include "transcript.h"

static int freed;
static size_t freed_len;
static void *freed_arg;
static void count_free(void *data, size_t len, void *arg) {
  ++freed;
  freed_len = len;
  freed_arg = arg;
  free(data);
}
static void count_only(void *data, size_t len, void *arg) {
  (void)data;
  ++freed;
  freed_len = len;
  freed_arg = arg;
}

static void facts(const char *what, const TF_Tensor *t) {
  if (t == NULL) {
    printf("%s: null\n", what);
    return;
  }
  printf("%s: %s dims %d [", what, tr_dtype_name((int)TF_TensorType(t)), TF_NumDims(t));
  for (int i = 0; i < TF_NumDims(t); ++i) printf("%s%" PRId64, i ? "," : "", TF_Dim(t, i));
  printf("] bytes %zu count %" PRId64 " aligned %d data %s\n", TF_TensorByteSize(t),
         TF_TensorElementCount(t), TF_TensorIsAligned(t) ? 1 : 0,
         TF_TensorData(t) ? "set" : "null");
}

static void data_type_sizes(void) {
  tr_case("data type sizes");
  for (int t = 0; t <= 32; ++t)
    printf("%d %s %zu\n", t, tr_dtype_name(t), TF_DataTypeSize((TF_DataType)t));
  printf("101 %zu\n", TF_DataTypeSize((TF_DataType)101));
}

static void allocate(void) {
  tr_case("allocate");
  int64_t d[3] = {2, 3, 4};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, d, 3, 96);
  facts("float 2x3x4", t);
  memset(TF_TensorData(t), 0, 96);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_INT64, NULL, 0, 8);
  facts("int64 scalar", t);
  TF_DeleteTensor(t);
  int64_t z[2] = {0, 5};
  t = TF_AllocateTensor(TF_FLOAT, z, 2, 0);
  facts("float 0x5", t);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_BOOL, d, 1, 2);
  facts("bool 2", t);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_COMPLEX128, d, 2, 96);
  facts("complex128 2x3", t);
  TF_DeleteTensor(t);
  t = TF_AllocateTensor(TF_FLOAT, d, 1, 64);
  facts("larger than needed", t);
  TF_DeleteTensor(t);
  printf("default alignment %zu\n", TF_TensorDefaultAlignment());
  static const TF_DataType kinds[] = {
      TF_DOUBLE, TF_INT32,    TF_UINT8,  TF_INT16,   TF_INT8,   TF_COMPLEX64, TF_QINT8,  TF_QUINT8,
      TF_QINT32, TF_BFLOAT16, TF_QINT16, TF_QUINT16, TF_UINT16, TF_HALF,      TF_UINT32, TF_UINT64};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    int64_t n = 3;
    t = TF_AllocateTensor(kinds[i], &n, 1, 3 * TF_DataTypeSize(kinds[i]));
    facts("kind", t);
    if (t) TF_DeleteTensor(t);
  }
}

static void own_memory(void) {
  tr_case("new tensor, deallocator");
  int marker = 0;
  int64_t n = 4;
  float *p = (float *)aligned_alloc(64, 64);
  for (int i = 0; i < 4; ++i) p[i] = (float)i + 0.5f;
  freed = 0;
  TF_Tensor *t = TF_NewTensor(TF_FLOAT, &n, 1, p, 16, count_free, &marker);
  facts("aligned", t);
  printf("same memory %d freed %d\n", TF_TensorData(t) == (void *)p, freed);
  tr_show("t", t);
  TF_DeleteTensor(t);
  printf("after delete freed %d len %zu arg %d\n", freed, freed_len, freed_arg == &marker);

  tr_case("new tensor, unaligned memory is copied");
  char *q = (char *)aligned_alloc(64, 128);
  float v[4] = {1, 2, 3, 4};
  memcpy(q + 4, v, sizeof v);
  freed = 0;
  t = TF_NewTensor(TF_FLOAT, &n, 1, q + 4, 16, count_only, NULL);
  printf("same memory %d freed %d len %zu\n", TF_TensorData(t) == (void *)(q + 4), freed,
         freed_len);
  facts("copied", t);
  tr_show("t", t);
  TF_DeleteTensor(t);
  printf("after delete freed %d\n", freed);
  free(q);

  tr_case("new tensor, too few bytes");
  p = (float *)aligned_alloc(64, 64);
  freed = 0;
  t = TF_NewTensor(TF_FLOAT, &n, 1, p, 12, count_free, NULL);
  facts("short", t);
  printf("freed %d\n", freed);
  if (t) TF_DeleteTensor(t);

  tr_case("new tensor, more bytes than needed");
  p = (float *)aligned_alloc(64, 64);
  for (int i = 0; i < 16; ++i) p[i] = 7.0f;
  freed = 0;
  t = TF_NewTensor(TF_FLOAT, &n, 1, p, 64, count_free, NULL);
  facts("long", t);
  if (t) TF_DeleteTensor(t);
  printf("freed %d len %zu\n", freed, freed_len);

  tr_case("new tensor, zero elements");
  int64_t z[3] = {3, 0, 2};
  freed = 0;
  t = TF_NewTensor(TF_INT32, z, 3, NULL, 0, count_only, NULL);
  facts("empty", t);
  printf("freed %d\n", freed);
  TF_DeleteTensor(t);
  printf("after delete freed %d\n", freed);

  tr_case("new tensor, scalar");
  int32_t *s = (int32_t *)aligned_alloc(64, 64);
  *s = -9;
  t = TF_NewTensor(TF_INT32, NULL, 0, s, 4, count_free, NULL);
  facts("scalar", t);
  tr_show("scalar", t);
  TF_DeleteTensor(t);
}

static void set_shape(void) {
  tr_case("set shape");
  int64_t d[2] = {2, 3}, e[3] = {3, 1, 2}, f = 6;
  TF_Tensor *t = TF_AllocateTensor(TF_INT32, d, 2, 24);
  for (int i = 0; i < 6; ++i) ((int32_t *)TF_TensorData(t))[i] = i;
  TF_SetShape(t, e, 3);
  facts("3x1x2", t);
  TF_SetShape(t, &f, 1);
  facts("6", t);
  tr_show("t", t);
  f = 3;
  TF_SetShape(t, &f, 1);
  facts("3 of 6", t);
  TF_DeleteTensor(t);
}

static void maybe_move(void) {
  tr_case("maybe move");
  int64_t d[2] = {2, 2};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, d, 2, 16);
  float v[4] = {1, 2, 3, 4};
  memcpy(TF_TensorData(t), v, 16);
  void *p = TF_TensorData(t);
  TF_Tensor *u = TF_TensorMaybeMove(t);
  printf("allocated tensor moves: %d\n", u != NULL);
  if (u) {
    printf("same memory %d\n", TF_TensorData(u) == p);
    tr_show("u", u);
    TF_DeleteTensor(u);
  } else {
    TF_DeleteTensor(t);
  }
  float *q = (float *)aligned_alloc(64, 64);
  memcpy(q, v, 16);
  freed = 0;
  t = TF_NewTensor(TF_FLOAT, d, 2, q, 16, count_free, NULL);
  u = TF_TensorMaybeMove(t);
  printf("caller's memory moves: %d\n", u != NULL);
  TF_DeleteTensor(u ? u : t);
  printf("freed %d\n", freed);
}

static void bitcast(void) {
  TF_Status *st = TF_NewStatus();
  int64_t d[2] = {2, 2}, one = 1, two = 2, four = 4, b16 = 16, b15 = 15, b32 = 32;
  int64_t bad[2] = {3, 2};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, d, 2, 16);
  float v[4] = {1, 2, -1, 0.5f};
  memcpy(TF_TensorData(t), v, 16);
  TF_Tensor *u = TF_AllocateTensor(TF_FLOAT, &one, 1, 4);
  struct {
    const char *name;
    TF_DataType type;
    const int64_t *dims;
    int nd;
  } c[] = {
      {"int32 2x2", TF_INT32, d, 2},       {"int32 4", TF_INT32, &four, 1},
      {"double 2", TF_DOUBLE, &two, 1},    {"uint8 16", TF_UINT8, &b16, 1},
      {"uint8 15", TF_UINT8, &b15, 1},     {"int32 3x2", TF_INT32, bad, 2},
      {"string 1", TF_STRING, &one, 1},    {"half 2x2", TF_HALF, d, 2},
      {"uint8 32", TF_UINT8, &b32, 1},     {"scalar complex128", TF_COMPLEX128, NULL, 0},
      {"resource 2x2", TF_RESOURCE, d, 2},
  };
  for (size_t i = 0; i < sizeof c / sizeof c[0]; ++i) {
    char b[64];
    snprintf(b, sizeof b, "bitcast float 2x2 to %s", c[i].name);
    tr_case(b);
    TF_SetStatus(st, TF_OK, "");
    TF_TensorBitcastFrom(t, c[i].type, u, c[i].dims, c[i].nd, st);
    if (tr_status("status", st)) {
      facts("u", u);
      tr_show("u", u);
      printf("shared %d\n", TF_TensorData(u) == TF_TensorData(t));
    }
  }
  tr_case("bitcast keeps memory after source is deleted");
  TF_TensorBitcastFrom(t, TF_INT32, u, d, 2, st);
  TF_DeleteTensor(t);
  tr_show("u", u);
  TF_DeleteTensor(u);
  TF_DeleteStatus(st);
}

static void from_proto(void) {
  TF_Status *st = TF_NewStatus();
  int64_t one = 1;
  TF_Tensor *to = TF_AllocateTensor(TF_FLOAT, &one, 1, 4);
  for (int k = 0; k < 14; ++k) {
    static const char *const name[] = {"float_val",      "one value fills",
                                       "tensor_content", "content of wrong size",
                                       "unknown dtype",  "string_val",
                                       "bool_val",       "bad bytes",
                                       "int64 scalar",   "no value",
                                       "negative dim",   "half_val",
                                       "unknown rank",   "more values than elements"};
    tr_pb p = {0}, sh = {0}, dim = {0};
    char b[64];
    snprintf(b, sizeof b, "tensor from proto: %s", name[k]);
    tr_case(b);
    static const int dtype[] = {1, 3, 1, 1, 99, 7, 10, 1, 9, 1, 1, 19, 1, 1};
    static const int dims[] = {2, 3, 2, 2, 1, 2, 2, 1, -1, 2, -5, 2, -9, 1};
    tr_pb_int(&p, 1, dtype[k]);
    if (dims[k] == -9)
      tr_pb_int(&sh, 3, 1);
    else if (dims[k] != -1) {
      tr_pb_int(&dim, 1, dims[k]);
      tr_pb_msg(&sh, 2, &dim);
    }
    tr_pb_msg(&p, 2, &sh);
    float v[2] = {1.5f, -2.0f};
    switch (k) {
      case 0:
      case 13: tr_pb_bytes(&p, 5, v, 8); break;
      case 1: tr_pb_int(&p, 7, -7); break;
      case 2: tr_pb_bytes(&p, 4, v, 8); break;
      case 3: tr_pb_bytes(&p, 4, v, 7); break;
      case 5:
        tr_pb_str(&p, 8, "ab");
        tr_pb_str(&p, 8, "a longer string than fits in place");
        break;
      case 6:
        tr_pb_int(&p, 11, 1);
        tr_pb_int(&p, 11, 0);
        break;
      case 7: tr_pb_raw(&p, "\x0a\xff\xff", 3); break;
      case 8: tr_pb_int(&p, 10, INT64_C(-5000000000)); break;
      case 11:
        tr_pb_int(&p, 13, 0x3c00);
        tr_pb_int(&p, 13, 0xc000);
        break;
      default: break;
    }
    TF_Buffer *buf = TF_NewBufferFromString(p.data, p.len);
    TF_SetStatus(st, TF_OK, "");
    TF_TensorFromProto(buf, to, st);
    if (tr_status("status", st)) {
      facts("to", to);
      tr_show("to", to);
    }
    TF_DeleteBuffer(buf);
    tr_pb_free(&p);
  }
  TF_DeleteTensor(to);
  TF_DeleteStatus(st);
}

int main(void) {
  data_type_sizes();
  allocate();
  own_memory();
  set_shape();
  maybe_move();
  bitcast();
  from_proto();
  return 0;
}
