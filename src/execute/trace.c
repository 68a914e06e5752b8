// SPDX-License-Identifier: Apache-2.0
#include "execute/trace.h"

#include "base/alloc.h"

void fy_trace_init(fy_trace *t) {
  *t = (fy_trace){0};
  fy_mutex_init(&t->lock);
  fy_arena_init(&t->arena);
}

void fy_trace_free(fy_trace *t) {
  fy_free(t->events);
  fy_program_release(t->program);
  fy_arena_free(&t->arena);
  fy_mutex_destroy(&t->lock);
}

void fy_trace_add(fy_trace *t, const fy_trace_event *e) {
  fy_lock(&t->lock);
  if (fy_grow(&t->events, &t->cap, t->n + 1, sizeof *t->events)) {
    fy_trace_event *to = &t->events[t->n];
    *to = *e;
    // The program may be gone before the trace is read: keep the names and dims.
    to->node = fy_arena_strdup(&t->arena, e->node);
    to->op = fy_arena_strdup(&t->arena, e->op);
    to->cause = e->cause ? fy_arena_strdup(&t->arena, e->cause) : NULL;
    to->why = e->why ? fy_arena_strdup(&t->arena, e->why) : NULL;
    to->out_dims =
        e->out_dims && e->out_rank > 0
            ? fy_arena_memdup(&t->arena, e->out_dims, (size_t)e->out_rank * sizeof *e->out_dims)
            : NULL;
    if (to->node && to->op && (to->out_dims || e->out_rank <= 0)) t->n++;
  }
  fy_unlock(&t->lock);
}
