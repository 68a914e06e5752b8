// SPDX-License-Identifier: Apache-2.0
// run_plain.c: run a program that holds nothing of devices and has one task: the caller's thread does it all,
// with nothing to wait for and, but for started runs, nobody who could make room. This is the way of a call
// that takes a hundred nanoseconds, so what is rare is left to run.c.

#include "execute/build.h"
#include "execute/state.h"

// The tensor with the memory that value number |k| of the fresh ones is a part of.
static fy_tensor *fresh_root(const fy_run_state *s, uint32_t k) {
  const fy_program *p = s->program;
  const uint32_t root = p->values[p->fresh[k]].root;
  if (p->values[root].fetched) return s->slots[root];
  while (p->fresh[k] != root) k--;  // a root has the smallest number of its group
  return s->lent[k];
}

// Root number |k| of the fresh ones gets the memory of an argument that is given away and that nobody else
// holds. What reads the argument finds it without a buffer: whoever keeps it must copy.
static bool take_over(fy_run_state *s, uint32_t k, fy_tensor *const *feeds, fy_tensor **out) {
  const fy_program *p = s->program;
  const fy_value *val = &p->values[p->fresh[k]];
  if (p->takes[k] < 0) return false;
  fy_tensor *t = feeds[p->takes[k]];
  if (t->device || t->part || !fy_tensor_is_exclusive(t) || fy_tensor_bytes(t) != val->bytes)
    return false;
  if (t->dtype == val->dtype && fy_shape_equal(t->rank, t->dims, val->rank, val->dims)) {
    fy_tensor_retain(t);
    *out = t;
  } else if (fy_tensor_alias(t, val->dtype, val->rank, val->dims, out, NULL)) {
    return false;
  }
  const uint32_t feed = p->feed_value[p->takes[k]];
  s->planned[feed].data = t->data;
  s->slots[feed] = &s->planned[feed];
  return true;
}

static inline fy_code make_fresh(fy_run_state *s, uint32_t k, bool gives, fy_tensor *const *feeds,
                                 fy_tensor **out, fy_error *err) {
  const fy_program *p = s->program;
  const fy_value *val = &p->values[p->fresh[k]];
  if (gives && take_over(s, k, feeds, out)) return FY_OK;
  fy_device *d = val->space ? p->devices->items[val->space - 1] : p->devices->client;
  return fy_memory_tensor_known(d, &val->known, &s->shard, val->node->name, out, err);
}

// Value number |k| of the fresh ones is not a fetched result with memory of its own.
static fy_code fill_shared(fy_run_state *s, uint32_t k, bool gives, fy_tensor *const *feeds,
                           fy_error *err) {
  const fy_program *p = s->program;
  const uint32_t v = p->fresh[k];
  const fy_value *val = &p->values[v];
  if (val->root == v) {  // whoever keeps it must copy: a result will be written over it
    FY_TRY(make_fresh(s, k, gives, feeds, &s->lent[k], err));
    s->planned[v].data = s->lent[k]->data;
  } else if (!val->fetched) {
    s->planned[v].data = (char *)s->slots[val->root]->data + val->shift;
  } else {
    FY_TRY(fy_tensor_alias(fresh_root(s, k), val->dtype, val->rank, val->dims, &s->slots[v], err));
    s->owned[v] = true;
  }
  return FY_OK;
}

static inline fy_code fill(fy_run_state *s, bool gives, fy_tensor *const *feeds, fy_error *err) {
  const fy_program *p = s->program;
  fy_tensor **slots = s->slots;
  for (int i = 0, n = p->num_feeds; i < n; i++)
    if (p->feed_value[i] != FY_NO_VALUE) slots[p->feed_value[i]] = feeds[i];
  for (uint32_t k = 0, n = p->num_fresh; k < n; k++) {
    const uint32_t v = p->fresh[k];
    const fy_value *val = &p->values[v];
    if (FY_UNLIKELY(val->root != v || !val->fetched)) {
      FY_TRY(fill_shared(s, k, gives, feeds, err));
      continue;
    }
    FY_TRY(make_fresh(s, k, gives, feeds, &slots[v], err));
    s->owned[v] = true;
  }
  return FY_OK;
}

fy_code fy_run_fill(fy_run_state *s, bool gives, fy_tensor *const *feeds, fy_error *err) {
  return fill(s, gives && s->program->any_takes, feeds, err);
}

// The results of a run that ended well: what it owns changes hands instead of being counted up and down.
// False: one of them needs more than that, and none was taken.
static inline bool hand_over(fy_run_state *s, fy_tensor **results) {
  const fy_program *p = s->program;
  const uint32_t *fetched = p->fetch_value;
  fy_tensor **slots = s->slots;
  const int n = p->num_fetches;
  for (int i = 0; i < n; i++) {
    const fy_tensor *t = slots[fetched[i]];
    if (FY_UNLIKELY(p->values[fetched[i]].storage == FY_STORE_CONST || !t->buffer ||
                    t->buffer->user_dealloc))
      return false;
  }
  for (int i = 0; i < n; i++) {
    results[i] = slots[fetched[i]];
    if (FY_LIKELY(s->owned[fetched[i]]))
      s->owned[fetched[i]] = false;
    else
      fy_tensor_retain(results[i]);  // fed, or fetched twice
  }
  for (int i = 0; i < n; i++) fy_run_forget(s, fetched[i]);
  return true;
}

// Where the shortest way ends, before the first instruction.
static fy_code begin_slowly(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                            fy_tensor **results, fy_code code, fy_run_state **s, fy_error *err) {
  for (int i = 0; i < p->num_fetches; i++) results[i] = NULL;
  if (*s) {
    fy_run_clean(*s, true);
    fy_state_recycle(*s);
  }
  if (code != FY_RESOURCE_EXHAUSTED || !run->ahead) return code;
  if (err) fy_error_clear(err);
  return fy_run_begin(p, run, feeds, s, err);
}

static fy_code end_slowly(fy_run_state *s, fy_code code, fy_tensor **results, fy_error *err) {
  for (int i = 0; i < s->program->num_fetches; i++) results[i] = NULL;
  return fy_run_end(s, code, results, err);
}

static inline fy_code exec_flushing(fy_exec *e, fy_error *err) {
  const fy_float_mode mode = fy_flush_denormals();
  const fy_code code = fy_exec_line(e, err);
  fy_float_mode_restore(mode);
  return code;
}

fy_code fy_program_run_plain(fy_program *p, fy_run_state **kept, const fy_run *run,
                             fy_tensor *const *feeds, fy_tensor **results, fy_error *err) {
  fy_run_state *s = *kept;
  fy_code code = FY_OK;
  *kept = NULL;
  if (!s) code = fy_state_acquire(p, &s, err);
  if (FY_LIKELY(!code)) code = fill(s, run->gives && p->any_takes, feeds, err);
  if (FY_UNLIKELY(code)) FY_TRY(begin_slowly(p, run, feeds, results, code, &s, err));
  fy_run_prepare(s, run);
  code = run->inside ? fy_exec_line(s->main, err) : exec_flushing(s->main, err);
  if (FY_UNLIKELY(code || !s->told || !hand_over(s, results)))
    return end_slowly(s, code, results, err);
  if (FY_UNLIKELY(p->lends || atomic_load_explicit(&s->replaced, memory_order_relaxed)))
    fy_run_clean(s, false);
  *kept = s;
  return FY_OK;
}
