// SPDX-License-Identifier: Apache-2.0
// mapping_guard.c: read leases, and the thread that is told when somebody wants to write.
//
// Linux gives a process that opens the file for writing or cuts it no access before the lease is given
// up, for /proc/sys/fs/lease-break-time seconds (45), and sends a signal to who holds it: here to one
// thread, which has every signal blocked and waits for this one. Nothing else of the process notices:
// no handler, no mask changes. The thread reads what is still needed into fresh memory and moves that
// over the mapping. Moving pages is one step for everybody who reads meanwhile.
//
// Deliberately not: other file systems than the local ones listed. A network file can change without
// this kernel knowing. And a disk that fails under a mapping stays what it is in every program.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/slab.h"
#include "wire/mapping_impl.h"

// A signal that programs hardly use. If its queue is full the kernel sends SIGIO instead, to the same
// thread, where it stays blocked: then the next look round finds the lease.
#define LEASE_SIGNAL (SIGRTMAX - 5)
#define LOOK_ROUND_S 10  // well within the 45
#define AGAIN_S      1   // after a try for which there was no memory
#define MAX_TRIES    60  // then the kernel has given the file away

static fy_cond ready = FY_COND_INIT;
static fy_thread thread;
static pid_t thread_pid;  // of the process whose thread it is, 0 = none yet
static pid_t thread_id;   // 0 until it runs
static volatile bool stop;

// ---------------------------------------------------------------- memory of our own
// Whether page |i| of |m| is needed by anybody.
static uint8_t *needed_pages(const fy_wire_mapping *m, size_t pages) {
  uint8_t *needed = fy_calloc(pages, 1);
  for (const fy_wire_range *r = m->ranges; needed && r; r = r->next) {
    const size_t first = r->offset / FY_PAGE, last = (r->offset + r->bytes - 1) / FY_PAGE;
    if (r->bytes) memset(needed + first, 1, last - first + 1);
  }
  return needed;
}

static bool read_all(int fd, char *to, size_t at, size_t n) {
  while (n) {
    const ssize_t got = pread(fd, to, n, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    at += (size_t)got;
    n -= (size_t)got;
  }
  return true;
}

// Replaces whole pages |at| .. + |n| (the file may end in the last one).
static bool replace(const fy_wire_mapping *m, size_t at, size_t n) {
  const size_t in_file = m->bytes - at < n ? m->bytes - at : n;
  char *own = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own != MAP_FAILED) {
    if (read_all(m->fd, own, at, in_file) && mprotect(own, n, PROT_READ) == 0 &&
        mremap(own, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, m->base + at) != MAP_FAILED)
      return true;
    munmap(own, n);
  }
  return fy_pages_to_file(m->base + at, n, &stop);  // memory is short: a file without a name
}

// False: try again. Who waits to write gets what he wants at last, with us or without.
static bool move(fy_wire_mapping *m) {
  const size_t pages = (m->bytes + FY_PAGE - 1) / FY_PAGE;
  uint8_t *needed = needed_pages(m, pages);
  size_t moved = 0;
  if (!needed) return false;
  bool ok = true;
  for (size_t i = 0, end; i < pages && ok; i = end) {
    for (end = i + 1; end < pages && needed[end] == needed[i];) end++;
    if (!needed[i]) continue;
    ok = replace(m, i * FY_PAGE, (end - i) * FY_PAGE);
    moved += (end - i) * FY_PAGE;
  }
  fy_free(needed);
  if (!ok && ++m->tries < MAX_TRIES) return false;
  fy_mappings_moved_files++;
  fy_mappings_moved_bytes += moved;
  fy_lease_drop(m);
  m->fd = -1;
  return true;
}

// ---------------------------------------------------------------- the thread
// With the lock held. What the signal says is not needed: the kernel tells which leases are wanted.
static bool look_round(void) {
  bool ok = true;
  for (fy_wire_mapping *m = fy_mappings; m; m = m->next)
    if (m->fd >= 0 && m->pid == thread_pid && fcntl(m->fd, F_GETLEASE) != F_RDLCK) ok &= move(m);
  return ok;
}

static void *watch(void *arg) {
  (void)arg;
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, LEASE_SIGNAL);
  fy_lock(&fy_mappings_mu);
  thread_id = (pid_t)syscall(SYS_gettid);
  fy_cond_broadcast(&ready);
  while (!stop) {
    const struct timespec wait = {.tv_sec = look_round() ? LOOK_ROUND_S : AGAIN_S};
    fy_unlock(&fy_mappings_mu);
    (void)sigtimedwait(&wanted, NULL, &wait);
    fy_lock(&fy_mappings_mu);
  }
  fy_unlock(&fy_mappings_mu);
  return NULL;
}

// With the lock held, which is given up while it waits.
static bool ensure_thread(void) {
  if (stop) return false;
  if (thread_pid != getpid()) {
    thread_id = 0;
    if (!fy_thread_start(&thread, watch, NULL, "ferry-files")) return false;
    thread_pid = getpid();
  }
  while (!thread_id) fy_cond_wait(&ready, &fy_mappings_mu);
  return true;
}

// The library goes (exit, dlclose): the thread must not outlive its code.
__attribute__((destructor)) static void end(void) {
  fy_lock(&fy_mappings_mu);
  stop = true;
  const bool join = thread_pid == getpid();
  fy_unlock(&fy_mappings_mu);
  if (!join) return;
  pthread_kill(thread, LEASE_SIGNAL);
  fy_thread_join(thread);
}

// ---------------------------------------------------------------- leases
// File systems whose files change through this kernel only, or not at all.
static bool is_local(int fd) {
  static const unsigned long known[] = {
      0xEF53,      // ext2, ext3, ext4
      0x58465342,  // xfs
      0x9123683E,  // btrfs
      0x01021994,  // tmpfs
      0x858458F6,  // ramfs
      0x794C7630,  // overlay
      0xF2F52010,  // f2fs
      0x2FC12FC1,  // zfs
      0xCA451A4E,  // bcachefs
      0x73717368,  // squashfs
      0xE0F5E1E2,  // erofs
  };
  struct statfs fs;
  if (fstatfs(fd, &fs) != 0) return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (((unsigned long)fs.f_type & 0xFFFFFFFF) == known[i]) return true;
  return false;
}

const char *fy_lease_take(int fd) {
  if (!is_local(fd)) return "its file system is none that is known to be local";
  if (!ensure_thread()) return "no thread could be started to look after it";
  const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = thread_id};
  // The signal and who gets it come first: without them the process would be sent SIGIO.
  if (fcntl(fd, F_SETSIG, LEASE_SIGNAL) != 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0)
    return "the kernel sends no signals for it";
  if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) return NULL;
  return errno == EAGAIN                     ? "somebody has it open for writing"
         : errno == EACCES || errno == EPERM ? "it belongs to somebody else (no right to a lease)"
                                             : "its file system gives no leases";
}

void fy_lease_drop(const fy_wire_mapping *m) {
  if (m->fd < 0) return;
  if (m->pid == getpid()) (void)fcntl(m->fd, F_SETLEASE, F_UNLCK);  // a fork may have it open
  close(m->fd);
}
