// SPDX-License-Identifier: Apache-2.0
// pool_lanes.c: maxima and averages of windows of floats and 16-bit floats, in lanes. A window is either
// taken pixel by pixel, or first over its rows, of all columns at once, and then along the row that comes of
// it: so few channels fill vectors, and large windows need not look at every pixel again. (Floats only: the
// sums of 16-bit floats round at every step, in the order of TensorFlow's.)

#include "ops/fused.h"
#include "ops/pool.h"
#include "ops/turn.h"
#include "ops/typed.h"

#define LEAST 8           // channels for lanes
#define ROOM  4096        // floats of a row that waits
#define PIECE 4096        // bytes of a result on their way past the cache
#define NEAR  (8 << 20)   // bytes of an input that are soon there
#define FAR   (32 << 20)  // bytes of input and result that do not stay in a cache together

typedef struct pool_row {
  const fy_pool_geometry *g;
  fy_pool_type type;
  fy_pool_kind kind;
  size_t size;
  fy_pool_window w;  // the window's rows, its width not set
  const char *in;    // its first row
  char *out;
  bool past;           // the cache: the result is large
  int64_t whole, cut;  // the first window of a row that sees no border, and the end of those
} pool_row;

// The count of an average is a number of the same type: bfloat16 counts to 256, half to 2048. Volumes
// are divided before they are rounded.
static float count_of(const pool_row *r, int64_t width) {
  static const int64_t most[] = {1 << 24, 2048, 256};
  const int64_t n =
      width > 0 && r->w.depth > 0 && r->w.height > 0 ? r->w.depth * r->w.height * width : 0;
  const int64_t top = most[r->kind == FY_POOL_AVERAGE_LATE ? FY_POOL_FLOAT : r->type];
  return (float)(n > top ? top : n);
}

static float get(const pool_row *r, const char *from, int64_t at) {
  if (r->type == FY_POOL_HALF) return fy_ld_half(((const uint16_t *)(const void *)from)[at]);
  if (r->type == FY_POOL_BFLOAT16) return FY_LD_bf16(((const uint16_t *)(const void *)from)[at]);
  return ((const float *)(const void *)from)[at];
}
static void put(const pool_row *r, int64_t at, float v) {
  if (r->type == FY_POOL_HALF)
    ((uint16_t *)(void *)r->out)[at] = fy_st_half(v);
  else if (r->type == FY_POOL_BFLOAT16)
    ((uint16_t *)(void *)r->out)[at] = FY_ST_bf16(v);
  else
    ((float *)(void *)r->out)[at] = v;
}
static float rounded(const pool_row *r, float v) {
  if (r->kind != FY_POOL_AVERAGE || r->type == FY_POOL_FLOAT) return v;
  return r->type == FY_POOL_HALF ? FY_RD_f16(v) : FY_RD_bf16(v);
}

// Fewer channels than a vector, one by one.
static void few_channels(const pool_row *r, const fy_pool_window *of, const char *in, float over,
                         int64_t x) {
  const fy_pool_window here = *of, *w = &here;  // which no result overwrites
  static const float lowest[] = {FY_LOWEST_f32, FY_LOWEST_f16, FY_LOWEST_bf16};
  const int64_t depth = r->g->depth;
  for (int64_t i = 0; i < w->windows; i++, in += (size_t)w->next * r->size) {
    for (int64_t c = 0; c < depth; c++) {
      float acc = r->kind == FY_POOL_MAX ? lowest[r->type] : 0;
      for (int64_t z = 0; z < w->depth; z++) {
        for (int64_t y = 0; y < w->height; y++) {
          for (int64_t k = 0; k < w->width; k++) {
            const int64_t at = z * w->plane_step + y * w->row_step + k * w->pixel_step + c;
            const float v = get(r, in, at);
            acc = r->kind != FY_POOL_MAX ? rounded(r, acc + v) : v > acc ? v : acc;
          }
        }
      }
      put(r, (x + i) * depth + c, r->kind == FY_POOL_MAX ? acc : acc / over);
    }
  }
}

// Windows of one width, from pixel |x| on, on their way past the cache: in whole lines, some windows or
// channels of one at a time.
static void pieces(const pool_row *r, const fy_pool_window *w, const char *in, float over,
                   int64_t x) {
  const int64_t n = r->g->depth, most = PIECE / (int64_t)r->size;
  char *out = r->out + (size_t)(x * n) * r->size;
  _Alignas(64) char piece[PIECE];
  fy_pool_window some = *w;
  for (int64_t i = 0; i < w->windows; i += some.windows) {
    some.windows = n > most ? 1 : w->windows - i < most / n ? w->windows - i : most / n;
    for (int64_t c = 0, m; c < n; c += m) {
      m = n - c < most ? n - c : most - 64;  // the last piece is a vector at least
      fy_lanes_best()->pool[r->type][r->kind](&some, in + (size_t)(i * w->next + c) * r->size, m,
                                              over, piece);
      fy_stream(out + (size_t)(i * n + c) * r->size, piece, (size_t)(some.windows * m) * r->size);
    }
  }
}

// Pixel by pixel.
static void row_of_pixels(const pool_row *r) {
  const fy_window *g = &r->g->w[2];
  const int64_t n = r->g->depth;
  fy_pool_window w = r->w;
  w.next = g->stride * n;
  // Lines of floats go there straight from the registers.
  w.past = r->past && r->type == FY_POOL_FLOAT && n % 16 == 0 && (uintptr_t)r->out % 64 == 0;
  for (int64_t x = 0; x < g->out; x += w.windows) {
    const int64_t x0 = fy_pool_start(g, x);
    w.windows = x >= r->whole && x < r->cut ? (r->cut < g->out ? r->cut : g->out) - x : 1;
    w.width = fy_pool_end(g, x) - x0;
    const float over = count_of(r, w.width);
    const char *in = r->in + (size_t)(x0 * n) * r->size;
    if (n < LEAST)
      few_channels(r, &w, in, over, x);
    else if (r->past && !w.past)
      pieces(r, &w, in, over, x);
    else
      fy_lanes_best()->pool[r->type][r->kind](&w, in, n, over, r->out + (size_t)(x * n) * r->size);
  }
}

// Few channels: |n| windows of one width, |step| numbers apart.
static void some_windows(const float *in, bool max, int64_t width, int64_t step, int64_t channels,
                         int64_t n, float over, float *out) {
  for (int64_t x = 0; x < n; x++, in += step, out += channels) {
    for (int64_t c = 0; c < channels; c++) {
      float acc = max ? FY_LOWEST_f32 : 0;
      if (max)
        for (int64_t k = c; k < width * channels; k += channels) acc = in[k] > acc ? in[k] : acc;
      else
        for (int64_t k = c; k < width * channels; k += channels) acc += in[k];
      out[c] = max ? acc : acc / over;
    }
  }
}

// A row in which each pixel stands for a column, to pixels [x, x + n) of the result. |first|: its first column.
static void along_row(const pool_row *r, const float *sums, int64_t first, int64_t x, int64_t n) {
  const fy_window *g = &r->g->w[2];
  const int64_t c = r->g->depth;
  fy_pool_window w = {.depth = 1, .height = 1, .pixel_step = c, .next = g->stride * c};
  for (int64_t end = x + n, run; x < end; x += run) {
    const int64_t x0 = fy_pool_start(g, x);
    const float *in = sums + (x0 - first) * c;
    float *out = (float *)(void *)r->out + x * c;
    run = x >= r->whole && x < r->cut ? (r->cut < end ? r->cut : end) - x : 1;
    w.width = fy_pool_end(g, x) - x0;
    const float over = count_of(r, w.width);
    // Windows that begin side by side are one window of many channels.
    const int64_t together = g->stride == 1 ? run : 1;
    w.windows = run / together;
    if (together * c < LEAST)
      some_windows(in, r->kind == FY_POOL_MAX, w.width, g->stride * c, c, run, over, out);
    else
      fy_lanes_best()->pool[FY_POOL_FLOAT][r->kind](&w, in, together * c, over, out);
  }
}

// Pixels of the result whose columns fit into ROOM.
static int64_t pixels_at_once(const fy_pool_geometry *g) {
  const int64_t columns = ROOM / g->depth;
  return columns < g->w[2].size ? 0 : (columns - g->w[2].size) / g->w[2].stride + 1;
}
static void row_of_columns(const pool_row *r) {
  const fy_pool_geometry *g = r->g;
  const int64_t most = pixels_at_once(g);
  float sums[ROOM + LEAST];
  fy_pool_window w = r->w;
  w.width = w.windows = 1;
  for (int64_t x = 0, n; x < g->w[2].out; x += n) {
    n = g->w[2].out - x < most ? g->w[2].out - x : most;
    const int64_t first = fy_pool_start(&g->w[2], x), last = fy_pool_end(&g->w[2], x + n - 1);
    // What is less than a vector is summed with its neighbours.
    const int64_t end = g->w[2].in * g->depth - LEAST, start = first * g->depth;
    const int64_t from = start < end ? start : end, count = last * g->depth - from;
    fy_lanes_best()->pool[FY_POOL_FLOAT][r->kind](&w, (const float *)(const void *)r->in + from,
                                                  count < LEAST ? LEAST : count, 1, sums);
    along_row(r, sums + (start - from), first, x, n);
  }
}

// Whether it is less work to take columns first.
static bool by_columns(const fy_pool_geometry *g, fy_pool_type type) {
  const int64_t rows = g->w[0].size * g->w[1].size, width = g->w[2].size;
  if (type != FY_POOL_FLOAT || g->w[2].in * g->depth < LEAST || pixels_at_once(g) < 1) return false;
  const double vectors = g->depth < LEAST ? 4 : (double)g->depth / 8;
  const double pixels = (double)(g->w[2].out * width) * vectors;
  return (double)rows * pixels > 1.5 * ((double)(g->w[2].in * rows * g->depth) / 8 + pixels);
}

// The rows of a window from |y| on, and those that come into sight one row of windows further.
static void set_rows(pool_row *r, int64_t y, bool far) {
  const fy_window *g = &r->g->w[1];
  const int64_t first = fy_pool_start(g, y), end = fy_pool_end(g, y);
  const int64_t below = (y + 1) * g->stride - g->before;
  const int64_t next = below > end ? below : end;
  r->w.height = end - first;
  r->w.ahead = (next - first) * r->w.row_step;
  r->w.new_rows = far && below + g->size > next ? below + g->size - next : 0;
}

void fy_pool_lanes(const fy_pool_geometry *g, fy_pool_type type, fy_pool_kind kind, const void *in,
                   void *out, int64_t begin, int64_t end) {
  const bool columns = by_columns(g, type);
  pool_row r = {.g = g, .type = type, .kind = kind, .size = type == FY_POOL_FLOAT ? 4 : 2};
  const fy_window *x = &g->w[2];
  const int64_t in_bytes = g->batch * g->in_image * (int64_t)r.size;
  const int64_t out_bytes = g->batch * g->out_image * (int64_t)r.size;
  r.whole = (x->before + x->stride - 1) / x->stride;
  r.cut = x->in + x->before < x->size ? 0 : (x->in + x->before - x->size) / x->stride + 1;
  r.past = !columns && in_bytes + out_bytes >= FAR;
  r.w.pixel_step = g->depth;
  r.w.row_step = x->in * g->depth;
  r.w.plane_step = g->w[1].in * r.w.row_step;
  r.w.new_pixels = columns ? 1 : x->stride < x->size ? x->stride : x->size;
  for (int64_t row = begin; row < end; row++) {
    const int64_t y = row % g->w[1].out, z = row / g->w[1].out % g->w[0].out;
    const int64_t image = row / g->w[1].out / g->w[0].out;
    const int64_t z0 = fy_pool_start(&g->w[0], z), y0 = fy_pool_start(&g->w[1], y);
    r.w.depth = fy_pool_end(&g->w[0], z) - z0;
    set_rows(&r, y, in_bytes >= NEAR);
    r.in = (const char *)in +
           (size_t)(image * g->in_image + z0 * r.w.plane_step + y0 * r.w.row_step) * r.size;
    r.out = (char *)out + (size_t)(row * x->out * g->depth) * r.size;
    if (columns)
      row_of_columns(&r);
    else
      row_of_pixels(&r);
  }
  if (r.past) fy_stream_end();
}
