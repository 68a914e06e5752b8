// SPDX-License-Identifier: Apache-2.0
// ops_functions.c: functions for the cases of control flow in bench/ops.txt:
//   twice(float x) = x + x     count(int i, float x) = i + 1, x + x     more(int i, float x) = i < 10

#include "bench.h"
#include "ops_case.h"

static TF_Output argument(TF_Graph *g, const char *name, TF_DataType type, TF_Status *s) {
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", type);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}

static TF_Output number(TF_Graph *g, const char *name, int32_t v, TF_Status *s) {
  TF_Tensor *t = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof v);
  memcpy(TF_TensorData(t), &v, sizeof v);
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_SetAttrTensor(d, "value", t, s);
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_DeleteTensor(t);
  return (TF_Output){TF_FinishOperation(d, s), 0};
}

static void add_function(TF_Graph *to, TF_Graph *body, const char *name, int ins,
                         const TF_Output *in, int outs, const TF_Output *out, TF_Status *s) {
  if (TF_GetCode(s) != TF_OK) return;
  TF_Function *f =
      TF_GraphToFunction(body, name, 0, -1, NULL, ins, in, outs, out, NULL, NULL, name, s);
  if (TF_GetCode(s) != TF_OK) return;
  TF_GraphCopyFunction(to, f, NULL, s);
  TF_DeleteFunction(f);
}

void ops_functions(TF_Graph *graph, TF_Status *s) {
  TF_Graph *g = TF_NewGraph();
  const TF_Output i = argument(g, "i", TF_INT32, s), x = argument(g, "x", TF_FLOAT, s);
  const TF_Output sum = bench_op(g, "AddV2", "sum", x, x, s);
  const TF_Output next = bench_op(g, "AddV2", "next", i, number(g, "one", 1, s), s);
  const TF_Output below = bench_op(g, "Less", "below", i, number(g, "ten", 10, s), s);
  const TF_Output both[2] = {i, x}, counted[2] = {next, sum};
  add_function(graph, g, "twice", 1, &x, 1, &sum, s);
  add_function(graph, g, "count", 2, both, 2, counted, s);
  add_function(graph, g, "more", 2, both, 1, &below, s);
  TF_DeleteGraph(g);
}
