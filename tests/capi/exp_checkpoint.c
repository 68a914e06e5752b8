/* Checkpoint reader over the files of data/ckpt. */
#include "eager_common.h"

static int cmp(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void show(TF_CheckpointReader *r, const char *name) {
  printf("%s has %d", name, TF_CheckpointReaderHasTensor(r, name));
  printf(" dtype %s", tr_dtype_name((int)TF_CheckpointReaderGetVariableDataType(r, name)));
  int nd = TF_CheckpointReaderGetVariableNumDims(r, name);
  printf(" dims %d [", nd);
  int64_t d[8] = {0};
  TF_CheckpointReaderGetVariableShape(r, name, d, nd, S);
  ec_must("shape");
  for (int i = 0; i < nd; i++) printf("%s%" PRId64, i ? "," : "", d[i]);
  printf("]\n");
  TF_Tensor *t = TF_CheckpointReaderGetTensor(r, name, S);
  ec_st("get");
  if (t && strcmp(name, "_CHECKPOINTABLE_OBJECT_GRAPH") != 0) tr_show("  value", t);
  if (t) TF_DeleteTensor(t);
}

static TF_CheckpointReader *open_list(const char *file) {
  printf("[%s] ", file);
  TF_CheckpointReader *r = TF_NewCheckpointReader(file, S);
  if (!ec_st("open")) {
    printf("reader %s\n", r ? "not null" : "null");
    return NULL;
  }
  int n = TF_CheckpointReaderSize(r);
  printf("size %d\n", n);
  const char *names[64];
  for (int i = 0; i < n && i < 64; i++) names[i] = TF_CheckpointReaderGetVariable(r, i);
  int sorted = 1;
  for (int i = 1; i < n; i++)
    if (strcmp(names[i - 1], names[i]) >= 0) sorted = 0;
  printf("sorted %d\n", sorted);
  qsort(names, (size_t)n, sizeof *names, cmp);
  for (int i = 0; i < n; i++) show(r, names[i]);
  return r;
}

int main(void) {
  ec_open();
  ec_chdir(__FILE__);

  tr_case("plain bundle");
  TF_CheckpointReader *r = open_list("data/ckpt/plain");

  tr_case("missing variable");
  printf("has %d\n", TF_CheckpointReaderHasTensor(r, "nope"));
  TF_Tensor *t = TF_CheckpointReaderGetTensor(r, "nope", S);
  ec_st("get");
  printf("tensor %s\n", t ? "not null" : "null");
  TF_CheckpointReaderGetTensor(r, "", S);
  ec_st("get empty name");

  tr_case("shape with a wrong rank");
  int64_t d[4] = {-9, -9, -9, -9};
  TF_CheckpointReaderGetVariableShape(r, "f32", d, 1, S);
  ec_st("one dim for f32");
  TF_CheckpointReaderGetVariableShape(r, "f32", d, 3, S);
  ec_st("three dims for f32");
  TF_CheckpointReaderGetVariableShape(r, "f32", d, 2, S);
  ec_st("two dims for f32");
  printf("%" PRId64 " %" PRId64 "\n", d[0], d[1]);
  TF_DeleteCheckpointReader(r);

  tr_case("partitioned variable");
  r = open_list("data/ckpt/part");
  if (r) TF_DeleteCheckpointReader(r);

  tr_case("object checkpoint");
  r = open_list("data/ckpt/object");
  if (r) TF_DeleteCheckpointReader(r);

  tr_case("version 1 checkpoint");
  r = open_list("data/ckpt/v1.ckpt");
  if (r) {
    TF_CheckpointReaderGetTensor(r, "nope", S);
    ec_st("get nope");
    TF_DeleteCheckpointReader(r);
  }

  tr_case("files that are not there");
  static const char *const bad[] = {"data/ckpt/absent", "data/ckpt/plain.index",
                                    "data/ckpt/make_ckpt.py", "absent/dir/x"};
  for (int i = 0; i < 4; i++) {
    r = open_list(bad[i]);
    if (r) TF_DeleteCheckpointReader(r);
  }
  return ec_close();
}
