// SPDX-License-Identifier: Apache-2.0
// Import and export: random graphs survive the round trip in any order of nodes, hostile ones are
// refused without a trace, and an allocation may fail at every point.

#include "support_graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/export.h"
#include "graph/function.h"
#include "graph/import.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

static Tensorflow__GraphDef *parse(fy_arena *a, const char *text) {
  ProtobufCMessage *m;
  fy_error err;
  fy_error_init(&err);
  if (fy_wire_text_parse(&tensorflow__graph_def__descriptor, text, strlen(text), a, &m, &err))
    fail_msg("%s", fy_error_text(&err));
  return (Tensorflow__GraphDef *)m;
}

static fy_code import(fy_graph *g, const char *text, const fy_import_options *o,
                      fy_import_results *r, char *why, size_t cap) {
  fy_arena a;
  fy_error err;
  fy_arena_init(&a);
  fy_error_init(&err);
  fy_code code = fy_graph_import(g, parse(&a, text), o, &a, r, &err);
  if (why) snprintf(why, cap, "%s", fy_error_text(&err));
  fy_error_clear(&err);
  fy_arena_free(&a);
  return code;
}

#define NODE(name, op, rest) "node { name: '" name "' op: '" op "' " rest " } "
#define FLOAT_ATTR(key)      "attr { key: '" key "' value { type: DT_FLOAT } } "

static fy_tensor *zero(void) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(FY_INT32, 0, NULL, (int32_t[]){0}, &t, NULL), FY_OK);
  return t;
}

// ---------------------------------------------------------------- round trips
static fy_graph *random_graph(unsigned seed, int n) {
  static const char *const unary[] = {"Neg", "Identity", "Relu", "Square", "Exp"};
  fy_graph *g = fy_graph_new();
  fy_node **all = malloc((size_t)n * sizeof *all);
  srand(seed);
  for (int i = 0; i < n; i++) {
    char name[24];
    snprintf(name, sizeof name, "s%d/n%d", rand() % 4, i);
    fy_node_builder b;
    int kind = i < 2 ? 0 : rand() % 5;
    const char *op = kind == 0   ? "Placeholder"
                     : kind == 1 ? unary[rand() % 5]
                     : kind == 2 ? "AddV2"
                     : kind == 3 ? "Split"
                                 : "AddN";
    assert_int_equal(fy_node_begin(g, op, name, &b, NULL), FY_OK);
    if (kind == 0) {
      fy_attr t = fy_attr_type(FY_FLOAT);
      fy_node_set_attr(&b, "dtype", &t);
    } else if (kind == 3) {
      fy_node *axis = fy_graph_find(g, "axis");
      if (!axis) axis = constant(g, "axis", zero());
      fy_attr num = fy_attr_int(1 + rand() % 3);
      fy_node_set_attr(&b, "num_split", &num);
      fy_node_add_input(&b, (fy_output){axis, 0});
      fy_node_add_input(&b, (fy_output){all[rand() % i], 0});
    } else {
      fy_output in[3];
      int count = kind == 1 ? 1 : kind == 2 ? 2 : 1 + rand() % 3;
      for (int k = 0; k < count; k++) {
        fy_node *from = all[rand() % i];
        in[k] = (fy_output){from, rand() % (int)from->num_outputs};
      }
      if (kind == 4)
        fy_node_add_input_list(&b, in, count);
      else
        for (int k = 0; k < count; k++) fy_node_add_input(&b, in[k]);
    }
    for (int k = rand() % 3; i && k > 0; k--) fy_node_add_control(&b, all[rand() % i]);
    if (rand() % 4 == 0) fy_node_set_device(&b, "/device:CPU:0");
    all[i] = finish(&b);
  }
  free(all);
  return g;
}

static char *text_of(fy_graph *g) {
  fy_arena a;
  fy_str s;
  Tensorflow__GraphDef *def;
  fy_arena_init(&a);
  fy_str_init(&s);
  assert_int_equal(fy_graph_export(g, &a, &def, NULL), FY_OK);
  fy_wire_text_print(&s, &def->base);
  fy_arena_free(&a);
  return fy_str_take(&s);
}

static void round_trips(void **state) {
  (void)state;
  for (unsigned seed = 1; seed < 40; seed++) {
    fy_graph *g = random_graph(seed, 5 + (int)seed * 2), *h = fy_graph_new();
    fy_arena a;
    fy_error err;
    Tensorflow__GraphDef *def;
    fy_arena_init(&a);
    fy_error_init(&err);
    assert_int_equal(fy_graph_export(g, &a, &def, NULL), FY_OK);
    if (fy_graph_import(h, def, NULL, &a, NULL, &err)) fail_msg("%s", fy_error_text(&err));
    char *x = text_of(g), *y = text_of(h);
    assert_string_equal(x, y);
    // Shuffled, the graph is the same but for the order of its nodes.
    for (size_t i = def->n_node; i > 1; i--) {
      size_t k = (size_t)rand() % i;
      Tensorflow__NodeDef *t = def->node[i - 1];
      def->node[i - 1] = def->node[k];
      def->node[k] = t;
    }
    fy_graph *mixed = fy_graph_new();
    if (fy_graph_import(mixed, def, NULL, &a, NULL, &err)) fail_msg("%s", fy_error_text(&err));
    assert_int_equal(mixed->num_nodes, g->num_nodes);
    for (size_t i = 0; i < g->num_nodes; i++) {
      fy_node *n = g->nodes[i], *m = fy_graph_find(mixed, n->name);
      assert_non_null(m);
      assert_int_equal(n->num_inputs, m->num_inputs);
      for (uint32_t k = 0; k < n->num_inputs; k++) {
        assert_string_equal(n->inputs[k].node->name, m->inputs[k].node->name);
        assert_int_equal(n->inputs[k].index, m->inputs[k].index);
      }
      assert_int_equal(n->num_controls, m->num_controls);
      assert_true(fy_attrs_equal(&n->attrs, &m->attrs));
    }
    fy_free(x);
    fy_free(y);
    fy_arena_free(&a);
    fy_graph_free(mixed);
    fy_graph_free(h);
    fy_graph_free(g);
  }
}

static void keeps_extras(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  assert_int_equal(import(g,
                          NODE("n", "NoOp",
                               "experimental_debug_info { original_node_names: 'o' } "
                               "experimental_type { type_id: TFT_TENSOR } "),
                          NULL, NULL, NULL, 0),
                   FY_OK);
  char *text = text_of(g);
  assert_non_null(strstr(text, "original_node_names: \"o\""));
  assert_non_null(strstr(text, "type_id: TFT_TENSOR"));
  fy_free(text);
  fy_graph_free(g);
}

// ---------------------------------------------------------------- loops and cycles
static const char loop[] = NODE("x", "Placeholder", FLOAT_ATTR("dtype")) NODE(
    "enter", "Enter", "input: 'x' " FLOAT_ATTR("T") "attr { key: 'frame_name' value { s: 'f' } }")
    NODE("merge", "Merge",
         "input: 'enter' input: 'next' " FLOAT_ATTR("T") "attr { key: 'N' value { i: 2 } }")
        NODE("body", "Neg", "input: 'merge' " FLOAT_ATTR("T"))
            NODE("next", "NextIteration", "input: 'body' " FLOAT_ATTR("T"));

static void loops(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  char why[512];
  if (import(g, loop, NULL, NULL, why, sizeof why)) fail_msg("%s", why);
  fy_node *merge = fy_graph_find(g, "merge");
  assert_ptr_equal(merge->inputs[1].node, fy_graph_find(g, "next"));
  assert_int_equal(fy_graph_find(g, "next")->outputs[0].num_uses, 1);
  fy_arena a;
  fy_node **order;
  size_t n;
  fy_arena_init(&a);
  assert_int_equal(fy_graph_order(g, &a, &order, &n, NULL), FY_OK);
  assert_int_equal(n, 5);
  fy_arena_free(&a);
  char *text = text_of(g);
  fy_graph *h = fy_graph_new();
  if (import(h, text, NULL, NULL, why, sizeof why)) fail_msg("%s", why);
  fy_free(text);
  fy_graph_free(h);
  fy_graph_free(g);
}

static void refuse(const char *text, const char *expect) {
  fy_graph *g = fy_graph_new();
  placeholder(g, "there", FY_FLOAT);
  char why[2048];
  assert_int_not_equal(import(g, text, NULL, NULL, why, sizeof why), FY_OK);
  if (!strstr(why, expect)) fail_msg("%s", why);
  assert_int_equal(g->num_nodes, 1);
  assert_int_equal(g->by_name.live, 1);
  assert_int_equal(fy_funclib_count(g->functions), 0);
  fy_graph_free(g);
}

static void refuses(void **state) {
  (void)state;
  refuse(NODE("a", "Neg", "input: 'b' " FLOAT_ATTR("T"))
             NODE("b", "Neg", "input: 'a' " FLOAT_ATTR("T")),
         "2 nodes in a cycle\n\ta -> b -> a (each reads the next)");
  refuse(NODE("a", "Neg", "input: 'a' " FLOAT_ATTR("T")), "1 nodes in a cycle\n\ta -> a (");
  refuse(NODE("a", "NoOp", "input: '^a' "), "1 nodes in a cycle\n\ta -> a (");
  refuse(NODE("z", "Neg", "input: 'a' " FLOAT_ATTR("T"))  // z waits, but is not part of it
         NODE("a", "AddV2", "input: 'x' input: 'b' " FLOAT_ATTR("T"))
             NODE("x", "Placeholder", FLOAT_ATTR("dtype"))
                 NODE("b", "Neg", "input: 'a' " FLOAT_ATTR("T")),
         "3 nodes in a cycle\n\tb -> a -> b (");
  refuse(NODE("there", "NoOp", ""), "Node name 'there' already exists in the Graph");
  refuse(NODE("a", "NoOp", "") NODE("a", "NoOp", ""), "Node 'a' is not unique");
  refuse(NODE("a", "", ""), "does not specify an operation");
  refuse(NODE("a", "NoOp", "input: '' "), "Unknown input node ''");
  refuse(NODE("a", "NoOp", "input: '^' "), "Unknown input node '^'");
  refuse(NODE("a", "NoOp", "input: ':0' "), "Unknown input node ':0'");
  refuse(NODE("x", "Placeholder", FLOAT_ATTR("dtype"))
             NODE("a", "Neg", "input: 'x:99999999999999999999' " FLOAT_ATTR("T")),
         "Connecting to invalid output");
  refuse(NODE("x", "Placeholder", FLOAT_ATTR("dtype"))
             NODE("a", "Split",
                  "input: 'x' input: 'x' " FLOAT_ATTR(
                      "T") "attr { key: 'num_split' value { i: 9000000000 } }"),
         "too big");
  refuse(NODE("m", "Merge",
              "input: 'n:5' input: 'n' " FLOAT_ATTR("T") "attr { key: 'N' value { i: 2 } }")
             NODE("n", "NextIteration", "input: 'm' " FLOAT_ATTR("T")),
         "in a cycle");
  refuse("library { function { signature { name: 'F' } } } " NODE("a", "NoSuch", ""), "NoSuch");
  refuse("library { function { signature { name: 'Neg' } } } ", "an op with the same name");
}

static void deep_chain(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new(), *h = fy_graph_new();
  fy_node *at = placeholder(g, "x", FY_FLOAT);
  for (int i = 0; i < 20000; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    at = op1(g, "Identity", name, at);
  }
  fy_arena a;
  Tensorflow__GraphDef *def;
  fy_arena_init(&a);
  assert_int_equal(fy_graph_export(g, &a, &def, NULL), FY_OK);
  assert_int_equal(fy_graph_import(h, def, NULL, &a, NULL, NULL), FY_OK);
  fy_arena_free(&a);
  fy_graph_free(h);
  fy_graph_free(g);
}

// ---------------------------------------------------------------- options
static const char pair[] = NODE("a", "Placeholder", FLOAT_ATTR("dtype"))
    NODE("b", "Neg",
         "input: 'a' " FLOAT_ATTR("T") "attr { key: '_class' value { list { s: 'loc:@a' } } }");

static void options(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "x", FY_FLOAT);
  fy_import_map maps[] = {{"a", 0, {x, 0}}, {"zz", 3, {x, 0}}, {"b", 9, {x, 0}}};
  fy_import_options o = {.prefix = "p",
                         .maps = maps,
                         .num_maps = 3,
                         .return_outputs = (fy_import_id[]){{"b", 0}, {"a", 0}},
                         .num_return_outputs = 2,
                         .return_nodes = (const char *[]){"a"},
                         .num_return_nodes = 1};
  fy_arena a;
  fy_import_results r;
  fy_arena_init(&a);
  assert_int_equal(fy_graph_import(g, parse(&a, pair), &o, &a, &r, NULL), FY_OK);
  assert_string_equal(r.outputs[0].node->name, "p/b");
  assert_ptr_equal(r.outputs[1].node, x);
  assert_string_equal(r.nodes[0]->name, "p/a");
  assert_int_equal(r.num_unused, 2);
  assert_string_equal(r.unused[0].name, "b");
  assert_string_equal(r.unused[1].name, "zz");
  const fy_attr *class = fy_attrs_get(&r.outputs[0].node->attrs, "_class");
  assert_true(fy_view_is(class->v.strings[0], "loc:@p/a"));
  o = (fy_import_options){.uniquify_names = true};
  for (int i = 0; i < 3; i++)
    assert_int_equal(fy_graph_import(g, parse(&a, pair), &o, &a, NULL, NULL), FY_OK);
  class = fy_attrs_get(&fy_graph_find(g, "b_2")->attrs, "_class");
  assert_true(fy_view_is(class->v.strings[0], "loc:@a_2"));
  fy_arena_free(&a);
  fy_graph_free(g);
}

// ---------------------------------------------------------------- shortage of memory
static const char library[] =
    "library { function { signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } "
    "output_arg { name: 'y' type: DT_FLOAT } } node_def { name: 'n' op: 'Neg' input: 'x' "
    FLOAT_ATTR("T") "} ret { key: 'y' value: 'n:y:0' } } "
    "gradient { function_name: 'F' gradient_func: 'G' } } "
    NODE("call", "F", "input: 'x' ");

static bool import_and_export(fy_graph *g, const uint8_t *bytes, size_t n, fy_node *control) {
  fy_arena a;
  ProtobufCMessage *m;
  fy_import_results r;
  fy_import_options o = {.uniquify_names = true,
                         .controls = &control,
                         .num_controls = 1,
                         .return_nodes = (const char *[]){"x"},
                         .num_return_nodes = 1};
  Tensorflow__GraphDef *def;
  size_t before = g->num_nodes, functions = fy_funclib_count(g->functions);
  uint32_t outs = control->num_control_outs;
  fy_arena_init(&a);
  bool sound =
      fy_wire_unpack(&tensorflow__graph_def__descriptor, bytes, n, NULL, &a, &m, NULL) == FY_OK;
  if (sound) {
    sound = fy_graph_import(g, (Tensorflow__GraphDef *)m, &o, &a, &r, NULL) == FY_OK;
    if (!sound) {
      assert_int_equal(g->num_nodes, before);
      assert_int_equal(fy_funclib_count(g->functions), functions);
      assert_int_equal(control->num_control_outs, outs);
    }
  }
  sound = sound && fy_graph_export(g, &a, &def, NULL) == FY_OK;
  uint8_t *packed = NULL;
  size_t packed_n;
  sound = sound && fy_wire_pack(&def->base, &packed, &packed_n, NULL) == FY_OK;
  fy_free(packed);
  fy_arena_free(&a);
  return sound;
}

static void allocation_fails_at_every_point(void **state) {
  (void)state;
  fy_arena a;
  uint8_t *bytes;
  size_t n;
  fy_arena_init(&a);
  char text[sizeof loop + sizeof library];
  snprintf(text, sizeof text, "%s%s", loop, library);
  assert_int_equal(fy_wire_pack(&parse(&a, text)->base, &bytes, &n, NULL), FY_OK);
  for (int64_t nth = 1;; nth++) {
    fy_graph *g = fy_graph_new();
    fy_node *c = placeholder(g, "x", FY_FLOAT);
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    bool sound = import_and_export(g, bytes, n, c);
    int64_t hits = fy_fault_hits(FY_FAULT_ALLOC);
    fy_fault_disarm(FY_FAULT_ALLOC);
    fy_graph_free(g);
    if (hits < nth) {
      assert_true(sound);
      break;
    }
    assert_true(nth < 100000);
  }
  fy_free(bytes);
  fy_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trips),
      cmocka_unit_test(keeps_extras),
      cmocka_unit_test(loops),
      cmocka_unit_test(refuses),
      cmocka_unit_test(deep_chain),
      cmocka_unit_test(options),
      cmocka_unit_test(allocation_fails_at_every_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
