// SPDX-License-Identifier: Apache-2.0
// packs.c: packed weights (kernels.h): each site's own, and the memory behind them, which sites that
// made the same of the same weights share (programs for other batch sizes, most of all).

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/slab.h"
#include "devices/cpu/kernels.h"
#include "ferry/device.h"
#include "memory/cold.h"
#include "memory/pool.h"

// ---------------------------------------------------------------- the stage
// One piece of memory that first uses pack into one after the other. Who finds it taken keeps at once.
#define STAGED_BYTES ((size_t)128 << 10)  // less is kept from the first use on
#define STAGE_BYTES  ((size_t)32 << 20)   // and so is more: what is not touched costs nothing
static struct {
  fy_mutex mu;
  bool taken;
  void *data;
} stage = {.mu = FY_MUTEX_INIT};

static void *take_stage(size_t bytes) {
  void *data = NULL;
  if (bytes > STAGE_BYTES) return NULL;
  fy_lock(&stage.mu);
  if (!stage.taken) {
    if (!stage.data) stage.data = fy_aligned_alloc(STAGE_BYTES);
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
  if (!stage.taken && stage.data) {
    fy_pages_drop(stage.data, STAGE_BYTES);  // large blocks are kept for a while: not their pages
    fy_aligned_free(stage.data);
    stage.data = NULL;
  }
  fy_unlock(&stage.mu);
}

// ---------------------------------------------------------------- what sites share
#define COMPARED_BYTES ((size_t)64 << 10)  // folded vectors are made anew for every program

struct fy_pack_block {
  struct fy_pack_block *next;
  int refs;       // under the lock
  uint64_t form;  // what was made: the op, its attributes, the depth of its input
  size_t bytes;
  int n;
  fy_tensor *from[FY_PACK_INPUTS];
  fy_mempool *pool;
  void *data, *bias;
};

static fy_mutex blocks_mu = FY_MUTEX_INIT;
static fy_pack_block *blocks;  // filled ones

// Of the first input; by it a convolution tells its groups.
static int64_t depth_of(const fy_kernel_ctx *ctx) {
  const fy_tensor *t = ctx->in[0];
  return t->rank > 0 ? t->dims[t->rank - 1] : 0;
}

static uint64_t form_of(const fy_kernel_ctx *ctx) {
  const char *name = ctx->site->op->spec->name;
  return fy_attrs_hash(ctx->site->attrs, fy_hash64(name, strlen(name), (uint64_t)depth_of(ctx)));
}

static bool same_memory(const fy_tensor *a, const fy_tensor *b) {
  return a && a->data == b->data && a->buffer == b->buffer && a->count == b->count;
}

static bool same_vector(const fy_tensor *a, const fy_tensor *b) {
  return same_memory(a, b) ||
         (a->dtype == b->dtype && a->count == b->count && !a->device && !b->device &&
          fy_tensor_bytes(a) <= COMPARED_BYTES && fy_dtype_is_plain(a->dtype) &&
          memcmp(a->data, b->data, fy_tensor_bytes(a)) == 0);
}

// With a reference, or NULL.
static fy_pack_block *find_block(const fy_kernel_ctx *ctx, int first, int n, size_t bytes) {
  const uint64_t form = form_of(ctx);
  fy_lock(&blocks_mu);
  fy_pack_block *b = blocks;
  for (; b; b = b->next) {
    bool same = b->form == form && b->bytes == bytes && b->n == n &&
                b->pool == ctx->site->device->memory && same_memory(b->from[0], ctx->in[first]);
    for (int i = 1; i < n && same; i++) same = same_vector(b->from[i], ctx->in[first + i]);
    if (same) break;
  }
  if (b) b->refs++;
  fy_unlock(&blocks_mu);
  return b;
}

static void keep_inputs(fy_kernel_ctx *ctx, int first, int n, fy_tensor **from) {
  for (int i = 0; i < n; i++) {
    from[i] = ctx->in[first + i];
    fy_tensor_retain(from[i]);
  }
}

static fy_code make_block(fy_kernel_ctx *ctx, int first, int n, size_t bytes, fy_pack_block **out,
                          fy_error *err) {
  fy_pack_block *b = fy_calloc(1, sizeof *b);
  if (!b) return fy_fail_oom(err, sizeof *b);
  b->pool = ctx->site->device->memory;
  fy_code code = fy_mempool_alloc_weights(b->pool, bytes, ctx->site->node_name, &b->data, err);
  if (code) {
    fy_error_prepend(err, "OOM when allocating %zu bytes of packed weights\n", bytes);
    fy_free(b);
    return code;
  }
  b->refs = 1;
  b->form = form_of(ctx);
  b->bytes = bytes;
  b->n = n;
  keep_inputs(ctx, first, n, b->from);
  *out = b;
  return FY_OK;
}

static void publish_block(fy_pack_block *b, const fy_packed *filled) {
  fy_lock(&blocks_mu);
  b->bias = filled->bias;
  b->next = blocks;
  blocks = b;
  fy_unlock(&blocks_mu);
}

static void release_block(fy_pack_block *b) {
  fy_lock(&blocks_mu);
  const bool last = --b->refs == 0;
  fy_pack_block **at = &blocks;
  while (last && *at && *at != b) at = &(*at)->next;
  if (last && *at) *at = b->next;
  fy_unlock(&blocks_mu);
  if (!last) return;
  for (int i = 0; i < b->n; i++) fy_tensor_release(b->from[i]);
  fy_mempool_release(b->pool, b->data);
  fy_free(b);
}

// ---------------------------------------------------------------- of one site
fy_code fy_pack_cache_prepare(fy_site *site, fy_error *err) {
  fy_pack_cache *c = fy_calloc(1, sizeof *c);
  if (!c) return fy_fail_oom(err, sizeof *c);
  fy_mutex_init(&c->mu);
  c->turn_a = fy_site_bool(site, "transpose_a") || fy_site_bool(site, "adj_x");
  c->turn_b = fy_site_bool(site, "transpose_b") || fy_site_bool(site, "adj_y");
  site->fast_state = c;
  return FY_OK;
}

static void drop(fy_packed *p) {
  if (p->staged) leave_stage();
  for (int i = 0; i < p->n; i++) fy_tensor_release(p->from[i]);
  if (p->block) release_block(p->block);
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
  if (p->n != n || p->depth != depth_of(ctx)) return false;
  for (int i = 0; i < n; i++)
    if (!same_memory(p->from[i], ctx->in[first + i])) return false;
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

// Room for what will stay, or what another site has made already (then |*fresh| is false).
static fy_code fill_kept(fy_kernel_ctx *ctx, int first, int n, size_t bytes, bool again,
                         fy_packed *p, bool *fresh, fy_error *err) {
  const bool large = bytes >= STAGED_BYTES;
  p->block = find_block(ctx, first, n, bytes);
  *fresh = !p->block;
  if (*fresh && large && !again && (p->data = take_stage(bytes))) {
    p->staged = true;
    return FY_OK;
  }
  if (large && again) strike_stage();
  if (*fresh) FY_TRY(make_block(ctx, first, n, bytes, &p->block, err));
  p->data = p->block->data;
  p->bias = p->block->bias;
  p->n = n;
  p->unknown = *fresh;
  keep_inputs(ctx, first, n, p->from);
  return FY_OK;
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
  fy_code code;
  if (may_keep(ctx->site, first, n) && is_steady(ctx, first, n)) {
    code = fill_kept(ctx, first, n, bytes, again, p, fresh, err);
  } else {
    *fresh = true;
    code = fy_scratch(ctx, bytes, &p->data, err);
  }
  if (code) {
    fy_free(p);
    return code;
  }
  p->refs = 1;
  p->depth = depth_of(ctx);
  *out = p;
  return FY_OK;
}

void fy_pack_release(fy_pack_cache *cache, fy_packed *packed, bool ok) {
  fy_packed *old = NULL;
  bool made = false;
  fy_lock(&cache->mu);
  if (ok && packed->n && packed != cache->current) {
    old = cache->current;
    cache->current = packed;
    packed->refs++;  // the cache's own
    made = packed->unknown;
    packed->unknown = false;
  }
  if (old && --old->refs > 0) old = NULL;
  const bool last = --packed->refs == 0;
  if (made) {
    publish_block(packed->block, packed);
    fy_cold_offer(packed->from[0]);
  }
  fy_unlock(&cache->mu);
  if (old) drop(old);
  if (last) drop(packed);
}
