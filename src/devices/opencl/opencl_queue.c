// SPDX-License-Identifier: Apache-2.0
// opencl_queue.c: what is in flight, and what waits for what.
//
// Three queues work in order, each on its own. The memory planner and the pools hand out memory
// again as soon as its last user was *issued*; within a queue that is right because of the order,
// across queues it is not. So each piece of work remembers which bytes it reads and writes, and new
// work waits for whatever in flight on another queue it would collide with. Because queues are in
// order, one event per other queue is enough: that of the newest such work.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <string.h>

#include "base/alloc.h"
#include "memory/pool.h"

static void note_failure(fy_ocl_queue *q, uint64_t seq) {
  q->failed[q->num_failed++ % 16] = seq;
}

static bool has_failed(const fy_ocl_queue *q, uint64_t seq) {
  int n = q->num_failed < 16 ? q->num_failed : 16;
  for (int i = 0; i < n; i++)
    if (q->failed[i] == seq) return true;
  return false;
}

// Forgets what is done, oldest first.
static void retire(fy_ocl *o, fy_ocl_queue *q) {
  while (q->num) {
    fy_ocl_work *w = &q->work[q->first];
    cl_int status = CL_QUEUED;
    if (o->cl->GetEventInfo(w->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                            NULL))
      status = -1;
    if (status > CL_COMPLETE) return;
    if (status < 0) note_failure(q, w->seq);
    o->cl->ReleaseEvent(w->event);
    q->first++;
    q->num--;
    o->flying--;
  }
  q->first = 0;
}

// Busy is the time from the first kernel that found the queue empty until it was seen empty again.
static void note_idle(fy_ocl *o) {
  if (!o->busy_from || o->queues[FY_QUEUE_COMPUTE].num) return;
  fy_mempool_busy(o->device->memory, fy_now_ns() - o->busy_from);
  o->busy_from = 0;
}

void fy_ocl_note_done(fy_ocl *o) {
  fy_lock(&o->lock);
  retire(o, &o->queues[FY_QUEUE_COMPUTE]);
  note_idle(o);
  fy_unlock(&o->lock);
}

static fy_ocl_work *find_work(fy_ocl_queue *q, uint64_t seq) {
  if (!q->num) return NULL;
  fy_ocl_work *w = &q->work[q->first];
  return seq >= w->seq && seq - w->seq < q->num ? w + (seq - w->seq) : NULL;
}

static bool collide(const fy_ocl_work *w, const fy_ocl_range *r, int n) {
  for (int i = 0; i < w->num_ranges; i++)
    for (int k = 0; k < n; k++)
      if ((w->ranges[i].write || r[k].write) && w->ranges[i].begin < r[k].end &&
          r[k].begin < w->ranges[i].end)
        return true;
  return false;
}

int fy_ocl_dependencies(fy_ocl *o, fy_queue queue, const fy_ocl_range *ranges, int num_ranges,
                        const fy_event *after, int num_after, cl_event *out) {
  int n = 0;
  for (int i = 0; i < FY_QUEUES; i++) {
    fy_ocl_queue *q = &o->queues[i];
    if (i == (int)queue) continue;
    retire(o, q);
    fy_ocl_work *last = NULL;
    for (size_t k = q->num; k > 0 && !last; k--) {
      fy_ocl_work *w = &q->work[q->first + k - 1];
      if (collide(w, ranges, num_ranges)) last = w;
    }
    for (int k = 0; k < num_after; k++) {
      if (after[k].device != o->device || after[k].queue != i) continue;
      fy_ocl_work *w = find_work(q, after[k].seq);
      if (w && (!last || w->seq > last->seq)) last = w;
    }
    if (!last) continue;
    o->cl->RetainEvent(last->event);
    out[n++] = last->event;
  }
  return n;
}

void fy_ocl_drop_events(fy_ocl *o, cl_event *events, int n) {
  for (int i = 0; i < n; i++) o->cl->ReleaseEvent(events[i]);
}

fy_code fy_ocl_push(fy_ocl *o, fy_queue queue, cl_event event, const fy_ocl_range *ranges,
                    int num_ranges, fy_event *done, fy_error *err) {
  fy_ocl_queue *q = &o->queues[queue];
  retire(o, q);
  if (queue == FY_QUEUE_COMPUTE) note_idle(o);
  if (queue == FY_QUEUE_COMPUTE && !q->num) o->busy_from = fy_now_ns();
  if (q->first) {
    memmove(q->work, q->work + q->first, q->num * sizeof *q->work);
    q->first = 0;
  }
  if (!fy_grow(&q->work, &q->cap, q->num + 1, sizeof *q->work)) {
    o->cl->WaitForEvents(1, &event);  // it runs; without memory it cannot be kept track of
    o->cl->ReleaseEvent(event);
    return fy_fail_oom(err, sizeof *q->work);
  }
  fy_ocl_work *w = &q->work[q->num++];
  o->flying++;
  w->seq = ++q->seq;
  w->event = event;
  w->num_ranges = num_ranges;
  memcpy(w->ranges, ranges, (size_t)num_ranges * sizeof *ranges);
  if (done) *done = (fy_event){.device = o->device, .queue = (int32_t)queue, .seq = w->seq};
  (void)o->cl->Flush(q->queue);
  return FY_OK;
}

fy_code fy_ocl_wait_foreign(fy_ocl *o, const fy_event *after, int n, fy_error *err) {
  for (int i = 0; i < n; i++) {
    const fy_event *e = &after[i];
    if (!e->device) continue;
    if (e->device != o->device) {
      FY_TRY((fy_code)e->device->ops->wait(e->device, e, err));
      continue;
    }
    fy_lock(&o->lock);
    bool exists =
        e->queue >= 0 && e->queue < FY_QUEUES && e->seq > 0 && e->seq <= o->queues[e->queue].seq;
    fy_unlock(&o->lock);
    if (!exists)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s is asked to wait for event %llu of queue %d, which was never issued",
                     o->device->name, (unsigned long long)e->seq, (int)e->queue);
  }
  return FY_OK;
}

int fy_ocl_wait(fy_device *d, const fy_event *e, fy_error *err) {
  fy_ocl *o = fy_ocl_of(d);
  if (!e->device) return FY_OK;
  if (e->device != d || e->queue < 0 || e->queue >= FY_QUEUES)
    return (int)fy_fail(err, FY_INVALID_ARGUMENT, "%s is asked to wait for an event of %s", d->name,
                        e->device->name);
  fy_ocl_queue *q = &o->queues[e->queue];
  cl_event event = NULL;
  fy_lock(&o->lock);
  bool exists = e->seq > 0 && e->seq <= q->seq;
  fy_ocl_work *w = find_work(q, e->seq);
  if (w) {
    event = w->event;
    o->cl->RetainEvent(event);
  }
  bool failed = has_failed(q, e->seq);
  fy_unlock(&o->lock);
  if (!exists)
    return (int)fy_fail(err, FY_INVALID_ARGUMENT,
                        "%s is asked to wait for event %llu of queue %d, which was never issued",
                        d->name, (unsigned long long)e->seq, (int)e->queue);
  if (event) {
    cl_int code = o->cl->WaitForEvents(1, &event), status = CL_COMPLETE;
    (void)o->cl->GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                              NULL);
    o->cl->ReleaseEvent(event);
    if (e->queue == FY_QUEUE_COMPUTE) fy_ocl_note_done(o);
    if (code || status < 0) return (int)fy_ocl_fail(o, "running", status < 0 ? status : code, err);
  }
  return failed ? (int)fy_fail(err, FY_INTERNAL, "%s: work %llu of queue %d failed", d->name,
                               (unsigned long long)e->seq, (int)e->queue)
                : FY_OK;
}

#else
typedef int fy_opencl_queue_is_empty;
#endif
