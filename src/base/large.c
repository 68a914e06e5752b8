// SPDX-License-Identifier: Apache-2.0
// large.c: memory of big tensors. Fresh pages from the kernel cost more than most kernels that fill
// them (a fault and a zeroed page each), so blocks are kept for the next who asks for about as
// much. Kept blocks, but for the few last ones, are marked as free to take (MADV_FREE): under pressure
// the kernel takes their pages. Marking costs an interruption of all cores, and more when the pages are
// next written to (64 MB: 0.3 ms), so blocks that come and go with every step of a loop are better left
// alone. Where huge pages can be asked for they are; a block then costs a few faults. A block begins at
// a huge page but is no longer than it must be: its last piece is in small pages, unless it fills most
// of a huge one. Blocks of less than a megabyte are kept apart, so that many of them do not drive out
// the big ones.

#include "base/large.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/slab.h"

#define HUGE_BYTES ((size_t)2 << 20)
#define KEPT       64                  // blocks of a kind
#define MAX_SHARE  8                   // at most this part of the machine's memory is kept
#define MIDDLING   ((size_t)1 << 20)   // bytes that make a block a big one
#define MAX_MIDDLE ((size_t)32 << 20)  // bytes of smaller ones that are kept
#define UNMARKED   ((size_t)32 << 20)  // bytes of the youngest blocks that are not marked, at least,
#define MOST_YOUNG ((size_t)128 << 20)  // and at most, where that is 1/16 of what may be kept
#define HEADER     64
#define PAGE       ((size_t)4096)

typedef struct block {
  size_t bytes;  // of the mapping
  bool marked;   // as free to take
  bool once;     // never kept: goes back when it is released
} block;

typedef struct shelf {
  block *kept[KEPT];  // oldest first
  int n;
  size_t bytes, most;
} shelf;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static shelf middle = {.most = MAX_MIDDLE}, big;

static shelf *shelf_of(size_t bytes) {
  return bytes < MIDDLING ? &middle : &big;
}

static size_t whole_pages(size_t bytes) {
  const size_t last = bytes % HUGE_BYTES;
  if (bytes >= HUGE_BYTES && last >= HUGE_BYTES / 8 * 7) return bytes - last + HUGE_BYTES;
  return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static block *take(shelf *s, int i) {
  block *b = s->kept[i];
  s->bytes -= b->bytes;
  memmove(&s->kept[i], &s->kept[i + 1], (size_t)(s->n - i - 1) * sizeof *s->kept);
  s->n--;
  return b;
}

static void drop_oldest(shelf *s) {
  block *b = take(s, 0);
  munmap(b, b->bytes);
}

static block *map(size_t bytes) {
  // Room to start at a huge page; the margins go back.
  const size_t room = bytes >= HUGE_BYTES ? bytes + HUGE_BYTES : bytes;
  char *p = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  if (bytes >= HUGE_BYTES) {
    const size_t before = (HUGE_BYTES - ((uintptr_t)p & (HUGE_BYTES - 1))) & (HUGE_BYTES - 1);
    if (before) munmap(p, before);
    if (HUGE_BYTES - before) munmap(p + before + bytes, HUGE_BYTES - before);
    p += before;
#ifdef MADV_HUGEPAGE
    (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
  }
  block *b = (block *)p;
  b->bytes = bytes;
  b->once = false;
  return b;
}

void *fy_large_alloc(size_t bytes) {
  if (bytes > SIZE_MAX - HEADER - 2 * HUGE_BYTES) return NULL;
  const size_t want = whole_pages(bytes + HEADER);
  shelf *s = shelf_of(want);
  pthread_mutex_lock(&mu);
  int best = -1;
  for (int i = 0; i < s->n; i++) {
    const size_t have = s->kept[i]->bytes;
    if (have < want || have - want > want / 4) continue;
    if (best < 0 || have <= s->kept[best]->bytes) best = i;  // of equal ones the youngest
  }
  block *found = best >= 0 ? take(s, best) : NULL;
  pthread_mutex_unlock(&mu);
  if (!found && !(found = map(want))) {
    fy_large_trim();
    found = map(want);
  }
  return found ? (char *)found + HEADER : NULL;
}

// With the lock held. All but the first page, which says how long the block is.
static void mark_old(void) {
#ifdef MADV_FREE
  size_t young = 0, spared = big.most / 16;
  spared = spared < UNMARKED ? UNMARKED : spared > MOST_YOUNG ? MOST_YOUNG : spared;
  for (int i = big.n - 1; i >= 0; i--) {
    block *b = big.kept[i];
    young += b->bytes;
    if (young <= spared || b->marked || b->bytes < 2 * HUGE_BYTES) continue;
    (void)madvise((char *)b + HUGE_BYTES, b->bytes - HUGE_BYTES, MADV_FREE);
    b->marked = true;
  }
#endif
}

void fy_large_free(void *p) {
  block *b = (block *)((char *)p - HEADER);
  shelf *s = shelf_of(b->bytes);
  pthread_mutex_lock(&mu);
  if (!big.most) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    big.most = pages > 0 && page > 0 ? (size_t)pages / MAX_SHARE * (size_t)page : HUGE_BYTES;
  }
  if (b->once || b->bytes > s->most / 2) {
    pthread_mutex_unlock(&mu);
    munmap(b, b->bytes);
    return;
  }
  while (s->n == KEPT || s->bytes + b->bytes > s->most) drop_oldest(s);
  s->kept[s->n++] = b;
  s->bytes += b->bytes;
  b->marked = false;
  if (s == &big) mark_old();
  pthread_mutex_unlock(&mu);
}

void fy_large_trim(void) {
  pthread_mutex_lock(&mu);
  while (middle.n) drop_oldest(&middle);
  while (big.n) drop_oldest(&big);
  pthread_mutex_unlock(&mu);
}

// Not to be kept when it is released.
static void never_keep(void *p) {
  ((block *)((char *)p - HEADER))->once = true;
}

bool fy_large_to_file(void *p, void *data, size_t bytes, const volatile bool *stop) {
  if (!fy_pages_to_file(data, bytes, stop)) return false;
  never_keep(p);
  return true;
}

// The library goes (dlclose): what it kept must not stay.
__attribute__((destructor)) static void end(void) {
  fy_large_trim();
}
