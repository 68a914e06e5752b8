// SPDX-License-Identifier: Apache-2.0
// frames.c: runs a region with TensorFlow 1's control flow (frames.h), on the caller's thread.
//
// A frame is an execution of a loop; it has up to |parallel| iterations under way. In an iteration every
// item has a count of inputs it waits for and a count of dead ones. An item whose inputs are all there
// runs, or, if one was dead, hands on that it is dead; a Merge runs at the first live input. Frame 0 is
// the region itself and has one iteration.

#include "execute/frames.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/cancel.h"
#include "memory/pool.h"

typedef struct count {
  uint32_t pending;  // of a Merge: 2 per control input, and 1 until a live input came
  uint32_t dead;
} count;

typedef struct iteration {
  count *counts;       // [frame's items]
  fy_tensor **inputs;  // [frame's inputs] one reference each, NULL = nothing or dead
  int64_t outstanding_ops, outstanding_frames;
  struct frame *children;
} iteration;

typedef struct kept {  // a value that waits for, or belongs to, further iterations
  uint32_t item;
  fy_tensor *value;  // NULL = dead
} kept;

typedef struct frame {
  uint32_t number;
  struct frame *parent, *sibling;
  int64_t parent_iter;
  iteration **iters;  // ring of |parallel|
  int64_t slots;      // size of the ring
  int64_t newest, under_way;
  int64_t pending_inputs;
  kept *deferred, *invariants;
  size_t num_deferred, cap_deferred, num_invariants, cap_invariants;
  uint32_t *dead_exits;
  size_t num_dead_exits, cap_dead_exits;
} frame;

typedef struct ready {
  uint32_t item;
  bool dead;
  frame *f;
  int64_t iter;
} ready;

typedef struct runner {
  const fy_frames *p;
  const fy_run *run;
  frame *root;
  ready *queue;  // ring
  size_t head, len, cap;
  fy_tensor **out, **results;
  iteration *spare;  // one, to be used again
  uint32_t spare_frame;
  fy_error *err;
} runner;

// ------------------------------------------------------------------ memory
static fy_code oom(runner *r) {
  return fy_fail_oom(r->err, sizeof(frame));
}

static iteration *iter_at(const frame *f, int64_t i) {
  return f->iters[i % f->slots];
}

static void reset(const fy_frames *p, const fy_frame_plan *plan, iteration *it) {
  for (uint32_t i = 0; i < plan->num_items; i++) {
    const fy_item *item = &p->items[plan->items[i]];
    it->counts[i].dead = 0;
    it->counts[i].pending = item->kind == FY_FLOW_MERGE ? 1 + 2 * item->num_controls
                                                        : item->num_in + item->num_controls;
  }
}

static iteration *new_iteration(runner *r, uint32_t number) {
  const fy_frame_plan *plan = &r->p->frames[number];
  iteration *it = r->spare_frame == number ? r->spare : NULL;
  if (it) {
    r->spare = NULL;
    r->spare_frame = UINT32_MAX;
  } else {
    size_t counts = sizeof *it + (plan->num_items + 1) * sizeof *it->counts;
    it = fy_calloc(1, counts + (plan->num_inputs + 1) * sizeof *it->inputs);
    if (!it) return NULL;
    it->counts = (count *)(void *)(it + 1);
    it->inputs = (fy_tensor **)(void *)((char *)it + counts);
  }
  reset(r->p, plan, it);
  return it;
}

static void free_frame(const fy_frames *p, frame *f);

static void free_iteration(const fy_frames *p, uint32_t number, iteration *it) {
  for (uint32_t i = 0; i < p->frames[number].num_inputs; i++) fy_tensor_release(it->inputs[i]);
  while (it->children) {
    frame *c = it->children;
    it->children = c->sibling;
    free_frame(p, c);
  }
  fy_free(it);
}

static void free_kept(kept *k, size_t n) {
  for (size_t i = 0; i < n; i++) fy_tensor_release(k[i].value);
  fy_free(k);
}

static void free_frame(const fy_frames *p, frame *f) {
  for (int64_t i = 0; i < f->slots; i++)
    if (f->iters[i]) free_iteration(p, f->number, f->iters[i]);
  free_kept(f->deferred, f->num_deferred);
  free_kept(f->invariants, f->num_invariants);
  fy_free(f->dead_exits);
  fy_free(f->iters);
  fy_free(f);
}

static frame *new_frame(runner *r, uint32_t number, frame *parent, int64_t parent_iter) {
  const fy_frame_plan *plan = &r->p->frames[number];
  frame *f = fy_calloc(1, sizeof *f);
  if (!f) return NULL;
  f->number = number;
  f->parent = parent;
  f->parent_iter = parent_iter;
  f->slots = plan->parallel + 1;
  f->iters = fy_calloc((size_t)f->slots, sizeof *f->iters);
  f->pending_inputs = plan->num_enters;
  f->under_way = 1;
  if (f->iters) f->iters[0] = new_iteration(r, number);
  if (!f->iters || !f->iters[0]) {
    fy_free(f->iters);
    fy_free(f);
    return NULL;
  }
  return f;
}

static fy_code keep(runner *r, kept **list, size_t *n, size_t *cap, uint32_t item,
                    fy_tensor *value) {
  if (!fy_grow(list, cap, *n + 1, sizeof **list)) return oom(r);
  fy_tensor_retain(value);
  (*list)[(*n)++] = (kept){item, value};
  return FY_OK;
}

// ------------------------------------------------------------------ readiness
static fy_code push(runner *r, uint32_t item, frame *f, int64_t iter, bool dead) {
  if (r->len == r->cap) {
    size_t cap = r->cap ? r->cap * 2 : 64;
    ready *q = fy_malloc(cap * sizeof *q);
    if (!q) return oom(r);
    for (size_t i = 0; i < r->len; i++) q[i] = r->queue[(r->head + i) & (r->cap - 1)];
    fy_free(r->queue);
    r->queue = q;
    r->head = 0;
    r->cap = cap;
  }
  if (r->p->items[item].kind == FY_FLOW_TRIGGER) dead = false;
  r->queue[(r->head + r->len++) & (r->cap - 1)] = (ready){item, dead, f, iter};
  iter_at(f, iter)->outstanding_ops++;
  return FY_OK;
}

static fy_code deliver_control(runner *r, uint32_t to, frame *f, int64_t iter, bool dead) {
  const fy_item *item = &r->p->items[to];
  count *c = &iter_at(f, iter)->counts[item->local];
  if (item->kind == FY_FLOW_MERGE) {
    c->pending -= 2;
    bool all_dead = c->dead == item->num_in;
    if (c->pending == 0 || (c->pending == 1 && all_dead)) return push(r, to, f, iter, all_dead);
    return FY_OK;
  }
  c->dead += dead;
  if (--c->pending == 0) return push(r, to, f, iter, c->dead > 0);
  return FY_OK;
}

// |value| NULL: dead. |from_enter|: a dead Enter makes the Merge behind it dead at once, since nothing
// can come round in a loop that is not entered.
static fy_code deliver(runner *r, fy_edge e, frame *f, int64_t iter, fy_tensor *value, bool dead,
                       bool from_enter) {
  if (e.to == FY_ITEM_RESULT) {
    if (!value) return FY_OK;
    if (r->results[e.slot])  // fetched inside a loop
      return fy_fail(r->err, FY_INTERNAL, "Retval[%d] has already been set.",
                     r->p->fetch_of[e.slot]);
    fy_tensor_retain(value);
    r->results[e.slot] = value;
    return FY_OK;
  }
  const fy_item *item = &r->p->items[e.to];
  iteration *it = iter_at(f, iter);
  count *c = &it->counts[item->local];
  fy_tensor **slot = &it->inputs[item->in + e.slot];
  if (item->kind == FY_FLOW_MERGE) {
    if (!value) {
      c->dead++;
      bool all_dead = c->dead == item->num_in || from_enter;
      return c->pending == 1 && all_dead ? push(r, e.to, f, iter, true) : FY_OK;
    }
    bool first = c->pending & 1;
    if (!first) return FY_OK;
    fy_tensor_retain(value);
    *slot = value;
    c->pending &= ~1u;
    return c->pending == 0 ? push(r, e.to, f, iter, false) : FY_OK;
  }
  fy_tensor_retain(value);
  *slot = value;
  c->dead += dead || !value;
  if (--c->pending == 0) return push(r, e.to, f, iter, c->dead > 0);
  return FY_OK;
}

static fy_code activate(runner *r, const fy_item *item, frame *f, int64_t iter,
                        fy_tensor *const *out, bool dead) {
  for (uint32_t o = 0; o < item->num_out; o++)
    for (uint32_t k = item->edge_at[o]; k < item->edge_at[o + 1]; k++)
      FY_TRY(deliver(r, r->p->edges[k], f, iter, out[o], dead, item->kind == FY_FLOW_ENTER));
  for (uint32_t k = 0; k < item->num_control_outs; k++)
    FY_TRY(deliver_control(r, r->p->control_edges[item->controls_at + k], f, iter, dead));
  return FY_OK;
}

// ------------------------------------------------------------------ iterations and frames
static fy_code next_iteration(runner *r, frame *f) {
  iteration *it = new_iteration(r, f->number);
  if (!it) return oom(r);
  f->newest++;
  f->iters[f->newest % f->slots] = it;
  f->under_way++;
  f->num_dead_exits = 0;
  // What waited for this iteration, then what is the same in all of them.
  size_t n = f->num_deferred;
  kept *list = f->deferred;
  f->deferred = NULL;
  f->num_deferred = f->cap_deferred = 0;
  fy_code code = FY_OK;
  for (size_t i = 0; !code && i < n; i++)
    code = activate(r, &r->p->items[list[i].item], f, f->newest, &list[i].value, !list[i].value);
  free_kept(list, n);
  for (size_t i = 0; !code && i < f->num_invariants; i++) {
    const kept *k = &f->invariants[i];
    code = activate(r, &r->p->items[k->item], f, f->newest, &k->value, !k->value);
  }
  return code;
}

static bool iteration_done(const frame *f, int64_t i) {
  const iteration *it = iter_at(f, i);
  if (it->outstanding_ops || it->outstanding_frames) return false;
  return i == 0 ? f->pending_inputs == 0 : iter_at(f, i - 1) == NULL;
}

static void retire(runner *r, frame *f, int64_t i) {
  iteration *it = iter_at(f, i);
  f->iters[i % f->slots] = NULL;
  f->under_way--;
  if (r->spare || it->children) {
    free_iteration(r->p, f->number, it);
    return;
  }
  for (uint32_t k = 0; k < r->p->frames[f->number].num_inputs; k++) {
    fy_tensor_release(it->inputs[k]);
    it->inputs[k] = NULL;
  }
  r->spare = it;
  r->spare_frame = f->number;
}

static fy_code close_frame(runner *r, frame *f);

static fy_code clean_up(runner *r, frame *f, int64_t i) {
  if (!f->parent) return FY_OK;  // the region itself ends when nothing is ready any more
  while (i <= f->newest && iter_at(f, i) && iteration_done(f, i)) {
    // The ring has a slot to spare: iteration i - 1 stays NULL while i is under way.
    retire(r, f, i++);
    if (f->num_deferred) FY_TRY(next_iteration(r, f));
  }
  return f->pending_inputs || f->under_way ? FY_OK : close_frame(r, f);
}

// Tells the outside of exits that no iteration left by, and lets the frame go.
static fy_code close_frame(runner *r, frame *f) {
  frame *parent = f->parent;
  int64_t iter = f->parent_iter;
  iteration *it = iter_at(parent, iter);
  fy_tensor *nothing = NULL;
  fy_code code = FY_OK;
  for (size_t i = 0; !code && i < f->num_dead_exits; i++)
    code = activate(r, &r->p->items[f->dead_exits[i]], parent, iter, &nothing, true);
  for (frame **link = &it->children; *link; link = &(*link)->sibling) {
    if (*link != f) continue;
    *link = f->sibling;
    break;
  }
  it->outstanding_frames--;
  free_frame(r->p, f);
  return code ? code : clean_up(r, parent, iter);
}

static fy_code child_frame(runner *r, frame *parent, int64_t iter, uint32_t number, frame **out) {
  iteration *it = iter_at(parent, iter);
  for (frame *f = it->children; f; f = f->sibling)
    if (f->number == number) {
      *out = f;
      return FY_OK;
    }
  frame *f = new_frame(r, number, parent, iter);
  if (!f) return oom(r);
  f->sibling = it->children;
  it->children = f;
  it->outstanding_frames++;
  *out = f;
  return FY_OK;
}

static fy_code enter(runner *r, const ready *t, const fy_item *item) {
  frame *f = NULL;
  FY_TRY(child_frame(r, t->f, t->iter, item->out_frame, &f));
  if (item->is_constant) {
    FY_TRY(keep(r, &f->invariants, &f->num_invariants, &f->cap_invariants, t->item, r->out[0]));
    int64_t first = f->newest < f->slots ? 0 : f->newest - f->slots + 1;
    for (int64_t i = first; i <= f->newest; i++)
      if (iter_at(f, i)) FY_TRY(activate(r, item, f, i, r->out, !r->out[0]));
  } else {
    FY_TRY(activate(r, item, f, 0, r->out, t->dead));
  }
  f->pending_inputs--;
  // Nothing may have become ready by this: then the frame is done already.
  return f->pending_inputs || f->newest || iter_at(f, 0)->outstanding_ops ? FY_OK
                                                                          : clean_up(r, f, 0);
}

static fy_code leave(runner *r, const ready *t, const fy_item *item) {
  frame *f = t->f;
  if (!t->dead) return activate(r, item, f->parent, f->parent_iter, r->out, false);
  if (t->iter != f->newest) return FY_OK;
  if (!fy_grow(&f->dead_exits, &f->cap_dead_exits, f->num_dead_exits + 1, sizeof *f->dead_exits))
    return oom(r);
  f->dead_exits[f->num_dead_exits++] = t->item;
  return FY_OK;
}

static fy_code come_round(runner *r, const ready *t, const fy_item *item) {
  frame *f = t->f;
  if (t->dead) return FY_OK;
  if (t->iter == f->newest) {
    if (f->under_way >= r->p->frames[f->number].parallel)
      return keep(r, &f->deferred, &f->num_deferred, &f->cap_deferred, t->item, r->out[0]);
    FY_TRY(next_iteration(r, f));
  }
  return activate(r, item, f, t->iter + 1, r->out, false);
}

static fy_code propagate(runner *r, const ready *t, const fy_item *item) {
  switch (item->kind) {
    case FY_FLOW_ENTER: FY_TRY(enter(r, t, item)); break;
    case FY_FLOW_EXIT: FY_TRY(leave(r, t, item)); break;
    case FY_FLOW_NEXT: FY_TRY(come_round(r, t, item)); break;
    default: FY_TRY(activate(r, item, t->f, t->iter, r->out, t->dead)); break;
  }
  iteration *it = iter_at(t->f, t->iter);
  if (--it->outstanding_ops == 0) return clean_up(r, t->f, t->iter);
  return FY_OK;
}

// ------------------------------------------------------------------ items
static fy_code branch_of(runner *r, const fy_item *item, fy_tensor *index, uint32_t *out) {
  fy_tensor *host = NULL;
  char text[128];
  if (index->rank != 0)
    return fy_fail(r->err, FY_INVALID_ARGUMENT,
                   "The second input must be a scalar, but it has shape %s\n\t [[{{node %s}}]]",
                   fy_shape_text(index->rank, index->dims, text), item->node->name);
  if (index->device) FY_TRY(fy_memory_copy_tensor(index, NULL, &host, r->err));
  const fy_tensor *t = host ? host : index;
  int64_t value = t->dtype == FY_BOOL ? *(const bool *)t->data : fy_tensor_int(t, 0);
  fy_tensor_release(host);
  // An index out of range chooses the last branch.
  *out = value < 0 || value >= item->num_out ? item->num_out - 1 : (uint32_t)value;
  return FY_OK;
}

static fy_code merge(runner *r, const fy_item *item, fy_tensor **in) {
  uint32_t i = 0;
  while (i < item->num_in && !in[i]) i++;
  if (i == item->num_in)
    return fy_fail(r->err, FY_INTERNAL, "{{node %s}} has no live input", item->node->name);
  r->out[0] = in[i];
  in[i] = NULL;
  if (item->num_out < 2 || item->edge_at[1] == item->edge_at[2]) return FY_OK;
  int32_t index = (int32_t)i;
  return fy_tensor_from(FY_INT32, 0, NULL, &index, &r->out[1], r->err);
}

static fy_code run_item(runner *r, const fy_item *item, fy_tensor **in) {
  uint32_t branch = 0;
  switch (item->kind) {
    case FY_FLOW_NONE: return fy_callable_run(item->call, r->run, in, r->out, r->err);
    case FY_FLOW_TRIGGER: return FY_OK;
    case FY_FLOW_MERGE: return merge(r, item, in);
    case FY_FLOW_SWITCH:
      FY_TRY(branch_of(r, item, in[1], &branch));
      r->out[branch] = in[0];
      in[0] = NULL;
      return FY_OK;
    default:  // hands on what it gets
      r->out[0] = in[0];
      in[0] = NULL;
      return FY_OK;
  }
}

static fy_code stop_asked(const runner *r) {
  if (r->run->cancel && fy_cancel_requested(r->run->cancel))
    return fy_fail(r->err, FY_CANCELLED, "Run call was cancelled");
  if (r->run->deadline_ns && fy_now_ns() > r->run->deadline_ns)
    return fy_fail(r->err, FY_DEADLINE_EXCEEDED, "Timed out waiting for notification");
  return FY_OK;
}

static fy_code step(runner *r, const ready *t) {
  const fy_item *item = &r->p->items[t->item];
  fy_tensor **in = iter_at(t->f, t->iter)->inputs + item->in;
  for (uint32_t i = 0; i < item->num_out; i++) r->out[i] = NULL;
  fy_code code = t->dead ? FY_OK : run_item(r, item, in);
  for (uint32_t i = 0; i < item->num_in; i++) {
    fy_tensor_release(in[i]);
    in[i] = NULL;
  }
  if (!code) code = propagate(r, t, item);
  for (uint32_t i = 0; i < item->num_out; i++) {
    fy_tensor_release(r->out[i]);
    r->out[i] = NULL;
  }
  return code;
}

static fy_code start(runner *r, fy_tensor *const *args) {
  const fy_frames *p = r->p;
  const fy_frame_plan *root = &p->frames[0];
  for (uint32_t i = 0; i < root->num_items; i++) {
    const fy_item *item = &p->items[root->items[i]];
    if (item->num_in + item->num_controls == 0) FY_TRY(push(r, root->items[i], r->root, 0, false));
  }
  for (uint32_t i = 0; i < p->num_args; i++)
    for (uint32_t k = p->arg_at[i]; k < p->arg_at[i + 1]; k++)
      FY_TRY(deliver(r, p->arg_edges[k], r->root, 0, args[i], false, false));
  return FY_OK;
}

// Each result must be there and outlive the memory of the program that called.
static fy_code check_results(runner *r) {
  for (uint32_t i = 0; i < r->p->num_results; i++) {
    fy_tensor *t = r->results[i];
    if (!t && r->p->fetch_of[i] >= 0)
      return fy_fail(r->err, FY_INVALID_ARGUMENT, "Retval[%d] does not have value",
                     r->p->fetch_of[i]);
    if (!t)
      return fy_fail(r->err, FY_INTERNAL, "{{node %s}} is dead, but what follows it is not",
                     r->p->result_of[i]->name);
    if (t->buffer) continue;
    fy_tensor *own;
    FY_TRY(fy_memory_copy_tensor(t, t->device, &own, r->err));
    fy_tensor_release(t);
    r->results[i] = own;
  }
  return FY_OK;
}

fy_code fy_frames_run(fy_frames *f, const fy_run *run, fy_tensor *const *args, fy_tensor **results,
                      fy_error *err) {
  static const fy_run no_run;
  runner r = {.p = f,
              .run = run ? run : &no_run,
              .results = results,
              .spare_frame = UINT32_MAX,
              .err = err};
  for (uint32_t i = 0; i < f->num_results; i++) results[i] = NULL;
  r.out = fy_calloc(f->max_io + 1, sizeof(fy_tensor *));
  r.root = r.out ? new_frame(&r, 0, NULL, 0) : NULL;
  fy_code code = r.root ? start(&r, args) : oom(&r);
  bool watched = r.run->cancel || r.run->deadline_ns;
  while (!code && r.len) {
    const ready t = r.queue[r.head];
    r.head = (r.head + 1) & (r.cap - 1);
    r.len--;
    if (watched) code = stop_asked(&r);
    if (!code) code = step(&r, &t);
  }
  if (!code) code = check_results(&r);
  if (r.root) free_frame(f, r.root);
  if (r.spare) free_iteration(f, r.spare_frame, r.spare);
  fy_free(r.queue);
  fy_free(r.out);
  for (uint32_t i = 0; code && i < f->num_results; i++) {
    fy_tensor_release(results[i]);
    results[i] = NULL;
  }
  return code;
}

int fy_frames_num_args(const fy_frames *f) {
  return (int)f->num_args;
}
int fy_frames_num_results(const fy_frames *f) {
  return (int)f->num_results;
}

void fy_frames_free(fy_frames *f) {
  if (!f) return;
  for (uint32_t i = 0; i < f->num_items; i++) fy_callable_free(f->items[i].call);
  fy_free(f->items);
  fy_graph_free(f->graph);
  fy_arena_free(&f->arena);
  fy_free(f);
}
