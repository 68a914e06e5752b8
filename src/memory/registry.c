// SPDX-License-Identifier: Apache-2.0
#include "memory/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "memory/pool.h"

#define MAGIC 0x4652593100000001u  // layout 1

typedef struct slot {
  atomic_int pid;              // 0: free
  atomic_uint_least64_t born;  // when the process started, in the kernel's ticks: pids come again
  atomic_uint version;         // odd while it is written
  fy_registry_process what;
} slot;

typedef struct table {
  atomic_uint_least64_t magic;
  slot slots[FY_REGISTRY_SLOTS];
} table;

static fy_mutex lock = FY_MUTEX_INIT;
static table *shared;
static slot *mine;
static pid_t owner;  // of |mine|: a child of fork() has none
static bool tried;

// Fields 14, 15 and 22 of /proc/PID/stat: ticks of user and system time, and of the start.
static bool times_of(pid_t pid, uint64_t *born, uint64_t *used) {
  char path[48], text[1024];
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
                    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
                    "%*d %llu",
                    &user, &sys, &start) != 3)
    return false;
  *born = start;
  *used = user + sys;
  return true;
}

static bool alive(const slot *s, uint64_t *used) {
  uint64_t born;
  pid_t pid = atomic_load(&s->pid);
  if (pid <= 0 || (kill(pid, 0) && errno == ESRCH)) return false;
  return times_of(pid, &born, used) && born == atomic_load(&s->born);
}

static void open_table(void) {
  char path[128];
  const char *where = getenv("FERRY_REGISTRY");
  if (tried) return;
  tried = true;
  if (where && strcmp(where, "off") == 0) return;
  if (where && *where)
    snprintf(path, sizeof path, "%s", where);
  else
    snprintf(path, sizeof path, "/dev/shm/ferry.%u", (unsigned)getuid());
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat st;
  if (fd < 0) return;
  // Only a file of our own: somebody else could put lies in the way.
  if (fstat(fd, &st) == 0 && st.st_uid == getuid() && S_ISREG(st.st_mode) &&
      ((size_t)st.st_size >= sizeof(table) || ftruncate(fd, (off_t)sizeof(table)) == 0)) {
    void *p = mmap(NULL, sizeof(table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) shared = p;
  }
  close(fd);
  uint_least64_t none = 0;
  if (shared && !atomic_compare_exchange_strong(&shared->magic, &none, MAGIC) && none != MAGIC) {
    munmap(shared, sizeof *shared);  // of another version
    shared = NULL;
  }
}

static void take_slot(void) {
  uint64_t born, used;
  if (!shared || (mine && owner == getpid()) || !times_of(getpid(), &born, &used)) return;
  mine = NULL;
  for (int i = 0; i < FY_REGISTRY_SLOTS && !mine; i++) {
    slot *s = &shared->slots[i];
    int was = atomic_load(&s->pid);
    if (was && alive(s, &used)) continue;
    if (!atomic_compare_exchange_strong(&s->pid, &was, (int)getpid())) continue;
    atomic_store(&s->born, born);
    mine = s;
    owner = getpid();
  }
}

static void program_name(char out[32]) {
  int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, out, 31);
  if (fd >= 0) close(fd);
  out[n > 0 ? n : 0] = 0;
  out[strcspn(out, "\n")] = 0;
}

void fy_registry_update(fy_device *const *devices, int n) {
  fy_lock(&lock);
  open_table();
  take_slot();
  if (mine) {
    fy_registry_process *w = &mine->what;
    atomic_fetch_add(&mine->version, 1);
    w->pid = owner;
    if (!w->name[0]) program_name(w->name);
    w->num_devices = 0;
    for (int i = 0; i < n && w->num_devices < FY_REGISTRY_DEVICES; i++) {
      const fy_device *d = devices[i];
      fy_registry_device *out = &w->devices[w->num_devices++];
      fy_mempool_stats s;
      fy_mempool_stats_get(d->memory, &s);
      snprintf(out->name, sizeof out->name, "%.15s:%d", d->type, d->index);
      snprintf(out->backend, sizeof out->backend, "%s", d->ops->backend);
      out->in_use = s.bytes_in_use;
      out->peak = s.peak_bytes_in_use;
      out->reserved = s.reserved_bytes;
      out->limit = s.limit_bytes ? s.limit_bytes : d->facts.memory_limit;
    }
    atomic_fetch_add(&mine->version, 1);
  }
  fy_unlock(&lock);
}

int fy_registry_list(fy_registry_process *out, int max) {
  int n = 0;
  fy_lock(&lock);
  open_table();
  struct timespec up;
  clock_gettime(CLOCK_BOOTTIME, &up);
  const double ticks = (double)sysconf(_SC_CLK_TCK);
  for (int i = 0; shared && i < FY_REGISTRY_SLOTS && n < max; i++) {
    slot *s = &shared->slots[i];
    uint64_t used = 0;
    if (!atomic_load(&s->pid) || !alive(s, &used)) continue;
    for (int attempt = 0; attempt < 100; attempt++) {  // a writer that died half-way: as it is
      unsigned before = atomic_load(&s->version);
      out[n] = s->what;
      if (!(before & 1) && atomic_load(&s->version) == before) break;
    }
    fy_registry_process *p = &out[n];
    p->pid = atomic_load(&s->pid);
    p->name[sizeof p->name - 1] = 0;
    if (p->num_devices < 0 || p->num_devices > FY_REGISTRY_DEVICES) p->num_devices = 0;
    for (int k = 0; k < p->num_devices; k++) {
      p->devices[k].name[sizeof p->devices[k].name - 1] = 0;
      p->devices[k].backend[sizeof p->devices[k].backend - 1] = 0;
    }
    const double age =
        (double)up.tv_sec + (double)up.tv_nsec / 1e9 - (double)atomic_load(&s->born) / ticks;
    p->cpu_share = age > 0 ? (double)used / ticks / age : 0;
    n++;
  }
  fy_unlock(&lock);
  return n;
}
