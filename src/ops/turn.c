// SPDX-License-Identifier: Apache-2.0
// turn.c: see turn.h. Squares of 8 x 8 are turned in registers; the last of a row or column begins
// where it ends with the plane and turns some elements a second time.
//
// Results that leave the cache anyway go past it: blocks are turned into a buffer, from which whole
// lines go to memory, while the next block is on its way. Blocks follow each other along the rows of
// the input: they are read in the order of memory, in runs of lines, and written in runs of lines.
// Where the rows of the result do not begin at lines, each takes of a block what begins and ends at
// lines of its own; the few columns that the next block needs again are read twice.
//
// Rows a power of two apart share a few places of the nearest cache, which cannot hold a square's lines until they are
// full: such planes go through a (smaller) buffer, too, within the cache (1024 x 1024 words: a fifth of the time).

#include "ops/turn.h"

#include "ops/fused.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LINE        64
#define HEIGHT      128    // rows that are written together in the cache: whole lines are read
#define BLOCK       65536  // bytes of a block that goes through the buffer
#define MOST_ROWS   256
#define NEAR_BLOCK  16384
#define SMALL_PLANE 8192
#define PAGE        4096

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef uint8_t bytes_16 __attribute__((vector_size(16)));
typedef uint16_t halves8 __attribute__((vector_size(16)));
typedef uint64_t longs4 __attribute__((vector_size(32)));
typedef struct bytes16 {
  uint64_t a, b;
} bytes16;

// Three times each vector of the first half is mixed with its partner of the second.
#define MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define LOW_8(a, b)    MIX(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_8(a, b)   MIX(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_16(a, b)   MIX(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b)  MIX(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define ZIP(LOW, HIGH, to, from)                                                       \
  FY_UNROLL for (int k = 0; k < 4; k++) {                                              \
    to[2 * k] = LOW(from[k], from[k + 4]), to[2 * k + 1] = HIGH(from[k], from[k + 4]); \
  }
#define SQUARE(T)                                                                      \
  static inline __attribute__((always_inline)) void square_##T(T *to, int64_t to_step, \
                                                               const T *from, int64_t from_step)
#define ZIP_SQUARE(T, VEC)                                                                  \
  SQUARE(T) {                                                                               \
    VEC a[8], b[8];                                                                         \
    FY_UNROLL for (int k = 0; k < 8; k++) memcpy(&a[k], from + k * from_step, sizeof a[k]); \
    ZIP(LOW_8, HIGH_8, b, a)                                                                \
    ZIP(LOW_8, HIGH_8, a, b)                                                                \
    ZIP(LOW_8, HIGH_8, b, a)                                                                \
    FY_UNROLL for (int k = 0; k < 8; k++) memcpy(to + k * to_step, &b[k], sizeof b[k]);     \
  }
ZIP_SQUARE(uint8_t, bytes8)
ZIP_SQUARE(uint16_t, halves8)
#define square_uint32_t fy_turn_8
// In fours: pairs, then halves.
SQUARE(uint64_t) {
  for (int at = 0; at < 64; at += at % 8 ? 28 : 4) {  // rows 0 and 4, columns 0 and 4
    const uint64_t *in = from + at % 8 * from_step + at / 8;
    uint64_t *out = to + at / 8 * to_step + at % 8;
    longs4 a[4], b[4];
    FY_UNROLL for (int k = 0; k < 4; k++) memcpy(&a[k], in + k * from_step, sizeof a[k]);
    FY_UNROLL for (int k = 0; k < 4; k += 2) {
      b[k] = MIX(a[k], a[k + 1], 0, 4, 2, 6);
      b[k + 1] = MIX(a[k], a[k + 1], 1, 5, 3, 7);
    }
    FY_UNROLL for (int k = 0; k < 2; k++) {
      a[k] = MIX(b[k], b[k + 2], 0, 1, 4, 5);
      a[k + 2] = MIX(b[k], b[k + 2], 2, 3, 6, 7);
    }
    FY_UNROLL for (int k = 0; k < 4; k++) memcpy(out + k * to_step, &a[k], sizeof a[k]);
  }
}
SQUARE(bytes16) {
  for (int r = 0; r < 8; r++)
    FY_UNROLL for (int c = 0; c < 8; c++) to[r * to_step + c] = from[c * from_step + r];
}

// (As a number, or gcc would take a longer way.)
typedef double half_anywhere __attribute__((aligned(1), may_alias));
static inline __attribute__((always_inline)) void put_top(void *to, bytes_16 v) {
  typedef double halves __attribute__((vector_size(16)));
  *(half_anywhere *)to = ((halves)v)[1];
}

// Sixteen rows of bytes: two follow each other in a vector. (Where to write is added up, or gcc would
// keep sixteen multiples of a step in memory.)
static inline __attribute__((always_inline)) void two_squares(uint8_t *to, int64_t to_step,
                                                              const uint8_t *from,
                                                              int64_t from_step) {
  bytes_16 a[8], b[8];
  FY_UNROLL for (int k = 0; k < 8; k++) memcpy(&a[k], from + k * from_step, sizeof a[k]);
  ZIP(LOW_16, HIGH_16, b, a)
  ZIP(LOW_16, HIGH_16, a, b)
  ZIP(LOW_16, HIGH_16, b, a)
  FY_UNROLL for (int k = 0; k < 8; k++) {
    memcpy(to, &b[k], 8);
    put_top(to + to_step, b[k]);
    to += 2 * to_step;
    __asm__("" : "+r"(to));
  }
}

static int64_t at_most(int64_t n, int64_t most) {
  return n < most ? n : most;
}

// How many of |n| rows or columns of words squares take: up to four that are left are half a square's.
static inline int64_t in_squares(int64_t n, size_t size) {
  return size == 4 && n > 8 && n % 8 <= 4 ? n - n % 8 : n;
}

// out[r][c] = in[c][r] for at least 8 rows and columns. What lies at |next|, if not NULL, is asked for.
typedef void block_fn(void *out, int64_t out_step, const void *in, int64_t in_step, int64_t rows,
                      int64_t cols, const void *next);
#define BLOCK_OF(T, CLONES)                                                                  \
  CLONES static void block_##T(void *out, int64_t out_step, const void *in, int64_t in_step, \
                               int64_t rows, int64_t cols, const void *next) {               \
    const int64_t high = in_squares(rows, sizeof(T)), wide = in_squares(cols, sizeof(T));    \
    for (int64_t c = 0; c < wide; c = fy_next_square(c, wide)) {                             \
      for (int64_t k = c; next && k < c + 8; k++)                                            \
        for (int64_t r = 0; r < rows; r += LINE / (int64_t)sizeof(T))                        \
          __builtin_prefetch((const T *)next + k * in_step + r, 0, 2);                       \
      int64_t r = 0;                                                                         \
      if (sizeof(T) == 1)                                                                    \
        for (; r + 16 <= rows; r += 16)                                                      \
          two_squares((uint8_t *)out + r * out_step + c, out_step,                           \
                      (const uint8_t *)in + c * in_step + r, in_step);                       \
      if (r > 0 && r < rows) r = at_most(r, rows - 8);                                       \
      for (; r < high; r = fy_next_square(r, high))                                          \
        square_##T((T *)out + r * out_step + c, out_step, (const T *)in + c * in_step + r,   \
                   in_step);                                                                 \
      if (high < rows)                                                                       \
        fy_turn_8x4((T *)out + (rows - 4) * out_step + c, out_step,                          \
                    (const T *)in + c * in_step + rows - 4, in_step);                        \
    }                                                                                        \
    for (int64_t r = 0; wide < cols && r < rows; r = fy_next_square(r, rows))                \
      fy_turn_4x8((T *)out + r * out_step + cols - 4, out_step,                              \
                  (const T *)in + (cols - 4) * in_step + r, in_step);                        \
  }
BLOCK_OF(uint8_t, FY_CLONES)
BLOCK_OF(uint16_t, FY_CLONES)
BLOCK_OF(uint32_t, FY_CLONES)
BLOCK_OF(uint64_t, FY_CLONES)
BLOCK_OF(bytes16, )

// Wide vectors are for rows that do not all lie in the same places of the nearest cache.
static void block_bytes(void *out, int64_t out_step, const void *in, int64_t in_step, int64_t rows,
                        int64_t cols, const void *next) {
  const fy_lanes *lanes = fy_lanes_best();
  const bool wide = rows >= 16 && cols >= 64 && in_step % 4096 && lanes->turn_bytes;
  if (wide)
    lanes->turn_bytes(out, out_step, in, in_step, rows, cols, next);
  else
    block_uint8_t(out, out_step, in, in_step, rows, cols, next);
}

static block_fn *block_of(size_t size) {
  return size == 1   ? block_bytes
         : size == 2 ? block_uint16_t
         : size == 4 ? block_uint32_t
         : size == 8 ? block_uint64_t
                     : block_bytes16;
}

// The part of |n| that begins at |*at|, of |step| or what is left; never less than 8.
static int64_t part(int64_t *at, int64_t n, int64_t step) {
  if (n - *at < 8) *at = n - 8;
  return at_most(n - *at, step);
}

// In tiles of whole lines, in bands of rows.
static void turn_near(const fy_turn *t, block_fn *block) {
  const int64_t size = (int64_t)t->size, line = size < 8 ? LINE / size : 8;
  const bool small = t->rows < HEIGHT || t->cols < HEIGHT;
  const int64_t height = small ? t->rows : line, width = small ? t->cols : line;
  for (int64_t band = 0; band < t->rows; band += HEIGHT) {
    const int64_t end = small ? t->rows : at_most(band + HEIGHT, t->rows);
    for (int64_t c0 = 0; c0 < t->cols; c0 += width) {
      for (int64_t r0 = band; r0 < end; r0 += height) {
        int64_t c = c0, r = r0;
        const int64_t cols = part(&c, t->cols, width), rows = part(&r, t->rows, height);
        block(t->out + (r * t->out_step + c) * size, t->out_step,
              t->in + (c * t->in_step + r) * size, t->in_step, rows, cols, NULL);
      }
    }
    if (small) break;
  }
}

// Whole lines past the cache: to write a part of one that way takes ten times longer.
void fy_stream(char *to, const char *from, size_t n) {
  size_t i = 0;
#ifdef __SSE2__
  const size_t head = (size_t)(-(uintptr_t)to % LINE);
  if (head && head <= n) {
    memcpy(to, from, head);
    i = head;
  }
  for (; head <= n && i + LINE <= n; i += LINE) {
    __m128i x[4];
    memcpy(x, from + i, sizeof x);
    for (int k = 0; k < 4; k++) _mm_stream_si128((__m128i *)(void *)(to + i) + k, x[k]);
  }
#endif
  if (i < n) memcpy(to + i, from + i, n - i);
}

void fy_stream_end(void) {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// ---------------------------------------------------------------- one value
#define FILL_AS(T)                                                         \
  FY_CLONES static void fill_##T(void *to, const void *value, int64_t n) { \
    T v, *o = to;                                                          \
    memcpy(&v, value, sizeof v);                                           \
    for (int64_t i = 0; i < n; i++) o[i] = v;                              \
  }
FILL_AS(uint8_t)
FILL_AS(uint16_t)
FILL_AS(uint32_t)
FILL_AS(uint64_t)
FILL_AS(bytes16)

void fy_fill(void *to, const void *value, size_t size, int64_t n) {
#ifdef __x86_64__
  // A processor that is told how much it will write need not read the lines first: 1.3 to 1.6 times as
  // fast beyond the second cache (Zen 5), as fast as a loop of whole lines within it.
  if (size <= 8 && n >= (int64_t)(FY_LONG_FILL / size) && (uintptr_t)to % size == 0) {
    char *at = to;
    uint64_t eight = 0;
    for (size_t i = 0; i < sizeof eight; i += size) memcpy((char *)&eight + i, value, size);
    const size_t head = (size_t)(-(uintptr_t)to % LINE), bytes = (size_t)n * size - head;
    for (size_t i = 0; i < head; i += size) memcpy(at + i, value, size);
    size_t words = bytes / 8;
    at += head;
    __asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(eight) : "memory");
    memcpy(at, &eight, bytes % 8);
    return;
  }
#endif
  (size == 1   ? fill_uint8_t
   : size == 2 ? fill_uint16_t
   : size == 4 ? fill_uint32_t
   : size == 8 ? fill_uint64_t
               : fill_bytes16)(to, value, n);
}

static void put(char *to, const char *from, size_t n) {
  memcpy(to, from, n);
}

// How many of |n| lines, |step| bytes apart, share a place of the nearest cache, which has room for eight or twelve there.
static int64_t lines_together(int64_t n, int64_t step) {
  const int64_t apart = step & -step;  // a power of two
  return n * at_most(apart, PAGE) / PAGE;
}

// The first column from |c| on that begins a line of |row|, or the end.
static int64_t to_line(const char *row, int64_t c, int64_t cols, int64_t size) {
  const int64_t at = c + (int64_t)(-(uintptr_t)(row + c * size) % LINE) / size;
  return c == 0 ? 0 : at_most(at, cols);
}

// Rows of a block to where they belong.
static void put_rows(const fy_turn *t, const char *buffer, int64_t step, int64_t r, int64_t n,
                     int64_t c, int64_t next) {
  const int64_t size = (int64_t)t->size;
  for (int64_t k = 0; k < n; k++) {
    char *row = t->out + (r + k) * t->out_step * size;
    const int64_t c0 = t->past_cache ? to_line(row, c, t->cols, size) : c;
    const int64_t c1 = next >= t->cols ? t->cols
                       : t->past_cache ? to_line(row, next, t->cols, size)
                                       : next;
    (t->past_cache ? fy_stream : put)(row + c0 * size, buffer + (k * step + c0 - c) * size,
                                      (size_t)((c1 - c0) * size));
  }
}

static void turn_buffered(const fy_turn *t, block_fn *block) {
  _Alignas(LINE) char buffer[BLOCK + MOST_ROWS * LINE * 2];
  const int64_t size = (int64_t)t->size, line = LINE / size;
  const bool crowd = t->in_step * size % BLOCK == 0;
  const int64_t elements = (t->past_cache ? BLOCK / (crowd ? 2 : 1) : NEAR_BLOCK) / size;
  const bool lines = !t->past_cache || ((uintptr_t)t->out % LINE == 0 && t->out_step % line == 0);
  // Four lines of an input row, eight of a result's (bytes: four).
  int64_t height = size < 8 ? 256 / size : 32, width = elements / height;
  if (t->past_cache && t->cols * 2 <= width) {
    height = at_most(elements / t->cols / 8 * 8, MOST_ROWS);
    width = t->cols;
  }
  height = at_most(height, t->rows);
  for (int64_t c = 0; c < t->cols; c += width) {
    const bool last = t->cols - c < width + 8;
    const int64_t m = last ? t->cols - c : at_most(t->cols - c, width + (lines ? 0 : line));
    const bool dense = last && m == t->out_step;  // rows follow each other in |out|, too
    const int64_t step = dense ? m : m + 8;
    for (int64_t r0 = 0; r0 < t->rows; r0 += height) {
      int64_t r = r0;
      const int64_t n = part(&r, t->rows, height);
      const char *from = t->in + (c * t->in_step + r) * size;
      const bool end = r0 + height >= t->rows;
      const char *next = end ? t->in + (c + width) * t->in_step * size : from + height * size;
      block(buffer, step, from, t->in_step, n, m, t->past_cache ? next : NULL);
      if (dense && t->past_cache)
        fy_stream(t->out + r * t->out_step * size, buffer, (size_t)(n * m * size));
      else
        put_rows(t, buffer, step, r, n, c, last ? t->cols : c + width);
    }
    if (last) break;
  }
  if (t->past_cache) fy_stream_end();
}

// Whether the lines that are written at once are too many for their places. Wide vectors write whole lines.
static bool is_crowded(const fy_turn *t) {
  const int64_t size = (int64_t)t->size;
  const bool small = t->rows < HEIGHT || t->cols < HEIGHT;
  if (t->cols < 16 || t->rows * t->cols * size <= SMALL_PLANE) return false;
  const int64_t out = lines_together(small      ? at_most(t->rows, 32)
                                     : size < 8 ? LINE / size
                                                : 8,
                                     t->out_step * size);
  return out >= 4 && out + lines_together(8, t->in_step * size) > 8 &&
         !(size == 1 && fy_lanes_best()->turn_bytes);
}

void fy_turn_plane(const fy_turn *t) {
  (t->past_cache || is_crowded(t) ? turn_buffered : turn_near)(t, block_of(t->size));
}

void fy_turn_words(void *out, int64_t out_step, const void *in, int64_t in_step, int64_t rows,
                   int64_t cols) {
  block_uint32_t(out, out_step, in, in_step, rows, cols, NULL);
}
