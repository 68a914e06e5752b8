// SPDX-License-Identifier: Apache-2.0
// slice.c: Slice and StridedSlice. The masks of StridedSlice are resolved once, by the same
// function for kernels (all sizes known) and shape inference (some not).

#include <string.h>

#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/values.h"

// ---------------------------------------------------------------- Slice
static fy_code slice(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *begin = ctx->in[1], *size = ctx->in[2];
  int64_t dims[FY_MAX_RANK], strides[FY_MAX_RANK], offset = 0;
  char x[128], y[128];
  if (begin->rank != 1 || size->rank != 1 || begin->count != in->rank || size->count != in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected begin and size arguments to be 1-D tensors of size %d, but got shapes "
                   "%s and %s instead.",
                   in->rank, fy_tensor_shape_text(begin, x), fy_tensor_shape_text(size, y));
  }
  fy_dense_strides(in->rank, in->dims, strides);
  bool whole = true;
  for (int32_t d = 0; d < in->rank; d++) {
    const int64_t b = fy_tensor_int(begin, d), have = in->dims[d];
    int64_t s = fy_tensor_int(size, d);
    if (have == 0 && (b != 0 || (s != 0 && s != -1))) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected begin[%d] == 0 (got %lld) and size[%d] == 0 (got %lld) when "
                     "input.dim_size(%d) == 0",
                     d, (long long)b, d, (long long)s, d);
    }
    if (b < 0 || b > have) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expected begin[%d] in [0, %lld], but got %lld", d,
                     (long long)have, (long long)b);
    }
    if (s == -1) s = have - b;
    if (s < 0 || s > have - b) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expected size[%d] in [0, %lld], but got %lld", d,
                     (long long)(have - b), (long long)s);
    }
    whole = whole && b == 0 && s == have;
    dims[d] = s;
    offset += b * strides[d];
  }
  if (whole) return fy_out_alias(ctx, 0, 0, in->rank, in->dims, err);
  if (fy_is_dense_part(in->rank, in->dims, dims) && fy_out_part(ctx, 0, 0, offset, in->rank, dims))
    return FY_OK;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &out, err));
  return fy_strided_copy(ctx, out, in, in->rank, dims, strides, offset, err);
}

static bool slice_part(const fy_site *site, int out, int *in, int64_t *first) {
  const fy_tensor *begin = site->in_value[1], *size = site->in_value[2];
  const fy_pshape shape = site->in_shapes[0];
  int64_t dims[FY_MAX_RANK], strides[FY_MAX_RANK], count;
  (void)out;
  if (!begin || !size || shape.rank < 1 || begin->count != shape.rank ||
      size->count != shape.rank || !fy_shape_count(shape.rank, shape.dims, &count))
    return false;
  fy_dense_strides(shape.rank, shape.dims, strides);
  *in = 0;
  *first = 0;
  for (int32_t d = 0; d < shape.rank; d++) {
    const int64_t b = fy_tensor_int(begin, d), s = fy_tensor_int(size, d), have = shape.dims[d];
    if (b < 0 || b > have || s < -1 || s > have - b) return false;
    dims[d] = s == -1 ? have - b : s;
    *first += b * strides[d];
  }
  return fy_is_dense_part(shape.rank, shape.dims, dims);
}

static fy_code slice_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  fy_pshape both;
  FY_TRY(fy_shape_merge(ctx, ctx->in[1], ctx->in[2], &both, err));
  int32_t nb, ns, rank = in.rank;
  int64_t *b, *s, dims[FY_MAX_RANK];
  bool *bk, *sk;
  for (int i = 2; i > 0; i--)
    if (in.rank >= 0 && ctx->in[i].rank == 1 && ctx->in[i].dims[0] >= 0 &&
        ctx->in[i].dims[0] != in.rank)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank %lld but is rank %d",
                     (long long)ctx->in[i].dims[0], in.rank);
  const bool has_b = fy_shape_values(ctx, 1, &nb, &b, &bk);
  const bool has_s = fy_shape_values(ctx, 2, &ns, &s, &sk);
  if (rank < 0) rank = has_s ? ns : has_b ? nb : -1;
  if (rank < 0) return FY_OK;
  if ((has_b && nb != rank) || (has_s && ns != rank)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank %d but is rank %d",
                   has_s ? ns : nb, rank);
  }
  for (int32_t d = 0; d < rank; d++) {
    const int64_t have = fy_dim_of(in, d);
    if (has_b && bk[d] && b[d] < -1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid value in tensor used for shape: %lld",
                     (long long)b[d]);
    }
    if (has_s && sk[d] && s[d] < -1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid value in tensor used for shape: %lld",
                     (long long)s[d]);
    }
    const int64_t size = has_s && sk[d] ? s[d] : -2, begin = has_b && bk[d] ? b[d] : -1;
    dims[d] = size >= 0 ? size : size == -1 && have >= 0 && begin >= 0 ? have - begin : -1;
    if (dims[d] < -1) dims[d] = -1;  // beyond the end: the kernel says so
  }
  FY_TRY(fy_shape_set(ctx, 0, rank, dims, err));
  int32_t n;
  int64_t *v;
  bool *k;
  const bool small = ctx->in_as_shape[0].rank >= 0 || ctx->in_value[0];
  if (rank == 1 && small && dims[0] >= 0 && has_b && bk[0] && fy_shape_values(ctx, 0, &n, &v, &k) &&
      b[0] >= 0 && b[0] + dims[0] <= n) {
    return fy_shape_set_value(ctx, 0, (int32_t)dims[0], v + b[0], err);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- StridedSlice
typedef struct slice_spec {
  int32_t n;  // entries of begin, end and strides
  const int64_t *begin, *end, *strides;
  const bool *begin_known, *end_known, *strides_known;  // NULL: all known
  int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
} slice_spec;

typedef struct slice_result {
  int32_t rank;                // of the walk: one entry per input dim
  int64_t dims[FY_MAX_RANK];   // elements taken; -1 unknown
  int64_t start[FY_MAX_RANK];  // first element
  int64_t step[FY_MAX_RANK];
  int32_t out_rank;
  int64_t out_dims[2 * FY_MAX_RANK];  // new axes may exceed the limit until it is checked
} slice_result;

static bool bit(int64_t mask, int32_t i) {
  return i < 63 && (mask >> i & 1);
}

// One input dim of |size| (-1 unknown) under entry |i|.
static fy_code resolve_dim(const slice_spec *s, int32_t i, int32_t dim, int64_t size,
                           slice_result *r, fy_error *err) {
  const bool stride_known = !s->strides_known || s->strides_known[i];
  const bool begin_known = !s->begin_known || s->begin_known[i];
  const bool end_known = !s->end_known || s->end_known[i];
  const int64_t step = stride_known ? s->strides[i] : 1;
  const bool shrink = bit(s->shrink_mask, i);
  if (stride_known && step == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "strides[%d] must be non-zero", i);
  }
  if (shrink && stride_known && step <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "only stride 1 allowed on non-range indexing.");
  }
  r->step[dim] = step;
  r->start[dim] = 0;
  r->dims[dim] = -1;
  if (shrink) {
    r->dims[dim] = 1;
    if (!begin_known || size < 0) return FY_OK;
    int64_t at = s->begin[i];
    at = at < 0 ? at + size : at;
    if (at < 0 || at >= size) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "slice index %lld of dimension %d out of bounds.",
                     (long long)s->begin[i], dim);
    }
    r->start[dim] = at;
    r->step[dim] = 1;
    return FY_OK;
  }
  const bool free_begin = bit(s->begin_mask, i), free_end = bit(s->end_mask, i);
  if (size < 0 || !stride_known || (!begin_known && !free_begin) || (!end_known && !free_end))
    return FY_OK;
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  int64_t b = s->begin[i], e = s->end[i];
  if (b < 0) b = b < -size ? -1 : b + size;
  if (e < 0) e = e < -size ? -1 : e + size;
  b = b < low ? low : b > high ? high : b;
  e = e < low ? low : e > high ? high : e;
  if (free_begin) b = step > 0 ? low : high;
  if (free_end) e = step > 0 ? high : low;
  const uint64_t span = step > 0 ? (uint64_t)(e - b) : (uint64_t)(b - e);
  const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  const bool empty = step > 0 ? e <= b : b <= e;
  r->dims[dim] = empty ? 0 : (int64_t)((span - 1) / by + 1);
  r->start[dim] = empty ? 0 : b;
  if (r->dims[dim] <= 1) r->step[dim] = 1;
  return FY_OK;
}

// Whether there are dims for all indices: known before any of them is looked at.
static fy_code check_rank(const slice_spec *s, int32_t rank, fy_error *err) {
  int32_t dim = 0;
  for (int32_t i = 0; i < s->n; i++) {
    if (bit(s->ellipsis_mask, i)) {
      int32_t after = 0;
      for (int32_t k = i + 1; k < s->n; k++) after += !bit(s->new_axis_mask, k);
      dim = rank - after > dim ? rank - after : dim;
    } else if (!bit(s->new_axis_mask, i) && dim++ >= rank) {
      if (rank == 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "Attempting to slice scalar input.");
      }
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Index out of range using input dim %d; input has only %d dims", dim - 1,
                     rank);
    }
  }
  return FY_OK;
}

static fy_code resolve(const slice_spec *s, int32_t rank, const int64_t *dims, slice_result *r,
                       fy_error *err) {
  const uint32_t ellipses = (uint32_t)s->ellipsis_mask;
  if (ellipses & (ellipses - 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Multiple ellipses in slice spec not allowed");
  }
  FY_TRY(check_rank(s, rank, err));
  r->rank = rank;
  r->out_rank = 0;
  int32_t dim = 0;
  bool ellipsis = false;
  for (int32_t i = 0; i <= s->n; i++) {
    if (i == s->n ? !ellipsis : bit(s->ellipsis_mask, i)) {  // "…", written or implied at the end
      ellipsis = true;
      int32_t after = 0;
      for (int32_t k = i + 1; k < s->n; k++) after += !bit(s->new_axis_mask, k);
      for (; dim < rank - after; dim++) {
        r->dims[dim] = dims[dim];
        r->start[dim] = 0;
        r->step[dim] = 1;
        r->out_dims[r->out_rank++] = dims[dim];
      }
    } else if (i < s->n && bit(s->new_axis_mask, i)) {
      r->out_dims[r->out_rank++] = 1;
    } else if (i < s->n) {
      FY_TRY(resolve_dim(s, i, dim, dims[dim], r, err));
      if (!bit(s->shrink_mask, i)) {
        r->out_dims[r->out_rank++] = r->dims[dim];
      }
      dim++;
    }
  }
  if (r->out_rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  return FY_OK;
}

// What three vectors of numbers take of a tensor of this shape.
static fy_code resolve_values(const fy_site *site, const fy_tensor *begin, const fy_tensor *end,
                              const fy_tensor *step, int32_t rank, const int64_t *dims,
                              slice_result *r, fy_error *err) {
  char x[128], y[128], z[128];
  if (begin->rank != 1 || end->rank != 1 || step->rank != 1 || begin->count != end->count ||
      begin->count != step->count || begin->count >= 32) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, "
        "%s, and %s instead.",
        fy_tensor_shape_text(begin, x), fy_tensor_shape_text(end, y),
        fy_tensor_shape_text(step, z));
  }
  int64_t b[32], e[32], s[32];
  for (int32_t i = 0; i < begin->count; i++) {
    b[i] = fy_tensor_int(begin, i);
    e[i] = fy_tensor_int(end, i);
    s[i] = fy_tensor_int(step, i);
  }
  const slice_spec spec = {.n = (int32_t)begin->count,
                           .begin = b,
                           .end = e,
                           .strides = s,
                           .begin_mask = fy_site_int(site, "begin_mask"),
                           .end_mask = fy_site_int(site, "end_mask"),
                           .ellipsis_mask = fy_site_int(site, "ellipsis_mask"),
                           .new_axis_mask = fy_site_int(site, "new_axis_mask"),
                           .shrink_mask = fy_site_int(site, "shrink_axis_mask")};
  return resolve(&spec, rank, dims, r, err);
}

// The steps in elements, and where the walk starts. True: all of it follows each other in memory.
static bool walk(const slice_result *r, int32_t rank, const int64_t *dims, int64_t *strides,
                 int64_t *offset, bool *whole) {
  bool ones = true;
  *offset = 0;
  *whole = true;
  fy_dense_strides(rank, dims, strides);
  for (int32_t d = 0; d < rank; d++) {
    ones = ones && (r->step[d] == 1 || r->dims[d] <= 1);
    *whole = *whole && r->dims[d] == dims[d];
    *offset += r->start[d] * strides[d];
    strides[d] *= r->step[d];
  }
  *whole = *whole && ones;
  return ones && fy_is_dense_part(rank, dims, r->dims);
}

static fy_code strided_slice(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  slice_result r;
  FY_TRY(
      resolve_values(ctx->site, ctx->in[1], ctx->in[2], ctx->in[3], in->rank, in->dims, &r, err));
  int64_t strides[FY_MAX_RANK], offset;
  bool whole;
  const bool dense = walk(&r, in->rank, in->dims, strides, &offset, &whole);
  if (whole) return fy_out_alias(ctx, 0, 0, r.out_rank, r.out_dims, err);
  if (dense && fy_out_part(ctx, 0, 0, offset, r.out_rank, r.out_dims)) return FY_OK;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, r.out_rank, r.out_dims, &out, err));
  return fy_strided_copy(ctx, out, in, in->rank, r.dims, strides, offset, err);
}

static bool strided_part(const fy_site *site, int out, int *in, int64_t *first) {
  const fy_pshape shape = site->in_shapes[0];
  int64_t strides[FY_MAX_RANK], count;
  slice_result r;
  bool whole;
  (void)out;
  *in = 0;
  return site->in_value[1] && site->in_value[2] && site->in_value[3] && shape.rank >= 1 &&
         fy_shape_count(shape.rank, shape.dims, &count) &&
         resolve_values(site, site->in_value[1], site->in_value[2], site->in_value[3], shape.rank,
                        shape.dims, &r, NULL) == FY_OK &&
         walk(&r, shape.rank, shape.dims, strides, first, &whole);
}

// A slice of a vector that is a shape is a shape, an element of it a number.
static fy_code sliced_value(fy_shape_ctx *ctx, const slice_result *r, fy_error *err) {
  int32_t n;
  int64_t *v, values[FY_MAX_RANK];
  bool *known;
  const bool small = ctx->in_as_shape[0].rank >= 0 || ctx->in_value[0];
  if (!small || !fy_shape_values(ctx, 0, &n, &v, &known)) return FY_OK;
  if (r->dims[0] < 0 || r->dims[0] > n || r->out_rank > 1) return FY_OK;
  for (int64_t i = 0; i < r->dims[0]; i++) {
    const int64_t at = r->start[0] + i * r->step[0];
    if (at < 0 || at >= n) return FY_OK;
    values[i] = v[at];
  }
  return fy_shape_set_value(ctx, 0, (int32_t)r->dims[0], values, err);
}

static fy_code strided_slice_shape(fy_shape_ctx *ctx, fy_error *err) {
  int32_t n[3];
  int64_t *v[3];
  bool *known[3];
  for (int i = 0; i < 3; i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[1 + i], 1, err));
  }
  fy_pshape all = ctx->in[1];
  for (int i = 2; i < 4; i++) FY_TRY(fy_shape_merge(ctx, all, ctx->in[i], &all, err));
  if (!fy_shape_tensor(ctx, 3)) return FY_OK;  // as TensorFlow: without strides nothing is known
  int64_t zeros[FY_MAX_RANK] = {0};
  bool nothing[FY_MAX_RANK] = {false};
  for (int i = 2; i >= 0; i--) {
    if (fy_shape_values(ctx, 1 + i, &n[i], &v[i], &known[i])) continue;
    if (i == 2) return FY_OK;
    n[i] = n[2];  // as many as there are strides, whatever they are
    v[i] = zeros;
    known[i] = nothing;
  }
  if (n[0] != n[1] || n[0] != n[2]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimensions must be equal, but are %d and %d", n[0],
                   n[0] != n[1] ? n[1] : n[2]);
  }
  if (ctx->in[0].rank < 0) return FY_OK;
  // -1 in a partly known begin or end is "unknown"; in a constant it counts from the end.
  const slice_spec spec = {.n = n[0],
                           .begin = v[0],
                           .end = v[1],
                           .strides = v[2],
                           .begin_known = known[0],
                           .end_known = known[1],
                           .strides_known = known[2],
                           .begin_mask = fy_shape_attr_int(ctx, "begin_mask", 0),
                           .end_mask = fy_shape_attr_int(ctx, "end_mask", 0),
                           .ellipsis_mask = fy_shape_attr_int(ctx, "ellipsis_mask", 0),
                           .new_axis_mask = fy_shape_attr_int(ctx, "new_axis_mask", 0),
                           .shrink_mask = fy_shape_attr_int(ctx, "shrink_axis_mask", 0)};
  slice_result r;
  const fy_code code = resolve(&spec, ctx->in[0].rank, ctx->in[0].dims, &r, err);
  if (code) {
    // Only an index that is out of bounds needed begin and end.
    if (strncmp(fy_error_text(err), "slice index", 11) != 0) ctx->asked_values = 8;
    return code;
  }
  FY_TRY(fy_shape_set(ctx, 0, r.out_rank, r.out_dims, err));
  if (ctx->in[0].rank == 1 && spec.new_axis_mask == 0) return sliced_value(ctx, &r, err);
  return FY_OK;
}

static const fy_sample slice_samples[] = {
    {"f32[2,3]=iota; i32[2]=0,1; i32[2]=2,2", NULL, FY_OK, "1,2,4,5"},
    {"f32[3]=iota; i32[1]=1; i32[1]=-1", NULL, FY_OK, "1,2"},
    {"f32[3]=iota; i32[1]=1; i32[1]=3", NULL, FY_INVALID_ARGUMENT,
     "Expected size[0] in [0, 2], but got 3"},
};
static const fy_sample strided_samples[] = {
    {"f32[5]=iota; i32[1]=4; i32[1]=0; i32[1]=-2", NULL, FY_OK, "4,2"},
    {"f32[5]=iota; i32[1]=0; i32[1]=0; i32[1]=-1", "begin_mask=1; end_mask=1", FY_OK, "4,3,2,1,0"},
    {"f32[2,3]=iota; i32[2]=0,-1; i32[2]=0,0; i32[2]=1,1", "ellipsis_mask=1; shrink_axis_mask=2",
     FY_OK, "2,5"},
    {"f32[2]=iota; i32[1]=0; i32[1]=1; i32[1]=1", "new_axis_mask=1", FY_OK, "0,1"},
    {"f32[3]=iota; i32[1]=0; i32[1]=3; i32[1]=0", NULL, FY_INVALID_ARGUMENT,
     "strides[0] must be non-zero"},
    {"f32[3]=iota; i32[1]=5; i32[1]=6; i32[1]=1", "shrink_axis_mask=1", FY_INVALID_ARGUMENT,
     "slice index 5 of dimension 0 out of bounds."},
};

FY_OP(Slice, .shape = slice_shape, .compute = slice, .part = slice_part, .host_inputs = 6,
      FY_SAMPLES(slice_samples));
FY_OP(StridedSlice, .shape = strided_slice_shape, .compute = strided_slice, .part = strided_part,
      .host_inputs = 14, FY_SAMPLES(strided_samples));
