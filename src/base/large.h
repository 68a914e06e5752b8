// SPDX-License-Identifier: Apache-2.0
// large.h: big blocks of memory that are kept for a while when released. For fy_aligned_alloc only.

#ifndef FY_BASE_LARGE_H
#define FY_BASE_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// From here on: some such blocks at the end of the heap, and malloc gives them back when they are freed.
#define FY_LARGE_BYTES ((size_t)32 << 10)

void *fy_large_alloc(size_t bytes);  // 64-byte aligned; NULL if there is no memory
void fy_large_free(void *p);
void fy_large_trim(void);  // gives everything that is kept back
// fy_pages_to_file (base/slab.h) for |data| .. + |bytes| inside the block |p|.
bool fy_large_to_file(void *p, void *data, size_t bytes, const volatile bool *stop);

#endif
