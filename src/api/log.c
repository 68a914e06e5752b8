// SPDX-License-Identifier: Apache-2.0
// log.c: the one place that may write to stderr, and only what the user asked for: placement
// (log_device_placement) while no listener is registered, explanations (explain=stderr).

#include <stdatomic.h>
#include <stdio.h>

#include "api/session.h"
#include "tensorflow/c/c_api.h"

typedef void (*listener_fn)(const char *);
static _Atomic(listener_fn) log_listener;

void TF_RegisterLogListener(void (*listener)(const char *)) {
  atomic_store(&log_listener, listener);
}

// Listeners hear of placement only, as TensorFlow's do.
void fy_api_log_eager(bool warning, const char *text) {
  listener_fn fn = warning ? NULL : atomic_load(&log_listener);
  if (fn)
    fn(text);
  else
    fprintf(stderr, warning ? "%s\n" : "%s", text);
}

void fy_api_log_error(const char *text) {
  fputs(text, stderr);
}

void fy_api_log(const char *text) {
  listener_fn fn = atomic_load(&log_listener);
  if (fn)
    fn(text);
  else
    fprintf(stderr, "%s\n", text);
}
