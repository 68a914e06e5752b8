// SPDX-License-Identifier: Apache-2.0
// pack_graph.c: a GraphDef as a file whose large constants can be used where they lie (mapping.h).
//
// Protobuf puts bytes anywhere. Between two nodes, though, there may be fields that say nothing: here
// GraphDef.version (3), obsolete, with the value 0 that it has anyway, in more bytes than it needs.
// Of a field that comes more than once every reader takes the last, so the graph is the same one.

#include <string.h>

#include "base/alloc.h"
#include "graph.pb-c.h"
#include "wire/mapping.h"
#include "wire/proto_util.h"
#include "wire/walk.h"

#define ALIGNMENT    64
#define VERSION_TAG  (3 << 3 | FY_WALK_VARINT)
#define LONGEST      11  // a tag and a varint of ten bytes
#define MOST_PADDING (ALIGNMENT + 1)

// Where the first large constant of a NodeDef begins; NULL: it has none.
static const char *large_constant(fy_view message, const uint32_t *path) {
  fy_walk w = fy_walk_of(message);
  while (fy_walk_next(&w)) {
    if (w.number != *path || w.wire_type != FY_WALK_LENGTH || w.bytes.n < FY_MAPPED_BYTES) continue;
    const char *found = path[1] ? large_constant(w.bytes, path + 1) : w.bytes.p;
    if (found) return found;
  }
  return NULL;
}

static uint8_t *pad(uint8_t *to, size_t n) {
  if (n == 1) n += ALIGNMENT;  // a field has two bytes at least
  while (n) {
    size_t some = n > LONGEST ? LONGEST : n;
    if (n - some == 1) some--;
    *to++ = VERSION_TAG;
    memset(to, 0x80, some - 2);
    to += some - 2;
    *to++ = 0;
    n -= some;
  }
  return to;
}

fy_code fy_wire_pack_graph(const Tensorflow__GraphDef *def, uint8_t **out, size_t *out_n,
                           fy_error *err) {
  static const uint32_t path[] = {5, 2, 8, 4, 0};  // attr, its value, tensor, tensor_content
  uint8_t *bytes;
  size_t n, room;
  FY_TRY(fy_wire_pack(&def->base, &bytes, &n, err));
  *out = bytes;
  *out_n = n;
  const fy_view message = {(const char *)bytes, n};
  size_t large = 0;
  for (fy_walk w = fy_walk_of(message); fy_walk_next(&w);)
    large += w.number == 1 && w.bytes.n >= FY_MAPPED_BYTES && large_constant(w.bytes, path);
  if (!large || !fy_mul_size(large, MOST_PADDING, &room) || !fy_add_size(room, n, &room) ||
      room > INT32_MAX)
    return FY_OK;  // as it is: it is read all the same
  uint8_t *aligned = fy_malloc(room), *to = aligned;
  if (!aligned) return FY_OK;
  const uint8_t *from = bytes;
  for (fy_walk w = fy_walk_of(message); fy_walk_next(&w); from = w.at) {
    const char *data =
        w.number == 1 && w.bytes.n >= FY_MAPPED_BYTES ? large_constant(w.bytes, path) : NULL;
    if (data) {
      const size_t at = (size_t)(to - aligned) + (size_t)(data - (const char *)from);
      to = pad(to, (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT);
    }
    memcpy(to, from, (size_t)(w.at - from));
    to += w.at - from;
  }
  fy_free(bytes);
  *out = aligned;
  *out_n = (size_t)(to - aligned);
  return FY_OK;
}
