// SPDX-License-Identifier: Apache-2.0
// account.c: what this process holds of every device, and its part of the registry.
// Locks, in the order in which they are taken: |accounts_lock| (who has an account), a pool's own, the
// registry's, the file's.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "base/thread.h"
#include "memory/pool.h"
#include "memory/registry_impl.h"

#define WINDOW_NS ((int64_t)500 * 1000 * 1000)
#define TICK_NS   ((int64_t)50 * 1000 * 1000)
#define RECENT_NS ((int64_t)500 * 1000 * 1000)
#define MAX_POOLS 64  // per account that are looked at

struct fy_account {
  struct fy_account *next;
  fy_registry_device what;
  fy_mempool *pools[MAX_POOLS];
  int num_pools, opened;
  int entry;   // in the slot; -1: it has no room
  pid_t told;  // the process whose slot knows it
  atomic_uint_least64_t reserved, busy_ns;
};

static fy_mutex accounts_lock = FY_MUTEX_INIT;
static fy_account *accounts;
static atomic_int_least64_t last_tick;

static bool same_account(const fy_account *a, const fy_registry_device *w) {
  return strcmp(a->what.name, w->name) == 0 && strcmp(a->what.backend, w->backend) == 0 &&
         strcmp(a->what.shared, w->shared) == 0 && a->what.total == w->total;
}

static int free_entry(void) {
  for (int i = 0; i < FY_REGISTRY_DEVICES; i++) {
    bool taken = false;
    for (const fy_account *a = accounts; a; a = a->next) taken |= a->entry == i;
    if (!taken) return i;
  }
  return -1;
}

fy_account *fy_account_open(const fy_device *d, fy_mempool *pool) {
  fy_registry_device w = {.total = d->facts.memory_total};
  snprintf(w.name, sizeof w.name, "%.15s:%d", d->type, d->index);
  snprintf(w.backend, sizeof w.backend, "%s", d->ops ? d->ops->backend : "");
  snprintf(w.shared, sizeof w.shared, "%s", d->facts.shared);
  fy_lock(&accounts_lock);
  fy_account *a = accounts;
  while (a && !same_account(a, &w)) a = a->next;
  if (!a && (a = fy_calloc(1, sizeof *a))) {
    a->what = w;
    a->entry = free_entry();
    a->next = accounts;
    accounts = a;
  }
  if (a) {
    a->opened++;
    if (a->num_pools < MAX_POOLS) a->pools[a->num_pools++] = pool;
  }
  fy_unlock(&accounts_lock);
  return a;
}

// The registry is held.
static fy_registry_entry *entry_of(fy_account *a) {
  fy_registry_slot *s = a->entry < 0 ? NULL : fy_registry_mine();
  if (!s) return NULL;
  fy_registry_entry *e = &s->devices[a->entry];
  if (a->told == getpid()) return e;
  a->told = getpid();
  atomic_fetch_add(&e->version, 1);
  e->what = a->what;
  atomic_fetch_add(&e->version, 1);
  atomic_store(&e->reserved, atomic_load(&a->reserved));
  atomic_store(&e->busy_ns, atomic_load(&a->busy_ns));
  for (int i = 0; i < 2; i++) {
    atomic_store(&e->since_ns[i], fy_now_ns());
    atomic_store(&e->since_busy[i], atomic_load(&a->busy_ns));
  }
  return e;
}

void fy_account_close(fy_account *a, fy_mempool *pool) {
  if (!a) return;
  fy_lock(&accounts_lock);
  for (int i = 0; i < a->num_pools; i++)
    if (a->pools[i] == pool) a->pools[i--] = a->pools[--a->num_pools];
  const bool last = --a->opened == 0;
  if (last) {
    fy_account **at = &accounts;
    while (*at != a) at = &(*at)->next;
    *at = a->next;
    fy_registry_hold();
    fy_registry_slot *s = a->told == getpid() ? fy_registry_mine() : NULL;
    if (s && a->entry >= 0) memset(&s->devices[a->entry], 0, sizeof *s->devices);
    fy_registry_let_go();
  }
  fy_unlock(&accounts_lock);
  if (last) fy_free(a);
}

// ---------------------------------------------------------------- taking
// The registry and the file are held: what all processes have of the memory now.
static uint64_t taken_by_all(const fy_account *a, uint64_t *out_mine) {
  const fy_registry_table *t = fy_registry_open();
  uint64_t all = 0;
  *out_mine = 0;
  for (int i = 0; i < FY_REGISTRY_SLOTS; i++) {
    const fy_registry_slot *s = &t->slots[i];
    uint64_t bytes = 0, used;
    const pid_t pid = atomic_load(&s->pid);
    for (int k = 0; pid && k < FY_REGISTRY_DEVICES; k++) {
      fy_registry_device e;
      fy_registry_read(&s->devices[k], &e);
      if (e.name[0] && strcmp(e.shared, a->what.shared) == 0) bytes += e.reserved;
    }
    if (!bytes || (pid != getpid() && !fy_registry_alive(s, &used))) continue;
    all += bytes;
    if (pid == getpid()) *out_mine = bytes;
  }
  return all;
}

static void refuse(const fy_account *a, uint64_t bytes, uint64_t all, uint64_t own, fy_error *why) {
  char others[32], total[32], mine[32], want[32];
  fy_human_bytes((double)(all - own), others);
  fy_human_bytes((double)a->what.total, total);
  fy_human_bytes((double)own, mine);
  fy_human_bytes((double)bytes, want);
  fy_registry_table *t = fy_registry_open();
  atomic_store(&t->refused_pid, (int)getpid());
  atomic_store(&t->refused_ns, fy_now_ns());
  fy_fail(why, FY_RESOURCE_EXHAUSTED,
          "other processes hold %s of the %s of %s; this one holds %s and asks for %s more", others,
          total, a->what.name, mine, want);
}

bool fy_account_take(fy_account *a, uint64_t bytes, fy_error *why) {
  bool ok = true;
  if (!a) return true;
  fy_registry_hold();
  fy_registry_entry *e = entry_of(a);
  if (e && a->what.shared[0] && fy_registry_file_lock()) {
    uint64_t own, all = taken_by_all(a, &own);
    // What this process has is limited by its pools; here only the others count.
    ok = all == own || (bytes <= a->what.total && all <= a->what.total - bytes);
    if (!ok) refuse(a, bytes, all, own, why);
    if (ok) atomic_fetch_add(&e->reserved, bytes);
    fy_registry_file_unlock();
  } else if (e) {
    atomic_fetch_add(&e->reserved, bytes);
  }
  if (ok) atomic_fetch_add(&a->reserved, bytes);
  fy_registry_let_go();
  return ok;
}

void fy_account_give(fy_account *a, uint64_t bytes) {
  if (!a) return;
  fy_registry_hold();
  fy_registry_entry *e = entry_of(a);
  // Locked, so that whoever adds up what all have (fy_registry_list) sees one moment.
  const bool locked = e && a->what.shared[0] && fy_registry_file_lock();
  if (e) atomic_fetch_sub(&e->reserved, bytes);
  if (locked) fy_registry_file_unlock();
  atomic_fetch_sub(&a->reserved, bytes);
  fy_registry_let_go();
}

void fy_account_busy(fy_account *a, int64_t ns) {
  if (a && ns > 0) atomic_fetch_add(&a->busy_ns, (uint64_t)ns);
}

// ---------------------------------------------------------------- telling
static void roll_window(fy_registry_entry *e, int64_t now) {
  if (now - atomic_load(&e->since_ns[1]) < WINDOW_NS) return;
  atomic_store(&e->since_busy[0], atomic_load(&e->since_busy[1]));
  atomic_store(&e->since_ns[0], atomic_load(&e->since_ns[1]));
  atomic_store(&e->since_busy[1], atomic_load(&e->busy_ns));
  atomic_store(&e->since_ns[1], now);
}

static void tell(fy_account *a) {
  fy_registry_device w = a->what;
  for (int i = 0; i < a->num_pools; i++) {
    fy_mempool_stats s;
    fy_mempool_stats_get(a->pools[i], &s);
    w.in_use += s.bytes_in_use;
    w.peak += s.peak_bytes_in_use;
    if (s.limit_bytes > w.limit) w.limit = s.limit_bytes;
  }
  if (!w.limit) w.limit = w.total;
  fy_registry_hold();
  fy_registry_entry *e = entry_of(a);
  if (e) {
    atomic_fetch_add(&e->version, 1);
    e->what = w;
    atomic_fetch_add(&e->version, 1);
    if (strcmp(w.backend, "cpu") == 0) atomic_store(&e->reserved, w.in_use);
    atomic_store(&e->busy_ns, atomic_load(&a->busy_ns));
    roll_window(e, fy_now_ns());
  }
  fy_registry_let_go();
}

void fy_registry_update(void) {
  atomic_store_explicit(&last_tick, fy_now_ns(), memory_order_relaxed);
  fy_lock(&accounts_lock);
  for (fy_account *a = accounts; a; a = a->next) tell(a);
  fy_unlock(&accounts_lock);
}

bool fy_registry_tick(void) {
  const int64_t now = fy_now_ns();
  if (now - atomic_load_explicit(&last_tick, memory_order_relaxed) < TICK_NS) return false;
  fy_registry_update();
  fy_registry_hold();
  const fy_registry_table *t = fy_registry_open();
  const bool wanted = t && atomic_load(&t->refused_pid) != (int)getpid() &&
                      now - atomic_load(&t->refused_ns) < RECENT_NS && atomic_load(&t->refused_ns);
  fy_registry_let_go();
  return wanted;
}
