// SPDX-License-Identifier: Apache-2.0
// lookup_table.c: rows of a lookup table and the index that finds them (lookup_table.h).

#include <string.h>

#include "base/alloc.h"
#include "ops/lookup_table.h"
#include "ops/values.h"

static void destroy(fy_object *self) {
  fy_table *t = (fy_table *)self;
  fy_tensor_release(t->empty);
  fy_tensor_release(t->deleted);
  fy_tensor_release(t->keys);
  fy_tensor_release(t->values);
  fy_aligned_free(t->slots);
  fy_mutex_destroy(&t->lock);
  fy_free(t);
}

const fy_object_type fy_table_type = {"tensorflow::lookup::LookupInterface", destroy};

static uint64_t tag_of(const fy_table *t, const fy_tensor *keys, int64_t row) {
  uint64_t h = 0;
  if (t->key_word) return fy_table_word_at(keys, t->key_word, row);
  if (t->key_type == FY_STRING) {
    for (int64_t i = 0; i < t->key_count; i++) {
      const fy_view v = fy_tensor_string(keys, row * t->key_count + i);
      h = fy_hash64(v.p, v.n, h);
    }
    return h;
  }
  const size_t bytes = (size_t)t->key_count * fy_dtype_storage(t->key_type);
  return fy_hash64((const char *)keys->data + (size_t)row * bytes, bytes, 0);
}

bool fy_table_same_key(const fy_table *t, const fy_tensor *a, int64_t row_a, const fy_tensor *b,
                       int64_t row_b) {
  if (t->key_type == FY_STRING) {
    for (int64_t i = 0; i < t->key_count; i++) {
      if (!fy_view_eq(fy_tensor_string(a, row_a * t->key_count + i),
                      fy_tensor_string(b, row_b * t->key_count + i))) {
        return false;
      }
    }
    return true;
  }
  const size_t bytes = (size_t)t->key_count * fy_dtype_storage(t->key_type);
  return !memcmp((const char *)a->data + (size_t)row_a * bytes,
                 (const char *)b->data + (size_t)row_b * bytes, bytes);
}

fy_table_slot *fy_table_find_tagged(const fy_table *t, uint64_t tag, const fy_tensor *keys,
                                    int64_t row) {
  int64_t s = fy_table_home(t, tag);
  for (; t->slots[s].row; s = (s + 1) & t->mask) {
    if (t->slots[s].tag != tag) continue;
    if (t->key_word || fy_table_same_key(t, t->keys, t->slots[s].row - 1, keys, row)) break;
  }
  return &t->slots[s];
}
static fy_table_slot *find_slot(const fy_table *t, const fy_tensor *keys, int64_t row) {
  return fy_table_find_tagged(t, tag_of(t, keys, row), keys, row);
}
// A key that is not there yet, and of which there is no other.
static void put_slot(fy_table *t, fy_table_slot what) {
  int64_t s = fy_table_home(t, what.tag);
  while (t->slots[s].row) s = (s + 1) & t->mask;
  t->slots[s] = what;
}

static fy_code column(fy_dtype type, int64_t rows, int32_t rank, const int64_t *dims,
                      fy_tensor **out, fy_error *err) {
  int64_t all[FY_INLINE_RANK + 1] = {rows};
  for (int32_t i = 0; i < rank; i++) all[i + 1] = dims[i];
  return fy_tensor_new(type, rank + 1, all, out, err);
}

// The index anew, for |cap| rows.
static fy_code rebuild(fy_table *t, int64_t cap, fy_error *err) {
  const size_t bytes = (size_t)cap * 2 * sizeof(fy_table_slot);
  fy_table_slot *slots = fy_aligned_alloc(bytes), *old = t->slots;
  if (!slots) return fy_fail_oom(err, bytes);
  const int64_t before = old ? t->mask + 1 : 0;
  memset(slots, 0, bytes);
  t->slots = slots;
  t->mask = cap * 2 - 1;
  for (int64_t i = 0; i < before; i++)
    if (old[i].row) put_slot(t, old[i]);
  fy_aligned_free(old);
  return FY_OK;
}

fy_code fy_table_grow(fy_table *t, int64_t need, fy_error *err) {
  if (FY_LIKELY(need <= t->cap)) return FY_OK;
  int64_t cap = t->cap ? t->cap : 8;
  while (cap < need) {
    if (cap > INT64_MAX / 64) return fy_fail_oom(err, SIZE_MAX);
    cap *= 2;
  }
  fy_tensor *keys = NULL, *values = NULL;
  fy_code code = column(t->key_type, cap, t->key_rank, t->key_dims, &keys, err);
  if (!code) code = column(t->value_type, cap, t->value_rank, t->value_dims, &values, err);
  if (!code && t->n) {
    code = fy_copy_run(t->key_type, keys->data, 0, t->keys->data, 0, t->n * t->key_count, err);
    if (!code) {
      code = fy_copy_run(t->value_type, values->data, 0, t->values->data, 0, t->n * t->value_count,
                         err);
    }
  }
  if (!code) code = rebuild(t, cap, err);
  if (code) {
    fy_tensor_release(keys);
    fy_tensor_release(values);
    return code;
  }
  fy_tensor_release(t->keys);
  fy_tensor_release(t->values);
  t->keys = keys;
  t->values = values;
  t->cap = cap;
  return FY_OK;
}

// Numbers that crowd.
static bool is_crowded(const fy_table *t, uint64_t tag) {
  int64_t s = fy_table_home(t, tag), n = 0;
  for (; n < FY_TABLE_FAR && t->slots[s].row && t->slots[s].tag != tag; n++) s = (s + 1) & t->mask;
  return n == FY_TABLE_FAR;
}
fy_code fy_table_mix(fy_table *t, fy_error *err) {
  t->mixed = true;
  return rebuild(t, t->cap, err);
}

void fy_table_look_ahead(const fy_table *t, const fy_tensor *keys, int64_t first, int64_t n,
                         uint64_t tags[FY_TABLE_AHEAD]) {
  for (int64_t i = 0; i < n; i++) {
    tags[i] = tag_of(t, keys, first + i);
    if (t->slots) __builtin_prefetch(&t->slots[fy_table_home(t, tags[i])]);
  }
  if (!t->slots) return;
  const size_t value = (size_t)t->value_count * fy_dtype_storage(t->value_type);
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = t->slots[fy_table_home(t, tags[i])].row - 1;
    if (at >= 0) __builtin_prefetch((const char *)t->values->data + (size_t)at * value);
  }
}

fy_code fy_table_copy_value(const fy_table *t, fy_tensor *to, int64_t to_row, const fy_tensor *from,
                            int64_t from_row, fy_error *err) {
  if (t->value_word == 8) {
    ((uint64_t *)to->data)[to_row] = ((const uint64_t *)from->data)[from_row];
    return FY_OK;
  }
  if (t->value_word == 4) {
    ((uint32_t *)to->data)[to_row] = ((const uint32_t *)from->data)[from_row];
    return FY_OK;
  }
  return fy_copy_run(t->value_type, to->data, to_row * t->value_count, from->data,
                     from_row * t->value_count, t->value_count, err);
}

int64_t fy_table_find(const fy_table *t, const fy_tensor *keys, int64_t row) {  // -1: none
  return t->n ? find_slot(t, keys, row)->row - 1 : -1;
}

fy_code fy_table_put_tagged(fy_table *t, uint64_t tag, const fy_tensor *keys,
                            const fy_tensor *values, int64_t row, fy_error *err) {
  FY_TRY(fy_table_grow(t, t->n + 1, err));
  if (t->key_word && !t->mixed && FY_UNLIKELY(is_crowded(t, tag))) FY_TRY(fy_table_mix(t, err));
  fy_table_slot *s = fy_table_find_tagged(t, tag, keys, row);
  const int64_t to = s->row ? s->row - 1 : t->n;
  FY_TRY(fy_table_copy_value(t, t->values, to, values, row, err));
  if (s->row) return FY_OK;
  FY_TRY(fy_copy_run(t->key_type, t->keys->data, to * t->key_count, keys->data, row * t->key_count,
                     t->key_count, err));
  *s = (fy_table_slot){tag, ++t->n};
  return FY_OK;
}
fy_code fy_table_put(fy_table *t, const fy_tensor *keys, const fy_tensor *values, int64_t row,
                     fy_error *err) {
  return fy_table_put_tagged(t, tag_of(t, keys, row), keys, values, row, err);
}

// Empties slot |s| and moves up what its gap would hide.
static void clear_slot(fy_table *t, fy_table_slot *s) {
  s->row = 0;
  for (int64_t k = (s - t->slots + 1) & t->mask; t->slots[k].row; k = (k + 1) & t->mask) {
    const fy_table_slot moved = t->slots[k];
    t->slots[k].row = 0;
    put_slot(t, moved);
  }
}

fy_code fy_table_remove(fy_table *t, const fy_tensor *keys, int64_t row, fy_error *err) {
  if (!t->n) return FY_OK;
  fy_table_slot *s = find_slot(t, keys, row);
  const int64_t at = s->row - 1, last = t->n - 1;
  if (at < 0) return FY_OK;
  if (at != last) {
    // Copy first: nothing has changed yet if memory is short.
    fy_table_slot *of_last = find_slot(t, t->keys, last);
    FY_TRY(fy_table_copy_value(t, t->values, at, t->values, last, err));
    FY_TRY(fy_copy_run(t->key_type, t->keys->data, at * t->key_count, t->keys->data,
                       last * t->key_count, t->key_count, err));
    of_last->row = at + 1;
  }
  clear_slot(t, s);
  t->n--;
  return FY_OK;
}

fy_code fy_table_of(fy_kernel_ctx *ctx, fy_table **out, fy_error *err) {
  fy_object *o = NULL;
  fy_code code = fy_resource_object(ctx->in[0], &fy_table_type, &o, err);
  *out = (fy_table *)o;
  return code;
}
