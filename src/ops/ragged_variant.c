// SPDX-License-Identifier: Apache-2.0
// ragged_variant.c: ragged tensors inside variants, so that they travel as one value:
// RaggedTensorToVariant (whole, or a vector with one variant for each row), RaggedTensorFromVariant
// (which stacks them again) and the gradient of the former.

#include "base/alloc.h"
#include "ops/ragged.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- the object
static void destroy(fy_object *self) {
  fy_ragged *r = (fy_ragged *)self;
  for (int i = 0; i < r->ranks; i++) fy_tensor_release(r->splits[i]);
  fy_tensor_release(r->values);
  fy_free(r->splits);
  fy_free(r);
}

const fy_object_type fy_ragged_type = {"RaggedTensorVariant", destroy};

fy_code fy_ragged_new(int ranks, fy_ragged **out, fy_error *err) {
  *out = NULL;
  fy_ragged *r = fy_calloc(1, sizeof *r);
  if (!r) return fy_fail_oom(err, sizeof *r);
  atomic_init(&r->object.refs, 1);
  r->object.type = &fy_ragged_type;
  r->splits = fy_calloc((size_t)ranks + 1, sizeof *r->splits);
  if (!r->splits) {
    destroy(&r->object);
    return fy_fail_oom(err, sizeof *r);
  }
  r->ranks = ranks;
  *out = r;
  return FY_OK;
}

// Rows [from, to) of |t| as a tensor of their own; without its first dimension if |drop|.
static fy_code take_rows(const fy_tensor *t, int64_t from, int64_t to, bool drop, fy_tensor **out,
                         fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  const int32_t skip = drop ? 1 : 0;
  const int64_t run = fy_product(t->dims + 1, t->rank - 1);
  for (int32_t d = 1; d < t->rank; d++) dims[d - skip] = t->dims[d];
  if (!drop) dims[0] = to - from;
  FY_TRY(fy_tensor_new(t->dtype, t->rank - skip, dims, out, err));
  fy_code code = fy_copy_run(t->dtype, (*out)->data, 0, t->data, from * run, (*out)->count, err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

// Splits [from, to] of |t|, counted from zero.
static fy_code take_splits(const fy_tensor *t, int64_t from, int64_t to, fy_tensor **out,
                           fy_error *err) {
  const int64_t n = to - from + 1;
  FY_TRY(fy_tensor_new(t->dtype, 1, &n, out, err));
  for (int64_t i = 0; i < n; i++) {
    fy_index_put(*out, i, fy_tensor_int(t, from + i) - fy_tensor_int(t, from));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- RaggedTensorToVariant
fy_code fy_ragged_check_splits(const fy_tensor *splits, int64_t values, fy_error *err) {
  if (splits->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid ragged splits: ragged splits must be rank 1 but is rank %d",
                   splits->rank);
  }
  if (splits->count < 1) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Invalid ragged splits: ragged splits must have at least one splits, but is empty");
  }
  if (fy_tensor_int(splits, 0) != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid ragged splits: first element of ragged splits  must be 0 but is %lld",
                   (long long)fy_tensor_int(splits, 0));
  }
  for (int64_t i = 1; i < splits->count; i++) {
    const int64_t v = fy_tensor_int(splits, i), before = fy_tensor_int(splits, i - 1);
    if (v >= before) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid ragged splits: ragged splits must be monotonically increasing, but "
                   "ragged_splits[%lld]=%lld is smaller than row_splits[%lld]=%lld",
                   (long long)i, (long long)v, (long long)(i - 1), (long long)before);
  }
  const int64_t last = fy_tensor_int(splits, splits->count - 1);
  if (last == values) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Invalid ragged splits: last element of ragged splits must be the number of "
                 "ragged values(%lld) but is %lld",
                 (long long)values, (long long)last);
}

static fy_code check_splits(const fy_kernel_ctx *ctx, int ranks, fy_error *err) {
  const fy_tensor *values = ctx->in[ranks];
  for (int d = 0; d < ranks; d++) {
    const int64_t rows = values->rank ? values->dims[0] : 0;
    const int64_t limit = d + 1 < ranks ? ctx->in[d + 1]->count - 1 : rows;
    FY_TRY(fy_ragged_check_splits(ctx->in[d], limit, err));
  }
  if (ranks && values->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ragged values must have rank >= 1");
  }
  return FY_OK;
}

// Row |row| of the ragged tensor in the inputs.
static fy_code one_row(const fy_kernel_ctx *ctx, int ranks, int64_t row, fy_ragged **out,
                       fy_error *err) {
  const fy_tensor *values = ctx->in[ranks];
  FY_TRY(fy_ragged_new(ranks ? ranks - 1 : 0, out, err));
  fy_ragged *r = *out;
  fy_code code = FY_OK;
  if (ranks == 0) {
    code = take_rows(values, row, row + 1, true, &r->values, err);
  } else {
    int64_t from = fy_tensor_int(ctx->in[0], row), to = fy_tensor_int(ctx->in[0], row + 1);
    for (int d = 1; d < ranks && !code; d++) {
      code = take_splits(ctx->in[d], from, to, &r->splits[d - 1], err);
      from = fy_tensor_int(ctx->in[d], from);
      to = fy_tensor_int(ctx->in[d], to);
    }
    if (!code) code = take_rows(values, from, to, false, &r->values, err);
  }
  if (code) {
    fy_object_release(&r->object);
    *out = NULL;
  }
  return code;
}

static fy_code to_variant(fy_kernel_ctx *ctx, fy_error *err) {
  const int ranks = (int)fy_site_int(ctx->site, "RAGGED_RANK");
  const fy_tensor *values = ctx->in[ranks];
  fy_tensor *out;
  fy_ragged *r;
  FY_TRY(check_splits(ctx, ranks, err));
  if (!fy_site_bool(ctx->site, "batched_input")) {
    FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
    FY_TRY(fy_ragged_new(ranks, &r, err));
    fy_code code = FY_OK;
    for (int d = 0; d < ranks && !code; d++) code = fy_tensor_clone(ctx->in[d], &r->splits[d], err);
    if (!code) code = fy_tensor_clone(values, &r->values, err);
    if (code) {
      fy_object_release(&r->object);
      return code;
    }
    ((fy_object **)out->data)[0] = &r->object;
    return FY_OK;
  }
  if (values->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Can't unbatch rank-0 tensor.");
  }
  const int64_t n = ranks ? ctx->in[0]->count - 1 : values->dims[0];
  FY_TRY(fy_out(ctx, 0, 1, &n, &out, err));
  for (int64_t i = 0; i < n; i++) {
    FY_TRY(one_row(ctx, ranks, i, &r, err));
    ((fy_object **)out->data)[i] = &r->object;
  }
  return FY_OK;
}

static fy_code to_variant_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int ranks = (int)fy_shape_attr_int(ctx, "RAGGED_RANK", 0);
  for (int d = 0; d < ranks; d++) FY_TRY(fy_shape_rank_is(ctx->in[d], 1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[ranks], 1, err));
  if (!fy_shape_attr_bool(ctx, "batched_input")) return fy_shape_set(ctx, 0, 0, NULL, err);
  int64_t n = -1;
  if (ranks) {
    n = fy_dim_of(ctx->in[0], 0);
    if (n == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Negative dimension size caused by subtracting 1 from "
                     "0");
    }
    n = n < 0 ? -1 : n - 1;
  } else {
    FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
    n = fy_dim_of(ctx->in[0], 0);
  }
  return fy_shape_set(ctx, 0, 1, &n, err);
}

// ---------------------------------------------------------------- RaggedTensorFromVariant
// "TensorList" of "tensorflow::TensorList".
static const char *short_name(const char *name) {
  const char *colon = strrchr(name, ':');
  return colon ? colon + 1 : name;
}

// The ragged tensor in element |i|, checked against what the op expects.
static fy_code ragged_at(const fy_tensor *t, int64_t i, int ranks, fy_dtype values, fy_dtype splits,
                         fy_ragged **out, fy_error *err) {
  fy_object *o = ((fy_object *const *)t->data)[i];
  if (!o || o->type != &fy_ragged_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input Variant element at index %lld doesn't hold a RaggedTensorVariant: "
                   "Variant<type: %s value: %s>",
                   (long long)i, o ? o->type->name : "", o ? short_name(o->type->name) : "<empty>");
  }
  fy_ragged *r = *out = (fy_ragged *)o;
  if (r->ranks != ranks) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Encoded input RaggedTensorVariant has ragged_rank=%d.  Expected ragged_rank=%d.", r->ranks,
        ranks);
  }
  if (r->values->dtype != values) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected values Tensor dtype: %s, found: %s",
                   fy_dtype_name(values), fy_dtype_name(r->values->dtype));
  }
  if (r->values->rank < 1 && ranks != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Ragged values must have rank >= 1; encoded scalar element at index %lld has "
                   "values Tensor: <scalar>",
                   (long long)i);
  }
  for (int d = 0; d < ranks; d++) {
    if (r->splits[d]->dtype == splits) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected row_splits Tensor dtype: %s, found: %s",
                   fy_dtype_name(splits), fy_dtype_name(r->splits[d]->dtype));
  }
  return FY_OK;
}

static int64_t rows_of(const fy_ragged *r) {
  return r->ranks ? r->splits[0]->count - 1 : r->values->rank ? r->values->dims[0] : 0;
}

// Level |level| of the pieces' splits, one behind the other.
static fy_code join_splits(fy_kernel_ctx *ctx, int out_at, fy_ragged *const *pieces, int64_t n,
                           int level, fy_error *err) {
  int64_t size = 1, at = 0, base = 0;
  fy_tensor *out;
  for (int64_t i = 0; i < n; i++) size += pieces[i]->splits[level]->count - 1;
  FY_TRY(fy_out(ctx, out_at, 1, &size, &out, err));
  fy_index_put(out, 0, 0);
  for (int64_t i = 0; i < n; i++) {
    const fy_tensor *s = pieces[i]->splits[level];
    for (int64_t k = 1; k < s->count; k++) fy_index_put(out, ++at, base + fy_tensor_int(s, k));
    base += fy_tensor_int(s, s->count - 1);
  }
  return FY_OK;
}

static fy_code join_values(fy_kernel_ctx *ctx, int out_at, fy_ragged *const *pieces, int64_t n,
                           fy_error *err) {
  int64_t dims[FY_MAX_RANK] = {0}, to = 0;
  int32_t rank = 1;
  char x[128], y[128];
  fy_tensor *out;
  for (int64_t i = 0; i < n; i++) {
    const fy_tensor *v = pieces[i]->values;
    const fy_tensor *first = pieces[0]->values;
    if (v->rank != first->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Rank of values must match for all components; values shape at index 0: %s, "
                     "values shape at index %lld: %s",
                     fy_tensor_shape_text(first, x), (long long)i, fy_tensor_shape_text(v, y));
    }
    if (v->rank < 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Rank of input values must be at least 1, got a scalar at index %lld",
                     (long long)i);
    }
    if (i && !fy_shape_equal(v->rank - 1, v->dims + 1, first->rank - 1, first->dims + 1)) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "All flat_values must have compatible shapes.  Shape at index 0: %s.  Shape at "
          "index %lld: %s",
          fy_tensor_shape_text(first, x), (long long)i, fy_tensor_shape_text(v, y));
    }
    if (i == 0) {
      rank = v->rank;
      for (int32_t d = 1; d < rank; d++) dims[d] = v->dims[d];
    }
    dims[0] += v->dims[0];
  }
  FY_TRY(fy_out(ctx, out_at, rank, dims, &out, err));
  for (int64_t i = 0; i < n; i++) {
    const fy_tensor *v = pieces[i]->values;
    FY_TRY(fy_copy_run(out->dtype, out->data, to, v->data, 0, v->count, err));
    to += v->count;
  }
  return FY_OK;
}

static fy_code put_copy(fy_kernel_ctx *ctx, int i, const fy_tensor *t, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, i, t, &out, err));
  return fy_copy_run(t->dtype, out->data, 0, t->data, 0, t->count, err);
}

static fy_code from_variant(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const int64_t outs = fy_site_int(ctx->site, "output_ragged_rank");
  int64_t ranks = fy_site_int(ctx->site, "input_ragged_rank");
  const fy_dtype values = fy_site_type(ctx->site, "Tvalues");
  const fy_dtype splits = fy_site_type(ctx->site, "Tsplits");
  void *memory;
  if (ranks == -1) {
    ranks = outs - in->rank;
    if (ranks < 0) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must "
          "be >= 0, found output_ragged_rank: %lld, encoded_variant.dims(): %d, inferred "
          "input_ragged_rank: %lld",
          (long long)outs, in->rank, (long long)ranks);
    }
  }
  if (outs != ranks + in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
                   "output_ragged_rank: %lld, input_ragged_rank: %lld, encoded_variant.dims(): %d.",
                   (long long)outs, (long long)ranks, in->rank);
  }
  const int64_t n = in->count;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(fy_ragged *), &memory, err));
  fy_ragged **pieces = memory;
  for (int64_t i = 0; i < n; i++) {
    FY_TRY(ragged_at(in, i, (int)ranks, values, splits, &pieces[i], err));
  }
  if (in->rank == 0) {
    for (int d = 0; d < (int)ranks; d++) FY_TRY(put_copy(ctx, d, pieces[0]->splits[d], err));
    return put_copy(ctx, (int)outs, pieces[0]->values, err);
  }
  // The dimensions of the variant itself.
  int64_t rows = 1;
  fy_tensor *out;
  for (int32_t d = 0; d + 1 < in->rank; d++) {
    rows *= in->dims[d];
    const int64_t size = rows + 1;
    FY_TRY(fy_out(ctx, d, 1, &size, &out, err));
    for (int64_t i = 0; i < size; i++) fy_index_put(out, i, i * in->dims[d + 1]);
  }
  const int64_t size = n + 1;
  int64_t end = 0;
  FY_TRY(fy_out(ctx, in->rank - 1, 1, &size, &out, err));
  fy_index_put(out, 0, 0);
  for (int64_t i = 0; i < n; i++) fy_index_put(out, i + 1, end += rows_of(pieces[i]));
  for (int d = 0; d < (int)ranks; d++) {
    FY_TRY(join_splits(ctx, in->rank + d, pieces, n, d, err));
  }
  return join_values(ctx, (int)outs, pieces, n, err);
}

static fy_code from_variant_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t ranks = fy_shape_attr_int(ctx, "input_ragged_rank", -1);
  const int64_t outs = fy_shape_attr_int(ctx, "output_ragged_rank", 0), unknown = -1;
  if (ranks >= 0) FY_TRY(fy_shape_rank_is(ctx->in[0], (int32_t)(outs - ranks), err));
  for (int d = 0; d < (int)outs; d++) FY_TRY(fy_shape_set(ctx, d, 1, &unknown, err));
  return FY_OK;
}

// ---------------------------------------------------------------- RaggedTensorToVariantGradient
// Puts the rows' gradients back side by side; a row nobody used has none, which means zeros.
static fy_code variant_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *splits = ctx->in[1];
  const fy_dtype type = fy_site_type(ctx->site, "Tvalues");
  int64_t dims[FY_MAX_RANK], to = 0;
  int32_t rank;
  fy_tensor *out;
  FY_TRY(fy_value_shape(ctx->in[2], &rank, dims, err));
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  const int64_t run = rank > 0 ? fy_product(dims + 1, rank - 1) : 1;
  if (fy_dtype_is_plain(type) && out->count) memset(out->data, 0, fy_tensor_bytes(out));
  for (int64_t i = 0; i < in->count; i++) {
    fy_object *o = ((fy_object *const *)in->data)[i];
    int64_t n = out->count / in->count;
    fy_ragged *r = NULL;
    if (o) {
      const int ranks = o->type == &fy_ragged_type ? ((fy_ragged *)o)->ranks : 0;
      FY_TRY(ragged_at(in, i, ranks, type, fy_site_type(ctx->site, "Tsplits"), &r, err));
      n = r->values->count;
    } else if (i + 1 < splits->count) {
      n = (fy_tensor_int(splits, i + 1) - fy_tensor_int(splits, i)) * run;
    }
    if (n < 0 || n > out->count - to) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "the gradients have more values than dense_values_shape says");
    }
    if (r) FY_TRY(fy_copy_run(type, out->data, to, r->values->data, 0, n, err));
    to += n;
  }
  if (to == out->count) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "the gradients have fewer values than dense_values_shape says");
}

static fy_code gradient_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape shape;
  FY_TRY(fy_shape_from_input(ctx, 2, &shape, err));
  return fy_shape_set(ctx, 0, shape.rank, shape.dims, err);
}

static const fy_sample samples[] = {
    {"i64[3]=0,2,3; f32[3]=iota", "RAGGED_RANK=1; batched_input=true", FY_OK, NULL},
    {"i64[3]=0,2,4; f32[3]=iota", "RAGGED_RANK=1; batched_input=true", FY_INVALID_ARGUMENT,
     "last element of ragged splits must be the number of ragged values(3) but is 4"},
};
FY_OP(RaggedTensorToVariant, .shape = to_variant_shape, .compute = to_variant,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(RaggedTensorFromVariant, .shape = from_variant_shape, .compute = from_variant,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);
FY_OP(RaggedTensorToVariantGradient, .shape = gradient_shape, .compute = variant_gradient,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC);
