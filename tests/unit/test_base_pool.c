// SPDX-License-Identifier: Apache-2.0
// test_base_pool.c: loops, nested loops and closures; meant to be run under ThreadSanitizer too.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "base/thread.h"

typedef struct cover {
  unsigned char *seen;  // plain memory on purpose: TSan finds overlapping pieces
  int64_t n, grain;
  atomic_int small;  // pieces below the grain
} cover;

static void mark(void *arg, int64_t begin, int64_t end) {
  cover *c = arg;
  if (end - begin < c->grain && end - begin != c->n) atomic_fetch_add(&c->small, 1);
  for (int64_t i = begin; i < end; i++) c->seen[i]++;
}

static void check_cover(fy_pool *pool, int64_t n, int64_t grain) {
  cover c = {calloc((size_t)n + 1, 1), n, grain, 0};
  fy_pool_for(pool, n, grain ? FY_POOL_PIECE_NS / (double)grain : 1e6, mark, &c);
  for (int64_t i = 0; i < n; i++) assert_int_equal(c.seen[i], 1);
  assert_int_equal(c.seen[n], 0);
  assert_int_equal(atomic_load(&c.small), 0);
  free(c.seen);
}

static void covers_every_element(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 3, 8};
  for (int t = 0; t < 4; t++) {
    fy_pool *pool = fy_pool_new(threads[t], NULL, 0);
    assert_int_equal(fy_pool_threads(pool), threads[t]);
    for (int64_t n = 0; n < 40; n++) {
      for (int64_t grain = 0; grain < 12; grain += 3) check_cover(pool, n, grain);
    }
    check_cover(pool, 100003, 7);
    fy_pool_free(pool);
  }
  check_cover(NULL, 100, 1);
  fy_pool_free(NULL);
}

typedef struct nest {
  fy_pool *pool;
  int depth;
  atomic_llong *leaves;
} nest;

static void nested(void *arg, int64_t begin, int64_t end) {
  nest *p = arg;
  for (int64_t i = begin; i < end; i++) {
    if (p->depth == 0) {
      atomic_fetch_add(p->leaves, 1);
      continue;
    }
    nest inner = {p->pool, p->depth - 1, p->leaves};
    fy_pool_for(p->pool, 5, FY_POOL_PIECE_NS, nested, &inner);
  }
}

static void nested_loops(void **state) {
  (void)state;
  fy_pool *pool = fy_pool_new(4, NULL, 0);
  for (int round = 0; round < 50; round++) {
    atomic_llong leaves = 0;
    nest top = {pool, 4, &leaves};
    nested(&top, 0, 1);
    assert_int_equal(atomic_load(&leaves), 625);
  }
  fy_pool_free(pool);
}

// Many short loops: the stack frame of one is reused by the next, so a late worker would show.
static void short_loops(void **state) {
  (void)state;
  fy_pool *pool = fy_pool_new(3, NULL, 0);
  for (int round = 0; round < 20000; round++) {
    unsigned char seen[8] = {0};
    cover c = {seen, 8, 1, 0};
    fy_pool_for(pool, 8, FY_POOL_PIECE_NS, mark, &c);
    for (int i = 0; i < 8; i++) assert_int_equal(seen[i], 1);
    if (round % 2000 == 0) fy_sleep_ns(100000);  // lets the workers fall asleep
  }
  fy_pool_free(pool);
}

typedef struct chain {
  fy_pool *pool;
  atomic_int *ran;
  int left;
} chain;

static void count_one(void *arg) {
  atomic_fetch_add((atomic_int *)arg, 1);
}

// A closure that loops and then submits its successor.
static void step(void *arg) {
  chain *c = arg;
  atomic_llong leaves = 0;
  nest inner = {c->pool, 1, &leaves};
  fy_pool_for(c->pool, 4, FY_POOL_PIECE_NS, nested, &inner);
  atomic_fetch_add(c->ran, atomic_load(&leaves) == 20);
  if (--c->left > 0 && !fy_pool_submit(c->pool, step, c)) step(c);
}

static void submit_and_drain(void **state) {
  (void)state;
  fy_pool *pool = fy_pool_new(3, NULL, 0);
  atomic_int ran = 0, steps = 0;
  chain chains[4];
  for (int i = 0; i < 4; i++) {
    chains[i] = (chain){pool, &steps, 100};
    assert_true(fy_pool_submit(pool, step, &chains[i]));
  }
  for (int i = 0; i < 5000; i++) assert_true(fy_pool_submit(pool, count_one, &ran));
  fy_pool_free(pool);
  assert_int_equal(atomic_load(&ran), 5000);
  assert_int_equal(atomic_load(&steps), 400);
}

static void *caller(void *arg) {
  for (int i = 0; i < 300; i++) {
    atomic_llong leaves = 0;
    nest top = {arg, 2, &leaves};
    nested(&top, 0, 1);
    if (atomic_load(&leaves) != 25) return arg;
  }
  return NULL;
}

static void many_callers(void **state) {
  (void)state;
  fy_pool *pool = fy_pool_new(3, NULL, 0);
  fy_thread threads[4];
  for (int i = 0; i < 4; i++) assert_true(fy_thread_start(&threads[i], caller, pool, "caller"));
  for (int i = 0; i < 4; i++) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  fy_pool_free(pool);
}

// A group of closures that its owner waits for and helps with.
typedef struct group {
  fy_pool *pool;
  atomic_int left, foreign;
  pthread_t owner;
} group;
typedef struct piece {
  group *of;
  bool blocks;  // waits for somebody else's group: its owner must not be the one who runs it
  group *until;
} piece;

static bool group_done(void *arg) {
  return atomic_load(&((group *)arg)->left) == 0;
}
static bool group_takes(void *arg, void *closure) {
  return ((piece *)closure)->of == arg;
}
static void run_piece(void *arg) {
  piece *p = arg;
  group *g = p->of;
  if (p->until && pthread_equal(pthread_self(), p->until->owner)) atomic_fetch_add(&g->foreign, 1);
  while (p->blocks && !group_done(p->until)) fy_sleep_ns(1000);
  fy_pool *pool = g->pool;
  if (atomic_fetch_sub(&g->left, 1) == 1) fy_pool_nudge(pool);
}

// The only worker is blocked by a closure that waits for our group, and another one of that kind is
// queued before ours: the owner runs its own alone, and not the other.
static void helping(void **state) {
  (void)state;
  for (int round = 0; round < 50; round++) {
    fy_pool *pool = fy_pool_new(2, NULL, 0);
    group mine = {.pool = pool, .left = 20, .owner = pthread_self()},
          other = {.pool = pool, .left = 2};
    piece stuck[2] = {{&other, true, &mine}, {&other, true, &mine}}, quick = {&mine, false, NULL};
    for (int i = 0; i < 2; i++) assert_true(fy_pool_submit(pool, run_piece, &stuck[i]));
    for (int i = 0; i < 20; i++) assert_true(fy_pool_submit(pool, run_piece, &quick));
    fy_pool_help(pool, group_done, group_takes, &mine);
    assert_true(group_done(&mine));
    fy_pool_free(pool);
    assert_true(group_done(&other));
    assert_int_equal(atomic_load(&other.foreign), 0);
  }
}

static void no_workers(void **state) {
  (void)state;
  atomic_int ran = 0;
  fy_pool *one = fy_pool_new(0, NULL, 0);
  assert_int_equal(fy_pool_threads(one), 1);
  assert_false(fy_pool_submit(one, count_one, &ran));
  assert_false(fy_pool_submit(NULL, count_one, &ran));
  fy_pool_free(one);
  fy_pool_free(fy_pool_new(4, NULL, 0));  // never used: never started
}

static void out_of_memory(void **state) {
  (void)state;
  for (int64_t nth = 1;; nth++) {
    atomic_int ran = 0;
    int queued = 0;
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    fy_pool *pool = fy_pool_new(3, NULL, 0);
    if (pool) check_cover(pool, 100, 1);
    for (int i = 0; pool && i < 200; i++) queued += fy_pool_submit(pool, count_one, &ran);
    bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    fy_pool_free(pool);
    assert_int_equal(atomic_load(&ran), queued);
    if (!reached) break;
  }
}

static void where_am_i(void *arg) {
  cpu_set_t set;
  pthread_getaffinity_np(pthread_self(), sizeof set, &set);
  atomic_store((atomic_int *)arg, CPU_COUNT(&set));
}

static void bound_to_cpus(void **state) {
  (void)state;
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  int cpu = 0;
  while (!CPU_ISSET((size_t)cpu, &set)) cpu++;
  atomic_int cpus = 0;
  fy_pool *pool = fy_pool_new(2, &cpu, 1);
  assert_true(fy_pool_submit(pool, where_am_i, &cpus));
  fy_pool_free(pool);
  assert_int_equal(atomic_load(&cpus), 1);
  static const int nonsense[] = {-1, 1 << 20};
  pool = fy_pool_new(3, nonsense, 2);
  check_cover(pool, 1000, 1);
  fy_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(covers_every_element),
      cmocka_unit_test(nested_loops),
      cmocka_unit_test(short_loops),
      cmocka_unit_test(submit_and_drain),
      cmocka_unit_test(many_callers),
      cmocka_unit_test(no_workers),
      cmocka_unit_test(out_of_memory),
      cmocka_unit_test(bound_to_cpus),
      cmocka_unit_test(helping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
