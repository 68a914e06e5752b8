// SPDX-License-Identifier: Apache-2.0
// opencl_memory.c: device memory behind addresses.
//
// OpenCL 1.2 has buffers, not addresses, but tensors hold addresses and pools cut them up. So every
// buffer gets a range of reserved addresses without access rights (host code that follows one by
// mistake faults at once), and a sorted table finds buffer and offset again when a copy or a kernel
// needs them. Pools (memory/pool.h) ask rarely and for large blocks, so the table is short.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define PAGE ((size_t)4096)
#define HUGE ((size_t)2 << 20)

// The first block that ends after |p|.
static size_t lower_bound(const fy_ocl *o, const char *p) {
  size_t lo = 0, hi = o->num_blocks;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (o->blocks[mid].begin + o->blocks[mid].bytes <= p)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

bool fy_ocl_resolve(fy_ocl *o, const void *p, size_t bytes, cl_mem *mem, size_t *offset) {
  size_t i = lower_bound(o, p);
  if (i == o->num_blocks || (const char *)p < o->blocks[i].begin) return false;
  size_t at = (size_t)((const char *)p - o->blocks[i].begin);
  if (bytes > o->blocks[i].bytes - at) return false;
  *mem = o->blocks[i].mem;
  *offset = at;
  return true;
}

static void set_seen(fy_ocl_seen *s, unsigned i, const fy_ocl_block *b) {
  atomic_fetch_add(&s->version, 1);
  atomic_store(&s->blocks[i].begin, b ? (uintptr_t)b->begin : 0);
  atomic_store(&s->blocks[i].end, b ? (uintptr_t)b->begin + b->bytes : 0);
  atomic_store(&s->blocks[i].host, b ? (uintptr_t)b->host : 0);
  atomic_fetch_add(&s->version, 1);
}

char *fy_ocl_host_view(fy_ocl *o, const void *p, size_t bytes) {
  size_t i = lower_bound(o, p);
  if (i == o->num_blocks || (const char *)p < o->blocks[i].begin || !o->blocks[i].host) return NULL;
  size_t at = (size_t)((const char *)p - o->blocks[i].begin);
  if (bytes > o->blocks[i].bytes - at) return NULL;
  bool known = false;
  for (int k = 0; k < FY_OCL_SEEN; k++)
    known |= o->seen.blocks[k].begin == (uintptr_t)o->blocks[i].begin;
  if (!known) set_seen(&o->seen, o->seen.next++ % FY_OCL_SEEN, &o->blocks[i]);
  return o->blocks[i].host + at;
}

// Whoever copies holds the memory, so its block stays; only the table of those seen may change meanwhile.
char *fy_ocl_seen_view(fy_ocl *o, const void *p, size_t bytes) {
  const fy_ocl_seen *s = &o->seen;
  const uintptr_t at = (uintptr_t)p;
  const uint32_t version = atomic_load_explicit(&s->version, memory_order_acquire);
  for (int k = 0; k < FY_OCL_SEEN; k++) {
    const uintptr_t begin = atomic_load_explicit(&s->blocks[k].begin, memory_order_relaxed),
                    end = atomic_load_explicit(&s->blocks[k].end, memory_order_relaxed),
                    host = atomic_load_explicit(&s->blocks[k].host, memory_order_relaxed);
    if (at < begin || at >= end || bytes > end - at) continue;
    atomic_thread_fence(memory_order_acquire);
    const bool same = atomic_load_explicit(&s->version, memory_order_relaxed) == version;
    return same && !(version & 1) ? (char *)host + (at - begin) : NULL;
  }
  return NULL;
}

// On a CPU, buffers are host memory: mapped for good, the host copies into and out of them itself,
// at the speed of memcpy and without waking a thread. OpenCL does not promise that both see the
// same bytes all the time, so that is tried out first.
static bool sees_the_same(fy_ocl *o, const fy_ocl_block *b) {
  uint64_t wrote = 0x5AA5C33C0FF0DEADull, read = 0;
  cl_command_queue q = o->queues[FY_QUEUE_IN].queue;
  memcpy(b->host, &wrote, sizeof wrote);
  if (o->cl->EnqueueReadBuffer(q, b->mem, CL_TRUE, 0, sizeof read, &read, 0, NULL, NULL) ||
      read != wrote)
    return false;
  wrote = ~wrote;
  if (o->cl->EnqueueWriteBuffer(q, b->mem, CL_TRUE, 0, sizeof wrote, &wrote, 0, NULL, NULL))
    return false;
  memcpy(&read, b->host, sizeof read);
  return read == wrote;
}

static void unmap(fy_ocl *o, fy_ocl_block *b) {
  if (!b->host) return;
  (void)o->cl->EnqueueUnmapMemObject(o->queues[FY_QUEUE_IN].queue, b->mem, b->host, 0, NULL, NULL);
  (void)o->cl->Flush(o->queues[FY_QUEUE_IN].queue);
  b->host = NULL;
}

static void map_block(fy_ocl *o, fy_ocl_block *b) {
  cl_int code = CL_SUCCESS;
  if (!o->is_cpu || !o->unified || o->direct < 0) return;
  b->host = o->cl->EnqueueMapBuffer(o->queues[FY_QUEUE_IN].queue, b->mem, CL_TRUE,
                                    CL_MAP_READ | CL_MAP_WRITE, 0, b->bytes, 0, NULL, NULL, &code);
  if (!b->host) return;
#ifdef MADV_HUGEPAGE
  // As the host's own large tensors: before anybody touches it, and only whole pages of it.
  char *first = b->host + (HUGE - (uintptr_t)b->host % HUGE) % HUGE;
  size_t skipped = (size_t)(first - b->host);
  if (b->bytes > skipped + HUGE)
    (void)madvise(first, (b->bytes - skipped) / HUGE * HUGE, MADV_HUGEPAGE);
#endif
  if (o->direct > 0) return;
  o->direct = sees_the_same(o, b) ? 1 : -1;
  if (o->direct < 0) unmap(o, b);
}

static fy_code make_block(fy_ocl *o, size_t bytes, fy_ocl_block *b, fy_error *err) {
  cl_int code = CL_SUCCESS;
  b->bytes = bytes;
  b->begin = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (b->begin == MAP_FAILED)
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "%s: cannot reserve %zu bytes of address space: %s",
                   o->device->name, bytes, strerror(errno));
  b->mem = o->cl->CreateBuffer(
      o->context, CL_MEM_READ_WRITE | (o->is_cpu ? CL_MEM_ALLOC_HOST_PTR : 0), bytes, NULL, &code);
  if (b->mem) {
    map_block(o, b);
    return FY_OK;
  }
  munmap(b->begin, bytes);
  if (code == CL_INVALID_BUFFER_SIZE) code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return fy_ocl_fail(o, "allocating a buffer", code, err);
}

static fy_code alloc_checked(fy_ocl *o, size_t bytes, void **out, fy_error *err) {
  size_t rounded = (bytes ? bytes : 1) + PAGE - 1;
  if (fy_fault_due(FY_FAULT_DEVICE_ALLOC))
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "%s: allocation of %zu bytes fails on request",
                   o->device->name, bytes);
  if (rounded < bytes) return fy_fail(err, FY_RESOURCE_EXHAUSTED, "%zu bytes are too many", bytes);
  rounded = rounded / PAGE * PAGE;
  if (rounded > o->max_alloc)
    return fy_fail(err, FY_RESOURCE_EXHAUSTED,
                   "%s: %zu bytes do not fit: %s makes buffers of at most %llu bytes",
                   o->device->name, bytes, o->name, (unsigned long long)o->max_alloc);
  FY_TRY(fy_ocl_open_context(o, err));
  fy_ocl_block b = {0};
  fy_lock(&o->lock);
  fy_code code = FY_OK;
  b.asked = bytes;  // what was asked for counts: the driver's pages are not the user's affair
  if (bytes > o->limit_bytes || o->used_bytes > o->limit_bytes - bytes)
    code = fy_fail(err, FY_RESOURCE_EXHAUSTED, "%s: %zu bytes do not fit: %llu of %llu are in use",
                   o->device->name, bytes, (unsigned long long)o->used_bytes,
                   (unsigned long long)o->limit_bytes);
  else if (!fy_grow(&o->blocks, &o->cap_blocks, o->num_blocks + 1, sizeof *o->blocks))
    code = fy_fail_oom(err, sizeof *o->blocks);
  if (!code) code = make_block(o, rounded, &b, err);
  if (!code) {
    size_t at = lower_bound(o, b.begin);
    memmove(o->blocks + at + 1, o->blocks + at, (o->num_blocks - at) * sizeof *o->blocks);
    o->blocks[at] = b;
    o->num_blocks++;
    o->used_bytes += bytes;
    *out = b.begin;
  }
  fy_unlock(&o->lock);
  return code;
}

int fy_ocl_alloc(fy_device *d, size_t bytes, void **out, fy_error *err) {
  *out = NULL;
  return (int)alloc_checked(fy_ocl_of(d), bytes, out, err);
}

// A buffer lives on until the commands that use it are done: OpenCL sees to that.
static void drop_block(fy_ocl *o, fy_ocl_block *b) {
  for (unsigned k = 0; k < FY_OCL_SEEN; k++)
    if (o->seen.blocks[k].begin == (uintptr_t)b->begin) set_seen(&o->seen, k, NULL);
  unmap(o, b);
  o->cl->ReleaseMemObject(b->mem);
  munmap(b->begin, b->bytes);
}

void fy_ocl_free(fy_device *d, void *p, size_t bytes) {
  fy_ocl *o = fy_ocl_of(d);
  (void)bytes;
  fy_lock(&o->lock);
  size_t i = lower_bound(o, p);
  if (i < o->num_blocks && o->blocks[i].begin == p) {
    fy_ocl_block b = o->blocks[i];
    o->num_blocks--;
    memmove(o->blocks + i, o->blocks + i + 1, (o->num_blocks - i) * sizeof *o->blocks);
    o->used_bytes -= b.asked;
    drop_block(o, &b);
  }
  fy_unlock(&o->lock);
}

void fy_ocl_release_memory(fy_ocl *o) {
  for (size_t i = 0; i < o->num_blocks; i++) drop_block(o, &o->blocks[i]);
  fy_free(o->blocks);
  o->blocks = NULL;
  o->num_blocks = 0;
}

#else
typedef int fy_opencl_memory_is_empty;
#endif
