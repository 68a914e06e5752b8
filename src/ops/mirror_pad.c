// SPDX-License-Identifier: Apache-2.0
// mirror_pad.c: MirrorPad and MirrorPadGrad. Along every dim a table says which element of the
// plain tensor an element of the padded one mirrors; the gradient adds up what mirrors the same
// element.

#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

#define MAX_DIMS 5  // TensorFlow's own limit

typedef struct mirror_job {
  fy_dtype type;
  int32_t rank;
  int64_t padded[MAX_DIMS], plain_step[MAX_DIMS];
  const int64_t *source[MAX_DIMS];  // [padded[d]]
  int64_t left, middle;             // of a row: how much mirrors, and how much is as it was
  int64_t rows;                     // of a part of the gradient that adds to places of its own
  int64_t block;  // elements of the last dims, which are not padded: they move together
  const void *in;
  void *out;
  fy_code code;
  fy_error *err;
} mirror_job;

// Offset into the plain tensor of the row |row| (all dims but the last) of the padded one.
static int64_t row_at(const mirror_job *j, int64_t row) {
  int64_t at = 0;
  for (int32_t d = j->rank - 2; d >= 0; d--) {
    at += j->source[d][row % j->padded[d]] * j->plain_step[d];
    row /= j->padded[d];
  }
  return at;
}

static void copy_rows(void *arg, int64_t begin, int64_t end) {
  mirror_job *j = arg;
  const int32_t last = j->rank - 1;
  const int64_t n = j->padded[last], left = j->left, right = left + j->middle;
  const int64_t *source = j->source[last];
  const int64_t block = j->block;
  const size_t size = fy_dtype_storage(j->type) * (size_t)block;
  int64_t index[MAX_DIMS], at = row_at(j, begin);
  for (int64_t d = last - 1, rest = begin; d >= 0; d--) {
    index[d] = rest % j->padded[d];
    rest /= j->padded[d];
  }
  for (int64_t row = begin; row < end; row++) {
    if (!fy_dtype_is_plain(j->type)) {
      for (int64_t i = 0; i < n && !j->code; i++) {
        j->code = fy_copy_run(j->type, j->out, (row * n + i) * block, j->in,
                              (at + source[i]) * block, block, j->err);
      }
    } else {
      char *to = (char *)j->out + (size_t)(row * n) * size;
      const char *from = (const char *)j->in + (size_t)at * size;
      for (int64_t i = 0; i < left; i++)
        memcpy(to + (size_t)i * size, from + (size_t)source[i] * size, size);
      memcpy(to + (size_t)left * size, from, (size_t)j->middle * size);
      for (int64_t i = right; i < n; i++)
        memcpy(to + (size_t)i * size, from + (size_t)source[i] * size, size);
    }
    for (int32_t d = last - 1; d >= 0; d--) {  // on to the next row
      const int64_t *table = j->source[d];
      at -= table[index[d]] * j->plain_step[d];
      if (++index[d] < j->padded[d]) {
        at += table[index[d]] * j->plain_step[d];
        break;
      }
      index[d] = 0;
      at += table[0] * j->plain_step[d];
    }
  }
}

#define ADD(S, x, y)     ((x) + (y))
#define ADD_INT(S, x, y) ((fy_u_##S)(x) + (fy_u_##S)(y))
#define FOLD(E, S, PLUS)                                                  \
  static void fold_##S(void *arg, int64_t begin, int64_t end) {           \
    const mirror_job *j = arg;                                            \
    const int64_t n = j->padded[j->rank - 1], block = j->block;           \
    const int64_t *source = j->source[j->rank - 1];                       \
    fy_t_##S *out = j->out;                                               \
    for (int64_t row = begin * j->rows; row < end * j->rows; row++) {     \
      const int64_t at = row_at(j, row);                                  \
      const fy_t_##S *in = (const fy_t_##S *)j->in + row * n * block;     \
      for (int64_t i = 0; i < n; i++, in += block) {                      \
        fy_t_##S *to = &out[(at + source[i]) * block];                    \
        for (int64_t b = 0; b < block; b++)                               \
          to[b] = FY_ST_##S(PLUS(S, FY_LD_##S(to[b]), FY_LD_##S(in[b]))); \
      }                                                                   \
    }                                                                     \
  }
FY_REAL_TYPES(FOLD, ADD)
FY_COMPLEX_TYPES(FOLD, ADD)
FY_INT_TYPES(FOLD, ADD_INT)
typedef void (*fold_fn)(void *arg, int64_t first_batch, int64_t last_batch);
static const fold_fn folds[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(FY_LOOP_ENTRY, fold)};

// Checks |paddings| against the plain shape |dims| (the gradient knows only the padded one), and
// fills the tables. Memory is scratch.
static fy_code fill_tables(fy_kernel_ctx *ctx, const int64_t *plain, const int64_t *before,
                           bool reflect, mirror_job *j, fy_error *err) {
  int64_t step = 1;
  for (int32_t d = j->rank - 1; d >= 0; d--) {
    j->plain_step[d] = step;
    step *= plain[d];
    void *memory;
    FY_TRY(fy_scratch(ctx, (size_t)(j->padded[d] > 0 ? j->padded[d] : 1) * sizeof(int64_t), &memory,
                      err));
    int64_t *table = memory;
    for (int64_t i = 0; i < j->padded[d]; i++) {
      int64_t at = i - before[d];
      if (at < 0) at = reflect ? -at : -at - 1;
      if (at >= plain[d]) at = (reflect ? 2 * plain[d] - 2 : 2 * plain[d] - 1) - at;
      table[i] = at;
    }
    j->source[d] = table;
  }
  return FY_OK;
}

static fy_code mirror(fy_kernel_ctx *ctx, bool gradient, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *paddings = ctx->in[1];
  const bool reflect = fy_view_is(fy_site_string(ctx->site, "mode"), "REFLECT");
  int64_t before[MAX_DIMS] = {0}, dims[MAX_DIMS] = {0};
  mirror_job j = {.type = in->dtype, .rank = in->rank, .in = in->data, .err = err};
  char x[128], y[128];
  if (in->rank > MAX_DIMS) {
    return fy_fail(err, FY_UNIMPLEMENTED, "inputs rank not in [%d,%d]: %d", 0, MAX_DIMS, in->rank);
  }
  if (paddings->rank != 2 || paddings->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "paddings must be a matrix with 2 columns: %s",
                   fy_tensor_shape_text(paddings, x));
  }
  if (in->rank != paddings->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The first dimension of paddings must be the rank of inputs%s%s %s",
                   fy_tensor_shape_text(paddings, x), gradient ? "" : ",",
                   fy_tensor_shape_text(in, y));
  }
  for (int32_t d = 0; d < in->rank; d++) {
    const int64_t lo = fy_tensor_int(paddings, 2 * d), hi = fy_tensor_int(paddings, 2 * d + 1);
    if (lo < 0 || hi < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     gradient ? "Paddings must be non-negative: %lld, %lld"
                              : "paddings must be non-negative: %lld %lld",
                     (long long)lo, (long long)hi);
    }
    int64_t size = in->dims[d];
    if (size > INT64_MAX / 4) return fy_fail(err, FY_INVALID_ARGUMENT, "the output is too large");
    if (gradient) {
      size = lo > size || hi > size - lo ? 0 : size - lo - hi;
      if (size <= 0) {
        return fy_fail(
            err, FY_INVALID_ARGUMENT,
            "Total paddings must be less than the input dimension size: %lld was not less "
            "than %lld",
            (long long)(lo > INT64_MAX - hi ? INT64_MAX : lo + hi), (long long)in->dims[d]);
      }
    }
    const bool fits = reflect ? lo < size && hi < size : lo <= size && hi <= size;
    if (!fits) {
      if (gradient) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       reflect
                           ? "paddings must be less than the output dimension size: %lld, %lld "
                             "not less than %lld"
                           : "paddings must be no greater than the output dimension size: %lld, "
                             "%lld greater than %lld",
                       (long long)lo, (long long)hi, (long long)size);
      }
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     reflect ? "paddings must be less than the dimension size: %lld, %lld not less "
                               "than %lld"
                             : "paddings must be no greater than the dimension size: %lld, %lld "
                               "greater than %lld",
                     (long long)lo, (long long)hi, (long long)size);
    }
    before[d] = lo;
    dims[d] = gradient ? size : size + lo + hi;
    j.padded[d] = gradient ? in->dims[d] : dims[d];
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &out, err));
  if (gradient && !folds[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "MirrorPadGrad has no loop for %s",
                   fy_dtype_name(in->dtype));
  }
  if (out->count == 0) return FY_OK;
  if (in->rank == 0) return fy_copy_run(in->dtype, out->data, 0, in->data, 0, 1, err);
  const fy_tensor *padded = gradient ? in : out;
  const int64_t *plain = gradient ? dims : in->dims;
  for (j.block = 1; j.rank > 1 && padded->dims[j.rank - 1] == plain[j.rank - 1]; j.rank--)
    j.block *= plain[j.rank - 1];
  const int64_t n = j.padded[j.rank - 1] * j.block, rows = padded->count / n;
  FY_TRY(fill_tables(ctx, plain, before, reflect, &j, err));
  j.out = out->data;
  j.left = before[j.rank - 1];
  j.middle = plain[j.rank - 1];
  if (gradient) {
    memset(out->data, 0, fy_tensor_bytes(out));
    const int64_t parts = j.rank > 1 && before[0] == 0 && dims[0] == in->dims[0] ? dims[0] : 1;
    j.rows = rows / parts;
    fy_parallel(ctx, parts, (double)(j.rows * n), folds[in->dtype], &j);
  } else if (fy_dtype_is_plain(in->dtype)) {
    fy_parallel(ctx, rows, 10 + 0.2 * (double)n, copy_rows, &j);
  } else {
    copy_rows(&j, 0, rows);
  }
  return j.code;
}
static fy_code mirror_pad(fy_kernel_ctx *ctx, fy_error *err) {
  return mirror(ctx, false, err);
}
static fy_code mirror_pad_grad(fy_kernel_ctx *ctx, fy_error *err) {
  return mirror(ctx, true, err);
}

static fy_code infer(fy_shape_ctx *ctx, int sign, fy_error *err) {
  const fy_pshape in = ctx->in[0], p = ctx->in[1];
  int64_t dims[FY_MAX_RANK];
  FY_TRY(fy_shape_rank_is(p, 2, err));
  int64_t rank = fy_dim_of(p, 0);
  if (sign > 0) FY_TRY(fy_dim_is(fy_dim_of(p, 1), 2, err));
  if (rank > FY_MAX_RANK) return FY_OK;
  if (rank >= 0) FY_TRY(fy_shape_rank_is(in, (int32_t)rank, err));
  if (sign < 0 && rank >= 0) {
    fy_pshape merged;
    FY_TRY(fy_shape_merge(ctx, p, (fy_pshape){2, (const int64_t[]){rank, 2}}, &merged, err));
  }
  if (rank < 0) rank = in.rank;
  if (rank < 0) return FY_OK;
  const fy_tensor *v = fy_shape_tensor(ctx, 1);
  for (int32_t d = 0; d < rank; d++) {
    dims[d] = -1;
    if (!v || v->device || v->count != 2 * rank) continue;
    const int64_t lo = fy_tensor_int(v, 2 * d), hi = fy_tensor_int(v, 2 * d + 1);
    if (lo < 0 || hi < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Paddings must be non-negative");
    }
    if (in.rank < 0 || in.dims[d] < 0 || in.dims[d] > INT64_MAX / 2) continue;
    if (lo > INT32_MAX || hi > INT32_MAX) continue;
    dims[d] = in.dims[d] + sign * (lo + hi);
    if (dims[d] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Negative dimension size caused by subtracting %lld from %lld",
                     (long long)(lo + hi), (long long)in.dims[d]);
    }
  }
  return fy_shape_set(ctx, 0, (int32_t)rank, dims, err);
}
static fy_code pad_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, 1, err);
}
static fy_code grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, -1, err);
}

static const fy_sample pad_samples[] = {
    {"f32[3]=1,2,3; i32[1,2]=2,1", "mode=\"REFLECT\"", FY_OK, "3,2,1,2,3,2"},
    {"i8[3]=1,2,3; i64[1,2]=2,3", "mode=\"SYMMETRIC\"", FY_OK, "2,1,1,2,3,3,2,1"},
    {"f32[2,2]=1,2,3,4; i32[2,2]=1,0,0,1", "mode=\"REFLECT\"", FY_OK, "3,4,3,1,2,1,3,4,3"},
    {"f32[3]=1,2,3; i32[1,2]=3,1", "mode=\"REFLECT\"", FY_INVALID_ARGUMENT,
     "paddings must be less than the dimension size: 3, 1 not less than 3"},
};
static const fy_sample grad_samples[] = {
    {"f32[6]=1,2,3,4,5,6; i32[1,2]=2,1", "mode=\"REFLECT\"", FY_OK, "3,12,6"},
};
FY_OP(MirrorPad, .shape = pad_shape, .compute = mirror_pad, .host_inputs = 2,
      FY_SAMPLES(pad_samples));
FY_OP(MirrorPadGrad, .shape = grad_shape, .compute = mirror_pad_grad, .host_inputs = 2,
      FY_SAMPLES(grad_samples));
