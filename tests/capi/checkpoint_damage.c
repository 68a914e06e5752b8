/* A checkpoint written by SaveV2 and read back with the reader's functions and with RestoreV2: every type,
   slices, wrong names and types; then the same files cut short, changed and missing. */
#include "eager_common.h"

static TFE_Context *c;

static TFE_TensorHandle *text(const char *s) {
  return ec_h(tr_str(s));
}
static TFE_TensorHandle *texts(int n, const char *const *s) {
  int64_t d[1] = {n};
  return ec_h(tr_strings(d, 1, s));
}

static void give(TFE_Op *op, TFE_TensorHandle *h) {
  ec_in(op, h);
  TFE_DeleteTensorHandle(h);
}

static void save(const char *prefix, int n, const char *const *names, TFE_TensorHandle **values) {
  const char *none[8] = {"", "", "", "", "", "", "", ""};
  TFE_Op *op = ec_op(c, "SaveV2");
  give(op, text(prefix));
  give(op, texts(n, names));
  give(op, texts(n, none));
  TFE_OpAddInputList(op, values, n, S);
  ec_must("values");
  ec_exec("SaveV2", op, 0);
}

static void restore(const char *prefix, const char *name, const char *slice, TF_DataType t) {
  TFE_Op *op = ec_op(c, "RestoreV2");
  give(op, text(prefix));
  give(op, texts(1, &name));
  give(op, texts(1, &slice));
  TFE_OpSetAttrTypeList(op, "dtypes", &t, 1);
  ec_exec(name, op, 1);
}

static void look(const char *prefix, const char *name) {
  TF_CheckpointReader *r = TF_NewCheckpointReader(prefix, S);
  if (!ec_st("reader")) return;
  printf("  variables %d has %d\n", TF_CheckpointReaderSize(r),
         TF_CheckpointReaderHasTensor(r, name));
  if (TF_CheckpointReaderHasTensor(r, name)) {
    int nd = TF_CheckpointReaderGetVariableNumDims(r, name);
    int64_t d[4] = {9, 9, 9, 9};
    TF_CheckpointReaderGetVariableShape(r, name, d, nd, S);
    printf("  %s dims %d first %d",
           tr_dtype_name((int)TF_CheckpointReaderGetVariableDataType(r, name)), nd, (int)d[0]);
    ec_st(", shape");
    TF_Tensor *t = TF_CheckpointReaderGetTensor(r, name, S);
    if (ec_st("  tensor")) tr_show_free("  value", t);
  }
  TF_DeleteCheckpointReader(r);
}

static long size_of(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return -1;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  fclose(f);
  return n;
}
/* The checkpoint "bad": a copy of "good" with one file cut to |cut| bytes (-1: whole) and, from its end, byte
   |flip| changed (0: none). */
static void damage(int file, long cut, long flip) {
  static const char *const suffix[2] = {".index", ".data-00000-of-00001"};
  for (int k = 0; k < 2; k++) {
    char from[64], to[64], buf[8192];
    snprintf(from, sizeof from, "good%s", suffix[k]);
    snprintf(to, sizeof to, "bad%s", suffix[k]);
    FILE *a = fopen(from, "rb"), *b = fopen(to, "wb");
    size_t n = fread(buf, 1, sizeof buf, a);
    if (k == file && cut >= 0) n = (size_t)cut;
    if (k == file && flip) buf[n - (size_t)flip] ^= 0x55;
    fwrite(buf, 1, n, b);
    fclose(a);
    fclose(b);
  }
  look("bad", "float");
  restore("bad", "float", "", TF_FLOAT);
}

int main(void) {
  ec_open();
  c = ec_ctx();
  float f[6] = {1, 2, 3, 4, 5, 6};
  int64_t d23[2] = {2, 3}, d0[1] = {0};
  const char *words[3] = {"", "a word", "a longer one that is not kept inside"};
  TFE_TensorHandle *v[7] = {ec_f2(2, 3, f),
                            ec_i0(-7),
                            ec_b0(1),
                            texts(3, words),
                            ec_h(tr_tensor(TF_FLOAT, d0, 1, NULL)),
                            ec_h(tr_i64(1LL << 40)),
                            ec_h(tr_tensor(TF_HALF, d23, 2, "abcdefghijkl"))};
  static const char *const names[7] = {"float", "int",         "bool", "words",
                                       "empty", "a/long/name", "half"};
  static const TF_DataType types[7] = {TF_FLOAT, TF_INT32, TF_BOOL, TF_STRING,
                                       TF_FLOAT, TF_INT64, TF_HALF};
  tr_case("written");
  save("good", 7, names, v);
  printf("data %ld bytes\n", size_of("good.data-00000-of-00001"));
  for (int k = 0; k < 7; k++) {
    look("good", names[k]);
    restore("good", names[k], "", types[k]);
  }
  tr_case("wrong questions");
  look("good", "nothing");
  restore("good", "nothing", "", TF_FLOAT);
  restore("good", "float", "", TF_INT32);
  restore("good", "float", "2 3 0,1:0,3", TF_FLOAT);
  restore("good", "float", "2 3 -:1,2", TF_FLOAT);
  restore("good", "float", "2 4 0,1:0,3", TF_FLOAT);
  restore("good", "float", "2 3 0,5:0,3", TF_FLOAT);
  restore("good", "float", "nonsense", TF_FLOAT);
  restore("nowhere", "float", "", TF_FLOAT);
  restore("", "float", "", TF_FLOAT);
  look("nowhere", "float");
  tr_case("the same name twice");
  static const char *const twice[2] = {"x", "x"};
  save("twice", 2, twice, v);
  tr_case("an index that is damaged");
  long n = size_of("good.index");
  damage(0, 0, 0);
  damage(0, 20, 0);
  damage(0, n - 1, 0);
  damage(0, -1, 1);
  damage(0, -1, 60);
  tr_case("data that is damaged");
  damage(1, 0, 0);
  damage(1, 10, 0);
  damage(1, -1, 5);
  for (int k = 0; k < 7; k++) TFE_DeleteTensorHandle(v[k]);
  TFE_DeleteContext(c);
  return ec_close();
}
