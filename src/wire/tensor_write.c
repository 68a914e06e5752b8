// SPDX-License-Identifier: Apache-2.0
// tensor_write.c: tensors and shapes as protos.
// Which form a constant takes (content or typed list) was read off TF_OperationToNodeDef.

#include <string.h>

#include "base/alloc.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

typedef Tensorflow__TensorProto tensor_proto;

fy_code fy_wire_shape_write(const fy_pshape *shape, fy_arena *arena,
                            Tensorflow__TensorShapeProto **out, fy_error *err) {
  *out = NULL;
  size_t rank = shape->rank > 0 ? (size_t)shape->rank : 0;
  Tensorflow__TensorShapeProto *proto =
      fy_wire_new(&tensorflow__tensor_shape_proto__descriptor, arena);
  if (!proto) return fy_fail_oom(err, sizeof *proto);
  proto->unknown_rank = shape->rank < 0;
  if (rank) {
    Tensorflow__TensorShapeProto__Dim *dims = fy_arena_array(arena, rank, sizeof *dims);
    proto->dim = fy_arena_array(arena, rank, sizeof *proto->dim);
    if (!dims || !proto->dim) return fy_fail_oom(err, rank * sizeof *dims);
    for (size_t i = 0; i < rank; i++) {
      tensorflow__tensor_shape_proto__dim__init(&dims[i]);
      dims[i].size = shape->dims[i];
      proto->dim[i] = &dims[i];
    }
    proto->n_dim = rank;
  }
  *out = proto;
  return FY_OK;
}

// The value of a one- or two-byte element, as int_val and half_val hold it.
static int32_t small_value(const fy_tensor *t) {
  uint8_t byte = *(const uint8_t *)t->data;
  uint16_t two = 0;
  size_t size = fy_dtype_size(t->dtype);
  if (size == 2) memcpy(&two, t->data, 2);
  switch (t->dtype) {
    case FY_INT8:
    case FY_QINT8: return (int8_t)byte;
    case FY_INT4: return ((byte & 0xF) ^ 8) - 8;
    case FY_UINT4: return byte & 0xF;
    case FY_INT2: return ((byte & 3) ^ 2) - 2;
    case FY_UINT2: return byte & 3;
    case FY_INT16:
    case FY_QINT16: return (int16_t)two;
    default: return size == 2 ? two : byte;
  }
}

static fy_code write_int(tensor_proto *proto, int32_t value, bool half, fy_arena *arena,
                         fy_error *err) {
  int32_t *at = fy_arena_alloc(arena, sizeof *at);
  if (!at) return fy_fail_oom(err, sizeof *at);
  *at = value;
  if (half) {
    proto->half_val = at;
    proto->n_half_val = 1;
  } else {
    proto->int_val = at;
    proto->n_int_val = 1;
  }
  return FY_OK;
}

static fy_code write_string(tensor_proto *proto, const fy_tensor *t, fy_arena *arena,
                            fy_error *err) {
  ProtobufCBinaryData *at = fy_arena_alloc(arena, sizeof *at);
  if (!at) return fy_fail_oom(err, sizeof *at);
  fy_view s = fy_tensor_string(t, 0);
  *at = (ProtobufCBinaryData){s.n, (uint8_t *)(uintptr_t)s.p};
  proto->string_val = at;
  proto->n_string_val = 1;
  return FY_OK;
}

static fy_code write_one(tensor_proto *proto, const fy_tensor *t, fy_arena *arena, fy_error *err) {
  void *data = t->data;  // lists of one point straight at the element
  switch (t->dtype) {
    case FY_FLOAT:
      proto->float_val = data;
      proto->n_float_val = 1;
      break;
    case FY_DOUBLE:
      proto->double_val = data;
      proto->n_double_val = 1;
      break;
    case FY_INT64:
      proto->int64_val = data;
      proto->n_int64_val = 1;
      break;
    case FY_UINT32:
      proto->uint32_val = data;
      proto->n_uint32_val = 1;
      break;
    case FY_UINT64:
      proto->uint64_val = data;
      proto->n_uint64_val = 1;
      break;
    case FY_COMPLEX64:
      proto->scomplex_val = data;
      proto->n_scomplex_val = 2;
      break;
    case FY_COMPLEX128:
      proto->dcomplex_val = data;
      proto->n_dcomplex_val = 2;
      break;
    case FY_INT32:
    case FY_QINT32:
      proto->int_val = data;
      proto->n_int_val = 1;
      break;
    case FY_BOOL: {
      protobuf_c_boolean *at = fy_arena_alloc(arena, sizeof *at);
      if (!at) return fy_fail_oom(err, sizeof *at);
      *at = *(const uint8_t *)data != 0;
      proto->bool_val = at;
      proto->n_bool_val = 1;
      break;
    }
    case FY_FLOAT8_E5M2:
    case FY_FLOAT8_E4M3FN:
    case FY_FLOAT8_E4M3FNUZ:
    case FY_FLOAT8_E4M3B11FNUZ:
    case FY_FLOAT8_E5M2FNUZ: proto->float8_val = (ProtobufCBinaryData){1, data}; break;
    case FY_STRING: return write_string(proto, t, arena, err);
    default:
      return write_int(proto, small_value(t), t->dtype == FY_HALF || t->dtype == FY_BFLOAT16, arena,
                       err);
  }
  return FY_OK;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v) {
  for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  return p;
}

static fy_code write_strings(tensor_proto *proto, const fy_tensor *t, fy_arena *arena,
                             fy_error *err) {
  size_t bytes = 0;
  for (int64_t i = 0; i < t->count; i++) bytes += fy_tensor_string(t, i).n + 10;
  uint8_t *buf = fy_arena_alloc(arena, bytes), *p = buf;
  if (!buf) return fy_fail_oom(err, bytes);
  for (int64_t i = 0; i < t->count; i++) p = put_varint(p, fy_tensor_string(t, i).n);
  for (int64_t i = 0; i < t->count; i++) {
    fy_view s = fy_tensor_string(t, i);
    if (s.n) memcpy(p, s.p, s.n);
    p += s.n;
  }
  proto->tensor_content = (ProtobufCBinaryData){(size_t)(p - buf), buf};
  return FY_OK;
}

fy_code fy_wire_tensor_write(const fy_tensor *t, fy_arena *arena, Tensorflow__TensorProto **out,
                             fy_error *err) {
  *out = NULL;
  if (t->device) {
    return fy_fail(err, FY_INTERNAL, "a tensor in device memory cannot be serialized");
  }
  if (t->count && !fy_dtype_is_plain(t->dtype) && t->dtype != FY_STRING) {
    return fy_fail(err, FY_UNIMPLEMENTED, "a %s tensor cannot be serialized",
                   fy_dtype_name(t->dtype));
  }
  tensor_proto *proto = fy_wire_new(&tensorflow__tensor_proto__descriptor, arena);
  if (!proto) return fy_fail_oom(err, sizeof *proto);
  proto->dtype = (Tensorflow__DataType)t->dtype;
  fy_pshape shape = {.rank = t->rank, .dims = t->dims};
  FY_TRY(fy_wire_shape_write(&shape, arena, &proto->tensor_shape, err));
  if (t->count == 1) {
    FY_TRY(write_one(proto, t, arena, err));
  } else if (t->count > 1 && t->dtype == FY_STRING) {
    FY_TRY(write_strings(proto, t, arena, err));
  } else if (t->count > 1) {
    proto->tensor_content = (ProtobufCBinaryData){fy_tensor_bytes(t), t->data};
  }
  *out = proto;
  return FY_OK;
}
