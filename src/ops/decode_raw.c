// SPDX-License-Identifier: Apache-2.0
// decode_raw.c: bytes to tensors and back: DecodeRaw, DecodePaddedRaw, ParseTensor,
// SerializeTensor.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

static void swap_bytes(char *p, int64_t count, size_t size) {
  for (int64_t i = 0; i < count; i++, p += size) {
    for (size_t a = 0, b = size - 1; a < b; a++, b--) {
      const char c = p[a];
      p[a] = p[b];
      p[b] = c;
    }
  }
}

static void to_host_order(fy_kernel_ctx *ctx, fy_tensor *out) {
  if (fy_site_bool(ctx->site, "little_endian") || out->count == 0) return;
  const size_t size = fy_dtype_storage(out->dtype);
  if (fy_dtype_is_complex(out->dtype))
    swap_bytes(out->data, out->count * 2, size / 2);
  else
    swap_bytes(out->data, out->count, size);
}

static fy_code append_dim_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t dims[FY_MAX_RANK];
  if (in.rank < 0 || in.rank >= FY_MAX_RANK) return FY_OK;
  for (int32_t i = 0; i < in.rank; i++) dims[i] = in.dims[i];
  dims[in.rank] = -1;
  return fy_shape_set(ctx, 0, in.rank + 1, dims, err);
}
static fy_code padded_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  const int64_t size = (int64_t)fy_dtype_storage(ctx->out_types[0]);
  int64_t dims[FY_MAX_RANK], bytes;
  FY_TRY(fy_shape_dim_from_scalar(ctx, 1, &bytes, err));
  if (bytes >= 0 && size > 0 && bytes % size) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimension size must be evenly divisible by %lld but is %lld", (long long)size,
                   (long long)bytes);
  }
  if (in.rank < 0 || in.rank >= FY_MAX_RANK) return FY_OK;
  for (int32_t i = 0; i < in.rank; i++) dims[i] = in.dims[i];
  dims[in.rank] = bytes < 0 || size == 0 ? -1 : bytes / size;
  return fy_shape_set(ctx, 0, in.rank + 1, dims, err);
}

static fy_code make_output(fy_kernel_ctx *ctx, int64_t width, fy_tensor **out, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  int64_t dims[FY_MAX_RANK];
  if (in->rank >= FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "too many dimensions");
  for (int32_t i = 0; i < in->rank; i++) dims[i] = in->dims[i];
  dims[in->rank] = width;
  return fy_out(ctx, 0, in->rank + 1, dims, out, err);
}

typedef struct raw_job {
  const fy_tensor *in;
  char *out;
  size_t n;                      // bytes of each
  atomic_int_least64_t odd_one;  // the first that has another size, or INT64_MAX
} raw_job;

static void copy_strings(void *arg, int64_t begin, int64_t end) {
  raw_job *j = arg;
  const size_t n = j->n;
  for (int64_t i = begin; i < end; i++) {
    const fy_view v = fy_tensor_string(j->in, i);
    if (v.n != n) {
      int_least64_t old = atomic_load(&j->odd_one);
      while (i < old && !atomic_compare_exchange_weak(&j->odd_one, &old, i)) {
      }
      return;
    }
    if (n == 16)
      memcpy(j->out + (size_t)i * 16, v.p, 16);
    else if (n)
      memcpy(j->out + (size_t)i * n, v.p, n);
  }
}

static fy_code fail_odd(const fy_tensor *in, int64_t i, size_t n, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "DecodeRaw requires input strings to all be the same size, but element %lld has "
                 "size %zu != %zu",
                 (long long)i, n, fy_tensor_string(in, i).n);
}

static fy_code decode_raw(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const size_t size = fy_dtype_storage(ctx->site->out_types[0]);
  fy_tensor *out;
  if (in->count == 0) return make_output(ctx, 0, &out, err);
  const size_t n = fy_tensor_string(in, 0).n;
  if (n % size) {
    for (int64_t i = 1; i < in->count; i++)
      if (fy_tensor_string(in, i).n != n) return fail_odd(in, i, n, err);
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Input to DecodeRaw has length %zu that is not a multiple of %zu, the size of %s", n, size,
        fy_dtype_name(ctx->site->out_types[0]));
  }
  FY_TRY(make_output(ctx, (int64_t)(n / size), &out, err));
  raw_job j = {.in = in, .out = out->data, .n = n};
  atomic_init(&j.odd_one, INT64_MAX);
  fy_parallel(ctx, in->count, 3 + 0.05 * (double)n, copy_strings, &j);
  const int64_t odd = atomic_load(&j.odd_one);
  if (odd != INT64_MAX) return fail_odd(in, odd, n, err);
  if (out->dtype == FY_BOOL) {
    for (int64_t i = 0; i < out->count; i++) {
      ((uint8_t *)out->data)[i] = ((const uint8_t *)out->data)[i] != 0;
    }
  }
  to_host_order(ctx, out);
  return FY_OK;
}

static fy_code decode_padded(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *length = ctx->in[1];
  const size_t size = fy_dtype_storage(ctx->site->out_types[0]);
  char x[128];
  fy_tensor *out;
  if (length->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "k must be scalar, got shape %s",
                   fy_tensor_shape_text(length, x));
  }
  const int64_t fixed = fy_tensor_int(length, 0);
  if (fixed % (int64_t)size) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "fixed_length (%lld) must be a multiple of the size of out_type (%zu)",
                   (long long)fixed, size);
  }
  if (fixed <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "fixed_length (%lld) must be greater than zero.",
                   (long long)fixed);
  }
  FY_TRY(make_output(ctx, fixed / (int64_t)size, &out, err));
  for (int64_t i = 0; i < in->count; i++) {
    const fy_view v = fy_tensor_string(in, i);
    char *to = (char *)out->data + (size_t)i * (size_t)fixed;
    const size_t n = v.n < (size_t)fixed ? v.n : (size_t)fixed;
    if (n) memcpy(to, v.p, n);
    memset(to + n, 0, (size_t)fixed - n);
  }
  to_host_order(ctx, out);
  return FY_OK;
}

// ---------------------------------------------------------------- TensorProto
static fy_code parse_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  char x[128];
  if (in->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected `serialized` to be a scalar, got shape: %s",
                   fy_tensor_shape_text(in, x));
  }
  const fy_view v = fy_tensor_string(in, 0);
  fy_arena arena;
  fy_tensor *t = NULL;
  ProtobufCMessage *message = NULL;
  fy_error why;
  fy_error_init(&why);
  fy_arena_init(&arena);
  fy_code code =
      fy_wire_unpack(&tensorflow__tensor_proto__descriptor, v.p, v.n, NULL, &arena, &message, &why);
  if (code) {
    fy_fail(err, code, "Could not parse `serialized` as TensorProto: %s", fy_error_text(&why));
  } else {
    const Tensorflow__TensorProto *proto = (const Tensorflow__TensorProto *)message;
    const fy_dtype want = ctx->site->out_types[0];
    if ((int)proto->dtype != (int)want) {
      code = fy_fail(err, FY_INVALID_ARGUMENT,
                     "Type mismatch between parsed tensor (%s) and dtype (%s)",
                     fy_dtype_name((fy_dtype)proto->dtype), fy_dtype_name(want));
    } else {
      code = fy_wire_tensor_read(proto, &fy_wire_result, &t, err);
    }
  }
  if (!code) fy_out_set(ctx, 0, t);
  fy_error_clear(&why);
  fy_arena_free(&arena);
  return code;
}

static fy_code list_strings(const fy_tensor *t, Tensorflow__TensorProto *proto, fy_arena *arena,
                            fy_error *err) {
  proto->string_val = fy_arena_array(arena, (size_t)t->count + 1, sizeof *proto->string_val);
  if (!proto->string_val) return fy_fail_oom(err, (size_t)t->count);
  proto->n_string_val = (size_t)t->count;
  for (int64_t i = 0; i < t->count; i++) {
    const fy_view v = fy_tensor_string(t, i);
    proto->string_val[i].data = (uint8_t *)(uintptr_t)v.p;
    proto->string_val[i].len = v.n;
  }
  return FY_OK;
}

// Numbers always as tensor_content and strings always as a list, unlike in attributes.
static fy_code serialize(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[0];
  fy_arena arena;
  fy_tensor *out;
  Tensorflow__TensorProto *proto = NULL;
  uint8_t *bytes = NULL;
  size_t n = 0;
  fy_arena_init(&arena);
  fy_code code;
  if (fy_dtype_is_plain(t->dtype) || t->dtype == FY_STRING) {
    const fy_pshape shape = {t->rank, t->dims};
    proto = fy_wire_new(&tensorflow__tensor_proto__descriptor, &arena);
    code = proto ? fy_wire_shape_write(&shape, &arena, &proto->tensor_shape, err)
                 : fy_fail_oom(err, sizeof *proto);
    if (!code) {
      proto->dtype = (Tensorflow__DataType)t->dtype;
      if (t->dtype == FY_STRING) {
        code = list_strings(t, proto, &arena, err);
      } else {
        proto->tensor_content.data = t->data;
        proto->tensor_content.len = fy_tensor_bytes(t);
      }
    }
  } else {
    code = fy_wire_tensor_write(t, &arena, &proto, err);
  }
  if (!code) code = fy_wire_pack(&proto->base, &bytes, &n, err);
  if (!code) code = fy_out(ctx, 0, 0, NULL, &out, err);
  if (!code) code = fy_text_put(out, 0, (const char *)bytes, n, err);
  fy_free(bytes);
  fy_arena_free(&arena);
  return code;
}

static const fy_sample serialize_samples[] = {{"f32[2]=1,2", NULL, FY_OK, NULL}};
static const fy_sample raw_samples[] = {
    {"s[2]='abcd','efgh'", "out_type=uint8", FY_OK, "97,98,99,100,101,102,103,104"},
    {"s[]='abc'", "out_type=int16", FY_INVALID_ARGUMENT, "not a multiple of 2"},
};
static const fy_sample padded_samples[] = {
    {"s[2]='ab','c'; i32[]=2", "out_type=uint8", FY_OK, "97,98,99,0"}};
static const fy_sample parse_samples[] = {
    {"s[]='x'", "out_type=float", FY_INVALID_ARGUMENT, "Could not parse `serialized`"}};

FY_OP(DecodeRaw, .shape = append_dim_shape, .compute = decode_raw,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(raw_samples));
FY_OP(DecodePaddedRaw, .shape = padded_shape, .compute = decode_padded,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(padded_samples));
FY_OP(ParseTensor, .shape = fy_shape_none, .compute = parse_tensor,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_SETS_OUTPUT, FY_SAMPLES(parse_samples));
FY_OP(SerializeTensor, .shape = fy_shape_scalar, .compute = serialize, .flags = FY_OP_HOST,
      FY_SAMPLES(serialize_samples));
