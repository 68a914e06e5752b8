// SPDX-License-Identifier: Apache-2.0
// pool.h: worker threads that run closures and split loops.
// A pool of n threads has n - 1 workers: the caller of a loop always works too, so a pool of one
// runs everything inline and starts no thread. Workers start at first use. Loops may nest: a nested
// loop runs on whichever workers are idle, never deadlocks, because the caller can finish it alone.

#ifndef FY_BASE_POOL_H
#define FY_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fy_pool fy_pool;

// |cpus| (may be NULL): the CPU ids that the workers are bound to. NULL when memory is short.
fy_pool *fy_pool_new(int threads, const int *cpus, int num_cpus);
void fy_pool_free(fy_pool *pool);  // waits for queued work
int fy_pool_threads(const fy_pool *pool);

// Queues fn(arg). False (not queued, caller should run it itself) when memory is short or the pool
// has no workers.
bool fy_pool_submit(fy_pool *pool, void (*fn)(void *), void *arg);

// The pool whose worker the calling thread is, or NULL.
fy_pool *fy_pool_of_this_thread(void);

// The calling thread works for the pool until done(arg): on anybody's loops, and on those queued
// closures for which takes(arg, their arg) is true (others may block on something that only this
// thread will do). Both are asked with the pool locked whenever something happened and after
// fy_pool_nudge; they must be quick and must not call the pool.
void fy_pool_help(fy_pool *pool, bool (*done)(void *), bool (*takes)(void *, void *), void *arg);
void fy_pool_nudge(fy_pool *pool);

// Calls fn(arg, begin, end) over [0, n) in pieces of at least FY_POOL_PIECE_NS, |ns_per_item| being a
// rough cost of one item; returns when all are done. fn runs concurrently on distinct ranges. |pool|
// may be NULL: inline.
#define FY_POOL_PIECE_NS 2500.0
void fy_pool_for(fy_pool *pool, int64_t n, double ns_per_item,
                 void (*fn)(void *arg, int64_t begin, int64_t end), void *arg);

#endif
