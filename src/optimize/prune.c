// SPDX-License-Identifier: Apache-2.0
// prune.c: removes nodes that no fetch or target needs, data and control edges alike. The graph was
// pruned when it was copied, so this takes away what other passes left behind. Linear: dead nodes
// go together, and each list of a live node is filtered once.

#include <string.h>

#include "base/alloc.h"
#include "optimize/rewrite.h"

static void need(uint8_t *live, fy_node **stack, size_t *top, fy_node *node) {
  if (live[node->id]) return;
  live[node->id] = 1;
  stack[(*top)++] = node;
}

static void mark_live(const fy_opt_ctx *ctx, uint8_t *live, fy_node **stack) {
  size_t top = 0;
  for (int i = 0; i < ctx->num_fetches; i++) need(live, stack, &top, ctx->fetches[i].node);
  for (int i = 0; i < ctx->num_targets; i++) need(live, stack, &top, ctx->targets[i]);
  while (top) {
    const fy_node *node = stack[--top];
    for (uint32_t i = 0; i < node->num_inputs; i++) need(live, stack, &top, node->inputs[i].node);
    for (uint32_t i = 0; i < node->num_controls; i++) need(live, stack, &top, node->controls[i]);
  }
}

// A live node's inputs and controls are live: only the lists that look forward hold dead nodes.
static void filter_lists(fy_node *node, const uint8_t *live) {
  for (uint32_t o = 0; o < node->num_outputs; o++) {
    fy_node_out *out = &node->outputs[o];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->num_uses; i++)
      if (live[out->uses[i].node->id]) out->uses[kept++] = out->uses[i];
    out->num_uses = kept;
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < node->num_control_outs; i++)
    if (live[node->control_outs[i]->id]) node->control_outs[kept++] = node->control_outs[i];
  node->num_control_outs = kept;
}

static bool is_arg(const fy_node *node) {
  return strcmp(node->op_name, "_Arg") == 0;
}

fy_code fy_pass_prune(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_graph *g = ctx->graph;
  uint8_t *live = fy_calloc(g->num_nodes + 1, 1);
  fy_node **stack = fy_malloc((g->num_nodes + 1) * sizeof *stack);
  if (!live || !stack) {
    fy_free(live);
    fy_free(stack);
    return fy_fail_oom(err, g->num_nodes * sizeof *stack);
  }
  mark_live(ctx, live, stack);
  // Arguments stay: a feed is checked whether or not it is needed.
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i] && is_arg(g->nodes[i])) live[i] = 1;
  size_t removed = 0;
  for (size_t i = 0; i < g->num_nodes; i++) {
    fy_node *node = g->nodes[i];
    if (!node) continue;
    if (live[i]) {
      filter_lists(node, live);
      continue;
    }
    if (ctx->log) fy_str_printf(ctx->log, "prune: removed %s (%s)\n", node->name, node->op_name);
    fy_map_remove(&g->by_name, node->name, strlen(node->name));
    removed++;
  }
  for (size_t i = 0; removed && i < g->num_nodes; i++)
    if (!live[i]) g->nodes[i] = NULL;
  if (removed) {
    g->version++;
    *changed = true;
  }
  fy_free(live);
  fy_free(stack);
  return FY_OK;
}
