// SPDX-License-Identifier: Apache-2.0
// unzlib.c: the zlib and gzip wrappers around DEFLATE (inflate.h), with zlib's texts.

#include "base/alloc.h"
#include "wire/inflate.h"

static uint32_t adler32(const uint8_t *p, size_t n) {
  uint32_t a = 1, b = 0;
  while (n) {
    size_t some = n < 5552 ? n : 5552;
    for (n -= some; some; some--) {
      a += *p++;
      b += a;
    }
    a %= 65521;
    b %= 65521;
  }
  return b << 16 | a;
}

static uint32_t little32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

typedef enum header { HEADER_OK, HEADER_CUT, HEADER_BAD } header;

static header zlib_header(const uint8_t **at, const uint8_t *end, const char **why) {
  const uint8_t *p = *at;
  if (end - p < 2) return HEADER_CUT;
  if ((p[0] * 256 + p[1]) % 31) {
    *why = "-3: incorrect header check";
  } else if ((p[0] & 15) != 8) {
    *why = "-3: unknown compression method";
  } else if ((p[0] >> 4) > 7) {
    *why = "-3: invalid window size";
  } else if (p[1] & 0x20) {
    *why = "2";  // a dictionary is wanted
  } else {
    *at = p + 2;
    return HEADER_OK;
  }
  return HEADER_BAD;
}

static bool past_text(const uint8_t **p, const uint8_t *end) {
  while (*p < end && **p) (*p)++;
  if (*p == end) return false;
  (*p)++;
  return true;
}

static header gzip_header(const uint8_t **at, const uint8_t *end, const char **why) {
  const uint8_t *p = *at;
  if (end - p < 2) return HEADER_CUT;
  if (p[0] != 0x1f || p[1] != 0x8b) {
    *why = "-3: incorrect header check";
    return HEADER_BAD;
  }
  if (end - p < 10) return HEADER_CUT;
  const uint8_t flags = p[3];
  if (p[2] != 8 || flags & 0xe0) {
    *why = p[2] != 8 ? "-3: unknown compression method" : "-3: unknown header flags set";
    return HEADER_BAD;
  }
  p += 10;
  if (flags & 4) {
    if (end - p < 2 || end - p - 2 < p[0] + p[1] * 256) return HEADER_CUT;
    p += 2 + p[0] + p[1] * 256;
  }
  if (flags & 8 && !past_text(&p, end)) return HEADER_CUT;
  if (flags & 16 && !past_text(&p, end)) return HEADER_CUT;
  if (flags & 2) {
    if (end - p < 2) return HEADER_CUT;
    if ((fy_wire_crc32(*at, (size_t)(p - *at)) & 0xFFFF) != (uint32_t)(p[0] + p[1] * 256)) {
      *why = "-3: header crc mismatch";
      return HEADER_BAD;
    }
    p += 2;
  }
  *at = p;
  return HEADER_OK;
}

// The checksum behind a stream; false if it does not fit or is not all there (|*cut|).
static bool trailer(bool gzip, const uint8_t **at, const uint8_t *end, const uint8_t *made,
                    size_t n, bool *cut, const char **why) {
  const uint8_t *p = *at;
  const size_t size = gzip ? 8 : 4;
  if ((size_t)(end - p) < size) {
    *cut = true;
    return false;
  }
  *at += size;
  if (gzip) {
    if (little32(p) != fy_wire_crc32(made, n)) {
      *why = "incorrect data check";
      return false;
    }
    if (little32(p + 4) != (uint32_t)n) {
      *why = "incorrect length check";
      return false;
    }
    return true;
  }
  const uint32_t sum = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
  if (sum == adler32(made, n)) return true;
  *why = "incorrect data check";
  return false;
}

fy_code fy_wire_unzlib(bool gzip, const uint8_t *bytes, size_t n, uint8_t **out, size_t *out_n,
                       bool *cut, fy_error *err) {
  const uint8_t *p = bytes, *end = bytes + n;
  size_t cap = 0;
  const char *why = NULL;
  fy_code code = FY_OK;
  *out = NULL;
  *out_n = 0;
  *cut = n == 0;
  while (p < end && !*cut && !code) {
    const size_t start = *out_n;
    const header h = gzip ? gzip_header(&p, end, &why) : zlib_header(&p, end, &why);
    *cut = h == HEADER_CUT;
    if (h == HEADER_BAD) {
      code = fy_fail(err, FY_DATA_LOSS, "inflate() failed with error %s", why);
    }
    if (h != HEADER_OK) break;
    const fy_wire_inflated r = fy_wire_inflate_more(&p, end, out, out_n, &cap, &why);
    *cut = r == FY_INFLATE_CUT;
    bool bad = r == FY_INFLATE_BAD;
    if (r == FY_INFLATE_NO_MEMORY) code = fy_fail_oom(err, *out_n);
    if (r == FY_INFLATE_DONE) {
      bad = !trailer(gzip, &p, end, *out + start, *out_n - start, cut, &why) && !*cut;
    }
    if (bad) code = fy_fail(err, FY_DATA_LOSS, "inflate() failed with error -3: %s", why);
    if (!gzip) break;
  }
  if (!code && !*out) {
    *out = fy_malloc(1);
    if (!*out) code = fy_fail_oom(err, 1);
  }
  if (code) {
    fy_free(*out);
    *out = NULL;
    *out_n = 0;
  }
  return code;
}
