// SPDX-License-Identifier: Apache-2.0
// optional.c: OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue; composite tensors as
// variants: CompositeTensorVariantFromComponents, -ToComponents.

#include "ops/optional.h"

#include "base/alloc.h"
#include "ops/example_wire.h"
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
    for (int i = 0; items && i < n; i++) fy_tensor_release(items[i]);
    return fy_fail_oom(err, sizeof *o);
  }
  atomic_init(&o->object.refs, 1);
  o->object.type = &fy_optional_type;
  o->has_value = items != NULL;
  o->n = items ? n : 0;
  for (int i = 0; i < o->n; i++) o->items[i] = items[i];
  return FY_OK;
}

fy_code fy_variant_put(fy_kernel_ctx *ctx, int i, fy_object *o, fy_error *err) {
  fy_tensor *out;
  fy_code code = fy_out(ctx, i, 0, NULL, &out, err);
  if (code)
    fy_object_release(o);
  else
    fy_resource_put(out, o);
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
  return code ? code : fy_variant_put(ctx, 0, &o->object, err);
}

static fy_code none(fy_kernel_ctx *ctx, fy_error *err) {
  fy_optional *o;
  FY_TRY(fy_optional_new(NULL, 0, &o, err));
  return fy_variant_put(ctx, 0, &o->object, err);
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

// ---------------------------------------------------------------- composite tensors
// A composite tensor (ragged, sparse, a user's own) as one variant: its parts, and what it is. Of the
// metadata (CompositeTensorVariantMetadata, a TypeSpecProto) only the class is compared.
typedef struct composite {
  fy_object object;
  int type_class;
  int n;
  fy_tensor *items[];  // [n]
} composite;

static void destroy_composite(fy_object *self) {
  composite *c = (composite *)self;
  for (int i = 0; i < c->n; i++) fy_tensor_release(c->items[i]);
  fy_free(c);
}
static const fy_object_type composite_type = {"tensorflow::CompositeTensorVariant",
                                              destroy_composite};

// Field 1 of the metadata is the TypeSpecProto, its field 1 the class.
static fy_code class_of(const fy_site *site, int *out, fy_error *err) {
  fy_bytes all = fy_bytes_of(fy_site_string(site, "metadata"));
  fy_view spec = {NULL, 0};
  bool good = true;
  uint64_t v = 0;
  while (good && all.p < all.end) {
    good = fy_bytes_tag(&all, FY_TAG_BYTES(1)) ? fy_bytes_string(&all, &spec)
                                               : fy_bytes_skip_field(&all);
  }
  fy_bytes b = fy_bytes_of(spec);
  while (good && spec.p && b.p < b.end) {
    good = fy_bytes_tag(&b, FY_TAG_VARINT(1)) ? fy_bytes_varint64(&b, &v) : fy_bytes_skip_field(&b);
  }
  *out = (int)v;
  return good ? FY_OK : fy_fail(err, FY_INVALID_ARGUMENT, "Error parsing metadata");
}

static const char *class_name(int c) {
  static const char *const names[] = {"UNKNOWN",
                                      "SPARSE_TENSOR_SPEC",
                                      "INDEXED_SLICES_SPEC",
                                      "RAGGED_TENSOR_SPEC",
                                      "TENSOR_ARRAY_SPEC",
                                      "DATA_DATASET_SPEC",
                                      "DATA_ITERATOR_SPEC",
                                      "OPTIONAL_SPEC",
                                      "PER_REPLICA_SPEC",
                                      "VARIABLE_SPEC",
                                      "ROW_PARTITION_SPEC",
                                      "?",
                                      "REGISTERED_TYPE_SPEC",
                                      "EXTENSION_TYPE_SPEC"};
  return c >= 0 && c < (int)(sizeof names / sizeof names[0]) ? names[c] : "?";
}

static fy_code from_components(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_inputs;
  fy_tensor *out;
  int type_class;
  FY_TRY(class_of(ctx->site, &type_class, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  composite *c = fy_calloc(1, sizeof *c + (size_t)n * sizeof *c->items);
  if (!c) return fy_fail_oom(err, sizeof *c);
  atomic_init(&c->object.refs, 1);
  c->object.type = &composite_type;
  c->type_class = type_class;
  for (; c->n < n; c->n++) {
    fy_tensor *t = ctx->in[c->n];
    const fy_code code = t->buffer
                             ? fy_tensor_alias(t, t->dtype, t->rank, t->dims, &c->items[c->n], err)
                             : fy_tensor_clone(t, &c->items[c->n], err);
    if (!code) continue;
    fy_object_release(&c->object);
    return code;
  }
  fy_resource_put(out, &c->object);
  return FY_OK;
}

static fy_code to_components(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_object *o = in->count ? *(fy_object *const *)in->data : NULL;
  const composite *c = (const composite *)o;
  char x[128];
  int want;
  FY_TRY(class_of(ctx->site, &want, err));
  if (!o || o->type != &composite_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The input `encoded` is not a valid CompositeTensorVariant tensor, got "
                   "Tensor<type: variant shape: %s values: <%s>>",
                   fy_shape_text(in->rank, in->dims, x), o ? o->type->name : "");
  }
  if (c->type_class != want) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected a %s (based on `type_spec`), but `encoded` contains a %s",
                   class_name(want), class_name(c->type_class));
  }
  if (c->n != ctx->site->num_outputs) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Encoded value has %d tensor components; expected %d components based on "
                   "type_spec",
                   c->n, ctx->site->num_outputs);
  }
  for (int i = 0; i < c->n; i++) {
    if (c->items[i]->dtype == ctx->site->out_types[i]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor component %d had dtype %s; expected dtype %s",
                   i, fy_dtype_enum_name(c->items[i]->dtype),
                   fy_dtype_enum_name(ctx->site->out_types[i]));
  }
  for (int i = 0; i < c->n; i++) {
    fy_tensor_retain(c->items[i]);
    fy_out_set(ctx, i, c->items[i]);
  }
  return FY_OK;
}

FY_OP(CompositeTensorVariantFromComponents, .shape = fy_shape_scalar, .compute = from_components,
      HOST);
FY_OP(CompositeTensorVariantToComponents, .shape = fy_shape_none, .compute = to_components,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_DYNAMIC | FY_OP_SETS_OUTPUT);
