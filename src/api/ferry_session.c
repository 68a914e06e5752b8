// SPDX-License-Identifier: Apache-2.0
// ferry_session.c: sessions of ferry.h: names in, tensors out.

#include <string.h>

#include "api/api.h"
#include "api/explain.h"
#include "api/ferry_api.h"
#include "api/session.h"
#include "base/alloc.h"
#include "execute/callable.h"
#include "observe/oom.h"

int ferry_session_new(ferry_runtime *rt, ferry_graph *g, ferry_session **out, ferry_error *err) {
  fy_error e;
  fy_graph *graph = fy_ferry_graph(g);
  fy_error_init(&e);
  *out = NULL;
  ferry_session *s = fy_calloc(1, sizeof *s);
  fy_code code = s ? FY_OK : fy_fail_oom(&e, sizeof *s);
  if (!code) {
    s->options = rt->options;
    code = fy_session_new(graph, rt->devices, &s->options, NULL, &s->session, &e);
    if (!code) code = fy_api_watch(s->session, &e);
  }
  if (code) {
    if (s) fy_session_free(s->session);
    fy_free(s);
    return fy_ferry_end(code, &e, err);
  }
  s->graph = fy_api_graph_ref(graph);
  s->devices = fy_devices_ref(rt->devices);
  *out = s;
  return fy_ferry_end(FY_OK, &e, err);
}

int ferry_session_of(struct TF_Session *tf, ferry_session **out, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  *out = NULL;
  ferry_session *s = tf ? fy_calloc(1, sizeof *s) : NULL;
  if (!s)
    return fy_ferry_end(tf ? fy_fail_oom(&e, sizeof *s)
                           : fy_fail(&e, FY_INVALID_ARGUMENT, "no TF_Session was given"),
                        &e, err);
  *s = (ferry_session){.session = tf->session,
                       .graph = fy_api_graph_ref(tf->graph),
                       .devices = fy_devices_ref(tf->devices),
                       .options = *fy_session_options(tf->session),
                       .is_view = true};
  *out = s;
  return fy_ferry_end(FY_OK, &e, err);
}

void ferry_session_free(ferry_session *s) {
  if (!s) return;
  if (!s->is_view) fy_session_free(s->session);
  fy_api_graph_unref(s->graph);
  fy_devices_unref(s->devices);
  fy_free(s);
}

// What one run needs, in one allocation.
typedef struct call {
  fy_output *feeds, *fetches;
  fy_tensor **values, **results;
  fy_node **targets;
  int *result_of;  // [num_fetches] index into results; -1 = a target
  int num_fetches, num_targets;
} call;

static fy_code make_call(call *c, fy_arena *a, int num_feeds, int num_fetches, fy_error *err) {
  size_t nf = (size_t)num_feeds + 1, nr = (size_t)num_fetches + 1;
  c->feeds = fy_arena_array(a, nf, sizeof *c->feeds);
  c->values = fy_arena_array(a, nf, sizeof *c->values);
  c->fetches = fy_arena_array(a, nr, sizeof *c->fetches);
  c->results = fy_arena_array(a, nr, sizeof *c->results);
  c->targets = fy_arena_array(a, nr, sizeof *c->targets);
  c->result_of = fy_arena_array(a, nr, sizeof *c->result_of);
  if (c->feeds && c->values && c->fetches && c->results && c->targets && c->result_of) return FY_OK;
  return fy_fail_oom(err, (nf + nr) * sizeof *c->feeds);
}

static fy_code check_feed(const fy_output *o, const fy_tensor *t, fy_error *err) {
  const fy_node_out *want = &o->node->outputs[o->index];
  char a[128], b[128];
  if (!t) return fy_fail(err, FY_INVALID_ARGUMENT, "the value fed to '%s' is NULL", o->node->name);
  if (t->dtype != fy_dtype_base(want->dtype))
    return fy_fail(err, FY_INVALID_ARGUMENT, "'%s' is %s but %s was fed", o->node->name,
                   fy_dtype_name(fy_dtype_base(want->dtype)), fy_dtype_name(t->dtype));
  bool fits = want->shape.rank < 0 || want->shape.rank == t->rank;
  for (int32_t i = 0; fits && i < want->shape.rank; i++)
    fits = want->shape.dims[i] < 0 || want->shape.dims[i] == t->dims[i];
  if (fits) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "'%s' has shape %s but %s was fed", o->node->name,
                 fy_shape_text(want->shape.rank, want->shape.dims, a),
                 fy_shape_text(t->rank, t->dims, b));
}

static fy_code resolve(fy_graph *g, call *c, int num_feeds, const char *const *feed_names,
                       ferry_tensor *const *feeds, int num_fetches, const char *const *fetch_names,
                       fy_error *err) {
  for (int i = 0; i < num_feeds; i++) {
    FY_TRY(fy_ferry_find(g, fy_ferry_trim(fy_view_of(feed_names[i])), &c->feeds[i], err));
    c->values[i] = fy_ferry_tensor(feeds[i]);
    FY_TRY(check_feed(&c->feeds[i], c->values[i], err));
    for (int k = 0; k < i; k++)
      if (c->feeds[k].node == c->feeds[i].node && c->feeds[k].index == c->feeds[i].index)
        return fy_fail(err, FY_INVALID_ARGUMENT, "'%s' is fed twice", feed_names[i]);
  }
  for (int i = 0; i < num_fetches; i++) {
    fy_view name = fy_ferry_trim(fy_view_of(fetch_names[i]));
    fy_node *node = NULL;
    bool target = name.n && name.p[0] == '^';
    if (target) name = (fy_view){name.p + 1, name.n - 1};
    if (target || !memchr(name.p, ':', name.n)) {
      FY_TRY(fy_ferry_find_node(g, name, &node, err));
      target |= node->num_outputs == 0;
    }
    c->result_of[i] = target ? -1 : c->num_fetches;
    if (target)
      c->targets[c->num_targets++] = node;
    else
      FY_TRY(fy_ferry_find(g, name, &c->fetches[c->num_fetches++], err));
  }
  return FY_OK;
}

static fy_run_args args_of(const call *c, int num_feeds, int64_t timeout_ms) {
  return (fy_run_args){.feeds = c->feeds,
                       .feed_values = c->values,
                       .num_feeds = num_feeds,
                       .fetches = c->fetches,
                       .num_fetches = c->num_fetches,
                       .targets = c->targets,
                       .num_targets = c->num_targets,
                       .timeout_ms = timeout_ms};
}

static void hand_out(const call *c, int num_fetches, ferry_tensor **results) {
  for (int i = 0; i < num_fetches; i++)
    results[i] = c->result_of[i] < 0 ? NULL : (ferry_tensor *)c->results[c->result_of[i]];
}

static fy_code prepare(ferry_session *s, call *c, fy_arena *arena, int num_feeds,
                       const char *const *feed_names, ferry_tensor *const *feeds, int num_fetches,
                       const char *const *fetch_names, fy_error *err) {
  if (num_feeds < 0 || num_fetches < 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "a negative number of feeds or fetches");
  FY_TRY(make_call(c, arena, num_feeds, num_fetches, err));
  fy_lock(&s->graph->lock);
  fy_code code = resolve(s->graph, c, num_feeds, feed_names, feeds, num_fetches, fetch_names, err);
  fy_unlock(&s->graph->lock);
  return code;
}

int ferry_run(ferry_session *s, int num_feeds, const char *const *feed_names,
              ferry_tensor *const *feeds, int num_fetches, const char *const *fetch_names,
              ferry_tensor **results, int64_t timeout_ms, ferry_error *err) {
  fy_error e;
  fy_arena arena;
  call c = {0};
  fy_error_init(&e);
  fy_arena_init(&arena);
  for (int i = 0; i < num_fetches; i++) results[i] = NULL;
  fy_code code = prepare(s, &c, &arena, num_feeds, feed_names, feeds, num_fetches, fetch_names, &e);
  if (!code) {
    const fy_run_args args = args_of(&c, num_feeds, timeout_ms);
    code = fy_session_run(s->session, &args, c.results, &e);
    if (code == FY_RESOURCE_EXHAUSTED) fy_oom_explain(s->session, &args, &e);
  }
  if (!code) hand_out(&c, num_fetches, results);
  fy_arena_free(&arena);
  return fy_ferry_end(code, &e, err);
}

// ------------------------------------------------------------------ in two halves
struct ferry_ticket {
  ferry_session *session;
  fy_arena arena;
  call call;
  int num_feeds, num_held, num_fetches;  // |num_held| feeds carry a reference of ours
  int64_t timeout_ms;
  fy_started *started;
};

static void drop_ticket(ferry_ticket *t) {
  for (int i = 0; i < t->num_held; i++) fy_tensor_release(t->call.values[i]);
  fy_arena_free(&t->arena);
  fy_free(t);
}

int ferry_run_start(ferry_session *s, int num_feeds, const char *const *feed_names,
                    ferry_tensor *const *feeds, int num_fetches, const char *const *fetch_names,
                    int64_t timeout_ms, ferry_ticket **out, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  *out = NULL;
  ferry_ticket *t = fy_calloc(1, sizeof *t);
  if (!t) return fy_ferry_end(fy_fail_oom(&e, sizeof *t), &e, err);
  fy_arena_init(&t->arena);
  t->session = s;
  t->num_feeds = num_feeds;
  t->num_fetches = num_fetches;
  t->timeout_ms = timeout_ms;
  fy_code code =
      prepare(s, &t->call, &t->arena, num_feeds, feed_names, feeds, num_fetches, fetch_names, &e);
  for (; !code && t->num_held < num_feeds; t->num_held++)
    fy_tensor_retain(t->call.values[t->num_held]);
  if (!code) {
    const fy_run_args args = args_of(&t->call, num_feeds, timeout_ms);
    code = fy_session_start(s->session, &args, &t->started, &e);
    if (code == FY_RESOURCE_EXHAUSTED) fy_oom_explain(s->session, &args, &e);
  }
  if (code)
    drop_ticket(t);
  else
    *out = t;
  return fy_ferry_end(code, &e, err);
}

int ferry_run_wait(ferry_ticket *t, ferry_tensor **results, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  if (!t) return fy_ferry_end(fy_fail(&e, FY_INVALID_ARGUMENT, "there is no ticket"), &e, err);
  for (int i = 0; i < t->num_fetches; i++) results[i] = NULL;
  fy_code code = fy_session_finish(t->session->session, t->started, t->call.results, &e);
  if (code == FY_RESOURCE_EXHAUSTED) {
    const fy_run_args args = args_of(&t->call, t->num_feeds, t->timeout_ms);
    fy_oom_explain(t->session->session, &args, &e);
  }
  if (!code) hand_out(&t->call, t->num_fetches, results);
  drop_ticket(t);
  return fy_ferry_end(code, &e, err);
}

void ferry_session_stats(const ferry_session *s, ferry_stats *out) {
  fy_counts c;
  fy_session_counts(s->session, &c);
  *out = (ferry_stats){.runs = c.runs,
                       .programs_compiled = c.programs,
                       .transfers_to_device = c.transfers[FY_COPY_HOST_TO_DEVICE],
                       .transfers_to_host = c.transfers[FY_COPY_DEVICE_TO_HOST],
                       .transfers_between_devices = c.transfers[FY_COPY_DEVICE_TO_DEVICE],
                       .bytes_to_device = c.bytes[FY_COPY_HOST_TO_DEVICE],
                       .bytes_to_host = c.bytes[FY_COPY_DEVICE_TO_HOST],
                       .bytes_between_devices = c.bytes[FY_COPY_DEVICE_TO_DEVICE],
                       .constants_placed = c.constants,
                       .constant_bytes = c.constant_bytes};
}

int ferry_session_memory(const ferry_session *s, const char *device, uint64_t *now, uint64_t *peak,
                         ferry_error *err) {
  fy_error e;
  int64_t held = 0, most = 0;
  fy_error_init(&e);
  const fy_device *d = fy_devices_find(s->devices, device);
  fy_code code =
      d ? FY_OK : fy_fail(&e, FY_NOT_FOUND, "there is no device '%s'", device ? device : "");
  if (d) fy_session_memory(s->session, d->is_host ? 0 : d->ordinal + 1, &held, &most);
  *now = (uint64_t)held;
  *peak = (uint64_t)most;
  return fy_ferry_end(code, &e, err);
}
