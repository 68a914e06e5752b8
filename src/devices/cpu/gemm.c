// SPDX-License-Identifier: Apache-2.0
// gemm.c: cuts a product into blocks for the kernel (gemm.h).
//
// An item of work is a tile of rows times some panels of columns. Inside it the sum is cut into
// pieces of so many terms, so that a panel's piece stays in L1 while the rows of the tile, which
// stay in L2, pass by. Of a window over few channels (the first layer of an image model) whole lines
// are taken at once, because the kernel wants longer runs than three channels.

#include "devices/cpu/gemm.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "devices/cpu/cpu.h"
#include "devices/cpu/gemm_impl.h"

#define FAR_BYTES        4194304  // a packed B of this size is not in L2: its next panel is called for
#define TILE_GROUPS      16  // blocks of six rows (half as many of twelve) in a tile, or as many …
#define TILE_BYTES       49152    // … as fill this with their part of A, where panels share it,
#define TILE_ALONE_BYTES 131072   // where there is but one
#define ITEMS_PER_THREAD 4        // so that a thread that comes late or is held up costs little …
#define ITEM_NS          2.5e3    // … but none shorter than this
#define NEAR_BYTES       4194304  // an A of this size may be read once per part of B
#define PART_BYTES       262144   // of B, packed by the thread that needs it
#define C_BYTES          393216   // of C, at most, that an item adds to piece by piece
#define MAX_POINTERS     4096     // of a tile: its rows times the taps
#define GATHER_DEPTH     16       // windows over fewer channels are copied out …
#define GATHER_BYTES     65536    // … into this much memory
#define WIDE_PANELS      3        // of more than these a half at the end matters little
#define COPY_PANELS      16  // that meet the rows of a transposed A: from here on a copy pays …
#define COPY_BYTES       104448  // … of so much at a time, on the stack,
#define LARGE_BYTES      221184  // or of this, which is not, for a large product
#define LARGE_GROUPS     24      // blocks of six rows in a tile of a large product …
#define LARGE_PANELS     32      // … that meet so many panels at least
#define LARGE_ITEMS      4       // such tiles for each thread: from here on it is one
#define STAGE_ROWS \
  360  // of a tile of a product in stages, at most (and of such a product, at least) …
#define STAGE_LEAST  96  // of an item of it
#define STAGE_PANELS 16  // … that has so many panels for each thread, at least,
#define STAGE_MOST   64  // and meets so many at a time, at most
#define PACK_ROWS    8   // of B, whose panels are filled together
_Static_assert(COPY_BYTES >= GATHER_BYTES + GATHER_BYTES / FY_GEMM_ROWS, "one buffer serves both");

#if defined(__x86_64__)
static fy_gemm_kernels mixed;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void mix(void) {
  mixed = fy_gemm_avx2;
  fy_gemm_avx512(&mixed);
}
#endif

static const fy_gemm_kernels *const builds[FY_CPU_LEVELS] = {
    [FY_CPU_PLAIN] = &fy_gemm_plain,
#if defined(__x86_64__)
    [FY_CPU_AVX2] = &fy_gemm_avx2,
    [FY_CPU_AVX512] = &mixed,
    [FY_CPU_AVX512_WIDE] = &fy_gemm_avx512_wide,
#endif
};

static const fy_gemm_kernels *build_for(fy_cpu_level level) {
#if defined(__x86_64__)
  if (level == FY_CPU_AVX512) pthread_once(&once, mix);
#endif
  return builds[level];
}

const fy_gemm_kernels *fy_gemm_best(void) {
  return build_for(fy_cpu_level_get());
}

const fy_gemm_kernels *fy_gemm_for(int64_t channels) {
  int level = (int)fy_cpu_level_get();
  while (level > 0 && build_for((fy_cpu_level)level)->lanes > channels) level--;
  return build_for((fy_cpu_level)level);
}

static int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

// ---------------------------------------------------------------- packing
bool fy_gemm_packed_bytes(fy_gemm_type type, int64_t k, int64_t n, int64_t groups, size_t *out) {
  const int64_t columns = fy_gemm_best()->columns[type];
  int64_t total;
  if (k < 0 || n < 0 || n > INT64_MAX - columns ||
      __builtin_mul_overflow(round_up(n, columns), k, &total) ||
      __builtin_mul_overflow(total, groups, &total) ||
      __builtin_mul_overflow(total, (int64_t)fy_gemm_size(type), &total))
    return false;
  *out = (size_t)total;
  return true;
}

typedef struct pack_job {
  const void *b, *scale;
  void *packed;
  int64_t k, n, step_k, step_n, columns;
} pack_job;

// Full panels of whole lines, some rows of all of them at a time, because the rows of B may be a page apart.
static void pack_lines(const pack_job *j, int64_t begin, int64_t end, size_t size) {
  const size_t bytes = (size_t)j->columns * size, step = (size_t)j->step_k * size;
  for (int64_t i0 = 0; i0 < j->k; i0 += PACK_ROWS) {
    const int64_t i1 = i0 + PACK_ROWS < j->k ? i0 + PACK_ROWS : j->k;
    for (int64_t p = begin; p < end; p++) {
      char *restrict to = (char *)j->packed + (size_t)(p * j->k + i0) * bytes;
      const char *restrict from = (const char *)j->b + (size_t)p * bytes + (size_t)i0 * step;
      for (int64_t i = i0; i < i1; i++, from += step)
        for (size_t at = 0; at < bytes; at += 64, to += 64) {
          __builtin_prefetch(from + at + PACK_ROWS * step, 0, 3);
          memcpy(to, from + at, 64);
        }
    }
  }
}

#define PACK(S, REAL)                                                                        \
  static void pack_##S(void *arg, int64_t begin, int64_t end) {                              \
    const pack_job *j = arg;                                                                 \
    const int64_t k = j->k, columns = j->columns;                                            \
    if (j->step_n == 1 && !j->scale && (size_t)columns * sizeof(REAL) % 64 == 0) {           \
      const int64_t full = j->n / columns < end ? j->n / columns : end;                      \
      pack_lines(j, begin, full, sizeof(REAL));                                              \
      begin = full > begin ? full : begin;                                                   \
    }                                                                                        \
    for (int64_t p = begin; p < end; p++) {                                                  \
      REAL *restrict to = (REAL *)j->packed + p * k * columns;                               \
      const REAL *restrict from = (const REAL *)j->b + p * columns * j->step_n;              \
      const REAL *scale = j->scale ? (const REAL *)j->scale + p * columns : NULL;            \
      const int64_t left = j->n - p * columns, width = left < columns ? left : columns;      \
      if (width < columns) memset(to, 0, (size_t)(k * columns) * sizeof(REAL));              \
      if (j->step_n == 1) {                                                                  \
        for (int64_t i = 0; i < k; i++)                                                      \
          for (int64_t c = 0; c < width; c++) to[i * columns + c] = from[i * j->step_k + c]; \
      } else {                                                                               \
        for (int64_t i0 = 0; i0 < k; i0 += 64) {                                             \
          const int64_t i1 = i0 + 64 < k ? i0 + 64 : k;                                      \
          for (int64_t c = 0; c < width; c++) {                                              \
            const REAL *column = from + c * j->step_n;                                       \
            for (int64_t i = i0; i < i1; i++) to[i * columns + c] = column[i * j->step_k];   \
          }                                                                                  \
        }                                                                                    \
      }                                                                                      \
      for (int64_t i = 0; scale && i < k; i++)                                               \
        for (int64_t c = 0; c < width; c++) to[i * columns + c] *= scale[c];                 \
    }                                                                                        \
  }
PACK(f32, float)
PACK(f64, double)

static void pack_panels(fy_gemm_type type, pack_job *j, int64_t begin, int64_t end) {
  (type == FY_GEMM_F32 ? pack_f32 : pack_f64)(j, begin, end);
}

void fy_gemm_pack(fy_kernel_ctx *ctx, fy_gemm_type type, const void *b, int64_t k, int64_t n,
                  int64_t step_k, int64_t step_n, const void *scale, void *packed) {
  const int64_t columns = fy_gemm_best()->columns[type];
  pack_job j = {b, scale, packed, k, n, step_k, step_n, columns};
  const int64_t panels = round_up(n, columns) / columns;
  if (ctx)
    fy_parallel(ctx, panels, 0.2 * (double)(k * columns), type == FY_GEMM_F32 ? pack_f32 : pack_f64,
                &j);
  else
    pack_panels(type, &j, 0, panels);
}

// ---------------------------------------------------------------- one item
// A panel that is not full, through a block of its own.
static void edge(const fy_gemm_tiles *r, fy_gemm_block *b, int64_t rows, int64_t width) {
  _Alignas(64) char c[FY_GEMM_ROWS * FY_GEMM_PANEL], add[FY_GEMM_ROWS * FY_GEMM_PANEL];
  const fy_gemm_job *j = r->job;
  const size_t bytes = (size_t)width * r->size, line = (size_t)r->columns * r->size;
  char *to = b->c;
  const char *extra = b->add;
  memset(c, 0, sizeof c);
  memset(add, 0, sizeof add);
  for (int64_t i = 0; i < rows; i++) {
    const size_t at = (size_t)(i * j->ldc) * r->size;
    if (!b->first) memcpy(c + (size_t)i * line, to + at, bytes);
    if (extra) memcpy(add + (size_t)i * line, extra + at, bytes);
  }
  b->c = c;
  b->ldc = b->ldadd = r->columns;
  if (extra) b->add = add;
  (width * 2 <= r->columns ? r->kernels->half : r->kernels->block)[j->type][rows](b);
  for (int64_t i = 0; i < rows; i++)
    memcpy(to + (size_t)(i * j->ldc) * r->size, c + (size_t)i * line, bytes);
  b->ldc = b->ldadd = j->ldc;
}

// The block reads B where it lies, from row |k| on.
static void pack_on_the_way(const fy_gemm_tiles *r, fy_gemm_block *b, int64_t k, int64_t p) {
  const fy_gemm_job *j = r->job;
  const void *packed = b->b;
  b->packed = (void *)(uintptr_t)packed;
  b->b = (const char *)j->raw + (size_t)(k * j->raw_step_k + p * r->columns) * r->size;
  b->ldb = j->raw_step_k;
  r->kernels->packing[j->type](b);
  b->b = packed;
  b->ldb = r->columns;
}

// May so many columns be the half of a panel? Or part of one, where half a panel is a vector that may be cut.
static bool is_half(const fy_gemm_tiles *r, int64_t width) {
  const bool cut = r->kernels->cut[r->job->type] * 2 == r->columns;
  return width * 2 == r->columns || (cut && width > 0 && width * 2 < r->columns);
}

// Panel |p|, with |wide| the half after it as well.
static void panel(const fy_gemm_tiles *r, const fy_gemm_piece *s, const fy_gemm_cuts *cuts,
                  int64_t m, int64_t p, bool wide, const void *const *rows, int64_t taps,
                  int64_t depth) {
  const fy_gemm_job *j = r->job;
  const int64_t left = j->n - (p + wide) * r->columns;
  const int64_t width = left < r->columns ? left : r->columns;  // of the last panel
  const int cut = r->kernels->cut[j->type];
  const int64_t k = s->tap * depth + s->at;
  fy_gemm_block b = {.taps = s->taps,
                     .depth = s->depth,
                     .taps_all = taps,
                     .even = cuts->even,
                     .step = j->conv || r->copies ? 1 : j->k_step,
                     .ldb = j->ldb ? j->ldb : r->columns,
                     .second = j->ldb ? r->columns : taps * depth * r->columns,
                     .ldc = j->ldc,
                     .ldadd = j->ldc,
                     .part = cut && width % cut ? (int)(width % cut) : 0,
                     .first = s->first,
                     .last = s->last,
                     .clamps = j->lo > -INFINITY || j->hi < INFINITY,
                     .lo = j->lo,
                     .hi = j->hi};
  b.offset = r->copies ? 0 : s->at * b.step;
  b.b = (const char *)j->b +
        (size_t)(j->ldb ? k * j->ldb + p * r->columns : (p * taps * depth + k) * r->columns) *
            r->size;
  if (j->bias) b.bias = (const char *)j->bias + (size_t)(p * r->columns) * r->size;
  const bool half = is_half(r, width);
  const bool whole = half || width == r->columns || (cut && width * 2 > r->columns);
  const fy_gemm_fn *kernels = wide   ? r->kernels->wide
                              : half ? r->kernels->half[j->type]
                                     : r->kernels->block[j->type];
  if (r->far) {
    b.next = (const char *)b.b + (size_t)(taps * depth * r->columns) * r->size;
    b.lines = s->taps * s->depth * r->columns * (int64_t)r->size / 64 / cuts->n + 1;
  }
  for (int i = 0; i < cuts->n; i += (int)b.count) {
    const int64_t n = cuts->rows[i];
    const size_t at = (size_t)(m * j->ldc + p * r->columns) * r->size;
    const bool fills = r->fills && m == 0;
    b.count = 1;
    while (!fills && whole && i + b.count < cuts->n && cuts->rows[i + b.count] == n) b.count++;
    b.rows = rows + s->tap * n;
    if (r->copies) b.step = n;
    b.c = (char *)j->c + at;
    b.add = j->add ? (const char *)j->add + at : NULL;
    if (fills)
      pack_on_the_way(r, &b, k, p);
    else if (whole)
      kernels[n](&b);
    else
      edge(r, &b, n, width);
    if (b.next) b.next += b.count * b.lines * 64;
    rows += b.count * n * taps;
    m += b.count * n;
  }
}

// Chunks differ by a panel at most.
static int64_t first_panel(const fy_gemm_tiles *r, int64_t chunk) {
  return r->chunks == 1 ? r->panels * chunk : r->panels * chunk / r->chunks;
}

// Each thread's share of the rows is the same to a row, and its tiles differ by a block at most.
static int64_t first_row(const fy_gemm_tiles *r, int64_t tile) {
  const int64_t m = r->job->m, each = r->tiles / r->shares, share = tile / each;
  const int64_t from = m * share / r->shares;
  if (share == r->shares || tile % each == 0) return from;
  const int64_t rows = m * (share + 1) / r->shares - from;
  const int64_t all = (rows + r->block_rows - 1) / r->block_rows;
  const int64_t row = all * (tile % each) / each * r->block_rows;
  return from + (row < rows ? row : rows);
}

// |memory|: LARGE_BYTES of a large product; else NULL.
static void item(const fy_gemm_tiles *r, int64_t tile, int64_t chunk, char *memory) {
  const fy_gemm_job *j = r->job;
  const int64_t m0 = first_row(r, tile), m1 = first_row(r, tile + 1);
  const int64_t p0 = first_panel(r, chunk), p1 = first_panel(r, chunk + 1);
  const void *rows[MAX_POINTERS];
  _Alignas(64) char near[COPY_BYTES];  // or a line of zeros and GATHER_BYTES
  char *buffer = memory ? memory : near;
  fy_gemm_cuts cuts;
  fy_gemm_cut_rows(r, m0, m1, &cuts);
  int64_t taps = j->taps, depth = j->depth;
  if (r->gather) {
    depth *= j->conv->w[2].size;
    taps /= j->conv->w[2].size;
    fy_gemm_find_lines(r, &cuts, m0, buffer, rows);
  } else if (!r->copies) {
    fy_gemm_find_rows(r, &cuts, m0, rows);
  }
  const int64_t terms = r->kernels->piece;
  const int64_t some = depth < terms ? (terms / depth < taps ? terms / depth : taps) : 1;
  // Equal pieces: no short one at the end.
  const int64_t pieces = (depth + terms - 1) / terms, most = (depth + pieces - 1) / pieces;
  fy_gemm_piece s = {.first = !j->adds};
  for (s.tap = 0; s.tap < taps; s.tap += some) {
    s.taps = taps - s.tap < some ? taps - s.tap : some;
    for (s.at = 0; s.at < depth; s.at += s.depth) {
      s.depth = s.taps > 1 || depth <= most ? depth : most;
      if (s.depth > depth - s.at) s.depth = depth - s.at;
      s.last = s.tap + s.taps == taps && s.at + s.depth == depth;
      if (r->copies) fy_gemm_copy_rows(r, &s, &cuts, m0, buffer, rows);
      for (int64_t p = p0; p < p1; p++) {
        const bool wide = r->wide && p == r->panels - 2 && p + 2 == p1;
        panel(r, &s, &cuts, m0, p, wide, rows, taps, depth);
        if (wide) p++;
      }
      s.first = false;
    }
  }
  const int64_t n0 = p0 * r->columns;
  const int64_t n1 = p1 * r->columns < j->n ? p1 * r->columns : j->n;
  for (int64_t m = m0; j->finish && m < m1; m++) {
    float *c = (float *)j->c + m * j->ldc + n0;
    j->finish(j->finish_arg, c, n1 - n0);
  }
}

static void items(void *arg, int64_t begin, int64_t end) {
  const fy_gemm_tiles *r = arg;
  if (!r->large) {
    for (int64_t i = begin; i < end; i++) item(r, i / r->chunks, i % r->chunks, NULL);
    return;
  }
  fy_gemm_tiles near = *r;
  char *memory = fy_aligned_alloc(LARGE_BYTES);
  if (!memory) near.copies = false;
  // Columns that this thread packed.
  for (int64_t i = begin; i < end; i++) item(&near, i % r->tiles, i / r->tiles, memory);
  fy_aligned_free(memory);
}

// ---------------------------------------------------------------- in stages
// A large product where L2 is large and what lies behind it far: piece by piece of the sum, for all rows of the
// item. A tile's rows are woven into L2 and meet one panel after the other, each of which is called for while
// the one before is multiplied.
static void stage_item(const fy_gemm_tiles *r, int64_t part, int64_t chunk, char *memory) {
  const fy_gemm_job *j = r->job;
  const int64_t from = j->m * part / r->shares, to = j->m * (part + 1) / r->shares;
  const int64_t p0 = first_panel(r, chunk), p1 = first_panel(r, chunk + 1);
  const int64_t pieces = (j->depth + r->kernels->piece - 1) / r->kernels->piece;
  const int64_t most = (j->depth + pieces - 1) / pieces;
  const void *rows[MAX_POINTERS];
  fy_gemm_piece s = {.first = !j->adds, .taps = 1};
  for (s.at = 0; s.at < j->depth; s.at += s.depth, s.first = false) {
    s.depth = j->depth - s.at < most ? j->depth - s.at : most;
    s.last = s.at + s.depth == j->depth;
    for (int64_t m0 = from, m1; m0 < to; m0 = m1) {
      m1 = to - m0 > r->tile_rows ? m0 + r->tile_rows : to;
      fy_gemm_cuts cuts;
      fy_gemm_cut_rows(r, m0, m1, &cuts);
      if (r->copies)
        fy_gemm_copy_rows(r, &s, &cuts, m0, memory, rows);
      else
        fy_gemm_find_rows(r, &cuts, m0, rows);
      for (int64_t p = p0; p < p1; p++) panel(r, &s, &cuts, m0, p, false, rows, 1, j->depth);
    }
  }
}

static void stage_items(void *arg, int64_t begin, int64_t end) {
  fy_gemm_tiles r = *(const fy_gemm_tiles *)arg;
  char *memory = fy_aligned_alloc((size_t)(r.tile_rows * r.kernels->piece) * r.size);
  if (!memory) r.copies = false;
  for (int64_t i = begin; i < end; i++) stage_item(&r, i % r.shares, i / r.shares, memory);
  fy_aligned_free(memory);
}

static bool in_stages(const fy_kernel_ctx *ctx, fy_gemm_tiles *r) {
  const fy_gemm_job *j = r->job;
  const int64_t threads = ctx ? ctx->threads : 1;
  if (!r->kernels->weave || j->type != FY_GEMM_F32 || j->conv || j->ldb || j->finish ||
      j->depth <= r->kernels->piece || j->m < STAGE_ROWS || r->panels < STAGE_PANELS * threads)
    return false;
  // Two items for each thread, so that one that is held up can be helped: rows apart, which are woven once then.
  const int64_t items = 2 * threads, most = j->m / STAGE_LEAST;
  r->shares = items < most ? items : most;
  r->chunks = (r->panels + STAGE_MOST - 1) / STAGE_MOST;
  if (r->chunks * r->shares < items) r->chunks = (items + r->shares - 1) / r->shares;
  r->chunk = (r->panels + r->chunks - 1) / r->chunks;
  r->tile_rows = STAGE_ROWS;
  r->copies = true;
  r->far = true;
  return true;
}

static pack_job raw_job(const fy_gemm_job *j, int columns) {
  return (pack_job){.b = j->raw,
                    .scale = j->raw_scale,
                    .packed = (void *)(uintptr_t)j->b,
                    .k = j->taps * j->depth,
                    .n = j->n,
                    .step_k = j->raw_step_k,
                    .step_n = j->raw_step_n,
                    .columns = columns};
}

// Parts of B with all rows: each is packed by who needs it, while it is in that one's cache.
static void parts(void *arg, int64_t begin, int64_t end) {
  const fy_gemm_tiles *r = arg;
  pack_job j = raw_job(r->job, r->columns);
  for (int64_t i = begin; i < end; i++) {
    if (!r->fills) pack_panels(r->job->type, &j, first_panel(r, i), first_panel(r, i + 1));
    for (int64_t tile = 0; tile < r->tiles; tile++) item(r, tile, i, NULL);
  }
}

static bool in_parts(const fy_kernel_ctx *ctx, fy_gemm_tiles *r) {
  const fy_gemm_job *j = r->job;
  const int64_t k = j->taps * j->depth, threads = ctx ? ctx->threads : 1;
  const int64_t part = PART_BYTES / (k * r->columns * (int64_t)r->size);
  if (threads < 2 || r->panels < 2 * threads || j->m * k * (int64_t)r->size > NEAR_BYTES)
    return false;
  r->chunk = (r->panels + 4 * threads - 1) / (4 * threads);
  if (r->chunk > part) r->chunk = part > 1 ? part : 1;
  r->chunks = round_up((r->panels + r->chunk - 1) / r->chunk, threads);
  if (r->chunks > r->panels) r->chunks = r->panels;
  return true;
}

// ---------------------------------------------------------------- the whole
bool fy_gemm_can(const fy_gemm_job *j) {
  return j->taps >= 1 && j->depth >= 1 && j->taps <= MAX_POINTERS / FY_GEMM_ROWS;
}

// Blocks of the kernel with as many rows as |n| blocks of six.
static int64_t groups_of(const fy_gemm_tiles *r, int64_t n) {
  return n * 6 / r->kernels->rows[r->job->type];
}

// Rows are copied, each tile's once for many panels. (512 x 512 x 512 on two threads is faster in parts.)
static bool is_large(const fy_kernel_ctx *ctx, const fy_gemm_tiles *r) {
  const fy_gemm_job *j = r->job;
  return !j->conv && !j->ldb && j->depth > r->kernels->piece && r->panels >= LARGE_PANELS &&
         j->m / (LARGE_GROUPS * 6) * (r->panels / LARGE_PANELS) >=
             LARGE_ITEMS * (ctx ? (int64_t)ctx->threads : 1);
}

static int64_t tile_rows(const fy_gemm_tiles *r) {
  const fy_gemm_job *j = r->job;
  const int64_t bytes = j->taps * j->depth * (int64_t)r->size * r->block_rows;  // of a block
  int64_t groups = (r->panels > 1 ? TILE_BYTES : TILE_ALONE_BYTES) / bytes;
  const int64_t least = groups_of(r, TILE_GROUPS), most = groups_of(r, FY_GEMM_MOST_BLOCKS);
  groups = groups < least ? least : groups < most ? groups : most;
  if (r->large) groups = groups_of(r, LARGE_GROUPS);
  const int64_t terms = j->depth < r->kernels->piece ? j->depth : r->kernels->piece;
  const int64_t per_row = r->gather   ? j->taps * j->depth * (int64_t)r->size
                          : r->copies ? terms * (int64_t)r->size
                                      : j->taps;
  const int64_t room = r->large    ? LARGE_BYTES
                       : r->copies ? COPY_BYTES
                       : r->gather ? GATHER_BYTES
                                   : MAX_POINTERS;
  if (groups * r->block_rows * per_row > room) groups = room / per_row / r->block_rows;
  // Lines of a few numbers take more room as pointers.
  const int64_t lines = r->gather ? j->conv->w[0].size * j->conv->w[1].size : 1;
  if (groups * r->block_rows * lines > MAX_POINTERS) groups = MAX_POINTERS / lines / r->block_rows;
  return groups * r->block_rows;
}

// |tiles| of them, none short.
static void set_tiles(fy_gemm_tiles *r, int64_t tiles) {
  const int64_t all = (r->job->m + r->block_rows - 1) / r->block_rows;
  r->tiles = tiles < all ? tiles : all;
  r->tile_rows = (all + r->tiles - 1) / r->tiles * r->block_rows;
}

// Rows lie evenly apart: those of a product, or pixels that each see one pixel, and all of them.
static bool is_even(const fy_gemm_job *j) {
  for (int d = 0; j->conv && d < 3; d++) {
    const fy_window *w = &j->conv->w[d];
    if (w->size != 1 || w->stride != 1 || w->before != 0 || w->in != w->out) return false;
  }
  return true;
}

// One item on this thread: nothing to find out, which takes a twentieth of the time of 32 x 32 x 32.
static bool is_little(const fy_gemm_tiles *r) {
  const fy_gemm_job *j = r->job;
  return !j->conv && !j->raw && j->m <= groups_of(r, TILE_GROUPS) * r->block_rows && j->n <= 256 &&
         j->depth <= 256 && FY_GEMM_TERM_NS * (double)(j->m * j->n * j->depth) < ITEM_NS;
}

void fy_gemm_run(fy_kernel_ctx *ctx, const fy_gemm_job *j) {
  fy_gemm_tiles r = {
      .job = j, .kernels = fy_gemm_best(), .size = fy_gemm_size(j->type), .shares = 1};
  r.columns = r.kernels->columns[j->type];
  r.panels = (j->n + r.columns - 1) / r.columns;
  r.wide = j->type == FY_GEMM_F32 && r.panels > 1 && r.panels <= WIDE_PANELS &&
           is_half(&r, j->n % r.columns);
  r.block_rows = r.wide ? r.kernels->few : r.kernels->rows[j->type];
  r.even = is_even(j);
  if (is_little(&r)) {
    r.tile_rows = j->m;
    r.tiles = r.chunks = 1;
    item(&r, 0, 0, NULL);
    return;
  }
  r.gather = j->conv && !j->backward && j->taps > 1 && j->depth < GATHER_DEPTH &&
             j->conv->w[0].size * j->conv->w[1].size <= FY_GEMM_LINES &&
             j->taps * j->depth * (int64_t)r.size * r.block_rows <= GATHER_BYTES;
  if (r.gather) fy_gemm_find_whole(&r);
  r.chunk = r.panels;
  r.chunks = 1;
  const bool staged = in_stages(ctx, &r);
  r.large = !staged && is_large(ctx, &r);
  const bool apart = !staged && !r.large && j->raw && j->k_step == 1 && in_parts(ctx, &r);
  if (!staged) {
    r.copies = r.large || (!apart && !j->conv && j->k_step != 1);
    r.tile_rows = tile_rows(&r);
    set_tiles(&r, (j->m + r.tile_rows - 1) / r.tile_rows);
  }
  r.far = staged || r.large ||
          (!j->ldb && r.panels * r.columns * j->taps * j->depth * (int64_t)r.size > FAR_BYTES);
  if (apart) {
    fy_gemm_cuts first;
    fy_gemm_cut((int)first_row(&r, 1), (int)r.block_rows, &first);
    r.fills = j->taps == 1 && j->raw_step_n == 1 && !j->raw_scale && j->n % r.columns == 0 &&
              first.rows[0] == r.kernels->rows[j->type];
    fy_parallel(ctx, r.chunks,
                FY_GEMM_TERM_NS * (double)j->m * (double)(r.chunk * r.columns) *
                    (double)(j->taps * j->depth),
                parts, &r);
    return;
  }
  if (j->raw)
    fy_gemm_pack(ctx, j->type, j->raw, j->taps * j->depth, j->n, j->raw_step_k, j->raw_step_n,
                 j->raw_scale, (void *)(uintptr_t)j->b);
  const double all_ns =
      FY_GEMM_TERM_NS * (double)j->m * (double)j->n * (double)(j->taps * j->depth);
  if (staged) {
    const int64_t n = r.shares * r.chunks;
    if (ctx)
      fy_parallel(ctx, n, all_ns / (double)n, stage_items, &r);
    else
      stage_items(&r, 0, n);
    return;
  }
  int64_t want = ctx && ctx->threads > 1 ? ITEMS_PER_THREAD * (int64_t)ctx->threads : 1;
  if ((double)want * ITEM_NS > all_ns) want = (int64_t)(all_ns / ITEM_NS);
  // What is added to piece by piece stays in L2.
  const int64_t near = C_BYTES / (r.tile_rows * r.columns * (int64_t)r.size);
  if (!r.large && j->depth > r.kernels->piece && r.chunk > near) {
    r.chunks = (r.panels + near - 1) / near;
    r.chunk = (r.panels + r.chunks - 1) / r.chunks;
  }
  // Few rows: share out the columns, each thread its part of B; then smaller tiles.
  while (r.tiles * r.chunks < want && r.chunk > (r.large ? 2 * LARGE_PANELS - 1 : 2)) {
    r.chunk = (r.chunk + 1) / 2;
    r.chunks = (r.panels + r.chunk - 1) / r.chunk;
  }
  while (r.tiles * r.chunks < want && r.tile_rows > 2 * r.block_rows) set_tiles(&r, 2 * r.tiles);
  // As many for each thread.
  const int64_t threads = ctx && r.tiles * r.chunks >= ctx->threads ? ctx->threads : 1;
  if (r.tiles * r.chunks % threads && r.tile_rows > r.block_rows)
    set_tiles(&r, round_up(r.tiles, threads));
  if (r.tiles % threads == 0 && !r.large) r.shares = threads;
  r.copies = r.copies && r.chunk >= COPY_PANELS;
  if (!ctx) {
    items(&r, 0, r.tiles * r.chunks);
    return;
  }
  const double rows = (double)(j->m < r.tile_rows ? j->m : r.tile_rows);
  fy_parallel(ctx, r.tiles * r.chunks,
              FY_GEMM_TERM_NS * rows * (double)(r.chunk * r.columns) * (double)(j->taps * j->depth),
              items, &r);
}
