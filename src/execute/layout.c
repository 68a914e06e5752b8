// SPDX-License-Identifier: Apache-2.0
// layout.c: whose memory is whose: in-place results, fetched buffers, lifetimes, offsets.

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
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

static void collect_groups(fy_program *p, group *g) {
  for (uint32_t v = 0; v < p->num_values; v++) g[v].task = NO_TASK;
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
    for (uint32_t i = 0; i < ins->num_in; i++) {
      group *r = &g[root_of(p, p->args[ins->in + i])];
      join_task(r, ins->task);
      r->lent |= lends;
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

// Results of in-place kernels take over the memory of an input that dies with them.
static void share_in_place(fy_program *p, group *g) {
  for (uint32_t at = 0; at < p->num_instrs; at++) {
    const fy_instr *ins = &p->instrs[at];
    if (ins->kind != FY_INSTR_KERNEL || !ins->site->op->impl ||
        !(ins->site->op->impl->flags & FY_OP_INPLACE) || ins->num_out < 1)
      continue;
    uint32_t out = p->args[ins->out];
    if (p->values[out].storage != FY_STORE_PLANNED || p->values[out].root != out) continue;
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
  if (!p->fresh) return fy_fail_oom(err, p->num_values * sizeof *p->fresh);
  for (uint32_t v = 0; v < p->num_values; v++) {
    fy_value *val = &p->values[v];
    if (val->storage != FY_STORE_PLANNED || !g[val->root].fetched) continue;
    val->storage = FY_STORE_FETCH;
    p->fresh[p->num_fresh++] = v;  // a root has the smallest number of its group
  }
  return FY_OK;
}

// With several tasks two instructions may overlap although one stands before the other. Of each task: the
// first of all that need not end before it starts, and the last of all that need not wait for its end.
typedef struct overlap {
  uint32_t *first, *last;  // [num_tasks]
} overlap;

#define WORDS   8  // of bits for one block of tasks: who is ordered with them takes little memory
#define COLUMNS (64 * WORDS)

// The lowest bit that is not set, or COLUMNS; |up| is false: the highest, or COLUMNS.
static uint32_t free_column(const uint64_t *bits, bool up) {
  for (uint32_t k = 0; k < WORDS; k++) {
    const uint32_t w = up ? k : WORDS - 1 - k;
    if (~bits[w])
      return w * 64 + (uint32_t)(up ? __builtin_ctzll(~bits[w]) : 63 - __builtin_clzll(~bits[w]));
  }
  return COLUMNS;
}

// Of tasks |from| up to |from| + COLUMNS: which surely end before each later task starts. True when some
// task is ordered with all of them: then the next block has its answer.
static bool look_back(const fy_program *p, uint32_t from, uint64_t (*bits)[WORDS],
                      uint32_t *first) {
  const uint32_t n = p->num_tasks;
  bool more = false;
  memset(bits + from, 0, (n - from) * sizeof *bits);
  for (uint32_t t = from; t < n; t++) {
    if (t - from < COLUMNS) bits[t][(t - from) / 64] |= 1ull << (t - from) % 64;
    if (first[t] == from) {
      first[t] += free_column(bits[t], true);
      more |= first[t] == from + COLUMNS;
    }
    for (uint32_t i = 0; i < p->tasks[t].num_next; i++)
      for (uint32_t w = 0; w < WORDS; w++)
        bits[p->task_next[p->tasks[t].next_at + i]][w] |= bits[t][w];
  }
  return more && n - from > COLUMNS;
}

// The same of tasks |end| - COLUMNS up to |end|, which surely start after each earlier task has ended.
static bool look_ahead(const fy_program *p, uint32_t end, uint64_t (*bits)[WORDS], uint32_t *last) {
  bool more = false;
  memset(bits, 0, end * sizeof *bits);
  for (uint32_t t = end; t-- > 0;) {
    const uint32_t back = end - 1 - t;
    if (back < COLUMNS) bits[t][WORDS - 1 - back / 64] |= 1ull << (63 - back % 64);
    for (uint32_t i = 0; i < p->tasks[t].num_next; i++) {
      const uint32_t next = p->task_next[p->tasks[t].next_at + i];
      for (uint32_t w = 0; next < end && w < WORDS; w++) bits[t][w] |= bits[next][w];
    }
    if (last[t] != end - 1) continue;
    const uint32_t column = free_column(bits[t], false);
    const uint32_t ordered = column == COLUMNS ? COLUMNS : COLUMNS - 1 - column;
    last[t] = ordered < end ? end - 1 - ordered : 0;
    more |= ordered == COLUMNS;
  }
  return more && end > COLUMNS;
}

static bool find_overlap(const fy_program *p, overlap *o) {
  const uint32_t n = p->num_tasks;
  uint64_t(*bits)[WORDS] = fy_calloc(n, sizeof *bits);
  o->first = fy_calloc(n, sizeof *o->first);
  o->last = fy_calloc(n, sizeof *o->last);
  const bool ok = bits && o->first && o->last;
  for (uint32_t t = 0; ok && t < n; t++) o->last[t] = n - 1;
  for (uint32_t from = 0; ok && look_back(p, from, bits, o->first);) from += COLUMNS;
  for (uint32_t end = n; ok && look_ahead(p, end, bits, o->last);) end -= COLUMNS;
  fy_free(bits);
  return ok;
}

static void drop_overlap(overlap *o) {
  fy_free(o->first);
  fy_free(o->last);
}

// A life lasts while anything runs that is not ordered with it.
static void widen(const fy_program *p, const overlap *o, uint32_t *first, uint32_t *last) {
  const uint32_t before = o->first[p->instrs[*first].task], after = o->last[p->instrs[*last].task];
  if (before < p->num_tasks && p->tasks[before].begin < *first) *first = p->tasks[before].begin;
  if (p->tasks[after].end - 1 > *last) *last = p->tasks[after].end - 1;
}

static fy_code plan_lives(fy_program *p, const group *g, fy_error *err) {
  int spaces = p->devices->n + 1;
  uint32_t *life_of = fy_arena_alloc(&p->arena, (p->num_values + 1) * sizeof *life_of);
  p->lives = fy_arena_array(&p->arena, (size_t)p->num_values + p->num_instrs + 1, sizeof *p->lives);
  overlap both = {0};
  const bool several = p->num_tasks > 1;
  if (!life_of || !p->lives || (several && !find_overlap(p, &both))) {
    drop_overlap(&both);
    return fy_fail_oom(err, p->num_values * sizeof *p->lives);
  }
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->storage != FY_STORE_PLANNED || val->root != v) continue;
    uint32_t first = val->producer, last = g[v].last;
    if (several) widen(p, &both, &first, &last);
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
    if (several) widen(p, &both, &first, &last);
    p->lives[p->num_lives++] =
        (fy_life){.bytes = ins->scratch_bytes,
                  .first = first,
                  .last = last,
                  .space = ins->device->is_host ? 0 : ins->device->ordinal + 1,
                  .value = FY_NO_VALUE,
                  .owner = ins->node->name};
  }
  drop_overlap(&both);
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
  fy_code code = mark_fetched(p, g, err);
  if (!code) code = plan_lives(p, g, err);
  if (!code) code = list_frees(p, g, err);
  fy_free(g);
  return code;
}
