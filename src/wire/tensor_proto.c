// SPDX-License-Identifier: Apache-2.0
// tensor_proto.c: read constants. Writing is in tensor_write.c.
// Every dtype has one list that may hold its values (|value_list|); what the list lacks is filled
// with its last value, or zero if it is empty.

#include "wire/tensor_proto.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/mapping.h"
#include "wire/proto_util.h"

typedef struct value_list {
  const void *data;
  size_t n;     // tensor elements in the list
  bool narrow;  // int32 values for a type of one or two bytes; else just as in memory
} value_list;

static fy_code list_of(const Tensorflow__TensorProto *p, fy_dtype dtype, value_list *out,
                       fy_error *err) {
  switch (dtype) {
    case FY_FLOAT: *out = (value_list){p->float_val, p->n_float_val, false}; break;
    case FY_DOUBLE: *out = (value_list){p->double_val, p->n_double_val, false}; break;
    case FY_INT64: *out = (value_list){p->int64_val, p->n_int64_val, false}; break;
    case FY_UINT32: *out = (value_list){p->uint32_val, p->n_uint32_val, false}; break;
    case FY_UINT64: *out = (value_list){p->uint64_val, p->n_uint64_val, false}; break;
    case FY_INT32:
    case FY_QINT32: *out = (value_list){p->int_val, p->n_int_val, false}; break;
    case FY_BOOL: *out = (value_list){p->bool_val, p->n_bool_val, true}; break;
    case FY_HALF:
    case FY_BFLOAT16: *out = (value_list){p->half_val, p->n_half_val, true}; break;
    case FY_STRING: *out = (value_list){p->string_val, p->n_string_val, false}; break;
    case FY_COMPLEX64:
    case FY_COMPLEX128: {
      size_t n = dtype == FY_COMPLEX64 ? p->n_scomplex_val : p->n_dcomplex_val;
      if (n % 2) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "TensorProto: %zu numbers do not make whole complex values", n);
      }
      *out = dtype == FY_COMPLEX64 ? (value_list){p->scomplex_val, n / 2, false}
                                   : (value_list){p->dcomplex_val, n / 2, false};
      break;
    }
    case FY_FLOAT8_E5M2:
    case FY_FLOAT8_E4M3FN:
    case FY_FLOAT8_E4M3FNUZ:
    case FY_FLOAT8_E4M3B11FNUZ:
    case FY_FLOAT8_E5M2FNUZ:
      *out = (value_list){p->float8_val.data, p->float8_val.len, false};
      break;
    default: *out = (value_list){p->int_val, p->n_int_val, true}; break;
  }
  return FY_OK;
}

// The byte that a value of a type below 8 bits is kept in.
static uint8_t small_byte(fy_dtype dtype, uint8_t v) {
  switch (dtype) {
    case FY_BOOL: return v != 0;
    case FY_INT4: return (uint8_t)(((v & 0xF) ^ 8) - 8);
    case FY_UINT4: return v & 0xF;
    case FY_INT2: return (uint8_t)(((v & 3) ^ 2) - 2);
    case FY_UINT2: return v & 3;
    default: return v;
  }
}

static bool is_small(fy_dtype dtype) {
  return dtype == FY_BOOL || dtype == FY_INT4 || dtype == FY_UINT4 || dtype == FY_INT2 ||
         dtype == FY_UINT2;
}

static void copy_narrow(const value_list *list, fy_tensor *t, size_t size) {
  const int32_t *from = list->data;
  for (size_t i = 0; i < list->n; i++) {
    if (size == 2) {
      ((uint16_t *)t->data)[i] = (uint16_t)from[i];
    } else if (t->dtype == FY_BOOL) {
      ((uint8_t *)t->data)[i] = from[i] != 0;
    } else {
      ((uint8_t *)t->data)[i] = small_byte(t->dtype, (uint8_t)from[i]);
    }
  }
}

static fy_code fill_strings(const value_list *list, fy_tensor *t, fy_error *err) {
  const ProtobufCBinaryData *values = list->data;
  for (int64_t i = 0; i < t->count && list->n; i++) {
    const ProtobufCBinaryData *v = &values[(size_t)i < list->n ? (size_t)i : list->n - 1];
    if (v->len && !fy_tensor_set_string(t, i, (const char *)v->data, v->len)) {
      return fy_fail_oom(err, v->len);
    }
  }
  return FY_OK;
}

static fy_code fill_values(const value_list *list, fy_tensor *t, fy_error *err) {
  if (t->dtype == FY_STRING) return fill_strings(list, t, err);
  size_t size = fy_dtype_size(t->dtype), total = (size_t)t->count * size;
  char *data = t->data;
  if (list->n == 0) {
    memset(data, 0, total);
    return FY_OK;
  }
  if (list->narrow) {
    copy_narrow(list, t, size);
  } else {
    memcpy(data, list->data, list->n * size);
  }
  // Repeat the last value by doubling what is already there.
  char *last = data + (list->n - 1) * size;
  size_t have = size, want = total - (list->n - 1) * size;
  while (have < want) {
    size_t step = have < want - have ? have : want - have;
    memcpy(last + have, last, step);
    have += step;
  }
  return FY_OK;
}

fy_code fy_wire_strings_decode(const uint8_t *bytes, size_t n, fy_tensor *t, fy_error *err) {
  const uint8_t *lengths = bytes, *end = bytes + n, *p = bytes;
  uint64_t len, sum = 0;
  for (int64_t i = 0; i < t->count; i++) {
    if (!fy_wire_varint(&p, end, &len) || len > n) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "string contents: the length of element %" PRId64 " of %" PRId64
                     " is missing or exceeds the %zu bytes given",
                     i, t->count, n);
    }
    if (__builtin_add_overflow(sum, len, &sum)) sum = UINT64_MAX / 2;
  }
  if (sum != (uint64_t)(end - p)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "string contents: elements of %" PRIu64 " bytes in all, but %zu bytes follow",
                   sum, (size_t)(end - p));
  }
  for (int64_t i = 0; i < t->count; i++) {
    if (!fy_wire_varint(&lengths, end, &len)) break;
    if (len && !fy_tensor_set_string(t, i, (const char *)p, (size_t)len)) {
      return fy_fail_oom(err, (size_t)len);
    }
    p += len;
  }
  return FY_OK;
}

static fy_code fill_content(const ProtobufCBinaryData *content, fy_tensor *t, fy_error *err) {
  if (t->dtype == FY_STRING) return fy_wire_strings_decode(content->data, content->len, t, err);
  memcpy(t->data, content->data, content->len);
  if (!is_small(t->dtype)) return FY_OK;
  uint8_t *bytes = t->data;
  for (size_t i = 0; i < content->len; i++) bytes[i] = small_byte(t->dtype, bytes[i]);
  return FY_OK;
}

// What the proto must hold for |count| elements, decided before anything is allocated.
static fy_code check_amount(const Tensorflow__TensorProto *p, fy_dtype dtype, int64_t count,
                            const value_list *list, const char *shape,
                            const fy_wire_tensor_options *options, fy_error *err) {
  size_t bytes;
  if (!fy_mul_size((size_t)count, fy_dtype_storage(dtype), &bytes) || bytes > INT64_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorProto: a tensor of shape %s is too large",
                   shape);
  }
  size_t content = p->tensor_content.len;
  if (content && dtype == FY_STRING) {
    if ((size_t)count <= content) return FY_OK;  // a byte of length per element at least
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "TensorProto: tensor_content has %zu bytes, too few for shape %s of strings",
                   content, shape);
  }
  if (content) {
    if (content == bytes) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "TensorProto: tensor_content has %zu bytes, but %s of shape %s needs %zu",
                   content, fy_dtype_name(dtype), shape, bytes);
  }
  if (list->n == (size_t)count) return FY_OK;
  if (dtype == FY_STRING && list->n) {
    size_t last = ((const ProtobufCBinaryData *)list->data)[list->n - 1].len, more;
    if (!fy_mul_size(last, (size_t)count, &more) || !fy_add_size(bytes, more, &bytes)) {
      bytes = SIZE_MAX;
    }
  }
  int64_t limit = options ? options->max_splat_bytes : FY_WIRE_SPLAT_BYTES;
  int64_t *budget = options ? options->splat_budget_bytes : NULL;
  if (budget && *budget < limit) limit = *budget;
  if (limit < 0 || bytes > (size_t)limit) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "TensorProto: shape %s of %s needs %zu bytes, but the proto holds only %zu "
                   "value%s to repeat; the limit for that is %" PRId64 " bytes",
                   shape, fy_dtype_name(dtype), bytes, list->n, list->n == 1 ? "" : "s", limit);
  }
  if (budget) *budget -= (int64_t)bytes;
  return FY_OK;
}

static fy_code read_dims(const Tensorflow__TensorShapeProto *shape, int64_t *dims, int32_t *rank,
                         fy_error *err) {
  *rank = 0;
  if (!shape) return FY_OK;
  if (shape->unknown_rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorProto: the shape has unknown rank");
  }
  if (shape->n_dim > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorProto: %zu dimensions, more than %d",
                   shape->n_dim, FY_MAX_RANK);
  }
  for (size_t i = 0; i < shape->n_dim; i++) {
    dims[i] = shape->dim[i]->size;
    if (dims[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "TensorProto: dimension %zu is %" PRId64, i,
                     dims[i]);
    }
  }
  *rank = (int32_t)shape->n_dim;
  return FY_OK;
}

const fy_wire_tensor_options fy_wire_result = {.max_splat_bytes = FY_WIRE_SPLAT_BYTES,
                                               .passing = true};

fy_code fy_wire_tensor_read(const Tensorflow__TensorProto *proto,
                            const fy_wire_tensor_options *options, fy_tensor **out, fy_error *err) {
  *out = NULL;
  uint64_t ready;
  if (options && options->ready && options->ready->n &&
      fy_imap_get(options->ready, (uintptr_t)proto, &ready)) {
    *out = (fy_tensor *)(uintptr_t)ready;
    fy_tensor_retain(*out);
    return FY_OK;
  }
  int number = (int)proto->dtype;
  if (!fy_dtype_valid(number) || number == FY_INVALID || number > FY_REF_BIT) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorProto: %d is no data type of a tensor", number);
  }
  fy_dtype dtype = (fy_dtype)number;
  int64_t dims[FY_MAX_RANK], count = 0;
  int32_t rank;
  char shape[128];
  FY_TRY(read_dims(proto->tensor_shape, dims, &rank, err));
  fy_shape_text(rank, dims, shape);
  if (!fy_shape_count(rank, dims, &count)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorProto: shape %s has too many elements", shape);
  }
  if (count == 0) return fy_tensor_new(dtype, rank, dims, out, err);
  if (!fy_dtype_is_plain(dtype) && dtype != FY_STRING) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "TensorProto: a %s constant of shape %s cannot be read: it names an object of "
                   "the process that wrote it",
                   fy_dtype_name(dtype), shape);
  }
  value_list list = {0};
  FY_TRY(list_of(proto, dtype, &list, err));
  if (list.n > (size_t)count) list.n = (size_t)count;  // TensorFlow ignores what is too much
  FY_TRY(check_amount(proto, dtype, count, &list, shape, options, err));
  if (proto->tensor_content.len >= FY_MAPPED_BYTES && !is_small(dtype)) {
    FY_TRY(fy_wire_mapping_tensor_at(proto->tensor_content.data, dtype, (fy_pshape){rank, dims},
                                     out, err));
    if (*out) return FY_OK;
  }
  fy_tensor *t;
  FY_TRY((options && options->passing ? fy_tensor_new : fy_tensor_new_weights)(dtype, rank, dims,
                                                                               &t, err));
  fy_code code = proto->tensor_content.len ? fill_content(&proto->tensor_content, t, err)
                                           : fill_values(&list, t, err);
  if (code != FY_OK) {
    fy_tensor_release(t);
    return code;
  }
  *out = t;
  return FY_OK;
}

fy_code fy_wire_shape_read_any(const Tensorflow__TensorShapeProto *proto, fy_arena *arena,
                               fy_pshape *out, fy_error *err) {
  *out = (fy_pshape){.rank = proto && proto->unknown_rank ? -1 : 0};
  if (!proto || proto->unknown_rank || proto->n_dim == 0) return FY_OK;
  if (proto->n_dim > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "TensorShapeProto: %zu dimensions, more than %d",
                   proto->n_dim, FY_MAX_RANK);
  }
  int64_t *dims = fy_arena_array(arena, proto->n_dim, sizeof *dims);
  if (!dims) return fy_fail_oom(err, proto->n_dim * sizeof *dims);
  for (size_t i = 0; i < proto->n_dim; i++) dims[i] = proto->dim[i]->size;
  *out = (fy_pshape){.rank = (int32_t)proto->n_dim, .dims = dims};
  return FY_OK;
}

fy_code fy_wire_shape_read(const Tensorflow__TensorShapeProto *proto, fy_arena *arena,
                           fy_pshape *out, fy_error *err) {
  FY_TRY(fy_wire_shape_read_any(proto, arena, out, err));
  for (int32_t i = 0; i < out->rank; i++)
    if (out->dims[i] < -1)
      return fy_fail(err, FY_INVALID_ARGUMENT, "TensorShapeProto: dimension %d is %" PRId64, i,
                     out->dims[i]);
  return FY_OK;
}
