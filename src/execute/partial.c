// SPDX-License-Identifier: Apache-2.0
// partial.c: a run in pieces. The part of the graph that was declared is copied once. Each call
// runs the nodes that its fetches need and that have not run yet, with every value that an earlier
// call made for them as a feed, and keeps what later calls will read: so each node runs at most
// once.

#include <string.h>

#include "base/alloc.h"
#include "execute/request.h"
#include "execute/session_impl.h"

typedef struct kept {
  fy_output value;  // in the copy
  fy_tensor *tensor;
} kept;

struct fy_partial {
  fy_session *session;
  fy_request request;   // as declared, in the session's graph
  fy_graph *graph;      // the copy; node k < num_feeds is the argument of feed k
  fy_output *fetches;   // [num_fetches] in the copy
  fy_node **targets;    // [num_targets] in the copy
  bool *fed, *fetched;  // [num_feeds], [num_fetches]
  uint8_t *state;       // [nodes of the copy]
  kept *kept;
  size_t num_kept, cap_kept;
  fy_mutex lock;
};

enum { WAITING, NEEDED, DONE };

void fy_partial_free(fy_partial *p) {
  if (!p) return;
  for (size_t i = 0; i < p->num_kept; i++) fy_tensor_release(p->kept[i].tensor);
  fy_free(p->kept);
  fy_free(p->fed);
  fy_free(p->fetched);
  fy_free(p->state);
  fy_graph_free(p->graph);
  fy_request_free(&p->request);
  fy_mutex_destroy(&p->lock);
  fy_free(p);
}

static fy_code copy_part(fy_partial *p, fy_error *err) {
  const fy_request *r = &p->request;
  fy_node **map;
  fy_graph *from = p->session->graph;
  fy_lock(&from->lock);
  fy_code code = fy_graph_prune_copy(from, r->feeds, r->num_feeds, r->fetches, r->num_fetches,
                                     r->targets, r->num_targets, &p->graph, &map, err);
  fy_unlock(&from->lock);
  if (code) return code;
  fy_arena *a = &p->graph->arena;
  p->fetches = fy_arena_array(a, (size_t)r->num_fetches + 1, sizeof *p->fetches);
  p->targets = fy_arena_array(a, (size_t)r->num_targets + 1, sizeof *p->targets);
  p->fed = fy_calloc((size_t)r->num_feeds + 1, sizeof *p->fed);
  p->fetched = fy_calloc((size_t)r->num_fetches + 1, sizeof *p->fetched);
  p->state = fy_calloc(p->graph->num_nodes + 1, sizeof *p->state);
  if (!p->fetches || !p->targets || !p->fed || !p->fetched || !p->state)
    return fy_fail_oom(err, p->graph->num_nodes);
  for (int i = 0; i < r->num_fetches; i++)
    p->fetches[i] = (fy_output){map[r->fetches[i].node->id], r->fetches[i].index};
  for (int i = 0; i < r->num_targets; i++) p->targets[i] = map[r->targets[i]->id];
  return FY_OK;
}

// Numbers of outputs that are too large: TensorFlow says it otherwise here than for a plain run.
static fy_code check_numbers(const fy_run_args *a, fy_error *err) {
  for (int i = 0; i < a->num_feeds; i++) {
    const fy_node *n = a->feeds[i].node;
    if (n && a->feeds[i].index >= 0 && (uint32_t)a->feeds[i].index >= n->num_outputs)
      return fy_fail(err, FY_INVALID_ARGUMENT, "FeedInputs: %s:%d should have output index < %u",
                     n->name, a->feeds[i].index, n->num_outputs);
  }
  for (int i = 0; i < a->num_fetches; i++) {
    const fy_node *n = a->fetches[i].node;
    int32_t index = a->fetches[i].index;
    if (!n || index < 0 || (uint32_t)index < n->num_outputs) continue;
    if (n->num_outputs)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "FetchOutputs %s:%d: output index too large, must be < %u", n->name, index,
                     n->num_outputs);
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to fetch data for '%s:%d', which produces no output.  To run to a node "
                   "but not fetch any data, pass '%s:%d' as an argument to the "
                   "'target_node_names' argument of the Session::Run API.",
                   n->name, index, n->name, index);
  }
  return FY_OK;
}

fy_code fy_partial_new(fy_session *s, const fy_run_args *args, fy_partial **out, fy_error *err) {
  *out = NULL;
  FY_TRY(fy_session_ready(s, err));
  FY_TRY(check_numbers(args, err));
  fy_partial *p = fy_calloc(1, sizeof *p);
  if (!p) return fy_fail_oom(err, sizeof *p);
  p->session = s;
  fy_mutex_init(&p->lock);
  fy_lock(&s->graph->lock);
  fy_code code = fy_request_make(s->graph, atomic_load(&s->known), false, args, &p->request, err);
  fy_unlock(&s->graph->lock);
  if (!code) code = copy_part(p, err);
  if (code) {
    fy_partial_free(p);
    return code;
  }
  *out = p;
  return FY_OK;
}

static int index_of(const fy_output *list, int n, fy_output o) {
  for (int i = 0; i < n; i++)
    if (list[i].index == o.index && strcmp(list[i].node->name, o.node->name) == 0) return i;
  return -1;
}

// ------------------------------------------------------------------ what a call asks for
typedef struct call {
  int *feeds, *fetches;  // numbers in the request
  fy_node **stack;       // [nodes]
  fy_output *in, *out;   // of the program: kept values, wanted values
  fy_tensor **in_values, **out_values;
  fy_node **targets;
  int num_in, num_out, num_targets;
} call;

static fy_code check(fy_partial *p, const fy_run_args *a, call *c, fy_error *err) {
  const fy_request *r = &p->request;
  for (int i = 0; i < a->num_feeds; i++) {
    fy_output f = a->feeds[i];
    int k = c->feeds[i] = index_of(r->feeds, r->num_feeds, f);
    if (k < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The feed %s:%d was not specified in partial_run_setup.", f.node->name,
                     f.index);
    if (p->fed[k])
      return fy_fail(err, FY_INVALID_ARGUMENT, "The feed %s:%d has already been fed.", f.node->name,
                     f.index);
    if (!a->feed_values[i])
      return fy_fail(err, FY_INVALID_ARGUMENT, "The feed %s:%d has no value.", f.node->name,
                     f.index);
    if (a->feed_values[i]->dtype != r->feed_types[k])
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expects arg[%d] to be %s but %s is provided", k,
                     fy_dtype_name(r->feed_types[k]), fy_dtype_name(a->feed_values[i]->dtype));
  }
  for (int i = 0; i < a->num_fetches; i++) {
    fy_output f = a->fetches[i];
    int k = c->fetches[i] = index_of(r->fetches, r->num_fetches, f);
    if (k < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The fetch %s:%d was not specified in partial_run_setup.", f.node->name,
                     f.index);
    if (p->fetched[k])
      return fy_fail(err, FY_INVALID_ARGUMENT, "The fetch %s:%d has already been fetched.",
                     f.node->name, f.index);
  }
  return FY_OK;
}

static void want(fy_partial *p, call *c, size_t *top, fy_node *node) {
  if (p->state[node->id] != WAITING) return;
  p->state[node->id] = NEEDED;
  c->stack[(*top)++] = node;
}

// Marks what |root| still needs. False, with the marks undone, if that includes argument
// |*missing|.
static bool mark(fy_partial *p, call *c, fy_node *root, int *missing) {
  size_t top = 0, next = 0;
  *missing = -1;
  want(p, c, &top, root);
  for (; next < top && *missing < 0; next++) {
    fy_node *n = c->stack[next];
    if (n->id < (uint32_t)p->request.num_feeds) {  // arguments come first and are DONE once fed
      *missing = (int)n->id;
      break;
    }
    for (uint32_t i = 0; i < n->num_inputs; i++) want(p, c, &top, n->inputs[i].node);
    for (uint32_t i = 0; i < n->num_controls; i++) want(p, c, &top, n->controls[i]);
  }
  if (*missing < 0) return true;
  while (top) p->state[c->stack[--top]->id] = WAITING;
  return false;
}

static fy_code keep(fy_partial *p, fy_output value, fy_tensor *t, fy_error *err) {
  if (!fy_grow(&p->kept, &p->cap_kept, p->num_kept + 1, sizeof *p->kept))
    return fy_fail_oom(err, sizeof *p->kept);
  fy_tensor_retain(t);
  p->kept[p->num_kept++] = (kept){value, t};
  return FY_OK;
}

static fy_tensor *find_kept(const fy_partial *p, fy_output o) {
  for (size_t i = 0; i < p->num_kept; i++)
    if (p->kept[i].value.node == o.node && p->kept[i].value.index == o.index)
      return p->kept[i].tensor;
  return NULL;
}

static fy_code take_feeds(fy_partial *p, const fy_run_args *a, const call *c, fy_error *err) {
  size_t need = p->num_kept + (size_t)a->num_feeds;
  if (!fy_grow(&p->kept, &p->cap_kept, need, sizeof *p->kept))
    return fy_fail_oom(err, need * sizeof *p->kept);
  for (int i = 0; i < a->num_feeds; i++) {
    int k = c->feeds[i];
    FY_TRY(keep(p, (fy_output){p->graph->nodes[k], 0}, a->feed_values[i], err));
    p->fed[k] = true;
    p->state[k] = DONE;
  }
  return FY_OK;
}

// Forgets the feeds and marks of a call that asks too early.
static void take_back(fy_partial *p, const fy_run_args *a, const call *c) {
  for (int i = 0; i < a->num_feeds; i++) {
    fy_tensor_release(p->kept[--p->num_kept].tensor);
    p->fed[c->feeds[i]] = false;
    p->state[c->feeds[i]] = WAITING;
  }
  for (size_t id = 0; id < p->graph->num_nodes; id++)
    if (p->state[id] == NEEDED) p->state[id] = WAITING;
}

static fy_code mark_all(fy_partial *p, const fy_run_args *a, call *c, fy_error *err) {
  int missing;
  for (int i = 0; i < a->num_fetches; i++) {
    if (mark(p, c, p->fetches[c->fetches[i]].node, &missing)) continue;
    fy_output f = p->request.feeds[missing];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Fetch %s:%d can't be computed from the feeds that have been fed so far.",
                   f.node->name, f.index);
  }
  for (int i = 0; i < p->request.num_targets; i++)  // a target runs as soon as it can
    if (p->state[p->targets[i]->id] != DONE && mark(p, c, p->targets[i], &missing))
      c->targets[c->num_targets++] = p->targets[i];
  return FY_OK;
}

static bool read_later(const fy_partial *p, fy_output o) {
  const fy_node_out *out = &o.node->outputs[o.index];
  for (uint32_t i = 0; i < out->num_uses; i++)
    if (p->state[out->uses[i].node->id] == WAITING) return true;
  for (int i = 0; i < p->request.num_fetches; i++)
    if (!p->fetched[i] && p->fetches[i].node == o.node && p->fetches[i].index == o.index)
      return true;
  return false;
}

// The program's feeds and fetches. True if anything is to run.
static bool plan(fy_partial *p, call *c) {
  bool any = false;
  for (size_t i = 0; i < p->num_kept; i++) {
    c->in[c->num_in] = p->kept[i].value;
    c->in_values[c->num_in++] = p->kept[i].tensor;
  }
  for (size_t id = 0; id < p->graph->num_nodes; id++) {
    if (p->state[id] != NEEDED) continue;
    fy_node *n = p->graph->nodes[id];
    any = true;
    for (uint32_t o = 0; o < n->num_outputs; o++) {
      fy_output value = {n, (int32_t)o};
      if (read_later(p, value)) c->out[c->num_out++] = value;
    }
  }
  return any;
}

static fy_code run(fy_partial *p, const fy_run_args *a, call *c, fy_error *err) {
  fy_session *s = p->session;
  fy_callable *callable;
  fy_run step;
  FY_TRY(fy_callable_new(p->graph, c->in, c->num_in, c->out, c->num_out, c->targets, c->num_targets,
                         s->devices, NULL, &s->options, s->callables, false, &callable, err));
  fy_session_run_args(s, a, &step);
  fy_code code = fy_callable_run(callable, &step, c->in_values, c->out_values, err);
  fy_callable_free(callable);
  for (int i = 0; i < c->num_out; i++) {
    if (!code) code = keep(p, c->out[i], c->out_values[i], err);
    fy_tensor_release(c->out_values[i]);
  }
  return code;
}

// What has run is not waited for any more.
static void finish(fy_partial *p) {
  for (size_t id = 0; id < p->graph->num_nodes; id++) {
    fy_node *n = p->graph->nodes[id];
    if (p->state[id] != NEEDED) continue;
    p->state[id] = DONE;
    while (n->num_control_outs) fy_graph_remove_control(p->graph, n, n->control_outs[0]);
  }
}

static void give(fy_partial *p, const fy_run_args *a, const call *c, fy_tensor **results) {
  for (int i = 0; i < a->num_fetches; i++) {
    results[i] = find_kept(p, p->fetches[c->fetches[i]]);
    fy_tensor_retain(results[i]);
  }
  for (int i = 0; i < a->num_fetches; i++) p->fetched[c->fetches[i]] = true;
}

static bool all_done(const fy_partial *p) {
  for (int i = 0; i < p->request.num_feeds; i++)
    if (!p->fed[i]) return false;
  for (int i = 0; i < p->request.num_fetches; i++)
    if (!p->fetched[i]) return false;
  return true;
}

fy_code fy_partial_run(fy_partial *p, const fy_run_args *a, fy_tensor **results, bool *done,
                       fy_error *err) {
  for (int i = 0; i < a->num_fetches; i++) results[i] = NULL;
  *done = false;
  FY_TRY(fy_session_ready(p->session, err));
  fy_arena arena;
  fy_arena_init(&arena);
  fy_lock(&p->lock);
  size_t nodes = p->graph->num_nodes + 1, outputs = 1;
  for (size_t i = 0; i < p->graph->num_nodes; i++) outputs += p->graph->nodes[i]->num_outputs;
  call c = {
      .feeds = fy_arena_array(&arena, (size_t)a->num_feeds + 1, sizeof *c.feeds),
      .fetches = fy_arena_array(&arena, (size_t)a->num_fetches + 1, sizeof *c.fetches),
      .stack = fy_arena_array(&arena, nodes, sizeof *c.stack),
      .in = fy_arena_array(&arena, outputs, sizeof *c.in),
      .in_values = fy_arena_array(&arena, outputs, sizeof *c.in_values),
      .out = fy_arena_array(&arena, outputs, sizeof *c.out),
      .out_values = fy_arena_array(&arena, outputs, sizeof *c.out_values),
      .targets = fy_arena_array(&arena, (size_t)p->request.num_targets + 1, sizeof *c.targets)};
  fy_code code = FY_OK;
  if (!c.feeds || !c.fetches || !c.stack || !c.in || !c.in_values || !c.out || !c.out_values ||
      !c.targets)
    code = fy_fail_oom(err, outputs * sizeof *c.in);
  if (!code) code = check(p, a, &c, err);
  if (!code) code = take_feeds(p, a, &c, err);
  if (!code) {
    code = mark_all(p, a, &c, err);
    if (code) take_back(p, a, &c);
  }
  if (!code) {
    if (plan(p, &c)) code = run(p, a, &c, err);
    *done = code != FY_OK;  // values may be lost: nothing can follow
  }
  if (!code) {
    finish(p);
    give(p, a, &c, results);
    *done = all_done(p);
  }
  fy_unlock(&p->lock);
  fy_arena_free(&arena);
  return code;
}
