// SPDX-License-Identifier: Apache-2.0
// example_wire.h: reads serialized tf.Example and tf.SequenceExample messages in place.
// Nothing is allocated and nothing is copied before the values themselves: a walk over the message
// finds the features somebody asked for (a small hash table of names) and a list of numbers or
// strings is counted or written straight to where it goes. What TensorFlow's own fast reader accepts
// is accepted here, and what it refuses is refused: a key and a value in any order, both forms of
// repeated numbers, only the first packed run of a list.

#ifndef FY_OPS_EXAMPLE_WIRE_H
#define FY_OPS_EXAMPLE_WIRE_H

#include "ops/op.h"

typedef struct fy_bytes {  // what is left to read
  const uint8_t *p, *end;
} fy_bytes;

static inline fy_bytes fy_bytes_of(fy_view v) {
  const uint8_t *p = (const uint8_t *)v.p;
  return (fy_bytes){p, p ? p + v.n : p};
}
// A varint cut to 32 bits, as lengths are. False past the end or after ten bytes.
bool fy_bytes_varint32(fy_bytes *b, uint32_t *out);
bool fy_bytes_varint64(fy_bytes *b, uint64_t *out);
// The next |n| bytes, or fewer if the message ends before: a limit, not a promise.
static inline fy_bytes fy_bytes_limit(fy_bytes *b, uint32_t n) {
  const size_t left = (size_t)(b->end - b->p);
  fy_bytes part = {b->p, b->p + (n < left ? n : left)};
  b->p = part.end;
  return part;
}
static inline bool fy_bytes_tag(fy_bytes *b, uint8_t tag) {
  if (b->p >= b->end || *b->p != tag) return false;
  b->p++;
  return true;
}
// A length and that many bytes, all there.
bool fy_bytes_string(fy_bytes *b, fy_view *out);
// Skips one field of a number nobody knows.
bool fy_bytes_skip_field(fy_bytes *b);

#define FY_TAG_BYTES(n)  ((uint8_t)((n) << 3 | 2))
#define FY_TAG_FIXED(n)  ((uint8_t)((n) << 3 | 5))
#define FY_TAG_VARINT(n) ((uint8_t)((n) << 3))

// ---------------------------------------------------------------- names
typedef struct fy_names {  // open addressing; a slot holds index + 1
  const fy_view *names;
  uint32_t *slots;
  uint32_t mask;
} fy_names;
static inline size_t fy_names_bytes(size_t n) {  // room that |slots| needs
  size_t cap = 8;
  while (cap < 2 * n) cap *= 2;
  return cap * sizeof(uint32_t);
}
// False if two names are equal. |slots| has fy_names_bytes(n) bytes; |names| stay the caller's.
bool fy_names_build(fy_names *t, const fy_view *names, size_t n, uint32_t *slots);
int fy_names_find(const fy_names *t, fy_view name);  // -1: none

// ---------------------------------------------------------------- features
// Calls |on| for each entry of each `Features` of an Example, in order. False if malformed.
typedef void (*fy_on_feature)(void *arg, fy_view key, fy_view feature);
bool fy_example_walk(fy_view example, fy_on_feature on, void *arg);

// The kind of a feature's list (string, float, int64) and the list behind it. INVALID if |feature|
// is empty; false if the first field is none of the three.
bool fy_feature_kind(fy_view feature, fy_dtype *out_kind, fy_view *out_list);

// The values of a list (its length, then its bytes). At most |room| values are written to |out|
// (NULL: only counted; for strings elements of the tensor |out| from |at| on); |*count| says how
// many there are. False if malformed.
bool fy_list_ints(fy_view list, int64_t *out, size_t room, size_t *count);
bool fy_list_floats(fy_view list, float *out, size_t room, size_t *count);
bool fy_list_strings(fy_view list, fy_tensor *out, int64_t at, size_t room, size_t *count);
// By type: to elements |at| … of |out| (NULL: only counted).
bool fy_list_read(fy_dtype type, fy_view list, fy_tensor *out, int64_t at, size_t room,
                  size_t *count);

#endif
