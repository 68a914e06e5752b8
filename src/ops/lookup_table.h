// SPDX-License-Identifier: Apache-2.0
// lookup_table.h: the table behind lookup ops. Keys and values are columns of two growing tensors, a hash
// index finds the row. Removing a row moves the last one into its place. Who calls holds the lock.

#ifndef FY_OPS_LOOKUP_TABLE_H
#define FY_OPS_LOOKUP_TABLE_H

#include "base/map.h"
#include "ops/op.h"
#include "ops/resource.h"

typedef enum fy_table_kind { FY_TABLE_STATIC, FY_TABLE_MUTABLE, FY_TABLE_DENSE } fy_table_kind;

// Where a key is. The tag of a key that is a number is that number, else its hash.
typedef struct fy_table_slot {
  uint64_t tag;
  int64_t row;  // + 1; 0: nobody
} fy_table_slot;

typedef struct fy_table {
  fy_object object;
  fy_mutex lock;
  fy_table_kind kind;
  fy_dtype key_type, value_type;
  int32_t key_rank, value_rank;  // shape of one key and one value
  int64_t key_dims[FY_INLINE_RANK], value_dims[FY_INLINE_RANK];
  int64_t key_count, value_count;
  bool initialized;             // FY_TABLE_STATIC
  fy_tensor *empty, *deleted;   // FY_TABLE_DENSE: keys that nobody may use
  fy_tensor *keys, *values;     // [cap, …]
  size_t key_word, value_word;  // 4 or 8: the bytes of what is one number; else 0
  int64_t n, cap;
  struct fy_table_slot *slots;
  int64_t mask;
  bool mixed;  // the tags of numbers
} fy_table;

extern const fy_object_type fy_table_type;
// The table that the op's first input names.
FY_MUST_CHECK fy_code fy_table_of(fy_kernel_ctx *ctx, fy_table **out, fy_error *err);
// The first rows of a table that is written once; what is there already must be equal.
FY_MUST_CHECK fy_code fy_table_initialize(fy_table *t, const fy_tensor *keys,
                                          const fy_tensor *values, int64_t rows, fy_error *err);

// ---------------------------------------------------------------- rows
// A key or value of one plain element of four or eight bytes, as most are, is handled as a number.
static inline size_t fy_table_word_bytes(fy_dtype type, int64_t count) {
  const size_t size = fy_dtype_storage(type);
  return count == 1 && fy_dtype_is_plain(type) && (size == 4 || size == 8) ? size : 0;
}
static inline uint64_t fy_table_word_at(const fy_tensor *t, size_t size, int64_t i) {
  return size == 8 ? ((const uint64_t *)t->data)[i] : ((const uint32_t *)t->data)[i];
}
// The slot to begin at. Numbers begin at themselves: those that follow each other, as numbers of words
// and rows do, are found one after the other. Where too many meet in one place they are mixed.
static inline int64_t fy_table_home(const fy_table *t, uint64_t tag) {
  if (t->mixed) tag = fy_hash_mix(0, tag);
  return (int64_t)(tag & (uint64_t)t->mask);
}
bool fy_table_same_key(const fy_table *t, const fy_tensor *a, int64_t row_a, const fy_tensor *b,
                       int64_t row_b);
// The slot that holds the key, or the empty one where it belongs. Needs an index.
fy_table_slot *fy_table_find_tagged(const fy_table *t, uint64_t tag, const fy_tensor *keys,
                                    int64_t row);
int64_t fy_table_find(const fy_table *t, const fy_tensor *keys, int64_t row);  // its row; -1: none
// What |n| keys will look at is asked of memory for all of them before the first is looked up.
#define FY_TABLE_AHEAD 32
void fy_table_look_ahead(const fy_table *t, const fy_tensor *keys, int64_t first, int64_t n,
                         uint64_t tags[FY_TABLE_AHEAD]);
FY_MUST_CHECK fy_code fy_table_copy_value(const fy_table *t, fy_tensor *to, int64_t to_row,
                                          const fy_tensor *from, int64_t from_row, fy_error *err);
FY_MUST_CHECK fy_code fy_table_grow(fy_table *t, int64_t need, fy_error *err);  // room for |need|
#define FY_TABLE_FAR 64  // slots in a row that are taken: numbers that crowd so far are mixed
// From now on numbers do not begin at themselves.
FY_MUST_CHECK fy_code fy_table_mix(fy_table *t, fy_error *err);
FY_MUST_CHECK fy_code fy_table_put(fy_table *t, const fy_tensor *keys, const fy_tensor *values,
                                   int64_t row, fy_error *err);
FY_MUST_CHECK fy_code fy_table_put_tagged(fy_table *t, uint64_t tag, const fy_tensor *keys,
                                          const fy_tensor *values, int64_t row, fy_error *err);
FY_MUST_CHECK fy_code fy_table_remove(fy_table *t, const fy_tensor *keys, int64_t row,
                                      fy_error *err);

// ---------------------------------------------------------------- an op of its own file
FY_MUST_CHECK fy_code fy_table_from_file(fy_kernel_ctx *ctx, fy_error *err);

#endif
