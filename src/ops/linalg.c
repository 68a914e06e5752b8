// SPDX-License-Identifier: Apache-2.0
// linalg.c: the batch walk and the checks that the linear algebra ops share (linalg.h).

#include "ops/linalg.h"

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

fy_code fy_la_inputs(fy_kernel_ctx *ctx, fy_la_job *job, int num_in, fy_error *err) {
  const fy_tensor *first = ctx->in[0];
  job->type = job->compute = first->dtype;
  if (job->compute == FY_HALF) job->compute = FY_FLOAT;
  job->num_in = num_in;
  for (int i = 0; i < num_in; i++) {
    const fy_tensor *t = ctx->in[i];
    if (i > 0 && t->rank != first->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "All input tensors must have the same rank.");
    }
    if (t->rank < 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor %d must have rank >= 2, got %d", i,
                     t->rank);
    }
    if (i > 0 && memcmp(t->dims, first->dims, (size_t)(t->rank - 2) * sizeof(int64_t))) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "All input tensors must have the same outer dimensions.");
    }
    job->in[i] = t;
    job->in_count[i] = t->dims[t->rank - 2] * t->dims[t->rank - 1];
  }
  job->batch = fy_product(first->dims, first->rank - 2);
  job->m = first->dims[first->rank - 2];
  job->n = first->dims[first->rank - 1];
  if (num_in > 1) job->k = ctx->in[1]->dims[ctx->in[1]->rank - 1];
  return FY_OK;
}

fy_code fy_la_square(const fy_la_job *job, fy_error *err) {
  if (job->m == job->n) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Input matrix must be square.");
}

fy_code fy_la_output(fy_kernel_ctx *ctx, fy_la_job *job, int i, int32_t rank, const int64_t *dims,
                     fy_error *err) {
  int64_t all[FY_MAX_RANK];
  const int32_t batch = ctx->in[0]->rank - 2;
  for (int32_t d = 0; d < batch; d++) all[d] = ctx->in[0]->dims[d];
  for (int32_t d = 0; d < rank; d++) all[batch + d] = dims[d];
  job->out_count[i] = fy_product(dims, rank);
  if (job->num_out <= i) job->num_out = i + 1;
  return fy_out(ctx, i, batch + rank, all, &job->out[i], err);
}

fy_code fy_la_no_vectors(fy_kernel_ctx *ctx, int i, fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_out(ctx, i, 0, NULL, &t, err));
  memset(t->data, 0, fy_tensor_bytes(t));
  return FY_OK;
}

// ---------------------------------------------------------------- the walk
typedef struct walk {
  const fy_la_job *job;
  size_t work_bytes, scratch_bytes;  // the latter for converted inputs and outputs
  const char *text;                  // of the failure with the lowest index
  int64_t failed;
  bool short_of_memory;
} walk;

// |n| elements into the computing type. Real to complex, half to float.
static void widen(fy_dtype from, fy_dtype to, const void *in, void *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (from == FY_HALF) ((float *)out)[i] = fy_ld_half(((const uint16_t *)in)[i]);
    if (from == FY_FLOAT) ((float _Complex *)out)[i] = ((const float *)in)[i];
    if (from == FY_DOUBLE && to == FY_COMPLEX128) {
      ((double _Complex *)out)[i] = ((const double *)in)[i];
    }
  }
}
static void narrow(fy_dtype to, const void *in, void *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (to == FY_HALF) ((uint16_t *)out)[i] = fy_st_half(((const float *)in)[i]);
    if (to == FY_FLOAT) ((float *)out)[i] = crealf(((const float _Complex *)in)[i]);
    if (to == FY_DOUBLE) ((double *)out)[i] = creal(((const double _Complex *)in)[i]);
  }
}

static void one_matrix(walk *w, int64_t b, char *work) {
  const fy_la_job *j = w->job;
  const size_t wide = fy_dtype_storage(j->compute);
  const void *in[FY_LA_ARGS] = {NULL};
  void *out[FY_LA_ARGS] = {NULL};
  char *scratch = work + w->work_bytes;
  for (int i = 0; i < j->num_in; i++) {
    const int64_t which = j->in_index[i] ? j->in_index[i][b] : b;
    const fy_dtype type = j->in[i]->dtype;
    in[i] =
        (const char *)j->in[i]->data + (size_t)(which * j->in_count[i]) * fy_dtype_storage(type);
    if (type == j->compute) continue;
    widen(type, j->compute, in[i], scratch, j->in_count[i]);
    in[i] = scratch;
    scratch += (size_t)j->in_count[i] * wide;
  }
  for (int i = 0; i < j->num_out; i++) {
    const fy_dtype type = j->out[i]->dtype;
    out[i] = (char *)j->out[i]->data + (size_t)(b * j->out_count[i]) * fy_dtype_storage(type);
    if (type == j->compute || j->plain_out[i]) continue;
    out[i] = scratch;
    scratch += (size_t)j->out_count[i] * wide;
  }
  const char *text = j->fn(j, in, out, work);
  for (int i = 0; !text && i < j->num_out; i++) {
    const fy_dtype type = j->out[i]->dtype;
    if (type == j->compute || j->plain_out[i]) continue;
    narrow(type, out[i],
           (char *)j->out[i]->data + (size_t)(b * j->out_count[i]) * fy_dtype_storage(type),
           j->out_count[i]);
  }
  if (text && (!w->text || b < w->failed)) {
    // Threads may race here; either text is a true one.
    w->failed = b;
    __atomic_store_n(&w->text, text, __ATOMIC_RELAXED);
  }
}

static void some_matrices(void *arg, int64_t begin, int64_t end) {
  walk *w = arg;
  char *work = fy_aligned_alloc(w->work_bytes + w->scratch_bytes);
  if (!work) {
    __atomic_store_n(&w->short_of_memory, true, __ATOMIC_RELAXED);
    return;
  }
  for (int64_t b = begin; b < end && !__atomic_load_n(&w->text, __ATOMIC_RELAXED); b++) {
    one_matrix(w, b, work);
  }
  fy_aligned_free(work);
}

fy_code fy_la_run(fy_kernel_ctx *ctx, fy_la_job *job, fy_error *err) {
  walk w = {.job = job};
  int64_t elements = 0;
  const size_t wide = fy_dtype_storage(job->compute);
  if (job->batch == 0) return FY_OK;
  for (int i = 0; i < job->num_in; i++) elements += job->in_count[i];
  for (int i = 0; i < job->num_out; i++) elements += job->out_count[i];
  if (!fy_mul_size((size_t)job->work, wide, &w.work_bytes) ||
      !fy_mul_size((size_t)elements, wide, &w.scratch_bytes)) {
    return fy_fail_oom(err, SIZE_MAX);
  }
  if (job->type == job->compute && job->in[0]->dtype == job->compute) w.scratch_bytes = 0;
  w.work_bytes = (w.work_bytes + 63) & ~(size_t)63;
  job->ctx = job->batch == 1 ? ctx : NULL;
  fy_parallel(ctx, job->batch, job->flops + 50, some_matrices, &w);
  if (w.short_of_memory) return fy_fail_oom(err, w.work_bytes);
  return w.text ? fy_fail(err, FY_INVALID_ARGUMENT, "%s", w.text) : FY_OK;
}

// ---------------------------------------------------------------- shapes
fy_code fy_la_shape_tail(fy_shape_ctx *ctx, int i, fy_pshape batch_of, int32_t rank,
                         const int64_t *dims, fy_error *err) {
  if (batch_of.rank < 0) return FY_OK;
  int64_t all[FY_MAX_RANK + 2];
  for (int32_t d = 0; d < batch_of.rank - 2; d++) all[d] = batch_of.dims[d];
  for (int32_t d = 0; d < rank; d++) all[batch_of.rank - 2 + d] = dims[d];
  return fy_shape_set(ctx, i, batch_of.rank - 2 + rank, all, err);
}

fy_code fy_la_shape_square(fy_shape_ctx *ctx, fy_pshape in, fy_pshape *out, fy_error *err) {
  *out = in;
  FY_TRY(fy_shape_rank_at_least(in, 2, err));
  if (in.rank < 0) return FY_OK;
  int64_t *dims = fy_shape_dims(ctx, in.rank), n;
  if (!dims) return fy_fail_oom(err, 0);
  FY_TRY(fy_dim_merge(in.dims[in.rank - 2], in.dims[in.rank - 1], &n, err));
  memcpy(dims, in.dims, (size_t)in.rank * sizeof *dims);
  dims[in.rank - 2] = dims[in.rank - 1] = n;
  *out = (fy_pshape){in.rank, dims};
  return FY_OK;
}

#define ROWS(E, S, CLONES)                                                                        \
  CLONES static void take_rows_##S(fy_a_##S *restrict c, const fy_a_##S *f, int64_t step,         \
                                   bool turn, const fy_a_##S *restrict b, int64_t ldb, int64_t k, \
                                   int64_t n) {                                                   \
    int64_t p = 0;                                                                                \
    for (; p + 4 <= k; p += 4) {                                                                  \
      const fy_a_##S *b0 = b + p * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;           \
      fy_a_##S v[4];                                                                              \
      for (int i = 0; i < 4; i++) v[i] = f[(p + i) * step];                                       \
      for (int i = 0; turn && i < 4; i++) v[i] = la_conj_##S(v[i]);                               \
      const fy_a_##S f0 = v[0], f1 = v[1], f2 = v[2], f3 = v[3];                                  \
      for (int64_t j = 0; j < n; j++) {                                                           \
        c[j] = c[j] - la_mul_##S(f0, b0[j]) - la_mul_##S(f1, b1[j]) - la_mul_##S(f2, b2[j]) -     \
               la_mul_##S(f3, b3[j]);                                                             \
      }                                                                                           \
    }                                                                                             \
    for (; p < k; p++) {                                                                          \
      const fy_a_##S *row = b + p * ldb, v = turn ? la_conj_##S(f[p * step]) : f[p * step];       \
      for (int64_t j = 0; j < n; j++) c[j] -= la_mul_##S(v, row[j]);                              \
    }                                                                                             \
  }
FY_FULL_REAL_TYPES(ROWS, FY_CLONES)

// The same of complex numbers, a vector of pairs at a time: f b = re(f) b + im(f) i b.
typedef float pairs_c64 __attribute__((vector_size(32), aligned(4)));
typedef double pairs_c128 __attribute__((vector_size(32), aligned(8)));
#define SWAP_c64  1, 0, 3, 2, 5, 4, 7, 6
#define SWAP_c128 1, 0, 3, 2
#define TAKE_PAIRS(S, sum, f, row)                               \
  {                                                              \
    const pairs_##S x = *(const pairs_##S *)(const void *)(row); \
    const pairs_##S y = __builtin_shufflevector(x, x, SWAP_##S); \
    sum -= x * la_real_##S(f) + y * (sign * la_imag_##S(f));     \
  }
#define COMPLEX_ROWS(E, S, _)                                                                \
  FY_CLONES static void take_rows_##S(fy_a_##S *restrict c, const fy_a_##S *f, int64_t step, \
                                      bool turn, const fy_a_##S *restrict b, int64_t ldb,    \
                                      int64_t k, int64_t n) {                                \
    const int64_t wide = (int64_t)(sizeof(pairs_##S) / sizeof *c);                           \
    pairs_##S sign;                                                                          \
    for (int i = 0; i < 2 * (int)wide; i++) sign[i] = i % 2 ? 1 : -1;                        \
    for (int64_t p = 0, m; p < k; p += m, b += m * ldb) {                                    \
      fy_a_##S v[4] = {0, 0, 0, 0};                                                          \
      m = k - p < 4 ? k - p : 4;                                                             \
      for (int i = 0; i < (int)m; i++) v[i] = f[(p + i) * step];                             \
      for (int i = 0; turn && i < 4; i++) v[i] = la_conj_##S(v[i]);                          \
      int64_t j = 0;                                                                         \
      for (; j + wide <= n; j += wide) {                                                     \
        pairs_##S sum = *(pairs_##S *)(void *)(c + j);                                       \
        if (m == 4) {                                                                        \
          for (int i = 0; i < 4; i++) TAKE_PAIRS(S, sum, v[i], b + i * ldb + j)              \
        } else {                                                                             \
          for (int i = 0; i < (int)m; i++) TAKE_PAIRS(S, sum, v[i], b + i * ldb + j)         \
        }                                                                                    \
        *(pairs_##S *)(void *)(c + j) = sum;                                                 \
      }                                                                                      \
      for (; j < n; j++)                                                                     \
        for (int i = 0; i < (int)m; i++) c[j] -= la_mul_##S(v[i], b[i * ldb + j]);           \
    }                                                                                        \
  }
FY_COMPLEX_TYPES(COMPLEX_ROWS, _)

#define EXPORT_ROWS(E, S, _)                                                        \
  void fy_la_take_rows_##S(fy_a_##S *c, const fy_a_##S *f, int64_t step, bool turn, \
                           const fy_a_##S *b, int64_t ldb, int64_t k, int64_t n) {  \
    take_rows_##S(c, f, step, turn, b, ldb, k, n);                                  \
  }
FY_FULL_REAL_TYPES(EXPORT_ROWS, _)
FY_COMPLEX_TYPES(EXPORT_ROWS, _)

// ---------------------------------------------------------------- rotations
#define STRIP_BYTES 512
#define TURN_STRIP(E, S, _)                                                             \
  FY_CLONES static void turn_strip_##S(const fy_la_turns *t, int64_t from, int64_t n) { \
    for (int64_t i = 0; i < t->count; i++) {                                            \
      const fy_la_turn r = t->list[i];                                                  \
      const fy_a_##S c = (fy_a_##S)r.c, s = (fy_a_##S)r.s;                              \
      fy_a_##S *restrict x = (fy_a_##S *)t->rows + r.x * t->width + from;               \
      fy_a_##S *restrict y = (fy_a_##S *)t->rows + r.y * t->width + from;               \
      FY_VECTOR for (int64_t j = 0; j < n; j++) {                                       \
        const fy_a_##S p = x[j], q = y[j];                                              \
        x[j] = c * p - s * q;                                                           \
        y[j] = s * p + c * q;                                                           \
      }                                                                                 \
    }                                                                                   \
  }
FY_FULL_REAL_TYPES(TURN_STRIP, _)

static void turn_strips(void *arg, int64_t begin, int64_t end) {
  const fy_la_turns *t = arg;
  const int64_t strip = STRIP_BYTES / (t->wide ? 8 : 4);
  for (int64_t i = begin; i < end; i++) {
    const int64_t from = i * strip, n = t->width - from < strip ? t->width - from : strip;
    (t->wide ? turn_strip_f64 : turn_strip_f32)(t, from, n);
  }
}

fy_la_turns fy_la_turns_of(void *rows, int64_t n, size_t element, bool wide, void *work,
                           fy_kernel_ctx *ctx) {
  const uintptr_t at = ((uintptr_t)work + 7) & ~(uintptr_t)7;
  return (fy_la_turns){.rows = rows,
                       .width = n * (int64_t)(element / (wide ? 8 : 4)),
                       .wide = wide,
                       .room = FY_LA_TURNS(n),
                       .list = (fy_la_turn *)at,
                       .ctx = ctx};
}

void fy_la_turn_all(fy_la_turns *t) {
  const int64_t strip = STRIP_BYTES / (t->wide ? 8 : 4), strips = (t->width + strip - 1) / strip;
  if (!t->count) return;
  if (t->ctx)
    fy_parallel(t->ctx, strips, (double)t->count * 15, turn_strips, t);
  else
    turn_strips(t, 0, strips);
  t->count = 0;
}

void fy_la_turn_add(fy_la_turns *t, int64_t x, int64_t y, double c, double s) {
  if (!t->rows) return;
  if (t->count == t->room) fy_la_turn_all(t);
  t->list[t->count++] = (fy_la_turn){c, s, (int32_t)x, (int32_t)y};
}
