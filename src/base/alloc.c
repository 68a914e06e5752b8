// SPDX-License-Identifier: Apache-2.0
// alloc.c: malloc with a fault hook. While nothing is armed the hook is one relaxed load.
// fy_malloc'ed memory may be released with free(): TF_TString's inline functions rely on it.

#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"

#define ALIGNMENT 64

int fy_fault_armed;  // bit k: kind k is armed

static struct fault {
  atomic_llong nth, hits;
  atomic_bool sticky;
} faults[FY_FAULT_KINDS];

void fy_fault_arm(fy_fault kind, int64_t nth, bool sticky) {
  fy_fault_disarm(kind);
  atomic_store(&faults[kind].nth, nth);
  atomic_store(&faults[kind].hits, 0);
  atomic_store(&faults[kind].sticky, sticky);
  __atomic_fetch_or(&fy_fault_armed, 1 << kind, __ATOMIC_SEQ_CST);
}

void fy_fault_disarm(fy_fault kind) {
  __atomic_fetch_and(&fy_fault_armed, ~(1 << kind), __ATOMIC_SEQ_CST);
}

int64_t fy_fault_hits(fy_fault kind) {
  return atomic_load(&faults[kind].hits);
}

bool fy_fault_due_slow(fy_fault kind) {
  if (!(__atomic_load_n(&fy_fault_armed, __ATOMIC_SEQ_CST) & (1 << kind))) return false;
  long long hit = atomic_fetch_add(&faults[kind].hits, 1) + 1;
  long long nth = atomic_load(&faults[kind].nth);
  return hit == nth || (hit > nth && atomic_load(&faults[kind].sticky));
}

void *fy_malloc(size_t bytes) {
  if (fy_fault_due(FY_FAULT_ALLOC)) return NULL;
  return malloc(bytes ? bytes : 1);
}

void *fy_calloc(size_t count, size_t bytes) {
  size_t total;
  if (!fy_mul_size(count, bytes, &total) || fy_fault_due(FY_FAULT_ALLOC)) return NULL;
  return calloc(total ? total : 1, 1);
}

void *fy_realloc(void *p, size_t bytes) {
  if (fy_fault_due(FY_FAULT_ALLOC)) return NULL;
  return realloc(p, bytes ? bytes : 1);
}

void fy_free(void *p) {
  free(p);
}

char *fy_strdup(const char *s) {
  return fy_strndup(s, strlen(s));
}

char *fy_strndup(const char *s, size_t n) {
  size_t bytes;
  char *p = fy_add_size(n, 1, &bytes) ? fy_malloc(bytes) : NULL;
  if (!p) return NULL;
  if (n) memcpy(p, s, n);
  p[n] = '\0';
  return p;
}

// Not aligned_alloc: glibc's splits and gives back the margins on every call, several times the
// cost of malloc. Here the byte before the block says how far the malloc'ed start is; 0 says that
// it is a large block. Sanitizers see every block themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LARGE_BYTES SIZE_MAX
#else
#define LARGE_BYTES FY_LARGE_BYTES
#endif

void *fy_aligned_alloc(size_t bytes) {
  size_t total;
  if (bytes >= LARGE_BYTES) {
    char *p = fy_fault_due(FY_FAULT_ALLOC) ? NULL : fy_large_alloc(bytes);
    if (p) p[-1] = 0;
    return p;
  }
  if (!fy_add_size(bytes, ALIGNMENT, &total)) return NULL;
  char *start = fy_malloc(total);
  if (!start) return NULL;
  size_t shift = ALIGNMENT - ((uintptr_t)start & (ALIGNMENT - 1));  // 1..64: room for the byte
  start[shift - 1] = (char)shift;
  return start + shift;
}

bool fy_aligned_to_file(void *p, void *data, size_t bytes, const volatile bool *stop) {
  return ((char *)p)[-1] == 0 && fy_large_to_file(p, data, bytes, stop);
}

void fy_aligned_free(void *p) {
  if (!p) return;
  const int shift = ((char *)p)[-1];
  if (shift)
    free((char *)p - shift);
  else
    fy_large_free(p);
}

bool fy_grow(void *data_ptr, size_t *cap, size_t need, size_t elem) {
  if (need <= *cap) return true;
  size_t want = *cap > SIZE_MAX / 2 ? need : *cap * 2;
  if (want < 8) want = 8;
  if (want < need) want = need;
  size_t bytes;
  if (!fy_mul_size(want, elem, &bytes)) return false;
  void *old;
  memcpy(&old, data_ptr, sizeof old);  // |data_ptr| is a T ** for some T
  void *grown = fy_realloc(old, bytes);
  if (!grown) return false;
  memcpy(data_ptr, &grown, sizeof grown);
  *cap = want;
  return true;
}
