// SPDX-License-Identifier: Apache-2.0
// dump.c: nodes and graphs as text, for errors and for people.

#include "graph/graph.h"

static void print_attrs(fy_str *out, const fy_node *node) {
  for (uint32_t i = 0; i < node->attrs.n; i++) {
    fy_str_printf(out, "%s%s=", i ? ", " : "", node->attrs.items[i].name);
    fy_attr_print(out, &node->attrs.items[i].value);
  }
}

static void print_inputs(fy_str *out, const fy_node *node) {
  for (uint32_t i = 0; i < node->num_inputs; i++) {
    fy_output in = node->inputs[i];
    fy_str_printf(out, "%s%s", i ? ", " : "", in.node ? in.node->name : "?");
    if (in.index > 0 || (i < 64 && (node->explicit_zero >> i & 1)))
      fy_str_printf(out, ":%d", in.index);
  }
  for (uint32_t i = 0; i < node->num_controls; i++)
    fy_str_printf(out, "%s^%s", i || node->num_inputs ? ", " : "",
                  node->controls[i] ? node->controls[i]->name : "?");
}

void fy_node_print(fy_str *out, const fy_node *node) {
  fy_str_printf(out, "{{node %s}} = %s[", node->name, node->op_name);
  print_attrs(out, node);
  // TensorFlow shows the device as a last attribute.
  if (node->device && *node->device)
    fy_str_printf(out, "%s_device=\"%s\"", node->attrs.n ? ", " : "", node->device);
  fy_str_add(out, "](");
  print_inputs(out, node);
  fy_str_addc(out, ')');
}

static void dump_node(fy_str *out, const fy_node *node) {
  fy_str_printf(out, "%s = %s[", node->name, node->op_name);
  print_attrs(out, node);
  fy_str_add(out, "](");
  print_inputs(out, node);
  fy_str_addc(out, ')');
  if (node->device && *node->device) fy_str_printf(out, " @%s", node->device);
  for (uint32_t i = 0; i < node->num_outputs; i++) {
    const fy_node_out *o = &node->outputs[i];
    fy_str_printf(out, "%s%s", i ? ", " : " : ", fy_dtype_name(o->dtype));
    if (o->shape.rank >= 0)
      fy_shape_print(out, o->shape.rank, o->shape.dims);
    else
      fy_str_add(out, "<unknown>");
  }
  fy_str_addc(out, '\n');
}

void fy_graph_dump(fy_str *out, const fy_graph *g) {
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i]) dump_node(out, g->nodes[i]);
}
