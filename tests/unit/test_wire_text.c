// SPDX-License-Identifier: Apache-2.0
// test_wire_text.c: protobuf text, read and printed.

#include "wire_support.h"

#include "config.pb-c.h"
#include "graph.pb-c.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

static fy_code parse(const ProtobufCMessageDescriptor *desc, const char *text, void *out) {
  ProtobufCMessage *msg;
  fy_code code = fy_wire_text_parse(desc, text, strlen(text), &arena, &msg, &err);
  *(ProtobufCMessage **)out = msg;
  return code;
}
#define NODE   &tensorflow__node_def__descriptor
#define ATTR   &tensorflow__attr_value__descriptor
#define TENSOR &tensorflow__tensor_proto__descriptor

static void text_and_bytes_agree(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const ProtobufCMessageDescriptor *desc;
  } samples[] = {{"wire/graph", &tensorflow__graph_def__descriptor},
                 {"wire/config", &tensorflow__config_proto__descriptor},
                 {"wire/run_options", &tensorflow__run_options__descriptor}};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    char file[64];
    size_t n, text_n;
    snprintf(file, sizeof file, "%s.pb", samples[i].name);
    uint8_t *bytes = sample_read(file, &n);
    snprintf(file, sizeof file, "%s.pbtxt", samples[i].name);
    uint8_t *text = sample_read(file, &text_n);
    ProtobufCMessage *a, *b, *c;
    fy_str sa, sb, sc;
    fy_str_init(&sa);
    fy_str_init(&sb);
    fy_str_init(&sc);
    assert_ok(fy_wire_unpack(samples[i].desc, bytes, n, NULL, &arena, &a, &err));
    assert_ok(fy_wire_text_parse(samples[i].desc, (char *)text, text_n, &arena, &b, &err));
    fy_wire_text_print(&sa, a);
    fy_wire_text_print(&sb, b);
    assert_string_equal(fy_str_text(&sa), fy_str_text(&sb));
    fy_wire_text_print_line(&sb, b);
    assert_ok(fy_wire_text_parse(samples[i].desc, sa.p, sa.len, &arena, &c, &err));
    fy_wire_text_print(&sc, c);
    assert_string_equal(fy_str_text(&sa), fy_str_text(&sc));
    fy_str_free(&sa);
    fy_str_free(&sb);
    fy_str_free(&sc);
    free(bytes);
    free(text);
  }
}

static void reads_every_form(void **state) {
  (void)state;
  Tensorflow__TensorProto *t;
  assert_ok(
      parse(TENSOR,
            "# a comment\n dtype: DT_FLOAT, tensor_shape: <dim { size: 2 } dim <size:0x10>>;\n"
            "float_val: [1, -2.5e1f, inf, -Infinity, nan, .5]\n float_val: 1e39 bool_val: t\n"
            "bool_val:false int_val: [ ] int_val: -2147483648 uint64_val:18446744073709551615"
            " string_val: \"a\\001\\x41\\n\" 'b\"' string_val: \"\\u00e9\\U0001F600\"",
            &t));
  assert_int_equal(t->dtype, 1);
  assert_int_equal(t->tensor_shape->dim[1]->size, 16);
  assert_int_equal(t->n_float_val, 7);
  assert_true(t->float_val[1] == -25.0f && t->float_val[2] > 1e38f && t->float_val[3] < -1e38f);
  assert_true(t->float_val[4] != t->float_val[4] && t->float_val[5] == 0.5f);
  assert_int_equal(t->n_bool_val, 2);
  assert_true(t->bool_val[0] && !t->bool_val[1]);
  assert_int_equal(t->n_int_val, 1);
  assert_int_equal(t->int_val[0], INT32_MIN);
  assert_true(t->uint64_val[0] == UINT64_MAX);
  assert_int_equal(t->string_val[0].len, 6);
  assert_memory_equal(t->string_val[0].data, "a\001A\nb\"", 6);
  assert_memory_equal(t->string_val[1].data, "\xc3\xa9\xf0\x9f\x98\x80", 6);
  Tensorflow__AttrValue *a;
  assert_ok(parse(ATTR, "type: 14", &a));
  assert_int_equal(a->type, 14);
  assert_int_equal(a->value_case, TENSORFLOW__ATTR_VALUE__VALUE_TYPE);
  Tensorflow__NodeDef *node;
  assert_ok(parse(NODE, "name:'n' attr{key:\"T\" value{type:DT_INT32}} attr:{key:'A'}", &node));
  assert_int_equal(node->n_attr, 2);
  assert_null(node->attr[1]->value);
}

static void errors_give_line_column_and_a_hint(void **state) {
  (void)state;
  void *m;
  assert_refused(
      parse(NODE, "name: \"a\"\n  nme: \"b\"", &m), FY_INVALID_ARGUMENT,
      "2:3: message type \"tensorflow.NodeDef\" has no field named \"nme\"; did you mean "
      "\"name\"?");
  assert_refused(parse(ATTR, "type: DT_FLOT", &m), FY_INVALID_ARGUMENT, "\"DT_FLOAT\"?");
  assert_refused(parse(ATTR, "i: 1 f: 2", &m), FY_INVALID_ARGUMENT,
                 "1:6: f cannot be given together with i");
  assert_refused(parse(NODE, "op: \"A\" op: \"B\"", &m), FY_INVALID_ARGUMENT,
                 "1:9: op is given twice");
  assert_refused(parse(NODE, "op \"A\"", &m), FY_INVALID_ARGUMENT, "1:4: op: expected \":\"");
  assert_refused(parse(NODE, "op: \"A", &m), FY_INVALID_ARGUMENT, "no closing quote");
  assert_refused(parse(NODE, "op: A", &m), FY_INVALID_ARGUMENT, "expected a quoted string");
  assert_refused(parse(NODE, "op: \"a\\q\"", &m), FY_INVALID_ARGUMENT, "1:7: bad escape");
  assert_refused(parse(NODE, "op: \"a\\000\"", &m), FY_INVALID_ARGUMENT,
                 "op: the string holds a NUL");
  assert_refused(parse(NODE, "op: \"\\377\"", &m), FY_INVALID_ARGUMENT, "not UTF-8");
  assert_refused(parse(NODE, "attr { key: \"a\"", &m), FY_INVALID_ARGUMENT, "the end of the text");
  assert_refused(parse(NODE, "attr { key: \"a\" >", &m), FY_INVALID_ARGUMENT, "found \">\"");
  assert_refused(parse(NODE, "}", &m), FY_INVALID_ARGUMENT, "1:1: NodeDef: expected a field name");
  assert_refused(parse(ATTR, "i: 9223372036854775808", &m), FY_INVALID_ARGUMENT, "out of range");
  assert_refused(parse(ATTR, "i: 1.5", &m), FY_INVALID_ARGUMENT, "is not a 64-bit integer");
  assert_refused(parse(ATTR, "b: 2", &m), FY_INVALID_ARGUMENT, "true or false");
  assert_refused(parse(ATTR, "f: 0x10", &m), FY_INVALID_ARGUMENT, "is not a number");
  assert_refused(parse(TENSOR, "int_val: [1 2]", &m), FY_INVALID_ARGUMENT, "expected \",\"");
  assert_refused(parse(TENSOR, "uint32_val: -1", &m), FY_INVALID_ARGUMENT, "uint32");
  assert_refused(parse(NODE, "[a.b/c] { }", &m), FY_INVALID_ARGUMENT, "Any");
  char deep[4096] = "";
  for (int i = 0; i < 60; i++) strcat(deep, "variant_val{tensors{");
  assert_refused(parse(TENSOR, deep, &m), FY_INVALID_ARGUMENT, "nested deeper than 100");
}

static void prints_as_protobuf_does(void **state) {
  (void)state;
  Tensorflow__NodeDef *node;
  assert_ok(
      parse(NODE,
            "attr{key:'b' value{f:0.1}} attr{key:'a' value{s:\"\\t\\\"'\\\\\\177\\303\"}}"
            "attr{key:'c' value{list{i:0 i:-1 b:false shape{} type:99}}} attr{key:'d'}"
            "attr{key:'e' value{f:-0.0}} attr{key:'g' value{i:0}} input:'x' input:'' name:'n'",
            &node));
  fy_str s;
  fy_str_init(&s);
  fy_wire_text_print(&s, &node->base);
  assert_string_equal(
      fy_str_text(&s),
      "name: \"n\"\ninput: \"x\"\ninput: \"\"\n"
      "attr {\n  key: \"a\"\n  value {\n    s: \"\\t\\\"\\'\\\\\\177\\303\"\n  }\n}\n"
      "attr {\n  key: \"b\"\n  value {\n    f: 0.1\n  }\n}\n"
      "attr {\n  key: \"c\"\n  value {\n    list {\n      i: 0\n      i: -1\n"
      "      b: false\n      type: 99\n      shape {\n      }\n    }\n  }\n}\n"
      "attr {\n  key: \"d\"\n  value {\n  }\n}\n"
      "attr {\n  key: \"e\"\n  value {\n    f: -0\n  }\n}\n"
      "attr {\n  key: \"g\"\n  value {\n    i: 0\n  }\n}\n");
  fy_str_free(&s);
  Tensorflow__TensorProto *t;
  assert_ok(
      parse(TENSOR, "double_val:[0.1,1e300,3,16777217,1e-5] float_val:[16777216,3.1415927]", &t));
  fy_wire_text_print_line(&s, &t->base);
  assert_string_equal(fy_str_text(&s),
                      "float_val: 16777216 float_val: 3.1415927 double_val: 0.1 double_val: 1e+300 "
                      "double_val: 3 double_val: 16777217 double_val: 1e-05");
  fy_str_free(&s);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  size_t n;
  uint8_t *text = sample_read("wire/graph.pbtxt", &n);
  for (int64_t nth = 1;; nth++) {
    fy_arena a;
    fy_arena_init(&a);
    ProtobufCMessage *msg;
    fy_str s;
    fy_str_init(&s);
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    fy_code code =
        fy_wire_text_parse(&tensorflow__graph_def__descriptor, (char *)text, n, &a, &msg, &err);
    if (code == FY_OK) fy_wire_text_print(&s, msg);
    bool over = fy_fault_hits(FY_FAULT_ALLOC) < nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    bool failed = s.failed;
    fy_str_free(&s);
    fy_arena_free(&a);
    if (over) {
      assert_ok(code);
      assert_false(failed);
      break;
    }
    assert_true(code == FY_RESOURCE_EXHAUSTED || failed);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, wire_setup, wire_teardown)
      TEST(text_and_bytes_agree),
      TEST(reads_every_form),
      TEST(errors_give_line_column_and_a_hint),
      TEST(prints_as_protobuf_does),
      TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
