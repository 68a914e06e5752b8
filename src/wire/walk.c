// SPDX-License-Identifier: Apache-2.0
// walk.c: see walk.h.

#include "wire/walk.h"

#include "wire/proto_util.h"

bool fy_walk_tag(fy_walk *w) {
  const uint8_t *at = w->at;
  uint64_t tag;
  if (at >= w->end || !fy_wire_varint(&at, w->end, &tag) || !(uint32_t)tag) return false;
  if ((tag & 7) == FY_WALK_GROUP_END) return false;
  w->number = (uint32_t)tag >> 3;
  w->wire_type = (unsigned)(tag & 7);
  w->at = at;
  return true;
}

static bool take(fy_walk *w, uint64_t n) {
  if (n > (uint64_t)(w->end - w->at)) return false;
  w->bytes = (fy_view){(const char *)w->at, (size_t)n};
  w->at += n;
  return true;
}

static uint64_t little_endian(const char *p, int n) {
  uint64_t value = 0;
  for (int i = 0; i < n; i++) value |= (uint64_t)(uint8_t)p[i] << (8 * i);
  return value;
}

// Past the tag that ends group |number|; |*end| is where that tag begins.
static bool skip_group(fy_walk *w, uint32_t number, int depth, const uint8_t **end) {
  uint64_t tag;
  while (depth < FY_WIRE_MAX_DEPTH) {
    *end = w->at;
    if (!fy_wire_varint(&w->at, w->end, &tag) || !(uint32_t)tag) return false;
    w->wire_type = (unsigned)(tag & 7);
    w->number = (uint32_t)tag >> 3;
    if (w->wire_type == FY_WALK_GROUP_END) return w->number == number;
    const uint8_t *ignored;
    const bool read = w->wire_type == FY_WALK_GROUP ? skip_group(w, w->number, depth + 1, &ignored)
                                                    : fy_walk_value(w);
    if (!read) return false;
  }
  return false;
}

bool fy_walk_value(fy_walk *w) {
  uint64_t n;
  w->bytes = (fy_view){NULL, 0};
  switch (w->wire_type) {
    case FY_WALK_VARINT: return fy_wire_varint(&w->at, w->end, &w->value);
    case FY_WALK_LENGTH: return fy_wire_varint(&w->at, w->end, &n) && take(w, (uint32_t)n);
    case FY_WALK_FIXED32:
    case FY_WALK_FIXED64: {
      const int size = w->wire_type == FY_WALK_FIXED32 ? 4 : 8;
      if (!take(w, (uint64_t)size)) return false;
      w->value = little_endian(w->bytes.p, size);
      return true;
    }
    case FY_WALK_GROUP: {
      fy_walk inner = *w;
      const uint8_t *end;
      if (!skip_group(&inner, w->number, 0, &end)) return false;
      w->bytes = (fy_view){(const char *)w->at, (size_t)(end - w->at)};
      w->at = inner.at;
      return true;
    }
    default: return false;
  }
}
