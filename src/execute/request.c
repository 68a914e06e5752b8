// SPDX-License-Identifier: Apache-2.0
#include "execute/request.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/import.h"

static bool is_known(const fy_graph *g, size_t known, const fy_node *node) {
  return node->graph == g && node->id < known && g->nodes[node->id] == node;
}

// TensorFlow's sessions know nodes by name only, so one of another graph may stand for ours.
static fy_node *find(fy_graph *g, size_t known, fy_node *node) {
  if (node->graph != g) node = fy_graph_find(g, node->name);
  return node && is_known(g, known, node) ? node : NULL;
}

static fy_code find_output(fy_graph *g, size_t known, fy_output from, fy_output *out,
                           fy_error *err) {
  if (!from.node) return fy_fail(err, FY_INVALID_ARGUMENT, "A feed or fetch names no operation");
  fy_node *node = find(g, known, from.node);
  if (!node)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tensor %s:%d, specified in either feed_devices or fetch_devices was not found "
                   "in the Graph",
                   from.node->name, from.index);
  if (from.index < 0)  // TensorFlow reads "c:-1" as a name
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tensor %s:%d:0, specified in either feed_devices or fetch_devices was not "
                   "found in the Graph",
                   node->name, from.index);
  if ((uint32_t)from.index >= node->num_outputs)
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "Node '%s' (type: '%s', num of outputs: %u) does not have output %d", node->name,
                   node->op_name, node->num_outputs, from.index == INT32_MAX ? -1 : from.index);
  *out = (fy_output){node, from.index};
  return FY_OK;
}

static fy_code find_targets(fy_graph *g, size_t known, const fy_run_args *a, fy_request *r,
                            fy_error *err) {
  fy_str missing;
  fy_str_init(&missing);
  for (int i = 0; i < a->num_targets; i++) {
    r->targets[i] = a->targets[i] ? find(g, known, a->targets[i]) : NULL;
    if (!r->targets[i])
      fy_str_printf(&missing, "%s ", a->targets[i] ? a->targets[i]->name : "(null)");
  }
  fy_code code = FY_OK;
  if (missing.len || missing.failed)
    code = fy_fail(err, FY_NOT_FOUND, "PruneForTargets: Some target nodes not found: %s",
                   fy_str_text(&missing));
  fy_str_free(&missing);
  return code;
}

static uint64_t key_of(fy_output o) {
  return (uint64_t)o.node->id << 32 | (uint32_t)o.index;
}

static fy_code check_overlap(const fy_request *r, bool fetch_fed, fy_error *err) {
  fy_imap fed;
  uint64_t at;
  fy_code code = FY_OK;
  fy_imap_init(&fed);
  for (int i = 0; i < r->num_feeds && !code; i++) {
    if (fy_imap_get(&fed, key_of(r->feeds[i]), &at))
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Endpoint \"%s:%d\" fed more than once.",
                     r->feeds[i].node->name, r->feeds[i].index);
    else if (!fy_imap_put(&fed, key_of(r->feeds[i]), 1))
      code = fy_fail_oom(err, sizeof at);
  }
  for (int i = 0; i < r->num_fetches && !code && !fetch_fed; i++)
    if (fy_imap_get(&fed, key_of(r->fetches[i]), &at))
      code = fy_fail(err, FY_INVALID_ARGUMENT, "%s:%d is both fed and fetched.",
                     r->fetches[i].node->name, r->fetches[i].index);
  fy_imap_free(&fed);
  return code;
}

void fy_request_free(fy_request *r) {
  fy_free(r->feeds);
  fy_free(r->fetches);
  fy_free(r->targets);
  fy_free(r->feed_types);
  *r = (fy_request){0};
}

static fy_code fill(fy_graph *g, size_t known, bool fetch_fed, const fy_run_args *a, fy_request *r,
                    fy_error *err) {
  for (int i = 0; i < a->num_feeds; i++) {
    FY_TRY(find_output(g, known, a->feeds[i], &r->feeds[i], err));
    r->feed_types[i] = fy_dtype_base(r->feeds[i].node->outputs[r->feeds[i].index].dtype);
  }
  for (int i = 0; i < a->num_fetches; i++)
    FY_TRY(find_output(g, known, a->fetches[i], &r->fetches[i], err));
  if (!a->num_fetches && !a->num_targets)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Must specify at least one target to fetch or execute.");
  FY_TRY(check_overlap(r, fetch_fed, err));
  return find_targets(g, known, a, r, err);
}

fy_code fy_request_make(fy_graph *g, size_t known, bool fetch_fed, const fy_run_args *a,
                        fy_request *out, fy_error *err) {
  fy_request r = {
      .num_feeds = a->num_feeds, .num_fetches = a->num_fetches, .num_targets = a->num_targets};
  *out = (fy_request){0};
  if (a->num_feeds < 0 || a->num_fetches < 0 || a->num_targets < 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "A number of feeds, fetches or targets is negative");
  r.feeds = fy_malloc((size_t)a->num_feeds * sizeof *r.feeds);
  r.feed_types = fy_malloc((size_t)a->num_feeds * sizeof *r.feed_types);
  r.fetches = fy_malloc((size_t)a->num_fetches * sizeof *r.fetches);
  r.targets = fy_malloc((size_t)a->num_targets * sizeof *r.targets);
  fy_code code = FY_OK;
  if (!r.feeds || !r.feed_types || !r.fetches || !r.targets) code = fy_fail_oom(err, sizeof r);
  if (!code) code = fill(g, known, fetch_fed, a, &r, err);
  if (code)
    fy_request_free(&r);
  else
    *out = r;
  return code;
}

fy_code fy_request_check_values(const fy_dtype *types, fy_tensor *const *values, int n,
                                fy_error *err) {
  for (int i = 0; i < n; i++) {
    if (FY_UNLIKELY(!values[i]))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expects arg[%d] to be %s but nothing is provided",
                     i, fy_dtype_name(types[i]));
    if (FY_UNLIKELY(values[i]->dtype != types[i]))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expects arg[%d] to be %s but %s is provided", i,
                     fy_dtype_name(types[i]), fy_dtype_name(values[i]->dtype));
  }
  return FY_OK;
}

fy_code fy_request_check_nodes(const fy_graph *g, size_t from, size_t to, fy_error *err) {
  for (size_t i = from; i < to; i++) {
    const fy_node *n = g->nodes[i];
    if (!n) continue;
    if (!fy_graph_name_is_valid(n->name, strlen(n->name)))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Node '%s': Node name contains invalid characters",
                     n->name);
    if (fy_graph_find(g, n->name) != n)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Node '%s' is not unique", n->name);
  }
  return FY_OK;
}
