// SPDX-License-Identifier: Apache-2.0
// session_partial.c: handles of partial runs. A handle is a number as text: whatever the client
// does with its string, the run itself belongs to the session.

#include <stdatomic.h>
#include <stdlib.h>

#include "api/session.h"
#include "base/alloc.h"

static void free_partial(fy_api_partial *p) {
  fy_partial_free(p->run);
  fy_free(p);
}

void fy_api_partials_free(TF_Session *s) {
  while (s->partials) {
    fy_api_partial *p = s->partials;
    s->partials = p->next;
    free_partial(p);
  }
}

fy_code fy_api_partial_setup(TF_Session *s, const fy_run_args *args, char **handle, fy_error *err) {
  static atomic_uint_least64_t last;
  fy_str name;
  *handle = NULL;
  fy_api_partial *p = fy_calloc(1, sizeof *p);
  if (!p) return fy_fail_oom(err, sizeof *p);
  p->number = atomic_fetch_add(&last, 1) + 1;
  fy_code code = fy_partial_new(s->session, args, &p->run, err);
  if (!code) {
    fy_str_init(&name);
    fy_str_printf(&name, "partial_run_%llu", (unsigned long long)p->number);
    *handle = fy_str_take(&name);
    if (!*handle) code = fy_fail_oom(err, 32);
  }
  if (code) {
    free_partial(p);
    return code;
  }
  fy_lock(&s->lock);
  p->next = s->partials;
  s->partials = p;
  fy_unlock(&s->lock);
  return FY_OK;
}

static fy_api_partial *find(TF_Session *s, const char *handle) {
  uint64_t number = 0;
  if (handle && strncmp(handle, "partial_run_", 12) == 0) number = strtoull(handle + 12, NULL, 10);
  fy_lock(&s->lock);
  fy_api_partial *p = s->partials;
  while (p && (p->number != number || p->finished)) p = p->next;
  if (p) p->users++;
  fy_unlock(&s->lock);
  return p;
}

static void let_go(TF_Session *s, fy_api_partial *p, bool finished) {
  fy_lock(&s->lock);
  if (finished) p->finished = true;
  bool last = --p->users == 0 && p->finished;
  if (last) {
    fy_api_partial **at = &s->partials;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
  }
  fy_unlock(&s->lock);
  if (last) free_partial(p);
}

fy_code fy_api_partial_run(TF_Session *s, const char *handle, const fy_run_args *args,
                           fy_tensor **results, fy_error *err) {
  bool done;
  for (int i = 0; i < args->num_fetches; i++) results[i] = NULL;
  fy_api_partial *p = find(s, handle);
  if (!p)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Must run 'setup' before performing partial runs!");
  fy_code code = fy_partial_run(p->run, args, results, &done, err);
  let_go(s, p, done);
  return code;
}

void TF_DeletePRunHandle(const char *handle) {
  fy_free((void *)(uintptr_t)handle);
}
