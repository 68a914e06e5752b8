// SPDX-License-Identifier: Apache-2.0
// batch_norm_loops.c: the two passes of a batch normalisation over its tensor: sums, and the rest.
// The second begins where the first ended: of a tensor that just does not fit, the end is still in
// the cache.

#include "ops/batch_norm.h"
#include "ops/fused.h"
#include "ops/turn.h"
#include "ops/typed.h"

#define LEAST_WIDTH 64
#define LINE        16  // floats
#define MOST_PARTS  32
#define PART        (1 << 15)  // numbers that are worth a part
#define STRANDS     16         // of the sum of one channel

void fy_norm_cut(fy_norm_job *j) {
  const int64_t n = j->channels, count = j->outer * n * j->inner;
  int64_t times = 1;
  if (j->channels_last && n > 0) {
    while (n * times < LEAST_WIDTH || n * times % LINE) times++;
    if (n > 8 * LEAST_WIDTH || times * 8 > j->outer) times = 1;
  }
  j->width = n * times;
  int64_t parts = count / PART < MOST_PARTS ? count / PART : MOST_PARTS;
  if (!j->channels_last && n > 0) parts /= n;
  const int64_t most = j->outer / times;
  if (parts > most) parts = most;
  j->parts = parts > 1 ? parts : 1;
}

size_t fy_norm_work(const fy_norm_job *j) {
  return (size_t)j->width * ((size_t)j->parts * 2 * sizeof(double) + 4 * sizeof(float));
}
void fy_norm_set_work(fy_norm_job *j, void *memory) {
  j->sums = memory;
  j->shift = (float *)(void *)(j->sums + j->parts * 2 * j->width);
  j->scale = j->shift + j->width;
  j->offset = j->scale + j->width;
  j->slope = j->offset + j->width;
}
void fy_norm_repeat(const fy_norm_job *j, float *v) {
  for (int64_t c = j->channels; c < j->width; c++) v[c] = v[c - j->channels];
}

// ---------------------------------------------------------------- 16-bit floats
// They are worked on as floats, a chunk at a time.
FY_CLONES static void widen(const uint16_t *restrict in, float *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = FY_LD_bf16(in[i]);
}
FY_CLONES static void narrow(const float *restrict in, uint16_t *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = FY_ST_bf16(in[i]);
}
static const float *floats_of(fy_dtype t, const void *p, int64_t at, int64_t n, float *memory) {
  if (!p || t == FY_FLOAT) return p ? (const float *)p + at : NULL;
  const uint16_t *in = (const uint16_t *)p + at;
  (t == FY_HALF ? fy_halves_to_floats : widen)(in, memory, n);
  return memory;
}

// ---------------------------------------------------------------- sums
// A run of numbers from |from| on is walked in pieces: [rows] of n numbers, or a part of a row. What
// goes through a buffer is cut where its lines begin.
typedef struct piece {
  int64_t at, column, rows, n;
} piece;
static bool next_piece(const fy_norm_job *j, bool buffered, int64_t end, piece *p) {
  p->at += p->rows * p->n;
  if (p->at >= end) return false;
  const int64_t width = j->channels_last ? j->width : j->inner;
  p->column = p->at % width;
  p->n = width - p->column < end - p->at ? width - p->column : end - p->at;
  p->rows = 1;
  if (buffered && p->n > FY_CHUNK - p->at % LINE) p->n = FY_CHUNK - p->at % LINE;
  if (!j->channels_last || p->n < width) return true;
  p->rows = (end - p->at) / width;
  if (buffered && p->rows > FY_CHUNK / width) p->rows = FY_CHUNK / width;
  return true;
}

// The rows [first, last) of part |part|.
static void part_of(int64_t rows, int64_t parts, int64_t part, int64_t *first, int64_t *last) {
  *first = rows * part / parts;
  *last = rows * (part + 1) / parts;
}

// The numbers from |from| to |to|; [STRANDS] of shift and sums where they are of one channel.
static void sum_part(const fy_norm_job *j, const float *shift, int64_t from, int64_t to, double *a,
                     double *b) {
  float wide_x[FY_CHUNK], wide_g[FY_CHUNK];
  for (piece p = {.at = from}; next_piece(j, j->type != FY_FLOAT, to, &p);) {
    const int64_t n = p.rows * p.n;
    const float *x = floats_of(j->type, j->x, p.at, n, wide_x);
    const float *g = floats_of(j->type, j->grad, p.at, n, wide_g);
    if (j->channels_last) {
      fy_lanes_best()->channel_sums_f32(x, g, shift + p.column, p.rows, p.n, a + p.column,
                                        b + p.column);
      continue;
    }
    const int64_t rest = n % STRANDS;
    fy_lanes_best()->channel_sums_f32(x, g, shift, n / STRANDS, STRANDS, a, b);
    fy_lanes_best()->channel_sums_f32(x + n - rest, g ? g + n - rest : NULL, shift, 1, rest, a, b);
  }
}

static void sum_channel(const fy_norm_job *j, int64_t part, int64_t channel) {
  const int64_t n = j->channels;
  double a[STRANDS] = {0}, b[STRANDS] = {0}, *sums = j->sums + part * 2 * n + channel;
  float shift[STRANDS];
  int64_t first, last;
  for (int k = 0; k < STRANDS; k++) shift[k] = j->shift[channel];
  part_of(j->outer, j->parts, part, &first, &last);
  for (int64_t image = first; image < last; image++) {
    const int64_t from = (image * n + channel) * j->inner;
    sum_part(j, shift, from, from + j->inner, a, b);
  }
  for (int k = 1; k < STRANDS; k++) a[0] += a[k], b[0] += b[k];
  sums[0] = a[0];
  sums[n] = b[0];
}

// Items: parts, or channels of them.
static void sum_items(void *arg, int64_t begin, int64_t end) {
  const fy_norm_job *j = arg;
  const int64_t n = j->channels;
  for (int64_t item = begin; item < end; item++) {
    if (!j->channels_last) {
      sum_channel(j, item / n, item % n);
      continue;
    }
    double *sums = j->sums + item * 2 * j->width;
    int64_t first, last;
    part_of(j->outer * n / j->width, j->parts, item, &first, &last);
    memset(sums, 0, (size_t)j->width * 2 * sizeof *sums);
    sum_part(j, j->shift, first * j->width, item + 1 == j->parts ? j->outer * n : last * j->width,
             sums, sums + j->width);
  }
}

void fy_norm_sum(fy_kernel_ctx *ctx, fy_norm_job *j) {
  const int64_t n = j->channels, items = j->parts * (j->channels_last ? 1 : n);
  const double each = (double)(j->outer * n * j->inner) / (double)items;
  fy_parallel(ctx, items, 0.3 * each, sum_items, j);
  for (int64_t part = 0; part < j->parts; part++) {
    const double *from = j->sums + part * 2 * j->width;
    for (int64_t k = part ? 0 : n; k < j->width; k += n) {
      for (int64_t c = 0; c < n; c++) {
        j->sums[c] += from[k + c];
        j->sums[j->width + c] += from[j->width + k + c];
      }
    }
  }
}

// ---------------------------------------------------------------- the rest
FY_CLONES static void apply_rows(const fy_norm_job *j, const float *x, float *out, int64_t c,
                                 int64_t rows, int64_t n) {
  const float *shift = j->shift + c, *scale = j->scale + c, *offset = j->offset + c;
  for (int64_t r = 0; r < rows; r++, x += n, out += n) {
    FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = (x[i] - shift[i]) * scale[i] + offset[i];
  }
}
FY_CLONES static void apply_grad_rows(const fy_norm_job *j, const float *x, const float *g,
                                      float *out, int64_t c, int64_t rows, int64_t n) {
  const float *shift = j->shift + c, *scale = j->scale + c, *offset = j->offset + c;
  const float *slope = j->slope + c;
  for (int64_t r = 0; r < rows; r++, x += n, g += n, out += n) {
    FY_VECTOR for (int64_t i = 0; i < n; i++) {
      out[i] = scale[i] * (g[i] - offset[i] - (x[i] - shift[i]) * slope[i]);
    }
  }
}
FY_CLONES static void apply_run(const fy_norm_job *j, const float *x, float *out, int64_t c,
                                int64_t n) {
  const float a = j->shift[c], b = j->scale[c], d = j->offset[c];
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = (x[i] - a) * b + d;
}
FY_CLONES static void apply_grad_run(const fy_norm_job *j, const float *x, const float *g,
                                     float *out, int64_t c, int64_t n) {
  const float a = j->shift[c], b = j->scale[c], d = j->offset[c], e = j->slope[c];
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = b * (g[i] - d - (x[i] - a) * e);
}

// Whether rows of the walk are whole vectors and, in memory, lines.
static bool in_lanes(const fy_norm_job *j) {
  return j->channels_last && j->width % LINE == 0 && (uintptr_t)j->out % 64 == 0 &&
         fy_lanes_best()->affine_rows_f32;
}

// Items: rows of the walk; the last one of channels that come last may be shorter.
static void apply(void *arg, int64_t begin, int64_t end) {
  const fy_norm_job *j = arg;
  const int64_t count = j->outer * j->channels * j->inner;
  const int64_t width = j->channels_last ? j->width : j->inner, rows = (count + width - 1) / width;
  const bool past = j->type == FY_FLOAT && fy_past_cache(j->out, j->x, count);
  const bool whole = j->type == FY_FLOAT && in_lanes(j);
  const bool buffered = (past && !whole) || j->type != FY_FLOAT;
  const int64_t first = (rows - end) * width, last = (rows - begin) * width;
  float wide_x[FY_CHUNK], wide_g[FY_CHUNK];
  _Alignas(64) float wide_out[FY_CHUNK];
  for (piece p = {.at = first}; next_piece(j, buffered, last < count ? last : count, &p);) {
    const int64_t n = p.rows * p.n;
    const float *x = floats_of(j->type, j->x, p.at, n, wide_x);
    const float *g = floats_of(j->type, j->grad, p.at, n, wide_g);
    float *out = buffered ? wide_out : (float *)j->out + p.at;
    if (whole && p.n == width) {
      const fy_affine_rows f = {j->shift, j->scale, j->offset, j->slope, width, past};
      fy_lanes_best()->affine_rows_f32(&f, x, g, out, p.rows);
      continue;
    }
    if (j->channels_last && g)
      apply_grad_rows(j, x, g, out, p.column, p.rows, p.n);
    else if (j->channels_last)
      apply_rows(j, x, out, p.column, p.rows, p.n);
    else if (g)
      apply_grad_run(j, x, g, out, p.at / j->inner % j->channels, p.n);
    else
      apply_run(j, x, out, p.at / j->inner % j->channels, p.n);
    if (past && buffered)
      fy_stream((char *)((float *)j->out + p.at), (const char *)out, (size_t)n * sizeof *out);
    if (j->type == FY_HALF) fy_floats_to_halves(out, (uint16_t *)j->out + p.at, n);
    if (j->type == FY_BFLOAT16) narrow(out, (uint16_t *)j->out + p.at, n);
  }
  if (past) fy_stream_end();
}

void fy_norm_apply(fy_kernel_ctx *ctx, fy_norm_job *j) {
  const int64_t count = j->outer * j->channels * j->inner;
  const int64_t width = j->channels_last ? j->width : j->inner;
  fy_parallel(ctx, (count + width - 1) / width, (j->grad ? 0.3 : 0.2) * (double)width, apply, j);
}
