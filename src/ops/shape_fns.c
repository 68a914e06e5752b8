// SPDX-License-Identifier: Apache-2.0
// shape_fns.c: see shape_fns.h.

#include "ops/shape_fns.h"

bool fy_shape_known(fy_pshape s) {
  if (s.rank < 0) return false;
  for (int32_t i = 0; i < s.rank; i++) {
    if (s.dims[i] < 0) return false;
  }
  return true;
}

int64_t *fy_shape_dims(fy_shape_ctx *ctx, int32_t rank) {
  int64_t *dims = fy_arena_alloc(ctx->arena, (size_t)(rank > 0 ? rank : 1) * sizeof *dims);
  if (dims) {
    for (int32_t i = 0; i < rank; i++) dims[i] = -1;
  }
  return dims;
}

static fy_code make(fy_shape_ctx *ctx, int32_t rank, const int64_t *dims, fy_pshape *out,
                    fy_error *err) {
  int64_t *copy = fy_shape_dims(ctx, rank);
  if (!copy) return fy_fail_oom(err, (size_t)rank * sizeof *copy);
  for (int32_t i = 0; dims && i < rank; i++) copy[i] = dims[i];
  *out = (fy_pshape){rank, copy};
  return FY_OK;
}

fy_code fy_shape_set(fy_shape_ctx *ctx, int i, int32_t rank, const int64_t *dims, fy_error *err) {
  if (FY_UNLIKELY(i < 0 || i >= ctx->num_outputs)) {  // attributes that contradict each other
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s has no output %d", ctx->spec->name, i);
  }
  if (rank < 0) {
    ctx->out[i] = FY_UNKNOWN_SHAPE;
    return FY_OK;
  }
  if (rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %d",
                   FY_MAX_RANK, rank);
  }
  return make(ctx, rank, dims, &ctx->out[i], err);
}

fy_code fy_shape_set_value(fy_shape_ctx *ctx, int i, int32_t n, const int64_t *values,
                           fy_error *err) {
  if (n < 0 || n > FY_MAX_RANK) return FY_OK;
  return make(ctx, n, values, &ctx->out_as_shape[i], err);
}

// ---------------------------------------------------------------- checks
fy_code fy_shape_rank_is(fy_pshape s, int32_t rank, fy_error *err) {
  if (s.rank < 0 || s.rank == rank) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank %d but is rank %d", rank, s.rank);
}

fy_code fy_shape_rank_at_least(fy_pshape s, int32_t rank, fy_error *err) {
  if (s.rank < 0 || s.rank >= rank) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at least rank %d but is rank %d", rank,
                 s.rank);
}

fy_code fy_shape_rank_at_most(fy_pshape s, int32_t rank, fy_error *err) {
  if (s.rank < 0 || s.rank <= rank) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %d", rank,
                 s.rank);
}

fy_code fy_dim_merge(int64_t a, int64_t b, int64_t *out, fy_error *err) {
  *out = a < 0 ? b : a;
  if (a < 0 || b < 0 || a == b) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Dimensions must be equal, but are %lld and %lld",
                 (long long)a, (long long)b);
}

fy_code fy_dim_is(int64_t dim, int64_t want, fy_error *err) {
  if (dim < 0 || dim == want) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be %lld but is %lld", (long long)want,
                 (long long)dim);
}

fy_code fy_shape_merge(fy_shape_ctx *ctx, fy_pshape a, fy_pshape b, fy_pshape *out, fy_error *err) {
  *out = a.rank < 0 ? b : a;
  if (a.rank < 0 || b.rank < 0) return FY_OK;
  if (a.rank != b.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shapes must be equal rank, but are %d and %d", a.rank,
                   b.rank);
  }
  FY_TRY(make(ctx, a.rank, a.dims, out, err));
  for (int32_t i = 0; i < a.rank; i++) {
    if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i]) {
      char x[128], y[128];
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Dimension %d in both shapes must be equal, but are %lld and %lld. Shapes are "
                     "%s and %s.",
                     i, (long long)a.dims[i], (long long)b.dims[i],
                     fy_shape_text(a.rank, a.dims, x), fy_shape_text(b.rank, b.dims, y));
    }
    if (a.dims[i] < 0) ((int64_t *)(uintptr_t)out->dims)[i] = b.dims[i];
  }
  return FY_OK;
}

fy_code fy_shape_broadcast_two(fy_shape_ctx *ctx, fy_pshape a, fy_pshape b, fy_pshape *out,
                               fy_error *err) {
  *out = FY_UNKNOWN_SHAPE;
  if (a.rank < 0 || b.rank < 0) return FY_OK;
  const int32_t rank = a.rank > b.rank ? a.rank : b.rank;
  int64_t *dims = fy_shape_dims(ctx, rank);
  if (!dims) return fy_fail_oom(err, (size_t)rank * sizeof *dims);
  for (int32_t i = 0; i < rank; i++) {
    const int32_t ia = i - (rank - a.rank), ib = i - (rank - b.rank);
    const int64_t x = ia < 0 ? 1 : a.dims[ia], y = ib < 0 ? 1 : b.dims[ib];
    if (x < 0 || y < 0) {  // more than one wins over unknown: it must be that, or broadcast to it
      dims[i] = x > 1 ? x : y > 1 ? y : x == 1 ? y : y == 1 ? x : -1;
    } else if (x == 1 || y == 1) {
      dims[i] = x == 1 ? y : x;
    } else {
      FY_TRY(fy_dim_merge(x, y, &dims[i], err));
    }
  }
  *out = (fy_pshape){rank, dims};
  return FY_OK;
}

// ---------------------------------------------------------------- inputs as values
const fy_tensor *fy_shape_tensor(fy_shape_ctx *ctx, int i) {
  const uint64_t bit = 1ull << (i & 63);
  ctx->asked_values |= bit;
  if (ctx->in_value[i] || !ctx->evaluate || (ctx->evaluated & bit)) return ctx->in_value[i];
  ctx->evaluated |= bit;
  return ctx->evaluate(ctx, i);
}

bool fy_shape_int_value(fy_shape_ctx *ctx, int i, int64_t *out) {
  ctx->asked_values |= 1ull << (i & 63);
  const fy_tensor *v = ctx->in_value[i];
  if (!v && !fy_shape_known(ctx->in_as_shape[i])) v = fy_shape_tensor(ctx, i);
  if (v && v->count == 1 && !v->device && fy_dtype_is_integer(v->dtype)) {
    *out = fy_tensor_int(v, 0);
    return true;
  }
  const fy_pshape s = ctx->in_as_shape[i];
  if (!v && s.rank == 1 && s.dims[0] >= 0) {
    *out = s.dims[0];
    return true;
  }
  return false;
}

bool fy_shape_values(fy_shape_ctx *ctx, int i, int32_t *n, int64_t **values, bool **known) {
  ctx->asked_values |= 1ull << (i & 63);
  const fy_tensor *v = ctx->in_value[i];
  if (!v && !fy_shape_known(ctx->in_as_shape[i])) v = fy_shape_tensor(ctx, i);
  const fy_pshape s = ctx->in_as_shape[i];
  const bool constant = v && v->rank <= 1 && !v->device && fy_dtype_is_integer(v->dtype);
  if (constant && v->count <= FY_MAX_RANK) {
    *n = (int32_t)v->count;
  } else if (s.rank >= 0) {
    *n = s.rank;
  } else if (ctx->in[i].rank == 1 && ctx->in[i].dims[0] >= 0 && ctx->in[i].dims[0] <= FY_MAX_RANK) {
    *n = (int32_t)ctx->in[i].dims[0];
  } else {
    return false;
  }
  *values = fy_shape_dims(ctx, *n);
  *known = fy_arena_zalloc(ctx->arena, (size_t)(*n > 0 ? *n : 1) * sizeof **known);
  if (!*values || !*known) return false;
  for (int32_t k = 0; k < *n; k++) {
    if (constant) {
      (*values)[k] = fy_tensor_int(v, k);
      (*known)[k] = true;
    } else if (s.rank >= 0 && s.dims[k] >= 0) {
      (*values)[k] = s.dims[k];
      (*known)[k] = true;
    }
  }
  return true;
}

fy_code fy_shape_from_input(fy_shape_ctx *ctx, int i, fy_pshape *out, fy_error *err) {
  *out = FY_UNKNOWN_SHAPE;
  FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
  int32_t n;
  int64_t *values;
  bool *known;
  const uint64_t before = ctx->asked_values;
  const bool any = fy_shape_values(ctx, i, &n, &values, &known);
  ctx->asked_values = before;
  ctx->asked_shapes |= 1ull << (i & 63);
  if (!any) return FY_OK;
  const fy_dtype type = fy_dtype_base(ctx->in_types[i]);
  const bool whole = ctx->in_value[i] != NULL;
  if (type != FY_INT32 && type != FY_INT64 && whole) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor must be int32 or int64, but was %s",
                   fy_dtype_name(type));
  }
  const bool parts = !whole || (ctx->packed >> (i & 63) & 1);
  for (int32_t k = 0; k < n; k++) {
    if (parts && values[k] < 0) values[k] = -1;  // as good as unknown
    if (known[k] && values[k] < -1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid value in tensor used for shape: %lld",
                     (long long)values[k]);
    }
  }
  *out = (fy_pshape){n, values};
  return FY_OK;
}

fy_code fy_shape_from_input_or_scalar(fy_shape_ctx *ctx, int i, fy_pshape *out, fy_error *err) {
  *out = FY_UNKNOWN_SHAPE;
  FY_TRY(fy_shape_rank_at_most(ctx->in[i], 1, err));
  const fy_tensor *v = fy_shape_tensor(ctx, i);
  if (ctx->in[i].rank != 0 && !(v && v->rank == 0)) return fy_shape_from_input(ctx, i, out, err);
  if (!v) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Received a shape scalar with unknown static value.  A static value of '-1' is "
                   "required to represent an unknown shape.");
  }
  if (fy_tensor_int(v, 0) == -1) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Received an invalid shape scalar with a static value that is not '-1': "
                 "Tensor<type: %s shape: [] values: %lld>",
                 fy_dtype_name(v->dtype), (long long)fy_tensor_int(v, 0));
}

fy_code fy_shape_dim_from_scalar(fy_shape_ctx *ctx, int i, int64_t *out, fy_error *err) {
  *out = -1;
  const fy_tensor *v = fy_shape_tensor(ctx, i);
  if (!v) {
    fy_pshape s = ctx->in_as_shape[i];
    if (s.rank == 1 && ctx->in[i].rank == 0) *out = s.dims[0];
    return FY_OK;
  }
  if (v->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be scalar but has rank %d", v->rank);
  }
  if (fy_tensor_int(v, 0) < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimension size, given by scalar input %d, must be non-negative but is %lld", i,
                   (long long)fy_tensor_int(v, 0));
  }
  *out = fy_tensor_int(v, 0);
  return FY_OK;
}

fy_code fy_shape_axis(int64_t axis, int32_t rank, int32_t *out, fy_error *err) {
  if (axis < -rank || axis >= rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimension size, given by scalar input %lld must be in range [-%d, %d)",
                   (long long)axis, rank, rank);
  }
  *out = (int32_t)(axis < 0 ? axis + rank : axis);
  return FY_OK;
}

int64_t fy_shape_attr_int(const fy_shape_ctx *ctx, const char *name, int64_t otherwise) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, name);
  return a && a->kind == FY_ATTR_INT && !a->is_list ? a->v.i : otherwise;
}

bool fy_shape_attr_bool(const fy_shape_ctx *ctx, const char *name) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, name);
  return a && a->kind == FY_ATTR_BOOL && !a->is_list && a->v.b;
}

// ---------------------------------------------------------------- whole functions
fy_code fy_shape_none(fy_shape_ctx *ctx, fy_error *err) {
  (void)ctx, (void)err;
  return FY_OK;
}

fy_code fy_shape_scalar(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}

fy_code fy_shape_ref(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, 1, (const int64_t[]){2}, err);
}

fy_code fy_shape_handle(const fy_shape_ctx *ctx, int i, fy_error *err) {
  const bool ref = fy_dtype_is_ref(ctx->in_types[i]);
  FY_TRY(fy_shape_rank_is(ctx->in[i], ref ? 1 : 0, err));
  return ref ? fy_dim_is(fy_dim_of(ctx->in[i], 0), 2, err) : FY_OK;
}

fy_code fy_shape_of_handles(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->num_inputs; i++) FY_TRY(fy_shape_handle(ctx, i, err));
  return fy_shape_scalar(ctx, err);
}

fy_code fy_shape_unchanged(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[0].rank, ctx->in[0].dims, err);
}

fy_code fy_shape_at_least_1(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  return fy_shape_unchanged(ctx, err);
}

fy_code fy_shape_identity(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->num_outputs && i < ctx->num_inputs; i++) {
    FY_TRY(fy_shape_set(ctx, i, ctx->in[i].rank, ctx->in[i].dims, err));
    int32_t n;
    int64_t *values;
    bool *known;
    const bool small = ctx->in_as_shape[i].rank >= 0 || ctx->in_value[i];
    if (small && fy_shape_values(ctx, i, &n, &values, &known)) {
      FY_TRY(fy_shape_set_value(ctx, i, n, values, err));
    }
    ctx->out_handle[i] = ctx->in_handle[i];
  }
  return FY_OK;
}

fy_code fy_shape_broadcast(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_broadcast_two(ctx, ctx->in[0], ctx->in[1], &ctx->out[0], err);
}

fy_code fy_shape_broadcast_or_unknown(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  fy_pshape out = FY_UNKNOWN_SHAPE;
  if (a.rank < 0 || b.rank < 0) return FY_OK;
  // A dim that is not known promises nothing unless the other is 1: the result may become a scalar.
  const int32_t rank = a.rank > b.rank ? a.rank : b.rank;
  for (int32_t i = 0; i < rank; i++) {
    const int32_t ia = i - (rank - a.rank), ib = i - (rank - b.rank);
    const int64_t x = ia < 0 ? 1 : a.dims[ia], y = ib < 0 ? 1 : b.dims[ib];
    if ((x < 0 && y != 1) || (y < 0 && x != 1)) return FY_OK;
  }
  if (fy_shape_broadcast_two(ctx, a, b, &out, NULL) != FY_OK)
    return fy_shape_set(ctx, 0, 0, NULL, err);
  ctx->out[0] = out;
  return FY_OK;
}

fy_code fy_shape_merge_all(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape all = FY_UNKNOWN_SHAPE;
  for (int i = ctx->num_inputs - 1; i >= 0; i--) {
    fy_code code = fy_shape_merge(ctx, ctx->in[i], all, &all, err);
    if (code) {
      fy_error_append(err, "\n\tFrom merging shape %d with other shapes.", i);
      return code;
    }
  }
  return fy_shape_set(ctx, 0, all.rank, all.dims, err);
}

fy_code fy_shape_from_attr(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  if (!a || a->kind != FY_ATTR_SHAPE || a->is_list) return FY_OK;
  return fy_shape_set(ctx, 0, a->v.shape.rank, a->v.shape.dims, err);
}

fy_code fy_shape_from_first(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_from_input(ctx, 0, &ctx->out[0], err);
}

fy_code fy_shape_from_output_shapes(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "output_shapes");
  if (!a || !a->is_list || a->kind != FY_ATTR_SHAPE) return FY_OK;
  for (int i = 0; i < ctx->num_outputs && (uint32_t)i < a->n; i++) {
    FY_TRY(fy_shape_set(ctx, i, a->v.shapes[i].rank, a->v.shapes[i].dims, err));
  }
  return FY_OK;
}

fy_code fy_shape_reduction(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  const bool keep = fy_shape_attr_bool(ctx, "keep_dims");
  FY_TRY(fy_shape_rank_at_most(ctx->in[1], 1, err));
  const fy_tensor *axes = fy_shape_tensor(ctx, 1);
  if (in.rank < 0) return FY_OK;
  if (!axes) {
    if (keep) return fy_shape_set(ctx, 0, in.rank, NULL, err);
    if (ctx->in[1].rank == 0 && in.rank > 0) return fy_shape_set(ctx, 0, in.rank - 1, NULL, err);
    return FY_OK;
  }
  bool reduced[FY_MAX_RANK] = {false};
  for (int64_t k = 0; k < axes->count; k++) {
    const int64_t axis = fy_tensor_int(axes, k);
    if (axis < -in.rank || axis >= in.rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Invalid reduction dimension %lld for input with %d dimensions.",
                     (long long)axis, in.rank);
    }
    reduced[axis < 0 ? axis + in.rank : axis] = true;
  }
  int64_t dims[FY_MAX_RANK];
  int32_t n = 0;
  for (int32_t i = 0; i < in.rank; i++) {
    if (!reduced[i]) {
      dims[n++] = in.dims[i];
    } else if (keep) {
      dims[n++] = 1;
    }
  }
  return fy_shape_set(ctx, 0, n, dims, err);
}
