// SPDX-License-Identifier: Apache-2.0
// thread.h: the one place that knows the platform's threads: locks, threads, clock, core counts.

#ifndef FY_BASE_THREAD_H
#define FY_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef pthread_mutex_t fy_mutex;
typedef pthread_cond_t fy_cond;
typedef pthread_t fy_thread;
#define FY_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define FY_COND_INIT  PTHREAD_COND_INITIALIZER

static inline void fy_mutex_init(fy_mutex *m) {
  pthread_mutex_init(m, NULL);
}
void fy_mutex_init_brief(fy_mutex *m);  // for locks held for nanoseconds: waits awake at first
static inline void fy_mutex_destroy(fy_mutex *m) {
  pthread_mutex_destroy(m);
}
static inline void fy_lock(fy_mutex *m) {
  pthread_mutex_lock(m);
}
static inline bool fy_trylock(fy_mutex *m) {
  return pthread_mutex_trylock(m) == 0;
}
static inline void fy_unlock(fy_mutex *m) {
  pthread_mutex_unlock(m);
}
void fy_cond_init(fy_cond *c);  // waits use the monotonic clock
static inline void fy_cond_destroy(fy_cond *c) {
  pthread_cond_destroy(c);
}
static inline void fy_cond_wait(fy_cond *c, fy_mutex *m) {
  pthread_cond_wait(c, m);
}
bool fy_cond_wait_until(fy_cond *c, fy_mutex *m, int64_t deadline_ns);  // false on timeout
static inline void fy_cond_signal(fy_cond *c) {
  pthread_cond_signal(c);
}
static inline void fy_cond_broadcast(fy_cond *c) {
  pthread_cond_broadcast(c);
}

// How the calling thread computes with floats, as fy_flush_denormals() found it.
typedef struct fy_float_mode {
  uint64_t bits;
} fy_float_mode;
// From now on numbers too small to be normal count as 0, read or written, as in all of TensorFlow's
// kernels; fy_float_mode_restore() makes it as it was. Nothing changes where the processor has no such mode.
fy_float_mode fy_flush_denormals(void);
void fy_float_mode_restore(fy_float_mode mode);

// Threads of the library flush denormals.
bool fy_thread_start(fy_thread *out, void *(*fn)(void *), void *arg, const char *name);
void fy_thread_bind(fy_thread t, int cpu);  // a wish: an unknown CPU leaves the thread unbound
static inline void fy_thread_join(fy_thread t) {
  pthread_join(t, NULL);
}

int64_t fy_now_ns(void);       // monotonic
int64_t fy_wall_micros(void);  // since 1970
// The calling thread lets others go first from now on, where the system knows how.
void fy_thread_step_back(void);
void fy_sleep_ns(int64_t ns);
void fy_thread_yield(void);  // lets another thread have the core
int fy_cpu_count(void);      // CPUs this process may run on, at least 1
static inline void fy_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#endif
