// SPDX-License-Identifier: Apache-2.0
// random_choice.c: random choices of what is there: Multinomial (classes by their logits) and
// RandomShuffle (rows), stateful and stateless. The same as TensorFlow's for the same seeds.

#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/vecmath.h"

typedef struct pick_job {
  const fy_tensor *logits;
  fy_tensor *out;
  fy_philox generator;
  fy_slices sums;
} pick_job;

// A row of logits becomes a running sum of weights; a uniform number, made of two of the stream,
// picks a class from it. Rows take their numbers one after the other.
static void pick_rows(void *arg, int64_t begin, int64_t end) {
  pick_job *j = arg;
  const fy_tensor *logits = j->logits;
  const int64_t classes = logits->dims[1], samples = j->out->dims[1];
  const uint64_t used = (uint64_t)begin * (uint64_t)samples * 2;
  fy_philox_singles from = {.generator = j->generator};
  fy_philox_skip(&from.generator, used / 4);
  for (uint64_t i = 0; i < used % 4; i++) (void)fy_philox_single(&from);
  double *sums = fy_slice_take(&j->sums);
  for (int64_t b = begin; b < end; b++) {
    double top = -INFINITY, total = 0;
    for (int64_t c = 0; c < classes; c++) {
      sums[c] = logits->dtype == FY_FLOAT ? (double)((const float *)logits->data)[b * classes + c]
                                          : fy_tensor_double(logits, b * classes + c);
      if (isfinite(sums[c]) && sums[c] > top) top = sums[c];
    }
    for (int64_t c = 0; c < classes; c++) sums[c] = isfinite(sums[c]) ? sums[c] - top : -INFINITY;
    fy_vec_exp_f64(sums, sums, classes, NULL);
    for (int64_t c = 0; c < classes; c++) sums[c] = total += sums[c];
    for (int64_t i = 0; i < samples; i++) {
      const uint32_t x0 = fy_philox_single(&from), x1 = fy_philox_single(&from);
      const double find = fy_bits_to_unit_double(x0, x1) * total;
      int64_t low = 0;
      for (int64_t left = classes, half; left > 0; left -= half) {
        half = left > 1 ? left / 2 : 1;
        low += half & (0 - (int64_t) !(find < sums[low + half - 1]));
      }
      fy_index_put(j->out, b * samples + i, low);
    }
  }
  fy_slice_give(&j->sums, sums);
}

static fy_code pick_classes(fy_kernel_ctx *ctx, fy_philox generator, fy_tensor *out,
                            fy_error *err) {
  const fy_tensor *logits = ctx->in[0];
  pick_job j = {.logits = logits, .out = out, .generator = generator};
  const int64_t rows = logits->dims[0], classes = logits->dims[1];
  FY_TRY(fy_slices_make(ctx, rows, (size_t)(classes + 1) * sizeof(double), &j.sums, err));
  fy_parallel(ctx, rows, 3.0 * (double)classes + 20.0 * (double)out->dims[1], pick_rows, &j);
  return FY_OK;
}

static fy_code multinomial(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *logits = ctx->in[0], *number = ctx->in[1];
  const bool stateless = ctx->site->num_inputs > 2;
  char x[128];
  fy_philox g;
  fy_tensor *out;
  if (stateless) FY_TRY(fy_random_check_seed(ctx->in[2], err));
  if (logits->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "logits should be a matrix, got shape %s",
                   fy_tensor_shape_text(logits, x));
  }
  if (number->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_samples should be a scalar, got shape %s",
                   fy_tensor_shape_text(number, x));
  }
  const int64_t samples = fy_tensor_int(number, 0), rows = logits->dims[0];
  if (samples < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_samples should be non-negative, got %lld",
                   (long long)samples);
  }
  if (logits->dims[1] <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_classes should be positive, got %lld",
                   (long long)logits->dims[1]);
  }
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){rows, samples}, &out, err));
  if (out->count == 0) return FY_OK;
  if (stateless) {
    FY_TRY(fy_random_of_seed(ctx->in[2], &g, err));
  } else {
    g = fy_random_reserve(ctx, rows * ((samples + 3) / 4 * 4) * 2);
  }
  return pick_classes(ctx, g, out, err);
}

static fy_code multinomial_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n = -1;
  if (ctx->num_inputs > 2) {
    FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
    FY_TRY(fy_dim_is(fy_dim_of(ctx->in[2], 0), 2, err));
  }
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  FY_TRY(fy_shape_dim_from_scalar(ctx, 1, &n, err));
  return fy_shape_set(ctx, 0, 2, (const int64_t[]){fy_dim_of(ctx->in[0], 0), n}, err);
}

// RandomShuffle with the site's generator, StatelessShuffle with that of its key and counter.
static fy_code shuffle(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_random_state *s = ctx->site->state;
  fy_philox_singles from = {0};
  fy_tensor *out;
  if (!s) FY_TRY(fy_random_of_key(ctx, 1, &from.generator, err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (in->count <= 1 || in->dims[0] <= 1) {
    return fy_copy_run(in->dtype, out->data, 0, in->data, 0, in->count, err);
  }
  const int64_t n = in->dims[0], run = in->count / n;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(int64_t), &memory, err));
  int64_t *order = memory;
  if (s) {
    fy_lock(&s->lock);
    from.generator = s->generator;
    fy_philox_skip(&s->generator, (uint64_t)(n - 1 + 3) / 4);
    fy_unlock(&s->lock);
  }
  for (int64_t i = 0; i < n; i++) order[i] = i;
  for (int64_t i = 0; i + 1 < n; i++) {
    const int64_t with = i + (int64_t)(fy_philox_single(&from) % (uint32_t)(n - i));
    const int64_t kept = order[i];
    order[i] = order[with];
    order[with] = kept;
  }
  for (int64_t i = 0; i < n; i++) {
    FY_TRY(fy_copy_run(in->dtype, out->data, i * run, in->data, order[i] * run, run, err));
  }
  return FY_OK;
}

static const fy_sample multinomial_samples[] = {
    {"f32[1,2]=-inf,0; i32[]=3", "seed=1", FY_OK, "1,1,1"},
    {"f32[2]=-inf,0; i32[]=3", "seed=1", FY_INVALID_ARGUMENT, "logits should be a matrix"},
};
static const fy_sample stateless_multinomial_samples[] = {
    {"f32[1,2]=-inf,0; i32[]=3; i64[2]=1,2", NULL, FY_OK, "1,1,1"},
};
static const fy_sample shuffle_samples[] = {{"f32[5,2]=iota", "seed=1; seed2=2", FY_OK, NULL}};
static const fy_sample stateless_shuffle_samples[] = {
    {"f32[5,2]=iota; u64[1]=7; u64[2]=1,2; i32[]=1", NULL, FY_OK, NULL},
};

FY_OP(Multinomial, .shape = multinomial_shape, .prepare = fy_random_prepare, .compute = multinomial,
      .release = fy_random_release, .host_inputs = 1 << 1, FY_SAMPLES(multinomial_samples));
FY_OP(StatelessMultinomial, .shape = multinomial_shape, .compute = multinomial, .host_inputs = 0x6,
      FY_SAMPLES(stateless_multinomial_samples));
FY_OP(RandomShuffle, .shape = fy_shape_unchanged, .prepare = fy_random_prepare, .compute = shuffle,
      .release = fy_random_release, FY_SAMPLES(shuffle_samples));
FY_OP(StatelessShuffle, .shape = fy_shape_unchanged, .compute = shuffle, .host_inputs = 0xE,
      FY_SAMPLES(stateless_shuffle_samples));
