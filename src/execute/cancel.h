// SPDX-License-Identifier: Apache-2.0
// cancel.h: a flag with callbacks that says "stop": what TFE_CancellationManager and timeouts set.

#ifndef FY_EXECUTE_CANCEL_H
#define FY_EXECUTE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct fy_cancel fy_cancel;

fy_cancel *fy_cancel_new(void);
void fy_cancel_free(fy_cancel *c);
void fy_cancel_start(fy_cancel *c);  // sets the flag, then runs the callbacks once each
// One relaxed load: the flag is the first thing in an fy_cancel.
static inline bool fy_cancel_requested(const fy_cancel *c) {
  return atomic_load_explicit((const atomic_bool *)(const void *)c, memory_order_relaxed);
}
bool fy_cancel_in_progress(const fy_cancel *c);  // callbacks are running
int64_t fy_cancel_token(fy_cancel *c);
// False if cancellation already started: the callback will not be called.
bool fy_cancel_register(fy_cancel *c, int64_t token, void (*fn)(void *), void *arg);
bool fy_cancel_deregister(fy_cancel *c, int64_t token);      // waits for a running callback
bool fy_cancel_try_deregister(fy_cancel *c, int64_t token);  // does not wait

#endif
