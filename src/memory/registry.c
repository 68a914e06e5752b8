// SPDX-License-Identifier: Apache-2.0
// registry.c: the file, its slots, and who is alive. What this process writes is account.c.

#include "memory/registry_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/thread.h"

#define MAGIC (0x4652593100000000u + FY_REGISTRY_LAYOUT)

static fy_mutex lock = FY_MUTEX_INIT;
static fy_registry_table *shared;
static fy_registry_slot *mine;
static int file = -1;
static pid_t owner;  // of |mine| and |file|: a child of fork() has none
static bool tried;

void fy_registry_hold(void) {
  fy_lock(&lock);
}

void fy_registry_let_go(void) {
  fy_unlock(&lock);
}

// Fields 3, 14, 15 and 22 of /proc/PID/stat: state, ticks of user and system time, and of the start.
// False also for a process that is dead and only waits for its parent to notice.
static bool times_of(pid_t pid, uint64_t *born, uint64_t *used) {
  char path[48], text[1024], state;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = 0;
  char *at = strrchr(text, ')');  // the name may hold anything
  unsigned long long user, sys, start;
  if (!at || sscanf(at + 1,
                    " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
                    "%*d %llu",
                    &state, &user, &sys, &start) != 4)
    return false;
  *born = start;
  *used = user + sys;
  return state != 'Z' && state != 'X';
}

bool fy_registry_alive(const fy_registry_slot *s, uint64_t *used) {
  uint64_t born;
  pid_t pid = atomic_load(&s->pid);
  if (pid <= 0 || (kill(pid, 0) && errno == ESRCH)) return false;
  return times_of(pid, &born, used) && born == atomic_load(&s->born);
}

static void path_of(char out[160]) {
  const char *where = getenv("FERRY_REGISTRY");
  if (where && *where)
    snprintf(out, 160, "%s", where);
  else
    snprintf(out, 160, "/dev/shm/ferry.%u.%d", (unsigned)getuid(), FY_REGISTRY_LAYOUT);
}

static int open_file(void) {
  char path[160];
  path_of(path);
  return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

fy_registry_table *fy_registry_open(void) {
  if (tried) return shared;
  tried = true;
  const char *where = getenv("FERRY_REGISTRY");
  if (where && strcmp(where, "off") == 0) return NULL;
  struct stat st;
  int fd = open_file();
  if (fd < 0) return NULL;
  // Only a file of our own: somebody else could put lies in the way.
  if (fstat(fd, &st) == 0 && st.st_uid == getuid() && S_ISREG(st.st_mode) &&
      posix_fallocate(fd, 0, (off_t)sizeof *shared) == 0) {  // a full /dev/shm must not fault later
    void *p = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) shared = p;
  }
  uint_least64_t none = 0;
  if (shared && !atomic_compare_exchange_strong(&shared->magic, &none, MAGIC) && none != MAGIC) {
    munmap(shared, sizeof *shared);  // of another version
    shared = NULL;
  }
  if (shared) {
    file = fd;
    owner = getpid();
  } else {
    close(fd);
  }
  return shared;
}

static void program_name(char out[32]) {
  int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, out, 31);
  if (fd >= 0) close(fd);
  out[n > 0 ? n : 0] = 0;
  out[strcspn(out, "\n")] = 0;
}

// After a fork neither the slot nor the lock is ours.
static void leave_parent(void) {
  if (owner == getpid()) return;
  if (file >= 0) close(file);
  file = open_file();
  mine = NULL;
  owner = getpid();
}

fy_registry_slot *fy_registry_mine(void) {
  uint64_t born, used;
  if (!fy_registry_open()) return NULL;
  leave_parent();
  if (mine || !times_of(getpid(), &born, &used) || !fy_registry_file_lock()) return mine;
  for (int i = 0; i < FY_REGISTRY_SLOTS && !mine; i++) {
    fy_registry_slot *s = &shared->slots[i];
    int was = atomic_load(&s->pid);
    if (was && fy_registry_alive(s, &used)) continue;
    if (!atomic_compare_exchange_strong(&s->pid, &was, (int)getpid())) continue;
    // Nobody reads what the last owner left: the start does not match before this is done.
    memset(s->devices, 0, sizeof s->devices);
    program_name(s->name);
    atomic_store(&s->born, born);
    mine = s;
  }
  fy_registry_file_unlock();
  return mine;
}

// The library goes (exit, dlclose): what it took goes, too, or a process that loads it again and again would
// fill the table. Whoever still calls finds no registry.
__attribute__((destructor)) static void leave(void) {
  fy_lock(&lock);
  if (mine && owner == getpid()) {
    memset(mine->devices, 0, sizeof mine->devices);
    atomic_store(&mine->born, 0);
    atomic_store(&mine->pid, 0);
  }
  if (shared) munmap(shared, sizeof *shared);
  if (file >= 0) close(file);
  shared = NULL;
  mine = NULL;
  file = -1;
  tried = true;
  fy_unlock(&lock);
}

bool fy_registry_file_lock(void) {
  int failed = -1;
  leave_parent();
  if (file >= 0)
    while ((failed = flock(file, LOCK_EX)) != 0 && errno == EINTR) {
    }
  return failed == 0;
}

void fy_registry_file_unlock(void) {
  flock(file, LOCK_UN);
}

static double busy_of(const fy_registry_entry *e) {
  const int64_t since = atomic_load(&e->since_ns[0]), now = fy_now_ns();
  const uint64_t busy = atomic_load(&e->busy_ns), before = atomic_load(&e->since_busy[0]);
  if (!since || now <= since || busy < before) return 0;
  const double share = (double)(busy - before) / (double)(now - since);
  return share > 1 ? 1 : share;
}

void fy_registry_read(const fy_registry_entry *e, fy_registry_device *out) {
  for (int attempt = 0; attempt < 100; attempt++) {  // a writer that died half-way: as it is
    unsigned before = atomic_load(&e->version);
    *out = e->what;
    if (!(before & 1) && atomic_load(&e->version) == before) break;
  }
  out->name[sizeof out->name - 1] = 0;
  out->backend[sizeof out->backend - 1] = 0;
  out->shared[sizeof out->shared - 1] = 0;
  out->reserved = atomic_load(&e->reserved);
  out->busy = busy_of(e);
}

int fy_registry_list(fy_registry_process *out, int max) {
  int n = 0;
  fy_lock(&lock);
  const fy_registry_table *t = fy_registry_open();
  const bool locked = t && fy_registry_file_lock();
  struct timespec up;
  clock_gettime(CLOCK_BOOTTIME, &up);
  const double ticks = (double)sysconf(_SC_CLK_TCK), cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 0; t && i < FY_REGISTRY_SLOTS && n < max; i++) {
    const fy_registry_slot *s = &t->slots[i];
    uint64_t used = 0;
    if (!atomic_load(&s->pid) || !fy_registry_alive(s, &used)) continue;
    fy_registry_process *p = &out[n++];
    memset(p, 0, sizeof *p);
    p->pid = atomic_load(&s->pid);
    memcpy(p->name, s->name, sizeof p->name - 1);
    const double age =
        (double)up.tv_sec + (double)up.tv_nsec / 1e9 - (double)atomic_load(&s->born) / ticks;
    p->cpu_share = age > 0 ? (double)used / ticks / age : 0;
    for (int k = 0; k < FY_REGISTRY_DEVICES; k++) {
      fy_registry_device *d = &p->devices[p->num_devices];
      fy_registry_read(&s->devices[k], d);
      if (!d->name[0]) continue;
      if (strcmp(d->backend, "cpu") == 0 && cores > 0) d->busy = p->cpu_share / cores;
      p->num_devices++;
    }
  }
  if (locked) fy_registry_file_unlock();
  fy_unlock(&lock);
  return n;
}

void fy_registry_others(const fy_device *d, fy_others *out) {
  *out = (fy_others){0};
  if (!d->facts.shared[0]) return;
  uint64_t most = 0;
  double busiest = -1;
  fy_lock(&lock);
  const fy_registry_table *t = fy_registry_open();
  for (int i = 0; t && i < FY_REGISTRY_SLOTS; i++) {
    const fy_registry_slot *s = &t->slots[i];
    const pid_t pid = atomic_load(&s->pid);
    uint64_t used, bytes = 0;
    double busy = 0;
    bool here = false;
    if (!pid || pid == getpid()) continue;
    for (int k = 0; k < FY_REGISTRY_DEVICES; k++) {
      fy_registry_device e;
      fy_registry_read(&s->devices[k], &e);
      if (!e.name[0] || strcmp(e.shared, d->facts.shared) != 0) continue;
      here = true;
      bytes += e.reserved;
      busy += e.busy;
    }
    if (!here || !fy_registry_alive(s, &used)) continue;
    out->processes++;
    out->bytes += bytes;
    out->busy += busy;
    if (bytes < most || (bytes == most && busy <= busiest)) continue;
    most = bytes;
    busiest = busy;
    char size[32];
    fy_human_bytes((double)bytes, size);
    snprintf(out->who, sizeof out->who, "process %d (%.31s), %s, %.0f %% busy", (int)pid, s->name,
             size, 100 * busy);
  }
  fy_unlock(&lock);
  if (out->busy > 0.99) out->busy = 0.99;
  if (out->processes > 1) {
    const size_t n = strlen(out->who);
    snprintf(out->who + n, sizeof out->who - n, ", and %d more", out->processes - 1);
  }
}
