// SPDX-License-Identifier: Apache-2.0
// output.h: results of a model for people (a summary, the most likely classes) and for programs (.npy,
// .npz, .json).

#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli.h"

typedef struct output_options {
  ferry_runtime *rt;
  int64_t elements;    // at most so many are printed
  int64_t top;         // > 0: the largest of each row, with their places
  const char *labels;  // file with a name per line, or NULL
  const char *path;    // where to save; NULL = print
  bool quiet;
} output_options;

// A NULL tensor is an operation that only ran. EXIT_OK or says why not.
int output_results(const output_options *o, int n, const char *const *names,
                   ferry_tensor *const *results);

#endif
