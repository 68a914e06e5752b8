// limits.c: what this machine could do at best, for each benchmark, measured by probes that use no
// library under test. README.md says how each limit is put together and what it leaves out.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ELEMENTS = 1000000, CHAIN_NODES = 10000, MAX_THREADS = 64 };

void limits_nothing(void *unused);

static void call_library(void *context) {
  limits_nothing(context);
}

static void allocate_and_free(void *context) {
  void *volatile block = malloc(128);
  (void)context;
  free(block);
}

static void lock_and_unlock(void *mutex) {
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
}

// The chain's own arithmetic: each result needs the one before, so latency is the limit.
static void dependent_arithmetic(void *value) {
  volatile float *cell = value;
  float x = *cell;
  for (int i = 0; i < CHAIN_NODES; i += 2) x = (x + 0.001f) * 0.999f;
  *cell = x;
}

// Work shared by as many threads as there are cores.
typedef struct team_member {
  pthread_t thread;
  void (*work)(struct team_member *);
  pthread_barrier_t *barrier;
  float *from, *to;
  size_t slice;  // elements of |from| and |to| that are this member's
  int repeats;
  double start, end;  // ns
} team_member;

static void *team_main(void *argument) {
  team_member *me = argument;
  me->work(me);  // warm
  pthread_barrier_wait(me->barrier);
  me->start = bench_now_ns();
  for (int i = 0; i < me->repeats; ++i) me->work(me);
  me->end = bench_now_ns();
  return NULL;
}

static int core_count(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
}

// Time of |repeats| rounds of |work| done by every core at once, from the first start to the last end: who
// only watches may be woken late.
static double team_ns(void (*work)(team_member *), float *from, float *to, size_t slice,
                      int repeats) {
  team_member team[MAX_THREADS];
  pthread_barrier_t barrier;
  int cores = core_count();
  pthread_barrier_init(&barrier, NULL, (unsigned)cores);
  for (int i = 0; i < cores; ++i) {
    team[i] = (team_member){.work = work,
                            .barrier = &barrier,
                            .from = from + slice * (size_t)i,
                            .to = to + slice * (size_t)i,
                            .slice = slice,
                            .repeats = repeats};
    pthread_create(&team[i].thread, NULL, team_main, &team[i]);
  }
  double start = 0, end = 0;
  for (int i = 0; i < cores; ++i) {
    pthread_join(team[i].thread, NULL);
    if (i == 0 || team[i].start < start) start = team[i].start;
    if (i == 0 || team[i].end > end) end = team[i].end;
  }
  pthread_barrier_destroy(&barrier);
  return end - start;
}

static void copy_slice(team_member *me) {
  memcpy(me->to, me->from, me->slice * sizeof(float));
}

enum { FMA_ROUNDS = 200000, FMA_CHAINS = 10 };

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void fma_512(team_member *me) {
  __m512 sums[FMA_CHAINS], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);
  for (int c = 0; c < FMA_CHAINS; ++c) sums[c] = _mm512_set1_ps((float)c);
  for (int i = 0; i < FMA_ROUNDS; ++i) {
#pragma GCC unroll 10
    for (int c = 0; c < FMA_CHAINS; ++c) sums[c] = _mm512_fmadd_ps(sums[c], a, b);
  }
  for (int c = 1; c < FMA_CHAINS; ++c) sums[0] = _mm512_add_ps(sums[0], sums[c]);
  _mm512_storeu_ps(me->to, sums[0]);
}

__attribute__((target("avx2,fma"))) static void fma_256(team_member *me) {
  __m256 sums[FMA_CHAINS], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);
  for (int c = 0; c < FMA_CHAINS; ++c) sums[c] = _mm256_set1_ps((float)c);
  for (int i = 0; i < FMA_ROUNDS; ++i) {
#pragma GCC unroll 10
    for (int c = 0; c < FMA_CHAINS; ++c) sums[c] = _mm256_fmadd_ps(sums[c], a, b);
  }
  for (int c = 1; c < FMA_CHAINS; ++c) sums[0] = _mm256_add_ps(sums[0], sums[c]);
  _mm256_storeu_ps(me->to, sums[0]);
}
#endif

// Floating-point operations per ns of all cores together; 0 where there is no probe.
static double peak_flops_per_ns(float *from, float *to) {
#if defined(__x86_64__)
  int wide = __builtin_cpu_supports("avx512f");
  if (!wide && !__builtin_cpu_supports("avx2")) return 0;
  double took = team_ns(wide ? fma_512 : fma_256, from, to, 64, 20);
  for (int i = 0; i < 30; i++) {  // a limit is what was reached once, whoever else was at work
    double again = team_ns(wide ? fma_512 : fma_256, from, to, 64, 20);
    if (again < took) took = again;
  }
  return 20.0 * FMA_ROUNDS * FMA_CHAINS * 2 * (wide ? 16 : 8) * core_count() / took;
#else
  (void)from, (void)to;
  return 0;
#endif
}

int main(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  double call = bench_ns_per_call(call_library, NULL);
  double allocation = bench_ns_per_call(allocate_and_free, NULL);
  double lock = bench_ns_per_call(lock_and_unlock, &mutex);
  volatile float value = 1.5f;
  double arithmetic = bench_ns_per_call(dependent_arithmetic, (void *)&value) / CHAIN_NODES;

  float *from = malloc(ELEMENTS * sizeof(float)), *to = malloc(ELEMENTS * sizeof(float));
  if (from == NULL || to == NULL) return 1;
  for (int i = 0; i < ELEMENTS; ++i) from[i] = to[i] = (float)i;
  size_t slice = (size_t)(ELEMENTS / core_count());
  double copy = team_ns(copy_slice, from, to, slice, 500) / 500 / ELEMENTS;
  double flops = peak_flops_per_ns(from, to);
  free(from);
  free(to);

  bench_report("probe:library_call_ns", call);
  bench_report("probe:malloc_free_ns", allocation);
  bench_report("probe:lock_unlock_ns", lock);
  bench_report("probe:dependent_flop_ns", arithmetic);
  bench_report("probe:copy_gb_per_s", 8 / copy);
  bench_report("probe:peak_gflop_per_s", flops);

  // NewOp, AddInput twice, Execute, DeleteOp, DeleteTensorHandle; the result is one allocation.
  bench_report("limit:eager_add", 6 * call + allocation);
  // SessionRun and DeleteTensor; one allocation; a lock, since any thread may close the session.
  bench_report("limit:session_one_op", 2 * call + allocation + lock);
  bench_report("limit:chain_node", arithmetic);
  // NewOperation, AddInput twice, FinishOperation, and one allocation per node.
  bench_report("limit:chain_first_result", CHAIN_NODES * (4 * call + allocation + arithmetic));
  // Every input read once, every output written once.
  bench_report("limit:elementwise", copy);
  for (double n = 32; flops > 0 && n <= 1024; n *= 2) {
    char name[32];
    snprintf(name, sizeof name, "limit:matmul_%d", (int)n);
    bench_report(name, 2 * n * n * n / flops);
  }
  return 0;
}
