// SPDX-License-Identifier: Apache-2.0
// optional.c: OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue.

#include "ops/optional.h"

#include "base/alloc.h"
#include "ops/shape_fns.h"

static void destroy(fy_object *self) {
  fy_optional *o = (fy_optional *)self;
  for (int i = 0; i < o->n; i++) fy_tensor_release(o->items[i]);
  fy_free(o);
}

const fy_object_type fy_optional_type = {"tensorflow::data::Optional", destroy};

fy_code fy_optional_new(fy_tensor **items, int n, fy_optional **out, fy_error *err) {
  fy_optional *o = fy_calloc(1, sizeof *o + (size_t)n * sizeof *o->items);
  *out = o;
  if (!o) {
    for (int i = 0; i < n; i++) fy_tensor_release(items[i]);
    return fy_fail_oom(err, sizeof *o);
  }
  atomic_init(&o->object.refs, 1);
  o->object.type = &fy_optional_type;
  o->has_value = items != NULL;
  o->n = items ? n : 0;
  for (int i = 0; i < o->n; i++) o->items[i] = items[i];
  return FY_OK;
}

static fy_code put(fy_kernel_ctx *ctx, fy_optional *o, fy_error *err) {
  fy_tensor *out;
  fy_code code = fy_out(ctx, 0, 0, NULL, &out, err);
  if (code)
    fy_object_release(&o->object);
  else
    fy_resource_put(out, &o->object);
  return code;
}

static fy_code from_value(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_inputs;
  fy_tensor **items = fy_calloc((size_t)n + 1, sizeof *items);
  if (!items) return fy_fail_oom(err, (size_t)n * sizeof *items);
  fy_code code = FY_OK;
  int done = 0;
  for (; done < n && !code; done++) {
    fy_tensor *t = ctx->in[done];
    code = t->buffer ? fy_tensor_alias(t, t->dtype, t->rank, t->dims, &items[done], err)
                     : fy_tensor_clone(t, &items[done], err);
  }
  fy_optional *o = NULL;
  if (code)
    for (int i = 0; i + 1 < done; i++) fy_tensor_release(items[i]);
  else
    code = fy_optional_new(items, n, &o, err);
  fy_free(items);
  return code ? code : put(ctx, o, err);
}

static fy_code none(fy_kernel_ctx *ctx, fy_error *err) {
  fy_optional *o;
  FY_TRY(fy_optional_new(NULL, 0, &o, err));
  return put(ctx, o, err);
}

static fy_code optional_of(const fy_tensor *t, fy_optional **out, fy_error *err) {
  fy_object *o = t->rank == 0 && t->count ? *(fy_object *const *)t->data : NULL;
  *out = (fy_optional *)o;
  if (t->rank != 0)
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Input to OptionalHasValue must be a scalar tensor containing an OptionalVariant "
        "object.");
  if (o && o->type == &fy_optional_type) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Input is not an optional. Saw: '%s'",
                 o ? o->type->name : "<empty>");
}

static fy_code has_value(fy_kernel_ctx *ctx, fy_error *err) {
  fy_optional *o;
  fy_tensor *out;
  FY_TRY(optional_of(ctx->in[0], &o, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(bool *)out->data = o->has_value;
  return FY_OK;
}

static fy_code get_value(fy_kernel_ctx *ctx, fy_error *err) {
  fy_optional *o;
  const fy_attr *shapes = fy_site_attr(ctx->site, "output_shapes");
  FY_TRY(optional_of(ctx->in[0], &o, err));
  if (!o->has_value)
    return fy_fail(err, FY_INVALID_ARGUMENT, "The given optional does not have a value.");
  if (o->n != ctx->site->num_outputs)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The given optional has %d components, expected %d components.", o->n,
                   ctx->site->num_outputs);
  for (int i = 0; i < o->n; i++) {
    const fy_tensor *t = o->items[i];
    if (t->dtype != ctx->site->out_types[i])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The given optional does not match the expected type for component %d. "
                     "Expected: %s. Actual: %s.",
                     i, fy_dtype_name(ctx->site->out_types[i]), fy_dtype_name(t->dtype));
    const fy_pshape want =
        shapes && (uint32_t)i < shapes->n ? shapes->v.shapes[i] : FY_UNKNOWN_SHAPE;
    bool fits = want.rank < 0 || want.rank == t->rank;
    for (int32_t d = 0; fits && d < want.rank; d++)
      fits = want.dims[d] < 0 || want.dims[d] == t->dims[d];
    char x[128], y[128];
    if (!fits)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The given optional does not match the expected shape for component %d. "
                     "Expected: %s. Actual: %s.",
                     i, fy_shape_text(want.rank, want.dims, x), fy_shape_text(t->rank, t->dims, y));
  }
  for (int i = 0; i < o->n; i++) {
    fy_tensor_retain(o->items[i]);
    fy_out_set(ctx, i, o->items[i]);
  }
  return FY_OK;
}

#define HOST .flags = FY_OP_HOST | FY_OP_NO_FOLD
FY_OP(OptionalFromValue, .shape = fy_shape_scalar, .compute = from_value, HOST);
FY_OP(OptionalNone, .shape = fy_shape_scalar, .compute = none, HOST);
FY_OP(OptionalHasValue, .shape = fy_shape_scalar, .compute = has_value, HOST);
FY_OP(OptionalGetValue, .shape = fy_shape_from_output_shapes, .compute = get_value,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC);
