// SPDX-License-Identifier: Apache-2.0
// freeze_impl.h: shared by freeze.c (which nodes, constants, tables) and freeze_values.c (handles
// turned into values, through functions).

#ifndef FY_MODEL_FREEZE_IMPL_H
#define FY_MODEL_FREEZE_IMPL_H

#include "model/freeze.h"

typedef Tensorflow__NodeDef node_def;
typedef Tensorflow__FunctionDef function_def;
typedef Tensorflow__AttrValue attr_value;

typedef struct node_list {
  node_def **items;
  size_t n, cap;
} node_list;

typedef struct freezer {
  const fy_freeze_args *args;
  fy_arena *arena;
  fy_map functions;  // name -> function_def*
  fy_map made;       // "function|argument=type…" -> special*
  function_def **added;
  size_t num_added, cap_added;
  fy_str *notes;
} freezer;

// Nodes of one graph or function body, and which of their tensors are values now.
typedef struct scope {
  node_list *nodes;
  fy_map frozen;      // "name:index" (an argument: "name:0") -> its dtype as a pointer
  fy_map renamed;     // nodes whose output is now called "output", in a function body
  const char *where;  // the function; "" = the graph
} scope;

void fy_freeze_scope_init(scope *s, node_list *nodes, const char *where);
void fy_freeze_scope_free(scope *s);
fy_code fy_freeze_mark(freezer *z, scope *s, const char *name, int index, int dtype, fy_error *err);
// Rewrites until nothing reads a handle that is a value now.
FY_MUST_CHECK fy_code fy_freeze_scope(freezer *z, scope *s, fy_error *err);
FY_MUST_CHECK fy_code fy_freeze_add(freezer *z, node_list *l, node_def *n, fy_error *err);
node_def *fy_freeze_node(freezer *z, const char *name, const char *op);
// Sets an attribute, in place of the one of that name. NULL when memory is short.
attr_value *fy_freeze_attr(freezer *z, node_def *n, const char *name);
attr_value *fy_freeze_find_attr(const node_def *n, const char *name);
bool fy_freeze_set_type(freezer *z, node_def *n, const char *name, int dtype);
void fy_freeze_drop_attr(node_def *n, const char *name);
// |t| is released with the arena, or now if that fails.
FY_MUST_CHECK fy_code fy_freeze_keep(freezer *z, fy_tensor *t, fy_error *err);
FY_MUST_CHECK fy_code fy_freeze_constant(freezer *z, const char *name, const fy_tensor *t,
                                         node_def **out, fy_error *err);

#endif
