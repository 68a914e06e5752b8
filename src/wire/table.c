// SPDX-License-Identifier: Apache-2.0
// table.c: footer -> index block -> data blocks -> entries.
// Block: entries, restart offsets, their count; then, outside, a type byte and a masked crc32c.
// Entry: shared, unshared and value lengths, the key's new part, the value.
// Blocks and keys must increase, so nothing can be named twice to multiply the work.

#include "wire/table.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/crc32c.h"
#include "wire/proto_util.h"
#include "wire/snappy.h"

enum { FOOTER = 48, TRAILER = 5, MAX_KEY = 64 << 10, MAX_BLOCK = 256 << 20 };
static const uint64_t magic = 0xdb4775248b80fb57u;

typedef struct key_buffer {
  char *p;
  size_t n;
} key_buffer;

typedef struct table_reader {
  const uint8_t *bytes;
  size_t n;
  fy_wire_table_visit visit;
  void *arg;
  key_buffer index_key, key;  // being read, at each level
  key_buffer last;            // the last one handed out, if |any|
  bool any;
  uint64_t next_offset;  // the next data block starts here or later
  uint64_t key_bytes;    // of all keys, to bound what prefix sharing can make of a small file
  fy_error *err;
} table_reader;

typedef fy_code (*entry_fn)(table_reader *t, fy_view key, fy_view value);

static fy_code malformed(table_reader *t, const char *what, uint64_t at) {
  return fy_fail(t->err, FY_DATA_LOSS, "table: %s at byte %" PRIu64, what, at);
}

static uint32_t read32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

// One entry at |*at|; the key grows in |key| out of the previous one.
static bool read_entry(const uint8_t **at, const uint8_t *end, key_buffer *key, fy_view *value) {
  uint64_t shared, fresh, len;
  const uint8_t *p = *at;
  if (!fy_wire_varint(&p, end, &shared) || !fy_wire_varint(&p, end, &fresh) ||
      !fy_wire_varint(&p, end, &len)) {
    return false;
  }
  size_t left = (size_t)(end - p);
  if (shared > key->n || fresh > left || len > left - fresh || fresh > MAX_KEY - shared) {
    return false;
  }
  memcpy(key->p + shared, p, (size_t)fresh);
  key->n = (size_t)(shared + fresh);
  *value = (fy_view){(const char *)p + fresh, (size_t)len};
  *at = p + fresh + len;
  return true;
}

static fy_code scan_entries(table_reader *t, const uint8_t *block, size_t n, uint64_t where,
                            key_buffer *key, entry_fn fn) {
  uint32_t restarts = n >= 4 ? read32(block + n - 4) : 0;
  if (n < 4 || restarts > (n - 4) / 4) return malformed(t, "bad restart count in the block", where);
  const uint8_t *p = block, *end = block + n - 4 - (size_t)restarts * 4;
  key->n = 0;
  while (p < end) {
    fy_view value;
    if (!read_entry(&p, end, key, &value)) return malformed(t, "bad entry in the block", where);
    t->key_bytes += key->n;
    if (t->key_bytes > ((uint64_t)16 << 20) + (uint64_t)t->n * 64) {
      return malformed(t, "keys too large for the file in the block", where);
    }
    FY_TRY(fn(t, (fy_view){key->p, key->n}, value));
  }
  return FY_OK;
}

static fy_code scan_block(table_reader *t, uint64_t offset, uint64_t size, key_buffer *key,
                          entry_fn fn) {
  if (size > MAX_BLOCK || offset > t->n || size > t->n - offset || t->n - offset - size < TRAILER) {
    return malformed(t, "a block runs past the end of the file", offset);
  }
  const uint8_t *block = t->bytes + offset;
  size_t n = (size_t)size;
  if (fy_wire_crc_mask(fy_wire_crc32c(0, block, n + 1)) != read32(block + n + 1)) {
    return malformed(t, "checksum mismatch in the block", offset);
  }
  if (block[n] == 0) return scan_entries(t, block, n, offset, key, fn);
  if (block[n] != 1) return malformed(t, "unknown compression of the block", offset);
  uint8_t *plain;
  size_t plain_n;
  FY_TRY(fy_wire_snappy_decode(block, n, MAX_BLOCK, &plain, &plain_n, t->err));
  fy_code code = scan_entries(t, plain, plain_n, offset, key, fn);
  fy_free(plain);
  return code;
}

static int compare(fy_view a, fy_view b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int order = n ? memcmp(a.p, b.p, n) : 0;
  return order ? order : (a.n > b.n) - (a.n < b.n);
}

static fy_code data_entry(table_reader *t, fy_view key, fy_view value) {
  if (t->any && compare(key, (fy_view){t->last.p, t->last.n}) <= 0) {
    return malformed(t, "keys out of order before the end", t->n);
  }
  t->any = true;
  memcpy(t->last.p, key.p, key.n);
  t->last.n = key.n;
  return t->visit(t->arg, key, value, t->err);
}

static fy_code index_entry(table_reader *t, fy_view key, fy_view value) {
  (void)key;
  const uint8_t *p = (const uint8_t *)value.p, *end = p + value.n;
  uint64_t offset, size;
  if (!fy_wire_varint(&p, end, &offset) || !fy_wire_varint(&p, end, &size)) {
    return malformed(t, "bad block handle in the index", 0);
  }
  if (offset < t->next_offset) return malformed(t, "blocks out of order", offset);
  if (__builtin_add_overflow(offset, size, &t->next_offset)) t->next_offset = UINT64_MAX;
  return scan_block(t, offset, size, &t->key, data_entry);
}

fy_code fy_wire_table_scan(const uint8_t *bytes, size_t n, fy_wire_table_visit visit, void *arg,
                           fy_error *err) {
  table_reader t = {.bytes = bytes, .n = n, .visit = visit, .arg = arg, .err = err};
  if (n < FOOTER) return malformed(&t, "the file is too short for a table, it ends", n);
  uint64_t number, offset, size;
  memcpy(&number, bytes + n - 8, 8);
  if (number != magic) {
    return fy_fail(err, FY_DATA_LOSS, "not an sstable (bad magic number)");
  }
  const uint8_t *p = bytes + n - FOOTER, *end = bytes + n - 8;
  if (!fy_wire_varint(&p, end, &offset) || !fy_wire_varint(&p, end, &size) ||
      !fy_wire_varint(&p, end, &offset) || !fy_wire_varint(&p, end, &size)) {
    return malformed(&t, "bad footer", n - FOOTER);
  }
  t.index_key.p = fy_malloc(MAX_KEY);
  t.key.p = fy_malloc(MAX_KEY);
  t.last.p = fy_malloc(MAX_KEY);
  fy_code code = FY_OK;
  if (!t.index_key.p || !t.key.p || !t.last.p) {
    code = fy_fail_oom(err, MAX_KEY);
  } else {
    code = scan_block(&t, offset, size, &t.index_key, index_entry);
  }
  fy_free(t.index_key.p);
  fy_free(t.key.p);
  fy_free(t.last.p);
  return code;
}
