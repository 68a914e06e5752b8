// SPDX-License-Identifier: Apache-2.0
// sim_memory.c: memory of its own.
//
// One file in memory (memfd), mapped twice. The first mapping has no access rights: its addresses
// are what alloc() hands out, so host code that follows one by mistake faults at once, as it would
// with a GPU's. The second is readable and writable and stays inside this folder: copy() and
// launch() turn a device address into its alias by the difference of the two bases. Both are
// reserved sparsely, so a device of 80 GiB costs nothing until it is written to, and freed ranges
// go back by hole punching. Pools (memory/pool.h) sub-allocate; alloc() here is called rarely and
// may be simple: first fit.

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "devices/sim/sim_impl.h"
#include "memory/pool.h"

#define UNIT 256
#define PAGE 4096

static size_t round_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

// Maps |bytes| twice: closed to everybody, and open to the device. False, with errno, if it cannot.
static bool map_twice(fy_sim *s, size_t bytes) {
  char *base = MAP_FAILED, *alias = MAP_FAILED;
  int fd = memfd_create("ferry-simulated-gpu", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0) {
    base = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    alias = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  }
  if (base == MAP_FAILED || alias == MAP_FAILED) {
    int code = errno;
    if (base != MAP_FAILED) munmap(base, bytes);
    if (alias != MAP_FAILED) munmap(alias, bytes);
    if (fd >= 0) close(fd);
    errno = code;
    return false;
  }
  s->fd = fd;
  s->alias = alias;
  s->mapped_bytes = bytes;
  atomic_store_explicit(&s->base, base, memory_order_release);
  return true;
}

// With the lock held. At the first allocation, so that listing devices maps nothing.
static fy_code map_memory(fy_sim *s, fy_error *err) {
  if (s->base) return FY_OK;
  const size_t least = round_up((size_t)s->limit_bytes, PAGE);
  // More addresses than bytes: like a GPU's own tables, so that gaps between regions cost nothing.
  // A process may be allowed fewer (ulimit -v, Valgrind): then as many as there are.
  size_t bytes = least < (size_t)1 << 42 ? least * 4 : least;
  while (!map_twice(s, bytes)) {
    if (bytes == least)
      return fy_fail(err, FY_RESOURCE_EXHAUSTED,
                     "%s: cannot reserve %zu bytes of address space: %s", s->device->name, bytes,
                     strerror(errno));
    bytes /= 2;
  }
  return FY_OK;
}

void fy_sim_unmap(fy_sim *s) {
  while (s->ranges) {
    fy_sim_range *next = s->ranges->next;
    fy_free(s->ranges);
    s->ranges = next;
  }
  if (!s->base) return;
  munmap(s->base, s->mapped_bytes);
  munmap(s->alias, s->mapped_bytes);
  close(s->fd);
}

static fy_code take_range(fy_sim *s, size_t bytes, size_t *out_begin, fy_error *err) {
  FY_TRY(map_memory(s, err));
  fy_sim_range **at = &s->ranges;
  size_t begin = 0;
  while (*at && (*at)->begin - begin < bytes) {
    begin = (*at)->end;
    at = &(*at)->next;
  }
  if (bytes > s->limit_bytes || s->used_bytes > s->limit_bytes - bytes ||
      begin > s->mapped_bytes - bytes) {
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "%s: %zu bytes do not fit: %zu of %llu are in use%s",
                   s->device->name, bytes, s->used_bytes, (unsigned long long)s->limit_bytes,
                   bytes <= s->limit_bytes - s->used_bytes ? " and the rest is in pieces" : "");
  }
  fy_sim_range *r = fy_malloc(sizeof *r);
  if (!r) return fy_fail_oom(err, sizeof *r);
  *r = (fy_sim_range){.begin = begin, .end = begin + bytes, .next = *at};
  *at = r;
  s->used_bytes += bytes;
  *out_begin = begin;
  return FY_OK;
}

static fy_code alloc_checked(fy_sim *s, size_t bytes, void **out, fy_error *err) {
  FY_TRY(fy_sim_alive(s, err));
  long long nth = atomic_fetch_add(&s->allocs, 1) + 1;
  if (nth == s->model.fail_alloc || fy_fault_due(FY_FAULT_DEVICE_ALLOC)) {
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "%s: allocation %lld of %zu bytes fails on request",
                   s->device->name, nth, bytes);
  }
  size_t begin = 0, rounded = round_up(bytes ? bytes : 1, UNIT);
  if (rounded < bytes) return fy_fail(err, FY_RESOURCE_EXHAUSTED, "%zu bytes are too many", bytes);
  fy_lock(&s->memory_lock);
  fy_code code = take_range(s, rounded, &begin, err);
  if (!code) *out = s->base + begin;
  fy_unlock(&s->memory_lock);
  return code;
}

int fy_sim_alloc(fy_device *d, size_t bytes, void **out, fy_error *err) {
  *out = NULL;
  return (int)alloc_checked(fy_sim_of(d), bytes, out, err);
}

void fy_sim_free(fy_device *d, void *p, size_t bytes) {
  fy_sim *s = fy_sim_of(d);
  (void)bytes;
  fy_lock(&s->memory_lock);
  char *base = s->base;
  fy_sim_range **at = &s->ranges;
  while (*at && (!base || base + (*at)->begin != (char *)p)) at = &(*at)->next;
  fy_sim_range *r = *at;
  if (r) {
    *at = r->next;
    s->used_bytes -= r->end - r->begin;
    // Back to the system. What remains in partly used pages is zeroed: nobody can rely on old
    // bytes.
    int failed = fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->begin,
                           (off_t)(r->end - r->begin));
    (void)failed;  // only costs memory
    fy_free(r);
  }
  fy_unlock(&s->memory_lock);
}

void *fy_sim_alias(fy_sim *s, const void *p, size_t bytes) {
  char *base = atomic_load_explicit(&s->base, memory_order_acquire);
  uintptr_t at = (uintptr_t)p, begin = (uintptr_t)base;
  if (!base || at < begin || at - begin > s->mapped_bytes || bytes > s->limit_bytes) return NULL;
  size_t offset = at - begin;
  return bytes <= s->mapped_bytes - offset ? s->alias + offset : NULL;
}

bool fy_sim_alias_owns(fy_sim *s, const void *alias) {
  if (!atomic_load_explicit(&s->base, memory_order_acquire)) return false;
  uintptr_t at = (uintptr_t)alias, begin = (uintptr_t)s->alias;
  return at >= begin && at - begin < s->mapped_bytes;
}

uint64_t fy_sim_resident_bytes(fy_device *d) {
  fy_sim *s = fy_sim_of(d);
  struct stat st;
  if (!atomic_load_explicit(&s->base, memory_order_acquire) || fstat(s->fd, &st)) return 0;
  return (uint64_t)st.st_blocks * 512;
}

// --- copies ---

typedef struct route {
  void *dst;
  const void *src;
  fy_queue queue;
  fy_sim *other;  // also busy, on its way out
  double cost_ns;
  const char *name;
} route;

static fy_code fail_address(const fy_sim *s, const void *p, size_t bytes, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "copy of %zu bytes at %p: not memory of %s", bytes, p,
                 s->device->name);
}

// Where the bytes really are, which queue carries them and how long that takes.
static fy_code find_route(fy_sim *s, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                          fy_device *peer, route *out, fy_error *err) {
  double link_ns = s->model.link_latency_ns + (double)bytes / s->model.link_bytes_per_s * 1e9;
  *out = (route){.dst = dst, .src = src, .cost_ns = link_ns};
  switch (kind) {
    case FY_COPY_HOST_TO_DEVICE:
      out->queue = FY_QUEUE_IN;
      out->name = "MemcpyHToD";
      out->dst = fy_sim_alias(s, dst, bytes);
      return out->dst ? FY_OK : fail_address(s, dst, bytes, err);
    case FY_COPY_DEVICE_TO_HOST:
      out->queue = FY_QUEUE_OUT;
      out->name = "MemcpyDToH";
      out->src = fy_sim_alias(s, src, bytes);
      return out->src ? FY_OK : fail_address(s, src, bytes, err);
    case FY_COPY_DEVICE_TO_DEVICE: break;
  }
  if (!peer || !fy_sim_is(peer)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s cannot copy from %s: it is no simulated GPU",
                   s->device->name, peer ? peer->name : "an unnamed device");
  }
  fy_sim *from = fy_sim_of(peer);
  out->name = "MemcpyDToD";
  out->dst = fy_sim_alias(s, dst, bytes);
  out->src = fy_sim_alias(from, src, bytes);
  if (!out->dst) return fail_address(s, dst, bytes, err);
  if (!out->src) return fail_address(from, src, bytes, err);
  if (from == s) {  // inside the device: a kernel that reads and writes every byte
    out->queue = FY_QUEUE_COMPUTE;
    out->cost_ns = s->model.launch_ns + 2 * (double)bytes / s->model.memory_bytes_per_s * 1e9;
  } else {
    out->queue = FY_QUEUE_IN;
    out->other = from->clock == s->clock ? from : NULL;
  }
  return FY_OK;
}

static fy_code copy_checked(fy_sim *s, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                            fy_device *peer, const fy_event *after, fy_event *done, fy_error *err) {
  route r;
  int64_t ready;
  FY_TRY(fy_sim_alive(s, err));
  if (kind == FY_COPY_DEVICE_TO_DEVICE && peer && peer != s->device && fy_sim_is(peer)) {
    FY_TRY(fy_sim_alive(fy_sim_of(peer), err));
  }
  FY_TRY(find_route(s, kind, dst, src, bytes, peer, &r, err));
  FY_TRY(fy_sim_ready(s, after, after ? 1 : 0, &ready, err));
  long long nth = atomic_fetch_add(&s->copies, 1) + 1;
  if (nth == s->model.fail_copy || fy_fault_due(FY_FAULT_COPY)) {
    return fy_fail(err, FY_INTERNAL, "%s: copy %lld (%s, %zu bytes) fails on request",
                   s->device->name, nth, r.name, bytes);
  }
  if (bytes) memmove(r.dst, r.src, bytes);
  fy_sim_work(s, r.queue, r.other, FY_QUEUE_OUT, ready, r.cost_ns, r.name, bytes, done);
  return FY_OK;
}

int fy_sim_copy(fy_device *d, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                fy_device *peer, const fy_event *after, fy_event *done, fy_error *err) {
  if (done) *done = (fy_event){0};
  const int64_t begin = fy_now_ns();
  const fy_code code = copy_checked(fy_sim_of(d), kind, dst, src, bytes, peer, after, done, err);
  fy_mempool_busy(d->memory, fy_now_ns() - begin);
  return (int)code;
}
