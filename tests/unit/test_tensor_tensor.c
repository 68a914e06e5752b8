// SPDX-License-Identifier: Apache-2.0
// test_tensor_tensor.c: the life of tensors and buffers, their elements and their text.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "tensor/tensor.h"
#include "tensorflow/core/platform/ctstring.h"

// Requests that no machine can meet are part of the test.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
  return "allocator_may_return_null=1";
}

static fy_tensor *make(fy_dtype dtype, int32_t rank, const int64_t *dims) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(dtype, rank, dims, &t, NULL), FY_OK);
  return t;
}

static void fresh(void **state) {
  (void)state;
  for (int64_t n = 0; n < 3000; n = n * 2 + 1) {
    fy_tensor *t = make(FY_DOUBLE, 1, &n);
    assert_int_equal((uintptr_t)t->data & 63, 0);
    assert_int_equal(t->count, n);
    assert_int_equal(fy_tensor_bytes(t), n * 8);
    assert_true(fy_tensor_is_exclusive(t));
    memset(t->data, 1, fy_tensor_bytes(t));
    fy_tensor_retain(t);
    assert_false(fy_tensor_is_exclusive(t));
    fy_tensor_release(t);
    fy_tensor_release(t);
  }
  fy_tensor *scalar = make(FY_INT32, 0, NULL);
  assert_int_equal(scalar->count, 1);
  fy_tensor_release(scalar);
  fy_tensor_release(NULL);
  fy_tensor_retain(NULL);
}

static void many_dims(void **state) {
  (void)state;
  int64_t dims[FY_MAX_RANK + 1];
  for (int i = 0; i <= FY_MAX_RANK; i++) dims[i] = 1;
  dims[3] = 5;
  for (int32_t rank = 4; rank <= FY_MAX_RANK; rank += 50) {
    fy_tensor *t = make(FY_INT8, rank, dims), *alias;
    assert_int_equal(t->count, 5);
    assert_int_equal(t->dims == t->inline_dims, rank <= FY_INLINE_RANK);
    assert_int_equal(fy_tensor_alias(t, FY_UINT8, t->rank, t->dims, &alias, NULL), FY_OK);
    fy_tensor_release(t);
    assert_true(fy_shape_equal(alias->rank, alias->dims, rank, dims));
    // In place, from its own dims: longer, shorter, the same.
    assert_int_equal(fy_tensor_set_shape(alias, FY_INT8, rank, alias->dims, NULL), FY_OK);
    assert_int_equal(fy_tensor_set_shape(alias, FY_INT8, 4, alias->dims, NULL), FY_OK);
    assert_ptr_equal(alias->dims, alias->inline_dims);
    assert_int_equal(alias->dims[3], 5);
    fy_tensor_release(alias);
  }
  fy_tensor *t;
  fy_error e;
  fy_error_init(&e);
  assert_int_equal(fy_tensor_new(FY_INT8, FY_MAX_RANK + 1, dims, &t, &e), FY_INVALID_ARGUMENT);
  assert_null(t);
  fy_error_clear(&e);
}

static void bad_shapes(void **state) {
  (void)state;
  fy_tensor *t;
  fy_error e;
  fy_error_init(&e);
  assert_int_equal(fy_tensor_new(FY_FLOAT, 2, (int64_t[]){2, -1}, &t, &e), FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&e), "Expected shape dimensions to be non-negative, got -1");
  assert_int_equal(fy_tensor_new(FY_FLOAT, 2, (int64_t[]){16777216, 4194304}, &t, &e),
                   FY_RESOURCE_EXHAUSTED);
  assert_string_equal(fy_error_text(&e),
                      "OOM when allocating tensor with shape[16777216,4194304] and type float on "
                      "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu");
  static const int64_t huge[][3] = {
      {INT64_MAX, 1, 1}, {INT64_MAX, 2, 1}, {1ll << 32, 1ll << 32, 1}, {1ll << 61, 1, 1}};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(fy_tensor_new(FY_COMPLEX128, 3, huge[i], &t, &e), FY_RESOURCE_EXHAUSTED);
    assert_null(t);
    assert_null(fy_buffer_new(FY_COMPLEX128, huge[i][0] < 1ll << 60 ? -1 : huge[i][0]));
  }
  assert_int_equal(fy_tensor_new(FY_INVALID, 0, NULL, &t, &e), FY_INVALID_ARGUMENT);
  assert_int_equal(fy_tensor_new((fy_dtype)101, 0, NULL, &t, &e), FY_INVALID_ARGUMENT);
  assert_int_equal(fy_tensor_new(FY_FLOAT, -1, NULL, &t, &e), FY_INVALID_ARGUMENT);
  fy_error_clear(&e);
  int64_t count;
  assert_true(fy_shape_count(3, (int64_t[]){1ll << 62, 1ll << 62, 0}, &count) && count == 0);
  assert_false(fy_shape_count(2, (int64_t[]){0, -1}, &count));
}

static void shape_text(void **state) {
  (void)state;
  char buf[128];
  int64_t dims[200];
  for (int i = 0; i < 200; i++) dims[i] = INT64_MAX;
  assert_string_equal(fy_shape_text(0, NULL, buf), "[]");
  assert_string_equal(fy_shape_text(-1, NULL, buf), "<unknown>");
  assert_string_equal(fy_shape_text(2, (int64_t[]){-1, 3}, buf), "[?,3]");
  assert_string_equal(fy_shape_text(2, dims, buf), "[9223372036854775807,9223372036854775807]");
  fy_shape_text(200, dims, buf);
  assert_true(strlen(buf) < 128);
  assert_string_equal(buf + strlen(buf) - 4, "...]");
  for (int i = 0; i < 200; i++) dims[i] = 1;
  assert_true(strlen(fy_shape_text(200, dims, buf)) < 128);
  fy_str s;
  fy_str_init(&s);
  fy_shape_print(&s, 3, (int64_t[]){2, -1, 0});
  fy_shape_print(&s, -1, NULL);
  assert_string_equal(s.p, "[2,?,0]<unknown>");
  fy_str_free(&s);
}

// The halves of one allocation die in either order; views and swapped buffers keep it alive.
static void shared_memory(void **state) {
  (void)state;
  int64_t dims[] = {2, 3}, flat = 6;
  fy_tensor *t = make(FY_FLOAT, 2, dims), *alias, *over;
  float *data = t->data;
  for (int i = 0; i < 6; i++) data[i] = (float)i;
  assert_int_equal(fy_tensor_alias(t, FY_FLOAT, 1, &flat, &alias, NULL), FY_OK);
  assert_false(fy_tensor_is_exclusive(t));
  assert_int_equal(fy_tensor_over(t->buffer, data + 3, FY_FLOAT, 1, dims + 1, &over, NULL), FY_OK);
  fy_tensor_release(t);
  assert_true(fy_tensor_double(alias, 5) == 5.0);
  fy_tensor_release(alias);
  assert_true(fy_tensor_double(over, 0) == 3.0);
  assert_true(fy_tensor_is_exclusive(over));
  fy_tensor_release(over);

  fy_tensor *a = make(FY_FLOAT, 2, dims), *b = make(FY_FLOAT, 2, dims);
  fy_buffer *swap = a->buffer;
  a->buffer = b->buffer, b->buffer = swap;
  swap = a->buffer;
  fy_buffer_retain(swap);
  fy_tensor_release(a);
  fy_tensor_release(b);
  memset(swap->data, 0, swap->bytes);
  fy_buffer_release(swap);
}

static int freed;
static void dealloc(void *data, size_t len, void *arg) {
  assert_int_equal(len, 8);
  assert_ptr_equal(arg, &freed);
  freed++;
  fy_free(data);
}
static void release(fy_buffer *b) {
  freed++;
  fy_free(b->data);
}

static void foreign_memory(void **state) {
  (void)state;
  int64_t two = 2;
  float borrowed[2] = {1, 2};
  fy_tensor *t;
  freed = 0;
  fy_buffer *b = fy_buffer_wrap(borrowed, sizeof borrowed, FY_FLOAT);
  assert_int_equal(fy_tensor_over(b, borrowed, FY_FLOAT, 1, &two, &t, NULL), FY_OK);
  fy_buffer_release(b);
  assert_false(fy_tensor_is_exclusive(t));  // not ours to write
  fy_tensor_release(t);
  b = fy_buffer_wrap(fy_calloc(1, 8), 8, FY_FLOAT);
  b->user_dealloc = dealloc;
  b->release_arg = &freed;
  fy_buffer_release(b);
  assert_int_equal(freed, 1);
  b = fy_buffer_wrap(fy_calloc(2, 24), 48, FY_STRING);
  b->release = release;
  assert_int_equal(fy_tensor_over(b, b->data, FY_STRING, 1, &two, &t, NULL), FY_OK);
  fy_buffer_release(b);
  assert_true(fy_tensor_set_string(t, 1, "a string longer than twenty-two bytes", 37));
  assert_true(fy_tensor_is_exclusive(t));
  fy_tensor_release(t);  // destroys the string, then the memory
  assert_int_equal(freed, 2);
}

static void embedded(void **state) {
  (void)state;
  fy_tensor t;
  int64_t dims[] = {1, 1, 1, 1, 1, 1, 1, 4};
  fy_tensor_init(&t);
  assert_int_equal(fy_tensor_set_shape(&t, FY_INT16, 8, dims, NULL), FY_OK);
  t.buffer = fy_buffer_new(FY_INT16, t.count);
  t.data = t.buffer->data;
  assert_true(fy_tensor_is_exclusive(&t));
  assert_int_equal(fy_tensor_set_shape(&t, FY_INT16, 1, (int64_t[]){-3}, NULL),
                   FY_INVALID_ARGUMENT);
  assert_int_equal(t.rank, 8);
  fy_tensor_deinit(&t);
  fy_tensor_deinit(&t);
}

static const char *const words[] = {"", "short", "exactly twenty-two by.",
                                    "twenty-three bytes here"};

static void strings(void **state) {
  (void)state;
  fy_view views[4];
  for (int i = 0; i < 4; i++) views[i] = fy_view_of(words[i]);
  fy_tensor *t, *copy;
  int64_t four = 4;
  assert_int_equal(fy_tensor_from_strings(1, &four, views, &t, NULL), FY_OK);
  assert_int_equal(fy_tensor_clone(t, &copy, NULL), FY_OK);
  assert_true(fy_tensor_equal(t, copy));
  for (int i = 0; i < 4; i++) assert_true(fy_view_is(fy_tensor_string(copy, i), words[i]));
  // Clients fill elements through the public inline functions.
  TF_TString_Copy((TF_TString *)copy->data + 1, words[3], 23);
  TF_TString_AssignView((TF_TString *)copy->data + 3, words[1], 5);
  assert_true(fy_view_is(fy_tensor_string(copy, 1), words[3]));
  assert_true(fy_view_is(fy_tensor_string(copy, 3), words[1]));
  assert_false(fy_tensor_equal(t, copy));
  for (int from = 0; from < 4; from++) {  // every form over every other
    for (int to = 0; to < 4; to++) {
      assert_true(fy_tensor_set_string(t, to, words[from], strlen(words[from])));
      assert_true(fy_view_is(fy_tensor_string(t, to), words[from]));
    }
  }
  fy_view own = fy_tensor_string(t, 0);
  assert_true(fy_tensor_set_string(t, 0, own.p + 1, own.n - 1));  // from itself
  assert_true(fy_view_is(fy_tensor_string(t, 0), words[3] + 1));
  fy_tensor_release(t);
  fy_tensor_release(copy);
}

static int destroyed;
static void destroy(fy_object *o) {
  destroyed++;
  fy_free(o);
}
static const fy_object_type thing = {"thing", destroy};

static void objects(void **state) {
  (void)state;
  destroyed = 0;
  int64_t two = 2;
  fy_tensor *t = make(FY_RESOURCE, 1, &two), *copy;
  fy_object *o = fy_malloc(sizeof *o);
  *o = (fy_object){.refs = 1, .type = &thing};
  ((fy_object **)t->data)[1] = o;
  assert_int_equal(fy_tensor_clone(t, &copy, NULL), FY_OK);
  assert_true(fy_tensor_equal(t, copy));
  fy_str s;
  fy_str_init(&s);
  fy_tensor_print(&s, t, 2);
  assert_string_equal(s.p, "<> <thing>");
  fy_str_free(&s);
  fy_tensor_release(t);
  assert_int_equal(destroyed, 0);
  assert_int_equal(fy_elements_copy(FY_RESOURCE, copy->data, (fy_object *[]){o, NULL}, 2, NULL), 0);
  fy_tensor_release(copy);
  assert_int_equal(destroyed, 1);
  fy_object_retain(NULL);
  fy_object_release(NULL);
}

static void expect_text(fy_tensor *t, int64_t limit, const char *text) {
  fy_str s;
  fy_str_init(&s);
  fy_tensor_print(&s, t, limit);
  assert_string_equal(fy_str_text(&s), text);
  fy_str_free(&s);
  fy_tensor_release(t);
}

static fy_tensor *from(fy_dtype dtype, int32_t rank, const int64_t *dims, const void *data) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_from(dtype, rank, dims, data, &t, NULL), FY_OK);
  return t;
}

// What TensorFlow 2.21 printed for the same values (but for int4, which its Python lacks).
static void text(void **state) {
  (void)state;
  const int64_t n2[] = {2, 2}, n23[] = {2, 3}, n123[] = {1, 2, 3}, n203[] = {2, 0, 3},
                n[] = {4, 5, 0};
  const float f[] = {1.5f, 0.1f, 1.0f / 3, 1e20f};
  const int32_t i[] = {1, 2, 3, 4, 5, 6};
  expect_text(from(FY_FLOAT, 1, n, f), 3, "1.5 0.1 0.333333343...");
  expect_text(from(FY_INT32, 2, n2, i), 3, "[1 2][3...]...");
  expect_text(from(FY_INT32, 2, n2, i), 10, "[1 2][3 4]");
  expect_text(from(FY_INT32, 2, n23, i), 2, "[1 2...]...");
  expect_text(from(FY_INT32, 3, n123, i), 2, "[[1 2...]]...");
  expect_text(from(FY_INT32, 0, NULL, i), 0, "...");
  expect_text(from(FY_FLOAT, 0, NULL, f + 1), 3, "0.1");
  expect_text(make(FY_FLOAT, 1, n + 2), 3, "");
  expect_text(make(FY_FLOAT, 3, n203), 3, "");
  const float edge[] = {-0.0f, 16777216, 123456789.0f, 1e-7f, 3.4028235e38f};
  expect_text(from(FY_FLOAT, 1, n + 1, edge), 9, "-0 16777216 123456792 1e-07 3.40282347e+38");
  const float special[] = {NAN, -NAN, INFINITY, -INFINITY};
  expect_text(from(FY_FLOAT, 1, n, special), 9, "nan -nan inf -inf");
  const double d[] = {0.1, 1.0 / 3};
  expect_text(from(FY_DOUBLE, 1, n2, d), 3, "0.1 0.33333333333333331");
  const uint16_t h[] = {0x2E66, 0x3555};
  expect_text(from(FY_HALF, 1, n2, h), 3, "0.0999755859 0.333251953");
  expect_text(from(FY_BOOL, 1, n2, "\1\0"), 3, "1 0");
  expect_text(from(FY_INT8, 1, n2, "\xff\2"), 3, "-1 2");
  expect_text(from(FY_UINT8, 1, n2, "\xff\2"), 3, "255 2");
  expect_text(from(FY_INT4, 1, n2, "\xff\7"), 3, "-1 7");
  expect_text(from(FY_UINT64, 0, NULL, &(uint64_t){UINT64_MAX}), 3, "18446744073709551615");
  expect_text(from(FY_COMPLEX64, 1, n2, f), 3, "? ?");
  fy_tensor *t;
  fy_view v = FY_VIEW("a\n\"b'\\ \001é");
  assert_int_equal(fy_tensor_from_strings(0, NULL, &v, &t, NULL), FY_OK);
  expect_text(t, 3, "a\\n\\\"b\\'\\\\ \\001é");
}

static void numbers(void **state) {
  (void)state;
  static const int64_t one[] = {1};
  for (int d = 1; d < FY_DTYPE_COUNT; d++) {
    fy_tensor *t = make((fy_dtype)d, 1, one);
    memset(t->data, 0, fy_tensor_bytes(t));
    if (fy_dtype_is_plain((fy_dtype)d)) {
      assert_int_equal(fy_tensor_int(t, 0), 0);
      assert_true(fy_tensor_double(t, 0) == 0.0);
    }
    fy_tensor_release(t);
  }
  static const double values[] = {1e300, -1e300, NAN, -2.9};
  static const int64_t whole[] = {INT64_MAX, INT64_MIN, 0, -2};
  fy_tensor *t = from(FY_DOUBLE, 1, (int64_t[]){4}, values);
  for (int i = 0; i < 4; i++) assert_true(fy_tensor_int(t, i) == whole[i]);
  fy_tensor_release(t);
  t = from(FY_UINT64, 0, NULL, &(uint64_t){UINT64_MAX});
  assert_true(fy_tensor_double(t, 0) == 18446744073709551616.0);
  fy_tensor_release(t);
}

// One pass over what allocates; every failure must leave nothing behind.
static bool allocate_all(fy_error *err) {
  int64_t dims[] = {1, 1, 1, 1, 1, 1, 4};
  fy_view views[4];
  for (int i = 0; i < 4; i++) views[i] = fy_view_of(words[i]);
  fy_tensor *t = NULL, *alias = NULL, *copy = NULL;
  fy_buffer *b = fy_buffer_new(FY_STRING, 4), *w = fy_buffer_wrap(views, sizeof views, FY_UINT8);
  bool ok = b && w && fy_tensor_from_strings(7, dims, views, &t, err) == FY_OK &&
            fy_tensor_alias(t, FY_STRING, 7, dims, &alias, err) == FY_OK &&
            fy_tensor_clone(alias, &copy, err) == FY_OK &&
            fy_tensor_set_shape(copy, FY_STRING, 7, copy->dims, err) == FY_OK;
  fy_tensor_release(t);
  fy_tensor_release(alias);
  fy_tensor_release(copy);
  fy_buffer_release(b);
  fy_buffer_release(w);
  return ok;
}

static void out_of_memory(void **state) {
  (void)state;
  for (int64_t nth = 1;; nth++) {
    for (int sticky = 0; sticky < 2; sticky++) {
      fy_error e;
      fy_error_init(&e);
      fy_fault_arm(FY_FAULT_ALLOC, nth, sticky);
      bool ok = allocate_all(&e);
      bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
      fy_fault_disarm(FY_FAULT_ALLOC);
      assert_int_equal(ok, !reached);
      if (e.code != FY_OK) assert_int_equal(e.code, FY_RESOURCE_EXHAUSTED);
      fy_error_clear(&e);
      if (!reached) {
        assert_true(nth > 8);
        return;
      }
    }
  }
}

static void *drop(void *t) {
  for (int i = 0; i < 1000; i++) {
    fy_tensor_retain(t);
    fy_tensor_release(t);
    fy_tensor *alias;
    if (fy_tensor_alias(t, FY_FLOAT, 0, NULL, &alias, NULL) == FY_OK) fy_tensor_release(alias);
  }
  fy_tensor_release(t);
  return NULL;
}

static void threads(void **state) {
  (void)state;
  for (int round = 0; round < 20; round++) {
    fy_tensor *t = make(FY_FLOAT, 0, NULL);
    fy_thread other[3];
    for (int i = 0; i < 3; i++) {
      fy_tensor_retain(t);
      assert_true(fy_thread_start(&other[i], drop, t, "drop"));
    }
    drop(t);
    for (int i = 0; i < 3; i++) fy_thread_join(other[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fresh),         cmocka_unit_test(many_dims),
      cmocka_unit_test(bad_shapes),    cmocka_unit_test(shape_text),
      cmocka_unit_test(shared_memory), cmocka_unit_test(foreign_memory),
      cmocka_unit_test(embedded),      cmocka_unit_test(strings),
      cmocka_unit_test(objects),       cmocka_unit_test(text),
      cmocka_unit_test(numbers),       cmocka_unit_test(out_of_memory),
      cmocka_unit_test(threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
