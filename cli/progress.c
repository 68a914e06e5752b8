// SPDX-License-Identifier: Apache-2.0
// progress.c: a line on the terminal once something takes longer than a second. A thread waits for
// the end or the next second, whichever comes first; without a terminal there is no thread.

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static struct {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  const char *what;
  bool running, stop;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static void *watch(void *arg) {
  struct timespec at;
  int seconds = 0;
  (void)arg;
  clock_gettime(CLOCK_REALTIME, &at);
  pthread_mutex_lock(&state.lock);
  while (!state.stop) {
    at.tv_sec++;
    while (!state.stop && pthread_cond_timedwait(&state.ended, &state.lock, &at) == 0) continue;
    if (!state.stop) fprintf(stderr, "\rferry: %s, %d s", state.what, ++seconds);
  }
  if (seconds) fputs("\r\033[K", stderr);
  pthread_mutex_unlock(&state.lock);
  return NULL;
}

void cli_progress_start(const char *what) {
  if (state.running || !isatty(STDERR_FILENO)) return;
  state.what = what;
  state.stop = false;
  state.running = pthread_create(&state.thread, NULL, watch, NULL) == 0;
}

void cli_progress_stop(void) {
  if (!state.running) return;
  pthread_mutex_lock(&state.lock);
  state.stop = true;
  pthread_cond_signal(&state.ended);
  pthread_mutex_unlock(&state.lock);
  pthread_join(state.thread, NULL);
  state.running = false;
}
