// SPDX-License-Identifier: Apache-2.0
// image_jpeg.c: JPEG files through libjpeg-turbo, opened at run time.
//
// libjpeg reports errors by a callback that must not return: it jumps back to the function that
// called the library. Everything that function needs afterwards lives in a struct of its caller, so
// that nothing is lost in registers, and is freed there.

#include "ops/image_codec.h"

#define JPEG_LIBRARY "libjpeg.so.62"

#if defined(__has_include)
#if __has_include(<jpeglib.h>) && __has_include(<jconfig.h>)  // (the second is the target's)
#define HAVE_JPEG 1
#endif
#endif

#ifdef HAVE_JPEG
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/alloc.h"

// clang-format off
#define JPEG_FUNCTIONS(X) \
  X(jpeg_std_error) X(jpeg_CreateDecompress) X(jpeg_read_header) X(jpeg_calc_output_dimensions) \
  X(jpeg_start_decompress) X(jpeg_crop_scanline) X(jpeg_skip_scanlines) X(jpeg_read_scanlines) \
  X(jpeg_finish_decompress) X(jpeg_abort_decompress) X(jpeg_destroy_decompress) \
  X(jpeg_resync_to_restart) X(jpeg_CreateCompress) X(jpeg_set_defaults) X(jpeg_set_quality) \
  X(jpeg_simple_progression) X(jpeg_start_compress) X(jpeg_write_marker) \
  X(jpeg_write_scanlines) X(jpeg_finish_compress) X(jpeg_destroy_compress)
// clang-format on

#define JPEG_MEMBER(name) __typeof__(&name) name;
static struct { JPEG_FUNCTIONS(JPEG_MEMBER) } lib;
static const char *why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
  void *handle = dlopen(JPEG_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    why_not = "no " JPEG_LIBRARY " (Debian package libjpeg62-turbo)";
    return;
  }
#define JPEG_LOAD(name) *(void **)&lib.name = dlsym(handle, #name);
  JPEG_FUNCTIONS(JPEG_LOAD)
#define JPEG_MISSING(name) \
  if (!lib.name) why_not = JPEG_LIBRARY " has no " #name " (Debian package libjpeg62-turbo has)";
  JPEG_FUNCTIONS(JPEG_MISSING)
}

const char *fy_jpeg_library(void) {
  pthread_once(&once, open_library);
  return why_not;
}

static fy_code need_library(fy_error *err) {
  const char *why = fy_jpeg_library();
  return why ? fy_fail(err, FY_UNIMPLEMENTED, "JPEG files cannot be read or written: %s", why)
             : FY_OK;
}

// ---------------------------------------------------------------- errors
static void quiet(j_common_ptr c) {
  (void)c;
}
static void jump_out(j_common_ptr c) {
  longjmp(*(jmp_buf *)c->client_data, 1);
}
static struct jpeg_error_mgr *errors_of(struct jpeg_error_mgr *mgr) {
  struct jpeg_error_mgr *e = lib.jpeg_std_error(mgr);
  mgr->error_exit = jump_out;
  mgr->output_message = quiet;
  return e;
}

// ---------------------------------------------------------------- where bytes come from
typedef struct source {
  struct jpeg_source_mgr pub;
  const JOCTET *data;
  size_t size;
  bool recover;
  bool in_header;
  int64_t patience;  // how often the library may still ask for more although bytes are left
} source;

static void source_start(j_decompress_ptr c) {
  source *s = (source *)c->src;
  s->pub.next_input_byte = s->data;
  s->pub.bytes_in_buffer = s->size;
}
// The library wants more than the file has. A truncated file that may be recovered gets one end
// marker; what is left over otherwise is suspended on, and an empty rest is an error.
static boolean source_fill(j_decompress_ptr c) {
  static const JOCTET end[2] = {0xFF, JPEG_EOI};
  source *s = (source *)c->src;
  if (s->pub.bytes_in_buffer && !s->in_header && s->patience-- > 0) {
    return s->recover ? TRUE : FALSE;  // it reads the same bytes again: in a marker, for ever
  }
  if (!s->pub.bytes_in_buffer && s->pub.next_input_byte != end && s->recover) {
    s->pub.next_input_byte = end;
    s->pub.bytes_in_buffer = 2;
    return TRUE;
  }
  c->err->msg_code = JERR_FILE_READ;
  c->err->error_exit((j_common_ptr)c);
  return FALSE;
}
static void source_skip(j_decompress_ptr c, long n) {
  source *s = (source *)c->src;
  if (n < 0) return;
  if ((size_t)n > s->pub.bytes_in_buffer) {
    s->pub.bytes_in_buffer = 0;
    (void)source_fill(c);
  } else {
    s->pub.bytes_in_buffer -= (size_t)n;
    s->pub.next_input_byte += n;
  }
}
static void source_end(j_decompress_ptr c) {
  (void)c;
}

// ---------------------------------------------------------------- decoding
typedef struct decoder {
  struct jpeg_decompress_struct c;
  struct jpeg_error_mgr errors;
  source src;
  jmp_buf jump;
  const fy_jpeg_flags *flags;
  fy_image_room room;
  void *room_arg;
  fy_error *err;
  uint8_t *out, *line;
  JDIMENSION out_w, out_h, read_h;  // as cropped
  size_t stride;
  bool created;
} decoder;

static void decoder_open(decoder *d, fy_view file, bool recover) {
  d->c.err = errors_of(&d->errors);
  d->c.client_data = &d->jump;
  d->src = (source){.data = (const JOCTET *)file.p,
                    .size = file.n,
                    .recover = recover,
                    .in_header = true,
                    .patience = 1 << 20};
  d->src.pub.init_source = source_start;
  d->src.pub.fill_input_buffer = source_fill;
  d->src.pub.skip_input_data = source_skip;
  d->src.pub.resync_to_restart = lib.jpeg_resync_to_restart;
  d->src.pub.term_source = source_end;
}

static fy_code refused(fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "jpeg::Uncompress failed. Invalid JPEG data or crop window.");
}

static bool crop_fits(const fy_jpeg_flags *f, JDIMENSION w, JDIMENSION h) {
  return f->crop_w > 0 && f->crop_h > 0 && f->crop_x >= 0 && f->crop_y >= 0 &&
         (int64_t)f->crop_y + f->crop_h <= (int64_t)h &&
         (int64_t)f->crop_x + f->crop_w <= (int64_t)w;
}

// |from| is a line of CMYK; Adobe's files hold the inverse.
static void cmyk_to_rgb(const uint8_t *from, uint8_t *to, JDIMENSION n, bool inverse) {
  for (JDIMENSION i = 0; i < n; i++, from += 4, to += 3) {
    for (int k = 0; k < 3; k++) {
      to[k] =
          (uint8_t)(inverse ? from[3] * from[k] / 255 : (255 - from[3]) * (255 - from[k]) / 255);
    }
  }
}

// The lines after the last that could be read repeat it (or are black).
static void fill_rest(decoder *d, JDIMENSION done) {
  for (JDIMENSION y = done; y < d->out_h; y++) {
    uint8_t *to = d->out + (size_t)y * d->stride;
    if (y == 0) {
      memset(to, 0, d->stride);
    } else {
      memcpy(to, to - d->stride, d->stride);
    }
  }
}

static fy_code read_lines(decoder *d, int channels, JDIMENSION skipped) {
  struct jpeg_decompress_struct *c = &d->c;
  const bool cmyk = c->out_color_space == JCS_CMYK;
  const bool through_line = cmyk || d->out_w != c->output_width;
  const size_t samples = cmyk ? 4 : (size_t)channels;
  const size_t offset = (c->output_width - d->out_w) * samples;
  const JDIMENSION last = skipped + d->out_h;
  d->read_h = d->out_h;
  while (c->output_scanline < last) {
    if (c->output_scanline < skipped) return refused(d->err);
    const JDIMENSION y = c->output_scanline - skipped;
    uint8_t *to = d->out + (size_t)y * d->stride;
    JSAMPROW row = through_line ? d->line : to;
    if (lib.jpeg_read_scanlines(c, &row, 1) == 0) {
      if (!d->flags->recover) {
        d->read_h = y;
        lib.jpeg_abort_decompress(c);
        return FY_OK;
      }
      fill_rest(d, y);
      c->output_scanline = last;
      break;
    }
    if (cmyk) {
      cmyk_to_rgb(d->line + offset, to, d->out_w, c->saw_Adobe_marker);
    } else if (through_line) {
      memcpy(to, d->line + offset, d->stride);
    }
  }
  if (d->flags->crop && c->output_scanline < c->output_height) {
    (void)lib.jpeg_skip_scanlines(c, c->output_height - c->output_scanline);
  }
  (void)lib.jpeg_finish_decompress(c);
  return FY_OK;
}

// Runs between setjmp and the library: owns nothing itself.
static fy_code decode_inside(decoder *d) {
  struct jpeg_decompress_struct *c = &d->c;
  const fy_jpeg_flags *f = d->flags;
  if (setjmp(d->jump)) return refused(d->err);
  lib.jpeg_CreateDecompress(c, JPEG_LIB_VERSION, sizeof *c);
  d->created = true;
  c->src = &d->src.pub;
  (void)lib.jpeg_read_header(c, TRUE);
  d->src.in_header = false;
  const int channels = f->channels ? f->channels : c->num_components < 3 ? c->num_components : 3;
  if (channels != 1 && channels != 3) return refused(d->err);
  const bool four = c->jpeg_color_space == JCS_CMYK || c->jpeg_color_space == JCS_YCCK;
  c->out_color_space = channels == 1 ? JCS_GRAYSCALE : four ? JCS_CMYK : JCS_RGB;
  c->do_fancy_upsampling = f->fancy_upscaling;
  c->scale_num = 1;
  c->scale_denom = (unsigned)f->ratio;
  c->dct_method = f->accurate_dct ? JDCT_ISLOW : JDCT_IFAST;
  lib.jpeg_calc_output_dimensions(c);
  // The size is known before anything of that size is allocated.
  const int64_t total = (int64_t)c->output_height * c->output_width * c->num_components;
  if (!c->output_width || !c->output_height || total >= 1LL << 29) return refused(d->err);
  if (!lib.jpeg_start_decompress(c)) return refused(d->err);
  d->out_w = c->output_width;
  d->out_h = c->output_height;
  JDIMENSION skipped = 0;
  if (f->crop) {
    if (!crop_fits(f, d->out_w, d->out_h)) return refused(d->err);
    JDIMENSION x = (JDIMENSION)f->crop_x, w = (JDIMENSION)f->crop_w;
    d->out_w = w;
    d->out_h = (JDIMENSION)f->crop_h;
    lib.jpeg_crop_scanline(c, &x, &w);
    skipped = lib.jpeg_skip_scanlines(c, (JDIMENSION)f->crop_y);
    if (skipped != (JDIMENSION)f->crop_y) return refused(d->err);
  }
  d->stride = (size_t)d->out_w * (size_t)channels;
  void *memory = NULL;
  FY_TRY(d->room(d->room_arg, 1, d->out_h, d->out_w, channels, &memory, d->err));
  d->out = memory;
  d->line = fy_malloc((size_t)c->output_width * 4);
  if (!d->line) return fy_fail_oom(d->err, (size_t)c->output_width * 4);
  if (c->output_components != (channels == 1 ? 1 : four ? 4 : 3)) return refused(d->err);
  return read_lines(d, channels, skipped);
}

fy_code fy_jpeg_decode(fy_view file, const fy_jpeg_flags *flags, fy_image_room room, void *room_arg,
                       fy_error *err) {
  FY_TRY(need_library(err));
  decoder *d = fy_calloc(1, sizeof *d);
  if (!d) return fy_fail_oom(err, sizeof *d);
  d->flags = flags;
  d->room = room;
  d->room_arg = room_arg;
  d->err = err;
  decoder_open(d, file, flags->recover);
  fy_code code = decode_inside(d);
  if (!code) {
    const float wanted = flags->acceptable_fraction < 1 ? flags->acceptable_fraction : 1;
    if (d->out_h && (float)d->read_h / (float)d->out_h < wanted) {
      code = refused(err);
    } else {
      memset(d->out + d->read_h * d->stride, 0, (d->out_h - d->read_h) * d->stride);
    }
  }
  if (d->created) lib.jpeg_destroy_decompress(&d->c);
  fy_free(d->line);
  fy_free(d);
  return code;
}

static bool shape_inside(decoder *d, int64_t out[3]) {
  struct jpeg_decompress_struct *c = &d->c;
  if (setjmp(d->jump)) return false;
  lib.jpeg_CreateDecompress(c, JPEG_LIB_VERSION, sizeof *c);
  d->created = true;
  c->src = &d->src.pub;
  if (lib.jpeg_read_header(c, TRUE) != JPEG_HEADER_OK) return false;
  d->src.in_header = false;
  lib.jpeg_calc_output_dimensions(c);
  // A progressive file is read as a whole here: what would need too much memory is refused first.
  const int64_t total = (int64_t)c->output_height * c->output_width * c->num_components;
  if (total < 1LL << 29) (void)lib.jpeg_start_decompress(c);
  out[0] = c->output_height;
  out[1] = c->output_width;
  out[2] = c->output_components;
  return true;
}

fy_code fy_jpeg_shape(fy_view file, int64_t out[3], fy_error *err) {
  FY_TRY(need_library(err));
  decoder *d = fy_calloc(1, sizeof *d);
  if (!d) return fy_fail_oom(err, sizeof *d);
  decoder_open(d, file, false);
  const bool ok = file.n > 0 && shape_inside(d, out);
  if (d->created) lib.jpeg_destroy_decompress(&d->c);
  fy_free(d);
  return ok ? FY_OK : fy_fail(err, FY_INVALID_ARGUMENT, "Invalid JPEG data, size %zu", file.n);
}

// ---------------------------------------------------------------- encoding
typedef struct encoder {
  struct jpeg_compress_struct c;
  struct jpeg_error_mgr errors;
  struct jpeg_destination_mgr dest;
  jmp_buf jump;
  fy_str *out, packet;
  bool created;
  JOCTET buffer[1 << 14];
} encoder;

static encoder *encoder_of(j_compress_ptr c) {
  return (encoder *)((char *)c - offsetof(encoder, c));
}
static void dest_start(j_compress_ptr c) {
  encoder *e = encoder_of(c);
  e->dest.next_output_byte = e->buffer;
  e->dest.free_in_buffer = sizeof e->buffer;
}
static boolean dest_full(j_compress_ptr c) {
  encoder *e = encoder_of(c);
  fy_str_addn(e->out, (const char *)e->buffer, sizeof e->buffer);
  dest_start(c);
  return TRUE;
}
static void dest_end(j_compress_ptr c) {
  encoder *e = encoder_of(c);
  fy_str_addn(e->out, (const char *)e->buffer, sizeof e->buffer - e->dest.free_in_buffer);
}

static bool encode_inside(encoder *e, const uint8_t *pixels, int64_t h, int64_t w,
                          const fy_jpeg_settings *s) {
  struct jpeg_compress_struct *c = &e->c;
  if (setjmp(e->jump)) return false;
  lib.jpeg_CreateCompress(c, JPEG_LIB_VERSION, sizeof *c);
  e->created = true;
  c->dest = &e->dest;
  c->image_width = (JDIMENSION)w;
  c->image_height = (JDIMENSION)h;
  c->input_components = s->channels;
  c->in_color_space = s->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  lib.jpeg_set_defaults(c);
  if (s->optimize) c->optimize_coding = TRUE;
  c->density_unit = (UINT8)s->density_unit;
  c->X_density = (UINT16)s->x_density;
  c->Y_density = (UINT16)s->y_density;
  lib.jpeg_set_quality(c, s->quality, TRUE);
  if (s->progressive) lib.jpeg_simple_progression(c);
  for (int i = 0; !s->subsample && i < c->num_components; i++) {
    c->comp_info[i].h_samp_factor = 1;
    c->comp_info[i].v_samp_factor = 1;
  }
  lib.jpeg_start_compress(c, TRUE);
  if (s->xmp.n) {
    lib.jpeg_write_marker(c, JPEG_APP0 + 1, (const JOCTET *)e->packet.p, (unsigned)e->packet.len);
  }
  while (c->next_scanline < c->image_height) {
    JSAMPROW row =
        (JSAMPROW)(uintptr_t)(pixels + (size_t)c->next_scanline * (size_t)w * (size_t)s->channels);
    if (lib.jpeg_write_scanlines(c, &row, 1) != 1) return false;
  }
  lib.jpeg_finish_compress(c);
  return true;
}

fy_code fy_jpeg_encode(const uint8_t *pixels, int64_t h, int64_t w,
                       const fy_jpeg_settings *settings, fy_str *out, fy_error *err) {
  FY_TRY(need_library(err));
  if (w <= 0 || h <= 0 || w >= 1LL << 29 || h >= 1LL << 29 || w * h >= 1LL << 29) {
    return fy_fail(err, FY_INTERNAL, "JPEG encoding failed");
  }
  encoder *e = fy_calloc(1, sizeof *e);
  if (!e) return fy_fail_oom(err, sizeof *e);
  e->c.err = errors_of(&e->errors);
  e->c.client_data = &e->jump;
  e->out = out;
  e->dest.init_destination = dest_start;
  e->dest.empty_output_buffer = dest_full;
  e->dest.term_destination = dest_end;
  fy_str_init(&e->packet);
  if (settings->xmp.n) {  // the name of the format with its NUL, then the metadata
    static const char name[] = "http://ns.adobe.com/xap/1.0/";
    fy_str_addn(&e->packet, name, sizeof name);
    fy_str_addn(&e->packet, settings->xmp.p, settings->xmp.n);
  }
  const bool ok = !e->packet.failed && encode_inside(e, pixels, h, w, settings);
  if (e->created) lib.jpeg_destroy_compress(&e->c);
  fy_str_free(&e->packet);
  fy_free(e);
  if (out->failed) return fy_fail_oom(err, out->len);
  return ok ? FY_OK : fy_fail(err, FY_INTERNAL, "JPEG encoding failed");
}

#else

static fy_code absent(fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "JPEG files cannot be read or written: %s",
                 fy_jpeg_library());
}
const char *fy_jpeg_library(void) {
  return "built without jpeglib.h (Debian package libjpeg-dev)";
}
fy_code fy_jpeg_decode(fy_view file, const fy_jpeg_flags *flags, fy_image_room room, void *room_arg,
                       fy_error *err) {
  (void)file, (void)flags, (void)room, (void)room_arg;
  return absent(err);
}
fy_code fy_jpeg_shape(fy_view file, int64_t out[3], fy_error *err) {
  (void)file, (void)out;
  return absent(err);
}
fy_code fy_jpeg_encode(const uint8_t *pixels, int64_t h, int64_t w,
                       const fy_jpeg_settings *settings, fy_str *out, fy_error *err) {
  (void)pixels, (void)h, (void)w, (void)settings, (void)out;
  return absent(err);
}

#endif
