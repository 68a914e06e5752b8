// SPDX-License-Identifier: Apache-2.0
// shape.c: counting, comparing and printing dims.

#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

bool fy_shape_count(int32_t rank, const int64_t *dims, int64_t *out) {
  int64_t count = 1;
  bool overflow = false, empty = false;
  *out = 0;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] < 0) return false;
    if (dims[i] == 0) empty = true;
    overflow |= __builtin_mul_overflow(count, dims[i], &count);
  }
  if (empty) return true;  // a zero anywhere wins over an overflow on the way
  if (overflow) return false;
  *out = count;
  return true;
}

bool fy_shape_equal(int32_t rank_a, const int64_t *a, int32_t rank_b, const int64_t *b) {
  if (rank_a != rank_b) return false;
  for (int32_t d = 0; d < rank_a; d++)  // they are few: a call would take longer
    if (a[d] != b[d]) return false;
  return true;
}

void fy_shape_print(fy_str *out, int32_t rank, const int64_t *dims) {
  if (rank < 0) {
    fy_str_add(out, "<unknown>");
    return;
  }
  fy_str_addc(out, '[');
  for (int32_t i = 0; i < rank; i++) {
    if (i > 0) fy_str_addc(out, ',');
    if (dims[i] == -1) {
      fy_str_addc(out, '?');
    } else {
      fy_str_printf(out, "%lld", (long long)dims[i]);
    }
  }
  fy_str_addc(out, ']');
}

// Needs no memory, because it serves error texts.
const char *fy_shape_text(int32_t rank, const int64_t *dims, char buf[128]) {
  enum { ROOM = 128, LONGEST = 20 + 5 };  // a dim with its comma, and "...]" with the NUL
  if (rank < 0) {
    memcpy(buf, "<unknown>", sizeof "<unknown>");
    return buf;
  }
  size_t at = 0;
  buf[at++] = '[';
  for (int32_t i = 0; i < rank; i++) {
    if (at > ROOM - LONGEST) {
      memcpy(buf + at, "...", 3);
      at += 3;
      break;
    }
    if (dims[i] < 0) {
      buf[at++] = '?';
    } else {
      at += (size_t)snprintf(buf + at, ROOM - at, "%lld", (long long)dims[i]);
    }
    if (i + 1 < rank) buf[at++] = ',';
  }
  buf[at++] = ']';
  buf[at] = '\0';
  return buf;
}
