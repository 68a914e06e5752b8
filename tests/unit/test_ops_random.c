// SPDX-License-Identifier: Apache-2.0
// Random numbers by many at once (ops/lanes_random.inc) are those of philox.h one by one: counters anywhere, every argument
// that the logarithm, sine and cosine of a normal number can have, every kind of range.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "ops/random.h"

static void blocks_are_those_of_one_generator(void **state) {
  (void)state;
  static const uint64_t lows[] = {
      0, 1, 0xFFFFFFF0u, 0xFFFFFFFFFFFFFFA0ull, UINT64_MAX, 12345678901234ull};
  uint32_t out[4 * FY_RANDOM_CHUNK], one[4];
  for (size_t l = 0; l < sizeof lows / sizeof *lows; l++) {
    for (int n = 1; n <= FY_RANDOM_CHUNK; n++) {
      const fy_philox g = {{(uint32_t)lows[l], (uint32_t)(lows[l] >> 32), UINT32_MAX, 7}, {3, 99}};
      uint64_t skip[FY_RANDOM_CHUNK];
      for (int i = 0; i < n; i++) skip[i] = (uint64_t)i * (l + 1);
      fy_random_blocks(&g, skip, n, out);
      for (int i = 0; i < n; i++) {
        fy_philox p = g;
        fy_philox_skip(&p, (uint64_t)i * (l + 1));
        fy_philox_next(&p, one);
        assert_memory_equal(one, out + 4 * i, sizeof one);
      }
    }
  }
}

// glibc's functions, as TensorFlow's build calls them; another library may round here and there otherwise.
static void normals_are_those_of_the_library(void **state) {
  (void)state;
  const fy_random_lanes *lanes = fy_random_lanes_best();
  if (!lanes) return;
  enum { STEP = 1024 };
  uint32_t bits[STEP];
  float got[STEP], want[STEP];
  int64_t other = 0;
  for (uint32_t x = 0; x < 1u << 23; x += STEP / 2) {
    for (uint32_t i = 0; i < STEP / 2; i++) {
      bits[2 * i] = x + i;
      bits[2 * i + 1] = (x + i) * 2654435761u;  // every one of them once, too
      fy_normal_float(bits[2 * i], bits[2 * i + 1], &want[2 * i], &want[2 * i + 1]);
    }
    lanes->normals(bits, got, STEP);
    for (int i = 0; i < STEP; i++) {
      if (memcmp(&got[i], &want[i], sizeof got[i]) == 0) continue;
      other++;
      if (!(fabsf(got[i] - want[i]) <= 3e-7f * fabsf(want[i])))
        fail_msg("%x %x: %a, not %a", bits[i & ~1], bits[i | 1], (double)got[i], (double)want[i]);
    }
  }
  print_message("%lld of %d differ\n", (long long)other, 1 << 24);
  assert_true(other < 1 << 14);
}

static void units_and_rests(void **state) {
  (void)state;
  const fy_random_lanes *lanes = fy_random_lanes_best();
  if (!lanes) return;
  uint32_t bits[64];
  float units[64];
  int32_t rests[64];
  fy_philox g = fy_philox_seed(5, 6);
  for (int try = 0; try < 20000; try++) {
    for (int i = 0; i < 64; i += 4) fy_philox_next(&g, bits + i);
    uint32_t range = bits[0] >> bits[1] % 32;
    if (try % 4 == 0) range = (1u << bits[1] % 32) + bits[2] % 3 - 1;
    if (range < 2) range = UINT32_MAX - bits[2] % 4;
    bits[3] = 0;
    bits[4] = UINT32_MAX;
    bits[5] = range;
    bits[6] = range - 1;
    bits[7] = UINT32_MAX / range * range;
    bits[8] = bits[7] - 1;
    lanes->units(bits, units, 64);
    lanes->rests(bits, range, (int32_t)bits[9], rests, 64);
    for (int i = 0; i < 64; i++) {
      assert_true(units[i] == fy_bits_to_unit_float(bits[i]));
      assert_int_equal((uint32_t)rests[i] - bits[9], bits[i] % range);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_those_of_one_generator),
      cmocka_unit_test(normals_are_those_of_the_library),
      cmocka_unit_test(units_and_rests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
