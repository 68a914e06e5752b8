// SPDX-License-Identifier: Apache-2.0
// infer_shapes.c: TFE_InferShapes: a shape function on given shapes, without a graph or values.
// The op becomes a node whose inputs are stand-ins that know a shape and perhaps a value; they are
// in no graph, so the names may repeat.

#include <string.h>

#include "api/api.h"
#include "api/eager.h"
#include "base/alloc.h"
#include "tensorflow/c/c_api_experimental.h"

// ---------------------------------------------------------------- lists
TF_ShapeAndTypeList *TF_NewShapeAndTypeList(int num_shapes) {
  TF_ShapeAndTypeList *l = fy_malloc(sizeof *l);
  if (!l) return NULL;
  size_t n = num_shapes > 0 ? (size_t)num_shapes : 0;
  l->num_items = (int)n;
  l->items = fy_calloc(n, sizeof *l->items);
  if (l->items) return l;
  fy_free(l);
  return NULL;
}

void TF_ShapeAndTypeListSetShape(TF_ShapeAndTypeList *shape_list, int index, const int64_t *dims,
                                 int num_dims) {
  if (index < 0 || index >= shape_list->num_items || num_dims < 0) return;
  TF_ShapeAndType *s = &shape_list->items[index];
  int64_t *copy = fy_malloc((size_t)num_dims * sizeof *copy);
  if (!copy) return;
  if (num_dims) memcpy(copy, dims, (size_t)num_dims * sizeof *copy);
  fy_free(s->dims);
  s->dims = copy;
  s->num_dims = num_dims;
}

void TF_ShapeAndTypeListSetUnknownShape(TF_ShapeAndTypeList *shape_list, int index) {
  if (index < 0 || index >= shape_list->num_items) return;
  TF_ShapeAndType *s = &shape_list->items[index];
  fy_free(s->dims);
  s->dims = NULL;
  s->num_dims = -1;
}

void TF_ShapeAndTypeListSetDtype(TF_ShapeAndTypeList *shape_list, int index, TF_DataType dtype) {
  if (index >= 0 && index < shape_list->num_items) shape_list->items[index].dtype = dtype;
}

void TF_DeleteShapeAndTypeList(TF_ShapeAndTypeList *shape_list) {
  if (!shape_list) return;
  for (int i = 0; i < shape_list->num_items; i++) fy_free(shape_list->items[i].dims);
  fy_free(shape_list->items);
  fy_free(shape_list);
}

void TF_DeleteShapeAndTypeListArray(TF_ShapeAndTypeList **shape_list_array, int num_items) {
  if (!shape_list_array) return;
  for (int i = 0; i < num_items; i++) TF_DeleteShapeAndTypeList(shape_list_array[i]);
  fy_free(shape_list_array);
}

// ---------------------------------------------------------------- the node
static fy_code collect_attrs(const fy_eager_op *op, const fy_op_spec *spec, fy_arena *arena,
                             fy_attrs *out, fy_error *err) {
  for (uint32_t i = 0; i < op->num_attrs; i++)
    if (!fy_attrs_get(out, op->attrs[i].name))
      FY_TRY(fy_attrs_set(out, arena, op->attrs[i].name, &op->attrs[i].value, err));
  FY_TRY(fy_spec_add_defaults(spec, out, arena, err));
  // A type that nobody told makes no difference to shapes.
  for (size_t i = 0; i < spec->num_attrs; i++) {
    const fy_attr_spec *a = &spec->attrs[i];
    if (a->kind != FY_ATTR_TYPE || a->is_list || fy_attrs_get(out, a->name)) continue;
    fy_attr t = fy_attr_type(a->allowed_list ? a->allowed_list[0] : FY_FLOAT);
    FY_TRY(fy_attrs_set(out, arena, a->name, &t, err));
  }
  return FY_OK;
}

static fy_pshape shape_of(const TF_ShapeAndType *s) {
  return s->num_dims < 0 ? (fy_pshape){-1, NULL} : (fy_pshape){s->num_dims, s->dims};
}

typedef struct known {  // TFE_InferShapes' arguments
  const TF_ShapeAndTypeList *shapes, *as_shapes;
  TF_Tensor *const *tensors;
  TF_ShapeAndTypeList *const *resources;
} known;

static fy_code make_input(fy_graph *g, const known *k, int i, fy_dtype type, fy_output *out,
                          fy_error *err) {
  fy_node *n = fy_arena_zalloc(&g->arena, sizeof *n);
  fy_node_out *o = fy_arena_zalloc(&g->arena, sizeof *o);
  if (!n || !o) return fy_fail_oom(err, sizeof *n);
  *n = (fy_node){.graph = g,
                 .name = "dummy_input",
                 .op_name = "_Arg",
                 .device = "",
                 .outputs = o,
                 .num_outputs = 1};
  o->dtype = type;
  o->shape = shape_of(&k->shapes->items[i]);
  o->handle.shape.rank = -1;
  if (k->tensors && k->tensors[i]) n->const_value = fy_api_tensor(k->tensors[i]);
  if (k->as_shapes && i < k->as_shapes->num_items && k->as_shapes->items[i].num_dims >= 0) {
    fy_pshape s = shape_of(&k->as_shapes->items[i]);
    o->as_shape = fy_arena_memdup(&g->arena, &s, sizeof s);
    if (!o->as_shape) return fy_fail_oom(err, sizeof s);
  }
  if (k->resources && k->resources[i] && k->resources[i]->num_items > 0)
    o->handle = (fy_handle_shape){(fy_dtype)k->resources[i]->items[0].dtype,
                                  shape_of(&k->resources[i]->items[0])};
  *out = (fy_output){n, 0};
  return FY_OK;
}

static fy_code infer(fy_graph *g, const fy_eager_op *op, const known *k, fy_node *n,
                     fy_error *err) {
  int inputs, outputs;
  fy_dtype *out_types;
  *n = (fy_node){.graph = g, .name = op->name, .op_name = op->name, .op = op->op, .device = ""};
  if (!op->op)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shapes of the function '%s' are not inferred here",
                   op->name);
  n->spec = op->op->spec;
  FY_TRY(collect_attrs(op, n->spec, &g->arena, &n->attrs, err));
  FY_TRY(fy_spec_arg_types(n->spec, false, &n->attrs, &g->arena, &n->input_types, &inputs, err));
  FY_TRY(fy_spec_arg_types(n->spec, true, &n->attrs, &g->arena, &out_types, &outputs, err));
  int given = k->shapes ? k->shapes->num_items : 0;
  if (given != inputs)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Wrong number of inputs passed: %d while %d expected based on NodeDef", given,
                   inputs);
  n->inputs = fy_arena_array(&g->arena, (size_t)inputs, sizeof *n->inputs);
  n->outputs = fy_arena_array(&g->arena, (size_t)outputs, sizeof *n->outputs);
  if (!n->inputs || !n->outputs) return fy_fail_oom(err, (size_t)inputs + (size_t)outputs);
  for (int i = 0; i < inputs; i++)
    FY_TRY(make_input(g, k, i, n->input_types[i], &n->inputs[i], err));
  for (int i = 0; i < outputs; i++) {
    n->outputs[i].dtype = out_types[i];
    n->outputs[i].shape.rank = n->outputs[i].handle.shape.rank = -1;
  }
  n->num_inputs = (uint32_t)inputs;
  n->num_outputs = (uint32_t)outputs;
  return fy_graph_infer_node(g, n, err);
}

// ---------------------------------------------------------------- results
static bool set_item(TF_ShapeAndTypeList *l, int i, const fy_pshape *s) {
  if (s->rank < 0)
    TF_ShapeAndTypeListSetUnknownShape(l, i);
  else
    TF_ShapeAndTypeListSetShape(l, i, s->dims, s->rank);
  return s->rank < 0 || l->items[i].dims;
}

static TF_ShapeAndTypeList *list_outputs(const fy_node *n) {
  TF_ShapeAndTypeList *l = TF_NewShapeAndTypeList((int)n->num_outputs);
  for (uint32_t i = 0; l && i < n->num_outputs; i++) {
    if (set_item(l, (int)i, &n->outputs[i].shape)) continue;
    TF_DeleteShapeAndTypeList(l);
    l = NULL;
  }
  return l;
}

static TF_ShapeAndTypeList **list_resources(const fy_node *n) {
  TF_ShapeAndTypeList **all = fy_calloc(n->num_outputs, sizeof *all);
  for (uint32_t i = 0; all && i < n->num_outputs; i++) {
    const fy_handle_shape *h = &n->outputs[i].handle;
    if (h->dtype == FY_INVALID) continue;
    all[i] = TF_NewShapeAndTypeList(1);
    if (all[i] && set_item(all[i], 0, &h->shape)) {
      all[i]->items[0].dtype = (TF_DataType)h->dtype;
      continue;
    }
    TF_DeleteShapeAndTypeListArray(all, (int)n->num_outputs);
    all = NULL;
  }
  return all;
}

void TFE_InferShapes(TFE_Op *op, TF_ShapeAndTypeList *input_shapes, TF_Tensor **input_tensors,
                     TF_ShapeAndTypeList *input_tensor_as_shapes,
                     TF_ShapeAndTypeList **input_resource_shapes_and_types,
                     TF_ShapeAndTypeList **output_shapes,
                     TF_ShapeAndTypeList ***output_resource_shapes_and_types, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  known k = {input_shapes, input_tensor_as_shapes, input_tensors, input_resource_shapes_and_types};
  fy_node node;
  if (output_shapes) *output_shapes = NULL;
  if (output_resource_shapes_and_types) *output_resource_shapes_and_types = NULL;
  fy_graph *g = fy_graph_new();
  fy_code code = g ? infer(g, fy_api_op(op), &k, &node, err) : fy_fail_oom(err, sizeof *g);
  if (!code && output_shapes) {
    *output_shapes = list_outputs(&node);
    if (!*output_shapes) code = fy_fail_oom(err, sizeof **output_shapes);
  }
  if (!code && output_resource_shapes_and_types) {
    *output_resource_shapes_and_types = list_resources(&node);
    if (!*output_resource_shapes_and_types) code = fy_fail_oom(err, sizeof(void *));
  }
  if (code && output_shapes) {
    TF_DeleteShapeAndTypeList(*output_shapes);
    *output_shapes = NULL;
  }
  fy_graph_free(g);
  fy_api_end(status, code);
}
