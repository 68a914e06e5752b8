// SPDX-License-Identifier: Apache-2.0
// fuzz_bundle.c: checkpoints. Checksums would stop a fuzzer at once, so half of the inputs are
// wrapped as the one block of a well-formed table; the other half are taken as the whole index. The
// same for files of version 1, which are one table.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/bundle.h"
#include "wire/crc32c.h"
#include "wire/snappy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char prefix[] = "/tmp/ferry_fuzz_bundle";

static uint8_t *put_block(uint8_t *to, const uint8_t *block, size_t n, uint8_t type) {
  memcpy(to, block, n);
  to[n] = type;
  uint32_t crc = fy_wire_crc_mask(fy_wire_crc32c(0, to, n + 1));
  memcpy(to + n + 1, &crc, 4);
  return to + n + 5;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v) {
  for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
  *p++ = (uint8_t)v;
  return p;
}

// Table of one data block: |block|; then its index block and footer.
static size_t wrap(const uint8_t *block, size_t n, uint8_t type, uint8_t *out) {
  uint8_t index[64] = {0, 0}, *p = index + 3, *at = put_block(out, block, n, type);
  p = put_varint(put_varint(p, 0), n);
  index[2] = (uint8_t)(p - index - 3);
  memset(p, 0, 8);
  p[4] = 1;  // one restart, at 0
  size_t index_n = (size_t)(p + 8 - index), index_at = (size_t)(at - out);
  at = put_block(at, index, index_n, 0);
  memset(at, 0, 48);
  put_varint(put_varint(at + 2, index_at), index_n);
  static const uint64_t magic = 0xdb4775248b80fb57u;
  memcpy(at + 40, &magic, 8);
  return (size_t)(at + 48 - out);
}

static const char old_path[] = "/tmp/ferry_fuzz_bundle_v1";

static void use(const uint8_t *index, size_t n, bool v1) {
  fy_error err;
  fy_error_init(&err);
  fy_wire_bundle *b;
  if (v1) {
    FILE *f = fopen(old_path, "wb");
    if (!f) abort();
    fwrite(index, 1, n, f);
    fclose(f);
  }
  if ((v1 ? fy_wire_bundle_open(old_path, &b, &err)
          : fy_wire_bundle_open_index(prefix, index, n, &b, &err)) == FY_OK) {
    for (size_t i = 0; i < fy_wire_bundle_count(b) && i < 50; i++) {
      fy_tensor *t;
      if (fy_wire_bundle_read(b, fy_wire_bundle_name(b, i).p, &t, &err) == FY_OK) {
        fy_tensor_release(t);
      }
      fy_tensor_slice part = {.rank = 1, .start = {1}, .length = {2}};
      if (fy_wire_bundle_read_slice(b, fy_wire_bundle_name(b, i).p, &part, &t, &err) == FY_OK) {
        fy_tensor_release(t);
      }
    }
    fy_wire_bundle_close(b);
  }
  fy_error_clear(&err);
}

static void make_shard(void) {
  static bool made;
  if (made) return;
  made = true;
  char path[64];
  snprintf(path, sizeof path, "%s.data-00000-of-00001", prefix);
  FILE *f = fopen(path, "wb");
  if (!f) abort();
  for (int i = 0; i < 4096; i++) fputc(i % 5 == 0 ? 1 : i & 0xFF, f);
  fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  make_shard();
  if (n == 0) return 0;
  const bool v1 = data[0] & 4;
  uint8_t mode = data[0] & 3, *plain;
  size_t plain_n;
  data++;
  n--;
  if (mode == 0) {
    use(data, n, v1);
  } else if (mode == 1) {
    if (fy_wire_snappy_decode(data, n, 1 << 20, &plain, &plain_n, NULL) == FY_OK) fy_free(plain);
  } else {
    uint8_t *table = malloc(n + 256);
    if (!table) abort();
    use(table, wrap(data, n, mode == 2 ? 0 : 1, table), v1);
    free(table);
  }
  return 0;
}
