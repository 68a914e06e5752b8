// SPDX-License-Identifier: Apache-2.0
// spill_move.c: variables that a program changes, or uses in place. Such a value is memory of its own that
// kernels find through the handle. Two instructions that are no node's move it: in before it is used, out
// (written back) when room is needed. Which leaves first is known from the schedule: the one whose next
// use is farthest away. What moved is on the host again when the run ends, so that every run begins
// alike and costs what was announced.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/callable.h"
#include "execute/spill_impl.h"
#include "execute/state.h"
#include "memory/pool.h"

#define LOOK_BACK 256  // instructions that a variable may come before it is needed

// ---------------------------------------------------------------- while it runs
// Nobody waits for these copies but kernels that use the variable, and whoever takes the memory next
// (fy_run_state.left). The end of the run does (run.c).
static fy_code copy_there(fy_exec *e, fy_variable *v, fy_device *d, bool in, fy_tensor **out,
                          fy_error *err) {
  fy_run_state *s = e->state;
  const fy_tensor *t = v->value;
  const size_t bytes = fy_tensor_bytes(t);
  const fy_copy_kind kind = in ? FY_COPY_HOST_TO_DEVICE : FY_COPY_DEVICE_TO_HOST;
  fy_event done = {0}, *ready = &s->events[s->program->args[e->instr->in]], after = *ready;
  FY_TRY(fy_event_later(&after, in ? &s->left[d->ordinal + 1] : &s->computed[d->ordinal + 1], err));
  FY_TRY(fy_memory_tensor(in ? d : s->program->devices->client, t->dtype, t->rank, t->dims, v->name,
                          out, err));
  fy_code code = FY_OK;
  if (bytes)
    code = (fy_code)d->ops->copy(d, kind, (*out)->data, t->data, bytes, NULL, &after, &done, err);
  if (!code && !in) code = fy_event_later(&s->left[d->ordinal + 1], &done, err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
    return code;
  }
  *ready = done;
  fy_counters *counters = fy_callables_counters(s->program->callables);
  if (counters) {
    fy_count(&counters->transfers[kind], 1);
    fy_count(&counters->bytes[kind], (int64_t)bytes);
  }
  return FY_OK;
}

// Moves the variable of input 0 to the site's device, or to the host. While it is there unchanged, the
// host's tensor is kept (fy_variable.twin), so that it need not be written back.
static fy_code move(fy_kernel_ctx *ctx, bool in, fy_error *err) {
  fy_device *d = ctx->site->device;
  fy_run_state *s = ((fy_exec *)ctx->run)->state;
  fy_variable *v;
  fy_tensor *old = NULL, *moved = NULL;
  fy_code code = FY_OK;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  fy_lock(&v->lock);
  fy_tensor *t = v->value;
  const bool due = t && fy_dtype_is_plain(t->dtype) && t->device != (in ? d : NULL) &&
                   (in || fy_tensor_is_exclusive(t));  // else somebody else keeps it there anyway
  if (due && in && t->device) {                        // another device's: no plan of ours
    code = fy_memory_copy_tensor(t, d, &moved, err);
  } else if (due && !in && v->twin) {
    code = fy_event_later(&s->left[d->ordinal + 1], &s->computed[d->ordinal + 1], err);
    if (!code) {
      moved = v->twin;
      v->twin = NULL;
    }
  } else if (due) {
    code = copy_there(ctx->run, v, d, in, &moved, err);
  }
  if (!code && moved) {
    fy_variable_forget(v);
    v->value = moved;
    old = t;
    if (in && !t->device) {
      v->twin = t;
      old = NULL;
    }
  }
  if (!code && in) fy_variable_touch(v);
  fy_unlock(&v->lock);
  fy_tensor_release(old);
  return code;
}

static fy_code move_in(fy_kernel_ctx *ctx, fy_error *err) {
  return move(ctx, true, err);
}

static fy_code move_out(fy_kernel_ctx *ctx, fy_error *err) {
  return move(ctx, false, err);
}

// ---------------------------------------------------------------- when the program is made
typedef struct mover {
  fy_var_uses v;
  fy_program *p;
  uint64_t room, live;
  fy_instr *instrs;
  uint32_t *moves;  // [num_instrs] the variable that an instruction moves, or NONE
  uint32_t num_instrs;
  size_t cap, cap_moves;
  int64_t copies, bytes_in, bytes_out;
} mover;

static fy_code put(mover *m, const fy_instr *ins, uint32_t moves, fy_error *err) {
  if (!fy_grow(&m->instrs, &m->cap, m->num_instrs + 1u, sizeof *m->instrs) ||
      !fy_grow(&m->moves, &m->cap_moves, m->num_instrs + 1u, sizeof *m->moves))
    return fy_fail_oom(err, sizeof *m->instrs);
  m->moves[m->num_instrs] = moves;
  m->instrs[m->num_instrs++] = *ins;
  return FY_OK;
}

static fy_code put_move(mover *m, uint32_t which, bool in, fy_error *err) {
  fy_program *p = m->p;
  fy_var_use *v = &m->v.at[which];
  const fy_instr *maker = &p->instrs[p->values[v->value].producer];
  fy_device *d = p->devices->items[m->v.space - 1];
  fy_site *site = fy_arena_memdup(&p->arena, maker->site, sizeof *site);
  fy_instr ins = {.kind = FY_INSTR_KERNEL,
                  .fn = in ? move_in : move_out,
                  .site = site,
                  .device = p->devices->client,
                  .node = maker->node,
                  .num_in = 1,
                  .in = maker->out,  // the position of its handle
                  .spill = true};
  if (!site) return fy_fail_oom(err, sizeof *site);
  const fy_device_info *f = &d->facts;
  ins.cost_ns = f->link_latency_ns +
                (f->link_bytes_per_s > 0 ? (double)v->bytes / f->link_bytes_per_s * 1e9 : 0);
  site->device = d;
  if (in || v->dirty) {
    m->copies++;
    *(in ? &m->bytes_in : &m->bytes_out) += (int64_t)v->bytes;
  } else {
    ins.cost_ns = 0;  // the host has it still
  }
  v->here = in;
  v->dirty = false;
  m->live += in ? v->taken : 0;
  m->live -= in ? 0 : v->taken;
  return put(m, &ins, which, err);
}

static uint32_t next_use(const fy_var_use *v) {
  return v->next < v->num_uses ? v->uses[v->next].first : NONE;
}

static fy_code make_room(mover *m, uint64_t bytes, uint32_t at, fy_error *err) {
  while (m->live + bytes > m->room) {
    uint32_t best = NONE, best_next = 0;
    for (uint32_t w = 0; w < m->v.n; w++) {
      const fy_var_use *v = &m->v.at[w];
      if (!v->here || v->stays || next_use(v) <= at) continue;
      if (best == NONE || next_use(v) > best_next) best = w, best_next = next_use(v);
    }
    if (best == NONE)
      return fy_fail(err, FY_OUT_OF_RANGE,
                     "{{node %s}} alone needs more variables at once than fit",
                     m->p->instrs[at].node->name);
    FY_TRY(put_move(m, best, false, err));
  }
  return FY_OK;
}

// The largest first: what fits beside the most that the others need at once stays.
static fy_code settle(mover *m, uint64_t *held, fy_error *err) {
  uint64_t(*order)[2] = fy_calloc(m->v.n + 1u, sizeof *order);
  fy_spans sums = {0};
  uint32_t n = 0;
  *held = 0;
  fy_code code = order && fy_var_sums(&m->v, &sums)
                     ? FY_OK
                     : fy_fail_oom(err, m->p->num_instrs * sizeof(int64_t));
  for (uint32_t w = 0; !code && w < m->v.n; w++)
    if (fy_var_needed(&m->v.at[w])) order[n][0] = m->v.at[w].taken, order[n++][1] = w;
  if (!code) qsort(order, n, sizeof *order, fy_by_size);
  for (uint32_t i = 0; !code && i < n; i++) {
    fy_var_use *v = &m->v.at[order[i][1]];
    fy_var_add_uses(v, &sums, -(int64_t)v->taken);
    v->stays = *held + v->taken + (uint64_t)fy_spans_most(&sums) <= m->room;
    if (v->stays)
      *held += v->taken;
    else
      fy_var_add_uses(v, &sums, (int64_t)v->taken);
  }
  fy_free(order);
  fy_spans_free(&sums);
  return code;
}

static fy_code walk(mover *m, uint32_t at, fy_error *err) {
  const fy_instr *ins = &m->p->instrs[at];
  const bool there = !ins->spill && fy_var_uses_there(&m->v, ins);
  for (uint32_t k = 0; !ins->spill && ins->kind == FY_INSTR_KERNEL && k < ins->num_in; k++) {
    const uint32_t value = m->p->args[ins->in + k], which = m->v.of[value];
    fy_var_use *v = which == NONE ? NULL : &m->v.at[which];
    if (!v || v->stays || !fy_var_needed(v)) continue;
    if (!there) {  // a kernel of another memory takes it away; better we do, and say so
      if (v->here && m->p->values[value].dtype == FY_RESOURCE && !fy_instr_is_variable(ins->node))
        FY_TRY(put_move(m, which, false, err));
    } else if (!v->here) {
      FY_TRY(make_room(m, v->taken, at, err));
      FY_TRY(put_move(m, which, true, err));
    }
  }
  FY_TRY(put(m, ins, NONE, err));
  for (uint32_t k = 0; there && k < ins->num_in; k++) {
    const uint32_t value = m->p->args[ins->in + k], which = m->v.of[value];
    if (which != NONE && m->p->values[value].dtype == FY_RESOURCE && !fy_instr_only_looks(ins))
      m->v.at[which].dirty = true;
  }
  for (uint32_t w = 0; w < m->v.n; w++)
    while (m->v.at[w].next < m->v.at[w].num_uses && m->v.at[w].uses[m->v.at[w].next].last <= at)
      m->v.at[w].next++;
  return FY_OK;
}

// ---------------------------------------------------------------- ahead of time
// Whether |ins| has to do with variable |which|, or may have: nothing that moves it goes past it.
static bool holds_up(const mover *m, uint32_t at, uint32_t which) {
  const fy_instr *ins = &m->instrs[at];
  if (m->moves[at] != NONE) return m->moves[at] == which;
  if (ins->spill) return false;
  for (uint32_t k = 0; k < ins->num_in; k++)
    if (m->v.of[m->p->args[ins->in + k]] == which) return true;
  for (uint32_t k = 0; k < ins->num_out; k++)
    if (m->v.of[m->p->args[ins->out + k]] == which) return true;
  return fy_instr_calls(ins);
}

// Puts the instructions into the order of |rank|: [num_instrs] of rank and number.
static fy_code put_in_order(mover *m, uint64_t (*rank)[2], fy_error *err) {
  const uint32_t n = m->num_instrs;
  fy_instr *instrs = fy_calloc(n + 1u, sizeof *instrs);
  uint32_t *moves = fy_calloc(n + 1u, sizeof *moves);
  if (!instrs || !moves) {
    fy_free(instrs);
    fy_free(moves);
    return fy_fail_oom(err, n * sizeof *instrs);
  }
  qsort(rank, n, sizeof *rank, fy_by_rank);
  for (uint32_t i = 0; i < n; i++) {
    instrs[i] = m->instrs[rank[i][1]];
    moves[i] = m->moves[rank[i][1]];
  }
  fy_free(m->instrs);
  fy_free(m->moves);
  m->instrs = instrs;
  m->moves = moves;
  return FY_OK;
}

static bool makes_handle(const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && !ins->spill && fy_instr_is_variable(ins->node) &&
         !ins->num_in && !ins->node->num_controls;
}

// What leaves does so right after its last use, so that it travels while others compute. Handles come
// first: nothing can be brought before there is one.
static void leave_early(const mover *m, uint64_t (*rank)[2]) {
  for (uint32_t i = 0; i < m->num_instrs; i++) {
    rank[i][0] = makes_handle(&m->instrs[i]) ? 0 : 2ull * i + 2;
    rank[i][1] = i;
    if (m->moves[i] == NONE || m->instrs[i].fn != move_out) continue;
    uint32_t at = i;
    while (at > 0 && !holds_up(m, at - 1, m->moves[i])) at--;
    if (at < i) rank[i][0] = 2ull * at + 1;
  }
}

// Bytes of moving variables in the space during each instruction; returns the most.
static uint64_t profile(const mover *m, uint64_t *live) {
  uint64_t now = 0, most = 0;
  for (uint32_t i = 0; i < m->num_instrs; i++) {
    const uint64_t taken = m->moves[i] == NONE ? 0 : m->v.at[m->moves[i]].taken;
    const bool in = m->instrs[i].fn == move_in;
    if (in) now += taken;
    live[i] = now;
    if (now > most) most = now;
    if (!in) now -= taken;
  }
  return most;
}

// What comes does so as early as there is room, so that it is there when it is needed.
static void come_early(const mover *m, uint64_t *live, uint64_t (*rank)[2]) {
  for (uint32_t i = 0; i < m->num_instrs; i++) {
    rank[i][0] = 2ull * i + 1;
    rank[i][1] = i;
    if (m->moves[i] == NONE || m->instrs[i].fn != move_in) continue;
    const uint64_t taken = m->v.at[m->moves[i]].taken;
    uint32_t at = i;
    while (at > 0 && i - at < LOOK_BACK && live[at - 1] + taken <= m->room &&
           !holds_up(m, at - 1, m->moves[i]))
      live[--at] += taken;
    if (at < i) rank[i][0] = 2ull * at;
  }
}

// |*most|: of moving variables in the space at once.
static fy_code overlap(mover *m, uint64_t *most, fy_error *err) {
  uint64_t *live = fy_calloc(m->num_instrs + 1u, sizeof *live);
  uint64_t(*rank)[2] = fy_calloc(m->num_instrs + 1u, sizeof *rank);
  fy_code code = live && rank ? FY_OK : fy_fail_oom(err, m->num_instrs * sizeof *rank);
  if (!code) {
    leave_early(m, rank);
    code = put_in_order(m, rank, err);
  }
  if (!code) {
    (void)profile(m, live);
    come_early(m, live, rank);
    code = put_in_order(m, rank, err);
  }
  if (!code) *most = profile(m, live);
  fy_free(live);
  fy_free(rank);
  return code;
}

fy_code fy_program_move_variables(fy_program *p, int space, uint64_t room, fy_error *err) {
  mover m = {.p = p, .room = room};
  uint64_t held = 0, most = 0;
  fy_code code = fy_var_uses_find(p, space, &m.v, err);
  if (!code) code = settle(&m, &held, err);
  m.room = room > held ? room - held : 0;
  for (uint32_t i = 0; !code && i < p->num_instrs; i++) code = walk(&m, i, err);
  for (uint32_t w = 0; !code && w < m.v.n; w++)
    if (m.v.at[w].here && !m.v.at[w].stays) code = put_move(&m, w, false, err);
  if (!code && m.copies) code = overlap(&m, &most, err);
  if (!code && m.copies) {
    fy_program_replace(p, m.instrs, m.num_instrs, p->args, p->num_args, p->values, p->num_values);
    m.instrs = NULL;
    fy_program_renumber(p);
    p->spill.copies += m.copies;
    p->spill.bytes_in += m.bytes_in;
    p->spill.bytes_out += m.bytes_out;
    p->spill.spaces |= 1ull << space;
    if (space < 65) p->spill.held[space] = held + most;
  }
  fy_free(m.instrs);
  fy_free(m.moves);
  fy_var_uses_drop(&m.v);
  return code;
}
