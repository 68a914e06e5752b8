// SPDX-License-Identifier: Apache-2.0
// run_instr.c: one instruction of a program after the other: kernels, copies, values that are passed on.

#include "execute/build.h"
#include "execute/callable.h"
#include "execute/cancel.h"
#include "execute/state.h"
#include "execute/trace.h"
#include "memory/pool.h"

static fy_code wait_inputs(fy_exec *e, const fy_instr *ins, fy_error *err) {
  fy_run_state *s = e->state;
  for (uint32_t i = 0; i < ins->num_in; i++) {
    const fy_event *ev = fy_run_ready_at(s, s->program->args[ins->in + i]);
    if (ev->device) FY_TRY((fy_code)ev->device->ops->wait(ev->device, ev, err));
  }
  return FY_OK;
}

static void record(fy_exec *e, const fy_instr *ins, int64_t start, const fy_event *done) {
  fy_trace_event t = {.node = ins->node->name,
                      .op = ins->node->op_name,
                      .device = ins->device,
                      .start_ns = start,
                      .end_ns = fy_now_ns()};
  if (done && done->device) t.device_end_ns = done->at_ns;
  uint32_t out = ins->num_out ? e->state->program->args[ins->out] : FY_NO_VALUE;
  fy_tensor *o = out != FY_NO_VALUE ? e->state->slots[out] : NULL;
  if (o) {
    t.out_dtype = o->dtype;
    t.out_rank = o->rank;
    t.out_dims = o->dims;
    t.out_bytes = (int64_t)fy_tensor_bytes(o);
  }
  if (ins->kind == FY_INSTR_COPY && o) {
    uint32_t in = e->state->program->args[ins->in];
    const fy_value *from = &e->state->program->values[in];
    t.op = !from->space ? "MemcpyHToD" : !o->device ? "MemcpyDToH" : "MemcpyDToD";
    t.bytes = t.out_bytes;
  }
  fy_trace_add(e->run->trace, &t);
}

fy_code fy_event_later(fy_event *a, const fy_event *b, fy_error *err) {
  if (!b->device) return FY_OK;
  if (!a->device) {
    *a = *b;
  } else if (a->device == b->device && a->at_ns && b->at_ns) {
    if (b->at_ns > a->at_ns) *a = *b;
  } else {
    FY_TRY((fy_code)a->device->ops->wait(a->device, a, err));
    *a = *b;
  }
  return FY_OK;
}

static fy_code run_copy(fy_exec *e, const fy_instr *ins, fy_event *done, fy_error *err) {
  fy_run_state *s = e->state;
  const fy_program *p = s->program;
  uint32_t vi = p->args[ins->in], vo = p->args[ins->out];
  fy_tensor *src = s->slots[vi], *dst = s->slots[vo];
  fy_device *from = src->device,
            *to = p->values[vo].space ? p->devices->items[p->values[vo].space - 1] : NULL;
  if (!dst) {
    FY_TRY(fy_memory_tensor(to ? to : (fy_device *)p->devices->client, src->dtype, src->rank,
                            src->dims, ins->node->name, &dst, err));
    s->slots[vo] = dst;
    s->owned[vo] = true;
  }
  size_t bytes = fy_tensor_bytes(src);
  if (!bytes) return FY_OK;
  fy_device *d = to ? to : from;
  fy_copy_kind kind = !from ? FY_COPY_HOST_TO_DEVICE
                      : !to ? FY_COPY_DEVICE_TO_HOST
                            : FY_COPY_DEVICE_TO_DEVICE;
  fy_counters *counters = fy_callables_counters(p->callables);
  if (counters) {
    fy_count(&counters->transfers[kind], 1);
    fy_count(&counters->bytes[kind], (int64_t)bytes);
  }
  const fy_event *after = fy_run_ready_at(s, vi);
  fy_event latest;
  if (ins->spill) {
    latest = *after;
    FY_TRY(fy_event_later(&latest, &s->computed[d->ordinal + 1], err));
    if (to) FY_TRY(fy_event_later(&latest, &s->left[d->ordinal + 1], err));
    after = &latest;
  }
  fy_code code =
      (fy_code)d->ops->copy(d, kind, dst->data, src->data, bytes, from, after, done, err);
  if (code && p->values[vi].node)
    fy_error_append(err, "\n\t [[{{node %s}}]]", fy_run_user_name(p->values[vi].node));
  if (code) return code;
  if (ins->spill && !to) s->left[d->ordinal + 1] = *done;
  return FY_OK;
}

// What only has another name is there when its origin is. What a function is called with must be there
// before: its programs know of no events before their own. Otherwise devices see to the order by
// addresses, simulated ones by their clock.
static fy_code pass_on(fy_exec *e, const fy_instr *ins, fy_event *done, fy_error *err) {
  const fy_op_impl *impl = ins->site->op->impl;
  const bool renames = !ins->device->is_host && impl && (impl->flags & FY_OP_ALIAS);
  const bool calls = impl && (impl->flags & FY_OP_CALLS_FUNCTIONS);
  if (impl && (impl->flags & FY_OP_ANY_SPACE) && (impl->flags & FY_OP_ANY_DEVICE_HOST_DATA))
    return FY_OK;  // a shape is known before its elements are
  for (uint32_t i = 0; e->state->events && i < ins->num_in; i++) {
    const fy_event *ev = fy_run_ready_at(e->state, e->state->program->args[ins->in + i]);
    if (renames)
      FY_TRY(fy_event_later(done, ev, err));
    else if (ev->device && (ins->device->is_host || calls || ev->at_ns))
      FY_TRY((fy_code)ev->device->ops->wait(ev->device, ev, err));
  }
  return FY_OK;
}

static fy_code launch(fy_exec *e, const fy_instr *ins, fy_event *done, fy_error *err) {
  if (ins->fn) {
    if (e->state->events && !ins->spill) FY_TRY(wait_inputs(e, ins, err));
    return ins->fn(&e->ctx, err);
  }
  if (ins->device->is_host ||
      (ins->site->op->impl && (ins->site->op->impl->flags & (FY_OP_ALIAS | FY_OP_ANY_SPACE)))) {
    // Renames memory or only steers: nothing to do on the device itself.
    FY_TRY(pass_on(e, ins, done, err));
    if (ins->site->op->impl && ins->site->op->impl->compute)
      return fy_site_compute(ins->site)(&e->ctx, err);
    return fy_user_kernel_compute(&e->ctx, err);
  }
  int n = 0;
  for (uint32_t i = 0; i < ins->num_in; i++) {
    const fy_event *ev = fy_run_ready_at(e->state, e->state->program->args[ins->in + i]);
    if (ev->device) e->after[n++] = *ev;
  }
  if (FY_UNLIKELY(ins->after_spill) && e->state->left[ins->device->ordinal + 1].device)
    e->after[n++] = e->state->left[ins->device->ordinal + 1];  // there is room for one more
  FY_TRY((fy_code)ins->device->ops->launch(ins->device, &e->ctx, e->after, n, done, err));
  if (e->state->computed) e->state->computed[ins->device->ordinal + 1] = *done;
  return FY_OK;
}

// What a call returns may be in any memory; the program counts on where the value should be.
static fy_code move_results(fy_exec *e, const fy_instr *ins, fy_error *err) {
  const fy_program *p = e->state->program;
  for (uint32_t i = 0; i < ins->num_out; i++) {
    fy_tensor *t = e->out[i], *moved;
    int space = p->values[p->args[ins->out + i]].space;
    if (!t || !e->out_owned[i] || (t->device ? t->device->ordinal + 1 : 0) == space ||
        !fy_dtype_is_plain(t->dtype))
      continue;
    FY_TRY(fy_memory_copy_tensor(t, space ? p->devices->items[space - 1] : NULL, &moved, err));
    fy_tensor_release(t);
    e->out[i] = moved;
  }
  return FY_OK;
}

// A kernel that made its own output must keep the promise its shape function gave.
static fy_code check_outputs(fy_exec *e, const fy_instr *ins, fy_error *err) {
  const fy_program *p = e->state->program;
  for (uint32_t i = 0; i < ins->num_out; i++) {
    const fy_value *v = &p->values[p->args[ins->out + i]];
    const fy_tensor *t = e->out[i];
    if (!t || v->rank < 0 || fy_shape_equal(v->rank, v->dims, t->rank, t->dims)) continue;
    char a[128], b[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "output %u of %s has shape %s where %s was expected",
                   i, ins->node->op_name, fy_shape_text(t->rank, t->dims, a),
                   fy_shape_text(v->rank, v->dims, b));
  }
  return FY_OK;
}

// What the kernel of |ins| finds: its inputs, planned outputs, and scratch memory.
static inline void set_out(fy_exec *e, const fy_run_state *s, const uint32_t *args,
                           const fy_instr *ins) {
  e->instr = ins;
  for (uint32_t i = 0, n = ins->num_in; i < n; i++) e->in[i] = s->slots[args[ins->in + i]];
  for (uint32_t i = 0, n = ins->num_out; i < n; i++) {
    e->out[i] = s->slots[args[ins->out + i]];
    e->out_owned[i] = false;
  }
  e->ctx.site = ins->site;
  e->ctx.scratch_left = ins->scratch_bytes;
  e->ctx.scratch_asked = 0;
  if (ins->scratch_bytes)
    e->ctx.scratch = (char *)s->arenas[ins->device->is_host ? 0 : ins->device->ordinal + 1] +
                     ins->scratch_offset;
}

// The kernel of |ins| ended with |code|: what it brought is the run's.
static fy_code gather(fy_exec *e, const fy_instr *ins, fy_code code, fy_error *err) {
  fy_run_state *s = e->state;
  const uint32_t *out = s->program->args + ins->out;
  bool replaced = false;
  if (e->ctx.scratch_asked > ins->scratch_bytes) fy_exec_end_scratch(e);
  for (uint32_t i = 0; i < ins->num_out; i++) {
    if (!e->out_owned[i]) continue;
    const uint32_t v = out[i];
    if (s->owned[v])
      fy_tensor_release(s->slots[v]);
    else if (s->slots[v])
      replaced = true;
    s->slots[v] = e->out[i];
    s->owned[v] = true;
  }
  if (replaced) atomic_store_explicit(&s->replaced, true, memory_order_relaxed);
  if (!code && (ins->check_shapes || replaced)) code = check_outputs(e, ins, err);
  for (uint32_t i = 0; !code && i < ins->num_out; i++)
    if (!s->slots[out[i]])
      code = fy_fail(err, FY_INTERNAL, "Missing %u-th output from {{node %s}}", i, ins->node->name);
  return code == FY_OK ? FY_OK : fy_run_name_node(code, ins, err);
}

fy_code fy_exec_instr(fy_exec *e, const fy_instr *ins, fy_error *err) {
  fy_run_state *s = e->state;
  const uint32_t *args = s->program->args;
  fy_event done = {0};
  fy_code code;
  int64_t start = e->run->trace ? fy_now_ns() : 0;
  if (ins->kind == FY_INSTR_COPY) {
    e->instr = ins;
    code = run_copy(e, ins, &done, err);
    if (code) return fy_run_name_node(code, ins, err);
    s->events[args[ins->out]] = done;
  } else {
    set_out(e, s, args, ins);
    code = FY_UNLIKELY(ins->check_refs) ? fy_exec_check_refs(ins->node, e->in, err) : FY_OK;
    if (!code) code = launch(e, ins, &done, err);
    if (!code && FY_UNLIKELY(s->program->may_move)) code = move_results(e, ins, err);
    code = gather(e, ins, code, err);
    if (s->events)
      for (uint32_t i = 0; i < ins->num_out; i++) s->events[args[ins->out + i]] = done;
  }
  if (FY_UNLIKELY(code != FY_OK)) return code;
  if (e->run->trace) record(e, ins, start, &done);
  for (uint32_t i = 0; i < ins->num_free; i++) fy_run_drop(s, args[ins->free_at + i]);
  for (uint32_t i = 0; s->reads && i < ins->num_in; i++) {
    const uint32_t v = args[ins->in + i];
    if (s->reads[v] && atomic_fetch_sub_explicit(&s->unread[v], 1, memory_order_acq_rel) == 1)
      fy_run_drop(s, v);
  }
  return FY_OK;
}

static fy_code stop_asked(fy_exec *e, fy_error *err) {
  if (e->run->cancel && fy_cancel_requested(e->run->cancel))
    return fy_fail(err, FY_CANCELLED, "Run call was cancelled");
  if (e->timed_out || (e->run->deadline_ns && fy_now_ns() > e->run->deadline_ns))
    return fy_fail(err, FY_DEADLINE_EXCEEDED, "Timed out waiting for notification");
  return FY_OK;
}

fy_code fy_exec_range(fy_exec *e, uint32_t begin, uint32_t end, fy_error *err) {
  const fy_instr *instrs = e->state->program->instrs;
  bool watched = e->run->cancel || e->run->deadline_ns;
  for (uint32_t i = begin; i < end; i++) {
    if (FY_UNLIKELY(watched)) FY_TRY(stop_asked(e, err));
    FY_TRY(fy_exec_instr(e, &instrs[i], err));
  }
  return FY_OK;
}

// Whether the kernel did what was planned: its outputs are where they should be, of memory that it was given.
static inline bool as_planned(const fy_exec *e, const fy_instr *ins, const uint32_t *out) {
  for (uint32_t i = 0, n = ins->num_out; i < n; i++)
    if (FY_UNLIKELY(e->out_owned[i] || !e->state->slots[out[i]])) return false;
  return e->ctx.scratch_asked <= ins->scratch_bytes;
}

fy_code fy_exec_line(fy_exec *e, fy_error *err) {
  fy_run_state *s = e->state;
  const fy_program *p = s->program;
  const fy_run *run = e->run;
  if (FY_UNLIKELY(!p->line || run->trace || run->deadline_ns))
    return fy_exec_range(e, 0, p->num_instrs, err);
  const fy_cancel *cancel = run->cancel;
  const uint32_t *args = p->args;
  const fy_instr *end = p->instrs + p->num_instrs;
  for (const fy_instr *ins = p->instrs; ins < end; ins++) {
    if (FY_UNLIKELY(cancel && fy_cancel_requested(cancel))) return stop_asked(e, err);
    set_out(e, s, args, ins);
    fy_code code = ins->fn(&e->ctx, err);
    if (FY_UNLIKELY(code || !as_planned(e, ins, args + ins->out)))
      FY_TRY(gather(e, ins, code, err));
    for (uint32_t i = 0; i < ins->num_free; i++) fy_run_drop(s, args[ins->free_at + i]);
  }
  return FY_OK;
}
