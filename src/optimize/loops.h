// SPDX-License-Identifier: Apache-2.0
// loops.h: a While whose number of steps is known, on its way to becoming a _FerryLoop (loops.c), and
// what can be moved out of its body (loops_hoist.c).

#ifndef FY_OPTIMIZE_LOOPS_H
#define FY_OPTIMIZE_LOOPS_H

#include "optimize/rewrite.h"

typedef enum fy_loop_kind {
  FY_LOOP_CARRIED,  // each step makes a new one
  FY_LOOP_SAME,     // every step returns what it was given
  FY_LOOP_COUNTS,   // start + the number of steps done
} fy_loop_kind;

typedef struct fy_loop_value {
  fy_loop_kind kind;
  int64_t start;       // COUNTS
  fy_node *arg, *ret;  // in the body
  fy_output outer;     // what the While is given
} fy_loop_value;

typedef struct fy_loop {
  fy_rewriter *r;
  fy_node *node;   // the While
  fy_graph *body;  // ours, edited in place
  fy_loop_value *values;
  uint32_t n;
  int64_t trips;        // at least 1
  fy_node *counter;     // new argument of the body: 0, 1, … trips - 1
  fy_loop_value *more;  // arguments that the body did not have: SAME, without |ret|
  uint32_t num_more, cap_more;
} fy_loop;

// What |o| is, but for nodes that hand it on.
fy_output fy_loop_strip(fy_output o);
// The value of a constant scalar of int32.
bool fy_loop_int(const fy_tensor *t, int64_t *out);
// A node beside the While (or in the body, by fy_loop_add_inner) with its shapes inferred.
FY_MUST_CHECK fy_code fy_loop_add_outer(fy_loop *l, const char *op, const fy_attrs *attrs,
                                        const fy_output *inputs, uint32_t n, fy_dtype type,
                                        fy_output *out, fy_error *err);
FY_MUST_CHECK fy_code fy_loop_add_inner(fy_loop *l, const char *op, const fy_attrs *attrs,
                                        const fy_output *inputs, uint32_t n, fy_dtype type,
                                        fy_output *out, fy_error *err);
// |outer| becomes an argument of the body that no step changes.
FY_MUST_CHECK fy_code fy_loop_add_argument(fy_loop *l, fy_output outer, fy_output *inner,
                                           fy_error *err);
// Reads of variables, items of lists made from tensors, products of such items.
FY_MUST_CHECK fy_code fy_loop_hoist(fy_loop *l, fy_error *err);
// What is known of the While's results once the body is as it will be.
FY_MUST_CHECK fy_code fy_loop_tell_shapes(fy_loop *l, fy_error *err);

#endif
