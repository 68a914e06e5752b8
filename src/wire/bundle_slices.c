// SPDX-License-Identifier: Apache-2.0
// bundle_slices.c: put a partitioned variable together from its slices.
// Before anything is allocated, the slices are shown to tile the tensor exactly: each lies inside,
// no two overlap, and their sizes add up.

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/bundle_impl.h"

enum { MAX_SLICES = 4096 };

typedef struct slice {
  int64_t start[FY_INLINE_RANK], length[FY_INLINE_RANK];
  const fy_wire_bundle_item *item;
} slice;

static bool is_whole(const Tensorflow__TensorSliceProto__Extent *e) {
  return e->has_length_case == TENSORFLOW__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH__NOT_SET;
}

// --- the key of a slice: 0, name, rank, then (start, length) per dimension, in an encoding that
// --- sorts as the numbers do. A whole dimension has start 0, length -1.

static void put_number(fy_str *key, uint64_t v) {
  char buf[9];
  unsigned n = 0;
  for (uint64_t rest = v; rest; rest >>= 8) n++;
  buf[0] = (char)n;
  for (unsigned i = 0; i < n; i++) buf[n - i] = (char)(v >> (8 * i));
  fy_str_addn(key, buf, n + 1);
}

static void put_text(fy_str *key, fy_view s) {
  for (size_t i = 0; i < s.n; i++) {
    fy_str_addc(key, s.p[i]);
    if (s.p[i] == 0) fy_str_addc(key, (char)0xFF);
    if ((uint8_t)s.p[i] == 0xFF) fy_str_addc(key, 0);
  }
  fy_str_addn(key, "\0\1", 2);
}

static void put_signed(fy_str *key, int64_t v) {
  uint64_t size = v < 0 ? ~(uint64_t)v : (uint64_t)v;
  unsigned bits = size ? 64 - (unsigned)__builtin_clzll(size) : 0, len = bits / 7 + 1;
  uint8_t buf[10];
  memset(buf, v < 0 ? 0xFF : 0, sizeof buf);
  for (unsigned i = 0; i < 8; i++) buf[9 - i] = (uint8_t)((uint64_t)v >> (8 * i));
  uint8_t *begin = buf + 10 - len;
  // |len| one bits, then a zero, over the sign bits that lead.
  uint16_t head = (uint16_t)(0xFFFFu << (16 - (len < 10 ? len : 10)));
  begin[0] ^= (uint8_t)(head >> 8);
  if (len > 1) begin[1] ^= (uint8_t)head;
  fy_str_addn(key, (char *)begin, len);
}

bool fy_wire_slice_key(fy_str *key, fy_view name, const Tensorflow__TensorSliceProto *proto) {
  put_number(key, 0);
  put_text(key, name);
  put_number(key, proto->n_extent);
  for (size_t d = 0; d < proto->n_extent; d++) {
    const Tensorflow__TensorSliceProto__Extent *e = proto->extent[d];
    bool whole = is_whole(e);
    put_signed(key, whole ? 0 : e->start);
    put_signed(key, whole ? -1 : e->length);
  }
  return !key->failed;
}

// --- geometry ---

static fy_code place_slice(fy_wire_bundle *b, const fy_wire_bundle_item *item,
                           const Tensorflow__TensorSliceProto *proto, slice *out, fy_error *err) {
  size_t rank = (size_t)item->shape.rank;
  if (proto->n_extent != rank) {
    return fy_fail(err, FY_DATA_LOSS, "a slice has %zu dimensions", proto->n_extent);
  }
  for (size_t d = 0; d < rank; d++) {
    const Tensorflow__TensorSliceProto__Extent *e = proto->extent[d];
    bool whole = is_whole(e);
    int64_t dim = item->shape.dims[d];
    out->start[d] = whole ? 0 : e->start;
    out->length[d] = whole ? dim : e->length;
    if (out->start[d] < 0 || out->start[d] > dim || out->length[d] < 0 ||
        out->length[d] > dim - out->start[d]) {
      return fy_fail(err, FY_DATA_LOSS, "a slice lies outside of the tensor");
    }
  }
  fy_str key;
  fy_str_init(&key);
  bool made = fy_wire_slice_key(&key, item->key, proto);
  out->item = made ? fy_wire_bundle_find(b, key.p, key.len) : NULL;
  fy_str_free(&key);
  if (!made) return fy_fail_oom(err, item->key.n);
  if (!out->item) return fy_fail(err, FY_NOT_FOUND, "a slice is not found in the checkpoint");
  const fy_wire_file *shard;
  if (out->item->proto->n_slices || out->item->dtype != item->dtype ||
      !fy_shape_equal(out->item->shape.rank, out->item->shape.dims, item->shape.rank,
                      out->length)) {
    return fy_fail(err, FY_DATA_LOSS, "a slice has another type or shape than it should");
  }
  return fy_wire_bundle_check(b, out->item, &shard, err);
}

static bool overlap(const slice *a, const slice *b, int32_t rank) {
  for (int32_t d = 0; d < rank; d++) {
    if (a->start[d] + a->length[d] <= b->start[d] || b->start[d] + b->length[d] <= a->start[d]) {
      return false;
    }
  }
  return true;
}

static fy_code place_all(fy_wire_bundle *b, const fy_wire_bundle_item *item, slice *slices,
                         fy_error *err) {
  size_t n = item->proto->n_slices;
  int64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    FY_TRY(place_slice(b, item, item->proto->slices[i], &slices[i], err));
    if (__builtin_add_overflow(sum, slices[i].item->count, &sum)) sum = -1;
    for (size_t k = 0; k < i; k++) {
      if (slices[i].item->count && slices[k].item->count &&
          overlap(&slices[i], &slices[k], item->shape.rank)) {
        return fy_fail(err, FY_DATA_LOSS, "slices %zu and %zu overlap", k, i);
      }
    }
  }
  if (sum == item->count) return FY_OK;
  return fy_fail(err, FY_DATA_LOSS, "the slices hold %" PRId64 " of %" PRId64 " elements", sum,
                 item->count);
}

// Copies the rows (last dimension) of |from| to their place in |to|.
static fy_code copy_slice(const slice *s, const fy_tensor *from, fy_tensor *to, fy_error *err) {
  int32_t rank = to->rank;
  size_t size = fy_dtype_storage(to->dtype);
  int64_t row = rank ? s->length[rank - 1] : 1, rows = row ? from->count / row : 0;
  int64_t index[FY_INLINE_RANK] = {0};
  for (int64_t r = 0; r < rows; r++) {
    int64_t at = 0;
    for (int32_t d = 0; d < rank; d++) at = at * to->dims[d] + s->start[d] + index[d];
    FY_TRY(fy_elements_copy(to->dtype, (char *)to->data + (size_t)at * size,
                            (const char *)from->data + (size_t)(r * row) * size, row, err));
    for (int32_t d = rank - 2; d >= 0 && ++index[d] == s->length[d]; d--) index[d] = 0;
  }
  return FY_OK;
}

fy_code fy_wire_bundle_read_sliced(fy_wire_bundle *b, const fy_wire_bundle_item *item,
                                   fy_tensor **out, fy_error *err) {
  *out = NULL;
  size_t n = item->proto->n_slices;
  if (item->shape.rank > FY_INLINE_RANK || n > MAX_SLICES) {
    return fy_fail(err, FY_UNIMPLEMENTED, "a partitioned tensor of rank %d in %zu slices",
                   item->shape.rank, n);
  }
  slice *slices = fy_calloc(n, sizeof *slices);
  if (!slices) return fy_fail_oom(err, n * sizeof *slices);
  fy_tensor *t = NULL;
  fy_code code = place_all(b, item, slices, err);
  if (code == FY_OK) {
    code = fy_tensor_new_weights(item->dtype, item->shape.rank, item->shape.dims, &t, err);
  }
  for (size_t i = 0; i < n && code == FY_OK; i++) {
    fy_tensor *part;
    code = fy_wire_bundle_read_item(b, slices[i].item, &part, err);
    if (code != FY_OK) break;
    code = copy_slice(&slices[i], part, t, err);
    fy_tensor_release(part);
  }
  fy_free(slices);
  if (code != FY_OK) {
    fy_tensor_release(t);
    return code;
  }
  *out = t;
  return FY_OK;
}

// ---------------------------------------------------------------- parts of a tensor
typedef struct region {
  int64_t start[FY_INLINE_RANK], length[FY_INLINE_RANK];
} region;

static fy_code region_of(const fy_wire_bundle_item *item, const Tensorflow__TensorSliceProto *proto,
                         region *out, fy_error *err) {
  for (int32_t d = 0; d < item->shape.rank; d++) {
    const Tensorflow__TensorSliceProto__Extent *e =
        proto && (size_t)d < proto->n_extent ? proto->extent[d] : NULL;
    const int64_t dim = item->shape.dims[d];
    out->start[d] = e && !is_whole(e) ? e->start : 0;
    out->length[d] = e && !is_whole(e) ? e->length : dim;
    if (out->start[d] < 0 || out->start[d] > dim || out->length[d] < 0 ||
        out->length[d] > dim - out->start[d])
      return fy_fail(err, FY_DATA_LOSS, "a slice lies outside of the tensor");
  }
  return FY_OK;
}

// Copies what |from|, at |a| of the whole, and |to|, at |b|, have in common; adds its size to |*done|.
static fy_code copy_common(const fy_tensor *from, const region *a, fy_tensor *to, const region *b,
                           int64_t *done, fy_error *err) {
  const int32_t rank = to->rank;
  int64_t low[FY_INLINE_RANK], size[FY_INLINE_RANK], index[FY_INLINE_RANK] = {0}, rows = 1;
  for (int32_t d = 0; d < rank; d++) {
    const int64_t end_a = a->start[d] + a->length[d], end_b = b->start[d] + b->length[d];
    low[d] = a->start[d] > b->start[d] ? a->start[d] : b->start[d];
    size[d] = (end_a < end_b ? end_a : end_b) - low[d];
    if (size[d] <= 0) return FY_OK;
    if (d < rank - 1) rows *= size[d];
  }
  const int64_t run = rank ? size[rank - 1] : 1;
  const size_t element = fy_dtype_storage(to->dtype);
  for (int64_t r = 0; r < rows; r++) {
    int64_t src = 0, dst = 0;
    for (int32_t d = 0; d < rank; d++) {
      const int64_t at = low[d] + (d < rank - 1 ? index[d] : 0);
      src = src * a->length[d] + at - a->start[d];
      dst = dst * b->length[d] + at - b->start[d];
    }
    FY_TRY(fy_elements_copy(to->dtype, (char *)to->data + (size_t)dst * element,
                            (const char *)from->data + (size_t)src * element, run, err));
    for (int32_t d = rank - 2; d >= 0 && ++index[d] == size[d]; d--) index[d] = 0;
  }
  *done += rows * run;
  return FY_OK;
}

static bool meet(const region *a, const region *b, int32_t rank) {
  for (int32_t d = 0; d < rank; d++)
    if (a->start[d] + a->length[d] <= b->start[d] || b->start[d] + b->length[d] <= a->start[d])
      return false;
  return true;
}

static fy_code read_part(fy_wire_bundle *b, const fy_wire_bundle_item *item, size_t i,
                         const region *at, fy_tensor **out, fy_error *err) {
  if (b->is_v1)
    return fy_wire_bundle_read_v1_part(item, (int)i, (fy_pshape){item->shape.rank, at->length}, out,
                                       err);
  if (!item->proto->n_slices) return fy_wire_bundle_read_item(b, item, out, err);
  slice s;
  FY_TRY(place_slice(b, item, item->proto->slices[i], &s, err));
  return fy_wire_bundle_read_item(b, s.item, out, err);
}

static void print_slice(fy_str *out, const fy_tensor_slice *s) {
  for (int32_t d = 0; d < s->rank; d++) {
    if (d) fy_str_addc(out, ':');
    if (s->length[d] < 0)
      fy_str_addc(out, '-');
    else
      fy_str_printf(out, "%" PRId64 ",%" PRId64, s->start[d], s->length[d]);
  }
}

// Elements that |need| takes of the part at |at|.
static int64_t common_count(const region *a, const region *b, int32_t rank) {
  int64_t n = 1;
  for (int32_t d = 0; d < rank; d++) {
    const int64_t ea = a->start[d] + a->length[d], eb = b->start[d] + b->length[d];
    n *= (ea < eb ? ea : eb) - (a->start[d] > b->start[d] ? a->start[d] : b->start[d]);
  }
  return n;
}

static size_t num_stored(const fy_wire_bundle *b, const fy_wire_bundle_item *item) {
  return b->is_v1 ? (size_t)item->num_parts : item->proto->n_slices;
}

static fy_code part_region(const fy_wire_bundle *b, const fy_wire_bundle_item *item, size_t i,
                           region *at, fy_error *err) {
  return region_of(item,
                   num_stored(b, item) == 0 ? NULL
                   : b->is_v1               ? fy_wire_bundle_v1_slice(item, (int)i)
                                            : item->proto->slices[i],
                   at, err);
}

// Whether the file has what is asked for, before memory is taken for it.
static fy_code check_parts(fy_wire_bundle *b, const fy_wire_bundle_item *item, const region *need,
                           int64_t *have, fy_error *err) {
  const size_t stored = num_stored(b, item);
  *have = 0;
  for (size_t i = 0; i < (stored ? stored : 1); i++) {
    region at;
    const fy_wire_file *shard;
    FY_TRY(part_region(b, item, i, &at, err));
    if (!meet(&at, need, item->shape.rank)) continue;
    if (__builtin_add_overflow(*have, common_count(&at, need, item->shape.rank), have))
      *have = INT64_MAX;
    if (b->is_v1) continue;
    slice s = {.item = item};
    if (stored) FY_TRY(place_slice(b, item, item->proto->slices[i], &s, err));
    FY_TRY(fy_wire_bundle_check(b, s.item, &shard, err));
    if (s.item->dtype == FY_STRING && s.item->count > s.item->proto->size)
      return fy_fail(err, FY_DATA_LOSS, "the strings are cut off");
  }
  return FY_OK;
}

static fy_code insufficient(const char *name, const fy_tensor_slice *want, fy_error *err) {
  fy_str text;
  fy_str_init(&text);
  print_slice(&text, want);
  fy_code code = fy_fail(err, FY_INVALID_ARGUMENT,
                         "Does not have sufficient slices for partitioned tensor %s to restore in "
                         "slice_spec: %s",
                         name, fy_str_text(&text));
  fy_str_free(&text);
  return code;
}

static fy_code read_parts(fy_wire_bundle *b, const fy_wire_bundle_item *item, const char *name,
                          const fy_tensor_slice *want, const region *need, fy_tensor **out,
                          fy_error *err) {
  const size_t stored = num_stored(b, item);
  int64_t have, count, done = 0;
  fy_tensor *t;
  FY_TRY(check_parts(b, item, need, &have, err));
  if (!fy_shape_count(want->rank, need->length, &count) || have < count ||
      (b->is_v1 && (uint64_t)count / 64 > b->table_bytes))
    return insufficient(name, want, err);
  FY_TRY(fy_tensor_new_weights(item->dtype, want->rank, need->length, &t, err));
  fy_code code = FY_OK;
  for (size_t i = 0; i < (stored ? stored : 1) && !code; i++) {
    region at;
    fy_tensor *part;
    code = part_region(b, item, i, &at, err);
    if (code || !meet(&at, need, want->rank)) continue;
    code = read_part(b, item, i, &at, &part, err);
    if (code) break;
    code = copy_common(part, &at, t, need, &done, err);
    fy_tensor_release(part);
  }
  if (!code && done < t->count) code = insufficient(name, want, err);
  if (code)
    fy_tensor_release(t);
  else
    *out = t;
  return code;
}

fy_code fy_wire_bundle_read_slice(fy_wire_bundle *b, const char *name, const fy_tensor_slice *want,
                                  fy_tensor **out, fy_error *err) {
  const fy_wire_bundle_item *item = fy_wire_bundle_find(b, name, strlen(name));
  *out = NULL;
  if (!item || item->shape.rank != want->rank || want->rank > FY_INLINE_RANK)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s has no such slice", name);
  region need;
  bool all = true;
  for (int32_t d = 0; d < want->rank; d++) {
    const bool whole = want->length[d] < 0;
    const int64_t dim = item->shape.dims[d];
    need.start[d] = whole ? 0 : want->start[d];
    need.length[d] = whole ? dim : want->length[d];
    if (need.start[d] < 0 || need.start[d] > dim || need.length[d] > dim - need.start[d])
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s has no such slice", name);
    all &= need.length[d] == dim;
  }
  fy_code code = all && !b->is_v1 && !item->proto->n_slices
                     ? fy_wire_bundle_read_item(b, item, out, err)
                     : read_parts(b, item, name, want, &need, out, err);
  if ((code == FY_DATA_LOSS || code == FY_OUT_OF_RANGE) && err)
    fy_error_append(err, " (tensor %.200s of checkpoint %s)", name, b->prefix);
  return code;
}
