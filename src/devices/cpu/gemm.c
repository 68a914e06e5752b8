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

#define FAR_BYTES        4194304  // a packed B of this size is not in L2: its next panel is called for
#define TILE_GROUPS      16       // blocks of rows in a tile …
#define MOST_GROUPS      64       // … or as many as fill one of these with their part of A:
#define TILE_BYTES       49152    // where panels share it,
#define TILE_ALONE_BYTES 131072   // where there is but one
#define ITEMS_PER_THREAD 4        // so that a thread that comes late or is held up costs little …
#define ITEM_NS          2.5e3    // … but none shorter than this
#define NEAR_BYTES       4194304  // an A of this size may be read once per part of B
#define PART_BYTES       262144   // of B, packed by the thread that needs it
#define C_BYTES          393216   // of C, at most, that an item adds to piece by piece
#define MAX_POINTERS     4096     // of a tile: its rows times the taps
#define GATHER_DEPTH     16       // windows over fewer channels are copied out …
#define GATHER_BYTES     65536    // … into this much memory
#define GATHER_LINES     64
#define WIDE_PANELS      3   // of more than these a half at the end matters little
#define COPY_PANELS      16  // that meet the rows of a transposed A: from here on a copy pays …
#define COPY_BYTES       104448  // … of so much at a time, on the stack,
#define LARGE_BYTES      221184  // or of this, which is not, for a large product
#define LARGE_GROUPS     24      // blocks of rows in a tile of a large product …
#define LARGE_PANELS     32      // … that meet so many panels at least
#define LARGE_ITEMS      4       // such tiles for each thread: from here on it is one
#define PACK_ROWS        8       // of B, whose panels are filled together
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
        for (size_t at = 0; at < bytes; at += 64, to += 64) memcpy(to, from + at, 64);
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

// ---------------------------------------------------------------- rows of a tile
typedef struct run {
  const fy_gemm_job *job;
  const fy_gemm_kernels *kernels;
  int64_t tiles, tile_rows;       // the most rows of one
  int64_t shares;                 // that the tiles are dealt out in
  int64_t panels, chunk, chunks;  // the most panels of an item; items per tile
  int64_t block_rows;             // the most of a block
  bool wide;                      // the last panel is a half and goes with the one before
  int columns;
  size_t size;
  bool gather, far;
  bool copies, large;  // of A's rows; all of them, since the product is large
  bool fills;          // the first block that meets a panel packs it
  int64_t whole_from,
      whole_to;  // gather: pixels of a row that see a run of each line, and all of it inside
} run;

typedef struct pixel {
  int64_t image, at[3];  // depth, height, width
} pixel;

static int64_t extent(const fy_gemm_job *j, int d) {
  return j->backward ? j->conv->w[d].in : j->conv->w[d].out;
}

static pixel pixel_of(const fy_gemm_job *j, int64_t row) {
  pixel p;
  for (int d = 2; d >= 0; d--) {
    p.at[d] = row % extent(j, d);
    row /= extent(j, d);
  }
  p.image = row;
  return p;
}

static void next_pixel(const fy_gemm_job *j, pixel *p) {
  for (int d = 2; d >= 0; d--) {
    if (++p->at[d] < extent(j, d)) return;
    p->at[d] = 0;
  }
  p->image++;
}

// Where output |at| looks through tap |tap| along one dim, or -1; backward: which output saw input
// |at| through it.
static inline int64_t source(const fy_window *w, int64_t at, int64_t tap, bool backward) {
  if (!backward) {
    const int64_t i = fy_window_at(w, at, tap);
    return i < 0 || i >= w->in ? -1 : i;
  }
  const int64_t i = at + w->before - tap * w->dilation;
  if (i < 0 || i % w->stride) return -1;
  return i / w->stride < w->out ? i / w->stride : -1;
}

// The pixels that |p| sees, tap by tap, |stride| pointers apart.
static void see(const run *r, const pixel *p, const void **out, int64_t stride) {
  const fy_gemm_job *j = r->job;
  const fy_conv *c = j->conv;
  const fy_window *w = c->w;
  const int64_t h = j->backward ? w[1].out : w[1].in, wd = j->backward ? w[2].out : w[2].in;
  const int64_t dd = j->backward ? w[0].out : w[0].in;
  const char *base = (const char *)j->a + (size_t)j->first * r->size;
  for (int64_t z = 0; z < w[0].size; z++) {
    const int64_t iz = source(&w[0], p->at[0], z, j->backward);
    for (int64_t y = 0; y < w[1].size; y++) {
      const int64_t iy = source(&w[1], p->at[1], y, j->backward);
      const bool inside = iz >= 0 && iy >= 0;
      const char *line = base + (size_t)(((p->image * dd + iz) * h + iy) * wd * j->pixel) * r->size;
      for (int64_t x = 0; x < w[2].size; x++, out += stride) {
        const int64_t ix = inside ? source(&w[2], p->at[2], x, j->backward) : -1;
        *out = ix < 0 ? j->zeros : line + (size_t)(ix * j->pixel) * r->size;
      }
    }
  }
}

typedef struct blocks {  // of a tile's rows
  int n;
  uint8_t rows[MOST_GROUPS];
} blocks;

// All blocks are about equal, because one with a single row costs as much as one with three.
static void cut(int rows, int most, blocks *b) {
  b->n = (rows + most - 1) / most;
  const int each = rows / b->n, more = rows % b->n;
  for (int i = 0; i < b->n; i++) b->rows[i] = (uint8_t)(each + (i < more));
}

// Pointers |step| bytes apart.
static inline void spread(const char *from, size_t step, int64_t n, const void **out) {
  for (int64_t i = 0; i < n; i++, from += step) out[i] = from;
}

// Pointers to the rows [m0, m1), group by group: [group][tap][row of the group].
static void find_rows(const run *r, const blocks *k, int64_t m0, int64_t m1, const void **out) {
  const fy_gemm_job *j = r->job;
  if (!j->conv) {
    const size_t step = (size_t)j->row_step * r->size;
    spread((const char *)j->a + (size_t)m0 * step, step, m1 - m0, out);
    return;
  }
  pixel p = pixel_of(j, m0);
  for (int g = 0; g < k->n; g++) {
    const int64_t rows = k->rows[g];
    for (int64_t i = 0; i < rows; i++) {
      see(r, &p, out + i, rows);
      next_pixel(j, &p);
    }
    out += rows * j->taps;
  }
}

// Where the lines begin that the row of |p| sees; NULL outside of the image.
static void find_row(const run *r, const pixel *p, const char **lines) {
  const fy_gemm_job *j = r->job;
  const fy_window *w = j->conv->w;
  const char *base = (const char *)j->a + (size_t)j->first * r->size;
  for (int64_t z = 0; z < w[0].size; z++) {
    const int64_t iz = source(&w[0], p->at[0], z, false);
    for (int64_t y = 0; y < w[1].size; y++) {
      const int64_t iy = source(&w[1], p->at[1], y, false);
      const int64_t first = ((p->image * w[0].in + iz) * w[1].in + iy) * w[2].in * j->pixel;
      *lines++ = iz >= 0 && iy >= 0 ? base + (size_t)first * r->size : NULL;
    }
  }
}

// What |p| sees of a line, pixel by pixel, with zeros for what lies outside.
static void copy_line(const run *r, const char *line, const pixel *p, char *to) {
  const fy_gemm_job *j = r->job;
  const fy_window *w = &j->conv->w[2];
  const size_t bytes = (size_t)j->depth * r->size;
  for (int64_t x = 0; x < w->size; x++, to += bytes) {
    const int64_t ix = source(w, p->at[2], x, false);
    if (ix < 0)
      memset(to, 0, bytes);
    else
      memcpy(to, line + (size_t)(ix * j->pixel) * r->size, bytes);
  }
}

static void find_whole(run *r) {
  const fy_window *w = &r->job->conv->w[2];
  const int64_t room = w->in + w->before - w->size;
  if (r->job->pixel != r->job->depth || w->dilation > 1 || room < 0) return;  // none
  r->whole_from = w->before > 0 ? (w->before + w->stride - 1) / w->stride : 0;
  r->whole_to = room / w->stride + 1 < w->out ? room / w->stride + 1 : w->out;
}

typedef struct gathered {  // how far find_lines() has come
  const run *r;
  pixel p;
  const char *lines[GATHER_LINES], *zeros;
  char *buffer;
  size_t line_bytes, pixel_bytes, step;
  int64_t num_lines;
} gathered;

static bool is_whole(const gathered *s) {
  return s->p.at[2] >= s->r->whole_from && s->p.at[2] < s->r->whole_to;
}

// Where the window of the pixel begins on line |l|, and how far on that of the next pixel does.
static const char *start_of(const gathered *s, int64_t l, size_t *apart) {
  const fy_window *w = &s->r->job->conv->w[2];
  *apart = s->lines[l] ? s->step : 0;
  return s->lines[l] ? s->lines[l] + (size_t)fy_window_at(w, s->p.at[2], 0) * s->pixel_bytes
                     : s->zeros;
}

static void go_on(gathered *s, int64_t pixels) {
  s->p.at[2] += pixels - 1;
  next_pixel(s->r->job, &s->p);
  if (s->p.at[2] == 0) find_row(s->r, &s->p, s->lines);
}

// |n| blocks of FY_GEMM_ROWS pixels, a length that the compiler knows, inside of one row.
static void find_blocks(gathered *s, int64_t n, const void **out) {
  for (int64_t l = 0; l < s->num_lines; l++) {
    size_t apart;
    const char *from = start_of(s, l, &apart);
    const void **to = out + l * FY_GEMM_ROWS;
    for (int64_t b = 0; b < n; b++, to += s->num_lines * FY_GEMM_ROWS, from += FY_GEMM_ROWS * apart)
      spread(from, apart, FY_GEMM_ROWS, to);
  }
  go_on(s, n * FY_GEMM_ROWS);
}

static void find_block(gathered *s, int64_t rows, const void **out) {
  for (int64_t i = 0, n; i < rows; i += n) {
    const bool whole = is_whole(s);
    const int64_t left = s->r->whole_to - s->p.at[2];
    n = !whole ? 1 : rows - i < left ? rows - i : left;
    for (int64_t l = 0; l < s->num_lines; l++) {
      size_t apart = 0;
      const char *from = s->zeros;
      if (whole) {
        from = start_of(s, l, &apart);
      } else if (s->lines[l]) {
        from = s->buffer += s->line_bytes;
        copy_line(s->r, s->lines[l], &s->p, s->buffer);
      }
      spread(from, apart, n, out + l * rows + i);
    }
    go_on(s, n);
  }
}

// The same for windows over few channels, whose lines count as taps: pixels side by side are one run
// of the image. What lies partly outside of it is copied to |buffer|, which begins with a line of zeros
// for what lies above and below.
static void find_lines(const run *r, const blocks *k, int64_t m0, char *buffer, const void **out) {
  const fy_gemm_job *j = r->job;
  const fy_window *w = j->conv->w;
  gathered s;
  s.r = r;
  s.p = pixel_of(j, m0);
  s.line_bytes = (size_t)(j->depth * w[2].size) * r->size;
  s.pixel_bytes = (size_t)j->pixel * r->size;
  s.step = (size_t)w[2].stride * s.pixel_bytes;
  s.num_lines = w[0].size * w[1].size;
  s.buffer = buffer;
  s.zeros = memset(buffer, 0, s.line_bytes);
  find_row(r, &s.p, s.lines);
  for (int g = 0, n; g < k->n; g += n) {
    const int64_t most = is_whole(&s) ? (r->whole_to - s.p.at[2]) / FY_GEMM_ROWS : 0;
    for (n = 0; n < most && g + n < k->n && k->rows[g + n] == FY_GEMM_ROWS;) n++;
    if (n > 0) {
      find_blocks(&s, n, out);
      out += n * FY_GEMM_ROWS * s.num_lines;
    } else {
      n = 1;
      find_block(&s, k->rows[g], out);
      out += k->rows[g] * s.num_lines;
    }
  }
}

// ---------------------------------------------------------------- one item
// A panel that is not full, through a block of its own.
static void edge(const run *r, fy_gemm_block *b, int64_t rows, int64_t width) {
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

typedef struct piece {  // of the sum
  int64_t tap, taps, at, depth;
  bool first, last;
} piece;

// Six rows of floats, each a run, four terms at a time: as many as that takes.
static int64_t weave(const float *from, int64_t row_step, int64_t n, float *to) {
  typedef float four __attribute__((vector_size(16), aligned(4)));
  typedef float two __attribute__((vector_size(8), aligned(4)));
#define PAIRS(a, b, c, d) __builtin_shufflevector(a, b, c, c + 4, d, d + 4)
#define ROW(i)            (*(const four *)(const void *)(from + (i)*row_step + k))
#define PUT(k, x, y, z, at)                                                                    \
  *(four *)(void *)(to + 6 * (k)) = __builtin_shufflevector(x, y, at, at + 1, at + 4, at + 5); \
  *(two *)(void *)(to + 6 * (k) + 4) = __builtin_shufflevector(z, z, at, at + 1)
  int64_t k = 0;
  for (; k + 4 <= n; k += 4, to += 24) {
    const four a = ROW(0), b = ROW(1), c = ROW(2), d = ROW(3), e = ROW(4), f = ROW(5);
    const four ab = PAIRS(a, b, 0, 1), cd = PAIRS(c, d, 0, 1), ef = PAIRS(e, f, 0, 1);
    const four AB = PAIRS(a, b, 2, 3), CD = PAIRS(c, d, 2, 3), EF = PAIRS(e, f, 2, 3);
    PUT(0, ab, cd, ef, 0);
    PUT(1, ab, cd, ef, 2);
    PUT(2, AB, CD, EF, 0);
    PUT(3, AB, CD, EF, 2);
  }
  return k;
}

// The piece |s| of the rows from |m| on, each block one run, term by term: where they lie the terms of a
// transposed A are a line apart, and the rows of any large one a page.
static void copy_rows(const run *r, const piece *s, const blocks *cuts, int64_t m, char *buffer,
                      const void **rows) {
  const fy_gemm_job *j = r->job;
  for (int g = 0; g < cuts->n; g++) {
    const int64_t n = cuts->rows[g], at = m * j->row_step + s->at * j->k_step;
    int64_t k = 0;
    spread(buffer, r->size, n, rows);
    if (r->size == sizeof(float)) {
      const float *from = (const float *)j->a + at;
      float *to = (float *)(void *)buffer;
      if (n == 6 && j->k_step == 1) k = weave(from, j->row_step, s->depth, to);
      for (; k < s->depth; k++)
        for (int64_t i = 0; i < n; i++) to[k * n + i] = from[i * j->row_step + k * j->k_step];
    } else {
      const double *from = (const double *)j->a + at;
      double *to = (double *)(void *)buffer;
      for (; k < s->depth; k++)
        for (int64_t i = 0; i < n; i++) to[k * n + i] = from[i * j->row_step + k * j->k_step];
    }
    buffer += (size_t)(n * s->depth) * r->size;
    rows += n;
    m += n;
  }
}

// The block reads B where it lies, from row |k| on.
static void pack_on_the_way(const run *r, fy_gemm_block *b, int64_t k, int64_t p) {
  const fy_gemm_job *j = r->job;
  const void *packed = b->b;
  b->packed = (void *)(uintptr_t)packed;
  b->b = (const char *)j->raw + (size_t)(k * j->raw_step_k + p * r->columns) * r->size;
  b->ldb = j->raw_step_k;
  r->kernels->packing[j->type](b);
  b->b = packed;
  b->ldb = r->columns;
}

// Panel |p|, with |wide| the half after it as well.
static void panel(const run *r, const piece *s, const blocks *cuts, int64_t m, int64_t p, bool wide,
                  const void *const *rows, int64_t taps, int64_t depth) {
  const fy_gemm_job *j = r->job;
  const int64_t left = j->n - p * r->columns, width = left < r->columns ? left : r->columns;
  const int64_t k = s->tap * depth + s->at;
  fy_gemm_block b = {.taps = s->taps,
                     .depth = s->depth,
                     .taps_all = taps,
                     .step = j->conv || r->copies ? 1 : j->k_step,
                     .ldb = j->ldb ? j->ldb : r->columns,
                     .second = j->ldb ? r->columns : taps * depth * r->columns,
                     .ldc = j->ldc,
                     .ldadd = j->ldc,
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
  const bool half = width * 2 == r->columns, whole = width == r->columns || half;
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
static int64_t first_panel(const run *r, int64_t chunk) {
  return r->chunks == 1 ? r->panels * chunk : r->panels * chunk / r->chunks;
}

// Each thread's share of the rows is the same to a row, and its tiles differ by a block at most.
static int64_t first_row(const run *r, int64_t tile) {
  const int64_t m = r->job->m, each = r->tiles / r->shares, share = tile / each;
  const int64_t from = m * share / r->shares;
  if (share == r->shares || tile % each == 0) return from;
  const int64_t rows = m * (share + 1) / r->shares - from;
  const int64_t all = (rows + r->block_rows - 1) / r->block_rows;
  const int64_t row = all * (tile % each) / each * r->block_rows;
  return from + (row < rows ? row : rows);
}

// |memory|: LARGE_BYTES of a large product; else NULL.
static void item(const run *r, int64_t tile, int64_t chunk, char *memory) {
  const fy_gemm_job *j = r->job;
  const int64_t m0 = first_row(r, tile), m1 = first_row(r, tile + 1);
  const int64_t p0 = first_panel(r, chunk), p1 = first_panel(r, chunk + 1);
  const void *rows[MAX_POINTERS];
  _Alignas(64) char near[COPY_BYTES];  // or a line of zeros and GATHER_BYTES
  char *buffer = memory ? memory : near;
  blocks cuts;
  cut((int)(m1 - m0), (int)r->block_rows, &cuts);
  int64_t taps = j->taps, depth = j->depth;
  if (r->gather) {
    depth *= j->conv->w[2].size;
    taps /= j->conv->w[2].size;
    find_lines(r, &cuts, m0, buffer, rows);
  } else if (!r->copies) {
    find_rows(r, &cuts, m0, m1, rows);
  }
  const int64_t terms = r->kernels->piece;
  const int64_t some = depth < terms ? (terms / depth < taps ? terms / depth : taps) : 1;
  // Equal pieces: no short one at the end.
  const int64_t pieces = (depth + terms - 1) / terms, most = (depth + pieces - 1) / pieces;
  piece s = {.first = !j->adds};
  for (s.tap = 0; s.tap < taps; s.tap += some) {
    s.taps = taps - s.tap < some ? taps - s.tap : some;
    for (s.at = 0; s.at < depth; s.at += s.depth) {
      s.depth = s.taps > 1 || depth <= most ? depth : most;
      if (s.depth > depth - s.at) s.depth = depth - s.at;
      s.last = s.tap + s.taps == taps && s.at + s.depth == depth;
      if (r->copies) copy_rows(r, &s, &cuts, m0, buffer, rows);
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
  const run *r = arg;
  if (!r->large) {
    for (int64_t i = begin; i < end; i++) item(r, i / r->chunks, i % r->chunks, NULL);
    return;
  }
  run near = *r;
  char *memory = fy_aligned_alloc(LARGE_BYTES);
  if (!memory) near.copies = false;
  // Columns that this thread packed.
  for (int64_t i = begin; i < end; i++) item(&near, i % r->tiles, i / r->tiles, memory);
  fy_aligned_free(memory);
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
  const run *r = arg;
  pack_job j = raw_job(r->job, r->columns);
  for (int64_t i = begin; i < end; i++) {
    if (!r->fills) pack_panels(r->job->type, &j, first_panel(r, i), first_panel(r, i + 1));
    for (int64_t tile = 0; tile < r->tiles; tile++) item(r, tile, i, NULL);
  }
}

static bool in_parts(const fy_kernel_ctx *ctx, run *r) {
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

// Rows are copied, each tile's once for many panels. (512 x 512 x 512 on two threads is faster in parts.)
static bool is_large(const fy_kernel_ctx *ctx, const run *r) {
  const fy_gemm_job *j = r->job;
  return !j->conv && !j->ldb && j->depth > r->kernels->piece && r->panels >= LARGE_PANELS &&
         j->m / (LARGE_GROUPS * FY_GEMM_ROWS) * (r->panels / LARGE_PANELS) >=
             LARGE_ITEMS * (ctx ? (int64_t)ctx->threads : 1);
}

static int64_t tile_rows(const run *r) {
  const fy_gemm_job *j = r->job;
  const int64_t bytes = j->taps * j->depth * (int64_t)r->size * r->block_rows;  // of a block
  int64_t groups = (r->panels > 1 ? TILE_BYTES : TILE_ALONE_BYTES) / bytes;
  groups = groups < TILE_GROUPS ? TILE_GROUPS : groups < MOST_GROUPS ? groups : MOST_GROUPS;
  if (r->large) groups = LARGE_GROUPS;
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
static void set_tiles(run *r, int64_t tiles) {
  const int64_t all = (r->job->m + r->block_rows - 1) / r->block_rows;
  r->tiles = tiles < all ? tiles : all;
  r->tile_rows = (all + r->tiles - 1) / r->tiles * r->block_rows;
}

// One item on this thread: nothing to find out, which takes a twentieth of the time of 32 x 32 x 32.
static bool is_little(const run *r) {
  const fy_gemm_job *j = r->job;
  return !j->conv && !j->raw && j->m <= TILE_GROUPS * r->block_rows && j->n <= 256 &&
         j->depth <= 256 && FY_GEMM_TERM_NS * (double)(j->m * j->n * j->depth) < ITEM_NS;
}

void fy_gemm_run(fy_kernel_ctx *ctx, const fy_gemm_job *j) {
  run r = {.job = j, .kernels = fy_gemm_best(), .size = fy_gemm_size(j->type), .shares = 1};
  r.columns = r.kernels->columns[j->type];
  r.panels = (j->n + r.columns - 1) / r.columns;
  r.wide = j->type == FY_GEMM_F32 && r.panels > 1 && r.panels <= WIDE_PANELS &&
           j->n % r.columns * 2 == r.columns;
  r.block_rows = r.wide ? FY_GEMM_FEW : FY_GEMM_ROWS;
  if (is_little(&r)) {
    r.tile_rows = j->m;
    r.tiles = r.chunks = 1;
    item(&r, 0, 0, NULL);
    return;
  }
  r.gather = j->conv && !j->backward && j->taps > 1 && j->depth < GATHER_DEPTH &&
             j->conv->w[0].size * j->conv->w[1].size <= GATHER_LINES &&
             j->taps * j->depth * (int64_t)r.size * FY_GEMM_ROWS <= GATHER_BYTES;
  if (r.gather) find_whole(&r);
  r.chunk = r.panels;
  r.chunks = 1;
  r.large = is_large(ctx, &r);
  const bool apart = !r.large && j->raw && j->k_step == 1 && in_parts(ctx, &r);
  r.copies = r.large || (!apart && !j->conv && j->k_step != 1);
  r.tile_rows = tile_rows(&r);
  set_tiles(&r, (j->m + r.tile_rows - 1) / r.tile_rows);
  r.far = r.large ||
          (!j->ldb && r.panels * r.columns * j->taps * j->depth * (int64_t)r.size > FAR_BYTES);
  if (apart) {
    blocks first;
    cut((int)first_row(&r, 1), (int)r.block_rows, &first);
    r.fills = j->taps == 1 && j->raw_step_n == 1 && !j->raw_scale && j->n % r.columns == 0 &&
              first.rows[0] == FY_GEMM_ROWS;
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
