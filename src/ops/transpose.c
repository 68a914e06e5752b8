// SPDX-License-Identifier: Apache-2.0
// transpose.c: elements in another order: Transpose, ReverseV2, InvertPermutation.

#include <stdatomic.h>
#include <string.h>

#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/values.h"

static fy_code read_perm(const fy_tensor *perm, int32_t rank, int32_t *out, fy_error *err) {
  bool seen[FY_MAX_RANK];
  fy_str list;
  if (perm->count != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "transpose expects a vector of size %d. But input(1) is a vector of size %lld",
                   rank, (long long)perm->count);
  }
  for (int32_t i = 0; i < rank; i++) seen[i] = false;
  for (int32_t i = 0; i < rank; i++) {
    int64_t d = fy_tensor_int(perm, i);
    if (d < 0) d += rank;
    if (d < 0 || d >= rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%lld is out of range [0 .. %d)", (long long)d,
                     rank);
    }
    seen[d] = true;
    out[i] = (int32_t)d;
  }
  for (int32_t i = 0; i < rank; i++) {
    if (seen[i]) continue;
    fy_str_init(&list);
    for (int32_t k = 0; k < rank; k++) fy_str_printf(&list, "%s%d", k ? "," : "", out[k]);
    fy_code code =
        fy_fail(err, FY_INVALID_ARGUMENT, "%d is missing from {%s}.", i, fy_str_text(&list));
    fy_str_free(&list);
    return code;
  }
  return FY_OK;
}

// |own_memory|: the result needs memory of its own even if only the shape changes.
static fy_code move_dims(fy_kernel_ctx *ctx, bool own_memory, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *perm_in = ctx->in[1];
  int32_t perm[FY_MAX_RANK];
  char x[128];
  if (perm_in->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "perm must be rank 1, got shape %s",
                   fy_tensor_shape_text(perm_in, x));
  }
  FY_TRY(read_perm(perm_in, in->rank, perm, err));
  int64_t dims[FY_MAX_RANK], strides[FY_MAX_RANK], own[FY_MAX_RANK];
  fy_dense_strides(in->rank, in->dims, own);
  int32_t last = -1;
  bool moves = false;  // does any dim with more than one element change its place?
  for (int32_t i = 0; i < in->rank; i++) {
    dims[i] = in->dims[perm[i]];
    strides[i] = own[perm[i]];
    if (dims[i] == 1) continue;
    moves = moves || perm[i] < last;
    last = perm[i];
  }
  if (!moves && !own_memory) return fy_out_alias(ctx, 0, 0, in->rank, dims, err);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &out, err));
  return fy_strided_copy(ctx, out, in, in->rank, dims, strides, 0, err);
}

static fy_code transpose(fy_kernel_ctx *ctx, fy_error *err) {
  return move_dims(ctx, false, err);
}

static fy_code conjugate_transpose(fy_kernel_ctx *ctx, fy_error *err) {
  const bool conjugate = fy_dtype_is_complex(ctx->in[0]->dtype);
  FY_TRY(move_dims(ctx, conjugate, err));
  const fy_tensor *out = ctx->out[0];
  for (int64_t i = 0; conjugate && i < out->count; i++) {
    if (out->dtype == FY_COMPLEX64) {
      float *im = (float *)out->data + 2 * i + 1;
      *im = -*im;
    } else {
      double *im = (double *)out->data + 2 * i + 1;
      *im = -*im;
    }
  }
  return FY_OK;
}

static fy_code transpose_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t perm_size = ctx->in[1].rank < 0 ? -1 : 1;
  for (int32_t d = 0; d < ctx->in[1].rank; d++) {
    const int64_t n = ctx->in[1].dims[d];
    if (perm_size < 0 || n < 0 || __builtin_mul_overflow(perm_size, n, &perm_size)) perm_size = -1;
  }
  int32_t rank = in.rank >= 0                                 ? in.rank
                 : perm_size >= 0 && perm_size <= FY_MAX_RANK ? (int32_t)perm_size
                                                              : -1;
  // One element permutes a scalar as well as a vector, and changes neither.
  if (rank < 0 || (in.rank < 0 && rank < 2)) return FY_OK;
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (in.rank >= 0 && perm_size >= 0 && perm_size != in.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be %d but is %lld", in.rank,
                   (long long)perm_size);
  }
  const fy_tensor *perm_in = fy_shape_tensor(ctx, 1);
  for (int64_t i = 0; perm_in && in.rank < 0 && i < perm_in->count; i++) {
    const int64_t d = fy_tensor_int(perm_in, i);
    if (d >= -rank && d < rank) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "perm dim %lld is out of range of input rank %d",
                   (long long)d, rank);
  }
  if (!perm_in || in.rank < 0) {
    if (rank <= 1 && in.rank >= 0) return fy_shape_unchanged(ctx, err);
    return fy_shape_set(ctx, 0, rank, NULL, err);
  }
  int64_t dims[FY_MAX_RANK];
  for (int32_t i = 0; i < rank && i < perm_in->count; i++) {
    const int64_t d = fy_tensor_int(perm_in, i);
    if (d < -rank || d >= rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "perm dim %lld is out of range of input rank %d",
                     (long long)d, rank);
    }
    dims[i] = in.dims[d < 0 ? d + rank : d];  // that each dim comes once is the kernel's to check
  }
  return fy_shape_set(ctx, 0, rank, dims, err);
}

// ---------------------------------------------------------------- ReverseV2
static fy_code reverse(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *axes = ctx->in[1];
  int64_t strides[FY_MAX_RANK], offset = 0;
  bool flipped[FY_MAX_RANK] = {false};
  if (in->rank == 0 || in->count == 0) return fy_out_alias(ctx, 0, 0, in->rank, in->dims, err);
  if (axes->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "'dims' must be 1-dimension, not %d", axes->rank);
  }
  fy_dense_strides(in->rank, in->dims, strides);
  for (int64_t i = 0; i < axes->count; i++) {
    const int64_t axis = fy_tensor_int(axes, i), d = axis < 0 ? axis + in->rank : axis;
    if (d < 0 || d >= in->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "'axis'[%lld] = %lld is out of valid range [0, %d",
                     (long long)i, (long long)axis, in->rank - 1);
    }
    if (flipped[d]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "axis %lld specified more than once.", (long long)d);
    }
    flipped[d] = true;
    if (in->dims[d] > 0) offset += (in->dims[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  if (axes->count == 0) return fy_out_alias(ctx, 0, 0, in->rank, in->dims, err);
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  return fy_strided_copy(ctx, out, in, in->rank, in->dims, strides, offset, err);
}

static fy_code reverse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  bool flipped[FY_MAX_RANK] = {false};
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  const fy_tensor *axes = fy_shape_tensor(ctx, 1);
  for (int64_t i = 0; axes && in.rank >= 0 && i < axes->count; i++) {
    const int64_t axis = fy_tensor_int(axes, i), d = axis < 0 ? axis + in.rank : axis;
    if (d < 0 || d >= in.rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "'axis'[%lld] = %lld is out of valid range [0, %d",
                     (long long)i, (long long)axis, in.rank - 1);
    }
    if (flipped[d]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "axis %lld specified more than once.", (long long)d);
    }
    flipped[d] = true;
  }
  return fy_shape_unchanged(ctx, err);
}

// ---------------------------------------------------------------- InvertPermutation
// Every place is written without a look at what is there; n numbers that leave no place empty are a permutation.
// What may be written twice is found afterwards, by one thread. Places lie anywhere: those of the next few numbers
// are asked for before they are written.
typedef struct invert_job {
  const fy_tensor *in;
  void *out;
  bool apart;         // more places than the near cache has room for
  atomic_bool wrong;  // some number is out of range, or a place empty
} invert_job;
#define INVERT(T)                                                         \
  static void clear_##T(void *arg, int64_t begin, int64_t end) {          \
    const invert_job *j = arg;                                            \
    memset((T *)j->out + begin, 0xFF, (size_t)(end - begin) * sizeof(T)); \
  }                                                                       \
  static void invert_##T(void *arg, int64_t begin, int64_t end) {         \
    invert_job *j = arg;                                                  \
    const T *from = j->in->data;                                          \
    T *out = j->out;                                                      \
    const uint64_t n = (uint64_t)j->in->count;                            \
    bool wrong = false;                                                   \
    for (int64_t i = begin; i < end; i++) {                               \
      const uint64_t d = (uint64_t)from[i];                               \
      if (j->apart && i + 32 < end && (uint64_t)from[i + 32] < n)         \
        __builtin_prefetch(&out[from[i + 32]], 1);                        \
      if (d < n)                                                          \
        __atomic_store_n(&out[d], (T)i, __ATOMIC_RELAXED);                \
      else                                                                \
        wrong = true;                                                     \
    }                                                                     \
    if (wrong) atomic_store(&j->wrong, true);                             \
  }                                                                       \
  static void verify_##T(void *arg, int64_t begin, int64_t end) {         \
    invert_job *j = arg;                                                  \
    const T *out = j->out;                                                \
    T low = 0;                                                            \
    for (int64_t i = begin; i < end; i++) low |= out[i];                  \
    if (low < 0) atomic_store(&j->wrong, true);                           \
  }                                                                       \
  /* The first element that cannot be, or -1. */                          \
  static int64_t bad_##T(const fy_tensor *in, T *out) {                   \
    const T *from = in->data;                                             \
    const int64_t n = in->count;                                          \
    for (int64_t i = 0; i < n; i++) out[i] = -1;                          \
    for (int64_t i = 0; i < n; i++) {                                     \
      const int64_t d = from[i];                                          \
      if (d < 0 || d >= n || out[d] != -1) return i;                      \
      out[d] = (T)i;                                                      \
    }                                                                     \
    return -1;                                                            \
  }
INVERT(int32_t)
INVERT(int64_t)

static fy_code invert_permutation(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  if (in->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "invert_permutation expects a 1D vector.");
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const bool wide = in->dtype == FY_INT64;
  invert_job j = {.in = in, .out = out->data, .apart = in->count > 1 << 16};
  fy_parallel(ctx, in->count, 0.1, wide ? clear_int64_t : clear_int32_t, &j);
  fy_parallel(ctx, in->count, 1, wide ? invert_int64_t : invert_int32_t, &j);
  fy_parallel(ctx, in->count, 0.1, wide ? verify_int64_t : verify_int32_t, &j);
  if (!atomic_load(&j.wrong)) return FY_OK;
  const int64_t bad = wide ? bad_int64_t(in, out->data) : bad_int32_t(in, out->data);
  if (bad < 0) return FY_OK;
  const int64_t d = fy_tensor_int(in, bad);
  if (d < 0 || d >= in->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%lld is not between 0 and %lld", (long long)d,
                   (long long)in->count);
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "%lld is duplicated in the input.", (long long)d);
}

static fy_code vector_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  return fy_shape_set(ctx, 0, 1, ctx->in[0].dims, err);
}

static const fy_sample transpose_samples[] = {
    {"f32[2,3]=iota; i32[2]=1,0", NULL, FY_OK, "0,3,1,4,2,5"},
    {"i8[2,2,2]=iota; i64[3]=2,0,1", NULL, FY_OK, "0,2,4,6,1,3,5,7"},
    {"s[1,2]='a','b'; i32[2]=1,0", NULL, FY_OK, NULL},
    {"f32[2,3]=iota; i32[2]=0,0", NULL, FY_INVALID_ARGUMENT, "1 is missing from {0,0}."},
};
static const fy_sample reverse_samples[] = {
    {"f32[2,2]=iota; i32[1]=-1", NULL, FY_OK, "1,0,3,2"},
    {"f32[2,2]=iota; i32[2]=0,1", NULL, FY_OK, "3,2,1,0"},
    {"f32[2]=iota; i32[1]=1", NULL, FY_INVALID_ARGUMENT,
     "'axis'[0] = 1 is out of valid range [0, 0"},
};
static const fy_sample invert_samples[] = {
    {"i32[3]=2,0,1", NULL, FY_OK, "1,2,0"},
    {"i32[2]=0,0", NULL, FY_INVALID_ARGUMENT, "0 is duplicated in the input."},
};

FY_OP(Transpose, .shape = transpose_shape, .compute = transpose, .host_inputs = 1 << 1,
      FY_SAMPLES(transpose_samples));
FY_OP(ConjugateTranspose, .shape = transpose_shape, .compute = conjugate_transpose,
      .host_inputs = 1 << 1, FY_SAMPLES(transpose_samples));
FY_OP(ReverseV2, .shape = reverse_shape, .compute = reverse, .host_inputs = 1 << 1,
      FY_SAMPLES(reverse_samples));
FY_OP(InvertPermutation, .shape = vector_shape, .compute = invert_permutation, .flags = FY_OP_CHEAP,
      FY_SAMPLES(invert_samples));
