// SPDX-License-Identifier: Apache-2.0
// index_ops.c: UnravelIndex, NthElement, DataFormatDimMap, DataFormatVecPermute.

#include <stdlib.h>

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

static void put_int(fy_tensor *t, int64_t i, int64_t v) {
  if (t->dtype == FY_INT32) {
    ((int32_t *)t->data)[i] = (int32_t)v;
  } else {
    ((int64_t *)t->data)[i] = v;
  }
}

// ---------------------------------------------------------------- UnravelIndex
static fy_code unravel(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *indices = ctx->in[0], *dims = ctx->in[1];
  fy_tensor *out;
  char x[128];
  if (indices->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The indices can only be scalar or vector, got \"%s\"",
                   fy_tensor_shape_text(indices, x));
  }
  if (dims->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The indices can only be 1-D, got \"%s\"",
                   fy_tensor_shape_text(dims, x));
  }
  if (indices->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "received empty tensor indices: Tensor<type: %s shape: %s values: >",
                   fy_dtype_name(indices->dtype), fy_tensor_shape_text(indices, x));
  }
  int64_t total = 1;
  for (int64_t d = 0; d < dims->count; d++) {
    const int64_t n = fy_tensor_int(dims, d);
    if (n == 0) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Input dims cannot contain a dim of zero, but dims contains zero at index %lld",
          (long long)d);
    }
    if (n < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input dims cannot be negative. Got dim = %lld at index %lld", (long long)n,
                     (long long)d);
    }
    if (__builtin_mul_overflow(total, n, &total)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Input dims product is causing integer overflow");
    }
  }
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at = fy_tensor_int(indices, i);
    if (at >= total || (dims->count == 0 && at >= 1)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "index is out of bound as with dims");
    }
  }
  const int64_t out_dims[2] = {dims->count, indices->count};
  FY_TRY(fy_out(ctx, 0, indices->rank ? 2 : 1, out_dims, &out, err));
  for (int64_t i = 0; i < indices->count; i++) {
    int64_t left = fy_tensor_int(indices, i);
    for (int64_t d = dims->count - 1; d >= 0; d--) {
      const int64_t n = fy_tensor_int(dims, d);
      put_int(out, d * indices->count + i, left % n);
      left /= n;
    }
  }
  return FY_OK;
}

static fy_code unravel_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape indices = ctx->in[0], dims = ctx->in[1];
  FY_TRY(fy_shape_rank_is(dims, 1, err));
  const int64_t count = fy_dim_of(dims, 0);
  if (indices.rank < 0) return FY_OK;
  if (indices.rank == 0) return fy_shape_set(ctx, 0, 1, &count, err);
  int64_t n = 1;
  for (int32_t d = 0; d < indices.rank; d++)
    n = n < 0 || indices.dims[d] < 0 ? -1 : n * indices.dims[d];
  return fy_shape_set(ctx, 0, 2, (const int64_t[]){count, n}, err);
}

// ---------------------------------------------------------------- NthElement
typedef struct nth_job {
  const void *in;
  void *out;
  int64_t n, k;
  fy_slices slices;
} nth_job;
typedef void (*nth_fn)(void *arg, int64_t begin, int64_t end);
// Selection: what is less than a pivot goes to one end of a buffer, what is more to the other, and so on with the end
// that holds place k, from one buffer to the other. No step depends on a comparison, which nobody could foresee. NaN is
// in no order: it goes to neither end, and as a pivot it is the answer.
#define NTH_OF(S, T)                                                        \
  static T nth_of_##S(const T *in, T *to, T *other, int64_t n, int64_t k) { \
    for (;;) {                                                              \
      const T a = in[0], b = in[n / 2], c = in[n - 1];                      \
      const T least = b < a ? b : a, most = b < a ? a : b;                  \
      const T pivot = c < least ? least : most < c ? most : c;              \
      int64_t low = 0, high = 0;                                            \
      for (int64_t i = 0; i < n; i++) {                                     \
        const T x = in[i];                                                  \
        to[low] = x;                                                        \
        low += x < pivot;                                                   \
        to[n - 1 - high] = x;                                               \
        high += pivot < x;                                                  \
      }                                                                     \
      if (k >= low && k < n - high) return pivot;                           \
      const bool down = k < low;                                            \
      in = down ? to : to + (n - high);                                     \
      k -= down ? 0 : n - high;                                             \
      n = down ? low : high;                                                \
      T *const next = other;                                                \
      other = to;                                                           \
      to = next;                                                            \
    }                                                                       \
  }
#define NTH(E, S, _)                                                                         \
  NTH_OF(S, fy_t_##S)                                                                        \
  static void nth_##S(void *arg, int64_t begin, int64_t end) {                               \
    nth_job *job = arg;                                                                      \
    fy_t_##S *v = fy_slice_take(&job->slices);                                               \
    for (int64_t r = begin; r < end; r++)                                                    \
      ((fy_t_##S *)job->out)[r] =                                                            \
          nth_of_##S((const fy_t_##S *)job->in + r * job->n, v, v + job->n, job->n, job->k); \
    fy_slice_give(&job->slices, v);                                                          \
  }
FY_FULL_REAL_TYPES(NTH, _)
FY_INT_TYPES(NTH, _)
// As floats, which are no others afterwards.
#define NTH_16(S, WIDEN, NARROW)                                  \
  static void nth_##S(void *arg, int64_t begin, int64_t end) {    \
    nth_job *job = arg;                                           \
    const int64_t n = job->n;                                     \
    float *v = fy_slice_take(&job->slices);                       \
    for (int64_t r = begin; r < end; r++) {                       \
      WIDEN((const uint16_t *)job->in + r * n, v + 2 * n, n);     \
      const float x = nth_of_f32(v + 2 * n, v, v + n, n, job->k); \
      ((uint16_t *)job->out)[r] = NARROW(x);                      \
    }                                                             \
    fy_slice_give(&job->slices, v);                               \
  }
static void widen_brains(const uint16_t *in, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = fy_bfloat16_to_float(in[i]);
}
NTH_16(f16, fy_halves_to_floats, fy_st_half)
NTH_16(bf16, widen_brains, fy_float_to_bfloat16)
static const nth_fn nths[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, nth)};

static fy_code nth_element(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *which = ctx->in[1];
  fy_tensor *out;
  if (which->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "N must be scalar but has rank %d", which->rank);
  }
  int64_t k = fy_tensor_int(which, 0);
  if (k < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "n must be non-negative but is %lld", (long long)k);
  }
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be at least rank 1 but is rank %d",
                   in->rank);
  }
  const int64_t n = in->dims[in->rank - 1];
  if (n <= k) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must have last dimension > n = %lld",
                   (long long)k);
  }
  if (fy_site_bool(ctx->site, "reverse")) k = n - 1 - k;
  FY_TRY(fy_out(ctx, 0, in->rank - 1, in->dims, &out, err));
  if (out->count == 0) return FY_OK;
  nth_job j = {in->data, out->data, n, k, {0}};
  const size_t size = fy_dtype_storage(in->dtype);
  const size_t bytes =
      (size_t)n * (fy_dtype_is_floating(in->dtype) && size == 2 ? 3 * sizeof(float) : 2 * size);
  FY_TRY(fy_slices_make(ctx, out->count, bytes, &j.slices, err));
  fy_parallel(ctx, out->count, 6 * (double)n, nths[in->dtype], &j);
  return FY_OK;
}

static fy_code nth_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t k;
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  const fy_tensor *known = fy_shape_tensor(ctx, 1);
  if (known && known->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be scalar but has rank %d", known->rank);
  }
  if (fy_shape_int_value(ctx, 1, &k)) {
    if (k < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Dimension size, given by scalar input 1, must be non-negative but is %lld",
                     (long long)k);
    }
    if (in.rank > 0 && in.dims[in.rank - 1] >= 0 && in.dims[in.rank - 1] <= k) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input must have last dimension > n = %lld but is %lld", (long long)k,
                     (long long)in.dims[in.rank - 1]);
    }
  }
  return in.rank < 0 ? FY_OK : fy_shape_set(ctx, 0, in.rank - 1, in.dims, err);
}

// ---------------------------------------------------------------- names of dims
static fy_code check_formats(fy_view from, fy_view to, fy_error *err) {
  if (from.n != 4 && from.n != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Source format must be of length 4 or 5, received src_format = %.*s",
                   (int)from.n, from.p);
  }
  if (to.n != 4 && to.n != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Destination format must be of length 4 or 5, received dst_format = %.*s",
                   (int)to.n, to.p);
  }
  bool permutes = from.n == to.n;
  for (size_t i = 0; permutes && i < from.n; i++) {
    permutes = memchr(to.p, from.p[i], to.n) != NULL;
    for (size_t k = 0; k < i; k++) permutes = permutes && from.p[k] != from.p[i];
  }
  if (permutes) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Destination and source format must determine a permutation, got %.*s and %.*s",
                 (int)from.n, from.p, (int)to.n, to.p);
}

static fy_code dim_map(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_view from = fy_site_string(ctx->site, "src_format");
  const fy_view to = fy_site_string(ctx->site, "dst_format");
  const int64_t n = (int64_t)from.n;
  fy_tensor *out;
  FY_TRY(check_formats(from, to, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  for (int64_t i = 0; i < in->count; i++) {
    const int64_t at = (fy_tensor_int(in, i) % n + n) % n;
    put_int(out, i, (const char *)memchr(to.p, from.p[at], to.n) - to.p);
  }
  return FY_OK;
}

// Rows (or numbers) in the order of another format. Two or three of them are the spatial dims only.
static fy_code vec_permute(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_view from = fy_site_string(ctx->site, "src_format");
  const fy_view to = fy_site_string(ctx->site, "dst_format");
  char a[5], b[5], x[128];
  fy_tensor *out;
  FY_TRY(check_formats(from, to, err));
  if (in->rank != 1 && in->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input must be a vector or 2D tensor, but got shape %s",
                   fy_tensor_shape_text(in, x));
  }
  const int64_t n = in->dims[0], full = (int64_t)from.n;
  if (n != full && n != full - 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be of size %lld or %lld, but got shape %s",
                   in->rank == 1 ? "1D input" : "First dimension of 2D input", (long long)full - 2,
                   (long long)full, fy_tensor_shape_text(in, x));
  }
  if (in->rank == 2 && in->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Second dimension of 2D input must be of size 2, but got shape %s",
                   fy_tensor_shape_text(in, x));
  }
  int64_t na = 0, nb = 0;
  for (size_t i = 0; i < from.n; i++) {
    if (n == full || (from.p[i] != 'N' && from.p[i] != 'C')) a[na++] = from.p[i];
    if (n == full || (to.p[i] != 'N' && to.p[i] != 'C')) b[nb++] = to.p[i];
  }
  if (na != n || nb != n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Format specifier must contain H and W for %lldD case",
                   (long long)full - 2);
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const int64_t each = in->rank == 2 ? 2 : 1;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = (const char *)memchr(a, b[i], (size_t)n) - a;
    for (int64_t k = 0; k < each; k++) put_int(out, i * each + k, fy_tensor_int(in, at * each + k));
  }
  return FY_OK;
}

static const fy_sample unravel_samples[] = {
    {"i32[2]=5,2; i32[2]=2,3", NULL, FY_OK, "1,0,2,2"},
    {"i32[1]=7; i32[2]=2,3", NULL, FY_INVALID_ARGUMENT, "index is out of bound as with dims"},
};
static const fy_sample nth_samples[] = {
    {"f32[2,3]=3,1,2,6,5,4; i32[]=0", NULL, FY_OK, "1,4"},
    {"f32[3]=3,1,2; i32[]=3", NULL, FY_INVALID_ARGUMENT, "Input must have last dimension > n = 3"},
};
static const fy_sample map_samples[] = {{"i32[5]=0,1,2,3,-1", NULL, FY_OK, "0,2,3,1,1"}};
static const fy_sample permute_samples[] = {
    {"i32[4]=1,2,3,4", NULL, FY_OK, "1,4,2,3"},
    {"i32[3]=1,2,3", NULL, FY_INVALID_ARGUMENT, "1D input must be of size 2 or 4"},
};
FY_OP(UnravelIndex, .shape = unravel_shape, .compute = unravel, FY_SAMPLES(unravel_samples));
FY_OP(NthElement, .shape = nth_shape, .compute = nth_element, .host_inputs = 2,
      FY_SAMPLES(nth_samples));
FY_OP(DataFormatDimMap, .shape = fy_shape_unchanged, .compute = dim_map, FY_SAMPLES(map_samples));
FY_OP(DataFormatVecPermute, .shape = fy_shape_unchanged, .compute = vec_permute,
      FY_SAMPLES(permute_samples));
