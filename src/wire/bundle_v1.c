// SPDX-License-Identifier: Apache-2.0
// bundle_v1.c: checkpoints of version 1: one table file; the entry "" lists the tensors, the others
// hold the slices' values as messages. Everything is read when the file is opened: such files are
// old and small.
// Not here: files that a pattern of names would match.

#include <string.h>

#include "base/alloc.h"
#include "saved_tensor_slice.pb-c.h"
#include "wire/bundle_impl.h"
#include "wire/proto_util.h"
#include "wire/table.h"
#include "wire/tensor_proto.h"

static fy_code read_meta(fy_wire_bundle *b, const Tensorflow__SavedTensorSliceMeta *meta,
                         fy_error *err) {
  for (size_t i = 0; meta && i < meta->n_tensor; i++) {
    const Tensorflow__SavedSliceMeta *from = meta->tensor[i];
    fy_wire_bundle_item *item = fy_arena_zalloc(&b->arena, sizeof *item);
    if (!item) return fy_fail_oom(err, sizeof *item);
    item->key = fy_view_of(from->name ? from->name : "");
    int dtype = (int)from->type;
    if (!fy_dtype_valid(dtype) || dtype == FY_INVALID || dtype > FY_REF_BIT) {
      return fy_fail(err, FY_DATA_LOSS, "%d is no data type of a tensor", dtype);
    }
    item->dtype = (fy_dtype)dtype;
    FY_TRY(fy_wire_shape_read(from->shape, &b->arena, &item->shape, err));
    if (item->shape.rank < 0 || !fy_shape_count(item->shape.rank, item->shape.dims, &item->count)) {
      return fy_fail(err, FY_DATA_LOSS, "the shape is not fully known or too large");
    }
    if (!fy_grow(&b->items, &b->cap, b->n + 1, sizeof *b->items) ||
        !fy_map_put(&b->by_key, item->key.p, item->key.n, item)) {
      return fy_fail_oom(err, sizeof *b->items);
    }
    b->items[b->n++] = item;
  }
  return FY_OK;
}

static fy_code visit(void *arg, fy_view key, fy_view value, fy_error *err) {
  fy_wire_bundle *b = arg;
  ProtobufCMessage *msg;
  fy_code code = fy_wire_unpack(&tensorflow__saved_tensor_slices__descriptor, value.p, value.n,
                                NULL, &b->arena, &msg, err);
  // As protobuf has it, fields of other messages are unknown ones: a V2 index reads as empty.
  if (code == FY_INVALID_ARGUMENT) return FY_OK;
  if (code) return code;
  const Tensorflow__SavedTensorSlices *all = (Tensorflow__SavedTensorSlices *)msg;
  if (key.n == 0) return read_meta(b, all->meta, err);
  const char *name = all->data && all->data->name ? all->data->name : "";
  fy_wire_bundle_item *item = fy_map_gets(&b->by_key, name);
  if (!item || !all->data->data) return FY_OK;
  const size_t n = (size_t)item->num_parts;
  if ((n & (n - 1)) == 0) {  // grows at every power of two
    const Tensorflow__SavedSlice **more = fy_arena_array(&b->arena, n ? 2 * n : 1, sizeof *more);
    if (!more) return fy_fail_oom(err, sizeof *more);
    if (n) memcpy(more, item->parts, n * sizeof *more);
    item->parts = more;
  }
  item->parts[item->num_parts++] = all->data;
  item->data = all->data->data;
  return FY_OK;
}

const Tensorflow__TensorSliceProto *fy_wire_bundle_v1_slice(const fy_wire_bundle_item *item,
                                                            int i) {
  return item->parts[i]->slice;
}

fy_code fy_wire_bundle_scan_v1(fy_wire_bundle *b, const uint8_t *table, size_t n, fy_error *err) {
  b->is_v1 = true;
  b->table_bytes = n;
  return fy_wire_table_scan(table, n, visit, b, err);
}

// The message holds bare values: type and shape are the list's.
fy_code fy_wire_bundle_read_v1_part(const fy_wire_bundle_item *item, int i, fy_pshape shape,
                                    fy_tensor **out, fy_error *err) {
  fy_arena tmp;
  *out = NULL;
  fy_arena_init(&tmp);
  Tensorflow__TensorProto proto = TENSORFLOW__TENSOR_PROTO__INIT;
  if (i < item->num_parts) proto = *item->parts[i]->data;
  proto.dtype = (Tensorflow__DataType)item->dtype;
  fy_code code = fy_wire_shape_write(&shape, &tmp, &proto.tensor_shape, err);
  // Every value is there: a shape of more elements than the list has is no reason to allocate.
  const fy_wire_tensor_options all = {.max_splat_bytes = 0};
  if (!code) code = fy_wire_tensor_read(&proto, &all, out, err);
  fy_arena_free(&tmp);
  return code;
}

fy_code fy_wire_bundle_read_v1(const fy_wire_bundle_item *item, fy_tensor **out, fy_error *err) {
  return fy_wire_bundle_read_v1_part(item, 0, item->shape, out, err);
}
