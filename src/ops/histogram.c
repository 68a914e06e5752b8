// SPDX-License-Identifier: Apache-2.0
// histogram.c: counting and ranking values: Bincount, DenseBincount, HistogramFixedWidth,
// Bucketize, LowerBound, UpperBound.

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- Bincount
// bins[v] += weight |i| of |weights| (NULL: 1), or = 1, for the values of one row, none negative.
#define COUNT_FROM(T, S)                                          \
  for (int64_t i = 0; i < n; i++) {                               \
    const int64_t v = ((const T *)in)[i];                         \
    if (v < size) b[v] = once ? 1 : PLUS_##S(b[v], w ? w[i] : 1); \
  }
#define COUNT(E, S, _)                                                                  \
  static void count_##S(void *bins, int64_t size, const void *in, bool wide, int64_t n, \
                        const void *weights, bool once) {                               \
    fy_t_##S *b = bins;                                                                 \
    const fy_t_##S *w = weights;                                                        \
    if (wide) {                                                                         \
      COUNT_FROM(int64_t, S)                                                            \
    } else {                                                                            \
      COUNT_FROM(int32_t, S)                                                            \
    }                                                                                   \
  }
#define PLUS_i32(x, y) (int32_t)((uint32_t)(x) + (uint32_t)(y))
#define PLUS_i64(x, y) (int64_t)((uint64_t)(x) + (uint64_t)(y))
#define PLUS_f32(x, y) ((x) + (y))
#define PLUS_f64(x, y) ((x) + (y))
FY_INDEX_TYPES(COUNT, _)
FY_FULL_REAL_TYPES(COUNT, _)
typedef void (*count_fn)(void *bins, int64_t size, const void *in, bool wide, int64_t n,
                         const void *weights, bool once);
static const count_fn counts[FY_DTYPE_COUNT] = {FY_INDEX_TYPES(FY_LOOP_ENTRY, count)
                                                    FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, count)};

static int64_t lowest(const fy_tensor *in) {
  int64_t wide = 0;
  int32_t narrow = 0;
  if (in->dtype == FY_INT64) {
    for (int64_t i = 0; i < in->count; i++) wide |= ((const int64_t *)in->data)[i];
  } else {
    for (int64_t i = 0; i < in->count; i++) narrow |= ((const int32_t *)in->data)[i];
  }
  return wide < 0 || narrow < 0 ? -1 : 0;  // the sign of any shows in all of them together
}

static fy_code count_into(fy_kernel_ctx *ctx, int64_t batch, int64_t size, bool once,
                          const char *negative, fy_tensor *out, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *weights = ctx->in[2];
  const count_fn count = counts[out->dtype];
  if (!count || weights->dtype != out->dtype) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(out->dtype));
  }
  const int64_t least = lowest(in);  // before much memory is touched
  if (least < 0) {
    int64_t i = 0;
    while (fy_tensor_int(in, i) >= 0) i++;
    return fy_fail(err, FY_INVALID_ARGUMENT, negative, (long long)fy_tensor_int(in, i));
  }
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  const int64_t each = batch ? in->count / batch : 0;
  const bool wide = in->dtype == FY_INT64;
  const size_t in_size = fy_dtype_storage(in->dtype), size_out = fy_dtype_storage(out->dtype);
  for (int64_t r = 0; r < batch && in->count; r++) {
    const char *weight =
        weights->count ? (const char *)weights->data + (size_t)(r * each) * size_out : NULL;
    count((char *)out->data + (size_t)(r * size) * size_out, size,
          (const char *)in->data + (size_t)(r * each) * in_size, wide, each, weight, once);
  }
  return FY_OK;
}

static fy_code read_size(const fy_tensor *t, int64_t *size, fy_error *err) {
  if (t->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d", t->rank);
  }
  *size = fy_tensor_int(t, 0);
  if (*size >= 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)*size);
}

static fy_code bincount(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *weights = ctx->in[2];
  int64_t size;
  fy_tensor *out;
  FY_TRY(read_size(ctx->in[1], &size, err));
  if (weights->count && weights->count != in->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input indices and weights must have the same size.");
  }
  FY_TRY(fy_out(ctx, 0, 1, &size, &out, err));
  return count_into(ctx, 1, size, false, "Input arr must be non-negative!", out, err);
}

static fy_code dense_bincount(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *weights = ctx->in[2];
  const bool once = fy_site_bool(ctx->site, "binary_output");
  int64_t size;
  fy_tensor *out;
  char x[128];
  if (in->rank > 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at most rank 2 but is rank %d",
                   in->rank);
  }
  FY_TRY(read_size(ctx->in[1], &size, err));
  if (weights->count && !fy_shape_equal(in->rank, in->dims, weights->rank, weights->dims)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case "
        "it acts as all weights equal to 1. Received %s",
        fy_tensor_shape_text(weights, x));
  }
  if (in->rank < 2) {
    FY_TRY(fy_out(ctx, 0, 1, &size, &out, err));
    return count_into(ctx, 1, size, once, "Input arr must be non-negative!", out, err);
  }
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){in->dims[0], size}, &out, err));
  return count_into(ctx, in->dims[0], size, once,
                    "Input 'in' must be non-negative! Negative input value found: %lld", out, err);
}

static fy_code bincount_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool dense = ctx->spec->name[0] == 'D';
  const fy_pshape in = ctx->in[0];
  int64_t size = -1;
  if (dense) FY_TRY(fy_shape_rank_at_most(in, 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  if (fy_shape_int_value(ctx, 1, &size) && size < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "size (%lld) must be non-negative", (long long)size);
  }
  if (!dense || (in.rank >= 0 && in.rank < 2)) return fy_shape_set(ctx, 0, 1, &size, err);
  if (in.rank < 0) return FY_OK;
  return fy_shape_set(ctx, 0, 2, (const int64_t[]){in.dims[0], size}, err);
}

// ---------------------------------------------------------------- HistogramFixedWidth
// The bin of each of |m| values; differences are taken in the value's own type. Is a NaN among them?
#define BIN(E, S, DIFF)                                                                      \
  FY_CLONES static bool bin_##S(const void *values, int64_t m, const void *range, int64_t n, \
                                int32_t *out) {                                              \
    const fy_t_##S *r = range, low = r[0], *in = values;                                     \
    const double step = (double)DIFF(S, r[1], low) / (double)n, most = (double)(n - 1);      \
    int32_t none = 0;                                                                        \
    for (int64_t i = 0; i < m; i++) {                                                        \
      const double at = (double)DIFF(S, in[i] > low ? in[i] : low, low) / step;              \
      const double in_range = at < most ? at : most;                                         \
      out[i] = (int32_t)(in_range > 0 ? in_range : 0);                                       \
      none |= in[i] != in[i];                                                                \
    }                                                                                        \
    return none;                                                                             \
  }
#define DIFF_REAL(S, x, y) ((x) - (y))
#define DIFF_INT(S, x, y)  ((fy_t_##S)((fy_u_##S)(x) - (fy_u_##S)(y)))
FY_FULL_REAL_TYPES(BIN, DIFF_REAL)
FY_INDEX_TYPES(BIN, DIFF_INT)
typedef bool (*bin_fn)(const void *values, int64_t m, const void *range, int64_t n, int32_t *out);
static const bin_fn bins[FY_DTYPE_COUNT] = {FY_INDEX_TYPES(FY_LOOP_ENTRY, bin)
                                                FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, bin)};

// Parts are counted by themselves where there are not too many bins.
#define BIN_CHUNK 256
#define OWN_BINS  2048
typedef struct histogram_job {
  const fy_tensor *values, *range, *out;
  bin_fn bin;
  bool own;
  bool *none;  // set where a value is NaN
} histogram_job;

static void count_bin(const fy_tensor *out, int64_t at, int64_t more) {
  if (out->dtype == FY_INT32)
    __atomic_fetch_add(&((int32_t *)out->data)[at], (int32_t)more, __ATOMIC_RELAXED);
  else
    __atomic_fetch_add(&((int64_t *)out->data)[at], more, __ATOMIC_RELAXED);
}

static void histogram_part(void *arg, int64_t begin, int64_t end) {
  const histogram_job *j = arg;
  const size_t size = fy_dtype_storage(j->values->dtype);
  const int64_t n = j->out->count;
  int32_t at[BIN_CHUNK], own_counts[OWN_BINS];
  if (j->own) memset(own_counts, 0, (size_t)n * sizeof *own_counts);
  for (int64_t i = begin; i < end; i += BIN_CHUNK) {
    const int64_t m = end - i < BIN_CHUNK ? end - i : BIN_CHUNK;
    if (j->bin((const char *)j->values->data + (size_t)i * size, m, j->range->data, n, at))
      __atomic_store_n(j->none, true, __ATOMIC_RELAXED);
    for (int64_t k = 0; k < m; k++) {
      if (j->own)
        own_counts[at[k]]++;
      else
        count_bin(j->out, at[k], 1);
    }
  }
  for (int64_t k = 0; j->own && k < n; k++)
    if (own_counts[k]) count_bin(j->out, k, own_counts[k]);
}

static fy_code histogram(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *values = ctx->in[0], *range = ctx->in[1], *number = ctx->in[2];
  const bin_fn bin = bins[values->dtype];
  fy_tensor *out;
  if (!bin) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(values->dtype));
  }
  if (range->rank != 1 || range->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "value_range should be a vector of 2 elements.");
  }
  if (number->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "nbins should be a scalar.");
  const bool real = fy_dtype_is_floating(range->dtype);
  const double low = fy_tensor_double(range, 0), high = fy_tensor_double(range, 1);
  const bool below = real ? low < high : fy_tensor_int(range, 0) < fy_tensor_int(range, 1);
  const int64_t n = fy_tensor_int(number, 0);
  if (!below) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "value_range should satisfy value_range[0] < value_range[1], but got '[%g, %g]'",
                   low, high);
  }
  if (n <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "nbins should be a positive number, but got '%lld'",
                   (long long)n);
  }
  FY_TRY(fy_out(ctx, 0, 1, &n, &out, err));
  memset(out->data, 0, fy_tensor_bytes(out));
  // An item is not more than a count of 32 bits holds.
  bool none = false;
  histogram_job j = {values, range, out, bin, n <= OWN_BINS && values->count < INT32_MAX, &none};
  if (values->count) fy_parallel(ctx, values->count, 2, histogram_part, &j);
  if (none) return fy_fail(err, FY_INVALID_ARGUMENT, "Histogram values must not contain NaN");
  return FY_OK;
}

static fy_code histogram_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (ctx->in[1].rank == 1 && ctx->in[1].dims[0] >= 0 && ctx->in[1].dims[0] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be 2 but is %lld",
                   (long long)ctx->in[1].dims[0]);
  }
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  if (fy_shape_int_value(ctx, 2, &n) && n <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Requires nbins > 0: %lld", (long long)n);
  }
  return fy_shape_set(ctx, 0, 1, &n, err);
}

// ---------------------------------------------------------------- Bucketize
typedef struct bucket_job {
  const fy_tensor *in;
  const float *edges;
  uint32_t n;
  int32_t *out;
} bucket_job;

// How many edges are not above each of |m| values; of NaN all. Few edges are counted, which is done
// in vectors, of many the half is left out at a time.
#define BUCKETS(T)                                                                         \
  FY_CLONES static void buckets_##T(const T *v, int64_t m, const float *edges, uint32_t n, \
                                    int32_t *out) {                                        \
    if (n <= 16) {                                                                         \
      for (int64_t i = 0; i < m; i++) out[i] = 0;                                          \
      for (uint32_t k = 0; k < n; k++) {                                                   \
        const T edge = (T)edges[k];                                                        \
        for (int64_t i = 0; i < m; i++) out[i] += !(v[i] < edge);                          \
      }                                                                                    \
      return;                                                                              \
    }                                                                                      \
    for (int64_t i = 0; i < m; i++) {                                                      \
      uint32_t low = 0, left = n;                                                          \
      for (uint32_t half; left > 1; left -= half) {                                        \
        half = left / 2;                                                                   \
        low += half & (0 - (uint32_t) !(v[i] < (T)edges[low + half - 1]));                 \
      }                                                                                    \
      out[i] = (int32_t)low + !(v[i] < (T)edges[low]);                                     \
    }                                                                                      \
  }
BUCKETS(float)
BUCKETS(double)

#define BUCKET_CHUNK 256
static void bucket_range(void *arg, int64_t begin, int64_t end) {
  const bucket_job *j = arg;
  const void *data = j->in->data;
  for (int64_t at = begin; at < end; at += BUCKET_CHUNK) {
    const int64_t m = end - at < BUCKET_CHUNK ? end - at : BUCKET_CHUNK;
    float v[BUCKET_CHUNK];
    switch (j->in->dtype) {
      case FY_DOUBLE:
        buckets_double((const double *)data + at, m, j->edges, j->n, j->out + at);
        continue;
      case FY_INT32:
        for (int64_t i = 0; i < m; i++) v[i] = (float)((const int32_t *)data)[at + i];
        break;
      case FY_INT64:
        for (int64_t i = 0; i < m; i++) v[i] = (float)((const int64_t *)data)[at + i];
        break;
      default: memcpy(v, (const float *)data + at, (size_t)m * sizeof *v); break;
    }
    buckets_float(v, m, j->edges, j->n, j->out + at);
  }
}

static fy_code bucketize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_attr *edges = fy_site_attr(ctx->site, "boundaries");
  const uint32_t n = edges ? edges->n : 0;
  fy_tensor *out;
  for (uint32_t i = 1; i < n; i++) {
    if (edges->v.floats[i] < edges->v.floats[i - 1]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expected sorted boundaries");
    }
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  bucket_job job = {in, n ? edges->v.floats : NULL, n, out->data};
  fy_parallel(ctx, in->count, 0.3 + 0.1 * n, bucket_range, &job);
  return FY_OK;
}

// ---------------------------------------------------------------- LowerBound, UpperBound
typedef struct bound_job {
  const void *sorted, *values;
  fy_tensor *out;
  int64_t n, each;  // of a row: sorted numbers, and values
  bool upper;
} bound_job;

// The steps of std::lower_bound and std::upper_bound, so that numbers that are not sorted give what
// TensorFlow gives. Several values at once: each waits for memory at every step, and no branch can be
// guessed wrong.
#define AT_ONCE 8
#define BOUND(E, S, _)                                                                   \
  static void bound_##S(void *arg, int64_t begin, int64_t end) {                         \
    const bound_job *j = arg;                                                            \
    const bool upper = j->upper;                                                         \
    for (int64_t i = begin, m; i < end; i += m) {                                        \
      const int64_t row = i / j->each, stop = (row + 1) * j->each;                       \
      const fy_t_##S *sorted = (const fy_t_##S *)j->sorted + row * j->n;                 \
      fy_a_##S value[AT_ONCE];                                                           \
      int64_t low[AT_ONCE] = {0}, left[AT_ONCE];                                         \
      m = (end < stop ? end : stop) - i;                                                 \
      m = m < AT_ONCE ? m : AT_ONCE;                                                     \
      for (int64_t k = 0; k < AT_ONCE; k++) {                                            \
        value[k] = FY_LD_##S(((const fy_t_##S *)j->values)[i + (k < m ? k : 0)]);        \
        left[k] = j->n;                                                                  \
      }                                                                                  \
      for (int64_t most = j->n; most > 0; most /= 2) {                                   \
        for (int k = 0; k < AT_ONCE; k++) {                                              \
          const int64_t half = left[k] / 2, at = low[k] + half;                          \
          const fy_a_##S x = FY_LD_##S(sorted[at < j->n ? at : j->n - 1]), v = value[k]; \
          const bool below = (left[k] > 0) & (upper ? !(v < x) : x < v);                 \
          low[k] += (half + 1) & (0 - (int64_t)below);                                   \
          left[k] = below ? left[k] - half - 1 : half;                                   \
        }                                                                                \
      }                                                                                  \
      for (int64_t k = 0; k < m; k++) fy_index_put(j->out, i + k, low[k]);               \
    }                                                                                    \
  }
FY_ORDERED_TYPES(BOUND, _)
typedef void (*bound_fn)(void *arg, int64_t begin, int64_t end);
static const bound_fn bounds[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, bound)};

static fy_code bound(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *sorted = ctx->in[0], *values = ctx->in[1];
  const bool upper = ctx->site->op->impl->aux != NULL;
  const bound_fn find = bounds[sorted->dtype];
  fy_tensor *out;
  for (int i = 0; i < 2; i++) {
    if (ctx->in[i]->rank == 2) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Shape must be rank 2 but is rank %d for `%s` argument", ctx->in[i]->rank,
                   i ? "values" : "sorted_inputs");
  }
  if (sorted->dims[0] != values->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Leading dim_size of both tensors must match.");
  }
  if (!find) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(sorted->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, values, &out, err));
  if (out->count == 0) return FY_OK;
  bound_job job = {sorted->data, values->data, out, sorted->dims[1], values->dims[1], upper};
  double steps = 1;
  for (int64_t n = job.n; n > 1; n /= 2) steps++;
  fy_parallel(ctx, out->count, 1.5 * steps, find, &job);
  return FY_OK;
}

static fy_code bound_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  return fy_shape_set(ctx, 0, ctx->in[1].rank, ctx->in[1].dims, err);
}

static const fy_sample bincount_samples[] = {
    {"i32[4]=1,3,1,9; i32[]=4; f32[0]=", NULL, FY_OK, "0,2,0,1"},
    {"i32[2]=1,1; i32[]=2; i64[2]=5,6", NULL, FY_OK, "0,11"},
    {"i32[1]=-1; i32[]=2; f32[0]=", NULL, FY_INVALID_ARGUMENT, "Input arr must be non-negative!"},
};
static const fy_sample dense_samples[] = {
    {"i64[2,2]=1,1,0,9; i64[]=2; f32[0]=", NULL, FY_OK, "0,2,1,0"},
    {"i32[2]=1,1; i32[]=2; i32[0]=", "binary_output=true", FY_OK, "0,1"},
    {"i32[1]=1; i32[]=-2; f32[0]=", NULL, FY_INVALID_ARGUMENT, "size (-2) must be non-negative"},
};
static const fy_sample histogram_samples[] = {
    {"f32[6]=-1,0,1.5,2,5,15; f32[2]=0,5; i32[]=5", NULL, FY_OK, "2,1,1,0,2"},
    {"f32[1]=0; f32[2]=5,5; i32[]=5", NULL, FY_INVALID_ARGUMENT, "value_range should satisfy"},
};
static const fy_sample bucketize_samples[] = {
    {"f32[3]=-5,10,1000", "boundaries=[0,10,100]", FY_OK, "0,2,3"},
    {"f32[1]=1", "boundaries=[3,1]", FY_INVALID_ARGUMENT, "Expected sorted boundaries"},
};
static const fy_sample bound_samples[] = {
    {"i32[1,5]=0,3,9,9,10; i32[1,3]=2,4,11", NULL, FY_OK, "1,2,5"},
    {"f32[2,1]=1,2; f32[1,1]=1", NULL, FY_INVALID_ARGUMENT,
     "Leading dim_size of both tensors must match."},
};

FY_OP(Bincount, .shape = bincount_shape, .compute = bincount, .host_inputs = 1 << 1,
      FY_SAMPLES(bincount_samples));
FY_OP(DenseBincount, .shape = bincount_shape, .compute = dense_bincount, .host_inputs = 1 << 1,
      FY_SAMPLES(dense_samples));
FY_OP(HistogramFixedWidth, .shape = histogram_shape, .compute = histogram,
      .host_inputs = 1 << 1 | 1 << 2, FY_SAMPLES(histogram_samples));
FY_OP(Bucketize, .shape = fy_shape_unchanged, .compute = bucketize, FY_SAMPLES(bucketize_samples));
FY_OP(LowerBound, .shape = bound_shape, .compute = bound, FY_SAMPLES(bound_samples));
FY_OP(UpperBound, .shape = bound_shape, .compute = bound, .aux = "upper",
      FY_SAMPLES(bound_samples));
