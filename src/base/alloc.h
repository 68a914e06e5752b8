// SPDX-License-Identifier: Apache-2.0
// alloc.h: every allocation of the library goes through here, so that a test can make the N-th fail.
// Not here: device memory (memory/).

#ifndef FY_BASE_ALLOC_H
#define FY_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All return NULL on failure (or when a fault is due). Size 0 gives a valid pointer.
void *fy_malloc(size_t bytes);
void *fy_calloc(size_t count, size_t bytes);  // NULL on overflow of count * bytes
void *fy_realloc(void *p, size_t bytes);      // on failure |p| stays valid
void fy_free(void *p);
char *fy_strdup(const char *s);
char *fy_strndup(const char *s, size_t n);
void *fy_aligned_alloc(size_t bytes);  // 64-byte aligned; release with fy_aligned_free
void fy_aligned_free(void *p);
// fy_large_to_file (base/large.h) for such a block; false if it has no pages of its own.
bool fy_aligned_to_file(void *p, void *data, size_t bytes, const volatile bool *stop);

// Grows the array |*data| so that it holds at least |need| elements of |elem| bytes; doubles.
// False when memory is short: nothing changed.
bool fy_grow(void *data_ptr, size_t *cap, size_t need, size_t elem);

// a * b and a + b in size_t; false on overflow.
static inline bool fy_mul_size(size_t a, size_t b, size_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
static inline bool fy_add_size(size_t a, size_t b, size_t *out) {
  return !__builtin_add_overflow(a, b, out);
}

// Fault injection. A kind counts down; at zero that one call fails (and, if sticky, all later ones).
typedef enum fy_fault {
  FY_FAULT_ALLOC,
  FY_FAULT_DEVICE_ALLOC,
  FY_FAULT_LAUNCH,
  FY_FAULT_COPY,
  FY_FAULT_READ,
  FY_FAULT_KINDS,
} fy_fault;

void fy_fault_arm(fy_fault kind, int64_t nth,
                  bool sticky);  // the nth call from now fails (1 = next)
void fy_fault_disarm(fy_fault kind);
int64_t fy_fault_hits(
    fy_fault kind);  // calls seen since arming; tells a test when N exceeds them all
bool fy_fault_due_slow(fy_fault kind);
extern int fy_fault_armed;  // nonzero while any kind is armed
static inline bool fy_fault_due(fy_fault kind) {
  return __atomic_load_n(&fy_fault_armed, __ATOMIC_RELAXED) && fy_fault_due_slow(kind);
}

#endif
