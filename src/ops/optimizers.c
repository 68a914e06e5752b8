// SPDX-License-Identifier: Apache-2.0
// optimizers.c: Apply*, ResourceApply* and their sparse forms: one training step of a variable and its
// slots from a gradient.
//
// Inputs are some variables (the weight and its slots, all of one shape), then scalars and the
// gradient in the order each op has them. All variables are locked in the order of their addresses;
// a value that a reader holds is replaced, never written. 16-bit floats round after every
// operation, as TensorFlow's do.

#include "ops/optimizers.h"
#include "ops/typed.h"

// A loop over elements: w the weight, g the gradient, a, b, c the slots, s0… the scalars; all in
// the type of arithmetic. R rounds.
#define R(S, x)          FY_RD_##S(x)
#define SCALAR(S, i)     (j->scalar[i] ? FY_LD_##S(*(const fy_t_##S *)j->scalar[i]) : (fy_a_##S)0)
#define SLOT(S, name, i) (i < VARS_##name ? FY_LD_##S(v##i[i_]) : (fy_a_##S)0)
// How many variables, so that the compiler knows which there are.
#define VARS_adadelta         3
#define VARS_adagrad          2
#define VARS_adagrad_da       3
#define VARS_adagrad_v2       2
#define VARS_adam             3
#define VARS_adamax           3
#define VARS_add_sign         2
#define VARS_amsgrad          4
#define VARS_centered         4
#define VARS_descent          1
#define VARS_ftrl             3
#define VARS_ftrl_any         3
#define VARS_ftrl_half        3
#define VARS_ftrl_v2          3
#define VARS_ftrl_v2_any      3
#define VARS_ftrl_v2_half     3
#define VARS_keras_momentum   2
#define VARS_momentum         2
#define VARS_power_sign       2
#define VARS_proximal         1
#define VARS_proximal_adagrad 2
#define VARS_rmsprop          3
// Only steps of floats are worth vectors; the others would be most of the library.
#define TUNE_f32     FY_CLONES
#define ONE_BY_ONE() __asm__ volatile("" ::: "memory")
#define TUNE_f16
#define TUNE_bf16
#define TUNE_f64
#define TUNE_c64
#define TUNE_c128
#define EACH_f32()
#define EACH_f16()  ONE_BY_ONE()
#define EACH_bf16() ONE_BY_ONE()
#define EACH_f64()
#define EACH_c64()  ONE_BY_ONE()
#define EACH_c128() ONE_BY_ONE()
#define STEP(E, S, name, ONCE, EACH)                                                      \
  TUNE_##S static void name##_##S(void *arg, int64_t begin, int64_t end) {                \
    const fy_step_job *j = arg;                                                           \
    const fy_a_##S s0 = SCALAR(S, 0), s1 = SCALAR(S, 1), s2 = SCALAR(S, 2);               \
    const fy_a_##S s3 = SCALAR(S, 3), s4 = SCALAR(S, 4), s5 = SCALAR(S, 5);               \
    const bool flag = j->flag, sparse = j->sparse;                                        \
    fy_t_##S *v0 = j->var[0], *v1 = j->var[1], *v2 = j->var[2], *v3 = j->var[3];          \
    const fy_t_##S *grads = j->grad;                                                      \
    ONCE(S)                                                                               \
    (void)s0, (void)s1, (void)s2, (void)s3, (void)s4, (void)s5, (void)flag, (void)sparse; \
    (void)v1, (void)v2, (void)v3;                                                         \
    FY_VECTOR for (int64_t i_ = begin; i_ < end; i_++) {                                  \
      const fy_a_##S g = FY_LD_##S(grads[i_]);                                            \
      fy_a_##S w = SLOT(S, name, 0), a = SLOT(S, name, 1), b = SLOT(S, name, 2);          \
      fy_a_##S c = SLOT(S, name, 3);                                                      \
      EACH(S)                                                                             \
      (void)a, (void)b, (void)c;                                                          \
      EACH_##S();                                                                         \
      v0[i_] = FY_ST_##S(w);                                                              \
      if (1 < VARS_##name) v1[i_] = FY_ST_##S(a);                                         \
      if (2 < VARS_##name) v2[i_] = FY_ST_##S(b);                                         \
      if (3 < VARS_##name) v3[i_] = FY_ST_##S(c);                                         \
    }                                                                                     \
  }
#define NOTHING(S)
#define ROOT(S, x) R(S, FY_MATH_##S(sqrt)(x))

// alpha
#define DESCENT(S) w = R(S, w - R(S, g * s0));
// lr, momentum; accumulator a
#define MOMENTUM(S)           \
  a = R(S, R(S, a * s1) + g); \
  w = R(S, w - (flag ? R(S, R(S, g * s0) + R(S, R(S, a * s1) * s0)) : R(S, a * s0)));
#define KERAS_MOMENTUM(S)                \
  a = R(S, R(S, a * s1) - R(S, g * s0)); \
  w = R(S, w + (flag ? R(S, R(S, a * s1) - R(S, g * s0)) : a));
// beta1_power, beta2_power, lr, beta1, beta2, epsilon; m a, v b, maximum of v c
#define ADAM_RATE(S) const fy_a_##S rate = R(S, R(S, s2 * ROOT(S, R(S, 1 - s1))) / R(S, 1 - s0));
#define ADAM_MOMENTS(S)                           \
  a = R(S, a + R(S, R(S, g - a) * R(S, 1 - s3))); \
  b = R(S, b + R(S, R(S, R(S, g * g) - b) * R(S, 1 - s4)));
#define ADAM(S)                                                                 \
  ADAM_MOMENTS(S)                                                               \
  const fy_a_##S mean = flag ? R(S, R(S, g * R(S, 1 - s3)) + R(S, s3 * a)) : a; \
  w = R(S, w - R(S, R(S, mean * rate) / R(S, ROOT(S, b) + s5)));
#define AMSGRAD(S)   \
  ADAM_MOMENTS(S)    \
  c = c < b ? b : c; \
  w = R(S, w - R(S, R(S, a * rate) / R(S, ROOT(S, c) + s5)));
// lr (, epsilon); sum of squares a
#define ADAGRAD(S)                     \
  if (flag) a = R(S, a + R(S, g * g)); \
  w = R(S, w - R(S, R(S, g * s0) * R(S, 1 / FY_MATH_##S(sqrt)(a))));
#define ADAGRAD_V2(S)                  \
  if (flag) a = R(S, a + R(S, g * g)); \
  w = R(S, w - R(S, R(S, g * s0) / R(S, ROOT(S, a) + s1)));
// lr, rho, momentum, epsilon; mean square a, momentum b
#define MEAN(S, m, x)                                      \
  m = sparse ? R(S, R(S, m * s1) + R(S, (x)*R(S, 1 - s1))) \
             : R(S, m + R(S, R(S, (x)-m) * R(S, 1 - s1)));
#define SCALED(S, under)                                            \
  (sparse ? R(S, R(S, R(S, 1 / FY_MATH_##S(sqrt)(under)) * s0) * g) \
          : R(S, R(S, g * s0) / ROOT(S, under)))
#define RMSPROP(S)                                  \
  MEAN(S, a, R(S, g *g))                            \
  b = R(S, R(S, b * s2) + SCALED(S, R(S, a + s3))); \
  w = R(S, w - b);
// mean gradient a, mean square b, momentum c
#define CENTERED(S)                                                                 \
  MEAN(S, b, R(S, g *g))                                                            \
  MEAN(S, a, g)                                                                     \
  const fy_a_##S under =                                                            \
      sparse ? R(S, R(S, b + s3) - R(S, a * a)) : R(S, R(S, b - R(S, a * a)) + s3); \
  c = R(S, R(S, c * s2) + SCALED(S, under));                                        \
  w = R(S, w - c);
// lr, rho, epsilon; mean square a, of updates b
#define ADADELTA(S)                                                                      \
  a = R(S, R(S, a * s1) + R(S, R(S, g * g) * R(S, 1 - s1)));                             \
  const fy_a_##S update =                                                                \
      R(S, R(S, ROOT(S, R(S, b + s2)) * R(S, 1 / FY_MATH_##S(sqrt)(R(S, a + s2)))) * g); \
  w = R(S, w - R(S, update * s0));                                                       \
  b = R(S, R(S, b * s1) + R(S, R(S, update * update) * R(S, 1 - s1)));
// beta1_power, lr, beta1, beta2, epsilon; m a, v b
#define ADAMAX(S)                                                  \
  a = R(S, a + R(S, R(S, g - a) * R(S, 1 - s2)));                  \
  const fy_a_##S size = FY_MATH_##S(fabs)(g), kept = R(S, s3 * b); \
  b = size > kept ? size : kept;                                   \
  w = R(S, w - R(S, R(S, s1 / R(S, 1 - s0)) * R(S, a / R(S, b + s4))));
// lr, l1, l2, (l2_shrinkage,) lr_power; sum of squares a, linear term b
#define POWER(S, x, power) \
  ((power) == (fy_a_##S) - 0.5 ? ROOT(S, x) : R(S, FY_MATH_##S(pow)(x, -(power))))
#define POWER_HALF(S, x, power) ROOT(S, x)
#define FTRL_BODY(S, grad, power, RAISED)                                     \
  const fy_a_##S sum = R(S, a + R(S, g * g));                                 \
  const fy_a_##S now = RAISED(S, sum, power), was = RAISED(S, a, power);      \
  const fy_a_##S lr = flag ? (fy_a_##S)1 : s0, by = flag ? s0 : (fy_a_##S)1;  \
  b = R(S, b + R(S, R(S, (grad)*by) - R(S, R(S, R(S, now - was) / lr) * w))); \
  const fy_a_##S edge = R(S, s1 * by);                                        \
  const fy_a_##S near = b > edge ? edge : b < -edge ? -edge : b;              \
  const fy_a_##S pull = R(S, (sparse ? near : b < 0 ? -edge : edge) - b);     \
  const fy_a_##S push = R(S, R(S, now / lr) + R(S, R(S, 2 * s2) * by));       \
  w = sparse || FY_MATH_##S(fabs)(b) > edge ? R(S, pull / push) : 0;          \
  a = sum;
#define FTRL(S)      FTRL_BODY(S, g, s3, POWER)
#define FTRL_HALF(S) FTRL_BODY(S, g, s3, POWER_HALF)
#define FTRL_V2(S)                                          \
  const fy_a_##S shrunk = R(S, g + R(S, R(S, 2 * s3) * w)); \
  FTRL_BODY(S, shrunk, s4, POWER)
#define FTRL_V2_HALF(S)                                     \
  const fy_a_##S shrunk = R(S, g + R(S, R(S, 2 * s3) * w)); \
  FTRL_BODY(S, shrunk, s4, POWER_HALF)

// m a; lr, alpha or logbase, sign_decay, beta
#define SIGN(S, x) ((x) > 0 ? (fy_a_##S)1 : (x) < 0 ? (fy_a_##S) - 1 : (x) - (x))  // NaN stays
#define ADD_SIGN(S)                                \
  a = R(S, R(S, a * s3) + R(S, g * R(S, 1 - s3))); \
  w = R(S, w - R(S, R(S, s0 * R(S, s1 + R(S, s2 * R(S, SIGN(S, g) * SIGN(S, a))))) * g));
#define POWER_SIGN(S)                                                         \
  a = R(S, R(S, a * s3) + R(S, g * R(S, 1 - s3)));                            \
  const fy_a_##S power = R(S, R(S, s1 * s2) * R(S, SIGN(S, g) * SIGN(S, a))); \
  w = R(S, w - R(S, R(S, s0 * R(S, FY_MATH_##S(exp)(power))) * g));
// alpha or lr, l1, l2; sum of squares a
#define SHRINK(S, rate)                                                                  \
  if (s1 > 0) {                                                                          \
    const fy_a_##S over = R(S, FY_MATH_##S(fabs)(near) - R(S, (rate)*s1));               \
    w = R(S, R(S, SIGN(S, near) * (over < 0 ? 0 : over)) / R(S, 1 + R(S, s2 * (rate)))); \
  } else {                                                                               \
    w = R(S, near / R(S, 1 + R(S, s2 * (rate))));                                        \
  }
#define PROXIMAL(S)                             \
  const fy_a_##S near = R(S, w - R(S, g * s0)); \
  SHRINK(S, s0)
#define PROXIMAL_ADAGRAD(S)                                        \
  a = R(S, a + R(S, g * g));                                       \
  const fy_a_##S rate = R(S, s0 * R(S, 1 / FY_MATH_##S(sqrt)(a))); \
  const fy_a_##S near = R(S, w - R(S, g * rate));                  \
  SHRINK(S, rate)
// lr, l1, l2, global_step; sum of gradients a, of their squares b
#define ADAGRAD_DA(S)                                                      \
  a = R(S, a + g);                                                         \
  b = R(S, b + R(S, g * g));                                               \
  const fy_a_##S over = R(S, FY_MATH_##S(fabs)(a) - R(S, s1 * s3));        \
  const fy_a_##S pull = s1 > 0 ? -SIGN(S, a) * (over < 0 ? 0 : over) : -a; \
  w = R(S, R(S, s0 * pull) / R(S, R(S, R(S, s2 * s3) * s0) + ROOT(S, b)));

FY_REAL_TYPES(STEP, descent, NOTHING, DESCENT)
FY_COMPLEX_TYPES(STEP, descent, NOTHING, DESCENT)
FY_REAL_TYPES(STEP, momentum, NOTHING, MOMENTUM)
FY_COMPLEX_TYPES(STEP, momentum, NOTHING, MOMENTUM)
FY_REAL_TYPES(STEP, keras_momentum, NOTHING, KERAS_MOMENTUM)
FY_COMPLEX_TYPES(STEP, keras_momentum, NOTHING, KERAS_MOMENTUM)
FY_REAL_TYPES(STEP, adam, ADAM_RATE, ADAM)
FY_COMPLEX_TYPES(STEP, adam, ADAM_RATE, ADAM)
FY_REAL_TYPES(STEP, amsgrad, ADAM_RATE, AMSGRAD)
FY_REAL_TYPES(STEP, adagrad, NOTHING, ADAGRAD)
FY_COMPLEX_TYPES(STEP, adagrad, NOTHING, ADAGRAD)
FY_REAL_TYPES(STEP, adagrad_v2, NOTHING, ADAGRAD_V2)
FY_COMPLEX_TYPES(STEP, adagrad_v2, NOTHING, ADAGRAD_V2)
FY_REAL_TYPES(STEP, rmsprop, NOTHING, RMSPROP)
FY_COMPLEX_TYPES(STEP, rmsprop, NOTHING, RMSPROP)
FY_REAL_TYPES(STEP, centered, NOTHING, CENTERED)
FY_COMPLEX_TYPES(STEP, centered, NOTHING, CENTERED)
FY_REAL_TYPES(STEP, adadelta, NOTHING, ADADELTA)
FY_COMPLEX_TYPES(STEP, adadelta, NOTHING, ADADELTA)
FY_REAL_TYPES(STEP, adamax, NOTHING, ADAMAX)
// Nearly always the power is -1/2: floats then go in vectors.
#define FTRL_STEPS(name, EACH, HALF, n)                           \
  STEP(FY_HALF, f16, name, NOTHING, EACH)                         \
  STEP(FY_BFLOAT16, bf16, name, NOTHING, EACH)                    \
  STEP(FY_DOUBLE, f64, name, NOTHING, EACH)                       \
  STEP(FY_FLOAT, f32, name##_any, NOTHING, EACH)                  \
  STEP(FY_FLOAT, f32, name##_half, NOTHING, HALF)                 \
  static void name##_f32(void *arg, int64_t begin, int64_t end) { \
    const fy_step_job *j = arg;                                   \
    if (SCALAR(f32, n) == -0.5f)                                  \
      name##_half_f32(arg, begin, end);                           \
    else                                                          \
      name##_any_f32(arg, begin, end);                            \
  }
FTRL_STEPS(ftrl, FTRL, FTRL_HALF, 3)
FTRL_STEPS(ftrl_v2, FTRL_V2, FTRL_V2_HALF, 4)
FY_REAL_TYPES(STEP, add_sign, NOTHING, ADD_SIGN)
FY_REAL_TYPES(STEP, power_sign, NOTHING, POWER_SIGN)
FY_REAL_TYPES(STEP, proximal, NOTHING, PROXIMAL)
FY_REAL_TYPES(STEP, proximal_adagrad, NOTHING, PROXIMAL_ADAGRAD)
FY_REAL_TYPES(STEP, adagrad_da, NOTHING, ADAGRAD_DA)

#define FIELD(name) \
  { FY_REAL_TYPES(FY_LOOP_ENTRY, name) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name) }
#define REALS(name) \
  { FY_REAL_TYPES(FY_LOOP_ENTRY, name) }
static const fy_optimizer descent = {
    1, 3, 2, {"var", "alpha", "delta"}, NULL, FIELD(descent), 0.5, false, false};
static const fy_optimizer momentum = {
    2, 5,     3,    {"var", "accum", "lr", "grad", "momentum"}, "use_nesterov", FIELD(momentum),
    1, false, false};
static const fy_optimizer keras_momentum = {2,
                                            5,
                                            3,
                                            {"var", "accum", "lr", "grad", "momentum"},
                                            "use_nesterov",
                                            FIELD(keras_momentum),
                                            1,
                                            false,
                                            false};
static const fy_optimizer adam = {
    3,
    10,
    9,
    {"var", "m", "v", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
    "use_nesterov",
    FIELD(adam),
    3,
    false,
    true};
static const fy_optimizer amsgrad = {4,
                                     11,
                                     10,
                                     {"var", "m", "v", "vhat", "beta1_power", "beta2_power", "lr",
                                      "beta1", "beta2", "epsilon", "grad"},
                                     NULL,
                                     REALS(amsgrad),
                                     3,
                                     false,
                                     true};
static const fy_optimizer adagrad = {
    2, 4, 3, {"var", "accum", "lr", "grad"}, "update_slots", FIELD(adagrad), 2, false, false};
static const fy_optimizer adagrad_v2 = {
    2, 5,     4,    {"var", "accum", "lr", "epsilon", "grad"}, "update_slots", FIELD(adagrad_v2),
    2, false, false};
static const fy_optimizer rmsprop = {
    3,    8,
    7,    {"var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
    NULL, FIELD(rmsprop),
    2,    false,
    true};
static const fy_optimizer centered = {
    4,    9,
    8,    {"var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
    NULL, FIELD(centered),
    3,    false,
    true};
static const fy_optimizer adadelta = {
    3,    7,
    6,    {"var", "accum", "accum_update", "lr", "rho", "epsilon", "grad"},
    NULL, FIELD(adadelta),
    3,    false,
    false};
static const fy_optimizer adamax = {
    3,    9,
    8,    {"var", "m", "v", "beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"},
    NULL, REALS(adamax),
    2,    false,
    true};
static const fy_optimizer ftrl = {3,
                                  8,
                                  3,
                                  {"var", "accum", "linear", "grad", "lr", "l1", "l2", "lr_power"},
                                  "multiply_linear_by_lr",
                                  REALS(ftrl),
                                  5,
                                  true,
                                  false};
static const fy_optimizer ftrl_v2 = {
    3,
    9,
    3,
    {"var", "accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
    "multiply_linear_by_lr",
    REALS(ftrl_v2),
    5,
    true,
    false};

static const fy_optimizer add_sign = {
    2,    7,
    6,    {"var", "m", "lr", "alpha", "sign_decay", "beta", "grad"},
    NULL, REALS(add_sign),
    2,    false,
    false};
static const fy_optimizer power_sign = {
    2,    7,
    6,    {"var", "m", "lr", "logbase", "sign_decay", "beta", "grad"},
    NULL, REALS(power_sign),
    5,    false,
    false};
static const fy_optimizer proximal = {
    1, 5, 4, {"var", "alpha", "l1", "l2", "delta"}, NULL, REALS(proximal), 2, false, false};
static const fy_optimizer proximal_adagrad = {
    2, 6,     5,    {"var", "accum", "lr", "l1", "l2", "grad"}, NULL, REALS(proximal_adagrad),
    2, false, false};
static const fy_optimizer adagrad_da = {
    3,
    8,
    3,
    {"var", "gradient_accumulator", "gradient_squared_accumulator", "grad", "lr", "l1", "l2",
     "global_step"},
    NULL,
    REALS(adagrad_da),
    3,
    false,
    false};

#define OPTIMIZER(Name, table)                                                           \
  FY_OP(Name, .shape = fy_optimizer_shape, .compute = fy_optimizer_apply, .aux = &table, \
        .host_inputs = HOSTS_##table)
#define HOSTS_descent          1
#define HOSTS_momentum         3
#define HOSTS_keras_momentum   3
#define HOSTS_adam             7
#define HOSTS_amsgrad          15
#define HOSTS_adagrad          3
#define HOSTS_adagrad_v2       3
#define HOSTS_rmsprop          7
#define HOSTS_centered         15
#define HOSTS_adadelta         7
#define HOSTS_adamax           7
#define HOSTS_ftrl             7
#define HOSTS_ftrl_v2          7
#define HOSTS_add_sign         3
#define HOSTS_power_sign       3
#define HOSTS_proximal         1
#define HOSTS_proximal_adagrad 3
#define HOSTS_adagrad_da       7
OPTIMIZER(ResourceApplyGradientDescent, descent);
OPTIMIZER(ResourceApplyMomentum, momentum);
OPTIMIZER(ResourceApplyKerasMomentum, keras_momentum);
OPTIMIZER(ResourceApplyAdam, adam);
OPTIMIZER(ResourceApplyAdamWithAmsgrad, amsgrad);
OPTIMIZER(ResourceApplyAdagrad, adagrad);
OPTIMIZER(ResourceApplyAdagradV2, adagrad_v2);
OPTIMIZER(ResourceApplyRMSProp, rmsprop);
OPTIMIZER(ResourceApplyCenteredRMSProp, centered);
OPTIMIZER(ResourceApplyAdadelta, adadelta);
OPTIMIZER(ResourceApplyAdaMax, adamax);
OPTIMIZER(ResourceApplyFtrl, ftrl);
OPTIMIZER(ResourceApplyFtrlV2, ftrl_v2);

#define REF_OPTIMIZER(Name, table)                                                       \
  FY_OP(Name, .shape = fy_optimizer_shape, .compute = fy_optimizer_apply, .aux = &table, \
        .host_inputs = HOSTS_##table, .host_outputs = 1, .flags = FY_OP_SETS_OUTPUT)
REF_OPTIMIZER(ApplyGradientDescent, descent);
REF_OPTIMIZER(ApplyMomentum, momentum);
REF_OPTIMIZER(ApplyAdam, adam);
REF_OPTIMIZER(ApplyAdagrad, adagrad);
REF_OPTIMIZER(ApplyAdagradV2, adagrad_v2);
REF_OPTIMIZER(ApplyRMSProp, rmsprop);
REF_OPTIMIZER(ApplyCenteredRMSProp, centered);
REF_OPTIMIZER(ApplyAdadelta, adadelta);
REF_OPTIMIZER(ApplyAdaMax, adamax);
REF_OPTIMIZER(ApplyFtrl, ftrl);
REF_OPTIMIZER(ApplyFtrlV2, ftrl_v2);
REF_OPTIMIZER(ApplyAddSign, add_sign);
OPTIMIZER(ResourceApplyAddSign, add_sign);
REF_OPTIMIZER(ApplyPowerSign, power_sign);
OPTIMIZER(ResourceApplyPowerSign, power_sign);
REF_OPTIMIZER(ApplyProximalGradientDescent, proximal);
OPTIMIZER(ResourceApplyProximalGradientDescent, proximal);
REF_OPTIMIZER(ApplyProximalAdagrad, proximal_adagrad);
OPTIMIZER(ResourceApplyProximalAdagrad, proximal_adagrad);
REF_OPTIMIZER(ApplyAdagradDA, adagrad_da);
OPTIMIZER(ResourceApplyAdagradDA, adagrad_da);
REF_OPTIMIZER(SparseApplyAdadelta, adadelta);
OPTIMIZER(ResourceSparseApplyAdadelta, adadelta);
REF_OPTIMIZER(SparseApplyAdagrad, adagrad);
OPTIMIZER(ResourceSparseApplyAdagrad, adagrad);
REF_OPTIMIZER(SparseApplyAdagradV2, adagrad_v2);
OPTIMIZER(ResourceSparseApplyAdagradV2, adagrad_v2);
REF_OPTIMIZER(SparseApplyAdagradDA, adagrad_da);
OPTIMIZER(ResourceSparseApplyAdagradDA, adagrad_da);
REF_OPTIMIZER(SparseApplyCenteredRMSProp, centered);
OPTIMIZER(ResourceSparseApplyCenteredRMSProp, centered);
REF_OPTIMIZER(SparseApplyFtrl, ftrl);
OPTIMIZER(ResourceSparseApplyFtrl, ftrl);
REF_OPTIMIZER(SparseApplyFtrlV2, ftrl_v2);
OPTIMIZER(ResourceSparseApplyFtrlV2, ftrl_v2);
REF_OPTIMIZER(SparseApplyMomentum, momentum);
OPTIMIZER(ResourceSparseApplyMomentum, momentum);
REF_OPTIMIZER(SparseApplyProximalAdagrad, proximal_adagrad);
OPTIMIZER(ResourceSparseApplyProximalAdagrad, proximal_adagrad);
REF_OPTIMIZER(SparseApplyProximalGradientDescent, proximal);
OPTIMIZER(ResourceSparseApplyProximalGradientDescent, proximal);
REF_OPTIMIZER(SparseApplyRMSProp, rmsprop);
OPTIMIZER(ResourceSparseApplyRMSProp, rmsprop);
OPTIMIZER(ResourceSparseApplyKerasMomentum, keras_momentum);
