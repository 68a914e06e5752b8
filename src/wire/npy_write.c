// SPDX-License-Identifier: Apache-2.0
// npy_write.c: write one array, version 1.0, elements aligned to 64 bytes.

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/npy.h"

static const char *descr_of(fy_dtype dtype) {
  switch (dtype) {
    case FY_BOOL: return "|b1";
    case FY_INT8: return "|i1";
    case FY_UINT8: return "|u1";
    case FY_INT16: return "<i2";
    case FY_UINT16: return "<u2";
    case FY_INT32: return "<i4";
    case FY_UINT32: return "<u4";
    case FY_INT64: return "<i8";
    case FY_UINT64: return "<u8";
    case FY_HALF: return "<f2";
    case FY_BFLOAT16:  // NumPy has none; nothing is lost
    case FY_FLOAT: return "<f4";
    case FY_DOUBLE: return "<f8";
    case FY_COMPLEX64: return "<c8";
    case FY_COMPLEX128: return "<c16";
    default: return NULL;
  }
}

static fy_code longest_string(const fy_tensor *t, size_t *out, fy_error *err) {
  *out = 1;
  for (int64_t i = 0; i < t->count; i++) {
    fy_view s = fy_tensor_string(t, i);
    if (s.n && s.p[s.n - 1] == 0) {
      return fy_fail(err, FY_UNIMPLEMENTED,
                     "npy: element %" PRId64 " ends with a NUL, which '|S' cannot keep", i);
    }
    if (s.n > *out) *out = s.n;
  }
  return FY_OK;
}

static void print_header(fy_str *h, const fy_tensor *t, const char *descr, size_t item) {
  fy_str_addn(h, "\x93NUMPY\1\0\0\0{'descr': '", 21);
  if (descr) {
    fy_str_add(h, descr);
  } else {
    fy_str_printf(h, "|S%zu", item);
  }
  fy_str_add(h, "', 'fortran_order': False, 'shape': (");
  for (int32_t d = 0; d < t->rank; d++) {
    fy_str_printf(h, d ? " %" PRId64 "," : "%" PRId64 ",", t->dims[d]);
  }
  if (t->rank > 1 && !h->failed) h->p[--h->len] = 0;  // the comma stays only in "(3,)"
  fy_str_add(h, "), }");
  while (h->len % 64 != 63 && !h->failed) fy_str_addc(h, ' ');
  fy_str_addc(h, '\n');
  if (h->failed) return;
  h->p[8] = (char)((h->len - 10) & 0xFF);
  h->p[9] = (char)((h->len - 10) >> 8);
}

fy_code fy_wire_npy_write(const fy_tensor *t, uint8_t **out, size_t *out_n, fy_error *err) {
  *out = NULL;
  *out_n = 0;
  const char *descr = descr_of(t->dtype);
  const bool widen = t->dtype == FY_BFLOAT16;
  size_t item = widen ? sizeof(float) : fy_dtype_size(t->dtype), total;
  if (t->device) return fy_fail(err, FY_INTERNAL, "npy: the tensor is in device memory");
  if (t->dtype == FY_STRING) {
    FY_TRY(longest_string(t, &item, err));
  } else if (!descr) {
    return fy_fail(err, FY_UNIMPLEMENTED, "npy: NumPy has no dtype for %s",
                   fy_dtype_name(t->dtype));
  }
  if (!fy_mul_size((size_t)t->count, item, &total)) return fy_fail_oom(err, SIZE_MAX);
  fy_str h;
  fy_str_init(&h);
  print_header(&h, t, descr, item);
  uint8_t *bytes = h.failed ? NULL : fy_malloc(h.len + total);
  if (!bytes) {
    fy_str_free(&h);
    return fy_fail_oom(err, total);
  }
  memcpy(bytes, h.p, h.len);
  uint8_t *data = bytes + h.len;
  if (descr && !widen && total) memcpy(data, t->data, total);
  for (int64_t i = 0; widen && i < t->count; i++) {
    const uint32_t bits = (uint32_t)((const uint16_t *)t->data)[i] << 16;
    memcpy(data + (size_t)i * item, &bits, sizeof bits);
  }
  if (!descr) {
    memset(data, 0, total);
    for (int64_t i = 0; i < t->count; i++) {
      fy_view s = fy_tensor_string(t, i);
      if (s.n) memcpy(data + (size_t)i * item, s.p, s.n);
    }
  }
  *out = bytes;
  *out_n = h.len + total;
  fy_str_free(&h);
  return FY_OK;
}
