// SPDX-License-Identifier: Apache-2.0
// build.c: from a placed and partitioned graph to values and instructions.
// One pass over the nodes in order: each output becomes a value, each transfer a copy of one; nodes that
// only rename memory (Identity, Reshape …) become no instruction at all where the memory is planned.

#include "execute/build.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/callable.h"
#include "execute/kernel_call.h"
#include "execute/state.h"

typedef struct builder {
  fy_program *p;
  const fy_compile_args *a;
  uint32_t *first_value;     // [node id] value number of output 0
  uint32_t *transfer_value;  // [transfer] value number once the copy is emitted
  size_t cap_values, cap_instrs, cap_args, cap_sites;
} builder;

fy_program *fy_program_new(const fy_compile_args *a) {
  fy_program *p = fy_calloc(1, sizeof *p);
  if (!p) return NULL;
  atomic_init(&p->refs, 1);
  fy_arena_init(&p->arena);
  fy_mutex_init(&p->states_lock);
  fy_mutex_init(&p->constants_lock);
  p->graph = a->graph;
  p->devices = a->devices;
  p->options = a->options;
  p->called = a->called;
  p->callables = a->callables;
  p->num_feeds = a->num_feeds;
  p->num_fetches = a->num_fetches;
  return p;
}

void fy_program_retain(fy_program *p) {
  atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

void fy_program_release(fy_program *p) {
  if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
  if (p->is_peer) fy_peers_leave(p);  // peer_at is the neighbours' to write
  fy_state_free(atomic_load_explicit(&p->handy, memory_order_relaxed));
  while (p->states) {
    fy_run_state *s = p->states;
    p->states = s->next;
    fy_state_free(s);
  }
  for (uint32_t i = 0; i < p->num_sites; i++) fy_site_deinit(&p->sites[i]);
  for (size_t i = 0; i < p->num_flows; i++) fy_callable_free(p->flows[i]);
  fy_free(p->flows);
  fy_free(atomic_load(&p->calls));
  for (uint32_t i = 0; i < p->num_values; i++) fy_tensor_release(p->values[i].constant);
  fy_free(p->sites);
  fy_free(p->values);
  fy_free(p->instrs);
  fy_free(p->args);
  fy_parts_free(p->parts);
  fy_placement_free(p->placement);
  fy_graph_free(p->graph);
  fy_arena_free(&p->arena);
  fy_mutex_destroy(&p->states_lock);
  fy_mutex_destroy(&p->constants_lock);
  fy_free(p);
}

void fy_program_replace(fy_program *p, fy_instr *instrs, uint32_t num_instrs, uint32_t *args,
                        uint32_t num_args, fy_value *values, uint32_t num_values) {
  if (instrs != p->instrs) fy_free(p->instrs);
  if (args != p->args) fy_free(p->args);
  if (values != p->values) fy_free(p->values);
  p->instrs = instrs;
  p->num_instrs = num_instrs;
  p->args = args;
  p->num_args = num_args;
  p->values = values;
  p->num_values = num_values;
}

int fy_by_rank(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] < y[1] ? -1 : 1;
}

int fy_by_size(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return x[0] > y[0] ? -1 : x[0] < y[0] ? 1 : x[1] < y[1] ? -1 : 1;
}

static fy_code new_value(builder *b, fy_node *node, uint32_t output, int space, uint32_t *out,
                         fy_error *err) {
  fy_program *p = b->p;
  if (!fy_grow(&p->values, &b->cap_values, p->num_values + 1, sizeof *p->values))
    return fy_fail_oom(err, sizeof *p->values);
  const fy_node_out *o = &node->outputs[output];
  fy_value *v = &p->values[p->num_values];
  *v = (fy_value){.dtype = fy_dtype_base(o->dtype),
                  .rank = -1,
                  .space = space,
                  .storage = FY_STORE_DYNAMIC,
                  .producer = FY_NO_VALUE,
                  .last_use = 0,
                  .root = p->num_values,
                  .origin = p->num_values,
                  .feed = -1,
                  .node = node,
                  .output = (int32_t)output};
  int64_t count;
  if (fy_dtype_is_ref(o->dtype)) {  // a handle (refs.c)
    v->dtype = FY_RESOURCE;
    v->rank = 0;
    v->bytes = fy_dtype_storage(FY_RESOURCE);
    v->count = 1;
    *out = p->num_values++;
    return FY_OK;
  }
  // What is said of a resource's shape need not be true (a TensorArray's "[2]") and helps nobody.
  if (o->dtype != FY_RESOURCE && o->shape.rank >= 0 &&
      fy_shape_count(o->shape.rank, o->shape.dims, &count)) {
    size_t bytes;
    if (fy_mul_size((size_t)count, fy_dtype_storage(v->dtype), &bytes)) {
      v->rank = o->shape.rank;
      v->dims = o->shape.dims;
      v->bytes = bytes;
      v->count = count;
    }
  }
  *out = p->num_values++;
  return FY_OK;
}

static fy_code add_arg(builder *b, uint32_t value, fy_error *err) {
  if (!fy_grow(&b->p->args, &b->cap_args, b->p->num_args + 1, sizeof *b->p->args))
    return fy_fail_oom(err, sizeof *b->p->args);
  b->p->args[b->p->num_args++] = value;
  return FY_OK;
}

static fy_code new_instr(builder *b, fy_instr **out, fy_error *err) {
  fy_program *p = b->p;
  if (!fy_grow(&p->instrs, &b->cap_instrs, p->num_instrs + 1, sizeof *p->instrs))
    return fy_fail_oom(err, sizeof *p->instrs);
  *out = &p->instrs[p->num_instrs++];
  memset(*out, 0, sizeof **out);
  return FY_OK;
}

static bool shape_known(const fy_value *v) {
  return v->rank >= 0 && fy_dtype_is_plain(v->dtype);
}

static bool node_has_flag(const fy_node *node, uint32_t flag) {
  return node->op && node->op->impl && (node->op->impl->flags & flag);
}

// Emits the copy for transfer |t| unless it was emitted before; |*out| is the value at the destination.
static fy_code emit_transfer(builder *b, int32_t t, uint32_t *out, fy_error *err) {
  fy_program *p = b->p;
  if (b->transfer_value[t] != FY_NO_VALUE) {
    *out = b->transfer_value[t];
    return FY_OK;
  }
  const fy_transfer *tr = &p->parts->transfers[t];
  uint32_t src = b->first_value[tr->value.node->id] + (uint32_t)tr->value.index, dst;
  FY_TRY(new_value(b, tr->value.node, (uint32_t)tr->value.index, tr->to_space, &dst, err));
  if (p->values[src].storage == FY_STORE_CONST) {
    // Constants cross once, at the first run, and stay.
    p->values[dst].storage = FY_STORE_CONST;
    p->values[dst].root = dst;
    p->values[dst].feed = (int32_t)src;  // where it comes from until then
  } else {
    fy_instr *ins;
    FY_TRY(new_instr(b, &ins, err));
    uint32_t at = p->num_instrs - 1;
    ins->kind = FY_INSTR_COPY;
    ins->device = tr->from->is_host ? tr->to : tr->from;
    if (tr->to_space == 0) ins->device = tr->from;
    ins->node = tr->value.node;
    ins->num_in = ins->num_out = 1;
    ins->in = p->num_args;
    FY_TRY(add_arg(b, src, err));
    p->instrs[at].out = p->num_args;
    FY_TRY(add_arg(b, dst, err));
    p->values[dst].producer = at;
    p->values[dst].storage = shape_known(&p->values[dst]) ? FY_STORE_PLANNED : FY_STORE_DYNAMIC;
    p->values[src].last_use = at;
  }
  b->transfer_value[t] = dst;
  *out = dst;
  return FY_OK;
}

static fy_code input_value(builder *b, fy_node *node, uint32_t i, uint32_t *out, fy_error *err) {
  int32_t t = b->p->parts->input_transfer[node->id] ? b->p->parts->input_transfer[node->id][i] : -1;
  if (t >= 0) return emit_transfer(b, t, out, err);
  *out = b->first_value[node->inputs[i].node->id] + (uint32_t)node->inputs[i].index;
  return FY_OK;
}

static fy_code make_outputs(builder *b, fy_node *node, fy_device *device, fy_error *err) {
  b->first_value[node->id] = b->p->num_values;
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    uint32_t v;
    FY_TRY(new_value(b, node, i, fy_place_output_space(node, device, i), &v, err));
  }
  return FY_OK;
}

// Is what input |in| carries written by nothing here? A constant, or a variable that is only read.
static bool is_steady(fy_output in) {
  if (in.node->const_value) return true;
  if (strcmp(in.node->op_name, "ReadVariableOp") != 0) return false;
  const fy_output handle = in.node->inputs[0];
  const fy_node_out *o = &handle.node->outputs[handle.index];
  for (uint32_t i = 0; i < o->num_uses; i++)
    if (strcmp(o->uses[i].node->op_name, "ReadVariableOp") != 0) return false;
  return true;
}

// What the inputs of a node are called, for kernels that ask. In a function an argument has its own name,
// which prune.c has wrapped ("_arg_NAME_0_INDEX").
static fy_code name_inputs(const fy_node *node, fy_arena *a, const char *const **out,
                           fy_error *err) {
  const char **names = fy_arena_array(a, node->num_inputs + 1, sizeof *names);
  if (!names) return fy_fail_oom(err, sizeof *names);
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    const fy_output in = node->inputs[i];
    const char *name = in.node->name;
    if (node->graph->body_of && strcmp(in.node->op_name, "_Arg") == 0 &&
        strncmp(name, "_arg_", 5) == 0) {
      int len = (int)strlen(name + 5);
      for (int cuts = 0; len > 0 && cuts < 2;) cuts += name[5 + --len] == '_';
      names[i] = fy_arena_printf(a, "%.*s", len, name + 5);
    } else {
      names[i] = in.index ? fy_arena_printf(a, "%s:%d", name, in.index) : name;
    }
    if (!names[i]) return fy_fail_oom(err, sizeof *names);
  }
  *out = names;
  return FY_OK;
}

static fy_code make_site(builder *b, fy_node *node, fy_device *device, uint32_t *out,
                         fy_error *err) {
  fy_program *p = b->p;
  fy_arena *a = &p->arena;
  if (!fy_grow(&p->sites, &b->cap_sites, p->num_sites + 1, sizeof *p->sites))
    return fy_fail_oom(err, sizeof *p->sites);
  fy_site *s = &p->sites[p->num_sites];
  fy_dtype *out_types = fy_arena_alloc(a, (node->num_outputs + 1) * sizeof *out_types);
  fy_pshape *shapes = fy_arena_alloc(a, (node->num_inputs + 1) * sizeof *shapes);
  const fy_tensor **values = fy_arena_alloc(a, (node->num_inputs + 1) * sizeof *values);
  if (!out_types || !shapes || !values) return fy_fail_oom(err, sizeof *s);
  for (uint32_t i = 0; i < node->num_outputs; i++)
    out_types[i] = fy_dtype_is_ref(node->outputs[i].dtype) ? FY_RESOURCE : node->outputs[i].dtype;
  uint64_t steady = 0;
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    fy_output in = node->inputs[i];
    shapes[i] = in.node->outputs[in.index].shape;
    values[i] = in.index == 0 ? in.node->const_value : NULL;
    if (i < 64 && is_steady(in)) steady |= 1ull << i;
  }
  const fy_op *op = node->function ? fy_op_find("StatefulPartitionedCall", 23) : node->op;
  *s = (fy_site){.op = op,
                 .attrs = &node->attrs,
                 .node_name = node->name,
                 .num_inputs = (int)node->num_inputs,
                 .num_outputs = (int)node->num_outputs,
                 .in_types = node->input_types,
                 .out_types = out_types,
                 .device = device,
                 .in_shapes = shapes,
                 .in_value = values,
                 .steady_inputs = steady};
  if (op && op->user_kernels) FY_TRY(name_inputs(node, a, &s->in_names, err));
  *out = p->num_sites++;
  return FY_OK;
}

// A node that renames memory needs no instruction when the memory is the program's own. One that does
// something else, too (CheckNumerics, Print), is not cheap.
static bool elide_alias(builder *b, fy_node *node, uint32_t in, uint32_t out, fy_error *err) {
  fy_value *vi = &b->p->values[in], *vo = &b->p->values[out];
  if (!node_has_flag(node, FY_OP_ALIAS) || !node_has_flag(node, FY_OP_CHEAP) ||
      node->num_outputs != 1 || vo->rank < 0 || vi->space != vo->space || vi->dtype != vo->dtype)
    return false;
  for (uint32_t i = 1; i < node->num_inputs; i++)  // a shape that is computed has to be checked
    if (!node->inputs[i].node->const_value) return false;
  if (vi->storage == FY_STORE_CONST && vi->constant) {
    if (vi->constant->count != 0 && vi->bytes != vo->bytes) return false;
    if (fy_tensor_alias(vi->constant, vo->dtype, vo->rank, vo->dims, &vo->constant, err) != FY_OK) {
      fy_error_clear(err);
      return false;
    }
    vo->storage = FY_STORE_CONST;
    return true;
  }
  if (vi->storage != FY_STORE_PLANNED || vi->bytes != vo->bytes) return false;
  vo->storage = FY_STORE_PLANNED;
  vo->root = vi->root;
  vo->origin = vi->origin;
  vo->producer = vi->producer;
  return true;
}

static bool is_fed(const fy_value *v) {
  return v->space == 0 && (v->storage == FY_STORE_FEED || v->of_feed);
}

// Whether output |i| of |site| will be a part of an argument's memory, or all of it.
static bool stays_in_feed(const fy_program *p, const fy_site *site, const uint32_t *in, uint32_t i,
                          const fy_value *out) {
  const fy_op_impl *impl = site->op->impl;
  int from = 0;
  int64_t first = 0;
  if (!impl || out->space != 0 || out->rank < 0 || !fy_dtype_is_plain(out->dtype)) return false;
  if (impl->flags & FY_OP_ALIAS) return i == 0 && site->num_inputs && is_fed(&p->values[in[0]]);
  return impl->part && site->device->is_host && impl->part(site, (int)i, &from, &first) &&
         is_fed(&p->values[in[from]]) &&
         (size_t)first * fy_dtype_storage(out->dtype) % FY_PART_BYTES == 0;
}

static fy_code emit_kernel(builder *b, fy_node *node, fy_device *device, fy_error *err) {
  fy_program *p = b->p;
  uint32_t *in = fy_arena_alloc(&p->arena, (node->num_inputs + 1) * sizeof *in);
  if (!in) return fy_fail_oom(err, sizeof *in);
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    fy_dtype have = node->inputs[i].node->outputs[node->inputs[i].index].dtype;
    if (fy_dtype_base(have) !=
        fy_dtype_base(node->input_types[i]))  // an edge moved by TF_UpdateEdge
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Input %u of node {{node %s}} was passed %s from %s:%d incompatible with expected %s.", i,
          node->name, fy_dtype_name(have), node->inputs[i].node->name, node->inputs[i].index,
          fy_dtype_name(node->input_types[i]));
    FY_TRY(input_value(b, node, i, &in[i], err));
  }
  FY_TRY(make_outputs(b, node, device, err));
  uint32_t out = b->first_value[node->id];
  if (node->num_inputs && elide_alias(b, node, in[0], out, err)) return FY_OK;
  if (!node->function && (!node->op || !node->op->impl)) {
    if (!node->op || !node->op->user_kernels)
      return fy_fail(
          err, FY_NOT_FOUND,
          "No registered '%s' OpKernel for '%s' devices compatible with node {{node %s}}",
          node->op_name, device->type, node->name);
  }
  uint32_t site = 0;
  FY_TRY(make_site(b, node, device, &site, err));
  fy_instr *ins;
  FY_TRY(new_instr(b, &ins, err));
  uint32_t at = p->num_instrs - 1;
  ins->kind = FY_INSTR_KERNEL;
  ins->task = site;  // until the sites stop moving: resolved at the end of the build
  ins->device = device;
  ins->node = node;
  ins->num_in = (uint16_t)node->num_inputs;
  ins->num_out = (uint16_t)node->num_outputs;
  ins->cost_ns = fy_place_cost_ns(node, device);
  ins->check_refs = fy_refs_checked(node);
  ins->in = p->num_args;
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    FY_TRY(add_arg(b, in[i], err));
    p->values[in[i]].last_use = at;
  }
  p->instrs[at].out = p->num_args;
  bool sets = node->function || !node->op->impl ||
              node_has_flag(node, FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC | FY_OP_ALIAS);
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    fy_value *v = &p->values[out + i];
    FY_TRY(add_arg(b, out + i, err));
    v->producer = at;
    v->last_use = at;
    v->of_feed = stays_in_feed(p, &p->sites[site], in, i, v);
    v->storage = !sets && !v->of_feed && shape_known(v) ? FY_STORE_PLANNED : FY_STORE_DYNAMIC;
    if (v->storage == FY_STORE_DYNAMIC && v->rank >= 0) p->instrs[at].check_shapes = true;
  }
  if (node->num_inputs > p->max_in) p->max_in = node->num_inputs;
  if (node->num_outputs > p->max_out) p->max_out = node->num_outputs;
  return FY_OK;
}

static fy_code emit_const(builder *b, fy_node *node, fy_error *err) {
  FY_TRY(make_outputs(b, node, b->a->devices->client, err));
  fy_value *v = &b->p->values[b->first_value[node->id]];
  v->space = 0;
  v->storage = FY_STORE_CONST;
  v->constant = (fy_tensor *)(uintptr_t)node->const_value;
  fy_tensor_retain(v->constant);
  return FY_OK;
}

static fy_code emit_feed(builder *b, fy_node *node, fy_error *err) {
  const fy_attr *index = fy_attrs_get(&node->attrs, "index");
  if (!index || index->v.i < 0 || index->v.i >= b->p->num_feeds)
    return fy_fail(err, FY_INTERNAL, "argument node '%s' has no valid index", node->name);
  FY_TRY(make_outputs(b, node, b->a->devices->client, err));
  uint32_t v = b->first_value[node->id];
  b->p->values[v].storage = FY_STORE_FEED;
  b->p->values[v].feed = (int32_t)index->v.i;
  b->p->values[v].space = b->a->feed_spaces ? b->a->feed_spaces[index->v.i] : 0;
  b->p->feed_value[index->v.i] = v;
  return FY_OK;
}

static fy_code fail_not_fed(const fy_node *node, fy_error *err) {
  const fy_attr *shape = fy_attrs_get(&node->attrs, "shape");
  char text[128];
  fy_fail(err, FY_INVALID_ARGUMENT,
          "You must feed a value for placeholder tensor '%s' with dtype %s", node->name,
          fy_dtype_name(node->outputs[0].dtype));
  if (shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank > 0)
    fy_error_append(err, " and shape %s",
                    fy_shape_text(shape->v.shape.rank, shape->v.shape.dims, text));
  fy_error_append(err, "\n\t [[{{node %s}}]]", node->name);
  return FY_INVALID_ARGUMENT;
}

static fy_code emit_node(builder *b, fy_node *node, fy_error *err) {
  if (strcmp(node->op_name, "_Arg") == 0) return emit_feed(b, node, err);
  if (node->const_value) return emit_const(b, node, err);
  if (node->op && node->op->impl && !node->op->impl->compute && node->num_outputs == 0)
    return make_outputs(b, node, b->a->devices->client, err);  // NoOp
  if (node->op && node->op->impl && !node->op->impl->compute && !node->op->user_kernels)
    return fail_not_fed(node, err);
  return emit_kernel(b, node, b->p->placement->nodes[node->id].device, err);
}

static fy_code emit_fetches(builder *b, fy_error *err) {
  fy_program *p = b->p;
  for (int i = 0; i < p->num_fetches; i++) {
    fy_output f = b->a->fetches[i];
    uint32_t v = b->first_value[f.node->id] + (uint32_t)f.index;
    int32_t t = p->parts->fetch_transfer[i];
    if (t >= 0) FY_TRY(emit_transfer(b, t, &v, err));
    p->fetch_value[i] = v;
    p->values[v].fetched = true;
  }
  return FY_OK;
}

fy_code fy_program_build(fy_program *p, const fy_compile_args *a, fy_error *err) {
  fy_arena *arena = &p->arena;
  fy_node **order;
  size_t n;
  builder b = {.p = p, .a = a};
  size_t transfers = p->parts->num_transfers;
  b.first_value = fy_arena_array(arena, p->graph->num_nodes + 1, sizeof *b.first_value);
  b.transfer_value = fy_arena_alloc(arena, (transfers + 1) * sizeof *b.transfer_value);
  p->feed_value = fy_arena_alloc(arena, ((size_t)p->num_feeds + 1) * sizeof *p->feed_value);
  p->fetch_value = fy_arena_array(arena, (size_t)p->num_fetches + 1, sizeof *p->fetch_value);
  p->fetch_spaces = fy_arena_array(arena, (size_t)p->num_fetches + 1, sizeof *p->fetch_spaces);
  if (!b.first_value || !b.transfer_value || !p->feed_value || !p->fetch_value || !p->fetch_spaces)
    return fy_fail_oom(err, p->graph->num_nodes * sizeof *b.first_value);
  for (size_t i = 0; i < transfers; i++) b.transfer_value[i] = FY_NO_VALUE;
  for (int i = 0; i < p->num_feeds; i++) p->feed_value[i] = FY_NO_VALUE;
  FY_TRY(fy_graph_order(p->graph, arena, &order, &n, err));
  for (size_t i = 0; i < n; i++) FY_TRY(emit_node(&b, order[i], err));
  FY_TRY(emit_fetches(&b, err));
  FY_TRY(fy_program_bind(p, err));
  return fy_program_fit(p, err);
}
