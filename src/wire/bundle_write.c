// SPDX-License-Identifier: Apache-2.0
// bundle_write.c: checkpoints of version 2: the data file grows as tensors are added, the index is
// written at the end.

#include "wire/bundle_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "wire/bundle_impl.h"
#include "wire/crc32c.h"
#include "wire/proto_util.h"
#include "wire/table.h"
#include "wire/table_write.h"
#include "wire/tensor_proto.h"

typedef Tensorflow__BundleEntryProto entry_proto;

typedef struct entry {
  fy_view key;
  entry_proto *proto;
} entry;

typedef struct entries {  // of an index to be
  fy_arena arena;
  fy_map by_key;
  entry *items;
  size_t n, cap;
} entries;

struct fy_bundle_writer {
  char *prefix, *data_path, *temp_path;
  FILE *data;
  uint64_t bytes;
  entries index;
  bool finished;
};

// ---------------------------------------------------------------- files
static fy_code fail_path(const char *path, fy_error *err) {
  const fy_code code = errno == ENOENT || errno == ENOTDIR     ? FY_NOT_FOUND
                       : errno == EACCES || errno == EPERM     ? FY_PERMISSION_DENIED
                       : errno == EEXIST                       ? FY_ALREADY_EXISTS
                       : errno == ENOSPC                       ? FY_RESOURCE_EXHAUSTED
                       : errno == EISDIR || errno == ENOTEMPTY ? FY_FAILED_PRECONDITION
                                                               : FY_UNKNOWN;
  return fy_fail(err, code, "%s; %s", path, strerror(errno));
}

static char *join(const char *format, const char *a, int64_t b, int64_t c) {
  fy_str s;
  fy_str_init(&s);
  fy_str_add(&s, a);
  char rest[96];
  snprintf(rest, sizeof rest, format, b, c);
  fy_str_add(&s, rest);
  return fy_str_take(&s);
}

static char *data_name(const char *prefix, int64_t shard, int64_t shards) {
  return join(".data-%05" PRId64 "-of-%05" PRId64, prefix, shard, shards);
}

static char *temporary_name(const char *path) {
  static atomic_uint_fast64_t counter;
  return join(".tempstate%" PRId64 "_%" PRId64, path, (int64_t)getpid(),
              (int64_t)fy_now_ns() + (int64_t)atomic_fetch_add(&counter, 1));
}

fy_code fy_wire_file_save(const char *path, const void *bytes, size_t n, fy_error *err) {
  char *temp = temporary_name(path);
  if (!temp) return fy_fail_oom(err, strlen(path));
  FILE *f = fopen(temp, "wb");
  fy_code code = f ? FY_OK : fail_path(path, err);
  if (f) {
    bool wrote = !n || fwrite(bytes, 1, n, f) == n;
    if (fclose(f) != 0) wrote = false;
    if (!wrote || rename(temp, path) != 0) {
      code = fail_path(path, err);
      remove(temp);
    }
  }
  fy_free(temp);
  return code;
}

// The folder of |path|, made if its parent exists.
static fy_code make_folder(const char *path, fy_error *err) {
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return FY_OK;
  char *folder = fy_strndup(path, (size_t)(slash - path));
  if (!folder) return fy_fail_oom(err, strlen(path));
  fy_code code = FY_OK;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST && access(folder, F_OK) != 0)
    code = fail_path(folder, err);
  fy_free(folder);
  return code;
}

// ---------------------------------------------------------------- index
static void entries_init(entries *e) {
  memset(e, 0, sizeof *e);
  fy_arena_init(&e->arena);
  fy_map_init(&e->by_key);
}

static void entries_free(entries *e) {
  fy_map_free(&e->by_key);
  fy_free(e->items);
  fy_arena_free(&e->arena);
}

static fy_code add_entry(entries *e, fy_view key, entry_proto *proto, fy_error *err) {
  if (fy_map_get(&e->by_key, key.n ? key.p : "", key.n)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Adding duplicate key: %.*s", (int)key.n, key.p);
  }
  const char *copy = fy_arena_memdup(&e->arena, key.p, key.n);
  if (!copy || !fy_grow(&e->items, &e->cap, e->n + 1, sizeof *e->items) ||
      !fy_map_put(&e->by_key, copy, key.n, proto))
    return fy_fail_oom(err, sizeof *e->items);
  e->items[e->n++] = (entry){{copy, key.n}, proto};
  return FY_OK;
}

static int by_key(const void *pa, const void *pb) {
  const entry *a = pa, *b = pb;
  const int order = memcmp(a->key.p, b->key.p, a->key.n < b->key.n ? a->key.n : b->key.n);
  return order ? order : a->key.n < b->key.n ? -1 : a->key.n > b->key.n;
}

static fy_code add_message(fy_table_writer *t, fy_view key, const ProtobufCMessage *m,
                           fy_error *err) {
  uint8_t *bytes;
  size_t n;
  FY_TRY(fy_wire_pack(m, &bytes, &n, err));
  fy_table_writer_add(t, key, (fy_view){(const char *)bytes, n});
  fy_free(bytes);
  return FY_OK;
}

static fy_code write_index(entries *e, const char *prefix, int32_t shards, fy_error *err) {
  Tensorflow__BundleHeaderProto header = TENSORFLOW__BUNDLE_HEADER_PROTO__INIT;
  Tensorflow__VersionDef version = TENSORFLOW__VERSION_DEF__INIT;
  fy_table_writer t;
  version.producer = 1;
  header.num_shards = shards;
  header.version = &version;
  if (e->n) qsort(e->items, e->n, sizeof *e->items, by_key);
  fy_table_writer_init(&t);
  fy_code code = add_message(&t, FY_VIEW(""), &header.base, err);
  for (size_t i = 0; i < e->n && !code; i++)
    code = add_message(&t, e->items[i].key, &e->items[i].proto->base, err);
  if (!code) code = fy_table_writer_finish(&t, err);
  char *path = code ? NULL : join(".index", prefix, 0, 0);
  if (!code && !path) code = fy_fail_oom(err, strlen(prefix));
  if (!code) code = fy_wire_file_save(path, t.file.p, t.file.len, err);
  fy_free(path);
  fy_table_writer_free(&t);
  return code;
}

static fy_code new_entry(entries *e, fy_dtype dtype, fy_pshape shape, entry_proto **out,
                         fy_error *err) {
  *out = fy_wire_new(&tensorflow__bundle_entry_proto__descriptor, &e->arena);
  if (!*out) return fy_fail_oom(err, sizeof **out);
  (*out)->dtype = (Tensorflow__DataType)dtype;
  return fy_wire_shape_write(&shape, &e->arena, &(*out)->shape, err);
}

// ---------------------------------------------------------------- data
fy_code fy_bundle_writer_new(const char *prefix, fy_bundle_writer **out, fy_error *err) {
  fy_bundle_writer *w = fy_calloc(1, sizeof *w);
  *out = NULL;
  if (!w) return fy_fail_oom(err, sizeof *w);
  entries_init(&w->index);
  w->prefix = fy_strdup(prefix);
  w->data_path = data_name(prefix, 0, 1);
  w->temp_path = w->data_path ? temporary_name(w->data_path) : NULL;
  fy_code code = w->prefix && w->temp_path ? make_folder(prefix, err) : fy_fail_oom(err, 64);
  if (!code) {
    w->data = fopen(w->temp_path, "wb");
    if (!w->data) code = fail_path(w->data_path, err);
  }
  if (code)
    fy_bundle_writer_free(w);
  else
    *out = w;
  return code;
}

static fy_code put(fy_bundle_writer *w, const void *bytes, size_t n, fy_error *err) {
  if (n && fwrite(bytes, 1, n, w->data) != n) return fail_path(w->data_path, err);
  w->bytes += n;
  return FY_OK;
}

// All lengths as varints, their checksum, all bytes. The checksum is over lengths as integers.
static fy_code put_strings(fy_bundle_writer *w, const fy_tensor *t, uint32_t *crc, fy_error *err) {
  fy_str lengths;
  fy_str_init(&lengths);
  for (int64_t i = 0; i < t->count; i++) {
    uint64_t n = fy_tensor_string(t, i).n;
    const uint32_t small = (uint32_t)n;
    *crc = n <= UINT32_MAX ? fy_wire_crc32c(*crc, &small, 4) : fy_wire_crc32c(*crc, &n, 8);
    for (; n >= 0x80; n >>= 7) fy_str_addc(&lengths, (char)(n | 0x80));
    fy_str_addc(&lengths, (char)n);
  }
  fy_code code =
      lengths.failed ? fy_fail_oom(err, (size_t)t->count) : put(w, lengths.p, lengths.len, err);
  fy_str_free(&lengths);
  const uint32_t mask = fy_wire_crc_mask(*crc);
  *crc = fy_wire_crc32c(*crc, &mask, 4);
  if (!code) code = put(w, &mask, 4, err);
  for (int64_t i = 0; i < t->count && !code; i++) {
    const fy_view s = fy_tensor_string(t, i);
    if (s.n) *crc = fy_wire_crc32c(*crc, s.p, s.n);
    code = put(w, s.p, s.n, err);
  }
  return code;
}

static fy_code add_under(fy_bundle_writer *w, fy_view key, const fy_tensor *t, fy_error *err) {
  entry_proto *proto;
  if (t->dtype != FY_STRING && !fy_dtype_is_plain(t->dtype))
    return fy_fail(err, FY_UNIMPLEMENTED, "A checkpoint cannot hold a tensor of type %s",
                   fy_dtype_name(t->dtype));
  FY_TRY(new_entry(&w->index, t->dtype, (fy_pshape){t->rank, t->dims}, &proto, err));
  proto->offset = (int64_t)w->bytes;
  FY_TRY(add_entry(&w->index, key, proto, err));
  uint32_t crc = 0;
  if (t->dtype == FY_STRING) {
    FY_TRY(put_strings(w, t, &crc, err));
  } else {
    const size_t n = fy_tensor_bytes(t);
    if (n) crc = fy_wire_crc32c(0, t->data, n);
    FY_TRY(put(w, t->data, n, err));
  }
  proto->size = (int64_t)w->bytes - proto->offset;
  proto->crc32c = fy_wire_crc_mask(crc);
  return FY_OK;
}

fy_code fy_bundle_writer_add(fy_bundle_writer *w, fy_view name, const fy_tensor *t, fy_error *err) {
  if (!name.n) return fy_fail(err, FY_INVALID_ARGUMENT, "Key must not be empty");
  return add_under(w, name, t, err);
}

fy_code fy_slice_message(const fy_tensor_slice *s, fy_arena *arena,
                         Tensorflow__TensorSliceProto **out, fy_error *err) {
  *out = fy_wire_new(&tensorflow__tensor_slice_proto__descriptor, arena);
  const size_t rank = (size_t)s->rank;
  Tensorflow__TensorSliceProto__Extent **list = fy_arena_array(arena, rank + 1, sizeof *list);
  if (!*out || !list) return fy_fail_oom(err, rank * sizeof *list);
  for (size_t d = 0; d < rank; d++) {
    list[d] = fy_wire_new(&tensorflow__tensor_slice_proto__extent__descriptor, arena);
    if (!list[d]) return fy_fail_oom(err, sizeof **list);
    if (s->length[d] < 0) continue;
    list[d]->start = s->start[d];
    list[d]->has_length_case = TENSORFLOW__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_LENGTH;
    list[d]->length = s->length[d];
  }
  (*out)->n_extent = rank;
  (*out)->extent = list;
  return FY_OK;
}

static fy_code append_slices(entries *e, entry_proto *to, Tensorflow__TensorSliceProto **more,
                             size_t n, fy_error *err) {
  Tensorflow__TensorSliceProto **all = fy_arena_array(&e->arena, to->n_slices + n, sizeof *all);
  if (!all) return fy_fail_oom(err, n * sizeof *all);
  if (to->n_slices) memcpy(all, to->slices, to->n_slices * sizeof *all);
  memcpy(all + to->n_slices, more, n * sizeof *all);
  to->slices = all;
  to->n_slices += n;
  return FY_OK;
}

fy_code fy_bundle_writer_add_slice(fy_bundle_writer *w, fy_view name, fy_pshape full,
                                   const fy_tensor_slice *slice, const fy_tensor *t,
                                   fy_error *err) {
  entries *e = &w->index;
  entry_proto *whole = fy_map_get(&e->by_key, name.p, name.n);
  Tensorflow__TensorSliceProto *message;
  FY_TRY(fy_slice_message(slice, &e->arena, &message, err));
  if (!whole) {
    FY_TRY(new_entry(e, t->dtype, full, &whole, err));
    FY_TRY(add_entry(e, name, whole, err));
  } else if (!whole->n_slices || (fy_dtype)whole->dtype != t->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Adding duplicate key: %.*s", (int)name.n, name.p);
  }
  FY_TRY(append_slices(e, whole, &message, 1, err));
  fy_str key;
  fy_str_init(&key);
  fy_code code = fy_wire_slice_key(&key, name, message)
                     ? add_under(w, (fy_view){key.p, key.len}, t, err)
                     : fy_fail_oom(err, name.n);
  fy_str_free(&key);
  return code;
}

fy_code fy_bundle_writer_finish(fy_bundle_writer *w, fy_error *err) {
  const int closed = fclose(w->data);
  w->data = NULL;
  if (closed != 0 || rename(w->temp_path, w->data_path) != 0) return fail_path(w->data_path, err);
  w->finished = true;
  return write_index(&w->index, w->prefix, 1, err);
}

void fy_bundle_writer_free(fy_bundle_writer *w) {
  if (!w) return;
  if (w->data) fclose(w->data);
  if (!w->finished && w->temp_path) remove(w->temp_path);
  entries_free(&w->index);
  fy_free(w->prefix);
  fy_free(w->data_path);
  fy_free(w->temp_path);
  fy_free(w);
}

// ---------------------------------------------------------------- merging
typedef struct merger {
  entries all;
  int32_t shards, base, own;  // so far; of this checkpoint: its first, how many
  const char *prefix;
} merger;

static fy_code visit(void *arg, fy_view key, fy_view value, fy_error *err) {
  merger *m = arg;
  ProtobufCMessage *msg;
  const ProtobufCMessageDescriptor *type = key.n ? &tensorflow__bundle_entry_proto__descriptor
                                                 : &tensorflow__bundle_header_proto__descriptor;
  if (fy_wire_unpack(type, value.p, value.n, NULL, &m->all.arena, &msg, err))
    return fy_fail(err, FY_DATA_LOSS, "%s.index is damaged", m->prefix);
  if (!key.n) {
    m->own = ((Tensorflow__BundleHeaderProto *)msg)->num_shards;
    if (m->own < 0 || m->own > 1 << 20)
      return fy_fail(err, FY_DATA_LOSS, "%s.index is damaged", m->prefix);
    return FY_OK;
  }
  entry_proto *e = (entry_proto *)msg, *old = fy_map_get(&m->all.by_key, key.p, key.n);
  if (!e->n_slices) {
    e->shard_id += m->base;
    return add_entry(&m->all, key, e, err);
  }
  if (!old) return add_entry(&m->all, key, e, err);
  return append_slices(&m->all, old, e->slices, e->n_slices, err);
}

static fy_code read_one(merger *m, const char *prefix, bool allow_missing, bool *there,
                        fy_error *err) {
  char *path = join(".index", prefix, 0, 0);
  uint8_t *bytes = NULL;
  size_t n;
  *there = false;
  if (!path) return fy_fail_oom(err, strlen(prefix));
  fy_code code = fy_wire_file_load(path, UINT32_MAX, &bytes, &n, err);
  fy_free(path);
  if (code == FY_NOT_FOUND) {
    if (allow_missing) {
      if (err) fy_error_clear(err);
      return FY_OK;
    }
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "allow_missing_files was set to false and %s did not exist.NOT_FOUND: %s not "
                   "found",
                   prefix, prefix);
  }
  if (code) return code;
  m->prefix = prefix;
  m->base = m->shards;
  m->own = 0;
  code = fy_wire_table_scan(bytes, n, visit, m, err);
  fy_free(bytes);
  m->shards += m->own;
  *there = true;
  return code;
}

fy_code fy_bundle_merge(const char *const *prefixes, size_t n, const char *to, bool allow_missing,
                        fy_error *err) {
  merger m = {.shards = 0};
  entries_init(&m.all);
  int32_t *first = fy_calloc(n + 1, sizeof *first), *count = fy_calloc(n + 1, sizeof *count);
  fy_code code = first && count ? make_folder(to, err) : fy_fail_oom(err, n * sizeof *first);
  for (size_t i = 0; i < n && !code; i++) {
    bool there;
    code = read_one(&m, prefixes[i], allow_missing, &there, err);
    first[i] = m.base;
    count[i] = there ? m.own : -1;
  }
  for (size_t i = 0; i < n && !code; i++) {
    for (int32_t k = 0; k < count[i] && !code; k++) {
      char *from = data_name(prefixes[i], k, count[i]),
           *dst = data_name(to, first[i] + k, m.shards);
      if (!from || !dst)
        code = fy_fail_oom(err, 64);
      else if (rename(from, dst) != 0)
        code = fail_path(from, err);
      fy_free(from);
      fy_free(dst);
    }
  }
  if (!code) code = write_index(&m.all, to, m.shards, err);
  for (size_t i = 0; i < n && !code; i++) {
    char *path =
        count[i] < 0 || strcmp(prefixes[i], to) == 0 ? NULL : join(".index", prefixes[i], 0, 0);
    if (path) remove(path);
    fy_free(path);
  }
  fy_free(first);
  fy_free(count);
  entries_free(&m.all);
  return code;
}
