// SPDX-License-Identifier: Apache-2.0
// thread.c: threads and clocks for POSIX.

#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#endif

#include "base/alloc.h"

#if defined(__x86_64__) || defined(__SSE2__)
#include <xmmintrin.h>
#endif

#define NS_PER_S 1000000000

static struct timespec to_timespec(int64_t ns) {
  if (ns < 0) ns = 0;
  return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

void fy_cond_init(fy_cond *c) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(c, &attr);
  pthread_condattr_destroy(&attr);
}

bool fy_cond_wait_until(fy_cond *c, fy_mutex *m, int64_t deadline_ns) {
  struct timespec at = to_timespec(deadline_ns);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
  // Names the clock, so that a condition from FY_COND_INIT works too.
  return pthread_cond_clockwait(c, m, CLOCK_MONOTONIC, &at) != ETIMEDOUT;
#else
  return pthread_cond_timedwait(c, m, &at) != ETIMEDOUT;
#endif
}

#if defined(__x86_64__) || defined(__SSE2__)
#define FLUSH 0x8040u  // results, and operands
// A new mode empties the queue of instructions: each of these in one line of code, or an eager call takes a third
// more (Zen 5: 99 ns, 135 where one goes on in the next line).
#define IN_ONE_LINE __attribute__((aligned(64)))
IN_ONE_LINE fy_float_mode fy_flush_denormals(void) {
  const unsigned now = _mm_getcsr();
  if ((now & FLUSH) != FLUSH) _mm_setcsr(now | FLUSH);
  return (fy_float_mode){now};
}
IN_ONE_LINE void fy_float_mode_restore(fy_float_mode mode) {
  if ((mode.bits & FLUSH) != FLUSH) _mm_setcsr((unsigned)mode.bits);  // reading it takes 7 ns
}
#elif defined(__aarch64__)
#define FLUSH (UINT64_C(1) << 24)
static void set_mode(uint64_t bits) {
  __asm__ volatile("msr fpcr, %0" : : "r"(bits));
}
fy_float_mode fy_flush_denormals(void) {
  uint64_t now;
  __asm__ volatile("mrs %0, fpcr" : "=r"(now));
  if (!(now & FLUSH)) set_mode(now | FLUSH);
  return (fy_float_mode){now};
}
void fy_float_mode_restore(fy_float_mode mode) {
  uint64_t now;
  __asm__ volatile("mrs %0, fpcr" : "=r"(now));
  if ((now ^ mode.bits) & FLUSH) set_mode((now & ~FLUSH) | (mode.bits & FLUSH));
}
#else
fy_float_mode fy_flush_denormals(void) {
  return (fy_float_mode){0};
}
void fy_float_mode_restore(fy_float_mode mode) {
  (void)mode;
}
#endif

bool fy_thread_start(fy_thread *out, void *(*fn)(void *), void *arg, const char *name) {
  if (fy_fault_due(FY_FAULT_ALLOC)) return false;
  // Signals belong to the program's own threads, never to ours.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const fy_float_mode mode = fy_flush_denormals();  // a new thread inherits it
  int failed = pthread_create(out, NULL, fn, arg);
  fy_float_mode_restore(mode);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) return false;
#ifdef __linux__
  if (name) {
    char cut[16];  // the kernel's limit
    snprintf(cut, sizeof cut, "%.15s", name);
    pthread_setname_np(*out, cut);
  }
#else
  (void)name;
#endif
  return true;
}

void fy_thread_step_back(void) {
#ifdef __linux__
  (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5);  // of a thread, on Linux
#endif
}

void fy_thread_bind(fy_thread t, int cpu) {
#ifdef __linux__
  cpu_set_t set;
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  pthread_setaffinity_np(t, sizeof set, &set);
#else
  (void)t, (void)cpu;
#endif
}

int64_t fy_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t fy_wall_micros(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void fy_sleep_ns(int64_t ns) {
  struct timespec left = to_timespec(ns);
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void fy_mutex_init_brief(fy_mutex *m) {
#ifdef __GLIBC__
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
  pthread_mutex_init(m, &attr);
  pthread_mutexattr_destroy(&attr);
#else
  pthread_mutex_init(m, NULL);
#endif
}

void fy_thread_yield(void) {
  sched_yield();
}

int fy_cpu_count(void) {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}
