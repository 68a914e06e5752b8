// SPDX-License-Identifier: Apache-2.0
// resource_scatter.c: reading and updating parts of a variable: ResourceGather, ResourceGatherNd,
// ResourceScatter* and ResourceScatterNd*. A value that somebody else holds is copied first.

#include <stdio.h>

#include "ops/gather.h"
#include "ops/resource.h"
#include "ops/scatter.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/variable.h"

// The ops on references (ScatterAdd …) are the same loops; they return the reference.
static bool is_ref(const fy_site *site) {
  return site->num_outputs == 1;
}

static fy_code check_prefix(const fy_tensor *indices, const fy_tensor *updates, fy_error *err) {
  const int32_t n = indices->rank - 1;
  char x[128], y[128];
  for (int32_t d = 0; d < n && d < updates->rank; d++) {
    if (indices->dims[d] == updates->dims[d]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimensions [0,%d) of indices[shape=%s] = %lld must match dimensions [0,%d) of "
                   "updates[shape=%s] = %lld",
                   n, fy_tensor_shape_text(indices, x), (long long)indices->dims[d], n,
                   fy_tensor_shape_text(updates, y), (long long)updates->dims[d]);
  }
  return FY_OK;
}

// As fy_scatter_nd_check, in the words TensorFlow has for variables.
static fy_code nd_check(const fy_tensor *target, const fy_tensor *indices, const fy_tensor *updates,
                        fy_error *err) {
  char x[128], y[128];
  if (target->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Output must be at least 1-D, got shape: %s",
                   fy_tensor_shape_text(target, x));
  }
  const bool none = indices->count == 0 && updates->count == 0;
  if (!none && (target->count == 0 || indices->count == 0 || updates->count == 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Indices and updates specified for empty output.  indices shape: %s",
                   fy_tensor_shape_text(indices, x));
  }
  if (indices->rank == 1 && updates->rank > 0) {
    return fy_scatter_vector_check(target->rank, target->dims, indices, updates, err);
  }
  if (fy_scatter_nd_check(target, indices, updates, NULL) == FY_OK) return FY_OK;
  if (target->rank < 1 || indices->rank < 1 || updates->rank < 1) {
    return fy_scatter_nd_check(target, indices, updates, err);
  }
  FY_TRY(check_prefix(indices, updates, err));
  const int32_t batch = indices->rank - 1;
  const long long depth = (long long)indices->dims[batch];
  for (int32_t d = 0; d < batch; d++) {
    if (d < updates->rank && indices->dims[d] == updates->dims[d]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimensions [0,%d) of indices[shape=%s] must match dimensions [0,%d) of "
                   "updates[shape=%s]",
                   batch, fy_tensor_shape_text(indices, x), batch,
                   fy_tensor_shape_text(updates, y));
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Dimensions [%lld,%d) of input[shape=%s] must match dimensions [%lld,%d) of "
                 "updates[shape=%s]",
                 depth, target->rank, fy_tensor_shape_text(target, x), depth, updates->rank,
                 fy_tensor_shape_text(updates, y));
}

static fy_code variable_of(fy_kernel_ctx *ctx, fy_variable **out, fy_error *err) {
  fy_object *o = NULL;
  if (fy_dtype_is_ref(ctx->site->in_types[0])) return fy_ref_variable(ctx->in[0], out, err);
  fy_code code = fy_resource_object(ctx->in[0], &fy_variable_type, &o, err);
  *out = (fy_variable *)o;
  return code;
}

static fy_code fail_missing(const fy_variable *v, fy_error *err) {
  return fy_fail(err, FY_NOT_FOUND, "Resource %s/%s/%s does not exist.", v->container, v->name,
                 fy_variable_type.name);
}

static fy_tensor *view_of(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage) {
  return ctx->svc->view ? ctx->svc->view(ctx, t, storage) : t;
}

// ---------------------------------------------------------------- updates
static fy_code fail_index(const fy_tensor *indices, int64_t at, int64_t value, int64_t limit,
                          fy_error *err) {
  char place[128];
  return fy_fail(err, FY_INVALID_ARGUMENT, "indices%s = %lld is not in [0, %lld)",
                 fy_place_text(indices->rank, indices->dims, at, place), (long long)value,
                 (long long)limit);
}

static fy_code scatter_rows(fy_scatter_kind kind, fy_tensor *to, const fy_tensor *indices,
                            const fy_tensor *updates, fy_error *err) {
  const int64_t limit = to->rank > 0 ? to->dims[0] : 0;
  const int64_t run = to->rank > 0 ? fy_product(to->dims + 1, to->rank - 1) : 0;
  const fy_scatter_loop loop = fy_scatter_find(kind, to->dtype);
  const size_t size = fy_dtype_storage(to->dtype);
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at = fy_tensor_int(indices, i);
    if ((uint64_t)at >= (uint64_t)limit) return fail_index(indices, i, at, limit, err);
    if (updates->rank > 0) {
      FY_TRY(fy_scatter_apply(kind, loop, to, at * run, updates, i * run, run, err));
    } else if (loop) {
      loop((char *)to->data + (size_t)(at * run) * size, updates->data, run, 0);
    } else {
      for (int64_t k = 0; k < run; k++) {
        FY_TRY(fy_scatter_apply(kind, loop, to, at * run + k, updates, 0, 1, err));
      }
    }
  }
  return FY_OK;
}

static fy_code check_rows(bool is_ref, const fy_tensor *to, const fy_tensor *indices,
                          const fy_tensor *updates, fy_error *err) {
  char x[128], y[128], z[128];
  if (is_ref && to->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "params must be at least 1-D, got shape %s",
                   fy_tensor_shape_text(to, x));
  }
  if (updates->rank == 0) return FY_OK;
  const bool prefix = updates->rank >= indices->rank &&
                      fy_shape_equal(indices->rank, indices->dims, indices->rank, updates->dims);
  if (!is_ref && !prefix && indices->count > 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The shape of indices (%s) must be a prefix of the shape of updates (%s)",
                   fy_tensor_shape_text(indices, x), fy_tensor_shape_text(updates, y));
  }
  const int32_t rest = to->rank - 1;
  if (prefix && rest >= 0 && updates->rank == indices->rank + rest &&
      fy_shape_equal(rest, to->dims + 1, rest, updates->dims + indices->rank)) {
    return FY_OK;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = "
                 "[], got updates.shape %s, indices.shape %s, params.shape %s",
                 fy_tensor_shape_text(updates, x), fy_tensor_shape_text(indices, y),
                 fy_tensor_shape_text(to, z));
}

typedef struct resource_scatter {
  fy_scatter_kind kind;
  bool nd;
} resource_scatter;

static bool has_zero(const fy_tensor *t) {
  const int parts = fy_dtype_is_complex(t->dtype) ? 2 : 1;
  for (int64_t i = 0; i < t->count; i++) {
    bool zero = true;
    if (parts == 2) {
      const bool wide = t->dtype == FY_COMPLEX128;
      for (int64_t k = 2 * i; k < 2 * i + 2; k++) {
        zero &= wide ? ((const double *)t->data)[k] == 0 : ((const float *)t->data)[k] == 0;
      }
    } else {
      zero =
          fy_dtype_is_floating(t->dtype) ? fy_tensor_double(t, i) == 0 : fy_tensor_int(t, i) == 0;
    }
    if (zero) return true;
  }
  return false;
}

static fy_code update_locked(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **garbage,
                             fy_error *err) {
  const resource_scatter *how = ctx->site->op->impl->aux;
  const fy_tensor *indices = ctx->in[1], *updates = ctx->in[2];
  if (!v->value) return fail_missing(v, err);
  if (v->value->dtype != updates->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "DType of scatter resource and updates does not match.");
  }
  if (how->nd) {
    FY_TRY(fy_scatter_policy(ctx->site, err));
    if (is_ref(ctx->site)) FY_TRY(check_prefix(indices, updates, err));
    FY_TRY(nd_check(v->value, indices, updates, err));
  } else {
    FY_TRY(check_rows(is_ref(ctx->site), v->value, indices, updates, err));
    if (how->kind == FY_SCATTER_DIV && !is_ref(ctx->site) && has_zero(updates)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "updates must not contain 0");
    }
  }
  fy_tensor storage;
  FY_TRY(fy_variable_own(ctx, v, garbage, err));
  fy_tensor *to = view_of(ctx, v->value, &storage);
  if (how->nd) return fy_scatter_nd_run(ctx->site, how->kind, to, indices, updates, err);
  return scatter_rows(how->kind, to, indices, updates, err);
}

static fy_code scatter_variable(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  fy_tensor *garbage = NULL;
  FY_TRY(variable_of(ctx, &v, err));
  fy_lock(&v->lock);
  fy_code code = update_locked(ctx, v, &garbage, err);
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  if (!code) code = fy_out_ref(ctx, err);
  return code;
}

// ---------------------------------------------------------------- reads of the value as it is now
static fy_code gather_rows(fy_kernel_ctx *ctx, const fy_tensor *params, int64_t batch_dims,
                           fy_error *err) {
  const fy_tensor *indices = ctx->in[1];
  if (params->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "params must be at least 1 dimensional");
  }
  if (batch_dims > params->rank) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "params must have at least %lld (batch_dims) dimensions but it has shape %s",
                   (long long)batch_dims, fy_tensor_shape_text(params, x));
  }
  if (batch_dims > indices->rank || batch_dims == params->rank ||
      !fy_shape_equal((int32_t)batch_dims, params->dims, (int32_t)batch_dims, indices->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "batch_dims (%lld) does not fit the shapes of params and indices",
                   (long long)batch_dims);
  }
  for (int64_t i = 0; params->count == 0 && i < indices->count; i++) {  // nothing would be read
    const int64_t at = fy_tensor_int(indices, i);
    if (at < 0 || at >= params->dims[0]) return fail_index(indices, i, at, params->dims[0], err);
  }
  if (batch_dims == 0) return fy_gather(ctx, params, indices, 0, 0, err);
  const int32_t b = (int32_t)batch_dims;
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < indices->rank; d++) dims[rank++] = indices->dims[d];
  for (int32_t d = b + 1; d < params->rank; d++) dims[rank++] = params->dims[d];
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  // An index counts from the start of its batch, and TensorFlow only checks that it stays within all of
  // them; the text is about the first dim.
  const int64_t each = params->dims[b], limit = fy_product(params->dims, b + 1);
  const int64_t per_batch = fy_product(indices->dims + b, indices->rank - b);
  const int64_t run = fy_product(params->dims + b + 1, params->rank - 1 - b);
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t at =
        (int64_t)((uint64_t)fy_tensor_int(indices, i) + (uint64_t)(i / per_batch * each));
    if ((uint64_t)at >= (uint64_t)limit) {
      return fail_index(indices, i, at, params->dims[0], err);
    }
    FY_TRY(fy_copy_run(out->dtype, out->data, i * run, params->data, at * run, run, err));
  }
  return FY_OK;
}

static fy_code fail_row(const fy_kernel_ctx *ctx, const fy_tensor *indices, int64_t row,
                        const fy_tensor *params, fy_error *err) {
  const int64_t depth = indices->dims[indices->rank - 1];
  char place[128], shape[128];
  fy_str text;
  fy_str_init(&text);
  for (int64_t k = 0; k < depth; k++) {
    fy_str_printf(&text, "%s%lld", k ? ", " : "",
                  (long long)fy_tensor_int(indices, row * depth + k));
  }
  fy_fail(err, FY_INVALID_ARGUMENT,
          "indices%s = [%s] does not index into param shape %s, node name: %s",
          fy_place_text(indices->rank - 1, indices->dims, row, place), fy_str_text(&text),
          fy_tensor_shape_text(params, shape), ctx->site->node_name ? ctx->site->node_name : "");
  fy_str_free(&text);
  return FY_INVALID_ARGUMENT;
}

static fy_code gather_nd(fy_kernel_ctx *ctx, const fy_tensor *params, fy_error *err) {
  const fy_tensor *indices = ctx->in[1];
  fy_tensor *out;
  FY_TRY(fy_gather_nd_output(ctx, params, indices, &out, err));
  const int64_t depth = indices->dims[indices->rank - 1];
  const int64_t rows = fy_product(indices->dims, indices->rank - 1);
  const int64_t run = fy_product(params->dims + depth, params->rank - (int32_t)depth);
  for (int64_t r = 0; r < rows; r++) {
    int64_t from = 0;
    for (int64_t k = 0; k < depth; k++) {
      const int64_t at = fy_tensor_int(indices, r * depth + k);
      if ((uint64_t)at >= (uint64_t)params->dims[k]) {
        return fail_row(ctx, indices, r, params, err);
      }
      from = from * params->dims[k] + at;
    }
    FY_TRY(fy_copy_run(out->dtype, out->data, r * run, params->data, from * run, run, err));
  }
  return FY_OK;
}

static fy_code gather_variable(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  const bool nd = ctx->site->op->impl->aux != NULL;
  const int64_t batch_dims = nd ? 0 : fy_site_int(ctx->site, "batch_dims");
  if (batch_dims < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_dims is negative (%lld)",
                   (long long)batch_dims);
  }
  FY_TRY(variable_of(ctx, &v, err));
  fy_tensor *value, storage;
  FY_TRY(fy_variable_get(ctx, v, &value, err));
  if (!value) return fail_missing(v, err);
  const fy_tensor *params = view_of(ctx, value, &storage);
  fy_code code;
  if (params->dtype != fy_site_type(ctx->site, "dtype")) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to read variable with wrong dtype. Expected %s got %s",
                   fy_dtype_name(fy_site_type(ctx->site, "dtype")), fy_dtype_name(params->dtype));
  } else {
    code = nd ? gather_nd(ctx, params, err) : gather_rows(ctx, params, batch_dims, err);
  }
  fy_tensor_release(value);
  return code;
}

// ---------------------------------------------------------------- shapes
static fy_code gather_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool known = ctx->in_handle[0].dtype != FY_INVALID;
  const fy_pshape p = known ? ctx->in_handle[0].shape : FY_UNKNOWN_SHAPE, i = ctx->in[1];
  const int64_t batch = fy_shape_attr_int(ctx, "batch_dims", 0);
  FY_TRY(fy_shape_rank_at_least(p, 1, err));
  if (batch < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_dims is negative (%lld)", (long long)batch);
  }
  if (batch > FY_MAX_RANK) return FY_OK;
  FY_TRY(fy_shape_rank_at_least(i, (int32_t)batch, err));
  FY_TRY(fy_shape_rank_at_least(p, (int32_t)batch + 1, err));
  if (p.rank < 0 || i.rank < 0) return FY_OK;
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < i.rank; d++) dims[rank++] = i.dims[d];
  for (int32_t d = (int32_t)batch + 1; d < p.rank; d++) dims[rank++] = p.dims[d];
  return fy_shape_set(ctx, 0, rank, dims, err);
}
// The variable's shape; without any knowledge of it TensorFlow takes the handle's own.
static fy_pshape variable_or_handle(const fy_shape_ctx *ctx) {
  return ctx->in_handle[0].dtype == FY_INVALID ? ctx->in[0] : ctx->in_handle[0].shape;
}
static fy_code gather_nd_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape p = variable_or_handle(ctx), i = ctx->in[1];
  FY_TRY(fy_shape_rank_at_least(i, 1, err));
  if (p.rank < 0 || i.rank < 0) return FY_OK;
  const int64_t depth = i.dims[i.rank - 1];
  if (depth < 0 || depth > p.rank) return FY_OK;
  int64_t dims[2 * FY_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d + 1 < i.rank; d++) dims[rank++] = i.dims[d];
  for (int32_t d = (int32_t)depth; d < p.rank; d++) dims[rank++] = p.dims[d];
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static fy_code resource_nd_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[2], 1, err));
  // What nobody knows is not checked; TensorFlow checks the handle's own shape.
  const fy_handle_shape *h = &ctx->in_handle[0];
  return fy_scatter_nd_infer(ctx, h->dtype == FY_INVALID ? FY_UNKNOWN_SHAPE : h->shape, ctx->in[1],
                             ctx->in[2], err);
}

// Rows of updates: the shape of the indices, then that of a row of the variable.
static fy_pshape rows_of(fy_pshape var, fy_pshape indices, int64_t dims[2 * FY_MAX_RANK]) {
  int32_t rank = 0;
  for (int32_t d = 0; d < indices.rank; d++) dims[rank++] = indices.dims[d];
  for (int32_t d = 1; d < var.rank; d++) dims[rank++] = var.dims[d];
  return (fy_pshape){rank, dims};
}

static fy_code resource_rows_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_handle_shape *h = &ctx->in_handle[0];
  const fy_pshape indices = ctx->in[1], updates = ctx->in[2];
  if (h->dtype == FY_INVALID || h->shape.rank < 1 || indices.rank < 0 || updates.rank < 1)
    return FY_OK;
  int64_t dims[2 * FY_MAX_RANK];
  fy_pshape merged;
  return fy_shape_merge(ctx, updates, rows_of(h->shape, indices, dims), &merged, err);
}

#define RESOURCE_SCATTER(Name, kind, nd)                                                          \
  static const resource_scatter how_##Name = {kind, nd};                                          \
  FY_OP(Name, .shape = nd ? resource_nd_shape : resource_rows_shape, .compute = scatter_variable, \
        .host_inputs = 1, .aux = &how_##Name)
RESOURCE_SCATTER(ResourceScatterUpdate, FY_SCATTER_UPDATE, false);
RESOURCE_SCATTER(ResourceScatterAdd, FY_SCATTER_ADD, false);
RESOURCE_SCATTER(ResourceScatterSub, FY_SCATTER_SUB, false);
RESOURCE_SCATTER(ResourceScatterMul, FY_SCATTER_MUL, false);
RESOURCE_SCATTER(ResourceScatterDiv, FY_SCATTER_DIV, false);
RESOURCE_SCATTER(ResourceScatterMin, FY_SCATTER_MIN, false);
RESOURCE_SCATTER(ResourceScatterMax, FY_SCATTER_MAX, false);
RESOURCE_SCATTER(ResourceScatterNdUpdate, FY_SCATTER_UPDATE, true);
RESOURCE_SCATTER(ResourceScatterNdAdd, FY_SCATTER_ADD, true);
RESOURCE_SCATTER(ResourceScatterNdSub, FY_SCATTER_SUB, true);
RESOURCE_SCATTER(ResourceScatterNdMin, FY_SCATTER_MIN, true);
RESOURCE_SCATTER(ResourceScatterNdMax, FY_SCATTER_MAX, true);

// ---------------------------------------------------------------- references
static fy_code ref_rows_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape var = ctx->in[0], i = ctx->in[1], u = ctx->in[2];
  FY_TRY(fy_shape_set(ctx, 0, var.rank, var.dims, err));
  if (!fy_rank_known(u) || u.rank == 0 || !fy_rank_known(i) || !fy_rank_known(var)) return FY_OK;
  int64_t dims[2 * FY_MAX_RANK];
  fy_pshape merged;
  return fy_shape_merge(ctx, u, rows_of(var, i, dims), &merged, err);
}

static fy_code ref_nd_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[2], 1, err));
  FY_TRY(fy_scatter_nd_infer(ctx, ctx->in[0], ctx->in[1], ctx->in[2], err));
  return fy_shape_unchanged(ctx, err);
}

// A sum with the words of the others, on a tensor.
static fy_code non_aliasing_add(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *indices = ctx->in[1], *updates = ctx->in[2];
  fy_tensor *out;
  FY_TRY(fy_scatter_policy(ctx->site, err));
  FY_TRY(check_prefix(indices, updates, err));
  FY_TRY(nd_check(in, indices, updates, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_copy_run(out->dtype, out->data, 0, in->data, 0, out->count, err));
  return fy_scatter_nd_run(ctx->site, FY_SCATTER_ADD, out, indices, updates, err);
}
static const fy_sample non_aliasing_samples[] = {
    {"f32[3]=1,2,3; i32[2,1]=0,2; f32[2]=10,20", NULL, FY_OK, "11,2,23"},
    {"f32[3]=1,2,3; i32[1,1]=3; f32[1]=10", NULL, FY_INVALID_ARGUMENT, "does not index into shape"},
};
static fy_code non_aliasing_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_scatter_nd_infer(ctx, ctx->in[0], ctx->in[1], ctx->in[2], err));
  return fy_shape_unchanged(ctx, err);
}
FY_OP(ScatterNdNonAliasingAdd, .shape = non_aliasing_shape, .compute = non_aliasing_add,
      FY_SAMPLES(non_aliasing_samples));

#define REF_SCATTER(Name, kind, nd)                                                     \
  static const resource_scatter how_##Name = {kind, nd};                                \
  FY_OP(Name, .shape = nd ? ref_nd_shape : ref_rows_shape, .compute = scatter_variable, \
        .flags = FY_OP_SETS_OUTPUT, .host_inputs = 1, .host_outputs = 1, .aux = &how_##Name)
REF_SCATTER(ScatterUpdate, FY_SCATTER_UPDATE, false);
REF_SCATTER(ScatterAdd, FY_SCATTER_ADD, false);
REF_SCATTER(ScatterSub, FY_SCATTER_SUB, false);
REF_SCATTER(ScatterMul, FY_SCATTER_MUL, false);
REF_SCATTER(ScatterDiv, FY_SCATTER_DIV, false);
REF_SCATTER(ScatterMin, FY_SCATTER_MIN, false);
REF_SCATTER(ScatterMax, FY_SCATTER_MAX, false);
REF_SCATTER(ScatterNdUpdate, FY_SCATTER_UPDATE, true);
REF_SCATTER(ScatterNdAdd, FY_SCATTER_ADD, true);
REF_SCATTER(ScatterNdSub, FY_SCATTER_SUB, true);
REF_SCATTER(ScatterNdMin, FY_SCATTER_MIN, true);
REF_SCATTER(ScatterNdMax, FY_SCATTER_MAX, true);
FY_OP(ResourceGather, .shape = gather_shape, .compute = gather_variable, .host_inputs = 1);
FY_OP(ResourceGatherNd, .shape = gather_nd_shape, .compute = gather_variable, .host_inputs = 1,
      .aux = "nd");
