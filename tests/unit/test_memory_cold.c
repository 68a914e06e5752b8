// SPDX-License-Identifier: Apache-2.0
// test_memory_cold.c: a model of 48 MB of weights holds them once: after the first two runs the process is at
// most weights + planned peak + 20 MB larger than it was. The constants are still all there: another
// program, another session and an export read them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/large.h"
#include "memory/cold.h"
#include "tensorflow/c/c_api.h"

#define N      1024
#define LAYERS 12  // of N x N floats: 4 MiB each
#define MB     (1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static TF_Status *s;

static size_t resident(void) {
  char line[256];
  long kb = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
  if (f) fclose(f);
  return (size_t)kb * 1024;
}

static void ok(void) {
  if (TF_GetCode(s)) fail_msg("%s", TF_Message(s));
}

static float weight(int layer, int64_t i) {
  return (float)((i * 7 + layer) % 13 - 6) / 512;
}

// x [?, N] times LAYERS matrices, as the bytes of a GraphDef.
static TF_Buffer *make_graph(void) {
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output at = {TF_FinishOperation(d, s), 0};
  ok();
  for (int i = 0; i < LAYERS; i++) {
    char name[32];
    const int64_t dims[] = {N, N};
    TF_Tensor *w = TF_AllocateTensor(TF_FLOAT, dims, 2, (size_t)N * N * 4);
    float *data = TF_TensorData(w);
    for (int64_t k = 0; k < (int64_t)N * N; k++) data[k] = weight(i, k);
    snprintf(name, sizeof name, "w%d", i);
    d = TF_NewOperation(g, "Const", name);
    TF_SetAttrTensor(d, "value", w, s);
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    const TF_Output b = {TF_FinishOperation(d, s), 0};
    ok();
    TF_DeleteTensor(w);
    snprintf(name, sizeof name, "y%d", i);
    d = TF_NewOperation(g, "MatMul", name);
    TF_AddInput(d, at);
    TF_AddInput(d, b);
    at = (TF_Output){TF_FinishOperation(d, s), 0};
    ok();
  }
  TF_Buffer *out = TF_NewBuffer();
  TF_GraphToGraphDef(g, out, s);
  ok();
  TF_DeleteGraph(g);
  return out;
}

static TF_Tensor *run(TF_Session *session, TF_Graph *g, int64_t rows, const char *fetch) {
  const int64_t dims[] = {rows, N};
  TF_Tensor *x = TF_AllocateTensor(TF_FLOAT, dims, 2, (size_t)(rows * N) * 4), *y = NULL;
  for (int64_t i = 0; i < rows * N; i++) ((float *)TF_TensorData(x))[i] = (float)(i % 5) - 2;
  const TF_Output in = {TF_GraphOperationByName(g, "x"), 0},
                  out = {TF_GraphOperationByName(g, fetch), 0};
  TF_SessionRun(session, NULL, &in, &x, 1, &out, &y, 1, NULL, 0, NULL, s);
  ok();
  TF_DeleteTensor(x);
  return y;
}

static bool same(TF_Tensor *a, TF_Tensor *b) {
  const size_t n = TF_TensorByteSize(a);
  return n == TF_TensorByteSize(b) && memcmp(TF_TensorData(a), TF_TensorData(b), n) == 0;
}

static void weights_are_there_once(void **state) {
  (void)state;
  s = TF_NewStatus();
  const size_t before = resident();
  TF_Buffer *bytes = make_graph();
  fy_large_trim();  // what making it left
  TF_Graph *g = TF_NewGraph();
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(g, bytes, o, s);
  ok();
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteBuffer(bytes);
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *session = TF_NewSession(g, so, s);
  ok();
  TF_Tensor *first = run(session, g, 64, "y11"), *second = run(session, g, 64, "y11");
  assert_true(same(first, second));  // from the second run on its weights are packed
  TF_DeleteTensor(second);
  const size_t moved = fy_cold_wait();
  second = run(session, g, 64, "y11");
  const size_t after = resident(), weights = (size_t)LAYERS * N * N * 4, planned = 2 * MB;
  assert_true(same(first, second));
  print_message("%zu MB of weights: %zu MB before, %zu MB after, %zu MB moved\n", weights / MB,
                before / MB, after / MB, moved / MB);
  if (!SANITIZED && moved) assert_true(after < before + weights + planned + 20 * MB);
  TF_DeleteTensor(second);
  // A program for another batch size packs nothing again.
  for (int i = 0; i < 2; i++) TF_DeleteTensor(run(session, g, 48, "y11"));
  print_message("%zu MB after another batch size\n", resident() / MB);
  if (!SANITIZED) assert_true(resident() < after + weights / 2);
  // What moved is still what it was: fetched, used by another session, exported.
  for (int i = 0; i < LAYERS; i += 5) {
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    TF_Tensor *w = run(session, g, 1, name);
    for (int64_t k = 0; k < (int64_t)N * N; k += 37)
      assert_true(((float *)TF_TensorData(w))[k] == weight(i, k));
    TF_DeleteTensor(w);
  }
  TF_Session *other = TF_NewSession(g, so, s);
  ok();
  second = run(other, g, 64, "y11");
  assert_true(same(first, second));
  TF_DeleteTensor(second);
  TF_Buffer *again = TF_NewBuffer();
  TF_GraphToGraphDef(g, again, s);
  ok();
  assert_true(again->length > weights);
  TF_DeleteBuffer(again);
  TF_DeleteSession(other, s);
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(so);
  TF_DeleteGraph(g);
  TF_DeleteTensor(first);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(weights_are_there_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
