// SPDX-License-Identifier: Apache-2.0
// control.c: drops control edges that make nobody wait: from arguments and constants, which are there
// at once, and from a node whose output is read anyway. Who waits for a NoOp waits for what that
// waits for, where this does not make more edges. (Models saved by Keras let every result of a loop's
// body wait for the reads of its weights; without their variables these are arguments.)

#include <string.h>

#include "optimize/rewrite.h"

static bool is_there_at_once(const fy_node *node) {
  return !node->num_controls && (fy_node_is(node, "_Arg") || fy_node_is(node, "Const"));
}

static bool is_read(const fy_rewriter *r, const fy_node *node, const fy_node *from) {
  for (uint32_t i = 0; i < node->num_inputs; i++)
    if (fy_rewrite_input(r, node, i).node == from) return true;
  return false;
}

// Does |node| gain by waiting for what |from| waits for instead?
static bool is_detour(const fy_node *from) {
  return fy_node_is(from, "NoOp") && (from->num_controls <= 1 || from->num_control_outs == 1);
}

static fy_code visit(fy_rewriter *r, fy_node *node, fy_error *err) {
  uint32_t room = 0, kept = 0;
  bool same = true;
  for (uint32_t i = 0; i < node->num_controls; i++)
    room += is_detour(node->controls[i]) ? node->controls[i]->num_controls : 1;
  fy_node **list = fy_arena_array(&r->graph->arena, room + 1, sizeof *list);
  if (!list) return fy_fail_oom(err, (room + 1) * sizeof *list);
  for (uint32_t i = 0; i < node->num_controls; i++) {
    fy_node *const from = node->controls[i];
    if (is_there_at_once(from) || is_read(r, node, from)) {
      same = false;
    } else if (is_detour(from)) {
      for (uint32_t k = 0; k < from->num_controls; k++) list[kept++] = from->controls[k];
      same = false;
    } else {
      list[kept++] = from;
    }
  }
  if (same) return FY_OK;
  node->controls = list;
  node->num_controls = kept;
  node->cap_controls = room + 1;
  fy_rewrite_touch(r);
  fy_rewrite_log(r, "control: %s (%s) waits for %u nodes besides its inputs", node->name,
                 node->op_name, kept);
  return FY_OK;
}

fy_code fy_pass_control(fy_opt_ctx *ctx, bool *changed, fy_error *err) {
  fy_rewriter r;
  FY_TRY(fy_rewrite_begin(&r, ctx, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < r.n && !code; i++)
    if (r.order[i]->num_controls) code = visit(&r, r.order[i], err);
  return fy_rewrite_end(&r, code, changed, err);
}
