// SPDX-License-Identifier: Apache-2.0
// text_each.c: the elements of a string tensor by several threads.

#include "base/thread.h"
#include "ops/text.h"

typedef struct each_job {
  fy_text_fn fn;
  const void *job;
  fy_mutex lock;  // guards what follows
  int64_t bad;    // the first element that failed
  fy_code code;
  fy_error *err;
} each_job;

static void each(void *arg, int64_t begin, int64_t end) {
  each_job *j = arg;
  fy_code code = FY_OK;
  fy_error err;
  fy_str s;
  int64_t i = begin;
  fy_error_init(&err);
  fy_str_init(&s);
  while (i < end && !(code = j->fn(j->job, i, &s, &err))) i++;
  fy_str_free(&s);
  if (!code) return;
  fy_lock(&j->lock);
  if (!j->code || i < j->bad) {
    j->bad = i;
    j->code = code;
    if (j->err) {
      fy_error_clear(j->err);
      fy_error_move(j->err, &err);
    }
  }
  fy_unlock(&j->lock);
  fy_error_clear(&err);
}

fy_code fy_text_each(fy_kernel_ctx *ctx, int64_t n, double ns, fy_text_fn fn, const void *job,
                     fy_error *err) {
  each_job j = {.fn = fn, .job = job, .err = err};
  fy_mutex_init(&j.lock);
  fy_parallel(ctx, n, ns, each, &j);
  fy_mutex_destroy(&j.lock);
  return j.code;
}
