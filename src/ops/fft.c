// SPDX-License-Identifier: Apache-2.0
// fft.c: FFT, IFFT, RFFT, IRFFT of the last one, two or three dims. Lengths that fft_length asks for
// are cut from the input, which must have at least that many numbers.

#include <math.h>
#include <pthread.h>

#include "base/alloc.h"
#include "ops/fft_plan.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// What the calls of a kernel made for a length; read-only, kept until the kernel goes.
#define KEPT      8
#define KEPT_MOST ((int64_t)1 << 22)  // longer ones are made anew: they cost memory
typedef enum plan_kind { PLAN, MATRIX, ROOTS } plan_kind;
typedef struct kept_plans {
  pthread_mutex_t mu;
  int count;
  struct kept_plan {
    fy_fft_plan plan;
    fy_fft_matrix matrix;
    void *roots;  // of n, half of them
    int64_t n;
    bool twice;
    plan_kind kind;  // the one that is there
  } * plans[KEPT];
} kept_plans;
#define LONG 4096  // a group of such lines does not fit into near memory: each is a matrix

typedef struct fft_job {
  const fy_fft_plan *plan;
  const fy_fft_matrix *matrix;
  void *between;  // the matrix's work space
  const void *in;
  void *out;
  int64_t n, inner, in_line, lines;
  int64_t pitch;  // from a block of |inner| lines to the next
  bool inverse;
  const void *roots;
  size_t pair_bytes;  // of a complex number
  // Which line of the input is line i of the output: the dims between batch and line are cut.
  int32_t rank;
  int64_t from[3], to[3];
  bool short_of_memory;
} fft_job;

static int64_t source_line(const fft_job *j, int64_t i) {
  int64_t at = 0, step = 1;
  for (int32_t d = j->rank - 2; d >= 0; d--) {
    at += i % j->to[d] * step;
    i /= j->to[d];
    step *= j->from[d];
  }
  return at + i * step;
}

static inline double eight(const void *at) {  // bytes
  double d;
  memcpy(&d, at, sizeof d);
  return d;
}

#define FFT_PART "ops/fft.inc"
#include "ops/fft_types.inc"

typedef struct fft_kind {
  int32_t rank;
  bool real, inverse;
} fft_kind;

static void free_plan(struct kept_plan *p) {
  if (p) fy_fft_plan_free(&p->plan), fy_fft_matrix_free(&p->matrix), fy_aligned_free(p->roots);
  fy_free(p);
}

static fy_code make_plan(struct kept_plan *p, fy_error *err) {
  const int64_t n = p->n;
  if (p->kind == PLAN) return (p->twice ? fy_fft_plan_f64 : fy_fft_plan_f32)(&p->plan, n, err);
  if (p->kind == MATRIX) {
    return (p->twice ? fy_fft_matrix_f64 : fy_fft_matrix_f32)(&p->matrix, n, err);
  }
  p->roots = (p->twice ? fy_fft_roots_f64 : fy_fft_roots_f32)(n, n / 2 + 1);
  return p->roots ? FY_OK : fy_fail_oom(err, (size_t)n * 8);
}

// A plan of the site's or a new one, which is kept if there is room; else *own has to be freed.
static fy_code find_plan(kept_plans *kept, int64_t n, bool twice, plan_kind kind,
                         const struct kept_plan **out, struct kept_plan **own, fy_error *err) {
  *own = NULL;
  pthread_mutex_lock(&kept->mu);
  for (int i = 0; i < kept->count; i++) {
    const struct kept_plan *p = kept->plans[i];
    if (p->n != n || p->twice != twice || p->kind != kind) continue;
    pthread_mutex_unlock(&kept->mu);
    *out = p;
    return FY_OK;
  }
  pthread_mutex_unlock(&kept->mu);
  struct kept_plan *p = fy_calloc(1, sizeof *p);
  if (!p) return fy_fail_oom(err, sizeof *p);
  p->n = n, p->twice = twice, p->kind = kind;
  fy_code code = make_plan(p, err);
  if (code) {
    free_plan(p);
    return code;
  }
  *own = p;
  *out = p;
  pthread_mutex_lock(&kept->mu);
  if (kept->count < KEPT && n <= KEPT_MOST) {
    kept->plans[kept->count++] = p;
    *own = NULL;
  }
  pthread_mutex_unlock(&kept->mu);
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  kept_plans *kept = fy_calloc(1, sizeof *kept);
  if (!kept) return fy_fail_oom(err, sizeof *kept);
  pthread_mutex_init(&kept->mu, NULL);
  site->state = kept;
  return FY_OK;
}
static void release(void *state) {
  kept_plans *kept = state;
  if (!kept) return;
  for (int i = 0; i < kept->count; i++) free_plan(kept->plans[i]);
  pthread_mutex_destroy(&kept->mu);
  fy_free(kept);
}

static fy_code run_lines(fy_kernel_ctx *ctx, fft_job *j, bool twice, int64_t n, int64_t lines,
                         void (*fn)(void *, int64_t, int64_t), fy_error *err) {
  struct kept_plan *own;
  const struct kept_plan *kept;
  FY_TRY(find_plan(ctx->site->state, n, twice, PLAN, &kept, &own, err));
  j->plan = &kept->plan;
  const double steps = (double)(j->plan->length) * (log2((double)(n + 1)) + 1);
  const int64_t together = twice ? FY_FFT_LINES_f64 : FY_FFT_LINES_f32;
  j->lines = lines;
  fy_parallel(ctx, (lines + together - 1) / together, steps * (j->plan->chirp ? 8 : 2), fn, j);
  free_plan(own);
  return j->short_of_memory ? fy_fail_oom(err, (size_t)n * 16) : FY_OK;
}

// Whether |lines| of |n| numbers are better done as matrices, one by one: they would leave lanes
// empty, or are long.
static bool as_matrix(bool twice, int64_t n, int64_t lines) {
  const int64_t lanes = twice ? FY_FFT_LINES_f64 : FY_FFT_LINES_f32;
  int64_t rows, cols;
  return (lines < lanes || n >= LONG) && fy_fft_shape(n, lanes, &rows, &cols);
}

static fy_code run_matrices(fy_kernel_ctx *ctx, fft_job *j, bool twice, int64_t n, int64_t lines,
                            fy_error *err) {
  const int64_t lanes = twice ? FY_FFT_LINES_f64 : FY_FFT_LINES_f32;
  struct kept_plan *own;
  const struct kept_plan *kept;
  size_t bytes;
  if (!fy_mul_size((size_t)(lines * n), twice ? 16 : 8, &bytes)) return fy_fail_oom(err, SIZE_MAX);
  FY_TRY(fy_scratch(ctx, bytes, &j->between, err));
  FY_TRY(find_plan(ctx->site->state, n, twice, MATRIX, &kept, &own, err));
  const fy_fft_matrix *m = j->matrix = &kept->matrix;
  const int64_t across = (m->cols + lanes - 1) / lanes, down = (m->rows + lanes - 1) / lanes;
  const double step = log2((double)n) + 4;
  fy_parallel(ctx, lines * across, step * (double)m->columns.length,
              twice ? matrix_columns_f64 : matrix_columns_f32, j);
  if (!j->short_of_memory) {
    fy_parallel(ctx, lines * down, step * (double)m->lines.length,
                twice ? matrix_rows_f64 : matrix_rows_f32, j);
  }
  free_plan(own);
  return j->short_of_memory ? fy_fail_oom(err, (size_t)n * 16) : FY_OK;
}

// Lines of |n| numbers in place, j->inner of them side by side.
static fy_code one_axis(fy_kernel_ctx *ctx, fft_job *j, bool twice, int64_t n, int64_t lines,
                        fy_error *err) {
  if (as_matrix(twice, n, lines)) return run_matrices(ctx, j, twice, n, lines, err);
  return run_lines(ctx, j, twice, n, lines, twice ? complex_lines_f64 : complex_lines_f32, err);
}

// Axes [0, count) of the |kind->rank| dims |to|, in place.
static fy_code complex_axes(fy_kernel_ctx *ctx, fft_job *j, bool twice, int32_t rank,
                            const int64_t *dims, int32_t count, int64_t batch, fy_error *err) {
  for (int32_t axis = count - 1; axis >= 0; axis--) {
    const int64_t n = dims[axis];
    j->inner = fy_product(dims + axis + 1, rank - axis - 1);
    j->pitch = n * j->inner;
    FY_TRY(one_axis(ctx, j, twice, n, batch * fy_product(dims, axis) * j->inner, err));
  }
  return FY_OK;
}

// Lines of real numbers to where their transforms will be.
static void copy_lines(void *arg, int64_t begin, int64_t end) {
  const fft_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    memcpy((char *)j->out + (size_t)(i * j->pitch) * j->pair_bytes,
           (const char *)j->in + (size_t)(source_line(j, i) * j->in_line) * j->pair_bytes / 2,
           (size_t)(j->n / 2) * j->pair_bytes);
  }
}

// Even lines as half as many complex numbers, in place in the output.
static fy_code even_lines(fy_kernel_ctx *ctx, fft_job *j, bool twice, int64_t lines,
                          fy_error *err) {
  const int64_t half = j->n / 2;
  j->inner = 1;
  j->pitch = j->inverse ? half : half + 1;
  if (j->inverse) {
    fy_parallel(ctx, lines * half, 2, twice ? tangle_lines_f64 : tangle_lines_f32, j);
    return one_axis(ctx, j, twice, half, lines, err);
  }
  j->pair_bytes = twice ? 16 : 8;
  fy_parallel(ctx, lines, (double)half, copy_lines, j);
  FY_TRY(one_axis(ctx, j, twice, half, lines, err));
  fy_parallel(ctx, lines * (half / 2 + 1), 4, twice ? untangle_lines_f64 : untangle_lines_f32, j);
  return FY_OK;
}

static fy_code real_lines(fy_kernel_ctx *ctx, fft_job *j, bool twice, int64_t lines,
                          fy_error *err) {
  struct kept_plan *own;
  const struct kept_plan *roots;
  if (j->n % 2) {
    return run_lines(ctx, j, twice, j->n, lines,
                     j->inverse ? (twice ? inverse_odd_f64 : inverse_odd_f32)
                                : (twice ? forward_odd_f64 : forward_odd_f32),
                     err);
  }
  FY_TRY(find_plan(ctx->site->state, j->n, twice, ROOTS, &roots, &own, err));
  j->roots = roots->roots;
  fy_code code = even_lines(ctx, j, twice, lines, err);
  free_plan(own);
  return code;
}

// Copies what is kept of the complex input: [batch][from] to [batch][to].
static void cut(const fy_tensor *in, const fft_job *j, int64_t lines, int64_t line, void *out) {
  const size_t size = fy_dtype_storage(in->dtype);
  for (int64_t i = 0; i < lines; i++) {
    memcpy((char *)out + (size_t)(i * line) * size,
           (const char *)in->data + (size_t)(source_line(j, i) * j->in_line) * size,
           (size_t)line * size);
  }
}

static fy_code fft_lengths(const fy_kernel_ctx *ctx, const fft_kind *kind, fft_job *j,
                           int64_t *dims, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *length = ctx->in[1];
  if (length->rank != 1 || length->count != kind->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "fft_length must have shape [%d]", kind->rank);
  }
  for (int32_t i = 0; i < kind->rank; i++) {
    const int32_t at = in->rank - kind->rank + i;
    const int64_t n = ((const int32_t *)length->data)[i];
    const bool last = i + 1 == kind->rank;
    if (n < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "fft_length[%d] must >= 0, but got: %lld", i,
                     (long long)n);
    }
    const int64_t halved = n == 0 ? 0 : n / 2 + 1, least = kind->inverse && last ? halved : n;
    if (in->dims[at] != 0 && in->dims[at] < least) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input dimension %d must have length of at least %lld but got: %lld", at,
                     (long long)least, (long long)in->dims[at]);
    }
    j->to[i] = n;
    dims[at] = last && !kind->inverse ? halved : n;
  }
  return FY_OK;
}

static fy_code fft(fy_kernel_ctx *ctx, fy_error *err) {
  const fft_kind *kind = ctx->site->op->impl->aux;
  const fy_tensor *in = ctx->in[0];
  const int32_t rank = kind->rank;
  fy_tensor *out;
  char x[128];
  int64_t dims[FY_MAX_RANK];
  fft_job j = {.inverse = kind->inverse, .rank = rank};
  if (in->rank < rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must have rank of at least %d but got: %s",
                   rank, fy_tensor_shape_text(in, x));
  }
  for (int32_t d = 0; d < in->rank; d++) dims[d] = in->dims[d];
  for (int32_t d = 0; d < rank; d++) j.from[d] = j.to[d] = in->dims[in->rank - rank + d];
  if (kind->real) FY_TRY(fft_lengths(ctx, kind, &j, dims, err));
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &out, err));
  const bool twice = in->dtype == FY_COMPLEX128 || in->dtype == FY_DOUBLE;
  if (kind->real && twice != (out->dtype == FY_COMPLEX128 || out->dtype == FY_DOUBLE)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Wrong types for %s real FFT: in=%d out=%d",
                   kind->inverse ? "backward" : "forward", (int)in->dtype, (int)out->dtype);
  }
  if (out->count == 0) return FY_OK;
  if (in->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  const int64_t batch = fy_product(in->dims, in->rank - rank);
  j.in = in->data;
  j.out = out->data;
  if (!kind->real) {
    if (in->data != out->data) memcpy(out->data, in->data, fy_tensor_bytes(in));
    return complex_axes(ctx, &j, twice, rank, j.to, rank, batch, err);
  }
  j.n = j.to[rank - 1];
  j.in_line = j.from[rank - 1];
  const int64_t lines = batch * fy_product(j.to, rank - 1);
  int64_t halved[3];
  memcpy(halved, j.to, sizeof halved);
  halved[rank - 1] = j.n / 2 + 1;
  if (!kind->inverse) {
    FY_TRY(real_lines(ctx, &j, twice, lines, err));
    return complex_axes(ctx, &j, twice, rank, halved, rank - 1, batch, err);
  }
  if (rank > 1) {
    void *kept;
    size_t bytes;
    if (!fy_mul_size((size_t)(lines * halved[rank - 1]), fy_dtype_storage(in->dtype), &bytes)) {
      return fy_fail_oom(err, SIZE_MAX);
    }
    FY_TRY(fy_scratch(ctx, bytes, &kept, err));
    cut(in, &j, lines, halved[rank - 1], kept);
    j.out = kept;
    FY_TRY(complex_axes(ctx, &j, twice, rank, halved, rank - 1, batch, err));
    j.in = kept;
    j.in_line = halved[rank - 1];
    memcpy(j.from, j.to, sizeof j.from);
    j.out = out->data;
  }
  return real_lines(ctx, &j, twice, lines, err);
}

// ---------------------------------------------------------------- shapes
static fy_code plain_shape(fy_shape_ctx *ctx, int32_t rank, fy_error *err) {
  const fy_pshape s = ctx->in[0];
  FY_TRY(fy_shape_rank_at_least(s, rank, err));
  return s.rank < 0 ? FY_OK : fy_shape_set(ctx, 0, s.rank, s.dims, err);
}
static fy_code shape_1(fy_shape_ctx *ctx, fy_error *err) {
  return plain_shape(ctx, 1, err);
}
static fy_code shape_2(fy_shape_ctx *ctx, fy_error *err) {
  return plain_shape(ctx, 2, err);
}
static fy_code shape_3(fy_shape_ctx *ctx, fy_error *err) {
  return plain_shape(ctx, 3, err);
}

static fy_code real_shape(fy_shape_ctx *ctx, int32_t rank, bool forward, fy_error *err) {
  const fy_pshape s = ctx->in[0];
  FY_TRY(fy_shape_rank_at_least(s, rank, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (ctx->in[1].rank == 1) FY_TRY(fy_dim_is(ctx->in[1].dims[0], rank, err));
  if (s.rank < 0) return FY_OK;
  int64_t dims[FY_MAX_RANK];
  const fy_tensor *length = fy_shape_tensor(ctx, 1);
  for (int32_t d = 0; d < s.rank; d++) dims[d] = s.dims[d];
  for (int32_t i = 0; i < rank; i++) {
    int64_t *dim = &dims[s.rank - rank + i];
    *dim = length && length->count == rank ? ((const int32_t *)length->data)[i] : -1;
    if (i + 1 == rank && forward && *dim != 0 && length) *dim = *dim / 2 + 1;  // even of -1
    if (*dim < -1) *dim = -1;
  }
  return fy_shape_set(ctx, 0, s.rank, dims, err);
}
#define REAL_SHAPE(name, rank, forward)                   \
  static fy_code name(fy_shape_ctx *ctx, fy_error *err) { \
    return real_shape(ctx, rank, forward, err);           \
  }
REAL_SHAPE(forward_1, 1, true)
REAL_SHAPE(forward_2, 2, true)
REAL_SHAPE(forward_3, 3, true)
REAL_SHAPE(inverse_1, 1, false)
REAL_SHAPE(inverse_2, 2, false)
REAL_SHAPE(inverse_3, 3, false)

static const fy_sample samples_1[] = {
    {"c64[4]=1,1,1,1", NULL, FY_OK, NULL},
    {"c128[2,7]=normal", NULL, FY_OK, NULL},
    {"c64[]=1", NULL, FY_INVALID_ARGUMENT, "Input must have rank of at least 1 but got: []"},
};
static const fy_sample samples_2[] = {{"c64[3,4]=normal", NULL, FY_OK, NULL}};
static const fy_sample samples_3[] = {{"c64[2,3,4]=normal", NULL, FY_OK, NULL}};
static const fy_sample real_1[] = {{"f32[6]=normal; i32[1]=6", NULL, FY_OK, NULL}};
static const fy_sample real_2[] = {{"f32[3,6]=normal; i32[2]=3,5", NULL, FY_OK, NULL}};
static const fy_sample real_3[] = {{"f32[2,3,6]=normal; i32[3]=2,2,6", NULL, FY_OK, NULL}};
static const fy_sample back_1[] = {{"c64[4]=normal; i32[1]=6", NULL, FY_OK, NULL}};
static const fy_sample back_2[] = {{"c64[3,4]=normal; i32[2]=3,5", NULL, FY_OK, NULL}};
static const fy_sample back_3[] = {{"c64[2,3,4]=normal; i32[3]=2,2,6", NULL, FY_OK, NULL}};

#define FFT_OP(Name, rank_, real_, inverse_, shape_, array)                                \
  static const fft_kind kind_##Name = {.rank = rank_, .real = real_, .inverse = inverse_}; \
  FY_OP(Name, .shape = (shape_), .prepare = prepare, .compute = fft, .release = release,   \
        .aux = &kind_##Name, .flags = (real_) ? 0u : (uint32_t)FY_OP_INPLACE,              \
        .host_inputs = (real_) ? 2 : 0, FY_SAMPLES(array))
FFT_OP(FFT, 1, false, false, shape_1, samples_1);
FFT_OP(IFFT, 1, false, true, shape_1, samples_1);
FFT_OP(FFT2D, 2, false, false, shape_2, samples_2);
FFT_OP(IFFT2D, 2, false, true, shape_2, samples_2);
FFT_OP(FFT3D, 3, false, false, shape_3, samples_3);
FFT_OP(IFFT3D, 3, false, true, shape_3, samples_3);
FFT_OP(RFFT, 1, true, false, forward_1, real_1);
FFT_OP(IRFFT, 1, true, true, inverse_1, back_1);
FFT_OP(RFFT2D, 2, true, false, forward_2, real_2);
FFT_OP(IRFFT2D, 2, true, true, inverse_2, back_2);
FFT_OP(RFFT3D, 3, true, false, forward_3, real_3);
FFT_OP(IRFFT3D, 3, true, true, inverse_3, back_3);
