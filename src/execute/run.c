// SPDX-License-Identifier: Apache-2.0
// run.c: run a program: the straight line on the caller's thread, tasks on the pools where there are
// several. First error wins; everything a failed run made is let go and the program stays usable.

#include <stdlib.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "execute/ahead.h"
#include "execute/build.h"
#include "execute/callable.h"
#include "execute/state.h"
#include "memory/pool.h"
#include "memory/registry.h"
#include "wire/mapping.h"

static fy_code check_feeds(const fy_program *p, fy_tensor *const *feeds, fy_error *err) {
  for (int i = 0; i < p->num_feeds; i++) {
    if (p->feed_value[i] == FY_NO_VALUE) continue;
    const fy_value *v = &p->values[p->feed_value[i]];
    if (feeds[i]->dtype != v->dtype)
      return fy_fail(err, FY_INVALID_ARGUMENT, "argument %d is %s where %s was expected", i,
                     fy_dtype_name(feeds[i]->dtype), fy_dtype_name(v->dtype));
  }
  return FY_OK;
}

// Constants that live on a device are copied there by the first run and stay.
static fy_code place_constant(fy_program *p, uint32_t v, fy_error *err) {
  fy_value *val = &p->values[v];
  fy_device *d = p->devices->items[val->space - 1];
  val->constant = fy_peers_constant(p, p->values[val->feed].constant, val->space, v);
  if (val->constant) return FY_OK;
  const char *name = val->node ? val->node->name : "constant";
  fy_code code =
      fy_memory_copy_tensor_for(p->values[val->feed].constant, d, name, &val->constant, err);
  if (code)
    fy_error_append(
        err, code == FY_RESOURCE_EXHAUSTED ? "\t [[{{node %s}}]]\n" : "\n\t [[{{node %s}}]]", name);
  if (code) return code;
  fy_counters *counters = fy_callables_counters(p->callables);
  if (!counters) return FY_OK;
  val->counted = true;
  fy_count(&counters->constants, 1);
  fy_count(&counters->constant_bytes, (int64_t)fy_tensor_bytes(val->constant));
  fy_count_held(counters, val->space, (int64_t)fy_memory_tensor_taken(d, val->bytes));
  return FY_OK;
}

// The largest first, so that the small ones fill the gaps.
static fy_code place_constants(fy_program *p, fy_error *err) {
  if (!p->has_devices || atomic_load(&p->constants_placed)) return FY_OK;
  fy_code code = FY_OK;
  size_t n = 0, cap = 0;
  uint64_t(*order)[2] = NULL;
  fy_lock(&p->constants_lock);
  fy_peers_join(p);
  for (uint32_t v = 0; v < p->num_values && !code; v++) {
    const fy_value *val = &p->values[v];
    if (val->storage != FY_STORE_CONST || val->constant) continue;
    if (!fy_grow(&order, &cap, n + 1, sizeof *order)) {
      code = fy_fail_oom(err, sizeof *order);
    } else {
      order[n][0] = val->bytes;
      order[n++][1] = v;
    }
  }
  if (n) qsort(order, n, sizeof *order, fy_by_size);
  for (size_t i = 0; i < n && !code; i++) code = place_constant(p, (uint32_t)order[i][1], err);
  fy_free(order);
  if (!code) atomic_store(&p->constants_placed, true);
  fy_unlock(&p->constants_lock);
  return code;
}

static fy_code take_results(fy_run_state *s, fy_tensor **results, fy_error *err) {
  const fy_program *p = s->program;
  for (int i = 0; i < p->num_fetches; i++) {
    uint32_t v = p->fetch_value[i];
    fy_tensor *t = s->slots[v];
    const fy_event *ev = s->events ? fy_run_ready_at(s, v) : NULL;
    if (ev && ev->device) FY_TRY((fy_code)ev->device->ops->wait(ev->device, ev, err));
    if ((p->values[v].storage == FY_STORE_CONST && !t->device) || fy_wire_mapping_has(t)) {
      FY_TRY(fy_tensor_clone(t, &results[i], err));  // the caller may write into what it fetched
      continue;
    }
    if (!t->buffer) {  // an argument handed through, whose memory is planned by the caller's program
      FY_TRY(fy_memory_copy_tensor(t, t->device, &results[i], err));
      continue;
    }
    fy_tensor_retain(t);
    results[i] = t;
  }
  return FY_OK;
}

void fy_run_clean(fy_run_state *s, bool all) {
  fy_program *p = s->program;
  if (all || fy_program_in_tasks(p) || atomic_load_explicit(&s->replaced, memory_order_relaxed)) {
    atomic_store_explicit(&s->replaced, false, memory_order_relaxed);
    for (uint32_t v = 0; v < p->num_values; v++) fy_run_drop(s, v);
  } else {
    for (uint32_t k = 0; k < p->num_fresh; k++) fy_run_drop(s, p->fresh[k]);
    for (int i = 0; i < p->num_fetches; i++) fy_run_drop(s, p->fetch_value[i]);
  }
  for (uint32_t k = 0; k < p->num_fresh; k++) {
    if (!s->lent[k]) continue;
    fy_tensor_release(s->lent[k]);
    s->lent[k] = NULL;
  }
  for (int i = 0; i < p->num_feeds; i++)
    if (p->feed_value[i] != FY_NO_VALUE) s->slots[p->feed_value[i]] = NULL;
}

// Everything that a run needs before its first instruction.
static fy_code get_ready(fy_program *p, bool gives, fy_tensor *const *feeds, fy_run_state **out,
                         fy_error *err) {
  FY_TRY(place_constants(p, err));
  FY_TRY(fy_state_acquire(p, out, err));
  fy_code code = fy_run_fill(*out, gives, feeds, err);
  if (!code) return FY_OK;
  fy_run_clean(*out, true);
  fy_state_recycle(*out);
  *out = NULL;
  return code;
}

// The same with planned memory before the constants: pools lose least when what is large comes first.
static fy_code get_ready_tightly(fy_program *p, bool gives, fy_tensor *const *feeds,
                                 fy_run_state **out, fy_error *err) {
  fy_peers_drop_constants(p);
  for (int i = 0; i < p->devices->n; i++) fy_mempool_trim(p->devices->items[i]->memory, 0);
  FY_TRY(fy_state_acquire(p, out, err));
  fy_code code = place_constants(p, err);
  for (uint32_t v = 0; !code && v < p->num_values; v++)
    if (p->values[v].storage == FY_STORE_CONST) (*out)->slots[v] = p->values[v].constant;
  if (!code) code = fy_run_fill(*out, gives, feeds, err);
  if (!code) return FY_OK;
  fy_run_clean(*out, true);
  fy_state_free(*out);  // not to be used again: it may not know its constants
  *out = NULL;
  return code;
}

// When what the plan says fits does not, what others left behind lies between: variables go to the host,
// planned memory and constants come first, and kernels bring the variables back one by one.
static fy_code get_ready_afresh(fy_program *p, bool gives, fy_tensor *const *feeds,
                                fy_run_state **out, fy_error *err) {
  bool any = false;
  for (int i = 0; i < p->devices->n; i++)
    if (!p->devices->items[i]->is_host) any |= fy_memory_unload_variables(p->devices->items[i]);
  if (!any) return FY_RESOURCE_EXHAUSTED;
  if (err) fy_error_clear(err);
  return get_ready_tightly(p, gives, feeds, out, err);
}

// The last instructions, if they only bring results to the host.
static uint32_t first_of_tail(const fy_program *p) {
  uint32_t at = p->num_instrs;
  while (!fy_program_in_tasks(p) && at > 0 && p->instrs[at - 1].kind == FY_INSTR_COPY &&
         !p->instrs[at - 1].spill && p->values[p->args[p->instrs[at - 1].out]].fetched &&
         !p->values[p->args[p->instrs[at - 1].out]].space)
    at--;
  return at;
}

// Memory did not allow as many runs at once: remembered, because finding out takes long.
static bool settle_one(fy_program *p, const fy_run *run) {
  const int others = atomic_load(&p->active) - 1;
  if (others > 0) atomic_store(&p->most_active, others);
  return fy_ahead_settle(run->ahead);
}

static void await_room(fy_program *p, const fy_run *run) {
  const int most = atomic_load_explicit(&p->most_active, memory_order_relaxed);
  while (FY_UNLIKELY(most) && run->ahead && atomic_load(&p->active) >= most)
    if (!fy_ahead_settle(run->ahead)) return;
}

fy_code fy_run_begin(fy_program *p, const fy_run *run, fy_tensor *const *feeds, fy_run_state **out,
                     fy_error *err) {
  if (p->has_devices) await_room(p, run);
  if (p->has_devices) atomic_fetch_add(&p->active, 1);  // before it looks for its constants
  fy_code code = get_ready(p, run->gives, feeds, out, err);
  while (FY_UNLIKELY(code == FY_RESOURCE_EXHAUSTED) && run->ahead && settle_one(p, run)) {
    if (err) fy_error_clear(err);
    code = get_ready(p, run->gives, feeds, out, err);
  }
  // What idle runs of other programs keep is for whoever needs it; and the largest piece comes first.
  if (FY_UNLIKELY(code == FY_RESOURCE_EXHAUSTED) && p->has_devices) {
    fy_peers_reclaim(p);
    if (err) fy_error_clear(err);
    code = get_ready_tightly(p, run->gives, feeds, out, err);
    if (code == FY_RESOURCE_EXHAUSTED && fy_program_fits(p))
      code = get_ready_afresh(p, run->gives, feeds, out, err);
  }
  if (code) {
    if (p->has_devices) atomic_fetch_sub(&p->active, 1);
    return code;
  }
  fy_run_prepare(*out, run);
  return FY_OK;
}

static void put_away(fy_run_state *s, bool all) {
  fy_program *p = s->program;
  fy_run_clean(s, all);
  fy_state_recycle(s);
  if (p->has_devices) atomic_fetch_sub(&p->active, 1);
}

// What left for the host has to be there when the run ends, however it does: a variable among it is
// everybody's.
static fy_code wait_for_left(fy_run_state *s, fy_error *err) {
  fy_code code = FY_OK;
  for (int i = 0; s->left && i < s->program->plan.num_spaces; i++) {
    const fy_event *ev = &s->left[i];
    if (!ev->device) continue;
    const fy_code waited = (fy_code)ev->device->ops->wait(ev->device, ev, code ? NULL : err);
    if (!code) code = waited;
  }
  return code;
}

// Hands out the results of a run whose instructions ended with |code|, and puts its state away.
fy_code fy_run_end(fy_run_state *s, fy_code code, fy_tensor **results, fy_error *err) {
  fy_program *p = s->program;
  const fy_code arrived = wait_for_left(s, code ? NULL : err);
  if (!code) code = arrived;
  if (!code) code = take_results(s, results, err);
  if (code) {
    for (int i = 0; i < p->num_fetches; i++) {
      fy_tensor_release(results[i]);
      results[i] = NULL;
    }
  }
  if (!s->told) {  // what a first run leaves in its caller's hands is seen by other processes
    s->told = true;
    fy_registry_update();
  }
  put_away(s, code != FY_OK);
  if (p->has_devices &&
      fy_registry_tick()) {  // another process waits for memory: what is idle goes
    fy_peers_reclaim(p);
    for (int i = 0; i < p->devices->n; i++) fy_mempool_trim(p->devices->items[i]->memory, 0);
  }
  return code;
}

// All tasks at once, or these instructions.
static fy_code run_up_to(fy_run_state *s, uint32_t first, uint32_t end_of, fy_error *err) {
  const fy_float_mode mode = fy_flush_denormals();
  const fy_code code = fy_program_in_tasks(s->program) ? fy_run_tasks(s, err)
                                                       : fy_exec_range(s->main, first, end_of, err);
  fy_float_mode_restore(mode);
  return code;
}

fy_code fy_program_run(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                       fy_tensor **results, fy_error *err) {
  fy_run_state *s = NULL;
  fy_code code = check_feeds(p, feeds, err);
  if (FY_LIKELY(!code && p->plain)) {
    code = fy_program_run_plain(p, &s, run, feeds, results, err);
    if (FY_LIKELY(s)) fy_state_recycle(s);
    return code;
  }
  for (int i = 0; i < p->num_fetches; i++) results[i] = NULL;
  if (!code) code = fy_run_begin(p, run, feeds, &s, err);
  if (code) return code;
  return fy_run_end(s, run_up_to(s, 0, p->num_instrs, err), results, err);
}

// ------------------------------------------------------------------ a run in two halves
fy_code fy_program_start(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                         fy_started **out, fy_error *err) {
  *out = NULL;
  FY_TRY(check_feeds(p, feeds, err));
  fy_started *st = fy_calloc(1, sizeof *st + (size_t)p->num_fetches * sizeof *st->results);
  if (!st) return fy_fail_oom(err, sizeof *st);
  st->run = *run;
  fy_code code = fy_run_begin(p, &st->run, feeds, &st->state, err);
  if (code) {
    fy_free(st);
    return code;
  }
  st->next = first_of_tail(p);
  code = run_up_to(st->state, 0, st->next, err);
  if (code) {
    (void)wait_for_left(st->state, NULL);
    put_away(st->state, true);
    fy_free(st);
    return code;
  }
  fy_program_retain(p);
  st->program = p;
  fy_mutex_init(&st->lock);
  fy_error_init(&st->error);
  *out = st;
  return FY_OK;
}

void fy_program_settle(fy_started *st) {
  const fy_program *p = st->program;
  fy_run_state *s = st->state;
  if (!s) return;
  const fy_code code =
      fy_program_in_tasks(p) ? FY_OK : run_up_to(s, st->next, p->num_instrs, &st->error);
  st->code = fy_run_end(s, code, st->results, &st->error);
  st->state = NULL;
}

fy_code fy_program_finish(fy_started *st, fy_tensor **results, fy_error *err) {
  fy_program *p = st->program;
  fy_lock(&st->lock);
  fy_program_settle(st);
  fy_unlock(&st->lock);
  for (int i = 0; i < p->num_fetches; i++) results[i] = st->results[i];
  const fy_code code = st->code;
  if (code && err) {
    fy_error_clear(err);
    fy_error_move(err, &st->error);
  }
  fy_error_clear(&st->error);
  fy_mutex_destroy(&st->lock);
  fy_free(st);
  fy_program_release(p);
  return code;
}
