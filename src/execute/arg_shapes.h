// SPDX-License-Identifier: Apache-2.0
// arg_shapes.h: what a callable knows of the shapes that it is called with: the key of a program, what all calls had
// in common, and which calls have taken so long that a program of their own would have paid.

#ifndef FY_EXECUTE_ARG_SHAPES_H
#define FY_EXECUTE_ARG_SHAPES_H

#include <stdatomic.h>

#include "graph/graph.h"
#include "ops/resource.h"

// Memory space of an argument; the variable that it is the handle of, or NULL.
int fy_arg_space(const fy_tensor *t);
const fy_variable *fy_arg_variable(const fy_tensor *t);

// Per argument: space, rank, dims and, of a handle, the same of its variable. NULL: no memory.
int64_t *fy_arg_key(fy_tensor *const *args, int n);
bool fy_arg_key_is(const int64_t *key, fy_tensor *const *args, int n);

// What |n| arguments had in common in all calls: a dimension that differed is -1, and so is a rank; the dtype
// of a variable is FY_INVALID then.
typedef struct fy_common {
  fy_pshape *shapes;
  fy_handle_shape *handles;
  int n;
  int losses;  // how often it became less
} fy_common;

fy_common *fy_common_new(fy_tensor *const *args,
                         int n);  // NULL: no memory. To be freed with fy_free.
// Leaves what |args| share with it. True: that is less than before.
bool fy_common_meet(fy_common *c, fy_tensor *const *args);
void fy_common_forget(fy_common *c);  // nothing is known from now on

// Time that calls of the same shapes took, of those seen lately.
typedef struct fy_trials fy_trials;
fy_trials *fy_trials_new(void);  // NULL: no memory. To be freed with fy_free.
int64_t fy_trials_spent(const fy_trials *t, fy_tensor *const *args, int n);
void fy_trials_add(fy_trials *t, fy_tensor *const *args, int n, int64_t ns);  // thread-safe
void fy_trials_clear(fy_trials *t, fy_tensor *const *args, int n);

#endif
