/* TF_TensorBitcastFrom between all types, sizes that do not fit, TF_TensorMaybeMove, TF_SetShape, and
   strings of every length class through a session and back. */
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/tf_tstring.h"
#include "transcript_graph.h"

static void bitcast(TF_DataType from, TF_DataType to) {
  int64_t d[2] = {2, 4};
  size_t size = TF_DataTypeSize(from);
  if (!size) return;
  TF_Tensor *a = TF_AllocateTensor(from, d, 2, 8 * size), *b = TF_AllocateTensor(to, NULL, 0, 16);
  memset(TF_TensorData(a), 1, 8 * size);
  if (!b) {
    TF_DeleteTensor(a);
    return;
  }
  int64_t same[2] = {2, 4}, flat[1] = {8},
          wide[1] = {(int64_t)(8 * size / (TF_DataTypeSize(to) ? TF_DataTypeSize(to) : 1))};
  TF_TensorBitcastFrom(a, to, b, same, 2, st);
  printf("%s as %s", tr_dtype_name((int)from), tr_dtype_name((int)to));
  tr_status(" [2,4]", st);
  if (TF_GetCode(st) == TF_OK)
    printf("  %s dims %d shares %d bytes %zu\n", tr_dtype_name((int)TF_TensorType(b)),
           TF_NumDims(b), TF_TensorData(a) == TF_TensorData(b), TF_TensorByteSize(b));
  TF_TensorBitcastFrom(a, to, b, flat, 1, st);
  tr_status("  [8]", st);
  TF_TensorBitcastFrom(a, to, b, wide, 1, st);
  tr_status("  all bytes", st);
  TF_DeleteTensor(a);
  TF_DeleteTensor(b);
}

static void strings(void) {
  tr_case("strings of every length through a session");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_STRING, "p", NULL, -1), *id = tg_op(g, "Identity", "id", 1, p);
  TF_OperationDescription *d = tg_desc(g, "StringLength", "len", 1, p);
  TF_Operation *len = tg_finish(d);
  d = TF_NewOperation(g, "StringJoin", "join");
  TF_Output two[2] = {tg_out(p, 0), tg_out(p, 0)};
  TF_AddInputList(d, two, 2);
  TF_Operation *join = tg_finish(d);
  TF_Session *s = tg_session(g);
  static const size_t lens[] = {0, 1, 21, 22, 23, 24, 63, 64, 1000};
  int64_t n = 9;
  TF_Tensor *t = TF_AllocateTensor(TF_STRING, &n, 1, 9 * sizeof(TF_TString));
  TF_TString *v = TF_TensorData(t);
  char text[1000];
  for (int i = 0; i < 1000; ++i) text[i] = (char)('a' + i % 26);
  for (int i = 0; i < 9; ++i) {
    TF_StringInit(&v[i]);
    if (i % 3 == 0)
      TF_StringCopy(&v[i], text, lens[i]);
    else if (i % 3 == 1)
      TF_StringAssignView(&v[i], text, lens[i]);
    else {
      TF_TString_ResizeUninitialized(&v[i], lens[i]);
      memcpy(TF_TString_GetMutableDataPointer(&v[i]), text, lens[i]);
    }
    printf("%zu: type %d capacity at least %d size %zu\n", lens[i], (int)TF_StringGetType(&v[i]),
           TF_StringGetCapacity(&v[i]) >= lens[i], TF_StringGetSize(&v[i]));
  }
  TF_Output in = tg_out(p, 0), out[3] = {tg_out(id, 0), tg_out(len, 0), tg_out(join, 0)};
  TF_Tensor *ov[3] = {0};
  TF_SessionRun(s, NULL, &in, &t, 1, out, ov, 3, NULL, 0, NULL, st);
  if (tr_status("run", st)) {
    const TF_TString *r = TF_TensorData(ov[0]), *j = TF_TensorData(ov[2]);
    for (int i = 0; i < 9; ++i)
      printf("%zu %zu same %d\n", TF_StringGetSize(&r[i]), TF_StringGetSize(&j[i]),
             memcmp(TF_StringGetDataPointer(&r[i]), text, lens[i]) == 0);
    tr_show("lengths", ov[1]);
    for (int i = 0; i < 3; ++i) TF_DeleteTensor(ov[i]);
  }
  for (int i = 0; i < 9; ++i) TF_StringDealloc(&v[i]);
  TF_DeleteTensor(t);
  tg_close(s);
  TF_DeleteGraph(g);
}

int main(void) {
  static const TF_DataType types[] = {TF_FLOAT,     TF_DOUBLE, TF_INT32,  TF_UINT8,
                                      TF_INT64,     TF_BOOL,   TF_HALF,   TF_INT16,
                                      TF_COMPLEX64, TF_QINT8,  TF_UINT64, TF_BFLOAT16};
  tg_begin();
  tr_case("bitcasts");
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
    for (size_t k = 0; k < sizeof types / sizeof types[0]; ++k) bitcast(types[i], types[k]);
  tr_case("moves");
  int64_t d[2] = {2, 3};
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, d, 2, 24);
  TF_Tensor *moved = TF_TensorMaybeMove(t);
  printf("moved %d\n", moved != NULL);
  if (moved) {
    TF_DeleteTensor(moved);
  } else {
    TF_DeleteTensor(t);
  }
  tr_case("other shapes");
  t = TF_AllocateTensor(TF_FLOAT, d, 2, 24);
  int64_t six[1] = {6}, three[3] = {3, 1, 2};
  TF_SetShape(t, six, 1);
  printf("%d dims, %d elements, %zu bytes\n", TF_NumDims(t), (int)TF_TensorElementCount(t),
         TF_TensorByteSize(t));
  TF_SetShape(t, three, 3);
  printf("%d dims, %d elements, aligned %d\n", TF_NumDims(t), (int)TF_TensorElementCount(t),
         TF_TensorIsAligned(t));
  TF_DeleteTensor(t);
  tr_case("many dimensions");
  int64_t ones[12];
  for (int i = 0; i < 12; ++i) ones[i] = 1;
  for (int n = 6; n <= 12; n += 2) {
    t = TF_AllocateTensor(TF_INT32, ones, n, 4);
    printf("%d: %d dims %d\n", n, t != NULL, t ? TF_NumDims(t) : -1);
    if (t) TF_DeleteTensor(t);
  }
  strings();
  tg_end();
  return 0;
}
