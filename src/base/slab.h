// SPDX-License-Identifier: Apache-2.0
// slab.h: memory for weights. Pieces of whole pages lie side by side in large mappings that ask for huge
// pages: a model's hundred tensors cost a few page faults instead of thousands, and a piece can leave
// memory alone (fy_slab_to_file). Threads: any.

#ifndef FY_BASE_SLAB_H
#define FY_BASE_SLAB_H

#include <stdbool.h>
#include <stddef.h>

#define FY_SLAB_BYTES 32768  // from here on it pays

typedef struct fy_slab_piece {
  void *data;    // of whole pages
  size_t bytes;  // of these pages
  struct fy_slab *slab;
} fy_slab_piece;

fy_slab_piece *fy_slab_alloc(size_t bytes);  // NULL: no memory, or built with a sanitizer
void fy_slab_free(fy_slab_piece *p);
// Moves a piece to a temporary file that has no name and is mapped in its place: it takes no memory
// until somebody reads it. The contents must not change meanwhile. False if that cannot be done (or
// |*stop| came true): nothing changed then.
bool fy_slab_to_file(fy_slab_piece *p, const volatile bool *stop);
// The same for the whole pages of |data| .. + |bytes| in any private mapping.
bool fy_pages_to_file(void *data, size_t bytes, const volatile bool *stop);
// The whole pages of |data| .. + |bytes| in memory of malloc are given back; they read as zeros.
void fy_pages_drop(const void *data, size_t bytes);

#endif
