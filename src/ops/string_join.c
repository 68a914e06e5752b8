// SPDX-License-Identifier: Apache-2.0
// string_join.c: ops that join many strings into one: ReduceJoin, UnsortedSegmentJoin,
// StringNGrams.

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

static void add(fy_str *s, fy_view v) {
  if (v.n) fy_str_addn(s, v.p, v.n);
}

// ---------------------------------------------------------------- ReduceJoin
typedef struct join_job {
  const fy_tensor *in;
  fy_tensor *out;
  fy_view separator;
  int64_t pieces, *offsets;  // of a result's pieces, from its first
  int32_t num_kept;
  int64_t dims[FY_MAX_RANK], steps[FY_MAX_RANK];  // that are not reduced
  atomic_size_t lacking;                          // bytes that were not to be had
} join_job;

// The sum of the lengths, or SIZE_MAX if there is no such size.
static size_t joined_size(const join_job *j, int64_t base) {
  size_t n = 0;
  if (j->pieces && !fy_mul_size((size_t)j->pieces - 1, j->separator.n, &n)) return SIZE_MAX;
  for (int64_t p = 0; p < j->pieces; p++) {
    if (!fy_add_size(n, fy_tensor_string(j->in, base + j->offsets[p]).n, &n)) return SIZE_MAX;
  }
  return n;
}

static void join_some(void *arg, int64_t begin, int64_t end) {
  join_job *j = arg;
  for (int64_t k = begin; k < end; k++) {
    int64_t base = 0, rest = k;
    for (int32_t i = j->num_kept - 1; i >= 0; i--) {
      base += rest % j->dims[i] * j->steps[i];
      rest /= j->dims[i];
    }
    const size_t n = joined_size(j, base);
    char *const text = fy_malloc(n), *to = text;
    for (int64_t p = 0; text && p < j->pieces; p++) {
      const fy_view v = fy_tensor_string(j->in, base + j->offsets[p]);
      if (p && j->separator.n)
        to = (char *)memcpy(to, j->separator.p, j->separator.n) + j->separator.n;
      if (v.n) to = (char *)memcpy(to, v.p, v.n) + v.n;
    }
    if (!text || !fy_tensor_give_string(j->out, k, text, n)) atomic_store(&j->lacking, n ? n : 1);
  }
}

static fy_code reduce_join(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *axes = ctx->in[1];
  const fy_view separator = fy_site_string(ctx->site, "separator");
  const bool keep = fy_site_bool(ctx->site, "keep_dims");
  bool reduced[FY_MAX_RANK] = {false};
  int32_t order[FY_MAX_RANK], num_axes = 0;
  for (int64_t i = 0; i < axes->count; i++) {
    int64_t axis = fy_tensor_int(axes, i);
    if (axis < -in->rank || axis >= in->rank) {
      return fy_fail(err, FY_OUT_OF_RANGE,
                     "Invalid reduction dimension %lld for input with %d dimension(s)",
                     (long long)axis, in->rank);
    }
    if (axis < 0) axis += in->rank;
    if (reduced[axis]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Duplicate reduction dimension %lld",
                     (long long)axis);
    }
    reduced[axis] = true;
    order[num_axes++] = (int32_t)axis;
  }
  int64_t dims[FY_MAX_RANK], steps[FY_MAX_RANK], run = 1, pieces = 1;
  int32_t rank = 0, kept[FY_MAX_RANK], num_kept = 0;
  for (int32_t d = in->rank - 1; d >= 0; d--) {
    steps[d] = run;
    run *= in->dims[d];
  }
  for (int32_t d = 0; d < in->rank; d++) {
    if (reduced[d]) {
      pieces *= in->dims[d];
      if (keep) dims[rank++] = 1;
    } else {
      kept[num_kept++] = d;
      dims[rank++] = in->dims[d];
    }
  }
  join_job job = {.in = in, .separator = separator, .pieces = pieces, .num_kept = num_kept};
  for (int32_t i = 0; i < num_kept; i++) {
    job.dims[i] = in->dims[kept[i]];
    job.steps[i] = steps[kept[i]];
  }
  FY_TRY(fy_out(ctx, 0, rank, dims, &job.out, err));
  if (job.out->count == 0) return FY_OK;
  const size_t bytes = (size_t)(pieces ? pieces : 1) * sizeof *job.offsets;
  job.offsets = fy_malloc(bytes);
  if (!job.offsets) return fy_fail_oom(err, bytes);
  job.offsets[0] = 0;
  int64_t known = 1;  // the axes count in the order given, the first fastest
  for (int32_t i = 0; i < num_axes && pieces; known *= in->dims[order[i++]]) {
    for (int64_t p = known; p < known * in->dims[order[i]]; p++)
      job.offsets[p] = job.offsets[p - known] + steps[order[i]];
  }
  fy_parallel(ctx, job.out->count, 60 + 25 * (double)pieces, join_some, &job);
  fy_free(job.offsets);
  const size_t lacking = atomic_load(&job.lacking);
  return lacking ? fy_fail_oom(err, lacking) : FY_OK;
}

// ---------------------------------------------------------------- UnsortedSegmentJoin
static fy_code segment_join_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0], ids = ctx->in[1];
  int64_t dims[FY_MAX_RANK + 1], n, merged;
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  if (ids.rank < 0) return FY_OK;
  if (in.rank >= 0) {
    FY_TRY(fy_shape_rank_at_least(in, ids.rank, err));
    for (int32_t d = 0; d < ids.rank; d++)
      FY_TRY(fy_dim_merge(in.dims[d], ids.dims[d], &merged, err));
  }
  FY_TRY(fy_shape_dim_from_scalar(ctx, 2, &n, err));
  if (in.rank < 0) return FY_OK;
  dims[0] = n;
  for (int32_t d = ids.rank; d < in.rank; d++) dims[1 + d - ids.rank] = in.dims[d];
  return fy_shape_set(ctx, 0, 1 + in.rank - ids.rank, dims, err);
}

static fy_code segment_join(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *ids = ctx->in[1], *num = ctx->in[2];
  const fy_view separator = fy_site_string(ctx->site, "separator");
  if (num->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Number of segments should be a scalar");
  }
  const int64_t n = fy_tensor_int(num, 0);
  if (n < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Number of segments must be non-negative but got %lld",
                   (long long)n);
  }
  if (ids->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Segment_id cannot have rank 0");
  }
  if (ids->rank > in->rank) {
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "Invalid segment_id rank %d for input with %d dimension(s)", ids->rank,
                   in->rank);
  }
  for (int32_t d = 0; d < ids->rank; d++) {
    if (ids->dims[d] == in->dims[d]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Segment dimension is %lld while input dimension is %d in rank %d",
                   (long long)ids->dims[d], in->rank, d);
  }
  for (int64_t i = 0; i < ids->count; i++) {
    const int64_t id = fy_tensor_int(ids, i);
    if (id >= 0 && id < n) continue;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "segment_ids are not allowed to exceed num_segments or to have negative values.");
  }
  int64_t dims[FY_MAX_RANK] = {n}, inner = 1;
  for (int32_t d = ids->rank; d < in->rank; d++) {
    dims[1 + d - ids->rank] = in->dims[d];
    inner *= in->dims[d];
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 1 + in->rank - ids->rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  fy_str *parts = fy_calloc((size_t)out->count, sizeof *parts);
  fy_code code = parts ? FY_OK : fy_fail_oom(err, (size_t)out->count * sizeof *parts);
  for (int64_t i = 0; !code && i < ids->count; i++) {
    const int64_t id = fy_tensor_int(ids, i);
    for (int64_t k = 0; k < inner; k++) {
      fy_str *s = &parts[id * inner + k];
      if (s->len) add(s, separator);  // not after empty strings alone
      add(s, fy_tensor_string(in, i * inner + k));
    }
  }
  for (int64_t k = 0; !code && k < out->count; k++) code = fy_text_put_str(out, k, &parts[k], err);
  for (int64_t k = 0; parts && k < out->count; k++) fy_str_free(&parts[k]);
  fy_free(parts);
  return code;
}

// ---------------------------------------------------------------- StringNGrams
static fy_code ngrams_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_set(ctx, 0, 1, (const int64_t[]){-1}, err));
  return fy_shape_set(ctx, 1, 1, ctx->in[1].dims, err);
}

static int64_t pad_of(int64_t pad_width, int64_t width) {  // -1: as many as make sense
  const int64_t most = width > 0 ? width - 1 : 0;
  return pad_width < 0 || pad_width > most ? most : pad_width;
}

static int64_t ngrams_of(int64_t length, int64_t width, int64_t pad) {
  const int64_t n = length + 2 * pad - width + 1;
  return n > 0 ? n : 0;
}

typedef struct ngram_job {
  const fy_tensor *data, *splits, *out_splits;
  fy_tensor *out;
  const fy_attr *widths;
  int64_t pad_width;
  fy_view separator, left, right;
} ngram_job;

// |width| words from position |at| of |pad| + |length| + |pad|.
static void one_ngram(const ngram_job *j, fy_str *s, int64_t begin, int64_t length, int64_t pad,
                      int64_t at, int64_t width) {
  for (int64_t i = at; i < at + width; i++) {
    if (i > at) add(s, j->separator);
    if (i < pad)
      add(s, j->left);
    else if (i < pad + length)
      add(s, fy_tensor_string(j->data, begin + i - pad));
    else
      add(s, j->right);
  }
}

// The row that the n-gram |k| is of.
static int64_t row_of_ngram(const ngram_job *j, int64_t k) {
  int64_t low = 0, high = j->out_splits->count - 1;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (fy_tensor_int(j->out_splits, middle) <= k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static fy_code put_ngram(const void *arg, int64_t k, fy_str *s, fy_error *err) {
  const ngram_job *j = arg;
  const int64_t r = row_of_ngram(j, k), begin = fy_tensor_int(j->splits, r);
  const int64_t length = fy_tensor_int(j->splits, r + 1) - begin;
  int64_t at = k - fy_tensor_int(j->out_splits, r);
  for (uint32_t w = 0; w < j->widths->n; w++) {
    const int64_t width = j->widths->v.ints[w], pad = pad_of(j->pad_width, width);
    const int64_t n = ngrams_of(length, width, pad);
    if (at < n) {
      one_ngram(j, s, begin, length, pad, at, width);
      return fy_text_put_str(j->out, k, s, err);
    }
    at -= n;
  }
  // A row too short for any: all of it.
  const int64_t pad = j->widths->n ? pad_of(j->pad_width, j->widths->v.ints[0]) : j->pad_width;
  if (pad > INT32_MAX)
    return fy_fail(err, FY_INVALID_ARGUMENT, "pad_width %lld is too large", (long long)pad);
  one_ngram(j, s, begin, length, pad, 0, length + 2 * pad);
  return fy_text_put_str(j->out, k, s, err);
}

static fy_code check_splits(const fy_tensor *data, const fy_tensor *splits, fy_error *err) {
  if (splits->count == 0) return FY_OK;
  const int64_t first = fy_tensor_int(splits, 0), last = fy_tensor_int(splits, splits->count - 1);
  if (first != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "First split value must be 0, got %d",
                   (int)(int32_t)first);
  }
  int64_t before = 0;
  for (int64_t i = 1; i < splits->count; i++) {
    const int64_t v = fy_tensor_int(splits, i);
    if (v < before) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid split value %lld, must be in [%lld, %lld]",
                     (long long)v, (long long)before, (long long)data->count);
    }
    if (v > data->count) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid split value %lld, must be in [%lld, %lld]",
                     (long long)v, (long long)before, (long long)data->count);
    }
    before = v;
  }
  if (last != data->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Last split value must be data size. Expected %lld, got %lld",
                   (long long)data->count, (long long)last);
  }
  return FY_OK;
}

static void put_split(fy_tensor *t, int64_t i, int64_t v) {
  if (t->dtype == FY_INT32)
    ((int32_t *)t->data)[i] = (int32_t)v;
  else
    ((int64_t *)t->data)[i] = v;
}

static fy_code ngrams(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *splits = ctx->in[1];
  const fy_attr *widths = fy_site_attr(ctx->site, "ngram_widths");
  const int64_t pad_width = fy_site_int(ctx->site, "pad_width");
  const bool short_too = fy_site_bool(ctx->site, "preserve_short_sequences");
  for (uint32_t w = 0; w < widths->n; w++) {
    if (widths->v.ints[w] <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "ngram_widths must contain positive values");
    }
  }
  FY_TRY(check_splits(data, splits, err));
  fy_tensor *out, *out_splits;
  FY_TRY(fy_out_like(ctx, 1, splits, &out_splits, err));
  if (data->count == 0 || splits->count == 0) {
    for (int64_t i = 0; i < splits->count; i++) put_split(out_splits, i, 0);
    return fy_out_like(ctx, 0, data, &out, err);  // empty strings, as TensorFlow has it
  }
  const bool no_widths = widths->n == 0;
  if (no_widths && short_too && pad_width < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Pad width should be >= 0 when preserve_short_sequences is True and "
                   "ngram_widths are not provided, got %lld",
                   (long long)pad_width);
  }
  put_split(out_splits, 0, 0);
  int64_t total = 0;
  for (int64_t r = 0; r + 1 < splits->count; r++) {
    const int64_t length = fy_tensor_int(splits, r + 1) - fy_tensor_int(splits, r);
    const int64_t before = total;
    for (uint32_t w = 0; w < widths->n; w++) {
      const int64_t width = widths->v.ints[w];
      const int64_t n = ngrams_of(length, width, pad_of(pad_width, width));
      if (__builtin_add_overflow(total, n, &total)) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "too many ngrams");
      }
    }
    if (short_too && total == before && length > 0) total++;
    put_split(out_splits, r + 1, total);
  }
  FY_TRY(fy_out(ctx, 0, 1, &total, &out, err));
  const ngram_job job = {.data = data,
                         .splits = splits,
                         .out_splits = out_splits,
                         .out = out,
                         .widths = widths,
                         .pad_width = pad_width,
                         .separator = fy_site_string(ctx->site, "separator"),
                         .left = fy_site_string(ctx->site, "left_pad"),
                         .right = fy_site_string(ctx->site, "right_pad")};
  return fy_text_each(ctx, total, 60, put_ngram, &job, err);
}

static const fy_sample reduce_samples[] = {
    {"s[2,2]='a','b','c','d'; i32[]=0", "separator=\".\"", FY_OK, "'a.c','b.d'"},
    {"s[2,2]='a','b','c','d'; i32[2]=0,1", NULL, FY_OK, "'acbd'"},
};
static const fy_sample segment_samples[] = {
    {"s[3]='a','b','c'; i32[3]=1,0,1; i32[]=2", "separator=\":\"", FY_OK, "'b','a:c'"}};
static const fy_sample ngram_samples[] = {
    {"s[3]='a','b','c'; i64[2]=0,3",
     "separator=\" \"; ngram_widths=[2]; left_pad=\"\"; right_pad=\"\"; pad_width=0; "
     "preserve_short_sequences=false",
     FY_OK, "'a b','b c'"}};

FY_OP(ReduceJoin, .shape = fy_shape_reduction, .compute = reduce_join, .flags = FY_OP_HOST,
      FY_SAMPLES(reduce_samples));
FY_OP(UnsortedSegmentJoin, .shape = segment_join_shape, .compute = segment_join,
      .flags = FY_OP_HOST, FY_SAMPLES(segment_samples));
FY_OP(StringNGrams, .shape = ngrams_shape, .compute = ngrams, .flags = FY_OP_HOST | FY_OP_DYNAMIC,
      FY_SAMPLES(ngram_samples));
