// SPDX-License-Identifier: Apache-2.0
// ferry_request.c: a request's text ("y, z:1", "x=[32,784]") against a graph: what is fed, fetched
// and known of the feeds' shapes.

#include <string.h>

#include "api/ferry_api.h"
#include "base/alloc.h"

typedef struct reader {
  fy_graph *g;
  const ferry_request *r;
  fy_ferry_query *q;
  fy_arena *a;
} reader;

static bool reads_nothing(const fy_node *n) {  // nobody reads it
  for (uint32_t i = 0; i < n->num_outputs; i++)
    if (n->outputs[i].num_uses) return false;
  return !n->num_control_outs;
}

static bool is_placeholder(const fy_node *n) {
  return strcmp(n->op_name, "Placeholder") == 0 || strcmp(n->op_name, "PlaceholderV2") == 0 ||
         strcmp(n->op_name, "_Arg") == 0;
}

// Every output of the graph; if there is none (a lone constant or placeholder), whatever nobody
// reads.
static void default_fetches(reader *rd) {
  for (int again = 0; again < 2 && !rd->q->num_fetches; again++)
    for (size_t i = 0; i < rd->g->num_nodes; i++) {
      fy_node *n = rd->g->nodes[i];
      if (!n || !n->num_outputs || !reads_nothing(n)) continue;
      if (!again && (is_placeholder(n) || n->const_value)) continue;
      rd->q->fetches[rd->q->num_fetches++] = (fy_output){n, 0};
    }
}

static fy_code read_fetches(reader *rd, fy_error *err) {
  fy_ferry_query *q = rd->q;
  const char *text = rd->r->fetch;
  if (!text || !*text) {
    default_fetches(rd);
    if (q->num_fetches) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT, "the graph has no node to fetch");
  }
  fy_view rest = fy_view_of(text);
  while (rest.n) {
    fy_view piece = fy_ferry_cut(&rest, ',');
    if (!piece.n) continue;
    bool control = piece.p[0] == '^';
    fy_node *node = NULL;
    if (control) piece = (fy_view){piece.p + 1, piece.n - 1};
    if (control || !memchr(piece.p, ':', piece.n)) {
      FY_TRY(fy_ferry_find_node(rd->g, piece, &node, err));
      if (control || node->num_outputs == 0) {
        q->targets[q->num_targets++] = node;
        continue;
      }
    }
    FY_TRY(fy_ferry_find(rd->g, piece, &q->fetches[q->num_fetches++], err));
  }
  if (q->num_fetches + q->num_targets) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "'%s' names no node to fetch", text);
}

static bool is_fed(const fy_ferry_query *q, fy_output o) {
  for (int i = 0; i < q->num_feeds; i++)
    if (q->feeds[i].node == o.node && q->feeds[i].index == o.index) return true;
  return false;
}

// The placeholders that the fetches depend on, stopping at what is fed already.
static fy_code default_feeds(reader *rd, fy_error *err) {
  fy_ferry_query *q = rd->q;
  size_t n = rd->g->num_nodes, top = 0;
  uint8_t *seen = fy_arena_array(rd->a, n + 1, 1);
  fy_node **stack = fy_arena_array(rd->a, n + 1, sizeof *stack);
  if (!seen || !stack) return fy_fail_oom(err, n * sizeof *stack);
#define VISIT(node_)           \
  do {                         \
    fy_node *v_ = (node_);     \
    if (v_ && !seen[v_->id]) { \
      seen[v_->id] = 1;        \
      stack[top++] = v_;       \
    }                          \
  } while (0)
  for (int i = 0; i < q->num_fetches; i++)
    if (!is_fed(q, q->fetches[i])) VISIT(q->fetches[i].node);
  for (int i = 0; i < q->num_targets; i++) VISIT(q->targets[i]);
  while (top) {
    fy_node *node = stack[--top];
    for (uint32_t i = 0; i < node->num_inputs; i++)
      if (!is_fed(q, node->inputs[i])) VISIT(node->inputs[i].node);
    for (uint32_t i = 0; i < node->num_controls; i++) VISIT(node->controls[i]);
  }
#undef VISIT
  for (size_t i = 0; i < n; i++)
    if (seen[i] && is_placeholder(rd->g->nodes[i]))
      q->feeds[q->num_feeds++] = (fy_output){rd->g->nodes[i], 0};
  return FY_OK;
}

static fy_code read_feeds(reader *rd, fy_error *err) {
  fy_view rest = fy_view_of(rd->r->feed ? rd->r->feed : "");
  while (rest.n) {
    fy_view piece = fy_ferry_cut(&rest, ',');
    if (!piece.n) continue;
    fy_output o;
    FY_TRY(fy_ferry_find(rd->g, piece, &o, err));
    if (!is_fed(rd->q, o)) rd->q->feeds[rd->q->num_feeds++] = o;
  }
  return default_feeds(rd, err);
}

static fy_code give_shape(reader *rd, fy_view name, fy_view text, fy_error *err) {
  fy_output o;
  fy_pshape given, *known;
  FY_TRY(fy_ferry_find(rd->g, name, &o, err));
  FY_TRY(fy_ferry_shape(text, rd->a, &given, err));
  for (int i = 0; i < rd->q->num_feeds; i++) {
    if (rd->q->feeds[i].node != o.node || rd->q->feeds[i].index != o.index) continue;
    known = &rd->q->shapes[i];
    bool fits = known->rank < 0 || given.rank < 0 || known->rank == given.rank;
    for (int32_t d = 0; fits && known->rank > 0 && d < given.rank; d++)
      fits = known->dims[d] < 0 || given.dims[d] < 0 || known->dims[d] == given.dims[d];
    if (!fits) {
      char a[128], b[128];
      return fy_fail(err, FY_INVALID_ARGUMENT, "'%s' has shape %s in the graph: %s does not fit it",
                     o.node->name, fy_shape_text(known->rank, known->dims, a),
                     fy_shape_text(given.rank, given.dims, b));
    }
    if (given.rank >= 0) *known = given;
    return FY_OK;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "a shape is given for '%s', which is not fed",
                 o.node->name);
}

// Beyond this, sizes inside the graph would overflow and count as not known.
#define LARGEST_FEED_BYTES 281474976710656.0  // 256 TiB

static fy_code check_size(const fy_ferry_query *q, int feed, fy_error *err) {
  const fy_pshape s = q->shapes[feed];
  const fy_output o = q->feeds[feed];
  double bytes = (double)fy_dtype_storage(fy_dtype_base(o.node->outputs[o.index].dtype));
  for (int32_t i = 0; i < s.rank; i++) bytes *= s.dims[i] > 0 ? (double)s.dims[i] : 1;
  if (bytes <= LARGEST_FEED_BYTES) return FY_OK;
  char shape[128];
  return fy_fail(err, FY_INVALID_ARGUMENT, "feed '%s' of shape %s is larger than any memory",
                 o.node->name, fy_shape_text(s.rank, s.dims, shape));
}

static fy_code read_shapes(reader *rd, fy_error *err) {
  fy_ferry_query *q = rd->q;
  for (int i = 0; i < q->num_feeds; i++) {
    q->shapes[i] = q->feeds[i].node->outputs[q->feeds[i].index].shape;
    q->batched[i] = q->shapes[i].rank > 0 && q->shapes[i].dims[0] < 0;
  }
  fy_view rest = fy_view_of(rd->r->shapes ? rd->r->shapes : "");
  while (rest.n) {
    fy_view value = fy_ferry_cut(&rest, ';');
    if (!value.n) continue;
    fy_view key = fy_ferry_cut(&value, '=');
    FY_TRY(give_shape(rd, key, value, err));
  }
  for (int i = 0; i < q->num_feeds; i++) {
    fy_pshape *s = &q->shapes[i];
    if (s->rank < 0) continue;
    int64_t *dims = fy_arena_array(rd->a, (size_t)s->rank + 1, sizeof *dims);
    if (!dims) return fy_fail_oom(err, sizeof *dims);
    if (s->rank) memcpy(dims, s->dims, (size_t)s->rank * sizeof *dims);
    if (rd->r->batch > 0 && s->rank > 0 && dims[0] < 0) dims[0] = rd->r->batch;
    s->dims = dims;
    FY_TRY(check_size(q, i, err));
  }
  return FY_OK;
}

fy_code fy_ferry_query_make(fy_graph *g, const ferry_request *r, fy_ferry_query *q, fy_error *err) {
  static const ferry_request none = {0};
  *q = (fy_ferry_query){0};
  fy_arena_init(&q->arena);
  reader rd = {.g = g, .r = r ? r : &none, .q = q, .a = &q->arena};
  // A text names at most as many nodes as it has characters.
  size_t cap = g->num_nodes + 2;
  cap += rd.r->fetch ? strlen(rd.r->fetch) : 0;
  cap += rd.r->feed ? strlen(rd.r->feed) : 0;
  q->feeds = fy_arena_array(rd.a, cap, sizeof *q->feeds);
  q->fetches = fy_arena_array(rd.a, cap, sizeof *q->fetches);
  q->targets = fy_arena_array(rd.a, cap, sizeof *q->targets);
  q->shapes = fy_arena_array(rd.a, cap, sizeof *q->shapes);
  q->batched = fy_arena_array(rd.a, cap, sizeof *q->batched);
  fy_code code = FY_OK;
  if (!q->feeds || !q->fetches || !q->targets || !q->shapes || !q->batched)
    code = fy_fail_oom(err, cap * sizeof *q->feeds);
  fy_lock(&g->lock);
  if (!code) code = read_fetches(&rd, err);
  if (!code) code = read_feeds(&rd, err);
  if (!code) code = read_shapes(&rd, err);
  fy_unlock(&g->lock);
  if (code) fy_ferry_query_free(q);
  return code;
}

void fy_ferry_query_free(fy_ferry_query *q) {
  fy_arena_free(&q->arena);
}
