// SPDX-License-Identifier: Apache-2.0
// example_wire.c: the bounded reader of tf.Example messages (example_wire.h).

#include "ops/example_wire.h"

bool fy_bytes_varint64(fy_bytes *b, uint64_t *out) {
  uint64_t v = 0;
  const uint8_t *p = b->p;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (p >= b->end) return false;
    const uint8_t c = *p++;
    if (shift < 64) v |= (uint64_t)(c & 0x7F) << shift;
    if (!(c & 0x80)) {
      b->p = p;
      *out = v;
      return true;
    }
  }
  return false;
}

bool fy_bytes_varint32(fy_bytes *b, uint32_t *out) {
  if (FY_LIKELY(b->p < b->end && *b->p < 0x80)) {
    *out = *b->p++;
    return true;
  }
  uint64_t v;
  if (!fy_bytes_varint64(b, &v)) return false;
  *out = (uint32_t)v;
  return true;
}

bool fy_bytes_string(fy_bytes *b, fy_view *out) {
  uint32_t n;
  if (!fy_bytes_varint32(b, &n) || (size_t)(b->end - b->p) < n) return false;
  *out = (fy_view){(const char *)b->p, n};
  b->p += n;
  return true;
}

// TensorFlow stops at the end of the message when a length runs past it, and takes that as the end.
static void skip_most(fy_bytes *b, size_t n) {
  const size_t left = (size_t)(b->end - b->p);
  b->p += n < left ? n : left;
}

static bool skip(fy_bytes *b, size_t n) {
  if ((size_t)(b->end - b->p) < n) return false;
  b->p += n;
  return true;
}

bool fy_bytes_skip_field(fy_bytes *b) {
  uint32_t tag, length;
  uint64_t value;
  if (!fy_bytes_varint32(b, &tag)) return false;
  switch (tag & 7) {
    case 0: return fy_bytes_varint64(b, &value);
    case 1: return skip(b, 8);
    case 2:
      if (!fy_bytes_varint32(b, &length)) return false;
      skip_most(b, length);
      return true;
    case 5: return skip(b, 4);
    default: return false;  // groups
  }
}

// ---------------------------------------------------------------- names
static uint32_t hash_name(fy_view s) {
  uint64_t h = s.n * 0x9E3779B97F4A7C15ull, w;
  const char *p = s.p;
  size_t n = s.n;
  for (; n >= 8; p += 8, n -= 8) {
    memcpy(&w, p, 8);
    h = (h ^ w) * 0xD6E8FEB86659FD93ull;
    h ^= h >> 32;
  }
  w = 0;
  if (n) memcpy(&w, p, n);
  h = (h ^ w) * 0xD6E8FEB86659FD93ull;
  return (uint32_t)(h ^ h >> 32);
}

int fy_names_find(const fy_names *t, fy_view name) {
  for (uint32_t at = hash_name(name) & t->mask;; at = (at + 1) & t->mask) {
    const uint32_t slot = t->slots[at];
    if (slot == 0) return -1;
    if (fy_view_eq(t->names[slot - 1], name)) return (int)slot - 1;
  }
}

bool fy_names_build(fy_names *t, const fy_view *names, size_t n, uint32_t *slots) {
  const size_t bytes = fy_names_bytes(n);
  *t = (fy_names){names, slots, (uint32_t)(bytes / sizeof *slots) - 1};
  memset(slots, 0, bytes);
  for (size_t i = 0; i < n; i++) {
    uint32_t at = hash_name(names[i]) & t->mask;
    for (; slots[at]; at = (at + 1) & t->mask) {
      if (fy_view_eq(names[slots[at] - 1], names[i])) return false;
    }
    slots[at] = (uint32_t)i + 1;
  }
  return true;
}

// ---------------------------------------------------------------- the message
// One entry of a map: exactly a key and a value, in any order.
static bool read_entry(fy_bytes entry, fy_view *key, fy_view *value) {
  *key = *value = (fy_view){NULL, 0};
  for (int field = 0; field < 2; field++) {
    if (fy_bytes_tag(&entry, FY_TAG_BYTES(1))) {
      if (!fy_bytes_string(&entry, key)) return false;
    } else if (fy_bytes_tag(&entry, FY_TAG_BYTES(2))) {
      if (!fy_bytes_string(&entry, value)) return false;
    } else {
      return false;
    }
  }
  return entry.p == entry.end;
}

bool fy_example_walk(fy_view example, fy_on_feature on, void *arg) {
  fy_bytes b = fy_bytes_of(example);
  while (b.p < b.end) {
    if (!fy_bytes_tag(&b, FY_TAG_BYTES(1))) {
      if (!fy_bytes_skip_field(&b)) return false;
      continue;
    }
    uint32_t length;
    if (!fy_bytes_varint32(&b, &length)) return false;
    fy_bytes features = fy_bytes_limit(&b, length);
    while (features.p < features.end) {
      fy_view key, value;
      if (!fy_bytes_tag(&features, FY_TAG_BYTES(1)) || !fy_bytes_varint32(&features, &length) ||
          !read_entry(fy_bytes_limit(&features, length), &key, &value)) {
        return false;
      }
      on(arg, key, value);
    }
  }
  return true;
}

bool fy_feature_kind(fy_view feature, fy_dtype *out_kind, fy_view *out_list) {
  *out_kind = FY_INVALID;
  *out_list = (fy_view){NULL, 0};
  if (feature.n == 0) return true;
  switch ((uint8_t)feature.p[0]) {
    case FY_TAG_BYTES(1): *out_kind = FY_STRING; break;
    case FY_TAG_BYTES(2): *out_kind = FY_FLOAT; break;
    case FY_TAG_BYTES(3): *out_kind = FY_INT64; break;
    default: return false;
  }
  *out_list = (fy_view){feature.p + 1, feature.n - 1};
  return true;
}

// ---------------------------------------------------------------- lists
static bool open_list(fy_view list, fy_bytes *out) {
  fy_bytes b = fy_bytes_of(list);
  uint32_t length;
  if (!b.p || !fy_bytes_varint32(&b, &length)) return false;
  *out = fy_bytes_limit(&b, length);
  return true;
}

bool fy_list_ints(fy_view list, int64_t *out, size_t room, size_t *count) {
  fy_bytes b;
  uint64_t v;
  size_t n = 0;
  *count = 0;
  if (!open_list(list, &b)) return false;
  if (b.p == b.end) return true;
  if (*b.p == FY_TAG_BYTES(1)) {
    uint32_t length;
    b.p++;
    if (!fy_bytes_varint32(&b, &length)) return false;
    fy_bytes run = fy_bytes_limit(&b, length);
    for (; run.p < run.end; n++) {
      if (FY_LIKELY(*run.p < 0x80))
        v = *run.p++;
      else if (!fy_bytes_varint64(&run, &v))
        return false;
      if (out && n < room) out[n] = (int64_t)v;
    }
  } else {
    for (; b.p < b.end; n++) {
      if (!fy_bytes_tag(&b, FY_TAG_VARINT(1)) || !fy_bytes_varint64(&b, &v)) return false;
      if (out && n < room) out[n] = (int64_t)v;
    }
  }
  *count = n;
  return true;
}

bool fy_list_floats(fy_view list, float *out, size_t room, size_t *count) {
  fy_bytes b;
  size_t n = 0;
  *count = 0;
  if (!open_list(list, &b)) return false;
  if (b.p == b.end) return true;
  if (*b.p == FY_TAG_BYTES(1)) {
    uint32_t length;
    b.p++;
    if (!fy_bytes_varint32(&b, &length)) return false;
    const fy_bytes run = fy_bytes_limit(&b, length);
    n = length / 4;
    const size_t wanted = !out || n < room ? n : room;
    if ((size_t)(run.end - run.p) < wanted * 4) return false;
    if (out && wanted) memcpy(out, run.p, wanted * 4);
  } else {
    for (; b.p < b.end; n++) {
      if (!fy_bytes_tag(&b, FY_TAG_FIXED(1)) || b.end - b.p < 4) return false;
      if (out && n < room) memcpy(out + n, b.p, 4);
      b.p += 4;
    }
  }
  *count = n;
  return true;
}

bool fy_list_strings(fy_view list, fy_tensor *out, int64_t at, size_t room, size_t *count) {
  fy_bytes b;
  fy_view s;
  size_t n = 0;
  *count = 0;
  if (!open_list(list, &b)) return false;
  for (; b.p < b.end; n++) {
    if (!fy_bytes_tag(&b, FY_TAG_BYTES(1)) || !fy_bytes_string(&b, &s)) return false;
    if (out && n < room && !fy_tensor_set_string(out, at + (int64_t)n, s.p, s.n)) return false;
  }
  *count = n;
  return true;
}

bool fy_list_read(fy_dtype type, fy_view list, fy_tensor *out, int64_t at, size_t room,
                  size_t *count) {
  switch ((int)type) {
    case FY_INT64:
      return fy_list_ints(list, out && out->data ? (int64_t *)out->data + at : NULL, room, count);
    case FY_FLOAT:
      return fy_list_floats(list, out && out->data ? (float *)out->data + at : NULL, room, count);
    default: return fy_list_strings(list, out, at, room, count);
  }
}
