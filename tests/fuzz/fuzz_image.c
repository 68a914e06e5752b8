// SPDX-License-Identifier: Apache-2.0
// fuzz_image.c: JPEG, PNG and GIF files. The first byte chooses the decoder and its settings.

#include <stdlib.h>

#include "base/alloc.h"
#include "ops/image_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static fy_code room(void *arg, int64_t frames, int64_t h, int64_t w, int64_t channels, void **out,
                    fy_error *err) {
  void **kept = arg;
  int64_t count;
  if (!fy_shape_count(4, (const int64_t[]){frames, h, w, channels}, &count) || count > 1 << 24)
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "too large");
  free(*kept);
  *out = *kept = malloc(count ? 2 * (size_t)count : 1);  // exactly what the decoder asked for
  return *out ? FY_OK : fy_fail_oom(err, (size_t)count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 2) return 0;
  const fy_view file = {(const char *)data + 1, n - 1};
  const uint8_t how = data[0];
  void *pixels = NULL;
  int64_t shape[3];
  fy_error err;
  fy_error_init(&err);
  fy_code code = FY_OK;
  if (how % 4 == 0)
    code = fy_gif_decode(file, how & 4, room, &pixels, &err);
  else if (how % 4 == 1)
    code =
        fy_png_decode(file, how >> 2 & 3 ? (how >> 2 & 3) + 1 : 0, how & 16, room, &pixels, &err);
  else {
    const fy_jpeg_flags flags = {.channels = how & 4   ? 3
                                             : how & 8 ? 1
                                                       : 0,
                                 .ratio = 1 << (how >> 4 & 3),
                                 .fancy_upscaling = how & 64,
                                 .recover = how & 128,
                                 .crop = how % 4 == 3,
                                 .crop_y = n > 2 ? data[1] % 8 : 0,
                                 .crop_x = 1,
                                 .crop_h = 3,
                                 .crop_w = 2,
                                 .acceptable_fraction = 1};
    code = fy_jpeg_shape(file, shape, &err);
    if (!code) code = fy_jpeg_decode(file, &flags, room, &pixels, &err);
  }
  (void)code;
  free(pixels);
  fy_error_clear(&err);
  return 0;
}
