// SPDX-License-Identifier: Apache-2.0
// layout.c: whose memory is whose: in-place results, fetched buffers, lifetimes, offsets.

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/overlap.h"
#include "execute/state.h"

// What the user calls the maker of a value: a fed placeholder has a stand-in.
static const char *user_name(const fy_node *n) {
  return strcmp(n->op_name, "_Arg") == 0 && n->num_origins ? n->origins[0] : n->name;
}

// The values that share one memory: who reads it last, and whether all readers are in one task.
typedef struct group {
  uint32_t last;
  uint32_t task;  // of the readers; MIXED when they are in several
  bool fetched;
  bool lent;    // read by a kernel that may pass it on under another name
  bool shared;  // other values have this one\'s memory
  bool held;    // read by a kernel that may keep it for longer than the run
  bool taken;   // an argument's: a result takes it over
  uint32_t
      takes;  // a result's: the argument (value) that it takes over where the caller gives it away
} group;

enum { NO_TASK = UINT32_MAX, MIXED = UINT32_MAX - 1 };

// Every value on the way gets to know its root and where in the root's memory it begins.
static uint32_t root_of(fy_program *p, uint32_t v) {
  fy_value *val = &p->values[v];
  while (val->root != p->values[val->root].root) {
    const fy_value *next = &p->values[val->root];
    val->shift += next->shift;
    val->root = next->root;
  }
  return val->root;
}

static void join_task(group *g, uint32_t task) {
  if (g->task == NO_TASK)
    g->task = task;
  else if (g->task != task)
    g->task = MIXED;
}

// A list, a queue or a variable can have it for as long as it likes.
static bool may_hold(const fy_program *p, const fy_instr *ins) {
  if (ins->kind != FY_INSTR_KERNEL) return false;
  if (!ins->site->op->impl || (ins->site->op->spec->flags & FY_SPEC_STATEFUL)) return true;
  for (uint32_t i = 0; i < ins->num_in; i++)
    if (!fy_dtype_is_plain(p->values[p->args[ins->in + i]].dtype)) return true;
  for (uint32_t i = 0; i < ins->num_out; i++)
    if (!fy_dtype_is_plain(p->values[p->args[ins->out + i]].dtype)) return true;
  return false;
}

static void collect_groups(fy_program *p, group *g) {
  for (uint32_t v = 0; v < p->num_values; v++) {
    g[v].task = NO_TASK;
    g[v].takes = FY_NO_VALUE;
  }
  for (uint32_t v = 0; v < p->num_values; v++) {
    group *r = &g[root_of(p, v)];
    if (p->values[v].last_use > r->last) r->last = p->values[v].last_use;
    r->fetched |= p->values[v].fetched;
    r->shared |= p->values[v].root != v;
  }
  for (uint32_t at = 0; at < p->num_instrs; at++) {
    const fy_instr *ins = &p->instrs[at];
    const fy_op_impl *impl = ins->kind == FY_INSTR_KERNEL ? ins->site->op->impl : NULL;
    bool lends = ins->kind == FY_INSTR_KERNEL &&
                 (!impl || (impl->flags & (FY_OP_ALIAS | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC)));
    for (uint32_t i = 0; impl && impl->part && i < ins->num_out; i++)
      lends |= p->values[p->args[ins->out + i]].storage == FY_STORE_DYNAMIC;
    const bool holds = may_hold(p, ins);
    for (uint32_t i = 0; i < ins->num_in; i++) {
      group *r = &g[root_of(p, p->args[ins->in + i])];
      join_task(r, ins->task);
      r->lent |= lends;
      r->held |= holds;
    }
  }
}

// The values of |from| share the memory of |root| from now on.
static void join_group(group *root, const group *from) {
  if (from->last > root->last) root->last = from->last;
  if (from->task != NO_TASK) join_task(root, from->task);
  root->fetched |= from->fetched;
  root->lent |= from->lent;
  root->shared = true;
}

// Output |i| of |ins| as a part of a planned input's memory; false if it is none, or if it will be
// handed to the caller, who must not keep more alive than the result.
static bool find_part(fy_program *p, const group *g, const fy_instr *ins, uint32_t i, uint32_t *in,
                      size_t *shift) {
  const fy_value *out = &p->values[p->args[ins->out + i]];
  int from;
  int64_t first;
  if (out->storage != FY_STORE_PLANNED || out->root != p->args[ins->out + i] || out->space != 0 ||
      !out->bytes || g[out->root].fetched ||
      !ins->site->op->impl->part(ins->site, (int)i, &from, &first))
    return false;
  *in = p->args[ins->in + (uint32_t)from];
  *shift = (size_t)first * fy_dtype_storage(out->dtype);
  const fy_value *whole = &p->values[*in];
  return whole->storage == FY_STORE_PLANNED && whole->space == 0 && whole->dtype == out->dtype &&
         *shift % FY_PART_BYTES == 0 && *shift <= whole->bytes &&
         out->bytes <= whole->bytes - *shift;
}

// Parts of a tensor (Split, Unpack, Slice) need no memory of their own. They keep the whole alive, so
// where they live longer than it they have to be half of it at least.
static void share_parts(fy_program *p, group *g) {
  for (uint32_t at = 0; at < p->num_instrs; at++) {
    const fy_instr *ins = &p->instrs[at];
    if (ins->kind != FY_INSTR_KERNEL || !ins->device->is_host || !ins->site->op->impl ||
        !ins->site->op->impl->part)
      continue;
    size_t longer = 0, shift;
    uint32_t in;
    for (uint32_t i = 0; i < ins->num_out; i++)
      if (find_part(p, g, ins, i, &in, &shift) &&
          g[p->args[ins->out + i]].last > g[root_of(p, in)].last)
        longer += p->values[p->args[ins->out + i]].bytes;
    for (uint32_t i = 0; i < ins->num_out; i++) {
      if (!find_part(p, g, ins, i, &in, &shift)) continue;
      const uint32_t out = p->args[ins->out + i], root = root_of(p, in);
      if (g[out].last > g[root].last && longer < p->values[root].bytes / 2) continue;
      p->values[out].root = root;
      p->values[out].shift = p->values[in].shift + shift;
      join_group(&g[root], &g[out]);
    }
  }
}

// Whether another input of the instruction is a part of root |r|'s memory that lies elsewhere than
// what it is combined with.
static bool reads_part(fy_program *p, const fy_instr *ins, uint32_t r) {
  for (uint32_t i = 0; i < ins->num_in; i++) {
    const uint32_t v = p->args[ins->in + i];
    if (root_of(p, v) == r && p->values[v].bytes != p->values[r].bytes) return true;
  }
  return false;
}

static bool may_overwrite(fy_program *p, const group *g, uint32_t in, uint32_t out, uint32_t at) {
  const fy_value *vi = &p->values[in], *vo = &p->values[out];
  uint32_t r = root_of(p, in);
  const fy_value *root = &p->values[r];
  return root->storage == FY_STORE_PLANNED && vi->space == vo->space && vi->dtype == vo->dtype &&
         vi->bytes == vo->bytes && vi->bytes > 0 && root->bytes == vi->bytes && g[r].last == at &&
         g[r].task != MIXED && !g[r].fetched && !g[r].lent && !reads_part(p, &p->instrs[at], r);
}

// Whether a result in the place of value |v| may have the memory of argument |f|.
static bool is_takeable(const fy_program *p, const group *g, uint32_t f, uint32_t v) {
  const fy_value *feed = &p->values[f], *val = &p->values[v];
  const group *r = &g[f];
  return feed->storage == FY_STORE_FEED && feed->space == 0 && val->space == 0 && feed->rank >= 0 &&
         feed->bytes == val->bytes && val->bytes && !r->fetched && !r->lent && !r->held &&
         !r->taken && fy_dtype_is_plain(val->dtype) && fy_dtype_is_plain(feed->dtype);
}

static void take(group *g, uint32_t v, uint32_t f) {
  g[v].takes = f;
  g[f].taken = true;
}

static bool is_in_place(const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && ins->site->op->impl &&
         (ins->site->op->impl->flags & FY_OP_INPLACE) && ins->num_out >= 1;
}

// Output 0 of the in-place kernel at |at| takes over an argument that dies with it.
static bool take_input(const fy_program *p, group *g, uint32_t at) {
  const fy_instr *ins = &p->instrs[at];
  const uint32_t out = p->args[ins->out];
  for (uint32_t i = 0; i < ins->num_in; i++) {
    const uint32_t f = p->args[ins->in + i];
    if (g[f].last != at || g[f].task == MIXED || p->values[f].dtype != p->values[out].dtype ||
        !is_takeable(p, g, f, out))
      continue;
    take(g, out, f);
    return true;
  }
  return false;
}

// A result may also have what nobody reads any more when it is made.
static bool take_dead(const fy_program *p, group *g, uint32_t v) {
  const uint32_t at = p->values[v].producer;
  for (int i = 0; i < p->num_feeds; i++) {
    const uint32_t f = p->feed_value[i];
    if (f == FY_NO_VALUE || !is_takeable(p, g, f, v)) continue;
    if (g[f].task != NO_TASK &&
        (g[f].last >= at || (p->num_tasks > 1 && g[f].task != p->instrs[at].task)))
      continue;
    take(g, v, f);
    return true;
  }
  return false;
}

// Functions: results take over arguments that their callers give away (fy_run.gives), as a loop does with
// what its last step returned. Not where devices read behind the host's back.
static void take_arguments(const fy_program *p, group *g) {
  if (!p->called || p->has_devices) return;
  for (int dead = 0; dead < 2; dead++)
    for (uint32_t v = 0; v < p->num_values; v++) {
      const fy_value *val = &p->values[v];
      if (val->storage != FY_STORE_PLANNED || val->root != v || !g[v].fetched ||
          g[v].takes != FY_NO_VALUE || val->producer == FY_NO_VALUE)
        continue;
      const fy_instr *ins = &p->instrs[val->producer];
      if (dead)
        (void)take_dead(p, g, v);
      else if (is_in_place(ins) && p->args[ins->out] == v)
        (void)take_input(p, g, val->producer);
    }
}

// Results of in-place kernels take over the memory of an input that dies with them.
static void share_in_place(fy_program *p, group *g) {
  for (uint32_t at = 0; at < p->num_instrs; at++) {
    const fy_instr *ins = &p->instrs[at];
    if (!is_in_place(ins)) continue;
    uint32_t out = p->args[ins->out];
    if (p->values[out].storage != FY_STORE_PLANNED || p->values[out].root != out) continue;
    // What a loop carries stays where it is; the other input's place is free for the next step.
    if (p->called && !p->has_devices && g[out].fetched && take_input(p, g, at)) continue;
    for (uint32_t i = 0; i < ins->num_in; i++) {
      uint32_t in = p->args[ins->in + i];
      if (!may_overwrite(p, g, in, out, at)) continue;
      uint32_t root = root_of(p, in);
      p->values[out].root = root;
      join_group(&g[root], &g[out]);
      break;
    }
  }
  for (uint32_t v = 0; v < p->num_values; v++) p->values[v].root = root_of(p, v);
}

// A fetched group gets fresh memory in every run, so that the caller owns the result.
static fy_code mark_fetched(fy_program *p, const group *g, fy_error *err) {
  p->fresh = fy_arena_alloc(&p->arena, (p->num_values + 1) * sizeof *p->fresh);
  p->takes = fy_arena_alloc(&p->arena, (p->num_values + 1) * sizeof *p->takes);
  p->any_takes = false;
  if (!p->fresh || !p->takes) return fy_fail_oom(err, p->num_values * sizeof *p->fresh);
  for (uint32_t v = 0; v < p->num_values; v++) {
    fy_value *val = &p->values[v];
    if (val->storage != FY_STORE_PLANNED || !g[val->root].fetched) continue;
    val->storage = FY_STORE_FETCH;
    p->takes[p->num_fresh] = g[v].takes == FY_NO_VALUE ? -1 : p->values[g[v].takes].feed;
    p->any_takes |= g[v].takes != FY_NO_VALUE;
    p->fresh[p->num_fresh++] = v;  // a root has the smallest number of its group
  }
  return FY_OK;
}

static fy_code plan_lives(fy_program *p, const group *g, fy_error *err) {
  int spaces = p->devices->n + 1;
  uint32_t *life_of = fy_arena_alloc(&p->arena, (p->num_values + 1) * sizeof *life_of);
  p->lives = fy_arena_array(&p->arena, (size_t)p->num_values + p->num_instrs + 1, sizeof *p->lives);
  fy_overlap both = {0};
  const bool several = p->num_tasks > 1;
  if (!life_of || !p->lives || (several && !fy_overlap_find(p, &both))) {
    fy_overlap_drop(&both);
    return fy_fail_oom(err, p->num_values * sizeof *p->lives);
  }
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->storage != FY_STORE_PLANNED || val->root != v) continue;
    uint32_t first = val->producer, last = g[v].last;
    if (several) fy_overlap_widen(p, &both, &first, &last);
    life_of[v] = (uint32_t)p->num_lives;
    p->lives[p->num_lives++] = (fy_life){.bytes = val->bytes,
                                         .first = first,
                                         .last = last,
                                         .space = val->space,
                                         .value = v,
                                         .owner = user_name(val->node)};
  }
  const size_t first_scratch = p->num_lives;
  for (uint32_t at = 0; at < p->num_instrs; at++) {
    const fy_instr *ins = &p->instrs[at];
    if (!ins->scratch_bytes) continue;
    uint32_t first = at, last = at;
    if (several) fy_overlap_widen(p, &both, &first, &last);
    p->lives[p->num_lives++] =
        (fy_life){.bytes = ins->scratch_bytes,
                  .first = first,
                  .last = last,
                  .space = ins->device->is_host ? 0 : ins->device->ordinal + 1,
                  .value = FY_NO_VALUE,
                  .owner = ins->node->name};
  }
  fy_overlap_drop(&both);
  FY_TRY(fy_memplan_make(p->lives, p->num_lives, spaces, &p->arena, &p->plan, err));
  for (uint32_t v = 0; v < p->num_values; v++)
    if (p->values[v].storage == FY_STORE_PLANNED)
      p->values[v].offset = p->lives[life_of[p->values[v].root]].offset + p->values[v].shift;
  size_t scratch = first_scratch;
  for (uint32_t at = 0; at < p->num_instrs; at++)
    if (p->instrs[at].scratch_bytes) p->instrs[at].scratch_offset = p->lives[scratch++].offset;
  return FY_OK;
}

// Tensors made at run time are let go right after their last reader; when readers are in several
// tasks nobody knows which is the last: then they are counted (count_reads in state.c).
static bool freed_early(const fy_program *p, const group *g, uint32_t v) {
  const fy_value *val = &p->values[v];
  return val->storage == FY_STORE_DYNAMIC && !val->fetched && val->producer != FY_NO_VALUE &&
         g[v].task != MIXED;
}

static fy_code list_frees(fy_program *p, const group *g, fy_error *err) {
  uint32_t *count = fy_calloc(p->num_instrs + 1, sizeof *count);
  if (!count) return fy_fail_oom(err, p->num_instrs * sizeof *count);
  size_t total = 0;
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (!freed_early(p, g, v)) continue;
    count[val->last_use]++;
    total++;
  }
  uint32_t *grown = fy_realloc(p->args, (p->num_args + total + 1) * sizeof *grown);
  if (!grown) {
    fy_free(count);
    return fy_fail_oom(err, total * sizeof *grown);
  }
  p->args = grown;
  uint32_t at = p->num_args;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    p->instrs[i].free_at = at;
    at += count[i];
  }
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (!freed_early(p, g, v)) continue;
    fy_instr *ins = &p->instrs[val->last_use];
    p->args[ins->free_at + ins->num_free++] = v;
  }
  p->num_args = at;
  fy_free(count);
  return FY_OK;
}

// Kernels of third parties may take over the memory of an input (fy_services.forward), which an
// arena cannot give away: what they read gets memory of its own.
static void unplan_forwardable(fy_program *p, group *g) {
  for (uint32_t at = 0; at < p->num_instrs; at++) {
    const fy_instr *ins = &p->instrs[at];
    if (ins->kind != FY_INSTR_KERNEL || ins->site->op->impl) continue;
    for (uint32_t i = 0; i < ins->num_in; i++) {
      uint32_t v = p->args[ins->in + i];
      fy_value *val = &p->values[v];
      if (val->storage != FY_STORE_PLANNED || val->root != v || g[v].shared || g[v].fetched)
        continue;
      val->storage = FY_STORE_DYNAMIC;
      if (val->producer == FY_NO_VALUE) continue;
      const fy_instr *maker = &p->instrs[val->producer];
      if (maker->kind == FY_INSTR_KERNEL && maker->site->op->impl && maker->site->op->impl->part)
        for (uint32_t k = 0; k < maker->num_in; k++)
          g[root_of(p, p->args[maker->in + k])].lent = true;
    }
  }
}

fy_code fy_program_layout(fy_program *p, fy_error *err) {
  group *g = fy_calloc(p->num_values + 1, sizeof *g);
  if (!g) return fy_fail_oom(err, p->num_values * sizeof *g);
  collect_groups(p, g);
  unplan_forwardable(p, g);
  share_parts(p, g);
  share_in_place(p, g);
  take_arguments(p, g);
  fy_code code = mark_fetched(p, g, err);
  if (!code) code = plan_lives(p, g, err);
  if (!code) code = list_frees(p, g, err);
  fy_free(g);
  return code;
}
