// SPDX-License-Identifier: Apache-2.0
// cudnn_rnn.h: what cudnn_rnn.c (tensors, checks) and cudnn_rnn_steps.c (arithmetic) share.

#ifndef FY_OPS_CUDNN_RNN_H
#define FY_OPS_CUDNN_RNN_H

#include "ops/rnn_stack.h"

// A call, all in floats or all in doubles and with time first, whatever the tensors were.
typedef struct fy_rnn_call {
  fy_kernel_ctx *ctx;
  fy_rnn_room *room;
  const fy_rnn_products *by;
  fy_dtype type;  // FY_FLOAT or FY_DOUBLE
  fy_rnn_stack s;
  int64_t time, batch, rows;  // rows = time * batch
  const int32_t *lengths;     // [batch] steps of each sequence; NULL: |time|
  const void *x;              // [rows, inputs]
  const void *h0, *c0;        // [parts, batch, outs], [parts, batch, units]
  const void *params;
  const void
      *kept;  // dropout: [layers - 1, rows, dirs * outs] factors of what a layer hands on; or NULL
  void *y, *hn, *cn;  // like x with dirs * outs columns, h0, c0
} fy_rnn_call;

// The gradient: |dy|, |dhn|, |dcn| like y, hn, cn; results like x, h0, c0, params, set to zero before.
typedef struct fy_rnn_back {
  const void *dy, *dhn, *dcn;
  void *dx, *dh0, *dc0, *dparams;
} fy_rnn_back;

FY_MUST_CHECK fy_code fy_rnn_forward_f32(const fy_rnn_call *c, fy_error *err);
FY_MUST_CHECK fy_code fy_rnn_forward_f64(const fy_rnn_call *c, fy_error *err);
// Runs the stack forward again (it keeps no gates between the ops), then back.
FY_MUST_CHECK fy_code fy_rnn_backward_f32(const fy_rnn_call *c, const fy_rnn_back *b,
                                          fy_error *err);
FY_MUST_CHECK fy_code fy_rnn_backward_f64(const fy_rnn_call *c, const fy_rnn_back *b,
                                          fy_error *err);

#endif
