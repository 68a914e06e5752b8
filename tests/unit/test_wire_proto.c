// SPDX-License-Identifier: Apache-2.0
// test_wire_proto.c: checked parsing of serialized messages.

#include "wire_support.h"

#include "config.pb-c.h"
#include "graph.pb-c.h"
#include "saved_model.pb-c.h"
#include "wire/config.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

static const ProtobufCMessageDescriptor *const graph_desc = &tensorflow__graph_def__descriptor;

// What was written reads back the same. (Not byte for byte: Google writes the zero keys and values
// of map entries, protobuf-c leaves them out.)
static void round_trip(const char *name, const ProtobufCMessageDescriptor *desc) {
  size_t n, out_n;
  uint8_t *bytes = sample_read(name, &n), *out;
  ProtobufCMessage *msg, *again;
  fy_str first, second;
  fy_str_init(&first);
  fy_str_init(&second);
  assert_ok(fy_wire_unpack(desc, bytes, n, NULL, &arena, &msg, &err));
  assert_ok(fy_wire_pack(msg, &out, &out_n, &err));
  assert_ok(fy_wire_unpack(desc, out, out_n, NULL, &arena, &again, &err));
  fy_wire_text_print(&first, msg);
  fy_wire_text_print(&second, again);
  assert_string_equal(fy_str_text(&first), fy_str_text(&second));
  assert_true(first.len > 20);
  fy_str_free(&first);
  fy_str_free(&second);
  fy_free(out);
  free(bytes);
}

static void reads_real_messages(void **state) {
  (void)state;
  round_trip("wire/graph.pb", graph_desc);
  round_trip("wire/config.pb", &tensorflow__config_proto__descriptor);
  round_trip("wire/run_options.pb", &tensorflow__run_options__descriptor);
  round_trip("wire/saved_model.pb", &tensorflow__saved_model__descriptor);
}

static void empty_is_default(void **state) {
  (void)state;
  ProtobufCMessage *msg;
  uint8_t *out;
  size_t n;
  assert_ok(fy_wire_unpack(graph_desc, NULL, 0, NULL, &arena, &msg, &err));
  assert_int_equal(((Tensorflow__GraphDef *)msg)->n_node, 0);
  assert_ok(fy_wire_pack(msg, &out, &n, &err));
  assert_int_equal(n, 0);
  fy_free(out);
}

#define CHECK(bytes) fy_wire_check(bytes, sizeof(bytes) - 1, graph_desc, NULL, &err)

static void errors_name_place_and_path(void **state) {
  (void)state;
  // node {} node { name: "a" attr { key: "value" value { tensor { tensor_content: <cut> } } } }
  assert_refused(CHECK("\x0a\x00\x0a\x17\x0a\x01\x61\x2a\x12\x0a\x05value\x12\x09\x42\x07\x22\x7f"
                       "12345"),
                 FY_INVALID_ARGUMENT,
                 "GraphDef.node[1].attr[\"value\"].value.tensor.tensor_content: length 127 at byte "
                 "21 runs past the end (27)");
  assert_refused(CHECK("\x0a\x7f\x0a"), FY_INVALID_ARGUMENT,
                 "GraphDef.node[0]: length 127 at byte 1 runs past the end (3)");
  assert_refused(CHECK("\x0a"), FY_INVALID_ARGUMENT, "the length at byte 1 is cut off");
  assert_refused(CHECK("\x0b\x00"), FY_INVALID_ARGUMENT, "wire type 3 at byte 0");
  assert_refused(CHECK("\x08\x01"), FY_INVALID_ARGUMENT, "GraphDef.node[0]: wire type 0 at byte 0");
  assert_refused(CHECK("\x02\x00"), FY_INVALID_ARGUMENT, "no valid field number");
  assert_refused(CHECK("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), FY_INVALID_ARGUMENT, "tag");
  assert_refused(CHECK("\x0a\x05\x0a\x03x\0y"), FY_INVALID_ARGUMENT,
                 "GraphDef.node[0].name: the string holds a NUL at byte 5");
  assert_refused(CHECK("\x0a\x03\x0a\x01\xff"), FY_INVALID_ARGUMENT, "is not UTF-8");
}

// value { list { func { attr { value { list … : each level costs the depth of several messages.
static void depth_is_bounded(void **state) {
  (void)state;
  enum { LEVELS = 400 };
  static uint8_t bytes[LEVELS * 8];
  size_t at = sizeof bytes;
  // VariantTensorDataProto.tensors <-> TensorProto.variant_val nest without end.
  for (int i = 0; i < LEVELS && sizeof bytes - at < sizeof bytes - 4; i++) {
    size_t len = sizeof bytes - at;
    uint8_t tag = i % 2 ? 0x1a : 0x7a;
    if (len >= 0x80) {
      bytes[--at] = (uint8_t)(len >> 7);
      bytes[--at] = (uint8_t)(len | 0x80);
    } else {
      bytes[--at] = (uint8_t)len;
    }
    bytes[--at] = tag;
  }
  const ProtobufCMessageDescriptor *desc = bytes[at] == 0x7a
                                               ? &tensorflow__tensor_proto__descriptor
                                               : &tensorflow__variant_tensor_data_proto__descriptor;
  assert_refused(fy_wire_check(bytes + at, sizeof bytes - at, desc, NULL, &err),
                 FY_INVALID_ARGUMENT, "nested deeper than 100");
}

static void cost_is_bounded(void **state) {
  (void)state;
  size_t n = 8u << 20;
  uint8_t *bytes = malloc(n);
  assert_non_null(bytes);
  for (size_t i = 0; i < n; i += 2) memcpy(bytes + i, "\x0a\x00", 2);  // four million empty nodes
  assert_refused(fy_wire_check(bytes, n, graph_desc, NULL, &err), FY_INVALID_ARGUMENT, "memory");
  fy_wire_limits few = fy_wire_limits_default;
  few.max_fields = 10;
  assert_refused(fy_wire_check(bytes, 100, graph_desc, &few, &err), FY_INVALID_ARGUMENT,
                 "more than 10 fields");
  for (size_t i = 0; i < n; i += 2) memcpy(bytes + i, "\x12\x00", 2);  // library, again and again
  assert_refused(fy_wire_check(bytes, 1000, graph_desc, NULL, &err), FY_INVALID_ARGUMENT,
                 "GraphDef.library: at byte 130 the field is given again");
  few.max_bytes = 10;
  assert_refused(fy_wire_check(bytes, 11, graph_desc, &few, &err), FY_INVALID_ARGUMENT, "11 bytes");
  free(bytes);
}

static void unknown_fields_survive(void **state) {
  (void)state;
  static const char bytes[] = "\x0a\x09\x0a\x01\x61\xfa\x3e\x03new\xf8\x3f\x07\xfa\x3f\x01z";
  ProtobufCMessage *msg;
  uint8_t *out;
  size_t n;
  fy_wire_limits strict = fy_wire_limits_default;
  strict.known_only = true;
  size_t len = sizeof bytes - 1;
  assert_refused(fy_wire_check(bytes, len, graph_desc, &strict, &err), FY_INVALID_ARGUMENT,
                 "GraphDef.node[0]: unknown field number 1007");
  assert_ok(fy_wire_unpack(graph_desc, bytes, len, NULL, &arena, &msg, &err));
  assert_ok(fy_wire_pack(msg, &out, &n, &err));
  assert_int_equal(n, len);
  assert_memory_equal(out, bytes, n);
  fy_free(out);
}

static void every_truncation_is_refused_or_read(void **state) {
  (void)state;
  size_t n;
  uint8_t *bytes = sample_read("wire/graph.pb", &n);
  for (size_t cut = 0; cut < n; cut += 7) {
    fy_arena a;
    fy_arena_init(&a);
    uint8_t *exact = malloc(cut ? cut : 1);
    memcpy(exact, bytes, cut);
    ProtobufCMessage *msg;
    fy_code code = fy_wire_unpack(graph_desc, exact, cut, NULL, &a, &msg, NULL);
    assert_true((code == FY_OK) == (msg != NULL));
    free(exact);
    fy_arena_free(&a);
  }
  free(bytes);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  size_t n, out_n;
  uint8_t *bytes = sample_read("wire/graph.pb", &n), *out;
  for (int64_t nth = 1;; nth++) {
    fy_arena a;
    fy_arena_init(&a);
    ProtobufCMessage *msg;
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    fy_code code = fy_wire_unpack(graph_desc, bytes, n, NULL, &a, &msg, &err);
    if (code == FY_OK) code = fy_wire_pack(msg, &out, &out_n, &err);
    bool over = fy_fault_hits(FY_FAULT_ALLOC) < nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    fy_arena_free(&a);
    if (code == FY_OK) fy_free(out);
    if (over) {
      assert_ok(code);
      break;
    }
    assert_int_equal(code, FY_RESOURCE_EXHAUSTED);
  }
  free(bytes);
}

static void config_in_either_form(void **state) {
  (void)state;
  Tensorflow__ConfigProto *c;
  size_t n;
  uint8_t *bytes = sample_read("wire/config.pb", &n);
  assert_ok(fy_wire_config_parse(bytes, n, &arena, &c, &err));
  assert_int_equal(c->n_device_count, 2);
  assert_true(c->gpu_options->allow_growth);
  free(bytes);
  bytes = sample_read("wire/config.pbtxt", &n);
  assert_ok(fy_wire_config_parse(bytes, n, &arena, &c, &err));
  assert_int_equal(c->intra_op_parallelism_threads, 4);
  assert_int_equal(c->operation_timeout_in_ms, -5);
  free(bytes);
  static const char line[] = "gpu_options{allow_growth:true} device_count{key:\"CPU\" value:2}";
  assert_ok(fy_wire_config_parse(line, sizeof line - 1, &arena, &c, &err));
  assert_string_equal(c->device_count[0]->key, "CPU");
  assert_int_equal(c->device_count[0]->value, 2);
  assert_ok(fy_wire_config_parse(NULL, 0, &arena, &c, &err));
  assert_int_equal(c->n_device_count, 0);
  assert_ok(fy_wire_config_parse("  \n", 3, &arena, &c, &err));
  assert_ok(fy_wire_config_parse("\xf8\x3f\x01", 3, &arena, &c, &err));  // an unknown number
}

static void config_errors_speak_of_the_likelier_form(void **state) {
  (void)state;
  Tensorflow__ConfigProto *c;
  static const char typo[] = "allow_soft_placement: true\ngpu_options { allow_groth: true }";
  assert_refused(fy_wire_config_parse(typo, sizeof typo - 1, &arena, &c, &err), FY_INVALID_ARGUMENT,
                 "2:15: message type \"tensorflow.GPUOptions\" has no field named \"allow_groth\"; "
                 "did you mean \"allow_growth\"?");
  assert_null(c);
  assert_refused(fy_wire_config_parse("\x38\x01\x32\x05\x20\x01", 6, &arena, &c, &err),
                 FY_INVALID_ARGUMENT, "ConfigProto.gpu_options: length 5 at byte 3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, wire_setup, wire_teardown)
      TEST(reads_real_messages),
      TEST(empty_is_default),
      TEST(errors_name_place_and_path),
      TEST(depth_is_bounded),
      TEST(cost_is_bounded),
      TEST(unknown_fields_survive),
      TEST(every_truncation_is_refused_or_read),
      TEST(every_allocation_may_fail),
      TEST(config_in_either_form),
      TEST(config_errors_speak_of_the_likelier_form),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
