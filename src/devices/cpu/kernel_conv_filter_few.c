// SPDX-License-Identifier: Apache-2.0
// kernel_conv_filter_few.c: the gradient of a filter over few channels (the first layer of an image
// model), where to copy out what every tap sees (kernel_conv_filter.c) takes as long as the products.
//
// An item is some lines of an image's gradient. What they see is copied once, with its padding: then what
// tap and channel see of a line is a run of it (with a step), and the kernel of gemm.h, for which the lines
// are taps, reads it there. The sum over all items is cut into a fixed number of parts, so that the result
// does not depend on the threads.

#include <string.h>

#include "devices/cpu/gemm.h"
#include "devices/cpu/kernels.h"

#define MOST_CHANNELS 16
#define MOST_SUMS     32768  // of a part
#define MOST_PARTS    16
#define PIXELS        1024     // of an item, at most
#define MOST_POINTERS 8192     // rows times lines of an item
#define MOST_SEEN     1048576  // numbers that an item sees

typedef struct plan {
  fy_gemm_type type;
  size_t size;
  int64_t rows, columns, panels, padded;
  int64_t across, down;      // what an item sees: pixels of a line, lines of a plane
  int64_t lines, per_plane;  // of the gradient in an item; items per plane
  int64_t items, parts;
  bool packs;
} plan;

typedef struct job {
  const fy_conv *c;
  const fy_gemm_kernels *kernels;
  plan p;
  const char *in, *grad;
  char *sums;  // [part][row][padded]
  char *out;
  fy_slices slices;
} job;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}
static int64_t up(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}
static int64_t extent(const fy_window *w, int64_t outputs) {  // that they see
  return (outputs - 1) * w->stride + (w->size - 1) * w->dilation + 1;
}

static plan make_plan(const fy_conv *c, bool wide) {
  const fy_gemm_type type = wide ? FY_GEMM_F64 : FY_GEMM_F32;
  const fy_window *w = c->w;
  plan p = {.type = type,
            .size = fy_gemm_size(type),
            .rows = c->taps * c->in_depth,
            .columns = fy_gemm_best()->columns[type],
            .across = extent(&w[2], w[2].out)};
  p.panels = up(c->out_depth, p.columns);
  p.padded = p.panels * p.columns;
  p.packs = c->out_depth != p.columns;
  p.lines = least(most(1, least(PIXELS / w[2].out, MOST_POINTERS / p.rows)), w[1].out);
  p.per_plane = up(w[1].out, p.lines);
  p.lines = up(w[1].out, p.per_plane);
  p.down = extent(&w[1], p.lines);
  p.items = c->batch * w[0].out * p.per_plane;
  p.parts = least(p.items, MOST_PARTS);
  return p;
}

static int64_t seen_numbers(const fy_conv *c, const plan *p) {
  return up(c->w[0].size * p->down * p->across * c->in_depth, 16) * 16;
}
static int64_t packed_numbers(const fy_conv *c, const plan *p) {
  return p->packs ? p->lines * c->w[2].out * p->padded : 0;
}
// Pointers, what is seen, what is packed.
static size_t slice_bytes(const fy_conv *c, const plan *p) {
  return fy_scratch_line((size_t)(p->rows * p->lines) * sizeof(void *)) +
         (size_t)(seen_numbers(c, p) + packed_numbers(c, p)) * p->size;
}
static size_t sum_bytes(const plan *p) {
  return (size_t)(p->parts * p->rows * p->padded) * p->size;
}

bool fy_filter_few_fits(const fy_conv *c, bool wide) {
  if (c->groups != 1 || c->in_depth != c->filter_depth || c->in_depth >= MOST_CHANNELS ||
      c->taps < 2 || c->taps > MOST_SUMS || c->out_depth > MOST_SUMS || c->w[2].out > 65536)
    return false;
  const plan p = make_plan(c, wide);
  return p.rows * p.padded <= MOST_SUMS && p.rows * p.lines <= MOST_POINTERS &&
         p.across <= MOST_SEEN && p.down <= MOST_SEEN && c->w[0].size * p.down <= MOST_SEEN &&
         seen_numbers(c, &p) <= MOST_SEEN;
}

size_t fy_filter_few_needs(const fy_kernel_ctx *ctx, const fy_conv *c, bool wide) {
  const plan p = make_plan(c, wide);
  return fy_scratch_line(sum_bytes(&p)) + fy_slices_needs(ctx, p.parts, slice_bytes(c, &p));
}

// What the outputs of a line see of a line of the image, zeros outside of it; NULL: all of it is outside.
static void copy_line(const job *j, const char *line, char *to) {
  const fy_window *w = &j->c->w[2];
  const size_t pixel = (size_t)j->c->in_depth * j->p.size;
  const int64_t first = -w->before;
  const int64_t lo = line ? least(most(-first, 0), j->p.across) : j->p.across;
  const int64_t hi = line ? most(least(w->in - first, j->p.across), lo) : lo;
  memset(to, 0, (size_t)lo * pixel);
  if (hi > lo)
    memcpy(to + (size_t)lo * pixel, line + (size_t)(first + lo) * pixel, (size_t)(hi - lo) * pixel);
  memset(to + (size_t)hi * pixel, 0, (size_t)(j->p.across - hi) * pixel);
}

// What lines [y, y + lines) of plane |z| see.
static void copy_seen(const job *j, int64_t image, int64_t z, int64_t y, int64_t lines, char *to) {
  const fy_window *w = j->c->w;
  const size_t from_line = (size_t)(w[2].in * j->c->in_depth) * j->p.size;
  const size_t to_line = (size_t)(j->p.across * j->c->in_depth) * j->p.size;
  const int64_t down = extent(&w[1], lines);
  for (int64_t d = 0; d < w[0].size; d++) {
    const int64_t iz = fy_window_at(&w[0], z, d);
    for (int64_t i = 0; i < down; i++) {
      const int64_t iy = fy_window_at(&w[1], y, 0) + i;
      const bool inside = iz >= 0 && iz < w[0].in && iy >= 0 && iy < w[1].in;
      const int64_t line = (image * w[0].in + iz) * w[1].in + iy;
      copy_line(j, inside ? j->in + (size_t)line * from_line : NULL,
                to + (size_t)(d * j->p.down + i) * to_line);
    }
  }
}

// Where |n| rows from |m| on look on each of the lines.
static void find(const job *j, const char *seen, int64_t m, int64_t n, int64_t lines,
                 const void **out) {
  const fy_conv *c = j->c;
  const int64_t line = j->p.across * c->in_depth;
  for (int64_t i = 0; i < n; i++) {
    int64_t tap[3];
    fy_conv_tap(c, (m + i) / c->in_depth, tap);
    const int64_t at = (tap[0] * j->p.down + tap[1] * c->w[1].dilation) * line +
                       tap[2] * c->w[2].dilation * c->in_depth + (m + i) % c->in_depth;
    for (int64_t l = 0; l < lines; l++)
      out[l * n + i] = seen + (size_t)(at + l * c->w[1].stride * line) * j->p.size;
  }
}

// |count| blocks of |n| rows from |m| on: all panels, as many lines at a time as stay near.
static void multiply(const job *j, int64_t m, int64_t n, int64_t count, int64_t lines,
                     const void *const *rows, const char *b, bool first, char *sums) {
  const plan *p = &j->p;
  const int64_t width = j->c->w[2].out, piece = j->kernels->piece;
  const int64_t cuts = up(width, piece), some = cuts > 1 ? 1 : least(piece / width, lines);
  fy_gemm_block block = {.count = count,
                         .taps_all = lines,
                         .step = j->c->w[2].stride * j->c->in_depth,
                         .ldb = p->columns,
                         .ldc = p->padded};
  for (int64_t panel = 0; panel < p->panels; panel++) {
    const bool half = (j->c->out_depth - panel * p->columns) * 2 <= p->columns;
    block.c = sums + (size_t)(m * p->padded + panel * p->columns) * p->size;
    block.first = first;
    for (int64_t l = 0; l < lines; l += block.taps) {
      block.taps = least(some, lines - l);
      block.rows = rows + l * n;
      for (int64_t cut = 0; cut < cuts; cut++) {
        const int64_t x = width * cut / cuts;
        block.depth = width * (cut + 1) / cuts - x;
        block.offset = x * block.step;
        block.b = b + (size_t)(((panel * lines + l) * width + x) * p->columns) * p->size;
        (half ? j->kernels->half : j->kernels->block)[p->type][n](&block);
        block.first = false;
      }
    }
  }
}

static void take_item(const job *j, int64_t item, bool first, char *slice, char *sums) {
  const plan *p = &j->p;
  const fy_conv *c = j->c;
  const int64_t plane = item / p->per_plane, image = plane / c->w[0].out, z = plane % c->w[0].out;
  const int64_t y = item % p->per_plane * p->lines, lines = least(p->lines, c->w[1].out - y);
  const void **rows = (const void **)(void *)slice;
  char *seen = slice + fy_scratch_line((size_t)(p->rows * p->lines) * sizeof *rows);
  char *packed = seen + (size_t)seen_numbers(c, p) * p->size;
  const char *grad =
      j->grad + (size_t)((plane * c->w[1].out + y) * c->w[2].out * c->out_depth) * p->size;
  if (lines < 1) return;
  copy_seen(j, image, z, y, lines, seen);
  if (p->packs)
    fy_gemm_pack(NULL, p->type, grad, lines * c->w[2].out, c->out_depth, c->out_depth, 1, NULL,
                 packed);
  // All blocks are about equal: the first |more| have a row more.
  const int64_t blocks = up(p->rows, j->kernels->rows[p->type]);
  const int64_t each = p->rows / blocks, more = p->rows % blocks;
  for (int64_t b = 0, m = 0; b < blocks;) {
    const int64_t n = each + (b < more), count = (b < more ? more : blocks) - b;
    for (int64_t i = 0; i < count; i++) find(j, seen, m + i * n, n, lines, rows + i * n * lines);
    multiply(j, m, n, count, lines, rows, p->packs ? packed : grad, first, sums);
    b += count;
    m += count * n;
  }
}

static void take_parts(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const plan *p = &j->p;
  char *slice = fy_slice_take(&j->slices);
  for (int64_t part = begin; part < end; part++) {
    const int64_t first = p->items * part / p->parts, last = p->items * (part + 1) / p->parts;
    for (int64_t i = first; i < last; i++)
      take_item(j, i, i == first, slice, j->sums + (size_t)(part * p->rows * p->padded) * p->size);
  }
  fy_slice_give(&j->slices, slice);
}

static void add_parts(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  const plan *p = &j->p;
  const int64_t n = j->c->out_depth, step = p->rows * p->padded;
  for (int64_t m = begin; m < end; m++) {
    if (p->type == FY_GEMM_F32) {
      const float *from = (const float *)(void *)j->sums + m * p->padded;
      float *restrict to = (float *)(void *)j->out + m * n;
      memcpy(to, from, (size_t)n * sizeof *to);
      for (int64_t part = 1; part < p->parts; part++)
        for (int64_t i = 0; i < n; i++) to[i] += from[part * step + i];
    } else {
      const double *from = (const double *)(void *)j->sums + m * p->padded;
      double *restrict to = (double *)(void *)j->out + m * n;
      memcpy(to, from, (size_t)n * sizeof *to);
      for (int64_t part = 1; part < p->parts; part++)
        for (int64_t i = 0; i < n; i++) to[i] += from[part * step + i];
    }
  }
}

fy_code fy_filter_few(fy_kernel_ctx *ctx, const fy_conv *c, bool wide, const void *in,
                      const void *grad, void *out, fy_error *err) {
  job j = {.c = c,
           .kernels = fy_gemm_best(),
           .p = make_plan(c, wide),
           .in = in,
           .grad = grad,
           .out = out};
  const plan *p = &j.p;
  void *sums;
  FY_TRY(fy_scratch(ctx, sum_bytes(p), &sums, err));
  FY_TRY(fy_slices_make(ctx, p->parts, slice_bytes(c, p), &j.slices, err));
  j.sums = sums;
  const double pixels = (double)(c->batch * c->out_spatial);
  fy_parallel(ctx, p->parts,
              FY_GEMM_TERM_NS * (double)(p->rows * p->padded) * pixels / (double)p->parts,
              take_parts, &j);
  fy_parallel(ctx, p->rows, 0.1 * (double)(p->parts * c->out_depth), add_parts, &j);
  return FY_OK;
}
