// SPDX-License-Identifier: Apache-2.0
// gemm_rows.c: where the rows of A are that a tile of a product (gemm.c) needs: those of a matrix, the pixels
// that a window sees, lines of windows over few channels; or copies of them, woven block by block.

#include <string.h>

#include "devices/cpu/gemm_impl.h"

void fy_gemm_cut(int rows, int most, fy_gemm_cuts *b) {
  b->n = (rows + most - 1) / most;
  const int each = rows / b->n, more = rows % b->n;
  for (int i = 0; i < b->n; i++) b->rows[i] = (uint8_t)(each + (i < more));
}

static bool cut_lines(const fy_gemm_tiles *r, int64_t m0, int64_t m1, fy_gemm_cuts *out) {
  const int64_t line = r->job->conv->w[2].out;
  out->n = 0;
  for (int64_t m = m0, n; m < m1; m += n) {
    const int64_t left = line - m % line;
    n = left < m1 - m ? left : m1 - m;
    if (out->n + (n + r->block_rows - 1) / r->block_rows > FY_GEMM_MOST_BLOCKS) return false;
    fy_gemm_cuts part;
    fy_gemm_cut((int)n, (int)r->block_rows, &part);
    memcpy(out->rows + out->n, part.rows, (size_t)part.n);
    out->n += part.n;
  }
  return true;
}

void fy_gemm_cut_rows(const fy_gemm_tiles *r, int64_t m0, int64_t m1, fy_gemm_cuts *out) {
  out->even = r->gather && r->runs && cut_lines(r, m0, m1, out);
  if (out->even) return;
  fy_gemm_cut((int)(m1 - m0), (int)r->block_rows, out);
  out->even = r->even;
}

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
static void see(const fy_gemm_tiles *r, const pixel *p, const void **out, int64_t stride) {
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

// Pointers |step| bytes apart.
static inline void spread(const char *from, size_t step, int64_t n, const void **out) {
  for (int64_t i = 0; i < n; i++, from += step) out[i] = from;
}

void fy_gemm_find_rows(const fy_gemm_tiles *r, const fy_gemm_cuts *k, int64_t m0,
                       const void **out) {
  const fy_gemm_job *j = r->job;
  if (!j->conv) {
    const size_t step = (size_t)j->row_step * r->size;
    const char *from = (const char *)j->a + (size_t)m0 * step;
    for (int g = 0, n; g < k->n; g++, from += (size_t)n * step, out += n) {
      n = k->rows[g];
      // Tall blocks look at two rows, but for the first one, which may pack B.
      spread(from, step, g > 0 && n > FY_GEMM_HELD ? 2 : n, out);
    }
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
static void find_row(const fy_gemm_tiles *r, const pixel *p, const char **lines) {
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
static void copy_line(const fy_gemm_tiles *r, const char *line, const pixel *p, char *to) {
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

void fy_gemm_find_whole(fy_gemm_tiles *r) {
  const fy_window *w = &r->job->conv->w[2];
  const int64_t room = w->in + w->before - w->size;
  if (r->job->pixel != r->job->depth || w->dilation > 1) return;  // none
  r->runs = r->block_rows > FY_GEMM_HELD && w->out * 2 > r->block_rows && w->stride <= w->size;
  if (room < 0) return;
  r->whole_from = w->before > 0 ? (w->before + w->stride - 1) / w->stride : 0;
  r->whole_to = room / w->stride + 1 < w->out ? room / w->stride + 1 : w->out;
}

typedef struct gathered {  // how far find_lines() has come
  const fy_gemm_tiles *r;
  pixel p;
  const char *lines[FY_GEMM_LINES], *zeros;
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

// |n| blocks of |rows| pixels, a length that the compiler knows, inside of one row.
static inline void find_blocks_of(int rows, gathered *s, int64_t n, const void **out) {
  for (int64_t l = 0; l < s->num_lines; l++) {
    size_t apart;
    const char *from = start_of(s, l, &apart);
    const void **to = out + l * rows;
    for (int64_t b = 0; b < n; b++, to += s->num_lines * rows, from += (size_t)rows * apart)
      spread(from, apart, rows, to);
  }
  go_on(s, n * rows);
}
static void find_blocks(gathered *s, int64_t n, const void **out) {
  if (s->r->block_rows == 12)
    find_blocks_of(12, s, n, out);
  else if (s->r->block_rows == 6)
    find_blocks_of(6, s, n, out);
  else
    find_blocks_of((int)s->r->block_rows, s, n, out);
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
        from = s->buffer;
        copy_line(s->r, s->lines[l], &s->p, s->buffer);
        s->buffer += s->line_bytes;
      }
      spread(from, apart, n, out + l * rows + i);
    }
    go_on(s, n);
  }
}

// What |n| pixels side by side see of |line|, a run, with zeros for what lies outside.
static const char *copy_run(gathered *s, const char *line, int64_t n) {
  const fy_window *w = &s->r->job->conv->w[2];
  const int64_t from = fy_window_at(w, s->p.at[2], 0), to = from + (n - 1) * w->stride + w->size;
  const int64_t first = from < 0 ? 0 : from, last = to < w->in ? to : w->in;
  const bool some = first < last;
  const size_t before = some ? (size_t)(first - from) * s->pixel_bytes : 0;
  const size_t inside = some ? (size_t)(last - first) * s->pixel_bytes : 0;
  const size_t all = (size_t)(to - from) * s->pixel_bytes;
  char *out = s->buffer;
  memset(out, 0, before);
  if (some) memcpy(out + before, line + (size_t)first * s->pixel_bytes, inside);
  memset(out + before + inside, 0, all - before - inside);
  s->buffer += all;
  return out;
}

// |n| pixels of a line: the first two where they are more than six, as for any rows that lie evenly apart.
static void find_run(gathered *s, int64_t n, const void **out) {
  const bool whole = is_whole(s) && s->p.at[2] + n <= s->r->whole_to;
  for (int64_t l = 0; l < s->num_lines; l++, out += n) {
    size_t apart;
    const char *from = start_of(s, l, &apart);
    if (!whole && s->lines[l]) from = copy_run(s, s->lines[l], n);
    spread(from, apart, n > FY_GEMM_HELD ? 2 : n, out);
  }
  go_on(s, n);
}

void fy_gemm_find_lines(const fy_gemm_tiles *r, const fy_gemm_cuts *k, int64_t m0, char *buffer,
                        const void **out) {
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
  s.buffer += s.line_bytes;
  find_row(r, &s.p, s.lines);
  for (int g = 0; k->even && g < k->n; out += k->rows[g++] * s.num_lines)
    find_run(&s, k->rows[g], out);
  if (k->even) return;
  const int64_t rows = r->block_rows;
  for (int g = 0, n; g < k->n; g += n) {
    const int64_t most = is_whole(&s) ? (r->whole_to - s.p.at[2]) / rows : 0;
    for (n = 0; n < most && g + n < k->n && k->rows[g + n] == rows;) n++;
    if (n > 0) {
      find_blocks(&s, n, out);
      out += n * rows * s.num_lines;
    } else {
      n = 1;
      find_block(&s, k->rows[g], out);
      out += k->rows[g] * s.num_lines;
    }
  }
}

// Six rows of floats of |all|, each a run, four terms at a time: as many as that takes.
static int64_t weave(const float *from, int64_t row_step, int64_t n, float *to, int64_t all) {
  typedef float four __attribute__((vector_size(16), aligned(4)));
  typedef float two __attribute__((vector_size(8), aligned(4)));
#define PAIRS(a, b, c, d) __builtin_shufflevector(a, b, c, c + 4, d, d + 4)
#define ROW(i)            (*(const four *)(const void *)(from + (i)*row_step + k))
#define PUT(k, x, y, z, at)                                                                      \
  *(four *)(void *)(to + all * (k)) = __builtin_shufflevector(x, y, at, at + 1, at + 4, at + 5); \
  *(two *)(void *)(to + all * (k) + 4) = __builtin_shufflevector(z, z, at, at + 1)
  int64_t k = 0;
  for (; k + 4 <= n; k += 4, to += 4 * all) {
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

void fy_gemm_copy_rows(const fy_gemm_tiles *r, const fy_gemm_piece *s, const fy_gemm_cuts *cuts,
                       int64_t m, char *buffer, const void **rows) {
  const fy_gemm_job *j = r->job;
  for (int g = 0; g < cuts->n; g++) {
    const int64_t n = cuts->rows[g], at = m * j->row_step + s->at * j->k_step;
    int64_t k = 0;
    spread(buffer, r->size, n, rows);
    if (r->size == sizeof(float)) {
      const float *from = (const float *)j->a + at;
      float *to = (float *)(void *)buffer;
      if (r->kernels->weave && n == r->kernels->rows[j->type] && j->k_step == 1)
        k = r->kernels->weave(from, j->row_step, s->depth, to);
      for (int64_t i = 0; i < n && n % 6 == 0 && j->k_step == 1 && !k; i += 6)
        k = weave(from + i * j->row_step, j->row_step, s->depth, to + i, n);
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
