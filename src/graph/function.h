// SPDX-License-Identifier: Apache-2.0
// function.h: function libraries and the two ways between a FunctionDef and a graph.
// A FunctionDef is kept as it came; its body becomes a graph when somebody needs it.
// Threads: library functions take the library's lock; a fy_function found stays valid as long as
// the library, even if it is removed.

#ifndef FY_GRAPH_FUNCTION_H
#define FY_GRAPH_FUNCTION_H

#include "function.pb-c.h"
#include "graph/graph.h"

// Set in user_flags of an instantiated body's nodes: control outputs and stateful nodes, which run
// even if no result needs them.
#define FY_NODE_MUST_RUN 1ull

typedef struct fy_funclib_mark {
  uint64_t serial;
} fy_funclib_mark;

// Adds a copy. An equal function of that name is fine; INVALID_ARGUMENT if another one, or an op,
// has the name, or if the signature is not sound.
FY_MUST_CHECK fy_code fy_funclib_add(fy_funclib *lib, const Tensorflow__FunctionDef *def,
                                     fy_error *err);
FY_MUST_CHECK fy_code fy_funclib_add_gradient(fy_funclib *lib, const char *function,
                                              const char *gradient, fy_error *err);
FY_MUST_CHECK fy_code fy_funclib_import(fy_funclib *lib, const Tensorflow__FunctionDefLibrary *from,
                                        fy_error *err);  // |from| may be NULL
FY_MUST_CHECK fy_code fy_funclib_remove(fy_funclib *lib, const char *name, fy_error *err);
// Everything added between the two calls is taken out again.
fy_funclib_mark fy_funclib_begin(fy_funclib *lib);
void fy_funclib_rollback(fy_funclib *lib, fy_funclib_mark mark);
// Messages borrow the library's memory: it must outlive |arena|'s use of them.
FY_MUST_CHECK fy_code fy_funclib_export(fy_funclib *lib, fy_arena *arena,
                                        Tensorflow__FunctionDefLibrary **out, fy_error *err);
size_t fy_funclib_count(fy_funclib *lib);

// Sorts every map in |def| by key, so that equal functions have equal bytes.
void fy_function_sort(ProtobufCMessage *message);
// A deep copy in |arena|.
FY_MUST_CHECK fy_code fy_function_copy(const Tensorflow__FunctionDef *def, fy_arena *arena,
                                       Tensorflow__FunctionDef **out, fy_error *err);

bool fy_function_is_call(const fy_node *node);  // by its own name, or a PartitionedCall
// Output shapes of a node that calls a function by name: through its body, whose mistakes are errors
// only if |check| is set.
FY_MUST_CHECK fy_code fy_function_infer(fy_graph *g, fy_node *node, bool check, fy_error *err);

typedef struct fy_function_source {  // TF_GraphToFunction's arguments
  const char *name;
  bool append_hash;
  int num_nodes;  // -1: all nodes but those of |inputs|
  const fy_node *const *nodes;
  int num_inputs, num_outputs, num_controls;
  const fy_output *inputs, *outputs;
  const char *const *output_names;  // or NULL
  const fy_node *const *controls;
  const char *const *control_names;  // or NULL
  const char *description;           // or NULL
} fy_function_source;

// Makes a FunctionDef of part of |g|, in |arena|; strings and tensors may be borrowed from |g|.
FY_MUST_CHECK fy_code fy_function_from_graph(const fy_graph *g, const fy_function_source *source,
                                             fy_arena *arena, Tensorflow__FunctionDef **out,
                                             fy_error *err);

#endif
