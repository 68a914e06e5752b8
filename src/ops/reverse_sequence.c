// SPDX-License-Identifier: Apache-2.0
// reverse_sequence.c: ReverseSequence: the first seq_lengths[b] elements along seq_dim are reversed
// in slice b of batch_dim.

#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct sequence_job {
  fy_dtype type;
  const fy_tensor *in, *lengths;
  fy_tensor *out;
  int32_t seq, batch;
  int64_t inner;  // elements after the later of the two dims' ... after seq_dim and batch_dim both
  fy_code code;
  fy_error *err;
} sequence_job;

// Items are runs of |inner| elements: everything behind both dims.
static void copy_runs(void *arg, int64_t begin, int64_t end) {
  sequence_job *j = arg;
  const int64_t *dims = j->in->dims;
  const int32_t last = j->seq > j->batch ? j->seq : j->batch;
  for (int64_t run = begin; run < end && !j->code; run++) {
    int64_t rest = run, step = 1, from = 0, seq_step = 0, seq_at = 0, batch_at = 0;
    for (int32_t d = last; d >= 0; d--) {
      const int64_t at = rest % dims[d];
      rest /= dims[d];
      if (d == j->seq) {
        seq_at = at;
        seq_step = step;
      } else {
        from += at * step;
      }
      if (d == j->batch) batch_at = at;
      step *= dims[d];
    }
    const int64_t n = fy_tensor_int(j->lengths, batch_at);
    from += (seq_at < n ? n - 1 - seq_at : seq_at) * seq_step;
    fy_code code = fy_copy_run(j->type, j->out->data, run * j->inner, j->in->data, from * j->inner,
                               j->inner, j->err);
    if (code) j->code = code;
  }
}

static fy_code reverse(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *lengths = ctx->in[1];
  const int64_t batch = fy_site_int(ctx->site, "batch_dim"),
                seq = fy_site_int(ctx->site, "seq_dim");
  if (seq < 0 || batch < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid %s_dim %lld", seq < 0 ? "seq" : "batch",
                   (long long)(seq < 0 ? seq : batch));
  }
  if (lengths->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "seq_lengths must be 1-dim, not %d", lengths->rank);
  }
  if (batch == seq) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_dim == seq_dim == %lld", (long long)seq);
  }
  if (seq >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "seq_dim must be < input rank ( %lld vs. %d)",
                   (long long)seq, in->rank);
  }
  if (batch >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_dim must be < input rank ( %lld vs. %d)",
                   (long long)batch, in->rank);
  }
  if (lengths->count != in->dims[batch]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Length of seq_lengths != input.dims(%lld), (%lld vs. %lld)", (long long)batch,
                   (long long)lengths->count, (long long)in->dims[batch]);
  }
  for (int64_t i = 0; i < lengths->count; i++) {
    const int64_t n = fy_tensor_int(lengths, i);
    if (n < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "seq_lens(%lld) < 0", (long long)i);
    if (n > in->dims[seq]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "seq_lens(%lld) > input.dims(%lld)", (long long)i,
                     (long long)seq);
    }
  }
  sequence_job j = {.type = in->dtype,
                    .in = in,
                    .lengths = lengths,
                    .seq = (int32_t)seq,
                    .batch = (int32_t)batch,
                    .err = err};
  FY_TRY(fy_out_like(ctx, 0, in, &j.out, err));
  if (in->count == 0) return FY_OK;
  const int32_t last = j.seq > j.batch ? j.seq : j.batch;
  j.inner = fy_product(in->dims + last + 1, in->rank - last - 1);
  const int64_t runs = in->count / j.inner;
  if (fy_dtype_is_plain(in->dtype)) {
    fy_parallel(ctx, runs, 10 + 0.1 * (double)j.inner * (double)fy_dtype_storage(in->dtype),
                copy_runs, &j);
  } else {
    copy_runs(&j, 0, runs);
  }
  return j.code;
}

static fy_code reverse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (in.rank < 0) return FY_OK;
  const int64_t batch = fy_shape_attr_int(ctx, "batch_dim", 0);
  const int64_t seq = fy_shape_attr_int(ctx, "seq_dim", 0);
  if (batch >= in.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_dim must be < input rank: %lld vs. %d",
                   (long long)batch, in.rank);
  }
  if (seq >= in.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "seq_dim must be < input rank: %lld vs. %d",
                   (long long)seq, in.rank);
  }
  if (batch < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_dim must be >=0, got %lld", (long long)batch);
  }
  FY_TRY(fy_shape_unchanged(ctx, err));
  int64_t *dims = (int64_t *)(uintptr_t)ctx->out[0].dims;
  const int64_t b = batch < 0 ? batch + in.rank : batch;
  return fy_dim_merge(in.dims[b], fy_dim_of(ctx->in[1], 0), &dims[b], err);
}

static const fy_sample samples[] = {
    {"f32[2,3]=1,2,3,4,5,6; i64[2]=2,3", "seq_dim=1", FY_OK, "2,1,3,6,5,4"},
    {"s[2,2]='a','b','c','d'; i32[2]=2,0", "seq_dim=0; batch_dim=1", FY_OK, NULL},
    {"f32[2,3]=1,2,3,4,5,6; i64[2]=2,4", "seq_dim=1", FY_INVALID_ARGUMENT,
     "seq_lens(1) > input.dims(1)"},
};
FY_OP(ReverseSequence, .shape = reverse_shape, .compute = reverse, FY_SAMPLES(samples));
