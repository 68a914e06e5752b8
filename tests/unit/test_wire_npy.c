// SPDX-License-Identifier: Apache-2.0
// test_wire_npy.c: NumPy files, written by NumPy (tests/data/npy) and by us.

#include "wire_support.h"

#include "wire/npy.h"

static fy_tensor *load(const char *name) {
  fy_tensor *t;
  char file[64];
  snprintf(file, sizeof file, "npy/%s.npy", name);
  assert_ok(fy_wire_npy_load(sample_path(file), &t, &err));
  return t;
}

static void reads_what_numpy_wrote(void **state) {
  (void)state;
  fy_tensor *t = load("f4");
  assert_int_equal(t->dtype, FY_FLOAT);
  assert_int_equal(t->rank, 2);
  assert_true(((float *)t->data)[5] == 5.0f);
  fy_tensor_release(t);
  t = load("be_fortran_i2");
  assert_int_equal(t->rank, 3);
  for (int i = 0; i < 24; i++) assert_int_equal(((int16_t *)t->data)[i], i);
  fy_tensor_release(t);
  t = load("u");
  assert_int_equal(t->dtype, FY_STRING);
  assert_true(fy_view_is(fy_tensor_string(t, 0), "\xc3\xa9"));
  assert_int_equal(fy_tensor_string(t, 1).n, 0);
  assert_true(fy_view_is(fy_tensor_string(t, 2), "abc\xf0\x9f\x98\x80"));
  fy_tensor_release(t);
  t = load("s");
  assert_int_equal(fy_tensor_string(t, 1).n, 4);
  fy_tensor_release(t);
  t = load("c16_be");
  assert_true(((double *)t->data)[0] == 1 && ((double *)t->data)[1] == 2);
  fy_tensor_release(t);
  t = load("scalar_b");
  assert_int_equal(t->dtype, FY_BOOL);
  assert_int_equal(t->rank, 0);
  assert_int_equal(*(uint8_t *)t->data, 1);
  fy_tensor_release(t);
  t = load("v2");
  assert_int_equal(t->dtype, FY_HALF);
  fy_tensor_release(t);
  t = load("v3");
  assert_int_equal(t->dtype, FY_UINT64);
  assert_int_equal(*(uint64_t *)t->data, 7);
  fy_tensor_release(t);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  static const char *const names[] = {"f4", "be_fortran_i2", "u", "s", "c16_be", "scalar_b", "v2"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fy_tensor *t = load(names[i]), *again;
    uint8_t *bytes;
    size_t n;
    assert_ok(fy_wire_npy_write(t, &bytes, &n, &err));
    if (i == 0) {  // NumPy would have written the same
      size_t want_n;
      uint8_t *want = sample_read("npy/f4.npy", &want_n);
      assert_int_equal(n, want_n);
      assert_memory_equal(bytes, want, n);
      free(want);
    }
    assert_ok(fy_wire_npy_parse(bytes, n, &again, &err));
    assert_true(fy_tensor_equal(t, again));
    for (size_t cut = 0; cut < n; cut++) {
      fy_tensor *part;
      uint8_t *exact = malloc(cut ? cut : 1);
      memcpy(exact, bytes, cut);
      assert_int_not_equal(fy_wire_npy_parse(exact, cut, &part, NULL), FY_OK);
      free(exact);
    }
    fy_free(bytes);
    fy_tensor_release(t);
    fy_tensor_release(again);
  }
  fy_tensor *t;
  uint8_t *bytes;
  size_t n;
  assert_ok(fy_tensor_new(FY_FLOAT8_E5M2, 0, NULL, &t, &err));
  assert_refused(fy_wire_npy_write(t, &bytes, &n, &err), FY_UNIMPLEMENTED, "float8_e5m2");
  fy_tensor_release(t);
  // bfloat16 is written as the float32 that it is the front half of
  const int64_t two = 2;
  fy_tensor *wide;
  const uint16_t halves[] = {0x3FC0, 0xC000};
  assert_ok(fy_tensor_from(FY_BFLOAT16, 1, &two, halves, &t, &err));
  assert_ok(fy_wire_npy_write(t, &bytes, &n, &err));
  assert_ok(fy_wire_npy_parse(bytes, n, &wide, &err));
  assert_int_equal(wide->dtype, FY_FLOAT);
  assert_true(((float *)wide->data)[0] == 1.5f && ((float *)wide->data)[1] == -2.0f);
  fy_tensor_release(wide);
  fy_free(bytes);
  fy_tensor_release(t);
}

static fy_code parse_header(const char *dict, size_t data_n) {
  uint8_t buf[512] = "\x93NUMPY\1";
  size_t len = strlen(dict);
  buf[8] = (uint8_t)len;
  memcpy(buf + 10, dict, len);
  fy_tensor *t;
  fy_code code = fy_wire_npy_parse(buf, 10 + len + data_n, &t, &err);
  fy_tensor_release(t);
  return code;
}
#define DICT(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }"

static void bad_headers_are_refused(void **state) {
  (void)state;
  assert_int_equal(parse_header(DICT("<f4", "(2,)"), 8), FY_OK);
  assert_int_equal(parse_header("{\"shape\":(1L,),'fortran_order':True,'descr':'=i1'}", 1), FY_OK);
  assert_refused(parse_header(DICT("<f4", "(2,)"), 7), FY_INVALID_ARGUMENT, "needs 8 bytes");
  assert_refused(parse_header(DICT("<f4", "(4611686018427387904,4)"), 8), FY_INVALID_ARGUMENT,
                 "too many elements");
  assert_refused(parse_header(DICT("|S0", "(4611686018427387904,)"), 8), FY_INVALID_ARGUMENT,
                 "needs 0");
  assert_refused(parse_header(DICT("<f16", "()"), 16), FY_UNIMPLEMENTED, "'<f16'");
  assert_refused(parse_header(DICT("<M8[ns]", "()"), 8), FY_UNIMPLEMENTED, "'<M8[ns]'");
  assert_refused(parse_header("{'descr': [('a', '<i4')], }", 8), FY_UNIMPLEMENTED, "structured");
  assert_refused(parse_header(DICT("<f4", "(-1,)"), 8), FY_INVALID_ARGUMENT, "bad shape");
  assert_refused(parse_header(DICT("<f4", "(1"), 8), FY_INVALID_ARGUMENT, "shape");
  assert_refused(parse_header("{'descr': '<f4'}", 8), FY_INVALID_ARGUMENT, "missing");
  assert_refused(parse_header("", 8), FY_INVALID_ARGUMENT, "no dictionary");
  assert_refused(parse_header("{'x': 1}", 8), FY_INVALID_ARGUMENT, "unknown key");
  fy_tensor *t;
  assert_refused(fy_wire_npy_load(sample_path("npy/object.npy"), &t, &err), FY_UNIMPLEMENTED,
                 "pickled");
  assert_refused(fy_wire_npy_load("/nowhere.npy", &t, &err), FY_NOT_FOUND, "/nowhere.npy; No such");
  assert_refused(fy_wire_npy_parse("\x93NUMPY\x09\0\0\0", 10, &t, &err), FY_UNIMPLEMENTED, "9.0");
}

static void archives(void **state) {
  (void)state;
  static const char *const files[] = {"npy/stored.npz", "npy/deflated.npz"};
  for (int k = 0; k < 2; k++) {
    size_t n;
    uint8_t *bytes = sample_read(files[k], &n);
    fy_wire_npz *z;
    fy_tensor *t;
    assert_ok(fy_wire_npz_open(bytes, n, &z, &err));
    assert_int_equal(fy_wire_npz_count(z), k ? 3 : 2);
    assert_true(fy_view_is(fy_wire_npz_name(z, 0), "a"));
    assert_ok(fy_wire_npz_read(z, 0, &t, &err));
    assert_int_equal(t->count, k ? 300 : 3);
    for (int i = 0; i < t->count; i++) assert_int_equal(((int64_t *)t->data)[i], k ? i % 7 : i);
    fy_tensor_release(t);
    assert_ok(fy_wire_npz_read(z, 1, &t, &err));
    fy_tensor_release(t);
    if (k) {
      assert_ok(fy_wire_npz_read(z, 2, &t, &err));
      fy_tensor_release(t);
    }
    bytes[150] ^= 1;
    assert_refused(fy_wire_npz_read(z, 0, &t, &err), FY_DATA_LOSS, "'a': npz: ");
    fy_wire_npz_close(z);
    assert_refused(fy_wire_npz_open(bytes, n - 1, &z, &err), FY_INVALID_ARGUMENT, "zip");
    for (size_t i = 0; i < n; i++) {  // any byte may be wrong
      bytes[i] ^= 0x55;
      if (fy_wire_npz_open(bytes, n, &z, NULL) == FY_OK) {
        for (size_t m = 0; m < fy_wire_npz_count(z); m++) {
          if (fy_wire_npz_read(z, m, &t, NULL) == FY_OK) fy_tensor_release(t);
        }
        fy_wire_npz_close(z);
      }
      bytes[i] ^= 0x55;
    }
    free(bytes);
  }
}

static void every_failure_is_survived(void **state) {
  (void)state;
  static const fy_fault kinds[] = {FY_FAULT_ALLOC, FY_FAULT_READ};
  for (size_t k = 0; k < 2; k++) {
    for (int64_t nth = 1;; nth++) {
      fy_tensor *t = NULL;
      uint8_t *out = NULL;
      size_t n;
      fy_fault_arm(kinds[k], nth, false);
      fy_code code = fy_wire_npy_load(sample_path("npy/u.npy"), &t, &err);
      if (code == FY_OK) code = fy_wire_npy_write(t, &out, &n, &err);
      bool over = fy_fault_hits(kinds[k]) < nth;
      fy_fault_disarm(kinds[k]);
      fy_tensor_release(t);
      fy_free(out);
      fy_error_clear(&err);
      if (over) {
        assert_int_equal(code, FY_OK);
        break;
      }
      assert_int_not_equal(code, FY_OK);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, wire_setup, wire_teardown)
      TEST(reads_what_numpy_wrote),    TEST(writes_what_it_reads),
      TEST(bad_headers_are_refused),   TEST(archives),
      TEST(every_failure_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
