// SPDX-License-Identifier: Apache-2.0
// image_codec.h: image files in memory: JPEG, PNG and GIF through their libraries, opened at run time.
//
// A decoder learns the size from the file's header, asks |room| for memory of that size and fills it.
// Whatever the bytes are, the answer is a status. A missing library is UNIMPLEMENTED and names the
// Debian package. Threads: any; the libraries are opened once and stay.

#ifndef FY_OPS_IMAGE_CODEC_H
#define FY_OPS_IMAGE_CODEC_H

#include "ops/op.h"

// Gives memory for |frames| images of h x w x channels samples.
typedef fy_code (*fy_image_room)(void *arg, int64_t frames, int64_t h, int64_t w, int64_t channels,
                                 void **out, fy_error *err);

typedef struct fy_jpeg_flags {
  int channels;  // 0 = as in the file, 1 or 3
  int ratio;     // 1, 2, 4, 8
  bool fancy_upscaling, recover, accurate_dct, crop;
  float acceptable_fraction;
  int32_t crop_y, crop_x, crop_h, crop_w;
} fy_jpeg_flags;
FY_MUST_CHECK fy_code fy_jpeg_decode(fy_view file, const fy_jpeg_flags *flags, fy_image_room room,
                                     void *room_arg, fy_error *err);
// [height, width, channels]
FY_MUST_CHECK fy_code fy_jpeg_shape(fy_view file, int64_t out[3], fy_error *err);

typedef struct fy_jpeg_settings {
  int channels;  // 1 or 3
  int quality, x_density, y_density, density_unit;
  bool progressive, optimize, subsample;
  fy_view xmp;
} fy_jpeg_settings;
FY_MUST_CHECK fy_code fy_jpeg_encode(const uint8_t *pixels, int64_t h, int64_t w,
                                     const fy_jpeg_settings *settings, fy_str *out, fy_error *err);

// |wide|: samples are uint16. |channels| 0 = as in the file.
FY_MUST_CHECK fy_code fy_png_decode(fy_view file, int channels, bool wide, fy_image_room room,
                                    void *room_arg, fy_error *err);
// False: the library refused.
FY_MUST_CHECK fy_code fy_png_encode(const void *pixels, int64_t h, int64_t w, int channels,
                                    bool wide, int compression, fy_str *out, bool *ok,
                                    fy_error *err);

FY_MUST_CHECK fy_code fy_gif_decode(fy_view file, bool all_frames, fy_image_room room,
                                    void *room_arg, fy_error *err);

// "JPEG: usable; PNG: no libpng16.so.16 (Debian package libpng16-16); …"
void fy_image_libraries_report(fy_str *out);
const char *fy_jpeg_library(void);  // NULL = it can be used, else why not
const char *fy_png_library(void);
const char *fy_gif_library(void);

#endif
