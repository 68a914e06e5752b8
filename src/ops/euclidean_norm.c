// SPDX-License-Identifier: Apache-2.0
// euclidean_norm.c: EuclideanNorm: the root of the sum of squares over some axes. Squares and, for
// integers, sums are of the input's own type and may wrap, as TensorFlow's.

#include "base/alloc.h"
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

// Floats over the last dims: rows that follow each other. A few squares are added as floats, these
// sums as doubles.
#define STRANDS 4
#define PIECE   (16 * STRANDS)
typedef float lanes __attribute__((vector_size(16), aligned(4), may_alias));
typedef struct row_job {
  const float *in;
  float *out;
  int64_t n;
} row_job;
static void norm_rows(void *arg, int64_t begin, int64_t end) {
  const row_job *j = arg;
  for (int64_t r = begin; r < end; r++) {
    const float *x = j->in + r * j->n;
    double sums[STRANDS] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + PIECE <= j->n; i += PIECE) {
      const lanes *v = (const lanes *)(x + i);
      lanes e = v[0] * v[0], f = v[1] * v[1], g = v[2] * v[2], h = v[3] * v[3];
      FY_UNROLL for (int m = 4; m < 16; m += 4) {
        e += v[m] * v[m], f += v[m + 1] * v[m + 1];
        g += v[m + 2] * v[m + 2], h += v[m + 3] * v[m + 3];
      }
      const lanes all = (e + f) + (g + h);
      for (int k = 0; k < STRANDS; k++) sums[k] += (double)all[k];
    }
    for (; i < j->n; i++) sum += (double)(x[i] * x[i]);
    for (int k = 0; k < STRANDS; k++) sum += sums[k];
    j->out[r] = (float)sqrt(sum);
  }
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
  bool last = true;  // no kept dim behind a reduced one
  for (int32_t d = 0; d + 1 < in->rank; d++) last = last && (!reduced[d] || reduced[d + 1]);
  if (in->dtype == FY_FLOAT && last && !p.kept && in->count) {
    row_job j = {in->data, out->data, in->count / out->count};
    fy_parallel(ctx, out->count, 0.3 * (double)j.n, norm_rows, &j);
    return FY_OK;
  }
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
