// SPDX-License-Identifier: Apache-2.0
// euclidean_norm.c: EuclideanNorm: the root of the sum of squares over some axes. Squares and, for
// integers, sums are of the input's own type and may wrap, as TensorFlow's.

#include "base/alloc.h"
#include "ops/fused.h"
#include "ops/reduce.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// Where the elements add to: runs of |n| in the order of the input, which add to places that follow
// each other (|kept|) or all to the first.
typedef struct places {
  int64_t n;
  bool kept;
  int32_t rank;  // outside of the runs
  int64_t dims[FY_MAX_RANK], strides[FY_MAX_RANK], index[FY_MAX_RANK], at;
} places;
static void advance(places *p) {
  for (int32_t d = p->rank - 1; d >= 0; d--) {
    p->at += p->strides[d];
    if (++p->index[d] < p->dims[d]) return;
    p->at -= p->dims[d] * p->strides[d];
    p->index[d] = 0;
  }
}

typedef void (*norm_fn)(const fy_tensor *in, places p, void *sums, fy_tensor *out);
#define NORM(E, S, ACC, SQUARE, ROOT)                                                             \
  static void norm_##S(const fy_tensor *in, places p, void *memory, fy_tensor *out) {             \
    const fy_t_##S *x = in->data;                                                                 \
    fy_t_##S *o = out->data;                                                                      \
    ACC *sums = memory;                                                                           \
    memset(sums, 0, (size_t)out->count * sizeof *sums);                                           \
    for (const fy_t_##S *end = x + in->count; x < end; x += p.n, advance(&p)) {                   \
      ACC *to = sums + p.at;                                                                      \
      for (int64_t i = 0; i < p.n; i++, to += p.kept) *to = (ACC)SQUARE(S, *to, FY_LD_##S(x[i])); \
    }                                                                                             \
    for (int64_t i = 0; i < out->count; i++) o[i] = FY_ST_##S(ROOT(S, sums[i]));                  \
  }
#define SQUARE_REAL(S, s, v) ((s) + (double)FY_RD_##S((v) * (v)))
#define SQUARE_INT(S, s, v)  ((fy_u_##S)(s) + (fy_u_##S)(v) * (fy_u_##S)(v))
#define SQUARE_CPLX(S, s, v) \
  ((s) + (double)creal(v) * (double)creal(v) + (double)cimag(v) * (double)cimag(v))
#define ROOT_REAL(S, v)      ((fy_a_##S)sqrt(v))
#define ROOT_INT(S, v)       ((fy_a_##S)sqrt(fmax((double)(v), 0)))
#define NORM_INT(E, S, name) NORM(E, S, fy_a_##S, SQUARE_INT, ROOT_INT)
FY_REAL_TYPES(NORM, double, SQUARE_REAL, ROOT_REAL)
FY_COMPLEX_TYPES(NORM, double, SQUARE_CPLX, ROOT_REAL)
FY_INT_TYPES(NORM_INT, _)
static const norm_fn norms[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(FY_LOOP_ENTRY, norm)};

// ---------------------------------------------------------------- floats and 16-bit floats
// 16-bit floats a chunk at a time: |out| is their squares, rounded to the type and widened again.
FY_CLONES static void square_floats(const float *restrict in, float *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = in[i] * in[i];
}
FY_CLONES static void widen_brains(const uint16_t *restrict in, float *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = fy_bfloat16_to_float(in[i]);
}
static void square_some(fy_dtype t, const char *in, int64_t at, float *out, int64_t n) {
  const uint16_t *shorts = (const uint16_t *)(const void *)in + at;
  const int type = t == FY_HALF ? FY_LANES_HALF : FY_LANES_BFLOAT16;
  uint16_t squares[FY_CHUNK];
  if (t == FY_FLOAT) {
    square_floats((const float *)(const void *)in + at, out, n);
    return;
  }
  fy_lanes_best()->floats_16[type].unary[FY_16_SQUARE](shorts, squares, n, NULL);
  (t == FY_HALF ? fy_halves_to_floats : widen_brains)(squares, out, n);
}
// Roots of |n| sums, into |out| from element |at| on.
FY_CLONES static void root_floats(const double *restrict in, float *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = (float)sqrt(in[i]);
}
static void narrow_some(fy_dtype t, const float *in, char *out, int64_t at, int64_t n) {
  uint16_t *shorts = (uint16_t *)(void *)out + at;
  if (t == FY_FLOAT)
    memcpy((float *)(void *)out + at, in, (size_t)n * sizeof *in);
  else if (t == FY_HALF)
    fy_floats_to_halves(in, shorts, n);
  else
    for (int64_t i = 0; i < n; i++) shorts[i] = fy_float_to_bfloat16(in[i]);
}

// Over the last dims: rows that follow each other. A few squares are added as floats, these sums as doubles. Long rows
// are added in pieces, of the same size whatever the threads, and these in order.
#define STRANDS 4
#define PIECE   (16 * STRANDS)
enum { LONG_ROW = 1 << 17, ROW_PIECE = 1 << 16 };
typedef float lanes __attribute__((vector_size(16), aligned(4), may_alias));
typedef struct strands {
  double sums[STRANDS], rest;
} strands;
static void add_squares(strands *s, const float *x, int64_t n) {
  int64_t i = 0;
  for (; i + PIECE <= n; i += PIECE) {
    const lanes *v = (const lanes *)(x + i);
    lanes e = v[0] * v[0], f = v[1] * v[1], g = v[2] * v[2], h = v[3] * v[3];
    FY_UNROLL for (int m = 4; m < 16; m += 4) {
      e += v[m] * v[m], f += v[m + 1] * v[m + 1];
      g += v[m + 2] * v[m + 2], h += v[m + 3] * v[m + 3];
    }
    const lanes all = (e + f) + (g + h);
    for (int k = 0; k < STRANDS; k++) s->sums[k] += (double)all[k];
  }
  for (; i < n; i++) s->rest += (double)(x[i] * x[i]);
}
static void add_some(strands *s, const float *x, int64_t n) {
  int64_t i = 0;
  for (; i + PIECE <= n; i += PIECE) {
    const lanes *v = (const lanes *)(x + i);
    lanes e = v[0], f = v[1], g = v[2], h = v[3];
    FY_UNROLL for (int m = 4; m < 16; m += 4) {
      e += v[m], f += v[m + 1], g += v[m + 2], h += v[m + 3];
    }
    const lanes all = (e + f) + (g + h);
    for (int k = 0; k < STRANDS; k++) s->sums[k] += (double)all[k];
  }
  for (; i < n; i++) s->rest += (double)x[i];
}

typedef struct row_job {
  const fy_tensor *in;
  char *out;
  int64_t n, pieces;  // of a row
  double *sums;       // of the pieces, if there are several
} row_job;
static double row_sum(const row_job *j, int64_t begin, int64_t n) {
  const fy_dtype t = j->in->dtype;
  strands s = {{0}, 0};
  float x[FY_CHUNK];
  if (t == FY_FLOAT) add_squares(&s, (const float *)j->in->data + begin, n);
  for (int64_t at = 0; t != FY_FLOAT && at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    square_some(t, j->in->data, begin + at, x, m);
    add_some(&s, x, m);
  }
  for (int k = 0; k < STRANDS; k++) s.rest += s.sums[k];
  return s.rest;
}
static void norm_pieces(void *arg, int64_t begin, int64_t end) {
  const row_job *j = arg;
  for (int64_t p = begin; p < end; p++) {
    const int64_t at = p % j->pieces * ROW_PIECE, left = j->n - at;
    j->sums[p] = row_sum(j, p / j->pieces * j->n + at, left < ROW_PIECE ? left : ROW_PIECE);
  }
}
// Floats of short rows, eight at a time: what is added to one does not wait for the others.
static void norm_eight(const float *x, int64_t n, float *out) {
  double sums[8] = {0};
  for (int64_t i = 0; i < n; i++)
    FY_UNROLL for (int k = 0; k < 8; k++) sums[k] += (double)(x[k * n + i] * x[k * n + i]);
  root_floats(sums, out, 8);
}
static void norm_rows(void *arg, int64_t begin, int64_t end) {
  const row_job *j = arg;
  for (; j->in->dtype == FY_FLOAT && j->n < PIECE && begin + 8 <= end; begin += 8)
    norm_eight((const float *)j->in->data + begin * j->n, j->n, (float *)(void *)j->out + begin);
  for (int64_t r = begin; r < end; r++) {
    double sum = 0;
    for (int64_t p = 0; p < j->pieces && j->sums; p++) sum += j->sums[r * j->pieces + p];
    const float root = (float)sqrt(j->sums ? sum : row_sum(j, r * j->n, j->n));
    narrow_some(j->in->dtype, &root, j->out, r, 1);
  }
}

// Over the first dims: columns, some at a time, of rows in order.
enum { COLUMNS = FY_CHUNK };
typedef struct column_job {
  const fy_tensor *in;
  char *out;
  int64_t rows, n;
} column_job;
FY_CLONES static void add_columns(double *restrict sums, const float *restrict x, int64_t n) {
  for (int64_t i = 0; i < n; i++) sums[i] += (double)x[i];
}
// Of |rows| rows, |step| apart, each added after the one before.
FY_CLONES static void add_column_squares(double *restrict sums, const float *restrict x,
                                         int64_t step, int64_t rows, int64_t n) {
  for (; rows >= 4; rows -= 4, x += 4 * step) {
    const float *a = x, *b = a + step, *c = b + step, *d = c + step;
    for (int64_t i = 0; i < n; i++)
      sums[i] = sums[i] + (double)(a[i] * a[i]) + (double)(b[i] * b[i]) + (double)(c[i] * c[i]) +
                (double)(d[i] * d[i]);
  }
  for (; rows > 0; rows--, x += step)
    for (int64_t i = 0; i < n; i++) sums[i] += (double)(x[i] * x[i]);
}
static void norm_columns(void *arg, int64_t begin, int64_t end) {
  const column_job *j = arg;
  const fy_dtype t = j->in->dtype;
  double sums[COLUMNS];
  float x[COLUMNS];
  for (int64_t c = begin; c < end; c += COLUMNS) {
    const int64_t n = end - c < COLUMNS ? end - c : COLUMNS;
    memset(sums, 0, sizeof sums);
    if (t == FY_FLOAT) add_column_squares(sums, (const float *)j->in->data + c, j->n, j->rows, n);
    for (int64_t r = 0; t != FY_FLOAT && r < j->rows; r++) {
      square_some(t, j->in->data, r * j->n + c, x, n);
      add_columns(sums, x, n);
    }
    root_floats(sums, x, n);
    narrow_some(t, x, j->out, c, n);
  }
}

// Over no dims. The root of a float rounds the same by way of double.
FY_CLONES static void root_of_floats(float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = sqrtf(x[i]);
}
static void norm_each(void *arg, int64_t begin, int64_t end) {
  const column_job *j = arg;
  float x[FY_CHUNK];
  for (int64_t at = begin; at < end; at += FY_CHUNK) {
    const int64_t n = end - at < FY_CHUNK ? end - at : FY_CHUNK;
    square_some(j->in->dtype, j->in->data, at, x, n);
    root_of_floats(x, n);
    narrow_some(j->in->dtype, x, j->out, at, n);
  }
}

// False: there is no quick way.
static fy_code norm_quickly(fy_kernel_ctx *ctx, const bool *reduced, fy_tensor *out, bool *done,
                            fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const double ns = in->dtype == FY_FLOAT ? 0.15 : 0.4;
  bool last = true, first = true, none = true;  // what is reduced stands behind, before, nowhere
  *done = false;
  if (in->dtype != FY_FLOAT && in->dtype != FY_HALF && in->dtype != FY_BFLOAT16) return FY_OK;
  for (int32_t d = 0; d < in->rank; d++) {
    none = none && !reduced[d];
    if (d + 1 < in->rank) last = last && (!reduced[d] || reduced[d + 1]);
    if (d + 1 < in->rank) first = first && (reduced[d] || !reduced[d + 1]);
  }
  if (!in->count || !(none || last || first)) return FY_OK;
  *done = true;
  if (none || !last) {
    column_job j = {in, out->data, in->count / out->count, out->count};
    fy_parallel(ctx, out->count, ns * (double)j.rows, none ? norm_each : norm_columns, &j);
    return FY_OK;
  }
  row_job j = {in, out->data, in->count / out->count, 1, NULL};
  if (j.n >= LONG_ROW) {
    void *sums;
    j.pieces = (j.n + ROW_PIECE - 1) / ROW_PIECE;
    FY_TRY(fy_scratch(ctx, (size_t)(out->count * j.pieces) * sizeof *j.sums, &sums, err));
    j.sums = sums;
    fy_parallel(ctx, out->count * j.pieces, ns * ROW_PIECE, norm_pieces, &j);
  }
  fy_parallel(ctx, out->count, j.sums ? (double)j.pieces : 2 * ns * (double)j.n, norm_rows, &j);
  return FY_OK;
}

static fy_code norm(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool keep = fy_site_bool(ctx->site, "keep_dims");
  bool reduced[FY_MAX_RANK] = {false};
  int64_t dims[FY_MAX_RANK], step = 1;
  int32_t rank = 0;
  places p = {.n = 1, .kept = true};
  fy_tensor *out;
  void *sums;
  FY_TRY(fy_reduce_axes(in, ctx->in[1], reduced, err));
  for (int32_t d = 0; d < in->rank; d++) {
    if (!reduced[d]) {
      dims[rank++] = in->dims[d];
    } else if (keep) {
      dims[rank++] = 1;
    }
  }
  int32_t outer = in->rank;  // the last dims of one kind are a run
  if (outer) p.kept = !reduced[outer - 1];
  while (outer > 0 && p.kept == !reduced[outer - 1]) p.n *= in->dims[--outer];
  if (p.kept) step = p.n;
  p.rank = outer;
  for (int32_t d = outer - 1; d >= 0; d--) {
    p.dims[d] = in->dims[d];
    p.strides[d] = reduced[d] ? 0 : step;
    if (!reduced[d]) step *= in->dims[d];
  }
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  bool done;
  FY_TRY(norm_quickly(ctx, reduced, out, &done, err));
  if (done) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)out->count * sizeof(double), &sums, err));
  norms[in->dtype](in, p, sums, out);
  return FY_OK;
}

static const fy_sample samples[] = {
    {"f32[2,2]=3,4,0,5; i32[1]=1", NULL, FY_OK, "5,5"},
    {"i32[2]=3,4; i32[]=0", "keep_dims=true", FY_OK, "5"},
    {"f32[2]=3,4; i32[1]=3", NULL, FY_INVALID_ARGUMENT, "Invalid reduction dimension"},
};
FY_OP(EuclideanNorm, .shape = fy_shape_reduction, .compute = norm, .host_inputs = 1 << 1,
      FY_SAMPLES(samples));
