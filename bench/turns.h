// SPDX-License-Identifier: Apache-2.0
// turns.h: players (libraries) that take short turns at the same work, each a process that lives through
// all of them. Who does not play is stopped, because threads of a library go on spinning after a call, on
// the cores that the next one needs. Whatever the machine does meanwhile meets all of them, so the
// middle of the ratios turn by turn says more than two times that were taken minutes apart.

#ifndef FY_BENCH_TURNS_H
#define FY_BENCH_TURNS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS_MOST    101   // turns
#define TURNS_SLOT    8e-3  // seconds of one, if it is more than two calls
#define TURNS_BATCHES 8     // of calls in a turn; the least counts

typedef struct turns_player {
  pid_t pid;
  int from;
  double took[TURNS_MOST];  // seconds of a call, turn by turn
} turns_player;

static inline double turns_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// In a player's process, which is ready: call(arg), turn by turn, for ever. The first calls of a turn find
// nothing in the caches and do not count.
static inline void turns_play(int to, void (*call)(void *), void *arg) {
  int reps = 0;
  for (;;) {
    double best = 1e9;
    raise(SIGSTOP);
    const double t0 = turns_now();
    call(arg);
    if (!reps) reps = 1 + (int)(TURNS_SLOT / TURNS_BATCHES / (turns_now() - t0));
    for (int k = 1; k < reps; k++) call(arg);
    double start = turns_now(), end;
    for (int n = 0; n < 2 || (n < TURNS_BATCHES && start - t0 < TURNS_SLOT * 1.5); n++) {
      for (int k = 0; k < reps; k++) call(arg);
      end = turns_now();
      if (end - start < best) best = end - start;
      start = end;
    }
    best /= reps;
    if (write(to, &best, sizeof best) != sizeof best) _exit(1);
  }
}

static inline int turns_stopped(const turns_player *p) {
  int how = 0;
  return p->pid > 0 && waitpid(p->pid, &how, WUNTRACED) == p->pid && WIFSTOPPED(how);
}

// Starts begin(arg, who, to), which gets ready and calls turns_play, or returns. False: it returned.
static inline int turns_start(turns_player *p, void (*begin)(void *arg, int who, int to), void *arg,
                              int who) {
  int ends[2];
  memset(p, 0, sizeof *p);
  if (pipe(ends)) return 0;
  p->from = ends[0];
  p->pid = fork();
  if (p->pid == 0) {
    begin(arg, who, ends[1]);
    _exit(1);
  }
  close(ends[1]);
  if (turns_stopped(p)) return 1;
  close(ends[0]);
  p->pid = 0;
  return 0;
}

static inline void turns_end(turns_player *p) {
  if (p->pid <= 0) return;
  kill(p->pid, SIGKILL);
  waitpid(p->pid, NULL, 0);
  close(p->from);
}

// |turns| times everybody that is there, each turn beginning with another one.
static inline void turns_take(turns_player *players, int n, int turns) {
  for (int t = 0; t < turns; t++) {
    for (int i = 0; i < n; i++) {
      turns_player *p = &players[(i + t) % n];
      if (p->pid <= 0) continue;
      kill(p->pid, SIGCONT);
      if (read(p->from, &p->took[t], sizeof p->took[t]) != sizeof p->took[t] || !turns_stopped(p)) {
        turns_end(p);
        p->pid = 0;
      }
    }
  }
}

static int turns_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The middle of what |p| took, or with |by| of by's time over p's, turn by turn; 0: was not there. |part|:
// 0.5 is the middle, 0 the least.
static inline double turns_middle(const turns_player *p, const turns_player *by, int turns,
                                  double part) {
  double all[TURNS_MOST];
  if (p->pid <= 0 || (by && by->pid <= 0)) return 0;
  for (int t = 0; t < turns; t++) all[t] = by ? by->took[t] / p->took[t] : p->took[t];
  qsort(all, (size_t)turns, sizeof *all, turns_compare);
  return all[(int)(part * (turns - 1))];
}

#endif
