// SPDX-License-Identifier: Apache-2.0
// run.c: run a program: the straight line on the caller's thread, tasks on the pools where there are
// several. First error wins; everything a failed run made is let go and the program stays usable.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "base/vtime.h"
#include "execute/ahead.h"
#include "execute/build.h"
#include "execute/callable.h"
#include "execute/cancel.h"
#include "execute/state.h"
#include "execute/trace.h"
#include "memory/pool.h"
#include "memory/registry.h"
#include "wire/mapping.h"

#define MAX_CALLERS 32  // functions that an error names: a recursion would make it endless

static int count_callers(const char *text) {
  int n = 0;
  while (n <= MAX_CALLERS && (text = strstr(text, "{{function_node "))) {
    text++;
    n++;
  }
  return n;
}

static fy_view called_function(const fy_node *n) {
  const fy_attr *f = strstr(n->op_name, "PartitionedCall") ? fy_attrs_get(&n->attrs, "f") : NULL;
  return f && f->kind == FY_ATTR_FUNC && !f->is_list ? f->v.func->name : (fy_view){NULL, 0};
}

// A node called |function|, so the error may have happened in its body: then it names a node already.
static bool name_caller(const fy_node *n, fy_error *err) {
  if (!err) return false;
  fy_view f = called_function(n);
  if (!*fy_error_text(err)) return false;  // a code without words
  char *at = strstr(err->heap ? err->heap : err->text, "[[{{node ");
  if (!at || (!n->function && !f.n)) return false;
  if (count_callers(fy_error_text(err)) > MAX_CALLERS) return true;
  if (f.n) {
    fy_error_prepend(err, "{{function_node %.*s}} {{function_node %.*s}} ", (int)f.n, f.p, (int)f.n,
                     f.p);
    fy_error_append(err, "\n\t [[%s]]", n->name);
    return true;
  }
  char rest[256];
  snprintf(rest, sizeof rest, "%s", at + 2);
  err->len = (uint32_t)(at + 2 - (err->heap ? err->heap : err->text));
  at[2] = 0;
  fy_error_append(err, "{{function_node %s}}%s", n->op_name, rest);
  return true;
}

// What the user calls |n|: for a node that a pass made, the first it stands for.
static const char *user_name(const fy_node *n) {
  return n->num_origins ? n->origins[0] : n->name;
}

// Where TensorFlow inlines: the innermost node has named itself and its function. False: name it as
// where functions are called.
static bool name_inlined(const fy_node *n, fy_error *err) {
  if (!err || !n->graph->flat_errors) return false;
  const bool calls =
      n->function || (n->op && n->op->impl && (n->op->impl->flags & FY_OP_CALLS_FUNCTIONS));
  if (calls && strstr(fy_error_text(err), "\n\t [[{{")) return true;
  if (n->error_tail || !n->graph->body_of) return false;
  if (strncmp(fy_error_text(err), "Missing ", 8) != 0)
    fy_error_append(err, "\n\t [[{{function_node %s}}{{node %s}}]]", n->graph->body_of,
                    user_name(n));
  return true;
}

static fy_code name_node(fy_code code, const fy_instr *ins, fy_error *err) {
  if (ins->kind == FY_INSTR_KERNEL && name_inlined(ins->node, err)) {
    // done
  } else if (ins->kind == FY_INSTR_KERNEL && ins->node->error_tail) {
    if (!err || count_callers(fy_error_text(err)) <= MAX_CALLERS) {
      fy_error_prepend(err, "%s", ins->node->error_head);
      fy_error_append(err, "%s", ins->node->error_tail);
    }
  } else if (ins->kind == FY_INSTR_KERNEL && !name_caller(ins->node, err)) {
    // TensorFlow names the node of a missing output only once.
    if (err && strncmp(fy_error_text(err), "Missing ", 8) != 0)
      fy_error_append(err, "\n\t [[{{node %s}}]]", user_name(ins->node));
  }
  const fy_op *op = ins->kind == FY_INSTR_KERNEL && ins->site ? ins->site->op : NULL;
  if (code == FY_UNAVAILABLE && err && op && op->user_kernels && !op->impl) {
    fy_error_append(
        err,
        "\nExecuting non-communication op <%s> originally returned UnavailableError, and "
        "was replaced by InternalError to avoid invoking TF network error handling logic.",
        ins->node->name);
    err->code = code = FY_INTERNAL;
  }
  return code;
}

static const fy_event *ready_at(const fy_run_state *s, uint32_t value) {
  return &s->events[s->program->values[value].origin];
}

static fy_code wait_inputs(fy_exec *e, const fy_instr *ins, fy_error *err) {
  fy_run_state *s = e->state;
  for (uint32_t i = 0; i < ins->num_in; i++) {
    const fy_event *ev = ready_at(s, s->program->args[ins->in + i]);
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
  const fy_event *after = ready_at(s, vi);
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
    fy_error_append(err, "\n\t [[{{node %s}}]]", user_name(p->values[vi].node));
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
  for (uint32_t i = 0; e->state->events && i < ins->num_in; i++) {
    const fy_event *ev = ready_at(e->state, e->state->program->args[ins->in + i]);
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
    const fy_event *ev = ready_at(e->state, e->state->program->args[ins->in + i]);
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

static void drop_owned(fy_run_state *s, uint32_t v) {
  if (!s->owned[v]) return;
  s->owned[v] = false;
  fy_tensor_release(s->slots[v]);
  // A planned value whose kernel brought its own tensor goes back to its place in the arena.
  s->slots[v] =
      atomic_load_explicit(&s->planned[v].refs, memory_order_relaxed) ? &s->planned[v] : NULL;
}

fy_code fy_exec_instr(fy_exec *e, const fy_instr *ins, fy_error *err) {
  fy_run_state *s = e->state;
  const uint32_t *args = s->program->args;
  fy_event done = {0};
  fy_code code;
  int64_t start = e->run->trace ? fy_now_ns() : 0;
  e->instr = ins;
  if (ins->kind == FY_INSTR_COPY) {
    code = run_copy(e, ins, &done, err);
    if (!code) s->events[args[ins->out]] = done;
  } else {
    for (uint32_t i = 0; i < ins->num_in; i++) e->in[i] = s->slots[args[ins->in + i]];
    for (uint32_t i = 0; i < ins->num_out; i++) {
      e->out[i] = s->slots[args[ins->out + i]];
      e->out_owned[i] = false;
    }
    e->ctx.site = ins->site;
    e->ctx.scratch_left = ins->scratch_bytes;
    e->ctx.scratch_asked = 0;
    if (ins->scratch_bytes)
      e->ctx.scratch = (char *)s->arenas[ins->device->is_host ? 0 : ins->device->ordinal + 1] +
                       ins->scratch_offset;
    code = FY_UNLIKELY(ins->check_refs) ? fy_exec_check_refs(ins->node, e->in, err) : FY_OK;
    if (!code) code = launch(e, ins, &done, err);
    if (!code && FY_UNLIKELY(s->program->may_move)) code = move_results(e, ins, err);
    if (FY_UNLIKELY(e->ctx.scratch_asked > ins->scratch_bytes)) fy_exec_end_scratch(e);
    bool replaced = false;
    for (uint32_t i = 0; i < ins->num_out; i++) {
      if (!e->out_owned[i]) continue;
      uint32_t v = args[ins->out + i];
      if (s->owned[v])
        fy_tensor_release(s->slots[v]);
      else if (s->slots[v])
        replaced = true;
      s->slots[v] = e->out[i];
      s->owned[v] = true;
    }
    if (FY_UNLIKELY(replaced)) atomic_store_explicit(&s->replaced, true, memory_order_relaxed);
    if (!code && (ins->check_shapes || replaced)) code = check_outputs(e, ins, err);
    for (uint32_t i = 0; !code && i < ins->num_out; i++)
      if (!s->slots[args[ins->out + i]])
        code =
            fy_fail(err, FY_INTERNAL, "Missing %u-th output from {{node %s}}", i, ins->node->name);
    if (s->events)
      for (uint32_t i = 0; i < ins->num_out; i++) s->events[args[ins->out + i]] = done;
  }
  if (FY_UNLIKELY(code != FY_OK)) return name_node(code, ins, err);
  if (e->run->trace) record(e, ins, start, &done);
  for (uint32_t i = 0; i < ins->num_free; i++) drop_owned(s, args[ins->free_at + i]);
  return FY_OK;
}

static fy_code stop_asked(fy_exec *e, fy_error *err) {
  if (e->run->cancel && fy_cancel_requested(e->run->cancel))
    return fy_fail(err, FY_CANCELLED, "Run call was cancelled");
  if (e->timed_out || (e->run->deadline_ns && fy_now_ns() > e->run->deadline_ns))
    return fy_fail(err, FY_DEADLINE_EXCEEDED, "Timed out waiting for notification");
  return FY_OK;
}

static fy_code run_range(fy_exec *e, uint32_t begin, uint32_t end, fy_error *err) {
  const fy_instr *instrs = e->state->program->instrs;
  bool watched = e->run->cancel || e->run->deadline_ns;
  for (uint32_t i = begin; i < end; i++) {
    if (FY_UNLIKELY(watched)) FY_TRY(stop_asked(e, err));
    FY_TRY(fy_exec_instr(e, &instrs[i], err));
  }
  return FY_OK;
}

// ------------------------------------------------------------------ several tasks
typedef struct task_job {
  fy_run_state *state;
  uint32_t task;
} task_job;

static void run_task(fy_run_state *s, fy_exec *e, uint32_t task);

// What threads waited for on simulated devices goes with the work they hand on.
static void share_time(fy_run_state *s) {
  if (!s->program->has_devices) return;
  fy_lock(&s->lock);
  s->waited = fy_vtime_later(s->waited, fy_vtime_get());
  fy_vtime_set(s->waited);
  fy_unlock(&s->lock);
}

static void task_done(fy_run_state *s) {
  fy_pool *pool = s->program->devices->client->pool;  // |s| may be somebody else's once finished
  if (atomic_fetch_sub_explicit(&s->tasks_left, 1, memory_order_acq_rel) != 1) return;
  fy_lock(&s->lock);
  s->finished = true;
  fy_cond_broadcast(&s->done);
  fy_unlock(&s->lock);
  if (pool) fy_pool_nudge(pool);
}

static bool is_finished(void *arg) {
  fy_run_state *s = arg;
  fy_lock(&s->lock);
  const bool finished = s->finished;
  fy_unlock(&s->lock);
  return finished;
}

static bool is_of(void *state, void *job) {
  return ((const task_job *)job)->state == state;
}

static void task_entry(void *arg) {
  task_job job = *(task_job *)arg;
  fy_free(arg);
  fy_exec *e = fy_exec_new(job.state);
  if (e) e->run = job.state->run;
  fy_vtime_set((fy_vtime){0});
  share_time(job.state);
  run_task(job.state, e, job.task);
  fy_exec_free(e);  // does not touch the state, which may be somebody else's by now
}

// Gives a ready task to the threads it belongs to; false: the caller must run it.
static bool hand_over(fy_run_state *s, uint32_t task) {
  const fy_program *p = s->program;
  fy_device *d = p->tasks[task].device ? p->tasks[task].device : p->devices->client;
  // A function called from the device's own thread: waiting for a queue behind it could be for ever.
  if (p->tasks[task].device && d->pool == fy_pool_of_this_thread()) return false;
  task_job *job = fy_malloc(sizeof *job);
  if (!job) return false;
  *job = (task_job){s, task};
  if (d->pool && fy_pool_submit(d->pool, task_entry, job)) return true;
  fy_free(job);
  return false;
}

static void fail_run(fy_run_state *s, fy_code code, fy_error *err) {
  fy_lock(&s->lock);
  if (!atomic_load(&s->failed)) {
    s->error.code = code;
    if (err) fy_error_move(&s->error, err);
    atomic_store(&s->failed, true);
  }
  fy_unlock(&s->lock);
  if (err) fy_error_clear(err);
}

// Runs |task| and then, as long as one of the tasks it made ready may run here, that one.
static void run_task(fy_run_state *s, fy_exec *e, uint32_t task) {
  const fy_program *p = s->program;
  for (;;) {
    const fy_task *t = &p->tasks[task];
    if (!e) {
      fail_run(s, FY_RESOURCE_EXHAUSTED, NULL);
    } else if (!atomic_load_explicit(&s->failed, memory_order_relaxed)) {
      fy_error err;
      fy_error_init(&err);
      fy_code code = run_range(e, t->begin, t->end, &err);
      if (code) fail_run(s, code, &err);
      share_time(s);
    }
    uint32_t keep = FY_NO_VALUE;
    for (uint32_t i = 0; i < t->num_next; i++) {
      uint32_t next = p->task_next[t->next_at + i];
      if (atomic_fetch_sub_explicit(&s->pending[next], 1, memory_order_acq_rel) != 1) continue;
      if (keep == FY_NO_VALUE && p->tasks[next].device == t->device)
        keep = next;
      else if (!hand_over(s, next))
        run_task(s, e, next);
    }
    if (keep == FY_NO_VALUE) break;
    task_done(s);
    task = keep;
  }
  task_done(s);
}

static fy_code run_tasks(fy_run_state *s, fy_error *err) {
  const fy_program *p = s->program;
  atomic_store(&s->tasks_left, p->num_tasks);
  atomic_store(&s->failed, false);
  s->finished = false;
  s->waited = fy_vtime_get();
  for (uint32_t t = 0; t < p->num_tasks; t++) atomic_store(&s->pending[t], p->tasks[t].num_deps);
  uint32_t mine = FY_NO_VALUE;
  for (uint32_t t = 0; t < p->num_tasks; t++) {
    if (p->tasks[t].num_deps) continue;
    if (mine == FY_NO_VALUE && !p->tasks[t].device)
      mine = t;
    else if (!hand_over(s, t))
      run_task(s, s->main, t);
  }
  if (mine != FY_NO_VALUE) run_task(s, s->main, mine);
  if (p->devices->client->pool) fy_pool_help(p->devices->client->pool, is_finished, is_of, s);
  fy_lock(&s->lock);
  while (!s->finished) fy_cond_wait(&s->done, &s->lock);
  fy_unlock(&s->lock);
  share_time(s);
  if (!atomic_load(&s->failed)) return FY_OK;
  fy_code code = s->error.code ? s->error.code : FY_INTERNAL;
  if (err) fy_error_move(err, &s->error);
  fy_error_clear(&s->error);
  return code;
}

// ------------------------------------------------------------------ a run
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

static fy_code fill_slots(fy_run_state *s, fy_tensor *const *feeds, fy_error *err) {
  fy_program *p = s->program;
  for (int i = 0; i < p->num_feeds; i++)
    if (p->feed_value[i] != FY_NO_VALUE) {
      s->slots[p->feed_value[i]] = feeds[i];
      s->owned[p->feed_value[i]] = false;
    }
  for (uint32_t k = 0; k < p->num_fresh; k++) {
    uint32_t v = p->fresh[k];
    const fy_value *val = &p->values[v], *root = &p->values[val->root];
    if (val->root == v) {
      fy_device *d = val->space ? p->devices->items[val->space - 1] : p->devices->client;
      FY_TRY(fy_memory_tensor(d, val->dtype, val->rank, val->dims, root->node->name, &s->slots[v],
                              err));
    } else if (!val->fetched) {
      s->planned[v].data = (char *)s->slots[val->root]->data + val->shift;
      continue;
    } else {
      FY_TRY(fy_tensor_alias(s->slots[val->root], val->dtype, val->rank, val->dims, &s->slots[v],
                             err));
    }
    s->owned[v] = true;
  }
  return FY_OK;
}

static fy_code take_results(fy_run_state *s, fy_tensor **results, fy_error *err) {
  const fy_program *p = s->program;
  for (int i = 0; i < p->num_fetches; i++) {
    uint32_t v = p->fetch_value[i];
    fy_tensor *t = s->slots[v];
    const fy_event *ev = s->events ? ready_at(s, v) : NULL;
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

static void clean(fy_run_state *s, bool all) {
  fy_program *p = s->program;
  if (all || fy_program_in_tasks(p) || atomic_load_explicit(&s->replaced, memory_order_relaxed)) {
    atomic_store_explicit(&s->replaced, false, memory_order_relaxed);
    for (uint32_t v = 0; v < p->num_values; v++) drop_owned(s, v);
  } else {
    for (uint32_t k = 0; k < p->num_fresh; k++) drop_owned(s, p->fresh[k]);
    for (int i = 0; i < p->num_fetches; i++) drop_owned(s, p->fetch_value[i]);
  }
  for (int i = 0; i < p->num_feeds; i++)
    if (p->feed_value[i] != FY_NO_VALUE) s->slots[p->feed_value[i]] = NULL;
}

// Everything that a run needs before its first instruction.
static fy_code get_ready(fy_program *p, fy_tensor *const *feeds, fy_run_state **out,
                         fy_error *err) {
  FY_TRY(place_constants(p, err));
  FY_TRY(fy_state_acquire(p, out, err));
  fy_code code = fill_slots(*out, feeds, err);
  if (!code) return FY_OK;
  clean(*out, true);
  fy_state_recycle(*out);
  *out = NULL;
  return code;
}

// The same with planned memory before the constants: pools lose least when what is large comes first.
static fy_code get_ready_tightly(fy_program *p, fy_tensor *const *feeds, fy_run_state **out,
                                 fy_error *err) {
  fy_peers_drop_constants(p);
  for (int i = 0; i < p->devices->n; i++) fy_mempool_trim(p->devices->items[i]->memory, 0);
  FY_TRY(fy_state_acquire(p, out, err));
  fy_code code = place_constants(p, err);
  for (uint32_t v = 0; !code && v < p->num_values; v++)
    if (p->values[v].storage == FY_STORE_CONST) (*out)->slots[v] = p->values[v].constant;
  if (!code) code = fill_slots(*out, feeds, err);
  if (!code) return FY_OK;
  clean(*out, true);
  fy_state_free(*out);  // not to be used again: it may not know its constants
  *out = NULL;
  return code;
}

// When what the plan says fits does not, what others left behind lies between: variables go to the host,
// planned memory and constants come first, and kernels bring the variables back one by one.
static fy_code get_ready_afresh(fy_program *p, fy_tensor *const *feeds, fy_run_state **out,
                                fy_error *err) {
  bool any = false;
  for (int i = 0; i < p->devices->n; i++)
    if (!p->devices->items[i]->is_host) any |= fy_memory_unload_variables(p->devices->items[i]);
  if (!any) return FY_RESOURCE_EXHAUSTED;
  if (err) fy_error_clear(err);
  return get_ready_tightly(p, feeds, out, err);
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

static fy_code begin(fy_program *p, const fy_run *run, fy_tensor *const *feeds, fy_run_state **out,
                     fy_error *err) {
  FY_TRY(check_feeds(p, feeds, err));
  if (p->has_devices) await_room(p, run);
  if (p->has_devices) atomic_fetch_add(&p->active, 1);  // before it looks for its constants
  fy_code code = get_ready(p, feeds, out, err);
  while (FY_UNLIKELY(code == FY_RESOURCE_EXHAUSTED) && run->ahead && settle_one(p, run)) {
    if (err) fy_error_clear(err);
    code = get_ready(p, feeds, out, err);
  }
  // What idle runs of other programs keep is for whoever needs it; and the largest piece comes first.
  if (FY_UNLIKELY(code == FY_RESOURCE_EXHAUSTED) && p->has_devices) {
    fy_peers_reclaim(p);
    if (err) fy_error_clear(err);
    code = get_ready_tightly(p, feeds, out, err);
    if (code == FY_RESOURCE_EXHAUSTED && fy_program_fits(p))
      code = get_ready_afresh(p, feeds, out, err);
  }
  if (code) {
    if (p->has_devices) atomic_fetch_sub(&p->active, 1);
    return code;
  }
  fy_run_state *s = *out;
  s->run = run;
  s->main->run = run;
  s->main->timed_out = false;
  s->main->ctx.threads = p->devices->client->pool ? fy_pool_threads(p->devices->client->pool) : 1;
  return FY_OK;
}

static void put_away(fy_run_state *s, bool all) {
  fy_program *p = s->program;
  clean(s, all);
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
static fy_code end(fy_run_state *s, fy_code code, fy_tensor **results, fy_error *err) {
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
  const fy_code code =
      fy_program_in_tasks(s->program) ? run_tasks(s, err) : run_range(s->main, first, end_of, err);
  fy_float_mode_restore(mode);
  return code;
}

fy_code fy_program_run(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                       fy_tensor **results, fy_error *err) {
  fy_run_state *s = NULL;
  for (int i = 0; i < p->num_fetches; i++) results[i] = NULL;
  FY_TRY(begin(p, run, feeds, &s, err));
  return end(s, run_up_to(s, 0, p->num_instrs, err), results, err);
}

// ------------------------------------------------------------------ a run in two halves
fy_code fy_program_start(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                         fy_started **out, fy_error *err) {
  *out = NULL;
  fy_started *st = fy_calloc(1, sizeof *st + (size_t)p->num_fetches * sizeof *st->results);
  if (!st) return fy_fail_oom(err, sizeof *st);
  st->run = *run;
  fy_code code = begin(p, &st->run, feeds, &st->state, err);
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
  st->code = end(s, code, st->results, &st->error);
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
