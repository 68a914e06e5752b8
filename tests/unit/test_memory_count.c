// SPDX-License-Identifier: Apache-2.0
// test_memory_count.c: what a pool says is in use, and its peak, are exact to the byte, and its limit holds,
// though threads count on their own: devices' pools and the host's.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "memory/pool.h"

enum { THREADS = 8, ROUNDS = 5000 };

static int heap_alloc(fy_device *d, size_t bytes, void **out, fy_error *err) {
  (void)d;
  *out = aligned_alloc(256, bytes);
  return *out ? 0 : (int)fy_fail_oom(err, bytes);
}

static void heap_free(fy_device *d, void *p, size_t bytes) {
  (void)d, (void)bytes;
  free(p);
}

static const fy_device_ops heap_ops = {.backend = "test", .alloc = heap_alloc, .free = heap_free};
static fy_device devices[] = {
    {.ops = &heap_ops, .name = "/device:GPU:0", .type = "GPU"},
    {.name = "/device:CPU:0", .type = "CPU", .is_host = true},
};

static uint64_t in_use(fy_mempool *pool) {
  fy_mempool_stats s;
  fy_mempool_stats_get(pool, &s);
  return s.bytes_in_use;
}

static uint64_t peak(fy_mempool *pool) {
  fy_mempool_stats s;
  fy_mempool_stats_get(pool, &s);
  return s.peak_bytes_in_use;
}

static void *take(fy_mempool *pool, size_t bytes) {
  void *p = NULL;
  return fy_mempool_alloc(pool, bytes, "n", &p, NULL) ? NULL : p;
}

typedef struct job {
  fy_mempool *pool;
  size_t bytes;
  int blocks;                      // at a time
  atomic_llong *held, *most_held;  // by all, told after taking and before giving back
  long long limit;
  atomic_long failures, breaches;
  atomic_int *go;
} job;

static void raise(atomic_llong *to, long long v) {
  long long now = atomic_load(to);
  while (v > now && !atomic_compare_exchange_weak(to, &now, v)) {
  }
}

static void *hold_and_let_go(void *arg) {
  job *j = arg;
  void *p[16];
  const long long each = (long long)fy_mempool_taken(j->pool, j->bytes);
  while (!atomic_load(j->go)) sched_yield();
  for (int i = 0; i < ROUNDS; i++) {
    for (int k = 0; k < j->blocks; k++) {
      p[k] = take(j->pool, j->bytes);
      if (!p[k]) {
        atomic_fetch_add(&j->failures, 1);
        continue;
      }
      const long long sum = atomic_fetch_add(j->held, each) + each;
      raise(j->most_held, sum);
      if (sum > j->limit) atomic_fetch_add(&j->breaches, 1);
    }
    if (i % 64 == 0) sched_yield();
    for (int k = 0; k < j->blocks; k++) {
      if (p[k]) atomic_fetch_sub(j->held, each);
      fy_mempool_release(j->pool, p[k]);
    }
  }
  return NULL;
}

// All threads do |j|; |meanwhile| (may be NULL) is called by this one.
static void run(job *j, void (*meanwhile)(fy_mempool *pool)) {
  fy_thread t[THREADS];
  atomic_llong held = 0, most_held = 0;
  atomic_int go = 0;
  j->held = &held;
  j->most_held = &most_held;
  j->go = &go;
  for (int i = 0; i < THREADS; i++)
    assert_true(fy_thread_start(&t[i], hold_and_let_go, j, "holder"));
  atomic_store(&go, 1);
  if (meanwhile) meanwhile(j->pool);
  for (int i = 0; i < THREADS; i++) fy_thread_join(t[i]);
  const long long bound = (long long)fy_mempool_taken(j->pool, j->bytes) * j->blocks * THREADS;
  assert_int_equal(in_use(j->pool), 0);
  // What is told is told a moment after it was taken, so the pool may have seen more, never less.
  assert_true(peak(j->pool) >= (uint64_t)atomic_load(&most_held));
  assert_true(peak(j->pool) <= (uint64_t)bound);
}

// Threads that use a pool one after the other add up to no more than the one that used most.
static void *alone(void *arg) {
  job *j = arg;
  void *p[16];
  for (int i = 0; i < j->blocks; i++) assert_non_null(p[i] = take(j->pool, j->bytes));
  for (int i = 0; i < j->blocks; i++) fy_mempool_release(j->pool, p[i]);
  return NULL;
}

static void peak_is_exact(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++) {
    fy_mempool *pool = fy_mempool_new(&devices[d], 0);
    static const size_t sizes[] = {1, 256, 5000, 65536, 70000, 1 << 20};
    uint64_t most = 0;
    for (int i = 0; i < 60; i++) {
      job j = {.pool = pool, .bytes = sizes[i * 7 % 6], .blocks = 1 + i * 5 % 16};
      const uint64_t now = (uint64_t)j.blocks * fy_mempool_taken(pool, j.bytes);
      fy_thread t;
      assert_true(fy_thread_start(&t, alone, &j, "alone"));
      fy_thread_join(t);
      if (now > most) most = now;
      assert_int_equal(in_use(pool), 0);
      assert_int_equal(peak(pool), most);
    }
    // What another thread still holds counts, and what this one gave back does not.
    job small = {.pool = pool, .bytes = 256, .blocks = 16};
    void *kept = take(pool, 3 << 20);
    const uint64_t held = fy_mempool_taken(pool, 3 << 20);
    fy_mempool_reset_peak(pool);
    assert_int_equal(peak(pool), held);
    alone(&small);
    fy_thread t;
    assert_true(fy_thread_start(&t, alone, &small, "alone"));
    fy_thread_join(t);
    assert_int_equal(peak(pool), held + 16 * fy_mempool_taken(pool, 256));
    fy_mempool_stats s;
    fy_mempool_stats_get(pool, &s);
    assert_int_equal(s.num_allocs, 32);
    assert_int_equal(s.largest_alloc_bytes, fy_mempool_taken(pool, 256));
    fy_mempool_release(pool, kept);
    assert_int_equal(in_use(pool), 0);
    fy_mempool_free(pool);
  }
}

// A limit is never passed, and what fits beside the others is never refused, whoever has the credit.
static void limit_is_exact(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++) {
    static const size_t sizes[] = {256, 9000, 200000};
    for (int i = 0; i < 3; i++) {
      fy_mempool *pool = fy_mempool_new(&devices[d], 0);
      const uint64_t each = fy_mempool_taken(pool, sizes[i]);
      if (d == 0) {  // one region for all: fragmentation is not the question here
        void *whole = take(pool, 32 * each);
        fy_mempool_release(pool, whole);
      }
      fy_mempool_set_limit(pool, 2 * THREADS * each);
      job fits = {.pool = pool, .bytes = sizes[i], .blocks = 2, .limit = (long long)(16 * each)};
      fy_mempool_reset_peak(pool);
      run(&fits, NULL);
      if (d == 1) assert_int_equal(atomic_load(&fits.failures), 0);
      assert_int_equal(atomic_load(&fits.breaches), 0);
      fy_mempool_set_limit(pool, 5 * each);
      job crowded = {.pool = pool, .bytes = sizes[i], .blocks = 2, .limit = (long long)(5 * each)};
      fy_mempool_reset_peak(pool);
      run(&crowded, NULL);
      assert_int_equal(atomic_load(&crowded.breaches), 0);
      assert_true(peak(pool) <= 5 * each);
      // Alone, everything up to the limit can be had, and not a block more.
      void *p[6];
      for (int k = 0; k < 5; k++) assert_non_null(p[k] = take(pool, sizes[i]));
      assert_null(take(pool, sizes[i]));
      assert_int_equal(in_use(pool), 5 * each);
      for (int k = 0; k < 5; k++) fy_mempool_release(pool, p[k]);
      fy_mempool_free(pool);
    }
  }
}

// Somebody looks, gives memory back and changes the limit all the time.
static void disturb(fy_mempool *pool) {
  for (int i = 0; i < 300; i++) {
    fy_mempool_stats s;
    fy_mempool_stats_get(pool, &s);
    assert_true(s.bytes_in_use <= s.peak_bytes_in_use);
    if (i % 3 == 0) fy_mempool_set_limit(pool, 256u * (unsigned)(i % 40));
    if (i % 7 == 0) fy_mempool_trim(pool, 0);
    sched_yield();
  }
  fy_mempool_set_limit(pool, 0);
}

static void disturbed(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++) {
    fy_mempool *pool = fy_mempool_new(&devices[d], 0);
    job j = {.pool = pool, .bytes = 256, .blocks = 4, .limit = INT64_MAX};
    run(&j, disturb);
    fy_mempool_free(pool);
  }
}

// One thread takes, another gives back: no credit is lost on the way.
typedef struct belt {
  fy_mempool *pool;
  _Atomic(void *) slots[64];
} belt;

static void *give_back(void *arg) {
  belt *b = arg;
  for (int i = 0; i < ROUNDS; i++) {
    void *p;
    while (!(p = atomic_exchange(&b->slots[i % 64], NULL))) sched_yield();
    fy_mempool_release(b->pool, p);
  }
  return NULL;
}

static void handed_over(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++) {
    belt b = {.pool = fy_mempool_new(&devices[d], 0)};
    const uint64_t each = fy_mempool_taken(b.pool, 4096);
    fy_thread t;
    // 64 on the belt, one in each hand, and what the other thread gave back was gathered in time.
    fy_mempool_set_limit(b.pool, 66 * each);
    void *whole = take(b.pool, 66 * each - 64);
    fy_mempool_release(b.pool, whole);
    fy_mempool_reset_peak(b.pool);
    assert_true(fy_thread_start(&t, give_back, &b, "giver"));
    for (int i = 0; i < ROUNDS; i++) {
      void *p = take(b.pool, 4096);
      assert_non_null(p);
      while (atomic_load(&b.slots[i % 64])) sched_yield();
      atomic_store(&b.slots[i % 64], p);
    }
    fy_thread_join(t);
    assert_int_equal(in_use(b.pool), 0);
    assert_true(peak(b.pool) <= 66 * each);
    fy_mempool_free(b.pool);
  }
}

// Tensors that outlive their host pool, released by several threads while it is closed.
static void *release_all(void *arg) {
  fy_tensor **t = arg;
  for (int i = 0; i < 64; i++) fy_tensor_release(t[i]);
  return NULL;
}

static void outlived(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    fy_device cpu = devices[1];
    cpu.memory = fy_mempool_new(&cpu, 0);
    fy_tensor *t[4][64];
    const int64_t n = round % 2 ? 1000 : 100;
    for (int i = 0; i < 4; i++)
      for (int k = 0; k < 64; k++)
        assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, &n, "n", &t[i][k], NULL), FY_OK);
    fy_thread threads[4];
    for (int i = 0; i < 4; i++)
      assert_true(fy_thread_start(&threads[i], release_all, t[i], "release"));
    fy_mempool_free(cpu.memory);  // the last release frees it: the sanitizers see
    for (int i = 0; i < 4; i++) fy_thread_join(threads[i]);
  }
}

// The memory of small tensors is kept for the next of the same size; what counts is what is in use: to the
// byte, whichever half of a tensor lives longer, and up to the limit.
static void kept_blocks(void **state) {
  (void)state;
  fy_device cpu = devices[1];
  cpu.memory = fy_mempool_new(&cpu, 0);
  const int64_t n = 1000;
  const size_t each = fy_memory_tensor_taken(&cpu, (size_t)n * sizeof(float));
  fy_tensor *t[40], *alias;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 40; i++)
      assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, &n, "n", &t[i], NULL), FY_OK);
    assert_int_equal(in_use(cpu.memory), 40 * each);
    for (int i = 0; i < 40; i++) fy_tensor_release(t[i]);
    assert_int_equal(in_use(cpu.memory), 0);
  }
  assert_int_equal(peak(cpu.memory), 40 * each);
  // A view that lives on, then a tensor whose memory was let go.
  assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, &n, "n", &t[0], NULL), FY_OK);
  assert_int_equal(fy_tensor_alias(t[0], FY_FLOAT, 1, &n, &alias, NULL), FY_OK);
  fy_tensor_release(t[0]);
  assert_int_equal(in_use(cpu.memory), each);
  memset(alias->data, 1, fy_tensor_bytes(alias));
  fy_tensor_release(alias);
  assert_int_equal(in_use(cpu.memory), 0);
  assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, &n, "n", &t[0], NULL), FY_OK);
  fy_buffer_release(t[0]->buffer);
  t[0]->buffer = NULL;
  assert_int_equal(in_use(cpu.memory), 0);
  fy_tensor_release(t[0]);
  assert_int_equal(in_use(cpu.memory), 0);
  fy_mempool_set_limit(cpu.memory, each + each / 2);
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, &n, "n", &t[0], NULL), FY_OK);
  assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, &n, "n", &t[1], &err),
                   FY_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(fy_error_text(&err), "shape[1000] and type float"));
  assert_non_null(strstr(fy_error_text(&err), "of the device's limit"));
  fy_error_clear(&err);
  assert_int_equal(in_use(cpu.memory), each);
  fy_tensor_release(t[0]);
  fy_mempool_free(cpu.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(peak_is_exact), cmocka_unit_test(limit_is_exact),
      cmocka_unit_test(disturbed),     cmocka_unit_test(handed_over),
      cmocka_unit_test(outlived),      cmocka_unit_test(kept_blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
