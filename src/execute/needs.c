// SPDX-License-Identifier: Apache-2.0
#include "execute/needs.h"

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/pool.h"

// ---------------------------------------------------------------- seen at run time
// One table per process, by a hash of kernel, types and shapes. It only grows up to its size: after
// that, kernels that were not seen before stay unknown. A clash of hashes costs precision, no more.
#define SEEN (1u << 14)
static struct { atomic_uint_least64_t key, bytes; } seen[SEEN];

static uint64_t hash_text(uint64_t h, const char *s) {
  for (; s && *s; s++) h = fy_hash_mix(h, (uint64_t)(unsigned char)*s);
  return h;
}

// 0: shapes are not all known.
static uint64_t key_of(const fy_program *p, const fy_instr *ins) {
  const fy_site *s = ins->site;
  uint64_t h = hash_text(0x9e3779b97f4a7c15u, s->op->spec->name);
  h = hash_text(h, s->fast ? s->fast->name : "");
  h = fy_hash_mix(h, s->steady_inputs);
  h = fy_hash_mix(h, ins->device->is_host);
  for (uint32_t i = 0; i < ins->num_in; i++) {
    const fy_value *v = &p->values[p->args[ins->in + i]];
    if (v->rank < 0) return 0;
    h = fy_hash_mix(h, (uint64_t)v->dtype << 32 | (uint32_t)v->rank);
    for (int32_t d = 0; d < v->rank; d++) h = fy_hash_mix(h, (uint64_t)v->dims[d]);
  }
  return h ? h : 1;
}

static size_t find_seen(uint64_t key) {
  for (uint32_t probe = 0; key && probe < 16; probe++) {
    const uint32_t at = (uint32_t)(key + probe) % SEEN;
    const uint64_t have = atomic_load_explicit(&seen[at].key, memory_order_acquire);
    if (have == key) return (size_t)atomic_load_explicit(&seen[at].bytes, memory_order_relaxed);
    if (!have) return 0;
  }
  return 0;
}

void fy_needs_learn(const fy_program *p, const fy_instr *ins, size_t asked) {
  const uint64_t key = key_of(p, ins);
  for (uint32_t probe = 0; key && probe < 16; probe++) {
    const uint32_t at = (uint32_t)(key + probe) % SEEN;
    uint_least64_t have = 0;
    if (!atomic_compare_exchange_strong(&seen[at].key, &have, key) && have != key) continue;
    uint_least64_t old = atomic_load(&seen[at].bytes);
    while (old < asked && !atomic_compare_exchange_weak(&seen[at].bytes, &old, asked)) {
    }
    return;
  }
}

// ---------------------------------------------------------------- declared
// |v| as a tensor with a shape only. False: it is not known.
static bool pose_value(const fy_value *v, fy_tensor *t) {
  if (v->rank < 0) return false;
  fy_tensor_init(t);
  t->dtype = v->dtype;
  t->rank = v->rank;
  t->dims = (int64_t *)(uintptr_t)v->dims;
  return fy_shape_count(v->rank, v->dims, &t->count);
}

// A call that is none. False: some input's shape is not known.
static bool pose(const fy_program *p, const fy_instr *ins, fy_tensor *storage, fy_tensor **at) {
  for (uint32_t i = 0; i < ins->num_in; i++) {
    const fy_value *v = &p->values[p->args[ins->in + i]];
    if (!pose_value(v, &storage[i])) return false;
    if (v->storage == FY_STORE_CONST && !v->space && v->constant)
      storage[i].data = v->constant->data;  // an axis, a size
    at[i] = &storage[i];
  }
  for (uint32_t i = 0, k = p->max_in; i < ins->num_out; i++, k++)
    at[k] = pose_value(&p->values[p->args[ins->out + i]], &storage[k]) ? &storage[k] : NULL;
  return true;
}

// Kernels whose working memory depends on more than their shapes, or that nobody has told it of yet.
static const char *const untold[] = {
    "TopK", "Resize",        "MirrorPad",  "FFT",           "TriangularSolve",  "GRUBlock",
    "LSTM", "RandomShuffle", "NthElement", "EuclideanNorm", "ScaleAndTranslate"};

static bool is_untold(const fy_site *site) {
  const char *op = site->op->spec->name;
  for (size_t i = 0; i < sizeof untold / sizeof *untold; i++)
    if (strstr(op, untold[i])) return true;
  const fy_view format = fy_site_string(site, "data_format");
  return strstr(op, "Conv") && format.n > 2 && memcmp(format.p, "NC", 2) == 0;
}

bool fy_needs_told(const fy_program *p, const fy_instr *ins) {
  return ins->scratch_bytes || !ins->site->op->impl || !is_untold(ins->site) ||
         find_seen(key_of(p, ins)) > 0;
}

fy_code fy_program_find_needs(fy_program *p, fy_error *err) {
  const fy_device *client = p->devices->client;
  const size_t most = (size_t)p->max_in + p->max_out;
  fy_tensor *in = fy_calloc(most + 1, sizeof *in);
  fy_tensor **at = fy_calloc(most + 1, sizeof *at);
  if (!in || !at) {
    fy_free(in);
    fy_free(at);
    return fy_fail_oom(err, most * sizeof *in);
  }
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    fy_instr *ins = &p->instrs[i];
    if (ins->kind != FY_INSTR_KERNEL || !ins->site->op->impl) continue;
    const fy_site *site = ins->site;
    // Kernels of a GPU are its own: what the CPU's ask for says nothing about them.
    const bool own = !ins->device->is_host && !ins->device->facts.simulated;
    fy_needs_fn fn = site->fast && !own ? site->fast->needs : site->op->impl->needs;
    fy_needs needs = {0};
    fy_kernel_ctx ctx = {.site = site,
                         .in = at,
                         .out = at + p->max_in,
                         .threads = client->pool ? fy_pool_threads(client->pool) : 1};
    if (fn && pose(p, ins, in, at)) fn(&ctx, &needs);
    ins->scratch_bytes = needs.scratch;
    ins->kept_bytes = needs.kept;
    const size_t before = find_seen(key_of(p, ins));  // a kernel that left its usual path
    if (before > ins->scratch_bytes) ins->scratch_bytes = before;
  }
  fy_free(in);
  fy_free(at);
  return FY_OK;
}
