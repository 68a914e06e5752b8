// SPDX-License-Identifier: Apache-2.0
// image_png.c: PNG files through libpng, opened at run time. As in image_jpeg.c, errors jump; what
// must be freed lives in the caller's struct.

#include "ops/image_codec.h"

#define PNG_LIBRARY "libpng16.so.16"

#if defined(__has_include)
#if __has_include(<png.h>)
#define HAVE_PNG 1
#endif
#endif

#ifdef HAVE_PNG
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>

#include <png.h>

#include "base/alloc.h"

// clang-format off
#define PNG_FUNCTIONS(X) \
  X(png_create_read_struct) X(png_create_info_struct) X(png_destroy_read_struct) \
  X(png_set_read_fn) X(png_read_info) X(png_get_IHDR) X(png_get_valid) X(png_get_channels) \
  X(png_set_tRNS_to_alpha) X(png_set_add_alpha) X(png_set_strip_alpha) X(png_set_strip_16) \
  X(png_set_packing) X(png_set_interlace_handling) X(png_set_swap) X(png_set_palette_to_rgb) \
  X(png_set_expand_gray_1_2_4_to_8) X(png_set_rgb_to_gray) X(png_set_gray_to_rgb) \
  X(png_read_update_info) X(png_get_rowbytes) X(png_read_row) X(png_read_end) X(png_get_io_ptr) \
  X(png_get_error_ptr) X(png_create_write_struct) X(png_destroy_write_struct) \
  X(png_set_write_fn) X(png_set_compression_level) X(png_set_compression_mem_level) \
  X(png_set_IHDR) X(png_write_info) X(png_write_row) X(png_write_end) X(png_error)
// clang-format on

#define PNG_MEMBER(name) __typeof__(&name) name;
static struct { PNG_FUNCTIONS(PNG_MEMBER) } lib;
static const char *why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
  void *handle = dlopen(PNG_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    why_not = "no " PNG_LIBRARY " (Debian package libpng16-16)";
    return;
  }
#define PNG_LOAD(name) *(void **)&lib.name = dlsym(handle, #name);
  PNG_FUNCTIONS(PNG_LOAD)
#define PNG_MISSING(name) \
  if (!lib.name) why_not = PNG_LIBRARY " has no " #name " (Debian package libpng16-16 has)";
  PNG_FUNCTIONS(PNG_MISSING)
}

const char *fy_png_library(void) {
  pthread_once(&once, open_library);
  return why_not;
}

static fy_code need_library(fy_error *err) {
  const char *why = fy_png_library();
  return why ? fy_fail(err, FY_UNIMPLEMENTED, "PNG files cannot be read or written: %s", why)
             : FY_OK;
}

typedef struct codec {
  png_structp png;
  png_infop info;
  jmp_buf jump;
  fy_view left;  // of the file
  fy_str *out;
  png_uint_32 w, h;
  int depth, colour, channels, passes;
} codec;

static void on_error(png_structp png, png_const_charp text) {
  (void)text;
  codec *d = lib.png_get_error_ptr(png);
  longjmp(d->jump, 1);
}
static void on_warning(png_structp png, png_const_charp text) {
  (void)png, (void)text;
}
static void read_bytes(png_structp png, png_bytep to, size_t n) {
  codec *d = lib.png_get_io_ptr(png);
  if (d->left.n < n) lib.png_error(png, "the file ends early");
  memcpy(to, d->left.p, n);
  d->left.p += n;
  d->left.n -= n;
}

// Reads the header and asks the library for the wanted channels and width of samples.
static bool start(codec *d, int channels, bool wide) {
  if (setjmp(d->jump)) return false;
  d->png = lib.png_create_read_struct(PNG_LIBPNG_VER_STRING, d, on_error, on_warning);
  if (!d->png) return false;
  d->info = lib.png_create_info_struct(d->png);
  if (!d->info) return false;
  lib.png_set_read_fn(d->png, d, read_bytes);
  lib.png_read_info(d->png, d->info);
  lib.png_get_IHDR(d->png, d->info, &d->w, &d->h, &d->depth, &d->colour, NULL, NULL, NULL);
  const bool palette = d->colour == PNG_COLOR_TYPE_PALETTE;
  const bool transparent = lib.png_get_valid(d->png, d->info, PNG_INFO_tRNS) != 0;
  const bool alpha = (d->colour & PNG_COLOR_MASK_ALPHA) != 0;
  const bool grey = !(d->colour & PNG_COLOR_MASK_COLOR);
  d->channels = channels                 ? channels
                : palette && transparent ? 4
                : palette                ? 3
                                         : lib.png_get_channels(d->png, d->info);
  if (d->channels % 2 == 0) {
    if (!alpha && transparent) {
      lib.png_set_tRNS_to_alpha(d->png);
    } else if (!alpha) {
      lib.png_set_add_alpha(d->png, (1u << d->depth) - 1, PNG_FILLER_AFTER);
    }
  } else if (alpha || transparent) {
    lib.png_set_strip_alpha(d->png);
  }
  if (d->depth > 8 && !wide) lib.png_set_strip_16(d->png);
  lib.png_set_packing(d->png);
  d->passes = lib.png_set_interlace_handling(d->png);
  if (wide && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) lib.png_set_swap(d->png);
  if (palette) lib.png_set_palette_to_rgb(d->png);
  if (grey && d->depth < 8) lib.png_set_expand_gray_1_2_4_to_8(d->png);
  if (d->channels < 3 && !grey) lib.png_set_rgb_to_gray(d->png, 1, 0.299, 0.587);
  if (d->channels >= 3 && grey) lib.png_set_gray_to_rgb(d->png);
  lib.png_read_update_info(d->png, d->info);
  return true;
}

static bool finish(codec *d, uint8_t *rows, size_t stride) {
  if (setjmp(d->jump)) return false;
  if (lib.png_get_rowbytes(d->png, d->info) > stride) return false;
  for (int p = 0; p < d->passes; p++) {
    for (png_uint_32 y = 0; y < d->h; y++) lib.png_read_row(d->png, rows + y * stride, NULL);
  }
  lib.png_read_end(d->png, d->info);
  return true;
}

// Samples of 8 bits stand at the front of each row: spreads them to 16.
static void widen(uint8_t *rows, size_t h, size_t samples) {
  for (size_t y = 0; y < h; y++) {
    uint8_t *row = rows + y * samples * 2;
    for (size_t i = samples; i-- > 0;) row[2 * i] = row[2 * i + 1] = row[i];
  }
}

// Deflate makes at most 1032 bytes of one: could |bytes| hold an image of this size?
static bool plausible(const codec *d, size_t bytes) {
  const int per_pixel = d->colour == PNG_COLOR_TYPE_RGB          ? 3
                        : d->colour == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
                        : d->colour == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                                                 : 1;
  const double row = (double)d->w * per_pixel * d->depth / 8;
  return row * (double)d->h <= 1040.0 * (double)bytes;
}

static fy_code decode(codec *d, fy_view file, int channels, bool wide, fy_image_room room,
                      void *room_arg, fy_error *err) {
  d->left = file;
  if (!start(d, channels, wide)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid PNG. Failed to initialize decoder.");
  }
  if (!d->w || !d->h || d->w >= 1u << 27 || d->h >= 1u << 27 ||
      (uint64_t)d->w * d->h >= 1ull << 29) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "PNG size too large for int: %lu by %lu",
                   (unsigned long)d->w, (unsigned long)d->h);
  }
  void *rows = NULL;
  const bool possible = plausible(d, file.n);
  if (possible) FY_TRY(room(room_arg, 1, d->h, d->w, d->channels, &rows, err));
  const size_t samples = (size_t)d->w * (size_t)d->channels;
  if (!possible || !finish(d, rows, wide ? 2 * samples : samples)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid PNG data, size %zu", file.n);
  }
  if (wide && d->depth <= 8) widen(rows, d->h, samples);
  return FY_OK;
}

fy_code fy_png_decode(fy_view file, int channels, bool wide, fy_image_room room, void *room_arg,
                      fy_error *err) {
  FY_TRY(need_library(err));
  codec *d = fy_calloc(1, sizeof *d);
  if (!d) return fy_fail_oom(err, sizeof *d);
  const fy_code code = decode(d, file, channels, wide, room, room_arg, err);
  if (d->png) lib.png_destroy_read_struct(&d->png, d->info ? &d->info : NULL, NULL);
  fy_free(d);
  return code;
}

// ---------------------------------------------------------------- encoding
static void write_bytes(png_structp png, png_bytep p, size_t n) {
  codec *d = lib.png_get_io_ptr(png);
  fy_str_addn(d->out, (const char *)p, n);
}
static void flush(png_structp png) {
  (void)png;
}

static bool encode(codec *d, const uint8_t *rows, size_t stride, bool wide, int compression) {
  static const int colours[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(d->jump)) return false;
  d->png = lib.png_create_write_struct(PNG_LIBPNG_VER_STRING, d, on_error, on_warning);
  if (!d->png) return false;
  d->info = lib.png_create_info_struct(d->png);
  if (!d->info) return false;
  lib.png_set_write_fn(d->png, d, write_bytes, flush);
  lib.png_set_compression_level(d->png, compression);
  lib.png_set_compression_mem_level(d->png, 9);
  lib.png_set_IHDR(d->png, d->info, d->w, d->h, wide ? 16 : 8, colours[d->channels],
                   PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  lib.png_write_info(d->png, d->info);
  if (wide && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) lib.png_set_swap(d->png);
  for (png_uint_32 y = 0; y < d->h; y++) lib.png_write_row(d->png, rows + y * stride);
  lib.png_write_end(d->png, NULL);
  return true;
}

fy_code fy_png_encode(const void *pixels, int64_t h, int64_t w, int channels, bool wide,
                      int compression, fy_str *out, bool *ok, fy_error *err) {
  *ok = false;
  FY_TRY(need_library(err));
  if (w <= 0 || h <= 0 || w > INT32_MAX || h > INT32_MAX) return FY_OK;
  codec *d = fy_calloc(1, sizeof *d);
  if (!d) return fy_fail_oom(err, sizeof *d);
  d->out = out;
  d->w = (png_uint_32)w;
  d->h = (png_uint_32)h;
  d->channels = channels;
  *ok = encode(d, pixels, (size_t)w * (size_t)channels * (wide ? 2 : 1), wide, compression);
  if (d->png) lib.png_destroy_write_struct(&d->png, d->info ? &d->info : NULL);
  fy_free(d);
  return out->failed ? fy_fail_oom(err, out->len) : FY_OK;
}

#else

static fy_code absent(fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "PNG files cannot be read or written: %s",
                 fy_png_library());
}
const char *fy_png_library(void) {
  return "built without png.h (Debian package libpng-dev)";
}
fy_code fy_png_decode(fy_view file, int channels, bool wide, fy_image_room room, void *room_arg,
                      fy_error *err) {
  (void)file, (void)channels, (void)wide, (void)room, (void)room_arg;
  return absent(err);
}
fy_code fy_png_encode(const void *pixels, int64_t h, int64_t w, int channels, bool wide,
                      int compression, fy_str *out, bool *ok, fy_error *err) {
  (void)pixels, (void)h, (void)w, (void)channels, (void)wide, (void)compression, (void)out;
  *ok = false;
  return absent(err);
}

#endif
