// SPDX-License-Identifier: Apache-2.0
// dynamic.c: moving slices about: DynamicPartition, DynamicStitch, ParallelDynamicStitch, Roll,
// Reverse; and Cross, the product of 3-element vectors.

#include "ops/scatter.h"
#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- DynamicPartition
#define PIECE_ROWS  4096
#define MOST_PIECES 16

typedef struct partition_job {
  fy_kernel_ctx *ctx;
  const fy_tensor *data;
  const int32_t *parts;
  int64_t *next;  // [pieces, outputs] row of the output that comes next
  int64_t piece, rows, run;
  int n;
  fy_code code;  // of objects and strings, which are copied on one thread
  fy_error *err;
} partition_job;

static void move_pieces(void *arg, int64_t begin, int64_t end) {
  partition_job *j = arg;
  const size_t bytes = (size_t)j->run * fy_dtype_storage(j->data->dtype);
  const bool plain = fy_dtype_is_plain(j->data->dtype);
  const int64_t last = end * j->piece < j->rows ? end * j->piece : j->rows;
  for (int64_t i = begin * j->piece; i < last && !j->code; i++) {
    const int32_t p = j->parts[i];
    const int64_t to = j->next[i / j->piece * j->n + p]++;
    char *out = j->ctx->out[p]->data;
    if (plain && bytes)
      memcpy(out + (size_t)to * bytes, (const char *)j->data->data + (size_t)i * bytes, bytes);
    else
      j->code =
          fy_copy_run(j->data->dtype, out, to * j->run, j->data->data, i * j->run, j->run, j->err);
  }
}

static fy_code dynamic_partition(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *parts = ctx->in[1];
  const int n = ctx->site->num_outputs;
  char x[128], y[128];
  if (data->rank < parts->rank ||
      !fy_shape_equal(parts->rank, parts->dims, parts->rank, data->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "data.shape must start with partitions.shape, got data.shape = %s, "
                   "partitions.shape = %s",
                   fy_tensor_shape_text(data, x), fy_tensor_shape_text(parts, y));
  }
  // The rows in pieces for the threads; of each is counted what goes where.
  const int64_t pieces = n > 1024 || parts->count < 2 * PIECE_ROWS ? 1 : MOST_PIECES;
  const int64_t piece = (parts->count + pieces - 1) / pieces;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * (size_t)pieces * sizeof(int64_t), &memory, err));
  int64_t *count = memory;
  memset(count, 0, (size_t)n * (size_t)pieces * sizeof *count);
  for (int64_t i = 0; i < parts->count; i++) {
    const int32_t p = ((const int32_t *)parts->data)[i];
    if ((uint32_t)p >= (uint32_t)n) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "partitions%s = %d is not in [0, %d)",
                     fy_place_text(parts->rank, parts->dims, i, x), p, n);
    }
    count[i / piece * n + p]++;
  }
  int64_t dims[FY_MAX_RANK + 1];
  int32_t rank = 1;
  for (int32_t d = parts->rank; d < data->rank; d++) dims[rank++] = data->dims[d];
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  const int64_t run = fy_product(dims + 1, rank - 1);
  for (int i = 0; i < n; i++) {
    fy_tensor *out;
    dims[0] = 0;
    for (int64_t k = 0; k < pieces; k++) {  // from how many to where they start
      const int64_t here = count[k * n + i];
      count[k * n + i] = dims[0];
      dims[0] += here;
    }
    FY_TRY(fy_out(ctx, i, rank, dims, &out, err));
  }
  partition_job j = {ctx, data, parts->data, count, piece, parts->count, run, n, FY_OK, err};
  const double ns = (double)piece * (5 + 0.1 * (double)run * (double)fy_dtype_storage(data->dtype));
  if (fy_dtype_is_plain(data->dtype))
    fy_parallel(ctx, pieces, ns, move_pieces, &j);
  else
    move_pieces(&j, 0, pieces);
  return j.code;
}

static fy_code dynamic_partition_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape data = ctx->in[0], parts = ctx->in[1];
  int64_t dims[FY_MAX_RANK + 1], merged;
  int32_t rank = 1;
  if (data.rank < 0 || parts.rank < 0) return FY_OK;
  FY_TRY(fy_shape_rank_at_least(data, parts.rank, err));
  for (int32_t d = 0; d < parts.rank; d++) {
    FY_TRY(fy_dim_merge(data.dims[d], parts.dims[d], &merged, err));
  }
  dims[0] = -1;
  for (int32_t d = parts.rank; d < data.rank; d++) dims[rank++] = data.dims[d];
  for (int i = 0; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, rank, dims, err));
  return FY_OK;
}

// ---------------------------------------------------------------- DynamicStitch
static fy_code check_stitch(const fy_kernel_ctx *ctx, int n, int64_t *rows, fy_error *err) {
  const fy_tensor *i0 = ctx->in[0], *d0 = ctx->in[n];
  char x[128], y[128], z[128], w[128];
  int64_t last = -1;
  for (int i = 0; i < n; i++) {
    const fy_tensor *index = ctx->in[i], *data = ctx->in[n + i];
    for (int64_t k = 0; k < index->count; k++) {
      const int32_t at = ((const int32_t *)index->data)[k];
      last = at > last ? at : last;
    }
    if (data->rank < index->rank ||
        !fy_shape_equal(index->rank, index->dims, index->rank, data->dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "data[%d].shape = %s does not start with indices[%d].shape = %s", i,
                     fy_tensor_shape_text(data, x), i, fy_tensor_shape_text(index, y));
    }
    if (!fy_shape_equal(d0->rank - i0->rank, d0->dims + i0->rank, data->rank - index->rank,
                        data->dims + index->rank)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Need data[0].shape[%d:] = data[%d].shape[%d:], got data[0].shape = %s, "
                     "data[%d].shape = %s, indices[0].shape = %s, indices[%d].shape = %s",
                     i0->rank, i, index->rank, fy_tensor_shape_text(d0, x), i,
                     fy_tensor_shape_text(data, y), fy_tensor_shape_text(i0, z), i,
                     fy_tensor_shape_text(index, w));
    }
  }
  if (last == INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   -(long long)last - 1);
  }
  *rows = last + 1;
  return FY_OK;
}

static fy_code dynamic_stitch(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_inputs / 2;
  const fy_tensor *i0 = ctx->in[0], *d0 = ctx->in[n];
  int64_t rows = 0, dims[FY_MAX_RANK + 1];
  int32_t rank = 1;
  fy_tensor *out;
  FY_TRY(check_stitch(ctx, n, &rows, err));
  dims[0] = rows;
  for (int32_t d = i0->rank; d < d0->rank; d++) dims[rank++] = d0->dims[d];
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  const int64_t run = fy_product(dims + 1, rank - 1);
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  // Rows that no index names are zeros here; TensorFlow leaves them as they come.
  if (out->count && fy_dtype_is_plain(out->dtype)) memset(out->data, 0, fy_tensor_bytes(out));
  for (int i = 0; i < n; i++) {
    const fy_tensor *index = ctx->in[i], *data = ctx->in[n + i];
    for (int64_t k = 0; k < index->count; k++) {
      const int32_t at = ((const int32_t *)index->data)[k];
      if (at < 0 || at >= rows) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "indices[%lld] is out of range", (long long)k);
      }
      FY_TRY(fy_copy_run(out->dtype, out->data, at * run, data->data, k * run, run, err));
    }
  }
  return FY_OK;
}

static fy_code dynamic_stitch_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int n = ctx->num_inputs / 2;
  fy_pshape rest = FY_UNKNOWN_SHAPE;
  int64_t rows = 0, dims[FY_MAX_RANK + 1], merged;
  for (int i = 0; i < n; i++) {
    const fy_pshape index = ctx->in[i], data = ctx->in[n + i];
    const fy_tensor *value = fy_shape_tensor(ctx, i);
    for (int64_t k = 0; value && k < value->count; k++) {
      const int64_t at = fy_tensor_int(value, k);
      if (rows >= 0 && at >= rows) rows = at + 1;
    }
    if (!value) rows = -1;
    if (index.rank < 0 || data.rank < 0) continue;
    FY_TRY(fy_shape_rank_at_least(data, index.rank, err));
    for (int32_t d = 0; d < index.rank; d++) {
      FY_TRY(fy_dim_merge(data.dims[d], index.dims[d], &merged, err));
    }
    const fy_pshape tail = {data.rank - index.rank, data.dims + index.rank};
    FY_TRY(fy_shape_merge(ctx, rest, tail, &rest, err));
  }
  if (rest.rank < 0) return FY_OK;
  dims[0] = rows;
  for (int32_t d = 0; d < rest.rank; d++) dims[d + 1] = rest.dims[d];
  return fy_shape_set(ctx, 0, rest.rank + 1, dims, err);
}

// ---------------------------------------------------------------- Roll, Reverse
// out[i] = in[(i - shift) mod dims], by runs of the last dim.
typedef struct permute_job {
  const fy_tensor *in;
  fy_tensor *out;
  const int64_t *shift;
  fy_code code;  // of strings, which are copied on one thread
  fy_error *err;
} permute_job;

// Copies of rows that move by a few bytes: what libc does for long ones (rep movs) is several times
// slower on some machines when both ends lie that close modulo a page.
static void copy_moved(char *restrict to, const char *restrict from, size_t n) {
  for (; n >= 32; n -= 32, to += 32, from += 32) {
    memcpy(to, from, 32);
    __asm__ volatile("");  // or the compiler calls memcpy
  }
  memcpy(to, from, n);
}

static fy_code permute_row(const permute_job *j, int64_t row) {
  const fy_tensor *in = j->in;
  const int32_t last = in->rank - 1;
  const int64_t n = in->dims[last], base = row * n;
  int64_t from = 0, step = n;
  for (int32_t d = last - 1; d >= 0; d--) {
    const int64_t size = in->dims[d], at = row % size;
    from += (at - j->shift[d] + size) % size * step;
    row /= size;
    step *= size;
  }
  const int64_t s = j->shift[last];
  if (s && fy_dtype_is_plain(in->dtype)) {
    const size_t size = fy_dtype_storage(in->dtype);
    const char *row_in = (const char *)in->data + (size_t)from * size;
    char *row_out = (char *)j->out->data + (size_t)base * size;
    copy_moved(row_out + (size_t)s * size, row_in, (size_t)(n - s) * size);
    copy_moved(row_out, row_in + (size_t)(n - s) * size, (size_t)s * size);
    return FY_OK;
  }
  FY_TRY(fy_copy_run(in->dtype, j->out->data, base + s, in->data, from, n - s, j->err));
  return fy_copy_run(in->dtype, j->out->data, base, in->data, from + n - s, s, j->err);
}
static void permute_range(void *arg, int64_t begin, int64_t end) {
  permute_job *j = arg;
  for (int64_t row = begin; row < end; row++) {
    fy_code code = permute_row(j, row);
    if (code) {
      j->code = code;
      return;
    }
  }
}
static fy_code permute_rows(fy_kernel_ctx *ctx, const fy_tensor *in, fy_tensor *out,
                            const int64_t *shift, fy_error *err) {
  permute_job j = {.in = in, .out = out, .shift = shift, .err = err};
  const int64_t n = in->dims[in->rank - 1], rows = in->count / n;
  if (fy_dtype_is_plain(in->dtype))
    fy_parallel(ctx, rows, 10 + 0.3 * (double)n, permute_range, &j);
  else
    permute_range(&j, 0, rows);
  return j.code;
}

static fy_code roll(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *shift = ctx->in[1], *axis = ctx->in[2];
  int64_t shifts[FY_MAX_RANK] = {0};
  char x[128];
  fy_tensor *out;
  if (in->rank < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 1-D or higher");
  for (int i = 1; i < 3; i++) {
    if (ctx->in[i]->rank <= 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar or a 1-D vector. Found: %s",
                   i == 1 ? "shift" : "axis", fy_tensor_shape_text(ctx->in[i], x));
  }
  if (!fy_shape_equal(shift->rank, shift->dims, axis->rank, axis->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shift and axis must have the same size");
  }
  for (int64_t i = 0; i < shift->count; i++) {
    int64_t a = fy_tensor_int(axis, i);
    if (a < 0) a += in->rank;
    if (a < 0 || a >= in->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "axis %lld is out of range", (long long)a);
    }
    const int64_t size = in->dims[a] > 0 ? in->dims[a] : 1;
    shifts[a] = ((shifts[a] + fy_tensor_int(shift, i) % size) % size + size) % size;
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  return in->count ? permute_rows(ctx, in, out, shifts, err) : FY_OK;
}

static fy_code reverse(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *dims = ctx->in[1];
  int64_t strides[FY_MAX_RANK], offset = 0;
  fy_tensor *out;
  if (in->rank == 0) return fy_out_alias(ctx, 0, 0, 0, NULL, err);
  if (dims->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "'dims' must be 1-dimension, not %d", dims->rank);
  }
  if (dims->count != in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "'dims' must have the same number of values as 'input' has dimensions. 'input' "
                   "has %d'dims' has %lld values",
                   in->rank, (long long)dims->count);
  }
  if (in->rank > 8) {
    return fy_fail(err, FY_UNIMPLEMENTED, "reverse is not implemented for tensors of rank > 8");
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (in->count == 0) return FY_OK;
  fy_dense_strides(in->rank, in->dims, strides);
  for (int32_t d = 0; d < in->rank; d++) {
    if (!((const bool *)dims->data)[d]) continue;
    offset += (in->dims[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return fy_strided_copy(ctx, out, in, in->rank, in->dims, strides, offset, err);
}

static fy_code roll_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged;
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_at_most(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_at_most(ctx->in[2], 1, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[1], ctx->in[2], &merged, err));
  return fy_shape_unchanged(ctx, err);
}
static fy_code reverse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0], dims = ctx->in[1];
  FY_TRY(fy_shape_rank_is(dims, 1, err));
  if (dims.rank == 1 && dims.dims[0] > 8) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "reverse does not work on tensors with more than 8 dimensions");
  }
  if (dims.rank == 1 && dims.dims[0] >= 0) {
    if (in.rank >= 0) FY_TRY(fy_shape_rank_is(in, (int32_t)dims.dims[0], err));
    if (in.rank < 0) return fy_shape_set(ctx, 0, (int32_t)dims.dims[0], NULL, err);
  }
  return fy_shape_unchanged(ctx, err);
}

// ---------------------------------------------------------------- Cross
#define MINUS_REAL(S, a, b, c, d) (FY_RD_##S((a) * (b)) - FY_RD_##S((c) * (d)))
#define MINUS_INT(S, a, b, c, d)  ((fy_u_##S)(a) * (fy_u_##S)(b) - (fy_u_##S)(c) * (fy_u_##S)(d))
#define CROSS(E, S, MINUS)                                                                     \
  static void cross_##S(const void *pa, const void *pb, void *po, int64_t n) {                 \
    const fy_t_##S *a = pa, *b = pb;                                                           \
    fy_t_##S *o = po;                                                                          \
    for (int64_t i = 0; i < n; i += 3) {                                                       \
      const fy_a_##S a0 = FY_LD_##S(a[i]), a1 = FY_LD_##S(a[i + 1]), a2 = FY_LD_##S(a[i + 2]), \
                     b0 = FY_LD_##S(b[i]), b1 = FY_LD_##S(b[i + 1]), b2 = FY_LD_##S(b[i + 2]); \
      o[i] = FY_ST_##S(MINUS(S, a1, b2, a2, b1));                                              \
      o[i + 1] = FY_ST_##S(MINUS(S, a2, b0, a0, b2));                                          \
      o[i + 2] = FY_ST_##S(MINUS(S, a0, b1, a1, b0));                                          \
    }                                                                                          \
  }
FY_REAL_TYPES(CROSS, MINUS_REAL)
FY_INT_TYPES(CROSS, MINUS_INT)
typedef void (*cross_fn)(const void *a, const void *b, void *out, int64_t n);
static const cross_fn crosses[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, cross)};

static fy_code cross(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  char x[128], y[128];
  fy_tensor *out;
  if (!fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Both inputs must be of same shape: %s vs. %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  if (a->rank < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be at least 1D[]");
  if (a->dims[a->rank - 1] != 3) {
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "Cross-products are only defined for 3-element vectors.");
  }
  if (!crosses[a->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Cross has no loop for %s", fy_dtype_name(a->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, a, &out, err));
  crosses[a->dtype](a->data, b->data, out->data, a->count);
  return FY_OK;
}

static fy_code cross_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged;
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_at_least(ctx->in[1], 1, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &merged, err));
  if (merged.rank > 0 && merged.dims[merged.rank - 1] >= 0 && merged.dims[merged.rank - 1] != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be 3 but is %lld",
                   (long long)merged.dims[merged.rank - 1]);
  }
  return fy_shape_set(ctx, 0, merged.rank, merged.dims, err);
}

static const fy_sample partition_samples[] = {
    {"f32[3,2]=iota; i32[3]=1,0,1", "num_partitions=2", FY_OK, "2,3"},
    {"f32[1]=iota; i32[1]=2", "num_partitions=2", FY_INVALID_ARGUMENT,
     "partitions[0] = 2 is not in [0, 2)"},
};
static const fy_sample stitch_samples[] = {
    {"i32[2]=2,0; i32[]=1; f32[2]=5,6; f32[]=7", "N=2; T=float", FY_OK, "6,7,5"},
    {"i32[1]=-1; f32[1]=5", "N=1; T=float", FY_INVALID_ARGUMENT, "indices[0] is out of range"},
};
static const fy_sample roll_samples[] = {
    {"i32[2,3]=iota; i32[2]=1,-1; i32[2]=0,1", NULL, FY_OK, "4,5,3,1,2,0"},
    {"i32[2]=iota; i32[]=1; i32[]=1", NULL, FY_INVALID_ARGUMENT, "axis 1 is out of range"},
};
static const fy_sample reverse_samples[] = {
    {"i32[2,2]=iota; b[2]=true,false", NULL, FY_OK, "2,3,0,1"},
    {"i32[2,2]=iota; b[1]=true", NULL, FY_INVALID_ARGUMENT, "'dims' must have the same number"},
};
static const fy_sample cross_samples[] = {
    {"f32[3]=1,0,0; f32[3]=0,1,0", NULL, FY_OK, "0,0,1"},
    {"f32[2]=1,0; f32[2]=0,1", NULL, FY_FAILED_PRECONDITION, "3-element vectors"},
};

FY_OP(DynamicPartition, .shape = dynamic_partition_shape, .compute = dynamic_partition,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(partition_samples));
FY_OP(DynamicStitch, .shape = dynamic_stitch_shape, .compute = dynamic_stitch,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(stitch_samples));
FY_OP(ParallelDynamicStitch, .shape = dynamic_stitch_shape, .compute = dynamic_stitch,
      .flags = FY_OP_DYNAMIC, FY_SAMPLES(stitch_samples));
FY_OP(Roll, .shape = roll_shape, .compute = roll, .host_inputs = 0x6, FY_SAMPLES(roll_samples));
FY_OP(Reverse, .shape = reverse_shape, .compute = reverse, .host_inputs = 0x2,
      FY_SAMPLES(reverse_samples));
FY_OP(Cross, .shape = cross_shape, .compute = cross, FY_SAMPLES(cross_samples));
