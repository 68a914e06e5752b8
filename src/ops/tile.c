// SPDX-License-Identifier: Apache-2.0
// tile.c: more of the same: Tile, BroadcastTo, BroadcastArgs, Pad, PadV2.

#include <string.h>

#include "ops/broadcast.h"
#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/turn.h"
#include "ops/values.h"

// ---------------------------------------------------------------- Tile
static fy_code tile(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *multiples = ctx->in[1];
  char x[128];
  if (multiples->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected multiples to be 1-D, but got shape %s",
                   fy_tensor_shape_text(multiples, x));
  }
  if (multiples->count != in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected multiples argument to be a vector of length %d but got length %lld",
                   in->rank, (long long)multiples->count);
  }
  // Each dim becomes two: the repeats (stride 0) and the elements.
  int64_t dims[FY_STRIDED_RANK], strides[FY_STRIDED_RANK], out_dims[FY_MAX_RANK], own[FY_MAX_RANK];
  fy_dense_strides(in->rank, in->dims, own);
  for (int32_t d = 0; d < in->rank; d++) {
    const int64_t m = fy_tensor_int(multiples, d);
    if (m < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expected multiples[%d] >= 0, but got %lld", d,
                     (long long)m);
    }
    dims[2 * d] = m;
    strides[2 * d] = 0;
    dims[2 * d + 1] = in->dims[d];
    strides[2 * d + 1] = own[d];
    if (__builtin_mul_overflow(m, in->dims[d], &out_dims[d])) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                     (long long)out_dims[d]);
    }
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank, out_dims, &out, err));
  return fy_strided_copy(ctx, out, in, 2 * in->rank, dims, strides, 0, err);
}

static fy_code tile_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape by;
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_from_input(ctx, 1, &by, err));
  if (by.rank < 0 && in.rank < 0) return FY_OK;
  if (by.rank < 0) {
    by = (fy_pshape){in.rank, fy_shape_dims(ctx, in.rank)};
    if (!by.dims) return fy_fail_oom(err, sizeof *by.dims);
  }
  if (in.rank >= 0) FY_TRY(fy_shape_rank_is(by, in.rank, err));
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d < by.rank; d++) {
    const int64_t size = fy_dim_of(in, d);
    if (size == 0 || by.dims[d] == 0)
      dims[d] = 0;
    else if (size < 0 || by.dims[d] < 0 || __builtin_mul_overflow(size, by.dims[d], &dims[d]))
      dims[d] = -1;
  }
  return fy_shape_set(ctx, 0, by.rank, dims, err);
}

// ---------------------------------------------------------------- BroadcastTo
static fy_code broadcast_to(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  int64_t dims[FY_MAX_RANK], strides[FY_MAX_RANK], own[FY_MAX_RANK];
  int32_t rank;
  char x[128], y[128];
  FY_TRY(fy_value_shape(ctx->in[1], &rank, dims, err));
  if (in->rank > rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Rank of input (%d) must be no greater than rank of output shape (%d).",
                   in->rank, rank);
  }
  if (fy_shape_equal(in->rank, in->dims, rank, dims))
    return fy_out_alias(ctx, 0, 0, rank, dims, err);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  fy_dense_strides(in->rank, in->dims, own);
  bool fits = true, either = true;  // either: one of the two could be broadcast to the other
  for (int32_t d = 0; d < rank; d++) {
    const int32_t k = d - (rank - in->rank);
    strides[d] = k < 0 || in->dims[k] == 1 ? 0 : own[k];
    if (k < 0 || in->dims[k] == 1 || in->dims[k] == dims[d]) continue;
    fits = false;
    either &= dims[d] == 1;
  }
  if (!fits) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   either ? "Unable to broadcast tensor of shape %s to tensor of shape %s"
                          : "Incompatible shapes: %s vs. %s",
                   fy_tensor_shape_text(in, x), fy_shape_text(rank, dims, y));
  }
  return fy_strided_copy(ctx, out, in, rank, dims, strides, 0, err);
}

static fy_code broadcast_to_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape want;
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_from_input(ctx, 1, &want, err));
  if (want.rank < 0) return FY_OK;
  if (in.rank < 0) return fy_shape_set(ctx, 0, want.rank, want.dims, err);
  FY_TRY(fy_shape_rank_at_most(in, want.rank, err));
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = want.rank - 1, k = in.rank - 1; d >= 0; d--, k--) {  // from the right
    dims[d] = want.dims[d];
    if (k >= 0 && in.dims[k] != 1 && in.dims[k] != 0)
      FY_TRY(fy_dim_merge(in.dims[k], want.dims[d], &dims[d], err));
  }
  return fy_shape_set(ctx, 0, want.rank, dims, err);
}

static fy_code broadcast_args(fy_kernel_ctx *ctx, fy_error *err) {
  int64_t dims[2][FY_MAX_RANK];
  int32_t ranks[2];
  char x[128];
  for (int i = 0; i < 2; i++) {
    const fy_tensor *t = ctx->in[i];
    if (t->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "In[%d] must be a vector.%s", i,
                     fy_tensor_shape_text(t, x));
    }
    if (t->count > FY_MAX_RANK) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
    }
    ranks[i] = (int32_t)t->count;
    for (int32_t d = 0; d < ranks[i]; d++) dims[i][d] = fy_tensor_int(t, d);  // -1 as well
  }
  const int32_t rank = ranks[0] > ranks[1] ? ranks[0] : ranks[1];
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 1, (const int64_t[]){rank}, &out, err));
  for (int32_t i = 0; i < rank; i++) {
    const int32_t ka = i - (rank - ranks[0]), kb = i - (rank - ranks[1]);
    const int64_t a = ka < 0 ? 1 : dims[0][ka], c = kb < 0 ? 1 : dims[1][kb];
    if (a != c && a != 1 && c != 1) {
      fy_str text;  // as numbers: -1 is nothing special here
      fy_str_init(&text);
      for (int k = 0; k < 2; k++) {
        fy_str_add(&text, k ? " vs. [" : "[");
        for (int32_t d = 0; d < ranks[k]; d++) {
          fy_str_printf(&text, "%s%lld", d ? "," : "", (long long)dims[k][d]);
        }
        fy_str_add(&text, "]");
      }
      fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes: %s", fy_str_text(&text));
      fy_str_free(&text);
      return FY_INVALID_ARGUMENT;
    }
    const int64_t size = a == 1 ? c : a;
    if (out->dtype == FY_INT64)
      ((int64_t *)out->data)[i] = size;
    else
      ((int32_t *)out->data)[i] = (int32_t)size;
  }
  return FY_OK;
}

static fy_code broadcast_args_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  FY_TRY(fy_shape_rank_is(a, 1, err));
  FY_TRY(fy_shape_rank_is(b, 1, err));
  const int64_t x = fy_dim_of(a, 0), y = fy_dim_of(b, 0);
  const int64_t n = x < 0 || y < 0 ? -1 : x > y ? x : y;
  FY_TRY(fy_shape_set(ctx, 0, 1, &n, err));
  fy_pshape both;
  if (ctx->in_as_shape[0].rank >= 0 && ctx->in_as_shape[1].rank >= 0 &&
      fy_shape_broadcast_two(ctx, ctx->in_as_shape[0], ctx->in_as_shape[1], &both, NULL) == FY_OK) {
    return fy_shape_set_value(ctx, 0, both.rank, both.dims, err);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- Pad
// All elements := |constant|, or zero (an empty string) without one.
static fy_code fill_value(fy_tensor *out, const fy_tensor *constant, fy_error *err) {
  static const double zero[2];
  const size_t size = fy_dtype_storage(out->dtype);
  for (int64_t i = 0; i < out->count; i++) {
    if (!constant && out->dtype == FY_STRING) {
      if (!fy_tensor_set_string(out, i, "", 0)) return fy_fail_oom(err, size);
    } else if (constant || fy_dtype_is_plain(out->dtype)) {
      const void *value = constant ? constant->data : (const void *)zero;
      FY_TRY(fy_copy_run(out->dtype, out->data, i, value, 0, 1, err));
    }
  }
  return FY_OK;
}

// Plain types: every output row (the last padded dim and what follows it) is written once.
typedef struct pad_job {
  int32_t outer;  // dims before the row's
  const int64_t *dims, *in_dims, *before;
  size_t left, middle, right;  // bytes of a row
  const char *in;
  char *out;
  size_t size;  // of an element
  uint64_t value[2];
} pad_job;

static void fill_bytes(char *to, size_t bytes, size_t size, const uint64_t *value) {
  if (!value[0] && !value[1])
    memset(to, 0, bytes);
  else
    fy_fill(to, value, size, (int64_t)(bytes / size));
}

static void pad_rows(void *arg, int64_t begin, int64_t end) {
  const pad_job *j = arg;
  const size_t row = j->left + j->middle + j->right;
  for (int64_t r = begin; r < end; r++) {
    int64_t rest = r, from = 0, step = 1;
    bool inside = true;
    for (int32_t d = j->outer - 1; d >= 0 && inside; d--) {
      const int64_t at = rest % j->dims[d] - j->before[d];
      inside = at >= 0 && at < j->in_dims[d];
      rest /= j->dims[d];
      from += at * step;
      step *= j->in_dims[d];
    }
    char *out = j->out + (size_t)r * row;
    if (!inside) {
      fill_bytes(out, row, j->size, j->value);
      continue;
    }
    fill_bytes(out, j->left, j->size, j->value);
    memcpy(out + j->left, j->in + (size_t)from * j->middle, j->middle);
    fill_bytes(out + j->left + j->middle, j->right, j->size, j->value);
  }
}

static void pad_plain(fy_kernel_ctx *ctx, const fy_tensor *in, const fy_tensor *constant,
                      const int64_t *before, fy_tensor *out) {
  int32_t last = in->rank - 1;
  size_t unit = fy_dtype_storage(in->dtype);
  pad_job j = {.dims = out->dims,
               .in_dims = in->dims,
               .before = before,
               .in = in->data,
               .out = out->data,
               .size = unit};
  if (constant) memcpy(j.value, constant->data, unit);
  for (; last > 0 && out->dims[last] == in->dims[last]; last--) unit *= (size_t)in->dims[last];
  j.outer = last < 0 ? 0 : last;
  j.middle = last < 0 ? unit : unit * (size_t)in->dims[last];
  if (last >= 0) {
    j.left = unit * (size_t)before[last];
    j.right = unit * (size_t)(out->dims[last] - in->dims[last] - before[last]);
  }
  const size_t row = j.left + j.middle + j.right;
  fy_parallel(ctx, (int64_t)((size_t)out->count * j.size / row), 5 + 0.1 * (double)row, pad_rows,
              &j);
}

static fy_code pad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *paddings = ctx->in[1];
  const fy_tensor *constant = ctx->site->num_inputs > 2 ? ctx->in[2] : NULL;
  char x[128], y[128];
  int64_t dims[FY_MAX_RANK], before[FY_MAX_RANK];
  if (paddings->rank != 2 || paddings->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "paddings must be a matrix with 2 columns: %s",
                   fy_tensor_shape_text(paddings, x));
  }
  if (paddings->dims[0] != in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The first dimension of paddings must be the rank of inputs%s %s",
                   fy_tensor_shape_text(paddings, x), fy_tensor_shape_text(in, y));
  }
  if (constant && constant->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "constant_values must be a scalar. Found: %s",
                   fy_tensor_shape_text(constant, x));
  }
  for (int32_t d = 0; d < in->rank; d++) {
    const int64_t b = fy_tensor_int(paddings, 2 * d), a = fy_tensor_int(paddings, 2 * d + 1);
    if (b < 0 || a < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Paddings must be non-negative: %lld %lld",
                     (long long)b, (long long)a);
    }
    before[d] = b;
    if (__builtin_add_overflow(b, in->dims[d], &dims[d]) ||
        __builtin_add_overflow(dims[d], a, &dims[d])) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Paddings are too large: %lld %lld", (long long)b,
                     (long long)a);
    }
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  if (in->count && fy_dtype_is_plain(in->dtype)) {
    pad_plain(ctx, in, constant, before, out);
    return FY_OK;
  }
  FY_TRY(fill_value(out, constant, err));
  if (in->count == 0) return FY_OK;
  // Rows of the input to their places.
  const int32_t last = in->rank - 1;
  const int64_t row = in->rank ? in->dims[last] : 1, rows = in->count / row;
  int64_t out_strides[FY_MAX_RANK];
  fy_dense_strides(in->rank, dims, out_strides);
  for (int64_t r = 0; r < rows; r++) {
    int64_t rest = r, at = in->rank ? before[last] : 0;
    for (int32_t d = last - 1; d >= 0; d--) {
      at += (rest % in->dims[d] + before[d]) * out_strides[d];
      rest /= in->dims[d];
    }
    FY_TRY(fy_copy_run(out->dtype, out->data, at, in->data, r * row, row, err));
  }
  return FY_OK;
}

static fy_code pad_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0], p = ctx->in[1];
  FY_TRY(fy_shape_rank_is(p, 2, err));
  if (p.rank == 2 && p.dims[1] >= 0 && p.dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be 2 but is %lld",
                   (long long)p.dims[1]);
  }
  int32_t rank = in.rank;
  if (p.rank == 2 && p.dims[0] >= 0 && p.dims[0] <= FY_MAX_RANK) {
    FY_TRY(fy_shape_rank_is(in, (int32_t)p.dims[0], err));
    rank = (int32_t)p.dims[0];
  }
  const fy_tensor *v = fy_shape_tensor(ctx, 1);
  for (int64_t i = 0; v && !v->device && i < v->count; i++) {
    if (fy_tensor_int(v, i) < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Paddings must be non-negative");
    }
  }
  if (rank < 0) return FY_OK;
  if (!v || in.rank < 0 || v->count != 2 * rank) return fy_shape_set(ctx, 0, rank, NULL, err);
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) {
    const int64_t b = fy_tensor_int(v, 2 * d), a = fy_tensor_int(v, 2 * d + 1);
    dims[d] = in.dims[d] < 0 || in.dims[d] > INT64_MAX / 4 || a > INT64_MAX / 4 || b > INT64_MAX / 4
                  ? -1
                  : in.dims[d] + a + b;
  }
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static const fy_sample tile_samples[] = {
    {"f32[2]=1,2; i32[1]=2", NULL, FY_OK, "1,2,1,2"},
    {"i16[1,2]=1,2; i32[2]=2,2", NULL, FY_OK, "1,2,1,2,1,2,1,2"},
    {"s[1]='a'; i32[1]=2", NULL, FY_OK, NULL},
    {"f32[2]=1,2; i32[1]=-1", NULL, FY_INVALID_ARGUMENT, "Expected multiples[0] >= 0, but got -1"},
};
static const fy_sample to_samples[] = {
    {"f32[2,1]=1,2; i32[2]=2,3", NULL, FY_OK, "1,1,1,2,2,2"},
    {"f32[2]=1,2; i32[1]=3", NULL, FY_INVALID_ARGUMENT, "Incompatible shapes: [2] vs. [3]"},
};
static const fy_sample args_samples[] = {{"i32[2]=2,1; i32[1]=3", NULL, FY_OK, "2,3"}};
static const fy_sample pad_samples[] = {
    {"f32[2]=1,2; i32[1,2]=1,2", NULL, FY_OK, "0,1,2,0,0"},
    {"f32[2]=1,2; i32[1,2]=1,-1", NULL, FY_INVALID_ARGUMENT, "Paddings must be non-negative: 1 -1"},
};
static const fy_sample pad_v2_samples[] = {
    {"f32[1,1]=1; i32[2,2]=1,0,0,1; f32[]=9", NULL, FY_OK, "9,9,1,9"},
};

FY_OP(Tile, .shape = tile_shape, .compute = tile, .host_inputs = 1 << 1, FY_SAMPLES(tile_samples));
FY_OP(BroadcastTo, .shape = broadcast_to_shape, .compute = broadcast_to, .host_inputs = 1 << 1,
      FY_SAMPLES(to_samples));
FY_OP(BroadcastArgs, .shape = broadcast_args_shape, .compute = broadcast_args, .flags = FY_OP_CHEAP,
      .host_inputs = 3, .host_outputs = 1, FY_SAMPLES(args_samples));
FY_OP(Pad, .shape = pad_shape, .compute = pad, .host_inputs = 1 << 1, FY_SAMPLES(pad_samples));
FY_OP(PadV2, .shape = pad_shape, .compute = pad, .host_inputs = 1 << 1, FY_SAMPLES(pad_v2_samples));
