// SPDX-License-Identifier: Apache-2.0
// queue.h: queues of tuples of tensors: first in first out (with or without padding), shuffled, and
// by priority. queue.c holds the container and its blocking, queue_ops.c the ops.

#ifndef FY_OPS_QUEUE_H
#define FY_OPS_QUEUE_H

#include "ops/op.h"
#include "ops/philox.h"
#include "ops/resource.h"

typedef enum fy_queue_kind {
  FY_QUEUE_FIFO,
  FY_QUEUE_PADDING,
  FY_QUEUE_SHUFFLE,
  FY_QUEUE_PRIORITY
} fy_queue_kind;

typedef struct fy_queue {
  fy_object object;
  fy_queue_kind kind;
  fy_mutex lock;
  fy_cond changed;
  fy_tensor **items;  // ring of |cap| elements of |width| tensors each
  size_t cap, head, n, width;
  int64_t limit, keep;  // most elements; SHUFFLE: how many stay behind while it is open
  bool closed, cancel_enqueues, taking;  // somebody takes several, one after the other
  fy_dtype *types;                       // [width]
  fy_pshape *shapes;                     // [width] or NULL: any
  fy_arena arena;
  fy_philox random;
  uint32_t bits[4];
  int bits_left;
  char name[128];
} fy_queue;

extern const fy_object_type fy_queue_type;

FY_MUST_CHECK fy_code fy_queue_new(const fy_site *site, fy_view name, fy_queue **out,
                                   fy_error *err);
const char *fy_queue_kind_name(const fy_queue *q);  // "FIFOQueue" …

// Adds one tuple, taking over a reference of each tensor (also on failure); waits for room.
// CANCELLED: closed, or the run is to stop.
FY_MUST_CHECK fy_code fy_queue_put(fy_kernel_ctx *ctx, fy_queue *q, fy_tensor **tuple,
                                   fy_error *err);
// Takes |n| tuples into |out| [n * width], waiting for them; with |some|, fewer once it is closed.
// |*taken| is how many. OUT_OF_RANGE: closed with too few, which then stay.
FY_MUST_CHECK fy_code fy_queue_take(fy_kernel_ctx *ctx, fy_queue *q, int64_t n, bool some,
                                    fy_tensor **out, int64_t *taken, fy_error *err);
FY_MUST_CHECK fy_code fy_queue_close(fy_queue *q, bool cancel_enqueues, fy_error *err);

#endif
