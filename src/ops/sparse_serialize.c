// SPDX-License-Identifier: Apache-2.0
// sparse_serialize.c: SerializeSparse, SerializeManySparse and back (DeserializeSparse,
// DeserializeManySparse): a sparse tensor as three strings (TensorProtos) or three variants.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

// ---------------------------------------------------------------- a tensor in a variant
typedef struct boxed {
  fy_object object;
  fy_tensor *tensor;
} boxed;
static void destroy(fy_object *self) {
  fy_tensor_release(((boxed *)self)->tensor);
  fy_free(self);
}
static const fy_object_type boxed_type = {"tensorflow::Tensor", destroy};

// Element |i| of a variant tensor := |t|, which gets one more reference.
static fy_code put_variant(fy_tensor *out, int64_t i, fy_tensor *t, fy_error *err) {
  boxed *b = fy_calloc(1, sizeof *b);
  if (!b) return fy_fail_oom(err, sizeof *b);
  atomic_init(&b->object.refs, 1);
  b->object.type = &boxed_type;
  fy_tensor_retain(t);
  b->tensor = t;
  ((fy_object **)out->data)[i] = &b->object;
  return FY_OK;
}

// ---------------------------------------------------------------- a tensor in a string
// Always tensor_content, strings too: their lengths, then their bytes.
static fy_code string_content(const fy_tensor *t, fy_str *out, fy_error *err) {
  for (int64_t i = 0; i < t->count; i++) {
    size_t n = fy_tensor_string(t, i).n;
    for (; n >= 128; n >>= 7) fy_str_addc(out, (char)((int)(n & 127) - 128));
    fy_str_addc(out, (char)n);
  }
  for (int64_t i = 0; i < t->count; i++) {
    const fy_view v = fy_tensor_string(t, i);
    fy_str_addn(out, v.p, v.n);
  }
  return out->failed ? fy_fail_oom(err, out->len) : FY_OK;
}

static fy_code put_string(fy_tensor *out, int64_t i, const fy_tensor *t, fy_error *err) {
  const fy_pshape shape = {t->rank, t->dims};
  fy_arena arena;
  fy_str text;
  uint8_t *bytes = NULL;
  size_t n = 0;
  fy_arena_init(&arena);
  fy_str_init(&text);
  Tensorflow__TensorProto *proto = fy_wire_new(&tensorflow__tensor_proto__descriptor, &arena);
  fy_code code = proto ? fy_wire_shape_write(&shape, &arena, &proto->tensor_shape, err)
                       : fy_fail_oom(err, sizeof *proto);
  if (!code && t->dtype == FY_STRING) code = string_content(t, &text, err);
  if (!code && t->dtype != FY_STRING && !fy_dtype_is_plain(t->dtype)) {
    code = fy_fail(err, FY_UNIMPLEMENTED, "values of type %s cannot be serialized",
                   fy_dtype_name(t->dtype));
  }
  if (!code) {
    proto->dtype = (Tensorflow__DataType)t->dtype;
    proto->tensor_content.data = t->dtype == FY_STRING ? (uint8_t *)text.p : t->data;
    proto->tensor_content.len = t->dtype == FY_STRING ? text.len : fy_tensor_bytes(t);
    code = fy_wire_pack(&proto->base, &bytes, &n, err);
  }
  if (!code && !fy_tensor_give_string(out, i, (char *)bytes, n)) code = fy_fail_oom(err, n);
  fy_str_free(&text);
  fy_arena_free(&arena);
  return code;
}

static fy_code put_part(fy_tensor *out, int64_t i, fy_tensor *t, fy_error *err) {
  return out->dtype == FY_STRING ? put_string(out, i, t, err) : put_variant(out, i, t, err);
}

// A message without its tensor_content, which is copied once only, by who makes the tensor. False: it
// is none that this function can cut; the parser will say what is wrong with it.
#define CONTENT_FIELD 4u
static bool cut_content(fy_view in, fy_str *rest, fy_view *content) {
  const uint8_t *p = (const uint8_t *)in.p, *end = p + in.n;
  *content = (fy_view){NULL, 0};
  while (p < end) {
    const uint8_t *from = p;
    uint64_t tag, n = 0;
    if (!fy_wire_varint(&p, end, &tag)) return false;
    const unsigned wire = (unsigned)tag & 7u;
    if ((wire == 0 || wire == 2) && !fy_wire_varint(&p, end, &n)) return false;
    if (wire != 0 && wire != 2) n = wire == 1 ? 8 : wire == 5 ? 4 : UINT64_MAX;
    if (wire == 0) n = 0;
    if (n > (uint64_t)(end - p)) return false;
    p += n;
    if (tag >> 3 == CONTENT_FIELD && wire == 2)
      *content = (fy_view){(const char *)p - n, (size_t)n};
    else
      fy_str_addn(rest, (const char *)from, (size_t)(p - from));
  }
  return !rest->failed;
}

static fy_code get_string(const fy_tensor *in, int64_t i, fy_tensor **out, fy_error *err) {
  fy_view v = fy_tensor_string(in, i), content;
  ProtobufCMessage *message = NULL;
  fy_arena arena;
  fy_str rest;
  fy_arena_init(&arena);
  fy_str_init(&rest);
  const bool cut = cut_content(v, &rest, &content) && content.n;
  if (cut) v = (fy_view){rest.p, rest.len};
  fy_code code =
      fy_wire_unpack(&tensorflow__tensor_proto__descriptor, v.p, v.n, NULL, &arena, &message, NULL);
  Tensorflow__TensorProto *proto = (Tensorflow__TensorProto *)message;
  if (!code && cut) {
    proto->tensor_content.data = (uint8_t *)(uintptr_t)content.p;
    proto->tensor_content.len = content.n;
  }
  if (code) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Could not parse serialized proto");
  } else if (fy_wire_tensor_read(proto, &fy_wire_result, out, NULL)) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Could not construct tensor from serialized proto");
  }
  fy_str_free(&rest);
  fy_arena_free(&arena);
  return code;
}

// Element |i| as a tensor with a reference of its own.
static fy_code get_part(const fy_tensor *in, int64_t i, fy_tensor **out, fy_error *err) {
  *out = NULL;
  if (in->dtype == FY_STRING) return get_string(in, i, out, err);
  fy_object *o = ((fy_object *const *)in->data)[i];
  if (!o || o->type != &boxed_type) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Could not get a tensor from variant: it holds %s",
                   o ? o->type->name : "nothing");
  }
  *out = ((boxed *)o)->tensor;
  fy_tensor_retain(*out);
  return FY_OK;
}

// ---------------------------------------------------------------- there
static fy_code serialize(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_sparse_check_ranks(ctx->in[0], ctx->in[1], ctx->in[2], err));
  FY_TRY(fy_out(ctx, 0, 1, (const int64_t[]){3}, &out, err));
  for (int i = 0; i < 3; i++) {
    fy_tensor *t;
    if (out->dtype == FY_STRING) {
      FY_TRY(put_string(out, i, ctx->in[i], err));
      continue;
    }
    FY_TRY(fy_tensor_clone(ctx->in[i], &t, err));  // inputs may live in a program's own memory
    fy_code code = put_part(out, i, t, err);
    fy_tensor_release(t);
    if (code) return code;
  }
  return FY_OK;
}

static fy_code serialize_many(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *at = ctx->in[0], *values = ctx->in[1], *shape = ctx->in[2];
  fy_tensor *out;
  FY_TRY(fy_sparse_check_ranks(at, values, shape, err));
  if (shape->count < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Rank of input SparseTensor should be > 1, but saw rank: %lld",
                   (long long)shape->count);
  }
  FY_TRY(fy_sparse_check(at, values, shape, err));
  FY_TRY(fy_sparse_check_order(at, shape, err));
  const int64_t n = fy_tensor_int(shape, 0);
  if (n < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)n);
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, 3}, &out, err));
  for (int64_t r = 0, begin = 0, end = 0; r < n; r++, begin = end) {
    fy_sparse s;
    while (end < values->count && fy_tensor_int(at, end * shape->count) == r) end++;
    FY_TRY(fy_sparse_take(at, values, shape, begin, end, &s, err));
    fy_code code = put_part(out, 3 * r, s.indices, err);
    if (!code) code = put_part(out, 3 * r + 1, s.values, err);
    if (!code) code = put_part(out, 3 * r + 2, s.shape, err);
    fy_sparse_free(&s);
    if (code) return code;
  }
  return FY_OK;
}

// ---------------------------------------------------------------- and back
static bool is_shape(const fy_tensor *t) {
  for (int64_t d = 0; d < t->count; d++)
    if (fy_tensor_int(t, d) < 0) return false;
  return true;
}

static fy_code deserialize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_dtype dtype = fy_site_type(ctx->site, "dtype");
  const int32_t lead = in->rank - 1;
  void *memory;
  char x[128];
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Serialized sparse should have non-zero rank %s",
                   fy_tensor_shape_text(in, x));
  }
  if (in->dims[lead] != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Serialized sparse should have 3 as the last dimension %s",
                   fy_tensor_shape_text(in, x));
  }
  const int64_t n = in->count / 3;
  if (n == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Serialized sparse should have at least 1 serialized tensor, but has a zero "
                   "dimension %s",
                   fy_tensor_shape_text(in, x));
  }
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(fy_sparse), &memory, err));
  fy_sparse *parts = memory;
  memset(parts, 0, (size_t)n * sizeof *parts);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < n && !code; i++) {
    code = get_part(in, 3 * i, &parts[i].indices, err);
    if (!code) code = get_part(in, 3 * i + 1, &parts[i].values, err);
    if (!code) code = get_part(in, 3 * i + 2, &parts[i].shape, err);
    if (!code) code = fy_sparse_check_part(&parts[i], i, dtype, err);
    if (!code && parts[i].shape->count != parts[0].shape->count) {
      code =
          fy_fail(err, FY_INVALID_ARGUMENT,
                  "Inconsistent shape across SparseTensors: rank prior to SparseTensor[%lld] was: "
                  "%lld but rank of SparseTensor[%lld] is: %lld",
                  (long long)i, (long long)parts[0].shape->count, (long long)i,
                  (long long)parts[i].shape->count);
    }
  }
  if (!code && n == 1 && lead == 0 && is_shape(parts[0].shape)) {
    fy_tensor **only[] = {&parts[0].indices, &parts[0].values, &parts[0].shape};
    for (int i = 0; i < 3; i++) {
      fy_out_set(ctx, i, *only[i]);
      *only[i] = NULL;
    }
    return FY_OK;
  }
  if (!code) code = fy_sparse_stack(ctx, parts, n, lead, in->dims, err);
  for (int64_t i = 0; i < n; i++) fy_sparse_free(&parts[i]);
  return code;
}

// ---------------------------------------------------------------- shapes
static fy_code serialize_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t three = 3;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  return fy_shape_set(ctx, 0, 1, &three, err);
}
static fy_code serialize_many_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(serialize_shape(ctx, err));
  return fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, 3}, err);
}
static fy_code deserialize_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  const fy_pshape in = ctx->in[0];
  if (strcmp(ctx->spec->name, "DeserializeManySparse") == 0) FY_TRY(fy_shape_rank_is(in, 2, err));
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  if (in.rank > 0 && in.dims[in.rank - 1] >= 0) FY_TRY(fy_dim_is(in.dims[in.rank - 1], 3, err));
  FY_TRY(fy_shape_set(ctx, 0, 2, NULL, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &unknown, err);
}

static const fy_sample samples[] = {
    {"i64[1,2]=0,1; f32[1]=5; i64[2]=2,2", NULL, FY_OK, NULL},
    {"i64[2]=0,1; f32[1]=5; i64[2]=2,2", NULL, FY_INVALID_ARGUMENT,
     "Input indices should be a matrix but received shape [2]"},
};
static const fy_sample back_samples[] = {
    {"s[3]='a','b','c'", "dtype=float", FY_INVALID_ARGUMENT, "Could not parse serialized proto"},
};
FY_OP(SerializeSparse, .shape = serialize_shape, .compute = serialize, .flags = FY_OP_HOST,
      FY_SAMPLES(samples));
FY_OP(SerializeManySparse, .shape = serialize_many_shape, .compute = serialize_many,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(samples));
FY_OP(DeserializeSparse, .shape = deserialize_shape, .compute = deserialize,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(back_samples));
FY_OP(DeserializeManySparse, .shape = deserialize_shape, .compute = deserialize,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(back_samples));
