// SPDX-License-Identifier: Apache-2.0
// random.c: RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt, and the
// stateless RandomUniform and RandomNormal. The same numbers as TensorFlow's for the same seeds.
//
// The output is made in groups (four values, or two of 64 bits); group g takes the blocks of the
// generator from g on, so threads can start anywhere. A stateful op keeps its generator in the site
// and each call moves it on by 256 blocks per value, whatever the call really used.

#include <stdio.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/philox.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define RESERVED_PER_VALUE 256

typedef struct random_state {
  fy_mutex lock;
  fy_philox generator;
} random_state;

static uint64_t entropy(void) {
  uint64_t bits = 0;
  FILE *f = fopen("/dev/urandom", "rb");
  if (f) {
    if (fread(&bits, sizeof bits, 1, f) != 1) bits = 0;
    fclose(f);
  }
  return bits ? bits : (uint64_t)fy_now_ns() * 0x9E3779B97F4A7C15ull;
}

static fy_code random_prepare(fy_site *site, fy_error *err) {
  random_state *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  uint64_t seed = (uint64_t)fy_site_int(site, "seed"), seed2 = (uint64_t)fy_site_int(site, "seed2");
  if (seed == 0 && seed2 == 0) {
    seed = entropy();
    seed2 = entropy();
  }
  fy_mutex_init(&s->lock);
  s->generator = fy_philox_seed(seed, seed2);
  site->state = s;
  return FY_OK;
}

static void random_release(void *state) {
  random_state *s = state;
  if (!s) return;
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}

static fy_philox reserve(const fy_kernel_ctx *ctx, int64_t values) {
  random_state *s = ctx->site->state;
  fy_lock(&s->lock);
  const fy_philox g = s->generator;
  fy_philox_skip(&s->generator, (uint64_t)values * RESERVED_PER_VALUE);
  fy_unlock(&s->lock);
  return g;
}

// ---------------------------------------------------------------- groups
typedef struct random_job {
  fy_philox generator;
  fy_dtype type;
  void *out;
  int64_t count;
  int64_t low;  // RandomUniformInt
  uint64_t range;
} random_job;

// Writes a group's values; a last group may be cut short.
static void put_group(const random_job *j, int64_t group, int per_group, const void *values,
                      size_t size) {
  const int64_t at = group * per_group;
  const int64_t n = j->count - at < per_group ? j->count - at : per_group;
  memcpy((char *)j->out + (size_t)at * size, values, (size_t)n * size);
}

static void uniform(void *arg, int64_t begin, int64_t end) {
  const random_job *j = arg;
  fy_philox g = j->generator;
  fy_philox_skip(&g, (uint64_t)begin);
  for (int64_t group = begin; group < end; group++) {
    uint32_t x[4];
    fy_philox_next(&g, x);
    if (j->type == FY_DOUBLE) {
      const double d[2] = {fy_bits_to_unit_double(x[0], x[1]), fy_bits_to_unit_double(x[2], x[3])};
      put_group(j, group, 2, d, sizeof d[0]);
    } else if (j->type == FY_FLOAT) {
      float f[4];
      for (int i = 0; i < 4; i++) f[i] = fy_bits_to_unit_float(x[i]);
      put_group(j, group, 4, f, sizeof f[0]);
    } else {
      uint16_t h[4];
      for (int i = 0; i < 4; i++) {
        h[i] = j->type == FY_HALF ? fy_bits_to_unit_half(x[i]) : fy_bits_to_unit_bfloat16(x[i]);
      }
      put_group(j, group, 4, h, sizeof h[0]);
    }
  }
}

static void put_floats(const random_job *j, int64_t group, const float f[4]) {
  uint16_t h[4];
  if (j->type == FY_FLOAT) {
    put_group(j, group, 4, f, sizeof f[0]);
    return;
  }
  for (int i = 0; i < 4; i++) {
    h[i] = j->type == FY_HALF ? fy_st_half(f[i]) : fy_float_to_bfloat16(f[i]);
  }
  put_group(j, group, 4, h, sizeof h[0]);
}

static void normal(void *arg, int64_t begin, int64_t end) {
  const random_job *j = arg;
  fy_philox g = j->generator;
  fy_philox_skip(&g, (uint64_t)begin);
  for (int64_t group = begin; group < end; group++) {
    uint32_t x[4];
    fy_philox_next(&g, x);
    if (j->type == FY_DOUBLE) {
      double d[2];
      fy_normal_double(x, &d[0], &d[1]);
      put_group(j, group, 2, d, sizeof d[0]);
    } else {
      float f[4];
      fy_normal_float(x[0], x[1], &f[0], &f[1]);
      fy_normal_float(x[2], x[3], &f[2], &f[3]);
      put_floats(j, group, f);
    }
  }
}

// Values beyond two deviations are drawn again, so that a group needs blocks of its own.
static void truncated(void *arg, int64_t begin, int64_t end) {
  const random_job *j = arg;
  const int per_group = j->type == FY_DOUBLE ? 2 : 4;
  for (int64_t group = begin; group < end; group++) {
    fy_philox g = j->generator;
    fy_philox_skip(&g, (uint64_t)group * (uint64_t)per_group * RESERVED_PER_VALUE / 4);
    float f[4];
    double d[2];
    uint32_t x[4];
    for (int n = 0, used = 4; n < per_group;) {
      if (j->type == FY_DOUBLE) {
        double pair[2];
        fy_philox_next(&g, x);
        fy_normal_double(x, &pair[0], &pair[1]);
        for (int i = 0; i < 2 && n < per_group; i++) {
          if (fabs(pair[i]) < 2.0) d[n++] = pair[i];
        }
        continue;
      }
      float pair[2];
      if (used == 4) {
        fy_philox_next(&g, x);
        used = 0;
      }
      fy_normal_float(x[used], x[used + 1], &pair[0], &pair[1]);
      used += 2;
      for (int i = 0; i < 2 && n < per_group; i++) {
        if (fabsf(pair[i]) < 2.0f) f[n++] = pair[i];
      }
    }
    if (j->type == FY_DOUBLE) {
      put_group(j, group, 2, d, sizeof d[0]);
    } else {
      put_floats(j, group, f);
    }
  }
}

static void integers(void *arg, int64_t begin, int64_t end) {
  const random_job *j = arg;
  fy_philox g = j->generator;
  fy_philox_skip(&g, (uint64_t)begin);
  for (int64_t group = begin; group < end; group++) {
    uint32_t x[4];
    fy_philox_next(&g, x);
    if (j->type == FY_INT64) {
      int64_t v[2];
      for (int i = 0; i < 2; i++) {
        const uint64_t bits = (uint64_t)x[2 * i] | (uint64_t)x[2 * i + 1] << 32;
        v[i] = (int64_t)((uint64_t)j->low + bits % j->range);
      }
      put_group(j, group, 2, v, sizeof v[0]);
    } else {
      int32_t v[4];
      for (int i = 0; i < 4; i++) {
        v[i] = (int32_t)((uint32_t)j->low + x[i] % (uint32_t)j->range);
      }
      put_group(j, group, 4, v, sizeof v[0]);
    }
  }
}

typedef void (*groups_fn)(void *arg, int64_t begin, int64_t end);
typedef struct random_kind {
  groups_fn fn;
  double ns;  // per group
} random_kind;
static const random_kind uniform_kind = {uniform, 20}, normal_kind = {normal, 60},
                         truncated_kind = {truncated, 80}, integers_kind = {integers, 30};

static void fill(fy_kernel_ctx *ctx, random_job *job, const fy_tensor *out) {
  const random_kind *kind = ctx->site->op->impl->aux;
  const int per_group = fy_dtype_storage(out->dtype) == 8 ? 2 : 4;
  job->type = out->dtype;
  job->out = out->data;
  job->count = out->count;
  fy_parallel(ctx, (out->count + per_group - 1) / per_group, kind->ns, kind->fn, job);
}

static fy_code shaped_output(fy_kernel_ctx *ctx, fy_tensor **out, fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  FY_TRY(fy_value_shape(ctx->in[0], &rank, dims, err));
  return fy_out(ctx, 0, rank, dims, out, err);
}

static fy_code random_stateful(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(shaped_output(ctx, &out, err));
  if (out->count == 0) return FY_OK;
  random_job job = {.generator = reserve(ctx, out->count)};
  fill(ctx, &job, out);
  return FY_OK;
}

static fy_code random_integers(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *low = ctx->in[1], *high = ctx->in[2];
  fy_tensor *out;
  char x[128];
  if (low->rank != 0 || high->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 0-D, got shape %s",
                   low->rank ? "minval" : "maxval",
                   fy_tensor_shape_text(low->rank ? low : high, x));
  }
  FY_TRY(shaped_output(ctx, &out, err));
  if (out->count == 0) return FY_OK;
  const int64_t lo = fy_tensor_int(low, 0), hi = fy_tensor_int(high, 0);
  if (lo >= hi) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld",
                   (long long)lo, (long long)hi);
  }
  random_job job = {
      .generator = reserve(ctx, out->count), .low = lo, .range = (uint64_t)hi - (uint64_t)lo};
  fill(ctx, &job, out);
  return FY_OK;
}

// The user's seed is scrambled once, so that a weak one (0, 1, 2 …) still gives strong keys.
static fy_code random_stateless(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *seed = ctx->in[1];
  fy_tensor *out;
  char x[128];
  if (seed->rank != 1 || seed->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "seed must have shape [2], not %s",
                   fy_tensor_shape_text(seed, x));
  }
  FY_TRY(shaped_output(ctx, &out, err));
  if (out->count == 0) return FY_OK;
  const uint64_t s0 = (uint64_t)fy_tensor_int(seed, 0), s1 = (uint64_t)fy_tensor_int(seed, 1);
  fy_philox mixer = {{(uint32_t)s0, (uint32_t)(s0 >> 32), (uint32_t)s1, (uint32_t)(s1 >> 32)},
                     {0x3EC8F720u, 0x02461E29u}};
  uint32_t mix[4];
  fy_philox_next(&mixer, mix);
  random_job job = {.generator = {{0, 0, mix[2], mix[3]}, {mix[0], mix[1]}}};
  fill(ctx, &job, out);
  return FY_OK;
}

static fy_code integers_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  return fy_shape_from_first(ctx, err);
}

static fy_code stateless_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (ctx->in[1].rank == 1 && ctx->in[1].dims[0] >= 0 && ctx->in[1].dims[0] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be 2 but is %lld",
                   (long long)ctx->in[1].dims[0]);
  }
  return fy_shape_from_first(ctx, err);
}

static const fy_sample samples[] = {
    {"i32[1]=5", "dtype=float; seed=1; seed2=2", FY_OK, NULL},
    {"i64[2]=3,3", "dtype=double; seed=7", FY_OK, NULL},
    {"i32[1]=5", "dtype=half; seed=7", FY_OK, NULL},
    {"i32[1]=-1", "dtype=float", FY_INVALID_ARGUMENT, "Dimension -1 must be >= 0"},
};
static const fy_sample int_samples[] = {
    {"i32[1]=5; i64[]=-3; i64[]=4", "seed=1", FY_OK, NULL},
    {"i32[1]=1; i32[]=5; i32[]=5", NULL, FY_INVALID_ARGUMENT, "Need minval < maxval, got 5 >= 5"},
};
static const fy_sample stateless_samples[] = {
    {"i32[1]=5; i64[2]=1,2", "dtype=float", FY_OK, NULL},
    {"i32[1]=5; i64[1]=1", "dtype=float", FY_INVALID_ARGUMENT, "seed must have shape [2], not [1]"},
};

#define RANDOM_OP(Name, kind)                                                                      \
  FY_OP(Name, .shape = fy_shape_from_first, .prepare = random_prepare, .compute = random_stateful, \
        .release = random_release, .aux = &(kind), .host_inputs = 1, FY_SAMPLES(samples))
RANDOM_OP(RandomUniform, uniform_kind);
RANDOM_OP(RandomStandardNormal, normal_kind);
RANDOM_OP(TruncatedNormal, truncated_kind);
FY_OP(RandomUniformInt, .shape = integers_shape, .prepare = random_prepare,
      .compute = random_integers, .release = random_release, .aux = &integers_kind,
      .host_inputs = 7, FY_SAMPLES(int_samples));
FY_OP(StatelessRandomUniform, .shape = stateless_shape, .compute = random_stateless,
      .aux = &uniform_kind, .host_inputs = 3, FY_SAMPLES(stateless_samples));
FY_OP(StatelessRandomNormal, .shape = stateless_shape, .compute = random_stateless,
      .aux = &normal_kind, .host_inputs = 3, FY_SAMPLES(stateless_samples));
