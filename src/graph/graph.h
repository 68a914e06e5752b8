// SPDX-License-Identifier: Apache-2.0
// graph.h: hold a program: nodes, edges, functions, inferred shapes.
// Invariants: a node's address never changes while its graph lives (TF_Operation* is fy_node*); ids are
// dense and follow creation order; every edge is recorded at both ends; graphs built through the API
// are acyclic except through NextIteration/Merge back edges.
// Threads: a graph is guarded by its |lock|; functions here expect the caller to hold it, except
// fy_graph_new/free. Reading a finished node's own fields needs no lock (they never change after
// fy_node_finish, apart from the fields of the mutation calls of the C API).
// Not here: optimisation, placement: those work on copies (fy_graph_clone).

#ifndef FY_GRAPH_GRAPH_H
#define FY_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "base/thread.h"
#include "ops/op.h"
#include "tensor/attr.h"
#include "tensor/tensor.h"

typedef struct fy_node fy_node;
typedef struct fy_graph fy_graph;
typedef struct fy_function fy_function;
typedef struct fy_funclib fy_funclib;

typedef struct fy_output {  // one output of a node; same layout as TF_Output
  fy_node *node;
  int32_t index;
} fy_output;

typedef struct fy_use {  // one input of a node; same layout as TF_Input
  fy_node *node;
  int32_t index;
} fy_use;

typedef struct fy_node_out {
  fy_dtype dtype;             // may be a reference type
  fy_pshape shape;            // inferred; dims in the graph's arena
  fy_handle_shape handle;     // for resources
  const fy_pshape *as_shape;  // known value of a small integer output read as a shape, or NULL
  fy_use *uses;
  uint32_t num_uses, cap_uses;
} fy_node_out;

struct fy_node {
  uint32_t id;
  uint32_t num_inputs, num_outputs;
  uint32_t num_controls, cap_controls;  // control inputs
  uint32_t num_control_outs, cap_control_outs;
  fy_graph *graph;
  const char *name;
  const char *op_name;
  const fy_op *op;              // NULL when |function| is set (a call by the function's name)
  const fy_op_spec *spec;       // the op's or the function's signature
  const fy_function *function;  // op_name names a function of the library
  const char *device;           // requested, "" = none
  fy_attrs attrs;               // with defaults filled in
  fy_output *inputs;            // [num_inputs]
  fy_dtype *input_types;        // [num_inputs] as the op wants them
  fy_node_out *outputs;         // [num_outputs]
  fy_node **controls;           // nodes that must finish first
  fy_node **control_outs;
  const fy_tensor *const_value;  // of a Const or a folded node, else NULL
  const char *const
      *origins;  // original node names that this node stands for (after fusion), NULL = itself
  uint32_t num_origins;
  const char *error_head,
      *error_tail;         // an inlined node's errors: put before and after; NULL = as usual
  uint32_t mark;           // scratch for traversals
  uint64_t user_flags;     // api/: run by a session, mutated, …
  uint64_t explicit_zero;  // bit i: the NodeDef writes input i as "name:0" (TF_UpdateEdge, imports)
  void *debug_info;        // packed NodeDef.experimental_debug_info kept for round trips, or NULL
  size_t debug_info_bytes;
  const char *experimental_type;  // packed FullTypeDef, or NULL
  size_t experimental_type_bytes;
};

struct fy_graph {
  fy_mutex lock;
  fy_arena arena;
  fy_node **nodes;  // by id; NULL where a node was removed
  size_t num_nodes, cap_nodes;
  fy_map by_name;
  fy_map name_counts;              // for unique names
  fy_funclib *functions;           // owned
  int32_t producer, min_consumer;  // VersionDef
  int32_t *bad_consumers;          // of all imports, sorted, each once; in the arena
  size_t num_bad_consumers;
  uint64_t version;  // grows with every change: programs compiled from an older one are stale
  uint64_t edits;    // grows when an existing node is changed: compiled programs are stale
  int refs;          // graph + sessions using it (api/)
  const struct fy_graph_loop *loop;  // api/: the graph is part of a loop being built, or NULL
  // How errors name nodes (execute/run_errors.c): the function whose body this is, or NULL; and whether
  // TensorFlow would have inlined everything, so that only the innermost function is told (of a
  // fresh body: whether it would inline that).
  const char *body_of;
  bool flat_errors;
  fy_graph **bodies;  // [num_bodies] what _FerryLoop nodes run, by their attribute "body"; owned
  size_t num_bodies, cap_bodies;
};

// ---- making graphs (graph.c)
fy_graph *fy_graph_new(void);  // NULL when memory is short
void fy_graph_free(fy_graph *g);
// Takes out every node; nobody may keep a pointer to one.
void fy_graph_empty(fy_graph *g);
// |body| belongs to |g| from now on (also on failure); |*number| is its place in g->bodies.
FY_MUST_CHECK fy_code fy_graph_adopt(fy_graph *g, fy_graph *body, size_t *number, fy_error *err);
fy_node *fy_graph_find(const fy_graph *g, const char *name);
const char *fy_graph_unique_name(fy_graph *g, const char *prefix);  // arena-owned; NULL when short

// ---- building nodes (node.c): collect, then finish. Errors are kept until finish, as TF does.
typedef struct fy_node_builder {
  fy_graph *graph;
  fy_node *node;      // arena-allocated, not yet in the graph; collects attrs and controls
  fy_output *inputs;  // in the graph's arena
  uint32_t num_inputs, cap_inputs;
  uint32_t num_args;     // input arguments given so far
  fy_view *colocations;  // "loc:@name"
  uint32_t num_colocations, cap_colocations;
  uint32_t num_errors;
  fy_str errors;        // of the definition, one per line
  fy_str index_errors;  // inputs that do not exist; they are reported instead of the others
  bool short_of_memory;
} fy_node_builder;

FY_MUST_CHECK fy_code fy_node_begin(fy_graph *g, const char *op_name, const char *name,
                                    fy_node_builder *b, fy_error *err);
void fy_node_set_device(fy_node_builder *b, const char *device);
void fy_node_add_input(fy_node_builder *b, fy_output input);
void fy_node_add_input_list(fy_node_builder *b, const fy_output *inputs, int n);
void fy_node_add_control(fy_node_builder *b, fy_node *control);
void fy_node_colocate(fy_node_builder *b, const fy_node *with);
void fy_node_set_colocations(fy_node_builder *b, const fy_view *values,
                             uint32_t n);  // "loc:@…"; replaces
void fy_node_set_attr(fy_node_builder *b, const char *name, const fy_attr *value);  // deep-copies
// Infers missing attributes from inputs, fills defaults, validates, infers shapes, adds the node.
// On failure nothing was added. The builder is dead afterwards either way.
FY_MUST_CHECK fy_code fy_node_finish(fy_node_builder *b, fy_node **out, fy_error *err);
void fy_node_abandon(fy_node_builder *b);

// Low level, used by passes: adds a node with everything given (no validation, no inference).
FY_MUST_CHECK fy_code fy_graph_add_raw(fy_graph *g, const char *op_name, const char *name,
                                       const char *device, const fy_attrs *attrs,
                                       const fy_output *inputs, uint32_t num_inputs,
                                       fy_node *const *controls, uint32_t num_controls,
                                       const fy_dtype *out_types, uint32_t num_outputs,
                                       fy_node **out, fy_error *err);
FY_MUST_CHECK fy_code fy_graph_add_control(fy_graph *g, fy_node *from, fy_node *to, fy_error *err);
void fy_graph_remove_control(fy_graph *g, fy_node *from, fy_node *to);
// Points every data use of |from| to |to| (control edges stay).
FY_MUST_CHECK fy_code fy_graph_replace_uses(fy_graph *g, fy_output from, fy_output to,
                                            fy_error *err);
FY_MUST_CHECK fy_code fy_graph_set_input(fy_graph *g, fy_node *node, uint32_t index, fy_output to,
                                         fy_error *err);
// Removes a node without data uses; its control outputs inherit its control inputs.
FY_MUST_CHECK fy_code fy_graph_remove(fy_graph *g, fy_node *node, fy_error *err);
// Takes out |nodes| at once, whatever is between them: nobody else reads their outputs any more. What
// is linked to them by control edges loses those.
void fy_graph_take_out(fy_graph *g, fy_node *const *nodes, size_t n);
// From a NextIteration to a Merge: the only edges that may close a cycle.
bool fy_graph_is_back_edge(const fy_node *from, const fy_node *to);
// Nodes in an order where inputs and controls come first (creation order where free). Array in |arena|.
// INVALID_ARGUMENT naming a node on a cycle.
FY_MUST_CHECK fy_code fy_graph_order(const fy_graph *g, fy_arena *arena, fy_node ***out, size_t *n,
                                     fy_error *err);
// A copy of the nodes that |fetches| and |targets| need, stopping at |feeds| (which become
// "_Feed" nodes: op "_Arg" with attr index = position in feeds). |map_out| (optional, arena of the
// new graph, indexed by old id) maps old nodes to new. Functions are shared by reference.
FY_MUST_CHECK fy_code fy_graph_prune_copy(fy_graph *g, const fy_output *feeds, int num_feeds,
                                          const fy_output *fetches, int num_fetches,
                                          fy_node *const *targets, int num_targets, fy_graph **out,
                                          fy_node ***map_out, fy_error *err);

// Adds a node that is complete but for its id and the back links of its edges (node.c, import).
FY_MUST_CHECK fy_code fy_graph_link(fy_graph *g, fy_node *node, fy_error *err);
// Undoes the last fy_graph_link; |named| is who had the node's name before, or NULL.
void fy_graph_unlink_last(fy_graph *g, fy_node *named);

// The place of an _Arg or _Retval among its kind, -1 if it has none.
static inline int64_t fy_node_index(const fy_node *node) {
  const fy_attr *a = fy_attrs_get(&node->attrs, "index");
  return a && a->kind == FY_ATTR_INT ? a->v.i : -1;
}
// A list of the types of |outputs|, for Tin and Tout.
FY_MUST_CHECK fy_code fy_graph_type_list(fy_arena *arena, const fy_output *outputs, size_t n,
                                         fy_attr *out, fy_error *err);

// ---- shapes (shape.c)
// Runs the shape function of |node| with what is known of its inputs; merges into the node's outputs.
FY_MUST_CHECK fy_code fy_graph_infer_node(fy_graph *g, fy_node *node, fy_error *err);
// How shape functions get a value that is computed from constants: |evaluate| gives a fresh tensor or
// NULL. Only called when a value is asked for that is no plain constant. Set once, early (execute/).
void fy_graph_set_evaluator(fy_tensor *(*evaluate)(fy_output output));
// Merges what |b| knows into |*a|; INVALID_ARGUMENT when they contradict.
FY_MUST_CHECK fy_code fy_graph_merge_shape(fy_graph *g, fy_pshape *a, fy_pshape b, fy_error *err);
// All nodes in order; used after pruning with concrete feed shapes. A node whose shape function fails
// keeps unknown shapes: its kernel gives the error if the run gets there.
FY_MUST_CHECK fy_code fy_graph_infer_all(fy_graph *g, fy_error *err);

// ---- functions (function.c)
struct fy_function {
  const char *name;
  const fy_op_spec *spec;  // signature as an op
  fy_attrs attrs;
  void *def;       // Tensorflow__FunctionDef in the library's arena
  fy_graph *body;  // instantiated without attrs (lazily, under the library's lock), or NULL
  bool stateful;
  uint64_t serial;  // when it came into the library
  uint32_t
      more_adds;  // how often an eager context was given it again: as often it is to be removed
};
struct fy_funclib {
  int refs;  // shared by clones of a graph
  fy_mutex lock;
  fy_arena arena;
  fy_map by_name;    // name -> fy_function*
  fy_map gradients;  // name -> gradient function name (char*)
  uint64_t serial;   // of the newest entry
};
fy_funclib *fy_funclib_new(void);
fy_funclib *fy_funclib_ref(fy_funclib *lib);
void fy_funclib_unref(fy_funclib *lib);
const fy_function *fy_funclib_find(const fy_funclib *lib, const char *name, size_t len);
// The body as a graph: "_Arg"/"_Retval" nodes carry attr index; |attrs| instantiate a polymorphic
// function. The graph belongs to the caller. Thread-safe.
FY_MUST_CHECK fy_code fy_function_instantiate(fy_funclib *lib, const fy_function *f,
                                              const fy_attrs *attrs, fy_graph **out, fy_error *err);

// ---- text (dump.c): stable, one line per node:
// `name = Op[attrs](inputs…, ^controls) @device : dtype[shape], …`
void fy_graph_dump(fy_str *out, const fy_graph *g);
// "{{node n}} = MatMul[T=DT_FLOAT, …](a, b)" as TensorFlow puts into errors.
void fy_node_print(fy_str *out, const fy_node *node);

#endif
