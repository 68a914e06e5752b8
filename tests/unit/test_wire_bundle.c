// SPDX-License-Identifier: Apache-2.0
// test_wire_bundle.c: checkpoints. tests/data/ckpt/model was written by TensorFlow 2.21 (SaveV2 of
// two shards, merged): plain tensors, strings, and variables saved in slices.

#include "wire_support.h"

#include <unistd.h>

#include "wire/bundle.h"
#include "wire/bundle_write.h"
#include "wire/crc32c.h"
#include "wire/snappy.h"
#include "wire/table.h"

static fy_wire_bundle *open_sample(void) {
  fy_wire_bundle *b;
  assert_ok(fy_wire_bundle_open(sample_path("ckpt/model"), &b, &err));
  return b;
}

static void lists_sorted_names_without_slices(void **state) {
  (void)state;
  fy_wire_bundle *b = open_sample();
  assert_int_equal(fy_wire_bundle_count(b), 71);
  assert_string_equal(fy_wire_bundle_name(b, 0).p, "bf");
  assert_string_equal(fy_wire_bundle_name(b, 70).p, "w/kernel");
  assert_true(fy_wire_bundle_has(b, "part"));
  assert_false(fy_wire_bundle_has(b, ""));
  fy_dtype dtype;
  fy_pshape shape;
  assert_ok(fy_wire_bundle_info(b, "cols", &dtype, &shape, &err));
  assert_int_equal(dtype, FY_INT32);
  assert_int_equal(shape.rank, 2);
  assert_int_equal(shape.dims[1], 200);
  assert_refused(fy_wire_bundle_info(b, "x", &dtype, &shape, &err), FY_NOT_FOUND,
                 "Key x not found in checkpoint");
  fy_wire_bundle_close(b);
}

static void reads_every_tensor(void **state) {
  (void)state;
  fy_wire_bundle *b = open_sample();
  fy_tensor *t;
  for (size_t i = 0; i < fy_wire_bundle_count(b); i++) {
    assert_ok(fy_wire_bundle_read(b, fy_wire_bundle_name(b, i).p, &t, &err));
    fy_tensor_release(t);
  }
  assert_ok(fy_wire_bundle_read(b, "part", &t, &err));
  for (int i = 0; i < 20; i++) assert_true(((float *)t->data)[i] == (float)i);
  fy_tensor_release(t);
  assert_ok(fy_wire_bundle_read(b, "cols", &t, &err));
  for (int i = 0; i < 600; i++) assert_int_equal(((int32_t *)t->data)[i], i % 251);
  fy_tensor_release(t);
  assert_ok(fy_wire_bundle_read(b, "strings", &t, &err));
  assert_true(fy_view_is(fy_tensor_string(t, 0), "hello"));
  assert_int_equal(fy_tensor_string(t, 1).n, 0);
  assert_int_equal(fy_tensor_string(t, 2).n, 150);
  fy_tensor_release(t);
  assert_ok(fy_wire_bundle_read(b, "strs_part", &t, &err));
  assert_true(fy_view_is(fy_tensor_string(t, 1), "bb"));
  assert_int_equal(fy_tensor_string(t, 3).n, 2);
  fy_tensor_release(t);
  assert_ok(fy_wire_bundle_read(b, "scalar", &t, &err));
  assert_int_equal(t->rank, 0);
  assert_int_equal(*(int64_t *)t->data, 42);
  fy_tensor_release(t);
  assert_ok(fy_wire_bundle_read(b, "layer_with_a_long_name_59/bias", &t, &err));
  assert_true(*(float *)t->data == 59.0f);
  fy_tensor_release(t);
  fy_wire_bundle_close(b);
}

static void missing_things_are_named_as_tensorflow_does(void **state) {
  (void)state;
  fy_wire_bundle *b;
  fy_tensor *t;
  assert_refused(
      fy_wire_bundle_open("/nowhere/model", &b, &err), FY_NOT_FOUND,
      "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
      "/nowhere/model");
  b = open_sample();
  assert_refused(fy_wire_bundle_read(b, "nope", &t, &err), FY_NOT_FOUND,
                 "Key nope not found in checkpoint");
  fy_wire_bundle_close(b);
  size_t n;
  uint8_t *index = sample_read("ckpt/model.index", &n);
  assert_ok(fy_wire_bundle_open_index("/nowhere/model", index, n, &b, &err));
  assert_refused(fy_wire_bundle_read(b, "scalar", &t, &err), FY_NOT_FOUND,
                 "/nowhere/model.data-00000-of-00002; No such file or directory");
  fy_wire_bundle_close(b);
  free(index);
}

static void damage_is_data_loss(void **state) {
  (void)state;
  size_t n;
  uint8_t *index = sample_read("ckpt/model.index", &n);
  fy_wire_bundle *b;
  for (size_t i = 0; i < n; i += 3) {
    index[i] ^= 0x10;
    fy_code code = fy_wire_bundle_open_index("x", index, n, &b, &err);
    if (code == FY_OK) fy_wire_bundle_close(b);  // the padding of the footer
    index[i] ^= 0x10;
    fy_error_clear(&err);
  }
  index[20] ^= 1;
  assert_refused(fy_wire_bundle_open_index("x", index, n, &b, &err), FY_DATA_LOSS,
                 "checksum mismatch");
  assert_refused(fy_wire_bundle_open_index("x", index, n - 1, &b, &err), FY_DATA_LOSS,
                 "not an sstable (bad magic number)");
  assert_refused(fy_wire_bundle_open_index("x", index, 10, &b, &err), FY_DATA_LOSS, "too short");
  index[20] ^= 1;
  // A shard with one byte changed.
  size_t shard_n;
  uint8_t *shard = sample_read("ckpt/model.data-00000-of-00002", &shard_n);
  char prefix[] = "/tmp/ferry_ckpt_XXXXXX", path[64];
  assert_true(close(mkstemp(prefix)) == 0);
  snprintf(path, sizeof path, "%s.data-00000-of-00002", prefix);
  for (size_t i = 0; i < shard_n; i++) shard[i] ^= 1;
  FILE *f = fopen(path, "wb");
  assert_int_equal(fwrite(shard, 1, shard_n, f), shard_n);
  fclose(f);
  assert_ok(fy_wire_bundle_open_index(prefix, index, n, &b, &err));
  fy_tensor *t;
  assert_refused(fy_wire_bundle_read(b, "scalar", &t, &err), FY_DATA_LOSS,
                 "Checksum does not match");
  assert_refused(fy_wire_bundle_read(b, "strings", &t, &err), FY_DATA_LOSS, "tensor strings: ");
  fy_wire_bundle_close(b);
  f = fopen(path, "wb");
  fclose(f);
  assert_ok(fy_wire_bundle_open_index(prefix, index, n, &b, &err));
  assert_refused(fy_wire_bundle_read(b, "scalar", &t, &err), FY_OUT_OF_RANGE, "has 0 bytes");
  fy_wire_bundle_close(b);
  unlink(path);
  unlink(prefix);
  free(shard);
  free(index);
}

static void every_failure_is_survived(void **state) {
  (void)state;
  static const char *const names[] = {"cols", "strings", "strs_part"};
  static const fy_fault kinds[] = {FY_FAULT_ALLOC, FY_FAULT_READ};
  for (size_t k = 0; k < 2; k++) {
    for (int64_t nth = 1;; nth++) {
      fy_wire_bundle *b = NULL;
      fy_fault_arm(kinds[k], nth, false);
      fy_code code = fy_wire_bundle_open(sample_path("ckpt/model"), &b, &err);
      for (size_t i = 0; i < 3 && code == FY_OK; i++) {
        fy_tensor *t;
        code = fy_wire_bundle_read(b, names[i], &t, &err);
        fy_tensor_release(t);
      }
      bool over = fy_fault_hits(kinds[k]) < nth;
      fy_fault_disarm(kinds[k]);
      fy_wire_bundle_close(b);
      fy_error_clear(&err);
      if (over) {
        assert_int_equal(code, FY_OK);
        break;
      }
      assert_int_not_equal(code, FY_OK);
    }
  }
}

static void checksums_and_snappy(void **state) {
  (void)state;
  assert_int_equal(fy_wire_crc32c(0, "123456789", 9), 0xE3069283u);
  assert_int_equal(fy_wire_crc32c(fy_wire_crc32c(0, "1234", 4), "56789", 5), 0xE3069283u);
  uint8_t *out;
  size_t n;
  // "ab", then ten bytes copied from two back.
  assert_ok(fy_wire_snappy_decode((const uint8_t *)"\x0c\x04"
                                                   "ab\x19\x02",
                                  6, 100, &out, &n, &err));
  assert_int_equal(n, 12);
  assert_memory_equal(out, "abababababab", 12);
  fy_free(out);
  static const struct {
    const char *bytes;
    size_t n;
  } bad[] = {{"", 0},
             {"\x05", 1},
             {"\x02\x04"
              "a",
              3},
             {"\x0c\x04"
              "ab\x19\x03",
              6},
             {"\x0b\x04"
              "ab\x19\x02",
              6},
             {"\xff\xff\xff\xff\x0f", 5},
             {"\x04\xf0", 2},
             {"\x04\x01\x00", 3}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_refused(
        fy_wire_snappy_decode((const uint8_t *)bad[i].bytes, bad[i].n, 1 << 20, &out, &n, &err),
        FY_DATA_LOSS, "snappy");
  }
}

// Two names, one content: who read the first need not read the second.
static void equal_tensors_are_told(void **state) {
  (void)state;
  char prefix[] = "/tmp/ferry_same_XXXXXX";
  const int64_t n = 20000;
  fy_bundle_writer *w;
  fy_wire_bundle *b;
  fy_tensor *t, *other, *read;
  bool same;
  assert_true(close(mkstemp(prefix)) == 0);
  assert_ok(fy_tensor_new(FY_FLOAT, 1, &n, &t, &err));
  assert_ok(fy_tensor_new(FY_FLOAT, 1, &n, &other, &err));
  for (int64_t i = 0; i < n; i++) ((float *)t->data)[i] = ((float *)other->data)[i] = (float)i;
  ((float *)other->data)[n - 1] = -1;
  assert_ok(fy_bundle_writer_new(prefix, &w, &err));
  assert_ok(fy_bundle_writer_add(w, fy_view_of("a"), t, &err));
  assert_ok(fy_bundle_writer_add(w, fy_view_of("b"), t, &err));
  assert_ok(fy_bundle_writer_add(w, fy_view_of("c"), other, &err));
  assert_ok(fy_bundle_writer_finish(w, &err));
  fy_bundle_writer_free(w);
  assert_ok(fy_wire_bundle_open(prefix, &b, &err));
  assert_ok(fy_wire_bundle_read(b, "a", &read, &err));
  assert_ok(fy_wire_bundle_same(b, fy_view_of("a"), fy_view_of("b"), read, &same, &err));
  assert_true(same);
  assert_ok(fy_wire_bundle_same(b, fy_view_of("a"), fy_view_of("c"), read, &same, &err));
  assert_false(same);
  assert_ok(fy_wire_bundle_same(b, fy_view_of("a"), fy_view_of("none"), read, &same, &err));
  assert_false(same);
  // The checksum may agree and the bytes not: they are what counts.
  assert_ok(fy_wire_bundle_same(b, fy_view_of("a"), fy_view_of("b"), other, &same, &err));
  assert_false(same);
  fy_wire_bundle_close(b);
  fy_tensor_release(read);
  fy_tensor_release(t);
  fy_tensor_release(other);
  char path[64];
  const char *const ends[] = {"", ".index", ".data-00000-of-00001"};
  for (size_t i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", prefix, ends[i]);
    (void)unlink(path);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, wire_setup, wire_teardown)
      TEST(lists_sorted_names_without_slices),
      TEST(reads_every_tensor),
      TEST(missing_things_are_named_as_tensorflow_does),
      TEST(damage_is_data_loss),
      TEST(equal_tensors_are_told),
      TEST(every_failure_is_survived),
      TEST(checksums_and_snappy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
