// SPDX-License-Identifier: Apache-2.0
// queue.h: what other ops may do with a queue resource.

#ifndef FY_OPS_QUEUE_H
#define FY_OPS_QUEUE_H

#include "ops/op.h"

// Takes the next element of the queue |handle|, which must hold one string per element; waits, and
// fails, as QueueDequeueV2 does. |*out| gets the scalar with a reference of its own.
FY_MUST_CHECK fy_code fy_queue_take_string(fy_kernel_ctx *ctx, const fy_tensor *handle,
                                           fy_tensor **out, fy_error *err);

#endif
