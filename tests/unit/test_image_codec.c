// SPDX-License-Identifier: Apache-2.0
// test_image_codec.c: what comes back from encoding and decoding, and that damaged files (cut at
// every length, bytes changed at random) always end in a status, with nothing leaked or overrun
// (run under the sanitizers). Sizes in damaged headers must not be believed blindly.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "ops/image_codec.h"

#define LIMIT (1 << 22)  // samples this test has room for

typedef struct picture {
  void *data;
  int64_t frames, h, w, c, refused;
  int bytes;  // of a sample
} picture;

static fy_code room(void *arg, int64_t frames, int64_t h, int64_t w, int64_t c, void **out,
                    fy_error *err) {
  picture *p = arg;
  const int64_t dims[] = {frames, h, w, c};
  int64_t n;
  assert_null(p->data);
  if (!fy_shape_count(4, dims, &n) || n > LIMIT) {
    p->refused++;
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "more than this test has room for");
  }
  *p = (picture){fy_malloc((size_t)n * (size_t)p->bytes), frames, h, w, c, p->refused, p->bytes};
  *out = p->data;
  return FY_OK;
}

typedef enum format { JPEG, JPEG_RECOVER, JPEG_CROP, PNG, PNG_WIDE, GIF, FORMATS } format;

static fy_code decode(format f, fy_view file, picture *p) {
  const fy_jpeg_flags flags = {.ratio = 1,
                               .fancy_upscaling = true,
                               .acceptable_fraction = f == JPEG ? 0.5f : 1,
                               .recover = f == JPEG_RECOVER,
                               .crop = f == JPEG_CROP,
                               .crop_y = 2,
                               .crop_x = 3,
                               .crop_h = 5,
                               .crop_w = 4};
  int64_t shape[3];
  *p = (picture){.bytes = f == PNG_WIDE ? 2 : 1};
  if (f == JPEG) (void)!fy_jpeg_shape(file, shape, NULL);
  if (f <= JPEG_CROP) return fy_jpeg_decode(file, &flags, room, p, NULL);
  if (f <= PNG_WIDE) return fy_png_decode(file, f == PNG ? 0 : 4, f == PNG_WIDE, room, p, NULL);
  return fy_gif_decode(file, true, room, p, NULL);
}

static uint8_t pixels[24 * 20 * 3];

static void make(format f, int variant, fy_str *out) {
  static const char gif[] =
      "GIF89a\x02\x00\x02\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00"
      ",\x00\x00\x00\x00\x02\x00\x02\x00\x00\x02\x03\x44\x88\x14\x00"
      ",\x00\x00\x00\x00\x02\x00\x02\x00\x00\x02\x03\x44\x88\x14\x00;";
  fy_str_init(out);
  for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i / 7 + i);
  bool ok = true;
  if (f <= JPEG_CROP) {
    const fy_jpeg_settings s = {.channels = variant % 2 ? 1 : 3,
                                .quality = 80,
                                .density_unit = 1,
                                .x_density = 300,
                                .y_density = 300,
                                .subsample = true,
                                .progressive = variant / 2 % 2};
    assert_int_equal(fy_jpeg_encode(pixels, 20, 24, &s, out, NULL), FY_OK);
  } else if (f <= PNG_WIDE) {
    assert_int_equal(fy_png_encode(pixels, 10, 12, 1 + variant % 4, f == PNG_WIDE && variant < 2,
                                   -1, out, &ok, NULL),
                     FY_OK);
  } else {
    fy_str_addn(out, gif, sizeof gif - 1);
  }
  assert_true(ok && !out->failed);
}

static void whole_files(void **state) {
  (void)state;
  for (int f = 0; f < FORMATS; f++) {
    for (int v = 0; v < 4; v++) {
      fy_str file;
      picture p;
      make((format)f, v, &file);
      const fy_code code = decode((format)f, (fy_view){file.p, file.len}, &p);
      if (code) print_error("format %d, variant %d\n", f, v);
      assert_int_equal(code, FY_OK);
      assert_true(p.h > 0 && p.w > 0 && p.c > 0);
      if (f == JPEG_CROP) assert_true(p.h == 5 && p.w == 4);
      if (f == GIF) assert_true(p.frames == 2 && p.h == 2 && p.w == 2 && p.c == 3);
      if (f == PNG && v == 2) assert_memory_equal(p.data, pixels, 10 * 12 * 3);  // lossless
      fy_free(p.data);
      fy_str_free(&file);
    }
  }
}

static void cut_files(void **state) {
  (void)state;
  for (int f = 0; f < FORMATS; f++) {
    for (int v = 0; v < 4; v++) {
      fy_str file;
      make((format)f, v, &file);
      for (size_t n = 0; n < file.len; n++) {
        char *copy = malloc(n + 1);  // exactly as long as the file: an overrun is seen
        picture p;
        assert_non_null(copy);
        memcpy(copy, file.p, n);
        (void)!decode((format)f, (fy_view){copy, n}, &p);
        fy_free(p.data);
        free(copy);
      }
      fy_str_free(&file);
    }
  }
}

static void changed_files(void **state) {
  (void)state;
  uint32_t random = 12345;
  for (int f = 0; f < FORMATS; f++) {
    for (int i = 0; i < 1500; i++) {
      fy_str file;
      picture p;
      make((format)f, i % 4, &file);
      for (int k = 0; k < 1 + i % 5; k++) {
        random = random * 1664525u + 1013904223u;
        // Mostly in the header, where it matters.
        const size_t at = (random >> 8) % (i % 3 ? file.len : file.len < 64 ? file.len : 64);
        file.p[at] = (char)(random >> 24);
      }
      (void)!decode((format)f, (fy_view){file.p, file.len}, &p);
      fy_free(p.data);
      fy_str_free(&file);
    }
  }
}

// A header that promises more than its file can hold is refused before memory is asked for.
static void huge_headers(void **state) {
  (void)state;
  fy_str file;
  picture p;
  make(PNG, 2, &file);
  memcpy(file.p + 16, "\x00\x00\x70\x00\x00\x00\x40\x00", 8);  // 28672 x 16384
  memcpy(file.p + 29, "\x0e\xc0\xcc\xcf", 4);                  // the checksum of that header
  assert_int_equal(decode(PNG, (fy_view){file.p, file.len}, &p), FY_INVALID_ARGUMENT);
  assert_int_equal(p.refused, 0);
  fy_str_free(&file);
  make(JPEG, 0, &file);
  for (size_t i = 0; i + 9 < file.len; i++) {
    if ((uint8_t)file.p[i] != 0xFF || (uint8_t)file.p[i + 1] != 0xC0) continue;
    memcpy(file.p + i + 5, "\xff\xdc\xff\xdc", 4);
    break;
  }
  assert_int_equal(decode(JPEG, (fy_view){file.p, file.len}, &p), FY_INVALID_ARGUMENT);
  assert_int_equal(p.refused, 0);
  fy_str_free(&file);
}

static int need_libraries(void **state) {
  const char *why[] = {fy_jpeg_library(), fy_png_library(), fy_gif_library()};
  (void)state;
  for (int i = 0; i < 3; i++) {
    if (why[i]) print_error("%s\n", why[i]);
  }
  return why[0] || why[1] || why[2] ? -1 : 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_files),
      cmocka_unit_test(cut_files),
      cmocka_unit_test(changed_files),
      cmocka_unit_test(huge_headers),
  };
  return cmocka_run_group_tests(tests, need_libraries, NULL);
}
