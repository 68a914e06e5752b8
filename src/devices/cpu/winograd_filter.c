// SPDX-License-Identifier: Apache-2.0
// winograd_filter.c: the gradient of a filter whose windows are 3 x 3, in fewer multiplications.
//
// Forward, an output is a sum of products of transformed pixels and transformed weights (winograd.h).
// Backwards, what a tile gives to the transformed weights are the same transformed pixels times the
// gradient of its outputs, spread to 16 positions: for each position a product [channels, tiles] x [tiles,
// output channels]. When all tiles are summed, 16 matrices become the nine of the filter.
//
// Threads share nothing but what they read, since what one core wrote and another reads costs more than to make
// it twice: an item is a part of the tiles and some panels of output channels, with sums of its own; some
// tiles at a time are transformed in memory that stays in L2 and multiplied. The parts' sums are added in the
// end. How many parts there are does not depend on the threads.

#include <math.h>
#include <string.h>

#include "devices/cpu/winograd.h"
#include "ops/typed.h"

#define POSITIONS     16
#define LINE          16        // numbers in a cache line …
#define PAGE          1024      // … and in a page
#define PIECE         128       // tiles of a sum at a time: they stay in L1
#define STAGE_BYTES   393216    // of what is transformed together, about, …
#define STAGE_TILES   48        // … and this many tiles at least
#define GROUP_COLUMNS 64        // output channels of an item, at most
#define MOST_CHANNELS 1024      // of the input, with all planes of a window, and of the output
#define MOST_BYTES    33554432  // of all sums
#define MOST_PARTS    16
#define PART_TILES    96  // at least: else it takes too long to add the parts
#define LEAST_TILES   96
#define TILE_SUMS     1024  // of a position, at most, for each tile
#define MOST_BLOCKS   64    // of rows, whose pointers are found together

typedef struct plan {
  int64_t rows;  // channels of all planes that a window sees
  int64_t line;  // numbers from one tile's channels to the next: lines, an odd number of them
  int64_t columns, panels, padded;
  int64_t groups, group;  // of panels; the most panels of one
  int64_t all, stage;     // tiles
  int64_t parts;          // of the tiles
} plan;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t parts(int64_t n, int64_t size) {
  return (n + size - 1) / size;
}

static int64_t sum_bytes(const plan *p) {  // of a part
  return POSITIONS * p->rows * p->padded * (int64_t)sizeof(float);
}

static plan make_plan(const fy_conv *c) {
  const fy_gemm_kernels *g = fy_gemm_best();
  plan p = {
      .rows = c->w[0].size * c->in_depth, .columns = g->columns[FY_GEMM_F32], .all = fy_tiles(c)};
  p.line = (parts(p.rows, LINE) | 1) * LINE;
  p.panels = parts(c->out_depth, p.columns);
  p.padded = p.panels * p.columns;
  p.groups = parts(p.padded, GROUP_COLUMNS);
  p.group = parts(p.panels, p.groups);
  const int64_t room = MOST_BYTES / sum_bytes(&p), most = room < MOST_PARTS ? room : MOST_PARTS;
  p.parts = least(p.all / PART_TILES, most);
  if (p.parts < 1) p.parts = 1;
  const int64_t bytes = POSITIONS * (p.line + p.group * p.columns) * (int64_t)sizeof(float);
  const int64_t tiles = parts(p.all, p.parts), near = STAGE_BYTES / bytes;
  p.stage = parts(tiles, parts(tiles, near > STAGE_TILES ? near : STAGE_TILES));
  return p;
}

bool fy_winograd_filter_fits(const fy_conv *c) {
  for (int d = 1; d < 3; d++)
    if (c->w[d].size != 3 || c->w[d].stride != 1 || c->w[d].dilation != 1) return false;
  if (c->groups != 1 || c->in_depth > MOST_CHANNELS || c->out_depth > MOST_CHANNELS) return false;
  const plan p = make_plan(c);
  return c->in_depth >= 16 && c->in_depth % 8 == 0 && c->out_depth >= 8 &&
         p.rows <= MOST_CHANNELS && fy_tiles(c) >= LEAST_TILES &&
         p.rows * p.padded <= fy_tiles(c) * TILE_SUMS && sum_bytes(&p) <= MOST_BYTES;
}

// From one position to the next: pages, and a sixteenth of one, so that all 16 are in L1 together.
static int64_t apart(int64_t n) {
  return parts(n, PAGE) * PAGE + PAGE / POSITIONS;
}
static int64_t pixel_step(const plan *p) {
  return apart(p->stage * p->line);
}
static int64_t grad_step(const plan *p) {
  return apart(p->stage * p->group * p->columns);
}
static int64_t stage_numbers(const plan *p) {
  return POSITIONS * (pixel_step(p) + grad_step(p));
}
static int64_t part_sums(const plan *p) {
  return POSITIONS * p->rows * p->padded;
}
static int64_t num_zeros(const plan *p) {
  return p->line + p->padded;
}
// Zeros and the sums of all parts.
static size_t all_bytes(const plan *p) {
  return (size_t)(num_zeros(p) + p->parts * part_sums(p)) * sizeof(float);
}
static size_t stage_bytes(const plan *p) {
  return (size_t)stage_numbers(p) * sizeof(float);
}

size_t fy_winograd_filter_needs(const fy_kernel_ctx *ctx, const fy_conv *c) {
  const plan p = make_plan(c);
  return fy_scratch_line(all_bytes(&p)) + fy_slices_needs(ctx, p.parts * p.groups, stage_bytes(&p));
}

typedef struct run {
  const fy_conv *c;
  const fy_gemm_kernels *kernels;
  plan p;
  const float *in, *grad, *zeros;
  float *sums;  // [part][position][row][padded]
  float *out;
  fy_slices slices;
} run;

typedef struct stage {
  const run *r;
  float *pixels;         // [position][tile][line]
  float *grads;          // [position][panel of the group][tile][column]
  float *sums;           // [position][row][padded]
  int64_t panel, end;    // the group's
  int64_t first, tiles;  // of all
  bool begins;           // the sums
} stage;

typedef float eight __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) void put(float *to, const eight *x) {
  memcpy(to, x, sizeof *x);
}

// The first |n| numbers of |from|, zeros behind them.
static inline __attribute__((always_inline)) void get(eight *x, const float *from, int64_t n) {
  *x = (eight){0};
  if (n >= 8)
    memcpy(x, from, sizeof *x);
  else if (n > 0)
    memcpy(x, from, (size_t)n * sizeof *from);
}

// |n| channels of four outputs of a tile as 16 positions, |step| apart; zeros up to |columns|.
FY_CLONES static void spread(const float *const rows[4], int64_t n, int64_t columns, float *to,
                             int64_t step) {
  for (int64_t i = 0; i < columns; i += 8, to += 8) {
    eight x[4], y[4][2];
    FY_UNROLL for (int k = 0; k < 4; k++) get(&x[k], rows[k] + i, n - i);
    FY_UNROLL for (int k = 0; k < 2; k++) {
      y[0][k] = x[k];
      y[1][k] = x[k] + x[2 + k];
      y[2][k] = x[k] - x[2 + k];
      y[3][k] = -x[2 + k];
    }
    FY_UNROLL for (int r = 0; r < 4; r++) {
      const eight sum = y[r][0] + y[r][1], less = y[r][0] - y[r][1], minus = -y[r][1];
      put(to + 4 * r * step, &y[r][0]);
      put(to + (4 * r + 1) * step, &sum);
      put(to + (4 * r + 2) * step, &less);
      put(to + (4 * r + 3) * step, &minus);
    }
  }
}

static void transform_tiles(const stage *g) {
  const run *r = g->r;
  const fy_conv *c = r->c;
  const plan *p = &r->p;
  for (int64_t i = 0; i < g->tiles; i++) {
    const fy_tile t = fy_tile_at(c, g->first + i);
    const float *rows[POSITIONS];
    float *to = g->pixels + i * p->line;
    for (int64_t z = 0; z < c->w[0].size; z++, to += c->in_depth) {
      for (int n = 0; n < POSITIONS; n++)
        rows[n] = fy_tile_pixel(c, &t, r->in, c->in_depth, r->zeros, z, n / 4, n % 4);
      r->kernels->winograd_in(rows, c->in_depth, to, pixel_step(p));
    }
    for (int64_t panel = g->panel; panel < g->end; panel++) {
      const int64_t at = panel * p->columns, n = least(p->columns, c->out_depth - at);
      float *grads = g->grads + ((panel - g->panel) * p->stage + i) * p->columns;
      const float *from[4];
      for (int k = 0; k < 4; k++) {
        const int64_t pixel = fy_tile_output(c, &t, k);
        from[k] = pixel < 0 ? r->zeros : r->grad + pixel * c->out_depth + at;
      }
      spread(from, n, p->columns, grads, grad_step(p));
    }
  }
}

// |count| blocks of |size| rows from |m| on.
static void multiply(const stage *g, const float *pixels, const float *grads, int64_t m,
                     int64_t count, int64_t size, bool half, float *sums) {
  const run *r = g->r;
  const plan *p = &r->p;
  const void *rows[MOST_BLOCKS * FY_GEMM_ROWS];
  for (int64_t i = 0; i < count * size; i++) rows[i] = pixels + m + i;
  fy_gemm_block block = {.count = count,
                         .taps = 1,
                         .rows = rows,
                         .taps_all = 1,
                         .even = true,
                         .step = p->line,
                         .ldb = p->columns,
                         .c = sums + m * p->padded,
                         .ldc = p->padded,
                         .first = g->begins};
  const int64_t most = parts(g->tiles, parts(g->tiles, PIECE));
  for (int64_t k = 0; k < g->tiles; k += most) {
    block.depth = least(most, g->tiles - k);
    block.offset = k * p->line;
    block.b = grads + k * p->columns;
    (half ? r->kernels->half : r->kernels->block)[FY_GEMM_F32][size](&block);
    block.first = false;
  }
}

static void multiply_all(const stage *g) {
  const plan *p = &g->r->p;
  const int64_t panels = g->end - g->panel;
  for (int64_t i = 0; i < POSITIONS * panels; i++) {
    const int64_t position = i / panels, panel = i % panels, at = (g->panel + panel) * p->columns;
    const bool half = (g->r->c->out_depth - at) * 2 <= p->columns;
    const float *pixels = g->pixels + position * pixel_step(p);
    const float *grads = g->grads + position * grad_step(p) + panel * p->stage * p->columns;
    float *sums = g->sums + position * p->rows * p->padded + at;
    // All blocks are about equal: the first |more| have a row more.
    const int64_t blocks = parts(p->rows, g->r->kernels->rows[FY_GEMM_F32]);
    const int64_t each = p->rows / blocks, more = p->rows % blocks;
    for (int64_t b = 0, m = 0, n; b < blocks; b += n) {
      const int64_t size = each + (b < more);
      n = least((b < more ? more : blocks) - b, MOST_BLOCKS);
      multiply(g, pixels, grads, m, n, size, half, sums);
      m += n * size;
    }
  }
}

static void take_items(void *arg, int64_t begin, int64_t end) {
  run *r = arg;
  const plan *p = &r->p;
  float *memory = fy_slice_take(&r->slices);
  for (int64_t item = begin; item < end; item++) {
    const int64_t part = item / p->groups, group = item % p->groups;
    const int64_t first = p->all * part / p->parts, last = p->all * (part + 1) / p->parts;
    stage g = {.r = r,
               .pixels = memory,
               .grads = memory + POSITIONS * pixel_step(p),
               .sums = r->sums + part * part_sums(p),
               .panel = group * p->group,
               .end = least((group + 1) * p->group, p->panels),
               .begins = true};
    for (g.first = first; g.first < last; g.first += g.tiles) {
      g.tiles = least(p->stage, last - g.first);
      transform_tiles(&g);
      multiply_all(&g);
      g.begins = false;
    }
  }
  fy_slice_give(&r->slices, memory);
}

// Sixteen sums become nine weights: what spreads three to four, the other way.
static void gather(const float *from, int64_t step, int64_t n, float *to, int64_t tap) {
  const eight half = (eight){0} + 0.5F;
  for (int64_t i = 0; i < n; i += 8, from += 8, to += 8) {
    const size_t bytes = (size_t)least(n - i, 8) * sizeof *to;
    eight t[4][3], u[4];
    FY_UNROLL for (int r = 0; r < 4; r++) {
      FY_UNROLL for (int k = 0; k < 4; k++) get(&u[k], from + (4 * r + k) * step, 8);
      t[r][0] = u[0] + (u[1] + u[2]) * half;
      t[r][1] = (u[1] - u[2]) * half;
      t[r][2] = (u[1] + u[2]) * half + u[3];
    }
    FY_UNROLL for (int s = 0; s < 3; s++) {
      const eight ends = (t[1][s] + t[2][s]) * half;
      const eight w[3] = {t[0][s] + ends, (t[1][s] - t[2][s]) * half, ends + t[3][s]};
      FY_UNROLL for (int r = 0; r < 3; r++) {
        if (bytes == sizeof w[r])
          put(to + (3 * r + s) * tap, &w[r]);
        else
          memcpy(to + (3 * r + s) * tap, &w[r], bytes);
      }
    }
  }
}

FY_CLONES static void add(float *restrict to, const float *restrict from, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

static void gather_rows(void *arg, int64_t begin, int64_t end) {
  const run *r = arg;
  const plan *p = &r->p;
  const int64_t ic = r->c->in_depth, oc = r->c->out_depth, step = p->rows * p->padded;
  for (int64_t m = begin; m < end; m++) {  // of plane m / ic of the window
    float *sums = r->sums + m * p->padded;
    for (int64_t part = 1; part < p->parts; part++)
      for (int n = 0; n < POSITIONS; n++)
        add(sums + n * step, sums + part * part_sums(p) + n * step, p->padded);
    gather(sums, step, oc, r->out + (m / ic * 9 * ic + m % ic) * oc, ic * oc);
  }
}

FY_CLONES static bool all_finite(const float *x, int64_t n) {
  float none = 0;
  for (int64_t i = 0; i < n; i++) none += x[i] * 0;
  return none == 0;
}

fy_code fy_winograd_filter(fy_kernel_ctx *ctx, const fy_conv *c, const float *in, const float *grad,
                           float *out, bool *out_finite, fy_error *err) {
  run r = {
      .c = c, .kernels = fy_gemm_best(), .p = make_plan(c), .in = in, .grad = grad, .out = out};
  const plan *p = &r.p;
  void *memory;
  *out_finite = false;
  FY_TRY(fy_scratch(ctx, all_bytes(p), &memory, err));
  FY_TRY(fy_slices_make(ctx, p->parts * p->groups, stage_bytes(p), &r.slices, err));
  r.zeros = memset(memory, 0, (size_t)num_zeros(p) * sizeof(float));
  r.sums = (float *)memory + num_zeros(p);
  const double terms = (double)(p->all * POSITIONS) * (double)(p->rows * p->padded);
  const int64_t items = p->parts * p->groups;
  fy_parallel(ctx, items, FY_GEMM_TERM_NS * terms / (double)items, take_items, &r);
  fy_parallel(ctx, p->rows, 0.5 * (double)(POSITIONS * p->parts * c->out_depth), gather_rows, &r);
  *out_finite = all_finite(out, p->rows * 9 * c->out_depth);
  return FY_OK;
}
