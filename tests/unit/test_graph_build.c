// SPDX-License-Identifier: Apache-2.0
// Building nodes: edges at both ends, inference of attributes, refusals, and an allocation that
// fails at every point, after which the graph is as it was.

#include "support_graph.h"

#include <stdio.h>

#include "base/alloc.h"
#include "graph/export.h"

static fy_tensor *zero(void) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(FY_INT32, 0, NULL, (int32_t[]){0}, &t, NULL), FY_OK);
  return t;
}

static void check_edges(const fy_graph *g) {
  for (size_t i = 0; i < g->num_nodes; i++) {
    const fy_node *n = g->nodes[i];
    if (!n) continue;
    assert_int_equal(n->id, i);
    for (uint32_t k = 0; k < n->num_inputs; k++) {
      const fy_node_out *o = &n->inputs[k].node->outputs[n->inputs[k].index];
      uint32_t seen = 0;
      for (uint32_t u = 0; u < o->num_uses; u++)
        seen += o->uses[u].node == n && o->uses[u].index == (int32_t)k;
      assert_int_equal(seen, 1);
    }
    for (uint32_t k = 0; k < n->num_controls; k++) {
      uint32_t seen = 0;
      for (uint32_t u = 0; u < n->controls[k]->num_control_outs; u++)
        seen += n->controls[k]->control_outs[u] == n;
      assert_int_equal(seen, 1);
    }
  }
}

static void infers_and_links(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  fy_node *a = placeholder(g, "a", FY_FLOAT), *b = placeholder(g, "b", FY_FLOAT);
  fy_node *m = op2(g, "MatMul", "m", a, b);
  assert_int_equal(fy_attrs_get(&m->attrs, "T")->v.type, FY_FLOAT);
  assert_false(fy_attrs_get(&m->attrs, "transpose_a")->v.b);
  fy_node_builder builder;
  assert_int_equal(fy_node_begin(g, "AddN", "n", &builder, NULL), FY_OK);
  fy_node_add_input_list(&builder, (fy_output[]){{a, 0}, {b, 0}, {m, 0}}, 3);
  fy_node_add_control(&builder, a);
  fy_node_add_control(&builder, m);
  fy_node_add_control(&builder, a);
  fy_node_colocate(&builder, m);
  fy_node_colocate(&builder, a);
  fy_node *n = finish(&builder);
  assert_int_equal(fy_attrs_get(&n->attrs, "N")->v.i, 3);
  assert_int_equal(n->num_controls, 2);
  const fy_attr *class = fy_attrs_get(&n->attrs, "_class");
  assert_int_equal(class->n, 2);
  assert_true(fy_view_is(class->v.strings[0], "loc:@a"));
  check_edges(g);
  fy_graph_free(g);
}

static void many_controls(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  enum { N = 2000 };
  fy_node *all[N];
  char name[16];
  for (int i = 0; i < N; i++) {
    snprintf(name, sizeof name, "c%d", i);
    all[i] = op_n(g, "NoOp", name, NULL, 0, NULL);
  }
  fy_node_builder b;
  assert_int_equal(fy_node_begin(g, "NoOp", "group", &b, NULL), FY_OK);
  for (int i = 0; i < 2 * N; i++) fy_node_add_control(&b, all[i % N]);
  assert_int_equal(finish(&b)->num_controls, N);
  fy_graph_free(g);
}

static fy_code try_op(fy_graph *g, const char *op, const char *name, int n, const fy_output *in,
                      const char *expect) {
  fy_node_builder b;
  fy_error err;
  fy_node *node;
  size_t before = g->num_nodes;
  fy_error_init(&err);
  assert_int_equal(fy_node_begin(g, op, name, &b, NULL), FY_OK);
  for (int i = 0; i < n; i++) fy_node_add_input(&b, in[i]);
  fy_code code = fy_node_finish(&b, &node, &err);
  assert_null(node);
  assert_int_equal(g->num_nodes, before);
  if (!strstr(fy_error_text(&err), expect)) fail_msg("%s", fy_error_text(&err));
  fy_error_clear(&err);
  return code;
}

static void refuses(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new(), *other = fy_graph_new();
  fy_node *a = placeholder(g, "a", FY_FLOAT), *i = placeholder(g, "i", FY_INT32);
  fy_node *foreign = placeholder(other, "f", FY_FLOAT);
  assert_int_equal(try_op(g, "NoSuchOp", "x", 0, NULL, "Op type not registered 'NoSuchOp'"),
                   FY_INVALID_ARGUMENT);
  try_op(g, "NoOp", "a", 0, NULL, "Duplicate node name in graph: 'a'");
  try_op(g, "Neg", "x", 0, NULL, "0 inputs specified of 1 inputs");
  try_op(g, "Neg", "x", 2, (fy_output[]){{a, 0}, {a, 0}},
         "More Input() calls than the 1 input_args");
  try_op(g, "Neg", "x", 1, (fy_output[]){{a, 1}}, "not in range [0, 1)");
  try_op(g, "Neg", "x", 1, (fy_output[]){{a, -1}}, "not in range [0, 1)");
  try_op(g, "Neg", "x", 1, (fy_output[]){{NULL, 0}}, "nullptr");
  try_op(g, "Neg", "x", 1, (fy_output[]){{foreign, 0}}, "another graph");
  try_op(g, "AddV2", "x", 2, (fy_output[]){{a, 0}, {i, 0}}, "Inconsistent values for attr 'T'");
  try_op(g, "Placeholder", "x", 0, NULL, "NodeDef missing attr 'dtype'");
  check_edges(g);
  fy_graph_free(g);
  fy_graph_free(other);
}

// Builds a small graph; stops at the first node that cannot be made.
static bool build(fy_graph *g) {
  fy_node *last = NULL;
  fy_tensor *t = NULL;
  if (fy_tensor_new(FY_FLOAT, 1, (int64_t[]){3}, &t, NULL)) return false;
  bool sound = true;
  for (int i = 0; i < 12 && sound; i++) {
    fy_node_builder b;
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    if (fy_node_begin(g, i % 3 == 0 ? "Const" : i % 3 == 1 ? "Neg" : "ConcatV2", name, &b, NULL)) {
      fy_node_abandon(&b);
      sound = false;
      break;
    }
    if (i % 3 == 0) {
      fy_attr value = {.kind = FY_ATTR_TENSOR, .v.tensor = t}, type = fy_attr_type(FY_FLOAT);
      fy_node_set_attr(&b, "value", &value);
      fy_node_set_attr(&b, "dtype", &type);
      fy_node_set_device(&b, "/device:CPU:0");
    } else if (i % 3 == 1) {
      fy_node_add_input(&b, (fy_output){last, 0});
      fy_node_colocate(&b, last);
      fy_node_add_control(&b, g->nodes[0]);
    } else {
      fy_node_add_input_list(&b, (fy_output[]){{last, 0}, {last, 0}}, 2);
      fy_attr private = fy_attr_string(FY_VIEW("a private text"));
      fy_node_set_attr(&b, "_private", &private);
      fy_node *axis = fy_graph_find(g, "axis");
      fy_node_add_input(&b, (fy_output){axis, 0});
    }
    fy_node *n;
    size_t before = g->num_nodes;
    sound = fy_node_finish(&b, &n, NULL) == FY_OK;
    assert_int_equal(g->num_nodes, before + sound);
    assert_ptr_equal(fy_graph_find(g, name), n);
    last = n;
  }
  fy_tensor_release(t);
  return sound;
}

static void allocation_fails_at_every_point(void **state) {
  (void)state;
  for (int64_t nth = 1;; nth++) {
    fy_graph *g = fy_graph_new();
    constant(g, "axis", zero());
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    bool sound = build(g);
    int64_t hits = fy_fault_hits(FY_FAULT_ALLOC);
    fy_fault_disarm(FY_FAULT_ALLOC);
    check_edges(g);
    fy_graph_free(g);
    if (sound && hits < nth) return;
    assert_true(nth < 100000);
  }
}

static void prints(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  fy_node *a = placeholder(g, "a", FY_FLOAT);
  fy_node *in[2] = {a, a};
  fy_node *m = op_n(g, "AddV2", "m", "/device:CPU:0", 2, in);
  assert_int_equal(fy_graph_add_control(g, a, m, NULL), FY_OK);
  fy_str s;
  fy_str_init(&s);
  fy_node_print(&s, m);
  assert_string_equal(fy_str_text(&s),
                      "{{node m}} = AddV2[T=DT_FLOAT, _device=\"/device:CPU:0\"](a, a, ^a)");
  fy_str_free(&s);
  fy_graph_dump(&s, g);
  assert_non_null(
      strstr(fy_str_text(&s), "m = AddV2[T=DT_FLOAT](a, a, ^a) @/device:CPU:0 : float"));
  fy_str_free(&s);
  fy_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(infers_and_links),
      cmocka_unit_test(many_controls),
      cmocka_unit_test(refuses),
      cmocka_unit_test(prints),
      cmocka_unit_test(allocation_fails_at_every_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
