// SPDX-License-Identifier: Apache-2.0
// winograd.c: 3 x 3 windows in fewer multiplications (winograd.h). An item of work is some tiles of
// 2 x 2 outputs: their 16 matrices of inputs are made in scratch memory that stays in L2,
// then panel by panel of output channels multiplied and put together.

#include "devices/cpu/winograd.h"

#include <math.h>
#include <string.h>

#define POSITIONS  16
#define L2_BYTES   393216  // for the inputs of an item
#define MOST_TILES 48      // of an item
#define LEAST_ALL  24      // tiles: for fewer the larger filter costs more than it saves
#define MOST_BYTES \
  1572864  // … and so does one of more than this: it is read from memory every time
#define FAR_BYTES 524288  // a filter of this size is not in L2: what comes next is called for

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t tiles_along(const fy_window *w) {
  return (w->out + 1) / 2;
}

static int64_t all_tiles(const fy_conv *c) {
  return c->batch * tiles_along(&c->w[1]) * tiles_along(&c->w[2]);
}

static int64_t panels(const fy_conv *c) {
  const int columns = fy_gemm_best()->columns[FY_GEMM_F32];
  return (c->out_depth + columns - 1) / columns;
}

size_t fy_winograd_packed_bytes(const fy_conv *c) {
  const int columns = fy_gemm_best()->columns[FY_GEMM_F32];
  return (size_t)(panels(c) * columns * POSITIONS * c->in_depth) * sizeof(float);
}

bool fy_winograd_fits(const fy_conv *c) {
  for (int d = 1; d < 3; d++)
    if (c->w[d].size != 3 || c->w[d].stride != 1 || c->w[d].dilation != 1) return false;
  return c->w[0].size == 1 && c->w[0].in == 1 && c->w[0].out == 1 && c->groups == 1 &&
         c->in_depth % 8 == 0 && c->in_depth >= 16 && c->in_depth <= 1024 && c->out_depth >= 16 &&
         c->out_depth <= 1024 && all_tiles(c) >= LEAST_ALL &&
         fy_winograd_packed_bytes(c) <= MOST_BYTES;
}

// ---------------------------------------------------------------- the filter
typedef struct pack_job {
  const fy_conv *c;
  const float *filter, *scale;
  float *packed;
  int columns;
} pack_job;

#define MOST_COLUMNS 16

// Three numbers for each of |n| columns, spread to four: the first, half the sums of all with the
// middle one as it is and negative, the last.
static void spread(const float *const in[3], float *const out[4], int n) {
  for (int x = 0; x < n; x++) {
    const float ends = 0.5f * (in[0][x] + in[2][x]), middle = 0.5f * in[1][x];
    out[0][x] = in[0][x];
    out[1][x] = ends + middle;
    out[2][x] = ends - middle;
    out[3][x] = in[2][x];
  }
}

// Panels [begin, end): [panel][position][channel][column].
static void pack_panels(void *arg, int64_t begin, int64_t end) {
  const pack_job *j = arg;
  const int64_t depth = j->c->in_depth, n = j->c->out_depth, step = depth * j->columns;
  for (int64_t p = begin; p < end; p++) {
    const int64_t first = p * j->columns, width = least(j->columns, n - first);
    for (int64_t k = 0; k < depth; k++) {
      float g[3][3][MOST_COLUMNS] = {0}, u[3][4][MOST_COLUMNS];
      for (int tap = 0; tap < 9; tap++) {
        const float *from = j->filter + (tap * depth + k) * n + first;
        for (int64_t x = 0; x < width; x++)
          g[tap / 3][tap % 3][x] = j->scale ? from[x] * j->scale[first + x] : from[x];
      }
      for (int r = 0; r < 3; r++)
        spread((const float *[3]){g[r][0], g[r][1], g[r][2]},
               (float *[4]){u[r][0], u[r][1], u[r][2], u[r][3]}, j->columns);
      float *to = j->packed + p * POSITIONS * step + k * j->columns;
      for (int s = 0; s < 4; s++, to += step)
        spread((const float *[3]){u[0][s], u[1][s], u[2][s]},
               (float *[4]){to, to + 4 * step, to + 8 * step, to + 12 * step}, j->columns);
    }
  }
}

void fy_winograd_pack(fy_kernel_ctx *ctx, const fy_conv *c, const float *filter, const float *scale,
                      float *packed) {
  pack_job j = {c, filter, scale, packed, fy_gemm_best()->columns[FY_GEMM_F32]};
  fy_parallel(ctx, panels(c), 0.5 * (double)(c->in_depth * j.columns * POSITIONS), pack_panels, &j);
}

// ---------------------------------------------------------------- items
// Tiles of an item.
static int64_t item_tiles(const fy_conv *c, int threads) {
  const int64_t all = all_tiles(c);
  int64_t tiles = L2_BYTES / (POSITIONS * c->in_depth * (int64_t)sizeof(float));
  tiles = tiles > MOST_TILES ? MOST_TILES : tiles / FY_GEMM_ROWS * FY_GEMM_ROWS;
  if (tiles < FY_GEMM_ROWS) tiles = FY_GEMM_ROWS;
  while (tiles > 2 * FY_GEMM_ROWS && all / tiles < 4 * threads) tiles -= FY_GEMM_ROWS;
  const int64_t items = (all + tiles - 1) / tiles;
  return (all + items - 1) / items;  // no short one at the end
}

static int64_t num_items(const fy_conv *c, int threads) {
  const int64_t tiles = item_tiles(c, threads);
  return (all_tiles(c) + tiles - 1) / tiles;
}

// What a thread works in: the inputs of an item, and one panel of its products.
static size_t slice_bytes(const fy_conv *c, int threads) {
  const int columns = fy_gemm_best()->columns[FY_GEMM_F32];
  return (size_t)(POSITIONS * item_tiles(c, threads) * (c->in_depth + columns)) * sizeof(float);
}

size_t fy_winograd_needs(const fy_kernel_ctx *ctx, const fy_conv *c) {
  return fy_slices_needs(ctx, num_items(c, ctx->threads), slice_bytes(c, ctx->threads));
}

fy_code fy_winograd_slices(fy_kernel_ctx *ctx, const fy_conv *c, fy_slices *out, fy_error *err) {
  return fy_slices_make(ctx, num_items(c, ctx->threads), slice_bytes(c, ctx->threads), out, err);
}

typedef struct run {
  const fy_gemm_job *job;
  const fy_gemm_kernels *kernels;
  const float *filter, *scale;
  fy_slices *slices;
  int64_t tiles;           // of an item
  int64_t panels, across;  // tiles across
  int columns;
} run;

typedef struct tile {
  int64_t image, y, x;  // of its first output
} tile;

static tile tile_at(const run *r, int64_t i) {
  const int64_t down = tiles_along(&r->job->conv->w[1]);
  return (tile){i / r->across / down, i / r->across % down * 2, i % r->across * 2};
}

// The pixel |down| and |right| of the first one that the tile sees, or zeros.
static const float *pixel(const run *r, const tile *t, int down, int right) {
  const fy_gemm_job *j = r->job;
  const fy_window *h = &j->conv->w[1], *w = &j->conv->w[2];
  const int64_t y = t->y - h->before + down, x = t->x - w->before + right;
  if (y < 0 || y >= h->in || x < 0 || x >= w->in) return j->zeros;
  return (const float *)j->a + ((t->image * h->in + y) * w->in + x) * j->pixel;
}

static void make_inputs(const run *r, int64_t first, int64_t tiles, float *out) {
  const int64_t depth = r->job->depth;
  for (int64_t i = 0; i < tiles; i++) {
    const tile t = tile_at(r, first + i);
    const float *rows[POSITIONS];
    for (int n = 0; n < POSITIONS; n++) rows[n] = pixel(r, &t, n / 4, n % 4);
    r->kernels->winograd_in(rows, depth, out + i * depth, r->tiles * depth);
  }
}

// ---------------------------------------------------------------- products
static void multiply(const run *r, const float *in, int64_t tiles, int64_t panel, float *out) {
  const int64_t depth = r->job->depth, pieces = (depth + FY_GEMM_PIECE - 1) / FY_GEMM_PIECE;
  const int64_t most = (depth + pieces - 1) / pieces;
  const void *rows[MOST_TILES];
  for (int64_t i = 0; i < tiles; i++) rows[i] = in + i * depth;
  const int64_t groups = (tiles + FY_GEMM_ROWS - 1) / FY_GEMM_ROWS;
  const int64_t each = tiles / groups, more = tiles % groups;  // the first |more| have one more
  const float *b = (const float *)r->job->b + panel * POSITIONS * depth * r->columns;
  const bool far = fy_winograd_packed_bytes(r->job->conv) > FAR_BYTES;
  for (int64_t n = 0; n < POSITIONS; n++) {
    for (int64_t k = 0; k < depth; k += most) {
      fy_gemm_block block = {.taps = 1,
                             .depth = least(most, depth - k),
                             .taps_all = 1,
                             .offset = n * r->tiles * depth + k,
                             .step = 1,
                             .b = b,
                             .ldb = r->columns,
                             .ldc = r->columns,
                             .first = k == 0};
      b += block.depth * r->columns;
      if (far) {
        block.next = (const char *)b;
        block.lines = block.depth * r->columns * (int64_t)sizeof(float) / 64 / groups + 1;
      }
      int64_t at = 0;
      for (int part = 0; part < 2; part++) {
        const int64_t size = part ? each : each + 1;
        block.count = part ? groups - more : more;
        if (!block.count) continue;
        block.rows = rows + at;
        block.c = out + (n * r->tiles + at) * r->columns;
        r->kernels->block[FY_GEMM_F32][size](&block);
        if (far) block.next += block.count * block.lines * 64;
        at += block.count * size;
      }
    }
  }
}

// ---------------------------------------------------------------- outputs
// Columns [first, first + width) of one output, term by term.
static void plain_sum(const run *r, const tile *t, int i, int64_t first, int64_t width,
                      float *out) {
  const int64_t depth = r->job->depth, n = r->job->n;
  for (int64_t x = 0; x < width; x++) out[x] = 0;
  for (int tap = 0; tap < 9; tap++) {
    const float *in = pixel(r, t, i / 2 + tap / 3, i % 2 + tap % 3);
    if (in == (const float *)r->job->zeros) continue;
    for (int64_t k = 0; k < depth; k++) {
      const float *f = r->filter + (tap * depth + k) * n + first;
      for (int64_t x = 0; x < width; x++)
        out[x] += in[k] * (r->scale ? f[x] * r->scale[first + x] : f[x]);
    }
  }
}

// The outputs of a panel the slow way: some are not finite, or the panel is not full.
static void mend(const run *r, const tile *t, int64_t first, int64_t width, bool finite,
                 const float *in, const float *const add[4], float *const out[4]) {
  const fy_gemm_job *j = r->job;
  const float lo = (float)j->lo, hi = (float)j->hi;
  const float *bias = j->bias ? (const float *)j->bias + first : NULL;
  float y[4][32];
  float *const to[4] = {y[0], y[1], y[2], y[3]};
  const float *const none[4] = {NULL, NULL, NULL, NULL};
  finite = finite &&
           r->kernels->winograd_out(in, r->tiles * r->columns, NULL, none, -INFINITY, INFINITY, to);
  for (int i = 0; i < 4; i++) {
    if (!out[i]) continue;
    if (!finite) plain_sum(r, t, i, first, width, y[i]);
    for (int64_t x = 0; x < width; x++) {
      float v = y[i][x];
      if (bias) v += bias[x];
      if (add[i]) v += add[i][x];
      out[i][x] = v < lo ? lo : v > hi ? hi : v;
    }
  }
}

static void put_together(const run *r, const float *in, int64_t first, int64_t tiles,
                         int64_t panel) {
  const fy_gemm_job *j = r->job;
  const fy_window *h = &j->conv->w[1], *w = &j->conv->w[2];
  const int64_t column = panel * r->columns, width = least(r->columns, j->n - column);
  const float *bias = j->bias ? (const float *)j->bias + column : NULL;
  for (int64_t i = 0; i < tiles; i++, in += r->columns) {
    const tile t = tile_at(r, first + i);
    const float *add[4];
    float *out[4];
    for (int n = 0; n < 4; n++) {
      const int64_t y = t.y + n / 2, x = t.x + n % 2;
      const int64_t at = ((t.image * h->out + y) * w->out + x) * j->ldc + column;
      const bool there = y < h->out && x < w->out;
      out[n] = there ? (float *)j->c + at : NULL;
      add[n] = there && j->add ? (const float *)j->add + at : NULL;
    }
    const bool full = width == r->columns;
    const bool done = full && r->kernels->winograd_out(in, r->tiles * r->columns, bias, add,
                                                       (float)j->lo, (float)j->hi, out);
    if (!done) mend(r, &t, column, width, !full, in, add, out);
  }
}

static void finish(const run *r, int64_t first, int64_t tiles) {
  const fy_gemm_job *j = r->job;
  const fy_window *h = &j->conv->w[1], *w = &j->conv->w[2];
  for (int64_t i = 0; i < tiles; i++) {
    const tile t = tile_at(r, first + i);
    for (int n = 0; n < 4; n++) {
      const int64_t y = t.y + n / 2, x = t.x + n % 2;
      if (y < h->out && x < w->out)
        j->finish(j->finish_arg, (float *)j->c + ((t.image * h->out + y) * w->out + x) * j->ldc,
                  j->n);
    }
  }
}

static void items(void *arg, int64_t begin, int64_t end) {
  const run *r = arg;
  const fy_gemm_job *j = r->job;
  const int64_t all = all_tiles(j->conv);
  float *const in = fy_slice_take(r->slices), *const out = in + POSITIONS * r->tiles * j->depth;
  for (int64_t n = begin; n < end; n++) {
    const int64_t first = n * r->tiles, tiles = least(r->tiles, all - first);
    make_inputs(r, first, tiles, in);
    for (int64_t p = 0; p < r->panels; p++) {
      multiply(r, in, tiles, p, out);
      put_together(r, out, first, tiles, p);
    }
    if (j->finish) finish(r, first, tiles);
  }
  fy_slice_give(r->slices, in);
}

void fy_winograd_run(fy_kernel_ctx *ctx, const fy_gemm_job *job, const float *filter,
                     const float *scale, fy_slices *slices) {
  const fy_conv *c = job->conv;
  run r = {.job = job,
           .kernels = fy_gemm_best(),
           .filter = filter,
           .scale = scale,
           .slices = slices,
           .tiles = item_tiles(c, ctx->threads),
           .panels = panels(c),
           .across = tiles_along(&c->w[2]),
           .columns = fy_gemm_best()->columns[FY_GEMM_F32]};
  fy_parallel(ctx, num_items(c, ctx->threads),
              FY_GEMM_TERM_NS * (double)(POSITIONS * r.tiles * c->in_depth * c->out_depth), items,
              &r);
}
