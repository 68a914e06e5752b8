// SPDX-License-Identifier: Apache-2.0
// space_batch.c: SpaceToBatch(ND) and BatchToSpace(ND).
//
// Both pair a "wide" tensor [batch, spatial…, rest…] with a "deep" one whose batch is |blocks|
// times larger: deep[offset * batch + b, p…] is wide[b, p * block + offset - start…], or padding
// where that lies outside. One copies deep <- wide, the other wide <- deep.

#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/values.h"

#define MAX_BLOCKS 64

typedef struct space {
  int32_t m;  // block dims
  int64_t block[MAX_BLOCKS], start[MAX_BLOCKS], end[MAX_BLOCKS];
  int64_t blocks;  // their product
} space;

typedef struct space_job {
  const space *s;
  int64_t batch;               // of the wide tensor
  const int64_t *deep, *wide;  // spatial dims
  int64_t rows, size;          // positions of a deep image; bytes of what follows a position
  const char *from;
  char *to;
  bool to_deep;
} space_job;

static int64_t between(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

// Item: an image of the deep tensor.
static void copy_images(void *arg, int64_t begin, int64_t end) {
  const space_job *j = arg;
  const space *s = j->s;
  for (int64_t image = begin; image < end; image++) {
    int64_t offset[MAX_BLOCKS], rest = image / j->batch;
    for (int32_t d = s->m - 1; d >= 0; d--) {
      offset[d] = rest % s->block[d];
      rest /= s->block[d];
    }
    // A line along the last dim at a time: it enters the wide image at |lo| and leaves it at |hi|.
    const int32_t last = s->m - 1;
    const int64_t size = j->size, n = last < 0 ? 1 : j->deep[last],
                  span = last < 0 ? 1 : j->wide[last];
    const int64_t block = last < 0 ? 1 : s->block[last];
    const int64_t first = last < 0 ? 0 : offset[last] - s->start[last];
    const int64_t lo = between((block - 1 - first) / block * (first < 0), 0, n);
    const int64_t hi = between(span > first ? (span - first + block - 1) / block : 0, lo, n);
    for (int64_t line = 0; n && line < j->rows / n; line++) {
      int64_t at = line, wide_at = 0, step = span;
      bool inside = true;
      for (int32_t d = last - 1; d >= 0; d--) {
        const int64_t x = at % j->deep[d] * s->block[d] + offset[d] - s->start[d];
        at /= j->deep[d];
        inside = inside && x >= 0 && x < j->wide[d];
        wide_at += x * step;
        step *= j->wide[d];
      }
      const int64_t from = inside ? lo : n, to = inside ? hi : n;
      const int64_t deep = (image * j->rows + line * n) * size;
      const int64_t wide = (image % j->batch * step + wide_at + first + from * block) * size;
      if (j->to_deep) {
        memset(j->to + deep, 0, (size_t)(from * size));
        if (to > from)
          fy_copy_rows(j->to + deep + from * size, size, j->from + wide, block * size, (size_t)size,
                       to - from);
        memset(j->to + deep + to * size, 0, (size_t)((n - to) * size));
      } else if (to > from) {
        fy_copy_rows(j->to + wide, block * size, j->from + deep + from * size, size, (size_t)size,
                     to - from);
      }
    }
  }
}

static fy_code read_space(fy_kernel_ctx *ctx, const fy_tensor *block, const fy_tensor *edges,
                          bool to_deep, space *s, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  char x[128];
  if (block) {
    if (block->rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "block_shape rank should be 1 instead of %d",
                     block->rank);
    }
    s->m = block->count > MAX_BLOCKS ? MAX_BLOCKS + 1 : (int32_t)block->count;
  } else {
    s->m = 2;
    if (in->rank != 4) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Input rank should be: 4instead of: %d", in->rank);
    }
  }
  if (in->rank < 1 + s->m) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input rank should be >= %d instead of %d", 1 + s->m,
                   in->rank);
  }
  if (s->m > MAX_BLOCKS) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "block_shape has more than %d elements", MAX_BLOCKS);
  }
  if (edges->rank != 2 || edges->dims[0] != s->m || edges->dims[1] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s should have shape [%d, 2] instead of %s",
                   to_deep ? "paddings" : "crops", s->m, fy_tensor_shape_text(edges, x));
  }
  bool positive = true;
  s->blocks = 1;
  for (int32_t d = 0; d < s->m; d++) {
    s->block[d] = block ? fy_tensor_int(block, d) : fy_site_int(ctx->site, "block_size");
    s->start[d] = fy_tensor_int(edges, 2 * d);
    s->end[d] = fy_tensor_int(edges, 2 * d + 1);
    if (s->block[d] < 1 && to_deep) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "All values in block_shape must be positive, got value, %lld at index %d.",
                     (long long)s->block[d], d);
    }
    positive &= s->block[d] > 0;
    if (__builtin_mul_overflow(s->blocks, s->block[d], &s->blocks)) s->blocks = 0;
  }
  if (!positive || s->blocks < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Product of block sizes must be positive, got %lld",
                   (long long)s->blocks);
  }
  return FY_OK;
}

static fy_code run(fy_kernel_ctx *ctx, bool to_deep, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool nd = ctx->site->num_inputs == 3;
  space s;
  int64_t dims[FY_MAX_RANK];
  FY_TRY(read_space(ctx, nd ? ctx->in[1] : NULL, ctx->in[nd ? 2 : 1], to_deep, &s, err));
  if (!fy_dtype_is_plain(in->dtype)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
  if (!to_deep && in->dims[0] % s.blocks) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input batch dimension (%lld) is not divisible by product of block sizes (%lld)",
                   (long long)in->dims[0], (long long)s.blocks);
  }
  if (to_deep ? __builtin_mul_overflow(in->dims[0], s.blocks, &dims[0])
              : (dims[0] = in->dims[0] / s.blocks, false)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "the output is too large");
  }
  for (int32_t d = 0; d < s.m; d++) {
    const int64_t size = in->dims[1 + d];
    int64_t other;
    if (s.start[d] < 0 || s.end[d] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be non-negative",
                     to_deep ? "Paddings" : "Crops");
    }
    if (to_deep) {
      if (__builtin_add_overflow(size, s.start[d], &other) ||
          __builtin_add_overflow(other, s.end[d], &other)) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "the output is too large");
      }
      if (other % s.block[d]) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "padded_shape[%d]=%lld is not divisible by block_shape[%d]=%lld", d,
                       (long long)other, d, (long long)s.block[d]);
      }
      dims[1 + d] = other / s.block[d];
    } else {
      if (__builtin_mul_overflow(size, s.block[d], &other)) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "the output is too large");
      }
      other = other < s.start[d] ? -1 : other - s.start[d];
      other = other < 0 ? other : other - s.end[d];
      if (other < 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "cropped_shape[%d]=%lld must be non-negative", d,
                       (long long)((uint64_t)size * (uint64_t)s.block[d] - (uint64_t)s.start[d] -
                                   (uint64_t)s.end[d]));
      }
      dims[1 + d] = other;
    }
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  if (in->count == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  const fy_tensor *deep = to_deep ? out : in, *wide = to_deep ? in : out;
  space_job j = {.s = &s,
                 .batch = wide->dims[0],
                 .deep = deep->dims + 1,
                 .wide = wide->dims + 1,
                 .rows = fy_product(deep->dims + 1, s.m),
                 .from = in->data,
                 .to = out->data,
                 .to_deep = to_deep,
                 .size = fy_product(in->dims + 1 + s.m, in->rank - 1 - s.m) *
                         (int64_t)fy_dtype_storage(in->dtype)};
  fy_parallel(ctx, deep->dims[0], (double)j.rows * (10 + 0.1 * (double)j.size), copy_images, &j);
  return FY_OK;
}
static fy_code to_batch(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, true, err);
}
static fy_code to_space(fy_kernel_ctx *ctx, fy_error *err) {
  return run(ctx, false, err);
}

// ---------------------------------------------------------------- shapes
// One spatial dim of |size| (-1 unknown).
static fy_code infer_dim(int64_t size, int64_t b, int64_t lo, int64_t hi, bool to_deep,
                         int64_t *out, fy_error *err) {
  *out = -1;
  if (lo < 0 || hi < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   to_deep ? "paddings cannot be negative" : "crops cannot be negative");
  }
  if (size < 0 || lo > INT32_MAX || hi > INT32_MAX || size > INT32_MAX || b > INT32_MAX)
    return FY_OK;
  if (to_deep) {
    size += lo + hi;
    if (size % b) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Dimension size must be evenly divisible by %lld but is %lld", (long long)b,
                     (long long)size);
    }
    *out = size / b;
    return FY_OK;
  }
  size *= b;
  for (int side = 0; side < 2; side++) {
    const int64_t cut = side == 0 ? lo : hi;
    if (size < cut) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Negative dimension size caused by subtracting %lld from %lld", (long long)cut,
                     (long long)size);
    }
    size -= cut;
  }
  *out = size;
  return FY_OK;
}

static fy_code infer(fy_shape_ctx *ctx, bool to_deep, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  const bool nd = ctx->num_inputs == 3;
  const int edges_in = nd ? 2 : 1;
  int64_t m = 2, dims[FY_MAX_RANK];
  if (nd) {
    if (ctx->in[1].rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "block_shape must have rank 1.");
    }
    m = fy_dim_of(ctx->in[1], 0);
    if (m < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "block_shape must have known size.");
  } else {
    FY_TRY(fy_shape_rank_is(in, 4, err));
  }
  if (m > FY_MAX_RANK - 1) return FY_OK;
  FY_TRY(fy_shape_rank_at_least(in, (int32_t)m + 1, err));
  fy_pshape merged;
  const fy_pshape want = {2, (const int64_t[]){m, 2}};
  FY_TRY(fy_shape_merge(ctx, ctx->in[edges_in], want, &merged, err));
  const fy_tensor *block = nd ? fy_shape_tensor(ctx, 1) : NULL;
  const fy_tensor *edges = fy_shape_tensor(ctx, edges_in);
  const bool block_known = !nd || m == 0 || (block && !block->device && block->count == m);
  const bool edges_known = edges && !edges->device && edges->count == 2 * m;
  for (int64_t d = 0; nd && block && block_known && d < m; d++) {
    if (fy_tensor_int(block, d) >= 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "block_shape must be positive");
  }
  for (int64_t d = 0; edges_known && d < 2 * m; d++) {
    if (fy_tensor_int(edges, d) >= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   to_deep ? "paddings cannot be negative" : "crops cannot be negative");
  }
  if (in.rank < 0) return nd ? FY_OK : fy_shape_set(ctx, 0, 4, NULL, err);
  for (int32_t d = 0; d < in.rank; d++) dims[d] = d <= m ? -1 : in.dims[d];
  if (block_known) dims[0] = in.dims[0];
  for (int64_t d = 0; d < m && block_known; d++) {
    const int64_t b = nd ? fy_tensor_int(block, d) : fy_shape_attr_int(ctx, "block_size", 2);
    if (b < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "block_shape must be positive");
    if (dims[0] >= 0 && to_deep) {
      if (__builtin_mul_overflow(dims[0], b, &dims[0])) dims[0] = -1;
    } else if (dims[0] >= 0) {
      if (dims[0] % b) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Dimension size must be evenly divisible by %lld but is %lld", (long long)b,
                       (long long)dims[0]);
      }
      dims[0] /= b;
    }
    if (!edges_known) continue;
    FY_TRY(infer_dim(in.dims[1 + d], b, fy_tensor_int(edges, 2 * d),
                     fy_tensor_int(edges, 2 * d + 1), to_deep, &dims[1 + d], err));
  }
  return fy_shape_set(ctx, 0, in.rank, dims, err);
}
static fy_code to_batch_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, true, err);
}
static fy_code to_space_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, false, err);
}

static const fy_sample batch_nd_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; i32[2]=2,2; i32[2,2]=0,0,0,0", NULL, FY_OK, "1,2,3,4"},
    {"i32[1,3]=1,2,3; i32[1]=2; i32[1,2]=1,0", NULL, FY_OK, "0,2,1,3"},
    {"f32[1,3]=1,2,3; i32[1]=2; i32[1,2]=0,0", NULL, FY_INVALID_ARGUMENT,
     "padded_shape[0]=3 is not divisible by block_shape[0]=2"},
};
static const fy_sample batch_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; i32[2,2]=0,0,0,0", "block_size=2", FY_OK, "1,2,3,4"},
};
static const fy_sample space_nd_samples[] = {
    {"f32[4,1,1,1]=1,2,3,4; i32[2]=2,2; i32[2,2]=0,0,0,0", NULL, FY_OK, "1,2,3,4"},
    {"i32[2,2]=0,2,1,3; i32[1]=2; i32[1,2]=1,0", NULL, FY_OK, "1,2,3"},
    {"f32[3,1]=zeros; i32[1]=2; i32[1,2]=0,0", NULL, FY_INVALID_ARGUMENT,
     "Input batch dimension (3) is not divisible by product of block sizes (2)"},
};
static const fy_sample space_samples[] = {
    {"f32[4,1,1,1]=1,2,3,4; i32[2,2]=0,0,0,0", "block_size=2", FY_OK, "1,2,3,4"},
};
FY_OP(SpaceToBatchND, .shape = to_batch_shape, .compute = to_batch, .host_inputs = 6,
      FY_SAMPLES(batch_nd_samples));
FY_OP(SpaceToBatch, .shape = to_batch_shape, .compute = to_batch, .host_inputs = 2,
      FY_SAMPLES(batch_samples));
FY_OP(BatchToSpaceND, .shape = to_space_shape, .compute = to_space, .host_inputs = 6,
      FY_SAMPLES(space_nd_samples));
FY_OP(BatchToSpace, .shape = to_space_shape, .compute = to_space, .host_inputs = 2,
      FY_SAMPLES(space_samples));
