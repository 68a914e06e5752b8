// SPDX-License-Identifier: Apache-2.0
// kernels.c: the list of fast kernels, and the cache of packed weights (kernels.h).

#include "devices/cpu/kernels.h"

#include <string.h>

#include "base/alloc.h"
#include "base/slab.h"
#include "ferry/device.h"
#include "memory/cold.h"
#include "memory/pool.h"

#define FY_FAST(name) extern const fy_fast_kernel fy_fast_##name;
#include "devices/cpu/kernels.inc"
#undef FY_FAST
#define FY_FAST(name) &fy_fast_##name,
static const fy_fast_kernel *const kernels[] = {
#include "devices/cpu/kernels.inc"
    NULL};
#undef FY_FAST

const fy_fast_kernel *fy_cpu_kernel_at(size_t i) {
  return i < sizeof kernels / sizeof kernels[0] ? kernels[i] : NULL;
}

const fy_fast_kernel *fy_cpu_kernel(const fy_site *site) {
  if (!site->op->impl || site->num_inputs < 1) return NULL;
  for (size_t i = 0; kernels[i]; i++) {
    if (kernels[i]->dtypes & FY_T(fy_dtype_base(site->in_types[0])) &&
        strcmp(kernels[i]->op, site->op->impl->name) == 0)
      return kernels[i];
  }
  return NULL;
}

// ---------------------------------------------------------------- packed weights
fy_code fy_pack_cache_prepare(fy_site *site, fy_error *err) {
  fy_pack_cache *c = fy_calloc(1, sizeof *c);
  if (!c) return fy_fail_oom(err, sizeof *c);
  fy_mutex_init(&c->mu);
  c->turn_a = fy_site_bool(site, "transpose_a") || fy_site_bool(site, "adj_x");
  c->turn_b = fy_site_bool(site, "transpose_b") || fy_site_bool(site, "adj_y");
  site->fast_state = c;
  return FY_OK;
}

// ---------------------------------------------------------------- the stage
// One piece of memory that first uses pack into one after the other. Who finds it taken keeps at once.
#define STAGED_BYTES ((size_t)128 << 10)  // less is kept from the first use on
static struct {
  fy_mutex mu;
  bool taken;
  void *data;
  size_t bytes;
} stage = {.mu = FY_MUTEX_INIT};

// With the lock held. Large blocks are kept for a while when released: not their pages.
static void free_stage(void) {
  if (stage.data) fy_pages_drop(stage.data, stage.bytes);
  fy_aligned_free(stage.data);
  stage.data = NULL;
  stage.bytes = 0;
}

static void *take_stage(size_t bytes) {
  void *data = NULL;
  size_t room = STAGED_BYTES;
  while (room < bytes && room <= SIZE_MAX / 4) room *= 2;
  fy_lock(&stage.mu);
  if (!stage.taken && room >= bytes) {
    if (stage.bytes < bytes) {
      free_stage();
      stage.data = fy_aligned_alloc(room);
      stage.bytes = stage.data ? room : 0;
    }
    data = stage.data;
    stage.taken = data != NULL;
  }
  fy_unlock(&stage.mu);
  return data;
}

static void leave_stage(void) {
  fy_lock(&stage.mu);
  stage.taken = false;
  fy_unlock(&stage.mu);
}

// First uses are over, or the library goes.
__attribute__((destructor)) static void strike_stage(void) {
  fy_lock(&stage.mu);
  if (!stage.taken) free_stage();
  fy_unlock(&stage.mu);
}

// ---------------------------------------------------------------- the cache
static void drop(fy_packed *p) {
  if (p->staged) leave_stage();
  for (int i = 0; i < p->n; i++) fy_tensor_release(p->from[i]);
  if (p->pool) fy_mempool_release(p->pool, p->data);
  fy_free(p);
}

void fy_pack_cache_free(void *cache) {
  fy_pack_cache *c = cache;
  if (!c) return;
  if (c->current) drop(c->current);
  fy_mutex_destroy(&c->mu);
  fy_free(c);
}

// The same memory: a view of it counts, so that it does not matter how it got here.
static bool is_from(const fy_packed *p, fy_kernel_ctx *ctx, int first, int n) {
  if (p->n != n) return false;
  for (int i = 0; i < n; i++) {
    const fy_tensor *a = p->from[i], *b = ctx->in[first + i];
    if (!a || a->data != b->data || a->buffer != b->buffer || a->count != b->count) return false;
  }
  return true;
}

// Only a host's kernels keep weights: what a device makes of them is scratch of the call.
static bool may_keep(const fy_site *site, int first, int n) {
  if (n > FY_PACK_INPUTS || !site->device || !site->device->is_host || !site->device->memory)
    return false;
  for (int i = first; i < first + n; i++)
    if (i >= 64 || !(site->steady_inputs >> i & 1)) return false;
  return true;
}

void fy_pack_needs(const fy_kernel_ctx *ctx, int first, int n, size_t bytes, fy_needs *out) {
  if (may_keep(ctx->site, first, n))
    out->kept += fy_mempool_taken(ctx->site->device->memory, bytes);
  else
    out->scratch += fy_scratch_line(bytes);
}

static bool is_steady(fy_kernel_ctx *ctx, int first, int n) {
  for (int i = first; i < first + n; i++) {
    if (i >= 64 || !(ctx->site->steady_inputs >> i & 1)) return false;
    if (!ctx->in[i]->buffer) return false;  // borrowed memory: nothing to hold on to
  }
  return true;
}

fy_code fy_pack_acquire(fy_kernel_ctx *ctx, fy_pack_cache *cache, int first, int n, size_t bytes,
                        fy_packed **out, bool *fresh, fy_error *err) {
  *fresh = false;
  fy_lock(&cache->mu);
  if (cache->current && is_from(cache->current, ctx, first, n)) {
    cache->current->refs++;
    *out = cache->current;
    fy_unlock(&cache->mu);
    return FY_OK;
  }
  const bool again = cache->used;
  cache->used = true;
  fy_unlock(&cache->mu);
  fy_packed *p = fy_calloc(1, sizeof *p);
  if (!p) return fy_fail_oom(err, sizeof *p);
  bool keep = may_keep(ctx->site, first, n) && is_steady(ctx, first, n);
  fy_code code = FY_OK;
  if (keep && !again && bytes >= STAGED_BYTES && (p->data = take_stage(bytes))) {
    keep = false;
    p->staged = true;
  } else if (keep) {
    if (again && bytes >= STAGED_BYTES) strike_stage();
    p->pool = ctx->site->device->memory;
    code = fy_mempool_alloc_weights(p->pool, bytes, ctx->site->node_name, &p->data, err);
    if (code) fy_error_prepend(err, "OOM when allocating %zu bytes of packed weights\n", bytes);
  } else {
    code = fy_scratch(ctx, bytes, &p->data, err);
  }
  if (code) {
    fy_free(p);
    return code;
  }
  p->refs = 1;
  if (keep) {
    p->n = n;
    for (int i = 0; i < n; i++) {
      p->from[i] = ctx->in[first + i];
      fy_tensor_retain(p->from[i]);
    }
  }
  *out = p;
  *fresh = true;
  return FY_OK;
}

void fy_pack_release(fy_pack_cache *cache, fy_packed *packed, bool ok) {
  fy_packed *old = NULL;
  bool fresh = false;
  fy_lock(&cache->mu);
  if (ok && packed->n && packed != cache->current) {
    old = cache->current;
    cache->current = packed;
    packed->refs++;  // the cache's own
    fresh = true;
  }
  if (old && --old->refs > 0) old = NULL;
  const bool last = --packed->refs == 0;
  if (fresh) fy_cold_offer(packed->from[0]);
  fy_unlock(&cache->mu);
  if (old) drop(old);
  if (last) drop(packed);
}
