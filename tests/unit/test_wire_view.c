// SPDX-License-Identifier: Apache-2.0
// fy_wire_unpack_view against protobuf-c: the same message from the same bytes, whole or damaged; and
// long bytes that are not copied.

#include "wire_support.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "graph.pb-c.h"
#include "sample.h"
#include "saved_model.pb-c.h"
#include "wire/file.h"
#include "wire/proto_util.h"

// Both parsers take it and write the same again, or both refuse it.
static bool same(const ProtobufCMessageDescriptor *desc, const uint8_t *bytes, size_t n) {
  fy_arena a, b;
  ProtobufCMessage *x, *y;
  fy_arena_init(&a);
  fy_arena_init(&b);
  fy_code view = fy_wire_unpack_view(desc, bytes, n, NULL, &a, &x, NULL);
  fy_code plain = fy_wire_unpack(desc, bytes, n, NULL, &b, &y, NULL);
  assert_int_equal(view, plain);
  if (!view) {
    uint8_t *p, *q;
    size_t np, nq;
    assert_int_equal(fy_wire_pack(x, &p, &np, NULL), FY_OK);
    assert_int_equal(fy_wire_pack(y, &q, &nq, NULL), FY_OK);
    assert_int_equal(np, nq);
    assert_memory_equal(p, q, np);
    fy_free(p);
    fy_free(q);
  }
  fy_arena_free(&a);
  fy_arena_free(&b);
  return !view;
}

static void zoo(void **state) {
  (void)state;
  static const char *const names[] = {
      "cnn",       "lstm",        "mlp",        "several_signatures",
      "tf1_while", "transformer", "vocabulary", "tf1_examples"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[256];
    uint8_t *bytes;
    size_t n;
    snprintf(path, sizeof path, "tests/data/zoo/%s/saved_model.pb", names[i]);
    assert_int_equal(fy_wire_file_load(path, 1 << 24, &bytes, &n, NULL), FY_OK);
    assert_true(same(&tensorflow__saved_model__descriptor, bytes, n));
    // In copies of exactly the size, so that a read past the end is seen.
    for (size_t keep = 0; keep < n; keep += 211) {
      if (!sample_takes(keep)) continue;
      uint8_t *cut = malloc(keep ? keep : 1);
      memcpy(cut, bytes, keep);
      same(&tensorflow__saved_model__descriptor, cut, keep);
      free(cut);
    }
    int taken = 0;
    for (size_t at = 0; at < n; at += n / 150 + 1) {
      if (!sample_takes(at)) continue;
      bytes[at] ^= (uint8_t)(1u << (at % 8));
      taken += same(&tensorflow__saved_model__descriptor, bytes, n);
      bytes[at] ^= (uint8_t)(1u << (at % 8));
    }
    assert_true(taken > 0);
    fy_free(bytes);
  }
}

// What protobuf merges: a single message given twice, a oneof given twice; lists packed and not;
// unknown fields of every wire type; negative and zigzag numbers.
static void odd(void **state) {
  (void)state;
#define CASE(desc, ...)                                  \
  do {                                                   \
    const uint8_t b[] = {__VA_ARGS__};                   \
    assert_true(same(&tensorflow__##desc, b, sizeof b)); \
  } while (0)
  CASE(graph_def__descriptor, 0x22, 2, 8, 7, 0x22, 2, 0x10, 9);      // versions, twice
  CASE(attr_value__descriptor, 0x18, 5, 0x28, 1);                    // i, then b
  CASE(attr_value__descriptor, 0x3a, 2, 0x18, 1, 0x3a, 2, 0x18, 0);  // shape, twice
  CASE(tensor_proto__descriptor, 0x3a, 3, 1, 2, 3, 0x38, 4);         // packed, then single
  CASE(tensor_proto__descriptor, 0x2a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0x2d, 1, 2, 3, 4);
  CASE(tensor_proto__descriptor, 0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
  CASE(tensor_proto__descriptor, 0x5a, 3, 0, 1, 2);  // bools
  CASE(graph_def__descriptor, 0xf8, 7, 1, 0xfa, 7, 2, 3, 4, 0xfd, 7, 1, 2, 3, 4, 0xf9, 7, 1, 2, 3,
       4, 5, 6, 7, 8);                          // unknown
  CASE(structured_value__descriptor, 0x60, 3);  // sint64
  CASE(structured_value__descriptor, 0x60, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
  CASE(graph_def__descriptor, 0x0a, 2, 0x0a, 0, 0x0a, 0);  // empty strings, messages
#undef CASE
  assert_true(same(&tensorflow__graph_def__descriptor, NULL, 0));
}

static void long_bytes_stay(void **state) {
  (void)state;
  enum { N = 100000 };
  uint8_t *bytes = malloc(N + 4);
  memcpy(bytes, (uint8_t[]){0x22, 0xa0, 0x8d, 0x06}, 4);  // tensor_content of 100000 bytes
  memset(bytes + 4, 7, N);
  fy_arena a;
  ProtobufCMessage *m;
  fy_arena_init(&a);
  assert_int_equal(
      fy_wire_unpack_view(&tensorflow__tensor_proto__descriptor, bytes, N + 4, NULL, &a, &m, NULL),
      FY_OK);
  const Tensorflow__TensorProto *t = (const Tensorflow__TensorProto *)m;
  assert_int_equal(t->tensor_content.len, N);
  assert_ptr_equal(t->tensor_content.data, bytes + 4);
  fy_arena_free(&a);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zoo),
      cmocka_unit_test(odd),
      cmocka_unit_test(long_bytes_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
