// SPDX-License-Identifier: Apache-2.0
// rnn_stack.h: a stack of recurrent layers as cuDNN has it: its sizes, where its numbers lie in one
// buffer of parameters, and the products it needs. For CudnnRNN and its kin (cudnn_rnn*.c).
//
// A layer has one or two directions; each is a *part* of the stack, number layer * dirs + direction. The
// buffer has the matrices of all parts, then the biases of all parts. Of one part: a matrix [units, inputs]
// for each gate, a matrix [units, outs] of the state for each gate, and with a projection [outs, units];
// two vectors [units] for each gate. Gates are i, f, g, o (LSTM) or r, z, n (GRU).

#ifndef FY_OPS_RNN_STACK_H
#define FY_OPS_RNN_STACK_H

#include "ops/op.h"

typedef enum fy_rnn_mode { FY_RNN_RELU, FY_RNN_TANH, FY_RNN_LSTM, FY_RNN_GRU } fy_rnn_mode;

typedef struct fy_rnn_stack {
  fy_rnn_mode mode;
  int gates, dirs;
  bool skip;      // the gates of the first layer see its input as it is
  bool projects;  // LSTM: the state is a product of what the cells give
  int64_t layers, inputs, units;
  int64_t outs;  // numbers of the state: |units|, or of the projection
} fy_rnn_stack;

typedef struct fy_rnn_part {
  int64_t inputs;                            // of its layer
  int64_t w, r, projection, w_bias, r_bias;  // first elements
} fy_rnn_part;

// Fills |s| from the attributes of |site| and the sizes. INVALID_ARGUMENT if they do not fit together or the
// parameters are more than memory can have.
FY_MUST_CHECK fy_code fy_rnn_stack_make(const fy_site *site, int64_t layers, int64_t inputs,
                                        int64_t units, int64_t outs, fy_rnn_stack *s,
                                        fy_error *err);
int64_t fy_rnn_stack_params(const fy_rnn_stack *s);   // all of them
int64_t fy_rnn_stack_weights(const fy_rnn_stack *s);  // those of matrices
fy_rnn_part fy_rnn_stack_part(const fy_rnn_stack *s, int64_t part);

// Working memory of a call, until its end: many small pieces, asked of the runner in few large ones.
typedef struct fy_rnn_room {
  fy_kernel_ctx *ctx;
  char *at;
  size_t left;
} fy_rnn_room;
FY_MUST_CHECK fy_code fy_rnn_take(fy_rnn_room *room, size_t bytes, void **out, fy_error *err);

// How products are made: out[rows, n] += a b, with b(i, j) = b[i * step_k + j * step_n], of k x n floats or
// doubles. open() may rearrange b, which stays as it is until the last add().
typedef struct fy_rnn_products {
  fy_code (*open)(fy_rnn_room *room, fy_dtype type, const void *b, int64_t k, int64_t n,
                  int64_t step_k, int64_t step_n, void **state, fy_error *err);
  void (*add)(fy_kernel_ctx *ctx, const void *state, const void *a, int64_t row_step,
              int64_t k_step, int64_t rows, void *out);
} fy_rnn_products;
// CudnnRNN, -V2, -V3 and CudnnRNNBackprop, -V2, -V3.
FY_MUST_CHECK fy_code fy_cudnn_rnn(fy_kernel_ctx *ctx, const fy_rnn_products *by, fy_error *err);
FY_MUST_CHECK fy_code fy_cudnn_rnn_grad(fy_kernel_ctx *ctx, const fy_rnn_products *by,
                                        fy_error *err);

#endif
