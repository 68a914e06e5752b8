// SPDX-License-Identifier: Apache-2.0
// import_node.c: one NodeDef into one node, with everything the options change about it.

#include <stdlib.h>
#include <string.h>

#include "graph/export.h"
#include "graph/import_internal.h"
#include "graph/node.h"
#include "wire/attr_proto.h"

static bool add_input(fy_import *im, fy_import_input input) {
  if (im->num_inputs == im->cap_inputs) {
    size_t cap = im->cap_inputs ? im->cap_inputs * 2 : 16;
    fy_import_input *grown = fy_arena_alloc(&im->tmp, cap * sizeof *grown);
    if (!grown) return false;
    if (im->num_inputs) memcpy(grown, im->inputs, im->num_inputs * sizeof *grown);
    im->inputs = grown;
    im->cap_inputs = cap;
  }
  im->inputs[im->num_inputs++] = input;
  return true;
}

static bool has_control(const fy_import *im, const fy_node *node) {
  for (size_t i = im->num_inputs; i-- > 0 && im->inputs[i].index == FY_IMPORT_CONTROL;)
    if (im->inputs[i].node == node) return true;
  return false;
}

// Whether |node|, which its GraphDef calls |name|, had to take another name.
static bool was_renamed(const fy_import *im, fy_view name, const fy_node *node) {
  size_t skip = strlen(im->prefix);
  return im->options->uniquify_names &&
         (strncmp(node->name, im->prefix, skip) != 0 || !fy_view_is(name, node->name + skip));
}

// The inputs as the options leave them: mapped ones point to nodes of the graph.
static fy_code read_inputs(fy_import *im, const Tensorflow__NodeDef *def, fy_error *err) {
  im->num_inputs = 0;
  bool inherits = false;  // an imported input already waits for the options' controls
  for (size_t i = 0; i < def->n_input; i++) {
    fy_import_input in = {.source = -1};
    fy_code code = FY_OK;
    in.name = fy_graph_parse_input(def->input[i], &in.index);
    in.explicit_zero = in.index == 0 && in.name.p[in.name.n] == ':';
    const fy_import_map *m = fy_import_find_map(im, in.name, in.index, err, &code);
    if (code) return code;
    if (m) {
      im->map_used[m - im->options->maps] = 1;
      in.index = m->dst.index;
      in.node = m->dst.node;
      in.name = fy_view_of(in.node->name);
      in.explicit_zero = in.index == 0;
      if (in.index == FY_IMPORT_CONTROL && has_control(im, in.node)) continue;
    } else {
      uintptr_t at = (uintptr_t)fy_map_get(&im->index, in.name.p, in.name.n);
      if (!at) return fy_fail(err, FY_INTERNAL, "Node '%s' lost an input", def->name);
      in.source = (int32_t)(at - 1);
      in.node = im->made[at - 1];
      if (in.node) inherits = true;
      if (in.node && was_renamed(im, in.name, in.node)) in.explicit_zero = in.index == 0;
    }
    if (!add_input(im, in)) return fy_fail_oom(err, sizeof in);
  }
  for (size_t i = 0; !inherits && i < im->options->num_controls; i++) {
    fy_node *c = im->options->controls[i];
    if (has_control(im, c)) continue;
    fy_import_input in = {fy_view_of(c->name), FY_IMPORT_CONTROL, -1, c, false};
    if (!add_input(im, in)) return fy_fail_oom(err, sizeof in);
  }
  return FY_OK;
}

static const Tensorflow__AttrValue *find_attr(const Tensorflow__NodeDef *def, const char *name) {
  const Tensorflow__AttrValue *found = NULL;
  for (size_t i = 0; i < def->n_attr; i++)
    if (strcmp(def->attr[i]->key, name) == 0) found = def->attr[i]->value;
  return found;
}

static fy_code check_colocation(const fy_import *im, const Tensorflow__NodeDef *def,
                                fy_error *err) {
  if (im->options->skip_colocation_check || im->options->function_body) return FY_OK;
  const Tensorflow__AttrValue *v = find_attr(def, "_class");
  if (!v || v->value_case != TENSORFLOW__ATTR_VALUE__VALUE_LIST || !v->list) return FY_OK;
  for (size_t i = 0; i < v->list->n_s; i++) {
    const ProtobufCBinaryData *s = &v->list->s[i];
    if (s->len < 5 || memcmp(s->data, "loc:@", 5) != 0) continue;
    const char *name = (const char *)s->data + 5;
    if (!fy_map_get(&im->index, name, s->len - 5))
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Node '%s' expects to be colocated with unknown node '%.*s'", def->name,
                     (int)(s->len - 5), name);
  }
  return FY_OK;
}

static bool is_functional(const char *op) {
  return strcmp(op, "If") == 0 || strcmp(op, "StatelessIf") == 0 || strcmp(op, "While") == 0 ||
         strcmp(op, "StatelessWhile") == 0;
}

static fy_code check_inputs(const fy_import *im, const Tensorflow__NodeDef *def, fy_error *err) {
  bool back_edge = false;
  for (size_t i = 0; i < im->num_inputs; i++) {
    const fy_import_input *in = &im->inputs[i];
    if (!in->node) {
      back_edge = true;
    } else if (in->index != FY_IMPORT_CONTROL &&
               (in->index < 0 || (uint32_t)in->index >= in->node->num_outputs)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Node '%s': Connecting to invalid output %d of source node %.*s which has %u "
                     "outputs.%s",
                     def->name, in->index, (int)in->name.n, in->name.p, in->node->num_outputs,
                     is_functional(in->node->op_name)
                         ? " Try using tf.compat.v1.experimental.output_all_intermediates(True)."
                         : "");
    }
  }
  if (back_edge && !fy_import_is_merge(def->op))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Node '%s' had a back edge, but only Merge nodes can have back edges.",
                   def->name);
  return FY_OK;
}

static fy_code choose_name(fy_import *im, const Tensorflow__NodeDef *def, fy_node *node,
                           fy_error *err) {
  fy_arena *a = &im->g->arena;
  node->name = *im->prefix ? fy_arena_printf(a, "%s%s", im->prefix, def->name)
                           : fy_arena_strdup(a, def->name);
  if (!node->name) return fy_fail_oom(err, strlen(def->name));
  const fy_import_options *o = im->options;
  if (!o->uniquify_names || (*im->prefix && o->uniquify_prefix)) return FY_OK;
  if (!fy_import_name_taken(im, node->name)) return FY_OK;
  const char *old = node->name;
  node->name = fy_import_unique(im, old);
  if (!node->name || !fy_map_puts(&im->renamed, old, (void *)(uintptr_t)node->name))
    return fy_fail_oom(err, strlen(old));
  return FY_OK;
}

static fy_code prefix_colocations(fy_import *im, fy_node *node, fy_error *err) {
  const fy_attr *found = *im->prefix ? fy_attrs_get(&node->attrs, "_class") : NULL;
  if (!found || !found->is_list || found->kind != FY_ATTR_STRING) return FY_OK;
  for (uint32_t i = 0; i < found->n; i++) {
    fy_view *v = &found->v.strings[i];
    if (v->n < 5 || memcmp(v->p, "loc:@", 5) != 0) continue;
    size_t prefix = strlen(im->prefix), n = v->n + prefix;
    char *text = fy_arena_alloc(&im->g->arena, n + 1);
    if (!text) return fy_fail_oom(err, n);
    memcpy(text, "loc:@", 5);
    memcpy(text + 5, im->prefix, prefix);
    memcpy(text + 5 + prefix, v->p + 5, v->n - 5);
    text[n] = '\0';
    *v = (fy_view){text, n};
  }
  return FY_OK;
}

static int compare_inputs(const void *a, const void *b) {
  const fy_import_input *x = a, *y = b;
  size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
  int order = memcmp(x->name.p, y->name.p, n);
  return order ? order : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

// Control inputs by name, each once.
static fy_code take_controls(fy_import *im, size_t first, fy_node *node, fy_error *err) {
  size_t n = im->num_inputs - first;
  node->controls = fy_arena_alloc(&im->g->arena, n * sizeof *node->controls);
  if (!node->controls) return fy_fail_oom(err, n * sizeof *node->controls);
  node->cap_controls = (uint32_t)n;
  fy_import_input *list = im->inputs + first;
  if (n > 1) qsort(list, n, sizeof *list, compare_inputs);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || compare_inputs(&list[i - 1], &list[i]) != 0)
      node->controls[node->num_controls++] = list[i].node;
  return FY_OK;
}

static fy_code take_inputs(fy_import *im, size_t n, fy_node *node, fy_error *err) {
  node->inputs = fy_arena_alloc(&im->g->arena, n * sizeof *node->inputs);
  if (!node->inputs) return fy_fail_oom(err, n * sizeof *node->inputs);
  for (size_t i = 0; i < n; i++) {
    const fy_import_input *in = &im->inputs[i];
    node->inputs[i] = (fy_output){in->node, in->index};
    if (in->explicit_zero && i < 64) node->explicit_zero |= 1ull << i;
    if (!in->node) continue;
    fy_dtype have = in->node->outputs[in->index].dtype;
    if (!fy_types_fit(node->input_types[i], have))
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input %zu of node %s was passed %s from %s:%d incompatible with expected %s.",
                     i, node->name, fy_dtype_name(have), in->node->name, in->index,
                     fy_dtype_name(node->input_types[i]));
  }
  return FY_OK;
}

// "_output_shapes" overrides what inference found and is not kept.
static fy_code take_output_shapes(fy_import *im, fy_node *node, fy_error *err) {
  const fy_attr *list = fy_attrs_get(&node->attrs, "_output_shapes");
  if (!list || !list->is_list || (list->kind != FY_ATTR_SHAPE && list->n)) return FY_OK;
  bool lenient = im->options->function_body;
  if (list->n < node->num_outputs && !lenient)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Node '%s' has %u outputs but the _output_shapes attribute specifies shapes for "
                   "%u outputs",
                   node->name, node->num_outputs, list->n);
  for (uint32_t i = 0; i < node->num_outputs && i < list->n; i++) {
    fy_error why;
    fy_error_init(&why);
    fy_code code = fy_graph_merge_shape(im->g, &node->outputs[i].shape, list->v.shapes[i], &why);
    if (code == FY_RESOURCE_EXHAUSTED || (code && !lenient)) {
      fy_fail(err, code,
              "Node '%s' has an _output_shapes attribute inconsistent with the GraphDef for output "
              "#%u: %s",
              node->name, i, fy_error_text(&why));
      fy_error_clear(&why);
      return code;
    }
    fy_error_clear(&why);
  }
  fy_attrs_remove(&node->attrs, "_output_shapes");
  return FY_OK;
}

static fy_code infer(fy_import *im, fy_node *node, fy_error *err) {
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    if (node->inputs[i].node) continue;
    // A loop's Merge: nothing is known of the back edge, so only value_index has a shape.
    if (node->num_outputs > 1) node->outputs[1].shape = (fy_pshape){0, NULL};
    return FY_OK;
  }
  // A body's own calls are looked into when it runs. What is wrong behind a PartitionedCall, too.
  if (im->options->function_body && !node->function)
    FY_TRY(fy_graph_infer_node(im->g, node, err));
  else
    FY_TRY(fy_node_infer(im->g, node, !im->options->function_body && node->function, err));
  return take_output_shapes(im, node, err);
}

static fy_code keep_message(fy_arena *arena, const ProtobufCMessage *m, void **out, size_t *n,
                            fy_error *err) {
  *n = protobuf_c_message_get_packed_size(m);
  *out = fy_arena_alloc(arena, *n);
  if (!*out) return fy_fail_oom(err, *n);
  protobuf_c_message_pack(m, *out);
  return FY_OK;
}

static fy_code keep_extras(fy_import *im, const Tensorflow__NodeDef *def, fy_node *node,
                           fy_error *err) {
  fy_arena *a = &im->g->arena;
  if (def->experimental_debug_info)
    FY_TRY(keep_message(a, &def->experimental_debug_info->base, &node->debug_info,
                        &node->debug_info_bytes, err));
  if (def->experimental_type) {
    void *bytes;
    FY_TRY(keep_message(a, &def->experimental_type->base, &bytes, &node->experimental_type_bytes,
                        err));
    node->experimental_type = bytes;
  }
  return FY_OK;
}

fy_code fy_import_make(fy_import *im, size_t number, fy_error *err) {
  const Tensorflow__NodeDef *def = im->def->node[number];
  fy_arena *a = &im->g->arena;
  FY_TRY(read_inputs(im, def, err));
  FY_TRY(check_colocation(im, def, err));
  FY_TRY(check_inputs(im, def, err));
  fy_node *node = fy_arena_zalloc(a, sizeof *node);
  if (!node) return fy_fail_oom(err, sizeof *node);
  node->graph = im->g;
  FY_TRY(choose_name(im, def, node, err));
  node->op_name = def->op;  // for the look-up; the signature's own name is kept
  FY_TRY(fy_node_find_op(im->g, node, err));
  node->op_name = node->spec->name;
  const char *device = def->device;
  if (!*device && im->options->default_device) device = im->options->default_device;
  node->device = *device ? fy_arena_strdup(a, device) : "";
  if (!node->device) return fy_fail_oom(err, strlen(device));
  FY_TRY(fy_wire_attrs_read(def->n_attr, def->attr, a, &im->tensor_options, &node->attrs, err));
  size_t data = 0;
  while (data < im->num_inputs && im->inputs[data].index != FY_IMPORT_CONTROL) data++;
  FY_TRY(prefix_colocations(im, node, err));
  FY_TRY(fy_node_resolve(im->g, node, (uint32_t)data, err));
  if (!im->options->function_body)
    FY_TRY(fy_node_check_deprecation(node->spec,
                                     im->def->versions ? im->def->versions->producer : 0, err));
  FY_TRY(take_inputs(im, data, node, err));
  FY_TRY(take_controls(im, data, node, err));
  FY_TRY(infer(im, node, err));
  FY_TRY(keep_extras(im, def, node, err));
  im->made[number] = node;
  im->order[im->num_made++] = node;
  return FY_OK;
}
