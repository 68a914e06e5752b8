// SPDX-License-Identifier: Apache-2.0
// winograd.c: 3 x 3 windows in fewer multiplications (winograd.h).
//
// Tiles of 2 x 2 outputs become rows of 16 matrices of inputs, the packed weights 16 matrices for
// each panel of output channels. Matrices of weights are made anew in every run: it costs as much as
// two tiles, and keeping them would take 16/9 of the memory. What is larger decides who shares what:
// - by groups: all weights are made first and shared; a thread takes a group of tiles, makes its
//   inputs in memory of its own that stays in L2, and goes through the panels;
// - by panels, where the weights would not stay in a cache: the inputs of a stage (many tiles) are
//   made first and shared; a thread takes a panel, makes its weights in memory of its own, and goes
//   through the groups of the stage.

#include "devices/cpu/winograd.h"

#include <math.h>
#include <string.h>

#define POSITIONS    16
#define LINE         16  // numbers in a cache line
#define LEAST_ALL    24  // tiles: for fewer the weights' matrices cost more than they save …
#define LEAST_MANY   9  // … unless the channels are many, so that a product waits for its weights:
#define MANY         65536   // those of the input times those of the output
#define LEAST_DEPTH  48      // where no panel is full, which is put together the slow way
#define SHARED_BYTES 600000  // at most, of shared weights
#define DEEP_BYTES \
  4194304  // of a volume's, whose inputs are made once for each plane of the window
#define STAGE_BYTES 2097152  // at most, of shared inputs
#define OWN_BYTES   393216   // at most, of a group's own inputs
#define FAR_BYTES \
  524288                // shared weights of this size are not in L2: what comes next is called for
#define GROUP_TILES 48  // at most, of a group
#define UNITS       4   // of work for each thread, at least, if there are so many tiles

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t parts(int64_t n, int64_t size) {
  return (n + size - 1) / size;
}

// Of volumes, the planes that a window sees one behind the other are more channels.
static int64_t all_depth(const fy_conv *c) {
  return c->w[0].size * c->in_depth;
}

bool fy_winograd_fits(const fy_conv *c) {
  for (int d = 1; d < 3; d++)
    if (c->w[d].size != 3 || c->w[d].stride != 1 || c->w[d].dilation != 1) return false;
  const bool full = c->out_depth >= fy_gemm_best()->columns[FY_GEMM_F32];
  return c->groups == 1 && c->in_depth % 8 == 0 && c->in_depth >= 16 && all_depth(c) <= 1024 &&
         c->out_depth >= (full ? 16 : 8) && c->out_depth <= 1024 &&
         fy_tiles(c) >= (all_depth(c) * c->out_depth < MANY ? LEAST_ALL : LEAST_MANY) &&
         (full || all_depth(c) >= LEAST_DEPTH);
}

// ---------------------------------------------------------------- how the work is cut
typedef struct plan {
  int64_t panels, columns;  // of output channels; of a panel
  int64_t rows;             // of the kernel's blocks, at most
  int64_t piece, pieces;    // channels multiplied at a time
  int64_t all;              // tiles
  int64_t tiles;            // of a group
  bool by_panels;
  int64_t groups;  // by panels: of a stage
  int64_t splits;  // by panels: parts of a stage, each with its own copy of a panel's weights
} plan;

// Numbers from one position to the next: a line more than there are, because 16 places a multiple of
// 4 KB apart would not be in L1 together.
static int64_t input_step(const plan *p, int64_t depth) {
  return p->tiles * depth + LINE;
}
static int64_t weight_step(const plan *p) {
  return p->piece * p->columns + LINE;
}

static int64_t group_inputs(const plan *p, int64_t depth) {  // numbers
  return POSITIONS * input_step(p, depth);
}
static int64_t group_products(const plan *p) {
  return POSITIONS * p->tiles * p->columns;
}
static int64_t piece_weights(const plan *p) {  // of a panel
  return POSITIONS * weight_step(p);
}

static void plan_groups(plan *p, int64_t depth, int threads) {
  const int64_t rows = p->rows;
  int64_t tiles = OWN_BYTES / (POSITIONS * depth * (int64_t)sizeof(float));
  tiles = least(tiles / rows * rows, GROUP_TILES);
  if (tiles < rows) tiles = rows;
  while (tiles > 12 && p->all / tiles < UNITS * threads) tiles -= rows;
  p->tiles = parts(p->all, parts(p->all, tiles));  // no short one at the end
}

static void plan_panels(plan *p, int64_t depth, int threads) {
  const int64_t most = STAGE_BYTES / (POSITIONS * depth * (int64_t)sizeof(float));
  const int64_t stage = parts(p->all, parts(p->all, most));
  p->splits = least(parts(UNITS * threads, p->panels), parts(stage, 24));
  p->groups = parts(parts(stage, GROUP_TILES), p->splits) * p->splits;
  p->tiles = parts(stage, p->groups);
}

static plan make_plan(const fy_conv *c, int threads) {
  const fy_gemm_kernels *g = fy_gemm_best();
  plan p = {.columns = g->columns[FY_GEMM_F32], .rows = g->rows[FY_GEMM_F32], .all = fy_tiles(c)};
  p.panels = parts(c->out_depth, p.columns);
  p.pieces = parts(all_depth(c), g->piece);
  p.piece = parts(all_depth(c), p.pieces);
  p.by_panels = p.panels * p.pieces * piece_weights(&p) >
                (c->w[0].size > 1 ? DEEP_BYTES : SHARED_BYTES) / (int64_t)sizeof(float);
  (p.by_panels ? plan_panels : plan_groups)(&p, all_depth(c), threads);
  return p;
}

static int64_t num_units(const plan *p) {
  return p->by_panels ? p->panels * p->splits : parts(p->all, p->tiles);
}

// What a thread works in.
static int64_t own_products(const plan *p) {
  const bool grow = p->by_panels && p->pieces > 1;  // piece by piece
  return group_products(p) * (grow ? p->groups / p->splits : 1);
}
static size_t own_bytes(const plan *p, int64_t depth) {
  const int64_t before = p->by_panels ? piece_weights(p) : group_inputs(p, depth);
  return (size_t)(before + own_products(p)) * sizeof(float);
}

static size_t shared_bytes(const plan *p, int64_t depth) {
  return (size_t)(p->by_panels ? p->groups * group_inputs(p, depth)
                               : p->panels * p->pieces * piece_weights(p)) *
         sizeof(float);
}

size_t fy_winograd_needs(const fy_kernel_ctx *ctx, const fy_conv *c) {
  const plan p = make_plan(c, ctx->threads);
  return fy_scratch_line(shared_bytes(&p, all_depth(c))) +
         fy_slices_needs(ctx, num_units(&p), own_bytes(&p, all_depth(c)));
}

typedef struct run {
  const fy_gemm_job *job;
  const fy_gemm_kernels *kernels;
  plan p;
  int64_t depth;  // all_depth()
  float *shared;
  fy_slices slices;
  int64_t first, tiles;  // of the stage
  bool far;              // shared weights are not in L2
} run;

// ---------------------------------------------------------------- inputs
// The pixel |down| and |right| of the first one that the tile sees in the plane |behind|, or zeros.
static const float *pixel(const run *r, const fy_tile *t, int64_t behind, int down, int right) {
  const fy_gemm_job *j = r->job;
  return fy_tile_pixel(j->conv, t, j->a, j->pixel, j->zeros, behind, down, right);
}

// Row |i| of a group that starts at |group|.
static void make_row(const run *r, int64_t number, int64_t i, float *group) {
  const int64_t depth = r->job->depth, step = input_step(&r->p, r->depth);
  const fy_tile t = fy_tile_at(r->job->conv, number);
  float *to = group + i * r->depth;
  const float *rows[POSITIONS];
  for (int64_t z = 0; z < r->job->conv->w[0].size; z++, to += depth) {
    for (int n = 0; n < POSITIONS; n++) rows[n] = pixel(r, &t, z, n / 4, n % 4);
    r->kernels->winograd_in(rows, depth, to, step);
  }
}

// ---------------------------------------------------------------- weights
// A panel's weights as they are kept: [tap][channel][column].
static const float *panel_at(const run *r, int64_t panel) {
  return (const float *)r->job->b + panel * 9 * r->depth * r->p.columns;
}

// The matrices of channels [k, k + piece) of a panel: [position][channel][column].
static void make_weights(const run *r, int64_t panel, int64_t k, float *out) {
  const int64_t depth = r->job->depth, columns = r->p.columns;
  const int64_t end = least(k + r->p.piece, r->depth);
  for (int64_t n; k < end; k += n, out += n * columns) {
    n = least(end - k, depth - k % depth);  // of one plane
    r->kernels->winograd_weights(panel_at(r, panel) + (k / depth * 9 * depth + k % depth) * columns,
                                 depth * columns, n, out, weight_step(&r->p));
  }
}

// ---------------------------------------------------------------- products
static int64_t width_of(const run *r, int64_t panel) {
  return least(r->p.columns, r->job->n - panel * r->p.columns);
}
// Of such a panel only half the products are made: what else is there must be numbers.
static bool is_half(const run *r, int64_t panel) {
  return width_of(r, panel) * 2 <= r->p.columns;
}
static void clear_products(const run *r, float *products) {
  if (is_half(r, r->p.panels - 1))
    memset(products, 0, (size_t)own_products(&r->p) * sizeof *products);
}

// The |tiles| rows of a group times the weights of channels [k, k + piece).
static void multiply(const run *r, const float *in, int64_t tiles, int64_t panel,
                     const float *weights, int64_t k, float *out) {
  const int64_t depth = r->depth, columns = r->p.columns;
  const fy_gemm_fn *kernels =
      is_half(r, panel) ? r->kernels->half[FY_GEMM_F32] : r->kernels->block[FY_GEMM_F32];
  const void *rows[GROUP_TILES];
  for (int64_t i = 0; i < tiles; i++) rows[i] = in + i * depth;
  const int64_t blocks = parts(tiles, r->p.rows);
  const int64_t each = tiles / blocks, more = tiles % blocks;  // the first |more| have one more
  for (int64_t n = 0; n < POSITIONS; n++) {
    fy_gemm_block block = {.taps = 1,
                           .depth = least(r->p.piece, depth - k),
                           .taps_all = 1,
                           .even = true,
                           .offset = n * input_step(&r->p, depth) + k,
                           .step = 1,
                           .b = weights + n * weight_step(&r->p),
                           .ldb = columns,
                           .ldc = columns,
                           .first = k == 0};
    if (r->far) {
      block.next = (const char *)block.b + weight_step(&r->p) * (int64_t)sizeof(float);
      block.lines = block.depth * columns * (int64_t)sizeof(float) / 64 / blocks + 1;
    }
    int64_t at = 0;
    for (int part = 0; part < 2; part++) {
      const int64_t size = part ? each : each + 1;
      block.count = part ? blocks - more : more;
      if (!block.count) continue;
      block.rows = rows + at;
      block.c = out + (n * r->p.tiles + at) * columns;
      kernels[size](&block);
      if (r->far) block.next += block.count * block.lines * 64;
      at += block.count * size;
    }
  }
}

// ---------------------------------------------------------------- outputs
// |width| columns of one output, term by term.
static void plain_sum(const run *r, const fy_tile *t, int i, int64_t panel, int64_t width,
                      float *out) {
  const int64_t depth = r->job->depth, columns = r->p.columns;
  for (int64_t x = 0; x < width; x++) out[x] = 0;
  for (int64_t tap = 0; tap < r->job->taps; tap++) {
    const int at = (int)(tap % 9);
    const float *in = pixel(r, t, tap / 9, i / 2 + at / 3, i % 2 + at % 3);
    const float *b = panel_at(r, panel) + tap * depth * columns;
    if (in == (const float *)r->job->zeros) continue;
    for (int64_t k = 0; k < depth; k++, b += columns)
      for (int64_t x = 0; x < width; x++) out[x] += in[k] * b[x];
  }
}

// The outputs of a panel the slow way: some are not finite, or the panel is not full.
static void mend(const run *r, const fy_tile *t, int64_t panel, int64_t width, bool finite,
                 const float *in, const float *const add[4], float *const out[4]) {
  const fy_gemm_job *j = r->job;
  const float lo = (float)j->lo, hi = (float)j->hi;
  const float *bias = j->bias ? (const float *)j->bias + panel * r->p.columns : NULL;
  float y[4][FY_GEMM_PANEL / sizeof(float)];
  float *const to[4] = {y[0], y[1], y[2], y[3]};
  const float *const none[4] = {NULL, NULL, NULL, NULL};
  finite = finite && r->kernels->winograd_out(in, r->p.tiles * r->p.columns, NULL, none, -INFINITY,
                                              INFINITY, to);
  for (int i = 0; i < 4; i++) {
    if (!out[i]) continue;
    if (!finite) plain_sum(r, t, i, panel, width, y[i]);
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
  const int64_t columns = r->p.columns, column = panel * columns;
  const int64_t width = width_of(r, panel);
  const float *bias = j->bias ? (const float *)j->bias + column : NULL;
  for (int64_t i = 0; i < tiles; i++, in += columns) {
    const fy_tile t = fy_tile_at(r->job->conv, first + i);
    const float *add[4];
    float *out[4];
    for (int n = 0; n < 4; n++) {
      const int64_t number = fy_tile_output(j->conv, &t, n), at = number * j->ldc + column;
      out[n] = number >= 0 ? (float *)j->c + at : NULL;
      add[n] = number >= 0 && j->add ? (const float *)j->add + at : NULL;
    }
    const bool full = width == columns;
    const bool done = full && r->kernels->winograd_out(in, r->p.tiles * columns, bias, add,
                                                       (float)j->lo, (float)j->hi, out);
    if (!done) mend(r, &t, panel, width, !full, in, add, out);
    for (int n = 0; j->finish && n < 4; n++)
      if (out[n]) j->finish(j->finish_arg, out[n], width);
  }
}

// ---------------------------------------------------------------- by groups
static void share_weights(void *arg, int64_t begin, int64_t end) {
  const run *r = arg;
  for (int64_t n = begin; n < end; n++)
    make_weights(r, n / r->p.pieces, n % r->p.pieces * r->p.piece,
                 r->shared + n * piece_weights(&r->p));
}

static void take_groups(void *arg, int64_t begin, int64_t end) {
  run *r = arg;
  const plan *p = &r->p;
  float *const in = fy_slice_take(&r->slices), *const out = in + group_inputs(p, r->depth);
  clear_products(r, out);
  for (int64_t g = begin; g < end; g++) {
    const int64_t first = g * p->tiles, tiles = least(p->tiles, p->all - first);
    for (int64_t i = 0; i < tiles; i++) make_row(r, first + i, i, in);
    const float *weights = r->shared;
    for (int64_t panel = 0; panel < p->panels; panel++) {
      for (int64_t n = 0; n < p->pieces; n++, weights += piece_weights(p))
        multiply(r, in, tiles, panel, weights, n * p->piece, out);
      put_together(r, out, first, tiles, panel);
    }
  }
  fy_slice_give(&r->slices, in);
}

// ---------------------------------------------------------------- by panels
static void share_inputs(void *arg, int64_t begin, int64_t end) {
  const run *r = arg;
  const plan *p = &r->p;
  for (int64_t i = begin; i < end; i++)
    make_row(r, r->first + i, i % p->tiles, r->shared + i / p->tiles * group_inputs(p, r->depth));
}

// Groups [first, first + count) of the stage, one panel.
static void run_panel(const run *r, int64_t panel, int64_t first, int64_t count, float *weights) {
  const plan *p = &r->p;
  const int64_t depth = r->depth, step = p->pieces > 1 ? group_products(p) : 0;
  float *const products = weights + piece_weights(p);
  for (int64_t k = 0; k < depth; k += p->piece) {
    make_weights(r, panel, k, weights);
    for (int64_t g = 0; g < count; g++) {
      const int64_t at = (first + g) * p->tiles, tiles = least(p->tiles, r->tiles - at);
      if (tiles <= 0) break;
      multiply(r, r->shared + (first + g) * group_inputs(p, depth), tiles, panel, weights, k,
               products + g * step);
      if (k + p->piece >= depth) put_together(r, products + g * step, r->first + at, tiles, panel);
    }
  }
}

static void take_panels(void *arg, int64_t begin, int64_t end) {
  run *r = arg;
  const int64_t splits = r->p.splits, count = r->p.groups / splits;
  float *const own = fy_slice_take(&r->slices);
  clear_products(r, own + piece_weights(&r->p));
  for (int64_t u = begin; u < end; u++) run_panel(r, u / splits, u % splits * count, count, own);
  fy_slice_give(&r->slices, own);
}

fy_code fy_winograd_run(fy_kernel_ctx *ctx, const fy_gemm_job *job, fy_error *err) {
  const fy_conv *c = job->conv;
  run r = {.job = job,
           .kernels = fy_gemm_best(),
           .depth = all_depth(c),
           .p = make_plan(c, ctx->threads)};
  const plan *p = &r.p;
  const int64_t units = num_units(p), stage = p->by_panels ? p->groups * p->tiles : p->all;
  const double unit_ns = FY_GEMM_TERM_NS * (double)(POSITIONS * r.depth) *
                         (double)(p->columns * p->panels * stage / units);
  void *shared;
  FY_TRY(fy_scratch(ctx, shared_bytes(p, r.depth), &shared, err));
  FY_TRY(fy_slices_make(ctx, units, own_bytes(p, r.depth), &r.slices, err));
  r.shared = shared;
  r.far = !p->by_panels && shared_bytes(p, r.depth) > FAR_BYTES;
  if (!p->by_panels) {
    fy_parallel(ctx, p->panels * p->pieces, 0.1 * (double)piece_weights(p), share_weights, &r);
    fy_parallel(ctx, units, unit_ns, take_groups, &r);
    return FY_OK;
  }
  for (; r.first < p->all; r.first += stage) {
    r.tiles = least(stage, p->all - r.first);
    fy_parallel(ctx, r.tiles, 0.1 * (double)(POSITIONS * r.depth), share_inputs, &r);
    fy_parallel(ctx, units, unit_ns, take_panels, &r);
  }
  return FY_OK;
}
