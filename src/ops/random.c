// SPDX-License-Identifier: Apache-2.0
// random.c: RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt, the stateless
// ops by seed and by key and counter (V2). The same numbers as TensorFlow's for the same seeds.
//
// The output is made in groups (four values, or two of 64 bits); group g takes the blocks of the
// generator from g on, so threads can start anywhere. A stateful op keeps its generator in the site
// and each call moves it on by 256 blocks per value, whatever the call really used.

#include <stdio.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/named.h"
#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

uint64_t fy_random_entropy(void) {
  uint64_t bits = 0;
  FILE *f = fopen("/dev/urandom", "rb");
  if (f) {
    if (fread(&bits, sizeof bits, 1, f) != 1) bits = 0;
    fclose(f);
  }
  return bits ? bits : (uint64_t)fy_now_ns() * 0x9E3779B97F4A7C15ull;
}

fy_philox fy_random_of_attrs(const fy_site *site) {
  uint64_t seed = (uint64_t)fy_site_int(site, "seed"), seed2 = (uint64_t)fy_site_int(site, "seed2");
  if (seed == 0 && seed2 == 0) {
    seed = fy_random_entropy();
    seed2 = fy_random_entropy();
  }
  return fy_philox_seed(seed, seed2);
}

static void destroy_state(fy_object *object) {
  fy_random_state *s = (fy_random_state *)object;
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}
static const fy_object_type state_type = {"random", destroy_state};

static fy_code make_state(fy_view container, fy_view name, const void *site, fy_object **out,
                          fy_error *err) {
  (void)container, (void)name;
  fy_random_state *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  atomic_init(&s->object.refs, 1);
  s->object.type = &state_type;
  fy_mutex_init(&s->lock);
  s->generator = fy_random_of_attrs(site);
  *out = &s->object;
  return FY_OK;
}

fy_code fy_random_prepare(fy_site *site, fy_error *err) {
  fy_object *s;
  FY_TRY(fy_site_keep(site, &state_type, make_state, site, &s, err));
  site->state = s;
  return FY_OK;
}

void fy_random_release(void *state) {
  fy_object_release(state);
}

fy_philox fy_random_reserve_blocks(const fy_kernel_ctx *ctx, uint64_t blocks) {
  fy_random_state *s = ctx->site->state;
  fy_lock(&s->lock);
  const fy_philox g = s->generator;
  fy_philox_skip(&s->generator, blocks);
  fy_unlock(&s->lock);
  return g;
}

fy_philox fy_random_reserve(const fy_kernel_ctx *ctx, int64_t values) {
  return fy_random_reserve_blocks(ctx, (uint64_t)values * FY_RANDOM_RESERVED);
}

// ---------------------------------------------------------------- groups
void fy_random_blocks(const fy_philox *g, uint64_t *skip, int n, uint32_t *out) {
  const fy_random_lanes *lanes = fy_random_lanes_best();
  const uint64_t low = (uint64_t)g->counter[1] << 32 | g->counter[0];
  bool over = !lanes;  // the upper half changes: rare
  for (int i = 0; i < n; i++) {
    over |= skip[i] > UINT64_MAX - low;
  }
  for (int i = 0; over && i < n; i++) {
    fy_philox p = *g;
    fy_philox_skip(&p, skip[i]);
    fy_philox_next(&p, out + 4 * i);
  }
  if (over) {
    memset(out + 4 * n, 0, sizeof *out * 4 * (size_t)(FY_RANDOM_CHUNK - n));
    return;
  }
  for (int i = 0; i < n; i++) skip[i] += low;
  while (n % lanes->blocks) skip[n++] = low;
  lanes->philox(g->key, g->counter + 2, skip, n, out);
}

// The words of groups [begin, end), by chunks, and what is made of them: |values| of a whole chunk.
typedef struct chunk {
  uint32_t bits[4 * FY_RANDOM_CHUNK];
  union {
    float f[4 * FY_RANDOM_CHUNK];
    double d[2 * FY_RANDOM_CHUNK];
    int32_t i[4 * FY_RANDOM_CHUNK];
    int64_t l[2 * FY_RANDOM_CHUNK];
    uint16_t h[4 * FY_RANDOM_CHUNK];
  } values;
} chunk;

// Lanes work on 16 words at once.
static int whole(int n) {
  return (n + 15) / 16 * 16;
}

static int per_group(const fy_random_job *j) {
  return fy_dtype_storage(j->type) == 8 ? 2 : 4;
}

// Writes the values of |n| groups; a last group may be cut short.
static void put_groups(const fy_random_job *j, int64_t group, int n, const void *values) {
  const size_t size = fy_dtype_storage(j->type);
  const int64_t at = group * per_group(j);
  int64_t count = (int64_t)n * per_group(j);
  if (count > j->count - at) count = j->count - at;
  memcpy((char *)j->out + (size_t)at * size, values, (size_t)count * size);
}

// From floats to the type.
static void put_floats(const fy_random_job *j, int64_t group, int n, chunk *c) {
  if (j->type == FY_FLOAT) {
    put_groups(j, group, n, c->values.f);
    return;
  }
  uint16_t h[4 * FY_RANDOM_CHUNK];
  for (int i = 0; i < 4 * n; i++) {
    const float f = c->values.f[i];
    h[i] = j->type == FY_HALF ? fy_st_half(f) : fy_float_to_bfloat16(f);
  }
  put_groups(j, group, n, h);
}

typedef void (*make_fn)(const fy_random_job *j, int64_t group, int n, chunk *c);

static void by_chunks(const fy_random_job *j, int64_t begin, int64_t end, make_fn make) {
  uint64_t skip[FY_RANDOM_CHUNK];
  chunk c;
  for (int64_t at = begin; at < end; at += FY_RANDOM_CHUNK) {
    const int n = end - at < FY_RANDOM_CHUNK ? (int)(end - at) : FY_RANDOM_CHUNK;
    for (int i = 0; i < n; i++) skip[i] = (uint64_t)(at + i);
    fy_random_blocks(&j->generator, skip, n, c.bits);
    make(j, at, n, &c);
  }
}

static void make_uniform(const fy_random_job *j, int64_t group, int n, chunk *c) {
  const fy_random_lanes *lanes = fy_random_lanes_best();
  const uint32_t *x = c->bits;
  if (j->type == FY_DOUBLE) {
    for (int i = 0; i < 2 * n; i++) {
      c->values.d[i] = fy_bits_to_unit_double(x[2 * i], x[2 * i + 1]);
    }
  } else if (j->type == FY_HALF) {
    for (int i = 0; i < 4 * n; i++) c->values.h[i] = fy_bits_to_unit_half(x[i]);
  } else if (j->type == FY_BFLOAT16) {
    for (int i = 0; i < 4 * n; i++) c->values.h[i] = fy_bits_to_unit_bfloat16(x[i]);
  } else if (!lanes) {
    for (int i = 0; i < 4 * n; i++) c->values.f[i] = fy_bits_to_unit_float(x[i]);
  } else if (n == FY_RANDOM_CHUNK && 4 * (group + n) <= j->count) {
    lanes->units(x, (float *)j->out + 4 * group, 4 * (int64_t)n);
    return;
  } else {
    lanes->units(x, c->values.f, whole(4 * n));
  }
  put_groups(j, group, n, &c->values);
}
static void uniform(void *arg, int64_t begin, int64_t end) {
  by_chunks(arg, begin, end, make_uniform);
}

// The |n| words of |bits|, a multiple of 4, become as many normal numbers.
static void make_normals(const uint32_t *bits, int n, float *out) {
  const fy_random_lanes *lanes = fy_random_lanes_best();
  if (lanes) {
    lanes->normals(bits, out, whole(n));
    return;
  }
  for (int i = 0; i < n; i += 2) {
    fy_normal_float(bits[i], bits[i + 1], &out[i], &out[i + 1]);
  }
}

static void make_normal(const fy_random_job *j, int64_t group, int n, chunk *c) {
  if (j->type != FY_DOUBLE) {
    make_normals(c->bits, 4 * n, c->values.f);
    put_floats(j, group, n, c);
    return;
  }
  for (int i = 0; i < n; i++) {
    fy_normal_double(c->bits + 4 * i, &c->values.d[2 * i], &c->values.d[2 * i + 1]);
  }
  put_groups(j, group, n, c->values.d);
}
static void normal(void *arg, int64_t begin, int64_t end) {
  by_chunks(arg, begin, end, make_normal);
}

// Values beyond two deviations are drawn again, so that a group has blocks of its own. What fits joins the |have| |values|
// of the group; returns how many there are now.
static int join_floats(float *values, int have, const float *drawn) {
  for (int i = 0; i < 4 && have < 4; i++) {
    if (fabsf(drawn[i]) < 2.0f) values[have++] = drawn[i];
  }
  return have;
}
static int join_doubles(double *values, int have, const uint32_t *bits) {
  double pair[2];
  fy_normal_double(bits, &pair[0], &pair[1]);
  for (int i = 0; i < 2 && have < 2; i++) {
    if (fabs(pair[i]) < 2.0) values[have++] = pair[i];
  }
  return have;
}
// A group's first block, in place: nearly all of it stays, and nobody can guess what does not.
static int keep_floats(float *values) {
  const float v[4] = {values[0], values[1], values[2], values[3]};
  int n = 0;
  for (int i = 0; i < 4; i++) {
    values[n] = v[i];
    n += fabsf(v[i]) < 2.0f;
  }
  return n;
}

// All groups of a chunk that still lack values take their next block together.
static void truncated_chunk(const fy_random_job *j, int64_t group, int n, chunk *c) {
  const int each = per_group(j);
  const uint64_t step = (uint64_t)each * FY_RANDOM_RESERVED / 4;
  uint64_t skip[FY_RANDOM_CHUNK];
  int have[FY_RANDOM_CHUNK] = {0}, open[FY_RANDOM_CHUNK], num_open = n;
  float drawn[4 * FY_RANDOM_CHUNK];
  for (int i = 0; i < n; i++) open[i] = i;
  for (uint64_t block = 0; num_open; block++) {
    for (int k = 0; k < num_open; k++) skip[k] = (uint64_t)(group + open[k]) * step + block;
    fy_random_blocks(&j->generator, skip, num_open, c->bits);
    if (each == 4) make_normals(c->bits, 4 * num_open, block ? drawn : c->values.f);
    int still = 0;
    for (int k = 0; k < num_open; k++) {
      const int g = open[k];
      if (each == 2)
        have[g] = join_doubles(c->values.d + 2 * g, have[g], c->bits + 4 * k);
      else if (block)
        have[g] = join_floats(c->values.f + 4 * g, have[g], drawn + 4 * k);
      else
        have[g] = keep_floats(c->values.f + 4 * g);
      open[still] = g;
      still += have[g] < each;
    }
    num_open = still;
  }
  if (each == 2)
    put_groups(j, group, n, c->values.d);
  else
    put_floats(j, group, n, c);
}
static void truncated(void *arg, int64_t begin, int64_t end) {
  chunk c;
  for (int64_t at = begin; at < end; at += FY_RANDOM_CHUNK) {
    truncated_chunk(arg, at, end - at < FY_RANDOM_CHUNK ? (int)(end - at) : FY_RANDOM_CHUNK, &c);
  }
}

static void make_integers(const fy_random_job *j, int64_t group, int n, chunk *c) {
  const fy_random_lanes *lanes = fy_random_lanes_best();
  const uint32_t *x = c->bits;
  if (fy_dtype_storage(j->type) == 8) {
    for (int i = 0; i < 2 * n; i++) {
      const uint64_t bits = (uint64_t)x[2 * i] | (uint64_t)x[2 * i + 1] << 32;
      c->values.l[i] = (int64_t)((uint64_t)j->low + (j->range ? bits % j->range : bits));
    }
  } else if (lanes && j->range > 1) {
    lanes->rests(x, (uint32_t)j->range, (int32_t)j->low, c->values.i, whole(4 * n));
  } else {
    for (int i = 0; i < 4 * n; i++) {
      const uint32_t bits = j->range ? x[i] % (uint32_t)j->range : x[i];
      c->values.i[i] = (int32_t)((uint32_t)j->low + bits);
    }
  }
  put_groups(j, group, n, &c->values);
}
static void integers(void *arg, int64_t begin, int64_t end) {
  by_chunks(arg, begin, end, make_integers);
}

const fy_random_kind fy_random_uniform = {uniform, 2.5}, fy_random_normal = {normal, 6},
                     fy_random_truncated = {truncated, 12}, fy_random_integers = {integers, 4};

void fy_random_fill(fy_kernel_ctx *ctx, const fy_random_kind *kind, fy_random_job *job,
                    const fy_tensor *out) {
  if (ctx->svc->random && out->device) {
    (void)ctx->svc->random(ctx, kind, job, out);  // the device remembers what went wrong
    return;
  }
  job->type = out->dtype;
  job->out = out->data;
  job->count = out->count;
  fy_parallel(ctx, (out->count + per_group(job) - 1) / per_group(job), kind->ns, kind->fn, job);
}
static void fill(fy_kernel_ctx *ctx, fy_random_job *job, const fy_tensor *out) {
  fy_random_fill(ctx, ctx->site->op->impl->aux, job, out);
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
  fy_random_job job = {.generator = fy_random_reserve(ctx, out->count)};
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
  fy_random_job job = {.generator = fy_random_reserve(ctx, out->count),
                       .low = lo,
                       .range = (uint64_t)hi - (uint64_t)lo};
  fill(ctx, &job, out);
  return FY_OK;
}

// The user's seed is scrambled once, so that a weak one (0, 1, 2 …) still gives strong keys.
fy_code fy_random_check_seed(const fy_tensor *seed, fy_error *err) {
  char x[128];
  if (seed->rank == 1 && seed->count == 2) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "seed must have shape [2], not %s",
                 fy_tensor_shape_text(seed, x));
}
fy_code fy_random_of_seed(const fy_tensor *seed, fy_philox *out, fy_error *err) {
  FY_TRY(fy_random_check_seed(seed, err));
  if (seed->dtype != FY_INT32 && seed->dtype != FY_INT64) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid seed type: %s", fy_dtype_name(seed->dtype));
  }
  const uint64_t s0 = (uint64_t)fy_tensor_int(seed, 0), s1 = (uint64_t)fy_tensor_int(seed, 1);
  fy_philox mixer = {{(uint32_t)s0, (uint32_t)(s0 >> 32), (uint32_t)s1, (uint32_t)(s1 >> 32)},
                     {0x3EC8F720u, 0x02461E29u}};
  uint32_t mix[4];
  fy_philox_next(&mixer, mix);
  *out = (fy_philox){{0, 0, mix[2], mix[3]}, {mix[0], mix[1]}};
  return FY_OK;
}

static fy_code fail_counter(const fy_tensor *counter, int least, fy_error *err) {
  char x[128];
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "counter must be a vector with length at least %d; got shape: %s. (Note that "
                 "batched counters are not supported yet.)",
                 least, fy_tensor_shape_text(counter, x));
}

// Inputs |i|, |i| + 1, |i| + 2 are key, counter and algorithm (1: Philox, 3: whatever fits).
// TensorFlow takes the algorithm's number for the length its counter must have.
fy_code fy_random_check_key(const fy_kernel_ctx *ctx, int i, fy_error *err) {
  const fy_tensor *key = ctx->in[i], *counter = ctx->in[i + 1], *alg = ctx->in[i + 2];
  char x[128];
  if (alg->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input %d (0-based) must have shape [], not %s", i + 2,
                   fy_tensor_shape_text(alg, x));
  }
  if (key->rank != 1 || key->count != 1) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "key must have shape [1], not %s. (Note that batched keys are not supported yet.)",
        fy_tensor_shape_text(key, x));
  }
  const int32_t id = *(const int32_t *)alg->data, least = id == 3 ? 1 : id;
  if (counter->rank == 1 && counter->count >= least) return FY_OK;
  return fail_counter(counter, least, err);
}
fy_code fy_random_of_key(const fy_kernel_ctx *ctx, int i, fy_philox *out, fy_error *err) {
  const fy_tensor *key = ctx->in[i], *counter = ctx->in[i + 1], *alg = ctx->in[i + 2];
  FY_TRY(fy_random_check_key(ctx, i, err));
  const int32_t id = *(const int32_t *)alg->data;
  if (id != 1 && id != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported algorithm id: %d", id);
  }
  if (counter->count < 2) return fail_counter(counter, 2, err);  // TensorFlow reads past its end
  const uint64_t k = *(const uint64_t *)key->data, *c = counter->data;
  *out =
      (fy_philox){{(uint32_t)c[0], (uint32_t)(c[0] >> 32), (uint32_t)c[1], (uint32_t)(c[1] >> 32)},
                  {(uint32_t)k, (uint32_t)(k >> 32)}};
  return FY_OK;
}

static fy_code bounded(const fy_kernel_ctx *ctx, int i, fy_random_job *job, fy_error *err) {
  const fy_tensor *low = ctx->in[i], *high = ctx->in[i + 1];
  char x[128];
  for (int k = 0; k < 2; k++) {
    if (ctx->in[i + k]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 0-D, got shape %s",
                   k ? "maxval" : "minval", fy_tensor_shape_text(ctx->in[i + k], x));
  }
  const int64_t lo = fy_tensor_int(low, 0), hi = fy_tensor_int(high, 0);
  if (lo >= hi) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld",
                   (long long)lo, (long long)hi);
  }
  job->low = lo;
  job->range = (uint64_t)hi - (uint64_t)lo;
  return FY_OK;
}

// The output comes first, and what makes no numbers needs neither bounds nor a generator.
static fy_code random_stateless(fy_kernel_ctx *ctx, fy_error *err) {
  fy_random_job job = {0};
  fy_tensor *out;
  FY_TRY(shaped_output(ctx, &out, err));
  FY_TRY(fy_random_check_seed(ctx->in[1], err));
  if (out->count == 0) return FY_OK;
  if (ctx->site->num_inputs > 2) FY_TRY(bounded(ctx, 2, &job, err));
  FY_TRY(fy_random_of_seed(ctx->in[1], &job.generator, err));
  fill(ctx, &job, out);
  return FY_OK;
}
static fy_code random_keyed(fy_kernel_ctx *ctx, fy_error *err) {
  fy_random_job job = {0};
  fy_tensor *out;
  FY_TRY(fy_random_check_key(ctx, 1, err));
  FY_TRY(shaped_output(ctx, &out, err));
  if (out->count == 0) return FY_OK;
  if (ctx->site->num_inputs > 4) FY_TRY(bounded(ctx, 4, &job, err));
  FY_TRY(fy_random_of_key(ctx, 1, &job.generator, err));
  fill(ctx, &job, out);
  return FY_OK;
}

static fy_code put_algorithm(fy_kernel_ctx *ctx, int i, fy_error *err) {
  fy_tensor *alg;
  FY_TRY(fy_out(ctx, i, 0, NULL, &alg, err));
  *(int32_t *)alg->data = 1;
  return FY_OK;
}
static fy_code get_algorithm(fy_kernel_ctx *ctx, fy_error *err) {
  return put_algorithm(ctx, 0, err);
}
static fy_code get_key_counter(fy_kernel_ctx *ctx, fy_error *err) {
  const int64_t one = 1, two = 2;
  fy_philox g;
  fy_tensor *key, *counter;
  FY_TRY(fy_random_of_seed(ctx->in[0], &g, err));
  FY_TRY(fy_out(ctx, 0, 1, &one, &key, err));
  FY_TRY(fy_out(ctx, 1, 1, &two, &counter, err));
  *(uint64_t *)key->data = (uint64_t)g.key[1] << 32 | g.key[0];
  uint64_t *c = counter->data;
  c[0] = (uint64_t)g.counter[1] << 32 | g.counter[0];
  c[1] = (uint64_t)g.counter[3] << 32 | g.counter[2];
  return ctx->site->num_outputs > 2 ? put_algorithm(ctx, 2, err) : FY_OK;
}

static fy_code key_counter_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t one = 1, two = 2;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  if (ctx->in[0].rank == 1 && ctx->in[0].dims[0] >= 0 && ctx->in[0].dims[0] != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be 2 but is %lld",
                   (long long)ctx->in[0].dims[0]);
  }
  FY_TRY(fy_shape_set(ctx, 0, 1, &one, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &two, err));
  return ctx->num_outputs > 2 ? fy_shape_set(ctx, 2, 0, NULL, err) : FY_OK;
}

fy_code fy_random_infer_bounds(const fy_shape_ctx *ctx, int first, fy_error *err) {
  for (int i = 0; i < 2; i++) {
    const fy_pshape s = ctx->in[first + i];
    char x[128];
    if (s.rank <= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar; got a tensor of shape %s",
                   i == 0 ? "minval" : "maxval", fy_shape_text(s.rank, s.dims, x));
  }
  return FY_OK;
}

static fy_code integers_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_random_infer_bounds(ctx, 1, err));
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

static fy_code keyed_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[1], 0), 1, err));
  return fy_shape_from_first(ctx, err);
}
static fy_code scalar_bounds(fy_shape_ctx *ctx, int i, fy_error *err) {
  char x[128];
  for (int k = 0; k < 2; k++) {
    const fy_pshape s = ctx->in[i + k];
    if (s.rank <= 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar; got a tensor of shape %s",
                   k ? "maxval" : "minval", fy_shape_text(s.rank, s.dims, x));
  }
  return FY_OK;
}
static fy_code stateless_int_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(scalar_bounds(ctx, 2, err));
  return stateless_shape(ctx, err);
}
static fy_code keyed_int_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(scalar_bounds(ctx, 4, err));
  return keyed_shape(ctx, err);
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

static const fy_sample full_samples[] = {
    {"i32[1]=5; i64[2]=1,2", "dtype=uint64", FY_OK, NULL},
    {"i32[1]=5; i64[2]=1,2", "dtype=int32", FY_OK, NULL},
};
static const fy_sample stateless_int_samples[] = {
    {"i32[1]=5; i64[2]=1,2; i32[]=0; i32[]=1", NULL, FY_OK, "0,0,0,0,0"},
    {"i32[1]=5; i64[2]=1,2; i32[]=1; i32[]=1", NULL, FY_INVALID_ARGUMENT,
     "Need minval < maxval, got 1 >= 1"},
};
static const fy_sample keyed_samples[] = {
    {"i32[1]=5; u64[1]=7; u64[2]=1,2; i32[]=1", "dtype=float", FY_OK, NULL},
    {"i32[1]=5; u64[1]=7; u64[2]=1,2; i32[]=2", "dtype=float", FY_INVALID_ARGUMENT,
     "Unsupported algorithm id: 2"},
};
static const fy_sample keyed_int_samples[] = {
    {"i32[1]=5; u64[1]=7; u64[2]=1,2; i32[]=1", "dtype=uint32", FY_OK, NULL},
};
static const fy_sample keyed_range_samples[] = {
    {"i32[1]=3; u64[1]=7; u64[2]=1,2; i32[]=1; i64[]=4; i64[]=5", NULL, FY_OK, "4,4,4"},
};
static const fy_sample key_samples[] = {{"i64[2]=1,2", NULL, FY_OK, NULL}};
static const fy_sample alg_samples[] = {{"", NULL, FY_OK, "1"}};

#define RANDOM_OP(Name, kind)                                                     \
  FY_OP(Name, .shape = fy_shape_from_first, .prepare = fy_random_prepare,         \
        .compute = random_stateful, .release = fy_random_release, .aux = &(kind), \
        .host_inputs = 1, FY_SAMPLES(samples))
RANDOM_OP(RandomUniform, fy_random_uniform);
RANDOM_OP(RandomStandardNormal, fy_random_normal);
RANDOM_OP(TruncatedNormal, fy_random_truncated);
FY_OP(RandomUniformInt, .shape = integers_shape, .prepare = fy_random_prepare,
      .compute = random_integers, .release = fy_random_release, .aux = &fy_random_integers,
      .host_inputs = 7, FY_SAMPLES(int_samples));
FY_OP(StatelessRandomUniform, .shape = stateless_shape, .compute = random_stateless,
      .aux = &fy_random_uniform, .host_inputs = 3, FY_SAMPLES(stateless_samples));
FY_OP(StatelessRandomNormal, .shape = stateless_shape, .compute = random_stateless,
      .aux = &fy_random_normal, .host_inputs = 3, FY_SAMPLES(stateless_samples));
FY_OP(StatelessTruncatedNormal, .shape = stateless_shape, .compute = random_stateless,
      .aux = &fy_random_truncated, .host_inputs = 3, FY_SAMPLES(stateless_samples));
FY_OP(StatelessRandomUniformFullInt, .shape = stateless_shape, .compute = random_stateless,
      .aux = &fy_random_integers, .host_inputs = 3, FY_SAMPLES(full_samples));
FY_OP(StatelessRandomUniformInt, .shape = stateless_int_shape, .compute = random_stateless,
      .aux = &fy_random_integers, .host_inputs = 0xF, FY_SAMPLES(stateless_int_samples));
#define KEYED_OP(Name, kind, array)                                                              \
  FY_OP(Name, .shape = keyed_shape, .compute = random_keyed, .aux = &(kind), .host_inputs = 0xF, \
        FY_SAMPLES(array))
KEYED_OP(StatelessRandomUniformV2, fy_random_uniform, keyed_samples);
KEYED_OP(StatelessRandomNormalV2, fy_random_normal, keyed_samples);
KEYED_OP(StatelessTruncatedNormalV2, fy_random_truncated, keyed_samples);
KEYED_OP(StatelessRandomUniformFullIntV2, fy_random_integers, keyed_int_samples);
FY_OP(StatelessRandomUniformIntV2, .shape = keyed_int_shape, .compute = random_keyed,
      .aux = &fy_random_integers, .host_inputs = 0x3F, FY_SAMPLES(keyed_range_samples));
FY_OP(StatelessRandomGetKeyCounter, .shape = key_counter_shape, .compute = get_key_counter,
      .host_inputs = 1, .host_outputs = 3, FY_SAMPLES(key_samples));
FY_OP(StatelessRandomGetKeyCounterAlg, .shape = key_counter_shape, .compute = get_key_counter,
      .host_inputs = 1, .host_outputs = 7, FY_SAMPLES(key_samples));
FY_OP(StatelessRandomGetAlg, .shape = fy_shape_scalar, .compute = get_algorithm, .host_outputs = 1,
      FY_SAMPLES(alg_samples));
