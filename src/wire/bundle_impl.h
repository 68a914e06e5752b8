// SPDX-License-Identifier: Apache-2.0
// bundle_impl.h: what bundle.c (index, shards) and bundle_slices.c (partitioned variables) share.

#ifndef FY_WIRE_BUNDLE_IMPL_H
#define FY_WIRE_BUNDLE_IMPL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/thread.h"
#include "tensor_bundle.pb-c.h"
#include "wire/bundle.h"
#include "wire/file.h"
#include "wire/mapping.h"

typedef struct fy_wire_bundle_item {
  fy_view key;
  const Tensorflow__BundleEntryProto *proto;
  fy_dtype dtype;
  fy_pshape shape;
  int64_t count;                        // elements
  const Tensorflow__TensorProto *data;  // version 1: the values, and in how many parts
  int num_parts;
  const struct Tensorflow__SavedSlice **parts;  // version 1: all of them
} fy_wire_bundle_item;

typedef struct fy_wire_shard_map {
  fy_wire_mapping *mapping;  // NULL: not yet, or it cannot be
  bool tried;
} fy_wire_shard_map;

struct fy_wire_bundle {
  fy_arena arena;
  const char *prefix;
  int32_t num_shards;
  fy_wire_bundle_item **items;  // all, by key
  size_t n, cap;
  fy_view *names;  // those that are no slices
  size_t num_names;
  fy_map by_key;
  fy_mutex lock;            // guards opening and mapping shards
  fy_wire_file *shards;     // num_shards; fd -1 until first used
  fy_wire_shard_map *maps;  // num_shards
  bool has_header;
  bool is_v1;
  size_t table_bytes;  // of a V1 file
};

const fy_wire_bundle_item *fy_wire_bundle_find(const fy_wire_bundle *b, const char *key, size_t n);
// Checks that the bytes of an unsliced item exist: size and shard agree with dtype and shape.
FY_MUST_CHECK fy_code fy_wire_bundle_check(fy_wire_bundle *b, const fy_wire_bundle_item *item,
                                           const fy_wire_file **out_shard, fy_error *err);
// Reads an unsliced item.
FY_MUST_CHECK fy_code fy_wire_bundle_read_item(fy_wire_bundle *b, const fy_wire_bundle_item *item,
                                               fy_tensor **out, fy_error *err);
// Reads an item that lists slices.
FY_MUST_CHECK fy_code fy_wire_bundle_read_sliced(fy_wire_bundle *b, const fy_wire_bundle_item *item,
                                                 fy_tensor **out, fy_error *err);
// |s| as a message in |arena| (bundle_write.c).
FY_MUST_CHECK fy_code fy_slice_message(const fy_tensor_slice *s, fy_arena *arena,
                                       Tensorflow__TensorSliceProto **out, fy_error *err);
// Appends the key under which a slice is stored; false when memory is short.
bool fy_wire_slice_key(fy_str *key, fy_view name, const Tensorflow__TensorSliceProto *proto);

// Version 1 (bundle_v1.c): everything is in one table.
FY_MUST_CHECK fy_code fy_wire_bundle_scan_v1(fy_wire_bundle *b, const uint8_t *table, size_t n,
                                             fy_error *err);
// The values of part |i|, whose shape is given.
FY_MUST_CHECK fy_code fy_wire_bundle_read_v1_part(const fy_wire_bundle_item *item, int i,
                                                  fy_pshape shape, fy_tensor **out, fy_error *err);
const Tensorflow__TensorSliceProto *fy_wire_bundle_v1_slice(const fy_wire_bundle_item *item, int i);
FY_MUST_CHECK fy_code fy_wire_bundle_read_v1(const fy_wire_bundle_item *item, fy_tensor **out,
                                             fy_error *err);

#endif
