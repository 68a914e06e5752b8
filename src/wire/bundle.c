// SPDX-License-Identifier: Apache-2.0
// bundle.c: the index of a checkpoint and its shards.

#include "wire/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/bundle_impl.h"
#include "wire/crc32c.h"
#include "wire/proto_util.h"
#include "wire/table.h"
#include "wire/tensor_proto.h"

enum { MAX_SHARDS = 1 << 16, BUNDLE_VERSION = 1 };
#define MAX_INDEX_BYTES ((uint64_t)1 << 30)

// --- the index ---

static fy_code read_header(fy_wire_bundle *b, fy_view value, fy_error *err) {
  ProtobufCMessage *msg;
  FY_TRY(fy_wire_unpack(&tensorflow__bundle_header_proto__descriptor, value.p, value.n, NULL,
                        &b->arena, &msg, err));
  const Tensorflow__BundleHeaderProto *header = (Tensorflow__BundleHeaderProto *)msg;
  if (header->endianness != TENSORFLOW__BUNDLE_HEADER_PROTO__ENDIANNESS__LITTLE) {
    return fy_fail(err, FY_UNIMPLEMENTED, "the checkpoint was written on a big-endian machine");
  }
  if (header->version && header->version->min_consumer > BUNDLE_VERSION) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "the checkpoint needs a reader of version %d, this is version %d",
                   header->version->min_consumer, BUNDLE_VERSION);
  }
  if (header->num_shards < 0 || header->num_shards > MAX_SHARDS) {
    return fy_fail(err, FY_DATA_LOSS, "the checkpoint claims %d shards", header->num_shards);
  }
  b->num_shards = header->num_shards;
  b->has_header = true;
  return FY_OK;
}

static fy_code read_item(fy_wire_bundle *b, fy_view key, fy_view value, fy_error *err) {
  fy_wire_bundle_item *item = fy_arena_zalloc(&b->arena, sizeof *item);
  char *name = fy_arena_strndup(&b->arena, key.p, key.n);
  if (!item || !name) return fy_fail_oom(err, sizeof *item);
  ProtobufCMessage *msg;
  FY_TRY(fy_wire_unpack(&tensorflow__bundle_entry_proto__descriptor, value.p, value.n, NULL,
                        &b->arena, &msg, err));
  item->key = (fy_view){name, key.n};
  item->proto = (Tensorflow__BundleEntryProto *)msg;
  int dtype = (int)item->proto->dtype;
  if (!fy_dtype_valid(dtype) || dtype == FY_INVALID || dtype > FY_REF_BIT) {
    return fy_fail(err, FY_DATA_LOSS, "%d is no data type of a tensor", dtype);
  }
  item->dtype = (fy_dtype)dtype;
  FY_TRY(fy_wire_shape_read(item->proto->shape, &b->arena, &item->shape, err));
  if (item->shape.rank < 0 || !fy_shape_count(item->shape.rank, item->shape.dims, &item->count)) {
    return fy_fail(err, FY_DATA_LOSS, "the shape is not fully known or too large");
  }
  if (!fy_grow(&b->items, &b->cap, b->n + 1, sizeof *b->items) ||
      !fy_map_put(&b->by_key, name, key.n, item)) {
    return fy_fail_oom(err, sizeof *b->items);
  }
  b->items[b->n++] = item;
  return FY_OK;
}

static fy_code visit(void *arg, fy_view key, fy_view value, fy_error *err) {
  fy_wire_bundle *b = arg;
  if (key.n == 0) return read_header(b, value, err);
  if (!b->has_header) return fy_fail(err, FY_DATA_LOSS, "the index has no header");
  fy_code code = read_item(b, key, value, err);
  if (code != FY_OK && err) {
    fy_error_prepend(err, "entry '%.*s': ", key.n > 100 ? 100 : (int)key.n, key.p);
  }
  return code;
}

static fy_code finish_open(fy_wire_bundle *b, const char *prefix, const uint8_t *index, size_t n,
                           bool v1, fy_error *err) {
  b->prefix = fy_arena_strdup(&b->arena, prefix);
  if (!b->prefix) return fy_fail_oom(err, strlen(prefix));
  if (v1) {
    FY_TRY(fy_wire_bundle_scan_v1(b, index, n, err));
  } else {
    FY_TRY(fy_wire_table_scan(index, n, visit, b, err));
    if (!b->has_header) return fy_fail(err, FY_DATA_LOSS, "the index has no header");
  }
  b->names = fy_arena_array(&b->arena, b->n, sizeof *b->names);
  b->shards = fy_arena_array(&b->arena, (size_t)b->num_shards, sizeof *b->shards);
  b->maps = fy_arena_array(&b->arena, (size_t)b->num_shards, sizeof *b->maps);
  if (!b->names || !b->shards || !b->maps) return fy_fail_oom(err, b->n * sizeof *b->names);
  for (int32_t i = 0; i < b->num_shards; i++) b->shards[i].fd = -1;
  for (size_t i = 0; i < b->n; i++) {
    // The key of a slice starts with an encoded zero; no name does.
    fy_view key = b->items[i]->key;
    if (key.n && key.p[0] != 0) b->names[b->num_names++] = key;
  }
  return FY_OK;
}

static fy_code open_table(const char *prefix, const uint8_t *index, size_t n, bool v1,
                          fy_wire_bundle **out, fy_error *err) {
  *out = NULL;
  fy_wire_bundle *b = fy_calloc(1, sizeof *b);
  if (!b) return fy_fail_oom(err, sizeof *b);
  fy_arena_init(&b->arena);
  fy_map_init(&b->by_key);
  fy_mutex_init(&b->lock);
  fy_code code = finish_open(b, prefix, index, n, v1, err);
  if (code != FY_OK) {
    if (err && !v1) fy_error_prepend(err, "%s.index: ", prefix);
    fy_wire_bundle_close(b);
    return code;
  }
  *out = b;
  return FY_OK;
}

fy_code fy_wire_bundle_open_index(const char *prefix, const uint8_t *index, size_t n,
                                  fy_wire_bundle **out, fy_error *err) {
  return open_table(prefix, index, n, false, out, err);
}

// |path| itself is the checkpoint, in version 1.
static fy_code open_v1(const char *path, fy_wire_bundle **out, fy_error *err) {
  uint8_t *table;
  size_t n;
  fy_code code = fy_wire_file_load(path, MAX_INDEX_BYTES, &table, &n, err);
  if (code == FY_NOT_FOUND) {
    return fy_fail(err, FY_NOT_FOUND,
                   "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                   "for %s",
                   path);
  }
  if (code != FY_OK) return code;
  code = open_table(path, table, n, true, out, err);
  if (code == FY_DATA_LOSS && err) {
    fy_error_prepend(err, "Unable to open table file %s: DATA_LOSS: ", path);
    fy_error_append(err,
                    ": perhaps your file is in a different file format and you need to use a "
                    "different restore operator?");
  }
  fy_free(table);
  return code;
}

fy_code fy_wire_bundle_open(const char *prefix, fy_wire_bundle **out, fy_error *err) {
  *out = NULL;
  fy_str path;
  fy_str_init(&path);
  fy_str_printf(&path, "%s.index", prefix);
  if (path.failed) return fy_str_free(&path), fy_fail_oom(err, strlen(prefix));
  uint8_t *index;
  size_t n;
  fy_code code = fy_wire_file_load(path.p, MAX_INDEX_BYTES, &index, &n, err);
  fy_str_free(&path);
  if (code == FY_NOT_FOUND) return open_v1(prefix, out, err);
  if (code != FY_OK) return code;
  code = fy_wire_bundle_open_index(prefix, index, n, out, err);
  fy_free(index);
  return code;
}

void fy_wire_bundle_close(fy_wire_bundle *b) {
  if (!b) return;
  for (int32_t i = 0; b->shards && b->maps && i < b->num_shards; i++) {
    fy_wire_file_close(&b->shards[i]);
    fy_wire_mapping_close(b->maps[i].mapping);
  }
  fy_mutex_destroy(&b->lock);
  fy_map_free(&b->by_key);
  fy_free(b->items);
  fy_arena_free(&b->arena);
  fy_free(b);
}

size_t fy_wire_bundle_count(const fy_wire_bundle *b) {
  return b->num_names;
}

fy_view fy_wire_bundle_name(const fy_wire_bundle *b, size_t i) {
  return b->names[i];
}

const fy_wire_bundle_item *fy_wire_bundle_find(const fy_wire_bundle *b, const char *key, size_t n) {
  return fy_map_get(&b->by_key, key, n);
}

static const fy_wire_bundle_item *find_name(const fy_wire_bundle *b, const char *name) {
  return *name ? fy_map_gets(&b->by_key, name) : NULL;
}

bool fy_wire_bundle_has(const fy_wire_bundle *b, const char *name) {
  return find_name(b, name) != NULL;
}

static fy_code missing(const fy_wire_bundle *b, const char *name, fy_error *err) {
  if (b->is_v1) return fy_fail(err, FY_NOT_FOUND, "%s not found in checkpoint file", name);
  return fy_fail(err, FY_NOT_FOUND, "Key %s not found in checkpoint", name);
}

fy_code fy_wire_bundle_info(const fy_wire_bundle *b, const char *name, fy_dtype *out_dtype,
                            fy_pshape *out_shape, fy_error *err) {
  const fy_wire_bundle_item *item = find_name(b, name);
  *out_dtype = item ? item->dtype : FY_INVALID;
  *out_shape = item ? item->shape : (fy_pshape){.rank = -1};
  return item ? FY_OK : missing(b, name, err);
}

// --- the shards ---

static void shard_path(fy_str *path, const fy_wire_bundle *b, int32_t id) {
  fy_str_init(path);
  fy_str_printf(path, "%s.data-%05d-of-%05d", b->prefix, id, b->num_shards);
}

static fy_code open_shard(fy_wire_bundle *b, int32_t id, const fy_wire_file **out, fy_error *err) {
  if (id < 0 || id >= b->num_shards) {
    return fy_fail(err, FY_DATA_LOSS, "shard %d of %d", id, b->num_shards);
  }
  fy_code code = FY_OK;
  fy_lock(&b->lock);
  if (b->shards[id].fd < 0) {
    fy_str path;
    shard_path(&path, b, id);
    code = path.failed ? fy_fail_oom(err, strlen(b->prefix))
                       : fy_wire_file_open(path.p, &b->shards[id], err);
    fy_str_free(&path);
  }
  fy_unlock(&b->lock);
  *out = &b->shards[id];
  return code;
}

// Of an open shard; NULL: its tensors have to be read.
static fy_wire_mapping *map_shard(fy_wire_bundle *b, int32_t id) {
  fy_lock(&b->lock);
  fy_wire_shard_map *m = &b->maps[id];
  if (!m->tried) {
    fy_str path;
    shard_path(&path, b, id);
    m->mapping = fy_wire_mapping_open(&b->shards[id], fy_str_text(&path));
    m->tried = true;
    fy_str_free(&path);
  }
  fy_unlock(&b->lock);
  return m->mapping;
}

fy_code fy_wire_bundle_check(fy_wire_bundle *b, const fy_wire_bundle_item *item,
                             const fy_wire_file **out_shard, fy_error *err) {
  const Tensorflow__BundleEntryProto *p = item->proto;
  size_t need = (size_t)p->size;
  if (fy_dtype_is_plain(item->dtype)) {
    if (!fy_mul_size((size_t)item->count, fy_dtype_size(item->dtype), &need)) need = SIZE_MAX;
  } else if (item->dtype != FY_STRING) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s tensors of a checkpoint cannot be read",
                   fy_dtype_name(item->dtype));
  }
  if (p->offset < 0 || p->size < 0 || need != (size_t)p->size) {
    return fy_fail(err, FY_DATA_LOSS, "%" PRId64 " bytes at %" PRId64 ", but the shape needs %zu",
                   p->size, p->offset, need);
  }
  FY_TRY(open_shard(b, p->shard_id, out_shard, err));
  uint64_t offset = (uint64_t)p->offset, size = (uint64_t)p->size, have = (*out_shard)->bytes;
  if (offset > have || size > have - offset) {
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "Read less bytes than requested: shard %d has %" PRIu64
                   " bytes, too few for %" PRIu64 " at %" PRIu64,
                   p->shard_id, have, size, offset);
  }
  return FY_OK;
}

static fy_code check_crc(const fy_wire_bundle *b, const fy_wire_bundle_item *item, uint32_t crc,
                         fy_error *err) {
  if (fy_wire_crc_mask(crc) == item->proto->crc32c) return FY_OK;
  return fy_fail(err, FY_DATA_LOSS,
                 "TensorBundle at %s shard %d (%" PRId64
                 " bytes): Checksum does not match: stored "
                 "%u vs. calculated on the restored bytes %u",
                 b->prefix, item->proto->shard_id, item->proto->size,
                 fy_wire_crc_unmask(item->proto->crc32c), crc);
}

// Strings: varint lengths, a checksum of the lengths as numbers, then the bytes.
static fy_code fill_strings(const fy_wire_bundle *b, const fy_wire_bundle_item *item,
                            const uint8_t *bytes, size_t n, fy_tensor *t, fy_error *err) {
  const uint8_t *p = bytes, *end = bytes + n;
  uint32_t crc = 0;
  uint64_t len, sum = 0;
  for (int64_t i = 0; i < item->count; i++) {
    if (!fy_wire_varint(&p, end, &len) || len > n) {
      return fy_fail(err, FY_DATA_LOSS, "the length of string %" PRId64 " is bad", i);
    }
    sum += len;
    uint32_t len32 = (uint32_t)len;
    crc = len <= UINT32_MAX ? fy_wire_crc32c(crc, &len32, 4) : fy_wire_crc32c(crc, &len, 8);
  }
  uint32_t stored;
  if (end - p < 4) return fy_fail(err, FY_DATA_LOSS, "the strings are cut off");
  memcpy(&stored, p, 4);
  if (stored != fy_wire_crc_mask(crc)) {
    return fy_fail(err, FY_DATA_LOSS, "the lengths of the strings do not match their checksum");
  }
  crc = fy_wire_crc32c(crc, p, 4);
  p += 4;
  if (sum != (uint64_t)(end - p)) return fy_fail(err, FY_DATA_LOSS, "the strings are cut off");
  crc = fy_wire_crc32c(crc, p, (size_t)(end - p));
  FY_TRY(check_crc(b, item, crc, err));
  const uint8_t *lengths = bytes;
  for (int64_t i = 0; i < item->count && fy_wire_varint(&lengths, end, &len); i++) {
    if (len && !fy_tensor_set_string(t, i, (const char *)p, (size_t)len)) {
      return fy_fail_oom(err, (size_t)len);
    }
    p += len;
  }
  return FY_OK;
}

static fy_code check_elements(const fy_wire_bundle *b, const fy_wire_bundle_item *item,
                              const fy_tensor *t, fy_error *err) {
  const size_t n = (size_t)item->proto->size;
  return check_crc(b, item, fy_wire_crc32c(0, n ? t->data : "", n), err);
}

static fy_code fill(const fy_wire_bundle *b, const fy_wire_bundle_item *item,
                    const fy_wire_file *shard, fy_tensor *t, fy_error *err) {
  size_t n = (size_t)item->proto->size;
  uint64_t offset = (uint64_t)item->proto->offset;
  if (item->dtype != FY_STRING) {
    if (n) FY_TRY(fy_wire_file_read(shard, offset, t->data, n, err));
    return check_elements(b, item, t, err);
  }
  uint8_t *bytes = fy_malloc(n ? n : 1);
  if (!bytes) return fy_fail_oom(err, n);
  fy_code code = fy_wire_file_read(shard, offset, bytes, n, err);
  if (code == FY_OK) code = fill_strings(b, item, bytes, n, t, err);
  fy_free(bytes);
  return code;
}

fy_code fy_wire_bundle_read_item(fy_wire_bundle *b, const fy_wire_bundle_item *item,
                                 fy_tensor **out, fy_error *err) {
  *out = NULL;
  const fy_wire_file *shard;
  FY_TRY(fy_wire_bundle_check(b, item, &shard, err));
  if (item->dtype == FY_STRING && item->count > item->proto->size) {
    return fy_fail(err, FY_DATA_LOSS, "the strings are cut off");
  }
  fy_tensor *t = NULL;
  if ((size_t)item->proto->size >= FY_MAPPED_BYTES)
    FY_TRY(fy_wire_mapping_tensor(map_shard(b, item->proto->shard_id),
                                  (uint64_t)item->proto->offset, item->dtype, item->shape, &t,
                                  err));
  fy_code code;
  if (t) {
    code = check_elements(b, item, t, err);
  } else {
    FY_TRY(fy_tensor_new_weights(item->dtype, item->shape.rank, item->shape.dims, &t, err));
    code = fill(b, item, shard, t, err);
  }
  if (code != FY_OK) {
    fy_tensor_release(t);
    return code;
  }
  *out = t;
  return FY_OK;
}

fy_code fy_wire_bundle_same(fy_wire_bundle *b, fy_view known, fy_view name, const fy_tensor *t,
                            bool *same, fy_error *err) {
  *same = false;
  const fy_wire_bundle_item *a = b->is_v1 ? NULL : fy_wire_bundle_find(b, known.p, known.n);
  const fy_wire_bundle_item *c = b->is_v1 ? NULL : fy_wire_bundle_find(b, name.p, name.n);
  if (!a || !c || a->proto->n_slices || c->proto->n_slices || a->dtype != c->dtype ||
      !fy_dtype_is_plain(a->dtype) || a->proto->crc32c != c->proto->crc32c ||
      !fy_shape_equal(a->shape.rank, a->shape.dims, c->shape.rank, c->shape.dims) ||
      !fy_shape_equal(a->shape.rank, a->shape.dims, t->rank, t->dims))
    return FY_OK;
  const fy_wire_file *shard;
  fy_error why;
  fy_error_init(&why);
  const fy_code code = fy_wire_bundle_check(b, c, &shard, &why);
  fy_error_clear(&why);
  if (code) return FY_OK;  // reading it will say what is wrong
  fy_tensor *there;
  const size_t n = fy_tensor_bytes(t), step = (size_t)256 << 10;
  FY_TRY(fy_wire_mapping_tensor(map_shard(b, c->proto->shard_id), (uint64_t)c->proto->offset,
                                c->dtype, c->shape, &there, err));
  if (there) {
    *same = memcmp(t->data, there->data, n) == 0;
    fy_tensor_release(there);
    return FY_OK;
  }
  uint8_t *piece = fy_malloc(step);
  if (!piece) return fy_fail_oom(err, step);
  *same = true;
  for (size_t at = 0; *same && at < n; at += step) {
    const size_t some = n - at < step ? n - at : step;
    *same = !fy_wire_file_read(shard, (uint64_t)c->proto->offset + at, piece, some, &why) &&
            memcmp(piece, (const char *)t->data + at, some) == 0;
  }
  fy_error_clear(&why);
  fy_free(piece);
  return FY_OK;
}

fy_code fy_wire_bundle_read(fy_wire_bundle *b, const char *name, fy_tensor **out, fy_error *err) {
  *out = NULL;
  const fy_wire_bundle_item *item = find_name(b, name);
  if (!*name && !b->is_v1) {  // the header, read as the entry of a tensor: its shards are the type
    return fy_fail(err, FY_DATA_LOSS,
                   "Invalid size in bundle entry: key ; stored size 0; expected size %zu",
                   fy_dtype_valid(b->num_shards) ? fy_dtype_size((fy_dtype)b->num_shards) : 0);
  }
  if (!item) return missing(b, name, err);
  if (b->is_v1 && item->num_parts > 1) {
    fy_tensor_slice all = {.rank = item->shape.rank};
    for (int32_t d = 0; d < all.rank && d < FY_INLINE_RANK; d++) all.length[d] = -1;
    return fy_wire_bundle_read_slice(b, name, &all, out, err);
  }
  if (b->is_v1) return fy_wire_bundle_read_v1(item, out, err);
  fy_code code = item->proto->n_slices ? fy_wire_bundle_read_sliced(b, item, out, err)
                                       : fy_wire_bundle_read_item(b, item, out, err);
  if (code != FY_OK && err) fy_error_prepend(err, "%s: tensor %.200s: ", b->prefix, name);
  return code;
}
