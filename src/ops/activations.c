// SPDX-License-Identifier: Apache-2.0
// activations.c: Relu and its relatives. NaN passes through all of them.

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/vecmath.h"

#define RELU_INT(S, x)  ((x) < 1 ? 0 : (x))
#define RELU6_INT(S, x) ((x) < 1 ? 0 : (x) > 6 ? 6 : (x))
#define SELU_SCALE      1.0507009873554804934193349852946
#define SELU_ALPHA      1.7580993408473768599402175208123  // scale * 1.6732632423543772
#define LEAKY_INT(S, x) ((x) > 0 ? (x) : (fy_a_##S)((double)(x) * (double)*(const float *)param))
// Softplus is log(1 + exp(x)); beyond the threshold the smaller term is lost in rounding.
#define SOFTPLUS_f16 \
  (-7.010913f)  // log(epsilon) + 2, where TensorFlow's epsilon of a half is 2^-13
#define SOFTPLUS_bf16 (-2.85203f)

#define OTHER_INT_TYPES(X, ...) \
  X(FY_INT8, i8, __VA_ARGS__) X(FY_INT16, i16, __VA_ARGS__) FY_UNSIGNED_TYPES(X, __VA_ARGS__)
FY_VEC_UNARY(relu, FY_EW_RELU)
FY_VEC_UNARY_INT(relu, FY_EW_RELU)
FY_VEC_UNARY_16(relu, FY_16_RELU)
OTHER_INT_TYPES(FY_UNARY_LOOP, relu, RELU_INT)
FY_VEC_UNARY(relu6, FY_EW_RELU6)
FY_VEC_UNARY_INT(relu6, FY_EW_RELU6)
FY_VEC_UNARY_16(relu6, FY_16_RELU6)
OTHER_INT_TYPES(FY_UNARY_LOOP, relu6, RELU6_INT)
#define LEAKY_LOOP(E, S, _)                                                                 \
  FY_CLONES static void leaky_##S(const void *pi, void *po, int64_t n, const void *param) { \
    const fy_t_##S alpha = (fy_t_##S) * (const float *)param, *in = pi;                     \
    fy_t_##S *out = po;                                                                     \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                             \
      const fy_t_##S x = in[i], scaled = alpha * x;                                         \
      out[i] = x > 0 ? x : scaled;                                                          \
    }                                                                                       \
  }
FY_FULL_REAL_TYPES(LEAKY_LOOP, _)
static void leaky_f16(const void *pi, void *po, int64_t n, const void *param) {
  const float alpha = FY_RD_f16(*(const float *)param);
  float x[FY_CHUNK];
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    fy_halves_to_floats((const uint16_t *)pi + at, x, m);
    leaky_f32(x, x, m, &alpha);
    fy_floats_to_halves(x, (uint16_t *)po + at, m);
  }
}
// Not inlined: a dozen loops would grow by vectors.
__attribute__((noinline)) static void widen_bf16(const uint16_t *in, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = FY_LD_bf16(in[i]);
}
__attribute__((noinline)) static void narrow_bf16(const float *in, uint16_t *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = FY_ST_bf16(in[i]);
}
static void leaky_bf16(const void *pi, void *po, int64_t n, const void *param) {
  const float alpha = FY_RD_bf16(*(const float *)param);
  float x[FY_CHUNK];
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    widen_bf16((const uint16_t *)pi + at, x, m);
    leaky_f32(x, x, m, &alpha);
    narrow_bf16(x, (uint16_t *)po + at, m);
  }
}
FY_INT_TYPES(FY_UNARY_LOOP, leaky, LEAKY_INT)
// 16-bit floats: a chunk at a time in floats, where each step is rounded.
#define LOOP_16(S, name, WIDEN, NARROW)                                            \
  static void name##_##S(const void *pi, void *po, int64_t n, const void *param) { \
    float x[FY_CHUNK], y[FY_CHUNK];                                                \
    uint16_t rounded[FY_CHUNK];                                                    \
    (void)param;                                                                   \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                 \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                     \
      WIDEN((const uint16_t *)pi + at, x, m);                                      \
      STEPS_##name(S, WIDEN, NARROW);                                              \
      NARROW(x, (uint16_t *)po + at, m);                                           \
    }                                                                              \
  }
// exp(x) - 1 in 16 bits, as TensorFlow has it: what is left near 0 are multiples of the last place of 1.
#define STEPS_elu(S, WIDEN, NARROW) \
  fy_vec_exp_f32(x, y, m, NULL);    \
  NARROW(y, rounded, m);            \
  WIDEN(rounded, y, m);             \
  for (int64_t i = 0; i < m; i++) x[i] = x[i] < 0 ? y[i] - 1 : x[i]
#define STEPS_selu(S, WIDEN, NARROW)                                                      \
  const float alpha = FY_RD_##S((float)SELU_ALPHA), scale = FY_RD_##S((float)SELU_SCALE); \
  fy_vec_exp_f32(x, y, m, NULL);                                                          \
  NARROW(y, rounded, m);                                                                  \
  WIDEN(rounded, y, m);                                                                   \
  for (int64_t i = 0; i < m; i++) y[i] -= 1;                                              \
  NARROW(y, rounded, m);                                                                  \
  WIDEN(rounded, y, m);                                                                   \
  for (int64_t i = 0; i < m; i++) x[i] = x[i] < 0 ? alpha * y[i] : scale * x[i]
#define STEPS_softplus(S, WIDEN, NARROW) \
  float logs[FY_CHUNK];                  \
  fy_vec_exp_f32(x, y, m, NULL);         \
  NARROW(y, rounded, m);                 \
  WIDEN(rounded, logs, m);               \
  fy_vec_log1p_f32(logs, logs, m, NULL); \
  for (int64_t i = 0; i < m; i++)        \
  x[i] = x[i] > -SOFTPLUS_##S ? x[i] : x[i] < SOFTPLUS_##S ? y[i] : logs[i]
#define LOOPS_16(name)                                         \
  LOOP_16(f16, name, fy_halves_to_floats, fy_floats_to_halves) \
  LOOP_16(bf16, name, widen_bf16, narrow_bf16)
LOOPS_16(elu)
LOOPS_16(selu)
LOOPS_16(softplus)
FY_VEC_UNARY(softsign, FY_EW_SOFTSIGN)
FY_VEC_UNARY_16(softsign, FY_16_SOFTSIGN)

static const fy_unary_loops relu_table = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, relu)}, 0.3};
static const fy_unary_loops relu6_table = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, relu6)}, 0.3};
static const fy_unary_loops leaky_table = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, leaky)}, 0.4};
static const fy_unary_loops elu_table = {
    {FY_SHORT_REAL_TYPES(FY_LOOP_ENTRY, elu)[FY_FLOAT] = fy_vec_elu_f32, [FY_DOUBLE] =
                                                                             fy_vec_elu_f64},
    1};
static const fy_unary_loops selu_table = {
    {FY_SHORT_REAL_TYPES(FY_LOOP_ENTRY, selu)[FY_FLOAT] = fy_vec_selu_f32, [FY_DOUBLE] =
                                                                               fy_vec_selu_f64},
    1};
static const fy_unary_loops softplus_table = {
    {FY_SHORT_REAL_TYPES(FY_LOOP_ENTRY, softplus)[FY_FLOAT] = fy_vec_softplus_f32,
     [FY_DOUBLE] = fy_vec_softplus_f64},
    1};
static const fy_unary_loops softsign_table = {{FY_REAL_TYPES(FY_LOOP_ENTRY, softsign)}, 0.7};

static fy_code leaky_prepare(fy_site *site, fy_error *err) {
  float *alpha = fy_malloc(sizeof *alpha);
  if (!alpha) return fy_fail_oom(err, sizeof *alpha);
  *alpha = fy_site_float(site, "alpha");
  site->state = alpha;
  return FY_OK;
}

static const fy_sample samples[] = {
    {"f32[8]=special", NULL, FY_OK, NULL},
    {"f32[37]=normal", NULL, FY_OK, NULL},
    {"bf16[5]=normal", NULL, FY_OK, NULL},
    {"f64[2,3]=normal", NULL, FY_OK, NULL},
};
static const fy_sample relu_samples[] = {
    {"f32[5]=-1,0,3,7,-0.0", NULL, FY_OK, NULL},
    {"i8[3]=-5,5,100", NULL, FY_OK, NULL},
    {"f16[9]=normal", NULL, FY_OK, NULL},
};
static const fy_sample leaky_samples[] = {
    {"f32[3]=-10,0,10", "alpha=0.5", FY_OK, "-5,0,10"},
};

#define ACTIVATION(Name, name, array, ew)                                                     \
  FY_OP(Name, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &name##_table, \
        .flags = FY_OP_INPLACE, .elementwise = ew, FY_SAMPLES(array))
ACTIVATION(Relu, relu, relu_samples, FY_EW_RELU);
ACTIVATION(Relu6, relu6, relu_samples, FY_EW_RELU6);
ACTIVATION(Elu, elu, samples, FY_EW_ELU);
ACTIVATION(Selu, selu, samples, FY_EW_SELU);
ACTIVATION(Softplus, softplus, samples, FY_EW_SOFTPLUS);
ACTIVATION(Softsign, softsign, samples, FY_EW_SOFTSIGN);
FY_OP(LeakyRelu, .shape = fy_shape_unchanged, .prepare = leaky_prepare, .compute = fy_unary_compute,
      .release = fy_free, .aux = &leaky_table, .flags = FY_OP_INPLACE,
      .elementwise = FY_EW_LEAKY_RELU, FY_SAMPLES(leaky_samples));
