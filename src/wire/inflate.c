// SPDX-License-Identifier: Apache-2.0
// inflate.c: DEFLATE with canonical Huffman codes, decoded by counting (a bit at a time).
// It serves small archives that would otherwise need a library of their own. Output is either a
// buffer of known size or one that grows.

#include "wire/inflate.h"

#include <string.h>

#include "base/alloc.h"

enum { MAX_BITS = 15, LITERALS = 288, DISTANCES = 30 };

typedef struct stream {
  const uint8_t *p, *end;
  uint32_t bits;   // not yet used, lowest first
  unsigned count;  // of them
  uint8_t *out;
  size_t at, room;
  bool grows;  // |out| is ours to enlarge
  bool cut;    // the input ended too early
  bool no_memory;
  const char *why;  // what is malformed, in zlib's words
} stream;

// Symbols ordered by code; count[n] codes have n bits.
typedef struct huffman {
  uint16_t count[MAX_BITS + 1];
  uint16_t symbol[LITERALS];
} huffman;

// |need| bits (at most 16), or -1 at the end.
static int take(stream *s, unsigned need) {
  while (s->count < need) {
    if (s->p == s->end) {
      s->cut = true;
      return -1;
    }
    s->bits |= (uint32_t)*s->p++ << s->count;
    s->count += 8;
  }
  int value = (int)(s->bits & ((1u << need) - 1));
  s->bits >>= need;
  s->count -= need;
  return value;
}

static bool bad(stream *s, const char *why) {
  if (!s->why) s->why = why;
  return false;
}

// Room for |n| more bytes.
static bool reserve(stream *s, size_t n) {
  if (n <= s->room - s->at) return true;
  if (!s->grows) return false;
  s->no_memory = !fy_grow(&s->out, &s->room, s->at + n, 1);
  return !s->no_memory;
}

static int decode(stream *s, const huffman *h) {
  int code = 0, first = 0, index = 0;
  for (int len = 1; len <= MAX_BITS; len++) {
    int bit = take(s, 1);
    if (bit < 0) return -1;
    code |= bit;
    int count = h->count[len];
    if (code - count < first) return h->symbol[index + (code - first)];
    index += count;
    first = (first + count) << 1;
    code <<= 1;
  }
  return -1;
}

// False if the lengths over-subscribe the code space.
static bool build(huffman *h, const uint8_t *lengths, int n) {
  uint16_t next[MAX_BITS + 2] = {0};
  memset(h->count, 0, sizeof h->count);
  for (int i = 0; i < n; i++) h->count[lengths[i]]++;
  h->count[0] = 0;
  int left = 1;
  for (int len = 1; len <= MAX_BITS; len++) {
    left = left * 2 - h->count[len];
    if (left < 0) return false;
    next[len + 1] = (uint16_t)(next[len] + h->count[len]);
  }
  for (int i = 0; i < n; i++) {
    if (lengths[i]) h->symbol[next[lengths[i]]++] = (uint16_t)i;
  }
  return true;
}

static bool run_codes(stream *s, const huffman *literals, const huffman *distances) {
  static const uint16_t base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const uint8_t extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                    2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static const uint16_t far_base[30] = {
      1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
      193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  for (;;) {
    int symbol = decode(s, literals);
    if (symbol < 0) return bad(s, "invalid literal/length code");
    if (symbol == 256) return true;
    if (symbol < 256) {
      if (!reserve(s, 1)) return false;
      s->out[s->at++] = (uint8_t)symbol;
      continue;
    }
    if (symbol > 285) return bad(s, "invalid literal/length code");
    int more = take(s, extra[symbol - 257]), far = decode(s, distances);
    if (more < 0 || far < 0 || far >= DISTANCES) return bad(s, "invalid distance code");
    size_t len = (size_t)base[symbol - 257] + (size_t)more;
    int far_more = take(s, far < 4 ? 0 : (unsigned)(far / 2 - 1));
    size_t distance = (size_t)far_base[far] + (size_t)(far_more < 0 ? 0 : far_more);
    if (far_more < 0 || distance > s->at) return bad(s, "invalid distance too far back");
    if (!reserve(s, len)) return false;
    for (; len; len--, s->at++) s->out[s->at] = s->out[s->at - distance];
  }
}

static bool run_fixed(stream *s) {
  uint8_t lengths[LITERALS];
  huffman literals, distances;
  memset(lengths, 8, 144);
  memset(lengths + 144, 9, 112);
  memset(lengths + 256, 7, 24);
  memset(lengths + 280, 8, 8);
  build(&literals, lengths, LITERALS);
  memset(lengths, 5, DISTANCES);
  build(&distances, lengths, DISTANCES);
  return run_codes(s, &literals, &distances);
}

static bool run_dynamic(stream *s) {
  static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                    11, 4,  12, 3, 13, 2, 14, 1, 15};
  uint8_t lengths[LITERALS + 32] = {0};
  huffman literals, distances;
  int nlit = take(s, 5), ndist = take(s, 5), ncode = take(s, 4);
  if (nlit < 0 || ndist < 0 || ncode < 0 || nlit > 29 || ndist > 29) {
    return bad(s, "too many length or distance symbols");
  }
  nlit += 257;
  ndist += 1;
  for (int i = 0; i < ncode + 4; i++) {
    int len = take(s, 3);
    if (len < 0) return false;
    lengths[order[i]] = (uint8_t)len;
  }
  if (!build(&literals, lengths, 19)) return bad(s, "invalid code lengths set");
  memset(lengths, 0, 19);
  for (int i = 0; i < nlit + ndist;) {
    int symbol = decode(s, &literals);
    if (symbol < 0) return false;
    if (symbol < 16) {
      lengths[i++] = (uint8_t)symbol;
      continue;
    }
    int repeat = take(s, symbol == 16 ? 2 : symbol == 17 ? 3 : 7);
    if (repeat < 0 || (symbol == 16 && i == 0)) return bad(s, "invalid bit length repeat");
    repeat += symbol == 18 ? 11 : 3;
    if (repeat > nlit + ndist - i) return bad(s, "invalid bit length repeat");
    memset(lengths + i, symbol == 16 ? lengths[i - 1] : 0, (size_t)repeat);
    i += repeat;
  }
  if (!build(&literals, lengths, nlit)) return bad(s, "invalid literal/lengths set");
  if (!build(&distances, lengths + nlit, ndist)) return bad(s, "invalid distances set");
  return run_codes(s, &literals, &distances);
}

static bool run_stored(stream *s) {
  s->p -= s->count / 8;  // whole bytes that were held back; the rest of one is padding
  s->bits = 0;
  s->count = 0;
  if (s->end - s->p < 4) {
    s->cut = true;
    return false;
  }
  size_t len = (size_t)s->p[0] | (size_t)s->p[1] << 8;
  size_t check = (size_t)s->p[2] | (size_t)s->p[3] << 8;
  s->p += 4;
  if (len != (~check & 0xFFFF)) return bad(s, "invalid stored block lengths");
  const size_t left = (size_t)(s->end - s->p), some = len < left ? len : left;
  if (!reserve(s, some)) return false;
  if (some) memcpy(s->out + s->at, s->p, some);
  s->p += some;
  s->at += some;
  s->cut = some < len;
  return !s->cut;
}

static bool run_blocks(stream *s) {
  int last = 0;
  while (!last) {
    last = take(s, 1);
    int kind = last < 0 ? -1 : take(s, 2);
    bool good = kind == 0   ? run_stored(s)
                : kind == 1 ? run_fixed(s)
                : kind == 2 ? run_dynamic(s)
                            : bad(s, "invalid block type");
    if (!good) return false;
  }
  return true;
}

bool fy_wire_inflate(const uint8_t *bytes, size_t n, uint8_t *out, size_t room) {
  stream s = {.p = bytes, .end = bytes + n, .out = out, .room = room};
  return run_blocks(&s) && s.at == room;
}

fy_wire_inflated fy_wire_inflate_more(const uint8_t **bytes, const uint8_t *end, uint8_t **out,
                                      size_t *out_n, size_t *out_cap, const char **why) {
  stream s = {.p = *bytes, .end = end, .grows = true};  // matches stay within this member
  const size_t start = *out_n;
  const bool done = run_blocks(&s);
  *bytes = s.p - s.count / 8;
  *why = s.why ? s.why : "invalid data";
  fy_wire_inflated result = done          ? FY_INFLATE_DONE
                            : s.no_memory ? FY_INFLATE_NO_MEMORY
                            : s.cut       ? FY_INFLATE_CUT
                                          : FY_INFLATE_BAD;
  if (start == 0 && !*out) {
    *out = s.out;
    *out_n = s.at;
    *out_cap = s.room;
    return result;
  }
  if (s.at && fy_grow(out, out_cap, start + s.at, 1)) {
    memcpy(*out + start, s.out, s.at);
    *out_n = start + s.at;
  } else if (s.at) {
    result = FY_INFLATE_NO_MEMORY;
  }
  fy_free(s.out);
  return result;
}

uint32_t fy_wire_crc32(const uint8_t *bytes, size_t n) {
  static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                      0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                      0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = 0xFFFFFFFFu;
  for (size_t i = 0; i < n; i++) {
    crc ^= bytes[i];
    crc = crc >> 4 ^ nibble[crc & 15];
    crc = crc >> 4 ^ nibble[crc & 15];
  }
  return ~crc;
}
