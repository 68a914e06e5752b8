// SPDX-License-Identifier: Apache-2.0
// elements.c: reading, copying, comparing and destroying elements of host tensors.

#include "tensor/elements.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tensorflow/core/platform/ctstring.h"

_Static_assert(sizeof(TF_TString) == 24, "fy_dtype_storage(FY_STRING)");

// --- strings ---

static fy_view view_of(const TF_TString *s) {
  return (fy_view){TF_TString_GetDataPointer(s), TF_TString_GetSize(s)};
}

// |p| is malloc'ed, of |n| bytes, more than a short string has.
static void take_bytes(TF_TString *s, char *p, size_t n) {
  TF_TString_Dealloc(s);
  s->u.large.size = TF_TString_ToInternalSizeT(n, TF_TSTR_LARGE);
  s->u.large.cap = n;
  s->u.large.ptr = p;
}

// TF_TString_Copy does not check its malloc, so a long string is built here.
static bool set_string(TF_TString *s, const char *p, size_t n) {
  if (n <= TF_TString_SmallCapacity) {
    char bytes[TF_TString_SmallCapacity + 1] = {0};  // |p| may point into |s|
    if (n) memcpy(bytes, p, n);
    TF_TString_Dealloc(s);
    TF_TString_Init(s);
    memcpy(s->u.smll.str, bytes, sizeof bytes);  // all of it: no call
    s->u.smll.size = (uint8_t)(n << 2 | TF_TSTR_SMALL);
    return true;
  }
  if (n > SIZE_MAX / 8) return false;  // the size field shares its word with two type bits
  char *copy = fy_strndup(p, n);
  if (copy) take_bytes(s, copy, n);
  return copy != NULL;
}

fy_view fy_tensor_string(const fy_tensor *t, int64_t i) {
  return view_of((const TF_TString *)t->data + i);
}

bool fy_tensor_set_string(fy_tensor *t, int64_t i, const char *p, size_t n) {
  return set_string((TF_TString *)t->data + i, p, n);
}

bool fy_tensor_give_string(fy_tensor *t, int64_t i, char *p, size_t n) {
  TF_TString *s = (TF_TString *)t->data + i;
  if (n <= TF_TString_SmallCapacity || n > SIZE_MAX / 8) {
    const bool ok = set_string(s, p, n);
    fy_free(p);
    return ok;
  }
  take_bytes(s, p, n);
  return true;
}

// --- all elements ---

void fy_elements_destroy(fy_dtype dtype, void *data, size_t bytes) {
  size_t count = bytes / fy_dtype_storage(dtype);
  for (size_t i = 0; i < count; i++) {
    if (dtype == FY_STRING) {
      TF_TString_Dealloc((TF_TString *)data + i);
    } else {
      fy_object_release(((fy_object **)data)[i]);
      ((fy_object **)data)[i] = NULL;
    }
  }
}

static fy_code copy_strings(TF_TString *dst, const TF_TString *src, int64_t count, fy_error *err) {
  for (int64_t i = 0; i < count; i++) {
    fy_view v = view_of(&src[i]);
    if (!set_string(&dst[i], v.p, v.n)) return fy_fail_oom(err, v.n);
  }
  return FY_OK;
}

static void copy_objects(fy_object **dst, fy_object *const *src, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    fy_object *old = dst[i];
    fy_object_retain(src[i]);
    dst[i] = src[i];
    fy_object_release(old);
  }
}

fy_code fy_elements_copy(fy_dtype dtype, void *dst, const void *src, int64_t count, fy_error *err) {
  if (count <= 0 || dst == src) return FY_OK;
  if (dtype == FY_STRING) return copy_strings(dst, src, count, err);
  if (fy_dtype_is_plain(dtype)) {
    memmove(dst, src, (size_t)count * fy_dtype_storage(dtype));
  } else {
    copy_objects(dst, src, count);
  }
  return FY_OK;
}

bool fy_tensor_equal(const fy_tensor *a, const fy_tensor *b) {
  if (a == b) return true;
  if (a->dtype != b->dtype || !fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) return false;
  if (a->count == 0 || (a->data == b->data && a->device == b->device)) return true;
  if (a->device || b->device || !a->data || !b->data) return false;
  if (a->dtype != FY_STRING) return memcmp(a->data, b->data, fy_tensor_bytes(a)) == 0;
  for (int64_t i = 0; i < a->count; i++) {
    if (!fy_view_eq(fy_tensor_string(a, i), fy_tensor_string(b, i))) return false;
  }
  return true;
}

// --- numbers ---

// The five float8 formats differ in fraction bits, bias, and which codes are not finite.
float fy_float8_to_float(fy_dtype dtype, uint8_t bits) {
  bool e5 = dtype == FY_FLOAT8_E5M2 || dtype == FY_FLOAT8_E5M2FNUZ;
  bool unsigned_zero = dtype != FY_FLOAT8_E5M2 && dtype != FY_FLOAT8_E4M3FN;
  int fraction_bits = e5 ? 2 : 3;
  int bias = dtype == FY_FLOAT8_E5M2       ? 15
             : dtype == FY_FLOAT8_E5M2FNUZ ? 16
             : dtype == FY_FLOAT8_E4M3FN   ? 7
             : dtype == FY_FLOAT8_E4M3FNUZ ? 8
                                           : 11;
  int exponent = (bits & 0x7F) >> fraction_bits;
  int fraction = bits & ((1 << fraction_bits) - 1);
  if (unsigned_zero && bits == 0x80) return NAN;
  float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (dtype == FY_FLOAT8_E4M3FN && (bits & 0x7F) == 0x7F) return copysignf(NAN, sign);
  if (dtype == FY_FLOAT8_E5M2 && exponent == 31) {
    return fraction ? copysignf(NAN, sign) : sign * INFINITY;
  }
  if (exponent == 0) return sign * ldexpf((float)fraction, 1 - bias - fraction_bits);
  return sign * ldexpf((float)(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
}

int64_t fy_element_int(fy_dtype dtype, const void *data, int64_t i) {
  switch (dtype) {
    case FY_INT32:
    case FY_QINT32: return ((const int32_t *)data)[i];
    case FY_INT64: return ((const int64_t *)data)[i];
    case FY_UINT64: return (int64_t)((const uint64_t *)data)[i];
    case FY_UINT32: return ((const uint32_t *)data)[i];
    case FY_INT16:
    case FY_QINT16: return ((const int16_t *)data)[i];
    case FY_UINT16:
    case FY_QUINT16: return ((const uint16_t *)data)[i];
    case FY_INT8:
    case FY_QINT8: return ((const int8_t *)data)[i];
    case FY_BOOL:
    case FY_UINT8:
    case FY_QUINT8: return ((const uint8_t *)data)[i];
    case FY_UINT4: return ((const uint8_t *)data)[i] & 0xF;
    case FY_UINT2: return ((const uint8_t *)data)[i] & 0x3;
    case FY_INT4:  // sign-extend the low bits
      return ((((const uint8_t *)data)[i] & 0xF) ^ 0x8) - 0x8;
    case FY_INT2: return ((((const uint8_t *)data)[i] & 0x3) ^ 0x2) - 0x2;
    default: return 0;
  }
}

static bool is_float_like(fy_dtype t) {
  return fy_dtype_is_floating(t) || fy_dtype_is_complex(t);
}

int64_t fy_tensor_int(const fy_tensor *t, int64_t i) {
  if (t->dtype == FY_INT32) return ((const int32_t *)t->data)[i];  // nearly always
  if (t->dtype == FY_INT64) return ((const int64_t *)t->data)[i];
  if (!is_float_like(t->dtype)) return fy_element_int(t->dtype, t->data, i);
  double d = fy_tensor_double(t, i);
  if (d != d) return 0;
  if (d >= 0x1p63) return INT64_MAX;
  if (d < -0x1p63) return INT64_MIN;
  return (int64_t)d;
}

double fy_tensor_double(const fy_tensor *t, int64_t i) {
  switch (t->dtype) {
    case FY_FLOAT: return (double)((const float *)t->data)[i];
    case FY_DOUBLE: return ((const double *)t->data)[i];
    case FY_HALF: return (double)fy_half_to_float(((const uint16_t *)t->data)[i]);
    case FY_BFLOAT16: return (double)fy_bfloat16_to_float(((const uint16_t *)t->data)[i]);
    case FY_COMPLEX64: return (double)((const float *)t->data)[2 * i];
    case FY_COMPLEX128: return ((const double *)t->data)[2 * i];
    case FY_UINT64: return (double)((const uint64_t *)t->data)[i];
    default:
      if (fy_dtype_is_floating(t->dtype)) {
        return (double)fy_float8_to_float(t->dtype, ((const uint8_t *)t->data)[i]);
      }
      return (double)fy_element_int(t->dtype, t->data, i);
  }
}
