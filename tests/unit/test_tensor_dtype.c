// SPDX-License-Identifier: Apache-2.0
// test_tensor_dtype.c: names, sizes and the small floats.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "tensor/dtype.h"
#include "tensor/elements.h"

static void names(void **state) {
  (void)state;
  assert_string_equal(fy_dtype_name(FY_FLOAT), "float");
  assert_string_equal(fy_dtype_name((fy_dtype)(FY_FLOAT + FY_REF_BIT)), "float_ref");
  assert_string_equal(fy_dtype_name(FY_INVALID), "INVALID");
  assert_string_equal(fy_dtype_name((fy_dtype)77), "INVALID");
  assert_string_equal(fy_dtype_enum_name(FY_UINT2), "DT_UINT2");
  assert_string_equal(fy_dtype_enum_name((fy_dtype)(FY_HALF + FY_REF_BIT)), "DT_HALF_REF");
  fy_dtype t;
  for (int i = 1; i < FY_DTYPE_COUNT; i++) {
    for (int ref = 0; ref <= FY_REF_BIT; ref += FY_REF_BIT) {
      fy_dtype d = (fy_dtype)(i + ref);
      assert_true(fy_dtype_valid(i + ref));
      assert_true(fy_dtype_parse(fy_dtype_name(d), strlen(fy_dtype_name(d)), &t) && t == d);
      assert_true(fy_dtype_parse(fy_dtype_enum_name(d), strlen(fy_dtype_enum_name(d)), &t) &&
                  t == d);
      assert_int_equal(fy_dtype_base(d), i);
    }
  }
  assert_true(fy_dtype_parse("float32!", 7, &t) && t == FY_FLOAT);
  assert_false(fy_dtype_parse("floaty", 6, &t));
  assert_false(fy_dtype_parse("INVALID", 7, &t));
  assert_false(fy_dtype_valid(0) || fy_dtype_valid(33) || fy_dtype_valid(100) ||
               fy_dtype_valid(-1));
}

static void sizes(void **state) {
  (void)state;
  assert_int_equal(fy_dtype_size(FY_COMPLEX128), 16);
  assert_int_equal(fy_dtype_size(FY_STRING), 0);
  assert_int_equal(fy_dtype_storage(FY_STRING), 24);
  assert_int_equal(fy_dtype_storage(FY_VARIANT), 8);
  assert_int_equal(fy_dtype_size(FY_INT4), 1);
  assert_int_equal(fy_dtype_size((fy_dtype)(FY_DOUBLE + FY_REF_BIT)), 8);
  assert_false(fy_dtype_is_plain(FY_RESOURCE));
  assert_true(fy_dtype_is_plain(FY_QINT32) && !fy_dtype_is_integer(FY_QINT32));
  assert_true(fy_dtype_is_integer(FY_UINT64) && !fy_dtype_is_integer(FY_BOOL));
  assert_true(fy_dtype_is_floating(FY_FLOAT8_E5M2) && fy_dtype_is_complex(FY_COMPLEX64));
}

// Every half comes back, and every midpoint between neighbours goes to the even one.
static void half(void **state) {
  (void)state;
  for (uint32_t h = 0; h <= 0xFFFF; h++) {
    float f = fy_half_to_float((uint16_t)h);
    if (isnan(f)) {
      assert_true((fy_float_to_half(f) & 0x7C00) == 0x7C00 && (fy_float_to_half(f) & 0x3FF) != 0);
    } else {
      assert_int_equal(fy_float_to_half(f), h);
    }
  }
  for (uint32_t h = 0; h < 0x7C00; h++) {
    float low = fy_half_to_float((uint16_t)h);
    float high = h == 0x7BFF ? 65536.0f : fy_half_to_float((uint16_t)(h + 1));
    float middle = low + (high - low) / 2;  // exact: a float has 13 bits more
    uint32_t even = h + (h & 1);
    assert_int_equal(fy_float_to_half(middle), even);
    assert_int_equal(fy_float_to_half(-middle), even | 0x8000);
    assert_int_equal(fy_float_to_half(nextafterf(middle, 0)), h);
    assert_int_equal(fy_float_to_half(nextafterf(middle, INFINITY)), h + 1);
  }
  assert_int_equal(fy_float_to_half(INFINITY), 0x7C00);
  assert_int_equal(fy_float_to_half(1e30f), 0x7C00);
  assert_int_equal(fy_float_to_half(1e-30f), 0);
}

static void bfloat16(void **state) {
  (void)state;
  assert_int_equal(fy_float_to_bfloat16(1.0f), 0x3F80);
  assert_int_equal(fy_float_to_bfloat16(1.00390625f), 0x3F80);  // a tie, to even
  assert_int_equal(fy_float_to_bfloat16(1.01171875f), 0x3F82);
  assert_int_equal(fy_float_to_bfloat16(3.4e38f), 0x7F80);
  assert_true(isnan(fy_bfloat16_to_float(fy_float_to_bfloat16(NAN))));
}

static void float8(void **state) {
  (void)state;
  static const struct {
    fy_dtype type;
    uint8_t one, biggest;
    float value;
  } rows[] = {
      {FY_FLOAT8_E5M2, 0x3C, 0x7B, 57344},     {FY_FLOAT8_E4M3FN, 0x38, 0x7E, 448},
      {FY_FLOAT8_E4M3FNUZ, 0x40, 0x7F, 240},   {FY_FLOAT8_E4M3B11FNUZ, 0x58, 0x7F, 30},
      {FY_FLOAT8_E5M2FNUZ, 0x40, 0x7F, 57344},
  };
  for (size_t i = 0; i < 5; i++) {
    fy_dtype t = rows[i].type;
    assert_true(fy_float8_to_float(t, rows[i].one) == 1.0f);
    assert_true(fy_float8_to_float(t, rows[i].one | 0x80) == -1.0f);
    assert_true(fy_float8_to_float(t, rows[i].biggest) == rows[i].value);
    assert_true(fy_float8_to_float(t, 0) == 0.0f);
    assert_true(fy_float8_to_float(t, 1) > 0.0f);
    assert_int_equal(isnan(fy_float8_to_float(t, 0x80)) != 0, i >= 2);
  }
  assert_true(isinf(fy_float8_to_float(FY_FLOAT8_E5M2, 0x7C)));
  assert_true(isnan(fy_float8_to_float(FY_FLOAT8_E5M2, 0x7D)));
  assert_true(isnan(fy_float8_to_float(FY_FLOAT8_E4M3FN, 0x7F)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),    cmocka_unit_test(sizes),  cmocka_unit_test(half),
      cmocka_unit_test(bfloat16), cmocka_unit_test(float8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
