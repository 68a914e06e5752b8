// SPDX-License-Identifier: Apache-2.0
// large.h: big blocks of memory that are kept for a while when released. For fy_aligned_alloc only.

#ifndef FY_BASE_LARGE_H
#define FY_BASE_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FY_LARGE_BYTES ((size_t)1 << 20)  // from here on

void *fy_large_alloc(size_t bytes);  // 64-byte aligned; NULL if there is no memory
void fy_large_free(void *p);
void fy_large_trim(void);     // gives everything that is kept back
void fy_large_once(void *p);  // not to be kept when it is released
// Moves the whole pages of |data| .. + |bytes|, inside the block |p|, to a temporary file that has no
// name and is mapped in their place: they take no memory until somebody reads them. The contents
// must not change meanwhile. False if that cannot be done (or |*stop|): nothing changed then.
bool fy_large_to_file(void *p, void *data, size_t bytes, const volatile bool *stop);

#endif
