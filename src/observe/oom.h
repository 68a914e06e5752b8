// SPDX-License-Identifier: Apache-2.0
// oom.h: what a run that failed for lack of memory should be told besides TensorFlow's words.

#ifndef FY_OBSERVE_OOM_H
#define FY_OBSERVE_OOM_H

#include "observe/predict.h"

// Appends to |err|, if it is about memory: which memory the plan exceeds and by how much, who holds it
// at its fullest moment, the largest batch that fits, and what spilling would cost.
void fy_oom_explain(fy_session *s, const fy_run_args *args, fy_error *err);

#endif
