// SPDX-License-Identifier: Apache-2.0
// walk.h: the fields of a serialized message one after another, of whatever type it is.
// What protobuf's own reader forgives is forgiven: a tag of more bytes than it needs, a field number
// of nought with a wire type. Groups are walked into, to their end.

#ifndef FY_WIRE_WALK_H
#define FY_WIRE_WALK_H

#include "base/str.h"

enum {
  FY_WALK_VARINT = 0,
  FY_WALK_FIXED64 = 1,
  FY_WALK_LENGTH = 2,
  FY_WALK_GROUP = 3,
  FY_WALK_GROUP_END = 4,
  FY_WALK_FIXED32 = 5
};

typedef struct fy_walk {  // a place in a message, and the field there
  const uint8_t *at, *end;
  uint32_t number;
  unsigned wire_type;
  uint64_t value;  // of a number
  fy_view bytes;   // of what has a length; of a group what is between its tags
} fy_walk;

static inline fy_walk fy_walk_of(fy_view message) {
  const uint8_t *p = (const uint8_t *)message.p;
  return (fy_walk){.at = p, .end = p ? p + message.n : p};
}
// Reads the next tag. False at the end (then at == end), at a nought and at a group's end.
bool fy_walk_tag(fy_walk *w);
// Reads what belongs to it. False: it is cut short, or the wire type is none.
bool fy_walk_value(fy_walk *w);
// Both. False at the end and where something is wrong (then at != end).
static inline bool fy_walk_next(fy_walk *w) {
  const uint8_t *start = w->at;
  if (!fy_walk_tag(w)) return false;
  if (fy_walk_value(w)) return true;
  w->at = start;
  return false;
}

#endif
