// SPDX-License-Identifier: Apache-2.0
// arena.h: many small allocations with one lifetime, freed together.
// Not thread-safe: the owner of the arena (a graph, a program) serialises access.

#ifndef FY_BASE_ARENA_H
#define FY_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct fy_arena_block fy_arena_block;
typedef struct fy_arena_cleanup fy_arena_cleanup;

typedef struct fy_arena {
  fy_arena_block *blocks;
  char *at, *end;
  size_t used_bytes;
  fy_arena_cleanup *cleanups;
} fy_arena;

void fy_arena_init(fy_arena *a);
void fy_arena_free(
    fy_arena *a);  // runs the cleanups, newest first; the arena is empty and reusable after
void *fy_arena_alloc(fy_arena *a, size_t bytes);   // 16-byte aligned, NULL on failure, not zeroed
void *fy_arena_zalloc(fy_arena *a, size_t bytes);  // zeroed
void *fy_arena_array(fy_arena *a, size_t count, size_t bytes);  // zeroed, overflow-checked
char *fy_arena_strndup(fy_arena *a, const char *s, size_t n);
char *fy_arena_strdup(fy_arena *a, const char *s);
void *fy_arena_memdup(fy_arena *a, const void *p, size_t bytes);
char *fy_arena_printf(fy_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Calls |fn(ptr)| when the arena is freed. 0 on success, -1 when memory is short (|fn| not called).
int fy_arena_defer(fy_arena *a, void (*fn)(void *), void *ptr);

#endif
