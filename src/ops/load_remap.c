// SPDX-License-Identifier: Apache-2.0
// load_remap.c: LoadAndRemapMatrix: rows and columns of a matrix in a checkpoint, in another order (warm
// starts with a changed vocabulary). What the checkpoint does not have is taken from initializing_values,
// one after the other. Only the rows between the first and the last that are wanted are read,
// max_rows_in_memory at a time.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "wire/bundle.h"
#include "wire/file.h"

typedef struct remap {
  fy_tensor *out;       // [num_rows, num_cols]
  const int64_t *rows;  // [num_rows] row of the checkpoint, or negative
  const int64_t *cols;  // [num_cols], or NULL: as they are
  const float *fill;    // initializing_values
  int64_t fill_count, filled;
} remap;

typedef struct pair {
  int64_t old, fresh;
} pair;

static int by_old(const void *a, const void *b) {
  const pair *x = a, *y = b;
  if (x->old != y->old) return x->old < y->old ? -1 : 1;
  return x->fresh < y->fresh ? -1 : x->fresh > y->fresh;
}

// No row or column may be wanted twice.
static fy_code check_once(fy_kernel_ctx *ctx, const fy_tensor *t, fy_error *err) {
  const int64_t *ids = t->data;
  void *memory;
  int64_t n = 0;
  if (!t->count) return FY_OK;
  FY_TRY(fy_scratch(ctx, (size_t)t->count * sizeof(pair), &memory, err));
  pair *pairs = memory;
  for (int64_t i = 0; i < t->count; i++) {
    if (ids[i] >= 0) pairs[n++] = (pair){ids[i], i};
  }
  qsort(pairs, (size_t)n, sizeof *pairs, by_old);
  for (int64_t i = 1; i < n; i++) {
    if (pairs[i].old != pairs[i - 1].old) continue;
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Old ID %lld is mapped to both new ID %lld and %lld, which is not supported.",
                   (long long)pairs[i].old, (long long)pairs[i - 1].fresh,
                   (long long)pairs[i].fresh);
  }
  return FY_OK;
}

static fy_code check_inputs(fy_kernel_ctx *ctx, int64_t num_rows, int64_t num_cols, fy_error *err) {
  static const char *const names[] = {"ckpt_path", "old_tensor_name", "row_remapping",
                                      "col_remapping"};
  char x[128];
  for (int i = 2; i < 4; i++) {
    if (ctx->in[i]->rank == 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The `%s` tensor must be 1-D, got a tensor of shape %s", names[i],
                   fy_tensor_shape_text(ctx->in[i], x));
  }
  if (ctx->in[2]->count != num_rows) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Size of row_remapping is %lld instead of being equal to num_rows=%lld",
                   (long long)ctx->in[2]->count, (long long)num_rows);
  }
  if (ctx->in[3]->count && ctx->in[3]->count != num_cols) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Provided col_remapping, but its size is %lld instead of being equal to num_cols=%lld",
        (long long)ctx->in[3]->count, (long long)num_cols);
  }
  FY_TRY(check_once(ctx, ctx->in[2], err));
  FY_TRY(check_once(ctx, ctx->in[3], err));
  for (int i = 0; i < 2; i++) {
    if (ctx->in[i]->count == 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The `%s` tensor must have exactly one element, got tensor of shape %s",
                   names[i], fy_tensor_shape_text(ctx->in[i], x));
  }
  return FY_OK;
}

static fy_code check_stored(const fy_wire_bundle *b, const char *key, const fy_tensor *cols,
                            int64_t num_cols, fy_pshape *shape, fy_error *err) {
  fy_dtype dtype;
  char x[128];
  FY_TRY(fy_wire_bundle_info(b, key, &dtype, shape, err));
  if (dtype != FY_FLOAT) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tensor %s has invalid type %s instead of expected type float", key,
                   fy_dtype_name(dtype));
  }
  if (shape->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tensor %s has shape %s of invalid rank %d instead of expected shape of rank 2.",
                   key, fy_shape_text(shape->rank, shape->dims, x), shape->rank);
  }
  if (!cols->count && shape->dims[1] != num_cols) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Tensor %s has shape %s, where the size of its 2nd dimension is %lld instead of "
                   "being equal to num_cols=%lld",
                   key, fy_shape_text(shape->rank, shape->dims, x), (long long)shape->dims[1],
                   (long long)num_cols);
  }
  for (int64_t i = 0; i < cols->count; i++) {
    const int64_t c = ((const int64_t *)cols->data)[i];
    if (c < shape->dims[1]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "col_remapping[%lld] = %lld is not in [0, %lld)",
                   (long long)i, (long long)c, (long long)shape->dims[1]);
  }
  return FY_OK;
}

// |part| holds rows [first, first + count) of the checkpoint's matrix.
static void place_rows(remap *r, const fy_tensor *part, int64_t first) {
  const int64_t n = r->out->dims[1], stored = part->dims[1];
  for (int64_t i = 0; i < r->out->dims[0]; i++) {
    const int64_t at = r->rows[i] - first;
    if (at < 0 || at >= part->dims[0]) continue;
    const float *from = (const float *)part->data + at * stored;
    float *to = (float *)r->out->data + i * n;
    for (int64_t c = 0; c < n; c++) {
      const int64_t k = r->cols ? r->cols[c] : c;
      if (k >= 0) to[c] = from[k];
    }
  }
}

static fy_code read_rows(remap *r, fy_wire_bundle *b, const char *key, fy_pshape shape,
                         int64_t at_once, fy_error *err) {
  int64_t first = INT64_MAX, last = -1;
  char x[128];
  for (int64_t i = 0; i < r->out->dims[0]; i++) {
    if (r->rows[i] < 0) continue;
    if (r->rows[i] < first) first = r->rows[i];
    if (r->rows[i] > last) last = r->rows[i];
  }
  if (last < 0) return FY_OK;
  if (last >= shape.dims[0]) {
    return fy_fail(
        err, FY_INTERNAL, "Extent in dimension 0 out of bounds: shape = %s, slice = %lld,%llu:-",
        fy_shape_text(2, shape.dims, x), (long long)first, (unsigned long long)(last - first) + 1);
  }
  if (at_once <= 0 || at_once > last - first + 1) at_once = last - first + 1;
  for (int64_t at = first; at <= last; at += at_once) {
    const fy_tensor_slice rows = {
        2, {at, 0}, {last - at + 1 < at_once ? last - at + 1 : at_once, -1}};
    fy_tensor *part;
    FY_TRY(fy_wire_bundle_read_slice(b, key, &rows, &part, err));
    place_rows(r, part, at);
    fy_tensor_release(part);
  }
  return FY_OK;
}

static fy_code fill_missing(remap *r, fy_error *err) {
  const int64_t n = r->out->dims[1];
  float *to = r->out->data;
  for (int64_t i = 0; i < r->out->count; i++) {
    if (r->rows[i / n] >= 0 && (!r->cols || r->cols[i % n] >= 0)) continue;
    if (r->filled == r->fill_count) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "initializing_values contained %lld elements, but more missing values remain.",
                     (long long)r->fill_count);
    }
    to[i] = r->fill[r->filled++];
  }
  if (r->filled == r->fill_count) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "initializing_values contained %lld elements, but only %lld elements were used to "
                 "fill in missing values.",
                 (long long)r->fill_count, (long long)r->filled);
}

// Version 2 only: the others have no index, and are not there for TensorFlow either.
static fy_code open_index(const char *prefix, fy_wire_bundle **out, fy_error *err) {
  fy_wire_file index;
  const size_t n = strlen(prefix);
  char *path = fy_malloc(n + sizeof ".index");
  if (!path) return fy_fail_oom(err, n);
  memcpy(path, prefix, n);
  memcpy(path + n, ".index", sizeof ".index");
  fy_code code = fy_wire_file_open(path, &index, err);
  fy_free(path);
  if (code) return code;
  fy_wire_file_close(&index);
  return fy_wire_bundle_open(prefix, out, err);
}

static fy_code load(fy_kernel_ctx *ctx, fy_error *err) {
  const int64_t num_rows = fy_site_int(ctx->site, "num_rows"),
                num_cols = fy_site_int(ctx->site, "num_cols");
  const fy_tensor *cols = ctx->in[3];
  fy_wire_bundle *b = NULL;
  fy_pshape shape;
  FY_TRY(check_inputs(ctx, num_rows, num_cols, err));
  remap r = {.rows = ctx->in[2]->data,
             .cols = cols->count ? cols->data : NULL,
             .fill = ctx->in[4]->data,
             .fill_count = ctx->in[4]->count};
  const fy_view path = fy_tensor_string(ctx->in[0], 0), name = fy_tensor_string(ctx->in[1], 0);
  char *prefix = fy_strndup(path.n ? path.p : "", path.n);
  char *key = fy_strndup(name.n ? name.p : "", name.n);
  fy_code code = prefix && key ? FY_OK : fy_fail_oom(err, path.n + name.n);
  if (!code) code = open_index(prefix, &b, err);
  if (!code) code = check_stored(b, key, cols, num_cols, &shape, err);
  if (!code) code = fy_out(ctx, 0, 2, (const int64_t[]){num_rows, num_cols}, &r.out, err);
  if (!code) code = read_rows(&r, b, key, shape, fy_site_int(ctx->site, "max_rows_in_memory"), err);
  if (!code) code = fill_missing(&r, err);
  fy_wire_bundle_close(b);
  fy_free(prefix);
  fy_free(key);
  return code;
}

static fy_code load_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t dims[] = {fy_shape_attr_int(ctx, "num_rows", -1),
                          fy_shape_attr_int(ctx, "num_cols", -1)};
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  return fy_shape_set(ctx, 0, 2, dims, err);
}

static const fy_sample load_samples[] = {
    {"s[]='/nonexistent'; s[]='w'; i64[1]=0; i64[0]=; f32[0]=", "num_rows=1; num_cols=1",
     FY_NOT_FOUND, "/nonexistent.index; No such file or directory"},
    {"s[]='/nonexistent'; s[]='w'; i64[2]=0,0; i64[0]=; f32[0]=", "num_rows=2; num_cols=1",
     FY_UNIMPLEMENTED, "Old ID 0 is mapped to both new ID 0 and 1"},
};
FY_OP(LoadAndRemapMatrix, .shape = load_shape, .compute = load, .host_inputs = 0x1f,
      .flags = FY_OP_HOST, FY_SAMPLES(load_samples));
