// SPDX-License-Identifier: Apache-2.0
// npz_write.c: a zip archive of .npy members, stored without compression, as numpy.savez writes it.

#include <string.h>

#include "base/alloc.h"
#include "wire/inflate.h"
#include "wire/npy.h"

enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50, VERSION = 20, UTF8 = 0x800 };

static void put16(fy_str *s, unsigned v) {
  fy_str_addc(s, (char)(v & 255));
  fy_str_addc(s, (char)(v >> 8 & 255));
}
static void put32(fy_str *s, uint32_t v) {
  put16(s, v & 0xffff);
  put16(s, v >> 16);
}

// What a local and a central header have in common, from the flags to the length of the extra field.
static void put_facts(fy_str *s, uint32_t crc, uint32_t bytes, size_t name) {
  put16(s, UTF8);
  put16(s, 0);     // stored
  put16(s, 0);     // time
  put16(s, 0x21);  // date: 1980-01-01, so that equal arrays give equal files
  put32(s, crc);
  put32(s, bytes);
  put32(s, bytes);
  put16(s, (unsigned)name + 4);  // ".npy"
  put16(s, 0);
}

static void put_name(fy_str *s, const char *name) {
  fy_str_add(s, name);
  fy_str_add(s, ".npy");
}

fy_code fy_wire_npz_write(const char *const *names, const fy_tensor *const *tensors, size_t n,
                          fy_str *out, fy_error *err) {
  fy_str central;
  fy_code code = n <= 0xffff ? FY_OK : fy_fail(err, FY_UNIMPLEMENTED, "npz: %zu arrays", n);
  fy_str_init(&central);
  for (size_t i = 0; !code && i < n; i++) {
    uint8_t *bytes = NULL;
    size_t len = 0, at = out->len, name = strlen(names[i]);
    code = fy_wire_npy_write(tensors[i], &bytes, &len, err);
    if (!code && (len > 0x7fffffff || at > 0x7fffffff || name > 0xf000))
      code = fy_fail(err, FY_UNIMPLEMENTED, "npz: '%s' is too large for an archive without zip64",
                     names[i]);
    if (!code) {
      uint32_t crc = fy_wire_crc32(bytes, len);
      put32(out, LOCAL);
      put16(out, VERSION);
      put_facts(out, crc, (uint32_t)len, name);
      put_name(out, names[i]);
      fy_str_addn(out, (const char *)bytes, len);
      put32(&central, CENTRAL);
      put16(&central, VERSION);
      put16(&central, VERSION);
      put_facts(&central, crc, (uint32_t)len, name);
      put16(&central, 0);  // comment
      put16(&central, 0);  // disk
      put16(&central, 0);  // attributes
      put32(&central, 0);
      put32(&central, (uint32_t)at);
      put_name(&central, names[i]);
    }
    fy_free(bytes);
  }
  size_t at = out->len;
  if (!code) {
    fy_str_addn(out, fy_str_text(&central), central.len);
    put32(out, END);
    put16(out, 0);
    put16(out, 0);
    put16(out, (unsigned)n);
    put16(out, (unsigned)n);
    put32(out, (uint32_t)central.len);
    put32(out, (uint32_t)at);
    put16(out, 0);
    if (out->failed || central.failed) code = fy_fail_oom(err, at);
  }
  fy_str_free(&central);
  return code;
}
