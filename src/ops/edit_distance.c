// SPDX-License-Identifier: Apache-2.0
// edit_distance.c: EditDistance: Levenshtein distances between the rows of two sparse tensors, a row
// being all entries that share every index but the last. Both are read in the order they are given.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

typedef struct side {
  const fy_tensor *indices, *values, *shape;
  int64_t at, end;  // the current row
} side;

static fy_code check_side(const side *s, const char *name, fy_error *err) {
  char a[128], b[128];
  if (s->indices->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s_indices should be a matrix, but got shape: %s",
                   name, fy_tensor_shape_text(s->indices, a));
  }
  if (s->values->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s_values should be a vector, but got shape: %s",
                   name, fy_tensor_shape_text(s->values, a));
  }
  if (s->shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s_shape should be a vector, but got shape: %s", name,
                   fy_tensor_shape_text(s->shape, a));
  }
  if (s->values->count != s->indices->dims[0]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Expected %s_values.NumElements == #rows(%s_indices), their shapes are: %s and %s", name,
        name, fy_tensor_shape_text(s->values, a), fy_tensor_shape_text(s->indices, b));
  }
  if (s->shape->count != s->indices->dims[1]) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Expected %s_shape.NumElements == #cols(%s_indices), their shapes are: %s and %s", name,
        name, fy_tensor_shape_text(s->shape, a), fy_tensor_shape_text(s->indices, b));
  }
  return FY_OK;
}

// The dims of a whole sparse tensor must make a shape.
static fy_code check_dims(const fy_tensor *shape, fy_error *err) {
  const int64_t *d = shape->data;
  char a[128];
  int64_t count;
  for (int64_t i = 0; i < shape->count; i++) {
    if (d[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)d[i]);
    }
  }
  if (shape->count > FY_MAX_RANK || !fy_shape_count((int32_t)shape->count, d, &count)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape %s would have more than 2**63 - 1 elements",
                   fy_shape_text((int32_t)shape->count, d, a));
  }
  return FY_OK;
}

static const int64_t *row_key(const side *s) {
  return (const int64_t *)s->indices->data + s->at * s->indices->dims[1];
}

static int compare_keys(const int64_t *a, const int64_t *b, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

static bool next_row(side *s, int32_t n) {
  const int64_t width = s->indices->dims[1], *all = s->indices->data;
  s->at = s->end;
  if (s->at >= s->values->count) return false;
  while (s->end < s->values->count && !compare_keys(all + s->at * width, all + s->end * width, n)) {
    s->end++;
  }
  return true;
}

static bool same(const fy_tensor *a, int64_t i, const fy_tensor *b, int64_t k) {
  const fy_dtype t = a->dtype;
  if (t == FY_STRING) return fy_view_eq(fy_tensor_string(a, i), fy_tensor_string(b, k));
  if (t == FY_COMPLEX64 || t == FY_COMPLEX128) {
    const size_t n = fy_dtype_storage(t) / 2;
    for (int part = 0; part < 2; part++) {
      double x, y;
      if (t == FY_COMPLEX64) {
        x = (double)((const float *)a->data)[2 * i + part];
        y = (double)((const float *)b->data)[2 * k + part];
      } else {
        x = ((const double *)a->data)[2 * i + part];
        y = ((const double *)b->data)[2 * k + part];
      }
      if (!(x <= y && x >= y)) return false;
    }
    return n > 0;
  }
  if (fy_dtype_is_floating(t)) {
    const double x = fy_tensor_double(a, i), y = fy_tensor_double(b, k);
    return x <= y && x >= y;
  }
  return fy_tensor_int(a, i) == fy_tensor_int(b, k);
}

// |row| has room for the truth's length + 1.
static int64_t distance(const side *truth, const side *hypothesis, int64_t *row) {
  const int64_t n = truth->end - truth->at, m = hypothesis->end - hypothesis->at;
  for (int64_t i = 0; i <= n; i++) row[i] = i;
  for (int64_t j = 1; j <= m; j++) {
    int64_t corner = row[0];
    row[0] = j;
    for (int64_t i = 1; i <= n; i++) {
      const bool equal =
          same(truth->values, truth->at + i - 1, hypothesis->values, hypothesis->at + j - 1);
      int64_t best = corner + !equal;
      corner = row[i];
      if (row[i] + 1 < best) best = row[i] + 1;
      if (row[i - 1] + 1 < best) best = row[i - 1] + 1;
      row[i] = best;
    }
  }
  return row[n];
}

static fy_code put(fy_tensor *out, const int64_t *key, float v, fy_error *err) {
  uint64_t at = 0, stride = 1;
  for (int32_t d = out->rank; d-- > 0;) {
    at += (uint64_t)key[d] * stride;
    stride *= (uint64_t)out->dims[d];
  }
  const int64_t place = (int64_t)at;
  if (place < 0 || place >= out->count) {
    return fy_fail(err, FY_INTERNAL,
                   "Got an inner product %lld which would require writing to outside of the buffer "
                   "for the output tensor (max elements %lld)",
                   (long long)place, (long long)out->count);
  }
  ((float *)out->data)[place] = v;
  return FY_OK;
}

static fy_code edit_distance(fy_kernel_ctx *ctx, fy_error *err) {
  side h = {ctx->in[0], ctx->in[1], ctx->in[2], 0, 0},
       t = {ctx->in[3], ctx->in[4], ctx->in[5], 0, 0};
  const bool normalize = fy_site_bool(ctx->site, "normalize");
  char a[128], b[128];
  int64_t dims[FY_MAX_RANK];
  fy_tensor *out;
  void *row;
  FY_TRY(check_side(&h, "hypothesis", err));
  FY_TRY(check_side(&t, "truth", err));
  if (t.shape->count < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input SparseTensors must have rank at least 2, but truth_shape rank is: %lld",
                   (long long)t.shape->count);
  }
  if (h.shape->count != t.shape->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected truth and hypothesis to have matching ranks, but their shapes are: %s "
                   "and %s",
                   fy_tensor_shape_text(t.shape, a), fy_tensor_shape_text(h.shape, b));
  }
  FY_TRY(check_dims(h.shape, err));
  FY_TRY(check_dims(t.shape, err));
  const int32_t n = (int32_t)h.shape->count - 1;
  for (int32_t d = 0; d < n; d++) {
    const int64_t x = ((const int64_t *)h.shape->data)[d], y = ((const int64_t *)t.shape->data)[d];
    dims[d] = x > y ? x : y;
  }
  FY_TRY(fy_out(ctx, 0, n, dims, &out, err));
  if (out->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Got output shape %s which has 0 elements",
                   fy_shape_text(n, dims, a));
  }
  FY_TRY(fy_scratch(ctx, ((size_t)t.values->count + 1) * sizeof(int64_t), &row, err));
  memset(out->data, 0, fy_tensor_bytes(out));
  bool more_h = next_row(&h, n), more_t = next_row(&t, n);
  while (more_h || more_t) {
    const int order = !more_h ? -1 : !more_t ? 1 : compare_keys(row_key(&t), row_key(&h), n);
    const int64_t truth_n = t.end - t.at;
    if (order == 0) {
      float v = (float)distance(&t, &h, row);
      if (normalize) v /= (float)truth_n;
      FY_TRY(put(out, row_key(&t), v, err));
    } else if (order > 0) {  // no truth for this row
      FY_TRY(put(out, row_key(&h), normalize ? __builtin_inff() : (float)(h.end - h.at), err));
    } else {
      FY_TRY(put(out, row_key(&t), normalize ? 1.0f : (float)truth_n, err));
    }
    if (order >= 0) more_h = next_row(&h, n);
    if (order <= 0) more_t = next_row(&t, n);
  }
  return FY_OK;
}

static fy_code distance_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_tensor *h = fy_shape_tensor(ctx, 2), *t = fy_shape_tensor(ctx, 5);
  int64_t dims[FY_MAX_RANK];
  FY_TRY(fy_sparse_validate_shapes(ctx, 0, err));
  FY_TRY(fy_sparse_validate_shapes(ctx, 3, err));
  if (!h || !t || h->rank != 1 || t->rank != 1) return FY_OK;
  if (h->count != t->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Num elements of hypothesis_shape does not match truth_shape: %lld vs. %lld",
                   (long long)h->count, (long long)t->count);
  }
  if (h->count < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input Hypothesis SparseTensors must have rank at least 2, but hypothesis_shape "
                   "rank is: %lld",
                   (long long)h->count);
  }
  if (h->count > FY_MAX_RANK) return FY_OK;
  for (int64_t d = 0; d + 1 < h->count; d++) {
    const int64_t x = fy_tensor_int(h, d), y = fy_tensor_int(t, d);
    dims[d] = x > y ? x : y;
  }
  return fy_shape_set(ctx, 0, (int32_t)h->count - 1, dims, err);
}

static const fy_sample samples[] = {
    {"i64[2,2]=0,0,1,0; i32[2]=1,2; i64[2]=2,1; i64[2,2]=0,0,0,1; i32[2]=1,3; i64[2]=2,2", NULL,
     FY_OK, "0.5,inf"},
    {"i64[1,1]=0; i32[1]=1; i64[1]=2; i64[1,1]=0; i32[1]=1; i64[1]=2", NULL, FY_INVALID_ARGUMENT,
     "rank at least 2"},
};

FY_OP(EditDistance, .shape = distance_shape, .compute = edit_distance,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(samples));
