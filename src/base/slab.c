// SPDX-License-Identifier: Apache-2.0
// slab.c: see slab.h. Pieces are taken one after the other; what is freed goes back to the kernel at once,
// and its addresses when the whole slab is free. Address space is plentiful, memory is not.

#include "base/slab.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"

#define PAGE       ((size_t)4096)
#define HUGE_BYTES ((size_t)2 << 20)
#define SLAB_BYTES ((size_t)64 << 20)  // of addresses
#define STEP       ((size_t)1 << 20)   // written at a time
#define IN_MEMORY1 0x01021994          // file systems that are memory: nothing is won there
#define IN_MEMORY2 0x858458f6

typedef struct fy_slab {
  char *base;
  size_t bytes, used;
  size_t live;  // pieces
} fy_slab;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static fy_slab *current;

static void ask_for_huge(void *p, size_t bytes) {
#ifdef MADV_HUGEPAGE
  (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
}

static fy_slab *new_slab(size_t bytes) {
  fy_slab *s = fy_calloc(1, sizeof *s);
  if (!s) return NULL;
  char *p = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    fy_free(s);
    return NULL;
  }
  const size_t before = (HUGE_BYTES - ((uintptr_t)p & (HUGE_BYTES - 1))) & (HUGE_BYTES - 1);
  if (before) munmap(p, before);
  if (HUGE_BYTES - before) munmap(p + before + bytes, HUGE_BYTES - before);
  *s = (fy_slab){.base = p + before, .bytes = bytes};
  ask_for_huge(s->base, bytes);
  return s;
}

static void free_slab(fy_slab *s) {
  munmap(s->base, s->bytes);
  fy_free(s);
}

// With the lock held.
static bool make_room(size_t bytes) {
  if (current && current->bytes - current->used >= bytes) return true;
  fy_slab *s = new_slab(bytes > SLAB_BYTES ? bytes : SLAB_BYTES);
  if (!s) return false;
  if (current && !current->live) free_slab(current);
  current = s;  // the pieces of the one before look after it
  return true;
}

fy_slab_piece *fy_slab_alloc(size_t bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  (void)bytes;  // they see every block themselves
  (void)make_room;
  return NULL;
#else
  if (bytes > SIZE_MAX / 2 || sysconf(_SC_PAGESIZE) != (long)PAGE) return NULL;
  fy_slab_piece *p = fy_malloc(sizeof *p);
  if (!p) return NULL;
  p->bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
  pthread_mutex_lock(&mu);
  const bool ok = make_room(p->bytes);
  if (ok) {
    p->slab = current;
    p->data = current->base + current->used;
    current->used += p->bytes;
    current->live++;
  }
  pthread_mutex_unlock(&mu);
  if (ok) return p;
  fy_free(p);
  return NULL;
#endif
}

void fy_slab_free(fy_slab_piece *p) {
  fy_slab *s = p->slab;
  pthread_mutex_lock(&mu);
  const bool last = --s->live == 0;
  if (last && s != current) {
    free_slab(s);
  } else {  // fresh pages, whatever is mapped there now
    if (mmap(p->data, p->bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED) {
      ask_for_huge(p->data, p->bytes);
      if (last) s->used = 0;
      if (!last && (char *)p->data + p->bytes == s->base + s->used) s->used -= p->bytes;
    }
  }
  pthread_mutex_unlock(&mu);
  fy_free(p);
}

// ---------------------------------------------------------------- memory that waits in a file
// A file without a name: it is gone with the last mapping of it.
static int nameless(const char *dir) {
  struct statfs fs;
  if (!dir || !*dir || statfs(dir, &fs) != 0 || (unsigned long)fs.f_type == IN_MEMORY1 ||
      (unsigned long)fs.f_type == IN_MEMORY2)
    return -1;
#ifdef O_TMPFILE
  return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#else
  return -1;
#endif
}

bool fy_pages_to_file(void *data, size_t bytes, const volatile bool *stop) {
  const uintptr_t begin = ((uintptr_t)data + PAGE - 1) & ~(PAGE - 1),
                  end = ((uintptr_t)data + bytes) & ~(PAGE - 1);
  if (end <= begin || sysconf(_SC_PAGESIZE) != (long)PAGE) return false;
  int fd = nameless(getenv("TMPDIR"));
  if (fd < 0) fd = nameless("/var/tmp");
  if (fd < 0) fd = nameless("/tmp");
  if (fd < 0) return false;
  bool ok = true;
  for (uintptr_t at = begin; ok && at < end;) {
    const size_t left = end - at;
    const ssize_t n =
        *stop ? -1 : pwrite(fd, (const void *)at, left < STEP ? left : STEP, (off_t)(at - begin));
    ok = n > 0;
    if (ok) at += (size_t)n;
  }
  // The kernel changes the mapping at once: who reads meanwhile sees the old pages or the new ones.
  if (ok)
    ok = mmap((void *)begin, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
         MAP_FAILED;
  close(fd);
  return ok;
}

void fy_pages_drop(const void *data, size_t bytes) {
  const uintptr_t begin = ((uintptr_t)data + PAGE - 1) & ~(PAGE - 1),
                  end = ((uintptr_t)data + bytes) & ~(PAGE - 1);
  if (end > begin && sysconf(_SC_PAGESIZE) == (long)PAGE)
    (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}

bool fy_slab_to_file(fy_slab_piece *p, const volatile bool *stop) {
  return fy_pages_to_file(p->data, p->bytes, stop);
}

// The library goes (dlclose): so do the addresses, if nobody holds a piece.
__attribute__((destructor)) static void end(void) {
  pthread_mutex_lock(&mu);
  if (current && !current->live) {
    free_slab(current);
    current = NULL;
  }
  pthread_mutex_unlock(&mu);
}
