// SPDX-License-Identifier: Apache-2.0
// table_write.c: blocks of prefix-compressed entries, an index of them, and a footer.

#include "wire/table_write.h"

#include <string.h>

#include "wire/crc32c.h"

enum { BLOCK_BYTES = 256 << 10, DATA_INTERVAL = 16, INDEX_INTERVAL = 1, FOOTER_BYTES = 48 };
static const uint64_t magic = 0xdb4775248b80fb57u;

static void put_fixed(fy_str *s, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) fy_str_addc(s, (char)(v >> (8 * i)));
}

static void put_varint(fy_str *s, uint64_t v) {
  for (; v >= 0x80; v >>= 7) fy_str_addc(s, (char)(v | 0x80));
  fy_str_addc(s, (char)v);
}

static void block_init(fy_table_block *b, uint32_t interval) {
  fy_str_init(&b->bytes);
  fy_str_init(&b->last_key);
  fy_str_init(&b->restarts);
  b->interval = interval;
  b->since_restart = 0;
  put_fixed(&b->restarts, 0, 4);
}

static void block_free(fy_table_block *b) {
  fy_str_free(&b->bytes);
  fy_str_free(&b->last_key);
  fy_str_free(&b->restarts);
}

static void block_add(fy_table_block *b, fy_view key, fy_view value) {
  size_t shared = 0;
  if (b->since_restart < b->interval) {
    const size_t n = b->last_key.len < key.n ? b->last_key.len : key.n;
    while (shared < n && b->last_key.p[shared] == key.p[shared]) shared++;
  } else {
    put_fixed(&b->restarts, b->bytes.len, 4);
    b->since_restart = 0;
  }
  put_varint(&b->bytes, shared);
  put_varint(&b->bytes, key.n - shared);
  put_varint(&b->bytes, value.n);
  if (key.n > shared) fy_str_addn(&b->bytes, key.p + shared, key.n - shared);
  if (value.n) fy_str_addn(&b->bytes, value.p, value.n);
  b->last_key.len = shared;
  if (key.n > shared) fy_str_addn(&b->last_key, key.p + shared, key.n - shared);
  b->since_restart++;
}

// Appends the finished block and its trailer to the file; the block is empty again.
static void block_flush(fy_table_writer *w, fy_table_block *b, uint64_t *at, uint64_t *bytes) {
  if (b->restarts.len) fy_str_addn(&b->bytes, b->restarts.p, b->restarts.len);
  put_fixed(&b->bytes, b->restarts.len / 4, 4);
  *at = w->file.len;
  *bytes = b->bytes.len;
  fy_str_addc(&b->bytes, 0);  // not compressed
  if (!b->bytes.failed) {
    fy_str_addn(&w->file, b->bytes.p, b->bytes.len);
    put_fixed(&w->file, fy_wire_crc_mask(fy_wire_crc32c(0, b->bytes.p, b->bytes.len)), 4);
  }
  const uint32_t interval = b->interval;
  w->file.failed |= b->bytes.failed || b->last_key.failed || b->restarts.failed;
  block_free(b);
  block_init(b, interval);
}

void fy_table_writer_init(fy_table_writer *w) {
  memset(w, 0, sizeof *w);
  fy_str_init(&w->file);
  fy_str_init(&w->block_key);
  block_init(&w->data, DATA_INTERVAL);
  block_init(&w->index, INDEX_INTERVAL);
}

void fy_table_writer_free(fy_table_writer *w) {
  fy_str_free(&w->file);
  fy_str_free(&w->block_key);
  block_free(&w->data);
  block_free(&w->index);
}

// Shortens |key| to something not below it and below |next| (NULL: to anything not below it).
static void shorten(fy_str *key, const fy_view *next) {
  size_t at = 0;
  if (!next) {
    for (at = 0; at < key->len && (uint8_t)key->p[at] == 0xFF;) at++;
    if (at == key->len) return;
  } else {
    const size_t n = key->len < next->n ? key->len : next->n;
    while (at < n && key->p[at] == next->p[at]) at++;
    if (at >= n || (uint8_t)key->p[at] == 0xFF || (uint8_t)key->p[at] + 1 >= (uint8_t)next->p[at])
      return;
  }
  key->p[at] = (char)(key->p[at] + 1);
  key->len = at + 1;
}

static void index_block(fy_table_writer *w, const fy_view *next) {
  if (!w->block_waits || w->block_key.failed) return;
  fy_str handle;
  fy_str_init(&handle);
  shorten(&w->block_key, next);
  put_varint(&handle, w->block_at);
  put_varint(&handle, w->block_bytes);
  block_add(&w->index, (fy_view){w->block_key.p, w->block_key.len},
            (fy_view){handle.p, handle.len});
  w->file.failed |= handle.failed;
  fy_str_free(&handle);
  w->block_waits = false;
}

static void end_block(fy_table_writer *w) {
  if (!w->data.bytes.len) return;
  w->block_key.len = 0;
  if (w->data.last_key.len) fy_str_addn(&w->block_key, w->data.last_key.p, w->data.last_key.len);
  w->file.failed |= w->block_key.failed;
  block_flush(w, &w->data, &w->block_at, &w->block_bytes);
  w->block_waits = true;
}

void fy_table_writer_add(fy_table_writer *w, fy_view key, fy_view value) {
  index_block(w, &key);
  block_add(&w->data, key, value);
  if (w->data.bytes.len + w->data.restarts.len + 4 >= BLOCK_BYTES) end_block(w);
}

fy_code fy_table_writer_finish(fy_table_writer *w, fy_error *err) {
  fy_table_block meta;
  uint64_t meta_at, meta_bytes, index_at, index_bytes;
  end_block(w);
  block_init(&meta, DATA_INTERVAL);
  block_flush(w, &meta, &meta_at, &meta_bytes);
  block_free(&meta);
  index_block(w, NULL);
  block_flush(w, &w->index, &index_at, &index_bytes);
  fy_str footer;
  fy_str_init(&footer);
  put_varint(&footer, meta_at);
  put_varint(&footer, meta_bytes);
  put_varint(&footer, index_at);
  put_varint(&footer, index_bytes);
  while (!footer.failed && footer.len < FOOTER_BYTES - 8) fy_str_addc(&footer, 0);
  put_fixed(&footer, magic, 8);
  if (!footer.failed) fy_str_addn(&w->file, footer.p, footer.len);
  const bool failed = footer.failed || w->file.failed;
  fy_str_free(&footer);
  return failed ? fy_fail_oom(err, w->file.len) : FY_OK;
}
