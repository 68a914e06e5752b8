// SPDX-License-Identifier: Apache-2.0
// sparse_pair.c: two sparse tensors of one shape, their indices walked side by side: SparseAdd and its
// gradient, SparseSparseMaximum, SparseSparseMinimum. Where only one has a value, the other is 0.

#include "ops/scatter.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/typed.h"
#include "ops/values.h"

static int compare_rows(const fy_tensor *a, int64_t i, const fy_tensor *b, int64_t j,
                        int64_t rank) {
  const int64_t *x = (const int64_t *)a->data + i * rank, *y = (const int64_t *)b->data + j * rank;
  for (int64_t d = 0; d < rank; d++) {
    if (x[d] != y[d]) return x[d] < y[d] ? -1 : 1;
  }
  return 0;
}

// A walk over both lists in order: *i or *j (or both, for equal rows) are to be taken.
static int next_row(const fy_tensor *a, int64_t i, const fy_tensor *b, int64_t j, int64_t rank) {
  if (i >= a->dims[0]) return 1;
  if (j >= b->dims[0]) return -1;
  return compare_rows(a, i, b, j, rank);
}

// ---------------------------------------------------------------- SparseAdd
// Is |value| (of |t|'s type, or complex of it) large enough to stay?
#define LARGE_REAL(E, S, _)                                                 \
  static bool large_##S(const void *v, const void *thresh) {                \
    const fy_a_##S x = *(const fy_t_##S *)v, t = *(const fy_t_##S *)thresh; \
    return t <= (x < 0 ? -x : x);                                           \
  }
#define LARGE_INT(E, S, _)                                                   \
  static bool large_##S(const void *v, const void *thresh) {                 \
    const fy_t_##S x = *(const fy_t_##S *)v, t = *(const fy_t_##S *)thresh;  \
    return t <= (fy_t_##S)(x < 0 ? (fy_u_##S)0 - (fy_u_##S)x : (fy_u_##S)x); \
  }
#define LARGE_CPLX(E, S, _)                                                     \
  static bool large_##S(const void *v, const void *thresh) {                    \
    return *(const fy_r_##S *)thresh <= FY_MATH_##S(abs)(*(const fy_t_##S *)v); \
  }
FY_FULL_REAL_TYPES(LARGE_REAL, _)
FY_SIGNED_TYPES(LARGE_INT, _)
FY_COMPLEX_TYPES(LARGE_CPLX, _)
typedef bool (*large_fn)(const void *v, const void *thresh);
static const large_fn larges[FY_DTYPE_COUNT] = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, large)
                                                    FY_SIGNED_TYPES(FY_LOOP_ENTRY, large)
                                                        FY_COMPLEX_TYPES(FY_LOOP_ENTRY, large)};

static fy_code same_shapes(const fy_tensor *a, const fy_tensor *b, fy_error *err) {
  if (a->count != b->count) {
    fy_str text[2];
    for (int k = 0; k < 2; k++) {
      const fy_tensor *t = k ? b : a;
      fy_str_init(&text[k]);
      for (int64_t d = 0; d < t->count && d < 10; d++) {
        fy_str_printf(&text[k], "%s%lld", d ? " " : "", (long long)fy_tensor_int(t, d));
      }
    }
    fy_fail(err, FY_INVALID_ARGUMENT, "Operands do not have the same ranks; got shapes: %s and %s",
            fy_str_text(&text[0]), fy_str_text(&text[1]));
    fy_str_free(&text[0]);
    fy_str_free(&text[1]);
    return FY_INVALID_ARGUMENT;
  }
  for (int64_t d = 0; d < a->count; d++) {
    const int64_t x = fy_tensor_int(a, d), y = fy_tensor_int(b, d);
    if (x == y) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Operands' shapes do not match: got %lld and %lld for dimension %lld",
                   (long long)x, (long long)y, (long long)d);
  }
  return FY_OK;
}

static fy_code add_checks(fy_tensor *const *in, fy_error *err) {
  char x[128], y[128];
  if (in[0]->rank != 2 || in[3]->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input indices should be matrices but received shapes: "
                   "%s and %s",
                   fy_tensor_shape_text(in[0], x), fy_tensor_shape_text(in[3], y));
  }
  if (in[1]->rank != 1 || in[4]->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input values should be vectors but received shapes: %s and %s",
                   fy_tensor_shape_text(in[1], x), fy_tensor_shape_text(in[4], y));
  }
  if (in[1]->count != in[0]->dims[0] || in[4]->count != in[3]->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected %lld and %lld non-empty input values, got %lld and %lld",
                   (long long)in[0]->dims[0], (long long)in[3]->dims[0], (long long)in[1]->count,
                   (long long)in[4]->count);
  }
  if (in[2]->rank != 1 || in[5]->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input shapes should be a vector but received shapes %s and %s",
                   fy_tensor_shape_text(in[2], x), fy_tensor_shape_text(in[5], y));
  }
  FY_TRY(same_shapes(in[2], in[5], err));
  if (in[6]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The magnitude threshold must be a scalar: got shape %s",
                   fy_tensor_shape_text(in[6], x));
  }
  return FY_OK;
}

static fy_code sparse_add(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *const *in = ctx->in;
  FY_TRY(add_checks(in, err));
  const fy_dtype t = in[1]->dtype;
  const int64_t rank = in[2]->count;
  const fy_scatter_loop add = fy_scatter_find(FY_SCATTER_ADD, t);
  const large_fn large = larges[t];
  const size_t size = fy_dtype_storage(t);
  const char bad = in[0]->dims[1] != rank ? 'a' : 'b';
  if (in[0]->dims[1] != rank || in[3]->dims[1] != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Second dimension of %c_indices and length of %c_shape must match, got %lld and "
                   "%lld",
                   bad, bad, (long long)in[bad == 'a' ? 0 : 3]->dims[1], (long long)rank);
  }
  if (!add || !large) {
    return fy_fail(err, FY_UNIMPLEMENTED, "SparseAdd has no loop for %s", fy_dtype_name(t));
  }
  // Which rows of a (-1: none) and b make the result.
  void *memory;
  const int64_t most = in[0]->dims[0] + in[3]->dims[0];
  FY_TRY(fy_scratch(ctx, (size_t)(most + 1) * 2 * sizeof(int64_t), &memory, err));
  int64_t *from_a = memory, *from_b = from_a + most + 1, n = 0;
  FY_TRY(fy_scratch(ctx, (size_t)(most + 1) * size, &memory, err));
  char *sums = memory;
  for (int64_t i = 0, j = 0; i < in[0]->dims[0] || j < in[3]->dims[0];) {
    const int order = next_row(in[0], i, in[3], j, rank);
    char *sum = sums + (size_t)n * size;
    const char *b = (const char *)in[4]->data + (size_t)j * size;
    if (order <= 0) {
      memcpy(sum, (const char *)in[1]->data + (size_t)i * size, size);
      if (order == 0) add(sum, b, 1, 1);
    } else {
      memcpy(sum, b, size);
    }
    if (order != 0 || large(sum, in[6]->data)) {  // only sums can be too small
      from_a[n] = order <= 0 ? i : -1;
      from_b[n++] = j;
    }
    i += order <= 0;
    j += order >= 0;
  }
  fy_tensor *indices, *values, *shape;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &values, err));
  FY_TRY(fy_out_like(ctx, 2, in[2], &shape, err));
  for (int64_t i = 0; i < n; i++) {
    const fy_tensor *from = from_a[i] >= 0 ? in[0] : in[3];
    const int64_t row = from_a[i] >= 0 ? from_a[i] : from_b[i];
    if (!rank) continue;
    memcpy((int64_t *)indices->data + i * rank, (const int64_t *)from->data + row * rank,
           (size_t)rank * sizeof(int64_t));
  }
  if (n) memcpy(values->data, sums, (size_t)n * size);
  return fy_copy_run(FY_INT64, shape->data, 0, in[2]->data, 0, rank, err);
}

static fy_code add_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1, rank = ctx->in[2].rank == 1 ? ctx->in[2].dims[0] : -1;
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, rank}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &rank, err);
}

// ---------------------------------------------------------------- SparseAddGrad
static fy_code add_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[0], *a = ctx->in[1], *b = ctx->in[2], *sum = ctx->in[3];
  char x[128], y[128], z[128];
  fy_tensor *out[2];
  if (a->rank != 2 || b->rank != 2 || sum->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input indices should be matrices but received shapes: %s and %s and %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y),
                   fy_tensor_shape_text(sum, z));
  }
  if (grad->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input backprop_val_grad should be a vector but received shape: %s",
                   fy_tensor_shape_text(grad, x));
  }
  if (a->dims[1] != b->dims[1] || b->dims[1] != sum->dims[1]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The densified operands should have the same ndims; for A, B, sum got: %lld%lld%lld",
        (long long)a->dims[1], (long long)b->dims[1], (long long)sum->dims[1]);
  }
  if (grad->count != sum->dims[0]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of "
        "sum): got %lld and %lld",
        (long long)grad->count, (long long)sum->dims[0]);
  }
  const size_t size = fy_dtype_storage(grad->dtype);
  for (int o = 0; o < 2; o++) {
    const fy_tensor *from = o ? b : a;
    FY_TRY(fy_out(ctx, o, 1, &from->dims[0], &out[o], err));
    if (out[o]->count) memset(out[o]->data, 0, fy_tensor_bytes(out[o]));
    int64_t i = 0;
    for (int64_t k = 0; k < sum->dims[0] && i < from->dims[0]; k++) {
      // What is not in the sum was cut off by its threshold.
      while (i < from->dims[0] && compare_rows(from, i, sum, k, a->dims[1]) < 0) i++;
      if (i == from->dims[0] || compare_rows(from, i, sum, k, a->dims[1]) != 0) continue;
      memcpy((char *)out[o]->data + (size_t)i++ * size, (const char *)grad->data + (size_t)k * size,
             size);
    }
  }
  return FY_OK;
}

static fy_code add_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 2, err));
  const int64_t a = fy_dim_of(ctx->in[1], 0), b = fy_dim_of(ctx->in[2], 0);
  FY_TRY(fy_shape_set(ctx, 0, 1, &a, err));
  return fy_shape_set(ctx, 1, 1, &b, err);
}

// ---------------------------------------------------------------- SparseSparseMaximum, Minimum
static fy_code pair_checks(fy_tensor *const *in, fy_error *err) {
  FY_TRY(fy_sparse_validate(in[0], in[1], in[2], false, err));
  FY_TRY(fy_sparse_validate(in[3], in[4], in[5], false, err));
  if (in[2]->count == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Tensors must not be empty");
  return same_shapes(in[2], in[5], err);
}

static fy_code sparse_pair(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *const *in = ctx->in;
  const fy_scatter_kind kind = *(const fy_scatter_kind *)ctx->site->op->impl->aux;
  FY_TRY(pair_checks(in, err));
  FY_TRY(fy_sparse_validate(in[0], in[1], in[2], true, err));
  FY_TRY(fy_sparse_validate(in[3], in[4], in[5], true, err));
  const fy_dtype t = in[1]->dtype;
  const int64_t rank = in[2]->count;
  const size_t size = fy_dtype_storage(t);
  const fy_scatter_loop loop = fy_scatter_find(kind, t);
  static const double zero[2];
  int64_t n = 0;
  if (!loop) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(t));
  }
  for (int64_t i = 0, j = 0; i < in[0]->dims[0] || j < in[3]->dims[0]; n++) {
    const int order = next_row(in[0], i, in[3], j, rank);
    i += order <= 0;
    j += order >= 0;
  }
  fy_tensor *indices, *values;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &values, err));
  int64_t k = 0;
  for (int64_t i = 0, j = 0; i < in[0]->dims[0] || j < in[3]->dims[0]; k++) {
    const int order = next_row(in[0], i, in[3], j, rank);
    const char *a = (const char *)in[1]->data + (size_t)i * size;
    const char *b = (const char *)in[4]->data + (size_t)j * size;
    char *to = (char *)values->data + (size_t)k * size;
    const int64_t *row = order <= 0 ? (const int64_t *)in[0]->data + i * rank
                                    : (const int64_t *)in[3]->data + j * rank;
    memcpy((int64_t *)indices->data + k * rank, row, (size_t)rank * sizeof(int64_t));
    memcpy(to, order <= 0 ? a : (const char *)zero, size);
    loop(to, order >= 0 ? b : (const char *)zero, 1, 1);
    // NaN wins, whichever side it is on.
    if (order >= 0 && fy_dtype_is_floating(t) && isnan(fy_tensor_double(in[4], j))) {
      memcpy(to, b, size);
    }
    i += order <= 0;
    j += order >= 0;
  }
  return FY_OK;
}

static fy_code pair_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < 6; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], i % 3 ? 1 : 2, err));
  const int64_t unknown = -1, rank = ctx->in[0].rank == 2 ? ctx->in[0].dims[1] : -1;
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, rank}, err));
  return fy_shape_set(ctx, 1, 1, &unknown, err);
}

static const fy_scatter_kind maximum = FY_SCATTER_MAX, minimum = FY_SCATTER_MIN;
static const fy_sample add_samples[] = {
    {"i64[2,1]=0,2; f32[2]=1,2; i64[1]=3; i64[1,1]=2; f32[1]=5; i64[1]=3; f32[]=0", NULL, FY_OK,
     "0,2"},
    {"i64[1,1]=0; f32[1]=1; i64[1]=3; i64[1,1]=2; f32[1]=5; i64[1]=4; f32[]=0", NULL,
     FY_INVALID_ARGUMENT, "Operands' shapes do not match: got 3 and 4 for dimension 0"},
};
static const fy_sample grad_samples[] = {
    {"f32[2]=7,8; i64[1,1]=0; i64[2,1]=0,2; i64[2,1]=0,2", NULL, FY_OK, "7"},
};
static const fy_sample pair_samples[] = {
    {"i64[2,1]=0,2; f32[2]=1,2; i64[1]=3; i64[1,1]=2; f32[1]=5; i64[1]=3", NULL, FY_OK, "0,2"},
};
FY_OP(SparseAdd, .shape = add_shape, .compute = sparse_add, .flags = FY_OP_DYNAMIC,
      .host_inputs = 1 << 6, FY_SAMPLES(add_samples));
FY_OP(SparseAddGrad, .shape = add_grad_shape, .compute = add_grad, FY_SAMPLES(grad_samples));
FY_OP(SparseSparseMaximum, .shape = pair_shape, .compute = sparse_pair, .aux = &maximum,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(pair_samples));
FY_OP(SparseSparseMinimum, .shape = pair_shape, .compute = sparse_pair, .aux = &minimum,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(pair_samples));
