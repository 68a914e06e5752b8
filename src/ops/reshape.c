// SPDX-License-Identifier: Apache-2.0
// reshape.c: the same elements under another shape, and questions about a shape: Reshape,
// ExpandDims, Squeeze, Shape, ShapeN, Size, Rank.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- Reshape
static fy_code too_many_elements(const fy_tensor *sizes, fy_error *err) {
  fy_str text;
  fy_str_init(&text);
  for (int64_t i = 0; i < sizes->count; i++)
    fy_str_printf(&text, "%s%lld", i ? ", " : "", (long long)fy_tensor_int(sizes, i));
  fy_code code =
      fy_fail(err, FY_INVALID_ARGUMENT, "Shape [%s] has too many elements", fy_str_text(&text));
  fy_str_free(&text);
  return code;
}

static fy_code reshape(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *sizes = ctx->in[1];
  int64_t dims[FY_MAX_RANK];
  int32_t unknown = -1;
  char text[128];
  if (sizes->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "sizes input must be 1-D, not %s",
                   fy_tensor_shape_text(sizes, text));
  }
  if (sizes->count > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "too many dimensions: must be < 254, but received %lld",
                   (long long)sizes->count);
  }
  const int32_t rank = (int32_t)sizes->count;
  int64_t known = 1;
  bool zero = false;
  for (int32_t i = 0; i < rank; i++) {
    const int64_t size = fy_tensor_int(sizes, i);
    dims[i] = size;
    if (size == -1) {
      if (unknown >= 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Only one input size may be -1, not both %d and %d", unknown, i);
      }
      unknown = i;
    } else if (size < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Size %d must be non-negative, not %lld", i,
                     (long long)size);
    } else if (size == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      if (!zero) return too_many_elements(sizes, err);
      known = INT64_MAX;  // behind a zero, sizes may be anything
    }
  }
  const int64_t wanted = zero ? 0 : known;
  if (unknown >= 0) {
    // With a zero among the sizes, the missing one is found from the sizes that are not zero.
    int64_t have = in->count;
    if (zero && in->count == 0) {
      have = 1;
      for (int32_t i = 0; i < in->rank; i++) {
        if (in->dims[i] > 0 && __builtin_mul_overflow(have, in->dims[i], &have)) have = INT64_MAX;
      }
    }
    dims[unknown] = have / known;
    if (have % known && in->count) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input to reshape is a tensor with %lld values, but the requested shape "
                     "requires a multiple of %lld",
                     (long long)in->count, (long long)known);
    }
  }
  int64_t count;
  if (!fy_shape_count(rank, dims, &count) || count != in->count) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Input to reshape is a tensor with %lld values, but the requested shape has %lld",
        (long long)in->count, (long long)(unknown >= 0 ? dims[unknown] * wanted : wanted));
  }
  return fy_out_alias(ctx, 0, 0, rank, dims, err);
}

static fy_code reshape_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape want;
  FY_TRY(fy_shape_from_input(ctx, 1, &want, err));
  if (want.rank < 0) return FY_OK;
  const fy_pshape in = ctx->in[0];
  int64_t dims[FY_MAX_RANK], known = 1, have = 1;
  int32_t missing = 0, unknown = -1, in_missing = 0, in_unknown = -1;
  for (int32_t i = 0; i < want.rank; i++) {
    dims[i] = want.dims[i];
    if (dims[i] < 0)
      missing++, unknown = i;
    else if (__builtin_mul_overflow(known, dims[i], &known))
      return FY_OK;
  }
  for (int32_t i = 0; i < in.rank; i++) {
    if (in.dims[i] < 0)
      in_missing++, in_unknown = i;
    else if (__builtin_mul_overflow(have, in.dims[i], &have))
      return FY_OK;
  }
  if (in.rank >= 0 && (in_missing == 0 || have == 0)) {
    if ((missing == 0 && known != have) || (missing && known == 0 && have != 0)) {
      char y[128];
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Cannot reshape a tensor with %lld elements to shape %s (%lld elements)",
                     (long long)have, fy_shape_text(want.rank, want.dims, y), (long long)known);
    }
    if (missing == 1 && known > 0) {
      if (have % known) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Dimension size must be evenly divisible by %lld but is %lld",
                       (long long)known, (long long)have);
      }
      dims[unknown] = have / known;
    }
  } else if (in_missing == 1 && missing == 0 && have > 0 && known % have) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimension size must be evenly divisible by %lld but is %lld", (long long)have,
                   (long long)known);
  } else if (in_missing == 1 && missing == 1 && known == have && known != 0) {
    dims[unknown] = in.dims[in_unknown];  // both unknown: they are the same
  }
  return fy_shape_set(ctx, 0, want.rank, dims, err);
}

// ---------------------------------------------------------------- ExpandDims, Squeeze
static fy_code expand_dims(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  if (ctx->in[1]->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "'dim' must be a tensor with a single value");
  }
  int64_t axis = fy_tensor_int(ctx->in[1], 0);
  if (axis < -1 - in->rank || axis > in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tried to expand dim index %lld for tensor with %d dimensions.", (long long)axis,
                   in->rank);
  }
  if (in->rank >= FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  if (axis < 0) axis += in->rank + 1;
  int64_t dims[FY_MAX_RANK];
  for (int32_t i = 0; i <= in->rank; i++) {
    dims[i] = i < axis ? in->dims[i] : i == axis ? 1 : in->dims[i - 1];
  }
  return fy_out_alias(ctx, 0, 0, in->rank + 1, dims, err);
}

static fy_code expand_dims_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  const fy_tensor *v = ctx->in_value[1];
  int64_t axis;
  if (!v && ctx->in[1].rank != 0) v = fy_shape_tensor(ctx, 1);
  ctx->asked_values |= 2;
  if (v && v->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "'dim' input must be a tensor with a single value");
  }
  if (in.rank < 0) return FY_OK;
  if (!fy_shape_int_value(ctx, 1, &axis)) return fy_shape_set(ctx, 0, in.rank + 1, NULL, err);
  if (axis < -1 - in.rank || axis > in.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dim %lld not in the interval [%d, %d].",
                   (long long)axis, -in.rank - 1, in.rank);
  }
  if (axis < 0) axis += in.rank + 1;
  int64_t dims[FY_MAX_RANK + 1];
  for (int32_t i = 0; i <= in.rank; i++) {
    dims[i] = i < axis ? in.dims[i] : i == axis ? 1 : in.dims[i - 1];
  }
  FY_TRY(fy_shape_set(ctx, 0, in.rank + 1, dims, err));
  int32_t n;  // a known scalar that becomes a vector of one is a shape
  int64_t *values;
  bool *known;
  if (in.rank == 0 && (ctx->in_value[0] || ctx->in_as_shape[0].rank >= 0) &&
      fy_shape_values(ctx, 0, &n, &values, &known)) {
    return fy_shape_set_value(ctx, 0, n, values, err);
  }
  return FY_OK;
}

// Which dims go; unknown sizes stay. |dims| of the result in |out|.
static fy_code squeeze_dims(int32_t rank, const int64_t *dims, const fy_attr *axes, int64_t *out,
                            int32_t *out_rank, fy_error *err) {
  bool chosen[FY_MAX_RANK] = {false};
  const uint32_t n = axes && axes->is_list ? axes->n : 0;
  for (uint32_t i = 0; i < n; i++) {
    const int64_t axis = axes->v.ints[i];
    if (axis < -rank || axis >= rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Tried to squeeze dim index %lld for tensor with %d dimensions.",
                     (long long)axis, rank);
    }
    chosen[axis < 0 ? axis + rank : axis] = true;
  }
  *out_rank = 0;
  for (int32_t i = 0; i < rank; i++) {
    const bool drop = n ? chosen[i] : dims[i] == 1;
    if (!drop) {
      out[(*out_rank)++] = dims[i];
    } else if (dims[i] >= 0 && dims[i] != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Can not squeeze dim[%d], expected a dimension of 1, got %lld", i,
                     (long long)dims[i]);
    }
  }
  return FY_OK;
}

static fy_code squeeze(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  FY_TRY(
      squeeze_dims(in->rank, in->dims, fy_site_attr(ctx->site, "squeeze_dims"), dims, &rank, err));
  return fy_out_alias(ctx, 0, 0, rank, dims, err);
}

static fy_code squeeze_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  const fy_attr *axes = fy_attrs_get(ctx->attrs, "squeeze_dims");
  if (in.rank < 0) return FY_OK;
  // Without axes, a dim of unknown size may or may not go.
  for (int32_t i = 0; i < in.rank && !(axes && axes->n); i++) {
    if (in.dims[i] < 0) return FY_OK;
  }
  for (uint32_t i = 0; axes && i < axes->n; i++) {
    if (axes->v.ints[i] >= -in.rank && axes->v.ints[i] < in.rank) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "squeeze_dims[%u] not in [%d,%d).", i, -in.rank,
                   in.rank);
  }
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  FY_TRY(squeeze_dims(in.rank, in.dims, axes, dims, &rank, err));
  return fy_shape_set(ctx, 0, rank, dims, err);
}

// ---------------------------------------------------------------- Shape, ShapeN, Size, Rank
static fy_code put_int(fy_tensor *out, int64_t i, int64_t value, const char *what, fy_error *err) {
  if (out->dtype == FY_INT64) {
    ((int64_t *)out->data)[i] = value;
    return FY_OK;
  }
  if (value > INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s output type is 32-bit  but %s does not fit: %lld",
                   what, "a dimension", (long long)value);
  }
  ((int32_t *)out->data)[i] = (int32_t)value;
  return FY_OK;
}

static fy_code shape_of(fy_kernel_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    const fy_tensor *in = ctx->in[i];
    fy_tensor *out;
    FY_TRY(fy_out(ctx, i, 1, (const int64_t[]){in->rank}, &out, err));
    for (int32_t d = 0; d < in->rank; d++) FY_TRY(put_int(out, d, in->dims[d], "Shape", err));
  }
  return FY_OK;
}

static fy_code shape_of_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->num_outputs; i++) {
    const fy_pshape in = ctx->in[i];
    const int64_t rank = in.rank;
    FY_TRY(fy_shape_set(ctx, i, 1, &rank, err));
    if (in.rank >= 0) FY_TRY(fy_shape_set_value(ctx, i, in.rank, in.dims, err));
  }
  return FY_OK;
}

static fy_code size_of(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  return put_int(out, 0, ctx->in[0]->count, "Size", err);
}

static fy_code rank_of(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  return put_int(out, 0, ctx->in[0]->rank, "Rank", err);
}

static fy_code size_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t count;
  if (fy_shape_known(ctx->in[0]) && fy_shape_count(ctx->in[0].rank, ctx->in[0].dims, &count)) {
    FY_TRY(fy_shape_set_value(ctx, 0, 1, &count, err));
  }
  return fy_shape_scalar(ctx, err);
}

static fy_code rank_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t rank = ctx->in[0].rank;
  if (rank >= 0) FY_TRY(fy_shape_set_value(ctx, 0, 1, &rank, err));
  return fy_shape_scalar(ctx, err);
}

static const fy_sample reshape_samples[] = {
    {"f32[2,3]=1,2,3,4,5,6; i32[2]=3,2", NULL, FY_OK, "1,2,3,4,5,6"},
    {"f32[2,3]=iota; i64[1]=-1", NULL, FY_OK, "0,1,2,3,4,5"},
    {"f32[0,3]=; i32[2]=-1,0", NULL, FY_OK, ""},
    {"f32[2,3]=iota; i32[1]=4", NULL, FY_INVALID_ARGUMENT,
     "Input to reshape is a tensor with 6 values, but the requested shape has 4"},
    {"f32[2,3]=iota; i32[2]=-1,-1", NULL, FY_INVALID_ARGUMENT,
     "Only one input size may be -1, not both 0 and 1"},
};
static const fy_sample expand_samples[] = {
    {"f32[2]=1,2; i32[]=-1", NULL, FY_OK, "1,2"},
    {"f32[2,3]=iota; i32[]=5", NULL, FY_INVALID_ARGUMENT,
     "Tried to expand dim index 5 for tensor with 2 dimensions."},
};
static const fy_sample squeeze_samples[] = {
    {"f32[1,3]=1,2,3", NULL, FY_OK, "1,2,3"},
    {"f32[1,3]=1,2,3", "squeeze_dims=[1]", FY_INVALID_ARGUMENT,
     "Can not squeeze dim[1], expected a dimension of 1, got 3"},
};
static const fy_sample shape_samples[] = {
    {"f32[2,3]=iota", NULL, FY_OK, NULL},
    {"f32[0]=", "out_type=int64", FY_OK, NULL},
};
static const fy_sample rank_samples[] = {{"f32[2,3]=iota", NULL, FY_OK, "2"}};

FY_OP(Reshape, .shape = reshape_shape, .compute = reshape, .flags = FY_OP_ALIAS | FY_OP_CHEAP,
      .host_inputs = 1 << 1, FY_SAMPLES(reshape_samples));
FY_OP(ExpandDims, .shape = expand_dims_shape, .compute = expand_dims,
      .flags = FY_OP_ALIAS | FY_OP_CHEAP, .host_inputs = 1 << 1, FY_SAMPLES(expand_samples));
FY_OP(Squeeze, .shape = squeeze_shape, .compute = squeeze, .flags = FY_OP_ALIAS | FY_OP_CHEAP,
      FY_SAMPLES(squeeze_samples));
// Who asks for a shape reads no element: the tensor stays where it is.
#define QUESTION (FY_OP_CHEAP | FY_OP_ANY_DEVICE_HOST_DATA | FY_OP_ANY_SPACE)
FY_OP(Shape, .shape = shape_of_shape, .compute = shape_of, .flags = QUESTION, .host_outputs = 1,
      FY_SAMPLES(shape_samples));
FY_OP(ShapeN, .shape = shape_of_shape, .compute = shape_of, .flags = QUESTION, .host_outputs = 1);
FY_OP(Size, .shape = size_shape, .compute = size_of, .flags = QUESTION, .host_outputs = 1,
      FY_SAMPLES(shape_samples));
FY_OP(Rank, .shape = rank_shape, .compute = rank_of, .flags = QUESTION, .host_outputs = 1,
      FY_SAMPLES(rank_samples));
