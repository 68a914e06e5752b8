// SPDX-License-Identifier: Apache-2.0
// loops_shapes.c: what a counted loop (loops.h) tells about the shapes of its results, and so about what
// follows: the next layer of a stack is compiled for shapes too.

#include <string.h>

#include "optimize/loops.h"

// Do all steps return what has the shape of what they were given?
static bool shapes_stay(fy_loop *l, fy_error *err) {
  for (uint32_t i = 0; i < l->n; i++) {
    const fy_loop_value *v = &l->values[i];
    if (v->kind == FY_LOOP_COUNTS || !fy_node_is(v->arg, "_Arg")) continue;
    v->arg->outputs[0].shape = fy_output_shape(v->outer);
    v->arg->outputs[0].handle = v->outer.node->outputs[v->outer.index].handle;
  }
  if (fy_graph_infer_all(l->body, err)) return false;
  for (uint32_t i = 0; i < l->n; i++) {
    const fy_loop_value *v = &l->values[i];
    if (v->kind == FY_LOOP_CARRIED && fy_output_type(v->outer) != FY_VARIANT &&
        !fy_shape_same(fy_output_shape(v->ret->inputs[0]), fy_output_shape(v->outer)))
      return false;
  }
  return true;
}

// A list whose elements were all unset before the loop, and are set to what has one shape in it:
// tells that shape to those who stack it.
static fy_code tell_list(fy_loop *l, uint32_t i, fy_error *err) {
  const fy_loop_value *v = &l->values[i];
  const fy_node *set = fy_loop_strip(v->ret->inputs[0]).node, *made = v->outer.node;
  int64_t length, count;
  if (!fy_node_is(set, "TensorListSetItem") || !fy_node_is(made, "TensorListReserve") ||
      fy_loop_strip(set->inputs[0]).node != v->arg ||
      !fy_loop_int(fy_rewrite_const(l->r, made, 1), &length))
    return FY_OK;
  const fy_attr *grows = fy_attrs_get(&set->attrs, "resize_if_index_out_of_bounds");
  const fy_pshape item = fy_output_shape(set->inputs[2]);
  if ((grows && grows->v.b) || !fy_shape_static(item, &count)) return FY_OK;
  fy_node_out *out = &l->node->outputs[i];
  fy_arena *a = &l->r->graph->arena;
  int64_t *dims = fy_arena_array(a, (size_t)item.rank + 1, sizeof *dims);
  if (!dims) return fy_fail_oom(err, sizeof *dims);
  dims[0] = length;
  if (item.rank) memcpy(dims + 1, item.dims, (size_t)item.rank * sizeof *dims);
  if (fy_graph_merge_shape(l->r->graph, &out->handle.shape, (fy_pshape){item.rank, dims + 1}, NULL))
    return FY_OK;
  for (uint32_t k = 0; k < out->num_uses; k++) {
    fy_node *reader = out->uses[k].node;
    if (fy_node_is(reader, "TensorListStack") && out->uses[k].index == 0 &&
        fy_graph_merge_shape(l->r->graph, &reader->outputs[0].shape,
                             (fy_pshape){item.rank + 1, dims}, NULL))
      continue;  // they disagree: the run will say so
  }
  return FY_OK;
}

fy_code fy_loop_tell_shapes(fy_loop *l, fy_error *err) {
  if (!shapes_stay(l, err)) return FY_OK;
  for (uint32_t i = 0; i < l->n; i++) {
    const fy_loop_value *v = &l->values[i];
    if (v->kind != FY_LOOP_CARRIED) continue;
    if (fy_output_type(v->outer) == FY_VARIANT)
      FY_TRY(tell_list(l, i, err));
    else
      l->node->outputs[i].shape = fy_output_shape(v->outer);
  }
  return fy_graph_infer_all(l->r->graph, err);
}
