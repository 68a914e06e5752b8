// SPDX-License-Identifier: Apache-2.0
// spill.c: one walk over the instructions with a model of the device's memory (Belady: what is needed
// last leaves first), then two improvements: constants that fit all the time stay for good, and copies
// to the device move up as far as memory allows, so that they happen behind computing.
//
// Values have one producer. So a tensor that comes back is a new value, and later readers read that.

#include "execute/spill.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/spans.h"
#include "execute/spill_impl.h"
#include "execute/state.h"

#define LOOK_BACK 256  // instructions that a copy may move up
#define LINE(n)   (((uint64_t)(n) + 63) / 64 * 64)

typedef struct tenant {  // a tensor of the space with everything that shares its memory
  uint64_t bytes;
  uint32_t *uses;  // instructions that read it, in order
  uint32_t num_uses, next;
  uint32_t host;  // value with the same bytes on the host, or NONE
  uint32_t now;   // value that stands for it while it is here
  bool here, weight, stuck, stays;
  const fy_instr *lazy;  // a variable that is read from the host: the copy of spill_stream.c,
  uint32_t read;         // and the reading, in the new instructions
} tenant;

typedef struct move {  // a copy to the device that was added
  uint32_t at;         // in the new instructions
  uint32_t value, of;  // what it makes, and the tenant (root value)
  uint32_t last;       // new instruction that reads it last
  bool dropped;
} move;

typedef struct spiller {
  fy_program *p;
  int space;
  uint64_t budget, live;
  tenant *tenants;   // [num_values at the start], by root
  uint32_t *uses;    // storage
  uint32_t *stands;  // [values] what a value is called now; grows with the values
  size_t cap_stands, cap_values, cap_instrs, cap_args, cap_moves;
  uint32_t old_values;
  fy_instr *instrs;
  uint32_t num_instrs, *args, num_args;
  move *moves;
  uint32_t num_moves;
  bool evicted;  // since the last kernel
} spiller;

static bool in_space(const spiller *s, uint32_t v) {
  return s->p->values[v].space == s->space;
}

static tenant *tenant_of(spiller *s, uint32_t v) {
  return &s->tenants[s->p->values[v].root];
}

static bool counts(const spiller *s, uint32_t v) {
  const fy_value *val = &s->p->values[v];
  return v < s->old_values && in_space(s, v) &&
         (val->storage == FY_STORE_PLANNED || val->storage == FY_STORE_CONST);
}

// ---------------------------------------------------------------- what there is
static fy_code survey(spiller *s, fy_error *err) {
  fy_program *p = s->p;
  uint32_t n = p->num_values, total = 0;
  s->old_values = n;
  s->tenants = fy_calloc(n + 1, sizeof *s->tenants);
  s->stands = fy_calloc(n + 1, sizeof *s->stands);
  s->cap_stands = n + 1;
  s->cap_values = n;
  if (!s->tenants || !s->stands) return fy_fail_oom(err, n * sizeof *s->tenants);
  for (uint32_t v = 0; v < n; v++) {
    const fy_value *val = &p->values[v];
    tenant *t = &s->tenants[v];
    s->stands[v] = v;
    t->host = NONE;
    t->now = v;
    t->bytes = LINE(val->bytes);
    t->weight = val->storage == FY_STORE_CONST && val->feed >= 0;
    if (t->weight) t->host = (uint32_t)val->feed;
    t->read = NONE;
    if (val->fetched && counts(s, v)) s->tenants[val->root].stuck = true;
  }
  for (uint32_t i = 0; i < p->num_instrs; i++)
    for (uint32_t k = 0; k < p->instrs[i].num_in; k++)
      if (counts(s, p->args[p->instrs[i].in + k])) {
        tenant_of(s, p->args[p->instrs[i].in + k])->num_uses++;
        total++;
      }
  s->uses = fy_calloc(total + 1, sizeof *s->uses);
  if (!s->uses) return fy_fail_oom(err, total * sizeof *s->uses);
  for (uint32_t v = 0, at = 0; v < n; v++) {
    s->tenants[v].uses = s->uses + at;
    at += s->tenants[v].num_uses;
    s->tenants[v].num_uses = 0;
  }
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    const fy_op_impl *impl = ins->kind == FY_INSTR_KERNEL ? ins->site->op->impl : NULL;
    // What a kernel may pass on under another name must stay where it is.
    bool lends = ins->kind == FY_INSTR_KERNEL &&
                 (!impl || (impl->flags & (FY_OP_ALIAS | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC)));
    for (uint32_t k = 0; k < ins->num_in; k++) {
      uint32_t v = p->args[ins->in + k];
      if (!counts(s, v)) continue;
      tenant *t = tenant_of(s, v);
      t->uses[t->num_uses++] = i;
      t->stuck |= lends && !t->weight;
    }
    if (ins->kind == FY_INSTR_COPY && ins->num_out && counts(s, p->args[ins->out]) &&
        p->values[p->args[ins->in]].space == 0) {
      tenant *t = tenant_of(s, p->args[ins->out]);
      t->host = p->args[ins->in];  // it can be had again
      if (ins->spill && ins->site) t->weight = true, t->lazy = ins;
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- writing
static fy_code put_arg(spiller *s, uint32_t v, fy_error *err) {
  if (!fy_grow(&s->args, &s->cap_args, s->num_args + 1, sizeof *s->args))
    return fy_fail_oom(err, sizeof *s->args);
  s->args[s->num_args++] = v;
  return FY_OK;
}

static fy_code put_instr(spiller *s, const fy_instr *ins, fy_error *err) {
  if (!fy_grow(&s->instrs, &s->cap_instrs, s->num_instrs + 1, sizeof *s->instrs))
    return fy_fail_oom(err, sizeof *s->instrs);
  s->instrs[s->num_instrs++] = *ins;
  return FY_OK;
}

// A value like |like| in |space|, planned.
static fy_code put_value(spiller *s, uint32_t like, int space, uint32_t *out, fy_error *err) {
  fy_program *p = s->p;
  if (!fy_grow(&p->values, &s->cap_values, p->num_values + 1, sizeof *p->values) ||
      !fy_grow(&s->stands, &s->cap_stands, p->num_values + 2, sizeof *s->stands))
    return fy_fail_oom(err, sizeof *p->values);
  const uint32_t v = p->num_values++;
  p->values[v] = p->values[like];
  p->values[v].space = space;
  p->values[v].storage = FY_STORE_PLANNED;
  p->values[v].constant = NULL;
  p->values[v].fetched = false;
  p->values[v].feed = -1;
  p->values[v].root = p->values[v].origin = v;
  p->values[v].producer = NONE;
  s->stands[v] = v;
  *out = v;
  return FY_OK;
}

static fy_code put_copy(spiller *s, uint32_t from, uint32_t to, fy_error *err) {
  fy_program *p = s->p;
  fy_instr ins = {.kind = FY_INSTR_COPY,
                  .device = p->devices->items[s->space - 1],
                  .node = p->values[to].node,
                  .num_in = 1,
                  .num_out = 1,
                  .spill = true,
                  .in = s->num_args,
                  .out = s->num_args + 1};
  FY_TRY(put_arg(s, from, err));
  FY_TRY(put_arg(s, to, err));
  return put_instr(s, &ins, err);
}

static uint32_t next_use(const tenant *t) {
  return t->next < t->num_uses ? t->uses[t->next] : NONE;
}

static bool needed_now(const tenant *t, uint32_t at) {
  return next_use(t) == at;
}

static fy_code too_small(const spiller *s, uint64_t bytes, uint32_t at, fy_error *err) {
  char need[32], have[32];
  fy_human_bytes((double)(s->live + bytes), need);
  fy_human_bytes((double)s->budget, have);
  return fy_fail(
      err, FY_OUT_OF_RANGE,
      "{{node %s}} alone needs %s at once on %s, which may hold %s: keeping other tensors "
      "in host memory meanwhile does not help",
      s->p->instrs[at].node->name, need, s->p->devices->items[s->space - 1]->name, have);
}

static fy_code make_room(spiller *s, uint64_t bytes, uint32_t at, fy_error *err) {
  while (s->live + bytes > s->budget) {
    uint32_t best = NONE, best_next = 0;
    for (uint32_t v = 0; v < s->old_values; v++) {
      const tenant *t = &s->tenants[v];
      if (!t->here || t->stuck || needed_now(t, at) || !t->bytes) continue;
      const uint32_t next = next_use(t);
      // Of two that are needed equally late, the one that need not be copied out.
      if (best == NONE || next > best_next ||
          (next == best_next && t->host != NONE && s->tenants[best].host == NONE)) {
        best = v;
        best_next = next;
      }
    }
    if (best == NONE) return too_small(s, bytes, at, err);
    tenant *t = &s->tenants[best];
    if (t->host == NONE) {
      uint32_t host;
      FY_TRY(put_value(s, best, 0, &host, err));
      FY_TRY(put_copy(s, t->now, host, err));
      t->host = host;
      s->evicted = true;
    }
    t->here = false;
    s->live -= t->bytes;
  }
  return FY_OK;
}

static fy_code bring(spiller *s, uint32_t root, uint32_t at, fy_error *err) {
  tenant *t = &s->tenants[root];
  FY_TRY(make_room(s, t->bytes, at, err));
  FY_TRY(put_value(s, root, s->space, &t->now, err));
  if (!fy_grow(&s->moves, &s->cap_moves, s->num_moves + 1, sizeof *s->moves))
    return fy_fail_oom(err, sizeof *s->moves);
  s->moves[s->num_moves++] = (move){.at = s->num_instrs, .value = t->now, .of = root};
  FY_TRY(put_copy(s, t->host, t->now, err));
  t->here = true;
  s->live += t->bytes;
  // Other names of the same memory are made anew where they are read.
  return FY_OK;
}

// What |v| is called now.
static fy_code name_now(spiller *s, uint32_t v, uint32_t *out, fy_error *err) {
  if (!counts(s, v)) {
    *out = v;
    return FY_OK;
  }
  const uint32_t root = s->p->values[v].root, now = s->tenants[root].now;
  if (v == root || now == root) {
    *out = v == root ? now : v;
    return FY_OK;
  }
  if (s->p->values[s->stands[v]].root != now) {
    uint32_t alias;
    FY_TRY(put_value(s, v, s->space, &alias, err));
    s->p->values[alias].root = s->p->values[alias].origin = now;
    s->stands[v] = alias;
  }
  *out = s->stands[v];
  return FY_OK;
}

static fy_code step(spiller *s, uint32_t at, fy_error *err) {
  fy_program *p = s->p;
  fy_instr ins = p->instrs[at];
  uint64_t room = 0;
  if (ins.kind == FY_INSTR_COPY && ins.spill && ins.site) {  // of a variable: when it is needed
    tenant_of(s, p->args[ins.out])->read = s->num_instrs - 1;
    return FY_OK;
  }
  for (uint32_t k = 0; k < ins.num_in; k++) {
    uint32_t v = p->args[ins.in + k];
    if (counts(s, v) && !tenant_of(s, v)->here) FY_TRY(bring(s, p->values[v].root, at, err));
  }
  for (uint32_t k = 0; k < ins.num_out; k++) {
    uint32_t v = p->args[ins.out + k];
    if (counts(s, v) && p->values[v].root == v) room += LINE(p->values[v].bytes);
  }
  if (!ins.device->is_host && ins.device->ordinal + 1 == s->space) room += LINE(ins.scratch_bytes);
  FY_TRY(make_room(s, room, at, err));
  const uint32_t in = s->num_args;
  for (uint32_t k = 0; k < ins.num_in; k++) {
    uint32_t now;
    FY_TRY(name_now(s, p->args[ins.in + k], &now, err));
    FY_TRY(put_arg(s, now, err));
  }
  const uint32_t out = s->num_args;
  for (uint32_t k = 0; k < ins.num_out; k++) FY_TRY(put_arg(s, p->args[ins.out + k], err));
  ins.in = in;
  ins.out = out;
  ins.after_spill = s->evicted;
  if (ins.kind == FY_INSTR_KERNEL) s->evicted = false;
  FY_TRY(put_instr(s, &ins, err));
  for (uint32_t k = 0; k < ins.num_out; k++) {
    uint32_t v = p->args[p->instrs[at].out + k];
    if (!counts(s, v) || p->values[v].root != v) continue;
    s->tenants[v].here = true;
    s->live += s->tenants[v].bytes;
  }
  for (uint32_t side = 0; side < 2; side++)
    for (uint32_t k = 0; k < (side ? ins.num_out : ins.num_in); k++) {
      uint32_t v = p->args[(side ? p->instrs[at].out : p->instrs[at].in) + k];
      if (!counts(s, v)) continue;
      tenant *t = tenant_of(s, v);
      while (t->next < t->num_uses && t->uses[t->next] <= at) t->next++;
      if (t->next < t->num_uses || !t->here || t->stuck) continue;
      t->here = false;
      s->live -= t->bytes;
    }
  return FY_OK;
}

// ---------------------------------------------------------------- afterwards
// Live bytes of the space before each new instruction.
static uint64_t *profile(spiller *s) {
  fy_program *p = s->p;
  const uint32_t n = s->num_instrs;
  uint64_t *live = fy_calloc(n + 2, sizeof *live);
  uint32_t *first = fy_calloc(p->num_values + 1, sizeof *first);
  uint32_t *last = fy_calloc(p->num_values + 1, sizeof *last);
  uint64_t *begun = fy_calloc(n + 2, sizeof *begun);
  const bool ok = live && first && last && begun;
  if (ok) {
    for (uint32_t v = 0; v < p->num_values; v++) first[v] = NONE;
    for (uint32_t i = 0; i < n; i++) {
      const fy_instr *ins = &s->instrs[i];
      for (uint32_t side = 0; side < 2; side++)
        for (uint32_t k = 0; k < (side ? ins->num_out : ins->num_in); k++) {
          const uint32_t v = s->args[(side ? ins->out : ins->in) + k], r = p->values[v].root;
          if (!in_space(s, v) || p->values[r].storage != FY_STORE_PLANNED) continue;
          if (first[r] == NONE) first[r] = i;
          last[r] = p->values[v].fetched ? n - 1 : i;
        }
      if (ins->kind == FY_INSTR_KERNEL && !ins->device->is_host &&
          ins->device->ordinal + 1 == s->space)
        live[i] += LINE(ins->scratch_bytes);
    }
    // What begins and ends at each, then the sum of all so far; a difference below zero wraps, and back.
    uint64_t now = 0;
    for (uint32_t v = 0; v < p->num_values; v++) {
      if (first[v] == NONE) continue;
      begun[first[v]] += LINE(p->values[v].bytes);
      begun[last[v] + 1] -= LINE(p->values[v].bytes);
    }
    for (uint32_t i = 0; i < n; i++) live[i] += now += begun[i];
    for (uint32_t m = 0; m < s->num_moves; m++) s->moves[m].last = last[s->moves[m].value];
  }
  fy_free(first);
  fy_free(last);
  fy_free(begun);
  if (ok) return live;
  fy_free(live);
  return NULL;
}

// A variable that stays after all is read on the device, as it was before.
static void read_there(spiller *s, uint32_t of) {
  const tenant *t = &s->tenants[of];
  fy_instr *read = &s->instrs[t->read];
  read->device = t->lazy->device;
  read->site = t->lazy->site;
  read->fn = NULL;
  s->args[read->out] = of;
  s->p->values[of].storage = FY_STORE_DYNAMIC;
}

// Moves of one value, found from the value: |first[of]| - 1 is the first of them, |next[m]| - 1 the next.
typedef struct move_lists {
  uint32_t *first, *next;
} move_lists;

static void stay(spiller *s, uint32_t of, const move_lists *l) {
  for (uint32_t m = l->first[of]; m; m = l->next[m - 1]) {
    move *mv = &s->moves[m - 1];
    mv->dropped = true;
    s->instrs[mv->at].kind = UINT8_MAX;  // gone
    s->stands[mv->value] = of;           // its readers read the constant itself
  }
  s->tenants[of].stays = true;
  if (s->tenants[of].lazy) read_there(s, of);
}

static void while_moved(const spiller *s, uint32_t of, const move_lists *l, fy_spans *live,
                        int64_t bytes) {
  for (uint32_t m = l->first[of]; m; m = l->next[m - 1])
    fy_spans_add(live, s->moves[m - 1].at, s->moves[m - 1].last, bytes);
}

// Constants, and variables that are only read, that fit beside everything else all the time stay, the
// largest first.
static fy_code settle_weights(spiller *s, uint64_t *live, fy_error *err) {
  const fy_program *p = s->p;
  uint64_t(*order)[2] = fy_calloc(s->num_moves + 1, sizeof *order);
  move_lists l = {.first = fy_calloc(s->old_values + 1, sizeof *l.first),
                  .next = fy_calloc(s->num_moves + 1, sizeof *l.next)};
  fy_spans spans = {0};
  const bool ok = order && l.first && l.next && fy_spans_make(&spans, live, s->num_instrs);
  uint32_t n = 0;
  for (uint32_t m = s->num_moves; ok && m-- > 0;) {
    const uint32_t of = s->moves[m].of;
    l.next[m] = l.first[of];
    l.first[of] = m + 1;
    if (s->tenants[of].weight && !l.next[m]) order[n][0] = s->tenants[of].bytes, order[n++][1] = of;
  }
  if (n) qsort(order, n, sizeof *order, fy_by_size);
  int64_t kept = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t of = (uint32_t)order[i][1];
    // A constant is memory of its own, in whole units of the pool; its copies go.
    const int64_t bytes = (int64_t)((p->values[of].bytes + 255) / 256 * 256 + 64);
    const int64_t copy = (int64_t)LINE(p->values[of].bytes);
    while_moved(s, of, &l, &spans, -copy);
    if (fy_spans_most(&spans) + kept + bytes <= (int64_t)s->budget) {
      kept += bytes;
      stay(s, of, &l);
    } else {
      while_moved(s, of, &l, &spans, copy);
    }
  }
  if (ok) fy_spans_read(&spans, live);
  for (uint32_t k = 0; ok && k < s->num_instrs; k++) live[k] += (uint64_t)kept;
  fy_spans_free(&spans);
  fy_free(order);
  fy_free(l.first);
  fy_free(l.next);
  return ok ? FY_OK : fy_fail_oom(err, s->num_instrs);
}

// Copies to the device move up while memory is free and their source exists. |rank| gives the place.
static void prefetch(spiller *s, uint64_t *live, uint64_t *rank) {
  for (uint32_t m = 0; m < s->num_moves; m++) {
    const move *mv = &s->moves[m];
    if (mv->dropped) continue;
    const uint64_t bytes = LINE(s->p->values[mv->value].bytes);
    const uint32_t from = s->args[s->instrs[mv->at].in];
    uint32_t at = mv->at;
    while (at > 0 && mv->at - at < LOOK_BACK && live[at - 1] + bytes <= s->budget) {
      const fy_instr *above = &s->instrs[at - 1];
      bool makes = false;
      for (uint32_t k = 0; above->kind != UINT8_MAX && k < above->num_out; k++)
        makes |= s->args[above->out + k] == from;
      if (makes) break;
      at--;
      live[at] += bytes;
    }
    if (at < mv->at) rank[mv->at] = (uint64_t)at * 4;
  }
}

// Copies to the host move up to where their source was used last: they begin while the kernels after
// that compute, and whoever needs the room waits the less.
static void leave_early(const spiller *s, uint64_t *rank) {
  const fy_value *values = s->p->values;
  for (uint32_t i = 0; i < s->num_instrs; i++) {
    const fy_instr *ins = &s->instrs[i];
    if (!ins->spill || ins->kind != FY_INSTR_COPY || !in_space(s, s->args[ins->in])) continue;
    const uint32_t root = values[s->args[ins->in]].root;
    uint32_t at = i;
    for (bool met = false; at > 0 && i - at < LOOK_BACK; at--) {
      const fy_instr *above = &s->instrs[at - 1];
      for (uint32_t k = 0; !met && k < above->num_in; k++)
        met = values[s->args[above->in + k]].root == root;
      for (uint32_t k = 0; !met && k < above->num_out; k++)
        met = values[s->args[above->out + k]].root == root;
      if (met) break;
    }
    if (at < i) rank[i] = (uint64_t)at * 4 - 1;
  }
}

// The new instructions become the program's; producers and last uses are found anew.
static fy_code install(spiller *s, fy_error *err) {
  fy_program *p = s->p;
  uint64_t *live = profile(s);
  uint64_t *rank = fy_calloc(s->num_instrs + 1, sizeof *rank);
  uint64_t(*order)[2] = fy_calloc(s->num_instrs + 1, sizeof *order);
  fy_instr *sorted = fy_calloc(s->num_instrs + 1, sizeof *sorted);
  fy_code code = live && rank && order && sorted ? settle_weights(s, live, err)
                                                 : fy_fail_oom(err, s->num_instrs * sizeof *sorted);
  if (code) {
    fy_free(live);
    fy_free(rank);
    fy_free(order);
    fy_free(sorted);
    return code;
  }
  for (uint32_t i = 0; i < s->num_instrs; i++) rank[i] = (uint64_t)i * 4 + 2;
  prefetch(s, live, rank);
  leave_early(s, rank);
  for (uint32_t i = 0; i < s->num_instrs; i++) order[i][0] = rank[i], order[i][1] = i;
  qsort(order, s->num_instrs, sizeof *order, fy_by_rank);
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->num_instrs; i++)
    if (s->instrs[order[i][1]].kind != UINT8_MAX) sorted[n++] = s->instrs[order[i][1]];
  for (uint32_t i = 0; i < s->num_args; i++)  // readers of a constant that stays
    if (s->args[i] >= s->old_values) s->args[i] = s->stands[s->args[i]];
  for (uint32_t v = 0; v < s->old_values; v++) {  // constants that come and go hold no memory
    if (!s->tenants[v].weight || s->tenants[v].stays || !in_space(s, v)) continue;
    p->values[v].storage = FY_STORE_DYNAMIC;
    p->values[v].producer = NONE;
  }
  fy_free(s->instrs);
  fy_program_replace(p, sorted, n, s->args, s->num_args, p->values, p->num_values);
  s->instrs = NULL;
  s->args = NULL;
  fy_program_renumber(p);
  for (uint32_t v = s->old_values; v < p->num_values;
       v++) {  // of copies that were not needed after all
    const uint32_t root = p->values[v].root;
    if (root >= s->old_values && p->values[root].producer == NONE)
      p->values[v].storage = FY_STORE_DYNAMIC;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!sorted[i].spill || sorted[i].kind != FY_INSTR_COPY ||
        sorted[i].device != p->devices->items[s->space - 1])
      continue;
    const fy_value *from = &p->values[p->args[sorted[i].in]];
    p->spill.copies++;
    p->spill.spaces |= 1ull << s->space;
    *(from->space ? &p->spill.bytes_out : &p->spill.bytes_in) += (int64_t)from->bytes;
  }
  fy_free(live);
  fy_free(rank);
  fy_free(order);
  return FY_OK;
}

fy_code fy_program_spill(fy_program *p, int space, uint64_t budget, fy_error *err) {
  spiller s = {.p = p, .space = space, .budget = budget};
  const uint32_t before = p->num_values;
  fy_code code = survey(&s, err);
  for (uint32_t i = 0; !code && i < p->num_instrs; i++) code = step(&s, i, err);
  if (!code) code = install(&s, err);
  if (code) p->num_values = before;
  fy_free(s.tenants);
  fy_free(s.uses);
  fy_free(s.stands);
  fy_free(s.instrs);
  fy_free(s.args);
  fy_free(s.moves);
  return code;
}
