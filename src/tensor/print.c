// SPDX-License-Identifier: Apache-2.0
// print.c: tensors as text, byte for byte as TensorFlow's Tensor::SummarizeValue (compared with
// 2.21): `1 2 3...`, `[1 2][3...]...`.

#include "tensor/print.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/elements.h"

// printf follows the program's locale; numbers here never do.
static void add_number(fy_str *out, char *text) {
  char *comma = strpbrk(text, ",");
  if (comma) *comma = '.';
  fy_str_add(out, text);
}

void fy_print_float(fy_str *out, float f) {
  char text[40];
  if (isnan(f)) {
    fy_str_add(out, signbit(f) ? "-nan" : "nan");
    return;
  }
  snprintf(text, sizeof text, "%.*g", FLT_DIG, (double)f);
  if (strtof(text, NULL) != f) snprintf(text, sizeof text, "%.*g", FLT_DIG + 3, (double)f);
  add_number(out, text);
}

void fy_print_double(fy_str *out, double d) {
  char text[40];
  if (isnan(d)) {
    fy_str_add(out, signbit(d) ? "-nan" : "nan");
    return;
  }
  snprintf(text, sizeof text, "%.*g", DBL_DIG, d);
  if (strtod(text, NULL) != d) snprintf(text, sizeof text, "%.*g", DBL_DIG + 2, d);
  add_number(out, text);
}

void fy_print_escaped(fy_str *out, fy_view s, bool keep_utf8) {
  static const char plain[] = "\n\r\t\"'\\", letter[] = "nrt\"'\\";
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    const char *at = c ? strchr(plain, c) : NULL;
    if (at) {
      fy_str_addc(out, '\\');
      fy_str_addc(out, letter[at - plain]);
    } else if (c < 0x20 || c == 0x7F || (c >= 0x80 && !keep_utf8)) {
      fy_str_printf(out, "\\%03o", c);
    } else {
      fy_str_addc(out, (char)c);
    }
  }
}

static void print_element(fy_str *out, const fy_tensor *t, int64_t i) {
  fy_dtype d = t->dtype;
  if (d == FY_STRING) {
    fy_print_escaped(out, fy_tensor_string(t, i), true);
  } else if (d == FY_DOUBLE) {
    fy_print_double(out, fy_tensor_double(t, i));
  } else if (fy_dtype_is_floating(d)) {
    fy_print_float(out, (float)fy_tensor_double(t, i));
  } else if (d == FY_UINT64) {
    fy_str_printf(out, "%llu", (unsigned long long)fy_tensor_int(t, i));
  } else if (d == FY_RESOURCE || d == FY_VARIANT) {
    const fy_object *o = ((fy_object *const *)t->data)[i];
    fy_str_printf(out, "<%s>", o ? o->type->name : "");
  } else if (fy_dtype_is_complex(d)) {
    fy_str_addc(out, '?');  // TensorFlow does not print them either
  } else {
    fy_str_printf(out, "%lld", (long long)fy_tensor_int(t, i));
  }
}

static void print_flat(fy_str *out, const fy_tensor *t, int64_t limit) {
  for (int64_t i = 0; i < limit; i++) {
    if (i > 0) fy_str_addc(out, ' ');
    print_element(out, t, i);
  }
}

// The innermost rows of dim |dim|; |*at| is the next element.
static void print_dim(fy_str *out, const fy_tensor *t, int32_t dim, int64_t limit, int64_t *at) {
  bool innermost = dim == t->rank - 1;
  for (int64_t i = 0; i < t->dims[dim]; i++) {
    if (*at >= limit) {
      if (innermost && dim != 0) fy_str_add(out, "...");
      return;
    }
    if (innermost) {
      if (i > 0) fy_str_addc(out, ' ');
      print_element(out, t, (*at)++);
    } else {
      fy_str_addc(out, '[');
      print_dim(out, t, dim + 1, limit, at);
      fy_str_addc(out, ']');
    }
  }
}

void fy_tensor_print(fy_str *out, const fy_tensor *t, int64_t limit) {
  if (limit > t->count) limit = t->count;
  if (limit < 0) limit = 0;
  if (t->device) {
    fy_str_add(out, "<on device>");
    return;
  }
  int64_t at = 0;
  if (t->rank == 0 || fy_dtype_is_complex(t->dtype) || t->dtype == FY_RESOURCE ||
      t->dtype == FY_VARIANT) {
    print_flat(out, t, limit);
  } else {
    print_dim(out, t, 0, limit, &at);
  }
  if (t->count > limit) fy_str_add(out, "...");
}
