// SPDX-License-Identifier: Apache-2.0
// ops_case.h: one line of bench/ops.txt as a graph with one op, ready to run. The line is
//   name; Op; attributes; inputs; floating point operations (a product, may be left out); nodes …
// Attributes are key=kind:value with kinds i, f, b, s, t (type), l (ints), tl (types), fl (floats),
// sh (shape), shl (one shape in a list), sl (strings), fn (a function of ops_functions.c). Inputs are
// type[dims]=values; "#" before it makes it a constant, "var:" a variable (its handle is the input),
// "ref:" one of TensorFlow 1, "( … )" a list of inputs, "@0", "@1:2" an output of the line's nodes.
// A node is "Op attributes | inputs"; "!" before it: it runs once, before the case, "=": its output is
// computed once and fed. The time is that of everything the op needs. Values:
//   nothing  uniform in -1..1        pos  0.5..1.5            zero, one
//   to:N     random integers < N     up:N  rising 0..N-1      iota, perm, true
//   words, num, csv, example, lines, letters, none (strings), or the text or numbers themselves

#ifndef FERRY_BENCH_OPS_CASE_H_
#define FERRY_BENCH_OPS_CASE_H_

#include <stdbool.h>

#include "tensorflow/c/c_api.h"

#define OPS_MAX 24

typedef struct ops_case {
  TF_Graph *graph;
  TF_Session *session;
  TF_Status *status;
  TF_Output feeds[OPS_MAX], fetches[OPS_MAX];
  TF_Tensor *values[OPS_MAX];
  int num_feeds, num_fetches, nodes;
  TF_Operation *target, *inits[OPS_MAX];
  int num_inits;
  TF_Output made[OPS_MAX];  // the line's own nodes
  int num_made;
  long calls;
  double check, bytes;
} ops_case;

TF_DataType ops_type_named(const char *name, size_t length);
void ops_values_begin(void);  // the same random numbers again
TF_Tensor *ops_make_tensor(TF_DataType type, const int64_t *dims, int rank, const char *how);
// Functions that cases may name: twice, count and more (ops_functions.c).
void ops_functions(TF_Graph *graph, TF_Status *status);

bool ops_case_build(ops_case *c, char *text, char *error, size_t room);
// |error|: also looks at the results (check, bytes) and reports a failure there.
bool ops_case_run(ops_case *c, char *error);
void ops_case_free(ops_case *c);

#endif
