// SPDX-License-Identifier: Apache-2.0
// predict.h: what a run would take, and the largest batch that fits, without running anything.
// The plans are those the runner would use, made for growing batches.

#ifndef FY_OBSERVE_PREDICT_H
#define FY_OBSERVE_PREDICT_H

#include "observe/report.h"

#define FY_PREDICT_DEVICES 16

typedef struct fy_predict_args {
  fy_session *session;
  const fy_device_set *devices;  // the session's
  const fy_run_args *run;
  const fy_pshape *shapes;  // [num_feeds] as asked for
  const bool *batched;      // [num_feeds] the leading dimension is the batch
} fy_predict_args;

typedef struct fy_prediction {
  fy_space_memory memory[FY_PREDICT_DEVICES];  // host first; |peak_node| is copied below
  char peak_node[FY_PREDICT_DEVICES][128];
  int64_t largest_batch[FY_PREDICT_DEVICES];  // -1 = no batch dimension, or no end found
  int num_memory;
  int first_exhausted;  // index into memory, -1 = none
  int64_t transfers, transfer_bytes;
  double compute_ns, transfer_ns;
  int64_t spill_copies, spill_bytes;  // because a memory is too small, per run
  double spill_ns;
  uint64_t spill_file_bytes;  // planned tensors of the host that are in a file
} fy_prediction;

// RESOURCE_EXHAUSTED is an answer, not a failure: then the fields of the run itself are zero and
// largest_batch says what would fit.
FY_MUST_CHECK fy_code fy_predict(const fy_predict_args *args, fy_prediction *out, fy_error *err);

// The same for batches 1, 2, 4 … up to a little beyond what fits, at most FY_SWEEP of them.
#define FY_SWEEP 24
typedef struct fy_sweep {
  fy_prediction at;  // what was asked for, with the limits
  int n;
  int64_t batch[FY_SWEEP];
  uint64_t peak_bytes[FY_PREDICT_DEVICES][FY_SWEEP];
  uint32_t over[FY_SWEEP];        // bit per memory that is too small
  int64_t spill_bytes[FY_SWEEP];  // that cross per run to make it fit all the same
} fy_sweep;
FY_MUST_CHECK fy_code fy_predict_sweep(const fy_predict_args *args, fy_sweep *out, fy_error *err);

// Charts (chart.c): memory of |p| over its instructions, and of a sweep over batches.
typedef enum fy_chart_form { FY_CHART_TEXT, FY_CHART_SVG } fy_chart_form;
void fy_chart_time(fy_str *out, const fy_program *p, fy_chart_form form);
void fy_chart_batch(fy_str *out, const fy_sweep *s, fy_chart_form form);

#endif
