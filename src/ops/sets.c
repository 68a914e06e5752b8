// SPDX-License-Identifier: Apache-2.0
// sets.c: the last dimension as sets: DenseToDense-, DenseToSparse- and SparseToSparseSetOperation
// (a-b, b-a, intersection, union) and SetSize. All members are sorted by (set, value) first; then
// each set is a run, and its result comes out in ascending order.

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

typedef struct member {
  const int64_t *group;  // [groups] the index without its last dimension
  const fy_tensor *values;
  int64_t at, groups;
  int side;  // 0: first operand, 1: second
} member;

static int compare_groups(const member *a, const member *b) {
  for (int64_t d = 0; d < a->groups; d++) {
    if (a->group[d] != b->group[d]) return a->group[d] < b->group[d] ? -1 : 1;
  }
  return 0;
}
static int compare_values(const member *a, const member *b) {
  if (a->values->dtype == FY_STRING) {
    const fy_view x = fy_tensor_string(a->values, a->at), y = fy_tensor_string(b->values, b->at);
    const size_t n = x.n < y.n ? x.n : y.n;
    const int order = n ? memcmp(x.p, y.p, n) : 0;
    return order ? order : x.n < y.n ? -1 : x.n > y.n;
  }
  const int64_t x = fy_tensor_int(a->values, a->at), y = fy_tensor_int(b->values, b->at);
  return x < y ? -1 : x > y;
}
static int by_member(const void *pa, const void *pb) {
  const int order = compare_groups(pa, pb);
  return order ? order : compare_values(pa, pb);
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
  for (int32_t d = 0; d < o->rank; d++) o->dims[d] = fy_tensor_int(shape, d);
  return FY_OK;
}

// Appends the members of |o|; a dense one needs memory for the indices it does not have.
static fy_code add_members(fy_kernel_ctx *ctx, const operand *o, int side, member *members,
                           int64_t *n, fy_error *err) {
  const int64_t groups = o->rank - 1, count = o->values->count;
  if (o->indices) {
    for (int64_t i = 0; i < count; i++) {
      members[(*n)++] =
          (member){(const int64_t *)o->indices->data + i * o->rank, o->values, i, groups, side};
    }
    return FY_OK;
  }
  void *memory;
  const int64_t width = o->dims[groups], rows = width ? count / width : 0;
  size_t bytes;
  if (!fy_mul_size((size_t)(rows + 1), (size_t)groups * sizeof(int64_t), &bytes)) {
    return fy_fail_oom(err, SIZE_MAX);
  }
  FY_TRY(fy_scratch(ctx, bytes, &memory, err));
  int64_t *index = memory;
  for (int64_t r = 0; r < rows; r++, index += groups) {
    int64_t rest = r;
    for (int64_t d = groups - 1; d >= 0; d--) {
      index[d] = rest % o->dims[d];
      rest /= o->dims[d];
    }
    for (int64_t i = 0; i < width; i++) {
      members[(*n)++] = (member){index, o->values, r * width + i, groups, side};
    }
  }
  return FY_OK;
}

static fy_code sorted_members(fy_kernel_ctx *ctx, const operand *a, const operand *b, member **out,
                              int64_t *n, fy_error *err) {
  void *memory;
  const int64_t most = a->values->count + (b ? b->values->count : 0);
  FY_TRY(fy_scratch(ctx, (size_t)(most + 1) * sizeof(member), &memory, err));
  *out = memory;
  *n = 0;
  FY_TRY(add_members(ctx, a, 0, *out, n, err));
  if (b) FY_TRY(add_members(ctx, b, 1, *out, n, err));
  qsort(*out, (size_t)*n, sizeof **out, by_member);
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
static bool belongs(set_kind kind, int sides) {
  switch (kind) {
    case SET_A_MINUS_B: return sides == 1;
    case SET_B_MINUS_A: return sides == 2;
    case SET_INTERSECTION: return sides == 3;
    default: return true;
  }
}

// Keeps one member for each value of the result; returns how many.
static int64_t keep_result(member *m, int64_t n, set_kind kind) {
  int64_t kept = 0;
  for (int64_t i = 0, end; i < n; i = end) {
    int sides = 0;
    for (end = i; end < n && by_member(&m[i], &m[end]) == 0; end++) sides |= 1 << m[end].side;
    if (belongs(kind, sides)) m[kept++] = m[i];
  }
  return kept;
}

static fy_code run(fy_kernel_ctx *ctx, const operand *a, const operand *b, fy_error *err) {
  char x[128], y[128];
  set_kind kind;
  member *m;
  int64_t n, widest = 0, place = 0;
  const int64_t rank = a->rank;
  fy_tensor *indices, *values, *shape;
  FY_TRY(read_kind(fy_site_string(ctx->site, "set_operation"), &kind, err));
  if (!fy_shape_equal(a->rank - 1, a->dims, b->rank - 1, b->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Mismatched shapes %s vs %s",
                   fy_shape_text(a->rank - 1, a->dims, x), fy_shape_text(b->rank - 1, b->dims, y));
  }
  FY_TRY(sorted_members(ctx, a, b, &m, &n, err));
  n = keep_result(m, n, kind);
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, rank}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &values, err));
  FY_TRY(fy_out(ctx, 2, 1, &rank, &shape, err));
  for (int64_t i = 0; i < n; i++) {
    place = i && compare_groups(&m[i], &m[i - 1]) == 0 ? place + 1 : 0;
    if (place >= widest) widest = place + 1;
    int64_t *at = (int64_t *)indices->data + i * rank;
    memcpy(at, m[i].group, (size_t)(rank - 1) * sizeof *at);
    at[rank - 1] = place;
    FY_TRY(fy_copy_run(values->dtype, values->data, i, m[i].values->data, m[i].at, 1, err));
  }
  memcpy(shape->data, a->dims, (size_t)(rank - 1) * sizeof(int64_t));
  ((int64_t *)shape->data)[rank - 1] = widest;
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
  member *m;
  int64_t n;
  fy_tensor *out;
  FY_TRY(sparse_operand(ctx, 0, &a, err));
  for (int32_t d = 0; d < a.rank - 1; d++) {
    if (a.dims[d] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)a.dims[d]);
    }
  }
  FY_TRY(fy_out(ctx, 0, a.rank - 1, a.dims, &out, err));
  if (out->count) memset(out->data, 0, fy_tensor_bytes(out));
  FY_TRY(sorted_members(ctx, &a, NULL, &m, &n, err));
  n = keep_result(m, n, SET_UNION);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    for (int32_t d = 0; d < a.rank - 1; d++) {
      if ((uint64_t)m[i].group[d] >= (uint64_t)a.dims[d]) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "an index is out of bounds");
      }
      at = at * a.dims[d] + m[i].group[d];
    }
    ((int32_t *)out->data)[at]++;
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
