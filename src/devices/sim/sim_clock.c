// SPDX-License-Identifier: Apache-2.0
// sim_clock.c: virtual time. Work happens at once in reality; what is modelled is when it would
// have.
//
// Each device has three queues (compute, in, out), as GPUs have copy engines beside the compute
// one. A piece of work starts when its queue is free, everything it waits for has happened and whoever
// asks for it has seen what it waited for (base/vtime.h), and ends its cost later. Nothing else moves
// time, so the same program always gets the same timeline,
// whatever the machine: tests can compare exact numbers.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vtime.h"
#include "devices/sim/sim_impl.h"

fy_code fy_sim_ready(fy_sim *s, const fy_event *after, int n, int64_t *out_ready_ns,
                     fy_error *err) {
  int64_t ready = 0;
  *out_ready_ns = 0;
  for (int i = 0; i < n; i++) {
    const fy_event *e = &after[i];
    if (!e->device) continue;
    fy_sim *other = fy_sim_is(e->device) ? fy_sim_of(e->device) : NULL;
    if (!other || other->clock != s->clock) {  // real hardware, or another session: no common time
      FY_TRY((fy_code)e->device->ops->wait(e->device, e, err));
      continue;
    }
    fy_lock(&s->clock->lock);
    bool exists = e->queue >= 0 && e->queue < FY_QUEUES && e->seq > 0 &&
                  e->seq <= other->queues[e->queue].seq;
    fy_unlock(&s->clock->lock);
    if (!exists) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s is asked to wait for event %llu of queue %d of %s, which was never issued",
                     s->device->name, (unsigned long long)e->seq, (int)e->queue, e->device->name);
    }
    if (e->at_ns > ready) ready = e->at_ns;
  }
  *out_ready_ns = ready;
  return FY_OK;
}

static void log_entry(fy_sim *s, fy_queue queue, int64_t start, int64_t end, const char *name,
                      uint64_t bytes) {
  if (!s->log) s->log = fy_calloc(FY_SIM_LOG, sizeof *s->log);
  if (s->log) {
    fy_sim_entry *e = &s->log[s->log_total % FY_SIM_LOG];
    *e = (fy_sim_entry){.queue = queue, .start_ns = start, .end_ns = end, .bytes = bytes};
    snprintf(e->name, sizeof e->name, "%s", name ? name : "");
  }
  s->log_total++;
}

void fy_sim_work(fy_sim *s, fy_queue queue, fy_sim *other, fy_queue other_queue, int64_t ready_ns,
                 double cost_ns, const char *name, uint64_t bytes, fy_event *done) {
  const fy_vtime asked = fy_vtime_get();
  if (asked.clock == s->clock->number && asked.ns > ready_ns) ready_ns = asked.ns;
  fy_lock(&s->clock->lock);
  fy_sim_queue *q = &s->queues[queue], *o = other ? &other->queues[other_queue] : NULL;
  int64_t start = ready_ns > q->free_at_ns ? ready_ns : q->free_at_ns;
  if (o && o->free_at_ns > start) start = o->free_at_ns;
  int64_t end = start + (int64_t)llround(cost_ns < 9e17 ? cost_ns : 9e17);
  q->free_at_ns = end;
  q->seq++;
  log_entry(s, queue, start, end, name, bytes);
  if (o) {
    o->free_at_ns = end;
    o->seq++;
    log_entry(other, other_queue, start, end, name, bytes);
  }
  if (done) {
    *done = (fy_event){.device = s->device, .queue = (int32_t)queue, .seq = q->seq, .at_ns = end};
  }
  fy_unlock(&s->clock->lock);
}

void fy_sim_mark(fy_sim *s, fy_queue queue, int64_t ready_ns, fy_event *done) {
  if (!done) return;
  fy_lock(&s->clock->lock);
  fy_sim_queue *q = &s->queues[queue];
  q->seq++;
  *done = (fy_event){.device = s->device,
                     .queue = (int32_t)queue,
                     .seq = q->seq,
                     .at_ns = ready_ns > q->free_at_ns ? ready_ns : q->free_at_ns};
  fy_unlock(&s->clock->lock);
}

// Everything issued has really been done already; only a lost device can disappoint.
int fy_sim_wait(fy_device *d, const fy_event *event, fy_error *err) {
  fy_sim *s = fy_sim_of(d);
  int64_t at;
  fy_code code = fy_sim_alive(s, err);
  if (code || !event || event->device != d) return (int)code;
  code = fy_sim_ready(s, event, 1, &at, err);
  if (!code) fy_vtime_wait(s->clock->number, at);
  return (int)code;
}

// --- for tests and reports ---

size_t fy_sim_log(fy_device *d, fy_sim_entry *out, size_t max) {
  fy_sim *s = fy_sim_of(d);
  fy_lock(&s->clock->lock);
  uint64_t n = s->log ? s->log_total : 0;
  if (n > FY_SIM_LOG) n = FY_SIM_LOG;
  if (n > max) n = max;
  for (uint64_t i = 0; i < n; i++) out[i] = s->log[(s->log_total - n + i) % FY_SIM_LOG];
  fy_unlock(&s->clock->lock);
  return (size_t)n;
}

uint64_t fy_sim_log_total(fy_device *d) {
  fy_sim *s = fy_sim_of(d);
  fy_lock(&s->clock->lock);
  uint64_t n = s->log_total;
  fy_unlock(&s->clock->lock);
  return n;
}

int64_t fy_sim_now_ns(fy_device *d) {
  fy_sim *s = fy_sim_of(d);
  int64_t now = 0;
  fy_lock(&s->clock->lock);
  for (int i = 0; i < FY_QUEUES; i++) {
    if (s->queues[i].free_at_ns > now) now = s->queues[i].free_at_ns;
  }
  fy_unlock(&s->clock->lock);
  return now;
}
