// SPDX-License-Identifier: Apache-2.0
// version.c: the versions of GraphDefs: whether one can be read, and what an import leaves in the graph.

#include "graph/version.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

static fy_code add_bad_consumers(fy_graph *g, const Tensorflow__VersionDef *v, fy_error *err) {
  size_t n = g->num_bad_consumers + v->n_bad_consumers, kept = 0;
  if (!v->n_bad_consumers) return FY_OK;
  int32_t *all = fy_arena_array(&g->arena, n, sizeof *all);
  if (!all) return fy_fail_oom(err, n * sizeof *all);
  if (g->num_bad_consumers) memcpy(all, g->bad_consumers, g->num_bad_consumers * sizeof *all);
  memcpy(all + g->num_bad_consumers, v->bad_consumers, v->n_bad_consumers * sizeof *all);
  qsort(all, n, sizeof *all, by_number);
  for (size_t i = 0; i < n; i++)
    if (!kept || all[kept - 1] != all[i]) all[kept++] = all[i];
  g->bad_consumers = all;
  g->num_bad_consumers = kept;
  return FY_OK;
}

fy_code fy_versions_check(const Tensorflow__VersionDef *v, fy_error *err) {
  if (!v) return FY_OK;
  if (v->min_consumer > FY_GRAPH_DEF_VERSION)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "GraphDef min consumer version %d above current version %d for TensorFlow %s.  "
                   "Please upgrade TensorFlow.",
                   v->min_consumer, FY_GRAPH_DEF_VERSION, FY_TF_VERSION);
  if (v->producer < FY_GRAPH_DEF_MIN_PRODUCER)
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "GraphDef producer version %d below min producer %d supported by TensorFlow %s.  "
        "Please regenerate your graph.",
        v->producer, FY_GRAPH_DEF_MIN_PRODUCER, FY_TF_VERSION);
  for (size_t i = 0; i < v->n_bad_consumers; i++)
    if (v->bad_consumers[i] == FY_GRAPH_DEF_VERSION)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "GraphDef disallows consumer version %d.  Please upgrade TensorFlow: this "
                     "version is likely buggy.",
                     FY_GRAPH_DEF_VERSION);
  return FY_OK;
}

void fy_versions_warn(const Tensorflow__VersionDef *v, fy_error *err) {
  if (!err || !v || v->producer - FY_GRAPH_DEF_VERSION <= FY_FORWARD_WINDOW) return;
  fy_error_prepend(err, "Converting GraphDef to Graph has failed with an error: '");
  fy_error_append(err,
                  "' The binary trying to import the GraphDef was built when GraphDef version was "
                  "%d. The GraphDef was produced by a binary built when GraphDef version was %d. "
                  "The difference between these versions is larger than TensorFlow's forward "
                  "compatibility guarantee, and might be the root cause for failing to import the "
                  "GraphDef.",
                  FY_GRAPH_DEF_VERSION, v->producer);
}

fy_code fy_versions_merge(fy_graph *g, const Tensorflow__GraphDef *def, fy_error *err) {
  int32_t min_consumer = def->versions ? def->versions->min_consumer : 0;
  if (def->library && def->library->n_function && min_consumer < 12) min_consumer = 12;
  if (min_consumer > g->min_consumer) g->min_consumer = min_consumer;
  return def->versions ? add_bad_consumers(g, def->versions, err) : FY_OK;
}
