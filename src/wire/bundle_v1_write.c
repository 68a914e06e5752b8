// SPDX-License-Identifier: Apache-2.0
// bundle_v1_write.c: checkpoints of version 1, as Save and SaveSlices write them: the entry "" lists
// the tensors and their slices, then one entry per slice with its values in typed lists.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "saved_tensor_slice.pb-c.h"
#include "wire/bundle_impl.h"
#include "wire/bundle_write.h"
#include "wire/proto_util.h"
#include "wire/table_write.h"
#include "wire/tensor_proto.h"

typedef struct row {
  fy_str key;
  uint8_t *value;
  size_t n;
} row;

static int by_key(const void *pa, const void *pb) {
  const row *a = pa, *b = pb;
  const int order = memcmp(a->key.p, b->key.p, a->key.len < b->key.len ? a->key.len : b->key.len);
  return order ? order : a->key.len < b->key.len ? -1 : a->key.len > b->key.len;
}

#define LIST(field, type, expr)                                                   \
  do {                                                                            \
    to->n_##field = n;                                                            \
    to->field = fy_arena_array(arena, n + 1, sizeof *to->field);                  \
    if (!to->field) return fy_fail_oom(err, n * sizeof *to->field);               \
    for (size_t i = 0; i < n; i++) to->field[i] = expr((const type *)t->data)[i]; \
    return FY_OK;                                                                 \
  } while (0)

static fy_code fill_values(Tensorflow__TensorProto *to, const fy_tensor *t, fy_arena *arena,
                           fy_error *err) {
  const size_t n = (size_t)t->count;
  switch (t->dtype) {
    case FY_FLOAT: LIST(float_val, float, );
    case FY_DOUBLE: LIST(double_val, double, );
    case FY_INT32:
    case FY_QINT32: LIST(int_val, int32_t, );
    case FY_INT16:
    case FY_QINT16: LIST(int_val, int16_t, );
    case FY_UINT16:
    case FY_QUINT16: LIST(int_val, uint16_t, );
    case FY_INT8:
    case FY_QINT8: LIST(int_val, int8_t, );
    case FY_UINT8:
    case FY_QUINT8: LIST(int_val, uint8_t, );
    case FY_INT64: LIST(int64_val, int64_t, );
    case FY_UINT32: LIST(uint32_val, uint32_t, );
    case FY_UINT64: LIST(uint64_val, uint64_t, );
    case FY_BOOL: LIST(bool_val, bool, );
    case FY_HALF:
    case FY_BFLOAT16: LIST(half_val, uint16_t, );
    case FY_COMPLEX64:
      to->n_scomplex_val = 2 * n;
      to->scomplex_val = t->data;
      return FY_OK;
    case FY_COMPLEX128:
      to->n_dcomplex_val = 2 * n;
      to->dcomplex_val = t->data;
      return FY_OK;
    case FY_STRING:
      to->n_string_val = n;
      to->string_val = fy_arena_array(arena, n + 1, sizeof *to->string_val);
      if (!to->string_val) return fy_fail_oom(err, n * sizeof *to->string_val);
      for (size_t i = 0; i < n; i++) {
        const fy_view s = fy_tensor_string(t, (int64_t)i);
        to->string_val[i] = (ProtobufCBinaryData){s.n, (uint8_t *)(uintptr_t)s.p};
      }
      return FY_OK;
    default:
      return fy_fail(err, FY_UNIMPLEMENTED, "Version 1 of checkpoints has no values of type %s",
                     fy_dtype_name(t->dtype));
  }
}

static char *text_of(fy_view v, fy_arena *arena) {
  return fy_arena_printf(arena, "%.*s", (int)v.n, v.p);
}

static fy_code slice_of(const fy_v1_part *p, fy_arena *arena, Tensorflow__TensorSliceProto **out,
                        fy_error *err) {
  return fy_slice_message(&p->slice, arena, out, err);
}

static fy_code make_row(const fy_v1_part *p, fy_arena *arena, row *out, fy_error *err) {
  Tensorflow__SavedTensorSlices all = TENSORFLOW__SAVED_TENSOR_SLICES__INIT;
  Tensorflow__SavedSlice data = TENSORFLOW__SAVED_SLICE__INIT;
  Tensorflow__TensorProto values = TENSORFLOW__TENSOR_PROTO__INIT;
  FY_TRY(fill_values(&values, p->tensor, arena, err));
  FY_TRY(slice_of(p, arena, &data.slice, err));
  data.name = text_of(p->name, arena);
  data.data = &values;
  all.data = &data;
  if (!data.name || !fy_wire_slice_key(&out->key, p->name, data.slice))
    return fy_fail_oom(err, p->name.n);
  return fy_wire_pack(&all.base, &out->value, &out->n, err);
}

static bool same_name(fy_view a, fy_view b) {
  return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

// The list of tensors in the order of their names, each with its slices as they were given.
static fy_code make_list(const fy_v1_part *parts, size_t n, fy_arena *arena,
                         Tensorflow__SavedTensorSliceMeta *meta, fy_error *err) {
  meta->tensor = fy_arena_array(arena, n + 1, sizeof *meta->tensor);
  if (!meta->tensor) return fy_fail_oom(err, n * sizeof *meta->tensor);
  for (size_t i = 0; i < n; i++) {
    Tensorflow__SavedSliceMeta *m = NULL;
    for (size_t k = 0; k < meta->n_tensor && !m; k++)
      if (same_name(fy_view_of(meta->tensor[k]->name), parts[i].name)) m = meta->tensor[k];
    if (!m) {
      const fy_pshape shape = {parts[i].rank, parts[i].shape};
      m = fy_wire_new(&tensorflow__saved_slice_meta__descriptor, arena);
      if (!m) return fy_fail_oom(err, sizeof *m);
      m->name = text_of(parts[i].name, arena);
      m->type = (Tensorflow__DataType)parts[i].tensor->dtype;
      m->slice = fy_arena_array(arena, n + 1, sizeof *m->slice);
      if (!m->name || !m->slice) return fy_fail_oom(err, parts[i].name.n);
      FY_TRY(fy_wire_shape_write(&shape, arena, &m->shape, err));
      meta->tensor[meta->n_tensor++] = m;
    }
    FY_TRY(slice_of(&parts[i], arena, &m->slice[m->n_slice], err));
    m->n_slice++;
  }
  return FY_OK;
}

fy_code fy_bundle_write_v1(const char *path, const fy_v1_part *parts, size_t n, fy_error *err) {
  Tensorflow__SavedTensorSlices head = TENSORFLOW__SAVED_TENSOR_SLICES__INIT;
  Tensorflow__SavedTensorSliceMeta meta = TENSORFLOW__SAVED_TENSOR_SLICE_META__INIT;
  Tensorflow__VersionDef version = TENSORFLOW__VERSION_DEF__INIT;
  fy_arena arena;
  fy_table_writer t;
  uint8_t *bytes = NULL;
  size_t bytes_n = 0;
  row *rows = fy_calloc(n + 1, sizeof *rows);
  if (!rows) return fy_fail_oom(err, n * sizeof *rows);
  fy_arena_init(&arena);
  fy_table_writer_init(&t);
  for (size_t i = 0; i < n; i++) fy_str_init(&rows[i].key);
  version.producer = 1;
  meta.versions = &version;
  head.meta = &meta;
  fy_code code = make_list(parts, n, &arena, &meta, err);
  if (!code) code = fy_wire_pack(&head.base, &bytes, &bytes_n, err);
  if (!code) fy_table_writer_add(&t, FY_VIEW(""), (fy_view){(const char *)bytes, bytes_n});
  for (size_t i = 0; i < n && !code; i++) code = make_row(&parts[i], &arena, &rows[i], err);
  if (!code && n) qsort(rows, n, sizeof *rows, by_key);
  for (size_t i = 0; i < n && !code; i++) {
    if (i && by_key(&rows[i - 1], &rows[i]) == 0)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "A slice is given twice");
    else
      fy_table_writer_add(&t, (fy_view){rows[i].key.p, rows[i].key.len},
                          (fy_view){(const char *)rows[i].value, rows[i].n});
  }
  if (!code) code = fy_table_writer_finish(&t, err);
  if (!code) code = fy_wire_file_save(path, t.file.p, t.file.len, err);
  for (size_t i = 0; i < n; i++) {
    fy_str_free(&rows[i].key);
    fy_free(rows[i].value);
  }
  fy_free(rows);
  fy_free(bytes);
  fy_table_writer_free(&t);
  fy_arena_free(&arena);
  return code;
}
