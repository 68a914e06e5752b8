// SPDX-License-Identifier: Apache-2.0
// devices.c: the set of open devices, made by asking every backend in turn.

#include "devices/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/thread.h"
#include "memory/pool.h"
#include "place/device_name.h"

#define FY_BACKEND(name) extern const fy_backend fy_backend_##name;
#include "devices/backends.inc"
#undef FY_BACKEND

const fy_backend *const fy_backends[] = {
#define FY_BACKEND(name) &fy_backend_##name,
#include "devices/backends.inc"
#undef FY_BACKEND
};
const size_t fy_backend_count = sizeof fy_backends / sizeof *fy_backends;

// TensorFlow tells a restarted device from the old one by this number; 0 means "unknown".
static uint64_t new_incarnation(const fy_device *d) {
  uint64_t n = 0;
  if (getrandom(&n, sizeof n, GRND_NONBLOCK) != (ssize_t)sizeof n) {
    n = fy_hash_mix((uint64_t)fy_now_ns(), (uint64_t)(uintptr_t)d);
  }
  return n ? n : 1;
}

fy_code fy_devices_add(fy_device_set *set, fy_device *d, uint64_t limit_bytes, fy_error *err) {
  fy_device **items = fy_realloc(set->items, ((size_t)set->n + 1) * sizeof *items);
  if (!items) return fy_fail_oom(err, sizeof *items);
  set->items = items;
  d->index = 0;
  for (int i = 0; i < set->n; i++) d->index += strcmp(set->items[i]->type, d->type) == 0;
  d->ordinal = set->n;
  d->incarnation = new_incarnation(d);
  snprintf(d->name, sizeof d->name, "/job:localhost/replica:0/task:0/device:%s:%d", d->type,
           d->index);
  d->ops->info(d, &d->facts);
  d->memory = fy_mempool_new(d, limit_bytes);
  if (!d->memory) return fy_fail_oom(err, sizeof *d);
  set->items[set->n++] = d;
  return FY_OK;
}

// All open sets, so that a device can tell its own.
static fy_mutex sets_lock = FY_MUTEX_INIT;
static fy_device_set **sets;
static size_t num_sets, cap_sets;

static bool enlist(fy_device_set *set) {
  fy_lock(&sets_lock);
  bool good = fy_grow(&sets, &cap_sets, num_sets + 1, sizeof *sets);
  if (good) sets[num_sets++] = set;
  fy_unlock(&sets_lock);
  return good;
}

static void strike(const fy_device_set *set) {
  fy_lock(&sets_lock);
  for (size_t i = 0; i < num_sets; i++) {
    if (sets[i] != set) continue;
    sets[i] = sets[--num_sets];
    break;
  }
  if (!num_sets) {
    fy_free(sets);
    sets = NULL;
    cap_sets = 0;
  }
  fy_unlock(&sets_lock);
}

fy_device_set *fy_devices_set_of(const fy_device *d) {
  fy_device_set *found = NULL;
  fy_lock(&sets_lock);
  for (size_t i = 0; i < num_sets && !found; i++)
    if (d->ordinal < sets[i]->n && sets[i]->items[d->ordinal] == d) found = fy_devices_ref(sets[i]);
  fy_unlock(&sets_lock);
  return found;
}

static void destroy(fy_device_set *set) {
  strike(set);
  while (set->n > 0) {
    fy_device *d = set->items[--set->n];
    fy_mempool_free(d->memory);
    d->ops->close(d);
  }
  fy_free(set->items);
  fy_free(set);
}

// As in TensorFlow, the environment has the last word; what is neither true nor false changes nothing.
static bool grows(const fy_options *options) {
  const char *force = getenv("TF_FORCE_GPU_ALLOW_GROWTH");
  if (force && strcmp(force, "true") == 0) return true;
  if (force && strcmp(force, "false") == 0) return false;
  return options->allow_growth;
}

fy_code fy_devices_open(const fy_options *options, fy_device_set **out, fy_error *err) {
  *out = NULL;
  fy_device_set *set = fy_calloc(1, sizeof *set);
  if (!set) return fy_fail_oom(err, sizeof *set);
  set->refs = 1;
  fy_code code = FY_OK;
  for (size_t i = 0; !code && i < fy_backend_count; i++) {
    code = fy_backends[i]->open(options, set, err);
  }
  if (!code && set->n == 0)
    code = fy_fail(err, FY_FAILED_PRECONDITION, "No devices are registered");
  if (!code && !enlist(set)) code = fy_fail_oom(err, sizeof set);
  if (code) {
    destroy(set);
    return code;
  }
  const bool whole = !grows(options);
  for (int i = 0; i < set->n; i++)
    fy_mempool_set_habits(set->items[i]->memory, options->queue ? options->queue_ms : 0, whole,
                          options->spill);
  set->client = set->items[0];
  *out = set;
  return FY_OK;
}

fy_device_set *fy_devices_ref(fy_device_set *set) {
  __atomic_fetch_add(&set->refs, 1, __ATOMIC_RELAXED);
  return set;
}

void fy_devices_unref(fy_device_set *set) {
  if (set && __atomic_fetch_sub(&set->refs, 1, __ATOMIC_ACQ_REL) == 1) destroy(set);
}

fy_device *fy_devices_find(const fy_device_set *set, const char *name) {
  fy_devname want, have;
  if (!name || (!fy_devname_parse_local(name, &want) && !fy_devname_parse(name, &want)))
    return NULL;
  if (!want.has_type || !want.has_id) return NULL;
  for (int i = 0; i < set->n; i++) {
    if (fy_devname_parse(set->items[i]->name, &have) && fy_devname_is_specification(&want, &have)) {
      return set->items[i];
    }
  }
  return NULL;
}
