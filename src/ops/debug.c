// SPDX-License-Identifier: Apache-2.0
// debug.c: what the debugger of TensorFlow 2 puts into graphs: DebugIdentityV2, DebugGradientIdentity,
// DebugNumericSummaryV2, and small questions to the runtime: IsTensorFloat32Enabled, DeviceIndex,
// ToBool, MakeWeakResourceHandle. (DebugIdentity, -V3, DebugNanCount and DebugNumericSummary send what
// they see to a debugger's address; there is none here.)

#include <math.h>

#include "ferry/device.h"
#include "ops/shape_fns.h"

// ---------------------------------------------------------------- pass on
static fy_code pass(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_out_alias(ctx, 0, 0, ctx->in[0]->rank, ctx->in[0]->dims, err);
}

static fy_code no_address(fy_site *site, fy_error *err) {
  const fy_attr *urls = fy_site_attr(site, "debug_urls");
  if (!urls || urls->n == 0) return FY_OK;
  return fy_fail(err, FY_UNIMPLEMENTED,
                 "DebugIdentityV2 cannot send to debug_urls here; only without any it passes on");
}

// ---------------------------------------------------------------- DebugNumericSummaryV2
enum { CURT = 2, CONCISE = 3, FULL = 4, SHAPE = 5, THREE_SLOTS = 8 };
#define SHAPE_DIMS 6

static int64_t length_of(int64_t mode) {
  return mode == CURT          ? 2
         : mode == CONCISE     ? 5
         : mode == FULL        ? 11
         : mode == SHAPE       ? 4 + SHAPE_DIMS
         : mode == THREE_SLOTS ? 3
                               : -1;
}

static void put(fy_tensor *out, const double *values) {
  for (int64_t i = 0; i < out->count; i++) {
    if (out->dtype == FY_DOUBLE)
      ((double *)out->data)[i] = values[i];
    else
      ((float *)out->data)[i] = (float)values[i];
  }
}

typedef struct kinds {  // how many elements are such
  int64_t nan, low, high, minus, zero, plus;
} kinds;
// The first three only, unless |all|.
#define COUNT(T)                                                                    \
  static void count_##T(const T *x, int64_t n, bool all, kinds *k) {                \
    for (int64_t at = 0, end; at < n; at = end) { /* of ints, which are narrower */ \
      int32_t nan = 0, low = 0, high = 0, minus = 0, zero = 0, plus = 0;            \
      end = n - at < 1 << 20 ? n : at + (1 << 20);                                  \
      for (int64_t i = at; i < end; i++) {                                          \
        nan += x[i] != x[i];                                                        \
        low += x[i] == (T)-INFINITY;                                                \
        high += x[i] == (T)INFINITY;                                                \
      }                                                                             \
      for (int64_t i = at; all && i < end; i++) {                                   \
        minus += x[i] < 0;                                                          \
        zero += x[i] == 0;                                                          \
        plus += x[i] > 0;                                                           \
      }                                                                             \
      k->nan += nan, k->low += low, k->high += high;                                \
      if (all) k->minus += minus - low, k->zero += zero, k->plus += plus - high;    \
    }                                                                               \
  }
COUNT(float)
COUNT(double)

static void count_kinds(const fy_tensor *t, bool all, kinds *k) {
  if (t->dtype == FY_FLOAT) {
    count_float(t->data, t->count, all, k);
  } else if (t->dtype == FY_DOUBLE) {
    count_double(t->data, t->count, all, k);
  } else if (fy_dtype_is_floating(t->dtype) || all) {
    for (int64_t i = 0; i < t->count; i++) {
      const float x =
          t->dtype == FY_BOOL ? (float)((const bool *)t->data)[i] : (float)fy_tensor_double(t, i);
      count_float(&x, 1, all, k);
    }
  }
}

static fy_code summary(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const int64_t mode = fy_site_int(ctx->site, "tensor_debug_mode"), n = length_of(mode);
  const double id = (double)fy_site_int(ctx->site, "tensor_id");
  double v[4 + SHAPE_DIMS + 1] = {id};
  kinds k = {0};
  fy_tensor *out;
  if (n < 0) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Unimplemented tensor debug mode: %lld", (long long)mode);
  }
  FY_TRY(fy_out(ctx, 0, 1, &n, &out, err));
  if (mode != SHAPE) count_kinds(in, mode == FULL, &k);
  const double low = (double)k.low, high = (double)k.high, nan = (double)k.nan;
  if (mode == CURT) {
    v[1] = low + high + nan > 0;
  } else if (mode == CONCISE) {
    v[1] = (double)in->count;
    v[2] = low, v[3] = high, v[4] = nan;
  } else if (mode == THREE_SLOTS) {
    v[0] = low > 0 ? -INFINITY : 0;
    v[1] = high > 0 ? INFINITY : 0;
    v[2] = nan > 0 ? NAN : 0;
  } else if (mode == SHAPE) {  // the last dims, if there are too many
    const int32_t skip = in->rank > SHAPE_DIMS ? in->rank - SHAPE_DIMS : 0;
    v[1] = (double)in->dtype, v[2] = in->rank, v[3] = (double)in->count;
    for (int32_t d = skip; d < in->rank; d++) v[4 + d - skip] = (double)in->dims[d];
  } else {
    v[1] = -1;  // a device by number: not told
    v[2] = (double)in->dtype, v[3] = in->rank, v[4] = (double)in->count;
    v[5] = low, v[6] = high, v[7] = nan, v[8] = (double)k.minus, v[9] = (double)k.zero,
    v[10] = (double)k.plus;
  }
  put(out, v);
  return FY_OK;
}

// ---------------------------------------------------------------- small questions
#define WITH_TRUTH                                                                      \
  (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE) | FY_T(FY_INT8) | FY_T(FY_INT16) | FY_T(FY_INT32) | \
   FY_T(FY_INT64) | FY_T(FY_UINT8))

static fy_code to_bool(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  bool yes = in->count > 0;
  if (in->rank == 0 && in->dtype == FY_STRING) {
    yes = fy_tensor_string(in, 0).n > 0;
  } else if (in->rank == 0 && in->dtype == FY_BOOL) {
    yes = *(const bool *)in->data;
  } else if (in->rank == 0 && (WITH_TRUTH >> in->dtype & 1)) {
    yes = fy_tensor_double(in, 0) != 0;
  } else if (in->rank == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s cannot be converted to a boolean",
                   fy_dtype_name(in->dtype));
  }
  *(bool *)out->data = yes;
  return FY_OK;
}

// The 32-bit floats of tensor cores: TensorFlow allows them unless told otherwise.
static fy_code tensor_float32(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(bool *)out->data = true;
  return FY_OK;
}

static fy_code device_index(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_attr *names = fy_site_attr(ctx->site, "device_names");
  const char *type = ctx->site->device ? ctx->site->device->type : "CPU";
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  int32_t at = 0;
  while (names && at < (int32_t)names->n && !fy_view_is(names->v.strings[at], type)) at++;
  *(int32_t *)out->data = at;
  return FY_OK;
}

static const fy_sample pass_samples[] = {{"f32[2]=1,2", NULL, FY_OK, "1,2"},
                                         {"s[1]='a'", NULL, FY_OK, "'a'"}};
static const fy_sample summary_samples[] = {
    {"f32[3]=1,-inf,0", "tensor_debug_mode=4; tensor_id=7", FY_OK, "7,-1,1,1,3,1,0,0,0,1,1"},
    {"i32[2]=1,2", "tensor_debug_mode=5; output_dtype=double", FY_OK, "-1,3,1,2,2,0,0,0,0,0"},
    {"f32[3]=1,2,3", "tensor_debug_mode=1", FY_UNIMPLEMENTED, "Unimplemented tensor debug mode: 1"},
};
static const fy_sample bool_samples[] = {
    {"f32[]=3", NULL, FY_OK, "true"},
    {"s[]=''", NULL, FY_OK, "false"},
    {"i32[1]=0", NULL, FY_OK, "true"},
    {"c64[]=1", NULL, FY_INVALID_ARGUMENT, "complex64 cannot be converted to a boolean"},
};
static const fy_sample no_samples[] = {{"", NULL, FY_OK, "true"}};
static const fy_sample index_samples[] = {{"", "device_names=[\"GPU\",\"CPU\"]", FY_OK, "1"},
                                          {"", "device_names=[\"TPU\"]", FY_OK, "1"}};

FY_OP(DebugIdentityV2, .shape = fy_shape_identity, .prepare = no_address, .compute = pass,
      .flags = FY_OP_ALIAS | FY_OP_CHEAP | FY_OP_NO_FOLD, FY_SAMPLES(pass_samples));
FY_OP(DebugGradientIdentity, .shape = fy_shape_identity, .compute = pass,
      .flags = FY_OP_ALIAS | FY_OP_CHEAP, FY_SAMPLES(pass_samples));
FY_OP(_EagerConst, .shape = fy_shape_identity, .compute = pass, .flags = FY_OP_ALIAS | FY_OP_CHEAP,
      FY_SAMPLES(pass_samples));
FY_OP(MakeWeakResourceHandle, .shape = fy_shape_identity, .compute = pass,
      .flags = FY_OP_ALIAS | FY_OP_HOST | FY_OP_CHEAP);
FY_OP(DebugNumericSummaryV2, .shape = fy_shape_none, .compute = summary, .flags = FY_OP_HOST,
      FY_SAMPLES(summary_samples));
FY_OP(ToBool, .shape = fy_shape_scalar, .compute = to_bool, .flags = FY_OP_HOST,
      FY_SAMPLES(bool_samples));
FY_OP(IsTensorFloat32Enabled, .shape = fy_shape_scalar, .compute = tensor_float32,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD, FY_SAMPLES(no_samples));
FY_OP(DeviceIndex, .shape = fy_shape_scalar, .compute = device_index,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD, FY_SAMPLES(index_samples));
