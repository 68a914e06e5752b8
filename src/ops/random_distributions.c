// SPDX-License-Identifier: Apache-2.0
// random_distributions.c: RandomGamma, RandomPoisson, their stateless forms and binomials. The same
// numbers as TensorFlow's for the same seeds.
//
// A value draws as many numbers as its rejections need, from a part of the generator of its own: the
// values of the first parameter come first, then those of the second, although the output has the
// parameters innermost.

#include "ops/broadcast.h"
#include "ops/random.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// A block gives two doubles; the second is used first.
typedef struct doubles {
  double value[2];
  int left;
} doubles;

static double next_uniform(fy_philox *g, doubles *d) {
  if (d->left == 0) {
    uint32_t x[4];
    fy_philox_next(g, x);
    d->value[0] = fy_bits_to_unit_double(x[0], x[1]);
    d->value[1] = fy_bits_to_unit_double(x[2], x[3]);
    d->left = 2;
  }
  return d->value[--d->left];
}
static double next_normal(fy_philox *g, doubles *d) {
  if (d->left == 0) {
    uint32_t x[4];
    fy_philox_next(g, x);
    fy_normal_double(x, &d->value[0], &d->value[1]);
    d->left = 2;
  }
  return d->value[--d->left];
}
static double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// ---------------------------------------------------------------- samplers of one value
// Marsaglia and Tsang; below 1 by way of alpha + 1.
static double gamma_value(fy_philox g, double alpha) {
  doubles normals = {.left = 0}, uniforms = {.left = 0};
  if (alpha == 1) return -log1p(-next_uniform(&g, &uniforms));
  const bool small = alpha < 1;
  const double d = alpha + (small ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
  if (!(d > 0)) return NAN;
  for (;;) {
    const double x = next_normal(&g, &normals);
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = next_uniform(&g, &uniforms);
    if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v))) {
      const double result = d * v;
      return small ? result * pow(next_uniform(&g, &uniforms), 1 / alpha) : result;
    }
  }
}

// Knuth's product of uniforms below a rate of 10, Hormann's transformed rejection from there on.
static double poisson_value(fy_philox g, double rate) {
  doubles uniforms = {.left = 0};
  if (rate != rate) return NAN;
  if (rate < 0) return 0;
  if (isinf(rate)) return rate;
  if (rate < 10) {
    const double limit = exp(-rate);
    double product = 1, x = 0;
    for (;; x += 1) {
      product *= next_uniform(&g, &uniforms);
      if (product <= limit) return x;
    }
  }
  const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const double u = next_uniform(&g, &uniforms) - 0.5, v = next_uniform(&g, &uniforms);
    const double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (log(v * inverse / (a / (us * us) + b)) <= -rate + k * log_rate - log_gamma(k + 1)) return k;
  }
}

static double stirling_tail(double k) {
  static const double tail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                0.00833056343336287};
  if (k <= 9) return tail[(int)k];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Transformed rejection (BTRS), for a mean of at least 10.
static double binomial_large(fy_philox g, double count, double p) {
  doubles uniforms = {.left = 0};
  const double deviation = sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, v_r = 0.92 - 4.2 / b;
  const double r = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation;
  const double m = floor((count + 1) * p);
  for (;;) {
    double u = next_uniform(&g, &uniforms);
    const double v = next_uniform(&g, &uniforms);
    u -= 0.5;
    const double us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > count) continue;
    const double bound = (m + 0.5) * log((m + 1) / (r * (count - m + 1))) +
                         (count + 1) * log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                         stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
    if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

// Geometric waiting times until they exceed the count.
static double binomial_small(fy_philox g, double count, double p) {
  doubles uniforms = {.left = 0};
  double sum = 0;
  for (int n = 0;; n++) {
    sum += ceil(log(next_uniform(&g, &uniforms)) / log1p(-p));
    if (sum > count) return n;
  }
}

// |type| is that of the parameters: the choice of method rounds as it does.
static double rounded(fy_dtype type, double x) {
  if (type == FY_HALF) return (double)fy_ld_half(fy_st_half((float)x));
  return type == FY_FLOAT ? (double)(float)x : x;
}
static double binomial_value(fy_philox g, int64_t index, double count, double p, fy_dtype type) {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p != p) return NAN;
  const bool flip = p > 0.5;
  const double q = flip ? rounded(type, 1 - p) : p;
  const bool large = rounded(type, count * q) >= 10;
  fy_philox_skip(&g, (uint64_t)index * (large ? 256u : 42u));
  const double k = large ? binomial_large(g, count, q) : binomial_small(g, count, q);
  return flip ? count - k : k;
}

// ---------------------------------------------------------------- filling a tensor
typedef enum which { GAMMA, POISSON, BINOMIAL } which;
typedef struct values_job {
  which kind;
  fy_philox generator;
  const fy_tensor *first, *second;  // parameters
  const int64_t *first_index, *second_index;
  int64_t parameters, samples;
  fy_tensor *out;
} values_job;

static void store(fy_tensor *t, int64_t i, double x) {
  switch (t->dtype) {
    case FY_HALF: ((uint16_t *)t->data)[i] = fy_st_half((float)x); break;
    case FY_BFLOAT16: ((uint16_t *)t->data)[i] = fy_float_to_bfloat16((float)x); break;
    case FY_FLOAT: ((float *)t->data)[i] = (float)x; break;
    case FY_DOUBLE: ((double *)t->data)[i] = x; break;
    case FY_INT32:
      ((int32_t *)t->data)[i] = x >= -0x1p31 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
      break;
    default: ((int64_t *)t->data)[i] = x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; break;
  }
}

static void fill_values(void *arg, int64_t begin, int64_t end) {
  const values_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int64_t parameter = i / j->samples, sample = i % j->samples;
    const double x =
        fy_tensor_double(j->first, j->first_index ? j->first_index[parameter] : parameter);
    double value;
    fy_philox g = j->generator;
    if (j->kind == BINOMIAL) {
      const double p = fy_tensor_double(j->second, j->second_index[parameter]);
      value = binomial_value(g, i, x, p, j->first->dtype);
    } else {
      fy_philox_skip(&g, (uint64_t)i * FY_RANDOM_RESERVED);
      value = j->kind == GAMMA ? gamma_value(g, x) : poisson_value(g, x);
      // The NaN of a type without one is 0, and so is the infinity.
      if (j->kind == POISSON && isnan(value) && !fy_dtype_is_floating(j->first->dtype)) value = 0;
      if (j->kind == POISSON && isinf(value) && !fy_dtype_is_floating(j->out->dtype)) value = 0;
    }
    store(j->out, sample * j->parameters + parameter, value);
  }
}

static void run_values(fy_kernel_ctx *ctx, values_job *job) {
  fy_parallel(ctx, job->parameters * job->samples, 150, fill_values, job);
}

// ---------------------------------------------------------------- output: samples, then parameters
static fy_code stateful(fy_kernel_ctx *ctx, which kind, fy_error *err) {
  const fy_tensor *shape = ctx->in[0], *p = ctx->in[1];
  fy_tensor *out;
  char x[128];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  if (shape->rank == 0 && kind == GAMMA) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "shape must be a vector of {int32,int64}, got shape: Tensor<type: %s shape: [] "
                   "values: %lld>",
                   fy_dtype_name(shape->dtype), (long long)fy_tensor_int(shape, 0));
  }
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "shape must be a vector of {int32,int64}, got shape %s",
                   fy_tensor_shape_text(shape, x));
  }
  FY_TRY(fy_value_shape(shape, &rank, dims, err));
  const int64_t samples = fy_product(dims, rank);
  if (rank + p->rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  for (int32_t d = 0; d < p->rank; d++) dims[rank++] = p->dims[d];
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  values_job job = {.kind = kind,
                    .first = p,
                    .parameters = p->count,
                    .samples = samples,
                    .out = out,
                    .generator = fy_random_reserve(ctx, out->count)};
  run_values(ctx, &job);
  return FY_OK;
}
static fy_code gamma_stateful(fy_kernel_ctx *ctx, fy_error *err) {
  return stateful(ctx, GAMMA, err);
}
static fy_code poisson_stateful(fy_kernel_ctx *ctx, fy_error *err) {
  return stateful(ctx, POISSON, err);
}

static bool ends_with(int32_t rank, const int64_t *dims, int32_t tail, const int64_t *tail_dims) {
  return rank >= tail && fy_shape_equal(tail, dims + rank - tail, tail, tail_dims);
}

// Input 1 is a seed, or inputs 1 to 3 key, counter and algorithm. The order of the checks is
// TensorFlow's: an algorithm that does not exist is only noticed when there is something to draw.
static fy_code stateless(fy_kernel_ctx *ctx, which kind, bool keyed, fy_error *err) {
  const fy_tensor *p = ctx->in[keyed ? 4 : 2];
  values_job job = {.kind = kind, .first = p, .parameters = p->count};
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  if (keyed) FY_TRY(fy_random_check_key(ctx, 1, err));
  FY_TRY(fy_value_shape(ctx->in[0], &rank, dims, err));
  if (!keyed) FY_TRY(fy_random_of_seed(ctx->in[1], &job.generator, err));
  FY_TRY(fy_out(ctx, 0, rank, dims, &job.out, err));
  if (job.out->count == 0) return FY_OK;
  if (!ends_with(rank, dims, p->rank, p->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape passed in must end with broadcasted shape.");
  }
  if (keyed) FY_TRY(fy_random_of_key(ctx, 1, &job.generator, err));
  job.samples = job.out->count / p->count;
  run_values(ctx, &job);
  return FY_OK;
}
static fy_code gamma_seeded(fy_kernel_ctx *ctx, fy_error *err) {
  return stateless(ctx, GAMMA, false, err);
}
static fy_code gamma_keyed(fy_kernel_ctx *ctx, fy_error *err) {
  return stateless(ctx, GAMMA, true, err);
}
static fy_code poisson_seeded(fy_kernel_ctx *ctx, fy_error *err) {
  return stateless(ctx, POISSON, false, err);
}

// ---------------------------------------------------------------- binomials
typedef struct pairs {
  int64_t *first, *second, strides[2];
} pairs;
static void put_pairs(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  const pairs *p = arg;
  for (int64_t i = 0; i < n; i++) {
    p->first[out_at + i] = at[0] + i * p->strides[0];
    p->second[out_at + i] = at[1] + i * p->strides[1];
  }
}

// |parameter| is the input that holds the counts, the one after it the probabilities.
static fy_code binomial(fy_kernel_ctx *ctx, int shape_input, int parameter, fy_bcast *bc,
                        values_job *job, fy_error *err) {
  const fy_tensor *shape = ctx->in[shape_input];
  const fy_tensor *const p[2] = {ctx->in[parameter], ctx->in[parameter + 1]};
  char x[128], y[128];
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  if (fy_bcast_init(bc, 2, p, NULL)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "counts and probs must have compatible batch dimensions: %s vs. %s",
                   fy_tensor_shape_text(p[0], x), fy_tensor_shape_text(p[1], y));
  }
  if (shape->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape should be a vector, got shape: %s",
                   fy_tensor_shape_text(shape, x));
  }
  FY_TRY(fy_value_shape(shape, &rank, dims, err));
  if (!ends_with(rank, dims, bc->out_rank, bc->out_dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape passed in must end with broadcasted shape.");
  }
  FY_TRY(fy_out(ctx, 0, rank, dims, &job->out, err));
  job->kind = BINOMIAL;
  job->first = p[0];
  job->second = p[1];
  job->parameters = bc->count;
  job->samples = fy_product(dims, rank - bc->out_rank);
  if (job->out->count == 0) return FY_OK;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)bc->count * 2 * sizeof(int64_t), &memory, err));
  pairs indices = {
      memory, (int64_t *)memory + bc->count, {bc->inner_stride[0], bc->inner_stride[1]}};
  fy_bcast_rows(bc, 0, bc->count, put_pairs, &indices);
  job->first_index = indices.first;
  job->second_index = indices.second;
  return FY_OK;
}

static fy_code binomial_stateless(fy_kernel_ctx *ctx, fy_error *err) {
  values_job job = {0};
  fy_bcast bc;
  FY_TRY(fy_random_of_seed(ctx->in[1], &job.generator, err));
  FY_TRY(binomial(ctx, 0, 2, &bc, &job, err));
  if (job.out->count) run_values(ctx, &job);
  return FY_OK;
}

static fy_code binomial_stateful(fy_kernel_ctx *ctx, fy_error *err) {
  values_job job = {0};
  fy_bcast bc;
  FY_TRY(binomial(ctx, 2, 3, &bc, &job, err));
  const int64_t used = job.parameters * 2 * 100 * (job.samples + 3) / 4;
  FY_TRY(fy_random_of_resource(ctx, 0, 1, (uint64_t)used, &job.generator, err));
  if (job.out->count) run_values(ctx, &job);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code appended_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_from_input(ctx, 0, &s, err));
  const fy_pshape p = ctx->in[1];
  if (s.rank < 0 || p.rank < 0 || s.rank + p.rank > FY_MAX_RANK) return FY_OK;
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d < s.rank; d++) dims[d] = s.dims[d];
  for (int32_t d = 0; d < p.rank; d++) dims[s.rank + d] = p.dims[d];
  return fy_shape_set(ctx, 0, s.rank + p.rank, dims, err);
}
static fy_code seeded_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (ctx->in[1].rank == 1) FY_TRY(fy_dim_is(ctx->in[1].dims[0], 2, err));
  return fy_shape_from_first(ctx, err);
}
static fy_code keyed_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 0), 1, err));
  return fy_shape_from_first(ctx, err);
}
static fy_code third_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_shape_from_input(ctx, 2, &s, err));
  return s.rank < 0 ? FY_OK : fy_shape_set(ctx, 0, s.rank, s.dims, err);
}

static const fy_sample gamma_samples[] = {
    {"i32[1]=5; f32[2]=0.5,3", "seed=1; seed2=2", FY_OK, NULL},
    {"i32[]=5; f32[2]=0.5,3", "seed=1", FY_INVALID_ARGUMENT, "shape must be a vector"},
};
static const fy_sample poisson_samples[] = {
    {"i32[1]=3; f64[]=0", "seed=1", FY_OK, "0,0,0"},
    {"i64[1]=3; f32[2]=3,30", "seed=1; dtype=float", FY_OK, NULL},
};
static const fy_sample old_poisson_samples[] = {{"i32[1]=3; f32[]=0", "seed=1", FY_OK, "0,0,0"}};
static const fy_sample seeded_samples[] = {
    {"i32[2]=5,2; i64[2]=1,2; f32[2]=0.5,3", NULL, FY_OK, NULL},
    {"i32[2]=5,2; i64[2]=1,2; f32[3]=1,2,3", NULL, FY_INVALID_ARGUMENT,
     "Shape passed in must end with broadcasted shape."},
};
static const fy_sample keyed_samples[] = {
    {"i32[2]=5,2; u64[1]=1; u64[2]=1,2; i32[]=1; f32[2]=0.5,3", NULL, FY_OK, NULL},
};
static const fy_sample seeded_poisson_samples[] = {
    {"i32[2]=5,2; i64[2]=1,2; f32[2]=0.5,30", "dtype=int32", FY_OK, NULL},
};
static const fy_sample binomial_samples[] = {
    {"i32[2]=2,2; i64[2]=1,2; f64[2]=5,50; f64[2]=1,1", NULL, FY_OK, "5,50,5,50"},
};

FY_OP(RandomGamma, .shape = appended_shape, .prepare = fy_random_prepare, .compute = gamma_stateful,
      .release = fy_random_release, .host_inputs = 1, FY_SAMPLES(gamma_samples));
FY_OP(RandomPoisson, .shape = appended_shape, .prepare = fy_random_prepare,
      .compute = poisson_stateful, .release = fy_random_release, .host_inputs = 1,
      FY_SAMPLES(old_poisson_samples));
FY_OP(RandomPoissonV2, .shape = appended_shape, .prepare = fy_random_prepare,
      .compute = poisson_stateful, .release = fy_random_release, .host_inputs = 1,
      FY_SAMPLES(poisson_samples));
FY_OP(StatelessRandomGammaV2, .shape = seeded_shape, .compute = gamma_seeded, .host_inputs = 3,
      FY_SAMPLES(seeded_samples));
FY_OP(StatelessRandomGammaV3, .shape = keyed_shape, .compute = gamma_keyed, .host_inputs = 0xF,
      FY_SAMPLES(keyed_samples));
FY_OP(StatelessRandomPoisson, .shape = seeded_shape, .compute = poisson_seeded, .host_inputs = 7,
      FY_SAMPLES(seeded_poisson_samples));
FY_OP(StatelessRandomBinomial, .shape = seeded_shape, .compute = binomial_stateless,
      .host_inputs = 0xF, FY_SAMPLES(binomial_samples));
FY_OP(StatefulRandomBinomial, .shape = third_shape, .compute = binomial_stateful,
      .host_inputs = 0x1F);
