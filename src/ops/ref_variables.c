// SPDX-License-Identifier: Apache-2.0
// ref_variables.c: the variables of TensorFlow 1: VariableV2, Assign, AssignAdd, CountUpTo ….
// A reference is a handle of the variable at run time, and a value is read by a node of its own
// (execute/refs.c says how); so these kernels are those of resource variables with other texts, and
// return the handle they were given. An uninitialised variable never reaches a kernel whose
// signature does not allow it.

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/variable.h"

// ---------------------------------------------------------------- making
static fy_code variable_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  if (!a || a->kind != FY_ATTR_SHAPE || fy_attrs_get(ctx->attrs, "_any_shape")) return FY_OK;
  // The first version could not say "unknown" and said "scalar".
  if (a->v.shape.rank <= 0 && strcmp(ctx->spec->name, "Variable") == 0) return FY_OK;
  return fy_shape_set(ctx, 0, a->v.shape.rank, a->v.shape.dims, err);
}

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  const fy_site *site = arg;
  const fy_attr *shape = fy_attrs_get(site->attrs, "shape");
  fy_variable *v;
  FY_TRY(fy_variable_new(container, name, fy_site_type(site, "dtype"), &v, err));
  v->object.type = &fy_ref_variable_type;
  if (shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank <= FY_INLINE_RANK) {
    v->rank = shape->v.shape.rank;
    for (int32_t i = 0; i < v->rank; i++) v->dims[i] = shape->v.shape.dims[i];
  }
  *out = &v->object;
  return FY_OK;
}

static fy_code variable(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  fy_view name = fy_site_string(site, "shared_name");
  if (!name.n && site->node_name) name = fy_view_of(site->node_name);
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  const fy_view container = fy_site_string(site, "container");
  fy_object *object;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(r ? fy_resources_get(r, &fy_ref_variable_type, container, name, make, site, &object, err)
           : make(container, name, site, &object, err));
  fy_resource_put(out, object);
  return FY_OK;
}

static fy_view temporary_name(const fy_site *site) {
  const fy_view name = fy_site_string(site, "var_name");
  return name.n || !site->node_name ? name : fy_view_of(site->node_name);
}

// Lives as long as somebody refers to it: a step that fails leaves nothing behind.
static fy_code temporary(fy_kernel_ctx *ctx, fy_error *err) {
  fy_object *object;
  fy_tensor *out, *value;
  const fy_attr *shape = fy_attrs_get(ctx->site->attrs, "shape");
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(make((fy_view){NULL, 0}, temporary_name(ctx->site), ctx->site, &object, err));
  object->type = &fy_temp_variable_type;
  fy_resource_put(out, object);
  const int32_t rank = shape && shape->kind == FY_ATTR_SHAPE ? shape->v.shape.rank : 0;
  int64_t count;
  if (rank > 0 && !fy_shape_count(rank, shape->v.shape.dims, &count))
    return fy_fail(err, FY_INVALID_ARGUMENT, "TemporaryVariable needs a fully defined shape");
  FY_TRY(fy_tensor_new(fy_site_type(ctx->site, "dtype"), rank < 0 ? 0 : rank,
                       rank > 0 ? shape->v.shape.dims : NULL, &value, err));
  if (fy_dtype_is_plain(value->dtype)) memset(value->data, 0, fy_tensor_bytes(value));
  ((fy_variable *)object)->value = value;
  return FY_OK;
}

static fy_code destroy_temporary(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  const fy_view name = temporary_name(ctx->site);
  if (v->object.type != &fy_temp_variable_type || !fy_view_is(name, v->name)) {
    return fy_fail(err, FY_NOT_FOUND,
                   "Resource __per_step_%lld/%.*s/frame:0/iter:0/%s does not exist.",
                   (long long)(ctx->svc->step_id ? ctx->svc->step_id(ctx) : 0), (int)name.n, name.p,
                   fy_temp_variable_type.name);
  }
  fy_lock(&v->lock);
  fy_tensor *value = v->value;
  fy_variable_forget(v);
  v->value = NULL;
  fy_unlock(&v->lock);
  fy_out_set(ctx, 0, value);
  return FY_OK;
}

// ---------------------------------------------------------------- reading
static fy_code read_ref(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  fy_tensor *value;
  FY_TRY(fy_variable_get(ctx, v, &value, err));
  if (!value)
    return fy_fail(err, FY_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   v->name);
  fy_out_set(ctx, 0, value);
  return FY_OK;
}

static fy_code is_initialized(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  fy_tensor *out;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&v->lock);
  *(bool *)out->data = v->value != NULL;
  fy_unlock(&v->lock);
  return FY_OK;
}

// ---------------------------------------------------------------- writing
static fy_code assign_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged = ctx->in[1];
  if (fy_shape_attr_bool(ctx, "validate_shape"))
    FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &merged, err));
  return fy_shape_set(ctx, 0, merged.rank, merged.dims, err);
}

static fy_code update_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged;
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &merged, err));
  return fy_shape_set(ctx, 0, merged.rank, merged.dims, err);
}

// An uninitialised variable has the shape it was declared with; unknown counts as scalar.
static bool has_shape(const fy_variable *v, const fy_tensor *t) {
  if (v->value) return fy_shape_equal(v->value->rank, v->value->dims, t->rank, t->dims);
  return fy_shape_equal(v->rank < 0 ? 0 : v->rank, v->dims, t->rank, t->dims);
}

static fy_code assign(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  const fy_tensor *in = ctx->in[1];
  if (fy_site_bool(ctx->site, "validate_shape")) {
    char x[128], y[128];
    fy_lock(&v->lock);
    const bool same = has_shape(v, in);
    if (!same && v->value)
      fy_tensor_shape_text(v->value, x);
    else if (!same)
      fy_shape_text(v->rank < 0 ? 0 : v->rank, v->dims, x);
    fy_unlock(&v->lock);
    if (!same) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s",
                     x, fy_tensor_shape_text(in, y));
    }
  }
  FY_TRY(fy_variable_store(ctx, v, 1, err));
  return fy_out_ref(ctx, err);
}

static fy_code update_locked(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **garbage,
                             fy_error *err) {
  const fy_tensor *in = ctx->in[1];
  const fy_binary_loop loop = ((const fy_binary_loops *)ctx->site->op->impl->aux)->loop[in->dtype];
  if (!v->value || v->value->dtype != in->dtype ||
      !fy_shape_equal(v->value->rank, v->value->dims, in->rank, in->dims))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Parameters and update must be the same size");
  if (!loop)
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  fy_tensor storage;
  FY_TRY(fy_variable_own(ctx, v, garbage, err));
  fy_tensor *to = fy_variable_view(ctx, v->value, &storage);
  fy_variable_combine(ctx, loop, to->data, in, to->data);
  return FY_OK;
}

static fy_code update(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  fy_tensor *garbage = NULL;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  fy_lock(&v->lock);
  fy_code code = update_locked(ctx, v, &garbage, err);
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  return code ? code : fy_out_ref(ctx, err);
}

// CountUpTo (a reference) and ResourceCountUpTo: the value before it was increased.
static fy_code count_up_to(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  fy_tensor *out, *garbage = NULL;
  const int64_t limit = fy_site_int(ctx->site, "limit");
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&v->lock);
  fy_code code = fy_variable_settle(ctx, v, &garbage, err);
  if (code) {
    // nothing was changed
  } else if (!v->value || v->value->rank != 0 || v->value->dtype != out->dtype) {
    char why[256];
    fy_variable_missing(ctx, v, v->object.type->name, why, sizeof why);
    code = v->value ? fy_fail(err, FY_INVALID_ARGUMENT, "input is not a scalar: %s",
                              fy_tensor_shape_text(v->value, why))
                    : fy_fail(err, FY_NOT_FOUND, "%s", why);
  } else {
    const int64_t now = fy_tensor_int(v->value, 0);
    if (now >= limit)
      code = fy_fail(err, FY_OUT_OF_RANGE, "Reached limit of %lld", (long long)limit);
    else
      code = fy_variable_own(ctx, v, &garbage, err);
    if (!code && out->dtype == FY_INT32) {
      *(int32_t *)out->data = (int32_t)now;
      *(int32_t *)v->value->data = (int32_t)(now + 1);
    } else if (!code) {
      *(int64_t *)out->data = now;
      *(int64_t *)v->value->data = now + 1;
    }
  }
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  return code;
}

static fy_code count_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return fy_shape_set(ctx, 0, 0, NULL, err);
}

static fy_code count_resource_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_handle_shape *h = &ctx->in_handle[0];
  if (h->dtype == FY_INVALID) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Handle has no shape/type information.");
  }
  if (h->dtype != ctx->out_types[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Data types do not match: %s and %s",
                   fy_dtype_name(ctx->out_types[0]), fy_dtype_name(h->dtype));
  }
  FY_TRY(fy_shape_rank_is(h->shape, 0, err));
  return fy_shape_set(ctx, 0, 0, NULL, err);
}

// ---------------------------------------------------------------- passing on
static fy_code ref_identity(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_out_ref(ctx, err);
}

static fy_code select_ref(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *index = ctx->in[0];
  char x[128];
  if (index->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index must be a scalar, but it has shape %s",
                   fy_tensor_shape_text(index, x));
  const int64_t at = fy_tensor_int(index, 0), n = ctx->site->num_inputs - 1;
  if (at < 0 || at >= n)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index must be in the range [0, %lld) but got %lld",
                   (long long)n, (long long)at);
  return fy_out_alias(ctx, 0, (int)at + 1, 0, NULL, err);
}

static fy_code select_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  if (ctx->num_inputs < 2) return FY_OK;
  for (int i = 1; i < ctx->num_inputs; i++) {
    const fy_pshape a = ctx->in[1], b = ctx->in[i];
    if (!fy_rank_known(b) || a.rank != b.rank) return FY_OK;
    for (int32_t d = 0; d < a.rank; d++)
      if (a.dims[d] < 0 || a.dims[d] != b.dims[d]) return FY_OK;
  }
  return fy_shape_set(ctx, 0, ctx->in[1].rank, ctx->in[1].dims, err);
}

#define REF FY_OP_CHEAP | FY_OP_SETS_OUTPUT
FY_OP(VariableV2, .shape = variable_shape, .compute = variable, .flags = REF, .host_outputs = 1);
FY_OP(Variable, .shape = variable_shape, .compute = variable, .flags = REF, .host_outputs = 1);
FY_OP(TemporaryVariable, .shape = variable_shape, .compute = temporary, .flags = REF,
      .host_outputs = 1);
FY_OP(DestroyTemporaryVariable, .shape = fy_shape_unchanged, .compute = destroy_temporary,
      .flags = REF, .host_inputs = 1);
FY_OP(IsVariableInitialized, .shape = fy_shape_scalar, .compute = is_initialized,
      .flags = FY_OP_CHEAP, .host_inputs = 1, .host_outputs = 1);
FY_OP(Assign, .shape = assign_shape, .compute = assign, .flags = FY_OP_SETS_OUTPUT,
      .host_inputs = 1, .host_outputs = 1);
FY_OP(AssignAdd, .shape = update_shape, .compute = update, .flags = FY_OP_SETS_OUTPUT,
      .host_inputs = 1, .host_outputs = 1, .aux = &fy_add_loops);
FY_OP(AssignSub, .shape = update_shape, .compute = update, .flags = FY_OP_SETS_OUTPUT,
      .host_inputs = 1, .host_outputs = 1, .aux = &fy_sub_loops);
FY_OP(CountUpTo, .shape = count_shape, .compute = count_up_to, .host_inputs = 1,
      .flags = FY_OP_CHEAP | FY_OP_HOST);
FY_OP(ResourceCountUpTo, .shape = count_resource_shape, .compute = count_up_to, .host_inputs = 1,
      .flags = FY_OP_CHEAP | FY_OP_HOST);
FY_OP(RefIdentity, .shape = fy_shape_unchanged, .compute = ref_identity, .flags = REF,
      .host_inputs = 1, .host_outputs = 1);
FY_OP(RefSelect, .shape = select_shape, .compute = select_ref, .flags = REF, .host_inputs = 3,
      .host_outputs = 1);
FY_OP(_FerryRefRead, .shape = fy_shape_unchanged, .compute = read_ref, .flags = REF,
      .host_inputs = 1);
