// SPDX-License-Identifier: Apache-2.0
// callable.c: programs by argument signature. The usual case is the program that ran last: one compare.

#include "execute/callable.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/arg_shapes.h"
#include "execute/frames.h"
#include "graph/function.h"
#include "ops/resource.h"

#define PROGRAMS_AT_ONCE      4  // for the first shapes; later ones have to show that they come again
#define MAX_FUNCTION_PROGRAMS 16
#define MAX_LOSSES            3     // of what all calls share; then nothing is taken to be known
#define MAX_DEPTH             1000  // nested calls: a recursion without end is an error, not a crash

typedef struct special {
  fy_program *program;
  int64_t *key;
  uint64_t used;
} special;

struct fy_callable {
  fy_mutex lock;
  fy_graph *graph;
  bool owns_graph, results_anywhere, keep_refs;
  int changes;    // of the device set when its programs were made
  bool distrust;  // programs do not count on the declared shapes of variables
  fy_output *feeds, *fetches;
  fy_node **targets;
  int num_feeds, num_fetches, num_targets;
  const fy_device_set *devices;
  const fy_device *default_device;
  const fy_options *options;
  fy_callables *callables;
  special *specials;
  size_t num_specials, cap_specials, max_specials, at_once;
  fy_program *generic;  // compiled for what all calls share; NULL: not yet
  fy_common *common;    // what that is
  fy_trials *trials;    // what calls of |generic| took; NULL as long as there was none
  uint64_t clock;
  fy_frames *frames;  // not NULL: this is a region with control flow, and nothing above is used
};

struct fy_callables {
  fy_mutex lock;
  fy_funclib *lib;
  const fy_device_set *devices;
  const fy_options *options;
  struct entry {
    char *name;
    fy_attrs attrs;
    const fy_device *device;
    fy_callable *callable;
  } * items;
  size_t n, cap;
  fy_arena arena;
  fy_counters counters;
  atomic_bool flat_errors;  // of a session, see flatten_errors
  fy_compiled_fn watch;     // NULL: nobody asks
  fy_resources *kept;
};

// ------------------------------------------------------------------ one callable
static void forget_programs(fy_callable *c) {
  for (size_t i = 0; i < c->num_specials; i++) {
    fy_program_release(c->specials[i].program);
    fy_free(c->specials[i].key);
  }
  c->num_specials = 0;
  fy_program_release(c->generic);
  c->generic = NULL;
}

void fy_callable_free(fy_callable *c) {
  if (!c) return;
  fy_frames_free(c->frames);
  forget_programs(c);
  fy_free(c->specials);
  fy_free(c->common);
  fy_free(c->trials);
  fy_free(c->feeds);
  fy_free(c->fetches);
  fy_free(c->targets);
  if (c->owns_graph) fy_graph_free(c->graph);
  fy_mutex_destroy(&c->lock);
  fy_free(c);
}

static void *copy_array(const void *p, int n, size_t elem) {
  void *out = fy_malloc(((size_t)n + 1) * elem);
  if (out && n) memcpy(out, p, (size_t)n * elem);
  return out;
}

fy_code fy_callable_new(fy_graph *graph, const fy_output *feeds, int num_feeds,
                        const fy_output *fetches, int num_fetches, fy_node *const *targets,
                        int num_targets, const fy_device_set *devices,
                        const fy_device *default_device, const fy_options *options,
                        fy_callables *callables, bool results_anywhere, fy_callable **out,
                        fy_error *err) {
  fy_callable *c = fy_calloc(1, sizeof *c);
  if (!c) return fy_fail_oom(err, sizeof *c);
  fy_mutex_init(&c->lock);
  c->graph = graph;
  c->num_feeds = num_feeds;
  c->num_fetches = num_fetches;
  c->num_targets = num_targets;
  c->devices = devices;
  c->default_device = default_device;
  c->options = options;
  c->callables = callables;
  c->results_anywhere = results_anywhere;
  c->max_specials = results_anywhere
                        ? MAX_FUNCTION_PROGRAMS
                        : (size_t)(options->max_programs > 0 ? options->max_programs : 1);
  c->at_once = c->max_specials < PROGRAMS_AT_ONCE ? c->max_specials : PROGRAMS_AT_ONCE;
  c->feeds = copy_array(feeds, num_feeds, sizeof *feeds);
  c->fetches = copy_array(fetches, num_fetches, sizeof *fetches);
  c->targets = copy_array(targets, num_targets, sizeof *targets);
  if (!c->feeds || !c->fetches || !c->targets) {
    fy_callable_free(c);
    return fy_fail_oom(err, sizeof *c);
  }
  *out = c;
  return FY_OK;
}

fy_code fy_callable_new_frames(fy_frames *frames, fy_callable **out, fy_error *err) {
  fy_callable *c = fy_calloc(1, sizeof *c);
  if (!c) {
    fy_frames_free(frames);
    return fy_fail_oom(err, sizeof *c);
  }
  fy_mutex_init(&c->lock);
  c->frames = frames;
  c->num_feeds = fy_frames_num_args(frames);
  c->num_fetches = fy_frames_num_results(frames);
  *out = c;
  return FY_OK;
}

void fy_callable_keep_refs(fy_callable *c) {
  c->keep_refs = true;
}

bool fy_callable_is_region(const fy_callable *c) {
  return c->frames != NULL;
}
int fy_callable_num_args(const fy_callable *c) {
  return c->num_feeds;
}
int fy_callable_num_results(const fy_callable *c) {
  return c->num_fetches;
}

fy_dtype fy_callable_arg_type(const fy_callable *c, int i) {
  return fy_dtype_base(c->feeds[i].node->outputs[c->feeds[i].index].dtype);
}

fy_dtype fy_callable_result_type(const fy_callable *c, int i) {
  return fy_dtype_base(c->fetches[i].node->outputs[c->fetches[i].index].dtype);
}

// Variables turned out to change their shapes: forget what their handles promise.
static fy_code distrust_handles(fy_graph *copy, fy_error *err) {
  fy_attr unknown = {.kind = FY_ATTR_SHAPE, .v.shape = {-1, NULL}};
  for (size_t i = 0; i < copy->num_nodes; i++) {
    fy_node *n = copy->nodes[i];
    if (!n) continue;
    if (strcmp(n->op_name, "_Arg") == 0) n->outputs[0].handle.shape = (fy_pshape){-1, NULL};
    const bool ref = strcmp(n->op_name, "VariableV2") == 0 || strcmp(n->op_name, "Variable") == 0;
    if (!ref && strcmp(n->op_name, "VarHandleOp") != 0) continue;
    fy_attrs attrs = {0};  // the original's are shared with it
    FY_TRY(fy_attrs_copy(&attrs, &n->attrs, &copy->arena, err));
    FY_TRY(fy_attrs_set(&attrs, &copy->arena, ref ? "_any_shape" : "shape", &unknown, err));
    n->attrs = attrs;
  }
  return FY_OK;
}

#define MIN_INLINING_NODES 4  // TensorFlow's optimizer leaves smaller graphs alone

// A session of TensorFlow inlines what it calls and lowers its control flow unless the graph is tiny:
// errors then name the innermost function and nothing around it.
static void flatten_errors(const fy_callable *c, fy_graph *copy) {
  if (!c->callables) return;
  if (!c->results_anywhere) {
    size_t nodes = 0;
    for (size_t i = 0; i < c->graph->num_nodes; i++) nodes += c->graph->nodes[i] != NULL;
    atomic_store_explicit(&c->callables->flat_errors, nodes >= MIN_INLINING_NODES,
                          memory_order_relaxed);
  }
  copy->flat_errors = atomic_load_explicit(&c->callables->flat_errors, memory_order_relaxed);
}

// What an argument is known to be, before the program is made.
static fy_code tell_arg(fy_node *arg, fy_pshape shape, const fy_handle_shape *handle, fy_arena *a,
                        fy_error *err) {
  const fy_pshape of = handle ? handle->shape : shape;
  // Of a reference only the handle is fed, whose shape says nothing of the variable's.
  if (shape.rank < 0 || fy_dtype_is_ref(arg->outputs[0].dtype)) return FY_OK;
  const int64_t *dims =
      fy_arena_memdup(a, of.dims, (size_t)(of.rank > 0 ? of.rank : 0) * sizeof *dims);
  if (!dims) return fy_fail_oom(err, sizeof *dims);
  if (handle)
    arg->outputs[0].handle = (fy_handle_shape){handle->dtype, {of.rank, dims}};
  else
    arg->outputs[0].shape = (fy_pshape){of.rank, dims};
  return FY_OK;
}

// Compiles for these shapes (NULL or rank -1: unknown). Called under c->lock.
static fy_code compile(fy_callable *c, const fy_pshape *shapes, const int *spaces,
                       const fy_handle_shape *handles, const char *stop_after, fy_str *log,
                       fy_program **out, fy_error *err) {
  fy_graph *copy;
  fy_node **map;
  fy_lock(&c->graph->lock);
  fy_code code = fy_graph_prune_copy(c->graph, c->feeds, c->num_feeds, c->fetches, c->num_fetches,
                                     c->targets, c->num_targets, &copy, &map, err);
  fy_code adopted =
      code ? FY_OK : fy_adopt_colocations(c->graph, copy, c->options->soft_placement, err);
  if (!code) flatten_errors(c, copy);
  fy_unlock(&c->graph->lock);
  if (!code && !adopted && c->distrust) adopted = distrust_handles(copy, err);
  if (adopted) fy_graph_free(copy);
  if (code || adopted) return code ? code : adopted;
  fy_arena *a = &copy->arena;
  fy_output *fetches = fy_arena_array(a, (size_t)c->num_fetches + 1, sizeof *fetches);
  fy_node **targets = fy_arena_array(a, (size_t)c->num_targets + 1, sizeof *targets);
  int *fetch_spaces = fy_arena_array(a, (size_t)c->num_fetches + 1, sizeof *fetch_spaces);
  if (!fetches || !targets || !fetch_spaces) {
    fy_graph_free(copy);
    return fy_fail_oom(err, sizeof *fetches);
  }
  for (int i = 0; i < c->num_fetches; i++) {
    fetches[i] = (fy_output){map[c->fetches[i].node->id], c->fetches[i].index};
    for (int k = 0; k < c->num_feeds; k++)  // the argument nodes come first, in order
      if (c->feeds[k].node == c->fetches[i].node && c->feeds[k].index == c->fetches[i].index)
        fetches[i] = (fy_output){copy->nodes[k], 0};
    fetch_spaces[i] = c->results_anywhere ? -1 : 0;
  }
  for (int i = 0; i < c->num_targets; i++) targets[i] = map[c->targets[i]->id];
  for (int i = 0; i < c->num_feeds && shapes; i++) {
    const bool told = handles && handles[i].dtype != FY_INVALID && !c->distrust;
    code = tell_arg(copy->nodes[i], shapes[i], NULL, a, err);
    if (!code && told) code = tell_arg(copy->nodes[i], shapes[i], &handles[i], a, err);
    if (code) {
      fy_graph_free(copy);
      return code;
    }
  }
  fy_compile_args args = {.graph = copy,
                          .fetches = fetches,
                          .num_fetches = c->num_fetches,
                          .num_feeds = c->num_feeds,
                          .targets = targets,
                          .num_targets = c->num_targets,
                          .feed_spaces = spaces,
                          .fetch_spaces = fetch_spaces,
                          .devices = c->devices,
                          .default_device = c->default_device,
                          .options = c->options,
                          .callables = c->callables,
                          .called = c->results_anywhere,
                          .keep_refs = c->keep_refs,
                          .log = log,
                          .stop_after = stop_after};
  return fy_program_compile(&args, out, err);
}

static fy_code compile_for(fy_callable *c, const fy_pshape *shapes, const int *spaces,
                           const fy_handle_shape *handles, fy_program **out, fy_error *err) {
  FY_TRY(compile(c, shapes, spaces, handles, NULL, NULL, out, err));
  if (c->callables) fy_count(&c->callables->counters.programs, 1);
  return FY_OK;
}

static fy_code compile_special(fy_callable *c, fy_tensor *const *args, fy_program **out,
                               fy_error *err) {
  fy_pshape *shapes = fy_malloc(((size_t)c->num_feeds + 1) * sizeof *shapes);
  int *spaces = fy_malloc(((size_t)c->num_feeds + 1) * sizeof *spaces);
  fy_handle_shape *handles = fy_calloc((size_t)c->num_feeds + 1, sizeof *handles);
  fy_code code = FY_OK;
  if (!shapes || !spaces || !handles) code = fy_fail_oom(err, sizeof *shapes);
  for (int i = 0; !code && i < c->num_feeds; i++) {
    shapes[i] = (fy_pshape){args[i]->rank, args[i]->dims};
    spaces[i] = fy_arg_space(args[i]);
    const fy_variable *v = fy_arg_variable(args[i]);
    if (v) handles[i] = (fy_handle_shape){v->dtype, {v->rank, v->dims}};
  }
  if (!code) code = compile_for(c, shapes, spaces, handles, out, err);
  fy_free(shapes);
  fy_free(spaces);
  fy_free(handles);
  return code;
}

// Whether one program may do for several shapes: on other devices, where a node runs and what fits depends on them.
static bool on_host(const fy_callable *c, fy_tensor *const *args) {
  for (int i = 0; i < c->num_feeds; i++)
    if (args[i]->device) return false;
  for (int i = 0; !c->results_anywhere && i < c->devices->n; i++)
    if (!c->devices->items[i]->is_host) return false;
  return true;
}

// Makes room by letting the program go that was used longest ago.
static void evict_oldest(fy_callable *c) {
  size_t old = 0;
  for (size_t i = 0; i < c->num_specials; i++)
    if (atomic_exchange_explicit(&c->specials[i].program->touched, false, memory_order_relaxed))
      c->specials[i].used = ++c->clock;
  for (size_t i = 1; i < c->num_specials; i++)
    if (c->specials[i].used < c->specials[old].used) old = i;
  fy_program_release(c->specials[old].program);
  fy_free(c->specials[old].key);
  c->specials[old] = c->specials[--c->num_specials];
}

// Remembers what this call shares with those before.
static fy_code note_shapes(fy_callable *c, fy_tensor *const *args, fy_error *err) {
  if (!c->common) {
    c->common = fy_common_new(args, c->num_feeds);
    return c->common ? FY_OK : fy_fail_oom(err, sizeof *c->common);
  }
  if (!fy_common_meet(c->common, args) || !c->generic) return FY_OK;
  fy_program_release(c->generic);
  c->generic = NULL;
  if (c->common->losses > MAX_LOSSES) fy_common_forget(c->common);
  return FY_OK;
}

// Calls of these shapes took as long in the program for all as it takes to compile one for them alone: had that been
// known, it would have been the better choice, and likely is from now on.
static bool pays(const fy_callable *c, fy_tensor *const *args) {
  return c->generic && fy_trials_spent(c->trials, args, c->num_feeds) >= c->generic->compile_ns;
}

static fy_code get_generic(fy_callable *c, fy_program **out, bool *fresh, fy_error *err) {
  *fresh = !c->generic;
  if (!c->trials) c->trials = fy_trials_new();
  if (!c->trials) return fy_fail_oom(err, sizeof c->trials);
  if (!c->generic) {
    FY_TRY(compile_for(c, c->common->shapes, NULL, c->common->handles, &c->generic, err));
    c->generic->any_shape = true;
  }
  *out = c->generic;
  return FY_OK;
}

// A program for arguments that none of those at hand was compiled for.
static fy_code add_program(fy_callable *c, fy_tensor *const *args, fy_program **out, bool *fresh,
                           fy_error *err) {
  *fresh = true;
  FY_TRY(note_shapes(c, args, err));
  if (c->num_specials >= c->at_once && on_host(c, args) && !pays(c, args))
    return get_generic(c, out, fresh, err);
  if (c->num_specials >= c->max_specials) evict_oldest(c);
  if (!fy_grow(&c->specials, &c->cap_specials, c->num_specials + 1, sizeof *c->specials))
    return fy_fail_oom(err, sizeof *c->specials);
  special s = {.used = ++c->clock};
  s.key = fy_arg_key(args, c->num_feeds);
  if (!s.key) return fy_fail_oom(err, sizeof *s.key);
  fy_code code = compile_special(c, args, &s.program, err);
  if (code) {
    fy_free(s.key);
    return code;
  }
  if (c->trials) fy_trials_clear(c->trials, args, c->num_feeds);
  // The newest stands first: it is the likeliest next.
  memmove(&c->specials[1], &c->specials[0], c->num_specials * sizeof s);
  c->specials[0] = s;
  c->num_specials++;
  *out = s.program;
  return FY_OK;
}

void fy_callable_took(fy_callable *c, fy_tensor *const *args, int64_t ns) {
  fy_trials_add(c->trials, args, c->num_feeds, ns);
}

static void tell(fy_callable *c, fy_tensor *const *args) {
  if (!c->callables || !c->callables->watch) return;
  if (c->results_anywhere && !c->graph->body_of) return;  // a part that only its region knows
  const fy_compiled compiled = {.callable = c,
                                .graph = c->graph,
                                .feeds = c->feeds,
                                .num_feeds = c->num_feeds,
                                .fetches = c->fetches,
                                .num_fetches = c->num_fetches,
                                .targets = c->targets,
                                .num_targets = c->num_targets,
                                .args = args};
  c->callables->watch(c->options, &compiled);
}

fy_code fy_callable_program(fy_callable *c, fy_tensor *const *args, fy_program **out,
                            fy_error *err) {
  fy_code code = FY_OK;
  bool fresh = false;
  fy_program *p = NULL;
  fy_lock(&c->lock);
  if (FY_UNLIKELY(fy_variable_shapes_vary() && !c->distrust)) {
    forget_programs(c);
    c->distrust = true;
  }
  const int changes = __atomic_load_n(&c->devices->changes, __ATOMIC_RELAXED);
  if (FY_UNLIKELY(changes != c->changes)) {
    forget_programs(c);
    c->changes = changes;
  }
  for (size_t i = 0; i < c->num_specials && !p; i++) {
    if (!fy_arg_key_is(c->specials[i].key, args, c->num_feeds)) continue;
    p = c->specials[i].program;
    c->specials[i].used = ++c->clock;
  }
  if (!p) code = add_program(c, args, &p, &fresh, err);
  if (!code) fy_program_retain(p);
  fy_unlock(&c->lock);
  if (FY_UNLIKELY(fresh && !code)) tell(c, args);
  *out = p;
  return code;
}

fy_code fy_callable_explain(fy_callable *c, const fy_pshape *shapes, const int *spaces,
                            const fy_handle_shape *handles, const char *stop_after, fy_str *log,
                            fy_program **out, fy_error *err) {
  fy_lock(&c->lock);
  fy_code code = compile(c, shapes, spaces, handles, stop_after, log, out, err);
  fy_unlock(&c->lock);
  return code;
}

fy_code fy_callable_run(fy_callable *c, const fy_run *run, fy_tensor *const *args,
                        fy_tensor **results, fy_error *err) {
  fy_program *p;
  if (FY_UNLIKELY(c->frames)) {
    for (int i = 0; i < c->num_fetches; i++) results[i] = NULL;
    fy_run inner = *run;
    inner.gives =
        true;  // each part lets go of what it was given; what others still need has more references
    return fy_frames_run(c->frames, &inner, args, results, err);
  }
  fy_code code = fy_callable_program(c, args, &p, err);
  if (FY_UNLIKELY(code)) {
    for (int i = 0; i < c->num_fetches; i++) results[i] = NULL;
    return code;
  }
  const int64_t start = FY_UNLIKELY(p->any_shape) ? fy_now_ns() : 0;
  code = fy_program_run(p, run, args, results, err);
  if (FY_UNLIKELY(p->any_shape)) fy_callable_took(c, args, fy_now_ns() - start);
  fy_program_release(p);
  return code;
}

static fy_code refuse_call(const fy_callable *c, int num_args, int num_results, fy_error *err) {
  if (num_args != c->num_feeds)
    return fy_fail(err, FY_INVALID_ARGUMENT, "function takes %d arguments but was called with %d",
                   c->num_feeds, num_args);
  if (num_results != c->num_fetches)
    return fy_fail(err, FY_INVALID_ARGUMENT, "function returns %d results where %d were expected",
                   c->num_fetches, num_results);
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "functions are nested more than %d deep: endless recursion?", MAX_DEPTH);
}

fy_code fy_callable_call(void *callable, const fy_run *run, fy_tensor *const *args, int num_args,
                         fy_tensor **results, int num_results, fy_error *err) {
  fy_callable *c = callable;
  fy_run inner = run ? *run : (fy_run){0};
  inner.inside = true;
  if (FY_LIKELY(num_args == c->num_feeds && num_results == c->num_fetches &&
                ++inner.depth <= MAX_DEPTH))
    return fy_callable_run(c, &inner, args, results, err);
  for (int i = 0; i < num_results; i++) results[i] = NULL;
  return refuse_call(c, num_args, num_results, err);
}

// ------------------------------------------------------------------ functions of a session
fy_callables *fy_callables_new(fy_funclib *lib, const fy_device_set *devices,
                               const fy_options *options) {
  fy_callables *c = fy_calloc(1, sizeof *c);
  if (!c) return NULL;
  fy_mutex_init(&c->lock);
  fy_arena_init(&c->arena);
  c->lib = fy_funclib_ref(lib);
  c->devices = devices;
  c->options = options;
  c->kept = fy_resources_new();
  if (c->kept) return c;
  fy_callables_free(c);
  return NULL;
}

fy_resources *fy_callables_kept(fy_callables *c) {
  return c ? c->kept : NULL;
}

void fy_callables_watch(fy_callables *c, fy_compiled_fn fn) {
  c->watch = fn;
}

fy_counters *fy_callables_counters(fy_callables *c) {
  return c ? &c->counters : NULL;
}

void fy_callables_free(fy_callables *c) {
  if (!c) return;
  for (size_t i = 0; i < c->n; i++) fy_callable_free(c->items[i].callable);
  fy_free(c->items);
  fy_arena_free(&c->arena);
  fy_funclib_unref(c->lib);
  fy_resources_release(c->kept);
  fy_mutex_destroy(&c->lock);
  fy_free(c);
}

// Everything with an effect runs, whether or not a result needs it.
static bool has_effect(const fy_node *n) {
  if (strcmp(n->op_name, "_Arg") == 0 || strcmp(n->op_name, "_Retval") == 0) return false;
  if (n->user_flags & FY_NODE_MUST_RUN) return true;
  if (n->function) return n->function->stateful;
  return n->spec && (n->spec->flags & FY_SPEC_STATEFUL) != 0;
}

static fy_code from_body(fy_callables *c, fy_graph *body, const fy_device *device,
                         fy_callable **out, fy_error *err) {
  size_t n = body->num_nodes;
  fy_output *feeds = fy_calloc(n + 1, sizeof *feeds), *fetches = fy_calloc(n + 1, sizeof *fetches);
  fy_node **targets = fy_calloc(n + 1, sizeof *targets);
  int nf = 0, nr = 0, nt = 0;
  fy_code code = feeds && fetches && targets ? FY_OK : fy_fail_oom(err, n * sizeof *feeds);
  for (size_t i = 0; !code && i < n; i++) {
    fy_node *node = body->nodes[i];
    if (!node) continue;
    bool arg = strcmp(node->op_name, "_Arg") == 0, ret = strcmp(node->op_name, "_Retval") == 0;
    if (has_effect(node)) targets[nt++] = node;
    if (!arg && !ret) continue;
    int64_t at = fy_node_index(node);
    if (at < 0 || at >= (int64_t)n) {
      code =
          fy_fail(err, FY_INVALID_ARGUMENT, "node '%s' of a function has a bad index", node->name);
    } else if (arg) {
      feeds[at] = (fy_output){node, 0};
      if (at + 1 > nf) nf = (int)at + 1;
    } else {
      fetches[at] = node->inputs[0];
      if (at + 1 > nr) nr = (int)at + 1;
    }
  }
  for (int i = 0; !code && i < nf; i++)
    if (!feeds[i].node)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "a function lacks its argument %d", i);
  for (int i = 0; !code && i < nr; i++)
    if (!fetches[i].node)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "a function lacks its result %d", i);
  if (!code)
    code = fy_callable_new(body, feeds, nf, fetches, nr, targets, nt, c->devices, device,
                           c->options, c, true, out, err);
  if (!code) (*out)->owns_graph = true;
  fy_free(feeds);
  fy_free(fetches);
  fy_free(targets);
  return code;
}

fy_code fy_callables_adopt(fy_callables *c, fy_graph *body, const fy_device *device,
                           fy_callable **out, fy_error *err) {
  if (!c) return fy_fail(err, FY_FAILED_PRECONDITION, "no function library to run a loop with");
  FY_TRY(from_body(c, body, device, out, err));
  (*out)->owns_graph = false;
  return FY_OK;
}

fy_code fy_callables_get(fy_callables *c, fy_view name, const fy_attrs *attrs,
                         const fy_device *device, fy_callable **out, fy_error *err) {
  fy_code code = FY_OK;
  fy_graph *body = NULL;
  *out = NULL;
  fy_lock(&c->lock);
  for (size_t i = 0; i < c->n; i++) {
    struct entry *e = &c->items[i];
    if (e->device == device && fy_view_is(name, e->name) && fy_attrs_equal(&e->attrs, attrs)) {
      *out = e->callable;
      goto done;
    }
  }
  const fy_function *f = fy_funclib_find(c->lib, name.p, name.n);
  if (!f) {
    code = fy_fail(err, FY_NOT_FOUND, "Function %.*s is not defined.", (int)name.n, name.p);
    goto done;
  }
  if (!fy_grow(&c->items, &c->cap, c->n + 1, sizeof *c->items)) {
    code = fy_fail_oom(err, sizeof *c->items);
    goto done;
  }
  struct entry e = {.name = fy_arena_strndup(&c->arena, name.p, name.n), .device = device};
  if (!e.name) code = fy_fail_oom(err, name.n);
  if (!code) code = fy_attrs_copy(&e.attrs, attrs, &c->arena, err);
  if (!code) code = fy_function_instantiate(c->lib, f, attrs, &body, err);
  if (!code) body->body_of = e.name;
  if (!code && (code = from_body(c, body, device, &e.callable, err))) fy_graph_free(body);
  if (!code) {
    c->items[c->n++] = e;
    *out = e.callable;
  }
done:
  fy_unlock(&c->lock);
  return code;
}
