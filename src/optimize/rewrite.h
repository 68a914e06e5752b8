// SPDX-License-Identifier: Apache-2.0
// rewrite.h: what the passes share. A pass walks the nodes in order, and instead of editing edges
// one by one it says what stands for what; fy_rewrite_end applies all of that in one sweep, so a
// pass takes time linear in the graph however many uses a value has.
// During the walk, inputs of nodes seen later may still name replaced outputs: read them through
// fy_rewrite_input. The lists of uses are those of before the pass until fy_rewrite_end.

#ifndef FY_OPTIMIZE_REWRITE_H
#define FY_OPTIMIZE_REWRITE_H

#include <string.h>

#include "optimize/optimize.h"

// The order of the graph's nodes while nothing changes: passes that find nothing to do share it.
typedef struct fy_opt_order {
  fy_arena arena;
  fy_node **nodes;
  size_t n;
  uint64_t version;  // of the graph
} fy_opt_order;

typedef struct fy_rewriter {
  fy_opt_ctx *ctx;
  fy_graph *graph;
  fy_arena scratch;  // freed by fy_rewrite_end
  fy_node **order;   // [n] inputs first; nodes added by the pass are not in it
  size_t n;
  size_t num_ids;       // ids below this have entries in the tables
  fy_output **forward;  // [num_ids] per output, what stands for it; NULL = nothing replaced
  fy_node **instead;    // [num_ids] who took over the control outputs and the name, or NULL
  uint8_t *flags;       // [num_ids] the pass's own, zero at first
  uint64_t *fetched;    // [num_ids] bit per output (64 = any further one)
  size_t rewrites;
} fy_rewriter;

FY_MUST_CHECK fy_code fy_rewrite_begin(fy_rewriter *r, fy_opt_ctx *ctx, fy_error *err);
// Applies what was said unless |code| is an error, frees the scratch memory and returns the first
// error. |*changed| is set when anything was rewritten.
FY_MUST_CHECK fy_code fy_rewrite_end(fy_rewriter *r, fy_code code, bool *changed, fy_error *err);

// What stands for |o| now.
fy_output fy_rewrite_value(const fy_rewriter *r, fy_output o);
fy_output fy_rewrite_input(const fy_rewriter *r, const fy_node *node, uint32_t i);
// Every use of |from|, and every fetch of it, becomes one of |to|.
FY_MUST_CHECK fy_code fy_rewrite_forward(fy_rewriter *r, fy_output from, fy_output to,
                                         fy_error *err);
// |heir| takes over the control outputs, the origins and the role as a target of |gone|, which is
// removed: the pass has forwarded every output of it that anybody still reads.
void fy_rewrite_instead(fy_rewriter *r, fy_node *gone, fy_node *heir);
// The node was edited in place (its inputs, its op): counts as a rewrite.
void fy_rewrite_touch(fy_rewriter *r);
bool fy_rewrite_is_fetched(const fy_rewriter *r, const fy_node *node, uint32_t output);
bool fy_rewrite_is_target(const fy_rewriter *r, const fy_node *node);
void fy_rewrite_log(const fy_rewriter *r, const char *format, ...) FY_PRINTF(2, 3);

// ---- facts about nodes
static inline bool fy_node_is(const fy_node *node, const char *op_name) {
  return node->op_name[0] == op_name[0] && strcmp(node->op_name, op_name) == 0;
}
// Known op without side effects or state, no references or resources in or out, not a call.
bool fy_node_is_pure(const fy_node *node);
// May |node|'s work be taken over by |other|'s node: no request of its own, or the same one?
bool fy_node_same_request(const fy_node *node, const fy_node *other);
bool fy_node_colocated(const fy_node *node);  // names others it must be placed with
// The constant that flows into input |i|, NULL if it is none (or waits for control inputs).
const fy_tensor *fy_rewrite_const(const fy_rewriter *r, const fy_node *node, uint32_t i);
// May |node| become a part of another (fy_opt_ctx.runs_anywhere)?
static inline bool fy_node_runs_anywhere(const fy_rewriter *r, const fy_node *node) {
  return !r->ctx->runs_anywhere || r->ctx->runs_anywhere(r->ctx->runs_anywhere_arg, node);
}
// May |n| be taken into the node that will stand for |head|: nobody took it yet (flags), it has no
// effects, order or wishes of its own?
bool fy_rewrite_may_join(const fy_rewriter *r, const fy_node *head, const fy_node *n);
// The same, but it may have control inputs, which the new node then takes over (fy_rewrite_controls).
bool fy_rewrite_may_join_late(const fy_rewriter *r, const fy_node *head, const fy_node *n);
// The control inputs of all members, in the rewriter's scratch memory.
FY_MUST_CHECK fy_code fy_rewrite_controls(fy_rewriter *r, fy_node *const *members,
                                          uint32_t num_members, fy_node ***out, uint32_t *n,
                                          fy_error *err);
// The only reader of output |i| of |n|, which is read by nobody else and wanted by nobody; or NULL.
fy_node *fy_rewrite_only_reader(const fy_rewriter *r, const fy_node *n, uint32_t i);
// The operand of |n|, which has two, that is not |one|'s.
fy_output fy_rewrite_other_operand(const fy_rewriter *r, const fy_node *n, const fy_node *one);
static inline bool fy_node_is_sum(const fy_node *n) {
  return (fy_node_is(n, "AddV2") || fy_node_is(n, "Add")) && n->num_inputs == 2;
}
// The slope of a LeakyRelu, as a constant of its type.
uint64_t fy_node_alpha_bits(const fy_node *n);
fy_pshape fy_output_shape(fy_output o);
fy_dtype fy_output_type(fy_output o);
bool fy_shape_static(fy_pshape s, int64_t *count);
bool fy_shape_same(fy_pshape a, fy_pshape b);  // both fully known and equal

// ---- making nodes
// Turns |node| (one output) into a Const; |value|'s reference is taken over in every case.
FY_MUST_CHECK fy_code fy_node_become_const(fy_graph *g, fy_node *node, fy_tensor *value,
                                           fy_error *err);
// A new Const for output |index| of |like|; the reference is taken over in every case.
FY_MUST_CHECK fy_code fy_graph_add_const(fy_graph *g, const fy_node *like, uint32_t index,
                                         fy_tensor *value, fy_node **out, fy_error *err);
// A new node stands for no original one until it takes over.
FY_MUST_CHECK fy_code fy_node_clear_origins(fy_graph *g, fy_node *node, fy_error *err);

// ---- the passes
#define FY_PASS(name_, once_, what_) \
  fy_code fy_pass_##name_(fy_opt_ctx *ctx, bool *changed, fy_error *err);
#include "optimize/passes.inc"
#undef FY_PASS

#endif
