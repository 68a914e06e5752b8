// SPDX-License-Identifier: Apache-2.0
// config.c: tell binary from text, then parse.

#include "wire/config.h"

#include "wire/proto_util.h"
#include "wire/text_format.h"

// Text has no control characters but white space, and starts with a field name, a comment or '['.
static bool looks_like_text(const uint8_t *p, size_t n) {
  size_t first = n;
  for (size_t i = 0; i < n; i++) {
    bool blank = p[i] == ' ' || (p[i] >= '\t' && p[i] <= '\r');
    if ((p[i] < 0x20 && !blank) || p[i] == 0x7F) return false;
    if (!blank && first == n) first = i;
  }
  if (first == n) return true;
  uint8_t c = p[first];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '#' || c == '[';
}

fy_code fy_wire_parse_either(const ProtobufCMessageDescriptor *desc, const void *bytes, size_t n,
                             fy_arena *arena, ProtobufCMessage **out, bool *out_text,
                             fy_error *err) {
  *out = NULL;
  fy_wire_limits strict = fy_wire_limits_default;
  strict.known_only = true;
  bool text =
      n > 0 && fy_wire_check(bytes, n, desc, &strict, NULL) != FY_OK && looks_like_text(bytes, n);
  if (out_text) *out_text = text;
  if (text) return fy_wire_text_parse(desc, bytes, n, arena, out, err);
  return fy_wire_unpack_view(desc, bytes, n, NULL, arena, out, err);
}

fy_code fy_wire_config_parse(const void *bytes, size_t n, fy_arena *arena,
                             Tensorflow__ConfigProto **out, fy_error *err) {
  ProtobufCMessage *msg;
  fy_code code =
      fy_wire_parse_either(&tensorflow__config_proto__descriptor, bytes, n, arena, &msg, NULL, err);
  *out = (Tensorflow__ConfigProto *)msg;
  return code;
}
