// SPDX-License-Identifier: Apache-2.0
// test_memory_pool.c: the pool over a device made of malloc: no overlaps, coalescing, growth,
// limits, trimming, statistics, and texts that tell shortage from fragmentation.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "memory/pool.h"

#define MIB ((size_t)1 << 20)

static size_t device_bytes, device_regions, device_capacity = SIZE_MAX;

static int heap_alloc(fy_device *d, size_t bytes, void **out, fy_error *err) {
  (void)d;
  if (fy_fault_due(FY_FAULT_DEVICE_ALLOC) || bytes > device_capacity - device_bytes) {
    return (int)fy_fail(err, FY_RESOURCE_EXHAUSTED, "the driver has no more");
  }
  *out = aligned_alloc(256, bytes);
  device_bytes += bytes;
  device_regions++;
  return 0;
}

static void heap_free(fy_device *d, void *p, size_t bytes) {
  (void)d;
  free(p);
  device_bytes -= bytes;
  device_regions--;
}

static int heap_copy(fy_device *d, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                     fy_device *peer, const fy_event *after, fy_event *done, fy_error *err) {
  (void)d, (void)kind, (void)peer, (void)after, (void)done, (void)err;
  memcpy(dst, src, bytes);
  return 0;
}

static const fy_device_ops heap_ops = {
    .backend = "test", .alloc = heap_alloc, .free = heap_free, .copy = heap_copy};
static fy_device gpu = {.ops = &heap_ops, .name = "/device:GPU:0", .type = "GPU"};
static fy_device cpu = {.name = "/device:CPU:0", .type = "CPU", .is_host = true};

static uint64_t seed = 7;
static uint32_t rnd(uint32_t n) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(seed >> 33) % n;
}

static void random_use(void **state) {
  (void)state;
  enum { N = 400 };
  static struct {
    unsigned char *p;
    size_t n;
    unsigned char mark;
  } live[N];
  fy_mempool *pool = fy_mempool_new(&gpu, 0);
  fy_mempool_stats s;
  assert_int_equal(device_bytes, 0);
  for (int round = 0; round < 60000; round++) {
    uint32_t i = rnd(N);
    if (live[i].p) {
      for (size_t k = 0; k < live[i].n; k += 97) assert_int_equal(live[i].p[k], live[i].mark);
      fy_mempool_release(pool, live[i].p);
      live[i].p = NULL;
      continue;
    }
    live[i].n = rnd(1u << (1 + rnd(17)));
    live[i].mark = (unsigned char)rnd(256);
    void *p;
    assert_int_equal(fy_mempool_alloc(pool, live[i].n, "node", &p, NULL), FY_OK);
    assert_int_equal((uintptr_t)p % 256, 0);
    memset(p, live[i].mark, live[i].n);
    live[i].p = p;
  }
  fy_mempool_stats_get(pool, &s);
  assert_true(s.bytes_in_use > 0 && s.bytes_in_use <= s.peak_bytes_in_use);
  assert_true(s.reserved_bytes == device_bytes && s.limit_bytes == 0);
  // What best fit wastes: reserved over the peak in use.
  print_message("reserved %.2f of the peak in use\n",
                (double)s.peak_reserved_bytes / (double)s.peak_bytes_in_use);
  for (int i = 0; i < N; i++) fy_mempool_release(pool, live[i].p);
  fy_mempool_stats_get(pool, &s);
  assert_int_equal(s.bytes_in_use, 0);
  fy_mempool_trim(pool, 0);  // everything coalesced again: all regions are wholly free
  assert_int_equal(device_bytes, 0);
  fy_mempool_free(pool);
}

static void growth_and_trim(void **state) {
  (void)state;
  fy_mempool *pool = fy_mempool_new(&gpu, 100 * MIB);
  fy_mempool_stats s;
  void *a, *b, *c;
  assert_int_equal(fy_mempool_alloc(pool, 100, NULL, &a, NULL), FY_OK);
  const size_t small = 100 * MIB / 256;  // little of the limit for small things
  assert_int_equal(device_bytes, small);
  assert_int_equal(fy_mempool_alloc(pool, 3 * MIB, NULL, &b, NULL), FY_OK);
  assert_int_equal(device_bytes, small + 3 * MIB);  // what is large for the limit, to measure
  assert_int_equal(fy_mempool_alloc(pool, 60 * MIB, NULL, &c, NULL), FY_OK);
  assert_int_equal(device_bytes, small + 63 * MIB);
  fy_mempool_release(pool, b);
  fy_mempool_release(pool, c);
  fy_mempool_trim(pool, 6 * MIB);
  assert_true(device_bytes <= 6 * MIB);
  fy_mempool_trim(pool, 0);
  assert_int_equal(device_bytes, small);
  fy_mempool_stats_get(pool, &s);
  assert_int_equal(s.num_allocs, 3);
  assert_int_equal(s.bytes_in_use, 256);
  assert_true(s.largest_alloc_bytes >= 60 * MIB && s.limit_bytes == 100 * MIB);
  fy_mempool_reset_peak(pool);
  fy_mempool_stats_get(pool, &s);
  assert_int_equal(s.peak_bytes_in_use, 256);
  assert_int_equal(s.num_allocs, 0);
  fy_mempool_free(pool);  // also with |a| still out
  assert_int_equal(device_bytes, 0);
}

static void limits(void **state) {
  (void)state;
  fy_mempool *pool = fy_mempool_new(&gpu, 10 * MIB);
  fy_error err;
  void *a, *b, *c;
  fy_error_init(&err);
  assert_int_equal(fy_mempool_alloc(pool, 6 * MIB, "layer1/conv", &a, &err), FY_OK);
  assert_int_equal(fy_mempool_alloc(pool, 3 * MIB, "layer2/conv", &b, &err), FY_OK);
  assert_int_equal(fy_mempool_alloc(pool, 2 * MIB, "x", &c, &err), FY_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(fy_error_text(&err), "true shortage"));
  assert_non_null(
      strstr(fy_error_text(&err), "6.00MiB from layer1/conv\n  3.00MiB from layer2/conv"));
  assert_true(device_bytes <= 10 * MIB);
  fy_mempool_set_limit(pool, 20 * MIB);  // may be raised at any time
  assert_int_equal(fy_mempool_alloc(pool, 2 * MIB, "x", &c, &err), FY_OK);
  fy_mempool_set_limit(pool, 4 * MIB);  // and lowered: what is in use stays, new requests fail
  fy_mempool_release(pool, c);
  assert_int_equal(fy_mempool_alloc(pool, 256, "x", &c, &err), FY_RESOURCE_EXHAUSTED);
  fy_mempool_release(pool, a);
  assert_int_equal(fy_mempool_alloc(pool, 256, "x", &c, &err), FY_OK);
  fy_mempool_release(pool, c);
  fy_mempool_release(pool, b);
  assert_true(device_bytes <= 4 * MIB);
  // Wholly free regions are given back for one large request.
  fy_mempool_set_limit(pool, 8 * MIB);
  assert_int_equal(fy_mempool_alloc(pool, 2 * MIB, "x", &a, &err), FY_OK);
  fy_mempool_release(pool, a);
  assert_int_equal(fy_mempool_alloc(pool, 8 * MIB, "x", &a, &err), FY_OK);
  assert_int_equal(fy_mempool_alloc(pool, SIZE_MAX, "x", &b, &err), FY_RESOURCE_EXHAUSTED);
  fy_mempool_free(pool);
  fy_error_clear(&err);
  assert_int_equal(device_bytes, 0);
}

static void fragmentation(void **state) {
  (void)state;
  fy_mempool *pool = fy_mempool_new(&gpu, 2 * MIB);
  fy_error err;
  void *p[512], *big;
  fy_error_init(&err);
  for (int i = 0; i < 512; i++) {
    char name[16];
    snprintf(name, sizeof name, "node%d", i % 8);
    assert_int_equal(fy_mempool_alloc(pool, MIB / 256, name, &p[i], &err), FY_OK);
  }
  for (int i = 0; i < 512; i += 2) fy_mempool_release(pool, p[i]);
  assert_int_equal(fy_mempool_alloc(pool, MIB / 2, "big", &big, &err), FY_RESOURCE_EXHAUSTED);
  const char *text = fy_error_text(&err);
  assert_non_null(strstr(text, "This is fragmentation"));
  assert_non_null(strstr(text, "free inside the pool 1.00MiB, largest piece 4.0KiB"));
  assert_non_null(strstr(text, "256.0KiB from node1\n  256.0KiB from node3\n"));
  fy_mempool_free(pool);
  // The driver itself says no.
  device_capacity = MIB;
  pool = fy_mempool_new(&gpu, 100 * MIB);
  assert_int_equal(fy_mempool_alloc(pool, MIB / 2, "x", &big, &err),
                   FY_OK);  // 2 MiB refused, less taken
  assert_int_equal(fy_mempool_alloc(pool, MIB, "y", &big, &err), FY_RESOURCE_EXHAUSTED);
  assert_non_null(
      strstr(fy_error_text(&err), "The device refused to give more: the driver has no"));
  device_capacity = SIZE_MAX;
  fy_mempool_free(pool);
  fy_error_clear(&err);
}

static void tensors(void **state) {
  (void)state;
  fy_error err;
  fy_tensor *t, *back;
  const int64_t dims[] = {2, 3}, many[] = {1 << 20, 1 << 20};
  const float values[] = {1, 2, 3, 4, 5, 6};
  fy_error_init(&err);
  gpu.memory = fy_mempool_new(&gpu, 4 * MIB);
  assert_int_equal(fy_memory_tensor(&gpu, FY_FLOAT, 2, many, "n", &t, &err), FY_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(fy_error_text(&err),
                         "OOM when allocating tensor with shape[1048576,1048576] and type float on "
                         "/device:GPU:0 by allocator GPU_0_bfc"));
  assert_int_equal(fy_memory_tensor(&gpu, FY_STRING, 2, dims, "n", &t, &err), FY_INVALID_ARGUMENT);
  fy_tensor *host;
  assert_int_equal(fy_tensor_from(FY_FLOAT, 2, dims, values, &host, &err), FY_OK);
  assert_int_equal(fy_memory_copy_tensor(host, &gpu, &t, &err), FY_OK);
  assert_ptr_equal(t->device, &gpu);
  assert_int_equal(fy_memory_copy_tensor(t, NULL, &back, &err), FY_OK);
  assert_true(fy_tensor_equal(host, back));
  fy_tensor_release(back);
  fy_tensor_release(host);
  fy_tensor_release(t);
  fy_mempool_stats s;
  fy_mempool_stats_get(gpu.memory, &s);
  assert_int_equal(s.bytes_in_use, 0);
  fy_mempool_free(gpu.memory);
  gpu.memory = NULL;
  fy_error_clear(&err);
}

static void host_counting(void **state) {
  (void)state;
  fy_error err;
  fy_mempool_stats s;
  fy_tensor *a, *b;
  const int64_t dims[] = {1000};
  void *p;
  fy_error_init(&err);
  cpu.memory = fy_mempool_new(&cpu, 10000);
  assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, dims, "n", &a, &err), FY_OK);
  assert_true(fy_tensor_is_exclusive(a) && !a->device);
  assert_int_equal(fy_memory_tensor(&cpu, FY_FLOAT, 1, dims, "n", &b, &err), FY_OK);
  fy_mempool_stats_get(cpu.memory, &s);
  assert_true(s.bytes_in_use >= 8000 && s.peak_bytes_in_use == s.bytes_in_use && s.num_allocs == 2);
  fy_tensor_release(b);
  assert_int_equal(fy_memory_tensor(&cpu, FY_DOUBLE, 1, dims, "n", &b, &err),
                   FY_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(fy_error_text(&err),
                         "OOM when allocating tensor with shape[1000] and type "
                         "double on /device:CPU:0 by allocator cpu: "));
  assert_int_equal(fy_mempool_alloc(cpu.memory, 100000, "n", &p, &err), FY_RESOURCE_EXHAUSTED);
  fy_mempool_set_limit(cpu.memory, 0);
  assert_int_equal(fy_memory_tensor(&cpu, FY_DOUBLE, 1, dims, "n", &b, &err), FY_OK);
  fy_tensor_release(b);
  assert_int_equal(fy_mempool_alloc(cpu.memory, 100000, "n", &p, &err), FY_OK);
  memset(p, 1, 100000);
  fy_mempool_release(cpu.memory, p);
  fy_mempool_stats_get(cpu.memory, &s);
  assert_true(s.bytes_in_use >= 4000 && s.bytes_in_use < 5000 && s.peak_bytes_in_use >= 100000);
  assert_int_equal(fy_memory_tensor(&cpu, FY_STRING, 1, dims, "n", &b, &err), FY_OK);
  assert_true(fy_tensor_set_string(b, 0, "a string that needs the heap, surely", 36));
  fy_mempool_free(cpu.memory);  // tensors outlive the device: TF_Tensor after the session is closed
  fy_tensor_release(b);
  fy_tensor_release(a);
  cpu.memory = NULL;
  fy_error_clear(&err);
}

static void *hammer(void *arg) {
  fy_mempool *pool = arg;
  uint32_t x = 12345;
  void *p[16] = {0};
  for (int i = 0; i < 20000; i++) {
    x = x * 1664525 + 1013904223;
    void **at = &p[x >> 28];
    fy_mempool_release(pool, *at);
    *at = NULL;
    assert_int_equal(fy_mempool_alloc(pool, (x >> 12) & 0xffff, "thread", at, NULL), FY_OK);
  }
  for (int i = 0; i < 16; i++) fy_mempool_release(pool, p[i]);
  return NULL;
}

static void threads(void **state) {
  (void)state;
  fy_thread t[4];
  gpu.memory = fy_mempool_new(&gpu, 0);
  cpu.memory = fy_mempool_new(&cpu, 0);
  for (int i = 0; i < 4; i++) {
    assert_true(fy_thread_start(&t[i], hammer, i % 2 ? gpu.memory : cpu.memory, "hammer"));
  }
  for (int i = 0; i < 4; i++) fy_thread_join(t[i]);
  fy_mempool_stats s;
  fy_mempool_stats_get(gpu.memory, &s);
  assert_int_equal(s.bytes_in_use, 0);
  fy_mempool_stats_get(cpu.memory, &s);
  assert_int_equal(s.bytes_in_use, 0);
  fy_mempool_free(gpu.memory);
  fy_mempool_free(cpu.memory);
  gpu.memory = cpu.memory = NULL;
}

// Every host allocation and every device allocation fails once; nothing leaks, the pool stays
// whole.
static void memory_short(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    fy_fault what = kind ? FY_FAULT_DEVICE_ALLOC : FY_FAULT_ALLOC;
    bool seen = true;
    for (int nth = 1; seen; nth++) {
      fy_fault_arm(what, nth, true);
      fy_mempool *pool = fy_mempool_new(&gpu, 0);
      gpu.memory = pool;
      const int64_t dims[] = {1 << 20};
      fy_tensor *t[3] = {0};
      for (int i = 0; pool && i < 3; i++) {
        fy_error err;
        fy_error_init(&err);
        fy_code code = fy_memory_tensor(&gpu, FY_FLOAT, 1, dims, "n", &t[i], &err);
        assert_true(code == FY_OK ? t[i] != NULL : t[i] == NULL && code == FY_RESOURCE_EXHAUSTED);
        fy_error_clear(&err);
      }
      seen = fy_fault_hits(what) >= nth;
      fy_fault_disarm(what);
      for (int i = 0; i < 3; i++) fy_tensor_release(t[i]);
      if (pool) {
        void *p;
        assert_int_equal(fy_mempool_alloc(pool, 1000, "after", &p, NULL), FY_OK);
      }
      fy_mempool_free(pool);
      assert_int_equal(device_bytes, 0);
    }
  }
  gpu.memory = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_use), cmocka_unit_test(growth_and_trim),
      cmocka_unit_test(limits),     cmocka_unit_test(fragmentation),
      cmocka_unit_test(tensors),    cmocka_unit_test(host_counting),
      cmocka_unit_test(threads),    cmocka_unit_test(memory_short)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
