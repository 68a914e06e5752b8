// SPDX-License-Identifier: Apache-2.0
// batch_queue.h: what concurrent runs ask for, gathered into batches (Batch, BatchFunction).
// There are no threads of its own: every run waits for its task, and the first of a batch's runs to see
// that the batch is complete, or has waited long enough, does the work for all of them. So a run that is
// cancelled never takes a batch with it. At most |threads| batches are worked on at once; while none may
// start, batches go on filling up.

#ifndef FY_OPS_BATCH_QUEUE_H
#define FY_OPS_BATCH_QUEUE_H

#include "ops/op.h"

typedef struct fy_batch_task {  // what one run wants
  fy_tensor **in;               // [num_in] with a reference each
  fy_tensor **out;              // [num_out] likewise, when it is done
  int num_in, num_out;
  int64_t rows, id;
  fy_error err;
  bool done;
  struct fy_batch *batch;
} fy_batch_task;

// The queue that a node's attributes name, with what they say about it.
typedef struct fy_batch_queue fy_batch_queue;
FY_MUST_CHECK fy_code fy_batch_queue_get(fy_kernel_ctx *ctx, fy_batch_queue **out, fy_error *err);
void fy_batch_queue_release(fy_batch_queue *q);
int64_t fy_batch_queue_most(const fy_batch_queue *q);  // rows of a batch
// The batch size to which |rows| are padded.
int64_t fy_batch_queue_round(const fy_batch_queue *q, int64_t rows);

// Inputs [0, n) of the call as a task, or rows [first, first + rows) of them. Checks their shapes.
FY_MUST_CHECK fy_code fy_batch_check(fy_kernel_ctx *ctx, int n, int64_t *rows, fy_error *err);
FY_MUST_CHECK fy_code fy_batch_task_new(fy_kernel_ctx *ctx, int n, int num_out, int64_t first,
                                        int64_t rows, fy_batch_task **out, fy_error *err);
void fy_batch_task_free(fy_batch_task *task);  // NULL is fine

// Fills the outputs of all |tasks|; what it fails with, all of them fail with.
typedef fy_code (*fy_batch_fn)(fy_kernel_ctx *ctx, fy_batch_queue *q, fy_batch_task **tasks, int n,
                               fy_error *err);
// Hands |task| in. UNAVAILABLE if too many batches wait.
FY_MUST_CHECK fy_code fy_batch_submit(fy_batch_queue *q, fy_batch_task *task, fy_error *err);
// Waits until |task|, which was handed in, is done; may do the work.
FY_MUST_CHECK fy_code fy_batch_wait(fy_kernel_ctx *ctx, fy_batch_queue *q, fy_batch_task *task,
                                    fy_batch_fn work, fy_error *err);

// Input |i| of all tasks one after another, padded to |rows| with the first row.
FY_MUST_CHECK fy_code fy_batch_concat(fy_batch_task **tasks, int n, int i, int64_t rows,
                                      fy_tensor **out, fy_error *err);
// Rows [first, first + rows) of |t|.
FY_MUST_CHECK fy_code fy_batch_rows(const fy_tensor *t, int64_t first, int64_t rows,
                                    fy_tensor **out, fy_error *err);

#endif
