// SPDX-License-Identifier: Apache-2.0
// variables.c: resource variables. A value is shared by its readers and never changed under them:
// an update writes in place when nobody else holds the value, and makes a new one otherwise.

#include <stdio.h>
#include <string.h>

#include "ferry/device.h"
#include "ops/elementwise.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/values.h"
#include "ops/variable.h"
#include "wire/mapping.h"

// TensorFlow's name for "give me a variable nobody else can find".
#define ANONYMOUS "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

// ---------------------------------------------------------------- shapes
static fy_code handle_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *type = fy_attrs_get(ctx->attrs, "dtype");
  const fy_attr *shape = fy_attrs_get(ctx->attrs, "shape");
  if (type && type->kind == FY_ATTR_TYPE) ctx->out_handle[0].dtype = type->v.type;
  if (shape && shape->kind == FY_ATTR_SHAPE) ctx->out_handle[0].shape = shape->v.shape;
  return fy_shape_set(ctx, 0, 0, NULL, err);
}

static fy_code check_handle_type(const fy_shape_ctx *ctx, const char *what, fy_error *err) {
  const fy_attr *type = fy_attrs_get(ctx->attrs, "dtype");
  const fy_dtype held = ctx->in_handle[0].dtype;
  if (!type || held == FY_INVALID || held == type->v.type) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Trying to %s variable with wrong dtype. Expected %s got %s", what,
                 fy_dtype_name(held), fy_dtype_name(type->v.type));
}

static fy_code read_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_handle_shape *h = &ctx->in_handle[0];
  if (h->dtype == FY_INVALID) return FY_OK;
  FY_TRY(check_handle_type(ctx, "read", err));
  return fy_shape_set(ctx, 0, h->shape.rank, h->shape.dims, err);
}

static fy_code assign_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged;
  if (ctx->in_handle[0].dtype == FY_INVALID) return FY_OK;
  FY_TRY(check_handle_type(ctx, "read", err));
  return fy_shape_merge(ctx, ctx->in_handle[0].shape, ctx->in[1], &merged, err);
}

// ---------------------------------------------------------------- handles
static fy_code make_variable(fy_view container, fy_view name, const void *arg, fy_object **out,
                             fy_error *err) {
  const fy_site *site = arg;
  const fy_attr *shape = fy_attrs_get(site->attrs, "shape");
  fy_variable *v;
  FY_TRY(fy_variable_new(container, name, fy_site_type(site, "dtype"), &v, err));
  if (shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank <= FY_INLINE_RANK) {
    v->rank = shape->v.shape.rank;
    for (int32_t i = 0; i < v->rank; i++) v->dims[i] = shape->v.shape.dims[i];
  }
  *out = &v->object;
  return FY_OK;
}

static fy_code var_handle(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_view container = fy_site_string(site, "container");
  const fy_view name = fy_site_string(site, "shared_name");  // "" is a name like any other
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  fy_tensor *out;
  fy_object *object;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  if (!r || fy_view_is(name, ANONYMOUS)) {
    FY_TRY(make_variable(container, name, site, &object, err));
  } else {
    FY_TRY(
        fy_resources_get(r, &fy_variable_type, container, name, make_variable, site, &object, err));
  }
  fy_resource_put(out, object);
  return FY_OK;
}

static fy_code variable_of(fy_kernel_ctx *ctx, fy_variable **out, fy_error *err) {
  fy_object *o = NULL;
  fy_code code = fy_resource_object(ctx->in[0], &fy_variable_type, &o, err);
  *out = (fy_variable *)o;
  return code;
}

// "Resource localhost/v/… does not exist." or its container does not.
void fy_variable_missing(fy_kernel_ctx *ctx, const fy_variable *v, const char *type, char *buf,
                         size_t n) {
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  if (r && fy_resources_touched(r, v->container)) {
    snprintf(buf, n, "Resource %s/%s/%s does not exist.", v->container, v->name, type);
  } else {
    snprintf(buf, n, "Container %s does not exist. (Could not find resource: %s/%s)", v->container,
             v->container, v->name);
  }
}

static fy_code read_variable(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  FY_TRY(variable_of(ctx, &v, err));
  fy_tensor *value;
  FY_TRY(fy_variable_get(ctx, v, &value, err));
  if (!value && strcmp(v->name, ANONYMOUS) == 0) {
    // TensorFlow gives an anonymous variable an empty value at birth.
    fy_tensor *out;
    return fy_out(ctx, 0, 1, (const int64_t[]){0}, &out, err);
  }
  if (!value) {
    char why[256];
    fy_variable_missing(ctx, v, fy_variable_type.name, why, sizeof why);
    return fy_fail(
        err, FY_FAILED_PRECONDITION,
        "Could not find variable %s. This could mean that the variable has been deleted. "
        "In TF1, it can also mean the variable is uninitialized. Debug info: "
        "container=%s, status error message=%s",
        v->name, v->container, why);
  }
  const fy_dtype want = fy_site_type(ctx->site, "dtype");
  if (value->dtype != want) {
    const fy_dtype got = value->dtype;
    fy_tensor_release(value);
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to read variable with wrong dtype. Expected %s got %s",
                   fy_dtype_name(want), fy_dtype_name(got));
  }
  fy_out_set(ctx, 0, value);
  return FY_OK;
}

// ---------------------------------------------------------------- updates
static fy_tensor *view_of(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage) {
  return ctx->svc->view ? ctx->svc->view(ctx, t, storage) : t;
}

fy_tensor *fy_variable_view(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage) {
  return view_of(ctx, t, storage);
}

// The device of a kernel, NULL for the host.
static const struct fy_device *device_of(const fy_kernel_ctx *ctx) {
  const fy_device *d = ctx->site->device;
  return d && !d->is_host ? d : NULL;
}

// On the host a program's variables are the session's, not the allocator's, wherever their values came
// from: what a plan says is what its runs take. (Only programs know who may change what; eager variables count.)
static fy_code fresh(fy_kernel_ctx *ctx, const fy_tensor *like, fy_tensor **out, fy_error *err) {
  const bool uncounted = !device_of(ctx) && ctx->svc->may_change;
  if (!device_of(ctx) && fy_wire_mapping_has(like))
    return fy_tensor_new_weights(like->dtype, like->rank, like->dims, out, err);
  if (ctx->svc->allocate && !uncounted) {
    return ctx->svc->allocate(ctx, like->dtype, like->rank, like->dims, out, err);
  }
  return fy_tensor_new(like->dtype, like->rank, like->dims, out, err);
}

fy_code fy_variable_settle(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **garbage, fy_error *err) {
  fy_tensor *t = v->value, *here;
  const fy_device *at = t && t->device && !t->device->is_host ? t->device : NULL;
  if (device_of(ctx)) fy_variable_touch(v);
  if (!t || at == device_of(ctx) || !ctx->svc->bring || !fy_dtype_is_plain(t->dtype)) return FY_OK;
  FY_TRY(ctx->svc->bring(ctx, t, &here, err));
  fy_variable_forget(v);
  v->value = here;
  *garbage = t;
  return FY_OK;
}

fy_code fy_variable_get(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **out, fy_error *err) {
  fy_tensor *garbage = NULL;
  fy_lock(&v->lock);
  fy_code code = fy_variable_settle(ctx, v, &garbage, err);
  *out = code ? NULL : v->value;
  if (*out) fy_tensor_retain(*out);
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  return code;
}

fy_code fy_variable_own(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **garbage, fy_error *err) {
  FY_TRY(fy_variable_settle(ctx, v, garbage, err));
  fy_variable_forget(v);
  fy_tensor *old = v->value, *copy = NULL, old_view, new_view;
  if (*garbage || fy_tensor_is_exclusive(old)) return FY_OK;
  FY_TRY(fresh(ctx, old, &copy, err));
  const fy_tensor *from = view_of(ctx, old, &old_view);
  fy_tensor *to = view_of(ctx, copy, &new_view);
  fy_code code = fy_copy_run(old->dtype, to->data, 0, from->data, 0, old->count, err);
  if (code) {
    fy_tensor_release(copy);
    return code;
  }
  v->value = copy;
  *garbage = old;
  return FY_OK;
}

static fy_code variable_keep(fy_kernel_ctx *ctx, int i, fy_tensor **out, fy_error *err) {
  fy_tensor *in = ctx->in[i];
  if (in->buffer && !in->device)
    return fy_tensor_alias(in, in->dtype, in->rank, in->dims, out, err);
  if (in->device && !in->device->is_host && ctx->svc->keep)  // memory that only its device can copy
    return ctx->svc->keep(ctx, in, out, err);
  FY_TRY(fresh(ctx, in, out, err));
  fy_tensor storage;
  fy_tensor *to = view_of(ctx, *out, &storage);
  fy_code code = fy_elements_copy(in->dtype, to->data, in->data, in->count, err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

// Copies |in| over the value of |v|, which is locked: nobody else holds it, so none of it is seen half done,
// and no second piece of memory is needed.
static fy_code overwrite(fy_kernel_ctx *ctx, fy_variable *v, const fy_tensor *in, fy_error *err) {
  fy_tensor storage, *to = view_of(ctx, v->value, &storage);
  fy_variable_forget(v);
  if (device_of(ctx)) fy_variable_touch(v);
  if (in->device && !in->device->is_host &&
      ctx->svc->strided)  // memory that only its device can copy
    return ctx->svc->strided(ctx, to, in, 1, &in->count, (const int64_t[]){1}, 0, err);
  return fy_copy_elements(ctx, in->dtype, to->data, 0, in->data, 0, in->count, err);
}

static bool fits_over(const fy_kernel_ctx *ctx, const fy_tensor *old, const fy_tensor *in) {
  const fy_device *at = old && old->device && !old->device->is_host ? old->device : NULL;
  return old && !in->buffer && old->dtype == in->dtype && fy_dtype_is_plain(in->dtype) &&
         at == device_of(ctx) && fy_shape_equal(old->rank, old->dims, in->rank, in->dims) &&
         fy_tensor_is_exclusive(old) && !fy_wire_mapping_has(old);
}

fy_code fy_variable_store(fy_kernel_ctx *ctx, fy_variable *v, int i, fy_error *err) {
  fy_tensor *value;
  fy_code code = FY_OK;
  fy_lock(&v->lock);
  const bool over = fits_over(ctx, v->value, ctx->in[i]);
  if (over) code = overwrite(ctx, v, ctx->in[i], err);
  fy_unlock(&v->lock);
  if (!over) {
    FY_TRY(variable_keep(ctx, i, &value, err));
    fy_variable_assign(v, value);
  }
  if (!code && ctx->svc->resources) fy_resources_touch(ctx->svc->resources(ctx), v->container);
  return code;
}

static fy_code assign_variable(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  FY_TRY(variable_of(ctx, &v, err));
  const fy_tensor *in = ctx->in[1];
  fy_lock(&v->lock);
  if (!v->value) v->dtype = in->dtype;  // what is assigned first decides
  fy_unlock(&v->lock);
  if (v->dtype != in->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to assign variable with wrong dtype. Expected %s got %s",
                   fy_dtype_name(v->dtype), fy_dtype_name(in->dtype));
  }
  if (fy_site_bool(ctx->site, "validate_shape")) {
    fy_tensor *old = fy_variable_read(v);
    const bool same = !old || fy_shape_equal(old->rank, old->dims, in->rank, in->dims);
    char x[128], y[128];
    if (!same) fy_shape_text(old->rank, old->dims, x);
    fy_tensor_release(old);
    if (!same) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Trying to assign to variable with tensor with wrong shape. Expected %s got %s", x,
          fy_shape_text(in->rank, in->dims, y));
    }
  }
  return fy_variable_store(ctx, v, 1, err);
}

typedef struct update_job {
  fy_binary_loop loop;
  const char *a, *b;
  char *out;
  size_t size;
} update_job;

static void update_range(void *arg, int64_t begin, int64_t end) {
  const update_job *j = arg;
  int bad = 0;
  const size_t at = (size_t)begin * j->size;
  j->loop(j->a + at, 1, j->b + at, 1, j->out + at, end - begin, &bad);
}
void fy_variable_combine(fy_kernel_ctx *ctx, fy_binary_loop loop, const void *value,
                         const fy_tensor *in, void *out) {
  update_job job = {loop, value, in->data, out, fy_dtype_storage(in->dtype)};
  if (in->count) fy_parallel(ctx, in->count, 0.4, update_range, &job);
}

static fy_code update_locked(fy_kernel_ctx *ctx, fy_variable *v, fy_tensor **garbage,
                             fy_error *err) {
  const fy_tensor *in = ctx->in[1];
  const fy_binary_loops *loops = ctx->site->op->impl->aux;
  char x[256], y[128];
  if (!v->value) {
    fy_variable_missing(ctx, v, fy_variable_type.name, x, sizeof x);
    return fy_fail(err, FY_NOT_FOUND, "%s", x);
  }
  if (v->value->dtype != in->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "DType of variable handle and value does not match.");
  }
  if (!fy_shape_equal(v->value->rank, v->value->dims, in->rank, in->dims)) {
    char shape[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot update variable with shape %s using a Tensor with shape %s, shapes must "
                   "be equal.",
                   fy_shape_text(v->value->rank, v->value->dims, shape),
                   fy_shape_text(in->rank, in->dims, y));
  }
  const fy_binary_loop loop = loops->loop[in->dtype];
  if (!loop) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  FY_TRY(fy_variable_settle(ctx, v, garbage, err));
  fy_variable_forget(v);
  fy_tensor *target = v->value;
  if (!*garbage && !fy_tensor_is_exclusive(target)) FY_TRY(fresh(ctx, target, &target, err));
  fy_tensor old_storage, new_storage;
  fy_tensor *from = view_of(ctx, v->value, &old_storage);
  fy_tensor *to = target == v->value ? from : view_of(ctx, target, &new_storage);
  fy_variable_combine(ctx, loop, from->data, in, to->data);
  if (target != v->value) {
    *garbage = v->value;
    v->value = target;
  }
  return FY_OK;
}

static fy_code update_variable(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  fy_tensor *garbage = NULL;
  FY_TRY(variable_of(ctx, &v, err));
  fy_lock(&v->lock);
  fy_code code = update_locked(ctx, v, &garbage, err);
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  return code;
}

static fy_code is_initialized(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  fy_tensor *out;
  FY_TRY(variable_of(ctx, &v, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&v->lock);
  *(bool *)out->data = v->value != NULL;
  fy_unlock(&v->lock);
  return FY_OK;
}

// Of any type. A variable becomes one without a value; the name of anything else is free again.
static fy_code destroy_resource(fy_kernel_ctx *ctx, fy_error *err) {
  fy_object *o;
  fy_code code = fy_resource_object(ctx->in[0], NULL, &o, err);
  if (code == FY_NOT_FOUND && fy_site_bool(ctx->site, "ignore_lookup_error")) {
    fy_error_clear(err);
    return FY_OK;
  }
  if (code) return code;
  if (o->type != &fy_variable_type) {
    fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
    atomic_store_explicit(&o->destroyed, true, memory_order_relaxed);
    if (r) fy_resources_drop(r, o);
    return FY_OK;
  }
  fy_variable *v = (fy_variable *)o;
  fy_lock(&v->lock);
  fy_tensor *old = v->value;
  fy_variable_forget(v);
  v->value = NULL;
  fy_unlock(&v->lock);
  if (!old && !fy_site_bool(ctx->site, "ignore_lookup_error")) {
    char why[256];
    fy_variable_missing(ctx, v, "<unknown>", why, sizeof why);
    return fy_fail(err, FY_NOT_FOUND, "%s", why);
  }
  fy_tensor_release(old);
  return FY_OK;
}

// The shape of what the variable holds now.
static fy_code variable_shape(fy_kernel_ctx *ctx, fy_error *err) {
  fy_variable *v;
  FY_TRY(variable_of(ctx, &v, err));
  fy_tensor *value = fy_variable_read(v);
  if (!value) {
    return fy_fail(err, FY_NOT_FOUND, "Resource %s/%s/N10tensorflow3VarE does not exist.",
                   "localhost", v->name);
  }
  const int64_t rank = value->rank;
  fy_tensor *out;
  fy_code code = fy_out(ctx, 0, 1, &rank, &out, err);
  for (int32_t d = 0; !code && d < value->rank; d++) {
    if (out->dtype == FY_INT64)
      ((int64_t *)out->data)[d] = value->dims[d];
    else
      ((int32_t *)out->data)[d] = (int32_t)value->dims[d];
  }
  fy_tensor_release(value);
  return code;
}

static fy_code variable_shape_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape held =
      ctx->in_handle[0].dtype == FY_INVALID ? FY_UNKNOWN_SHAPE : ctx->in_handle[0].shape;
  const int64_t rank = held.rank;
  FY_TRY(fy_shape_set(ctx, 0, 1, &rank, err));
  if (held.rank >= 0) return fy_shape_set_value(ctx, 0, held.rank, held.dims, err);
  return FY_OK;
}

FY_OP(VarHandleOp, .shape = handle_shape, .compute = var_handle, .flags = FY_OP_CHEAP,
      .host_outputs = 1);
FY_OP(VariableShape, .shape = variable_shape_shape, .compute = variable_shape,
      .flags = FY_OP_CHEAP | FY_OP_ANY_DEVICE_HOST_DATA);
FY_OP(ReadVariableOp, .shape = read_shape, .compute = read_variable,
      .flags = FY_OP_CHEAP | FY_OP_SETS_OUTPUT, .host_inputs = 1);
FY_OP(AssignVariableOp, .shape = assign_shape, .compute = assign_variable, .host_inputs = 1);
FY_OP(AssignAddVariableOp, .shape = assign_shape, .compute = update_variable, .host_inputs = 1,
      .aux = &fy_add_loops);
FY_OP(AssignSubVariableOp, .shape = assign_shape, .compute = update_variable, .host_inputs = 1,
      .aux = &fy_sub_loops);
FY_OP(VarIsInitializedOp, .shape = fy_shape_scalar, .compute = is_initialized, .host_inputs = 1,
      .host_outputs = 1, .flags = FY_OP_CHEAP);
FY_OP(DestroyResourceOp, .shape = fy_shape_none, .compute = destroy_resource, .host_inputs = 1,
      .flags = FY_OP_CHEAP);
