// SPDX-License-Identifier: Apache-2.0
// slice_spec.c: "4 3 0,2:-": the shape of a whole tensor and the part of it that is meant.

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/bundle.h"

static bool read_number(const char *p, size_t n, int64_t *out) {
  char buf[32], *end;
  if (!n || n >= sizeof buf) return false;
  memcpy(buf, p, n);
  buf[n] = 0;
  *out = strtoll(buf, &end, 10);
  return !*end && !isspace((unsigned char)buf[0]);
}

static fy_code read_extent(fy_view text, fy_view all, int64_t *start, int64_t *length,
                           fy_error *err) {
  const char *comma = text.n ? memchr(text.p, ',', text.n) : NULL;
  *start = 0;
  *length = -1;
  if (text.n == 1 && text.p[0] == '-') return FY_OK;
  if (!comma || !read_number(text.p, (size_t)(comma - text.p), start) ||
      !read_number(comma + 1, (size_t)(text.p + text.n - comma - 1), length)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected a pair of numbers or '-' but got '%.*s': string = %.*s", (int)text.n,
                   text.p, (int)all.n, all.p);
  }
  if (*start >= 0 && *length > 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Expected non-negative start and positive length but got start = %" PRId64
                 ", length = %" PRId64 ": string = %.*s",
                 *start, *length, (int)all.n, all.p);
}

fy_code fy_slice_parse(fy_view spec, int64_t shape[FY_INLINE_RANK], fy_tensor_slice *slice,
                       fy_tensor_slice *resolved, fy_error *err) {
  const char *p = spec.p, *end = spec.p + spec.n, *last = NULL;
  int32_t dims = 0;
  char text[128];
  for (const char *c = p; c < end; c++)
    if (*c == ' ') last = c;
  if (!last) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Need least two elements in shape_and_slice specification: %.*s", (int)spec.n,
                   spec.p);
  }
  while (p < last) {
    const char *stop = memchr(p, ' ', (size_t)(last - p));
    if (!stop) stop = last;
    int64_t dim;
    if (dims == FY_INLINE_RANK)
      return fy_fail(err, FY_UNIMPLEMENTED, "Slices of more than %d dimensions", FY_INLINE_RANK);
    if (!read_number(p, (size_t)(stop - p), &dim) || dim < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Non numerical dimension in shape_and_slice: %.*s",
                     (int)spec.n, spec.p);
    }
    shape[dims++] = dim;
    p = stop + 1;
  }
  const fy_view part = {last + 1, (size_t)(end - last - 1)};
  slice->rank = 0;
  for (p = part.p; p <= end && part.n;) {
    const char *stop = p < end ? memchr(p, ':', (size_t)(end - p)) : NULL;
    if (!stop) stop = end;
    if (slice->rank == FY_INLINE_RANK)
      return fy_fail(err, FY_UNIMPLEMENTED, "Slices of more than %d dimensions", FY_INLINE_RANK);
    FY_TRY(read_extent((fy_view){p, (size_t)(stop - p)}, part, &slice->start[slice->rank],
                       &slice->length[slice->rank], err));
    slice->rank++;
    p = stop + 1;
  }
  fy_shape_text(dims, shape, text);
  if (slice->rank != dims) {
    return fy_fail(err, FY_INTERNAL, "Mismatching ranks: shape = %s, slice = %.*s", text,
                   (int)part.n, part.p);
  }
  *resolved = *slice;
  for (int32_t d = 0; d < dims; d++) {
    if (slice->length[d] < 0) {
      resolved->length[d] = shape[d];
    } else if (slice->start[d] > shape[d] || slice->length[d] > shape[d] - slice->start[d]) {
      return fy_fail(err, FY_INTERNAL,
                     "Extent in dimension %d out of bounds: shape = %s, slice = %.*s", d, text,
                     (int)part.n, part.p);
    }
  }
  return FY_OK;
}
