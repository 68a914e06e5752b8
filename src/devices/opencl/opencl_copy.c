// SPDX-License-Identifier: Apache-2.0
// opencl_copy.c: copies between host and device, each direction on its own queue.
//
// A device that is a CPU has its memory in ours: the caller copies itself, once nothing in flight uses
// those bytes (by_hand). For all others: callers may reuse or free host memory as soon as a copy to the
// device was issued, and host memory is pageable. A small copy is therefore put into pinned staging memory at once and travels from
// there. A large one depends on the device: where it shares our memory (CPUs, integrated GPUs) a
// detour would double the traffic, so the bytes go straight and the caller waits for the copy queue;
// else they go through the ring of staging buffers, piece by piece, the next piece being filled
// while the last one travels. Copies to the host end when the bytes are there for the same reason.
// The compute queue goes on in all cases.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "devices/opencl/opencl.h"

// --- staging ---

#define TAKEN UINT64_MAX  // fy_ocl_stage.seq: its bytes are being taken out

static fy_code make_stage(fy_ocl *o, fy_ocl_stage *s, fy_error *err) {
  cl_int code = CL_SUCCESS;
  if (s->mem) return FY_OK;
  s->mem = o->cl->CreateBuffer(o->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                               FY_OCL_STAGE_BYTES, NULL, &code);
  if (!s->mem) return fy_ocl_fail(o, "allocating pinned memory", code, err);
  s->host = o->cl->EnqueueMapBuffer(o->queues[FY_QUEUE_IN].queue, s->mem, CL_TRUE,
                                    CL_MAP_READ | CL_MAP_WRITE, 0, FY_OCL_STAGE_BYTES, 0, NULL,
                                    NULL, &code);
  if (s->host) return FY_OK;
  o->cl->ReleaseMemObject(s->mem);
  s->mem = NULL;
  return fy_ocl_fail(o, "mapping pinned memory", code, err);
}

void fy_ocl_release_stages(fy_ocl *o) {
  for (int i = 0; i < FY_OCL_STAGES; i++) {
    fy_ocl_stage *s = &o->stages[i];
    if (!s->mem) continue;
    (void)o->cl->EnqueueUnmapMemObject(o->queues[FY_QUEUE_IN].queue, s->mem, s->host, 0, NULL,
                                       NULL);
    (void)o->cl->Finish(o->queues[FY_QUEUE_IN].queue);
    o->cl->ReleaseMemObject(s->mem);
    s->mem = NULL;
  }
}

// With the lock held on entry and exit: a stage that nothing uses. NULL, when all are somebody's and
// |patient| is false.
static fy_code take_stage(fy_ocl *o, bool patient, fy_ocl_stage **out, fy_error *err) {
  *out = NULL;
  for (int tries = 1;; tries++) {
    fy_ocl_stage *s = &o->stages[o->next_stage++ % FY_OCL_STAGES];
    if (s->seq == TAKEN) {
      if (tries % FY_OCL_STAGES) continue;
      if (!patient) return FY_OK;
      fy_unlock(&o->lock);
      sched_yield();
      fy_lock(&o->lock);
      continue;
    }
    FY_TRY(make_stage(o, s, err));
    if (s->seq) {
      fy_event last = {.device = o->device, .queue = s->queue, .seq = s->seq};
      fy_unlock(&o->lock);
      fy_code code = (fy_code)fy_ocl_wait(o->device, &last, NULL);
      fy_lock(&o->lock);
      (void)code;                        // whoever waits for that copy learns of it
      if (s->seq != last.seq) continue;  // somebody was faster
    }
    s->seq = 0;
    *out = s;
    return FY_OK;
  }
}

// --- one piece ---

typedef struct piece {
  fy_queue queue;
  char *device;  // address on the device
  void *host;
  size_t bytes;
  bool to_device;
} piece;

// With the lock held: enqueues the piece without waiting for it.
static fy_code enqueue(fy_ocl *o, const piece *p, const fy_event *after, int num_after,
                       fy_event *done, fy_error *err) {
  cl_mem mem;
  size_t offset;
  cl_event wait[FY_QUEUES + 1], event = NULL;
  if (!fy_ocl_resolve(o, p->device, p->bytes, &mem, &offset))
    return fy_fail(err, FY_INVALID_ARGUMENT, "copy of %zu bytes at %p: not memory of %s", p->bytes,
                   (void *)p->device, o->device->name);
  fy_ocl_range range = {p->device, p->device + p->bytes, p->to_device};
  int n = fy_ocl_dependencies(o, p->queue, &range, 1, after, num_after, wait);
  cl_command_queue q = o->queues[p->queue].queue;
  cl_int code = p->to_device
                    ? o->cl->EnqueueWriteBuffer(q, mem, CL_FALSE, offset, p->bytes, p->host,
                                                (cl_uint)n, n ? wait : NULL, &event)
                    : o->cl->EnqueueReadBuffer(q, mem, CL_FALSE, offset, p->bytes, p->host,
                                               (cl_uint)n, n ? wait : NULL, &event);
  fy_ocl_drop_events(o, wait, n);
  if (code) return fy_ocl_fail(o, "copying", code, err);
  return fy_ocl_push(o, p->queue, event, &range, 1, done, err);
}

// Where the host sees the device's memory: waits for what uses these bytes, then the caller copies
// itself. FY_OCL_DETOUR: there is no view, or (|in|, few bytes) waiting would take longer than a
// queue.
static fy_code by_hand(fy_ocl *o, const piece *p, const fy_event *after, int num_after,
                       fy_error *err) {
  cl_event wait[FY_QUEUES + 1];
  fy_ocl_range range = {p->device, p->device + p->bytes, p->to_device};
  fy_lock(&o->lock);
  char *view = fy_ocl_host_view(o, p->device, p->bytes);
  int n = view ? fy_ocl_dependencies(o, FY_QUEUES, &range, 1, after, num_after, wait) : 0;
  fy_unlock(&o->lock);
  if (!view) return FY_OCL_DETOUR;
  if (n && p->to_device && p->bytes <= FY_OCL_STAGE_BYTES / 4) {
    fy_ocl_drop_events(o, wait, n);
    return FY_OCL_DETOUR;
  }
  cl_int code = n ? o->cl->WaitForEvents((cl_uint)n, wait) : CL_SUCCESS;
  fy_ocl_drop_events(o, wait, n);
  if (n) fy_ocl_note_done(o);
  if (code) return fy_ocl_fail(o, "waiting for what a copy depends on", code, err);
  if (p->to_device)
    memcpy(view, p->host, p->bytes);
  else
    memcpy(p->host, view, p->bytes);
  return FY_OK;
}

// The usual case of it: nothing at all is in flight, and the host saw this memory before. No lock, no call
// of the driver: a copy of a few KiB takes little longer than memcpy.
static bool at_once(fy_ocl *o, const piece *p, const fy_event *after) {
  if ((after && after->device) || o->flying) return false;
  char *view = fy_ocl_seen_view(o, p->device, p->bytes);
  if (!view) return false;
  if (p->to_device)
    memcpy(view, p->host, p->bytes);
  else
    memcpy(p->host, view, p->bytes);
  return true;
}

static fy_code straight(fy_ocl *o, const piece *p, const fy_event *after, int num_after,
                        fy_event *done, fy_error *err) {
  fy_lock(&o->lock);
  fy_code code = enqueue(o, p, after, num_after, done, err);
  fy_unlock(&o->lock);
  if (!code) code = (fy_code)fy_ocl_wait(o->device, done, err);
  // The caller may free its memory now: nothing may be on its way there any more.
  if (code) (void)o->cl->Finish(o->queues[p->queue].queue);
  return code;
}

static fy_code staged_in(fy_ocl *o, piece p, const char *src, const fy_event *after, int num_after,
                         fy_event *done, fy_error *err) {
  fy_code code = FY_OK;
  fy_lock(&o->lock);
  for (size_t left = p.bytes; left && !code;) {
    fy_ocl_stage *s = NULL;
    p.bytes = left < FY_OCL_STAGE_BYTES ? left : FY_OCL_STAGE_BYTES;
    code = take_stage(o, true, &s, err);
    if (code) break;
    p.host = s->host;
    memcpy(s->host, src, p.bytes);
    code = enqueue(o, &p, after, num_after, done, err);
    s->queue = FY_QUEUE_IN;
    s->seq = code ? 0 : done->seq;
    src += p.bytes;
    p.device += p.bytes;
    left -= p.bytes;
  }
  fy_unlock(&o->lock);
  return code;
}

// Two pieces travel while a third is taken out.
static fy_code staged_out(fy_ocl *o, piece p, char *dst, const fy_event *after, int num_after,
                          fy_event *done, fy_error *err) {
  struct {
    fy_ocl_stage *stage;
    fy_event done;
    size_t bytes;
  } flying[2] = {{0}};
  size_t left = p.bytes, begun = 0, ended = 0;
  fy_code code = FY_OK;
  while ((left || begun > ended) && !code) {
    while (left && begun - ended < 2 && !code) {
      fy_lock(&o->lock);
      fy_ocl_stage *s = NULL;
      p.bytes = left < FY_OCL_STAGE_BYTES ? left : FY_OCL_STAGE_BYTES;
      code = take_stage(o, begun == ended, &s, err);
      if (!code && !s) {  // take out what has come before asking for more
        fy_unlock(&o->lock);
        break;
      }
      if (!code) {
        p.host = s->host;
        flying[begun % 2].stage = s;
        flying[begun % 2].bytes = p.bytes;
        code = enqueue(o, &p, after, num_after, &flying[begun % 2].done, err);
        s->queue = FY_QUEUE_OUT;
        s->seq = code ? 0 : TAKEN;
      }
      fy_unlock(&o->lock);
      if (code) break;
      begun++;
      p.device += p.bytes;
      left -= p.bytes;
    }
    if (begun == ended) break;
    fy_event *e = &flying[ended % 2].done;
    fy_code waited = (fy_code)fy_ocl_wait(o->device, e, code ? NULL : err);
    if (!code) code = waited;
    if (waited) (void)o->cl->Finish(o->queues[FY_QUEUE_OUT].queue);  // its stage is free again
    if (!code) memcpy(dst, flying[ended % 2].stage->host, flying[ended % 2].bytes);
    dst += flying[ended % 2].bytes;
    *done = *e;
    fy_lock(&o->lock);
    flying[ended % 2].stage->seq = 0;
    fy_unlock(&o->lock);
    ended++;
  }
  return code;
}

// --- inside the device ---

static fy_code within(fy_ocl *o, char *dst, const char *src, size_t bytes, const fy_event *after,
                      int num_after, fy_event *done, fy_error *err) {
  cl_mem to, from;
  size_t to_at, from_at;
  cl_event wait[FY_QUEUES + 1], event = NULL;
  fy_code code = FY_OK;
  fy_lock(&o->lock);
  if (!fy_ocl_resolve(o, dst, bytes, &to, &to_at) ||
      !fy_ocl_resolve(o, src, bytes, &from, &from_at)) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "copy of %zu bytes: not memory of %s", bytes,
                   o->device->name);
  } else {
    fy_ocl_range ranges[2] = {{dst, dst + bytes, true}, {src, src + bytes, false}};
    int n = fy_ocl_dependencies(o, FY_QUEUE_COMPUTE, ranges, 2, after, num_after, wait);
    cl_int rc = o->cl->EnqueueCopyBuffer(o->queues[FY_QUEUE_COMPUTE].queue, from, to, from_at,
                                         to_at, bytes, (cl_uint)n, n ? wait : NULL, &event);
    fy_ocl_drop_events(o, wait, n);
    code = rc ? fy_ocl_fail(o, "copying", rc, err)
              : fy_ocl_push(o, FY_QUEUE_COMPUTE, event, ranges, 2, done, err);
  }
  fy_unlock(&o->lock);
  return code;
}

// Between two OpenCL devices, whose contexts differ: through the host.
static fy_code across(fy_ocl *o, char *dst, const char *src, size_t bytes, fy_device *peer,
                      const fy_event *after, fy_event *done, fy_error *err) {
  void *host = fy_malloc(bytes);
  fy_event there = {0};
  if (!host) return fy_fail_oom(err, bytes);
  fy_code code = (fy_code)fy_ocl_copy(peer, FY_COPY_DEVICE_TO_HOST, host, src, bytes, NULL, after,
                                      &there, err);
  if (!code) {
    code = (fy_code)fy_ocl_copy(o->device, FY_COPY_HOST_TO_DEVICE, dst, host, bytes, NULL, NULL,
                                done, err);
  }
  fy_free(host);
  return code;
}

static fy_code copy_checked(fy_ocl *o, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                            fy_device *peer, const fy_event *after, fy_event *done, fy_error *err) {
  int n = after && after->device ? 1 : 0;
  if (fy_fault_due(FY_FAULT_COPY))
    return fy_fail(err, FY_INTERNAL, "%s: a copy of %zu bytes fails on request", o->device->name,
                   bytes);
  if (!bytes) return FY_OK;
  const bool in = kind == FY_COPY_HOST_TO_DEVICE;
  const int staging = atomic_load_explicit(&o->staging, memory_order_relaxed);
  const piece p = {.queue = in ? FY_QUEUE_IN : FY_QUEUE_OUT,
                   .device = in ? dst : (char *)(uintptr_t)src,
                   .host = in ? (void *)(uintptr_t)src : dst,
                   .bytes = bytes,
                   .to_device = in};
  if (kind != FY_COPY_DEVICE_TO_DEVICE)
    atomic_fetch_add_explicit(in ? &o->copies_in : &o->copies_out, 1, memory_order_relaxed);
  if (kind != FY_COPY_DEVICE_TO_DEVICE && staging == FY_OPENCL_STAGE_AUTO && at_once(o, &p, after))
    return FY_OK;
  FY_TRY(fy_ocl_open_context(o, err));
  if (kind == FY_COPY_DEVICE_TO_DEVICE && peer && peer != o->device && peer->ops == o->device->ops)
    return across(o, dst, src, bytes, peer, after, done, err);
  FY_TRY(fy_ocl_wait_foreign(o, after, n, err));
  if (kind == FY_COPY_DEVICE_TO_DEVICE) {
    if (peer != o->device)
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s cannot copy from %s", o->device->name,
                     peer ? peer->name : "an unnamed device");
    return within(o, dst, src, bytes, after, n, done, err);
  }
  bool shared = staging == FY_OPENCL_STAGE_NEVER || (o->unified && staging == FY_OPENCL_STAGE_AUTO);
  if (staging == FY_OPENCL_STAGE_AUTO) {
    fy_code code = by_hand(o, &p, after, n, err);
    if (code != FY_OCL_DETOUR) return code;
  }
  if (in && shared && (bytes > FY_OCL_STAGE_BYTES / 4 || staging == FY_OPENCL_STAGE_NEVER))
    return straight(o, &p, after, n, done, err);
  if (in) return staged_in(o, p, src, after, n, done, err);
  if (shared) return straight(o, &p, after, n, done, err);
  return staged_out(o, p, dst, after, n, done, err);
}

int fy_ocl_copy(fy_device *d, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                fy_device *peer, const fy_event *after, fy_event *done, fy_error *err) {
  fy_event mine = {0};
  fy_code code = copy_checked(fy_ocl_of(d), kind, dst, src, bytes, peer, after, &mine, err);
  if (done) *done = code ? (fy_event){0} : mine;
  return (int)code;
}

#else
typedef int fy_opencl_copy_is_empty;
#endif
