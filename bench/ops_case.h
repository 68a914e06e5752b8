// SPDX-License-Identifier: Apache-2.0
// ops_case.h: one line of bench/ops.txt as a graph with one op, ready to run. The line is
//   name; Op; attributes; inputs; floating point operations (a product, may be left out)
// Attributes are key=kind:value with kinds i, f, b, s, t (type), l (ints), tl (types), fl (floats),
// sh (shape), shl (one shape in a list), sl (strings). Inputs are type[dims]=values; "#" before it
// makes it a constant, "var:" a variable (its handle is the input), "( … )" a list of inputs. Values:
//   nothing  uniform in -1..1        pos  0.5..1.5            zero, one
//   to:N     random integers < N     up:N  rising 0..N-1      iota, perm, true
//   words, num, example (strings)    or the numbers themselves, with commas

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
  long calls;
  double check, bytes;
} ops_case;

bool ops_case_build(ops_case *c, char *text, char *error, size_t room);
// |error|: also looks at the results (check, bytes) and reports a failure there.
bool ops_case_run(ops_case *c, char *error);
void ops_case_free(ops_case *c);

#endif
