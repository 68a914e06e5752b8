// SPDX-License-Identifier: Apache-2.0
// check.c: ops that stop a run: CheckNumerics, CheckNumericsV2, Assert.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

enum { HAS_NAN = 1, HAS_POSITIVE = 2, HAS_NEGATIVE = 4 };

typedef struct check_job {
  const void *in;
  int found;
} check_job;

#define CHECK(E, S, _)                                                                 \
  static void check_##S(void *arg, int64_t begin, int64_t end) {                       \
    check_job *j = arg;                                                                \
    const fy_t_##S *in = j->in;                                                        \
    int found = 0;                                                                     \
    for (int64_t i = begin; i < end; i++) {                                            \
      const fy_a_##S x = FY_LD_##S(in[i]);                                             \
      found |= (x != x ? HAS_NAN : 0) | (x == (fy_a_##S)INFINITY ? HAS_POSITIVE : 0) | \
               (x == (fy_a_##S) - INFINITY ? HAS_NEGATIVE : 0);                        \
    }                                                                                  \
    if (found) __atomic_fetch_or(&j->found, found, __ATOMIC_RELAXED);                  \
  }
FY_REAL_TYPES(CHECK, _)
typedef void (*check_fn)(void *arg, int64_t begin, int64_t end);
static const check_fn table[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, check)};

// By bits: 1 NaN, 2 +Inf, 4 -Inf.
static const char *const signed_texts[8] = {
    "",     "NaN",          "+Inf",          "+Inf and NaN",
    "-Inf", "-Inf and NaN", "-Inf and +Inf", "-Inf, +Inf, and NaN"};

static fy_code check(fy_kernel_ctx *ctx, bool with_sign, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  check_job job = {in->data, 0};
  if (!table[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  fy_parallel(ctx, in->count, 0.3, table[in->dtype], &job);
  if (job.found) {
    const fy_view message = fy_site_string(ctx->site, "message");
    const bool nan = job.found & HAS_NAN, inf = job.found & (HAS_POSITIVE | HAS_NEGATIVE);
    const char *what = with_sign    ? signed_texts[job.found & 7]
                       : nan && inf ? "Inf and NaN"
                       : nan        ? "NaN"
                                    : "Inf";
    return fy_fail(err, FY_INVALID_ARGUMENT, "%.*s : Tensor had %s values", (int)message.n,
                   message.p, what);
  }
  return fy_out_alias(ctx, 0, 0, in->rank, in->dims, err);
}

static fy_code check_v1(fy_kernel_ctx *ctx, fy_error *err) {
  return check(ctx, false, err);
}
static fy_code check_v2(fy_kernel_ctx *ctx, fy_error *err) {
  return check(ctx, true, err);
}

// ---------------------------------------------------------------- Assert
static fy_code assert_true(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *cond = ctx->in[0];
  char x[128];
  if (cond->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "In[0] should be a scalar: %s",
                   fy_tensor_shape_text(cond, x));
  }
  if (*(const bool *)cond->data) return FY_OK;
  const int64_t limit = fy_site_int(ctx->site, "summarize");
  fy_str text;
  fy_str_init(&text);
  for (int i = 1; i < ctx->site->num_inputs; i++) {
    fy_str_add(&text, i > 1 ? " [" : "[");
    fy_tensor_print(&text, ctx->in[i], limit);
    fy_str_addc(&text, ']');
  }
  fy_code code = fy_fail(err, FY_INVALID_ARGUMENT, "assertion failed: %s", fy_str_text(&text));
  fy_str_free(&text);
  return code;
}

static const fy_sample v1_samples[] = {
    {"f32[2]=1,2", "message=\"m\"", FY_OK, "1,2"},
    {"f32[8]=special", "message=\"m\"", FY_INVALID_ARGUMENT, "m : Tensor had Inf and NaN values"},
};
static const fy_sample v2_samples[] = {
    {"f32[2]=1,2", "message=\"m\"", FY_OK, "1,2"},
    {"f16[8]=special", "message=\"m\"", FY_INVALID_ARGUMENT,
     "m : Tensor had -Inf, +Inf, and NaN values"},
};
static const fy_sample assert_samples[] = {
    {"b[]=true; i32[1]=1", "T=[int32]", FY_OK, NULL},
    {"b[]=false; i32[4]=1,2,3,4; s[]='x'", "T=[int32,string]", FY_INVALID_ARGUMENT,
     "assertion failed: [1 2 3...] [x]"},
};

// They read every byte, and only the host can stop a run: no kernels on devices.
FY_OP(CheckNumerics, .shape = fy_shape_unchanged, .compute = check_v1,
      .flags = FY_OP_ALIAS | FY_OP_HOST, FY_SAMPLES(v1_samples));
FY_OP(CheckNumericsV2, .shape = fy_shape_unchanged, .compute = check_v2,
      .flags = FY_OP_ALIAS | FY_OP_HOST, FY_SAMPLES(v2_samples));
FY_OP(Assert, .shape = fy_shape_none, .compute = assert_true, .flags = FY_OP_HOST,
      FY_SAMPLES(assert_samples));
