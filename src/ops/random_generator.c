// SPDX-License-Identifier: Apache-2.0
// random_generator.c: ops on a generator that is a variable (tf.random.Generator): the numbers come
// from its state, which a call moves on. The state is an int64 vector: counter, counter, key.
// StatefulStandardNormal (the first version) has the algorithm in front of that.

#include "ferry/device.h"
#include "ops/random.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define PHILOX_STATE 3
enum { PHILOX = 1, THREEFRY = 2, WHATEVER_FITS = 3 };

static fy_philox of_state(const uint64_t *s) {
  return (fy_philox){
      {(uint32_t)s[0], (uint32_t)(s[0] >> 32), (uint32_t)s[1], (uint32_t)(s[1] >> 32)},
      {(uint32_t)s[2], (uint32_t)(s[2] >> 32)}};
}

static fy_code check_state(const fy_tensor *state, int64_t algorithm, int64_t least,
                           fy_error *err) {
  if (state->dtype != FY_INT64) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dtype of RNG state variable must be int64, not %s",
                   fy_dtype_name(state->dtype));
  }
  if (state->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "RNG state must have one and only one dimension, not %d", state->rank);
  }
  if (algorithm == THREEFRY) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Non-XLA devices don't support the ThreeFry algorithm.");
  }
  if (state->count < least) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "For the Philox algorithm, the size of state must be at least %lld; got %lld",
                   (long long)least, (long long)state->count);
  }
  return FY_OK;
}

// Takes the generator and moves the variable on by |blocks|. |skip| numbers precede the state.
// |before| (may be NULL) gets the three numbers as they were.
static fy_code advance(fy_kernel_ctx *ctx, int input, int64_t skip, int64_t algorithm,
                       uint64_t blocks, fy_philox *out, int64_t before[PHILOX_STATE],
                       fy_error *err) {
  fy_object *object;
  FY_TRY(fy_resource_object(ctx->in[input], &fy_variable_type, &object, err));
  fy_variable *v = (fy_variable *)object;
  fy_code code = FY_OK;
  fy_tensor *fresh = NULL, *old = NULL;
  fy_lock(&v->lock);
  fy_tensor *state = v->value;
  if (!state) {
    code = fy_fail(err, FY_NOT_FOUND, "Resource %s/%s/N10tensorflow3VarE does not exist.",
                   v->container, v->name);
  }
  if (!code) code = check_state(state, algorithm, skip + PHILOX_STATE, err);
  if (!code && state->device && !state->device->is_host && ctx->svc->to_host) {
    code = ctx->svc->to_host(ctx, state, &fresh, err);  // an assignment left it on a device
  } else if (!code) {
    code = fy_tensor_new(FY_INT64, 1, state->dims, &fresh, err);
    fy_tensor storage;
    if (!code) {
      const fy_tensor *from = ctx->svc->view ? ctx->svc->view(ctx, state, &storage) : state;
      memcpy(fresh->data, from->data, fy_tensor_bytes(state));
    }
  }
  if (!code) {
    uint64_t *s = (uint64_t *)fresh->data + skip;
    if (before) memcpy(before, s, PHILOX_STATE * sizeof before[0]);
    *out = of_state(s);
    fy_philox moved = *out;
    fy_philox_skip(&moved, blocks);
    s[0] = (uint64_t)moved.counter[1] << 32 | moved.counter[0];
    s[1] = (uint64_t)moved.counter[3] << 32 | moved.counter[2];
    old = v->value;
    fy_variable_forget(v);
    v->value = fresh;
  }
  fy_unlock(&v->lock);
  fy_tensor_release(old);
  return code;
}

static fy_code fail_algorithm(int64_t id, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported algorithm id: %lld", (long long)id);
}
// ThreeFry is known, and refused when it comes to the state.
static fy_code check_algorithm(const fy_tensor *t, int input, int64_t *id, fy_error *err) {
  char x[128];
  if (t->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input %d (0-based) must have shape [], not %s", input,
                   fy_tensor_shape_text(t, x));
  }
  *id = fy_tensor_int(t, 0);
  if (*id >= PHILOX && *id <= WHATEVER_FITS) return FY_OK;
  return fail_algorithm(*id, err);
}

fy_code fy_random_of_resource(fy_kernel_ctx *ctx, int input, int algorithm, uint64_t values,
                              fy_philox *out, fy_error *err) {
  const fy_tensor *t = ctx->in[algorithm];
  char x[128];
  if (t->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "algorithm must be of shape [], not %s",
                   fy_tensor_shape_text(t, x));
  }
  const int64_t id = fy_tensor_int(t, 0);
  if (id != PHILOX && id != WHATEVER_FITS) return fail_algorithm(id, err);
  return advance(ctx, input, 0, id, values * FY_RANDOM_RESERVED, out, NULL, err);
}

// |skip| numbers precede the state of |algorithm|.
static fy_code draw(fy_kernel_ctx *ctx, int shape_input, int64_t skip, int64_t algorithm,
                    fy_random_job *job, fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  fy_tensor *out;
  FY_TRY(fy_value_shape(ctx->in[shape_input], &rank, dims, err));
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  FY_TRY(advance(ctx, 0, skip, algorithm, (uint64_t)out->count * FY_RANDOM_RESERVED,
                 &job->generator, NULL, err));
  if (out->count) fy_random_fill(ctx, ctx->site->op->impl->aux, job, out);
  return FY_OK;
}

static fy_code stateful(fy_kernel_ctx *ctx, fy_error *err) {
  fy_random_job job = {0};
  int64_t id = 0;
  FY_TRY(check_algorithm(ctx->in[1], 1, &id, err));
  return draw(ctx, 2, 0, id, &job, err);
}

static fy_code first_version(fy_kernel_ctx *ctx, fy_error *err) {
  fy_random_job job = {0};
  return draw(ctx, 1, 1, PHILOX, &job, err);
}

static fy_code integers(fy_kernel_ctx *ctx, fy_error *err) {
  fy_random_job job = {0};
  char x[128];
  int64_t id = 0;
  FY_TRY(check_algorithm(ctx->in[1], 1, &id, err));
  for (int i = 3; i < 5; i++) {
    if (ctx->in[i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 0-D, got shape %s",
                   i == 3 ? "minval" : "maxval", fy_tensor_shape_text(ctx->in[i], x));
  }
  const int64_t low = fy_tensor_int(ctx->in[3], 0), high = fy_tensor_int(ctx->in[4], 0);
  if (low >= high) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld",
                   (long long)low, (long long)high);
  }
  job.low = low;
  job.range = (uint64_t)high - (uint64_t)low;
  return draw(ctx, 2, 0, id, &job, err);
}

static fy_code skip(fy_kernel_ctx *ctx, fy_error *err) {
  const bool reads = ctx->site->num_outputs > 0;
  const fy_tensor *delta = ctx->in[2];
  int64_t before[PHILOX_STATE], id = 0;
  char x[128];
  fy_philox g;
  FY_TRY(check_algorithm(ctx->in[1], 1, &id, err));
  if (delta->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input 2 (0-based) must have shape [], not %s",
                   fy_tensor_shape_text(delta, x));
  }
  const uint64_t values = *(const uint64_t *)delta->data;
  FY_TRY(advance(ctx, 0, 0, id, values * FY_RANDOM_RESERVED, &g, before, err));
  if (!reads) return FY_OK;
  const int64_t three = PHILOX_STATE;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 1, &three, &out, err));
  memcpy(out->data, before, sizeof before);
  return FY_OK;
}

static fy_code unpredictable(fy_kernel_ctx *ctx, fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  fy_tensor *out;
  FY_TRY(fy_value_shape(ctx->in[0], &rank, dims, err));
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  fy_random_job job = {.generator = fy_philox_seed(fy_random_entropy(), fy_random_entropy())};
  fy_random_fill(ctx, &fy_random_integers, &job, out);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code shape_of(fy_shape_ctx *ctx, int i, fy_error *err) {
  fy_pshape s;
  FY_TRY(fy_shape_from_input(ctx, i, &s, err));
  return s.rank < 0 ? FY_OK : fy_shape_set(ctx, 0, s.rank, s.dims, err);
}
static fy_code first_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return shape_of(ctx, 1, err);
}
static fy_code draw_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  return shape_of(ctx, 2, err);
}
static fy_code integers_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(draw_shape(ctx, err));
  return fy_random_infer_bounds(ctx, 3, err);
}
static fy_code skip_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t three = PHILOX_STATE;
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  return ctx->num_outputs ? fy_shape_set(ctx, 0, 1, &three, err) : FY_OK;
}

static const fy_sample unpredictable_samples[] = {{"i64[1]=4", NULL, FY_OK, NULL}};

#define GENERATOR_OP(Name, kind) \
  FY_OP(Name, .shape = draw_shape, .compute = stateful, .aux = &fy_random_##kind, .host_inputs = 7)
GENERATOR_OP(StatefulStandardNormalV2, normal);
GENERATOR_OP(StatefulTruncatedNormal, truncated);
GENERATOR_OP(StatefulUniform, uniform);
GENERATOR_OP(StatefulUniformFullInt, integers);
FY_OP(StatefulStandardNormal, .shape = first_shape, .compute = first_version,
      .aux = &fy_random_normal, .host_inputs = 3);
FY_OP(StatefulUniformInt, .shape = integers_shape, .compute = integers, .aux = &fy_random_integers,
      .host_inputs = 0x1F);
FY_OP(RngSkip, .shape = skip_shape, .compute = skip, .host_inputs = 7);
FY_OP(RngReadAndSkip, .shape = skip_shape, .compute = skip, .host_inputs = 7, .host_outputs = 1);
FY_OP(NonDeterministicInts, .shape = fy_shape_from_first, .compute = unpredictable,
      .host_inputs = 1, FY_SAMPLES(unpredictable_samples));
