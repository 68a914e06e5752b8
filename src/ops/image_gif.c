// SPDX-License-Identifier: Apache-2.0
// image_gif.c: GIF files through giflib, opened at run time. A frame is drawn over the frame before
// it; transparent pixels keep what was there. The canvas is as large as the largest frame.

#include "ops/image_codec.h"

#define GIF_LIBRARY "libgif.so.7"

#if defined(__has_include)
#if __has_include(<gif_lib.h>)
#define HAVE_GIF 1
#endif
#endif

#ifdef HAVE_GIF
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include <gif_lib.h>

#include "base/alloc.h"

// clang-format off
#define GIF_FUNCTIONS(X) \
  X(DGifOpen) X(DGifGetRecordType) X(DGifGetImageDesc) X(DGifGetLine) X(DGifGetExtension) \
  X(DGifGetExtensionNext) X(DGifExtensionToGCB) X(DGifCloseFile) X(GifErrorString)
// clang-format on

#define GIF_MEMBER(name) __typeof__(&name) name;
static struct { GIF_FUNCTIONS(GIF_MEMBER) } lib;
static const char *why_not;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_library(void) {
  void *handle = dlopen(GIF_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    why_not = "no " GIF_LIBRARY " (Debian package libgif7)";
    return;
  }
#define GIF_LOAD(name) *(void **)&lib.name = dlsym(handle, #name);
  GIF_FUNCTIONS(GIF_LOAD)
#define GIF_MISSING(name) \
  if (!lib.name) why_not = GIF_LIBRARY " has no " #name " (Debian package libgif7 has)";
  GIF_FUNCTIONS(GIF_MISSING)
}

const char *fy_gif_library(void) {
  pthread_once(&once, open_library);
  return why_not;
}

static int read_bytes(GifFileType *gif, GifByteType *to, int n) {
  fy_view *left = gif->UserData;
  const size_t take = (size_t)n < left->n ? (size_t)n : left->n;
  if (take) memcpy(to, left->p, take);
  left->p += take;
  left->n -= take;
  return (int)take;
}

static const char *reason(int code) {
  const char *text = lib.GifErrorString(code);
  return text ? text : "Unknown error";
}

static fy_code invalid(size_t size, const char *what, const char *detail, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid GIF data (size %zu), %s%s", size, what, detail);
}

typedef struct frame {
  GifImageDesc at;  // its colours belong to the library
  int transparent;  // a colour, or NO_TRANSPARENT_COLOR
  GifByteType *pixels;
} frame;

typedef struct frames {
  frame *list;
  size_t n, cap;
} frames;

// The pixels of the image the library has just described.
static bool read_pixels(GifFileType *gif, const GifImageDesc *at, GifByteType *to) {
  static const int first[] = {0, 4, 2, 1}, by[] = {8, 8, 4, 2};
  const int passes = at->Interlace ? 4 : 1;
  for (int p = 0; p < passes; p++) {
    const int step = at->Interlace ? by[p] : 1;
    for (int y = first[p]; y < at->Height; y += step) {
      if (lib.DGifGetLine(gif, to + (size_t)y * (size_t)at->Width, at->Width) != GIF_OK) {
        return false;
      }
    }
  }
  return true;
}

// Whether what is left of the file could be so many pixels: a code has three bits at least and stands
// for at most 4096 of them.
static bool is_possible(const GifFileType *gif, const GifImageDesc *at) {
  const fy_view *left = gif->UserData;
  return (uint64_t)at->Width * (uint64_t)at->Height / 4096 / 3 <= (uint64_t)left->n + 512;
}

// Reads lines that nobody keeps until the file ends, for the library's own word about it.
static void read_to_the_end(GifFileType *gif, const GifImageDesc *at) {
  GifByteType *line = fy_malloc((size_t)at->Width);
  for (int y = 0; line && y < at->Height; y++)
    if (lib.DGifGetLine(gif, line, at->Width) != GIF_OK) break;
  fy_free(line);
}

static bool read_extension(GifFileType *gif, int *transparent) {
  int code;
  GifByteType *data;
  GraphicsControlBlock control;
  if (lib.DGifGetExtension(gif, &code, &data) != GIF_OK) return false;
  while (data) {
    if (code == GRAPHICS_EXT_FUNC_CODE && *transparent == NO_TRANSPARENT_COLOR &&
        lib.DGifExtensionToGCB(data[0], data + 1, &control) == GIF_OK) {
      *transparent = control.TransparentColor;
    }
    if (lib.DGifGetExtensionNext(gif, &data) != GIF_OK) return false;
  }
  return true;
}

// Reads frames until the file ends or breaks; a frame that is not complete does not count. False:
// an image of no size, which spoils all.
static bool read_frames(GifFileType *gif, frames *f, bool *out_of_memory) {
  int transparent = NO_TRANSPARENT_COLOR;
  for (;;) {
    GifRecordType type;
    if (lib.DGifGetRecordType(gif, &type) != GIF_OK) return true;
    if (type == TERMINATE_RECORD_TYPE) return true;
    if (type == EXTENSION_RECORD_TYPE && !read_extension(gif, &transparent)) return true;
    if (type != IMAGE_DESC_RECORD_TYPE) continue;
    if (lib.DGifGetImageDesc(gif) != GIF_OK) return true;
    frame one = {.at = gif->SavedImages[gif->ImageCount - 1].ImageDesc, .transparent = transparent};
    if (one.at.Width <= 0 || one.at.Height <= 0) return false;
    if (!is_possible(gif, &one.at)) {
      read_to_the_end(gif, &one.at);
      return true;
    }
    one.pixels = fy_malloc((size_t)one.at.Width * (size_t)one.at.Height);
    if (!one.pixels || !fy_grow(&f->list, &f->cap, f->n + 1, sizeof one)) {
      fy_free(one.pixels);
      *out_of_memory = true;
      return false;
    }
    if (!read_pixels(gif, &one.at, one.pixels)) {
      fy_free(one.pixels);
      return true;
    }
    f->list[f->n++] = one;
    transparent = NO_TRANSPARENT_COLOR;
  }
}

static fy_code draw(const GifFileType *gif, const frame *f, size_t k, uint8_t *canvas, int w, int h,
                    size_t size, fy_error *err) {
  const GifImageDesc *at = &f->at;
  const ColorMapObject *colours = at->ColorMap ? at->ColorMap : gif->SColorMap;
  char number[64];
  if (!colours) {
    snprintf(number, sizeof number, "%zu", k);
    return invalid(size, "missing color map for frame ", number, err);
  }
  const int left = at->Left > 0 ? at->Left : 0, top = at->Top > 0 ? at->Top : 0;
  const int right = at->Left + at->Width < w ? at->Left + at->Width : w;
  const int bottom = at->Top + at->Height < h ? at->Top + at->Height : h;
  for (int y = top; y < bottom; y++) {
    uint8_t *to = canvas + ((size_t)y * (size_t)w + (size_t)left) * 3;
    const GifByteType *from = f->pixels + (size_t)(y - at->Top) * (size_t)at->Width;
    for (int x = left; x < right; x++, to += 3) {
      const int index = from[x - at->Left];
      if (index == f->transparent) continue;
      if (index >= colours->ColorCount) {
        snprintf(number, sizeof number, "%d outside of color map range %d", index,
                 colours->ColorCount);
        return invalid(size, "found color index ", number, err);
      }
      to[0] = colours->Colors[index].Red;
      to[1] = colours->Colors[index].Green;
      to[2] = colours->Colors[index].Blue;
    }
  }
  return FY_OK;
}

static fy_code decode(GifFileType *gif, frames *f, size_t size, bool all_frames, fy_image_room room,
                      void *room_arg, fy_error *err) {
  bool out_of_memory = false;
  const bool sound = read_frames(gif, f, &out_of_memory);
  if (out_of_memory) return fy_fail_oom(err, size);
  if (!sound || (f->n == 0 && gif->Error != D_GIF_SUCCEEDED)) {
    return invalid(size, "failed to slurp gif file: ", reason(gif->Error), err);
  }
  if (f->n == 0) {
    return invalid(size, "failed to slurp gif file: ", "No Image Descriptor detected", err);
  }
  int w = 0, h = 0;
  for (size_t k = 0; k < f->n; k++) {
    if (f->list[k].at.Width > w) w = f->list[k].at.Width;
    if (f->list[k].at.Height > h) h = f->list[k].at.Height;
  }
  const size_t count = all_frames ? f->n : 1, canvas = (size_t)w * (size_t)h * 3;
  void *memory = NULL;
  FY_TRY(room(room_arg, (int64_t)count, h, w, 3, &memory, err));
  for (size_t k = 0; k < count; k++) {
    uint8_t *to = (uint8_t *)memory + k * canvas;
    if (k == 0) {
      memset(to, 0, canvas);
    } else {
      memcpy(to, to - canvas, canvas);
    }
    FY_TRY(draw(gif, &f->list[k], k, to, w, h, size, err));
  }
  return FY_OK;
}

fy_code fy_gif_decode(fy_view file, bool all_frames, fy_image_room room, void *room_arg,
                      fy_error *err) {
  const char *why = fy_gif_library();
  if (why) return fy_fail(err, FY_UNIMPLEMENTED, "GIF files cannot be read: %s", why);
  fy_view left = file;
  int problem = D_GIF_SUCCEEDED;
  GifFileType *gif = lib.DGifOpen(&left, read_bytes, &problem);
  if (!gif) return invalid(file.n, "failed to open gif file: ", reason(problem), err);
  frames f = {NULL, 0, 0};
  const fy_code code = decode(gif, &f, file.n, all_frames, room, room_arg, err);
  for (size_t k = 0; k < f.n; k++) fy_free(f.list[k].pixels);
  fy_free(f.list);
  (void)lib.DGifCloseFile(gif, &problem);
  return code;
}

#else

const char *fy_gif_library(void) {
  return "built without gif_lib.h (Debian package libgif-dev)";
}
fy_code fy_gif_decode(fy_view file, bool all_frames, fy_image_room room, void *room_arg,
                      fy_error *err) {
  (void)file, (void)all_frames, (void)room, (void)room_arg;
  return fy_fail(err, FY_UNIMPLEMENTED, "GIF files cannot be read: %s", fy_gif_library());
}

#endif

static void report_one(fy_str *out, const char *separator, const char *what, const char *why) {
  fy_str_printf(out, "%s%s: %s", separator, what, why ? why : "usable");
}

void fy_image_libraries_report(fy_str *out) {
  report_one(out, "", "JPEG", fy_jpeg_library());
  report_one(out, "; ", "PNG", fy_png_library());
  report_one(out, "; ", "GIF", fy_gif_library());
}
