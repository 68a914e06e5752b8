// SPDX-License-Identifier: Apache-2.0
// sets.c: the last dimension as sets: DenseToDense-, DenseToSparse- and SparseToSparseSetOperation
// (a-b, b-a, intersection, union) and SetSize. Members come set by set; a table finds those that are
// equal, and only what belongs to the result is sorted: it comes out in ascending order.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

typedef struct member {
  const fy_tensor *values;
  int64_t at;
  int64_t key;    // the number, or the hash of a string
  int64_t sides;  // that have it: 1 the first operand, 2 the second
} member;

static int compare_strings(const member *a, const member *b) {
  const fy_view x = fy_tensor_string(a->values, a->at), y = fy_tensor_string(b->values, b->at);
  const size_t n = x.n < y.n ? x.n : y.n;
  const int order = n ? memcmp(x.p, y.p, n) : 0;
  return order ? order : x.n < y.n ? -1 : x.n > y.n;
}
static int by_number(const void *pa, const void *pb) {
  const member *a = pa, *b = pb;
  return a->key < b->key ? -1 : a->key > b->key;
}
static int by_string(const void *pa, const void *pb) {
  return compare_strings(pa, pb);
}
static bool same_value(const member *a, const member *b) {
  return a->key == b->key && (a->values->dtype != FY_STRING || compare_strings(a, b) == 0);
}
static member member_at(const fy_tensor *values, int64_t at) {
  member m = {values, at, 0, 0};
  if (values->dtype == FY_STRING) {
    const fy_view text = fy_tensor_string(values, at);
    m.key = (int64_t)fy_hash64(text.p, text.n, 0);
  } else {
    m.key = fy_tensor_int(values, at);
  }
  return m;
}

// ---------------------------------------------------------------- operands
typedef struct operand {
  const fy_tensor *values;
  const fy_tensor *indices, *shape;  // NULL: dense
  int32_t rank;
  int64_t dims[FY_MAX_RANK];
} operand;

static fy_code dense_operand(const fy_tensor *t, operand *o, fy_error *err) {
  char x[128];
  if (t->rank < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape %s has rank %d < 2", fy_tensor_shape_text(t, x),
                   t->rank);
  }
  *o = (operand){.values = t, .rank = t->rank};
  memcpy(o->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
  return FY_OK;
}

static fy_code sparse_operand(fy_kernel_ctx *ctx, int first, operand *o, fy_error *err) {
  const fy_tensor *at = ctx->in[first], *values = ctx->in[first + 1], *shape = ctx->in[first + 2];
  char x[128];
  if (at->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices must be a matrix, but got: %s",
                   fy_tensor_shape_text(at, x));
  }
  if (values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "vals must be a vec, but got: %s",
                   fy_tensor_shape_text(values, x));
  }
  if (shape->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be a 1D tensor.");
  FY_TRY(fy_sparse_check(at, values, shape, err));
  if (shape->count > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  if (fy_site_bool(ctx->site, "validate_indices")) FY_TRY(fy_sparse_check_order(at, shape, err));
  if (shape->count < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid rank %lld.", (long long)shape->count);
  }
  *o = (operand){.values = values, .indices = at, .shape = shape, .rank = (int32_t)shape->count};
  for (int32_t d = 0; d < o->rank; d++) {
    o->dims[d] = fy_tensor_int(shape, d);
    if (o->dims[d] < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected shape dimensions to be non-negative, got %lld",
                     (long long)o->dims[d]);
  }
  return FY_OK;
}

// The sets of an operand one after the other: their members stand from |next| to |end|.
typedef struct sets {
  const operand *of;
  int64_t *group;  // of the next set
  int64_t n, next, end;
  int64_t longest;  // no set has more
} sets;

static int compare_groups(const int64_t *a, const int64_t *b, int64_t groups) {
  for (int64_t d = 0; d < groups; d++) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

static const int64_t *row_of(const sets *s, int64_t i) {
  return (const int64_t *)s->of->indices->data + i * s->of->rank;
}

// Finds the set that begins at |next|.
static void find_set(sets *s) {
  const operand *o = s->of;
  const int64_t groups = o->rank - 1;
  s->end = s->next;
  if (s->next == s->n) return;
  if (o->indices) {
    memcpy(s->group, row_of(s, s->next), (size_t)groups * sizeof *s->group);
    while (s->end < s->n && compare_groups(s->group, row_of(s, s->end), groups) == 0) s->end++;
    return;
  }
  s->end += o->dims[groups];
  int64_t rest = s->next / o->dims[groups];
  for (int64_t d = groups - 1; d >= 0; d--) {
    s->group[d] = rest % o->dims[d];
    rest /= o->dims[d];
  }
}

// Ready at the first set of |o|; there are none if it is NULL.
static fy_code find_sets(fy_kernel_ctx *ctx, const operand *o, sets *s, fy_error *err) {
  void *memory;
  *s = (sets){.of = o};
  if (!o) return FY_OK;
  s->n = o->values->count;
  FY_TRY(fy_scratch(ctx, (size_t)o->rank * sizeof *s->group, &memory, err));
  s->group = memory;
  s->longest = o->dims[o->rank - 1];
  if (o->indices) {
    for (s->longest = 0; s->next < s->n; s->next = s->end) {
      find_set(s);
      if (s->end - s->next > s->longest) s->longest = s->end - s->next;
    }
    s->next = 0;
  }
  find_set(s);
  return FY_OK;
}

// ---------------------------------------------------------------- operations
typedef enum set_kind { SET_A_MINUS_B, SET_B_MINUS_A, SET_INTERSECTION, SET_UNION } set_kind;

static fy_code read_kind(fy_view name, set_kind *out, fy_error *err) {
  static const char *const names[] = {"a-b", "b-a", "intersection", "union"};
  char lower[32];
  size_t n = name.n < sizeof lower - 1 ? name.n : sizeof lower - 1;
  *out = SET_UNION;
  for (size_t i = 0; i < n; i++) lower[i] = (char)tolower((unsigned char)name.p[i]);
  lower[n] = 0;
  for (int k = 0; k < 4; k++) {
    if (strcmp(lower, names[k])) continue;
    *out = (set_kind)k;
    return FY_OK;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid set_operation %.*s.", (int)name.n, name.p);
}

// Is a value that the sides have (1 = a, 2 = b, 3 = both) in the result?
static bool belongs(set_kind kind, int64_t sides) {
  switch (kind) {
    case SET_A_MINUS_B: return sides == 1;
    case SET_B_MINUS_A: return sides == 2;
    case SET_INTERSECTION: return sides == 3;
    default: return true;
  }
}

// One set at a time: its values, each once. A slot holds 1 + the number of a member since the beginning; what is
// not above |before| belongs to an earlier set, so nothing has to be emptied.
typedef struct table {
  int64_t *slots;
  uint64_t mask;
  member *found;
  int64_t n, before;
} table;

static fy_code make_table(fy_kernel_ctx *ctx, int64_t most, table *t, fy_error *err) {
  void *memory;
  uint64_t size = 16;
  while (size < 2 * (uint64_t)most) size *= 2;
  FY_TRY(fy_scratch(ctx, size * sizeof *t->slots, &memory, err));
  memset(memory, 0, size * sizeof *t->slots);
  *t = (table){.slots = memory, .mask = size - 1};
  return FY_OK;
}

// Indices that nobody validated, as TensorFlow looks at them: when their set's turn has come.
static fy_code check_set(const sets *s, fy_error *err) {
  const operand *o = s->of;
  for (int64_t i = s->next; o->indices && i < s->end; i++) {
    const int64_t *row = row_of(s, i);
    for (int32_t d = 0; d < o->rank; d++) {
      if (o->dims[d] <= 0)
        return fy_fail(err, FY_INTERNAL, "Invalid dim_size[%d] = %lld.", d, (long long)o->dims[d]);
      if (row[d] >= o->dims[d])
        return fy_fail(err, FY_INTERNAL, "indices[%lld, %d] expected < %lld, got %lld.",
                       (long long)(i - s->next), d, (long long)o->dims[d], (long long)row[d]);
    }
  }
  return FY_OK;
}

// The next set of |s| into the table, as the one of |side|.
static fy_code take_set(table *t, sets *s, int64_t side, fy_error *err) {
  FY_TRY(check_set(s, err));
  for (; s->next < s->end; s->next++) {
    const member x = member_at(s->of->values, s->next);
    uint64_t at = fy_hash_mix(0, (uint64_t)x.key) & t->mask;
    while (t->slots[at] > t->before && !same_value(&t->found[t->slots[at] - t->before - 1], &x))
      at = (at + 1) & t->mask;
    if (t->slots[at] <= t->before) {
      t->found[t->n] = x;
      t->slots[at] = t->before + ++t->n;
    }
    t->found[t->slots[at] - t->before - 1].sides |= side;
  }
  find_set(s);
  return FY_OK;
}

// What is left of the set in the table, in order.
static int64_t keep_result(table *t, set_kind kind) {
  int64_t kept = 0;
  for (int64_t i = 0; i < t->n; i++)
    if (belongs(kind, t->found[i].sides)) t->found[kept++] = t->found[i];
  if (kept > 1)
    qsort(t->found, (size_t)kept, sizeof *t->found,
          t->found->values->dtype == FY_STRING ? by_string : by_number);
  return kept;
}

typedef struct result {  // |n| members and the index of each
  member *members;
  int64_t *indices;
  int64_t n, widest;
} result;

// The sets of both, in the order of their indices; sets of indices that are not sorted come out as they come in.
static fy_code find_result(fy_kernel_ctx *ctx, const operand *a, const operand *b, set_kind kind,
                           result *out, fy_error *err) {
  sets x, y;
  table t;
  void *members, *indices;
  const int64_t rank = a->rank, groups = rank - 1;
  size_t bytes;
  FY_TRY(find_sets(ctx, a, &x, err));
  FY_TRY(find_sets(ctx, b, &y, err));
  const size_t most = (size_t)x.n + (size_t)y.n + 1;
  if (!fy_mul_size(most, (size_t)rank * sizeof(int64_t), &bytes)) return fy_fail_oom(err, SIZE_MAX);
  FY_TRY(make_table(ctx, x.longest + y.longest, &t, err));
  FY_TRY(fy_scratch(ctx, most * sizeof(member), &members, err));
  FY_TRY(fy_scratch(ctx, bytes, &indices, err));
  *out = (result){members, indices, 0, 0};
  // Beside a dense operand only sets of its rows count.
  const bool by_rows = !a->indices && b && b->indices && x.n;
  while (x.next < x.n || (!by_rows && y.next < y.n)) {
    int order = x.next == x.n ? 1 : y.next == y.n ? -1 : compare_groups(x.group, y.group, groups);
    if (by_rows && order > 0) order = -1;
    int64_t *index = out->indices + out->n * rank;
    memcpy(index, order <= 0 ? x.group : y.group, (size_t)groups * sizeof *index);
    index[groups] = 0;
    t.found = out->members + out->n;
    t.before += t.n;
    t.n = 0;
    if (order <= 0) FY_TRY(take_set(&t, &x, 1, err));
    if (order >= 0) FY_TRY(take_set(&t, &y, 2, err));
    const int64_t kept = keep_result(&t, kind);
    for (int64_t i = 1; i < kept; i++) {
      memcpy(index + i * rank, index, (size_t)groups * sizeof *index);
      index[i * rank + groups] = i;
    }
    out->n += kept;
    if (kept > out->widest) out->widest = kept;
  }
  return FY_OK;
}

static fy_code run(fy_kernel_ctx *ctx, const operand *a, const operand *b, fy_error *err) {
  char x[128], y[128];
  set_kind kind;
  result r;
  const int64_t rank = a->rank, groups = rank - 1;
  fy_tensor *indices, *values, *shape;
  FY_TRY(read_kind(fy_site_string(ctx->site, "set_operation"), &kind, err));
  if (!fy_shape_equal(a->rank - 1, a->dims, b->rank - 1, b->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Mismatched shapes %s vs %s",
                   fy_shape_text(a->rank - 1, a->dims, x), fy_shape_text(b->rank - 1, b->dims, y));
  }
  FY_TRY(find_result(ctx, a, b, kind, &r, err));
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){r.n, rank}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &r.n, &values, err));
  FY_TRY(fy_out(ctx, 2, 1, &rank, &shape, err));
  if (r.n) memcpy(indices->data, r.indices, fy_tensor_bytes(indices));
  for (int64_t i = 0; i < r.n; i++) {
    const member *m = &r.members[i];
    FY_TRY(fy_copy_run(values->dtype, values->data, i, m->values->data, m->at, 1, err));
  }
  memcpy(shape->data, a->dims, (size_t)groups * sizeof(int64_t));
  ((int64_t *)shape->data)[groups] = r.widest;
  return FY_OK;
}

static fy_code dense_dense(fy_kernel_ctx *ctx, fy_error *err) {
  operand a, b;
  FY_TRY(dense_operand(ctx->in[0], &a, err));
  FY_TRY(dense_operand(ctx->in[1], &b, err));
  return run(ctx, &a, &b, err);
}
static fy_code dense_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  operand a, b;
  FY_TRY(sparse_operand(ctx, 1, &b, err));
  FY_TRY(dense_operand(ctx->in[0], &a, err));
  return run(ctx, &a, &b, err);
}
static fy_code sparse_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  operand a, b;
  FY_TRY(sparse_operand(ctx, 0, &a, err));
  FY_TRY(sparse_operand(ctx, 3, &b, err));
  return run(ctx, &a, &b, err);
}

static fy_code set_size(fy_kernel_ctx *ctx, fy_error *err) {
  operand a;
  result r;
  fy_tensor *out;
  FY_TRY(sparse_operand(ctx, 0, &a, err));
  FY_TRY(fy_out(ctx, 0, a.rank - 1, a.dims, &out, err));
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  FY_TRY(find_result(ctx, &a, NULL, SET_UNION, &r, err));
  for (int64_t i = 0; i < r.n; i++) {
    const int64_t *index = r.indices + i * a.rank;
    int64_t at = 0;
    for (int32_t d = 0; d < a.rank - 1; d++) {
      if ((uint64_t)index[d] >= (uint64_t)a.dims[d]) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "an index is out of bounds");
      }
      at = at * a.dims[d] + index[d];
    }
    ((int32_t *)out->data)[at] = (int32_t)index[a.rank - 1] + 1;  // the last one says how many
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code set_shape(fy_shape_ctx *ctx, int64_t rank, fy_error *err) {
  const int64_t unknown = -1;
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, rank}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &unknown, err));
  return fy_shape_set(ctx, 2, 1, &rank, err);
}
static fy_code dense_dense_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  FY_TRY(fy_shape_rank_at_least(a, a.rank < 0 ? 0 : 2, err));
  FY_TRY(fy_shape_rank_at_least(b, b.rank < 0 ? 0 : 2, err));
  if (a.rank >= 0 && b.rank >= 0) {
    fy_pshape merged;
    FY_TRY(fy_shape_rank_is(b, a.rank, err));
    FY_TRY(fy_shape_merge(ctx, (fy_pshape){a.rank - 1, a.dims}, (fy_pshape){b.rank - 1, b.dims},
                          &merged, err));
  }
  return set_shape(ctx, a.rank >= 0 ? a.rank : b.rank, err);
}
static int64_t rank_of(fy_shape_ctx *ctx, int first) {
  if (ctx->in[first].rank == 2 && ctx->in[first].dims[1] >= 0) return ctx->in[first].dims[1];
  return ctx->in[first + 2].rank == 1 ? ctx->in[first + 2].dims[0] : -1;
}
static fy_code dense_sparse_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_sparse_validate_shapes(ctx, 1, err));
  const int64_t sparse = rank_of(ctx, 1);
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 2, err));
  if (ctx->in[0].rank >= 0) FY_TRY(fy_dim_is(fy_dim_of(ctx->in[3], 0), ctx->in[0].rank, err));
  return set_shape(ctx, ctx->in[0].rank >= 0 ? ctx->in[0].rank : sparse, err);
}
static fy_code sparse_sparse_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_sparse_validate_shapes(ctx, 0, err));
  FY_TRY(fy_sparse_validate_shapes(ctx, 3, err));
  const int64_t a = fy_dim_of(ctx->in[2], 0), b = fy_dim_of(ctx->in[5], 0);
  if ((a >= 0 && a < 2) || (b >= 0 && b < 2)) {
    const bool first = a >= 0 && a < 2;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input %d, expected rank >= 2, got %lld.", !first,
                   (long long)(first ? a : b));
  }
  if (a >= 0) FY_TRY(fy_dim_is(b, a, err));
  const int64_t rank = rank_of(ctx, 0);
  return set_shape(ctx, rank >= 0 ? rank : rank_of(ctx, 3), err);
}

static const fy_sample dense_samples[] = {
    {"i32[1,3]=3,1,3; i32[1,2]=1,7", "set_operation=\"union\"", FY_OK, "0,0,0,1,0,2"},
    {"i32[1,1]=3; i32[2,1]=1,7", "set_operation=\"a-b\"", FY_INVALID_ARGUMENT,
     "Mismatched shapes [1] vs [2]"},
};
static const fy_sample dense_sparse_samples[] = {
    {"i32[1,3]=3,1,3; i64[1,2]=0,0; i32[1]=3; i64[2]=1,1", "set_operation=\"a-b\"", FY_OK, "0,0"},
};
static const fy_sample sparse_samples[] = {
    {"i64[1,2]=0,0; i32[1]=3; i64[2]=1,1; i64[1,2]=0,0; i32[1]=3; i64[2]=1,1",
     "set_operation=\"intersection\"", FY_OK, "0,0"},
};
static const fy_sample size_samples[] = {
    {"i64[3,2]=0,0,0,1,2,0; s[3]='a','a','b'; i64[2]=3,2", NULL, FY_OK, "1,0,1"},
};
FY_OP(DenseToDenseSetOperation, .shape = dense_dense_shape, .compute = dense_dense,
      .flags = FY_OP_DYNAMIC | FY_OP_HOST, FY_SAMPLES(dense_samples));
FY_OP(DenseToSparseSetOperation, .shape = dense_sparse_shape, .compute = dense_sparse,
      .flags = FY_OP_DYNAMIC | FY_OP_HOST, FY_SAMPLES(dense_sparse_samples));
FY_OP(SparseToSparseSetOperation, .shape = sparse_sparse_shape, .compute = sparse_sparse,
      .flags = FY_OP_DYNAMIC | FY_OP_HOST, FY_SAMPLES(sparse_samples));
FY_OP(SetSize, .shape = fy_shape_none, .compute = set_size, .flags = FY_OP_DYNAMIC | FY_OP_HOST,
      FY_SAMPLES(size_samples));
