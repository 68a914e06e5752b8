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
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define PAGE ((size_t)4096)

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

static fy_code make_block(fy_ocl *o, size_t bytes, fy_ocl_block *b, fy_error *err) {
  cl_int code = CL_SUCCESS;
  b->bytes = bytes;
  b->begin = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (b->begin == MAP_FAILED)
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "%s: cannot reserve %zu bytes of address space: %s",
                   o->device->name, bytes, strerror(errno));
  b->mem = o->cl->CreateBuffer(o->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  if (b->mem) return FY_OK;
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
  if (rounded > o->limit_bytes || o->used_bytes > o->limit_bytes - rounded)
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
    o->used_bytes += rounded;
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
static void drop_block(fy_ocl *o, const fy_ocl_block *b) {
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
    o->used_bytes -= b.bytes;
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
