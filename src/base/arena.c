// SPDX-License-Identifier: Apache-2.0
// arena.c: bump allocation in blocks that double up to a limit. A request too big for a block gets
// one of its own, behind the current block, so that the rest of that one is not lost.

#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define ALIGN       16
#define FIRST_BLOCK 1024
#define LAST_BLOCK  (256 * 1024)

struct fy_arena_block {
  fy_arena_block *next;
  size_t bytes;  // usable
};
_Static_assert(sizeof(fy_arena_block) % ALIGN == 0, "the bytes after a block header are aligned");

struct fy_arena_cleanup {
  fy_arena_cleanup *next;
  void (*fn)(void *);
  void *ptr;
};

void fy_arena_init(fy_arena *a) {
  *a = (fy_arena){0};
}

void fy_arena_free(fy_arena *a) {
  for (fy_arena_cleanup *c = a->cleanups; c; c = c->next) c->fn(c->ptr);
  fy_arena_block *b = a->blocks;
  while (b) {
    fy_arena_block *next = b->next;
    fy_free(b);
    b = next;
  }
  fy_arena_init(a);
}

static fy_arena_block *new_block(size_t bytes) {
  size_t total;
  if (!fy_add_size(bytes, sizeof(fy_arena_block), &total)) return NULL;
  fy_arena_block *b = fy_malloc(total);
  if (b) b->bytes = bytes;
  return b;
}

static void *alloc_slow(fy_arena *a, size_t bytes) {
  size_t usual = a->blocks ? a->blocks->bytes * 2 : FIRST_BLOCK;
  if (usual > LAST_BLOCK) usual = LAST_BLOCK;
  bool own = bytes > usual / 4 && a->blocks;
  fy_arena_block *b = new_block(own || bytes > usual ? bytes : usual);
  if (!b) return NULL;
  a->used_bytes += bytes;
  if (own) {
    b->next = a->blocks->next;
    a->blocks->next = b;
    return b + 1;
  }
  b->next = a->blocks;
  a->blocks = b;
  a->at = (char *)(b + 1) + bytes;
  a->end = (char *)(b + 1) + b->bytes;
  return b + 1;
}

void *fy_arena_alloc(fy_arena *a, size_t bytes) {
  if (bytes > SIZE_MAX - ALIGN) return NULL;
  bytes = bytes ? (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
  if ((size_t)(a->end - a->at) < bytes) return alloc_slow(a, bytes);
  void *p = a->at;
  a->at += bytes;
  a->used_bytes += bytes;
  return p;
}

void *fy_arena_zalloc(fy_arena *a, size_t bytes) {
  void *p = fy_arena_alloc(a, bytes);
  return p ? memset(p, 0, bytes) : NULL;
}

void *fy_arena_array(fy_arena *a, size_t count, size_t bytes) {
  size_t total;
  return fy_mul_size(count, bytes, &total) ? fy_arena_zalloc(a, total) : NULL;
}

char *fy_arena_strndup(fy_arena *a, const char *s, size_t n) {
  size_t bytes;
  char *p = fy_add_size(n, 1, &bytes) ? fy_arena_alloc(a, bytes) : NULL;
  if (!p) return NULL;
  if (n) memcpy(p, s, n);
  p[n] = '\0';
  return p;
}

char *fy_arena_strdup(fy_arena *a, const char *s) {
  return fy_arena_strndup(a, s, strlen(s));
}

void *fy_arena_memdup(fy_arena *a, const void *p, size_t bytes) {
  void *copy = fy_arena_alloc(a, bytes);
  if (copy && bytes) memcpy(copy, p, bytes);
  return copy;
}

char *fy_arena_printf(fy_arena *a, const char *format, ...) {
  char local[256];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(local, sizeof local, format, args);
  va_end(args);
  if (n < 0) return NULL;
  if ((size_t)n < sizeof local) return fy_arena_strndup(a, local, (size_t)n);
  char *p = fy_arena_alloc(a, (size_t)n + 1);
  if (!p) return NULL;
  va_start(args, format);
  vsnprintf(p, (size_t)n + 1, format, args);
  va_end(args);
  return p;
}

int fy_arena_defer(fy_arena *a, void (*fn)(void *), void *ptr) {
  fy_arena_cleanup *c = fy_arena_alloc(a, sizeof *c);
  if (!c) return -1;
  *c = (fy_arena_cleanup){a->cleanups, fn, ptr};
  a->cleanups = c;
  return 0;
}
