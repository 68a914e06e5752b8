// SPDX-License-Identifier: Apache-2.0
// Functions: graph to FunctionDef and back, lists, attribute placeholders, recursion, shortage of
// memory.

#include "support_graph.h"

#include <stdio.h>

#include "base/alloc.h"
#include "graph/export.h"
#include "graph/function.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

static Tensorflow__FunctionDef *parse(fy_arena *a, const char *text) {
  ProtobufCMessage *m;
  fy_error err;
  fy_error_init(&err);
  if (fy_wire_text_parse(&tensorflow__function_def__descriptor, text, strlen(text), a, &m, &err))
    fail_msg("%s", fy_error_text(&err));
  return (Tensorflow__FunctionDef *)m;
}

static const fy_function *add(fy_funclib *lib, const char *text) {
  fy_arena a;
  fy_error err;
  fy_arena_init(&a);
  fy_error_init(&err);
  Tensorflow__FunctionDef *def = parse(&a, text);
  char name[64];
  snprintf(name, sizeof name, "%s", def->signature->name);
  if (fy_funclib_add(lib, def, &err)) fail_msg("%s", fy_error_text(&err));
  fy_arena_free(&a);
  return fy_funclib_find(lib, name, strlen(name));
}

static fy_graph *instantiate(fy_funclib *lib, const fy_function *f, const fy_attrs *attrs) {
  fy_graph *g;
  fy_error err;
  fy_error_init(&err);
  if (fy_function_instantiate(lib, f, attrs, &g, &err)) fail_msg("%s", fy_error_text(&err));
  return g;
}

static const char polymorphic[] =
    "signature { name: 'Poly' input_arg { name: 'x' type_attr: 'T' } "
    "input_arg { name: 'l' type_attr: 'T' number_attr: 'N' } "
    "output_arg { name: 'y' type_attr: 'T' } output_arg { name: 'z' type_attr: 'T' number_attr: "
    "'N' } "
    "attr { name: 'T' type: 'type' } attr { name: 'N' type: 'int' default_value { i: 2 } } } "
    "node_def { name: 'sum' op: 'AddN' input: 'l' attr { key: 'T' value { placeholder: 'T' } } "
    "  attr { key: 'N' value { placeholder: 'N' } } } "
    "node_def { name: 'id' op: 'IdentityN' input: 'l:1' input: 'l:0' "
    "  attr { key: 'T' value { list { type: [DT_FLOAT, DT_FLOAT] } } } } "
    "node_def { name: 'add' op: 'AddV2' input: 'x' input: 'sum:sum:0' input: '^id' "
    "  attr { key: 'T' value { placeholder: 'T' } } } "
    "ret { key: 'y' value: 'add:z:0' } ret { key: 'z' value: 'id:output' } "
    "control_ret { key: 'c' value: 'id' }";

static void lists_and_placeholders(void **state) {
  (void)state;
  fy_funclib *lib = fy_funclib_new();
  const fy_function *f = add(lib, polymorphic);
  fy_arena a;
  fy_attrs attrs = {0};
  fy_arena_init(&a);
  fy_attr t = fy_attr_type(FY_FLOAT), n = fy_attr_int(2);
  assert_int_equal(fy_attrs_set(&attrs, &a, "T", &t, NULL), FY_OK);
  assert_int_equal(fy_attrs_set(&attrs, &a, "N", &n, NULL), FY_OK);
  fy_graph *g = instantiate(lib, f, &attrs);
  fy_node *id = fy_graph_find(g, "id");
  assert_string_equal(id->inputs[0].node->name, "l_1");
  assert_string_equal(id->inputs[1].node->name, "l_0");
  assert_true(id->user_flags & FY_NODE_MUST_RUN);
  assert_int_equal(fy_graph_find(g, "sum")->num_inputs, 2);
  fy_node *second = fy_graph_find(g, "z_1_RetVal");
  assert_string_equal(second->op_name, "_Retval");
  assert_ptr_equal(second->inputs[0].node, id);
  assert_int_equal(second->inputs[0].index, 1);
  assert_int_equal(fy_attrs_get(&second->attrs, "index")->v.i, 2);
  fy_graph_free(g);
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_function_instantiate(lib, f, NULL, &g, &err), FY_NOT_FOUND);
  assert_null(g);
  fy_error_clear(&err);
  fy_arena_free(&a);
  fy_funclib_unref(lib);
}

static void back_and_forth(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  fy_node *x = placeholder(g, "In", FY_FLOAT), *y = placeholder(g, "in", FY_FLOAT);
  fy_node *s = op2(g, "AddV2", "scope/Sum", x, y);
  fy_node *n = op1(g, "Neg", "sum", s);
  fy_output in[] = {{x, 0}, {y, 0}}, out[] = {{s, 0}, {n, 0}, {s, 0}};
  fy_function_source source = {.name = "F",
                               .num_nodes = -1,
                               .num_inputs = 2,
                               .inputs = in,
                               .num_outputs = 3,
                               .outputs = out};
  fy_arena a;
  fy_arena_init(&a);
  Tensorflow__FunctionDef *def;
  fy_error err;
  fy_error_init(&err);
  if (fy_function_from_graph(g, &source, &a, &def, &err)) fail_msg("%s", fy_error_text(&err));
  assert_string_equal(def->signature->output_arg[0]->name, "scope_sum");
  assert_string_equal(def->signature->output_arg[1]->name, "sum");
  assert_string_equal(def->signature->output_arg[2]->name, "scope_sum_0");
  assert_string_equal(def->signature->input_arg[0]->name, "in");
  assert_string_equal(def->signature->input_arg[1]->name, "in_0");
  assert_string_equal(def->node_def[1]->name, "sum_0");
  assert_string_equal(def->node_def[1]->input[0], "scope/Sum:z:0");
  assert_int_equal(fy_funclib_add(g->functions, def, NULL), FY_OK);
  fy_graph *body = instantiate(g->functions, fy_funclib_find(g->functions, "F", 1), NULL);
  assert_int_equal(body->num_nodes, 2 + 2 + 3);
  fy_graph_free(body);
  // A call infers its shapes through the body.
  fy_node *c = constant(g, "c", floats(1, (int64_t[]){3}, (float[]){1, 2, 3}));
  fy_node *call = op2(g, "F", "call", c, c);
  assert_int_equal(call->outputs[1].shape.rank, 1);
  assert_int_equal(call->outputs[1].shape.dims[0], 3);
  fy_arena_free(&a);
  fy_graph_free(g);
}

static void recursion_ends(void **state) {
  (void)state;
  fy_graph *g = fy_graph_new();
  // Twice each: without a limit the number of bodies would double at every level.
  add(g->functions,
      "signature { name: 'R' input_arg { name: 'x' type: DT_FLOAT } "
      "output_arg { name: 'y' type: DT_FLOAT } } "
      "node_def { name: 'a' op: 'R' input: 'x' } "
      "node_def { name: 'b' op: 'R' input: 'a:y:0' } "
      "ret { key: 'y' value: 'b:y:0' }");
  fy_node *x = placeholder(g, "x", FY_FLOAT);
  assert_int_equal(op1(g, "R", "r", x)->outputs[0].shape.rank, -1);
  fy_graph_free(g);
}

static void refuse(const char *text, const char *expect) {
  fy_funclib *lib = fy_funclib_new();
  const fy_function *f = add(lib, text);
  fy_graph *g;
  fy_error err;
  fy_error_init(&err);
  assert_int_not_equal(fy_function_instantiate(lib, f, NULL, &g, &err), FY_OK);
  assert_null(g);
  if (!strstr(fy_error_text(&err), expect)) fail_msg("%s", fy_error_text(&err));
  fy_error_clear(&err);
  fy_funclib_unref(lib);
}

#define SIG                                                                                    \
  "signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: " \
  "DT_FLOAT } } "

static void refuses(void **state) {
  (void)state;
  refuse(SIG, "Return y missing");
  refuse(SIG "ret { key: 'y' value: 'nobody' }", "Return y -> nobody is not found.");
  refuse(SIG "ret { key: 'y' value: 'x:7' }", "Return y -> x:7 is not found.");
  refuse(SIG
         "node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } } "
         "ret { key: 'y' value: 'n:nothing:0' }",
         "is not found");
  refuse(SIG "node_def { name: 'x' op: 'NoOp' } ret { key: 'y' value: 'x' }", "Duplicated");
  refuse(SIG "node_def { name: 'n' op: 'Nope' } ret { key: 'y' value: 'x' }", "Nope");
  refuse(SIG
         "node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { placeholder: 'Q' } } } "
         "ret { key: 'y' value: 'n:y:0' }",
         "Failed to bind all placeholders in $Q");
  refuse(SIG "node_def { name: 'n' op: 'NoOp' input: '^q' } ret { key: 'y' value: 'x' }",
         "not found");
}

static bool whole_way(void) {
  fy_graph *g = fy_graph_new();
  if (!g) return false;
  fy_arena a;
  fy_arena_init(&a);
  fy_node_builder b;
  fy_node *x = NULL, *y = NULL;
  fy_attr t = fy_attr_type(FY_FLOAT);
  bool sound = fy_node_begin(g, "Placeholder", "x", &b, NULL) == FY_OK;
  if (sound) {
    fy_node_set_attr(&b, "dtype", &t);
    sound = fy_node_finish(&b, &x, NULL) == FY_OK;
  }
  sound = sound && fy_node_begin(g, "Neg", "y", &b, NULL) == FY_OK;
  if (sound) {
    fy_node_add_input(&b, (fy_output){x, 0});
    sound = fy_node_finish(&b, &y, NULL) == FY_OK;
  }
  Tensorflow__FunctionDef *def;
  fy_output in = {x, 0}, out = {y, 0};
  const fy_node *control = y;
  fy_function_source source = {.name = "F",
                               .append_hash = true,
                               .num_nodes = -1,
                               .num_inputs = 1,
                               .inputs = &in,
                               .num_outputs = 1,
                               .outputs = &out,
                               .num_controls = 1,
                               .controls = &control};
  sound = sound && fy_function_from_graph(g, &source, &a, &def, NULL) == FY_OK;
  sound = sound && fy_funclib_add(g->functions, def, NULL) == FY_OK;
  fy_graph *body = NULL;
  if (sound) {
    const fy_function *f =
        fy_funclib_find(g->functions, def->signature->name, strlen(def->signature->name));
    sound = fy_function_instantiate(g->functions, f, NULL, &body, NULL) == FY_OK;
    fy_graph_free(body);
  }
  sound = sound && fy_node_begin(g, def->signature->name, "call", &b, NULL) == FY_OK;
  if (sound) {
    fy_node_add_input(&b, (fy_output){x, 0});
    sound = fy_node_finish(&b, &y, NULL) == FY_OK;
  }
  fy_arena_free(&a);
  fy_graph_free(g);
  return sound;
}

static void allocation_fails_at_every_point(void **state) {
  (void)state;
  for (int64_t nth = 1;; nth++) {
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    bool sound = whole_way();
    int64_t hits = fy_fault_hits(FY_FAULT_ALLOC);
    fy_fault_disarm(FY_FAULT_ALLOC);
    if (hits < nth) {
      assert_true(sound);
      return;
    }
    assert_true(nth < 100000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_and_placeholders),
      cmocka_unit_test(back_and_forth),
      cmocka_unit_test(recursion_ends),
      cmocka_unit_test(refuses),
      cmocka_unit_test(allocation_fails_at_every_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
