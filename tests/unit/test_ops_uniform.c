// SPDX-License-Identifier: Apache-2.0
// test_ops_uniform.c: UniformQuantizedConvolution in another layout. The layout is a message in an
// attribute, whose bytes the goldens' text cannot hold; the values are TensorFlow's.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "local_runner.h"

#define ATTRS                                                           \
  "Tout=qint32; padding=\"SAME\"; lhs_quantization_min_val=-128; "      \
  "lhs_quantization_max_val=127; rhs_quantization_min_val=-128; "       \
  "rhs_quantization_max_val=127; output_quantization_min_val=-100000; " \
  "output_quantization_max_val=100000"
#define SCALES "f32[]=0.5; i32[]=1; f32[]=0.25; i32[]=2; f32[]=1.5; i32[]=-3"

// Images [height, batch, width, channels], kernels [height, in, out, width], results [width, channels,
// batch, height].
static const char numbers[] = {0x08, 1, 0x10, 3, 0x1A, 2, 0,    2, 0x20, 1, 0x28, 2,
                               0x32, 2, 0,    3, 0x38, 2, 0x40, 1, 0x4A, 2, 3,    0};

static fy_code convolve(const char *bytes, size_t n, fy_tensor **out, fy_error *err) {
  const fy_op *op = fy_op_find("UniformQuantizedConvolution", 27);
  const fy_attr layout = {.kind = FY_ATTR_STRING, .v.s = {bytes, n}};
  local_run run = {0};
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_site site;
  fy_sample_inputs in;
  fy_tensor *outs[LOCAL_OUTPUTS] = {NULL};
  assert_non_null(op);
  fy_arena_init(&arena);
  assert_int_equal(
      fy_sample_parse_inputs("qint8[3,2,2,2]=iota; qint8[2,2,2,2]=iota; " SCALES, &in, err), FY_OK);
  assert_int_equal(fy_sample_parse_attrs(ATTRS, op->spec, &attrs, &arena, err), FY_OK);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "dimension_numbers", &layout, err), FY_OK);
  fy_code code = local_bind(op, &attrs, in.in, in.n, &arena, &site, err);
  if (!code) code = local_call(&site, &run, in.in, outs, err);
  local_unbind(&site);
  fy_sample_inputs_free(&in);
  fy_arena_free(&arena);
  *out = outs[0];
  return code;
}

static void layouts(void **state) {
  (void)state;
  static const int32_t want[] = {22, 46, 0,  34, 58, 1,  28, 63, 11, 45, 80, 15,
                                 10, 21, -3, 15, 26, -3, 14, 30, 3,  22, 38, 4};
  static const int64_t dims[] = {2, 2, 2, 3};
  fy_error err;
  fy_tensor *out;
  fy_error_init(&err);
  assert_int_equal(convolve(numbers, sizeof numbers, &out, &err), FY_OK);
  assert_true(fy_shape_equal(out->rank, out->dims, 4, dims));
  assert_memory_equal(out->data, want, sizeof want);
  fy_tensor_release(out);
  fy_error_clear(&err);
}

static void refused(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *text;
  } cases[] = {
      {"\xff", 1, "Error parsing convolution dimension numbers."},
      {"\x1a\x05\x01", 3, "Error parsing convolution dimension numbers."},
      {"\x1a\x01\x02", 3,
       "Spatial dimensions size must be rank - 2. Given rank 4 and spatial dimensions size 1"},
      {"\x08\x09\x1a\x02\x01\x02", 6,
       "Each dimension number must be in region [0, rank). Given rank 4 and dimension number value "
       "9"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fy_error err;
    fy_tensor *out;
    fy_error_init(&err);
    assert_int_equal(convolve(cases[i].bytes, cases[i].n, &out, &err), FY_INVALID_ARGUMENT);
    assert_string_equal(fy_error_text(&err), cases[i].text);
    fy_error_clear(&err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(layouts), cmocka_unit_test(refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
